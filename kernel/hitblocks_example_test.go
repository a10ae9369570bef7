package kernel_test

import (
	"fmt"
	"math/bits"

	"github.com/candor-go/candor/kernel"
)

// Scores with outcomes, sorted without a slice of their keys as they come.
func ExampleSortFrom() {
	p := []float32{0.75, 0.25, 0.75, 0.5}
	hit := []uint8{1, 0, 0, 1}
	keys := make([]uint32, len(p))
	read := func(dst []uint32, first int) {
		end := first + len(dst)
		kernel.HitKeysF32(dst, p[first:end], hit[first:end])
	}
	kernel.SortFrom(keys, make([]uint32, kernel.SortScratch(len(p))), read, nil)
	for _, k := range keys {
		fmt.Println(kernel.HitScore(k))
	}
	// Output:
	// 0.25 0
	// 0.5 1
	// 0.75 0
	// 0.75 1
}

// The sums of each score, from sorted keys: how many there are, and how many of them have the outcome 1.
func ExampleHitBlocksF32() {
	p := []float32{0.75, 0.25, 0.75, 0.5, 0.25, 0.75}
	hit := []uint8{1, 0, 1, 1, 1, 0}
	keys := make([]uint32, len(p))
	kernel.HitKeysF32(keys, p, hit)
	kernel.Sort(keys, make([]uint32, kernel.SortScratch(len(keys))))
	blocks := make([]kernel.HitBlock, (len(keys)+63)/64)
	kernel.HitBlocksF32(blocks, keys)
	b, first := blocks[0], 0
	for ends := b.Ends; ends != 0; ends &= ends - 1 {
		last := bits.TrailingZeros64(ends)
		score, _ := kernel.HitScore(keys[last])
		hits := bits.OnesCount64(b.Hits >> first & (1<<(last+1-first) - 1))
		fmt.Println(score, "n", last+1-first, "hits", hits)
		first = last + 1
	}
	fmt.Println("sum of p - hit", float64(b.Gap)*0x1p-51, "of its square", float64(b.Square)*0x1p-50)
	// Output:
	// 0.25 n 2 hits 1
	// 0.5 n 1 hits 1
	// 0.75 n 3 hits 2
	// sum of p - hit -0.75 of its square 1.5625
}
