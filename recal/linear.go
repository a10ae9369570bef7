package recal

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/parallel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// linear is the fit of softmax(W z + b), where W is a whole matrix or a diagonal one.
//
// Its sums over rows have the same bits for any number of threads and any chunks: rows are gathered into tiles by their numbers, a
// tile's sums are made row by row, and rounded to whole multiples of a quantum, which can be added in any order.
type linear struct {
	d    Data
	o    *Options
	s    *survey
	name string
	full bool // W has elements off the diagonal
	off  float64
	bias float64

	k      int
	groups map[int64]int32 // rows of each tile
	floor  float64         // what -Inf is to the others of its row, see lowest
	total  exact.Sum       // of the weights of the rows that count
	weight float64         // the same
	bound  float64         // above the absolute value of every logit

	passes  int     // gradients that were computed
	worst   float64 // largest NLL of a row at the last one
	passErr error
}

// tileRows is how many row numbers a tile spans.
const tileRows = 256

// tileCounter counts the rows of each tile. It is no state.
type tileCounter struct {
	n     map[int64]int32
	dtype metrics.DType
}

func (t *tileCounter) Needs() metrics.Need        { return 0 }
func (t *tileCounter) Empty() metrics.Accumulator { return &tileCounter{n: map[int64]int32{}} }
func (t *tileCounter) Len() int64                 { return 0 }

func (t *tileCounter) AddBlock(b *metrics.Block) {
	t.dtype = b.DType
	for i := 0; i < b.Rows; {
		g, lo := b.Number(i)/tileRows, i
		for i++; i < b.Rows && b.Number(i)/tileRows == g; i++ {
		}
		t.n[g] += int32(i - lo)
	}
}

func (t *tileCounter) Merge(a metrics.Accumulator) error {
	o := a.(*tileCounter)
	for g, n := range o.n {
		t.n[g] += n
	}
	if len(o.n) > 0 {
		t.dtype = o.dtype
	}
	return nil
}

func (t *tileCounter) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (t *tileCounter) UnmarshalBinary([]byte) error          { return nil }

// linearTile is what some consecutive row numbers have of rows.
type linearTile struct {
	rows    int
	z       []float64
	labels  []int32
	weights []float64
	numbers []int64
	zeros   []int32 // places of z that were -Inf
}

func (t *linearTile) reset() {
	t.rows, t.z, t.labels, t.weights, t.numbers, t.zeros = 0, t.z[:0], t.labels[:0], t.weights[:0], t.numbers[:0], t.zeros[:0]
}

// add appends rows of a chunk.
func (t *linearTile) add(c *metrics.Chunk, lo, hi int) {
	for i := lo; i < hi; i++ {
		w := 1.0
		if c.Weights != nil {
			if w = c.Weights[i]; w == 0 {
				continue
			}
		}
		t.weights = append(t.weights, w)
		t.labels = append(t.labels, c.Labels[i])
		t.numbers = append(t.numbers, number(c, i))
		at := len(t.z)
		t.z = append(t.z, make([]float64, c.Classes)...)
		logits(t.z[at:], &c.Scores, c.Kind, i, i+1)
		t.rows++
	}
}

// sort puts the rows in the order of their numbers; they nearly always are.
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

// clean drops rows whose label has no probability, and replaces -Inf in the others.
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

// lift replaces -Inf in a row by floor, of logits by the row's largest and floor, and appends their places to zeros.
func lift(row []float64, zeros []int32, at int, kind metrics.Kind, floor float64) []int32 {
	n := len(zeros)
	for j, v := range row {
		if math.IsInf(v, -1) {
			zeros = append(zeros, int32(at+j))
		}
	}
	if len(zeros) > n {
		if kind == metrics.Logits {
			floor += floats.Max(row)
		}
		for _, j := range zeros[n:] {
			row[int(j)-at] = floor
		}
	}
	return zeros
}

// lowest returns the logarithm of the smallest probability above 0 that a type has.
func lowest(t metrics.DType) float64 {
	e := map[metrics.DType]float64{metrics.Float64: -1074, metrics.Float32: -149, metrics.Float16: -24, metrics.BFloat16: -133}[t]
	return e * math.Ln2
}

// tiles reads the data once and hands every tile, whole, to one of the functions that newVisit returned.
func (l *linear) tiles(newVisit func() func(*linearTile)) error {
	var mu sync.Mutex
	open := map[int64]*linearTile{}
	var free []*linearTile
	return each(l.d, l.o, func() func(*metrics.Chunk) {
		visit := newVisit()
		mine := &linearTile{}
		finish := func(t *linearTile) {
			t.sort(l.k)
			t.clean(l.k, l.s.kind, l.floor)
			if t.rows > 0 {
				visit(t)
			}
		}
		return func(c *metrics.Chunk) {
			for hi := 0; hi < c.Rows; {
				g, lo := number(c, hi)/tileRows, hi
				for hi++; hi < c.Rows && number(c, hi)/tileRows == g; hi++ {
				}
				want := int(l.groups[g])
				if want == 0 {
					continue
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
					t = &linearTile{}
					if n := len(free); n > 0 {
						t, free = free[n-1], free[:n-1]
					}
					t.reset()
					open[g] = t
				}
				t.add(c, lo, hi)
				whole := t.rows == want
				if whole {
					delete(open, g)
				}
				mu.Unlock()
				if whole {
					finish(t)
					mu.Lock()
					free = append(free, t)
					mu.Unlock()
				}
			}
		}
	})
}

// lattice adds tiles' sums in any order, as whole multiples of a quantum.
type lattice struct {
	unit  int // the quantum is 2**-unit
	sums  []int64
	locks [16]sync.Mutex
}

// newLattice returns n sums whose terms' absolute values are bound together, at most.
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

// prepare checks the data and finds out what a fit has to know of them.
func (l *linear) prepare() error {
	counter := &tileCounter{n: map[int64]int32{}}
	var err error
	if l.s, err = look(l.d, l.o, counter); err != nil {
		return err
	}
	s := l.s
	switch s.kind {
	case metrics.Probs, metrics.Logits, metrics.LogProbs:
	default:
		return fmt.Errorf("recal: %s is for the scores of classes, and these are %s", l.name, s.fit.Kind)
	}
	if s.fit.Classes == 1 {
		return fmt.Errorf("recal: %s is for two classes or more, and these rows have one score: a factor and a bias of one logit are platt", l.name)
	}
	l.k, l.groups, l.floor = s.fit.Classes, counter.n, lowest(counter.dtype)
	if s.fit.LeftOut == s.fit.Rows {
		return errors.New("recal: the model gave the true class no probability in all rows: there is nothing to fit to")
	}
	var mu sync.Mutex
	seen := make([]bool, l.k) // classes with some probability
	err = l.tiles(func() func(*linearTile) {
		return func(t *linearTile) {
			bound := 0.0
			for _, v := range t.z {
				bound = max(bound, math.Abs(v))
			}
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
			l.bound = max(l.bound, bound)
			l.total.AddExactAll(t.weights)
			for j, b := range some {
				seen[j] = seen[j] || b
			}
		}
	})
	if err != nil {
		return err
	}
	l.s.fit.Reads++
	l.weight = l.total.Float64()
	if b := l.weight * l.bound * l.bound; !(b > 0 && b <= math.MaxFloat64/4) && l.bound > 0 {
		return fmt.Errorf("recal: logits as far from 0 as %v cannot be scaled", l.bound)
	}
	return l.labels(seen)
}

// labels says where labels alone let no map be the best.
func (l *linear) labels(seen []bool) error {
	last, n := 0, 0
	for j, c := range l.s.counts {
		if c > 0 {
			last, n = j, n+1
		}
	}
	if n == 1 {
		return unreachable("all labels are class %d, so its bias would grow without end; fit to rows of all classes", last)
	}
	if l.bias > 0 {
		return nil
	}
	for j, c := range l.s.counts {
		if c == 0 && seen[j] {
			return unreachable("no label is class %d, so its bias would fall without end; fit to rows of all classes%s", j, l.advice("Bias"))
		}
	}
	return nil
}

func (l *linear) advice(option string) string {
	if !l.full {
		return ""
	}
	return ", or with a weight for " + option
}

// size returns the number of parameters: W by rows, or its diagonal, and b behind it.
func (l *linear) size() int {
	if l.full {
		return l.k*l.k + l.k
	}
	return 2 * l.k
}

// gradient returns the mean NLL with the penalties, and writes its gradient.
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
			sums.add(g)
			high := floats.Max(loss)
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

// scores writes W z + b, with -Inf where z was. Of a whole W it takes the transpose.
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

// penalty returns the penalties and adds their gradient.
func (l *linear) penalty(grad, w, b []float64) float64 {
	k := l.k
	var off, bias float64
	if l.off > 0 {
		n := float64(k * (k - 1))
		for i, v := range w {
			if i/k != i%k {
				off += float64(v * v)
				grad[i] += float64(2 * l.off / n * v)
			}
		}
		off *= l.off / n
	}
	if l.bias > 0 {
		for j, v := range b {
			bias += float64(v * v)
			grad[len(w)+j] += float64(2 * l.bias / float64(k) * v)
		}
		bias *= l.bias / float64(k)
	}
	return off + bias
}

func grown(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}

// transposed returns the transpose of k rows of k numbers.
func transposed(w []float64, k int) []float64 {
	t := make([]float64, len(w))
	for i := range k {
		for j, v := range w[i*k : (i+1)*k] {
			t[j*k+i] = v
		}
	}
	return t
}

// Coordinates in which the NLL is about as curved in all directions at the start of a fit: a row of W is taken as
// W0 + D^-1 V L^-T, where L L^T is the covariance of logits, each row with its uncertainty, and D^2 are the classes' variances; b
// moves against the mean of the logits.
type coordinates struct {
	k      int
	full   bool
	start  []float64
	mean   []float64
	scale  []float64 // 1/D
	factor []float64 // L, or its diagonal for each class
	o      *Options
}

// least is the least variance, as a part of the mean one, that a coordinate is taken to have.
const least = 1e-6

// survey computes coordinates at theta.
func (l *linear) coordinates(theta []float64) (*coordinates, error) {
	k := l.k
	split := len(theta) - k
	c := &coordinates{k: k, full: l.full, start: theta, o: l.o}
	c.mean, c.scale = make([]float64, k), make([]float64, k)
	bound := l.weight * max(l.bound, 1)
	second := newLattice(split, bound*max(l.bound, 1))
	first, zeroth := newLattice(k, bound), newLattice(k, l.weight)
	err := l.tiles(func() func(*linearTile) {
		var y, loss []float64
		a, b, v := make([]float64, split), make([]float64, k), make([]float64, k)
		return func(t *linearTile) {
			y, loss = grown(y, len(t.z)), grown(loss, t.rows)
			l.scores(y, t, theta[:split], theta[split:]) // at the start W is its transpose
			kernel.SoftmaxResidualsF64(loss, y, t.rows, k, t.labels, t.weights)
			clear(a)
			clear(b)
			clear(v)
			// y becomes the variances of each row's classes.
			for i := range t.rows {
				row := y[i*k : (i+1)*k]
				row[t.labels[i]] += t.weights[i]
				for j, p := range row {
					p = max(0, p/t.weights[i])
					row[j] = t.weights[i] * float64(p*(1-p))
				}
			}
			kernel.AddRowsF64(v, y, t.rows, k)
			if l.full {
				for i := range t.rows {
					row, x := y[i*k:(i+1)*k], t.z[i*k:(i+1)*k]
					u := floats.Sum(row)
					for j, v := range x {
						row[j] = u * v
					}
				}
				kernel.AddOuterF64(a, y, t.z, t.rows, k, k)
				kernel.AddRowsF64(b, y, t.rows, k)
			} else {
				for j := range t.z {
					row := j % k
					b[row] += float64(y[j] * t.z[j])
					a[row] += float64(float64(y[j]*t.z[j]) * t.z[j])
				}
			}
			second.add(a)
			first.add(b)
			zeroth.add(v)
		}
	})
	if err != nil {
		return nil, err
	}
	variances := make([]float64, k)
	zeroth.means(variances, l.weight)
	first.means(c.mean, l.weight)
	c.factor = make([]float64, split)
	second.means(c.factor, l.weight)
	all := floats.Sum(variances)
	if !(all > 0) {
		all = 1
	}
	for j, v := range variances {
		c.scale[j] = 1 / math.Sqrt(max(v, 1e-3*all/float64(k)))
	}
	if l.full {
		c.cholesky(all, float64(l.off)*2*float64(k)/float64(k*(k-1))/all)
	} else {
		for j, v := range variances {
			v = max(v, 1e-3*all/float64(k))
			c.mean[j] /= v
			c.factor[j] = math.Sqrt(max(c.factor[j]/v-float64(c.mean[j]*c.mean[j]), 1e-3))
		}
	}
	return c, nil
}

// cholesky replaces the mean products of logits by L.
func (c *coordinates) cholesky(all, ridge float64) {
	k := c.k
	floats.Scale(1/all, c.mean)
	trace := 0.0
	for i := range k {
		for j := range k {
			c.factor[i*k+j] = c.factor[i*k+j]/all - float64(c.mean[i]*c.mean[j])
		}
		trace += c.factor[i*k+i]
	}
	ridge += max(least*trace/float64(k), 1e-12)
	for i := range k {
		ri := c.factor[i*k : i*k+i]
		for j := range i {
			rj := c.factor[j*k : j*k+j]
			ri[j] = (ri[j] - floats.Dot(ri[:j], rj)) / c.factor[j*k+j]
		}
		d := c.factor[i*k+i] + ridge - floats.Dot(ri, ri)
		c.factor[i*k+i] = math.Sqrt(max(d, ridge))
	}
}

// parameters writes what the coordinates x are.
func (c *coordinates) parameters(theta, x []float64) {
	k := c.k
	split := len(x) - k
	copy(theta, c.start)
	if !c.full {
		for j := range k {
			d := c.scale[j] * x[j] / c.factor[j]
			theta[j] += d
			theta[k+j] += float64(c.scale[j]*x[k+j]) - float64(d*c.mean[j])
		}
		return
	}
	parallel.Each(c.o.threads(), k, func() func(int) {
		v := make([]float64, k)
		return func(j int) {
			for i := range v {
				v[i] = c.scale[j] * x[j*k+i]
			}
			for i := k - 1; i >= 0; i-- {
				v[i] /= c.factor[i*k+i]
				floats.AddScaled(v[:i], -v[i], c.factor[i*k:i*k+i])
			}
			floats.Add(theta[j*k:(j+1)*k], v)
			theta[split+j] += float64(c.scale[j]*x[split+j]) - floats.Dot(v, c.mean)
		}
	})
}

// gradient replaces the gradient of the parameters by that of the coordinates.
func (c *coordinates) gradient(g []float64) {
	k := c.k
	split := len(g) - k
	if !c.full {
		for j := range k {
			g[j] = (g[j] - float64(g[k+j]*c.mean[j])) * c.scale[j] / c.factor[j]
			g[k+j] *= c.scale[j]
		}
		return
	}
	parallel.Each(c.o.threads(), k, func() func(int) {
		return func(j int) {
			v := g[j*k : (j+1)*k]
			floats.AddScaled(v, -g[split+j], c.mean)
			for i := range v {
				v[i] = (v[i] - floats.Dot(c.factor[i*k:i*k+i], v[:i])) / c.factor[i*k+i]
			}
			floats.Scale(c.scale[j], v)
			g[split+j] *= c.scale[j]
		}
	})
}

// What a fit comes to.
type fitted struct {
	w, b     []float64
	passes   int
	gradient float64 // largest element in absolute value
}

const (
	aim       = 1e-9 // largest element of the gradient at which a fit ends
	enough    = 1e-6 // at which it may, if no step makes the NLL less
	mostSteps = 2000
)

func (l *linear) fit() (*fitted, error) {
	if err := l.prepare(); err != nil {
		return nil, err
	}
	theta := make([]float64, l.size())
	t := l.scale()
	for j := range l.k {
		if l.full {
			theta[j*l.k+j] = t
		} else {
			theta[j] = t
		}
	}
	c, err := l.coordinates(theta)
	if err != nil {
		return nil, err
	}
	l.s.fit.Reads++
	return l.descend(c)
}

// scale returns the factor to start with.
func (l *linear) scale() float64 { return 1 }

func (l *linear) descend(c *coordinates) (*fitted, error) {
	n := l.size()
	at, grad, theta, raw := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	var value float64
	var stop error
	first := true
	eval := func(x []float64) {
		if !first && floats.Equal(x, at) || stop != nil {
			return
		}
		first = false
		copy(at, x)
		c.parameters(theta, x)
		value, stop = l.gradient(raw, theta)
		copy(grad, raw)
		c.gradient(grad)
		if stop == nil && l.worst < math.Ln2 && l.off == 0 && l.bias == 0 {
			stop = l.separable()
		}
	}
	p := optimize.Problem{
		Func: func(x []float64) float64 { eval(x); return value },
		Grad: func(g, x []float64) { eval(x); copy(g, grad) },
		Status: func() (optimize.Status, error) {
			if stop != nil {
				return optimize.Failure, stop
			}
			return optimize.NotTerminated, nil
		},
	}
	r, err := optimize.Minimize(p, make([]float64, n), &optimize.Settings{
		GradientThreshold: aim, Converger: optimize.NeverTerminate{}, FuncEvaluations: mostSteps,
	}, &optimize.LBFGS{Linesearcher: &optimize.MoreThuente{}, GradStopThreshold: math.NaN()})
	if stop != nil {
		return nil, stop
	}
	eval(r.X)
	if stop != nil {
		return nil, stop
	}
	g := floats.Norm(raw, math.Inf(1))
	if g > enough {
		return nil, fmt.Errorf("recal: %s did not come to an end in %d reads (%v, %v): the gradient's largest element is %.2g%s", l.name, l.passes,
			r.Status, err, g, l.advice("OffDiagonal"))
	}
	l.s.fit.Reads += l.passes
	split := n - l.k
	f := &fitted{w: theta[:split], b: theta[split:], passes: l.passes, gradient: g}
	l.center(f)
	return f, nil
}

func (l *linear) separable() error {
	return unreachable("%s can tell the classes of all %d rows from their scores, so its factors would grow without end; fit to more rows%s",
		l.name, l.s.fit.Rows-l.s.fit.LeftOut, l.advice("OffDiagonal"))
}

// center takes from b, and from W's columns where nothing else determines that, what changes no probability.
func (l *linear) center(f *fitted) {
	k := l.k
	floats.AddConst(-floats.Sum(f.b)/float64(k), f.b)
	if !l.full || l.off > 0 {
		return
	}
	for j := range k {
		s := 0.0
		for i := range k {
			s += f.w[i*k+j]
		}
		for i := range k {
			f.w[i*k+j] -= s / float64(k)
		}
	}
}
