package grouped

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/clustered"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/internal/compact"
	"github.com/candor-go/candor/metrics/internal/adjusted"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// Adjustment is how the p-values of many tests are adjusted.
type Adjustment string

// The adjustments.
const (
	Holm Adjustment = "holm" // Holm 1979: the probability of any false finding is at most 1 - level
	BH   Adjustment = "bh"   // Benjamini and Hochberg 1995: the mean share of false findings among all is at most 1 - level
)

// ParseAdjustment reads the name of an Adjustment.
func ParseAdjustment(s string) (Adjustment, error) {
	if a := Adjustment(s); a == Holm || a == BH {
		return a, nil
	}
	return "", fmt.Errorf("there is no adjustment %q; there are holm and bh", s)
}

// DefaultMinRows is the default of TestOptions.MinRows.
const DefaultMinRows = 30

// TestOptions are options of Tests. The zero value has the defaults.
type TestOptions struct {
	MinRows int64      // groups of fewer rows are not tested; 0 means DefaultMinRows
	Adjust  Adjustment // "" means Holm
}

// Tests says which groups of rows are off: whose scores are not right on average, or not in some bin.
type Tests struct {
	TestOptions
	Event  calib.Event // whose scores and outcomes are compared: Positive for a binary task, otherwise TopLabel
	Level  float64     // of intervals; a group is off if an adjusted p is below 1 - Level
	Reason string      // why no group is tested; "" if any is
	Few    int         // groups of fewer than MinRows rows
	// FewClusters is the number of groups of fewer than MinClusters clusters, but MinRows rows or more. They are not tested.
	FewClusters int
	Clustered   bool // rows are of clusters
	Tested      int
	Family      int // p-values that are adjusted together
	Off         int // groups that are off
	// Mean and SD are those of the true gaps of groups, as far as they can be told from chance: by the estimator of Paule and Mandel from
	// groups of MinRows rows or more. NaN if there are fewer than two.
	Mean, SD float64
	Groups   []Tested // all, the worst first; those that are not tested are last
}

// Tested is what the sums of a group say of its calibration.
type Tested struct {
	Brief
	Clusters           int     // of its rows; 0 where rows are of none, or only sums of groups are kept
	Observed, Expected float64 // events: sum of outcomes, and of scores; with weights those sums
	Gap                float64 // mean score minus share of rows with the event
	Interval           metrics.Interval
	Total, Bins        Test // of the number of events in all rows, and in the bin that differs most
	Bin                int  // that bin, of 15 equal-width ones; -1 if none is tested
	Off                bool
	ECE                float64 // over the 15 bins
	Floor              float64 // its mean if the scores are right; NaN with weights
	// Shrunk is the gap by empirical Bayes: the more rows a group has the nearer it is to Gap, otherwise to Tests.Mean.
	Shrunk         float64
	ShrunkInterval metrics.Interval
}

// Test is a test of calibration, two-sided.
type Test struct {
	P, Adjusted float64 // NaN if there is none
	Method      string  // exact, saddlepoint or clusters; "" if there is none
}

var noTest = Test{math.NaN(), math.NaN(), ""}

// MinClusters is the smallest number of clusters of a group that is tested, and of a bin in it. The errors of fewer are too uncertain for the
// small p-values that count among many tests.
const MinClusters = 10

// byClusters is the Method of a p-value that Student's distribution of the error by clusters has.
const byClusters = "clusters"

// fewEvents is the number of expected events, or non-events, below which p-values are exact.
const fewEvents = 30

// BinEdges returns the edges of bin i of Tested.
func BinEdges(i int) (lower, upper float64) {
	e := kernel.Edges(compact.Bins)
	return e[i], e[i+1]
}

// Tests tests the calibration of each group and adjusts the p-values of all tests of all groups together.
//
// The total number of events in a group is compared with its distribution if the scores are right: a sum of independent events, where each
// row counts with the mean score of its bin. This makes the variance a little larger, so that p is hardly ever too small. So are numbers in
// bins, of which the one that differs most is taken, and its p multiplied by the number of bins with rows. P-values are twice the smaller
// tail: exact where fewer than 30 events or non-events are expected, unless p is clearly above 0.1, otherwise by a saddlepoint
// approximation. Rows are taken as independent. With weights, and without classes, there are no tests.
//
// Where rows are of clusters, p is the largest of three: this one; that of the gap by its error over clusters, as eval.ClusterGap has it; and
// that of the number of events if every D rows have the same outcome, where D is the design effect of the group, or of all groups if that is
// larger. The last one is for groups whose few events are in few clusters, and which show too little spread by chance. So are p-values in
// bins. Groups and bins of fewer than MinClusters clusters are not tested, nor are groups if there are more than MostWhole, of which
// only sums are kept.
func (g *Evaluation) Tests(o TestOptions) *Tests {
	if o.MinRows == 0 {
		o.MinRows = DefaultMinRows
	}
	if o.Adjust == "" {
		o.Adjust = Holm
	}
	t := &Tests{TestOptions: o, Event: g.kept.Event, Level: g.Spec.Level, Clustered: g.Spec.Cluster != "", Mean: math.NaN(), SD: math.NaN()}
	briefs := g.Briefs()
	t.Groups = make([]Tested, len(briefs))
	se := make([]float64, len(briefs))
	var f compact.Floats
	var clusters map[int32]*eval.ClusterGap
	design := [2]float64{1, 1} // of all groups: of all rows, and in bins
	if g.Spec.Cluster != "" && g.kept.Classes {
		clusters = g.clusters()
		var v, own [2]float64
		for _, b := range briefs {
			c := clusters[b.at]
			if c == nil || c.Design != c.Design {
				continue
			}
			g.table.Floats(b.at, &f)
			v[0] += float64(c.Design * f.Spread)
			own[0] += f.Spread
			for i := range c.Bins {
				c.Bins[i].AddDesign(&v[1], &own[1])
			}
		}
		for k := range design {
			if v[k] > own[k] {
				design[k] = v[k] / own[k]
			}
		}
	}
	for i, b := range briefs {
		x := &t.Groups[i]
		*x = Tested{Brief: b, Total: noTest, Bins: noTest, Bin: -1, ECE: math.NaN(), Floor: math.NaN(), Shrunk: math.NaN(), ShrunkInterval: metrics.NoInterval()}
		few := b.Rows < o.MinRows
		if few {
			t.Few++
		}
		g.table.Floats(b.at, &f)
		if !g.kept.Classes || b.Rows == 0 {
			x.Gap, x.Observed, x.Expected, x.Interval, se[i] = math.NaN(), math.NaN(), math.NaN(), metrics.NoInterval(), math.NaN()
			continue
		}
		se[i] = x.describe(&f, g.table.Weighted, t.Level)
		if g.Spec.Cluster != "" {
			x.Interval, x.Floor, se[i] = metrics.NoInterval(), math.NaN(), math.NaN()
			c := clusters[b.at]
			if c != nil {
				x.Clusters = c.Number
			}
			switch {
			case c == nil:
			case c.Number < MinClusters || !(c.DF > 0) || c.Error != c.Error:
				if !few {
					t.FewClusters++
				}
			default:
				se[i] = c.Error
				h := float64(clustered.Quantile(t.Level, c.DF) * c.Error)
				x.Interval = metrics.Interval{Low: x.Gap - h, High: x.Gap + h}.Within(-1, 1)
				if !few && !g.table.Weighted {
					t.Tested++
					x.test(&f)
					x.testClusters(&f, c, design)
				}
			}
			continue
		}
		if !few && !g.table.Weighted {
			t.Tested++
			x.test(&f)
		}
	}
	switch {
	case !g.kept.Classes:
		t.Reason = "forecasts without classes are not tested by group"
	case g.table.Weighted:
		t.Reason = "rows have weights, with which the distribution of events is unknown"
	case g.Spec.Cluster != "" && clusters == nil:
		t.Reason = fmt.Sprintf("rows of a cluster depend on each other, and of more than %d groups no sums of clusters are kept", MostWhole)
	case t.Tested == 0 && t.FewClusters > 0:
		t.Reason = fmt.Sprintf("no group has %d rows and %d clusters", o.MinRows, MinClusters)
	case t.Tested == 0:
		t.Reason = fmt.Sprintf("no group has %d rows", o.MinRows)
	}
	t.adjust()
	t.shrink(se)
	t.sort()
	return t
}

// clusters returns what clusters say of each group, by its number; nil if only sums of groups are kept.
func (g *Evaluation) clusters() map[int32]*eval.ClusterGap {
	if len(g.values) > MostWhole {
		return nil
	}
	l := make(map[int32]*eval.ClusterGap, len(g.values))
	for i, v := range g.values {
		at, found := slices.BinarySearchFunc(g.each, v, func(a Group, b []string) int { return slices.Compare(a.Values, b) })
		if found {
			l[int32(i)] = g.each[at].ClusterGap()
		}
	}
	return l
}

// testClusters raises the p-values to those by clusters, with design effects of all groups of all rows and in bins.
func (x *Tested) testClusters(f *compact.Floats, c *eval.ClusterGap, design [2]float64) {
	sum := sumOf(f)
	tail := sum.AtLeastAlike
	if f.Y < f.P {
		tail = sum.AtMostAlike
	}
	p := math.Max(clustered.P(x.Gap/c.Error, c.DF), math.Min(1, 2*tail(f.Y, math.Max(design[0], c.Design))))
	if p > x.Total.P {
		x.Total.P, x.Total.Method = p, byClusters
	}
	in := math.Max(design[1], clustered.Design(c.Bins))
	x.Bins, x.Bin = noTest, -1
	bins := 0.0
	for i := range c.Bins {
		of, b := &c.Bins[i], &f.Bins[i]
		if b.N == 0 || of.Clusters < MinClusters || !(of.DF > 0) {
			continue
		}
		bins++
		one := binTest(b, 1)
		if p := of.P(b.P/b.W, b.Y/b.W, in); p > one.P {
			one.P, one.Method = p, byClusters
		}
		if x.Bin < 0 || one.P < x.Bins.P {
			x.Bins, x.Bin = one, i
		}
	}
	x.Bins.P = math.Min(1, float64(bins*x.Bins.P))
}

// sumOf returns the number of events of a group if its scores are right, each row with the mean score of its bin.
func sumOf(f *compact.Floats) *tails.Binomials {
	b := new(tails.Binomials)
	for i := range f.Bins {
		if x := &f.Bins[i]; x.N > 0 {
			b.N, b.P, b.Q = append(b.N, x.W), append(b.P, x.P/x.W), append(b.Q, (x.W-x.P)/x.W)
		}
	}
	return b
}

// binTest returns the test of the number of events in one of so many bins.
func binTest(b *compact.FloatBin, bins float64) Test {
	t := Test{math.NaN(), math.NaN(), "exact"}
	one := tails.Binomials{N: []float64{b.W}, P: []float64{b.P / b.W}, Q: []float64{(b.W - b.P) / b.W}}
	tail := one.AtLeast
	if b.Y < b.P {
		tail = one.AtMost
	}
	exact := math.Min(b.P, b.W-b.P) < fewEvents
	if !exact {
		t.Method = "saddlepoint"
	}
	t.P = math.Min(1, float64(2*bins)*tail(b.Y, exact))
	return t
}

// Least returns the smallest adjusted p-value of the tests of the group, NaN if there is none.
func (x *Tested) Least() float64 { return lesser(x.Total.Adjusted, x.Bins.Adjusted) }

// lesser returns the smaller of two p-values, of which either may be NaN.
func lesser(a, b float64) float64 {
	if a != a || b < a {
		return b
	}
	return a
}

// BinGap returns the gap of the bin Bin and its number of rows.
func (x *Tested) BinGap() (gap float64, rows int64) {
	var f compact.Floats
	x.of.table.Floats(x.at, &f)
	b := &f.Bins[x.Bin]
	return (b.P - b.Y) / b.W, b.N
}

// describe sets what is no test, and returns the standard error of the gap.
func (x *Tested) describe(f *compact.Floats, weighted bool, level float64) float64 {
	x.Observed, x.Expected = f.Y, f.P
	x.Gap = (f.P - f.Y) / f.Weight
	gaps, spreads := 0.0, 0.0
	for i := range f.Bins {
		b := &f.Bins[i]
		gaps += math.Abs(b.P - b.Y)
		if b.N > 0 {
			spreads += math.Sqrt(math.Max(0, float64(b.P*(1-b.P/b.W))))
		}
	}
	x.ECE = gaps / f.Weight
	if !weighted {
		x.Floor = 0.79788456080286535588 * spreads / f.Weight // sqrt(2/pi)
	}
	se := math.NaN()
	if weighted {
		_, se = x.of.table.Sums(x.at).Cell.MeanGap(true)
	} else if n := float64(f.N); n > 1 {
		se = math.Sqrt(math.Max(0, f.Squares-float64(f.Weight*float64(x.Gap*x.Gap))) / (n - 1) / n)
	}
	if own := math.Sqrt(math.Max(0, f.Spread)) / f.Weight; !(se >= own) {
		se = own
	}
	x.Interval = metrics.Normal(x.Gap, se, level).Within(-1, 1)
	if f.N < 2 {
		x.Interval = metrics.NoInterval()
	}
	return se
}

// test sets the tests.
func (x *Tested) test(f *compact.Floats) {
	bins, worst := 0, -1.0
	for i := range f.Bins {
		b := &f.Bins[i]
		if b.N == 0 {
			continue
		}
		if d := deviance(b.Y, b.P) + deviance(b.W-b.Y, b.W-b.P); d > worst {
			worst, x.Bin = d, i
		}
		bins++
	}
	sum := sumOf(f)
	tail := sum.AtLeast
	if f.Y < f.P {
		tail = sum.AtMost
	}
	x.Total.Method = "saddlepoint"
	x.Total.P = math.Min(1, 2*tail(f.Y, false))
	if few := math.Min(f.P, f.Weight-f.P) < fewEvents; few && x.Total.P < 0.15 {
		x.Total.Method, x.Total.P = "exact", math.Min(1, 2*tail(f.Y, true))
	}
	// Chernoff's bound: 2 exp(-worst) is at least p of the bin.
	x.Bins = Test{1, math.NaN(), "exact"}
	if float64(2*float64(bins))*kernel.Exp64(-worst) >= 1 {
		return
	}
	x.Bins = binTest(&f.Bins[x.Bin], float64(bins))
}

// deviance returns y ln(y/m); 0 for y = 0.
func deviance(y, m float64) float64 {
	switch {
	case y <= 0:
		return 0
	case m <= 0:
		return math.Inf(1)
	}
	return float64(y * kernel.Log64(y/m))
}

// adjust sets the adjusted p-values, and which groups are off.
func (t *Tests) adjust() {
	var all []*float64
	for i := range t.Groups {
		for _, x := range []*Test{&t.Groups[i].Total, &t.Groups[i].Bins} {
			if x.P == x.P {
				x.Adjusted = x.P
				all = append(all, &x.Adjusted)
			}
		}
	}
	t.Family = len(all)
	if t.Adjust == BH {
		adjusted.BenjaminiHochberg(all)
	} else {
		adjusted.Holm(all)
	}
	for i := range t.Groups {
		x := &t.Groups[i]
		if x.Off = x.Least() < 1-t.Level; x.Off {
			t.Off++
		}
	}
}

// shrink sets the shrunk gaps: gaps are normal with their standard errors around true gaps, which are normal with Mean and SD.
func (t *Tests) shrink(se []float64) {
	var gap, variance []float64
	for i := range t.Groups {
		if x := &t.Groups[i]; x.Rows >= t.MinRows && se[i] > 0 {
			gap, variance = append(gap, x.Gap), append(variance, float64(se[i]*se[i]))
		}
	}
	if len(gap) < 2 {
		return
	}
	var tau2 float64
	t.Mean, tau2 = pauleMandel(gap, variance)
	t.SD = math.Sqrt(tau2)
	for i := range t.Groups {
		x := &t.Groups[i]
		switch v := float64(se[i] * se[i]); {
		case v != v:
		case v == 0:
			x.Shrunk, x.ShrunkInterval = x.Gap, metrics.Interval{Low: x.Gap, High: x.Gap}
		default:
			share := tau2 / (tau2 + v)
			x.Shrunk = t.Mean + float64(share*(x.Gap-t.Mean))
			x.ShrunkInterval = metrics.Normal(x.Shrunk, math.Sqrt(float64(share*v)), t.Level).Within(-1, 1)
		}
	}
}

// pauleMandel returns the mean of true values that are normal, and their variance tau2, from values with known variances: the tau2 at which
// sum (x - mean)^2/(v + tau2) is the number of values less one, 0 if there is none (Paule and Mandel 1982), by the steps of DerSimonian and
// Kacker (2007), which approach it from below.
func pauleMandel(x, v []float64) (mean, tau2 float64) {
	for range 200 {
		weight, sum := 0.0, 0.0
		for i, y := range x {
			w := 1 / (v[i] + tau2)
			weight += w
			sum += float64(w * y)
		}
		mean = sum / weight
		q, slope := 0.0, 0.0
		for i, y := range x {
			w := 1 / (v[i] + tau2)
			d := y - mean
			s := float64(w * float64(d*d))
			q += s
			slope += float64(w * s)
		}
		step := (q - float64(len(x)-1)) / slope
		if !(step > 1e-12*tau2) || tau2+step == tau2 {
			return mean, tau2
		}
		tau2 += step
	}
	return mean, tau2
}

// sort puts the worst groups first.
func (t *Tests) sort() {
	type key struct {
		at int
		p  float64 // 2 where nothing is tested
	}
	keys := make([]key, len(t.Groups))
	for i := range keys {
		x := &t.Groups[i]
		if keys[i] = (key{i, 2}); x.Total.P == x.Total.P {
			keys[i].p = lesser(x.Total.P, x.Bins.P)
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.at, b.at)) })
	sorted := make([]Tested, len(keys))
	for i, k := range keys {
		sorted[i] = t.Groups[k.at]
	}
	t.Groups = sorted
}
