package report_test

import (
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/report"
)

// TestForestOfMany: where there is no room for all differences, the metric by which a set is better comes first, with that set's pairs.
func TestForestOfMany(t *testing.T) {
	d := &report.Differences{Names: []string{"a", "b", "c", "d"}, Level: 0.95}
	for _, m := range []string{"mean_p", "accuracy", "nll"} {
		for a := range 4 {
			for b := a + 1; b < 4; b++ {
				x := compared.Difference{A: a, B: b, Metric: eval.Metric{Name: m}, Better: eval.Describe(m).Better, Interval: metrics.Interval{Low: -1, High: 1}, Outcome: compared.Undecided}
				switch {
				case m == "mean_p":
					x.Outcome = compared.NoOutcome
				case m == "nll" && b == 2:
					x.Outcome = compared.Better
				case m == "nll" && a == 2:
					x.Outcome = compared.Worse
				}
				d.List = append(d.List, x)
			}
		}
	}
	f := d.Forest(9)
	var said []string
	for _, p := range f.Panels {
		for _, r := range p.Rows {
			said = append(said, p.Name+" "+r.Name)
		}
	}
	want := "nll c − a, nll c − b, nll d − c, accuracy b − a, accuracy c − a, accuracy d − a, accuracy c − b, accuracy d − b, accuracy d − c"
	if got := strings.Join(said, ", "); got != want {
		t.Errorf("the picture has %s, want %s", got, want)
	}
	if !strings.HasSuffix(f.Subtitle, "has 9 more.") || f.Undecided != "not decided" {
		t.Errorf("%q, %q", f.Subtitle, f.Undecided)
	}
	if l := d.Brief(9).List; len(l) != 18 || l[0].Metric.Name != "nll" || l[0].B != 2 || l[2].A != 2 || l[3].A != 0 || l[3].B != 1 || l[6].Metric.Name != "accuracy" || l[12].Metric.Name != "mean_p" {
		t.Errorf("a brief list has %v", l)
	}
	if l := d.Brief(18).List; l[0].Metric.Name != "mean_p" {
		t.Errorf("a list with room for all begins with %v", l[0].Metric)
	}
	if f := d.Forest(18); len(f.Panels) != 3 || f.Panels[0].Name != "mean_p" || f.Undecided == "not decided" {
		t.Errorf("with room for all there are %v", f.Panels)
	}
}
