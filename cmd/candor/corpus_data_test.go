package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/predictions"
)

// The numbers of the corpus are the same on every CPU and whatever the compiler fuses: they are whole numbers of a generator that
// has no floating point, quotients and products of two numbers, which are rounded once, and constants. Nothing here calls a
// function such as exp, and no product is added to.

// dice draws whole numbers.
type dice struct{ pcg *rand.PCG }

func newDice(seed uint64) dice { return dice{rand.NewPCG(seed, 29)} }

// n returns a number from 0 to below n.
func (d dice) n(n int) int { return int(d.pcg.Uint64() >> 1 % uint64(n)) }

// pick returns a place in shares, each as often as its share says.
func (d dice) pick(shares []int) int {
	sum := 0
	for _, c := range shares {
		sum += c
	}
	u := d.n(sum)
	for j, c := range shares {
		if u -= c; u < 0 {
			return j
		}
	}
	panic("no place")
}

// label returns the true class of a row whose model gives the classes these shares. Of four rows three are as the model says. No
// class without a share is true, so that the NLL is finite.
func (d dice) label(shares []int) int32 {
	if d.n(4) > 0 {
		return int32(d.pick(shares))
	}
	j := d.n(len(shares))
	for shares[j] == 0 {
		j = (j + 1) % len(shares)
	}
	return int32(j)
}

// besides gives the rows weights, decisions and confidence scores: some weigh nothing, some decisions are not the label, some
// confidence scores are equal, below 0 and above 1.
func (d dice) besides(s *set) *set {
	s.rows = len(s.labels)
	for i, y := range s.labels {
		w := float64(1+d.n(64)) / 32
		if i%17 == 5 {
			w = 0
		}
		decided := y
		if d.n(3) == 0 {
			decided = int32(d.n(max(2, s.classes)))
		}
		s.weights, s.decisions = append(s.weights, w), append(s.decisions, decided)
		s.by = append(s.by, float64(d.n(700)-50)/601)
	}
	return s
}

// exactProbs returns rows of probabilities, each a count by its row's sum. Some rows are ties, sure of one class, have zeros of
// either sign and numbers below the normal ones of one type or another.
func exactProbs(seed uint64, rows, classes int) *set {
	if classes == 1 {
		return exactBinary(seed, rows)
	}
	d, s := newDice(seed), &set{classes: classes}
	for i := range rows {
		c := make([]int, classes)
		for j := range c {
			c[j] = d.n(1 << d.n(10))
		}
		c[d.n(classes)] += 1 + d.n(60*classes)
		switch i % 12 {
		case 1: // all equal
			for j := range c {
				c[j] = 1
			}
		case 4: // sure
			clear(c)
			c[d.n(classes)] = 1
		case 7: // two are the most probable
			a, b := d.n(classes), d.n(classes)
			c[a] = slices.Max(c) + 1
			c[b] = c[a]
		}
		sum := 0
		for _, n := range c {
			sum += n
		}
		row := make([]float64, classes)
		for j, n := range c {
			row[j] = float64(n) / float64(sum)
		}
		y := d.label(c)
		if i%12 == 4 {
			for j := range row {
				if row[j] == 0 {
					row[j] = []float64{0, math.Copysign(0, -1), 0x1p-1074, 0x1p-149, 0x1p-24, 0x1p-133}[(i/12+j)%6]
				}
			}
		}
		s.probs, s.labels = append(s.probs, row...), append(s.labels, y)
	}
	return d.besides(s)
}

// exactBinary returns P(y = 1) as one column, with 0, 1, 1/2, the edges of bins, and numbers below the normal ones.
func exactBinary(seed uint64, rows int) *set {
	d, s := newDice(seed), &set{classes: 1}
	for i := range rows {
		of := []int{4096, 3001, 15}[i%3]
		c := d.n(of + 1)
		p := float64(c) / float64(of)
		y := d.label([]int{of - c, c})
		if i%19 == 7 {
			p, y = []float64{0, math.Copysign(0, -1), 0x1p-1074, 0x1p-149, 0x1p-24}[i/19%5], 0
		}
		s.probs, s.labels = append(s.probs, p), append(s.labels, y)
	}
	return d.besides(s)
}

// exactLogits returns rows of logits, most of them between -15 and 15. Some rows are ties, some have -Inf and -0. Where they are
// huge, some are up to big, the label's among them.
func exactLogits(seed uint64, rows, classes int, big float64) *set {
	d, s := newDice(seed), &set{classes: classes}
	for i := range rows {
		row, c := make([]float64, classes), make([]int, max(2, classes))
		top := d.n(classes)
		for j := range row {
			u := d.n(20<<16) - 10<<16
			if j == top {
				u += d.n(5 << 16)
			}
			row[j] = float64(u) / 65536
			c[j] = 1 + u>>16 + 10
		}
		switch i % 12 {
		case 1:
			for j := range row {
				row[j] = float64(d.n(3)) / 2
			}
		case 4:
			for j := range row {
				if c[j] > 1 && j != top {
					row[j], c[j] = math.Inf(-1), 0
				}
			}
		case 7:
			for j := range row {
				row[j] = math.Copysign(0, float64(d.n(2))-0.5)
			}
		case 10:
			if big != 0 {
				row[top], row[(top+1)%classes] = big, -big
			}
		}
		if classes == 1 {
			c[1], c[0] = c[0], 26-c[0]
			if math.IsInf(row[0], -1) {
				c[0], c[1] = 1, 0
			}
		}
		s.probs, s.labels = append(s.probs, row...), append(s.labels, d.label(c))
	}
	return d.besides(s)
}

// exactLogProbs returns rows of logarithms of probabilities that are powers of 2 and 3 and whose sum is 1.
func exactLogProbs(seed uint64, rows, classes int) *set {
	const ln2, ln3 = 0x1.62e42fefa39efp-1, 0x1.193ea7aad030bp+0
	d, s := newDice(seed), &set{classes: classes}
	for i := range rows {
		// Of a class's share a quarter or a half goes to the next, until all have one: 3^a / 2^k.
		type share struct{ a, k int }
		shares := make([]share, max(2, classes))
		for j := 1; j < len(shares); j++ {
			of := &shares[d.n(j)]
			if i%12 == 1 {
				of = &shares[0]
				for o := range shares[:j] {
					if shares[o].k < of.k {
						of = &shares[o]
					}
				}
			}
			if d.n(2) == 0 || i%12 == 1 {
				of.k++
				shares[j] = *of
			} else {
				shares[j] = share{of.a, of.k + 2}
				of.a, of.k = of.a+1, of.k+2
			}
		}
		row, c := make([]float64, len(shares)), make([]int, len(shares))
		for j, o := range shares {
			row[j] = float64(float64(o.a)*ln3) - float64(float64(o.k)*ln2)
			c[j] = 1 << max(0, 20+o.a*3/2-o.k)
		}
		if i%12 == 4 {
			sure := d.n(len(row))
			for j := range row {
				row[j], c[j] = math.Inf(-1), 0
			}
			row[sure], c[sure] = 0, 1
		}
		y := d.label(c)
		if classes == 1 {
			row = row[1:]
		}
		s.probs, s.labels = append(s.probs, row...), append(s.labels, y)
	}
	return d.besides(s)
}

// exactDirichlet returns rows of parameters of Dirichlet distributions.
func exactDirichlet(seed uint64, rows, classes int) *set {
	d, s := newDice(seed), &set{classes: classes}
	for range rows {
		c := make([]int, classes)
		for j := range c {
			c[j] = 1 + d.n(1<<d.n(8))
		}
		c[d.n(classes)] += d.n(300)
		for _, n := range c {
			s.probs = append(s.probs, float64(n)/8)
		}
		s.labels = append(s.labels, d.label(c))
	}
	return d.besides(s)
}

// exactTagged returns rows of probabilities of several labels, and which of these they have.
func exactTagged(seed uint64, rows, labels int) *tagged {
	d, s := newDice(seed), &tagged{rows: rows, labels: labels}
	for i := range rows {
		for j := range labels {
			c := d.n(129)
			if i%9 == 1 {
				c = 64 * (j % 3)
			}
			s.probs = append(s.probs, float64(c)/128)
			s.truth = append(s.truth, d.label([]int{128 - c, c}))
		}
		s.weights = append(s.weights, float64(1+d.n(64))/32)
	}
	return s
}

// exactNormals returns forecasts by mean and standard deviation, with what was observed.
func exactNormals(seed uint64, rows int) *frame {
	d, f := newDice(seed), newFrame("mu", "sigma", "y")
	for i := range rows {
		mean, sd := d.n(4096)-2048, 1+d.n(1<<d.n(9))
		y := mean + (d.n(97)+d.n(97)+d.n(97)-144)*sd/32
		switch i % 16 {
		case 3:
			y = mean
		case 9:
			y = mean + 30*sd
		}
		f.row(float64(mean)/64, float64(sd)/64, float64(y)/64)
	}
	return f
}

// quantileNames are the columns of exactQuantiles.
var quantileNames = []string{"q0.05", "q0.25", "q0.4", "q0.5", "q0.6", "q0.75", "q0.95", "y"}

// exactQuantiles returns forecasts by quantiles, some of them equal, with what was observed, which at times is one of them.
func exactQuantiles(seed uint64, rows int) *frame {
	d, f := newDice(seed), newFrame(quantileNames...)
	n := len(quantileNames) - 1
	for range rows {
		at, wide := d.n(400)-200, 1+d.n(60)
		q := make([]float64, n+1)
		for j := range q {
			q[j] = float64(at+d.n(wide)+d.n(wide)) / 16
		}
		slices.Sort(q[:n])
		f.row(q...)
	}
	return f
}

// exactSamples returns rows of draws, and what was observed.
func exactSamples(seed uint64, rows, draws int) (samples, observed []float64) {
	d := newDice(seed)
	for i := range rows {
		at, wide := d.n(1<<14)-1<<13, 1+d.n(1<<d.n(12))
		if i%16 == 3 {
			wide = 1
		}
		draw := func() float64 { return float64(at+d.n(wide)+d.n(wide)+d.n(wide)) / 64 }
		for range draws {
			samples = append(samples, draw())
		}
		observed = append(observed, draw())
	}
	return samples, observed
}

// exactLogLiks returns rows of log-likelihoods; in some rows one draw outweighs the others.
func exactLogLiks(seed uint64, rows, draws int) (l []float64) {
	d := newDice(seed)
	for i := range rows {
		for j := range draws {
			c := 64 + d.n(256) + d.n(1<<d.n(9))
			if i%8 == 5 && j == i {
				c += 4096
			}
			l = append(l, -float64(c)/256)
		}
	}
	return l
}

// half returns a number as float16, rounded to nearest, ties to even.
func half(v float64) uint16 {
	sign := uint16(0)
	if math.Signbit(v) {
		sign = 1 << 15
	}
	a := math.Abs(v)
	switch {
	case a != a:
		return 0x7e00
	case a == 0:
		return sign
	case a >= 65520:
		return sign | 0x7c00
	}
	_, e := math.Frexp(a)
	e = max(e-1, -14)
	return sign | uint16(int(math.RoundToEven(math.Ldexp(a, 10-e)))+(e+14)<<10)
}

// brief returns a number as bfloat16, rounded to nearest, ties to even.
func brief(v float64) uint16 {
	b := math.Float32bits(float32(v))
	if v != v {
		return 0x7fc0
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// stored returns numbers as an .npy of a type.
func stored(t testing.TB, dtype string, shape []int64, v []float64) []byte {
	t.Helper()
	halves := func(of func(float64) uint16) []uint16 {
		o := make([]uint16, len(v))
		for i, x := range v {
			o[i] = of(x)
		}
		return o
	}
	switch dtype {
	case "float64":
		return npy(t, shape, v)
	case "float32":
		return npy(t, shape, f32(v))
	case "float16":
		return npy(t, shape, predictions.Half(halves(half)))
	case "bfloat16":
		return npy(t, shape, halves(brief))
	}
	panic(dtype)
}
