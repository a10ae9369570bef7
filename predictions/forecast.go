package predictions

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/roles"
)

// maxGroups is the maximum number of groups.
const maxGroups = 100_000

// ForecastOptions says how OpenForecast reads regression forecasts.
type ForecastOptions struct {
	// Kind is metrics.Normals, Quantiles, Samples, Survival, Multivariate or MultivariateNormals.
	Kind metrics.Kind

	// Columns of the forecast. In a table they are names in its header, in an .npz names of arrays, and in an .npy matrix of Normals
	// numbers of columns, from 0. Without paths they are files, each with a vector. Empty names mean "mean", "sd" and "observed", or
	// the columns of a matrix in this order.
	Mean, SD, Observed string
	// SDFactor, if not 0, multiplies SD. It is for a scale parameter: the factor is the standard deviation of the distribution with
	// scale 1. Values that are not above 0 are invalid and stay as they are.
	SDFactor float64
	// Error, if set, replaces Mean and Observed: the observed value minus the mean.
	Error string
	// Unobserved allows forecasts without observed values. If Observed is not named and not found, rows of Normals are (mean, standard
	// deviation), as are those of a matrix (N, 2). For Quantiles and Samples, observed values are read only if named; otherwise
	// Chunk.Observed is nil.
	Unobserved bool
	// Prefix selects columns of a table by the start of their names. In Quantiles a level between 0 and 1 follows, as in q0.025 for
	// the prefix q; in Samples any number. It may be empty.
	Prefix string
	// Columns, if set, are the columns of Quantiles, Samples or Survival of a table, in place of Prefix. Quantiles and Survival have their Levels in
	// the same order.
	Columns []string
	// Levels are the levels of the columns of an .npy matrix of Quantiles, or of Columns. Of Survival they are the times by which the event has
	// happened with the probability in a column, above 0; the number in a name after Prefix is such a time.
	Levels []float64
	// Time and Event are columns of Survival: when each row was last seen, and 1 if the event happened then, or 0 if the row is censored. For
	// arrays they are arrays of each .npz, or files. In a table true and false are 1 and 0. Empty names mean "time" and "event".
	Time, Event string
	// Alive says that columns of Survival hold the probabilities that the event has not happened yet. They are subtracted from 1.
	Alive bool
	// Groups are columns that group rows: rows with equal text in all of them form a group. For arrays see Options.Groups. More than
	// 100,000 groups are an *Error.
	Groups []string
	// Cluster is a column that says which cluster a row is in, as in Options.
	Cluster string

	groupValue func(column int, value []byte) []byte // GroupValue of TableOptions
	// Kept are columns of a table whose cells Keep is told, in rows that follow one another: those of a chunk before Next returns it. cells[i]
	// has those of Kept[i], with the type that ForecastReader.KeptColumns says: of tables of text all are texts as they stand there, an empty
	// one missing. They are valid until Keep returns. Its error ends the reading, and Next returns it.
	Kept []string
	Keep func(rows int, cells []Cells) error
	// KeepTexts tells Keep texts whatever the types of the columns are, of dates and times too: those that CSV has for them.
	KeepTexts bool
	// Weight is a table's column of weights. If empty, every row has weight 1.
	Weight string
	// Observations and Weights are files of observed values and of weights for .npy forecasts, as in Options.
	Observations, Weights []string

	// Transform is applied to quantiles, samples and observed values. A value that it has no result for is an *Error.
	Transform metrics.Transform

	// NoHeader is for tables whose first line is a row: columns are then named by their numbers, from 0.
	NoHeader bool

	// Names maps paths to what messages and Locate call them, as in Options.
	Names map[string]string

	// FS, if set, is used to open all files, as in Options. "-" remains standard input.
	FS fs.FS

	Buffers     int // maximum number of chunks in use at a time; 0 means 4, or for text enough to keep all processors busy
	BufferBytes int // size of a chunk: of its scores (at least a row), or of its text (at least a line); 0 means 2 MiB, or 1 MiB of text
	// Share selects rows, as in Options.
	Share Share
	// PartBytes is as in TableOptions.
	PartBytes int64
}

// forecasts is the source of a ForecastReader: tables or arrays.
type forecasts interface {
	metrics.Source
	BytesRead() int64
	Locate(row int64) (file string, rowInFile int64)
	line(row int64) int64
	said() []string
	Close() error
}

// ForecastReader streams regression forecasts. It is a metrics.Source.
type ForecastReader struct {
	from             forecasts
	info             Info
	levels           []float64
	groups, clusters *groups

	scoreColumns []string // of classes
	classNames   []string
	labels       *roles.Labels // what they mean
	truth        *besideLabels // labels by position in another file; nil if there are none
	binding      string        // which column has which role
	kept         []Column
	said         string // the same of forecasts

	judged bool       // rows are normal forecasts with observed values or errors
	mu     sync.Mutex // guards note
	note   string     // on what the first rows look like
	factor float64    // of standard deviations; 0 leaves them unchanged
	alive  bool       // probabilities of survival, which are subtracted from 1

	transform metrics.Transform
}

var _ metrics.Source = (*ForecastReader)(nil)

// OpenForecast returns a ForecastReader of the rows of all paths, which are shards in natural order (see NaturalSort). It reads
// headers only. Errors are *Error.
//
// A path is a table if its name ends in .csv, .tsv or .txt, optionally followed by .gz or .zst. Standard input ("-") and pipes are
// tables unless they start like another format. Tables compressed with gzip or zstd are decompressed, whatever their names. Paths for
// which HasColumns is true have named columns, as tables have. All other paths are arrays, as in Open.
//
// Of files with named columns, rows are float32 if all columns of forecasts are float32 or float16. Missing values are NaN. A column
// that groups may have text, numbers, dates or times, in the text that CSV has for them.
//
// Tables give float64 chunks. Rows of Normals are (mean, standard deviation, observed value), or (error, standard deviation) if Error
// is set; rows of Quantiles are in ascending order of their levels, and rows of Survival in that of their times. Inf and NaN are numbers; an empty cell, NA and null are NaN, which
// a metrics.Pass counts as bad rows. Any other text is an *Error.
//
// Arrays of Normals are a matrix (N, 3) of means, standard deviations and observed values; (N, 2) of means and standard deviations,
// with Observations; (N, 2) of errors and standard deviations; or a vector for each, in an .npz or, without paths, in files. Quantiles
// are (N, Q) with Levels and Observations, samples (N, M) with Observations. Members of Multivariate are (N, M, D), and their Observations (N, D);
// both may be in each .npz. MultivariateNormals are an .npz with means (N, D), covariances (N, D, D) and observed values (N, D). In a table, a column of each observed quantity is named Observed, by default obs_, and then the quantity, as obs_wind,
// and wind_1, wind_2 are what members 1 and 2 say of it; every member has a column for every quantity. Chunks have the type of the array. If they are assembled
// from several arrays or columns, they are float32 if all of these fit in float32, else float64.
//
// docs/formats.md describes the syntax of tables.
func OpenForecast(paths []string, o *ForecastOptions) (*ForecastReader, error) {
	if o == nil {
		o = &ForecastOptions{}
	}
	r, e := openForecast(paths, o)
	if e != nil {
		return nil, e
	}
	r.judged = o.Kind == metrics.Normals && (!o.Unobserved || r.info.Classes == 3)
	r.factor, r.transform, r.alive = o.SDFactor, o.Transform, o.Alive
	return r, nil
}

func openForecast(paths []string, o *ForecastOptions) (*ForecastReader, *Error) {
	if e := o.check(); e != nil {
		return nil, e
	}
	if o.Kind == metrics.MultivariateNormals {
		if i := slices.IndexFunc(paths, func(p string) bool { return HasColumns(p) || IsTable(p) }); i >= 0 {
			return nil, fault(statedRemedy, "multivariate normal forecasts are not read from tables").in(names(o.Names).of(paths[i]))
		}
	}
	if slices.ContainsFunc(paths, HasColumns) {
		return openForecastColumns(paths, nil, o)
	}
	order := naturalOrder(paths)
	sorted := make([]string, len(paths))
	texts := 0
	for i, j := range order {
		sorted[i] = paths[j]
		if IsTable(paths[j]) {
			texts++
		}
	}
	switch {
	case texts == len(paths) && texts > 0:
		return openTable(sorted, nil, o)
	case texts > 0:
		i := slices.IndexFunc(sorted, IsTable)
		j := slices.IndexFunc(sorted, func(p string) bool { return !IsTable(p) })
		return nil, fault("shards are all tables or all .npy files", "it is a table by its name, and %s is not", names(o.Names).of(sorted[j])).in(names(o.Names).of(sorted[i]))
	}
	if len(paths) == 1 && (paths[0] == "-" || o.FS == nil && streamed(paths[0]) != nil) {
		s, npy, e := sniff(paths[0])
		if e != nil {
			return nil, e.in(names(o.Names).of(paths[0]))
		}
		if _, ok := begunBy(s.start); ok && !npy {
			return openForecastColumns(paths, s, o)
		}
		if !npy {
			return openTable(sorted, s, o)
		}
		return openArrays(paths, s, o)
	}
	return openArrays(paths, nil, o)
}

// IsTable reports whether OpenForecast reads a path as a table, judging by its name.
func IsTable(path string) bool {
	path = strings.ToLower(path)
	path = unpackedName(path)
	return strings.HasSuffix(path, ".csv") || strings.HasSuffix(path, ".tsv") || strings.HasSuffix(path, ".txt")
}

// unpackedName is the name of a file without the extension of its compression.
func unpackedName(path string) string {
	for _, e := range []string{".gz", ".zst", ".bz2", ".xz", ".zip"} {
		path = strings.TrimSuffix(path, e)
	}
	return path
}

// check returns an Error if options contradict each other.
func (o *ForecastOptions) check() *Error {
	switch o.Kind {
	case metrics.Normals:
		if o.Error != "" && (o.Mean != "" || o.Observed != "") {
			return fault(fmt.Sprintf("name %v and %v, or %[3]v, %[2]v and %[4]v", setting.Error, setting.SD, setting.Mean, setting.Observed), "errors are observed values minus means, so there is no column of either")
		}
		if len(o.Levels) > 0 {
			return fault("leave "+setting.Levels.String()+" out", "normal forecasts have no levels")
		}
	case metrics.Quantiles:
		for _, l := range o.Levels {
			if !(l > 0 && l < 1) {
				return fault("give the probabilities that the quantiles are of, as in 0.05, 0.5, 0.95", "level %v is not between 0 and 1", l)
			}
		}
		for i, l := range o.Levels {
			if slices.Contains(o.Levels[:i], l) {
				return fault("each column has its own level", "level %v appears twice", l)
			}
		}
	case metrics.Samples:
		if len(o.Levels) > 0 {
			return fault("leave "+setting.Levels.String()+" out", "samples have no levels")
		}
	case metrics.Survival:
		for i, t := range o.Levels {
			if !(t > 0 && t <= math.MaxFloat64) {
				return fault("times are numbers above 0", "%v is not a time by which an event may happen", t)
			}
			if slices.Contains(o.Levels[:i], t) {
				return fault("each column has its own time", "time %v appears twice", t)
			}
		}
		if o.Columns != nil && len(o.Columns) != len(o.Levels) {
			return fault("name a time for each column by "+setting.Horizons.String(), "%d times for %d columns", len(o.Levels), len(o.Columns))
		}
	case metrics.MultivariateNormals:
		if len(o.Levels) > 0 || o.Prefix != "" || len(o.Columns) > 0 {
			return fault("leave levels and names of columns out", "multivariate normal forecasts are arrays of an .npz")
		}
	case metrics.Multivariate:
		if len(o.Levels) > 0 || o.Prefix != "" || len(o.Columns) > 0 {
			return fault("leave levels and names of columns out", "members of forecasts of several numbers are an array, or columns named wind_1, wind_2 beside obs_wind")
		}
	default:
		return fault("read other kinds by Open", "regression forecasts are normal, quantiles or samples, not %s", o.Kind)
	}
	if o.Kind != metrics.Survival && (o.Time != "" || o.Event != "" || o.Alive) {
		return fault("leave these columns out", "%s have neither times of events nor censored rows", o.Kind)
	}
	if o.Transform != 0 && o.Kind != metrics.Quantiles && o.Kind != metrics.Samples {
		return fault("transform quantiles or samples", "means and standard deviations of a transformed variable are not the transformed ones")
	}
	if !(o.SDFactor >= 0 && o.SDFactor <= math.MaxFloat64) {
		return fault("give the standard deviation of the distribution of scale 1", "the factor of scale parameters is %v", o.SDFactor)
	}
	if o.Kind != metrics.Normals && (o.Mean != "" || o.SD != "" || o.Error != "" || o.SDFactor != 0) {
		return fault(fmt.Sprintf("leave %v, %v and %v out", setting.Mean, setting.SD, setting.Error), "%s have neither means nor standard deviations nor errors", o.Kind)
	}
	return nil
}

// Next returns the next chunk of rows, or io.EOF after the last. Other errors are *Error, and later calls return the same error. In a
// table, the error is about the first bad line.
//
// If ForecastOptions.Buffers chunks are in use, Next waits until one is recycled.
func (r *ForecastReader) Next() (*metrics.Chunk, error) {
	c, err := r.from.Next()
	if err == nil && c.Clusters != nil {
		c.ClusterName = r.Cluster
	}
	if err == nil && r.info.Dimensions > 0 {
		c.Dimensions = r.info.Dimensions
	}
	if r.truth != nil && (err == nil || err == io.EOF) {
		if bad := r.truth.label(c); bad != nil {
			return nil, bad
		}
	}
	if err == nil && r.factor != 0 {
		if c.F32 != nil {
			multiply(c.F32, c, r.factor)
		} else {
			multiply(c.F64, c, r.factor)
		}
	}
	if err == nil && r.alive {
		if c.F32 != nil {
			complement(c.F32, c)
		} else {
			complement(c.F64, c)
		}
	}
	if err == nil && r.transform == metrics.Log1p {
		if e := r.log1p(c); e != nil {
			return nil, e
		}
	}
	if err == nil && c.First == 0 && r.judged {
		if note := likelyVariances(c); note != "" {
			r.mu.Lock()
			defer r.mu.Unlock()
			file, _ := r.Locate(0)
			r.note = file + ": " + note
		}
	}
	return c, err
}

// complement subtracts the probabilities of each row of Survival from 1.
func complement[T float32 | float64](x []T, c *metrics.Chunk) {
	stride := max(c.Stride, c.Classes)
	for i := range c.Rows {
		row := x[i*stride:][:c.Classes-2]
		for j, v := range row {
			row[j] = 1 - v
		}
	}
}

// multiply scales the standard deviation of each row, its second value.
func multiply[T float32 | float64](x []T, c *metrics.Chunk, factor float64) {
	stride := max(c.Stride, c.Classes)
	for i := range c.Rows {
		if at := i*stride + 1; x[at] > 0 {
			x[at] = T(float64(x[at]) * factor)
		}
	}
}

// BytesRead returns the number of bytes read so far, out of Info().Bytes. It may be called at any time.
func (r *ForecastReader) BytesRead() int64 { return r.from.BytesRead() }

// Locate returns the file of a row, as named in OpenForecast, and the row's number in that file, from 0. It returns "", -1 for a row
// that is in no file, or in a table and not read yet. It may be called at any time.
func (r *ForecastReader) Locate(row int64) (file string, rowInFile int64) { return r.from.Locate(row) }

// Close closes the files. Chunks in use stay valid. A Next that waits for a chunk then returns os.ErrClosed. Closing again has no
// effect.
func (r *ForecastReader) Close() error {
	if r.truth != nil {
		defer r.truth.close()
	}
	return r.from.Close()
}

// Info returns what is being read. The rows of tables are -1 until all have been read. So are Bytes if a file is a pipe; otherwise
// they count the files as stored.
func (r *ForecastReader) Info() Info { return r.info }

// Levels returns the levels of Quantiles, or the times of Survival, in ascending order, the order of a row's values; nil for other kinds.
func (r *ForecastReader) Levels() []float64 { return slices.Clone(r.levels) }

// ScoreColumns returns the names of the columns of scores of classes, for a reader from OpenTable, or of all numbers of a row of Multivariate, for a
// table; nil for others.
func (r *ForecastReader) ScoreColumns() []string { return slices.Clone(r.scoreColumns) }

// ClassNames returns the names of the classes, for a reader from OpenTable, of a binary task the event's last; nil if they have none.
func (r *ForecastReader) ClassNames() []string { return slices.Clone(r.classNames) }

// Binding says which columns of a table have which role, as "scores p_cat, p_dog; label y", for a reader from OpenTable.
func (r *ForecastReader) Binding() string { return r.binding }

// KeptColumns returns the columns whose cells Keep is told.
func (r *ForecastReader) KeptColumns() []Column { return slices.Clone(r.kept) }

// Joined says what a reader from OpenModel puts together; "" for others.
func (r *ForecastReader) Joined() string { return r.said }

// GroupColumns returns the names of the columns that group rows: of a table, or of arrays as in Reader.GroupColumns.
func (r *ForecastReader) GroupColumns() []string { return slices.Clone(r.groups.columns) }

// Group returns the values of group i in the GroupColumns. Groups are numbered from 0 in order of their first rows. It returns nil for
// a group that no returned chunk contains. It may be called at any time.
func (r *ForecastReader) Group(i int32) []string { return r.groups.values(i) }

// ClusterColumn returns the name of the column of clusters: of a table, or of arrays as in Reader.ClusterColumn; "" if there is none.
func (r *ForecastReader) ClusterColumn() string { return r.clusters.column() }

// Cluster returns the text of cluster i. Clusters are numbered from 0 in order of their first rows. It returns "" for a cluster that no
// returned chunk contains. It may be called at any time.
func (r *ForecastReader) Cluster(i int32) string { return r.clusters.name(i) }

// Line returns the line on which a row of a table starts, from 1, in the file that Locate names. It returns -1 for a row that has not
// been read, that is not in a table, or that follows a million rows with line breaks in quotes.
func (r *ForecastReader) Line(row int64) int64 { return r.from.line(row) }

// Notes returns remarks on the files: tables whose last line has no line end, so that it may be truncated, and standard deviations
// that look like variances; an event that no label is. They are complete after the last row.
func (r *ForecastReader) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var l []string
	if r.note != "" {
		l = append(l, r.note)
	}
	if r.labels != nil {
		if event, other := r.labels.Unseen(); event != "" {
			l = append(l, fmt.Sprintf("no label is the event, %q; another label is %q", cut(event), cut(other)))
		}
	}
	return append(l, r.from.said()...)
}

// nan is the value of missing numbers.
var nan = math.NaN()
