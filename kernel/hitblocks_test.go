package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

func hitKey(p float32, hit uint32) uint32 { return math.Float32bits(p)<<1 | hit }

// blocksOf runs HitBlocksF32 on keys.
func blocksOf(keys []uint32) []HitBlock {
	dst := make([]HitBlock, (len(keys)+63)/64)
	HitBlocksF32(dst, keys)
	return dst
}

// sortedKeys draws keys of scores in [0,1] by one of several laws, and sorts them.
func sortedKeys(r *rand.Rand, n int) []uint32 {
	keys, law := make([]uint32, n), r.IntN(7)
	one := math.Float32bits(1)
	for i := range keys {
		var p float32
		switch law {
		case 0:
			p = r.Float32()
		case 1: // many are equal
			p = float32(r.IntN(5)) / 4
		case 2: // any exponent
			p = math.Float32frombits(r.Uint32N(one + 1))
		case 3: // subnormal
			p = math.Float32frombits(r.Uint32N(1 << 23))
		case 4: // beside 0, the least normal number, 1/2 and 1
			p = math.Float32frombits([...]uint32{r.Uint32N(4), 1<<23 - 2 + r.Uint32N(4), one - 1<<23 - 2 + r.Uint32N(4), one - r.Uint32N(4)}[r.IntN(4)])
		case 5: // about what is half of a unit
			p = float32(1+r.IntN(15)) * float32(math.Ldexp(1, -24-r.IntN(33)))
		case 6: // one score, but for a few
			p = 0.5 + float32(r.IntN(64)/63)/4
		}
		keys[i] = hitKey(p, uint32(r.IntN(2)))
	}
	slices.Sort(keys)
	return keys
}

// quanta is x in units of 2^-place, rounded to the nearest integer, to an even one where there are two.
func quanta(x *big.Float, place int) int64 {
	scaled := new(big.Float).SetMode(big.ToNearestEven).SetMantExp(x, place)
	half := big.NewFloat(0.5)
	v, _ := new(big.Float).Add(scaled, half).Int64() // rounds down: x is not negative
	if sum := new(big.Float).Add(scaled, half); sum.IsInt() && v&1 == 1 {
		v--
	}
	return v
}

// exactBlocks is the definition with numbers of any precision.
func exactBlocks(keys []uint32) []HitBlock {
	dst := make([]HitBlock, (len(keys)+63)/64)
	for i, k := range keys {
		h, bit := &dst[i/64], uint64(1)<<(i%64)
		score, hit := HitScore(k)
		p := big.NewFloat(score).SetPrec(300)
		if h.Gap += quanta(p, 51); hit == 1 {
			h.Hits |= bit
			h.Gap -= 1 << 51
		}
		d := new(big.Float).SetPrec(53).Sub(p, big.NewFloat(float64(hit)))
		h.Square += quanta(new(big.Float).SetPrec(300).Set(new(big.Float).SetPrec(53).Mul(d, d)), 50)
		if i+1 == len(keys) {
			h.Ends |= bit
		} else if next, _ := HitScore(keys[i+1]); next != score {
			h.Ends |= bit
		}
	}
	return dst
}

func TestHitBlocks(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(61)
		lengths := append(thin(upTo(0, 4*64+3), 13, 3), 1000, 4096)
		for _, n := range lengths {
			for range 8 {
				keys := sortedKeys(r, n)
				if got, want := blocksOf(keys), exactBlocks(keys); !slices.Equal(got, want) {
					t.Fatalf("%d keys %x:\n%x, want\n%x", n, keys, got, want)
				}
			}
		}
	})
}

// The sums of a block of one key, and of one among keys that add nothing.
func TestHitBlocksOne(t *testing.T) {
	const half = 1 << 50 // of 1 in units of the gap
	for _, c := range []struct {
		p           float32
		hit         uint32
		gap, square int64
	}{
		{0, 0, 0, 0}, {0, 1, -2 * half, half},
		{1, 0, 2 * half, half}, {1, 1, 0, 0},
		{0.5, 0, half, half / 4}, {0.5, 1, -half, half / 4},
		{0.25, 0, half / 2, half / 16}, {0.25, 1, -3 * half / 2, 9 * half / 16},
		{0x1p-149, 0, 0, 0}, {0x1p-149, 1, -2 * half, half},
		{0x1p-126, 0, 0, 0}, {0x1p-126, 1, -2 * half, half},
		{0x1p-51, 0, 1, 0}, {0x1p-52, 0, 0, 0}, {0x1.000002p-52, 0, 1, 0}, {0x1.8p-51, 0, 2, 0}, {0x1.4p-50, 0, 2, 0}, // ties to even
		{0x1p-52, 1, -2 * half, half}, {0x1.8p-51, 1, 2 - 2*half, half - 2}, // a tie
		{0x1p-25, 0, 1 << 26, 1}, {0x1p-26, 0, 1 << 25, 0}, {0x1.8p-25, 0, 3 << 25, 2},
		{1 - 0x1p-24, 0, 2*half - 1<<27, half - 1<<27 + 4}, {1 - 0x1p-24, 1, -1 << 27, 4},
	} {
		isatest.Each(t, func(t *testing.T) {
			want := HitBlock{uint64(c.hit), 1, c.gap, c.square}
			if got := blocksOf([]uint32{hitKey(c.p, c.hit)}); !slices.Equal(got, []HitBlock{want}) {
				t.Errorf("%v, %d: %+v, want %+v", c.p, c.hit, got, want)
			}
			for _, n := range []int{16, 63, 64, 65, 70} {
				keys := append(make([]uint32, n-1), hitKey(c.p, c.hit))
				got := blocksOf(keys)
				h := got[len(got)-1]
				if h.Gap != c.gap || h.Square != c.square || h.Hits>>((n-1)%64) != uint64(c.hit) || h.Ends>>((n-1)%64) != 1 {
					t.Errorf("%v, %d, the last of %d: %+v, want %+v", c.p, c.hit, n, h, want)
				}
			}
		})
	}
}

// A score may go on in the next block, with the same outcome or the other one.
func TestHitBlocksEnds(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for n := 1; n <= 3*64; n++ {
			for change := range n + 1 { // number of keys with the lower score
				keys, want := make([]uint32, n), make([]uint64, (n+63)/64)
				for i := range keys {
					keys[i] = hitKey(0.25, uint32(i/50&1))
					if i >= change {
						keys[i] = hitKey(math.Nextafter32(0.25, 1), uint32(i/64&1))
					}
				}
				for _, last := range []int{change, n} {
					if last > 0 {
						want[(last-1)/64] |= 1 << ((last - 1) % 64)
					}
				}
				for b, h := range blocksOf(keys) {
					var hits uint64
					for i, k := range keys[b*64 : min(b*64+64, n)] {
						hits |= uint64(k&1) << i
					}
					if h.Ends != want[b] || h.Hits != hits {
						t.Fatalf("%d keys, another score from %d on, block %d: ends %x, hits %x, want %x, %x", n, change, b, h.Ends, h.Hits, want[b], hits)
					}
				}
			}
		}
	})
}
