package rank_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

func classScores(t testing.TB, p *metrics.Predictions, o *metrics.Options) *calib.ClassScores {
	t.Helper()
	s := metrics.Must(calib.NewClassScores(nil))
	if err := metrics.NewPass(o, s).Add(p); err != nil {
		t.Fatal(err)
	}
	return s
}

func areaOf(a rank.PRArea) func(r *rank.Ranking) (float64, float64) {
	return func(r *rank.Ranking) (float64, float64) { return r.AUPRC(a) }
}

// TestOneVsRestOracle compares with scikit-learn; see testdata/oracle/make_ovr.py.
func TestOneVsRestOracle(t *testing.T) {
	f, err := os.Open("../../testdata/oracle/ovr.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Cases []struct {
			Classes       int
			Counts        []float64
			Labels        []int32
			Weights       []float64
			AUROCMacro    float64 `json:"auroc_macro"`
			AUROCWeighted float64 `json:"auroc_weighted"`
			AUPRCMacro    float64 `json:"auprc_macro"`
			AUPRCWeighted float64 `json:"auprc_weighted"`
		}
	}
	if err := json.NewDecoder(z).Decode(&g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) != 10 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	for i, c := range g.Cases {
		for _, wide := range []bool{false, true} {
			p := &metrics.Predictions{Labels: c.Labels, Weights: c.Weights}
			p.Rows, p.Classes = len(c.Labels), c.Classes
			for _, n := range c.Counts {
				if wide {
					p.F64 = append(p.F64, n/1024)
				} else {
					p.F32 = append(p.F32, float32(n/1024))
				}
			}
			s := classScores(t, p, nil)
			roc, pr := rank.PerClass(s, (*rank.Ranking).AUROC), rank.PerClass(s, areaOf(rank.AveragePrecision))
			for _, v := range []struct {
				of   func() (float64, float64)
				want float64
			}{{roc.Macro, c.AUROCMacro}, {roc.Weighted, c.AUROCWeighted}, {pr.Macro, c.AUPRCMacro}, {pr.Weighted, c.AUPRCWeighted}} {
				if got, bound := v.of(); !near(got, v.want, 4e-15) || bound != 0 {
					t.Errorf("case %d: %v, bound %v, want %v", i, got, bound, v.want)
				}
			}
		}
	}
}

// manyClasses draws rows whose entries have few or many distinct values. No row has the last class as its label.
func manyClasses(seed uint64, n, k, values int, weighted bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 7))
	p := &metrics.Predictions{Labels: make([]int32, n)}
	p.Rows, p.Classes, p.F64 = n, k, make([]float64, n*k)
	for i := range p.F64 {
		if p.F64[i] = r.Float64(); values > 0 {
			p.F64[i] = float64(r.IntN(values)) / float64(max(1, values-1))
		}
	}
	for i := range n {
		p.Labels[i] = int32(r.IntN(k - 1))
		if weighted {
			p.Weights = append(p.Weights, []float64{0.1, 1, 3, 1e6, 0x1p-32, r.Float64() + 0.1}[r.IntN(6)])
		}
	}
	return p
}

// TestPerClassColumns checks that each class's areas are bit-identical to those of its column as a binary task, for any number
// of threads and order of rows, after merges and after reading a state.
func TestPerClassColumns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	areas := []func(r *rank.Ranking) (float64, float64){(*rank.Ranking).AUROC, (*rank.Ranking).AURC,
		areaOf(rank.AveragePrecision), areaOf(rank.Trapezoid), areaOf(rank.DavisGoadrich)}
	for i, k := range []int{3, check.Size(12, 20, 50)} {
		for _, values := range []int{0, 1, 2, 30} {
			for _, weighted := range []bool{false, true} {
				if testing.Short() && weighted != (values%2 == 0) {
					continue
				}
				p := manyClasses(uint64(10*values+i), 700, k, values, weighted)
				s := classScores(t, p, &metrics.Options{Unchecked: true})
				var want []*rank.OneVsRest
				for _, area := range areas {
					want = append(want, rank.PerClass(s, area))
				}
				for c := range k {
					one := &metrics.Predictions{Weights: p.Weights, Labels: make([]int32, p.Rows)}
					one.Rows, one.Classes = p.Rows, 1
					for j := range p.Rows {
						one.F64 = append(one.F64, p.F64[j*k+c])
						if p.Labels[j] == int32(c) {
							one.Labels[j] = 1
						}
					}
					r := rank.RankingOf(of(t, one))
					for j, area := range areas {
						x, _ := area(r)
						if c == k-1 {
							x = math.NaN() // no area
						}
						if y := want[j].Areas[c]; x != y && (x == x || y == y) {
							t.Fatalf("%d classes, %d values, area %d of class %d: %v, want %v", k, values, j, c, y, x)
						}
					}
				}
				if x, _ := want[0].Macro(); values == 1 && !near(x, 0.5, 1e-15) || !(x > 0.3 && x < 0.7) {
					t.Errorf("auroc %v by chance", x)
				}
				same := func(what string, s *calib.ClassScores) {
					for j, area := range areas {
						got := rank.PerClass(s, area)
						for c := range k {
							if x, y := got.Areas[c], want[j].Areas[c]; x != y && (x == x || y == y) || got.Weights[c] != want[j].Weights[c] {
								t.Errorf("%s: area %d of class %d is %v, want %v", what, j, c, x, y)
							}
						}
						x, _ := got.Weighted()
						if y, _ := want[j].Weighted(); x != y || x != x {
							t.Errorf("%s: area %d is %v, want %v", what, j, x, y)
						}
					}
				}
				for threads := range 4 {
					if !check.Full() && threads%2 != (values+i)%2 {
						continue
					}
					runtime.GOMAXPROCS(1 + threads)
					same("threads", s)
				}
				var parts []*calib.ClassScores
				for at := 0; at < p.Rows; at += 100 {
					part := &metrics.Predictions{Labels: p.Labels[at : at+100]}
					part.Rows, part.Classes, part.F64 = 100, k, p.F64[at*k:(at+100)*k]
					if weighted {
						part.Weights = p.Weights[at : at+100]
					}
					parts = append(parts, classScores(t, part, &metrics.Options{Unchecked: true}))
				}
				slices.Reverse(parts)
				for _, o := range parts[1:] {
					if err := parts[0].Merge(o); err != nil {
						t.Fatal(err)
					}
				}
				same("merged", parts[0])
				b, err := parts[0].AppendBinary(nil)
				if err != nil {
					t.Fatal(err)
				}
				var read calib.ClassScores
				if err := read.UnmarshalBinary(b); err != nil {
					t.Fatal(err)
				}
				same("read back", &read)
			}
		}
	}
}

// TestPerClassNone checks which answers are missing, and why.
func TestPerClassNone(t *testing.T) {
	nan := func(what string, mean func() (float64, float64)) {
		t.Helper()
		if v, bound := mean(); v == v || bound == bound {
			t.Errorf("%s: %v, bound %v", what, v, bound)
		}
	}
	none := rank.PerClass(metrics.Must(calib.NewClassScores(nil)), (*rank.Ranking).AUROC)
	nan("no rows", none.Macro)
	nan("no rows", none.Weighted)

	p := manyClasses(1, 40, 4, 5, false)
	clear(p.Labels)
	s := classScores(t, p, &metrics.Options{Unchecked: true})
	nan("one class", rank.PerClass(s, (*rank.Ranking).AUROC).Macro)
	nan("one class", rank.PerClass(s, (*rank.Ranking).AUROC).Weighted)
	if v, bound := rank.PerClass(s, areaOf(rank.AveragePrecision)).Macro(); v != 1 || bound != 0 {
		t.Errorf("one class: auprc %v, bound %v", v, bound)
	}

	// An entry outside [0,1] has no rank.
	p = manyClasses(2, 40, 4, 5, true)
	p.F64[5] = 1.5
	out := rank.PerClass(classScores(t, p, &metrics.Options{Unchecked: true}), (*rank.Ranking).AUROC)
	if v, bound := out.Macro(); !(v > 0.2 && v < 0.8) || bound == bound || out.Bounds[0] != 0 || out.Bounds[1] == out.Bounds[1] {
		t.Errorf("outside: %v, bound %v, %v", v, bound, out.Bounds)
	}

	few := metrics.Must(calib.NewClassScores(&calib.ClassScoresOptions{MaxBytes: 100}))
	if err := metrics.NewPass(&metrics.Options{Unchecked: true}, few).Add(p); err != nil || few.Err() == nil {
		t.Fatal(err, few.Err())
	}
	nan("too many", rank.PerClass(few, (*rank.Ranking).AUROC).Macro)

	defer func() {
		if recover() == nil {
			t.Error("a threshold leaves an order")
		}
	}()
	metrics.Must(calib.NewClassScores(&calib.ClassScoresOptions{Above: new(0.1)})).EachClass(func(int, cells.Ordered) {})
}

// With more than two classes, each class has an area against the rest. Their mean is the area of the model.
func ExamplePerClass() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{
			F64: []float64{
				0.7, 0.2, 0.1,
				0.3, 0.6, 0.1,
				0.1, 0.5, 0.4,
				0.5, 0.2, 0.3,
				0.2, 0.3, 0.5,
			},
			Rows: 5, Classes: 3,
		},
		Labels: []int32{0, 1, 1, 1, 2},
	}
	s := metrics.Must(calib.NewClassScores(nil))
	if err := metrics.NewPass(nil, s).Add(p); err != nil {
		log.Fatal(err)
	}
	var c rank.Classes = s
	v := rank.PerClass(c, (*rank.Ranking).AUROC)
	macro, _ := v.Macro()
	weighted, bound := v.Weighted()
	fmt.Printf("%.4f of %v rows: macro %.4f, weighted %.4f, bound %v\n", v.Areas, v.Weights, macro, weighted, bound)

	precision := rank.PerClass(c, func(r *rank.Ranking) (area, bound float64) { return r.AUPRC(rank.AveragePrecision) })
	macro, _ = precision.Macro()
	fmt.Printf("average precision: macro %.4f\n", macro)
	// Output:
	// [1.0000 0.7500 1.0000] of [1 3 1] rows: macro 0.9167, weighted 0.8500, bound 0
	// average precision: macro 0.9556
}
