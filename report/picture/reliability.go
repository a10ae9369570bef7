package picture

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/report/scene"
)

// Reliability is a reliability diagram of one set of predictions, above a histogram of its scores with the counts.
//
// A dot is a bin, at its mean score and the event's frequency. Its area grows with the rows of the bin; with fewer than Enough rows it is
// hollow. The line through it is the interval of the frequency. If that leaves out the mean score, the dot has the colour of its side
// of the diagonal, and a stem to it. The band of a bin with Enough rows is where a calibrated one would lie. Where no confidence can be, below 1/K, the
// plane is grey. Empty bins are left blank. More than 200 bins are pooled, without intervals. The zero value draws a picture without
// data.
type Reliability struct {
	Title, Subtitle string
	Bins            []calib.Bin // see calib.Partition.Bins
	Event           calib.Event // for the words; ByShape is TopLabel
	Classes         int         // number of classes, K; 0 if no confidence is impossible
	Y               Y
	Level           float64 // of the intervals, for the words; 0 means 0.95
}

// Scene returns the picture with its title, key and notes.
func (d *Reliability) Scene() *scene.Scene {
	bins, group := bars(d.Bins)
	return sheet(d.Panel(), d.Title, d.Subtitle, d.key(bins, group))
}

// Panel returns the picture alone, 360 points wide, for a page that has the words.
func (d *Reliability) Panel() *scene.Scene {
	const left, top, side = 32, 22, 320
	bins, _ := bars(d.Bins)
	n := namesOf(d.Event)
	s := &scene.Scene{Width: panelWidth, Title: "Reliability diagram", Desc: d.finding(bins)}
	x0, x1 := domain(bins)
	p := &plane{s, left, top, side, side, x0, x1, 0, 1}
	if d.Y == Gap {
		p.h = 200
		p.y0, p.y1 = gapRange(bins)
	}
	if k := d.Classes; k > 2 && d.Event != calib.Positive {
		never := box(p.px(0), p.px(1/float64(k)), p.y, p.y+p.h, scene.Fill(scene.Card))
		p.Add(scene.Group{Title: fmt.Sprintf("Of %d classes the chosen one has at least 1/%d.", k, k), Marks: []scene.Mark{never}})
	}
	p.columns(fifths, fifthNames)
	if d.Y == Gap {
		t := ticks(p.y0, p.y1, 7)
		p.rows(t, pointTicks(t))
		p.up(gapOf(d.Event))
	} else {
		p.rows(fifths, fifthNames)
		p.up(n.up)
	}
	for i := range bins {
		if bins[i].Count >= Enough { // with fewer rows almost anything is chance
			p.band(&bins[i], d.Y)
		}
	}
	if d.Y == Gap {
		p.Add(hline(p.x, p.x+p.w, p.py(0), scene.Stroke(scene.Ink, 1.2)))
	} else {
		p.diagonal()
		p.Add(scene.Text{X: p.px(0.03), Y: p.y + 14, S: "more often than it says", Role: scene.UnderText},
			scene.Text{X: p.px(0.97), Y: p.y + p.h - 8, S: "less often than it says", Anchor: scene.End, Role: scene.OverText})
	}
	most := int64(0)
	for i := range bins {
		most = max(most, bins[i].Count)
	}
	for i := range bins {
		if b := &bins[i]; drawn(b) {
			p.dot(b, d.Y, most, d.tip(b))
		}
	}
	if !anyDrawn(bins) {
		p.note("no rows")
	}
	p.base()
	h := &plane{s, p.x, p.y + p.h + 30, p.w, 42, x0, x1, 0, 1}
	h.histogram(bins)
	h.right(n.score, 14)
	s.Height = h.y + h.h + 19
	return s
}

// domain returns the range of the scores: 0 to 1, and room for bins of 0 or 1 alone.
func domain(sets ...[]calib.Bin) (x0, x1 float64) {
	const apart = 0.02
	x0, x1 = 0, 1
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
	return x0, x1
}

// gapRange returns the range of an axis of gaps: it holds 0, the gaps, and the intervals and bands of bins with Enough rows.
func gapRange(sets ...[]calib.Bin) (lo, hi float64) {
	for _, bins := range sets {
		for i := range bins {
			b := &bins[i]
			if !drawn(b) {
				continue
			}
			g := []float64{b.Frequency - b.Confidence}
			if b.Count >= Enough && known(b.Interval) {
				g = append(g, b.Interval.Low-b.Confidence, b.Interval.High-b.Confidence)
			}
			if b.Count >= Enough && banded(b) {
				g = append(g, b.Band.Low-b.Confidence, b.Band.High-b.Confidence)
			}
			for _, v := range g {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
		}
	}
	room := math.Max(0.05*(hi-lo), 0.005)
	return math.Max(lo-room, -1), math.Min(hi+room, 1)
}

// pointTicks returns shares as signed points.
func pointTicks(t []float64) []string {
	l := make([]float64, len(t))
	for i, v := range t {
		l[i] = math.Round(v*1e6) / 1e4
	}
	return signed(l)
}

// banded reports whether a bin has a band. A bin of a single score, 0 or 1, has none.
func banded(b *calib.Bin) bool { return drawn(b) && known(b.Band) && b.Lower < b.Upper }

// valueOf returns where a value of a bin is on the vertical axis.
func valueOf(b *calib.Bin, v float64, y Y) float64 {
	if y == Gap {
		return v - b.Confidence
	}
	return v
}

// sides returns the left and right side of a bin. One of a single score is narrow.
func (p *plane) sides(b *calib.Bin) (float64, float64) {
	const narrow = 5
	x0, x1 := p.px(b.Lower), p.px(b.Upper)
	switch {
	case b.Lower < b.Upper:
		return x0, x1
	case b.Upper <= 0:
		return x0 - narrow - 1, x0 - 1
	case b.Lower >= 1:
		return x1 + 1, x1 + 1 + narrow
	}
	return x0 - narrow/2.0, x0 + narrow/2.0
}

// band draws where a calibrated bin would lie, as a rectangle: the bins beside it have nothing to do with it.
func (p *plane) band(b *calib.Bin, y Y) {
	if banded(b) {
		p.Add(box(p.px(b.Lower), p.px(b.Upper), p.py(valueOf(b, b.Band.Low, y)), p.py(valueOf(b, b.Band.High, y)), bandPaint))
	}
}

// Enough is the number of rows that the dot of a bin needs to be filled, and its gap to be named.
const Enough = 30

// off reports whether a bin has Enough rows and an interval that leaves out its mean score: over if it says too much.
func off(b *calib.Bin) (off, over bool) {
	over = b.Frequency < b.Confidence
	return drawn(b) && b.Count >= Enough && known(b.Interval) && (b.Confidence < b.Interval.Low || b.Confidence > b.Interval.High), over
}

// side returns the role of what is over or under.
func side(over bool) scene.Role {
	if over {
		return scene.Over
	}
	return scene.Under
}

// dotPaint returns the paint of a bin's dot.
func dotPaint(b *calib.Bin) scene.Paint {
	far, over := off(b)
	switch {
	case b.Count < Enough:
		return hollow
	case far:
		return scene.Fill(side(over))
	}
	return scene.Fill(scene.Ink)
}

var hollow = scene.Paint{Fill: scene.Bg, Line: scene.Muted, Width: 1.2}

// dot draws a bin with its interval and its stem.
func (p *plane) dot(b *calib.Bin, y Y, most int64, tip string) {
	x := p.px(b.Confidence)
	if b.Lower >= b.Upper {
		l, r := p.sides(b)
		x = (l + r) / 2
	}
	v := p.py(valueOf(b, b.Frequency, y))
	r := 2.2 + float64(6*math.Sqrt(float64(b.Count)/float64(max(most, 1))))
	var m []scene.Mark
	if known(b.Interval) {
		paint := scene.Stroke(scene.Muted, 1.1)
		if b.Count < Enough {
			paint = scene.Stroke(scene.Axis, 0.7)
		}
		m = p.whisker(x, valueOf(b, b.Interval.Low, y), valueOf(b, b.Interval.High, y), paint)
	}
	far, over := off(b)
	if to := p.py(valueOf(b, b.Confidence, y)); far && math.Abs(to-v) > r {
		m = append(m, vline(x, v, to, scene.Stroke(side(over), 2.4)))
	}
	m = append(m, scene.Circle{X: x, Y: v, R: r, Paint: dotPaint(b)})
	p.Add(scene.Group{Title: tip, Marks: m})
}

// tip returns the numbers of a bin.
func (d *Reliability) tip(b *calib.Bin) string {
	return tipOf(b, namesOf(d.Event))
}

func tipOf(b *calib.Bin, n names) string {
	t := fmt.Sprintf("%.3f to %.3f: %s, says %s, %s %s", b.Lower, b.Upper, counted(b.Count, "row"), share(b.Confidence, 1), n.is, share(b.Frequency, 1))
	if known(b.Interval) {
		t += fmt.Sprintf(" [%.1f, %.1f]", 100*b.Interval.Low, 100*b.Interval.High)
	}
	return t
}

// finding says what a diagram shows.
func (d *Reliability) finding(bins []calib.Bin) string {
	filled, apart, worst := 0, 0, -1
	for i := range bins {
		b := &bins[i]
		if !drawn(b) {
			continue
		}
		filled++
		if far, _ := off(b); far {
			apart++
			if worst < 0 || math.Abs(b.Frequency-b.Confidence) > math.Abs(bins[worst].Frequency-bins[worst].Confidence) {
				worst = i
			}
		}
	}
	switch {
	case filled == 0:
		return "There are no rows."
	case worst < 0:
		return fmt.Sprintf("%s, none of which is clearly off.", binsWith(filled))
	}
	b := &bins[worst]
	return fmt.Sprintf("%s, %d clearly off. The largest such gap is %s points, from %.3g to %.3g: says %s, %s %s of %s.",
		binsWith(filled), apart, points(b.Frequency-b.Confidence, 1), b.Lower, b.Upper, share(b.Confidence, 1), namesOf(d.Event).is, share(b.Frequency, 1), counted(b.Count, "row"))
}

func binsWith(n int) string {
	if n == 1 {
		return "1 bin has rows"
	}
	return fmt.Sprintf("%d bins have rows", n)
}

// key returns the entries of what there is.
func (d *Reliability) key(bins []calib.Bin, group int) []sample {
	var few, filled, over, under, band, interval bool
	for i := range bins {
		b := &bins[i]
		if !drawn(b) {
			continue
		}
		few, filled = few || b.Count < Enough, filled || b.Count >= Enough
		band, interval = band || banded(b) && b.Count >= Enough, interval || known(b.Interval)
		far, too := off(b)
		over, under = over || far && too, under || far && !too
	}
	var k []sample
	if filled {
		k = append(k, dotSample(scene.Fill(scene.Ink), "a bin, larger with more rows"))
	}
	if over {
		k = append(k, dotSample(scene.Fill(scene.Over), "overconfident"))
	}
	if under {
		k = append(k, dotSample(scene.Fill(scene.Under), "underconfident"))
	}
	if few {
		k = append(k, dotSample(hollow, fewerRows))
	}
	if interval {
		k = append(k, sample{[]scene.Mark{vline(0, -5, 5, scene.Stroke(scene.Muted, 1.1))}, percent(d.Level) + " interval"})
	}
	if band {
		k = append(k, bandSample("where "+percent(d.Level)+" of calibrated bins lie"))
	}
	if group > 1 {
		k = append(k, sample{nil, fmt.Sprintf("a dot is %d bins", group)})
	}
	return k
}

var fewerRows = fmt.Sprintf("fewer than %d rows", Enough)

// alone reports whether there is room above the highest bar for a text wider than it: the bars beside it are lower than the text.
func (p *plane) alone(bins []calib.Bin, i int, width float64) bool {
	const high = 14
	x0, x1 := p.sides(&bins[i])
	for j := range bins {
		l, r := p.sides(&bins[j])
		near := l < (x0+x1+width)/2 && r > (x0+x1-width)/2
		if j != i && near && p.h-float64(bins[j].Weight/bins[i].Weight*p.h) < high {
			return false
		}
	}
	return true
}

// histogram draws the rows of each bin, with their counts where there is room.
func (p *plane) histogram(bins []calib.Bin) {
	most, any := 0.0, weighted(bins)
	for i := range bins {
		most = math.Max(most, bins[i].Weight)
	}
	what := "rows"
	if any {
		what = "weight"
	}
	p.Add(label(0, p.y+p.h-1, scene.Start, what))
	total := 0.0
	for i := range bins {
		total += bins[i].Weight
	}
	for i := range bins {
		b := &bins[i]
		if !(b.Weight > 0) || !(most > 0) {
			continue
		}
		x0, x1 := p.sides(b)
		if x1-x0 > 3 {
			x0, x1 = x0+0.5, x1-0.5
		}
		h := math.Max(float64(b.Weight/most*p.h), 0.8)
		tip := counted(b.Count, "row")
		text := short(b.Count)
		if any {
			tip += ", " + share(b.Weight/total, 1) + " of the weight"
			text = share(b.Weight/total, 0)
		}
		m := []scene.Mark{scene.Rect{X: x0, Y: p.y + p.h - h, W: x1 - x0, H: h, Paint: scene.Fill(scene.Hist)}}
		w := scene.Width(text, scene.Small, false)
		at := math.Min((x0+x1)/2, p.Width-float64(w/2))
		if w <= x1-x0+3 || b.Weight == most && p.alone(bins, i, w) {
			m = append(m, scene.Text{X: at, Y: p.y + p.h - h - 2.5, S: text, Size: scene.Small, Anchor: scene.Middle, Role: scene.Muted})
		}
		p.Add(scene.Group{Title: tip, Marks: m})
	}
	p.base()
}
