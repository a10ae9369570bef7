package cells_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// binary returns n rows with outcomes and scores P(y = 1) of the given number of distinct values.
func binary(seed uint64, n, values int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &metrics.Predictions{Labels: make([]int32, n)}
	p.Rows, p.Classes, p.F64 = n, 1, make([]float64, n)
	for i := range p.F64 {
		u := r.Float64()
		if values > 0 {
			u = float64(r.IntN(values)) / float64(values-1)
		}
		if r.IntN(4) == 0 {
			u = u * u * u * u * u * u
		}
		p.F64[i] = u
		if r.Float64() < u {
			p.Labels[i] = 1
		}
	}
	return p
}

func of(t testing.TB, p *metrics.Predictions, o *cells.Options) *cells.Cells {
	t.Helper()
	c := metrics.Must(cells.New(o))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	return c
}

func state(t testing.TB, c *cells.Cells) []byte {
	t.Helper()
	b, err := c.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// part returns rows [from, to).
func part(p *metrics.Predictions, from, to int) *metrics.Predictions {
	q := *p
	q.Rows, q.F64, q.Labels = to-from, p.F64[from*p.Classes:to*p.Classes], p.Labels[from:to]
	if p.Weights != nil {
		q.Weights = p.Weights[from:to]
	}
	return &q
}

// TestExact checks that exact cells are the distinct scores with their counts.
func TestExact(t *testing.T) {
	p := binary(1, 50000, 700)
	type count struct{ n, y int64 }
	want := map[float64]*count{}
	for i, v := range p.F64 {
		if want[v] == nil {
			want[v] = new(count)
		}
		want[v].n++
		want[v].y += int64(p.Labels[i])
	}
	c := of(t, p, nil)
	if !c.Exact() || c.Len() != 50000 || c.Event() != metrics.Positive {
		t.Fatal(c.Exact(), c.Len(), c.Event())
	}
	last, seen := -1.0, 0
	c.Each(func(x *cells.Cell) {
		w := want[x.P]
		if w == nil || x.N != w.n || x.Events != float64(w.y) || x.P <= last || x.Low != x.P || x.High != x.P || x.Q != 1-x.P {
			t.Fatalf("%+v, want %+v", x, w)
		}
		last = x.P
		seen++
	})
	if seen != len(want) {
		t.Errorf("%d cells of %d scores", seen, len(want))
	}
}

// TestSums checks that the sums of cells, exact or on a grid, are exactly those of the rows.
func TestSums(t *testing.T) {
	for _, values := range []int{900, 0} {
		p := binary(2, 600000, values)
		c := of(t, p, nil)
		if c.Exact() != (values > 0) {
			t.Fatalf("%d values: exact %v", values, c.Exact())
		}
		const bins = 15
		var want, got [bins]tally.Cell
		for i, v := range p.F64 {
			want[min(int(v*bins), bins-1)].AddAll([]float64{v}, []uint8{uint8(p.Labels[i])}, nil)
		}
		rows, n := 0, int64(0)
		c.Each(func(x *cells.Cell) {
			b := min(int(x.P*bins), bins-1)
			sums := tally.Of(x)
			got[b].Merge(&sums)
			if lo, hi := min(int(x.Low*bins), bins-1), min(int(x.High*bins), bins-1); lo != hi {
				t.Errorf("cell [%v, %v] is in two bins", x.Low, x.High)
			}
			if !(x.Low <= x.P && x.P <= x.High) {
				t.Errorf("mean %v of [%v, %v]", x.P, x.Low, x.High)
			}
			rows++
			n += x.N
		})
		if n != 600000 {
			t.Errorf("%d rows", n)
		}
		for b := range want {
			w, g := &want[b], &got[b]
			if g.N != w.N || !g.Y.Equal(&w.Y) || !g.P.Equal(&w.P) || !g.PY.Equal(&w.PY) {
				t.Errorf("bin %d: %v %v, want %v %v", b, g.N, g.P.Float64(), w.N, w.P.Float64())
			}
			// In the upper half the squares are those of 1 - p, which round differently.
			if d := g.PP.Float64() - w.PP.Float64(); math.Abs(d) > float64(w.N)*0x1p-49 {
				t.Errorf("bin %d: squares %v off", b, d)
			}
		}
	}
}

// TestMerge checks that any division of the rows gives the same bytes, also if only some parts have a grid.
func TestMerge(t *testing.T) {
	for _, tc := range []struct{ n, values int }{{300000, 0}, {700000, 0}, {200000, 5000}} {
		if tc.n == 700000 && !check.Full() || tc.n == 200000 && testing.Short() {
			continue
		}
		p := binary(3, tc.n, tc.values)
		for _, weighted := range []bool{false, true} {
			if weighted {
				p = part(p, 0, tc.n/5)
				p.Weights = make([]float64, p.Rows)
				for i := range p.Weights {
					p.Weights[i] = float64(i%7) / 3
				}
			}
			want := state(t, of(t, p, nil))
			r := rand.New(rand.NewPCG(4, 4))
			for _, parts := range []int{2, 3, 9} {
				if !check.Full() && (parts == 3 || parts == 9 && tc.n == 700000) {
					continue
				}
				cuts := []int{0, p.Rows}
				for range parts - 1 {
					cuts = append(cuts, r.IntN(p.Rows))
				}
				slices.Sort(cuts)
				sum := metrics.Must(cells.New(nil))
				for _, i := range r.Perm(parts) {
					if err := sum.Merge(of(t, part(p, cuts[i], cuts[i+1]), nil)); err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(state(t, sum), want) {
					t.Errorf("%v weighted %v: %d parts differ from the whole", tc, weighted, parts)
				}
				var again cells.Cells
				if err := again.UnmarshalBinary(want); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(state(t, &again), want) || again.Len() != sum.Len() {
					t.Error("a state read is another")
				}
			}
		}
	}
}

// TestLimit checks that cells collapse to a grid at one distinct score more than the limit, however often each score occurs.
func TestLimit(t *testing.T) {
	n := cells.MaxExact
	p := &metrics.Predictions{Labels: make([]int32, 2*n+2)}
	p.Rows, p.Classes = 2*n+2, 1
	for i := range p.Rows {
		p.F64 = append(p.F64, float64(i%(n+1))/float64(n+1))
	}
	if c := of(t, p, nil); c.Exact() {
		t.Error("too many cells are exact")
	}
	for i := range p.F64 {
		p.F64[i] = float64(i%n) / float64(n)
	}
	if c := of(t, p, nil); !c.Exact() {
		t.Error("as many cells as there may be are not")
	}
}

// TestTopLabel checks that the cells of the top label computed from those of class 1 equal those of the rows.
func TestTopLabel(t *testing.T) {
	for _, tc := range []struct {
		n, values int
		weighted  bool
	}{{40000, 300, false}, {400000, 0, false}, {40000, 301, true}, {60000, 0, true}} {
		p := binary(5, tc.n, tc.values)
		for i := 0; i < tc.n; i += 97 {
			p.F64[i] = 0.5 // predicts class 0
		}
		if tc.weighted {
			p.Weights = make([]float64, tc.n)
			for i := range p.Weights {
				p.Weights[i] = float64(1 + i%3)
			}
		}
		got := of(t, p, nil).TopLabel()
		want := of(t, p, &cells.Options{Event: metrics.TopLabel})
		if got.Exact() != want.Exact() && tc.values > 0 {
			t.Fatalf("%v: exact %v, want %v", tc, got.Exact(), want.Exact())
		}
		var g, w [20]tally.Cell
		fill := func(c *cells.Cells, to *[20]tally.Cell) {
			c.Each(func(x *cells.Cell) {
				t := tally.Of(x)
				to[min(int(x.P*20), 19)].Merge(&t)
			})
		}
		fill(got, &g)
		fill(want, &w)
		for b := range g {
			if g[b].N != w[b].N || !g[b].Y.Equal(&w[b].Y) || math.Abs(g[b].P.Float64()-w[b].P.Float64()) > float64(tc.n)*0x1p-50 {
				t.Errorf("%v: bin %d: %d rows, %v of them, sum %v, want %d %v %v", tc, b, g[b].N, g[b].Y.Float64(), g[b].P.Float64(),
					w[b].N, w[b].Y.Float64(), w[b].P.Float64())
			}
		}
	}
}

// TestShared checks an accumulator that shares memory after a merge into an empty one: neither sees later rows of the other.
func TestShared(t *testing.T) {
	for _, n := range []int{100, 5000, 278528, 300000} {
		if testing.Short() && n == 278528 {
			continue
		}
		a := of(t, binary(11, min(n, 278528), n/2), nil)
		before := state(t, a)
		b := metrics.Must(cells.New(nil))
		if err := b.Merge(a); err != nil {
			t.Fatal(err)
		}
		more, other := binary(12, n, 900), binary(13, n, 700)
		add := func(c *cells.Cells, p *metrics.Predictions) {
			if err := metrics.NewPass(&metrics.Options{Threads: 1}, c).Add(p); err != nil {
				t.Fatal(err)
			}
		}
		add(a, more)
		if !bytes.Equal(state(t, b), before) {
			t.Fatalf("%d rows: the one sees what the other got", n)
		}
		add(b, other)
		add(b, other)
		want := of(t, binary(11, min(n, 278528), n/2), nil)
		add(want, more)
		if !bytes.Equal(state(t, a), state(t, want)) {
			t.Fatalf("%d rows: the other sees what the one got", n)
		}
	}
}

// TestMismatch checks that accumulators of different types, options or rows do not merge, and that neither changes.
func TestMismatch(t *testing.T) {
	rows := func(classes int, change func(p *metrics.Predictions)) *metrics.Predictions {
		p := binary(1, 10, 0)
		if p.Classes = classes; classes > 1 {
			p.Kind, p.F64 = metrics.Logits, make([]float64, 10*classes)
		}
		if change != nil {
			change(p)
		}
		return p
	}
	weighted := func(p *metrics.Predictions) { p.Weights = slices.Repeat([]float64{1}, 10) }
	decided := func(p *metrics.Predictions) { p.Decisions = make([]int32, 10) }
	logits := func(p *metrics.Predictions) { p.Kind = metrics.Logits }
	top := func() metrics.Accumulator { return metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel})) }
	positive := func() metrics.Accumulator { return metrics.Must(cells.New(&cells.Options{Event: metrics.Positive})) }
	kept := func() metrics.Accumulator { return cells.NewKept(metrics.TopLabel, 0) }
	short := func() metrics.Accumulator { return cells.NewKept(metrics.TopLabel, 100) }
	plain := rows(1, nil)
	for _, c := range []struct {
		what string
		a    func() metrics.Accumulator
		p    *metrics.Predictions
		b    func() metrics.Accumulator
		q    *metrics.Predictions
	}{
		{"cells.Cells and *cells.Kept", top, plain, kept, plain},
		{"cells.Cells of different events", top, plain, positive, plain},
		{"cells.Cells of 1 classes and of 3", top, plain, top, rows(3, nil)},
		{"cells.Cells with and without weights", top, plain, top, rows(1, weighted)},
		{"cells.Cells of decisions and of arg maxes", top, plain, top, rows(1, decided)},
		{"cells.Cells of scores of different types", top, plain, top, rows(1, logits)},
		{"cells.Kept and *cells.Cells", kept, plain, top, plain},
		{"cells.Kept of different events or limits", kept, plain, short, plain},
		{"cells.Kept of 1 classes and of 3", kept, plain, kept, rows(3, nil)},
		{"cells.Kept with and without weights", kept, plain, kept, rows(1, weighted)},
		{"cells.Kept of scores of different types", kept, plain, kept, rows(1, logits)},
	} {
		a, b := c.a(), c.b()
		for acc, p := range map[metrics.Accumulator]*metrics.Predictions{a: c.p, b: c.q} {
			if err := metrics.NewPass(nil, acc).Add(p); err != nil {
				t.Fatal(c.what, err)
			}
		}
		before := a.Len()
		if err := a.Merge(b); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), c.what) || a.Len() != before {
			t.Errorf("%s: %v, %d rows", c.what, err, a.Len())
		}
	}
}

// TestDamage checks that damaged states are an error.
func TestDamage(t *testing.T) {
	p := binary(6, 3000, 0)
	w := part(p, 0, 300)
	w.Weights = slices.Repeat([]float64{0.5}, 300)
	for _, good := range [][]byte{state(t, of(t, p, nil)), state(t, of(t, w, nil)), state(t, of(t, binary(6, 270000, 0), nil))} {
		r := rand.New(rand.NewPCG(7, 7))
		for range 300 {
			bad := slices.Clone(good)
			bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
			var c cells.Cells
			if err := c.UnmarshalBinary(bad); !errors.Is(err, exact.ErrDamaged) && !errors.Is(err, exact.ErrShort) && err == nil {
				t.Fatal("damage was not seen")
			}
			if err := c.UnmarshalBinary(good[:r.IntN(len(good))]); err == nil {
				t.Fatal("a part was taken for the whole")
			}
		}
	}
}

func BenchmarkCells(b *testing.B) {
	for _, tc := range []struct {
		name   string
		values int
	}{{"exact 1e5", 1e5}, {"grid", 0}} {
		b.Run(tc.name, func(b *testing.B) {
			p := binary(8, 1<<22, tc.values)
			c := metrics.Must(cells.New(nil))
			pass := metrics.NewPass(&metrics.Options{Threads: 1}, c)
			empty := metrics.NewPass(&metrics.Options{Threads: 1})
			for b.Loop() {
				if err := pass.Add(p); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				b.StartTimer()
			}
			_ = empty
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.Rows), "ns/row")
		})
	}
}

// TestMergeShares checks that memory shared after a Merge does not show in either accumulator, whatever is added to the other.
func TestMergeShares(t *testing.T) {
	p := binary(21, 3000, 700)
	b := of(t, part(p, 0, 500), nil)
	if err := metrics.NewPass(nil, b).Add(part(p, 500, 1000)); err != nil { // leaves room in its log
		t.Fatal(err)
	}
	a := metrics.Must(cells.New(nil))
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	if err := metrics.NewPass(nil, b).Add(part(p, 1000, 3000)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(state(t, b), state(t, of(t, p, nil))) || !bytes.Equal(state(t, a), state(t, of(t, part(p, 0, 1000), nil))) {
		t.Error("one has rows of the other")
	}
}

// TestMergeSelf checks that an accumulator merged with itself has all rows twice, also if its log is counted during the merge.
func TestMergeSelf(t *testing.T) {
	for _, n := range []int{1000, 200000} {
		for _, values := range []int{0, 900} {
			p := binary(22, n, values)
			c := of(t, part(p, 0, 500), nil)
			if err := metrics.NewPass(nil, c).Add(part(p, 500, n)); err != nil {
				t.Fatal(err)
			}
			if err := c.Merge(c); err != nil {
				t.Fatal(err)
			}
			want := of(t, p, nil)
			if err := metrics.NewPass(nil, want).Add(p); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(state(t, c), state(t, want)) {
				t.Errorf("%d rows of %d values", n, values)
			}
		}
	}
}

// TestHalf checks that a top probability of 1/2 counts as in [0,1], even if the sum of the others rounds to more than 1/2.
func TestHalf(t *testing.T) {
	const n = 20000
	r := rand.New(rand.NewPCG(23, 1))
	p := &metrics.Predictions{Labels: make([]int32, n)}
	p.Rows, p.Classes, p.Kind, p.F64 = n, 3, metrics.Logits, make([]float64, 3*n)
	for i := range n {
		a := 0.02 + 0.96*r.Float64()
		p.F64[3*i+1], p.F64[3*i+2] = math.Nextafter(math.Log(a), 0), math.Log(1-a)
	}
	c := of(t, p, nil)
	if c.Outside() != 0 || c.Len() != n {
		t.Errorf("%d of %d rows are outside", c.Outside(), c.Len())
	}
}

// TestNoSuchCells checks that cells that no rows can produce are refused, even with the right checksum.
func TestNoSuchCells(t *testing.T) {
	var one tally.Cell
	one.AddWeighted(0.25, 1, 2)
	turned := one
	turned.P, turned.PY = turned.PY.Clone(), exact.Sum{}
	turned.P.Sub(&one.W) // below 0
	numbered := func(number uint64, h *tally.Cell) func(e *exact.Enc) {
		return func(e *exact.Enc) {
			e.U64(number)
			e.I64(h.N)
			for _, s := range []*exact.Sum{&h.W, &h.W2, &h.Y, &h.P, &h.PP, &h.PY} {
				e.Sum(s)
			}
		}
	}
	cell := func(h *tally.Cell) func(e *exact.Enc) { return numbered(math.Float64bits(0.25), h) }
	numbers := func(v ...uint64) func(e *exact.Enc) {
		return func(e *exact.Enc) {
			for _, v := range v {
				e.Uvarint(v)
			}
		}
	}
	exactly := func(l ...triple) func(e *exact.Enc) { return func(e *exact.Enc) { e.Bytes(packed(l...)) } }
	for _, c := range []struct {
		name        string
		event, kind uint8
		classes     uint32
		outside     int64
		count       uint64
		cells       func(e *exact.Enc)
		good        bool
		digits      uint8
		origin      uint8
	}{
		{"none", 0, 0, 0, 0, 0, exactly(), true, 0, 0},
		{"one", 0, 0, 1, 3, 1, exactly(triple{0, 5, 5}), true, 0, 0},
		{"one of float64", 0, 0, 1, 3, 1, exactly(triple{0, 5, 5}), true, 53, 0},
		{"digits of no type", 0, 0, 1, 3, 1, exactly(triple{0, 5, 5}), false, 30, 0},
		{"digits of three classes", 0, 0, 3, 3, 1, exactly(triple{0, 5, 5}), false, 53, 0},
		{"rows of no classes", 0, 0, 0, 3, 0, exactly(), false, 0, 0},
		{"more classes than labels can name", 0, 0, 1 << 31, 0, 0, exactly(), false, 0, 0},
		{"a grid of no classes", 0, 1, 0, 0, 0, numbers(), false, 0, 0},
		{"decisions for the positive class", 0, 0x80, 1, 0, 1, exactly(triple{0, 5, 5}), false, 0, 0},
		{"the positive of three classes", 2, 0, 3, 0, 1, exactly(triple{0, 5, 5}), false, 0, 0},
		{"more rows than there are", 0, 0, 1, 0, 2, exactly(triple{0, 1 << 61, 5}, triple{0 + 7, 1 << 62, 5}), false, 0, 0},
		{"a grid of few rows, as may be left", 0, 1, 1, 0, 1, numbers(0, 5, 0, 0, 0, 0), true, 0, 0},
		{"a grid of no rows", 0, 1, 1, 0, 0, numbers(), false, 0, 0},
		{"a grid", 0, 1, 1, 0, 1, numbers(0, 1<<20, 0, 0, 0, 0), true, 0, 0},
		{"a grid's sum too large", 0, 1, 1, 0, 1, numbers(0, 1<<20, 1<<62, 0, 0, 0), false, 0, 0},
		{"a grid's sum below 0", 0, 1, 1, 0, 1, numbers(0, 1<<20, 0, 1<<63, 0, 0), false, 0, 0},
		{"a weight", 0, 2, 1, 0, 1, cell(&one), true, 0, 0},
		{"a sum below 0", 0, 2, 1, 0, 1, cell(&turned), false, 0, 0},
		{"a grid of one weight, as may be left", 0, 3, 1, 0, 1, numbered(7, &one), true, 0, 0},
		{"a grid of no weights", 0, 3, 1, 0, 0, numbers(), false, 0, 0},
		{"a logit of 0", 2, 0, 1, 0, 1, exactly(triple{1 << 62, 5, 5}), true, 0, 1},
		{"a logit no float64 has", 2, 0, 1, 0, 1, exactly(triple{1<<63 - 1, 5, 5}), false, 0, 2},
		{"a top label's logit below 0", 1, 0, 1, 0, 1, exactly(triple{1<<62 - 1, 5, 5}), false, 0, 2},
		{"a log-probability above 0", 2, 0, 1, 0, 1, exactly(triple{1<<62 + 1<<61, 5, 5}), false, 0, 3},
		{"a log-probability below 0", 2, 0, 1, 0, 1, exactly(triple{1<<62 - 1<<61, 5, 5}), true, 0, 3},
		{"a top label's log-probability", 1, 0, 1, 0, 1, exactly(triple{1<<62 - 1<<61, 5, 5}), false, 0, 3},
		{"logits of three classes", 1, 0, 3, 0, 1, exactly(triple{1 << 62, 5, 5}), false, 0, 1},
		{"logits of no type", 2, 0, 1, 0, 1, exactly(triple{1 << 62, 5, 5}), false, 0, 4},
	} {
		var e exact.Enc
		e.U8(c.event)
		e.U8(c.kind)
		e.U32(c.classes)
		e.U8(c.digits)
		e.U8(c.origin)
		e.I64(c.outside)
		e.U64(c.count)
		c.cells(&e)
		var got cells.Cells
		err := got.UnmarshalBinary(exact.Seal("cCEL", 4, e.B))
		if (err == nil) != c.good || err != nil && !errors.Is(err, exact.ErrDamaged) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestMoreRowsThanFloatsCount checks repeated merges of states: row counts stay exact beyond the integers that float64 can
// count.
func TestMoreRowsThanFloatsCount(t *testing.T) {
	row := func(p float64, y int32) *cells.Cells {
		c := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
		one := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{p}, Rows: 1, Classes: 1}, Labels: []int32{y}}
		if err := metrics.NewPass(nil, c).Add(one); err != nil {
			t.Fatal(err)
		}
		return c
	}
	const n int64 = 1<<53 + 3
	rounded := float64(n)
	all, one := row(0.75, 1), row(0.75, 1)
	for i := 52; i >= 0; i-- {
		merge(t, all, all)
		if n>>i&1 == 1 {
			merge(t, all, one)
		}
	}
	merge(t, all, row(0.25, 0))
	if all.Len() != n+1 {
		t.Fatal(all.Len())
	}
	if got, want := all.Pairs(), (cells.Pairs{Above: rounded, Events: rounded, Rest: 1}); got != want {
		t.Errorf("pairs are %+v, want %+v", got, want)
	}
	if got, want := all.Squares(), float64(n+1)/16; got != want {
		t.Errorf("squares are %v, want %v", got, want)
	}
	if got := all.Gaps(); got.Low != -0.25 || got.High != float64(n-1)/4 || got.Last != got.High || got.Total != float64(n+1) {
		t.Errorf("gaps are %+v", got)
	}
	all.Each(func(c *cells.Cell) {
		s := tally.Of(c)
		if got, want := s.P.Float64(), float64(c.N)*c.P; math.Abs(got/want-1) > 1e-15 {
			t.Errorf("the sum of %d scores %v is %v, want %v", c.N, c.P, got, want)
		}
	})
}

func merge(t *testing.T, to, from *cells.Cells) {
	t.Helper()
	if err := to.Merge(from); err != nil {
		t.Fatal(err)
	}
}

// TestOfKeys checks that the sorted keys of scores have the same cells as the scores.
func TestOfKeys(t *testing.T) {
	for _, values := range []int{0, 2, 50} {
		for _, weighted := range []bool{false, true} {
			p := binary(uint64(values), 3000, values)
			if weighted {
				for i := range p.Rows {
					p.Weights = append(p.Weights, 0.1+float64(i%7))
				}
			}
			index := make([]int, p.Rows)
			keys := make([]uint64, p.Rows)
			for i, v := range p.F64 {
				index[i], keys[i] = i, math.Float64bits(v)<<1|uint64(p.Labels[i])
			}
			slices.SortFunc(index, func(i, j int) int { return cmp.Compare(keys[i], keys[j]) })
			var sorted []uint64
			var weights []float64
			for _, i := range index {
				if sorted = append(sorted, keys[i]); weighted {
					weights = append(weights, p.Weights[i])
				}
			}
			c, o := of(t, p, nil), cells.OrderedOf(sorted, weights, 3)
			if o.Count() != c.Count() || o.Pairs() != c.Pairs() || !o.Exact() || o.Outside() != 3 || o.Weighted() != weighted {
				t.Errorf("%d values: %d cells, %+v, want %d, %+v", values, o.Count(), o.Pairs(), c.Count(), c.Pairs())
			}
			type cell struct {
				P, Q, Low, High, Weight, Events float64
				N                               int64
				sums                            string
			}
			list := func(o cells.Ordered) (l []cell) {
				o.Each(func(x *cells.Cell) {
					s := tally.Of(x)
					l = append(l, cell{x.P, x.Q, x.Low, x.High, x.Weight, x.Events, x.N, fmt.Sprint(s.P.Float64(), s.PP.Float64(), s.PY.Float64())})
				})
				return l
			}
			if x, y := list(o), list(c); !slices.Equal(x, y) {
				t.Errorf("%d values: %v, want %v", values, x[:2], y[:2])
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("fewer weights than keys")
		}
	}()
	cells.OrderedOf([]uint64{1, 2}, []float64{1}, 0)
}
