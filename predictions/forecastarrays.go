package predictions

import (
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/candor-go/candor/metrics"
)

// arrays reads forecasts of .npy files.
type arrays struct {
	rows interface {
		metrics.Source
		BytesRead() int64
		Locate(row int64) (file string, rowInFile int64)
		Close() error
	}
	groups  *groups
	columns []*groupColumn

	mu  sync.Mutex // held while columns are read, and closed
	err error      // of a column of groups
}

// openArrays opens forecasts of .npy files. in is standard input, of which the beginning was looked at, if it is not nil.
func openArrays(paths []string, in io.Reader, o *ForecastOptions) (*ForecastReader, *Error) {
	b := newOpening(paths, &Options{Kind: o.Kind, Observed: o.Observations, Weights: o.Weights, FS: o.FS, Buffers: o.Buffers,
		BufferBytes: o.BufferBytes})
	b.in, b.forecast = in, o
	r, e := b.openForecast()
	if e != nil {
		closePipes(b.opened)
		if strings.HasSuffix(e.Reason, plainText) {
			e.Remedy = "name it .csv, .tsv or .txt to have it read as a table"
		}
		return nil, e
	}
	return r, nil
}

func (b *opening) openForecast() (*ForecastReader, *Error) {
	o := b.forecast
	switch {
	case o.Weight != "":
		return nil, fault("name a file of weights as Weights", "a column of weights, %q, is for tables", cut(o.Weight))
	case o.Prefix != "" && o.Kind == metrics.Quantiles && len(o.Levels) == 0:
		return nil, fault("name the levels of the columns as Levels", "a prefix of names of columns is for tables, and an .npy matrix has no names")
	case len(b.paths) == 0 && o.Kind != metrics.Normals:
		return nil, fault("name a table, an .npy or an .npz file, or - for standard input", "no forecasts")
	case o.Kind == metrics.Quantiles && len(o.Levels) == 0:
		return nil, fault("name them as Levels, one for each column", "an .npy matrix has no names, so the levels of its quantiles are not known")
	case o.Kind != metrics.Normals && o.Observed != "":
		return nil, fault("name a file of observed numbers as Observations", "a column of observed numbers, %q, is for tables", cut(o.Observed))
	}
	a := &arrays{groups: newGroups(o.Groups)}
	f := &ForecastReader{from: a, groups: a.groups, levels: slices.Sorted(slices.Values(o.Levels))}
	vectors, e := b.vectors()
	if e != nil {
		return nil, e
	}
	if vectors != nil {
		a.rows, f.info = vectors, vectors.info
	} else {
		r, e := b.open()
		if e != nil {
			return nil, e
		}
		a.rows, f.info = r, r.info
		if p := r.pick; p != nil {
			f.info.Classes, f.info.DType = len(p.columns), p.dtype
		}
	}
	for _, g := range o.Groups {
		c, e := b.groupColumn(g, f.info.Rows)
		if e != nil {
			a.Close()
			return nil, e
		}
		a.columns = append(a.columns, c)
	}
	return f, nil
}

// Next returns the next rows, with the numbers of their groups.
func (a *arrays) Next() (*metrics.Chunk, error) {
	a.mu.Lock()
	err := a.err
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c, err := a.rows.Next()
	if err != nil || len(a.columns) == 0 {
		return c, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil { // not closed meanwhile
		if e := a.fill(c); e != nil {
			a.err = e
		}
	}
	if a.err != nil {
		c.Recycle()
		return nil, a.err
	}
	return c, nil
}

// fill numbers the groups of a chunk's rows.
func (a *arrays) fill(c *metrics.Chunk) *Error {
	n := c.Rows
	for _, g := range a.columns {
		if e := g.read(n); e != nil {
			return e
		}
	}
	c.Groups = make([]int32, n)
	var key []byte
	before := ""
	for i := range n {
		key = key[:0]
		for _, g := range a.columns {
			key = appendKey(key, g.value(i))
		}
		if i > 0 && string(key) == before {
			c.Groups[i] = c.Groups[i-1]
			continue
		}
		before = string(key)
		m, ok := a.groups.number(before)
		if !ok {
			e := a.groups.tooMany()
			e.File, e.Row = a.Locate(c.First + int64(i))
			return e
		}
		c.Groups[i] = m
	}
	return nil
}

func (a *arrays) BytesRead() int64 { return a.rows.BytesRead() }

func (a *arrays) Locate(row int64) (file string, rowInFile int64) { return a.rows.Locate(row) }

func (a *arrays) line(int64) int64 { return -1 }

func (a *arrays) Close() error {
	err := a.rows.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = os.ErrClosed
	}
	for _, g := range a.columns {
		g.close()
		closePipes(g.arrays)
	}
	return err
}

// pick makes rows of some of an array's columns, of what is observed beside them, or both.
type pick struct {
	columns  []int // observedSlot is what is observed
	dtype    metrics.DType
	observed bool
	row      []float64
}

// rows makes the n rows of k values of type d in a buffer, in their place: from the back where rows become longer.
func (p *pick) rows(b *buffer, n, k int, d metrics.DType) {
	row := func(i int) {
		for j, c := range p.columns {
			if c == observedSlot {
				p.row[j] = b.observed[i]
			} else {
				p.row[j] = valueOf(b.words, i*k+c, d)
			}
		}
		for j, v := range p.row {
			setValue(b.words, i*len(p.row)+j, p.dtype, v)
		}
	}
	if len(p.columns)*p.dtype.Size() > k*d.Size() {
		for i := n - 1; i >= 0; i-- {
			row(i)
		}
		return
	}
	for i := range n {
		row(i)
	}
}

// valueOf returns the i-th value of words.
func valueOf(words []uint64, i int, d metrics.DType) float64 {
	switch d {
	case metrics.Float64:
		return view[float64](words, i+1)[i]
	case metrics.Float32:
		return float64(view[float32](words, i+1)[i])
	}
	return half(view[uint16](words, i+1)[i])
}

// setValue sets the i-th value of words. Values of half precision become longer ones.
func setValue(words []uint64, i int, d metrics.DType, v float64) {
	if d == metrics.Float64 {
		view[float64](words, i+1)[i] = v
	} else {
		view[float32](words, i+1)[i] = float32(v)
	}
}

// narrows tells whether float32 holds all values of an array.
func narrows(a *array) bool { return a.dtype.kind == 'f' && a.dtype.size <= 4 }

// normalColumns returns the numbers of the columns that make a row of Normals, of a matrix of k; nil if its rows stay as they are.
func (b *opening) normalColumns(k int) ([]int, *Error) {
	o := b.forecast
	if o == nil {
		return nil, nil
	}
	beside := len(o.Observations) > 0
	names, defaults, what := []string{o.Mean, o.SD, o.Observed}, []int{0, 1, 2}, []string{"mean", "standard deviation", "observed number"}
	if o.Error != "" || k == 2 && !beside {
		names, defaults, what = []string{o.Error, o.SD}, []int{0, 1}, []string{"error", "standard deviation"}
		if o.Mean != "" || o.Observed != "" {
			return nil, fault("name a file of observed numbers as Observations, or save a matrix (N, 3)",
				"two columns are an error and a standard deviation, or a mean and a standard deviation with observed numbers beside them")
		}
		if beside {
			return nil, fault("name Mean and SD, or leave Observations out", "errors are observed numbers minus means, and have none beside them")
		}
	}
	columns, plain := slices.Clone(defaults), k == len(defaults) && !beside
	for i, name := range names {
		if i == 2 && beside {
			if name != "" {
				return nil, fault("name one of them", "observed numbers are in a column, %q, and in a file", cut(name))
			}
			columns[2] = observedSlot
			continue
		}
		if name != "" {
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 {
				return nil, fault("number them from 0", "the columns of an .npy matrix have no names, such as %q for the %s", cut(name), what[i])
			}
			columns[i] = n
		}
		if columns[i] >= k {
			return nil, fault("number them from 0", "no column %d for the %s: it has %d", columns[i], what[i], k)
		}
		if slices.Contains(columns[:i], columns[i]) {
			return nil, fault("name another", "column %d is the %s and the %s", columns[i], what[slices.Index(columns, columns[i])], what[i])
		}
		plain = plain && columns[i] == defaults[i]
	}
	if plain {
		return nil, nil
	}
	return columns, nil
}

// checkNormalsShape says why an array cannot be normal forecasts.
func (b *opening) checkNormalsShape(a *array) *Error {
	const remedy = "normal forecasts are a matrix (N, 3) of mean, standard deviation and observed number, or (N, 2) of error and standard deviation"
	if len(a.shape) != 2 {
		return fault(remedy+"; vectors are named one by one, as Mean, SD and Observed", "normal forecasts have %d %s, shape %s", len(a.shape),
			map[bool]string{true: "axis", false: "axes"}[len(a.shape) == 1], shapeText(a.shape))
	}
	k := a.columns()
	o := b.forecast
	named := o != nil && (o.SD != "" && (o.Error != "" || o.Mean != "" && (o.Observed != "" || len(o.Observations) > 0)))
	beside := o != nil && len(o.Observations) > 0
	switch {
	case k > maxRowBytes/int64(a.dtype.size):
		return fault("is it transposed? save normal_forecasts.T", "%d columns (shape %s): at most %d are read", k, shapeText(a.shape), maxRowBytes/a.dtype.size)
	case k >= 2 && named:
	case beside && k != 2:
		return fault("with Observations save (N, 2) of mean and standard deviation, or number the columns", "normal forecasts have shape %s", shapeText(a.shape))
	case k != 2 && k != 3:
		return fault(remedy, "normal forecasts have %d columns, shape %s", k, shapeText(a.shape))
	}
	_, e := b.normalColumns(int(k))
	return e
}

// picked tells a Reader of a forecast what to make of its rows.
func (b *opening) picked(r *Reader) *Error {
	o, p := b.forecast, &pick{dtype: r.info.DType}
	k := r.info.Classes
	switch o.Kind {
	case metrics.Normals:
		var e *Error
		if p.columns, e = b.normalColumns(k); e != nil {
			return e.in(b.scores[0].file)
		}
		p.observed = r.beside.observed != nil
		p.dtype = metrics.Float32
		all := b.scores
		if p.observed {
			all = append(slices.Clone(all), r.beside.observed.arrays...)
		}
		if slices.ContainsFunc(all, func(a *array) bool { return !narrows(a) }) {
			p.dtype = metrics.Float64
		}
	case metrics.Quantiles:
		if len(o.Levels) != k {
			return fault("name a level for each column", "%d levels for %d columns, shape %s", len(o.Levels), k, shapeText(b.scores[0].shape)).in(b.scores[0].file)
		}
		if !slices.IsSorted(o.Levels) {
			for i := range o.Levels {
				p.columns = append(p.columns, i)
			}
			slices.SortFunc(p.columns, func(i, j int) int { return compareLevels(o.Levels[i], o.Levels[j]) })
			if r.info.DType != metrics.Float64 {
				p.dtype = metrics.Float32
			}
		}
	}
	if p.columns != nil {
		p.row = make([]float64, len(p.columns))
		r.pick = p
	}
	return nil
}

func compareLevels(a, b float64) int {
	if a < b {
		return -1
	}
	return 1
}

// vectorReader reads normal forecasts of a vector each for means, standard deviations and observed numbers.
type vectorReader struct {
	pool
	info      Info
	shards    []shard
	parts     []*column
	beside    beside
	chunkRows int
	row       int64
	scratch   []float64
}

// normalVectors are the arrays of normal forecasts that are vectors. Those of an .npz are nil where files are named instead.
type normalVectors struct {
	center                          role // means or errors
	centers, sds, observed, weights []*array
	centerFile, sdFile              []string
	observedFiles                   []string
}

// vectors opens normal forecasts that are vectors: files without paths, or arrays of each .npz. It returns nil if they are none.
func (b *opening) vectors() (*vectorReader, *Error) {
	o := b.forecast
	if o.Kind != metrics.Normals {
		return nil, nil
	}
	v := &normalVectors{center: meansRole, observedFiles: o.Observations}
	if o.Error != "" {
		v.center = errorsRole
		if len(o.Observations) > 0 {
			return nil, fault("name Mean and SD, or leave Observations out", "errors are observed numbers minus means, and have none beside them")
		}
	}
	b.scoring = v.center
	if len(b.paths) == 0 {
		if e := b.vectorFiles(v); e != nil {
			return nil, e
		}
	} else if there, e := b.vectorArrays(v); e != nil || !there {
		return nil, e
	}
	b.scores = v.centers
	for _, a := range b.scores {
		if e := checkColumn(a, v.center); e != nil {
			return nil, e.in(a.file)
		}
	}
	if len(o.Weights) > 0 {
		v.weights = nil
	}
	r := &vectorReader{pool: pool{done: make(chan struct{})}, parts: []*column{{arrays: v.centers, what: "mean"}}}
	sds, e := b.column(sdsRole, v.sdFile, v.sds)
	if e != nil {
		return nil, e
	}
	r.parts = append(r.parts, &column{arrays: sds, what: "standard deviation"})
	if o.Error == "" {
		y, e := b.column(observationsRole, v.observedFiles, v.observed)
		if e != nil {
			return nil, e
		}
		r.parts = append(r.parts, &column{arrays: y, what: "observation"})
	}
	w, e := b.column(weightsRole, o.Weights, v.weights)
	if e != nil {
		return nil, e
	}
	if w != nil {
		r.beside.weight = &column{arrays: w, what: "weight"}
	}
	return r, r.describe(b)
}

// vectorFiles opens means, or errors, of a file of their own, and says which file has what.
func (b *opening) vectorFiles(v *normalVectors) (e *Error) {
	o := b.forecast
	center := o.Mean
	if o.Error != "" {
		center = o.Error
	}
	switch {
	case center == "" && o.SD == "":
		return fault("name a table, an .npy or an .npz file, or - for standard input", "no forecasts")
	case o.Observed != "" && len(o.Observations) > 0:
		return fault("name one of them", "observed numbers are in %s, and in %s", o.Observed, o.Observations[0])
	case o.Observed != "":
		v.observedFiles = []string{o.Observed}
	}
	const remedy = "name a file for each of means, standard deviations and observed numbers, or of errors and standard deviations"
	switch {
	case center == "":
		return fault(remedy, "no file of %s", v.center.what)
	case o.SD == "":
		return fault(remedy, "no file of %s", sdsRole.what)
	case o.Error == "" && len(v.observedFiles) == 0:
		return fault("name their file as Observed", "no file of observed numbers")
	}
	b.order, b.paths, v.sdFile = []int{0}, []string{center}, []string{o.SD}
	v.centers, e = b.take(v.center, b.paths)
	return e
}

// vectorArrays opens the arrays of each .npz. It is false if the paths are none, or the first may have a matrix.
func (b *opening) vectorArrays(v *normalVectors) (bool, *Error) {
	o := b.forecast
	if o.FS != nil || slices.ContainsFunc(b.paths, func(p string) bool { return !strings.HasSuffix(strings.ToLower(p), ".npz") }) {
		return false, nil
	}
	center := o.Mean
	if o.Error != "" {
		center = o.Error
	}
	for i, path := range b.paths {
		c, e := b.container(path)
		if e != nil {
			return false, e
		}
		defer c.close()
		find := func(ro role, name string) *array {
			if name != "" {
				ro.names = []string{name}
			}
			var a *array
			if e == nil {
				a, e = c.find(ro)
			}
			return a
		}
		mean, sd := find(v.center, center), find(sdsRole, o.SD)
		if e == nil && i == 0 && (mean == nil || sd == nil) && center == "" && o.SD == "" {
			return false, nil
		}
		weights := find(weightsRole, "")
		var observed *array
		if o.Error == "" && len(v.observedFiles) == 0 {
			observed = find(observationsRole, o.Observed)
		}
		switch {
		case e != nil:
			return false, e
		case mean == nil:
			return false, c.without(v.center, center)
		case sd == nil:
			return false, c.without(sdsRole, o.SD)
		case observed == nil && o.Error == "" && len(v.observedFiles) == 0:
			return false, fault("name the array as Observed, or a file as Observations", "no array of observed numbers; it has %s", c.list()).in(path)
		}
		v.centers, v.sds, v.weights = append(v.centers, mean), append(v.sds, sd), append(v.weights, weights)
		if observed != nil {
			v.observed = append(v.observed, observed)
		}
	}
	return true, nil
}

// without says that a container has no array of a name, or of a role.
func (c *container) without(ro role, name string) *Error {
	if name == "" {
		name = ro.names[0]
	}
	return fault("name one of them", "no array %q of %s; it has %s", name, ro.what, c.list()).in(c.shown)
}

// describe tells what is read of the opened arrays, and makes room for it.
func (r *vectorReader) describe(b *opening) *Error {
	r.info = Info{Classes: len(r.parts), DType: metrics.Float32, Files: len(b.scores), Weighted: r.beside.weight != nil}
	for _, a := range b.scores {
		r.shards = append(r.shards, shard{a, r.info.Rows})
		r.info.Rows += a.rows()
	}
	if r.info.Rows == 0 {
		return fault("was the program that wrote it given any data?", "no rows: its shape is %s", shapeText(b.scores[0].shape)).in(b.scores[0].file)
	}
	for _, p := range r.parts {
		for _, a := range p.arrays {
			n, _ := a.bytes()
			r.info.Bytes += n
			if !narrows(a) {
				r.info.DType = metrics.Float64
			}
		}
	}
	r.info.Shape = shapeText([]int64{r.info.Rows, int64(len(r.parts))})
	row := len(r.parts) * r.info.DType.Size()
	r.chunkRows = chunkRows(b.options, row, r.info.Rows)
	r.scratch = make([]float64, r.chunkRows)
	r.stock(b.options.buffers(), r.chunkRows*row, r.chunkRows, (r.info.Rows+int64(r.chunkRows)-1)/int64(r.chunkRows), &r.beside)
	return nil
}

func (r *vectorReader) BytesRead() int64 { return r.read.Load() }

func (r *vectorReader) Locate(row int64) (file string, rowInFile int64) {
	return locate(r.shards, r.info.Rows, row)
}

func (r *vectorReader) Next() (*metrics.Chunk, error) {
	return next(&r.pool, r.ended, r.fill, r.release)
}

func (r *vectorReader) ended() error {
	if r.err == nil && r.row == r.info.Rows {
		r.err = io.EOF
	}
	return r.err
}

// fill reads the next rows into b.
func (r *vectorReader) fill(b *buffer) (*metrics.Chunk, *Error) {
	n := int(min(int64(r.chunkRows), r.info.Rows-r.row))
	k := len(r.parts)
	for j, p := range r.parts {
		if e := p.weights(r.scratch[:n]); e != nil {
			return nil, e
		}
		if r.info.DType == metrics.Float64 {
			spread(view[float64](b.words, n*k), r.scratch[:n], j, k)
		} else {
			spread(view[float32](b.words, n*k), r.scratch[:n], j, k)
		}
	}
	if e := r.beside.fill(b, n); e != nil {
		return nil, e
	}
	first := r.row
	r.row += int64(n)
	r.read.Store(int64(float64(r.info.Bytes) * (float64(r.row) / float64(r.info.Rows))))
	return b.chunk(first, n, k, r.info.DType, metrics.Normals, r.free), nil
}

// spread puts values into column j of k.
func spread[T float32 | float64](to []T, from []float64, j, k int) {
	for _, v := range from {
		to[j] = T(v)
		j += k
	}
}

func (r *vectorReader) Close() error { return r.close(r.release) }

func (r *vectorReader) release() error {
	first := r.beside.release()
	for _, p := range r.parts {
		if err := p.close(); first == nil {
			first = err
		}
		closePipes(p.arrays)
	}
	return first
}

// groupColumn reads a vector of whole numbers or text.
type groupColumn struct {
	column
	big  bool // characters of four bytes have the most significant first
	data []byte
	size int
	text []byte
}

// maxGroupText is the most bytes of a text that a row is grouped by.
const maxGroupText = 64 << 10

// groupColumn opens a file of groups.
func (b *opening) groupColumn(path string, rows int64) (*groupColumn, *Error) {
	as, e := b.take(groupsRole, []string{path})
	if e != nil {
		return nil, e
	}
	a := as[0]
	d := a.dtype
	switch {
	case d.integer():
	case d.kind != 'S' && d.kind != 'U':
		return nil, fault(`save whole numbers or text, as in groups.astype("int32") or groups.astype("U")`, "groups are %s", d).in(a.file)
	case d.size == 0 || d.size > maxGroupText:
		return nil, fault("save shorter texts, or numbers", "groups are texts of %d bytes: from 1 to %d are read", d.size, maxGroupText).in(a.file)
	}
	if len(a.shape) != 1 && (len(a.shape) != 2 || a.shape[1] != 1) {
		return nil, fault("save groups.reshape(-1)", "groups have shape %s: a vector (N,) is read", shapeText(a.shape)).in(a.file)
	}
	if e := a.checkLength(); e != nil {
		return nil, e
	}
	if a.rows() != rows {
		return nil, fault("each row needs one: are they of the same data, and all of it?", "%d groups for the %d rows of forecasts", a.rows(), rows).in(a.file)
	}
	g := &groupColumn{column: column{arrays: as, what: "group"}, big: d.big, size: d.size}
	if d.kind == 'U' {
		a.dtype.big = hostBig // characters are put in order one by one
	}
	return g, nil
}

// read reads the next n values.
func (g *groupColumn) read(n int) *Error {
	g.data = sized(g.data, n*g.size)
	return g.fill(n, func(*array) []byte { return nil }, func(_ *array, at, m int, buf []uint64) int {
		copy(g.data[at*g.size:], raw(buf)[:m*g.size])
		return m
	})
}

// value returns the text of the i-th value that was read.
func (g *groupColumn) value(i int) []byte {
	v, out := g.data[i*g.size:][:g.size], g.text[:0]
	n := uint64(0)
	switch g.size {
	case 1:
		n = uint64(v[0])
	case 2:
		n = uint64(binary.NativeEndian.Uint16(v))
	case 4:
		n = uint64(binary.NativeEndian.Uint32(v))
	case 8:
		n = binary.NativeEndian.Uint64(v)
	}
	switch g.arrays[0].dtype.kind {
	case 'b':
		out = strconv.AppendBool(out, n != 0)
	case 'u':
		out = strconv.AppendUint(out, n, 10)
	case 'i':
		shift := 64 - 8*g.size
		out = strconv.AppendInt(out, int64(n<<shift)>>shift, 10)
	case 'S':
		out = append(out, v...)
	case 'U':
		for ; len(v) >= 4; v = v[4:] {
			c := binary.LittleEndian.Uint32(v)
			if g.big {
				c = binary.BigEndian.Uint32(v)
			}
			out = utf8.AppendRune(out, rune(c))
		}
	}
	if k := g.arrays[0].dtype.kind; k == 'S' || k == 'U' {
		for len(out) > 0 && out[len(out)-1] == 0 {
			out = out[:len(out)-1]
		}
	}
	g.text = out
	return out
}
