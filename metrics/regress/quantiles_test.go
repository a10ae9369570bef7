package regress_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"encoding/csv"
	"encoding/json"
	"strconv"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// wisNear tells whether a is b to a relative error.
func wisNear(a, b, tol float64) bool { return math.Abs(a-b) <= tol*math.Abs(b) }

// realDir returns where a real set is, or skips.
func quantilesReal(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	return filepath.Join(dir, name)
}

// TestQuantilesReal holds the figures that were computed apart for 887 forecasts of COVID-19 by four models, 23 quantiles each.
func TestQuantilesReal(t *testing.T) {
	dir := quantilesReal(t, "covid_eu_quantiles23")
	f, err := os.Open(filepath.Join(dir, "table.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var levels []float64
	for _, name := range table[0][7:] {
		levels = append(levels, number(name[1:]))
	}
	sets := map[[2]string]*metrics.Predictions{}
	for _, row := range table[1:] {
		key := [2]string{row[4], row[3]}
		p := sets[key]
		if p == nil {
			p = &metrics.Predictions{Kind: metrics.Quantiles, Scores: metrics.Scores{Classes: len(levels)}}
			sets[key] = p
		}
		p.Rows++
		p.Observed = append(p.Observed, number(row[6]))
		for _, v := range row[7:] {
			p.F64 = append(p.F64, number(v))
		}
	}
	var meta struct {
		Computed struct {
			Groups []struct {
				Model, Target     string
				N                 int
				WIS, Cov50, Cov90 float64
			} `json:"by_model"`
		} `json:"computed_float64"`
	}
	b, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err == nil {
		err = json.Unmarshal(b, &meta)
	}
	if err != nil || len(meta.Computed.Groups) != 7 || len(sets) != 7 {
		t.Fatal(err, len(sets))
	}
	for _, g := range meta.Computed.Groups {
		q, s := regress.NewQuantiles(nil), regress.NewIntervals(&regress.IntervalOptions{Quantiles: levels})
		if err := metrics.NewPass(nil, q, s).Add(sets[[2]string{g.Model, g.Target}]); err != nil {
			t.Fatal(err)
		}
		if q.Len() != int64(g.N) || !wisNear(q.WIS(), g.WIS, 1e-12) || !wisNear(s.Coverage(0.5), g.Cov50, 1e-12) || !wisNear(s.Coverage(0.9), g.Cov90, 1e-12) {
			t.Errorf("%s, %s: %d rows, wis %v, coverage %v and %v; want %+v", g.Model, g.Target, q.Len(), q.WIS(), s.Coverage(0.5), s.Coverage(0.9), g)
		}
		if !wisNear(2*q.Pinball(), q.WIS(), 1e-12) || !wisNear(q.Dispersion()+q.Underprediction()+q.Overprediction(), q.WIS(), 1e-14) {
			t.Errorf("%s, %s: pinball %v, wis %v", g.Model, g.Target, q.Pinball(), q.WIS())
		}
	}
}
