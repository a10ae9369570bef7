package calib_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// drawnPartition returns rows with one score each, whose frequencies differ from the scores by bias.
func drawnPartition(r *rand.Rand, rows int, bias float64) *metrics.Predictions {
	p := &metrics.Predictions{Labels: make([]int32, rows)}
	p.F64, p.Rows, p.Classes = make([]float64, rows), rows, 1
	for i := range p.F64 {
		p.F64[i] = math.Round(r.Float64()*1000) / 1000
		if r.Float64() < p.F64[i]+bias {
			p.Labels[i] = 1
		}
	}
	return p
}

func of(t *testing.T, p *metrics.Predictions, o *calib.Options) *calib.Bins {
	t.Helper()
	b, err := calib.BinsOf(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// answers returns all numbers that a partition gives.
func answers(b *calib.Partition) []float64 {
	mce, n := b.MCE()
	i, m := b.Interval(0.9), b.MCEInterval(0.9)
	return []float64{b.ECE(), b.RMSCE(), mce, float64(n), b.Debiased(), b.ConfidenceWeighted(), b.EqualWeight(),
		b.Floor(), b.FloorQ95(), b.P(), b.DetectableGap(), i.Low, i.High, m.Low, m.High}
}

// TestOrderOfAnswers checks which answers are at most others.
func TestOrderOfAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range check.Size(30, 75, 150) {
		rows := []int{2, 3, 10, 50, 400}[r.IntN(5)]
		p := drawnPartition(r, rows, []float64{0, 0.1, -0.3}[r.IntN(3)])
		o := &calib.Options{Bins: []int{1, 2, 15, 100}[r.IntN(4)]}
		b := of(t, p, o)
		mce, _ := b.MCE()
		rising := func(what string, v ...float64) {
			for i, x := range v {
				if x != x || i > 0 && v[i-1] > x*(1+1e-14)+1e-300 {
					t.Fatalf("%s: %v do not rise (%d rows, %+v)", what, v, rows, o)
				}
			}
		}
		rising("errors", 0, b.ECE(), b.RMSCE(), mce, 1)
		if b.DebiasedReason() == "" {
			rising("debiased", 0, b.Debiased(), b.RMSCE())
		}
		rising("equal weight", 0, b.EqualWeight(), mce)
		rising("weighted", 0, b.ConfidenceWeighted(), 1)
		rising("floor", 0, b.Floor(), b.FloorQ95())
		rising("p", 0, b.P(), 1)
		i, m := b.Interval(0.95), b.MCEInterval(0.95)
		rising("interval", 0, i.Low, b.ECE(), i.High, 1)
		rising("interval of MCE", 0, m.Low, mce, m.High, 1)
		wide := b.MCEInterval(0.999)
		rising("levels", wide.Low, m.Low, m.High, wide.High)

		// The same scores with other outcomes: P falls as ECE rises.
		q := *p
		q.Labels = slices.Clone(p.Labels)
		for k := range q.Labels {
			if r.IntN(4) == 0 {
				q.Labels[k] = 1 - q.Labels[k]
			}
		}
		c := of(t, &q, o)
		if c.Floor() != b.Floor() || c.FloorQ95() != b.FloorQ95() || c.DetectableGap() != b.DetectableGap() {
			t.Fatal("the outcomes have a say in the floor")
		}
		lo, hi := b, c
		if b.ECE() > c.ECE() {
			lo, hi = c, b
		}
		if lo.P() < hi.P()-1e-12 {
			t.Fatalf("ece %v has P %v, ece %v has %v", lo.ECE(), lo.P(), hi.ECE(), hi.P())
		}
	}
}

// TestAnswersMerge checks that neither the order of rows nor their split changes a bit of an answer.
func TestAnswersMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, weighted := range []bool{false, true} {
		p := drawnPartition(r, 3000, 0.05)
		if weighted {
			p.Weights = make([]float64, p.Rows)
			for i := range p.Weights {
				p.Weights[i] = 0.25 + r.Float64()
			}
		}
		want := answers(&of(t, p, nil).Partition)
		for range 5 {
			q := *p
			q.F64, q.Labels, q.Weights = slices.Clone(p.F64), slices.Clone(p.Labels), slices.Clone(p.Weights)
			r.Shuffle(q.Rows, func(i, j int) {
				q.F64[i], q.F64[j] = q.F64[j], q.F64[i]
				q.Labels[i], q.Labels[j] = q.Labels[j], q.Labels[i]
				if weighted {
					q.Weights[i], q.Weights[j] = q.Weights[j], q.Weights[i]
				}
			})
			cut := 1 + r.IntN(q.Rows-1)
			parts := [2]*calib.Bins{}
			for k := range parts {
				h := q
				from, to := 0, cut
				if k == 1 {
					from, to = cut, q.Rows
				}
				h.F64, h.Labels, h.Rows = q.F64[from:to], q.Labels[from:to], to-from
				if weighted {
					h.Weights = q.Weights[from:to]
				}
				parts[k] = of(t, &h, nil)
			}
			if err := parts[1].Merge(parts[0]); err != nil {
				t.Fatal(err)
			}
			for i, x := range answers(&parts[1].Partition) {
				if math.Float64bits(x) != math.Float64bits(want[i]) && (x == x || want[i] == want[i]) {
					t.Errorf("answer %d is %v, not %v", i, x, want[i])
				}
			}
		}
	}
}

// TestReasons checks which answers are missing, and their reasons.
func TestReasons(t *testing.T) {
	weighted := testrows.Ten()
	weighted.Weights = slices.Repeat([]float64{2}, weighted.Rows)
	one := testrows.Ten()
	one.F64, one.Labels, one.Rows = one.F64[:1], one.Labels[:1], 1
	for _, c := range []struct {
		name                      string
		b                         *calib.Bins
		floor, interval, debiased string // substrings of the reasons
	}{
		{"whole", of(t, testrows.Ten(), nil), "", "", ""},
		{"weights", of(t, weighted, nil), "weights", "weights", ""},
		{"all classes", of(t, testrows.Ten(), &calib.Options{Event: calib.AllClasses}), "depend", "depend", "depend on each other"},
		{"one row", of(t, one, nil), "", "single row", "two rows"},
		{"many bins", of(t, testrows.Ten(), &calib.Options{Bins: 1000}), "", "", ""},
		{"nothing", metrics.Must(calib.NewBins(nil)), "no rows", "no rows", "two rows"},
	} {
		b := c.b
		for _, x := range []struct {
			what, want, reason string
			values             []float64
		}{
			{"floor", c.floor, b.FloorReason(), []float64{b.Floor(), b.FloorQ95(), b.P(), b.DetectableGap()}},
			{"interval", c.interval, b.IntervalReason(), []float64{b.Interval(0.95).Low, b.Interval(0.95).High}},
			{"interval of MCE", c.interval, b.IntervalReason(), []float64{b.MCEInterval(0.95).Low, b.MCEInterval(0.95).High}},
			{"debiased", c.debiased, b.DebiasedReason(), []float64{b.Debiased()}},
		} {
			if (x.reason == "") != (x.want == "") || !strings.Contains(x.reason, x.want) {
				t.Errorf("%s: the reason of no %s is %q, want %q", c.name, x.what, x.reason, x.want)
			}
			for i, v := range x.values {
				if (v != v) != (x.reason != "") {
					t.Errorf("%s: %s %d is %v, and the reason %q", c.name, x.what, i, v, x.reason)
				}
			}
		}
	}
	if b := metrics.Must(calib.NewBins(nil)); b.EqualWeight() == b.EqualWeight() || b.ConfidenceWeighted() == b.ConfidenceWeighted() {
		t.Error("nothing:", b.EqualWeight(), b.ConfidenceWeighted())
	}
	// Weights of 2 carry no more information than weights of 1.
	b, w := of(t, testrows.Ten(), nil), of(t, weighted, nil)
	for _, c := range [][2]float64{{b.Debiased(), w.Debiased()}, {b.EqualWeight(), w.EqualWeight()},
		{b.ConfidenceWeighted(), w.ConfidenceWeighted()}} {
		if math.Abs(c[0]-c[1]) > 1e-15 {
			t.Error("weights of 2:", c)
		}
	}
}

// TestByHand computes the answers for four bins from the definitions.
func TestByHand(t *testing.T) {
	b := of(t, testrows.Ten(), &calib.Options{Bins: 4, Event: calib.Positive})
	p, y := testrows.Ten().F64, testrows.Ten().Labels
	ends := []int{0, 2, 4, 7, 10}
	var floor, spread, debiased, weighted, equal float64
	for k := range 4 {
		var g, gp, v, sq float64
		n := float64(ends[k+1] - ends[k])
		for i := ends[k]; i < ends[k+1]; i++ {
			d := p[i] - float64(y[i])
			g += d
			gp += d * p[i]
			v += p[i] * (1 - p[i])
			sq += d * d
		}
		floor += math.Sqrt(2/math.Pi*v) / 10
		spread += v
		debiased += n / 10 * (g/n*g/n - (sq-g*g/n)/(n-1)/n)
		weighted += math.Abs(gp) / 10
		equal += math.Abs(g) / n / 4
	}
	for _, c := range [][2]float64{{b.Floor(), floor}, {b.DetectableGap(), 2.80 * math.Sqrt(spread) / 10},
		{b.Debiased(), math.Sqrt(math.Max(0, debiased))}, {b.ConfidenceWeighted(), weighted}, {b.EqualWeight(), equal}} {
		if math.Abs(c[0]-c[1]) > 1e-15 {
			t.Error(c)
		}
	}
	// One bin: the gap of all rows is normal.
	b = of(t, testrows.Ten(), &calib.Options{Bins: 1, Event: calib.Positive})
	s := math.Sqrt(spread) / 10
	if got, want := b.P(), math.Erfc(b.ECE()/s/math.Sqrt2); math.Abs(got-want) > 1e-14 {
		t.Error("P of one bin:", got, want)
	}
	if got, want := b.FloorQ95(), 1.959963984540*s; math.Abs(got-want) > 1e-12 {
		t.Error("FloorQ95 of one bin:", got, want)
	}
	// Two bins, one with two rows that are far off and one with a single row, which only counts in N: sqrt(2/3 * (0.9^2 - 0)).
	off := &metrics.Predictions{Labels: []int32{0, 0, 1}}
	off.F64, off.Rows, off.Classes = []float64{0.9, 0.9, 0.1}, 3, 1
	if got, want := of(t, off, nil).Debiased(), math.Sqrt(2./3*0.81); math.Abs(got-want) > 1e-15 {
		t.Error("Debiased:", got, want)
	}
	// MCE of two rows without the event at p = 0: Clopper and Pearson's limit is 1 - (miss/2)^(1/2).
	zero := &metrics.Predictions{Labels: []int32{0, 0}}
	zero.F64, zero.Rows, zero.Classes = []float64{0, 0}, 2, 1
	if i := of(t, zero, nil).MCEInterval(0.95); i.Low != 0 || math.Abs(i.High-(1-math.Sqrt(0.025))) > 1e-12 {
		t.Error("MCEInterval:", i)
	}
	// Scores of 0 and 1 are not random.
	if z := of(t, zero, nil); z.P() != 1 || z.Floor() != 0 || z.FloorQ95() != 0 || z.DetectableGap() != 0 {
		t.Error("no chance:", z.P(), z.Floor(), z.FloorQ95(), z.DetectableGap())
	}
	zero.Labels[0] = 1
	if z := of(t, zero, nil); z.P() != 0 {
		t.Error("no chance, and wrong:", z.P())
	}
}

// six returns the rows of a test of uncertainty_metrics and robustness_metrics; the first row sums to 0.9.
func six() *metrics.Predictions {
	return &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{
			.31, .32, .27, .37, .33, .30, .30, .31, .39, .61, .38, .01, .10, .65, .25, .91, .05, .04,
		}, Rows: 6, Classes: 3},
		Labels: []int32{1, 0, 0, 1, 0, 0},
	}
}

func TestWeightedSix(t *testing.T) {
	o, err := calib.Like("tfp")
	if err != nil {
		t.Fatal(err)
	}
	o.Bins = 10
	// Bins 3, 6 and 9: the sums of hits times p are .69 and .91, those of squares .3914, .7946 and .8281.
	want := (0.69 - 0.3914 + 0.7946 + 0.91 - 0.8281) / 6
	if got := bins(t, six(), o).ConfidenceWeighted(); math.Abs(got-want) > 1e-15 {
		t.Error(got, want)
	}
}

func TestNNCalibration(t *testing.T) {
	nn := func(p *metrics.Predictions, bins int) (float64, float64) {
		ece, mce, err := calib.NNCalibration(p, bins, nil)
		if err != nil {
			t.Fatal(err)
		}
		return ece, mce
	}
	// A score of 12/15 is in none of 15 bins.
	p := &metrics.Predictions{Labels: []int32{0, 0}}
	p.F64, p.Rows, p.Classes = []float64{12. / 15, 12. / 15}, 2, 1
	if ece, mce := nn(p, 15); ece != 0 || mce != 0 {
		t.Error("12/15:", ece, mce)
	}
	// A score of 6/100 is in two of 100 bins, so the ECE of a certain hit is above 1.
	p = &metrics.Predictions{Labels: []int32{0}}
	p.F64 = append(slices.Repeat([]float64{0.06}, 16), 0.04)
	p.Rows, p.Classes = 1, 17
	if ece, mce := nn(p, 100); math.Abs(ece-1.88) > 1e-15 || math.Abs(mce-0.94) > 1e-15 {
		t.Error("6/100:", ece, mce)
	}
	// The result is the same for any number of threads and order of rows.
	r := rand.New(rand.NewPCG(5, 6))
	p = drawnPartition(r, 100_000, -0.1)
	ece, mce := nn(p, 15)
	p.Labels = slices.Clone(p.Labels)
	slices.Reverse(p.Labels)
	slices.Reverse(p.F64)
	if e, m, err := calib.NNCalibration(p, 15, &metrics.Options{Threads: 3}); e != ece || m != mce || err != nil {
		t.Error(e, m, err)
	}
	if e, m := nn(&metrics.Predictions{Scores: metrics.Scores{Classes: 2}}, 15); e == e || m == m {
		t.Error("no rows:", e, m)
	}
	p.Labels[3] = 7
	var d *metrics.DataError
	if _, _, err := calib.NNCalibration(p, 15, nil); !errors.As(err, &d) {
		t.Error(err)
	}
}

func TestUQBenchmark(t *testing.T) {
	// Scores of 0.75 and 1: the first is counted in the upper of four bins but averaged in the lower, where it is the only
	// score.
	p := &metrics.Predictions{Labels: []int32{1, 0, 1, 1}}
	p.F64, p.Rows, p.Classes = []float64{0.7, 0.75, 1, 1}, 4, 1
	want := 0.25*math.Abs(1.45/2-0.5) + 0.75*0
	if got, err := calib.UQBenchmark(p, 4, nil); err != nil || math.Abs(got-want) > 1e-15 {
		t.Error(got, want, err)
	}
	p.F64 = []float64{0.6, 0.75, 0.75, 0.75} // counted in a bin where none is averaged
	if got, err := calib.UQBenchmark(p, 4, nil); err != nil || got == got {
		t.Error(got, err)
	}
	one := *p
	one.F64, one.Labels, one.Rows = p.F64[:1], p.Labels[:1], 1
	if _, err := calib.UQBenchmark(&one, 4, nil); err == nil || !strings.Contains(err.Error(), "two rows") {
		t.Error(err)
	}
	two := &metrics.Predictions{Labels: []int32{0, 1}}
	two.F64, two.Rows, two.Classes = []float64{0.5, 0.5, 0.3, 0.7001}, 2, 2
	if _, err := calib.UQBenchmark(two, 4, nil); err == nil || !strings.Contains(err.Error(), "sum") {
		t.Error(err)
	}
	if _, err := calib.UQBenchmark(two, 4, &metrics.Options{Renormalize: true}); err != nil {
		t.Error(err)
	}
	if _, err := calib.UQBenchmark(two, 4, &metrics.Options{Unchecked: true}); err != nil {
		t.Error(err)
	}
	two.F64[3] = 1.1
	_, err := calib.UQBenchmark(two, 4, &metrics.Options{Unchecked: true})
	if err == nil || !strings.Contains(err.Error(), "above 1") {
		t.Error(err)
	}
	var d *metrics.DataError
	if _, err := calib.UQBenchmark(two, 4, nil); !errors.As(err, &d) {
		t.Error(err)
	}
}

func TestParityBins(t *testing.T) {
	for _, bins := range []int{0, -1, 1<<18 + 1} {
		ece, mce, err := calib.NNCalibration(testrows.Ten(), bins, nil)
		v, err2 := calib.UQBenchmark(testrows.Ten(), bins, nil)
		if err == nil || err2 == nil || ece == ece || mce == mce || v == v {
			t.Errorf("%d bins: %v, %v", bins, err, err2)
		}
	}
	if testing.Short() {
		return
	}
	if _, _, err := calib.NNCalibration(testrows.Ten(), 1<<18, nil); err != nil {
		t.Error(err)
	}
}
