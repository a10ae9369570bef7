package fuzz

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/kernel"
)

// The targets named FuzzLevels hold the code of every level that can run here to the definition, by ==: assembly,
// whatever the shape, the alignment and the bits.

// sameBits fails unless f gives at each level what it gives at the generic one.
func sameBits(t *testing.T, what string, f func() []uint64) {
	t.Helper()
	var want []uint64
	for _, level := range isa.Levels() {
		got := atLevel(level, f)
		if level == isa.LevelGeneric {
			want = got
			continue
		}
		for i, w := range want {
			if got[i] != w {
				t.Fatalf("%s, isa=%v: number %d of %d is %#x, want %#x", what, level, i, len(want), got[i], w)
			}
		}
	}
}

func atLevel(level isa.Level, f func() []uint64) []uint64 {
	defer isa.Set(level)()
	return f()
}

// beside is how many elements of a slice stand before and behind what a kernel writes; they are 7 and stay it.
const beside = 5

func sevens[T float32 | float64 | int32 | uint8 | int64](n int) []T {
	s := make([]T, n+2*beside)
	for i := range s {
		s[i] = 7
	}
	return s
}

// class64 and class32 give a number's bits; one NaN is as good as another.
func class64(v float64) uint64 {
	if v != v {
		return 0x7FF8000000000000
	}
	return math.Float64bits(v)
}

func class32(v float32) uint64 {
	if v != v {
		return 0x7FC00000
	}
	return uint64(math.Float32bits(v))
}

// raw32 gives all bits.
func raw32(v float32) uint64 { return uint64(math.Float32bits(v)) }

func index(v int32) uint64 { return uint64(uint32(v)) }

func appendBits[T any](b []uint64, bits func(T) uint64, v ...T) []uint64 {
	for _, v := range v {
		b = append(b, bits(v))
	}
	return b
}

// statsBits runs a function of columns and returns all that it leaves in them and beside them.
func statsBits(rows int, optional bool, run func(*kernel.Stats) uint8) []uint64 {
	var floats [8][]float64
	var ints [2][]int32
	for i := range floats {
		floats[i] = sevens[float64](rows)
	}
	for i := range ints {
		ints[i] = sevens[int32](rows)
	}
	flags := sevens[uint8](rows)
	f := func(i int) []float64 { return floats[i][beside : beside+rows+1] }
	c := kernel.Stats{Top: f(0), Tail: f(1), Label: f(2), NLL: f(3), Rest: f(4), Entropy: f(5), Norm: f(6),
		ArgMax: ints[0][beside : beside+rows], Flags: flags[beside : beside+rows]}
	if optional {
		c.Positive, c.Rank = f(7), ints[1][beside:beside+rows]
	}
	out := []uint64{uint64(run(&c))}
	for _, v := range floats {
		out = appendBits(out, math.Float64bits, v...)
	}
	for _, v := range ints {
		out = appendBits(out, index, v...)
	}
	return appendBits(out, func(v uint8) uint64 { return uint64(v) }, flags...)
}

// elements makes bytes numbers. how says whether they are the numbers' own bits or each byte is one, of which sign and
// size; the whole is repeated, so that few bytes make long rows, and starts off elements into its memory.
func elements[T any](data []byte, how, repeat, off uint8, size int, bits func(uint64) T, from func(float64) T) []T {
	var some []T
	if how&1 == 0 {
		for ; len(data) >= size && len(some) < maxElements; data = data[size:] {
			var b [8]byte
			copy(b[:], data[:size])
			some = append(some, bits(binary.LittleEndian.Uint64(b[:])))
		}
	} else {
		middle := 128 * float64(how>>1&1)
		for _, b := range data[:min(len(data), maxElements)] {
			some = append(some, from(math.Ldexp(float64(b)-middle, int(how>>2)-16)))
		}
	}
	at := int(off % 32)
	x := make([]T, at, at+len(some))
	for range 1 + int(repeat) {
		if len(x)+len(some) <= at+maxElements {
			x = append(x, some...)
		}
	}
	return x[at:]
}

// A matrix is an input of one of the four types, bound to the type's kernels.
type matrix struct {
	n                         int
	logits, probs             rowsFunc
	binaryLogits, binaryProbs func(c *kernel.Stats, y []int32) uint8
	soft, logSoft             func(rows, k, stride, dstStride int) []uint64 // a row in itself where the strides are equal
	logSumExp, argMax         func(rows, k, stride int) []uint64
}

// A rowsFunc fills the columns of a matrix.
type rowsFunc func(c *kernel.Stats, rows, k, stride int, y []int32) uint8

func bind[T any, D float32 | float64](x []T,
	logits, probs func(*kernel.Stats, []T, int, int, int, []int32) uint8,
	binaryLogits, binaryProbs func(*kernel.Stats, []T, []int32) uint8,
	soft, logSoft func([]D, int, []T, int, int, int),
	logSumExp func([]float64, []T, int, int, int),
	argMax func([]int32, []T, int, int, int),
	bits func(D) uint64) *matrix {
	write := func(run func([]D, int, []T, int, int, int)) func(int, int, int, int) []uint64 {
		return func(rows, k, stride, dstStride int) []uint64 {
			d := sevens[D](max(0, (rows-1)*dstStride+k))
			to, from := d[beside:len(d)-beside], x
			if same, ok := any(x).([]D); ok && dstStride == stride {
				copy(to, same)
				from = any(to).([]T)
			}
			run(to, dstStride, from, rows, k, stride)
			return appendBits(nil, bits, d...)
		}
	}
	return &matrix{
		n:            len(x),
		logits:       func(c *kernel.Stats, rows, k, stride int, y []int32) uint8 { return logits(c, x, rows, k, stride, y) },
		probs:        func(c *kernel.Stats, rows, k, stride int, y []int32) uint8 { return probs(c, x, rows, k, stride, y) },
		binaryLogits: func(c *kernel.Stats, y []int32) uint8 { return binaryLogits(c, x, y) },
		binaryProbs:  func(c *kernel.Stats, y []int32) uint8 { return binaryProbs(c, x, y) },
		soft:         write(soft),
		logSoft:      write(logSoft),
		logSumExp: func(rows, k, stride int) []uint64 {
			d := sevens[float64](rows)
			logSumExp(d[beside:beside+rows], x, rows, k, stride)
			return appendBits(nil, math.Float64bits, d...)
		},
		argMax: func(rows, k, stride int) []uint64 {
			d := sevens[int32](rows)
			argMax(d[beside:beside+rows], x, rows, k, stride)
			return appendBits(nil, index, d...)
		},
	}
}

func single(u uint64) float32 { return math.Float32frombits(uint32(u)) }
func half(u uint64) uint16    { return uint16(u) }

// toHalf is a binary16 not far from v, and toBrain a bfloat16.
func toHalf(v float64) uint16 {
	m := math.Float32bits(float32(min(math.Abs(v), 65504)) * 0x1p-112)
	return uint16(math.Float64bits(v)>>48&0x8000) | uint16(m>>13)
}

func toBrain(v float64) uint16 { return uint16(math.Float32bits(float32(v)) >> 16) }

func newMatrix(form uint8, data []byte, how, repeat, off uint8) *matrix {
	switch form % 4 {
	case 0:
		return bind(elements(data, how, repeat, off, 4, single, func(v float64) float32 { return float32(v) }),
			kernel.LogitStatsF32, kernel.ProbStatsF32, kernel.BinaryLogitStatsF32, kernel.BinaryProbStatsF32,
			kernel.SoftmaxF32, kernel.LogSoftmaxF32, kernel.LogSumExpF32, kernel.ArgMaxF32, class32)
	case 1:
		return bind(elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v }),
			kernel.LogitStatsF64, kernel.ProbStatsF64, kernel.BinaryLogitStatsF64, kernel.BinaryProbStatsF64,
			kernel.SoftmaxF64, kernel.LogSoftmaxF64, kernel.LogSumExpF64, kernel.ArgMaxF64, class64)
	case 2:
		return bind(elements(data, how, repeat, off, 2, half, toHalf),
			kernel.LogitStatsF16, kernel.ProbStatsF16, kernel.BinaryLogitStatsF16, kernel.BinaryProbStatsF16,
			kernel.SoftmaxF16, kernel.LogSoftmaxF16, kernel.LogSumExpF16, kernel.ArgMaxF16, class32)
	}
	return bind(elements(data, how, repeat, off, 2, half, toBrain),
		kernel.LogitStatsBF16, kernel.ProbStatsBF16, kernel.BinaryLogitStatsBF16, kernel.BinaryProbStatsBF16,
		kernel.SoftmaxBF16, kernel.LogSoftmaxBF16, kernel.LogSumExpBF16, kernel.ArgMaxBF16, class32)
}

// someLabels are the label itself for odd rows, and a class for even ones.
func someLabels(rows, k int, label int32) []int32 {
	y := make([]int32, rows)
	for i := range y {
		y[i] = label
		if i%2 == 0 {
			y[i] = int32((uint32(label) + uint32(i)) % uint32(k))
		}
	}
	return y
}

// halves are the bits of 16-bit numbers.
func halves(u ...uint16) (b []byte) {
	for _, v := range u {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

// addRows adds seeds for the targets that take rows: data, form, how, repeat, k, pad, off, label.
func addRows(f *testing.F) {
	inf, nan, neg0 := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	rows := [][]float64{
		{1, 2, 3, 4, 5, 6},
		{0.5, 0.25, 0.125, 0.125},
		{neg0, 0, neg0},
		{-inf, -inf, -inf, 1},
		{nan, 1, inf, -inf, 0},
		{0x1p-149, -0x1p-149, 5e-324, 0x1p-126},
		{math.MaxFloat32, -math.MaxFloat32, 1e300, -1e300},
		{0, 1, 0, 0},
		{1.5, -0.5, 0.25},
		{0x1p21 * math.Ln2, 0x1p21*math.Ln2 - 1, 0x1p50 * math.Ln2},
		{0, -62.4, -62.3, -90, -1000},
		ramp(40, -3, 0.1), ramp(64, -1e-44, 1e-45), ramp(1100, -700, 1), ramp(2100, 3e38, -1e35), ramp(1100, 0, 1.0/604450),
	}
	for i, x := range rows {
		for j, k := range []int{len(x), 1, 2, 3, 33} {
			f.Add(bytes64(x...), uint8(1), uint8(0), uint8(40*j), uint16(k-1), uint8(j), uint8(i), int32(i-1))
			f.Add(bytes32(to32(x)...), uint8(0), uint8(0), uint8(40*j), uint16(k-1), uint8(j), uint8(i), int32(i-1))
		}
	}
	specials := halves(0x7e00, 0xfe55, 0x7c01, 0x7c00, 0xfc00, 0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x3c00, 0x3c01,
		0x7fc0, 0x7f81, 0x7f80, 0xff80, 0x007f, 0x0080, 0x7f7f, 0xff7f, 0x3f80, 0x3f81)
	for form := range uint8(4) {
		f.Add(specials, form, uint8(0), uint8(10), uint16(form), uint8(0), uint8(3), int32(0))
		f.Add([]byte{}, form, uint8(0), uint8(0), uint16(0), uint8(0), uint8(0), int32(0))
		for _, how := range []uint8{13<<2 | 3, 17<<2 | 3, 30<<2 | 3, 8<<2 | 1, 9<<2 | 3, 60<<2 | 3} { // bytes as logits and as probabilities
			f.Add([]byte("the largest of these letters is the last one: z"), form, how, uint8(200), uint16(1024+16*uint16(form)), uint8(0), uint8(1), int32(how))
			f.Add([]byte("\x80\x80\x80\xff\x00"), form, how, uint8(100), uint16(31+form), uint8(1), uint8(7), int32(math.MinInt32))
		}
	}
}

// fuzzRows runs a kernel that fills columns.
func fuzzRows(f *testing.F, name string, of func(m *matrix) rowsFunc) {
	addRows(f)
	f.Fuzz(func(t *testing.T, data []byte, form, how, repeat uint8, k16 uint16, pad, off uint8, label int32) {
		m := newMatrix(form, data, how, repeat, off)
		rows, k, stride := shape(m.n, k16, pad)
		y := someLabels(rows, k, label)
		sameBits(t, name, func() []uint64 {
			return statsBits(rows, off&32 == 0, func(c *kernel.Stats) uint8 { return of(m)(c, rows, k, stride, y) })
		})
	})
}

func FuzzLevelsLogits(f *testing.F) {
	fuzzRows(f, "LogitStats", func(m *matrix) rowsFunc { return m.logits })
}

func FuzzLevelsProbs(f *testing.F) {
	fuzzRows(f, "ProbStats", func(m *matrix) rowsFunc { return m.probs })
}

func FuzzLevelsSoftmax(f *testing.F) {
	addRows(f)
	f.Fuzz(func(t *testing.T, data []byte, form, how, repeat uint8, k16 uint16, pad, off uint8, more int32) {
		m := newMatrix(form, data, how, repeat, off)
		rows, k, stride := shape(m.n, k16, pad)
		dstStride := stride
		if more%2 != 0 {
			dstStride = k + int(uint32(more)%19)
		}
		sameBits(t, "Softmax", func() []uint64 { return m.soft(rows, k, stride, dstStride) })
		sameBits(t, "LogSoftmax", func() []uint64 { return m.logSoft(rows, k, stride, dstStride) })
		sameBits(t, "LogSumExp", func() []uint64 { return m.logSumExp(rows, k, stride) })
		sameBits(t, "ArgMax", func() []uint64 { return m.argMax(rows, k, stride) })
	})
}

func FuzzLevelsSortRows(f *testing.F) {
	addRows(f)
	f.Fuzz(func(t *testing.T, data []byte, form, how, repeat uint8, k16 uint16, pad, off uint8, label int32) {
		x := elements(data, how, repeat, off, 4, single, func(v float64) float32 { return float32(v) })
		rows, k, stride := shape(len(x), k16, pad)
		n := kernel.SortRowsScratch(k)
		sameBits(t, "SortRows", func() []uint64 {
			d, scratch := sevens[float32](len(x)), sevens[float32](n+int(label&15))
			copy(d[beside:], x)
			kernel.SortRowsF32(d[beside:beside+len(x)], rows, k, stride, scratch[beside+int(label&15):][:n:n])
			around := append(scratch[:beside+int(label&15)], scratch[beside+int(label&15)+n:]...)
			return appendBits(appendBits(nil, raw32, d...), raw32, around...)
		})
	})
}

func FuzzLevelsBinary(f *testing.F) {
	special := []float64{0, math.Copysign(0, -1), 1, 0.5, -3, 17, -62.4, 90, 800, 5e-324, 1e-300, math.NaN(), math.Inf(1), math.Inf(-1), 1.5, 1e308}
	f.Add(bytes64(special...), uint8(1), uint8(0), uint8(3), uint8(0), int32(0))
	f.Add(bytes32(to32(special)...), uint8(0), uint8(0), uint8(3), uint8(1), int32(1))
	f.Add(halves(0x7e00, 0x7c00, 0xfc00, 0, 0x8000, 1, 0x3c00, 0xbc00, 0x3800, 0x7bff), uint8(2), uint8(0), uint8(5), uint8(2), int32(1))
	f.Add(halves(0x7fc0, 0x7f80, 0xff80, 0, 0x8000, 1, 0x3f80, 0xbf80, 0x3f00, 0x7f7f), uint8(3), uint8(0), uint8(5), uint8(34), int32(2))
	for form := range uint8(4) {
		f.Add([]byte("some scores between 0 and 1"), form, uint8(8<<2|1), uint8(3), form, int32(-1))
		f.Add([]byte("some logits\x00\xff\x80"), form, uint8(13<<2|3), uint8(7), 9*form, int32(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, form, how, repeat, off uint8, label int32) {
		m := newMatrix(form, data, how, repeat, off)
		y := someLabels(m.n, 2, label)
		for i := range y {
			if i%5 != 0 && label%3 != 0 { // mostly classes
				y[i] &= 1
			}
		}
		sameBits(t, "BinaryLogitStats", func() []uint64 {
			return statsBits(m.n, off&32 == 0, func(c *kernel.Stats) uint8 { return m.binaryLogits(c, y) })
		})
		sameBits(t, "BinaryProbStats", func() []uint64 {
			return statsBits(m.n, off&32 == 0, func(c *kernel.Stats) uint8 { return m.binaryProbs(c, y) })
		})
	})
}

// mapBits runs an element-wise kernel and returns all that it writes and what stands beside.
func mapBits[S any, D float32 | float64](run func([]D, []S), x []S, off uint8, inPlace bool, bits func(D) uint64) func() []uint64 {
	return func() []uint64 {
		skip := int(off >> 5)
		d := sevens[D](skip + len(x))
		to, from := d[beside+skip:beside+skip+len(x)], x
		if same, ok := any(x).([]D); ok && inPlace {
			copy(to, same)
			from = any(to).([]S)
		}
		run(to, from)
		return appendBits(nil, bits, d...)
	}
}

func FuzzLevelsElementwise(f *testing.F) {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 0x1p-149, 0x1p-126, 0x1p-1022,
		88.7, 89, -87.3, -103.9, -104, 709.7, 710, -708.4, -745.1, -746, math.MaxFloat32, math.MaxFloat64, math.Sqrt2, math.Ln2}
	f.Add(bytes64(special...), uint8(0), uint8(0), uint8(0), false)
	f.Add(bytes32(to32(special)...), uint8(0), uint8(1), uint8(33), true)
	f.Add(halves(0x7e00, 0xfe55, 0x7c01, 0xfc00, 0x8000, 1, 0x03ff, 0x0400, 0x7bff, 0x7fc0, 0x7f81, 0xff80), uint8(0), uint8(4), uint8(70), false)
	f.Add([]byte("from -100 to 100"), uint8(16<<2|3), uint8(9), uint8(7), true)
	f.Add([]byte("from 0 to 1"), uint8(8<<2|1), uint8(9), uint8(7), false)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat, off uint8, inPlace bool) {
		f32 := elements(data, how, repeat, off, 4, single, func(v float64) float32 { return float32(v) })
		f64 := elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v })
		f16 := elements(data, how, repeat, off, 2, half, toHalf)
		sameBits(t, "ExpSliceF32", mapBits(kernel.ExpSliceF32, f32, off, inPlace, class32))
		sameBits(t, "LogSliceF32", mapBits(kernel.LogSliceF32, f32, off, inPlace, class32))
		sameBits(t, "ExpSliceF64", mapBits(kernel.ExpSliceF64, f64, off, inPlace, class64))
		sameBits(t, "LogSliceF64", mapBits(kernel.LogSliceF64, f64, off, inPlace, class64))
		sameBits(t, "WidenF16", mapBits(kernel.WidenF16, f16, off, inPlace, raw32))
		sameBits(t, "WidenBF16", mapBits(kernel.WidenBF16, f16, off, inPlace, raw32))
	})
}

func FuzzLevelsBins(f *testing.F) {
	special := bytes64(0, 0.1, 0.30000000000000004, 0.3, 1, -1, 2, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, math.Copysign(0, -1), 1e300)
	for _, n := range []uint16{0, 9, 14, 99} {
		f.Add(special, uint8(0), uint8(9), uint8(n), n, n%2 == 0)
		f.Add([]byte("these are scores from 0 to 1"), uint8(8<<2|1), uint8(9), uint8(1), n, n%2 == 0)
	}
	f.Add(bytes64(ramp(100, 0, 0.01)...), uint8(0), uint8(1), uint8(3), uint16(99), true)
	f.Add(bytes64(2047, -2047, 2048, 31.9, -32, 0x1p-41, 0x1p-89, 4194303, -1024), uint8(0), uint8(20), uint8(3), uint16(7), false)
	windows := []*kernel.Window{&kernel.WindowUnit, &kernel.WindowBrier, &kernel.WindowBrier2, &kernel.WindowEntropy, &kernel.WindowEntropy2,
		&kernel.WindowNLL, &kernel.WindowNLL2}
	f.Fuzz(func(t *testing.T, data []byte, how, repeat, off uint8, bins uint16, right bool) {
		p := elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v })
		p = p[:min(len(p), kernel.MaxSum)]
		side := kernel.LeftClosed
		if right {
			side = kernel.RightClosed
		}
		equal := kernel.Edges(1 + int(bins)%2000)
		var given []float64 // the scores that rise
		for _, v := range p {
			if v == v && (len(given) == 0 || v >= given[len(given)-1]) {
				given = append(given, v)
			}
		}
		bin := func(run func([]int32, []float64, []float64, kernel.Side), edges []float64) func() []uint64 {
			return func() []uint64 {
				d := sevens[int32](len(p))
				run(d[beside:beside+len(p)], p, edges, side)
				return appendBits(nil, index, d...)
			}
		}
		sameBits(t, "BinEqual", bin(kernel.BinEqual, equal))
		sameBits(t, "BinEdges", bin(kernel.BinEdges, equal))
		if len(given) > 1 {
			sameBits(t, "BinEdges", bin(kernel.BinEdges, given))
		}

		scores, y, where := make([]float64, len(p)), make([]uint8, len(p)), make([]int32, len(p))
		kernel.BinEqual(where, p, equal, side)
		for i, v := range p {
			y[i] = uint8((i*int(bins+1) + i/3) & 1)
			scores[i] = v
			if where[i] >= 0 { // one that is not a score is in no bin
				scores[i] = min(max(v, 0), 1)
			}
		}
		sameBits(t, "BinSums", func() []uint64 {
			sums := make([]kernel.BinSum, len(equal)+2)
			kernel.BinSums(sums[1:len(equal)], where, scores, y)
			return appendBits(nil, func(v int64) uint64 { return uint64(v) }, flat(sums)...)
		})
		for _, w := range windows {
			sameBits(t, "FixedSums", func() []uint64 {
				hi, lo, out := kernel.FixedSums(p, w)
				return []uint64{uint64(hi), uint64(lo), uint64(out)}
			})
		}
	})
}

func flat(sums []kernel.BinSum) (v []int64) {
	for _, s := range sums {
		v = append(v, s.N, s.Y, s.P, s.PP, s.PY)
	}
	return v
}

func FuzzLevelsGrid(f *testing.F) {
	places, _ := kernel.GridPlaces()
	f.Add(bytes64(places...), uint8(0), uint8(0), uint8(0), true)
	f.Add(bytes64(0, 0.3, 0.1, 0.5, 1, -1, 2, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, -5e-324, math.Copysign(0, -1), 0x1p-64, 0.0099), uint8(0), uint8(9), uint8(1), true)
	f.Add(bytes64(ramp(100, 0, 0.01)...), uint8(0), uint8(9), uint8(2), true)
	// NaN of the sign of a negative number, with tails that are in a cell.
	odd := math.Float64frombits(0xffff000000000000)
	f.Add(bytes64(append(slices.Repeat([]float64{odd}, 40), slices.Repeat([]float64{0x1.e8p-61}, 40)...)...), uint8(0), uint8(0), uint8(0), false)
	f.Add([]byte("these are scores from 0 to 1"), uint8(8<<2|1), uint8(99), uint8(3), true)
	f.Add([]byte("and these are not"), uint8(9<<2|3), uint8(99), uint8(4), false)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat, off uint8, rest bool) {
		p := elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v })
		tail, y := make([]float64, len(p)), make([]uint8, len(p))
		for i, v := range p {
			y[i] = uint8((i*int(off+1) + i/3) & 1)
			tail[i] = p[len(p)-1-i]
			if rest {
				tail[i] = 1 - v
			}
		}
		sameBits(t, "GridSums", func() []uint64 {
			cells := make([]kernel.GridCell, kernel.GridSize()+2)
			b := []uint64{uint64(kernel.GridSums(cells[1:len(cells)-1], p, tail, y))}
			for _, c := range cells {
				b = append(b, c.N, c.Q, c.QQ)
			}
			return b
		})
	})
}
