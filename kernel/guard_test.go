package kernel

import (
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// TestBinaryStandsAlone runs the binary kernels flush against guard pages, at every length up to four vectors and three:
// the columns are those of slices that lie elsewhere, nothing outside is touched, and no input changes.
func TestBinaryStandsAlone(t *testing.T) {
	const most = 4*16 + 3
	isatest.Each(t, func(t *testing.T) {
		for _, tail := range []bool{true, false} {
			g32, g64, g16 := check.Guarded[float32](t, most, tail), check.Guarded[float64](t, most, tail), check.Guarded[uint16](t, most, tail)
			gy := check.Guarded[int32](t, most, tail)
			gc := guardedStats(t, most, tail)
			for n := 0; n <= most; n++ {
				r := check.Rand(uint64(n))
				x := check.Logits32(r, n, 3)
				p := make([]float32, n)
				y := make([]int32, n)
				for i := range p {
					p[i], y[i] = r.Float32(), int32(r.IntN(2))
				}
				cy := part(gy, n, tail)
				copy(cy, y)
				for name, run := range map[string]func(c *Stats, s []float32, y []int32, guarded bool) uint8{
					"logits f32": func(c *Stats, s []float32, y []int32, g bool) uint8 {
						return BinaryLogitStatsF32(c, at(s, g32, n, tail, g), y)
					},
					"probs f32": func(c *Stats, s []float32, y []int32, g bool) uint8 {
						return BinaryProbStatsF32(c, at(s, g32, n, tail, g), y)
					},
					"logits f64": func(c *Stats, s []float32, y []int32, g bool) uint8 {
						return BinaryLogitStatsF64(c, at(widen64(s), g64, n, tail, g), y)
					},
					"probs f64": func(c *Stats, s []float32, y []int32, g bool) uint8 {
						return BinaryProbStatsF64(c, at(widen64(s), g64, n, tail, g), y)
					},
					"logits f16": func(c *Stats, s []float32, y []int32, g bool) uint8 {
						return BinaryLogitStatsF16(c, at(toHalf(s), g16, n, tail, g), y)
					},
					"probs f16": func(c *Stats, s []float32, y []int32, g bool) uint8 {
						return BinaryProbStatsF16(c, at(toHalf(s), g16, n, tail, g), y)
					},
					"logits bf16": func(c *Stats, s []float32, y []int32, g bool) uint8 {
						return BinaryLogitStatsBF16(c, at(toBF16(s), g16, n, tail, g), y)
					},
					"probs bf16": func(c *Stats, s []float32, y []int32, g bool) uint8 {
						return BinaryProbStatsBF16(c, at(toBF16(s), g16, n, tail, g), y)
					},
				} {
					s := x
					if name[0] == 'p' {
						s = p
					}
					plain, guarded := newStats(n), partStats(gc, n, tail)
					f, g := run(plain, s, y, false), run(guarded, s, cy, true)
					if f != g || hashColumns(plain, n) != hashColumns(guarded, n) {
						t.Fatalf("%s, n=%d, tail=%v: the columns depend on where the slices lie", name, n, tail)
					}
				}
				if !slices.Equal(cy, y) {
					t.Fatalf("n=%d: labels were written", n)
				}
			}
		}
	})
}

// TestHalfSoftmaxStandsAlone does the same for the kernels of half precision that write matrices or one value a row.
func TestHalfSoftmaxStandsAlone(t *testing.T) {
	const rows = 2
	isatest.Each(t, func(t *testing.T) {
		for _, tail := range []bool{true, false} {
			const most = rows * 1027
			g16, gd := check.Guarded[uint16](t, most, tail), check.Guarded[float32](t, most, tail)
			gl, ga := check.Guarded[float64](t, rows, tail), check.Guarded[int32](t, rows, tail)
			for _, k := range []int{1, 2, 3, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 67, 1023, 1024, 1025, 1027} {
				x := check.Logits32(check.Rand(uint64(k)), rows*k, 3)
				for _, f := range []struct {
					name string
					bits []uint16
					soft func([]float32, int, []uint16, int, int, int)
					logs func([]float32, int, []uint16, int, int, int)
					lse  func([]float64, []uint16, int, int, int)
					arg  func([]int32, []uint16, int, int, int)
				}{
					{"f16", toHalf(x), SoftmaxF16, LogSoftmaxF16, LogSumExpF16, ArgMaxF16},
					{"bf16", toBF16(x), SoftmaxBF16, LogSoftmaxBF16, LogSumExpBF16, ArgMaxBF16},
				} {
					in, out := part(g16, rows*k, tail), part(gd, rows*k, tail)
					copy(in, f.bits)
					want := make([]float32, rows*k)
					for _, run := range []func([]float32, int, []uint16, int, int, int){f.soft, f.logs} {
						run(want, k, f.bits, rows, k, k)
						run(out, k, in, rows, k, k)
						if !slices.Equal(want, out) {
							t.Fatalf("%s, k=%d, tail=%v: the result depends on where the slices lie", f.name, k, tail)
						}
					}
					lse, arg := make([]float64, rows), make([]int32, rows)
					f.lse(lse, f.bits, rows, k, k)
					f.lse(gl, in, rows, k, k)
					f.arg(arg, f.bits, rows, k, k)
					f.arg(ga, in, rows, k, k)
					if !slices.Equal(lse, gl) || !slices.Equal(arg, ga) {
						t.Fatalf("%s, k=%d, tail=%v: log-sum-exp or arg max depends on where the slices lie", f.name, k, tail)
					}
					if !slices.Equal(in, f.bits) {
						t.Fatalf("%s, k=%d: the input was written", f.name, k)
					}
				}
			}
		}
	})
}

// part returns n elements of a guarded slice, on the guarded side.
func part[T any](s []T, n int, tail bool) []T {
	if tail {
		return s[len(s)-n:]
	}
	return s[:n:n]
}

// at returns the values, if they are to be guarded as a copy beside the guard page.
func at[T any](s, room []T, n int, tail, guarded bool) []T {
	if !guarded {
		return s
	}
	c := part(room, n, tail)
	copy(c, s)
	return c
}

func guardedStats(t *testing.T, n int, tail bool) *Stats {
	d := func() []float64 { return check.Guarded[float64](t, n, tail) }
	i := func() []int32 { return check.Guarded[int32](t, n, tail) }
	return &Stats{Top: d(), Tail: d(), Label: d(), NLL: d(), Rest: d(), Entropy: d(), Norm: d(), Positive: d(),
		ArgMax: i(), Rank: i(), Flags: check.Guarded[uint8](t, n, tail)}
}

func partStats(c *Stats, n int, tail bool) *Stats {
	d := func(s []float64) []float64 { return part(s, n, tail) }
	return &Stats{Top: d(c.Top), Tail: d(c.Tail), Label: d(c.Label), NLL: d(c.NLL), Rest: d(c.Rest), Entropy: d(c.Entropy),
		Norm: d(c.Norm), Positive: d(c.Positive), ArgMax: part(c.ArgMax, n, tail), Rank: part(c.Rank, n, tail), Flags: part(c.Flags, n, tail)}
}
