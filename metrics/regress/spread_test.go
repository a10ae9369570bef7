package regress_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// spreadOracle is the content of testdata/oracle/spread.json.gz.
type spreadOracle struct {
	Spread []struct {
		Name               string
		Error, SD, Weights []float64
		Answers            []struct {
			N         int
			Bins      [][6]float64
			ENCE, UCE float64
		}
	}
	DM []struct {
		A, B    []float64
		Answers []struct {
			Horizon            int
			Mean, Statistic, P float64
			Interval           [2]float64
			Asymptotic         float64
			AsymptoticP        float64 `json:"asymptotic_p"`
			Bartlett           bool
		}
	}
	Published []struct {
		A, B         []float64
		Statistic, P float64
	}
	Rows struct {
		Normals []struct {
			Row           []float64
			NLL, CRPS     float64
			PIT           float64
			IntervalScore map[string]float64 `json:"interval_score"`
		}
		Levels    []float64
		Quantiles []struct {
			Row           []float64
			Observed      float64
			Pinball       []float64
			IntervalScore []float64 `json:"interval_score"`
			WIS           float64
		}
		Samples []struct {
			Row             []float64
			Observed, Error float64
			AEMedian        float64 `json:"ae_median"`
			PIT             float64
		}
	}
}

func readSpreadOracle(t *testing.T) (o spreadOracle) {
	t.Helper()
	f, err := os.Open("../../testdata/oracle/spread.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&o); err != nil {
		t.Fatal(err)
	}
	return o
}

// spreadNear reports whether a is b to a relative tolerance.
func spreadNear(a, b, tol float64) bool { return math.Abs(a-b) <= tol*math.Abs(b) }

// spreadRows returns predictions of errors and standard deviations.
func spreadRows(e, sd, weights []float64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: len(e), Classes: 2}, Weights: weights}
	p.F64 = make([]float64, 0, 2*len(e))
	for i := range e {
		p.F64 = append(p.F64, e[i], sd[i])
	}
	return p
}

func spreadOf(t *testing.T, p *metrics.Predictions, o *metrics.Options) *regress.Spread {
	t.Helper()
	s := regress.NewSpread()
	if err := metrics.NewPass(o, s).Add(p); err != nil {
		t.Fatal(err)
	}
	return s
}

func spreadState(t *testing.T, s *regress.Spread) []byte {
	t.Helper()
	b, err := s.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSpreadOracle(t *testing.T) {
	cases := 0
	for _, c := range readSpreadOracle(t).Spread {
		s := spreadOf(t, spreadRows(c.Error, c.SD, c.Weights), nil)
		if !s.Exact() || s.GridStep() != 0 || s.Len() != int64(len(c.SD)) {
			t.Fatal(c.Name)
		}
		for _, a := range c.Answers {
			bins := s.Bins(a.N)
			if len(bins) != len(a.Bins) {
				t.Fatalf("%s: %d bins of %d, want %d", c.Name, len(bins), a.N, len(a.Bins))
			}
			for i, b := range bins {
				w := a.Bins[i]
				if b.Lower != w[0] || b.Upper != w[1] || float64(b.Count) != w[2] || b.Weight != w[3] ||
					!spreadNear(b.RMV, w[4], 1e-14) || !spreadNear(b.RMSE, w[5], 1e-14) {
					t.Errorf("%s: bin %d of %d is %v, want %v", c.Name, i, a.N, b, w)
				}
			}
			if v, u := s.ENCE(a.N), s.UCE(a.N); !spreadNear(v, a.ENCE, 1e-12) || !spreadNear(u, a.UCE, 1e-12) {
				t.Errorf("%s: %d bins: %v %v, want %v %v", c.Name, a.N, v, u, a.ENCE, a.UCE)
			}
			if a.N == 15 && (s.ENCE(0) != s.ENCE(15) || s.UCE(0) != s.UCE(15)) {
				t.Error("15 bins are not the default")
			}
			cases++
		}
	}
	if cases != 30 {
		t.Error(cases, "cases")
	}
}

// TestSpreadReal compares with figures of two sets of molecular properties. In one, all standard deviations are distinct,
// and the figure that comes with the set is reproduced. The other has 135 distinct ones in 13,885 rows; its figure (0.0641)
// splits equal ones in the order of the file.
func TestSpreadReal(t *testing.T) {
	dir := realSets(t)
	for name, want := range map[string]float64{"pernot_logp_10k_a_ls_gcn_test_cal": 0.09716088234887543,
		"pernot_qm9_e_test_cal": 0.07111994450007739} {
		f, err := os.Open(filepath.Join(dir, name, "table.csv"))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		var e, sd []float64
		for _, l := range lines[1:] {
			x, _ := strconv.ParseFloat(l[0], 64)
			y, _ := strconv.ParseFloat(l[1], 64)
			e, sd = append(e, x), append(sd, y)
		}
		if v := spreadOf(t, spreadRows(e, sd, nil), nil).ENCE(15); !spreadNear(v, want, 1e-14) {
			t.Errorf("%s: %.17g, want %.17g", name, v, want)
		}
	}
}

// spreadSets returns rows with different numbers and sizes of standard deviations.
func spreadSets(r *rand.Rand, n int) map[string][2][]float64 {
	sets := map[string][2][]float64{}
	add := func(name string, sd func(i int) float64, e func(i int, sd float64) float64) {
		var p [2][]float64
		for i := range n {
			s := sd(i)
			p[0], p[1] = append(p[0], e(i, s)), append(p[1], s)
		}
		sets[name] = p
	}
	normal := func(_ int, sd float64) float64 { return sd * r.NormFloat64() }
	add("few", func(int) float64 { return float64(1 + r.IntN(9)) }, normal)
	add("many", func(int) float64 { return math.Exp(r.NormFloat64()) }, normal)
	add("near", func(i int) float64 { return 1 + float64(i%5000)*0x1p-52 }, normal)
	sizes := []float64{5e-324, 1e-310, 1e-300, 1e-160, 1e-20, 1, 1e20, 1e160, 1e300, math.MaxFloat64}
	add("all sizes", func(int) float64 { return sizes[r.IntN(10)] }, func(int, float64) float64 {
		return []float64{0, 1, -1}[r.IntN(3)] * sizes[r.IntN(10)]
	})
	add("outliers", func(int) float64 { return 0.1 + float64(r.IntN(50)) }, func(_ int, sd float64) float64 {
		if r.IntN(20) == 0 {
			return sd * math.Ldexp(1, r.IntN(900))
		}
		return sd * r.NormFloat64()
	})
	return sets
}

// TestSpreadMerge checks that a state depends only on the rows, not on their order, threads, shards or the tree of merges.
func TestSpreadMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	n := check.Size(3_000, 10_000, 20_000)
	for name, set := range spreadSets(r, n) {
		for _, weighted := range []bool{false, true} {
			var w []float64
			if weighted {
				for range n {
					w = append(w, []float64{0x1p-32, 0.3, 1, 7, 0x1p32}[r.IntN(5)])
				}
			}
			one := spreadOf(t, spreadRows(set[0], set[1], w), nil)
			want := spreadState(t, one)
			threads := spreadOf(t, spreadRows(set[0], set[1], w), &metrics.Options{Threads: 3})
			if !bytes.Equal(spreadState(t, threads), want) {
				t.Errorf("%s, weighted %v: threads make another state", name, weighted)
			}
			order := r.Perm(n)
			pick := func(x []float64, from, to int) (y []float64) {
				if x == nil {
					return nil
				}
				for _, i := range order[from:to] {
					y = append(y, x[i])
				}
				return y
			}
			parts := []*regress.Spread{regress.NewSpread()}
			for from := 0; from < n; {
				to := min(n, from+1+r.IntN(3*n/10))
				s := spreadOf(t, spreadRows(pick(set[0], from, to), pick(set[1], from, to), pick(w, from, to)), nil)
				back := regress.NewSpread()
				if err := back.UnmarshalBinary(spreadState(t, s)); err != nil {
					t.Fatal(name, err)
				}
				parts, from = append(parts, back), to
			}
			for len(parts) > 1 {
				i := r.IntN(len(parts) - 1)
				if err := parts[i].Merge(parts[i+1]); err != nil {
					t.Fatal(err)
				}
				parts = slices.Delete(parts, i+1, i+2)
			}
			if !bytes.Equal(spreadState(t, parts[0]), want) {
				t.Errorf("%s, weighted %v: parts make another state", name, weighted)
			}
			// A merge with itself counts every row twice, and keeps the estimates.
			before, u := one.ENCE(8), one.UCE(8)
			if err := one.Merge(one); err != nil {
				t.Fatal(err)
			}
			if one.Len() != int64(2*n) || one.UCE(8) != u || one.ENCE(8) != before {
				t.Errorf("%s, weighted %v: twice the rows have %v and %v, want %v and %v", name, weighted,
					one.ENCE(8), one.UCE(8), before, u)
			}
		}
	}
}

// TestSpreadSizes compares the sums of all sizes with rational numbers.
func TestSpreadSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for name, set := range spreadSets(r, 1000) {
		for _, weighted := range []bool{false, true} {
			var w []float64
			if weighted {
				for range set[0] {
					w = append(w, []float64{0x1p-32, 1, 0x1p32}[r.IntN(3)])
				}
			}
			total, mv, mse := new(big.Rat), new(big.Rat), new(big.Rat)
			for i, e := range set[0] {
				c := new(big.Rat).SetInt64(1)
				if weighted {
					c.SetFloat64(w[i])
				}
				total.Add(total, c)
				x := new(big.Rat).SetFloat64(set[1][i])
				mv.Add(mv, x.Mul(x, x).Mul(x, c))
				x = new(big.Rat).SetFloat64(e)
				mse.Add(mse, x.Mul(x, x).Mul(x, c))
			}
			root := func(x *big.Rat) float64 {
				f := new(big.Float).SetPrec(200).SetRat(new(big.Rat).Quo(x, total))
				v, _ := f.Sqrt(f).Float64()
				return v
			}
			s := spreadOf(t, spreadRows(set[0], set[1], w), nil)
			b := s.Bins(1)
			if len(b) != 1 || !spreadNear(b[0].RMV, root(mv), 1e-15) || !spreadNear(b[0].RMSE, root(mse), 1e-15) {
				t.Errorf("%s, weighted %v: %v, want %v %v", name, weighted, b, root(mv), root(mse))
			}
			gap, _ := mv.Sub(mv, mse).Quo(mv, total).Float64()
			if v := s.UCE(1); v != math.Abs(gap) && !spreadNear(v, math.Abs(gap), 1e-12) {
				t.Errorf("%s, weighted %v: UCE %v, want %v", name, weighted, v, gap)
			}
		}
	}
}

// TestSpreadWeights checks that equal weights give the same as none, and that a weight of 3 equals three rows unless a bin
// begins there.
func TestSpreadWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for name, set := range spreadSets(r, 1000) {
		a := spreadOf(t, spreadRows(set[0], set[1], nil), nil)
		for _, w := range []float64{2, 0x1p-32, 0.1, 3} {
			if !check.Full() && w != 0.1 && (testing.Short() || w != 0x1p-32) {
				continue
			}
			b := spreadOf(t, spreadRows(set[0], set[1], slices.Repeat([]float64{w}, 1000)), nil)
			for _, n := range []int{1, 7, 15, 1000, 1800} {
				x, y := a.Bins(n), b.Bins(n)
				if len(x) != len(y) {
					t.Fatalf("%s, weight %v: %d bins and %d", name, w, len(x), len(y))
				}
				for i := range x {
					if x[i].Count != y[i].Count || x[i].Lower != y[i].Lower ||
						math.Abs(x[i].RMSE-y[i].RMSE) > 1e-15*x[i].RMSE+1e-12*x[i].RMV ||
						!spreadNear(x[i].RMV, y[i].RMV, 1e-15) || !spreadNear(y[i].Weight, float64(y[i].Count)*w, 1e-12) {
						t.Fatalf("%s, weight %v, bin %d of %d: %v and %v", name, w, i, n, x[i], y[i])
					}
				}
				if u, v := a.UCE(n), b.UCE(n); u != v && !spreadNear(u, v, 1e-11) {
					t.Errorf("%s, weight %v: UCE %v and %v", name, w, u, v)
				}
			}
		}
	}
}

// TestSpreadGrid has more standard deviations than cells. It checks that the cells, and the state, depend only on the whole
// set, not on order and parts, and that sums stay exact.
func TestSpreadGrid(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it has more rows than cells")
	}
	t.Run("plain", func(t *testing.T) { testSpreadGrid(t, false) })
	t.Run("weighted", func(t *testing.T) { testSpreadGrid(t, true) })
}

func testSpreadGrid(t *testing.T, weighted bool) {
	r := rand.New(rand.NewPCG(6, 6))
	const n = 300_000
	w := slices.Repeat([]float64{1}, n)
	weights := func(w []float64) []float64 {
		if weighted {
			return w
		}
		return nil
	}
	e, sd := make([]float64, n), make([]float64, n)
	for i := range e {
		sd[i] = math.Exp(0.5 * r.NormFloat64())
		if i%1000 == 0 {
			sd[i] = math.Ldexp(sd[i], r.IntN(2000)-1000)
		}
		e[i] = sd[i] * r.NormFloat64()
		if weighted {
			w[i] = 0.1 + r.Float64()
		}
	}
	one := spreadOf(t, spreadRows(e, sd, weights(w)), &metrics.Options{Threads: 1})
	want := spreadState(t, one)
	if one.Exact() || one.Cells() > regress.MaxExactSpreads || one.Cells() <= regress.MaxExactSpreads/2 || one.Len() != n {
		t.Fatal(one.Exact(), one.Cells(), one.Len())
	}
	if g := one.GridStep(); !(g > 0 && g < 1e-4) {
		t.Error("grid step", g)
	}
	total := regress.NewSpread()
	for _, cut := range [][2]int{{290_000, n}, {0, 10}, {10, 270_000}, {270_000, 290_000}} {
		x, y := slices.Clone(e[cut[0]:cut[1]]), slices.Clone(sd[cut[0]:cut[1]])
		z := slices.Clone(w[cut[0]:cut[1]])
		slices.Reverse(x)
		slices.Reverse(y)
		slices.Reverse(z)
		part := regress.NewSpread()
		if err := part.UnmarshalBinary(spreadState(t, spreadOf(t, spreadRows(x, y, weights(z)), nil))); err != nil {
			t.Fatal(err)
		}
		if err := total.Merge(part); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(spreadState(t, total), want) {
		t.Error("parts make another state")
	}
	// A bin has consecutive rows, and their sums.
	index := make([]int, n)
	for i := range index {
		index[i] = i
	}
	slices.SortFunc(index, func(a, b int) int { return cmp.Compare(sd[a], sd[b]) })
	bins := one.Bins(10)
	seen := int64(0)
	for i, b := range bins {
		rows := index[seen : seen+b.Count]
		first, last := sd[rows[0]], sd[rows[len(rows)-1]]
		if math.Abs(float64(b.Count)-n/10) > 2000 || first < b.Lower || last > b.Upper {
			t.Errorf("bin %d: %v, rows from %v to %v", i, b, first, last)
		}
		total, mv, mse := 0.0, 0.0, 0.0
		for _, r := range rows {
			x, y := sd[r]/b.Upper, e[r]/b.Upper
			total, mv, mse = total+w[r], mv+w[r]*x*x, mse+w[r]*y*y
		}
		mv, mse = mv/total, mse/total
		if !spreadNear(b.Weight, total, 1e-10) || !spreadNear(b.RMV, b.Upper*math.Sqrt(mv), 1e-10) ||
			!spreadNear(b.RMSE, b.Upper*math.Sqrt(mse), 1e-10) {
			t.Errorf("bin %d: %v, want %v and %v", i, b, b.Upper*math.Sqrt(mv), b.Upper*math.Sqrt(mse))
		}
		if i > 0 && i < 9 && math.Abs(b.RMSE/b.RMV-1) > 0.02 {
			t.Errorf("bin %d of calibrated rows: %v", i, b)
		}
		seen += b.Count
	}
	if seen != n {
		t.Error(seen, "rows")
	}
}

// TestSpreadInterval compares the intervals of RMSE with those computed from the rows, and checks their coverage.
func TestSpreadInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	const n, size = 40_000, 100
	e, sd := make([]float64, n), make([]float64, n)
	for i := range e {
		sd[i] = float64(1 + i/size)
		e[i] = sd[i] * r.NormFloat64()
	}
	bins := spreadOf(t, spreadRows(e, sd, nil), nil).Bins(n / size)
	if len(bins) != n/size {
		t.Fatal(len(bins))
	}
	covered := 0
	for i, b := range bins {
		mean, m2 := 0.0, 0.0
		for k, v := range e[i*size : (i+1)*size] {
			d := v*v - mean
			mean += d / float64(k+1)
			m2 += d * (v*v - mean)
		}
		half := metrics.Z(0.95) * math.Sqrt(m2/(size-1)/size)
		got := b.Interval(0.95)
		if !spreadNear(got.Low, math.Sqrt(mean-half), 1e-10) || !spreadNear(got.High, math.Sqrt(mean+half), 1e-10) {
			t.Fatalf("bin %d: %v, want %v to %v", i, got, math.Sqrt(mean-half), math.Sqrt(mean+half))
		}
		if got.Low <= b.RMV && b.RMV <= got.High {
			covered++
		}
	}
	if f := float64(covered) / float64(len(bins)); f < 0.88 || f > 0.97 {
		t.Errorf("%.3f are covered", f)
	}
	for name, c := range map[string]struct{ e, sd, w []float64 }{
		"one row":          {[]float64{1}, []float64{1}, nil},
		"weights":          {[]float64{1, 2}, []float64{1, 1}, []float64{1, 1}},
		"an error of 1e9":  {[]float64{1, 1e9}, []float64{1, 1}, nil},
		"far errors":       {[]float64{1, 1e200}, []float64{1, 1}, nil},
		"errors near zero": {[]float64{1e-9, 2e-9}, []float64{1, 1}, nil},
		"no errors":        {[]float64{0, 0}, []float64{1, 1}, nil},
	} {
		s := spreadOf(t, spreadRows(c.e, c.sd, c.w), nil)
		if i := s.Bins(1)[0].Interval(0.95); i.Low == i.Low || i.High == i.High {
			t.Errorf("%s: %v", name, i)
		}
	}
	s := spreadOf(t, spreadRows([]float64{0.3, 0.3, -0.3}, []float64{1, 2, 3}, nil), nil)
	if i := s.Bins(1)[0].Interval(0.9); !spreadNear(i.Low, 0.3, 1e-8) || !spreadNear(i.High, 0.3, 1e-8) {
		t.Errorf("equal errors: %v", i)
	}
}

func TestSpreadEmpty(t *testing.T) {
	s := regress.NewSpread()
	if s.Bins(3) != nil || s.ENCE(3) == s.ENCE(3) || s.UCE(0) == s.UCE(0) || s.Len() != 0 || !s.Exact() || s.Cells() != 0 {
		t.Error("an empty one answers")
	}
	o := regress.NewSpread()
	if err := o.UnmarshalBinary(spreadState(t, s)); err != nil || o.Merge(s) != nil || o.Len() != 0 {
		t.Error(err)
	}
	full := spreadOf(t, spreadRows([]float64{1}, []float64{2}, []float64{3}), nil)
	if err := s.Merge(full); err != nil || s.ENCE(1) != 0.5 || s.UCE(1) != 3 {
		t.Error(err, s.ENCE(1), s.UCE(1))
	}
	if err := s.Merge(spreadOf(t, spreadRows([]float64{1}, []float64{2}, nil), nil)); !errors.Is(err, metrics.ErrMismatch) {
		t.Error(err)
	}
	if err := s.Merge(nil); !errors.Is(err, metrics.ErrMismatch) {
		t.Error(err)
	}
	for name, f := range map[string]func(){
		"bins": func() { s.Bins(-1) },
		"kind": func() { s.AddBlock(&metrics.Block{Rows: 1, Kind: metrics.Samples}) },
	} {
		func() {
			defer func() {
				if _, ok := recover().(string); !ok {
					t.Error(name, "does not panic")
				}
			}()
			f()
		}()
	}
}

// TestSpreadDamage checks states that no rows can produce.
func TestSpreadDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for name, set := range spreadSets(r, 20) {
		for _, w := range [][]float64{nil, slices.Repeat([]float64{2}, 20)} {
			good := spreadState(t, spreadOf(t, spreadRows(set[0], set[1], w), nil))
			_, payload, _, err := exact.Open("cSPR", good)
			if err != nil {
				t.Fatal(err)
			}
			for i := range good {
				bad := slices.Clone(good)
				bad[i] ^= 1 << r.IntN(8)
				if err := new(regress.Spread).UnmarshalBinary(bad); err == nil {
					t.Fatalf("%s: byte %d changed: no error", name, i)
				}
				if err := new(regress.Spread).UnmarshalBinary(good[:i]); err == nil {
					t.Fatalf("%s: %d bytes: no error", name, i)
				}
			}
			// With a correct checksum nothing panics, and a state that is accepted is written as the same bytes.
			for range check.Size(60, 150, 500) {
				bad := slices.Clone(payload)
				for range 1 + r.IntN(2) {
					bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
				}
				if r.IntN(4) == 0 {
					bad = bad[:r.IntN(len(bad))]
				}
				sealed := exact.Seal("cSPR", 1, bad)
				s := regress.NewSpread()
				if err := s.UnmarshalBinary(sealed); err != nil {
					if s.Len() != 0 {
						t.Fatal("an error left rows")
					}
					continue
				}
				if !bytes.Equal(spreadState(t, s), sealed) {
					t.Fatalf("%s: another state than was read", name)
				}
				s.ENCE(3)
				s.UCE(3)
			}
		}
	}
}
