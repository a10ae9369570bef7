package eval_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
)

// TestCanonicalRealSets: on 5,000 held-out rows of real networks, the error by few fixed frequencies is near that of the Gaussian kernel, which
// NumPy found from all 25 million pairs of rows: every second row, from the second on. So are skce and mmce of the top label, from the same
// pairs, and tcal over 16 bins, by their definitions.
func TestCanonicalRealSets(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	for name, want := range map[string]float64{"netcal_c10_wrn16_4": 0.0005745859756133068, "cl_c10_resnet50_cv50k": 0.001772463692308144} {
		r, err := predictions.Open([]string{filepath.Join(dir, name, "probs.npy")}, &predictions.Options{Labels: []string{filepath.Join(dir, name, "labels.npy")}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		half := &metrics.Chunk{}
		for {
			c, err := r.Next()
			if err != nil {
				break
			}
			for i := range c.Rows {
				if c.Number(i)%2 == 1 && len(half.Labels) < 5000 {
					for k := range c.Classes {
						half.F64 = append(half.F64, c.At(i, k))
					}
					half.Labels = append(half.Labels, c.Labels[i])
				}
			}
			if c.Recycle != nil {
				c.Recycle()
			}
		}
		half.Rows, half.Classes = len(half.Labels), 10
		spec := eval.Spec{Classes: 10}
		if spec.Metrics, err = eval.ParseMetrics("canonical_skce,canonical_skce(frequencies=1024),canonical_skce_p,skce,mmce,tcal(bins=16)", spec.Shape()); err != nil {
			t.Fatal(err)
		}
		e, err := eval.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Add(&half.Predictions, &metrics.Options{Renormalize: true}); err != nil {
			t.Fatal(err)
		}
		value := func(name string) float64 {
			for _, m := range spec.Metrics {
				if m.String() == name {
					return e.Value(m).Value
				}
			}
			t.Fatalf("there is no %s among %v", name, spec.Metrics)
			return 0
		}
		for metric, most := range map[string]float64{"canonical_skce": 0.06, "canonical_skce(frequencies=1024)": 0.03} {
			if v := value(metric); math.Abs(v/want-1) > most {
				t.Errorf("%s, %s: %v, want %v", name, metric, v, want)
			}
		}
		if p := value("canonical_skce_p"); p != 0.01 {
			t.Errorf("%s: the p-value is %v", name, p)
		}
		if name != "netcal_c10_wrn16_4" { // rows of the other one do not sum to 1, and change where they are divided by their sums
			continue
		}
		for metric, want := range map[string]float64{"skce": 0.0020083847743329305, "mmce": 0.04495536504470376, "tcal(bins=16)": 0.0047396397136610395} {
			if v := value(metric); math.Abs(v/want-1) > 1e-6 {
				t.Errorf("%s, %s: %v, want %v", name, metric, v, want)
			}
		}
	}
}

// TestGivitiRealSets: on the first 5,000 held-out rows of real forecasts that have a logit, every second row from the second on, the calibration
// test of the GiViTI group is that of calibration-belt 0.1.41.
func TestGivitiRealSets(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	const name = "fte_march_madness_in_game"
	r, err := predictions.Open([]string{filepath.Join(dir, name, "probs.npy")}, &predictions.Options{Labels: []string{filepath.Join(dir, name, "labels.npy")}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	half := &metrics.Predictions{Scores: metrics.Scores{Classes: 1}}
	for {
		c, err := r.Next()
		if err != nil {
			break
		}
		for i := range c.Rows {
			if p := c.At(i, 0); c.Number(i)%2 == 1 && p > 0 && p < 1 && len(half.F64) < 5000 {
				half.F64, half.Labels = append(half.F64, p), append(half.Labels, c.Labels[i])
			}
		}
		if c.Recycle != nil {
			c.Recycle()
		}
	}
	half.Rows = len(half.F64)
	spec := eval.Spec{Classes: 1}
	if spec.Metrics, err = eval.ParseMetrics("giviti,giviti_degree,giviti_p", spec.Shape()); err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Add(half, nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"giviti": 38.00996461727027, "giviti_degree": 1, "giviti_p": 5.5749510563529725e-09}
	for _, m := range spec.Metrics {
		if v := e.Value(m).Value; math.Abs(v/want[m.Name]-1) > 1e-6 {
			t.Errorf("%s: %v, want %v", m, v, want[m.Name])
		}
	}
}
