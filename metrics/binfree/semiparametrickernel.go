package binfree

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// kernelSmoother gives each score p the frequency p plus the mean of y - q over the rows of the other folds, weighted by
// exp(-h (p-q)^2).
//
// For few scores the sums run over all rows. For many, rows are grouped in boxes of width 1/sqrt(h), and a box with enough
// rows is represented by moments. With u = sqrt(h) (p-m) and v = sqrt(h) (q-m) relative to the middle m of the box,
//
//	exp(-h (p-q)^2) = exp(-u^2) sum_k u^k (2 v)^k/k! exp(-v^2),
//
// with |v| <= 1/2. The truncation error is at most exp(-u^2) |u|^terms/terms!: 3e-10 at worst with 16 terms, and 1e-16 with
// 24. Rows in boxes beyond reach have a kernel below exp(-reach^2) = 1.4e-11. The sum of these bounds is tracked, and where
// the frequency of a score may be off by more than kernelError, its sums are computed over all rows that matter. Where a box
// has many scores in one fold, their sums are interpolated from Chebyshev nodes; the error of that polynomial is below 2e-14
// per row.
//
// Source: Greengard and Strain 1991, The Fast Gauss Transform; Yang, Duraiswami and Gumerov 2003 for these moments.
type kernelSmoother struct {
	*folded
	o     *SemiparametricOptions
	boxes []int32   // first score of each box, and the end
	place []float64 // position of the box on the whole axis
	rows  []float64 // rows before each box, and their total
	root  float64
}

const (
	terms       = 24
	fewTerms    = 16 // for a box with at most fewRows rows
	fewRows     = 64
	reach       = 5
	slotCount   = 16   // boxes within reach of one, with a margin
	crowd       = 10   // number of parts from which on moments represent a box
	fewScores   = 512  // number of scores up to which sums run over all rows
	kernelError = 1e-8 // accepted error of a frequency
	boxesAtOnce = 1024 // boxes per task
	steps       = 8    // tabulated values of beyond per unit

	withinReach = 1.4e-11 // exp(-reach^2)
	outOfReach  = 2.4e-16 // exp(-(reach+1)^2)

	farther = 40.0  // terms smaller than the largest by the exponential of this are ignored
	lost    = 745.2 // exp(-lost) is 0

	leastSum = 1e-200 // smaller sums may have lost digits to underflow
)

// factor is 2^k/k!. beyond bounds the truncation error with few terms and with all, by the distance of the middle.
var factor, beyond = func() (f [terms]float64, b [2][(reach + 2) * steps]float64) {
	f[0] = 1
	for k := 1; k < terms; k++ {
		f[k] = f[k-1] * 2 / float64(k)
	}
	for many, count := range [2]int{fewTerms, terms} {
		for i := range b[many] {
			for e := range 11 {
				u := (float64(i) + float64(e)/10) / steps
				t := kernel.Exp64(-float64(u * u))
				for k := 1; k <= count; k++ {
					t *= u / float64(k)
				}
				b[many][i] = math.Max(b[many][i], t/(1-u/float64(count+1)))
			}
		}
	}
	return f, b
}()

func newKernelSmoother(d *folded, o *SemiparametricOptions) *kernelSmoother {
	return &kernelSmoother{folded: d, o: o}
}

// fit sets c to the frequencies of all parts.
func (k *kernelSmoother) fit(h float64, c []float64) {
	k.root = math.Sqrt(h)
	if len(k.x) <= fewScores {
		w := newKernelWorker(k)
		w.list(&w.slots[0], k.parts)
		w.near, w.rest = append(w.near, &w.slots[0]), leastSum
		for i := range k.parts {
			above, below, off := w.sum(k.x[k.parts[i].at], k.parts[i].fold)
			w.set(c, int32(i), above, below, off)
		}
		return
	}
	k.boxes, k.place = k.boxes[:0], k.place[:0]
	for i, x := range k.x {
		at := math.Floor(float64((x - k.x[0]) * k.root))
		if n := len(k.place); n == 0 || k.place[n-1] != at {
			k.boxes, k.place = append(k.boxes, int32(i)), append(k.place, at)
		}
	}
	k.boxes = append(k.boxes, int32(len(k.x)))
	k.rows = append(k.rows[:0], 0)
	for i := range k.place {
		rows := k.rows[i]
		for _, p := range k.parts[k.start[k.boxes[i]]:k.start[k.boxes[i+1]]] {
			rows += p.n
		}
		k.rows = append(k.rows, rows)
	}
	n := len(k.place)
	pool.Each(k.o.Threads, (n+boxesAtOnce-1)/boxesAtOnce, func() func(int) {
		w := newKernelWorker(k)
		return func(task int) { w.fit(task*boxesAtOnce, min(n, (task+1)*boxesAtOnce), c) }
	})
}

// exact returns the frequency of a part from sums over all rows. They are in units of the largest term, so they are never
// 0/0.

func (k *kernelSmoother) exact(i int) float64 {
	at, fold := k.parts[i].at, k.parts[i].fold
	x := k.x[at]
	near := math.Inf(1)
	others := func(j int32) bool {
		for _, p := range k.parts[k.start[j]:k.start[j+1]] {
			if p.fold != fold {
				return true
			}
		}
		return false
	}
	squared := func(j int32) float64 {
		u := float64((x - k.x[j]) * k.root)
		return float64(u * u)
	}
	for j := at; j >= 0; j-- {
		if others(j) {
			near = squared(j)
			break
		}
	}
	for j := at + 1; j < int32(len(k.x)) && squared(j) < near; j++ {
		if others(j) {
			near = squared(j)
		}
	}
	if k.o.AsCoded && near > lost {
		return math.NaN()
	}
	var above, below float64
	add := func(j int32) bool {
		d := squared(j) - near
		if d > farther {
			return false
		}
		e := 0.0
		for _, p := range k.parts[k.start[j]:k.start[j+1]] {
			if p.fold == fold {
				continue
			}
			if e == 0 {
				e = kernel.Exp64(-d)
			}
			above += float64(e * (p.y - float64(p.n*k.x[j])))
			below += float64(e * p.n)
		}
		return true
	}
	for j := at; j >= 0 && add(j); j-- {
	}
	for j := at + 1; j < int32(len(k.x)) && add(j); j++ {
	}
	return x + above/below
}

// kernelWorker caches what is known about the boxes around the current one.
type kernelWorker struct {
	*kernelSmoother
	slots [slotCount]slot
	near  []*slot
	rest  float64 // bound of the contribution of boxes out of reach

	arg, value []float64
	before     [][2][terms]float64
	counts     []float64
	targets    []int32
	at         [nodes]float64
	sums       [nodes][2]float64
}

// slot caches one box: its parts by fold or, if there are many, moments. The moments of a fold are those of all other folds'
// rows, for rows and for y - q.
type slot struct {
	box     int     // the cached box; -1 for none
	first   []int32 // first part of each fold, and the end
	q, n, r []float64
	full    bool
	middle  float64
	count   []float64 // rows
	sums    [][2][terms]float64
}

func newKernelWorker(k *kernelSmoother) *kernelWorker {
	return &kernelWorker{kernelSmoother: k}
}

// span returns the parts of a box.
func (w *kernelWorker) span(box int) (from, to int32) {
	return w.start[w.boxes[box]], w.start[w.boxes[box+1]]
}

// fit sets c for the parts in boxes [a, b).
func (w *kernelWorker) fit(a, b int, c []float64) {
	for i := range w.slots {
		w.slots[i].box = -1
	}
	for box := a; box < b; box++ {
		w.reach(box)
		from, to := w.span(box)
		if int(to-from) >= 2*nodes {
			w.crowded(box, c)
			continue
		}
		for i := from; i < to; i++ {
			above, below, off := w.sum(w.x[w.parts[i].at], w.parts[i].fold)
			w.set(c, i, above, below, off)
		}
	}
}

// set sets the frequency of a part from sums with error bound off. If that is too large it uses sums over all rows.
func (w *kernelWorker) set(c []float64, i int32, above, below, off float64) {
	if 2*off <= float64(below*kernelError) {
		c[i] = w.x[w.parts[i].at] + above/below
	} else {
		c[i] = w.exact(int(i))
	}
}

// reach fills near with the boxes within reach of box.
func (w *kernelWorker) reach(box int) {
	away := func(j int) float64 { return math.Abs(w.place[box] - w.place[j]) }
	first, end := box, box+1
	for first > 0 && away(first-1) <= reach {
		first--
	}
	for end < len(w.place) && away(end) <= reach {
		end++
	}
	w.near = w.near[:0]
	for j := first; j < end; j++ {
		s := &w.slots[j%slotCount]
		if s.box != j {
			w.fill(s, j)
		}
		w.near = append(w.near, s)
	}
	next := 0.0
	if first > 0 && away(first-1) <= reach+1 {
		next += w.rows[first] - w.rows[first-1]
	}
	if end < len(w.place) && away(end) <= reach+1 {
		next += w.rows[end+1] - w.rows[end]
	}
	w.rest = float64(next*withinReach) + float64(w.rows[len(w.rows)-1]*outOfReach)
}

// sum returns the kernel sums at x over all folds but one, of y - q (above) and of rows (below), and the bound of their
// error.
func (w *kernelWorker) sum(x float64, fold int32) (above, below, off float64) {
	off = w.rest
	w.arg = w.arg[:0]
	root := w.root
	for _, s := range w.near {
		if s.full {
			u := float64((x - s.middle) * root)
			w.arg = append(w.arg, -float64(u*u))
			continue
		}
		for _, q := range s.q {
			u := float64((x - q) * root)
			w.arg = append(w.arg, -float64(u*u))
		}
	}
	w.value = resize(w.value, len(w.arg))
	kernel.ExpSliceF64(w.value, w.arg)
	v := w.value
	for _, s := range w.near {
		if !s.full {
			own, next := s.first[fold], s.first[fold+1]
			for i, n := range s.n[:own] {
				below += float64(v[i] * n)
				above += float64(v[i] * s.r[i])
			}
			for i := next; i < int32(len(s.n)); i++ {
				below += float64(v[i] * s.n[i])
				above += float64(v[i] * s.r[i])
			}
			v = v[len(s.n):]
			continue
		}
		u := float64((x - s.middle) * root)
		m := &s.sums[fold]
		last, many := fewTerms-1, 0
		if s.count[fold] > fewRows {
			last, many = terms-1, 1
		}
		p, q := m[0][last], m[1][last]
		for e := last - 1; e >= 0; e-- {
			p = float64(p*u) + m[0][e]
			q = float64(q*u) + m[1][e]
		}
		below += float64(v[0] * p)
		above += float64(v[0] * q)
		off += float64(s.count[fold] * beyond[many][min(int(math.Abs(u)*steps), len(beyond[0])-1)])
		v = v[1:]
	}
	return above, below, off
}

// fill loads a box into a slot.
func (w *kernelWorker) fill(s *slot, box int) {
	s.box = box
	from, to := w.span(box)
	parts := w.parts[from:to]
	if s.full = len(parts) >= crowd; s.full {
		w.moments(s, parts)
	} else {
		w.list(s, parts)
	}
}

// list fills the slot with the parts of a box.
func (w *kernelWorker) list(s *slot, parts []part) {
	s.first = resize(s.first, w.folds+1)
	clear(s.first)
	for i := range parts {
		s.first[parts[i].fold+1]++
	}
	for f := range w.folds {
		s.first[f+1] += s.first[f]
	}
	s.q, s.n, s.r = resize(s.q, len(parts)), resize(s.n, len(parts)), resize(s.r, len(parts))
	for i := range parts {
		p := &parts[i]
		to := s.first[p.fold]
		s.first[p.fold]++
		q := w.x[p.at]
		s.q[to], s.n[to], s.r[to] = q, p.n, p.y-float64(p.n*q)
	}
	copy(s.first[1:], s.first)
	s.first[0] = 0
}

// moments fills the slot with the moments of a box.
func (w *kernelWorker) moments(s *slot, parts []part) {
	s.middle = (w.x[parts[0].at] + w.x[parts[len(parts)-1].at]) / 2
	folds := w.folds
	s.count, s.sums = resize(s.count, folds), resize(s.sums, folds)
	clear(s.count)
	clear(s.sums)
	for i := range parts {
		p := &parts[i]
		x := w.x[p.at]
		v := float64((x - s.middle) * w.root)
		e := kernel.Exp64(-float64(v * v))
		n, r := float64(e*p.n), float64(e*(p.y-float64(p.n*x)))
		m := &s.sums[p.fold]
		s.count[p.fold] += p.n
		for k := range terms {
			m[0][k] += n
			m[1][k] += r
			n *= v
			r *= v
		}
	}
	// Convert the moments of each fold to those of all other folds, by prefix and suffix sums; a subtraction would lose
	// digits.
	before, after := resize(w.before, folds), [2][terms]float64{}
	counts, rest := resize(w.counts, folds), 0.0
	before[0], counts[0] = after, 0
	for f := 1; f < folds; f++ {
		counts[f] = counts[f-1] + s.count[f-1]
		for a := range 2 {
			for k := range terms {
				before[f][a][k] = before[f-1][a][k] + s.sums[f-1][a][k]
			}
		}
	}
	w.before, w.counts = before, counts
	for f := folds - 1; f >= 0; f-- {
		own, count := s.sums[f], s.count[f]
		for a := range 2 {
			for k := range terms {
				s.sums[f][a][k] = float64((before[f][a][k] + after[a][k]) * factor[k])
				after[a][k] += own[a][k]
			}
		}
		s.count[f] = counts[f] + rest
		rest += count
	}
}

// nodes is the number of Chebyshev nodes in an interval: the cosines of odd multiples of pi/(2 nodes).
const (
	nodes         = 16
	betweenNodes  = 2e-14 // per row in reach
	leastFromNode = 1e-12 // relative to the interval: a closer score counts as being at the node
)

// cosines of pi/32, 3 pi/32, ...; as sines they are the weights of the barycentric formula.
var cosines = [nodes / 2]float64{
	0.9951847266721969, 0.9569403357322088, 0.881921264348355, 0.773010453362737,
	0.6343932841636455, 0.4713967368259978, 0.29028467725446233, 0.09801714032956077,
}

// crowded sets c for the parts of a box with many parts, by interpolation for folds with more than nodes parts.
func (w *kernelWorker) crowded(box int, c []float64) {
	from, to := w.span(box)
	low, high := w.x[w.parts[from].at], w.x[w.parts[to-1].at]
	reached := 0.0
	for _, s := range w.near {
		reached += w.rows[s.box+1] - w.rows[s.box]
	}
	for fold := range int32(w.folds) {
		w.targets = w.targets[:0]
		for i := from; i < to; i++ {
			if w.parts[i].fold == fold {
				w.targets = append(w.targets, i)
			}
		}
		if len(w.targets) < nodes+nodes/2 || low == high {
			for _, i := range w.targets {
				above, below, off := w.sum(w.x[w.parts[i].at], fold)
				w.set(c, i, above, below, off)
			}
			continue
		}
		middle, half := float64((low+high)/2), (high-low)/2
		off := 0.0
		for k := range nodes {
			z := cosines[min(k, nodes-1-k)]
			if k >= nodes/2 {
				z = -z
			}
			w.at[k] = middle + float64(half*z)
			above, below, o := w.sum(w.at[k], fold)
			w.sums[k] = [2]float64{above, below}
			off = math.Max(off, o)
		}
		// Interpolation at these nodes amplifies errors at most threefold.
		off = float64(3*off) + float64(reached*betweenNodes)
		for _, i := range w.targets {
			above, below := w.between(w.x[w.parts[i].at], half)
			w.set(c, i, above, below, off)
		}
	}
}

// between interpolates the sums between the nodes.
func (w *kernelWorker) between(x, half float64) (above, below float64) {
	weights := 0.0
	for k := range nodes {
		d := x - w.at[k]
		if math.Abs(d) <= half*leastFromNode {
			return w.sums[k][0], w.sums[k][1]
		}
		v := cosines[nodes/2-1-min(k, nodes-1-k)] / d
		if k%2 == 1 {
			v = -v
		}
		weights += v
		above += float64(v * w.sums[k][0])
		below += float64(v * w.sums[k][1])
	}
	return above / weights, below / weights
}

// resize returns a slice of length n with undefined content, reusing the memory of s if it suffices.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
