package recal_test

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/recal"
)

// drawn returns rows of a binary task whose scores z are logits, 48 values in [-3, 3], and whose event has the probability f(z).
func drawn(seed uint64, rows int, f func(z float64) float64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 29))
	p := &metrics.Predictions{Labels: make([]int32, rows), Kind: metrics.Logits}
	p.F64, p.Rows, p.Classes = make([]float64, rows), rows, 1
	for i := range rows {
		z := float64(r.IntN(48))/8 - 2.9375
		p.F64[i] = z
		if r.Float64() < f(z) {
			p.Labels[i] = 1
		}
	}
	return p
}

// at returns how many cuts are at most z.
func at(cuts []float64, z float64) (n int) {
	for _, c := range cuts {
		if c <= z {
			n++
		}
	}
	return n
}

func sigma(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

var binaryMethods = []recal.Method{recal.Temperature{}, recal.ETS{}, recal.Platt{}, recal.Beta{}, recal.Isotonic{}, recal.BBQ{}, recal.Histogram{EqualMass: true}}

// TestBestKnows: where the truth is one of the methods, that one is chosen, or a simpler one that noise does not tell from it: rarely, with
// these many rows. A model that is right is left as it is in most sets.
func TestBestKnows(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string
		rows int
		f    func(z float64) float64
	}{
		{"identity", []string{"none"}, 3000, sigma},
		{"temperature", []string{"temperature"}, 3000, func(z float64) float64 { return sigma(z / 2) }},
		{"platt", []string{"platt"}, 3000, func(z float64) float64 { return sigma(z/2 + 1) }},
		{"steps", []string{"isotonic"}, 8000, func(z float64) float64 {
			return []float64{0.1, 0.4, 0.8, 0.97}[at([]float64{-2.2, 0.37, 1.6}, z)]
		}},
		{"waves", []string{"bbq", "histogram(equal_mass)"}, 8000, func(z float64) float64 { // no rising map
			return []float64{0.2, 0.7, 0.3, 0.8}[at([]float64{-1.5, 0, 1.5}, z)]
		}},
	} {
		right := 0
		const sets = 20
		got := map[string]int{}
		for seed := range uint64(sets) {
			o := &recal.BestOptions{Options: recal.Options{Threads: 1 + int(seed%3)}}
			b, err := recal.Best(binaryMethods, recal.InMemory(drawn(seed, c.rows, c.f)), recal.Folds{}, o)
			if err != nil {
				t.Fatal(err)
			}
			chosen := b.Candidates[b.Chosen].Name
			got[chosen]++
			if slices.Contains(c.want, chosen) {
				right++
			}
		}
		t.Log(c.name, got)
		if right < sets-2 {
			t.Errorf("%s: %d of %d sets choose it: %v", c.name, right, sets, got)
		}
	}
}

// TestBestLosses holds the losses and their differences to those of CrossFit, of weighted rows, of classes, and of clusters.
func TestBestLosses(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, of := range []string{"binary", "weights", "classes", "clusters"} {
		p := drawn(3, 700, func(z float64) float64 { return sigma(1.7*z - 0.3) })
		methods := []recal.Method{recal.Temperature{}, recal.Platt{}, recal.Isotonic{}}
		chunk := metrics.Chunk{Predictions: *p}
		folds := recal.Folds{K: 4, Seed: 3}
		switch of {
		case "weights":
			chunk.Weights = make([]float64, p.Rows)
			for i := range chunk.Weights {
				chunk.Weights[i] = float64(r.IntN(4)) / 2
			}
		case "classes":
			methods = []recal.Method{recal.Temperature{}, recal.Vector{}, recal.Matrix{}}
			chunk.Classes, chunk.F64 = 3, make([]float64, 3*p.Rows)
			for i := range p.Rows {
				row := chunk.F64[3*i:][:3]
				for j := range row {
					row[j] = r.NormFloat64()
				}
				if chunk.Labels[i] = int32(r.IntN(3)); r.IntN(3) > 0 {
					chunk.Labels[i] = int32(slices.Index(row, slices.Max(row)))
				}
			}
		case "clusters":
			folds.Clusters = true
			for i := range p.Rows {
				chunk.Clusters = append(chunk.Clusters, int32(i/7))
			}
		}
		d := recal.OpenFunc(func() (recal.Source, error) { c := chunk; return &oneChunk{c: &c}, nil })
		b, err := recal.Best(methods, d, folds, nil)
		if err != nil {
			t.Fatal(of, err)
		}
		rows := func(d recal.Data) (l, w []float64) {
			src, err := d.Open()
			if err != nil {
				t.Fatal(err)
			}
			c, err := src.Next()
			if err != nil {
				t.Fatal(err)
			}
			m, err := score.ParseRowMetric("nll", c.Kind, c.Classes)
			if err != nil {
				t.Fatal(err)
			}
			l = make([]float64, c.Rows)
			if err := m.Rows(l, &c.Predictions, nil); err != nil {
				t.Fatal(err)
			}
			return l, c.Weights
		}
		losses, wholes := [][]float64{}, [][]float64{}
		l, w := rows(d)
		losses, wholes = append(losses, l), append(wholes, l)
		for _, m := range methods {
			maps, err := recal.CrossFit(m, d, folds, nil)
			if err != nil {
				t.Fatal(err)
			}
			l, _ := rows(recal.CrossApplied(maps, d, folds))
			whole, err := m.Fit(d, nil)
			if err != nil {
				t.Fatal(err)
			}
			all := make([]recal.Map, folds.K)
			for i := range all {
				all[i] = whole
			}
			lw, _ := rows(recal.CrossApplied(all, d, folds))
			losses, wholes = append(losses, l), append(wholes, lw)
		}
		weight := func(i int) float64 {
			if w == nil {
				return 1
			}
			return w[i]
		}
		mean := func(v []float64) float64 {
			s, n := 0.0, 0.0
			for i, x := range v {
				if weight(i) > 0 {
					s += weight(i) * x
					n += weight(i)
				}
			}
			return s / n
		}
		low := b.Lowest
		for i, x := range b.Candidates {
			want := mean(losses[i])
			if i > 0 && x.Name != methods[i-1].String() || math.Abs(x.Loss-want) > 1e-12 || math.IsInf(x.Loss, 1) != math.IsInf(want, 1) {
				t.Errorf("%s %s: a loss of %v, want %v", of, x.Name, x.Loss, want)
			}
			if want < mean(losses[low]) {
				t.Errorf("%s: %s has a lower loss than %s", of, x.Name, b.Candidates[low].Name)
			}
			if math.IsInf(want, 1) {
				if x.Infinite == 0 || x.Within || !math.IsInf(x.FromLowest.Value, 1) {
					t.Errorf("%s: %+v", of, x)
				}
				continue
			}
			if i == low {
				if !x.Within || x.FromLowest.Value != 0 {
					t.Errorf("%s: the lowest is %+v", of, x)
				}
				continue
			}
			d, more := make([]float64, len(losses[i])), make([]float64, len(losses[i]))
			for k := range d {
				d[k] = losses[i][k] - losses[low][k]
				more[k] = d[k] - (wholes[i][k] - wholes[low][k])
			}
			if math.Abs(x.FromLowest.Value-mean(d)) > 1e-12 {
				t.Errorf("%s %s: %v from the lowest, want %v", of, x.Name, x.FromLowest.Value, mean(d))
			}
			if w != nil {
				continue // the error of weighted means is in the tests of paired
			}
			// The standard error of a mean, of rows or of sums of equal clusters.
			se := func(v []float64) float64 {
				size := 1
				if folds.Clusters {
					size = 7
				}
				var sums []float64
				for k := 0; k < len(v); k += size {
					s := 0.0
					for _, x := range v[k : k+size] {
						s += x
					}
					sums = append(sums, s/float64(size))
				}
				m, s := mean(v), 0.0
				for _, x := range sums {
					s += (x - m) * (x - m)
				}
				n := float64(len(sums))
				return math.Sqrt(s / n / (n - 1))
			}
			own := se(d)
			if folds.Clusters { // each fold's map widens it, that of the lowest too unless it is none
				fits := 4.0
				if low > 0 {
					fits = 8
				}
				own *= math.Sqrt(1 + fits/100)
			}
			e := math.Sqrt(own*own + 4*se(more)*se(more))
			// The quantile is Student's with unknown degrees of freedom, hence 2%, and 6% for 100 clusters, of which skewness moves one end out.
			below, above := x.FromLowest.Value-x.FromLowest.Interval.Low, x.FromLowest.Interval.High-x.FromLowest.Value
			if near, far := min(below, above), max(below, above); !(near > 1.95*e && near < 2.1*e) || far > 1.02*near && !folds.Clusters || far > 1.5*near {
				t.Errorf("%s %s: the interval is -%v +%v with a standard error of %v", of, x.Name, below, above, e)
			}
			if x.Within != (x.FromLowest.Interval.Low <= 0 && x.FromLowest.Interval.High >= 0) {
				t.Errorf("%s %s: %+v", of, x.Name, x)
			}
		}
		if of == "clusters" && b.Clusters != 100 {
			t.Errorf("%d clusters", b.Clusters)
		}
		if b.Rows != int64(p.Rows) && w == nil {
			t.Errorf("%d rows", b.Rows)
		}
	}
}

type oneChunk struct {
	c *metrics.Chunk
}

func (s *oneChunk) Close() error { return nil }

func (s *oneChunk) Next() (c *metrics.Chunk, err error) {
	if c = s.c; c == nil {
		return nil, io.EOF
	}
	s.c = nil
	return c, nil
}

// TestBestWithout: what has no fit has a reason, and what is infinite is not chosen. If all are, nothing is. Other errors end the search.
func TestBestWithout(t *testing.T) {
	p := drawn(1, 400, sigma)
	for i, z := range p.F64 { // separable, but for two rows of the score 0.0625
		p.Labels[i] = 0
		if z > 0 {
			p.Labels[i] = 1
		}
	}
	methods := []recal.Method{recal.Temperature{}, recal.Isotonic{}}
	c, err := recal.Best(methods, recal.InMemory(p), recal.Folds{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if x := c.Candidates[1]; x.Reason == "" || !math.IsNaN(x.Loss) || x.Within || c.Chosen != 2 || c.Candidates[2].Name != "isotonic" || c.Candidates[2].Loss != 0 {
		t.Errorf("%+v", c)
	}
	p = drawn(1, 400, sigma)
	for i, z := range p.F64 {
		p.F64[i] = sigma(z)
	}
	p.Kind, p.F64[3], p.Labels[3] = metrics.Probs, 1, 0
	if c, err = recal.Best(methods[:1], recal.InMemory(p), recal.Folds{}, nil); err != nil || c.Chosen != -1 || c.Lowest != -1 || c.Candidates[0].Infinite != 1 || c.Candidates[1].Infinite != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	p.Labels[5] = 7
	if _, err = recal.Best(methods, recal.InMemory(p), recal.Folds{}, nil); err == nil {
		t.Error("a label of 7 is none of a binary task")
	}
}

// TestParameters: the free numbers of the maps of three classes and of a binary task.
func TestParameters(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	p := &metrics.Predictions{Labels: make([]int32, 300), Kind: metrics.Logits}
	p.Rows, p.Classes, p.F64 = 300, 3, make([]float64, 900)
	for i := range p.F64 {
		p.F64[i] = r.NormFloat64()
	}
	for i := range p.Labels {
		p.Labels[i] = int32(r.IntN(3))
	}
	for m, want := range map[recal.Method]int{recal.Temperature{}: 1, recal.ETS{}: 3, recal.Vector{}: 5, recal.Matrix{}: 8, recal.Platt{}: 6, recal.Beta{}: 9, recal.Platt{TopLabel: true}: 2} {
		f, err := m.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(m, err)
		}
		if got := recal.Parameters(f); got != want {
			t.Errorf("%s: %d, want %d", m, got, want)
		}
	}
	one := drawn(4, 2000, sigma)
	f, err := recal.Isotonic{}.Fit(recal.InMemory(one), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, y := f.(*recal.CurveMap).Points(0)
	if got := recal.Parameters(f); got != len(y) {
		t.Errorf("isotonic: %d of %d blocks", got, len(y))
	}
	if f, err = (recal.Histogram{EqualMass: true}).Fit(recal.InMemory(one), nil); err != nil || recal.Parameters(f) != 15 {
		t.Errorf("histogram: %d of 15 bins, %v", recal.Parameters(f), err)
	}
	if n := recal.Parameters(recal.NewTemperature(1, 3)); n != 0 {
		t.Errorf("a temperature of 1 has %d", n)
	}
}

// TestBestReal: what Best chooses on real sets, and which loss is the lowest. docs/recalibration.md and docs/which-one.md say why.
func TestBestReal(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	binary := []recal.Method{recal.Temperature{}, recal.ETS{}, recal.Platt{}, recal.Beta{}, recal.Isotonic{}, recal.VennAbers{}, recal.BBQ{}}
	classes := append([]recal.Method{recal.Vector{}, recal.Matrix{}, recal.Dirichlet{OffDiagonal: 1, Bias: 1}}, binary...)
	for _, c := range []struct {
		set, chosen, lowest string
		methods             []recal.Method
	}{
		{"netcal_c10_wrn16_4", "vector", "dirichlet(off_diagonal=1,bias=1)", classes},
		{"fte_march_madness_in_game", "venn_abers", "venn_abers", binary},
		{"labelerr_20news", "bbq", "venn_abers", binary}, // 61 rows have probability 0, which both alone make larger
	} {
		d := recal.OpenFunc(func() (recal.Source, error) {
			return predictions.Open([]string{filepath.Join(dir, c.set, "probs.npy")}, &predictions.Options{Labels: []string{filepath.Join(dir, c.set, "labels.npy")}})
		})
		b, err := recal.Best(c.methods, d, recal.Folds{}, nil)
		if err != nil {
			t.Fatal(c.set, err)
		}
		for _, x := range b.Candidates {
			t.Logf("%s %s: %d parameters, NLL %.4f, from the lowest %.4f [%.4f, %.4f]", c.set, x.Name, x.Parameters, x.Loss, x.FromLowest.Value, x.FromLowest.Interval.Low, x.FromLowest.Interval.High)
		}
		if chosen, lowest := b.Candidates[b.Chosen].Name, b.Candidates[b.Lowest].Name; chosen != c.chosen || lowest != c.lowest {
			t.Errorf("%s: %s is chosen, and %s has the lowest NLL; want %s and %s", c.set, chosen, lowest, c.chosen, c.lowest)
		}
	}
}
