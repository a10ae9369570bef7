package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// pages is how the system backs a store.
type pages uint8

const (
	hugePages  pages = iota // 2 MiB, where the system grants them
	smallPages              // the system's own, mostly 4 KB
)

// A store is a region of memory full of scores, larger than any cache. What reads it takes one window after another, so
// that nothing it gets is still in a cache.
type store struct {
	mem []byte
	at  int // where the last window ended
}

// window returns the first of a number of rows, of so many bytes each, that have not been read for longest.
func (s *store) window(rows, rowBytes int) (first int) {
	first = (s.at + rowBytes - 1) / rowBytes
	if first+rows > len(s.mem)/rowBytes {
		first = 0
	}
	s.at = (first + rows) * rowBytes
	return first
}

// whole returns all of it; the next window is the store's start, which has been read for longest then.
func (s *store) whole() []byte {
	s.at = len(s.mem)
	return s.mem
}

// A memory holds what workloads read, on pages of one kind. Workloads on scores of one sort share a store.
type memory struct {
	size   int // of a store, in bytes
	pages  pages
	stores map[string]*store
	first  *store          // which sequential read is measured on
	labels map[int][]int32 // by the number of labels; a row's label is that of its number in the store
	desk   *desk           // for the largest ranking
	total  int             // bytes that have been taken
	free   []func()
}

func newMemory(size int, p pages) *memory {
	return &memory{size: size, pages: p, stores: map[string]*store{}, labels: map[int][]int32{}}
}

// close gives the memory back to the system.
func (m *memory) close() {
	for _, f := range m.free {
		f()
	}
}

func (m *memory) take(n int) ([]byte, error) {
	mem, free, err := allocate(n, m.pages)
	if err != nil {
		return nil, err
	}
	m.total += len(mem)
	m.free = append(m.free, free)
	return mem, nil
}

// add makes room for a workload and fills it.
func (m *memory) add(w *workload) error {
	if m.stores[w.store] == nil {
		mem, err := m.take(m.size)
		if err != nil {
			return err
		}
		fillScores(mem, w.store)
		m.stores[w.store] = &store{mem: mem}
		if m.first == nil {
			m.first = m.stores[w.store]
		}
	}
	if w.ranking != nil {
		return m.setDesk(m.ranked(w))
	}
	if w.kind == metrics.Normals {
		return nil
	}
	n, rows := max(2, w.classes), m.size/w.rowBytes()
	if len(m.labels[n]) < rows {
		mem, err := m.take(4 * rows)
		if err != nil {
			return err
		}
		m.labels[n] = view[int32](mem)
		fillLabels(m.labels[n], n)
	}
	return nil
}

// setDesk makes room for rankings of n scores.
func (m *memory) setDesk(n int) (err error) {
	if m.desk == nil || len(m.desk.x) < n {
		m.desk, err = m.newDesk(n)
	}
	return err
}

// rows returns the scores of some rows of a workload.
func (m *memory) rows(w *workload, first, rows int) []byte {
	return m.stores[w.store].mem[first*w.rowBytes() : (first+rows)*w.rowBytes()]
}

// poolLen is how many random numbers there are: to make as many as a store has would take longer than to measure.
const poolLen = 1 << 21

// softmaxClasses is the number of classes of the store of probabilities of rows.
const softmaxClasses = 1000

// fillScores fills a store with copies of a pool of random numbers, each from another place on.
func fillScores(mem []byte, name string) {
	r := rand.New(rand.NewPCG(1, 2))
	if name == "uniform" { // as many as no ranking has, again and again
		x := view[float32](mem)
		pool := x[:min(len(x), 1<<24)]
		for i := range pool {
			pool[i] = r.Float32()
		}
		for i := len(pool); i < len(x); i += len(pool) {
			copy(x[i:], pool)
		}
		return
	}
	if name == "probs" {
		pool := make([]float32, poolLen)
		for i := range pool {
			pool[i] = (float32(r.Uint32()>>9) + 0.5) * 0x1p-23 // neither 0 nor 1, where a loss is infinite
		}
		tile(view[float32](mem), pool, r)
		return
	}
	pool := make([]float32, poolLen)
	for i := range pool {
		pool[i] = logit(r)
	}
	if name == "softmax" {
		const k = softmaxClasses
		rows := len(pool) / k
		kernel.SoftmaxF32(pool, k, pool, rows, k, k)
		for dst := view[float32](mem); len(dst) > 0; { // whole rows
			dst = dst[copy(dst, pool[k*r.IntN(rows):k*rows]):]
		}
		return
	}
	if name == "normal" { // means, standard deviations of about 1, and what was observed
		for i := 0; i+3 <= len(pool); i += 3 {
			pool[i+1] = float32(math.Exp(float64(pool[i+1]) / 8))
			pool[i+2] = pool[i] + pool[i+1]*pool[i+2]/3
		}
		for dst := view[float32](mem); len(dst) > 0; { // whole rows
			dst = dst[copy(dst, pool[3*r.IntN(len(pool)/3):len(pool)/3*3]):]
		}
		return
	}
	switch name {
	case "f32":
		tile(view[float32](mem), pool, r)
	case "f64":
		tile(view[float64](mem), each(pool, func(v float32) float64 { return float64(v) }), r)
	case "bf16":
		tile(view[uint16](mem), each(pool, func(v float32) uint16 { return uint16(math.Float32bits(v) >> 16) }), r)
	case "f16":
		tile(view[uint16](mem), each(pool, float16), r)
	default:
		panic("roofline: a store of no known sort")
	}
}

func fillLabels(dst []int32, n int) {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	pool := make([]int32, min(poolLen, len(dst)))
	for i := range pool {
		pool[i] = r.Int32N(int32(n))
	}
	tile(dst, pool, r)
}

func tile[T any](dst, pool []T, r *rand.Rand) {
	for len(dst) > 0 {
		dst = dst[copy(dst, pool[r.IntN(len(pool)):]):]
	}
}

func each[T any](pool []float32, f func(float32) T) []T {
	out := make([]T, len(pool))
	for i, v := range pool {
		out[i] = f(v)
	}
	return out
}

// logit returns a bell-shaped number of mean 0 and standard deviation 3, within 6 deviations: twelve uniform integers
// below 2^16 sum to a variance of 2^32.
func logit(r *rand.Rand) float32 {
	sum := int64(0)
	for range 3 {
		u := r.Uint64()
		sum += int64(u&0xffff + u>>16&0xffff + u>>32&0xffff + u>>48)
	}
	return float32(sum-6<<16) * (3 * 0x1p-16)
}

// float16 returns the bits of a number within float16's range, cut off and not rounded: any digits do.
func float16(v float32) uint16 {
	u := math.Float32bits(v)
	sign := uint16(u >> 16 & 0x8000)
	if u<<1 < 113<<24 { // below the smallest normal number
		return sign
	}
	return sign | uint16((u>>23&0xff-112)<<10|u>>13&0x3ff)
}

// view returns memory as a slice of numbers.
func view[T any](mem []byte) []T {
	if len(mem) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&mem[0])), len(mem)/int(unsafe.Sizeof(zero)))
}

// lastCache returns the size of the CPU's largest cache, or 0 where the system does not tell.
func lastCache() int {
	largest := 0
	files, _ := filepath.Glob("/sys/devices/system/cpu/cpu0/cache/index*/size") // its one error is a bad pattern
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil {
			largest = max(largest, parseSize(string(b)))
		}
	}
	return largest
}

// parseSize reads a size as the kernel spells it, "1024K"; it returns 0 for what it does not know.
func parseSize(s string) int {
	s = strings.TrimSpace(s)
	unit := 1
	if i := len(s) - 1; i >= 0 {
		switch s[i] {
		case 'K':
			unit, s = 1<<10, s[:i]
		case 'M':
			unit, s = 1<<20, s[:i]
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n * unit
}
