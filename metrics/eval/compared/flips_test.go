package compared

import (
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// inChunks is a source of the rows in chunks of this many.
type inChunks struct {
	p        *metrics.Predictions
	at, each int
}

func (s *inChunks) Next() (*metrics.Chunk, error) {
	if s.at >= s.p.Rows {
		return nil, io.EOF
	}
	to := min(s.p.Rows, s.at+s.each)
	c := &metrics.Chunk{Predictions: s.p.Slice(s.at, to), First: int64(s.at)}
	s.at = to
	return c, nil
}

// TestFlipped: every row whose decisions differ is told once, in parts whose numbers order the rows, whatever the threads; rows that
// do not count are not.
func TestFlipped(t *testing.T) {
	for _, classes := range []int{1, 2, 4} {
		const n = 5000
		l := models(3, n, classes, 3, true)
		for _, p := range l {
			p.Weights[7], p.Labels[11] = 0, metrics.Ignored
		}
		decided := func(p *metrics.Predictions, i int) (int32, float64) {
			if classes == 1 {
				if v := p.F64[i]; v > 0.5 {
					return 1, v
				}
				return 0, 1 - p.F64[i]
			}
			row := p.F64[i*classes : (i+1)*classes]
			top := slices.Max(row)
			return int32(slices.Index(row, top)), top
		}
		var want []Flip
		for i := range n {
			if i == 7 || i == 11 {
				continue
			}
			for _, ab := range [][2]int{{1, 0}, {1, 2}} { // the baseline is the second
				a, x := decided(l[ab[0]], i)
				b, y := decided(l[ab[1]], i)
				if a != b {
					want = append(want, Flip{int64(i), ab[0], ab[1], l[0].Labels[i], [2]int32{a, b}, [2]float64{x, y}})
				}
			}
		}
		if len(want) < n/50 {
			t.Fatalf("only %d rows differ", len(want))
		}
		for _, threads := range []int{1, 4} {
			c, err := New(specOf(t, classes, "nll"), []string{"a", "b", "c"}, "b")
			if err != nil {
				t.Fatal(err)
			}
			parts := map[int64][]Flip{}
			var mu sync.Mutex
			c.Flipped = func(part int64, rows []Flip) error {
				mu.Lock()
				defer mu.Unlock()
				if _, twice := parts[part]; twice || len(rows) == 0 {
					t.Errorf("part %d came twice, or empty", part)
				}
				parts[part] = slices.Clone(rows)
				return nil
			}
			if err := c.AddSources([]metrics.Source{&inChunks{l[0], 0, 300}, &inChunks{l[1], 0, 170}, &inChunks{l[2], 0, 411}}, &metrics.Options{Threads: threads}); err != nil {
				t.Fatal(err)
			}
			// They are counted without accuracy among the metrics.
			differ, right := map[[2]int]int64{}, map[[2]int]int64{}
			for _, f := range want {
				if differ[[2]int{f.A, f.B}]++; f.Decisions[0] == f.Label {
					right[[2]int{f.A, f.B}]++
				}
			}
			for _, f := range c.Flips() {
				if ab := [2]int{f.A, f.B}; f.Rows != n-2 || f.Differ != differ[ab] || f.OnlyA != right[ab] || f.Differ == 0 {
					t.Errorf("%d classes: flips are %+v, want %d, of which %d are right before", classes, f, differ[ab], right[ab])
				}
			}
			if len(c.Flips()) != 2 {
				t.Errorf("%d classes: flips of %d pairs", classes, len(c.Flips()))
			}
			var order []int64
			for p := range parts {
				order = append(order, p)
			}
			slices.Sort(order)
			var got []Flip
			for _, p := range order {
				got = append(got, parts[p]...)
			}
			if len(order) < 10 || !slices.Equal(got, want) {
				t.Errorf("%d classes, %d threads: %d rows in %d parts, want %d", classes, threads, len(got), len(order), len(want))
			}
		}
		full := errors.New("disk full")
		c, _ := New(specOf(t, classes, "nll"), []string{"a", "b", "c"}, "b")
		c.Flipped = func(int64, []Flip) error { return full }
		if err := c.AddSources(sources(l), nil); !errors.Is(err, full) {
			t.Errorf("an error of Flipped gave %v", err)
		}
	}
}
