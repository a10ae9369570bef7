package report

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/paired"
	"github.com/candor-go/candor/metrics/regress"
)

// diff returns a difference with an interval of two standard errors.
func diff(a, b int, metric string, value, se float64) compared.Difference {
	m, err := eval.ParseMetric(metric)
	if err != nil {
		panic(err)
	}
	e := paired.Error{SE: se, DF: 1e6}
	return compared.Difference{A: a, B: b, Metric: m, Better: eval.Describe(m.Name).Better, Value: value, Interval: e.Interval(value, 0, 0.95), Error: e, P: e.P(value, 0),
		PExact: math.NaN(), Method: "by hand; rows taken as independent"}
}

func differences(names []string, l ...compared.Difference) *Differences {
	compared.Judge(l, 0.95, 1000, compared.Holm)
	return &Differences{Names: names, Level: 0.95, Rows: 1000, List: l}
}

func TestSentence(t *testing.T) {
	two := []string{"old", "new"}
	none := diff(0, 1, "nll", math.Inf(1), math.NaN())
	none.Interval, none.P, none.Reason = metrics.NoInterval(), math.NaN(), "new gives probability 0 to the true class of 6 rows"
	margin := diff(0, 1, "nll", 0.001, 0.002)
	margin.Margin = &compared.Margin{Size: 0.01}
	for want, d := range map[string]*Differences{
		"new is better than old: NLL lower by 0.0130 [0.0091, 0.0169]; accuracy not decided at this N":                                                             differences(two, diff(0, 1, "nll", -0.013, 0.002), diff(0, 1, "accuracy", 0.001, 0.01)),
		"old is better than new: NLL lower by 0.0130 [0.0091, 0.0169]; accuracy higher by 2.00 points [1.02, 2.98].":                                               differences(two, diff(0, 1, "nll", 0.013, 0.002), diff(0, 1, "accuracy", -0.02, 0.005)),
		"old and new are better by one metric each: of new against old, NLL higher by 0.0130 [0.0091, 0.0169]; accuracy higher by 2.00 points [1.02, 2.98].":       differences(two, diff(0, 1, "nll", 0.013, 0.002), diff(0, 1, "accuracy", 0.02, 0.005)),
		"Neither of old and new is shown to be better: NLL of new minus old is 0.0010 [-0.0029, 0.0049], not decided at this N (about 31,000 rows would decide it": differences(two, diff(0, 1, "nll", 0.001, 0.002)),
		"; equivalent within 0.01).": differences(two, margin),
		"new is better than old: NLL not compared, since new gives probability 0 to the true class of 6 rows; Brier score lower by 0.0130 [0.0091, 0.0169].": differences(two, none, diff(0, 1, "brier", -0.013, 0.002)),
		"old and new do not differ: NLL is the same in every row.":               differences(two, diff(0, 1, "nll", 0, 0)),
		"AUROC of new minus old is 0.000 [0.000, 0.000], not decided at this N.": differences(two, diff(0, 1, "auroc", 1e-18, 1e-17)),
		"c is better than each of the others by NLL.":                            differences([]string{"a", "b", "c"}, diff(0, 1, "nll", 0, 0.1), diff(0, 2, "nll", -1, 0.1), diff(1, 2, "nll", -1, 0.1)),
		"No set is shown to be better than all others by NLL or accuracy.": differences([]string{"a", "b", "c"}, diff(0, 1, "nll", 0, 0.1), diff(0, 2, "nll", -1, 0.1), diff(1, 2, "nll", -0.01, 0.1),
			diff(0, 1, "accuracy", 0, 0.1), diff(0, 2, "accuracy", 0, 0.1), diff(1, 2, "accuracy", 0, 0.1)),
		"c is better than each of the others by NLL and accuracy.": differences([]string{"a", "b", "c"}, diff(0, 1, "nll", 0, 0.1), diff(0, 2, "nll", -1, 0.1), diff(1, 2, "nll", -1, 0.1),
			diff(0, 1, "accuracy", 0, 0.1), diff(0, 2, "accuracy", 1, 0.1), diff(1, 2, "accuracy", 1, 0.1)),
		"No set is shown to be better than all others by NLL.": differences([]string{"a", "b", "c"}, diff(0, 1, "nll", 0, 0.1), diff(0, 2, "nll", -1, 0.1), diff(1, 2, "nll", -0.01, 0.1)),
		"a is better than each of the others by NLL.":          differences([]string{"a", "b", "c"}, diff(0, 1, "nll", 1, 0.1), diff(0, 2, "nll", 1, 0.1), diff(1, 2, "nll", -0.01, 0.1)),
	} {
		if got := d.Sentence(); !strings.Contains(got, want) {
			t.Errorf("it says\n%s\nnot\n%s", got, want)
		}
	}
	d := differences([]string{"base", "b", "c", "d"}, diff(0, 1, "nll", -1, 0.1), diff(0, 2, "nll", 1, 0.1), diff(0, 3, "nll", 0.01, 0.1))
	d.Baseline = true
	if got, want := d.Sentence(), "Against base: by NLL, better: b, worse: c, not decided: d."; got != want {
		t.Errorf("it says %q, not %q", got, want)
	}
}

// A star stands only where a set is better than every other one.
func TestStars(t *testing.T) {
	d := differences([]string{"a", "b", "c"}, diff(0, 1, "nll", -1, 0.1), diff(0, 2, "nll", 0.01, 0.1), diff(1, 2, "nll", 1, 0.1),
		diff(0, 1, "brier", -1, 0.1), diff(0, 2, "brier", -0.5, 0.1), diff(1, 2, "brier", 0.01, 0.1))
	for metric, want := range map[string][3]bool{"nll": {false, true, false}, "brier": {}} {
		if got := d.best(metric); [3]bool(got) != want {
			t.Errorf("%s: %v", metric, got)
		}
	}
}

func TestDifferencesTable(t *testing.T) {
	d := differences([]string{"old", "new"}, diff(0, 1, "nll", -0.013, 0.002), diff(0, 1, "accuracy", 0.001, 0.01), diff(0, 1, "brier", 0.5, 0.1))
	none := diff(0, 1, "ece", 0.5, math.NaN())
	none.Interval, none.P, none.Reason, none.Method = metrics.NoInterval(), math.NaN(), "chance adds to it", ""
	d.List = append(d.List, none)
	for _, width := range []int{60, 80, 100, 160} {
		var b bytes.Buffer
		if err := d.Table(&b, Plain, width); err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(b.String(), "\n") {
			if len(l) > width || strings.TrimRight(l, " ") != l {
				t.Errorf("width %d: %q", width, l)
			}
		}
		if out := b.String(); strings.Contains(out, "ece") || !strings.Contains(out, "not decided") || (width > 60) != strings.Contains(out, "< 0.0001") {
			t.Errorf("width %d:\n%s", width, out)
		}
	}
	var b bytes.Buffer
	if err := d.Table(&b, Markdown, 0); err != nil || !strings.Contains(b.String(), "| nll | new - old | -0.01300 | [-0.01692, -0.00908] | < 0.0001 | new better |") {
		t.Errorf("%v: %s", err, b.String())
	}
	d.Names = []string{"old", "new", "other"}
	b.Reset()
	if err := d.Table(&b, Markdown, 0); err != nil || !strings.Contains(b.String(), "| p adjusted | Outcome |") {
		t.Errorf("%v: %s", err, b.String())
	}
	if head, _ := d.csvColumns("nll"); !slices.Contains(head, "new - old p adjusted") {
		t.Errorf("%q", head)
	}
	if got := d.Notes(); len(got) != 1 || got[0] != "no interval for the difference in ece: chance adds to it" {
		t.Errorf("%q", got)
	}
}

// Tests of Diebold and Mariano take the place of differences, with the opposite sign.
func TestTakeDieboldMariano(t *testing.T) {
	d := differences([]string{"a", "b"}, diff(0, 1, "crps", -0.5, 0.1), diff(0, 1, "rmse", 0.1, 0.1))
	d.TakeDieboldMariano([]DieboldMariano{{A: 0, B: 1, Loss: "crps", Metric: "crps", Horizon: 60, DMResult: regress.DMResult{Rows: 1000, Mean: 0.5, Interval: metrics.Interval{Low: -0.1, High: 1.1}, Statistic: 1.7, SE: 0.5 / 1.7, P: 0.09, Bartlett: true}},
		{A: 0, B: 1, Loss: "squared_error", Metric: "rmse", Horizon: 60, DMResult: regress.DMResult{Mean: math.NaN(), Reason: "all differences of losses are equal"}}})
	x := d.List[0]
	if x.Interval != (metrics.Interval{Low: -1.1, High: 0.1}) || x.P != 0.09 || x.Outcome != compared.Undecided || !strings.Contains(x.Method, "Bartlett") || x.RowsToDecide < 1000 {
		t.Errorf("%+v", x)
	}
	if y := d.List[1]; y.Reason != "no Diebold-Mariano test: all differences of losses are equal" || y.Outcome != compared.NoOutcome || y.Method != "" {
		t.Errorf("%+v", y)
	}
	if got := d.Notes(); len(got) != 2 || !strings.Contains(got[1], "1,000 rows are fewer than 25 times the horizon, 60") {
		t.Errorf("%q", got)
	}
}

// TestDecimals: an interval that excludes 0 does not read as if it held it.
func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		i    metrics.Interval
		want int
	}{
		{metrics.Interval{Low: 0.00004, High: 0.0132}, 5},
		{metrics.Interval{Low: -0.0132, High: -0.00004}, 5},
		{metrics.Interval{Low: 0.001, High: 0.0132}, 4},
		{metrics.Interval{Low: -0.00004, High: 0.0132}, 4},
		{metrics.Interval{Low: 0, High: 0.0132}, 4},
		{metrics.Interval{Low: 1e-12, High: 0.0132}, 8},
	} {
		if n := decimals(c.i); n != c.want {
			t.Errorf("%v has %d decimals, want %d", c.i, n, c.want)
		}
	}
}
