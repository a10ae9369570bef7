package recal_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/recal"
)

// realMethods are the rows of the table for probabilities of classes, realTop what it has besides of more than two classes, and
// realNumbers are those for regression forecasts.
var (
	realMethods = []string{"temperature", "ets", "vector", "matrix", "dirichlet(off_diagonal=1,bias=1)", "histogram", "histogram(equal_mass)", "isotonic", "isotonic(interpolate)",
		"spline", "venn_abers", "bbq", "bbq(prune)", "platt", "platt(smoothed)", "beta"}
	realTop = []string{"histogram(top_label)", "isotonic(top_label)", "spline(top_label)", "venn_abers(top_label)", "bbq(top_label)", "platt(top_label)", "beta(top_label)"}

	realNumbers = []string{"sigma", "quantile"} // the first for normal forecasts alone
)

// TestRealSetsTable prints, with -v, the table of docs/recalibration.md: each method is fitted to a half of a set, and the metrics are
// those of the other half. CANDOR_REAL names the folder that has a folder for each set, with probs.npy and labels.npy, or of forecasts of
// a number what the sets below say. Sets of more than 20,000 rows are left out but with CANDOR_UPDATE=1, and it then takes some minutes.
// Without that, and if not everything is asked for, matrix scaling of 100 classes is left to TestLinearReal, which fits to the same set.
func TestRealSetsTable(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		// They are not ours to distribute. Where CI finds them it fails if this skips.
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "probs.npy"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sets in %s: %v", dir, err)
	}
	realHead("set", "method", "NLL", "rows with probability 0", "NLL of the others", "Brier", "ECE")
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		labels := []string{filepath.Join(dir, name, "labels.npy")}
		d := recal.OpenFunc(func() (recal.Source, error) {
			return predictions.Open([]string{path}, &predictions.Options{Labels: labels})
		})
		var info predictions.Info
		realOpen(t, d, func(src recal.Source) { info = src.(*predictions.Reader).Info() })
		if os.Getenv("CANDOR_UPDATE") == "" && info.Rows > 20000 {
			continue
		}
		methods := realMethods
		if info.Classes > 2 {
			methods = slices.Concat(methods, realTop)
			if info.Classes >= 100 && os.Getenv("CANDOR_UPDATE") == "" && !check.Full() {
				methods = slices.DeleteFunc(methods, func(m string) bool { return m == "matrix" || strings.HasPrefix(m, "dirichlet") })
			}
		} else {
			methods = slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return m == "vector" || m == "matrix" || strings.HasPrefix(m, "dirichlet") })
		}
		shape := eval.Shape{Classes: info.Classes, Kind: metrics.Probs}
		realRows(t, name, d, methods, shape, nil, []string{"nll", realZero, realOthers, "brier", "ece(bins=15)"})
	}

	realHead("set", "method", "CRPS", "WIS", "coverage of 90%")
	for _, s := range []struct {
		name, path string
		o          predictions.ForecastOptions
	}{
		{"covid_eu_quantiles23", "table.csv", predictions.ForecastOptions{Kind: metrics.Quantiles, Prefix: "q"}},
		{"monsoon_precip_ens51", "members.npy", predictions.ForecastOptions{Kind: metrics.Samples,
			Observations: []string{filepath.Join(dir, "monsoon_precip_ens51", "obs.npy")}}},
		{"pernot_logp_10k_a_ls_gcn_test_cal", "table.csv", predictions.ForecastOptions{Kind: metrics.Normals, Error: "error", SD: "std"}},
		{"pernot_qm9_e_test_cal", "table.csv", predictions.ForecastOptions{Kind: metrics.Normals, Error: "error", SD: "std"}},
	} {
		d := recal.OpenFunc(func() (recal.Source, error) {
			return predictions.OpenForecast([]string{filepath.Join(dir, s.name, s.path)}, &s.o)
		})
		var levels []float64
		shape := eval.Shape{Kind: s.o.Kind}
		realOpen(t, d, func(src recal.Source) {
			r := src.(*predictions.ForecastReader)
			levels, shape.Classes = r.Levels(), r.Info().Classes
		})
		methods := realNumbers
		if s.o.Kind != metrics.Normals {
			methods = methods[1:]
		}
		realRows(t, s.name, d, methods, shape, levels, []string{"crps", "wis", "coverage_90"})
	}
}

// What the tables have that is no metric.
const (
	realZero   = "rows whose true class has probability 0"
	realOthers = "NLL of the others"
)

// realLoss sums the NLL.
type realLoss struct {
	sum        float64
	zero, rows int64
}

func (a *realLoss) Needs() metrics.Need                 { return 0 }
func (a *realLoss) Empty() metrics.Accumulator          { return &realLoss{} }
func (a *realLoss) Len() int64                          { return a.rows }
func (a *realLoss) AppendBinary([]byte) ([]byte, error) { return nil, nil }
func (a *realLoss) UnmarshalBinary([]byte) error        { return nil }

func (a *realLoss) AddBlock(b *metrics.Block) {
	for _, v := range b.Stats.NLL[:b.Rows] {
		if a.rows++; math.IsInf(v, 1) {
			a.zero++
		} else {
			a.sum += v
		}
	}
}

func (a *realLoss) Merge(o metrics.Accumulator) error {
	l := o.(*realLoss)
	a.sum, a.zero, a.rows = a.sum+l.sum, a.zero+l.zero, a.rows+l.rows
	return nil
}

func realHead(columns ...string) {
	if testing.Verbose() {
		fmt.Printf("\n| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
	}
}

func realOpen(t *testing.T, d recal.Data, f func(recal.Source)) {
	t.Helper()
	src, err := d.Open()
	if err != nil {
		t.Fatal(err)
	}
	f(src)
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
}

// realRows prints the rows of a set, and holds each method to what it promises.
func realRows(t *testing.T, name string, d recal.Data, methods []string, shape eval.Shape, levels []float64, columns []string) {
	t.Helper()
	fitted, other := recal.Folds{K: 2}.Split(d, 0)
	before := realValues(t, other, nil, shape, levels, columns)
	realPrint(name, "none", before)
	for _, text := range methods {
		m, err := recal.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		given := levels
		if q, ok := m.(recal.Quantile); ok && shape.Kind == metrics.Quantiles {
			q.Levels = levels
			m = q
		}
		fit, err := m.Fit(fitted, nil)
		if err != nil {
			why := "an error"
			if errors.Is(err, recal.ErrUnreachable) {
				why = "no best map"
			}
			t.Logf("%s, %s: %v", name, text, err)
			realPrint(name, text+": "+why, slices.Repeat([]float64{math.NaN()}, len(columns)))
			continue
		}
		out := shape
		if out.Kind, out.Classes, err = fit.Out(shape.Kind, shape.Classes); err != nil {
			t.Fatalf("%s, %s: %v", name, text, err)
		}
		if l, ok := fit.(interface{ Levels() []float64 }); ok {
			given = l.Levels()
		}
		after := realValues(t, other, fit, out, given, columns)
		realPrint(name, text, after)
		// One number cannot overfit this many rows.
		if text == "temperature" && fit.Fit().Rows > 3000 && !(after[0] <= before[0]+0.002) {
			t.Errorf("%s, %s: the NLL of rows that were not seen goes from %v to %v", name, text, before[0], after[0])
		}
	}
}

func realPrint(name, method string, values []float64) {
	if !testing.Verbose() {
		return
	}
	fmt.Printf("| %s | %s |", name, method)
	for i, v := range values {
		switch {
		case math.IsNaN(v):
			fmt.Print(" - |")
		case math.IsInf(v, 1):
			fmt.Print(" inf |")
		case i == 1 && v == math.Trunc(v):
			fmt.Printf(" %.0f |", v)
		default:
			fmt.Printf(" %.4f |", v)
		}
	}
	fmt.Println()
}

// realValues returns the metrics of what a map, which may be nil, makes of rows, NaN of those that such rows do not have.
func realValues(t *testing.T, d recal.Data, m recal.Map, shape eval.Shape, levels []float64, names []string) []float64 {
	t.Helper()
	values := make([]float64, len(names))
	spec := eval.Spec{Classes: shape.Classes, Kind: shape.Kind}
	if shape.Kind == metrics.Quantiles {
		spec.Levels = levels
	}
	at := map[int]eval.Metric{}
	for i, n := range names {
		values[i] = math.NaN()
		if l, err := eval.ParseMetrics(n, shape); err == nil {
			at[i] = l[0]
			spec.Metrics = append(spec.Metrics, l[0])
		}
	}
	e, err := eval.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	each := func(add func(metrics.Source) error) {
		realOpen(t, d, func(src recal.Source) {
			var rows metrics.Source = src
			if m != nil {
				rows = recal.Applied(m, src)
			}
			if err := add(rows); err != nil {
				t.Fatal(err)
			}
		})
	}
	each(func(rows metrics.Source) error { return e.AddSource(rows, nil) })
	if i := slices.Index(names, realZero); i >= 0 {
		var l realLoss
		each(func(rows metrics.Source) error { return metrics.NewPass(nil, &l).AddSource(rows) })
		values[i], values[i+1] = float64(l.zero), l.sum/float64(l.rows-l.zero)
	}
	for i, m := range at {
		values[i] = e.Value(m).Value
	}
	return values
}

// TestRealSetsRows prints, with -v and CANDOR_UPDATE=1, in how many of ten draws of so many rows of one half of a set a map that was
// fitted to them has a lower Brier score than the probabilities as they are, on the other half. Without, it is one draw of one set.
func TestRealSetsRows(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		// They are not ours to distribute. Where CI finds them it fails if this skips.
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	rows, draws, sets := []int{30, 100, 300, 1000, 3000}, 10, []string{"netcal_c10_wrn16_4", "netcal_c100_densenet_bc100"}
	if os.Getenv("CANDOR_UPDATE") == "" {
		draws, sets = 1, sets[:1]
	}
	realHead("set", "method", "30 rows", "100", "300", "1,000", "3,000")
	for _, name := range sets {
		d := recal.OpenFunc(func() (recal.Source, error) {
			return predictions.Open([]string{filepath.Join(dir, name, "probs.npy")},
				&predictions.Options{Labels: []string{filepath.Join(dir, name, "labels.npy")}})
		})
		shape := eval.Shape{Kind: metrics.Probs}
		realOpen(t, d, func(src recal.Source) { shape.Classes = src.(*predictions.Reader).Info().Classes })
		half, other := recal.Folds{K: 2}.Split(d, 0)
		before := realValues(t, other, nil, shape, nil, []string{"brier"})
		for _, text := range slices.Concat(realMethods, realTop) {
			m, err := recal.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			better := make([]float64, len(rows))
			for i, n := range rows {
				for draw := range draws {
					some := realPart(half, n, uint64(draw))
					fit, err := m.Fit(some, nil)
					if err == nil && realValues(t, other, fit, shape, nil, []string{"brier"})[0] < before[0] {
						better[i]++
					}
				}
			}
			if most := len(rows) - 1; text == "temperature" && better[most] < float64(draws) {
				t.Errorf("%s, %s: of %d draws of %d rows only %v help", name, text, draws, rows[most], better[most])
			}
			if testing.Verbose() {
				fmt.Printf("| %s | %s |%s\n", name, text, strings.NewReplacer("[", " ", " ", " | ", "]", " |").Replace(fmt.Sprint(better)))
			}
		}
	}
}

// TestSameRows computes the figures of docs/recalibration.md of a model that is calibrated already, 1,000 rows and p uniform: after a fit
// the metrics of the same rows say that there was something to mend, and those of rows that the maps have not seen that there was not.
// The figures there are means over 200 sets, which CANDOR_UPDATE=1 go test -v -run TestSameRows ./recal prints.
func TestSameRows(t *testing.T) {
	sets := check.Size(2, 5, 5)
	if os.Getenv("CANDOR_UPDATE") != "" {
		sets = 200
	}
	realHead("method", "ECE of the same rows", "ECE of other rows", "Brier of the same rows", "Brier of other rows")
	names := []string{"ece(bins=15)", "brier"}
	shape := eval.Shape{Classes: 1, Kind: metrics.Probs}
	for _, text := range append([]string{"none"}, realMethods...) {
		same, other := make([]float64, 2), make([]float64, 2)
		n := 0
		for set := range sets {
			rng := rand.New(rand.NewPCG(uint64(set), 77))
			p := &metrics.Predictions{Scores: metrics.Scores{Rows: 1000, Classes: 1}}
			for range 1000 {
				v, y := rng.Float64(), int32(0)
				if rng.Float64() < v {
					y = 1
				}
				p.F64, p.Labels = append(p.F64, v), append(p.Labels, y)
			}
			d := recal.InMemory(p)
			var fit recal.Map
			var out recal.Data = d
			if text != "none" {
				m, err := recal.Parse(text)
				if err == nil {
					fit, err = m.Fit(d, nil)
				}
				if err != nil {
					t.Logf("%s: %v", text, err) // such as a method for several classes
					break
				}
				out = recal.OpenFunc(func() (recal.Source, error) { return realCrossed(m, d) })
			}
			n++
			for i, v := range realValues(t, d, fit, shape, nil, names) {
				same[i] += v
			}
			for i, v := range realValues(t, out, nil, shape, nil, names) {
				other[i] += v
			}
		}
		if n == 0 {
			continue
		}
		for i := range 2 {
			same[i], other[i] = same[i]/float64(sets), other[i]/float64(sets)
		}
		if testing.Verbose() {
			fmt.Printf("| %s | %.4f | %.4f | %.4f | %.4f |\n", text, same[0], other[0], same[1], other[1])
		}
		if text == "histogram" && !(same[0] < 0.3*other[0]) || text == "isotonic" && !(same[1] < other[1]-0.004) {
			t.Errorf("%s: the same rows do not flatter: %v, %v", text, same, other)
		}
	}
}

// realPart returns about n of 5,000 rows.
func realPart(d recal.Data, n int, seed uint64) recal.Data {
	f := recal.Folds{K: 5000, Seed: seed}
	return recal.OpenFunc(func() (recal.Source, error) {
		src, err := d.Open()
		if err != nil {
			return nil, err
		}
		return &realSome{src, func(row int64) bool { return f.Fold(row) < n }}, nil
	})
}

// realSome yields some rows of a source of float32 probabilities.
type realSome struct {
	recal.Source
	keep func(int64) bool
}

func (s *realSome) Next() (*metrics.Chunk, error) {
	c, err := s.Source.Next()
	if err != nil {
		return nil, err
	}
	k := &metrics.Chunk{Predictions: metrics.Predictions{Kind: c.Kind}, First: c.First, Numbers: []int32{}}
	k.Classes, k.F32, k.Labels = c.Classes, []float32{}, []int32{}
	for i := range c.Rows {
		number := int32(i)
		if c.Numbers != nil {
			number = c.Numbers[i]
		}
		if s.keep(c.First + int64(number)) {
			k.F32 = append(k.F32, c.F32[i*c.Classes:][:c.Classes]...)
			k.Labels, k.Numbers, k.Rows = append(k.Labels, c.Labels[i]), append(k.Numbers, number), k.Rows+1
		}
	}
	return k, nil
}

// realCrossed returns all rows, each recalibrated by a map that was fitted to the other folds.
func realCrossed(m recal.Method, d recal.Data) (recal.Source, error) {
	all := &realSources{}
	for i := range (recal.Folds{}).Count() {
		rest, fold := recal.Folds{}.Split(d, i)
		fit, err := m.Fit(rest, nil)
		if err != nil {
			return nil, err
		}
		src, err := fold.Open()
		if err != nil {
			return nil, err
		}
		all.list = append(all.list, recal.Applied(fit, src))
	}
	return all, nil
}

// realSources are sources one behind the other.
type realSources struct{ list []metrics.Source }

func (s *realSources) Close() error { return nil }

func (s *realSources) Next() (*metrics.Chunk, error) {
	for len(s.list) > 0 {
		c, err := s.list[0].Next()
		if err != io.EOF {
			return c, err
		}
		s.list = s.list[1:]
	}
	return nil, io.EOF
}
