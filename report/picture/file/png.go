//go:build !js

package file

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/golang/freetype/raster"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/report/scene"
)

// scale is the number of pixels of a point.
const scale = 3

// pixels returns a scene as PNG.
func pixels(s *scene.Scene) ([]byte, error) {
	w, h := pixel(s.Width), pixel(s.Height)
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	c := &canvas{raster.NewRasterizer(w, h), raster.NewRGBAPainter(img)}
	c.UseNonZeroWinding = true
	c.fill(scene.Bg, rectangle(0, 0, w*64, h*64))
	for _, m := range s.Flat() {
		c.mark(m)
	}
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	err := e.Encode(&b, indexed(img))
	return b.Bytes(), err
}

// indexed returns an image with a palette, which makes a file of a third of the size, if it has no more than 256 colours; otherwise the image
// itself.
func indexed(img *image.RGBA) image.Image {
	at := map[[4]uint8]uint8{}
	p := image.NewPaletted(img.Rect, nil)
	for i := range p.Pix {
		c := [4]uint8(img.Pix[4*i : 4*i+4])
		n, ok := at[c]
		if !ok {
			if len(at) == 256 {
				return img
			}
			n = uint8(len(at))
			at[c] = n
			p.Palette = append(p.Palette, color.RGBA{c[0], c[1], c[2], c[3]})
		}
		p.Pix[i] = n
	}
	return p
}

// Paint paints spans of a row. Of how much of a pixel a shape covers 16 levels are kept: the eye sees no more, and there are fewer colours.
func (c *canvas) Paint(spans []raster.Span, done bool) {
	for i := range spans {
		const step = 0xffff / 15
		spans[i].Alpha = (spans[i].Alpha + step/2) / step * step
	}
	c.painter.Paint(spans, done)
}

// canvas draws paths on an image, in 64ths of a pixel.
type canvas struct {
	*raster.Rasterizer
	painter *raster.RGBAPainter
}

// sixtyFourths returns a coordinate in 64ths of a pixel, from its hundredths of a point.
func sixtyFourths(v float64) int {
	n := scene.Hundredths(v) * scale * 64 * 2
	return floor(n+100, 200)
}

// pixel returns a coordinate as the nearest whole pixel.
func pixel(v float64) int { return floor(2*scene.Hundredths(v)*scale+100, 200) }

// floor divides whole numbers downwards.
func floor(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func point(x, y int) fixed.Point26_6 {
	return fixed.Point26_6{X: fixed.Int26_6(x), Y: fixed.Int26_6(y)}
}

func rectangle(x0, y0, x1, y1 int) raster.Path {
	var p raster.Path
	p.Start(point(x0, y0))
	p.Add1(point(x1, y0))
	p.Add1(point(x1, y1))
	p.Add1(point(x0, y1))
	p.Add1(point(x0, y0))
	return p
}

// fill paints the inside of a path.
func (c *canvas) fill(r scene.Role, p raster.Path) {
	c.Clear()
	c.AddPath(p)
	c.paint(r)
}

func (c *canvas) paint(r scene.Role) {
	v := r.Token().Light
	c.painter.SetColor(color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff})
	c.Rasterize(c)
}

// stroke paints a line along a path.
func (c *canvas) stroke(r scene.Role, p raster.Path, width int) {
	c.Clear()
	c.AddStroke(p, fixed.Int26_6(width), raster.ButtCapper, raster.RoundJoiner)
	c.paint(r)
}

func (c *canvas) mark(m scene.Mark) {
	switch m := m.(type) {
	case scene.Rect:
		// Sides are on whole pixels, and a filled rectangle is not lost between them.
		x0, y0, x1, y1 := pixel(m.X), pixel(m.Y), pixel(m.X+m.W), pixel(m.Y+m.H)
		if m.W > 0 && m.H > 0 {
			x1, y1 = max(x1, x0+1), max(y1, y0+1)
		}
		p := rectangle(x0*64, y0*64, x1*64, y1*64)
		if m.Fill != scene.None {
			c.fill(m.Fill, p)
		}
		c.outline(m.Paint, p)
	case scene.Circle:
		x, y, r := sixtyFourths(m.X), sixtyFourths(m.Y), sixtyFourths(m.R)
		if m.Fill != scene.None {
			c.fill(m.Fill, circle(x, y, r, 1))
		}
		if m.Line != scene.None { // a ring: the inner circle runs the other way
			w := thickness(m.Paint)
			c.fill(m.Line, append(circle(x, y, r+w/2, 1), circle(x, y, max(0, r-w/2), -1)...))
		}
	case scene.Path:
		if len(m.Points) < 2 {
			return
		}
		if m.Closed {
			p := path(append(m.Points[:len(m.Points):len(m.Points)], m.Points[0]))
			if m.Fill != scene.None {
				c.fill(m.Fill, p)
			}
			c.outline(m.Paint, p)
			return
		}
		c.line(m.Points, m.Paint)
	case scene.Line:
		c.line([]scene.Point{{X: m.X1, Y: m.Y1}, {X: m.X2, Y: m.Y2}}, m.Paint)
	case scene.Text:
		c.text(m)
	}
}

// thickness returns the width of a line in 64ths of a pixel.
func thickness(p scene.Paint) int {
	if p.Width == 0 {
		return scale * 64
	}
	return sixtyFourths(p.Width)
}

func (c *canvas) outline(p scene.Paint, along raster.Path) {
	if p.Line != scene.None {
		c.stroke(p.Line, along, thickness(p))
	}
}

func path(pts []scene.Point) raster.Path {
	var p raster.Path
	for i, q := range pts {
		at := point(sixtyFourths(q.X), sixtyFourths(q.Y))
		if i == 0 {
			p.Start(at)
		} else {
			p.Add1(at)
		}
	}
	return p
}

// circle returns four arcs, each within 1/3,000 of the radius, that run one way or the other.
func circle(x, y, r, way int) raster.Path {
	k := floor(r*5523+5000, 10000)
	var p raster.Path
	p.Start(point(x+r, y))
	p.Add3(point(x+r, y+way*k), point(x+k, y+way*r), point(x, y+way*r))
	p.Add3(point(x-k, y+way*r), point(x-r, y+way*k), point(x-r, y))
	p.Add3(point(x-r, y-way*k), point(x-k, y-way*r), point(x, y-way*r))
	p.Add3(point(x+k, y-way*r), point(x+r, y-way*k), point(x+r, y))
	return p
}

// line draws a line through points. A level or upright one is sharp: its sides are on whole pixels.
func (c *canvas) line(pts []scene.Point, p scene.Paint) {
	if p.Line == scene.None {
		return
	}
	for _, l := range dashed(pts, p.Dash.Pattern()) {
		a, b := l[0], l[len(l)-1]
		w := max(1, floor(thickness(p)+32, 64))
		switch {
		case len(l) == 2 && scene.Hundredths(a.Y) == scene.Hundredths(b.Y):
			y := floor(sixtyFourths(a.Y)-w*32+32, 64)
			x0, x1 := sixtyFourths(min(a.X, b.X)), sixtyFourths(max(a.X, b.X))
			c.fill(p.Line, rectangle(x0, y*64, x1, (y+w)*64))
		case len(l) == 2 && scene.Hundredths(a.X) == scene.Hundredths(b.X):
			x := floor(sixtyFourths(a.X)-w*32+32, 64)
			y0, y1 := sixtyFourths(min(a.Y, b.Y)), sixtyFourths(max(a.Y, b.Y))
			c.fill(p.Line, rectangle(x*64, y0, (x+w)*64, y1))
		default:
			c.stroke(p.Line, path(l), thickness(p))
		}
	}
}

// dashed cuts a line into the dashes of a pattern.
func dashed(pts []scene.Point, pattern []float64) (out [][]scene.Point) {
	if pattern == nil {
		return [][]scene.Point{pts}
	}
	i, left := 0, pattern[0]
	now := []scene.Point{pts[0]}
	for j := 1; j < len(pts); j++ {
		a, b := pts[j-1], pts[j]
		dx, dy := b.X-a.X, b.Y-a.Y
		length := math.Sqrt(float64(dx*dx) + float64(dy*dy))
		done := 0.0
		for length-done > left {
			done += left
			q := scene.Point{X: a.X + float64(dx*(done/length)), Y: a.Y + float64(dy*(done/length))}
			if i%2 == 0 {
				out = append(out, append(now, q))
			}
			now = []scene.Point{q}
			i++
			left = pattern[i%len(pattern)]
		}
		left -= length - done
		now = append(now, b)
	}
	if i%2 == 0 && len(now) > 1 {
		out = append(out, now)
	}
	return out
}

// text draws the outlines of glyphs, each where the widths of all before it put it.
func (c *canvas) text(m scene.Text) {
	s := visible.Text(m.S)
	f := face(m.Bold).font
	ppem := fixed.Int26_6(sixtyFourths(m.Size.Points()))
	var buf sfnt.Buffer
	glyphs := make([]sfnt.GlyphIndex, 0, len(s))
	at := []int{0} // in units of the font
	for _, r := range s {
		g, err := f.GlyphIndex(&buf, r)
		if err != nil {
			g = 0
		}
		a, err := f.GlyphAdvance(&buf, g, fixed.Int26_6(f.UnitsPerEm())*64, font.HintingNone)
		if err != nil {
			a = 0
		}
		glyphs = append(glyphs, g)
		at = append(at, at[len(at)-1]+a.Round())
	}
	units := int(f.UnitsPerEm())
	along := func(n int) int { return floor(2*n*int(ppem)+units, 2*units) }
	x, y := sixtyFourths(m.X), sixtyFourths(m.Y)
	switch m.Anchor {
	case scene.Middle:
		x -= along(at[len(glyphs)]) / 2
	case scene.End:
		x -= along(at[len(glyphs)])
	}
	role := m.Role
	if role == scene.None {
		role = scene.Ink
	}
	c.Clear()
	for i, g := range glyphs {
		segments, err := f.LoadGlyph(&buf, g, ppem, nil)
		if err != nil {
			continue
		}
		d := point(x+along(at[i]), y)
		for _, s := range segments {
			switch p := s.Args; s.Op {
			case sfnt.SegmentOpMoveTo:
				c.Start(p[0].Add(d))
			case sfnt.SegmentOpLineTo:
				c.Add1(p[0].Add(d))
			case sfnt.SegmentOpQuadTo:
				c.Add2(p[0].Add(d), p[1].Add(d))
			case sfnt.SegmentOpCubeTo:
				c.Add3(p[0].Add(d), p[1].Add(d), p[2].Add(d))
			}
		}
	}
	c.paint(role)
}
