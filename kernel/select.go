package kernel

// Select reorders x so that each of the given ranks holds the key that it would have in sorted order, with no larger key
// before it and no smaller key behind it. ranks are rising, from 0 to len(x)-1; scratch is as long as x. With few ranks each
// key is read about twice, plus log2(len(ranks)) times.
func Select[K Key](x []K, ranks []int, scratch []K) {
	checkScratch(len(scratch), len(x))
	for i, r := range ranks {
		if r < 0 || r >= len(x) || i > 0 && r < ranks[i-1] {
			panic(errRanks)
		}
	}
	selectRange(keyRange[K]{home: x, spare: scratch}, 0, ranks, 0, ^K(0), 0)
}

const errRanks = "kernel: ranks are not rising indices of the keys"

// selectRange is Select for keys that are all in [lo, hi], the first of which has rank before. bad is the number of
// consecutive bad splits, as in sortRange.
func selectRange[K Key](x keyRange[K], before int, ranks []int, lo, hi K, bad int) {
	for len(ranks) > 0 && lo < hi {
		n := len(x.home)
		if n <= smallLeaf[K]() {
			sortLeaf(x.home, x.keys(), nil)
			return
		}
		last := splitAfter(pivot(x.keys(), ranks[len(ranks)/2]-before, n), lo, hi, bad)
		low, high := x.sift(last)
		m, k := len(low.home), 0
		for k < len(ranks) && ranks[k] < before+m {
			k++
		}
		selectRange(high, before+m, ranks[k:], last+1, hi, badSplits(bad, n-m, n))
		x, ranks, hi, bad = low, ranks[:k], last, badSplits(bad, m, n)
	}
	x.come()
}
