package grouped_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// ofGroups yields the rows of an ensemble in chunks of this many rows.
type ofGroups struct {
	m     *metrics.Members
	group func(i int) int32
	size  int
	at    int
}

func (s *ofGroups) Next() (*metrics.MemberChunk, error) {
	n := min(s.size, s.m.Each[0].Rows-s.at)
	if n == 0 {
		return nil, io.EOF
	}
	c := &metrics.MemberChunk{First: int64(s.at)}
	c.Kind, c.Labels = s.m.Kind, s.m.Labels[s.at:s.at+n]
	if s.m.Weights != nil {
		c.Weights = s.m.Weights[s.at : s.at+n]
	}
	for i := range s.m.Each {
		c.Each = append(c.Each, s.m.Each[i].Slice(s.at, s.at+n))
	}
	for i := range n {
		c.Groups = append(c.Groups, s.group(s.at+i))
	}
	s.at += n
	return c, nil
}

// membersOf returns rows of logits of three members.
func membersOf(rows, classes int, weighted bool, r *rand.Rand) *metrics.Members {
	m := &metrics.Members{Kind: metrics.Logits, Labels: make([]int32, rows)}
	for range 3 {
		s := metrics.Scores{Rows: rows, Classes: classes, F32: make([]float32, rows*classes)}
		for i := range s.F32 {
			s.F32[i] = float32(2 * r.NormFloat64())
		}
		m.Each = append(m.Each, s)
	}
	for i := range m.Labels {
		m.Labels[i] = int32(r.IntN(max(2, classes)))
		if weighted {
			m.Weights = append(m.Weights, 0.5+r.Float64())
		}
	}
	return m
}

// pickMembers returns the rows of a group.
func pickMembers(m *metrics.Members, group func(i int) int32, g int32) *metrics.Members {
	p := &metrics.Members{Kind: m.Kind}
	for _, s := range m.Each {
		t := metrics.Scores{Classes: s.Classes, F32: []float32{}}
		for i := range s.Rows {
			if group(i) == g {
				t.F32, t.Rows = append(t.F32, s.F32[i*s.Classes:(i+1)*s.Classes]...), t.Rows+1
			}
		}
		p.Each = append(p.Each, t)
	}
	for i, y := range m.Labels {
		if group(i) == g {
			if p.Labels = append(p.Labels, y); m.Weights != nil {
				p.Weights = append(p.Weights, m.Weights[i])
			}
		}
	}
	return p
}

func bytesOf(t *testing.T, e interface{ AppendBinary([]byte) ([]byte, error) }) []byte {
	t.Helper()
	b, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ensembleSpec(t *testing.T, classes int) eval.Spec {
	t.Helper()
	s := eval.Spec{Classes: classes, Kind: metrics.Probs, Members: 3}
	var err error
	if s.Metrics, err = eval.ParseMetrics("all", s.Shape()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMembers: the groups of an ensemble have the bytes of evaluations of their rows alone, whatever the threads and chunks, and all rows those of
// an evaluation without groups. States are read again, and parts merge.
func TestMembers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	group := func(i int) int32 { return int32(i * i % 7 % 5) }
	values := func(g int32) []string { return []string{fmt.Sprint("g", g)} }
	for _, classes := range []int{1, 4} {
		for _, weighted := range []bool{false, true} {
			m, s := membersOf(3000, classes, weighted, r), ensembleSpec(t, classes)
			whole, err := eval.New(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := whole.AddMembers(&ofGroups{m, group, 3000, 0}, nil); err != nil {
				t.Fatal(err)
			}
			var first []byte
			for _, threads := range []int{1, 3} {
				g, err := grouped.New(s, []string{"site"})
				if err != nil {
					t.Fatal(err)
				}
				if err := g.AddMembers(&ofGroups{m, group, 100 * threads, 0}, values, &metrics.Options{Threads: threads}); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(bytesOf(t, g.Whole()), bytesOf(t, whole)) {
					t.Errorf("%d classes, %d threads: all rows have other bytes than without groups", classes, threads)
				}
				for _, e := range g.Each() {
					var n int32
					fmt.Sscanf(e.Values[0], "g%d", &n)
					own, err := eval.New(s)
					if err != nil {
						t.Fatal(err)
					}
					p := pickMembers(m, group, n)
					if err := own.AddMembers(&ofGroups{p, group, 1000, 0}, nil); err != nil {
						t.Fatal(err)
					}
					// canonical_skce draws by the number of a row, which is another one here.
					for _, metric := range s.Metrics {
						a, b := e.Value(metric), own.Value(metric)
						if fmt.Sprint(a.Value, a.Interval) != fmt.Sprint(b.Value, b.Interval) && metric.Name != "canonical_skce_p" {
							t.Errorf("%d classes, group %d, %v: %v, and alone %v", classes, n, metric, a, b)
						}
					}
					if e.Audit.Rows != own.Audit.Rows || len(e.Members()) != 3 {
						t.Errorf("group %d has %d rows and %d members", n, e.Audit.Rows, len(e.Members()))
					}
				}
				b := bytesOf(t, g)
				if first == nil {
					first = b
				} else if !bytes.Equal(b, first) {
					t.Errorf("%d classes: other bytes with %d threads", classes, threads)
				}
				again := new(grouped.Evaluation)
				if err := again.UnmarshalBinary(b); err != nil {
					t.Fatal(err)
				} else if !bytes.Equal(bytesOf(t, again), b) {
					t.Error("a state that was read has other bytes")
				}
				parts, err := grouped.New(s, []string{"site"})
				if err != nil {
					t.Fatal(err)
				}
				for _, end := range []int{1000, 3000} {
					rest := &ofGroups{m, group, 1000, end - 1000}
					if end == 3000 {
						rest.at = 1000
					}
					if err := parts.AddMembers(&upTo{rest, end}, values, nil); err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(bytesOf(t, parts), b) {
					t.Error("parts have other bytes")
				}
			}
		}
	}
}

// upTo ends at a row.
type upTo struct {
	*ofGroups
	end int
}

func (u *upTo) Next() (*metrics.MemberChunk, error) {
	if u.at >= u.end {
		return nil, io.EOF
	}
	return u.ofGroups.Next()
}

// TestManyMembers: of more than 1,000 groups sums are kept, and those of all groups are the whole.
func TestManyMembers(t *testing.T) {
	m, s := membersOf(5000, 3, false, rand.New(rand.NewPCG(3, 4))), ensembleSpec(t, 3)
	group := func(i int) int32 { return int32(i % 1500) }
	g, err := grouped.New(s, []string{"site"})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.AddMembers(&ofGroups{m, group, 700, 0}, func(g int32) []string { return []string{fmt.Sprint(g)} }, nil); err != nil {
		t.Fatal(err)
	}
	rows, right := int64(0), 0.0
	accuracy, err := eval.ParseMetrics("accuracy", s.Shape())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range g.Briefs() {
		rows += b.Rows
		right += float64(b.Rows) * b.Answers(accuracy, 0.95)[0].Value
	}
	if want := g.Whole().Value(accuracy[0]).Value * 5000; rows != 5000 || right < want-1e-6 || right > want+1e-6 || len(g.Each()) != 0 {
		t.Errorf("%d rows, %v right of %v, %d groups with evaluations", rows, right, want, len(g.Each()))
	}
}

// TestMembersRefused: bad rows have the error of an evaluation without groups, and change nothing; they can be dropped. A limit of memory holds.
func TestMembersRefused(t *testing.T) {
	m, s := membersOf(500, 3, false, rand.New(rand.NewPCG(5, 6))), ensembleSpec(t, 3)
	nan := m.Each[1].F32[0]
	nan -= nan
	m.Each[1].F32[3*77] = 0 / nan // not a number
	m.Labels[300] = 9
	group := func(i int) int32 { return int32(i % 3) }
	values := func(g int32) []string { return []string{fmt.Sprint(g)} }
	e, err := eval.New(s)
	if err != nil {
		t.Fatal(err)
	}
	want := e.AddMembers(&ofGroups{m, group, 100, 0}, nil)
	g, err := grouped.New(s, []string{"site"})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.AddMembers(&ofGroups{m, group, 100, 0}, values, nil); err == nil || want == nil || err.Error() != want.Error() || g.Len() > 0 {
		t.Errorf("%v; want %v", err, want)
	}
	if err := g.AddMembers(&ofGroups{m, group, 100, 0}, values, &metrics.Options{Drop: true}); err != nil {
		t.Fatal(err)
	}
	dropped := int64(0)
	for _, e := range g.Each() {
		dropped += e.Audit.Dropped
	}
	if g.Whole().Audit.Dropped != 2 || dropped != 2 || g.Whole().Audit.Rows != 498 {
		t.Errorf("%d and %d rows were dropped", dropped, g.Whole().Audit.Dropped)
	}
	small, err := grouped.New(s, []string{"site"})
	if err != nil {
		t.Fatal(err)
	}
	small.Room = grouped.Room{Bytes: 1 << 12, Extent: eval.Extent{Rows: 500}}
	var full *eval.RoomError
	if err := small.AddMembers(&ofGroups{m, group, 100, 0}, values, &metrics.Options{Drop: true}); !errors.As(err, &full) {
		t.Errorf("4 KiB: %v", err)
	}
	if err := small.AddSource(&source{&metrics.Predictions{}, 1, group, 0}, values, nil); !errors.Is(err, metrics.ErrMismatch) {
		t.Errorf("one model: %v", err)
	}
}
