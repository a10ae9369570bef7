package regress

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/student"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// Law is the type of distribution that forecasts of means and standard deviations state. The zero value is the normal one.
// Methods use the law with mean 0 and standard deviation 1, or take an error e and a standard deviation sd. They give the
// same bits on every CPU. Laws are compared by ==.
type Law struct {
	family family
	df     float64 // for Student's t; 0 for others
}

type family uint8

const (
	normalFamily family = iota
	laplaceFamily
	logisticFamily
	studentFamily
	families
)

var familyNames = [families]string{"normal", "laplace", "logistic", "t"}

// The laws without parameters.
var (
	NormalLaw   = Law{}
	LaplaceLaw  = Law{family: laplaceFamily}
	LogisticLaw = Law{family: logisticFamily}
)

// StudentLaw returns Student's t with df degrees of freedom, scaled to standard deviation 1. It panics unless 2 < df <=
// 1000. With 2 or fewer there is no standard deviation; with more than 1000 it equals the normal law to three digits.
func StudentLaw(df float64) Law {
	if !soundDF(df) {
		panic("regress: Student's t has a standard deviation above 2 degrees of freedom, and there are 1,000 at most")
	}
	return Law{studentFamily, df}
}

func soundDF(df float64) bool { return df > 2 && df <= 1000 }

// ParseLaw reads "normal", "laplace", "logistic" or "t(df=5)".
func ParseLaw(s string) (Law, error) {
	name, inner, open := strings.Cut(strings.TrimSpace(s), "(")
	name = strings.TrimSpace(name)
	for f, n := range familyNames {
		if n != name {
			continue
		}
		if family(f) != studentFamily {
			if open {
				return Law{}, fmt.Errorf("the distribution %s has no options", name)
			}
			return Law{family: family(f)}, nil
		}
		value, ok := strings.CutSuffix(strings.TrimSpace(inner), ")")
		value, given := strings.CutPrefix(strings.TrimSpace(value), "df=")
		if !open || !ok || !given {
			return Law{}, fmt.Errorf("the distribution t takes its degrees of freedom, as t(df=5)")
		}
		df, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		switch {
		case err != nil || df != df:
			return Law{}, fmt.Errorf("df is %q; it is a number above 2", value)
		case df <= 2:
			return Law{}, fmt.Errorf("df is %v, and with 2 degrees of freedom or fewer Student's t has no standard deviation; df is above 2", df)
		case !soundDF(df):
			return Law{}, fmt.Errorf("df is %v; it is at most 1000, beyond which t is nearly normal", df)
		}
		return StudentLaw(df), nil
	}
	return Law{}, fmt.Errorf("there is no distribution %q; there are normal, laplace, logistic and t(df=N)", s)
}

func (l *Law) fields(f *exact.Fields) {
	exact.Byte(f, &l.family)
	f.F64(&l.df)
	if l.family == studentFamily {
		f.Must(soundDF(l.df), exact.OutOfRange)
	} else {
		f.Must(l.family < families && l.df == 0 && !math.Signbit(l.df), exact.OutOfRange)
	}
}

// alikeLaws returns an error if the laws of two states differ.
func alikeLaws(a, b Law, format exact.Format) error {
	if a != b {
		return state.Mismatch(format, "of %v and of %v distributions", a, b)
	}
	return nil
}

// String returns the name that ParseLaw reads.
func (l Law) String() string {
	if l.family == studentFamily {
		return "t(df=" + strconv.FormatFloat(l.df, 'g', -1, 64) + ")"
	}
	return familyNames[l.family]
}

// Name returns the name for display: "Laplace", "Student's t (df = 5)".
func (l Law) Name() string {
	if l.family == studentFamily {
		return "Student's t (df = " + strconv.FormatFloat(l.df, 'g', -1, 64) + ")"
	}
	return [...]string{"normal", "Laplace", "logistic"}[l.family]
}

// ScaleSD returns the standard deviation of the law with scale parameter 1: sqrt(2) for Laplace, pi/sqrt(3) for logistic,
// sqrt(df/(df-2)) for Student's t, 1 for normal.
func (l Law) ScaleSD() float64 {
	switch l.family {
	case laplaceFamily:
		return math.Sqrt2
	case logisticFamily:
		return 1.81379936423421785059
	case studentFamily:
		return math.Sqrt(l.df / (l.df - 2))
	}
	return 1
}

// Quantile returns the quantile at p of the law with standard deviation 1: -Inf at 0, +Inf at 1, symmetric about 1/2, and
// NaN outside [0,1].
func (l Law) Quantile(p float64) float64 {
	switch {
	case l.family == normalFamily:
		return kernel.NormQuantile64(p)
	case !(p >= 0 && p <= 1):
		return math.NaN()
	case p > 0.5:
		return -l.Quantile(1 - p)
	case p == 0:
		return math.Inf(-1)
	case l.family == laplaceFamily:
		return kernel.Log64(2*p) / math.Sqrt2
	case l.family == logisticFamily:
		return (kernel.Log64(p) - kernel.Log1p64(-p)) / l.ScaleSD()
	}
	return -tails.StudentQuantile(2*p, l.df) / l.ScaleSD()
}

// CDF returns the probability of values at or below z in the law with standard deviation 1. It stays accurate near 0.
func (l Law) CDF(z float64) float64 {
	if l.family == normalFamily {
		return kernel.NormCDF64(z)
	}
	if z != z {
		return z
	}
	tail := l.tail(math.Abs(z))
	if z > 0 {
		return 1 - tail
	}
	return tail
}

// tail returns the probability of values above z, for z >= 0.
func (l Law) tail(z float64) float64 {
	t := float64(z * l.ScaleSD()) // in units of the scale parameter
	switch l.family {
	case laplaceFamily:
		return kernel.Exp64(-t) / 2
	case logisticFamily:
		e := kernel.Exp64(-t)
		return e / (1 + e)
	}
	return tails.Student(t, l.df) / 2
}

// NLL returns the negative log density of an error e with standard deviation sd, in nats. It requires sd > 0 and finite e.
func (l Law) NLL(e, sd float64) float64 {
	s := sd / l.ScaleSD()
	t := math.Abs(e) / s
	switch l.family {
	case laplaceFamily:
		return kernel.Log64(2*s) + t
	case logisticFamily:
		return kernel.Log64(s) + t + float64(2*kernel.Log1p64(kernel.Exp64(-t)))
	case studentFamily:
		return kernel.Log64(s) - kernel.Log64(student.Density(l.df)) + float64((l.df+1)/2*student.LogKernel(t, l.df))
	}
	return NormalNLL(e, 0, sd)
}

// CRPS returns the continuous ranked probability score of an error e with standard deviation sd, by the closed forms of
// package score. It requires sd > 0 and finite e.
func (l Law) CRPS(e, sd float64) float64 {
	s, d := sd/l.ScaleSD(), math.Abs(e)
	t := d / s
	switch l.family {
	case laplaceFamily:
		return d - float64(s*(0.75-kernel.Exp64(-t)))
	case logisticFamily:
		return d - float64(s*(1-float64(2*kernel.Log1p64(kernel.Exp64(-t)))))
	case studentFamily:
		if t > 1e150 { // the rest is less than the last digit of d, and t^2 might overflow
			return d
		}
		return d + float64(s*student.Deficit(t, l.df))
	}
	const invRootPi, invRootTwoPi = 0.56418958354775628695, 0.39894228040143267794
	excess := 0.0 // E max(0, Z - t); 0 once its terms cancel
	if t < 38 {
		excess = max(0, float64(invRootTwoPi*kernel.Exp64(-float64(t*t/2)))-float64(t*kernel.NormCDF64(-t)))
	}
	return d - float64(s*(invRootPi-float64(2*excess)))
}
