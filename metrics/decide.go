package metrics

import "github.com/candor-go/candor/kernel"

// decided is what a worker knows of rows whose class the caller decided for. Its memory is of use only where there are
// decisions, so it is made with the first.
type decided struct {
	stats kernel.Stats // with the decisions in place of the labels
	score []float64
	right []uint8
	class []int32
}

// decide runs the kernel over rows [at, at+n) once more, for the probabilities of the decisions.
func (w *worker) decide(b *Block, c *Chunk, at, n, st int) {
	if w.decided == nil || len(w.decided.right) < n {
		f := func() []float64 { return make([]float64, len(w.hit)) }
		w.decided = &decided{score: f(), right: make([]uint8, len(w.hit)), class: make([]int32, len(w.hit)),
			stats: kernel.Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Norm: f(), Positive: f(),
				ArgMax: make([]int32, len(w.hit)), Flags: make([]uint8, len(w.hit))}}
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

// judge sets the score and outcome of each decision. One for the arg max has the arg max's score to the bit.
func (w *worker) judge(b *Block) {
	d := w.decided
	for i, class := range b.Decisions {
		if d.score[i] = d.stats.Label[i]; class == w.stats.ArgMax[i] {
			d.score[i] = w.stats.Top[i]
		}
	}
	kernel.Hits(d.right[:b.Rows], b.Decisions, b.Labels[:b.Rows])
	b.Score, b.Right = d.score, d.right
}
