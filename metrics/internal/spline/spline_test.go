package spline

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"testing"
)

type reference struct {
	Law, Kind string
	X, Y, W   []float64
	Fits      []struct {
		S, Residual float64
		Knots       int
		At, Value   []float64
	}
}

func references(t *testing.T) []reference {
	t.Helper()
	f, err := os.Open("../../../testdata/golden/univariate_spline.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var g struct{ Data []reference }
	if err := json.NewDecoder(r).Decode(&g); err != nil {
		t.Fatal(err)
	}
	if len(g.Data) < 40 {
		t.Fatalf("only %d data sets", len(g.Data))
	}
	return g.Data
}

// The curves are those of scipy's UnivariateSpline: its knots, residual sums and values.
func TestScipy(t *testing.T) {
	fits, worst := 0, 0.0
	for _, d := range references(t) {
		p := &Points{X: d.X, Y: d.Y, W: d.W}
		s := make([]float64, len(d.Fits))
		for i := range s {
			s[i] = d.Fits[i].S
		}
		// Points that crowd leave jumps of all magnitudes, and what stops the search within a thousandth of s is rounding.
		residual, inside, outside := 1e-6, 1e-8, 1e-6
		if d.Law == "crowded" && d.Kind == "smooth" && len(d.X) >= 150 {
			residual, inside, outside = 2e-3, 0.05, math.Inf(1)
		}
		err := Smooth(p, s, func(indices []int, c *Curve) {
			for _, i := range indices {
				fits++
				want := &d.Fits[i]
				if k := len(c.knots) - 2*order; k != want.Knots {
					t.Errorf("%s %s, %d points, s = %v: %d knots, want %d", d.Law, d.Kind, len(d.X), s[i], k, want.Knots)
					continue
				}
				at := make([]float64, len(d.X))
				c.At(at, d.X)
				sum := 0.0
				for j, v := range at {
					sum += d.W[j] * d.W[j] * (v - d.Y[j]) * (v - d.Y[j])
				}
				if math.Abs(sum-want.Residual) > residual*s[i] {
					t.Errorf("%s %s, %d points, s = %v: residual sum %v, want %v", d.Law, d.Kind, len(d.X), s[i], sum, want.Residual)
				}
				got := make([]float64, len(want.At))
				c.At(got, want.At)
				for j := range got {
					e, tol := math.Abs(got[j]-want.Value[j])/math.Max(1, math.Abs(want.Value[j])), inside
					if want.At[j] < d.X[0] || want.At[j] > d.X[len(d.X)-1] {
						tol = outside
					} else if inside < 1e-6 {
						worst = math.Max(worst, e)
					}
					if !(e <= tol) {
						t.Errorf("%s %s, %d points, s = %v, at %v: %v, want %v", d.Law, d.Kind, len(d.X), s[i], want.At[j], got[j], want.Value[j])
					}
				}
			}
		})
		if err != nil {
			t.Error(d.Law, d.Kind, len(d.X), err)
		}
	}
	t.Logf("%d fits, worst %v", fits, worst)
	if fits < 300 {
		t.Errorf("only %d fits", fits)
	}
}

// Observations of one x count as one point with their sum of squared weights and what no curve can lessen: the fit is that of the
// observations apart from each other by next to nothing, as long as no knot comes between them.
func TestPointsTogether(t *testing.T) {
	var apart, one Points
	for i := range 40 {
		x := float64(i) / 40
		a, b := math.Sin(7*x), math.Sin(7*x)+0.1*float64(i%3)
		apart.X = append(apart.X, x, x+1e-12)
		apart.Y = append(apart.Y, a, b)
		apart.W = append(apart.W, 1, 2)
		one.X = append(one.X, x)
		one.W = append(one.W, math.Sqrt(5))
		m := (a + 4*b) / 5
		one.Y = append(one.Y, m)
		one.Within = append(one.Within, (a-m)*(a-m)+4*(b-m)*(b-m))
	}
	s := []float64{0.9, 2, 20}
	got, want := make([][]float64, len(s)), make([][]float64, len(s))
	at := []float64{0.01, 0.2, 0.33, 0.5, 0.77, 0.97}
	for k, p := range []*Points{&apart, &one} {
		err := Smooth(p, s, func(indices []int, c *Curve) {
			for _, i := range indices {
				v := make([]float64, len(at))
				if c.At(v, at); k == 0 {
					want[i] = v
				} else {
					got[i] = v
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range s {
		for j := range at {
			if math.Abs(got[i][j]-want[i][j]) > 0.02 {
				t.Errorf("s = %v, at %v: %v, want %v", s[i], at[j], got[i][j], want[i][j])
			}
		}
	}
}

// An s that no curve reaches gets the interpolating spline, and one above the cubic's residual sum the cubic.
func TestEnds(t *testing.T) {
	p := &Points{X: []float64{0, 1, 2, 3, 4, 5, 6}, Y: []float64{0, 1, 0, 2, 0, 1, 0}, W: []float64{1, 1, 1, 1, 1, 1, 1},
		Within: []float64{1, 1, 1, 1, 1, 1, 1}}
	seen := 0
	err := Smooth(p, []float64{0.5, 1000}, func(indices []int, c *Curve) {
		for _, i := range indices {
			seen++
			v := make([]float64, 7)
			c.At(v, p.X)
			for j := range v {
				if d := math.Abs(v[j] - p.Y[j]); i == 0 && d > 1e-12 {
					t.Errorf("at %v: %v, want %v", p.X[j], v[j], p.Y[j])
				}
			}
			if i == 1 && len(c.knots) != 2*order {
				t.Errorf("%d knots", len(c.knots))
			}
		}
	})
	if err != nil || seen != 2 {
		t.Error(err, seen)
	}
	for name, f := range map[string]func(){
		"few":   func() { Smooth(&Points{X: make([]float64, 3)}, nil, nil) },
		"short": func() { Smooth(&Points{X: make([]float64, 5), W: make([]float64, 5)}, nil, nil) },
		"at":    func() { (&Curve{}).At(nil, []float64{1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	q := &Points{X: []float64{0, 1e-310, 2e-310, 3e-310, 4e-310, 5e-310, 1}, Y: p.Y, W: p.W}
	if err := Smooth(q, []float64{0.5}, func([]int, *Curve) {}); err != nil && err != ErrClose {
		t.Error(err)
	}
}
