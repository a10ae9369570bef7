package regress_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics/regress"
)

// TestCurveArea compares with sums over a fine grid of levels, and checks the inequality between the forms.
func TestCurveArea(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	crossed := 0
	for range 300 {
		c := regress.Curve{N: 100}
		ends := r.IntN(4)
		for p := 0.0; p < 1; p += r.Float64() / 4 {
			if p > 0 || ends&1 != 0 {
				c.Levels = append(c.Levels, p)
			}
		}
		if ends&2 != 0 {
			c.Levels = append(c.Levels, 1)
		}
		if len(c.Levels) == 0 {
			continue
		}
		for range c.Levels {
			c.Frequencies = append(c.Frequencies, r.Float64())
		}
		if r.IntN(3) == 0 { // on the diagonal
			i := r.IntN(len(c.Levels))
			c.Frequencies[i] = c.Levels[i]
		}
		x, y := slices.Clone(c.Levels), slices.Clone(c.Frequencies)
		if x[0] > 0 {
			x, y = append([]float64{0}, x...), append([]float64{0}, y...)
		}
		if x[len(x)-1] < 1 {
			x, y = append(x, 1), append(y, 1)
		}
		want, plain := 0.0, 0.0
		const steps = 4000
		for i := 1; i < len(x); i++ {
			a, b, h := y[i-1]-x[i-1], y[i]-x[i], x[i]-x[i-1]
			plain += h * (math.Abs(a) + math.Abs(b)) / 2
			for s := range steps {
				want += h / steps * math.Abs(a+(b-a)*(float64(s)+0.5)/steps)
			}
		}
		got := c.Area(regress.AreaCrossing)
		if !(math.Abs(got-want) < 1e-6) {
			t.Errorf("%v: area %v, want %v", c, got, want)
		}
		p := c.Area(regress.AreaPlain)
		if !(math.Abs(p-plain) < 1e-14) {
			t.Errorf("%v: plain area %v, want %v", c, p, plain)
		}
		if got > p*(1+1e-15) || got < p/2*(1-1e-15) {
			t.Errorf("%v: area %v, plain %v", c, got, p)
		}
		if got < p*(1-1e-9) {
			crossed++
		}
	}
	if crossed < 100 {
		t.Error("only", crossed, "curves cross the diagonal")
	}
	for _, c := range []struct {
		c           regress.Curve
		area, plain float64
	}{
		{regress.Curve{Levels: []float64{0, 1}, Frequencies: []float64{0, 1}}, 0, 0},
		{regress.Curve{Levels: []float64{0.5}, Frequencies: []float64{0.5}}, 0, 0},
		{regress.Curve{Levels: []float64{0.5}, Frequencies: []float64{1}}, 0.25, 0.25},
		{regress.Curve{Levels: []float64{0.25, 0.75}, Frequencies: []float64{0.5, 0.5}}, 0.125, 0.1875},
		{regress.Curve{Levels: []float64{0, 0.5, 1}, Frequencies: []float64{0, 0, 1}}, 0.25, 0.25},
		{regress.Curve{Levels: []float64{0, 1}, Frequencies: []float64{1, 0}}, 0.5, 1},
	} {
		if a, p := c.c.Area(regress.AreaCrossing), c.c.Area(regress.AreaPlain); a != c.area || p != c.plain {
			t.Errorf("%v: areas %v and %v, want %v and %v", c.c, a, p, c.area, c.plain)
		}
	}
}

// TestCurveFloor compares with the integral over a fine grid.
func TestCurveFloor(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 6))
	for i := range 60 {
		c := regress.Curve{N: 1 + 1000*r.Float64()}
		if i < 10 {
			c.Levels = regress.Levels(i + 1)
		} else {
			for p := r.Float64() / 5; p <= 1; p += r.Float64() / 5 {
				c.Levels = append(c.Levels, p)
			}
		}
		c.Frequencies = slices.Clone(c.Levels)
		x := append([]float64{0}, c.Levels...)
		x = append(x, 1)
		want, plain := 0.0, 0.0
		const steps = 20000
		for i := 1; i < len(x); i++ {
			p, q := x[i-1], x[i]
			plain += (q - p) * (math.Sqrt(p*(1-p)) + math.Sqrt(q*(1-q))) / 2
			for s := range steps {
				u := (float64(s) + 0.5) / steps
				v := (1-u)*(1-u)*p*(1-p) + u*u*q*(1-q) + 2*u*(1-u)*p*(1-q)
				want += (q - p) / steps * math.Sqrt(v)
			}
		}
		f := math.Sqrt(2 / math.Pi / c.N)
		if got := c.Floor(regress.AreaCrossing); !(math.Abs(got-want*f) < 1e-8*want*f+1e-16) {
			t.Errorf("%v: floor %v, want %v", c.Levels, got, want*f)
		}
		if got := c.Floor(regress.AreaPlain); !(math.Abs(got-plain*f) < 1e-13*plain*f+1e-16) {
			t.Errorf("%v: plain floor %v, want %v", c.Levels, got, plain*f)
		}
	}
	// With many levels: sqrt(2/pi) times the area under a half circle of radius 1/2.
	c := regress.Curve{Levels: regress.Levels(10000), Frequencies: regress.Levels(10000), N: 400}
	for _, f := range []regress.AreaForm{regress.AreaCrossing, regress.AreaPlain} {
		if got, want := c.Floor(f), math.Sqrt(2/math.Pi)*math.Pi/8/20; !(math.Abs(got-want) < 1e-4*want) {
			t.Errorf("floor of many levels %v, want %v", got, want)
		}
	}
}

// TestCurveCalibrated checks that the mean area of calibrated forecasts is the floor, and with LaplaceRedux's numbers below
// its 0.1.
func TestCurveCalibrated(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 6))
	runs := check.Size(200, 500, 1500)
	for _, n := range []int{50, 400} {
		for _, bins := range []int{3, 20, 100} {
			o := &regress.CalibrationOptions{Bins: bins}
			forms := []regress.AreaForm{regress.AreaCrossing, regress.AreaPlain}
			var sum, squares, floor [4]float64
			for range runs {
				c := calibrationOf(t, calibrationNormals(r, n, 0, 1), o)
				for i, k := range []regress.Curve{c.Curve(), c.Central()} {
					for j, f := range forms {
						a := k.Area(f)
						sum[2*i+j] += a
						squares[2*i+j] += a * a
						floor[2*i+j] = k.Floor(f)
					}
				}
			}
			for i, s := range sum {
				mean := s / float64(runs)
				se := math.Sqrt((squares[i]/float64(runs) - mean*mean) / float64(runs))
				// The limit for many rows is slightly off for few.
				if !(math.Abs(mean-floor[i]) < 4.5*se+0.02*floor[i]) {
					t.Errorf("%d rows, %d bins: form %d has %v +- %v on average, the floor is %v", n, bins, i, mean, se, floor[i])
				}
			}
		}
	}
	c := calibrationOf(t, calibrationNormals(r, 2000, 0, 1), &regress.CalibrationOptions{Bins: 100})
	if a := c.Curve().Area(regress.AreaPlain); !(a < 0.1 && a > 0) {
		t.Error("LaplaceRedux's test has area", a)
	}
}

// TestCurveInterval checks that the interval of a frequency covers the level if forecasts are calibrated.
func TestCurveInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	runs := 3000
	if testing.Short() {
		runs = 600
	}
	for _, weighted := range []bool{false, true} {
		covered, of := 0, 0
		for range runs {
			p := calibrationNormals(r, 80, 0, 1)
			if weighted {
				p.Weights = calibrationWeights(r, 80)
			}
			c := calibrationOf(t, p, &regress.CalibrationOptions{Bins: 6})
			for _, k := range []regress.Curve{c.Curve(), c.Central()} {
				for j := 1; j < 6; j++ {
					of++
					if i := k.Interval(j, 0.9); i.Low <= k.Levels[j] && k.Levels[j] <= i.High {
						covered++
					}
				}
			}
		}
		if share := float64(covered) / float64(of); !(math.Abs(share-0.9) < 0.02) {
			t.Errorf("weights %v: %v of the 90%% intervals cover", weighted, share)
		}
	}
}

// TestCurveShapes checks shapes of the curve. Too small a spread has too many rows in the tails, which gives an S about the
// middle; too large a spread gives the reverse. If means are too low, all frequencies are below their levels.
func TestCurveShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	const n = 20000
	for _, stated := range []float64{0.6, 1.5} {
		c := calibrationOf(t, calibrationNormals(r, n, 0, stated), nil)
		k, m := c.Curve(), c.Central()
		for j := 1; j < 20; j++ {
			d, e := k.Frequencies[j]-k.Levels[j], m.Frequencies[j]-m.Levels[j]
			if stated > 1 {
				d, e = -d, -e
			}
			if j < 10 && d < 0.005 || j > 10 && d > -0.005 || j == 10 && math.Abs(d) > 0.02 || e > -0.005 {
				t.Errorf("stated %v: off by %v and %v at %v", stated, d, e, k.Levels[j])
			}
		}
		// If forecasts are off on both sides, the area for quantiles is half that for intervals.
		a, b := k.Area(regress.AreaCrossing), m.Area(regress.AreaCrossing)
		if !(a > 20*k.Floor(regress.AreaCrossing)) || !(math.Abs(b/a-2) < 0.1) {
			t.Errorf("stated %v: areas %v and %v", stated, a, b)
		}
	}
	low := calibrationOf(t, calibrationNormals(r, n, -0.5, 1), nil).Curve()
	high := calibrationOf(t, calibrationNormals(r, n, 0.5, 1), nil).Curve()
	for j := 1; j < 20; j++ {
		if d, e := low.Frequencies[j]-low.Levels[j], high.Frequencies[j]-high.Levels[j]; d > -0.01 || e < 0.01 {
			t.Errorf("off by %v and %v at %v", d, e, low.Levels[j])
		}
	}
	// The area is then the mean of Phi(z) - Phi(z - 1/2) over all p, which is Phi(1/(2 sqrt 2)) - 1/2.
	want := math.Erf(0.25) / 2
	for _, k := range []regress.Curve{low, high} {
		if a := k.Area(regress.AreaCrossing); !(math.Abs(a-want) < 0.01) {
			t.Errorf("area %v, want %v", a, want)
		}
	}
}

func TestCurveErrors(t *testing.T) {
	c := regress.Curve{Levels: []float64{0, 0.25, 0.75, 1}, Frequencies: []float64{0.125, 0.5, 0.5, 1}, N: 8}
	if e := c.SquaredError(nil); e != 1.0/64+1.0/16+1.0/16 {
		t.Error(e)
	}
	if e := c.SquaredError([]float64{0, 2, 4, 8}); e != 6.0/16 {
		t.Error(e)
	}
	if e := c.MeanSquaredError(); e != 1.0/16 {
		t.Error(e)
	}
	if i := c.Interval(1, 0.95); !(i.Low > 0.2 && i.Low < 0.25 && i.High > 0.75 && i.High < 0.8) {
		t.Error(i)
	}
	ends := regress.Curve{Levels: []float64{0, 1}, Frequencies: []float64{0, 1}, N: 8}
	if e := ends.MeanSquaredError(); e == e {
		t.Error(e)
	}
	for name, f := range map[string]func(){
		"form":        func() { c.Area(2) },
		"floor":       func() { c.Floor(2) },
		"weights":     func() { c.SquaredError([]float64{1}) },
		"levels":      func() { regress.Levels(0) },
		"frequencies": func() { (regress.Curve{Levels: []float64{1}}).Area(regress.AreaPlain) },
	} {
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.HasPrefix(s, "regress: ") {
					t.Errorf("%s: %q", name, s)
				}
			}()
			f()
		}()
	}
}
