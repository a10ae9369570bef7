package main

import (
	"slices"
	"time"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/parallel"
)

// A ranking does something with so many scores at once, float32 uniformly random in [0,1), that takes their order.
type ranking struct {
	n   int
	run func(d *desk, threads int)
}

// A desk is where scores are ranked.
type desk struct {
	x       []float32 // the scores
	hit     []uint8   // their outcomes
	scratch []uint32  // what kernel.SortF32 needs
}

// newDesk takes memory for n scores.
func (m *memory) newDesk(n int) (*desk, error) {
	sizes := []int{4 * n, n, 4 * kernel.SortScratch(n)}
	var mem [3][]byte
	for i, size := range sizes {
		b, err := m.take(size)
		if err != nil {
			return nil, err
		}
		mem[i] = b[:size]
	}
	d := &desk{view[float32](mem[0]), mem[1], view[uint32](mem[2])}
	for i := range d.hit {
		d.hit[i] = uint8(i * 7919 >> 4 & 1)
	}
	return d, nil
}

// part is the desk of n scores.
func (d *desk) part(n int) *desk {
	return &desk{d.x[:n], d.hit[:n], d.scratch[:kernel.SortScratch(n)]}
}

// ranked returns how many scores a ranking has: fewer than it should where the memory is small.
func (m *memory) ranked(w *workload) int { return min(w.ranking.n, m.size/w.rowBytes()) }

// prepare copies scores as they are in memory, which is not what is measured.
func (r *ranking) prepare(m *memory, scores []float32, threads int) func() {
	d := m.desk.part(len(scores))
	copy(d.x, scores)
	return func() { r.run(d, threads) }
}

func sortScores(d *desk, threads int) {
	if threads > 1 {
		parallel.SortF32(d.x, d.scratch, threads)
	} else {
		kernel.SortF32(d.x, d.scratch)
	}
}

// equalMass makes 15 bins of equal mass of scores with outcomes.
func equalMass(d *desk, threads int) {
	if b := parallel.EqualMassF32(d.x, d.hit, 15, -1, threads); int(b.Count()) != len(d.x) {
		panic("roofline: some of its own scores are in no bin")
	}
}

// A plainSort is slices.Sort of so many scores on one thread, which rankings are compared with.
type plainSort struct {
	n, runs int
	fastest float64 // scores a second
}

// samplePlain takes a sample. The fastest counts: a long one is seldom left alone, and no probe would tell.
func (r *run) samplePlain(p *plainSort) {
	all := view[float32](r.huge.stores["uniform"].mem)
	x := r.huge.desk.x[:copy(r.huge.desk.x[:p.n], all[p.runs*p.n%(len(all)-p.n+1):])]
	start := time.Now()
	slices.Sort(x)
	p.fastest = max(p.fastest, float64(p.n)/since(start).Seconds())
	p.runs++
}

// plainRate returns how many scores a second slices.Sort sorts, of as many as a ranking has.
func (r *run) plainRate(w *workload) float64 {
	n := r.huge.ranked(w)
	return r.plain[slices.IndexFunc(r.plain, func(p *plainSort) bool { return p.n == n })].fastest
}
