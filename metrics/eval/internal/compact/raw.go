package compact

import (
	"math"
	"slices"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// Rows of a binary task without weights wait as they were given, before anything is computed of them: 8 or 16 bytes each. Once there are enough of
// neighbouring groups, they are passed on as chunks, so that what is computed of a row goes to the sums of all rows and to the words of its group
// while it is in the cache. The order of rows decides nothing.
const (
	WaitRows   = 1 << 14 // rows that are sorted at once
	narrowRows = 1 << 15 // rows of float32 of a region that wait
	wideRows   = 1 << 14 // of float64
	rawBytes   = max(8*narrowRows, 16*wideRows)
	rawStep    = 1 << 11 // rows that are passed on together

	// Rows of a region are passed on by parts of it, whose words stay in the first-level cache.
	partBits = 7
	parts    = region >> partBits
)

// raw has the rows that wait so.
type raw struct {
	narrow    []uint64  // narrowRows of each region: the bits of the score, and above them the mark
	wide      []wideRow // wideRows
	n         []uint32  // of the rows of each region
	ends      []uint32  // of the rows of regions among those that are sorted
	sorted32  []uint64
	sorted64  []wideRow
	chunk     metrics.Chunk
	score32   []float32 // of the rows of a region, by parts
	score64   []float64
	label, of []int32
	passing   bool  // rows of a region are passed on
	from      int32 // whose first group this is
}

// wideRow is a row with its mark: twice the number of the group in the region plus the outcome.
type wideRow struct {
	score float64
	mark  uint32
}

// Waits reports whether rows of this kind can wait, for Wait.
func (t *Table) Waits(c *metrics.Chunk) bool {
	if len(t.wide) <= nearRegions*region || !t.Classes || t.Event != calib.Positive || c.Classes != 1 || c.RowStride() != 1 || len(c.Labels) < c.Rows {
		return false
	}
	switch {
	case c.Kind != metrics.Probs && c.Kind != metrics.Logits, c.F32 == nil && c.F64 == nil, c.Pair != nil, c.Weights != nil, c.Decisions != nil,
		c.ConfidenceScores != nil, c.Bytes != nil, c.Sequences != nil, c.Clusters != nil:
		return false
	}
	return !slices.ContainsFunc(t.Means, func(m Mean) bool { return m.first == nil })
}

// Wait takes the rows of a chunk of at most WaitRows that Waits allows, for whose groups Grow has made room, and passes on those of regions of which
// enough wait: as chunks of rows without numbers, whose blocks the caller gives to Add. It returns false, and has taken none, if a row may be at
// fault or does not count. All chunks are of the same kind and type.
func (t *Table) Wait(c *metrics.Chunk, pass func(*metrics.Chunk)) bool {
	w, rows := &t.raw, c.Rows
	w.chunk.Kind, w.chunk.Classes = c.Kind, 1
	if more := (len(t.wide)+region-1)/region - len(w.n); more > 0 {
		w.n, w.ends = append(w.n, make([]uint32, more)...), append(w.ends, make([]uint32, more)...)
		if c.F32 != nil {
			w.narrow = append(w.narrow, make([]uint64, more*narrowRows)...)
		} else {
			w.wide = append(w.wide, make([]wideRow, more*wideRows)...)
		}
	}
	// Rows are sorted by region first, so that runs of rows are moved to where they wait.
	groups, labels, ends := c.Groups[:rows], c.Labels[:rows], w.ends
	clear(ends)
	odd := uint32(0)
	for i, g := range groups {
		ends[uint32(g)/region]++
		odd |= uint32(labels[i])
	}
	if odd > 1 {
		return false
	}
	at := uint32(0)
	for r, k := range ends {
		ends[r], at = at, at+k
	}
	// Of logits the finite ones wait, of probabilities those from 0 to 1.
	if c.F32 != nil {
		if w.sorted32 == nil {
			w.sorted32 = make([]uint64, WaitRows)
		}
		sorted, most, all := w.sorted32, math.Float32bits(1), ^uint32(0)
		if c.Kind == metrics.Logits {
			most, all = math.Float32bits(math.MaxFloat32), math.MaxInt32
		}
		for i, v := range c.F32[:rows] {
			g, b := uint32(groups[i]), math.Float32bits(v)
			if b&all > most && b != 1<<31 {
				return false
			}
			k := ends[g/region]
			ends[g/region] = k + 1
			sorted[k%WaitRows] = uint64(g%region<<1|uint32(labels[i]))<<32 | uint64(b)
		}
		move(t, w.narrow, sorted, narrowRows, pass, t.passNarrow)
		return true
	}
	if w.sorted64 == nil {
		w.sorted64 = make([]wideRow, WaitRows)
	}
	sorted, most, all := w.sorted64, math.Float64bits(1), ^uint64(0)
	if c.Kind == metrics.Logits {
		most, all = math.Float64bits(math.MaxFloat64), math.MaxInt64
	}
	for i, v := range c.F64[:rows] {
		g := uint32(groups[i])
		if b := math.Float64bits(v); b&all > most && b != 1<<63 {
			return false
		}
		k := ends[g/region]
		ends[g/region] = k + 1
		sorted[k%WaitRows] = wideRow{v, g%region<<1 | uint32(labels[i])}
	}
	move(t, w.wide, sorted, wideRows, pass, t.passWide)
	return true
}

// move moves sorted rows to where those of their regions wait, of which there is room for most each.
func move[T any](t *Table, to, sorted []T, most int, pass func(*metrics.Chunk), full func(int, func(*metrics.Chunk))) {
	w := &t.raw
	from := 0
	for r, end := range w.ends {
		rows := sorted[from:end]
		from = int(end)
		for len(rows) > 0 {
			n := copy(to[r*most+int(w.n[r]):(r+1)*most], rows)
			w.n[r], rows = w.n[r]+uint32(n), rows[n:]
			if int(w.n[r]) == most {
				full(r, pass)
			}
		}
	}
}

// Settle passes on all rows that Wait has taken.
func (t *Table) Settle(pass func(*metrics.Chunk)) {
	for r := range t.raw.n {
		if t.raw.wide != nil {
			t.passWide(r, pass)
		} else {
			t.passNarrow(r, pass)
		}
	}
	t.raw = raw{}
}

// passNarrow passes on the rows of a region.
func (t *Table) passNarrow(r int, pass func(*metrics.Chunk)) {
	w := &t.raw
	rows := w.narrow[r*narrowRows:][:w.n[r]]
	if w.score32 == nil {
		w.score32, w.label, w.of = make([]float32, narrowRows), make([]int32, narrowRows), make([]int32, narrowRows)
	}
	var at [parts]uint32
	for _, row := range rows {
		at[row>>(33+partBits)%parts]++
	}
	begin(&at)
	scores, labels, of, first := w.score32, w.label, w.of, int32(r*region)
	for _, row := range rows {
		k := &at[row>>(33+partBits)%parts]
		to := *k % narrowRows
		*k++
		scores[to], labels[to], of[to] = math.Float32frombits(uint32(row)), int32(row>>32&1), first+int32(row>>33)
	}
	t.pass(r, pass, func(from, to int) { w.chunk.F32 = scores[from:to] })
}

// passWide is passNarrow for float64.
func (t *Table) passWide(r int, pass func(*metrics.Chunk)) {
	w := &t.raw
	rows := w.wide[r*wideRows:][:w.n[r]]
	if w.score64 == nil {
		w.score64, w.label, w.of = make([]float64, wideRows), make([]int32, wideRows), make([]int32, wideRows)
	}
	var at [parts]uint32
	for i := range rows {
		at[rows[i].mark>>(1+partBits)%parts]++
	}
	begin(&at)
	scores, labels, of, first := w.score64, w.label, w.of, int32(r*region)
	for i := range rows {
		row := &rows[i]
		k := &at[row.mark>>(1+partBits)%parts]
		to := *k % wideRows
		*k++
		scores[to], labels[to], of[to] = row.score, int32(row.mark&1), first+int32(row.mark>>1)
	}
	t.pass(r, pass, func(from, to int) { w.chunk.F64 = scores[from:to] })
}

// begin turns numbers of rows into where they begin.
func begin(n *[parts]uint32) {
	at := uint32(0)
	for i, k := range n {
		n[i], at = at, at+k
	}
}

// pass passes on the rows of a region, whose scores set gives to the chunk. None wait then.
func (t *Table) pass(r int, pass func(*metrics.Chunk), set func(from, to int)) {
	w, c := &t.raw, &t.raw.chunk
	n := int(w.n[r])
	t.heat()
	t.touch(r, n)
	w.passing, w.from = true, int32(r*region)
	for from := 0; from < n; from += rawStep {
		to := min(from+rawStep, n)
		set(from, to)
		c.Rows, c.Labels, c.Groups = to-from, w.label[from:to], w.of[from:to]
		pass(c)
	}
	w.n[r], w.passing = 0, false
}
