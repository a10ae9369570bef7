package eval

import (
	"cmp"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// A calibrated model is to be found fault with in at most 6% of sets: by its mean in 4%, and by some bin in 2%.
const (
	meanLevel = 0.04
	binsLevel = 0.02
)

// Bins in which what is said is held against what happens: always these, whatever the options of the metrics are.
const (
	judgedBins = calib.DefaultBins
	leastRows  = 30 // of a bin that is judged
)

// Judgement is what the rows of classes say of the calibration of their probabilities: of class 1 in a binary task, else of the top
// label.
type Judgement struct {
	Event   calib.Event
	Says    Value // mean score
	Happens Value // share of rows with the event
	Gap     Value // Says - Happens
	// Z and P test whether the scores are right on average, see calib.Surprise.
	Z, P float64
	// Side is 1 where more is said than happens, -1 where less, and 0 where neither is sure: P is below 4%, and 0 outside the interval
	// of Gap.
	Side int
	// Off are the runs of the 15 equal-width bins in which scores and outcomes differ beyond chance, rising: of those with 30 rows or
	// more, by Holm's correction, at 2% for all together. Where the rows' scores are not kept each counts as its bin's mean, which finds
	// fault a little less.
	Off []Run
}

// Run is neighbouring bins that differ to the same side.
type Run struct {
	Lower, Upper float64
	Rows         int64
	Gap          float64 // mean score less share of rows with the event
}

// Judge returns the judgement. There is none of what has no classes.
func (e *Evaluation) Judge() *Judgement {
	if !e.Spec.Shape().HasClasses() {
		return nil
	}
	level := e.Spec.Level
	l := e.Loss
	j := &Judgement{Event: e.judged(), Z: math.NaN(), P: math.NaN(),
		Says:    Value{Value: l.Confidence(), Interval: l.ConfidenceInterval(level)},
		Happens: Value{Value: l.Accuracy(), Interval: l.AccuracyInterval(level)},
		Gap:     Value{Value: l.Overconfidence(), Interval: l.OverconfidenceInterval(level)}}
	if j.Event == calib.Positive {
		j.Says = Value{Value: l.MeanP(), Interval: l.MeanPInterval(level)}
		j.Happens = Value{Value: l.BaseRate(), Interval: l.BaseRateInterval(level)}
		j.Gap = Value{Value: l.Bias(), Interval: l.BiasInterval(level)}
	}
	if e.Audit.Rows == 0 {
		return j
	}
	if c := e.judgedCells(); c != nil {
		s := remember(e, surprisesKey{}, func() surprises {
			all, in := calib.SurprisesOf(c, judgedBins)
			return surprises{all, in}
		})
		j.Z, j.P = s.all.Z, s.all.P
		j.Off = runs(s.in)
	} else if i := slices.Index(e.plan.bins, e.plan.judged); i >= 0 {
		s := remember(e, surprisesKey{}, func() surprises {
			all, in := calib.SurprisesOfBins(&e.bins[i].Partition, judgedBins)
			return surprises{all, in}
		})
		j.Z, j.P = s.all.Z, s.all.P
		j.Off = runs(s.in)
	} else if j.Event == calib.Positive {
		j.Z = l.BiasZ()
		j.P = 2 * kernel.NormCDF64(-math.Abs(j.Z))
	} else {
		j.Z = l.OverconfidenceZ()
		j.P = 2 * kernel.NormCDF64(-math.Abs(j.Z))
	}
	if i := j.Gap.Interval; j.P < meanLevel {
		switch {
		case i.Low > 0:
			j.Side = 1
		case i.High < 0:
			j.Side = -1
		}
	}
	return j
}

type (
	surprisesKey struct{}
	surprises    struct {
		all calib.Surprise
		in  []calib.Surprise
	}
)

// judged returns whose probability is judged.
func (e *Evaluation) judged() calib.Event { return calib.ByShape.Resolve(e.Spec.Classes) }

// judgedCells returns the cells of that event, nil where they are not kept or miss scores.
func (e *Evaluation) judgedCells() *cells.Cells {
	if !slices.Contains(e.plan.cells, e.Spec.from(e.judged())) {
		return nil
	}
	if c := e.cells(e.judged()); c.Outside() == 0 {
		return c
	}
	return nil
}

// ProbableLogits tells whether all logits may lie in [0,1], which those of many rows hardly do and probabilities always, and the most
// that any class is then given: 0.731 in a binary task, where no probability is below 1/2 besides, and e/(e + K-1) of K classes. It is
// false where the rows' scores are not kept.
func (e *Evaluation) ProbableLogits() (most float64, ok bool) {
	const few = 20 // of which all may be so by chance
	if e.Audit.Kind != metrics.Logits || e.Audit.Rows < few || e.Spec.Members > 0 {
		return 0, false
	}
	c := e.judgedCells()
	if c == nil {
		return 0, false
	}
	low, high := 1.0, 0.0
	c.Each(func(x *cells.Cell) { low, high = math.Min(low, x.Low), math.Max(high, x.High) })
	most = math.E / (math.E + float64(max(2, e.Spec.Classes)-1))
	return most, high <= most*(1+1e-6) && (e.Spec.Classes > 1 || low >= 0.5)
}

// runs returns the bins that differ beyond chance, by Holm, those beside each other and of one side together.
func runs(in []calib.Surprise) (l []Run) {
	p := make([]float64, len(in))
	for i := range in {
		if p[i] = in[i].P; in[i].Rows < leastRows {
			p[i] = math.NaN()
		}
	}
	off := holm(p, binsLevel)
	edges := kernel.Edges(len(in))
	weight, last := 0.0, -2
	for i, o := range off {
		if !o {
			continue
		}
		g := in[i].Gap()
		if n := len(l) - 1; last == i-1 && (l[n].Gap > 0) == (g > 0) {
			r := &l[n]
			r.Gap = (float64(r.Gap*weight) + float64(g*in[i].Weight)) / (weight + in[i].Weight)
			r.Upper, r.Rows, weight = edges[i+1], r.Rows+in[i].Rows, weight+in[i].Weight
		} else {
			l, weight = append(l, Run{edges[i], edges[i+1], in[i].Rows, g}), in[i].Weight
		}
		last = i
	}
	return l
}

// ChanceOf returns how likely a value so far from what it should be is by chance, as its interval of such a level has it: two-sided, and NaN
// without an interval.
func ChanceOf(v *Value, level, want float64) float64 {
	end := v.Interval.Low // the one towards what it should be
	if v.Value < want {
		end = v.Interval.High
	}
	switch {
	case math.IsNaN(v.Interval.Low):
		return math.NaN()
	case v.Value == want:
		return 1
	case v.Value == end:
		return 0
	}
	return 2 * kernel.NormCDF64(-metrics.Z(level)*math.Abs((v.Value-want)/(v.Value-end)))
}

// Holm returns which of several tests of a mean are significant at 4% together, by Holm's method. A p-value of NaN is no test.
func Holm(p []float64) []bool { return holm(p, meanLevel) }

// holm is Holm at any level.
func holm(p []float64, level float64) []bool {
	order := make([]int, 0, len(p))
	for i := range p {
		if p[i] == p[i] {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	off := make([]bool, len(p))
	for k, i := range order {
		if !(p[i] < level/float64(len(order)-k)) {
			break
		}
		off[i] = true
	}
	return off
}

// implied returns what the model's own probabilities say of the variance of a row's NLL, and of its Brier score in the default form,
// by the bins of the diagram, each of whose rows counts as its mean: 0 where nothing is known. In a binary task it is
//
//	mean p(1-p) ln(p/(1-p))^2   and   mean p(1-p) (1-2p)^2.
//
// Of more classes bins have the top class's probability c alone. Of the variance it is then the part between the top class's being
// true or not,
//
//	mean c(1-c) (ln((1-c)/c) - h)^2   and   4 mean c(1-c) (c - (1-c) exp(-h))^2,
//
// h the entropy of the other classes among themselves, from the mean entropy: its mean over rows by their 1 - c.
func (e *Evaluation) implied() (nll, brier float64) {
	if e.Audit.Decided && e.Spec.Classes > 1 || e.Audit.Rows == 0 {
		return 0, 0
	}
	v := remember(e, impliedKey{}, func() (v [2]float64) {
		var rest, own, weight float64 // sums of 1-c and of the entropy of [top or not]
		binary := e.Spec.Classes == 1
		d := e.Diagram()
		bins := d.Bins(e.Spec.Level)
		each := func(f func(p, weight float64)) {
			for i := range bins {
				b := &bins[i]
				w := float64(b.Count)
				if e.Audit.Weighted {
					w = b.Weight
				}
				if b.Count > 0 {
					f(b.Confidence, w)
				}
			}
		}
		each(func(p, w float64) {
			weight += w
			if inside(p) {
				rest += float64(w * (1 - p))
				own += float64(w * twoEntropy(p))
			}
		})
		if rest == 0 {
			return v
		}
		h := 0.0
		if !binary {
			h = math.Max(0, (float64(e.Loss.Entropy()*weight)-own)/rest)
		}
		alike := kernel.Exp64(-h) // the chance that two draws of the others agree, if they were equal
		each(func(p, w float64) {
			if !inside(p) {
				return
			}
			q := 1 - p
			x := float64(w * float64(p*q))
			l := kernel.Log64(q) - kernel.Log64(p) - h
			d := 2 * (p - float64(q*alike))
			if binary {
				d = p - q
			}
			v[0] += float64(x*float64(l*l)) / weight
			v[1] += float64(x*float64(d*d)) / weight
		})
		return v
	})
	return v[0], v[1]
}

type impliedKey struct{}

func inside(p float64) bool { return p > 0 && p < 1 }

// twoEntropy returns the entropy of p and 1 - p, p inside (0, 1).
func twoEntropy(p float64) float64 {
	q := 1 - p
	return 0 - float64(p*kernel.Log64(p)) - float64(q*kernel.Log64(q))
}

// meanMethod says how the interval of a mean is made whose variance has a floor.
const (
	meanMethod = "mean +- z*s/sqrt(n), s^2 at least the variance that the model's own probabilities imply; rows taken as independent"
	lossMethod = "mean +- z*s/sqrt(n), s^2 at least the variance that the model's own probabilities imply; the upper end as if it were in proportion to the mean; rows taken as independent"
)

// inEvents are the metrics of the event of a binary task.
func inEvents() []Descriptor {
	of := func(v float64, i metrics.Interval, method string) Value {
		return Value{Value: v, Interval: i, Method: method}
	}
	return []Descriptor{
		{
			Name: "mean_p", applies: two, needs: onlyTwo, check: noOptions,
			Short:   "mean probability of class 1",
			Meaning: "mean probability that the model gives to class 1",
			Formula: "mean p", Range: "[0, 1]", Better: Neither, Source: "standard",
			value: func(e *Evaluation, m Metric) Value {
				return of(e.Loss.MeanP(), e.Loss.MeanPInterval(e.Spec.Level), normal)
			},
		},
		{
			Name: "bias", applies: two, needs: onlyTwo, check: noOptions,
			Short:   "mean_p - base_rate: above 0 is too high",
			Meaning: "mean probability minus the share of rows of class 1: above 0 class 1 is announced more often than it comes",
			Formula: "mean (p - y)", Range: "[-1, 1]", Better: Zero, Source: "Steyerberg 2009 (calibration in the large)",
			value: func(e *Evaluation, m Metric) Value {
				return of(e.Loss.Bias(), e.Loss.BiasInterval(e.Spec.Level), meanMethod)
			},
		},
		{
			Name: "oe_ratio", applies: two, needs: onlyTwo, check: noOptions,
			Short:   "rows of class 1 observed over expected",
			Meaning: "rows of class 1 observed over those that the probabilities sum to: 1 is best, below it they are too high",
			Formula: "sum y / sum p", Range: "[0, +Inf)", Better: Neither, Source: "Debray et al. 2017",
			value: func(e *Evaluation, m Metric) Value {
				v := of(e.Loss.OERatio(), e.Loss.OERatioInterval(e.Spec.Level), "1 - the interval of bias / mean_p, mean_p taken as it is; rows taken as independent")
				if math.IsNaN(v.Value) && e.Audit.Rows > 0 {
					v.Interval, v.Reason = metrics.NoInterval(), "every probability is 0, so that no row of class 1 is expected"
				}
				return v
			},
		},
	}
}
