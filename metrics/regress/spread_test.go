package regress_test

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

func TestSpreadSmoke(t *testing.T) {
	p := metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{F64: []float64{1, 1, 2, 2, -3, 3, 0, 4}, Rows: 4, Classes: 2}}
	s := regress.NewSpread()
	if err := metrics.NewPass(nil, s).Add(&p); err != nil {
		t.Fatal(err)
	}
	if v := s.ENCE(2); math.Abs(v-0.2) > 1e-15 {
		t.Error(v, s.Bins(2))
	}
}
