package report_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/report"
)

// rows is a source of one chunk.
type rows struct{ p *metrics.Predictions }

func (r *rows) Next() (*metrics.Chunk, error) {
	if r.p == nil {
		return nil, io.EOF
	}
	c := &metrics.Chunk{Predictions: *r.p}
	r.p = nil
	return c, nil
}

// Evaluate predictions, make a document of the evaluation, and print what it says.
func Example() {
	list, err := eval.ParseMetrics("brier,ece(bins=2)", eval.Shape{Classes: 1})
	if err != nil {
		log.Fatal(err)
	}
	e, err := eval.New(eval.Spec{Classes: 1, Metrics: list})
	if err != nil {
		log.Fatal(err)
	}
	// Four rows of P(y = 1).
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.1, 0.2, 0.8, 0.9}, Rows: 4, Classes: 1},
		Labels: []int32{0, 0, 1, 0},
	}
	if err := e.AddSource(&rows{p}, nil); err != nil {
		log.Fatal(err)
	}
	d := report.New(e)
	fmt.Println(d.Verdict())
	if err := d.Table(os.Stdout, report.Plain, 80); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 4 rows, binary: mean prediction 50.0%, event rate 25.0% [4.6, 69.9]: no overall miscalibration seen at this N.
	//  Metric         Value  95% interval  What it says
	//  brier        0.22500  [0, 1.00000]  squared error of p
	//  ece(bins=2)  0.25000  [0, 0.73445]  gap of P(y = 1) (floor 0.19947, p 0.29)
}

// document evaluates four rows.
func document() *report.Document {
	list, err := eval.ParseMetrics("accuracy,ece(bins=2),rmsce_debiased", eval.Shape{Classes: 1})
	if err != nil {
		log.Fatal(err)
	}
	e, err := eval.New(eval.Spec{Classes: 1, Metrics: list})
	if err != nil {
		log.Fatal(err)
	}
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.1, 0.2, 0.8, 0.9}, Rows: 4, Classes: 1},
		Labels: []int32{0, 0, 1, 0},
	}
	if err := e.AddSource(&rows{p}, nil); err != nil {
		log.Fatal(err)
	}
	return report.New(e)
}

// A Document can be written as a table, as JSON, or as a diagram in characters.
func ExampleDocument() {
	d := document()
	fmt.Println(d.Verdict())
	if err := d.Table(os.Stdout, report.Markdown, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f of %d rows\n", d.Find("ece(bins=2)").Value.Value, d.Input.Rows)
	j, err := d.JSON()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(string(j), report.Schema))
	var plain, csv, diagram strings.Builder
	if d.Table(&plain, report.Plain, report.DefaultWidth) != nil || d.Table(&csv, report.CSV, 0) != nil || d.Diagram(&diagram, false, 0) != nil {
		log.Fatal("a table or diagram cannot be written")
	}
	fmt.Println(strings.Count(csv.String(), "\n"), strings.Split(diagram.String(), "\n")[0])
	fmt.Println(report.Wrap("lines of few words", 8))
	// Output:
	// 4 rows, binary: mean prediction 50.0%, event rate 25.0% [4.6, 69.9]: no overall miscalibration seen at this N.
	// | Metric | Value | 95% interval | What it says |
	// | --- | --- | --- | --- |
	// | accuracy | 0.75000 | [0.30064, 0.95441] | share of rows whose most probable class is the true one |
	// | ece(bins=2) | 0.25000 | [0, 0.73445] | expected calibration error: mean gap between confidence and accuracy, by bins (here ece_positive); floor 0.19947, p 0.29 |
	// | rmsce_debiased | - |  | root-mean-square calibration error less the part that is due to chance |
	// 0.250 of 4 rows
	// true
	// 4 Reliability by probability
	// lines of
	// few
	// words
}

// A gate fails if its condition holds, and if it cannot be checked.
func ExampleGate() {
	for _, s := range []string{"accuracy<0.9", "ece(bins=2)>0.9", "nll>1"} {
		g, err := report.ParseGate(s)
		if err != nil {
			log.Fatal(err)
		}
		o := g.Check(document())
		fmt.Println(o.Failed, o.Text)
	}
	// Output:
	// true accuracy<0.9: it is 0.75
	// false ece(bins=2)>0.9: it is 0.25
	// true nll>1: there is no metric "nll"
}
