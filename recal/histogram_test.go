package recal_test

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// curveGolden is what other people's code says of binary sets.
type curveGolden struct {
	Seed      int
	P, Y      []float64
	XTest     []float64 `json:"x_test"`
	Histogram []struct {
		M              int
		Upper          []float64 `json:"upper_bounds"`
		Theta, Predict []float64
		Right          struct{ Theta []*float64 } `json:"guo_right_closed"`
		Left           struct{ Theta []*float64 } `json:"guo_left_closed"`
	} `json:"histogram_binning"`
	Isotonic struct {
		Fitted  []float64 `json:"fitted_at_p"`
		X       []float64 `json:"X_thresholds"`
		Y       []float64 `json:"y_thresholds"`
		Predict []float64 `json:"predict_linear_interp"`
	}
}

func readCurveGolden(t *testing.T) []curveGolden {
	t.Helper()
	f, err := os.Open("testdata/recalibration.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Binary []curveGolden }
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		t.Fatal(err)
	}
	if len(all.Binary) != 3 {
		t.Fatalf("%d golden sets", len(all.Binary))
	}
	return all.Binary
}

func (g *curveGolden) predictions() *metrics.Predictions {
	p := &metrics.Predictions{Labels: make([]int32, len(g.Y))}
	p.Rows, p.Classes, p.F64 = len(g.P), 1, g.P
	for i, y := range g.Y {
		p.Labels[i] = int32(y)
	}
	return p
}

// curvePoints returns numbers of curve i in a map's file.
func curvePoints(t *testing.T, m recal.Map, i int, name string) []float64 {
	t.Helper()
	b, err := recal.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Parameters struct {
			Curves []map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	var x []float64
	if err := json.Unmarshal(f.Parameters.Curves[i][name], &x); err != nil {
		t.Fatal(err)
	}
	return x
}

// TestHistogramGolden: Guo's loss by both closures, and what NN_calibration makes of the sets.
func TestHistogramGolden(t *testing.T) {
	cases := 0
	for _, g := range readCurveGolden(t) {
		p := g.predictions()
		for _, h := range g.Histogram {
			for _, right := range []bool{false, true} {
				want := h.Left.Theta
				if right {
					want = h.Right.Theta
				}
				m := recal.Histogram{Bins: h.M, RightClosed: right, Empty: recal.Zero}
				got := curvePoints(t, curveFit(t, m, recal.InMemory(p), nil), 0, "values")
				if len(got) != len(want) {
					t.Fatalf("%s: %d bins", m, len(got))
				}
				for b, v := range got {
					if w := want[b]; w == nil && v != 0 || w != nil && v != *w {
						t.Errorf("set %d, %s: theta of bin %d is %v, want %v", g.Seed, m, b, v, w)
					}
				}
				cases++
			}
			m := recal.Histogram{Bins: h.M, AsCoded: true}
			f := curveFit(t, m, recal.InMemory(p), nil)
			if got := curvePoints(t, f, 0, "values"); !slices.Equal(got, h.Theta) {
				t.Errorf("set %d, %s: theta %v, want %v", g.Seed, m, got, h.Theta)
			}
			if got := curvePoints(t, f, 0, "cuts"); !slices.Equal(got, h.Upper[:h.M-1]) {
				t.Errorf("set %d, %s: edges %v, want %v", g.Seed, m, got, h.Upper)
			}
			for i, x := range g.XTest {
				if got := f.(*recal.CurveMap).Curve(0)(x); got != h.Predict[i] {
					t.Errorf("set %d, %s: %v becomes %v, want %v", g.Seed, m, x, got, h.Predict[i])
				}
			}
			cases++
		}
	}
	if cases != 27 {
		t.Errorf("%d cases", cases)
	}
}

// TestHistogramEmpty: what a bin without rows becomes.
func TestHistogramEmpty(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{1, 0}}
	p.Rows, p.Classes, p.F64 = 2, 1, []float64{0.1, 0.15}
	for e, want := range map[recal.Empty]float64{recal.Centre: 0.625, recal.Identity: 0.7, recal.Zero: 0} {
		f := curveFit(t, recal.Histogram{Bins: 4, Empty: e}, recal.InMemory(p), nil).(*recal.CurveMap)
		if got := f.Curve(0)(0.7); got != want {
			t.Errorf("%s: 0.7 becomes %v, want %v", e, got, want)
		}
		if got := f.Curve(0)(0); got != 0.5 {
			t.Errorf("%s: 0 becomes %v", e, got)
		}
	}
}

// TestHistogramWeights: theta is the exact quotient, rounded once.
func TestHistogramWeights(t *testing.T) {
	p := curveRows(4, 500, 1, metrics.Probs, false, true)
	for i := range p.Weights {
		p.Weights[i] = math.Ldexp(1+float64(i)/500, i%60-30)
	}
	got := curvePoints(t, curveFit(t, recal.Histogram{Bins: 10}, recal.InMemory(p), nil), 0, "values")
	for b, v := range got {
		n, y := new(big.Rat), new(big.Rat)
		for i, x := range p.F64 {
			if x < float64(b)*0.1 || b < 9 && x >= float64(b+1)*0.1 {
				continue
			}
			w := new(big.Rat).SetFloat64(p.Weights[i])
			if n.Add(n, w); p.Labels[i] == 1 {
				y.Add(y, w)
			}
		}
		if want, _ := y.Quo(y, n).Float64(); v != want {
			t.Errorf("bin %d: %v, want %v", b, v, want)
		}
	}
}

// TestHistogramMass: bins begin where their definition says, and are cut halfway; equal scores stay together.
func TestHistogramMass(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		for _, n := range []int{1, 2, 3, 50, 1000} {
			for _, bins := range []int{1, 2, 7, 15, 1001} {
				p := curveRows(uint64(n), n, 1, metrics.Probs, false, weighted)
				var rows []int
				sum := 0.0
				for i := range n {
					if weighted {
						p.Weights[i] = math.Round(p.Weights[i])
						sum += p.Weights[i]
					}
					if !weighted || p.Weights[i] > 0 {
						rows = append(rows, i)
					}
				}
				if len(rows) == 0 {
					continue
				}
				slices.SortStableFunc(rows, func(a, b int) int {
					if p.F64[a] < p.F64[b] {
						return -1
					}
					if p.F64[a] > p.F64[b] {
						return 1
					}
					return 0
				})
				weight := func(r int) float64 {
					if weighted {
						return p.Weights[r]
					}
					return 1
				}
				if !weighted {
					sum = float64(n)
				}
				start := map[float64]bool{}
				for j := 1; j < bins; j++ {
					rank := min(math.RoundToEven(float64(j)*(float64(len(rows))/float64(bins))), float64(len(rows)-1))
					passed := 0.0
					for _, r := range rows {
						if passed += weight(r); passed*float64(len(rows)) > sum*rank {
							start[p.F64[r]] = true
							break
						}
					}
				}
				var cuts, values []float64
				in, hit := 0.0, 0.0
				for i, r := range rows {
					x := p.F64[r]
					if i > 0 && start[x] && p.F64[rows[i-1]] != x {
						cuts, values = append(cuts, (x+p.F64[rows[i-1]])/2), append(values, hit/in)
						in, hit = 0, 0
					}
					in += weight(r)
					hit += weight(r) * float64(p.Labels[r])
				}
				values = append(values, hit/in)
				f := curveFit(t, recal.Histogram{Bins: bins, EqualMass: true}, recal.InMemory(p), nil)
				got := curvePoints(t, f, 0, "cuts")
				if gotValues := curvePoints(t, f, 0, "values"); !slices.Equal(gotValues, values) {
					t.Errorf("%d rows, %d bins, weighted %v: values %v, want %v", n, bins, weighted, gotValues, values)
				}
				if len(got) != len(cuts) {
					t.Fatalf("%d rows, %d bins, weighted %v: cuts %v, want %v", n, bins, weighted, got, cuts)
				}
				for i, c := range got {
					if math.Abs(c-cuts[i]) > 1e-15 {
						t.Errorf("%d rows, %d bins, weighted %v: cut %v, want %v", n, bins, weighted, c, cuts[i])
					}
				}
			}
		}
	}
}

// TestHistogramNeighbours: a cut between scores that have no number between them is on the right side of both.
func TestHistogramNeighbours(t *testing.T) {
	low := 0.3
	high := math.Nextafter(low, 1)
	p := &metrics.Predictions{Labels: []int32{0, 1}}
	p.Rows, p.Classes, p.F64 = 2, 1, []float64{low, high}
	for _, right := range []bool{false, true} {
		f := curveFit(t, recal.Histogram{Bins: 2, EqualMass: true, RightClosed: right}, recal.InMemory(p), nil).(*recal.CurveMap)
		if a, b := f.Curve(0)(low), f.Curve(0)(high); a != 0 || b != 1 {
			t.Errorf("right-closed %v: %v and %v", right, a, b)
		}
	}
}

func TestHistogramOptions(t *testing.T) {
	for s, ok := range map[string]bool{
		"histogram(bins=10,equal_mass,empty=zero,top_label)": true, "histogram(bins=0)": false, "histogram(bins=70000)": false,
		"histogram(empty=none)": false, "histogram(as_coded,equal_mass)": false, "histogram(equal_mass,as_coded)": false,
		"histogram(as_coded,empty=centre)": true, "histogram(right_closed=no)": false,
	} {
		if m, err := recal.Parse(s); (err == nil) != ok {
			t.Errorf("%s: %v, %v", s, m, err)
		}
	}
	if s := (recal.Histogram{Bins: 15}).String(); s != "histogram" {
		t.Error(s)
	}
	for _, m := range []recal.Histogram{{Bins: -1}, {Bins: 1<<16 + 1}, {Empty: 3}, {AsCoded: true, EqualMass: true}} {
		f, err := m.Fit(recal.InMemory(curveRows(1, 5, 1, metrics.Probs, false, false)), nil)
		if f != nil || err == nil || !strings.HasPrefix(err.Error(), "recal: ") {
			t.Errorf("%+v: %v", m, err)
		}
	}
	if s := recal.Empty(9).String(); s != "Empty(9)" {
		t.Error(s)
	}
}
