//go:build linux

package main

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

const aboutExact = `Rows are drawn from 64 different ones, so that their number of each kind is known, and with it every metric: by rational numbers, and logarithms of
200 bits. The rows go through the library, and never into a file. An error is relative, or absolute where the value is below 1. A fault is one above
the bound; it is 1e-12 for probabilities of float64, and what [the kernels promise](kernels.md#accuracy) for others. The same rows are also split at random, evaluated
apart and merged: states have to be equal to the byte. The last column is what float32 sums give, added row by row, as many programs do.`

// kinds is the number of different rows.
const kinds = 64

// rowKinds are the rows that are drawn, the number of each and label, and the exact values of their probabilities.
type rowKinds struct {
	kind    metrics.Kind
	classes int
	single  bool // float32
	scores  []float64
	probs   [][]*big.Float
	counts  [kinds][]int64 // by label
	top     [kinds]int32   // the most likely class
	chance  [kinds]uint64  // of a label that is drawn at random, or of class 1 of a binary task, of 2^32
}

// drawKinds draws rows. Probabilities are whole multiples of 2^-20, which both types hold, and their sum is 1.
func drawKinds(kind metrics.Kind, classes int, single bool, r *rand.Rand) *rowKinds {
	k := &rowKinds{kind: kind, classes: classes, single: single}
	for i := range kinds {
		labels := max(classes, 2)
		k.counts[i] = make([]int64, labels)
		k.chance[i] = uint64(float64(1<<32) * 0.5 * r.Float64())
		row := make([]float64, classes)
		for {
			if kind == metrics.Logits {
				for j := range row {
					row[j] = float64(float32(4 * r.NormFloat64()))
				}
			} else if classes == 1 {
				row[0] = float64(1+r.IntN(1<<20-1)) / (1 << 20)
			} else {
				left := 1 << 20
				for j := range row {
					n := left
					if j < classes-1 {
						n = min(left, 1+r.IntN(max(1, left/2)))
					}
					left -= n
					row[j] = float64(n) / (1 << 20)
				}
				r.Shuffle(classes, func(a, b int) { row[a], row[b] = row[b], row[a] })
			}
			p := bigProbs(kind, row)
			if k.clear(p) {
				k.scores, k.probs = append(k.scores, row...), append(k.probs, p)
				for j := range p {
					if p[j].Cmp(p[k.top[i]]) > 0 {
						k.top[i] = int32(j)
					}
				}
				break
			}
		}
	}
	return k
}

// clear says whether rounding cannot move a row to another bin or decision: its score is not close to an edge of 15 bins, and no other one is
// as large.
func (k *rowKinds) clear(p []*big.Float) bool {
	v := make([]float64, len(p))
	for i := range p {
		v[i], _ = p[i].Float64()
	}
	slices.Sort(v)
	top := v[len(v)-1]
	if len(v) > 1 && top-v[len(v)-2] < 1e-4 {
		return false
	}
	_, part := math.Modf(15 * top)
	return 1e-3 < part && part < 1-1e-3 && top < 1
}

// source yields rows that are drawn.
type source struct {
	k    *rowKinds
	r    *rand.Rand
	cut  *rand.Rand // draws the part of a row
	left int64
	free chan *metrics.Chunk
	sums *singleSums
	// parts, if there are several, split the rows: this source yields those of one part, and every source draws the same rows.
	parts, part int
	first       int64
}

const chunkRows = 1 << 14

func (k *rowKinds) source(seed uint64, rows int64, parts, part int) *source {
	s := &source{k: k, r: rand.New(rand.NewPCG(seed, 0)), cut: rand.New(rand.NewPCG(seed, 1)), left: rows, free: make(chan *metrics.Chunk, 4*runtime.GOMAXPROCS(0)), parts: parts, part: part}
	for range cap(s.free) {
		c := &metrics.Chunk{Predictions: metrics.Predictions{Kind: k.kind, Labels: make([]int32, chunkRows)}}
		c.Classes = k.classes
		if k.single {
			c.F32 = make([]float32, chunkRows*k.classes)
		} else {
			c.F64 = make([]float64, chunkRows*k.classes)
		}
		c.Recycle = func() { s.free <- c }
		s.free <- c
	}
	return s
}

// next draws a row: its kind and its label.
func (s *source) next() (kind int, label int32) {
	u := s.r.Uint64()
	kind = int(u >> 58)
	if s.k.classes == 1 {
		if u&(1<<32-1) < s.k.chance[kind] {
			label = 1
		}
		return kind, label
	}
	label = s.k.top[kind]
	if u&(1<<32-1) < s.k.chance[kind] {
		label = int32(u >> 32 % uint64(s.k.classes))
	}
	return kind, label
}

func (s *source) Next() (*metrics.Chunk, error) {
	if s.left == 0 {
		return nil, io.EOF
	}
	c := <-s.free
	k, n := s.k.classes, 0
	labels := c.Labels[:chunkRows]
	var of [chunkRows]uint8
	for n < chunkRows && s.left > 0 {
		kind, label := s.next()
		s.left--
		if s.parts > 1 && int(s.cut.Uint64N(uint64(s.parts))) != s.part {
			continue
		}
		of[n], labels[n] = uint8(kind), label
		n++
	}
	for i, kind := range of[:n] {
		row := s.k.scores[int(kind)*k : int(kind)*k+k]
		if s.parts == 1 {
			s.k.counts[kind][labels[i]]++
		}
		if s.k.single {
			for j, v := range row {
				c.F32[i*k+j] = float32(v)
			}
		} else {
			copy(c.F64[i*k:], row)
		}
		if s.sums != nil {
			s.sums.add(int(kind), labels[i])
		}
	}
	c.Rows, c.Labels, c.First = n, labels[:n], s.first
	s.first += int64(n)
	return c, nil
}

// singleSums are sums of float32, one row after another.
type singleSums struct {
	k     *rowKinds
	score [kinds]float32 // of the top label, or of class 1
	bins  [15]struct{ n, p, y float32 }
}

func (k *rowKinds) singleSums() *singleSums {
	s := &singleSums{k: k}
	for i, p := range k.probs {
		s.score[i], _ = p[k.top[i]].Float32()
	}
	return s
}

func (s *singleSums) add(kind int, label int32) {
	b := &s.bins[int(15*s.score[kind])]
	b.n++
	b.p += s.score[kind]
	if s.k.classes == 1 && label == 1 || s.k.classes > 1 && label == s.k.top[kind] {
		b.y++
	}
}

// ece is the expected calibration error of the sums.
func (s *singleSums) ece() float64 {
	var sum, n float32
	for _, b := range s.bins {
		sum += float32(math.Abs(float64(b.p - b.y)))
		n += b.n
	}
	return float64(sum / n)
}

// exactAnswers are metrics of the rows that were drawn.
func (k *rowKinds) exactAnswers() map[string]float64 {
	rat := func(f *big.Float) *big.Rat { r, _ := f.Rat(nil); return r }
	var n int64
	brier, right, top := new(big.Rat), new(big.Rat), new(big.Rat)
	var gaps [15]big.Rat
	nll := bigFloat(0)
	for i, p := range k.probs {
		at := int(k.top[i])
		score, _ := p[at].Float64()
		gap := &gaps[int(15*score)]
		for y, count := range k.counts[i] {
			if count == 0 {
				continue
			}
			n += count
			times := new(big.Rat).SetInt64(count)
			q, square, hit := new(big.Float), new(big.Rat), y == at
			if k.classes == 1 {
				hit = y == 1
				q.Set(p[0])
				if !hit {
					q = bigFloat(1)
					q.Sub(q, p[0])
				}
				d := rat(q)
				d.Sub(d, big.NewRat(1, 1))
				square.Mul(d, d)
			} else {
				q.Set(p[y])
				for j := range p {
					d := rat(p[j])
					if j == y {
						d.Sub(d, big.NewRat(1, 1))
					}
					square.Add(square, d.Mul(d, d))
				}
			}
			brier.Add(brier, square.Mul(square, times))
			loss := bigLog(q)
			nll.Sub(nll, loss.Mul(loss, bigFloat(float64(count))))
			s := rat(p[at])
			s.Mul(s, times)
			top.Add(top, s)
			gap.Add(gap, s)
			if hit {
				right.Add(right, times)
				gap.Sub(gap, times)
			}
		}
	}
	ece := new(big.Rat)
	for i := range gaps {
		ece.Add(ece, gaps[i].Abs(&gaps[i]))
	}
	mean := func(r *big.Rat) float64 { v, _ := new(big.Rat).Quo(r, new(big.Rat).SetInt64(n)).Float64(); return v }
	loss, _ := nll.Quo(nll, bigFloat(float64(n))).Float64()
	m := map[string]float64{"nll": loss, "brier": mean(brier), "ece": mean(ece)}
	if k.classes == 1 {
		m["base_rate"], m["mean_p"] = mean(right), mean(top)
	} else {
		m["accuracy"], m["confidence"] = mean(right), mean(top)
	}
	return m
}

func tryExact(c *campaign) (*table, error) {
	t := &table{head: []string{"rows", "scores", "metric", "exact", "error", "bound", "float32 sums are off by"}}
	for i, of := range []struct {
		name    string
		kind    metrics.Kind
		classes int
		single  bool
		rows    int64 // with -full
		bound   map[string]float64
	}{
		{"binary, float64", metrics.Probs, 1, false, 1_000_000_000, nil},
		{"binary, float32", metrics.Probs, 1, true, 1<<31 + 1_000_000, map[string]float64{"nll": 1.2e-7}},
		{"10 classes, float64", metrics.Probs, 10, false, 1_000_000_000, nil},
		{"10 classes, float32 logits", metrics.Logits, 10, true, 200_000_000, map[string]float64{"nll": 1e-5, "brier": 4e-6, "ece": 2e-6, "confidence": 2e-6}},
	} {
		rows := int64(c.some(int(of.rows/1000))) * 1000
		k := drawKinds(of.kind, of.classes, of.single, rand.New(rand.NewPCG(c.seed, uint64(i))))
		names := "nll,brier,ece,accuracy,confidence"
		if of.classes == 1 {
			names = "nll,brier,ece,base_rate,mean_p"
		}
		list, err := eval.ParseMetrics(names, eval.Shape{Classes: of.classes})
		if err != nil {
			return nil, err
		}
		evaluation := func(parts, part int) (*eval.Evaluation, *singleSums, error) {
			e, err := eval.New(eval.Spec{Kind: of.kind, Classes: of.classes, Metrics: list})
			if err != nil {
				return nil, nil, err
			}
			s := k.source(c.seed+uint64(i), rows, parts, part)
			if parts == 1 {
				s.sums = k.singleSums()
			}
			return e, s.sums, e.AddSource(s, nil)
		}
		whole, sums, err := evaluation(1, 0)
		if err != nil {
			return nil, err
		}
		c.tried(rows)
		want := k.exactAnswers()
		for _, m := range list {
			got, exact := whole.Value(m).Value, want[m.Name]
			off := math.Abs(got-exact) / max(1, math.Abs(exact))
			bound := 1e-12
			if b, ok := of.bound[m.Name]; ok {
				bound = b
			}
			naive := "-"
			if m.Name == "ece" {
				naive = fmt.Sprintf("%.1g", math.Abs(sums.ece()-exact))
			}
			t.add(thousands(rows), of.name, "`"+m.Name+"`", fmt.Sprintf("%.10g", exact), fmt.Sprintf("%.1g", off), fmt.Sprint(bound), naive)
			if !(off <= bound) {
				c.fault("%s, %s: %v, and exactly %v", of.name, m.Name, got, exact)
			}
		}
		const parts = 3
		var merged *eval.Evaluation
		for part := range parts {
			e, _, err := evaluation(parts, (part+1)%parts)
			if err != nil {
				return nil, err
			}
			if merged == nil {
				merged = e
			} else if err := merged.Merge(e); err != nil {
				return nil, err
			}
		}
		a, err := whole.AppendBinary(nil)
		if err != nil {
			return nil, err
		}
		b, err := merged.AppendBinary(nil)
		if err != nil {
			return nil, err
		}
		if string(a) != string(b) {
			c.fault("%s: the state of %d parts differs from that of all rows", of.name, parts)
		}
	}
	return t, nil
}

// digits is the precision of exact logarithms and exponentials.
const digits = 200

func bigFloat(v float64) *big.Float { return new(big.Float).SetPrec(digits).SetFloat64(v) }

// bigLog is ln x, by the series of 2 artanh((m-1)/(m+1)) for x = m 2^e, 1/2 <= m < 1.
func bigLog(x *big.Float) *big.Float {
	artanh := func(z *big.Float) *big.Float { // |z| <= 1/3
		square, power, sum := bigFloat(0).Mul(z, z), bigFloat(0).Set(z), bigFloat(0).Set(z)
		for n := 3; n < digits; n += 2 {
			power.Mul(power, square)
			sum.Add(sum, bigFloat(0).Quo(power, bigFloat(float64(n))))
		}
		return sum
	}
	m := bigFloat(0)
	e := bigFloat(0).Set(x).MantExp(m)
	log := artanh(bigFloat(0).Quo(bigFloat(0).Sub(m, bigFloat(1)), bigFloat(0).Add(m, bigFloat(1))))
	ln2 := artanh(bigFloat(0).Quo(bigFloat(1), bigFloat(3)))
	log.Add(log, ln2.Mul(ln2, bigFloat(float64(e))))
	return log.Mul(log, bigFloat(2))
}

// bigExp is e^x: the series of x/2^20, squared 20 times.
func bigExp(x float64) *big.Float {
	const halvings = 20
	z := bigFloat(math.Ldexp(x, -halvings)).SetPrec(2 * digits)
	sum, term := bigFloat(1).SetPrec(2*digits), bigFloat(1).SetPrec(2*digits)
	for n := 1; n < 40; n++ {
		term.Mul(term, z)
		term.Quo(term, bigFloat(float64(n)).SetPrec(2*digits))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum.SetPrec(digits)
}

// bigProbs are the probabilities of a row.
func bigProbs(kind metrics.Kind, row []float64) []*big.Float {
	p := make([]*big.Float, len(row))
	sum := bigFloat(0)
	for i, v := range row {
		if p[i] = bigFloat(v); kind == metrics.Logits {
			p[i] = bigExp(v)
			sum.Add(sum, p[i])
		}
	}
	if kind == metrics.Logits {
		for i := range p {
			p[i].Quo(p[i], sum)
		}
	}
	return p
}
