package kernel

import "math"

// This file is the definition of the probability columns. The arrangement is that of the logit columns, without a reference.

// probSums holds the sums over the entries of a row; the top and its index are as for logits.
type probSums struct {
	max       float64
	top       int
	s, q, h   float64 // sums of p, p*p and p*ln(p) over all entries except the top
	outside   bool    // some entry is below 0 or above 1
	notFinite bool
}

// underLog32 is the counterpart of under32 for sums of p*ln(p), which are negative.
const underLog32 = -0x1p-100

func (r *probSums) finish(c *Stats, i int, py float64, y int32) {
	top := r.max
	h := r.h
	if top > 0 {
		h += float64(top * Log64(top))
	}
	c.Top[i] = top
	c.Tail[i] = 1 - top
	if c.Rest != nil {
		c.Rest[i], c.Entropy[i] = r.q, 0-h
	}
	norm := top + r.s
	if norm != norm {
		norm = nan64 // entries of both signs, so large that their sums are infinite
	}
	c.Norm[i] = norm
	c.ArgMax[i] = int32(r.top)
	c.Label[i] = py
	c.NLL[i] = inf64
	if py > 0 {
		c.NLL[i] = 0 - Log64(py)
	}
}

func (r *probSums) flags(y int32, k int) uint8 {
	var f uint8
	if r.notFinite {
		f = FlagNotFinite
	} else if r.outside {
		f = FlagOutside
	}
	if y < 0 || int(y) >= k {
		f |= FlagBadLabel
	}
	return f
}

func probStats32(c *Stats, x *rows32, rows, k, stride int, labels []int32) uint8 {
	if simd() {
		return simdProbs32(c, x, rows, k, stride, labels)
	}
	var all uint8
	for i := 0; i < rows; i++ {
		all |= probRow32(c, i, x, i*stride, k, labels[i])
	}
	return all
}

// probRow32 writes the columns of row i, which starts at element at.
func probRow32(c *Stats, i int, x *rows32, at, k int, y int32) uint8 {
	var r probSums
	if k <= shortMax {
		shortProbs32(&r, x, at, k)
	} else {
		longProbs32(&r, x, at, k)
	}
	f := r.flags(y, k)
	if f&flagsNoColumns != 0 {
		c.none(i, f)
		return f
	}
	py := x.at(at + int(y))
	r.finish(c, i, float64(py)+0, y)
	c.Flags[i] = f
	if c.Rank != nil {
		c.Rank[i] = rank32(x, at, k, int(y), py)
	}
	if c.Positive != nil && k == 2 {
		c.Positive[i] = float64(x.at(at+1)) + 0
	}
	return f
}

// entropyTerm32 adds p*ln(p) to h. An entry too small for a normal logarithm, including 0, uses the logarithm of 2**-126.
func entropyTerm32(p, h float32) float32 {
	l := p
	if l < 0x1p-126 {
		l = 0x1p-126
	}
	return fma32(p, log32Normal(l, 0), h)
}

// look32 sets outside if an entry is outside [0,1], and reports whether one is -Inf.
func (r *probSums) look32(x []float32) (infinite bool) {
	for _, v := range x {
		if !(v >= 0 && v <= 1) {
			r.outside = true
			if v < -math.MaxFloat32 {
				infinite = true
			}
		}
	}
	return infinite
}

// setEntropy sets e[j] = x[j], and z[j] to the factor of entropyTerm32, with the same bits, for up to chunk elements.
//
// All values of the polynomial are in known ranges. Products with a power of two, and of the exponent with a short constant,
// are exact in float32, so a fused operation with them is just a sum.
func (w *terms32) setEntropy(x []float32) {
	for j, v := range x {
		j &= chunk - 1
		w.e[j] = float64(v)
		w.z[j], w.t[j] = split32(v)
	}
	for j := 0; j < len(x); j += 4 {
		logFour32((*[4]float64)(w.z[j:]), (*[4]float64)(w.t[j:]))
	}
}

// logFour32 replaces four f with ln(1+f) + k*ln(2), as in log32Normal.
func logFour32(f, k *[4]float64) {
	const c = -0x1.38b590p-4
	s := &logSteps
	f0, f1, f2, f3 := f[0], f[1], f[2], f[3]
	q0, q1, q2, q3 := fmaGrid(f0, c, s[0]), fmaGrid(f1, c, s[0]), fmaGrid(f2, c, s[0]), fmaGrid(f3, c, s[0])
	q0, q1, q2, q3 = fmaGrid(f0, q0, s[1]), fmaGrid(f1, q1, s[1]), fmaGrid(f2, q2, s[1]), fmaGrid(f3, q3, s[1])
	q0, q1, q2, q3 = fmaGrid(f0, q0, s[2]), fmaGrid(f1, q1, s[2]), fmaGrid(f2, q2, s[2]), fmaGrid(f3, q3, s[2])
	q0, q1, q2, q3 = fmaGrid(f0, q0, s[3]), fmaGrid(f1, q1, s[3]), fmaGrid(f2, q2, s[3]), fmaGrid(f3, q3, s[3])
	q0, q1, q2, q3 = fmaGrid(f0, q0, s[4]), fmaGrid(f1, q1, s[4]), fmaGrid(f2, q2, s[4]), fmaGrid(f3, q3, s[4])
	q0, q1, q2, q3 = fmaGrid(f0, q0, s[5]), fmaGrid(f1, q1, s[5]), fmaGrid(f2, q2, s[5]), fmaGrid(f3, q3, s[5])
	q0, q1, q2, q3 = fmaGrid(f0, q0, s[6]), fmaGrid(f1, q1, s[6]), fmaGrid(f2, q2, s[6]), fmaGrid(f3, q3, s[6])
	f[0], f[1] = logEnd32(float32(f0), float32(q0), k[0]), logEnd32(float32(f1), float32(q1), k[1])
	f[2], f[3] = logEnd32(float32(f2), float32(q2), k[2]), logEnd32(float32(f3), float32(q3), k[3])
}

// addEntropies is setEntropy and add for the elements of x from at on, in whole groups of four, which never leave registers between. It
// returns the first element that it has not added.
func (a *lanes32) addEntropies(x []float32, at int) int {
	const c = -0x1.38b590p-4
	k := &logSteps
	for ; at+4 <= len(x); at += 4 {
		v := (*[4]float32)(x[at:])
		f0, k0 := split32(v[0])
		f1, k1 := split32(v[1])
		f2, k2 := split32(v[2])
		f3, k3 := split32(v[3])
		q0, q1, q2, q3 := fmaGrid(f0, c, k[0]), fmaGrid(f1, c, k[0]), fmaGrid(f2, c, k[0]), fmaGrid(f3, c, k[0])
		q0, q1, q2, q3 = fmaGrid(f0, q0, k[1]), fmaGrid(f1, q1, k[1]), fmaGrid(f2, q2, k[1]), fmaGrid(f3, q3, k[1])
		q0, q1, q2, q3 = fmaGrid(f0, q0, k[2]), fmaGrid(f1, q1, k[2]), fmaGrid(f2, q2, k[2]), fmaGrid(f3, q3, k[2])
		q0, q1, q2, q3 = fmaGrid(f0, q0, k[3]), fmaGrid(f1, q1, k[3]), fmaGrid(f2, q2, k[3]), fmaGrid(f3, q3, k[3])
		q0, q1, q2, q3 = fmaGrid(f0, q0, k[4]), fmaGrid(f1, q1, k[4]), fmaGrid(f2, q2, k[4]), fmaGrid(f3, q3, k[4])
		q0, q1, q2, q3 = fmaGrid(f0, q0, k[5]), fmaGrid(f1, q1, k[5]), fmaGrid(f2, q2, k[5]), fmaGrid(f3, q3, k[5])
		q0, q1, q2, q3 = fmaGrid(f0, q0, k[6]), fmaGrid(f1, q1, k[6]), fmaGrid(f2, q2, k[6]), fmaGrid(f3, q3, k[6])
		l0, l1 := logEnd32(float32(f0), float32(q0), k0), logEnd32(float32(f1), float32(q1), k1)
		l2, l3 := logEnd32(float32(f2), float32(q2), k2), logEnd32(float32(f3), float32(q3), k3)
		g := at >> 2 & 3
		s, q, h := &a.s[g], &a.q[g], &a.h[g]
		s[0] += v[0]
		s[1] += v[1]
		s[2] += v[2]
		s[3] += v[3]
		e0, e1, e2, e3 := float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])
		q[0] = float64(sum32(float64(e0*e0), q[0]))
		q[1] = float64(sum32(float64(e1*e1), q[1]))
		q[2] = float64(sum32(float64(e2*e2), q[2]))
		q[3] = float64(sum32(float64(e3*e3), q[3]))
		h[0] = float64(sumAny32(float64(e0*l0), h[0]))
		h[1] = float64(sumAny32(float64(e1*l1), h[1]))
		h[2] = float64(sumAny32(float64(e2*l2), h[2]))
		h[3] = float64(sumAny32(float64(e3*l3), h[3]))
	}
	return at
}

// split32 returns f and k with v = 2**k * (1+f), as log32Normal does. For v below 2**-126 they are those of 2**-126.
func split32(v float32) (f, k float64) {
	if v < 0x1p-126 {
		v = 0x1p-126
	}
	u := math.Float32bits(v)
	e := int32(u-0x3f3504f3) >> 23
	return float64(math.Float32frombits(u-uint32(e)<<23) - 1), float64(e)
}

// logEnd32 is the part of log32Normal after the polynomial q.
func logEnd32(f, q float32, k float64) float64 {
	z := f * f
	y := float32(z*f) * q
	y = sum32(float64(k*-0x1.bd0106p-13), float64(y))
	y -= float32(0.5 * z)
	return float64(float32(float32(k)*0.693359375) + (f + y))
}

// logSteps are the other coefficients of log32Normal's polynomial, each with the range of the sum that it is added to.
var logSteps = [7]step{
	{0x1.055b6cp-3 + gridM3, gridM3},
	{-0x1.0d8540p-3 - gridM3, -gridM3},
	{0x1.22da1cp-3 + gridM3, gridM3},
	{-0x1.547244p-3 - gridM3, -gridM3},
	{0x1.99a008p-3 + gridM2, gridM2},
	{-0x1.000226p-2 - gridM2, -gridM2},
	{0x1.555554p-2 + gridM2, gridM2},
}

func shortProbs32(r *probSums, src *rows32, at, k int) {
	x := src.part(at, k)
	m, top, ok := max32(x)
	r.max, r.top = float64(m)+0, top
	if r.look32(x) {
		ok = false
	}
	w := &src.terms
	w.setEntropy(x)
	w.e[top] = 0 // an entry of 0 does not change the sums
	s, q, h := float32(0), float32(under32), float32(underLog32)
	for j, v := range w.e[:k] {
		s += float32(v)
		q = sum32(float64(v*v), float64(q))
		h = sumAny32(float64(v*w.z[j&(chunk-1)]), float64(h))
	}
	r.s, r.q, r.h = float64(s), float64(q)-under32, float64(h)-underLog32
	r.notFinite = !ok
}

func longProbs32(r *probSums, src *rows32, at, k int) {
	l := newLongProbs()
	for b := 0; b < k; b += blockLen {
		x := src.part(at+b, min(blockLen, k-b))
		bm, bi, ok := max32(x)
		if !ok {
			r.notFinite = true
			return
		}
		held := -1
		if float64(bm) > l.max {
			held = bi
			l.raise32(bm, b+bi)
		}
		if r.look32(x) {
			r.notFinite = true
			return
		}
		var a lanes32
		for g := range a.q {
			a.q[g] = [4]float64{under32, under32, under32, under32}
			a.h[g] = [4]float64{underLog32, underLog32, underLog32, underLog32}
		}
		at := 0
		if held >= 0 {
			at = a.addEntropies(x[:held], 0)
			part := x[at:min(at+4, len(x))]
			src.terms.setEntropy(part)
			src.terms.e[held-at] = 0 // an entry of 0 does not change the lanes
			a.add(&src.terms, at, len(part))
			at += len(part)
		}
		at = a.addEntropies(x, at)
		src.terms.setEntropy(x[at:])
		a.add(&src.terms, at, len(x)-at)
		for i := range l.acc.s {
			l.acc.s[i] += float64(a.s[i>>2][i&3])
			l.acc.q[i] += a.q[i>>2][i&3] - under32
			l.acc.h[i] += a.h[i>>2][i&3] - underLog32
		}
	}
	l.sums(r)
}

// longProbRow holds the sums of a long row after some of its blocks. For float32 rows the numbers are float32 numbers.
type longProbRow struct {
	acc  lanes
	side [3]float64
	max  float64
	top  int
}

func newLongProbs() longProbRow { return longProbRow{max: math.Inf(-1), top: -1} }

// raise32 makes m, the entry with index top, the largest: the old one is added to the side sums.
func (l *longProbRow) raise32(m float32, top int) {
	if l.top >= 0 {
		l.leave(float64(entropyTerm32(float32(l.max), 0)))
	}
	l.max, l.top = float64(m), top
}

// leave adds the largest entry, with p*ln(p) = h, to the side sums.
func (l *longProbRow) leave(h float64) {
	l.side[0] += l.max
	l.side[1] += float64(l.max * l.max)
	l.side[2] += h
}

// sums sets the sums of the whole row.
func (l *longProbRow) sums(r *probSums) {
	s, q, h := l.acc.fold()
	r.max, r.top = l.max+0, l.top
	r.s, r.q, r.h = s+l.side[0], q+l.side[1], h+l.side[2]
}

// The float64 definitions: the same arrangement with 8 lanes.

// underLog64 is underLog32 for float64 lanes.
const underLog64 = -0x1p-900

func probStats64(c *Stats, x []float64, rows, k, stride int, labels []int32) uint8 {
	if simd() {
		return simdProbs64(c, x, rows, k, stride, labels)
	}
	var all uint8
	for i := 0; i < rows; i++ {
		all |= probRow64(c, i, x[i*stride:i*stride+k], labels[i])
	}
	return all
}

func probRow64(c *Stats, i int, row []float64, y int32) uint8 {
	var r probSums
	k := len(row)
	if k <= shortMax {
		shortProbs64(&r, row)
	} else {
		longProbs64(&r, row)
	}
	f := r.flags(y, k)
	if f&flagsNoColumns != 0 {
		c.none(i, f)
		return f
	}
	r.finish(c, i, row[y]+0, y)
	c.Flags[i] = f
	if c.Rank != nil {
		c.Rank[i] = rank64(row, int(y))
	}
	if c.Positive != nil && k == 2 {
		c.Positive[i] = row[1] + 0
	}
	return f
}

func entropyTerm64(p, h float64) float64 {
	l := p
	if l < 0x1p-1022 {
		l = 0x1p-1022
	}
	k, f := splitLog(l)
	return fma64(p, logSplit(k, f), h)
}

func shortProbs64(r *probSums, x []float64) {
	m, top, ok := max64(x)
	r.max, r.top = m, top
	s, q, h := 0.0, under64, underLog64
	for j, v := range x {
		if v < -math.MaxFloat64 {
			ok = false
		}
		if v < 0 || v > 1 {
			r.outside = true
		}
		if j == top {
			continue
		}
		s += v
		q = fma64(v, v, q)
		h = entropyTerm64(v, h)
	}
	r.s, r.q, r.h = s, q-under64, h-underLog64
	r.notFinite = !ok
}

func longProbs64(r *probSums, row []float64) {
	l := newLongProbs()
	for b := 0; b < len(row); b += blockLen {
		x := row[b:min(b+blockLen, len(row))]
		bm, bi, ok := max64(x)
		if !ok {
			r.notFinite = true
			return
		}
		held := -1
		if bm > l.max {
			held = bi
			l.raise64(bm, b+bi)
		}
		var s, q, h [8]float64
		for l := range q {
			q[l], h[l] = under64, underLog64
		}
		for j, v := range x {
			if v < -math.MaxFloat64 {
				r.notFinite = true
				return
			}
			if v < 0 || v > 1 {
				r.outside = true
			}
			if j == held {
				continue
			}
			l := j & 7
			s[l] += v
			q[l] = fma64(v, v, q[l])
			h[l] = entropyTerm64(v, h[l])
		}
		for i := range s {
			l.acc.s[i] += s[i]
			l.acc.q[i] += q[i] - under64
			l.acc.h[i] += h[i] - underLog64
		}
	}
	l.sums(r)
}

func (l *longProbRow) raise64(m float64, top int) {
	if l.top >= 0 {
		l.leave(entropyTerm64(l.max, 0))
	}
	l.max, l.top = m, top
}
