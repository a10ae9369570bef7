package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// bin returns a bin of n rows as calib makes it.
func bin(lower, upper float64, n int64, confidence, frequency float64) calib.Bin {
	b := calib.Bin{Lower: lower, Upper: upper, Count: n, Weight: float64(n), Confidence: confidence, Frequency: frequency,
		Interval: metrics.Wilson(frequency, float64(n), 0.95), Band: metrics.NoInterval()}
	if n > 0 {
		b.Band = metrics.Normal(confidence, math.Sqrt(confidence*(1-confidence)/float64(n)), 0.95)
		b.Band = metrics.Interval{Low: math.Max(0, b.Band.Low), High: math.Min(1, b.Band.High)}
	}
	return b
}

func empty(lower, upper float64) calib.Bin { return bin(lower, upper, 0, math.NaN(), math.NaN()) }

// five are bins of which one is empty, and another has a large gap and few rows.
func five() []calib.Bin {
	return []calib.Bin{bin(0, 0.2, 29, 0.1, 0.9), bin(0.2, 0.4, 30, 0.3, 0.45), empty(0.4, 0.6), bin(0.6, 0.8, 200, 0.7, 0.5), bin(0.8, 1, 741, 0.95, 0.94)}
}

// many are n bins of rising scores.
func many(n int) (bins []calib.Bin) {
	for i := range n {
		p := (float64(i) + 0.5) / float64(n)
		bins = append(bins, bin(float64(i)/float64(n), float64(i+1)/float64(n), int64(1+i*i), p, p*p))
	}
	return bins
}

func write(t testing.TB, format string, d Drawing) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, d); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// shape is a path of an SVG, with y upwards as it was drawn.
type shape struct {
	pts   [][2]float64
	style string
}

// parse returns the paths of an SVG.
func parse(t testing.TB, svg []byte) (out []shape) {
	t.Helper()
	for _, path := range strings.Split(string(svg), `<path d="`)[1:] {
		data, rest, _ := strings.Cut(path, `"`)
		var s shape
		if style, ok := strings.CutPrefix(strings.TrimLeft(rest, " \n"), `style="`); ok {
			s.style, _, _ = strings.Cut(style, `"`)
		}
		for _, n := range strings.FieldsFunc(data, func(r rune) bool { return !strings.ContainsRune("-+0123456789.e,", r) }) {
			x, y, ok := strings.Cut(n, ",")
			if !ok {
				continue
			}
			a, e1 := strconv.ParseFloat(x, 64)
			b, e2 := strconv.ParseFloat(y, 64)
			if e1 != nil || e2 != nil || math.IsNaN(a+b) || math.IsInf(a+b, 0) {
				t.Fatalf("a point is at %s", n)
			}
			s.pts = append(s.pts, [2]float64{a, b})
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		t.Fatal("the picture is empty")
	}
	return out
}

// with returns the shapes whose style has all of words, and of n points.
func with(all []shape, n int, words ...string) (out []shape) {
	for _, s := range all {
		if len(s.pts) == n && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(s.style, w) }) {
			out = append(out, s)
		}
	}
	return out
}

// frames returns the panels' rectangles: x0, y0, x1, y1.
func frames(all []shape) (out [][4]float64) {
	for _, s := range with(all, 3, "stroke:#404040", "fill:none") {
		out = append(out, [4]float64{s.pts[1][0], s.pts[1][1], s.pts[2][0], s.pts[0][1]})
	}
	return out
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.02 {
		t.Errorf("%s is at %v, not %v", what, got, want)
	}
}

// drawings are of every kind, with whatever may happen.
func drawings() map[string]Drawing {
	weights := five()
	for i := range weights {
		weights[i].Weight *= 0.3
	}
	nan := math.NaN()
	odd := []calib.Bin{{Count: 3, Confidence: nan, Frequency: 0.5, Weight: 3}, {Lower: -5, Upper: 0.5, Count: 3, Weight: 3, Confidence: -2, Frequency: 0.5,
		Interval: metrics.NoInterval(), Band: metrics.NoInterval()}, {Lower: 0.5, Upper: 7, Count: 50, Weight: 0, Confidence: 3, Frequency: 1, Interval: metrics.NoInterval(), Band: metrics.NoInterval()}}
	sets := map[string][]calib.Bin{
		"none": nil, "empty": {empty(0, 0.5), empty(0.5, 1)}, "five": five(), "weights": weights, "odd": odd,
		"one bin": {bin(0, 1, 500, 0.7, 0.6)}, "one row": {empty(0, 0.5), bin(0.5, 1, 1, 0.7, 1)}, "one bin of many": append(many(10)[:9:9], bin(0.9, 1, 1e12, 0.95, 1)),
		"100": many(100), "1000": many(1000), "apart": {bin(0, 0, 40, 0, 0.1), bin(0, 0.5, 40, 0.3, 0.3), empty(0.5, 1), bin(1, 1, 40, 1, 0.9)},
		"all apart": {bin(0, 0, 40, 0, 0), bin(1, 1, 40, 1, 1)}, "point": {bin(0, 0.5, 40, 0.2, 0.2), bin(0.5, 0.5, 40, 0.5, 0.5), bin(0.5, 1, 40, 0.7, 0.7)},
		"no gap": {bin(0, 0.5, 100, 0.5, 0.5), bin(0.5, 1, 100, 0.75, 0.75)},
	}
	out := map[string]Drawing{"zero reliability": &Reliability{}, "zero overlay": &Overlay{}, "zero classes": &Classes{},
		"long": &Reliability{Title: strings.Repeat("word ", 60) + strings.Repeat("x", 500), Subtitle: "a\nb\n" + strings.Repeat("<&>\" é ", 40),
			Lines: []Line{{strings.Repeat("long ", 100), 0.5}, {"nowhere", nan}, {"b", 7}, {"c", -1}, {"d", 1}}}}
	for name, b := range sets {
		for _, y := range []Y{Accuracy, Frequency, Gap} {
			for i, e := range []calib.Event{calib.ByShape, calib.Positive, calib.AllClasses} {
				if (int(y)+i)%3 != len(name)%3 && !check.Full() {
					continue
				}
				out[fmt.Sprint(name, y, e)] = &Reliability{Title: name, Bins: b, Y: y, Event: e, Centers: e == calib.Positive, Level: 0.9, Lines: []Line{{"a", 0.3}, {"b", 0.7}}}
			}
			out[fmt.Sprint("overlay ", name, y)] = &Overlay{Title: name, Y: y, Sets: []Set{{name, b}, {"five", five()}}}
			out[fmt.Sprint("classes ", name, y)] = &Classes{Title: name, Y: y, Classes: []Class{{name, b}, {"five", five()}, {"", nil}}}
		}
	}
	var sets30 []Set
	var classes []Class
	for i := range 30 {
		sets30 = append(sets30, Set{fmt.Sprintf("a long name of set %d", i), many(5 + i)})
		classes = append(classes, Class{fmt.Sprintf("a long name of class %d", i), many(5 + i)})
	}
	out["30 sets"], out["30 classes"] = &Overlay{Sets: sets30, Y: Gap}, &Classes{Classes: classes}
	for range 7 {
		sets30 = append(sets30, sets30[:30]...)
	}
	out["240 sets"] = &Overlay{Title: strings.Repeat("a title of several lines ", 20), Sets: sets30, Subtitle: strings.Repeat("line\n", 30)}
	return out
}

// TestDegenerate: whatever is drawn, the picture is one, and has no coordinates that are none.
func TestDegenerate(t *testing.T) {
	all := drawings()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if testing.Short() && i%6 != 0 {
			continue
		}
		d := all[name]
		svg := write(t, "svg", d)
		all := parse(t, svg)
		if err := xml.Unmarshal(svg, new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) || bytes.Contains(svg, []byte(">-0<")) {
			t.Errorf("%s: the SVG has a coordinate that is none", name)
		}
		for _, f := range frames(all) {
			if f[2]-f[0] < 80 || f[3]-f[1] < 70 {
				t.Errorf("%s: a panel is %v", name, f)
			}
		}
		w, h := d.size()
		for _, s := range all {
			for _, p := range s.pts {
				if p[0] < -0.01 || p[1] < -0.01 || p[0] > w.Points()+0.01 || p[1] > h.Points()+0.01 {
					t.Fatalf("%s: a point at %v is beyond the page of %v x %v", name, p, w, h)
				}
			}
		}
	}
}

// TestFormats: each format is what it is called, and the same data give the same bytes.
func TestFormats(t *testing.T) {
	classes := &Classes{Title: "t", Classes: []Class{{"a", five()}, {"b", many(10)}}}
	for _, d := range []Drawing{&Reliability{Title: "t", Bins: five(), Lines: []Line{{"a", 0.5}}}, &Overlay{Sets: []Set{{"é", five()}, {"b", many(20)}}}, classes} {
		for format, magic := range map[string]string{"png": "\x89PNG\r\n\x1a\n", "svg": "<?xml", "pdf": "%PDF-1."} {
			b := write(t, format, d)
			if !bytes.HasPrefix(b, []byte(magic)) {
				t.Errorf("%T: %s begins with %q", d, format, b[:8])
			}
			for range check.Size(0, 1, 3) {
				if !bytes.Equal(b, write(t, format, d)) {
					t.Errorf("%T: two files in %s differ", d, format)
				}
			}
			switch format {
			case "png":
				w, h := d.size()
				c, err := png.DecodeConfig(bytes.NewReader(b))
				if err != nil || math.Abs(float64(c.Width)-w.Dots(dpi)) > 1 || math.Abs(float64(c.Height)-h.Dots(dpi)) > 1 {
					t.Errorf("%T: %d x %d dots, %v", d, c.Width, c.Height, err)
				}
			case "pdf":
				if m := regexp.MustCompile(`\(D:(\d+)\)`).FindAllSubmatch(b, -1); len(m) != 2 || string(m[0][1]) != "20000101000000" || string(m[1][1]) != "20000101000000" {
					t.Errorf("the PDF has the dates %s", m)
				}
				// The table of places in the file holds: each starts an object.
				at := bytes.LastIndex(b, []byte("startxref\n"))
				n, err := strconv.Atoi(string(bytes.Fields(b[at:])[1]))
				if err != nil || !bytes.HasPrefix(b[n:], []byte("xref\n")) {
					t.Error("the PDF's table is not where it says")
				}
				for i, f := range regexp.MustCompile(`(\d{10}) 00000 n`).FindAllSubmatch(b[n:], -1) {
					if n, _ := strconv.Atoi(string(f[1])); !bytes.HasPrefix(b[n:], fmt.Appendf(nil, "%d 0 obj", i+1)) {
						t.Errorf("object %d is not at %d", i+1, n)
					}
				}
			}
		}
	}
	if err := Write(io.Discard, "gif", &Reliability{}); err == nil || !strings.Contains(err.Error(), `no format "gif"; there are png, svg, pdf`) {
		t.Errorf("%v", err)
	}
	full := errors.New("full")
	for _, f := range Formats() {
		if err := Write(failing{full}, f, &Reliability{}); !errors.Is(err, full) {
			t.Errorf("%s: %v", f, err)
		}
	}
	for name, want := range map[string]string{"a.png": "png", "b/c.SVG": "svg", "x.y.Pdf": "pdf", "png": "", "a.jpg": "", "": "", "-": "", "a.png/b": ""} {
		if f, ok := FormatOf(name); f != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", name, f, ok)
		}
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

// TestReliability: bars, points and intervals are where the bins say, and the panels stand below one another.
func TestReliability(t *testing.T) {
	bins := five()
	all := parse(t, write(t, "svg", &Reliability{Bins: bins, Lines: []Line{{"accuracy", 0.25}, {"nowhere", math.NaN()}}}))
	f := frames(all)
	if len(f) != 2 || f[0][0] != f[1][0] || f[0][2] != f[1][2] || f[0][1] <= f[1][3] {
		t.Fatalf("the panels are %v", f)
	}
	x := func(v float64) float64 { return f[0][0] + v*(f[0][2]-f[0][0]) }
	y := func(v float64) float64 { return f[0][1] + v*(f[0][3]-f[0][1]) }
	bars := with(all, 4, "fill:#C7E1F2")[1:] // the first is the key's
	shares := with(all, 4, "fill:#9FB4C2")
	if len(bars) != 4 || len(shares) != 4 {
		t.Fatalf("%d bars and %d shares", len(bars), len(shares))
	}
	top := 0.0
	for i, k := 0, 0; i < len(bins); i++ {
		b := bins[i]
		if b.Count == 0 {
			continue
		}
		near(t, "a bar's left side", bars[k].pts[0][0], x(b.Lower)+0.5)
		near(t, "a bar's right side", bars[k].pts[1][0], x(b.Upper)-0.5)
		near(t, "a bar's foot", bars[k].pts[0][1], y(0))
		near(t, "a bar's top", bars[k].pts[2][1], y(b.Frequency))
		near(t, "a share's left side", shares[k].pts[0][0], x(b.Lower)+0.5)
		height := (shares[k].pts[2][1] - f[1][1]) / float64(b.Count)
		if k == 0 {
			top = height
		} else if math.Abs(height/top-1) > 0.02 {
			t.Errorf("the histogram has %v a row and %v", height, top)
		}
		k++
	}
	// The gaps: what is missing, and what is more.
	for color, want := range map[string][]int{"fill:#FDEBC8": {3, 4}, "fill:#C9EBE0": {0, 1}} {
		gaps := with(all, 4, color)[1:]
		if len(gaps) != len(want) {
			t.Fatalf("%s: %d gaps", color, len(gaps))
		}
		for k, i := range want {
			near(t, "a gap's lower end", gaps[k].pts[0][1], y(math.Min(bins[i].Confidence, bins[i].Frequency)))
			near(t, "a gap's upper end", gaps[k].pts[2][1], y(math.Max(bins[i].Confidence, bins[i].Frequency)))
		}
	}
	// Intervals, at the mean scores.
	var stems []shape
	for _, s := range with(all, 2, "stroke:#000000", "stroke-width:0.9") {
		if s.pts[0][0] == s.pts[1][0] && s.pts[0][1] >= f[0][1]-0.01 && s.pts[1][1] <= f[0][3]+0.01 {
			stems = append(stems, s)
		}
	}
	if len(stems) != 4 {
		t.Fatalf("%d intervals", len(stems))
	}
	for k, i := range []int{0, 1, 3, 4} {
		near(t, "an interval", stems[k].pts[0][0], x(bins[i].Confidence))
		near(t, "an interval's lower end", stems[k].pts[0][1], y(bins[i].Interval.Low))
		near(t, "an interval's upper end", stems[k].pts[1][1], y(bins[i].Interval.High))
	}
	// The line of the histogram: in the key, and where it says.
	lines := with(all, 2, "stroke:#000000", "stroke-width:1.5")
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	near(t, "the line", lines[1].pts[0][0], x(0.25))
	// The band: a strip for the bins on each side of the empty one, through the ends of their bands.
	strips := with(all, 8, "fill-opacity:0.188")
	if len(strips) != 2 {
		t.Fatalf("%d strips", len(strips))
	}
	near(t, "the band", strips[1].pts[1][0], x(0.7))
	near(t, "the band's lower end", strips[1].pts[1][1], y(bins[3].Band.Low))
	near(t, "the band's upper end", strips[1].pts[6][1], y(bins[3].Band.High))
}

// TestGap: with Gap bars start at 0 and the range holds every gap.
func TestGap(t *testing.T) {
	bins := five()
	all := parse(t, write(t, "svg", &Reliability{Bins: bins, Y: Gap}))
	f := frames(all)[0]
	lo, hi := gapRange(true, true, bins)
	y := func(v float64) float64 { return f[1] + (v-lo)/(hi-lo)*(f[3]-f[1]) }
	if lo > -0.2 || hi < 0.8 || lo < -1 || hi > 1 {
		t.Errorf("the range is %v to %v", lo, hi)
	}
	more, missing := with(all, 4, "fill:#C9EBE0")[1:], with(all, 4, "fill:#FDEBC8")[1:]
	if len(more) != 2 || len(missing) != 2 || len(with(all, 4, "fill:#C7E1F2")) != 0 {
		t.Fatalf("%d and %d gaps", len(more), len(missing))
	}
	near(t, "a gap's foot", more[0].pts[0][1], y(0))
	near(t, "a gap's top", more[0].pts[2][1], y(0.8))
	near(t, "a gap's foot", missing[0].pts[0][1], y(-0.2))
	near(t, "a gap's top", missing[0].pts[2][1], y(0))
	if lo, hi := gapRange(true, true); !(lo < 0 && hi > 0) {
		t.Errorf("without bins the range is %v to %v", lo, hi)
	}
}

// TestLargest: only a bin with enough rows is marked.
func TestLargest(t *testing.T) {
	bins := five()
	all := func() []shape { return parse(t, write(t, "svg", &Reliability{Bins: bins})) }
	marks := func() (m []shape) { // filled in black, which SVG does without being told
		for _, s := range with(all(), 3) {
			if s.style == "" {
				m = append(m, s)
			}
		}
		return m
	}
	svg := string(write(t, "svg", &Reliability{Bins: bins}))
	if i := largest(bins); i != 3 || !strings.Contains(svg, "largest gap (n &gt;= 30): -20.0 points, 200 rows") {
		t.Errorf("bin %d is marked", i)
	}
	m := marks()
	if len(m) != 2 {
		t.Fatalf("%d marks, with that of the key", len(m))
	}
	f := frames(all())[0]
	near(t, "the mark", m[1].pts[0][0], f[0]+0.7*(f[2]-f[0]))
	for i := range bins {
		bins[i].Count = min(bins[i].Count, Enough-1)
	}
	if i := largest(bins); i != -1 || len(marks()) != 0 {
		t.Errorf("bin %d is marked, of too few rows", i)
	}
	bins[0].Count = Enough
	if i := largest(bins); i != 0 || len(marks()) != 2 {
		t.Errorf("bin %d is marked", i)
	}
}

// TestApart: the bins of 0 and 1 alone stand beyond the others, within the frame, in both panels alike.
func TestApart(t *testing.T) {
	bins := []calib.Bin{bin(0, 0, 40, 0, 0.1), bin(0, 1, 100, 0.5, 0.5), bin(1, 1, 40, 1, 0.9)}
	all := parse(t, write(t, "svg", &Reliability{Bins: bins}))
	f := frames(all)
	bars, shares := with(all, 4, "fill:#C7E1F2")[1:], with(all, 4, "fill:#9FB4C2")
	if len(bars) != 3 || len(shares) != 3 {
		t.Fatalf("%d bars, %d shares", len(bars), len(shares))
	}
	for i := range bars {
		if i > 0 && bars[i].pts[0][0] <= bars[i-1].pts[1][0] || bars[i].pts[0][0] < f[0][0] || bars[i].pts[1][0] > f[0][2] {
			t.Errorf("bar %d is at %v", i, bars[i].pts)
		}
		if bars[i].pts[0][0] != shares[i].pts[0][0] {
			t.Errorf("bar %d is not above its share", i)
		}
	}
}

// TestOverlay: a curve of each set breaks at empty bins, and points of few rows are hollow.
func TestOverlay(t *testing.T) {
	sets := []Set{{"a", five()}, {"b", many(10)}, {"<c>", nil}}
	for _, y := range []Y{Accuracy, Gap} {
		svg := write(t, "svg", &Overlay{Sets: sets, Y: y})
		all := parse(t, svg)
		f := frames(all)
		if len(f) != 2 || f[0][0] != f[1][0] || f[0][2] != f[1][2] {
			t.Fatalf("the panels are %v", f)
		}
		x := func(v float64) float64 { return f[0][0] + v*(f[0][2]-f[0][0]) }
		curves := with(all, 2, "stroke:#0072B2", "stroke-width:1.3")[1:] // the first is the key's
		if len(curves) != 2 {
			t.Fatalf("the curve of a has %d pieces", len(curves))
		}
		b := five()
		for k, ij := range [][2]int{{0, 1}, {3, 4}} {
			for m, i := range ij {
				want, lo, hi := b[i].Frequency, 0.0, 1.0
				if y == Gap {
					want -= b[i].Confidence
					lo, hi = gapRange(true, false, sets[0].Bins, sets[1].Bins)
				}
				near(t, "a point", curves[k].pts[m][0], x(b[i].Confidence))
				near(t, "a point's height", curves[k].pts[m][1], f[0][1]+(want-lo)/(hi-lo)*(f[0][3]-f[0][1]))
			}
		}
		// Markers: 16 corners of a, one of its four hollow; 4 of b, six of ten hollow, with an outline.
		hollow := len(with(all, 16, "fill:#FFFFFF")) - 1
		if full := len(with(all, 16, "fill:#0072B2")) - 1; full != 3 || hollow != 1 {
			t.Errorf("a has %d points and %d hollow ones", full, hollow)
		}
		if full := len(with(all, 4, "fill:#D55E00")) - 1; full != 4 {
			t.Errorf("b has %d points with enough rows", full)
		}
		for _, w := range []string{">a<", ">b<", ">&lt;c&gt;<", ">hollow: fewer than 30 rows<"} {
			if !bytes.Contains(svg, []byte(w)) {
				t.Errorf("the key does not have %s", w)
			}
		}
	}
	// Sets are told apart without colours.
	seen := map[string]bool{}
	for i := range 28 {
		l := lookOf(i)
		seen[fmt.Sprint(l.marker, l.color.Dashes)] = true
	}
	if len(seen) != 28 {
		t.Errorf("%d looks of 28 sets", len(seen))
	}
}

// TestClasses: all panels have the same size and scale, and of too many classes the right ones are shown.
func TestClasses(t *testing.T) {
	var classes []Class
	for i := range 40 {
		classes = append(classes, Class{fmt.Sprintf("k%02d", i), []calib.Bin{bin(0, 0.5, 100, 0.2, 0.2+0.01*float64((i*7)%40)), bin(0.5, 1, 100, 0.8, 0.8-0.002*float64(i))}})
	}
	svg := write(t, "svg", &Classes{Classes: classes})
	f := frames(parse(t, svg))
	if len(f) != 25 {
		t.Fatalf("%d panels", len(f))
	}
	for i, r := range f {
		near(t, "a panel's width", r[2]-r[0], f[0][2]-f[0][0])
		near(t, "a panel's height", r[3]-r[1], f[0][3]-f[0][1])
		near(t, "a panel's left side", r[0], f[i%5][0])
		near(t, "a panel's lower side", r[1], f[i/5*5][1])
	}
	if !bytes.Contains(svg, []byte("The 25 of 40 classes with the largest calibration error; 15 are left out.")) {
		t.Error("it is not said what is left out")
	}
	for _, o := range []Order{LargestError, MostRows} {
		d := &Classes{Classes: classes, Most: 3, Order: o}
		got, _ := d.shown()
		value := (*Class).ece
		if o == MostRows {
			value = (*Class).events
		}
		least := math.Inf(1)
		for i := range got {
			least = math.Min(least, value(&got[i]))
		}
		better := 0
		for i := range classes {
			if value(&classes[i]) > least {
				better++
			}
		}
		if len(got) != 3 || better != 2 || !slices.IsSortedFunc(got, func(a, b Class) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("order %d: %d classes, %d above the least", o, len(got), better)
		}
	}
	if c := (&Class{Bins: five()}); math.Abs(c.ece()-(29*0.8+30*0.15+200*0.2+741*0.01)/1000) > 1e-12 {
		t.Errorf("the error of a class is %v", c.ece())
	}
}

// TestManyBins: more bins than are drawn one by one are pooled, and nothing is lost.
func TestManyBins(t *testing.T) {
	for _, n := range []int{1, 199, 200, 201, 1000, 12345} {
		bins := append(append([]calib.Bin{bin(0, 0, 9, 0, 0)}, many(n)...), bin(1, 1, 9, 1, 1))
		got, group := bars(bins)
		rows, y, rows0, y0 := int64(0), 0.0, int64(0), 0.0
		for _, b := range bins {
			rows0, y0 = rows0+b.Count, y0+b.Weight*b.Frequency
		}
		for i, b := range got {
			rows, y = rows+b.Count, y+b.Weight*b.Frequency
			if i > 0 && b.Lower != got[i-1].Upper {
				t.Errorf("%d bins: a bar starts at %v after %v", n, b.Lower, got[i-1].Upper)
			}
		}
		if len(got) > mostBars+2 || rows != rows0 || math.Abs(y/y0-1) > 1e-12 || (group == 1) != (n <= 198) {
			t.Errorf("%d bins are %d bars of %d, with %d rows of %d", n, len(got), group, rows, rows0)
		}
		if got[0].Upper != 0 || got[len(got)-1].Lower != 1 {
			t.Errorf("%d bins: the outer ones are not apart", n)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   string
	}{
		{0, 1, 5, "0.0 0.2 0.4 0.6 0.8 1.0"}, {-0.41, 0.17, 7, "-0.4 -0.3 -0.2 -0.1 0.0 0.1"}, {0, 100, 4, "0 50 100"}, {0, 43, 4, "0 20 40"},
		{-0.005, 0.005, 7, "-0.004 -0.002 0.000 0.002 0.004"}, {0, 0.0123, 4, "0.000 0.005 0.010"}, {-1, 1, 7, "-1.0 -0.5 0.0 0.5 1.0"},
	} {
		if got := strings.Join(labels(ticks(c.lo, c.hi, c.n)), " "); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}

// TestText: what does not fit is broken or cut, never run over the edge.
func TestText(t *testing.T) {
	st := style(textSize, black)
	for _, s := range []string{"a few words that are to be broken at spaces", strings.Repeat("w", 300), "é" + strings.Repeat(" long", 50), ""} {
		for _, width := range []vg.Length{30, 100, 400} {
			lines := wrap(s, st, width)
			for _, l := range lines {
				if st.Width(l) > width {
					t.Errorf("%q is wider than %v", l, width)
				}
			}
			if words := strings.Join(lines, " "); !strings.Contains(words, "...") && words != s {
				t.Errorf("%q became %q", s, words)
			}
		}
	}
	if !bytes.Contains(write(t, "svg", &Reliability{Title: "a < b & c"}), []byte("a &lt; b &amp; c")) {
		t.Error("text is not escaped")
	}
}

// TestWords: the axes say whose frequency is drawn.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		event     calib.Event
		y         Y
		score, up string
	}{
		{calib.ByShape, Accuracy, "confidence", "accuracy"}, {calib.TopLabel, Frequency, "confidence", "relative frequency of a right top label"},
		{calib.TopLabel, Gap, "confidence", "accuracy - confidence"}, {calib.Positive, Frequency, "probability of y = 1", "share of y = 1"},
		{calib.Positive, Gap, "probability of y = 1", "share of y = 1 - probability"}, {calib.AllClasses, Gap, "probability", "relative frequency - probability"},
	} {
		svg := string(write(t, "svg", &Reliability{Bins: five(), Event: c.event, Y: c.y}))
		for _, w := range []string{c.score, c.up} {
			if !strings.Contains(svg, ">"+w+"<") {
				t.Errorf("event %d, %d: the axes do not say %q", c.event, c.y, w)
			}
		}
	}
	for i, n := range []string{"accuracy", "frequency", "gap"} {
		if y, ok := ParseY(n); !ok || y != Y(i) {
			t.Errorf("%s is %d", n, y)
		}
	}
	if _, ok := ParseY("Gap"); ok {
		t.Error("Gap is a name")
	}
}

// TestParallel: pictures may be drawn at the same time.
func TestParallel(t *testing.T) {
	d := &Reliability{Title: "t", Bins: five()}
	for _, format := range Formats() {
		want := write(t, format, d)
		var wg sync.WaitGroup
		for range check.Size(2, 4, 4) {
			wg.Go(func() {
				var b bytes.Buffer
				if err := Write(&b, format, d); err != nil || !bytes.Equal(b.Bytes(), want) {
					t.Errorf("%s: %v, or other bytes", format, err)
				}
			})
		}
		wg.Wait()
	}
}
