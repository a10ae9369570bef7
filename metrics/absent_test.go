package metrics_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

// TestAbsentRowsAreNotExamined pads a set with rows of weight 0 that hold nothing of use.
func TestAbsentRowsAreNotExamined(t *testing.T) {
	rows := func(pad bool) []byte {
		p := &metrics.Predictions{}
		p.Classes = 3
		add := func(w float64, y int32, x ...float64) {
			p.F64 = append(p.F64, x...)
			p.Labels = append(p.Labels, y)
			p.Weights = append(p.Weights, w)
			p.Rows++
		}
		add(1, 0, 0.5, 0.25, 0.25)
		if pad {
			add(0, -1, math.NaN(), math.NaN(), math.NaN())
			add(0, 7, 12, -3, 0)
		}
		add(2, 2, 0.125, 0.75, 0.125)
		b, l := metrics.Must(calib.NewBins(nil)), metrics.Must(score.NewLoss(nil))
		pass := metrics.NewPass(nil, b, l)
		if err := pass.Add(p); err != nil {
			t.Fatal(err)
		}
		if a := pass.Audit(); a.Rows != 2 || a.Absent != int64(p.Rows)-2 || a.Dropped != 0 {
			t.Errorf("audit: %+v", a)
		}
		s, err := b.AppendBinary(nil)
		if err == nil {
			s, err = l.AppendBinary(s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if !bytes.Equal(rows(false), rows(true)) {
		t.Error("absent rows change the state")
	}
}
