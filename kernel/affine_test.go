package kernel

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

func normals64(seed uint64, n int) []float64 {
	r, x := check.Rand(seed), make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// TestAffineSums: the matrices agree with their formulas in math/big, within the bound of their roundings.
func TestAffineSums(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, s := range [][3]int{{1, 1, 1}, {5, 3, 4}, {9, 130, 11}, {sized(40, 140, 140), 7, 26}, {30, sized(10, 40, 40), sized(20, 50, 50)}} {
			rows, in, out := s[0], s[1], s[2]
			x, w, b, d := normals64(1, rows*in), normals64(2, in*out), normals64(3, out), normals64(4, rows*out)
			dst, g, gb := make([]float64, rows*out), normals64(5, out*in), normals64(6, out)
			near := func(what string, got float64, from float64, n int, product func(i int) (float64, float64)) {
				t.Helper()
				sum, size := new(big.Float).SetPrec(200).SetFloat64(from), math.Abs(from)
				for i := range n {
					p, q := product(i)
					sum.Add(sum, new(big.Float).Mul(new(big.Float).SetPrec(200).SetFloat64(p), big.NewFloat(q)))
					size += math.Abs(p * q)
				}
				want, _ := sum.Float64()
				if !(math.Abs(got-want) <= 0x1p-53*float64(n+1)*size) {
					t.Fatalf("%s, %v: %v, want %v", what, s, got, want)
				}
			}
			AffineF64(dst, x, w, b, rows, in, out)
			for i, v := range dst {
				near("AffineF64", v, b[i%out], in, func(j int) (float64, float64) { return x[i/out*in+j], w[j*out+i%out] })
			}
			before := slices.Clone(g)
			AddOuterF64(g, d, x, rows, out, in)
			for i, v := range g {
				near("AddOuterF64", v, before[i], rows, func(r int) (float64, float64) { return d[r*out+i/in], x[r*in+i%in] })
			}
			before = slices.Clone(gb)
			AddRowsF64(gb, d, rows, out)
			for i, v := range gb {
				near("AddRowsF64", v, before[i], rows, func(r int) (float64, float64) { return d[r*out+i], 1 })
			}
			gb, ga := slices.Clone(before), slices.Clone(before)
			AddProductsF64(ga, gb, d, dst, rows, out)
			for i := range ga {
				near("AddProductsF64", ga[i], before[i], rows, func(r int) (float64, float64) { return d[r*out+i], dst[r*out+i] })
				near("AddProductsF64, gb", gb[i], before[i], rows, func(r int) (float64, float64) { return d[r*out+i], 1 })
			}
			ScaleShiftF64(dst, d, ga, gb, rows, out)
			for i, v := range dst {
				if want := math.FMA(d[i], ga[i%out], gb[i%out]); v != want {
					t.Fatalf("ScaleShiftF64: %v, want %v", v, want)
				}
			}
		}
	})
}

// TestAffineInParts: rows that come in several calls leave the bits that they leave in one, and a row's bits are its own.
func TestAffineInParts(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const rows, in, out = 700, 37, 29
		x, w, b, d := normals64(11, rows*in), normals64(12, in*out), normals64(13, out), normals64(14, rows*out)
		whole, g, sums := make([]float64, rows*out), make([]float64, out*in), make([]float64, 2*out)
		AffineF64(whole, x, w, b, rows, in, out)
		AddOuterF64(g, d, x, rows, out, in)
		AddProductsF64(sums[:out], sums[out:], d, whole, rows, out)
		for _, part := range []int{1, 3, 64, 257} {
			parts, h, again := make([]float64, rows*out), make([]float64, out*in), make([]float64, 2*out)
			for i := 0; i < rows; i += part {
				n := min(part, rows-i)
				AffineF64(parts[i*out:], x[i*in:], w, b, n, in, out)
				AddOuterF64(h, d[i*out:], x[i*in:], n, out, in)
				AddProductsF64(again[:out], again[out:], d[i*out:], whole[i*out:], n, out)
			}
			if !slices.Equal(whole, parts) || !slices.Equal(g, h) || !slices.Equal(sums, again) {
				t.Errorf("parts of %d rows leave other bits", part)
			}
		}
	})
}

// TestResiduals: residuals and NLL are those of math/big, also where the label's probability is next to 1 and next to 0.
func TestResiduals(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(227)
		worst, worstNLL := 0.0, 0.0
		at := func(v float64) *big.Float { return new(big.Float).SetPrec(320).SetFloat64(v) }
		for _, k := range []int{1, 2, 3, 8, 10, 33, 100, 1000} {
			for n := range min(sized(5, 15, 30), 3000/k) {
				u := make([]float64, k)
				scale := []float64{0.001, 1, 10, 60, 300}[n%5]
				for j := range u {
					u[j] = r.NormFloat64() * scale
				}
				y, weight := r.IntN(k), r.ExpFloat64()
				if n%2 == 0 {
					u[y] += 5 * scale
				}
				m := slices.Max(u)
				others, terms := at(0), make([]*big.Float, k)
				for j := range u {
					terms[j] = at(0)
					if u[j]-m > -720 {
						terms[j] = bigExp(new(big.Float).Sub(at(u[j]), at(m)))
					}
					if j != y {
						others.Add(others, terms[j])
					}
				}
				total := new(big.Float).Add(others, terms[y])
				gap := 0.0 // how far the others are below the label, if it is the largest
				if u[y] == m && k > 1 {
					rest := slices.Delete(slices.Clone(u), y, y+1)
					gap = m - slices.Max(rest)
				}
				nll := at(0)
				if others.Sign() > 0 && terms[y].Sign() > 0 {
					q := new(big.Float).Quo(others, terms[y])
					if few, _ := q.Float64(); few < 0x1p-40 { // the series of ln(1+q)
						nll.Sub(q, new(big.Float).Quo(new(big.Float).Mul(q, q), at(2)))
					} else {
						nll = bigLog(q.Add(q, at(1)))
					}
				}
				got, gotNLL := slices.Clone(u), make([]float64, 1)
				SoftmaxResidualsF64(gotNLL, got, 1, k, []int32{int32(y)}, []float64{weight})
				for j, v := range got {
					want := new(big.Float).Quo(terms[j], total)
					if j == y {
						want.Quo(others, total)
						want.Neg(want)
					}
					f, _ := want.Mul(want, at(weight)).Float64()
					if math.Abs(f) < 1e-290 {
						if math.Abs(v) > 1e-290 {
							t.Fatalf("k=%d: residual %v, want %v", k, v, f)
						}
						continue
					}
					bound := 1e-15 + 2e-16*(m-u[j])
					if j == y {
						bound = 1e-15 + 2e-16*gap
					}
					e := math.Abs(v-f) / math.Abs(f)
					if worst = max(worst, e/bound); !(e <= bound) {
						t.Fatalf("k=%d: residual %d is %v, want %v (label %d)", k, j, v, f, y)
					}
				}
				f, _ := nll.Float64()
				if others.Sign() > 0 && terms[y].Sign() == 0 {
					continue
				}
				e := math.Abs(gotNLL[0]-f) / max(f, 1e-290)
				bound := 1e-15 + 2e-16*gap
				if worstNLL = max(worstNLL, e/bound); !(e <= bound) {
					t.Fatalf("k=%d: NLL %v, want %v", k, gotNLL[0], f)
				}
			}
		}
		t.Logf("largest error of residuals %.2f of the bound, of NLL %.2f", worst, worstNLL)
	})
}

// TestResidualFaults: the results of rows with a fault, and of special values that are no fault.
func TestResidualFaults(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	isatest.Each(t, func(t *testing.T) {
		for _, c := range []struct {
			u      []float64
			y      int32
			weight float64
		}{
			{[]float64{1, nan, 2}, 0, 1}, {[]float64{1, nan, 2}, 1, 1}, {[]float64{1, inf}, 0, 1}, {[]float64{1, inf}, 1, 1},
			{[]float64{-inf, -inf}, 0, 1}, {[]float64{-inf}, 0, 1}, {[]float64{inf}, 0, 1}, {[]float64{1, 2}, -1, 1}, {[]float64{1, 2}, 2, 1},
			{[]float64{1, 2}, math.MinInt32, 1}, {[]float64{1, 2}, 0, nan}, {[]float64{nan, nan}, 0, 0},
		} {
			k, nll := len(c.u), []float64{7, 7}
			u := append(slices.Clone(c.u), make([]float64, k)...)
			SoftmaxResidualsF64(nll, u, 2, k, []int32{c.y, 0}, []float64{c.weight, 1})
			if math.Float64bits(nll[0]) != 0x7FF8000000000000 || slices.ContainsFunc(u[:k], func(v float64) bool { return v == v }) {
				t.Errorf("%+v: NLL %v, residuals %v", c, nll[0], u[:k])
			}
			if nll[1] != math.Log(float64(k)) {
				t.Errorf("%+v: the next row has NLL %v", c, nll[1])
			}
		}
		for _, c := range []struct {
			u, want []float64
			y       int32
			weight  float64
			nll     float64
		}{
			{[]float64{5}, []float64{0}, 0, 3, 0},
			{[]float64{0, 0}, []float64{-1, 1}, 0, 2, math.Ln2},
			{[]float64{0, 0}, []float64{0, 0}, 0, 0, math.Ln2},
			{[]float64{-inf, 3}, []float64{-1, 1}, 0, 1, inf},
			{[]float64{-inf, 3}, []float64{0, 0}, 1, 1, 0},
			{[]float64{1e308, -1e308}, []float64{0, 0}, 0, 1, 0},
			{[]float64{1e308, -1e308}, []float64{1, -1}, 1, 1, inf},
			{[]float64{0, -700}, []float64{-Exp64(-700), Exp64(-700)}, 0, 1, Exp64(-700)},
		} {
			nll := []float64{7}
			u := slices.Clone(c.u)
			SoftmaxResidualsF64(nll, u, 1, len(u), []int32{c.y}, []float64{c.weight})
			if nll[0] != c.nll || !slices.Equal(u, c.want) || math.Signbit(nll[0]) {
				t.Errorf("%+v: NLL %v, residuals %v", c, nll[0], u)
			}
			if c.want[c.y] == 0 && math.Signbit(u[c.y]) {
				t.Errorf("%+v: -0", c)
			}
		}
	})
}

// TestAffinePanics: every wrong shape panics before anything is written.
func TestAffinePanics(t *testing.T) {
	z := func(n int) []float64 { return make([]float64, n) }
	y := make([]int32, 9)
	panics := func(name, want string, f func()) {
		t.Helper()
		defer func() {
			if got := fmt.Sprint(recover()); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}()
		f()
	}
	isatest.Each(t, func(t *testing.T) {
		affine := func(dst, x, w, b, rows, in, out int) func() {
			return func() { AffineF64(z(dst), z(x), z(w), z(b), rows, in, out) }
		}
		outer := func(g, d, x, rows, out, in int) func() {
			return func() { AddOuterF64(z(g), z(d), z(x), rows, out, in) }
		}
		shift := func(dst, x, a, b, rows, k int) func() {
			return func() { ScaleShiftF64(z(dst), z(x), z(a), z(b), rows, k) }
		}
		products := func(ga, gb, d, x, rows, k int) func() {
			return func() { AddProductsF64(z(ga), z(gb), z(d), z(x), rows, k) }
		}
		for _, f := range []func(){
			affine(7, 6, 12, 4, 2, 3, 4), affine(8, 5, 12, 4, 2, 3, 4), affine(8, 6, 11, 4, 2, 3, 4), affine(8, 6, 12, 3, 2, 3, 4),
			affine(8, 6, 12, 4, -1, 3, 4), affine(8, 6, 12, 4, 2, 0, 4), affine(8, 6, 12, 4, 2, 3, 0),
			affine(8, 6, 12, 4, math.MaxInt, 3, 4), affine(8, 6, 12, 4, 2, math.MaxInt, 4), affine(8, 6, 12, 4, 0, 3, math.MaxInt),
			outer(11, 8, 6, 2, 4, 3), outer(12, 7, 6, 2, 4, 3), outer(12, 8, 5, 2, 4, 3), outer(12, 8, 6, -1, 4, 3),
			outer(12, 8, 6, 2, 0, 3), outer(12, 8, 6, 2, 4, 0), outer(12, 8, 6, math.MaxInt, 4, 3),
			shift(5, 6, 3, 3, 2, 3), shift(6, 5, 3, 3, 2, 3), shift(6, 6, 2, 3, 2, 3), shift(6, 6, 3, 2, 2, 3),
			shift(6, 6, 3, 3, -1, 3), shift(6, 6, 3, 3, 2, 0),
			products(2, 3, 6, 6, 2, 3), products(3, 2, 6, 6, 2, 3), products(3, 3, 5, 6, 2, 3), products(3, 3, 6, 5, 2, 3),
			products(3, 3, 6, 6, 2, -1),
			func() { AddRowsF64(z(2), z(6), 2, 3) }, func() { AddRowsF64(z(3), z(5), 2, 3) }, func() { AddRowsF64(z(3), z(6), 2, 0) },
			func() { SoftmaxResidualsF64(z(2), z(5), 2, 3, y, nil) }, func() { SoftmaxResidualsF64(z(2), z(6), -1, 3, y, nil) },
			func() { SoftmaxResidualsF64(z(2), z(6), 2, 0, y, nil) },
		} {
			panics("shape", errShape, f)
		}
		panics("nll", errColumns, func() { SoftmaxResidualsF64(z(1), z(6), 2, 3, y, nil) })
		panics("weights", errColumns, func() { SoftmaxResidualsF64(z(2), z(6), 2, 3, y, z(1)) })
		panics("labels", errLabels, func() { SoftmaxResidualsF64(z(2), z(6), 2, 3, y[:1], nil) })
		for _, f := range []func(){
			affine(8, 6, 12, 4, 2, 3, 4), affine(9, 7, 13, 5, 2, 3, 4), affine(0, 0, 12, 4, 0, 3, 4),
			outer(12, 8, 6, 2, 4, 3), outer(12, 0, 0, 0, 4, 3),
			shift(6, 6, 3, 3, 2, 3), shift(0, 0, 3, 3, 0, 3), products(3, 3, 6, 6, 2, 3), products(3, 3, 0, 0, 0, 3),
			func() { AddRowsF64(z(3), nil, 0, 3) }, func() { SoftmaxResidualsF64(nil, nil, 0, 3, nil, nil) },
		} {
			panics("good shape", "<nil>", f)
		}
	})
}

func TestAffineNoAllocations(t *testing.T) {
	const rows, k = 20, 30
	u, w, b, y := make([]float64, rows*k), make([]float64, k*k), make([]float64, k), make([]int32, rows)
	x := normals64(31, rows*k)
	isatest.Each(t, func(t *testing.T) {
		if a := testing.AllocsPerRun(5, func() {
			AffineF64(u, x, w, b, rows, k, k)
			ScaleShiftF64(u, u, b, b, rows, k)
			SoftmaxResidualsF64(b, u, rows, k, y, nil)
			AddOuterF64(w, u, x, rows, k, k)
			AddRowsF64(b, u, rows, k)
			AddProductsF64(b, w, u, x, rows, k)
		}); a != 0 {
			t.Errorf("%v allocations", a)
		}
	})
}

// goldenAffine is a hash of all bits that the kernels of a gradient give for fixed inputs, on every CPU.
const goldenAffine = 0xc53d1483ba94f5b3

func TestAffineGoldenBits(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		h := fnv.New64a()
		for i, k := range []int{1, 2, 3, 7, 8, 10, 25, 33, 100, 300} {
			const rows = 150
			r := check.Rand(uint64(41 + i))
			numbers := func(n int) []float64 { // the same on every CPU, which normal ones are not
				x := make([]float64, n)
				for i := range x {
					x[i] = 6 * (r.Float64() - 0.5)
				}
				return x
			}
			x, w, b := numbers(rows*k), numbers(k*k), numbers(k)
			u, nll, y := make([]float64, rows*k), make([]float64, rows), make([]int32, rows)
			for j := range y {
				y[j] = int32(j * j % k)
			}
			AffineF64(u, x, w, b, rows, k, k)
			SoftmaxResidualsF64(nll, u, rows, k, y, nil)
			AddOuterF64(w, u, x, rows, k, k)
			AddProductsF64(b, w[:k], u, x, rows, k)
			AddRowsF64(b, u, rows, k)
			ScaleShiftF64(x, u, b, w[:k], rows, k)
			for _, s := range [][]float64{u, nll, w, b, x} {
				for _, v := range s {
					hash64(h, math.Float64bits(v))
				}
			}
		}
		if got := h.Sum64(); got != goldenAffine {
			t.Errorf("%#016x, want %#016x", got, uint64(goldenAffine))
		}
	})
}
