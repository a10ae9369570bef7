package exact

import "math"

// Few is the sum of up to FewTerms numbers in [0,64), each rounded as by [Sum.AddFloat], and their count, in 16 bytes: for very many sums that are
// read and written often. The zero value is empty.
type Few struct {
	lo uint64
	hi uint64 // the count is in the bits from fewBits on
}

// FewTerms is the largest number of terms of a Few.
const FewTerms = 1<<16 - 1

// Terms below 2^94 quanta, fewer than 2^16 of them, reach 2^110.
const (
	fewShift = 110 - 64
	fewLimit = 1023 + 6 // the exponent field of 64
)

// FitsFew reports whether v can be added to a Few.
func FitsFew(v float64) bool { return math.Float64bits(v) < fewLimit<<52 }

// Add adds v, for which FitsFew must hold. At most FewTerms numbers may be added.
func (x *Few) Add(v float64) {
	e := exponent(v)
	if e < exactField {
		x.add(uint64(roundQuanta(v, uint(exactField-e))), 0)
		return
	}
	m, s := uint64(significand(v)), uint(e-exactField)
	x.add(m<<(s&63), m>>1>>(63-s&63))
}

func (x *Few) add(lo, hi uint64) {
	sum := x.lo + lo
	if sum < lo {
		hi++
	}
	x.lo, x.hi = sum, x.hi+hi+1<<fewShift
}

// N returns the number of terms.
func (x *Few) N() int64 { return int64(x.hi >> fewShift) }

// AddTo adds the sum to s.
func (x *Few) AddTo(s *Sum) {
	s.AddShifted(int64(x.lo&(1<<62-1)), 0)
	s.AddShifted(int64(x.lo>>62|x.hi&(1<<fewShift-1)<<2), 62)
}
