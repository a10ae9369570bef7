package predictions

import (
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/candor-go/candor/metrics"
)

// maxGroups is the most groups that rows may be in: what is evaluated by group is kept for each.
const maxGroups = 1000

// ForecastOptions says how OpenForecast reads forecasts of numbers.
type ForecastOptions struct {
	// Kind is Normals, Quantiles or Samples.
	Kind metrics.Kind

	// Columns of a table by their names in its header. Of an .npy matrix of Normals they are numbers of columns, from 0; of an .npz
	// names of its arrays, and without paths they are vector files. Empty names are mean, sd and observed, and of a matrix its
	// columns in this order.
	Mean, SD, Observed string
	// SDFactor, if set, is what SD is multiplied by where that is a scale parameter: the standard deviation of the distribution of scale 1.
	// Numbers that are not above 0, which no spread is, stay as they are.
	SDFactor float64
	// Error, if set, is in place of Mean and Observed: the observed number minus the mean.
	Error string
	// Unobserved is for forecasts that are not judged: what was observed may be missing. Where it is not named and not there, rows of
	// Normals are (mean, standard deviation), and so are those of a matrix (N, 2). Of Quantiles and Samples it is not looked for
	// where it is not named, and chunks have no Observed.
	Unobserved bool
	// Prefix is what the names of a table's columns of Quantiles begin with, before their level, between 0 and 1: q0.025 where
	// it is q. Those of Samples have any number behind it. It may be empty.
	Prefix string
	// Levels are those of the columns of Quantiles in an .npy matrix, which have no names.
	Levels []float64
	// Groups are columns that say which group a row is in: rows of equal text in all of them are of one. Those of arrays are as
	// Options has them. There are at most 1,000 groups; more are an *Error.
	Groups []string
	// Weight is the column of weights of a table; if it is empty every row counts once.
	Weight string
	// Observations and Weights are files of observed numbers and of weights beside .npy files, as those of Options.
	Observations, Weights []string

	// Names are what messages and Locate call files, as those of Options.
	Names map[string]string

	// FS, if set, is where all names are opened, .npy files as streams; "-" stays standard input.
	FS fs.FS

	Buffers     int // chunks that may be out at a time; 0 means 4, of text as many as keep all processors busy
	BufferBytes int // of a chunk: of scores, at least a row, or of text, at least a line; 0 means 2 MiB, 1 MiB of text
}

// forecasts are what a ForecastReader reads from.
type forecasts interface {
	metrics.Source
	BytesRead() int64
	Locate(row int64) (file string, rowInFile int64)
	line(row int64) int64
	said() []string
	Close() error
}

// ForecastReader streams forecasts of numbers. It is a metrics.Source.
type ForecastReader struct {
	from   forecasts
	info   Info
	levels []float64
	groups *groups

	judged bool       // rows are normal forecasts with their errors
	mu     sync.Mutex // of note
	note   string     // what the first rows look like
	factor float64    // of spreads; 0 leaves them
}

var _ metrics.Source = (*ForecastReader)(nil)

// OpenForecast returns a ForecastReader of the rows of all paths, which are shards in natural order (see NaturalSort).
//
// A path is a table if its name ends in .csv, .tsv or .txt, with .gz or .zst behind it or not, or if it is "-" or a pipe that
// does not begin as an .npy does; a table that is compressed by gzip or zstd is decompressed, whatever its name. Others are
// those of Open.
//
// # Tables
//
// A table is UTF-8 text as RFC 4180 has it: a line of names, then a line for each row, of as many cells. Lines end in LF or CRLF,
// the last one perhaps in none; empty lines stand at the end only. Cells are separated by commas where the name ends in .csv, by
// tabs in .tsv, else by what the header has of tab, comma and semicolon, in this order. A cell in double quotes may hold separators,
// lines and doubled quotes. A byte-order mark is passed over, and so are spaces and tabs around names and numbers. Columns that are
// not asked for are not looked at. Lines are of up to 32 MiB, and all shards have the same header; one without rows is passed over.
//
// Numbers are decimal and rounded as strconv.ParseFloat does. Inf and NaN are read as such, and an empty cell, NA and null (in any
// case) as NaN: a metrics.Pass counts such rows, and drops them if it is told to. Anything else is an *Error, and so is whatever a
// file has that is not said here: nothing is skipped.
//
// Chunks are float64: of Normals (mean, standard deviation, observed number), or (error, standard deviation) if Error is set, and
// of Quantiles in rising order of their levels.
//
// # Arrays
//
// Normals are a matrix (N, 3) of means, standard deviations and observed numbers, (N, 2) of means and standard deviations with
// Observations beside it, or (N, 2) of errors and standard deviations; or a vector for each of them, in an .npz or, without
// paths, in files. Quantiles are a matrix (N, Q) with Levels, and Samples (N, M), with Observations. Chunks have the array's type,
// and where they are put together from several arrays or columns float32 if all these are, else float64.
//
// Errors are *Error.
func OpenForecast(paths []string, o *ForecastOptions) (*ForecastReader, error) {
	if o == nil {
		o = &ForecastOptions{}
	}
	r, e := openForecast(paths, o)
	if e != nil {
		return nil, e
	}
	r.judged = o.Kind == metrics.Normals && (!o.Unobserved || r.info.Classes == 3)
	r.factor = o.SDFactor
	return r, nil
}

func openForecast(paths []string, o *ForecastOptions) (*ForecastReader, *Error) {
	if e := o.check(); e != nil {
		return nil, e
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
		return nil, fault("shards are all tables or all .npy files", "a table, but %s is none by its name", names(o.Names).of(sorted[j])).in(names(o.Names).of(sorted[i]))
	}
	if len(paths) == 1 && (paths[0] == "-" || o.FS == nil && streamed(paths[0]) != nil) {
		s, npy, e := sniff(paths[0])
		if e != nil {
			return nil, e.in(names(o.Names).of(paths[0]))
		}
		if !npy {
			return openTable(sorted, s, o)
		}
		return openArrays(paths, s, o)
	}
	return openArrays(paths, nil, o)
}

// IsTable tells whether OpenForecast takes a path for a table by its name.
func IsTable(path string) bool {
	path = strings.ToLower(path)
	path = strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	return strings.HasSuffix(path, ".csv") || strings.HasSuffix(path, ".tsv") || strings.HasSuffix(path, ".txt")
}

// check says which options cannot be meant.
func (o *ForecastOptions) check() *Error {
	switch o.Kind {
	case metrics.Normals:
		if o.Error != "" && (o.Mean != "" || o.Observed != "") {
			return fault("name Error and SD, or Mean, SD and Observed", "errors are observed numbers minus means, and beside them there is no column of either")
		}
		if len(o.Levels) > 0 {
			return fault("leave Levels out", "normal forecasts have no levels")
		}
	case metrics.Quantiles:
		for _, l := range o.Levels {
			if !(l > 0 && l < 1) {
				return fault("give the probabilities that the quantiles are of, as in 0.05, 0.5, 0.95", "level %v is not between 0 and 1", l)
			}
		}
		for i, l := range o.Levels {
			if slices.Contains(o.Levels[:i], l) {
				return fault("each column is of a level of its own", "level %v stands twice", l)
			}
		}
	case metrics.Samples:
		if len(o.Levels) > 0 {
			return fault("leave Levels out", "samples have no levels")
		}
	default:
		return fault("read other kinds by Open", "forecasts of numbers are normal, quantiles or samples, not %s", o.Kind)
	}
	if !(o.SDFactor >= 0 && o.SDFactor <= math.MaxFloat64) {
		return fault("give the standard deviation of the distribution of scale 1", "the factor of scale parameters is %v", o.SDFactor)
	}
	if o.Kind != metrics.Normals && (o.Mean != "" || o.SD != "" || o.Error != "" || o.SDFactor != 0) {
		return fault("leave Mean, SD and Error out", "%s have neither means nor standard deviations nor errors", o.Kind)
	}
	return nil
}

// Next returns the next rows, io.EOF after the last, or an *Error; after an error it returns that error again. An *Error of a table
// is about the first line that is wrong.
//
// It waits until one of ForecastOptions.Buffers chunks is recycled if all are out.
func (r *ForecastReader) Next() (*metrics.Chunk, error) {
	c, err := r.from.Next()
	if err == nil && r.factor != 0 {
		if c.F32 != nil {
			multiply(c.F32, c, r.factor)
		} else {
			multiply(c.F64, c, r.factor)
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

// multiply multiplies the spread of each row, which is its second number.
func multiply[T float32 | float64](x []T, c *metrics.Chunk, factor float64) {
	stride := max(c.Stride, c.Classes)
	for i := range c.Rows {
		if at := i*stride + 1; x[at] > 0 {
			x[at] = T(float64(x[at]) * factor)
		}
	}
}

// BytesRead returns how many bytes were read so far, out of Info().Bytes. It may be called at any time.
func (r *ForecastReader) BytesRead() int64 { return r.from.BytesRead() }

// Locate returns the file that has a row, as it was named in OpenForecast, and the row's number within it, from 0. It returns "", -1
// for rows that are in no file, and for those of tables that have not been read. It may be called at any time.
func (r *ForecastReader) Locate(row int64) (file string, rowInFile int64) { return r.from.Locate(row) }

// Close closes the files. Chunks that are out stay valid. A Next that waits for a chunk then returns os.ErrClosed. Closing again does
// nothing.
func (r *ForecastReader) Close() error { return r.from.Close() }

// Info returns what is read. Rows of tables are not known before the end, and -1: so are Bytes, those of the files as they are
// stored, where one is a pipe.
func (r *ForecastReader) Info() Info { return r.info }

// Levels returns the levels of Quantiles, in rising order, which is that of a row's values; nil of other kinds.
func (r *ForecastReader) Levels() []float64 { return slices.Clone(r.levels) }

// GroupColumns returns the names of the columns that rows are grouped by: those of a table, or of arrays as a Reader has them.
func (r *ForecastReader) GroupColumns() []string { return slices.Clone(r.groups.columns) }

// Group returns the text that the rows of group i have in the GroupColumns. Groups are numbered from 0 in the order of their
// first rows; those of all chunks that Next returned are known. It returns nil for other numbers. It may be called at any time.
func (r *ForecastReader) Group(i int32) []string { return r.groups.values(i) }

// Line returns the number of the line on which a row of a table begins in the file that Locate names, from 1. It returns -1 for
// rows that have not been read, or are in no table, and for those behind the first million that have line ends in quotes.
func (r *ForecastReader) Line(row int64) int64 { return r.from.line(row) }

// Notes says what a user should know of the files beside the rows: which tables end without a line end, so that their last cells may
// be cut, and that standard deviations look like variances. They are known after the last row.
func (r *ForecastReader) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.note == "" {
		return r.from.said()
	}
	return append([]string{r.note}, r.from.said()...)
}

// nan is what missing numbers are read as.
var nan = math.NaN()
