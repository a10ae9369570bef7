package conformal

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
)

// Share counts rows, and those whose set or interval holds the truth.
type Share struct{ Rows, Covered int64 }

// Value returns the covered share, NaN if there are no rows.
func (s Share) Value() float64 { return float64(s.Covered) / float64(s.Rows) }

// Add counts a row.
func (s *Share) Add(covered bool) {
	s.Rows++
	if covered {
		s.Covered++
	}
}

// Merge adds the rows of another share.
func (s *Share) Merge(o Share) { s.Rows, s.Covered = s.Rows+o.Rows, s.Covered+o.Covered }

// SetTally counts sets of classes.
type SetTally struct {
	BySize  []Share // of rows with sets of 0, 1, ... K classes
	ByClass []Share // of rows of each class
}

// NewSetTally returns a tally of no sets of this many classes.
func NewSetTally(classes int) *SetTally {
	return &SetTally{make([]Share, classes+1), make([]Share, classes)}
}

// Add counts a row's set. It panics unless set has an element for each class, and label is one.
func (t *SetTally) Add(set []bool, label int) {
	if len(set) != len(t.ByClass) {
		panic("conformal: a set has an element for each class")
	}
	size := 0
	for _, in := range set {
		if in {
			size++
		}
	}
	t.BySize[size].Add(set[label])
	t.ByClass[label].Add(set[label])
}

// Merge adds the rows of another tally of as many classes.
func (t *SetTally) Merge(o *SetTally) {
	for i := range o.BySize {
		t.BySize[i].Merge(o.BySize[i])
	}
	for i := range o.ByClass {
		t.ByClass[i].Merge(o.ByClass[i])
	}
}

// All returns the rows of all sizes.
func (t *SetTally) All() (s Share) {
	for _, o := range t.BySize {
		s.Merge(o)
	}
	return s
}

// MeanSize returns the mean number of classes in a set, NaN without rows.
func (t *SetTally) MeanSize() float64 {
	n := 0.0
	for size, s := range t.BySize {
		n += float64(float64(size) * float64(s.Rows))
	}
	return n / float64(t.All().Rows)
}

// Worst returns the index of the share that is least among those with rows, the first of equals; -1 if there are no rows. Of BySize its
// Value is the size-stratified coverage (SSC) of Angelopoulos et al. 2021, without a minimum of rows.
func Worst(l []Share) int {
	at := -1
	for i, s := range l {
		if s.Rows > 0 && (at < 0 || s.Value() < l[at].Value()) {
			at = i
		}
	}
	return at
}

// IntervalTally counts intervals of numbers. Sums are exact, so they do not depend on the order of rows. It keeps eight bytes for each row.
type IntervalTally struct {
	All            Share
	Below, Above   int64 // rows whose number is below, or above, the interval
	Unbounded      int64 // rows with an infinite end
	width, outside exact.Super
	kept           []float64 // width, with the sign bit set where the number is not covered
}

// Add counts the interval from low to high, and the observed number. An interval with low above high is an error, as is NaN.
func (t *IntervalTally) Add(low, high, observed float64) error {
	switch {
	case low != low || high != high || observed-observed != 0:
		return fmt.Errorf("the interval [%v, %v] and the number %v are not numbers", low, high, observed)
	case low > high:
		return fmt.Errorf("the interval's low end, %v, is above its high end, %v", low, high)
	}
	w := high - low
	covered := low <= observed && observed <= high
	t.All.Add(covered)
	switch {
	case observed < low:
		t.Below++
	case observed > high:
		t.Above++
	}
	if w-w != 0 {
		t.Unbounded++
	} else {
		t.width.Add(w)
		if !covered {
			t.outside.Add(math.Max(low-observed, observed-high))
		}
	}
	if !covered {
		w = math.Copysign(w, -1)
	}
	t.kept = append(t.kept, w)
	return nil
}

// Merge adds the rows of another tally.
func (t *IntervalTally) Merge(o *IntervalTally) {
	t.All.Merge(o.All)
	t.Below, t.Above, t.Unbounded = t.Below+o.Below, t.Above+o.Above, t.Unbounded+o.Unbounded
	t.width.AddSuper(&o.width)
	t.outside.AddSuper(&o.outside)
	t.kept = append(t.kept, o.kept...)
}

// MeanWidth returns the mean width, +Inf if an interval has an infinite end, NaN without rows.
func (t *IntervalTally) MeanWidth() float64 {
	if t.Unbounded > 0 {
		return math.Inf(1)
	}
	return t.width.Float64() / float64(t.All.Rows)
}

// MedianWidth returns the median width: of an even number of rows, the lower of the middle two; NaN without rows.
func (t *IntervalTally) MedianWidth() float64 {
	if len(t.kept) == 0 {
		return math.NaN()
	}
	t.sort()
	return math.Abs(t.kept[(len(t.kept)-1)/2])
}

// Winkler returns the mean interval score for intervals of this coverage (Winkler 1972): the width, plus 2/(1-coverage) times the distance of
// a number outside. It is +Inf if an interval has an infinite end, NaN without rows.
func (t *IntervalTally) Winkler(coverage float64) float64 {
	if t.Unbounded > 0 {
		return math.Inf(1)
	}
	miss := 1 - coverage
	return (t.width.Float64() + float64(2/miss*t.outside.Float64())) / float64(t.All.Rows)
}

func (t *IntervalTally) sort() {
	slices.SortFunc(t.kept, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
}

// Stratum is the coverage of intervals whose widths are from Narrowest to Widest.
type Stratum struct {
	Share
	Narrowest, Widest float64
}

// ByWidth divides the rows into at most n strata of rising width with about equal numbers of rows, and returns those that have rows. Intervals
// of one width are in one stratum: the one in which the first of them is.
func (t *IntervalTally) ByWidth(n int) (l []Stratum) {
	if n < 1 {
		panic("conformal: there is one stratum at least")
	}
	t.sort()
	rows := len(t.kept)
	for i, from := 1, 0; i <= n && from < rows; i++ {
		// As numpy.array_split divides: the first rows%n strata have one row more.
		to := max(from, i*(rows/n)+min(i, rows%n))
		for to > from && to < rows && math.Abs(t.kept[to]) == math.Abs(t.kept[to-1]) {
			to++
		}
		if to == from {
			continue
		}
		s := Stratum{Narrowest: math.Abs(t.kept[from]), Widest: math.Abs(t.kept[to-1])}
		for _, w := range t.kept[from:to] {
			s.Add(!math.Signbit(w))
		}
		l, from = append(l, s), to
	}
	return l
}

// Shares returns the shares of strata.
func Shares(l []Stratum) (shares []Share) {
	for _, s := range l {
		shares = append(shares, s.Share)
	}
	return shares
}
