package compact

import (
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// Rows of a binary task whose scores are float32 wait as these, with their groups and outcomes: 8 bytes, of which all columns are made again
// when the rows are added. So more of them can wait than of others, and less of the memory of the groups' words moves for each.
const (
	narrowRows  = 1 << 14 // of a region that wait, if there are more than a few regions
	narrowStep  = 1 << 10 // rows whose columns are made at once
	narrowBytes = 8 * narrowRows
)

// narrow has the rows that wait so.
type narrow struct {
	regions []narrowRegion
	block   metrics.Block // of the rows whose columns are made
	stats   kernel.Stats
	scores  []float32
	labels  []int32
	bins    []int32
	keys    []uint32
	values  []float64 // the scores and then each of the means
}

// narrowRegion has the rows of a region: the bits of the score, and above them twice the number of the group there plus the outcome.
type narrowRegion struct {
	rows []uint64
	n    int
}

// narrows reports whether the rows of a block can wait by their scores.
func (t *Table) narrows(b *metrics.Block) bool {
	if b.Given == nil || t.Event != calib.Positive || b.Decisions != nil || b.Bytes != nil || b.Sequences != nil {
		return false
	}
	return !slices.ContainsFunc(t.Means, func(m Mean) bool { return m.first == nil })
}

// addNarrow adds rows to those of their regions, and adds these to words if they are enough.
func (t *Table) addNarrow(b *metrics.Block, groups []int32) {
	t.heat()
	w := &t.narrow
	if more := (len(t.wide)+region-1)/region - len(w.regions); more > 0 {
		w.regions = append(w.regions, make([]narrowRegion, more)...)
	}
	if w.block.Kind != b.Kind {
		for r := range w.regions {
			t.addRegion(r)
		}
		w.block.Kind = b.Kind
	}
	w.block.DType = b.DType
	regions, labels, scores := w.regions, b.Labels[:len(groups)], b.Given[:len(groups)]
	for i, g := range groups {
		to := &regions[uint32(g)/region]
		if to.n == len(to.rows) {
			t.widen(int(uint32(g) / region))
		}
		n := to.n
		to.rows[n] = uint64(uint32(g)%region<<1|uint32(labels[i]))<<32 | uint64(math.Float32bits(scores[i]))
		to.n = n + 1
	}
}

// widen makes room for rows of a region.
func (t *Table) widen(r int) {
	to := &t.narrow.regions[r]
	most := narrowRows
	if len(t.narrow.regions) <= nearRegions {
		most = narrowStep
	}
	if len(to.rows) < most {
		to.rows = append(make([]uint64, 0, most), to.rows...)[:min(most, max(narrowStep, 2*len(to.rows)))]
		return
	}
	t.addRegion(r)
}

// settleNarrow adds all rows that wait.
func (t *Table) settleNarrow() {
	for r := range t.narrow.regions {
		t.addRegion(r)
	}
	t.narrow = narrow{}
}

// addRegion adds the rows of a region that wait to the words of their groups.
func (t *Table) addRegion(r int) {
	w := &t.narrow
	to := &w.regions[r]
	if len(w.regions) > nearRegions {
		t.touch(r, to.n)
	}
	for from := 0; from < to.n; from += narrowStep {
		end := min(from+narrowStep, to.n)
		t.addNarrowRows(r, to.rows[from:end])
	}
	to.n = 0
}

// addNarrowRows makes the columns of rows and adds them.
func (t *Table) addNarrowRows(r int, rows []uint64) {
	w, n := &t.narrow, len(rows)
	if w.labels == nil {
		f := func() []float64 { return make([]float64, narrowStep) }
		w.stats = kernel.Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Rest: f(), Entropy: f(), Norm: f(), Positive: f(),
			ArgMax: make([]int32, narrowStep), Flags: make([]uint8, narrowStep)}
		w.scores, w.labels, w.bins, w.keys = make([]float32, narrowStep), make([]int32, narrowStep), make([]int32, narrowStep), make([]uint32, narrowStep)
		w.values = make([]float64, (1+len(t.Means))*narrowStep)
		w.block.Classes, w.block.Stats, w.block.Hit = 1, &w.stats, make([]uint8, narrowStep)
	}
	scores, labels, keys, bins := w.scores[:n], w.labels[:n], w.keys[:n], w.bins[:n]
	for i, row := range rows {
		scores[i], labels[i] = math.Float32frombits(uint32(row)), int32(row>>32&1)
	}
	if w.block.Kind == metrics.Logits {
		kernel.BinaryLogitStatsF32(&w.stats, scores, labels)
	} else {
		kernel.BinaryProbStatsF32(&w.stats, scores, labels)
	}
	b := &w.block
	b.Rows, b.Labels, b.Given = n, labels, scores
	kernel.Hits(b.Hit[:n], w.stats.ArgMax[:n], labels)
	b.Score, b.Right = w.stats.Top, b.Hit
	kernel.BinEqual(bins, w.stats.Positive[:n], t.edges, kernel.LeftClosed)
	words := uint32(t.words)
	for i, row := range rows {
		keys[i] = uint32(row>>33)*words<<8 | uint32(bins[i])<<1 | uint32(labels[i])
	}
	copy(w.values, w.stats.Positive[:n])
	for m := range t.Means {
		t.values[m](w.values[(m+1)*narrowStep:][:n], b)
	}
	t.addRows(r, keys, w.values, narrowStep)
}
