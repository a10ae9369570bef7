package rank_test

import (
	le "encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// TestActingReal compares figures of every second row of in-game win probabilities with those of dcurves 1.1.7, and of scipy's binomial law by
// the functions of testdata/oracle/make_acting.py.
func TestActingReal(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	words := func(name string) (l []uint64) {
		b, err := os.ReadFile(filepath.Join(dir, "fte_march_madness_in_game", name))
		if err != nil {
			t.Fatal(err)
		}
		for b = b[10+int(le.LittleEndian.Uint16(b[8:])):]; len(b) >= 16; b = b[16:] { // version 1 of the format, 8 bytes a value
			l = append(l, le.LittleEndian.Uint64(b[8:]))
		}
		return l
	}
	p := &metrics.Predictions{}
	for _, w := range words("probs.npy") {
		p.F64 = append(p.F64, math.Float64frombits(w))
	}
	for _, w := range words("labels.npy") {
		p.Labels = append(p.Labels, int32(w))
	}
	p.Rows, p.Classes = len(p.F64), 1
	if p.Rows != 69174 {
		t.Fatalf("%d rows", p.Rows)
	}
	r := rank.RankingOf(of(t, p))
	o := rank.Outcomes{FalsePositive: 1, FalseNegative: 5}
	benefit, _ := r.MeanOutcome(0.2, rank.Benefit(0.2, false))
	above, _ := r.MeanOutcome(0.2, rank.Benefit(0.2, true))
	cost, _ := r.MeanOutcome(o.Threshold(), o)
	least, _, _ := r.LeastCost(o)
	for name, c := range map[string][2]float64{
		"net benefit": {benefit, 0.39530748547141986}, "over all": {above, 0.06289935524908202},
		"cost": {cost, 0.29761181946974297}, "least cost": {least, 0.2959927140255009},
	} {
		if !near(c[0], c[1], 1e-13) {
			t.Errorf("%s is %v, want %v", name, c[0], c[1])
		}
	}
	v, _ := r.Saving(o)
	_, low, high := definedSaving(p, o, 0.95)
	if i := r.SavingInterval(o, 0.95); !near(v, cost-least, 1e-15) || !near(i.Low, low, 1e-9) || !near(i.High, high, 1e-9) || !(i.High < 0.0034) {
		t.Errorf("calibration saves %v %v, want %v [%v, %v]", v, i, cost-least, low, high)
	}
	top := metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel}))
	if err := metrics.NewPass(nil, top).Add(p); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ risk, rows, above float64 }{{0.05, 40037, 0.839}, {0.02, 28962, 0.922}} {
		a := rank.RankingOf(top).Promised(rank.Promise{Risk: c.risk, Confidence: 0.95, Steps: 50})
		if a.Rows != c.rows || a.Above != c.above {
			t.Errorf("risk %v: %+v, want %v rows above %v", c.risk, a, c.rows, c.above)
		}
	}
}
