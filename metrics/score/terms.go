package score

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
)

// BrierTerms decomposes a mean Brier score by groups of rows: Uncertainty - Resolution + Reliability + WithinBin. Let D_g be
// the frequencies of the outcomes in group g, q those over all rows, and m_g the mean of the forecasts p_i of the group. All
// of them are vectors over the classes, and so is the outcome y_i of row i.
//
//	Uncertainty  1 - |q|^2                            score of the base rates: see BaseRates
//	Resolution   mean_i |D_g - q|^2                   how far the groups separate the outcomes; higher is better
//	Reliability  mean_i |D_g - p_i|^2                 how far forecasts are from the frequencies of their group; 0 is best
//	WithinBin    -2 mean_i (p_i - m_g)(y_i - D_g)     information of the forecasts inside the groups; below 0 is better
//
// Reliability includes the spread of the forecasts in a group, so it is 0 only if they all equal the group's frequencies.
// WithinBin is 0 if the forecasts of each group are equal; only then do Murphy's three terms add up to the score.
//
// Source: Murphy 1973; Bröcker 2009 for classes; Stephenson, Coelho and Jolliffe 2008 for the terms within bins.
//
// Decomposition groups rows by the predicted class. For groups by bins of an event's score, use calib.Partition.Murphy:
// BrierTerms(partition.Murphy()).In(form, 1).
type BrierTerms struct {
	Uncertainty, Resolution, Reliability, WithinBin float64
}

// Brier returns the score, the sum of the terms.
func (t BrierTerms) Brier() float64 {
	return t.Uncertainty - t.Resolution + t.Reliability + t.WithinBin
}

// In returns the terms in another form of the score, from those of BrierDefault of a binary task (1 class) or of several
// classes. They add up to that form: the form's shift is part of Uncertainty.
func (t BrierTerms) In(f BrierForm, classes int) BrierTerms {
	scale, shift := f.of(classes)
	return BrierTerms{
		Uncertainty: float64(scale*t.Uncertainty) + shift,
		Resolution:  float64(scale * t.Resolution),
		Reliability: float64(scale * t.Reliability),
		WithinBin:   float64(scale * t.WithinBin),
	}
}

// atLeast0 returns v, or 0 if rounding has made it negative.
func atLeast0(v float64) float64 {
	if v < 0 {
		return 0
	}
	return v
}

// Coded selects whose code Decomposition.AsCoded follows.
type Coded uint8

const (
	CodedUM  Coded = iota // uncertainty_metrics, and robustness_metrics, which is the same
	CodedTFP              // tfp.stats, in double precision
)

// AsCoded returns the terms that the Brier decomposition of uncertainty_metrics or tfp.stats returns, for parity. They do
// not add up to the score. Uncertainty is -sum q^2. Counts are divided by the size of the group plus a small number, 1e-7 or
// 2^-52. Resolution compares the frequencies D_g of the group of predicted class g with the single share q_g instead of the
// shares of all classes, which is right only if all classes are equally frequent. WithinBin is 0, because these libraries do
// not have it. A binary task counts as two classes. It panics for an unknown code.
func (d *Decomposition) AsCoded(c Coded) BrierTerms {
	switch c {
	case CodedUM:
		return d.terms(1e-7, true)
	case CodedTFP:
		return d.terms(0x1p-52, true)
	}
	panic("score: there is no such code")
}

// Terms returns the terms of the score in the given form; they add up to Loss.Brier. They are NaN without rows, and if there
// is an Err.
func (d *Decomposition) Terms(f BrierForm) BrierTerms {
	t := d.terms(0, false)
	if d.seen.Classes == 1 { // the tile has both classes
		t = BrierTerms{t.Uncertainty / 2, t.Resolution / 2, t.Reliability / 2, t.WithinBin / 2}
	}
	return t.In(f, d.seen.Classes)
}

// terms returns the terms of the sum over all classes. small is added to the divisors of counts.
func (d *Decomposition) terms(small float64, coded bool) BrierTerms {
	if d.weight.N == 0 || d.over() {
		return BrierTerms{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	}
	total := d.weight.Total(d.seen.Weighted)
	shares, uncertainty := d.shares(&total, coded)

	var resolution, reliability, known exact.Sum
	d.each(func(k int, g *group) {
		size := d.size(g)
		n := size.Float64()
		far := 0.0
		for j := range d.width {
			hits, p := d.cell(k, g, j)
			freq := hits / (n + small)
			gap := freq - shares[j]
			if coded {
				gap = freq - shares[k]
			}
			far += float64(gap * gap)
			if freq > 0 {
				// Reliability gets n freq^2 - 2 freq sum p, without the squares of p. known is what the term within the group
				// subtracts from p y.
				reliability.AddFloat(float64(freq * (float64(n*freq) - float64(2*p))))
				known.AddFloat(float64(freq * p))
			}
		}
		resolution.AddFloat(float64(n * far))
	})

	// The squares of all probabilities are the score minus its part 1 - 2 p_y, so the terms add up to the score.
	score := d.brier.S1.Clone()
	if d.seen.Classes == 1 {
		score.Merge(&d.brier.S1)
	}
	reliability.Merge(&score)
	reliability.Sub(&total)
	reliability.Merge(&d.label)
	reliability.Merge(&d.label)
	t := BrierTerms{
		Uncertainty: uncertainty,
		Resolution:  exact.Ratio(&resolution, &total),
		Reliability: atLeast0(exact.Ratio(&reliability, &total)),
	}
	if !coded {
		within := d.label.Clone()
		within.Sub(&known)
		t.WithinBin = 0 - float64(2*exact.Ratio(&within, &total))
	}
	return t
}

// shares returns the share of each class, and the uncertainty.
func (d *Decomposition) shares(total *exact.Sum, coded bool) (shares []float64, uncertainty float64) {
	shares = make([]float64, d.width)
	var sum exact.Sum
	n := total.Float64()
	for j := range shares {
		var w exact.Sum
		d.each(func(_ int, g *group) {
			if d.seen.Weighted {
				w.Merge(&g.heavy[j].y)
			} else {
				w.AddShifted(g.label(j), 88)
			}
		})
		rest := total.Clone()
		rest.Sub(&w)
		shares[j] = w.Float64() / n
		if coded {
			sum.AddFloat(-float64(shares[j] * shares[j]))
		} else {
			sum.AddFloat(float64(shares[j] * (rest.Float64() / n)))
		}
	}
	return shares, sum.Float64()
}
