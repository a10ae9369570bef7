package report_test

import (
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/drift"
	"github.com/candor-go/candor/report"
)

// driftOf compares two sets by metrics.
func driftOf(list string, before, after *metrics.Predictions) *report.Drift {
	var sets [2]*eval.Evaluation
	for i, p := range []*metrics.Predictions{before, after} {
		s := eval.Spec{Classes: p.Classes, Kind: p.Kind}
		s.Metrics = metrics.Must(eval.ParseMetrics(list, s.Shape()))
		sets[i] = metrics.Must(eval.New(s))
		if err := sets[i].Add(p, &metrics.Options{Threads: 1}); err != nil {
			log.Fatal(err)
		}
	}
	return report.NewDrift(metrics.Must(drift.Of(sets[0], sets[1], nil)), "june", "july")
}

// scored returns rows of one score, every step-th with the event.
func scored(n int, p float64, step int) *metrics.Predictions {
	scores, labels := make([]float64, n), make([]int32, n)
	for i := range n {
		if scores[i] = p; i%step == 0 {
			labels[i] = 1
		}
	}
	return testrows.Binary(scores, labels)
}

func TestDriftVerdict(t *testing.T) {
	weighted := scored(300, 0.5, 2)
	weighted.Weights = make([]float64, 300)
	for i := range weighted.Weights {
		weighted.Weights[i] = 1 + float64(i/2%2)
	}
	for _, c := range []struct {
		name, list, want string
		before, after    *metrics.Predictions
	}{
		{"nothing", "nll", "No drift of scores, outcomes, calibration or metrics seen between 200 and 300 rows.", scored(200, 0.5, 2), scored(300, 0.5, 2)},
		{"scores", "ks_p", "Scores drifted between 300 and 300 rows: PSI 12.8, KS 1. No drift of outcomes or calibration seen. Without a test: metrics.", scored(300, 0.48, 2), scored(300, 0.56, 2)},
		{"calibration", "bias", "Outcomes, calibration and metrics drifted between 300 and 300 rows: 25.0% of rows are class 1 and 50.0% were; scores minus outcomes are 0.25 on average and were 0, " +
			"outcomes follow the scores in another way in 1 bin of 15; bias +0.25 [+0.17, +0.33]. No drift of scores seen.", scored(300, 0.5, 2), scored(300, 0.5, 4)},
		{"weights", "nll", "No drift of outcomes, calibration or metrics seen between 300 and 200 rows. Without a test: scores.", weighted, scored(200, 0.5, 2)},
		{"forecasts", "crps", "No drift of metrics seen between 100 and 120 rows.", testrows.Normals(1, 100, false), testrows.Normals(2, 120, false)},
		{"no test", "pit_p", "No test of drift between 100 and 120 rows.", testrows.Normals(1, 100, false), testrows.Normals(2, 120, false)},
	} {
		d := driftOf(c.list, c.before, c.after)
		if got := d.Verdict(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if says := len(d.Warnings) > 0 && strings.Contains(d.Warnings[0], "with weights"); says != (c.name == "weights") {
			t.Errorf("%s: %q", c.name, d.Warnings)
		}
	}
}

// Two sets side by side, and a condition on their difference.
func ExampleNewDrift() {
	d := driftOf("base_rate,brier", scored(400, 0.25, 4), scored(400, 0.25, 3))
	fmt.Println(d.Verdict())
	var table strings.Builder
	if err := d.Table(&table, report.CSV, 0); err != nil || len(d.Undefined()) > 0 {
		log.Fatal(err, d.Undefined())
	}
	fmt.Println(strings.Join(strings.SplitAfter(table.String(), "\n")[:2], ""))
	if doc, err := d.JSON(); err != nil || !strings.Contains(string(doc), report.DriftSchema) {
		log.Fatal(err)
	}
	g, err := report.ParseDriftGate("delta.base_rate.high<0.2", true)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("missing: %q; %s\n", g.MissingIn(d), g.CheckDrift(d).Text)
	// Output:
	// Outcomes, calibration and metrics drifted between 400 and 400 rows: 33.5% of rows are class 1 and 25.0% were; scores minus outcomes are -0.085 on average and were 0, outcomes follow the scores in another way in 1 bin of 15; base_rate +0.085 [+0.0219, +0.147], brier +0.0425 [+0.0102, +0.0748]. No drift of scores seen.
	// part,name,old,new,difference,low,high,level,p,p_adjusted
	// metrics,base_rate,0.25,0.335,0.08500000000000002,0.02194852862892098,0.14714740291831624,0.95,0.00825042289696879,0.01650084579393758
	//
	// missing: ""; delta.base_rate.high<0.2 is required, and it is 0.1471474
}
