package scene

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// contrast returns the contrast of two colours by WCAG 2.
func contrast(a, b uint32) float64 {
	light := func(c uint32) float64 {
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			v := float64(c>>(16-8*i)&0xff) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += weight * v
		}
		return sum
	}
	x, y := light(a), light(b)
	if x < y {
		x, y = y, x
	}
	return (x + 0.05) / (y + 0.05)
}

func TestContrast(t *testing.T) {
	if c := contrast(0, 0xffffff); math.Abs(c-21) > 1e-9 {
		t.Fatalf("black on white is %g, want 21", c)
	}
	if c := contrast(0x777777, 0xffffff); math.Abs(c-4.478) > 1e-3 {
		t.Fatalf("#777 on white is %g, want 4.478", c)
	}
	names := map[string]bool{}
	for i, k := range Tokens() {
		if k.Role != Role(i+1) || k.Name == "" || names[k.Name] {
			t.Errorf("token %d is of role %d and named %q", i, k.Role, k.Name)
		}
		names[k.Name] = true
		least := map[Use]float64{Words: 4.5, Shape: 3}[k.Use]
		for _, behind := range []Role{Bg, Card} {
			b := behind.Token()
			if c := contrast(k.Light, b.Light); c < least {
				t.Errorf("%s on %s has a contrast of %.2f in light, want %g", k.Name, b.Name, c, least)
			}
			if c := contrast(k.Dark, b.Dark); c < least {
				t.Errorf("%s on %s has a contrast of %.2f in dark, want %g", k.Name, b.Name, c, least)
			}
		}
	}
	// Words in front of a band are read too.
	for _, r := range []Role{Ink, Muted} {
		if k, b := r.Token(), Band.Token(); contrast(k.Light, b.Light) < 4.5 || contrast(k.Dark, b.Dark) < 4.5 {
			t.Errorf("%s on a band has a contrast of %.2f and %.2f", k.Name, contrast(k.Light, b.Light), contrast(k.Dark, b.Dark))
		}
	}
}

// some is a scene with every mark.
func some() *Scene {
	s := &Scene{Width: 100, Height: 50.5, Title: "A <title>", Desc: `says "x" & y`}
	s.Add(Rect{X: 1, Y: 2, W: 3.333, H: 4, Paint: Paint{Fill: Band, Line: Axis, Width: 0.5}},
		Line{X1: 0, Y1: 10, X2: 20, Y2: 10, Paint: Stroke(Ink, 1).Dashed(Dashes)},
		Path{Points: []Point{{0, 0}, {0, 5}, {0, 7}, {-3, 9}, {-4, 4.5}, {-4, 4.5}, {6, 4.5}}, Paint: Stroke(Over, 2)},
		Path{Points: []Point{{1, 1}, {2, 1}, {2, 2}}, Closed: true, Paint: Fill(Under)},
		Path{Points: []Point{{1, 1}}, Paint: Stroke(Set7, 1)},
		Group{X: 10, Y: 20, Title: "tip\n", Marks: []Mark{Circle{X: 1, Y: 1, R: 2.25, Paint: Fill(Ideal)},
			Group{X: 5, Marks: []Mark{Text{X: 0.125, Y: -1, S: "a\x1b<b>", Anchor: End, Size: Small, Role: Muted}}}}},
		Text{X: 1, Y: 1}, Text{X: 2, Y: 3, S: "−5", Bold: true, Anchor: Middle})
	return s
}

func TestSVG(t *testing.T) {
	const want = `<svg xmlns="http://www.w3.org/2000/svg" width="100pt" height="50.5pt" viewBox="0 0 100 50.5" font-family='"Liberation Sans",Arial,Helvetica,sans-serif' role="img" aria-labelledby="candor-t candor-d"><title id="candor-t">A &lt;title&gt;</title><desc id="candor-d">says &#34;x&#34; &amp; y</desc>
<style>@media(prefers-color-scheme:dark){.f-bg{fill:#14171a}.f-ink{fill:#e8eaed}.s-ink{stroke:#e8eaed}.f-muted{fill:#a3adb8}.s-axis{stroke:#727c87}.f-band{fill:#2f363d}.s-over{stroke:#ff8f4d}.f-under{fill:#3ecf9f}.f-ideal{fill:#6ab4f0}}</style>
<rect x="0" y="0" width="100" height="50.5" fill="#fff" class="f-bg"/>
<rect x="1" y="2" width="3.33" height="4" fill="#e3e7ec" stroke="#858e98" stroke-width=".5" class="f-band s-axis"/>
<path d="M0 10h20" fill="none" stroke="#1a1d21" stroke-dasharray="4 3" class="s-ink"/>
<path d="M0 0v5 2l-3 2-1-4.5h10" fill="none" stroke="#c24e00" stroke-width="2" class="s-over"/>
<path d="M1 1h1v1z" fill="#007a5a" class="f-under"/>
<g><title>tip\n</title><circle cx="11" cy="21" r="2.25" fill="#0067a8" class="f-ideal"/><text x="15.13" y="19" fill="#59636e" font-size="8.5" text-anchor="end" class="f-muted">a\x1b&lt;b&gt;</text></g>
<text x="2" y="3" fill="#1a1d21" font-size="10" font-weight="bold" text-anchor="middle" class="f-ink">−5</text>
</svg>
`
	if got := string(some().SVG()); got != want {
		t.Errorf("SVG is\n%s\nwant\n%s", got, want)
	}
}

func TestInline(t *testing.T) {
	const want = `<svg class="pic wide" viewBox="0 0 100 50.5" role="img" aria-labelledby="rel-t rel-d"><title id="rel-t">A &lt;title&gt;</title><desc id="rel-d">says &#34;x&#34; &amp; y</desc>` +
		`<rect x="1" y="2" width="3.3" height="4" stroke-width=".5" class="f-band s-axis"/>` +
		`<path d="M0 10h20" stroke-dasharray="4 3" class="n s-ink"/>` +
		`<path d="M0 0v5 2l-3 2-1-4.5h10" stroke-width="2" class="n s-over"/>` +
		`<path d="M1 1h1v1z" class="f-under"/>` +
		`<g class="pt"><title>tip\n</title><circle cx="11" cy="21" r="2.3" class="f-ideal"/><text x="15.1" y="19" class="f-muted z1 e">a\x1b&lt;b&gt;</text></g>` +
		`<text x="2" y="3" class="b m">−5</text></svg>`
	if got := string(some().Inline("rel", "wide")); got != want {
		t.Errorf("the element is\n%s\nwant\n%s", got, want)
	}
	if got := string((&Scene{Width: 120, Height: 16}).Inline("", "mini")); got != `<svg class="pic mini" viewBox="0 0 120 16" aria-hidden="true"></svg>` {
		t.Errorf("decoration is %s", got)
	}
	d := xml.NewDecoder(bytes.NewReader(some().Inline("a", "")))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestInlineRuns: in a page, neighbours of one kind and paint are one element.
func TestInlineRuns(t *testing.T) {
	grid, box := Stroke(Grid, 1), Fill(Band)
	s := &Scene{Width: 10, Height: 10}
	s.Add(Line{X1: 0, Y1: 1, X2: 5, Y2: 1, Paint: grid}, Path{Points: []Point{{0, 2}, {3, 2}, {3, 4}}, Paint: grid}, Line{X1: 0, Y1: 3, X2: 5, Y2: 3, Paint: Stroke(Grid, 2)},
		Rect{X: 1, Y: 1, W: 2, H: 3, Paint: box}, Rect{X: 3, Y: 0.04, W: 1.03, H: 3, Paint: box}, Path{Points: []Point{{0, 0}, {1, 0}, {1, 1}}, Closed: true, Paint: box},
		Circle{X: 1, R: 1, Paint: box}, Circle{X: 2, R: 1, Paint: box})
	const want = `<svg class="pic" viewBox="0 0 10 10" aria-hidden="true"><path d="M0 1h5M0 2h3v2" class="n s-grid"/><path d="M0 3h5" stroke-width="2" class="n s-grid"/>` +
		`<path d="M1 1h2v3h-2zM3 0h1v3h-1z" class="f-band"/><path d="M0 0h1v1z" class="f-band"/><circle cx="1" cy="0" r="1" class="f-band"/><circle cx="2" cy="0" r="1" class="f-band"/></svg>`
	if got := string(s.Inline("", "")); got != want {
		t.Errorf("the element is\n%s\nwant\n%s", got, want)
	}
}

// Every class that Inline writes has a rule, and every variable that a rule uses is there in light and in dark.
func TestCSS(t *testing.T) {
	s := &Scene{Width: 1, Height: 1}
	for _, k := range Tokens() {
		s.Add(Rect{W: 1, H: 1, Paint: Paint{Fill: k.Role, Line: k.Role}})
	}
	for z := Normal; z <= Head; z++ {
		s.Add(Text{S: "a", Size: z, Bold: true, Anchor: Middle}, Text{S: "a", Size: z, Anchor: End}, Line{Paint: Stroke(Ink, 1)})
	}
	css := CSS()
	for _, m := range regexp.MustCompile(`class="([^"]*)"`).FindAllStringSubmatch(string(s.Inline("a", "")), -1) {
		for _, c := range strings.Fields(m[1]) {
			if c != "pic" && !strings.Contains(css, ".pic ."+c+"{") {
				t.Errorf("there is no rule for class %s", c)
			}
		}
	}
	for _, m := range regexp.MustCompile(`var\((--[a-z0-9]+)\)`).FindAllStringSubmatch(css, -1) {
		if n := strings.Count(css, m[1]+":#"); n != 2 {
			t.Errorf("%s has %d colours, want 2", m[1], n)
		}
	}
	if strings.Count(css, "{") != strings.Count(css, "}") || len(css) > 6000 {
		t.Errorf("CSS has %d bytes, { %d times and } %d times", len(css), strings.Count(css, "{"), strings.Count(css, "}"))
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		v    float64
		two  string
		one  string
		full int
	}{{0, "0", "0", 0}, {math.Copysign(0, -1), "0", "0", 0}, {1, "1", "1", 100}, {0.5, ".5", ".5", 50}, {-0.05, "-.05", "0", -5}, {12.345, "12.35", "12.4", 1235},
		{-12.34, "-12.34", "-12.3", -1234}, {99.996, "100", "100", 10000}, {0.004, "0", "0", 0}, {-0.149, "-.15", "-.1", -15}} {
		h := Hundredths(c.v)
		if h != c.full || number(h, 2) != c.two || number(h, 1) != c.one {
			t.Errorf("%g is %d, %q and %q; want %d, %q and %q", c.v, h, number(h, 2), number(h, 1), c.full, c.two, c.one)
		}
		for d, s := range map[int]string{2: number(h, 2), 1: number(h, 1)} {
			if got, err := strconv.ParseFloat(s, 64); err != nil || math.Abs(got-c.v) > 0.5001*math.Pow(10, -float64(d))+0.005 {
				t.Errorf("%g with %d decimals reads as %g: %v", c.v, d, got, err)
			}
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e9} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%g is written", v)
				}
			}()
			Hundredths(v)
		}()
	}
}

// Marks that are cut into groups are where they would be without.
func TestFlat(t *testing.T) {
	s := &Scene{Marks: []Mark{Group{X: 1, Y: 2, Marks: []Mark{
		Rect{X: 1}, Line{X2: 1}, Path{Points: []Point{{3, 4}}}, Circle{Y: 1}, Group{X: 10, Marks: []Mark{Text{X: 5, S: "a"}}}}}, Circle{R: 1}}}
	got := fmt.Sprint(s.Flat())
	if w := fmt.Sprint([]Mark{Rect{X: 2, Y: 2}, Line{X1: 1, Y1: 2, X2: 2, Y2: 2}, Path{Points: []Point{{4, 6}}}, Circle{X: 1, Y: 3},
		Text{X: 16, Y: 2, S: "a"}, Circle{R: 1}}); got != w {
		t.Errorf("marks are\n%s\nwant\n%s", got, w)
	}
	if p := s.Marks[0].(Group).Marks[2].(Path); p.Points[0] != (Point{3, 4}) {
		t.Error("the scene has changed")
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		s    string
		bold bool
		want float64 // in 1/2048 of the size
	}{{"", false, 0}, {"A", false, 1366}, {"i", false, 455}, {"AVA", false, 3 * 1366}, {"0123456789", false, 11390}, {"−×", false, 2 * 1196}, {"é", false, 1139},
		{"A", true, 1479}, {"\n", false, 569 + 1139}, {"世", false, 2048}, {"e\u0301", false, 1139}} {
		if got, want := Width(c.s, Strong, c.bold), c.want*12/2048; math.Abs(got-want) > 1e-9 {
			t.Errorf("the width of %q is %g, want %g", c.s, got, want)
		}
	}
	long := strings.Repeat("group-", 10) + "west"
	for _, f := range []func(string, Size, bool, float64) string{Cut, CutMiddle} {
		got := f(long, Normal, false, 100)
		if w := Width(got, Normal, false); w > 100 || w < 85 || strings.Count(got, "…") != 1 || !strings.HasPrefix(got, "group-") {
			t.Errorf("%q has a width of %g", got, w)
		}
		if got := f("short", Normal, false, 100); got != "short" {
			t.Errorf("a short text is %q", got)
		}
		if got := f("wide", Normal, false, 1); got != "…" {
			t.Errorf("without room a text is %q", got)
		}
	}
	if got := CutMiddle(long, Normal, false, 100); !strings.HasSuffix(got, "west") {
		t.Errorf("the end of %q is cut", got)
	}
	lines := Wrap("one two three\n\nfour "+long, Normal, false, 50)
	if len(lines) != 4 || lines[0] != "one two" || lines[1] != "three" || lines[2] != "four" || Width(lines[3], Normal, false) > 50 {
		t.Errorf("lines are %q", lines)
	}
}
