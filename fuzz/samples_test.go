package fuzz

import (
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/kernel"
)

// addSamples adds seeds: data, how, repeat, m, pad, off.
func addSamples(f *testing.F) {
	inf, nan, neg0 := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	for i, x := range [][]float64{
		{3, 1, 2, 6, 5, 4}, {0, neg0, 0, neg0, 0}, {1, 2, inf, 3, 4}, {1, nan, 2, 3}, {-inf, 0, 0, inf},
		{0x1p-149, -0x1p-149, 5e-324, 0x1p-126}, {math.MaxFloat32, -math.MaxFloat32, 1e300, -1e300},
		{math.MaxFloat64, -math.MaxFloat64, 1, 2, 3},
		ramp(40, -3, 0.1), ramp(1100, -700, 1), ramp(500, 1e6, 1e-3),
	} {
		for j, m := range []int{len(x), 1, 2, 5, 33} {
			f.Add(bytes64(x...), uint8(0), uint8(40*j), uint16(m-1), uint8(j), uint8(i))
			f.Add(bytes32(to32(x)...), uint8(0), uint8(40*j), uint16(m-1), uint8(j), uint8(i))
		}
	}
	f.Add([]byte("the largest of these letters is the last one: z"), uint8(13<<2|3), uint8(200), uint16(1024), uint8(0), uint8(1))
	f.Add([]byte("\x80\x80\x80\xff\x00"), uint8(17<<2|1), uint8(100), uint16(31), uint8(1), uint8(7))
	f.Add([]byte{}, uint8(0), uint8(0), uint16(0), uint8(0), uint8(0))
}

// fuzzSamples calls run with samples of both types.
func fuzzSamples(f *testing.F, run func(t *testing.T, of samples)) {
	addSamples(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat uint8, m16 uint16, pad, off uint8) {
		x := elements(data, how, repeat, off, 4, single, func(v float64) float32 { return float32(v) })
		run(t, samplesOf("SampleSpreadF32", x, m16, pad, off, kernel.SampleSpreadF32))
		wide := elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v })
		run(t, samplesOf("SampleSpreadF64", wide, m16, pad, off, kernel.SampleSpreadF64))
	})
}

// samples are rows with what observes them, bound to the kernel of their type, which leaves sums and what stands beside them.
type samples struct {
	name    string
	rows, m int
	row     func(i int) []float64
	y       []float64
	spread  func() (abs, spread []float64)
}

func samplesOf[T float32 | float64](name string, x []T, m16 uint16, pad, off uint8,
	f func(abs, spread []float64, x []T, rows, m, stride int, y []float64, scratch []T)) samples {
	s := samples{name: name}
	var stride int
	s.rows, s.m, stride = shape(len(x), m16, pad)
	s.row = func(i int) []float64 {
		var row []float64
		for _, v := range x[i*stride : i*stride+s.m] {
			row = append(row, float64(v))
		}
		return row
	}
	for i := range s.rows {
		s.y = append(s.y, float64(x[(i*7+int(off))%len(x)]))
	}
	s.spread = func() (abs, spread []float64) {
		n, skip := kernel.SampleSpreadScratch(s.m), int(off>>4)
		abs, spread = sevens[float64](s.rows), sevens[float64](s.rows)
		f(abs[beside:beside+s.rows], spread[beside:beside+s.rows], x, s.rows, s.m, stride, s.y, make([]T, n+skip)[skip:])
		return abs, spread
	}
	return s
}

func FuzzLevelsSampleSpread(f *testing.F) {
	fuzzSamples(f, func(t *testing.T, of samples) {
		sameBits(t, of.name, func() []uint64 {
			abs, spread := of.spread()
			return appendBits(appendBits(nil, math.Float64bits, abs...), math.Float64bits, spread...)
		})
	})
}

// FuzzSampleSpread holds the sums to those of a walk from sample to sample, which has other roundings and none of its own overflow.
func FuzzSampleSpread(f *testing.F) {
	fuzzSamples(f, func(t *testing.T, of samples) {
		abs, spread := of.spread()
		for i, y := range of.y {
			row := of.row(i)
			a, s := abs[beside+i], spread[beside+i]
			if slices.ContainsFunc(append(row, y), func(v float64) bool { return v-v != 0 }) {
				if a == a || s == s {
					t.Fatalf("%s: samples %v, y %v: %v, %v", of.name, row, y, a, s)
				}
				continue
			}
			slices.Sort(row)
			const small = 0x1p-40 // of each term, so that no sum is beyond float64
			wantA, wantS := 0.0, 0.0
			for j, v := range row {
				wantA += math.Abs(v*small - y*small)
				if j > 0 {
					wantS += float64(j) * float64(of.m-j) * (v*small - row[j-1]*small)
				}
			}
			for _, v := range [][2]float64{{a, wantA}, {s, wantS}} {
				got, want := v[0]*small, v[1]
				// What is next to 0 loses digits by small.
				if !near(got, want, 4e-12*want+0x1p-1000) && !(math.IsInf(got, 1) && want > math.MaxFloat64*small*(1-4e-12)) {
					t.Fatalf("%s: samples %v, y %v: %v, want %v", of.name, row, y, got, want)
				}
			}
		}
		for _, column := range [][]float64{abs, spread} {
			for j, v := range column {
				if (j < beside || j >= beside+of.rows) && v != 7 {
					t.Fatalf("%s writes beside its columns", of.name)
				}
			}
		}
	})
}
