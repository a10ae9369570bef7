package survival

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// gbsg2 reads the rows of testdata/examples with the probabilities at a time.
func gbsg2(t *testing.T, horizon int) *Rows {
	t.Helper()
	f, err := os.Open("../../testdata/examples/gbsg2.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index(lines[0], fmt.Sprintf("risk_%d", horizon))
	r := &Rows{}
	for _, l := range lines[1:] {
		at, err := strconv.ParseFloat(l[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		p, err := strconv.ParseFloat(l[column], 64)
		if err != nil {
			t.Fatal(err)
		}
		r.Times, r.Events, r.Risks = append(r.Times, at), append(r.Events, l[1] == "1"), append(r.Risks, p)
	}
	return r
}

// TestICIIsScikitSurvival compares with scikit-survival's Cox regression on the same basis, whose convergence is the tolerance. lifelines' function of
// this name is another method, and its values differ by what docs/survival.md says.
func TestICIIsScikitSurvival(t *testing.T) {
	var want struct {
		ICI []struct {
			Horizon, Knots int
			ICI            float64 `json:"ici_cox"`
			E50            float64 `json:"e50_cox"`
			E90            float64 `json:"e90_cox"`
			Max            float64 `json:"emax_cox"`
		} `json:"ici"`
		Lifelines []struct {
			Horizon  int
			ICI, E50 float64
		} `json:"ici_lifelines"`
	}
	check.Golden(t, "../../testdata/oracle", "survival.json", &want)
	if len(want.ICI) != 8 || len(want.Lifelines) != 2 {
		t.Fatalf("%d and %d cases", len(want.ICI), len(want.Lifelines))
	}
	for _, w := range want.ICI {
		c, err := ICIOf(gbsg2(t, w.Horizon), float64(w.Horizon), w.Knots)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range [][2]float64{{c.Mean, w.ICI}, {c.E50, w.E50}, {c.E90, w.E90}, {c.Max, w.Max}} {
			if !(math.Abs(x[0]-x[1]) <= 1e-9) {
				t.Errorf("%d, %d knots: %v, want %v", w.Horizon, w.Knots, x[0], x[1])
			}
		}
	}
	for _, w := range want.Lifelines {
		c, err := ICIOf(gbsg2(t, w.Horizon), float64(w.Horizon), 0)
		if err != nil {
			t.Fatal(err)
		}
		if d := math.Abs(c.Mean - w.ICI); d > 0.015 || d < 1e-4 {
			t.Errorf("%d: %v, and lifelines %v", w.Horizon, c.Mean, w.ICI)
		}
	}
}

// TestICI: what the estimate is for predictions that are right and that are off by a known curve with proportional hazards, its edge cases, and that
// it does not depend on the order of rows.
func TestICI(t *testing.T) {
	n := check.Size(4000, 20_000, 20_000)
	r := rand.New(rand.NewPCG(6, 1))
	hazards := func(p float64) float64 { return 1 - math.Pow(1-p, 0.5) } // half of the hazard
	for _, l := range []struct {
		m    func(p float64) float64
		want float64
	}{{func(p float64) float64 { return p }, 0}, {hazards, 1.0/2 - (1 - 1/1.5)}} {
		rows := (&law{m: l.m, censoring: 1.5, end: math.Inf(1)}).draw(r, n)
		c, err := ICIOf(rows, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(c.Mean-l.want) < 0.02) || !(c.E50 <= c.E90 && c.E90 <= c.Max) {
			t.Errorf("%v, want %v: %v %v %v", c.Mean, l.want, c.E50, c.E90, c.Max)
		}
		held := 0
		for _, p := range c.Curve {
			if i := p.Interval(0.95); i.Low <= l.m(p.Predicted) && l.m(p.Predicted) <= i.High {
				held++
			}
		}
		if held < 70 {
			t.Errorf("%d of 100 points of the curve hold what is true", held)
		}
		turned := &Rows{}
		for i := len(rows.Times) - 1; i >= 0; i-- {
			turned.Risks, turned.Times, turned.Events = append(turned.Risks, rows.Risks[i]), append(turned.Times, rows.Times[i]), append(turned.Events, rows.Events[i])
		}
		if o, err := ICIOf(turned, 1, 0); err != nil || o.Mean != c.Mean || o.Curve[40].Observed != c.Curve[40].Observed || math.Abs(o.Curve[40].SE-c.Curve[40].SE) > 1e-12 {
			t.Errorf("turned: %v and %v, %v", o.Mean, c.Mean, err)
		}
	}
	// Equal predictions: the share of events is Breslow's.
	same := &Rows{Risks: []float64{0.5, 0.5, 0.5, 0.5}, Times: []float64{1, 2, 3, 4}, Events: []bool{true, false, true, true}}
	want := math.Abs(1 - math.Exp(-0.25-0.5) - 0.5)
	if c, err := ICIOf(same, 3, 0); err != nil || math.Abs(c.Mean-want) > 1e-15 || len(c.Curve) != 1 {
		t.Errorf("equal predictions: %+v, want %v; %v", c, want, err)
	}
	// Weights are copies but for events at one time, of which there are none here beyond the copies.
	none := *same
	none.Events = make([]bool, 4)
	if _, err := ICIOf(&none, 3, 0); !errors.Is(err, errNoEvent) {
		t.Errorf("no event: %v", err)
	}
	if _, err := ICIOf(same, 0.5, 0); !errors.Is(err, errNoEvent) {
		t.Errorf("no event by the horizon: %v", err)
	}
	apart := &Rows{}
	for i := range 40 {
		apart.Risks, apart.Times, apart.Events = append(apart.Risks, float64(i+1)/50), append(apart.Times, float64(41-i)), append(apart.Events, i == 39)
	}
	if _, err := ICIOf(apart, 50, 2); !errors.Is(err, errNoFit) {
		t.Errorf("all events at one end: %v", err)
	}
	for _, k := range []int{1, 6, -1} {
		if _, err := ICIOf(same, 3, k); err == nil {
			t.Errorf("%d knots", k)
		}
	}
	extreme := &Rows{}
	for i := range 60 {
		extreme.Risks, extreme.Times, extreme.Events = append(extreme.Risks, float64(i%3)/2), append(extreme.Times, float64(1+i%17)), append(extreme.Events, i%4 > 0)
	}
	if c, err := ICIOf(extreme, 9, 0); err != nil || !(c.Mean >= 0 && c.Max <= 1) {
		t.Errorf("predictions of 0 and 1: %+v, %v", c, err)
	}
}

// TestICIBand compares the influence of rows on a point of the curve with numerical derivatives by weights, without events at one time.
func TestICIBand(t *testing.T) {
	rows := (&law{m: curved, censoring: 1.5, end: math.Inf(1)}).draw(rand.New(rand.NewPCG(8, 1)), 60)
	rows.Weights = make([]float64, 60)
	for i := range rows.Weights {
		rows.Weights[i] = 1 + float64(i%3)/2
	}
	at := func(r *Rows) (*cox, Estimate) {
		c := newCox(r, r.byTime(), 3)
		c.knots = []float64{-2, -0.5, 0.5} // which weights would move
		c.columns = 2
		c.x, c.mean = make([]float64, 120), make([]float64, 2)
		for i, p := range r.Risks {
			c.basis(c.x[2*i:2*i+2], cloglog(p))
		}
		if err := c.fit(); err != nil {
			t.Fatal(err)
		}
		c.baseline(1)
		c.influences(1)
		return c, c.point(0.4, 1)
	}
	_, e := at(rows)
	for i := range rows.Times {
		const eps = 1e-5
		moved := func(f float64) float64 {
			w := *rows
			w.Weights = slices.Clone(rows.Weights)
			w.Weights[i] *= f
			_, e := at(&w)
			return e.Value
		}
		if want := (moved(1+eps) - moved(1-eps)) / (2 * eps); !(math.Abs(e.Influence[i]-want) < 1e-6) {
			t.Errorf("row %d: influence %v, want %v", i, e.Influence[i], want)
		}
	}
}

func BenchmarkICI(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		rows := (&law{m: curved, censoring: 1.5, end: math.Inf(1)}).draw(rand.New(rand.NewPCG(9, 1)), n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := ICIOf(rows, 1, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
