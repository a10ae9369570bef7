package calib

import (
	"math/big"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Murphy is the Brier score of an event, mean (p - y)^2, taken apart by bins: Uncertainty - Resolution + Reliability + WithinBin. With
// y_b and p_b the mean outcome and the mean score of bin b, and q the mean outcome of all rows,
//
//	Uncertainty  q (1 - q)                            what the base rate scores
//	Resolution   mean_i (y_b - q)^2                   how far the bins part the outcomes; higher is better
//	Reliability  mean_i (y_b - p_i)^2                 how far scores are from the frequencies of their bins; 0 is best
//	WithinBin    -2 mean_i (p_i - p_b)(y_i - y_b)     what scores know inside of the bins; below 0 is better
//
// Source: Murphy 1973; Stephenson, Coelho and Jolliffe 2008 for what is left within bins.
type Murphy struct {
	Uncertainty, Resolution, Reliability, WithinBin float64
}

// Murphy decomposes the Brier score by the bins, including those that some options set apart. Rows in no bin are missing. NaN without
// rows.
//
// Sums are exact, and a bin's share of a term is rounded once.
func (b *Partition) Murphy() Murphy {
	var all tally.Cell
	for i := range b.cells {
		all.Merge(&b.cells[i])
	}
	total := all.Total(b.weighted)
	q := all.Frequency(b.weighted)
	rest := total.Clone()
	rest.Sub(&all.Y)
	var resolution, reliability, within exact.Sum
	b.each(func(_ int, c *tally.Cell) {
		w := c.Total(b.weighted)
		// Of the frequency y/w: w (y/w - q)^2, y^2/w - 2 y/w sum p + sum p^2, and sum py - y/w sum p.
		y, p := exact.Rat(&c.Y), exact.Rat(&c.P)
		d := new(big.Rat).Quo(y, exact.Rat(&w))
		freq, _ := d.Float64()
		gap := freq - q
		resolution.AddFloat(float64(w.Float64() * float64(gap*gap)))
		twice := new(big.Rat).Add(p, p)
		r := twice.Sub(y, twice)
		reliability.AddFloat(tally.Float(r.Mul(r, d).Add(r, exact.Rat(&c.PP))))
		p.Mul(p, d)
		within.AddFloat(tally.Float(p.Sub(exact.Rat(&c.PY), p)))
	})
	m := Murphy{
		Uncertainty: float64(q * exact.Ratio(&rest, &total)),
		Resolution:  exact.Ratio(&resolution, &total),
		Reliability: exact.Ratio(&reliability, &total),
		WithinBin:   0 - float64(2*exact.Ratio(&within, &total)),
	}
	if m.Reliability < 0 {
		m.Reliability = 0 // only rounding leads there
	}
	return m
}
