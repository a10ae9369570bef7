package calib

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Classes returns the number of classes: 2 for a binary task, 0 before the first block.
func (b *ClassBins) Classes() int { return b.width }

// tallies returns the cells of a class.
func (b *ClassBins) tallies(class int) []tally.Cell {
	cells := make([]tally.Cell, b.bins())
	for bin := range cells {
		t := &cells[bin]
		if c, ok := b.seen(class, bin); ok {
			t.AddBins(&kernel.BinSum{N: c.n, Y: c.y})
			c.p.AddTo(&t.P)
			c.pp.AddTo(&t.PP)
			c.py.AddTo(&t.PY)
		}
		if c := b.full[int64(class)*int64(b.bins())+int64(bin)]; c != nil {
			t.Merge(c)
		}
	}
	return cells
}

// seen returns the cell of unweighted entries, and whether it exists.
func (b *ClassBins) seen(class, bin int) (classCell, bool) {
	switch {
	case b.weighted:
		return classCell{}, false
	case bin == 0:
		return b.lowCell(class), true
	case b.high.place != nil:
		i, ok := b.high.place[int64(class*b.high.per+bin-1)]
		if !ok {
			return classCell{}, false
		}
		return b.high.all[i], true
	}
	return *b.high.at(class, bin), true
}

// Class returns the bins of a class in ascending order: the probability of the class over all rows, with the rows of that label
// as events. A last bin of zero width between given edges is included only if it has rows. It panics if there is no such class.
func (b *ClassBins) Class(class int) *Partition {
	if class < 0 || class >= b.width {
		panic(errClass)
	}
	n := b.bins()
	p := &Partition{cells: b.tallies(class), lower: b.edges[:n], upper: b.edges[1:], weighted: b.weighted}
	if n > 1 && b.edges[n-1] == b.edges[n] {
		p.apart = 1
	}
	return p
}

const errClass = "calib: there is no such class"

// SCE returns the static calibration error, in [0,1], 0 is best: the mean over all classes of the class's ECE,
//
//	(1/N_j) * sum over bins of |sum (p - y)|
//
// N_j is the number of entries of class j that count, or the sum of the weights of their rows. A class without such entries
// adds 0. It returns NaN if no entry counts.
//
// With a threshold it is TACE over equal-width bins.
//
// Source: Nixon, Dusenberry, Zhang, Jerfel and Tran 2019.
func (b *ClassBins) SCE() float64 { return b.mean(meanGap) }

// RMS returns the root-mean-square form of SCE: the square root of the mean over all classes of
//
//	sum over bins of (n_b/N_j) * gap_b^2
//
// It is at least SCE. A class without entries adds 0. It returns NaN if no entry counts.
func (b *ClassBins) RMS() float64 { return math.Sqrt(b.mean(squaredError)) }

// Max returns the largest ECE of a class, and the first class that has it. SCE is the mean of these errors. It returns NaN and
// -1 if no entry counts.
func (b *ClassBins) Max() (ece float64, class int) {
	ece, class = math.NaN(), -1
	for j := range b.width {
		if e, ok := b.error(j, meanGap); ok && !(e <= ece) {
			ece, class = e, j
		}
	}
	return ece, class
}

// mean returns the mean of an error over the classes.
func (b *ClassBins) mean(of func(p *Partition) float64) float64 {
	var sum exact.Sum
	some := false
	for j := range b.width {
		e, ok := b.error(j, of)
		sum.AddFloat(e)
		some = some || ok
	}
	if !some {
		return math.NaN()
	}
	return exact.Mean(&sum, int64(b.width))
}

// error returns the error of a class, or 0 and false if it has no entries.
func (b *ClassBins) error(class int, of func(p *Partition) float64) (e float64, ok bool) {
	p := Partition{cells: b.tallies(class), weighted: b.weighted}
	if p.Len() == 0 {
		return 0, false
	}
	return of(&p), true
}

// meanGap returns sum |sum (p - y)| / N. Both sums are rounded before the division, because exact.Ratio is slow for many
// classes.
func meanGap(p *Partition) float64 {
	var gaps exact.Sum
	p.each(func(_ int, c *tally.Cell) {
		if g := c.Gap(); g.Sign() < 0 {
			gaps.Sub(&g)
		} else {
			gaps.Merge(&g)
		}
	})
	n := p.total()
	return gaps.Float64() / n.Float64()
}

// SCE returns the static calibration error of predictions in memory; see ClassBins.SCE. o may be nil; o.Data selects how rows
// are read. The error describes invalid options, or is a *metrics.DataError or a *metrics.LengthError.
func SCE(p *metrics.Predictions, o *ClassOptions) (float64, error) {
	b, err := NewClassBins(o)
	if err != nil {
		return math.NaN(), err
	}
	var data metrics.Options
	if o != nil {
		data = o.Data
	}
	if err := metrics.NewPass(&data, b).Add(p); err != nil {
		return math.NaN(), err
	}
	return b.SCE(), nil
}
