package predictions

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
)

// ModelLayout is a layout of files with forecasts of several models.
type ModelLayout uint8

const (
	// Hubverse is the long table of the Hubverse: columns of a task, as location and horizon, beside output_type, output_type_id and value.
	// A model is a folder, a file, or a value of model_id.
	Hubverse ModelLayout = iota
	// Nixtla is the wide table of statsforecast and its relatives: unique_id, ds, cutoff and y beside the columns of each model, which are
	// its point forecast, MODEL, and the ends of its intervals, MODEL-lo-90 and MODEL-hi-90.
	Nixtla
)

func (l ModelLayout) String() string { return [...]string{"hubverse", "nixtla"}[l] }

// ModelOptions says how OpenModel reads the forecasts of a model.
type ModelOptions struct {
	Layout ModelLayout
	// Model, Target and Output say which forecasts are read. ListModels lists them. Files of the Hubverse without the column target need no
	// Target, and those of Nixtla have none.
	Model, Target, Output string
	// Oracle are files of what was observed: of the Hubverse with oracle_value beside columns of the task, of Nixtla with unique_id, ds and y.
	// Files of Nixtla with y need none.
	Oracle []string
	// Classes are the ids of a pmf, in the order of the classes.
	Classes []string
	// Groups are columns that group rows, as in ForecastOptions.
	Groups []string
	// Cluster is a column that says which cluster a row is in, as in ForecastOptions.
	Cluster string
	// DropUnmatched leaves out forecasts of which nothing was observed. Notes counts them. They are an error otherwise.
	DropUnmatched bool
	// Transform is applied to forecasts and observed values.
	Transform metrics.Transform
	// Memory limits what is kept of rows that are put together, and of keys; 0 means 1 GiB.
	Memory int64
	// Keys keeps the keys of rows, for ForecastReader.Key.
	Keys bool
	// Names maps paths to what messages call them, as in Options.
	Names map[string]string
}

// Outputs of models. A mean, a median and a point forecast are one number, which is read as a single sample: its CRPS is the absolute error.
const (
	OutputQuantile = "quantile"
	OutputSample   = "sample"
	OutputMean     = "mean"
	OutputMedian   = "median"
	OutputPMF      = "pmf"
	OutputCDF      = "cdf"
	OutputPoint    = "point" // of Nixtla
)

// Outputs are all outputs of models.
var Outputs = []string{OutputQuantile, OutputSample, OutputMean, OutputMedian, OutputPMF, OutputCDF, OutputPoint}

// OutputKind returns the kind of the rows of an output. A pmf and a cdf have a probability for each class.
func OutputKind(output string) metrics.Kind {
	switch output {
	case OutputQuantile:
		return metrics.Quantiles
	case OutputPMF, OutputCDF:
		return metrics.Probs
	}
	return metrics.Samples
}

// ModelOutput is what files have of one model.
type ModelOutput struct{ Model, Target, Output string }

const modelMemory = 1 << 30

// ListModels returns what there is in files and folders, in the order in which it comes. Of the Hubverse it reads all rows.
func ListModels(paths []string, o *ModelOptions) ([]ModelOutput, error) {
	var list []ModelOutput
	e := (*Error)(nil)
	if o.Layout == Nixtla {
		list, e = listNixtla(paths, o)
	} else {
		list, e = listHub(paths, o)
	}
	if e != nil {
		return nil, e
	}
	return list, nil
}

// OpenModel returns a reader of the forecasts of one model. Chunks are float64: quantiles with their levels, samples, or of a pmf and a cdf
// probabilities of classes with labels. The classes of a cdf are the intervals between its thresholds. Errors are *Error.
//
// Rows of the Hubverse that belong to one task may stand apart as long as all of a model fits in half of Memory; otherwise they have to be
// next to each other.
func OpenModel(paths []string, o *ModelOptions) (*ForecastReader, error) {
	copied := *o
	o = &copied
	if o.Memory <= 0 {
		o.Memory = modelMemory
	}
	if o.Transform != 0 && (o.Output == OutputMean || OutputKind(o.Output) == metrics.Probs) {
		return nil, fault("transform quantiles, medians and samples", "the %s of a transformed variable is not the transformed %[1]s", o.Output)
	}
	var r *ForecastReader
	e := (*Error)(nil)
	if o.Layout == Nixtla {
		r, e = openNixtla(paths, o)
	} else {
		r, e = openHub(paths, o)
	}
	if e != nil {
		return nil, e
	}
	r.transform = o.Transform
	return r, nil
}

// reader returns a reader of rows that are made.
func (m *made) reader(binding string, levels []float64, classes []string, files int) *ForecastReader {
	if m.most = max(1, chunkScores/(8*m.k)); m.most > 1<<14 {
		m.most = 1 << 14
	}
	r := &ForecastReader{from: m, groups: m.groups, clusters: m.groups.clusters, levels: levels, classNames: classes, binding: binding}
	r.info = Info{Rows: -1, Classes: m.k, DType: metrics.Float64, Bytes: -1, Files: files, Shape: fmt.Sprintf("(N, %d)", m.k)}
	if m.kind == metrics.Probs && m.k == 2 {
		r.info.Classes, r.info.Pairs, r.info.Event = 1, true, 1
	}
	return r
}

// Key returns the key of a row that a reader from OpenModel returned, if ModelOptions.Keys is set; "" otherwise. Equal keys of several
// models are forecasts of the same thing.
func (r *ForecastReader) Key(row int64) string {
	if m, ok := r.from.(*made); ok {
		return m.key(row)
	}
	return ""
}

// of the columns of Nixtla's tables, those that are of no model.
var nixtlaColumns = []string{"unique_id", "ds", "cutoff", "y"}

// nixtlaModel is what a table has of a model.
type nixtlaModel struct {
	name   string
	point  bool
	bounds []nixtlaBound // in the order of their levels
}

type nixtlaBound struct {
	column string
	level  float64
}

// nixtlaModels finds the models of a header.
func nixtlaModels(header []string) (models []*nixtlaModel, e *Error) {
	find := func(name string) *nixtlaModel {
		if i := slices.IndexFunc(models, func(m *nixtlaModel) bool { return m.name == name }); i >= 0 {
			return models[i]
		}
		models = append(models, &nixtlaModel{name: name})
		return models[len(models)-1]
	}
	for _, column := range header {
		if column == "" || slices.Contains(nixtlaColumns, column) {
			continue
		}
		at := max(strings.LastIndex(column, "-lo-"), strings.LastIndex(column, "-hi-"))
		if at <= 0 {
			find(column).point = true
			continue
		}
		level, ok := boundLevel(column[at+4:], column[at+1] == 'h')
		if !ok {
			find(column).point = true
			continue
		}
		m := find(column[:at])
		i, twice := slices.BinarySearchFunc(m.bounds, level, func(b nixtlaBound, l float64) int { return cmp.Compare(b.level, l) })
		if twice {
			return nil, fault("leave one of them out", "columns %q and %q have the same level, %v", cut(m.bounds[i].column), cut(column), level)
		}
		m.bounds = slices.Insert(m.bounds, i, nixtlaBound{column, level})
	}
	// An interval has two ends, whose levels add up to 1.
	for _, m := range models {
		for _, b := range m.bounds {
			other := strings.LastIndex(b.column, "-lo-")
			end := "-hi-"
			if b.level > .5 {
				other, end = strings.LastIndex(b.column, "-hi-"), "-lo-"
			}
			if name := b.column[:other] + end + b.column[other+4:]; !slices.ContainsFunc(m.bounds, func(c nixtlaBound) bool { return math.Abs(c.level+b.level-1) < 1e-12 }) {
				return nil, fault("an interval has both ends; leave the column out, or add the other", "column %q without %q", cut(b.column), cut(name))
			}
		}
	}
	return models, nil
}

// boundLevel returns the level of the quantile that ends an interval of a level in percent: (100 - L)/200 or (100 + L)/200, rounded once.
func boundLevel(percent string, high bool) (float64, bool) {
	l, ok := new(big.Rat).SetString(percent)
	if !ok || strings.ContainsAny(percent, "/eExXpP_") || l.Sign() <= 0 || l.Cmp(big.NewRat(100, 1)) >= 0 {
		return 0, false
	}
	if !high {
		l.Neg(l)
	}
	l.Add(l, big.NewRat(100, 1))
	v, _ := l.Quo(l, big.NewRat(200, 1)).Float64()
	return v, v > 0 && v < 1
}

func listNixtla(paths []string, o *ModelOptions) (list []ModelOutput, e *Error) {
	if len(paths) == 0 {
		return nil, fault("name one", "no file")
	}
	files, _, e := sortedFiles(nil, paths)
	if e != nil {
		return nil, e.in(names(o.Names).of(e.File))
	}
	c, e := openCells(files[0], o.Names, nil)
	if e != nil {
		return nil, e
	}
	c.close()
	models, e := nixtlaModels(c.columns)
	if e != nil {
		return nil, e.in(c.name)
	}
	for _, m := range models {
		if len(m.bounds) > 0 {
			list = append(list, ModelOutput{m.name, "", OutputQuantile})
		}
		if m.point {
			list = append(list, ModelOutput{m.name, "", OutputPoint})
		}
	}
	if list == nil {
		return nil, fault("a table of Nixtla has a column for each model, and its intervals as MODEL-lo-90 and MODEL-hi-90", "no model: %s", (&layout{names: c.columns}).list()).in(c.name)
	}
	return list, nil
}

// openNixtla reads what a table has of a model, as a table of quantiles or of one sample where it has what was observed.
func openNixtla(paths []string, o *ModelOptions) (*ForecastReader, *Error) {
	files, _, e := sortedFiles(nil, paths)
	if e != nil {
		return nil, e.in(names(o.Names).of(e.File))
	}
	c, e := openCells(files[0], o.Names, nil)
	if e != nil {
		return nil, e
	}
	c.close()
	models, e := nixtlaModels(c.columns)
	if e != nil {
		return nil, e.in(c.name)
	}
	i := slices.IndexFunc(models, func(m *nixtlaModel) bool { return m.name == o.Model })
	if i < 0 {
		return nil, fault("name one of the models", "no model %q: %s", cut(o.Model), (&layout{names: c.columns}).list()).in(c.name)
	}
	m := models[i]
	f := &ForecastOptions{Kind: OutputKind(o.Output), Observed: "y", Groups: o.Groups, Cluster: o.Cluster, Names: o.Names}
	switch {
	case o.Output == OutputPoint && m.point:
		f.Columns = []string{m.name}
	case o.Output == OutputQuantile && len(m.bounds) > 0:
		for _, b := range m.bounds {
			f.Columns, f.Levels = append(f.Columns, b.column), append(f.Levels, b.level)
		}
	default:
		return nil, fault("read its other output", "model %q has no column of a %s", cut(o.Model), o.Output).in(c.name)
	}
	binding := fmt.Sprintf("%s of %s", o.Output, strings.Join(f.Columns, ", "))
	if len(o.Oracle) == 0 {
		if !slices.Contains(c.columns, "y") {
			return nil, fault("name the file that has it by "+setting.Oracle.String(), "no column \"y\", so what was observed is not known").in(c.name)
		}
		r, e := openForecast(paths, f)
		if e != nil {
			return nil, e
		}
		r.judged, r.said = false, binding+"; observed y"
		return r, nil
	}
	if slices.Contains(c.columns, "y") {
		return nil, fault("leave "+setting.Oracle.String()+" out", "column \"y\" has what was observed already").in(c.name)
	}
	return joinNixtla(files, o, f, binding)
}

// joinNixtla reads forecasts without what was observed, which is joined by unique_id and ds.
func joinNixtla(files []string, o *ModelOptions, f *ForecastOptions, binding string) (*ForecastReader, *Error) {
	keys := []string{"unique_id", "ds"}
	seen, e := readOracle(o, &oracle{keys: keys, value: "y"})
	if e != nil {
		return nil, e
	}
	k := len(f.Columns)
	m := &made{kind: f.Kind, k: k, groups: newGroups(o.Groups, o.Cluster), keep: o.Keys}
	var in *cells
	at, left, first := 0, int64(0), ""
	var all []string
	for _, path := range files {
		m.files = append(m.files, names(o.Names).of(path))
	}
	open := func() *Error {
		var e *Error
		if in, e = openCells(files[at], o.Names, &m.read); e != nil {
			return e
		}
		all = slices.Concat(keys, f.Columns, o.Groups)
		if o.Cluster != "" {
			all = append(all, o.Cluster)
		}
		want := make([]int, len(all))
		numbers := []int{}
		for i, name := range all {
			l := &layout{names: in.columns}
			what := "key"
			if i >= len(keys)+k {
				what = "group"
			}
			if i >= len(keys)+k+len(o.Groups) {
				what = "cluster"
			}
			if want[i], e = l.column(name, what); e != nil {
				return e.in(in.name)
			}
			if i >= len(keys) && i < len(keys)+k {
				numbers = append(numbers, i)
			}
		}
		return in.read(want, numbers...)
	}
	var key, group []byte
	m.fill = func() *Error {
		for !m.full() {
			if in == nil {
				if at == len(files) {
					return nil
				}
				if e := open(); e != nil {
					return e
				}
			}
			ok, e := in.next()
			if e != nil {
				return e
			}
			if !ok {
				in.close()
				in = nil
				at++
				continue
			}
			key = key[:0]
			for i := range keys {
				text, _ := in.of(i)
				key = appendJoin(key, text)
			}
			v, ok := seen.get(key)
			if !ok {
				if !o.DropUnmatched {
					return in.placed(seen.unmatched(keys, string(key)))
				}
				if left++; left == 1 {
					first = string(key)
				}
				continue
			}
			b := &m.block
			for i := range k {
				x, ok := in.number(len(keys) + i)
				if !ok {
					text, _ := in.of(len(keys) + i)
					return in.placed(badNumber(f.Columns[i], text))
				}
				b.values = append(b.values, x)
			}
			if len(o.Groups) > 0 {
				group = group[:0]
				for i := range o.Groups {
					text, _ := in.of(len(keys) + k + i)
					group = appendKey(group, text)
				}
				if e := b.group(m.groups, string(group)); e != nil {
					return in.placed(e)
				}
			}
			if o.Cluster != "" {
				text, _ := in.of(len(all) - 1)
				if e := b.cluster(m.groups.clusters, string(text)); e != nil {
					return in.placed(e)
				}
			}
			b.observed = append(b.observed, v.value)
			b.places = append(b.places, rowPlace{int32(at), in.row, in.line()})
			if m.keep {
				b.keys = append(b.keys, string(key))
			}
			b.rows++
		}
		return nil
	}
	m.closed = func() {
		if in != nil {
			in.close()
		}
	}
	m.notes = func() []string { return seen.notes(keys, left, first) }
	if e := open(); e != nil { // an error before rows are read
		m.closed()
		return nil, e
	}
	r := m.reader(fmt.Sprintf("%s; observed y of the oracle, joined by unique_id, ds", binding), f.Levels, nil, len(files))
	r.said = r.binding
	r.binding = ""
	return r, nil
}

// badNumber explains a cell that has no number.
func badNumber(column string, text []byte) *Error {
	e := fault("write a number", "column %q: %q is not a number", cut(column), cut(string(text)))
	e.Name, e.Value = column, string(text)
	return e
}

// modelOf returns the model of a file: its folder below the one that was named, or that folder if the file stands in it; of a file that was
// named its name without date and extension, as the Hubverse has it: 2026-11-23-MODEL.csv.
func modelOf(path, root string) string {
	if root != "" {
		if rest, err := filepath.Rel(root, filepath.Dir(path)); err == nil && rest != "." {
			return strings.Split(filepath.ToSlash(rest), "/")[0]
		}
		if abs, err := filepath.Abs(root); err == nil {
			return filepath.Base(abs)
		}
		return filepath.Base(root)
	}
	name := unpackedName(filepath.Base(path))
	if path == "-" {
		return path
	}
	name = strings.TrimSuffix(name, filepath.Ext(name))
	if len(name) > 11 && strings.IndexFunc(name[:11], func(r rune) bool { return r != '-' && (r < '0' || r > '9') }) < 0 && name[4] == '-' && name[7] == '-' && name[10] == '-' {
		return name[11:]
	}
	return name
}
