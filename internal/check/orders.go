package check

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// An Order fills a slice with numbers in some order.
type Order struct {
	Name string
	Fill func(r *rand.Rand, x []uint64)
}

// Orders returns orders, and patterns of equal values, on which sorting breaks or becomes slow. size is the number of bits
// of the numbers.
func Orders(size int) []Order {
	most := ^uint64(0) >> (64 - size)
	random := func(r *rand.Rand, x []uint64) {
		for i := range x {
			x[i] = r.Uint64() & most
		}
	}
	sorted := func(r *rand.Rand, x []uint64) { // makes sorted numbers without sorting
		step := most / uint64(max(1, len(x)))
		for i := range x {
			x[i] = uint64(i)*step + r.Uint64N(step)
		}
	}
	// few draws from n values spread over the whole range.
	few := func(n int) func(r *rand.Rand, x []uint64) {
		return func(r *rand.Rand, x []uint64) {
			values := make([]uint64, n)
			random(r, values)
			for i := range x {
				x[i] = values[r.IntN(n)]
			}
		}
	}
	return []Order{
		{"random", random},
		{"sorted", sorted},
		{"reversed", func(r *rand.Rand, x []uint64) {
			sorted(r, x)
			slices.Reverse(x)
		}},
		{"organ-pipe", func(r *rand.Rand, x []uint64) {
			sorted(r, x)
			up := slices.Clone(x)
			for i := range up {
				if j := i / 2; i%2 == 0 {
					x[j] = up[i]
				} else {
					x[len(x)-1-j] = up[i]
				}
			}
		}},
		{"sawtooth", func(r *rand.Rand, x []uint64) {
			for i := range x {
				x[i] = uint64(i % 1000)
			}
		}},
		{"nearly-sorted", func(r *rand.Rand, x []uint64) { // one in a hundred is out of place
			sorted(r, x)
			for range len(x) / 100 {
				x[r.IntN(len(x))] = r.Uint64() & most
			}
		}},
		{"equal", few(1)},
		{"smallest", func(_ *rand.Rand, x []uint64) { clear(x) }},
		{"largest", func(_ *rand.Rand, x []uint64) {
			for i := range x {
				x[i] = most
			}
		}},
		{"two", few(2)},
		{"three", few(3)},
		{"twenty", few(20)},
		{"one-other", func(r *rand.Rand, x []uint64) { // all but one are equal
			few(1)(r, x)
			if len(x) > 0 {
				x[r.IntN(len(x))] = r.Uint64() & most
			}
		}},
		{"mostly-equal", func(r *rand.Rand, x []uint64) { // one in twenty differs
			v := r.Uint64() & most
			for i := range x {
				if x[i] = v; r.IntN(20) == 0 {
					x[i] = r.Uint64() & most
				}
			}
		}},
		{"saturated", func(r *rand.Rand, x []uint64) { // three of four equal the maximum, which is half of the range
			for i := range x {
				if x[i] = most/2 + 1; r.IntN(4) == 0 {
					x[i] = r.Uint64() & (most / 2)
				}
			}
		}},
		{"quantised", func(r *rand.Rand, x []uint64) { // 1024 values, the number of float16 between two powers of two
			for i := range x {
				x[i] = r.Uint64N(1024) << (size - 13)
			}
		}},
		{"nested", func(r *rand.Rand, x []uint64) { // half of the numbers in half of the range, a quarter in a quarter
			for i := range x {
				x[i] = r.Uint64() & most >> (bits.LeadingZeros64(r.Uint64()|1) % size)
			}
		}},
		{"one-bit", func(r *rand.Rand, x []uint64) { // equally many numbers in each power of two
			for i := range x {
				x[i] = 1 << r.IntN(size)
			}
		}},
		{"one-bit-off", func(r *rand.Rand, x []uint64) {
			for i := range x {
				x[i] = most ^ 1<<r.IntN(size)
			}
		}},
		{"low", func(r *rand.Rand, x []uint64) { // close together
			for i := range x {
				x[i] = most/3 + r.Uint64N(uint64(len(x)))
			}
		}},
	}
}
