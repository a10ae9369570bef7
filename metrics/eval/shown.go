package eval

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/adjusted"
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/metrics/score"
)

// KeptShares are the shares of the rows for which Selection has thresholds.
var KeptShares = []float64{1, 0.99, 0.95, 0.9, 0.8, 0.7, 0.5}

// Selection tells how many errors are left if the least confident rows are refused.
type Selection struct {
	Points []rank.Point       // share of rows that are kept (X), share of errors among them (Y), and the least confidence; highest threshold first
	Cuts   []rank.Cut         // for each of KeptShares
	Errors []metrics.Interval // Wilson's intervals of the share of errors, for each cut; none with weights or clusters
	Exact  bool               // thresholds are those of rows, not means of grid cells
}

// Selection returns the risk-coverage curve with at most this many points, and thresholds. It is nil without classes or rows, and if no metric
// uses the rows by their confidence.
func (e *Evaluation) Selection(most int) *Selection {
	if !e.Spec.Shape().HasClasses() || e.Audit.Rows == 0 {
		return nil
	}
	r, ok := e.Ranking(calib.TopLabel)
	if !ok {
		return nil
	}
	s := &Selection{Points: r.RiskCoverage(most), Cuts: r.Cuts(KeptShares...), Exact: r.Exact()}
	if s.Cuts == nil {
		return nil
	}
	for _, c := range s.Cuts {
		i := metrics.NoInterval()
		if !e.Audit.Weighted && e.Spec.Cluster == "" {
			i = metrics.Wilson(c.Without/c.Rows, c.Rows, e.Spec.Level)
		}
		s.Errors = append(s.Errors, i)
	}
	return s
}

var chosen = statistic{"chosen classes", rows, func() any { return calib.NewChosen() }}

// mostTabled is the largest number of classes in a ClassTable.
const mostTabled = 10_000

// ofChosen keeps the rows by the class that was chosen beside the bins of each class, for the table of classes.
func ofChosen(s *Spec, m Metric) []statistic {
	if s.Classes <= 2 || s.Classes > mostTabled || s.Choices != NoChoices || len(m.args) > 0 {
		return nil
	}
	return []statistic{chosen}
}

// ClassTable compares, for each class, how often it is given with how often it occurs.
type ClassTable struct {
	Classes []ClassRow // by number
	Tested  int        // classes with enough rows for a test
	Off     int        // classes that are off beyond chance, allowing for the number of tests
	Level   float64    // of the tests together: a class is off if its adjusted p-value is below 1 - Level
	Reason  string     // why no class is tested, if none is
}

// ClassRow is one class.
type ClassRow struct {
	Class    int
	Rows     float64   // weight of the rows of this class, their number without weights
	All      calib.Bin // all rows: Confidence is the mean probability of the class, Frequency the share of rows of it
	Z        float64   // by how many standard deviations All.Frequency exceeds All.Confidence, if that is calibrated; NaN with weights
	P        float64   // p-value of their difference; NaN if the class is not tested
	Adjusted float64   // P adjusted for the number of tests, by Holm's method
	Off      bool
	Chosen   calib.Bin // the rows for which the class was chosen: Confidence is their mean confidence, Frequency the share of right answers

	of *calib.ClassBins
}

const leastExpected = 10 // rows of a class, and of the others, that a test needs beside leastRows

// Bins returns the rows by the probability of the class: the equal-width bins of sce, from the second on, with neighbours joined until there
// are 20 rows in each. The first bin, of rows in which the class is hardly possible, is left out; so are rows at the end that are too few.
func (c *ClassRow) Bins(level float64) (l []calib.Bin) {
	const least = 20
	return c.of.Class(c.Class).Joined(1, least, level)
}

// EvenBins returns the rows by the probability of the class, in the equal-width bins of sce.
func (c *ClassRow) EvenBins(level float64) []calib.Bin { return c.of.Class(c.Class).Bins(level) }

// Evidence orders classes by how far they are from calibrated: those that are tested first, by |Z|, then by rows.
func (t *ClassTable) Evidence() []*ClassRow {
	l := make([]*ClassRow, len(t.Classes))
	for i := range t.Classes {
		l[i] = &t.Classes[i]
	}
	z := func(c *ClassRow) float64 {
		if c.P != c.P {
			return -1
		}
		return math.Abs(c.Z)
	}
	slices.SortStableFunc(l, func(a, b *ClassRow) int {
		if c := cmp.Compare(z(b), z(a)); c != 0 {
			return c
		}
		return cmp.Compare(b.Rows, a.Rows)
	})
	return l
}

// ClassTable returns the table of the classes. It is nil unless there are 3 to 10,000 classes and the metric sce is evaluated without options.
func (e *Evaluation) ClassTable() *ClassTable {
	if !e.Spec.Shape().HasClasses() || e.Audit.Rows == 0 || !slices.ContainsFunc(e.plan.statistics, func(k statistic) bool { return k.key == chosen.key }) {
		return nil
	}
	b := e.Classes()
	if b == nil {
		return nil
	}
	by := statisticOf[*calib.Chosen](e, rows, chosen.key)
	t := &ClassTable{Level: e.Spec.Level}
	var tests []*float64
	for k := range e.Spec.Classes {
		p := b.Class(k)
		c := ClassRow{Class: k, All: p.Whole(e.Spec.Level), Z: math.NaN(), P: math.NaN(), Adjusted: math.NaN(), Chosen: by.Class(k, e.Spec.Level), of: b}
		c.Rows = float64(c.All.Frequency * c.All.Weight)
		if !e.Audit.Weighted {
			c.Rows = math.Round(c.Rows)
		}
		if sd := p.Deviation(); sd > 0 && e.Spec.Cluster == "" {
			n := float64(c.All.Count)
			c.Z = (c.All.Frequency - c.All.Confidence) / sd
			if expected := float64(c.All.Confidence * n); c.Rows >= leastRows && expected >= leastExpected && n-expected >= leastExpected {
				c.P = 2 * kernel.NormCDF64(-math.Abs(c.Z))
				c.Adjusted = c.P
				t.Tested++
			}
		}
		t.Classes = append(t.Classes, c)
	}
	for i := range t.Classes {
		if c := &t.Classes[i]; c.P == c.P {
			tests = append(tests, &c.Adjusted)
		}
	}
	adjusted.Holm(tests)
	for i := range t.Classes {
		if c := &t.Classes[i]; c.Adjusted < 1-t.Level {
			c.Off = true
			t.Off++
		}
	}
	switch {
	case t.Tested > 0:
	case e.Audit.Weighted:
		t.Reason = "tests of classes are of rows without weights"
	case e.Spec.Cluster != "":
		t.Reason = "tests of classes are of rows that do not depend on each other"
	default:
		t.Reason = fmt.Sprintf("a class is tested if it has %d rows and its probabilities let %d or more be expected", leastRows, leastExpected)
	}
	return t
}

// Certain returns the number of rows whose top label has probability 1, and how many of them are wrong. ok is false if that is not known: if the
// rows' scores are not kept, have weights, or are on a grid whose last cell has other scores too.
func (e *Evaluation) Certain() (rows, wrong int64, ok bool) {
	if !e.Spec.Shape().HasClasses() || e.Audit.Weighted || !slices.Contains(e.plan.cells, e.Spec.from(calib.TopLabel)) {
		return 0, 0, false
	}
	c := e.cells(calib.TopLabel)
	if c.Outside() > 0 {
		return 0, 0, false
	}
	ok = true
	c.Each(func(x *cells.Cell) {
		switch {
		case x.Low == 1:
			rows += x.N
			wrong += x.N - int64(x.Events)
		case x.High == 1:
			ok = false
		}
	})
	return rows, wrong, ok
}

// Rates returns the shares of classes among the rows, or nil if no metric counts them.
func (e *Evaluation) Rates() *score.BaseRates {
	if !slices.ContainsFunc(e.plan.statistics, func(k statistic) bool { return k.key == baseRates.key && k.fed == rows }) {
		return nil
	}
	return statisticOf[*score.BaseRates](e, rows, baseRates.key)
}
