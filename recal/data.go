package recal

import (
	"io"

	"github.com/candor-go/candor/metrics"
)

// Data are labelled predictions that a fit can read from the first row as often as it needs. Every Open yields the same rows with the same
// numbers.
type Data interface {
	Open() (Source, error)
}

// Source is one reading of Data.
type Source interface {
	metrics.Source
	Close() error
}

// OpenFunc is Data that a function opens.
type OpenFunc func() (Source, error)

// Open calls f.
func (f OpenFunc) Open() (Source, error) { return f() }

// InMemory returns predictions in memory as Data. They are read and never copied whole; their shapes are checked by the fit, which
// panics as a metrics.Pass does.
func InMemory(p *metrics.Predictions) Data {
	return OpenFunc(func() (Source, error) { return &memory{p: p}, nil })
}

// memoryBytes is about the size of the scores of a chunk of predictions in memory.
const memoryBytes = 1 << 20

type memory struct {
	p  *metrics.Predictions
	at int
}

func (m *memory) Close() error { return nil }

func (m *memory) Next() (*metrics.Chunk, error) {
	if m.at >= m.p.Rows && (m.at > 0 || m.p.Rows == 0) {
		return nil, io.EOF
	}
	if !fits(m.p) {
		m.at = m.p.Rows
		return &metrics.Chunk{Predictions: *m.p}, nil // the pass that gets it panics, and says why
	}
	width := max(m.p.Classes, m.p.Stride, 1)
	n := min(m.p.Rows-m.at, max(1, memoryBytes/(width*m.p.DType().Size())))
	if n > 64 && n < m.p.Rows-m.at {
		n &^= 63
	}
	whole := metrics.Chunk{Predictions: *m.p}
	c := slice(&whole, m.at, m.at+n)
	m.at += n
	return &c, nil
}

// fits tells whether all slices are as long as the rows need.
func fits(p *metrics.Predictions) bool {
	stride := strideOf(&p.Scores)
	if p.Rows < 0 || p.Classes < 1 || stride < p.Classes {
		return false
	}
	for _, n := range []int{len(p.F64), len(p.F32), len(p.F16), len(p.BF16)} {
		if n > 0 && (n < p.Classes || (n-p.Classes)/stride < p.Rows-1) {
			return false
		}
	}
	other := func(n int, set bool) bool { return set && n != p.Rows }
	return !(other(len(p.Labels), p.Labels != nil) || other(len(p.Observed), p.Observed != nil) ||
		other(len(p.Weights), p.Weights != nil) || other(len(p.Decisions), p.Decisions != nil) ||
		other(len(p.ConfidenceScores), p.ConfidenceScores != nil))
}

// slice returns a view of a chunk's rows from lo to hi.
func slice(c *metrics.Chunk, lo, hi int) metrics.Chunk {
	v := *c
	v.Rows, v.Recycle = hi-lo, nil
	stride := strideOf(&c.Scores)
	from, to := lo*stride, hi*stride
	if hi == c.Rows && hi > lo {
		to = (hi-1)*stride + c.Classes // what is behind the last row need not be there
	}
	v.F64, v.F32, v.F16, v.BF16 = part(c.F64, from, to), part(c.F32, from, to), part(c.F16, from, to), part(c.BF16, from, to)
	v.Labels, v.Observed, v.Weights = part(c.Labels, lo, hi), part(c.Observed, lo, hi), part(c.Weights, lo, hi)
	v.Decisions, v.ConfidenceScores = part(c.Decisions, lo, hi), part(c.ConfidenceScores, lo, hi)
	v.Groups, v.Pair = part(c.Groups, lo, hi), c.Pair.Slice(lo, hi)
	if c.Numbers != nil {
		v.Numbers = c.Numbers[lo:hi]
	} else {
		v.First = c.First + int64(lo)
	}
	return v
}

func part[T any](s []T, lo, hi int) []T {
	if s == nil {
		return nil
	}
	return s[lo:hi]
}

// number returns the number of a chunk's row i in the whole set.
func number(c *metrics.Chunk, i int) int64 {
	if c.Numbers != nil {
		return c.First + int64(c.Numbers[i])
	}
	return c.First + int64(i)
}
