package exact

import (
	"math"
	"math/rand/v2"
	"testing"
)

// shortTerm returns a number of any size and sign, some of them near others so that sums cancel.
func shortTerm(r *rand.Rand, narrow bool) float64 {
	if narrow {
		return math.Ldexp(r.Float64()-0.5, r.IntN(20)-40)
	}
	for {
		if v := math.Float64frombits(r.Uint64()); v-v == 0 {
			return v
		}
	}
}

func TestShort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 2000 {
		narrow := trial%2 == 0
		var a, b Short
		var all Sum
		var terms []float64
		for range 1 + r.IntN(40) {
			v := shortTerm(r, narrow)
			if len(terms) > 0 && r.IntN(3) == 0 {
				v = -terms[r.IntN(len(terms))]
			}
			terms = append(terms, v)
			all.AddExact(v)
			if r.IntN(2) == 0 {
				a.Add(v)
			} else {
				b.Add(v)
			}
		}
		same := func(x *Short, what string) {
			t.Helper()
			var s Sum
			if !x.AddTo(&s) || !s.Equal(&all) {
				t.Fatalf("%s of %v is %v, and the sum is %v", what, terms, s.Float64(), all.Float64())
			}
		}
		again := ShortOf(&all)
		same(&again, "ShortOf")
		a.Merge(&b)
		same(&a, "Merge")
		if narrow && a.Words() > 4 {
			t.Fatalf("a sum of terms from 2^-60 to 2^-20 takes %d words", a.Words())
		}
	}
}

// Values at the ends of words, where carries and signs meet.
func TestShortEnds(t *testing.T) {
	var l []float64
	for _, e := range []int{-1074, -1011, -1010, -51, -50, -49, 13, 14, 15, 77, 78, 1022, 1023} {
		for _, m := range []float64{1, 1.5, 2 - 0x1p-52} {
			if v := math.Ldexp(m, e); v-v == 0 && v != 0 {
				l = append(l, v, -v)
			}
		}
	}
	for _, u := range l {
		for _, v := range l {
			for _, w := range []float64{-u, -v, u, math.SmallestNonzeroFloat64} {
				var x Short
				var want, got Sum
				for _, d := range []float64{u, v, w} {
					x.Add(d)
					want.AddExact(d)
				}
				x.Merge(&x)
				want.Merge(cloneOf(&want))
				if x.AddTo(&got); !got.Equal(&want) {
					t.Fatalf("twice %v + %v + %v is %v", u, v, w, got.Float64())
				}
			}
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v was added", v)
				}
			}()
			new(Short).Add(v)
		}()
	}
}

func cloneOf(s *Sum) *Sum { c := s.Clone(); return &c }
