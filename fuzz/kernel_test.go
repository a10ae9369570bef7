package fuzz

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/kernel"
)

// maxElements bounds an input, so that a search makes many.
const maxElements = 5000

func floats32(b []byte) []float32 {
	x := make([]float32, min(len(b)/4, maxElements))
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}

func floats64(b []byte) []float64 {
	x := make([]float64, min(len(b)/8, maxElements))
	for i := range x {
		x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return x
}

func bytes32(x ...float32) (b []byte) {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func bytes64(x ...float64) (b []byte) {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// ramp is a long row: n values from a on by step, in an order that moves the largest about.
func ramp(n int, a, step float64) (x []float64) {
	for i := range n {
		x = append(x, a+step*float64(i*7919%n))
	}
	return x
}

func to32(x []float64) (y []float32) {
	for _, v := range x {
		y = append(y, float32(v))
	}
	return y
}

// shape makes n elements a matrix: k and what the stride has more, from two bytes.
func shape(n int, k uint16, pad uint8) (rows, cols, stride int) {
	cols = 1 + int(k)%max(n, 1)
	stride = cols + int(pad)
	if n >= cols {
		rows = (n-cols)/stride + 1
	}
	return rows, cols, stride
}

func columns(rows int) *kernel.Stats {
	f := func() []float64 { return make([]float64, rows) }
	i := func() []int32 { return make([]int32, rows) }
	return &kernel.Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Rest: f(), Entropy: f(), Norm: f(), Positive: f(),
		ArgMax: i(), Rank: i(), Flags: make([]uint8, rows)}
}

// bits returns the columns of row i that every row has.
func bits(c *kernel.Stats, i int) [10]uint64 {
	b := math.Float64bits
	return [...]uint64{b(c.Top[i]), b(c.Tail[i]), b(c.Label[i]), b(c.NLL[i]), b(c.Rest[i]), b(c.Entropy[i]), b(c.Norm[i]),
		uint64(c.ArgMax[i]), uint64(c.Rank[i]), uint64(c.Flags[i])}
}

func near(g, w, tol float64) bool { return g == w || math.Abs(g-w) <= tol }

func topOf[T float32 | float64](x []T) (m float64, top int) {
	m = math.Inf(-1)
	for j, v := range x {
		if float64(v) > m {
			m, top = float64(v), j
		}
	}
	return m, top
}

func rankOf[T float32 | float64](x []T, y int) (n int32) {
	for j, v := range x {
		if v > x[y] || v == x[y] && j < y {
			n++
		}
	}
	return n
}

func FuzzLogitStatsF32(f *testing.F) {
	inf := float32(math.Inf(1))
	f.Add(bytes32(1, 2, 3, 4, 5, 6), uint16(2), uint8(0), int32(1))
	f.Add(bytes32(1, -inf, 3, float32(math.NaN()), 5, inf, 0, 0, 0), uint16(2), uint8(1), int32(0))
	f.Add(bytes32(to32(ramp(2100, -700, 1))...), uint16(2099), uint8(0), int32(77))
	f.Add(bytes32(to32(ramp(3000, 3e38, -1e35))...), uint16(1400), uint8(3), int32(5))
	f.Add(bytes32(to32(ramp(64, -1e-44, 1e-45))...), uint16(63), uint8(0), int32(-1))
	f.Add(bytes32(-inf, -inf, -inf), uint16(2), uint8(0), int32(2))
	f.Add([]byte{}, uint16(0), uint8(0), int32(0))
	f.Fuzz(func(t *testing.T, data []byte, k16 uint16, pad uint8, label int32) {
		x := floats32(data)
		rows, k, stride := shape(len(x), k16, pad)
		y := someLabels(rows, k, label)
		c := columns(rows)
		all := kernel.LogitStatsF32(c, x, rows, k, stride, y)
		union := uint8(0)
		for i := range rows {
			row := x[i*stride : i*stride+k]
			m, top := topOf(row)
			want := uint8(0)
			for _, v := range row {
				if v != v || v > math.MaxFloat32 {
					want = kernel.FlagNotFinite
				}
			}
			if math.IsInf(m, -1) {
				want = kernel.FlagNotFinite
			}
			if y[i] < 0 || int(y[i]) >= k {
				want |= kernel.FlagBadLabel
			}
			union |= want
			if c.Flags[i] != want {
				t.Fatalf("flags %d, want %d", c.Flags[i], want)
			}
			// A row is what it is alone.
			one := columns(1)
			kernel.LogitStatsF32(one, row, 1, k, k, y[i:i+1])
			if bits(c, i) != bits(one, 0) {
				t.Fatalf("row %d has %x, alone %x", i, bits(c, i), bits(one, 0))
			}
			if want != 0 {
				if c.NLL[i] == c.NLL[i] || c.Top[i] == c.Top[i] || c.ArgMax[i] != -1 || c.Rank[i] != -1 {
					t.Fatal("a faulty row has columns")
				}
				continue
			}
			s, q, h := 0.0, 0.0, 0.0
			for j, v := range row {
				if d := float64(v) - m; j != top && d > -800 {
					e := math.Exp(d)
					s, q, h = s+e, q+e*e, h+e*d
				}
			}
			z, lz := 1+s, math.Log1p(s)
			xy := float64(row[y[i]])
			nll := lz - (xy - m)
			switch {
			case c.ArgMax[i] != int32(top) || c.Rank[i] != rankOf(row, int(y[i])):
				t.Fatalf("arg max %d rank %d", c.ArgMax[i], c.Rank[i])
			case !near(c.Top[i]+c.Tail[i], 1, 1e-6), !near(c.Top[i], 1/z, 2e-6), !near(c.Tail[i], s/z, 2e-6):
				t.Fatalf("top %v tail %v, want %v %v", c.Top[i], c.Tail[i], 1/z, s/z)
			case !near(c.Norm[i], m+lz, 1e-6*math.Max(1, math.Abs(m+lz))):
				t.Fatalf("norm %v, want %v", c.Norm[i], m+lz)
			case !(c.NLL[i] >= 0) || !near(c.NLL[i], nll, 1e-5*math.Max(nll, 1e-12)):
				t.Fatalf("nll %v, want %v", c.NLL[i], nll)
			case !(c.Entropy[i] >= 0) || c.Entropy[i] > math.Log(float64(k))+2e-6*math.Max(1, math.Log(float64(k))),
				!near(c.Entropy[i], lz-h/z, 2e-6*math.Max(1, lz-h/z)):
				t.Fatalf("entropy %v, want %v", c.Entropy[i], lz-h/z)
			case !near(c.Rest[i], q/z/z, 2e-6), !near(c.Label[i], math.Exp(xy-m)/z, 2e-6):
				t.Fatalf("rest %v label %v", c.Rest[i], c.Label[i])
			}
			lse := make([]float64, 1)
			if kernel.LogSumExpF32(lse, row, 1, k, k); lse[0] != c.Norm[i] {
				t.Fatalf("log-sum-exp %v, norm %v", lse[0], c.Norm[i])
			}
		}
		if all != union {
			t.Fatalf("flags %d, want %d", all, union)
		}
	})
}

func FuzzProbStatsF64(f *testing.F) {
	f.Add(bytes64(0.1, 0.2, 0.7, 0.3, 0.3, 0.4), uint16(2), uint8(0), int32(1))
	f.Add(bytes64(0, 1, 0, math.NaN(), 0.5, math.Inf(-1), 5e-324, 1e-320, 1), uint16(2), uint8(0), int32(0))
	f.Add(bytes64(ramp(1100, 0, 1.0/604450)...), uint16(1099), uint8(0), int32(500))
	f.Add(bytes64(-0.5, 1.5, 1e300, -1e300, math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, -math.MaxFloat64), uint16(7), uint8(2), int32(3))
	f.Fuzz(func(t *testing.T, data []byte, k16 uint16, pad uint8, label int32) {
		x := floats64(data)
		rows, k, stride := shape(len(x), k16, pad)
		y := someLabels(rows, k, label)
		c := columns(rows)
		all := kernel.ProbStatsF64(c, x, rows, k, stride, y)
		union := uint8(0)
		for i := range rows {
			row := x[i*stride : i*stride+k]
			m, top := topOf(row)
			want := uint8(0)
			outside := uint8(0)
			for _, v := range row {
				if v != v || math.IsInf(v, 0) {
					want = kernel.FlagNotFinite
				}
				if v < 0 || v > 1 {
					outside = kernel.FlagOutside
				}
			}
			if want == 0 {
				want = outside
			}
			if y[i] < 0 || int(y[i]) >= k {
				want |= kernel.FlagBadLabel
			}
			union |= want
			if c.Flags[i] != want {
				t.Fatalf("flags %d, want %d", c.Flags[i], want)
			}
			one := columns(1)
			kernel.ProbStatsF64(one, row, 1, k, k, y[i:i+1])
			if bits(c, i) != bits(one, 0) {
				t.Fatalf("row %d has %x, alone %x", i, bits(c, i), bits(one, 0))
			}
			if want&^kernel.FlagOutside != 0 {
				if c.NLL[i] == c.NLL[i] || c.Top[i] == c.Top[i] || c.ArgMax[i] != -1 || c.Rank[i] != -1 {
					t.Fatal("a faulty row has columns")
				}
				continue
			}
			p := row[y[i]]
			if c.Top[i] != m || c.Tail[i] != 1-m || c.Label[i] != p || c.ArgMax[i] != int32(top) || c.Rank[i] != rankOf(row, int(y[i])) {
				t.Fatalf("top %v tail %v label %v arg max %d rank %d", c.Top[i], c.Tail[i], c.Label[i], c.ArgMax[i], c.Rank[i])
			}
			if p <= 0 && !math.IsInf(c.NLL[i], 1) || p > 0 && !near(c.NLL[i], 0-kernel.Log64(p), 0) {
				t.Fatalf("nll %v of %v", c.NLL[i], p)
			}
			if want != 0 {
				if math.Float64bits(c.Norm[i]) != 0x7FF8000000000000 && c.Norm[i] != c.Norm[i] {
					t.Fatal("a NaN that is not the canonical one")
				}
				continue
			}
			s, q, h := 0.0, 0.0, 0.0
			for j, v := range row {
				s += v
				if v > 0x1p-1000 {
					h -= v * math.Log(v)
				}
				if j != top {
					q += v * v
				}
			}
			if !near(c.Norm[i], s, 1e-12*math.Max(1, s)) || !near(c.Rest[i], q, 1e-12*math.Max(1, q)) || !near(c.Entropy[i], h, 1e-12*math.Max(1, h)) {
				t.Fatalf("norm %v rest %v entropy %v, want %v %v %v", c.Norm[i], c.Rest[i], c.Entropy[i], s, q, h)
			}
		}
		if all != union {
			t.Fatalf("flags %d, want %d", all, union)
		}
	})
}

func FuzzSortRowsF32(f *testing.F) {
	inf, nan, neg0 := float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))
	f.Add(bytes32(3, 1, 2, 6, 5, 4), uint16(2), uint8(0))
	f.Add(bytes32(0, -inf, neg0, inf, 1, 0x1p-149, nan, -nan, 0), uint16(8), uint8(0))
	f.Add(bytes32(to32(ramp(1300, -90, 0.1))...), uint16(1299), uint8(0))
	f.Add(bytes32(to32(ramp(1024, -90, 0.1))...), uint16(1023), uint8(0))
	f.Add(bytes32(to32(ramp(2000, 3e38, -1e35))...), uint16(99), uint8(1))
	f.Add(bytes32(to32(ramp(500, 0, 1))...), uint16(9), uint8(3))
	f.Add([]byte{}, uint16(0), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, k16 uint16, pad uint8) {
		x := floats32(data)
		rows, k, stride := shape(len(x), k16, pad)
		was := slices.Clone(x)
		kernel.SortRowsF32(x, rows, k, stride, make([]float32, kernel.SortRowsScratch(k)))
		for j, v := range x {
			if (j%stride >= k || j/stride >= rows) && math.Float32bits(v) != math.Float32bits(was[j]) {
				t.Fatal("what lies between the rows was written")
			}
		}
		for i := range rows {
			row, from := x[i*stride:i*stride+k], was[i*stride:i*stride+k]
			// The same bits are there as before, but for the sign of 0, in rising order, NaN at the ends.
			count := map[uint32]int{}
			for j := range row {
				if from[j] == 0 {
					from[j] = 0
				}
				count[math.Float32bits(row[j])]++
				count[math.Float32bits(from[j])]--
				if j == 0 {
					continue
				}
				a, b := row[j-1], row[j]
				first, last := a != a && math.Signbit(float64(a)), b != b && !math.Signbit(float64(b))
				if !(a <= b) && !first && !last {
					t.Fatalf("row %d has %v in front of %v", i, a, b)
				}
			}
			for b, n := range count {
				if n != 0 {
					t.Fatalf("row %d has %d times more of %#x", i, n, b)
				}
			}
		}
	})
}

func FuzzSoftmaxF32(f *testing.F) {
	inf := float32(math.Inf(1))
	f.Add(bytes32(1, 2, 3, 4, 5, 6), uint16(2), uint8(0))
	f.Add(bytes32(0, -inf, -200, inf, 1, 2, float32(math.NaN()), 0, 0), uint16(2), uint8(1))
	f.Add(bytes32(to32(ramp(1300, -90, 0.1))...), uint16(1299), uint8(0))
	f.Add(bytes32(3e38, -3e38, 3e38, 1e-45), uint16(3), uint8(0))
	f.Add(bytes32(to32(ramp(50, 2e6, 0.5))...), uint16(49), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, k16 uint16, pad uint8) {
		x := floats32(data)
		rows, k, stride := shape(len(x), k16, pad)
		dst := make([]float32, max(0, (rows-1)*stride+k))
		for i := range dst {
			dst[i] = 7
		}
		kernel.SoftmaxF32(dst, stride, x, rows, k, stride)
		for i := range dst {
			if i%stride >= k && dst[i] != 7 {
				t.Fatal("what lies between the rows was written")
			}
		}
		for i := range rows {
			row, out := x[i*stride:i*stride+k], dst[i*stride:i*stride+k]
			m, _ := topOf(row)
			bad := math.IsInf(m, 0)
			s := 0.0
			for _, v := range row {
				bad = bad || v != v
				s += math.Exp(float64(v) - m)
			}
			sum := 0.0
			for j, p := range out {
				if bad != (p != p) {
					t.Fatalf("fault %v, probability %v", bad, p)
				}
				if bad {
					continue
				}
				d := m - float64(row[j])
				w := math.Exp(-d) / s
				if !(p == 0 && d > 124*math.Ln2) && !near(float64(p), w, (5e-7+8e-8*d)*w+0x1p-149) {
					t.Fatalf("softmax(%v) = %v, want %v", row[j], p, w)
				}
				sum += float64(p)
			}
			if !bad && !near(sum, 1, 2e-6) {
				t.Fatalf("sum %v", sum)
			}
			kernel.SoftmaxF32(row, k, row, 1, k, k)
			for j := range row {
				if row[j] != out[j] && !bad {
					t.Fatalf("in place %v, else %v", row[j], out[j])
				}
			}
		}
	})
}

func FuzzBinEqual(f *testing.F) {
	f.Add(bytes64(0, 0.1, 0.30000000000000004, 0.3, 1, -1, 2, math.NaN(), math.Inf(1), 5e-324), uint16(9), false)
	f.Add(bytes64(ramp(100, 0, 0.01)...), uint16(99), true)
	f.Add(bytes64(1e300, -1e300, math.Copysign(0, -1)), uint16(0), true)
	f.Fuzz(func(t *testing.T, data []byte, n uint16, right bool) {
		p := floats64(data)
		p = p[:min(len(p), 300)]
		edges := kernel.Edges(1 + int(n)%2000)
		side := kernel.LeftClosed
		if right {
			side = kernel.RightClosed
		}
		got, other := make([]int32, len(p)), make([]int32, len(p))
		kernel.BinEqual(got, p, edges, side)
		kernel.BinEdges(other, p, edges, side)
		for i, v := range p {
			want := int32(-1)
			if v == v {
				want = 0
				for _, e := range edges[1 : len(edges)-1] {
					if e < v || e == v && !right {
						want++
					}
				}
			}
			if got[i] != want || other[i] != want {
				t.Fatalf("%v of %d bins is in %d and %d, want %d", v, len(edges)-1, got[i], other[i], want)
			}
		}
	})
}
