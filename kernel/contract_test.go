package kernel

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// TestPanics: every wrong shape panics with its constant text and before anything is written.
func TestPanics(t *testing.T) {
	f32, f64, u16 := make([]float32, 20), make([]float64, 20), make([]uint16, 20)
	i32, y := make([]int32, 20), make([]int32, 20)
	type shape struct{ rows, k, stride int }
	bad := []shape{{-1, 2, 2}, {1, 0, 0}, {1, 0, 4}, {1, -1, 4}, {1, 4, 3}, {2, 4, -4}, {1, 21, 21}, {6, 4, 4}, {3, 4, 9},
		{math.MaxInt, 4, 4}, {2, 4, math.MaxInt}, {math.MaxInt, 1, math.MaxInt}, {0, 0, 0}, {0, 2, 1}}
	good := []shape{{5, 4, 4}, {3, 4, 8}, {20, 1, 1}, {1, 20, 20}, {1, 20, math.MaxInt}, {0, 4, 4}, {0, math.MaxInt, math.MaxInt}}
	cols, scratch := newStats(20), make([]float32, SortRowsScratch(20))
	samplesScratch := SampleSpreadScratch(20)
	matrix := map[string]func(s shape){
		"LogitStatsF32":  func(s shape) { LogitStatsF32(cols, f32, s.rows, s.k, s.stride, y) },
		"LogitStatsF64":  func(s shape) { LogitStatsF64(cols, f64, s.rows, s.k, s.stride, y) },
		"LogitStatsF16":  func(s shape) { LogitStatsF16(cols, u16, s.rows, s.k, s.stride, y) },
		"LogitStatsBF16": func(s shape) { LogitStatsBF16(cols, u16, s.rows, s.k, s.stride, y) },
		"ProbStatsF32":   func(s shape) { ProbStatsF32(cols, f32, s.rows, s.k, s.stride, y) },
		"ProbStatsF64":   func(s shape) { ProbStatsF64(cols, f64, s.rows, s.k, s.stride, y) },
		"ProbStatsF16":   func(s shape) { ProbStatsF16(cols, u16, s.rows, s.k, s.stride, y) },
		"ProbStatsBF16":  func(s shape) { ProbStatsBF16(cols, u16, s.rows, s.k, s.stride, y) },
		"SoftmaxF32":     func(s shape) { SoftmaxF32(make([]float32, 20), s.stride, f32, s.rows, s.k, s.stride) },
		"SoftmaxF64":     func(s shape) { SoftmaxF64(make([]float64, 20), s.stride, f64, s.rows, s.k, s.stride) },
		"SoftmaxF16":     func(s shape) { SoftmaxF16(make([]float32, 20), s.stride, u16, s.rows, s.k, s.stride) },
		"SoftmaxBF16":    func(s shape) { SoftmaxBF16(make([]float32, 20), s.stride, u16, s.rows, s.k, s.stride) },
		"softmax, dst":   func(s shape) { SoftmaxF32(make([]float32, 20), s.stride, make([]float32, 400), s.rows, s.k, s.k) },
		"LogSoftmaxF32":  func(s shape) { LogSoftmaxF32(make([]float32, 20), s.stride, f32, s.rows, s.k, s.stride) },
		"LogSoftmaxF64":  func(s shape) { LogSoftmaxF64(make([]float64, 20), s.stride, f64, s.rows, s.k, s.stride) },
		"LogSoftmaxF16":  func(s shape) { LogSoftmaxF16(make([]float32, 20), s.stride, u16, s.rows, s.k, s.stride) },
		"LogSoftmaxBF16": func(s shape) { LogSoftmaxBF16(make([]float32, 20), s.stride, u16, s.rows, s.k, s.stride) },
		"LogSumExpF32":   func(s shape) { LogSumExpF32(make([]float64, 20), f32, s.rows, s.k, s.stride) },
		"LogSumExpF64":   func(s shape) { LogSumExpF64(make([]float64, 20), f64, s.rows, s.k, s.stride) },
		"LogSumExpF16":   func(s shape) { LogSumExpF16(make([]float64, 20), u16, s.rows, s.k, s.stride) },
		"LogSumExpBF16":  func(s shape) { LogSumExpBF16(make([]float64, 20), u16, s.rows, s.k, s.stride) },
		"SortRowsF32":    func(s shape) { SortRowsF32(make([]float32, 20), s.rows, s.k, s.stride, scratch) },
		"SampleSpreadF32": func(s shape) {
			SampleSpreadF32(make([]float64, 20), f64, f32, s.rows, s.k, s.stride, f64, make([]float32, samplesScratch))
		},
		"SampleSpreadF64": func(s shape) {
			SampleSpreadF64(make([]float64, 20), make([]float64, 20), f64, s.rows, s.k, s.stride, f64, make([]float64, samplesScratch))
		},
		"ArgMaxF32":  func(s shape) { ArgMaxF32(i32, f32, s.rows, s.k, s.stride) },
		"ArgMaxF64":  func(s shape) { ArgMaxF64(i32, f64, s.rows, s.k, s.stride) },
		"ArgMaxF16":  func(s shape) { ArgMaxF16(i32, u16, s.rows, s.k, s.stride) },
		"ArgMaxBF16": func(s shape) { ArgMaxBF16(i32, u16, s.rows, s.k, s.stride) },
	}
	low := NewLowest(0.5, LeftClosed, -1)
	sums3 := func(n int) *ClassSums { return &ClassSums{make([]int64, n), make([]int64, n), make([]int64, n)} }
	classSums, list := sums3(20), make([]uint32, 20*20+ListSlack)
	matrix["LogitSoftmaxF32"] = func(s shape) { LogitSoftmaxF32(cols, make([]float32, 20), s.stride, f32, s.rows, s.k, s.stride, y) }
	matrix["LogitTermsF32"] = func(s shape) { LogitTermsF32(cols, make([]float32, 20), s.stride, f32, f32, s.rows, s.k, s.stride, y) }
	matrix["LogitSoftmaxF64"] = func(s shape) { LogitSoftmaxF64(cols, make([]float64, 20), s.stride, f64, s.rows, s.k, s.stride, y) }
	matrix["LogitSoftmaxF16"] = func(s shape) { LogitSoftmaxF16(cols, make([]float32, 20), s.stride, u16, s.rows, s.k, s.stride, y) }
	matrix["LogitSoftmaxBF16"] = func(s shape) { LogitSoftmaxBF16(cols, make([]float32, 20), s.stride, u16, s.rows, s.k, s.stride, y) }
	classes := map[string]func(s shape){
		"ClassSumsF32": func(s shape) { ClassSumsF32(classSums, list, f32, s.rows, s.k, s.stride, &low, 0) },
		"ClassSumsF64": func(s shape) { ClassSumsF64(classSums, list, f64, s.rows, s.k, s.stride, &low, 0) },
	}
	matrix["PairKLF32"] = func(s shape) { PairKLF32(make([]float64, 20), f32, f32, f32, s.rows, s.k, s.stride) }
	matrix["PairKLF64"] = func(s shape) { PairKLF64(make([]float64, 20), f64, f64, f64, s.rows, s.k, s.stride) }
	to := newTempered(20)
	matrix["TemperedF32"] = func(s shape) { TemperedF32(to, f32, s.rows, s.k, s.stride, y, 1) }
	matrix["TemperedF64"] = func(s shape) { TemperedF64(to, f64, s.rows, s.k, s.stride, y, 1) }
	matrix["TemperedF16"] = func(s shape) { TemperedF16(to, u16, s.rows, s.k, s.stride, y, 1) }
	matrix["TemperedBF16"] = func(s shape) { TemperedBF16(to, u16, s.rows, s.k, s.stride, y, 1) }
	matrix["ScaledSoftmaxF32"] = func(s shape) { ScaledSoftmaxF32(make([]float32, 20), s.stride, f32, s.rows, s.k, s.stride, 1) }
	matrix["ScaledSoftmaxF64"] = func(s shape) { ScaledSoftmaxF64(make([]float64, 20), s.stride, f64, s.rows, s.k, s.stride, 1) }
	matrix["ScaledSoftmaxF16"] = func(s shape) { ScaledSoftmaxF16(make([]float32, 20), s.stride, u16, s.rows, s.k, s.stride, 1) }
	matrix["ScaledSoftmaxBF16"] = func(s shape) { ScaledSoftmaxBF16(make([]float32, 20), s.stride, u16, s.rows, s.k, s.stride, 1) }
	c1, c2, c3 := make([]float64, 20), make([]float64, 20), make([]float64, 20)
	matrix["PairSumsF32"] = func(s shape) { PairSumsF32(c1, c2, c3, f32, f32, s.rows, s.k, s.stride) }
	matrix["PairSumsF64"] = func(s shape) { PairSumsF64(c1, c2, c3, f64, f64, s.rows, s.k, s.stride) }
	members := map[string]func(dst, members, n, stride int){
		"MeanF32": func(dst, members, n, stride int) { MeanF32(make([]float32, dst), f32, members, n, stride) },
		"MeanScaledF32": func(dst, members, n, stride int) {
			rows := 1
			if n == 0 {
				rows, n = 0, 1
			}
			MeanScaledF32(make([]float32, dst), f32, f32, members, rows, n, stride)
		},
		"MeanF64":       func(dst, members, n, stride int) { MeanF64(make([]float64, dst), f64, members, n, stride) },
		"LogMeanExpF64": func(dst, members, n, stride int) { LogMeanExpF64(make([]float64, dst), f64, members, n, stride) },
	}
	panics := func(name, want string, f func()) {
		t.Helper()
		defer func() {
			if got := fmt.Sprint(recover()); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}()
		f()
	}
	const none = "<nil>"
	isatest.Each(t, func(t *testing.T) {
		for name, f := range matrix {
			for _, s := range bad {
				if name == "softmax, dst" && s.stride > 0 && s.k > 0 && s.rows > 0 && s.rows*s.k > 400 {
					continue
				}
				panics(fmt.Sprint(name, s), errShape, func() { f(s) })
			}
			for _, s := range good {
				if name != "softmax, dst" {
					panics(fmt.Sprint(name, s), none, func() { f(s) })
				}
			}
		}
		for name, f := range classes {
			for _, s := range bad {
				panics(fmt.Sprint(name, s), errShape, func() { f(s) })
			}
			for _, s := range good {
				if s.k <= 20 {
					panics(fmt.Sprint(name, s), none, func() { f(s) })
				}
			}
		}
		for i := range 3 {
			short := sums3(4)
			for j, of := range []*[]int64{&short.N, &short.P, &short.PP} {
				if i == j {
					*of = (*of)[:3]
				}
			}
			panics(fmt.Sprint("class sums ", i), errClasses, func() { ClassSumsF32(short, list, f32, 4, 4, 4, &low, 0) })
			panics(fmt.Sprint("class sums ", i), errClasses, func() { ClassSumsF64(short, list, f64, 4, 4, 4, &low, 0) })
		}
		panics("list", errList, func() { ClassSumsF32(classSums, list[:4+ListSlack-1], f32, 4, 4, 4, &low, 0) })
		panics("list", none, func() { ClassSumsF32(classSums, list[:4+ListSlack], f32, 4, 4, 4, &low, 0) })
		for name, f := range members {
			for _, members := range []int{0, -1, math.MinInt} {
				panics(name, errMembers, func() { f(20, members, 4, 4) })
			}
			for _, s := range [][4]int{{3, 2, 4, 4}, {20, 6, 4, 4}, {20, 2, 4, 17}, {20, 2, 4, 3}, {20, 1, -1, 4}, {30, 1, 21, 21},
				{20, math.MaxInt, 1, 1}, {20, 2, 1, math.MaxInt}, {20, 1, 0, -1}} {
				panics(fmt.Sprint(name, s), errShape, func() { f(s[0], s[1], s[2], s[3]) })
			}
			for _, s := range [][4]int{{4, 2, 4, 4}, {20, 5, 4, 4}, {4, 2, 4, 16}, {0, 7, 0, 0}, {0, 7, 0, 9}, {20, 1, 20, math.MaxInt}} {
				panics(fmt.Sprint(name, s), none, func() { f(s[0], s[1], s[2], s[3]) })
			}
		}
		for i := range 4 {
			x := [][]float32{f32[:16], f32[:16], f32[:16]}
			c := [][]float64{f64[:4], f64[:4], f64[:4]}
			want := errShape
			if i < 3 {
				x[i] = x[i][:15]
				panics(fmt.Sprint("PairKLF32, matrix ", i), want, func() { PairKLF32(f64, x[0], x[1], x[2], 4, 4, 4) })
				c[i], x[i], want = c[i][:3], f32[:16], errColumns
			} else {
				want = none
			}
			panics(fmt.Sprint("PairSumsF32, column ", i), want, func() { PairSumsF32(c[0], c[1], c[2], x[0], x[1], 4, 4, 4) })
		}
		panics("LogitTermsF32, short scale", errColumns, func() { LogitTermsF32(cols, make([]float32, 20), 4, f32[:3], f32, 4, 4, 4, y) })
		panics("MeanScaledF32, short scale", errShape, func() { MeanScaledF32(make([]float32, 4), f32, f32[:3], 2, 2, 2, 4) })
		panics("MeanScaledF32, rows", errShape, func() { MeanScaledF32(make([]float32, 4), f32, f32, 1, -1, 2, 4) })
		panics("MeanScaledF32, many rows", errShape, func() { MeanScaledF32(make([]float32, 4), f32, f32, 1, math.MaxInt, 2, 4) })
		panics("MeanScaledF32, k", errShape, func() { MeanScaledF32(make([]float32, 4), f32, f32, 1, 1, 0, 4) })
		panics("PairKLF64, short column", errColumns, func() { PairKLF64(f64[:3], f64, f64, f64, 4, 4, 4) })
		panics("PairSumsF64, q", errShape, func() { PairSumsF64(c1, c2, c3, f64, f64[:15], 4, 4, 4) })
		panics("LogSumExpF32, short dst", errShape, func() { LogSumExpF32(f64[:3], f32, 4, 4, 4) })
		panics("LogSumExpF64, short dst", errShape, func() { LogSumExpF64(f64[:3], f64, 4, 4, 4) })
		panics("ArgMaxF32, short dst", errShape, func() { ArgMaxF32(i32[:3], f32, 4, 4, 4) })
		panics("ArgMaxF64, short dst", errShape, func() { ArgMaxF64(i32[:3], f64, 4, 4, 4) })

		for _, k := range []int{4, 5, 100, 1024} {
			x, n := make([]float32, k), SortRowsScratch(k)
			x[0] = 1
			panics("SortRowsF32, short scratch", errScratch, func() { SortRowsF32(x, 1, k, k, make([]float32, n-1)) })
			if x[0] != 1 {
				t.Error("SortRowsF32 writes before it panics")
			}
		}
		panics("SortRowsF32, no scratch", none, func() { SortRowsF32(f32, 6, 3, 3, nil); SortRowsF32(make([]float32, 1025), 1, 1025, 1025, nil) })

		for _, m := range []int{1, 4, 100, 1024, 1025} {
			x, one, n := make([]float32, m), []float64{7}, SampleSpreadScratch(m)
			panics("SampleSpreadF32, short scratch", errScratch, func() { SampleSpreadF32(one, one, x, 1, m, m, one, make([]float32, n-1)) })
			panics("SampleSpreadF64, short scratch", errScratch, func() { SampleSpreadF64(one, one, widen64(x), 1, m, m, one, make([]float64, n-1)) })
			for i := range 3 {
				short := [3][]float64{one, one, one}
				short[i] = nil
				panics(fmt.Sprint("SampleSpreadF32, column ", i), errColumns, func() { SampleSpreadF32(short[0], short[1], x, 1, m, m, short[2], make([]float32, n)) })
				panics(fmt.Sprint("SampleSpreadF64, column ", i), errColumns, func() { SampleSpreadF64(short[0], short[1], widen64(x), 1, m, m, short[2], make([]float64, n)) })
			}
			if one[0] != 7 {
				t.Error("SampleSpread writes before it panics")
			}
		}
		panics("SampleSpreadF32, no rows", none, func() { SampleSpreadF32(nil, nil, nil, 0, 4, 4, nil, nil) })

		for i := range 11 {
			c := newStats(4)
			short := func(p *[]float64) { *p = (*p)[:3] }
			switch i {
			case 0:
				short(&c.Top)
			case 1:
				short(&c.Tail)
			case 2:
				short(&c.Label)
			case 3:
				short(&c.NLL)
			case 4:
				short(&c.Rest)
			case 5:
				short(&c.Entropy)
			case 6:
				short(&c.Norm)
			case 7:
				short(&c.Positive)
			case 8:
				c.ArgMax = c.ArgMax[:3]
			case 9:
				c.Rank = c.Rank[:3]
			case 10:
				c.Flags = c.Flags[:3]
			}
			panics(fmt.Sprint("column ", i), errColumns, func() { LogitStatsF32(c, f32, 4, 4, 4, y) })
			panics(fmt.Sprint("column ", i), errColumns, func() { ProbStatsF64(c, f64, 4, 4, 4, y) })
			panics(fmt.Sprint("column ", i), errColumns, func() { BinaryLogitStatsF32(c, f32[:4], y) })
			panics(fmt.Sprint("column ", i), errColumns, func() { BinaryProbStatsF64(c, f64[:4], y) })
			panics(fmt.Sprint("column ", i), none, func() { LogitStatsF32(c, f32, 3, 4, 4, y) })
		}
		c := newStats(4)
		c.Entropy = nil
		panics("no entropy", errColumns, func() { ProbStatsF32(c, f32, 4, 4, 4, y) })
		c.Rest = nil // of probabilities both may be absent
		panics("no spread", none, func() { ProbStatsF32(c, f32, 4, 4, 4, y); ProbStatsF64(c, f64, 4, 4, 4, y) })
		panics("no spread", errColumns, func() { LogitStatsF32(c, f32, 4, 4, 4, y) })
		panics("no spread", errColumns, func() { BinaryProbStatsF32(c, f32[:4], y) })
		c = newStats(4)
		c.Rank, c.Positive = nil, nil // which may be absent
		panics("no rank", none, func() { LogitStatsF32(c, f32, 4, 2, 2, y); BinaryProbStatsF32(c, f32[:4], y) })
		panics("labels", errLabels, func() { LogitStatsF32(c, f32, 4, 4, 4, y[:3]) })
		panics("labels", errLabels, func() { ProbStatsBF16(c, u16, 4, 4, 4, y[:3]) })
		panics("labels", errLabels, func() { BinaryLogitStatsF64(c, f64[:4], y[:3]) })
		panics("labels", errLabels, func() { BinaryProbStatsF16(c, u16[:4], y[:3]) })

		counts, nan := make([]int64, 3), math.NaN()
		panics("CountUpTo", errLength, func() { CountUpTo(counts, f64, f64[:2]) })
		for _, edges := range [][]float64{{0, 2, 1}, {nan, 1, 2}, {0, nan, 2}, {0, 1, nan}} {
			panics("CountUpTo", errRising, func() { CountUpTo(counts, f64, edges) })
		}
		panics("CountUpTo", none, func() { CountUpTo(nil, f64, nil); CountUpTo(counts, nil, []float64{0, 0, 1}) })
		if !slices.Equal(counts, make([]int64, 3)) {
			t.Error("CountUpTo writes before it panics")
		}

		for _, beta := range []float64{0, math.Copysign(0, -1), -1, nan, math.Inf(1), math.Inf(-1)} {
			panics("TemperedF32", errBeta, func() { TemperedF32(to, f32, 4, 4, 4, y, beta) })
			panics("TemperedF64", errBeta, func() { TemperedF64(to, f64, 4, 4, 4, y, beta) })
			panics("ScaledSoftmaxF32", errBeta, func() { ScaledSoftmaxF32(make([]float32, 20), 4, f32, 4, 4, 4, beta) })
			panics("ScaledSoftmaxF64", errBeta, func() { ScaledSoftmaxF64(make([]float64, 20), 4, f64, 4, 4, 4, beta) })
		}
		for _, beta := range []float64{5e-324, math.MaxFloat64} {
			panics("TemperedF32", none, func() { TemperedF32(to, f32, 4, 4, 4, y, beta) })
			panics("ScaledSoftmaxF32", none, func() { ScaledSoftmaxF32(make([]float32, 20), 4, f32, 4, 4, 4, beta) })
		}
		panics("TemperedF32", errLabels, func() { TemperedF32(to, f32, 4, 4, 4, y[:3], 1) })
		panics("ScaledSoftmaxF32, short dst", errShape, func() { ScaledSoftmaxF32(make([]float32, 15), 4, f32, 4, 4, 4, 1) })
		for i := range 4 {
			c := newTempered(4)
			s := []*[]float64{&c.NLL, &c.Slope, &c.Curvature, &c.Label}[i]
			*s = (*s)[:3]
			panics(fmt.Sprint("TemperedF32, column ", i), errColumns, func() { TemperedF32(c, f32, 4, 4, 4, y, 1) })
		}
		panics("WidenLogF32", errLength, func() { WidenLogF32(f64, f32[1:]) })
		panics("WidenLogF16", errLength, func() { WidenLogF16(f64, u16[1:]) })
		panics("WidenLogBF16", errLength, func() { WidenLogBF16(f64[1:], u16) })

		columns := newNormal(5)
		for _, s := range []shape{{2, 4, 4}, {2, 1, 4}, {0, 0, 4}} {
			panics("NormalF32", errNormal, func() { NormalF32(columns, f32, s.rows, s.k, s.stride) })
			panics("NormalF64", errNormal, func() { NormalF64(columns, f64, s.rows, s.k, s.stride) })
		}
		for _, s := range []shape{{-1, 3, 3}, {7, 3, 3}, {2, 3, 2}, {2, 3, 18}, {math.MaxInt, 2, 2}} {
			panics("NormalF32", errShape, func() { NormalF32(columns, f32, s.rows, s.k, s.stride) })
			panics("NormalF64", errShape, func() { NormalF64(columns, f64, s.rows, s.k, s.stride) })
		}
		panics("NormalF32", none, func() { NormalF32(columns, f32, 5, 3, 4); NormalF64(columns, f64, 5, 2, 4) })
		for i := range 6 {
			c := newNormal(5)
			if i == 5 {
				c.Flags = c.Flags[:4]
			} else {
				s := []*[]float64{&c.Error, &c.SD, &c.Z, &c.NLL, &c.CRPS}[i]
				*s = (*s)[:4]
			}
			panics(fmt.Sprint("NormalF32, column ", i), errColumns, func() { NormalF32(c, f32, 5, 3, 3) })
			panics(fmt.Sprint("NormalF64, column ", i), errColumns, func() { NormalF64(c, f64, 5, 3, 3) })
		}

		panics("ExpSliceF32", errLength, func() { ExpSliceF32(f32, f32[1:]) })
		panics("LogSliceF32", errLength, func() { LogSliceF32(f32[1:], f32) })
		panics("ExpSliceF64", errLength, func() { ExpSliceF64(f64, f64[1:]) })
		panics("LogSliceF64", errLength, func() { LogSliceF64(f64[1:], f64) })
		panics("WidenF16", errLength, func() { WidenF16(f32, u16[1:]) })
		panics("WidenBF16", errLength, func() { WidenBF16(f32[1:], u16) })

		panics("ColumnKeysF32", errShape, func() { ColumnKeysF32(make([]uint32, 12), f32[:11], 3, 4, 4) })
		panics("ColumnKeysF32", errShape, func() { ColumnKeysF32(make([]uint32, 12), f32, -3, -4, 4) })
		panics("ColumnKeysF32", errLength, func() { ColumnKeysF32(make([]uint32, 11), f32, 3, 4, 4) })
		panics("ColumnKeysF64", errShape, func() { ColumnKeysF64(make([]uint64, 12), f64, 3, 4, 3) })
		panics("ColumnKeysF64", errLength, func() { ColumnKeysF64(make([]uint64, 13), f64, 3, 4, 4) })
		panics("ColumnKeysF64", none, func() { ColumnKeysF64(make([]uint64, 12), f64, 3, 4, 5); ColumnKeysF64(nil, nil, 0, 4, 5) })

		e := Edges(5)
		panics("BinEqual", errLength, func() { BinEqual(i32, f64[1:], e, LeftClosed) })
		panics("BinEdges", errLength, func() { BinEdges(i32[1:], f64, e, LeftClosed) })
		for _, edges := range [][]float64{nil, {0}, {1, 0}, {0, math.NaN()}, {math.NaN(), 1}, {0, 0.5, 0.4, 1}} {
			panics("BinEqual", errEdges, func() { BinEqual(i32, f64, edges, LeftClosed) })
			panics("BinEdges", errEdges, func() { BinEdges(i32, f64, edges, LeftClosed) })
		}
		panics("Edges(0)", errBins, func() { Edges(0) })
		panics("Edges(-1)", errBins, func() { Edges(-1) })
		sums, many := make([]BinSum, 1), MaxSum+1
		panics("BinSums", errLength, func() { BinSums(sums, i32[1:], f64, make([]uint8, 20)) })
		panics("BinSums", errLength, func() { BinSums(sums, i32, f64, make([]uint8, 19)) })
		panics("BinSums", errCount, func() { BinSums(sums, make([]int32, many), make([]float64, many), make([]uint8, many)) })
		cells := make([]GridCell, GridSize())
		panics("GridSums", errLength, func() { GridSums(cells, f64, f64[1:], make([]uint8, 20)) })
		panics("GridSums", errLength, func() { GridSums(cells, f64, f64, make([]uint8, 19)) })
		panics("GridSums", errGrid, func() { GridSums(cells[1:], nil, nil, nil) })
		panics("GridSums", errGrid, func() { GridSums(nil, f64, f64, make([]uint8, 20)) })
		blocks := make([]HitBlock, 3)
		for _, n := range []int{0, 1, 64, 128, 193} {
			panics("HitBlocksF32", errHitBlocks, func() { HitBlocksF32(blocks, make([]uint32, n)) })
		}
		panics("HitBlocksF32", errHitBlocks, func() { HitBlocksF32(nil, make([]uint32, 1)) })
		if !slices.Equal(blocks, make([]HitBlock, 3)) {
			t.Error("HitBlocksF32 writes before it panics")
		}
		panics("HitBlocksF32", none, func() { HitBlocksF32(blocks, make([]uint32, 129)); HitBlocksF32(nil, nil) })
		panics("FixedSums", errCount, func() { FixedSums(make([]float64, many), &WindowUnit) })
		panics("FixedSums", none, func() { FixedSums(make([]float64, MaxSum), &WindowUnit) })
	})
}

func TestNoAllocations(t *testing.T) {
	const n = 4 * 1500
	f32, g32, u16 := check.Logits32(check.Rand(1), n, 3), make([]float32, n), make([]uint16, n)
	scale := make([]float32, n)
	f64, g64 := widen64(f32), make([]float64, n)
	copy(u16, toBF16(f32))
	f32[3*1500] = 3e38 // a far row
	i32, y, y8 := make([]int32, n), make([]int32, n), make([]uint8, n)
	c, e, sums := newStats(n), Edges(15), make([]BinSum, 15)
	scratch := make([]float32, SortRowsScratch(sortMax))
	keys32, keys64 := make([]uint32, n), make([]uint64, n)
	norms, low := newStats(n), NewLowest(0.25, LeftClosed, -1)
	norms.Rest, norms.Entropy = nil, nil
	classSums, list := ClassSums{make([]int64, n), make([]int64, n), make([]int64, n)}, make([]uint32, n+ListSlack)
	cells, to := make([]GridCell, GridSize()), newTempered(4)
	isatest.Each(t, func(t *testing.T) {
		for _, k := range []int{2, 30, 1500} {
			rows := 4
			for name, f := range map[string]func(){
				"LogitStatsF32":  func() { LogitStatsF32(c, f32, rows, k, k, y) },
				"LogitStatsF64":  func() { LogitStatsF64(c, f64, rows, k, k, y) },
				"LogitStatsF16":  func() { LogitStatsF16(c, u16, rows, k, k, y) },
				"LogitStatsBF16": func() { LogitStatsBF16(c, u16, rows, k, k, y) },
				"ProbStatsF32":   func() { ProbStatsF32(c, f32, rows, k, k, y) },
				"ProbStatsF64":   func() { ProbStatsF64(c, f64, rows, k, k, y) },
				"ProbStatsF16":   func() { ProbStatsF16(c, u16, rows, k, k, y) },
				"ProbStatsBF16":  func() { ProbStatsBF16(c, u16, rows, k, k, y) },
				"Softmax": func() {
					SoftmaxF32(g32, k, f32, rows, k, k)
					SoftmaxF64(g64, k, f64, rows, k, k)
					SoftmaxF16(g32, k, u16, rows, k, k)
					SoftmaxBF16(g32, k, u16, rows, k, k)
				},
				"LogSoftmax": func() {
					LogSoftmaxF32(g32, k, f32, rows, k, k)
					LogSoftmaxF64(g64, k, f64, rows, k, k)
					LogSoftmaxF16(g32, k, u16, rows, k, k)
					LogSoftmaxBF16(g32, k, u16, rows, k, k)
				},
				"members": func() {
					MeanF32(g32, f32, rows, k, k)
					MeanF64(g64, f64, rows, k, k)
					MeanScaledF32(g32, f32, f32, rows, 1, k, k)
					LogMeanExpF64(g64, f64, rows, k, k)
					PairKLF32(g64, f32, f32, f32, rows, k, k)
					PairKLF64(g64, f64, f64, f64, rows, k, k)
					PairSumsF32(c.Top, c.Tail, c.Label, f32, f32, rows, k, k)
					PairSumsF64(c.Top, c.Tail, c.Label, f64, f64, rows, k, k)
				},
				"Tempered": func() {
					TemperedF32(to, f32, rows, k, k, y, 2)
					TemperedF64(to, f64, rows, k, k, y, 2)
					TemperedF16(to, u16, rows, k, k, y, 2)
					TemperedBF16(to, u16, rows, k, k, y, 2)
					ScaledSoftmaxF32(g32, k, f32, rows, k, k, 2)
					ScaledSoftmaxF64(g64, k, f64, rows, k, k, 2)
					ScaledSoftmaxF16(g32, k, u16, rows, k, k, 2)
					ScaledSoftmaxBF16(g32, k, u16, rows, k, k, 2)
					WidenLogF32(g64, f32)
					WidenLogF16(g64, u16)
					WidenLogBF16(g64, u16)
				},
				"LogSumExp": func() {
					LogSumExpF32(g64, f32, rows, k, k)
					LogSumExpF64(g64, f64, rows, k, k)
					LogSumExpF16(g64, u16, rows, k, k)
					LogSumExpBF16(g64, u16, rows, k, k)
				},
				"ArgMax": func() {
					ArgMaxF32(i32, f32, rows, k, k)
					ArgMaxF64(i32, f64, rows, k, k)
					ArgMaxF16(i32, u16, rows, k, k)
					ArgMaxBF16(i32, u16, rows, k, k)
				},
				"ColumnKeysF32": func() { ColumnKeysF32(keys32[:n/k*k], f32, n/k, k, k) },
				"ColumnKeysF64": func() { ColumnKeysF64(keys64[:n/k*k], f64, n/k, k, k) },
				"SortRows":      func() { SortRowsF32(g32, rows, k, k, scratch[:SortRowsScratch(k)]) },
				"Binary": func() {
					BinaryLogitStatsF32(c, f32[:k], y)
					BinaryLogitStatsF64(c, f64[:k], y)
					BinaryLogitStatsF16(c, u16[:k], y)
					BinaryLogitStatsBF16(c, u16[:k], y)
					BinaryProbStatsF32(c, f32[:k], y)
					BinaryProbStatsF64(c, f64[:k], y)
					BinaryProbStatsF16(c, u16[:k], y)
					BinaryProbStatsBF16(c, u16[:k], y)
				},
				"elementwise": func() {
					ExpSliceF32(g32[:k], f32[:k])
					LogSliceF32(g32[:k], f32[:k])
					ExpSliceF64(g64[:k], f64[:k])
					LogSliceF64(g64[:k], f64[:k])
					WidenF16(g32[:k], u16[:k])
					WidenBF16(g32[:k], u16[:k])
					g64[0] = Exp64(1) + Log64(2) + Log1p64(0.5)
				},
				"LogitSoftmax": func() {
					LogitSoftmaxF32(c, g32, k, f32, rows, k, k, y)
					LogitTermsF32(c, g32, k, scale, f32, rows, k, k, y)
					LogitSoftmaxF64(c, g64, k, f64, rows, k, k, y)
					LogitSoftmaxF16(c, g32, k, u16, rows, k, k, y)
					LogitSoftmaxBF16(c, g32, k, u16, rows, k, k, y)
				},
				"ProbStats, norms": func() {
					ProbStatsF32(norms, f32, rows, k, k, y)
					ProbStatsF64(norms, f64, rows, k, k, y)
					ProbStatsF16(norms, u16, rows, k, k, y)
					ProbStatsBF16(norms, u16, rows, k, k, y)
				},
				"classes": func() {
					listed, _ := ClassSumsF32(&classSums, list, f32, rows, k, k, &low, 0)
					ClassEntriesF32(g64, i32, list[:listed], f32, k, 0)
					listed, _ = ClassSumsF64(&classSums, list, f64, rows, k, k, &low, 0)
					ClassEntriesF64(g64, i32, list[:listed], f64, k, 0)
				},
				"bins": func() {
					BinEqual(i32[:k], f64[:k], e, LeftClosed)
					BinSums(sums, i32[:k], f64[:k], y8[:k])
					BinEdges(i32[:k], f64[:k], e, RightClosed)
					FixedSums(f64[:k], &WindowNLL)
				},
				"grid": func() { GridSums(cells, f64[:k], f64[:k], y8[:k]) },
			} {
				if a := testing.AllocsPerRun(5, f); a != 0 {
					t.Errorf("%s k=%d: %v allocations", name, k, a)
				}
			}
		}
	})
}

// golden are hashes of all bits that a kernel gives for fixed inputs. They hold on every CPU and at every level: a change
// of one bit of a definition, or of its assembly, changes its hash.
var golden = map[string]uint64{
	"binary":       0xb31132aa1b1bc7fc,
	"functions":    0xa3dba5021db15e87,
	"grid":         0xebb4efe58d323ef1,
	"hitblocks":    0xf0ded492f49a9e8a,
	"logits/bf16":  0xd5f45dbc863bfb2d,
	"logits/f16":   0xe6e224f50a358001,
	"logits/f32":   0x1240a8dc8b15b565,
	"logits/f64":   0xf439eeefb659c31e,
	"probs/bf16":   0x46388116e1eef398,
	"probs/f16":    0x226d2a88e00e803c,
	"probs/f32":    0x8bcfa2b9fb4dbd7e,
	"probs/f64":    0x5f23f4e586e6034e,
	"samples":      0xaf7adf4c0e086541,
	"softmax/bf16": 0x1ac3ecdaf844932f,
	"softmax/f16":  0x00c1260f5029d508,
	"softmax/f32":  0xf3ac61f468d8c5e1,
	"softmax/f64":  0xa6e372f37c946689,
	"tempered":     0xb9072281cd434398,
}

func TestGoldenBits(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		got := map[string]uint64{}
		lengths := []int{1, 2, 3, 7, 10, 16, 31, 32, 33, 64, 100, 1000, 1024, 1025, 2500}
		for _, f := range forms {
			hl, hp := fnv.New64a(), fnv.New64a()
			for _, k := range lengths {
				const rows = 12
				r := check.Rand(uint64(1000 + k))
				x := goldenRows(r, rows, k)
				p := make([]float32, 0, rows*k)
				for range rows {
					p = append(p, check.SimplexRow(r, k)...)
				}
				p[r.IntN(len(p))] = 1.5
				y := make([]int32, rows)
				for i := range y {
					y[i] = int32(r.IntN(k))
				}
				c := newStats(rows)
				f.logits(c, x, rows, k, k, y)
				hash64(hl, hashColumns(c, rows))
				f.probs(c, p, rows, k, k, y)
				hash64(hp, hashColumns(c, rows))
			}
			got["logits/"+f.name], got["probs/"+f.name] = hl.Sum64(), hp.Sum64()
		}
		bits := func(v float64) uint64 {
			if v != v {
				return 0x7FF8000000000000 // any NaN
			}
			return math.Float64bits(v)
		}
		for _, f := range scalers {
			h := fnv.New64a()
			for _, k := range lengths {
				const rows = 6
				x := goldenRows(check.Rand(uint64(2000+k)), rows, k)
				d, lse, am := make([]float64, rows*k), make([]float64, rows), make([]int32, rows)
				for _, run := range []func([]float64, int, []float32, int, int, int){f.soft, f.logSoft} {
					run(d, k, x, rows, k, k)
					for _, v := range d {
						hash64(h, bits(v))
					}
				}
				f.lse(lse, x, rows, k, k)
				f.argMax(am, x, rows, k, k)
				for i := range lse {
					hash64(h, bits(lse[i]))
					hash64(h, uint64(uint32(am[i])))
				}
			}
			got["softmax/"+f.name] = h.Sum64()
		}
		hb, hc := fnv.New64a(), fnv.New64a()
		x := append(goldenRows(check.Rand(3000), 12, 100), check.Specials32()...)
		y := make([]int32, len(x))
		for i := range y {
			y[i] = int32(i & 1)
		}
		for _, run := range []func(*Stats, []float32, []int32) uint8{BinaryLogitStatsF32, BinaryProbStatsF32,
			func(c *Stats, x []float32, y []int32) uint8 { return BinaryLogitStatsF64(c, widen64(x), y) },
			func(c *Stats, x []float32, y []int32) uint8 { return BinaryProbStatsF64(c, widen64(x), y) },
			func(c *Stats, x []float32, y []int32) uint8 { return BinaryLogitStatsF16(c, toHalf(x), y) },
			func(c *Stats, x []float32, y []int32) uint8 { return BinaryProbStatsBF16(c, toBF16(x), y) },
		} {
			c := newStats(len(x))
			run(c, x, y)
			hash64(hb, hashColumns(c, len(x)))
		}
		got["binary"] = hb.Sum64()
		r := check.Rand(3001)
		for i := 0; i < 20000; i++ {
			v := math.Float64frombits(r.Uint64())
			w := (r.Float64() - 0.5) * 1500
			for _, u := range []float64{Exp64(w), Log64(v), Log1p64(v), Log1p64(w / 800), float64(exp32(float32(w / 8))), float64(log32(math.Float32frombits(r.Uint32())))} {
				hash64(hc, bits(u))
			}
		}
		got["functions"] = hc.Sum64()
		p, tail := gridScores(3, 1<<16)
		cells, hg := make([]GridCell, GridSize()), fnv.New64a()
		GridSums(cells, p, tail, make([]uint8, len(p)))
		for _, c := range cells {
			for _, u := range []uint64{c.N, c.Q, c.QQ} {
				hash64(hg, u)
			}
		}
		got["grid"] = hg.Sum64()
		hh, rk := fnv.New64a(), check.Rand(3002)
		for _, n := range append([]int{128, 4096}, lengths...) {
			for range 20 {
				for _, b := range blocksOf(sortedKeys(rk, n)) {
					for _, u := range []uint64{b.Hits, b.Ends, uint64(b.Gap), uint64(b.Square)} {
						hash64(hh, u)
					}
				}
			}
		}
		got["hitblocks"] = hh.Sum64()
		got["samples"] = hashSpreads()
		got["tempered"] = hashTempered()
		for name, g := range got {
			if golden[name] != g {
				t.Errorf("\t%q: %#016x,", name, g)
			}
		}
	})
}
