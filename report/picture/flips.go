package picture

import (
	"fmt"
	"image/color"
	"strconv"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Flips draws a table of two by two: how many rows both models have right, only A, only B, and neither, each with its share. The zero value
// draws a table of no rows.
type Flips struct {
	Title, Subtitle             string
	A, B                        string // names of the models
	Both, OnlyA, OnlyB, Neither int64
}

const flipsHeight = 190

func (d *Flips) size() (vg.Length, vg.Length) {
	width := 6 * vg.Inch
	return width, headHeight(width, d.Title, d.Subtitle, nil) + flipsHeight + 2*margin
}

func (d *Flips) draw(p *page) {
	p.heading(d.Title, d.Subtitle)
	const left, head = 130, 34
	st := style(textSize, black)
	x, y := [3]vg.Length{p.Min.X + left}, [3]vg.Length{p.top - head}
	w, h := (p.Max.X-x[0])/2, (y[0]-p.Min.Y)/2
	for i := range 2 {
		x[i+1], y[i+1] = x[i]+w, y[i]-h
		said := []string{"right", "wrong"}[i]
		p.write(textSize, black, x[i]+w/2, p.top-4, text.XCenter, text.YTop, cut(d.B, st, w-8))
		p.write(textSize, textGrey, x[i]+w/2, p.top-18, text.XCenter, text.YTop, said)
		p.write(textSize, black, x[0]-8, y[i]-h/2+2, text.XRight, text.YBottom, cutMiddle(d.A, st, left-10))
		p.write(textSize, textGrey, x[0]-8, y[i]-h/2-2, text.XRight, text.YTop, said)
	}
	total := d.Both + d.OnlyA + d.OnlyB + d.Neither
	for i, c := range []struct {
		n    int64
		fill color.Color
		text string
	}{{d.Both, paleGreen, "both right"}, {d.OnlyA, paleOrange, "only the first right"}, {d.OnlyB, paleBlue, "only the second right"}, {d.Neither, gridGrey, "both wrong"}} {
		at := vg.Point{X: x[i%2], Y: y[i/2]}
		cell := rectangle(at.X, at.Y-h, at.X+w, at.Y)
		p.FillPolygon(c.fill, cell)
		p.outline(draw.LineStyle{Color: white, Width: 2}, cell)
		share := ""
		if total > 0 {
			share = fmt.Sprintf(", %s%%", strconv.FormatFloat(100*float64(c.n)/float64(total), 'f', 1, 64))
		}
		p.write(titleSize, black, at.X+w/2, at.Y-h/2+3, text.XCenter, text.YBottom, strconv.FormatInt(c.n, 10)+share)
		p.write(textSize, textGrey, at.X+w/2, at.Y-h/2-3, text.XCenter, text.YTop, c.text)
	}
}
