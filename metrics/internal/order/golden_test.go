package order_test

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/order"
	"github.com/candor-go/candor/predictions"
)

// A matrix has its scores in float64 or, if it is that of float32, in both.
type matrix struct {
	f32           []float32
	f64           []float64
	rows, classes int
	labels        []int32
}

// outside reports whether a score is outside [0,1]: the reference accepts it, the bins leave it out.
func (m *matrix) outside() bool {
	return slices.ContainsFunc(m.f64, func(p float64) bool { return !(p >= 0 && p <= 1) })
}

// smallInputs returns the inputs of gce_small; one-dimensional ones are widened to [1-p, p], as the reference does.
func smallInputs(t *testing.T) map[string]*matrix {
	var g struct {
		Inputs map[string]struct {
			Probs  json.RawMessage
			Labels []int32
		}
	}
	check.Golden(t, "../../../testdata/golden", "gce_small.json.gz", &g)
	out := map[string]*matrix{}
	for name, in := range g.Inputs {
		var two [][]float64
		if json.Unmarshal(in.Probs, &two) != nil {
			two = nil
			var one []float64
			if err := json.Unmarshal(in.Probs, &one); err != nil {
				t.Fatal(err)
			}
			for _, p := range one {
				two = append(two, []float64{p})
			}
		}
		m := &matrix{rows: len(two), classes: max(2, len(two[0])), labels: in.Labels}
		for _, row := range two {
			if len(row) == 1 {
				row = []float64{1 - row[0], row[0]}
			}
			m.f64 = append(m.f64, row...)
		}
		out[name] = m
	}
	return out
}

// A rule is what the reference lets be chosen.
type rule struct {
	maxProb, classwise bool
	threshold          float64
	norm               string
	bins               int
}

// columns returns the bins that a rule makes: those of each class, or of all scores.
func (m *matrix) columns(r rule) []order.Bins {
	above := r.threshold
	if m.f32 != nil {
		above = float64(float32(above)) // what the reference compares with
	}
	if r.classwise && !r.maxProb {
		dst := make([]order.Bins, m.classes)
		if m.f32 != nil {
			order.ClassEqualMassF32(dst, m.f32, m.rows, m.classes, m.classes, m.labels, r.bins, above, 2)
		} else {
			order.ClassEqualMassF64(dst, m.f64, m.rows, m.classes, m.classes, m.labels, r.bins, above, 2)
		}
		return dst
	}
	var scores [][]float64
	var hits [][]uint8
	n := 1
	if r.classwise {
		n = m.classes
	}
	scores, hits = make([][]float64, n), make([][]uint8, n)
	for i, y := range m.labels {
		row := m.f64[i*m.classes : (i+1)*m.classes]
		top := 0
		for j, p := range row {
			if p > row[top] {
				top = j
			}
		}
		for j, p := range row {
			if r.maxProb && j != top {
				continue
			}
			c := 0
			if r.classwise {
				c = j
			}
			hit := uint8(0)
			if int(y) == j {
				hit = 1
			}
			scores[c], hits[c] = append(scores[c], p), append(hits[c], hit)
		}
	}
	dst := make([]order.Bins, n)
	for c := range dst {
		if m.f32 != nil {
			narrow, keys := make([]float32, len(scores[c])), make([]uint32, len(scores[c]))
			for i, p := range scores[c] {
				narrow[i] = float32(p)
			}
			kernel.HitKeysF32(keys, narrow, hits[c])
			dst[c] = *order.EqualMass(keys, r.bins, above, 2)
		} else {
			keys := make([]uint64, len(scores[c]))
			kernel.HitKeysF64(keys, scores[c], hits[c])
			dst[c] = *order.EqualMass(keys, r.bins, above, 2)
		}
	}
	return dst
}

// value is the reference's result: the mean over the columns, for l2 of the squares and then the root.
func (m *matrix) value(r rule) float64 {
	sum := 0.0
	columns := m.columns(r)
	for i := range columns {
		b := &columns[i]
		if r.norm == "l1" {
			sum += b.ECE()
			continue
		}
		for j := range b.Cells {
			if c := &b.Cells[j]; c.N > 0 {
				g := c.Gap()
				d := exact.Mean(&g, c.N)
				sum += d * d * float64(c.N) / float64(b.N)
			}
		}
	}
	sum /= float64(len(columns))
	if r.norm == "l2" {
		return math.Sqrt(sum)
	}
	return sum
}

func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))
}

// TestGoldenSmall: every result with equal-mass bins, whatever else was chosen.
func TestGoldenSmall(t *testing.T) {
	inputs := smallInputs(t)
	var g struct{ Cases [][]any }
	check.Golden(t, "../../../testdata/golden", "gce_small.json.gz", &g)
	isatest.Each(t, func(t *testing.T) {
		n := 0
		for _, c := range g.Cases {
			m := inputs[c[0].(string)]
			if c[1].(string) != "adaptive" || m.outside() {
				continue
			}
			r := rule{maxProb: c[2].(bool), classwise: c[3].(bool), threshold: c[4].(float64), norm: c[5].(string)}
			if points, ok := c[7].(float64); ok {
				r.bins = int(float64(m.rows) / points)
			} else {
				r.bins = int(c[6].(float64))
			}
			if r.bins == 0 {
				continue
			}
			if n++; n%check.Size(11, 5, 1) != 0 {
				continue
			}
			if got := m.value(r); !near(got, c[8].(float64)) {
				t.Errorf("%v: %v", c, got)
			}
		}
		t.Logf("%d cases", n)
		if n < 5000 {
			t.Error("cases are missing")
		}
	})
}

// TestGoldenAliases: ace, tace and rmsce as the reference names them.
func TestGoldenAliases(t *testing.T) {
	inputs := smallInputs(t)
	var g struct{ Aliases []map[string]any }
	check.Golden(t, "../../../testdata/golden", "gce_adaptive.json.gz", &g)
	ace := func(threshold float64, bins int) rule {
		return rule{classwise: true, threshold: threshold, norm: "l1", bins: bins}
	}
	rules := map[string]rule{
		"ace_default": ace(0, 30), "ace_15": ace(0, 15), "tace_default": ace(0.01, 30), "tace_15": ace(0.01, 15),
		"tace_thr0.1_15": ace(0.1, 15),
		"rmsce_default":  {maxProb: true, norm: "l2", bins: 30}, "rmsce_15": {maxProb: true, norm: "l2", bins: 15},
	}
	isatest.Each(t, func(t *testing.T) {
		n := 0
		for _, a := range g.Aliases {
			m := inputs[a["input"].(string)]
			if m.outside() {
				continue
			}
			for name, r := range rules {
				if got := m.value(r); !near(got, a[name].(float64)) {
					t.Errorf("%s of %v is %v, want %v", name, a["input"], got, a[name])
				}
				n++
			}
		}
		if n < 7*20 {
			t.Errorf("only %d cases", n)
		}
	})
}

// TestGoldenEdges: the edges themselves, and how many values are between them.
func TestGoldenEdges(t *testing.T) {
	var g struct {
		Predictions map[string][]float64
		Cases       []struct {
			Name   string
			Bins   int       `json:"num_bins"`
			Edges  []float64 `json:"upper_edges_um"`
			Counts []int64   `json:"counts_um"`
		} `json:"adaptive_bins"`
	}
	check.Golden(t, "../../../testdata/golden", "gce_adaptive.json.gz", &g)
	if len(g.Cases) < 20 {
		t.Fatalf("only %d cases", len(g.Cases))
	}
	isatest.Each(t, func(t *testing.T) {
		for _, c := range g.Cases {
			x := g.Predictions[c.Name]
			if got := order.EdgesF64(x, c.Bins, 1); !slices.Equal(got, c.Edges) {
				t.Errorf("%s, %d bins: %v, want %v", c.Name, c.Bins, got, c.Edges)
			}
			keys := make([]uint64, len(x))
			kernel.HitKeysF64(keys, x, make([]uint8, len(x)))
			b := order.EqualMass(keys, c.Bins, -1, 1)
			if !slices.Equal(b.Edges, c.Edges) {
				t.Errorf("%s, %d bins: %v, want %v", c.Name, c.Bins, b.Edges, c.Edges)
			}
			for i := range b.Cells {
				if want := append(c.Counts, make([]int64, c.Bins)...)[i]; b.Cells[i].N != want {
					t.Errorf("%s, bin %d of %d has %d, want %d", c.Name, i, c.Bins, b.Cells[i].N, want)
				}
			}
		}
	})
}

// TestGoldenBig: a thousand classes, and twenty thousand rows.
func TestGoldenBig(t *testing.T) {
	var g struct {
		Cases []struct {
			Input, Mode, Metric string
			Scheme              string `json:"binning_scheme"`
			MaxProb             bool   `json:"max_prob"`
			Classwise           bool   `json:"class_conditional"`
			Threshold           float64
			Norm                string
			Bins                int `json:"num_bins"`
			Result              float64
		}
	}
	check.Golden(t, "../../../testdata/golden", "gce_big.json", &g)
	sets := map[string]*matrix{}
	isatest.Each(t, func(t *testing.T) {
		n := 0
		for i, c := range g.Cases {
			r := rule{c.MaxProb, c.Classwise, c.Threshold, c.Norm, c.Bins}
			switch {
			case c.Metric == "ace":
				r = rule{classwise: true, norm: "l1", bins: c.Bins}
			case c.Metric == "tace":
				r = rule{classwise: true, threshold: 0.01, norm: "l1", bins: c.Bins}
			case c.Metric == "rmsce":
				r = rule{maxProb: true, norm: "l2", bins: c.Bins}
			case c.Metric != "gce" || c.Scheme != "adaptive":
				continue
			}
			if n++; i%11 >= check.Size(1, 4, 11) {
				continue
			}
			key := c.Input + c.Mode
			if sets[key] == nil {
				sets[key] = loadNPY(t, "../../../testdata/golden/"+c.Input, c.Mode == "f64")
			}
			if got := sets[key].value(r); !near(got, c.Result) {
				t.Errorf("%+v: %v", c, got)
			}
		}
		t.Logf("%d cases", n)
		if n < 100 {
			t.Error("cases are missing")
		}
	})
}

// loadNPY reads NAME_probs.npy and NAME_labels.npy whole, and widens the scores if asked to.
func loadNPY(t *testing.T, name string, widen bool) *matrix {
	t.Helper()
	r, err := predictions.Open([]string{name + "_probs.npy"}, &predictions.Options{Labels: []string{name + "_labels.npy"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := new(matrix)
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.DType() == metrics.Float32 {
			m.f32 = append(m.f32, c.F32...)
			for _, v := range c.F32 {
				m.f64 = append(m.f64, float64(v))
			}
		} else {
			m.f64 = append(m.f64, c.F64...)
		}
		m.classes = c.Classes
		m.rows += c.Rows
		m.labels = append(m.labels, c.Labels...)
		c.Recycle()
	}
	if widen {
		m.f32 = nil
	}
	return m
}
