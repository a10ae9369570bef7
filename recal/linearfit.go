package recal

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/parallel"
)

// coordinates are a parametrization of the fit in which the curvature of the NLL at the start is about equal in all
// directions. A row of W is W0 + D^-1 V L^-T. L L^T is the covariance of the logits, where each row of the data is weighted
// by its uncertainty. D^2 holds the variances of the classes. b is relative to the mean of the logits. If W is a full
// matrix, L L^T is scaled for each class so that its diagonal is the curvature of each element; see cholesky.
type coordinates struct {
	k      int
	full   bool
	start  []float64
	mean   []float64 // mean logits that each row of W multiplies, weighted by the variances of its class
	scale  []float64 // 1/D
	factor []float64 // L, or for a diagonal W its diagonal for each class
	bend   []float64 // per class, 1 plus the relative curvature from the penalty of b
	ratio  []float64 // for a full W, factor of each element of V L^-T in place of 1/D
	o      *Options
}

const (
	linearSome  = 1e-4 // smallest uncertainty of a row
	linearLeast = 1e-6 // smallest variance of a logit, relative to its possible value
)

// coordinates computes the coordinates at the parameters theta.
func (l *linear) coordinates(theta []float64) (*coordinates, error) {
	k := l.k
	split := len(theta) - k
	c := &coordinates{k: k, full: l.full, start: theta, o: l.o}
	c.mean, c.scale = make([]float64, split), make([]float64, k)
	w, b := theta[:split], theta[split:]
	if l.full {
		w = transposed(w, k)
	}
	bound := l.weight * max(l.bound, 1)
	second := newLattice(split, bound*max(l.bound, 1))
	first, zeroth := newLattice(split, bound), newLattice(k, l.weight)
	own := newLattice(split, bound*max(l.bound, 1))
	err := l.tiles(func() func(*linearTile) {
		var y, loss []float64
		a, m, v := make([]float64, split), make([]float64, split), make([]float64, k)
		var squares, d []float64
		return func(t *linearTile) {
			y, loss = grown(y, len(t.z)), grown(loss, t.rows)
			l.scores(y, t, w, b)
			kernel.SoftmaxResidualsF64(loss, y, t.rows, k, t.labels, t.weights)
			clear(a)
			clear(m)
			clear(v)
			// y becomes the variances of each row's classes.
			for i := range t.rows {
				row := y[i*k : (i+1)*k]
				row[t.labels[i]] += t.weights[i]
				for j, p := range row {
					p = max(0, p/t.weights[i])
					row[j] = t.weights[i] * (float64(p*(1-p)) + linearSome/float64(k))
				}
			}
			kernel.AddRowsF64(v, y, t.rows, k)
			if l.full {
				kernel.AddOuterF64(m, y, t.z, t.rows, k, k)
				squares, d = grown(squares, len(t.z)), grown(d, split)
				for i, v := range t.z {
					squares[i] = v * v
				}
				clear(d)
				kernel.AddOuterF64(d, y, squares, t.rows, k, k)
				own.add(d)
				for i := range t.rows {
					row, x := y[i*k:(i+1)*k], t.z[i*k:(i+1)*k]
					u := linearSum(row)
					for j, v := range x {
						row[j] = u * v
					}
				}
				kernel.AddOuterF64(a, y, t.z, t.rows, k, k)
			} else {
				for j := range t.z {
					row := j % k
					m[row] += float64(y[j] * t.z[j])
					a[row] += float64(float64(y[j]*t.z[j]) * t.z[j])
				}
			}
			second.add(a)
			first.add(m)
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
	all := linearSum(variances)
	for j, v := range variances {
		v = max(v, 1e-3*all/float64(k))
		variances[j], c.scale[j] = v, 1/math.Sqrt(v)
	}
	if l.full {
		c.ratio = make([]float64, split)
		own.means(c.ratio, l.weight)
		c.cholesky(variances, all, l.off, l.bias)
		return c, nil
	}
	for j, v := range variances {
		c.mean[j] /= v
		square := c.factor[j] / v
		c.factor[j] = math.Sqrt(max(square-float64(c.mean[j]*c.mean[j]), linearLeast*square, math.SmallestNonzeroFloat64))
	}
	return c, nil
}

// cholesky replaces the sums of products of logits with L, the Cholesky factor of their covariance within classes plus the
// penalty of an average class. ratio holds mean squared logits weighted by the variances of each class. It is replaced with
// the square roots of the diagonal of L L^T divided by curvature plus penalty of each element; the diagonal of W has no
// penalty.
func (c *coordinates) cholesky(variances []float64, all, off, bias float64) {
	k := c.k
	c.bend = make([]float64, k)
	scale(1/all, c.factor)
	square, trace := 0.0, 0.0
	for i := range k {
		square += c.factor[i*k+i]
	}
	for j, v := range variances {
		c.bend[j] = 1 + 2*bias/float64(k)/v
		scale(1/v, c.mean[j*k:(j+1)*k])
	}
	c.rows(func() func(int) {
		return func(i int) {
			row := c.factor[i*k : (i+1)*k]
			for j, v := range variances {
				m := c.mean[j*k : (j+1)*k]
				addScaled(row, -v/all/c.bend[j]*m[i], m)
			}
		}
	})
	for i := range k {
		trace += c.factor[i*k+i]
	}
	bend := float64(off * (2 / float64(k) / float64(k-1)))
	ridge := bend*float64(k)/all + max(linearLeast*trace/float64(k), 0x1p-40*square/float64(k), 0x1p-1000) // equal logits leave rounding errors
	roots := make([]float64, k)
	for i := range k {
		roots[i] = math.Sqrt(c.factor[i*k+i] + ridge)
	}
	c.rows(func() func(int) {
		return func(j int) {
			row, m := c.ratio[j*k:(j+1)*k], c.mean[j*k:(j+1)*k]
			for i, square := range row {
				v := square - float64(variances[j]/c.bend[j]*m[i]*m[i])
				v = max(v, 1e-3*all/float64(k)*c.factor[i*k+i], linearLeast*square, math.SmallestNonzeroFloat64)
				if i != j {
					v += bend
				}
				row[i] = roots[i] / math.Sqrt(v)
			}
		}
	})
	for i := range k {
		ri := c.factor[i*k : i*k+i]
		for j := range i {
			rj := c.factor[j*k : j*k+j]
			ri[j] = (ri[j] - dot(ri[:j], rj)) / c.factor[j*k+j]
		}
		d := c.factor[i*k+i] + ridge - dot(ri, ri)
		c.factor[i*k+i] = math.Sqrt(max(d, ridge))
	}
}

// solve replaces v with L^-1 v.
func (c *coordinates) solve(v []float64) {
	for i := range v {
		v[i] = (v[i] - dot(c.factor[i*c.k:i*c.k+i], v[:i])) / c.factor[i*c.k+i]
	}
}

// rows processes every row of W in parallel.
func (c *coordinates) rows(newWorker func() func(j int)) {
	parallel.Each(c.o.threads(), c.k, newWorker)
}

// parameters writes the parameters at the coordinates x.
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
	c.rows(func() func(int) {
		v := make([]float64, k)
		return func(j int) {
			copy(v, x[j*k:(j+1)*k])
			for i := k - 1; i >= 0; i-- {
				v[i] /= c.factor[i*k+i]
				addScaled(v[:i], -v[i], c.factor[i*k:i*k+i])
			}
			for i, r := range c.ratio[j*k : (j+1)*k] {
				v[i] = float64(v[i] * r)
				theta[j*k+i] += v[i]
			}
			theta[split+j] += c.scale[j]*x[split+j]/math.Sqrt(c.bend[j]) - dot(v, c.mean[j*k:(j+1)*k])/c.bend[j]
		}
	})
}

// gradient converts the gradient by parameters to that by coordinates.
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
	c.rows(func() func(int) {
		return func(j int) {
			v := g[j*k : (j+1)*k]
			addScaled(v, -g[split+j]/c.bend[j], c.mean[j*k:(j+1)*k])
			for i, r := range c.ratio[j*k : (j+1)*k] {
				v[i] *= r
			}
			c.solve(v)
			g[split+j] *= c.scale[j] / math.Sqrt(c.bend[j])
		}
	})
}

// solution is the result of a fit.
type solution struct {
	w, b     []float64
	passes   int
	gradient float64 // largest absolute element, in coordinates
}

const (
	linearAim    = 1e-9 // largest element of the gradient, in coordinates, at which a fit ends
	linearEnough = 1e-6 // the same, if rounding prevents further progress
	linearPasses = 2000
	linearRound  = 500  // passes without new coordinates
	linearLeg    = 1e-5 // largest element at which the last leg begins, see runaway
	linearFlat   = 1e-6 // curvature along the last leg, relative to the start, below which it is no minimum
	linearShort  = 1e-8 // squared length, in the curvature of the start, of a short last leg
)

// fit returns the best parameters.
func (l *linear) fit() (*solution, error) {
	if err := l.prepare(); err != nil {
		return nil, err
	}
	factor := 1.0
	switch m, err := (Temperature{}).Fit(l.d, l.o); {
	case err == nil:
		factor = m.(*TemperatureMap).Beta()
		l.s.fit.Reads += m.Fit().Reads
	case !errors.Is(err, ErrUnreachable):
		return nil, err
	}
	theta := make([]float64, l.size())
	for j := range l.k {
		if l.full {
			j += j * l.k
		}
		theta[j] = factor
	}
	c, err := l.coordinates(theta)
	if err != nil {
		return nil, err
	}
	s := &descent{l: l, c: c}
	f, err := s.run(theta)
	if err != nil {
		return nil, err
	}
	l.s.fit.Reads += l.passes + 1
	l.center(f)
	return f, nil
}

// center removes from b and from the columns of W what changes no probability: their means. For columns with a penalty these
// are the means of the off-diagonal elements.
func (l *linear) center(f *solution) {
	mean := linearSum(f.b) / float64(l.k)
	for j := range f.b {
		f.b[j] -= mean
	}
	if !l.full {
		return
	}
	means := columnMeans(f.w, l.k, l.off > 0)
	for i := range l.k {
		for j, m := range means {
			f.w[i*l.k+j] -= m
		}
	}
}

// descent is the state of a descent from coordinates 0.
type descent struct {
	l *linear
	c *coordinates

	at, grad, theta, raw []float64 // last point and its gradient, in coordinates and in parameters
	value                float64
	last                 []float64 // parameters at the start of the last leg
	err                  error
}

// eval computes value and gradient at x.
func (s *descent) eval(x []float64) {
	if s.err != nil || s.at != nil && slices.Equal(x, s.at) {
		return
	}
	if s.at == nil {
		n := len(x)
		s.at, s.grad, s.theta, s.raw = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	}
	copy(s.at, x)
	s.c.parameters(s.theta, x)
	if s.value, s.err = s.l.gradient(s.raw, s.theta); s.err != nil {
		return
	}
	copy(s.grad, s.raw)
	s.c.gradient(s.grad)
	if s.last == nil && largest(s.grad) < linearLeg {
		s.last = slices.Clone(s.theta)
	}
	switch l := s.l; {
	case l.worst < math.Ln2 && l.off == 0 && l.bias == 0:
		// Every label has probability above 1/2. Doubling all factors and biases keeps that and increases the likelihood, so
		// there is no maximum.
		s.err = unreachable("classes are perfectly separable: %s predicts the labels of all %d rows, so its factors would grow without end; "+
			"fit to more rows%s", l.name, l.s.fit.Rows-l.s.fit.LeftOut, l.advice(setting.OffDiagonal))
	case math.IsInf(l.worst, 1):
		s.err = s.lost("the scores are beyond the numbers")
	}
}

func (s *descent) lost(why string) error {
	return fmt.Errorf("%s: %w in %d passes, %s: the gradient's largest element is %.2g; fit to more rows%s",
		s.l.name, ErrNoMinimum, s.l.passes, why, largest(s.grad), s.l.advice(setting.OffDiagonal))
}

// run descends until the gradient is 0 up to rounding.
func (s *descent) run(start []float64) (*solution, error) {
	l := s.l
	n := l.size()
	x := make([]float64, n)
	for before := math.Inf(1); ; {
		most := min(l.passes+linearRound, linearPasses)
		m := &lbfgs{store: pairs(n)}
		m.eval = func(x []float64) bool {
			s.eval(x)
			m.value, m.grad = s.value, s.grad
			return s.err == nil && l.passes < most && largest(s.grad) > linearAim
		}
		clear(x)
		stuck := m.eval(x) && m.run(x)
		if s.err != nil {
			return nil, s.err
		}
		now := largest(s.grad)
		if now <= linearAim || stuck && now >= before/2 || l.passes >= linearPasses {
			break
		}
		// If no step helps any more, or many steps did not suffice, new coordinates at this point may.
		before = now
		if s.c, s.err = l.coordinates(slices.Clone(s.theta)); s.err != nil {
			return nil, s.err
		}
		l.passes++
		s.at = nil
	}
	if largest(s.grad) > linearEnough {
		return nil, s.lost("which are the most")
	}
	f := &solution{w: slices.Clone(s.theta[:n-l.k]), b: slices.Clone(s.theta[n-l.k:]), gradient: largest(s.grad)}
	if err := s.runaway(start); err != nil {
		return nil, err
	}
	f.passes = l.passes
	return f, nil
}

// runaway returns an error if the fit ran along a slope that flattens without end, rather than into a minimum. Near a minimum the last
// leg, on which the gradient fell to 0, is short, and ten more such legs lead uphill. On an endless slope the ten lead nowhere: the
// curvature along the way has vanished, compared with that at the start.
func (s *descent) runaway(start []float64) error {
	l, n := s.l, len(start)
	way, far, g := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, v := range s.theta {
		way[i] = v - s.last[i]
	}
	size := largest(way)
	if size == 0 {
		return nil
	}
	value := func(from []float64, legs float64) (f, slope float64) {
		if s.err == nil {
			move(far, from, legs, way)
			f, s.err = l.gradient(g, far)
		}
		return f, dot(g, way)
	}
	step := 0.01 / size / max(l.bound, 1)
	_, a := value(start, 0)
	_, b := value(start, step)
	c, _ := value(s.theta, 10)
	if s.err != nil {
		return s.err
	}
	if math.IsInf(l.worst, 1) {
		return nil // overflow means uphill
	}
	if first := (b - a) / step; c-s.value >= 50*linearFlat*first || first < linearShort {
		return nil
	}
	k := l.k
	class, most := 0, -1.0
	for j := range k {
		v := math.Abs(way[n-k+j])
		if l.full {
			v = max(v, largest(way[j*k:(j+1)*k]))
		} else {
			v = max(v, math.Abs(way[j]))
		}
		if v > most {
			class, most = j, v
		}
	}
	advice := l.advice(setting.Weighted)
	if l.off > 0 && l.bias > 0 {
		advice = ", for no weight holds the diagonal"
	}
	return unreachable("some classes are perfectly separable: factors or biases of %s would grow without end, most of all those of "+
		"class %d; fit to more rows%s", l.name, class, advice)
}

// pairs returns how many steps L-BFGS keeps for n parameters: 200, or fewer to stay within 256 MiB.
func pairs(n int) int { return max(5, min(200, 1<<24/n)) }
