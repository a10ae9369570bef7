package eval

import (
	"errors"
	"fmt"
	"slices"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/metrics/score"
)

// Spec says what is evaluated. It is fixed before any predictions are read.
type Spec struct {
	Classes int          // of the predictions; 1 for a binary task; for samples and log-likelihoods, draws per row
	Kind    metrics.Kind // of the scores; Probs, Logits and LogProbs are equivalent
	Names   []string     // of the classes, in their order; nil if they have none. A binary task has two, the event's second
	// Choices says that the columns are choices, not classes. Class-wise metrics, base rates and skill then have no value.
	Choices Choices
	Members int         // members of an ensemble, see AddMembers; 0 for one model
	Out     bool        // out-of-distribution rows are also given, see AddOut
	Law     regress.Law // distribution of forecasts by mean and standard deviation; zero, the normal one, for other kinds
	// Transform is what forecasts and observed values of Quantiles and Samples went through; zero, none, for other kinds.
	Transform metrics.Transform
	Levels    []float64 // of the quantiles in a row, rising between 0 and 1, one for each of Classes; nil for other kinds
	// Times of Survival are those of its columns of probabilities, rising, one for each of Classes-2; nil for other kinds. Horizons are those of
	// them that are judged; nil means all. A metric that names no horizon stands for one at each.
	Times, Horizons []float64
	// Dimensions is the number of numbers that forecasts of Multivariate and MultivariateNormals are of; 0 for other kinds.
	Dimensions int
	// Costs are what decisions cost, for decision_cost and constant_cost; nil if there are none.
	Costs   *score.CostMatrix
	Metrics []Metric // see ParseMetrics
	// Base holds the defaults of metrics over bins. Its Event is ByShape, or TopLabel if ece uses the top label in a binary task too.
	Base    calib.Options
	Brier   score.BrierForm // default form of brier
	UM      bool            // rmsce, sce, ace and tace default to the definitions of uncertainty_metrics
	Level   float64         // of intervals; 0 means 0.95
	Decided bool            // the predictions have the caller's decisions
	Scored  bool            // the predictions have confidence scores
	Correct bool            // class 1 is that the top label was right, and its score the top label's: decisions are all 1
	// Cluster is the name of the column that says which cluster a row is in, as a patient or a video, whose rows depend on each other: intervals
	// and the judgement are then by clusters, and chunks of rows have Clusters. "" takes rows as independent.
	Cluster string
	Ignore  []int32 // labels that the reader turned into metrics.Ignored, rising; evaluations that differ in them do not merge
	Seed    uint64  // for random numbers; 0 if no metric draws any
	Memory  int64   // bytes shared by the entries of the adaptive class-wise metrics; 0 for no limit, and if there are no such metrics
	// Lean leaves out what neither the metrics nor Judge need: the rows' scores, which then are in bins, and the losses that no metric is of. It
	// has no effect, and New clears it, where a metric needs the scores (see KeepsScores), and for ensembles, clusters, labels and
	// out-of-distribution rows. LeftOut says what is missing.
	Lean   bool
	Labels int  // number of labels that share Memory, as package multilabel sets it; 0 for a single task
	binned bool // bins keep their own sums even where cells could provide them; for members and labels, which may be many
}

// plan lists the accumulators that the metrics of a spec need, without duplicates.
type plan struct {
	top        int         // largest k of the accuracies
	parts      score.Parts // of the losses that are kept; 0 for all
	diagram    binning
	judged     calib.Options // bins for Judge if no cells are kept
	cells      []calib.Event
	bins       []calib.Options
	classes    []calib.ClassOptions
	scores     []calib.ClassScoresOptions
	rows       []calib.Event // events for which every row is kept
	pairs      bool          // a metric compares pairs of classes
	most       int64         // bytes for each of the statistics of entries
	statistics []statistic
}

// keep returns how many accumulators keep entries of all classes.
func (p *plan) keep() int64 {
	n := int64(len(p.scores) + len(p.rows))
	if p.pairs {
		n++
	}
	return n
}

// plan returns what the metrics need. Ranks take another pass over every score, so with many classes they are kept only if a
// metric needs them.
func (s *Spec) plan() (p plan, err error) {
	for i, l := range s.Ignore {
		if l == metrics.Ignored || i > 0 && l <= s.Ignore[i-1] {
			return p, fmt.Errorf("labels that are ignored rise, and %d is not one: %v", metrics.Ignored, s.Ignore)
		}
	}
	p.top = 1
	if !many(s.Shape()) && !s.binned {
		p.top = 5
	}
	list := s.Metrics
	if s.Shape().HasClasses() && !s.binned {
		p.cells = add(p.cells, s.from(calib.ByShape.Resolve(s.Classes))) // needed by Judge in any case
	}
	if s.Shape().HasClasses() {
		list = append([]Metric{{Name: "ece"}}, list...) // the diagram uses its bins
	}
	lost := score.Parts(0)
	for i, m := range list {
		d := s.describe(m)
		if d == nil {
			return p, fmt.Errorf("there is no metric %q", m.Name)
		}
		if !d.applies(s.Shape()) {
			return p, fmt.Errorf("metric %v: %s", m, d.appliesTo())
		}
		if s.classless(m) != "" {
			continue
		}
		if s.Lean && i > 0 { // the first is the diagram's
			lost |= s.losses(m)
		}
		switch m.Name {
		case "top5_accuracy":
			p.top = max(p.top, 5)
		case "topk_accuracy":
			if k := m.k(); k > 1 && ofPlaces(s, m) == nil {
				p.top = max(p.top, 5, k)
			}
		}
		keepsRows := d.own.index(exactly.name) >= 0 && m.exact()
		if s.ofPositive(m) && keepsRows {
			p.rows = add(p.rows, calib.Positive)
		} else if s.ofPositive(m) {
			p.cells = add(p.cells, s.from(calib.Positive))
		} else if d.ofTwo && d.own.index(average.name) >= 0 {
			switch int(d.own.of(m, average.name)) {
			case macro, weighted:
				if p.scoresOf(&byClass{}) < 0 {
					p.scores = append(p.scores, calib.ClassScoresOptions{})
				}
			case oneVsOne, oneVsOneWeighted:
				p.pairs = true
			}
		}
		var statistics []statistic
		if d.keeps != nil {
			statistics = d.keeps(s, m)
		}
		if d.ranked && s.Scored {
			statistics = append(statistics, retentionOf(rank.ZeroOne, true))
		}
		for _, k := range statistics {
			if !slices.ContainsFunc(p.statistics, func(o statistic) bool { return o.key == k.key && o.fed == k.fed }) {
				p.statistics = append(p.statistics, k)
			}
		}
		if d.event != nil {
			b, err := s.binning(m)
			if err != nil {
				return p, fmt.Errorf("metric %v: %w", m, err)
			}
			if i == 0 {
				p.diagram = b
			}
			if d.own.index("draws") >= 0 && d.own.of(m, "draws")*float64(b.Bins) > mostDraws {
				return p, fmt.Errorf("metric %v: %d draws of %d bins are more than %d numbers; take fewer", m, int(d.own.of(m, "draws")), b.Bins, mostDraws)
			}
			if event := s.from(b.Event); d.ranked && s.Scored {
				// These rows have their own order.
			} else if keepsRows {
				p.rows = add(p.rows, b.Event)
			} else if d.uncut || s.fromCells(&b) {
				p.cells = add(p.cells, event)
			} else {
				p.bins = add(p.bins, b.Options)
			}
		}
		if d.classes != nil {
			c, err := s.byClass(m)
			if err != nil {
				return p, fmt.Errorf("metric %v: %w", m, err)
			}
			if c.adaptive {
				if p.scoresOf(&c) < 0 {
					p.scores = append(p.scores, calib.ClassScoresOptions{Above: c.threshold})
				}
			} else if o := c.evenOptions(); !slices.ContainsFunc(p.classes, func(q calib.ClassOptions) bool { return q.String() == o.String() }) {
				p.classes = append(p.classes, o)
			}
		}
	}
	if s.Cluster != "" {
		p.statistics = append(p.statistics, s.clusterStatistic())
	}
	if s.Shape().HasClasses() && s.binned {
		p.judged = calib.Options{Bins: judgedBins, Event: calib.ByShape.Resolve(s.Classes)}
		if d := p.diagram.Options; d.Bins%judgedBins == 0 && d == (calib.Options{Bins: d.Bins, Event: p.judged.Event}) {
			p.judged = d // coarser unions of the same bins
		}
		p.bins = add(p.bins, p.judged)
	}
	if s.Lean && s.Shape().HasClasses() {
		p.parts = lost | score.OfEvent // which costs next to nothing
		if s.Classes > 1 {
			p.parts |= score.OfTop // whose sums judge the predictions
		}
	}
	if n := p.keep(); s.Memory > 0 && n > 0 {
		p.most = max(1, s.Memory/n)
		for i := range p.scores {
			p.scores[i].MaxBytes = p.most
		}
	}
	return p, nil
}

// scoresOf returns the index of the accumulator that keeps the scores of a class-wise metric, -1 if there is none.
func (p *plan) scoresOf(c *byClass) int {
	return slices.IndexFunc(p.scores, func(q calib.ClassScoresOptions) bool {
		return (q.Above == nil) == (c.threshold == nil) && (q.Above == nil || *q.Above == *c.threshold)
	})
}

func add[T comparable](l []T, v T) []T {
	if slices.Contains(l, v) {
		return l
	}
	return append(l, v)
}

// ofPositive reports whether a metric uses cells of class 1, but not bins of them.
func (s *Spec) ofPositive(m Metric) bool {
	d := s.describe(m)
	return d.ofTwo && s.Classes <= 2 && !(d.own.index(groupedBy.name) >= 0 && byPredicted(s.Classes, m))
}

// binning returns the options of a metric over bins or cells.
func (s *Spec) binning(m Metric) (binning, error) {
	d := s.describe(m)
	classes := s.Classes
	if s.Choices != NoChoices {
		classes = max(classes, 3) // none of two is positive
	}
	event := d.event(s.Base, classes)
	if d.own.index("event") >= 0 {
		if e := calib.Event(d.own.of(m, "event")); e != calib.ByShape {
			event = e
		}
		if event == calib.Positive && s.Choices != NoChoices {
			return binning{}, errors.New("there is no positive class: " + notClasses)
		}
		if event == calib.Positive && s.Classes > 2 {
			return binning{}, errors.New("there is no positive class among more than two")
		}
	}
	if d.uncut {
		return binning{Options: calib.Options{Event: event}}, nil
	}
	if s.UM && m.Name == "rmsce" && !slices.ContainsFunc(m.args, func(a arg) bool { return a.name != "bins" }) {
		m.args = append(slices.Clone(m.args), arg{name: "adaptive"})
	}
	b, err := d.own.without(m).binned(s.Base, s.Classes, event, d.norm)
	if m.Name == "ece_equal_mass" {
		b.adaptive, b.Options = true, calib.Options{Bins: b.Bins, Event: b.Event}
	}
	return b, err
}

// byClass returns the options of a metric over bins of each class.
func (s *Spec) byClass(m Metric) (byClass, error) {
	return m.classwise(s.Base.Bins, *s.describe(m).classes, s.UM)
}

// fromCells reports whether bins are made from cells, which do not know the caller's confidence scores.
func (s *Spec) fromCells(b *binning) bool { return b.adaptive || b.plain() && !s.Scored && !s.binned }

// from returns the event whose cells also serve for e. In a binary task the cells of the positive class serve for the top
// label too, unless the caller made the decisions.
func (s *Spec) from(e calib.Event) calib.Event {
	if s.Classes == 1 && !s.Decided {
		return calib.Positive
	}
	return e
}

// columns names what the scores of a row belong to.
func (s *Spec) columns() string {
	switch s.Kind {
	case metrics.Samples, metrics.LogLiks:
		return "draws"
	case metrics.Normals:
		return "columns"
	case metrics.Survival, metrics.Multivariate, metrics.MultivariateNormals:
		return "columns"
	case metrics.Quantiles:
		return "quantiles"
	}
	return "classes"
}
