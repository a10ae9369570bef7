package recal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// Temperature divides all logits by one number T > 0: softmax(z/T), or sigmoid(z/T) for a binary task. T minimises the mean
// NLL. The arg max and the order of a row's classes do not change.
//
// The logits of probabilities are their logarithms; for a binary task they are ln(p/(1-p)). The likelihood is convex in 1/T.
// A bracketed Newton's method finds T to about 12 digits. Each read of the data gives slope and curvature, summed exactly.
// It takes about 6 reads, including the first, which checks the rows. 12 are enough unless the logits of different rows
// differ in size by orders of magnitude. Rows whose label has probability 0 are left out (see Fit).
//
// The error wraps ErrUnreachable if there is no best T: no row counts; all logits of each row are equal, so T changes
// nothing; every label has the largest logit of its row, so the NLL falls as T falls to 0; or the logits carry no
// information about the labels, so it falls as T grows.
//
// A file has the parameters temperature and log_se, the standard error of ln T, or null if unknown; and df, its degrees of freedom, if it
// is by clusters.
//
// Source: Guo, Pleiss, Sun, Weinberger, On calibration of modern neural networks (2017).
type Temperature struct {
}

func (m Temperature) String() string { return "temperature" }

// Fit returns a *TemperatureMap.
func (m Temperature) Fit(d Data, o *Options) (Map, error) {
	l, err := newLikelihood(d, o)
	if err != nil {
		return nil, err
	}
	return l.temperature()
}

func (m Temperature) with(option, value string) (Method, error) { return m, noOption(option) }

type temperatureFile struct {
	Temperature float64  `json:"temperature"`
	LogSE       *float64 `json:"log_se"`
	DF          float64  `json:"df,omitempty"`
}

func (m Temperature) decode(f Fit, parameters json.RawMessage) (Map, error) {
	var p temperatureFile
	if err := strict(parameters, &p); err != nil {
		return nil, err
	}
	if !goodTemperature(p.Temperature) {
		return nil, errNoTemperature
	}
	if f.Classes < 1 {
		return nil, errNoClasses
	}
	t := &TemperatureMap{fit: f, t: p.Temperature, logSE: nan}
	if p.LogSE != nil {
		if t.logSE = *p.LogSE; !(t.logSE >= 0) {
			return nil, errors.New("the standard error is below 0")
		}
	}
	if t.df = p.DF; !goodFreedom(t.df) {
		return nil, errFreedom
	}
	return t, nil
}

// Errors in files.
var (
	errNoTemperature = errors.New("the temperature is no number above 0")
	errNoClasses     = errors.New("the number of classes is below 1")
)

// goodTemperature reports whether t and 1/t are finite numbers above 0.
func goodTemperature(t float64) bool { return t > 0 && t <= math.MaxFloat64 && 1/t <= math.MaxFloat64 }

// TemperatureMap divides logits by a temperature.
type TemperatureMap struct {
	fit      Fit
	t, logSE float64
	df       float64 // degrees of freedom of logSE by clusters; 0 if rows are independent
}

const (
	errTemperature = "recal: a temperature is a finite number above 0"
	errClasses     = "recal: there is one class at least"
)

// NewTemperature returns the map of a given temperature, which was not fitted. classes is 1 for a binary task. It panics
// unless t and 1/t are finite and above 0, and classes is at least 1.
func NewTemperature(t float64, classes int) *TemperatureMap {
	if !goodTemperature(t) {
		panic(errTemperature)
	}
	if classes < 1 {
		panic(errClasses)
	}
	return &TemperatureMap{fit: Fit{Classes: classes, Kind: metrics.Logits.String(), FirstLeftOut: -1}, t: t, logSE: nan}
}

// T returns the temperature. Above 1 it lowers confidence.
func (m *TemperatureMap) T() float64 { return m.t }

// Beta returns 1/T, by which logits are multiplied.
func (m *TemperatureMap) Beta() float64 { return 1 / m.t }

// Interval returns a confidence interval of the temperature, from T exp(-z s) to T exp(z s). s is the standard error of ln T
// that does not assume the model to be right (sandwich estimator):
//
//	s = sqrt(sum w_i^2 g_i^2) / (beta sum w_i c_i)
//
// with w_i the weight of row i, and g_i and c_i the first and second derivative of its NLL by beta. There is none if the
// temperature was not fitted. By ByClusters it is the interval of clusters, and z Student's quantile. It panics unless 0 < level < 1.
func (m *TemperatureMap) Interval(level float64) metrics.Interval {
	h := float64(quantile(level, m.df) * m.logSE)
	if h != h {
		return metrics.NoInterval()
	}
	return metrics.Interval{Low: m.t * kernel.Exp64(-h), High: m.t * kernel.Exp64(h)}
}

// Method returns "temperature".
func (m *TemperatureMap) Method() string { return "temperature" }

// Fit describes the rows that the map was fitted to; it has no rows if the temperature was not fitted.
func (m *TemperatureMap) Fit() Fit { return m.fit }

// Out accepts Probs, Logits and LogProbs with the number of classes that the map was fitted to, and returns Probs.
func (m *TemperatureMap) Out(k metrics.Kind, classes int) (metrics.Kind, int, error) {
	return softmaxOut("temperature", m.fit.Classes, k, classes)
}

// softmaxOut is Out for a map from scores of classes to as many probabilities.
func softmaxOut(name string, fitted int, k metrics.Kind, classes int) (metrics.Kind, int, error) {
	if err := hasLogits(name, k); err != nil {
		return 0, 0, err
	}
	if classes != fitted {
		return 0, 0, fmt.Errorf("the map %s is of rows of %d scores, and these have %d", name, fitted, classes)
	}
	return metrics.Probs, classes, nil
}

// hasLogits returns an error unless the kind has logits.
func hasLogits(name string, k metrics.Kind) error {
	switch k {
	case metrics.Probs, metrics.Logits, metrics.LogProbs:
		return nil
	}
	return fmt.Errorf("%s is for probs, logits and logprobs, and these are %s", name, k)
}

// Apply writes softmax(z/T), or sigmoid(z/T) for a binary task. The arg max is preserved: where rounding makes another
// probability equal to the largest, and it was smaller or comes later, the largest is raised by one unit in the last place.
// A binary probability is above 1/2 exactly if it was before.
func (m *TemperatureMap) Apply(dst, src *metrics.Scores, k metrics.Kind) {
	checkApply(m.Out, dst, src, k)
	beta := m.Beta()
	if k != metrics.Probs && src.Classes > 1 && scaled(dst, src, beta) {
		return
	}
	softmaxApply(dst, src, k, func(p, z []float64, rows int) { tempered(p, z, rows, src.Classes, beta) })
}

func (m *TemperatureMap) parameters() any {
	p := temperatureFile{Temperature: m.t}
	if m.logSE == m.logSE {
		p.LogSE, p.DF = &m.logSE, m.df
	}
	return p
}

// tempered writes softmax(beta z) for rows of logits, or sigmoid(beta z) for a binary task.
func tempered(p, z []float64, rows, classes int, beta float64) {
	if classes == 1 {
		for i, v := range z[:rows] {
			p[i] = sigmoid(beta * v)
		}
		return
	}
	kernel.ScaledSoftmaxF64(p, classes, z, rows, classes, classes, beta)
}

// scaled writes softmax(beta z) if a kernel accepts the logits as they are stored, and reports whether it did. The kernels
// preserve the arg max themselves.
func scaled(dst, src *metrics.Scores, beta float64) bool {
	n, c, from, to := src.Rows, src.Classes, max(src.Stride, src.Classes), max(dst.Stride, dst.Classes)
	switch {
	case dst.F64 != nil && src.F64 != nil:
		kernel.ScaledSoftmaxF64(dst.F64, to, src.F64, n, c, from, beta)
	case dst.F32 != nil && src.F32 != nil:
		kernel.ScaledSoftmaxF32(dst.F32, to, src.F32, n, c, from, beta)
	case dst.F32 != nil && src.F16 != nil:
		kernel.ScaledSoftmaxF16(dst.F32, to, src.F16, n, c, from, beta)
	case dst.F32 != nil && src.BF16 != nil:
		kernel.ScaledSoftmaxBF16(dst.F32, to, src.BF16, n, c, from, beta)
	default:
		return false
	}
	return true
}

// softmaxApply writes what a function makes of tiles of logits, and preserves the arg max.
func softmaxApply(dst, src *metrics.Scores, k metrics.Kind, f func(p, z []float64, rows int)) {
	c := src.Classes
	most := min(src.Rows, rowsATile(c))
	given, z, p := make([]float64, most*c), make([]float64, most*c), make([]float64, most*c)
	for at := 0; at < src.Rows; at += most {
		n := min(most, src.Rows-at)
		src.Widen(given, at, at+n)
		logits(z, src, k, at, at+n)
		f(p, z, n)
		if dst.F64 == nil {
			for i, v := range p[:n*c] {
				p[i] = float64(float32(v))
			}
		}
		for i := range n {
			if c == 1 {
				keepSide(&p[i], given[i], k, dst.F64 == nil)
				continue
			}
			keepTop(p[i*c:][:c], given[i*c:][:c], dst.F64 == nil)
		}
		store(dst, p, at, at+n)
	}
}

// keepTop preserves the arg max of a row: it raises the first largest of the given scores by one unit in the last place
// above any score that was smaller but is not in p.
func keepTop(p, given []float64, narrow bool) {
	if p[0] != p[0] {
		return
	}
	top := 0
	for j, v := range given {
		if v > given[top] {
			top = j
		}
	}
	most := math.Inf(-1)
	for j, v := range p {
		if given[j] < given[top] {
			most = max(most, v)
		}
	}
	if most >= p[top] {
		p[top] = next(most, math.Inf(1), narrow)
	}
}

// keepSide preserves the decision: it keeps p above 1/2 exactly if the given score was.
func keepSide(p *float64, given float64, k metrics.Kind, narrow bool) {
	switch above := overHalf(given, k); {
	case above && *p <= 0.5:
		*p = next(0.5, 1, narrow)
	case !above && *p > 0.5:
		*p = 0.5
	}
}

// next returns the number after v in the direction of to, in float32 if narrow.
func next(v, to float64, narrow bool) float64 {
	if narrow {
		return float64(math.Nextafter32(float32(v), float32(to)))
	}
	return math.Nextafter(v, to)
}

// Profile returns the mean NLL at each of the given temperatures, over the rows that a fit of the temperature would count,
// and a description of the rows. Rows in Fit.LeftOut would have an infinite NLL at every temperature. An overflow gives
// +Inf. The data are read twice, first to check the rows. It panics unless all temperatures t, and 1/t, are finite and above
// 0.
func Profile(d Data, o *Options, temperatures []float64) ([]float64, Fit, error) {
	for _, t := range temperatures {
		if !goodTemperature(t) {
			panic(errTemperature)
		}
	}
	l, err := newLikelihood(d, o)
	if err != nil {
		return nil, Fit{}, err
	}
	nll, err := l.profile(temperatures)
	l.fit.Reads = l.reads
	return nll, l.fit, err
}
