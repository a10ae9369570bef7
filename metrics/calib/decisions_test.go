package calib_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// eight returns the rows of the unit test of uncertainty_metrics' Keras metric.
func eight() *metrics.Predictions {
	return &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.51, 0.45, 0.39, 0.66, 0.68, 0.29, 0.81, 0.85}, Rows: 8, Classes: 1},
		Labels: []int32{0, 0, 0, 1, 0, 1, 1, 1},
	}
}

// TestGoldenCustomBinningScore compares with the numbers of that test, for all rows at once and for two updates.
func TestGoldenCustomBinningScore(t *testing.T) {
	custom := []float64{0.05, 0.11, 0.37, 0.52, 0.26, 0.47, 0.73, 0.23}
	for _, c := range []struct {
		by              []float64
		counts, correct []int64
		sums            []float64
	}{
		{nil, []int64{0, 0, 0, 0, 0, 2, 3, 1, 2, 0}, []int64{0, 0, 0, 0, 0, 1, 2, 0, 2, 0}, []float64{0, 0, 0, 0, 0, 1.06, 1.95, 0.71, 1.66, 0}},
		{custom, []int64{1, 1, 2, 1, 1, 1, 0, 1, 0, 0}, []int64{0, 1, 1, 1, 0, 1, 0, 1, 0, 0}, []float64{0.51, 0.55, 1.53, 0.61, 0.71, 0.66, 0, 0.81, 0, 0}},
	} {
		for _, cut := range []int{8, 4, 3} {
			b := metrics.Must(calib.NewBins(func() *calib.Options { o := like(t, "tfp", 10); return &o }()))
			pass := metrics.NewPass(nil, b)
			for _, r := range [][2]int{{0, cut}, {cut, 8}} {
				p := eight()
				p.F64, p.Labels, p.Rows = p.F64[r[0]:r[1]], p.Labels[r[0]:r[1]], r[1]-r[0]
				if c.by != nil {
					p.ConfidenceScores = c.by[r[0]:r[1]]
				}
				if err := pass.Add(p); err != nil {
					t.Fatal(err)
				}
			}
			for i, bar := range b.Bins(0.95) {
				n := float64(bar.Count)
				if bar.Count != c.counts[i] || bar.Count > 0 && (!near(bar.Frequency*n, float64(c.correct[i]), 1e-15) || !near(bar.Confidence*n, c.sums[i], 1e-15)) {
					t.Errorf("bin %d: %+v", i, bar)
				}
			}
		}
	}
}

// TestDecisionEvents checks which events use the caller's decisions and scores, and how Text describes this.
func TestDecisionEvents(t *testing.T) {
	for _, c := range []struct {
		event           calib.Event
		decided, scored bool
	}{{calib.ByShape, false, true}, {calib.TopLabel, true, true}, {calib.Positive, false, true}, {calib.AllClasses, false, false}} {
		o := &calib.Options{Event: c.event}
		plain, err := calib.BinsOf(eight(), o)
		if err != nil {
			t.Fatal(err)
		}
		of := func(decided, scored bool) *calib.Bins {
			p := eight()
			if decided {
				p.Decisions = []int32{1, 1, 1, 1, 0, 0, 0, 0}
			}
			if scored {
				p.ConfidenceScores = []float64{-2, 0.5, 0.5, 0.5, 0.1, 0.1, 7, 0.9}
			}
			b, err := calib.BinsOf(p, o)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		for i, b := range []*calib.Bins{of(true, false), of(false, true)} {
			takes := []bool{c.decided, c.scored}[i]
			words := []string{"; the caller's decisions", "; binned by the caller's scores"}[i]
			if strings.Contains(b.Text(), words) != takes || b.Text() == plain.Text() == takes || plain.Text() != o.Text() {
				t.Errorf("event %d: %q", c.event, b.Text())
			}
			if !takes && b.ECE() != plain.ECE() {
				t.Errorf("event %d: %v and %v", c.event, b.ECE(), plain.ECE())
			}
			s, err := b.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			var read calib.Bins
			if err := read.UnmarshalBinary(s); err != nil || read.Text() != b.Text() {
				t.Errorf("event %d: %q is read as %q (%v)", c.event, b.Text(), read.Text(), err)
			}
			if again := of(i == 0, i == 1); again.Merge(&read) != nil || again.Len() != 2*b.Len() || (again.Merge(plain) == nil) == takes {
				t.Errorf("event %d: merges", c.event)
			}
		}
		if b := of(false, true); c.scored {
			l := b.Bins(0.95)
			if l[0].Count != 1 || l[1].Count != 2 || l[7].Count != 3 || l[13].Count != 1 || l[14].Count != 1 {
				t.Errorf("event %d: %+v", c.event, l)
			}
		}
	}
	// Class-wise bins use the entries as they are.
	p := eight()
	plain := metrics.Must(calib.NewClassBins(nil))
	if err := metrics.NewPass(nil, plain).Add(p); err != nil {
		t.Fatal(err)
	}
	p.Decisions, p.ConfidenceScores = make([]int32, 8), make([]float64, 8)
	own := metrics.Must(calib.NewClassBins(nil))
	if err := metrics.NewPass(nil, own).Add(p); err != nil {
		t.Fatal(err)
	}
	a, _ := plain.AppendBinary(nil)
	b, _ := own.AppendBinary(nil)
	if string(a) != string(b) {
		t.Error("decisions change class-wise bins")
	}
}

// TestDecisionsAtHalf checks that the caller's decision applies at a score of 1/2.
func TestDecisionsAtHalf(t *testing.T) {
	p := &metrics.Predictions{Scores: metrics.Scores{F32: []float32{0.5, 0.5}, Rows: 2, Classes: 1}, Labels: []int32{1, 0}, Decisions: []int32{1, 1}}
	b, err := calib.BinsOf(p, &calib.Options{Bins: 1, Event: calib.TopLabel})
	if err != nil {
		t.Fatal(err)
	}
	if f := b.Bins(0.95)[0].Frequency; f != 0.5 {
		t.Error(f)
	}
	p.Labels[1] = 1
	if b, err = calib.BinsOf(p, &calib.Options{Bins: 1, Event: calib.TopLabel}); err != nil || b.Bins(0.95)[0].Frequency != 1 {
		t.Error(err, b)
	}
}

// TestConfidenceScoresAtTheEnds checks that the rules for scores of 0 and 1 apply to the scores that choose the bins.
func TestConfidenceScoresAtTheEnds(t *testing.T) {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0, 1, 0.5, 0.25}, Rows: 4, Classes: 1}, Labels: []int32{0, 1, 1, 0},
		ConfidenceScores: []float64{0.5, 0.25, 0, 1},
	}
	b, err := calib.BinsOf(p, &calib.Options{Bins: 2, One: calib.OverflowBin, Zero: calib.OwnBin})
	if err != nil {
		t.Fatal(err)
	}
	var at, says []float64
	for _, bar := range b.Bins(0.95) {
		at, says = append(at, bar.Lower, bar.Upper), append(says, bar.Confidence)
	}
	if !slices.Equal(at, []float64{0, 0, 0, 0.5, 0.5, 1, 1, 1}) || !slices.Equal(says, []float64{0.5, 1, 0, 0.25}) {
		t.Error(at, says)
	}
	if b, err = calib.BinsOf(p, &calib.Options{Bins: 2, Zero: calib.DropZero}); err != nil || b.Len() != 3 {
		t.Error(err, b.Len())
	}
}
