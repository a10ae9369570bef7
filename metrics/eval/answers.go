package eval

import (
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// part is a partition, with the most by which its ECE can differ from that of the rows themselves.
type part struct {
	*calib.Partition
	bound float64
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

// ranking returns the ranking of the rows by confidence, or by the caller's confidence scores.
func (e *Evaluation) ranking() *rank.Ranking {
	if e.rank == nil {
		if e.Spec.Scored {
			e.rank = statisticOf[*rank.Retention](e, rows, retentionOf(rank.ZeroOne, true).key).Ranking()
		} else {
			e.rank = rank.RankingOf(e.rising(calib.TopLabel))
		}
	}
	return e.rank
}

// binning returns the options of a metric over bins, which have been checked.
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
	return e.classBin[slices.IndexFunc(e.plan.classes, func(q calib.ClassOptions) bool { return q.String() == o.String() })]
}

func (e *Evaluation) classScores(m Metric) *calib.ClassScores {
	return e.classEntries[e.plan.scoresOf(e.byClass(m))]
}

// partition returns the bins of a metric over bins, and the most by which its ECE can differ from that of the rows
// themselves.
func (e *Evaluation) partition(m Metric) (*calib.Partition, float64) {
	p := e.parted(e.binning(m))
	return p.Partition, p.bound
}

func (e *Evaluation) parted(b *binning) part {
	if !e.Spec.fromCells(b) {
		return part{Partition: &e.bins[slices.Index(e.plan.bins, b.Options)].Partition}
	}
	k := *b
	k.norm = l1 // bins are the same for every norm
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

// remember returns the stored answer for asked, or computes and stores it. Adding rows clears the store. Each kind of
// question has its own type.
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

// AtLevel returns an evaluation of the same rows whose intervals are at another confidence level. It shares the state of e: neither
// may be given rows while the other is used. Results after temperature scaling keep their level. It panics unless 0 < level < 1.
func (e *Evaluation) AtLevel(level float64) *Evaluation {
	if !(level > 0 && level < 1) {
		panic("eval: a confidence level lies between 0 and 1")
	}
	o := *e
	o.Spec.Level, o.memo = level, nil
	o.each = make([]*Evaluation, len(e.each))
	for i, m := range e.each {
		o.each[i] = m.AtLevel(level)
	}
	return &o
}

// Value returns the value of a metric of the spec. An undefined value is NaN and has a reason. Its interval lies
// within the metric's range.
func (e *Evaluation) Value(m Metric) Value {
	d := e.Spec.describe(m)
	why := e.Spec.classless(m)
	if why == "" {
		why = e.unscored(m)
	}
	if why != "" {
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
	if e.Spec.Cluster != "" && e.Audit.Rows > 0 && !isAfterScaling(m) { // which is answered by clusters already
		e.byCluster(m, &v)
	}
	if math.IsNaN(v.Value) {
		v.Bound = 0 // the value is exact
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
	return e.Spec.Bounded(m, v)
}

// unscored returns the reason why a metric has no value when rows have the caller's confidence scores, or "" if it has one.
func (e *Evaluation) unscored(m Metric) string {
	d := e.Spec.describe(m)
	switch {
	case !e.Spec.Scored:
	case d.ranked:
		if d.own.index("bins") >= 0 && d.own.of(m, "bins") != 0 {
			return "its bins are of confidences from 0 to 1, and the order is that of the caller's confidence scores: leave bins= out"
		}
	case e.Spec.ofPositive(m) && d.own.index(gridOwn.name) < 0, d.event != nil && (d.uncut || e.binning(m).adaptive):
		return "it judges the probabilities themselves, not the caller's confidence scores: evaluate without " + setting.ConfidenceScores.String()
	}
	return ""
}

// outside returns the number of scores outside [0,1], from unchecked predictions, that a metric over cells or stored entries
// would have to leave out.
func (e *Evaluation) outside(m Metric) int64 {
	d := e.Spec.describe(m)
	if d.classes != nil && e.byClass(m).adaptive {
		return e.classScores(m).Out()
	}
	if d.ofTwo && e.Spec.Classes > 2 && d.own.index(average.name) >= 0 {
		switch int(d.own.of(m, average.name)) {
		case micro:
			return statisticOf[*rank.Entries](e, rows, allEntries.key).Outside()
		case oneVsOne, oneVsOneWeighted:
			return e.pairs.Outside()
		}
	}
	if d.retained {
		return statisticOf[*rank.Retention](e, rows, d.keeps(&e.Spec, m)[0].key).Outside()
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

const noRows = "no rows" // as in calib

// Diagram holds the bins of a reliability diagram.
type Diagram struct {
	*calib.Partition
	Event calib.Event // event whose probability is binned
	Text  string      // the whole definition
}

// Diagram returns the bins of ece.
func (e *Evaluation) Diagram() Diagram { return e.diagram(&e.plan.diagram) }

func (e *Evaluation) diagram(b *binning) Diagram {
	return Diagram{e.parted(b).Partition, b.Event, e.text(b)}
}

// DiagramOf returns the bins of another event, if a metric uses them.
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

// Classes returns the bins of each class for metric sce without options, or nil if the spec has no such metric.
func (e *Evaluation) Classes() *calib.ClassBins {
	o := e.byClass(Metric{Name: "sce"}).evenOptions()
	if i := slices.IndexFunc(e.plan.classes, func(q calib.ClassOptions) bool { return q.String() == o.String() }); i >= 0 {
		return e.classBin[i]
	}
	return nil
}

// statisticOf returns the accumulator of a statistic in the plan, converted to its type.
func statisticOf[T any](e *Evaluation, from fed, key string) T {
	i := slices.IndexFunc(e.plan.statistics, func(k statistic) bool { return k.key == key && k.fed == from })
	return e.statistics[i].(T)
}
