package metrics_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

// claims returns n rows that give one class the confidence c; every tenth is wrong.
func claims(n, classes int, c float64, t metrics.DType) *metrics.Predictions {
	v := make([]float64, 0, n*classes)
	p := &metrics.Predictions{Labels: make([]int32, n)}
	for i := range n {
		if classes == 2 {
			v = append(v, 1-c)
		}
		v = append(v, c)
		if i%10 != 0 {
			p.Labels[i] = 1
		}
	}
	p.Scores = narrow(v, classes, t, 0)
	return p
}

// TestMany holds the ECE of 4e7 rows, where a sum in float32 has long stopped growing.
func TestMany(t *testing.T) {
	const chunk = 200_000
	read, doublings := 25, 3
	if check.Full() {
		read, doublings = 200, 0
	}
	for _, c := range []struct {
		name    string
		classes int
		dtype   metrics.DType
		want    float64
	}{
		{"binary float64", 1, metrics.Float64, 0.95 - 0.90},
		{"binary float32", 1, metrics.Float32, float64(float32(0.95)) - 0.90},
		{"two classes float64", 2, metrics.Float64, 0.95 - 0.90},
		{"two classes float32", 2, metrics.Float32, float64(float32(0.95)) - 0.90},
	} {
		n, d := read, doublings
		if c.classes == 2 {
			n, d = 25, 3
		}
		p := claims(chunk, c.classes, 0.95, c.dtype)
		b, l := metrics.Must(calib.NewBins(nil)), metrics.Must(score.NewLoss(nil))
		if err := metrics.NewPass(nil, b, l).AddSource(&again{p: p, n: n}); err != nil {
			t.Fatal(err)
		}
		for range d {
			if err := errors.Join(b.Merge(b), l.Merge(l)); err != nil {
				t.Fatal(err)
			}
		}
		if b.Len() != 4e7 {
			t.Fatalf("%s: %d rows", c.name, b.Len())
		}
		for what, got := range map[string]float64{"ece": b.ECE(), "overconfidence": l.Overconfidence(), "rmsce": b.RMSCE()} {
			if math.Abs(got-c.want) > 1e-12 {
				t.Errorf("%s: %s is %.17g, want %.17g", c.name, what, got, c.want)
			}
		}
		if l.Accuracy() != 0.9 {
			t.Errorf("%s: accuracy is %v", c.name, l.Accuracy())
		}
	}

	// What the integers are for.
	var conf, hits, count float32
	for i := range int(4e7) {
		conf += 0.95
		count++
		if i%10 != 0 {
			hits++
		}
	}
	if e := math.Abs(float64(conf/count - hits/count)); math.Abs(e-0.05) < 1e-3 {
		t.Errorf("sums in float32 give %v, which shows nothing", e)
	}
}

// bigMean returns the exact mean, rounded once.
func bigMean(v []float64) float64 {
	s := new(big.Rat)
	for _, x := range v {
		s.Add(s, new(big.Rat).SetFloat64(x))
	}
	f, _ := s.Quo(s, big.NewRat(int64(len(v)), 1)).Float64()
	return f
}

func TestOnes(t *testing.T) {
	for _, n := range []int{kernel.MaxSum, 10*kernel.MaxSum + 1} {
		p := &metrics.Predictions{Labels: make([]int32, n)}
		v := make([]float64, n)
		for i := range v {
			v[i], p.Labels[i] = 1, 1
		}
		for _, d := range dtypes {
			p.Scores = narrow(v, 1, d, 0)
			b, l := metrics.Must(calib.NewBins(nil)), metrics.Must(score.NewLoss(nil))
			feed(t, p, nil, b, l)
			if b.ECE() != 0 || l.Confidence() != 1 || l.Accuracy() != 1 || l.NLL() != 0 || l.Brier(score.BrierDefault) != 0 {
				t.Errorf("%v, %d: %v", d, n, answers(b, l))
			}
			for i := range p.Labels {
				p.Labels[i] = 0
			}
			b, l = metrics.Must(calib.NewBins(nil)), metrics.Must(score.NewLoss(nil))
			feed(t, p, nil, b, l)
			if b.ECE() != 1 || l.Accuracy() != 0 || l.Brier(score.BrierSum) != 2 || l.InfiniteRows() != int64(n) {
				t.Errorf("%v, %d, all wrong: %v", d, n, answers(b, l))
			}
			for i := range p.Labels {
				p.Labels[i] = 1
			}
		}
	}
}

func TestBrierTwo(t *testing.T) {
	const n = 3*kernel.MaxSum + 5
	v := make([]float64, 0, 3*n)
	p := &metrics.Predictions{Labels: make([]int32, n)}
	for i := range n {
		v, p.Labels[i] = append(v, 0, 1, 0), 2
	}
	p.Scores = narrow(v, 3, metrics.Float64, 0)
	l := metrics.Must(score.NewLoss(nil))
	feed(t, p, nil, l)
	if l.Brier(score.BrierDefault) != 2 || l.BrierInterval(score.BrierDefault, 0.95) != (metrics.Interval{Low: 2, High: 2}) {
		t.Error(l.Brier(score.BrierDefault), l.BrierInterval(score.BrierDefault, 0.95))
	}
}

// TestNLLEnds has logits (0, -d) of the label 1, whose NLL is exactly d for any d this large.
func TestNLLEnds(t *testing.T) {
	end := kernel.WindowNLL.Max
	many := func(v ...float64) (w []float64) {
		for range 2*kernel.MaxSum + 3 {
			w = append(w, v...)
		}
		return w
	}
	for _, c := range []struct {
		name     string
		v        []float64
		interval bool
	}{
		{"at the end", many(end), true},
		{"below the end", many(math.Nextafter(end, 0)), true},
		{"above the end", many(math.Nextafter(end, 3000)), true},
		{"around the end", many(end-0.5, end, end+0.25, end+1, end+1.5, 100), true},
		{"1e38", many(1e38, 100, 1e30), true},
		{"1e300", many(1e300, 100, 1e38), false},
		{"largest", []float64{math.MaxFloat64, math.MaxFloat64, 100}, false},
	} {
		n := len(c.v)
		p := &metrics.Predictions{Kind: metrics.Logits, Labels: make([]int32, n)}
		for i, d := range c.v {
			p.F64 = append(p.F64, 0, -d)
			p.Labels[i] = 1
		}
		p.Rows, p.Classes = n, 2
		l := metrics.Must(score.NewLoss(nil))
		feed(t, p, nil, l)
		want := bigMean(c.v)
		if l.NLL() != want || l.FiniteNLL() != want || l.InfiniteRows() != 0 {
			t.Errorf("%s: %v, %v, want %v", c.name, l.NLL(), l.FiniteNLL(), want)
		}
		if i := l.NLLInterval(0.95); c.interval != (i.Low <= want && i.High >= want) || !c.interval && i.Low == i.Low {
			t.Errorf("%s: interval %v of %v", c.name, i, want)
		}
		// A weight beside which nothing changes, and one that takes products beyond float64.
		for _, w := range []float64{1, 0x1p-32, 0x1p32} {
			p.Weights = make([]float64, n)
			for i := range p.Weights {
				p.Weights[i] = w
			}
			l := metrics.Must(score.NewLoss(nil))
			feed(t, p, nil, l)
			if !(math.Abs(l.NLL()/want-1) < 1e-15) {
				t.Errorf("%s, weights %v: %v, want %v", c.name, w, l.NLL(), want)
			}
		}
	}
}

func TestNLLFloat32(t *testing.T) {
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: []int32{1, 1, 0}}
	p.F32 = []float32{1e38, -2e38, 3e38, -3e38, 0, 0}
	p.Rows, p.Classes = 3, 2
	l := metrics.Must(score.NewLoss(nil))
	feed(t, p, nil, l)
	want := ((float64(float32(1e38)) + float64(float32(2e38))) + 2*float64(float32(3e38)) + math.Ln2) / 3
	if !near(l.NLL()/want, 1, 1e-15) {
		t.Error(l.NLL(), want)
	}
}

func TestWidestEntropy(t *testing.T) {
	const k = 262144
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: make([]int32, 3)}
	p.F64 = make([]float64, 3*k)
	p.Rows, p.Classes = 3, k
	l := metrics.Must(score.NewLoss(nil))
	feed(t, p, nil, l)
	if want := math.Log(k); !near(l.Entropy(), want, 1e-12) || !near(l.NLL(), want, 1e-12) {
		t.Error(l.Entropy(), l.NLL(), want)
	}
	if l.TopK(1) != 1 || l.Accuracy() != 1 {
		t.Error("ties go to the first")
	}
}

func TestUncheckedScores(t *testing.T) {
	v := []float64{1e30, -1e30, 0.5, 1, 0, 1e-3, math.Nextafter(1, 2), 1e140, -1e140}
	n := 700 * len(v)
	p := &metrics.Predictions{Labels: make([]int32, n)}
	p.F64 = make([]float64, n)
	var gaps []float64
	for i := range p.F64 {
		p.F64[i] = v[i%len(v)]
		p.Labels[i] = int32(i % 2)
		gaps = append(gaps, p.F64[i], -float64(p.Labels[i]))
	}
	p.Rows, p.Classes = n, 1
	b := metrics.Must(calib.NewBins(&calib.Options{Bins: 1, Event: calib.Positive}))
	feed(t, p, &metrics.Options{Unchecked: true}, b)
	if got, want := b.ECE(), math.Abs(2*bigMean(gaps)); !near(got/want, 1, 1e-12) {
		t.Errorf("%v, want %v", got, want)
	}
	bars := b.Bins(0.95)
	if got, want := bars[0].Confidence, bigMean(p.F64); math.Abs(got-want) > 1e-15*math.Abs(want)+1e-15 {
		t.Errorf("%v, want %v", got, want)
	}
	// Everything can be asked, with weights too.
	for _, w := range []float64{0, 1, 0x1p-32, 0x1p32} {
		p.Weights = nil
		if w > 0 {
			p.Weights = make([]float64, n)
			for i := range p.Weights {
				p.Weights[i] = w
			}
		}
		accs := all(1)
		feed(t, p, &metrics.Options{Unchecked: true}, accs...)
		answers(accs...)
		l := accs[0].(*score.Loss)
		if x := l.Brier(score.BrierDefault); !(x > 1e279 && x < 1e280) {
			t.Errorf("brier is %v", x)
		}
	}
	// Beyond that squares would not be finite.
	for _, x := range []float64{1.01e140, -1.01e140, math.MaxFloat64} {
		p := &metrics.Predictions{Labels: []int32{0, 1}}
		p.F64, p.Rows, p.Classes = []float64{0.5, x}, 2, 1
		err := metrics.NewPass(&metrics.Options{Unchecked: true}, all(1)...).Add(p)
		var d *metrics.DataError
		if !errors.As(err, &d) || d.Faults[0] != (metrics.Fault{Reason: metrics.OutsideUnit, Count: 1, Row: 1, Column: 0, Value: x}) {
			t.Errorf("%v: %v", x, err)
		}
	}
}

// TestManyRows merges a state with itself up to 2^62 rows.
func TestManyRows(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0}}
	p.Scores = narrow([]float64{0.75, 0.25, 0}, 3, metrics.Float64, 0)
	accs := all(3)
	pass := feed(t, p, nil, accs...)
	one := answers(accs...)
	audit := pass.Audit()
	for range 62 {
		for _, a := range accs {
			if err := a.Merge(a); err != nil {
				t.Fatal(err)
			}
		}
		if err := audit.Merge(&audit); err != nil {
			t.Fatal(err)
		}
	}
	l, b := accs[0].(*score.Loss), accs[2].(*calib.Bins)
	if l.Len() != 1<<62 || b.Len() != 1<<62 || audit.Rows != 1<<62 {
		t.Fatal(l.Len(), b.Len(), audit.Rows)
	}
	if got := []float64{l.Accuracy(), l.Confidence(), l.Brier(0), b.ECE(), b.RMSCE()}; sameBits(got, []float64{1, 0.75, 0.125, 0.25, 0.25}) != nil {
		t.Error(got)
	}
	if got := answers(l)[7]; got != one[7] {
		t.Errorf("nll is %v, was %v", got, one[7])
	}
	if i := b.Interval(0.95); !(i.Low <= 0.25 && i.High >= 0.25 && i.High-i.Low < 1e-8) {
		t.Error(i)
	}
	for _, a := range accs {
		s := state(t, a)
		e := a.Empty()
		if err := e.UnmarshalBinary(s); err != nil {
			t.Fatal(err)
		}
		sameState(t, "after a round trip", state(t, e), s)
	}
}

func TestWeightEnds(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 1, 2, 1}}
	p.Scores = narrow([]float64{0.5, 0.25, 0.25, 0.25, 0.5, 0.25, 0, 1, 0, 0.25, 0.25, 0.5}, 3, metrics.Float64, 0)
	p.Weights = []float64{0x1p-32, 0x1p32, 0x1p32, 0x1p-32}
	l, b := metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(nil))
	feed(t, p, nil, l, b)
	total := new(big.Rat).SetFloat64(0x1p-31 + 0x1p33)
	want, _ := new(big.Rat).Quo(new(big.Rat).SetFloat64(0x1p-32+0x1p32), total).Float64()
	if l.Accuracy() != want {
		t.Errorf("accuracy %.17g, want %.17g", l.Accuracy(), want)
	}
	for _, w := range []float64{math.Nextafter(0x1p-32, 0), math.Nextafter(0x1p32, 1e10), -1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, -0x1p-40} {
		p.Weights[2] = w
		accs := all(3)
		before := state(t, accs...)
		err := metrics.NewPass(nil, accs...).Add(p)
		var d *metrics.DataError
		if !errors.As(err, &d) || len(d.Faults) != 1 || d.Faults[0].Reason != metrics.BadWeight || d.Faults[0].Row != 2 || d.Faults[0].Count != 1 {
			t.Errorf("weight %v: %v", w, err)
			continue
		}
		if !strings.HasPrefix(err.Error(), "row 2: weight is ") {
			t.Error(err)
		}
		sameState(t, "after an error", state(t, accs...), before)
	}
	p.Weights[2] = math.Copysign(0, -1)
	if a := feed(t, p, nil, metrics.Must(score.NewLoss(nil))).Audit(); a.Rows != 3 || a.Absent != 1 {
		t.Errorf("%+v", a)
	}
}
