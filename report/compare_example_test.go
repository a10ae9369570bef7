package report_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/report"
)

func ExampleComparison() {
	m, err := eval.ParseMetrics("accuracy,nll", eval.Shape{Classes: 2})
	if err != nil {
		log.Fatal(err)
	}
	var c report.Comparison
	for _, name := range []string{"before", "after"} {
		e, err := eval.New(eval.Spec{Classes: 2, Metrics: m})
		if err != nil {
			log.Fatal(err)
		}
		// Here e.AddSource reads the predictions.
		c.Sets = append(c.Sets, report.Named{Name: name, Document: report.New(e)})
	}
	if err := c.Table(os.Stdout, report.Markdown, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Best(1)) // all have the same nll
	j, err := c.JSON()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(string(j), report.ComparisonSchema))
	// Output:
	// | Metric | before | after |
	// | --- | --- | --- |
	// | accuracy | - | - |
	// | nll | - | - |
	// [false false]
	// true
}
