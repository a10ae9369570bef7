package calib

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
)

// Centre returns the midpoint of the bin, which some reliability diagrams show on the x axis in place of Confidence.
func (b Bin) Centre() float64 { return b.Lower + float64((b.Upper-b.Lower)/2) }

// Gap returns Confidence - Frequency. It is positive if scores are overconfident, and NaN if the bin is empty.
func (b Bin) Gap() float64 { return b.Confidence - b.Frequency }

// GapInterval returns the interval of Gap: Confidence, which is known, minus the ends of Frequency's interval.
func (b Bin) GapInterval() metrics.Interval {
	return metrics.Interval{Low: b.Confidence - b.Interval.High, High: b.Confidence - b.Interval.Low}
}

// Point is a point of a reliability curve: the means over a range of neighboring scores.
type Point struct {
	Confidence float64 // mean score
	Frequency  float64 // share of rows with the event
}

// Gap returns Confidence - Frequency. The y axis "error" of uncertainty_metrics is its negative.
func (p Point) Gap() float64 { return p.Confidence - p.Frequency }

// WindowOptions select the scores of Window. The zero value is candor's default: the default event of Bins, and a window of 1%
// of the scores.
type WindowOptions struct {
	Event Event // event whose scores and outcomes are used
	Class *int  // if not nil, this class against the rest, and Event is ignored
	Width int   // number of scores in a window; 0 means 1% of them, at least 1
	// Parity reproduces uncertainty_metrics.reliability_diagram, for Event AllClasses or, for its class_conditional, for Class
	// 0. Equal scores stay in row order, so the curve depends on that order. The last window is omitted. With fewer than 100
	// scores, a window of 1% of them is empty, and all points are 0.
	Parity bool

	Data metrics.Options // how rows are read: threads, bad rows, renormalization
}

// Window returns the reliability curve of predictions in memory, without bins. The scores are sorted in ascending order. For
// each of the n - Width + 1 windows of Width adjacent scores, the curve has the mean score and the share with the event. With
// weights both are weighted means; a window still has Width scores. A calibrated curve is the diagonal. There are no points
// without rows.
//
// Each score in a run of equal scores counts with the run's mean outcome and mean weight, so the curve does not depend on the
// order of rows. Its sums are exact, so it does not drift. If the predictions have the caller's decisions, the top label is the
// decision. If they have confidence scores, these determine the order, but the averages are still those of the probabilities.
// As in Bins, AllClasses and Class ignore both.
//
// It takes O(n log n) time, 40 bytes per score and 16 bytes per point. o may be nil. The error describes invalid options, or is
// a *metrics.DataError or a *metrics.LengthError.
//
// Source: uncertainty_metrics, reliability_diagram.
func Window(p *metrics.Predictions, o *WindowOptions) ([]Point, error) {
	var win WindowOptions
	if o != nil {
		win = *o
	}
	width := 1
	switch {
	case win.Width < 0:
		return nil, fmt.Errorf("calib: a window of %d scores; there are 1 or more, or with 0 as many as by default", win.Width)
	case win.Event > AllClasses:
		return nil, errors.New("calib: Event has an unknown value")
	case win.Class != nil && (*win.Class < 0 || *win.Class >= max(2, p.Classes)):
		return nil, fmt.Errorf("%w: class %d of %d classes", metrics.ErrMismatch, *win.Class, max(2, p.Classes))
	case win.Class == nil && win.Event == AllClasses:
		width = max(2, p.Classes)
	case win.Class == nil && win.Event == Positive && p.Classes > 2:
		return nil, errBinaryOnly(p.Classes)
	}
	c := &collector{win: win, width: width, all: make([]scored, max(0, p.Rows)*width)}
	if err := metrics.NewPass(&win.Data, c).Add(p); err != nil {
		return nil, err
	}
	return c.curve(), nil
}

// scored is a score with its outcome and weight.
type scored struct {
	by      float64 // sort key
	p, y, w float64
	at      int // 1 + index of the score; 0 for a row that was left out
}

// collector is an accumulator that keeps the scores at the index of their row. The collectors of a Pass share this memory.
type collector struct {
	win   WindowOptions
	width int // scores per row
	all   []scored
}

func (c *collector) Needs() metrics.Need {
	if c.win.Class != nil || c.win.Event == AllClasses {
		return metrics.NeedRows
	}
	return 0
}

func (c *collector) Empty() metrics.Accumulator            { return &collector{c.win, c.width, c.all} }
func (c *collector) Len() int64                            { return 0 }
func (c *collector) Merge(metrics.Accumulator) error       { return nil }
func (c *collector) AppendBinary(b []byte) ([]byte, error) { return nil, errNoState }
func (c *collector) UnmarshalBinary([]byte) error          { return errNoState }

func (c *collector) AddBlock(b *metrics.Block) {
	event := c.win.Event
	switch {
	case c.win.Class != nil:
		event = AllClasses
	case event == ByShape && b.Classes == 1:
		event = Positive
	case event == ByShape:
		event = TopLabel
	}
	for i := range b.Rows {
		at := int(b.Number(i)) * c.width
		w := 1.0
		if b.Weights != nil {
			w = b.Weights[i]
		}
		put := func(j int, p float64, right, own bool) {
			s := scored{by: p, p: p, w: w, at: at + j + 1}
			if right {
				s.y = 1
			}
			if own && b.By != nil {
				s.by = b.By[i]
			}
			c.all[at+j] = s
		}
		switch event {
		case TopLabel:
			put(0, b.Score[i], b.Right[i] == 1, true)
		case Positive:
			put(0, b.Stats.Positive[i], b.Labels[i] == 1, true)
		case AllClasses:
			first, n := 0, c.width
			if c.win.Class != nil {
				first, n = *c.win.Class, 1
			}
			for j := range n {
				k := first + j
				put(j, entry(&b.Probs, i, k), int(b.Labels[i]) == k, false)
			}
		}
	}
}

// curve returns the points of the curve.
func (c *collector) curve() []Point {
	all := slices.DeleteFunc(c.all, func(s scored) bool { return s.at == 0 })
	slices.SortFunc(all, func(a, b scored) int {
		if d := cmp.Compare(a.by, b.by); d != 0 {
			return d
		}
		return a.at - b.at
	})
	n, width := len(all), c.win.Width
	if width == 0 {
		width = n / 100
	}
	if c.win.Parity {
		if width == 0 {
			return make([]Point, n)
		}
		return slide(all, width, n-width)
	}
	meanOfTies(all)
	width = max(1, min(width, n))
	return slide(all, width, n-width+1)
}

// meanOfTies replaces each run of equal scores by its means.
func meanOfTies(all []scored) {
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].by == all[0].by {
			n++
		}
		if run := all[:n]; n > 1 {
			var t window
			for i := range run {
				t.add(&run[i], 1)
			}
			mean, each := t.point(), t.w.Float64()/float64(n)
			for i := range run {
				run[i].p, run[i].y, run[i].w = mean.Confidence, mean.Frequency, each
			}
		}
		all = all[n:]
	}
}

// slide returns the points of the first windows.
func slide(all []scored, width, points int) []Point {
	if points <= 0 {
		return nil
	}
	var t window
	for i := range width {
		t.add(&all[i], 1)
	}
	out := make([]Point, points)
	out[0] = t.point()
	for i := 1; i < points; i++ {
		t.add(&all[i-1], -1)
		t.add(&all[i+width-1], 1)
		out[i] = t.point()
	}
	return out
}

// window holds exact sums, so that a score that leaves it leaves no rounding error.
type window struct{ w, p, y exact.Sum }

// add adds a score, or removes it if sign is -1.
func (t *window) add(s *scored, sign float64) {
	w := sign * s.w
	t.w.AddFloat(w)
	t.p.AddFloat(float64(w * s.p))
	t.y.AddFloat(float64(w * s.y))
}

func (t *window) point() Point {
	w := t.w.Float64()
	return Point{t.p.Float64() / w, t.y.Float64() / w}
}

// entry returns the probability of class k in row i.
func entry(t *metrics.Tile, i, k int) float64 {
	if t.F64 != nil {
		return t.F64[i*t.Stride+k]
	}
	return float64(t.F32[i*t.Stride+k])
}
