package parallel

import (
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// A plan cuts the line of keys so that edges lie where keys are collected, as good as always. What is between is summed and
// forgotten. The counts tell in the end whether an edge lies there after all; then all keys are looked at once more.
type plan[K kernel.Key] struct {
	lasts   []K     // segment i ends with lasts[i], the last one with the largest key
	does    []uint8 // of each segment
	expects []int   // how many keys of each will be collected
}

// What is done with the keys of a segment.
const (
	sums     = iota // all keys are of one bin
	one             // all keys have the same score
	collects        // edges may lie in it
	drops           // not above the threshold
	outside         // of [0,1]
)

// Fewer keys than fewForPlan are selected from at once: a sample of them says too little.
const fewForPlan = 1 << 19

// deviations is how far from its place in the sample an edge is looked for: the odds of one beyond are 1 in 2,000.
const deviations = 3.5

// planOf returns nil where no plan is better than to select among all keys.
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
		// Where the ranges of edges overlap they are one.
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
		// A score that takes much of the range has a segment of its own: it may be any share of all keys.
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

// firstOf returns the number of keys in a sorted sample whose scores are below the key's.
func firstOf[K kernel.Key](sample []K, key K) int {
	i, _ := slices.BinarySearch(sample, key&^1)
	return i
}

// quarter is the size of a sample with which a quarter of all keys is collected.
func quarter(bins int) int { return 121 * bins * bins }

// sample takes some keys, and returns those of them that are above the threshold, sorted. More make less to collect: both costs
// together are about the least where (keys*bins)^(2/3) / 3 are taken.
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
	// From each of so many equal stretches two neighbours, somewhere: they lie in one line of the cache, and to fetch it is the
	// cost. Where neighbours resemble one another the sample says less than its size, and an edge is missed more often.
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
	each      float64 // how many keys one that was taken stands for
	collected int
}

// cover makes a segment of all keys not yet covered up to last, unless there are none. So many of the sample are in it.
func (c *cutter[K]) cover(last K, does uint8, sampled int) {
	if last < c.next {
		return
	}
	c.lasts, c.does = append(c.lasts, last), append(c.does, does)
	c.expects = append(c.expects, int(float64(sampled)*c.each))
	c.next = last + 1
	c.collected += sampled
}

// found is what a thread finds.
type found[K kernel.Key] struct {
	cells     []tally.Cell // of each segment that is summed; of the others the number of keys alone
	collected [][]K        // of each segment
}

// passBytes is the size of a chunk of keys that is split and summed. In the second-level cache, it makes pieces long enough.
const passBytes = 1 << 17

// run returns false where too many keys would have to be collected, and leaves b undone.
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

// pass looks at all keys once; nil where it collects more than half of them.
func (p *plan[K]) pass(keys source[K], threads int) *found[K] {
	n, size := keys.size(), passBytes/int(unsafe.Sizeof(K(0)))
	chunks := (n + size - 1) / size
	threads = threadsOf(threads, chunks)
	var collected atomic.Int64
	most := int64(n / 2)
	all := make([]found[K], threads)
	share(threads, chunks, func(t int) func(int) {
		f := &all[t]
		f.cells, f.collected = make([]tally.Cell, len(p.does)), make([][]K, len(p.does))
		for s, n := range p.expects {
			if t > 0 { // the first one's room is for all that the others collect, too
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

// add takes a chunk and returns how many of its keys it has collected.
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

// finish finds the edges and gives all that was summed to its bin. Where an edge lies in a segment that was summed it
// returns false: that segment will be collected as well.
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
	threads = threadsOf(threads, len(b.Cells))
	workers := make([]worker[K], threads)
	workers[0].scratch = w.scratch
	share(threads, len(ranks), func(t int) func(int) {
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
	share(threads, len(ranks), func(t int) func(int) {
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
