package regress_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// rowValues returns the values of a metric for predictions.
func rowValues(t *testing.T, name string, p *metrics.Predictions, levels []float64) []float64 {
	t.Helper()
	m, err := regress.ParseRowMetric(name, p.Kind, levels)
	if errors.Is(err, metrics.ErrNoRows) {
		m, err = regress.MeanRowMetric(name, p.Kind, levels, regress.NormalLaw)
	}
	if err != nil {
		t.Fatal(name, err)
	}
	dst := make([]float64, p.Rows)
	f := m.New()
	at := 0
	w := metrics.NewWalker(nil, m.Need, func(b *metrics.Block) {
		f(dst[at:at+b.Rows], b)
		at += b.Rows
	})
	w.Add(&metrics.Chunk{Predictions: *p})
	if w.Err() != nil || at != p.Rows {
		t.Fatal(name, w.Err(), at)
	}
	return dst
}

func TestRowsOracle(t *testing.T) {
	o := readSpreadOracle(t).Rows
	near := func(name string, i int, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-11*math.Max(1, math.Abs(want)) {
			t.Errorf("%s of row %d: %v, want %v", name, i, got, want)
		}
	}
	p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Classes: 3, Rows: len(o.Normals)}}
	for _, r := range o.Normals {
		p.F64 = append(p.F64, r.Row...)
	}
	got := map[string][]float64{}
	for _, name := range append(regress.RowNames(metrics.Normals), "interval_score(level=0.9)", "interval_score( level = 0.5 )") {
		got[name] = rowValues(t, name, p, nil)
	}
	for i, r := range o.Normals {
		e := r.Row[2] - r.Row[0]
		near("error", i, got["error"][i], e)
		near("abs_error", i, got["abs_error"][i], math.Abs(e))
		near("squared_error", i, got["squared_error"][i], e*e)
		near("z", i, got["z"][i], e/r.Row[1])
		near("nll", i, got["nll"][i], r.NLL)
		near("crps", i, got["crps"][i], r.CRPS)
		near("pit", i, got["pit"][i], r.PIT)
		near("interval_score", i, got["interval_score"][i], r.IntervalScore["0.9"])
		near("interval_score(level=0.9)", i, got["interval_score(level=0.9)"][i], r.IntervalScore["0.9"])
		near("interval_score(level=0.5)", i, got["interval_score( level = 0.5 )"][i], r.IntervalScore["0.5"])
	}

	p = &metrics.Predictions{Kind: metrics.Quantiles, Scores: metrics.Scores{Classes: len(o.Levels), Rows: len(o.Quantiles)}}
	for _, r := range o.Quantiles {
		p.F64, p.Observed = append(p.F64, r.Row...), append(p.Observed, r.Observed)
	}
	for _, name := range append(regress.RowNames(metrics.Quantiles), "pinball(level=0.95)", "interval_score(level=0.95)",
		"interval_score(level=0.5)") {
		got[name] = rowValues(t, name, p, o.Levels)
	}
	for i, r := range o.Quantiles {
		mean := 0.0
		for _, v := range r.Pinball {
			mean += v / 7
		}
		near("wis", i, got["wis"][i], r.WIS)
		near("wis", i, got["wis"][i], 2*mean)
		near("pinball", i, got["pinball"][i], mean)
		near("pinball(level=0.95)", i, got["pinball(level=0.95)"][i], r.Pinball[5])
		near("interval_score", i, got["interval_score"][i], r.IntervalScore[1])
		near("interval_score(level=0.95)", i, got["interval_score(level=0.95)"][i], r.IntervalScore[0])
		near("interval_score(level=0.5)", i, got["interval_score(level=0.5)"][i], r.IntervalScore[2])
		near("ae_median", i, got["ae_median"][i], math.Abs(r.Row[3]-r.Observed))
	}

	for i, r := range o.Samples {
		for _, narrow := range []bool{false, true} {
			p = &metrics.Predictions{Kind: metrics.Samples, Observed: []float64{r.Observed}}
			p.Rows, p.Classes = 1, len(r.Row)
			scale := 1.0
			if narrow {
				for _, v := range r.Row {
					p.F32 = append(p.F32, float32(math.Round(10*v))) // makes tenths whole numbers
				}
				p.Observed[0], scale = math.Round(10*r.Observed), 10
			} else {
				p.F64 = r.Row
			}
			near("error", i, rowValues(t, "error", p, nil)[0]/scale, r.Error)
			near("abs_error", i, rowValues(t, "abs_error", p, nil)[0]/scale, math.Abs(r.Error))
			near("squared_error", i, rowValues(t, "squared_error", p, nil)[0]/scale/scale, r.Error*r.Error)
			near("ae_median", i, rowValues(t, "ae_median", p, nil)[0]/scale, r.AEMedian)
			near("pit", i, rowValues(t, "pit", p, nil)[0], r.PIT)
		}
	}
}

func TestRowsNames(t *testing.T) {
	levels := []float64{0.05, 0.5, 0.95}
	for _, k := range []metrics.Kind{metrics.Normals, metrics.Quantiles, metrics.Samples} {
		all := regress.RowMetrics(k, levels, false)
		if len(all) != len(regress.RowNames(k)) || len(all) == 0 {
			t.Errorf("%v: %d metrics of %v", k, len(all), regress.RowNames(k))
		}
		for i, m := range all {
			if m.Name != regress.RowNames(k)[i] {
				t.Error(k, m.Name)
			}
		}
		if usual := regress.RowMetrics(k, levels, true); len(usual) == 0 || len(usual) >= len(all) {
			t.Errorf("%v: %d metrics by default", k, len(usual))
		}
	}
	if len(regress.RowNames(metrics.Probs)) > 0 || len(regress.RowMetrics(metrics.Quantiles, nil, false)) > 0 {
		t.Error("metrics of probabilities, or of quantiles of no level")
	}
	// Metrics that need missing levels are left out.
	var names []string
	for _, m := range regress.RowMetrics(metrics.Quantiles, []float64{0.1, 0.5}, false) {
		names = append(names, m.Name)
	}
	if !slices.Equal(names, []string{"twcrps", "qwcrps", "pinball", "ae_median"}) {
		t.Error(names)
	}
	m, err := regress.ParseRowMetric(" interval_score ( level = .90 ) ", metrics.Normals, nil)
	if err != nil || m.Name != "interval_score(level=0.9)" {
		t.Error(m.Name, err)
	}
	for _, c := range []struct {
		name   string
		kind   metrics.Kind
		levels []float64
		want   string
	}{
		{"wis", metrics.Normals, nil, "metric wis: it has no value for each row"},
		{"nll", metrics.Probs, nil, "metric nll: it has no value for each row"},
		{"crps", metrics.Samples, nil, "metric crps: it has no value for each row"},
		{"nll(level=0.5)", metrics.Normals, nil, "it takes no options"},
		{"interval_score(width=0.5)", metrics.Normals, nil, `there is no option "width"; there is level`},
		{"interval_score(level=1)", metrics.Normals, nil, `level is "1"; it is a number between 0 and 1`},
		{"interval_score(level=)", metrics.Normals, nil, `level is ""`},
		{"interval_score(level=0.5", metrics.Normals, nil, "it is NAME or NAME(level=VALUE)"},
		{"wis", metrics.Quantiles, nil, "it needs the levels of the quantiles"},
		{"wis", metrics.Quantiles, []float64{0.5, 0.4}, "there is 0.4 after 0.5"},
		{"ae_median", metrics.Quantiles, []float64{0.1, 0.9}, "it takes the quantile of level 0.5, and there is none"},
		{"wis", metrics.Quantiles, []float64{0.1, 0.5, 0.8}, "it takes the quantile of level 0.9, and there is none"},
		{"interval_score(level=0.8)", metrics.Quantiles, levels, "it takes the quantile of level 0.1, and there is none"},
		{"pinball(level=0.2)", metrics.Quantiles, levels, "it takes the quantile of level 0.2, and there is none"},
	} {
		_, err := regress.ParseRowMetric(c.name, c.kind, c.levels)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			errors.Is(err, metrics.ErrNoRows) != strings.Contains(c.want, "no value") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	wrong, err := regress.ParseRowMetric("wis", metrics.Quantiles, levels)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, ok := recover().(string); !ok {
			t.Error("rows of another width do not panic")
		}
	}()
	wrong.New()(make([]float64, 1), &metrics.Block{Rows: 1, Classes: 2, Observed: []float64{1}})
}
