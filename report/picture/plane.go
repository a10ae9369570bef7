package picture

import (
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/report/scene"
)

// Sizes, in points.
const (
	panelWidth = 360 // of a panel, with its axes
	sheetEdge  = 10  // around a panel that is a picture of its own
	leading    = 13.5
	tickLength = 4
)

// plane is the area of a panel where data are, with the values at its edges. Values beyond them are drawn at the edge.
type plane struct {
	*scene.Scene
	x, y, w, h     float64 // its upper left corner and its size
	x0, x1, y0, y1 float64
}

// px and py return the position of a value.
func (p *plane) px(v float64) float64 { return p.x + float64(unit((v-p.x0)/(p.x1-p.x0))*p.w) }

func (p *plane) py(v float64) float64 { return p.y + float64((1-unit((v-p.y0)/(p.y1-p.y0)))*p.h) }

func (p *plane) at(x, y float64) scene.Point { return scene.Point{X: p.px(x), Y: p.py(y)} }

func unit(v float64) float64 { return math.Min(math.Max(v, 0), 1) }

// rows draws horizontal grid lines, with labels to their left.
func (p *plane) rows(at []float64, names []string) {
	for i, v := range at {
		y := p.py(v)
		p.Add(hline(p.x, p.x+p.w, y, scene.Stroke(scene.Grid, 0.8)))
		if names != nil {
			p.rowNames(at[i:i+1], names[i:])
		}
	}
}

// rowNames writes labels to the left of grid lines.
func (p *plane) rowNames(at []float64, names []string) {
	for i, v := range at {
		p.Add(label(p.x-5, p.py(v)+3.5, scene.End, names[i]))
	}
}

// columnNames writes labels below grid lines.
func (p *plane) columnNames(at []float64, names []string) {
	for i, v := range at {
		p.Add(label(p.px(v), p.y+p.h+13, scene.Middle, names[i]))
	}
}

// columns draws vertical grid lines, with labels below.
func (p *plane) columns(at []float64, names []string) {
	for i, v := range at {
		p.Add(vline(p.px(v), p.y, p.y+p.h, scene.Stroke(scene.Grid, 0.8)))
		if names != nil {
			p.columnNames(at[i:i+1], names[i:])
		}
	}
}

// base draws the lower edge.
func (p *plane) base() {
	p.Add(hline(p.x, p.x+p.w, p.y+p.h, scene.Stroke(scene.Axis, 1)))
}

// up says above the plane what its vertical axis has, and right below it what its horizontal one has.
func (p *plane) up(s string) { p.Add(label(0, p.y-11, scene.Start, "↑ "+s)) }

func (p *plane) right(s string, below float64) {
	p.Add(label(p.x+float64(p.w/2), p.y+p.h+below, scene.Middle, scene.Cut(s, scene.Normal, false, p.Width)))
}

// diagonal is the line of calibration.
func (p *plane) diagonal() {
	lo, hi := math.Max(p.x0, p.y0), math.Min(p.x1, p.y1)
	p.Add(scene.Path{Points: []scene.Point{p.at(lo, lo), p.at(hi, hi)}, Paint: honestLine})
}

var honestLine = scene.Stroke(scene.Axis, 1.2).Dashed(scene.Dashes)

// note writes words in the middle of a plane that has no data.
func (p *plane) note(s string) {
	p.Add(label(p.x+float64(p.w/2), p.y+float64(p.h/2), scene.Middle, s))
}

// whisker returns an interval from low to high at a horizontal position. Where it goes beyond the plane, an arrow says so.
func (p *plane) whisker(x, low, high float64, paint scene.Paint) []scene.Mark {
	l := []scene.Mark{vline(x, p.py(high), p.py(low), paint)}
	if high > p.y1 {
		l = append(l, scene.Path{Points: []scene.Point{{X: x - 2.5, Y: p.y + 3}, {X: x, Y: p.y}, {X: x + 2.5, Y: p.y + 3}}, Paint: paint})
	}
	if low < p.y0 {
		e := p.y + p.h
		l = append(l, scene.Path{Points: []scene.Point{{X: x - 2.5, Y: e - 3}, {X: x, Y: e}, {X: x + 2.5, Y: e - 3}}, Paint: paint})
	}
	return l
}

func hline(x0, x1, y float64, p scene.Paint) scene.Mark {
	return scene.Line{X1: x0, Y1: y, X2: x1, Y2: y, Paint: p}
}

func vline(x, y0, y1 float64, p scene.Paint) scene.Mark {
	return scene.Line{X1: x, Y1: y0, X2: x, Y2: y1, Paint: p}
}

// label is a text beside the data.
func label(x, y float64, a scene.Anchor, s string) scene.Text {
	return scene.Text{X: x, Y: y, S: s, Anchor: a, Role: scene.Muted}
}

// box returns a rectangle between two values of y, in either order.
func box(x0, x1, ya, yb float64, p scene.Paint) scene.Rect {
	return scene.Rect{X: x0, Y: math.Min(ya, yb), W: x1 - x0, H: math.Abs(ya - yb), Paint: p}
}

// bandPaint is the paint of what chance does.
var bandPaint = scene.Paint{Fill: scene.Band, Line: scene.Axis, Width: 0.4}

// sample is an entry of a key: a mark of at most 18 by 9 points around (0, 0), and what it says.
type sample struct {
	marks []scene.Mark
	text  string
}

func dotSample(paint scene.Paint, text string) sample {
	return sample{[]scene.Mark{scene.Circle{R: 3.2, Paint: paint}}, text}
}

func bandSample(text string) sample {
	return sample{[]scene.Mark{scene.Rect{X: -8, Y: -4, W: 16, H: 8, Paint: bandPaint}}, text}
}

func lineSample(paint scene.Paint, text string) sample {
	return sample{[]scene.Mark{hline(-9, 9, 0, paint)}, text}
}

// sheet returns a panel as a picture of its own: a title above it, a key and notes below.
func sheet(p *scene.Scene, title, notes string, key []sample) *scene.Scene {
	s := &scene.Scene{Width: p.Width + 2*sheetEdge, Title: p.Title, Desc: p.Desc}
	if title != "" {
		s.Title = title
		if p.Title != "" && p.Title != title {
			s.Title += ": " + strings.ToLower(p.Title[:1]) + p.Title[1:]
		}
	}
	y := float64(sheetEdge)
	for _, l := range scene.Wrap(title, scene.Strong, true, p.Width) {
		s.Add(scene.Text{X: sheetEdge, Y: y + 10, S: l, Size: scene.Strong, Bold: true})
		y += 15
	}
	if title != "" {
		y += 5
	}
	s.Add(scene.Group{X: sheetEdge, Y: y, Marks: p.Marks})
	y += p.Height + 5
	y = legend(s, y, key)
	// The first line of the notes is the finding.
	first, others, _ := strings.Cut(signs(notes), "\n")
	for i, part := range []string{first, others} {
		for _, l := range scene.Wrap(part, scene.Normal, false, p.Width) {
			y += leading
			t := label(sheetEdge, y-3, scene.Start, l)
			if i == 0 {
				t.Role = scene.Ink
			}
			s.Add(t)
		}
	}
	s.Height = y + sheetEdge - 2
	return s
}

// legend adds a key in as many rows as it needs, and returns where it ends.
func legend(s *scene.Scene, y float64, key []sample) float64 {
	const half, gap = 9, 12
	x, right := float64(sheetEdge), s.Width-sheetEdge
	for i, k := range key {
		text := scene.Cut(k.text, scene.Normal, false, right-sheetEdge-2*half-4)
		w := 2*half + 4 + scene.Width(text, scene.Normal, false)
		if i == 0 || x+w > right {
			x = sheetEdge
			y += leading
		}
		s.Add(scene.Group{X: x + half, Y: y - 6.5, Marks: k.marks}, label(x+2*half+4, y-3, scene.Start, text))
		x += w + gap
	}
	if len(key) > 0 {
		y += 2
	}
	return y
}

// fifths are the ticks from 0 to 1.
var fifths = []float64{0, 0.2, 0.4, 0.6, 0.8, 1}

var fifthNames = []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}

// ticks returns the multiples of a round step between lo and hi, about n of them.
func ticks(lo, hi float64, n int) []float64 {
	raw := (hi - lo) / float64(n)
	if !(raw > 1e-300 && raw < 1e300) {
		return nil
	}
	e := exponent(raw)
	step := math.Pow10(e)
	for _, m := range []float64{1, 2, 5, 10} {
		if step*m >= raw*0.999 {
			step *= m
			break
		}
	}
	var t []float64
	for i := math.Ceil(lo/step-1e-9) + 0; i <= math.Floor(hi/step+1e-9); i++ { // + 0 makes 0 of -0
		// Use the decimal that is meant: 3*0.1 is not 0.3, 3/10 is.
		if step < 1 {
			t = append(t, i/math.Round(1/step))
		} else {
			t = append(t, i*step)
		}
	}
	return t
}

// exponent returns the power of ten of a positive number's first digit.
func exponent(v float64) int {
	_, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	n, err := strconv.Atoi(e)
	if err != nil {
		panic("picture: a number without exponent")
	}
	return n
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
		out[i] = minus(strconv.FormatFloat(v, 'f', digits, 64))
	}
	return out
}

// signed returns the values of ticks with a sign, and 0 without.
func signed(ticks []float64) []string {
	out := labels(ticks)
	for i, v := range ticks {
		switch {
		case v > 0:
			out[i] = "+" + out[i]
		case v == 0:
			out[i] = "0"
		}
	}
	return out
}

// percents returns shares as percentages, all with the same number of decimals.
func percents(shares []float64) []string {
	l := make([]float64, len(shares))
	for i, v := range shares {
		l[i] = math.Round(v*1e6) / 1e4
	}
	out := labels(l)
	for i := range out {
		out[i] += "%"
	}
	return out
}

// signs writes minus and multiplication signs where a text has hyphens and letters for them.
func signs(s string) string {
	s = strings.ReplaceAll(s, " rows x ", " rows × ")
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '-' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' && (i == 0 || strings.IndexByte(" [(", s[i-1]) >= 0) {
			b.WriteString("−")
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// minus writes a minus sign for each hyphen of a number.
func minus(s string) string { return strings.ReplaceAll(s, "-", "−") }

// points returns a difference of shares in percentage points, with its sign.
func points(v float64, digits int) string {
	s := strconv.FormatFloat(100*v, 'f', digits, 64)
	if v > 0 && s[0] != '+' {
		s = "+" + s
	}
	if strings.Trim(s, "+-0.") == "" {
		return strings.TrimLeft(s, "+-")
	}
	return minus(s)
}

// share returns a share as a percentage. One that is not whole is not rounded to 100%, nor one above 0 to 0%.
func share(v float64, digits int) string {
	s := strconv.FormatFloat(100*v, 'f', digits, 64)
	for d := digits; d < digits+4 && (v < 1 && parsed(s) >= 100 || v > 0 && parsed(s) == 0); {
		d++
		s = strconv.FormatFloat(100*v, 'f', d, 64)
	}
	return s + "%"
}

func parsed(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("picture: a number does not read as one")
	}
	return v
}

// short returns a count in at most four characters or so.
func short(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 9950:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + "k"
	case n < 999_500:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 0, 64) + "k"
	case n < 999_500_000:
		return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64), ".0") + "M"
	}
	return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1e9, 'f', 1, 64), ".0") + "G"
}

// counted returns a number of things: "1 row", "1,000 rows", "2 classes".
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return thousands(n) + " " + noun + "s"
}
