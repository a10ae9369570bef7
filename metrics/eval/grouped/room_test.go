package grouped_test

import (
	"bytes"
	"errors"
	"strconv"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// TestRoom: where many goroutines leave too little room for groups, they hand over what they keep of them, and the state is the same. What does
// not fit is refused, and fits into the room that the error names.
func TestRoom(t *testing.T) {
	const rows, groups = 300_000, 12
	p := testrows.Random(5, rows, 1, false)
	few := *p // scores that repeat, which take little
	few.F64 = make([]float64, rows)
	for i, v := range p.F64 {
		few.F64[i] = float64(int(v*100)) / 100
	}
	spec := eval.Spec{Classes: 1}
	spec.Metrics, _ = eval.ParseMetrics("default", spec.Shape())
	values := func(g int32) []string { return []string{strconv.Itoa(int(g))} }
	evaluate := func(p *metrics.Predictions, known int64, room int64, threads int) (state []byte, named int64) {
		g, err := grouped.New(spec, []string{"site"})
		if err != nil {
			t.Fatal(err)
		}
		g.Room = grouped.Room{Bytes: room, Extent: eval.Extent{Rows: known}, Remedy: func(n int64) string { named = n; return "" }}
		err = g.AddSource(&source{p: p, size: 4000, group: func(i int) int32 { return int32(i % groups) }}, values, &metrics.Options{Threads: threads})
		var none *eval.RoomError
		if errors.As(err, &none) {
			return nil, named
		} else if err != nil {
			t.Fatal(err)
		}
		return stateOf(t, g), 0
	}
	for _, c := range []struct {
		name    string
		p       *metrics.Predictions
		threads int
		most    int64 // that groups may ask for
	}{
		{"distinct scores", p, 1, 200 << 20},
		{"distinct scores, many threads", p, 16, 300 << 20},
		{"few scores, many threads", &few, 16, 300 << 20},
	} {
		want, _ := evaluate(c.p, rows, 0, c.threads)
		for _, known := range []int64{rows, -1} {
			tries := 0
			for room := int64(1); ; tries++ {
				got, named := evaluate(c.p, known, room, c.threads)
				if got != nil {
					if !bytes.Equal(got, want) {
						t.Errorf("%s: within %d bytes the state is another", c.name, room)
					}
					if room > c.most {
						t.Errorf("%s: it asks for %d MiB, want at most %d", c.name, room>>20, c.most>>20)
					}
					break
				}
				if named <= room {
					t.Fatalf("%s: there is no room within %d bytes, and the error names %d", c.name, room, named)
				}
				room = named
			}
			// How many rows there are is known, or each time as many bytes again are named at least.
			if known >= 0 && tries > 1 || tries > 12 {
				t.Errorf("%s: %d errors until there was room", c.name, tries)
			}
		}
	}
}

// TestRoomEndless: groups whose scores share cells take no more room, however many rows come.
func TestRoomEndless(t *testing.T) {
	const rows = 600_000
	p := testrows.Random(6, rows, 1, false)
	spec := eval.Spec{Classes: 1}
	spec.Metrics, _ = eval.ParseMetrics("nll,brier,ece", spec.Shape())
	g, err := grouped.New(spec, []string{"site"})
	if err != nil {
		t.Fatal(err)
	}
	// Two groups become a grid each, and two goroutines have both: with the sizes for so many distinct scores it would be twice that.
	g.Room = grouped.Room{Bytes: 88 << 20, Extent: eval.Extent{Rows: -1}}
	for range 3 {
		if err := g.AddSource(&source{p: p, size: 20_000, group: func(i int) int32 { return int32(i % 2) }},
			func(g int32) []string { return []string{strconv.Itoa(int(g))} }, &metrics.Options{Threads: 2}); err != nil {
			t.Fatal(err)
		}
	}
	if n := g.Whole().Audit.Rows; n != 3*rows {
		t.Errorf("%d rows", n)
	}
}

// TestRoomThreads: many goroutines need little more room than two.
func TestRoomThreads(t *testing.T) {
	const rows = 1_000_000
	p := testrows.Random(7, rows, 1, false)
	spec := eval.Spec{Classes: 1}
	spec.Metrics, _ = eval.ParseMetrics("default", spec.Shape())
	for _, threads := range []int{1, 2, 4, 16} {
		g, err := grouped.New(spec, []string{"site"})
		if err != nil {
			t.Fatal(err)
		}
		g.Room = grouped.Room{Bytes: 52 << 20, Extent: eval.Extent{Rows: rows}}
		if err := g.AddSource(&source{p: p, size: 40_000, group: func(i int) int32 { return int32(i % 10) }},
			func(g int32) []string { return []string{strconv.Itoa(int(g))} }, &metrics.Options{Threads: threads}); err != nil {
			t.Errorf("%d threads: %v", threads, err)
		}
	}
}
