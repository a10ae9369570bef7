package recal

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"github.com/candor-go/candor/metrics"
)

// Method is a recalibration method. Its fields are its options; the zero value is the documented default.
type Method interface {
	// String returns the method with the options that differ from the default, in the syntax of Parse:
	// "histogram(bins=10,equal_mass)".
	String() string
	// Fit reads the data and returns the fitted map. Bad rows are an error, as for a metrics.Pass; rows of weight 0 are
	// absent. o may be nil. An error that wraps ErrUnreachable means that the likelihood has no maximum.
	Fit(d Data, o *Options) (Map, error)

	with(option, value string) (Method, error)             // sets one more option, as Parse reads it
	decode(f Fit, parameters json.RawMessage) (Map, error) // decodes the parameters of a file
}

// Options control how a fit works. They change no bit of its result.
type Options struct {
	Threads int   // goroutines; 0 means GOMAXPROCS
	Memory  int64 // bytes of rows to hold in memory at a time, for methods that sort; 0 means 256 MiB
}

// ErrUnreachable is wrapped by the error of a fit whose likelihood has no maximum.
var ErrUnreachable = errors.New("the likelihood has no maximum")

// ErrNoMinimum is wrapped by the error of a fit whose search ended before it found the best map.
var ErrNoMinimum = errors.New("no minimum was found")

// ErrNoRows is the error of a fit to no rows.
var ErrNoRows = errors.New("there are no rows to fit to")

// Map is a fitted recalibration. It is immutable and may be used by several goroutines at the same time.
type Map interface {
	// Method returns the method that fitted the map, as Method.String.
	Method() string
	// Fit describes the rows that the map was fitted to.
	Fit() Fit
	// Out returns the kind and number of scores per row that Apply returns for rows of kind k with this many classes. If the
	// map does not accept such rows it returns an error that names what it accepts.
	Out(k metrics.Kind, classes int) (metrics.Kind, int, error)
	// Apply writes the recalibrated rows of src, whose kind is k, to dst. dst has F64 or F32 set, the same number of rows,
	// and the number of classes that Out returns. It may be src, or share its slice if type and stride are the same. Rows
	// are not checked: for rows with NaN, and for logits of classes with +Inf or all -Inf, all results are NaN. A binary
	// logit of +Inf is a certain event, -Inf an impossible one. It panics if Out returns an error.
	Apply(dst, src *metrics.Scores, k metrics.Kind)

	parameters() any // as they appear in a file
}

// Fit describes the rows that a map was fitted to.
type Fit struct {
	Rows     int64  // number of rows, without absent ones
	Classes  int    // 1 for a binary task; for forecasts, numbers per row
	Kind     string // as metrics.Kind.String
	Weighted bool
	// LeftOut is the number of rows that were left out because the model gave their true class probability 0, and no map
	// changes that. FirstLeftOut is the number of the first of them in the whole data set, -1 if there is none.
	LeftOut, FirstLeftOut int64
	Reads                 int // of the data
}

const errApply = "recal: dst has F64 or F32, as many rows as src, and as many classes as the map makes"

// checkApply panics unless a map with this Out accepts the rows of src, and dst has room for the results.
func checkApply(out func(metrics.Kind, int) (metrics.Kind, int, error), dst, src *metrics.Scores, k metrics.Kind) {
	_, width, err := out(k, src.Classes)
	if err != nil {
		panic("recal: " + err.Error())
	}
	if dst.Rows != src.Rows || dst.Classes != width || src.Rows > 0 && (dst.F64 == nil) == (dst.F32 == nil) {
		panic(errApply)
	}
}

// threads returns the number of goroutines; 0 means GOMAXPROCS.
func (o *Options) threads() int {
	if o == nil {
		return 0
	}
	return o.Threads
}

// workers returns the number of goroutines, at least 1.
func (o *Options) workers() int {
	if n := o.threads(); n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// memory returns how many bytes of rows may be held.
func (o *Options) memory() int64 {
	if o == nil || o.Memory <= 0 {
		return 256 << 20
	}
	return o.Memory
}

// noneCounts returns the error of a fit with all rows left out.
func noneCounts(f *Fit) error {
	return unreachable("the model gave the true class probability 0 in all %d rows", f.Rows)
}

// unreachable returns an error that says why the likelihood has no maximum and what to do.
func unreachable(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrUnreachable, fmt.Sprintf(format, a...))
}
