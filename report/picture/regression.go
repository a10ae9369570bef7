package picture

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/candor-go/candor/metrics"
)

// Colours of the curves of regression forecasts.
var (
	forecastLine = draw.LineStyle{Color: blue, Width: 1.7}
	forecastDot  = draw.GlyphStyle{Color: blue, Radius: 2.4, Shape: draw.CircleGlyph{}}
)

// squareSide is the side of a square panel.
const squareSide = 6*vg.Inch - 2*margin - axisRoom - 8

// keySkip is the distance between a key and the panel below it.
const keySkip = 6

// square returns the size of a picture of one square panel, with extra height below.
func square(title, subtitle string, k []entry, extra vg.Length) (width, height vg.Length) {
	width = 6 * vg.Inch
	return width, 2*margin + headHeight(width, title, subtitle, k) + keySkip + squareSide + axisHeight + extra
}

// said returns a subtitle with lines below it, without empty ones.
func said(subtitle string, more ...string) string {
	lines := slices.DeleteFunc(append([]string{subtitle}, more...), func(s string) bool { return s == "" })
	return strings.Join(lines, "\n")
}

// rowsSaid says how many rows there are; "" if 0.
func rowsSaid(n int64) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "1 row"
	}
	return thousands(n) + " rows"
}

// joined returns the parts that are not empty.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// finite reports whether all values are finite.
func finite(v ...float64) bool {
	for _, x := range v {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// same panics unless each column has the same length as the first. Optional columns may be nil.
func same(n int, columns ...[]float64) {
	for _, c := range columns {
		if c != nil && len(c) != n {
			panic("picture: the columns of a picture differ in length")
		}
	}
}

// ends returns the interval of row i; none if columns are nil.
func ends(low, high []float64, i int) metrics.Interval {
	if low == nil || high == nil {
		return metrics.NoInterval()
	}
	return metrics.Interval{Low: low[i], High: high[i]}
}

// anyKnown reports whether there are intervals.
func anyKnown(low, high []float64) bool {
	for i := range low {
		if known(ends(low, high, i)) {
			return true
		}
	}
	return false
}

// brief formats ticks in the usual way: with commas, or with a power of ten if they are far from 1.
func brief(ticks []float64) []string {
	most, least := 0.0, math.Inf(1)
	for _, v := range ticks {
		if v != 0 {
			most, least = math.Max(most, math.Abs(v)), math.Min(least, math.Abs(v))
		}
	}
	out := make([]string, len(ticks))
	switch {
	case most < 1e4 && least >= 1e-3 || most == 0:
		return labels(ticks)
	case most < 1e6 && !slices.ContainsFunc(ticks, func(v float64) bool { return v < 0 || v != math.Trunc(v) }):
		for i, v := range ticks {
			out[i] = thousands(int64(v))
		}
		return out
	}
	for i, v := range ticks {
		out[i] = power(v)
	}
	return out
}

// power formats a number like 2.5e-7, or 0.
func power(v float64) string {
	if v == 0 {
		return "0"
	}
	m, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
	if strings.Contains(m, ".") {
		m = strings.TrimRight(strings.TrimRight(m, "0"), ".")
	}
	n, err := strconv.Atoi(e)
	if err != nil || n == 0 {
		return m
	}
	return m + "e" + strconv.Itoa(n)
}

// upTo returns the upper end of an axis from 0, with some room above a value; 1 if there is no value.
func upTo(most float64) float64 {
	if !(most > 1e-290 && most < 1e290) {
		return 1
	}
	return most * 1.08
}

// interval draws a whisker in black, if there is an interval.
func (p *panel) interval(x vg.Length, i metrics.Interval) {
	if known(i) {
		p.whisker(x, i, 0, 3, draw.LineStyle{Color: black, Width: 0.9})
	}
}

// strip fills the area between two lines.
func (p *panel) strip(x, low, high []float64) {
	var lower, upper []vg.Point
	flush := func() {
		slices.Reverse(upper)
		if len(lower) > 1 {
			p.FillPolygon(bandGrey, append(lower, upper...))
		}
		lower, upper = nil, nil
	}
	for i, v := range x {
		if !finite(v, low[i], high[i]) {
			flush()
			continue
		}
		lower, upper = append(lower, p.at(v, low[i])), append(upper, p.at(v, high[i]))
	}
	flush()
}

// lineEntry is the entry in a key for a curve, with a point on it or without.
func (p *page) lineEntry(dot bool, name string) entry {
	return entry{func(r vg.Rectangle) {
		c := middle(r)
		p.StrokeLine2(forecastLine, r.Min.X, c.Y, r.Max.X, c.Y)
		if dot {
			p.DrawGlyphNoClip(forecastDot, c)
		}
	}, name}
}

// diagonalEntry is the entry in a key for the dashed line.
func (p *page) diagonalEntry(name string) entry {
	return entry{func(r vg.Rectangle) {
		c := middle(r)
		p.StrokeLine2(calibratedLine, r.Min.X, c.Y, r.Max.X, c.Y)
	}, name}
}

// calibratedLine is the line of a calibrated forecast.
var calibratedLine = draw.LineStyle{Color: axisGrey, Width: 1, Dashes: []vg.Length{4, 3}}

// pValue formats a p-value.
func pValue(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < 0.0001:
		return "p < 0.0001"
	case p < 0.01:
		return fmt.Sprintf("p = %.4f", p)
	}
	return fmt.Sprintf("p = %.2f", p)
}
