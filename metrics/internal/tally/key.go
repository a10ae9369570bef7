package tally

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// HalfKey is the key of the score 1/2. No score in [0,1] has a key above twice that.
const HalfKey = 0x3fe0000000000000

// Key returns a number that rises with the score and determines it. Below 1/2 it consists of the score's bits, above 1/2 of
// those of the tail, which is more precise there. A rounded tail may be a few units above 1/2. The key exceeds 2*HalfKey if the
// score is outside [0,1].
func Key(p, tail float64) uint64 {
	low, b := math.Float64bits(p+0), math.Float64bits(tail+0) // -0 is 0
	key := 2*HalfKey - min(b, HalfKey)
	if b > HalfKey+kernel.GridSlack {
		key = math.MaxUint64
	}
	if low < HalfKey { // no jumps, since halves of scores come in any order
		key = low
	}
	return key
}

// Distance returns the distance q of a score from the nearer of 0 and 1, and whether that is 1.
func Distance(key uint64) (q float64, upper bool) {
	b := 2*HalfKey - key
	if key < HalfKey { // no jump, as in Key
		b = key
	}
	return math.Float64frombits(b), key >= HalfKey
}

// Score returns the score of a key.
func Score(key uint64) float64 {
	q, upper := Distance(key)
	if upper {
		return 1 - q
	}
	return q
}

// Places returns the number of places that Place tells apart.
func Places() int {
	_, rising := kernel.GridPlaces()
	return 2 * len(rising)
}

// Place returns the number of a key's cell of the kernel's grid. It rises with the score.
func Place(key uint64) uint64 {
	q, upper := Distance(key)
	at := uint64(kernel.GridRank(q))
	if upper {
		return uint64(Places()) - 1 - at
	}
	return at
}
