package order

import (
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// TestBinner: sets of any size one after another have the bins that each has alone.
func TestBinner(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(11)
		var m Binner[uint32]
		var b Bins
		for _, n := range []int{5000, 0, 1, 2, 17, 300, 4096, 3} {
			x, hit, keys := make([]float32, n), make([]uint8, n), make([]uint32, n)
			for i := range x {
				x[i], hit[i] = float32(r.IntN(1+n))/float32(1+n), uint8(r.IntN(2))
			}
			kernel.HitKeysF32(keys, x, hit)
			bins := 1 + r.IntN(20)
			want := plainBins(append([]uint32{}, keys...), bins, -1)
			if m.EqualMass(&b, keys, bins); same(&b, want) != nil {
				t.Fatalf("%d scores, %d bins: %v", n, bins, same(&b, want))
			}
		}
	})
}
