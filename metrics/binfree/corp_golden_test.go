package binfree_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
)

// TestCORPGolden compares the terms with scikit-learn's and, where available, with published ones.
func TestCORPGolden(t *testing.T) {
	var golden struct {
		Inputs map[string]struct {
			P, W      []float64
			Y         []int32
			Corp      map[string]map[string]json.RawMessage
			Published map[string]string
		}
	}
	check.Golden(t, "../../testdata/golden", "corp.json.gz", &golden)
	compared := 0
	for name, in := range golden.Inputs {
		p := &metrics.Predictions{Labels: in.Y, Weights: in.W}
		p.Rows, p.Classes, p.F64 = len(in.P), 1, in.P
		c := cellsOf(t, p)
		for proper, want := range in.Corp {
			v, bound := terms(metrics.Must(binfree.CORPOf(c, &binfree.CORPOptions{Score: scores[proper]})))
			if bound != (corp{}) {
				t.Errorf("%s: bounds %+v", name, bound)
			}
			got := map[string]float64{"score": v.score, "mcb": v.mcb, "dsc": v.dsc, "unc": v.unc}
			for term, raw := range want {
				w, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
				if err != nil {
					t.Fatal(err)
				}
				if g := got[term]; g != w && !(math.Abs(g-w) < 1e-12) {
					t.Errorf("%s, %s: %s %v, want %v", name, proper, term, g, w)
				}
				compared++
			}
			for term, text := range in.Published {
				if proper != "squared" {
					continue
				}
				w, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Fatal(err)
				}
				_, digits, _ := strings.Cut(text, ".")
				if half := 0.5001 * math.Pow(10, -float64(len(digits))); math.Abs(got[term]-w) > half {
					t.Errorf("%s: %s %v, published as %s", name, term, got[term], text)
				}
				compared++
			}
		}
	}
	if compared != 11*8+6 {
		t.Errorf("%d results compared", compared)
	}
}
