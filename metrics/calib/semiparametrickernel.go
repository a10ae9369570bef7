package calib

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/parallel"
)

// kernelSmoother gives to each score p the mean of y - q over the rows of other folds, weighted by exp(-h (p-q)^2), and p.
//
// Of few scores sums are over all rows. Of many they are over boxes as wide as 1/sqrt(h): those with some rows stand for them by
// moments. With u = sqrt(h) (p-m) and v = sqrt(h) (q-m) from a box's middle m,
//
//	exp(-h (p-q)^2) = exp(-u^2) sum_k u^k (2 v)^k/k! exp(-v^2),
//
// |v| <= 1/2, and what is behind the first terms is at most exp(-u^2) |u|^terms/terms!, 1e-13 at worst. Boxes more than reach away
// are at a distance where the kernel is below exp(-reach^2) = 2e-16. The sum of these bounds is kept; a score whose frequency might be
// off by more than kernelError has sums over all rows that matter.
//
// Source: Greengard and Strain 1991, The Fast Gauss Transform; Yang, Duraiswami and Gumerov 2003 for these moments.
type kernelSmoother struct {
	*folded
	o     *SemiparametricOptions
	boxes []int32   // the first score of each box, and the end
	place []float64 // which box of all the axis it is
	root  float64
}

const (
	terms       = 20
	reach       = 6
	crowd       = 24    // parts in a box from which on moments stand for them
	fewScores   = 512   // up to which all sums are over all rows
	kernelError = 1e-9  // of a frequency
	boxesAtOnce = 1024  // of one task
	slotCount   = 16    // boxes within reach of one, and some more
	steps       = 8     // to which beyond is tabulated, in 1
	farther     = 40.0  // terms smaller by the exponential of this than the largest do not count
	lost        = 745.2 // exp(-lost) is 0
)

// factor is 2^k/k!; beyond bounds what is behind the terms, by how far away the middle is.
var factor, beyond = func() (f [terms]float64, b [(reach + 2) * steps]float64) {
	f[0] = 1
	for k := 1; k < terms; k++ {
		f[k] = f[k-1] * 2 / float64(k)
	}
	for i := range b {
		for e := range 11 {
			u := (float64(i) + float64(e)/10) / steps
			t := kernel.Exp64(-float64(u * u))
			for k := 1; k <= terms; k++ {
				t *= u / float64(k)
			}
			b[i] = math.Max(b[i], t/(1-u/(terms+1)))
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
		for i := range c {
			c[i] = k.exact(i)
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
	n := len(k.place)
	parallel.Each(k.o.Threads, (n+boxesAtOnce-1)/boxesAtOnce, func() func(int) {
		w := newKernelWorker(k)
		return func(task int) { w.fit(task*boxesAtOnce, min(n, (task+1)*boxesAtOnce), c) }
	})
}

// exact returns the frequency of a part: the sums are in units of the largest term, so they never are 0/0.
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

// kernelWorker has the moments of the boxes around the one that it is at.
type kernelWorker struct {
	*kernelSmoother
	slots [slotCount]moments

	arg, value, n, r []float64 // of the parts that count one by one

	before [][2][terms]float64
	counts []float64
}

// moments are those of a box: for each fold what all other folds have, of rows and of y - q.
type moments struct {
	box    int // whose they are; -1 for none
	full   bool
	middle float64
	count  []float64 // rows
	sums   [][2][terms]float64
}

func newKernelWorker(k *kernelSmoother) *kernelWorker {
	return &kernelWorker{kernelSmoother: k}
}

// fit sets c of the parts in boxes from a to below b.
func (w *kernelWorker) fit(a, b int, c []float64) {
	for i := range w.slots {
		w.slots[i].box = -1
	}
	total := float64(w.folded.n)
	for box := a; box < b; box++ {
		first, end := box, box+1
		for first > 0 && w.place[box]-w.place[first-1] <= reach {
			first--
		}
		for end < len(w.place) && w.place[end]-w.place[box] <= reach {
			end++
		}
		for j := first; j < end; j++ {
			if s := &w.slots[j%slotCount]; s.box != j {
				w.sum(s, j)
			}
		}
		for i := w.start[w.boxes[box]]; i < w.start[w.boxes[box+1]]; i++ {
			fold := w.parts[i].fold
			x := w.x[w.parts[i].at]
			above, below, off := 0.0, 0.0, float64(total*2.4e-16)
			w.arg, w.n, w.r = w.arg[:0], w.n[:0], w.r[:0]
			for j := first; j < end; j++ {
				s := &w.slots[j%slotCount]
				if !s.full {
					w.gather(j, x, fold)
					continue
				}
				u := float64((x - s.middle) * w.root)
				m := &s.sums[fold]
				p, q := m[0][terms-1], m[1][terms-1]
				for e := terms - 2; e >= 0; e-- {
					p = float64(p*u) + m[0][e]
					q = float64(q*u) + m[1][e]
				}
				g := kernel.Exp64(-float64(u * u))
				below += float64(g * p)
				above += float64(g * q)
				off += float64(s.count[fold] * beyond[min(int(math.Abs(u)*steps), len(beyond)-1)])
			}
			w.value = resize(w.value, len(w.arg))
			kernel.ExpF64(w.value, w.arg)
			for e, v := range w.value {
				below += float64(v * w.n[e])
				above += float64(v * w.r[e])
			}
			if !(2*off <= float64(below*kernelError)) {
				c[i] = w.exact(int(i))
				continue
			}
			c[i] = x + above/below
		}
	}
}

// gather lists the parts of a box that are in other folds.
func (w *kernelWorker) gather(box int, x float64, fold int32) {
	for i := w.start[w.boxes[box]]; i < w.start[w.boxes[box+1]]; i++ {
		p := &w.parts[i]
		if p.fold == fold {
			continue
		}
		q := w.x[p.at]
		u := float64((x - q) * w.root)
		w.arg = append(w.arg, -float64(u*u))
		w.n = append(w.n, p.n)
		w.r = append(w.r, p.y-float64(p.n*q))
	}
}

// sum makes the moments of a box, if it has parts enough.
func (w *kernelWorker) sum(s *moments, box int) {
	s.box = box
	parts := w.parts[w.start[w.boxes[box]]:w.start[w.boxes[box+1]]]
	if s.full = len(parts) >= crowd; !s.full {
		return
	}
	s.middle = (w.x[w.boxes[box]] + w.x[w.boxes[box+1]-1]) / 2
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
	// Of each fold alone, now of all others: what is before and what is after, for a difference would lose digits.
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

// resize returns a slice of that length, of the same memory if it suffices; what is in it is undefined.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
