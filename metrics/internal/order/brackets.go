package order

import (
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/pool"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// A plan divides the line of keys into segments such that, almost always, edges lie in segments whose keys are collected.
// Keys between them are only summed. The counts show in the end whether an edge lies elsewhere after all; then all keys are
// read once more.
type plan[K kernel.Key] struct {
	lasts   []K     // segment i ends with lasts[i]; the last one ends with the largest key
	does    []uint8 // action for each segment
	expects []int   // expected number of collected keys
}

// What is done with the keys of a segment.
const (
	sums     = iota // sum them: all keys are in one bin
	one             // all keys have the same score
	collects        // edges may lie in it
	drops           // not above the threshold
	outside         // outside [0,1]
)

// With fewer keys than fewForPlan edges are selected at once, since a sample says too little.
const fewForPlan = 1 << 19

// deviations is the largest distance, in standard deviations, at which an edge is sought from its place in the sample. The
// probability of a larger one is 1 in 2,000.
const deviations = 3.5

// planOf returns nil if no plan is better than a selection among all keys.
func planOf[K kernel.Key](keys source[K], bins int, low below[K], w *worker[K]) *plan[K] {
	n := keys.size()
	if n < fewForPlan || bins < 2 || quarter(bins) > n/8 {
		return nil
	}
	sample, taken := w.sample(keys, bins, low)
	size := float64(len(sample))
	if len(sample) < 1024 {
		return nil
	}
	p := new(plan[K])
	c := cutter[K]{plan: p, each: float64(n) / float64(taken)}
	if low.any {
		c.cover(low.last, drops, 0)
	}
	for j := 1; j < bins; {
		// Overlapping ranges of edges are joined.
		from, to, edges := len(sample), 0, 0
		for ; j < bins; j++ {
			q := float64(j) / float64(bins)
			place, around := float64(q*size), float64(deviations*math.Sqrt(q*(1-q)*size))+1
			a, b := max(0, int(place-around)), min(len(sample), int(place+around)+2)
			a, b = firstOf(sample, sample[a]), firstOf(sample, (sample[b-1]|1)+1)
			if edges > 0 && a > to {
				break
			}
			from, to, edges = min(from, a), max(to, b), edges+1
		}
		// A score that takes up much of the range has a segment of its own, since it may be any share of all keys.
		if from > 0 {
			c.cover(sample[from]&^1-1, sums, 0)
		}
		heavy := max(8, (to-from)/(4*edges))
		since := from
		for i := from; i < to; {
			next := i + 1
			if next < to && sample[next] <= sample[i]|1 {
				next = firstOf(sample[:to], (sample[i]|1)+1)
			}
			if next-i >= heavy {
				if sample[i] > 1 {
					c.cover(sample[i]&^1-1, collects, i-since)
				}
				c.cover(sample[i]|1, one, 0)
				since = next
			}
			i = next
		}
		end := lastInside[K]()
		if to < len(sample) {
			end = sample[to-1] | 1
		}
		c.cover(end, collects, to-since)
	}
	if c.collected > taken*2/5 {
		return nil
	}
	c.cover(lastInside[K](), sums, 0)
	p.does, p.expects = append(p.does, outside), append(p.expects, 0)
	return p
}

// firstOf returns the number of keys in a sorted sample with scores below that of key.
func firstOf[K kernel.Key](sample []K, key K) int {
	i, _ := slices.BinarySearch(sample, key&^1)
	return i
}

// quarter returns the size of a sample that leads to collecting a quarter of all keys.
func quarter(bins int) int { return 121 * bins * bins }

// sample takes some keys, and returns those above the threshold, sorted. A larger sample leaves fewer keys to collect. The
// total cost is about minimal for (keys*bins)^(2/3) / 3 keys.
func (w *worker[K]) sample(keys source[K], bins int, low below[K]) (sample []K, taken int) {
	n := keys.size()
	both := math.Cbrt(float64(n) * float64(bins))
	taken = min(max(int(both*both/3), quarter(bins)), n/8) &^ 1
	room := w.room(taken + kernel.SortScratch(taken))
	sample, scratch := room[:taken], room[taken:]
	first := K(0)
	if low.any {
		first = low.last + 1
	}
	// Take two neighbours at a random place in each of equal stretches; they share a cache line, whose loading is the cost.
	// If neighbours are alike, the sample says less than its size suggests, and an edge is missed more often.
	step, r, i := uint64(n)<<16/uint64(taken/2), uint64(1), uint64(0)
	keys.pick(sample, func() int {
		r = r*6364136223846793005 + 1442695040888963407
		at := (i*step + (r>>48)*(step-1<<16)>>16) >> 16
		i++
		return int(at)
	})
	sample = slices.DeleteFunc(sample, func(k K) bool { return k < first || k > lastInside[K]() })
	kernel.Sort(sample, scratch)
	return sample, taken
}

// A cutter covers the line of keys with segments, from 0 on.
type cutter[K kernel.Key] struct {
	*plan[K]
	next      K
	each      float64 // number of keys that each sampled key stands for
	collected int
}

// cover makes a segment of the keys not yet covered up to last, unless there are none; sampled is the number of sampled keys
// in it.
func (c *cutter[K]) cover(last K, does uint8, sampled int) {
	if last < c.next {
		return
	}
	c.lasts, c.does = append(c.lasts, last), append(c.does, does)
	c.expects = append(c.expects, int(float64(sampled)*c.each))
	c.next = last + 1
	c.collected += sampled
}

// found holds the results of a thread.
type found[K kernel.Key] struct {
	cells     []tally.Cell // sums of each summed segment; of the others only the number of keys
	collected [][]K        // keys of each collected segment
}

// passBytes is the size of a chunk of keys that is split and summed. It fits into the second-level cache and gives pieces of
// sufficient length.
const passBytes = 1 << 17

// run fills b. It returns false, with b incomplete, if too many keys would have to be collected.
func (p *plan[K]) run(b *Bins, keys source[K], threads int, w *worker[K]) bool {
	for {
		f := p.pass(keys, threads)
		if f == nil {
			return false
		}
		if p.finish(b, f, threads, w) {
			return true
		}
	}
}

// pass reads all keys once. It returns nil if more than half of them are collected.
func (p *plan[K]) pass(keys source[K], threads int) *found[K] {
	n, size := keys.size(), passBytes/int(unsafe.Sizeof(K(0)))
	chunks := (n + size - 1) / size
	threads = pool.Threads(threads, chunks)
	var collected atomic.Int64
	most := int64(n / 2)
	all := make([]found[K], threads)
	pool.Share(threads, chunks, func(t int) func(int) {
		f := &all[t]
		f.cells, f.collected = make([]tally.Cell, len(p.does)), make([][]K, len(p.does))
		for s, n := range p.expects {
			if t > 0 { // the first thread has room for what all others collect, too
				n /= threads
			}
			f.collected[s] = make([]K, 0, n+n/8)
		}
		room := make([]K, 2*size)
		ends := make([]int, len(p.lasts))
		return func(c int) {
			if collected.Load() > most {
				return
			}
			dst := room[:min(size, n-c*size)]
			collected.Add(int64(p.add(f, keys.read(dst, c*size), dst, room[size:], ends)))
		}
	})
	if collected.Load() > most {
		return nil
	}
	f := &all[0]
	for i := range all[1:] {
		o := &all[1+i]
		for s := range f.cells {
			f.cells[s].Merge(&o.cells[s])
			f.collected[s] = append(f.collected[s], o.collected[s]...)
		}
	}
	return f
}

// add processes a chunk and returns how many of its keys it has collected.
func (p *plan[K]) add(f *found[K], x, dst, scratch []K, ends []int) (collected int) {
	kernel.Split(dst, x, p.lasts, ends, scratch)
	start := 0
	for s, does := range p.does {
		end := len(x)
		if s < len(ends) {
			end = ends[s]
		}
		segment := dst[start:end]
		start = end
		switch does {
		case sums, one:
			addTo(&f.cells[s], segment)
		case collects:
			f.collected[s] = append(f.collected[s], segment...)
			collected += len(segment)
			fallthrough
		case drops, outside:
			f.cells[s].N += int64(len(segment))
		}
	}
	return collected
}

// finish finds the edges and adds all sums to their bins. If an edge lies in a segment that was summed, it marks the segment
// for collection and returns false.
func (p *plan[K]) finish(b *Bins, f *found[K], threads int, w *worker[K]) bool {
	b.N, b.Below, b.Out = 0, 0, 0
	for s := range f.cells {
		switch n := f.cells[s].N; p.does[s] {
		case drops:
			b.Below += n
		case outside:
			b.Out += n
		default:
			b.N += n
		}
	}
	// Each segment has ranks of its own, counted from its first key.
	ranks := make([][]int, len(f.cells))
	rest, before, missed := Ranks(int(b.N), len(b.Cells)), 0, false
	for s := range f.cells {
		if p.does[s] == drops {
			continue
		}
		n, k := int(f.cells[s].N), 0
		for ; k < len(rest) && rest[k] < before+n; k++ {
			rest[k] -= before
		}
		ranks[s], rest = rest[:k], rest[k:]
		before += n
		if k > 0 && p.does[s] == sums {
			p.does[s], p.expects[s] = collects, n
			missed = true
		}
	}
	if missed {
		return false
	}
	threads = pool.Threads(threads, len(b.Cells))
	workers := make([]worker[K], threads)
	workers[0].scratch = w.scratch
	pool.Share(threads, len(ranks), func(t int) func(int) {
		return func(s int) {
			if p.does[s] == collects {
				workers[t].selectRanks(f.collected[s], ranks[s], 1)
			}
		}
	})
	w.edges = w.edges[:0]
	for s := range ranks {
		for _, r := range ranks[s] {
			key := p.lasts[s]
			if p.does[s] == collects {
				key = f.collected[s][r]
			}
			w.edges = append(w.edges, key&^1)
		}
	}
	parts := make([][]tally.Cell, threads)
	pool.Share(threads, len(ranks), func(t int) func(int) {
		workers[t].edges, parts[t] = w.edges, make([]tally.Cell, len(b.Cells))
		return func(s int) {
			switch p.does[s] {
			case collects:
				workers[t].sumBetween(parts[t], f.collected[s], ranks[s])
			case sums, one:
				low := K(0)
				if s > 0 {
					low = p.lasts[s-1] + 1
				}
				parts[t][w.bin(low)].Merge(&f.cells[s])
			}
		}
	})
	for _, cells := range parts {
		for i := range cells {
			b.Cells[i].Merge(&cells[i])
		}
	}
	w.setEdges(b)
	return true
}
