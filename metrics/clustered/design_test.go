package clustered_test

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/clustered"
)

// eventLosses are losses of class 1 of a binary task.
var eventLosses = func() clustered.Options {
	row := func(name string, f func(p, y float64) float64) metrics.RowMetric {
		return metrics.RowMetric{Name: name, New: func() func(dst []float64, b *metrics.Block) {
			return func(dst []float64, b *metrics.Block) {
				for i := range dst {
					dst[i] = f(b.Stats.Positive[i], float64(b.Labels[i]))
				}
			}
		}}
	}
	return clustered.Options{Losses: []metrics.RowMetric{row("says", func(p, _ float64) float64 { return p }), row("happens", func(_, y float64) float64 { return y }),
		row("gap", func(p, y float64) float64 { return p - y }), row("own", func(p, _ float64) float64 { return p * (1 - p) })}}
}()

// TestDesign compares with the definition, by pairs of rows: events may be rare or common, alike or not, or missing.
func TestDesign(t *testing.T) {
	of := clustered.EventLosses{Says: "says", Happens: "happens", Gap: "gap", Own: "own"}
	alone := func(int32) int32 { return 0 }
	for _, c := range []struct {
		name  string
		scale float64 // of scores
		turn  bool    // events are the common outcome
		event func(of int32) int32
	}{{"rare", 0.1, false, nil}, {"common", 0.1, true, nil}, {"even", 1, false, nil}, {"none", 0.1, false, alone}} {
		for _, weights := range []bool{false, true} {
			s := sample(6, 300, 17, weights)
			for i := range s.p {
				if s.p[i] *= c.scale; c.event != nil {
					s.y[i] = c.event(s.of[i])
				} else if c.scale < 1 && s.of[i]%5 != 0 {
					s.y[i] = 0
				}
				if weights {
					s.w[i] = float64(1 + s.of[i]%3)
				}
				if c.turn {
					s.p[i], s.y[i] = 1-s.p[i], 1-s.y[i]
				}
			}
			sums := clustered.New(eventLosses)
			if err := metrics.NewPass(&metrics.Options{Threads: 2}, sums).AddSource(&chunk{s: s, to: 300}); err != nil {
				t.Fatal(err)
			}
			_, se, _ := sums.Mean("gap")
			w := func(i int) float64 {
				if weights {
					return s.w[i]
				}
				return 1
			}
			// With weights that clusters share, sums of products over pairs of rows are those of independent and of equal rows.
			var n, p, y, independent, pairs, expected, alike float64
			m := map[int32]bool{}
			for i := range s.p {
				n, p = n+w(i), p+w(i)*s.p[i]
			}
			rest := p > n/2
			n, p = 0, 0
			for i := range s.p {
				pi, yi := s.p[i], float64(s.y[i])
				if rest {
					pi, yi = 1-pi, 1-yi
				}
				n, p, y = n+w(i), p+w(i)*pi, y+w(i)*yi
				independent += w(i) * w(i) * pi * (1 - pi)
				if yi == 1 {
					m[s.of[i]] = true
				}
				for j := range s.p {
					if s.of[i] != s.of[j] {
						continue
					}
					if alike += w(i) * w(j); i == j {
						continue
					}
					pj, yj := s.p[j], float64(s.y[j])
					if rest {
						pj, yj = 1-pj, 1-yj
					}
					pairs += w(i) * w(j) * yi * yj
					expected += w(i) * w(j) * pi * pj
				}
			}
			own := 0.0 // sum w p(1-p)
			for i := range s.p {
				own += w(i) * s.p[i] * (1 - s.p[i])
			}
			scale := n / sums.Effective()
			alike /= n * scale
			d := math.Max(1, se*se*n*n/(own*scale))
			if y > 0 {
				if by := math.Min(alike, 1+p*(pairs/y-expected*y/(p*p))/(own*scale)); by > d {
					d += (1 - 2*p/n) * (by - d)
				}
			}
			want := (float64(len(m))*d + alike) / float64(len(m)+1)
			if !weights && math.Abs(independent-own) > 1e-9 {
				t.Fatal("the test's own sums")
			}
			if got := sums.Design(of); !(math.Abs(got-want) <= 1e-11*want) || got < 1 {
				t.Errorf("%s, weights %v: %v, want %v", c.name, weights, got, want)
			}
		}
	}
	if d := read(t, sample(6, 300, 17, false), 0, 300, nil).Design(of); d == d {
		t.Errorf("%v without the losses", d)
	}
}
