package metrics

import "github.com/candor-go/candor/kernel"

// decided holds a worker's columns for the caller's decisions. It is allocated with the first decision, since most
// predictions have none.
type decided struct {
	stats kernel.Stats // with decisions in place of labels, so Label is the probability of the decision
	right []uint8
	class []int32
}

// decide runs the kernel over rows [at, at+n) once more, for the probabilities of the decisions. A decision for the arg max
// gets exactly the bits of Stats.Top.
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

// compact moves the columns of the rows in keep to the front, and returns the decisions of these rows.
func (d *decided) compact(decisions, keep []int32) []int32 {
	for to, from := range keep {
		d.stats.Label[to] = d.stats.Label[from]
		d.class[to] = decisions[from]
	}
	return d.class[:len(keep)]
}

// judge sets the scores and outcomes of the decisions in the block.
func (d *decided) judge(b *Block) {
	kernel.Hits(d.right[:b.Rows], b.Decisions, b.Labels[:b.Rows])
	b.Score, b.Right = d.stats.Label, d.right
}
