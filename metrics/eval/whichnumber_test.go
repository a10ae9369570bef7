package eval_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
)

// numberRows are the figures of regression forecasts.
var numberRows = []struct{ row, metric, format string }{
	{"rmse", "rmse", "%.3f"},
	{"bias", "bias", "%.3f"},
	{"nll", "nll", "%.3f"},
	{"crps", "crps", "%.3f"},
	{"wis", "wis", "%.3f"},
	{"sharpness_root", "sharpness_root", "%.3f"},
	{"zms", "zms", "%.2f"},
	{"rce", "rce", "%.3f"},
	{"ence", "ence", "%.3f"},
	{"uce", "uce", "%.3f"},
	{"coverage_50", "coverage_50", "%.3f"},
	{"coverage_90", "coverage_90", "%.3f"},
	{"miscalibration_area", "miscalibration_area", "%.3f"},
	{"... (form=interval)", "miscalibration_area(form=interval)", "%.3f"},
	{"pit_p", "pit_p", "%.2g"},
}

// A forecast is rows that state the mean 0 and a standard deviation, and are off by what errors tells of evenly spaced levels.
type forecast struct {
	rows   int
	sd     float64
	errors func(v float64) float64
}

func normalErrors(mean, sd float64) func(float64) float64 {
	return func(v float64) float64 { return mean + float64(sd*mathext.NormalQuantile(v)) }
}

// ofPIT returns errors of forecasts of a standard deviation whose probability integral transform is what u tells below 1/2.
func ofPIT(sd float64, u func(v float64) float64) func(float64) float64 {
	return func(v float64) float64 {
		if v > 0.5 {
			return -sd * mathext.NormalQuantile(u(1-v))
		}
		return sd * mathext.NormalQuantile(u(v))
	}
}

// blindNumbers are laws without chance.
var blindNumbers = []struct {
	column string
	of     []forecast
}{
	{"K", []forecast{{10000, 1, normalErrors(0, 1)}}},
	{"L", []forecast{{10000, 1, normalErrors(0, 1.5)}}},
	{"M", []forecast{ // the densities of both transforms, a roof and its complement, add up to an even one
		{5000, 2, ofPIT(2, func(v float64) float64 { return math.Sqrt(v / 2) })},
		{5000, 1, ofPIT(1, func(v float64) float64 { return (1 - math.Sqrt(1-2*v)) / 2 })},
	}},
	{"N", []forecast{{10000, 1, func(v float64) float64 { return math.Sqrt(3) * (2*v - 1) }}}},
	{"O", []forecast{{10000, 1, normalErrors(0.6, 0.8)}}},
	{"P", []forecast{{9900, 1, normalErrors(0, 2)}, {100, 100, normalErrors(0, 100)}}},
	{"Q", []forecast{{10000, 2, normalErrors(0, 2)}}},
	{"R", []forecast{{10000, 0.8, normalErrors(0, 1)}}},
}

func blindNumbersTable(t *testing.T) table {
	out := table{}
	for _, b := range blindNumbers {
		p := &metrics.Predictions{Kind: metrics.Normals}
		p.Classes = 3
		for _, f := range b.of {
			for i := range f.rows {
				p.F64 = append(p.F64, 0, f.sd, f.errors((float64(i)+0.5)/float64(f.rows)))
			}
			p.Rows += f.rows
		}
		setNumbers(out, b.column, "", numbersOf(t, metrics.InMemory(p), eval.Spec{Kind: metrics.Normals, Classes: 3}))
	}
	return out
}

// setNumbers fills a column; digits are more of them than the rows have.
func setNumbers(out table, column, digits string, values map[string]eval.Value) {
	for _, r := range numberRows {
		x := math.NaN()
		if v, ok := values[r.metric]; ok {
			x = v.Value
		}
		format := r.format
		if digits != "" && strings.HasSuffix(format, "f") {
			format = digits
		}
		out.set(r.row, column, cell(format, x))
	}
}

// numbersOf evaluates forecasts by those metrics of numberRows that are of such.
func numbersOf(t *testing.T, src metrics.Source, s eval.Spec) map[string]eval.Value {
	t.Helper()
	var names []string
	for _, r := range numberRows {
		if _, err := eval.ParseMetrics(r.metric, eval.Shape{Classes: s.Classes, Kind: s.Kind}); err == nil {
			names = append(names, r.metric)
		}
	}
	return evaluateNumbers(t, src, s, names)
}

func evaluateNumbers(t *testing.T, src metrics.Source, s eval.Spec, names []string) map[string]eval.Value {
	t.Helper()
	var err error
	if s.Metrics, err = eval.ParseMetrics(strings.Join(names, ","), eval.Shape{Classes: s.Classes, Kind: s.Kind}); err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.AddSource(src, nil); err != nil {
		t.Fatal(err)
	}
	values := map[string]eval.Value{}
	for _, m := range s.Metrics {
		values[m.String()] = e.Value(m)
	}
	return values
}

// simulateNumbers fills the columns of this many calibrated forecasts with standard deviations between 1/2 and 2.
func simulateNumbers(t *testing.T, out table, n int) {
	const sets = 500
	plain := []string{"ence", "miscalibration_area"}
	shares := []struct {
		row, metric string
		of          func(v eval.Value) bool
	}{
		{"zms's interval holds 1", "zms", func(v eval.Value) bool { return v.Interval.Low <= 1 && 1 <= v.Interval.High }},
		{"rce's interval holds 0", "rce", func(v eval.Value) bool { return v.Interval.Low <= 0 && 0 <= v.Interval.High }},
		{"coverage_90's interval holds 0.9", "coverage_90", func(v eval.Value) bool { return v.Interval.Low <= 0.9 && 0.9 <= v.Interval.High }},
		{"pit_p < 0.05", "pit_p", func(v eval.Value) bool { return v.Value < 0.05 }},
	}
	names := append([]string{"zms", "rce", "coverage_90", "pit_p"}, plain...)
	sums, counts := map[string]float64{}, map[string]float64{}
	for seed := range sets {
		r := rand.New(rand.NewPCG(uint64(seed+1), uint64(n)))
		p := &metrics.Predictions{Kind: metrics.Normals}
		p.Rows, p.Classes = n, 3
		for range n {
			sd := math.Exp2(2*r.Float64() - 1)
			p.F64 = append(p.F64, 0, sd, sd*r.NormFloat64())
		}
		v := evaluateNumbers(t, metrics.InMemory(p), eval.Spec{Kind: metrics.Normals, Classes: 3}, names)
		for _, m := range plain {
			sums[m] += v[m].Value
		}
		for _, s := range shares {
			if s.of(v[s.metric]) {
				counts[s.row]++
			}
		}
	}
	for _, m := range plain {
		out.set(m, grouped(n), cell("%.5f", sums[m]/sets))
	}
	for _, s := range shares {
		out.set(s.row, grouped(n), cell("%.1f%%", 100*counts[s.row]/sets))
	}
}

// TestWhichNumber recomputes the page's figures of regression forecasts.
func TestWhichNumber(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it simulates thousands of sets")
	}
	simulated := table{}
	simulateNumbers(t, simulated, 100)
	if check.Full() || os.Getenv("CANDOR_UPDATE") != "" {
		simulateNumbers(t, simulated, 1000)
	}
	if os.Getenv("CANDOR_UPDATE") != "" {
		simulateNumbers(t, simulated, 10000)
		simulateNumbers(t, simulated, 100000)
	}
	hold(t, map[string]table{"numbers": simulated, "blind numbers": blindNumbersTable(t)})
}

// TestWhichNumberRealSets recomputes the numbers of real data sets; the first two are available here.
func TestWhichNumberRealSets(t *testing.T) {
	const data = "../../testdata/"
	dir := os.Getenv("CANDOR_REAL")
	real := table{}
	for _, s := range []struct {
		column, path string
		o            predictions.ForecastOptions
	}{
		{"diabetes", data + "sample/diabetes_gaussian.npz", predictions.ForecastOptions{Kind: metrics.Normals}},
		{"hub", data + "golden/covid_eu_quantiles23.csv.gz", predictions.ForecastOptions{Kind: metrics.Quantiles, Prefix: "q"}},
		{"logP", "pernot_logp_10k_a_ls_gcn_test_cal/table.csv", predictions.ForecastOptions{Kind: metrics.Normals, Error: "error", SD: "std"}},
		{"QM9", "pernot_qm9_e_test_cal/table.csv", predictions.ForecastOptions{Kind: metrics.Normals, Error: "error", SD: "std"}},
		{"monsoon", "monsoon_precip_ens51/members.npy", predictions.ForecastOptions{Kind: metrics.Samples,
			Observations: []string{filepath.Join(dir, "monsoon_precip_ens51/obs.npy")}}},
	} {
		if !strings.HasPrefix(s.path, data) {
			if dir == "" {
				continue
			}
			s.path = filepath.Join(dir, s.path)
		}
		r, err := predictions.OpenForecast([]string{s.path}, &s.o)
		if err != nil {
			t.Fatal(err)
		}
		values := numbersOf(t, r, eval.Spec{Kind: s.o.Kind, Classes: r.Info().Classes, Levels: r.Levels()})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		setNumbers(real, s.column, "%.4f", values)
	}
	hold(t, map[string]table{"real numbers": real})
}
