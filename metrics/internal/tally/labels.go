package tally

import "github.com/candor-go/candor/kernel"

// Labels adds the rows of each label, none of them below 0, to counts, and returns them, up to the largest label seen.
func Labels(counts []int64, labels []int32) []int64 {
	const few = 5 // which kernel.Counts counts fast
	if len(counts) <= few {
		var c [few]int64
		kernel.Counts(c[:], labels)
		all, most := 0, 0
		for y, n := range c {
			if all += int(n); n > 0 {
				most = y + 1
			}
		}
		if all == len(labels) {
			counts = append(counts, make([]int64, max(0, most-len(counts)))...)
			for y, n := range c[:most] {
				counts[y] += n
			}
			return counts
		}
	}
	for _, y := range labels {
		if int(y) >= len(counts) {
			counts = append(counts, make([]int64, int(y)+1-len(counts))...)
		}
		counts[y]++
	}
	return counts
}
