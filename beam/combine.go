package candorbeam

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/predictions/roles"
)

func init() {
	beam.RegisterType(reflect.TypeFor[Shard]())
	beam.RegisterType(reflect.TypeFor[Row]())
	beam.RegisterCoder(reflect.TypeFor[State](), encode, decode)
	beam.RegisterType(reflect.TypeFor[*ShardsFn]())
	register.Combiner3[State, Row, []byte](&RowsFn{})
}

// Options says what is evaluated. Beam sends it to workers as JSON.
type Options struct {
	// Kind is metrics.Probs, metrics.Logits or metrics.LogProbs.
	Kind metrics.Kind
	// Metrics is a list such as "accuracy,ece(bins=30)"; "" stands for the default set.
	Metrics string
	// Classification leaves two columns of scores two classes. Otherwise they are a binary task with the second one's probability.
	Classification bool
	// Threads is the number of goroutines that evaluate a file; 0 means 1, as Beam gives a worker several bundles at a time. It changes no bit.
	Threads int
	// Drop leaves out bad rows and counts them. Otherwise they are an error.
	Drop bool
	// Renormalize divides each row of probabilities by its sum.
	Renormalize bool

	// Columns says which columns of tables have which role, and Event which label of a binary task is 1, as in predictions.TableOptions.
	Columns roles.Want
	Event   string
}

// Shard is a file of predictions, which may have no rows. A path with a scheme, such as gs://bucket/a.npy, is opened by Beam's file system of that scheme, which the
// program imports; such a file is read once from its start, so it cannot be an .npz or Parquet file.
type Shard struct {
	Path string // a table, or an array: .npy or .npz
	// Labels and Weights are arrays beside an array of scores. "" takes them from the .npz; tables have columns.
	Labels, Weights string
}

// Row is one row of scores.
type Row struct {
	// F32 or F64 holds the scores, one for each class, or one alone in a binary task. All rows use the same of the two.
	F32    []float32
	F64    []float64
	Label  int32
	Weight float64 // 0 stands for 1; all rows have one, or none has
}

// Shards returns the state of all files in a PCollection of Shard: a PCollection of one []byte.
func Shards(s beam.Scope, o Options, files beam.PCollection) beam.PCollection {
	return beam.Combine(s.Scope("candor.Shards"), &ShardsFn{o}, files)
}

// Rows returns the state of all rows in a PCollection of Row: a PCollection of one []byte.
func Rows(s beam.Scope, o Options, rows beam.PCollection) beam.PCollection {
	return beam.Combine(s.Scope("candor.Rows"), &RowsFn{o}, rows)
}

// Open returns the evaluation of a state. The state of no rows at all is an error: it has no classes.
func Open(state []byte) (*eval.Evaluation, error) {
	if len(state) == 0 {
		return nil, errors.New("candorbeam: the state is of no rows; check what the pipeline reads")
	}
	e := new(eval.Evaluation)
	return e, e.UnmarshalBinary(state)
}

// ShardsFn is a CombineFn from Shard to a state.
type ShardsFn struct{ Options Options }

// CreateAccumulator returns the state of no rows.
func (*ShardsFn) CreateAccumulator() State { return State{} }

// AddInput adds the rows of a file.
func (f *ShardsFn) AddInput(ctx context.Context, a State, s Shard) (State, error) {
	r, names, err := f.Options.open(ctx, s)
	if errors.Is(err, predictions.ErrNoRows) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	defer r.Close()
	e, err := f.Options.evaluation(r.Info().Classes, names)
	if err != nil {
		return a, fmt.Errorf("%s: %w", s.Path, err)
	}
	if err := e.AddSource(r, f.Options.pass()); errors.Is(err, predictions.ErrNoRows) {
		return a, nil
	} else if err != nil {
		return a, fmt.Errorf("%s: %w", s.Path, err)
	}
	if err := a.merge(e); err != nil {
		return a, fmt.Errorf("%s: %w", s.Path, err)
	}
	return a, nil
}

// MergeAccumulators adds the rows of b to a.
func (f *ShardsFn) MergeAccumulators(a, b State) (State, error) { return merged(a, b) }

// ExtractOutput returns the state in the form of a file; nil if there are no rows.
func (f *ShardsFn) ExtractOutput(a State) ([]byte, error) { return a.bytes() }

// RowsFn is a CombineFn from Row to a state.
type RowsFn struct{ Options Options }

// CreateAccumulator returns the state of no rows.
func (*RowsFn) CreateAccumulator() State { return State{} }

// AddInput adds a row.
func (f *RowsFn) AddInput(a State, r Row) (State, error) {
	if a.waiting == nil {
		a.waiting = &waiting{options: f.Options}
	}
	if err := a.waiting.add(&r); err != nil {
		return a, err
	}
	if len(a.waiting.labels) < most {
		return a, nil
	}
	return a, a.settle()
}

// MergeAccumulators adds the rows of b to a.
func (f *RowsFn) MergeAccumulators(a, b State) (State, error) { return merged(a, b) }

// ExtractOutput returns the state in the form of a file; nil if there are no rows.
func (f *RowsFn) ExtractOutput(a State) ([]byte, error) { return a.bytes() }

func (o *Options) pass() *metrics.Options {
	return &metrics.Options{Threads: max(1, o.Threads), Drop: o.Drop, Renormalize: o.Renormalize}
}

// evaluation returns one of no rows.
func (o *Options) evaluation(classes int, names []string) (*eval.Evaluation, error) {
	spec := eval.Spec{Classes: classes, Kind: o.Kind, Names: names}
	list := o.Metrics
	if list == "" {
		list = "default"
	}
	var err error
	if spec.Metrics, err = eval.ParseMetrics(list, spec.Shape()); err != nil {
		return nil, err
	}
	e, err := eval.New(spec)
	if err != nil {
		return nil, err
	}
	e.Threads = max(1, o.Threads)
	return e, nil
}

// event is that of two columns.
func (o *Options) event() predictions.Event {
	if o.Classification {
		return predictions.NoEvent
	}
	return predictions.Class1
}
