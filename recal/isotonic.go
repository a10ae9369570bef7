package recal

import (
	"encoding/json"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// Isotonic is isotonic regression: the non-decreasing function f of the score that minimises sum w (f(p) - y)^2. Equal
// scores are averaged first. The result is a sequence of blocks of neighbouring scores, each with the frequency of its rows
// (pool adjacent violators: Ayer et al. 1955; Zadrozny and Elkan 2002). CurveMap describes the treatment of several classes.
//
// By default the curve is a step function, as in Guo et al. 2017: a score becomes the frequency of the last block whose
// lowest score is not above it; a score below all blocks becomes that of the first. With Interpolate the curve is linear
// between the ends of the blocks and constant beyond the first and the last score, as in the predictions of scikit-learn's
// IsotonicRegression(out_of_bounds="clip").
//
// If all labels are equal the curves are constant, 0 or 1. A block without the event is 0. New rows may then have
// probability 0 for their true class, and an infinite NLL. Scores of 0 and 1 are treated like all others.
//
// In a file each curve has x, the lowest scores of the blocks (with Interpolate the lowest and the highest), and y, the
// frequencies there.
type Isotonic struct {
	Interpolate bool // interpolate linearly between the ends of the blocks
	TopLabel    bool
}

// String returns "isotonic" with the options that are on: interpolate, top_label.
func (m Isotonic) String() string {
	return spelled("isotonic", word("interpolate", m.Interpolate), word("top_label", m.TopLabel))
}

func (m Isotonic) with(option, value string) (Method, error) {
	var err error
	switch option {
	case "interpolate":
		m.Interpolate, err = readWord(option, value)
	case "top_label":
		m.TopLabel, err = readWord(option, value)
	default:
		err = noOption(option, "interpolate", "top_label")
	}
	return m, err
}

// Fit returns a *CurveMap. It must sort the rows; see Options.Memory. Binary float32 probabilities in memory, without
// weights, are read once.
func (m Isotonic) Fit(d Data, o *Options) (Map, error) {
	if s, c, err := m.sorted(d, o); s != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return newCurveMap(m, s.fit, m.TopLabel, []curve{c})
	}
	s, err := lookBinary(d, o, false)
	if err != nil {
		return nil, err
	}
	curves, err := s.gather(d, o, reading{top: m.TopLabel}, func(_ int, c *sortedScores) (curve, error) {
		var pool cells.Pool
		c.each(func(p, n, y float64) { pool.Add(cells.Block{Low: p, High: p, N: n, Y: y}) })
		return m.curve(&pool), nil
	})
	if err != nil {
		return nil, err
	}
	return newCurveMap(m, s.fit, m.TopLabel, curves)
}

// sorted handles predictions in memory that package cells sorts fastest, and checks them on the way. It returns nil for
// others.
func (m Isotonic) sorted(d Data, o *Options) (*survey, curve, error) {
	src, err := d.Open()
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	mem, ok := src.(*memory)
	if !ok {
		return nil, nil, nil
	}
	p := mem.p
	if p.Rows < 1 || p.Classes != 1 || p.Kind != metrics.Probs || p.F32 == nil || p.Weights != nil || m.TopLabel ||
		int64(p.Rows)*9+1<<22 > o.memory() {
		return nil, nil, nil
	}
	plain := *p
	plain.Decisions, plain.ConfidenceScores = nil, nil
	sorted, err := cells.Sort(&plain, &cells.SortOptions{Event: metrics.Positive, Data: metrics.Options{Threads: o.threads()}})
	if err != nil {
		return nil, nil, err
	}
	var pool cells.Pool
	sorted.Fit(&pool)
	a := sorted.Audit()
	fit := Fit{Rows: a.Rows, Classes: 1, Kind: p.Kind.String(), FirstLeftOut: -1, Reads: 1}
	return &survey{fit: fit}, m.curve(&pool), nil
}

// curve returns the curve of the fitted blocks.
func (m Isotonic) curve(pool *cells.Pool) curve {
	c := &isotone{linear: m.Interpolate}
	for _, b := range pool.Blocks() {
		y := b.Y / b.N
		c.X, c.Y = append(c.X, b.Low), append(c.Y, y)
		if m.Interpolate && b.High > b.Low {
			c.X, c.Y = append(c.X, b.High), append(c.Y, y)
		}
	}
	return c
}

func (m Isotonic) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return decodeCurves(m, f, m.TopLabel, parameters, func() curve { return &isotone{linear: m.Interpolate} })
}

// isotone is a non-decreasing curve through points.
type isotone struct {
	X []float64 `json:"x"`
	Y []float64 `json:"y"`

	linear bool // linear between the points, instead of steps
	finder finder
}

func (c *isotone) logits() bool { return false }
func (c *isotone) free() int    { return free(c.Y) }

func (c *isotone) ready() error {
	if len(c.X) < 1 || len(c.X) != len(c.Y) {
		return errCurveFile
	}
	for i, x := range c.X {
		if y := c.Y[i]; !(x >= 0 && x <= 1 && y >= 0 && y <= 1) || i > 0 && (x <= c.X[i-1] || y < c.Y[i-1]) {
			return errCurveFile
		}
	}
	c.finder = newFinder(c.X)
	return nil
}

func (c *isotone) apply(x []float64) {
	for i, p := range x {
		at := max(0, c.finder.notAbove(p)-1)
		y := c.Y[at]
		switch {
		case p != p:
			y = p
		case c.linear && at+1 < len(c.X) && p > c.X[at]:
			low, high := c.X[at], c.X[at+1]
			y = min(y+float64((c.Y[at+1]-y)*((p-low)/(high-low))), c.Y[at+1])
		}
		x[i] = y
	}
}
