package ensemble

import (
	"math"
	"strconv"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Measure is a measure of an ensemble's row. A union of measures is a set. docs/ensembles.md lists the formulas.
type Measure uint16

// The measures of Uncertainty, and those of Diversity.
const (
	MutualInformation Measure = 1 << iota
	TotalUncertainty
	DataUncertainty
	EnsembleNLL
	GibbsNLL

	Disagreement
	DoubleFault
	AverageKL
	CosineSimilarity
	LpDistance
	LogitKL
	BregmanKLVariance
	VarianceBound
	measures = iota
)

const (
	ofUncertainty = MutualInformation | TotalUncertainty | DataUncertainty | EnsembleNLL | GibbsNLL
	ofDiversity   = 1<<measures - 1 - ofUncertainty
)

var measureNames = [measures]string{"mutual_information", "total_uncertainty", "data_uncertainty", "ensemble_nll", "gibbs_nll",
	"disagreement", "double_fault", "average_kl", "cosine_similarity", "lp_distance", "logit_kl", "bregman_kl_variance",
	"variance_bound"}

// String returns the measure's name in documents: "mutual_information", "average_kl". For a set, it joins the names with +.
func (m Measure) String() string {
	s := ""
	for i, n := range measureNames {
		if m&(1<<i) != 0 {
			if s != "" {
				s += "+"
			}
			s += n
		}
	}
	if s == "" || m >= 1<<measures {
		return "Measure(" + strconv.Itoa(int(m)) + ")"
	}
	return s
}

const errMeasure = "ensemble: the accumulator does not keep that measure"

// mean keeps the mean over rows of one measure.
type mean struct {
	sum       tally.Mean
	infinite  tally.Weight // rows where it is +Inf
	undefined tally.Weight // rows where it is NaN
}

// add adds the values of a block's rows.
func (m *mean) add(v []float64, first, second *kernel.Window, weights []float64) {
	over := m.sum.Over
	m.sum.Add(v, first, second, weights)
	if m.sum.Over == over {
		return
	}
	for i, x := range v {
		w := &m.undefined
		switch {
		case x-x == 0:
			continue
		case x > 0:
			w = &m.infinite
		}
		if weights == nil {
			w.Add(1, nil)
		} else {
			w.Add(1, weights[i:i+1])
		}
	}
}

func (m *mean) merge(o *mean) {
	m.sum.Merge(&o.sum)
	m.infinite.Merge(&o.infinite)
	m.undefined.Merge(&o.undefined)
}

func (m *mean) value(w *tally.Weight, weighted bool) float64 {
	switch {
	case m.undefined.N > 0:
		return math.NaN()
	case m.infinite.N > 0:
		return math.Inf(1)
	}
	return m.sum.Value(w, weighted)
}

// finite returns the mean over the rows where the measure is finite.
func (m *mean) finite(w *tally.Weight, weighted bool) float64 {
	t, i, u := w.Total(weighted), m.infinite.Total(weighted), m.undefined.Total(weighted)
	t.Sub(&i)
	t.Sub(&u)
	return exact.Ratio(&m.sum.S1, &t)
}

// interval returns mean +- z*s/sqrt(n). There is no interval for a mean that is not finite.
func (m *mean) interval(w *tally.Weight, weighted bool, level float64) metrics.Interval {
	if m.undefined.N+m.infinite.N > 0 {
		return metrics.NoInterval()
	}
	return metrics.Normal(m.value(w, weighted), m.sum.StdErr(w, weighted), level)
}

func (m *mean) fields(f *exact.Fields) {
	m.sum.Fields(f)
	m.infinite.Fields(f)
	m.undefined.Fields(f)
}

// kin has what must be equal in two accumulators with rows.
type kin struct {
	members, classes int // 0 before the first row
	weighted         bool
}

func kinOf(b *Block) kin { return kin{len(b.Members), b.Classes, b.Weights != nil} }

// merge takes the values of o if k has no rows yet. The error says what differs.
func (k *kin) merge(o kin, format exact.Format) error {
	switch {
	case o.members == 0:
		return nil
	case k.members == 0:
		*k = o
	case k.members != o.members:
		return state.Mismatch(format, "of %d members and of %d", k.members, o.members)
	case k.classes != o.classes:
		return state.Mismatch(format, "of %d classes and of %d", k.classes, o.classes)
	case k.weighted != o.weighted:
		return state.Mismatch(format, "with and without weights")
	}
	return nil
}

func (k *kin) fields(f *exact.Fields) {
	f.Int(&k.members)
	f.Int(&k.classes)
	f.Flags(&k.weighted)
	f.Must((k.members == 0) == (k.classes == 0), exact.OutOfRange)
}
