package file

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"github.com/candor-go/candor/report/scene"
)

// some is a scene with every mark.
func some() *scene.Scene {
	s := &scene.Scene{Width: 100, Height: 60, Title: "A title", Desc: "what it shows"}
	var zigzag []scene.Point
	for i := range 20 {
		zigzag = append(zigzag, scene.Point{X: 5 + float64(i)*4.5, Y: 30 + float64(i*i%7)})
	}
	s.Add(scene.Rect{X: 1, Y: 2, W: 13.333, H: 4, Paint: scene.Paint{Fill: scene.Band, Line: scene.Axis, Width: 0.5}},
		scene.Line{X1: 3, Y1: 10, X2: 60.5, Y2: 10, Paint: scene.Stroke(scene.Ink, 1).Dashed(scene.Dashes)},
		scene.Line{X1: 3, Y1: 10, X2: 60.5, Y2: 40, Paint: scene.Stroke(scene.Muted, 0.7).Dashed(scene.DashDots)},
		scene.Path{Points: zigzag, Paint: scene.Stroke(scene.Over, 2)},
		scene.Path{Points: zigzag[:3], Paint: scene.Stroke(scene.Set4, 2).Dashed(scene.Dots)},
		scene.Path{Points: zigzag[:5], Closed: true, Paint: scene.Paint{Fill: scene.Under, Line: scene.Ink}},
		scene.Path{Points: zigzag[:1], Paint: scene.Stroke(scene.Over, 2)},
		scene.Group{X: 50, Y: 20, Title: "tip", Marks: []scene.Mark{scene.Circle{X: 1, Y: 1, R: 6.25, Paint: scene.Fill(scene.Ideal)}, scene.Circle{X: 20, Y: 1, R: 4, Paint: scene.Paint{Fill: scene.Bg, Line: scene.Muted, Width: 1.2}}}},
		scene.Text{X: 5, Y: 20, S: "Größe −5 × 3", Bold: true}, scene.Text{X: 95, Y: 55, S: "end, Ω 世 \x1b", Anchor: scene.End, Size: scene.Small, Role: scene.Muted}, scene.Text{X: 50, Y: 58, S: "middle", Anchor: scene.Middle, Size: scene.Strong},
		scene.Text{X: 1, Y: 1})
	return s
}

func written(t *testing.T, format string, s *scene.Scene) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBytes: files are the same on every CPU. If they change because the pictures do, put what it says here.
func TestBytes(t *testing.T) {
	for format, want := range map[string]string{
		"png": "d61b33bac7d2293352d25208db906f714709f962b48fca2e0d97cbc1a8c5a2bf",
		"svg": "1900fef34377efd76dc211ed46da0c3447bef0b0482eae92b0969ae689ff0e03",
		"pdf": "bb4b7aa8b364a773ee87b749c3caee77ce413a00a10bb5819f242abbd102a25c",
	} {
		if got := fmt.Sprintf("%x", sha256.Sum256(written(t, format, some()))); got != want {
			t.Errorf("the hash of the %s is %s, want %s", format, got, want)
		}
	}
}

// colour returns the light colour of a role.
func colour(r scene.Role) [3]uint32 {
	v := r.Token().Light
	return [3]uint32{v >> 16, v >> 8 & 0xff, v & 0xff}
}

func at(img image.Image, x, y float64) [3]uint32 {
	r, g, b, _ := img.At(int(x*scale), int(y*scale)).RGBA()
	return [3]uint32{r >> 8, g >> 8, b >> 8}
}

func TestPNG(t *testing.T) {
	img, err := png.Decode(bytes.NewReader(written(t, "png", some())))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != 300 || b.Dy() != 180 {
		t.Errorf("it is %v", b)
	}
	if _, ok := img.(*image.Paletted); !ok {
		t.Errorf("a picture of few colours is a %T", img)
	}
	for _, c := range []struct {
		x, y float64
		role scene.Role
	}{{0.1, 0.1, scene.Bg}, {99.5, 0.5, scene.Bg}, {5, 4, scene.Band}, {6.5, 10, scene.Ink}, {8.5, 10, scene.Bg}, {51, 21, scene.Ideal}, {51, 26.7, scene.Ideal}, {51, 27.6, scene.Bg}, {70, 21, scene.Bg}, {74, 21, scene.Muted}} {
		if got := at(img, c.x, c.y); got != colour(c.role) {
			t.Errorf("at (%v, %v) it is %v, want %s, %v", c.x, c.y, got, c.role.Token().Name, colour(c.role))
		}
	}
	// A text has as much ink, and as far, as its width says.
	left, right := math.Inf(1), math.Inf(-1)
	s := &scene.Scene{Width: 100, Height: 20}
	s.Add(scene.Text{X: 10, Y: 15, S: "HHHHHH", Size: scene.Strong})
	img, err = png.Decode(bytes.NewReader(written(t, "png", s)))
	if err != nil {
		t.Fatal(err)
	}
	for x := range 300 {
		for y := range 60 {
			if r, _, _, _ := img.At(x, y).RGBA(); r < 0x8000 {
				left, right = math.Min(left, float64(x)/scale), math.Max(right, float64(x+1)/scale)
			}
		}
	}
	if w := scene.Width("HHHHHH", scene.Strong, false); math.Abs(left-11) > 0.6 || math.Abs(right-(10+w-1)) > 0.6 {
		t.Errorf("the text is from %v to %v, its width is %v", left, right, w)
	}
}

// TestManyColours: a picture of more colours than a palette holds is written all the same.
func TestManyColours(t *testing.T) {
	s := &scene.Scene{Width: 200, Height: 200}
	for i, k := range scene.Tokens() {
		for j, l := range scene.Tokens() {
			x, y := float64(i)*9, float64(j)*9
			s.Add(scene.Rect{X: x, Y: y, W: 9, H: 9, Paint: scene.Fill(k.Role)}, scene.Circle{X: x + 4, Y: y + 4, R: 3, Paint: scene.Fill(l.Role)})
		}
	}
	img, err := png.Decode(bytes.NewReader(written(t, "png", s)))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := img.(*image.Paletted); ok {
		t.Error("it has a palette")
	}
	if got := at(img, 13, 13); got != colour(scene.Card) {
		t.Errorf("the second of the second is %v", got)
	}
}

func TestPDF(t *testing.T) {
	b := written(t, "pdf", some())
	for _, w := range []string{"%PDF-", "/MediaBox [0 0 100.00 60.00]", "/ToUnicode", "D:20000101000000"} {
		if !bytes.Contains(b, []byte(w)) {
			t.Errorf("it has no %s", w)
		}
	}
	if len(b) > 60000 {
		t.Errorf("it has %d bytes: the whole font?", len(b))
	}
	if bytes.Contains(written(t, "pdf", &scene.Scene{Width: 10, Height: 10}), []byte("/ToUnicode")) {
		t.Error("a PDF without text has a font")
	}
}

// TestWidths: the table of widths is that of the fonts.
func TestWidths(t *testing.T) {
	var runes []rune
	for r := rune(0x20); r < 0x100; r++ {
		if r < 0x7f || r >= 0xa0 && r != 0xad && r != 0xa0 { // what is shown as it is
			runes = append(runes, r)
		}
	}
	runes = append(runes, []rune("–—‘’“”…←↑→↓−≈≤≥")...)
	for _, bold := range []bool{false, true} {
		f := face(bold).font
		var buf sfnt.Buffer
		for _, r := range runes {
			g, err := f.GlyphIndex(&buf, r)
			if err != nil || g == 0 {
				t.Fatalf("the font has no %q", r)
			}
			a, err := f.GlyphAdvance(&buf, g, fixed.I(2048), font.HintingNone)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := scene.Width(string(r), scene.Normal, bold), float64(a.Round())*10/2048; math.Abs(got-want) > 1e-9 {
				t.Errorf("the width of %q is %v, want %v", r, got, want)
			}
		}
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

func TestErrors(t *testing.T) {
	full := errors.New("no space")
	for _, format := range Formats() {
		if err := Write(failing{full}, format, some()); !errors.Is(err, full) {
			t.Errorf("%s: %v", format, err)
		}
	}
	if err := Write(failing{full}, "gif", some()); err == nil || !strings.Contains(err.Error(), `there is no format "gif"; there are png, svg, pdf`) {
		t.Errorf("gif: %v", err)
	}
}
