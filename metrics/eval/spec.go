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

// Spec says what is to be evaluated, before any predictions are seen.
type Spec struct {
	Classes int           // of the predictions; 1 for a binary task; draws a row of samples and log-likelihoods
	Kind    metrics.Kind  // of the scores; which of Probs, Logits and LogProbs has no say
	Members int           // of an ensemble, see AddMembers; 0 if there is one model
	Out     bool          // there are out-of-distribution rows, see AddOut
	Law     regress.Law   // of forecasts of means and standard deviations; zero, the normal one, of another kind
	Levels  []float64     // of the quantiles of a row, rising between 0 and 1, one for each of Classes; nil for another kind
	Metrics []Metric      // see ParseMetrics
	Base    calib.Options // what a metric over bins means where its own options say nothing; its Event is ByShape, or TopLabel
	// for an ece that is of the top label in a binary task too
	Brier   score.BrierForm // what brier means without an option
	UM      bool            // rmsce, sce, ace and tace without options are those of uncertainty_metrics
	Level   float64         // of intervals; 0 means 0.95
	Decided bool            // the predictions have the caller's decisions
	Scored  bool            // and confidence scores
	Seed    uint64          // of random numbers; 0 where no metric draws any
	labels  int             // of several that share Memory; 0 if there is one
	binned  bool            // bins keep sums of their own, where cells would have them: a member's do, for members may be many
	Memory  int64           // bytes for the entries of the adaptive class-wise metrics, which share it; 0 for no limit, and where there is none
}

// plan is what accumulators the metrics of a spec are answered from: each of the lists without doubles.
type plan struct {
	top     int // the largest k of accuracies
	diagram binning
	judged  calib.Options // the bins that Judge is from where no cells are kept for it
	cells   []calib.Event
	bins    []calib.Options
	classes []calib.ClassOptions
	scores  []calib.ClassScoresOptions
	rows    []calib.Event // of which every row is kept
	pairs   bool          // a metric compares classes with each other
	most    int64         // bytes that each of the statistics of entries may take
	more    []statistic
}

// keep returns how many accumulators keep entries of all classes.
func (p *plan) keep() int64 {
	n := int64(len(p.scores) + len(p.rows))
	if p.pairs {
		n++
	}
	return n
}

// plan returns what the metrics need. Ranks, which cost another look at every score, are not kept of many classes where none of
// the metrics asks for them.
func (s *Spec) plan() (p plan, err error) {
	p.top = 1
	if !many(s.Shape()) && !s.binned {
		p.top = 5
	}
	list := s.Metrics
	if s.Shape().HasClasses() && !s.binned {
		p.cells = add(p.cells, s.from(calib.ByShape.Resolve(s.Classes))) // what Judge is from, whatever is asked for
	}
	if s.Shape().HasClasses() {
		list = append([]Metric{{Name: "ece"}}, list...) // its bins are the diagram's
	}
	for i, m := range list {
		d := s.describe(m)
		if d == nil {
			return p, fmt.Errorf("there is no metric %q", m.Name)
		}
		if !d.applies(s.Shape()) {
			return p, fmt.Errorf("metric %v: %s", m, d.appliesTo())
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
			if !slices.ContainsFunc(p.more, func(o statistic) bool { return o.key == k.key && o.fed == k.fed }) {
				p.more = append(p.more, k)
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
				// It has an order of its own.
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
	if s.Shape().HasClasses() && s.binned {
		p.judged = calib.Options{Bins: judgedBins, Event: calib.ByShape.Resolve(s.Classes)}
		if d := p.diagram.Options; d.Bins%judgedBins == 0 && d == (calib.Options{Bins: d.Bins, Event: p.judged.Event}) {
			p.judged = d // which are parts of them
		}
		p.bins = add(p.bins, p.judged)
	}
	if n := p.keep(); s.Memory > 0 && n > 0 {
		p.most = max(1, s.Memory/n)
		for i := range p.scores {
			p.scores[i].MaxBytes = p.most
		}
	}
	return p, nil
}

// scoresOf returns where the scores of a class-wise metric are kept, -1 if nowhere.
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

// ofPositive tells whether a metric is over cells of class 1, though not over bins of them.
func (s *Spec) ofPositive(m Metric) bool {
	d := s.describe(m)
	return d.ofTwo && s.Classes <= 2 && !(d.own.index(groupedBy.name) >= 0 && byPredicted(s.Classes, m))
}

// binning returns the options of a metric over bins or cells.
func (s *Spec) binning(m Metric) (binning, error) {
	d := s.describe(m)
	event := d.event(s.Base, s.Classes)
	if d.own.index("event") >= 0 {
		if e := calib.Event(d.own.of(m, "event")); e != calib.ByShape {
			event = e
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

// byClass returns those of a metric over bins of each class.
func (s *Spec) byClass(m Metric) (byClass, error) {
	return m.classwise(s.Base.Bins, *s.describe(m).classes, s.UM)
}

// fromCells tells whether bins are those of cells, which know nothing of the caller's scores.
func (s *Spec) fromCells(b *binning) bool { return b.adaptive || b.plain() && !s.Scored && !s.binned }

// from returns the event whose cells also serve for an event. In a binary task those of the positive class serve for the top label too,
// unless decisions are the caller's.
func (s *Spec) from(e calib.Event) calib.Event {
	if s.Classes == 1 && !s.Decided {
		return calib.Positive
	}
	return e
}

// columns says what the scores of a row are of.
func (s *Spec) columns() string {
	switch s.Kind {
	case metrics.Samples, metrics.LogLiks:
		return "draws"
	case metrics.Normals:
		return "columns"
	case metrics.Quantiles:
		return "quantiles"
	}
	return "classes"
}
