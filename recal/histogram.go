package recal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/kernel"
)

// Histogram is histogram binning. Each probability becomes the observed frequency of its bin: sum w y / sum w over the bin's
// rows. These frequencies theta minimise sum_m sum_i 1[a_m <= p_i < a_(m+1)] (theta_m - y_i)^2. CurveMap describes the
// treatment of several classes.
//
// Bins of equal width have the edges i*(1/Bins). Bins of equal mass begin at the scores of rank round(i*N/Bins) of N rows,
// or where the cumulative weight passes that share of the total. Equal scores are never split, so there may be fewer bins,
// and none is empty. An unseen score is assigned by the midpoint between a bin's first score and the score before it.
//
// If all labels are equal the curves are constant, 0 or 1 in all bins with rows. With several classes, bins make many
// probabilities of a row equal or 0, so the arg max often changes. With TopLabel it changes less often.
//
// In a file each curve has cuts, the edges between bins; values, one for each bin; and identity, the indices of the bins
// that leave scores unchanged.
//
// Source: Guo, Pleiss, Sun, Weinberger, On calibration of modern neural networks (2017).
type Histogram struct {
	Bins        int  // up to 65536; 0 means 15
	EqualMass   bool // bins of equal mass, with equal scores together, instead of equal width
	Empty       Empty
	RightClosed bool // bins include their upper edge instead of the lower one; 0 is in the first bin
	// AsCoded uses the bins of the code of markus93/NN_calibration: for each b in numpy.arange(1/Bins, 1+1/Bins, 1/Bins),
	// the scores p with b-1/Bins < p <= b. So 0, and occasionally a score on an edge, is in no bin or in two. Empty bins
	// give 0. AsCoded excludes EqualMass, Empty and RightClosed.
	AsCoded  bool
	TopLabel bool
}

// Empty selects what a probability in a bin without rows becomes.
type Empty uint8

const (
	Centre   Empty = iota // the centre of the bin
	Identity              // unchanged
	Zero                  // 0
)

var emptyNames = []string{Centre: "centre", Identity: "identity", Zero: "zero"}

// String returns "centre", "identity" or "zero".
func (e Empty) String() string {
	if int(e) < len(emptyNames) {
		return emptyNames[e]
	}
	return "Empty(" + strconv.Itoa(int(e)) + ")"
}

const mostBins = 1 << 16

const (
	errHistogram = "recal: a histogram has 1 to 65536 bins, and Empty is Centre, Identity or Zero"
	errAsCoded   = "recal: the options as_coded and equal_mass, empty or right_closed do not go together"
)

func (m Histogram) bins() int {
	if m.Bins == 0 {
		return 15
	}
	return m.Bins
}

// String returns "histogram" with the options that differ from the default: bins=N, equal_mass, empty=identity or zero,
// right_closed, as_coded, top_label.
func (m Histogram) String() string {
	empty := ""
	if m.Empty != Centre {
		empty = "empty=" + m.Empty.String()
	}
	return spelled("histogram", value("bins", float64(m.bins()), 15), word("equal_mass", m.EqualMass), empty,
		word("right_closed", m.RightClosed), word("as_coded", m.AsCoded), word("top_label", m.TopLabel))
}

func (m Histogram) with(option, value string) (Method, error) {
	var err error
	switch option {
	case "bins":
		m.Bins, err = readWhole(option, value, 1, mostBins)
	case "equal_mass":
		m.EqualMass, err = readWord(option, value)
	case "empty":
		m.Empty, err = readChoice[Empty](option, value, emptyNames)
	case "right_closed":
		m.RightClosed, err = readWord(option, value)
	case "as_coded":
		m.AsCoded, err = readWord(option, value)
	case "top_label":
		m.TopLabel, err = readWord(option, value)
	default:
		err = noOption(option, "bins", "equal_mass", "empty", "right_closed", "as_coded", "top_label")
	}
	if err == nil && m.contradicts() {
		err = errors.New("as_coded goes with neither equal_mass nor empty nor right_closed")
	}
	return m, err
}

// contradicts reports whether AsCoded is combined with an option that it excludes.
func (m Histogram) contradicts() bool {
	return m.AsCoded && (m.EqualMass || m.Empty != Centre || m.RightClosed)
}

func (m Histogram) side() kernel.Side {
	if m.RightClosed || m.AsCoded {
		return kernel.RightClosed
	}
	return kernel.LeftClosed
}

// Fit returns a *CurveMap. Bins of equal width take two reads, and 96 bytes per bin and class for each thread; the number of
// threads is reduced to fit Options.Memory. Bins of equal mass require sorting the rows.
func (m Histogram) Fit(d Data, o *Options) (Map, error) {
	if m.Bins < 0 || m.Bins > mostBins || m.Empty > Zero {
		return nil, errors.New(errHistogram)
	}
	if m.contradicts() {
		return nil, errors.New(errAsCoded)
	}
	s, err := lookBinary(d, o, false)
	if err != nil {
		return nil, err
	}
	var curves []curve
	if m.EqualMass {
		curves, err = s.gather(d, o, reading{top: m.TopLabel}, func(_ int, c *sortedScores) (curve, error) { return m.massOf(c), nil })
	} else {
		curves, err = m.widths(d, o, s)
	}
	if err != nil {
		return nil, err
	}
	return newCurveMap(m, s.fit, m.TopLabel, curves)
}

// binCounts holds the weight of a bin's rows, and that of its rows with the event.
type binCounts struct{ n, y weight }

const binBytes = 96 // size of a binCounts

func (c *binCounts) add(hit uint8, w float64) {
	if c.n.add(w); hit == 1 {
		c.y.add(w)
	}
}

// theta returns the frequency, rounded once.
func (c *binCounts) theta() float64 { return c.y.over(&c.n) }

// edges returns the edges of bins of equal width; for AsCoded, 0 and the upper edges.
func (m Histogram) edges() []float64 {
	if !m.AsCoded {
		return kernel.Edges(m.bins())
	}
	// numpy's step is the difference of its first two numbers.
	width := 1 / float64(m.bins())
	step := (width + width) - width
	edges := []float64{0}
	for i := range int(math.Ceil((1 + width - width) / width)) {
		edges = append(edges, width+float64(float64(i)*step))
	}
	return edges
}

// countBytes returns the memory of the counts for this many threads.
func (m Histogram) countBytes(curves, threads int) int64 {
	return int64(threads) * int64(curves) * int64(len(m.edges())-1) * binBytes
}

// widths fits bins of equal width.
func (m Histogram) widths(d Data, o *Options, s *survey) ([]curve, error) {
	r := reading{top: m.TopLabel}
	edges := m.edges()
	size := len(edges) - 1
	curves := make([]curve, r.curves(s.fit.Classes))
	threads := o.workers()
	for threads > 1 && m.countBytes(len(curves), threads) > o.memory() {
		threads--
	}
	if need := m.countBytes(len(curves), 1); need > o.memory() {
		return nil, fmt.Errorf("%d bins of %d classes take %d bytes, and %v is %d; raise it, or take fewer bins",
			size, len(curves), need, setting.FitMemory, o.memory())
	}
	o = &Options{Threads: threads, Memory: o.memory()}
	var all [][]binCounts
	err := s.stream(d, o, r, func() func(int, []float64, []uint8, []float64) {
		counts := make([]binCounts, len(curves)*size)
		all = append(all, counts)
		var room [kernel.MaxSum]int32
		return func(class int, x []float64, hit []uint8, w []float64) {
			counts := counts[class*size:][:size]
			if m.AsCoded {
				addAsCoded(counts, edges, 1/float64(m.bins()), x, hit, w)
				return
			}
			bin := room[:len(x)]
			kernel.BinEqual(bin, x, edges, m.side())
			for i, b := range bin {
				v := 1.0
				if w != nil {
					v = w[i]
				}
				counts[b].add(hit[i], v)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for class := range curves {
		c := &bins{side: m.side(), Cuts: edges[1:size], Values: make([]float64, size)}
		for b := range c.Values {
			sum := &all[0][class*size+b]
			for _, counts := range all[1:] {
				sum.n.merge(&counts[class*size+b].n)
				sum.y.merge(&counts[class*size+b].y)
			}
			switch {
			case sum.n.n > 0:
				c.Values[b] = sum.theta()
			case m.AsCoded || m.Empty == Zero:
			case m.Empty == Centre:
				c.Values[b] = (edges[b] + edges[b+1]) / 2
			default:
				c.Identity = append(c.Identity, b)
			}
		}
		curves[class] = c
	}
	return curves, nil
}

// addAsCoded adds rows to the bins of AsCoded that contain them.
func addAsCoded(counts []binCounts, edges []float64, width float64, x []float64, hit []uint8, w []float64) {
	for i, p := range x {
		at := min(int(p*float64(len(counts))), len(counts)-1)
		for b := max(0, at-1); b < min(at+2, len(counts)); b++ {
			if upper := edges[b+1]; p > upper-width && p <= upper {
				v := 1.0
				if w != nil {
					v = w[i]
				}
				counts[b].add(hit[i], v)
			}
		}
	}
}

// massOf fits bins of equal mass.
func (m Histogram) massOf(c *sortedScores) curve {
	starts := c.quantiles(m.bins())
	f := &bins{side: m.side(), Cuts: []float64{}}
	var in binCounts
	last := 0.0
	c.each(func(p, n, y float64) {
		if len(starts) > 0 && p == starts[0] {
			starts = starts[1:]
			if in.n.n > 0 {
				f.Values = append(f.Values, in.theta())
				f.Cuts = append(f.Cuts, between(last, p, m.side()))
				in = binCounts{}
			}
		}
		in.n.add(n)
		in.y.add(y)
		last = p
	})
	f.Values = append(f.Values, in.theta())
	return f
}

// between returns the midpoint of two scores, adjusted so that they are on different sides of it.
func between(low, high float64, side kernel.Side) float64 {
	mid := low + float64((high-low)/2)
	switch {
	case side == kernel.LeftClosed && mid <= low:
		return high
	case side == kernel.RightClosed && mid >= high:
		return low
	}
	return mid
}

// bins is a step function.
type bins struct {
	Cuts     []float64 `json:"cuts"`
	Values   []float64 `json:"values"`
	Identity []int     `json:"identity,omitempty"`

	side   kernel.Side
	edges  []float64 // the cuts, between 0 and 1
	values []float64 // NaN for scores that stay unchanged
}

func (c *bins) logits() bool { return false }
func (c *bins) free() int    { return free(c.values) }

func (c *bins) ready() error {
	if len(c.Values) < 1 || len(c.Values) > mostBins || len(c.Cuts) != len(c.Values)-1 {
		return errCurveFile
	}
	// The outer edges are sentinels.
	c.edges = append(append(append(c.edges[:0], math.Inf(-1)), c.Cuts...), math.Inf(1))
	for i, e := range c.Cuts {
		if !(e >= 0 && e < 2) || i > 0 && e <= c.Cuts[i-1] {
			return errCurveFile
		}
	}
	for _, v := range c.Values {
		if !(v >= 0 && v <= 1) {
			return errCurveFile
		}
	}
	if c.values = c.Values; c.Identity != nil {
		c.values = slices.Clone(c.Values)
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

// quantiles returns the distinct scores at which bins of equal mass begin, without the first bin.
func (c *sortedScores) quantiles(bins int) []float64 {
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

// above reports whether a*b > c*d. If the rounded products are equal, their rounding errors decide.
func above(a, b, c, d float64) bool {
	x, y := float64(a*b), float64(c*d)
	return x > y || x == y && math.FMA(a, b, -x) > math.FMA(c, d, -y)
}

func (m Histogram) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return decodeCurves(m, f, m.TopLabel, parameters, func() curve { return &bins{side: m.side()} })
}
