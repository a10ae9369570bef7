package tally

import (
	"math"
	"math/bits"

	"github.com/candor-go/candor/internal/exact"
)

// Wide is a non-negative 128-bit integer; as a sum of scores it is in units of 2**-51.
type Wide struct{ Hi, Lo uint64 }

// Add adds v.
func (w *Wide) Add(v uint64) {
	var carry uint64
	w.Lo, carry = bits.Add64(w.Lo, v, 0)
	w.Hi += carry
}

// AddProduct adds a * b.
func (w *Wide) AddProduct(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	w.Merge(Wide{hi, lo})
}

// Merge adds v.
func (w *Wide) Merge(v Wide) {
	var carry uint64
	w.Lo, carry = bits.Add64(w.Lo, v.Lo, 0)
	w.Hi, _ = bits.Add64(w.Hi, v.Hi, carry)
}

// AddTo adds w, in units of 2**-51, to an exact sum.
func (w Wide) AddTo(s *exact.Sum) {
	const unit = 88 - 51
	s.AddShifted(int64(w.Lo&math.MaxUint32), unit)
	if w.Hi|w.Lo>>32 != 0 {
		s.AddShifted(int64(w.Lo>>32), unit+32)
		s.AddShifted(int64(w.Hi), unit+64)
	}
}

// Float64 returns w, in units of 2**-51, rounded.
func (w Wide) Float64() float64 {
	var s exact.Sum
	w.AddTo(&s)
	return s.Float64()
}

// Units returns v in [0,1] in units of 2**-51, rounded to even, as in the kernels.
func Units(v float64) uint64 { return math.Float64bits(v+3) - 0x4008000000000000 }
