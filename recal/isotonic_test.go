package recal_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// TestIsotonicGolden: scikit-learn's fit and thresholds, and what it predicts between them.
func TestIsotonicGolden(t *testing.T) {
	close := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 }
	for _, g := range readCurveGolden(t) {
		p := g.predictions()
		steps := curveFit(t, recal.Isotonic{}, recal.InMemory(p), nil)
		lines := curveFit(t, recal.Isotonic{Interpolate: true}, recal.InMemory(p), nil)
		for _, f := range []recal.Map{steps, lines} {
			for i, v := range curveApply(f, p) {
				if !close(v, g.Isotonic.Fitted[i]) {
					t.Errorf("set %d, %s: %v becomes %v, want %v", g.Seed, f.Method(), g.P[i], v, g.Isotonic.Fitted[i])
				}
			}
		}
		for i, x := range g.XTest {
			if got := lines.(*recal.CurveMap).Curve(0)(x); !close(got, g.Isotonic.Predict[i]) {
				t.Errorf("set %d: %v becomes %v, want %v", g.Seed, x, got, g.Isotonic.Predict[i])
			}
		}
		if x := curvePoints(t, lines, 0, "x"); !slices.Equal(x, g.Isotonic.X) {
			t.Errorf("set %d: thresholds %v, want %v", g.Seed, x, g.Isotonic.X)
		}
		if y := curvePoints(t, lines, 0, "y"); !slices.EqualFunc(y, g.Isotonic.Y, close) {
			t.Errorf("set %d: thresholds %v, want %v", g.Seed, y, g.Isotonic.Y)
		}
	}
}

// TestIsotonicMaxMin: the fit at a score is the max over starts at or below it of the min over ends at or above it of the mean.
func TestIsotonicMaxMin(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for run := range 200 {
		n := 1 + r.IntN(40)
		p := curveRows(uint64(run), n, 1, metrics.Probs, run%3 == 0, run%2 == 0)
		if run%4 == 1 {
			for i := range n { // many ties
				if p.F64 != nil {
					p.F64[i] = math.Round(p.F64[i]*5) / 5
				}
			}
		}
		score := func(i int) float64 {
			if p.F32 != nil {
				return float64(p.F32[i])
			}
			return p.F64[i]
		}
		weight := func(i int) float64 {
			if p.Weights == nil {
				return 1
			}
			return p.Weights[i]
		}
		var x []float64
		for i := range n {
			if weight(i) > 0 {
				x = append(x, score(i))
			}
		}
		if len(x) == 0 {
			continue
		}
		slices.Sort(x)
		x = slices.Compact(x)
		f := curveFit(t, recal.Isotonic{}, recal.InMemory(p), nil).(*recal.CurveMap)
		for _, at := range x {
			fit := math.Inf(-1)
			for _, from := range x {
				if from > at {
					break
				}
				least := math.Inf(1)
				for _, to := range x {
					if to < at {
						continue
					}
					w, y := 0.0, 0.0
					for i := range n {
						if v := score(i); v >= from && v <= to {
							w += weight(i)
							y += weight(i) * float64(p.Labels[i])
						}
					}
					least = min(least, y/w)
				}
				fit = max(fit, least)
			}
			if got := f.Curve(0)(at); math.Abs(got-fit) > 1e-12 {
				t.Fatalf("run %d: %v becomes %v, want %v", run, at, got, fit)
			}
		}
		// Steps begin at lowest scores; below them all is the first, beyond them all the last.
		if f.Curve(0)(0) != f.Curve(0)(x[0]) || f.Curve(0)(1) != f.Curve(0)(x[len(x)-1]) {
			t.Fatalf("run %d: the ends are other steps", run)
		}
	}
}

// curveHidden hides that predictions are in memory.
type curveHidden struct{ recal.Source }

// TestIsotonicWays: predictions in memory that are sorted at once, and the same ones read as a stream, make the same curves and errors.
func TestIsotonicWays(t *testing.T) {
	p := curveRows(11, 300_000, 1, metrics.Probs, true, false)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range p.F32 {
		if i%3 > 0 {
			p.F32[i] = r.Float32()
		}
	}
	hidden := func(p *metrics.Predictions) recal.Data {
		return recal.OpenFunc(func() (recal.Source, error) {
			s, err := recal.InMemory(p).Open()
			return curveHidden{s}, err
		})
	}
	for _, m := range []recal.Isotonic{{}, {Interpolate: true}} {
		want := curveText(t, curveFit(t, m, recal.InMemory(p), nil))
		wide := *p
		wide.F32, wide.F64 = nil, make([]float64, p.Rows)
		for i, v := range p.F32 {
			wide.F64[i] = float64(v)
		}
		for name, d := range map[string]recal.Data{"a stream": hidden(p), "float64": recal.InMemory(&wide)} {
			if got := curveText(t, curveFit(t, m, d, &recal.Options{Threads: 2})); got != want {
				t.Errorf("%s, %s: other curves", m, name)
			}
		}
	}
	f := curveFit(t, recal.Isotonic{}, recal.InMemory(p), nil)
	if fit := f.Fit(); fit != (recal.Fit{Rows: 300_000, Classes: 1, Kind: "probs", FirstLeftOut: -1, Reads: 1}) {
		t.Errorf("%+v", fit)
	}
	p.F32[7] = 1.5
	_, one := recal.Isotonic{}.Fit(recal.InMemory(p), nil)
	_, two := recal.Isotonic{}.Fit(hidden(p), nil)
	if one == nil || fmt.Sprint(one) != fmt.Sprint(two) {
		t.Errorf("errors %v and %v", one, two)
	}
}

// TestIsotonicReads: columns that do not fit at a time are read again.
func TestIsotonicReads(t *testing.T) {
	p := curveRows(3, 1000, 40, metrics.Probs, true, false)
	whole := curveFit(t, recal.Isotonic{}, recal.InMemory(p), nil)
	parts := curveFit(t, recal.Isotonic{}, recal.InMemory(p), &recal.Options{Memory: 100_000, Threads: 2})
	if a, b := whole.Fit().Reads, parts.Fit().Reads; a != 2 || b <= 2 || b > 12 {
		t.Errorf("%d and %d reads", a, b)
	}
	if curveText(t, whole) != curveText(t, parts) {
		t.Error("groups of columns have other curves")
	}
	n := 0
	changing := recal.OpenFunc(func() (recal.Source, error) {
		n++
		return &curveChunks{p: curvePick(p, make([]int, 10*n)), size: 7}, nil
	})
	if _, err := (recal.Isotonic{}).Fit(changing, nil); err == nil {
		t.Error("rows that become more are no error")
	}
	fails := recal.OpenFunc(func() (recal.Source, error) { return nil, io.ErrUnexpectedEOF })
	if _, err := (recal.Isotonic{}).Fit(fails, nil); err != io.ErrUnexpectedEOF {
		t.Errorf("error %v", err)
	}
}
