package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics/calib"
)

const (
	plotWidth  = 60 // maximum number of columns of the diagram
	plotLeast  = 20
	plotHeight = 20 // lines: 0.05 each
	histHeight = 4
	plotMargin = 6 // columns to the left of it
)

// chart is the bars of the diagram and their positions.
type chart struct {
	bars  []calib.Bin
	group int // bins per bar; the last bar may have fewer
	wide  int // columns per bar
	from  int // column of score 0
	unit  int // columns from score 0 to score 1, times group
}

// newChart lays out bins in at most width columns. If there are more bins than columns, it pools neighbours into one bar.
func newChart(bins []calib.Bin, width int) *chart {
	c := &chart{}
	// Some options set bins of 0 and of 1 apart. They have no width and are not pooled.
	var before, inner, after []calib.Bin
	for _, b := range bins {
		switch {
		case b.Lower != b.Upper:
			inner = append(inner, b)
		case len(inner) == 0:
			before = append(before, b)
		default:
			after = append(after, b)
		}
	}
	room := max(1, width-len(before)-len(after))
	c.group = max(1, (len(inner)+room-1)/room)
	c.bars = append(c.bars, before...)
	for i := 0; i < len(inner); i += c.group {
		c.bars = append(c.bars, pool(inner[i:min(i+c.group, len(inner))]))
	}
	c.bars = append(c.bars, after...)
	c.wide = max(1, width/max(1, len(c.bars)))
	c.from = c.wide * len(before)
	c.unit = c.wide * len(inner)
	return c
}

// pool returns one bar for neighbouring bins.
func pool(bins []calib.Bin) calib.Bin {
	if len(bins) == 1 {
		return bins[0]
	}
	p := calib.Bin{Lower: bins[0].Lower, Upper: bins[len(bins)-1].Upper}
	conf, freq := 0.0, 0.0
	for _, b := range bins {
		if b.Count > 0 {
			p.Count += b.Count
			p.Weight += b.Weight
			conf += float64(b.Weight * b.Confidence)
			freq += float64(b.Weight * b.Frequency)
		}
	}
	p.Confidence, p.Frequency = conf/p.Weight, freq/p.Weight
	return p
}

// Diagram draws the reliability diagram in characters. Each bin has a bar as high as the event's frequency, with the gap to the mean
// score marked. The numbers of rows are below. It is at most 67 columns wide, and narrower if width (0 means DefaultWidth) says so,
// but at least 27. color adds ANSI colours. No line ends in a space.
func (d *Document) Diagram(w io.Writer, color bool, width int) error {
	if width <= 0 {
		width = DefaultWidth
	}
	c := newChart(d.Bins, max(plotLeast, min(plotWidth, width-plotMargin-1)))
	what, score := "accuracy", "confidence"
	if strings.HasPrefix(d.BinsText, "positive") {
		what, score = "share of y = 1", "probability"
	}
	if d.Input.Scored {
		score = "the caller's scores"
	}
	full, miss, more := "█", "░", "▓"
	if color {
		full, miss, more = "\x1b[34m█\x1b[0m", "\x1b[31m░\x1b[0m", "\x1b[32m▓\x1b[0m"
	}
	var b strings.Builder
	line := func(s string) { b.WriteString(strings.TrimRight(s, " ") + "\n") }
	line("Reliability by " + score)
	between := "   "
	if width < plotWidth+plotMargin {
		between = "\n  "
	}
	line("  " + strings.Join([]string{full + " " + what, miss + " claimed but missing", more + " more than claimed"}, between))
	for l := plotHeight - 1; l >= 0; l-- {
		s := "     ┤"
		if (l+1)%4 == 0 {
			s = fmt.Sprintf(" %.1f ┤", float64(l+1)/plotHeight)
		}
		at := (float64(l) + 0.5) / plotHeight
		for i := range c.bars {
			s += cells(&c.bars[i], at, c.wide, full, miss, more)
		}
		line(s)
	}
	rule, labels := c.axis()
	line(" 0.0 └" + rule)
	line(labels)
	c.histogram(line)
	_, err := io.WriteString(w, b.String())
	return err
}

// cells returns the part of a bar in the line at height at.
func cells(bar *calib.Bin, at float64, wide int, full, miss, more string) string {
	fill := max(1, wide-1)
	gap := strings.Repeat(" ", wide-fill)
	lo, hi := math.Min(bar.Confidence, bar.Frequency), math.Max(bar.Confidence, bar.Frequency)
	switch {
	case bar.Count == 0 || at > hi:
		return strings.Repeat(" ", wide)
	case at <= lo:
		return strings.Repeat(full, fill) + gap
	case bar.Confidence > bar.Frequency:
		return strings.Repeat(miss, fill) + gap
	}
	return strings.Repeat(more, fill) + gap
}

// columns returns the total width of the bars.
func (c *chart) columns() int { return c.wide * len(c.bars) }

// axis returns the rule below the bars, with a tick at every fifth of the score, and the line of tick labels.
func (c *chart) axis() (rule, labels string) {
	r := []rune(strings.Repeat("─", c.columns()))
	l := []rune(strings.Repeat(" ", plotMargin+c.columns()+2))
	for t := 0; t <= 5; t++ {
		// An edge lies between two columns. Its tick is in the left one, the gap between bars.
		col := c.from + int(math.Round(float64(t*c.unit)/float64(5*c.group))) - 1
		if col = min(col, c.columns()-1); col >= 0 {
			r[col] = '┴'
		}
		for i, x := range fmt.Sprintf("%.1f", float64(t)/5) {
			l[plotMargin+col-1+i] = x
		}
	}
	return string(r), string(l)
}

// histogram draws the number of rows in each bar, on a linear scale. A bar with any rows is visible.
func (c *chart) histogram(line func(string)) {
	most := int64(0)
	for _, bar := range c.bars {
		most = max(most, bar.Count)
	}
	if most == 0 {
		return
	}
	levels := []rune(" ▁▂▃▄▅▆▇█")
	for l := histHeight - 1; l >= 0; l-- {
		s := "     ┤"
		if l == histHeight-1 {
			s = "rows ┤"
		}
		for _, bar := range c.bars {
			h := int(math.Round(float64(bar.Count) / float64(most) * histHeight * 8))
			if bar.Count > 0 && h == 0 {
				h = 1
			}
			x := levels[min(max(h-8*l, 0), 8)]
			fill := max(1, c.wide-1)
			s += strings.Repeat(string(x), fill) + strings.Repeat(" ", c.wide-fill)
		}
		line(s)
	}
	line("     └" + strings.Repeat("─", c.columns()))
	if c.group > 1 {
		line(fmt.Sprintf("      at most %s rows in a bar, which is %d bins; %v has each", Count(most), c.group, setting.JSON))
	} else {
		line(fmt.Sprintf("      at most %s rows in a bin", Count(most)))
	}
}
