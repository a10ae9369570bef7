package calib

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
)

// Centre returns the middle of the bin: what some reliability diagrams have on the x axis in place of Confidence.
func (b Bin) Centre() float64 { return b.Lower + float64((b.Upper-b.Lower)/2) }

// Gap returns Confidence - Frequency: above 0 the bin's scores claim more than they keep. NaN if the bin is empty.
func (b Bin) Gap() float64 { return b.Confidence - b.Frequency }

// GapInterval returns what Interval says of Gap: Confidence, which is known, minus the ends of Frequency's interval.
func (b Bin) GapInterval() metrics.Interval {
	return metrics.Interval{Low: b.Confidence - b.Interval.High, High: b.Confidence - b.Interval.Low}
}

// Point is a point of a reliability curve: means over some scores that lie beside each other.
type Point struct {
	Confidence float64 // mean score
	Frequency  float64 // share with the event
}

// Gap returns Confidence - Frequency. The y axis "error" of uncertainty_metrics is its negative.
func (p Point) Gap() float64 { return p.Confidence - p.Frequency }

// WindowOptions say what Window slides over. The zero value is candor's default: the event that Bins has by default, a
// hundredth of the scores at a time.
type WindowOptions struct {
	Event Event // whose scores and outcomes
	Class *int  // if not nil, those of this class against the rest, and Event has no say
	Width int   // scores in a window; 0 means a hundredth of them, at least 1
	// Parity makes what uncertainty_metrics.reliability_diagram does, for Event AllClasses or, with its class_conditional, for
	// Class 0: equal scores stay in the order of the rows, on which the curve then depends; the last window is left out; and a
	// hundredth of fewer than 100 scores is a window of none, all of whose points are 0.
	Parity bool

	Data metrics.Options // how the rows are read: threads, bad rows, renormalisation
}

// Window returns the reliability curve of predictions in memory without bins: the scores in rising order, and for each
// window of Width neighbours, n - Width + 1 of them, the mean score and the share of them with the event. Both are
// weighted means where there are weights; a window then still holds so many scores. A calibrated curve is the diagonal.
// There are no points without rows.
//
// Within a run of equal scores each counts with the run's mean outcome (and weight), so the curve does not depend on the
// order of the rows; its sums are exact, so it does not drift. Where the predictions have the caller's decisions, the top
// label is the decision; where they have confidence scores, rows are in the order of these, and what is averaged stays
// the probability. As in Bins the events of classes take the entries as they are.
//
// It takes n log n steps and 40 bytes a score, and 16 a point. o may be nil. The error is that of the options, a *metrics.DataError
// or a *metrics.LengthError.
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
		return nil, errors.New("calib: an option has no such value")
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

// scored is a score with its outcome.
type scored struct {
	by      float64 // by which it is sorted
	p, y, w float64
	at      int // 1 + its number; 0 of a row that was left out
}

// collector is an accumulator that keeps the scores, each where its row has it. All those of a Pass share the memory.
type collector struct {
	win   WindowOptions
	width int // scores of a row
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

// curve returns the points of what was collected.
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

// meanOfTies gives the members of each run of equal scores the run's means.
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

// window holds exact sums, so that what leaves it leaves nothing behind.
type window struct{ w, p, y exact.Sum }

// add adds a score, or with a sign of -1 takes it off.
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
