package predictions

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/roles"
)

// Labels that a reader leaves out have one number in both packages.
const (
	_ = uint(roles.Ignored - metrics.Ignored)
	_ = uint(metrics.Ignored - roles.Ignored)
)

// ignored turns labels that are to be ignored into metrics.Ignored, which no file may have. It returns the index of a label that has that number,
// or -1.
func ignored(labels, ignore []int32) int {
	if len(ignore) == 0 {
		if !metrics.HasNegative(labels) {
			return -1
		}
		return slices.Index(labels, metrics.Ignored)
	}
	for i, y := range labels {
		if y == metrics.Ignored && !slices.Contains(ignore, y) {
			return i
		}
		if slices.Contains(ignore, y) {
			labels[i] = metrics.Ignored
		}
	}
	return -1
}

// mark marks the labels that the column has just read.
func (c *column) mark(labels []int32) *Error {
	i := ignored(labels, c.ignore)
	if i < 0 {
		return nil
	}
	row := c.seen + int64(i)
	for _, a := range c.arrays {
		if row < a.rows() {
			return &Error{File: a.file, Row: a.skip + row, Column: -1, Value: strconv.Itoa(metrics.Ignored), Reason: fmt.Sprintf("label %d is not a class", metrics.Ignored),
				Remedy: "give rows that are to be ignored another label below 0, and pass " + setting.IgnoreLabel.String()}
		}
		row -= a.rows()
	}
	return nil
}

// hundredths divides the percentages of a chunk, and its confidence scores, by 100: each is the number of its type that is nearest to the
// quotient.
func hundredths(c *metrics.Chunk) {
	divide(&c.Scores)
	for i, v := range c.ConfidenceScores {
		c.ConfidenceScores[i] = v / 100
	}
}

// divide divides scores by 100.
func divide(s *metrics.Scores) {
	for i, v := range s.F64 {
		s.F64[i] = v / 100
	}
	for i, v := range s.F32 {
		s.F32[i] = v / 100
	}
}

// checkPercent returns an Error if scores of this kind and type cannot be percentages.
func checkPercent(k metrics.Kind, d metrics.DType) *Error {
	switch {
	case k != metrics.Probs:
		return fault("leave "+setting.Percent.String()+" out", "percentages are probabilities, and the scores are %s", k)
	case d == metrics.Float16 || d == metrics.BFloat16:
		return fault(`save them .astype("float32")`, "percentages are %s, which does not have the probabilities that they are", d)
	}
	return nil
}

// checkSequences returns an Error if an array cannot say which sequence a row belongs to.
func checkSequences(a *array, _ role) *Error {
	d := a.dtype
	switch {
	case d.integer():
	case d.kind != 'S' && d.kind != 'U':
		return fault(`save whole numbers or text, as in sequences.astype("int64")`, "sequences are %s", d)
	case d.size == 0 || d.size > maxGroupText:
		return fault("save shorter texts, or numbers", "sequences are texts of %d bytes: from 1 to %d are read", d.size, maxGroupText)
	}
	if len(a.shape) != 1 && (len(a.shape) != 2 || a.shape[1] != 1) {
		return fault("save sequences.reshape(-1)", "sequences have shape %s: a vector (N,) is read", shapeText(a.shape))
	}
	return a.checkLength()
}

// sequences numbers runs of equal keys, from 0.
type sequences struct {
	number int64 // of the last row's sequence; -1 before the first row
	fresh  bool  // the next row begins a sequence, whatever its key
	last   []byte
	keys   risingKeys
}

func newSequences() sequences { return sequences{number: -1, fresh: true} }

// cut ends the sequence of the last row, as the end of a file does.
func (s *sequences) cut() { s.fresh = true }

// of numbers a row by its key. text returns the key as a text. The error is a backError.
func (s *sequences) of(key []byte, text func() string) (int64, error) {
	if !s.fresh && bytes.Equal(key, s.last) {
		return s.number, nil
	}
	s.last = append(s.last[:0], key...)
	if s.fresh {
		s.fresh, s.keys = false, risingKeys{}
	}
	s.number++
	if name := text(); s.keys.back(name) {
		return 0, backError(name)
	}
	return s.number, nil
}

// backError is the error for a key that has come back.
type backError string

func (e backError) Error() string { return string(e) }

// fault is the Error of a sequence that comes back.
func (e backError) fault() *Error {
	f := fault("sort the rows by their sequences", "sequence %s comes back after others, and the rows of a sequence stand together", cut(string(e)))
	f.Value = string(e)
	return f
}

// risingKeys tells that a key has been there before, without a table: of whole numbers that have risen by 1 from sequence to sequence. Of other
// keys it tells nothing.
type risingKeys struct {
	begun, over bool
	first, last int64
}

func (r *risingKeys) back(key string) bool {
	if r.over {
		return false
	}
	n, err := strconv.ParseInt(key, 10, 64)
	switch {
	case err != nil:
		r.over = true
	case !r.begun:
		r.begun, r.first, r.last = true, n, n
	case n >= r.first && n <= r.last:
		return true
	case r.last < math.MaxInt64 && n == r.last+1:
		r.last = n
	default:
		r.over = true
	}
	return false
}

// sequenceColumn reads the sequences of rows from vectors of integers or text.
type sequenceColumn struct {
	column
	sequences
	text []byte
	file *array // of the last row
}

// read fills to with the numbers of the next rows' sequences.
func (s *sequenceColumn) read(to []int64) *Error {
	var bad *Error
	e := s.fill(len(to), func(*array) []byte { return nil }, func(a *array, at, n int, buf []uint64) int {
		if a != s.file {
			s.file = a
			s.cut()
		}
		size := a.dtype.size
		cells := raw(buf)[:n*size]
		for i := range n {
			cell := cells[i*size:][:size]
			number, err := s.sequences.of(cell, func() string {
				s.text, _ = groupText(s.text[:0], cell, a.dtype)
				return string(s.text)
			})
			if err != nil && bad == nil {
				bad = err.(backError).fault()
				bad.File, bad.Row = a.file, s.at+int64(i)
			}
			to[at+i] = number
		}
		return n
	})
	if e != nil {
		return e
	}
	return bad
}
