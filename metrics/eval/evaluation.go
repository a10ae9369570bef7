package eval

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
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

// Evaluation is a set of accumulators and the metrics that are answered from them.
type Evaluation struct {
	Spec   Spec
	Audit  metrics.Audit
	Out    metrics.Audit // of the out-of-distribution rows
	Given  metrics.Kind  // of the members' scores; the rows themselves are their mean probabilities
	Loss   *score.Loss
	Scaled *Scaled // nil unless the rows were scaled too; more rows make it nil again
	// Threads is how many goroutines an answer may take that draws sets of rows; 0 means GOMAXPROCS. Answers do not depend on it.
	Threads int
	// Remedy says what the caller is to do for Spec.Memory to be so many bytes, as "pass --max-memory 1024MiB"; nil if that is not known.
	Remedy func(memory int64) string

	plan   plan
	more   []any         // by plan.more
	each   []*Evaluation // of the members by themselves
	cell   []*cells.Cells
	bins   []*calib.Bins
	byCl   []*calib.ClassBins
	kept   []*calib.ClassScores
	pairs  *calib.LabelScores // nil unless the plan has pairs
	rows   []*cells.Kept
	sorted map[calib.Event]*cells.Sorted // of exactRows

	// What was answered since the last rows.
	memo map[any]any  // by what was asked
	top  *cells.Cells // of the top label in a binary task
	rank *rank.Ranking
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
	most    int64         // bytes that each of the keepers of entries may take
	more    []keeper
}

// keep returns how many accumulators keep entries of all classes.
func (p *plan) keep() int64 {
	n := int64(len(p.scores) + len(p.rows))
	if p.pairs {
		n++
	}
	return n
}

// part is a partition and how far its ECE may be from the rows'.
type part struct {
	*calib.Partition
	bound float64
}

// New returns an evaluation that has seen no rows.
func New(s Spec) (*Evaluation, error) {
	if s.Level == 0 {
		s.Level = metrics.DefaultLevel
	}
	switch {
	case !(s.Level > 0 && s.Level < 1):
		return nil, fmt.Errorf("the confidence level is %v; it lies between 0 and 1", s.Level)
	case s.Classes < 1:
		return nil, errors.New("eval: no classes")
	case s.Memory < 0:
		return nil, errors.New("eval: the memory is below 0")
	case s.Members < 0:
		return nil, errors.New("eval: less than no members")
	case (s.Members > 0 || s.Out) && !s.Shape().HasClasses():
		return nil, fmt.Errorf("eval: %v are of no ensemble, and none of them is out of distribution", s.Kind)
	case s.Kind == metrics.Quantiles && len(s.Levels) != s.Classes:
		return nil, fmt.Errorf("eval: %d levels for %d quantiles a row", len(s.Levels), s.Classes)
	case s.Kind != metrics.Quantiles && s.Levels != nil:
		return nil, fmt.Errorf("eval: levels are for quantiles, and the rows are %v", s.Kind)
	case s.Kind != metrics.Normals && s.Law != regress.NormalLaw:
		return nil, fmt.Errorf("eval: distributions are of means and standard deviations, and the rows are %v", s.Kind)
	case !regress.ValidLevels(s.Levels):
		return nil, fmt.Errorf("eval: levels of quantiles rise between 0 and 1, more than %v apart", 2*oneLevel)
	case s.Kind == metrics.Normals && s.Classes != 2 && s.Classes != 3:
		return nil, fmt.Errorf("eval: normal forecasts are of two or three numbers a row, not of %d", s.Classes)
	case s.Base.Event != calib.ByShape && s.Base.Event != calib.TopLabel:
		return nil, errors.New("eval: the base's event is neither ByShape nor TopLabel")
	}
	s.Kind = simple(s.Kind)
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
		s.Memory = 0 // nothing takes it, and a state says nothing of it
	}
	if !slices.ContainsFunc(s.Metrics, Metric.draws) {
		s.Seed = 0
	}
	e := &Evaluation{Spec: s, plan: p, Loss: score.NewLoss(&score.Options{TopK: p.top})}
	for _, k := range p.more {
		e.more = append(e.more, k.make())
	}
	for range s.Members {
		m := Spec{Classes: s.Classes, Base: s.Base, Brier: s.Brier, Level: s.Level, binned: true}
		if m.Metrics, err = ParseMetrics(MemberMetrics, m.Shape()); err != nil {
			return nil, err
		}
		one, err := New(m)
		if err != nil {
			return nil, err
		}
		e.each = append(e.each, one)
	}
	for _, event := range p.cells {
		e.cell = append(e.cell, cells.New(&cells.Options{Event: event}))
	}
	for i := range p.bins {
		e.bins = append(e.bins, calib.NewBins(&p.bins[i]))
	}
	for i := range p.classes {
		e.byCl = append(e.byCl, calib.NewClassBins(&p.classes[i]))
	}
	for i := range p.scores {
		e.kept = append(e.kept, calib.NewClassScores(&p.scores[i]))
	}
	if p.pairs {
		e.pairs = calib.NewLabelScores(p.most)
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

// plan returns what the metrics need. Ranks, which cost another look at every score, are not kept of many classes where none of
// the metrics asks for them.
func (s *Spec) plan() (p plan, err error) {
	p.top = 1
	if !many(s.Shape()) && !s.binned {
		p.top = 5
	}
	list := s.Metrics
	if s.Shape().HasClasses() && !s.binned {
		p.cells = add(p.cells, s.from(calib.ByShape.Of(s.Classes))) // what Judge is from, whatever is asked for
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
		var keepers []keeper
		if d.keeps != nil {
			keepers = d.keeps(s, m)
		}
		if d.ranked && s.Scored {
			keepers = append(keepers, retentionOf(rank.ZeroOne, true))
		}
		for _, k := range keepers {
			if !slices.ContainsFunc(p.more, func(o keeper) bool { return o.key == k.key && o.fed == k.fed }) {
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
		p.judged = calib.Options{Bins: judgedBins, Event: calib.ByShape.Of(s.Classes)}
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

// from returns the event of the cells from which those of an event are had: in a binary task the positive class's do for both, but
// not for decisions of the caller.
func (s *Spec) from(e calib.Event) calib.Event {
	if s.Classes == 1 && !s.Decided {
		return calib.Positive
	}
	return e
}

// cells returns the cells of an event.
func (e *Evaluation) cells(event calib.Event) *cells.Cells {
	from := e.Spec.from(event)
	c := e.cell[slices.Index(e.plan.cells, from)]
	if from == event {
		return c
	}
	if e.top == nil {
		e.top = c.TopLabel()
	}
	return e.top
}

// ranking returns the order of the rows by confidence, or by the caller's scores.
func (e *Evaluation) ranking() *rank.Ranking {
	if e.rank == nil {
		if e.Spec.Scored {
			e.rank = keeping[*rank.Retention](e, rows, retentionOf(rank.ZeroOne, true).key).Ranking()
		} else {
			e.rank = rank.Of(e.rising(calib.TopLabel))
		}
	}
	return e.rank
}

// binning returns the options of a metric over bins, which has been checked.
func (e *Evaluation) binning(m Metric) *binning {
	b, err := e.Spec.binning(m)
	if err != nil {
		panic("eval: a metric was not checked: " + err.Error())
	}
	return &b
}

func (e *Evaluation) byClass(m Metric) *byClass {
	c, err := e.Spec.byClass(m)
	if err != nil {
		panic("eval: a metric was not checked: " + err.Error())
	}
	return &c
}

func (e *Evaluation) classBins(m Metric) *calib.ClassBins {
	o := e.byClass(m).evenOptions()
	return e.byCl[slices.IndexFunc(e.plan.classes, func(q calib.ClassOptions) bool { return q.String() == o.String() })]
}

func (e *Evaluation) classScores(m Metric) *calib.ClassScores {
	return e.kept[e.plan.scoresOf(e.byClass(m))]
}

// partition returns the bins of a metric over bins, and how far its ECE may be from that of the rows.
func (e *Evaluation) partition(m Metric) (*calib.Partition, float64) {
	p := e.parted(e.binning(m))
	return p.Partition, p.bound
}

func (e *Evaluation) parted(b *binning) part {
	if !e.Spec.fromCells(b) {
		return part{Partition: &e.bins[slices.Index(e.plan.bins, b.Options)].Partition}
	}
	k := *b
	k.norm = l1 // bins are the same in every norm
	return remember(e, k, func() (p part) {
		c := e.cells(b.Event)
		if b.adaptive {
			p.Partition, p.bound = calib.EqualMassOf(c, b.Bins)
		} else {
			p.Partition, p.bound = calib.EvenOf(c, b.Bins)
		}
		return p
	})
}

// remember answers what was asked, or what it was answered since the last rows. Each kind of question has a type of its own.
func remember[T any](e *Evaluation, asked any, answer func() T) T {
	if v, ok := e.memo[asked]; ok {
		return v.(T)
	}
	v := answer()
	if e.memo == nil {
		e.memo = map[any]any{}
	}
	e.memo[asked] = v
	return v
}

// Fields returns the options of a metric over bins or over scores in their order, with their values, the rules that systems differ
// in and that it has no option for, and the seed of the random numbers if it draws any; nil for another.
func (e *Evaluation) Fields(m Metric) (f []Field) {
	switch d := e.Spec.describe(m); {
	case d.classes != nil:
		return e.byClass(m).fields()
	case d.event != nil && !d.uncut:
		f = append(e.binning(m).fields(), d.own.fields(m)...)
	case d.own != nil:
		f = plainFields(d.own.fields(m))
		for i := range f {
			switch f[i].Name {
			case curveOwn.name:
				if s := &e.Spec; s.Levels != nil && slices.Contains(ofCurves, m.Name) {
					f[i].Value = nil // the levels are those of the quantiles
				}
			case ofEvent.name:
				f[i].Value = ofEvent.words[e.event(m)]
			case "span", "delta": // which are of a loess
				if d.own.of(m, "smoother") == 0 {
					f[i].Value = nil
				}
			case groupedBy.name: // which has bins, or else none
				if f[i].Value = groupedBy.words[1]; byPredicted(e.Spec.Classes, m) {
					f[i].Value, f[i+1].Value = groupedBy.words[2], nil
				}
			}
		}
	}
	f = append(f, e.Spec.describe(m).rules...)
	if m.draws() {
		f = append(f, Field{"seed", e.Spec.Seed})
	}
	return f
}

// Event returns whose probability a metric's score is; ByShape for one that is not over rows' scores.
func (e *Evaluation) Event(m Metric) calib.Event {
	if e.Spec.describe(m).event == nil {
		return calib.ByShape
	}
	return e.binning(m).Event
}

// Value answers a metric of the spec. A value that is not defined is NaN and has a reason.
func (e *Evaluation) Value(m Metric) Value {
	d := e.Spec.describe(m)
	if why := e.unscored(m); why != "" {
		return Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: why}
	}
	if d.own.index(exactly.name) >= 0 && m.exact() {
		if why := e.noRowsKept(); why != "" {
			return Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: why}
		}
		if len(e.plan.rows) > 0 {
			e, m = e.exactRows(), choices{exactly}.without(m)
		}
	}
	if n := e.outside(m); n > 0 {
		return Value{Value: math.NaN(), Interval: metrics.NoInterval(),
			Reason: fmt.Sprintf("of the scores %d are outside [0,1], and none of these is kept", n)}
	}
	v := d.value(e, m)
	if math.IsNaN(v.Value) {
		v.Bound = 0 // nothing is off
		switch {
		case e.Audit.Rows == 0:
			v.Reason = noRows
		case v.Reason == "" || v.Reason == noRows: // of the bins
			v.Reason = "no row is in a bin"
		}
	} else if math.IsNaN(v.Interval.Low) && v.Reason == "" {
		switch size := math.Abs(v.Value); {
		case math.IsInf(size, 0):
			v.Reason = "an infinite mean has no interval"
		case size > 0x1p400:
			v.Reason = "values so large have squares beyond float64"
		default:
			v.Reason = "a single row has no spread"
		}
	}
	return v
}

// unscored says why a metric has no value where rows have the caller's confidence scores, "" where it has one.
func (e *Evaluation) unscored(m Metric) string {
	d := e.Spec.describe(m)
	switch {
	case !e.Spec.Scored:
	case d.ranked:
		if d.own.index("bins") >= 0 && d.own.of(m, "bins") != 0 {
			return "its bins are of confidences from 0 to 1, and the order is that of the caller's confidence scores: leave bins= out"
		}
	case e.Spec.ofPositive(m) && d.own.index(gridOwn.name) < 0, d.event != nil && (d.uncut || e.binning(m).adaptive):
		return "it judges the probabilities themselves, and the caller's confidence scores are none: evaluate without --confidence-scores"
	}
	return ""
}

// outside returns how many scores, of unchecked predictions, a metric over cells or kept entries would have to leave out.
func (e *Evaluation) outside(m Metric) int64 {
	d := e.Spec.describe(m)
	if d.classes != nil && e.byClass(m).adaptive {
		return e.classScores(m).Out()
	}
	if d.ofTwo && e.Spec.Classes > 2 && d.own.index(average.name) >= 0 {
		switch int(d.own.of(m, average.name)) {
		case micro:
			return keeping[*rank.Entries](e, rows, allEntries.key).Outside()
		case oneVsOne, oneVsOneWeighted:
			return e.pairs.Outside()
		}
	}
	if d.retained {
		return keeping[*rank.Retention](e, rows, d.keeps(&e.Spec, m)[0].key).Outside()
	}
	if e.Spec.ofPositive(m) {
		return e.rising(calib.Positive).Outside()
	}
	if d.event == nil {
		return 0
	}
	if d.ranked && e.Spec.Scored {
		return 0
	}
	if b := e.binning(m); d.uncut || e.Spec.fromCells(b) {
		return e.rising(b.Event).Outside()
	}
	return 0
}

const noRows = "no rows" // as calib says it

// Text returns a metric's whole definition: its formula, with the options that it has here.
func (e *Evaluation) Text(m Metric) string {
	d := e.Spec.describe(m)
	if d.own.index(exactly.name) >= 0 && m.exact() {
		return e.Text(choices{exactly}.without(m)) + "; every row kept"
	}
	switch {
	case d.classes != nil:
		c := e.byClass(m)
		return c.text(e.Spec.Classes) + "; " + c.formula()
	case d.text != nil:
		return d.text(e, m)
	case d.event != nil && !d.uncut:
		b := e.binning(m)
		return e.text(b) + "; " + b.formula(d.Formula, d.norm)
	}
	t := d.own.formula(d.Formula, m)
	if ofLaw(m) {
		t += e.Spec.lawOf()
	}
	if e.Audit.Decided && e.ofDecisions(m) {
		t += "; of the caller's decisions in place of the arg max"
	}
	if e.Audit.Scored && (d.ranked || d.retained) {
		t += "; in the order of the caller's confidence scores"
	}
	return t
}

// Meaning says what a metric is, in a few words and in a line: an error over bins in another norm is what the metric of that norm is.
func (e *Evaluation) Meaning(m Metric) (short, line string) {
	d := e.Spec.describe(m)
	if d.event != nil && !d.uncut {
		if n := e.binning(m).norm; n != d.norm {
			d = Describe([]string{l2: "rmsce", largest: "mce"}[n])
		}
	}
	if m.Name == "brier" {
		if f, _ := m.form(e.Spec.Brier); f == score.BrierMinusOne {
			return "squared distance from truth, minus 1", d.Meaning + ", minus 1"
		}
	}
	if s := ofScore(m); s != binfree.Squared {
		name := map[binfree.ProperScore]string{binfree.Logarithmic: "log score", binfree.Spherical: "spherical loss"}[s]
		r := strings.NewReplacer("squared error", name, "mean (p - y)^2", "the "+name)
		return r.Replace(d.Short), r.Replace(d.Meaning)
	}
	return d.Short, d.Meaning
}

// ofDecisions tells whether a metric that is not over bins is of the caller's decisions, where there are any.
func (e *Evaluation) ofDecisions(m Metric) bool {
	switch m.Name {
	case "accuracy", "balanced_accuracy", "confidence", "overconfidence":
		return true
	}
	return e.Spec.describe(m).retained || e.Event(m) == calib.TopLabel
}

// text says the definition of bins, and what of the rows is the caller's.
func (e *Evaluation) text(b *binning) string {
	t := b.Text()
	if e.Audit.Decided && b.Event == calib.TopLabel {
		t += "; the caller's decisions"
	}
	if e.Audit.Scored && !b.adaptive {
		t += "; binned by the caller's scores"
	}
	return t
}

// Diagram is the bins of a reliability diagram.
type Diagram struct {
	*calib.Partition
	Event calib.Event // whose probability is binned
	Text  string      // the whole definition
}

// Diagram returns the bins of ece.
func (e *Evaluation) Diagram() Diagram { return e.diagram(&e.plan.diagram) }

func (e *Evaluation) diagram(b *binning) Diagram {
	return Diagram{e.parted(b).Partition, b.Event, e.text(b)}
}

// DiagramOf returns such bins of another event, if they are those of a metric.
func (e *Evaluation) DiagramOf(event calib.Event) (Diagram, bool) {
	b := e.plan.diagram
	b.Event = event
	if e.Spec.fromCells(&b) {
		if !slices.Contains(e.plan.cells, e.Spec.from(event)) {
			return Diagram{}, false
		}
	} else if !slices.Contains(e.plan.bins, b.Options) {
		return Diagram{}, false
	}
	return e.diagram(&b), true
}

// Members returns the evaluations of the members by themselves, in their order, by MemberMetrics; none if there is one model.
func (e *Evaluation) Members() []*Evaluation { return e.each }

// MemberMetrics are what each member of an ensemble is evaluated by.
const MemberMetrics = "accuracy,nll,brier,ece"

// Classes returns the bins of each class that the metric sce without options has, nil if there is none.
func (e *Evaluation) Classes() *calib.ClassBins {
	o := e.byClass(Metric{Name: "sce"}).evenOptions()
	if i := slices.IndexFunc(e.plan.classes, func(q calib.ClassOptions) bool { return q.String() == o.String() }); i >= 0 {
		return e.byCl[i]
	}
	return nil
}

// keeping returns the accumulator of a keeper of its type, which the plan has.
func keeping[T any](e *Evaluation, from fed, key string) T {
	i := slices.IndexFunc(e.plan.more, func(k keeper) bool { return k.key == key && k.fed == from })
	return e.more[i].(T)
}

// accumulators returns those that are fed with the rows.
func (e *Evaluation) accumulators() (a []metrics.Accumulator) {
	for i, k := range e.plan.more {
		if k.fed == rows {
			a = append(a, e.more[i].(metrics.Accumulator))
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
	for _, b := range e.byCl {
		a = append(a, b)
	}
	for _, k := range e.kept {
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

// AddSource reads all rows of src; those of an ensemble go to AddMembers. If it fails nothing has changed.
func (e *Evaluation) AddSource(src metrics.Source, o *metrics.Options) error {
	if e.Spec.Members > 0 {
		return fmt.Errorf("%w: rows of one model for an evaluation of %d members", metrics.ErrMismatch, e.Spec.Members)
	}
	// By way of an evaluation without rows: what was added before may be of another type or kind, which is known only
	// when src has been read.
	n, err := New(e.Spec)
	if err != nil {
		return err
	}
	p := metrics.NewPass(o, n.accumulators()...)
	if err := p.Fill(&ofSpec{src, &e.Spec}); err != nil {
		return err
	}
	n.Audit = p.Audit()
	return e.take(n)
}

// take merges an evaluation that is seen no more. One that has seen no rows becomes that, so that it is there once.
func (e *Evaluation) take(n *Evaluation) error {
	if err := e.CheckRows(e.Audit.Rows + n.Audit.Rows); err != nil && !n.Audit.Weighted {
		return err
	}
	if e.Audit != (metrics.Audit{}) || e.Out != (metrics.Audit{}) {
		return e.Merge(n)
	}
	n.Threads, n.Remedy = e.Threads, e.Remedy
	*e = *n
	e.inform()
	return nil
}

// ofSpec is a source that ends at rows that are not those of the spec: of another number of classes, which some metrics cannot take,
// or with decisions or confidence scores of which the spec says nothing, so that some metrics would not see them.
type ofSpec struct {
	metrics.Source
	spec *Spec
}

func (s *ofSpec) Next() (*metrics.Chunk, error) {
	c, err := s.Source.Next()
	if err != nil || c.Rows == 0 {
		return c, err
	}
	switch {
	case simple(c.Kind) != s.spec.Kind:
		err = fmt.Errorf("%w: rows of %v for an evaluation of %v", metrics.ErrMismatch, c.Kind, s.spec.Kind)
	case c.Classes != s.spec.Classes:
		err = fmt.Errorf("%w: rows of %d %s for an evaluation of %d", metrics.ErrMismatch, c.Classes, s.spec.columns(), s.spec.Classes)
	case c.Decisions != nil && !s.spec.Decided:
		err = fmt.Errorf("%w: rows with decisions for an evaluation without", metrics.ErrMismatch)
	case c.ConfidenceScores != nil && !s.spec.Scored:
		err = fmt.Errorf("%w: rows with confidence scores for an evaluation without", metrics.ErrMismatch)
	default:
		return c, nil
	}
	if c.Recycle != nil {
		c.Recycle()
	}
	return nil, err
}

// Merge adds the rows of another evaluation with the same spec; an error names the first difference, and then nothing
// has changed.
func (e *Evaluation) Merge(o *Evaluation) error {
	if err := e.Spec.equal(&o.Spec); err != nil {
		return err
	}
	audit := e.Audit
	if err := audit.Merge(&o.Audit); err != nil {
		return err
	}
	away := e.Out
	if err := away.Merge(&o.Out); err != nil {
		return fmt.Errorf("out-of-distribution rows: %w", err)
	}
	if err := alike(&audit, &away); err != nil {
		return err
	}
	given := e.Given
	switch {
	case o.Audit.Classes == 0: // it has seen no rows
	case e.Audit.Classes == 0:
		given = o.Given
	case e.Given != o.Given:
		return fmt.Errorf("%w: members' scores are %v and %v", metrics.ErrMismatch, e.Given, o.Given)
	}
	// The audits and specs agree, and so do accumulators that were made and fed by an evaluation: none of these fails.
	others := o.states()
	for i, s := range e.states() {
		if err := merge(s.stored, others[i].stored); err != nil {
			return err
		}
	}
	e.Audit, e.Out, e.Given = audit, away, given
	e.inform()
	e.memo, e.top, e.rank, e.Scaled = nil, nil, nil, nil
	return nil
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

// alike returns an error if rows and out-of-distribution rows, which scores put in one order, are not both with weights or without.
func alike(rows, out *metrics.Audit) error {
	switch {
	case rows.Classes == 0 || out.Classes == 0 || rows.Weighted == out.Weighted:
		return nil
	case rows.Weighted:
		return fmt.Errorf("%w: the rows have weights, the out-of-distribution rows have none", metrics.ErrMismatch)
	}
	return fmt.Errorf("%w: the out-of-distribution rows have weights, the others have none", metrics.ErrMismatch)
}

func (s *Spec) equal(o *Spec) error {
	names := func(l []Metric) string {
		n := make([]string, len(l))
		for i, m := range l {
			n[i] = m.String()
		}
		return strings.Join(n, ",")
	}
	switch {
	case s.Kind != o.Kind:
		return fmt.Errorf("%w: scores are %v and %v", metrics.ErrMismatch, s.Kind, o.Kind)
	case s.Classes != o.Classes:
		return fmt.Errorf("%w: %d %s and %d %[3]s", metrics.ErrMismatch, s.Classes, s.columns(), o.Classes)
	case s.Members != o.Members:
		return fmt.Errorf("%w: ensembles of %d and of %d members", metrics.ErrMismatch, s.Members, o.Members)
	case s.Out != o.Out:
		return fmt.Errorf("%w: one has out-of-distribution rows, the other has none", metrics.ErrMismatch)
	case s.Law != o.Law:
		return fmt.Errorf("%w: %v and %v distributions", metrics.ErrMismatch, s.Law, o.Law)
	case !slices.Equal(s.Levels, o.Levels):
		return fmt.Errorf("%w: quantiles at the levels %v and at %v", metrics.ErrMismatch, s.Levels, o.Levels)
	case s.Base != o.Base:
		return fmt.Errorf("%w: bins of (%s) and of (%s)", metrics.ErrMismatch, s.Base.Text(), o.Base.Text())
	case s.UM != o.UM:
		return fmt.Errorf("%w: one has the choices of uncertainty_metrics, the other has not", metrics.ErrMismatch)
	case s.Brier != o.Brier:
		return fmt.Errorf("%w: brier in the form %s and in the form %s", metrics.ErrMismatch, brierForms[s.Brier], brierForms[o.Brier])
	case s.Level != o.Level:
		return fmt.Errorf("%w: confidence levels %v and %v", metrics.ErrMismatch, s.Level, o.Level)
	case s.Decided != o.Decided:
		return fmt.Errorf("%w: one has decisions, the other has none", metrics.ErrMismatch)
	case s.Scored != o.Scored:
		return fmt.Errorf("%w: one has confidence scores, the other has none", metrics.ErrMismatch)
	case s.Seed != o.Seed:
		return fmt.Errorf("%w: seeds %d and %d", metrics.ErrMismatch, s.Seed, o.Seed)
	case s.Memory != o.Memory:
		return &MemoryError{s.Memory, o.Memory}
	case names(s.Metrics) != names(o.Metrics):
		return fmt.Errorf("%w: metrics %s and %s", metrics.ErrMismatch, names(s.Metrics), names(o.Metrics))
	}
	return nil
}

// MemoryError says that two evaluations, which keep entries of all classes, may keep unlike numbers of these: what one has left out the
// other may have. It is a metrics.ErrMismatch.
type MemoryError struct{ A, B int64 } // Spec.Memory

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%v: %d and %d bytes for the entries of adaptive metrics", metrics.ErrMismatch, e.A, e.B)
}

func (e *MemoryError) Unwrap() error { return metrics.ErrMismatch }

func (s *Spec) flags() (f uint8) {
	if s.Decided {
		f |= 1
	}
	if s.Scored {
		f |= 2
	}
	if s.Out {
		f |= 4
	}
	if s.UM {
		f |= 8
	}
	return f
}

const (
	stateMagic   = "cSTA"
	stateVersion = 7
)

// AppendBinary appends the state: equal specs and rows give equal bytes, however the rows were divided.
func (e *Evaluation) AppendBinary(dst []byte) ([]byte, error) {
	if err := e.noState(); err != nil {
		return dst, err
	}
	return e.framed().append(dst)
}

// WriteTo writes what AppendBinary appends, of which only a part is in memory at a time.
func (e *Evaluation) WriteTo(w io.Writer) (int64, error) {
	if err := e.noState(); err != nil {
		return 0, err
	}
	return e.framed().writeTo(w)
}

// noState says why there is no state.
func (e *Evaluation) noState() error {
	if names := e.KeepsRows(); names != "" {
		return fmt.Errorf("metrics %s keep every row and are in no state: leave exact out", names)
	}
	return nil
}

// framed returns the state in pieces: what it is of, and each accumulator.
func (e *Evaluation) framed() *framed {
	f := &framed{magic: stateMagic, version: stateVersion, pieces: []piece{e.appendHead}}
	for _, acc := range e.states() {
		f.pieces = append(f.pieces, sized(acc.AppendBinary))
	}
	return f
}

// appendHead appends the spec and the audits.
func (e *Evaluation) appendHead(dst []byte) ([]byte, error) {
	enc := exact.Enc{B: dst}
	s := &e.Spec
	enc.U32(uint32(s.Classes))
	enc.U8(uint8(s.Kind))
	enc.U32(uint32(s.Members))
	if s.Kind == metrics.Quantiles {
		for _, l := range s.Levels {
			enc.F64(l)
		}
	}
	if s.Kind == metrics.Normals {
		enc.Str(s.Law.String())
	}
	enc.F64(s.Level)
	enc.U8(uint8(s.Brier))
	enc.U8(s.flags())
	enc.U64(s.Seed)
	enc.I64(s.Memory)
	enc.U32(uint32(s.Base.Bins))
	enc.Str(s.Base.String())
	enc.U64(uint64(len(s.Metrics)))
	for _, m := range s.Metrics {
		enc.Str(m.String())
	}
	for _, audit := range []*metrics.Audit{&e.Audit, &e.Out} {
		a, err := audit.AppendBinary(nil)
		if err != nil {
			return dst, err
		}
		enc.Bytes(a)
	}
	enc.U8(uint8(e.Given))
	return enc.B, nil
}

// UnmarshalBinary replaces e by what AppendBinary wrote. It refuses damaged states and those of other versions, and
// takes no more memory than a few times the length of data.
func (e *Evaluation) UnmarshalBinary(data []byte) error {
	d, err := exact.OpenFields(stateMagic, stateVersion, data)
	if err != nil {
		return err
	}
	var s Spec
	s.Classes = int(d.U32())
	s.Kind = metrics.Kind(d.U8())
	s.Members = int(d.U32())
	if s.Kind == metrics.Quantiles {
		if s.Classes > len(data)/8 {
			return fmt.Errorf("%w: %d levels in %d bytes", exact.ErrDamaged, s.Classes, len(data))
		}
		for range s.Classes {
			s.Levels = append(s.Levels, d.F64())
		}
	}
	law := ""
	if s.Kind == metrics.Normals {
		law = d.Str()
	}
	s.Level = d.F64()
	s.Brier = score.BrierForm(d.U8())
	f := d.U8()
	s.Decided, s.Scored, s.Out, s.UM = f&1 != 0, f&2 != 0, f&4 != 0, f&8 != 0
	s.Seed = d.U64()
	s.Memory = d.I64()
	s.Base.Bins = int(d.U32())
	base := d.Str()
	names := make([]string, d.Count(8))
	for i := range names {
		names[i] = d.Str()
	}
	audit, away, given := d.Bytes(), d.Bytes(), d.U8()
	if err := d.Err(); err != nil {
		return err
	}
	if f > 15 {
		return fmt.Errorf("%w: there is no such flag", exact.ErrDamaged)
	}
	if !s.Kind.Valid() || s.Kind != simple(s.Kind) {
		return fmt.Errorf("%w: there is no such kind of scores", exact.ErrDamaged)
	}
	if law != "" {
		if s.Law, err = regress.ParseLaw(law); err != nil {
			return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
		}
	}
	if int(s.Brier) >= len(brierForms) {
		return fmt.Errorf("%w: there is no such Brier form", exact.ErrDamaged)
	}
	if base != "" {
		for _, a := range strings.Split(base, ",") {
			n, v, _ := strings.Cut(a, "=")
			if err := s.Base.Set(n, v); err != nil {
				return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
			}
		}
	}
	if len(names) > 0 {
		if s.Metrics, err = ParseMetrics(strings.Join(names, ","), s.Shape()); err != nil {
			return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
		}
	}
	p, err := s.plan()
	if err != nil {
		return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
	}
	if s.keepsRows() != "" {
		return fmt.Errorf("%w: metrics that keep every row are in no state", exact.ErrDamaged)
	}
	// Before any of it is made: each bin takes bytes, of the members too, which have those of the base.
	most, bins := int64(len(data)/leastCell), int64(0)
	for _, o := range p.bins {
		bins += int64(o.Bins)
	}
	if members := int64(s.Members); members > most || bins+members*(1+int64(s.Base.Bins)) > most {
		return fmt.Errorf("%w: %d members and %d bins in %d bytes", exact.ErrDamaged, members, bins, len(data))
	}
	n, err := New(s)
	if err != nil {
		return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
	}
	if err := n.Audit.UnmarshalBinary(audit); err != nil {
		return err
	}
	if err := n.Out.UnmarshalBinary(away); err != nil {
		return err
	}
	if n.Given = metrics.Kind(given); n.Given > metrics.LogProbs || n.Given != 0 && (s.Members == 0 || n.Audit.Classes == 0) || n.Out.Classes != 0 && !s.Out {
		return fmt.Errorf("%w: members or out-of-distribution rows of which the evaluation has none", exact.ErrDamaged)
	}
	if n.Audit.Classes != 0 && (n.Audit.Classes != s.Classes || simple(n.Audit.Kind) != s.Kind) {
		return fmt.Errorf("%w: %d classes, and rows of %d", exact.ErrDamaged, s.Classes, n.Audit.Classes)
	}
	if err := alike(&n.Audit, &n.Out); err != nil {
		return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
	}
	if n.Audit.Decided && !s.Decided || n.Audit.Scored && !s.Scored {
		return fmt.Errorf("%w: rows with decisions or scores of which the evaluation has none", exact.ErrDamaged)
	}
	// What was read is merged into what the spec asks for, which refuses accumulators of other options.
	for _, a := range n.states() {
		if err := a.read(d.Bytes()); err != nil {
			return err
		}
		// Some rules of bins leave rows out.
		if _, some := a.stored.(*calib.Bins); a.Len() > a.rows || a.Len() < a.rows && !some {
			return fmt.Errorf("%w: it has %d rows and %d", exact.ErrDamaged, a.Len(), a.rows)
		}
	}
	n.inform()
	if err := d.Done(); err != nil {
		return err
	}
	// A state has one spelling. Another one that means the same would have another checksum.
	if same, err := n.framed().is(data); err != nil {
		return err
	} else if !same {
		return fmt.Errorf("%w: its fields are not spelled as they are written", exact.ErrDamaged)
	}
	*e = *n
	return nil
}

// leastCell is less than the bytes of a bin in a state: a count and six sums.
const leastCell = 128

// SHA256 returns the checksum of the state, in hexadecimal: equal for equal specs and rows. It is "" where there is none, see KeepsRows.
func (e *Evaluation) SHA256() string {
	if e.KeepsRows() != "" {
		return ""
	}
	h, err := e.framed().sha256()
	if err != nil {
		panic(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}
