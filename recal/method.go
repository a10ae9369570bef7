package recal

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"github.com/candor-go/candor/metrics"
)

// Method is a way to recalibrate. It is a value whose fields are its options; the zero value is the documented default.
type Method interface {
	// String returns the method with the options that are not the default, as Parse reads it: "histogram(bins=10,equal_mass)".
	String() string
	// Fit reads the data and returns the map that suits them. Bad rows are an error, as a metrics.Pass has it; rows of weight 0 are
	// absent. o may be nil. An error that wraps ErrUnreachable says that the likelihood has no maximum.
	Fit(d Data, o *Options) (Map, error)

	with(option, value string) (Method, error)             // with one more option, as Parse reads it
	decode(f Fit, parameters json.RawMessage) (Map, error) // of a file
}

// Options say how a fit does its work. They change no bit of its result.
type Options struct {
	Threads int   // goroutines; 0 means GOMAXPROCS
	Memory  int64 // bytes that a method may hold of the rows at a time, where it has to sort them; 0 means 256 MiB
}

// ErrUnreachable is wrapped by the error of a fit whose likelihood has no maximum.
var ErrUnreachable = errors.New("the likelihood has no maximum")

// ErrNoMinimum is wrapped by the error of a fit whose search ended before it found the best map.
var ErrNoMinimum = errors.New("no minimum was found")

// ErrNoRows is the error of a fit to no rows.
var ErrNoRows = errors.New("there are no rows to fit to")

// Map is a fitted recalibration. It never changes, and any number of goroutines may use it at the same time.
type Map interface {
	// Method returns what the map was fitted by, as Method.String has it.
	Method() string
	// Fit tells of the rows that it was fitted to.
	Fit() Fit
	// Out says what Apply makes of rows of so many scores of a kind: their kind and number of scores a row. It is an error, which
	// says what the map takes, if it takes no such rows.
	Out(k metrics.Kind, classes int) (metrics.Kind, int, error)
	// Apply writes to dst what the map makes of the rows of src, whose kind is k. dst has its F64 or F32 set, as many rows, and as
	// many classes as Out says; it may be src, or share its slice if type and stride are the same. Nothing is checked of the rows: of
	// one with NaN, and of logits of classes with +Inf or all -Inf, all results are NaN. A binary task's logit +Inf is a certain event, as
	// -Inf is an impossible one. It panics where Out is an error.
	Apply(dst, src *metrics.Scores, k metrics.Kind)

	parameters() any // what a file has of the map
}

// Fit describes the rows that a map was fitted to.
type Fit struct {
	Rows     int64  // that there were, without absent ones
	Classes  int    // 1 of a binary task; of forecasts the numbers of a row
	Kind     string // as metrics.Kind has it
	Weighted bool
	// LeftOut is the number of rows that could not count, because the model gave their true class no probability, and FirstLeftOut the
	// number of the first in the whole set, -1 if there is none. No map gives them any.
	LeftOut, FirstLeftOut int64
	Reads                 int // of the data
}

const errApply = "recal: dst has F64 or F32, as many rows as src, and as many classes as the map makes"

// checkApply panics unless a map, whose Out is given, takes the rows of src, and dst has room for what it makes.
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

// noneCounts returns the error of a fit to rows that are all left out.
func noneCounts(f *Fit) error {
	return unreachable("the model gave the true class probability 0 in all %d rows", f.Rows)
}

// unreachable returns an error that says why the likelihood has no maximum, and what to do.
func unreachable(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrUnreachable, fmt.Sprintf(format, a...))
}
