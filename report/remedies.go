package report

import (
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
)

// Remedies tell what recalibration would change, as far as the scores that a state keeps show it. Package remedy finds them.
type Remedies struct {
	Event   calib.Event // whose score is mapped
	Certain int64       // rows whose score is 0 or 1, which no curve moves
	Before  RemedyScores
	List    []Remedy
	Command string // what fits Chosen; "" if it is not known
}

// RemedyScores are what remedies are judged by.
type RemedyScores struct {
	NLL   float64 // of all classes
	Brier float64 // binary: the Brier score; else mean (p - right)^2 of the top label's p
	ECE   float64
}

// Remedy is a method of recalibration that was fitted to the scores.
type Remedy struct {
	Method     string // as package recal spells it
	Parameters []eval.Field
	// After judges each row by the curve of the other rows. It is NaN where that is not known, as with weights.
	After RemedyScores
	// Fitted judges the rows by the curve that was fitted to them, which flatters it.
	Fitted RemedyScores
	// NLL is After.NLL - Before.NLL, with an interval for independent rows; Fitted.NLL - Before.NLL, without one, if After is not known.
	NLL    eval.Value
	Reason string // why there is no curve; "" if there is one
}

// Helps reports whether the remedy lowers the NLL of rows that it was not fitted to, beyond chance.
func (r *Remedy) Helps() bool { return r.Reason == "" && r.NLL.Interval.High < 0 }

// Best returns the remedy that lowers the NLL most, among those that do so beyond chance; nil if none does.
func (r *Remedies) Best() (best *Remedy) {
	for i := range r.List {
		if m := &r.List[i]; m.Helps() && (best == nil || m.After.NLL < best.After.NLL) {
			best = m
		}
	}
	return best
}

// Chosen returns the method to try: the best one, or the first that has a curve, or "".
func (r *Remedies) Chosen() string {
	if b := r.Best(); b != nil {
		return b.Method
	}
	for i := range r.List {
		if r.List[i].Reason == "" {
			return r.List[i].Method
		}
	}
	return ""
}

func (s *RemedyScores) object() object {
	return object{{"nll", number(s.NLL)}, {"brier", number(s.Brier)}, {"ece", number(s.ECE)}}
}

func (r *Remedies) object() object {
	list := make([]object, len(r.List))
	for i := range r.List {
		m := &r.List[i]
		list[i] = object{{"method", m.Method}}
		if m.Reason != "" {
			list[i] = append(list[i], field{"reason", m.Reason})
			continue
		}
		p := object{}
		for _, f := range m.Parameters {
			p = append(p, field{f.Name, number(f.Value.(float64))})
		}
		list[i] = append(list[i], field{"parameters", p}, field{"after", m.After.object()}, field{"fitted", m.Fitted.object()}, field{"nll_change", valueObject(m.NLL.Value, m.NLL.Interval)})
	}
	return object{{"event", eventName(r.Event)}, {"certain", r.Certain}, {"before", r.Before.object()}, {"methods", list}}
}
