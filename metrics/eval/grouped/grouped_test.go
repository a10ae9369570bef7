package grouped_test

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// source yields predictions in chunks of this many rows; group gives the group of each row.
type source struct {
	p     *metrics.Predictions
	size  int
	group func(i int) int32
	at    int
}

func (s *source) Next() (*metrics.Chunk, error) {
	p := s.p
	if s.at >= p.Rows {
		return nil, io.EOF
	}
	n, k := min(s.size, p.Rows-s.at), p.Classes
	c := &metrics.Chunk{Predictions: *p, First: int64(s.at)}
	c.Rows = n
	if p.F64 != nil {
		c.F64 = p.F64[s.at*k : (s.at+n)*k]
	}
	if p.F32 != nil {
		c.F32 = p.F32[s.at*k : (s.at+n)*k]
	}
	if p.Labels != nil {
		c.Labels = p.Labels[s.at : s.at+n]
	}
	if p.Observed != nil {
		c.Observed = p.Observed[s.at : s.at+n]
	}
	if p.Weights != nil {
		c.Weights = p.Weights[s.at : s.at+n]
	}
	for i := range n {
		c.Groups = append(c.Groups, s.group(s.at+i))
	}
	s.at += n
	return c, nil
}

// alone returns the evaluation of rows without groups.
func alone(t testing.TB, s eval.Spec, p *metrics.Predictions) *eval.Evaluation {
	t.Helper()
	e, err := eval.New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Add(p, nil); err != nil {
		t.Fatal(err)
	}
	return e
}

func stateOf(t testing.TB, g encoding.BinaryAppender) []byte {
	t.Helper()
	b, err := g.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWhole: the whole is, to the byte, the evaluation without groups, and each group that of its rows alone, whatever the chunks, the
// threads and the order in which groups come.
func TestWhole(t *testing.T) {
	for _, c := range []struct {
		name    string
		spec    eval.Spec
		p       *metrics.Predictions
		metrics string
	}{
		{"binary", eval.Spec{Classes: 1}, testrows.Random(1, 900, 1, false), "all"},
		{"classes", eval.Spec{Classes: 4}, testrows.Random(2, 700, 4, true), "all"},
		{"normals", eval.Spec{Classes: 3, Kind: metrics.Normals, Seed: 3}, testrows.Normals(3, 1000, true), "all"},
	} {
		list, err := eval.ParseMetrics(c.metrics, c.spec.Shape())
		if err != nil {
			t.Fatal(c.name, err)
		}
		c.spec.Metrics = list
		const groups = 7
		of := func(i int) int32 { return int32(i * i % 11 % groups) }
		values := func(g int32) []string { return []string{strconv.Itoa(int(g) * 5), "all"} }
		want := stateOf(t, alone(t, c.spec, c.p))
		var first []byte
		for _, size := range []int{1, 64, 333, 5000} {
			for _, threads := range []int{1, 3} {
				if !check.Full() && threads != 1+size%2*2 {
					continue
				}
				g, err := grouped.New(c.spec, []string{"site", "what"})
				if err != nil {
					t.Fatal(err)
				}
				if err := g.AddSource(&source{p: c.p, size: size, group: of}, values, &metrics.Options{Threads: threads}); err != nil {
					t.Fatal(c.name, err)
				}
				if !bytes.Equal(stateOf(t, g.Whole()), want) {
					t.Errorf("%s: the whole is not the evaluation of all rows (chunks of %d, %d threads)", c.name, size, threads)
				}
				b := stateOf(t, g)
				if first == nil {
					first = b
				}
				if !bytes.Equal(first, b) {
					t.Errorf("%s: the groups depend on chunks (%d) or threads (%d)", c.name, size, threads)
				}
				var again grouped.Evaluation
				if err := again.UnmarshalBinary(b); err != nil || !bytes.Equal(stateOf(t, &again), b) {
					t.Errorf("%s: a state read is another: %v", c.name, err)
				}
			}
		}
		var g grouped.Evaluation
		if err := g.UnmarshalBinary(first); err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for i, e := range g.Each() {
			n, _ := strconv.Atoi(e.Values[0])
			seen[n] = true
			if i > 0 && n <= lastOf(g.Each(), i) {
				t.Errorf("%s: groups are not in the order of their numbers", c.name)
			}
			// Rows of the group alone: those of others have no weight.
			q := *c.p
			q.Weights = make([]float64, q.Rows)
			for i := range q.Weights {
				if int(of(i))*5 == n {
					if q.Weights[i] = 1; c.p.Weights != nil {
						q.Weights[i] = c.p.Weights[i]
					}
				}
			}
			want := alone(t, c.spec, &q)
			if want.Audit.Rows != e.Audit.Rows {
				t.Errorf("%s: group %v has %d rows, want %d", c.name, e.Values, e.Audit.Rows, want.Audit.Rows)
			}
			if c.p.Weights == nil {
				continue
			}
			want.Audit.Absent = e.Audit.Absent
			if !bytes.Equal(stateOf(t, want), stateOf(t, e.Evaluation)) {
				t.Errorf("%s: group %v is not the evaluation of its rows", c.name, e.Values)
			}
		}
		if len(seen) != len(g.Each()) || len(seen) < 4 {
			t.Errorf("%s: groups %v", c.name, seen)
		}
		// Halves merge to the whole.
		half := func(from, to int) *grouped.Evaluation {
			h, err := grouped.New(c.spec, []string{"site", "what"})
			if err != nil {
				t.Fatal(err)
			}
			q := *c.p
			q.Weights = make([]float64, q.Rows)
			for i := range q.Weights {
				if i >= from && i < to {
					if q.Weights[i] = 1; c.p.Weights != nil {
						q.Weights[i] = c.p.Weights[i]
					}
				}
			}
			if err := h.AddSource(&source{p: &q, size: 100, group: of}, values, nil); err != nil {
				t.Fatal(err)
			}
			return h
		}
		a, b := half(0, 400), half(400, 5000)
		if err := a.Merge(b); err != nil {
			t.Fatal(err)
		}
		if c.p.Weights != nil {
			h := a.Whole()
			all := alone(t, c.spec, c.p)
			h.Audit.Absent = all.Audit.Absent
			if !bytes.Equal(stateOf(t, h), stateOf(t, all)) {
				t.Errorf("%s: halves do not merge to the whole", c.name)
			}
		}
	}
}

func lastOf(l []grouped.Group, i int) int {
	n, _ := strconv.Atoi(l[i-1].Values[0])
	return n
}

func TestRefuse(t *testing.T) {
	spec := eval.Spec{Classes: 3, Kind: metrics.Normals}
	spec.Metrics, _ = eval.ParseMetrics("default", spec.Shape())
	p := testrows.Normals(1, 1200, false)
	p.F64[3*700+1] = -1
	p.F64[3*30+2] = math.NaN()
	p.F64[3*31+2] = math.Inf(1)
	one := func(g int32) []string { return []string{fmt.Sprint(g)} }
	g, err := grouped.New(spec, []string{"site"})
	if err != nil {
		t.Fatal(err)
	}
	before := stateOf(t, g)
	err = g.AddSource(&source{p: p, size: 50, group: func(i int) int32 { return int32(i % 3) }}, one, &metrics.Options{Threads: 2})
	var d *metrics.DataError
	if !errors.As(err, &d) || d.Rows != 1200 || len(d.Faults) != 2 || d.Faults[0].Row != 30 || d.Faults[0].Count != 2 || d.Faults[1].Row != 700 {
		t.Errorf("%v", err)
	}
	if s := fmt.Sprint(err); !strings.Contains(s, "row 30, column 2: observed value is NaN") || !strings.Contains(s, "row 700, column 1: standard deviation is -1") {
		t.Errorf("the error does not say of what the rows are: %v", err)
	}
	if !bytes.Equal(stateOf(t, g), before) {
		t.Error("an error changed the groups")
	}
	if err := g.AddSource(&source{p: p, size: 50, group: func(i int) int32 { return int32(i % 3) }}, one, &metrics.Options{Drop: true}); err != nil {
		t.Fatal(err)
	}
	if a := g.Whole().Audit; a.Rows != 1197 || a.Dropped != 3 {
		t.Error(a)
	}
	err = g.AddSource(&source{p: testrows.Normals(1, grouped.Most+1, false), size: 5000, group: func(i int) int32 { return int32(i) }}, one, nil)
	if err == nil || !strings.Contains(err.Error(), "by site rows are in more than 100000 groups") {
		t.Error(err)
	}
	other, err := grouped.New(spec, []string{"place"})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Merge(other); !errors.Is(err, metrics.ErrMismatch) {
		t.Error(err)
	}
	exact, err := eval.ParseMetrics("auroc(exact)", eval.Shape{Classes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grouped.New(eval.Spec{Classes: 1, Metrics: exact}, []string{"g"}); err == nil {
		t.Error("groups keep rows")
	}
	if _, err := grouped.New(spec, nil); err == nil {
		t.Error("groups by no column")
	}
	for i := range before {
		b := bytes.Clone(before)
		b[i] ^= 1
		if err := new(grouped.Evaluation).UnmarshalBinary(b); err == nil {
			t.Fatalf("byte %d changed, and read", i)
		}
	}
}
