package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// Tempered holds what the fit of a temperature needs from each row, one element per row. b = beta is 1/T, and d is a logit
// minus the row's largest, which is never above 0.
type Tempered struct {
	NLL       []float64 // ln S0 - b*d_y, with S0 the sum of e**(b*d)
	Slope     []float64 // S1/S0 - d_y, with S1 the sum of e**(b*d) * d: the derivative of NLL by b
	Curvature []float64 // S2/S0 - (S1/S0)^2, with S2 the sum of e**(b*d) * d^2: the second derivative, at least 0
	Label     []float64 // d_y, for the row's label
}

const errBeta = "kernel: beta is not a positive number"

// TemperedF32 writes the columns of rows x k float32 logits for softmax(beta*x), where row i is x[i*stride : i*stride+k].
// labels has a class for each row.
//
// -Inf is a class of probability 0: if it is the true class, NLL and Slope are +Inf and Label is -Inf. A row with NaN or
// +Inf, or all -Inf, or an invalid label, has NaN, 0x7FF8000000000000, in every column. beta is positive and finite; with
// beta from 1e-300 to 1e300 no other row has a NaN. Overflow gives infinity.
//
// All is computed in float64. The relative error of a term is 7e-15 plus 2e-16*|beta*d|, and terms below 2**-1000 are left
// out.
func TemperedF32(c *Tempered, x []float32, rows, k, stride int, labels []int32, beta float64) {
	checkTempered(c, len(x), rows, k, stride, labels, beta)
	tempered32(c, &rows32{f32: x}, rows, k, stride, labels, beta)
}

// TemperedF16 is TemperedF32 for IEEE binary16 logits, which are widened.
func TemperedF16(c *Tempered, x []uint16, rows, k, stride int, labels []int32, beta float64) {
	checkTempered(c, len(x), rows, k, stride, labels, beta)
	tempered32(c, &rows32{f16: x}, rows, k, stride, labels, beta)
}

// TemperedBF16 is TemperedF32 for bfloat16 logits, which are widened.
func TemperedBF16(c *Tempered, x []uint16, rows, k, stride int, labels []int32, beta float64) {
	checkTempered(c, len(x), rows, k, stride, labels, beta)
	tempered32(c, &rows32{bf16: x}, rows, k, stride, labels, beta)
}

// TemperedF64 is TemperedF32 for float64.
func TemperedF64(c *Tempered, x []float64, rows, k, stride int, labels []int32, beta float64) {
	checkTempered(c, len(x), rows, k, stride, labels, beta)
	tempered64(c, x, rows, k, stride, labels, beta)
}

func checkTempered(c *Tempered, n, rows, k, stride int, labels []int32, beta float64) {
	checkRows(n, rows, k, stride)
	if min(len(c.NLL), len(c.Slope), len(c.Curvature), len(c.Label)) < rows {
		panic(errColumns)
	}
	if len(labels) < rows {
		panic(errLabels)
	}
	checkBeta(beta)
}

func checkBeta(beta float64) {
	if !(beta > 0 && beta <= math.MaxFloat64) {
		panic(errBeta)
	}
}

// tempering is what the terms of all rows have in common: an exponent is d*c, in sixteenths of a power of two.
type tempering struct{ beta, c, low float64 }

func newTempering(beta float64) tempering {
	c := min(beta*(16*log2e), maxFinite)
	return tempering{beta, c, max(-16000/c, -maxFinite)}
}

// term returns 2**(d*c/16) for d of at least low. The nearest sixteenth comes from a table, the remainder from a polynomial
// that is 1 at 0. Error of the fit: 5.6e-15.
func (t *tempering) term(d float64) float64 {
	u := fma64(d, t.c, magic64)
	f := fma64(d, t.c, magic64-u)
	b := math.Float64bits(u)
	s := math.Float64frombits(sixteenths[b&15] + b<<48)
	p := fma64(f, 0x1.5d862bed83185p-30, 0x1.3b2c78bd33fb2p-23)
	p = fma64(f, p, 0x1.c6b08d771e067p-17)
	p = fma64(f, p, 0x1.ebfbdff5ffc01p-11)
	p = fma64(f, p, 0x1.62e42fefa3981p-5)
	return float64(s * fma64(f, p, 1))
}

// sixteenths are the bits of 2**(i/16), minus those that an exponent of i sixteenths has shifted to their place.
var sixteenths = func() (t [16]uint64) {
	for i, v := range [16]float64{1, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0,
		0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0, 0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0,
		0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0, 0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0,
		0x1.ea4afa2a490dap+0} {
		t[i] = math.Float64bits(v) - uint64(i)<<48
	}
	return t
}()

// temperedSums holds the sums of a row: in the first lane for short rows, else in eight.
type temperedSums struct{ s0, s1, s2 [8]float64 }

// add adds the term of d to lane l.
func (s *temperedSums) add(l int, d float64, t *tempering) {
	if d < t.low {
		return
	}
	e := t.term(d)
	p := float64(e * d)
	s.s0[l] += e
	s.s1[l] += p
	s.s2[l] = fma64(p, d, s.s2[l])
}

// columns writes row i from its sums and its label's d.
func (s *temperedSums) columns(c *Tempered, i int, dy float64, t *tempering) {
	s0, s1, s2 := fold8(&s.s0), fold8(&s.s1), fold8(&s.s2)
	if s0 != s0 || dy != dy {
		c.NLL[i], c.Slope[i], c.Curvature[i], c.Label[i] = nan64, nan64, nan64, nan64
		return
	}
	mean, square := max(s1/s0, -maxFinite), s2/s0
	v := square - float64(mean*mean)
	switch {
	case square > maxFinite:
		v = square
	case !(v > 0):
		v = 0
	}
	c.NLL[i] = Log64(s0) - float64(t.beta*dy)
	c.Slope[i] = mean - dy
	c.Curvature[i] = v
	c.Label[i] = dy
}

// fold8 adds lanes l and l+4, l and l+2, l and l+1.
func fold8(v *[8]float64) float64 {
	return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
}

func tempered32(c *Tempered, x *rows32, rows, k, stride int, labels []int32, beta float64) {
	t := newTempering(beta)
	if simdRows(rows, k) {
		simdTempered32(c, x, rows, k, stride, labels, &t)
		return
	}
	for i := range rows {
		temperedRow32(c, i, x, i*stride, k, labels[i], &t)
	}
}

func tempered64(c *Tempered, x []float64, rows, k, stride int, labels []int32, beta float64) {
	t := newTempering(beta)
	if simdRows(rows, k) {
		simdTempered64(c, x, rows, k, stride, labels, &t)
		return
	}
	for i := range rows {
		temperedRow64(c, i, x[i*stride:i*stride+k], labels[i], &t)
	}
}

// temperedRow32 is the definition: a row of at most 32 elements is one chain; in a longer one element j belongs to lane j
// mod 8.
func temperedRow32(c *Tempered, i int, x *rows32, at, k int, y int32, t *tempering) {
	top := float32(math.Inf(-1))
	for b := 0; b < k; b += blockLen {
		for _, v := range x.part(at+b, min(blockLen, k-b)) {
			if v > top {
				top = v
			}
		}
	}
	m, mask := float64(top), temperedLanes(k)
	var s temperedSums
	for b := 0; b < k; b += blockLen {
		for j, v := range x.part(at+b, min(blockLen, k-b)) {
			s.add(j&mask, float64(v)-m, t)
		}
	}
	dy := nan64
	if y >= 0 && int(y) < k {
		dy = float64(x.at(at+int(y))) - m + 0
	}
	s.columns(c, i, dy, t)
}

// temperedLanes returns the mask that turns an index into a lane.
func temperedLanes(k int) int {
	if k <= shortMax {
		return 0
	}
	return 7
}

func temperedRow64(c *Tempered, i int, row []float64, y int32, t *tempering) {
	m, mask := math.Inf(-1), temperedLanes(len(row))
	for _, v := range row {
		if v > m {
			m = v
		}
	}
	var s temperedSums
	for j, v := range row {
		s.add(j&mask, v-m, t)
	}
	dy := nan64
	if y >= 0 && int(y) < len(row) {
		dy = row[y] - m + 0
	}
	s.columns(c, i, dy, t)
}

func simdTempered32(c *Tempered, x *rows32, rows, k, stride int, labels []int32, t *tempering) {
	var w work
	for i, n := 0, 0; i < rows; i += n {
		n = w.batch(x.f32 != nil, 4, rows-i, k)
		at, y := i*stride, labels[i:]
		switch {
		case k <= shortMax:
			f, y, n, stride := w.group32(x, at, n, k, stride, y[:n])
			asm.TemperedShortF32(&w.max[0], f, n, k, stride, y, &t.beta)
		case x.f32 != nil:
			asm.TemperedRowsF32(&w.max[0], &x.f32[at], n, k, stride, &y[0], &t.beta)
		case x.f16 != nil:
			asm.TemperedRowsF16(&w.max[0], &x.f16[at], n, k, stride, &y[0], &t.beta)
		default:
			asm.TemperedRowsBF16(&w.max[0], &x.bf16[at], n, k, stride, &y[0], &t.beta)
		}
		w.tempered(c, i, n, t)
	}
}

func simdTempered64(c *Tempered, x []float64, rows, k, stride int, labels []int32, t *tempering) {
	var w work
	for i, n := 0, 0; i < rows; i += n {
		n = w.batch(true, 8, rows-i, k)
		if at := i * stride; k <= shortMax {
			w.shortTempered64(x, at, n, k, stride, labels[i:i+n], t)
		} else {
			asm.TemperedRowsF64(&w.max[0], &x[at], n, k, stride, &labels[i], &t.beta)
		}
		w.tempered(c, i, n, t)
	}
}

func (w *work) shortTempered64(x []float64, at, n, k, stride int, labels []int32, t *tempering) {
	for j, y := range labels {
		w.eTop[j] = math.Float64frombits(uint64(int64(y)))
	}
	g := groupRows(8)
	if n%g == 0 {
		asm.TemperedShortF64(&w.max[0], &x[at], n, k, stride, nil, &t.beta)
		return
	}
	var rows [shortMax * 16]float64
	for j := range n {
		copy(rows[j*k:(j+1)*k], x[at+j*stride:])
	}
	asm.TemperedShortF64(&w.max[0], &rows[0], (n+g-1)/g*g, k, k, nil, &t.beta)
}

// tempered writes the columns of rows [i, i+n) from their sums.
func (w *work) tempered(c *Tempered, i, n int, t *tempering) {
	if n&7 == 0 {
		asm.TemperedEnds(&w.max[0], n, &t.beta, &c.NLL[i], &c.Slope[i], &c.Curvature[i], &c.Label[i])
		return
	}
	p := &w.padded
	asm.TemperedEnds(&w.max[0], (n+7)&^7, &t.beta, &p[0][0], &p[1][0], &p[2][0], &p[3][0])
	for f, col := range [...][]float64{c.NLL, c.Slope, c.Curvature, c.Label} {
		copy(col[i:i+n], p[f][:])
	}
}
