package regress_test

import (
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
		if p.Kind != metrics.Quantiles {
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
			hold(p, "pinball", q.Pinball())
			hold(p, "pinball(level=0.25)", q.PinballAt(0.25))
		}
	}
}
