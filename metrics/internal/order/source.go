package order

import "github.com/candor-go/candor/kernel"

// A source yields keys, stored or made from scores with outcomes.
type source[K kernel.Key] interface {
	size() int
	// pick writes to dst, for each number that next returns, the key at that number and the following one, with any outcome.
	pick(dst []K, next func() int)
	// read returns len(dst) keys from number first on: in place, or else in dst.
	read(dst []K, first int) []K
	// all returns all keys, which may be reordered.
	all() []K
}

type keyed[K kernel.Key] []K

func (s keyed[K]) size() int                   { return len(s) }
func (s keyed[K]) read(dst []K, first int) []K { return s[first : first+len(dst)] }
func (s keyed[K]) all() []K                    { return s }

func (s keyed[K]) pick(dst []K, next func() int) {
	for i := 0; i < len(dst); i += 2 {
		copy(dst[i:i+2], s[next():])
	}
}

type scored[K kernel.Key, F any] struct {
	p   []F
	hit []uint8
	to  func(dst []K, p []F, hit []uint8) (out int)
}

func (s *scored[K, F]) size() int { return len(s.p) }

func (s *scored[K, F]) read(dst []K, first int) []K {
	end := first + len(dst)
	s.to(dst, s.p[first:end], s.hit[first:end])
	return dst
}

func (s *scored[K, F]) all() []K { return s.read(make([]K, len(s.p)), 0) }

func (s *scored[K, F]) pick(dst []K, next func() int) {
	p := make([]F, len(dst))
	for i := 0; i < len(p); i += 2 {
		copy(p[i:i+2], s.p[next():])
	}
	s.to(dst, p, make([]uint8, len(dst)))
}
