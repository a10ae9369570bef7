package eval_test

import (
	"fmt"
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
