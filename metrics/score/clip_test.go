package score_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// TestClippedIsScikitLearns compares clipped losses with scikit-learn: the current version, and versions before 1.4, which
// divided rows by their sums.
func TestClippedIsScikitLearns(t *testing.T) {
	data, err := os.ReadFile("../../testdata/oracle/logloss.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Cases []struct {
			Classes        int
			DType          string
			Probs, Weights []float64
			Labels         []int32
			Clipped        float64
			Divided        map[string]float64
		}
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) != 12 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	for i, c := range g.Cases {
		p := &metrics.Predictions{Labels: c.Labels, Weights: c.Weights}
		p.Rows, p.Classes, p.F64 = len(c.Labels), c.Classes, c.Probs
		eps, tol := 0x1p-52, 1e-15
		if c.DType == "float32" {
			// scikit-learn rounds the logarithms to float32 too.
			p.F64, eps, tol = nil, 0x1p-23, 1e-6
			for _, v := range c.Probs {
				p.F32 = append(p.F32, float32(v))
			}
		}
		check := func(o score.NLLOptions, want float64) {
			t.Helper()
			a := metrics.Must(score.NewClipped(o))
			if err := metrics.NewPass(nil, a).Add(p); err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(a.Value()-want) <= tol*want) || a.InfiniteRows() != 0 || a.Options() != o {
				t.Errorf("case %d: %+v is %v, scikit-learn has %v", i, o, a.Value(), want)
			}
			if got, err := score.ClippedNLLRows(nil, p, o, nil); err != nil || got != a.Value() {
				t.Errorf("case %d: ClippedNLL is %v, the accumulator %v; %v", i, got, a.Value(), err)
			}
		}
		check(score.NLLOptions{Clip: eps}, c.Clipped)
		check(score.NLLOptions{Clip: eps, Rescale: score.RescaleLast}, c.Divided["auto"])
		if v, ok := c.Divided["1e-15"]; ok {
			check(score.NLLOptions{Clip: 1e-15, Rescale: score.RescaleLast}, v)
		}
	}
}

// TestClippedInterval checks that the interval is that of nll if nothing is clipped, for any least variance, and that a sum
// has none.
func TestClippedInterval(t *testing.T) {
	p := sample(50, 3, metrics.Logits)
	for _, weighted := range []bool{false, true} {
		for i := range p.Rows {
			if weighted {
				p.Weights = append(p.Weights, float64(i%4))
			}
		}
		l, c, s := metrics.Must(score.NewLoss(nil)), metrics.Must(score.NewClipped(score.NLLOptions{Clip: 1e-300})), metrics.Must(score.NewClipped(score.NLLOptions{Clip: 1e-300, Sum: true}))
		if err := metrics.NewPass(nil, l, c, s).Add(p); err != nil {
			t.Fatal(err)
		}
		for _, v0 := range []float64{0, 0.01, 30} {
			if got, want := c.IntervalAtLeast(0.9, v0), l.NLLIntervalAtLeast(0.9, v0); got != want || v0 == 0 && c.Interval(0.9) != want {
				t.Errorf("variance of at least %v: %v, nll has %v", v0, got, want)
			}
		}
		if i := s.Interval(0.9); i.Low == i.Low || !weighted && math.Abs(s.Value()-l.NLL()*float64(l.Len())) > 1e-10 {
			t.Errorf("the sum %v has the interval %v", s.Value(), i)
		}
	}
}

// FuzzClippedUnmarshal checks that a state that is read is written as the same bytes, and gives values.
func FuzzClippedUnmarshal(f *testing.F) {
	for i, o := range []score.NLLOptions{{Clip: 1e-7}, {}, {Clip: 0.25, Rescale: score.RescaleLast}, {Rescale: score.RescaleFirst, Sum: true}} {
		p := sample(7, 1+2*(i%2), metrics.Probs)
		if i > 1 {
			p.Weights = []float64{1, 2, 0x1p32, 0x1p-32, 1, 0, 1}
		}
		p.F64[1] += 3 // outside [0,1]
		a := metrics.Must(score.NewClipped(o))
		if err := metrics.NewPass(&metrics.Options{Unchecked: true}, a).Add(p); err != nil {
			f.Fatal(err)
		}
		f.Add(clippedPayload(f, a))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var a score.Clipped
		s := exact.Seal("cCLP", 1, payload)
		if err := a.UnmarshalBinary(s); err != nil {
			return
		}
		if again, err := a.AppendBinary(nil); err != nil || string(again) != string(s) {
			t.Errorf("written in another way: %v", err)
		}
		a.Value()
		a.Interval(0.95)
		if err := a.Empty().Merge(&a); err != nil {
			t.Error(err)
		}
	})
}

func clippedPayload(t testing.TB, a *score.Clipped) []byte {
	t.Helper()
	s, err := a.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, payload, _, err := exact.Open("cCLP", s)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// TestClippedRefuses checks that states that no rows can produce are rejected.
func TestClippedRefuses(t *testing.T) {
	a := metrics.Must(score.NewClipped(score.NLLOptions{Clip: 0.125}))
	if err := metrics.NewPass(nil, a).Add(sample(9, 3, metrics.Probs)); err != nil {
		t.Fatal(err)
	}
	payload := clippedPayload(t, a)
	for _, c := range []struct {
		at  int
		v   byte
		why string
	}{
		{7, 0x40, "a clip above 1/2"}, {7, 0xbf, "a clip below 0"}, {8, 3, "a rescaling that is none"}, {9, 2, "a flag"},
		{10, 0, "rows of no classes"}, {len(payload) - 8, 1, "an infinite row that no sum leaves out"},
	} {
		b := append([]byte(nil), payload...)
		b[c.at] = c.v
		before := clippedPayload(t, a)
		err := a.UnmarshalBinary(exact.Seal("cCLP", 1, b))
		if !errors.Is(err, exact.ErrDamaged) || !strings.HasPrefix(err.Error(), "score.Clipped: ") {
			t.Errorf("%s: %v", c.why, err)
		}
		if string(clippedPayload(t, a)) != string(before) {
			t.Errorf("%s: the accumulator changed", c.why)
		}
	}
}
