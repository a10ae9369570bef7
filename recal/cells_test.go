package recal_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/recal"
)

func cellsOf(t *testing.T, p *metrics.Predictions, e metrics.Event) *cells.Cells {
	t.Helper()
	c, err := cells.New(&cells.Options{Event: e})
	if err != nil {
		t.Fatal(err)
	}
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFitCells: the curves of cells are those of the oracle, whose rows they keep.
func TestFitCells(t *testing.T) {
	for _, c := range logisticCases(t) {
		r := cellsOf(t, logisticRows(c.P, c.Y, c.Weights), metrics.Positive)
		f, err := recal.Platt{}.FitCells(r)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		logisticClose(t, c.Name+": platt a", f.Platt().A, c.Platt.A, 1e-7)
		logisticClose(t, c.Name+": platt b", f.Platt().B, c.Platt.B, 1e-7)
		if f, err = (recal.Beta{}).FitCells(r); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		logisticClose(t, c.Name+": beta a", f.Beta().A, c.Beta.A, 1e-7)
		logisticClose(t, c.Name+": beta b", f.Beta().B, c.Beta.B, 1e-7)
		logisticClose(t, c.Name+": beta c", f.Beta().C, c.Beta.C, 1e-7)
	}
}

// bent draws n rows with scores that are too sure of themselves, more so at the upper end.
func bent(seed uint64, n int) (p []float64, y []int32) {
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		z := 1.5 * r.NormFloat64()
		q := 1 / (1 + math.Exp(-z))
		y = append(y, 0)
		if r.Float64() < q {
			y[len(y)-1] = 1
		}
		if z *= 1.4; z > 0 {
			z *= 1.3
		}
		p = append(p, 1/(1+math.Exp(-z)))
	}
	return p, y
}

// TestHeld: one step of Newton's method is close to a fit without the row, and its mean loss much closer to theirs than that of the
// rows that the curve was fitted to.
func TestHeld(t *testing.T) {
	for _, m := range []recal.CellMethod{recal.Platt{}, recal.Beta{}} {
		for seed := range uint64(4) {
			const n = 240
			p, y := bent(seed, n)
			f, err := m.FitCells(cellsOf(t, logisticRows(p, y, nil), metrics.Positive))
			if err != nil {
				t.Fatal(err)
			}
			type row struct {
				p   float64
				hit bool
			}
			held, fitted := map[row]float64{}, map[row]float64{}
			f.Each(func(x recal.Mapped) {
				held[row{x.P, x.Event}], fitted[row{x.P, x.Event}] = x.Held, x.Fitted
			})
			var loss [3]float64 // of held, left out, fitted
			worst := 0.0
			for i := range p {
				m := logisticMap(t, m, logisticRows(slices.Delete(slices.Clone(p), i, i+1), slices.Delete(slices.Clone(y), i, i+1), nil))
				k := row{p[i], y[i] == 1}
				for j, v := range []float64{held[k], m.Curve(0)(p[i]), fitted[k]} {
					if y[i] == 0 {
						v = 1 - v
					}
					loss[j] -= math.Log(v) / n
				}
				worst = math.Max(worst, math.Abs(held[k]-m.Curve(0)(p[i])))
			}
			if flatter := loss[1] - loss[2]; !(math.Abs(loss[0]-loss[1]) < 0.1*flatter) || worst > 0.01 {
				t.Errorf("%v: the loss of held rows is %v, left out %v, fitted %v; a probability differs by %v", m, loss[0], loss[1], loss[2], worst)
			}
		}
	}
}

// TestFitCellsOnGrid: rows with more scores than have a cell each.
func TestFitCellsOnGrid(t *testing.T) {
	p, y := bent(9, cells.MaxExact+20_000)
	rows := logisticRows(p, y, nil)
	r := cellsOf(t, rows, metrics.Positive)
	if r.Exact() {
		t.Fatal("the cells are exact")
	}
	f, err := recal.Platt{}.FitCells(r)
	if err != nil {
		t.Fatal(err)
	}
	want := logisticMap(t, recal.Platt{}, rows).Platt(0)
	logisticClose(t, "a", f.Platt().A, want.A, 1e-5)
	logisticClose(t, "b", f.Platt().B, want.B, 1e-5)
	n := 0.0
	f.Each(func(x recal.Mapped) { n += x.Weight })
	if n != float64(len(p)) {
		t.Errorf("%v rows of %d", n, len(p))
	}
}

func TestFitCellsOdd(t *testing.T) {
	p, y := bent(3, 400)
	w := make([]float64, len(p))
	for i := range w {
		w[i] = 1 + float64(i%3)
	}
	f, err := recal.Beta{}.FitCells(cellsOf(t, logisticRows(p, y, w), metrics.Positive))
	if err != nil {
		t.Fatal(err)
	}
	f.Each(func(x recal.Mapped) {
		if !math.IsNaN(x.Held) || math.IsNaN(x.Fitted) {
			t.Fatalf("%+v of rows with weights", x)
		}
	})
	apart := logisticRows([]float64{.1, .2, .3, .7, .8, .9}, []int32{0, 0, 0, 1, 1, 1}, nil)
	for _, m := range []recal.CellMethod{recal.Platt{}, recal.Beta{}} {
		if _, err := m.FitCells(cellsOf(t, apart, metrics.Positive)); !errors.Is(err, recal.ErrUnreachable) {
			t.Errorf("%v: %v for scores that separate the labels", m, err)
		}
	}
}
