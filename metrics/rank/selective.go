package rank

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// EAURC returns the excess area under the risk-coverage curve, in [0,1], 0 is best: AURC less what it would be if of the
// same rows all without the event had the lowest scores. Of n rows, E of them without,
//
//	AURC - [E - (n-E) (H(n) - H(n-E))]/n, H the harmonic numbers
//
// and with weights the logarithm. NaN without rows. bound is that of AURC.
//
// The least area is that of a finite number of rows, so a perfect ranking has 0; e + (1-e) ln(1-e), which is used in its
// place, holds for infinitely many.
//
// Source: Geifman, Uziel and El-Yaniv 2019.
func (r *Ranking) EAURC() (e, bound float64) {
	a, bound := r.AURC()
	return math.Max(0, a-least(r.pairs.Rest, r.pairs.Events, r.rows.Weighted())), bound
}

// least returns the least AURC of so many rows without and with the event.
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

// AUGRC returns the area under the generalized risk-coverage curve, in [0, 1/2], 0 is best: the mean, over the coverages of
// rows that are answered from the highest score down, of the share of all rows that are answered and without the event. With
// the share a of rows with the event it is
//
//	a (1-a) (1 - AUROC) + (1-a)^2/2
//
// that is sum_cells (m E_before + e m/2)/n^2, e of m rows without the event: trapezoids. Unlike AURC it gives all errors the
// same say. NaN without rows. bound is how far that of the rows may be from it: 0 where cells are exact.
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

// silent returns the area under the generalized risk-coverage curve of E rows without the event: by trapezoids if last is E. If
// it is E+1, it is the mean of the curve's points but for the first, which is 0.
func (r *Ranking) silent(last float64) float64 {
	p := &r.pairs
	n := p.Rest + p.Events
	return math.Max(0, float64(p.Rest*p.Events)-p.Above-float64(p.Tied/2)+float64(float64(p.Rest*last)/2)) / n / n
}
