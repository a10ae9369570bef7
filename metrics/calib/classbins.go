package calib

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// ClassOptions select the bins of ClassBins. The zero value is candor's default: 15 equal-width bins, left-closed with the last
// one closed, and every entry counted.
type ClassOptions struct {
	Bins  int         // number of equal-width bins; 0 means 15 unless Edges is set
	Edges []float64   // ascending edges of bins of any width, or nil for equal widths; entries beyond them count in the outer bins
	Side  kernel.Side // side on which bins are closed: LeftClosed [a,b) or RightClosed (a,b]
	Above *float64    // only entries p > *Above count, so a threshold of 0 excludes p = 0; nil counts all
	// Data selects how SCE reads rows; see Options.
	Data metrics.Options
}

func (o ClassOptions) normal() ClassOptions {
	if o.Bins == 0 && o.Edges == nil {
		o.Bins = DefaultBins
	}
	o.Edges = slices.Clone(o.Edges)
	if o.Above != nil {
		o.Above = new(*o.Above + 0) // -0 is 0
	}
	return o
}

// Validate returns an error that describes invalid options, or nil.
func (o ClassOptions) Validate() error {
	o = o.normal()
	switch {
	case o.Edges != nil && o.Bins != 0:
		return errors.New("calib: both the edges of bins and their number are given")
	case o.Edges == nil && (o.Bins < 1 || o.Bins > maxBins), o.Edges != nil && (len(o.Edges) < 2 || len(o.Edges) > maxBins+1):
		return fmt.Errorf("calib: %d bins; there have to be 1 to %d", max(o.Bins, len(o.Edges)-1), maxBins)
	case o.Side > kernel.RightClosed:
		return errors.New("calib: Side has an unknown value")
	case o.Above != nil && !(*o.Above >= 0 && *o.Above < 1):
		return fmt.Errorf("calib: a threshold of %v; it is from 0 to below 1", *o.Above)
	}
	for i, e := range o.Edges {
		if math.IsInf(e, 0) || e != e || i > 0 && e < o.Edges[i-1] {
			return errors.New("calib: edges are not rising numbers")
		}
	}
	return nil
}

// String returns the options that differ from the default, in the form "bins=30,closed=right,above=0.01". It is "" for the
// default.
func (o ClassOptions) String() string {
	o = o.normal()
	var s []string
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	if o.Edges != nil {
		var e []string
		for _, v := range o.Edges {
			e = append(e, number(v))
		}
		s = append(s, "edges="+strings.Join(e, " "))
	} else if o.Bins != DefaultBins {
		s = append(s, "bins="+strconv.Itoa(o.Bins))
	}
	if o.Side != kernel.LeftClosed {
		s = append(s, "closed="+sideNames[o.Side])
	}
	if o.Above != nil {
		s = append(s, "above="+number(*o.Above))
	}
	return strings.Join(s, ",")
}

func (o ClassOptions) equal(p ClassOptions) bool {
	return o.Bins == p.Bins && o.Side == p.Side && (o.Edges == nil) == (p.Edges == nil) && slices.Equal(o.Edges, p.Edges) &&
		(o.Above == nil) == (p.Above == nil) && (o.Above == nil || *o.Above == *p.Above)
}

// ClassBins accumulates every probability of every row by class and bin, together with whether the class is the row's label.
// Its state gives the static calibration error, with or without a threshold, and the reliability diagram of each class. It is a
// metrics.Accumulator. The caller's decisions and confidence scores belong to rows and have no effect on entries.
//
// The state takes 88 bytes per class and 64 bytes for each of its bins except the lowest. If that would exceed 64 MiB for all
// bins, only bins that contain entries are kept, at about 100 bytes each. With weights it takes about 250 bytes per class and
// 300 bytes for each other bin in use. Work areas take 300 KB.
type ClassBins struct {
	opt      ClassOptions
	edges    []float64
	above    float64 // threshold; below 0 if there is none
	lowest   kernel.Lowest
	classes  int // number of classes of the predictions; 0 before the first block
	width    int // length of a row of probabilities
	weighted bool
	rows     int64

	sums    kernel.ClassSums      // sums of the lowest bins over rows that are not in low yet
	pending int                   // number of those rows
	low     []classCell           // lowest bin of each class: unweighted entries in [0,1]
	high    highCells             // unweighted entries in [0,1] of the other bins
	full    map[int64]*tally.Cell // weighted entries and entries outside [0,1], by class*bins+bin

	list  []uint32
	p     []float64
	class []int32
	idx   []int32
}

var _ metrics.Accumulator = (*ClassBins)(nil)

// classCell holds the sums of a kernel.BinSum in 128 bits.
type classCell struct {
	n, y      int64
	p, pp, py tally.Wide
}

// highCells holds the cells of all bins except the lowest, or only of those in use.
type highCells struct {
	per   int // bins per class
	all   []classCell
	place map[int64]int32
}

// denseCells is the largest number of cells for which memory is allocated at once: 64 MiB.
const denseCells = 64 << 20 / 64

func (h *highCells) make(classes, per int) {
	h.per = per
	if n := classes * per; n <= denseCells {
		h.all = make([]classCell, n)
	} else {
		h.place = map[int64]int32{}
	}
}

// at returns the cell of a class and a bin other than the lowest.
func (h *highCells) at(class, bin int) *classCell {
	i := class*h.per + bin - 1
	if h.place == nil {
		return &h.all[i]
	}
	j, ok := h.place[int64(i)]
	if !ok {
		j = int32(len(h.all))
		h.place[int64(i)] = j
		h.all = append(h.all, classCell{})
	}
	return &h.all[j]
}

// each calls f for the cells in use, in ascending order.
func (h *highCells) each(f func(class, bin int, c *classCell)) {
	call := func(i int, c *classCell) {
		if c.n > 0 {
			f(i/h.per, i%h.per+1, c)
		}
	}
	if h.place == nil {
		for i := range h.all {
			call(i, &h.all[i])
		}
		return
	}
	for _, i := range slices.Sorted(maps.Keys(h.place)) {
		call(int(i), &h.all[h.place[i]])
	}
}

// NewClassBins returns an empty accumulator. o may be nil. Invalid options are an error.
func NewClassBins(o *ClassOptions) (*ClassBins, error) {
	var opt ClassOptions
	if o != nil {
		opt = *o
	}
	opt = opt.normal()
	opt.Data = metrics.Options{}
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	b := &ClassBins{opt: opt, edges: opt.Edges, above: -1}
	if b.edges == nil {
		b.edges = kernel.Edges(opt.Bins)
	}
	if opt.Above != nil {
		b.above = *opt.Above
	}
	first := math.Inf(1)
	if len(b.edges) > 2 {
		first = b.edges[1]
	}
	b.lowest = kernel.NewLowest(first, opt.Side, b.above)
	return b, nil
}

// Options returns the accumulator's options, with defaults filled in.
func (b *ClassBins) Options() ClassOptions { return b.opt.normal() }

// Needs returns NeedRows.
func (b *ClassBins) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator without rows with the same options.
func (b *ClassBins) Empty() metrics.Accumulator { return metrics.Must(NewClassBins(&b.opt)) }

// Len returns the number of rows seen.
func (b *ClassBins) Len() int64 { return b.rows }

// Size estimates the memory in bytes. It assumes that few probabilities of a row lie beyond the lowest bin.
func (b *ClassBins) Size(x metrics.Extent) int64 {
	const mapped = 40 // bytes of a map entry besides its value
	lists := 16*listPart + 4*x.Distinct(listLen)*int64(min(listLen, max(2, x.Classes)))
	lists = min(lists, 4*(listLen+kernel.ListSlack)+16*listPart)
	width, beyond := int64(max(2, x.Classes)), int64(b.bins()-1)
	above := width
	if first := b.edges[1]; first > 0 {
		above = int64(min(float64(width), math.Ceil(1/first)))
	}
	cells := width * beyond
	if x.Rows >= 0 && above > 0 && x.Rows < cells/above {
		cells = x.Rows * above
	}
	switch {
	case x.Weighted:
		return lists + (width+cells)*(int64(unsafe.Sizeof(tally.Cell{}))+mapped)
	case width*beyond <= denseCells:
		cells = width * beyond
	default:
		cells *= 2 // spare capacity and a map
	}
	return lists + width*24 + (width+cells)*int64(unsafe.Sizeof(classCell{}))
}

// bins returns the number of bins.
func (b *ClassBins) bins() int { return len(b.edges) - 1 }

// start allocates memory for the first predictions.
func (b *ClassBins) start(classes int, weighted bool) {
	b.classes, b.width, b.weighted = classes, max(2, classes), weighted
	b.full = map[int64]*tally.Cell{}
	if weighted {
		return
	}
	n := b.width
	b.sums = kernel.ClassSums{N: make([]int64, n), P: make([]int64, n), PP: make([]int64, n)}
	b.low = make([]classCell, n)
	b.high.make(n, b.bins()-1)
}

const (
	listLen   = 1 << 16 // entries of a list
	listPart  = 2048    // entries that are binned at once
	listWidth = 4096    // classes that are summed at once
)

// AddBlock adds a block's rows.
func (b *ClassBins) AddBlock(k *metrics.Block) {
	if b.classes == 0 {
		b.start(k.Classes, k.Weights != nil)
	}
	if n := min(listLen, k.Rows*b.width) + kernel.ListSlack; len(b.list) < n {
		b.list = make([]uint32, n)
	}
	if b.p == nil {
		b.p, b.class, b.idx = make([]float64, listPart), make([]int32, listPart), make([]int32, listPart)
	}
	t := k.Probs
	for at := 0; at < k.Rows; at += kernel.MaxSum {
		n := min(kernel.MaxSum, k.Rows-at)
		var w []float64
		if k.Weights != nil {
			w = k.Weights[at : at+n]
		}
		labels := k.Labels[at : at+n]
		if t.F32 != nil {
			addClasses(b, t.F32[at*t.Stride:], t.Stride, t.Ahead, labels, w, kernel.ClassSumsF32, kernel.ClassEntriesF32)
		} else {
			addClasses(b, t.F64[at*t.Stride:], t.Stride, t.Ahead, labels, w, kernel.ClassSumsF64, kernel.ClassEntriesF64)
		}
		b.rows += int64(n)
	}
}

// addClasses adds at most kernel.MaxSum rows.
func addClasses[T float32 | float64](b *ClassBins, x []T, stride, ahead int, labels []int32, weights []float64,
	sums func(s *kernel.ClassSums, list []uint32, x []T, rows, k, stride int, l *kernel.Lowest, ahead int) (listed, done int),
	entries func(p []float64, class []int32, list []uint32, x []T, stride int, threshold float64) (n, out int)) {
	if weights != nil {
		addWeightedClasses(b, x, stride, labels, weights)
		return
	}
	rows := len(labels)
	if b.pending+rows > kernel.MaxSum {
		b.flush()
	}
	b.pending += rows
	for from, n := 0, 0; from < b.width; from += n {
		n = min(b.width-from, listWidth)
		s := kernel.ClassSums{N: b.sums.N[from : from+n], P: b.sums.P[from : from+n], PP: b.sums.PP[from : from+n]}
		for i, done := 0, 0; i < rows; i += done {
			part, listed := x[i*stride+from:], 0
			listed, done = sums(&s, b.list, part, rows-i, n, stride, &b.lowest, ahead)
			for list := b.list[:listed]; len(list) > 0; list = list[min(len(list), listPart):] {
				some := list[:min(len(list), listPart)]
				in, out := entries(b.p, b.class, some, part, stride, b.above)
				b.addEntries(in, from)
				if out > 0 {
					addOutside(b, some, part, stride, from, labels[i:])
				}
			}
		}
	}
	addLabels(b, x, stride, labels)
}

// counts reports whether an entry is above the threshold.
func (b *ClassBins) counts(v float64) bool { return v > b.above || b.opt.Above == nil }

// assign returns the bins of the first n scores.
func (b *ClassBins) assign(n int) []int32 {
	idx := b.idx[:n]
	if b.opt.Edges != nil {
		kernel.BinEdges(idx, b.p[:n], b.edges, b.opt.Side)
	} else {
		kernel.BinEqual(idx, b.p[:n], b.edges, b.opt.Side)
	}
	return idx
}

func (b *ClassBins) cell(class, bin int) *classCell {
	if bin == 0 {
		return &b.low[class]
	}
	return b.high.at(class, bin)
}

// addEntries adds n entries in [0,1], with classes counted from first.
func (b *ClassBins) addEntries(n, first int) {
	class := b.class[:n]
	for i, bin := range b.assign(n) {
		v := b.p[i]
		c := b.cell(first+int(class[i]), int(bin))
		c.n++
		c.p.Add(tally.Units(v))
		c.pp.Add(tally.Units(float64(v * v)))
	}
}

// addLabels adds the entries of the rows' labels as events.
func addLabels[T float32 | float64](b *ClassBins, x []T, stride int, labels []int32) {
	for i, y := range labels {
		b.p[i] = float64(x[i*stride+int(y)])
	}
	for i, bin := range b.assign(len(labels)) {
		if v := b.p[i]; b.counts(v) && tally.InUnit(v) {
			c := b.cell(int(labels[i]), int(bin))
			c.y++
			c.py.Add(tally.Units(v))
		}
	}
}

// addOutside adds the listed entries that are outside [0,1].
func addOutside[T float32 | float64](b *ClassBins, list []uint32, x []T, stride, first int, labels []int32) {
	for _, at := range list {
		v, row, class := float64(x[at]), int(at)/stride, first+int(at)%stride
		if tally.InUnit(v) || !b.counts(v) {
			continue
		}
		y := uint8(0)
		if int(labels[row]) == class {
			y = 1
		}
		b.p[0] = v
		b.fullCell(class, int(b.assign(1)[0])).AddScore(v, y)
	}
}

func addWeightedClasses[T float32 | float64](b *ClassBins, x []T, stride int, labels []int32, weights []float64) {
	for i, w := range weights {
		for j := 0; j < b.width; j += listPart {
			n := min(b.width-j, listPart)
			for k, v := range x[i*stride+j:][:n] {
				b.p[k] = float64(v)
			}
			for k, bin := range b.assign(n) {
				if v := b.p[k]; b.counts(v) {
					y := uint8(0)
					if int(labels[i]) == j+k {
						y = 1
					}
					b.fullCell(j+k, int(bin)).AddWeighted(v, y, w)
				}
			}
		}
	}
}

func (b *ClassBins) fullCell(class, bin int) *tally.Cell {
	i := int64(class)*int64(b.bins()) + int64(bin)
	c := b.full[i]
	if c == nil {
		c = new(tally.Cell)
		b.full[i] = c
	}
	return c
}

// flush moves the sums of the lowest bins to their cells.
func (b *ClassBins) flush() {
	for j := range b.low {
		b.low[j] = b.lowCell(j)
	}
	b.sums.Clear()
	b.pending = 0
}

// lowCell returns the lowest bin of a class.
func (b *ClassBins) lowCell(class int) classCell {
	c := b.low[class]
	c.n += b.sums.N[class]
	c.p.Add(uint64(b.sums.P[class]))
	c.pp.Add(uint64(b.sums.PP[class]))
	return c
}

// Merge adds what another *ClassBins has seen.
func (b *ClassBins) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*ClassBins](classFormat, a)
	switch {
	case err != nil:
		return err
	case !b.opt.equal(o.opt):
		return state.Mismatch(classFormat, "with (%v) and with (%v)", b.opt, o.opt)
	case o.classes == 0:
		return nil
	}
	seen := state.Rows{Classes: b.classes, Weighted: b.weighted}
	if err := seen.Merge(state.Rows{Classes: o.classes, Weighted: o.weighted}, classFormat, "classes"); err != nil {
		return err
	}
	if b.classes == 0 {
		b.start(o.classes, o.weighted)
	}
	b.rows += o.rows
	for j := range o.low {
		c := o.lowCell(j)
		b.low[j].merge(&c)
	}
	o.high.each(func(class, bin int, c *classCell) { b.high.at(class, bin).merge(c) })
	for i, c := range o.full {
		b.fullCell(int(i/int64(b.bins())), int(i%int64(b.bins()))).Merge(c)
	}
	return nil
}

func (c *classCell) merge(o *classCell) {
	c.n += o.n
	c.y += o.y
	for _, w := range [...]struct{ to, from *tally.Wide }{{&c.p, &o.p}, {&c.pp, &o.pp}, {&c.py, &o.py}} {
		w.to.Merge(*w.from)
	}
}

var classFormat = exact.Format{Name: "calib.ClassBins", Magic: "cCLS", Version: 1}

// fields lists the fields of a state. size is the number of bytes to read, 0 for writing.
func (b *ClassBins) fields(f *exact.Fields, size int) {
	const badCell = "a cell is not valid"
	o, has, above := b.opt, b.opt.Above != nil, max(0, b.above)
	f.Int(&o.Bins)
	exact.Byte(f, &o.Side)
	weighted := b.weighted
	f.Flags(&has, &weighted)
	f.F64(&above)
	exact.Slice(f, &o.Edges, 8, f.F64)
	classes, rows := b.classes, b.rows
	f.Int(&classes)
	f.N(&rows)
	if f.Must(classes > 0 || rows == 0 && !weighted, "its rows have no classes"); f.Reading() {
		if len(o.Edges) == 0 {
			o.Edges = nil
		}
		if has {
			o.Above = &above
		}
		n, err := NewClassBins(&o)
		if f.Must(err == nil && (o.Bins != 0 || o.Edges != nil) && (has || above == 0), "its options are not valid"); !f.OK() {
			return
		}
		*b = *n
	}
	// Without a threshold, a state has a cell for at least one entry of each class. The check below therefore bounds the memory
	// by the size of the state.
	cells := 0
	if !f.Reading() {
		b.each(func(int, int, *classCell) { cells++ })
	}
	f.Count(&cells, 72)
	if f.Reading() {
		if f.Must(classes <= 1<<20 || classes <= 64*size, "it has too many classes for its size"); !f.OK() {
			return
		}
		if b.rows = rows; classes > 0 {
			b.start(classes, weighted)
		}
	}
	last := int64(-1)
	next := func(class, bin int, c *classCell) {
		f.Int(&class)
		f.Int(&bin)
		f.I64(&c.n)
		f.I64(&c.y)
		for _, w := range []*tally.Wide{&c.p, &c.pp, &c.py} {
			f.U64(&w.Lo)
			f.U64(&w.Hi)
		}
		if !f.Reading() {
			return
		}
		place := int64(class) * int64(b.bins())
		if bin > 0 {
			place += int64(bin) + int64(b.width)*int64(b.bins())
		}
		if f.Must(!weighted && class < b.width && bin < b.bins() && place > last && c.n > 0 && c.y >= 0 && c.y <= c.n, badCell); f.OK() {
			*b.cell(class, bin) = *c
			last = place
		}
	}
	if f.Reading() {
		for i := 0; i < cells && f.OK(); i++ {
			next(0, 0, new(classCell))
		}
	} else {
		b.each(next)
	}
	full, keys := len(b.full), slices.Sorted(maps.Keys(b.full))
	f.Count(&full, 8)
	last = -1
	for i := 0; i < full && f.OK(); i++ {
		key, c := int64(0), new(tally.Cell)
		if !f.Reading() {
			key = keys[i]
			c = b.full[key]
		}
		f.I64(&key)
		c.Fields(f)
		if f.Must(key > last && key < int64(b.width)*int64(b.bins()) && c.N > 0, badCell); f.Reading() && f.OK() {
			b.full[key], last = c, key
		}
	}
}

// each calls f for the unweighted cells in use: the lowest bins first, then the others.
func (b *ClassBins) each(f func(class, bin int, c *classCell)) {
	for j := range b.low {
		if c := b.lowCell(j); c.n > 0 {
			f(j, 0, &c)
		}
	}
	b.high.each(f)
}

// AppendBinary appends the state.
func (b *ClassBins) AppendBinary(dst []byte) ([]byte, error) {
	return classFormat.Append(dst, func(f *exact.Fields) { b.fields(f, 0) })
}

// UnmarshalBinary replaces b, including its options, with a state that AppendBinary wrote.
func (b *ClassBins) UnmarshalBinary(data []byte) error {
	return exact.Replace(classFormat, data, b, func(n *ClassBins, f *exact.Fields) { n.fields(f, len(data)) })
}
