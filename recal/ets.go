package recal

import (
	"encoding/json"
	"errors"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// ETS is ensemble temperature scaling: w1 softmax(z/T) + w2 softmax(z) + w3/K, with weights of at least 0 that sum to 1. The
// arg max and the order of a row's classes do not change.
//
// T is that of Temperature. Given T, the weights minimise the mean NLL, which is convex in them. Newton's method finds them
// on the triangle of weights, including its border. Each step reads the data once; 4 to 12 steps follow those for the
// temperature. A binary task has K = 2 and sigmoids. If there is no best temperature, Fit returns the error of Temperature.
// Rows whose label has probability 0 are left out (see Fit), as for the temperature, although w3 > 0 gives them a positive
// probability.
//
// A file has the parameters temperature and weights, the three weights in the order of the formula.
//
// Source: Zhang, Kailkhura, Han, Mix-n-Match: ensemble and compositional methods for uncertainty calibration in deep
// learning (2020).
type ETS struct {
}

func (m ETS) String() string { return "ets" }

// Fit returns an *ETSMap.
func (m ETS) Fit(d Data, o *Options) (Map, error) {
	l, err := newLikelihood(d, o)
	if err != nil {
		return nil, err
	}
	t, err := l.temperature()
	if err != nil {
		return nil, err
	}
	w, err := l.weights(t.Beta())
	if err != nil {
		return nil, err
	}
	l.fit.Reads = l.reads
	return &ETSMap{fit: l.fit, t: t.t, w: w}, nil
}

func (m ETS) with(option, value string) (Method, error) { return m, noOption(option) }

type etsFile struct {
	Temperature float64   `json:"temperature"`
	Weights     []float64 `json:"weights"`
}

func (m ETS) decode(f Fit, parameters json.RawMessage) (Map, error) {
	var p etsFile
	if err := strict(parameters, &p); err != nil {
		return nil, err
	}
	if !goodTemperature(p.Temperature) {
		return nil, errNoTemperature
	}
	if f.Classes < 1 {
		return nil, errNoClasses
	}
	if len(p.Weights) != 3 {
		return nil, errors.New("there are not three weights")
	}
	w := weights(p.Weights)
	if !(w[0] >= 0 && w[1] >= 0 && w[2] >= 0 && math.Abs(w[0]+w[1]+w[2]-1) <= 1e-12) {
		return nil, errors.New("the weights are not of at least 0 with the sum 1")
	}
	return &ETSMap{fit: f, t: p.Temperature, w: w}, nil
}

// ETSMap is a mixture of the rows at a temperature, the rows as they are, and equal probabilities.
type ETSMap struct {
	fit Fit
	t   float64
	w   weights
}

// weights holds the weights of the mixture.
type weights [3]float64

// T returns the temperature.
func (m *ETSMap) T() float64 { return m.t }

// Weights returns the weights of softmax(z/T), of softmax(z), and of 1/K.
func (m *ETSMap) Weights() [3]float64 { return m.w }

// Method returns "ets".
func (m *ETSMap) Method() string { return "ets" }

// Fit describes the rows that the map was fitted to.
func (m *ETSMap) Fit() Fit { return m.fit }

// Out accepts Probs, Logits and LogProbs with the number of classes that the map was fitted to, and returns Probs.
func (m *ETSMap) Out(k metrics.Kind, classes int) (metrics.Kind, int, error) {
	return softmaxOut("ets", m.fit.Classes, k, classes)
}

// Apply writes the mixtures. Where rounding would change the arg max it is preserved, as in TemperatureMap.Apply.
func (m *ETSMap) Apply(dst, src *metrics.Scores, k metrics.Kind) {
	checkApply(m.Out, dst, src, k)
	c, beta := src.Classes, 1/m.t
	equal := m.w[2] / float64(max(2, c))
	var plain []float64
	softmaxApply(dst, src, k, func(p, z []float64, rows int) {
		if len(plain) < rows*c {
			plain = make([]float64, rows*c)
		}
		tempered(plain, z, rows, c, 1)
		tempered(p, z, rows, c, beta)
		for i, v := range p[:rows*c] {
			p[i] = float64(m.w[0]*v) + float64(m.w[1]*plain[i]) + equal
		}
	})
}

func (m *ETSMap) parameters() any { return etsFile{m.t, m.w[:]} }

// mixture holds the mean NLL of a mixture over the rows, and its derivatives with respect to the weights. 1 is added to the
// first derivatives. This changes nothing along directions that keep the sum of the weights, and at the best weights it
// makes the derivatives of the free weights 0.
type mixture struct {
	nll      float64
	gradient [3]float64
	hessian  [3][3]float64
}

// mixed reads the data and computes the NLL and derivatives of the mixture of beta's probabilities, the original ones and
// equal ones. The NLL is +Inf where a sum is so large that the weights cannot be near the best.
func (l *likelihood) mixed(beta float64, w weights) (*mixture, error) {
	const (
		value, weight, gradient, hessian = 0, 1, 2, 5
		n                                = 11
	)
	var s sums
	err := l.visit(func(t *temperedRows) func() {
		own, wild := s.own(n)
		cols := make([][]float64, n)
		for i := range cols {
			cols[i] = make([]float64, columnRows)
		}
		first := make([]float64, columnRows)
		return func() {
			t.columns(beta)
			copy(first, t.NLL[:t.n])
			t.columns(1)
			rows, third := 0, 1/float64(max(2, t.chunk.Classes))
			for i := range t.n {
				weigh := t.weight(i)
				if weigh == 0 {
					continue
				}
				q := [3]float64{kernel.Exp64(-first[i]), kernel.Exp64(-t.NLL[i]), third}
				p := float64(w[0]*q[0]) + float64(w[1]*q[1]) + float64(w[2]*q[2])
				if !(p > 1e-140) {
					*wild = true
					continue
				}
				cols[value][rows] = float64(weigh * (0 - kernel.Log64(p)))
				cols[weight][rows] = weigh
				at := hessian
				for a := range q {
					r := q[a] / p
					cols[gradient+a][rows] = float64(weigh * -r)
					for b := range a + 1 {
						cols[at][rows] = float64(weigh * float64(r*(q[b]/p)))
						at++
					}
				}
				rows++
			}
			for i, c := range cols {
				own[i].AddExactAll(c[:rows])
			}
		}
	})
	if err != nil {
		return nil, err
	}
	m := &mixture{nll: math.Inf(1)}
	if s.flagged() {
		return m, nil
	}
	total := s.total()
	mean := func(i int) float64 { return exact.Ratio(&total[i], &total[weight]) }
	m.nll = mean(value)
	at := hessian
	for a := range 3 {
		m.gradient[a] = 1 + mean(gradient+a)
		for b := range a + 1 {
			m.hessian[a][b] = mean(at)
			m.hessian[b][a] = m.hessian[a][b]
			at++
		}
	}
	return m, nil
}

const (
	// etsSteps is more steps than any weights need.
	etsSteps = 200
	// nearWeights is the squared length of a step, in the metric of the curvature, below which the remaining improvement is
	// negligible.
	nearWeights = 1e-20
)

var errNoWeights = errors.New("the weights of ets were not found; please report these data")

// weights finds the best mixture.
func (l *likelihood) weights(beta float64) (weights, error) {
	w := weights{0.5, 0.25, 0.25}
	m, err := l.mixed(beta, w)
	if err != nil {
		return w, err
	}
	for range etsSteps {
		v := m.best(w)
		fall, length := m.change(w, v)
		if length <= nearWeights && fall >= -nearWeights {
			return v, nil
		}
		for {
			next, err := l.mixed(beta, v)
			if err != nil {
				return w, err
			}
			// Accept a quarter of the improvement that the slope predicts, or a loss within rounding.
			if next.nll <= m.nll+float64(fall/4)+float64(0x1p-50*(1+math.Abs(m.nll))) {
				w, m = v, next
				break
			}
			for i := range v {
				v[i] = w[i] + float64((v[i]-w[i])/4)
			}
			fall /= 4
			if fall > -nearWeights {
				return w, nil
			}
		}
	}
	return w, errNoWeights
}

// change returns the change of the NLL from w to v in the quadratic model: the first-order term, and the second-order term,
// which is the squared distance.
func (m *mixture) change(w, v weights) (first, second float64) {
	for a := range 3 {
		first += float64(m.gradient[a] * (v[a] - w[a]))
		for b := range 3 {
			second += float64(float64(m.hessian[a][b]*(v[a]-w[a])) * (v[b] - w[b]))
		}
	}
	return first, second
}

// best returns the minimum, on the triangle of weights, of the quadratic model of the NLL at w. It is an interior stationary
// point, the minimum on a side, or a corner.
func (m *mixture) best(w weights) weights {
	best, least := w, 0.0
	try := func(v weights) {
		for i := range v {
			if !(v[i] >= 0) {
				return
			}
		}
		first, second := m.change(w, v)
		if f := first + float64(second/2); f < least {
			best, least = v, f
		}
	}
	for i := range 3 {
		var corner weights
		corner[i] = 1
		try(corner)
		// The side from this corner to the next: slope and curvature of the model along it.
		var along weights
		j := (i + 1) % 3
		along[i], along[j] = -1, 1
		slope, curve := m.along(w, corner, along), m.curve(along, along)
		if x := -slope / curve; curve > 0 && x > 0 && x < 1 {
			var side weights
			side[i], side[j] = 1-x, x
			try(side)
		}
	}
	// Interior: w + x (e1 - e3) + y (e2 - e3).
	e, f := weights{1, 0, -1}, weights{0, 1, -1}
	a, b, c := m.curve(e, e), m.curve(e, f), m.curve(f, f)
	r, s := -m.along(w, w, e), -m.along(w, w, f)
	if det := float64(a*c) - float64(b*b); det > 1e-13*float64(a*c) {
		x := (float64(r*c) - float64(s*b)) / det
		y := (float64(s*a) - float64(r*b)) / det
		try(weights{w[0] + x, w[1] + y, w[2] - x - y})
	}
	return best
}

// along returns the slope at v, in a direction, of the quadratic model at w.
func (m *mixture) along(w, v, direction weights) float64 {
	s := 0.0
	for a := range 3 {
		s += float64(m.gradient[a] * direction[a])
	}
	return s + m.curve(weights{v[0] - w[0], v[1] - w[1], v[2] - w[2]}, direction)
}

// curve returns u H v.
func (m *mixture) curve(u, v weights) float64 {
	s := 0.0
	for a := range 3 {
		for b := range 3 {
			s += float64(float64(u[a]*m.hessian[a][b]) * v[b])
		}
	}
	return s
}
