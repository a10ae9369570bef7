package recal

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
)

// Histogram is histogram binning: the probability of a bin becomes the frequency there, of weighted rows sum w y / sum w. That is
// the theta of least sum_m sum_i 1[a_m <= p_i < a_(m+1)] (theta_m - y_i)^2 (Guo et al. 2017, "On Calibration of Modern Neural
// Networks"). See CurveMap for what becomes of several classes.
//
// Bins of equal width have the edges i*(1/Bins). Those of equal mass begin at the scores of the ranks round(i*N/Bins) of N rows, or
// where weights pass that part of their sum; equal scores are never divided, so that there may be fewer bins, and none is empty.
// What a score that was not seen belongs to is decided by the midpoint between the bin's first score and the one before it.
//
// Labels that are all alike make constant curves, 0 or 1. Of a curve in a file cuts are the edges between bins, values those of the
// bins, and identity the numbers of the bins that leave scores as they are.
type Histogram struct {
	Bins        int  // 0 means 15
	EqualMass   bool // bins have as many rows each, equal scores together, in place of equal widths
	Empty       Empty
	RightClosed bool // bins have their upper edge, and not the lower one, as in markus93/NN_calibration
	TopLabel    bool
}

// Empty says what a probability in a bin without rows becomes.
type Empty uint8

const (
	Centre   Empty = iota // the bin's centre
	Identity              // itself
	Zero                  // 0, as markus93/NN_calibration has it
)

var emptyNames = []string{Centre: "centre", Identity: "identity", Zero: "zero"}

// String returns "centre", "identity" or "zero".
func (e Empty) String() string {
	if int(e) < len(emptyNames) {
		return emptyNames[e]
	}
	return "Empty(" + strconv.Itoa(int(e)) + ")"
}

// MaxBins is the largest number of bins of Histogram.
const MaxBins = 1 << 16

const errHistogram = "recal: a histogram has 1 to 65536 bins, and Empty is Centre, Identity or Zero"

func (m Histogram) bins() int {
	if m.Bins == 0 {
		return 15
	}
	return m.Bins
}

// String returns "histogram" and the options that are not the default: bins=N, equal_mass, empty=identity or zero, right_closed,
// top_label.
func (m Histogram) String() string {
	empty := ""
	if m.Empty != Centre {
		empty = "empty=" + m.Empty.String()
	}
	return spelled("histogram", value("bins", float64(m.bins()), 15), word("equal_mass", m.EqualMass), empty,
		word("right_closed", m.RightClosed), word("top_label", m.TopLabel))
}

func (m Histogram) with(option, value string) (Method, error) {
	var err error
	switch option {
	case "bins":
		m.Bins, err = readWhole(option, value, 1, MaxBins)
	case "equal_mass":
		m.EqualMass, err = readWord(option, value)
	case "empty":
		m.Empty, err = readChoice[Empty](option, value, emptyNames)
	case "right_closed":
		m.RightClosed, err = readWord(option, value)
	case "top_label":
		m.TopLabel, err = readWord(option, value)
	default:
		err = noOption(option, "bins", "equal_mass", "empty", "right_closed", "top_label")
	}
	return m, err
}

func (m Histogram) side() kernel.Side {
	if m.RightClosed {
		return kernel.RightClosed
	}
	return kernel.LeftClosed
}

// Fit returns a *CurveMap. Bins of equal width take two reads and no memory for rows; equal mass has to sort them: see Options.Memory.
func (m Histogram) Fit(d Data, o *Options) (Map, error) {
	if m.Bins < 0 || m.Bins > MaxBins || m.Empty > Zero {
		panic(errHistogram)
	}
	s, err := lookBinary(d, o, false)
	if err != nil {
		return nil, err
	}
	var curves []curve
	if m.EqualMass {
		curves, err = s.gather(d, o, reading{top: m.TopLabel}, func(_ int, c *column) (curve, error) { return m.massOf(c), nil })
	} else {
		curves, err = m.widths(d, o, s)
	}
	if err != nil {
		return nil, err
	}
	return newCurveMap(m, s.fit, m.TopLabel, curves)
}

// binCounts are the rows of a bin: their weight, and that of those with the event.
type binCounts struct{ n, y weight }

// widths fits bins of equal width.
func (m Histogram) widths(d Data, o *Options, s *survey) ([]curve, error) {
	r := reading{top: m.TopLabel}
	edges := kernel.Edges(m.bins())
	all := make([][]binCounts, 0, 1)
	err := s.stream(d, o, r, func() func(int, []float64, []uint8, []float64) {
		counts := make([]binCounts, r.curves(s.fit.Classes)*m.bins())
		all = append(all, counts)
		bin := make([]int32, kernel.MaxSum)
		return func(class int, x []float64, hit []uint8, w []float64) {
			bin := bin[:len(x)]
			kernel.BinEqual(bin, x, edges, m.side())
			counts := counts[class*m.bins():][:m.bins()]
			for i, b := range bin {
				v := 1.0
				if w != nil {
					v = w[i]
				}
				if counts[b].n.add(v); hit[i] == 1 {
					counts[b].y.add(v)
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	curves := make([]curve, r.curves(s.fit.Classes))
	for class := range curves {
		c := &bins{side: m.side(), Cuts: edges[1 : len(edges)-1], Values: make([]float64, m.bins())}
		for b := range c.Values {
			at := class*m.bins() + b
			for _, more := range all[1:] {
				all[0][at].n.merge(&more[at].n)
				all[0][at].y.merge(&more[at].y)
			}
			n, y := &all[0][at].n, &all[0][at].y
			switch {
			case n.n > 0:
				c.Values[b] = y.over(n)
			case m.Empty == Centre:
				c.Values[b] = (edges[b] + edges[b+1]) / 2
			case m.Empty == Identity:
				c.Identity = append(c.Identity, b)
			}
		}
		curves[class] = c
	}
	return curves, nil
}

// massOf fits bins of equal mass.
func (m Histogram) massOf(c *column) curve {
	starts := c.quantiles(m.bins())
	f := &bins{side: m.side()}
	var in binCounts
	last := 0.0
	c.each(func(p, n, y float64) {
		if len(starts) > 0 && p == starts[0] {
			starts = starts[1:]
			if in.n.n > 0 {
				f.Values = append(f.Values, in.y.over(&in.n))
				f.Cuts = append(f.Cuts, between(last, p, m.side()))
				in = binCounts{}
			}
		}
		in.n.add(n)
		in.y.add(y)
		last = p
	})
	f.Values = append(f.Values, in.y.over(&in.n))
	return f
}

// between returns the number halfway from one score to a larger one, so that they are on different sides of it.
func between(low, high float64, side kernel.Side) float64 {
	mid := low + (high-low)/2
	switch {
	case side == kernel.LeftClosed && mid <= low:
		return high
	case side == kernel.RightClosed && mid >= high:
		return low
	}
	return mid
}

// bins is a curve of steps.
type bins struct {
	Cuts     []float64 `json:"cuts"`
	Values   []float64 `json:"values"`
	Identity []int     `json:"identity,omitempty"`

	side   kernel.Side
	edges  []float64 // the cuts, between 0 and 1
	values []float64 // NaN for what is left as it is
}

func (c *bins) logits() bool { return false }

func (c *bins) ready() error {
	if len(c.Values) < 1 || len(c.Values) > MaxBins || len(c.Cuts) != len(c.Values)-1 {
		return errCurveFile
	}
	// No score is beyond the outer edges.
	c.edges = append(append(append(c.edges[:0], math.Inf(-1)), c.Cuts...), math.Inf(1))
	for i, e := range c.Cuts {
		if !(e >= 0 && e <= 1) || i > 0 && e <= c.Cuts[i-1] {
			return errCurveFile
		}
	}
	c.values = append(c.values[:0], c.Values...)
	for _, v := range c.values {
		if !(v >= 0 && v <= 1) {
			return errCurveFile
		}
	}
	for _, b := range c.Identity {
		if b < 0 || b >= len(c.values) {
			return errCurveFile
		}
		c.values[b] = nan
	}
	return nil
}

func (c *bins) apply(x []float64) {
	var room [512]int32
	for len(x) > 0 {
		n := min(len(x), len(room))
		bin := room[:n]
		kernel.BinEdges(bin, x[:n], c.edges, c.side)
		for i, b := range bin {
			if b >= 0 {
				if v := c.values[b]; v == v {
					x[i] = v
				}
			}
		}
		x = x[n:]
	}
}

// quantiles returns the distinct scores at which so many bins of equal mass begin, but for the first bin.
func (c *column) quantiles(bins int) []float64 {
	var total, below weight
	c.each(func(_, n, _ float64) { total.add(n) })
	all, rows := total.value(), float64(c.rows)
	var starts []float64
	j := 1
	c.each(func(p, n, _ float64) {
		if j >= bins {
			return
		}
		below.add(n)
		sum := below.value()
		for ; j < bins; j++ {
			rank := min(math.RoundToEven(float64(float64(j)*float64(rows/float64(bins)))), rows-1)
			if !above(sum, rows, all, rank) {
				break
			}
			if len(starts) == 0 || starts[len(starts)-1] != p {
				starts = append(starts, p)
			}
		}
	})
	return starts
}

// above tells whether a*b > c*d: of products that round to the same, the errors decide.
func above(a, b, c, d float64) bool {
	x, y := float64(a*b), float64(c*d)
	return x > y || x == y && math.FMA(a, b, -x) > math.FMA(c, d, -y)
}

func (m Histogram) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return decodeCurves(m, f, m.TopLabel, parameters, func() curve { return &bins{side: m.side()} })
}

// over returns w/v, rounded once.
func (w *weight) over(v *weight) float64 {
	a, b := w.exact(), v.exact()
	return exact.Ratio(&a, &b)
}
