package binfree

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/kernel"
)

// Smoother selects how the frequency is fitted.
type Smoother uint8

const (
	KernelSmoother Smoother = iota // p plus the mean of y - p, weighted by exp(-h (p - q)^2)
	// SplineSmoother is p plus a cubic smoothing spline of y - p, as scipy's UnivariateSpline computes it with s = h; rows
	// of equal score are one point. Beyond the scores of the other folds the outermost cubics are extrapolated, which can go
	// far astray where scores crowd at an end.
	SplineSmoother
)

// ErrorWeights selects the weight of a score's squared error.
type ErrorWeights uint8

const (
	ConstantWeights ErrorWeights = iota // 1
	RelativeWeights                     // 1/max(min(p, 1-p)^2, Truncation)
	ChiWeights                          // 1/max(p(1-p), Truncation)
)

// SemiparametricOptions select the variant of the semiparametric error. The zero value is the default, which is that of
// uncertainty_metrics.
type SemiparametricOptions struct {
	Folds      int     // 0 means 5; at most 100
	Truncation float64 // lower limit of a weight's denominator; 0 means 0.05
	Weights    ErrorWeights
	Smoother   Smoother
	Orthogonal bool // estimate by the mean of the influence
	Normalize  bool // divide means by the mean weight

	// Attempts is the number of hyperparameters to try; 0 means 50. For the kernel, the logarithms of sqrt(h) are evenly
	// spaced from that of Range[0]*N+1 to that of Range[1]*N, relative to the range of the scores. For the spline,
	// hyperparameters are evenly spaced from Range[0] to Range[1] times sum (w/mean w)^2 p(1-p). A zero Range means 0 to 0.1
	// for the kernel and 0.5 to 1.1 for the spline. Hyperparameters, which must be above 0, replaces all of this.
	Attempts        int
	Range           [2]float64
	Hyperparameters []float64

	// AsCoded reproduces errors of uncertainty_metrics. The weights of a spline are not sorted along with the scores. A
	// score far from all others of the other folds gets 0/0 from the kernel instead of the limit, the frequency of the
	// nearest one. The values of sqrt(h) themselves are evenly spaced; for many rows the first kernel is then wide and the
	// second already narrow. The estimate is too low (by a tenth for 100,000 rows), and its interval misses.
	AsCoded bool

	Seed    uint64 // of the random folds
	Threads int    // 0 means all; results do not depend on it
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

// Validate returns an error that names the first invalid option, or nil.
func (o SemiparametricOptions) Validate() error {
	o = o.normal()
	switch {
	case o.Folds < 2 || o.Folds > maxFolds:
		return fmt.Errorf("binfree: %d folds; there have to be 2 to %d", o.Folds, maxFolds)
	case !(o.Truncation > 0 && o.Truncation <= 1):
		return fmt.Errorf("binfree: weights are truncated at %v; it is above 0 and at most 1", o.Truncation)
	case o.Weights > ChiWeights || o.Smoother > SplineSmoother:
		return errors.New("binfree: Weights or Smoother has an unknown value")
	case o.Attempts < 1 || o.Attempts > 10000:
		return fmt.Errorf("binfree: %d attempts; there have to be 1 to 10000", o.Attempts)
	case !(o.Range[0] >= 0 && o.Range[1] >= o.Range[0] && o.Range[1] > 0 && o.Range[1] <= 1e6),
		o.Smoother == SplineSmoother && o.Range[0] == 0:
		return fmt.Errorf("binfree: hyperparameters from %v to %v; the ends rise and are above 0, though the kernel's first may be 0",
			o.Range[0], o.Range[1])
	}
	for _, h := range o.Hyperparameters {
		if !(h > 0 && h <= 1e100) {
			return fmt.Errorf("binfree: a hyperparameter of %v; it is above 0 and at most 1e100", h)
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

// weight returns the weight for a score.
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
		span = 1 // all scores are equal, so the bandwidth has no effect
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

// String returns the options that differ from the default in a fixed order, such as "folds=3,smoothing=spline", or "" for
// the default. Set accepts each of them. Range, Hyperparameters and Threads are omitted.
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

// Set changes one option, named as in String: as_coded, attempts, folds, normalize, orthogonal, seed, smoothing, truncation,
// weights. An empty value turns a switch on. After an error the options are unchanged.
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

// Text describes the definition in words.
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
