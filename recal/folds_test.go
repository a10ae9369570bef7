package recal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
)

func TestFoldsCount(t *testing.T) {
	if n := (Folds{}).Count(); n != 5 {
		t.Errorf("%d", n)
	}
	if n := (Folds{K: 2}).Count(); n != 2 {
		t.Errorf("%d", n)
	}
	for _, f := range []func(){
		func() { Folds{K: 1}.Count() }, func() { Folds{K: -3}.Fold(0) },
		func() { Folds{}.Split(nil, 5) }, func() { Folds{}.Split(nil, -1) },
	} {
		func() {
			defer func() {
				if recover() != errFolds {
					t.Error("it does not panic")
				}
			}()
			f()
		}()
	}
}

// foldsChi2 returns how far counts are from even, in standard deviations of chi-square.
func foldsChi2(counts []int, n int) float64 {
	even, chi := float64(n)/float64(len(counts)), 0.0
	for _, c := range counts {
		chi += (float64(c) - even) * (float64(c) - even) / even
	}
	free := float64(len(counts) - 1)
	return (chi - free) / math.Sqrt(2*free)
}

// TestFoldsEven: folds have as many rows each, whatever the seed, the first row, or what divides the rows' numbers; neighbours, and
// two seeds, are as if they knew nothing of each other.
func TestFoldsEven(t *testing.T) {
	const n = 40000
	for turn, k := range []int{2, 3, 5, 10, 16} {
		for i, seed := range []uint64{0, 1, 2, 1 << 32, math.MaxUint64} {
			f, g := Folds{K: k, Seed: seed}, Folds{K: k, Seed: seed + 1}
			for j, first := range []int64{0, 1e6, 1 << 40} {
				for l, step := range []int64{1, 2, 10, 64, 1 << 20} {
					if (turn+i+j+l)%check.Size(5, 2, 1) != 0 {
						continue
					}
					counts, pairs, seeds := make([]int, k), make([]int, k*k), make([]int, k*k)
					for i := range int64(n) {
						row := first + i*step
						a, b := f.Fold(row), f.Fold(row+step)
						counts[a]++
						pairs[a*k+b]++
						seeds[a*k+g.Fold(row)]++
					}
					for what, c := range map[string][]int{"folds": counts, "neighbours": pairs, "seeds": seeds} {
						if z := foldsChi2(c, n); z > 7 {
							t.Errorf("K %d, seed %d, from %d by %d: %s are uneven, %.1f: %v", k, seed, first, step, what, z, c)
						}
					}
				}
			}
		}
	}
}

// TestFoldsOf: which fold a row is in must never change, for what was published may hang on it.
func TestFoldsOf(t *testing.T) {
	var got []int
	for row := range int64(20) {
		got = append(got, Folds{}.Fold(row), Folds{K: 2, Seed: 7}.Fold(row))
	}
	want := []int{0, 0, 4, 0, 1, 1, 2, 1, 4, 0, 1, 0, 1, 0, 0, 0, 2, 0, 3, 0, 2, 1, 1, 0, 0, 1, 0, 0, 3, 1, 0, 0, 4, 0, 4, 1, 1, 1, 1, 0}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestFoldsSplit(t *testing.T) {
	const n = 700
	for _, dtype := range dataTypes {
		for _, numbered := range []bool{false, true} {
			p := dataRows(n, 3, 5, dtype)
			open := func(rows ...int) Data {
				return OpenFunc(func() (Source, error) {
					return &dataParts{p: p, rows: rows, first: 1000, numbered: numbered}, nil
				})
			}
			all := dataOf(t, open(n))
			f := Folds{K: 4, Seed: 3}
			var together []dataRow
			for i := range 4 {
				rest, fold := f.Split(open(1, 64, 3, 100), i)
				in, out := dataOf(t, fold), dataOf(t, rest)
				if len(in)+len(out) != n {
					t.Fatalf("%d rows and %d of %d", len(in), len(out), n)
				}
				for _, r := range in {
					if f.Fold(r.number) != i {
						t.Fatalf("row %d is not of fold %d", r.number, i)
					}
				}
				if more, _ := f.Split(open(17), i); !slices.Equal(dataOf(t, more), out) {
					t.Fatal("another division into chunks gives other rows")
				}
				if !slices.IsSortedFunc(in, func(a, b dataRow) int { return int(a.number - b.number) }) {
					t.Fatal("rows are not in their order")
				}
				together = append(together, in...)
			}
			slices.SortFunc(together, func(a, b dataRow) int { return int(a.number - b.number) })
			if !slices.Equal(together, all) {
				t.Fatalf("%v, numbered %v: the folds are not the rows", dtype, numbered)
			}
		}
	}
}

// TestFoldsErrors: what goes wrong in the data comes through, and chunks that were copied are recycled.
func TestFoldsErrors(t *testing.T) {
	broken := errors.New("broken")
	rest, fold := Folds{}.Split(OpenFunc(func() (Source, error) { return nil, broken }), 0)
	for _, d := range []Data{rest, fold} {
		if _, err := d.Open(); err != broken {
			t.Errorf("%v", err)
		}
	}
	n := 0
	rest, _ = Folds{}.Split(OpenFunc(func() (Source, error) {
		return &dataParts{p: dataRows(100, 2, 2, metrics.Float64), rows: []int{10}, recycled: &n}, nil
	}), 0)
	if dataOf(t, rest); n != 10 {
		t.Errorf("%d chunks of 10 are recycled", n)
	}
}

// foldsMemory is a method that learns rows by heart: its map gives rows that it has seen probability 1, and others 0.
type foldsMemory struct{ fail int64 }

func (m foldsMemory) String() string { return "memory" }

func (m foldsMemory) Fit(d Data, o *Options) (Map, error) {
	s, err := look(d, o)
	if err != nil {
		return nil, err
	}
	src, err := d.Open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	seen := &foldsMap{fit: s.fit, seen: map[float64]bool{}}
	for {
		c, err := src.Next()
		if err == io.EOF {
			return seen, nil
		}
		for i := range c.Rows {
			if c.Number(i) == m.fail {
				return nil, fmt.Errorf("row %d is not liked", m.fail)
			}
			seen.seen[c.F64[i]] = true
		}
	}
}

func (m foldsMemory) with(string, string) (Method, error)      { return m, nil }
func (m foldsMemory) decode(Fit, json.RawMessage) (Map, error) { return nil, nil }

type foldsMap struct {
	fit  Fit
	seen map[float64]bool
}

func (m *foldsMap) Method() string  { return "memory" }
func (m *foldsMap) Fit() Fit        { return m.fit }
func (m *foldsMap) parameters() any { return nil }

func (m *foldsMap) Out(k metrics.Kind, classes int) (metrics.Kind, int, error) {
	if k != metrics.Logits || classes != 1 {
		return 0, 0, errors.New("the map is of logits of an event")
	}
	return metrics.Probs, 1, nil
}

func (m *foldsMap) Apply(dst, src *metrics.Scores, k metrics.Kind) {
	x := make([]float64, src.Rows)
	src.Widen(x, 0, src.Rows)
	for i, v := range x {
		x[i] = 0
		if m.seen[v] {
			x[i] = 1
		}
	}
	store(dst, x, 0, src.Rows)
}

// foldsRows is an accumulator that keeps the rows it is fed.
type foldsRows struct{ rows map[int64][3]float64 }

func (a *foldsRows) Needs() metrics.Need                 { return 0 }
func (a *foldsRows) Empty() metrics.Accumulator          { return &foldsRows{rows: map[int64][3]float64{}} }
func (a *foldsRows) Len() int64                          { return int64(len(a.rows)) }
func (a *foldsRows) AppendBinary([]byte) ([]byte, error) { return nil, nil }
func (a *foldsRows) UnmarshalBinary([]byte) error        { return nil }

func (a *foldsRows) AddBlock(b *metrics.Block) {
	for i := range b.Rows {
		w := 1.0
		if b.Weights != nil {
			w = b.Weights[i]
		}
		a.rows[b.Number(i)] = [3]float64{b.Stats.Positive[i], float64(b.Labels[i]), w}
	}
}

func (a *foldsRows) Merge(o metrics.Accumulator) error {
	for n, r := range o.(*foldsRows).rows {
		if _, twice := a.rows[n]; twice {
			return fmt.Errorf("row %d comes twice", n)
		}
		a.rows[n] = r
	}
	return nil
}

// foldsDistinct returns rows with distinct scores.
func foldsDistinct(n int) *metrics.Predictions {
	p := dataRows(n, 1, 1, metrics.Float64)
	p.Decisions, p.ConfidenceScores = nil, nil
	for i := range p.F64 {
		p.F64[i] = float64(i)
	}
	return p
}

// TestCrossFit: every row comes once, with its label and weight, from a map that has not seen it.
func TestCrossFit(t *testing.T) {
	const n = 500
	p := foldsDistinct(n)
	p.Weights[17] = 0
	d := OpenFunc(func() (Source, error) { return &dataParts{p: p, rows: []int{7, 50}, first: 0}, nil })
	for _, threads := range []int{1, 3} {
		rows := &foldsRows{rows: map[int64][3]float64{}}
		maps, err := CrossFit(foldsMemory{fail: -1}, d, Folds{Seed: 1}, &Options{Threads: threads}, rows)
		if err != nil {
			t.Fatal(err)
		}
		if len(maps) != 5 || len(rows.rows) != n-1 {
			t.Fatalf("%d maps, %d rows", len(maps), len(rows.rows))
		}
		for number, r := range rows.rows {
			if r != [3]float64{0, float64(p.Labels[number]), p.Weights[number]} {
				t.Fatalf("row %d: %v", number, r)
			}
		}
		for i, m := range maps {
			if n := m.Fit().Rows; n < 350 || n > 450 {
				t.Errorf("map %d has seen %d rows", i, n)
			}
			for row := range int64(n) {
				if seen := m.(*foldsMap).seen[float64(row)]; seen == (Folds{Seed: 1}.Fold(row) == i) {
					t.Fatalf("map %d, row %d: seen is %v", i, row, seen)
				}
			}
		}
	}
}

func TestCrossFitErrors(t *testing.T) {
	d := InMemory(foldsDistinct(100))
	f := Folds{K: 3}
	other := (f.Fold(20) + 1) % 3
	first := 0
	if f.Fold(20) == 0 {
		first = other
	}
	// The first fold whose rest has row 20.
	_, err := CrossFit(foldsMemory{fail: 20}, d, f, nil)
	if want := fmt.Sprintf("fold %d of 3: row 20 is not liked", first+1); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	broken := errors.New("broken")
	opens := 0
	fails := func(at int) Data {
		opens = 0
		return OpenFunc(func() (Source, error) {
			if opens++; opens == at {
				return nil, broken
			}
			return InMemory(foldsDistinct(100)).Open()
		})
	}
	for at := 1; at <= 7; at++ { // look and the fit of each of 3 folds, and the rows themselves
		_, err := CrossFit(foldsMemory{fail: -1}, fails(at), f, nil, &surveyor{})
		want := fmt.Sprintf("fold %d of 3", (at-1)/2+1)
		if at == 7 {
			want = "broken"
		}
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), want) {
			t.Errorf("open %d fails: %v", at, err)
		}
	}
	// A map that does not take the rows.
	p := foldsDistinct(100)
	p.Kind = metrics.Probs
	for i := range p.F64 {
		p.F64[i] /= 200
	}
	if _, err := CrossFit(foldsMemory{fail: -1}, InMemory(p), f, nil, &surveyor{}); err == nil || !strings.Contains(err.Error(), "the map is of") {
		t.Errorf("%v", err)
	}
	// One row: some fold leaves none.
	if _, err := CrossFit(foldsMemory{fail: -1}, InMemory(foldsDistinct(1)), f, nil); err == nil || !strings.Contains(err.Error(), "no rows") {
		t.Errorf("%v", err)
	}
}

func TestApplied(t *testing.T) {
	for _, dtype := range dataTypes {
		p := dataRows(300, 1, 3, dtype)
		m := &foldsMap{seen: map[float64]bool{}}
		var x [1]float64
		p.Scores.Widen(x[:], 9, 10)
		m.seen[x[0]] = true
		n := 0
		src := &dataParts{p: p, rows: []int{11, 2}, first: 5, numbered: true, recycled: &n}
		was := dataRead(t, &dataParts{p: p, rows: []int{300}, first: 5, numbered: true})
		rows := dataRead(t, Applied(m, src))
		if len(rows) != 300 || n != src.n {
			t.Fatalf("%d rows, %d of %d chunks recycled", len(rows), n, src.n)
		}
		for i, r := range rows {
			want := was[i]
			want.decision, want.by, want.scores = 0, 0, [8]float64{}
			if was[i].scores == [8]float64(was[9].scores) {
				want.scores[0] = 1
			}
			if r != want {
				t.Fatalf("%v: row %d: %v, want %v", dtype, i, r, want)
			}
		}
	}
	k := dataRows(4, 3, 3, metrics.Float32)
	src, _ := InMemory(k).Open()
	if _, err := Applied(&foldsMap{}, src).Next(); err == nil {
		t.Error("rows of other classes are taken")
	}
	// Whatever the type was, nothing is rounded to a narrower one than float64.
	for _, dtype := range dataTypes {
		src, _ := InMemory(dataRows(4, 1, 1, dtype)).Open()
		c, err := Applied(&foldsMap{}, src).Next()
		if err != nil || c.F64 == nil || c.F32 != nil {
			t.Errorf("%v: %v %v", dtype, c, err)
		}
	}
}

// TestFoldsOfClusters: the rows of a cluster are in one fold, whatever the number that a reader gives it.
func TestFoldsOfClusters(t *testing.T) {
	f := Folds{K: 3, Seed: 5, Clusters: true}
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	data := func(shift int32) Data {
		return OpenFunc(func() (Source, error) {
			c := &metrics.Chunk{ClusterName: func(i int32) string { return names[(i+shift)%8] }}
			c.Rows, c.Classes = 40, 1
			for i := range int32(40) {
				c.F64, c.Labels, c.Clusters = append(c.F64, 0.5), append(c.Labels, i%2), append(c.Clusters, (i*3+8-shift)%8)
			}
			return &oneChunk{c: c}, nil
		})
	}
	seen := map[string]int{}
	for i := range 3 {
		for _, shift := range []int32{0, 3} {
			_, fold := f.Split(data(shift), i)
			src, err := fold.Open()
			if err != nil {
				t.Fatal(err)
			}
			c, err := src.Next()
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range c.Clusters {
				name := c.ClusterName(k)
				if at, met := seen[name]; met && at != i || f.FoldOf(name) != i {
					t.Errorf("cluster %s is in folds %d and %d", name, at, i)
				}
				seen[name] = i
			}
		}
	}
	if len(seen) != 8 {
		t.Errorf("clusters %v", seen)
	}
}

// oneChunk is a source of one chunk.
type oneChunk struct{ c *metrics.Chunk }

func (s *oneChunk) Next() (*metrics.Chunk, error) {
	if s.c == nil {
		return nil, io.EOF
	}
	c := s.c
	s.c = nil
	return c, nil
}

func (s *oneChunk) Close() error { return nil }
