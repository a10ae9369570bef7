package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// bySite evaluates P(y = 1) of rows in groups, named by their numbers.
func bySite(t *testing.T, list string, p []float64, y []int32, of []int32) *grouped.Evaluation {
	t.Helper()
	spec := eval.Spec{Classes: 1}
	var err error
	if spec.Metrics, err = eval.ParseMetrics(list, spec.Shape()); err != nil {
		t.Fatal(err)
	}
	g, err := grouped.New(spec, []string{"site"})
	if err != nil {
		t.Fatal(err)
	}
	c := &metrics.Chunk{Predictions: metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y}, Groups: of}
	if err := g.AddSource(&oneChunk{c}, func(i int32) []string { return []string{fmt.Sprintf("s%02d", i)} }, nil); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestWorstGroup: the group nearest to failing decides, by the value and by the interval that rows of the group alone have at the
// adjusted level.
func TestWorstGroup(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	var p []float64
	var y, of []int32
	rows := []int{60, 45, 200, 30, 29, 3}
	off := []float64{0.1, -0.15, 0.05, 0, 0.9, 0.9}
	for i, n := range rows {
		for range n {
			q := 0.2 + 0.6*r.Float64()
			p, of = append(p, q), append(of, int32(i))
			if r.Float64() < q-off[i] {
				y = append(y, 1)
			} else {
				y = append(y, 0)
			}
		}
	}
	g := bySite(t, "bias,auroc,ece", p, y, of)
	bias, err := eval.ParseMetric("bias")
	if err != nil {
		t.Fatal(err)
	}
	const counted = 4 // groups of 30 rows or more
	var of4 []eval.Value
	for k := range counted {
		e, err := eval.New(eval.Spec{Classes: 1, Metrics: []eval.Metric{bias}, Level: 1 - 0.05/counted})
		if err != nil {
			t.Fatal(err)
		}
		own := &metrics.Predictions{Scores: metrics.Scores{Classes: 1}}
		for i := range p {
			if int(of[i]) == k {
				own.F64, own.Labels = append(own.F64, p[i]), append(own.Labels, y[i])
			}
		}
		own.Rows = len(own.F64)
		if err := e.Add(own, nil); err != nil {
			t.Fatal(err)
		}
		of4 = append(of4, e.Value(bias))
	}
	ends := map[string]func(v eval.Value) float64{
		"value": func(v eval.Value) float64 { return v.Value },
		"low":   func(v eval.Value) float64 { return v.Interval.Low },
		"high":  func(v eval.Value) float64 { return v.Interval.High },
	}
	for part, end := range ends {
		least, most := 0, 0
		for i := range of4 {
			if end(of4[i]) < end(of4[least]) {
				least = i
			}
			if end(of4[i]) > end(of4[most]) {
				most = i
			}
		}
		for _, c := range []struct {
			op       string
			required bool
			at       int
		}{{">", false, most}, {">=", false, most}, {"<", false, least}, {"<=", false, least}, {">", true, least}, {"<", true, most}} {
			for _, limit := range []float64{end(of4[c.at]) - 0.01, end(of4[c.at]) + 0.01} {
				text := fmt.Sprintf("worst_group.bias.%s%s%.9f", part, c.op, limit)
				parse := ParseGate
				if c.required {
					parse = ParseRequirement
				}
				gate, err := parse(text)
				if err != nil {
					t.Fatal(err)
				}
				o := gate.CheckGroups(g, 30)
				holds := (end(of4[c.at]) > limit) == (c.op[0] == '>')
				inside := ""
				if part != "value" {
					inside = ", 98.75% interval for 4 groups together"
				}
				want := fmt.Sprintf("it is %.7g in site=s%02d (%d rows%s); 2 groups of fewer than 30 rows left out", end(of4[c.at]), c.at, rows[c.at], inside)
				if o.Failed != (holds != c.required) || !strings.HasSuffix(o.Text, want) || !strings.HasPrefix(o.Text, text) {
					t.Errorf("%s, required %v: %v %q, want %q", text, c.required, o.Failed, o.Text, want)
				}
			}
		}
	}
	for _, c := range []struct {
		gate string
		min  int64
		want string
	}{
		{"worst_group.bias.low>0", 1000, "no group has 1,000 rows"},
		{"worst_group.ece>0", 3, "it is "}, {"worst_group.ece.low>1", 1, "for 6 groups together"},
	} {
		gate, err := ParseGate(c.gate)
		if err != nil {
			t.Fatal(err)
		}
		if o := gate.CheckGroups(g, c.min); !strings.Contains(o.Text, c.want) || o.Failed != !strings.Contains(c.gate, ">1") {
			t.Errorf("%s: %v %q, want %q", c.gate, o.Failed, o.Text, c.want)
		}
	}
	for gate, warns := range map[string]bool{"worst_group.bias>0": true, "worst_group.bias.value>0": true, "worst_group.bias.low>0": false, "worst_group.bias.high<0": false, "bias>0": false} {
		g, err := ParseGate(gate)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Warning(); (got != "") != warns || warns && !strings.Contains(got, "worst_group.bias.low and .high") {
			t.Errorf("%s: %q", gate, got)
		}
	}
}

// TestWorstGroupUndefined: a group without a value fails a gate and a requirement.
func TestWorstGroupUndefined(t *testing.T) {
	p := []float64{0.25, 0.75, 0.5, 0.25, 0.75, 0.5}
	y := []int32{0, 1, 1, 1, 1, 0}
	for _, c := range []struct {
		of   []int32
		want string
	}{
		{[]int32{0, 0, 0, 1, 1, 0}, "auroc.value is not defined in site=s01 (2 rows): "},
		{[]int32{0, 0, 1, 2, 2, 0}, "auroc.value is not defined in site=s01 (1 row) and 1 more group: "},
	} {
		g := bySite(t, "auroc", p, y, c.of)
		for _, parse := range []func(string) (Gate, error){ParseGate, ParseRequirement} {
			gate, err := parse("worst_group.auroc<0")
			if err != nil {
				t.Fatal(err)
			}
			if o := gate.CheckGroups(g, 1); !o.Failed || !strings.Contains(o.Text, c.want) {
				t.Errorf("%v %q, want %q", o.Failed, o.Text, c.want)
			}
		}
	}
}

// TestWorstGroupAlarms: of 50 groups of a calibrated model the ends of adjusted intervals raise an alarm in at most 5% of sets on each
// side, and the worst value alone nearly always.
func TestWorstGroupAlarms(t *testing.T) {
	sets := check.Size(20, 120, 400)
	for _, c := range []struct {
		name string
		rows int
		draw func(r *rand.Rand) float64
	}{
		{"even", 100, func(r *rand.Rand) float64 { return r.Float64() }},
		{"rare", 100, func(r *rand.Rand) float64 { return 0.04 * r.Float64() }}, // 2% of events
	} {
		gates := map[string]int{"worst_group.bias.low>0": 0, "worst_group.bias.high<0": 0, "worst_group.bias<-0.02": 0}
		for s := range sets {
			r := rand.New(rand.NewPCG(uint64(s), 77))
			var p []float64
			var y, of []int32
			for i := range 50 * c.rows {
				q := c.draw(r)
				p, of, y = append(p, q), append(of, int32(i/c.rows)), append(y, 0)
				if r.Float64() < q {
					y[i] = 1
				}
			}
			g := bySite(t, "bias", p, y, of)
			for text := range gates {
				gate, err := ParseGate(text)
				if err != nil {
					t.Fatal(err)
				}
				if gate.CheckGroups(g, 30).Failed {
					gates[text]++
				}
			}
		}
		t.Logf("%s: of %d sets %v", c.name, sets, gates)
		// 2.5% are meant on each side; 5% and three standard deviations of the count are the limit.
		limit := 0.05*float64(sets) + 3*math.Sqrt(0.05*0.95*float64(sets))
		for text, n := range gates {
			if adjusted := strings.Contains(text, "low") || strings.Contains(text, "high"); adjusted && float64(n) > limit || !adjusted && float64(n) < 0.9*float64(sets) {
				t.Errorf("%s: %s fails in %d of %d sets", c.name, text, n, sets)
			}
		}
	}
}
