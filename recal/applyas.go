package recal

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// A logitMap is a map of classes that can return its results as logits, without the rounding of probabilities.
type logitMap interface {
	Map
	// exact reports whether the map computes logits first, and probabilities from them.
	exact() bool
	// keeps reports whether the map preserves the arg max of a row.
	keeps() bool
	// logitsOf writes the logits of what Apply makes of rows [lo, hi), without gaps between rows. For several classes they
	// are determined up to a constant per row, which softmax ignores; for a binary task it is the logit of the event.
	logitsOf(dst []float64, src *metrics.Scores, k metrics.Kind, lo, hi int)
}

const errApplyAs = "recal: a map of classes makes Probs, Logits or LogProbs, of one score a row or of a binary task's two classes"

// ApplyAs applies a map of classes to the rows of src, whose kind is k, and writes probabilities, logits or logarithms of probabilities.
// Probabilities are those of Apply. Logits are not computed from these and keep their digits where a probability rounds to 0 or 1. Logits
// of several classes are determined up to a number added to all of a row.
//
// dst is as for Map.Apply. For a binary task it may have two columns instead of one: class 0 and the event. What a probability that rounds to
// 1 leaves is then in the other column. The two logits are 0 and the event's, or -Inf and 0 if the event is certain. ApplyAs panics where
// Apply does, for other kinds, and for regression forecasts.
func ApplyAs(m Map, as metrics.Kind, dst, src *metrics.Scores, k metrics.Kind) {
	l, ok := m.(logitMap)
	kind, width, err := m.Out(k, src.Classes)
	pair := err == nil && width == 1 && dst.Classes == 2
	if !ok || as > metrics.LogProbs || err == nil && kind != metrics.Probs {
		panic(errApplyAs)
	}
	if as == metrics.Probs && !pair {
		m.Apply(dst, src, k)
		return
	}
	if like := *dst; pair {
		like.Classes = 1
		checkApply(m.Out, &like, src, k)
	} else {
		checkApply(m.Out, dst, src, k)
	}
	var p []float64
	if as == metrics.Probs {
		p = eventsOf(m, dst, src, k)
	}
	c, narrow := src.Classes, dst.F64 == nil
	step := min(src.Rows, rowsATile(max(2, c)))
	given, z, two := make([]float64, step*c), make([]float64, step*c), make([]float64, 2*step)
	for lo := 0; lo < src.Rows; lo += step {
		hi := min(lo+step, src.Rows)
		n := hi - lo
		z := z[:n*c]
		l.logitsOf(z, src, k, lo, hi)
		if l.keeps() {
			src.Widen(given, lo, hi)
		}
		switch {
		case as == metrics.Probs:
			for i, v := range z {
				two[2*i], two[2*i+1] = restOf(p[lo+i], v, l.exact()), p[lo+i]
			}
		case pair:
			for i, v := range z {
				two[2*i], two[2*i+1] = bothOf(v, as)
			}
		case c == 1:
			keep := keptLogit
			if as == metrics.LogProbs {
				keep = keptLogProb
				for i, v := range z {
					z[i] = logSigmoid(v)
				}
			}
			for i, v := range z {
				if l.keeps() {
					z[i] = keep(v, overHalf(given[i], k), narrow)
				}
			}
		default:
			if as == metrics.LogProbs {
				kernel.LogSoftmaxF64(z, c, z, n, c, c)
			}
			for i := range n {
				if row := z[i*c:][:c]; l.keeps() {
					for j, v := range row {
						row[j] = rounded(v, narrow)
					}
					keepTop(row, given[i*c:][:c], narrow)
				}
			}
		}
		if pair {
			z = two[:2*n]
		}
		store(dst, z, lo, hi)
	}
}

// eventsOf returns the probabilities that Apply writes for one score per row, rounded to the type of dst.
func eventsOf(m Map, dst, src *metrics.Scores, k metrics.Kind) []float64 {
	p := &metrics.Scores{Rows: src.Rows, Classes: 1}
	if dst.F64 != nil {
		p.F64 = make([]float64, src.Rows)
		m.Apply(p, src, k)
		return p.F64
	}
	p.F32 = make([]float32, src.Rows)
	m.Apply(p, src, k)
	w := make([]float64, src.Rows)
	p.Widen(w, 0, src.Rows)
	return w
}

// restOf returns the probability of the other class: 1-p, or, where that has few digits and the logit more (exact), the
// value from the logit.
func restOf(p, logit float64, exact bool) float64 {
	if exact && p > 0.5 {
		return sigmoid(-logit)
	}
	return 1 - p
}

// bothOf returns the scores of class 0 and of the event.
func bothOf(logit float64, as metrics.Kind) (zero, event float64) {
	switch {
	case as == metrics.LogProbs:
		return logSigmoid(-logit), logSigmoid(logit)
	case logit > math.MaxFloat64:
		return negInf, 0
	}
	return 0, logit
}

// logSigmoid returns the logarithm of sigmoid(z).
func logSigmoid(z float64) float64 {
	l := 0 - kernel.Log1p64(kernel.Exp64(-math.Abs(z)))
	if z < 0 {
		l += z
	}
	return l
}

// overHalf reports whether a binary score states a probability above 1/2.
func overHalf(v float64, k metrics.Kind) bool {
	switch k {
	case metrics.Probs:
		return v > 0.5
	case metrics.LogProbs:
		return kernel.Exp64(v) > 0.5
	}
	return v > 0
}

func rounded(v float64, narrow bool) float64 {
	if narrow {
		return float64(float32(v))
	}
	return v
}

// keptLogit returns the logit as it is stored, on the same side of 0 as before.
func keptLogit(v float64, above, narrow bool) float64 {
	v = rounded(v, narrow)
	switch {
	case above && v <= 0:
		return next(0, 1, narrow)
	case !above && v > 0:
		return 0
	}
	return v
}

// keptLogProb returns the log-probability as it is stored. It is above ln(1/2) exactly if it was before.
func keptLogProb(v float64, above, narrow bool) float64 {
	v = rounded(v, narrow)
	for above && kernel.Exp64(v) <= 0.5 {
		v = next(v, 1, narrow)
	}
	for !above && kernel.Exp64(v) > 0.5 {
		v = next(v, -1, narrow)
	}
	return v
}

func (m *TemperatureMap) exact() bool { return true }
func (m *TemperatureMap) keeps() bool { return true }

func (m *TemperatureMap) logitsOf(dst []float64, src *metrics.Scores, k metrics.Kind, lo, hi int) {
	logits(dst, src, k, lo, hi)
	scaleLogits(dst, hi-lo, src.Classes, m.Beta())
}

// scaleLogits multiplies the logits of rows by beta; finite logits stay finite.
func scaleLogits(z []float64, rows, classes int, beta float64) {
	for i := range rows {
		row := z[i*classes:][:classes]
		if top := row[argMax(row)]; classes > 1 && top <= math.MaxFloat64 && math.Abs(beta*top) > math.MaxFloat64 {
			for j := range row {
				row[j] -= top
			}
		}
		for j, v := range row {
			if row[j] = float64(beta * v); v-v == 0 && classes == 1 {
				row[j] = min(max(row[j], -math.MaxFloat64), math.MaxFloat64)
			}
		}
	}
}

func (m *ETSMap) exact() bool { return true }
func (m *ETSMap) keeps() bool { return true }

// logitsOf writes the logarithms of the mixture, each by a sum of exponentials.
func (m *ETSMap) logitsOf(dst []float64, src *metrics.Scores, k metrics.Kind, lo, hi int) {
	n, c := hi-lo, src.Classes
	plain := make([]float64, n*c)
	logits(plain, src, k, lo, hi)
	copy(dst, plain)
	scaleLogits(dst, n, c, 1/m.t)
	l1, l2, l3 := kernel.Log64(m.w[0]), kernel.Log64(m.w[1]), kernel.Log64(m.w[2]/float64(max(2, c)))
	if c == 1 {
		for i, z := range plain {
			t := dst[i]
			dst[i] = logAddExp(l1+logSigmoid(t), l2+logSigmoid(z), l3) - logAddExp(l1+logSigmoid(-t), l2+logSigmoid(-z), l3)
		}
		return
	}
	kernel.LogSoftmaxF64(dst, c, dst[:n*c], n, c, c)
	kernel.LogSoftmaxF64(plain, c, plain, n, c, c)
	for i, l := range plain {
		dst[i] = logAddExp(l1+dst[i], l2+l, l3)
	}
}

// logAddExp returns ln(exp(a) + exp(b) + exp(c)).
func logAddExp(a, b, c float64) float64 {
	m := max(a, b, c)
	if m == negInf {
		return m
	}
	return m + kernel.Log64(kernel.Exp64(a-m)+kernel.Exp64(b-m)+kernel.Exp64(c-m))
}

func (m *linearMap) exact() bool { return true }
func (m *linearMap) keeps() bool { return false }

func (m *CurveMap) exact() bool { return m.curves[0].logits() }
func (m *CurveMap) keeps() bool { return false }

// logitsOf writes the logarithms of the recalibrated class probabilities before normalization; for a binary task, the logit.
func (m *CurveMap) logitsOf(dst []float64, src *metrics.Scores, k metrics.Kind, lo, hi int) {
	t := newTile(reading{top: m.top, logits: m.curves[0].logits()}, src.Classes, hi-lo)
	for at := lo; at < hi; at += t.rows {
		end := min(at+t.rows, hi)
		t.read(src, k, at, end)
		to := dst[(at-lo)*t.classes:][:t.n*t.classes]
		switch {
		case m.top && t.classes > 1:
			logits(to, src, k, at, end)
			m.topLogits(to, t)
		case t.classes == 1:
			curveLogits(m.curves[0], t.x[:t.n])
			copy(to, t.x)
			for i, top := range t.top[:min(len(t.top), t.n)] {
				if top == 0 {
					to[i] = -to[i]
				}
			}
		default:
			m.eachLogits(to, t)
		}
	}
}

// eachLogits writes the logarithms of the curves of all classes.
func (m *CurveMap) eachLogits(dst []float64, t *tile) {
	column := t.spare[:t.n]
	for j, c := range m.curves {
		t.column(column, j)
		if c.logits() {
			curveLogits(c, column)
			for i, z := range column {
				column[i] = logSigmoid(z)
			}
		} else {
			c.apply(column)
			kernel.LogSliceF64(column, column)
		}
		for i, v := range column {
			dst[i*t.width+j] = v
		}
	}
	for i := range t.n {
		if row := dst[i*t.width:][:t.width]; row[argMax(row)] == negInf {
			fill(row, 0)
		}
	}
}

// topLogits replaces the logits of a tile's rows with the logarithms of the recalibrated rows. The tile holds their top
// scores.
func (m *CurveMap) topLogits(z []float64, t *tile) {
	curveLogits(m.curves[0], t.x[:t.n])
	for i, top := range t.top[:t.n] {
		row := z[i*t.classes:][:t.classes]
		f, left := logSigmoid(t.x[i]), logSigmoid(-t.x[i])
		row[top] = negInf
		second := row[argMax(row)]
		sum := 0.0
		for _, v := range row {
			sum += kernel.Exp64(v - second)
		}
		switch {
		case f != f || sum != sum && second != negInf:
			fill(row, nan)
			continue
		case second == negInf:
			fill(row, left-kernel.Log64(float64(t.classes-1)))
		default:
			for j, v := range row {
				row[j] = v - second - kernel.Log64(sum) + left
			}
		}
		row[top] = f
	}
}

// curveLogits replaces scores with the logits of the curve's results.
func curveLogits(c curve, x []float64) {
	if l, ok := c.(logitCurve); ok {
		l.line(x)
		return
	}
	c.apply(x)
	logitAll(x)
}

// A logitCurve is a curve whose probabilities are sigmoids of a line of logits.
type logitCurve interface{ line(x []float64) }
