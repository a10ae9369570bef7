package arrowipc

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	leastSpare = 64 << 10 // less is not worth the trouble
	mostSpare  = 8 << 20  // more would count beside the batches
	mostSpares = 2
)

// spare keeps the memory of batches for the next ones: that of the system costs more than to read into it. It is the library's allocator where
// batches share nothing.
type spare struct {
	mu  sync.Mutex
	all [][]byte
}

// take returns memory of a size, with anything in it; nil if there is none.
func (s *spare) take(size int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range s.all {
		if size >= leastSpare && cap(b) >= size && cap(b)/2 <= size {
			last := len(s.all) - 1
			s.all[i], s.all = s.all[last], s.all[:last]
			return b[:size]
		}
	}
	return nil
}

// Allocate implements memory.Allocator.
func (s *spare) Allocate(size int) []byte {
	if b := s.take(size); b != nil {
		return b
	}
	return memory.DefaultAllocator.Allocate(size)
}

// Reallocate implements memory.Allocator.
func (s *spare) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	grown := s.Allocate(size)
	copy(grown, b)
	s.Free(b)
	return grown
}

// Free implements memory.Allocator. It also takes what was not allocated here.
func (s *spare) Free(b []byte) {
	if cap(b) < leastSpare || cap(b) > mostSpare {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) < mostSpares {
		s.all = append(s.all, b[:cap(b)])
	}
}
