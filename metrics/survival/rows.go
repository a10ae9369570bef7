package survival

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/metrics"
)

// Rows are predictions of a time until an event. A row whose event was not seen is censored: its time is when it was last seen without the
// event, and the event came later or never.
type Rows struct {
	// Risks are the predictions, one for each row: for most functions the probability that the event happens by a horizon, in [0,1]. For
	// those that only rank rows, any finite number that is larger where the event is expected sooner.
	Risks  []float64
	Times  []float64 // above 0 and finite
	Events []bool    // whether the event happened at Times; false for a censored row
	// Weights, if set, are how often each row counts, above 0.
	Weights []float64
	// Clusters, if set, are the numbers of each row's cluster, from 0: rows of a cluster may depend on each other, as those of a patient. Standard
	// errors are then by sums over clusters. CensoredOf and DCalibrationOf take rows as independent.
	Clusters []int32
}

var errNone = errors.New("survival: no rows")

// Validate returns an error that names the first row that cannot be used, or nil. With probabilities, Risks must be in [0,1].
func (r *Rows) Validate(probabilities bool) error {
	n := len(r.Times)
	switch {
	case n == 0:
		return errNone
	case len(r.Risks) != n, len(r.Events) != n, r.Weights != nil && len(r.Weights) != n:
		return fmt.Errorf("%w: %d risks, %d times, %d events and %d weights", metrics.ErrMismatch, len(r.Risks), n, len(r.Events), len(r.Weights))
	case r.Clusters != nil && len(r.Clusters) != n:
		return fmt.Errorf("%w: %d clusters of %d rows", metrics.ErrMismatch, len(r.Clusters), n)
	}
	for i, c := range r.Clusters {
		if c < 0 {
			return fmt.Errorf("survival: row %d: its cluster is %d; clusters are numbered from 0", i, c)
		}
	}
	for i, t := range r.Times {
		switch p := r.Risks[i]; {
		case !(t > 0 && t <= math.MaxFloat64):
			return fmt.Errorf("survival: row %d: its time is %v; times are above 0, so leave out rows that were not seen at all", i, t)
		case probabilities && !(p >= 0 && p <= 1):
			return fmt.Errorf("survival: row %d: the probability of the event is %v, outside [0,1]", i, p)
		case !(math.Abs(p) <= math.MaxFloat64):
			return fmt.Errorf("survival: row %d: its risk is %v; risks are finite", i, p)
		case r.Weights != nil && !(r.Weights[i] > 0 && r.Weights[i] <= math.MaxFloat64):
			return fmt.Errorf("survival: row %d: its weight is %v; weights are above 0", i, r.Weights[i])
		}
	}
	return nil
}

func (r *Rows) weight(i int) float64 {
	if r.Weights == nil {
		return 1
	}
	return r.Weights[i]
}

// pick returns some of the rows.
func (r *Rows) pick(rows []int32) *Rows {
	p := &Rows{}
	for _, i := range rows {
		p.Risks, p.Times, p.Events = append(p.Risks, r.Risks[i]), append(p.Times, r.Times[i]), append(p.Events, r.Events[i])
		if r.Weights != nil {
			p.Weights = append(p.Weights, r.Weights[i])
		}
		if r.Clusters != nil {
			p.Clusters = append(p.Clusters, r.Clusters[i])
		}
	}
	return p
}

// byTime returns the numbers of the rows by rising time. Events come before censored rows of the same time; beyond that the order goes by the
// numbers in the rows, so that it depends on the set of rows alone.
func (r *Rows) byTime() []int32 {
	order := make([]int32, len(r.Times))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		switch {
		case r.Times[a] != r.Times[b]:
			return sign(r.Times[a] < r.Times[b])
		case r.Events[a] != r.Events[b]:
			return sign(r.Events[a])
		case r.Risks[a] != r.Risks[b]:
			return sign(r.Risks[a] < r.Risks[b])
		case r.weight(int(a)) != r.weight(int(b)):
			return sign(r.weight(int(a)) < r.weight(int(b)))
		}
		return 0
	})
	return order
}

func sign(first bool) int {
	if first {
		return -1
	}
	return 1
}
