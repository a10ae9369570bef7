package parquet

import (
	"errors"
	"io"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/predictions/internal/columns"
)

// part is a row group.
type part struct {
	file    *File
	src     columns.Source
	rows    int64
	done    int64 // rows of blocks before
	bytes   int64
	used    int64
	n       int // rows of the block that is being filled
	most    int // rows of a block, by the memory
	lean    bool
	block   []columns.Vector // rows that were read ahead, as lean parts do
	ahead   int              // how many of these
	given   int              // and how many of them were returned
	chunks  []*chunk
	cols    []*builder
	scratch []byte // a page as it is in the file
	dict    []byte // a dictionary that is being decoded
	numbers [batch]uint32
	saved   []position
}

func (p *part) Close() error {
	p.file.keep(p)
	p.chunks, p.cols, p.scratch, p.dict, p.done = nil, nil, nil, nil, p.rows
	p.block, p.ahead, p.given = nil, 0, 0
	return nil
}

// keep keeps the memory of a part that is closed for another one, unless it is much.
func (f *File) keep(p *part) {
	if p.lean || len(p.chunks) == 0 || p.used > p.bytes/4 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spares = append(f.spares, &part{chunks: p.chunks, scratch: p.scratch, dict: p.dict, used: p.used})
}

// inherit gives a part the memory of one that was closed.
func (f *File) inherit(p *part) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.spares) - 1
	if last < 0 {
		return
	}
	from := f.spares[last]
	f.spares = f.spares[:last]
	p.scratch, p.dict, p.used = from.scratch, from.dict, from.used
	for i, c := range p.chunks { // of the same leaves
		o := from.chunks[i]
		c.body, c.changed, c.ints, c.ends, c.dict, c.out = o.body, o.changed, o.ints, o.ends, o.dict, o.out
		c.dict.reset()
		c.out.reset()
	}
}

// Next fills b with the next rows.
func (p *part) Next(b *columns.Block) (err error) {
	defer recovered(&err)
	b.Rows = 0
	if b.Most > 0 && p.given < p.ahead {
		p.take(b)
		return nil
	}
	if p.done >= p.rows {
		for _, c := range p.chunks {
			if c.left > 0 || c.seen < c.values {
				return c.fault("it has more values than the row group has rows, %d", p.rows)
			}
		}
		return io.EOF
	}
	if b.Most < 1 {
		return columns.Wrong("", "a block of %d rows was asked for", b.Most)
	}
	b.Columns = slices.Grow(b.Columns[:0], len(p.cols))[:len(p.cols)]
	most := b.Most
	if p.lean {
		most = max(most, readAhead)
	}
	if err := p.fill(int(min(int64(most), int64(p.most), p.rows-p.done))); err != nil {
		return err
	}
	p.done += int64(p.n)
	if p.n > b.Most {
		p.block, p.ahead, p.given = p.block[:0], p.n, 0
		for _, c := range p.cols {
			p.block = append(p.block, c.v)
		}
		p.take(b)
		return nil
	}
	for i, c := range p.cols {
		b.Columns[i] = c.v
	}
	b.Rows = p.n
	return nil
}

// readAhead is how many rows a lean part reads at a time, if they fit. Its pages are read again for each such run.
const readAhead = 1 << 15

// take fills b with rows that were read ahead.
func (p *part) take(b *columns.Block) {
	to := min(p.given+b.Most, p.ahead)
	b.Columns = slices.Grow(b.Columns[:0], len(p.block))[:len(p.block)]
	for i := range p.block {
		b.Columns[i] = stretch(&p.block[i], p.given, to)
	}
	b.Rows, p.given = to-p.given, to
}

// stretch returns cells [from, to) of a vector.
func stretch(v *columns.Vector, from, to int) (s columns.Vector) {
	s.Float64, s.Float32, s.Float16 = cut(v.Float64, from, to), cut(v.Float32, from, to), cut(v.Float16, from, to)
	s.Int64, s.Bool, s.Null = cut(v.Int64, from, to), cut(v.Bool, from, to), cut(v.Null, from, to)
	switch {
	case v.Codes != nil:
		s.Bytes, s.Ends, s.Codes = v.Bytes, v.Ends, v.Codes[from:to]
	case v.Ends != nil:
		first := 0
		if from > 0 {
			first = v.Ends[from-1]
		}
		s.Bytes = v.Bytes[first:]
		for _, end := range v.Ends[from:to] {
			s.Ends = append(s.Ends, end-first)
		}
	}
	if v.Offsets != nil {
		first, last := v.Offsets[from], v.Offsets[to]
		for _, o := range v.Offsets[from : to+1] {
			s.Offsets = append(s.Offsets, o-first)
		}
		if v.Elem != nil {
			e := stretch(v.Elem, first, last)
			s.Elem = &e
		}
		if v.Keys != nil {
			k := stretch(v.Keys, first, last)
			s.Keys = &k
		}
	}
	for i := range v.Fields {
		s.Fields = append(s.Fields, stretch(&v.Fields[i], from, to))
	}
	return s
}

func cut[T any](v []T, from, to int) []T {
	if v == nil {
		return nil
	}
	return v[from:to]
}

// fill reads the next n rows, or fewer if n take too much memory.
func (p *part) fill(n int) error {
	p.saved = p.saved[:0]
	for _, c := range p.chunks {
		p.saved = append(p.saved, c.position)
	}
	for {
		p.n = n
		err := p.try()
		short := (*shortage)(nil)
		if !errors.As(err, &short) {
			return err
		}
		for i, c := range p.chunks {
			c.position = p.saved[i]
			c.out.free(c)
			c.drop()
		}
		for _, b := range p.cols {
			b.free()
		}
		p.scratch, p.dict = nil, nil
		p.used = 0
		switch {
		case !p.lean:
			p.lean = true
		case n > 1:
			n = (n + 1) / 2
			p.most = n
		default:
			f := columns.Wrong("raise "+setting.PartMemory.String()+", or write the file with smaller pages", "a row needs about %d MiB of memory, and %d MiB are allowed",
				short.need>>20+1, p.bytes>>20)
			f.Row, f.Column = p.done, short.column
			return f
		}
	}
}

// try reads the next p.n rows. Where memory is short, a page is given up once its values are taken, if those before fill half of it.
func (p *part) try() error {
	for _, c := range p.chunks {
		if err := c.gather(p.n); err != nil {
			return err
		}
		if p.lean && p.used > p.bytes/2 {
			c.drop()
		}
	}
	for _, b := range p.cols {
		if err := b.build(p.n); err != nil {
			return err
		}
	}
	return nil
}

// gather takes the next n rows.
func (c *chunk) gather(n int) error {
	g := &c.out
	g.reset()
	if c.maxRep == 0 {
		for got := 0; got < n; {
			more, err := c.advance()
			if err != nil {
				return err
			}
			if !more {
				return c.tooFew(got)
			}
			k := min(c.left, n-got)
			if err := c.cells(k); err != nil {
				return err
			}
			got += k
		}
		return c.finish()
	}
	perRow := c.values/max(1, c.p.rows) + 1
	for started := 0; ; {
		more, err := c.advance()
		if err != nil {
			return err
		}
		if !more {
			if started < n {
				return c.tooFew(started)
			}
			return c.finish()
		}
		k := int(min(int64(c.left), 1<<13, 64+int64(n-started)*min(perRow, 1<<13)))
		from := len(g.reps)
		reps, err := grow(c, &g.reps, k, 0)
		if err != nil {
			return err
		}
		before := c.reps
		if err := read(&c.reps, reps, c.rep.data, c.rep.width); err != nil {
			return c.fault("%v", err)
		}
		cut := k
		highest := uint8(0)
		if started == 0 && reps[0] != 0 {
			highest = math.MaxUint8
		}
		for i, r := range reps {
			if r == 0 {
				if started == n {
					cut = i
					break
				}
				started++
			}
			highest = max(highest, r)
		}
		if int(highest) > c.maxRep {
			return c.fault("its repetition levels are damaged")
		}
		if cut < k {
			g.reps, c.reps = g.reps[:from+cut], before
			if err := c.reps.skip(c.rep.data, c.rep.width, cut); err != nil {
				return c.fault("%v", err)
			}
		}
		if err := c.cells(cut); err != nil {
			return err
		}
		if cut < k {
			return c.finish()
		}
	}
}

func (c *chunk) tooFew(got int) error {
	return c.fault("it has %d rows, and the row group has %d", c.p.done+int64(got), c.p.rows)
}

// cells takes the next k levels of the page, and their values.
func (c *chunk) cells(k int) error {
	g := &c.out
	n, cells := k, k // values and cells among the levels
	var defs []uint8
	if c.maxDef > 0 {
		// Most columns have no missing cell, and tell so by one run. Levels are kept from the first that is lower than the highest on.
		run, err := c.defs.run(c.def.data, c.def.width)
		if err != nil {
			return c.fault("%v", err)
		}
		if !c.nested {
			g.defs = g.defs[:0]
		}
		if len(g.defs) == 0 && run >= k && !c.defs.packed && c.defs.value == uint32(c.maxDef) {
			c.defs.left -= k
		} else {
			if c.nested && len(g.defs) == 0 {
				before := g.cells
				if c.maxRep > 0 {
					before = len(g.reps) - k
				}
				full, err := grow(c, &g.defs, before, 0)
				if err != nil {
					return err
				}
				for i := range full {
					full[i] = uint8(c.maxDef)
				}
			}
			if defs, err = grow(c, &g.defs, k, 0); err != nil {
				return err
			}
			if err := read(&c.defs, defs, c.def.data, c.def.width); err != nil {
				return c.fault("%v", err)
			}
			n, cells = 0, 0
			for _, d := range defs {
				if int(d) >= c.base {
					cells++
				}
				if int(d) >= c.maxDef {
					n++
				}
			}
		}
	}
	var missing []bool
	if n < cells && len(g.v.Null) == 0 {
		if _, err := slots(c, g, &g.v.Null, g.cells); err != nil {
			return err
		}
		clear(g.v.Null)
	}
	if n < cells || len(g.v.Null) > 0 {
		var err error
		if missing, err = slots(c, g, &g.v.Null, cells); err != nil {
			return err
		}
		if n == cells {
			clear(missing)
		} else {
			i := 0
			for _, d := range defs {
				if int(d) >= c.base {
					missing[i] = int(d) < c.maxDef
					i++
				}
			}
		}
	}
	if err := c.append(g, n); err != nil {
		bad := (*badValue)(nil)
		if errors.As(err, &bad) {
			return c.badFault(bad, c.row(defs, k, bad.index))
		}
		return err
	}
	if n < cells {
		if err := c.spreadOut(n, missing); err != nil {
			return err
		}
	}
	g.cells += cells
	c.left -= k
	return nil
}

// row returns the row of the i-th value of the last k levels.
func (c *chunk) row(defs []uint8, k, i int) int64 {
	level := i
	for l, d := range defs {
		if int(d) >= c.maxDef {
			if i == 0 {
				level = l
				break
			}
			i--
		}
	}
	if c.maxRep == 0 {
		return c.p.done + int64(c.out.cells+level)
	}
	row := c.p.done - 1
	for _, r := range c.out.reps[:len(c.out.reps)-k+level+1] {
		if r == 0 {
			row++
		}
	}
	return row
}

// finish makes the vector of what was gathered.
func (c *chunk) finish() error {
	g := &c.out
	g.v.Bytes, g.v.Ends, g.v.Codes = nil, nil, nil
	if c.kind == columns.Text {
		if g.coded {
			g.v.Bytes, g.v.Ends, g.v.Codes = c.dict.bytes, c.dict.ends, g.codes
		} else {
			g.v.Bytes, g.v.Ends = g.bytes, g.ends
		}
	}
	return nil
}

// vector returns the cells that were gathered.
func (c *chunk) vector() columns.Vector {
	v := c.out.v
	if len(v.Null) == 0 {
		v.Null = nil
	}
	return v
}

// builder makes the vector of a node.
type builder struct {
	*node
	chunks   []*chunk // of the leaves
	children []*builder
	v        columns.Vector
	offsets  []int
	others   []int
	missing  []bool
	found    int              // cells
	vectors  []columns.Vector // of a Struct's fields, of a List's element, of a Map's value and key
}

func newBuilder(n *node, chunks map[*leaf]*chunk) *builder {
	b := &builder{node: n}
	for _, l := range n.leaves {
		b.chunks = append(b.chunks, chunks[l])
	}
	for _, child := range n.children {
		b.children = append(b.children, newBuilder(child, chunks))
	}
	b.vectors = make([]columns.Vector, len(b.children))
	return b
}

func (b *builder) free() {
	b.v = columns.Vector{}
	b.offsets, b.others, b.missing = nil, nil, nil
	clear(b.vectors)
	for _, c := range b.children {
		c.free()
	}
}

// build makes the vector, which should have n cells.
func (b *builder) build(n int) error {
	c := b.chunks[0]
	if b.leaf != nil && b.leaf.maxRep == b.rep {
		b.v = c.vector()
		if c.out.cells != n {
			return c.fault("it has other cells than its neighbours, or its levels are damaged")
		}
		return nil
	}
	b.v = columns.Vector{}
	if b.Kind != columns.Struct || b.def > b.base {
		if err := b.scan(c, &b.offsets); err != nil {
			return err
		}
		if slices.Contains(b.missing, true) {
			b.v.Null = b.missing
		}
		if b.found != n {
			return c.fault("it has other cells than its neighbours, or its levels are damaged")
		}
	}
	switch b.Kind {
	case columns.Struct:
		for i, child := range b.children {
			if err := child.build(n); err != nil {
				return err
			}
			b.vectors[i] = child.v
		}
		b.v.Fields = b.vectors
	case columns.List, columns.Map:
		for _, other := range b.chunks[1:] {
			if err := b.scan(other, &b.others); err != nil {
				return err
			}
			if !slices.Equal(b.others, b.offsets) {
				return other.fault("its lists have other lengths than its neighbours'")
			}
		}
		for i, child := range b.children {
			if err := child.build(b.offsets[n]); err != nil {
				return err
			}
			b.vectors[i] = child.v
		}
		b.v.Offsets = b.offsets
		if b.Kind == columns.List {
			b.v.Elem = &b.vectors[0]
		} else {
			b.v.Keys, b.v.Elem = &b.vectors[0], &b.vectors[1]
		}
	}
	return nil
}

// scan finds the cells of the node by a leaf's levels: which are missing and, of a List or Map, where their elements start.
func (b *builder) scan(c *chunk, offsets *[]int) error {
	b.missing = b.missing[:0]
	*offsets = (*offsets)[:0]
	g := &c.out
	// A column without repetition has a level a cell.
	levels := max(len(g.reps), len(g.defs))
	if c.maxRep == 0 {
		levels = c.p.n
	}
	isList := b.Kind == columns.List || b.Kind == columns.Map
	elements := 0
	if isList && len(g.defs) == 0 && c.maxRep == 1 {
		// Nothing is missing or empty, so that each level has an element.
		if _, err := grow(c, offsets, c.p.n+1, 0); err != nil {
			return err
		}
		b.found = 0
		for i, r := range g.reps {
			if r == 0 && b.found < c.p.n {
				(*offsets)[b.found] = i
				b.found++
			}
		}
		*offsets = append((*offsets)[:b.found], levels)
		return nil
	}
	for i := range levels {
		r, d := 0, math.MaxInt
		if len(g.reps) > 0 {
			r = int(g.reps[i])
		}
		if len(g.defs) > 0 {
			d = int(g.defs[i])
		}
		if r <= b.rep && d >= b.base {
			if len(b.missing) == cap(b.missing) {
				if err := b.more(c, offsets); err != nil {
					return err
				}
			}
			b.missing = append(b.missing, d < b.def)
			if isList {
				*offsets = append(*offsets, elements)
			}
		}
		if r <= b.rep+1 && d >= b.elemDef {
			elements++
		}
	}
	*offsets = append(*offsets, elements)
	b.found = len(b.missing)
	return nil
}

// more makes room for the cells of a node.
func (b *builder) more(c *chunk, offsets *[]int) error {
	k := max(c.p.n, len(b.missing)/2)
	_, err := grow(c, &b.missing, k, 0)
	b.missing = b.missing[:len(b.missing)-k]
	if err == nil && b.Kind != columns.Struct {
		l := len(*offsets)
		_, err = grow(c, offsets, k+1, 0)
		*offsets = (*offsets)[:l]
	}
	return err
}
