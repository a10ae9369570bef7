package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/multilabel"
	"github.com/candor-go/candor/report"
)

// tags is a source of one chunk of several labels.
type tags struct{ c *metrics.LabelChunk }

func (s *tags) Next() (*metrics.LabelChunk, error) {
	if s.c == nil {
		return nil, io.EOF
	}
	c := s.c
	s.c = nil
	return c, nil
}

func tagged(rows, labels int, weights []float64) *metrics.LabelChunk {
	r := rand.New(rand.NewPCG(5, 9))
	c := &metrics.LabelChunk{Scores: metrics.Scores{Rows: rows, Classes: labels}, Weights: weights}
	for range rows {
		for j := range labels {
			p := r.Float64()
			c.F64 = append(c.F64, p)
			y := int32(0)
			if r.Float64() < math.Pow(p, float64(1+j%3)) && j != 1 {
				y = 1
			}
			c.Labels = append(c.Labels, y)
		}
	}
	return c
}

func ofLabels(t testing.TB, list string, c *metrics.LabelChunk) (*multilabel.Evaluation, []eval.Metric) {
	t.Helper()
	l, err := eval.ParseMetrics(list, eval.Shape{Classes: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := multilabel.New(eval.Spec{Metrics: l}, c.Classes)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.AddSource(&tags{c}, nil); err != nil {
		t.Fatal(err)
	}
	return m, l
}

// TestLabelDocuments: the document of a label is that of an evaluation of this label alone, with the label's number in front, for few
// labels and for many.
func TestLabelDocuments(t *testing.T) {
	for _, labels := range []int{1, 4, check.Size(20, 100, 300)} {
		for _, weights := range [][]float64{nil, {1, 2, 0.5, 1, 1, 3, 1, 1, 1, 1}} {
			c := tagged(10, labels, weights)
			m, list := ofLabels(t, "default,auroc,nll_infinite_rows", c)
			d := report.NewMultilabel(m)
			var got bytes.Buffer
			if err := d.WriteJSON(&got); err != nil {
				t.Fatal(err)
			}
			var flat, again bytes.Buffer
			if err := json.Compact(&flat, got.Bytes()); err != nil {
				t.Fatal(err)
			}
			if json.Indent(&again, flat.Bytes(), "", "  "); again.String()+"\n" != got.String() {
				t.Fatalf("%d labels: not indented as JSON is", labels)
			}
			var doc struct {
				Schema, Verdict string
				Input           map[string]any
				Metrics         map[string]map[string]any
				Labels          []json.RawMessage
				State           map[string]string
				Warnings        []string
			}
			if err := json.Unmarshal(got.Bytes(), &doc); err != nil {
				t.Fatal(err)
			}
			if doc.Schema != report.Schema || doc.Input["labels"] != float64(labels) || len(doc.Labels) != labels || doc.State["sha256"] != m.SHA256() || doc.Warnings == nil {
				t.Errorf("%+v", doc.Input)
			}
			for j, one := range doc.Labels {
				p := &metrics.Predictions{Scores: metrics.Scores{Rows: 10, Classes: 1}, Weights: weights}
				for i := range 10 {
					p.F64, p.Labels = append(p.F64, c.F64[i*labels+j]), append(p.Labels, c.Labels[i*labels+j])
				}
				e, err := eval.New(eval.Spec{Classes: 1, Metrics: list})
				if err != nil {
					t.Fatal(err)
				}
				if err := e.AddSource(&rows{p}, nil); err != nil {
					t.Fatal(err)
				}
				want, err := report.Brief(e).MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				flat.Reset()
				if err := json.Compact(&flat, one); err != nil {
					t.Fatal(err)
				}
				if w := fmt.Sprintf(`{"label":%d,`, j) + string(want[1:]); flat.String() != w {
					t.Fatalf("label %d of %d is\n%s\nby itself\n%s", j, labels, flat.String(), w)
				}
			}
			a := doc.Metrics["auroc"]
			if labels > 1 && (a["labels"].(float64) > float64(labels-1) || !strings.Contains(a["reason"].(string), "labels have none: ")) {
				t.Errorf("%v", a)
			}
			for _, of := range list {
				if v := m.Macro(of).Value; doc.Metrics[of.String()]["value"] != v && !math.IsNaN(v) {
					t.Errorf("%v is %v, want %v", of, doc.Metrics[of.String()]["value"], v)
				}
			}
		}
	}
}

func TestLabelTables(t *testing.T) {
	m, list := ofLabels(t, "default,auroc", tagged(60, 25, nil))
	d := report.NewMultilabel(m)
	var plain, page, sheet bytes.Buffer
	for f, b := range map[report.Format]*bytes.Buffer{report.Plain: &plain, report.Markdown: &page} {
		if err := d.Table(b, f, 0); err != nil {
			t.Fatal(err)
		}
		if err := d.LabelsTable(b, f, 0); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, " \n") {
			t.Errorf("%s", s)
		}
	}
	if s := plain.String(); !strings.Contains(s, "The 20 of 25 labels with the largest ece") || strings.Count(s, "\n") != 1+len(list)+1+1+20 {
		t.Errorf("%s", s)
	}
	if s := page.String(); strings.Count(s, "\n") != 2+len(list)+2+25 {
		t.Errorf("%s", s)
	}
	// Worst first.
	lines := strings.Split(strings.TrimSpace(plain.String()), "\n")
	first, last := strings.Fields(lines[len(lines)-20]), strings.Fields(lines[len(lines)-1])
	if first[3] < last[3] {
		t.Errorf("%v before %v", first, last)
	}
	if err := d.Table(&sheet, report.CSV, 0); err != nil {
		t.Fatal(err)
	}
	lines2, err := csv.NewReader(&sheet).ReadAll()
	if err != nil || len(lines2) != 1+len(list)*26 || lines2[1][0] != "macro" || lines2[1+len(list)][0] != "0" || lines2[0][0] != "label" {
		t.Error(len(lines2), err)
	}
	if v := d.Verdict(); !strings.HasPrefix(v, "60 rows x 25 labels: off by 16.4 points on average; 14 labels too high, 0 too low, 11 undecided.") {
		t.Error(v)
	}
	if n := d.Notes(); len(n) != 4 || !strings.HasPrefix(n[3], "auroc: 1 of 25 labels have none: ") {
		t.Error(n)
	}
	// Without any of the main metrics, the first ones are shown in order.
	m, _ = ofLabels(t, "mce,accuracy", tagged(60, 25, nil))
	plain.Reset()
	if err := report.NewMultilabel(m).LabelsTable(&plain, report.Plain, 0); err != nil || !strings.HasPrefix(plain.String(), "The first 20 of 25 labels") {
		t.Error(plain.String(), err)
	}
}

func TestInfiniteLabels(t *testing.T) {
	c := tagged(30, 3, nil)
	c.F64[2], c.Labels[2] = 0, 1
	m, _ := ofLabels(t, "nll", c)
	d := report.NewMultilabel(m)
	var b bytes.Buffer
	if err := d.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"value": "+Inf"`) || len(d.Warnings) != 1 || d.Warnings[0] != "nll is infinite for 1 of 3 labels, and so is their mean" {
		t.Error(d.Warnings)
	}
}

func TestNoLabelRows(t *testing.T) {
	list, _ := eval.ParseMetrics("default", eval.Shape{Classes: 1})
	m, err := multilabel.New(eval.Spec{Metrics: list}, 2)
	if err != nil {
		t.Fatal(err)
	}
	d := report.NewMultilabel(m)
	var b bytes.Buffer
	if err := d.WriteJSON(&b); err != nil || !json.Valid(b.Bytes()) || d.Verdict() != "0 rows x 2 labels: nothing to judge." || d.State != m.SHA256() {
		t.Error(err, d.Verdict())
	}
}

// Gates check the averages over labels.
func ExampleMultilabel() {
	list, err := eval.ParseMetrics("brier,ece(bins=2)", eval.Shape{Classes: 1})
	if err != nil {
		log.Fatal(err)
	}
	m, err := multilabel.New(eval.Spec{Metrics: list}, 2)
	if err != nil {
		log.Fatal(err)
	}
	c := &metrics.LabelChunk{Labels: []int32{1, 0, 0, 1}, Scores: metrics.Scores{F64: []float64{0.9, 0.2, 0.4, 0.9}, Rows: 2, Classes: 2}}
	if err := m.AddSource(&tags{c}, nil); err != nil {
		log.Fatal(err)
	}
	d := report.NewMultilabel(m)
	fmt.Println(d.Verdict())
	g, err := report.ParseGate("brier > 0.05")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.CheckLabels(d).Text)
	fmt.Printf("%s %.4f, of label 1 %.4f\n", d.Metrics[0].Key, d.Metrics[0].Value.Value, d.Document(1).Metrics[0].Value.Value)
	fmt.Println(len(d.Notes()), d.Labels, d.Input.Rows, d.State == m.SHA256())
	// Output:
	// 2 rows x 2 labels: off by 10.0 points on average; 0 labels too high, 0 too low, 2 undecided.
	// brier > 0.05: it is 0.055
	// brier 0.0550, of label 1 0.0250
	// 0 2 2 true
}
