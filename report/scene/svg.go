package scene

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/visible"
)

// SVG returns the picture as a file. Colours are light, and dark where the reader prefers that; programs that do not know style
// sheets draw the light ones. Title and Desc are its title and description.
func (s *Scene) SVG() []byte {
	w := writer{decimals: 2}
	body := writer{decimals: 2, used: map[string]string{}}
	body.mark(Rect{W: s.Width, H: s.Height, Paint: Fill(Bg)})
	body.WriteByte('\n')
	for _, m := range s.Marks {
		n := body.Len()
		body.mark(m)
		if body.Len() > n {
			body.WriteByte('\n')
		}
	}
	width, height := number(Hundredths(s.Width), 2), number(Hundredths(s.Height), 2)
	fmt.Fprintf(&w, `<svg xmlns="http://www.w3.org/2000/svg" width="%spt" height="%[2]spt" viewBox="0 0 %[1]s %[2]s" font-family='%[3]s'`, width, height, Fonts)
	w.head(s, "candor")
	w.WriteString("\n<style>@media(prefers-color-scheme:dark){")
	for _, t := range tokens[Bg:] {
		for _, k := range []struct{ class, property string }{{"f-", "fill"}, {"s-", "stroke"}} {
			if _, ok := body.used[k.class+t.Name]; ok {
				fmt.Fprintf(&w, ".%s%s{%s:%s}", k.class, t.Name, k.property, hex(t.Dark))
			}
		}
	}
	w.WriteString("}</style>\n")
	w.Write(body.Bytes())
	w.WriteString("</svg>\n")
	return w.Bytes()
}

// Inline returns the picture as an svg element of a page that has CSS. The ids of its title and description begin with id, which must
// be the page's only one and plain letters, digits and hyphens. It scales to the width of what holds it. Class is added to its classes; it may
// be "".
func (s *Scene) Inline(id, class string) []byte {
	w := writer{decimals: 1, inline: true}
	if class != "" {
		class = " " + class
	}
	fmt.Fprintf(&w, `<svg class="pic%s" viewBox="0 0 %s %s"`, class, number(Hundredths(s.Width), 1), number(Hundredths(s.Height), 1))
	w.head(s, id)
	w.marks(s.Marks)
	w.WriteString("</svg>")
	return w.Bytes()
}

// writer writes marks as SVG.
type writer struct {
	bytes.Buffer
	decimals int
	inline   bool              // colours and sizes are classes of CSS
	used     map[string]string // classes that a file needs; nil inline
	dx, dy   float64
}

// head ends the start tag of the svg element, with its title and description.
func (w *writer) head(s *Scene, id string) {
	if s.Title == "" {
		w.WriteString(` aria-hidden="true">`)
		return
	}
	ids := id + "-t"
	desc := ""
	if s.Desc != "" {
		ids += " " + id + "-d"
		desc = fmt.Sprintf(`<desc id="%s-d">%s</desc>`, id, escape(s.Desc))
	}
	fmt.Fprintf(w, ` role="img" aria-labelledby="%s"><title id="%s-t">%s</title>%s`, ids, id, escape(s.Title), desc)
}

// marks writes marks. In a page, neighbours of one kind and paint are one element, which is a third of the bytes.
func (w *writer) marks(l []Mark) {
	for len(l) > 0 {
		n := 1
		if w.inline {
			n = alike(l)
		}
		if n == 1 {
			w.mark(l[0])
		} else {
			w.WriteString(`<path d="`)
			var paint Paint
			line := false
			for _, m := range l[:n] {
				var p []Point
				p, paint, line = outline(m)
				w.steps(p, !line)
			}
			w.WriteByte('"')
			w.paint(paint, line)
		}
		l = l[n:]
	}
}

// alike returns how many of the first marks can be one path.
func alike(l []Mark) int {
	_, paint, line := outline(l[0])
	n := 1
	for ; n < len(l) && paint != (Paint{}); n++ {
		if _, p, o := outline(l[n]); p != paint || o != line {
			break
		}
	}
	return n
}

// outline returns the points and the paint of a line, an open path or a rectangle; no paint for others.
func outline(m Mark) (p []Point, paint Paint, line bool) {
	switch m := m.(type) {
	case Rect:
		return []Point{{m.X, m.Y}, {m.X + m.W, m.Y}, {m.X + m.W, m.Y + m.H}, {m.X, m.Y + m.H}}, m.Paint, false
	case Line:
		return []Point{{m.X1, m.Y1}, {m.X2, m.Y2}}, m.Paint, true
	case Path:
		if len(m.Points) > 1 && !m.Closed {
			return m.Points, m.Paint, true
		}
	}
	return nil, Paint{}, false
}

// at returns a coordinate as text.
func (w *writer) at(v float64) string { return number(Hundredths(v), w.decimals) }

func (w *writer) x(v float64) string { return w.at(v + w.dx) }
func (w *writer) y(v float64) string { return w.at(v + w.dy) }

func (w *writer) mark(m Mark) {
	switch m := m.(type) {
	case Rect:
		// Both sides are rounded, so that neighbours still touch.
		x0, y0 := round(m.X+w.dx, w.decimals), round(m.Y+w.dy, w.decimals)
		x1, y1 := round(m.X+m.W+w.dx, w.decimals), round(m.Y+m.H+w.dy, w.decimals)
		fmt.Fprintf(w, `<rect x="%s" y="%s" width="%s" height="%s"`, number(x0, 2), number(y0, 2), number(x1-x0, 2), number(y1-y0, 2))
		w.paint(m.Paint, false)
	case Line:
		w.path([]Point{{m.X1, m.Y1}, {m.X2, m.Y2}}, false, m.Paint)
	case Path:
		if len(m.Points) > 1 {
			w.path(m.Points, m.Closed, m.Paint)
		}
	case Circle:
		fmt.Fprintf(w, `<circle cx="%s" cy="%s" r="%s"`, w.x(m.X), w.y(m.Y), w.at(m.R))
		w.paint(m.Paint, false)
	case Text:
		w.text(m)
	case Group:
		if m.Title != "" {
			w.WriteString("<g")
			if w.inline {
				w.WriteString(` class="pt"`)
			}
			fmt.Fprintf(w, "><title>%s</title>", escape(m.Title))
		}
		w.dx += m.X
		w.dy += m.Y
		w.marks(m.Marks)
		w.dx -= m.X
		w.dy -= m.Y
		if m.Title != "" {
			w.WriteString("</g>")
		}
	}
}

func (w *writer) path(p []Point, closed bool, paint Paint) {
	w.WriteString(`<path d="`)
	w.steps(p, closed)
	w.WriteByte('"')
	w.paint(paint, !closed)
}

// steps writes what a path consists of with relative steps, which are short.
func (w *writer) steps(p []Point, closed bool) {
	w.WriteByte('M')
	px, py, last := 0, 0, byte(0)
	for i, q := range p {
		x, y := round(q.X+w.dx, w.decimals), round(q.Y+w.dy, w.decimals)
		dx, dy := x-px, y-py
		px, py = x, y
		switch {
		case i == 0:
			w.pair(dx, dy)
			continue
		case dx == 0 && dy == 0 && i > 1:
			continue
		case dy == 0:
			last = w.step('h', last, dx)
		case dx == 0:
			last = w.step('v', last, dy)
		default:
			if last != 'l' {
				w.WriteByte('l')
			} else if dx >= 0 {
				w.WriteByte(' ')
			}
			w.pair(dx, dy)
			last = 'l'
		}
	}
	if closed {
		w.WriteByte('z')
	}
}

func (w *writer) step(command, last byte, d int) byte {
	if command != last {
		w.WriteByte(command)
	} else if d >= 0 {
		w.WriteByte(' ')
	}
	w.WriteString(number(d, 2))
	return command
}

func (w *writer) pair(x, y int) {
	w.WriteString(number(x, 2))
	if y >= 0 {
		w.WriteByte(' ')
	}
	w.WriteString(number(y, 2))
}

// paint ends a tag with how the shape is drawn. Of a line, nothing is filled.
func (w *writer) paint(p Paint, line bool) {
	var classes []string
	if p.Fill != None && !line {
		w.use(&classes, "f-", "fill", p.Fill)
	} else if line || w.inline {
		if w.inline {
			classes = append(classes, "n")
		} else {
			w.WriteString(` fill="none"`)
		}
	} else {
		w.WriteString(` fill="none"`)
	}
	if p.Line != None {
		w.use(&classes, "s-", "stroke", p.Line)
		if v := w.at(p.width()); v != "1" {
			fmt.Fprintf(w, ` stroke-width="%s"`, v)
		}
		if d := p.Dash.Pattern(); d != nil {
			var l []string
			for _, v := range d {
				l = append(l, w.at(v))
			}
			fmt.Fprintf(w, ` stroke-dasharray="%s"`, strings.Join(l, " "))
		}
	}
	w.class(classes)
	w.WriteString("/>")
}

// use names a colour: in a file, also its value.
func (w *writer) use(classes *[]string, kind, property string, r Role) {
	t := r.Token()
	*classes = append(*classes, kind+t.Name)
	if !w.inline {
		w.used[kind+t.Name] = property
		fmt.Fprintf(w, ` %s="%s"`, property, hex(t.Light))
	}
}

func (w *writer) class(l []string) {
	if len(l) > 0 {
		fmt.Fprintf(w, ` class="%s"`, strings.Join(l, " "))
	}
}

func (w *writer) text(m Text) {
	if m.S == "" {
		return
	}
	fmt.Fprintf(w, `<text x="%s" y="%s"`, w.x(m.X), w.y(m.Y))
	if m.Role == None {
		m.Role = Ink
	}
	var classes []string
	if w.inline {
		if m.Role != Ink {
			classes = append(classes, "f-"+m.Role.Token().Name)
		}
		if m.Size != Normal {
			classes = append(classes, "z"+strconv.Itoa(int(m.Size)))
		}
		if m.Bold {
			classes = append(classes, "b")
		}
		switch m.Anchor {
		case Middle:
			classes = append(classes, "m")
		case End:
			classes = append(classes, "e")
		}
	} else {
		w.use(&classes, "f-", "fill", m.Role)
		fmt.Fprintf(w, ` font-size="%s"`, w.at(m.Size.Points()))
		if m.Bold {
			w.WriteString(` font-weight="bold"`)
		}
		if m.Anchor != Start {
			fmt.Fprintf(w, ` text-anchor="%s"`, [...]string{"start", "middle", "end"}[m.Anchor])
		}
	}
	w.class(classes)
	fmt.Fprintf(w, ">%s</text>", escape(m.S))
}

// round returns a coordinate in hundredths, as it is written with that many decimals.
func round(v float64, decimals int) int {
	h := Hundredths(v)
	if decimals < 2 {
		h = tens(h)
	}
	return h
}

// tens rounds to a multiple of ten, halves up.
func tens(h int) int {
	h += 5
	if r := h % 10; r < 0 {
		return h - r - 10
	} else {
		return h - r
	}
}

// number writes hundredths with at most that many decimals, in as few characters as SVG allows.
func number(h, decimals int) string {
	if decimals < 2 {
		h = tens(h)
	}
	sign := ""
	if h < 0 {
		sign, h = "-", -h
	}
	whole, part := strconv.Itoa(h/100), h%100
	if part == 0 {
		if h == 0 {
			return "0"
		}
		return sign + whole
	}
	if h < 100 {
		whole = ""
	}
	if part%10 == 0 {
		return sign + whole + "." + strconv.Itoa(part/10)
	}
	return sign + whole + "." + strconv.Itoa(part/10) + strconv.Itoa(part%10)
}

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// escape returns text for an element, with what is not printable made visible.
func escape(s string) string { return escapes.Replace(visible.Text(s)) }
