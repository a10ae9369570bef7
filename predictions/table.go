package predictions

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/internal/decimal"
	"github.com/candor-go/candor/predictions/roles"
)

const (
	maxLine       = 32 << 20 // per line of a table
	maxColumns    = 1 << 20  // of a table
	maxJumps      = 1 << 20  // rows with several lines that are recorded, so that Line can count past them
	textBytes     = 1 << 20  // of a block, by default
	mostBlocks    = 16       // default limit, whatever the number of processors
	headerBytes   = 64 << 10 // step of the search for a header
	longestQuoted = 40       // characters of a cell in messages
)

// table reads tables. One goroutine splits their text into blocks of whole lines, several parse blocks, and Next returns them in
// order.
type table struct {
	options *ForecastOptions
	find    func(r *ForecastReader, f *tableFile) *Error // lays out the columns that are wanted
	layout  layout
	groups  *groups
	files   []*tableFile
	size    int // of a block
	started bool

	free, work, order chan *block
	done              chan struct{} // closed by Close and by errors
	stop              sync.Once
	read              atomic.Int64
	aside             bool // the first file is not of the share: only its header is read

	next sync.Mutex // held by Next
	err  error      // the error that ended the stream
	fell any        // value of a panic in scan, valid once order is closed
	rows int64
	seen int   // number of files of which a block was returned
	gap  int64 // line of the first empty line in the current file; 0 if there was none

	mu    sync.Mutex // guards what Locate and Line read
	first []int64    // number of the first row of each file reached so far
	total int64      // rows so far
	jumps []jump
	notes []string
}

// jump says that the rows after a row start that many lines later in their file, beyond one line per row.
type jump struct{ row, lines int64 }

// tableFile is one shard.
type tableFile struct {
	path   string
	file   string    // for messages
	size   int64     // as stored; -1 for a pipe
	stamp  stamp     // unset for a pipe
	text   *text     // nil if not open
	begins beginning // what its first rows are like
	header []string
	lines  int64 // of the header
}

// layout says what the cells of a line are.
type layout struct {
	names      []string
	separator  byte
	classes    int
	dimensions int // of Multivariate
	groupValue func(column int, value []byte) []byte
	steps      []step
	behind     int           // cells after the last step
	labels     *roles.Labels // nil if rows have none
	decided    bool
	scored     bool
	unlabelled bool // labels are all 0
	percent    bool // scores are percentages
	pairs      bool // rows have two scores, which chunks have as those of an event
	event      int  // that class
	comma      bool // decimal commas
	observed   bool
	weighted   bool
	grouped    int // number of group columns
	clustered  bool
	kept       int // number of kept columns
}

// keyed reports whether rows have keys, of groups or of a cluster.
func (l *layout) keyed() bool { return l.grouped > 0 || l.clustered }

// step is a cell to read, after cells to skip.
type step struct {
	skip  int  // cells before it
	slot  int  // where its number goes: an index in the row, observedSlot or weightSlot; -1: nowhere
	group int  // index of its text among the columns of groups and of clusters, in this order; -1: none
	kept  int  // index of its text among the kept columns; -1: none
	truth bool // true and false are 1 and 0
}

const (
	observedSlot = 1 << 30
	weightSlot   = 1<<30 + 1
	labelSlot    = 1<<30 + 2
	decisionSlot = 1<<30 + 3
	scoreSlot    = 1<<30 + 4 // of a confidence score
	listSlot     = 1<<30 + 5 // of all scores of a row, in one cell
	timeSlot     = 1<<30 + 6 // of a time of Survival, while columns are bound
	eventSlot    = 1<<30 + 7 // of its event, likewise
)

// openTable opens tables in the order of paths. in, if not nil, is the only path, already open since it can be read only once.
func openTable(paths []string, in io.ReadCloser, o *ForecastOptions) (*ForecastReader, *Error) {
	if e := o.inColumns(); e != nil {
		return nil, e
	}
	return startTable(paths, in, o, (*table).lay)
}

// inColumns returns an Error for options that are not those of columns with names.
func (o *ForecastOptions) inColumns() *Error {
	switch {
	case len(o.Observations) > 0:
		return fault("name the column that has them", "files of observations are for .npy files, and a table has them in a column")
	case len(o.Weights) > 0:
		return fault("name the column that has them", "files of weights are for .npy files, and a table has them in a column")
	case len(o.Levels) > 0 && o.Columns == nil:
		return fault("leave "+setting.Levels.String()+" out", "levels are for .npy files, and a table has them in the names of its columns")
	}
	return nil
}

// startTable opens tables whose columns find lays out.
func startTable(paths []string, in io.ReadCloser, o *ForecastOptions, find func(*table, *ForecastReader, *tableFile) *Error) (*ForecastReader, *Error) {
	t := &table{options: o, groups: newGroups(o.Groups, o.Cluster), done: make(chan struct{}), size: o.BufferBytes}
	t.find = func(r *ForecastReader, f *tableFile) *Error { return find(t, r, f) }
	if t.size <= 0 {
		t.size = textBytes
	}
	r := &ForecastReader{from: t, groups: t.groups, clusters: t.groups.clusters}
	e := t.open(r, paths, in)
	if e != nil {
		t.closeFiles()
		return nil, e
	}
	return r, nil
}

func (t *table) open(r *ForecastReader, paths []string, in io.ReadCloser) *Error {
	bytes := int64(0)
	var seen streams
	share := &t.options.Share
	for i, p := range paths {
		if from, to := share.units(i, len(paths), 1); from == to {
			if t.aside = t.aside || i == 0; i > 0 {
				continue
			}
		} else if share.some() && share.Numbered && t.aside {
			return uncounted().in(names(t.options.Names).of(paths[0]))
		}
		if t.options.FS == nil && seen.twice(p) {
			return fault("name each once", "it is named twice, and can be read once").in(names(t.options.Names).of(p))
		}
		f, e := t.probe(p, in, i == 0)
		if e != nil {
			return e
		}
		t.files = append(t.files, f)
		if i == 0 || f.text == nil { // pipes but the first are read when their turn comes
			t.layout.comma = t.layout.comma || f.begins.comma
		}
		if i == 0 {
			if e = t.find(r, f); e != nil {
				return e.in(f.file)
			}
		} else if e := t.sameHeader(f); e != nil {
			return e.in(f.file)
		}
		if f.size < 0 && share.divided() {
			return pipeShared().in(f.file)
		}
		if f.size < 0 || bytes < 0 {
			bytes = -1
		} else if i > 0 || !t.aside {
			bytes += f.size
		}
	}
	n := t.options.Buffers
	if n <= 0 {
		n = min(max(defaultBuffers, 2*runtime.GOMAXPROCS(0)), mostBlocks)
	}
	t.free, t.work, t.order = make(chan *block, n), make(chan *block, n), make(chan *block, n)
	for range n {
		t.free <- &block{ready: make(chan struct{}, 1)}
	}
	r.info = Info{Rows: -1, Classes: t.layout.classes, Dimensions: t.layout.dimensions, DType: metrics.Float64, Bytes: bytes, Files: len(paths), Weighted: t.layout.weighted,
		Decided: t.layout.decided, Scored: t.layout.scored,
		Shape: fmt.Sprintf("(N, %d)", t.layout.classes)}
	if l := &t.layout; l.pairs {
		r.info.Classes, r.info.Pairs, r.info.Event = 1, true, l.event
	} else if l.labels != nil && l.classes == 1 {
		r.info.Shape = "(N,)"
	}
	return nil
}

// probe opens a file and reads its header. It closes files that can be opened again, except the first.
func (t *table) probe(path string, in io.ReadCloser, keep bool) (*tableFile, *Error) {
	f := &tableFile{path: path, file: names(t.options.Names).of(path), size: -1}
	counted := &t.read
	regular := false
	if in == nil {
		fi, reg, e := statText(t.options.FS, path)
		if e != nil {
			return nil, e.in(f.file)
		}
		regular = reg
		if reg {
			f.size = fi.Size()
		}
		if regular && !keep {
			counted = nil
		}
	}
	var e *Error
	if f.text, e = openText(t.options.FS, path, in, counted); e != nil {
		return nil, e.in(f.file)
	}
	h, e := f.text.header()
	if e == nil {
		if t.layout.separator == 0 {
			t.layout.separator = separatorOf(path, h)
		}
		f.header, e = headerNames(h, t.layout.separator, t.options.NoHeader)
	}
	if e == nil && t.options.NoHeader {
		f.text.pending, f.text.line = append(h, f.text.pending...), 1
		for i := range f.header {
			f.header[i] = strconv.Itoa(i)
		}
	}
	if e != nil {
		f.text.close()
		return nil, e.in(f.file)
	}
	f.lines = f.text.line - 1
	f.begins = begin(f.text.pending, t.layout.separator)
	if !t.options.NoHeader && len(f.begins.first) == len(f.header)+1 && f.begins.named {
		f.header = append([]string{""}, f.header...) // as R writes the names of rows
	}
	if regular {
		fi, err := f.text.file.Stat()
		if err != nil {
			f.text.close()
			return nil, cannotRead(err).in(f.file)
		}
		f.stamp = stampOf(fi)
	}
	if regular && !keep {
		f.text.close()
		f.text = nil
	}
	return f, nil
}

// separatorOf returns the separator of the cells of a table, from its name or its header.
func separatorOf(path string, header []byte) byte {
	path = unpackedName(strings.ToLower(path))
	order := []byte{'\t', ',', ';', '|', ' '}
	switch filepath.Ext(path) {
	case ".csv":
		order = []byte{',', ';', '\t', '|'}
	case ".tsv":
		order = []byte{'\t', ',', ';', '|'}
	}
	bare := unquoted(header)
	for _, c := range order {
		if bytes.IndexByte(bare, c) >= 0 {
			return c
		}
	}
	return order[0]
}

// unquoted returns a line without what stands in quotes.
func unquoted(line []byte) []byte {
	var bare []byte
	in := false
	for _, c := range bytes.TrimSpace(line) {
		if c == '"' {
			in = !in
		} else if !in {
			bare = append(bare, c)
		}
	}
	return bare
}

// separatorName returns what messages call a separator.
func separatorName(c byte) string {
	switch c {
	case '\t':
		return "tab"
	case ';':
		return "semicolon"
	case ' ':
		return "space"
	case '|':
		return "vertical bar"
	}
	return "comma"
}

// headerNames returns the names in the header line. none says that it is a row instead.
func headerNames(h []byte, separator byte, none bool) ([]string, *Error) {
	const remedy = `write text, as pandas.DataFrame.to_csv("table.csv", index=False) does`
	line := strings.TrimRight(string(h), "\r\n")
	if i := strings.IndexByte(line, 0); i >= 0 || !utf8.ValidString(line) {
		if strings.HasPrefix(line, "\xff\xfe") || strings.HasPrefix(line, "\xfe\xff") {
			return nil, fault("write it as UTF-8", "not UTF-8: it looks like UTF-16")
		}
		return nil, fault(remedy, "not a table: its first line is not UTF-8 text")
	}
	if strings.TrimSpace(line) == "" {
		return nil, fault("the first line has the names of the columns", "no header: its first line is empty")
	}
	b := append([]byte(line), '\n')
	var names []string
	numbers := true
	for p := 0; ; {
		c, end, why := readCell(b, p, separator, nil)
		if why != "" {
			return nil, fault(quotesRemedy, "%s", why).on(1)
		}
		name := string(c)
		if bytes.IndexByte(b[p:end], '"') < 0 {
			name = strings.Trim(name, " \t")
		}
		if strings.ContainsRune(name, '\r') {
			return nil, fault("end lines in LF or CRLF", "a line ends in CR alone")
		}
		if len(names) == maxColumns {
			return nil, fault("is it transposed? rows are forecasts", "more than %s columns", thousands(maxColumns))
		}
		names = append(names, name)
		if _, ok := cellNumber(c); !ok || name == "" {
			numbers = false
		}
		if b[end] == '\n' {
			break
		}
		p = end + 1
	}
	if numbers && !none {
		return nil, fault("put a line with the names of the columns first", "no header: the first line has numbers only, and no names")
	}
	return names, nil
}

// sameHeader compares the header of a shard with that of the first.
func (t *table) sameHeader(f *tableFile) *Error {
	first := t.files[0]
	const remedy = "shards of a table have the same columns in the same order"
	for i := range max(len(f.header), len(first.header)) {
		switch {
		case i >= len(f.header):
			return fault(remedy, "its header has %d columns, and that of %s has %d: %q is not in it", len(f.header), first.file, len(first.header), cut(first.header[i]))
		case i >= len(first.header):
			return fault(remedy, "its header has %d columns, and that of %s has %d: %q is not in that", len(f.header), first.file, len(first.header), cut(f.header[i]))
		case f.header[i] != first.header[i]:
			return fault(remedy, "column %d of its header is %q, and %q in %s", i+1, cut(f.header[i]), cut(first.header[i]), first.file)
		}
	}
	return nil
}

// cut shortens the text of a cell.
func cut(s string) string {
	n := 0
	for i := range s {
		if n == longestQuoted {
			return s[:i] + "..."
		}
		n++
	}
	return s
}

// lay finds the columns to read.
func (t *table) lay(r *ForecastReader, f *tableFile) *Error {
	t.layout.names = f.header
	uses, levels, e := t.layout.bind(t.options)
	if e != nil {
		return e
	}
	r.levels, r.kept = levels, untyped(t.options.Kept)
	if t.options.Kind == metrics.Multivariate {
		r.scoreColumns = make([]string, t.layout.classes)
		for _, u := range uses {
			if u.slot >= 0 && u.slot < len(r.scoreColumns) {
				r.scoreColumns[u.slot] = t.layout.names[u.column]
			}
		}
	}
	t.steps(uses)
	return nil
}

// bind finds what columns of a forecast are for, by their names, and the levels of its quantiles.
func (l *layout) bind(o *ForecastOptions) (uses []use, levels []float64, e *Error) {
	want := func(name, byDefault, what string, slot int) *Error {
		if name == "" {
			name = byDefault
		}
		i, e := l.column(name, what)
		if e != nil {
			return e
		}
		for _, u := range uses {
			if u.column == i {
				return fault("name another", "column %q is the %s and the %s", name, u.what, what)
			}
		}
		uses = append(uses, use{i, slot, -1, -1, what})
		return nil
	}
	switch {
	case o.Kind == metrics.Survival:
		if e = want(o.Time, "time", "time", timeSlot); e == nil {
			e = want(o.Event, "event", "event", eventSlot)
		}
	case o.Kind == metrics.Multivariate, o.Kind != metrics.Normals && o.Unobserved && o.Observed == "":
	case o.Kind != metrics.Normals:
		l.observed = true
		e = want(o.Observed, "observed", "observed value", observedSlot)
	case o.Error != "":
		l.classes = 2
		if e = want(o.Error, "", "error", 0); e == nil {
			e = want(o.SD, "sd", "standard deviation", 1)
		}
	default:
		l.classes = 3
		if e = want(o.Mean, "mean", "mean", 0); e != nil {
			break
		}
		if e = want(o.SD, "sd", "standard deviation", 1); e != nil {
			break
		}
		if o.Unobserved && o.Observed == "" && !slices.Contains(l.names, "observed") {
			l.classes = 2
			break
		}
		e = want(o.Observed, "observed", "observed value", 2)
	}
	if e == nil && o.Weight != "" {
		l.weighted = true
		e = want(o.Weight, "", "weight", weightSlot)
	}
	if e != nil {
		return nil, nil, e
	}
	l.grouped, l.clustered = len(o.Groups), o.Cluster != ""
	l.groupValue = o.groupValue
	var grouping, keeping []use
	for g, name := range o.Groups {
		i, e := l.column(name, "group")
		if e != nil {
			return nil, nil, e
		}
		if slices.Contains(o.Groups[:g], name) {
			return nil, nil, fault("name it once", "column %q is named twice to group by", name)
		}
		grouping = append(grouping, use{i, -1, g, -1, "group"})
	}
	if l.clustered {
		i, e := l.column(o.Cluster, "cluster")
		if e != nil {
			return nil, nil, e
		}
		if slices.ContainsFunc(grouping, func(u use) bool { return u.column == i }) {
			return nil, nil, fault("name another column for one of them", "column %q both groups the rows and is their cluster", cut(o.Cluster))
		}
		grouping = append(grouping, use{i, -1, l.grouped, -1, "cluster"})
	}
	kept := "kept column"
	if o.KeepTexts {
		kept = "key"
	}
	for k, name := range o.Kept {
		i, e := l.column(name, kept)
		if e != nil {
			return nil, nil, e
		}
		if slices.Contains(o.Kept[:k], name) {
			return nil, nil, fault("name it once", "column %q is to be kept twice", name)
		}
		keeping = append(keeping, use{i, -1, -1, k, "kept column"})
	}
	l.kept = len(keeping)
	if o.Kind != metrics.Normals {
		taken := map[int]bool{}
		for _, u := range append(slices.Clone(uses), grouping...) {
			taken[u.column] = true
		}
		var columns []int
		if o.Kind == metrics.Multivariate {
			columns, l.dimensions, e = l.vectors(o, taken)
		} else {
			columns, levels, e = l.forecast(o, taken)
		}
		if e != nil {
			return nil, nil, e
		}
		for slot, i := range columns {
			uses = append(uses, use{i, slot, -1, -1, ""})
		}
		l.classes = len(columns)
		if o.Kind == metrics.Survival {
			for i := range uses {
				switch uses[i].slot {
				case timeSlot:
					uses[i].slot = len(columns)
				case eventSlot:
					uses[i].slot = len(columns) + 1
				}
			}
			l.classes += 2
		}
	}
	return slices.Concat(uses, grouping, keeping), levels, nil
}

// use is what a column is for.
type use struct {
	column, slot, group, kept int // slot, group and kept as in a step
	what                      string
}

// steps makes the layout's steps of uses.
func (t *table) steps(uses []use) {
	l := &t.layout
	slices.SortStableFunc(uses, func(a, b use) int { return cmp.Compare(a.column, b.column) })
	next, grouped := 0, 0
	for _, u := range uses {
		if u.group >= 0 {
			t.groups.places[u.group] = grouped
			grouped++
		}
		if n := len(l.steps); n > 0 && u.column == next-1 {
			// A number that also groups rows, or is also kept.
			s := &l.steps[n-1]
			s.slot, s.group, s.kept = max(s.slot, u.slot), max(s.group, u.group), max(s.kept, u.kept)
			s.truth = s.truth || u.what == "event"
			continue
		}
		l.steps = append(l.steps, step{u.column - next, u.slot, u.group, u.kept, u.what == "event"})
		next = u.column + 1
	}
	l.behind = len(l.names) - next
}

// forecast finds the columns of quantiles (in ascending order of their levels) or samples among the unused columns.
func (l *layout) forecast(o *ForecastOptions, taken map[int]bool) (columns []int, levels []float64, e *Error) {
	for i, name := range o.Columns {
		at, e := l.column(name, "forecast")
		if e != nil {
			return nil, nil, e
		}
		if o.Kind == metrics.Survival {
			if taken[at] || slices.Contains(columns, at) {
				return nil, nil, fault("name another", "column %q is given two roles", cut(name))
			}
			to, _ := slices.BinarySearch(levels, o.Levels[i])
			levels, columns = slices.Insert(levels, to, o.Levels[i]), slices.Insert(columns, to, at)
			continue
		}
		if o.Kind == metrics.Quantiles {
			levels = append(levels, o.Levels[i])
		}
		columns = append(columns, at)
	}
	if o.Columns != nil {
		return columns, levels, nil
	}
	seen := map[string]bool{}
	for i, name := range l.names {
		x, ok := l.levelOf(name, o.Prefix)
		if !ok || taken[i] {
			continue
		}
		if o.Kind == metrics.Samples {
			if seen[name] {
				return nil, nil, l.twice(name)
			}
			seen[name] = true
			columns = append(columns, i)
			continue
		}
		if o.Kind == metrics.Survival && x == 0 {
			return nil, nil, fault("leave it out: at time 0 nothing has happened yet", "column %q is of time 0", cut(name))
		}
		if o.Kind != metrics.Survival && !(x > 0 && x < 1) {
			return nil, nil, fault("levels are probabilities, as in "+o.Prefix+"0.05: rename it, or name another prefix",
				"level %v of column %q is not between 0 and 1", x, cut(name))
		}
		at, twice := slices.BinarySearch(levels, x)
		if twice {
			what := "level"
			if o.Kind == metrics.Survival {
				what = "time"
			}
			return nil, nil, fault("leave one of them out", "columns %q and %q have the same %s, %v", cut(l.names[columns[at]]), cut(name), what, x)
		}
		levels, columns = slices.Insert(levels, at, x), slices.Insert(columns, at, i)
	}
	if len(columns) == 0 {
		if o.Kind == metrics.Survival {
			return nil, nil, fault(fmt.Sprintf("name the columns by %v and their times by %v, or their prefix by %v", setting.Risks, setting.Horizons, setting.RiskPrefix),
				"no column is named %q or like it: %s", cut(o.Prefix)+"365", l.list())
		}
		return nil, nil, fault("name the prefix that they have", "no column is named %q or like it: %s", cut(o.Prefix)+"0.5", l.list())
	}
	return columns, levels, nil
}

// levelOf returns the number after the prefix in a column name.
func (l *layout) levelOf(name, prefix string) (float64, bool) {
	s, ok := strings.CutPrefix(name, prefix)
	if !ok || s == "" || s[0] == '-' || s[0] == '+' {
		return 0, false
	}
	b := append([]byte(s+"\n"), make([]byte, decimal.Pad)...)
	v, end, ok := decimal.Parse(b, 0)
	return v, ok && end == len(s)
}

// column returns the index of the column of a name.
func (l *layout) column(name, what string) (int, *Error) {
	i := slices.Index(l.names, name)
	if i < 0 {
		remedy, has := l.meant(what)
		return 0, fault(remedy, "no column %q for the %s%s: %s", cut(name), what, l.similar(name), has)
	}
	if slices.Contains(l.names[i+1:], name) {
		return 0, l.twice(name)
	}
	return i, nil
}

func (l *layout) twice(name string) *Error {
	return fault("rename one of them", "two columns are named %q", cut(name))
}

// columnSetting has the setting that names each column of a table.
var columnSetting = map[string]setting.Setting{"mean": setting.Mean, "standard deviation": setting.SD, "observed value": setting.Observed,
	"error": setting.Error, "time": setting.Time, "event": setting.HappenedAt, "forecast": setting.Risks, "weight": setting.Weight, "group": setting.Groups, "cluster": setting.Cluster, "kept column": setting.Kept, "key": setting.Keys}

// meant returns a remedy for a column that is not there, and a list of the columns that are.
func (l *layout) meant(what string) (remedy, has string) {
	for _, n := range l.names {
		if what == "standard deviation" && variance(n) {
			return "write the square roots of the variances as a column, and name it by " + setting.SD.String(), l.list()
		}
	}
	if s, ok := columnSetting[what]; ok {
		return "name the column that has it by " + s.String(), l.list()
	}
	return "give the column that has it this name", l.list()
}

// variance reports whether a column is named like variances.
func variance(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains([]string{"var", "sigma2", "sigma^2", "sigma_sq", "sigma_squared", "sd2", "std2", "s2"}, name) || strings.Contains(name, "variance")
}

// list returns the names of the columns.
func (l *layout) list() string {
	const most = 20
	var s []string
	for i, n := range l.names {
		if i == most {
			s = append(s, fmt.Sprintf("%d more", len(l.names)-most))
			break
		}
		s = append(s, strconv.Quote(cut(n)))
	}
	word := "columns"
	if len(l.names) == 1 {
		if l.separator == 0 {
			return "the only column is " + s[0]
		}
		return "the only column is " + s[0] + ", with " + separatorName(l.separator) + "s between columns"
	}
	return "its " + word + " are " + strings.Join(s, ", ")
}

// similar returns a hint at the column whose name is closest; "" if none is close.
func (l *layout) similar(name string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, n := range l.names {
		if len(n) > 4*len(name)+16 {
			continue
		}
		if d := editDistance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// editDistance returns the number of bytes to insert, delete or replace to turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := left
			if a[i] != b[j] {
				d = 1 + min(left, row[j+1], row[j])
			}
			left, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// start starts the goroutines.
func (t *table) start() {
	t.started = true
	go t.scan()
	for range min(cap(t.free), runtime.GOMAXPROCS(0)) {
		go func() {
			for b := range t.work {
				t.parse(b)
			}
		}()
	}
}

// parse reads the rows of a block. The caller could not recover a panic in this goroutine, so Next raises it again.
func (t *table) parse(b *block) {
	defer func() {
		b.fell = recover()
		b.ready <- struct{}{}
	}()
	t.layout.parse(b)
}

// scan splits the files into blocks of whole lines.
func (t *table) scan() {
	defer func() {
		if r := recover(); r != nil { // raised again, as in parse
			t.fell = r
			close(t.order)
		}
	}()
	defer close(t.work)
	defer t.closeFiles()
	for i, f := range t.files {
		if i == 0 && t.aside {
			f.text.close()
			continue
		}
		if f.text == nil {
			t.reopen(i)
		}
		for last := false; !last; {
			var b *block
			select {
			case b = <-t.free:
			case <-t.done:
				return
			}
			b.reset(i)
			if e := t.fill(f, b); e != nil {
				b.failed, b.last = e.in(f.file), true
			}
			last = b.last
			failed := b.failed != nil
			t.order <- b // never blocks: there is room for all blocks
			t.work <- b
			if failed {
				return
			}
		}
		f.text.close()
		f.text = nil // its buffers would stay until the last file is read
	}
	close(t.order)
}

// reopen opens a file whose header is known. An Error is kept in its text.
func (t *table) reopen(i int) {
	f := t.files[i]
	again, e := t.probe(f.path, nil, true)
	switch {
	case e != nil:
		f.text = &text{later: e}
	case again.stamp != f.stamp || !slices.Equal(again.header, f.header):
		again.text.close()
		f.text = &text{later: changed()}
	default:
		f.text = again.text
	}
}

// fill reads the next lines of a file. It may return both lines and the Error after them.
func (t *table) fill(f *tableFile, b *block) *Error {
	b.line = f.text.line
	var e *Error
	b.text, b.last, e = f.text.lines(b.text[:0], t.size, t.layout.separator)
	b.newlines = int(f.text.line - b.line)
	b.open = b.last && f.text.open
	if b.last && e == nil && f.size >= 0 {
		e = f.stamp.compare(f.text.file)
	}
	return e
}

// Next returns the next chunk of rows, all of one file.
func (t *table) Next() (*metrics.Chunk, error) {
	t.next.Lock()
	defer t.next.Unlock()
	select {
	case <-t.done:
		if t.err == nil {
			t.err = os.ErrClosed
		}
	default:
	}
	if t.err != nil {
		return nil, t.err
	}
	if !t.started {
		t.start()
	}
	for {
		var b *block
		ok := true
		select {
		case b, ok = <-t.order:
		case <-t.done:
			t.err = os.ErrClosed
			return nil, t.err
		}
		if ok {
			<-b.ready
		}
		if fell := t.fallen(b, ok); fell != nil {
			t.err = os.ErrClosed
			t.end()
			panic(fell)
		}
		if !ok {
			t.err = io.EOF
			if t.rows == 0 && !t.options.Share.some() {
				t.err = fault("was the program that wrote it given any data?", "no rows: there is only a header").because(ErrNoRows).in(t.files[0].file)
			}
			return nil, t.err
		}
		if e := t.take(b); e != nil {
			// Whoever is writing the file may have stopped anywhere.
			if f := t.files[b.file]; f.size >= 0 {
				if fi, _, err := statText(t.options.FS, f.path); err == nil && stampOf(fi) != f.stamp {
					e = changed()
				}
			}
			t.err = e.in(t.files[b.file].file)
			t.end()
			return nil, t.err
		}
		if b.rows == 0 {
			t.free <- b
			continue
		}
		if e := t.keep(b); e != nil {
			t.err = e
			t.end()
			return nil, e
		}
		c := b.chunk(&t.layout, t.rows, t.options.Kind, t.free)
		t.rows += int64(b.rows)
		return c, nil
	}
}

// fallen returns the value of a panic: in the parse of the next block, or in scan if there is none.
func (t *table) fallen(b *block, ok bool) any {
	if ok {
		return b.fell
	}
	return t.fell
}

// take appends a block to those before it.
func (t *table) take(b *block) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.seen <= b.file {
		t.first = append(t.first, t.rows)
		t.seen++
		t.gap = 0
	}
	if t.gap > 0 && (b.rows > 0 || b.err != nil) {
		return emptyLine(t.gap)
	}
	if b.blank > 0 && t.gap == 0 {
		t.gap = b.blank
	}
	for _, j := range b.jumps {
		if len(t.jumps) < maxJumps {
			t.jumps = append(t.jumps, jump{t.rows + j.row, j.lines})
		}
	}
	t.total = t.rows + int64(b.rows)
	if b.open && b.rows > 0 {
		f := t.files[b.file]
		t.notes = append(t.notes, fmt.Sprintf("%s: its last line, %d, has no line end: if the file was cut off there, its last cell may be cut too",
			f.file, t.lineOf(t.total-1)))
	}
	if t.layout.keyed() {
		if e := t.renumber(b); e != nil {
			return e
		}
	}
	if b.err != nil {
		return b.err
	}
	return b.failed
}

// renumber replaces numbers of keys in the block by those of groups and clusters over all blocks.
func (t *table) renumber(b *block) *Error {
	for i, k := range b.keys {
		group, cluster, e := t.groups.row(k)
		if e != nil {
			return e.on(t.lineOf(t.rows + int64(slices.Index(b.groups[:b.rows], int32(i)))))
		}
		b.numbers = append(b.numbers, [2]int32{group, cluster})
	}
	numbered(b.groups[:b.rows], b.clusters, b.numbers)
	return nil
}

// numbered replaces the numbers of keys by those of their groups and, unless there are none, of their clusters.
func numbered(groups, clusters []int32, numbers [][2]int32) {
	if clusters == nil {
		for i, n := range groups {
			groups[i] = numbers[n][0]
		}
		return
	}
	for i, n := range groups {
		groups[i], clusters[i] = numbers[n][0], numbers[n][1]
	}
}

func emptyLine(line int64) *Error {
	return fault("remove it: empty lines may only stand at the end", "an empty line between rows").on(line)
}

func (t *table) said() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.notes)
}

func (t *table) BytesRead() int64 { return t.read.Load() }

func (t *table) Locate(row int64) (file string, rowInFile int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.fileOf(row)
	if i < 0 {
		return "", -1
	}
	return t.files[i].file, row - t.first[i]
}

func (t *table) fileOf(row int64) int {
	if row < 0 || row >= t.total {
		return -1
	}
	return sort.Search(len(t.first), func(i int) bool { return t.first[i] > row }) - 1
}

func (t *table) line(row int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lineOf(row)
}

func (t *table) lineOf(row int64) int64 {
	i := t.fileOf(row)
	if i < 0 || len(t.jumps) == maxJumps && row > t.jumps[maxJumps-1].row {
		return -1
	}
	line := t.files[i].lines + 1 + row - t.first[i]
	at := sort.Search(len(t.jumps), func(k int) bool { return t.jumps[k].row >= t.first[i] })
	for ; at < len(t.jumps) && t.jumps[at].row < row; at++ {
		line += t.jumps[at].lines
	}
	return line
}

// end stops the goroutines.
func (t *table) end() { t.stop.Do(func() { close(t.done) }) }

func (t *table) Close() error {
	t.end()
	t.next.Lock()
	defer t.next.Unlock()
	if !t.started {
		t.started = true
		t.closeFiles()
	}
	return nil
}

func (t *table) closeFiles() {
	for _, f := range t.files {
		if f.text != nil {
			f.text.close()
		}
	}
}
