package compact

import (
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Table has the sums of groups by their numbers.
type Table struct {
	*Kept
	Weighted bool // the rows have weights

	// Rows of classes without weights are summed in words. Before one could overflow, those of its group are added to its Sums and cleared:
	// no term is above 2^51, and a bin reaches at most full rows, so that even the words of two tables together stay below 2^63.
	hot  []int64
	wide []*Sums // by group; nil where there are none

	edges  []float64
	values []func([]float64, *metrics.Block)
	v      []float64
	bin    []int32
	hit    []uint8
	ones   []int32

	columns [][]float64
	first   []uint64   // the latest rows of each region of groups, up to firstRows
	firsts  []int32    // their words
	waiting [][]uint64 // rows by regions
	touched int64
}

// full is the number of rows of a bin from which on words are cleared.
const full = 128

// New returns a table without groups.
func (k *Kept) New() *Table {
	t := &Table{Kept: k, edges: kernel.Edges(Bins)}
	for i := range k.Means {
		t.values = append(t.values, k.Means[i].New())
	}
	return t
}

// Grow makes room for groups with numbers below n.
func (t *Table) Grow(n int) {
	if n <= len(t.wide) {
		return
	}
	t.wide = append(t.wide, make([]*Sums, n-len(t.wide))...)
	if t.Classes && !t.Weighted && len(t.hot) > 0 {
		t.heat()
	}
}

// heat makes the words of all groups.
func (t *Table) heat() {
	if n := len(t.wide)*t.words - len(t.hot); n > 0 {
		t.hot = append(t.hot, make([]int64, n)...)
	}
}

// Bytes returns the memory of a table of this many groups.
func (k *Kept) Bytes(groups int64, weighted bool) int64 {
	const sum = 32
	each := int64(8 * k.words)
	if !k.Classes || weighted {
		each = 400 + int64(len(k.Means))*160
		if k.Classes {
			each += Bins * (3*sum + 8)
		}
		if !k.Classes { // whose sums hold numbers of any size
			each += int64(len(k.Means)) * 560
		}
	}
	waiting := (groups/region + 1) * (regionRows + firstRows) * int64(16+8*len(k.Means))
	return groups*(each+8) + waiting
}

// Len returns the number of groups.
func (t *Table) Len() int { return len(t.wide) }

// of returns the Sums of a group, which it makes if needed.
func (t *Table) of(g int32) *Sums {
	if t.wide[g] == nil {
		t.wide[g] = t.sums()
	}
	return t.wide[g]
}

// Add adds the rows of a block, each to the group of its number. Grow has made room.
func (t *Table) Add(b *metrics.Block, groups []int32) {
	n := b.Rows
	t.Weighted = b.Weights != nil
	if len(t.bin) < n {
		t.bin, t.hit, t.v = make([]int32, n), make([]uint8, n), make([]float64, n)
		t.ones = slices.Repeat([]int32{1}, n)
	}
	if !t.Classes {
		for i, g := range groups {
			s := t.of(g)
			s.N++
			if t.Weighted {
				s.Cell.Weight.Add(1, b.Weights[i:i+1])
			} else {
				s.Cell.N++
			}
		}
		for m := range t.values {
			t.slow(m, b, groups)
		}
		return
	}
	p, y := b.Score, b.Right
	if t.Event == calib.Positive {
		p, y = b.Stats.Positive, t.hit
		kernel.Hits(t.hit[:n], b.Labels[:n], t.ones[:n])
	}
	kernel.BinEqual(t.bin[:n], p[:n], t.edges, kernel.LeftClosed)
	if t.Weighted {
		for i, g := range groups {
			t.of(g).add(t.bin[i], p[i], y[i], b.Weights[i], true)
		}
		for m := range t.values {
			t.slow(m, b, groups)
		}
		return
	}
	t.sort(b, p[:n], y[:n], groups)
}

// slow adds the values of a mean to Sums.
func (t *Table) slow(m int, b *metrics.Block, groups []int32) {
	v := t.v[:b.Rows]
	t.values[m](v, b)
	for i, g := range groups {
		w := 1.0
		if b.Weights != nil {
			w = b.Weights[i]
		}
		t.of(g).addValue(m, v[i], w, b.Weights != nil, t.Classes)
	}
}

// region is the number of neighbouring groups, a power of two, whose words stay in the cache while rows are added to them. Rows wait until
// there are enough of a region: the words of many groups are slow to come from memory.
const (
	region     = 1 << 10
	regionRows = 1 << 13 // that wait
	firstRows  = 1 << 5  // that are written to where they wait at once: one by one, each would wait for a line of memory
	soonRows   = 1 << 11 // that wait where there is only one region
)

// sort puts rows of classes without weights where those of the same region of groups wait: the number of the group with bin and outcome, the
// score, and the values of means.
func (t *Table) sort(b *metrics.Block, p []float64, y []uint8, groups []int32) {
	t.heat()
	n, width := len(p), 2
	for m := range t.Means {
		if t.Means[m].first == nil {
			t.slow(m, b, groups)
			continue
		}
		if len(t.columns) <= width-2 {
			t.columns = append(t.columns, nil)
		}
		c := &t.columns[width-2]
		if len(*c) < n {
			*c = make([]float64, n)
		}
		t.values[m]((*c)[:n], b)
		width++
	}
	most := regionRows
	if len(t.waiting) == 1 {
		most = soonRows
	}
	columns := t.columns[:width-2]
	for len(t.waiting)*region < len(t.wide) {
		t.waiting, t.firsts = append(t.waiting, nil), append(t.firsts, 0)
		t.first = append(t.first, make([]uint64, firstRows*width)...)
	}
	room := firstRows * width
	for i, g := range groups {
		r := int(g / region)
		first := t.first[r*room:][:room]
		at := int(t.firsts[r])
		row := first[at:][:width]
		row[0] = uint64(g)<<8 | uint64(t.bin[i])<<1 | uint64(y[i])
		row[1] = math.Float64bits(p[i])
		for j, c := range columns {
			row[j+2] = math.Float64bits(c[i])
		}
		if at += width; at == room {
			w := t.waiting[r]
			if cap(w)-len(w) < room {
				w = slices.Grow(w, min(max(room, len(w)), most*width-len(w)))
			}
			if w = append(w, first...); len(w) >= most*width {
				t.add(r, w, width)
				w = w[:0]
			}
			t.waiting[r], at = w, 0
		}
		t.firsts[r] = int32(at)
	}
}

// settle adds all rows that wait.
func (t *Table) settle() {
	width := 2
	for m := range t.Means {
		if t.Means[m].first != nil {
			width++
		}
	}
	for r, w := range t.waiting {
		t.add(r, w, width)
		t.add(r, t.first[r*firstRows*width:][:t.firsts[r]], width)
	}
	t.first, t.firsts, t.waiting = nil, nil, nil
}

// add adds rows that have waited to the words of their groups.
func (t *Table) add(r int, waiting []uint64, width int) {
	words := t.words
	if part := t.hot[r*region*words : min(len(t.hot), (r+1)*region*words)]; len(waiting) > len(part)/16 && len(t.waiting) > 1 {
		for i := 0; i < len(part); i += 8 { // in order, they come fast from memory
			t.touched += part[i]
		}
	}
	for ; len(waiting) > 0; waiting = waiting[width:] {
		row := waiting[:width]
		g, bin, y := int32(row[0]>>8), int(row[0]>>1&0x7f), int64(row[0]&1)
		rec := t.hot[int(g)*words:][:words]
		at := 2
		for m := range t.Means {
			l := &t.Means[m]
			if l.first == nil {
				continue
			}
			x := math.Float64frombits(row[at])
			at++
			if !(math.Abs(x) <= l.first.Max) {
				t.of(g).addValue(m, x, 1, false, true)
				continue
			}
			to := rec[l.at:]
			q := float64(x * x)
			u, v := x+l.first.Magic, q+l.second.Magic
			if l.first.Fine == 0 {
				to = to[:2]
				to[0] += int64(math.Float64bits(u) - math.Float64bits(l.first.Magic))
				to[1] += int64(math.Float64bits(v) - math.Float64bits(l.second.Magic))
				continue
			}
			to = to[:4]
			to[0] += int64(math.Float64bits(u) - math.Float64bits(l.first.Magic))
			to[1] += int64(math.Float64bits((x-(u-l.first.Magic))+l.first.Fine) - math.Float64bits(l.first.Fine))
			to[2] += int64(math.Float64bits(v) - math.Float64bits(l.second.Magic))
			to[3] += int64(math.Float64bits((q-(v-l.second.Magic))+l.second.Fine) - math.Float64bits(l.second.Fine))
		}
		p := math.Float64frombits(row[1])
		if !tally.InUnit(p) {
			t.of(g).add(int32(bin), p, uint8(y), 1, false)
			t.spill(g) // no bin counts the row
			continue
		}
		u := fixedUnit(p)
		rec[atSquares] += fixedUnit(float64(p * p))
		rec[atHits] += u & -y
		b := rec[bin*binWords:][:binWords]
		b[0] += 1<<32 | y
		if b[1] += u; b[0] >= full<<32 {
			t.spill(g)
		}
	}
}

// fixedUnit returns v in [0,1] in units of 2^-51, rounded to even, as the kernels do.
func fixedUnit(v float64) int64 { return int64(math.Float64bits(v+3) - 0x4008000000000000) }

// spill adds the words of a group to its Sums and clears them.
func (t *Table) spill(g int32) {
	rec := t.hot[int(g)*t.words:][:t.words]
	t.addWords(t.of(g), rec)
	clear(rec)
}

const unit = 88 - 51 // the last place of words of scores, in quanta of sums

// addWords adds the words of a group to Sums.
func (k *Kept) addWords(s *Sums, rec []int64) {
	var n, y, p int64 // sums of p of full bins stay below 2^63 together too
	for i := range s.Bins {
		w := rec[i*binWords]
		if w == 0 {
			continue
		}
		b, q := &s.Bins[i], rec[i*binWords+1]
		b.N += w >> 32
		b.Y.AddShifted(w&math.MaxUint32, 88)
		b.P.AddShifted(q, unit)
		n, y, p = n+w>>32, y+w&math.MaxUint32, p+q
	}
	s.N += n
	s.Cell.N += n
	s.Cell.Y.AddShifted(y, 88)
	s.Cell.P.AddShifted(p, unit)
	s.Cell.PP.AddShifted(rec[atSquares], unit)
	s.Cell.PY.AddShifted(rec[atHits], unit)
	for i := range k.Means {
		m, to := &k.Means[i], &s.Means[i]
		if m.first == nil {
			continue
		}
		r := rec[m.at:]
		if m.first.Fine == 0 {
			to.S1.AddShifted(r[0], tally.Shift(m.first.Magic))
			to.S2.AddShifted(r[1], tally.Shift(m.second.Magic))
			continue
		}
		to.S1.AddShifted(r[0], tally.Shift(m.first.Magic))
		to.S1.AddShifted(r[1], tally.Shift(m.first.Fine))
		to.S2.AddShifted(r[2], tally.Shift(m.second.Magic))
		to.S2.AddShifted(r[3], tally.Shift(m.second.Fine))
	}
}

// Sums returns those of a group, which the caller must not change.
func (t *Table) Sums(g int32) *Sums {
	if t.waiting != nil {
		t.settle()
	}
	w := t.wide[g]
	if len(t.hot) == 0 {
		if w == nil {
			return t.sums()
		}
		return w
	}
	s := t.sums()
	if w != nil {
		s.Merge(w)
	}
	t.addWords(s, t.hot[int(g)*t.words:][:t.words])
	return s
}

// Merge adds the rows of the groups of another table: those of its group i belong to group to[i] of t, for which Grow has made room.
// A negative to[i] leaves a group out.
func (t *Table) Merge(o *Table, to []int32) {
	t.Weighted = t.Weighted || o.Weighted
	t.settle()
	o.settle()
	if len(o.hot) > 0 {
		t.heat()
	}
	for i, g := range to {
		if g < 0 {
			continue
		}
		if w := o.wide[i]; w != nil {
			t.of(g).Merge(w)
		}
		if len(o.hot) == 0 {
			continue
		}
		rec, from := t.hot[int(g)*t.words:][:t.words], o.hot[i*t.words:][:t.words]
		spill := false
		for j, x := range from {
			rec[j] += x
			spill = spill || j < atSquares && j%binWords == 0 && rec[j] >= full<<32
		}
		if spill {
			t.spill(g)
		}
	}
}

// Append appends the state of a group.
func (t *Table) Append(dst []byte, g int32) ([]byte, error) {
	s := t.Sums(g)
	return sumsFormat.Append(dst, func(f *exact.Fields) { s.fields(f, t.Weighted) })
}

// Read replaces the sums of a group, which has no rows, with a state that Append wrote.
func (t *Table) Read(data []byte, g int32) error {
	s := t.sums()
	if err := sumsFormat.Read(data, func(f *exact.Fields) { s.fields(f, t.Weighted) }); err != nil {
		return err
	}
	t.wide[g] = s
	return nil
}

var sumsFormat = exact.Format{Name: "compact.Sums", Magic: "cSUM", Version: 1}
