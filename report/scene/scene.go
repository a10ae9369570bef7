package scene

import "math"

// Scene is a picture. Without a Title it is decoration, which Inline hides from screen readers.
type Scene struct {
	Width, Height float64 // in points
	Title         string  // what the picture is, in a few words
	Desc          string  // what it shows: the finding
	Marks         []Mark
}

// Mark is a Rect, Line, Path, Circle, Text or Group. Later marks cover earlier ones.
type Mark interface{ moved(dx, dy float64) Mark }

// Paint says how a shape is drawn: filled, outlined, or both.
type Paint struct {
	Fill  Role
	Line  Role
	Width float64 // of the line, in points; 0 means 1
	Dash  Dash
}

// Fill paints the inside of a shape.
func Fill(r Role) Paint { return Paint{Fill: r} }

// Stroke paints a line.
func Stroke(r Role, width float64) Paint { return Paint{Line: r, Width: width} }

// Dashed returns the paint with a dashed line.
func (p Paint) Dashed(d Dash) Paint {
	p.Dash = d
	return p
}

func (p Paint) width() float64 {
	if p.Width == 0 {
		return 1
	}
	return p.Width
}

// Dash is the pattern of a line.
type Dash uint8

// The patterns of lines.
const (
	Solid Dash = iota
	Dashes
	Dots
	DashDots
)

// Pattern returns the lengths of dashes and of the gaps after them, in points; nil for a solid line.
func (d Dash) Pattern() []float64 {
	switch d {
	case Dashes:
		return []float64{4, 3}
	case Dots:
		return []float64{1.5, 2.5}
	case DashDots:
		return []float64{7, 2.5, 1.5, 2.5}
	}
	return nil
}

// Rect is a rectangle with its upper left corner at (X, Y).
type Rect struct {
	X, Y, W, H float64
	Paint
}

// Line is a straight line.
type Line struct {
	X1, Y1, X2, Y2 float64
	Paint
}

// Point is a corner of a Path.
type Point struct{ X, Y float64 }

// Path is a line through points, or if Closed a polygon. Fewer than two points draw nothing.
type Path struct {
	Points []Point
	Closed bool
	Paint
}

// Circle is a circle around (X, Y).
type Circle struct {
	X, Y, R float64
	Paint
}

// Anchor says which point of a text is at X.
type Anchor uint8

// The anchors of a text.
const (
	Start Anchor = iota
	Middle
	End
)

// Size is a size of text. There are few, so that a page can enlarge them on small screens.
type Size uint8

// The sizes of text.
const (
	Normal Size = iota // ticks, names of axes, notes
	Small              // counts in a histogram
	Strong             // what stands out
	Head               // titles
)

// Points returns the size of a font, in points.
func (s Size) Points() float64 { return [...]float64{10, 8.5, 12, 13.5}[s] }

// Text is one line of text whose baseline is at Y. What is not printable in it is escaped.
type Text struct {
	X, Y   float64
	S      string
	Size   Size
	Anchor Anchor
	Bold   bool
	Role   Role // None is Ink
}

// Group holds marks at an offset. Its Title is shown where a pointer rests on it.
type Group struct {
	X, Y  float64
	Title string
	Marks []Mark
}

func (m Rect) moved(dx, dy float64) Mark {
	m.X += dx
	m.Y += dy
	return m
}

func (m Line) moved(dx, dy float64) Mark {
	m.X1 += dx
	m.X2 += dx
	m.Y1 += dy
	m.Y2 += dy
	return m
}

func (m Path) moved(dx, dy float64) Mark {
	p := make([]Point, len(m.Points))
	for i, q := range m.Points {
		p[i] = Point{q.X + dx, q.Y + dy}
	}
	m.Points = p
	return m
}

func (m Circle) moved(dx, dy float64) Mark {
	m.X += dx
	m.Y += dy
	return m
}

func (m Text) moved(dx, dy float64) Mark {
	m.X += dx
	m.Y += dy
	return m
}

func (m Group) moved(dx, dy float64) Mark {
	m.X += dx
	m.Y += dy
	return m
}

// Add appends marks.
func (s *Scene) Add(m ...Mark) { s.Marks = append(s.Marks, m...) }

// Flat returns the marks in their order, each where the groups that hold it put it. Groups themselves are left out.
func (s *Scene) Flat() []Mark {
	var out []Mark
	var walk func(l []Mark, dx, dy float64)
	walk = func(l []Mark, dx, dy float64) {
		for _, m := range l {
			if g, ok := m.(Group); ok {
				walk(g.Marks, dx+g.X, dy+g.Y)
				continue
			}
			out = append(out, m.moved(dx, dy))
		}
	}
	walk(s.Marks, 0, 0)
	return out
}

// Hundredths returns a coordinate as a whole number of hundredths of a point, halves up: what all writers draw. It panics if the
// coordinate is not finite or far beyond any picture.
func Hundredths(v float64) int {
	if !(v > -1e7 && v < 1e7) {
		panic("scene: a coordinate is not a number that a picture can hold")
	}
	return int(math.Floor(float64(100*v) + 0.5))
}
