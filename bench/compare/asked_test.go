package main

import (
	"math"
	"strings"
	"testing"
)

// TestAsk: the answers are those of a loop.
func TestAsk(t *testing.T) {
	p := askedRows(20_000)
	var gap [15]float64
	right, squares := 0.0, 0.0
	for i, v := range p.F32 {
		x, y := float64(v), float64(p.Labels[i])
		gap[min(14, int(x*15))] += x - y
		squares += (x - y) * (x - y)
		if (v > .5) == (y == 1) {
			right++
		}
	}
	ece := 0.0
	for _, g := range gap {
		ece += math.Abs(g)
	}
	n := float64(p.Rows)
	for _, q := range questions {
		s, err := ask(p, q)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(s.ECE-ece/n) > 1e-9 {
			t.Errorf("%s: ece is %v, want %v", q, s.ECE, ece/n)
		}
		if strings.Contains(q, "brier") && (math.Abs(s.Brier-squares/n) > 1e-9 || s.Accuracy != right/n) {
			t.Errorf("%s: brier is %v, want %v; accuracy is %v, want %v", q, s.Brier, squares/n, s.Accuracy, right/n)
		}
	}
}
