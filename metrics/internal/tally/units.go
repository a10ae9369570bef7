package tally

import (
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
)

// AddUnits adds finite or infinite values in the user's unit, which fit no known window. Values are not rounded; their
// squares, and products with weights, are rounded only to float64.
func (m *Mean) AddUnits(v, weights []float64) {
	const most, few = 1024, 16 // values that are tried together: most first, then few
	for weights == nil && len(v) >= few {
		n := min(len(v), most)
		if s, ok := kernel.UnitMoments(v[:n]); ok {
			AddWhole(&m.S1, s.Hi, s.Unit)
			AddWhole(&m.S1, s.Lo, s.Fine)
			AddWhole(&m.S2, s.Hi2, s.Unit2)
			AddWhole(&m.S2, s.Lo2, s.Fine2)
		} else {
			m.addAnyUnits(v[:n], nil)
		}
		v = v[n:]
	}
	if len(v) > 0 {
		m.addAnyUnits(v, weights)
	}
}

// AddWhole adds n units; a unit is a power of two far from the ends of the range.
func AddWhole(s *exact.Sum, n int64, unit float64) {
	if n != 0 {
		s.AddExact(float64(n>>32) * (0x1p32 * unit))
		s.AddExact(float64(n&(1<<32-1)) * unit)
	}
}

// addAnyUnits is AddUnits for values of any size.
func (m *Mean) addAnyUnits(v, weights []float64) {
	if len(v) == 1 {
		var first, second [1]float64
		m.addUnits(v, weights, first[:], second[:])
		return
	}
	var first, second [512]float64
	m.addUnits(v, weights, first[:], second[:])
}

// addUnits adds as many values at a time as the two scratch slices hold.
func (m *Mean) addUnits(v, weights, first, second []float64) {
	for len(v) > 0 {
		n := min(len(v), len(first))
		p, q := first[:n], second[:n]
		bad := 0.0
		if weights == nil {
			for i, x := range v[:n] {
				p[i], q[i] = x, float64(x*x)
				bad += q[i] - q[i]
			}
		} else {
			for i, x := range v[:n] {
				p[i] = float64(weights[i] * x)
				q[i] = float64(p[i] * x)
				bad += q[i] - q[i]
			}
		}
		if bad != 0 {
			for i, x := range v[:n] {
				w := 1.0
				if weights != nil {
					w = weights[i]
				}
				if p[i]-p[i] != 0 {
					if p[i] = 0; x-x == 0 {
						AddLarge(&m.S1, w, x)
					}
				}
				if q[i]-q[i] != 0 {
					q[i] = 0
					m.Over++
				}
			}
		}
		m.S1.AddExactAll(p)
		m.S2.AddExactAll(q)
		if v = v[n:]; weights != nil {
			weights = weights[n:]
		}
	}
}
