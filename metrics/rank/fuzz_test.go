package rank_test

import (
	"bytes"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/rank"
)

// FuzzStates checks that any state that can be read is written back as the same bytes, and that its answers can be computed.
func FuzzStates(f *testing.F) {
	p := drawn(81, 12, 4)
	for _, weights := range [][]float64{nil, {1, 2, 3, 1, 2, 3, 1, 2, 3, 0.5, 0.25, 7}} {
		p.Weights = weights
		for _, a := range []metrics.Accumulator{metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.NLL})), rank.NewScores(rank.Entropy)} {
			if err := metrics.NewPass(nil, a).Add(p); err != nil {
				f.Fatal(err)
			}
			b, err := a.AppendBinary(nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b[14 : len(b)-8])
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var x rank.Retention
		if b := exact.Seal("cRET", 1, payload); x.UnmarshalBinary(b) == nil {
			if !bytes.Equal(state(t, &x), b) {
				t.Error("a retention state is written otherwise")
			}
			x.Area(nil)
			x.Curve(5, &rank.AreaOptions{Oracle: true})
			y := x.Empty()
			if err := y.Merge(&x); err != nil || !bytes.Equal(state(t, y), b) && x.Len() > 0 {
				t.Error("a retention state is merged into nothing, and differs", err)
			}
		}
		var s rank.Scores
		if b := exact.Seal("cOOD", 1, payload); s.UnmarshalBinary(b) == nil {
			if !bytes.Equal(state(t, &s), b) {
				t.Error("a state of scores is written otherwise")
			}
			if o, err := rank.NewOOD(&s, &s); err == nil {
				o.AUROC()
				o.AUPRCIn(rank.Trapezoid)
				o.FPRAt(0.95)
				o.ROC(7)
			}
		}
	})
}
