package eval

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// end is an end of a range: a number, or what the shape of predictions makes it.
type end struct {
	value float64
	of    endOf
}

type endOf int

const (
	fixedEnd endOf = iota
	oneOfClasses
	logClasses
	logMembers
	classesLessOne
)

// ends returns the least and the largest value in a range as descriptors write it, the widest of its alternatives: of
// "[0, 1]; log [0, ln 2]" 0 and ln 2. A range in words, and N, have no end.
func ends(written string) (r [2][]end, err error) {
	for _, part := range strings.Split(written, ";") {
		from, to := strings.IndexAny(part, "[("), strings.IndexAny(part, "])")
		if from < 0 || to < from {
			r[0], r[1] = append(r[0], end{value: math.Inf(-1)}), append(r[1], end{value: math.Inf(1)})
			continue
		}
		low, high, ok := strings.Cut(part[from+1:to], ", ")
		if !ok {
			return r, fmt.Errorf("%q is no range", part)
		}
		for i, s := range []string{low, high} {
			e, err := endFrom(s)
			if err != nil {
				return r, err
			}
			r[i] = append(r[i], e)
		}
	}
	return r, nil
}

func endFrom(s string) (end, error) {
	switch s {
	case "1/K":
		return end{of: oneOfClasses}, nil
	case "ln K":
		return end{of: logClasses}, nil
	case "ln M":
		return end{of: logMembers}, nil
	case "K-1":
		return end{of: classesLessOne}, nil
	case "ln 2":
		return end{value: math.Ln2}, nil
	case "N":
		return end{value: math.Inf(1)}, nil
	}
	if above, below, ok := strings.Cut(s, "/"); ok {
		a, err := strconv.ParseFloat(above, 64)
		if err != nil {
			return end{}, err
		}
		b, err := strconv.ParseFloat(below, 64)
		return end{value: a / b}, err
	}
	v, err := strconv.ParseFloat(s, 64)
	return end{value: v}, err
}

// in returns the end for a spec. Where rows may be other than the range supposes, it is far.
func (e end) in(s *Spec) float64 {
	k := float64(max(2, s.Classes))
	switch e.of {
	case oneOfClasses:
		if s.Decided || s.Scored { // the caller's decision may have any probability
			return 0
		}
		return 1 / k
	case logClasses:
		return kernel.Log64(k)
	case logMembers:
		return kernel.Log64(float64(max(1, s.Members)))
	case classesLessOne:
		return k - 1
	}
	return e.value
}

// bounded reads the ranges of descriptors.
func bounded(l []Descriptor) {
	for i := range l {
		e, err := ends(l[i].Range)
		if err != nil {
			panic("eval: a range of " + l[i].Name + " that is none")
		}
		l[i].ends = e
		bounded(l[i].Also)
	}
}

// bounds returns the least and the largest value that a metric of the spec can have.
func (s *Spec) bounds(m Metric) (least, most float64) {
	if m.Name == "brier" || m.Name == "brier_temperature_scaled" {
		form := s.Brier
		if m.Name == "brier" {
			form, _ = m.form(form)
		}
		scale, shift := form.Linear(s.Classes)
		far := 2.0 // of the sum over classes
		if s.Classes == 1 {
			far = 1
		}
		return shift, float64(far*scale) + shift
	}
	if m.Name == "cce" && s.UM { // an estimate of a square, which may be negative
		return math.Inf(-1), math.Inf(1)
	}
	d := s.describe(m)
	least, most = math.Inf(1), math.Inf(-1)
	for i := range d.ends[0] {
		least, most = math.Min(least, d.ends[0][i].in(s)), math.Max(most, d.ends[1][i].in(s))
	}
	return least, most
}

// Bounded returns a value of a metric with its interval cut to the values that the metric can have, so that that of a Brier score begins at 0
// or later. This changes no coverage. An interval keeps its value inside, also where unchecked rows led the value out of the range.
func (s *Spec) Bounded(m Metric, v Value) Value {
	if i := v.Interval; i.Low == i.Low {
		least, most := s.bounds(m)
		if cut := i.Within(math.Min(least, v.Value), math.Max(most, v.Value)); cut != i {
			v.isCut, v.uncut, v.Interval = true, i, cut
		}
	}
	return v
}

// Uncut returns the interval before it was cut to the range of the metric, as the errors of differences need it.
func (v *Value) Uncut() metrics.Interval {
	if v.isCut {
		return v.uncut
	}
	return v.Interval
}
