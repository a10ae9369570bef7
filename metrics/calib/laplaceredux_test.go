package calib_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// laplaceCase is a case with binary scores in the golden file.
type laplaceCase struct {
	Input     string
	P         []float64
	Y         []int32
	Class0    any `json:"sharpness_class_zero"` // a number or "NaN"
	Class1    any `json:"sharpness_class_one"`
	Frequency []struct {
		Bins      int       `json:"n_bins"`
		Count     []int64   `json:"num_p_per_interval"`
		Frequency []float64 `json:"emp_avg"`
		Centre    []float64 `json:"bin_centers"`
	} `json:"empirical_frequency_binary"`
}

func laplaceCases(t *testing.T) []laplaceCase {
	var g struct{ Binary []laplaceCase }
	check.Golden(t, "../../testdata/golden", "regression_laplace.json.gz", &g)
	if len(g.Binary) != 6 {
		t.Fatalf("%d cases", len(g.Binary))
	}
	return g.Binary
}

func (c *laplaceCase) predictions() *metrics.Predictions {
	return &metrics.Predictions{Scores: metrics.Scores{F64: c.P, Rows: len(c.P), Classes: 1}, Labels: c.Y}
}

func sharpnessOf(t *testing.T, p *metrics.Predictions) binfree.ClassSharpness {
	t.Helper()
	c := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	return binfree.SharpnessOf(c)
}

// TestLaplaceReduxGolden compares with LaplaceRedux; see testdata/golden/README.md.
func TestLaplaceReduxGolden(t *testing.T) {
	compared := 0
	compare := func(input, what string, got float64, want any) {
		t.Helper()
		compared++
		w, ok := want.(float64)
		if !ok {
			w = math.NaN()
		}
		if !(near(got, w, 1e-12) || got != got && w != w) {
			t.Errorf("%s: %s is %v, want %v", input, what, got, want)
		}
	}
	for _, c := range laplaceCases(t) {
		s := sharpnessOf(t, c.predictions())
		compare(c.Input, "class 0", s.Class0, c.Class0)
		compare(c.Input, "class 1", s.Class1, c.Class1)
		for _, f := range c.Frequency {
			count, frequency, centre, err := calib.BinaryFrequency(c.predictions(), f.Bins, nil)
			if err != nil || !slices.Equal(count, f.Count) {
				t.Fatalf("%s: %d bins have %v, want %v; %v", c.Input, f.Bins, count, f.Count, err)
			}
			for i := range f.Bins {
				compare(c.Input, "frequency", frequency[i], f.Frequency[i])
				compare(c.Input, "centre", centre[i], f.Centre[i])
			}
		}
	}
	if compared != 2*6+2*6*(4+10+20) {
		t.Errorf("%d numbers", compared)
	}
}

// TestClassSharpness compares with sums over the rows, for cells of all kinds.
func TestClassSharpness(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, distinct := range []int{9, 1000, 400_000} {
		if distinct > 1000 && testing.Short() {
			continue
		}
		for _, weighted := range []bool{false, true} {
			n := max(2000, distinct)
			p := &metrics.Predictions{Scores: metrics.Scores{F64: make([]float64, n), Rows: n, Classes: 1}, Labels: make([]int32, n)}
			var sum, squares, weight [2]float64
			for i := range n {
				v := float64(r.IntN(distinct+1)) / float64(distinct)
				p.F64[i], p.Labels[i] = v, int32(r.IntN(2))
				w := 1.0
				if weighted {
					w = float64(1+i%3) / 2
					p.Weights = append(p.Weights, w)
				}
				if p.Labels[i] == 0 {
					v = 1 - v
				}
				y := p.Labels[i]
				sum[y], squares[y], weight[y] = sum[y]+w*v, squares[y]+w*v*v, weight[y]+w
			}
			s := sharpnessOf(t, p)
			for y, got := range []float64{s.Class0, s.Class1} {
				mean := sum[y] / weight[y]
				if !near(got, mean, 1e-12) {
					t.Errorf("%d scores, weighted %v: class %d has %v, want %v", distinct, weighted, y, got, mean)
				}
				i := []metrics.Interval{s.Interval0(0.95), s.Interval1(0.95)}[y]
				h := 1.959963984540 * math.Sqrt((squares[y]/weight[y]-mean*mean)/(weight[y]-1))
				if weighted != (i.Low != i.Low) || !weighted && !(near(i.Low, mean-h, 1e-6) && near(i.High, mean+h, 1e-6)) {
					t.Errorf("%d scores, weighted %v: class %d has %v, want %v +- %v", distinct, weighted, y, i, mean, h)
				}
			}
			if s.Reason0 != "" || s.Reason1 != "" {
				t.Error(s)
			}
		}
	}
}

func TestClassSharpnessReasons(t *testing.T) {
	of := func(p []float64, y []int32, o *metrics.Options) binfree.ClassSharpness {
		c := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
		x := &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y}
		if err := metrics.NewPass(o, c).Add(x); err != nil {
			t.Fatal(err)
		}
		return binfree.SharpnessOf(c)
	}
	if s := of([]float64{}, nil, nil); s.Reason0 != "no rows" || s.Reason1 != "no rows" || s.Class0 == s.Class0 || s.Class1 == s.Class1 {
		t.Error(s)
	}
	s := of([]float64{0.25, 0.5}, []int32{0, 0}, nil)
	if s.Class0 != 0.625 || s.Reason0 != "" || s.Class1 == s.Class1 || s.Reason1 != "no rows of this class" {
		t.Error(s)
	}
	if i := s.Interval1(0.9); i.Low == i.Low || i.High == i.High {
		t.Error(i)
	}
	// One row has a mean but no interval. The ends of intervals are within [0,1].
	s = of([]float64{0.25, 0, 1}, []int32{0, 1, 1}, nil)
	if i := s.Interval0(0.9); s.Class0 != 0.75 || i.Low == i.Low {
		t.Error(s, i)
	}
	if i := s.Interval1(0.9); s.Class1 != 0.5 || i.Low != 0 || i.High != 1 {
		t.Error(s, i)
	}
	s = of([]float64{0.25, 1.5}, []int32{0, 1}, &metrics.Options{Unchecked: true})
	if s.Class0 == s.Class0 || s.Reason0 == "" || s.Reason0 != s.Reason1 {
		t.Error(s)
	}
	defer func() {
		if r := recover(); r != "binfree: sharpness by classes is of the positive class" {
			t.Error(r)
		}
	}()
	c := metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel}))
	if err := metrics.NewPass(nil, c).Add((&laplaceCase{P: []float64{0.5}, Y: []int32{1}}).predictions()); err != nil {
		t.Fatal(err)
	}
	binfree.SharpnessOf(c)
}

func TestBinaryFrequencyFaults(t *testing.T) {
	p := (&laplaceCase{P: []float64{0.5, math.NaN()}, Y: []int32{1, 0}}).predictions()
	if c, f, x, err := calib.BinaryFrequency(p, 2, nil); err == nil || c != nil || f != nil || x != nil {
		t.Error(c, f, x, err)
	}
	c, f, _, err := calib.BinaryFrequency(p, 2, &metrics.Options{Drop: true})
	if err != nil || !slices.Equal(c, []int64{1, 0}) || !slices.Equal(f, []float64{1, 0}) {
		t.Error(c, f, err)
	}
	for _, bins := range []int{0, 1<<18 + 1} {
		if c, _, _, err := calib.BinaryFrequency(p, bins, nil); c != nil || err == nil || !strings.Contains(err.Error(), "there are 1 to 262144 here") {
			t.Errorf("%d bins: %v", bins, err)
		}
	}
}
