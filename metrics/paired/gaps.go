package paired

import "math"

// Gap compares the gaps of two models in a bin of scores: mean outcome minus mean score of the rows that each has there.
type Gap struct {
	Lower, Upper float64
	A, B         float64 // NaN if a model has no rows there
	RowsA, RowsB float64 // effective rows
	Error        Error   // of B - A; unknown if either has fewer than two rows
}

// Gaps returns the gaps of both models in equal-width bins. A row that both models have in one bin counts for both: its two residuals go
// together, and so the error of the difference is smaller than that of independent sets.
func (s *Sides) Gaps(bins int) []Gap {
	a, b := s.residuals(&s.a, bins), s.residuals(&s.b, bins)
	l, v := make([]Gap, bins), make([]float64, bins)
	for k := range l {
		g := &l[k]
		*g = Gap{float64(k) / float64(bins), float64(k+1) / float64(bins), math.NaN(), math.NaN(), a.rows[k], b.rows[k], unknown}
		if g.RowsA > 0 {
			g.A = a.gap[k]
		}
		if g.RowsB > 0 {
			g.B = b.gap[k]
		}
	}
	for i, w2 := range s.w2 {
		ka, kb := a.bin[s.a.at[i]], b.bin[s.b.at[i]]
		ra, rb := a.residual(&s.a, i)/a.weight[ka], b.residual(&s.b, i)/b.weight[kb]
		if ka == kb {
			d := rb - ra
			v[ka] += float64(w2 * float64(d*d))
			continue
		}
		v[ka] += float64(w2 * float64(ra*ra))
		v[kb] += float64(w2 * float64(rb*rb))
	}
	for k := range l {
		if n := math.Min(l[k].RowsA, l[k].RowsB); n > 1 {
			l[k].Error = Error{SE: math.Sqrt(v[k]), DF: n - 1}
		}
	}
	return l
}
