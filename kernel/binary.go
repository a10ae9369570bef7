package kernel

// The binary kernels take one score a row, of the event y = 1, and fill the columns that a row of the two classes 0 and 1
// would have, with three differences: ArgMax is 1 iff p >= 1/2, Rest is the other class's square (Tail squared),
// and Norm of a probability is 1. Positive, if not nil, is p. labels are 0 or 1.
//
// Of logits, Top, Tail, NLL and Norm have the bits that the row (0, x) has; Entropy and Label are nearer to the truth by a
// rounding (Label is Top or Tail itself).

// BinaryLogitStatsF32 fills the columns of n logits of y = 1: x is ln(p / (1-p)). Unlike in a row of classes, -Inf (p = 0)
// has columns; NaN and +Inf have not. Errors as LogitStatsF32.
func BinaryLogitStatsF32(c *Stats, x []float32, labels []int32) uint8 {
	checkBinary(c, len(x), labels)
	var all uint8
	for i, v := range x {
		all |= binaryLogit32(c, i, v, labels[i])
	}
	return all
}

// BinaryLogitStatsF16 is BinaryLogitStatsF32 of the widened IEEE binary16 logits.
func BinaryLogitStatsF16(c *Stats, x []uint16, labels []int32) uint8 {
	checkBinary(c, len(x), labels)
	r := rows32{f16: x}
	var all uint8
	for i := range x {
		all |= binaryLogit32(c, i, r.at(i), labels[i])
	}
	return all
}

// BinaryLogitStatsBF16 is BinaryLogitStatsF32 of the widened bfloat16 logits.
func BinaryLogitStatsBF16(c *Stats, x []uint16, labels []int32) uint8 {
	checkBinary(c, len(x), labels)
	r := rows32{bf16: x}
	var all uint8
	for i := range x {
		all |= binaryLogit32(c, i, r.at(i), labels[i])
	}
	return all
}

// BinaryLogitStatsF64 is BinaryLogitStatsF32 for float64; errors as LogitStatsF64.
func BinaryLogitStatsF64(c *Stats, x []float64, labels []int32) uint8 {
	checkBinary(c, len(x), labels)
	var all uint8
	lo := lowest64(0)
	for i, v := range x {
		f := binaryFlags(v, labels[i])
		all |= f
		if f != 0 {
			c.none(i, f)
			continue
		}
		d := v
		if d > 0 {
			d = 0 - d
		}
		z := d
		if z < lo {
			z = lo
		}
		e := pow2Term64(z, magic64)
		c.binaryLogit(i, v, d, z, e, labels[i])
	}
	return all
}

// BinaryProbStatsF32 fills the columns of n probabilities of y = 1, in float64 throughout; an entry outside [0,1] has
// FlagOutside and the columns that the formulas give.
func BinaryProbStatsF32(c *Stats, p []float32, labels []int32) uint8 {
	checkBinary(c, len(p), labels)
	var all uint8
	for i, v := range p {
		all |= c.binaryProb(i, float64(v), labels[i])
	}
	return all
}

// BinaryProbStatsF16 is BinaryProbStatsF32 of the widened IEEE binary16 probabilities.
func BinaryProbStatsF16(c *Stats, p []uint16, labels []int32) uint8 {
	checkBinary(c, len(p), labels)
	r := rows32{f16: p}
	var all uint8
	for i := range p {
		all |= c.binaryProb(i, float64(r.at(i)), labels[i])
	}
	return all
}

// BinaryProbStatsBF16 is BinaryProbStatsF32 of the widened bfloat16 probabilities.
func BinaryProbStatsBF16(c *Stats, p []uint16, labels []int32) uint8 {
	checkBinary(c, len(p), labels)
	r := rows32{bf16: p}
	var all uint8
	for i := range p {
		all |= c.binaryProb(i, float64(r.at(i)), labels[i])
	}
	return all
}

// BinaryProbStatsF64 is BinaryProbStatsF32 for float64.
func BinaryProbStatsF64(c *Stats, p []float64, labels []int32) uint8 {
	checkBinary(c, len(p), labels)
	var all uint8
	for i, v := range p {
		all |= c.binaryProb(i, v, labels[i])
	}
	return all
}

func checkBinary(c *Stats, n int, labels []int32) {
	c.check(n)
	if len(labels) < n {
		panic(errLabels)
	}
}

func binaryFlags(v float64, y int32) (f uint8) {
	if v != v || v > maxFinite {
		f = FlagNotFinite
	}
	if y != 0 && y != 1 {
		f |= FlagBadLabel
	}
	return f
}

// binaryLogit32 is the row (0, x): the difference of the smaller to the larger is -|x|.
func binaryLogit32(c *Stats, i int, v float32, y int32) uint8 {
	f := binaryFlags(float64(v), y)
	if f != 0 {
		c.none(i, f)
		return f
	}
	d := v
	if d > 0 {
		d = 0 - d
	}
	z := d
	if lo := lowest32(0); z < lo {
		z = lo
	}
	e := pow2Term32(z, magic32)
	c.binaryLogit(i, float64(v), float64(d), float64(z), float64(e), y)
	return 0
}

// binaryLogit writes the columns of the logit v; d is -|v|, z is d clamped and e is exp(z).
func (c *Stats) binaryLogit(i int, v, d, z, e float64, y int32) {
	pred, most := int32(0), 0.0
	if v >= 0 {
		pred, most = 1, v
	}
	if e < tiny {
		e = 0
	}
	inv := 1 / (1 + e)
	lq := Log1p64(e)
	tail := e * inv
	c.Top[i], c.Tail[i], c.Rest[i] = inv, tail, tail*tail
	c.Entropy[i] = lq - float64(float64(e*z)*inv)
	c.Norm[i] = most + lq
	c.ArgMax[i] = pred
	c.Flags[i] = 0
	rank := int32(0)
	if y == pred {
		c.Label[i], c.NLL[i] = inv, lq
	} else {
		c.Label[i], c.NLL[i] = tail, lq-d
		rank = 1
	}
	c.binaryRest(i, rank)
}

func (c *Stats) binaryProb(i int, p float64, y int32) uint8 {
	f := binaryFlags(p, y)
	if p < -maxFinite {
		f |= FlagNotFinite
	}
	if f != 0 {
		c.none(i, f)
		return f
	}
	if p < 0 || p > 1 {
		f = FlagOutside
	}
	p += 0 // -0 becomes 0
	q := 1 - p
	c.Flags[i] = f
	pred := int32(0)
	top, tail := q, p
	if p >= 0.5 {
		pred, top, tail = 1, p, q
	}
	c.Top[i], c.Tail[i], c.Rest[i], c.Norm[i], c.ArgMax[i] = top, tail, tail*tail, 1, pred
	// ln(1-p) by Log1p64, since 1 - p has no digits left of a small p.
	lp, lq, h := -inf64, -inf64, 0.0
	if p > 0 {
		lp = Log64(p)
		h -= float64(p * lp)
	}
	if p < 1 {
		lq = Log1p64(0 - p)
		h -= float64(q * lq)
	}
	c.Entropy[i] = h
	if y == 1 {
		c.Label[i], c.NLL[i] = p, 0-lp
	} else {
		c.Label[i], c.NLL[i] = q, 0-lq
	}
	rank := int32(0)
	if y != pred {
		rank = 1
	}
	c.binaryRest(i, rank)
	return f
}

// binaryRest writes the columns that may be absent.
func (c *Stats) binaryRest(i int, rank int32) {
	if c.Rank != nil {
		c.Rank[i] = rank
	}
	if c.Positive != nil {
		c.Positive[i] = c.Tail[i]
		if c.ArgMax[i] == 1 {
			c.Positive[i] = c.Top[i]
		}
	}
}
