package binfree_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
)

// bets returns the accumulator after a Pass over predictions.
func bets(t testing.TB, e metrics.Event, o *metrics.Options, p ...*metrics.Predictions) *binfree.EProcess {
	t.Helper()
	a := binfree.NewEProcess(e)
	pass := metrics.NewPass(o, a)
	for _, q := range p {
		if err := pass.Add(q); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// TestEProcessOfDecimals compares with products of decimals of 60 digits, as the event of a binary task, as one of two classes, and as
// the top label of three.
func TestEProcessOfDecimals(t *testing.T) {
	data, err := os.ReadFile("../../testdata/oracle/bets.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Cases []struct {
			Name string
			P    []float64
			Y    []int32
			Log  float64
		}
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) != 8 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	for _, c := range g.Cases {
		wide := &metrics.Predictions{Labels: c.Y}
		wide.Rows, wide.Classes = len(c.P), 2
		top := &metrics.Predictions{Labels: make([]int32, len(c.P)), Decisions: make([]int32, len(c.P))}
		top.Rows, top.Classes = len(c.P), 3
		for i, p := range c.P {
			wide.F64 = append(wide.F64, 1-p, p)
			top.F64 = append(top.F64, p, (1-p)/2, (1-p)/2)
			top.Labels[i] = 1 - c.Y[i] // the decision is class 0
		}
		// Rounding of 1 - p and of the logarithms, of each row.
		within := float64(len(c.P)) * 0x1p-50 * (1 + math.Abs(c.Log))
		o := &metrics.Options{Renormalize: true}
		for what, a := range map[string]*binfree.EProcess{
			"binary":      bets(t, metrics.ByShape, nil, testrows.Binary(c.P, c.Y)),
			"two classes": bets(t, metrics.Positive, o, wide),
			"top label":   bets(t, metrics.TopLabel, o, top),
		} {
			if got := a.Log(); !(math.Abs(got-c.Log) <= within) {
				t.Errorf("%s, %s: ln E is %v, want %v", c.Name, what, got, c.Log)
			}
			if got, want := a.Value(), math.Exp(c.Log); got != want && !(math.Abs(got-want) <= 1e-12*want) {
				t.Errorf("%s, %s: E is %v, want %v", c.Name, what, got, want)
			}
			if a.Len() != int64(len(c.P)) || a.Reason() != "" {
				t.Errorf("%s, %s: %d rows, %q", c.Name, what, a.Len(), a.Reason())
			}
		}
	}
}

// TestEProcessReasons checks what has no e-value: no rows, weights, and scores that are no probabilities.
func TestEProcessReasons(t *testing.T) {
	none := func(what string, a *binfree.EProcess, rows int64) {
		t.Helper()
		if a.Value() == a.Value() || a.Log() == a.Log() || a.Reason() == "" || a.Len() != rows {
			t.Errorf("%s: %v %v %q of %d", what, a.Value(), a.Log(), a.Reason(), a.Len())
		}
	}
	none("no rows", binfree.NewEProcess(metrics.ByShape), 0)
	p := testrows.Binary([]float64{0.25, 0.5, 0.75}, []int32{0, 1, 1})
	p.Weights = []float64{1, 0, 2}
	none("weights", bets(t, metrics.ByShape, nil, p), 2)
	none("no probabilities", bets(t, metrics.ByShape, &metrics.Options{Unchecked: true}, testrows.Binary([]float64{0.25, 1.5}, []int32{0, 1})), 2)
	for what, f := range map[string]func(){
		"of all classes":     func() { binfree.NewEProcess(metrics.AllClasses) },
		"a positive of four": func() { binfree.NewEProcess(metrics.Positive).AddBlock(&metrics.Block{Rows: 1, Classes: 4}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			f()
		}()
	}
}

// TestEProcessAnytime looks at E after every 20 rows of calibrated sets, and stops at 20. At most 5% of them may get there, whatever the
// scores; without a bound for looking often, more would. Scores that are too high get there in nearly all sets.
func TestEProcessAnytime(t *testing.T) {
	sets, rows, look := check.Size(200, 1000, 5000), 2000, 20
	for name, c := range map[string]struct {
		score      func(r *rand.Rand) float64
		rate       func(p float64) float64
		less, more float64 // share of sets that get to 20
	}{
		"uniform":  {(*rand.Rand).Float64, func(p float64) float64 { return p }, 0.05, 0},
		"rare":     {func(r *rand.Rand) float64 { return 0.04 * r.Float64() }, func(p float64) float64 { return p }, 0.05, 0},
		"one half": {func(*rand.Rand) float64 { return 0.5 }, func(p float64) float64 { return p }, 0.05, 0},
		"too high": {(*rand.Rand).Float64, func(p float64) float64 { return 0.85 * p }, 1, 0.95},
	} {
		reached := 0
		for s := range sets {
			r := rand.New(rand.NewPCG(uint64(s), 11))
			a := binfree.NewEProcess(metrics.Positive)
			pass := metrics.NewPass(&metrics.Options{Threads: 1}, a)
			for range rows / look {
				p, y := make([]float64, look), make([]int32, look)
				for i := range p {
					if p[i] = c.score(r); r.Float64() < c.rate(p[i]) {
						y[i] = 1
					}
				}
				if err := pass.Add(testrows.Binary(p, y)); err != nil {
					t.Fatal(err)
				}
				if a.Value() >= 20 {
					reached++
					break
				}
			}
		}
		share := float64(reached) / float64(sets)
		if slack := 3 * math.Sqrt(0.05*0.95/float64(sets)); share > c.less+slack || share < c.more-slack {
			t.Errorf("%s: %v of %d sets reach 20", name, share, sets)
		}
	}
}

// sealedBets writes a state by its fields.
func sealedBets(event uint8, classes uint32, weighted, decided bool, rows, outside int64, log func(k int) float64) []byte {
	var e exact.Enc
	flag := func(b bool) {
		e.U8(map[bool]uint8{true: 1}[b])
	}
	e.U8(event)
	e.U32(classes)
	flag(weighted)
	flag(decided)
	e.I64(rows)
	e.I64(outside)
	for k := range 16 {
		var s exact.Sum
		if log != nil {
			s.AddFloat(log(k))
		}
		e.Sum(&s)
	}
	return exact.Seal("cEPR", 1, e.B)
}

// TestEProcessRefuses checks that states that no rows can produce are rejected.
func TestEProcessRefuses(t *testing.T) {
	side := func(k int) float64 { return float64(1 - 2*(k%2)) }
	can := func(k int) float64 { return 2 * math.Log1p(side(k)*math.Ldexp(0.5, -1-k/2)) } // two rows of 0.5 with the event
	for name, s := range map[string][]byte{
		"two rows":          sealedBets(0, 1, false, false, 2, 0, can),
		"decisions":         sealedBets(1, 3, false, true, 2, 0, can),
		"weights":           sealedBets(0, 3, true, true, 2, 0, nil),
		"no rows":           sealedBets(2, 0, false, false, 0, 0, nil),
		"none in [0,1]":     sealedBets(2, 2, false, false, 2, 2, nil),
		"scores that vouch": sealedBets(0, 1, false, false, 2, 0, nil),
	} {
		if err := new(binfree.EProcess).UnmarshalBinary(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, s := range map[string][]byte{
		"of no such event":         sealedBets(3, 1, false, false, 2, 0, can),
		"positive among three":     sealedBets(2, 3, false, false, 2, 0, can),
		"rows of no classes":       sealedBets(0, 0, false, false, 2, 0, can),
		"classes of no rows":       sealedBets(0, 1, false, false, 0, 0, nil),
		"rows below 0":             sealedBets(0, 1, false, false, -2, 0, nil),
		"more outside than rows":   sealedBets(0, 1, false, false, 2, 3, nil),
		"outside below 0":          sealedBets(0, 1, false, false, 2, -1, can),
		"outside with weights":     sealedBets(0, 1, true, false, 2, 1, nil),
		"decisions of class 1":     sealedBets(0, 1, false, true, 2, 0, can),
		"decisions of no rows":     sealedBets(1, 0, false, true, 0, 0, nil),
		"bets of rows outside":     sealedBets(0, 1, false, false, 2, 2, can),
		"bets with weights":        sealedBets(0, 1, true, false, 2, 0, can),
		"more than a stake gains":  sealedBets(0, 1, false, false, 2, 0, func(k int) float64 { return 2.001 * math.Log1p(math.Ldexp(1, -1-k/2)) }),
		"more than a stake loses":  sealedBets(0, 1, false, false, 2, 0, func(k int) float64 { return 2.001 * math.Log1p(-math.Ldexp(1, -1-k/2)) }),
		"beyond what float64 adds": sealedBets(0, 1, false, false, 2, 0, func(int) float64 { return -math.MaxFloat64 }),
	} {
		var a binfree.EProcess
		if err := a.UnmarshalBinary(s); !errors.Is(err, exact.ErrDamaged) || a.Len() != 0 {
			t.Errorf("%s: %v, %d rows", name, err, a.Len())
		}
	}
	// Every bit of a real state, a newer version, another type, and a state cut short.
	s, err := bets(t, metrics.ByShape, nil, testrows.Binary([]float64{0.25, 0.5, 0.75}, []int32{0, 1, 1})).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, payload, _, err := exact.Open("cEPR", s)
	if err != nil {
		t.Fatal(err)
	}
	for at := range payload {
		for bit := range 8 {
			b := append([]byte(nil), payload...)
			b[at] ^= 1 << bit
			var a binfree.EProcess
			sealed := exact.Seal("cEPR", 1, b)
			switch err := a.UnmarshalBinary(sealed); {
			case err == nil:
				if again, err := a.AppendBinary(nil); err != nil || string(again) != string(sealed) {
					t.Errorf("byte %d: written in another way: %v", at, err)
				}
			case !errors.Is(err, exact.ErrDamaged) && !errors.Is(err, exact.ErrShort) || a.Len() != 0:
				t.Errorf("byte %d: %v, %d rows", at, err, a.Len())
			}
		}
	}
	for _, s := range [][]byte{exact.Seal("cEPR", 2, payload), exact.Seal("cBAL", 1, payload), s[:len(s)-1]} {
		if err := new(binfree.EProcess).UnmarshalBinary(s); err == nil {
			t.Error("it was read")
		}
	}
}

// FuzzEProcessUnmarshal checks that a state that is read is written as the same bytes, and gives values.
func FuzzEProcessUnmarshal(f *testing.F) {
	p := testrows.Binary([]float64{0.25, 0.5, 0.75, 1, 0}, []int32{0, 1, 1, 0, 1})
	for _, w := range [][]float64{nil, {1, 2, 0x1p32, 0x1p-32, 0}} {
		p.Weights = w
		s, err := bets(f, metrics.ByShape, nil, p).AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		_, payload, _, err := exact.Open("cEPR", s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var a binfree.EProcess
		s := exact.Seal("cEPR", 1, payload)
		if err := a.UnmarshalBinary(s); err != nil {
			return
		}
		if again, err := a.AppendBinary(nil); err != nil || string(again) != string(s) {
			t.Errorf("written in another way: %v", err)
		}
		if v := a.Value(); (v == v) != (a.Reason() == "") || v < 0 {
			t.Errorf("%v of %d rows: %s", v, a.Len(), a.Reason())
		}
		if err := a.Empty().Merge(&a); err != nil {
			t.Error(err)
		}
	})
}
