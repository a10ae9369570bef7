package recal_test

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/recal"
)

func forecastNumber(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func forecastTable(t *testing.T, r io.Reader) (head []string, rows [][]string) {
	t.Helper()
	l, err := csv.NewReader(r).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return l[0], l[1:]
}

// forecastArea returns the miscalibration area and the greatest gap of a level.
func forecastArea(t *testing.T, c *regress.Calibration) (area, gap float64) {
	t.Helper()
	k := c.Curve()
	for j, l := range k.Levels {
		gap = max(gap, math.Abs(k.Frequencies[j]-l))
	}
	return k.Area(regress.AreaCrossing), gap
}

// TestForecastsReal looks at what the maps do to rows of real sets that they have not seen.
func TestForecastsReal(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	for _, name := range []string{"pernot_qm9_e_test_cal", "pernot_logp_10k_a_ls_gcn_test_cal"} {
		f, err := os.Open(filepath.Join(dir, name, "table.csv"))
		if err != nil {
			t.Fatal(err)
		}
		_, rows := forecastTable(t, f)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		levels := make([]float64, 19)
		for j := range levels {
			levels[j] = float64(j+1) / 20
		}
		p, own := &metrics.Predictions{Kind: metrics.Normals}, &metrics.Predictions{Kind: metrics.Quantiles}
		p.Rows, p.Classes, own.Rows, own.Classes = len(rows), 2, len(rows), 19
		for _, r := range rows {
			e, sd := forecastNumber(t, r[0]), forecastNumber(t, r[1])
			p.F64, own.Observed = append(p.F64, e, sd), append(own.Observed, e)
			for _, l := range levels {
				own.F64 = append(own.F64, float64(sd*kernel.NormQuantile64(l)))
			}
		}
		halves := recal.Folds{K: 2}
		before, after := metrics.Must(regress.NewNormal(nil)), metrics.Must(regress.NewNormal(nil))
		curve := func() *regress.Calibration {
			return metrics.Must(regress.NewCalibration(&regress.CalibrationOptions{Levels: levels, CurveOnly: true}))
		}
		raw, mended := curve(), curve()
		if err := metrics.NewPass(nil, before).Add(p); err != nil {
			t.Fatal(err)
		}
		if err := metrics.NewPass(nil, raw).Add(own); err != nil {
			t.Fatal(err)
		}
		maps, err := recal.CrossFit(recal.Sigma{}, recal.InMemory(p), halves, nil, after)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := recal.CrossFit(recal.Quantile{}, recal.InMemory(p), halves, nil, mended); err != nil {
			t.Fatal(err)
		}
		a, gap := forecastArea(t, raw)
		b, left := forecastArea(t, mended)
		s := maps[0].(*recal.SigmaMap)
		t.Logf("%s, %d rows: sigma %.4f %.4f, nll %.5f -> %.5f, zms %.4f -> %.4f, area %.5f -> %.5f, gap %.4f -> %.4f", name, p.Rows,
			s.Scale(), s.Interval(0.95), before.Value(regress.NLL), after.Value(regress.NLL), before.Value(regress.ZMS),
			after.Value(regress.ZMS), a, b, gap, left)
		sharper := after.Value(regress.NLL) < before.Value(regress.NLL) && math.Abs(after.Value(regress.ZMS)-1) < 0.01
		if !sharper || a < 0.02 || b > 0.002 || left > 0.01 {
			t.Errorf("%s is not mended", name)
		}
	}
}

// TestForecastsHub recalibrates the forecasts of COVID-19 hubs, deaths and cases by all models together.
func TestForecastsHub(t *testing.T) {
	f, err := os.Open("../testdata/golden/covid_eu_quantiles23.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	head, rows := forecastTable(t, z)
	var levels []float64
	first := 0
	for i, name := range head {
		if q, ok := strings.CutPrefix(name, "q0."); ok {
			if levels == nil {
				first = i
			}
			levels = append(levels, forecastNumber(t, "0."+q))
		}
	}
	p := &metrics.Predictions{Kind: metrics.Quantiles}
	p.Classes = len(levels)
	for _, r := range rows {
		p.Rows++
		p.Observed = append(p.Observed, forecastNumber(t, r[first-1]))
		for _, v := range r[first:] {
			p.F64 = append(p.F64, forecastNumber(t, v))
		}
	}
	curve := func() *regress.Calibration {
		return metrics.Must(regress.NewCalibration(&regress.CalibrationOptions{Levels: levels, CurveOnly: true}))
	}
	raw, mended := curve(), curve()
	if err := metrics.NewPass(nil, raw).Add(p); err != nil {
		t.Fatal(err)
	}
	wis := metrics.Must(regress.NewQuantiles(&regress.QuantileOptions{Levels: levels}))
	if err := metrics.NewPass(nil, wis).Add(p); err != nil {
		t.Fatal(err)
	}
	after := metrics.Must(regress.NewQuantiles(&regress.QuantileOptions{Levels: levels}))
	if _, err := recal.CrossFit(recal.Quantile{Levels: levels}, recal.InMemory(p), recal.Folds{K: 2}, nil, mended, after); err != nil {
		t.Fatal(err)
	}
	a, gap := forecastArea(t, raw)
	b, left := forecastArea(t, mended)
	t.Logf("%d rows: area %.4f -> %.4f, gap %.4f -> %.4f, wis %.0f -> %.0f", p.Rows, a, b, gap, left, wis.WIS(), after.WIS())
	if p.Rows != 887 || !(b < a/2) || !(left < gap) {
		t.Error("not mended")
	}
}
