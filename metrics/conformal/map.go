package conformal

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics"
)

// Part is a threshold and the number of calibration rows behind it.
type Part struct {
	Name      string // number of the class; "" if there is one threshold for all rows
	Rows      int64
	Threshold float64 // +Inf if there are too few rows
}

// Map makes sets or intervals that hold the truth with the promised probability. It is immutable and may be used by several goroutines.
type Map struct {
	method   Method
	coverage float64
	kind     metrics.Kind
	classes  int   // 2 for a binary task; for numbers, the numbers in a row
	rows     int64 // calibration rows
	parts    []Part
	levels   []float64 // of the two quantiles of CQR, where known

	draw func(row int64) float64 // random numbers of Randomized, if a test has them
}

// Method returns the method, with its seed.
func (m *Map) Method() Method { return m.method }

// Coverage returns the promised coverage.
func (m *Map) Coverage() float64 { return m.coverage }

// Kind returns the kind of the calibration rows.
func (m *Map) Kind() metrics.Kind { return m.kind }

// Classes returns the number of classes, 2 for a binary task; for numbers, the numbers in a calibration row.
func (m *Map) Classes() int { return m.classes }

// Rows returns the number of calibration rows.
func (m *Map) Rows() int64 { return m.rows }

// Parts returns the thresholds: one, or one for each class. They must not be changed.
func (m *Map) Parts() []Part { return m.parts }

// Levels returns the levels of the two quantiles of CQR, nil if WithLevels did not say them.
func (m *Map) Levels() []float64 { return m.levels }

// WithLevels returns the map of CQR with the levels of its two quantiles.
func (m *Map) WithLevels(low, high float64) *Map {
	c := *m
	c.levels = []float64{low, high}
	return &c
}

// Notes returns sentences about thresholds that do not exist.
func (m *Map) Notes() (l []string) {
	for _, p := range m.parts {
		switch {
		case !math.IsInf(p.Threshold, 1):
		case p.Name == "":
			l = append(l, tooFew(p.Rows, m.coverage))
		case p.Rows == 0:
			l = append(l, fmt.Sprintf("class %s has no calibration row, so every set holds it", p.Name))
		default:
			l = append(l, fmt.Sprintf("class %s has %d calibration rows, and a coverage of %v takes %d, so every set holds it", p.Name, p.Rows, m.coverage, Least(m.coverage)))
		}
	}
	return l
}

// Promise returns what n calibration rows promise, for a map with one threshold.
func (m *Map) Promise() (Promise, bool) {
	if len(m.parts) > 1 {
		return Promise{}, false
	}
	return Promise{Rank: Rank(m.rows, m.coverage), Rows: m.rows}, true
}

// Accepts returns an error unless the map takes rows of this kind, with this many scores; a binary task has 1.
func (m *Map) Accepts(k metrics.Kind, classes int) error {
	if err := m.method.accepts(k); err != nil {
		return err
	}
	if m.method.Score.Classes() {
		if classes == 1 {
			classes = 2
		}
		if classes != m.classes {
			return fmt.Errorf("the map was fitted to %d classes, and these rows have %d", m.classes, classes)
		}
	}
	if m.method.Score == Split && k == metrics.Quantiles && classes != 1 {
		return errManyMeans
	}
	return nil
}

// errManyMeans is the error of Split for rows of several numbers.
var errManyMeans = errors.New("split takes one forecast of each row, and these rows have several quantiles")

const (
	errSets      = "conformal: dst has a bool for each row and class, and the map is of classes"
	errIntervals = "conformal: dst has two numbers for each row, and the map is of numbers"
)

// Sets returns a function that writes to dst, row by row, whether each class is in the set of each row of a block; dst has b.Rows times
// Classes elements. The block has the probabilities of rows (metrics.NeedRows); labels are not read. The function keeps memory between calls,
// so each goroutine needs its own. It panics for a map of numbers.
func (m *Map) Sets() func(dst []bool, b *metrics.Block) {
	if !m.method.Score.Classes() {
		panic(errSets)
	}
	s := &rowScorer{m: &m.method}
	thresholds := make([]float64, len(m.parts))
	for i, p := range m.parts {
		thresholds[i] = p.Threshold
	}
	return func(dst []bool, b *metrics.Block) {
		if len(dst) != b.Rows*m.classes || b.Probs.Width != m.classes {
			panic(errSets)
		}
		for i := range b.Rows {
			u := 0.0
			switch {
			case !m.method.Randomized:
			case m.draw != nil:
				u = m.draw(b.Number(i))
			default:
				u = uniform(m.method.Seed, applying, b.Number(i))
			}
			s.fill(dst[i*m.classes:][:m.classes], s.row(b, i), u, thresholds)
		}
	}
}

// Intervals writes the ends of the interval of each row of a block, whose rows are forecasts as given (metrics.NeedRows), to dst, which has
// 2 b.Rows elements. Ends are infinite if there were too few calibration rows. Where the quantiles of CQR would cross, since they are moved
// together, both ends are the middle: an interval of one number in place of none. It panics for a map of classes.
func (m *Map) Intervals(dst []float64, b *metrics.Block) {
	if m.method.Score.Classes() || len(dst) != 2*b.Rows {
		panic(errIntervals)
	}
	q, t := m.parts[0].Threshold, &b.Probs
	for i := range b.Rows {
		low, high, by := t.At(i, 0), t.At(i, 0), q
		switch m.method.Score {
		case Normalized:
			by = float64(q * t.At(i, 1))
		case CQR:
			high = t.At(i, t.Width-1)
		}
		mid := low + float64((high-low)/2)
		low, high = low-by, high+by
		if low > high {
			low, high = mid, mid
		}
		dst[2*i], dst[2*i+1] = low, high
	}
}
