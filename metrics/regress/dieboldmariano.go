package regress

import (
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// DMOptions are options of DieboldMariano. The zero value suits one-step-ahead forecasts.
type DMOptions struct {
	Horizon    int     // steps ahead of the forecasts; losses up to Horizon-1 rows apart depend on each other; 0 means 1
	Asymptotic bool    // use the normal distribution, without the correction of Harvey, Leybourne and Newbold
	Level      float64 // of the interval; 0 means metrics.DefaultLevel
	Series     []int32 // of each row, the number of its series, at least 0; nil if all rows are one series
}

// DMResult is the result of DieboldMariano, where d are the losses of a minus those of b.
type DMResult struct {
	Rows      int
	Series    int              // number of series
	Mean      float64          // mean of d; above 0 if b is better
	SE        float64          // standard error of Mean, corrected; 0 if all differences are 0
	Interval  metrics.Interval // of Mean
	Statistic float64          // Mean divided by its standard error, corrected; above 0 if b is better
	P         float64          // two-sided p-value of the hypothesis that the mean is 0
	Bartlett  bool             // autocovariances are weighted, because their plain sum is not above 0
	Reason    string           // why there is no statistic; "" if there is one
}

// DieboldMariano tests whether two forecasts of the same observations are equally good. a and b are the losses of each row,
// in the order of time, for example the rows of crps. With d = a - b, n rows and horizon h,
//
//	gamma_k   = (1/n) sum_{t>k} (d_t - mean d)(d_{t-k} - mean d)
//	V         = gamma_0 + 2 sum_{k=1}^{h-1} gamma_k
//	Statistic = mean d / sqrt(V/n) * sqrt((n + 1 - 2h + h(h-1)/n) / n)
//
// and P follows from Student's t with n-1 degrees of freedom. With Asymptotic, the second square root is left out, and P
// follows from the normal distribution. Interval is the set of means that the same test does not reject.
//
// If h > 1, V may be 0 or negative. Then gamma_k is weighted by 1 - k/h (Bartlett), which makes V positive unless all
// differences are equal. If all differences are 0, the statistic is 0, P is 1 and the interval is the point 0. Statistic, P
// and Interval are NaN, and Reason says why, in these cases: there are fewer than two rows; a difference is not finite, as
// with two losses of +Inf; all differences are equal and not 0, so that no error can be estimated; h is not below n.
//
// With Series the forecasts are of several series, whose rows need not be next to each other. Autocovariances are of rows of the same
// series, gamma_k = (1/n) sum over series and t>k of the products above, so series are taken as independent; rows of a series are in the
// order of time. With S series the correction is (n + 1 - 2h + S h(h-1)/n) / n: like that for one, it makes V unbiased where rows are
// independent. There is a Reason if a series has fewer than h rows.
//
// The order of rows matters. The time is proportional to n h. The error is a *metrics.LengthError if a, b and Series differ in
// length. A negative horizon and a level outside (0,1) are also errors.
//
// Source: Diebold and Mariano 1995; Harvey, Leybourne and Newbold 1997.
func DieboldMariano(a, b []float64, o *DMOptions) (DMResult, error) {
	var opt DMOptions
	if o != nil {
		opt = *o
	}
	if opt.Horizon == 0 {
		opt.Horizon = 1
	}
	if opt.Level == 0 {
		opt.Level = metrics.DefaultLevel
	}
	switch {
	case len(a) != len(b):
		return DMResult{}, &metrics.LengthError{Column: "losses of the second model", Len: len(b), Rows: len(a)}
	case opt.Series != nil && len(opt.Series) != len(a):
		return DMResult{}, &metrics.LengthError{Column: "series", Len: len(opt.Series), Rows: len(a)}
	case opt.Horizon < 1:
		return DMResult{}, fmt.Errorf("regress: the horizon is %d; it must be at least 1", opt.Horizon)
	case !(opt.Level > 0 && opt.Level < 1):
		return DMResult{}, fmt.Errorf("regress: the level is %v; it lies between 0 and 1", opt.Level)
	}
	normal := metrics.Z(opt.Level)
	n, h := len(a), opt.Horizon
	nan := math.NaN()
	r := DMResult{Rows: n, Mean: nan, SE: nan, Statistic: nan, P: nan, Interval: metrics.NoInterval()}
	if n == 0 {
		r.Reason = "there are no rows"
		return r, nil
	}
	d := make([]float64, n)
	lengths, order := seriesOf(opt.Series, n)
	r.Series = len(lengths)
	largest := 0.0
	for i, at := range order {
		if d[i] = a[at] - b[at]; d[i]-d[i] != 0 {
			r.Reason = "a difference of losses is not finite"
			return r, nil
		}
		largest = max(largest, math.Abs(d[i]))
	}
	// Divide by a power of two, so that squares and sums are in range for any unit.
	_, exp := math.Frexp(largest)
	for i := range d {
		d[i] = math.Ldexp(d[i], -exp)
	}
	var sum exact.Sum
	sum.AddExactAll(d)
	mean := exact.Mean(&sum, int64(n))
	r.Mean = math.Ldexp(mean, exp)
	first, equal := d[0], true
	for i, v := range d {
		equal = equal && v == first
		d[i] = v - mean
	}
	switch {
	case n < 2:
		r.Reason = "there is one row only"
		return r, nil
	case equal && first == 0:
		r.SE, r.Statistic, r.P, r.Interval = 0, 0, 1, metrics.Interval{}
		return r, nil
	case equal:
		r.Reason = "all differences of losses are equal"
		return r, nil
	case h >= n:
		r.Reason = "the horizon is not below the number of rows"
		return r, nil
	}
	if short := slices.Min(lengths); short < h {
		r.Reason = fmt.Sprintf("the shortest series has %d rows, and the horizon is %d", short, h)
		if short == 1 {
			r.Reason = fmt.Sprintf("the shortest series has 1 row, and the horizon is %d", h)
		}
		return r, nil
	}
	v, weighted := 0.0, 0.0
	for k := range h {
		g := dmCovariance(d, lengths, k)
		if k > 0 {
			g *= 2
		}
		v += g
		weighted += float64(g * (1 - float64(k)/float64(h)))
	}
	if r.Bartlett = !(v > 0); r.Bartlett {
		v = weighted
	}
	if !(v > 0) {
		r.Reason = "the differences of losses are equal but for rounding"
		return r, nil
	}
	size, steps := float64(n), float64(h)
	se := math.Sqrt(v / size)
	quantile := normal
	if opt.Asymptotic {
		r.Statistic = mean / se
		r.P = 2 * kernel.NormCDF64(-math.Abs(r.Statistic))
	} else {
		se /= math.Sqrt((size + 1 - 2*steps + float64(float64(len(lengths))*float64(steps*(steps-1)))/size) / size)
		r.Statistic = mean / se
		r.P = tails.Student(r.Statistic, size-1)
		quantile = tails.StudentQuantile(1-opt.Level, size-1)
	}
	r.SE = math.Ldexp(se, exp)
	half := float64(quantile * se)
	r.Interval = metrics.Interval{Low: math.Ldexp(mean-half, exp), High: math.Ldexp(mean+half, exp)}
	return r, nil
}

// seriesOf returns the number of rows of each series that has some, and the order of n rows by which those of a series follow each other.
func seriesOf(series []int32, n int) (lengths []int, order []int) {
	order = make([]int, n)
	if series == nil {
		for i := range order {
			order[i] = i
		}
		return []int{n}, order
	}
	if slices.Min(series) < 0 {
		panic("regress: the number of a series is at least 0")
	}
	at := make([]int, slices.Max(series)+1)
	for _, s := range series {
		at[s]++
	}
	next := 0
	for s, rows := range at {
		if at[s] = next; rows > 0 {
			lengths = append(lengths, rows)
		}
		next += rows
	}
	for i, s := range series {
		order[at[s]] = i
		at[s]++
	}
	return lengths, order
}

// dmCovariance returns the autocovariance at a lag of d, which has mean 0 and one series of these lengths after another.
func dmCovariance(d []float64, lengths []int, lag int) float64 {
	products := make([]float64, 0, len(d))
	from := 0
	for _, n := range lengths {
		for i := from; i < from+n-lag; i++ {
			products = append(products, float64(d[i]*d[i+lag]))
		}
		from += n
	}
	var s exact.Sum
	s.AddExactAll(products)
	return exact.Mean(&s, int64(len(d)))
}
