package predictions

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxGroupText is the maximum length in bytes of a text that groups rows.
const maxGroupText = 64 << 10

// groupFiles numbers the groups of rows by vectors of integers or text. With several columns, a group is a pair: the group by all
// columns but the last, and the value in the last.
type groupFiles struct {
	*groups
	named  bool // they are clusters, whose keys are names
	each   []*groupColumn
	pairs  []pairs // for each column but the first: pairs of the groups so far and its values
	codes  []int32
	row    int64 // the next row
	locate func(row int64) (file string, rowInFile int64)
}

// pairs numbers pairs of numbers in order of first appearance.
type pairs struct {
	index map[[2]int32]int32
	all   [][2]int32
}

// noGroups is the source of groups for rows without any.
var noGroups = newGroups(nil, "")

// names returns the groups seen so far.
func (g *groupFiles) names() *groups {
	if g == nil {
		return noGroups
	}
	return g.groups
}

// keyColumns returns the columns of groups, and then that of clusters if there is one.
func (b *opening) keyColumns() []string {
	l := slices.Clone(b.options.Groups)
	if b.options.Cluster != "" {
		l = append(l, b.options.Cluster)
	}
	return l
}

// roleOfKey returns the role of the i-th of keyColumns.
func (b *opening) roleOfKey(i int) role {
	if i < len(b.options.Groups) {
		return groupsRole
	}
	return clustersRole
}

// findGroups finds the arrays of groups and clusters in a file of scores.
func (b *opening) findGroups(c *container) *Error {
	all := b.keyColumns()
	if b.groups == nil {
		b.groups = make([][]*array, len(all))
	}
	for i, name := range all {
		var a *array
		if c.npz {
			var e *Error
			if a, e = c.find(role{what: b.roleOfKey(i).what, names: []string{name}}); e != nil {
				return e
			}
		}
		b.groups[i] = append(b.groups[i], a)
	}
	return nil
}

// besideGroups opens the columns of groups and of clusters.
func (b *opening) besideGroups(s *beside, rows int64, locate func(row int64) (string, int64)) *Error {
	n := len(b.options.Groups)
	var e *Error
	if n > 0 {
		if s.groups, e = b.groupFiles(0, n, rows, locate); e != nil {
			return e
		}
	}
	if b.options.Cluster != "" {
		if s.clusters, e = b.groupFiles(n, n+1, rows, locate); e != nil {
			return e
		}
		s.clusters.limit, s.clusters.named = maxClusters, true
	}
	return nil
}

// groupFiles opens the columns of keyColumns from one to before another.
func (b *opening) groupFiles(from, to int, rows int64, locate func(row int64) (string, int64)) (*groupFiles, *Error) {
	g := &groupFiles{groups: newGroups(nil, ""), locate: locate}
	for i := from; i < to; i++ {
		as, e := b.groupArrays(i, rows)
		if e != nil {
			return nil, e
		}
		c := &groupColumn{column: column{arrays: as, what: "group"}, index: map[string]int32{}, of: g}
		if f := b.options.GroupValue; f != nil && i < len(b.options.Groups) {
			c.value = func(v []byte) []byte { return f(i, v) }
		}
		name := as[0].name
		if slices.Contains(g.columns, name) {
			return nil, fault("name it once, or save one of them under another name", "two columns to group by have the name %q", cut(name)).in(as[0].file)
		}
		g.columns, g.each = append(g.columns, name), append(g.each, c)
		if i > from {
			g.pairs = append(g.pairs, pairs{index: map[[2]int32]int32{}})
		}
	}
	return g, nil
}

// groupArrays returns the arrays of the i-th column of groups: one for all rows, or one per file of scores.
func (b *opening) groupArrays(i int, rows int64) ([]*array, *Error) {
	path, ro := b.keyColumns()[i], b.roleOfKey(i)
	var own []*array
	if b.groups != nil {
		own = b.groups[i]
	}
	have := slices.IndexFunc(own, func(a *array) bool { return a != nil })
	if have >= 0 && b.ensemble {
		if e := b.checkGroups(own[have], ro); e != nil {
			return nil, e
		}
		if n := own[have].rows(); n != rows {
			return nil, b.otherLength(ro, own[have], n, rows, b.scoring.what)
		}
		return own[have : have+1], nil
	}
	if have >= 0 {
		if miss := slices.Index(own, nil); miss >= 0 {
			return nil, fault("put it into every file", "no array %q, but %s has one", path, b.call(own[have].path)).in(b.call(b.scores[miss].path))
		}
		for j, a := range own {
			if e := b.checkGroups(a, ro); e != nil {
				return nil, e
			}
			if a.rows() != b.scores[j].rows() {
				return nil, b.otherLength(ro, a, a.rows(), b.scores[j].rows(), b.scores[j].file)
			}
		}
		return own, nil
	}
	as, e := b.take(ro, []string{path})
	if e != nil {
		if len(own) > 0 && errors.Is(e.err, fs.ErrNotExist) && strings.HasSuffix(strings.ToLower(b.scores[0].path), ".npz") {
			e.Reason += ", and no array of that name in " + b.call(b.scores[0].path)
		} else if errors.Is(e.err, fs.ErrNotExist) {
			e.Remedy = "arrays have no columns: name a file that has a value for each row"
		}
		return nil, e
	}
	if e := b.checkGroups(as[0], ro); e != nil {
		return nil, e
	}
	if n := as[0].rows(); n != rows {
		return nil, b.otherLength(ro, as[0], n, rows, b.scoring.what)
	}
	return as, nil
}

// checkGroups returns an Error if an array cannot be a column of groups, or of clusters.
func (b *opening) checkGroups(a *array, ro role) *Error {
	d := a.dtype
	switch {
	case d.integer(), d.kind == 'f' && d.size <= 8 && b.options.GroupValue != nil:
	case d.kind != 'S' && d.kind != 'U':
		return fault(fmt.Sprintf(`save whole numbers or text, as in %s.astype("int32") or %[1]s.astype("U")`, ro.what), "%s are %s", ro.what, d).in(a.file)
	case d.size == 0 || d.size > maxGroupText:
		return fault("save shorter texts, or numbers", "%s are texts of %d bytes: from 1 to %d are read", ro.what, d.size, maxGroupText).in(a.file)
	}
	if len(a.shape) != 1 && (len(a.shape) != 2 || a.shape[1] != 1) {
		return fault("save "+ro.what+".reshape(-1)", "%s have shape %s: a vector (N,) is read", ro.what, shapeText(a.shape)).in(a.file)
	}
	return a.checkLength()
}

// fill numbers the groups of the next rows.
func (g *groupFiles) fill(to []int32) *Error {
	over := len(to) // the first row in a group beyond the maximum
	for k, c := range g.each {
		if k == 0 {
			if e := c.read(to); e != nil {
				return e
			}
			over = min(over, c.over)
			continue
		}
		g.codes = sized(g.codes, len(to))
		if e := c.read(g.codes); e != nil {
			return e
		}
		over = min(over, c.over, g.pairs[k-1].number(to, g.codes, g.limit))
	}
	if over < len(to) && g.named {
		e := g.tooManyClusters()
		e.File, e.Row = g.locate(g.row + int64(over))
		return e
	}
	if over < len(to) {
		distinct := make([]int, len(g.each))
		for k, c := range g.each {
			distinct[k] = len(c.values)
		}
		e := g.tooMany(distinct)
		e.File, e.Row = g.locate(g.row + int64(over))
		return e
	}
	g.row += int64(len(to))
	n := len(g.each[0].values)
	if len(g.pairs) > 0 {
		n = len(g.pairs[len(g.pairs)-1].all)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.keys) < n {
		if g.named {
			g.keys = append(g.keys, g.each[0].values[len(g.keys)])
			continue
		}
		g.keys = append(g.keys, g.key(int32(len(g.keys))))
	}
	return nil
}

// key returns the values of group i.
func (g *groupFiles) key(number int32) string {
	values := make([]string, len(g.each))
	for k := len(g.pairs) - 1; k >= 0; k-- {
		p := g.pairs[k].all[number]
		number, values[k+1] = p[0], g.each[k+1].values[p[1]]
	}
	values[0] = g.each[0].values[number]
	var key []byte
	for _, v := range values {
		key = appendKey(key, []byte(v))
	}
	return string(key)
}

// number replaces numbers by the numbers of their pairs with codes. It returns the index of the first beyond the maximum number of
// groups, or how many there are.
func (p *pairs) number(numbers, codes []int32, limit int) int {
	over := len(numbers)
	last, lastNumber := [2]int32{-1, -1}, int32(0)
	for i, n := range numbers {
		pair := [2]int32{n, codes[i]}
		if pair != last {
			m, met := p.index[pair]
			if !met {
				if m = int32(len(p.all)); int(m) == limit {
					return i
				}
				p.index[pair], p.all = m, append(p.all, pair)
			}
			last, lastNumber = pair, m
		}
		numbers[i] = lastNumber
	}
	return over
}

// groupColumn reads a vector of integers or text and numbers its values in order of first appearance.
type groupColumn struct {
	column
	of     *groupFiles
	index  map[string]int32
	whole  codeTable // of whole numbers, which index has as text
	values []string
	value  func(v []byte) []byte // nil, or Options.GroupValue
	over   int                   // index of the first value of the last read beyond the maximum; their number if there is none
	text   []byte
}

// read fills codes with the numbers of the next values.
func (g *groupColumn) read(codes []int32) *Error {
	g.over = len(codes)
	var bad *Error
	e := g.fill(len(codes), func(*array) []byte { return nil }, func(a *array, at, n int, buf []uint64) int {
		size := a.dtype.size
		cells := raw(buf)[:n*size]
		whole := a.dtype.integer() && size <= 8 && g.value == nil
		if whole {
			if g.whole.of != a.dtype { // another shard's numbers of the same bits may be others
				g.whole = codeTable{of: a.dtype}
			}
			g.whole.find(codes[at:at+n], cells, size)
		}
		for i := range n {
			if whole && codes[at+i] >= 0 {
				continue
			}
			cell := cells[i*size:][:size]
			if g.value == nil && i > 0 && bytes.Equal(cell, cells[(i-1)*size:][:size]) {
				codes[at+i] = codes[at+i-1]
				continue
			}
			text, ok := groupText(g.text[:0], cell, a.dtype)
			g.text = text
			if g.value != nil && ok {
				text = g.value(text)
			}
			code, met := g.index[string(text)]
			if !met && bad == nil {
				if !ok {
					bad = fault("write it as UTF-8", "%q is not text", cut(string(text)))
					bad.File, bad.Row = a.file, a.skip+g.at+int64(i)
				}
				if ok && g.of.named && len(text) == 0 {
					bad = g.of.unnamed()
					bad.File, bad.Row = a.file, a.skip+g.at+int64(i)
				}
				limit, value := g.of.limit, string(text)
				if code = int32(len(g.values)); int(code) < limit {
					g.index[value] = code
				}
				if int(code) <= limit {
					g.values = append(g.values, value)
				}
				if int(code) >= limit {
					g.over = min(g.over, at+i)
				}
			}
			if whole && int(code) < g.of.limit {
				g.whole.add(wholeCell(cell), code)
			}
			codes[at+i] = code
		}
		return n
	})
	if e != nil {
		return e
	}
	return bad
}

// groupText appends a value's text to dst. ok is false if it is not valid UTF-8 or Unicode.
func groupText(out, cell []byte, d dtype) (text []byte, ok bool) {
	n := wholeCell(cell)
	switch d.kind {
	case 'f':
		switch d.size {
		case 2:
			return strconv.AppendFloat(out, half(uint16(n)), 'g', -1, 64), true
		case 4:
			return strconv.AppendFloat(out, float64(math.Float32frombits(uint32(n))), 'g', -1, 32), true
		}
		return strconv.AppendFloat(out, math.Float64frombits(n), 'g', -1, 64), true
	case 'b':
		return strconv.AppendBool(out, n != 0), true
	case 'u':
		return strconv.AppendUint(out, n, 10), true
	case 'i':
		shift := 64 - 8*d.size
		return strconv.AppendInt(out, int64(n<<shift)>>shift, 10), true
	case 'S':
		out = append(out, bytes.TrimRight(cell, "\x00")...)
		return out, utf8.Valid(out)
	}
	ok = true
	order := binary.ByteOrder(binary.LittleEndian)
	if d.big {
		order = binary.BigEndian
	}
	for ; len(cell) >= 4; cell = cell[4:] {
		c := order.Uint32(cell)
		ok = ok && c <= utf8.MaxRune && utf8.ValidRune(rune(c))
		out = utf8.AppendRune(out, rune(c))
	}
	return bytes.TrimRight(out, "\x00"), ok
}
