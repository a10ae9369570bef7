package cells_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

func sorted(t testing.TB, p *metrics.Predictions, o *cells.SortOptions) *cells.Sorted {
	t.Helper()
	s, err := cells.Sort(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// narrow returns the same rows as float32.
func narrow(p *metrics.Predictions) *metrics.Predictions {
	q := *p
	q.F64, q.F32 = nil, make([]float32, len(p.F64))
	for i, v := range p.F64 {
		q.F32[i] = float32(v)
	}
	return &q
}

// matrix returns rows of several classes, of any kind.
func matrix(seed uint64, n, classes int, kind metrics.Kind) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 2))
	p := &metrics.Predictions{Kind: kind, Labels: make([]int32, n)}
	p.Rows, p.Classes, p.F64 = n, classes, make([]float64, n*classes)
	for i := range n {
		row, sum := p.F64[i*classes:(i+1)*classes], 0.0
		sharp := 1 + 20*r.Float64()
		for j := range row {
			row[j] = math.Round(sharp * r.NormFloat64())
			sum += math.Exp(row[j])
		}
		if kind == metrics.Probs {
			for j := range row {
				row[j] = math.Exp(row[j]) / sum
			}
		}
		p.Labels[i] = int32(r.IntN(classes))
	}
	return p
}

// all returns the cells of Each.
func all(c cells.Rising) (x []cells.Cell) {
	c.Each(func(k *cells.Cell) { x = append(x, *k) })
	return x
}

func fit(c cells.Rising) []cells.Block {
	var p cells.Pool
	c.Fit(&p)
	return p.Blocks()
}

// plainFit returns a pool of every cell.
func plainFit(c cells.Rising) []cells.Block {
	var p cells.Pool
	c.Each(func(x *cells.Cell) { p.Add(cells.Block{Low: x.Low, High: x.High, N: x.Weight, Y: x.Events}) })
	return p.Blocks()
}

// same returns an error that describes the first difference of two answers.
func same(a, b cells.Rising) error {
	switch {
	case a.Count() != b.Count():
		return fmt.Errorf("%d cells and %d", a.Count(), b.Count())
	case !a.Exact() || !b.Exact() || a.Weighted() || b.Weighted():
		return errors.New("not exact, or weighted")
	case a.Outside() != b.Outside() || a.Event() != b.Event():
		return errors.New("others outside, or another event")
	case a.Gaps() != b.Gaps():
		return fmt.Errorf("gaps %+v and %+v", a.Gaps(), b.Gaps())
	case a.Pairs() != b.Pairs():
		return fmt.Errorf("pairs %+v and %+v", a.Pairs(), b.Pairs())
	case a.Squares() != b.Squares():
		return fmt.Errorf("squares %v and %v", a.Squares(), b.Squares())
	case !slices.Equal(fit(a), fit(b)):
		return errors.New("fits")
	}
	x, y := all(a), all(b)
	for i := range x {
		if x[i] != y[i] {
			return fmt.Errorf("cell %d: %+v and %+v", i, x[i], y[i])
		}
	}
	return nil
}

// TestSortedIsCells checks that sorted rows and exact cells give bit-identical answers, for any rows and any number of threads.
func TestSortedIsCells(t *testing.T) {
	sets := map[string]*metrics.Predictions{}
	for i, n := range []int{1, 2, 63, 64, 65, 129, 1000, 16384, 40000} {
		for j, values := range []int{0, 2, 7, 300, 20000} {
			if n > 1000 && (testing.Short() || !check.Full() && (i+j)%3 != 0) {
				continue
			}
			name := fmt.Sprintf("binary %d of %d", n, values)
			sets[name] = binary(uint64(n), n, values)
			sets[name+" float32"] = narrow(sets[name])
		}
	}
	for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits} {
		for _, classes := range []int{2, 3, 10} {
			name := fmt.Sprintf("%v of %d", kind, classes)
			p := matrix(5, 5000, classes, kind)
			sets[name] = p
			sets[name+" float32"] = narrow(p)
			q := *p
			q.Decisions, q.ConfidenceScores = make([]int32, q.Rows), make([]float64, q.Rows)
			for i := range q.Decisions {
				q.Decisions[i], q.ConfidenceScores[i] = int32(i%classes), float64(i)
			}
			sets[name+" decided"] = &q
		}
	}
	logits := binary(6, 3000, 400)
	logits.Kind = metrics.Logits
	for i := range logits.F64 {
		logits.F64[i] = 40 * (logits.F64[i] - 0.5)
	}
	sets["binary logits"] = logits
	sets["binary logits float32"] = narrow(logits)
	wide := narrow(binary(7, 3000, 0)) // one column of a matrix
	column := *wide
	column.F32, column.Stride = make([]float32, 3*wide.Rows), 3
	for i, v := range wide.F32 {
		column.F32[3*i] = v
	}
	sets["a column"] = &column
	decided := narrow(binary(8, 3000, 30))
	decided.Decisions = make([]int32, decided.Rows)
	for i := range decided.Decisions {
		decided.Decisions[i] = int32(i % 2)
	}
	sets["binary decided"] = decided
	for name, p := range sets {
		for _, event := range []metrics.Event{metrics.ByShape, metrics.TopLabel, metrics.Positive} {
			if event == metrics.Positive && p.Classes > 2 {
				continue
			}
			want := of(t, p, &cells.Options{Event: event})
			for _, threads := range []int{1, 3} {
				if testing.Short() && threads != 1+2*(len(name)%2) {
					continue
				}
				o := &cells.SortOptions{Event: event}
				o.Data.Threads = threads
				got := sorted(t, p, o)
				if err := same(got, want); err != nil {
					t.Errorf("%s, event %v, %d threads: %v", name, event, threads, err)
				}
				if got.Len() != want.Len() {
					t.Errorf("%s: %d rows, want %d", name, got.Len(), want.Len())
				}
				pass := metrics.NewPass(nil)
				if err := pass.Add(p); err != nil || pass.Audit() != got.Audit() {
					t.Errorf("%s: audit %+v, want %+v", name, got.Audit(), pass.Audit())
				}
			}
		}
	}
}

// walks are outcomes that are difficult for Fit and Gaps. p is the score, x the position of its row in [0,1].
var walks = map[string]func(r *rand.Rand, i int, x float64) bool{
	"calibrated":  func(r *rand.Rand, _ int, x float64) bool { return r.Float64() < x },
	"even":        func(r *rand.Rand, _ int, _ float64) bool { return r.IntN(2) == 0 },
	"reversed":    func(r *rand.Rand, _ int, x float64) bool { return r.Float64() > x },
	"all":         func(*rand.Rand, int, float64) bool { return true },
	"none":        func(*rand.Rand, int, float64) bool { return false },
	"perfect":     func(_ *rand.Rand, _ int, x float64) bool { return x > 0.5 },
	"worst":       func(_ *rand.Rand, _ int, x float64) bool { return x < 0.5 },
	"alternating": func(_ *rand.Rand, i int, _ float64) bool { return i%2 == 0 },
	"in blocks":   func(_ *rand.Rand, i int, _ float64) bool { return i/64%2 == 0 },
	"at the ends": func(_ *rand.Rand, i int, _ float64) bool { return i%64 < 1 || i%64 > 62 },
	"in blocks, shifted": func(_ *rand.Rand, i int, _ float64) bool {
		return (i+32)/64%2 == 0
	},
	"rare":  func(r *rand.Rand, _ int, _ float64) bool { return r.IntN(500) == 0 },
	"often": func(r *rand.Rand, _ int, _ float64) bool { return r.IntN(500) > 0 },
	"convex": func(_ *rand.Rand, i int, x float64) bool {
		return math.Floor(x*x*1e5) != math.Floor((x+1e-5)*(x+1e-5)*1e5)
	},
	"level": func(_ *rand.Rand, i int, _ float64) bool { return i*7/16%7 == 0 },
	"half":  func(_ *rand.Rand, i int, x float64) bool { return x > 0.3 && i%2 == 0 },
}

// TestWalks compares the fit with the plain pool, and sums and pairs with those of the rows, for various outcomes and cells of
// all sizes.
func TestWalks(t *testing.T) {
	sizes := []int{3, 64, 200, 1000, 20000}
	if check.Full() {
		sizes = append(sizes, 200000)
	}
	for name, hit := range walks {
		r := rand.New(rand.NewPCG(9, 9))
		for _, n := range sizes {
			for _, tied := range []float64{0, 0.3, 0.95, 0.9999} {
				p := &metrics.Predictions{Labels: make([]int32, n)}
				p.Rows, p.Classes, p.F64 = n, 1, make([]float64, n)
				last := 0.0
				for i := range n {
					x := (float64(i) + 0.5) / float64(n)
					if i == 0 || r.Float64() >= tied {
						last = x
					}
					if p.F64[i] = last; hit(r, i, x) {
						p.Labels[i] = 1
					}
				}
				for _, p := range []*metrics.Predictions{p, narrow(p)} {
					s := sorted(t, p, nil)
					if !slices.Equal(fit(s), plainFit(s)) {
						t.Fatalf("%s, %d rows, %v tied: another fit", name, n, tied)
					}
					if n > check.Size(200, 1000, 20000) && tied > 0 && tied < 0.99 {
						continue
					}
					if err := bySums(s); err != nil {
						t.Fatalf("%s, %d rows, %v tied: %v", name, n, tied, err)
					}
				}
			}
		}
	}
}

// TestFitOfAny compares the fit of small random sets with the plain pool.
func TestFitOfAny(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	var into cells.Sorted
	for range 3000 {
		n := 1 + r.IntN(500)
		p := &metrics.Predictions{Labels: make([]int32, n)}
		p.Rows, p.Classes, p.F32 = n, 1, make([]float32, n)
		tied, y, turns := r.Float64()*r.Float64(), int32(0), r.Float64()*r.Float64()
		low, high := float32(0), float32(1)
		switch r.IntN(3) {
		case 0:
			high = 0.01
		case 1:
			low = 0.99
		}
		for i := range n {
			if p.F32[i] = low + (high-low)*float32(i)/float32(n); i > 0 && r.Float64() < tied {
				p.F32[i] = p.F32[i-1]
			}
			if r.Float64() < turns {
				y = 1 - y
			}
			p.Labels[i] = y
		}
		s := sorted(t, p, &cells.SortOptions{Into: &into})
		if !slices.Equal(fit(s), plainFit(s)) {
			t.Fatalf("another fit of %v, %v", p.F32, p.Labels)
		}
		if err := bySums(s); err != nil {
			t.Fatalf("%v of %v, %v", err, p.F32, p.Labels)
		}
	}
}

// bySums compares gaps and pairs with integer sums over all cells.
func bySums(s *cells.Sorted) error {
	var sum, low, high, above, tied, rest, d big.Int
	events := int64(0)
	s.Each(func(x *cells.Cell) {
		y := int64(x.Events)
		near, far := int64(math.RoundToEven(min(x.P, x.Q)*0x1p51)), int64(0)
		if x.P < 0.5 {
			far = near
		} else {
			far = 1<<51 - near
		}
		sum.Add(&sum, d.Mul(big.NewInt(y), big.NewInt(1<<51)))
		sum.Sub(&sum, d.Mul(big.NewInt(x.N), big.NewInt(far)))
		if sum.Cmp(&low) < 0 {
			low.Set(&sum)
		}
		if sum.Cmp(&high) > 0 {
			high.Set(&sum)
		}
		above.Add(&above, d.Mul(big.NewInt(y), &rest))
		tied.Add(&tied, big.NewInt(y*(x.N-y)))
		rest.Add(&rest, big.NewInt(x.N-y))
		events += y
	})
	float := func(x *big.Int, scale float64) float64 {
		v, _ := x.Float64()
		return v * scale
	}
	g, p := s.Gaps(), s.Pairs()
	if g.Low != float(&low, 0x1p-51) || g.High != float(&high, 0x1p-51) || g.Last != float(&sum, 0x1p-51) || g.Inside != 0 {
		return fmt.Errorf("%+v, want %v to %v, last %v", g, &low, &high, &sum)
	}
	if p.Above != float(&above, 1) || p.Tied != float(&tied, 1) || p.Events != float64(events) || p.Rest != float(&rest, 1) {
		return fmt.Errorf("%+v, want %v above, %v tied", p, &above, &tied)
	}
	return nil
}

// TestSquares compares Squares and Variance with sums over the rows, within float64 precision, for all kinds of cells.
func TestSquares(t *testing.T) {
	for _, values := range []int{0, 200} {
		p := binary(31, 300000, values)
		squares, variance := 0.0, 0.0
		for i, v := range p.F64 {
			d := v - float64(p.Labels[i])
			squares += d * d
			variance += v * (1 - v)
		}
		w := *p
		w.Weights = slices.Repeat([]float64{2}, p.Rows)
		for name, c := range map[string]cells.Rising{"cells": of(t, p, nil), "sorted": sorted(t, p, nil)} {
			if got := c.Squares(); math.Abs(got-squares) > 1e-8*squares {
				t.Errorf("%s: squares %v, want %v", name, got, squares)
			}
			if got := c.Gaps(); math.Abs(got.Variance-variance) > 1e-8*variance || got.Total != 300000 {
				t.Errorf("%s: %+v, want variance %v", name, got, variance)
			}
		}
		c := of(t, &w, nil)
		if got := c.Squares(); math.Abs(got-2*squares) > 2e-8*squares {
			t.Errorf("weighted: squares %v, want %v", got, 2*squares)
		}
		g, exact := c.Gaps(), sorted(t, p, nil).Gaps()
		if !math.IsNaN(g.Variance) || g.Total != 600000 || math.Abs(g.Last-2*exact.Last) > 1e-6 {
			t.Errorf("weighted: %+v, want twice %+v", g, exact)
		}
		if g.High > 2*exact.High+1e-6 || g.Low < 2*exact.Low-1e-6 || g.High+g.Inside < 2*exact.High-1e-6 || g.Low-g.Inside > 2*exact.Low+1e-6 {
			t.Errorf("weighted: %+v does not bound twice %+v", g, exact)
		}
	}
}

// TestGapsOfGrid checks that sums inside grid cells exceed the extremes by at most Inside.
func TestGapsOfGrid(t *testing.T) {
	for seed := range uint64(4) {
		p := binary(40+seed, 300000, 0)
		for i := range p.Labels {
			if seed%2 == 1 {
				p.Labels[i] = int32(i) & 1
			}
		}
		c, s := of(t, p, nil), sorted(t, p, nil)
		if c.Exact() || !s.Exact() {
			t.Fatal("not a grid")
		}
		g, w := c.Gaps(), s.Gaps()
		if g.Last != w.Last || g.Total != w.Total || g.Low < w.Low || g.High > w.High || g.High+g.Inside < w.High || g.Low-g.Inside > w.Low {
			t.Errorf("%+v does not bound %+v", g, w)
		}
		a, b := c.Pairs(), s.Pairs()
		if a.Events != b.Events || a.Rest != b.Rest || a.Above > b.Above || a.Above+a.Tied < b.Above+b.Tied {
			t.Errorf("%+v does not bound %+v", a, b)
		}
	}
}

// TestSortedMany sorts so many rows that they are sorted in parts, some of whose blocks are computed separately, and compares
// with float64. With few distinct scores, parts are long and mostly end within a block.
func TestSortedMany(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it sorts hundreds of thousands of scores at every level; TestSortedIsCells sorts fewer")
	}
	const n = 1<<18 + 12345
	for i, values := range []int{0, 2, 30, 1000} {
		if !check.Full() && values != 0 && (testing.Short() || values != 30) {
			continue
		}
		p := narrow(binary(uint64(70+i), n, values))
		q := *p
		q.F32, q.F64 = nil, make([]float64, n)
		for i, v := range p.F32 {
			q.F64[i] = float64(v)
		}
		want := sorted(t, &q, nil)
		turn := 0
		isatest.Each(t, func(t *testing.T) {
			turn++
			for j, threads := range []int{1, 3} {
				if !check.Full() && turn%2 != j {
					continue
				}
				if err := same(sorted(t, p, &cells.SortOptions{Data: metrics.Options{Threads: threads}}), want); err != nil {
					t.Errorf("%d scores, %d threads: %v", values, threads, err)
				}
			}
		})
	}
}

// TestSortedBadRows checks that bad rows are an error or left out, and that scores outside [0,1] are counted.
func TestSortedBadRows(t *testing.T) {
	for _, p := range []*metrics.Predictions{narrow(binary(50, 40000, 900)), binary(50, 40000, 900)} {
		good := *p
		good.Labels = slices.Clone(p.Labels)
		p.Labels[77], p.Labels[30000] = 2, -1
		_, err := cells.Sort(p, nil)
		want := metrics.NewPass(nil).Add(p)
		into := cells.Sorted{}
		if _, err := cells.Sort(p, &cells.SortOptions{Into: &into}); err == nil || into.Count() != 0 || into.Len() != 0 {
			t.Error("something is left of an error")
		}
		var a, b *metrics.DataError
		if !errors.As(err, &a) || !errors.As(want, &b) || a.Error() != b.Error() {
			t.Errorf("%v, want %v", err, want)
		}
		drop := metrics.Options{Drop: true}
		c := metrics.Must(cells.New(nil))
		if err := metrics.NewPass(&drop, c).Add(p); err != nil {
			t.Fatal(err)
		}
		s := sorted(t, p, &cells.SortOptions{Data: drop})
		if err := same(s, c); err != nil || s.Len() != 39998 || s.Audit().Dropped != 2 {
			t.Errorf("%v; %d rows", err, s.Len())
		}
		if good.F32 != nil {
			good.F32[5], good.F32[6] = 1.5, -0.25
		} else {
			good.F64[5], good.F64[6] = 1.5, -0.25
		}
		unchecked := metrics.Options{Unchecked: true}
		c = metrics.Must(cells.New(nil))
		if err := metrics.NewPass(&unchecked, c).Add(&good); err != nil {
			t.Fatal(err)
		}
		s = sorted(t, &good, &cells.SortOptions{Data: unchecked})
		if err := same(s, c); err != nil || s.Len() != 40000 || s.Outside() != 2 {
			t.Errorf("%v; %d rows, %d outside", err, s.Len(), s.Outside())
		}
	}
	p := binary(51, 10, 0)
	p.Weights = slices.Repeat([]float64{1}, 10)
	if _, err := cells.Sort(p, nil); err == nil {
		t.Error("weights were taken")
	}
	p.Weights = nil
	for classes, event := range map[int]metrics.Event{1: metrics.AllClasses, 3: metrics.Positive} {
		if s, err := cells.Sort(matrix(52, 10, classes, metrics.Probs), &cells.SortOptions{Event: event}); s != nil || err == nil {
			t.Errorf("event %v of %d classes was taken", event, classes)
		}
	}
}

// TestSortedEmpty checks that no rows give no cells.
func TestSortedEmpty(t *testing.T) {
	p := &metrics.Predictions{}
	p.Classes = 1
	s := sorted(t, p, nil)
	if s.Count() != 0 || s.Gaps() != (cells.Gaps{}) || s.Pairs() != (cells.Pairs{}) || s.Squares() != 0 || len(fit(s)) != 0 || all(s) != nil {
		t.Error("something of nothing")
	}
}

// TestSortInto checks that Into receives the result and reuses its memory.
func TestSortInto(t *testing.T) {
	var into cells.Sorted
	for _, n := range []int{5000, 300, 7000, 40} {
		for _, p := range []*metrics.Predictions{binary(60, n, 0), narrow(binary(61, n, 50))} {
			s := sorted(t, p, &cells.SortOptions{Into: &into})
			if err := same(s, of(t, p, nil)); err != nil || s != &into {
				t.Errorf("%d rows: %v", n, err)
			}
		}
	}
	p := narrow(binary(62, 300000, 0))
	o := &cells.SortOptions{Into: &into}
	o.Data.Threads = 1
	sorted(t, p, o)
	if n := testing.AllocsPerRun(2, func() { sorted(t, p, o) }); n > 100 {
		t.Errorf("%v times memory is allocated", n)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	sorted(t, p, o)
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<17 {
		t.Errorf("%d bytes are allocated again", after.TotalAlloc-before.TotalAlloc)
	}
}
