package calib

import (
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Negate turns the sums of b into their negatives: a Merge of b then takes its rows out of another. Until it is merged, b must not be used
// otherwise.
func (b *Bins) Negate() {
	for i := range b.cells {
		b.cells[i].Negate()
	}
	b.lost.Negate()
}

// Negate is as that of Bins.
func (a *Chosen) Negate() {
	a.rows = -a.rows
	for j := range a.of {
		a.of[j].Negate()
	}
}

// Subtract takes out the rows of another *ClassBins: a Merge of these rows restores b. It does not check that b has them.
func (b *ClassBins) Subtract(a metrics.Accumulator) error {
	o, err := state.Same[*ClassBins](classFormat, a)
	if err != nil || o.classes == 0 {
		return err
	}
	if b.classes != o.classes || b.weighted != o.weighted || !b.opt.equal(o.opt) {
		return state.Mismatch(classFormat, "of other classes or options")
	}
	take := func(from *classCell, c classCell) {
		c.n, c.y = -c.n, -c.y
		for _, w := range []*tally.Wide{&c.p, &c.pp, &c.py} {
			w.Negate()
		}
		from.merge(&c)
	}
	b.rows -= o.rows
	for j := range o.low {
		take(&b.low[j], o.lowCell(j))
	}
	o.high.each(func(class, bin int, c *classCell) { take(b.high.at(class, bin), *c) })
	for i, c := range o.full {
		from := b.full[i]
		if from == nil {
			return state.Missing(classFormat)
		}
		from.N -= c.N
		for _, s := range from.Sums(c) {
			s[0].Sub(s[1])
		}
		if from.N == 0 {
			delete(b.full, i)
		}
	}
	return nil
}
