package recal

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// linear fits softmax(W z + b), where W is a full or a diagonal matrix.
//
// Its sums over rows have the same bits for any number of threads and any chunks. Rows are gathered into tiles by their
// numbers. The sums of a tile are computed row by row and rounded to whole multiples of a quantum, which can be added in any
// order.
type linear struct {
	d    Data
	o    *Options
	s    *survey
	name string
	full bool // W has off-diagonal elements
	off  float64
	bias float64
	// normal turns logits into log-probabilities; refRow has the penalties of W and b minus their last rows.
	normal, refRow bool

	k      int
	groups map[int64]int32 // number of rows in each tile
	floor  float64         // replacement for -Inf relative to the row, see lowest
	total  exact.Sum       // weight of the rows that count
	weight float64         // total, rounded
	bound  float64         // upper bound of the absolute values of all logits

	passes int     // number of gradients computed
	worst  float64 // largest NLL of a row in the last gradient
}

// linearRows is the number of row numbers that a tile spans.
const linearRows = 256

// linearCounter counts the rows of each tile. It is not part of a state.
type linearCounter struct {
	n     map[int64]int32
	dtype metrics.DType
}

func (t *linearCounter) Needs() metrics.Need        { return 0 }
func (t *linearCounter) Empty() metrics.Accumulator { return &linearCounter{n: map[int64]int32{}} }
func (t *linearCounter) Len() int64                 { return 0 }

func (t *linearCounter) AddBlock(b *metrics.Block) {
	t.dtype = b.DType
	for i := 0; i < b.Rows; {
		g, lo := b.Number(i)/linearRows, i
		for i++; i < b.Rows && b.Number(i)/linearRows == g; i++ {
		}
		t.n[g] += int32(i - lo)
	}
}

func (t *linearCounter) Merge(a metrics.Accumulator) error {
	o := a.(*linearCounter)
	for g, n := range o.n {
		t.n[g] += n
	}
	if len(o.n) > 0 {
		t.dtype = o.dtype
	}
	return nil
}

func (t *linearCounter) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (t *linearCounter) UnmarshalBinary([]byte) error          { return nil }

// linearTile holds the rows with some consecutive row numbers.
type linearTile struct {
	mu      sync.Mutex // held while rows arrive
	rows    int
	z       []float64
	labels  []int32
	weights []float64
	numbers []int64
	zeros   []int32 // positions in z that were -Inf
	normal  bool    // logits become log-probabilities
}

func (t *linearTile) reset() {
	t.rows, t.z, t.labels, t.weights, t.numbers, t.zeros = 0, t.z[:0], t.labels[:0], t.weights[:0], t.numbers[:0], t.zeros[:0]
}

// add appends rows of a chunk, except those of weight 0.
func (t *linearTile) add(c *metrics.Chunk, lo, hi int) {
	for lo < hi {
		if c.Weights != nil && c.Weights[lo] == 0 {
			lo++
			continue
		}
		end := lo + 1
		for end < hi && (c.Weights == nil || c.Weights[end] != 0) {
			end++
		}
		at, n := len(t.z), end-lo
		t.z = slices.Grow(t.z, n*c.Classes)[:at+n*c.Classes]
		logits(t.z[at:], &c.Scores, c.Kind, lo, end)
		if t.normal && c.Kind == metrics.Logits {
			kernel.LogSoftmaxF64(t.z[at:], c.Classes, t.z[at:], n, c.Classes, c.Classes)
		}
		t.labels = append(t.labels, c.Labels[lo:end]...)
		for i := lo; i < end; i++ {
			w := 1.0
			if c.Weights != nil {
				w = c.Weights[i]
			}
			t.weights = append(t.weights, w)
			t.numbers = append(t.numbers, c.Number(i))
		}
		t.rows, lo = t.rows+n, end
	}
}

// fill is add for one goroutine at a time. It reports whether the tile is complete.
func (t *linearTile) fill(c *metrics.Chunk, lo, hi, want int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(c, lo, hi)
	return t.rows == want
}

// sort orders the rows by number; usually they are in order already.
func (t *linearTile) sort(k int) {
	row := make([]float64, 0)
	for i := 1; i < t.rows; i++ {
		for j := i; j > 0 && t.numbers[j] < t.numbers[j-1]; j-- {
			t.numbers[j], t.numbers[j-1] = t.numbers[j-1], t.numbers[j]
			t.labels[j], t.labels[j-1] = t.labels[j-1], t.labels[j]
			t.weights[j], t.weights[j-1] = t.weights[j-1], t.weights[j]
			row = append(row[:0], t.z[j*k:(j+1)*k]...)
			copy(t.z[j*k:], t.z[(j-1)*k:j*k])
			copy(t.z[(j-1)*k:], row)
		}
	}
}

// clean drops rows whose label has probability 0, and replaces -Inf in the others.
func (t *linearTile) clean(k int, kind metrics.Kind, floor float64) {
	n := 0
	for i := range t.rows {
		row := t.z[i*k : (i+1)*k]
		if math.IsInf(row[t.labels[i]], -1) {
			continue
		}
		to := t.z[n*k : (n+1)*k]
		copy(to, row)
		t.labels[n], t.weights[n] = t.labels[i], t.weights[i]
		t.zeros = lift(to, t.zeros, n*k, kind, floor)
		n++
	}
	t.rows, t.z, t.labels, t.weights = n, t.z[:n*k], t.labels[:n], t.weights[:n]
}

// lift replaces -Inf in a row by floor (for logits, by the row's maximum plus floor) and appends the positions to zeros.
func lift(row []float64, zeros []int32, at int, kind metrics.Kind, floor float64) []int32 {
	n := len(zeros)
	for j, v := range row {
		if math.IsInf(v, -1) {
			zeros = append(zeros, int32(at+j))
		}
	}
	if len(zeros) > n {
		if kind == metrics.Logits {
			floor += slices.Max(row)
		}
		for _, j := range zeros[n:] {
			row[int(j)-at] = floor
		}
	}
	return zeros
}

// lowest returns the logarithm of the smallest positive probability of a type.
func lowest(t metrics.DType) float64 {
	e := map[metrics.DType]float64{metrics.Float64: -1074, metrics.Float32: -149, metrics.Float16: -24, metrics.BFloat16: -133}[t]
	return e * math.Ln2
}

// tiles reads the data once and passes each complete tile to one of the functions that newVisit returned.
func (l *linear) tiles(newVisit func() func(*linearTile)) error {
	var mu sync.Mutex
	open := map[int64]*linearTile{}
	var free []*linearTile
	var rows atomic.Int64
	err := each(l.d, l.o, func() func(*metrics.Chunk) {
		visit := newVisit()
		mine := &linearTile{normal: l.normal}
		finish := func(t *linearTile) {
			rows.Add(int64(t.rows))
			t.sort(l.k)
			t.clean(l.k, logKind(l.s.kind, l.normal), l.floor)
			if t.rows > 0 {
				visit(t)
			}
		}
		return func(c *metrics.Chunk) {
			for hi := 0; hi < c.Rows; {
				g, lo := c.Number(hi)/linearRows, hi
				for hi++; hi < c.Rows && c.Number(hi)/linearRows == g; hi++ {
				}
				want := int(l.groups[g])
				if want == 0 || c.Weights != nil && slices.Max(c.Weights[lo:hi]) == 0 {
					continue // a goroutine that brings no row must not see the tile complete, and finish it a second time
				}
				if hi-lo >= want {
					mine.reset()
					mine.add(c, lo, hi)
					if mine.rows == want {
						finish(mine)
						continue
					}
				}
				mu.Lock()
				t := open[g]
				if t == nil {
					if n := len(free); n > 0 {
						t, free = free[n-1], free[:n-1]
					} else {
						t = &linearTile{normal: l.normal}
					}
					t.reset()
					open[g] = t
				}
				mu.Unlock()
				if t.fill(c, lo, hi, want) {
					finish(t)
					mu.Lock()
					delete(open, g)
					free = append(free, t)
					mu.Unlock()
				}
			}
		}
	})
	if err == nil && rows.Load() != l.s.fit.Rows {
		err = errors.New("the number of rows changed between two reads")
	}
	return err
}

// lattice adds the sums of tiles in any order, as whole multiples of a quantum.
type lattice struct {
	unit  int // the quantum is 2**-unit
	sums  []int64
	locks [16]sync.Mutex
}

// newLattice returns n sums. bound limits the total absolute value of the terms of each.
func newLattice(n int, bound float64) *lattice {
	_, e := math.Frexp(bound)
	return &lattice{unit: 61 - e, sums: make([]int64, n)}
}

func (l *lattice) add(v []float64) {
	up := math.Ldexp(1, l.unit)
	step := (len(v) + len(l.locks) - 1) / len(l.locks)
	for i := range l.locks {
		lo, hi := min(i*step, len(v)), min((i+1)*step, len(v))
		l.locks[i].Lock()
		for j, x := range v[lo:hi] {
			l.sums[lo+j] += int64(x * up)
		}
		l.locks[i].Unlock()
	}
}

// means writes the sums divided by the weight.
func (l *lattice) means(dst []float64, weight float64) {
	down := math.Ldexp(1, -l.unit)
	for i, v := range l.sums {
		dst[i] = float64(v) * down / weight
	}
}

// prepare checks the data and collects what a fit must know about them.
func (l *linear) prepare() error {
	counter := &linearCounter{n: map[int64]int32{}}
	var err error
	if l.s, err = look(l.d, l.o, counter); err != nil {
		return err
	}
	s := l.s
	if err := hasLogits(l.name, s.kind); err != nil {
		return err
	}
	if s.fit.Classes == 1 {
		return fmt.Errorf("%s is for two classes or more, and these rows have one score: a factor and a bias of one logit are platt", l.name)
	}
	l.k, l.groups, l.floor = s.fit.Classes, counter.n, lowest(counter.dtype)
	if s.fit.LeftOut == s.fit.Rows {
		return noneCounts(&s.fit)
	}
	var mu sync.Mutex
	seen := make([]bool, l.k) // classes with a positive probability somewhere
	counts := make([]int64, l.k)
	low := l.floor
	err = l.tiles(func() func(*linearTile) {
		return func(t *linearTile) {
			least, most := slices.Min(t.z), slices.Max(t.z)
			some := make([]bool, l.k)
			zeros := t.zeros
			for i := range t.rows {
				for j := range l.k {
					if len(zeros) > 0 && int(zeros[0]) == i*l.k+j {
						zeros = zeros[1:]
					} else {
						some[j] = true
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			l.bound = max(l.bound, -least, most)
			low = min(low, least)
			l.total.AddExactAll(t.weights)
			for j, b := range some {
				seen[j] = seen[j] || b
			}
			for _, y := range t.labels {
				counts[y]++
			}
		}
	})
	if err != nil {
		return err
	}
	s.fit.Reads++
	if logKind(s.kind, l.normal) == metrics.LogProbs {
		l.floor = low // given logarithms can be lower than those of the smallest probability of the type
	}
	l.weight = l.total.Float64()
	if b := l.weight * l.bound * l.bound; !(b > 0 && b <= math.MaxFloat64/4) && l.bound > 0 {
		return fmt.Errorf("logits as far from 0 as %v cannot be scaled", l.bound)
	}
	return l.labels(seen, counts)
}

// labels returns an error if the labels alone rule out a best map.
func (l *linear) labels(seen []bool, counts []int64) error {
	if l.bias > 0 {
		return nil
	}
	last, n := 0, 0
	for j, c := range counts {
		if c > 0 {
			last, n = j, n+1
		}
	}
	if n == 1 {
		return unreachable("all labels are class %d, so its bias would grow without end; fit to rows of all classes%s", last,
			l.advice(setting.Bias))
	}
	for j, c := range counts {
		if c == 0 && seen[j] {
			return unreachable("no label is class %d, so its bias would fall without end; fit to rows of all classes%s", j,
				l.advice(setting.Bias))
		}
	}
	return nil
}

// advice suggests what else may help: another method, or the option that sets a penalty.
func (l *linear) advice(option setting.Setting) string {
	if !l.full {
		return ", or use temperature"
	}
	return ", or give a weight to " + option.String()
}

// size returns the number of parameters: W by rows, or its diagonal, followed by b.
func (l *linear) size() int {
	if l.full {
		return l.k*l.k + l.k
	}
	return 2 * l.k
}

// gradient returns the mean NLL plus penalties, and writes its gradient.
func (l *linear) gradient(grad, theta []float64) (float64, error) {
	k := l.k
	split := len(theta) - k
	w, b := theta[:split], theta[split:]
	if l.full {
		w = transposed(w, k)
	}
	sums := newLattice(len(theta), l.weight*max(l.bound, 1))
	var nll exact.Sum
	var worst float64
	var mu sync.Mutex
	err := l.tiles(func() func(*linearTile) {
		var y, loss, g []float64
		g = make([]float64, len(theta))
		return func(t *linearTile) {
			y, loss = grown(y, len(t.z)), grown(loss, t.rows)
			l.scores(y, t, w, b)
			kernel.SoftmaxResidualsF64(loss, y, t.rows, k, t.labels, t.weights)
			clear(g)
			if l.full {
				kernel.AddOuterF64(g[:split], y, t.z, t.rows, k, k)
				kernel.AddRowsF64(g[split:], y, t.rows, k)
			} else {
				kernel.AddProductsF64(g[:split], g[split:], y, t.z, t.rows, k)
			}
			high := slices.Max(loss)
			if !(high <= math.MaxFloat64) || !(largest(g) <= math.MaxFloat64) {
				high = math.Inf(1)
				clear(loss)
			} else {
				sums.add(g)
			}
			for i, w := range t.weights {
				loss[i] *= w
			}
			mu.Lock()
			defer mu.Unlock()
			nll.AddExactAll(loss)
			worst = max(worst, high)
		}
	})
	if err != nil {
		return 0, err
	}
	l.passes++
	l.worst = worst
	sums.means(grad, l.weight)
	return exact.Ratio(&nll, &l.total) + l.penalty(grad, theta[:split], b), nil
}

// scores writes W z + b, with -Inf where z was -Inf. A full W is passed transposed.
func (l *linear) scores(y []float64, t *linearTile, w, b []float64) {
	if l.full {
		kernel.AffineF64(y, t.z, w, b, t.rows, l.k, l.k)
	} else {
		kernel.ScaleShiftF64(y, t.z, w, b, t.rows, l.k)
	}
	for _, i := range t.zeros {
		y[i] = math.Inf(-1)
	}
}

// penalty returns the penalties of the parameters after centering, and adds their gradient. Thus a change of W and b that
// leaves all probabilities the same leaves the penalties the same, and they are the smallest for these probabilities.
func (l *linear) penalty(grad, w, b []float64) float64 {
	k := l.k
	var off, bias float64
	if l.refRow {
		return l.refPenalty(grad, w, b)
	}
	if l.off > 0 {
		n := float64(k) * float64(k-1)
		means := columnMeans(w, k, true)
		for i, v := range w {
			if i/k != i%k {
				v -= means[i%k]
				off += float64(v * v)
				grad[i] += float64(2 * l.off / n * v)
			}
		}
		off *= l.off / n
	}
	if l.bias > 0 {
		mean := linearSum(b) / float64(k)
		for j, v := range b {
			v -= mean
			bias += float64(v * v)
			grad[len(w)+j] += float64(2 * l.bias / float64(k) * v)
		}
		bias *= l.bias / float64(k)
	}
	return off + bias
}

// refPenalty is penalty of W and b minus their last rows.
func (l *linear) refPenalty(grad, w, b []float64) float64 {
	k := l.k
	last := (k - 1) * k
	off, bias := 0.0, 0.0
	each, one := l.off/(float64(k)*float64(k-1)), l.bias/float64(k)
	for i, v := range w[:last] {
		if j := i % k; i/k != j {
			v -= w[last+j]
			off += float64(v * v)
			g := float64(2 * each * v)
			grad[i] += g
			grad[last+j] -= g
		}
	}
	for i, v := range b[:k-1] {
		v -= b[k-1]
		bias += float64(v * v)
		g := float64(2 * one * v)
		grad[len(w)+i] += g
		grad[len(w)+k-1] -= g
	}
	return float64(each*off) + float64(one*bias)
}

// columnMeans returns the mean of each column of W, over its off-diagonal elements (off) or all.
func columnMeans(w []float64, k int, off bool) []float64 {
	m := make([]float64, k)
	for i, v := range w {
		if !off || i/k != i%k {
			m[i%k] += v
		}
	}
	n := float64(k)
	if off {
		n--
	}
	scale(1/n, m)
	return m
}

// linearSum adds in the order of the elements.
func linearSum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

func grown(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}

// transposed returns the transpose of a k by k matrix.
func transposed(w []float64, k int) []float64 {
	t := make([]float64, len(w))
	for i := range k {
		for j, v := range w[i*k : (i+1)*k] {
			t[j*k+i] = v
		}
	}
	return t
}
