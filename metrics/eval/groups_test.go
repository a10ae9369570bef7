package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
)

// groupedSource yields predictions in chunks of this many rows; group gives the group of each row.
type groupedSource struct {
	p     *metrics.Predictions
	size  int
	group func(i int) int32
	at    int
}

func (s *groupedSource) Next() (*metrics.Chunk, error) {
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

// normals are rows of mean, standard deviation and observed number.
func normals(seed uint64, n int, weighted bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 4))
	p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: n, Classes: 3}}
	for range n {
		m, sd := 10*r.NormFloat64(), math.Exp(r.NormFloat64())
		p.F64 = append(p.F64, m, sd, m+1.3*sd*r.NormFloat64())
		if weighted {
			p.Weights = append(p.Weights, float64(r.IntN(3)))
		}
	}
	return p
}

func groupState(t testing.TB, g *Groups) []byte {
	t.Helper()
	b, err := g.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGroups: the whole is, to the byte, the evaluation without groups, and each group that of its rows alone, whatever the chunks, the
// threads and the order in which groups come.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		name    string
		spec    Spec
		p       *metrics.Predictions
		metrics string
	}{
		{"binary", Spec{Classes: 1}, predictions(1, 900, 1, false), "all"},
		{"classes", Spec{Classes: 4}, predictions(2, 700, 4, true), "all"},
		{"normals", Spec{Classes: 3, Kind: metrics.Normals, Seed: 3}, normals(3, 1000, true), "all"},
	} {
		list, err := ParseMetrics(c.metrics, c.spec.Shape())
		if err != nil {
			t.Fatal(c.name, err)
		}
		c.spec.Metrics = list
		const groups = 7
		of := func(i int) int32 { return int32(i * i % 11 % groups) }
		values := func(g int32) []string { return []string{strconv.Itoa(int(g) * 5), "all"} }
		want := state(t, fill(t, c.spec, c.p))
		var first []byte
		for _, size := range []int{1, 64, 333, 5000} {
			for _, threads := range []int{1, 3} {
				if !check.Full() && threads != 1+size%2*2 {
					continue
				}
				g, err := NewGroups(c.spec, []string{"site", "what"})
				if err != nil {
					t.Fatal(err)
				}
				if err := g.AddSource(&groupedSource{p: c.p, size: size, group: of}, values, &metrics.Options{Threads: threads}); err != nil {
					t.Fatal(c.name, err)
				}
				if !bytes.Equal(state(t, g.Whole()), want) {
					t.Errorf("%s: the whole is not the evaluation of all rows (chunks of %d, %d threads)", c.name, size, threads)
				}
				b := groupState(t, g)
				if first == nil {
					first = b
				}
				if !bytes.Equal(first, b) {
					t.Errorf("%s: the groups depend on chunks (%d) or threads (%d)", c.name, size, threads)
				}
				var again Groups
				if err := again.UnmarshalBinary(b); err != nil || !bytes.Equal(groupState(t, &again), b) {
					t.Errorf("%s: a state read is another: %v", c.name, err)
				}
			}
		}
		var g Groups
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
			alone := fill(t, c.spec, &q)
			if alone.Audit.Rows != e.Audit.Rows {
				t.Errorf("%s: group %v has %d rows, want %d", c.name, e.Values, e.Audit.Rows, alone.Audit.Rows)
			}
			if c.p.Weights == nil {
				continue
			}
			alone.Audit.Absent = e.Audit.Absent
			if !bytes.Equal(state(t, alone), state(t, e.Evaluation)) {
				t.Errorf("%s: group %v is not the evaluation of its rows", c.name, e.Values)
			}
		}
		if len(seen) != len(g.Each()) || len(seen) < 4 {
			t.Errorf("%s: groups %v", c.name, seen)
		}
		// Halves merge to the whole.
		half := func(from, to int) *Groups {
			h, err := NewGroups(c.spec, []string{"site", "what"})
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
			if err := h.AddSource(&groupedSource{p: &q, size: 100, group: of}, values, nil); err != nil {
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
			all := fill(t, c.spec, c.p)
			h.Audit.Absent = all.Audit.Absent
			if !bytes.Equal(state(t, h), state(t, all)) {
				t.Errorf("%s: halves do not merge to the whole", c.name)
			}
		}
	}
}

func lastOf(l []Group, i int) int {
	n, _ := strconv.Atoi(l[i-1].Values[0])
	return n
}

func TestGroupsRefuse(t *testing.T) {
	spec := Spec{Classes: 3, Kind: metrics.Normals}
	spec.Metrics, _ = ParseMetrics("default", spec.Shape())
	p := normals(1, 1200, false)
	p.F64[3*700+1] = -1
	p.F64[3*30+2] = math.NaN()
	p.F64[3*31+2] = math.Inf(1)
	one := func(g int32) []string { return []string{fmt.Sprint(g)} }
	g, err := NewGroups(spec, []string{"site"})
	if err != nil {
		t.Fatal(err)
	}
	before := groupState(t, g)
	err = g.AddSource(&groupedSource{p: p, size: 50, group: func(i int) int32 { return int32(i % 3) }}, one, &metrics.Options{Threads: 2})
	var d *metrics.DataError
	if !errors.As(err, &d) || d.Rows != 1200 || len(d.Faults) != 2 || d.Faults[0].Row != 30 || d.Faults[0].Count != 2 || d.Faults[1].Row != 700 {
		t.Errorf("%v", err)
	}
	if s := fmt.Sprint(err); !strings.Contains(s, "row 30, column 2: observed value is NaN") || !strings.Contains(s, "row 700, column 1: standard deviation is -1") {
		t.Errorf("the error does not say of what the rows are: %v", err)
	}
	if !bytes.Equal(groupState(t, g), before) {
		t.Error("an error changed the groups")
	}
	if err := g.AddSource(&groupedSource{p: p, size: 50, group: func(i int) int32 { return int32(i % 3) }}, one, &metrics.Options{Drop: true}); err != nil {
		t.Fatal(err)
	}
	if a := g.Whole().Audit; a.Rows != 1197 || a.Dropped != 3 {
		t.Error(a)
	}
	err = g.AddSource(&groupedSource{p: normals(1, 1200, false), size: 5000, group: func(i int) int32 { return int32(i) }}, one, nil)
	if err == nil || !strings.Contains(err.Error(), "by site rows are in more than 1000 groups") {
		t.Error(err)
	}
	other, err := NewGroups(spec, []string{"place"})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Merge(other); !errors.Is(err, metrics.ErrMismatch) {
		t.Error(err)
	}
	if _, err := NewGroups(spec, nil); err == nil {
		t.Error("groups by no column")
	}
	for i := range before {
		b := bytes.Clone(before)
		b[i] ^= 1
		if err := new(Groups).UnmarshalBinary(b); err == nil {
			t.Fatalf("byte %d changed, and read", i)
		}
	}
}
