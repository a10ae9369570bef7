package regress_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// TestCurveOnly checks that the curve is the same without central intervals, and that states of the two sorts do not merge.
func TestCurveOnly(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: 3000, Classes: 2}}
	for range p.Rows {
		p.F64 = append(p.F64, r.NormFloat64(), 0.5+r.Float64())
	}
	for _, weighted := range []bool{false, true} {
		if weighted {
			for i := range p.Rows {
				p.Weights = append(p.Weights, float64(1+i%3))
			}
		}
		both, curve := metrics.Must(regress.NewCalibration(nil)), metrics.Must(regress.NewCalibration(&regress.CalibrationOptions{CurveOnly: true}))
		if err := metrics.NewPass(nil, both, curve).Add(p); err != nil {
			t.Fatal(err)
		}
		if a, b := both.Curve(), curve.Curve(); !slices.Equal(a.Frequencies, b.Frequencies) || !slices.Equal(a.Levels, b.Levels) || a.N != b.N {
			t.Errorf("weights %v: %v, and without central intervals %v", weighted, a, b)
		}
		if err := both.Merge(curve); !errors.Is(err, metrics.ErrMismatch) {
			t.Error(err)
		}
		state, err := curve.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		again := metrics.Must(regress.NewCalibration(nil))
		if err := again.UnmarshalBinary(state); err != nil {
			t.Fatal(err)
		}
		if b, err := again.AppendBinary(nil); err != nil || !bytes.Equal(b, state) {
			t.Error("a state read is another", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("central intervals that were not kept")
				}
			}()
			again.Central()
		}()
	}
}
