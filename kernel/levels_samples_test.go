package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// A spreadCase is a call of SampleSpreadF32 or F64 but for the values.
type spreadCase struct {
	rows, m, stride int
	x               place // of all but the scratch
	scratch         place
	values          string
}

// spreadTest is what compares the levels on rows of one type. The scratch is as short as it may be.
func spreadTest[T float32 | float64](t *testing.T, r *rand.Rand) func(c spreadCase, change func(x []T, y []float64)) {
	t.Helper()
	const most, mostRows = 1 << 16, 1 << 7
	mostScratch := SampleSpreadScratch(sortMax)
	xs, scratches := newRoom[T](t, most), newRoom[T](t, mostScratch)
	var columns [3]*levelRoom[float64]
	for i := range columns {
		columns[i] = newRoom[float64](t, mostRows)
	}
	return func(c spreadCase, change func(x []T, y []float64)) {
		t.Helper()
		n, need := 0, SampleSpreadScratch(c.m)
		if c.rows > 0 {
			n = (c.rows-1)*c.stride + c.m
		}
		x, y := xs.lay("x", c.x, n, true), columns[0].lay("y", c.x, c.rows, true)
		abs := columns[1].lay("abs", c.x, c.rows, false).column(c.rows)
		spread := columns[2].lay("spread", c.x, c.rows, false).column(c.rows)
		for i := range c.rows {
			for j := range c.m {
				x.s[i*c.stride+j] = sampleValue[T](r, c.values)
			}
			y.s[i] = float64(sampleValue[T](r, c.values))
		}
		if change != nil {
			change(x.s, y.s)
		}
		var scratch *sheet[T]
		if err := sameAtLevels(func() uint64 {
			// Nothing is promised of what is in the scratch afterwards.
			scratch = scratches.lay("scratch", c.scratch, need, true)
			scratch.start()
			sampleSpread(abs.s, spread.s, x.s, c.rows, c.m, c.stride, y.s, scratch.s)
			fillBytes(scratch.s, bytesAround)
			if err := scratch.after(true); err != nil {
				panic(err)
			}
			return 0
		}, x, y, abs, spread); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
	}
}

// TestLevelsSampleSpread: all lengths up to 70 and some beyond, all numbers of rows up to four registers and three, gaps between
// the rows, every alignment, guard pages about the rows, the columns and the scratch.
func TestLevelsSampleSpread(t *testing.T) {
	t.Run("F32", func(t *testing.T) { testLevelsSampleSpread[float32](t, 4*16+3) })
	t.Run("F64", func(t *testing.T) { testLevelsSampleSpread[float64](t, 4*8+3) })
}

func testLevelsSampleSpread[T float32 | float64](t *testing.T, mostRows int) {
	logCompared(t)
	r := check.Rand(79)
	run := spreadTest[T](t, r)
	var names []string
	for name := range sampleValues {
		names = append(names, name)
	}
	slices.Sort(names)
	draw := func(rows, m int) spreadCase {
		c := spreadCase{rows: rows, m: m, stride: m, values: names[r.IntN(len(names))]}
		c.x, c.scratch = place{off: r.IntN(32)}, place{off: r.IntN(32)}
		if r.IntN(2) == 0 {
			c.stride += r.IntN(20)
		}
		if s := side(r.IntN(3)); s != unguarded {
			c.x = place{side: s}
		}
		if s := side(r.IntN(3)); s != unguarded {
			c.scratch = place{side: s}
		}
		return c
	}
	for i, m := range upTo(1, 70) {
		for d := range deal(i, sized(2, 12, all), mostRows+1) {
			run(draw(d[0], m), nil)
		}
	}
	for i, m := range []int{100, 128, 129, 200, 255, 256, 257, 500, 512, 513, 520, 1000, 1023, 1024, 1025, 1500} {
		rows := []int{1, 2, 7, 8, 9, 16, 17, 37}
		for d := range deal(i, sized(1, 4, all), len(rows)) {
			run(draw(rows[d[0]], m), nil)
		}
	}
	for i, m := range []int{1, 3, 4, 5, 15, 16, 33, 100} {
		rows := []int{1, 3, 4, 7, 8, 15, 16, 17, 33}
		for d := range deal(i, sized(3, 6, all), len(rows)) {
			for side := range side(3) {
				run(spreadCase{rows[d[0]], m, m, place{side: side}, place{side: side}, "normal"}, nil)
				run(spreadCase{rows[d[0]], m, m + 3, place{side: side}, place{side: side}, "far"}, nil)
			}
		}
	}
	for off := range 32 {
		run(spreadCase{18, 37, 37, place{off: off}, place{off: (off * 7) % 32}, "normal"}, nil)
	}
	// One number that is not finite, anywhere, and as y.
	odd := []float64{math.NaN(), math.Copysign(math.NaN(), -1), math.Inf(1), math.Inf(-1)}
	for i, m := range thin([]int{4, 7, 16, 23, 100}, 2, 1) {
		for at := range m + 1 {
			for d := range deal(i+at, sized(1, 2, all), len(odd)) {
				v := odd[d[0]]
				run(spreadCase{17, m, m, place{off: at % 32}, place{}, "normal"}, func(x []T, y []float64) {
					for i := at % 3; i < 17; i += 3 {
						if at == m {
							y[i] = v
						} else {
							x[i*m+at] = T(v)
						}
					}
				})
			}
		}
	}
}
