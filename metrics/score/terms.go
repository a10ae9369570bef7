package score

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
)

// BrierTerms is a mean Brier score taken apart by groups of rows: Uncertainty - Resolution + Reliability + WithinBin. With
// D_g the frequencies of the outcomes in group g, q those over all rows, and m_g the mean of the forecasts p_i of the group,
// all of them vectors over the classes and y_i that of row i,
//
//	Uncertainty  1 - |q|^2                            what the base rates score: see BaseRates
//	Resolution   mean_i |D_g - q|^2                   how far the groups part the outcomes; higher is better
//	Reliability  mean_i |D_g - p_i|^2                 how far forecasts are from the frequencies of their group; 0 is best
//	WithinBin    -2 mean_i (p_i - m_g)(y_i - D_g)     what forecasts know inside of the groups; below 0 is better
//
// Reliability holds the spread of the forecasts in a group, so it is 0 only where they are all the group's frequencies. The
// last term is 0 where the forecasts of a group are equal; that Murphy's three terms add up without it holds for those alone.
//
// Source: Murphy 1973; Bröcker 2009 for classes; Stephenson, Coelho and Jolliffe 2008 for what is left within bins.
//
// Decomposition groups rows by the predicted class. Groups by bins of the score of an event are those of calib.Partition.Murphy:
// BrierTerms(partition.Murphy()).In(form, 1).
type BrierTerms struct {
	Uncertainty, Resolution, Reliability, WithinBin float64
}

// Brier returns the score that the terms add up to.
func (t BrierTerms) Brier() float64 {
	return t.Uncertainty - t.Resolution + t.Reliability + t.WithinBin
}

// In returns the terms of BrierDefault of a binary task, or of the multiclass score, in another form. They add up to that form: what it
// adds to the score is in Uncertainty. A binary task has 1 class.
func (t BrierTerms) In(f BrierForm, classes int) BrierTerms {
	scale, shift := f.of(classes)
	return BrierTerms{
		Uncertainty: float64(scale*t.Uncertainty) + shift,
		Resolution:  float64(scale * t.Resolution),
		Reliability: float64(scale * t.Reliability),
		WithinBin:   float64(scale * t.WithinBin),
	}
}

// atLeast0 returns v, or 0 where rounding has led below it.
func atLeast0(v float64) float64 {
	if v < 0 {
		return 0
	}
	return v
}

// Coded is whose code Decomposition.AsCoded follows.
type Coded uint8

const (
	CodedUM  Coded = iota // uncertainty_metrics; robustness_metrics has the same
	CodedTFP              // tfp.stats, in double precision
)

// AsCoded returns the terms that the Brier decomposition of uncertainty_metrics or tfp.stats returns, for parity: they do not
// add up to the score. Their uncertainty is -sum q^2; they divide counts by the size of the group and a small number more,
// 1e-7 or 2^-52; their resolution compares the frequencies D_g of the group of predicted class g with the one share q_g in
// place of the shares of all classes, which is right only where all classes are equally frequent; and there is no WithinBin,
// which is 0 here. A binary task counts as two classes. It panics for a code that is none.
func (d *Decomposition) AsCoded(c Coded) BrierTerms {
	switch c {
	case CodedUM:
		return d.terms(1e-7, true)
	case CodedTFP:
		return d.terms(0x1p-52, true)
	}
	panic("score: there is no such code")
}

// Terms returns the terms of the score in the given form; they add up to Loss.Brier of it. NaN without rows, and where Err
// says why.
func (d *Decomposition) Terms(f BrierForm) BrierTerms {
	t := d.terms(0, false)
	if d.seen.Classes == 1 { // the tile has both classes
		t = BrierTerms{t.Uncertainty / 2, t.Resolution / 2, t.Reliability / 2, t.WithinBin / 2}
	}
	return t.In(f, d.seen.Classes)
}

// terms returns those of the sum over all classes. small is added to what counts are divided by.
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
				// n freq^2 - 2 freq sum p, beside the squares of all p, and what the term within the group takes from p y
				reliability.AddFloat(float64(freq * (float64(n*freq) - float64(2*p))))
				known.AddFloat(float64(freq * p))
			}
		}
		resolution.AddFloat(float64(n * far))
	})

	// The squares of all probabilities are what the score has beside 1 - 2 p_y: so the terms add up to it.
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
				w.AddShifted(g.labels[j], 88)
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
