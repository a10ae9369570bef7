package kernel

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// A form is a matrix's type with its kernels, all taking float32 values that the type can hold.
type form struct {
	name       string
	logits     func(c *Stats, x []float32, rows, k, stride int, y []int32) uint8
	probs      func(c *Stats, x []float32, rows, k, stride int, y []int32) uint8
	eps, nll   float64 // allowed: absolute error of a column, relative error of NLL
	nllAbove   float64
	roundInput func(x []float32)
}

func toHalf(x []float32) []uint16 {
	h := make([]uint16, len(x))
	for i, v := range x {
		h[i] = f16Bits(v)
	}
	return h
}

func toBF16(x []float32) []uint16 {
	h := make([]uint16, len(x))
	for i, v := range x {
		h[i] = uint16(math.Float32bits(v) >> 16)
	}
	return h
}

// f16Bits returns the binary16 at or next below v in magnitude.
func f16Bits(v float32) uint16 {
	u := math.Float32bits(v)
	s := uint16(u >> 16 & 0x8000)
	a := math.Float32frombits(u & 0x7fffffff)
	switch {
	case a != a:
		return s | 0x7e00
	case math.IsInf(float64(a), 0):
		return s | 0x7c00
	case a >= 65504:
		return s | 0x7bff
	case a < 0x1p-14:
		return s | uint16(a*0x1p24)
	}
	b := math.Float32bits(a)
	return s | uint16(b>>23-112)<<10 | uint16(b>>13&0x3ff)
}

func widen64(x []float32) []float64 {
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = float64(v)
	}
	return d
}

var forms = []form{
	{"f32", LogitStatsF32, ProbStatsF32, 2e-6, 1e-5, 1e-12, func([]float32) {}},
	{"f64", func(c *Stats, x []float32, rows, k, stride int, y []int32) uint8 {
		return LogitStatsF64(c, widen64(x), rows, k, stride, y)
	}, func(c *Stats, x []float32, rows, k, stride int, y []int32) uint8 {
		return ProbStatsF64(c, widen64(x), rows, k, stride, y)
	}, 1e-13, 1e-12, 1e-25, func([]float32) {}},
	{"f16", func(c *Stats, x []float32, rows, k, stride int, y []int32) uint8 {
		return LogitStatsF16(c, toHalf(x), rows, k, stride, y)
	}, func(c *Stats, x []float32, rows, k, stride int, y []int32) uint8 {
		return ProbStatsF16(c, toHalf(x), rows, k, stride, y)
	}, 2e-6, 1e-5, 1e-12, func(x []float32) { WidenF16(x, toHalf(x)) }},
	{"bf16", func(c *Stats, x []float32, rows, k, stride int, y []int32) uint8 {
		return LogitStatsBF16(c, toBF16(x), rows, k, stride, y)
	}, func(c *Stats, x []float32, rows, k, stride int, y []int32) uint8 {
		return ProbStatsBF16(c, toBF16(x), rows, k, stride, y)
	}, 2e-6, 1e-5, 1e-12, func(x []float32) { WidenBF16(x, toBF16(x)) }},
}

// each calls f with every column's name and bits of row i.
func (c *Stats) each(i int, f func(name string, bits uint64)) {
	for _, v := range []struct {
		name string
		col  []float64
	}{{"Top", c.Top}, {"Tail", c.Tail}, {"Label", c.Label}, {"NLL", c.NLL}, {"Rest", c.Rest}, {"Entropy", c.Entropy},
		{"Norm", c.Norm}, {"Positive", c.Positive}} {
		if v.col != nil {
			f(v.name, math.Float64bits(v.col[i]))
		}
	}
	f("ArgMax", uint64(uint32(c.ArgMax[i])))
	if c.Rank != nil {
		f("Rank", uint64(uint32(c.Rank[i])))
	}
	f("Flags", uint64(c.Flags[i]))
}

// sameRow fails unless row i of a and row j of b have the same bits.
func sameRow(t *testing.T, what string, a *Stats, i int, b *Stats, j int) {
	t.Helper()
	type column struct {
		name string
		bits uint64
	}
	want := make([]column, 0, 11)
	b.each(j, func(n string, u uint64) { want = append(want, column{n, u}) })
	a.each(i, func(n string, u uint64) {
		for len(want) > 0 && want[0].name != n { // which a lacks
			want = want[1:]
		}
		if len(want) == 0 {
			t.Fatalf("%s: there is no %s to compare with", what, n)
		}
		if w := want[0].bits; u != w {
			t.Fatalf("%s: %s of row %d is %v (%#x), want %v", what, n, i, math.Float64frombits(u), u, math.Float64frombits(w))
		}
	})
}

// sum64 adds with a compensation (Neumaier), so that 262,144 terms keep their digits.
type sum64 struct{ s, c float64 }

func (a *sum64) add(v float64) {
	t := a.s + v
	if math.Abs(a.s) >= math.Abs(v) {
		a.c += (a.s - t) + v
	} else {
		a.c += (v - t) + a.s
	}
	a.s = t
}

func (a *sum64) val() float64 { return a.s + a.c }

// logitOracle returns the columns of one row by the formulas, with the standard library's functions.
func logitOracle(x []float32, y int32) *Stats {
	c := newStats(1)
	m, top := math.Inf(-1), 0
	for j, v := range x {
		if float64(v) > m {
			m, top = float64(v), j
		}
	}
	var s, q, h sum64
	rank := int32(0)
	for j, v := range x {
		if v > x[y] || v == x[y] && j < int(y) {
			rank++
		}
		if d := float64(v) - m; j != top && !math.IsInf(d, -1) {
			e := math.Exp(d)
			s.add(e)
			q.add(e * e)
			h.add(e * d)
		}
	}
	z, lz := 1+s.val(), math.Log1p(s.val())
	c.Top[0], c.Tail[0], c.Rest[0] = 1/z, s.val()/z, q.val()/z/z
	c.Norm[0] = m + lz
	c.Entropy[0] = lz - h.val()/z
	d := float64(x[y]) - m
	c.Label[0], c.NLL[0] = math.Exp(d)/z, lz-d
	c.ArgMax[0], c.Rank[0] = int32(top), rank
	c.Positive[0] = 0
	if len(x) == 2 {
		c.Positive[0] = 1 / (1 + math.Exp(float64(x[0])-float64(x[1])))
	}
	return c
}

func probOracle(x []float32, y int32) *Stats {
	c := newStats(1)
	m, top := math.Inf(-1), 0
	for j, v := range x {
		if float64(v) > m {
			m, top = float64(v), j
		}
	}
	var s, q, h sum64
	rank := int32(0)
	for j, v := range x {
		if v > x[y] || v == x[y] && j < int(y) {
			rank++
		}
		p := float64(v)
		s.add(p)
		if p > 0 {
			h.add(-p * math.Log(p))
		}
		if j != top {
			q.add(p * p)
		}
	}
	p := float64(x[y])
	c.Top[0], c.Tail[0], c.Rest[0], c.Norm[0], c.Entropy[0] = m, 1-m, q.val(), s.val(), h.val()
	c.Label[0], c.NLL[0] = p, math.Inf(1)
	if p > 0 {
		c.NLL[0] = -math.Log(p)
	}
	c.ArgMax[0], c.Rank[0] = int32(top), rank
	if len(x) == 2 {
		c.Positive[0] = float64(x[1])
	}
	return c
}

// hold fails unless row i of got is within f's errors of the oracle's row.
func (f *form) hold(t *testing.T, what string, got *Stats, i int, want *Stats, logits bool) {
	t.Helper()
	in := func(name string, g, w, tol float64) {
		t.Helper()
		if g != w && !(math.Abs(g-w) <= tol) {
			t.Fatalf("%s %s: %s = %v, want %v (error %.2g, allowed %.2g)", f.name, what, name, g, w, math.Abs(g-w), tol)
		}
		if g == 0 && math.Signbit(g) {
			t.Fatalf("%s %s: %s is -0", f.name, what, name)
		}
	}
	if got.ArgMax[i] != want.ArgMax[0] || got.Rank[i] != want.Rank[0] {
		t.Fatalf("%s %s: arg max %d rank %d, want %d %d", f.name, what, got.ArgMax[i], got.Rank[i], want.ArgMax[0], want.Rank[0])
	}
	w := want
	if logits {
		in("Top", got.Top[i], w.Top[0], f.eps)
		in("Tail", got.Tail[i], w.Tail[0], f.eps)
		in("Label", got.Label[i], w.Label[0], f.eps)
		in("Rest", got.Rest[i], w.Rest[0], f.eps)
		in("Norm", got.Norm[i], w.Norm[0], f.eps/2*math.Max(1, math.Abs(w.Norm[0])))
		tol := f.nll * w.NLL[0]
		if w.NLL[0] < f.nllAbove {
			tol = f.nll * f.nllAbove
		}
		in("NLL", got.NLL[i], w.NLL[0], tol)
	} else {
		in("Top", got.Top[i], w.Top[0], 0)
		in("Tail", got.Tail[i], w.Tail[0], 0)
		in("Label", got.Label[i], w.Label[0], 0)
		in("Rest", got.Rest[i], w.Rest[0], f.eps*math.Max(1, w.Rest[0]))
		in("Norm", got.Norm[i], w.Norm[0], f.eps*math.Max(1, math.Abs(w.Norm[0])))
		in("NLL", got.NLL[i], w.NLL[0], 0x1p-51*math.Abs(w.NLL[0]))
	}
	in("Entropy", got.Entropy[i], w.Entropy[0], f.eps*math.Max(1, math.Abs(w.Entropy[0])))
	if got.Positive != nil && w.Positive[0] != 0 {
		in("Positive", got.Positive[i], w.Positive[0], f.eps)
	}
}

// longRows are the lengths around blocks, and those of large vocabularies.
func longRows() []int {
	short := []int{1000, 1023, 1024, 1025, 2049, 5000}
	return sized(short, append(short, 32000, 262144), []int{1000, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 5000, 32000, 128256, 262144})
}

func allLengths() []int {
	var k []int
	for i := 1; i <= 100; i++ {
		k = append(k, i)
	}
	return append(k, longRows()...)
}

func TestLogitColumns(t *testing.T) {
	for _, f := range forms {
		for _, k := range allLengths() {
			r := check.Rand(uint64(k))
			scales := []float64{0.1, 1, 4, 20}
			if k > 10000 {
				scales = sized(nil, []float64{6}, []float64{1, 6})
			}
			rows := len(scales)
			x := make([]float32, 0, rows*k)
			y := make([]int32, rows)
			for i, s := range scales {
				x = append(x, check.Logits32(r, k, s)...)
				y[i] = int32(r.IntN(k))
			}
			f.roundInput(x)
			want := make([]*Stats, rows)
			for i := range want {
				want[i] = logitOracle(x[i*k:(i+1)*k], y[i])
			}
			eachLevel(func(level isa.Level) {
				c := newStats(rows)
				if got := f.logits(c, x, rows, k, k, y); got != 0 {
					t.Fatalf("%s k=%d isa=%v: flags %d", f.name, k, level, got)
				}
				for i, w := range want {
					f.hold(t, fmt.Sprintf("k=%d row %d isa=%v", k, i, level), c, i, w, true)
					if p := c.Top[i] + c.Tail[i]; math.Abs(p-1) > 0x1p-51 {
						t.Fatalf("%s k=%d isa=%v: top and tail make %v", f.name, k, level, p)
					}
				}
			})
		}
	}
}

func TestProbColumns(t *testing.T) {
	for _, f := range forms {
		for _, k := range allLengths() {
			r := check.Rand(uint64(k))
			rows := 4
			if k > 10000 {
				rows = sized(0, 1, 2)
			}
			x := make([]float32, 0, rows*k)
			y := make([]int32, rows)
			for i := range rows {
				x = append(x, check.SimplexRow(r, k)...)
				y[i] = int32(r.IntN(k))
			}
			f.roundInput(x)
			want := make([]*Stats, rows)
			for i := range want {
				want[i] = probOracle(x[i*k:(i+1)*k], y[i])
			}
			eachLevel(func(level isa.Level) {
				c := newStats(rows)
				if got := f.probs(c, x, rows, k, k, y); got != 0 {
					t.Fatalf("%s k=%d isa=%v: flags %d", f.name, k, level, got)
				}
				for i, w := range want {
					f.hold(t, fmt.Sprintf("k=%d row %d isa=%v", k, i, level), c, i, w, false)
				}
			})
		}
	}
}

// TestAwkwardLogits has rows whose largest element moves, ties, hides among -Inf or leaves the range of exponents.
func TestAwkwardLogits(t *testing.T) {
	inf := float32(math.Inf(-1))
	const k = 5000
	row := func(f func(j int) float32) []float32 {
		x := make([]float32, k)
		for j := range x {
			x[j] = f(j)
		}
		return x
	}
	noise := check.Logits32(check.Rand(5), k, 3)
	cases := map[string][]float32{
		"rising every block":      row(func(j int) float32 { return float32(j/1024)*30 + noise[j] }),
		"rising by thousands":     row(func(j int) float32 { return float32(j/1024)*3000 + noise[j] }),
		"rising slowly":           row(func(j int) float32 { return float32(j) * 0.001 }),
		"falling":                 row(func(j int) float32 { return -float32(j) * 0.01 }),
		"all equal":               row(func(int) float32 { return 1.25 }),
		"all 0":                   row(func(int) float32 { return 0 }),
		"-0 at the top":           row(func(j int) float32 { return float32(math.Copysign(0, -1)) - float32(j&1)*4 }),
		"one far above":           row(func(j int) float32 { return noise[j] + float32(300*b2i(j == 4321)) }),
		"first blocks -Inf":       row(func(j int) float32 { return map[bool]float32{true: inf, false: noise[j]}[j < 3000] }),
		"first blocks -1e9":       row(func(j int) float32 { return map[bool]float32{true: -1e9, false: noise[j]}[j < 3000] }),
		"first blocks -3.4e38":    row(func(j int) float32 { return map[bool]float32{true: -3.4e38, false: noise[j]}[j < 3000] }),
		"last blocks -Inf":        row(func(j int) float32 { return map[bool]float32{true: inf, false: noise[j]}[j > 1500] }),
		"all but one -Inf":        row(func(j int) float32 { return map[bool]float32{true: 2, false: inf}[j == 2500] }),
		"ties of the top":         row(func(j int) float32 { return map[bool]float32{true: 9, false: noise[j] / 4}[j%999 == 7] }),
		"+1e4":                    row(func(j int) float32 { return 1e4 + noise[j] }),
		"-1e4":                    row(func(j int) float32 { return -1e4 + noise[j] }),
		"+1e6":                    row(func(j int) float32 { return 1e6 + noise[j] }),
		"-1e6":                    row(func(j int) float32 { return -1e6 + noise[j] }),
		"+1e7":                    row(func(j int) float32 { return 1e7 + noise[j] }),
		"-1e7":                    row(func(j int) float32 { return -1e7 + noise[j] }),
		"3e38 at the end":         row(func(j int) float32 { return noise[j] + float32(b2i(j == k-1))*3e38 }),
		"3e38 at the start":       row(func(j int) float32 { return noise[j] + float32(b2i(j == 0))*3e38 }),
		"-3e38 everywhere":        row(func(j int) float32 { return -3e38 }),
		"subnormal":               row(func(j int) float32 { return float32(j%7) * 0x1p-149 }),
		"log-probabilities":       row(func(j int) float32 { return float32(-math.Log(k)) + float32(j&1)*1e-6 }),
		"confident probabilities": row(func(j int) float32 { return map[bool]float32{true: -1e-7, false: -25}[j == 77] }),
	}
	type key struct {
		name string
		n    int
		y    int32
	}
	oracles := map[key]*Stats{}
	for name, x := range cases {
		for i, n := range []int{k, 2, 7, 31, 32, 33, 1024, 2050} {
			x := x[k-n:]
			if slices.Max(x) == inf {
				continue
			}
			for d := range deal(i, sized(1, all, all), 3) {
				y := []int32{0, int32(n - 1), int32(n / 2)}[d[0]]
				oracles[key{name, n, y}] = logitOracle(x, y)
			}
		}
	}
	isatest.Each(t, func(t *testing.T) {
		for _, f := range forms[:2] {
			for at, want := range oracles {
				name, n, y := at.name, at.n, at.y
				c := newStats(1)
				if got := f.logits(c, cases[name][k-n:], 1, n, n, []int32{y}); got != 0 {
					t.Fatalf("%s %s: flags %d", f.name, name, got)
				}
				if math.IsInf(want.NLL[0], 1) != math.IsInf(c.NLL[0], 1) {
					t.Fatalf("%s %s: NLL %v, want %v", f.name, name, c.NLL[0], want.NLL[0])
				}
				f.hold(t, fmt.Sprintf("%s k=%d y=%d", name, n, y), c, 0, want, true)
			}
		}
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestFaults puts a fault at the places that a vector loop treats differently, and looks at its row and at both
// neighbours'.
func TestFaults(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	isatest.Each(t, func(t *testing.T) {
		for _, f := range forms {
			for _, k := range []int{1, 2, 3, 15, 16, 17, 31, 32, 33, 47, 64, 100, 1023, 1024, 1025, 2049} {
				good := check.SimplexRow(check.Rand(uint64(k)), k)
				f.roundInput(good)
				for _, logits := range []bool{true, false} {
					run := f.probs
					if logits {
						run = f.logits
					}
					plain := newStats(1)
					run(plain, good, 1, k, k, []int32{0})
					at := []int{0, k - 1, k / 2, k &^ 15, k&^15 - 1, min(k-1, 1023), min(k-1, 1024)}
					slices.Sort(at)
					for i, j := range slices.Compact(at) {
						if j < 0 || j >= k {
							continue
						}
						faults := []struct {
							v     float32
							y     int32
							flags uint8
						}{
							{nan, 0, FlagNotFinite}, {float32(math.Copysign(float64(nan), -1)), 0, FlagNotFinite}, {inf, 0, FlagNotFinite}, {nan, -1, FlagNotFinite | FlagBadLabel},
							{good[j], -1, FlagBadLabel}, {good[j], int32(k), FlagBadLabel}, {good[j], math.MaxInt32, FlagBadLabel},
							{good[j], math.MinInt32, FlagBadLabel}, {-inf, 0, FlagNotFinite},
						}
						for d := range deal(i, sized(4, all, all), len(faults)) {
							c := faults[d[0]]
							if logits && c.v == -inf && k > 1 {
								continue // legal
							}
							x := slices.Concat(good, good, good)
							x[k+j] = c.v
							s := newStats(3)
							got := run(s, x, 3, k, k, []int32{0, c.y, 0})
							if got != c.flags || s.Flags[1] != c.flags {
								t.Fatalf("%s k=%d logits=%v: %v at %d, label %d: flags %d %d, want %d", f.name, k, logits, c.v, j, c.y, got, s.Flags[1], c.flags)
							}
							s.each(1, func(name string, bits uint64) {
								want := uint64(0x7FF8000000000000)
								switch name {
								case "ArgMax", "Rank":
									want = uint64(uint32(math.MaxUint32))
								case "Flags":
									return
								}
								if bits != want {
									t.Fatalf("%s k=%d: %s of a faulty row is %#x", f.name, k, name, bits)
								}
							})
							if k == 2 {
								sameRow(t, "row before a fault", s, 0, plain, 0)
							}
							s.Positive, plain.Positive = nil, nil
							sameRow(t, "row before a fault", s, 0, plain, 0)
							sameRow(t, "row after a fault", s, 2, plain, 0)
							plain.Positive = make([]float64, 1)
							if k == 2 {
								run(plain, good, 1, k, k, []int32{0})
							}
						}
					}
				}
			}
			for _, k := range []int{1, 2, 16, 32, 33, 1024, 1025, 3000} { // all -Inf
				x := make([]float32, k)
				for j := range x {
					x[j] = -inf
				}
				c := newStats(1)
				if got := f.logits(c, x, 1, k, k, []int32{0}); got != FlagNotFinite {
					t.Fatalf("%s k=%d all -Inf: flags %d", f.name, k, got)
				}
			}
		}
	})
}

// TestOutside: probabilities outside [0,1] have their columns and a flag, with no NaN but the canonical one.
func TestOutside(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, f := range forms[:2] {
			for _, k := range []int{2, 20, 33, 1025, 2100} {
				for _, j := range []int{0, k - 1, k / 2} {
					for _, v := range []float32{-0.25, 1.5, math.Nextafter32(1, 2), -0x1p-149, 700, -3e38, 3e38} {
						x := make([]float32, k)
						for i := range x {
							x[i] = 1 / float32(k)
						}
						x[j] = v
						c := newStats(1)
						if got := f.probs(c, x, 1, k, k, []int32{int32(j)}); got != FlagOutside || c.Flags[0] != FlagOutside {
							t.Fatalf("%s k=%d %v: flags %d", f.name, k, v, got)
						}
						if want := probOracle(x, int32(j)); c.Top[0] != want.Top[0] || c.Tail[0] != want.Tail[0] ||
							c.Label[0] != float64(v) || v <= 0 && !math.IsInf(c.NLL[0], 1) ||
							math.Abs(c.Norm[0]-want.Norm[0]) > 2e-6*math.Max(1, math.Abs(want.Norm[0])) {
							t.Fatalf("%s k=%d %v: %v %v %v %v %v", f.name, k, v, c.Top[0], c.Tail[0], c.Label[0], c.NLL[0], c.Norm[0])
						}
					}
				}
				// Sums that overflow both ways leave a NaN in Norm: the canonical one, the same on every CPU.
				x := make([]float32, k)
				for i := range x {
					if x[i] = 3e38; i%2 == 0 {
						x[i] = -3e38
					}
				}
				c := newStats(1)
				f.probs(c, x, 1, k, k, []int32{0})
				if u := math.Float64bits(c.Norm[0]); c.Norm[0] != c.Norm[0] && u != 0x7FF8000000000000 {
					t.Fatalf("%s k=%d: Norm is the NaN %#x", f.name, k, u)
				}
			}
		}
	})
}

// TestColumnsStandAlone: a row's bits depend neither on alignment, nor on the stride, nor on the other rows, and the
// matrix, the labels and the columns may stand against memory that faults.
func TestColumnsStandAlone(t *testing.T) {
	lengths := []int{1, 2, 3, 7, 10, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 1023, 1024, 1025, 1040, 2049}
	const rows = 5
	cols := func(tail bool) *Stats {
		d := func() []float64 { return check.Guarded[float64](t, rows, tail) }
		i := func() []int32 { return check.Guarded[int32](t, rows, tail) }
		return &Stats{Top: d(), Tail: d(), Label: d(), NLL: d(), Rest: d(), Entropy: d(), Norm: d(), Positive: d(),
			ArgMax: i(), Rank: i(), Flags: check.Guarded[uint8](t, rows, tail)}
	}
	most := lengths[len(lengths)-1] + 3
	for _, tail := range []bool{true, false} {
		c := cols(tail)
		g32, g64 := check.Guarded[float32](t, rows*most, tail), check.Guarded[float64](t, rows*most, tail)
		g16, gy := check.Guarded[uint16](t, rows*most, tail), check.Guarded[int32](t, rows, tail)
		isatest.Each(t, func(t *testing.T) {
			for _, k := range lengths {
				for _, pad := range []int{0, 3} {
					stride := k + pad
					n := (rows-1)*stride + k
					r := check.Rand(uint64(k))
					x := check.Logits32(r, n, 3)
					for i := range rows {
						gy[i] = int32(r.IntN(k))
						for j := i*stride + k; j < min((i+1)*stride, n); j++ {
							x[j] = float32(math.NaN()) // between the rows
						}
					}
					s32, s64, s16 := g32[:n], g64[:n], g16[:n]
					if tail {
						s32, s64, s16 = g32[len(g32)-n:], g64[len(g64)-n:], g16[len(g16)-n:]
					}
					copy(s32, x)
					copy(s64, widen64(x))
					one := newStats(1)
					alone := func(what string, run func(c *Stats, at int, y []int32)) {
						for i := range rows {
							run(one, i*stride, gy[i:i+1])
							if k != 2 { // then Positive is not written
								one.Positive[0] = c.Positive[i]
							}
							sameRow(t, fmt.Sprintf("%s k=%d stride=%d", what, k, stride), c, i, one, 0)
						}
					}
					off := check.Offset[float32](n, (k+pad)%16)
					off64 := check.Offset[float64](n, (k+pad)%8)
					off16 := check.Offset[uint16](n, (k+pad)%32)
					copy(off, x)
					copy(off64, s64)
					for _, p := range []bool{false, true} { // the same numbers as probabilities (FlagOutside) and as logits
						if p {
							LogitStatsF32(c, s32, rows, k, stride, gy)
							alone("f32 logits", func(c *Stats, at int, y []int32) { LogitStatsF32(c, off[at:], 1, k, k, y) })
							LogitStatsF64(c, s64, rows, k, stride, gy)
							alone("f64 logits", func(c *Stats, at int, y []int32) { LogitStatsF64(c, off64[at:], 1, k, k, y) })
						} else {
							ProbStatsF32(c, s32, rows, k, stride, gy)
							alone("f32 probs", func(c *Stats, at int, y []int32) { ProbStatsF32(c, off[at:], 1, k, k, y) })
							ProbStatsF64(c, s64, rows, k, stride, gy)
							alone("f64 probs", func(c *Stats, at int, y []int32) { ProbStatsF64(c, off64[at:], 1, k, k, y) })
						}
						for _, bf := range []bool{true, false} {
							h := toHalf(x)
							run := LogitStatsF16
							switch {
							case bf && p:
								h, run = toBF16(x), LogitStatsBF16
							case bf:
								h, run = toBF16(x), ProbStatsBF16
							case !p:
								run = ProbStatsF16
							}
							copy(s16, h)
							copy(off16, h)
							run(c, s16, rows, k, stride, gy)
							alone("half", func(c *Stats, at int, y []int32) { run(c, off16[at:], 1, k, k, y) })
							if !slices.Equal(s16, h) {
								t.Fatal("the input was written")
							}
						}
					}
					for j := range x {
						if !check.Same32(x[j], s32[j]) || !check.Same64(float64(x[j]), s64[j]) {
							t.Fatal("the input was written")
						}
					}
				}
			}
		})
	}
}

// TestHalfEqualsWidened: half precision has the bits of the widened matrix, special values too.
func TestHalfEqualsWidened(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(9)
		sh, sb := check.SpecialHalf(), check.SpecialBF16()
		for k := 1; k <= 1100; k += 1 + k/20 {
			const rows = 6
			y := make([]int32, rows)
			for i := range y {
				y[i] = int32(r.IntN(k))
			}
			x := check.Logits32(r, rows*k, 5)
			h, b := toHalf(x), toBF16(x)
			h[r.IntN(len(h))], b[r.IntN(len(b))] = sh[r.IntN(len(sh))], sb[r.IntN(len(sb))]
			for _, v := range []struct {
				name   string
				bits   []uint16
				widen  func([]float32, []uint16)
				half   func(*Stats, []uint16, int, int, int, []int32) uint8
				single func(*Stats, []float32, int, int, int, []int32) uint8
			}{
				{"f16 logits", h, WidenF16, LogitStatsF16, LogitStatsF32}, {"f16 probs", h, WidenF16, ProbStatsF16, ProbStatsF32},
				{"bf16 logits", b, WidenBF16, LogitStatsBF16, LogitStatsF32}, {"bf16 probs", b, WidenBF16, ProbStatsBF16, ProbStatsF32},
			} {
				wide := make([]float32, len(x))
				v.widen(wide, v.bits)
				g, w := newStats(rows), newStats(rows)
				if a, b := v.half(g, v.bits, rows, k, k, y), v.single(w, wide, rows, k, k, y); a != b {
					t.Fatalf("%s k=%d: flags %d, want %d", v.name, k, a, b)
				}
				for i := range rows {
					sameRow(t, v.name, g, i, w, i)
				}
			}
		}
	})
}

// hashColumns is FNV-1a over the bits of all columns of all rows.
func hashColumns(c *Stats, rows int) uint64 {
	h := fnv.New64a()
	for i := range rows {
		c.each(i, func(_ string, u uint64) { hash64(h, u) })
	}
	return h.Sum64()
}

func hash64(h interface{ Write([]byte) (int, error) }, u uint64) {
	var b [8]byte
	for i := range b {
		b[i] = byte(u >> (8 * i))
	}
	h.Write(b[:])
}

// goldenRows are logits (or anything) that a golden hash is taken of: the same bits on every CPU.
func goldenRows(r *rand.Rand, rows, k int) []float32 {
	var x []float32
	sp := check.Specials32()
	for i := range rows {
		row := check.Logits32(r, k, math.Ldexp(1, r.IntN(10)-3))
		switch i % 6 {
		case 1:
			off := float32(math.Ldexp(r.Float64()-0.5, r.IntN(40)))
			for j := range row {
				row[j] += off
			}
		case 2:
			row[r.IntN(k)] = float32(math.Inf(-1))
		case 3:
			row[r.IntN(k)] = sp[r.IntN(len(sp))]
		case 4:
			for j := range row {
				row[j] += float32(float32(j) * 0.01) // never fused
			}
		}
		x = append(x, row...)
	}
	return x
}
