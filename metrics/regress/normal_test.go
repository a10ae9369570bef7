package regress_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// normalSet returns a real set of errors and standard deviations and the figures that were computed beside it.
func normalSet(t *testing.T, name string) (*metrics.Predictions, map[string]float64) {
	t.Helper()
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	f, err := os.Open(filepath.Join(dir, name, "table.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.Rows, p.Classes = len(rows)-1, 2
	for _, r := range rows[1:] {
		for _, s := range r {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			p.F64 = append(p.F64, v)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, name, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	var meta struct {
		Computed map[string]float64 `json:"computed_float64"`
	}
	if err := json.Unmarshal(b, &meta); err != nil {
		t.Fatal(err)
	}
	return p, meta.Computed
}

// TestNormalReal holds the figures of errors of two models of molecules: those that Pernot 2024 published, and those made with NumPy
// beside the sets. The intervals are near his, which are of a bootstrap.
func TestNormalReal(t *testing.T) {
	for _, c := range []struct {
		name     string
		rce, zms float64
		within   [4]float64
	}{
		{"pernot_qm9_e_test_cal", -0.2644578, 0.97200556, [4]float64{-0.688, -0.00281, 0.936, 1.01}},
		{"pernot_logp_10k_a_ls_gcn_test_cal", 0.04590263, 0.92569631, [4]float64{0.00847, 0.0771, 0.869, 0.99}},
	} {
		p, want := normalSet(t, c.name)
		e, n := regress.NewErrors(nil), regress.NewNormal(nil)
		if err := metrics.NewPass(nil, e, n).Add(p); err != nil {
			t.Fatal(err)
		}
		for s, w := range map[regress.NormalStat]float64{regress.NLL: want["nll"], regress.CRPS: want["crps"], regress.ZMS: want["zms"],
			regress.RCE: want["rce"], regress.SharpnessRoot: want["rmv"]} {
			if v := n.Value(s); !(math.Abs(v-w) < 1e-12*math.Abs(w)) {
				t.Errorf("%s: %v is %v, want %v", c.name, s, v, w)
			}
		}
		for s, w := range map[regress.ErrorStat]float64{regress.RMSE: want["rmse"], regress.MAE: want["mae"], regress.AEMedian: want["mae"]} {
			if v := e.Value(s); !(math.Abs(v-w) < 1e-12*math.Abs(w)) {
				t.Errorf("%s: %v is %v, want %v", c.name, s, v, w)
			}
		}
		if r, z := n.Value(regress.RCE), n.Value(regress.ZMS); math.Abs(r-c.rce) > 1e-7 || math.Abs(z-c.zms) > 1e-7 {
			t.Errorf("%s: RCE %v, ZMS %v", c.name, r, z)
		}
		r, z := n.Interval(regress.RCE, 0.95), n.Interval(regress.ZMS, 0.95)
		for i, v := range []float64{r.Low, r.High, z.Low, z.High} {
			if math.Abs(v-c.within[i]) > 0.016 {
				t.Errorf("%s: end %d of the intervals is %v, published %v", c.name, i, v, c.within[i])
			}
		}
		t.Log(r, z, n.Interval(regress.SharpnessRoot, 0.95), e.Interval(regress.RMSE, 0.95))
	}
}
