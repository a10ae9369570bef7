package order

import "github.com/candor-go/candor/kernel"

// A Binner finds the bins of equal mass of one set of keys after another, reusing its memory, which grows with the largest
// set. The zero value is ready for use.
type Binner[K kernel.Key] struct{ w worker[K] }

// EqualMass writes to dst the bins of keys made by kernel.HitKeysF32 or HitKeysF64 from scores in [0,1], as the function
// EqualMass does without a threshold. It reorders the keys. The slices of dst are reused if they are large enough.
func (b *Binner[K]) EqualMass(dst *Bins, keys []K, bins int) {
	b.w.equalMass(dst, keyed[K](keys), bins, below[K]{}, kept, 1)
}
