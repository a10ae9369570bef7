package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/report/scene"
)

// Class is one class in Classes.
type Class struct {
	Name string
	Bins []calib.Bin // see calib.ClassBins.Class
}

// Classes draws the reliability of classes in small panels, all with the same axes: those first for which the evidence of a gap is strongest.
//
// A class is shown if it occurs in 30 rows or more and its probabilities sum to 10 or more. Neighbouring bins are joined until they have 20
// rows, and until there are 8 at most: more do not fit. The evidence of a point is its gap in standard errors of a calibrated one; it is coloured where that would not happen by chance among
// all points of all classes. Lines are intervals of one point each. If more than Most classes can be shown, the notes say how many are left
// out. The zero value draws a picture without data.
type Classes struct {
	Title, Subtitle string
	Classes         []Class
	Most            int // maximum number of panels; 0 means 12
	Y               Y
	Level           float64 // of intervals and bands; 0 means 0.95
}

// What a class and a point need.
const (
	classRows     = 30
	classExpected = 10
	pointRows     = 20
	mostClasses   = 12
	mostPoints    = 8
)

// classPanel is a class with its points.
type classPanel struct {
	*Class
	points   []calib.Bin
	z        []float64 // the gaps in standard errors
	evidence float64
	rows     float64 // that are of the class
}

func (d *Classes) level() float64 {
	if d.Level == 0 {
		return metrics.DefaultLevel
	}
	return d.Level
}

// pooled joins neighbouring bins until they have enough rows. Joined bins get an interval and a band.
func (d *Classes) pooled(bins []calib.Bin) (l []calib.Bin) {
	var open []calib.Bin
	rows := int64(0)
	flush := func() {
		l = append(l, d.pool(open))
		open, rows = nil, 0
	}
	for i := range bins {
		if !drawn(&bins[i]) {
			continue
		}
		open, rows = append(open, bins[i]), rows+bins[i].Count
		if rows >= pointRows {
			flush()
		}
	}
	if rows > 0 && len(l) > 0 { // the rest joins the last point
		open = append([]calib.Bin{l[len(l)-1]}, open...)
		l = l[:len(l)-1]
		flush()
	} else if rows > 0 {
		flush()
	}
	for len(l) > mostPoints { // the two neighbours with the fewest rows
		at := 0
		for i := 1; i+1 < len(l); i++ {
			if l[i].Count+l[i+1].Count < l[at].Count+l[at+1].Count {
				at = i
			}
		}
		l[at] = d.pool([]calib.Bin{l[at], l[at+1]})
		l = slices.Delete(l, at+1, at+2)
	}
	return l
}

// pool joins bins with rows.
func (d *Classes) pool(bins []calib.Bin) calib.Bin {
	if len(bins) == 1 {
		return bins[0]
	}
	p := pool(bins)
	// The variance of the sum is that of the bins.
	v, known := 0.0, true
	for i := range bins {
		se := float64(d.se(&bins[i]) * bins[i].Weight)
		known = known && finite(se)
		v += float64(se * se)
	}
	if known && p.Weight > 0 {
		b := metrics.Normal(p.Confidence, math.Sqrt(v)/p.Weight, d.level())
		p.Band = metrics.Interval{Low: math.Max(0, b.Low), High: math.Min(1, b.High)}
	}
	p.Interval = metrics.Wilson(p.Frequency, float64(p.Count), d.level())
	return p
}

// se returns the standard error of a calibrated bin's frequency, from its band; NaN without one.
func (d *Classes) se(b *calib.Bin) float64 {
	if !known(b.Band) {
		return math.NaN()
	}
	// Bands end at 0 and 1, so the wider side counts.
	half := math.Max(b.Band.High-b.Confidence, b.Confidence-b.Band.Low)
	return half / kernel.NormQuantile64((1+d.level())/2)
}

// shown returns the panels to draw, in order, the gap in standard errors from which a point is coloured, and a note on the other classes.
func (d *Classes) shown() (l []classPanel, z float64, note string) {
	points := 0
	for i := range d.Classes {
		c := classPanel{Class: &d.Classes[i]}
		expected := 0.0
		for j := range c.Bins {
			if b := &c.Bins[j]; drawn(b) {
				c.rows += float64(b.Weight * b.Frequency)
				expected += float64(b.Weight * b.Confidence)
			}
		}
		if math.Round(c.rows) < classRows || expected < classExpected {
			continue
		}
		c.points = d.pooled(c.Bins)
		c.z = make([]float64, len(c.points))
		for j := range c.points {
			b := &c.points[j]
			if s := d.se(b); s > 0 {
				c.z[j] = (b.Frequency - b.Confidence) / s
				c.evidence = math.Max(c.evidence, math.Abs(c.z[j]))
			}
		}
		points += len(c.points)
		l = append(l, c)
	}
	slices.SortStableFunc(l, func(a, b classPanel) int { return cmp.Compare(b.evidence, a.evidence) })
	z = kernel.NormQuantile64(1 - (1-d.level())/2/float64(max(points, 1)))
	most := d.Most
	if most <= 0 {
		most = mostClasses
	}
	able := len(l)
	if able > most {
		l = l[:most]
		note = fmt.Sprintf("The %d classes with the strongest evidence of a gap; %s with less.", most, counted(int64(able-most), "class"))
	}
	if few := len(d.Classes) - able; few > 0 && able > 0 {
		note = said(note, fmt.Sprintf("Left out: %s that occur in fewer than %d rows or have less than %d expected.", counted(int64(few), "class"), classRows, classExpected))
	}
	return l, z, note
}

// Sizes of small panels, in points.
const (
	smallSide = 104
	smallGap  = 14
)

// Scene returns the picture with its title, key and notes.
func (d *Classes) Scene() *scene.Scene {
	_, _, note := d.shown()
	k := []sample{dotSample(scene.Fill(scene.Ink), fmt.Sprintf("%d rows or more", pointRows)), dotSample(scene.Fill(scene.Over), "too high"), dotSample(scene.Fill(scene.Under), "too low"), sample{nil, "both beyond chance among all points"},
		bandSample("where " + percent(d.Level) + " of calibrated points lie")}
	return sheet(d.Panel(), d.Title, said(d.Subtitle, note), k)
}

// Panel returns the small panels alone, at least 360 points wide.
func (d *Classes) Panel() *scene.Scene {
	const left, top = 30, 36
	l, z, _ := d.shown()
	n := max(len(l), 1)
	cols := min(n, 4)
	rows := (n + cols - 1) / cols
	s := &scene.Scene{Title: "Reliability of each class", Desc: d.Finding()}
	s.Width = math.Max(panelWidth, left+float64(float64(cols)*(smallSide+smallGap)))
	if len(l) == 0 {
		s.Width, s.Height = panelWidth, 50
		s.Add(label(panelWidth/2, 28, scene.Middle, d.Finding()))
		return s
	}
	up, y := d.axis(l)
	s.Add(label(0, 11, scene.Start, "↑ "+up))
	for i := range l {
		c := &l[i]
		row, col := i/cols, i%cols
		p := &plane{s, left + float64(float64(col)*(smallSide+smallGap)), top + float64(float64(row)*(smallSide+34)), smallSide, smallSide, 0, 1, y.from, y.to}
		var left []string
		if col == 0 {
			left = y.names
		}
		var below []string
		if i+cols >= len(l) {
			below = []string{"0", "0.5", "1"}
		}
		p.rows(y.at, left)
		p.columns([]float64{0, 0.5, 1}, below)
		d.small(p, c, z, true)
	}
	last := top + float64(float64(rows)*(smallSide+34)) - 34
	s.Add(label(s.Width/2, last+29, scene.Middle, "probability of the class"))
	s.Height = last + 34
	return s
}

// classAxis is the vertical axis that panels share.
type classAxis struct {
	from, to float64
	at       []float64
	names    []string
}

// axis returns what the vertical axis of some panels shows, and the axis.
func (d *Classes) axis(l []classPanel) (what string, y classAxis) {
	if d.Y != Gap {
		return "share of the class", classAxis{0, 1, []float64{0, 0.5, 1}, []string{"0", "0.5", "1"}}
	}
	var all [][]calib.Bin
	for i := range l {
		all = append(all, l[i].points)
	}
	y.from, y.to = gapRange(all...)
	y.at = ticks(y.from, y.to, 4)
	y.names = pointTicks(y.at)
	return "share of the class − probability, points", y
}

// Each returns the panels as pictures of their own, 140 points wide, to stand beside each other: the probability of the class to the right,
// its share of the rows upwards. A point has no words over it, as there is no room for many of them on a page.
func (d *Classes) Each() (out []*scene.Scene) {
	l, z, _ := d.shown()
	_, y := d.axis(l)
	for i := range l {
		c := &l[i]
		s := &scene.Scene{Width: 140, Height: 142, Title: "Reliability of " + c.Name, Desc: c.finding(z)}
		p := &plane{s, 28, 18, smallSide, smallSide, 0, 1, y.from, y.to}
		p.rows(y.at, nil)
		p.columns([]float64{0, 0.5, 1}, nil)
		p.rowNames(y.at, y.names)
		p.columnNames([]float64{0, 1}, []string{"0", "1"})
		d.small(p, c, z, false)
		out = append(out, s)
	}
	return out
}

// finding says where the class is off.
func (c *classPanel) finding(z float64) string {
	high, low := 0, 0
	for i := range c.points {
		switch b := &c.points[i]; {
		case !(math.Abs(c.z[i]) > z):
		case b.Frequency < b.Confidence:
			high++
		default:
			low++
		}
	}
	if high+low == 0 {
		return "No point is beyond chance."
	}
	return fmt.Sprintf("Of %s its probability is too high at %d and too low at %d.", counted(int64(len(c.points)), "point"), high, low)
}

// small draws the name and the points of a class, with words over them if there are tips.
func (d *Classes) small(p *plane, c *classPanel, z float64, tips bool) {
	rows := counted(int64(math.Round(c.rows)), "row")
	p.Add(scene.Text{X: p.x, Y: p.y - 5, S: scene.CutMiddle(c.Name, scene.Normal, true, smallSide-scene.Width(rows, scene.Small, false)-6), Bold: true},
		scene.Text{X: p.x + p.w, Y: p.y - 5, S: rows, Size: scene.Small, Anchor: scene.End, Role: scene.Muted})
	for i := range c.points {
		p.band(&c.points[i], d.Y)
	}
	if d.Y == Gap {
		p.Add(hline(p.x, p.x+p.w, p.py(0), scene.Stroke(scene.Ink, 1)))
	} else {
		p.diagonal()
	}
	n := namesOf(calib.AllClasses)
	var dots []scene.Mark
	for i := range c.points {
		b := &c.points[i]
		role := scene.Ink
		if math.Abs(c.z[i]) > z {
			role = side(b.Frequency < b.Confidence)
		}
		paint := scene.Fill(role)
		if b.Count < pointRows {
			paint = hollow
		}
		x := p.px(b.Confidence)
		var m []scene.Mark
		if known(b.Interval) {
			m = p.whisker(x, valueOf(b, b.Interval.Low, d.Y), valueOf(b, b.Interval.High, d.Y), scene.Stroke(scene.Muted, 0.9))
		}
		dot := scene.Circle{X: x, Y: p.py(valueOf(b, b.Frequency, d.Y)), R: 2.4, Paint: paint}
		if tips {
			p.Add(scene.Group{Title: tipOf(b, n), Marks: append(m, dot)})
			continue
		}
		p.Add(m...)
		dots = append(dots, dot)
	}
	p.Add(dots...)
	p.base()
}

// Finding says what the picture shows.
func (d *Classes) Finding() string {
	l, z, _ := d.shown()
	if len(l) == 0 {
		return fmt.Sprintf("No class has the %d rows that it takes to judge one.", classRows)
	}
	far := 0
	for i := range l {
		if l[i].evidence > z {
			far++
		}
	}
	if far == 0 {
		return "No class is clearly off."
	}
	return fmt.Sprintf("%d of the %d classes shown are clearly off somewhere; first %s.", far, len(l), l[0].Name)
}
