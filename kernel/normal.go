package kernel

import "math"

// NormalColumns are what is known of each row of a normal forecast, one element a row.
type NormalColumns struct {
	Error []float64 // observed - mean
	SD    []float64 // the standard deviation
	Z     []float64 // Error / SD
	NLL   []float64 // ln SD + Z^2/2 + ln(2 pi)/2
	CRPS  []float64 // SD * (Z (2 Phi(Z) - 1) + 2 phi(Z) - 1/sqrt(pi))
	Flags []uint8
}

// NormalF64 writes the columns of rows of a normal forecast: k = 3 numbers, which are the mean, the standard deviation and what was
// observed, or k = 2, which are observed - mean and the standard deviation. A row with a number that is not finite
// (FlagNotFinite) has NaN in every column, and so has one whose standard deviation is not above 0 (FlagOutside). It returns the
// union of the rows' flags.
func NormalF64(c *NormalColumns, x []float64, rows, k, stride int) uint8 {
	checkNormal(c, len(x), rows, k, stride)
	var all uint8
	for i := range rows {
		r := x[i*stride : i*stride+k]
		if k == 2 {
			all |= c.row(i, r[0], r[1])
		} else {
			all |= c.row(i, r[2]-r[0], r[1])
		}
	}
	return all
}

// NormalF32 is NormalF64 for float32.
func NormalF32(c *NormalColumns, x []float32, rows, k, stride int) uint8 {
	checkNormal(c, len(x), rows, k, stride)
	var all uint8
	for i := range rows {
		r := x[i*stride : i*stride+k]
		if k == 2 {
			all |= c.row(i, float64(r[0]), float64(r[1]))
		} else {
			all |= c.row(i, float64(r[2])-float64(r[0]), float64(r[1]))
		}
	}
	return all
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

// row is the definition.
func (c *NormalColumns) row(i int, e, sd float64) uint8 {
	flag := uint8(0)
	switch {
	case e-e != 0 || sd-sd != 0:
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
	h := float64(z*z) / 2
	c.Error[i], c.SD[i], c.Z[i] = e, sd, z
	c.NLL[i] = Log64(sd) + h + 0.91893853320467274178
	a := math.Abs(z)
	c.CRPS[i] = sd * (float64(a*math.Erf(a/math.Sqrt2)) + float64(0.79788456080286535588*Exp64(-h)) - 0.56418958354775628695)
	return flag
}
