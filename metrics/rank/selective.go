package rank

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// EAURC returns the excess area under the risk-coverage curve, in [0,1], 0 is best: AURC minus its value if the rows without
// the event had the lowest scores. For n rows, E of them without the event, it is
//
//	AURC - [E - (n-E) (H(n) - H(n-E))]/n, H the harmonic numbers
//
// With weights the logarithm takes the place of H. It returns NaN without rows. bound is that of AURC.
//
// The subtracted area is that of a finite number of rows, so a perfect ranking has exactly 0. The common e + (1-e) ln(1-e)
// is its limit for infinitely many rows.
//
// Source: Geifman, Uziel and El-Yaniv 2019.
func (r *Ranking) EAURC() (e, bound float64) {
	a, bound := r.AURC()
	return math.Max(0, a-least(r.pairs.Rest, r.pairs.Events, r.rows.Weighted())), bound
}

// least returns the smallest AURC with these numbers of rows without and with the event.
func least(errors, rest float64, weighted bool) float64 {
	n := errors + rest
	switch {
	case n == 0 || errors == 0:
		return 0
	case rest == 0:
		return 1
	case weighted:
		return (errors - float64(rest*kernel.Log64(n/rest))) / n
	}
	return (errors - float64(rest*harmonic(rest, errors, false))) / n
}

// AUGRC returns the area under the generalized risk-coverage curve, in [0, 1/2], 0 is best: the share of all rows that are
// answered and without the event, averaged over coverages, with the highest scores answered first. With a the share of rows
// with the event it is
//
//	a (1-a) (1 - AUROC) + (1-a)^2/2
//
// which equals sum_cells (m E_before + e m/2)/n^2 for cells of m rows, e of them without the event: trapezoids. Unlike AURC
// it weights all errors equally. It returns NaN without rows. bound is the most by which the area can differ from that of
// the rows themselves: 0 if cells are exact.
//
// Source: Traub et al. 2024.
func (r *Ranking) AUGRC() (a, bound float64) {
	p := &r.pairs
	n := p.Rest + p.Events
	if !(n > 0) {
		return math.NaN(), math.NaN()
	}
	return r.silent(p.Rest), r.bound(p.Tied / 2 / n / n)
}

// silent returns the area under the generalized risk-coverage curve with E rows without the event. It uses trapezoids if
// last is E. If last is E+1, it is the mean of all points of the curve except the first, which is 0.
func (r *Ranking) silent(last float64) float64 {
	p := &r.pairs
	n := p.Rest + p.Events
	return math.Max(0, float64(p.Rest*p.Events)-p.Above-float64(p.Tied/2)+float64(float64(p.Rest*last)/2)) / n / n
}
