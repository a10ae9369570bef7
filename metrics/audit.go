package metrics

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/internal/setting"
)

// Audit describes the input of a Pass: the number and shape of its rows, and how well they keep to what was declared about
// them. Audits merge as accumulators do.
type Audit struct {
	Rows    int64 // rows given to the accumulators
	Dropped int64 // bad rows left out
	Absent  int64 // rows of weight 0
	Ignored int64 // rows whose label is Ignored; they count in none of the others

	Classes  int // 1 for a binary task; 0 before the first row
	DType    DType
	Kind     Kind
	Weighted bool
	Decided  bool // the caller supplied decisions
	Scored   bool // the caller supplied confidence scores

	Renormalized bool
	Unchecked    bool

	// SumsOff counts the rows of probabilities whose sum differs from 1 by more than rounding explains: more than 1e-6 in
	// float64, or in a narrower type more than 4 units in the last place times the number of classes. SumMin and SumMax are
	// the smallest and largest sum among these rows; NaN if unknown, see Subtract.
	SumsOff        int64
	SumMin, SumMax float64
}

// Merge adds what another Audit has seen. If the two cannot be merged, the error wraps ErrMismatch and names the first
// difference.
func (a *Audit) Merge(o *Audit) error {
	if o.Classes == 0 {
		return nil
	}
	if a.Classes == 0 {
		*a = *o
		return nil
	}
	switch {
	case a.Classes != o.Classes:
		return fmt.Errorf("%w: %d classes and %d classes", ErrMismatch, a.Classes, o.Classes)
	case a.DType != o.DType:
		return fmt.Errorf("%w: scores of type %v and of type %v", ErrMismatch, a.DType, o.DType)
	case a.Kind != o.Kind:
		return fmt.Errorf("%w: scores are %v and %v", ErrMismatch, a.Kind, o.Kind)
	case a.Weighted != o.Weighted:
		return fmt.Errorf("%w: one has weights, the other has none", ErrMismatch)
	case a.Decided != o.Decided:
		return fmt.Errorf("%w: one has decisions, the other has none", ErrMismatch)
	case a.Scored != o.Scored:
		return fmt.Errorf("%w: one has confidence scores, the other has none", ErrMismatch)
	case a.Renormalized != o.Renormalized:
		return fmt.Errorf("%w: one was renormalised, the other was not", ErrMismatch)
	case a.Unchecked != o.Unchecked:
		return fmt.Errorf("%w: one was checked, the other was not", ErrMismatch)
	}
	a.Rows += o.Rows
	a.Dropped += o.Dropped
	a.Absent += o.Absent
	a.Ignored += o.Ignored
	a.merges(o.SumsOff, o.SumMin, o.SumMax)
	return nil
}

func (a *Audit) merges(n int64, lo, hi float64) {
	if n == 0 {
		return
	}
	if a.SumsOff == 0 {
		a.SumMin, a.SumMax = lo, hi
	}
	a.SumsOff += n
	a.SumMin, a.SumMax = math.Min(a.SumMin, lo), math.Max(a.SumMax, hi)
}

// Subtract takes out what another Audit has seen: a Merge of it restores a, except for the extremes of sums. If some of the rows whose sums
// are off are taken out and some stay, SumMin and SumMax are NaN, which stands for unknown. The error is that of a Merge, or wraps
// ErrMissing; a is unchanged then.
func (a *Audit) Subtract(o *Audit) error {
	if o.Classes == 0 {
		return nil
	}
	if a.Classes == 0 {
		return ErrMissing
	}
	n := *a
	if err := n.Merge(o); err != nil {
		return err
	}
	n = *a
	for _, c := range [...]struct{ n, taken *int64 }{{&n.Rows, &o.Rows}, {&n.Dropped, &o.Dropped}, {&n.Absent, &o.Absent}, {&n.Ignored, &o.Ignored}, {&n.SumsOff, &o.SumsOff}} {
		if *c.n < *c.taken {
			return ErrMissing
		}
		*c.n -= *c.taken
	}
	switch {
	case n.SumsOff == 0:
		n.SumMin, n.SumMax = 0, 0
	case o.SumsOff > 0:
		n.SumMin, n.SumMax = math.NaN(), math.NaN()
	}
	if n.Rows+n.Dropped+n.Absent+n.Ignored == 0 {
		n = Audit{}
	}
	*a = n
	return nil
}

// Warnings returns, in plain words, what a reader of the results should know about the rows.
func (a *Audit) Warnings() []string {
	var w []string
	if a.SumsOff > 0 {
		s := fmt.Sprintf("%s rows have probabilities whose sums are not 1: off by %+.2g to %+.2g", group(a.SumsOff), a.SumMin-1, a.SumMax-1)
		if a.SumMin == a.SumMax {
			s = fmt.Sprintf("%s rows have probabilities whose sums are not 1: off by %+.2g", group(a.SumsOff), a.SumMin-1)
		}
		if math.IsNaN(a.SumMin) {
			s = fmt.Sprintf("%s rows have probabilities whose sums are not 1: it is not known how far off, since others have been taken out", group(a.SumsOff))
		} else if a.SumsOff == 1 {
			s = fmt.Sprintf("1 row has probabilities whose sum is not 1: off by %+.2g", a.SumMin-1)
		}
		if a.Renormalized || a.Kind.logs() {
			s += "; each was divided by its sum"
		} else {
			s += fmt.Sprintf("; they are taken as they are (%v divides each row by its sum)", setting.Renormalize)
		}
		w = append(w, s)
	}
	if a.Dropped > 0 {
		w = append(w, counted(a.Dropped, "bad row was", "bad rows were")+" left out")
	}
	if a.Absent > 0 {
		w = append(w, counted(a.Absent, "row of weight 0 is", "rows of weight 0 are")+" absent")
	}
	if a.Decided {
		w = append(w, "accuracy, confidence and the top label are of the caller's decisions, not of the most probable classes")
	}
	if a.Scored {
		w = append(w, "rows are binned by the caller's scores, not by the probabilities whose means the bins have")
	}
	return w
}

// counted formats a count with its noun, singular or plural.
func counted(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return group(n) + " " + more
}

var auditFormat = exact.Format{Name: "audit", Magic: "cAUD", Version: 1}

// fields lists the fields of the state.
func (a *Audit) fields(f *exact.Fields) {
	f.N(&a.Rows)
	f.N(&a.Dropped)
	f.N(&a.Absent)
	f.Int(&a.Classes)
	exact.Byte(f, &a.DType)
	exact.Byte(f, &a.Kind)
	some := a.Ignored > 0
	f.Flags(&a.Weighted, &a.Renormalized, &a.Unchecked, &a.Decided, &a.Scored, &some)
	if some {
		f.N(&a.Ignored)
		f.Must(a.Ignored > 0, exact.OutOfRange)
	}
	f.N(&a.SumsOff)
	f.F64(&a.SumMin)
	f.F64(&a.SumMax)
	f.Must(a.DType <= BFloat16 && a.Kind.Valid(), exact.OutOfRange)
}

// AppendBinary appends the audit's state.
func (a *Audit) AppendBinary(dst []byte) ([]byte, error) { return auditFormat.Append(dst, a.fields) }

// UnmarshalBinary replaces the audit with one that AppendBinary wrote.
func (a *Audit) UnmarshalBinary(data []byte) error {
	return exact.Replace(auditFormat, data, a, (*Audit).fields)
}
