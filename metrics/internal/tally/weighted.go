package tally

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
)

// The window in which terms are rounded as [exact.Sum.AddFloat] rounds them, to 2^-88. What is left after rounding to 2^-40 is exact, so that a
// term is rounded once.
const (
	magic = 0x1.8p12
	fine  = 0x1.8p-36
	most  = 0x1p11 - 1
)

var floats = kernel.Window{Magic: magic, Fine: fine, Max: most}

// chunk is the number of rows whose products stand in memory at a time.
const chunk = 256

// AddFloats adds each value as s.AddFloat does.
func AddFloats(s *exact.Sum, v []float64) {
	for len(v) > 0 {
		n := min(len(v), kernel.MaxSum)
		hi, lo, out := kernel.FixedSums(v[:n], &floats)
		addFixed(s, hi, lo, &floats)
		if out > 0 {
			for _, x := range v[:n] {
				if !(math.Abs(x) <= most) {
					s.AddFloat(x)
				}
			}
		}
		v = v[n:]
	}
}

// few is the number of sums among which AddFloatsTo divides values fast.
const few = 32

// AddFloatsTo adds each value to the sum of its number, as AddFloat does. Values whose number is that of no sum are left out.
func AddFloatsTo(sums []exact.Sum, at []int32, v []float64) {
	if len(sums) > few {
		for i, x := range v {
			if j := at[i]; uint(j) < uint(len(sums)) {
				sums[j].AddFloat(x)
			}
		}
		return
	}
	for len(v) > 0 {
		n := min(len(v), kernel.MaxSum)
		var fixed [few]split
		for i, j := range at[:n] {
			switch x := v[i]; {
			case uint(j) >= uint(len(sums)):
			case math.Abs(x) <= most:
				fixed[j%few].add(x)
			default:
				sums[j].AddFloat(x)
			}
		}
		for j := range sums {
			fixed[j].addTo(&sums[j])
		}
		at, v = at[n:], v[n:]
	}
}

// split is what kernel.FixedSums returns in the window floats. It holds kernel.MaxSum values.
type split struct{ hi, lo int64 }

func (s *split) add(x float64) {
	t := x + magic
	s.hi += int64(math.Float64bits(t) - math.Float64bits(magic))
	s.lo += int64(math.Float64bits((x-(t-magic))+fine) - math.Float64bits(fine))
}

func (s *split) addTo(sum *exact.Sum) { addFixed(sum, s.hi, s.lo, &floats) }

// splits are the sums of a Cell.
type splits struct {
	n                   int64
	w, w2, y, p, pp, py split
}

// AddWeightedTo adds each row to the cell of its number, as AddWeighted does. Rows whose number is below 0 are left out.
func AddWeightedTo(cells []Cell, at []int32, p []float64, y []uint8, weights []float64) {
	const largest = 32 // its square is within the window
	if len(cells) > few {
		for i, j := range at {
			if j >= 0 {
				cells[j].AddWeighted(p[i], y[i], weights[i])
			}
		}
		return
	}
	for len(at) > 0 {
		n := min(len(at), kernel.MaxSum)
		var fixed [few]splits
		for i, j := range at[:n] {
			v, w := p[i], weights[i]
			switch {
			case j < 0:
			case math.Abs(v) <= 1 && math.Abs(w) <= largest:
				c := &fixed[j%few]
				c.n++
				c.w.add(w)
				c.w2.add(float64(w * w))
				x := float64(w * v)
				c.p.add(x)
				c.pp.add(float64(x * v))
				if y[i] != 0 {
					c.y.add(w)
					c.py.add(x)
				}
			default:
				cells[j].AddWeighted(v, y[i], w)
			}
		}
		for j := range cells {
			c, f := &cells[j], &fixed[j]
			c.N += f.n
			f.w.addTo(&c.W)
			f.w2.addTo(&c.W2)
			f.y.addTo(&c.Y)
			f.p.addTo(&c.P)
			f.pp.addTo(&c.PP)
			f.py.addTo(&c.PY)
		}
		at, p, y, weights = at[n:], p[n:], y[n:], weights[n:]
	}
}

// addWeighted adds rows to one cell as AddWeighted does.
func (c *Cell) addWeighted(p []float64, y []uint8, weights []float64) {
	for len(p) > 0 {
		n := min(len(p), chunk)
		var wp, wpp, wy, wpy [chunk]float64
		for i, v := range p[:n] {
			w := weights[i]
			x := float64(w * v)
			is := ^uint64(0)
			if y[i] == 0 {
				is = 0
			}
			wp[i], wpp[i] = x, float64(x*v)
			wy[i], wpy[i] = math.Float64frombits(math.Float64bits(w)&is), math.Float64frombits(math.Float64bits(x)&is)
		}
		c.Weight.Add(n, weights[:n])
		AddFloats(&c.P, wp[:n])
		AddFloats(&c.PP, wpp[:n])
		AddFloats(&c.Y, wy[:n])
		AddFloats(&c.PY, wpy[:n])
		p, y, weights = p[n:], y[n:], weights[n:]
	}
}

func (m *Mean) addWeighted(v, weights []float64) {
	for len(v) > 0 {
		n := min(len(v), chunk)
		var first, second [chunk]float64
		size := uint64(0)
		for i, x := range v[:n] {
			f := float64(weights[i] * x)
			s := float64(f * x)
			first[i], second[i] = f, s
			size = max(size, math.Float64bits(s)&^(1<<63)) // NaN is above infinity
		}
		if size <= math.Float64bits(math.MaxFloat64) {
			AddFloats(&m.S1, first[:n])
			AddFloats(&m.S2, second[:n])
		} else {
			m.addWeightedRows(v[:n], weights)
		}
		v, weights = v[n:], weights[n:]
	}
}
