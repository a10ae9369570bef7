package eval_test

import (
	"fmt"
	"io"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
)

// Metrics are asked for by name, with options, and answered from one state.
func ExampleEvaluation() {
	list, err := eval.ParseMetrics("accuracy,ece(bins=4),ece(adaptive,bins=2,norm=l2),sce", eval.Shape{Classes: 1})
	if err != nil {
		log.Fatal(err)
	}
	e, err := eval.New(eval.Spec{Classes: 1, Metrics: list})
	if err != nil {
		log.Fatal(err)
	}
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.1, 0.2, 0.4, 0.7, 0.8, 0.9}, Rows: 6, Classes: 1},
		Labels: []int32{0, 0, 1, 0, 1, 1},
	}
	if err := e.Add(p, nil); err != nil {
		log.Fatal(err)
	}
	for _, m := range list {
		fmt.Printf("%v: %.4f, better is %s\n", m, e.Value(m).Value, eval.Describe(m.Name).Better)
	}
	for _, f := range e.Fields(list[2]) {
		fmt.Print(f.Name, "=", f.Value, " ")
	}
	d, ok := e.DiagramOf(calib.TopLabel)
	fmt.Println(ok, d.Event == calib.TopLabel, e.Diagram().Text[:14], e.Classes().Classes())
	// Output:
	// accuracy: 0.6667, better is higher
	// ece(bins=4): 0.3167, better is lower
	// ece(adaptive,bins=2,norm=l2): 0.1179, better is lower
	// sce: 0.3167, better is lower
	// bins=2 binning=adaptive norm=l2 event=positive ties=together, in the higher bin true true positive class 2
}

func ExampleParseMetric() {
	m, err := eval.ParseMetric("tace( threshold = 1e-3, bins = 030 )")
	fmt.Println(m, err)
	_, err = eval.ParseMetric("acee")
	fmt.Println(err)
	better := map[eval.Direction]int{}
	for _, d := range eval.Descriptors() {
		better[d.Better]++
	}
	fmt.Println(better[eval.Lower] > better[eval.Higher], better[eval.Zero] > 0, better[eval.Neither] > 0)
	// Output:
	// tace(bins=30,threshold=0.001) <nil>
	// there is no metric "acee" (did you mean ace?); eval.Descriptors lists them
	// true true true
}

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

// Independent labels are a binary task each, and their metrics have a mean.
func ExampleMultilabel() {
	list, err := eval.ParseMetrics("brier,auroc", eval.Shape{Classes: 1})
	if err != nil {
		log.Fatal(err)
	}
	spec := eval.Spec{Metrics: list}
	fmt.Println(spec.KeepsScores(list[0]), spec.KeepsScores(list[1]), spec.LabelBytes()>>20, "MiB")
	evaluate := func(scores []float64, labels []int32) *eval.Multilabel {
		m, err := eval.NewMultilabel(spec, 2)
		if err != nil {
			log.Fatal(err)
		}
		c := &metrics.LabelChunk{Labels: labels, Scores: metrics.Scores{F64: scores, Rows: len(labels) / 2, Classes: 2}}
		if err := m.AddSource(&tags{c}, nil); err != nil {
			log.Fatal(err)
		}
		return m
	}
	m := evaluate([]float64{0.9, 0.2, 0.4, 0.1}, []int32{1, 0, 0, 0})
	fmt.Printf("%.4f\n", m.Macro(list[0]).Value)
	v := m.Macro(list[1])
	fmt.Println(v.Value, v.Count, v.Reason)

	// Other rows may come from a state.
	b, err := evaluate([]float64{0.6, 0.7}, []int32{0, 1}).AppendBinary(nil)
	if err != nil {
		log.Fatal(err)
	}
	var other eval.Multilabel
	if err := other.UnmarshalBinary(b); err != nil {
		log.Fatal(err)
	}
	if err := m.Merge(&other); err != nil {
		log.Fatal(err)
	}
	values, sums := make([]eval.Value, m.Labels), make([]string, m.Labels)
	m.Each(func(label int, e *eval.Evaluation) { values[label], sums[label] = e.Value(list[1]), e.SHA256() })
	fmt.Println(eval.MacroOf(values).Value, m.Label(1).Value(list[1]).Value, m.Audit.Rows)
	fmt.Println(m.SHA256() == m.SHA256Of(sums), string(b[:4]) == eval.MultilabelMagic)
	// Output:
	// false true 3 MiB
	// 0.0550
	// 1 1 1 of 2 labels have none: all rows are of class 1, or none is
	// 1 1 3
	// true true
}
