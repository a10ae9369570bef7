package predictions

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/roles"
)

// columnLayout says what the columns of a block are for.
type columnLayout struct {
	want         []int            // of the file, in the order of the block
	place        map[int]int      // of a column of the file in want
	types        []columns.Column // of these
	scored       *scored
	scoreColumns []string
	dimensions   int // of Multivariate

	// Indices in want; -1 is none.
	scores                                              []int
	label, weight, decision, confidence, only, observed int
	bytes, sequence                                     int
	groupValue                                          func(column int, value []byte) []byte
	groups, kept                                        []int // below 0 for a key of folders, of which -1 is the first; of groups the last is that of clusters, if clustered
	clustered                                           bool
	keys, tags                                          []int
	correct                                             bool // the label says whether the decision, class 1, was right
	several                                             bool // a row has a label for each class
	rows                                                Rows // that are read, by the column only
	truth                                               *truthTable

	texts   bool    // kept cells are texts
	untyped bool    // texts may be numbers: the file has no types
	text    *layout // of a table of text

	classes int // of a member
	members int // 0 for one model
	dtype   metrics.DType
	percent bool // scores are percentages
	shapeOf scoreShape
	number  map[string]int // of a map's keys
}

// scoreShape says where the scores of a row are.
type scoreShape uint8

const (
	inColumns scoreShape = iota // one column for each
	inList
	inFields // of a struct
	inMap
	inVector // of Spark: a struct of a type, a size, indices and values
)

// chunkScores is about how many bytes of scores a chunk has.
const chunkScores = 1 << 20

// blockRows returns how many rows to ask for.
func (l *columnLayout) blockRows() int {
	return min(max(1, chunkScores/(max(1, l.width())*8)), 1<<16)
}

// keyed reports whether rows have keys, of groups or of a cluster.
func (l *columnLayout) keyed() bool { return len(l.groups) > 0 }

// width returns how many scores a row has.
func (l *columnLayout) width() int { return l.classes * max(1, l.members) }

// picks reports whether rows may be left out.
func (l *columnLayout) picks() bool {
	return l.only >= 0 || l.truth != nil && l.truth.drop && !l.truth.stay
}

func (l *columnLayout) shape() string {
	if l.classes == 1 && l.shapeOf == inColumns {
		return "(N,)"
	}
	return fmt.Sprintf("(N, %d)", l.classes)
}

// pathed is a file that finds fields of nested objects.
type pathed interface {
	Path(path string) (column int, ok bool)
	Float(column int)
}

// lay finds the columns to read.
func (l *columnLayout) lay(o *TableOptions, f *openColumns, parts []partition) *Error {
	if p, ok := f.columnFile.(pathed); ok {
		w := &o.Columns
		for _, name := range slices.Concat([]string{w.Label, w.Correct, w.Weight, w.Decision, w.Confidence, w.Bytes, w.Sequence, w.Only, w.Cluster}, w.Scores, w.Groups, w.Keys, w.Members, w.Kept) {
			if name != "" {
				p.Path(name)
			}
		}
		f.columns = f.Columns()
	}
	list := make([]roles.Column, len(f.columns))
	header := &layout{}
	for i := range f.columns {
		c := &f.columns[i]
		list[i] = roleOf(c)
		if c.Kind == columns.Map && slices.Contains(append(o.Columns.Scores, o.Columns.Members...), c.Name) {
			list[i].Kind = roles.List // its names come with the rows
		}
		header.names = append(header.names, c.Name)
	}
	for _, p := range parts { // which stand behind the file's columns
		if !slices.Contains(header.names, p.key) {
			list, header.names = append(list, roles.Column{Name: p.key, Kind: roles.Text}), append(header.names, p.key)
		}
	}
	s, e := o.bind(list, header)
	if e != nil {
		return e
	}
	l.scored = s
	for _, i := range append([]int{s.Label, s.Decision, s.Bytes, s.Sequence, s.Only}, s.Keys...) {
		if i >= len(f.columns) {
			return fault("name a column of the files", "%q is the key of folders: it can only group rows, be their cluster, or be kept", cut(header.names[i]))
		}
	}
	for _, i := range s.Scores {
		l.scores, l.scoreColumns = append(l.scores, l.take(i)), append(l.scoreColumns, f.columns[i].Name)
	}
	l.label, l.weight, l.decision, l.confidence, l.only, l.observed = l.take(s.Label), l.take(s.Weight), l.take(s.Decision), l.take(s.Confidence), l.take(s.Only), -1
	l.bytes, l.sequence, l.percent = l.take(s.Bytes), l.take(s.Sequence), o.Percent
	l.correct, l.several, l.members, l.rows = o.Columns.Correct != "", o.Columns.Tags, s.Members, o.Rows
	for _, i := range s.Keys {
		l.keys = append(l.keys, l.take(i))
	}
	for _, i := range s.Tags {
		l.tags = append(l.tags, l.take(i))
	}
	l.groupValue = o.GroupValue
	for _, i := range s.Groups {
		l.groups = append(l.groups, l.takeOrKey(i, f, header.names, parts))
	}
	if l.clustered = s.Cluster >= 0; l.clustered {
		l.groups = append(l.groups, l.takeOrKey(s.Cluster, f, header.names, parts))
	}
	for _, i := range s.Kept {
		l.kept = append(l.kept, l.takeOrKey(i, f, header.names, parts))
	}
	if p, ok := f.columnFile.(pathed); ok {
		for _, i := range append(slices.Clone(s.Scores), s.Weight, s.Confidence, s.Bytes) {
			if i >= 0 {
				p.Float(i)
			}
		}
		f.columns = f.Columns()
	}
	for _, i := range l.want {
		l.types = append(l.types, f.columns[i])
	}
	if s.list {
		switch c := &l.types[l.scores[0]]; {
		case isVector(c):
			l.shapeOf = inVector
		case c.Kind == columns.List:
			l.shapeOf = inList
		case c.Kind == columns.Struct:
			l.shapeOf = inFields
		case c.Kind == columns.Map:
			l.shapeOf = inMap
			if o.Columns.Classes == nil {
				s.names = nil
			}
		}
	}
	l.dtype = l.typeOf()
	if e := l.check(); e != nil {
		return e
	}
	if l.percent {
		if e := checkPercent(o.Kind, l.dtype); e != nil {
			return e
		}
	}
	return wanted(f, l.want, o.PartBytes)
}

// take returns the place in want of a column of the file; -1 of none.
func (l *columnLayout) take(i int) int {
	if i < 0 {
		return -1
	}
	if at, ok := l.place[i]; ok {
		return at
	}
	if l.place == nil {
		l.place = map[int]int{}
	}
	l.place[i] = len(l.want)
	l.want = append(l.want, i)
	return len(l.want) - 1
}

// takeOrKey is take for a column that groups rows or is kept, which may be the key of a folder. These stand behind the columns of the file.
func (l *columnLayout) takeOrKey(i int, f *openColumns, names []string, parts []partition) int {
	if i >= len(f.columns) {
		return -1 - slices.IndexFunc(parts, func(p partition) bool { return p.key == names[i] })
	}
	return l.take(i)
}

// partBytes is how much memory a part may take by default. Usual parts take far less.
const partBytes = 128 << 20

// wanted tells a file which columns to read.
func wanted(f *openColumns, want []int, bytes int64) *Error {
	if bytes <= 0 {
		bytes = partBytes
	}
	if err := f.Want(columns.Want{Columns: want, Bytes: bytes}); err != nil {
		return asError(err, 0, 0)
	}
	return nil
}

// roleOf describes a column to package roles.
func roleOf(c *columns.Column) roles.Column {
	r := roles.Column{Name: c.Name, Kind: roles.Other, Type: c.Type.Name}
	switch c.Kind {
	case columns.Float64, columns.Float32, columns.Float16, columns.Int64:
		r.Kind = roles.Number
	case columns.Text, columns.Bool, columns.Time:
		r.Kind = roles.Text
	case columns.List:
		if isNumber(c.Elem) {
			r.Kind, r.Width = roles.List, c.Width
		}
	case columns.Map:
		if isNumber(c.Elem) {
			r.Kind = roles.Fields
		}
	case columns.Struct:
		if isVector(c) {
			r.Kind = roles.List
			break
		}
		if len(c.Fields) > 0 && !slices.ContainsFunc(c.Fields, func(f columns.Column) bool { return !isNumber(&f.Type) }) {
			r.Kind = roles.Fields
			for _, f := range c.Fields {
				r.Names = append(r.Names, f.Name)
			}
		}
	}
	return r
}

func isNumber(t *columns.Type) bool { return t.Kind <= columns.Int64 }

// isVector reports whether a column is Spark's vector.
func isVector(c *columns.Column) bool {
	return c.Kind == columns.Struct && len(c.Fields) == 4 && c.Fields[0].Name == "type" && c.Fields[1].Name == "size" && c.Fields[2].Name == "indices" &&
		c.Fields[3].Name == "values" && c.Fields[2].Kind == columns.List && c.Fields[3].Kind == columns.List
}

// typeOf returns the narrowest type that holds all scores.
func (l *columnLayout) typeOf() metrics.DType {
	d := metrics.Float16
	widen := func(t *columns.Type) {
		switch t.Kind {
		case columns.Float16:
		case columns.Float32:
			if d == metrics.Float16 {
				d = metrics.Float32
			}
		default:
			d = metrics.Float64
		}
	}
	for _, at := range l.scores {
		c := &l.types[at]
		switch {
		case l.shapeOf == inVector:
			widen(c.Fields[3].Elem)
		case l.shapeOf == inFields:
			for i := range c.Fields {
				widen(&c.Fields[i].Type)
			}
		case c.Elem != nil:
			widen(c.Elem)
		default:
			widen(&c.Type)
		}
	}
	return d
}

// check returns an Error for columns of types that their role cannot have.
func (l *columnLayout) check() *Error {
	if l.label >= 0 && l.types[l.label].Kind > columns.Text && !l.several {
		return fault("name another column by "+setting.LabelColumn.String(), "column %q cannot be the label: its type is %s", cut(l.types[l.label].Name), l.types[l.label].Kind)
	}
	for _, k := range l.keys {
		if c := &l.types[k]; c.Kind > columns.Time {
			return fault("name a column of texts or numbers by "+setting.Keys.String(), "column %q cannot be a key: its type is %s", cut(c.Name), c.Kind)
		}
	}
	for i, g := range l.groups {
		if g < 0 {
			continue
		}
		if c := &l.types[g]; c.Kind > columns.Time && l.clustered && i == len(l.groups)-1 {
			return fault("name a column of texts or numbers", "column %q cannot be the cluster: its type is %s", cut(c.Name), cmp.Or(c.Type.Name, c.Kind.String()))
		} else if c.Kind > columns.Time {
			return fault("group by a column of texts or numbers", "column %q cannot form groups: its type is %s", cut(c.Name), cmp.Or(c.Type.Name, c.Kind.String()))
		}
	}
	return nil
}

// again checks that another file has the wanted columns, with the same types, and says to read them.
func (l *columnLayout) again(o *TableOptions, f *openColumns, first string) *Error {
	p, paths := f.columnFile.(pathed)
	want := make([]int, len(l.want))
	named := make(map[string]int, len(f.columns))
	for i := range f.columns {
		if _, twice := named[f.columns[i].Name]; !twice {
			named[f.columns[i].Name] = i
		}
	}
	for i := range l.types {
		t := &l.types[i]
		at, ok := named[t.Name]
		if !ok && paths {
			at, ok = p.Path(t.Name)
		}
		if !ok {
			return fault("shards of a table have the same columns", "no column %q, which %s has", cut(t.Name), first)
		}
		if paths && t.Kind == columns.Float64 {
			p.Float(at)
		}
		want[i] = at
	}
	f.columns = f.Columns()
	for i := range l.types {
		t := &l.types[i]
		if c := &f.columns[want[i]]; !alike(&c.Type, &t.Type) {
			return fault("shards of a table have the same columns", "column %q has the type %s, and %s in %s", cut(t.Name), c.Kind, t.Kind, first)
		}
	}
	return wanted(f, want, o.PartBytes)
}

// alike reports whether vectors of two types have the same fields.
func alike(a, b *columns.Type) bool {
	if a.Kind != b.Kind || a.Unit != b.Unit || a.UTC != b.UTC || (a.Elem == nil) != (b.Elem == nil) || a.Elem != nil && !alike(a.Elem, b.Elem) {
		return false
	}
	return slices.EqualFunc(a.Fields, b.Fields, func(x, y columns.Column) bool { return x.Name == y.Name && alike(&x.Type, &y.Type) })
}

// settle learns from the first rows how many scores a row has.
func (l *columnLayout) settle(o *TableOptions, b *columns.Block) *Error {
	c := &l.types[l.scores[0]]
	n := len(l.scores) / max(1, l.members)
	switch l.shapeOf {
	case inFields:
		n = len(c.Fields)
	case inList:
		n = c.Width
		for i := 0; i < b.Rows && n == 0; i++ {
			v := &b.Columns[l.scores[0]]
			n = v.Offsets[i+1] - v.Offsets[i]
		}
	case inVector:
		v := &b.Columns[l.scores[0]]
		for i := 0; i < b.Rows && n <= 1; i++ {
			n = vectorSize(v, i)
		}
	case inMap:
		if l.scored.names == nil {
			v := &b.Columns[l.scores[0]]
			var keys []string
			for i := range v.Offsets[min(1, b.Rows)] {
				keys = append(keys, string(v.Keys.Text(v.Offsets[0]+i)))
			}
			slices.Sort(keys)
			return fault(fmt.Sprintf("name the classes, in their order, by %v: %s", setting.ClassNames, strings.Join(keys, ",")),
				"column %q has a score for each name, but their order does not tell the order of the classes", cut(c.Name))
		}
		n = len(l.scored.names)
		l.number = map[string]int{}
		for i, name := range l.scored.names {
			l.number[name] = i
		}
	}
	if n == 0 {
		return fault("each row must have a score for each class", "column %q has empty lists", cut(c.Name))
	}
	l.classes = n
	return l.scored.settle(o, n)
}

// vectorSize returns the number of scores of a row of Spark's vectors.
func vectorSize(v *columns.Vector, i int) int {
	if v.Null != nil && v.Null[i] {
		return 0
	}
	if v.Fields[0].Int64[i] == 0 { // sparse
		return int(v.Fields[1].Int64[i])
	}
	return v.Fields[3].Offsets[i+1] - v.Fields[3].Offsets[i]
}

// columnChunk is the memory of a chunk.
type columnChunk struct {
	free   *spareChunks
	rows   int
	failed error
	fell   any // value of a panic

	f64                 []float64
	f32                 []float32
	f16                 []uint16
	read                int     // rows of the file, of which rows are left
	numbers             []int32 // of the rows that are left, where some may be left out
	labels, decisions   []int32
	weights, confidence []float64
	observed            []float64
	groups              []int32 // numbers of keys, until renumber
	clusters            []int32
	kept                []Cells
	keys                []string
	index               map[string]int32
	bytes               []float64
	sequences           []int64 // numbers of runs of equal keys, until number
	runs                []keyRun
}

// spareChunks are the chunks that a goroutine may fill. What came back last is taken first, as it is still in the caches, so that most are not
// even made if others keep up.
type spareChunks struct {
	all  int
	back chan struct{} // has an element once a chunk came back
	mu   sync.Mutex
	last []*columnChunk
}

func newSpareChunks(n int) *spareChunks {
	s := &spareChunks{all: n, back: make(chan struct{}, 1), last: make([]*columnChunk, n)}
	for i := range s.last {
		s.last[i] = &columnChunk{free: s}
	}
	return s
}

// take waits for a chunk for the rows of a run; nil if done is closed.
func (s *spareChunks) take(run *columnRun, done <-chan struct{}) *columnChunk {
	for {
		most := s.all
		if run.isTaken() {
			most = leastChunks
		}
		s.mu.Lock()
		if n := len(s.last); s.all-n < most {
			c := s.last[n-1]
			s.last = s.last[:n-1]
			s.mu.Unlock()
			return c
		}
		s.mu.Unlock()
		select {
		case <-s.back:
		case <-done:
			return nil
		}
	}
}

func (s *spareChunks) put(c *columnChunk) {
	s.mu.Lock()
	s.last = append(s.last, c)
	s.mu.Unlock()
	select {
	case s.back <- struct{}{}:
	default:
	}
}

// keyRun is a run of rows with the same key.
type keyRun struct {
	key string
	row int // the first, of the block
}

// chunk returns the rows as a chunk.
func (b *columnChunk) chunk(l *columnLayout, first int64, k metrics.Kind) *metrics.Chunk {
	n, width := b.rows, l.width()
	c := &metrics.Chunk{First: first, Recycle: recycler(b, b.free.put)}
	c.Rows, c.Classes, c.Kind = n, width, k
	switch l.dtype {
	case metrics.Float64:
		c.F64 = b.f64[:n*width]
	case metrics.Float32:
		c.F32 = b.f32[:n*width]
	default:
		c.F16 = b.f16[:n*width]
	}
	if l.picks() {
		c.Numbers = b.numbers[:n]
	}
	if l.scored != nil {
		c.Labels = b.labels[:n*l.labelsOfRow()]
	}
	if l.observed >= 0 {
		c.Observed = b.observed[:n]
	}
	if l.weight >= 0 {
		c.Weights = b.weights[:n]
	}
	if l.decision >= 0 || l.correct {
		c.Decisions = b.decisions[:n]
	}
	if l.confidence >= 0 {
		c.ConfidenceScores = b.confidence[:n]
	}
	if l.bytes >= 0 {
		c.Bytes = b.bytes[:n]
	}
	if l.sequence >= 0 {
		c.Sequences = b.sequences[:n]
	}
	if l.percent {
		hundredths(c)
	}
	switch s := l.scored; {
	case s == nil || !s.pairs || l.members > 0:
	case l.label < 0 && l.truth == nil:
		c.Scores.OfEvent(k, s.event)
		if k != metrics.Probs {
			c.Kind = metrics.Logits
		}
	default:
		c.OfEvent(s.event)
	}
	if l.clustered {
		c.Clusters = b.clusters[:n]
	}
	if len(l.groups) > 1 || l.keyed() && !l.clustered {
		c.Groups = b.groups[:n]
	}
	return c
}

// renumber replaces numbers of keys in the chunk by those of groups and clusters over all chunks.
func (b *columnChunk) renumber(g *groups) error {
	numbers := make([][2]int32, len(b.keys))
	for i, k := range b.keys {
		group, cluster, e := g.row(k)
		if e != nil {
			if b.rows == b.read { // no row is left out
				e.Row = int64(slices.Index(b.groups[:b.rows], int32(i)))
			}
			return e
		}
		numbers[i] = [2]int32{group, cluster}
	}
	if g.clusters != nil {
		b.clusters = sized(b.clusters, b.rows)
	}
	numbered(b.groups[:b.rows], b.clusters, numbers)
	return nil
}

// assembler makes chunks of blocks, for one goroutine.
type assembler struct {
	layout *columnLayout
	cell   []byte
	key    []byte
	small  []int32         // classes that small integers name, unknown until one is seen
	ints   map[int64]int32 // classes that other integers name
	codes  []int32         // classes, or numbers of groups, of a dictionary's texts
	wide   []float64
	narrow []float32
	seen   []bool
	out    []bool // rows of the block that are left out
}

// fill assembles the rows of a block. A fault is that of the first bad row of a column.
func (a *assembler) fill(c *columnChunk, b *columns.Block, parts []partition) {
	l, n := a.layout, b.Rows
	c.rows, c.read = n, n
	a.out = append(a.out[:0], make([]bool, n)...)
	var e *Error
	if l.only >= 0 {
		e = a.filter(b)
	}
	switch taken := l.takes(b); {
	case taken != nil && l.dtype == metrics.Float64:
		c.f64, taken.Float64 = taken.Float64, c.f64
	case taken != nil && l.dtype == metrics.Float32:
		c.f32, taken.Float32 = taken.Float32, c.f32
	case taken != nil:
		c.f16, taken.Float16 = taken.Float16, c.f16
	case l.dtype == metrics.Float64:
		c.f64 = sized(c.f64, n*l.width())
		e = earlier(e, scoresOf(a, c.f64, b, a.float64s, nan))
	case l.dtype == metrics.Float32:
		c.f32 = sized(c.f32, n*l.width())
		e = earlier(e, scoresOf(a, c.f32, b, a.float32s, float32(nan)))
	default:
		c.f16 = sized(c.f16, n*l.width())
		e = earlier(e, scoresOf(a, c.f16, b, func(v *columns.Vector, _ *columns.Type) []uint16 { return v.Float16 }, 0x7e00))
	}
	c.labels = sized(c.labels, n*l.labelsOfRow())
	if l.observed >= 0 {
		c.observed = a.numbers(sized(c.observed, n), b, l.observed)
	}
	switch {
	case l.several:
		e = earlier(e, a.tagsOf(c.labels, b))
	case l.truth != nil:
		e = earlier(e, a.match(c.labels, b))
	case l.label < 0:
		clear(c.labels)
	default:
		e = earlier(e, a.classesOf(c.labels, b, l.label))
	}
	if l.correct {
		c.decisions = sized(c.decisions, n)
		for i := range c.decisions {
			c.decisions[i] = 1
		}
	} else if l.decision >= 0 {
		c.decisions = sized(c.decisions, n)
		e = earlier(e, a.classesOf(c.decisions, b, l.decision))
	}
	if l.weight >= 0 {
		c.weights = a.numbers(sized(c.weights, n), b, l.weight)
	}
	if l.confidence >= 0 {
		c.confidence = a.numbers(sized(c.confidence, n), b, l.confidence)
	}
	if l.bytes >= 0 {
		c.bytes = a.numbers(sized(c.bytes, n), b, l.bytes)
	}
	if l.sequence >= 0 {
		e = earlier(e, a.sequence(c, b))
	}
	if l.keyed() {
		a.group(c, b, parts)
	}
	if len(l.kept) > 0 {
		a.keep(c, b, parts)
	}
	if e != nil {
		c.failed = e
	} else if l.picks() {
		c.leave(l, a.out)
	}
}

// takes returns the vector whose floats are the scores of the block as they are and may be taken; nil if there is none.
func (l *columnLayout) takes(b *columns.Block) *columns.Vector {
	if !b.Swap || len(l.scores) != 1 || l.members > 0 {
		return nil
	}
	c, v := &l.types[l.scores[0]], &b.Columns[l.scores[0]]
	t := &c.Type
	if l.shapeOf == inList && c.Width == l.classes && v.Null == nil {
		t, v = c.Elem, v.Elem
	} else if l.shapeOf != inColumns {
		return nil
	}
	if v.Null != nil || t.Kind != l.kind() {
		return nil
	}
	return v
}

// earlier returns the Error of the earlier row.
func earlier(a, b *Error) *Error {
	if a == nil || b != nil && b.Row < a.Row {
		return b
	}
	return a
}

// float64s returns the elements of a vector of numbers.
func (a *assembler) float64s(v *columns.Vector, t *columns.Type) []float64 {
	switch t.Kind {
	case columns.Float64:
		return v.Float64
	case columns.Int64:
		a.wide = sized(a.wide, len(v.Int64))
		for i, x := range v.Int64 {
			a.wide[i] = float64(x)
		}
		return a.wide
	case columns.Bool:
		a.wide = sized(a.wide, len(v.Bool))
		for i, x := range v.Bool {
			if a.wide[i] = 0; x {
				a.wide[i] = 1
			}
		}
		return a.wide
	}
	x := a.float32s(v, t)
	a.wide = sized(a.wide, len(x))
	for i, x := range x {
		a.wide[i] = float64(x)
	}
	return a.wide
}

func (a *assembler) float32s(v *columns.Vector, t *columns.Type) []float32 {
	if t.Kind == columns.Float32 {
		return v.Float32
	}
	a.narrow = sized(a.narrow, len(v.Float16))
	kernel.WidenF16(a.narrow, v.Float16)
	return a.narrow
}

// scoresOf writes the scores of the rows to dst; elements returns those of a vector as a T.
func scoresOf[T any](a *assembler, dst []T, b *columns.Block, elements func(*columns.Vector, *columns.Type) []T, missing T) *Error {
	l := a.layout
	if l.shapeOf == inColumns {
		width := l.width()
		interleave(dst, b.Rows, width, l.asStored(), func(j, from, to int) []T {
			v := stretch(&b.Columns[l.scores[j]], from, to)
			return elements(&v, &l.types[l.scores[j]].Type)
		})
		for j, at := range l.scores {
			blank(dst[j:], b.Columns[at].Null, width, missing)
		}
		return nil
	}
	if l.members == 0 {
		return memberScores(a, dst, b, l.scores[0], elements, missing)
	}
	// The members' scores stand beside one another in a row.
	one := make([]T, b.Rows*l.classes)
	for m, at := range l.scores {
		if e := memberScores(a, one, b, at, elements, missing); e != nil {
			return e
		}
		for i := range b.Rows {
			copy(dst[i*l.width()+m*l.classes:], one[i*l.classes:(i+1)*l.classes])
		}
	}
	return nil
}

// memberScores writes the scores that one column has for all classes.
func memberScores[T any](a *assembler, dst []T, b *columns.Block, at int, elements func(*columns.Vector, *columns.Type) []T, missing T) *Error {
	l := a.layout
	k := l.classes
	c, v := &l.types[at], &b.Columns[at]
	switch l.shapeOf {
	case inFields:
		interleave(dst, b.Rows, k, l.asStored(), func(j, from, to int) []T {
			f := stretch(&v.Fields[j], from, to)
			return elements(&f, &c.Fields[j].Type)
		})
		for j := range v.Fields {
			blank(dst[j:], v.Fields[j].Null, k, missing)
			blank(dst[j:], v.Null, k, missing)
		}
		return nil
	case inVector:
		return sparseScores(dst, k, v, b.Rows, elements(v.Fields[3].Elem, c.Fields[3].Elem), missing, c.Name)
	}
	x := elements(v.Elem, c.Elem)
	if v.Elem.Null != nil {
		x = slices.Clone(x)
		blank(x, v.Elem.Null, 1, missing)
	}
	if l.shapeOf == inMap {
		return a.keyed(b.Rows, v, c.Name, func(i int) {
			for j := range k {
				dst[i*k+j] = missing
			}
		}, func(i, j, from int) { dst[i*k+j] = x[from] })
	}
	if c.Width == k && v.Null == nil { // all lists have as many
		copy(dst[:b.Rows*k], x[v.Offsets[0]:v.Offsets[b.Rows]])
		return nil
	}
	for i := range b.Rows {
		row := dst[i*k : (i+1)*k]
		from, to := v.Offsets[i], v.Offsets[i+1]
		switch {
		case v.Null != nil && v.Null[i]:
			for j := range row {
				row[j] = missing
			}
		case to-from != k:
			return ragged(c.Name, i, to-from, k)
		default:
			copy(row, x[from:to])
		}
	}
	return nil
}

// kind returns the kind of columns that have the type of the chunk.
func (l *columnLayout) kind() columns.Kind {
	return map[metrics.DType]columns.Kind{metrics.Float64: columns.Float64, metrics.Float32: columns.Float32, metrics.Float16: columns.Float16}[l.dtype]
}

// asStored reports whether all scores have the type of the chunk, so that none are converted.
func (l *columnLayout) asStored() bool {
	kind := l.kind()
	other := func(c columns.Column) bool { return c.Kind != kind }
	if l.shapeOf == inFields {
		return !slices.ContainsFunc(l.types[l.scores[0]].Fields, other)
	}
	return !slices.ContainsFunc(l.scores, func(at int) bool { return other(l.types[at]) })
}

// stretch returns elements [from, to) of a vector of numbers or truth values.
func stretch(v *columns.Vector, from, to int) (p columns.Vector) {
	switch {
	case v.Float64 != nil:
		p.Float64 = v.Float64[from:to]
	case v.Float32 != nil:
		p.Float32 = v.Float32[from:to]
	case v.Float16 != nil:
		p.Float16 = v.Float16[from:to]
	case v.Int64 != nil:
		p.Int64 = v.Int64[from:to]
	case v.Bool != nil:
		p.Bool = v.Bool[from:to]
	}
	return p
}

// interleave writes k columns of n rows to dst, row by row; column returns elements [from, to) of one. So few rows are written at a time that
// they stay in the first-level cache from column to column. quick says that what column returns is valid after its next call.
func interleave[T any](dst []T, n, k int, quick bool, column func(j, from, to int) []T) {
	rows := max(8, 4096/k)
	for from := 0; from < n; from += rows {
		to := min(from+rows, n)
		d := dst[from*k : to*k]
		j := 0
		for ; j+4 <= k && quick; j += 4 {
			n := to - from
			x0, x1, x2, x3 := column(j, from, to)[:n], column(j+1, from, to)[:n], column(j+2, from, to)[:n], column(j+3, from, to)[:n]
			for i, at := 0, j; i < n; i, at = i+1, at+k {
				row := d[at : at+4 : at+4]
				row[0], row[1], row[2], row[3] = x0[i], x1[i], x2[i], x3[i]
			}
		}
		for ; j < k; j++ {
			x := column(j, from, to)
			if k == 1 {
				copy(d, x)
				continue
			}
			at := j
			for _, s := range x {
				d[at] = s
				at += k
			}
		}
	}
}

func ragged(name string, row, have, want int) *Error {
	e := fault("each row must have a score for each class", "column %q: %d scores, and the first row has %d", cut(name), have, want)
	e.Row, e.Name, e.Value = int64(row), name, strconv.Itoa(have)
	return e
}

// blank writes what stands for a missing value.
func blank[T any](dst []T, null []bool, stride int, missing T) {
	for i, n := range null {
		if n {
			dst[i*stride] = missing
		}
	}
}

// sparseScores writes the scores of Spark's vectors, whose values are x.
func sparseScores[T any](dst []T, k int, v *columns.Vector, rows int, x []T, missing T, name string) *Error {
	indices, values := &v.Fields[2], &v.Fields[3]
	for i := range rows {
		row := dst[i*k : (i+1)*k]
		if v.Null != nil && v.Null[i] {
			for j := range row {
				row[j] = missing
			}
			continue
		}
		if n := vectorSize(v, i); n != k {
			return ragged(name, i, n, k)
		}
		at := x[values.Offsets[i]:values.Offsets[i+1]]
		if v.Fields[0].Int64[i] != 0 {
			copy(row, at)
			continue
		}
		clear(row)
		places := indices.Elem.Int64[indices.Offsets[i]:indices.Offsets[i+1]]
		if len(places) != len(at) {
			e := fault("", "column %q: a sparse vector of %d indices and %d values", cut(name), len(places), len(at))
			e.Row, e.Name = int64(i), name
			return e
		}
		for j, p := range places {
			if p < 0 || p >= int64(k) {
				e := fault("", "column %q: index %d of a vector of %d", cut(name), p, k)
				e.Row, e.Name = int64(i), name
				return e
			}
			row[p] = at[j]
		}
	}
	return nil
}

// keyed calls set for each score of a map, by the number of the row, of the class and of the element.
func (a *assembler) keyed(rows int, v *columns.Vector, name string, clear func(row int), set func(row, class, element int)) *Error {
	l := a.layout
	for i := range rows {
		if v.Null != nil && v.Null[i] {
			clear(i)
			continue
		}
		a.seen = append(a.seen[:0], make([]bool, l.classes)...)
		from, to := v.Offsets[i], v.Offsets[i+1]
		bad := func(key []byte, reason string, args ...any) *Error {
			e := fault("name all classes by "+setting.ClassNames.String(), "column %q: "+reason, append([]any{cut(name)}, args...)...)
			e.Row, e.Name, e.Value = int64(i), name, string(key)
			return e
		}
		for j := from; j < to; j++ {
			key := v.Keys.Text(j)
			class, ok := l.number[string(key)]
			if !ok {
				return bad(key, "%q is not one of the classes %s", cut(string(key)), strings.Join(l.scored.names, ", "))
			}
			if a.seen[class] {
				return bad(key, "%q is there twice", cut(string(key)))
			}
			a.seen[class] = true
			set(i, class, j)
		}
		if class := slices.Index(a.seen, false); class >= 0 {
			return bad(nil, "no score of class %q", cut(l.scored.names[class]))
		}
	}
	return nil
}

// classesOf writes the classes that a column of labels names.
func (a *assembler) classesOf(dst []int32, b *columns.Block, at int) *Error {
	l := a.layout
	c, v, labels := &l.types[at], &b.Columns[at], l.scored.labels
	class := func(i int, cell []byte) (int32, *Error) {
		n, err := labels.Class(cell)
		if err != nil {
			e := badLabel(c.Name, cell, err)
			if l.correct || l.several {
				e.Reason, e.Remedy = fmt.Sprintf("column %q: label %q is neither 0 nor 1", cut(c.Name), cut(string(cell))), "write true or false, or 1 or 0"
			}
			e.Row = int64(i)
			return 0, e
		}
		return n, nil
	}
	from := 0
	if c.Kind == columns.Int64 && v.Null == nil && !slices.Contains(a.out, true) {
		// Labels are few different ones, so that most rows end here.
		for small := a.small; from < len(dst) && uint64(v.Int64[from]) < uint64(len(small)) && small[v.Int64[from]] != unknown; from++ {
			dst[from] = small[v.Int64[from]]
		}
	}
	if v.Codes != nil {
		a.codes = append(a.codes[:0], slices.Repeat([]int32{unknown}, len(v.Ends))...)
	}
	for i := from; i < len(dst); i++ {
		var e *Error
		switch {
		case a.out[i] || v.Null != nil && v.Null[i]:
			dst[i] = roles.Missed
		case v.Codes != nil:
			n := &a.codes[v.Codes[i]]
			if *n == unknown {
				*n, e = class(i, v.Text(i))
			}
			dst[i] = *n
		case c.Kind == columns.Text:
			dst[i], e = class(i, v.Text(i))
		case c.Kind == columns.Int64:
			if y := v.Int64[i]; uint64(y) < uint64(len(a.small)) && a.small[y] != unknown {
				dst[i] = a.small[y]
				continue
			}
			dst[i], e = a.classOf(v.Int64[i], func() (int32, *Error) { return class(i, a.text(&c.Type, v, i)) })
		default:
			dst[i], e = class(i, a.text(&c.Type, v, i))
		}
		if e != nil {
			return e
		}
	}
	return nil
}

// classOf returns the class that an integer names, which read finds out.
func (a *assembler) classOf(y int64, read func() (int32, *Error)) (int32, *Error) {
	if a.small == nil {
		a.small, a.ints = slices.Repeat([]int32{unknown}, 1024), map[int64]int32{}
	}
	if n, ok := a.ints[y]; ok {
		return n, nil
	}
	n, e := read()
	switch {
	case e != nil:
	case uint64(y) < uint64(len(a.small)):
		a.small[y] = n
	default:
		a.ints[y] = n
	}
	return n, e
}

// unknown is none of the classes, and neither Missed nor Ignored.
const unknown = math.MinInt32 + 1

// text returns a cell as a text, which is valid until the next call.
func (a *assembler) text(t *columns.Type, v *columns.Vector, i int) []byte {
	if t.Kind == columns.Text {
		return v.Text(i)
	}
	a.cell = appendText(a.cell[:0], t, v, i)
	return a.cell
}

// appendText appends the text of a cell, which is that of CSV.
func appendText(dst []byte, t *columns.Type, v *columns.Vector, i int) []byte {
	switch t.Kind {
	case columns.Text:
		return append(dst, v.Text(i)...)
	case columns.Int64:
		return strconv.AppendInt(dst, v.Int64[i], 10)
	case columns.Time:
		return t.AppendTime(dst, v.Int64[i])
	case columns.Bool:
		return strconv.AppendBool(dst, v.Bool[i])
	case columns.Float64:
		return strconv.AppendFloat(dst, v.Float64[i], 'g', -1, 64)
	case columns.Float32:
		return strconv.AppendFloat(dst, float64(v.Float32[i]), 'g', -1, 32)
	case columns.Float16:
		var one [1]float32
		kernel.WidenF16(one[:], v.Float16[i:i+1])
		return strconv.AppendFloat(dst, float64(one[0]), 'g', -1, 32)
	}
	return dst
}

// numbers writes a column of numbers, NaN where they are missing.
func (a *assembler) numbers(dst []float64, b *columns.Block, at int) []float64 {
	copy(dst, a.float64s(&b.Columns[at], &a.layout.types[at].Type))
	blank(dst, b.Columns[at].Null, 1, nan)
	return dst
}

// sequence numbers the runs of rows of the same sequence.
func (a *assembler) sequence(c *columnChunk, b *columns.Block) *Error {
	at := a.layout.sequence
	v, t := &b.Columns[at], &a.layout.types[at]
	c.runs, c.sequences = c.runs[:0], sized(c.sequences, b.Rows)
	for i := range b.Rows {
		var cell []byte
		if v.Null == nil || !v.Null[i] {
			cell = bytes.TrimSpace(a.text(&t.Type, v, i))
		}
		if len(cell) == 0 {
			e := fault("each row belongs to a sequence", "column %q: the sequence is missing", cut(t.Name))
			e.Row, e.Name = int64(i), t.Name
			return e
		}
		if n := len(c.runs); n == 0 || c.runs[n-1].key != string(cell) {
			c.runs = append(c.runs, keyRun{string(cell), i})
		}
		c.sequences[i] = int64(len(c.runs) - 1)
	}
	return nil
}

// number replaces numbers of runs in the chunk by those of sequences.
func (b *columnChunk) number(s *sequences, column string) error {
	first := make([]int64, len(b.runs))
	for i, r := range b.runs {
		n, err := s.of([]byte(r.key), func() string { return r.key })
		if err != nil {
			e := err.(backError).fault()
			e.Row, e.Name = int64(r.row), column
			return e
		}
		first[i] = n
	}
	for i, n := range b.sequences[:b.rows] {
		b.sequences[i] = first[n]
	}
	return nil
}

// group numbers the keys of the rows in the order in which they come in the chunk.
func (a *assembler) group(c *columnChunk, b *columns.Block, parts []partition) {
	if c.index == nil {
		c.index = map[string]int32{}
	}
	clear(c.index)
	c.keys, c.groups = c.keys[:0], sized(c.groups, b.Rows)
	// A dictionary's texts are looked at once each: they may be long, and come again with each row.
	var coded *columns.Vector
	if l := a.layout.groups; len(l) == 1 && l[0] >= 0 && a.layout.groupValue == nil && b.Columns[l[0]].Codes != nil {
		coded = &b.Columns[l[0]]
		a.codes = append(a.codes[:0], slices.Repeat([]int32{unknown}, len(coded.Ends))...)
	}
	for i := range b.Rows {
		if a.out[i] {
			continue
		}
		known := coded != nil && (coded.Null == nil || !coded.Null[i])
		if known {
			if n := a.codes[coded.Codes[i]]; n != unknown {
				c.groups[i] = n
				continue
			}
		}
		a.key = a.key[:0]
		for g, at := range a.layout.groups {
			var cell []byte
			if at < 0 {
				cell = []byte(parts[-1-at].value)
			} else if v := &b.Columns[at]; v.Null == nil || !v.Null[i] {
				cell = a.text(&a.layout.types[at].Type, v, i)
			}
			if a.layout.groupValue != nil && (!a.layout.clustered || g < len(a.layout.groups)-1) {
				cell = a.layout.groupValue(g, cell)
			}
			a.key = appendKey(a.key, cell)
		}
		n, ok := c.index[string(a.key)]
		if !ok {
			n = int32(len(c.keys))
			c.keys = append(c.keys, string(a.key))
			c.index[c.keys[n]] = n
		}
		if c.groups[i] = n; known {
			a.codes[coded.Codes[i]] = n
		}
	}
}
