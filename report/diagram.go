package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/jedib0t/go-pretty/v6/text"
)

const (
	plotWidth  = 90 // maximum number of columns of the diagram
	plotLeast  = 20
	plotHeight = 10 // lines: 0.1 each, in eighths
	plotMargin = 6  // columns to the left of it
	fewRows    = 30 // bars of fewer rows are dim
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
	p.Confidence, p.Frequency, p.Interval = conf/p.Weight, freq/p.Weight, metrics.NoInterval()
	return p
}

// Colours of bars: two that people with any colour vision tell apart, beside that of bars that are not off. The sign of the gap says the same.
const (
	inkBar   = "\x1b[34m" // blue
	inkOver  = "\x1b[33m" // yellow: too much is claimed
	inkUnder = "\x1b[36m" // cyan: too little is
	inkDim   = "\x1b[2m"
	inkOff   = "\x1b[0m"
)

// Diagram draws the reliability diagram in characters. Each bin has a bar as high as the event's frequency, with a line at the mean score.
// Below are the gap between them, in points, and the numbers of rows. Bars of fewer than 30 rows are dim. It is at most 97 columns wide,
// and narrower if width (0 means DefaultWidth) says so, but at least 27. color adds ANSI colours. No line ends in a space.
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
	paint := func(s, ink string) string {
		if !color || strings.TrimSpace(s) == "" {
			return s
		}
		return ink + s + inkOff
	}
	var b strings.Builder
	line := func(s string) { b.WriteString(strings.TrimRight(s, " ") + "\n") }
	line("Reliability by " + score)
	legend := []string{paint("█", inkBar) + " " + what, "─ mean score", paint("░", inkDim) + " under " + fmt.Sprint(fewRows) + " rows"}
	if color && c.group == 1 {
		legend = append(legend, paint("█", inkOver)+" claims too much", paint("█", inkUnder)+" too little")
	}
	used := 0
	for i, l := range legend {
		n := text.StringWidthWithoutEscSequences(l) + 3 // with what parts it from the one before
		if i > 0 && used+n-1 > width {
			b.WriteString("\n")
			used = 0
		}
		if used == 0 {
			b.WriteString("  " + l)
		} else {
			b.WriteString("   " + l)
		}
		used += n
	}
	b.WriteString("\n")
	for l := plotHeight - 1; l >= 0; l-- {
		s := "     ┤"
		if (l+1)%2 == 0 {
			s = fmt.Sprintf(" %.1f ┤", float64(l+1)/plotHeight)
		}
		for i := range c.bars {
			bar := &c.bars[i]
			fill := max(1, c.wide-1)
			s += paint(strings.Repeat(cell(bar, l), fill), ink(bar)) + strings.Repeat(" ", c.wide-fill)
		}
		line(s)
	}
	rule, labels := c.axis()
	line(" 0.0 └" + rule)
	line(labels)
	c.counts(line, paint, score, what)
	_, err := io.WriteString(w, b.String())
	return err
}

// ink returns the colour of a bar.
func ink(bar *calib.Bin) string {
	s := inkBar
	switch i := bar.Interval; {
	case bar.Confidence > i.High:
		s = inkOver
	case bar.Confidence < i.Low:
		s = inkUnder
	}
	if bar.Count < fewRows {
		s += inkDim
	}
	return s
}

var eighths = []rune(" ▁▂▃▄▅▆▇█")

// cell returns the character of a bar in a line, counted from 0 at the bottom.
func cell(bar *calib.Bin, l int) string {
	if bar.Count == 0 {
		return " "
	}
	h := int(math.Round(bar.Frequency * plotHeight * 8))
	if h == 0 && bar.Frequency > 0 {
		h = 1
	}
	part := min(max(h-8*l, 0), 8)
	at := float64(bar.Confidence * plotHeight)
	if lc := min(int(at), plotHeight-1); lc == l && (part == 0 || part == 8) {
		switch {
		case part == 8 || bar.Count < fewRows && part > 0:
			return "─"
		case at-float64(lc) < 1./3:
			return "▁"
		case at-float64(lc) > 2./3:
			return "▔"
		}
		return "─"
	}
	if bar.Count < fewRows && part > 0 {
		if part < 4 {
			return string(eighths[part])
		}
		return "░"
	}
	return string(eighths[part])
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

// counts writes gaps and numbers of rows below the bars, or a line of bars of rows where these have no room.
func (c *chart) counts(line func(string), paint func(s, ink string) string, score, what string) {
	most := int64(0)
	for _, bar := range c.bars {
		most = max(most, bar.Count)
	}
	if most == 0 {
		return
	}
	if c.wide < 4 {
		s := "rows ┤"
		for _, bar := range c.bars {
			h := int(math.Round(float64(bar.Count) / float64(most) * 8))
			if bar.Count > 0 && h == 0 {
				h = 1
			}
			fill := max(1, c.wide-1)
			s += strings.Repeat(string(eighths[h]), fill) + strings.Repeat(" ", c.wide-fill)
		}
		line(s)
		if c.group > 1 {
			line(fmt.Sprintf("      at most %s in a bar, which is %d bins; %v has each", countOf(most, "row"), c.group, setting.JSON))
		} else {
			line(fmt.Sprintf("      at most %s in a bin", countOf(most, "row")))
		}
		return
	}
	gaps, rows := " gap  ", "rows  "
	texts, touch := make([]string, len(c.bars)), 0
	for i, bar := range c.bars {
		if texts[i] = compact(bar.Count, c.wide); len(texts[i]) == c.wide {
			if touch++; touch == 2 { // neighbours
				break
			}
		} else {
			touch = 0
		}
	}
	for i := range c.bars {
		bar := &c.bars[i]
		if touch == 2 {
			texts[i] = compact(bar.Count, c.wide-1)
		}
		if bar.Count == 0 {
			texts[i] = ""
		}
		fill := c.wide - 1
		rows += fmt.Sprintf("%*s", fill, texts[i])
		if len(texts[i]) <= fill {
			rows += " "
		}
		gap := ""
		if bar.Count > 0 {
			decimals := 0
			if c.wide > 5 {
				decimals = 1
			}
			gap = strconv.FormatFloat(100*(bar.Confidence-bar.Frequency), 'f', decimals, 64)
			if strings.Trim(gap, "-0.") == "" {
				gap = strings.TrimPrefix(gap, "-")
			} else if gap[0] != '-' {
				gap = "+" + gap
			}
		}
		in := ink(bar)
		if !strings.HasPrefix(in, inkOver) && !strings.HasPrefix(in, inkUnder) {
			in = inkDim
		}
		gaps += strings.Repeat(" ", max(0, fill-len(gap))) + paint(gap, in) + " "
	}
	line(gaps)
	line(rows)
	s := "      gap: " + score + " minus " + what + ", in points"
	if c.group > 1 {
		s += fmt.Sprintf("; a bar is %d bins, %v has each", c.group, setting.JSON)
	}
	line(s)
}

// compact formats a number of rows in at most so many columns, at least 3.
func compact(n int64, columns int) string {
	if s := Count(n); len(s) <= columns {
		return s
	}
	if s := strconv.FormatInt(n, 10); len(s) <= columns {
		return s
	}
	v, unit := float64(n), 0
	for v >= 999.5 && unit < 6 {
		v, unit = v/1000, unit+1
	}
	name := " kMGTPE"[unit : unit+1]
	if s := strconv.FormatFloat(v, 'f', 1, 64) + name; len(s) <= columns && v < 9.95 {
		return s
	}
	if s := strconv.FormatFloat(v, 'f', 0, 64) + name; len(s) <= columns {
		return s
	}
	// Three digits: a tenth of the next unit.
	return strings.TrimPrefix(strconv.FormatFloat(max(0.1, v/1000), 'f', 1, 64), "0") + " kMGTPE"[unit+1:unit+2]
}
