package metrics_test

import (
	"errors"
	"io"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// counted is a source of single rows, which counts what was read and recycled, and ends with an error.
type counted struct {
	rows, read int
	recycled   chan struct{}
	end        error
}

func (s *counted) Next() (*metrics.Chunk, error) {
	if s.read == s.rows {
		return nil, s.end
	}
	s.read++
	c := &metrics.Chunk{Predictions: metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.5}, Rows: 1, Classes: 1}, Labels: []int32{1}}}
	c.Recycle = func() { s.recycled <- struct{}{} }
	return c, nil
}

// TestFeed: an error of a function ends the reading, the source's error comes first, and every chunk is recycled.
func TestFeed(t *testing.T) {
	first, broken := errors.New("first"), errors.New("broken")
	for _, c := range []struct {
		name      string
		fails     bool
		end, want error
		all       int
	}{
		{"all rows", false, io.EOF, nil, 1000},
		{"a source that breaks", false, broken, broken, 1000},
		{"a function that fails", true, io.EOF, first, 30},
	} {
		for _, n := range []int{1, 3} {
			s := &counted{rows: 1000, recycled: make(chan struct{}, 1000), end: c.end}
			visits := make([]func(*metrics.Chunk) error, n)
			for i := range visits {
				visits[i] = func(*metrics.Chunk) error {
					if c.fails {
						return first
					}
					return nil
				}
			}
			err := metrics.Feed(s, visits...)
			if err != c.want || s.read > c.all || len(s.recycled) != s.read {
				t.Errorf("%s, %d functions: %v after %d rows, %d recycled", c.name, n, err, s.read, len(s.recycled))
			}
		}
	}
}
