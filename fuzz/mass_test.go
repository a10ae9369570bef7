package fuzz

import (
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/parallel"
)

func addScores(f *testing.F) {
	special := []float64{0, math.Copysign(0, -1), 1, 0.5, 5e-324, 0x1p-149, -5e-324, 1.0000001, 2, -1, math.NaN(), math.Inf(1),
		math.Inf(-1), 0.25}
	for i, k := range []uint16{0, 1, 3, 4, 6, 13} {
		f.Add(bytes64(special...), uint8(0), uint8(9), k, uint8(i), uint8(i))
		f.Add(bytes32(to32(special)...), uint8(0), uint8(20), k, uint8(i), uint8(9*i))
		f.Add([]byte("these are scores from 0 to 1"), uint8(8<<2|1), uint8(40), 9*k, uint8(i), uint8(i))
	}
	f.Add(bytes64(ramp(300, 0, 0.003)...), uint8(0), uint8(9), uint16(14), uint8(0), uint8(2))
}

// keysBits runs a kernel of columns' keys and returns all that it leaves, with what stands beside.
func keysBits[K kernel.Key, F float32 | float64](run func([]K, []F, int, int, int) (K, int), x []F,
	rows, cols, stride int) func() []uint64 {
	return func() []uint64 {
		d := slices.Repeat([]K{7}, rows*cols+2*beside)
		least, out := run(d[beside:beside+rows*cols], x, rows, cols, stride)
		return appendBits([]uint64{uint64(least), uint64(out)}, func(k K) uint64 { return uint64(k) }, d...)
	}
}

func FuzzLevelsColumnKeys(f *testing.F) {
	addScores(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat uint8, k16 uint16, pad, off uint8) {
		f32 := elements(data, how, repeat, off, 4, single, func(v float64) float32 { return float32(v) })
		f64 := elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v })
		rows, cols, stride := shape(len(f32), k16, pad)
		sameBits(t, "ColumnKeysF32", keysBits(kernel.ColumnKeysF32, f32, rows, cols, stride))
		rows, cols, stride = shape(len(f64), k16, pad)
		sameBits(t, "ColumnKeysF64", keysBits(kernel.ColumnKeysF64, f64, rows, cols, stride))
	})
}

func FuzzLevelsHitBlocks(f *testing.F) {
	addScores(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat uint8, k16 uint16, pad, off uint8) {
		x := elements(data, how, repeat, off, 4, single, func(v float64) float32 { return float32(v) })
		keys := make([]uint32, len(x)+int(pad%32))[pad%32:]
		for i, v := range x {
			if !(v >= 0 && v <= 1) {
				v = math.Float32frombits(math.Float32bits(v) % (math.Float32bits(1) + 1))
			}
			keys[i] = math.Float32bits(v)<<1 | uint32(i*int(k16|1)>>4)&1
		}
		slices.Sort(keys)
		sameBits(t, "HitBlocksF32", func() []uint64 {
			d := slices.Repeat([]kernel.HitBlock{{Hits: 7, Ends: 7, Gap: 7, Square: 7}}, (len(keys)+63)/64+2)
			kernel.HitBlocksF32(d[1:len(d)-1], keys)
			var b []uint64
			for _, h := range d {
				b = append(b, h.Hits, h.Ends, uint64(h.Gap), uint64(h.Square))
			}
			return b
		})
	})
}

// FuzzEqualMass: each bin has the sums of the scores between its edges, and each edge is the score with its rank.
func FuzzEqualMass(f *testing.F) {
	addScores(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat uint8, k16 uint16, above, off uint8) {
		x := elements(data, how, repeat, off, 4, single, func(v float64) float32 { return float32(v) })
		bins, threshold := 1+int(k16%300), float64(above)/128-0.5
		hit, keys := make([]uint8, len(x)), make([]uint32, len(x))
		var kept []uint32
		for i := range hit {
			hit[i] = uint8(i*i/3) & 1
		}
		out := kernel.HitKeysF32(keys, x, hit)
		for i, v := range x {
			if float64(v) > threshold && v >= 0 && v <= 1 {
				kept = append(kept, keys[i])
			}
		}
		slices.Sort(kept)
		sameBits(t, "EqualMass", func() []uint64 {
			b := parallel.EqualMass(slices.Clone(keys), bins, threshold, 2)
			if b.Count() != int64(len(kept)) || b.Outside() != int64(out) || b.Count()+b.Below()+b.Outside() != int64(len(x)) {
				t.Fatalf("%d kept, %d below, %d outside: of %d", b.Count(), b.Below(), b.Outside(), len(x))
			}
			edges := b.Edges()
			for j, e := range edges {
				rank := min(int(math.RoundToEven(float64(j+1)*(float64(len(kept))/float64(bins)))), len(kept)-1)
				if p, _ := kernel.HitScore(kept[rank]); e != p {
					t.Fatalf("edge %d of %d bins is %v, want %v", j, bins, e, p)
				}
			}
			bits := appendBits(nil, math.Float64bits, edges...)
			at := 0
			for i := range b.Len() {
				from, p, y := at, 0.0, int64(0)
				for ; at < len(kept); at++ {
					score, h := kernel.HitScore(kept[at])
					if i < len(edges) && score >= edges[i] {
						break
					}
					p, y = p+score, y+int64(h)
				}
				c := b.Bin(i)
				if c.Count != int64(at-from) || c.Events != y || math.Abs(c.Scores-p) > 1e-9 {
					t.Fatalf("bin %d of %d: %d scores, %d hits, sum %v; want %d, %d, %v",
						i, bins, c.Count, c.Events, c.Scores, at-from, y, p)
				}
				bits = append(bits, uint64(c.Count), uint64(c.Events), math.Float64bits(c.Scores))
			}
			return append(bits, math.Float64bits(b.ECE()))
		})
	})
}
