package kernel

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

func TestLevelsMoments(t *testing.T) {
	logCompared(t)
	vs, out := newRoom[float64](t, MaxSum), newRoom[int64](t, 5)
	for _, w := range []struct {
		name          string
		first, second *Window
	}{
		{"unit", &WindowUnit, &WindowUnit}, {"brier", &WindowBrier, &WindowBrier2},
		{"entropy", &WindowEntropy, &WindowEntropy2}, {"nll", &WindowNLL, &WindowNLL2},
	} {
		t.Run(w.name, func(t *testing.T) {
			r := check.Rand(31)
			most := w.first.Max
			awkward := append(check.Specials64(), most, -most, math.Nextafter(most, 0), math.Nextafter(most, math.Inf(1)), -math.Nextafter(most, math.Inf(1)))
			for i, n := range lengths(16, MaxSum) {
				for j, at := range places(i, 8) {
					for d := range deal(3*i+j, sized(1, 2, all), 3) {
						odds := [...]int{2, 5, n + 1}[d[0]]
						v, dst := vs.lay("v", at, n, true), out.lay("Moments", place{}, 5, false).column(5)
						for i := range v.s {
							v.s[i] = math.Ldexp((r.Float64()*2-1)*most, -r.IntN(100)*r.IntN(2))
							if r.IntN(odds) == 0 {
								v.s[i] = awkward[r.IntN(len(awkward))]
							}
						}
						if err := sameAtLevels(func() uint64 {
							m := Moments(v.s, w.first, w.second)
							copy(dst.s, []int64{m.Hi, m.Lo, m.Hi2, m.Lo2, int64(m.Out)})
							return 0
						}, v, dst); err != nil {
							t.Fatalf("n=%d at %v: %v; values %v", n, at, err, v.s[:min(n, 67)])
						}
					}
				}
			}
		})
	}
}

func TestLevelsCellSum(t *testing.T) {
	logCompared(t)
	ps, ys, out := newRoom[float64](t, MaxSum), newRoom[uint8](t, MaxSum), newRoom[int64](t, 5)
	r := check.Rand(37)
	awkward := append(check.Specials64(), -5e-324, math.Nextafter(1, 2), 0x1p-52, 0x1.8p-51, 0x1p-26)
	for i, n := range lengths(16, MaxSum) {
		for j, at := range places(i, 32) {
			for d := range deal(3*i+j, sized(1, 2, all), 3) {
				odds := [...]int{2, 5, n + 1}[d[0]]
				p, y, dst := ps.lay("p", at, n, true), ys.lay("y", at, n, true), out.lay("CellSum", place{}, 5, false).column(5)
				for i := range n {
					p.s[i], y.s[i] = r.Float64(), uint8(r.IntN(2))
					if r.IntN(odds) == 0 {
						p.s[i] = awkward[r.IntN(len(awkward))]
					}
				}
				if err := sameAtLevels(func() uint64 {
					s, out := CellSum(p.s, y.s)
					copy(dst.s, []int64{s.N, s.Y, s.P, s.PP, s.PY})
					return uint64(out)
				}, p, y, dst); err != nil {
					t.Fatalf("n=%d at %v: %v; scores %v", n, at, err, p.s[:min(n, 67)])
				}
			}
		}
	}
}

func TestLevelsHitsAndCounts(t *testing.T) {
	logCompared(t)
	const most = 4099
	as, bs, hits, counts := newRoom[int32](t, most), newRoom[int32](t, most), newRoom[uint8](t, most), newRoom[int64](t, 100)
	r := check.Rand(41)
	odd := []int32{-1, math.MinInt32, math.MaxInt32, 1 << 30, 64, -64, 256}
	classes := []int{0, 1, 2, 4, 5, 6, 7, 8, 10, 100}
	for i, n := range lengths(16, MaxSum, most) {
		for j, at := range places(i, 16) {
			a, b := as.lay("a", at, n, true), bs.lay("b", at, n, true)
			k := 1 + r.IntN(12)
			for i := range n {
				a.s[i], b.s[i] = int32(r.IntN(k)), int32(r.IntN(k))
				if r.IntN(8) == 0 {
					a.s[i] = odd[r.IntN(len(odd))]
				}
				if r.IntN(8) == 0 {
					b.s[i] = a.s[i]
				}
			}
			dst := hits.lay("hits", at, n, false).column(n)
			if err := sameAtLevels(func() uint64 { Hits(dst.s, a.s, b.s); return 0 }, a, b, dst); err != nil {
				t.Fatalf("Hits: n=%d at %v: %v", n, at, err)
			}
			for d := range deal(3*i+j, sized(3, 5, all), len(classes)) {
				k := classes[d[0]]
				sums := counts.lay("counts", place{at.side, at.off % 8}, k, false).column(k)
				sums.src = []int64{3, 1 << 40, 5}[:min(k, 3)]
				if err := sameAtLevels(func() uint64 {
					for i := len(sums.src); i < k; i++ {
						sums.s[i] = int64(i)
					}
					Counts(sums.s, a.s)
					return 0
				}, a, sums); err != nil {
					t.Fatalf("Counts: n=%d of %d at %v: %v", n, k, at, err)
				}
			}
		}
	}
}

func TestLevelsSquaredErrors(t *testing.T) {
	logCompared(t)
	const most = 1040
	out, hits := newRoom[float64](t, most), newRoom[uint8](t, most)
	var cols [4]*levelRoom[float64]
	for i := range cols {
		cols[i] = newRoom[float64](t, most)
	}
	r := check.Rand(43)
	awkward := []float64{0, 1, 5e-324, 0x1p-53, 1 - 0x1p-53, 1.5, -0.25, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), nan64}
	for i, n := range lengths(16) {
		for j, at := range places(i, 8) {
			for d := range deal(3*i+j, sized(1, 2, all), 3) {
				k := [...]int{1, 2, 10}[d[0]]
				var in [4]*sheet[float64]
				for i := range in {
					in[i] = cols[i].lay("a column", place{at.side, (at.off + 3*i) % 8}, n, true)
					for j := range in[i].s {
						if in[i].s[j] = r.Float64(); r.IntN(10) == 0 {
							in[i].s[j] = awkward[r.IntN(len(awkward))]
						}
					}
				}
				hit, dst := hits.lay("hit", at, n, true), out.lay("dst", at, n, false).column(n)
				for i := range hit.s {
					hit.s[i] = uint8(r.IntN(2))
				}
				dst.class = true
				c := &Stats{Top: in[0].s, Tail: in[1].s, Label: in[2].s, Rest: in[3].s}
				if err := sameAtLevels(func() uint64 { SquaredErrors(dst.s, c, hit.s, k); return 0 },
					in[0], in[1], in[2], in[3], hit, dst); err != nil {
					t.Fatalf("n=%d k=%d at %v: %v", n, k, at, err)
				}
			}
		}
	}
}
