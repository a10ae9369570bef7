package recal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/recal"
)

// TestCurvesReal: fitted to a random half of what networks were too sure of, curves halve the calibration error of the other half at
// least, and lower its Brier score but for small bins of many classes. NLL is no part of this: a step of 0 makes it infinite.
func TestCurvesReal(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	list, err := eval.ParseMetrics("ece,brier,nll,accuracy", eval.Shape{Classes: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"netcal_c10_wrn16_4", "netcal_c100_densenet_bc100", "labelerr_20news", "cl_c10_resnet50_cv50k"} {
		fitTo, rest := recal.Folds{K: 2, Seed: 1}.Split(recal.OpenFunc(func() (recal.Source, error) {
			return predictions.Open([]string{filepath.Join(dir, name, "probs.npy")},
				&predictions.Options{Labels: []string{filepath.Join(dir, name, "labels.npy")}})
		}), 0)
		measure := func(classes int, m recal.Map) map[string]float64 {
			opened, err := rest.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			src := metrics.Source(opened)
			if m != nil {
				src = recal.Applied(m, src)
			}
			e, err := eval.New(eval.Spec{Classes: classes, Metrics: list})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.AddSource(src, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			v := map[string]float64{}
			for _, m := range list {
				v[m.Name] = e.Value(m).Value
			}
			return v
		}
		var before map[string]float64
		for _, m := range []recal.Method{recal.Histogram{}, recal.Histogram{TopLabel: true}, recal.Isotonic{},
			recal.Isotonic{Interpolate: true}, recal.Isotonic{TopLabel: true}} {
			f := curveFit(t, m, fitTo, nil)
			if before == nil {
				before = measure(f.Fit().Classes, nil)
				t.Logf("%s: %v", name, before)
			}
			after := measure(f.Fit().Classes, f)
			t.Logf("%s, %s: %v", name, m, after)
			if !(after["ece"] < before["ece"]/2) {
				t.Errorf("%s, %s: ece %v, was %v", name, m, after["ece"], before["ece"])
			}
			if plain := m == (recal.Histogram{}) && f.Fit().Classes > 50; !plain && !(after["brier"] < before["brier"]) {
				t.Errorf("%s, %s: brier %v, was %v", name, m, after["brier"], before["brier"])
			}
		}
	}
}
