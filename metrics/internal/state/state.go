// Package state holds what accumulators share when they are merged: the type of the other one, and what the rows of both are like.
package state

import (
	"fmt"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
)

// Same returns an accumulator as a T, or an error that names both types.
func Same[T any](format exact.Format, a any) (T, error) {
	o, ok := a.(T)
	if !ok {
		return o, fmt.Errorf("%w: %s and %T", metrics.ErrMismatch, format.Name, a)
	}
	return o, nil
}

// Mismatch returns the error of a merge: how two accumulators of a type differ.
func Mismatch(format exact.Format, how string, args ...any) error {
	return fmt.Errorf("%w: %s "+how, append([]any{metrics.ErrMismatch, format.Name}, args...)...)
}

// Rows says what the rows of a state are like. The zero value says that there has been none.
type Rows struct {
	Classes  int // or samples of a row; 0 before the first
	Weighted bool
	Decided  bool // right and wrong are of the caller's decisions; false where an accumulator does not set it
}

// Begin sets what a block's rows are like.
func (r *Rows) Begin(b *metrics.Block) { r.Classes, r.Weighted = b.Classes, b.Weights != nil }

// Merge sets r to what rows of both are like. It is an error if they differ; unit says what Classes counts, such as "classes".
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

// Fields lists Classes and Weighted. Without rows there are no weights.
func (r *Rows) Fields(f *exact.Fields) {
	f.Int(&r.Classes)
	f.Flags(&r.Weighted)
	f.Must(r.Classes > 0 || !r.Weighted, exact.OutOfRange)
}
