package sliced

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/candor-go/candor/metrics"
)

// most is the largest number of cells. With more distinct pairs of group and score, scores move to a grid. Tests have less.
var most = 1 << 19

// unit is the place of scores in sums.
const unit = 0x1p51

// wide is a whole number of 128 bits.
type wide struct {
	hi int64
	lo uint64
}

func (w *wide) add(o wide) {
	var c uint64
	w.lo, c = bits.Add64(w.lo, o.lo, 0)
	w.hi += o.hi + int64(c)
}

// times returns x * n for n >= 0.
func times(x, n int64) wide {
	negative := x < 0
	if negative {
		x = -x
	}
	hi, lo := bits.Mul64(uint64(x), uint64(n))
	w := wide{int64(hi), lo}
	if negative {
		w = w.negative()
	}
	return w
}

func (w wide) negative() wide {
	lo, c := bits.Add64(^w.lo, 1, 0)
	return wide{^w.hi + int64(c), lo}
}

func (w wide) less(o wide) bool { return w.hi < o.hi || w.hi == o.hi && w.lo < o.lo }

// float returns w / unit.
func (w wide) float() float64 {
	if w.hi < 0 {
		return -w.negative().float()
	}
	return (float64(float64(w.hi)*0x1p64) + float64(w.lo)) / unit
}

func (w wide) minus(o wide) wide {
	w.add(o.negative())
	return w
}

// entry is a cell: the rows of a group whose scores have a key.
type entry struct {
	key   uint64 // bits of the score, shifted
	group int32
	n, y  int64 // rows, and those with the event
}

func byKey(a, b entry) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.group, b.group)) }

// row is an entry of one row.
type row struct {
	key   uint64
	group uint32 // twice, and 1 for the event
}

// sums are those of the rows of a group, or of a slice.
type sums struct {
	n, y int64
	p    wide // sum p
	v    wide // sum p(1-p)
	d    wide // sum (y-p)^2
}

func (s *sums) add(o *sums) {
	s.n, s.y = s.n+o.n, s.y+o.y
	s.p.add(o.p)
	s.v.add(o.v)
	s.d.add(o.d)
}

// addRows adds rows with one score.
func (s *sums) addRows(p float64, n, y int64) {
	s.n, s.y = s.n+n, s.y+y
	q := 1 - p
	s.p.add(times(units(p), n))
	s.v.add(times(units(float64(p*q)), n))
	s.d.add(times(units(float64(q*q)), y))
	s.d.add(times(units(float64(p*p)), n-y))
}

func units(x float64) int64 { return int64(math.RoundToEven(x * unit)) }

// table accumulates cells. It is a metrics.Accumulator for one Pass, whose groups have one numbering.
type table struct {
	rows     int64
	weighted bool
	outside  int64 // scores outside [0,1]
	groups   []sums
	list     []entry // rising by key and group
	log      []row
	shift    uint
}

func (t *table) Needs() metrics.Need        { return 0 }
func (t *table) Empty() metrics.Accumulator { return new(table) }
func (t *table) Len() int64                 { return t.rows }

var errNoState = errors.New("sliced: a table has no state of its own")

func (t *table) AppendBinary(dst []byte) ([]byte, error) { return dst, errNoState }
func (t *table) UnmarshalBinary([]byte) error            { return errNoState }

// positive reports whether the event is class 1, and not that the top label is right.
func positive(classes int) bool { return classes <= 2 }

// AddBlock adds the rows of a block.
func (t *table) AddBlock(b *metrics.Block) {
	if b.Rows == 0 {
		return
	}
	if b.Groups == nil {
		panic("sliced: rows have no groups")
	}
	t.add(b, b.Groups[:b.Rows])
}

// add adds the rows of a block, of these groups.
func (t *table) add(b *metrics.Block, groups []int32) {
	t.rows += int64(b.Rows)
	t.weighted = t.weighted || b.Weights != nil
	for i, g := range groups {
		var p float64
		var y int64
		if positive(b.Classes) {
			p = b.Stats.Positive[i]
			y = int64(b.Labels[i])
		} else {
			p, y = b.Score[i], int64(b.Right[i])
		}
		if !(p >= 0 && p <= 1) {
			t.outside++
			continue
		}
		for int(g) >= len(t.groups) {
			t.groups = append(t.groups, sums{})
		}
		t.groups[g].addRows(p, 1, y)
		if len(t.log) >= max(1<<15, len(t.list)/2) {
			t.compact()
		}
		t.log = append(t.log, row{math.Float64bits(p+0) >> t.shift, uint32(g)<<1 | uint32(y)})
	}
}

// compact moves the log to the list.
func (t *table) compact() {
	if len(t.log) == 0 {
		return
	}
	slices.SortFunc(t.log, func(a, b row) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.group, b.group)) })
	add := make([]entry, 0, len(t.log))
	for _, r := range t.log {
		g, y := int32(r.group>>1), int64(r.group&1)
		if k := len(add) - 1; k >= 0 && add[k].key == r.key && add[k].group == g {
			add[k].n++
			add[k].y += y
		} else {
			add = append(add, entry{r.key, g, 1, y})
		}
	}
	t.log = t.log[:0]
	t.list = joined(t.list, add)
	t.fold()
}

// joined merges two lists of cells.
func joined(a, b []entry) []entry {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	l := make([]entry, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch byKey(a[0], b[0]) {
		case -1:
			l, a = append(l, a[0]), a[1:]
		case 1:
			l, b = append(l, b[0]), b[1:]
		default:
			e := a[0]
			e.n, e.y = e.n+b[0].n, e.y+b[0].y
			l, a, b = append(l, e), a[1:], b[1:]
		}
	}
	return append(append(l, a...), b...)
}

// The grids: with a shift of 36 bits a cell is 2^-16 of its score wide, and each coarser grid has cells four times as wide.
const firstShift, lastShift = 36, 62

// fold moves the scores to the finest grid that has room for them, which depends on the set of cells only.
func (t *table) fold() {
	for len(t.list) > most && t.shift < lastShift {
		t.coarsen(max(firstShift, t.shift+2))
	}
}

func (t *table) coarsen(shift uint) {
	if shift == t.shift {
		return
	}
	for i := range t.list {
		t.list[i].key >>= shift - t.shift
	}
	for i := range t.log {
		t.log[i].key >>= shift - t.shift
	}
	t.shift = shift
	t.list = summed(t.list)
}

// summed sorts a list, and adds up cells that are equal.
func summed(l []entry) []entry {
	slices.SortFunc(l, byKey)
	to := 0
	for i := range l {
		if to > 0 && byKey(l[to-1], l[i]) == 0 {
			l[to-1].n += l[i].n
			l[to-1].y += l[i].y
			continue
		}
		l[to] = l[i]
		to++
	}
	return l[:to]
}

// Merge adds another table with the same numbers of groups.
func (t *table) Merge(other metrics.Accumulator) error {
	o, ok := other.(*table)
	if !ok {
		return fmt.Errorf("%w: sliced.table and %T", metrics.ErrMismatch, other)
	}
	t.compact()
	o.compact()
	for len(t.groups) < len(o.groups) {
		t.groups = append(t.groups, sums{})
	}
	for i := range o.groups {
		t.groups[i].add(&o.groups[i])
	}
	shift := max(t.shift, o.shift)
	t.coarsen(shift)
	o.coarsen(shift)
	t.list = joined(t.list, o.list)
	t.fold()
	t.rows, t.outside, t.weighted = t.rows+o.rows, t.outside+o.outside, t.weighted || o.weighted
	return nil
}

// renumber gives the groups new numbers, out of a total.
func (t *table) renumber(to []int32, total int) {
	t.compact()
	groups := make([]sums, total)
	for i := range t.groups {
		if t.groups[i].n > 0 {
			groups[to[i]].add(&t.groups[i])
		}
	}
	t.groups = groups
	l := slices.Clone(t.list)
	for i := range l {
		l[i].group = to[l[i].group]
	}
	t.list = summed(l)
}

// ends returns the lowest and the highest score of a key.
func (t *table) ends(key uint64) (low, high float64) {
	low = math.Float64frombits(key << t.shift)
	if t.shift == 0 {
		return low, low
	}
	return low, min(1, math.Float64frombits((key+1)<<t.shift-1))
}

// score returns the score that stands for a key.
func (t *table) score(key uint64) float64 {
	low, high := t.ends(key)
	if t.shift == 0 {
		return low
	}
	return low + float64((high-low)/2)
}

// tableBytes is the most memory of the cells of a goroutine that has read this many rows; negative for unknown.
func tableBytes(rows int64) int64 {
	n := int64(most)
	if rows >= 0 {
		n = min(n, rows)
	}
	return n * 88 // the list, its copy while lists are merged, and the log
}
