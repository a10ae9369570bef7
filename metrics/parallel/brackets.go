package parallel

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// A plan cuts the line of keys so that edges lie where keys are collected, with hardly a doubt. What is between is
// summed without looking at single keys. Which it was the counts tell in the end.
type plan[K kernel.Key] struct {
	low     below[K]
	lasts   []K     // segment i ends with lasts[i], the last one with the largest key
	does    []uint8 // of each segment
	expects int     // how many keys will be collected
}

const (
	sums     = iota // all keys are of one bin
	one             // all keys have the same score
	collects        // edges may lie in it
	drops           // below the threshold
)

// fewForPlan keys are selected from at once: they stay in the second-level cache, and a sample of them says too little.
const fewForPlan = 1 << 18

// deviations is how far from its place in the sample an edge is looked for: the odds of one beyond are 1 in 150,000.
const deviations = 4.5

// planOf returns nil where no plan is better than to select among all keys.
func planOf[K kernel.Key](keys []K, bins int, low below[K], w *worker[K]) *plan[K] {
	n := len(keys)
	if n < fewForPlan || bins < 2 {
		return nil
	}
	sample := w.sample(keys, bins, low)
	size := float64(len(sample))
	if len(sample) < 1024 {
		return nil
	}
	p := &plan[K]{low: low}
	c := cutter[K]{plan: p}
	if low.any {
		c.cover(low.last, drops)
	}
	collected := 0
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
			c.cover(sample[from]&^1-1, sums)
		}
		heavy := max(8, (to-from)/(4*edges))
		for i := from; i < to; {
			next := firstOf(sample[:to], (sample[i]|1)+1)
			if next-i >= heavy {
				if sample[i] > 1 {
					c.cover(sample[i]&^1-1, collects)
				}
				c.cover(sample[i]|1, one)
			} else {
				collected += next - i
			}
			i = next
		}
		if to < len(sample) {
			c.cover(sample[to-1]|1, collects)
		} else {
			c.cover(lastInside[K](), collects)
		}
	}
	if collected > len(sample)*2/5 {
		return nil
	}
	c.finish()
	p.expects = int(float64(collected) / size * float64(n))
	return p
}

// firstOf returns the number of keys in a sorted sample whose scores are below the key's.
func firstOf[K kernel.Key](sample []K, key K) int {
	i, _ := slices.BinarySearch(sample, key&^1)
	return i
}

// sample returns some keys above the threshold, sorted. More of them make less to collect: both costs together are about
// the least where the size is that power of the number of keys.
func (w *worker[K]) sample(keys []K, bins int, low below[K]) []K {
	size := int(math.Cbrt(float64(len(keys))*float64(bins)) / 2 * math.Cbrt(float64(len(keys))*float64(bins)))
	size = max(1<<12, min(size, len(keys)/16, 1<<20))
	room := w.room(size + kernel.SortScratch(size))
	sample, scratch := room[:0:size], room[size:]
	first := K(0)
	if low.any {
		first = low.last + 1
	}
	// From each of so many equal stretches one key, somewhere.
	step, r := uint64(len(keys))<<16/uint64(size), uint64(1)
	for i := range uint64(size) {
		r = r*6364136223846793005 + 1442695040888963407
		at := (i*step + (r>>48)*step>>16) >> 16
		if k := keys[at]; k >= first && k <= lastInside[K]() {
			sample = append(sample, k)
		}
	}
	kernel.Sort(sample, scratch)
	return sample
}

// A cutter covers the line of keys with segments, from 0 on.
type cutter[K kernel.Key] struct {
	*plan[K]
	next K
}

// cover makes a segment of all keys not yet covered up to last, unless there are none.
func (c *cutter[K]) cover(last K, does uint8) {
	if last < c.next {
		return
	}
	c.lasts, c.does = append(c.lasts, last), append(c.does, does)
	c.next = last + 1
}

// finish covers the rest. Scores outside [0,1] are in the last segment, where they are counted apart, so it has sums.
func (c *cutter[K]) finish() { c.does = append(c.does, sums) }

// found is what a thread finds.
type found[K kernel.Key] struct {
	cells     []tally.Cell // of each segment that is summed; of the others the count alone
	out       int
	collected []K
}

// run returns false where the plan was wrong, and leaves b undone.
func (p *plan[K]) run(b *Bins, keys []K, threads int, w *worker[K]) bool {
	from := chunks[K]{keys}
	threads = threadsOf(threads, from.number())
	var collected atomic.Int64
	most := len(keys) / 2
	parts := make([]found[K], threads)
	share(threads, from.number(), func(t int) func(int) {
		f := &parts[t]
		f.cells = make([]tally.Cell, len(p.does))
		f.collected = make([]K, 0, p.expects/threads*5/4)
		room := make([]K, 2*from.size())
		ends := make([]int, len(p.lasts))
		return func(c int) {
			if collected.Load() > int64(most) {
				return
			}
			x := from.at(c)
			had := len(f.collected)
			p.add(f, x, room[:len(x)], room[from.size():][:len(x)], ends)
			collected.Add(int64(len(f.collected) - had))
		}
	})
	if collected.Load() > int64(most) {
		return false
	}
	f := &parts[0]
	f.collected = slices.Grow(f.collected, int(collected.Load())-len(f.collected))
	for i := range parts[1:] {
		o := &parts[1+i]
		for s := range f.cells {
			f.cells[s].Merge(&o.cells[s])
		}
		f.out += o.out
		f.collected = append(f.collected, o.collected...)
	}
	return p.finish(b, f, w)
}

// add takes a chunk.
func (p *plan[K]) add(f *found[K], x, dst, scratch []K, ends []int) {
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
			f.out += addTo(&f.cells[s], segment)
		default:
			f.cells[s].N += int64(len(segment))
			if does == collects {
				f.collected = append(f.collected, segment...)
			}
		}
	}
}

// finish finds the edges among the keys collected, and gives all that was summed to its bin.
func (p *plan[K]) finish(b *Bins, f *found[K], w *worker[K]) bool {
	b.Out = int64(f.out)
	for s := range f.cells {
		if p.does[s] == drops {
			b.Below += f.cells[s].N
		} else {
			b.N += f.cells[s].N
		}
	}
	w.ranks = appendRanks(w.ranks[:0], int(b.N), len(b.Cells))
	// Each rank is that of a key collected, or its score is known.
	type edge struct {
		at   int // among the keys collected; -1: none of them
		from K
	}
	var edges []edge
	var at []int
	before, collected, left := 0, 0, w.ranks
	for s := range f.cells {
		if p.does[s] == drops {
			continue
		}
		n := int(f.cells[s].N)
		for ; len(left) > 0 && left[0] < before+n; left = left[1:] {
			switch p.does[s] {
			case collects:
				at = append(at, collected+left[0]-before)
				edges = append(edges, edge{at: at[len(at)-1]})
			case one:
				if collected < len(f.collected) {
					at = append(at, collected) // what is collected on either side is of two bins
				}
				edges = append(edges, edge{-1, p.lasts[s]})
			default:
				return false
			}
		}
		before += n
		if p.does[s] == collects {
			collected += n
		}
	}
	kernel.Select(f.collected, at, w.room(len(f.collected)))
	w.edges = w.edges[:0]
	for _, e := range edges {
		if e.at >= 0 {
			e.from = f.collected[e.at]
		}
		w.edges = append(w.edges, e.from&^1)
	}
	w.sumBetween(b.Cells, f.collected, at)
	for s := range f.cells {
		if p.does[s] == sums || p.does[s] == one {
			first := K(0)
			if s > 0 {
				first = p.lasts[s-1] + 1
			}
			b.Cells[w.bin(first)].Merge(&f.cells[s])
		}
	}
	w.setEdges(b)
	return true
}
