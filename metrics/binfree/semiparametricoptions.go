package binfree

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/kernel"
)

// Smoother says how the frequency is fitted to scores.
type Smoother uint8

const (
	KernelSmoother Smoother = iota // p plus the mean of y - p, weighted by exp(-h (p - q)^2)
	// SplineSmoother is p plus a cubic smoothing spline of y - p, as scipy's UnivariateSpline with s = h makes it; rows of one score
	// are one point. Beyond the scores of the other folds its outermost cubics go on, to anywhere where scores crowd at an end.
	SplineSmoother
)

// ErrorWeights says how much a score's squared error counts.
type ErrorWeights uint8

const (
	ConstantWeights ErrorWeights = iota // 1
	RelativeWeights                     // 1/max(min(p, 1-p)^2, Truncation)
	ChiWeights                          // 1/max(p(1-p), Truncation)
)

// SemiparametricOptions say which semiparametric error is meant. The zero value is candor's default, which is that of
// uncertainty_metrics.
type SemiparametricOptions struct {
	Folds      int     // 0 means 5; at most 100
	Truncation float64 // below what a weight's denominator does not fall; 0 means 0.05
	Weights    ErrorWeights
	Smoother   Smoother
	Orthogonal bool // the estimate is the mean of the influence
	Normalize  bool // means are divided by the mean weight

	// Attempts hyperparameters are tried; 0 means 50. The logarithms of the kernel's roots lie evenly from that of Range[0]*N+1 to that
	// of Range[1]*N, over the range of the scores; the spline's hyperparameters evenly from Range[0] to Range[1] times
	// sum (w/mean w)^2 p(1-p). A Range of zeros means 0 to 0.1, or 0.5 to 1.1. Hyperparameters, which are above 0, stand in for all that.
	Attempts        int
	Range           [2]float64
	Hyperparameters []float64

	// AsCoded repeats what is wrong in uncertainty_metrics: a spline's weights are not put in the order of the scores; what a kernel gives
	// to a score that is far from all of other folds is 0/0, and not the frequency of the nearest, the limit; and the kernel's roots
	// themselves lie evenly, so that of many rows the first is wide and the second already narrow, with nothing between: the estimate
	// is then too low (of 100,000 rows by a tenth), and its interval misses.
	AsCoded bool

	Seed    uint64 // of the folds
	Threads int    // 0 means all; they change no result
}

const maxFolds = 100

// normal returns the options with defaults filled in.
func (o SemiparametricOptions) normal() SemiparametricOptions {
	if o.Folds == 0 {
		o.Folds = 5
	}
	if o.Truncation == 0 {
		o.Truncation = 0.05
	}
	if o.Attempts == 0 {
		o.Attempts = 50
	}
	if o.Range == [2]float64{} {
		if o.Range = [2]float64{0, 0.1}; o.Smoother == SplineSmoother {
			o.Range = [2]float64{0.5, 1.1}
		}
	}
	return o
}

// Validate tells what is wrong with the options, nil if nothing is.
func (o SemiparametricOptions) Validate() error {
	o = o.normal()
	switch {
	case o.Folds < 2 || o.Folds > maxFolds:
		return fmt.Errorf("calib: %d folds; there have to be 2 to %d", o.Folds, maxFolds)
	case !(o.Truncation > 0 && o.Truncation <= 1):
		return fmt.Errorf("calib: weights are truncated at %v; it is above 0 and at most 1", o.Truncation)
	case o.Weights > ChiWeights || o.Smoother > SplineSmoother:
		return errors.New("calib: an option has no such value")
	case o.Attempts < 1 || o.Attempts > 10000:
		return fmt.Errorf("calib: %d attempts; there have to be 1 to 10000", o.Attempts)
	case !(o.Range[0] >= 0 && o.Range[1] >= o.Range[0] && o.Range[1] > 0 && o.Range[1] <= 1e6),
		o.Smoother == SplineSmoother && o.Range[0] == 0:
		return fmt.Errorf("calib: hyperparameters from %v to %v; the ends rise and are above 0, though the kernel's first may be 0",
			o.Range[0], o.Range[1])
	}
	for _, h := range o.Hyperparameters {
		if !(h > 0 && h <= 1e100) {
			return fmt.Errorf("calib: a hyperparameter of %v; it is above 0 and at most 1e100", h)
		}
	}
	return nil
}

func (o *SemiparametricOptions) checked() (SemiparametricOptions, error) {
	if o == nil {
		o = &SemiparametricOptions{}
	}
	return o.normal(), o.Validate()
}

// weight returns the weight of a score.
func (o *SemiparametricOptions) weight(p float64) float64 {
	switch o.Weights {
	case RelativeWeights:
		return 1 / math.Max(math.Min(float64(p*p), float64((1-p)*(1-p))), o.Truncation)
	case ChiWeights:
		return 1 / math.Max(float64(p*(1-p)), o.Truncation)
	}
	return 1
}

// tries returns the hyperparameters to try.
func (o *SemiparametricOptions) tries(d *folded) []float64 {
	if len(o.Hyperparameters) > 0 {
		return o.Hyperparameters
	}
	n := float64(d.n)
	low, high := float64(o.Range[0]*n)+1, float64(o.Range[1]*n)
	if o.Smoother == SplineSmoother {
		expected := 0.0
		for i, p := range d.x {
			rows := 0.0
			for _, q := range d.parts[d.start[i]:d.start[i+1]] {
				rows += q.n
			}
			w := d.omega[i] / d.mean
			expected += float64(rows * float64(float64(w*w)*float64(p*(1-p))))
		}
		low, high = float64(o.Range[0]*expected), float64(o.Range[1]*expected)
	}
	span := d.x[len(d.x)-1] - d.x[0]
	if len(d.x) == 1 {
		span = 1 // no kernel tells equal scores apart
	}
	t := make([]float64, o.Attempts)
	for i := range t {
		t[i] = low
		if i > 0 {
			t[i] += float64(float64(i) * ((high - low) / float64(len(t)-1)))
		}
		if i > 0 && i == len(t)-1 {
			t[i] = high
		}
		if o.Smoother == KernelSmoother {
			root := t[i]
			if !o.AsCoded && len(t) > 1 {
				root = float64(low * kernel.Exp64(float64(i)/float64(len(t)-1)*kernel.Log64(high/low)))
			}
			root /= span
			t[i] = float64(root * root)
		}
	}
	return t
}

var (
	smootherNames = []string{"kernel", "spline"}
	weightNames   = []string{"constant", "relative", "chi"}
)

// String returns the options that differ from the default as "folds=3,smoothing=spline", in a fixed order; "" for the default. Set
// reads each. Range, Hyperparameters and Threads are not among them.
func (o SemiparametricOptions) String() string {
	o = o.normal()
	var s []string
	add := func(differs bool, name, value string) {
		if differs && value != "" {
			name += "=" + value
		}
		if differs {
			s = append(s, name)
		}
	}
	add(o.AsCoded, "as_coded", "")
	add(o.Attempts != 50, "attempts", strconv.Itoa(o.Attempts))
	add(o.Folds != 5, "folds", strconv.Itoa(o.Folds))
	add(o.Normalize, "normalize", "")
	add(o.Orthogonal, "orthogonal", "")
	add(o.Seed != 0, "seed", strconv.FormatUint(o.Seed, 10))
	add(o.Smoother != 0, "smoothing", smootherNames[o.Smoother])
	add(o.Truncation != 0.05, "truncation", strconv.FormatFloat(o.Truncation, 'g', -1, 64))
	add(o.Weights != 0, "weights", weightNames[o.Weights])
	return strings.Join(s, ",")
}

// Set changes one option by its name in String: as_coded, attempts, folds, normalize, orthogonal, seed, smoothing, truncation, weights.
// A switch is set by an empty value. After an error the options are as they were.
func (o *SemiparametricOptions) Set(name, value string) error {
	set := *o
	var err error
	whole := func(v *int) {
		if *v, err = strconv.Atoi(value); err != nil || *v < 1 {
			err = fmt.Errorf("%s is %q; it is a positive whole number", name, value)
		}
	}
	flag := func(v *bool) {
		switch *v = value == "" || value == "true"; {
		case !*v && value != "false":
			err = fmt.Errorf("%s is a switch: it takes no value", name)
		}
	}
	pick := func(names []string) (i uint8) {
		for ; int(i) < len(names); i++ {
			if names[i] == value {
				return i
			}
		}
		err = fmt.Errorf("%s is %q; it is one of %s", name, value, strings.Join(names, ", "))
		return 0
	}
	switch name {
	case "as_coded":
		flag(&set.AsCoded)
	case "attempts":
		whole(&set.Attempts)
	case "folds":
		whole(&set.Folds)
	case "normalize":
		flag(&set.Normalize)
	case "orthogonal":
		flag(&set.Orthogonal)
	case "seed":
		if set.Seed, err = strconv.ParseUint(value, 10, 64); err != nil {
			err = fmt.Errorf("seed is %q; it is a whole number", value)
		}
	case "smoothing":
		set.Smoother = Smoother(pick(smootherNames))
	case "truncation":
		if set.Truncation, err = strconv.ParseFloat(value, 64); err != nil || !(set.Truncation > 0) {
			err = fmt.Errorf("truncation is %q; it is a number above 0", value)
		}
	case "weights":
		set.Weights = ErrorWeights(pick(weightNames))
	default:
		err = fmt.Errorf("there is no option %q; there are as_coded, attempts, folds, normalize, orthogonal, seed, smoothing, "+
			"truncation, weights", name)
	}
	if err == nil {
		*o = set
	}
	return err
}

// Text says the whole definition in words.
func (o SemiparametricOptions) Text() string {
	o = o.normal()
	t := []string{"(p-y)(p-c)"}
	if o.Orthogonal {
		t[0] = "(p-c)(p+c-2y)"
	}
	trunc := strconv.FormatFloat(o.Truncation, 'g', -1, 64)
	if w := []string{"", "w = 1/max(min(p,1-p)^2," + trunc + ")", "w = 1/max(p(1-p)," + trunc + ")"}[o.Weights]; w != "" {
		t[0] = "w " + t[0]
		t = append(t, w)
		if o.Normalize {
			t = append(t, "over mean w")
		}
	}
	t[0] = "root of mean " + t[0]
	smoother := []string{"Gaussian kernel", "smoothing spline"}[o.Smoother]
	t = append(t, fmt.Sprintf("c the frequency by a %s over the other of %d folds", smoother, o.Folds))
	if o.AsCoded {
		t = append(t, "as coded in uncertainty_metrics")
	}
	return strings.Join(t, "; ")
}
