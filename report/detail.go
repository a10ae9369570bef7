package report

import (
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
)

// MostPoints is the largest number of points of the risk-coverage curve in a document.
const MostPoints = 200

// Detail is what a document of a single evaluation of classes has besides its metrics, for pages and pictures. All of it comes from the state.
type Detail struct {
	EqualMass     []calib.Bin // rows in groups of equal mass; nil if scores are not kept
	EqualMassText string
	Selection     *eval.Selection  // errors among the rows that are kept; nil if no metric uses their order
	Classes       *eval.ClassTable // nil unless sce is evaluated
	ClassesText   string
	Certain       *Certain // nil if not known
	Rarest        *Rarest  // nil if no metric counts classes
	Sums          *Sums    // of rows of probabilities; nil for others
	Absent        int64    // rows of weight 0, which count nowhere
	Renormalized  bool
}

// Certain counts the rows whose top label has probability 1.
type Certain struct{ Rows, Wrong int64 }

// Rarest is the class of the least share above 0.
type Rarest struct {
	Class   int
	Share   float64
	Missing int // classes without rows
}

// Sums describes the sums of rows of probabilities that differ from 1.
type Sums struct {
	Off      int64
	Min, Max float64 // of these; NaN if there are none
}

// detail returns the detail of an evaluation of classes.
func detail(e *eval.Evaluation) *Detail {
	d := &Detail{Absent: e.Audit.Absent, Renormalized: e.Audit.Renormalized}
	if m, ok := e.EqualMass(); ok {
		d.EqualMassText = m.Text
		for _, b := range m.Bins(e.Spec.Level) {
			if b.Count == 0 { // where equal scores fill several groups
				continue
			}
			if e.Spec.Cluster != "" {
				b.Interval = metrics.NoInterval() // it would be that of independent rows
			}
			d.EqualMass = append(d.EqualMass, b)
		}
	}
	d.Selection = e.Selection(MostPoints)
	if t := e.ClassTable(); t != nil {
		d.Classes = t
		d.ClassesText = "every class against the rest: its mean probability and its share of the rows; z = (occurs - given) N / sqrt(sum p(1-p)), p-values of the normal law, adjusted by Holm's method"
	}
	if rows, wrong, ok := e.Certain(); ok {
		d.Certain = &Certain{rows, wrong}
	}
	if r := e.Rates(); r != nil && r.Len() > 0 {
		x := &Rarest{Missing: max(2, e.Spec.Classes) - r.Present()}
		x.Class, x.Share = r.Rarest()
		d.Rarest = x
	}
	if e.Audit.Kind == metrics.Probs && e.Spec.Classes > 1 && e.Spec.Members == 0 {
		d.Sums = &Sums{e.Audit.SumsOff, e.Audit.SumMin, e.Audit.SumMax}
		if d.Sums.Off == 0 {
			d.Sums.Min, d.Sums.Max = math.NaN(), math.NaN()
		}
	}
	return d
}

// binObject returns a bin as JSON has it.
func (d *Document) binObject(b *calib.Bin) object {
	o := object{{"lower", number(b.Lower)}, {"upper", number(b.Upper)}, {"count", b.Count}}
	if d.weighted {
		o = append(o, field{"weight", number(b.Weight)})
	}
	band := b.Band
	if d.Clusters != nil {
		band = metrics.NoInterval() // it would be that of independent rows
	}
	return append(o, field{"confidence", number(b.Confidence)}, field{"frequency", number(b.Frequency)},
		field{"low", number(b.Interval.Low)}, field{"high", number(b.Interval.High)}, field{"band_low", number(band.Low)}, field{"band_high", number(band.High)})
}

func (d *Document) binObjects(l []calib.Bin) []object {
	out := make([]object, len(l))
	for i := range l {
		out[i] = d.binObject(&l[i])
	}
	return out
}

// valueObject returns a value with its interval.
func valueObject(v float64, i metrics.Interval) object {
	return object{{"value", number(v)}, {"low", number(i.Low)}, {"high", number(i.High)}}
}

// judgement returns what the verdict is made of.
func (d *Document) judgement() object {
	j := d.judged
	o := object{{"event", eventName(j.Event)}, {"says", valueObject(j.Says.Value, j.Says.Interval)}, {"happens", valueObject(j.Happens.Value, j.Happens.Interval)},
		{"gap", valueObject(j.Gap.Value, j.Gap.Interval)}, {"level", number(d.level)}, {"p", number(j.P)},
		{"side", [...]string{"too_low", "none", "too_high"}[1+j.Side]}, {"detectable", number(d.detectable)}}
	off := make([]object, len(j.Off))
	for i, r := range j.Off {
		off[i] = object{{"lower", number(r.Lower)}, {"upper", number(r.Upper)}, {"rows", r.Rows}, {"gap", number(r.Gap)}}
	}
	return append(o, field{"off", off})
}

func eventName(e calib.Event) string {
	if e == calib.Positive {
		return "positive"
	}
	return "top_label"
}

// objects returns the detail's fields of a document. Classes are those at the given places.
func (d *Document) detailFields(classes []*eval.ClassRow) (o object) {
	x := d.Detail
	if x.EqualMass != nil {
		o = append(o, field{"equal_mass", object{{"text", x.EqualMassText}, {"bins", d.binObjects(x.EqualMass)}}})
	}
	if s := x.Selection; s != nil {
		points := make([]object, len(s.Points))
		for i, p := range s.Points {
			points[i] = object{{"coverage", number(p.X)}, {"risk", number(p.Y)}, {"threshold", number(p.Threshold)}}
		}
		kept := make([]object, len(s.Cuts))
		for i, c := range s.Cuts {
			kept[i] = object{{"share", number(eval.KeptShares[i])}, {"coverage", number(c.Share)}, {"threshold", number(c.Threshold)}, {"rows", number(c.Rows)},
				{"errors", number(c.Without)}, {"risk", number(c.Without / c.Rows)}, {"low", number(s.Errors[i].Low)}, {"high", number(s.Errors[i].High)}}
		}
		o = append(o, field{"risk_coverage", object{{"exact", s.Exact}, {"points", points}, {"kept", kept}}})
	}
	if t := x.Classes; t != nil {
		list := make([]object, len(classes))
		for i, c := range classes {
			list[i] = d.classObject(c)
		}
		one := object{{"text", x.ClassesText}, {"level", number(t.Level)}, {"number", len(t.Classes)}, {"tested", t.Tested}, {"off", t.Off}}
		if t.Reason != "" {
			one = append(one, field{"reason", t.Reason})
		}
		o = append(o, field{"classes", append(one, field{"list", list})})
	}
	audit := object{{"weight_0", x.Absent}, {"renormalized", x.Renormalized}}
	if s := x.Sums; s != nil {
		audit = append(audit, field{"sums_off", s.Off}, field{"sum_min", number(s.Min)}, field{"sum_max", number(s.Max)})
	}
	if r := x.Rarest; r != nil {
		audit = append(audit, field{"rarest_class", r.Class}, field{"rarest_share", number(r.Share)}, field{"classes_without_rows", r.Missing})
	}
	if c := x.Certain; c != nil {
		audit = append(audit, field{"certain", c.Rows}, field{"certain_wrong", c.Wrong})
	}
	return append(o, field{"audit", audit})
}

func (d *Document) classObject(c *eval.ClassRow) object {
	o := object{{"class", c.Class}, {"rows", number(c.Rows)}, {"given", number(c.All.Confidence)}, {"occurs", number(c.All.Frequency)},
		{"low", number(c.All.Interval.Low)}, {"high", number(c.All.Interval.High)}, {"band_low", number(c.All.Band.Low)}, {"band_high", number(c.All.Band.High)},
		{"z", number(c.Z)}, {"p", number(c.P)}, {"p_adjusted", number(c.Adjusted)}, {"chosen", c.Chosen.Count}}
	if d.weighted {
		o = append(o, field{"chosen_weight", number(c.Chosen.Weight)})
	}
	o = append(o, field{"says", number(c.Chosen.Confidence)}, field{"right", number(c.Chosen.Frequency)},
		field{"right_low", number(c.Chosen.Interval.Low)}, field{"right_high", number(c.Chosen.Interval.High)})
	if d.most > 0 {
		return o
	}
	return append(o, field{"bins", d.binObjects(c.Bins(d.level))})
}
