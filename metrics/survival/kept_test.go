package survival

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
)

// rowsOf draws rows of metrics.Survival with two times, some of them equal.
func rowsOf(seed uint64, n int, weighted bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 7))
	p := &metrics.Predictions{Kind: metrics.Survival, Scores: metrics.Scores{Rows: n, Classes: 4, F64: []float64{}}}
	for range n {
		a := float64(r.IntN(20)) / 40
		p.F64 = append(p.F64, a, a+float64(r.IntN(20))/40, float64(1+r.IntN(9)), float64(r.IntN(2)))
		if weighted {
			p.Weights = append(p.Weights, float64(1+r.IntN(4))/2)
		}
	}
	return p
}

func kept(t *testing.T, p *metrics.Predictions) *Kept {
	t.Helper()
	k := NewKept()
	if err := metrics.NewPass(nil, k).Add(p); err != nil {
		t.Fatal(err)
	}
	return k
}

func stateOf(t *testing.T, k *Kept) []byte {
	t.Helper()
	b, err := k.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestKeptMerges: any division of the rows, in any order, through bytes or not, gives the same state.
func TestKeptMerges(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		p := rowsOf(1, 500, weighted)
		want := stateOf(t, kept(t, p))
		for _, cuts := range [][]int{{0, 100, 500}, {0, 0, 499, 500}, {0, 250, 300, 500}} {
			sum := NewKept()
			for i := len(cuts) - 1; i > 0; i-- { // the last part first
				part := p.Slice(cuts[i-1], cuts[i])
				var o Kept
				if err := o.UnmarshalBinary(stateOf(t, kept(t, &part))); err != nil {
					t.Fatal(err)
				}
				if err := sum.Merge(&o); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(stateOf(t, sum), want) || sum.Len() != 500 {
				t.Errorf("weighted %v, cut at %v: another state, of %d rows", weighted, cuts, sum.Len())
			}
		}
		narrow := metrics.Predictions{Kind: p.Kind, Weights: p.Weights, Scores: metrics.Scores{Rows: p.Rows, Classes: p.Classes}}
		same := true
		for _, v := range p.F64 {
			narrow.F32 = append(narrow.F32, float32(v))
			same = same && float64(float32(v)) == v
		}
		if same != bytes.Equal(stateOf(t, kept(t, &narrow)), want) {
			t.Errorf("weighted %v: float32 is the same numbers: %v, and not the same state", weighted, same)
		}
	}
	if err := kept(t, rowsOf(1, 5, true)).Merge(kept(t, rowsOf(1, 5, false))); !errors.Is(err, metrics.ErrMismatch) {
		t.Errorf("with and without weights: %v", err)
	}
}

// TestKeptRows: columns are those of the rows, whatever their order.
func TestKeptRows(t *testing.T) {
	p := rowsOf(2, 200, true)
	k := kept(t, p)
	type row struct{ a, b, t, e, w float64 }
	var want, got []row
	for i := range p.Rows {
		x := p.F64[4*i:]
		want = append(want, row{x[0], x[1], x[2], x[3], p.Weights[i]})
	}
	c := k.Columns(0, 1)
	for i := range c[0].Times {
		e := 0.0
		if c[1].Events[i] {
			e = 1
		}
		got = append(got, row{c[0].Risks[i], c[1].Risks[i], c[0].Times[i], e, c[0].Weights[i]})
	}
	by := func(x, y row) int {
		return slices.Compare([]float64{x.a, x.b, x.t, x.e, x.w}, []float64{y.a, y.b, y.t, y.e, y.w})
	}
	slices.SortFunc(want, by)
	slices.SortFunc(got, by)
	if !slices.Equal(got, want) {
		t.Error("the columns have other rows")
	}
}

// TestKeptRefuses: states that no rows make.
func TestKeptRefuses(t *testing.T) {
	seal := func(classes uint32, weighted uint8, rows ...[]float64) []byte {
		e := exact.Enc{B: exact.BeginSeal(nil, keptFormat.Magic, keptFormat.Version)}
		e.U32(classes)
		e.U8(weighted)
		e.U64(uint64(len(rows)))
		for _, r := range rows {
			for _, v := range r {
				e.F64(v)
			}
		}
		return exact.EndSeal(e.B, 0)
	}
	if err := new(Kept).UnmarshalBinary(seal(3, 0, []float64{0.5, 1, 1}, []float64{0.5, 1, 0})); err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string][]byte{
		"two columns":    seal(2, 0, []float64{1, 1}),
		"an event of 2":  seal(3, 0, []float64{0.5, 1, 2}),
		"a time of 0":    seal(3, 0, []float64{0.5, 0, 1}),
		"a risk of 2":    seal(3, 0, []float64{2, 1, 1}),
		"a falling risk": seal(4, 0, []float64{0.5, 0.4, 1, 1}),
		"order":          seal(3, 0, []float64{0.5, 1, 0}, []float64{0.5, 1, 1}),
		"a weight of 0":  seal(3, 1, []float64{0.5, 1, 1, 0}),
		"no rows":        seal(3, 0),
		"weights alone":  seal(0, 1),
		"-0":             seal(3, 0, []float64{negativeZero, 1, 1}),
	} {
		if err := new(Kept).UnmarshalBinary(b); !errors.Is(err, exact.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

var negativeZero = math.Copysign(0, -1)

func FuzzKeptUnmarshal(f *testing.F) {
	for _, weighted := range []bool{false, true} {
		k := NewKept()
		if err := metrics.NewPass(nil, k).Add(rowsOf(3, 4, weighted)); err != nil {
			f.Fatal(err)
		}
		b, err := k.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		sets := NewSets(2)
		rows, weights := rowsOf(4, 6, weighted), []float64(nil)
		if weighted {
			weights = rows.Weights
		}
		sets.AddSets([]SetRows{{4, rows.F64}, {4, rows.F64}}, weights, []int32{0, 1, 1, 2, 0, 2}, func(c int32) string { return string('a' + rune(c)) })
		if b, err = sets.AppendBinary(nil); err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var k Kept
		if k.UnmarshalBinary(b) != nil {
			return
		}
		again, err := k.AppendBinary(nil)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("written again it differs: %v", err)
		}
		if k.Len() > 0 {
			r := k.Rows(0)
			for _, c := range influenced {
				if e, err := c.of(r, r.Times[0]); err == nil {
					e.Minus(e, r)
				}
			}
			_, _ = ICIOf(r, r.Times[0], 0) // what few rows have is no concern here
		}
	})
}
