package clustered

import "testing"

// TestJoin: clusters of the same places are joined in the memory that they have, and others in no more than both need.
func TestJoin(t *testing.T) {
	list := func(first, step uint64, n int) (v []uint64) {
		for i := range uint64(n) {
			v = append(v, (first+i*step)<<countBits|3)
		}
		return v[:n:n]
	}
	s := New(Options{})
	c, same := cluster{counts: list(5, 2, 1000), sorted: 1000}, cluster{counts: list(5, 2, 1000), sorted: 1000}
	s.join(&c, &same)
	if len(c.counts) != 1000 || cap(c.counts) != 1000 || c.counts[999] != (5+999*2)<<countBits|6 {
		t.Errorf("%d counts with room for %d, the last one %x", len(c.counts), cap(c.counts), c.counts[len(c.counts)-1])
	}
	s.join(&c, &cluster{counts: list(1004, 1, 1000), sorted: 1000})
	if want := 1500; len(c.counts) != want || cap(c.counts) != want || c.sorted != want {
		t.Errorf("%d counts with room for %d, want %d", len(c.counts), cap(c.counts), want)
	}
	for i, v := range c.counts[1:] {
		if v>>countBits <= c.counts[i]>>countBits {
			t.Fatalf("count %d does not rise", i+1)
		}
	}
}
