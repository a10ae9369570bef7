package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// sortValues are the ways in which rows to be sorted are filled.
var sortValues = map[string]func(r *rand.Rand) float32{
	"any bits": func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32()) },
	"normal":   func(r *rand.Rand) float32 { return float32(r.NormFloat64()) },
	"few":      func(r *rand.Rand) float32 { return float32(r.IntN(5) - 2) },
	"special":  func(r *rand.Rand) float32 { return specials32[r.IntN(len(specials32))] },
	"NaN":      func(r *rand.Rand) float32 { return math.Float32frombits(0x7F800001 | r.Uint32()&0x800000FF) },
}

var specials32 = check.Specials32()

// sortedPlainly is the definition in other words: the numbers as unsigned integers, the negative ones inverted.
func sortedPlainly(row []float32) []float32 {
	u := make([]uint32, len(row))
	for j, v := range row {
		u[j] = math.Float32bits(v)
		switch {
		case v == 0:
			u[j] = 1 << 31
		case u[j]>>31 == 0:
			u[j] |= 1 << 31
		default:
			u[j] = ^u[j]
		}
	}
	slices.Sort(u)
	out := make([]float32, len(row))
	for j, b := range u {
		if b>>31 == 1 {
			b ^= 1 << 31
		} else {
			b = ^b
		}
		out[j] = math.Float32frombits(b)
	}
	return out
}

func sameBits32(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(v, w float32) bool { return math.Float32bits(v) == math.Float32bits(w) })
}

// TestSortRowsDefinition: rows are what the standard library sorts, as integers and, without NaN, as numbers.
func TestSortRowsDefinition(t *testing.T) {
	const rows = 19
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(5)
		for name, value := range sortValues {
			for _, k := range thin(slices.Concat(upTo(1, 70), []int{96, 100, 128, 500, 1024, 1025, 1500}), 9, 1) {
				x, scratch := make([]float32, rows*k), make([]float32, SortRowsScratch(k))
				for j := range x {
					x[j] = value(r)
				}
				src := slices.Clone(x)
				SortRowsF32(x, rows, k, k, scratch)
				for i := range rows {
					row, was := x[i*k:(i+1)*k], src[i*k:(i+1)*k]
					if !sameBits32(row, sortedPlainly(was)) {
						t.Fatalf("%s, k=%d: %v became %v", name, k, was, row)
					}
					if slices.ContainsFunc(row, func(v float32) bool { return v != v }) {
						continue
					}
					if slices.Sort(was); !slices.Equal(row, was) {
						t.Fatalf("%s, k=%d: it is %v, slices.Sort has %v", name, k, row, was)
					}
				}
			}
		}
	})
}

// TestSortRowsOrder: what the contract says of signs and NaN.
func TestSortRowsOrder(t *testing.T) {
	nan := math.Float32frombits
	inf, neg0 := float32(math.Inf(1)), float32(math.Copysign(0, -1))
	want := []float32{nan(0xFFFFFFFF), nan(0xFFC00001), nan(0xFFC00000), nan(0xFF800001), -inf, -math.MaxFloat32, -1, -0x1p-149, 0, 0, 0,
		0x1p-149, 1, math.MaxFloat32, inf, nan(0x7F800001), nan(0x7FC00000), nan(0x7FC00001), nan(0x7FFFFFFF)}
	k := len(want)
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(6)
		for range 50 {
			var x []float32
			for range 5 {
				row := slices.Clone(want)
				row[8], row[10] = neg0, neg0
				r.Shuffle(k, func(i, j int) { row[i], row[j] = row[j], row[i] })
				x = append(x, row...)
			}
			SortRowsF32(x, 5, k, k, make([]float32, SortRowsScratch(k)))
			for i := range 5 {
				if row := x[i*k : (i+1)*k]; !sameBits32(row, want) {
					t.Fatalf("row %d is %x", i, row)
				}
			}
		}
	})
}

// TestSortRowsNetwork goes through all rows of zeros and ones that the last merge of a length may get: a network that sorts
// these sorts everything, if the merges before it sort what they are for. Up to 16 it goes through all rows.
func TestSortRowsNetwork(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		var x []float32
		sort := func(k int) {
			SortRowsF32(x, len(x)/k, k, k, make([]float32, SortRowsScratch(k)))
			for i := 0; i < len(x); i += k {
				if !slices.IsSorted(x[i : i+k]) {
					t.Fatalf("k=%d: %v", k, x[i:i+k])
				}
			}
			x = x[:0]
		}
		for _, k := range thin(upTo(4, 16), 4, 1) {
			for bits := range 1 << k {
				for j := range k {
					x = append(x, float32(bits>>j&1))
				}
			}
			sort(k)
		}
		ones := func(n, k int) {
			for j := range n {
				v := float32(0)
				if j >= n-k {
					v = 1
				}
				x = append(x, v)
			}
		}
		for _, k := range thin(slices.Concat(upTo(17, 200), []int{256, 257, 300, 384, 511, 512, 513, 520, 768, 1000, 1023, 1024}), 25, 9) {
			run := 16
			for 2*run < k {
				run *= 2
			}
			step := 1 + k/200 // of the longest, not all
			for a := 0; a <= run; a += step {
				for b := 0; b <= k-run; b += step {
					ones(run, a)
					ones(k-run, b)
				}
			}
			sort(k)
		}
	})
}

// TestSortRowsPlan: there is room for the steps of every length, and none of them leaves the columns.
func TestSortRowsPlan(t *testing.T) {
	var p sortPlan
	for _, bytes := range []int{16, 32, 64} {
		for k := sortMin; k <= sortMax; k++ {
			p.make(k, bytes)
			if p.n >= len(p.steps) {
				t.Fatalf("k=%d takes %d steps", k, p.n)
			}
			for _, s := range p.steps[:p.n] {
				if s.count < 1 || s.blocks < 1 || s.low < 0 || s.high < 0 || max(int(s.low), int(s.high)) >= bytes*k {
					t.Fatalf("k=%d has the step %+v", k, s)
				}
			}
		}
	}
}
