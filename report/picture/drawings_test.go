package picture

import (
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/report/scene"
)

// TestDegenerate: whatever is drawn, the picture is sound, says what it is and what it shows, and is the same again.
func TestDegenerate(t *testing.T) {
	l := drawings()
	for _, name := range slices.Sorted(maps.Keys(l)) {
		d := l[name]
		s := d.Scene()
		sound(t, name, s)
		sound(t, name+", panel", d.Panel())
		svg := s.SVG()
		if err := xml.Unmarshal(svg, new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.Title == "" {
			t.Errorf("%s has no title", name)
		}
		if p := d.Panel(); p.Title == "" || strings.Contains(p.Desc, "NaN") {
			t.Errorf("the panel of %s is %q: %q", name, p.Title, p.Desc)
		}
		if string(svg) != string(d.Scene().SVG()) {
			t.Errorf("%s differs when it is drawn again", name)
		}
	}
}

// usual are pictures as they are drawn of real data.
func usual() map[string]Drawing {
	in := metrics.Interval{Low: 0.01, High: 0.03}
	levels := []float64{0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95}
	held := []float64{0.12, 0.33, 0.55, 0.74, 0.83, 0.92, 0.96}
	return map[string]Drawing{
		"reliability": &Reliability{Title: "Reliability by confidence", Subtitle: "a\nb", Bins: many(15), Classes: 10},
		"gap":         &Reliability{Title: "Reliability by confidence", Subtitle: "a", Bins: many(15), Y: Gap},
		"mass":        &Mass{Title: "Where the calibration error comes from", Subtitle: "a", Bins: many(15)},
		"overlay":     &Overlay{Title: "Reliability by confidence", Sets: []Set{{"a", many(15)}, {"b", five()}}},
		"classes":     &Classes{Title: "Reliability of each class", Classes: slices.Repeat([]Class{{"a", many(15)}}, 8)},
		"risk":        &Risk{Title: "Errors among the rows that are kept", Coverage: levels, Risk: held},
		"curves":      &Curves{Title: "Right told from wrong", X: "x", Y: "y", Finding: "f", Curves: []Curve{{Name: "a", X: levels, Y: held}}},
		"calibration": &CalibrationCurve{Title: "How often what was observed is below a quantile", Levels: levels, Frequencies: held},
		"histogram":   &Histogram{Title: "PIT", Subtitle: "a", Rows: 100, Bars: []Bar{{0, 0.3, 1.1, 0.8, 1.2}, {0.3, 0.6, 0.9, 0.8, 1.2}, {0.6, 1, 1, 0.8, 1.2}}},
		"coverage":    &Coverage{Title: "What central intervals hold", Levels: levels, Held: held, Low: levels, High: held},
		"spread":      &Spread{Title: "Errors against the stated spread", RMV: []float64{1, 2, 3}, RMSE: []float64{1, 3, 2}},
		"forest":      &Forest{Title: "Differences", Subtitle: "a", First: "first", Panels: slices.Repeat([]ForestPanel{{Name: "m", Rows: []ForestRow{{Name: "r", Value: 0.02, Interval: in, Verdict: First}}}}, 8)},
		"gaps":        &Gaps{Title: "Difference of the gaps", X: "x", Y: "y", Bins: []GapBin{{0, 1, 0.02, in, 90}}},
		"flips":       &Flips{Title: "Who is right", A: "a", B: "b", Both: 9, OnlyA: 1},
		"belt":        &Belt{Title: "Calibration belt", Bins: many(50)},
		"corp":        &CORP{Title: "Recalibrated frequency by score", Bins: many(50)},
	}
}

// TestHeader: the title takes less than 8% of the height, and what is drawn says what it shows.
func TestHeader(t *testing.T) {
	for name, d := range usual() {
		s := d.Scene()
		sound(t, name, s)
		title := all[scene.Text](s)[0]
		if !title.Bold {
			t.Errorf("%s: the first text is %q", name, title.S)
		}
		if part := (title.Y + 3) / s.Height; part > 0.08 && name != "flips" || part > 0.1 {
			t.Errorf("%s: the header takes %.1f%% of %v points", name, 100*part, s.Height)
		}
		if s.Desc == "" {
			t.Errorf("%s has no description", name)
		}
	}
}

// TestBytes: pictures are the same on every CPU. If they change because the design does, put what it says here.
func TestBytes(t *testing.T) {
	const want = "1c555d6db81399422df533fc74b2aa5d3ce554d23c5ddb6a56fa0c04bc521a6c"
	h := sha256.New()
	for _, l := range []map[string]Drawing{usual(), drawings()} {
		for _, name := range slices.Sorted(maps.Keys(l)) {
			h.Write(l[name].Scene().SVG())
		}
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want && !check.Full() { // which draws more
		t.Errorf("the hash of the pictures is %s, want %s", got, want)
	}
}

// TestBandsAreBehind: no band covers a dot, a bar or a line of data.
func TestBandsAreBehind(t *testing.T) {
	for name, d := range usual() {
		data := false
		for _, m := range d.Panel().Flat() {
			switch m := m.(type) {
			case scene.Circle:
				data = true
			case scene.Rect:
				if m.Fill == scene.Band && data && name != "classes" && name != "mass" && name != "flips" {
					t.Errorf("%s: a band comes after a dot", name)
				}
			}
		}
	}
}

func TestReliability(t *testing.T) {
	d := &Reliability{Title: "t", Subtitle: "10 rows x 3 classes\nat -2", Bins: five(), Classes: 4, Event: calib.TopLabel}
	s := d.Panel()
	x := func(v float64) float64 { return 32 + 320*v }
	y := func(v float64) float64 { return 22 + 320*(1-v) }
	dots := all[scene.Circle](s)
	if len(dots) != 4 {
		t.Fatalf("there are %d dots, want 4", len(dots))
	}
	for i, want := range []struct {
		p, f float64
		fill scene.Role
		n    float64
	}{{0.1, 0.9, scene.Bg, 29}, {0.3, 0.45, scene.Ink, 30}, {0.7, 0.5, scene.Over, 200}, {0.95, 0.94, scene.Ink, 741}} {
		c := dots[i]
		near(t, "x of a dot", c.X, x(want.p))
		near(t, "y of a dot", c.Y, y(want.f))
		if c.Fill != want.fill {
			t.Errorf("dot %d has role %d, want %d", i, c.Fill, want.fill)
		}
		// The area beyond the smallest dot grows with the rows.
		near(t, "a radius", c.R, 2.2+6*math.Sqrt(want.n/741))
	}
	bands := filled(s, scene.Band)
	if len(bands) != 3 { // none of the bin with 29 rows
		t.Fatalf("there are %d bands, want 3", len(bands))
	}
	b := five()[3]
	near(t, "a band's left", bands[1].X, x(0.6))
	near(t, "a band's right", bands[1].X+bands[1].W, x(0.8))
	near(t, "a band's top", bands[1].Y, y(b.Band.High))
	near(t, "a band's foot", bands[1].Y+bands[1].H, y(b.Band.Low))
	stems := 0
	for _, l := range all[scene.Line](s) {
		if l.Paint.Line == scene.Over {
			stems++
			near(t, "the stem's end", l.Y2, y(0.7))
		}
	}
	if stems != 1 {
		t.Errorf("there are %d stems, want 1", stems)
	}
	never := filled(s, scene.Card)
	if len(never) != 1 {
		t.Fatalf("what cannot be is drawn %d times", len(never))
	}
	near(t, "1/K", never[0].X+never[0].W, x(0.25))
	says(t, s, "↑ share that is right", "confidence: the probability of the chosen class", "29", "30", "200", "741", "rows")
	if got, want := s.Desc, "4 bins have rows, 1 clearly off. The largest such gap is −20.0 points, from 0.6 to 0.8: says 70.0%, right in 50.0% of 200 rows."; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if got := tips(s); !slices.Contains(got, "0.600 to 0.800: 200 rows, says 70.0%, right in 50.0% [43.1, 56.9]") {
		t.Errorf("the tips are %q", got)
	}
	says(t, d.Scene(), "10 rows × 3 classes", "at −2", "a bin, larger with more rows", "overconfident", "fewer than 30 rows", "95% interval", "where 95% of calibrated bins lie")
	if slices.Contains(words(d.Scene()), "underconfident") {
		t.Error("the key has what is not there")
	}
	if len(filled((&Reliability{Bins: five(), Classes: 4, Event: calib.Positive}).Panel(), scene.Card)) != 0 {
		t.Error("a probability of y = 1 below 1/K is called impossible")
	}
}

func TestGap(t *testing.T) {
	d := &Reliability{Bins: five(), Y: Gap}
	s := d.Panel()
	says(t, s, "↑ share that is right − confidence, points", "−20", "0", "+20")
	lo, hi := gapRange(five())
	dots := all[scene.Circle](s)
	near(t, "the gap of 80 points", dots[0].Y, 22+200*(hi-0.8)/(hi-lo))
	near(t, "the gap of -20 points", dots[2].Y, 22+200*(hi+0.2)/(hi-lo))
	// The interval of the bin of one row goes on: an arrow says so.
	one := append(five()[1:], bin(0, 0.2, 1, 0.1, 0))
	arrows := 0
	for _, p := range all[scene.Path]((&Reliability{Bins: one, Y: Gap}).Panel()) {
		if len(p.Points) == 3 && !p.Closed {
			arrows++
		}
	}
	if arrows != 1 {
		t.Errorf("there are %d arrows, want 1", arrows)
	}
}

// TestPooled: more than 200 bins are drawn together.
func TestPooled(t *testing.T) {
	if n := len(all[scene.Circle]((&Reliability{Bins: many(1000)}).Panel())); n != 200 {
		t.Errorf("1,000 bins have %d dots", n)
	}
	says(t, (&Reliability{Bins: many(1000)}).Scene(), "a dot is 5 bins")
	b, group := bars([]calib.Bin{bin(0, 0.5, 10, 0.2, 0.1), bin(0.5, 1, 30, 0.6, 0.5)})
	if len(b) != 2 || group != 1 {
		t.Errorf("two bins are %d of %d", len(b), group)
	}
	p := pool([]calib.Bin{bin(0, 0.5, 10, 0.2, 0.1), bin(0.5, 1, 30, 0.6, 0.5)})
	if p.Count != 40 || p.Confidence != 0.5 || p.Frequency != 0.4 || p.Lower != 0 || p.Upper != 1 {
		t.Errorf("the pool is %+v", p)
	}
}

func TestMass(t *testing.T) {
	d := &Mass{Bins: []calib.Bin{bin(0, 0.6, 300, 0.5, 0.5), bin(0.6, 0.9, 600, 0.8, 0.7), bin(0.9, 1, 300, 0.95, 0.99)}}
	s := d.Panel()
	over, under := filled(s, scene.Over), filled(s, scene.Under)
	if len(over) != 1 || len(under) != 1 {
		t.Fatalf("%d bars are over and %d under, want one each", len(over), len(under))
	}
	near(t, "a bar of half of the rows", over[0].W, 314.0/2-2)
	near(t, "its height to that of the other", over[0].H/under[0].H, 0.1/0.04)
	if n := len(filled(s, scene.Band)); n != 3 {
		t.Errorf("there are %d bands", n)
	}
	says(t, s, "0%", "25%", "75%", "100%", "0.60", "0.90", "↑ share that is right − confidence, points")
	if got, want := d.Finding(), "In 2 of 3 groups of equal size the gap is clear of chance. The largest is −10.0 points, from 0.6 to 0.9."; got != want {
		t.Errorf("it finds %q, want %q", got, want)
	}
	if got, want := (&Mass{Bins: []calib.Bin{bin(0, 1, 100, 0.5, 0.5)}}).Finding(), "In none of 1 groups of equal size is the gap clear of chance."; got != want {
		t.Errorf("it finds %q, want %q", got, want)
	}
}

func TestOverlay(t *testing.T) {
	d := &Overlay{Sets: []Set{{"a", five()}, {"b", five()}}, Y: Accuracy}
	s := d.Panel()
	circles := all[scene.Circle](s)
	if len(circles) != 4 {
		t.Fatalf("the first set has %d circles", len(circles))
	}
	squares := 0
	for _, p := range all[scene.Path](s) {
		if p.Closed {
			squares++
		} else if len(p.Points) > 2 {
			t.Errorf("bins are linked: %v", p)
		}
	}
	if squares != 4 {
		t.Errorf("the second set has %d squares", squares)
	}
	near(t, "the first set's part of a bin", circles[0].X, 32+320*0.2*0.25)
	if circles[0].Fill != scene.Bg || circles[2].Fill != scene.Ideal {
		t.Errorf("the dots are %+v", circles)
	}
	near(t, "a share", circles[2].Y, 22+320*0.5)
	says(t, d.Scene(), "a", "b", "fewer than 30 rows")
	if s.Desc != "Of 2 sets a has the smallest mean gap, 7.51 points." {
		t.Errorf("it says %q", s.Desc)
	}
	looks := map[[2]int]bool{}
	for i := range 28 {
		looks[[2]int{i % len(markers), int(setPaint(i, false).Fill)}] = true
	}
	if len(looks) != 28 {
		t.Errorf("28 sets have %d looks", len(looks))
	}
}

func TestClasses(t *testing.T) {
	thin := func(n int64) []calib.Bin { // bins of few rows, off by 20 points
		var l []calib.Bin
		for i := range 10 {
			p := (float64(i) + 0.5) / 10
			l = append(l, bin(float64(i)/10, float64(i+1)/10, n, p, p*0.8))
		}
		return l
	}
	d := &Classes{Classes: []Class{{"calm", []calib.Bin{bin(0, 0.5, 200, 0.3, 0.3), bin(0.5, 1, 100, 0.7, 0.7)}}, {"thin", thin(12)}, {"off", []calib.Bin{bin(0, 1, 900, 0.5, 0.3)}},
		{"rare", []calib.Bin{bin(0, 1, 20, 0.5, 0.5)}}, {"unseen", []calib.Bin{bin(0, 1, 10000, 0.0009, 0.004)}}}}
	l, z, note := d.shown()
	var names []string
	for _, c := range l {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "off thin calm" {
		t.Errorf("the panels are %s", got)
	}
	if !strings.Contains(note, "2 classes that") {
		t.Errorf("the note is %q", note)
	}
	if z < 2.5 || z > 3.2 { // some eight points
		t.Errorf("a point is coloured from %v standard errors on", z)
	}
	for _, c := range l {
		for i, b := range c.points {
			if b.Count < pointRows {
				t.Errorf("%s: point %d has %d rows", c.Name, i, b.Count)
			}
		}
	}
	if n := len(l[1].points); n != 5 {
		t.Errorf("ten bins of 12 rows are %d points", n)
	}
	if n := len(d.pooled(many(15))); n != mostPoints {
		t.Errorf("15 bins are %d points", n)
	}
	b := l[1].points[0]
	near(t, "the joined mean", b.Confidence, 0.1)
	near(t, "the joined band", b.Band.High, 0.1+1.96*math.Sqrt((0.05*0.95+0.15*0.85)/2/24))
	s := d.Panel()
	if over := slices.DeleteFunc(all[scene.Circle](s), func(c scene.Circle) bool { return c.Fill != scene.Over }); len(over) != 2 {
		t.Errorf("%d points are coloured", len(over))
	}
	if got, want := d.Finding(), "2 of the 3 classes shown are clearly off somewhere; first off."; got != want {
		t.Errorf("it finds %q, want %q", got, want)
	}
	d.Most = 2
	says(t, d.Scene(), "The 2 classes with the strongest evidence of a gap")
	few := &Classes{Classes: []Class{{"rare", []calib.Bin{bin(0, 1, 20, 0.5, 0.5)}}}}
	says(t, few.Scene(), "No class has the 30 rows that it takes to judge one.")
}
