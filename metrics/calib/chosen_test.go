package calib_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// chosenRows returns rows whose chosen class is the label in about half of them.
func chosenRows(rows, classes int, weighted, decided bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(classes)))
	p := &metrics.Predictions{}
	p.Rows, p.Classes = rows, classes
	for range rows {
		sum, at := 0.0, len(p.F64)
		for range classes {
			v := r.ExpFloat64()
			p.F64, sum = append(p.F64, v), sum+v
		}
		for k := range classes {
			p.F64[at+k] /= sum
		}
		p.Labels = append(p.Labels, int32(r.IntN(classes-1))) // the last class has no row
		if weighted {
			p.Weights = append(p.Weights, float64(1+r.IntN(3)))
		}
		if decided {
			p.Decisions = append(p.Decisions, int32(r.IntN(classes)))
		}
	}
	return p
}

// TestChosen compares the bins of classes with sums over the rows, in one part and merged from two.
func TestChosen(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		for _, decided := range []bool{false, true} {
			p := chosenRows(500, 4, weighted, decided)
			a, b, both := calib.NewChosen(), calib.NewChosen(), calib.NewChosen()
			if err := metrics.NewPass(nil, both).Add(p); err != nil {
				t.Fatal(err)
			}
			for i, acc := range []*calib.Chosen{a, b} {
				part := *p
				from, to := 200*i, 200+300*i
				part.Rows, part.F64, part.Labels = to-from, p.F64[4*from:4*to], p.Labels[from:to]
				if weighted {
					part.Weights = p.Weights[from:to]
				}
				if decided {
					part.Decisions = p.Decisions[from:to]
				}
				if err := metrics.NewPass(nil, acc).Add(&part); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Merge(a); err != nil {
				t.Fatal(err)
			}
			s1, err1 := both.AppendBinary(nil)
			s2, err2 := b.AppendBinary(nil)
			if err1 != nil || err2 != nil || string(s1) != string(s2) {
				t.Errorf("weighted %v, decided %v: merged states differ from that of all rows: %v %v", weighted, decided, err1, err2)
			}
			for k := range 4 {
				n, w, says, right := int64(0), 0.0, 0.0, 0.0
				for i := range p.Rows {
					row := p.F64[4*i : 4*i+4]
					chosen := 0
					for j := range row {
						if row[j] > row[chosen] {
							chosen = j
						}
					}
					if decided {
						chosen = int(p.Decisions[i])
					}
					if chosen != k {
						continue
					}
					one := 1.0
					if weighted {
						one = p.Weights[i]
					}
					n, w, says = n+1, w+one, says+float64(one*row[k])
					if p.Labels[i] == int32(k) {
						right += one
					}
				}
				c := both.Class(k, 0.95)
				if c.Count != n || math.Abs(c.Weight-w) > 1e-9 || math.Abs(c.Confidence-says/w) > 1e-12 || math.Abs(c.Frequency-right/w) > 1e-12 ||
					!(c.Interval.Low <= c.Frequency && c.Frequency <= c.Interval.High) {
					t.Errorf("class %d: %+v, want %d rows of weight %v, says %v, right %v", k, c, n, w, says/w, right/w)
				}
			}
		}
	}
}

// TestChosenNone checks a class that no row chose, and one that there is not.
func TestChosenNone(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0}}
	p.Rows, p.Classes, p.F64 = 1, 3, []float64{0.8, 0.1, 0.1}
	a := calib.NewChosen()
	if err := metrics.NewPass(nil, a).Add(p); err != nil {
		t.Fatal(err)
	}
	if c := a.Class(2, 0.95); c.Count != 0 || c.Frequency == c.Frequency || c.Interval.Low == c.Interval.Low {
		t.Errorf("%+v", c)
	}
	defer func() {
		if recover() == nil {
			t.Error("class 3 of 3 is no panic")
		}
	}()
	a.Class(3, 0.95)
}

// FuzzChosenUnmarshal checks that a state that is read is written as the same bytes, and merges.
func FuzzChosenUnmarshal(f *testing.F) {
	for _, weighted := range []bool{false, true} {
		a := calib.NewChosen()
		if err := metrics.NewPass(nil, a).Add(chosenRows(20, 3, weighted, weighted)); err != nil {
			f.Fatal(err)
		}
		s, err := a.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		_, payload, _, err := exact.Open("cCHO", s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var a calib.Chosen
		s := exact.Seal("cCHO", 1, payload)
		if err := a.UnmarshalBinary(s); err != nil {
			return
		}
		if again, err := a.AppendBinary(nil); err != nil || string(again) != string(s) {
			t.Errorf("written in another way: %v", err)
		}
		if err := a.Empty().Merge(&a); err != nil {
			t.Error(err)
		}
	})
}
