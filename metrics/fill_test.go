package metrics_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

// TestFill: accumulators that are filled have the states that AddSource gives them, whatever the threads, and those that have seen rows
// are refused.
func TestFill(t *testing.T) {
	const rows, chunks = 3000, 20
	p := claims(rows, 2, 0.7, metrics.Float32)
	l, b := metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(nil))
	a := metrics.NewPass(nil, l, b)
	if err := a.AddSource(&again{p: p, n: chunks}); err != nil {
		t.Fatal(err)
	}
	for threads := 1; threads <= 5; threads += 2 {
		fl, fb := metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(nil))
		f := metrics.NewPass(&metrics.Options{Threads: threads}, fl, fb)
		if err := f.Fill(&again{p: p, n: chunks}); err != nil {
			t.Fatal(err)
		}
		if f.Audit() != a.Audit() || fl.Len() != rows*chunks || !bytes.Equal(state(t, fl), state(t, l)) || !bytes.Equal(state(t, fb), state(t, b)) {
			t.Errorf("%d threads: %+v, %+v", threads, f.Audit(), a.Audit())
		}
		mustPanic(t, "metrics: accumulators that are to be filled have seen rows", func() { _ = f.Fill(&again{p: p, n: 1}) })
	}
	bad := claims(rows, 2, 0.7, metrics.Float32)
	bad.Labels[17] = 2
	var d *metrics.DataError
	if err := metrics.NewPass(nil, metrics.Must(score.NewLoss(nil))).Fill(&again{p: bad, n: 1}); !errors.As(err, &d) {
		t.Errorf("%v", err)
	}
}
