package regress_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// TestRowsMeans checks that the means of row values equal the accumulators' values.
func TestRowsMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	const n = 5000
	levels := []float64{0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975}
	rows := func(k metrics.Kind, classes int) *metrics.Predictions {
		p := &metrics.Predictions{Kind: k, Scores: metrics.Scores{Rows: n, Classes: classes}}
		for range n {
			x := make([]float64, classes)
			for j := range x {
				x[j] = 5 * r.NormFloat64()
			}
			switch k {
			case metrics.Normals:
				x[1] = 0.1 + x[1]*x[1]
			case metrics.Quantiles:
				slices.Sort(x)
			}
			if k != metrics.Normals {
				p.Observed = append(p.Observed, 5*r.NormFloat64())
			}
			p.F64 = append(p.F64, x...)
		}
		return p
	}
	hold := func(p *metrics.Predictions, name string, want float64) {
		t.Helper()
		sum := 0.0
		for _, v := range rowValues(t, name, p, levels) {
			sum += v
		}
		if !spreadNear(sum/n, want, 1e-10) {
			t.Errorf("%v: the rows of %s have the mean %v, want %v", p.Kind, name, sum/n, want)
		}
	}
	for _, p := range []*metrics.Predictions{rows(metrics.Normals, 3), rows(metrics.Quantiles, len(levels)), rows(metrics.Samples, 9), rows(metrics.Samples, 8)} {
		var given []float64
		if p.Kind == metrics.Quantiles {
			given = levels
		}
		e, i := metrics.Must(regress.NewErrors(&regress.ErrorOptions{Levels: given})), metrics.Must(regress.NewIntervals(&regress.IntervalOptions{Quantiles: given}))
		q, m := metrics.Must(regress.NewQuantiles(&regress.QuantileOptions{Levels: levels, ByLevel: true})), metrics.Must(regress.NewNormal(nil))
		accs := []metrics.Accumulator{e, i, q}
		if p.Kind == metrics.Normals {
			accs = append(accs, m)
		}
		if err := metrics.NewPass(nil, accs...).Add(p); err != nil {
			t.Fatal(err)
		}
		for _, level := range []float64{0.5, 0.9} {
			hold(p, fmt.Sprintf("coverage_%.0f", 100*level), i.Coverage(level))
			hold(p, fmt.Sprintf("width_%.0f", 100*level), i.Width(level))
		}
		if p.Kind != metrics.Quantiles {
			hold(p, "bias", e.Value(regress.Bias))
			rmse := e.Value(regress.RMSE)
			hold(p, "error", -e.Value(regress.Bias))
			hold(p, "abs_error", e.Value(regress.MAE))
			hold(p, "squared_error", rmse*rmse)
		}
		if p.Kind != metrics.Normals {
			hold(p, "ae_median", e.Value(regress.AEMedian))
		}
		if p.Kind != metrics.Samples {
			hold(p, "interval_score", i.Score(0.9))
			hold(p, "interval_score(level=0.5)", i.Score(0.5))
		}
		switch p.Kind {
		case metrics.Normals:
			hold(p, "nll", m.Value(regress.NLL))
			hold(p, "crps", m.Value(regress.CRPS))
		case metrics.Quantiles:
			hold(p, "wis", q.WIS())
			hold(p, "wis_dispersion", q.Dispersion())
			hold(p, "wis_underprediction", q.Underprediction())
			hold(p, "wis_overprediction", q.Overprediction())
			hold(p, "pinball", q.Pinball())
			hold(p, "pinball(level=0.25)", q.PinballAt(0.25))
		}
	}
}

// TestMeanRowMetric: other laws have their own intervals, and what there is not is an error.
func TestMeanRowMetric(t *testing.T) {
	law, err := regress.ParseLaw("laplace")
	if err != nil {
		t.Fatal(err)
	}
	p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: 2, Classes: 3, F64: []float64{0, 1, 1.7, 0, 1, 1.6}}}
	i := metrics.Must(regress.NewIntervals(&regress.IntervalOptions{Law: law}))
	if err := metrics.NewPass(nil, i).Add(p); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"coverage_90": i.Coverage(0.9), "width_90": i.Width(0.9)} { // up to 1.628, and of the normal law to 1.645
		m, err := regress.MeanRowMetric(name, p.Kind, nil, law)
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]float64, 2)
		f := m.New()
		metrics.NewWalker(nil, m.Need, func(b *metrics.Block) { f(dst[:b.Rows], b) }).Add(&metrics.Chunk{Predictions: *p})
		if got := (dst[0] + dst[1]) / 2; !spreadNear(got, want, 1e-15) || name == "coverage_90" && want != 0.5 {
			t.Errorf("%s is %v, not %v", name, got, want)
		}
	}
	for _, c := range []struct {
		name   string
		kind   metrics.Kind
		levels []float64
		none   bool
	}{{"crps", metrics.Normals, nil, true}, {"coverage_80", metrics.Normals, nil, true}, {"bias", metrics.Quantiles, []float64{0.5}, true}, {"wis_dispersion", metrics.Samples, nil, true},
		{"coverage_90", metrics.Quantiles, []float64{0.25, 0.75}, false}, {"wis_dispersion", metrics.Quantiles, []float64{0.25, 0.8}, false}} {
		if _, err := regress.MeanRowMetric(c.name, c.kind, c.levels, regress.NormalLaw); err == nil || errors.Is(err, metrics.ErrNoRows) != c.none {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
