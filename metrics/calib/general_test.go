package calib_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"pgregory.net/rapid"
)

// measure returns the general calibration error of predictions that need not sum to 1.
func measure(t interface{ Fatal(...any) }, p *metrics.Predictions, o calib.GeneralOptions) *calib.General {
	o.Data.Unchecked = true
	g, err := calib.GeneralOf(p, &o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// drawn draws rows with dyadic scores, whose sums and products are exact with and without weights.
func drawn(t *rapid.T, classes int) *metrics.Predictions {
	rows := rapid.IntRange(1, 60).Draw(t, "rows")
	steps := rapid.SampledFrom([]int{4, 16, 1 << 20}).Draw(t, "steps")
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: rows, Classes: classes}}
	for range rows * classes {
		p.F64 = append(p.F64, float64(rapid.IntRange(0, steps).Draw(t, "p"))/float64(steps))
	}
	for range rows {
		p.Labels = append(p.Labels, int32(rapid.IntRange(0, max(1, classes-1)).Draw(t, "label")))
	}
	return p
}

// drawnOptions draws valid options; if weights is true, only those that support weights.
func drawnOptions(t *rapid.T, weights bool) calib.GeneralOptions {
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	for {
		o := calib.GeneralOptions{Options: calib.Options{Event: rapid.SampledFrom([]calib.Event{calib.ByShape, calib.TopLabel, calib.AllClasses}).Draw(t, "event"), Side: kernel.Side(rapid.IntRange(0, 1).Draw(t, "side")), One: calib.OneRule(rapid.IntRange(0, 1).Draw(t, "one")), Zero: calib.ZeroRule(rapid.IntRange(0, 3).Draw(t, "zero"))}, Binning: calib.Binning(rapid.IntRange(0, 4).Draw(t, "binning")), EdgeRule: calib.EdgeRule(rapid.IntRange(0, 6).Draw(t, "rule")), Norm: calib.Norm(rapid.IntRange(0, 2).Draw(t, "norm"))}
		if o.Binning <= calib.Adaptive && flag("bins given") {
			o.Bins = rapid.IntRange(1, 20).Draw(t, "bins")
		} else if o.Binning == calib.Adaptive && flag("points given") {
			o.PointsPerBin = rapid.IntRange(1, 20).Draw(t, "points")
		} else if o.Binning == calib.Even && flag("edges given") {
			o.Edges = []float64{0, 0.25, 0.3, 0.75, 1}
		}
		if o.ClassConditional = flag("by class"); o.ClassConditional {
			o.MeanOfRoots, o.PresentClasses, o.ByFrequency = flag("roots"), flag("present"), flag("frequency")
		}
		o.EqualWeight, o.TotalDenominator, o.ConfidenceWeighted = flag("equal"), flag("total"), flag("confidence")
		if flag("threshold") {
			o.Above = new(0.25)
		}
		if o.Validate() == nil && !(weights && (o.EdgeRule > calib.OrderStatisticClosed || o.Binning >= calib.SweepMass && o.EdgeRule != calib.OrderStatistic)) {
			return o
		}
	}
}

func same(a, b float64) bool { return a == b || a != a && b != b }

// change returns the rows with the given numbers, in this order.
func change(p *metrics.Predictions, order []int) *metrics.Predictions {
	q := &metrics.Predictions{Scores: metrics.Scores{Rows: len(order), Classes: p.Classes}}
	for _, i := range order {
		q.F64 = append(q.F64, p.F64[i*p.Classes:(i+1)*p.Classes]...)
		q.Labels = append(q.Labels, p.Labels[i])
		if p.Weights != nil {
			q.Weights = append(q.Weights, p.Weights[i])
		}
	}
	return q
}

// TestGeneralPermuted checks that the order of rows has no effect unless equal scores are split by it.
func TestGeneralPermuted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, rapid.IntRange(1, 4).Draw(t, "classes"))
		weights := rapid.Bool().Draw(t, "weights")
		o := drawnOptions(t, weights)
		if o.EdgeRule == calib.Rank || o.Binning == calib.SweepMass && o.EdgeRule != calib.OrderStatistic {
			return
		}
		for range p.Rows * map[bool]int{true: 1}[weights] {
			p.Weights = append(p.Weights, rapid.Float64Range(0.01, 3).Draw(t, "weight"))
		}
		order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range p.Rows {
				if !yield(i) {
					return
				}
			}
		})).Draw(t, "order")
		if a, b := measure(t, p, o).Value, measure(t, change(p, order), o).Value; !same(a, b) {
			t.Fatalf("%+v: %v, in another order %v", o, a, b)
		}
	})
}

// TestGeneralDuplicated checks that duplicating all rows changes no error with fixed edges. Equal-mass bins do not change
// either if their number divides that of the scores; otherwise round(j*2n/B) may differ from twice round(j*n/B).
func TestGeneralDuplicated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, rapid.IntRange(1, 4).Draw(t, "classes"))
		o := drawnOptions(t, false)
		switch {
		case o.Binning == calib.Even:
		case o.Binning == calib.Adaptive && o.EdgeRule == calib.OrderStatistic && o.PointsPerBin == 0 && o.Above == nil &&
			o.Zero != calib.DropZero && !(o.ClassConditional && o.Event == calib.TopLabel):
			if o.Bins = 5; p.Rows%5 != 0 {
				return
			}
		default:
			return
		}
		var twice []int
		for i := range p.Rows {
			twice = append(twice, i, i)
		}
		if a, b := measure(t, p, o).Value, measure(t, change(p, twice), o).Value; !same(a, b) && !near(a, b, 1e-15) {
			t.Fatalf("%+v: %v, twice %v", o, a, b)
		}
	})
}

// TestGeneralRelabelled checks that renaming the classes does not change an error over all of them.
func TestGeneralRelabelled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 5).Draw(t, "classes")
		p := drawn(t, classes)
		o := drawnOptions(t, false)
		o.Event = calib.AllClasses
		if !o.ClassConditional && (o.EdgeRule == calib.Rank || o.Binning == calib.SweepMass && o.EdgeRule != calib.OrderStatistic) {
			return
		}
		names := rapid.Permutation([]int{0, 1, 2, 3, 4}[:classes]).Draw(t, "names")
		q := &metrics.Predictions{Scores: metrics.Scores{F64: make([]float64, len(p.F64)), Rows: p.Rows, Classes: classes}}
		for i, y := range p.Labels {
			for j, to := range names {
				q.F64[i*classes+to] = p.F64[i*classes+j]
			}
			q.Labels = append(q.Labels, int32(names[y]))
		}
		if a, b := measure(t, p, o).Value, measure(t, q, o).Value; !same(a, b) {
			t.Fatalf("%+v: %v, with other names %v", o, a, b)
		}
	})
}

// TestGeneralMonotone checks that an increasing function of the scores leaves every score in its equal-mass bin and in its bin
// of the sweep.
func TestGeneralMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, 1)
		o := drawnOptions(t, false)
		o.Event, o.ClassConditional, o.MeanOfRoots, o.PresentClasses, o.ByFrequency = calib.Positive, false, false, false, false
		o.Above, o.Zero = nil, calib.FirstBin
		switch {
		case o.Binning == calib.Even || o.Binning == calib.SweepEven, o.EdgeRule == calib.QuantileLinear,
			o.EdgeRule == calib.OrderStatisticClosed: // these depend on more than the order
			return
		}
		q := *p
		q.F64 = nil
		for _, v := range p.F64 {
			q.F64 = append(q.F64, (1+v*v)/4)
		}
		a, b := measure(t, p, o).Partitions[0].Bins(0.95), measure(t, &q, o).Partitions[0].Bins(0.95)
		if len(a) != len(b) {
			t.Fatalf("%+v: %d bins, of the map %d", o, len(a), len(b))
		}
		for i := range a {
			if a[i].Count != b[i].Count || !same(a[i].Frequency, b[i].Frequency) {
				t.Fatalf("%+v: bin %d: %+v, of the map %+v", o, i, a[i], b[i])
			}
		}
	})
}

// TestGeneralWeights checks that equal weights give the same result as no weights, bit-identical if products are exact, and
// that rows of weight 0 are ignored.
func TestGeneralWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, rapid.IntRange(1, 4).Draw(t, "classes"))
		o := drawnOptions(t, true)
		q := *p
		q.Weights = slices.Repeat([]float64{rapid.SampledFrom([]float64{0.25, 1, 2}).Draw(t, "weight")}, p.Rows)
		a, b := measure(t, p, o).Value, measure(t, &q, o).Value
		if exact := o.Norm == calib.L1 && !o.ByFrequency; !same(a, b) && (exact || !near(a, b, 1e-14)) {
			t.Fatalf("%+v: %v without weights, %v with equal ones", o, a, b)
		}
		// Rows of weight 0 are removed here. Points per bin count the remaining rows.
		var there []int
		for i := range q.Weights {
			if q.Weights[i] = float64(rapid.IntRange(0, 3).Draw(t, "w")); q.Weights[i] > 0 {
				there = append(there, i)
			}
		}
		if len(there) == 0 {
			return
		}
		if a, b := measure(t, &q, o).Value, measure(t, change(&q, there), o).Value; !same(a, b) {
			t.Fatalf("%+v: %v with rows of weight 0, %v without", o, a, b)
		}
	})
}

// TestGeneralNorms checks ECE <= RMSCE <= MCE <= 1 over the same bins.
func TestGeneralNorms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, rapid.IntRange(1, 4).Draw(t, "classes"))
		o := drawnOptions(t, false)
		o.MeanOfRoots = false
		var v [3]float64
		for i := range v {
			o.Norm = calib.Norm(i)
			v[i] = measure(t, p, o).Value
		}
		if v[0] != v[0] && v[1] != v[1] && v[2] != v[2] {
			return
		}
		const rounding = 1e-12
		if !(v[0] >= 0 && v[0] <= v[1]+rounding && v[1] <= v[2]+rounding && v[2] <= 1+rounding) {
			t.Fatalf("%+v: %v", o, v)
		}
	})
}

// TestGeneralStored checks that the error does not depend on how scores are stored and read: as a view, gathered, strided, with
// several threads, between bad rows, or as logits.
func TestGeneralStored(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	const rows, classes = 9000, 10
	x := make([]float32, rows*classes)
	for i := range x {
		x[i] = float32(2 * r.NormFloat64())
	}
	probs := make([]float32, len(x))
	kernel.SoftmaxF32(probs, classes, x, rows, classes, classes)
	labels := make([]int32, rows)
	for i := range labels {
		labels[i] = int32(r.IntN(classes))
	}
	plain := &metrics.Predictions{Scores: metrics.Scores{F32: probs, Rows: rows, Classes: classes}, Labels: labels}
	wide := &metrics.Predictions{Scores: metrics.Scores{F64: make([]float64, len(x)), Rows: rows, Classes: classes}, Labels: labels}
	for i, v := range probs {
		wide.F64[i] = float64(v)
	}
	logits := &metrics.Predictions{Scores: metrics.Scores{F32: x, Rows: rows, Classes: classes}, Labels: labels, Kind: metrics.Logits}
	strided := &metrics.Predictions{Scores: metrics.Scores{Rows: rows, Classes: classes, Stride: classes + 3}, Labels: labels}
	bad := &metrics.Predictions{Scores: metrics.Scores{Classes: classes}}
	for i := range rows {
		row := probs[i*classes : (i+1)*classes]
		strided.F32 = append(append(strided.F32, row...), 7, 7, 7)
		if i%1000 == 3 {
			bad.F32 = append(bad.F32, make([]float32, classes)...)
			bad.Labels = append(bad.Labels, 0)
			bad.Rows++
		}
		bad.F32 = append(bad.F32, row...)
		bad.Labels = append(bad.Labels, labels[i])
		bad.Rows++
	}
	for i, o := range []calib.GeneralOptions{
		{}, {Binning: calib.Adaptive}, {Binning: calib.Adaptive, ClassConditional: true},
		{Options: calib.Options{Event: calib.AllClasses}, Binning: calib.Adaptive},
		{Binning: calib.Adaptive, EdgeRule: calib.Rank, ClassConditional: true, Above: new(0.1)}, {ClassConditional: true},
		{Options: calib.Options{One: calib.OverflowBin}, ClassConditional: true}, {Binning: calib.SweepMass}, {Options: calib.Options{Event: calib.AllClasses}, Above: new(0.1)},
		{Options: calib.Options{Event: calib.TopLabel}, ClassConditional: true, Binning: calib.CubeRoot},
	} {
		want := measure(t, plain, o)
		for _, threads := range []int{1, 2, 5} {
			for name, p := range map[string]*metrics.Predictions{
				"plain": plain, "wide": wide, "strided": strided, "logits": logits, "bad": bad} {
				if !check.Full() && (i+int(name[0])+threads)%3 != 0 { // a part of the combinations
					continue
				}
				o.Data = metrics.Options{Threads: threads, Drop: name == "bad"}
				g, err := calib.GeneralOf(p, &o)
				if err != nil {
					t.Fatal(err)
				}
				if name == "logits" && near(g.Value, want.Value, 1e-4) {
					continue // the softmax rounds differently
				}
				if g.Value != want.Value || g.Kept != want.Kept || name == "bad" && g.Audit.Dropped != 9 {
					t.Errorf("%+v: %s by %d threads: %v of %d, want %v of %d", o, name, threads, g.Value, g.Kept,
						want.Value, want.Kept)
				}
			}
		}
	}
	// Weights and half-precision rows are gathered as well.
	truncated := &metrics.Predictions{Scores: metrics.Scores{Rows: rows, Classes: classes}, Labels: labels}
	widened := &metrics.Predictions{Scores: metrics.Scores{Rows: rows, Classes: classes}, Labels: labels}
	for _, v := range probs {
		b := math.Float32bits(v) >> 16
		truncated.BF16, widened.F32 = append(truncated.BF16, uint16(b)), append(widened.F32, math.Float32frombits(b<<16))
	}
	for i := range rows {
		w := float64(i % 4)
		plain.Weights = append(plain.Weights, w)
		if i%1000 == 3 {
			bad.Weights = append(bad.Weights, 1)
		}
		bad.Weights = append(bad.Weights, w)
	}
	for _, o := range []calib.GeneralOptions{{Binning: calib.Adaptive}, {Binning: calib.Adaptive, ClassConditional: true},
		{Options: calib.Options{Event: calib.AllClasses}, Binning: calib.Adaptive}, {Options: calib.Options{Event: calib.TopLabel}, Binning: calib.CubeRoot, ClassConditional: true}} {
		if a, b := measure(t, truncated, o), measure(t, widened, o); a.Value != b.Value {
			t.Errorf("%+v: %v in half precision, %v in single", o, a.Value, b.Value)
		}
		a := measure(t, plain, o)
		o.Data.Drop = true
		if b, err := calib.GeneralOf(bad, &o); err != nil || a.Value != b.Value || a.Kept != b.Kept {
			t.Errorf("%+v with weights: %v of %d, gathered %+v, %v", o, a.Value, a.Kept, b, err)
		}
	}
	_, err := calib.Named["ACE"](bad, nil)
	var d *metrics.DataError
	if !errors.As(err, &d) || d.Faults[0].Count != 9 {
		t.Errorf("bad rows: %v", err)
	}
}

// TestGeneralEdges checks that degenerate input has a defined answer.
func TestGeneralEdges(t *testing.T) {
	event := func(p []float64, y ...int32) *metrics.Predictions {
		return &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y}
	}
	alone := event([]float64{0.75}, 1)
	tied := event([]float64{0.5, 0.5, 0.5, 0.5}, 1, 1, 1, 0)
	for binning := calib.Even; binning <= calib.SweepEven; binning++ {
		for _, above := range []*float64{nil, new(0.9)} {
			o := calib.GeneralOptions{Binning: binning, Above: above}
			none := &metrics.Predictions{Scores: metrics.Scores{Classes: 3}}
			if g := measure(t, none, o); !math.IsNaN(g.Value) || g.Kept != 0 {
				t.Errorf("binning %d of no rows: %v", binning, g.Value)
			}
			want, wantTied, kept := 0.25, 0.25, int64(1)
			if above != nil {
				want, wantTied, kept = math.NaN(), math.NaN(), 0
			}
			if g := measure(t, alone, o); !same(g.Value, want) || g.Kept != kept {
				t.Errorf("binning %d of a row: %v of %d", binning, g.Value, g.Kept)
			}
			if g := measure(t, tied, o); !same(g.Value, wantTied) {
				t.Errorf("binning %d of equal scores: %v", binning, g.Value)
			}
			if above != nil {
				o.TotalDenominator = true
				if g := measure(t, tied, o); g.Value != 0 || g.Kept != 4 {
					t.Errorf("binning %d, all below the threshold but counted: %v of %d", binning, g.Value, g.Kept)
				}
			}
		}
	}
	// One class is never predicted, and one is never the label.
	p := &metrics.Predictions{Labels: []int32{0, 1},
		Scores: metrics.Scores{F64: []float64{0.5, 0.25, 0.25, 0.75, 0.25, 0}, Rows: 2, Classes: 3}}
	all := measure(t, p, calib.GeneralOptions{Options: calib.Options{Event: calib.TopLabel}, ClassConditional: true})
	present := measure(t, p, calib.GeneralOptions{Options: calib.Options{Event: calib.TopLabel}, ClassConditional: true, PresentClasses: true})
	if len(all.Partitions) != 3 || all.Value != 0.625/3 || present.Value != 0.625 {
		t.Errorf("a class never predicted: %v, of those present %v", all.Value, present.Value)
	}
	if g := measure(t, p, calib.GeneralOptions{Options: calib.Options{Bins: 1}, ClassConditional: true, Binning: calib.Adaptive}); g.Value != (0.125+0.25+0.125)/3 {
		t.Errorf("a class never true: %v", g.Value)
	}
	// Every class has its bins, even if there are more bins than rows.
	g := measure(t, p, calib.GeneralOptions{Options: calib.Options{Bins: 7}, ClassConditional: true, Binning: calib.Adaptive})
	for j, b := range g.Partitions {
		n := int64(0)
		bars := b.Bins(0.95)
		for i, bar := range bars {
			n += bar.Count
			if i > 0 && bar.Lower != bars[i-1].Upper {
				t.Errorf("class %d: bins %v", j, bars)
			}
		}
		if len(bars) != 7 || n != 2 || bars[0].Lower != 0 || bars[6].Upper != 1 {
			t.Errorf("class %d: %d bins of %d: %v", j, len(bars), n, bars)
		}
	}
	bad := *alone
	bad.Weights = []float64{-1}
	var d *metrics.DataError
	if _, err := calib.Named["ACE"](&bad, nil); !errors.As(err, &d) || d.Faults[0].Reason != metrics.BadWeight {
		t.Errorf("a negative weight: %v", err)
	}
	bad.Weights = []float64{1}
	for name, f := range map[string]func(*metrics.Predictions, *calib.GeneralOptions) (*calib.General, error){
		"rank": func(p *metrics.Predictions, _ *calib.GeneralOptions) (*calib.General, error) {
			return calib.Named["SweepECE"](p, &calib.GeneralOptions{EdgeRule: calib.Rank})
		}, "count": calib.Named["EqualCount"], "quantile": calib.Named["QuantileECE"]} {
		if _, err := f(&bad, nil); err == nil || !strings.Contains(err.Error(), "weights") {
			t.Errorf("%s with weights: %v", name, err)
		}
	}
	bad.Weights[0] = 0
	if g := measure(t, &bad, calib.GeneralOptions{Binning: calib.Adaptive}); !math.IsNaN(g.Value) || g.Audit.Absent != 1 {
		t.Errorf("all rows absent: %v", g.Value)
	}
}

func TestGeneralInvalid(t *testing.T) {
	for _, o := range []calib.GeneralOptions{
		{Binning: 9}, {EdgeRule: 9}, {Norm: 9}, {Options: calib.Options{Bins: -1}}, {PointsPerBin: -1}, {PointsPerBin: 5},
		{Options: calib.Options{Bins: 5}, PointsPerBin: 5, Binning: calib.Adaptive}, {Options: calib.Options{Bins: 5}, Binning: calib.CubeRoot},
		{Options: calib.Options{Bins: 5}, Binning: calib.SweepMass}, {Options: calib.Options{Bins: 5}, Edges: []float64{0, 1}}, {Edges: []float64{1, 0}},
		{Edges: []float64{0}}, {Edges: []float64{0, math.NaN()}}, {Edges: []float64{0, 1}, Binning: calib.Adaptive},
		{Options: calib.Options{Index: calib.FloorMul}, Edges: []float64{0, 1}}, {EdgeRule: calib.Rank}, {Binning: calib.SweepMass, EdgeRule: calib.Strides},
		{Binning: calib.SweepEven, EdgeRule: calib.Rank}, {Options: calib.Options{Index: calib.EdgeMul32}, Binning: calib.SweepEven},
		{Options: calib.Options{Side: kernel.RightClosed}, Binning: calib.SweepMass}, {Options: calib.Options{Side: kernel.RightClosed}, Binning: calib.Adaptive, EdgeRule: calib.Rank},
		{Options: calib.Options{Event: calib.Positive}, ClassConditional: true}, {PresentClasses: true}, {MeanOfRoots: true}, {ByFrequency: true},
		{Above: new(1.0)}, {Above: new(-0.5)}, {Above: new(math.NaN())}, {Options: calib.Options{Bins: 1 << 30}}, {Options: calib.Options{Event: 9}}, {Options: calib.Options{One: 9}}, {Options: calib.Options{Zero: 9}}, {Options: calib.Options{Side: 9}},
	} {
		if err := o.Validate(); err == nil || !strings.HasPrefix(err.Error(), "calib: ") {
			t.Errorf("%+v: %v", o, err)
		}
		if _, err := calib.GeneralOf(&metrics.Predictions{Scores: metrics.Scores{Classes: 2}}, &o); err == nil {
			t.Errorf("%+v was measured", o)
		}
	}
	for _, c := range [][2]string{{"um", "mce"}, {"rm", "ece"}, {"x", "ece"}, {"", ""}} {
		if _, err := calib.GeneralLike(c[0], c[1]); err == nil {
			t.Errorf("%q has a %q", c[0], c[1])
		}
	}
	three := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.5, 0.25, 0.25}, Rows: 1, Classes: 3}, Labels: []int32{0}}
	if v, err := calib.EqualCount(three, nil); !errors.Is(err, metrics.ErrMismatch) || v == v {
		t.Errorf("a positive class of three: %v", err)
	}
}

// TestGeneralPoints checks that special cases of the general error equal the separate functions for them.
func TestGeneralPoints(t *testing.T) {
	p := softmaxes(500, 7)
	ece, err := calib.ECE(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	rmsce, err := calib.RMSCE(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	mce, err := calib.MCE(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	sce, err := calib.SCE(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want float64
		o    calib.GeneralOptions
	}{
		{"ece", ece, calib.GeneralOptions{}},
		{"ece by edges", ece, calib.GeneralOptions{Edges: kernel.Edges(15)}},
		{"rmsce", rmsce, calib.GeneralOptions{Norm: calib.L2}},
		{"mce", mce, calib.GeneralOptions{Norm: calib.Max}},
		{"sce", sce, calib.GeneralOptions{ClassConditional: true}},
		{"sce by edges", sce, calib.GeneralOptions{ClassConditional: true, Edges: kernel.Edges(15)}},
		{"sce, class by class", sce, calib.GeneralOptions{Options: calib.Options{One: calib.OverflowBin}, ClassConditional: true}},
	} {
		if g := measure(t, p, c.o); !near(g.Value, c.want, 1e-15) {
			t.Errorf("%s: %v, want %v", c.name, g.Value, c.want)
		}
	}
	tace, err := calib.Named["TACE"](p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g := measure(t, p, calib.GeneralOptions{Binning: calib.Adaptive, ClassConditional: true, Above: new(0.01)}); g.Value != tace.Value {
		t.Errorf("tace: %v, want %v", tace.Value, g.Value)
	}
	// Each class has 500 rows; the cube root is 7.9.
	for _, o := range []calib.GeneralOptions{{}, {ClassConditional: true}} {
		var v []float64
		for _, rule := range []calib.GeneralOptions{{Options: calib.Options{Bins: 8}, Binning: calib.Adaptive}, {Binning: calib.CubeRoot},
			{Binning: calib.Adaptive, PointsPerBin: 60}} {
			rule.ClassConditional = o.ClassConditional
			v = append(v, measure(t, p, rule).Value)
		}
		if v[0] != v[1] || v[0] != v[2] {
			t.Errorf("8 bins, the cube root, 60 points: %v", v)
		}
	}
	// Classes are weighted by their rows. With one bin each, the error is easily computed by hand.
	g, err := calib.Named["TopLabelConditional"](p, &calib.GeneralOptions{Options: calib.Options{Bins: 1}})
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for _, b := range g.Partitions {
		want += b.ECE() * float64(b.Len()) / 500
	}
	if !near(g.Value, want, 1e-14) {
		t.Errorf("top-label conditional: %v, want %v", g.Value, want)
	}
}

// TestGeneralString checks that Set reads what String writes, and that equivalent options have the same text.
func TestGeneralString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawnOptions(t, false)
		var back calib.GeneralOptions
		for _, s := range strings.Split(o.String(), ",") {
			name, value, _ := strings.Cut(s, "=")
			if s == "" {
				continue
			}
			if err := back.Set(name, value); err != nil {
				t.Fatalf("%q: %v", s, err)
			}
		}
		if back.String() != o.String() || back.Text() != o.Text() || back.Validate() != nil {
			t.Fatalf("%q is read as %q", o, back)
		}
	})
	if s := (calib.GeneralOptions{}).String(); s != "" {
		t.Errorf("the default is %q", s)
	}
	for _, c := range [][2]string{{"binning", "x"}, {"rule", ""}, {"norm", "l3"}, {"points", "0"}, {"above", "1"}, {"above", "x"},
		{"edges", "0"}, {"edges", "0 NaN"}, {"total", "yes"}, {"bins", "0"}, {"x", "1"}} {
		o := calib.GeneralOptions{Options: calib.Options{Bins: 7}}
		if err := o.Set(c[0], c[1]); err == nil || o.String() != "bins=7" {
			t.Errorf("%s=%s: %v, %q", c[0], c[1], err, o)
		}
	}
}
