package eval

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

// scaledSource is a source of one chunk.
type scaledSource struct{ p *metrics.Predictions }

func (s *scaledSource) Next() (*metrics.Chunk, error) {
	if s.p == nil {
		return nil, io.EOF
	}
	c := &metrics.Chunk{Predictions: *s.p}
	s.p = nil
	return c, nil
}

// scaledRows are three rows of three classes, whose logits are divided by t.
func scaledRows(t float64) *scaledSource {
	z := []float64{3, 1, 0, 0, 2, 1, 4, 0, 3}
	p := make([]float64, len(z))
	for i := 0; i < len(z); i += 3 {
		sum := 0.0
		for j := range 3 {
			p[i+j] = math.Exp(z[i+j] / t)
			sum += p[i+j]
		}
		for j := range 3 {
			p[i+j] /= sum
		}
	}
	return &scaledSource{&metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: 3, Classes: 3}, Labels: []int32{0, 2, 0}}}
}

func scaledEvaluation(t *testing.T, spec Spec, list string, src metrics.Source) *Evaluation {
	t.Helper()
	m, err := ParseMetrics(list, spec.Shape())
	if err != nil {
		t.Fatal(err)
	}
	spec.Metrics = m
	e, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.AddSource(src, nil); err != nil {
		t.Fatal(err)
	}
	return e
}

func keysOf(l []Metric) string {
	var s []string
	for _, m := range l {
		s = append(s, m.String())
	}
	return strings.Join(s, " ")
}

// TestScaledAnswers: the metrics are those of the scaled rows, and a state knows nothing of them.
func TestScaledAnswers(t *testing.T) {
	spec := Spec{Classes: 3, Base: calib.Options{Bins: 7}, Brier: score.BrierMinusOne, Level: 0.8}
	e := scaledEvaluation(t, spec, "brier_temperature_scaled,accuracy,nll", scaledRows(1))
	if g := keysOf(e.Answered()); g != "brier_temperature_scaled accuracy nll" {
		t.Errorf("without scaled rows the answers are %s", g)
	}
	before, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParseMetrics(ScaledMetrics, spec.Shape())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if v := e.Value(m); !math.IsNaN(v.Value) || !math.IsNaN(v.Interval.Low) || v.Reason != notScaled() {
			t.Errorf("%s: %+v", m, v)
		}
		if g := e.Text(m); g != Describe(m.Name).Formula {
			t.Errorf("%s: %q", m, g)
		}
	}
	s := e.ScaledSpec()
	if s.Classes != 3 || s.Kind != metrics.Probs || s.Base != e.Spec.Base || s.Brier != score.BrierMinusOne || s.Level != 0.8 || keysOf(s.Metrics) != "nll brier ece" {
		t.Errorf("the spec of scaled rows is %+v", s)
	}
	rows, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.AddSource(scaledRows(2), nil); err != nil {
		t.Fatal(err)
	}
	temperature := Value{Value: 2, Interval: metrics.Interval{Low: 1, High: 4}, Method: "by hand", Note: "a note"}
	e.Scaled = &Scaled{Temperature: temperature, Rows: rows}
	if g := keysOf(e.Answered()); g != "brier_temperature_scaled accuracy nll temperature nll_temperature_scaled ece_temperature_scaled" {
		t.Errorf("the answers are %s", g)
	}
	want := scaledEvaluation(t, spec, "nll,brier,ece", scaledRows(2))
	for _, m := range all {
		v := e.Value(m)
		name, of := strings.CutSuffix(m.Name, "_temperature_scaled")
		if !of {
			if v != temperature || e.Text(m) != Describe("temperature").Formula {
				t.Errorf("%+v, %q", v, e.Text(m))
			}
			continue
		}
		w := Metric{Name: name}
		if g := want.Value(w); v != g || math.IsNaN(g.Value) {
			t.Errorf("%s is %+v, not %+v", m, v, g)
		}
		if g := e.Text(m); g != want.Text(w)+"; after temperature scaling, of each row by the temperature of the other folds' rows" {
			t.Errorf("%s: %q", m, g)
		}
	}
	if b, err := e.AppendBinary(nil); err != nil || !bytes.Equal(b, before) {
		t.Errorf("scaled rows change the state: %v", err)
	}
	var read Evaluation
	if err := read.UnmarshalBinary(before); err != nil || read.Scaled != nil {
		t.Errorf("%v, %v", err, read.Scaled)
	}
	// Why there are no scaled rows is the reason of what they would answer.
	e.Scaled = &Scaled{Temperature: Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: "no maximum"}, Reason: "no fold has one"}
	for _, m := range all {
		reason := "no fold has one"
		if m.Name == "temperature" {
			reason = "no maximum"
		}
		if v := e.Value(m); !math.IsNaN(v.Value) || v.Reason != reason || e.Text(m) != Describe(m.Name).Formula {
			t.Errorf("%s: %+v", m, v)
		}
	}
	// Of more rows it is not known what they have after scaling.
	if err := e.AddSource(scaledRows(1), nil); err != nil || e.Scaled != nil {
		t.Errorf("%v, %v", err, e.Scaled)
	}
	e.Scaled = &Scaled{Temperature: temperature, Rows: rows}
	if err := e.Merge(scaledEvaluation(t, spec, "brier_temperature_scaled,accuracy,nll", scaledRows(1))); err != nil || e.Scaled != nil {
		t.Errorf("%v, %v", err, e.Scaled)
	}
}

// TestScaledApplies: the metrics are of the classes of one model, take no options, and stand in no list that does not name them.
func TestScaledApplies(t *testing.T) {
	for _, name := range strings.Split(ScaledMetrics, ",") {
		for _, classes := range []int{1, 2, 10} {
			if _, err := ParseMetrics(name, Shape{Classes: classes}); err != nil {
				t.Errorf("%s of %d classes: %v", name, classes, err)
			}
			l, err := ParseMetrics("all,default", Shape{Classes: classes})
			if err != nil || strings.Contains(" "+keysOf(l)+" ", " "+name+" ") {
				t.Errorf("%s is among all of %d classes: %v", name, classes, err)
			}
		}
		for _, of := range []Shape{{Classes: 3, Members: 4}, {Classes: 3, Kind: metrics.Normals}, {Classes: 5, Kind: metrics.Samples}} {
			if _, err := ParseMetrics(name, of); err == nil || !strings.Contains(err.Error(), "metric "+name+": it is for the classes of one model") {
				t.Errorf("%s of %+v: %v", name, of, err)
			}
		}
		if _, err := ParseMetrics(name+"(bins=3)", Shape{Classes: 3}); err == nil || !strings.Contains(err.Error(), "it takes no options") {
			t.Errorf("%s(bins=3): %v", name, err)
		}
		if d := Describe(name); d.Default || d.Meaning == "" || d.Short == "" || d.Source == "" {
			t.Errorf("%+v", d)
		}
	}
	if d := Describe("temperature").Better; d != Neither {
		t.Errorf("a temperature is better %s", d)
	}
}
