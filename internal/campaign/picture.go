//go:build linux

package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/candor-go/candor/report/scene"
)

// panel is what a ladder took: CPU seconds and MiB by a number.
type panel struct {
	name               string
	n, seconds, memory []float64
}

func (p *panel) add(n, seconds, memory float64) {
	p.n, p.seconds, p.memory = append(p.n, n), append(p.seconds, seconds), append(p.memory, memory)
}

// drawLoad draws panels side by side, time above memory, all axes by powers of ten.
func drawLoad(l []panel) []byte {
	const left, width, gap, top, height, between = 62, 112, 18, 44, 110, 26
	s := scene.Scene{Width: left + float64(len(l))*(width+gap) + 8, Height: top + 2*height + between + 44,
		Title: "Time and memory against size", Desc: "CPU seconds grow in proportion to rows, models, files and processes; memory hardly grows with rows."}
	for row, of := range []struct {
		name   string
		values func(p *panel) []float64
	}{
		{"CPU seconds", func(p *panel) []float64 { return p.seconds }},
		{"memory, MiB", func(p *panel) []float64 { return p.memory }},
	} {
		var all []float64
		for i := range l {
			all = append(all, of.values(&l[i])...)
		}
		low, high := decades(all)
		y0 := float64(top + row*(height+between) + height)
		y := func(v float64) float64 {
			return y0 - height*(math.Log10(max(v, low))-math.Log10(low))/math.Log10(high/low)
		}
		s.Add(scene.Text{X: left, Y: y0 - height - 6, S: of.name, Bold: true})
		for i := range l {
			p := &l[i]
			x0 := left + float64(i)*(width+gap)
			from, to := decades(p.n)
			x := func(v float64) float64 { return x0 + 6 + (width-12)*math.Log10(v/from)/math.Log10(to/from) }
			for v := low; v <= high*1.01; v *= 10 {
				s.Add(scene.Line{X1: x0, Y1: y(v), X2: x0 + width, Y2: y(v), Paint: scene.Stroke(scene.Grid, 0.7)})
				if i == 0 {
					s.Add(scene.Text{X: x0 - 6, Y: y(v) + 3.5, S: fmt.Sprintf("%g", round(v)), Anchor: scene.End, Role: scene.Muted})
				}
			}
			s.Add(scene.Line{X1: x0, Y1: y0, X2: x0 + width, Y2: y0, Paint: scene.Stroke(scene.Axis, 1)})
			var points []scene.Point
			for k, v := range of.values(p) {
				points = append(points, scene.Point{X: x(p.n[k]), Y: y(v)})
			}
			s.Add(scene.Path{Points: points, Paint: scene.Stroke(scene.Ideal, 1.5)})
			for _, q := range points {
				s.Add(scene.Circle{X: q.X, Y: q.Y, R: 2.5, Paint: scene.Fill(scene.Ideal)})
			}
			if row == 0 {
				continue
			}
			for _, v := range []float64{p.n[0], p.n[len(p.n)-1]} {
				s.Add(scene.Text{X: x(v), Y: y0 + 14, S: short(v), Anchor: scene.Middle, Role: scene.Muted})
			}
			name, detail, _ := strings.Cut(p.name, ", ")
			s.Add(scene.Text{X: x0 + width/2, Y: y0 + 28, S: name, Anchor: scene.Middle}, scene.Text{X: x0 + width/2, Y: y0 + 40, S: detail, Anchor: scene.Middle, Size: scene.Small, Role: scene.Muted})
		}
	}
	s.Add(scene.Text{X: left, Y: 16, S: s.Title, Size: scene.Head, Bold: true})
	return s.SVG()
}

// decades are the powers of ten around numbers.
func decades(l []float64) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, v := range l {
		low, high = min(low, max(v, 0.01)), max(high, v)
	}
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	return low, max(high, 10*low)
}

// round removes rounding errors of a power of ten.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }

// short is a number in few characters: 1,000 or 1e6.
func short(v float64) string {
	if v >= 1e5 {
		return strings.Replace(fmt.Sprintf("%.0e", v), "e+0", "e", 1)
	}
	return thousands(int64(v))
}
