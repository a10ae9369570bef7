package metrics_test

import (
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/candor-go/candor/internal/check"
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

// TestOrder: Order puts the rows where Pick finds them, in every column, and reuses memory of other sizes.
func TestOrder(t *testing.T) {
	r := check.Rand(191)
	var ordered, picked metrics.Chunk
	for trial := range 40 {
		rows, classes := 1+r.IntN(50), 1+trial%3
		stride := classes + trial%2
		c := metrics.Chunk{Predictions: metrics.Predictions{Scores: metrics.Scores{Rows: rows, Classes: classes, Stride: stride}, Kind: metrics.Logits}, First: 7}
		floats := func(n int) []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = r.Float64()
			}
			return v
		}
		ints := func(n int) []int32 {
			v := make([]int32, n)
			for i := range v {
				v[i] = r.Int32()
			}
			return v
		}
		halves := func(n int) []uint16 {
			v := make([]uint16, n)
			for i := range v {
				v[i] = uint16(r.Uint32())
			}
			return v
		}
		switch trial % 4 {
		case 0:
			c.F64 = floats(rows * stride)
		case 1:
			for _, v := range floats(rows * stride) {
				c.F32 = append(c.F32, float32(v))
			}
		case 2:
			c.F16 = halves(rows * stride)
		case 3:
			c.BF16 = halves(rows * stride)
		}
		c.Labels = ints(rows)
		if trial%5 > 0 {
			c.Observed, c.Weights, c.Decisions, c.ConfidenceScores, c.Bytes = floats(rows), floats(rows), ints(rows), floats(rows), floats(rows)
			c.Clusters, c.ClusterName, c.Numbers = ints(rows), func(i int32) string { return "" }, ints(rows)
			c.Pair = &metrics.Pair{Raw: floats(2 * rows), Kind: metrics.Logits, Event: 1}
			for range rows {
				c.Sequences = append(c.Sequences, r.Int64())
			}
		}
		to, from := make([]int32, rows), make([]int32, rows)
		for i, at := range r.Perm(rows) {
			to[i], from[at] = int32(at), int32(i)
		}
		ordered.Order(&c, to)
		picked.Pick(&c, from)
		one, other := ordered, picked
		one.ClusterName, other.ClusterName = nil, nil // which are not compared
		if !reflect.DeepEqual(one, other) {
			t.Fatalf("trial %d: %+v, not %+v", trial, one, other)
		}
	}
}
