package picture

import (
	"image/color"
	"math"
	"strconv"
	"strings"
	"sync"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/calib"
)

// The Okabe-Ito palette without its yellow, which is lost on white; tints of three of its colours; greys.
var (
	black     = rgb(0x000000)
	orange    = rgb(0xE69F00)
	sky       = rgb(0x56B4E9)
	green     = rgb(0x009E73)
	blue      = rgb(0x0072B2)
	vermilion = rgb(0xD55E00)
	purple    = rgb(0xCC79A7)

	paleBlue   = rgb(0xC7E1F2)
	paleOrange = rgb(0xFDEBC8)
	paleGreen  = rgb(0xC9EBE0)
	white      = rgb(0xFFFFFF)
	gridGrey   = rgb(0xE4E4E4)
	axisGrey   = rgb(0x404040)
	textGrey   = rgb(0x505050)
	barGrey    = rgb(0x9FB4C2)
	bandGrey   = color.NRGBA{A: 0x30} // drawn over bars, which show through; black, since not every canvas multiplies by alpha
)

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

// Sizes, in points.
const (
	titleSize = 13
	textSize  = 9
	tickSize  = 8.5
	keyRow    = 13.5 // height of a row in a key
	margin    = 10   // of a page
	axisRoom  = 46   // left of a panel, for tick labels and the name of the axis
	tickLen   = 3.5
	headSkip  = vg.Length(3) // below a heading

	lineHeight = 1.3 // times the font size
)

// handler measures and draws text. It parses the fonts when the first picture is drawn.
var handler = sync.OnceValue(func() text.Handler { return lines{text.Plain{Fonts: font.NewCache(liberation.Collection())}} })

// lines draws text on one line. It escapes unprintable characters, such as control characters in names, which are invalid in an SVG.
type lines struct{ text.Plain }

func (l lines) Lines(s string) []string { return []string{visible.Text(s)} }

func (l lines) Box(s string, f font.Font) (width, height, depth vg.Length) {
	return l.Plain.Box(visible.Text(s), f)
}

func (l lines) Draw(c vg.Canvas, s string, st text.Style, pt vg.Point) {
	l.Plain.Draw(c, visible.Text(s), st, pt)
}

// page is a canvas that is filled from the top.
type page struct {
	draw.Canvas
	top vg.Length // everything above is in use
}

func newPage(c draw.Canvas) *page {
	c.SetColor(white)
	c.Fill(c.Rectangle.Path())
	c.Min.X, c.Min.Y, c.Max.X, c.Max.Y = c.Min.X+margin, c.Min.Y+margin, c.Max.X-margin, c.Max.Y-margin
	return &page{Canvas: c, top: c.Max.Y}
}

func style(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Handler: handler()}
}

// write draws text so that its point (xa, ya) is at (x, y); -1 is the left or lower end of the text, 0 the right or upper one.
func (p *page) write(size vg.Length, c color.Color, x, y vg.Length, xa text.XAlignment, ya text.YAlignment, s string) {
	st := style(size, c)
	st.XAlign, st.YAlign = xa, ya
	p.FillText(st, vg.Point{X: x, Y: y}, s)
}

// heading writes the title and the lines below it.
func (p *page) heading(title, subtitle string) {
	p.titles(title, subtitle, func(size vg.Length, c color.Color, line string) {
		p.write(size, c, p.Min.X, p.top, text.XLeft, text.YTop, line)
		p.top -= size * lineHeight
	})
	p.top -= headSkip
}

// titles calls f with each line of a heading.
func (p *page) titles(title, subtitle string, f func(size vg.Length, c color.Color, line string)) {
	for _, h := range []struct {
		text string
		size vg.Length
		c    color.Color
	}{{title, titleSize, black}, {subtitle, textSize, textGrey}} {
		for _, l := range wrap(h.text, style(h.size, h.c), p.Max.X-p.Min.X) {
			f(h.size, h.c, l)
		}
	}
}

// headHeight returns the height of a heading and key at some width.
func headHeight(width vg.Length, title, subtitle string, k []entry) vg.Length {
	p := &page{Canvas: draw.Canvas{Rectangle: vg.Rectangle{Max: vg.Point{X: width - 2*margin}}}}
	h := headSkip + p.rows(k)*keyRow
	p.titles(title, subtitle, func(size vg.Length, _ color.Color, _ string) { h += size * lineHeight })
	return h
}

// single returns the size of a picture of one diagram, with the height of its heading and key.
func single(title, subtitle string, k []entry) (width, height vg.Length) {
	const usual = 110
	width = 6 * vg.Inch
	return width, 7*vg.Inch + max(0, headHeight(width, title, subtitle, k)-usual)
}

// wrap breaks text at newlines, and at spaces where a line is wider than width. It cuts words wider than that.
func wrap(s string, st text.Style, width vg.Length) []string {
	var lines []string
	for _, part := range strings.Split(s, "\n") {
		line := ""
		for _, word := range strings.Fields(part) {
			switch {
			case line == "":
				line = word
			case st.Width(line+" "+word) <= width:
				line += " " + word
			default:
				lines = append(lines, cut(line, st, width))
				line = word
			}
		}
		if line != "" {
			lines = append(lines, cut(line, st, width))
		}
	}
	return lines
}

// cut shortens text to a width, with dots at its end.
func cut(s string, st text.Style, width vg.Length) string {
	if st.Width(s) <= width {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && st.Width(string(r)+"...") > width {
		r = r[:len(r)-1]
	}
	return string(r) + "..."
}

// entry is one entry of a key: a sample of width keySample, drawn into a rectangle, and its text.
type entry struct {
	sample func(r vg.Rectangle)
	text   string
}

const keySample = 22

// key writes entries side by side, in as many rows as needed.
func (p *page) key(entries []entry) {
	p.each(entries, func(x vg.Length, row int, e entry, s string) {
		y := p.top - vg.Length(row)*keyRow
		e.sample(vg.Rectangle{Min: vg.Point{X: x, Y: y - 9}, Max: vg.Point{X: x + keySample, Y: y}})
		p.write(tickSize, black, x+keySample+4, y-4.5, text.XLeft, text.YCenter, s)
	})
	p.top -= p.rows(entries) * keyRow
}

// rows returns the number of rows of a key.
func (p *page) rows(entries []entry) vg.Length {
	n := 0
	p.each(entries, func(_ vg.Length, row int, _ entry, _ string) { n = row + 1 })
	return vg.Length(n)
}

// each calls f with the position of each entry of a key, and the text that fits there.
func (p *page) each(entries []entry, f func(x vg.Length, row int, e entry, s string)) {
	st := style(tickSize, black)
	x, row := p.Min.X, 0
	for _, e := range entries {
		s := cut(e.text, st, p.Max.X-p.Min.X-keySample-5)
		w := keySample + 4 + st.Width(s)
		if x > p.Min.X && x+w > p.Max.X {
			x, row = p.Min.X, row+1
		}
		f(x, row, e, s)
		x += w + 12
	}
}

// panel is a rectangle of the page, with the values at its edges.
type panel struct {
	*page
	r              vg.Rectangle
	x0, x1, y0, y1 float64
}

// panel takes a height of the page, with room for an axis on the left. Its scores range over those of the bins, with room beyond 0 and
// 1 for bins set apart there.
func (p *page) panel(height vg.Length, y0, y1 float64, sets ...[]calib.Bin) *panel {
	r := vg.Rectangle{Min: vg.Point{X: p.Min.X + axisRoom, Y: p.top - height}, Max: vg.Point{X: p.Max.X - 8, Y: p.top}}
	p.top -= height
	x0, x1 := 0.0, 1.0
	for _, bins := range sets {
		for i := range bins {
			switch b := &bins[i]; {
			case b.Lower < b.Upper:
			case b.Upper <= 0:
				x0 = -apart
			case b.Lower >= 1:
				x1 = 1 + apart
			}
		}
	}
	return &panel{p, r, x0, x1, y0, y1}
}

// apart is the width for a bin of 0 or of 1 alone.
const apart = 0.02

// x and y return the position of a value; of one beyond the range, the edge.
func (p *panel) x(v float64) vg.Length {
	return p.r.Min.X + vg.Length(unit((v-p.x0)/(p.x1-p.x0)))*(p.r.Max.X-p.r.Min.X)
}

func (p *panel) y(v float64) vg.Length {
	return p.r.Min.Y + vg.Length(unit((v-p.y0)/(p.y1-p.y0)))*(p.r.Max.Y-p.r.Min.Y)
}

func unit(v float64) float64 { return math.Min(math.Max(v, 0), 1) }

func (p *panel) at(x, y float64) vg.Point { return vg.Point{X: p.x(x), Y: p.y(y)} }

// inside reports whether a value is within the panel's range.
func (p *panel) inside(y float64) bool { return y >= p.y0 && y <= p.y1 }

// axes says what is written along the edges of a panel.
type axes struct {
	x, y         string // names; "" for none
	xs, ys       []float64
	xText, yText bool     // whether ticks have labels
	short        bool     // xs are 0, 0.5 and 1, with few digits
	xNames       []string // labels of the ticks, instead of their values
	yNames       []string
	size         vg.Length
}

// grid draws the lines behind the data.
func (p *panel) grid(a *axes) {
	thin := draw.LineStyle{Color: gridGrey, Width: 0.6}
	for _, v := range a.xs {
		p.StrokeLine2(thin, p.x(v), p.r.Min.Y, p.x(v), p.r.Max.Y)
	}
	for _, v := range a.ys {
		p.StrokeLine2(thin, p.r.Min.X, p.y(v), p.r.Max.X, p.y(v))
	}
}

// frame draws the axes in front of the data.
func (p *panel) frame(a *axes) {
	line := draw.LineStyle{Color: axisGrey, Width: 0.8}
	p.StrokeLines(line, []vg.Point{{X: p.r.Min.X, Y: p.r.Max.Y}, p.r.Min, {X: p.r.Max.X, Y: p.r.Min.Y}})
	widest := vg.Length(0)
	names := a.yNames
	if names == nil {
		names = labels(a.ys)
	}
	for i, v := range a.ys {
		p.StrokeLine2(line, p.r.Min.X-tickLen, p.y(v), p.r.Min.X, p.y(v))
		if a.yText {
			p.write(a.size, black, p.r.Min.X-tickLen-2, p.y(v), text.XRight, text.YCenter, names[i])
			widest = max(widest, style(a.size, black).Width(names[i]))
		}
	}
	below := p.r.Min.Y - tickLen - 2
	switch {
	case a.xNames != nil:
		names = a.xNames
	case a.short:
		names = []string{"0", "0.5", "1"}
	default:
		names = labels(a.xs)
	}
	for i, v := range a.xs {
		p.StrokeLine2(line, p.x(v), p.r.Min.Y-tickLen, p.x(v), p.r.Min.Y)
		if a.xText {
			p.write(a.size, black, p.x(v), below, text.XCenter, text.YTop, names[i])
		}
	}
	if a.x != "" {
		p.write(textSize, black, (p.r.Min.X+p.r.Max.X)/2, below-a.size*1.25, text.XCenter, text.YTop, a.x)
	}
	if a.y != "" {
		p.upright(a.y, p.r.Min.X-tickLen-widest-8, (p.r.Min.Y+p.r.Max.Y)/2)
	}
}

// upright writes text from bottom to top, with its lower side at x.
func (p *page) upright(s string, x, y vg.Length) {
	st := style(textSize, black)
	st.XAlign, st.YAlign, st.Rotation = text.XCenter, text.YBottom, math.Pi/2
	p.FillText(st, vg.Point{X: x, Y: y}, s)
}

// note writes a word in the middle of a panel.
func (p *panel) note(s string) {
	c := middle(p.r)
	w := style(textSize, black).Width(s)/2 + 4
	p.FillPolygon(white, rectangle(c.X-w, c.Y-7, c.X+w, c.Y+7))
	p.write(textSize, textGrey, c.X, c.Y, text.XCenter, text.YCenter, s)
}

// fifths are the ticks from 0 to 1.
var fifths = []float64{0, 0.2, 0.4, 0.6, 0.8, 1}

// ticks returns the multiples of a round step between lo and hi, about n of them.
func ticks(lo, hi float64, n int) []float64 {
	raw := (hi - lo) / float64(n)
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if step*m >= raw*0.999 {
			step *= m
			break
		}
	}
	var t []float64
	for i := int(math.Ceil(lo/step - 1e-9)); i <= int(math.Floor(hi/step+1e-9)); i++ {
		// Use the decimal that is meant: 3*0.1 is not 0.3, 3/10 is.
		if step < 1 {
			t = append(t, float64(i)/math.Round(1/step))
		} else {
			t = append(t, float64(i)*step)
		}
	}
	return t
}

// labels returns the values of ticks, all with the same number of decimals.
func labels(ticks []float64) []string {
	digits := 0
	for _, v := range ticks {
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if _, d, ok := strings.Cut(s, "."); ok {
			digits = max(digits, min(len(d), 4))
		}
	}
	out := make([]string, len(ticks))
	for i, v := range ticks {
		out[i] = strconv.FormatFloat(v, 'f', digits, 64)
	}
	return out
}

func rectangle(x0, y0, x1, y1 vg.Length) []vg.Point {
	return []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
}

// outline draws a closed line around a shape.
func (p *page) outline(l draw.LineStyle, pts []vg.Point) {
	p.SetLineStyle(l)
	var path vg.Path
	path.Move(pts[0])
	for _, q := range pts[1:] {
		path.Line(q)
	}
	path.Close()
	p.Stroke(path)
}

// hatch fills a rectangle with rising or falling lines.
func (p *page) hatch(r vg.Rectangle, c color.Color, rise bool) {
	const pitch = 4
	l := draw.LineStyle{Color: c, Width: 0.7}
	w, h := r.Max.X-r.Min.X, r.Max.Y-r.Min.Y
	// A line is x - y = k or x + y = k, measured from the corner of the rectangle. All rectangles share one raster.
	from := math.Floor(float64(r.Min.X-r.Max.Y)/pitch) * pitch
	if !rise {
		from = math.Floor(float64(r.Min.X+r.Min.Y)/pitch) * pitch
	}
	for i := 0; i <= int((w+h)/pitch)+1; i++ {
		k := vg.Length(from) + vg.Length(i)*pitch
		x0, x1 := k+r.Min.Y, k+r.Max.Y
		if !rise {
			x0, x1 = k-r.Max.Y, k-r.Min.Y
		}
		x0, x1 = max(x0, r.Min.X), min(x1, r.Max.X)
		if x0 >= x1 {
			continue
		}
		if rise {
			p.StrokeLine2(l, x0, x0-k, x1, x1-k)
		} else {
			p.StrokeLine2(l, x0, k-x0, x1, k-x1)
		}
	}
}
