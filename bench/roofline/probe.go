package main

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/candor-go/candor/internal/isa"
)

// callBytes is what one call of the reader is given, as of the kernels: while it runs, Go cannot stop its goroutine.
const callBytes = 1 << 20

// sink keeps what the probes compute, so that no compiler leaves them out.
var sink atomic.Uint64

// read goes once through all of mem, whose length is a multiple of 64, with a number of goroutines that take a call's
// bytes at a time, as the workers of a Pass take their chunks.
func read(mem []byte, threads int) {
	var next atomic.Int64
	work := func() {
		var sum uint64
		for {
			end := int(next.Add(callBytes))
			if end-callBytes >= len(mem) {
				break
			}
			sum += sumWords(mem[end-callBytes : min(end, len(mem))])
		}
		sink.Add(sum)
	}
	together(threads, work)
}

// portRate returns how many vector multiply-adds one thread issues in a second while as many threads do the same: the
// slowest one's rate. It falls when another program runs on a sibling of the core, or when the clock does, which a
// workload cannot be blamed for.
func portRate(level isa.Level, threads int) float64 {
	var mu sync.Mutex
	lowest := 0.0
	together(threads, func() {
		start := time.Now()
		n := multiplyAdds(level)
		rate := float64(n) / since(start).Seconds()
		mu.Lock()
		defer mu.Unlock()
		if lowest == 0 || rate < lowest {
			lowest = rate
		}
	})
	return lowest
}

// together runs f on as many goroutines and waits. Alone it stays on the caller's own, and thereby on its core.
func together(threads int, f func()) {
	var wg sync.WaitGroup
	for range threads - 1 {
		wg.Go(f)
	}
	f()
	wg.Wait()
}

// sumGo is the sum of the 8-byte words of mem, in the machine's order, whose length is a multiple of 64. It is what the
// assembly computes, and what stands in for it elsewhere: eight sums, so that none waits for another.
func sumGo(mem []byte) uint64 {
	w := view[uint64](mem)
	var s0, s1, s2, s3, s4, s5, s6, s7 uint64
	for ; len(w) >= 8; w = w[8:] {
		s0 += w[0]
		s1 += w[1]
		s2 += w[2]
		s3 += w[3]
		s4 += w[4]
		s5 += w[5]
		s6 += w[6]
		s7 += w[7]
	}
	return s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7
}

// multiplyAddsGo is the probe where there is no assembly: sixteen chains of a float64 multiply-add, which arm64 fuses. It
// returns their number.
func multiplyAddsGo() int {
	const chains, rounds = 16, 1 << 14
	var a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p float64
	for range rounds {
		a, b, c, d = a*0.5+1, b*0.5+1, c*0.5+1, d*0.5+1
		e, f, g, h = e*0.5+1, f*0.5+1, g*0.5+1, h*0.5+1
		i, j, k, l = i*0.5+1, j*0.5+1, k*0.5+1, l*0.5+1
		m, n, o, p = m*0.5+1, n*0.5+1, o*0.5+1, p*0.5+1
	}
	sink.Add(uint64(a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p))
	return chains * rounds
}
