package recal

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestIgnoredRows: every method fits what it fits without the rows that do not count, whatever is in them. Vector and matrix scaling sum over
// runs of rows by their numbers, which those rows have too: they differ by what rounding does.
func TestIgnoredRows(t *testing.T) {
	for _, name := range Names() {
		m, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{1, 3} {
			if _, ofClasses := map[string]bool{"vector": true, "matrix": true, "dirichlet": true}[name]; name == "sigma" || name == "quantile" || k == 1 && ofClasses {
				continue
			}
			all, kept := dataRows(300, k, k, metrics.Float32), &metrics.Predictions{Kind: metrics.Logits}
			all.Weights, all.Decisions, all.ConfidenceScores = nil, nil, nil
			kept.Classes = k
			for i := range all.Rows {
				row := all.F32[i*k : (i+1)*k]
				for j := range row {
					row[j] = row[j]/16 - 2
				}
				if i%5 == 2 {
					all.Labels[i], row[0] = metrics.Ignored, float32(math.NaN())
					continue
				}
				kept.F32, kept.Labels, kept.Rows = append(kept.F32, row...), append(kept.Labels, all.Labels[i]), kept.Rows+1
			}
			fitted := func(p *metrics.Predictions) string {
				f, err := m.Fit(InMemory(p), nil)
				if err != nil {
					t.Fatalf("%s of %d classes: %v", name, k, err)
				}
				b, err := json.Marshal(f.parameters())
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
			got, want := fitted(all), fitted(kept)
			if k == 3 && (name == "vector" || name == "matrix" || name == "dirichlet") {
				a, b := numbersIn(t, got), numbersIn(t, want)
				if len(a) != len(b) || len(a) < 6 {
					t.Fatalf("%d numbers and %d", len(a), len(b))
				}
				for i := range a {
					if math.Abs(a[i]-b[i]) > 1e-13*math.Max(1, math.Abs(b[i])) {
						t.Errorf("%s: %v, want %v", name, got, want)
					}
				}
			} else if got != want {
				t.Errorf("%s of %d classes: %v, want %v", name, k, got, want)
			}
		}
	}
}

// numbersIn returns all numbers of a JSON object except the gradient, which is what rounding leaves.
func numbersIn(t *testing.T, text string) (l []float64) {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	delete(o, "gradient")
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case float64:
			l = append(l, v)
		case []any:
			for _, e := range v {
				add(e)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		add(o[key])
	}
	return l
}
