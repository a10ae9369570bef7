package picture

import (
	"fmt"

	"github.com/candor-go/candor/report/scene"
)

// Flips draws a table of two by two: how many rows both models have right, only A, only B, and neither, each with its share. The zero value
// draws a table of no rows.
type Flips struct {
	Title, Subtitle             string
	A, B                        string // names of the models
	Both, OnlyA, OnlyB, Neither int64
}

// Scene returns the picture with its title and notes.
func (d *Flips) Scene() *scene.Scene { return sheet(d.Panel(), d.Title, d.Subtitle, nil) }

// Panel returns the table alone, 360 points wide.
func (d *Flips) Panel() *scene.Scene {
	const left, head, h = 96, 36, 76
	w := float64(panelWidth-left) / 2
	s := &scene.Scene{Width: panelWidth, Height: head + 2*h, Title: "Who is right"}
	total := d.Both + d.OnlyA + d.OnlyB + d.Neither
	s.Desc = fmt.Sprintf("Both are right in %s, only %s in %s, only %s in %s, neither in %s.", counted(d.Both, "row"), d.A, thousands(d.OnlyA), d.B, thousands(d.OnlyB), thousands(d.Neither))
	for i := range 2 {
		said := [...]string{"right", "wrong"}[i]
		x, y := left+float64(w*(float64(i)+0.5)), head+float64(h*(float64(i)+0.5))
		s.Add(scene.Text{X: x, Y: 12, S: scene.CutMiddle(d.B, scene.Normal, false, w-8), Anchor: scene.Middle}, label(x, 26, scene.Middle, said),
			scene.Text{X: left - 8, Y: y - 2, S: scene.CutMiddle(d.A, scene.Normal, false, left-10), Anchor: scene.End}, label(left-8, y+12, scene.End, said))
	}
	for i, c := range []struct {
		n    int64
		fill scene.Role
		text string
	}{{d.Both, scene.Card, "both right"}, {d.OnlyA, scene.Band, "only " + d.A + " right"}, {d.OnlyB, scene.Band, "only " + d.B + " right"}, {d.Neither, scene.Card, "both wrong"}} {
		x, y := left+float64(w*float64(i%2)), head+float64(h*float64(i/2))
		text := thousands(c.n)
		if total > 0 {
			text += ", " + share(float64(c.n)/float64(total), 1)
		}
		s.Add(scene.Rect{X: x + 1, Y: y + 1, W: w - 2, H: h - 2, Paint: scene.Paint{Fill: c.fill, Line: scene.Grid, Width: 0.8}},
			scene.Text{X: x + w/2, Y: y + h/2.0 - 1, S: text, Anchor: scene.Middle, Size: scene.Strong, Bold: true},
			label(x+float64(w/2), y+h/2.0+14, scene.Middle, scene.CutMiddle(c.text, scene.Normal, false, w-8)))
	}
	return s
}
