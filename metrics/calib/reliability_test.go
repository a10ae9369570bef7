package calib_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

func TestGoldenReliability(t *testing.T) {
	inputs := smallInputs(t)
	var g struct {
		Reliability []struct {
			Input     string
			YAxis     string `json:"y_axis"`
			Classwise bool   `json:"class_conditional"`
			X, Y      []float64
			Stride    int // distance between the points that are kept
		}
	}
	check.Golden(t, "../../testdata/golden", "reliability.json.gz", &g)
	if len(g.Reliability) != 20 {
		t.Fatalf("%d curves", len(g.Reliability))
	}
	points := 0
	for _, c := range g.Reliability {
		o := &calib.WindowOptions{Event: calib.AllClasses, Parity: true, Data: metrics.Options{Unchecked: true}}
		if c.Classwise {
			o.Class = new(0) // the reference draws only the first class
		}
		got, err := calib.Window(inputs[c.Input].load(t), o)
		if err != nil {
			t.Fatal(err)
		}
		step := max(1, c.Stride)
		name := fmt.Sprintf("%s, %s, class-wise %v", c.Input, c.YAxis, c.Classwise)
		if (len(got)+step-1)/step != len(c.X) {
			t.Errorf("%s: %d points, want %d of every %d", name, len(got), len(c.X), step)
			continue
		}
		for i := range c.X {
			p := got[i*step]
			y := p.Frequency
			if c.YAxis == "error" {
				y = -p.Gap()
			}
			if !near(p.Confidence, c.X[i], 1e-12) || !near(y, c.Y[i], 1e-12) {
				t.Errorf("%s: point %d is %v, %v, want %v, %v", name, i, p.Confidence, y, c.X[i], c.Y[i])
			}
			points++
		}
	}
	t.Logf("%d curves, %d points", len(g.Reliability), points)
}

// curve computes the definition: the means over every window, in which tied scores count with the means of the tie.
func curve(by, p, y, w []float64, width int) (out []calib.Point) {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return by[order[a]] < by[order[b]] })
	type row struct{ p, y, w float64 }
	rows := make([]row, len(p))
	for i, at := range order {
		var s row
		n := 0.0
		for j := range p {
			if by[j] == by[at] {
				s.p, s.y, s.w = s.p+w[j]*p[j], s.y+w[j]*y[j], s.w+w[j]
				n++
			}
		}
		rows[i] = row{s.p / s.w, s.y / s.w, s.w / n}
	}
	for i := 0; i+width <= len(rows); i++ {
		var s row
		for _, r := range rows[i : i+width] {
			s.p, s.y, s.w = s.p+r.w*r.p, s.y+r.w*r.y, s.w+r.w
		}
		out = append(out, calib.Point{Confidence: s.p / s.w, Frequency: s.y / s.w})
	}
	return out
}

// TestWindow compares every event with the definition, with and without weights, decisions and confidence scores. It checks
// that results are bit-identical for any order of rows and any number of threads.
func TestWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, k := range []int{1, 2, 4} {
		for _, n := range []int{1, 7, 99, 260} {
			for kind := range 8 {
				weighted, decided, scored := kind&1 != 0, kind&2 != 0, kind&4 != 0
				p := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: k}}
				for range n {
					row := make([]float64, max(2, k))
					for left := 20; left > 0; left-- { // twentieths, so there are ties
						row[r.IntN(len(row))]++
					}
					if k == 1 {
						row = row[1:]
					}
					for _, v := range row {
						p.F64 = append(p.F64, v/20)
					}
					p.Labels = append(p.Labels, int32(r.IntN(max(2, k))))
					if weighted {
						p.Weights = append(p.Weights, float64(r.IntN(4))/2+0.25*r.Float64()*float64(r.IntN(2)))
					}
					if decided {
						p.Decisions = append(p.Decisions, int32(r.IntN(max(2, k))))
					}
					if scored {
						p.ConfidenceScores = append(p.ConfidenceScores, float64(r.IntN(30))/10-1)
					}
				}
				if weighted {
					p.Weights[0] = 1
				}
				for _, o := range []calib.WindowOptions{{}, {Width: 5}, {Event: calib.TopLabel, Width: 3}, {Event: calib.Positive}, {Event: calib.AllClasses},
					{Class: new(max(2, k) - 1), Width: 2}, {Width: 10_000}} {
					if o.Event == calib.Positive && k > 2 {
						continue
					}
					name := fmt.Sprintf("%d classes, %d rows, kind %d, %+v", k, n, kind, o)
					var by, ps, ys, ws []float64
					for i := range n {
						w := 1.0
						if weighted {
							w = p.Weights[i]
						}
						add := func(p, by0 float64, y bool) {
							if w == 0 {
								return
							}
							by, ps, ws, ys = append(by, by0), append(ps, p), append(ws, w), append(ys, 0)
							if y {
								ys[len(ys)-1] = 1
							}
						}
						row := slices.Clone(p.F64[i*k : (i+1)*k])
						if k == 1 {
							row = []float64{1 - row[0], row[0]}
						}
						event := o.Event
						if event == calib.ByShape {
							event = calib.TopLabel
							if k == 1 {
								event = calib.Positive
							}
						}
						own := func(v float64) float64 {
							if scored {
								return p.ConfidenceScores[i]
							}
							return v
						}
						switch {
						case o.Class != nil:
							add(row[*o.Class], row[*o.Class], int(p.Labels[i]) == *o.Class)
						case event == calib.AllClasses:
							for j, v := range row {
								add(v, v, int(p.Labels[i]) == j)
							}
						case event == calib.Positive:
							add(row[1], own(row[1]), p.Labels[i] == 1)
						default:
							d := 0
							for j, v := range row {
								if v > row[d] {
									d = j
								}
							}
							if decided {
								d = int(p.Decisions[i])
							}
							add(row[d], own(row[d]), int(p.Labels[i]) == d)
						}
					}
					width := o.Width
					if width == 0 {
						width = len(ps) / 100
					}
					want := curve(by, ps, ys, ws, max(1, min(width, len(ps))))
					got, err := calib.Window(p, &o)
					if err != nil {
						t.Fatal(err)
					}
					if len(got) != len(want) {
						t.Fatalf("%s: %d points, want %d", name, len(got), len(want))
					}
					for i, g := range got {
						if !near(g.Confidence, want[i].Confidence, 1e-13) || !near(g.Frequency, want[i].Frequency, 1e-13) {
							t.Fatalf("%s: point %d is %+v, want %+v", name, i, g, want[i])
						}
					}
					q := shuffle(r, p)
					threads := o
					threads.Data.Threads = 3
					again, err := calib.Window(q, &threads)
					if err != nil || !slices.Equal(again, got) {
						t.Fatalf("%s: the order of the rows changes the curve (%v)", name, err)
					}
				}
			}
		}
	}
}

// shuffle returns the rows of p in another order.
func shuffle(r *rand.Rand, p *metrics.Predictions) *metrics.Predictions {
	q := &metrics.Predictions{Scores: metrics.Scores{Rows: p.Rows, Classes: p.Classes}}
	for _, i := range r.Perm(p.Rows) {
		q.F64 = append(q.F64, p.F64[i*p.Classes:(i+1)*p.Classes]...)
		q.Labels = append(q.Labels, p.Labels[i])
		if p.Weights != nil {
			q.Weights = append(q.Weights, p.Weights[i])
		}
		if p.Decisions != nil {
			q.Decisions = append(q.Decisions, p.Decisions[i])
		}
		if p.ConfidenceScores != nil {
			q.ConfidenceScores = append(q.ConfidenceScores, p.ConfidenceScores[i])
		}
	}
	return q
}

// TestWindowDoesNotDrift slides over many scores, a few of them large.
func TestWindowDoesNotDrift(t *testing.T) {
	n := check.Size(60_000, 300_000, 300_000)
	r := rand.New(rand.NewPCG(33, 34))
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: 1}, Labels: make([]int32, n)}
	for i := range n {
		p.F64 = append(p.F64, math.Exp(-30*r.Float64()))
		p.Labels[i] = int32(r.IntN(2))
	}
	o := &calib.WindowOptions{Width: 1000}
	got, err := calib.Window(p, o)
	if err != nil {
		t.Fatal(err)
	}
	v := slices.Clone(p.F64)
	slices.Sort(v)
	for _, i := range []int{0, 1, n / 2, n - 1001, n - 1000} {
		s := 0.0
		for _, x := range v[i : i+1000] {
			s += x
		}
		if want := s / 1000; math.Abs(got[i].Confidence-want) > 1e-13*want {
			t.Errorf("point %d: %v, want %v", i, got[i].Confidence, want)
		}
	}
}

func TestWindowOfNothing(t *testing.T) {
	none := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{}, Classes: 3}, Labels: []int32{}}
	for _, parity := range []bool{false, true} {
		if got, err := calib.Window(none, &calib.WindowOptions{Parity: parity}); len(got) != 0 || err != nil {
			t.Error(got, err)
		}
	}
	bad := testrows.Ten()
	bad.Labels[3] = 9
	if got, err := calib.Window(bad, nil); got != nil || err == nil {
		t.Error(got, err)
	}
	if got, err := calib.Window(bad, &calib.WindowOptions{Width: 1, Data: metrics.Options{Drop: true}}); len(got) != 9 || err != nil {
		t.Error(got, err)
	}
	three := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{1, 0, 0}, Rows: 1, Classes: 3}, Labels: []int32{0}}
	for _, o := range []calib.WindowOptions{{Width: -1}, {Event: 9}, {Class: new(3)}, {Class: new(-1)}, {Event: calib.Positive}} {
		if points, err := calib.Window(three, &o); points != nil || err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func TestBinGap(t *testing.T) {
	b := calib.Bin{Lower: 0.25, Upper: 0.75, Confidence: 0.5, Frequency: 0.25, Interval: metrics.Interval{Low: 0.125, High: 0.75}}
	if i := b.GapInterval(); b.Centre() != 0.5 || b.Gap() != 0.25 || i.Low != -0.25 || i.High != 0.375 {
		t.Error(b.Centre(), b.Gap(), i)
	}
	e := metrics.Must(calib.NewBins(nil)).Bins(0.95)[0]
	if i := e.GapInterval(); e.Gap() == e.Gap() || i.Low == i.Low || i.High == i.High {
		t.Error("an empty bin has a gap")
	}
}
