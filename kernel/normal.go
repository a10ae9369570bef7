package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// NormalColumns holds the columns of normal forecasts, one element per row.
type NormalColumns struct {
	Error []float64 // observed - mean
	SD    []float64 // the standard deviation
	Z     []float64 // Error / SD
	NLL   []float64 // ln SD + Z^2/2 + ln(2 pi)/2
	CRPS  []float64 // SD * (Z (2 Phi(Z) - 1) + 2 phi(Z) - 1/sqrt(pi))
	Flags []uint8
}

// NormalF64 writes the columns of normal forecasts and returns the union of the rows' flags. Rows have k = 3 numbers (mean,
// standard deviation, observed number) or k = 2 (observed - mean, standard deviation). A row has NaN in every column if a
// number is not finite or observed - mean overflows float64 (FlagNotFinite), or if the standard deviation is not above 0
// (FlagOutside). In other rows Z, NLL and CRPS are infinite where they overflow float64; Error and Z keep the sign of a 0.
func NormalF64(c *NormalColumns, x []float64, rows, k, stride int) uint8 {
	checkNormal(c, len(x), rows, k, stride)
	var all uint8
	for i := range rows {
		r := x[i*stride : i*stride+k]
		if k == 2 {
			all |= c.row(i, 0, r[1], r[0])
		} else {
			all |= c.row(i, r[0], r[1], r[2])
		}
	}
	return all
}

// NormalF32 is NormalF64 for float32. Where SD is from 2^-100 to 2^100 and |Z| is at most 2^20, the columns are computed in
// float32, including the difference in Error, so that a register holds sixteen rows. Other rows have the results of
// NormalF64 for the same numbers.
func NormalF32(c *NormalColumns, x []float32, rows, k, stride int) uint8 {
	checkNormal(c, len(x), rows, k, stride)
	clear(c.Flags[:rows])
	var all uint8
	if !simd() {
		for i := range rows {
			all |= c.row32(i, x[i*stride:i*stride+k])
		}
		return all
	}
	i := 0
	if k == 3 && stride == 3 {
		for rows-i >= normalStep {
			i += asm.NormalF32(&c.Error[i], &c.SD[i], &c.Z[i], &c.NLL[i], &c.CRPS[i], &x[3*i], (rows-i)&^(normalStep-1))
			if rows-i >= normalStep { // a step with a row that the assembly cannot handle
				for end := i + normalStep; i < end; i++ {
					all |= c.row32(i, x[3*i:3*i+3])
				}
			}
		}
	}
	for ; i < rows; i += normalStep {
		all |= c.packed(i, x[i*stride:], min(normalStep, rows-i), k, stride)
	}
	return all
}

// normalStep is the number of rows in a step of the assembly.
const normalStep = 64

// packed writes the columns of n rows, at most a step, by copying them to the form that the assembly takes.
func (c *NormalColumns) packed(at int, x []float32, n, k, stride int) uint8 {
	var r [3 * normalStep]float32
	var out [5][normalStep]float64
	for i := range normalStep {
		t := r[3*i:][:3]
		switch {
		case i >= n:
			t[1] = 1 // a standard deviation: rows that fill up the step must not stop it
		case k == 2:
			t[1], t[2] = x[i*stride+1], x[i*stride]
		default:
			copy(t, x[i*stride:])
		}
	}
	if asm.NormalF32(&out[0][0], &out[1][0], &out[2][0], &out[3][0], &out[4][0], &r[0], normalStep) < normalStep {
		var all uint8
		for i := range n {
			all |= c.row32(at+i, x[i*stride:i*stride+k])
		}
		return all
	}
	copy(c.Error[at:at+n], out[0][:])
	copy(c.SD[at:at+n], out[1][:])
	copy(c.Z[at:at+n], out[2][:])
	copy(c.NLL[at:at+n], out[3][:])
	copy(c.CRPS[at:at+n], out[4][:])
	return 0
}

const errNormal = "kernel: a normal forecast has two or three numbers a row"

func checkNormal(c *NormalColumns, x, rows, k, stride int) {
	if k != 2 && k != 3 {
		panic(errNormal)
	}
	checkRows(x, rows, k, stride)
	if min(len(c.Error), len(c.SD), len(c.Z), len(c.NLL), len(c.CRPS), len(c.Flags)) < rows {
		panic(errColumns)
	}
}

// row is the definition for float64.
func (c *NormalColumns) row(i int, mean, sd, observed float64) uint8 {
	flag := uint8(0)
	e := observed - mean
	switch {
	case (e-e)+(sd-sd) != 0: // also if one of the two is not finite
		flag = FlagNotFinite
	case sd <= 0:
		flag = FlagOutside
	}
	c.Flags[i] = flag
	if flag != 0 {
		c.Error[i], c.SD[i], c.Z[i], c.NLL[i], c.CRPS[i] = nan64, nan64, nan64, nan64, nan64
		return flag
	}
	z := e / sd
	h := float64(0.5 * float64(z*z))
	c.Error[i], c.SD[i], c.Z[i] = e, sd, z
	c.NLL[i] = Log64(sd) + (h + halfLog2Pi)
	if a := math.Abs(z); a > 0x1p60 {
		c.CRPS[i] = math.Abs(e) // sd/sqrt(pi) is below its last place
	} else {
		c.CRPS[i] = sd * normalCRPS(a, h)
	}
	return flag
}

// normalCRPS returns a (2 Phi(a) - 1) + 2 phi(a) - 1/sqrt(pi) for h = a^2/2. Its difference from a - 1/sqrt(pi) is e**-h
// times a polynomial in (a-4)/(a+4), and negligible beyond 8. Error of the fit: 1e-16 of the result.
func normalCRPS(a, h float64) float64 {
	b := a
	if b > 8 {
		b = 8
	}
	t := (b - 4) / (b + 4)
	q := fma64(t, -0x1.2200117827a06p-23, -0x1.fd6397f46c53ap-19)
	q = fma64(t, q, -0x1.ec109902eca68p-16)
	q = fma64(t, q, -0x1.9dd997c3ad590p-14)
	q = fma64(t, q, -0x1.cce9c865d01e9p-14)
	q = fma64(t, q, 0x1.5c19077270ae8p-13)
	q = fma64(t, q, 0x1.cb509fe101b85p-15)
	q = fma64(t, q, -0x1.d3c9c059017d3p-10)
	q = fma64(t, q, 0x1.e2d870e40663cp-10)
	q = fma64(t, q, 0x1.690b6c2e77761p-7)
	q = fma64(t, q, -0x1.b1006bf462726p-5)
	q = fma64(t, q, 0x1.024df6252e879p-3)
	q = fma64(t, q, -0x1.9adc5251ebf7ap-3)
	q = fma64(t, q, 0x1.c41d6bd194a01p-3)
	q = fma64(t, q, -0x1.2dda040cf918fp-3)
	q = fma64(t, q, 0x1.5cf97b0aed339p-5)
	return a + fma64(Exp64(-h), q, -invSqrtPi)
}

// row32 is the definition for float32.
func (c *NormalColumns) row32(i int, r []float32) uint8 {
	var mean float32
	sd, observed := r[1], r[0]
	if len(r) == 3 {
		mean, observed = r[0], r[2]
	}
	e := observed - mean
	z := e / sd
	a := math.Float32frombits(math.Float32bits(z) &^ (1 << 31))
	if !(a <= 0x1p20 && sd >= 0x1p-100 && sd <= 0x1p100) {
		return c.row(i, float64(mean), float64(sd), float64(observed))
	}
	u := float32(z * z)
	c.Error[i], c.SD[i], c.Z[i] = float64(e), float64(sd), float64(z)
	c.NLL[i], c.CRPS[i] = float64(normalNLL32(sd, u)), float64(sd*normalCRPS32(a, u))
	return 0
}

// normalNLL32 returns ln sd + u/2 + ln(2 pi)/2. Error of the fit: 4e-8.
func normalNLL32(sd, u float32) float32 {
	b := math.Float32bits(sd)
	k := int32(b-root32) >> 23
	f := math.Float32frombits(b-uint32(k)<<23) - 1
	q := fma32(f, -0x1.9dd1b2p-4, 0x1.50464p-3)
	q = fma32(f, q, -0x1.62fac8p-3)
	q = fma32(f, q, 0x1.970042p-3)
	q = fma32(f, q, -0x1.ff2b2cp-3)
	q = fma32(f, q, 0x1.555cccp-2)
	q = fma32(f, q, -0x1.0000ep-1)
	q = fma32(f, q, 0x1.fffffap-1)
	q = fma32(f, q, halfLog2Pi)
	q = fma32(float32(k), ln2hi, q)
	return fma32(u, 0.5, q)
}

// root32 is the bits of the square root of 1/2.
const root32 = 0x3f3504f3

// normalCRPS32 is normalCRPS for u = a^2: up to a = 4.6, u times a polynomial in u, plus the value at 0; beyond, a -
// 1/sqrt(pi). Error of both: 2e-7 of the result.
func normalCRPS32(a, u float32) float32 {
	if u > normalFar {
		u = normalFar
	}
	v := fma32(u, 2/normalFar, -1)
	q := fma32(v, 0x1.36807ep-13, -0x1.c155e6p-12)
	q = fma32(v, q, 0x1.699d44p-11)
	q = fma32(v, q, -0x1.7c72dap-10)
	q = fma32(v, q, 0x1.b50b10p-9)
	q = fma32(v, q, -0x1.b5a1c6p-8)
	q = fma32(v, q, 0x1.98656cp-7)
	q = fma32(v, q, -0x1.71a744p-6)
	q = fma32(v, q, 0x1.4ccdb4p-5)
	q = fma32(v, q, -0x1.41930cp-4)
	q = fma32(v, q, 0x1.db3e20p-3)
	q = fma32(u, q, 0.23369497725510906913)
	if b := a - invSqrtPi; q < b {
		return b
	}
	return q
}

const normalFar = 21.16 // 4.6^2
