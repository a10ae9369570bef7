package eval

import (
	"errors"
	"fmt"
	"slices"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/metrics/score"
)

// Evaluation is a set of accumulators with the metrics that are computed from them.
type Evaluation struct {
	Spec   Spec
	Audit  metrics.Audit
	Out    metrics.Audit // of the out-of-distribution rows
	Given  metrics.Kind  // kind of the members' scores; the rows themselves are their mean probabilities
	Loss   *score.Loss
	Scaled *Scaled // results after temperature scaling; nil if none were computed, or if rows were added since
	Slices Slices  // answers for slices of the rows; nil if they are not sliced
	// Threads is the number of goroutines for answers that use resampling; 0 means GOMAXPROCS. Answers do not depend on it.
	Threads int
	// ClusterBytes limits the memory of clusters while AddSource reads, and four times as much that of rows of survival, all of which are kept. Beyond
	// it AddSource returns a *RoomError; 0 sets no limit.
	ClusterBytes int64
	// Expected is the number of rows that the next AddSource has at least; 0 means unknown. It spares memory for what is kept of each row where the
	// limit of Spec.Memory is exceeded in the end. It is an error if there are fewer.
	Expected int64
	// Remedy returns what the caller must do to set Spec.Memory to this many bytes, such as "give it 1 GiB". nil means
	// unknown.
	Remedy func(memory int64) string

	plan         plan
	statistics   []any         // accumulators, in the order of plan.statistics
	each         []*Evaluation // evaluations of the single members
	cell         []*cells.Cells
	bins         []*calib.Bins
	classBin     []*calib.ClassBins
	classEntries []*calib.ClassScores
	pairs        *calib.LabelScores // nil unless the plan has pairs
	rows         []*cells.Kept
	sorted       map[calib.Event]*cells.Sorted // for exactRows

	// Answers since rows were last added.
	memo map[any]any  // by question
	top  *cells.Cells // for the top label of a binary task
	rank *rank.Ranking
}

// New returns an evaluation that has seen no rows.
func New(s Spec) (*Evaluation, error) {
	s.Lean = s.Lean && s.canBeLean()
	s.binned = s.Lean || s.Labels > 0 && s.Classes == 1 && !slices.ContainsFunc(s.Metrics, s.KeepsScores)
	return create(s)
}

// create is New for a spec whose binned is set.
func create(s Spec) (*Evaluation, error) {
	if s.Level == 0 {
		s.Level = metrics.DefaultLevel
	}
	switch {
	case !(s.Level > 0 && s.Level < 1):
		return nil, fmt.Errorf("the confidence level is %v; it lies between 0 and 1", s.Level)
	case s.Classes < 1:
		return nil, errors.New("eval: Classes is below 1")
	case s.Memory < 0:
		return nil, errors.New("eval: Memory is below 0")
	case s.Members < 0:
		return nil, errors.New("eval: Members is below 0")
	case (s.Members > 0 || s.Out) && !s.Shape().HasClasses():
		return nil, fmt.Errorf("eval: %v are of no ensemble, and none of them is out of distribution", s.Kind)
	case s.Kind == metrics.Quantiles && len(s.Levels) != s.Classes:
		return nil, fmt.Errorf("eval: %d levels for %d quantiles a row", len(s.Levels), s.Classes)
	case s.Kind != metrics.Quantiles && s.Levels != nil:
		return nil, fmt.Errorf("eval: levels are for quantiles, and the rows are %v", s.Kind)
	case s.Kind != metrics.Normals && s.Law != regress.NormalLaw:
		return nil, fmt.Errorf("eval: distributions are of means and standard deviations, and the rows are %v", s.Kind)
	case !s.Transform.Valid():
		return nil, fmt.Errorf("eval: there is no transform %d", s.Transform)
	case s.Transform != 0 && s.Kind != metrics.Quantiles && s.Kind != metrics.Samples:
		return nil, fmt.Errorf("eval: transforms are of quantiles and samples, and the rows are %v", s.Kind)
	case s.Names != nil && !s.Shape().HasClasses():
		return nil, fmt.Errorf("eval: names are those of classes, and the rows are %v", s.Kind)
	case s.Names != nil && (len(s.Names) == 0 || s.Classes > 1 && len(s.Names) != s.Classes):
		return nil, fmt.Errorf("eval: %d names of %d classes", len(s.Names), s.Classes)
	case s.Correct && (s.Classes != 1 || !s.Decided || s.Names != nil):
		return nil, errors.New("eval: whether the top label was right is a binary task with decisions, and has no names of classes")
	case s.Choices > ChoiceBytes, s.Choices != NoChoices && (!s.Shape().HasClasses() || s.Classes < 2 || s.Members > 0 || s.Names != nil):
		return nil, errors.New("eval: choices are of one model, two or more a row, without names")
	case !regress.ValidLevels(s.Levels):
		return nil, fmt.Errorf("eval: levels of quantiles rise between 0 and 1, more than %v apart", 2*oneLevel)
	case s.Kind == metrics.Normals && s.Classes != 2 && s.Classes != 3:
		return nil, fmt.Errorf("eval: normal forecasts are of two or three numbers a row, not of %d", s.Classes)
	case s.Base.Event != calib.ByShape && s.Base.Event != calib.TopLabel:
		return nil, errors.New("eval: the base's event is neither ByShape nor TopLabel")
	}
	if s.Costs != nil {
		if err := s.Costs.Check(); err != nil {
			return nil, err
		}
		if !s.Shape().HasClasses() || s.Choices != NoChoices || s.Correct {
			return nil, errors.New("costs are those of classes, and these predictions have none")
		}
		if k := max(2, s.Classes); s.Costs.Classes != k {
			return nil, fmt.Errorf("the cost matrix has %d rows, and there are %d classes; a row is a true class, a column a decision", s.Costs.Classes, k)
		}
	}
	if err := s.checkClusters(); err != nil {
		return nil, err
	}
	s.Kind = simple(s.Kind)
	if err := s.checkSurvival(); err != nil {
		return nil, err
	}
	if err := s.checkVectors(); err != nil {
		return nil, err
	}
	if s.Base.Bins == 0 {
		s.Base.Bins = calib.DefaultBins
	}
	if err := s.Base.Validate(); err != nil {
		return nil, err
	}
	p, err := s.plan()
	if err != nil {
		return nil, err
	}
	if p.keep() == 0 {
		s.Memory = 0 // unused, and not part of a state
	}
	if !slices.ContainsFunc(s.Metrics, Metric.draws) {
		s.Seed = 0
	}
	e := &Evaluation{Spec: s, plan: p, Loss: metrics.Must(score.NewLoss(&score.Options{TopK: p.top, Parts: p.parts}))}
	for _, k := range p.statistics {
		e.statistics = append(e.statistics, k.make())
	}
	for range s.Members {
		m := Spec{Classes: s.Classes, Base: s.Base, Brier: s.Brier, Level: s.Level, binned: true}
		if m.Metrics, err = ParseMetrics(MemberMetrics, m.Shape()); err != nil {
			return nil, err
		}
		one, err := create(m)
		if err != nil {
			return nil, err
		}
		e.each = append(e.each, one)
	}
	for _, event := range p.cells {
		e.cell = append(e.cell, metrics.Must(cells.New(&cells.Options{Event: event})))
	}
	for i := range p.bins {
		e.bins = append(e.bins, metrics.Must(calib.NewBins(&p.bins[i])))
	}
	for i := range p.classes {
		e.classBin = append(e.classBin, metrics.Must(calib.NewClassBins(&p.classes[i])))
	}
	for i := range p.scores {
		e.classEntries = append(e.classEntries, metrics.Must(calib.NewClassScores(&p.scores[i])))
	}
	if p.pairs {
		e.pairs = metrics.Must(calib.NewLabelScores(p.most))
	}
	for _, event := range p.rows {
		most := p.most / cells.KeptBytes(s.Classes)
		if p.most > 0 {
			most = max(1, most)
		}
		e.rows = append(e.rows, cells.NewKept(event, most))
	}
	return e, nil
}

// Members returns the evaluations of the single members by MemberMetrics, in order. It returns none if there is one model.
func (e *Evaluation) Members() []*Evaluation { return e.each }

// MemberMetrics are the metrics for each member of an ensemble.
const MemberMetrics = "accuracy,nll,brier,ece"

// Accumulators returns what reads the rows, for callers that make a metrics.Pass or metrics.Walker of their own. These set Audit too.
func (e *Evaluation) Accumulators() (a []metrics.Accumulator) {
	for i, k := range e.plan.statistics {
		if k.fed == rows {
			a = append(a, e.statistics[i].(metrics.Accumulator))
		}
	}
	if !e.Spec.Shape().HasClasses() {
		return a
	}
	a = append(a, e.Loss)
	for _, c := range e.cell {
		a = append(a, c)
	}
	for _, b := range e.bins {
		a = append(a, b)
	}
	for _, b := range e.classBin {
		a = append(a, b)
	}
	for _, k := range e.classEntries {
		a = append(a, k)
	}
	if e.pairs != nil {
		a = append(a, e.pairs)
	}
	for _, k := range e.rows {
		a = append(a, k)
	}
	return a
}
