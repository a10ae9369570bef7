package recal

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// Logits have their digits also where they are near 0, and in columns are what they are one by one.
func TestLogitDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := []float64{0, 1, 0.5, 0x1p-1074, 1 - 0x1p-53, 0x1p-54, 0.25, 0.75, math.NaN()}
	for range 2000 {
		d := math.Exp(-35 * r.Float64())
		x = append(x, 0.5+d/2, 0.5-d/2, d, 1-d, r.Float64())
	}
	all := append([]float64(nil), x...)
	logitAll(all)
	for i, p := range x {
		z := logit(p)
		if z == z && math.Float64bits(z) != math.Float64bits(all[i]) {
			t.Fatalf("the logit of %v is %v, and %v in a column", p, z, all[i])
		}
		if p > 0.25 && p < 0.75 {
			// p/(1-p) - 1 = (2p-1)/(1-p), and the logarithm is that of 1 plus this.
			one, b := big.NewFloat(1).SetPrec(200), new(big.Float).SetPrec(200).SetFloat64(p)
			u := new(big.Float).SetPrec(200).Sub(new(big.Float).SetPrec(200).Add(b, b), one)
			u.Quo(u, new(big.Float).SetPrec(200).Sub(one, b))
			f, _ := u.Float64()
			if want := kernel.Log1p64(f); math.Abs(z-want) > 3e-15*math.Abs(want) {
				t.Errorf("the logit of %v is %v; want %v", p, z, want)
			}
		}
	}
}

// logitsOff returns how far two numbers are apart, in units of 2^-53 of the second.
func logitsOff(got, want float64) float64 {
	if got == want {
		return 0
	}
	return math.Abs(got-want) / math.Abs(want) * 0x1p53
}

func TestLogit(t *testing.T) {
	for _, c := range [][2]float64{{0, math.Inf(-1)}, {1, math.Inf(1)}, {0.5, 0}, {0x1p-1074, -1074 * math.Ln2}, {1 - 0x1p-53, 53 * math.Ln2}} {
		if got := logit(c[0]); logitsOff(got, c[1]) > 2 && got != c[1] {
			t.Errorf("logit(%v) is %v, want %v", c[0], got, c[1])
		}
	}
	for _, bad := range []float64{math.NaN(), -0.1, 1.1, math.Inf(1), math.Inf(-1)} {
		if got := logit(bad); got == got {
			t.Errorf("logit(%v) is %v", bad, got)
		}
	}
	worst := 0.0
	check := func(p float64) {
		// Near 1/2 by the inverse hyperbolic tangent, elsewhere by logarithms that are not near 0.
		want := 2 * math.Atanh(2*p-1)
		switch {
		case p < 0.25:
			want = math.Log(p) - math.Log1p(-p)
		case p > 0.75:
			want = -(math.Log(1-p) - math.Log1p(-(1 - p)))
		}
		off := logitsOff(logit(p), want)
		if worst = max(worst, off); off > 12 {
			t.Errorf("logit(%v) is %v, want %v: off by %.1f", p, logit(p), want, off)
		}
	}
	for i := 1; i < 4000; i++ {
		check(float64(i) / 4000)
	}
	for x := 0.1; x > 1e-300; x /= 3 {
		check(x)
		if 1-x < 1 {
			check(1 - x)
		}
		if 0.5+x != 0.5 {
			check(0.5 + x)
			check(0.5 - x)
		}
	}
	t.Logf("off by at most %.1f units of 2^-53", worst)
}

func TestLogProbLogit(t *testing.T) {
	for _, c := range [][2]float64{{math.Inf(-1), math.Inf(-1)}, {0, math.Inf(1)}, {1e-20, math.Inf(1)}, {-math.Ln2, 0}, {-800, -800},
		{-1e300, -1e300}, {-0x1p-60, 60 * math.Ln2}} {
		if got := logProbLogit(c[0]); got != c[1] && math.Abs(got-c[1]) > 4e-16*max(1, math.Abs(c[1])) {
			t.Errorf("of the logarithm %v it is %v, want %v", c[0], got, c[1])
		}
	}
	if got := logProbLogit(math.NaN()); got == got {
		t.Errorf("of NaN it is %v", got)
	}
	for l := -745.0; l < -1e-300; l *= 0.83 {
		want := l - math.Log(-math.Expm1(l))
		if got := logProbLogit(l); math.Abs(got-want) > 1e-15*max(1, math.Abs(want)) {
			t.Errorf("of the logarithm %v it is %v, want %v", l, got, want)
		}
	}
}

func TestSigmoid(t *testing.T) {
	for _, c := range [][2]float64{{0, 0.5}, {math.Inf(1), 1}, {math.Inf(-1), 0}, {1e308, 1}, {-1e308, 0}, {-700, math.Exp(-700)}, {-740, math.Exp(-740)},
		{40, 1}, {math.Ln2, 2.0 / 3}, {-math.Ln2, 1.0 / 3}} {
		if got := sigmoid(c[0]); logitsOff(got, c[1]) > 4 && got != c[1] {
			t.Errorf("sigmoid(%v) is %v, want %v", c[0], got, c[1])
		}
	}
	if got := sigmoid(math.NaN()); got == got {
		t.Errorf("sigmoid(NaN) is %v", got)
	}
	last := 0.0
	for z := -750.0; z < 50; z += 0.25 {
		p := sigmoid(z)
		if p < last || p > 1 {
			t.Fatalf("sigmoid(%v) is %v, and before it is %v", z, p, last)
		}
		last = p
		if z > -700 && z < 0 {
			if got := logit(p); math.Abs(got-z) > 4e-16*max(1, -z) {
				t.Errorf("logit(sigmoid(%v)) is %v", z, got)
			}
		}
		if off := math.Abs(p + sigmoid(-z) - 1); off > 0x1p-52 {
			t.Errorf("sigmoid(%v) and sigmoid(%v) are off 1 by %v", z, -z, off)
		}
	}
}

func TestLogits(t *testing.T) {
	ninf := math.Inf(-1)
	s := &metrics.Scores{F64: []float64{0.25, 0.75, 9, 1, 0}, Rows: 2, Classes: 2, Stride: 3}
	for _, c := range []struct {
		k    metrics.Kind
		want [4]float64
	}{
		{metrics.Probs, [4]float64{math.Log(0.25), math.Log(0.75), 0, ninf}},
		{metrics.Logits, [4]float64{0.25, 0.75, 1, 0}},
		{metrics.LogProbs, [4]float64{0.25, 0.75, 1, 0}},
	} {
		var got [4]float64
		if logits(got[:], s, c.k, 0, 2); got != c.want {
			t.Errorf("%v: %v, want %v", c.k, got, c.want)
		}
		var second [2]float64
		if logits(second[:], s, c.k, 1, 2); second != [2]float64(c.want[2:]) {
			t.Errorf("%v: %v", c.k, second)
		}
	}
	one := &metrics.Scores{F32: []float32{0, 0.5, 1}, Rows: 3, Classes: 1}
	var got [3]float64
	if logits(got[:], one, metrics.Probs, 0, 3); got != [3]float64{ninf, 0, -ninf} {
		t.Errorf("%v", got)
	}
	logs := &metrics.Scores{F64: []float64{ninf, -900, 0}, Rows: 3, Classes: 1}
	if logits(got[:], logs, metrics.LogProbs, 0, 3); got != [3]float64{ninf, -900, -ninf} {
		t.Errorf("%v", got)
	}
}

func TestWidenAndStore(t *testing.T) {
	for _, dtype := range dataTypes {
		for _, shape := range [][3]int{{1, 1, 1}, {5, 1, 3}, {3, 300, 301}, {2, 1000, 1000}} {
			p := dataRows(shape[0], shape[1], shape[2], dtype)
			x := make([]float64, p.Rows*p.Classes)
			p.Scores.Widen(x, 0, p.Rows)
			for i := range p.Rows {
				for j := range p.Classes {
					at, want := i*p.Stride+j, 0.0
					switch dtype {
					case metrics.Float64:
						want = p.F64[at]
					case metrics.Float32:
						want = float64(p.F32[at])
					case metrics.Float16:
						want = 1 + float64(p.F16[at]-0x3c00)/1024
					default:
						want = 1 + float64(p.BF16[at]-0x3f80)/128
					}
					if x[i*p.Classes+j] != want {
						t.Fatalf("%v %v: %d %d is %v, want %v", dtype, shape, i, j, x[i*p.Classes+j], want)
					}
				}
			}
			if dtype != metrics.Float64 && dtype != metrics.Float32 {
				continue
			}
			// Back into other memory, which is as it was beside the rows.
			dst := dataRows(shape[0], shape[1], shape[2], dtype).Scores
			for i := range dst.F64 {
				dst.F64[i] = -7
			}
			for i := range dst.F32 {
				dst.F32[i] = -7
			}
			if p.Rows > 1 {
				store(&dst, x[p.Classes:], 1, p.Rows)
			}
			store(&dst, x, 0, 1)
			for at := range max(len(dst.F64), len(dst.F32)) {
				got, want := 0.0, -7.0
				if dst.F64 != nil {
					got = dst.F64[at]
				} else {
					got = float64(dst.F32[at])
				}
				if at%p.Stride < p.Classes {
					want = x[at/p.Stride*p.Classes+at%p.Stride]
				}
				if got != want {
					t.Fatalf("%v %v: element %d is %v, want %v", dtype, shape, at, got, want)
				}
			}
		}
	}
}
