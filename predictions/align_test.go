package predictions

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// alignRows is a source of rows in chunks, with the columns that a reader may give.
type alignRows struct {
	p      metrics.Predictions
	kinds  []int32 // clusters
	keys   []string
	second []string
	each   int
}

func (r *alignRows) Locate(row int64) (string, int64) { return "file", row }
func (r *alignRows) Line(row int64) int64             { return row + 2 }

func textCells(l []string) (c Cells) {
	for _, s := range l {
		c.Bytes = append(c.Bytes, s...)
		c.Ends = append(c.Ends, len(c.Bytes))
	}
	return c
}

func (r *alignRows) add(t *testing.T, a *Alignment, set int) error {
	t.Helper()
	for at := 0; at < r.p.Rows; at += r.each {
		to := min(r.p.Rows, at+r.each)
		c := &metrics.Chunk{Predictions: r.p.Slice(at, to), First: int64(at)}
		if r.kinds != nil {
			c.Clusters = r.kinds[at:to]
		}
		var cells []Cells
		if r.keys != nil {
			cells = []Cells{textCells(r.keys[at:to]), textCells(r.second[at:to])}
		}
		if err := a.Add(c, cells, func(int) int { return set }); err != nil {
			return err
		}
	}
	return nil
}

// newAlignRows makes rows of a type, with all columns, in an order; what a row has follows from its number.
func newAlignRows(d metrics.DType, order []int, each int) *alignRows {
	r := &alignRows{each: each}
	const k = 3
	n := len(order)
	r.p = metrics.Predictions{Labels: make([]int32, n), Kind: metrics.Logits}
	r.p.Rows, r.p.Classes = n, k
	for i, row := range order {
		for j := range k {
			v := float64(row*k+j) / 8
			switch d {
			case metrics.Float64:
				r.p.F64 = append(r.p.F64, v)
			case metrics.Float32:
				r.p.F32 = append(r.p.F32, float32(v))
			case metrics.Float16:
				r.p.F16 = append(r.p.F16, uint16(row*k+j))
			default:
				r.p.BF16 = append(r.p.BF16, uint16(row*k+j))
			}
		}
		r.p.Labels[i] = int32(row % k)
		r.p.Weights = append(r.p.Weights, float64(row)+0.5)
		r.p.Decisions = append(r.p.Decisions, int32(row%2))
		r.p.ConfidenceScores = append(r.p.ConfidenceScores, -float64(row))
		r.p.Bytes = append(r.p.Bytes, float64(row%7))
		r.kinds = append(r.kinds, int32(row/10))
		r.keys, r.second = append(r.keys, fmt.Sprint("key ", row/3)), append(r.second, fmt.Sprint(row%3))
	}
	return r
}

// TestAlignment: sources have the rows that all sets have, with all columns to the bit, in the order of the first set, each time.
func TestAlignment(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, d := range []metrics.DType{metrics.Float64, metrics.Float32, metrics.Float16, metrics.BFloat16} {
		const n = 1000
		orders := make([][]int, 3)
		for s := range orders {
			for _, i := range rng.Perm(n) {
				if i%13 != s {
					orders[s] = append(orders[s], i)
				}
			}
		}
		slices.Sort(orders[1]) // runs of rows
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		a := NewAlignment(&AlignOptions{Keys: []string{"id", "part"}, Drop: true, ChunkBytes: 1 << 10})
		for s, o := range orders {
			r := newAlignRows(d, o, 37+100*s)
			at, err := a.AddSet(fmt.Sprint("set ", s), r, false)
			if err != nil || at != s {
				t.Fatal(at, err)
			}
			if err := r.add(t, a, s); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Join(); err != nil {
			t.Fatal(err)
		}
		var common []int
		for _, i := range orders[0] {
			if i%13 > 2 {
				common = append(common, i)
			}
		}
		if a.Rows() != int64(len(common)) || a.Dropped() != int64(n-len(common)) {
			t.Fatalf("%d rows, and %d left out", a.Rows(), a.Dropped())
		}
		for s := range orders {
			for range 2 {
				src := a.Source(s)
				at := 0
				for {
					c, err := src.Next()
					if err == io.EOF {
						break
					} else if err != nil {
						t.Fatal(err)
					}
					if c.First != int64(at) || c.Numbers != nil {
						t.Fatalf("row %d has the number %d", at, c.First)
					}
					want := newAlignRows(d, common[at:at+c.Rows], 1)
					got, w := c.Predictions, want.p
					if !slices.Equal(got.F64, w.F64) || !slices.Equal(got.F32, w.F32) || !slices.Equal(got.F16, w.F16) || !slices.Equal(got.BF16, w.BF16) ||
						!slices.Equal(got.Labels, w.Labels) || !slices.Equal(got.Weights, w.Weights) || !slices.Equal(got.Decisions, w.Decisions) ||
						!slices.Equal(got.ConfidenceScores, w.ConfidenceScores) || !slices.Equal(got.Bytes, w.Bytes) || !slices.Equal(c.Clusters, want.kinds) || got.Kind != metrics.Logits || got.Classes != 3 {
						t.Fatalf("%v: rows %d on of set %d differ", d, at, s)
					}
					if own, err := a.RowIn(s, c.First); err != nil || orders[s][own] != common[at] {
						t.Fatalf("row %d is row %d of set %d", at, own, s)
					}
					if k := a.Key(nil, c.First); string(k[0]) != fmt.Sprint("key ", common[at]/3) || string(k[1]) != fmt.Sprint(common[at]%3) {
						t.Fatalf("row %d has the key %q", at, k)
					}
					at += c.Rows
					c.Recycle()
				}
				if at != len(common) {
					t.Fatalf("%d rows", at)
				}
			}
		}
		a.Close()
		if l, err := os.ReadDir(dir); err != nil || len(l) > 0 {
			t.Errorf("files are left: %v, %v", l, err)
		}
	}
}

// TestAlignmentPairs: the two scores that rows had are kept where some row needs them, and others get such as need nothing.
func TestAlignmentPairs(t *testing.T) {
	for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits} {
		for _, event := range []int{0, 1} {
			var raw []float64
			for i := range 50 {
				p := float64(i) / 64
				q := 1 - p
				if kind == metrics.Logits {
					q = p - 3
				}
				if i == 20 {
					q = 2
				}
				raw = append(raw, p, q)
			}
			if kind == metrics.Logits {
				raw[40] = math.Inf(-1)
			}
			p := metrics.Predictions{Labels: make([]int32, 50), Kind: kind}
			p.F64, p.Rows, p.Classes = slices.Clone(raw), 50, 2
			p.OfEvent(event)
			if p.Pair == nil {
				t.Fatal("no row needs a check")
			}
			a := NewAlignment(&AlignOptions{})
			for s := range 2 {
				r := &alignRows{p: p, each: 15}
				if _, err := a.AddSet("set", r, true); err != nil {
					t.Fatal(err)
				}
				for at := 0; at < 50; at += 10 {
					c := &metrics.Chunk{Predictions: p.Slice(at, at+10), First: int64(at)}
					if at != 20 {
						c.Pair = nil
					}
					if err := a.Add(c, nil, func(int) int { return s }); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := a.Join(); err != nil {
				t.Fatal(err)
			}
			c, err := a.Source(1).Next()
			if err != nil || c.Rows != 50 || c.Pair == nil || c.Pair.Event != event || c.Pair.Kind != kind {
				t.Fatalf("%+v, %v", c, err)
			}
			if !slices.Equal(c.Pair.Raw[40:60], raw[40:60]) {
				t.Errorf("%v", c.Pair.Raw[40:60])
			}
			for i := range 50 {
				if i/10 == 2 {
					continue
				}
				two := c.Pair.Raw[2*i : 2*i+2]
				if kind == metrics.Probs && (two[event] != c.At(i, 0) || two[0]+two[1] != 1) || kind == metrics.Logits && two[event]-two[1-event] != c.At(i, 0) {
					t.Errorf("row %d has %v", i, two)
				}
			}
			a.Close()
		}
	}
}

func TestAlignmentErrors(t *testing.T) {
	order := []int{0, 1, 2, 3, 4, 5}
	rows := func(order ...int) *alignRows { return newAlignRows(metrics.Float64, order, 4) }
	blank := rows(order...)
	blank.keys[3], blank.second[3] = "", ""
	for _, c := range []struct {
		what    string
		o       AlignOptions
		a, b    *alignRows
		line    int64
		contain string
	}{
		{"twice", AlignOptions{}, rows(order...), rows(0, 1, 2, 1), 5, "is there twice"},
		{"twice though left out", AlignOptions{Drop: true}, rows(order...), rows(9, 1, 9), 4, "is there twice"},
		{"no key", AlignOptions{}, rows(order...), blank, 5, "the key is missing"},
		{"not in the second", AlignOptions{}, rows(order...), rows(0, 1, 2, 4, 5), 5, `key "key 1", "0" is in no row of second`},
		{"not in the first", AlignOptions{}, rows(order...), rows(5, 4, 3, 9, 1, 2, 0), 5, `key "key 3", "0" is in no row of first`},
		{"none", AlignOptions{Drop: true}, rows(0, 1), rows(2, 3), 0, "no key is in every set"},
		{"memory", AlignOptions{Memory: 1000}, rows(order...), rows(order...), 0, "take more than"},
	} {
		c.o.Keys = []string{"id", "part"}
		a := NewAlignment(&c.o)
		defer a.Close()
		_, _ = a.AddSet("first", c.a, false)
		_, _ = a.AddSet("second", c.b, false)
		err := c.a.add(t, a, 0)
		if err == nil {
			err = c.b.add(t, a, 1)
		}
		if err == nil {
			err = a.Join()
		}
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Reason, c.contain) || e.Line != c.line || e.Remedy == "" {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	a := NewAlignment(&AlignOptions{})
	defer a.Close()
	for s, n := range []int{6, 4} {
		r := rows(order[:n]...)
		r.keys = nil
		_, _ = a.AddSet(fmt.Sprint("model ", s), r, false)
		if err := r.add(t, a, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Join(); err == nil || !strings.Contains(err.Error(), `"model 1" has 4 rows, and "model 0" has 6 rows`) {
		t.Error(err)
	}
	t.Setenv("TMPDIR", "/nowhere")
	if _, err := a.AddSet("x", rows(0), false); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Error(err)
	}
}

// npyOf is a vector of raw data.
func npyOf(descr string, rows int64, data []byte) []byte {
	return append(npyHeader([]int64{rows}, descr), data...)
}

// TestKeptArrays: arrays of an .npz that are kept are told as texts, shard after shard; what cannot be kept is an *Error.
func TestKeptArrays(t *testing.T) {
	dir := t.TempDir()
	put := func(name, ids string, shape int64, data []byte) string {
		path := dir + "/" + name
		file := npz(false, entry{"probs.npy", npyOf("<f8", 3, make([]byte, 24))}, entry{"labels.npy", npyOf("<i4", 3, make([]byte, 12))}, entry{"id.npy", npyOf(ids, shape, data)})
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := put("1.npz", "<i2", 3, []byte{7, 0, 255, 255, 1, 2})
	two := put("2.npz", "|S2", 3, []byte("ab\x00\x00xy"))
	var got []string
	keep := func(rows int, cells []Cells) error {
		for i := range rows {
			got = append(got, string(cells[0].Text(i)))
		}
		return nil
	}
	read := func(paths ...string) error {
		got = nil
		r, err := Open(paths, &Options{Kept: []string{"id"}, Keep: keep, BufferBytes: 16})
		if err != nil {
			return err
		}
		defer r.Close()
		for {
			c, err := r.Next()
			if err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if len(got) != int(c.First)+c.Rows {
				t.Errorf("%d ids after row %d", len(got), int(c.First)+c.Rows)
			}
			c.Recycle()
		}
	}
	if err := read(one, two); err != nil || !slices.Equal(got, []string{"7", "-1", "513", "ab", "", "xy"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, c := range []struct{ path, want string }{
		{put("f.npz", "<f8", 3, make([]byte, 24)), "whole numbers and text are kept"},
		{put("n.npz", "<i4", 2, make([]byte, 8)), "2 values"},
		{put("u.npz", "|S1", 3, []byte{'a', 0xff, 'b'}), "is not text"},
	} {
		if err := read(c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	bare := dir + "/bare.npy"
	if err := os.WriteFile(bare, npyOf("<f8", 3, make([]byte, 24)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := read(bare); err == nil || !strings.Contains(err.Error(), `no array "id"`) {
		t.Error(err)
	}
}
