package report

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// sides returns two comparable documents, with 3 and 2 of 4 rows right.
func sides(t *testing.T) *Comparison {
	labels := []int32{1, 1, 0, 0}
	return &Comparison{Sets: []Named{{"a", doc(t, 1, "all", []float64{0.9, 0.8, 0.3, 0.6}, labels...)}, {"b", doc(t, 1, "all", []float64{0.9, 0, 0.3, 0.6}, labels...)}}}
}

func TestBest(t *testing.T) {
	c := sides(t)
	for name, want := range map[string][]bool{"accuracy": {true, false}, "nll": {true, false}, "nll_infinite_rows": {true, false}, "brier": {true, false},
		"overconfidence": {false, false}, "base_rate": {false, false}, "confidence": {false, false}, "ece_floor": {false, false}} {
		i := slices.IndexFunc(c.Sets[0].Metrics, func(m Metric) bool { return m.Key == name })
		if got := c.Best(i); !slices.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
		// Equal values are not best, and neither are undefined ones.
		same := &Comparison{Sets: []Named{c.Sets[0], c.Sets[0], c.Sets[0]}}
		if got := same.Best(i); slices.Contains(got, true) {
			t.Errorf("%s of equal sets: %v", name, got)
		}
	}
	three := &Comparison{Sets: append(sides(t).Sets, c.Sets...)[:3]}
	if got := three.Best(0); !slices.Equal(got, []bool{true, false, true}) {
		t.Errorf("of two equal best ones: %v", got)
	}
	three.Sets[0].Metrics[0].Value.Value = math.NaN()
	if got := three.Best(0); !slices.Equal(got, []bool{false, false, true}) {
		t.Errorf("beside one that is not defined: %v", got)
	}
}

func TestComparisonTable(t *testing.T) {
	c := sides(t)
	c.Sets[1].Name = "a rather long name of a set, longer than its column"
	for _, width := range []int{0, 40, 60, 100, 200} {
		var b bytes.Buffer
		if err := c.Table(&b, Plain, width); err != nil {
			t.Fatal(err)
		}
		most := width
		if width == 0 {
			most = DefaultWidth
		}
		for _, l := range strings.Split(b.String(), "\n") {
			if len([]rune(l)) > max(most, 60) || strings.TrimRight(l, " ") != l {
				t.Errorf("width %d: %q", width, l)
			}
		}
		for i := range c.Sets[0].Metrics {
			for _, s := range c.Sets {
				left := strings.Contains(strings.ReplaceAll(b.String(), "\n", " "), "(no room for intervals:")
				if left && width > 60 || !strings.Contains(b.String(), s.valueText(&s.Metrics[i])) || !left && !strings.Contains(b.String(), interval(&s.Metrics[i])) {
					t.Errorf("width %d: %s of %s is not there", width, s.Metrics[i].Key, s.Name)
				}
			}
		}
	}
	for _, f := range []Format{Plain, Markdown, CSV} {
		var b bytes.Buffer
		if err := (&Comparison{}).Table(&b, f, 0); err != nil || b.Len() > 0 {
			t.Errorf("%s of nothing: %v, %q", f, err, b.String())
		}
	}
}

func TestComparisonJSON(t *testing.T) {
	c := sides(t)
	c.Sets[0].Name = `quo"te <&>`
	b, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Schema string
		Sets   []json.RawMessage
	}
	if err := json.Unmarshal(b, &v); err != nil || v.Schema != ComparisonSchema || len(v.Sets) != 2 || !strings.Contains(string(b), `"name": "quo\"te <&>"`) {
		t.Fatalf("%v: %s", err, b)
	}
	if !bytes.Contains(v.Sets[1], []byte(`"+Inf"`)) {
		t.Error("an infinite value is not there")
	}
	if b, err := (&Comparison{}).JSON(); err != nil || !bytes.Contains(b, []byte(`"sets": []`)) {
		t.Errorf("%v: %s", err, b)
	}
}
