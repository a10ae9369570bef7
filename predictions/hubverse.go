package predictions

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/internal/keyjoin"
)

// hub reads the long tables of the Hubverse. The rows of a task are put together: they are kept until all are read or memory is short, and
// then from one task to the next.
type hub struct {
	o       *ModelOptions
	files   []string
	tasks   []string // columns of a task, as the first file has them
	group   []int    // of these, those that group rows
	cluster int      // of these, that of clusters; -1 if there is none

	in      *cells
	at      int // the current file
	cellsOf struct{ output, id, value, model, target int }
	key     []byte
	grouped []byte
	id      int32
	value   float64

	ids    []hubID
	number map[string]int32
	place  []int32 // of each id among the scores of a row; for samples its rank

	seen    *oracle
	m       *made
	held    []*hubTask
	given   int // of held, those that were returned
	open    map[string]*hubTask
	last    *hubTask
	apart   bool // rows of a task stand apart
	stream  bool
	ended   bool
	used    int64
	done    map[uint64]struct{} // keys of tasks that were returned, where rows are not kept
	seed    maphash.Seed
	left    int64 // tasks without what was observed
	leftKey string
}

// hubID is an output_type_id.
type hubID struct {
	text   string
	number float64
}

// hubTask is what was read of a task.
type hubTask struct {
	key, group, cluster string
	place               rowPlace
	ids                 []int32
	values              []float64
}

// hubColumns are those of the Hubverse that belong to no task.
var hubColumns = []string{"output_type", "output_type_id", "value", "model_id"}

// hubFiles returns the files of a model, or of all if model is "". named says that the file itself says the model of each row.
func hubFiles(paths []string, o *ModelOptions, model string) (files, models []string, e *Error) {
	all, roots, e := sortedFiles(nil, paths)
	if e != nil {
		return nil, nil, e.in(names(o.Names).of(e.File))
	}
	for i, path := range all {
		m := modelOf(path, roots[i])
		if path == "-" || model == "" || m == model {
			files, models = append(files, path), append(models, m)
			continue
		}
		c, e := openCells(path, o.Names, nil)
		if e != nil {
			return nil, nil, e
		}
		c.close()
		if slices.Contains(c.columns, "model_id") {
			files, models = append(files, path), append(models, m)
		}
	}
	return files, models, nil
}

func listHub(paths []string, o *ModelOptions) (list []ModelOutput, e *Error) {
	files, models, e := hubFiles(paths, o, "")
	if e != nil {
		return nil, e
	}
	met := map[ModelOutput]bool{}
	for i, path := range files {
		if e := listHubFile(path, models[i], o, func(m ModelOutput) {
			if !met[m] {
				met[m] = true
				list = append(list, m)
			}
		}); e != nil {
			return nil, e
		}
	}
	if list == nil {
		return nil, noRows().in(names(o.Names).of(files[0]))
	}
	return list, nil
}

func listHubFile(path, model string, o *ModelOptions, found func(ModelOutput)) *Error {
	c, e := openCells(path, o.Names, nil)
	if e != nil {
		return e
	}
	defer c.close()
	if e := isHub(c); e != nil {
		return e
	}
	want := []int{slices.Index(c.columns, "output_type")}
	target, named := -1, -1
	if i := slices.Index(c.columns, "target"); i >= 0 {
		target, want = len(want), append(want, i)
	}
	if i := slices.Index(c.columns, "model_id"); i >= 0 {
		named, want = len(want), append(want, i)
	}
	if e := c.read(want); e != nil {
		return e
	}
	last := ModelOutput{}
	for {
		ok, e := c.next()
		if e != nil || !ok {
			return e
		}
		m := ModelOutput{Model: model}
		text := func(i int, same string) string {
			t, _ := c.of(i)
			if string(t) == same {
				return same
			}
			return string(t)
		}
		m.Output = text(0, last.Output)
		if target >= 0 {
			m.Target = text(target, last.Target)
		}
		if named >= 0 {
			m.Model = text(named, last.Model)
		}
		if m != last {
			if !slices.Contains(Outputs, m.Output) || m.Output == OutputPoint {
				return c.placed(fault("it is mean, median, quantile, cdf, pmf or sample", "column \"output_type\": %q", cut(m.Output)))
			}
			found(m)
			last = m
		}
	}
}

// isHub checks that a file has the columns of the Hubverse.
func isHub(c *cells) *Error {
	for _, name := range hubColumns[:3] {
		if !slices.Contains(c.columns, name) {
			return fault("files of the Hubverse have output_type, output_type_id and value beside the columns of a task", "no column %q: %s", name,
				(&layout{names: c.columns}).list()).in(c.name)
		}
	}
	return nil
}

func openHub(paths []string, o *ModelOptions) (*ForecastReader, *Error) {
	if len(o.Oracle) == 0 {
		return nil, fault("name the file that has it by "+setting.Oracle.String(), "files of the Hubverse do not have what was observed")
	}
	files, _, e := hubFiles(paths, o, o.Model)
	if e != nil {
		return nil, e
	}
	if len(files) == 0 {
		return nil, fault("name one of the models", "no file of model %q", cut(o.Model))
	}
	h := &hub{o: o, files: files, number: map[string]int32{}, open: map[string]*hubTask{}, seed: maphash.MakeSeed()}
	h.m = &made{kind: OutputKind(o.Output), groups: newGroups(o.Groups, o.Cluster), keep: o.Keys, fill: h.fill, closed: h.close}
	h.m.notes = func() []string { return h.seen.notes(h.tasks, h.left, h.leftKey) }
	for _, path := range files {
		h.m.files = append(h.m.files, names(o.Names).of(path))
	}
	r, e := h.start()
	if e != nil {
		h.close()
		return nil, e.in(h.m.files[min(h.at, len(files)-1)])
	}
	return r, nil
}

func (h *hub) close() {
	if h.in != nil {
		h.in.close()
		h.in = nil
	}
}

// start reads until the shape of a row is known.
func (h *hub) start() (*ForecastReader, *Error) {
	if e := h.openFile(); e != nil {
		return nil, e
	}
	for _, name := range h.o.Groups {
		i := slices.Index(h.tasks, name)
		if i < 0 {
			return nil, fault("group by a column of the task", "no column %q for the group: %s", cut(name), (&layout{names: h.tasks}).list())
		}
		h.group = append(h.group, i)
	}
	h.cluster = -1
	if name := h.o.Cluster; name != "" {
		if h.cluster = slices.Index(h.tasks, name); h.cluster < 0 {
			return nil, fault("take a column of the task", "no column %q for the cluster: %s", cut(name), (&layout{names: h.tasks}).list())
		}
	}
	if e := h.hold(); e != nil {
		return nil, e
	}
	levels, classes, e := h.settle()
	if e != nil {
		return nil, e
	}
	if e := h.readOracle(); e != nil {
		return nil, e
	}
	binding := fmt.Sprintf("%s of %s", h.o.Output, h.o.Model)
	if h.o.Target != "" {
		binding += ", " + h.o.Target
	}
	binding += fmt.Sprintf("; task %s; observed value of the oracle, joined by %s", strings.Join(h.tasks, ", "), strings.Join(h.seen.keys, ", "))
	r := h.m.reader(binding, levels, classes, len(h.files))
	r.said = binding
	if h.m.kind != metrics.Probs {
		r.binding = ""
	}
	return r, nil
}

// openFile opens the current file and finds its columns.
func (h *hub) openFile() *Error {
	c, e := openCells(h.files[h.at], h.o.Names, &h.m.read)
	if e != nil {
		return e
	}
	h.in = c
	if e := isHub(c); e != nil {
		return e
	}
	var tasks []string
	for _, name := range c.columns {
		if !slices.Contains(hubColumns, name) && name != "" {
			tasks = append(tasks, name)
		}
	}
	if h.tasks == nil {
		h.tasks = tasks
	}
	if a, b := slices.Sorted(slices.Values(tasks)), slices.Sorted(slices.Values(h.tasks)); !slices.Equal(a, b) {
		return fault("files of a model have the same columns", "its task has the columns %s, and that of %s has %s", strings.Join(a, ", "), h.m.files[0],
			strings.Join(b, ", ")).in(c.name)
	}
	if i := slices.IndexFunc(c.columns, func(n string) bool {
		return n != "" && len(slices.DeleteFunc(slices.Clone(c.columns), func(o string) bool { return o != n })) > 1
	}); i >= 0 {
		return (&layout{}).twice(c.columns[i]).in(c.name)
	}
	var want []int
	take := func(name string) int {
		i := slices.Index(c.columns, name)
		if i < 0 {
			return -1
		}
		want = append(want, i)
		return len(want) - 1
	}
	for _, name := range h.tasks {
		take(name)
	}
	h.cellsOf.target = slices.Index(h.tasks, "target")
	h.cellsOf.output, h.cellsOf.id, h.cellsOf.value, h.cellsOf.model = take("output_type"), take("output_type_id"), take("value"), take("model_id")
	return c.read(want, h.cellsOf.value)
}

// row reads the next row of the model's output, and reports false at the end.
func (h *hub) row() (bool, *Error) {
	for {
		if h.in == nil {
			if h.at == len(h.files)-1 {
				return false, nil
			}
			h.at++
			if e := h.openFile(); e != nil {
				return false, e
			}
		}
		c := h.in
		ok, e := c.next()
		if e != nil {
			return false, e
		}
		if !ok {
			h.close()
			continue
		}
		is := func(cell int, want string) bool {
			if cell < 0 {
				return true
			}
			text, _ := c.of(cell)
			return string(text) == want
		}
		if !is(h.cellsOf.output, h.o.Output) || h.o.Target != "" && !is(h.cellsOf.target, h.o.Target) || !is(h.cellsOf.model, h.o.Model) {
			continue
		}
		h.key = h.key[:0]
		for i := range h.tasks {
			text, _ := c.of(i)
			h.key = appendJoin(h.key, text)
		}
		if h.value, ok = c.number(h.cellsOf.value); !ok {
			text, _ := c.of(h.cellsOf.value)
			return false, c.placed(badNumber("value", text))
		}
		if h.id, e = h.idOf(); e != nil {
			return false, c.placed(e)
		}
		return true, nil
	}
}

// idOf numbers the id of the current row.
func (h *hub) idOf() (int32, *Error) {
	text, missing := h.in.of(h.cellsOf.id)
	id := hubID{}
	switch h.o.Output {
	case OutputMean, OutputMedian:
		if !missing {
			return 0, fault("leave it empty", "column \"output_type_id\": %q, and a %s has none", cut(string(text)), h.o.Output)
		}
	case OutputQuantile, OutputCDF:
		v, canonical, ok := keyjoin.Number(text)
		if !ok {
			return 0, fault("write a number", "column \"output_type_id\": %q is not a number", cut(string(text)))
		}
		if h.o.Output == OutputQuantile && !(v > 0 && v < 1) {
			return 0, fault("give the probability that the quantile is of", "column \"output_type_id\": level %v is not between 0 and 1", v)
		}
		id = hubID{canonical, v}
	default:
		if missing {
			return 0, fault("give each row one", "column \"output_type_id\" is empty, and a %s has one", h.o.Output)
		}
		id.text = string(text)
	}
	n, ok := h.number[id.text]
	if !ok {
		n = int32(len(h.ids))
		h.number[id.text], h.ids = n, append(h.ids, id)
		h.used += int64(len(id.text)) + 100
	}
	return n, nil
}

// task returns a new task of the current row.
func (h *hub) task() *hubTask {
	t := &hubTask{key: string(h.key), place: rowPlace{int32(h.at), h.in.row, h.in.line()}}
	if len(h.group) > 0 {
		h.grouped = h.grouped[:0]
		for _, i := range h.group {
			text, _ := h.in.of(i)
			h.grouped = appendKey(h.grouped, text)
		}
		t.group = string(h.grouped)
	}
	if h.cluster >= 0 {
		text, _ := h.in.of(h.cluster)
		t.cluster = string(text)
	}
	return t
}

func (t *hubTask) add(id int32, value float64) {
	t.ids, t.values = append(t.ids, id), append(t.values, value)
}

// hold keeps rows until all are read, or half of the memory is used.
func (h *hub) hold() *Error {
	for {
		ok, e := h.row()
		if e != nil {
			return e
		}
		if !ok {
			h.ended = true
			if len(h.held) == 0 {
				return fault("name another by "+setting.Output.String()+" or "+setting.Target.String(), "no %s of model %q%s", h.o.Output, cut(h.o.Model), h.ofTarget())
			}
			h.open = nil
			return nil
		}
		t := h.open[string(h.key)]
		if t == nil {
			t = h.task()
			h.open[t.key] = t
			h.held = append(h.held, t)
			h.used += int64(2*len(t.key)+len(t.group)+len(t.cluster)) + 216
		} else if t != h.last {
			h.apart = true
		}
		before := cap(t.values)
		t.add(h.id, h.value)
		h.used += int64(12 * (cap(t.values) - before))
		h.last = t
		if h.used > h.o.Memory/2 {
			if h.apart {
				return h.in.placed(fault("allow more by "+setting.ModelMemory.String()+", or sort the file by the columns of the task",
					"rows of a task stand apart, and keeping them takes more than %d MiB", h.o.Memory>>21))
			}
			h.stream, h.open, h.done = true, nil, map[uint64]struct{}{}
			for _, t := range h.held {
				h.done[maphash.String(h.seed, t.key)] = struct{}{}
			}
			h.held = h.held[:len(h.held)-1] // the last goes on
			return nil
		}
	}
}

func (h *hub) ofTarget() string {
	if h.o.Target == "" {
		return ""
	}
	return fmt.Sprintf(" for target %q", cut(h.o.Target))
}

// settle decides which id has which place in a row.
func (h *hub) settle() (levels []float64, classes []string, e *Error) {
	order := make([]int32, len(h.ids))
	for i := range order {
		order[i] = int32(i)
	}
	byNumber := func(a, b int32) int { return cmp.Compare(h.ids[a].number, h.ids[b].number) }
	m := h.m
	m.k = len(order)
	switch h.o.Output {
	case OutputQuantile:
		slices.SortFunc(order, byNumber)
		for _, i := range order {
			levels = append(levels, h.ids[i].number)
		}
	case OutputCDF:
		slices.SortFunc(order, byNumber)
		m.k++
		for i, at := range order {
			text := h.ids[at].text
			if i == 0 {
				classes = append(classes, "<="+text)
				continue
			}
			classes = append(classes, "("+h.ids[order[i-1]].text+","+text+"]")
		}
		classes = append(classes, ">"+h.ids[order[len(order)-1]].text)
	case OutputPMF:
		if e := h.classes(); e != nil {
			return nil, nil, e
		}
		m.k, classes = len(h.o.Classes), slices.Clone(h.o.Classes)
		order = order[:0]
		for _, c := range classes {
			n, ok := h.number[c]
			if !ok {
				n = int32(len(h.ids))
				h.number[c], h.ids = n, append(h.ids, hubID{text: c})
			}
			order = append(order, n)
		}
	case OutputSample:
		m.k = len(h.draws())
		return nil, nil, nil
	}
	h.place = make([]int32, len(h.ids))
	for place, i := range order {
		h.place[i] = int32(place)
	}
	return levels, classes, nil
}

// draws are those of the first task.
func (h *hub) draws() []int32 {
	if len(h.held) > 0 {
		return h.held[0].ids
	}
	return h.last.ids
}

// classes checks the names of a pmf's classes.
func (h *hub) classes() *Error {
	var ids []string
	for _, id := range h.ids {
		ids = append(ids, id.text)
	}
	if len(h.o.Classes) == 0 {
		return fault("name them in their order by "+setting.ClassNames.String()+": "+strings.Join(ids, ","), "a pmf of %s, whose order does not tell the order of the classes", strings.Join(ids, ", "))
	}
	for i, c := range h.o.Classes {
		if slices.Contains(h.o.Classes[:i], c) {
			return fault("name each once", "class %q is named twice", cut(c))
		}
	}
	if len(h.o.Classes) < 2 {
		return fault("name them all", "one class is named")
	}
	for _, id := range ids {
		if !slices.Contains(h.o.Classes, id) {
			return fault("name all classes by "+setting.ClassNames.String(), "column \"output_type_id\": %q is none of the classes %s", cut(id), strings.Join(h.o.Classes, ", "))
		}
	}
	return nil
}

// readOracle reads what was observed, by the columns that the oracle has of a task.
func (h *hub) readOracle() *Error {
	in, e := openCells(h.o.Oracle[0], h.o.Names, nil)
	if e != nil {
		return e
	}
	in.close()
	w := &oracle{value: "oracle_value", output: h.o.Output, target: h.o.Target}
	for _, name := range h.tasks {
		if slices.Contains(in.columns, name) {
			w.keys = append(w.keys, name)
		}
	}
	if len(w.keys) == 0 {
		return fault("it has columns of the task and oracle_value", "no column of the task %s: %s", strings.Join(h.tasks, ", "), (&layout{names: in.columns}).list()).in(in.name)
	}
	if !slices.Contains(in.columns, "oracle_value") {
		return fault("it has columns of the task and oracle_value", "no column \"oracle_value\": %s", (&layout{names: in.columns}).list()).in(in.name)
	}
	if h.m.kind == metrics.Probs {
		w.counts = len(h.place)
		if h.o.Output == OutputPMF {
			w.counts = h.m.k
		}
		w.ids = func(text []byte) (int, bool) {
			name := string(text)
			if h.o.Output == OutputCDF {
				_, name, _ = keyjoin.Number(text)
			}
			n, ok := h.number[name]
			if !ok || int(n) >= len(h.place) {
				return 0, false
			}
			return int(h.place[n]), true
		}
	}
	h.seen, e = readOracle(h.o, w)
	return e
}

// fill returns tasks until a chunk is full.
func (h *hub) fill() *Error {
	for !h.m.full() && h.given < len(h.held) {
		t := h.held[h.given]
		h.held[h.given] = nil
		h.given++
		if e := h.put(t); e != nil {
			return e
		}
	}
	for !h.m.full() && !h.ended {
		ok, e := h.row()
		if e != nil {
			return e
		}
		if !ok {
			h.ended = true
			return h.put(h.last)
		}
		if string(h.key) == h.last.key {
			h.last.add(h.id, h.value)
			continue
		}
		done := h.last
		hash := maphash.Bytes(h.seed, h.key)
		if _, met := h.done[hash]; met {
			return h.in.placed(fault("allow more by "+setting.ModelMemory.String()+", or sort the file by the columns of the task",
				"rows of the task %s stand apart, and keeping all takes more than %d MiB", keyjoin.Describe(h.tasks, string(h.key)), h.o.Memory>>21))
		}
		if h.done[hash] = struct{}{}; int64(len(h.done))*40 > h.o.Memory/4 {
			return fault("allow more by "+setting.ModelMemory.String(), "the keys of %s tasks take more than %d MiB", thousands(len(h.done)), h.o.Memory>>22).in(h.in.name)
		}
		h.last = h.task()
		h.last.add(h.id, h.value)
		if e := h.put(done); e != nil {
			return e
		}
	}
	return nil
}

// put makes a row of a task.
func (h *hub) put(t *hubTask) *Error {
	e := h.putRow(t)
	if e != nil && e.File == "" {
		e.File = h.m.files[t.place.file]
		if t.place.line > 0 {
			e.Line = t.place.line
		} else {
			e.Row = t.place.row
		}
	}
	return e
}

func (h *hub) putRow(t *hubTask) *Error {
	m, b := h.m, &h.m.block
	key := h.oracleKey(t)
	seen, ok := h.seen.get(key)
	if !ok {
		if !h.o.DropUnmatched {
			return h.seen.unmatched(h.seen.keys, string(key))
		}
		if h.left++; h.left == 1 {
			h.leftKey = t.key
		}
		return nil
	}
	from := len(b.values)
	b.values = append(b.values, slices.Repeat([]float64{unset}, m.k)...)
	row := b.values[from:]
	twice := func(id int32) *Error {
		what := h.o.Output
		if text := h.ids[id].text; text != "" {
			what += " " + text
		}
		return fault("leave one of them out", "the %s of the task %s is there twice", what, keyjoin.Describe(h.tasks, t.key))
	}
	if h.o.Output == OutputSample {
		if len(t.ids) != m.k {
			return fault("all tasks have as many samples", "the task %s has %d samples, and the first task has %d", keyjoin.Describe(h.tasks, t.key), len(t.ids), m.k)
		}
		order := make([]int, len(t.ids))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return natural(h.ids[t.ids[a]].text, h.ids[t.ids[b]].text) })
		for i, at := range order {
			if i > 0 && t.ids[at] == t.ids[order[i-1]] {
				return twice(t.ids[at])
			}
			row[i] = t.values[at]
		}
	} else {
		for i, id := range t.ids {
			if int(id) >= len(h.place) {
				return fault("write all ids of the first tasks, and no others", "the task %s has a %s %s, which the first tasks do not have",
					keyjoin.Describe(h.tasks, t.key), h.o.Output, h.ids[id].text)
			}
			at := &row[h.place[id]]
			if math.Float64bits(*at) != math.Float64bits(unset) {
				return twice(id)
			}
			*at = t.values[i]
		}
		for i, v := range row[:len(row)-h.rest()] {
			if math.Float64bits(v) == math.Float64bits(unset) {
				return h.without(t, i)
			}
		}
	}
	switch h.o.Output {
	case OutputCDF:
		before := 0.0
		for i, v := range row[:m.k-1] {
			row[i], before = v-before, v
		}
		row[m.k-1] = 1 - before
		fallthrough
	case OutputPMF:
		class, e := h.seen.class(seen, string(key))
		if e != nil {
			return e
		}
		b.labels = append(b.labels, class)
	default:
		b.observed = append(b.observed, seen.value)
	}
	if len(h.group) > 0 {
		if e := b.group(m.groups, t.group); e != nil {
			return e
		}
	}
	if h.cluster >= 0 {
		if e := b.cluster(m.groups.clusters, t.cluster); e != nil {
			return e
		}
	}
	b.places = append(b.places, t.place)
	if m.keep {
		b.keys = append(b.keys, t.key)
	}
	b.rows++
	return nil
}

// rest is how many scores at the end of a row have no id: the last interval of a cdf.
func (h *hub) rest() int {
	if h.o.Output == OutputCDF {
		return 1
	}
	return 0
}

// without explains a task without one of the ids.
func (h *hub) without(t *hubTask, place int) *Error {
	id := slices.IndexFunc(h.place, func(p int32) bool { return int(p) == place })
	return fault("all tasks have the same", "the task %s has no %s %s, which others have", keyjoin.Describe(h.tasks, t.key), h.o.Output, h.ids[id].text)
}

// oracleKey is the part of a task's key that the oracle has.
func (h *hub) oracleKey(t *hubTask) (key []byte) {
	for i, text := range keyjoin.Parts(t.key) {
		if slices.Contains(h.seen.keys, h.tasks[i]) {
			key = appendKey(key, []byte(text))
		}
	}
	return key
}

// unset is the bits of a score that no row gave. They are those of no number that is read.
var unset = math.Float64frombits(0x7ff8_dead_beef_0001)
