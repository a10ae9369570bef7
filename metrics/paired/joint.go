package paired

import (
	"cmp"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// MostCells is the largest number of distinct pairs of scores that have a cell each.
const MostCells = 1 << 18

// Joint counts rows by the scores of two models and by whether the event came: of a binary task the scores are the
// probabilities of class 1 and the event is that class; of more classes they are the probabilities of the top labels, and the
// event is that the top label is the true one, which differs between the models. Rows have a cell for each distinct pair up to
// a number of cells. Beyond it they have one for each pair of cells of a grid, with a given number of places for each model. Which it
// is depends only on the set of rows.
//
// A cell takes 24 bytes and its place in a table 8 to 16, so MostCells take 10 MiB; with weights about 200 bytes more each.
type Joint struct {
	most, places int
	seen         state.Rows
	rows         int64
	gridded      bool
	cells        []jointCell
	heavy        []tally.Weight // of each cell, with weights
	slots        []int32        // open addressing: number of a cell plus 1
}

// jointCell counts the rows of a pair of scores. a and b are the scores' keys, or places on the grid, each with the outcome as
// its last bit.
type jointCell struct {
	a, b uint64
	n    int64
}

// NewJoint returns an empty Joint with at most this many exact cells, and a grid of so many places for each model. It panics unless
// both are above 1 and the places are an even number.
func NewJoint(most, places int) *Joint {
	if most < 2 || places < 2 || places%2 != 0 || places > 1<<15 {
		panic("paired: cells and places of a joint are above 1, and places are even")
	}
	return &Joint{most: most, places: places}
}

// Scores writes the keys of a block's scores for Joint.Add, each with its outcome as its last bit. Scores outside [0,1], which
// only unchecked predictions have, get the key None.
func Scores(dst []uint64, b *metrics.Block) {
	p, tail := b.Score, b.Stats.Tail
	if b.Classes == 1 {
		p = b.Stats.Positive
	}
	for i := range dst[:b.Rows] {
		hit := uint64(b.Right[i] & 1)
		if b.Classes == 1 {
			hit = uint64(b.Labels[i] & 1)
		}
		k := tally.Key(p[i], tail[i])
		if k > 2*tally.HalfKey {
			dst[i] = None
			continue
		}
		dst[i] = k<<1 | hit
	}
}

// None is the key of a score outside [0,1].
const None = ^uint64(0)

// Add adds rows: the keys that Scores wrote for both models, and weights if there are any. It panics if their numbers differ.
// Rows where a score is None are left out.
func (j *Joint) Add(a, b []uint64, classes int, weights []float64) {
	if len(a) != len(b) || weights != nil && len(weights) != len(a) {
		panic("paired: the models have other numbers of rows")
	}
	if len(a) == 0 {
		return
	}
	j.seen.Classes, j.seen.Weighted = classes, weights != nil
	j.rows += int64(len(a))
	for i, k := range a {
		l := b[i]
		if k == None || l == None {
			continue
		}
		if j.gridded {
			k, l = j.placed(k), j.placed(l)
		}
		c := j.cell(k, l)
		j.cells[c].n++
		if weights != nil {
			j.heavy[c].Add(1, weights[i:i+1])
		}
		if len(j.cells) > j.most && !j.gridded {
			j.toGrid()
		}
	}
}

// cell returns the number of a cell, which may be new.
func (j *Joint) cell(a, b uint64) int {
	if 2*(len(j.cells)+1) >= len(j.slots) {
		j.grow()
	}
	mask := uint64(len(j.slots) - 1)
	for at := hash(a, b); ; at++ {
		s := &j.slots[at&mask]
		if *s == 0 {
			j.cells = append(j.cells, jointCell{a: a, b: b})
			if j.seen.Weighted {
				j.heavy = append(j.heavy, tally.Weight{})
			}
			*s = int32(len(j.cells))
			return len(j.cells) - 1
		}
		if c := &j.cells[*s-1]; c.a == a && c.b == b {
			return int(*s - 1)
		}
	}
}

// hash mixes two keys: scores of few digits end in many zeros.
func hash(a, b uint64) uint64 {
	h := (a ^ b<<32 ^ b>>32) * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h = (h + b) * 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

// grow makes the table at least twice as large as the number of cells.
func (j *Joint) grow() {
	n := max(1024, len(j.slots))
	for n <= 2*len(j.cells) {
		n *= 2
	}
	j.slots = make([]int32, n)
	j.enter()
}

// enter enters all cells into the empty table.
func (j *Joint) enter() {
	mask := uint64(len(j.slots) - 1)
	for i := range j.cells {
		at := hash(j.cells[i].a, j.cells[i].b)
		for j.slots[at&mask] != 0 {
			at++
		}
		j.slots[at&mask] = int32(i + 1)
	}
}

// placed returns the grid's place of a key, with its outcome.
func (j *Joint) placed(k uint64) uint64 { return coarse(tally.Place(k>>1), j.places)<<1 | k&1 }

// The kernel's grid has as many places for q, the distance from 0 or 1, from 1e-6 to 0.01 as a joint has use for, and too many
// below. Shares of the places of a side that these parts get.
const (
	tinyShare  = 27 // of 256
	smallShare = 86
)

// The ranks on the kernel's grid from which on q is at least about 1e-6, and 0.01.
const (
	smallRank = 1404
	largeRank = 1833
)

// coarse returns the place on a grid of side places for a place of the kernel's grid. It rises with the place.
func coarse(place uint64, side int) uint64 {
	all := uint64(tally.Places())
	half := uint64(side / 2)
	r, upper := place, false
	if r >= all/2 {
		r, upper = all-1-r, true
	}
	tiny, small := half*tinyShare/256, half*smallShare/256
	large := half - tiny - small
	var c uint64
	switch {
	case r < smallRank:
		c = r * tiny / smallRank
	case r < largeRank:
		c = tiny + (r-smallRank)*small/(largeRank-smallRank)
	default:
		c = tiny + small + (r-largeRank)*large/(all/2-largeRank)
	}
	if upper {
		return 2*half - 1 - c
	}
	return c
}

// toGrid moves all rows to the grid.
func (j *Joint) toGrid() {
	old := *j
	j.gridded, j.cells, j.heavy, j.slots = true, nil, nil, nil
	j.take(&old, j.placed)
}

// take adds the cells of another Joint, with keys changed by a function, which may be nil.
func (j *Joint) take(o *Joint, to func(uint64) uint64) {
	for i, c := range o.cells {
		a, b := c.a, c.b
		if to != nil {
			a, b = to(a), to(b)
		}
		at := j.cell(a, b)
		j.cells[at].n += c.n
		if j.seen.Weighted {
			j.heavy[at].Merge(&o.heavy[i])
		}
	}
}

// Len returns the number of rows seen.
func (j *Joint) Len() int64 { return j.rows }

// Exact reports whether each distinct pair of scores has its own cell.
func (j *Joint) Exact() bool { return !j.gridded }

// Empty returns a Joint without rows with the same options.
func (j *Joint) Empty() *Joint { return NewJoint(j.most, j.places) }

// Size estimates the memory in bytes.
func (j *Joint) Size(x metrics.Extent) int64 {
	n := x.Distinct(int64(j.most) + 1)
	size := n * (24 + 16)
	if x.Weighted {
		size += n * 200
	}
	return size
}

// Merge adds the rows of another Joint. The error wraps metrics.ErrMismatch if the two differ in options or kind of rows, and
// nothing has changed then.
func (j *Joint) Merge(o *Joint) error {
	if j.most != o.most || j.places != o.places {
		return state.Mismatch(jointFormat, "of %d cells and %d places, and of %d and %d", j.most, j.places, o.most, o.places)
	}
	if err := j.seen.Merge(o.seen, jointFormat, "classes"); err != nil {
		return err
	}
	j.rows += o.rows
	if o.gridded && !j.gridded {
		j.toGrid()
	}
	if j.gridded && !o.gridded {
		j.take(o, j.placed)
		return nil
	}
	if j.take(o, nil); !j.gridded && len(j.cells) > j.most {
		j.toGrid()
	}
	return nil
}

// sort sorts the cells, by which states are equal where rows are.
func (j *Joint) sort() {
	order := make([]int, len(j.cells))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(j.cells[x].a, j.cells[y].a), cmp.Compare(j.cells[x].b, j.cells[y].b))
	})
	cells, heavy := make([]jointCell, len(order)), j.heavy
	if heavy != nil {
		heavy = make([]tally.Weight, len(order))
	}
	for to, from := range order {
		cells[to] = j.cells[from]
		if heavy != nil {
			heavy[to] = j.heavy[from]
		}
	}
	j.cells, j.heavy = cells, heavy
	clear(j.slots)
	j.enter()
}

var jointFormat = exact.Format{Name: "paired.Joint", Magic: "cJNT", Version: 1}

func (j *Joint) fields(f *exact.Fields) {
	f.Int(&j.most)
	f.Int(&j.places)
	j.seen.Fields(f)
	f.N(&j.rows)
	f.Flags(&j.gridded)
	f.Must(j.most >= 2 && j.most <= MostCells && j.places >= 2 && j.places%2 == 0 && j.places <= 1<<15, exact.OutOfRange)
	f.Must(j.rows >= 0 && (j.rows == 0) == (j.seen.Classes == 0), exact.OutOfRange)
	if !f.OK() {
		return
	}
	if !f.Reading() {
		j.sort()
	}
	limit := uint64(2*tally.HalfKey)<<1 | 1
	if j.gridded {
		limit = 2*uint64(j.places) - 1
	}
	// Cells rise, so the differences of their first keys are small numbers.
	var last jointCell
	var total int64
	i := 0
	exact.Slice(f, &j.cells, 3, func(c *jointCell) {
		step := c.a - last.a
		f.Uvarint(&step)
		n := uint64(c.n)
		f.Uvarint(&c.b)
		f.Uvarint(&n)
		if f.Reading() {
			c.a, c.n = last.a+step, int64(n)
		}
		f.Must(c.n > 0 && c.a <= limit && c.b <= limit && c.a >= last.a && (i == 0 || c.a > last.a || c.b > last.b), exact.OutOfRange)
		if c.n > 0 && total <= j.rows {
			total += min(c.n, j.rows+1)
		}
		last = *c
		i++
	})
	f.Must(total <= j.rows && (j.gridded || len(j.cells) <= j.most), exact.OutOfRange)
	if j.seen.Weighted && f.OK() {
		if f.Reading() {
			j.heavy = make([]tally.Weight, len(j.cells))
		}
		for i := range j.heavy {
			j.heavy[i].Fields(f)
			f.Must(j.heavy[i].N == j.cells[i].n, exact.OutOfRange)
		}
	}
	if f.Reading() && f.OK() {
		j.grow()
	}
}

// AppendBinary appends the state: equal rows and options give equal bytes.
func (j *Joint) AppendBinary(dst []byte) ([]byte, error) { return jointFormat.Append(dst, j.fields) }

// UnmarshalBinary replaces j, including its options, with a state that AppendBinary wrote.
func (j *Joint) UnmarshalBinary(data []byte) error {
	return exact.Replace(jointFormat, data, j, (*Joint).fields)
}
