package survival

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestGolden compares with scikit-survival and lifelines.
func TestGolden(t *testing.T) {
	var g struct {
		Cases []struct {
			Risks, Times    []float64
			Events          []int
			Horizon         float64
			Harrell, Uno    float64
			AUROC, Brier    float64
			CurveTimes      []float64 `json:"curve_times"`
			Curves          [][]float64
			IntegratedBrier float64   `json:"integrated_brier"`
			KMTimes         []float64 `json:"km_times"`
			KM, Greenwood   []float64
		}
	}
	check.Golden(t, "../../testdata/golden", "survival.json.gz", &g)
	if len(g.Cases) != 4 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	for i, c := range g.Cases {
		r := &Rows{Risks: c.Risks, Times: c.Times}
		for _, e := range c.Events {
			r.Events = append(r.Events, e == 1)
		}
		near := func(name string, got, want float64, err error) {
			t.Helper()
			if err != nil || !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("case %d, %s: %v, want %v; %v", i, name, got, want, err)
			}
		}
		e, err := Concordance(r)
		near("Harrell", e.Value, c.Harrell, err)
		e, err = ConcordanceIPCW(r, c.Horizon)
		near("Uno", e.Value, c.Uno, err)
		e, err = AUROC(r, c.Horizon)
		near("AUROC", e.Value, c.AUROC, err)
		e, err = Brier(r, c.Horizon)
		near("Brier", e.Value, c.Brier, err)
		e, err = IntegratedBrier(r, &Curves{Times: c.CurveTimes, Risks: c.Curves})
		near("integrated Brier", e.Value, c.IntegratedBrier, err)
		k, err := KaplanMeier(r)
		for j, at := range c.KMTimes {
			near("Kaplan-Meier", k.At(at), c.KM[j], err)
			if s := k.At(at); s > 0 {
				near("Greenwood", k.VarianceAt(at), s*s*c.Greenwood[j], err)
			}
		}
	}
}
