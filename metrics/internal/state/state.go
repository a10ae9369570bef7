// Package state holds what accumulators share when they are merged: the type of the other one, and what the rows of both are like.
package state

import (
	"fmt"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
)

// Same returns an accumulator as a T. If it is of another type the error names both.
func Same[T any](format exact.Format, a any) (T, error) {
	o, ok := a.(T)
	if !ok {
		return o, fmt.Errorf("%w: %s and %T", metrics.ErrMismatch, format.Name, a)
	}
	return o, nil
}

// Mismatch returns the error for merging two accumulators of a type that differ.
func Mismatch(format exact.Format, how string, args ...any) error {
	return fmt.Errorf("%w: %s "+how, append([]any{metrics.ErrMismatch, format.Name}, args...)...)
}

// Rows describes the rows of a state. The zero value stands for no rows.
type Rows struct {
	Classes  int // or samples per row; 0 before the first row
	Weighted bool
	Decided  bool // right and wrong refer to the caller's decisions; false if the accumulator does not set it
}

// Begin sets r from a block.
func (r *Rows) Begin(b *metrics.Block) { r.Classes, r.Weighted = b.Classes, b.Weights != nil }

// Merge sets r to the description of both sets of rows, or returns an error if they differ. unit says what Classes counts,
// such as "classes".
func (r *Rows) Merge(o Rows, format exact.Format, unit string) error {
	switch {
	case o.Classes == 0 || *r == o:
		return nil
	case r.Classes == 0:
		*r = o
		return nil
	case r.Classes != o.Classes:
		return Mismatch(format, "of %d %s and of %d", r.Classes, unit, o.Classes)
	case r.Weighted != o.Weighted:
		return Mismatch(format, "with and without weights")
	}
	return Mismatch(format, "of decisions and of arg maxes")
}

// Fields lists Classes and Weighted. Without rows Weighted must be false.
func (r *Rows) Fields(f *exact.Fields) {
	f.Int(&r.Classes)
	f.Flags(&r.Weighted)
	f.Must(r.Classes > 0 || !r.Weighted, exact.OutOfRange)
}

// Missing returns the error for rows that are to be taken out of a state and are not in it.
func Missing(format exact.Format) error {
	return fmt.Errorf("%w: %s", metrics.ErrMissing, format.Name)
}
