package cells

import (
	"math/bits"

	"github.com/candor-go/candor/metrics/internal/tally"
)

// wide is a 128-bit integer in two's complement.
type wide struct{ hi, lo uint64 }

// number returns v as a wide.
func number(v int64) wide { return wide{uint64(v >> 63), uint64(v)} }

// product returns a * b.
func product(a, b uint64) wide {
	hi, lo := bits.Mul64(a, b)
	return wide{hi, lo}
}

func (a wide) plus(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return wide{hi, lo}
}

func (a wide) minus(b wide) wide {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return wide{hi, lo}
}

func (a wide) less(b wide) bool {
	return int64(a.hi) < int64(b.hi) || a.hi == b.hi && a.lo < b.lo
}

func least(a, b wide) wide {
	if b.less(a) {
		return b
	}
	return a
}

func most(a, b wide) wide {
	if a.less(b) {
		return b
	}
	return a
}

// units returns a, taken in units of 2^-51, rounded once.
func (a wide) units() float64 {
	if int64(a.hi) < 0 {
		a = wide{}.minus(a)
		return -tally.Wide{Hi: a.hi, Lo: a.lo}.Float64()
	}
	return tally.Wide{Hi: a.hi, Lo: a.lo}.Float64()
}

// float returns a, rounded once.
func (a wide) float() float64 { return a.units() * 0x1p51 }
