package multilabel_test

import (
	"fmt"
	"io"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/multilabel"
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

// Independent labels are a binary task each, and their metrics have a mean.
func Example() {
	list, err := eval.ParseMetrics("brier,auroc", eval.Shape{Classes: 1})
	if err != nil {
		log.Fatal(err)
	}
	spec := eval.Spec{Metrics: list}
	bytes, _ := spec.LabelBytes()
	fmt.Println(spec.KeepsScores(list[0]), spec.KeepsScores(list[1]), bytes>>20, "MiB")
	evaluate := func(scores []float64, labels []int32) *multilabel.Evaluation {
		m, err := multilabel.New(spec, 2)
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
	var other multilabel.Evaluation
	if err := other.UnmarshalBinary(b); err != nil {
		log.Fatal(err)
	}
	if err := m.Merge(&other); err != nil {
		log.Fatal(err)
	}
	values, sums := make([]eval.Value, m.Labels), make([]string, m.Labels)
	m.Each(func(label int, e *eval.Evaluation) { values[label], sums[label] = e.Value(list[1]), e.SHA256() })
	fmt.Println(multilabel.MacroOf(values).Value, m.Label(1).Value(list[1]).Value, m.Audit.Rows)
	fmt.Println(m.SHA256() == m.SHA256Of(sums), string(b[:4]) == multilabel.Magic)
	// Output:
	// false true 3 MiB
	// 0.0550
	// 1 1 1 of 2 labels have none: all rows are of class 1, or none is
	// 1 1 3
	// true true
}
