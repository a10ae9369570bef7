package recal_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/recal"
)

// TestLogisticReal: curves that each half of a real set is given by the other half make NLL and calibration error of networks that are
// too sure smaller, and do not make the NLL of good forecasts much larger. All fits are from few reads.
func TestLogisticReal(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	list, err := eval.ParseMetrics("nll,ece", eval.Shape{Classes: 10})
	if err != nil {
		t.Fatal(err)
	}
	for name, sure := range map[string]bool{"SYNTHETIC_triptych_X01": false, "SYNTHETIC_triptych_X05": false, "netcal_c10_wrn16_4": true,
		"netcal_c100_densenet_bc100": true, "labelerr_20news": true, "cl_c10_resnet50_cv50k": true, "fte_club_soccer_3way": false} {
		data := recal.OpenFunc(func() (recal.Source, error) {
			return predictions.Open([]string{filepath.Join(dir, name, "probs.npy")},
				&predictions.Options{Labels: []string{filepath.Join(dir, name, "labels.npy")}})
		})
		classes := 0
		realOpen(t, data, func(src recal.Source) { classes = src.(*predictions.Reader).Info().Classes })
		value := func(m recal.Method) (nll, ece float64) {
			e, err := eval.New(eval.Spec{Classes: classes, Metrics: list})
			if err != nil {
				t.Fatal(err)
			}
			folds, reads := recal.Folds{K: 2, Seed: 1}, 0
			for i := range folds.Count() {
				rest, fold := folds.Split(data, i)
				src, err := fold.Open()
				if err != nil {
					t.Fatal(err)
				}
				if m == nil {
					err = e.AddSource(src, nil)
				} else {
					fitted, fault := m.Fit(rest, nil)
					if fault != nil {
						t.Fatalf("%s, %s: %v", name, m, fault)
					}
					reads = max(reads, fitted.Fit().Reads)
					err = e.AddSource(recal.Applied(fitted, src), nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				src.Close()
			}
			nll, ece = e.Value(list[0]).Value, e.Value(list[1]).Value
			t.Logf("%s, %v: %d reads, nll %.4f, ece %.4f", name, m, reads, nll, ece)
			if reads > 16 {
				t.Errorf("%s, %s: %d reads", name, m, reads)
			}
			return nll, ece
		}
		before, ece := value(nil)
		for _, m := range logisticMethods {
			after, eceAfter := value(m)
			if sure && !(eceAfter < ece/2) {
				t.Errorf("%s, %s: ece %v, was %v", name, m, eceAfter, ece)
			}
			// Infinite where a label had no probability; no map gives it any.
			if most := before * 1.02; math.IsInf(before, 1) != math.IsInf(after, 1) || sure && after > before || after > most {
				t.Errorf("%s, %s: nll %v, was %v", name, m, after, before)
			}
		}
	}
}
