package compared

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/candor-go/candor/metrics"
)

// lockstep reads several sources side by side: runs of rows that all of them have.
type lockstep struct {
	names []string
	srcs  []metrics.Source
	now   []*held
	at    []int // of each source, the next row of its chunk
	drop  bool
	begun bool
	want  int64 // number of the next row, if no source leaves it out
	gone  int64 // rows that a source has left out
	runs  int64 // that were returned
}

// held is a chunk that several runs of rows may refer to.
type held struct {
	*metrics.Chunk
	refs atomic.Int32 // the reader's and one of each run
}

func hold(c *metrics.Chunk) *held {
	h := &held{Chunk: c}
	h.refs.Store(1)
	return h
}

func (h *held) release() {
	if h.refs.Add(-1) == 0 && h.Recycle != nil {
		h.Recycle()
	}
}

// run is a run of rows of all sources.
type run struct {
	number int64 // in the order of rows
	chunks []metrics.Chunk
	from   []*held
}

func (r *run) release() {
	for _, h := range r.from {
		h.release()
	}
}

// RowError is the error for a row about which the models' files disagree.
type RowError struct {
	Model string // the model whose file disagrees with that of the first
	First string
	Row   int64
	What  string // "label", "weight", "observed value", "cluster", "group", LeftOut, Impossible; "" if the model has no such row
	Value float64
	Other float64 // of the first

	Cluster, OtherCluster string // in place of the values, for a cluster or a group
	Column                string // that is Impossible
}

// What a RowError says of rows of which only values are known.
const (
	LeftOut    = "left out"   // the row has no values
	Impossible = "impossible" // Value is none of Column
)

func (e *RowError) Error() string {
	if e.What == "" {
		return fmt.Sprintf("row %d is in %s and not in %s: models are compared on the same rows", e.Row, e.First, e.Model)
	}
	if e.What == "cluster" || e.What == "group" {
		return fmt.Sprintf("row %d has the %s %q in %s and %q in %s: models are compared on the same rows, in the same order", e.Row, e.What, e.OtherCluster, e.First, e.Cluster, e.Model)
	}
	switch e.What {
	case LeftOut:
		return fmt.Sprintf("row %d has no values in %s, where it was left out: models are compared on the same rows", e.Row, e.Model)
	case Impossible:
		return fmt.Sprintf("row %d has the %s %v in %s, which no row can have", e.Row, e.Column, e.Value, e.Model)
	}
	return fmt.Sprintf("row %d has the %s %v in %s and %v in %s: models are compared on the same rows, in the same order", e.Row, e.What, e.Other, e.First, e.Value, e.Model)
}

// next returns the next run, or io.EOF.
func (l *lockstep) next() (*run, error) {
	for {
		ended, first := -1, int64(math.MinInt64)
		for m := range l.srcs {
			for l.now[m] == nil {
				c, err := l.srcs[m].Next()
				if err == io.EOF {
					ended = m
					break
				}
				if err != nil {
					l.close()
					return nil, err
				}
				if c.Rows > 0 {
					l.now[m], l.at[m] = hold(c), 0
				} else if c.Recycle != nil {
					c.Recycle()
				}
			}
			if h := l.now[m]; h != nil {
				first = max(first, h.Number(l.at[m]))
			}
		}
		if ended >= 0 {
			for m, h := range l.now {
				if h != nil {
					e := &RowError{Model: l.names[ended], First: l.names[m], Row: h.Number(l.at[m])}
					l.close()
					return nil, e
				}
			}
			return nil, io.EOF
		}
		if !l.begun {
			l.begun, l.want = true, first
			for m, h := range l.now {
				l.want = min(l.want, h.Number(l.at[m]))
			}
		}
		apart := false
		for m, h := range l.now {
			for h != nil && h.Number(l.at[m]) < first {
				apart = true
				if !l.drop {
					e := &RowError{First: l.names[m], Row: h.Number(l.at[m])}
					for o, k := range l.now {
						if k.Number(l.at[o]) == first {
							e.Model = l.names[o]
							break
						}
					}
					l.close()
					return nil, e
				}
				if h = l.pass(m, 1); h == nil {
					break
				}
			}
		}
		if apart {
			continue
		}
		return l.take(), nil
	}
}

// take returns the rows up to the end of the shortest chunk, or to where numbers go apart.
func (l *lockstep) take() *run {
	n := math.MaxInt
	plain := true
	for m, h := range l.now {
		n = min(n, h.Rows-l.at[m])
		plain = plain && h.Numbers == nil
	}
	if !plain {
		for i := 1; i < n; i++ {
			want := l.now[0].Number(l.at[0] + i)
			for m, h := range l.now {
				if h.Number(l.at[m]+i) != want {
					n = i
				}
			}
		}
	}
	r := &run{number: l.runs}
	l.runs++
	l.gone += l.now[0].Number(l.at[0]) - l.want
	l.want = l.now[0].Number(l.at[0]+n-1) + 1
	for m, h := range l.now {
		r.chunks = append(r.chunks, h.Slice(l.at[m], l.at[m]+n))
		r.from = append(r.from, h)
		h.refs.Add(1)
		l.pass(m, n)
	}
	return r
}

// pass passes n rows of a source's chunk, and returns what is left of it: nil at its end.
func (l *lockstep) pass(m, n int) *held {
	h := l.now[m]
	if l.at[m] += n; l.at[m] >= h.Rows {
		l.now[m] = nil
		h.release()
		return nil
	}
	return h
}

// close gives back what is held.
func (l *lockstep) close() {
	for m, h := range l.now {
		if h != nil {
			h.release()
			l.now[m] = nil
		}
	}
}

// alike returns an error if models disagree about the outcome or the weight of a row. Where labels are the same the models share those of
// the first, which are in the cache then.
func alike(chunks []metrics.Chunk, names []string) error {
	a := &chunks[0]
	for m := range chunks[1:] {
		b := &chunks[m+1]
		if (a.Weights == nil) != (b.Weights == nil) {
			return fmt.Errorf("%w: %s and %s: one has weights, the other has none", metrics.ErrMismatch, names[0], names[m+1])
		}
		if identical(a.Labels, b.Labels) && identical(a.Weights, b.Weights) && identical(a.Observed, b.Observed) && a.Kind != metrics.Normals && a.Kind != metrics.Survival {
			b.Labels = a.Labels
			continue
		}
		e := &RowError{Model: names[m+1], First: names[0]}
		for i := range a.Rows {
			e.Row = a.Number(i)
			switch {
			case a.Labels != nil && b.Labels != nil && a.Labels[i] != b.Labels[i]:
				e.What, e.Value, e.Other = "label", float64(b.Labels[i]), float64(a.Labels[i])
			case a.Weights != nil && !same(a.Weights[i], b.Weights[i]):
				e.What, e.Value, e.Other = "weight", b.Weights[i], a.Weights[i]
			case a.Observed != nil && b.Observed != nil && !same(a.Observed[i], b.Observed[i]):
				e.What, e.Value, e.Other = "observed value", b.Observed[i], a.Observed[i]
			case a.Kind == metrics.Normals && a.Classes == 3 && b.Classes == 3 && !same(a.At(i, 2), b.At(i, 2)):
				e.What, e.Value, e.Other = "observed value", b.At(i, 2), a.At(i, 2)
			case a.Kind == metrics.Survival && (a.Classes != b.Classes || !lived(a, i) || !lived(b, i)): // a fault of its row, which is found when it is read
				continue
			case a.Kind == metrics.Survival && a.At(i, a.Classes-2) != b.At(i, a.Classes-2):
				e.What, e.Value, e.Other = "time", b.At(i, a.Classes-2), a.At(i, a.Classes-2)
			case a.Kind == metrics.Survival && a.At(i, a.Classes-1) != b.At(i, a.Classes-1):
				e.What, e.Value, e.Other = "event", b.At(i, a.Classes-1), a.At(i, a.Classes-1)
			default:
				continue
			}
			return e
		}
	}
	return nil
}

// identical reports whether two columns have the same bytes.
func identical[T int32 | float64](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	raw := func(v []T) []byte {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(T(0))))
	}
	return bytes.Equal(raw(a), raw(b))
}

// lived reports whether a row of survival has a time and an event that can be.
func lived(c *metrics.Chunk, i int) bool {
	t, e := c.At(i, c.Classes-2), c.At(i, c.Classes-1)
	return t > 0 && t-t == 0 && (e == 0 || e == 1)
}

// same reports whether two numbers are equal, or one is missing, which is a fault of its row and found when it is read.
func same(a, b float64) bool { return a == b || a != a || b != b }
