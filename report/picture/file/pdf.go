//go:build !js

package file

import (
	"bytes"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/sfnt"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/report/scene"
)

// pdf returns a scene as a PDF of one page of its size, with the part of the font that it uses.
func pdf(s *scene.Scene) ([]byte, error) {
	f := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: exact(s.Width), Ht: exact(s.Height)}})
	f.SetMargins(0, 0, 0)
	f.SetAutoPageBreak(false, 0)
	f.SetCatalogSort(true)
	then := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	f.SetCreationDate(then)
	f.SetModificationDate(then)
	f.SetProducer("candor", true)
	f.SetTitle(visible.Text(s.Title), true)
	f.SetSubject(visible.Text(s.Desc), true)
	f.SetLang("en")
	p := &paper{Fpdf: f}
	f.AddPage()
	for _, m := range s.Flat() {
		p.mark(m)
	}
	var b bytes.Buffer
	err := f.Output(&b)
	return b.Bytes(), err
}

// exact returns a coordinate as other formats have it.
func exact(v float64) float64 { return float64(scene.Hundredths(v)) / 100 }

// paper draws marks on a page.
type paper struct {
	*fpdf.Fpdf
	has [2]bool // fonts
}

// use sets the colours of a paint, and returns what is to be drawn: "F", "D", "FD" or "".
func (p *paper) use(paint scene.Paint) (what string) {
	if paint.Fill != scene.None {
		p.SetFillColor(rgb(paint.Fill))
		what = "F"
	}
	if paint.Line != scene.None {
		p.SetDrawColor(rgb(paint.Line))
		w := paint.Width
		if w == 0 {
			w = 1
		}
		p.SetLineWidth(w)
		pattern := paint.Dash.Pattern()
		if pattern == nil {
			pattern = []float64{}
		}
		p.SetDashPattern(pattern, 0)
		what += "D"
	}
	return what
}

func rgb(r scene.Role) (int, int, int) {
	v := r.Token().Light
	return int(v >> 16), int(v >> 8 & 0xff), int(v & 0xff)
}

func (p *paper) mark(m scene.Mark) {
	switch m := m.(type) {
	case scene.Rect:
		if how := p.use(m.Paint); how != "" {
			p.Rect(exact(m.X), exact(m.Y), exact(m.X+m.W)-exact(m.X), exact(m.Y+m.H)-exact(m.Y), how)
		}
	case scene.Circle:
		if how := p.use(m.Paint); how != "" {
			p.Circle(exact(m.X), exact(m.Y), exact(m.R), how)
		}
	case scene.Line:
		p.path([]scene.Point{{X: m.X1, Y: m.Y1}, {X: m.X2, Y: m.Y2}}, false, m.Paint)
	case scene.Path:
		p.path(m.Points, m.Closed, m.Paint)
	case scene.Text:
		p.text(m)
	}
}

func (p *paper) path(pts []scene.Point, closed bool, paint scene.Paint) {
	if !closed {
		paint.Fill = scene.None
	}
	how := p.use(paint)
	if how == "" || len(pts) < 2 {
		return
	}
	p.SetLineJoinStyle("round")
	for i, q := range pts {
		if i == 0 {
			p.MoveTo(exact(q.X), exact(q.Y))
		} else {
			p.LineTo(exact(q.X), exact(q.Y))
		}
	}
	if closed {
		p.ClosePath()
	}
	p.DrawPath(how)
}

func (p *paper) text(m scene.Text) {
	t := face(m.Bold)
	i, style := 0, ""
	if m.Bold {
		i, style = 1, "B"
	}
	if !p.has[i] {
		p.AddUTF8FontFromBytes("liberation", style, t.ttf)
		p.has[i] = true
	}
	// A character that the font lacks would be left out.
	var buf sfnt.Buffer
	s := strings.Map(func(r rune) rune {
		if g, err := t.font.GlyphIndex(&buf, r); err != nil || g == 0 || r > 0xffff {
			return '?'
		}
		return r
	}, visible.Text(m.S))
	if s == "" {
		return
	}
	p.SetFont("liberation", style, m.Size.Points())
	role := m.Role
	if role == scene.None {
		role = scene.Ink
	}
	p.SetTextColor(rgb(role))
	x := m.X
	switch w := scene.Width(s, m.Size, m.Bold); m.Anchor {
	case scene.Middle:
		x -= float64(w / 2)
	case scene.End:
		x -= w
	}
	p.Text(exact(x), exact(m.Y), s)
}
