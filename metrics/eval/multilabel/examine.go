package multilabel

import (
	"cmp"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// examine returns, in order, the rows of a chunk that have weight 0 or cannot be used in some label.
func (f *feed) examine(c *metrics.LabelChunk) (out []int32) {
	parts := min(c.Rows, 4*f.threads)
	if len(f.parts) < parts {
		f.parts = make([]faulty, parts)
	}
	pool.Do(f.threads, parts, func(_, i int) {
		p := &f.parts[i]
		*p = faulty{out: p.out[:0]}
		for r := i * c.Rows / parts; r < (i+1)*c.Rows/parts; r++ {
			if !f.good(c, r) {
				f.fault(p, c, r)
			}
		}
	})
	for i := range f.parts[:parts] {
		p := &f.parts[i]
		out = append(out, p.out...)
		f.m.Audit.Absent += p.absent
		for _, b := range p.bad {
			f.failed = true
			f.m.Audit.Dropped += b.Count
			if at := slices.IndexFunc(f.bad, func(o metrics.Fault) bool { return o.Reason == b.Reason }); at >= 0 {
				f.bad[at].Count += b.Count
			} else {
				f.bad = append(f.bad, b) // in rising order of rows
			}
		}
	}
	slices.SortStableFunc(f.bad, func(a, b metrics.Fault) int { return cmp.Compare(a.Row, b.Row) })
	return out
}

// good is a fast test whether a row can be used. For other rows fault gives the reason.
func (f *feed) good(c *metrics.LabelChunk, row int) bool {
	st, lst := strides(c)
	if c.Weights != nil && !goodWeight(c.Weights[row]) {
		return false
	}
	all := uint32(0)
	for _, y := range c.Labels[row*lst:][:c.Classes] {
		all |= uint32(y)
	}
	if all > 1 || f.opt.Unchecked {
		return false
	}
	at := row * st
	switch {
	case c.F32 != nil && c.Kind == metrics.Probs:
		return goodProbs(c.F32[at:][:c.Classes])
	case c.F64 != nil:
		return goodScores(c.F64[at:][:c.Classes], c.Kind)
	case c.F32 != nil:
		return goodScores(c.F32[at:][:c.Classes], c.Kind)
	case c.F16 != nil:
		return goodHalves(c.F16[at:][:c.Classes], c.Kind, 0x3c00, 0xfc00)
	}
	return goodHalves(c.BF16[at:][:c.Classes], c.Kind, 0x3f80, 0xff80)
}

func goodWeight(w float64) bool { return w >= 0x1p-32 && w <= 0x1p32 }

// goodProbs reports whether all scores are in [0,1]. For exactly these, neither the bits of v nor those of 1-v have the sign
// bit set. It returns false for -0.
func goodProbs(x []float32) bool {
	const one, sign = 0x3f800000, 1 << 31
	all := uint32(0)
	for _, v := range x {
		b := math.Float32bits(v)
		all |= b | (one - b)
	}
	return all < sign
}

// goodScores reports whether all scores are valid for the kind.
func goodScores[T float32 | float64](x []T, k metrics.Kind) bool {
	switch k {
	case metrics.Probs:
		for _, v := range x {
			if !(v >= 0 && v <= 1) {
				return false
			}
		}
	case metrics.Logits:
		for _, v := range x {
			if !(v <= math.MaxFloat32) { // a larger float64 may still be finite; fault examines it
				return false
			}
		}
	case metrics.LogProbs:
		for _, v := range x {
			if !(v <= 0) {
				return false
			}
		}
	}
	return true
}

// goodHalves is goodScores for 2-byte types, given the bits of 1 and of -Inf.
func goodHalves(x []uint16, k metrics.Kind, one, low uint16) bool {
	const sign = 0x8000
	for _, v := range x {
		negative := v >= sign && v <= low
		switch k {
		case metrics.Probs:
			negative = v == sign
			if v > one && !negative {
				return false
			}
		case metrics.Logits:
			if v >= low&^sign && !negative {
				return false
			}
		case metrics.LogProbs:
			if v != 0 && !negative {
				return false
			}
		}
	}
	return true
}

// fault records what is wrong with a row, if anything.
func (f *feed) fault(p *faulty, c *metrics.LabelChunk, row int) {
	_, lst := strides(c)
	if c.Weights != nil && c.Weights[row] == 0 {
		p.absent++
		p.out = append(p.out, int32(row)) // whatever else the row holds
		return
	}
	bad := func(r metrics.Reason, column int, v float64) {
		p.out = append(p.out, int32(row))
		for i := range p.bad {
			if p.bad[i].Reason == r {
				p.bad[i].Count++
				return
			}
		}
		p.bad = append(p.bad, metrics.Fault{Reason: r, Count: 1, Row: c.First + int64(row), Column: column, Value: v})
	}
	for j, y := range c.Labels[row*lst:][:c.Classes] {
		if y != 0 && y != 1 {
			bad(metrics.BadLabel, j, float64(y))
			return
		}
	}
	if c.Weights != nil && !goodWeight(c.Weights[row]) {
		bad(metrics.BadWeight, -1, c.Weights[row])
		return
	}
	outside := -1
	var first float64
	for j := range c.Classes {
		v := c.At(row, j)
		switch {
		case v != v, v > math.MaxFloat64, v < -math.MaxFloat64 && c.Kind == metrics.Probs:
			bad(metrics.NotFinite, j, v)
			return
		case c.Kind == metrics.Logits:
			continue
		case c.Kind == metrics.LogProbs:
			v = kernel.Exp64(v)
		}
		if wrong := v < 0 || v > 1; outside < 0 && wrong && (!f.opt.Unchecked || math.Abs(v) > mostUnchecked) {
			outside, first = j, v
		}
	}
	if outside >= 0 {
		bad(metrics.OutsideUnit, outside, first)
	}
}

// mostUnchecked bounds the unchecked scores that a Pass admits.
const mostUnchecked = 1e140
