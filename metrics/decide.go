package metrics

import "github.com/candor-go/candor/kernel"

// decided is what a worker knows of rows whose class the caller decided for. Its memory is of use only where there are
// decisions, so it is made with the first.
type decided struct {
	stats kernel.Stats // with the decisions in place of the labels: Label is then the decision's probability
	right []uint8
	class []int32
}

// decide runs the kernel over rows [at, at+n) once more, for the probabilities of the decisions. That of one for the arg
// max has the bits of Stats.Top.
func (w *worker) decide(b *Block, c *Chunk, at, n, st int) {
	if w.decided == nil || len(w.decided.right) < n {
		m := len(w.hit)
		f := func() []float64 { return make([]float64, m) }
		w.decided = &decided{right: make([]uint8, m), class: make([]int32, m), stats: kernel.Stats{Top: f(), Tail: f(), Label: f(),
			NLL: f(), Norm: f(), Positive: f(), ArgMax: make([]int32, m), Flags: make([]uint8, m)}}
		if c.Kind != Probs || c.Classes == 1 {
			w.decided.stats.Rest, w.decided.stats.Entropy = f(), f()
		}
	}
	b.Decisions = c.Decisions[at : at+n]
	w.rowStats(&w.decided.stats, c, at, n, st, b.Decisions)
}

// compact moves what there is of the rows of keep to the front, and returns their decisions.
func (d *decided) compact(decisions, keep []int32) []int32 {
	for to, from := range keep {
		d.stats.Label[to] = d.stats.Label[from]
		d.class[to] = decisions[from]
	}
	return d.class[:len(keep)]
}

// judge sets the scores and outcomes of the decisions.
func (d *decided) judge(b *Block) {
	kernel.Hits(d.right[:b.Rows], b.Decisions, b.Labels[:b.Rows])
	b.Score, b.Right = d.stats.Label, d.right
}
