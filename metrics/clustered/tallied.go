package clustered

import (
	"math/bits"
	"sync"

	"github.com/candor-go/candor/metrics/internal/tally"
)

// tallied adds up counts by their place and outcome. It holds none between calls.
type tallied struct {
	rows []uint64 // of each place and outcome
	met  []uint64 // a bit for each that has rows
}

// tallies are shared: each is larger than most clusters, and there may be Sums for thousands of groups.
var tallies = sync.Pool{New: func() any {
	n := 2 * tally.Places()
	return &tallied{make([]uint64, n), make([]uint64, n/64+1)}
}}

// add adds a list of counts, in any order.
func (t *tallied) add(counts []uint64) {
	for _, v := range counts {
		p := v >> countBits
		t.rows[p] += v & mostCount
		t.met[p/64] |= 1 << (p % 64)
	}
}

// len returns the number of counts that take returns.
func (t *tallied) len() (n int) {
	for _, m := range t.met {
		n += bits.OnesCount64(m)
	}
	return n
}

// take appends the counts in rising order, one for each place and outcome, and forgets them.
func (t *tallied) take(dst []uint64) []uint64 {
	for i, m := range t.met {
		for ; m != 0; m &= m - 1 {
			p := uint64(64*i + bits.TrailingZeros64(m))
			dst = append(dst, p<<countBits|t.rows[p])
			t.rows[p] = 0
		}
		t.met[i] = 0
	}
	return dst
}
