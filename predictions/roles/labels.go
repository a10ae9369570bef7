package roles

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
)

// Labels turns the cells of a column of labels into the numbers of classes. Its methods may be called from several goroutines.
type Labels struct {
	classes  int      // of the scores; 1 of a binary task
	names    []string // nil if the classes have none
	number   map[string]int32
	integers bool // all names are integers: labels that are integers are names
	event    string
	outcomes bool                   // labels are the event or not
	happened atomic.Bool            // a label was the event
	other    atomic.Pointer[string] // the first that was not
	ignore   []int32
}

// Ignored is the class of a label that is to be ignored: metrics.Ignored.
const Ignored = math.MinInt32

// Ignore makes labels that are one of these whole numbers Ignored, whatever else they name. It returns l.
func (l *Labels) Ignore(labels []int32) *Labels {
	l.ignore = labels
	return l
}

// NewLabels returns the labels of scores of so many classes, 1 of a binary task, with these names, nil if they have none. The event, if it
// is not "", is the label of a binary task that is 1; all others are 0.
func NewLabels(classes int, names []string, event string) *Labels {
	l := &Labels{classes: classes, names: names, event: event, outcomes: event != "", number: map[string]int32{}, integers: len(names) > 0}
	for i, n := range names {
		l.number[n] = int32(i)
		l.integers = l.integers && isInteger(n)
	}
	return l
}

// Errors of labels that name no class.
var (
	ErrEvent   = errors.New("is neither 0 nor 1, and no event is named")
	ErrUnnamed = errors.New("is not a class number, and the classes have no names")
	ErrNoClass = errors.New("is not one of the classes")
	ErrFromOne = errors.New("the labels may count from 1, as R's factors do")
)

// Missed is the class of a label that is missing. It is none, so that a metrics.Pass counts the row among those that cannot be used.
const Missed = -1

// Class returns the class that a cell names, Missed for one without a value, Ignored for one that Ignore named. The error says why there is none.
//
// A text is the class of that name. An integer is a name where all names are integers, and else a position, from 0. In a binary task
// without names and without an event the labels are 0 and 1, or false and true.
func (l *Labels) Class(cell []byte) (int32, error) {
	cell = bytes.Trim(cell, " \t")
	if len(l.ignore) > 0 {
		if n, ok := integer(cell); ok && slices.Contains(l.ignore, int32(n)) && n == int64(int32(n)) {
			return Ignored, nil
		}
	}
	if l.outcomes {
		switch {
		case string(cell) == l.event:
			if !l.happened.Load() {
				l.happened.Store(true)
			}
			return 1, nil
		case missing(cell):
			return Missed, nil
		}
		if !l.happened.Load() && l.other.Load() == nil {
			s := string(cell)
			l.other.CompareAndSwap(nil, &s)
		}
		return 0, nil
	}
	if c, ok := l.number[string(cell)]; ok {
		return c, nil
	}
	n, ok := integer(cell)
	most := max(2, l.classes)
	switch {
	case ok && l.integers:
		if c, ok := l.number[strconv.FormatInt(n, 10)]; ok { // 3.0 is the class 3
			return c, nil
		}
		if n == int64(len(l.names)) && l.positions() {
			return 0, l.fromOne(n)
		}
	case ok && n >= 0 && n < int64(most):
		return int32(n), nil
	case ok && n == int64(most):
		return 0, l.fromOne(n)
	case ok:
		return 0, errors.New(notOf(n, int64(most)))
	case l.classes == 1 && l.names == nil && bytes.EqualFold(cell, []byte("true")):
		return 1, nil
	case l.classes == 1 && l.names == nil && bytes.EqualFold(cell, []byte("false")):
		return 0, nil
	}
	switch {
	case missing(cell):
		return Missed, nil
	case l.names != nil:
		return 0, fmt.Errorf("label %q %w: %s", short(string(cell)), ErrNoClass, quoted(l.names))
	case l.classes == 1:
		return 0, fmt.Errorf("label %q %w", short(string(cell)), ErrEvent)
	}
	return 0, fmt.Errorf("label %q %w", short(string(cell)), ErrUnnamed)
}

// Unseen returns the event and another label if no label so far was the event, which may be named wrongly. Both are "" otherwise.
func (l *Labels) Unseen() (event, other string) {
	if s := l.other.Load(); s != nil && !l.happened.Load() {
		return l.event, *s
	}
	return "", ""
}

// fromOne is the error of a number that is one too large.
func (l *Labels) fromOne(n int64) error {
	return fmt.Errorf("%s: %w", notOf(n, n), ErrFromOne)
}

// notOf says that a label is not the number of one of so many classes.
func notOf(label, classes int64) string {
	if classes == 2 {
		return fmt.Sprintf("label %d is neither 0 nor 1", label)
	}
	return fmt.Sprintf("label %d is not one of the class numbers 0 to %d", label, classes-1)
}

// positions reports whether the names of the classes are their numbers.
func (l *Labels) positions() bool {
	for i, name := range l.names {
		if name != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

// missing tells whether a cell has no value.
func missing(cell []byte) bool {
	return len(cell) == 0 || bytes.EqualFold(cell, []byte("na")) || bytes.EqualFold(cell, []byte("null")) || bytes.EqualFold(cell, []byte("nan"))
}

// integer returns the whole number that a cell writes, as 3 or 3.0.
func integer(cell []byte) (int64, bool) {
	if len(cell) == 0 || len(cell) > 24 {
		return 0, false
	}
	n := int64(0)
	for i, c := range cell {
		if c < '0' || c > '9' || i == 18 {
			v, err := strconv.ParseFloat(string(cell), 64)
			return int64(v), err == nil && v == math.Trunc(v) && math.Abs(v) < 1<<53
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}
