package order

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// threadCounts are compared with one another.
var threadCounts = []int{1, 2, 3, 7}

// plainBins is the definition: sort, take the edges, look at one key after another.
func plainBins[K kernel.Key](keys []K, bins int, above float64) *Bins {
	b := &Bins{Cells: make([]tally.Cell, bins)}
	var kept []K
	for _, k := range keys {
		switch p, _ := kernel.HitScore(k); {
		case p != p:
			b.Out++
		case p > above:
			kept = append(kept, k)
		default:
			b.Below++
		}
	}
	slices.Sort(kept)
	b.N = int64(len(kept))
	for j := 1; j < bins && len(kept) > 0; j++ {
		step := float64(len(kept)) / float64(bins)
		p, _ := kernel.HitScore(kept[min(int(math.RoundToEven(float64(j)*step)), len(kept)-1)])
		b.Edges = append(b.Edges, p)
	}
	at := 0
	for i, k := range kept {
		p, _ := kernel.HitScore(k)
		for at < len(b.Edges) && b.Edges[at] <= p {
			at++
		}
		s, _ := kernel.HitSum(kept[i : i+1])
		b.Cells[at].AddBins(&s)
	}
	return b
}

// same compares with what the definition says.
func same(got, want *Bins) error {
	switch {
	case got.N != want.N || got.Below != want.Below || got.Out != want.Out:
		return fmt.Errorf("counts %d, %d, %d, want %d, %d, %d", got.N, got.Below, got.Out, want.N, want.Below, want.Out)
	case !slices.Equal(got.Edges, want.Edges):
		return fmt.Errorf("edges %v, want %v", got.Edges, want.Edges)
	}
	for i := range want.Cells {
		if got.Cells[i] != want.Cells[i] && !reflect.DeepEqual(got.Cells[i], want.Cells[i]) { // the latter follows pointers, slowly
			return fmt.Errorf("bin %d of %d is %+v, want %+v", i, len(want.Cells), got.Cells[i], want.Cells[i])
		}
	}
	if len(got.Cells) != len(want.Cells) {
		return fmt.Errorf("%d bins, want %d", len(got.Cells), len(want.Cells))
	}
	return nil
}

// A pattern makes score i of n.
type pattern struct {
	name  string
	score func(r *rand.Rand, i, n int) float64
}

var patterns = []pattern{
	{"uniform", func(r *rand.Rand, _, _ int) float64 { return r.Float64() }},
	{"rising", func(_ *rand.Rand, i, n int) float64 { return float64(i) / float64(n) }},
	{"falling", func(_ *rand.Rand, i, n int) float64 { return 1 - float64(i)/float64(n) }},
	{"organ pipe", func(_ *rand.Rand, i, n int) float64 { return float64(min(i, n-i)) / float64(n) }},
	{"all equal", func(*rand.Rand, int, int) float64 { return 0.25 }},
	{"zeros", func(*rand.Rand, int, int) float64 { return 0 }},
	{"ones", func(*rand.Rand, int, int) float64 { return 1 }},
	{"two values", func(r *rand.Rand, _, _ int) float64 { return 0.25 + 0.5*float64(r.IntN(2)) }},
	{"ends", func(r *rand.Rand, _, _ int) float64 { return float64(r.IntN(2)) }},
	{"nearly rising", func(r *rand.Rand, i, n int) float64 {
		if r.IntN(100) == 0 {
			return r.Float64()
		}
		return float64(i) / float64(n)
	}},
	{"percents", func(r *rand.Rand, _, _ int) float64 { return float64(r.IntN(101)) / 100 }},
	{"halves", func(r *rand.Rand, _, _ int) float64 { // some bits only
		return float64(math.Float32frombits(math.Float32bits(r.Float32()) &^ 0x1fff))
	}},
	{"one heavy", func(r *rand.Rand, _, _ int) float64 {
		if r.IntN(3) > 0 {
			return 0.5
		}
		return r.Float64()
	}},
	{"many zeros", func(r *rand.Rand, _, _ int) float64 { return max(0, r.Float64()*2-1) }},
	{"small", func(r *rand.Rand, _, _ int) float64 { return math.Pow(r.Float64(), 40) }},
	{"subnormal", func(r *rand.Rand, _, _ int) float64 { return float64(math.Float32frombits(uint32(r.IntN(9)))) }},
	{"outside", func(r *rand.Rand, _, _ int) float64 {
		switch r.IntN(4) {
		case 0:
			return []float64{math.NaN(), -1, 2, math.Inf(1), math.Inf(-1)}[r.IntN(5)]
		}
		return r.Float64()
	}},
	{"nothing inside", func(*rand.Rand, int, int) float64 { return -1 }},
	{"periodic", func(_ *rand.Rand, i, _ int) float64 { return float64(i%64) / 64 }},
}

func (p pattern) keys32(seed uint64, n int) []uint32 {
	r := check.Rand(seed)
	x, hit, keys := make([]float32, n), make([]uint8, n), make([]uint32, n)
	for i := range x {
		x[i], hit[i] = float32(p.score(r, i, n)), uint8(r.IntN(2))
	}
	kernel.HitKeysF32(keys, x, hit)
	return keys
}

func (p pattern) keys64(seed uint64, n int) []uint64 {
	r := check.Rand(seed)
	x, hit, keys := make([]float64, n), make([]uint8, n), make([]uint64, n)
	for i := range x {
		x[i], hit[i] = p.score(r, i, n), uint8(r.IntN(2))
	}
	kernel.HitKeysF64(keys, x, hit)
	return keys
}

// testKeys compares with the definition at all levels, for all numbers of threads: for one of them at each level, by turns, if something
// is left out.
func testKeys[K kernel.Key](t *testing.T, what string, keys []K, bins int, above float64) {
	t.Helper()
	want := plainBins(keys, bins, above)
	p32, p64, hit := make([]float32, len(keys)), make([]float64, len(keys)), make([]uint8, len(keys))
	for i, k := range keys {
		p64[i], hit[i] = kernel.HitScore(k)
		p32[i] = float32(p64[i])
	}
	ofScores := func(threads int) *Bins {
		if narrow[K]() {
			return EqualMassF32(p32, hit, bins, above, threads)
		}
		return EqualMassF64(p64, hit, bins, above, threads)
	}
	levels := isa.Levels()
	for l, level := range levels {
		defer isa.Set(level)()
		counts := threadCounts
		if turn := (len(keys) + bins + l) % len(counts); !check.Full() {
			counts = counts[turn:][:1]
		}
		for _, threads := range counts {
			if err := same(EqualMass(slices.Clone(keys), bins, above, threads), want); err != nil {
				t.Fatalf("%s, %d keys of %T, above %v, %d threads, isa=%v: %v", what, len(keys), keys, above, threads, level, err)
			}
			if err := same(ofScores(threads), want); err != nil {
				t.Fatalf("%s, scores of %d keys of %T, above %v, %d threads, isa=%v: %v", what, len(keys), keys, above, threads, level, err)
			}
			if len(keys) < fewForPlan {
				break // no more than one takes part
			}
		}
	}
}

func TestEqualMassIsTheDefinition(t *testing.T) {
	for i, p := range patterns {
		for n := range 1101 {
			if n > 66 && n%97 != 0 && n < 1099 || testing.Short() && n%5 != i%5 {
				continue
			}
			for j, bins := range []int{1, 2, 15, 200} {
				if !check.Full() && (n+i+j)%2 == 0 {
					continue
				}
				testKeys(t, p.name, p.keys32(uint64(n+i), n), bins, []float64{-1, 0, 0.3, 1, math.NaN()}[(n+bins)%5])
				testKeys(t, p.name, p.keys64(uint64(n+i), n), bins, []float64{-1, 0, 0.3, 1, 1e-320}[(n+bins)%5])
			}
		}
	}
}

// Many keys, by way of a sample or not, as it says. With 120 bins they are sorted.
// TestEqualMassOfMany: each pattern has keys of one width, with one number of bins, by turns: of both widths with all of them if nothing
// is left out.
func TestEqualMassOfMany(t *testing.T) {
	for i, p := range patterns {
		if testing.Short() && i%5 != 0 { // 0, 5, 10 and 15 take turns
			continue
		}
		turn := func(k, width int) bool { return check.Full() || i%3 == k && i%2 == width }
		var k32 []uint32 // those that no turn takes are not made
		var k64 []uint64
		if check.Full() || i%2 == 0 {
			k32 = p.keys32(uint64(i), fewForPlan)
		}
		if check.Full() || i%2 == 1 {
			k64 = p.keys64(uint64(i), fewForPlan+999)
		}
		if turn(0, 0) {
			testKeys(t, p.name, k32, 15, 0)
		}
		if turn(0, 1) {
			testKeys(t, p.name, k64, 15, -1)
		}
		if turn(1, 0) {
			testKeys(t, p.name, k32, 2, 0.3)
		}
		if turn(1, 1) {
			testKeys(t, p.name, k64, 20, 0.3)
		}
		if turn(2, 0) {
			testKeys(t, p.name, k32[1:], 15, 0)
		}
		if turn(2, 1) {
			testKeys(t, p.name, k64, 120, 0)
		}
	}
}

// Samples that say something else than all keys: a little, so that edges are looked for in a second pass, or all.
func TestEqualMassOfWrongSamples(t *testing.T) {
	const bins = 15
	for _, n := range []int{fewForPlan, fewForPlan + 1} {
		keys := make([]uint64, n)
		for i := range keys {
			keys[i] = 2 * uint64(i)
		}
		var w worker[uint64]
		chosen := make([]bool, n)
		sample, _ := w.sample(keyed[uint64](keys), bins, below[uint64]{})
		for _, k := range sample {
			chosen[k/2] = true
		}
		for _, power := range []float64{1.1, 2, 50} {
			if power != 2 && (testing.Short() || n > fewForPlan && !check.Full()) {
				continue
			}
			r := check.Rand(uint64(n))
			score, hit := make([]float64, n), make([]uint8, n)
			for i := range score {
				if score[i], hit[i] = r.Float64(), uint8(r.IntN(2)); chosen[i] {
					score[i] = math.Pow(score[i], power)
				}
			}
			kernel.HitKeysF64(keys, score, hit)
			testKeys(t, fmt.Sprint("power ", power), keys, bins, -1)
		}
	}
}

// Ranks are those of numpy.round(numpy.linspace(0, n, bins, endpoint=False))[1:].
func TestRanks(t *testing.T) {
	for _, c := range []struct {
		n, bins int
		want    []int
	}{
		{0, 5, nil},
		{1, 3, []int{0, 0}},
		{7, 2, []int{4}}, // 3.5 is rounded to even
		{5, 2, []int{2}}, // and so is 2.5
		{10, 4, []int{2, 5, 8}},
		{3, 7, []int{0, 1, 1, 2, 2, 2}},
		{500, 1, nil},
	} {
		if got := Ranks(c.n, c.bins); !slices.Equal(got, c.want) {
			t.Errorf("Ranks(%d, %d) = %v, want %v", c.n, c.bins, got, c.want)
		}
	}
}

// Edges of any values are those of the sorted ones.
func TestEdges(t *testing.T) {
	r := check.Rand(9)
	for _, n := range []int{0, 1, 2, 100, 5000, 300_000} {
		x32, x64 := make([]float32, n), make([]float64, n)
		for i := range n {
			x64[i] = r.NormFloat64()
			x32[i] = float32(x64[i])
		}
		s32, s64 := slices.Clone(x32), slices.Clone(x64)
		slices.Sort(s32)
		slices.Sort(s64)
		for _, bins := range []int{1, 3, 15, 150} {
			e32, e64 := EdgesF32(x32, bins, 0), EdgesF64(x64, bins, 2)
			for i, k := range Ranks(n, bins) {
				if e32[i] != s32[k] || e64[i] != s64[k] {
					t.Fatalf("n=%d, %d bins: edge %d is %v and %v, want %v and %v", n, bins, i, e32[i], e64[i], s32[k], s64[k])
				}
			}
		}
	}
}
