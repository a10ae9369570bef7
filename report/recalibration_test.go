package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// recalibrated returns an arbitrary map, with documents of rows before and after.
func recalibrated(t *testing.T) *Recalibration {
	t.Helper()
	labels := []int32{1, 1, 0, 0}
	return &Recalibration{Method: "temperature", Says: "temperature of 4 rows: T = 2", Map: json.RawMessage(`{"schema": "candor-map/1", "n": 0.1}`), Folds: 5,
		Before: doc(t, 1, "accuracy,nll", []float64{0.9, 0.8, 0.3, 0.6}, labels...), After: doc(t, 1, "accuracy,nll", []float64{0.8, 0.7, 0.4, 0.5}, labels...),
		Temperatures: []AtTemperature{{T: 1, NLL: 0.25, ECE: 1. / 3, Note: "as given"}, {T: 1234.5, NLL: math.Inf(1), ECE: 0.1, Note: ""}, {T: 2, NLL: 0.125, ECE: 0, Note: "the fit"}}}
}

func TestRecalibrationJSON(t *testing.T) {
	r := recalibrated(t)
	for _, c := range []struct {
		name   string
		change func()
		want   string // the fields, in order
	}{
		{"all", func() {}, "schema method says map folds before after differences temperatures"},
		{"no temperatures", func() { r.Temperatures = nil }, "schema method says map folds before after differences"},
		{"no after", func() { r.After, r.Reason = nil, "fold 2 of 5: \"no\" rows" }, "schema method says map folds before after reason differences"},
	} {
		c.change()
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(b, []byte("{\n  \"schema\": \"candor-recal/1\",\n")) || !bytes.HasSuffix(b, []byte("\n}\n")) {
			t.Errorf("%s: %s", c.name, b)
		}
		var keys []string
		dec := json.NewDecoder(bytes.NewReader(b))
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
		members := map[string]json.RawMessage{}
		for dec.More() {
			k, err := dec.Token()
			if err != nil {
				t.Fatal(err)
			}
			var v json.RawMessage
			if err := dec.Decode(&v); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, k.(string))
			members[k.(string)] = v
		}
		if g := strings.Join(keys, " "); g != c.want {
			t.Errorf("%s: the members are %s", c.name, g)
		}
		before, err := r.Before.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if !same(t, before, members["before"]) || !same(t, r.Map, members["map"]) {
			t.Errorf("%s: before or map are others", c.name)
		}
		if r.After == nil {
			if string(members["after"]) != "null" || string(members["reason"]) != `"fold 2 of 5: \"no\" rows"` {
				t.Errorf("%s: after %s, reason %s", c.name, members["after"], members["reason"])
			}
			continue
		}
		after, err := r.After.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if !same(t, after, members["after"]) {
			t.Errorf("%s: after is %s", c.name, members["after"])
		}
		if r.Temperatures != nil && !same(t, members["temperatures"], []byte(`[{"temperature": 1, "nll": 0.25, "ece": 0.3333333333333333},
			{"temperature": 1234.5, "nll": "+Inf", "ece": 0.1}, {"temperature": 2, "nll": 0.125, "ece": 0}]`)) {
			t.Errorf("%s: temperatures are %s", c.name, members["temperatures"])
		}
	}
}

// same reports whether two texts are the same JSON value.
func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y bytes.Buffer
	if err := json.Compact(&x, a); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&y, b); err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

func TestRecalibrationComparison(t *testing.T) {
	r := recalibrated(t)
	if c := r.Comparison(); len(c.Sets) != 2 || c.Sets[0].Name != "before" || c.Sets[1].Name != "after" || c.Sets[0].Document != r.Before || c.Sets[1].Document != r.After {
		t.Errorf("%+v", c)
	}
	r.After = nil
	c := r.Comparison()
	if len(c.Sets) != 1 || c.Sets[0].Document != r.Before {
		t.Errorf("%+v", c)
	}
	var b bytes.Buffer
	if err := c.Table(&b, Plain, 0); err != nil || strings.Contains(b.String(), "*") || !strings.Contains(b.String(), "before") {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestTemperaturesTable(t *testing.T) {
	r := recalibrated(t)
	for f, want := range map[Format]string{
		Plain:    " T      nll     ece\n 1.000  0.2500  0.3333  as given\n  1234    +Inf  0.1000\n 2.000  0.1250  0.0000  the fit\n",
		Markdown: "| T | nll | ece |  |\n| --- | --- | --- | --- |\n| 1.000 | 0.2500 | 0.3333 | as given |\n| 1234 | +Inf | 0.1000 |  |\n| 2.000 | 0.1250 | 0.0000 | the fit |\n",
		CSV:      "temperature,nll,ece\n1,0.25,0.3333333333333333\n1234.5,+Inf,0.1\n2,0.125,0\n",
	} {
		var b bytes.Buffer
		if err := r.TemperaturesTable(&b, f); err != nil || b.String() != want {
			t.Errorf("%s: %v\n%q, not\n%q", f, err, b.String(), want)
		}
	}
	var b bytes.Buffer
	if err := r.TemperaturesTable(&b, CSV); err != nil {
		t.Fatal(err)
	}
	if rows, err := csv.NewReader(&b).ReadAll(); err != nil || len(rows) != 4 {
		t.Errorf("%v: %v", err, rows)
	}
	for _, f := range []Format{Plain, Markdown, CSV} {
		if err := r.TemperaturesTable(failing{}, f); err == nil {
			t.Errorf("%s: a writer's error is lost", f)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }

// TestComparisonOfDashes: a column without values has room for a short name.
func TestComparisonOfDashes(t *testing.T) {
	labels := []int32{1, 1, 0, 0}
	d := doc(t, 1, "temperature", []float64{0.9, 0.8, 0.3, 0.6}, labels...)
	var b bytes.Buffer
	if err := (&Comparison{Sets: []Named{{"before", d}, {"b", d}}}).Table(&b, Plain, 0); err != nil {
		t.Fatal(err)
	}
	if want := " Metric         before    b\n temperature    -         -\n"; b.String() != want {
		t.Errorf("%q, not %q", b.String(), want)
	}
}
