package metrics_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
	"gonum.org/v1/gonum/mat"
)

func TestMergeErrors(t *testing.T) {
	with := func(a metrics.Accumulator, k int, weighted bool) metrics.Accumulator {
		p := even(5, k, metrics.Probs, metrics.Float32)
		if weighted {
			p.Weights = []float64{1, 2, 3, 4, 5}
		}
		feed(t, p, nil, a)
		return a
	}
	more := func(a metrics.Accumulator, decided, scored bool) metrics.Accumulator {
		p := even(5, 3, metrics.Probs, metrics.Float32)
		if decided {
			p.Decisions = []int32{0, 1, 2, 1, 0}
		}
		if scored {
			p.ConfidenceScores = []float64{0.5, 0.25, 2, -1, 0}
		}
		feed(t, p, nil, a)
		return a
	}
	bins := func(o calib.Options) metrics.Accumulator { return metrics.Must(calib.NewBins(&o)) }
	for _, c := range []struct {
		a, b metrics.Accumulator
		says []string
	}{
		{bins(calib.Options{}), metrics.Must(score.NewLoss(nil)), []string{"calib.Bins and *score.Loss"}},
		{metrics.Must(score.NewLoss(nil)), bins(calib.Options{}), []string{"score.Loss and *calib.Bins"}},
		{bins(calib.Options{}), bins(calib.Options{Bins: 30}), []string{"calib.Bins", "bins=30"}},
		{bins(calib.Options{One: calib.OverflowBin}), bins(calib.Options{Zero: calib.DropZero}), []string{"(one=overflow)", "(zero=dropped)"}},
		{metrics.Must(score.NewLoss(nil)), metrics.Must(score.NewLoss(&score.Options{TopK: 7})), []string{"top-5", "top-7"}},
		{with(bins(calib.Options{}), 3, false), with(bins(calib.Options{}), 4, false), []string{"3 classes", "4"}},
		{with(metrics.Must(score.NewLoss(nil)), 3, false), with(metrics.Must(score.NewLoss(nil)), 1, false), []string{"3 classes", "1"}},
		{with(bins(calib.Options{}), 3, false), with(bins(calib.Options{}), 3, true), []string{"weights"}},
		{with(metrics.Must(score.NewLoss(nil)), 3, true), with(metrics.Must(score.NewLoss(nil)), 3, false), []string{"weights"}},
		{more(bins(calib.Options{}), true, false), more(bins(calib.Options{}), false, false), []string{"decisions"}},
		{more(bins(calib.Options{}), true, false), more(bins(calib.Options{}), true, true), []string{"confidence scores"}},
		{score.NewMean(score.SphericalRule), score.NewMean(score.RankedRule), []string{"rule 0", "rule 1"}},
		{score.NewMean(score.RankedRule), metrics.Must(score.NewLoss(nil)), []string{"score.Mean and *score.Loss"}},
		{with(score.NewMean(0), 3, false), with(score.NewMean(0), 4, false), []string{"score.Mean", "3 classes", "4"}},
		{with(score.NewMean(0), 3, true), with(score.NewMean(0), 3, false), []string{"score.Mean", "weights"}},
		{metrics.Must(score.NewClipped(score.NLLOptions{Clip: 0.125})), metrics.Must(score.NewClipped(score.NLLOptions{})), []string{"score.Clipped", "0.125"}},
		{metrics.Must(score.NewClipped(score.NLLOptions{})), metrics.Must(score.NewLoss(nil)), []string{"score.Clipped and *score.Loss"}},
		{with(metrics.Must(score.NewClipped(score.NLLOptions{})), 3, false), with(metrics.Must(score.NewClipped(score.NLLOptions{})), 4, false), []string{"score.Clipped", "3 classes", "4"}},
		{with(metrics.Must(score.NewClipped(score.NLLOptions{})), 3, true), with(metrics.Must(score.NewClipped(score.NLLOptions{})), 3, false), []string{"score.Clipped", "weights"}},
		{score.NewBaseRates(), metrics.Must(score.NewLoss(nil)), []string{"score.BaseRates and *score.Loss"}},
		{with(score.NewBaseRates(), 3, false), with(score.NewBaseRates(), 1, false), []string{"score.BaseRates", "3 classes", "1"}},
		{score.NewBalanced(), metrics.Must(score.NewLoss(nil)), []string{"score.Balanced and *score.Loss"}},
		{with(score.NewBalanced(), 3, false), with(score.NewBalanced(), 4, false), []string{"score.Balanced", "3 classes", "4"}},
		{with(score.NewBalanced(), 3, true), with(score.NewBalanced(), 3, false), []string{"score.Balanced", "weights"}},
		{more(score.NewBalanced(), true, false), more(score.NewBalanced(), false, false), []string{"score.Balanced", "decisions"}},
		{binfree.NewEProcess(metrics.TopLabel), metrics.Must(score.NewLoss(nil)), []string{"binfree.EProcess and *score.Loss"}},
		{binfree.NewEProcess(metrics.TopLabel), binfree.NewEProcess(metrics.ByShape), []string{"binfree.EProcess", "event 1", "0"}},
		{with(binfree.NewEProcess(metrics.ByShape), 3, false), with(binfree.NewEProcess(metrics.ByShape), 4, false), []string{"binfree.EProcess", "3 classes", "4"}},
		{with(binfree.NewEProcess(metrics.ByShape), 3, true), with(binfree.NewEProcess(metrics.ByShape), 3, false), []string{"binfree.EProcess", "weights"}},
		{more(binfree.NewEProcess(metrics.ByShape), true, false), more(binfree.NewEProcess(metrics.ByShape), false, false), []string{"binfree.EProcess", "decisions"}},
		{score.NewDecomposition(), metrics.Must(score.NewLoss(nil)), []string{"score.Decomposition and *score.Loss"}},
		{with(score.NewDecomposition(), 3, true), with(score.NewDecomposition(), 3, false), []string{"score.Decomposition", "weights"}},
		{more(metrics.Must(score.NewLoss(nil)), true, false), more(metrics.Must(score.NewLoss(nil)), false, false), []string{"decisions"}},
	} {
		before := state(t, c.a)
		err := c.a.Merge(c.b)
		if !errors.Is(err, metrics.ErrMismatch) {
			t.Errorf("%v: %v", c.says, err)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("no %q in %q", s, err)
			}
		}
		sameState(t, "after a refused merge", state(t, c.a), before)
	}
	// An empty one takes part in any merge of its options, on either side.
	full := with(bins(calib.Options{}), 3, true)
	s := state(t, full)
	if err := full.Merge(full.Empty()); err != nil {
		t.Error(err)
	}
	e := full.Empty()
	if err := e.Merge(full); err != nil {
		t.Error(err)
	}
	sameState(t, "empty merges", state(t, full), s)
	sameState(t, "merge into an empty one", state(t, e), s)
}

// TestAllocations holds that a Pass allocates for its goroutines and chunks, not for its blocks or rows.
func TestAllocations(t *testing.T) {
	allocs := func(n, k int, kind metrics.Kind, weighted bool) float64 {
		p := even(n, k, kind, metrics.Float32)
		if weighted {
			p.Weights = make([]float64, n)
			for i := range p.Weights {
				p.Weights[i] = float64(i%3) + 0.5
			}
		}
		accs := []metrics.Accumulator{metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(nil)), metrics.Must(calib.NewBins(&calib.Options{Event: calib.AllClasses}))}
		pass := metrics.NewPass(&metrics.Options{Threads: 1}, accs...)
		return testing.AllocsPerRun(3, func() {
			if err := pass.Add(p); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, k := range []int{1, 3, 40} {
		for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
			for _, weighted := range []bool{false, true} {
				if testing.Short() && weighted != ((k+int(kind))%2 == 0) {
					continue
				}
				// All of these are one chunk of at most 256 KiB: a block or two, and 30 to 2.
				few, many := allocs(1100, k, kind, weighted), allocs(61440/k, k, kind, weighted)
				if many > few+2 || many > 120 {
					t.Errorf("%d classes, %v, weighted %v: %v allocations for 1,100 rows, %v for %d", k, kind, weighted, few, many, 61440/k)
				}
			}
		}
	}
}

func TestFromMatrix(t *testing.T) {
	data := make([]float64, 6*5)
	for i := range data {
		data[i] = math.Sin(float64(3 * i))
	}
	run := func(s metrics.Scores) []byte {
		p := &metrics.Predictions{Scores: s, Kind: metrics.Logits, Labels: make([]int32, s.Rows)}
		for i := range p.Labels {
			p.Labels[i] = int32(i % 2)
		}
		accs := all(s.Classes)
		feed(t, p, nil, accs...)
		return state(t, accs...)
	}
	packed := func(m mat.Matrix) metrics.Scores {
		r, c := m.Dims()
		s := metrics.Scores{F64: make([]float64, 0, r*c), Rows: r, Classes: c}
		for i := range r {
			for j := range c {
				s.F64 = append(s.F64, m.At(i, j))
			}
		}
		return s
	}
	d := mat.NewDense(6, 5, data)
	slice := d.Slice(1, 5, 2, 5).(*mat.Dense)
	column := d.Slice(0, 6, 4, 5).(*mat.Dense)
	for _, c := range []struct {
		name   string
		m      mat.Matrix
		first  *float64 // nil if it has to be a copy
		stride int
	}{
		{"dense", d, &data[0], 5},
		{"slice", slice, &data[1*5+2], 5},
		{"column", column, &data[4], 5},
		{"transpose", d.T(), nil, 6},
		{"transpose of a slice", slice.T(), nil, 4},
		{"vector", d.ColView(2), nil, 1},
		{"row view", d.RowView(2), nil, 1},
	} {
		s := metrics.FromMatrix(c.m)
		if r, k := c.m.Dims(); s.Rows != r || s.Classes != k || s.Stride != c.stride {
			t.Errorf("%s: %d rows, %d classes, stride %d", c.name, s.Rows, s.Classes, s.Stride)
		}
		if copied := &s.F64[0] != c.first; copied != (c.first == nil) {
			t.Errorf("%s: copied: %v", c.name, copied)
		}
		sameState(t, c.name, run(s), run(packed(c.m)))
	}
}

func TestNames(t *testing.T) {
	for d, want := range map[metrics.DType]string{metrics.Float64: "float64", metrics.Float32: "float32", metrics.Float16: "float16", metrics.BFloat16: "bfloat16", 9: "DType(9)"} {
		if d.String() != want {
			t.Errorf("%v, want %s", d, want)
		}
	}
	for k, want := range map[metrics.Kind]string{metrics.Probs: "probs", metrics.Logits: "logits", metrics.LogProbs: "logprobs", metrics.Normals: "normal", metrics.Multivariate: "multivariate", metrics.MultivariateNormals: "multivariate_normal", 11: "Kind(11)"} {
		if k.String() != want {
			t.Errorf("%v, want %s", k, want)
		}
	}
	for i, d := range dtypes {
		if d.Size() != []int{8, 4, 2, 2}[i] || d.Epsilon() != []float64{0x1p-52, 0x1p-23, 0x1p-10, 0x1p-7}[i] {
			t.Errorf("%v: %d bytes, epsilon %v", d, d.Size(), d.Epsilon())
		}
	}
}
