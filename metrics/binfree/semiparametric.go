package binfree

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// Semiparametric is an estimate without bins of the mean squared calibration error E w(p) (p - P(y=1|p))^2. It uses
// cross-fitting: the frequency c at each score is fitted on the other folds. The estimate is the mean of w (p-y)(p-c), or
// with Orthogonal that of the influence w (p-c)(p+c-2y). Random errors of the smoother then cancel on average: the estimate
// is unbiased as the fit converges, and where the error is 0 it is negative about as often as positive.
type Semiparametric struct {
	Squared float64 // the estimate; it may be negative
	SE      float64 // its standard error
	Rows    int64
	// Chosen is the hyperparameter that best predicts held-out folds, and Used the one for c, which smooths slightly less:
	// Chosen times Rows^0.08 for the kernel, times 0.985 for the spline. Both are NaN if there was no choice because all
	// scores are equal.
	Chosen, Used float64
	// Bound is the most by which Squared can differ from that of the rows themselves: 0 if cells are exact. It is NaN
	// (unknown) for cells of a grid, whose rows are placed at their mean score.
	Bound float64

	rows    *folded
	c       []float64
	noise   float64 // root of the mean of w (y-c)^2 over Rows
	asCoded bool
}

// FoldRows holds the rows of one score in one fold.
type FoldRows struct {
	Score     float64
	Fold      int
	Rows      int64
	Events    float64 // sum of labels
	Frequency float64 // frequency that the other folds give to the score; it may lie outside [0,1]
}

// Each calls f for each pair of score and fold that has rows, in rising order.
func (s *Semiparametric) Each(f func(FoldRows)) {
	for i := range s.rows.parts {
		p := &s.rows.parts[i]
		f(FoldRows{Score: s.rows.x[p.at], Fold: int(p.fold), Rows: int64(p.n), Events: p.y, Frequency: s.c[i]})
	}
}

// RMS returns the root-mean-square calibration error sqrt(max(Squared, 0)), 0 is best. It is NaN if Squared is.
func (s *Semiparametric) RMS() float64 { return math.Sqrt(math.Max(s.Squared, 0)) }

// Interval returns the confidence interval of RMS for independent rows. Low is the root of Squared - z*SE, or 0 where this is negative. High is the
// root of Squared + z*SE, or if it is larger the x with x^2 - 2 z x s = Squared, where s^2 is the mean of w (y-c)^2 over Rows: the standard error
// grows about as the error itself, so that it is small where the estimate happens to be, and at an error of x it is about 2xs. If the error is 0,
// the estimate converges faster than its standard error indicates. docs/coverage.md reports how often it holds the true error. With AsCoded it is from root to root, as the original
// bootstraps it. There is no interval if Squared is NaN.
func (s *Semiparametric) Interval(level float64) metrics.Interval {
	if math.IsNaN(s.Squared) {
		return metrics.NoInterval()
	}
	i := metrics.Normal(s.Squared, s.SE, level)
	low, high := math.Sqrt(math.Max(i.Low, 0)), math.Sqrt(math.Max(i.High, 0))
	if !s.asCoded {
		reach := float64(metrics.Z(level) * s.noise)
		high = math.Max(high, reach+math.Sqrt(math.Max(float64(reach*reach)+s.Squared, 0)))
	}
	return metrics.Interval{Low: low, High: high}
}

var (
	errSemiparametricWeights = errors.New("binfree: the semiparametric error is not defined for rows with weights; " +
		"repeat rows, or leave the weights out")
	errOrder = errors.New("binfree: with AsCoded a spline's weights depend on the order of the rows, which cells do not keep: " +
		"give the rows, or constant weights")
	errBeyond = errors.New("binfree: a spline that is extrapolated to a fold's scores leaves the range of float64: scores are too close " +
		"together; take a kernel")
)

// SemiparametricOf returns the semiparametric calibration error of the rows in r, for its event; for more than two classes
// this is that the top label is correct. o may be nil. The seed decides the folds. They have equally many rows of either
// outcome, to within one, except that scores with more than 64 rows of an outcome distribute these independently. Folds
// depend only on the set of rows.
//
// It returns an error if rows have weights or scores outside [0,1], or are fewer than folds. For a spline it is also an
// error if there are fewer than four distinct scores outside some fold, or if scores are so close together that the
// computation leaves the range of float64.
//
// Time is proportional to cells x Attempts: one thread takes about 20 us per cell for the kernel and 40 for the spline.
// Memory is about 100 bytes per cell, plus 250 for the spline in each thread.
//
// Source: Yadlowsky's semiparametric_calibration_error in google/uncertainty_metrics; Chernozhukov et al. 2018 for
// cross-fitting.
func SemiparametricOf(r cells.Rising, o *SemiparametricOptions) (*Semiparametric, error) {
	opt, err := o.checked()
	if err != nil {
		return nil, err
	}
	switch {
	case r.Weighted():
		return nil, errSemiparametricWeights
	case r.Outside() > 0:
		return nil, fmt.Errorf("binfree: %d scores lie outside [0,1]; logits? pass their kind", r.Outside())
	case opt.AsCoded && opt.Smoother == SplineSmoother && opt.Weights != ConstantWeights:
		return nil, errOrder
	}
	d := deal(r, opt.Folds, opt.Seed)
	if d.n < int64(opt.Folds) {
		return nil, fmt.Errorf("binfree: rows cannot be dealt to %d folds where there are %d; take fewer folds", opt.Folds, d.n)
	}
	s, err := d.estimate(&opt)
	if err == nil && !r.Exact() {
		s.Bound = math.NaN()
	}
	return s, err
}

// SemiparametricOfRows returns the semiparametric calibration error of rows with given folds. Each row has a score and a
// label, both in [0,1], and a fold, from 0 to 99. A label between 0 and 1 is allowed; the frequency is then the mean label
// given the score. The options Folds and Seed are ignored; o may be nil.
//
// It returns an error if a number is outside its range, if all rows are in one fold, if the lengths differ, and for the reasons
// of SemiparametricOf.
func SemiparametricOfRows(scores, labels []float64, folds []int, o *SemiparametricOptions) (*Semiparametric, error) {
	if len(labels) != len(scores) || len(folds) != len(scores) {
		return nil, fmt.Errorf("%w: %d scores, %d labels and %d folds", metrics.ErrMismatch, len(scores), len(labels), len(folds))
	}
	opt, err := o.checked()
	if err != nil {
		return nil, err
	}
	for i, p := range scores {
		switch y, f := labels[i], folds[i]; {
		case !(p >= 0 && p <= 1):
			return nil, fmt.Errorf("binfree: row %d: score is %v, outside [0,1]; logits? make them probabilities", i, p)
		case !(y >= 0 && y <= 1):
			return nil, fmt.Errorf("binfree: row %d: label is %v, outside [0,1]", i, y)
		case f < 0 || f >= maxFolds:
			return nil, fmt.Errorf("binfree: row %d: fold is %d, not one of 0 to %d", i, f, maxFolds-1)
		}
	}
	d := fold(scores, labels, folds, opt.AsCoded)
	if !slices.ContainsFunc(folds, func(f int) bool { return f != folds[0] }) {
		return nil, fmt.Errorf("binfree: %d rows are in one fold, or none; at least two folds need rows", len(scores))
	}
	return d.estimate(&opt)
}

// folded holds the rows by score and fold.
type folded struct {
	n     int64
	x     []float64 // distinct scores, rising
	start []int32   // first part of each score, and the end
	parts []part    // by score, then fold
	folds int       // highest fold + 1

	row   []int32 // for each part, its row number, if parts are single rows
	omega []float64
	mean  float64 // mean of omega over the rows
}

// part holds the rows of one score in one fold.
type part struct {
	at    int32 // index of the score
	fold  int32
	n     float64
	y, yy float64 // sums of labels and of squared labels
}

// add adds rows with a score not below that of the previous call.
func (d *folded) add(p float64, q part) {
	if k := len(d.x); k == 0 || d.x[k-1] != p {
		d.x = append(d.x, p)
		d.start = append(d.start, int32(len(d.parts)))
	}
	q.at = int32(len(d.x) - 1)
	d.parts = append(d.parts, q)
	d.n += int64(q.n)
	d.folds = max(d.folds, int(q.fold)+1)
}

// fold groups rows by score and fold, or, if apart is set, only sorts them.
func fold(scores, labels []float64, folds []int, apart bool) *folded {
	order := make([]int32, len(scores))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		switch p, q := scores[a], scores[b]; {
		case p < q:
			return -1
		case p > q:
			return 1
		case apart:
			return int(a) - int(b)
		}
		if folds[a] != folds[b] {
			return folds[a] - folds[b]
		}
		return cmp.Compare(labels[a], labels[b])
	})
	d := &folded{}
	for _, i := range order {
		y := labels[i]
		q := part{fold: int32(folds[i]), n: 1, y: y, yy: float64(y * y)}
		if k := len(d.parts); k > 0 && !apart && d.x[len(d.x)-1] == scores[i] && d.parts[k-1].fold == q.fold {
			d.parts[k-1].n++
			d.parts[k-1].y += y
			d.parts[k-1].yy += q.yy
			d.n++
			continue
		}
		d.add(scores[i]+0, q)
	}
	if apart {
		d.row = order
	}
	return d
}

// estimate chooses the smoothness, fits and averages.
func (d *folded) estimate(o *SemiparametricOptions) (*Semiparametric, error) {
	d.start = append(d.start, int32(len(d.parts)))
	d.omega = make([]float64, len(d.x))
	for i, p := range d.x {
		d.omega[i] = o.weight(p)
	}
	for i := range d.parts {
		d.mean += float64(d.parts[i].n * d.omega[d.parts[i].at])
	}
	d.mean /= float64(d.n)
	s := &Semiparametric{Rows: d.n, rows: d, c: make([]float64, len(d.parts)), asCoded: o.AsCoded}
	tries := o.tries(d)
	var best int
	var err error
	if o.Smoother == KernelSmoother {
		k := newKernelSmoother(d, o)
		errs := make([]float64, len(tries))
		for i, sigma := range tries {
			k.fit(sigma, s.c)
			errs[i] = d.loss(s.c)
		}
		if best = least(errs); best >= 0 {
			s.Chosen = tries[best]
			s.Used = float64(s.Chosen * kernel.Exp64(0.08*kernel.Log64(float64(d.n))))
			k.fit(s.Used, s.c)
		}
	} else {
		var errs []float64
		if errs, err = d.splines(o, tries, nil); err != nil {
			return nil, err
		}
		if best = least(errs); best >= 0 {
			s.Chosen = tries[best]
			s.Used = float64(s.Chosen * 0.985)
			_, err = d.splines(o, []float64{s.Used}, s.c)
		}
	}
	if err == nil && best < 0 {
		err = errors.New("binfree: no hyperparameter gives each row a frequency; as coded, a kernel that is too narrow gives 0/0")
	}
	if err != nil {
		return nil, err
	}
	if len(d.x) == 1 && o.Smoother == KernelSmoother {
		s.Chosen, s.Used = math.NaN(), math.NaN()
	}
	if s.average(o); !(math.Abs(s.Squared) <= math.MaxFloat64 && s.SE <= math.MaxFloat64) {
		return nil, errBeyond
	}
	return s, nil
}

// least returns the index of the first minimum, -1 if all are NaN.
func least(v []float64) int {
	best := -1
	for i, x := range v {
		if x == x && (best < 0 || x < v[best]) {
			best = i
		}
	}
	return best
}

// loss returns sum w (c-y)^2.
func (d *folded) loss(c []float64) float64 {
	s := 0.0
	for i := range d.parts {
		s += d.lossOf(i, c[i])
	}
	return s
}

func (d *folded) lossOf(i int, c float64) float64 {
	p := &d.parts[i]
	return float64(d.omega[p.at] * (float64(float64(p.n*c)*c) - float64(2*c*p.y) + p.yy))
}

// average sets the estimate and its standard error, which is the limit of that of bootstrap means; a quotient of means uses
// the delta method.
func (s *Semiparametric) average(o *SemiparametricOptions) {
	d, n := s.rows, float64(s.Rows)
	stat, influence := 0.0, 0.0
	for i := range d.parts {
		p := &d.parts[i]
		x, w := d.x[p.at], d.omega[p.at]
		gap := float64(w * (x - s.c[i]))
		stat += float64(gap * (float64(p.n*x) - p.y))
		influence += float64(gap * (float64(p.n*(x+s.c[i])) - 2*p.y))
	}
	over := 1.0
	if o.Normalize {
		over = d.mean
	}
	mean := influence / n / over
	if s.Squared = stat / n / over; o.Orthogonal {
		s.Squared = mean
	}
	spread := 0.0
	for i := range d.parts {
		p := &d.parts[i]
		x, w := d.x[p.at], d.omega[p.at]
		gap, both := float64(w*(x-s.c[i])), x+s.c[i]
		shift := mean
		if o.Normalize {
			shift = float64(mean * w)
		}
		// A row's influence is gap*both - 2*gap*y; the sum of squares of a - b*y over rows with sums of y and y^2.
		a, b := float64(gap*both)-shift, 2*gap
		spread += float64(float64(a*a)*p.n) - float64(float64(2*a*b)*p.y) + float64(float64(b*b)*p.yy)
	}
	s.SE = math.Sqrt(math.Max(spread, 0)) / n / over
	s.noise = math.Sqrt(math.Max(d.loss(s.c), 0)/over) / n
}
