package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// A rowForm is a type of elements with the kernels that take rows of them; D is what its softmax gives.
type rowForm[T, D check.Element] struct {
	kernels  []rowKernel[T, D]
	from     func(float64) T // rounds somehow; a NaN stays one
	bits     func(uint64) T
	specials []T
	offsets  int     // elements in 64 bytes
	huge     float64 // the largest finite number
	small    float64 // the smallest positive one
	far      float64 // the largest logit from which a long row is far
	low      float64 // the difference to the largest logit where terms are clamped
}

// A rowKernel is a function that takes rows, or one score a row. One of its functions is set.
type rowKernel[T, D check.Element] struct {
	name     string
	stats    func(c *Stats, x []T, rows, k, stride int, labels []int32) uint8
	matrix   func(dst []D, dstStride int, x []T, rows, k, stride int)
	sums     func(dst []float64, x []T, rows, k, stride int)
	index    func(dst []int32, x []T, rows, k, stride int)
	binary   func(c *Stats, x []T, labels []int32) uint8
	tempered func(c *Tempered, x []T, rows, k, stride int, labels []int32)
}

const maxLevelRows = 2000

// rowTests are what the kernels of each form go through.
type rowTests interface {
	shapes(t *testing.T)
	offset(t *testing.T)
	guards(t *testing.T)
	values(t *testing.T)
	positions(t *testing.T)
	scores(t *testing.T)
}

func float32Form(kernels []rowKernel[float32, float32]) rowTests {
	return &rowForm[float32, float32]{
		kernels:  kernels,
		from:     func(v float64) float32 { return float32(v) },
		bits:     func(u uint64) float32 { return math.Float32frombits(uint32(u)) },
		specials: check.Specials32(), offsets: 16,
		huge: math.MaxFloat32, small: 0x1p-149, far: 0x1p21 * math.Ln2, low: -125 * math.Ln2,
	}
}

func float64Form(kernels []rowKernel[float64, float64]) rowTests {
	return &rowForm[float64, float64]{
		kernels: kernels, from: func(v float64) float64 { return v }, bits: math.Float64frombits,
		specials: check.Specials64(), offsets: 8,
		huge: math.MaxFloat64, small: 0x1p-1074, far: 0x1p50 * math.Ln2, low: -1020 * math.Ln2,
	}
}

func halfForm(kernels []rowKernel[uint16, float32], from func(float32) uint16, specials []uint16, huge, small float64) rowTests {
	return &rowForm[uint16, float32]{
		kernels: kernels, from: func(v float64) uint16 { return from(float32(v)) }, bits: func(u uint64) uint16 { return uint16(u) },
		specials: specials, offsets: 32,
		huge: huge, small: small, far: min(0x1p21*math.Ln2, huge), low: -125 * math.Ln2,
	}
}

var rowForms = []rowTests{
	float32Form([]rowKernel[float32, float32]{
		{name: "LogitStatsF32", stats: LogitStatsF32}, {name: "ProbStatsF32", stats: ProbStatsF32},
		{name: "SoftmaxF32", matrix: SoftmaxF32}, {name: "LogSoftmaxF32", matrix: LogSoftmaxF32},
		{name: "LogSumExpF32", sums: LogSumExpF32}, {name: "ArgMaxF32", index: ArgMaxF32},
		{name: "BinaryLogitStatsF32", binary: BinaryLogitStatsF32}, {name: "BinaryProbStatsF32", binary: BinaryProbStatsF32},
		tempered[float32, float32]("TemperedF32, 0.7", TemperedF32, 0.7), tempered[float32, float32]("TemperedF32, 30", TemperedF32, 30),
		scaled("ScaledSoftmaxF32, 0.7", ScaledSoftmaxF32, 0.7), scaled("ScaledSoftmaxF32, 1e-7", ScaledSoftmaxF32, 1e-7),
	}),
	float64Form([]rowKernel[float64, float64]{
		{name: "LogitStatsF64", stats: LogitStatsF64}, {name: "ProbStatsF64", stats: ProbStatsF64},
		{name: "SoftmaxF64", matrix: SoftmaxF64}, {name: "LogSoftmaxF64", matrix: LogSoftmaxF64},
		{name: "LogSumExpF64", sums: LogSumExpF64}, {name: "ArgMaxF64", index: ArgMaxF64},
		{name: "BinaryLogitStatsF64", binary: BinaryLogitStatsF64}, {name: "BinaryProbStatsF64", binary: BinaryProbStatsF64},
		tempered[float64, float64]("TemperedF64, 0.7", TemperedF64, 0.7), tempered[float64, float64]("TemperedF64, 30", TemperedF64, 30),
		scaled("ScaledSoftmaxF64, 0.7", ScaledSoftmaxF64, 0.7), scaled("ScaledSoftmaxF64, 1e-7", ScaledSoftmaxF64, 1e-7),
	}),
	halfForm([]rowKernel[uint16, float32]{
		{name: "LogitStatsF16", stats: LogitStatsF16}, {name: "ProbStatsF16", stats: ProbStatsF16},
		{name: "SoftmaxF16", matrix: SoftmaxF16}, {name: "LogSoftmaxF16", matrix: LogSoftmaxF16},
		{name: "LogSumExpF16", sums: LogSumExpF16}, {name: "ArgMaxF16", index: ArgMaxF16},
		{name: "BinaryLogitStatsF16", binary: BinaryLogitStatsF16}, {name: "BinaryProbStatsF16", binary: BinaryProbStatsF16},
		tempered[uint16, float32]("TemperedF16, 0.7", TemperedF16, 0.7),
		scaled("ScaledSoftmaxF16, 0.7", ScaledSoftmaxF16, 0.7),
	}, f16Bits, check.SpecialHalf(), 65504, 0x1p-24),
	halfForm([]rowKernel[uint16, float32]{
		{name: "LogitStatsBF16", stats: LogitStatsBF16}, {name: "ProbStatsBF16", stats: ProbStatsBF16},
		{name: "SoftmaxBF16", matrix: SoftmaxBF16}, {name: "LogSoftmaxBF16", matrix: LogSoftmaxBF16},
		{name: "LogSumExpBF16", sums: LogSumExpBF16}, {name: "ArgMaxBF16", index: ArgMaxBF16},
		{name: "BinaryLogitStatsBF16", binary: BinaryLogitStatsBF16}, {name: "BinaryProbStatsBF16", binary: BinaryProbStatsBF16},
		tempered[uint16, float32]("TemperedBF16, 0.7", TemperedBF16, 0.7),
		scaled("ScaledSoftmaxBF16, 0.7", ScaledSoftmaxBF16, 0.7),
	}, func(v float32) uint16 { return uint16(math.Float32bits(v) >> 16) }, check.SpecialBF16(), 0x1.fep127, 0x1p-133),
}

// tempered and scaled return kernels that take a beta with theirs.
func tempered[T, D check.Element](name string, run func(*Tempered, []T, int, int, int, []int32, float64), beta float64) rowKernel[T, D] {
	return rowKernel[T, D]{name: name, tempered: func(c *Tempered, x []T, rows, k, stride int, labels []int32) {
		run(c, x, rows, k, stride, labels, beta)
	}}
}

func scaled[T, D check.Element](name string, run func([]D, int, []T, int, int, int, float64), beta float64) rowKernel[T, D] {
	return rowKernel[T, D]{name: name, matrix: func(dst []D, dstStride int, x []T, rows, k, stride int) {
		run(dst, dstStride, x, rows, k, stride, beta)
	}}
}

func eachForm(t *testing.T, test func(rowTests, *testing.T)) {
	logCompared(t)
	for _, f := range rowForms {
		test(f, t)
	}
}

func TestLevelsShapes(t *testing.T)    { eachForm(t, rowTests.shapes) }
func TestLevelsOffsets(t *testing.T)   { eachForm(t, rowTests.offset) }
func TestLevelsGuards(t *testing.T)    { eachForm(t, rowTests.guards) }
func TestLevelsValues(t *testing.T)    { eachForm(t, rowTests.values) }
func TestLevelsPositions(t *testing.T) { eachForm(t, rowTests.positions) }
func TestLevelsScores(t *testing.T)    { eachForm(t, rowTests.scores) }

// A rowCase is one call but for the kernel.
type rowCase[T check.Element] struct {
	rows, k, stride, dstStride int
	in, out                    place
	extra                      int // elements that columns, labels and matrices have more than they need
	rank, positive, inPlace    bool
	fill                       func(i int, row []T)
	what                       func(i int) string // what fill made of row i
	label                      func(i int) int32
	elements                   []T // what fill made of all rows, without gaps
	labels                     []int32
}

// make draws the elements and the labels.
func (c *rowCase[T]) make() {
	c.elements, c.labels = make([]T, c.rows*c.k), make([]int32, c.rows)
	for i := range c.rows {
		c.fill(i, c.elements[i*c.k:][:c.k])
	}
	for i := range c.labels {
		c.labels[i] = c.label(i)
	}
}

func (c *rowCase[T]) String() string {
	return fmt.Sprintf("rows=%d k=%d stride=%d dstStride=%d in=%v out=%v extra=%d rank=%v positive=%v inPlace=%v",
		c.rows, c.k, c.stride, c.dstStride, c.in, c.out, c.extra, c.rank, c.positive, c.inPlace)
}

// A levelStage is the memory where the calls of a form take place, and what its cases are drawn from.
type levelStage[T, D check.Element] struct {
	*rowForm[T, D]
	r        *rand.Rand
	patterns []rowPattern[T]
	x        *levelRoom[T]
	dst      *levelRoom[D]
	labels   *levelRoom[int32]
	floats   [8]*levelRoom[float64]
	ints     [2]*levelRoom[int32]
	bytes    *levelRoom[uint8]
}

// each runs the cases that a test makes by every kernel that takes rows, or by every one that takes scores.
func (f *rowForm[T, D]) each(t *testing.T, scores bool, test func(s *levelStage[T, D], run func(*rowCase[T]))) {
	s := &levelStage[T, D]{rowForm: f, r: check.Rand(7), patterns: f.patternList()}
	var cases []*rowCase[T]
	size := 0
	test(s, func(c *rowCase[T]) {
		c.make()
		cases = append(cases, c)
		size = max(size, (c.rows-1)*max(c.stride, c.dstStride)+c.k+c.extra)
	})
	s.x, s.dst = newRoom[T](t, size), newRoom[D](t, size)
	s.labels, s.bytes = newRoom[int32](t, maxLevelRows+8), newRoom[uint8](t, maxLevelRows+8)
	for i := range s.floats {
		s.floats[i] = newRoom[float64](t, maxLevelRows+8)
	}
	for i := range s.ints {
		s.ints[i] = newRoom[int32](t, maxLevelRows+8)
	}
	for i := range f.kernels {
		k := &f.kernels[i]
		if (k.binary != nil) != scores {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			for _, c := range cases {
				if err := s.run(k, c); err != nil {
					t.Fatalf("%v: %v", c, err)
				}
			}
		})
	}
}

func (s *levelStage[T, D]) run(k *rowKernel[T, D], c *rowCase[T]) error {
	size := func(stride int) int { return max(0, (c.rows-1)*stride+c.k) }
	x := s.x.lay("x", c.in, size(c.stride)+c.extra, true)
	for i := range c.rows {
		copy(x.s[i*c.stride:], c.elements[i*c.k:][:c.k])
	}
	labels := s.labels.lay("labels", c.in, c.rows+c.extra, true)
	copy(labels.s, c.labels)
	column := 0
	next := func() place { // each column at its own offset
		column++
		return place{c.out.side, (c.out.off + 5*column) % 16}
	}
	sheets := []laid{x, labels}
	floats := func(name string, i int) []float64 {
		o := s.floats[i].lay(name, next(), c.rows+c.extra, false).column(c.rows)
		sheets = append(sheets, o)
		return o.s
	}
	ints := func(name string, i int) []int32 {
		o := s.ints[i].lay(name, next(), c.rows+c.extra, false).column(c.rows)
		sheets = append(sheets, o)
		return o.s
	}
	var err error
	switch {
	case k.stats != nil || k.binary != nil:
		flags := s.bytes.lay("Flags", next(), c.rows+c.extra, false).column(c.rows)
		sheets = append(sheets, flags)
		st := &Stats{Top: floats("Top", 0), Tail: floats("Tail", 1), Label: floats("Label", 2), NLL: floats("NLL", 3), Rest: floats("Rest", 4),
			Entropy: floats("Entropy", 5), Norm: floats("Norm", 6), ArgMax: ints("ArgMax", 0), Flags: flags.s}
		if c.rank {
			st.Rank = ints("Rank", 1)
		}
		if c.positive {
			st.Positive = floats("Positive", 7)
		}
		err = sameAtLevels(func() uint64 {
			if k.binary != nil {
				return uint64(k.binary(st, x.s[:c.rows], labels.s))
			}
			return uint64(k.stats(st, x.s, c.rows, c.k, c.stride, labels.s))
		}, sheets...)
	case k.tempered != nil:
		to := &Tempered{NLL: floats("NLL", 0), Slope: floats("Slope", 1), Curvature: floats("Curvature", 2), Label: floats("Label", 3)}
		err = sameAtLevels(func() uint64 { k.tempered(to, x.s, c.rows, c.k, c.stride, labels.s); return 0 }, sheets...)
	case k.matrix != nil:
		stride := c.dstStride
		in, _ := any(x.s).([]D)
		inPlace := c.inPlace && in != nil
		if inPlace {
			stride = c.stride
		}
		dst := s.dst.lay("dst", c.out, size(stride)+c.extra, false).matrix(c.rows, c.k, stride)
		dst.class = true
		from := x.s
		if inPlace {
			dst.src, from = in, any(dst.s).([]T)
		}
		err = sameAtLevels(func() uint64 { k.matrix(dst.s, stride, from, c.rows, c.k, c.stride); return 0 }, x, dst)
	case k.sums != nil:
		dst := floats("dst", 0)
		err = sameAtLevels(func() uint64 { k.sums(dst, x.s, c.rows, c.k, c.stride); return 0 }, sheets...)
	case k.index != nil:
		dst := ints("dst", 0)
		err = sameAtLevels(func() uint64 { k.index(dst, x.s, c.rows, c.k, c.stride); return 0 }, sheets...)
	}
	var slip *slip
	if i := 0; errors.As(err, &slip) && slip.row >= 0 {
		i = slip.row
		row := x.s[i*c.stride : i*c.stride+c.k]
		err = fmt.Errorf("%w; the row is %s, its label %d, its elements %v", err, c.what(i), labels.s[i], row[:min(len(row), 40)])
	}
	return err
}

// anyCase draws what a test does not walk through.
func (s *levelStage[T, D]) anyCase(rows, k int) *rowCase[T] {
	r := s.r
	pads := [...]int{0, 0, 1, 3, 16}
	c := &rowCase[T]{rows: rows, k: k, stride: k + pads[r.IntN(len(pads))], dstStride: k + pads[r.IntN(len(pads))],
		in: place{off: r.IntN(s.offsets)}, out: place{off: r.IntN(16)}, extra: max(0, r.IntN(8)-4),
		rank: r.IntN(3) > 0, positive: r.IntN(3) > 0, inPlace: r.IntN(3) == 0}
	c.label = func(i int) int32 { return anyLabel(r, c.k) }
	s.mix(c)
	return c
}

// anyLabel draws from all classes, the first, the last, and invalid labels.
func anyLabel(r *rand.Rand, k int) int32 {
	switch r.IntN(16) {
	case 0:
		bad := [...]int32{-1, int32(k), int32(k) + 1, math.MinInt32, math.MaxInt32, math.MinInt32 + int32(k), 1 << 30}
		return bad[r.IntN(len(bad))]
	case 1:
		return 0
	case 2:
		return int32(k - 1)
	}
	return int32(r.IntN(k))
}

// mix gives each row a pattern of its own.
func (s *levelStage[T, D]) mix(c *rowCase[T]) {
	picks := make([]int, c.rows)
	for i := range picks {
		picks[i] = s.r.IntN(len(s.patterns))
	}
	c.fill = func(i int, row []T) { s.patterns[picks[i]].fill(s.r, row) }
	c.what = func(i int) string { return s.patterns[picks[i]].name }
}

// all gives all rows one pattern.
func (c *rowCase[T]) all(p rowPattern[T], r *rand.Rand) {
	c.fill = func(_ int, row []T) { p.fill(r, row) }
	c.what = func(int) string { return p.name }
}

// upTo returns from, from+1, ... to.
func upTo(from, to int) (n []int) {
	for i := from; i <= to; i++ {
		n = append(n, i)
	}
	return n
}

// thin returns every so-manieth number of those that a test goes through where nothing is left out.
func thin(n []int, short, usual int) []int {
	var out []int
	for i := 0; i < len(n); i += sized(short, usual, 1) {
		out = append(out, n[i])
	}
	return out
}

// longKs are row lengths about the ends of vectors and blocks.
var longKs = []int{127, 128, 129, 255, 256, 257, 1000, 1023, 1024, 1025, 1039, 1040, 2047, 2048, 2049, 3000, 4100}

func (f *rowForm[T, D]) shapes(t *testing.T) {
	f.each(t, false, func(s *levelStage[T, D], run func(*rowCase[T])) {
		shapes := func(hands int, ks []int, rows ...int) {
			for i, k := range ks {
				for c := range deal(i, hands, len(rows)) {
					run(s.anyCase(rows[c[0]], k))
				}
			}
		}
		for range sized(1, 1, 2) {
			shapes(sized(4, 12, all), upTo(1, shortMax+1), append(upTo(0, 40), 64, 65, 100, 257)...) // rows that stand in lanes beside each other
			shapes(all, thin([]int{1, 2, 3, 4, 8, 10, 16, 31, 32}, 5, 2), maxLevelRows)
			shapes(sized(2, 4, all), upTo(shortMax+2, 80), 1, 2, 3, 4, 5, 8, 9, 17)
			shapes(sized(1, 2, all), longKs, 1, 2, 3, 5)
		}
		if full() {
			shapes(all, []int{10007, 50257}, 1, 2, 4)
			shapes(all, []int{1<<18 - 100}, 1)
		}
	})
}

func (f *rowForm[T, D]) offset(t *testing.T) {
	f.each(t, false, func(s *levelStage[T, D], run func(*rowCase[T])) {
		pads := []int{0, 1, 3}
		for i, k := range append(upTo(1, 40), 47, 48, 49, 63, 64, 65, 67, 128, 129, 1023, 1025, 1040) {
			for d := range deal(i, sized(2, 6, all), s.offsets, len(pads)) {
				c := s.anyCase(1+s.r.IntN(4), k)
				c.in.off, c.stride = d[0], k+pads[d[1]]
				run(c)
			}
			for d := range deal(i, sized(1, 3, all), 16) { // of what is written
				c := s.anyCase(3, k)
				c.out.off = d[0]
				run(c)
			}
		}
	})
}

func (f *rowForm[T, D]) guards(t *testing.T) {
	f.each(t, false, func(s *levelStage[T, D], run func(*rowCase[T])) {
		guarded := func(hands int, ks []int, rows ...int) {
			for i, k := range ks {
				for d := range deal(i, hands, len(rows), 2) {
					for _, p := range []place{{side: guardedTail}, {side: guardedFront}} {
						c := s.anyCase(rows[d[0]], k)
						c.in, c.out, c.extra = p, p, 0
						if d[1] == 0 { // no gaps
							c.stride, c.dstStride = k, k
						}
						run(c)
					}
				}
			}
		}
		guarded(sized(2, 6, all), upTo(1, 80), 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 19, 31, 33)
		guarded(sized(1, 2, all), longKs, 1, 2)
	})
}

func (f *rowForm[T, D]) values(t *testing.T) {
	f.each(t, false, func(s *levelStage[T, D], run func(*rowCase[T])) {
		for i, p := range s.patterns {
			values := func(hands, rows int, ks ...int) {
				for d := range deal(i, hands, len(ks)) {
					c := s.anyCase(rows, ks[d[0]])
					c.all(p, s.r)
					run(c)
				}
			}
			values(sized(3, 8, all), 19, upTo(1, shortMax)...) // a vector and three
			values(sized(1, 3, all), 19, upTo(shortMax+1, 67)...)
			values(sized(1, 2, all), 2, 127, 1023, 1024, 1025, 1040, 2049, sized(1039, 3000, 3000))
		}
	})
}

// positions puts every awkward value, and the largest element, and the label, at every place of short rows, and of long
// ones about the ends of rows, vectors and blocks.
func (f *rowForm[T, D]) positions(t *testing.T) {
	inf := math.Inf(1)
	// What is put into a row whose largest element is m.
	puts := []struct {
		name string
		v    func(m float64) float64
	}{
		{"NaN", func(float64) float64 { return math.NaN() }},
		{"+Inf", func(float64) float64 { return inf }},
		{"-Inf", func(float64) float64 { return -inf }},
		{"-0", func(float64) float64 { return math.Copysign(0, -1) }},
		{"a subnormal number", func(float64) float64 { return f.small }},
		{"a negative subnormal number", func(float64) float64 { return -f.small }},
		{"the largest number", func(float64) float64 { return f.huge }},
		{"its negative", func(float64) float64 { return -f.huge }},
		{"a new maximum", func(m float64) float64 { return m + 1 }},
		{"a distant maximum", func(m float64) float64 { return m + 1000 }},
		{"the maximum once more", func(m float64) float64 { return m }},
		{"1", func(float64) float64 { return 1 }},
	}
	f.each(t, false, func(s *levelStage[T, D], run func(*rowCase[T])) {
		try := func(at []int, k, hand int, put func(i int) int) {
			c := s.anyCase(len(at), k)
			scale, off := 1.0, 0.0
			if hand%2 == s.r.IntN(2) {
				scale = 0.1 // probabilities, nearly
				off = 0.4
			}
			c.fill = func(i int, row []T) {
				m := -inf
				for j := range row {
					v := float64(float32(s.r.Float64()*scale + off))
					m = max(m, v)
					row[j] = s.from(v)
				}
				row[at[i]] = s.from(puts[put(i)].v(m))
			}
			c.what = func(i int) string { return fmt.Sprintf("%s at %d", puts[put(i)].name, at[i]) }
			if hand%3 != 0 {
				c.label = func(i int) int32 { return int32(at[i]) }
			}
			run(c)
		}
		long := []int{129, 1024, 1025, 1040, 1063, 2049, 3000}
		for i, k := range append(upTo(1, 36), 47, 48, 49, 63, 64, 65, 66, 67) {
			for d := range deal(i, sized(2, 4, all), len(puts)) {
				try(upTo(0, k-1), k, d[0], func(int) int { return d[0] })
			}
		}
		for i, k := range sized([]int{129, 1024, 1025, 1040, 2049}, long, long) {
			at := append(upTo(0, 17), 31, 32, 63, 64)
			for b := blockLen; b < k; b += blockLen {
				at = append(at, b-1, b, b+1, b+15, b+16)
			}
			at = slices.DeleteFunc(append(at, upTo(k-20, k-1)...), func(j int) bool { return j < 0 || j >= k })
			for d := range deal(i, sized(1, 2, all), len(puts)) {
				try(at, k, d[0], func(row int) int {
					if full() {
						return d[0]
					}
					return (d[0] + row) % len(puts) // rows so long are taken one by one
				})
			}
		}
	})
}

// scores are the kernels that take one score a row.
func (f *rowForm[T, D]) scores(t *testing.T) {
	f.each(t, true, func(s *levelStage[T, D], run func(*rowCase[T])) {
		scores := func(n int) *rowCase[T] {
			c := s.anyCase(n, 1)
			c.k, c.stride = 1, 1
			c.label = func(int) int32 { return anyLabel(s.r, 2) }
			if s.r.IntN(2) == 0 { // faults may lead all lanes elsewhere
				c.label = func(int) int32 { return int32(s.r.IntN(2)) }
			}
			return c
		}
		for i, n := range lengths(s.offsets) {
			for _, p := range places(i, s.offsets) {
				c := scores(n)
				c.in, c.out = p, p
				if p.side != unguarded {
					c.extra = 0
				}
				run(c)
			}
		}
		if full() {
			for off := range s.offsets {
				for _, n := range []int{1, 15, 16, 17, 33, 67} {
					c := scores(n)
					c.in.off = off
					run(c)
				}
			}
		}
		for i, v := range s.specials {
			for d := range deal(i, sized(5, 10, all), 35) {
				n := 1 + d[0]
				at := s.r.IntN(n)
				c := scores(n)
				c.fill = func(i int, row []T) {
					if row[0] = s.from(s.r.Float64()); i == at {
						row[0] = v
					}
				}
				c.what = func(i int) string { return fmt.Sprintf("beside %v at %d", v, at) }
				run(c)
			}
		}
		for _, p := range s.patterns {
			c := scores(sized(131, 131, maxLevelRows))
			c.all(p, s.r)
			run(c)
		}
		s.sweep(func(x []T) {
			c := scores(len(x))
			c.fill = func(i int, row []T) { row[0] = x[i] }
			c.what = func(int) string { return "of a sweep" }
			run(c)
		})
	})
}

// sweep gives f elements of all magnitudes, a few thousand at a time: all that there are, if they have 16 bits, and for
// others those near the special ones, those below 1200 of all exponents, and any bits.
func (s *levelStage[T, D]) sweep(f func(x []T)) {
	var x []T
	put := func(v T) {
		if x = append(x, v); len(x) == maxLevelRows {
			f(x)
			x = x[:0]
		}
	}
	if s.offsets == 32 {
		for u := uint64(0); u < 1<<16; u += sized[uint64](7, 1, 1) {
			put(s.bits(u))
		}
	} else {
		n := sized(5_000, 50_000, 200_000)
		for _, v := range s.specials {
			for d := range uint64(200) {
				put(s.bits(bitsOf(v) + d - 100))
			}
		}
		for range n {
			put(s.bits(s.r.Uint64()))
			put(s.from(math.Ldexp(s.r.Float64()-0.5, s.r.IntN(40)-28)))
		}
	}
	f(x)
}

// A rowPattern is a kind of row.
type rowPattern[T any] struct {
	name string
	fill func(r *rand.Rand, row []T)
}

// patternList are kinds of logits and of probabilities. Each kernel gets all of them: none promises less for the others'.
func (f *rowForm[T, D]) patternList() []rowPattern[T] {
	var list []rowPattern[T]
	clamp := func(v float64) T {
		if v > f.huge && !math.IsInf(v, 1) {
			v = f.huge
		} else if v < -f.huge && !math.IsInf(v, -1) {
			v = -f.huge
		}
		return f.from(v)
	}
	// add takes a function that starts a row and returns what gives its elements.
	add := func(name string, start func(r *rand.Rand, k int) func(j int) float64) {
		list = append(list, rowPattern[T]{name, func(r *rand.Rand, row []T) {
			v := start(r, len(row))
			for j := range row {
				row[j] = clamp(v(j))
			}
		}})
	}
	inf, nan, neg0 := math.Inf(1), math.NaN(), math.Copysign(0, -1)

	for _, scale := range []float64{0.1, 1, 10, 100, 1e4, 1e6, f.huge / 4} {
		add(fmt.Sprint("bell-shaped of scale ", scale), func(r *rand.Rand, k int) func(int) float64 {
			return func(int) float64 { return r.NormFloat64() * scale }
		})
	}
	for _, step := range []float64{0.07, 3, f.huge / 5000} {
		add(fmt.Sprint("rising by ", step), func(r *rand.Rand, k int) func(int) float64 {
			return func(j int) float64 { return step * (float64(j) - float64(k)/2) }
		})
		add(fmt.Sprint("falling by ", step), func(r *rand.Rand, k int) func(int) float64 {
			return func(j int) float64 { return step * (float64(k)/2 - float64(j)) }
		})
	}
	// Blocks that raise or lower the maximum by little, by what scales a sum away, and by what leaves the exponents.
	for _, steps := range [][]float64{{0.01, 0.5, 3, 30}, {43, 60, 86, 87, 90, 104, 125}, {350, 500, 692, 694, 706, 709, 710, 745, 1100}} {
		for _, sign := range []float64{1, -1} {
			add(fmt.Sprintf("its blocks %v or so apart", sign*steps[0]), func(r *rand.Rand, k int) func(int) float64 {
				step := sign * steps[r.IntN(len(steps))]
				return func(j int) float64 { return step*float64(j/blockLen) + r.NormFloat64() }
			})
		}
	}
	add("equal", func(r *rand.Rand, k int) func(int) float64 {
		v := [...]float64{0, neg0, 1, -3.5, 1 / float64(k), f.huge, -f.huge, f.small, 88, -745}[r.IntN(10)]
		return func(int) float64 { return v }
	})
	add("with a peak", func(r *rand.Rand, k int) func(int) float64 {
		at, v := r.IntN(k), [...]float64{5, 20, 50, 62, 63, 64, 88, 104, 300, 720, 800}[r.IntN(11)]
		return func(j int) float64 {
			if j == at {
				return v
			}
			return r.NormFloat64()
		}
	})
	add("two-fold at the top", func(r *rand.Rand, k int) func(int) float64 {
		a, b := r.IntN(k), r.IntN(k)
		return func(j int) float64 {
			if j == a || j == b {
				return 1
			}
			return r.Float64()
		}
	})
	add("of few values", func(r *rand.Rand, k int) func(int) float64 {
		return func(int) float64 { return float64(r.IntN(5)-2) / 2 }
	})
	add("of zeros", func(r *rand.Rand, k int) func(int) float64 {
		return func(int) float64 { return [...]float64{0, neg0, neg0, -1}[r.IntN(4)] }
	})
	add("of -0 and less", func(r *rand.Rand, k int) func(int) float64 {
		return func(int) float64 { return [...]float64{neg0, neg0, -f.small, -1}[r.IntN(4)] }
	})
	for _, v := range []float64{-inf, inf, nan} {
		add(fmt.Sprint("with some ", v), func(r *rand.Rand, k int) func(int) float64 {
			return func(int) float64 {
				if r.IntN(3) == 0 {
					return v
				}
				return r.NormFloat64()
			}
		})
		add(fmt.Sprint("all ", v), func(r *rand.Rand, k int) func(int) float64 {
			return func(int) float64 { return v }
		})
		add(fmt.Sprintf("with one %v", v), func(r *rand.Rand, k int) func(int) float64 {
			at := r.IntN(k)
			return func(j int) float64 {
				if j == at {
					return v
				}
				return r.Float64() / float64(k)
			}
		})
		add(fmt.Sprintf("%v but for one", v), func(r *rand.Rand, k int) func(int) float64 {
			at := r.IntN(k)
			return func(j int) float64 {
				if j == at {
					return r.NormFloat64()
				}
				return v
			}
		})
		add(fmt.Sprintf("%v in its first part", v), func(r *rand.Rand, k int) func(int) float64 {
			n := min(blockLen, k-1)
			return func(j int) float64 {
				if j < n {
					return v
				}
				return r.NormFloat64()
			}
		})
	}
	add("subnormal", func(r *rand.Rand, k int) func(int) float64 {
		return func(int) float64 { return f.small * float64(r.IntN(400)-200) }
	})
	add("of multiples of ln(2)/2", func(r *rand.Rand, k int) func(int) float64 {
		return func(int) float64 { return float64(r.IntN(300)-250) * math.Ln2 / 2 }
	})
	add("of all exponents", func(r *rand.Rand, k int) func(int) float64 {
		return func(int) float64 { return math.Ldexp(r.Float64()*2-1, r.IntN(60)-40) }
	})
	// Where a tail is taken as none, where terms are clamped, and where rows are far.
	add("about the least tail", func(r *rand.Rand, k int) func(int) float64 {
		at, v := r.IntN(k), -90*math.Ln2-math.Log(float64(max(k-1, 1)))
		return func(j int) float64 {
			if j == at {
				return 0
			}
			return v + r.NormFloat64()/float64(k)
		}
	})
	add("about the least term", func(r *rand.Rand, k int) func(int) float64 {
		at, top := r.IntN(k), float64(r.IntN(3)-1)*7.3
		return func(j int) float64 {
			if j == at {
				return top
			}
			return top + f.low*(1+r.NormFloat64()/100)
		}
	})
	for _, far := range []float64{f.far, -f.far, 1.5 * f.far, -1.5 * f.far} {
		add(fmt.Sprint("about ", far), func(r *rand.Rand, k int) func(int) float64 {
			at, top := r.IntN(k), far*(1+float64(r.IntN(9)-4)*0x1p-23)
			return func(j int) float64 {
				if j == at {
					return top
				}
				return top - r.ExpFloat64()*20
			}
		})
	}
	add("far in its last part", func(r *rand.Rand, k int) func(int) float64 {
		return func(j int) float64 {
			if j >= k-3 {
				return 2 * f.far
			}
			return r.NormFloat64()
		}
	})
	add("of log-probabilities", func(r *rand.Rand, k int) func(int) float64 {
		l := math.Log(float64(k))
		return func(int) float64 { return math.Log(r.ExpFloat64()+0x1p-60) - l }
	})

	// simplex is a row of probabilities; a power makes it less even.
	simplex := func(r *rand.Rand, k int) []float64 {
		p, sum, power := make([]float64, k), 0.0, float64(int(1)<<r.IntN(4))
		for j := range p {
			p[j] = math.Pow(r.ExpFloat64(), power)
			sum += p[j]
		}
		for j := range p {
			p[j] /= sum
		}
		return p
	}
	add("of probabilities", func(r *rand.Rand, k int) func(int) float64 {
		p := simplex(r, k)
		return func(j int) float64 { return p[j] }
	})
	add("of sorted probabilities", func(r *rand.Rand, k int) func(int) float64 {
		p := simplex(r, k)
		slices.Sort(p)
		return func(j int) float64 { return p[j] }
	})
	for _, v := range []float64{1.5, -0.25, f.huge, -f.huge, 1 + 0x1p-7, -f.small} {
		add(fmt.Sprintf("of probabilities with some %v", v), func(r *rand.Rand, k int) func(int) float64 {
			p, n := simplex(r, k), 1+r.IntN(k)
			return func(j int) float64 {
				if r.IntN(n) == 0 {
					return v
				}
				return p[j]
			}
		})
	}
	add("of huge numbers of both signs", func(r *rand.Rand, k int) func(int) float64 {
		return func(int) float64 { return f.huge * float64(1-2*r.IntN(2)) }
	})
	add("one-hot", func(r *rand.Rand, k int) func(int) float64 {
		at, rest := r.IntN(k), [...]float64{0, 0, neg0, 1e-7 / float64(k), f.small}[r.IntN(5)]
		return func(j int) float64 {
			if j == at {
				return 1 - rest
			}
			return rest
		}
	})
	add("of small probabilities", func(r *rand.Rand, k int) func(int) float64 {
		e := int(-math.Log2(f.small))
		return func(int) float64 { return math.Ldexp(r.Float64(), -r.IntN(e)) }
	})
	for _, only := range []struct {
		name string
		keep func(T) bool
	}{
		{"of any bits", func(T) bool { return true }},
		{"of any finite bits", func(v T) bool { d := widenAny(v, f.huge); return d-d == 0 }},
		{"of any bits from 0 to 1", func(v T) bool { d := widenAny(v, f.huge); return d >= 0 && d <= 1 }},
	} {
		list = append(list, rowPattern[T]{only.name, func(r *rand.Rand, row []T) {
			for j := range row {
				for {
					if row[j] = f.bits(r.Uint64()); only.keep(row[j]) {
						break
					}
				}
			}
		}})
	}
	list = append(list, rowPattern[T]{"of special values", func(r *rand.Rand, row []T) {
		for j := range row {
			row[j] = f.specials[r.IntN(len(f.specials))]
		}
	}}, rowPattern[T]{"with one special value", func(r *rand.Rand, row []T) {
		for j := range row {
			row[j] = f.from(r.Float64())
		}
		row[r.IntN(len(row))] = f.specials[r.IntN(len(f.specials))]
	}})
	return list
}

// widenAny returns an element's value; the largest finite number tells the 16-bit types apart.
func widenAny(v any, huge float64) float64 {
	switch v := v.(type) {
	case float32:
		return float64(v)
	case float64:
		return v
	case uint16:
		if huge == 65504 {
			return float64(widenF16(v))
		}
		return float64(math.Float32frombits(uint32(v) << 16))
	}
	panic("not an element")
}
