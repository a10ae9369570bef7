package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/candor-go/candor/metrics/calib"
)

// Class is one class in Classes.
type Class struct {
	Name string
	Bins []calib.Bin // see calib.ClassBins.Class
}

// ece returns the mean gap of the class, which orders and labels panels; 0 without rows.
func (c *Class) ece() float64 {
	gaps, total := 0.0, 0.0
	for i := range c.Bins {
		if b := &c.Bins[i]; drawn(b) {
			gaps += b.Weight * math.Abs(b.Frequency-b.Confidence)
			total += b.Weight
		}
	}
	if total == 0 {
		return 0
	}
	return gaps / total
}

// events returns the number of rows of the class, or their weight.
func (c *Class) events() float64 {
	n := 0.0
	for i := range c.Bins {
		if b := &c.Bins[i]; drawn(b) {
			n += b.Weight * b.Frequency
		}
	}
	return n
}

// Order selects the classes to show if there are too many.
type Order uint8

const (
	LargestError Order = iota // with the largest calibration error
	MostRows                  // with the most rows
)

// Classes draws the reliability of each class in a small panel, all with the same axes: the curve with its intervals and the
// consistency band. Panels are in the order of the classes. If there are more than Most classes, Order selects which are shown, and
// the subtitle says so. The zero value draws a picture without data.
type Classes struct {
	Title, Subtitle string
	Classes         []Class
	Most            int // maximum number of panels; 0 means 25
	Order           Order
	Y               Y       // Accuracy is the same as Frequency here
	Level           float64 // of the intervals, for the key; 0 means 0.95
}

const mostClasses = 25

// shown returns the classes to draw, in order, and a note on the others.
func (d *Classes) shown() ([]Class, string) {
	most := d.Most
	if most <= 0 {
		most = mostClasses
	}
	n := len(d.Classes)
	if n <= most {
		return d.Classes, ""
	}
	value, what := (*Class).ece, "largest calibration error"
	if d.Order == MostRows {
		value, what = (*Class).events, "most rows"
	}
	key, at := make([]float64, n), make([]int, n)
	for i := range at {
		key[i], at[i] = value(&d.Classes[i]), i
	}
	slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(key[j], key[i]) })
	at = at[:most]
	slices.Sort(at)
	out := make([]Class, most)
	for i, c := range at {
		out[i] = d.Classes[c]
	}
	return out, fmt.Sprintf("The %d of %s classes with the %s; %s are left out.",
		most, thousands(int64(n)), what, thousands(int64(n-most)))
}

// columns returns the number of panels side by side.
func columns(n int) int { return int(math.Ceil(math.Sqrt(float64(max(n, 1))))) }

// Sizes of small panels, in points.
const (
	smallSide  = 108
	smallTitle = 13
	smallGap   = 9
)

func (d *Classes) size() (vg.Length, vg.Length) {
	c, left := d.shown()
	cols := columns(len(c))
	rows := (max(len(c), 1) + cols - 1) / cols
	width := vg.Length(cols)*(smallSide+smallGap) + axisRoom + 2*margin
	width = max(width, 4*vg.Inch)
	head := headHeight(width, d.Title, d.Subtitle+"\n"+left, d.legend(nil))
	return width, vg.Length(rows)*(smallSide+smallTitle+4) + axisHeight + 2*margin + head
}

// legend returns the key of a panel.
func (d *Classes) legend(p *page) []entry {
	return []entry{p.intervalEntry(d.Level), p.bandEntry(d.Level), p.hollowEntry(classLook)}
}

func (d *Classes) draw(p *page) {
	classes, left := d.shown()
	p.heading(d.Title, d.Subtitle+"\n"+left)
	p.key(d.legend(p))
	up := "relative frequency of the class"
	y0, y1, ys := 0.0, 1.0, fifths
	var sets [][]calib.Bin
	for i := range classes {
		b, _ := bars(classes[i].Bins)
		sets = append(sets, b)
	}
	if d.Y == Gap {
		up = "frequency - probability"
		y0, y1 = gapRange(true, true, sets...)
		ys = ticks(y0, y1, 4)
	}
	cols := columns(len(classes))
	rows := (max(len(classes), 1) + cols - 1) / cols
	side := (p.top-p.Min.Y-axisHeight)/vg.Length(rows) - smallTitle - 4
	width := (p.Max.X-p.Min.X-axisRoom)/vg.Length(cols) - smallGap
	first := vg.Point{X: p.Min.X + axisRoom, Y: p.top}
	for i := range max(len(classes), 1) {
		row, col := i/cols, i%cols
		x := first.X + vg.Length(col)*(width+smallGap)
		y := first.Y - vg.Length(row)*(side+smallTitle+4) - smallTitle
		s := &panel{p, vg.Rectangle{Min: vg.Point{X: x, Y: y - side}, Max: vg.Point{X: x + width, Y: y}}, 0, 1, y0, y1}
		// A panel with no panel below has tick labels at its lower edge.
		a := &axes{xs: []float64{0, 0.5, 1}, ys: ys, short: true, xText: i+cols >= len(classes), yText: col == 0, size: 7.5}
		s.grid(a)
		if len(classes) == 0 {
			s.note("no classes")
			s.frame(a)
			break
		}
		d.panel(s, &classes[i], sets[i])
		s.frame(a)
	}
	bottom := p.Min.Y + axisHeight
	p.write(textSize, black, (first.X+p.Max.X)/2, p.Min.Y, text.XCenter, text.YBottom, "probability of the class")
	p.upright(up, p.Min.X+textSize+2, (first.Y+bottom)/2)
}

// small formats an error with three decimals, or with two significant digits below 0.01: with many classes, each error is small.
func small(v float64) string {
	if v > 0 && v < 0.01 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// classLook is the look of every class.
var classLook = look{draw.LineStyle{Color: blue, Width: 1}, markers[0]}

// panel draws one class.
func (d *Classes) panel(p *panel, c *Class, bins []calib.Bin) {
	const size = 8
	st := style(size, black)
	value := "ECE " + small(c.ece())
	name := cut(c.Name, st, p.r.Max.X-p.r.Min.X-st.Width(value)-6)
	p.write(size, black, p.r.Min.X, p.r.Max.Y+3, text.XLeft, text.YBottom, name)
	p.write(size, textGrey, p.r.Max.X, p.r.Max.Y+3, text.XRight, text.YBottom, value)
	p.band(bins, d.Y)
	if d.Y == Gap {
		p.StrokeLine2(draw.LineStyle{Color: axisGrey, Width: 0.8}, p.r.Min.X, p.y(0), p.r.Max.X, p.y(0))
	} else {
		p.StrokeLines(draw.LineStyle{Color: axisGrey, Width: 0.7, Dashes: []vg.Length{3, 2.5}}, []vg.Point{p.at(0, 0), p.at(1, 1)})
	}
	if !anyDrawn(bins) {
		p.note("no rows")
	}
	p.intervals(classLook, bins, d.Y, false)
	p.curve(classLook, bins, d.Y, false)
}
