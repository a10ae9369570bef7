package rank_test

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

type peersFigures struct {
	Classes []struct {
		Classes     int
		Counts      []float64
		Labels      []int32
		Weights     []float64
		Micro       float64
		MicroAP     float64 `json:"micro_ap"`
		OVO         *float64
		OVOWeighted *float64 `json:"ovo_weighted"`
		Top         []float64
	}
	Binary []struct {
		Counts  []float64
		Labels  []int32
		Weights []float64
		Partial [][2]float64
	}
}

// peers reads the results of scikit-learn; see testdata/oracle/make_ranks.py.
func peers(t *testing.T) (g peersFigures) {
	t.Helper()
	f, err := os.Open("../../testdata/oracle/ranks.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&g); err != nil {
		t.Fatal(err)
	}
	if len(g.Classes) != 10 || len(g.Binary) != 10 {
		t.Fatalf("%d and %d cases", len(g.Classes), len(g.Binary))
	}
	return g
}

// inParts feeds an accumulator with rows in parts; one part passes through a state.
func inParts[A metrics.Accumulator](t *testing.T, p *metrics.Predictions, empty, other A) A {
	t.Helper()
	cut := p.Rows / 3
	for i, part := range []*metrics.Predictions{cutOf(p, 0, cut), cutOf(p, cut, p.Rows)} {
		a := empty.Empty()
		if err := metrics.NewPass(nil, a).Add(part); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			b, err := a.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.UnmarshalBinary(b); err != nil {
				t.Fatal(err)
			}
			a = other
		}
		if err := empty.Merge(a); err != nil {
			t.Fatal(err)
		}
	}
	return empty
}

func cutOf(p *metrics.Predictions, from, to int) *metrics.Predictions {
	q := &metrics.Predictions{Labels: p.Labels[from:to]}
	q.Rows, q.Classes = to-from, p.Classes
	if p.Weights != nil {
		q.Weights = p.Weights[from:to]
	}
	if p.F32 != nil {
		q.F32 = p.F32[from*p.Classes : to*p.Classes]
	} else {
		q.F64 = p.F64[from*p.Classes : to*p.Classes]
	}
	return q
}

// TestAveragesAreScikitLearns compares one-vs-one averages, with pairs weighted equally and by their rows, and averages over
// all entries together.
func TestAveragesAreScikitLearns(t *testing.T) {
	for i, c := range peers(t).Classes {
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
			all := inParts(t, p, rank.NewEntries(), new(rank.Entries)).Ranking()
			if got, bound := all.AUROC(); !near(got, c.Micro, 4e-15) || bound != 0 {
				t.Errorf("case %d: micro %v, bound %v, want %v", i, got, bound, c.Micro)
			}
			if got, bound := all.AUPRC(rank.AveragePrecision); !near(got, c.MicroAP, 4e-15) || bound != 0 {
				t.Errorf("case %d: micro average precision %v, bound %v, want %v", i, got, bound, c.MicroAP)
			}
			s := inParts(t, p, metrics.Must(calib.NewLabelScores(0)), new(calib.LabelScores))
			v := rank.PairedAUROC(s)
			if c.OVO == nil {
				if !math.IsNaN(v.Macro()) || !math.IsNaN(v.Weighted()) || !s.Weighted() {
					t.Errorf("case %d: with weights %v, %v", i, v.Macro(), v.Weighted())
				}
				continue
			}
			if !near(v.Macro(), *c.OVO, 4e-15) || !near(v.Weighted(), *c.OVOWeighted, 4e-15) {
				t.Errorf("case %d: %v, %v, want %v, %v", i, v.Macro(), v.Weighted(), *c.OVO, *c.OVOWeighted)
			}
		}
	}
}

// TestPartialIsScikitLearns compares areas up to a false positive rate.
func TestPartialIsScikitLearns(t *testing.T) {
	for i, c := range peers(t).Binary {
		p := &metrics.Predictions{Labels: c.Labels, Weights: c.Weights}
		p.Rows, p.Classes = len(c.Labels), 1
		for _, n := range c.Counts {
			p.F64 = append(p.F64, n/1024)
		}
		a := metrics.Must(cells.New(nil))
		if err := metrics.NewPass(nil, a).Add(p); err != nil {
			t.Fatal(err)
		}
		r := rank.RankingOf(a)
		for _, v := range c.Partial {
			if got, bound := r.PartialAUROC(v[0]); !near(got, v[1], 4e-15) || bound != 0 {
				t.Errorf("case %d: up to %v: %v, bound %v, want %v", i, v[0], got, bound, v[1])
			}
		}
		whole, _ := r.AUROC()
		if one, _ := r.PartialAUROC(1); one != whole {
			t.Errorf("case %d: up to 1 it is %v, and the whole is %v", i, one, whole)
		}
	}
	none := rank.RankingOf(metrics.Must(cells.New(nil)))
	if v, bound := none.PartialAUROC(0.5); !math.IsNaN(v) || !math.IsNaN(bound) {
		t.Errorf("without rows %v, %v", v, bound)
	}
	for _, m := range []float64{0, -0.1, 1.1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v is no panic", m)
				}
			}()
			none.PartialAUROC(m)
		}()
	}
}

// TestPartialBound checks that beyond the number of distinct scores that are kept, the area of the rows is within the bound,
// and that the bound is small.
func TestPartialBound(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it sorts hundreds of thousands of scores")
	}
	r := rand.New(rand.NewPCG(4, 4))
	p := &metrics.Predictions{}
	p.Rows, p.Classes = cells.MaxExact+cells.MaxExact/4, 1
	for range p.Rows {
		v := r.Float64()
		p.F64 = append(p.F64, v)
		y := int32(0)
		if r.Float64() < v {
			y = 1
		}
		p.Labels = append(p.Labels, y)
	}
	a := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, a).Add(p); err != nil {
		t.Fatal(err)
	}
	sorted, err := cells.Sort(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []float64{0.001, 0.1, 0.7} {
		v, bound := rank.RankingOf(a).PartialAUROC(m)
		want, none := rank.RankingOf(sorted).PartialAUROC(m)
		if none != 0 || !(bound > 0 && bound < 0.01) || !(math.Abs(v-want) <= bound) {
			t.Errorf("up to %v: %v, bound %v, want %v, bound %v", m, v, bound, want, none)
		}
	}
}

// TestPairsRefuse checks that states that no rows can produce are refused, and that different accumulators do not merge.
func TestPairsRefuse(t *testing.T) {
	fed := func(a metrics.Accumulator, k int, weighted bool) metrics.Accumulator {
		t.Helper()
		if err := metrics.NewPass(&metrics.Options{Renormalize: true}, a).Add(manyClasses(9, 40, k, 0, weighted)); err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range [][2]metrics.Accumulator{
		{fed(metrics.Must(calib.NewLabelScores(0)), 3, false), fed(metrics.Must(calib.NewLabelScores(0)), 4, false)},
		{fed(metrics.Must(calib.NewLabelScores(0)), 3, false), fed(metrics.Must(calib.NewLabelScores(0)), 3, true)},
		{fed(metrics.Must(calib.NewLabelScores(0)), 3, false), fed(metrics.Must(calib.NewLabelScores(9)), 3, false)},
		{fed(metrics.Must(calib.NewLabelScores(0)), 3, false), fed(rank.NewEntries(), 3, false)},
		{fed(rank.NewEntries(), 3, false), fed(rank.NewEntries(), 4, false)},
		{fed(rank.NewEntries(), 3, false), fed(rank.NewEntries(), 3, true)},
		{fed(rank.NewEntries(), 3, false), fed(metrics.Must(calib.NewLabelScores(0)), 3, false)},
	} {
		before, _ := c[0].AppendBinary(nil)
		if c[0].Merge(c[1]) == nil {
			t.Errorf("%T merges with an unlike %T", c[0], c[1])
		}
		if after, _ := c[0].AppendBinary(nil); !slices.Equal(before, after) {
			t.Errorf("a refused merge changed the %T", c[0])
		}
	}
	// Beyond the limit rows are only counted, whatever was merged, and the state says so.
	p := manyClasses(9, 40, 3, 0, false)
	for i := range p.Rows {
		row := p.F64[3*i : 3*i+3]
		sum := row[0] + row[1] + row[2]
		row[0], row[1], row[2] = row[0]/sum, row[1]/sum, row[2]/sum
	}
	over := inParts(t, p, metrics.Must(calib.NewLabelScores(8*40*3-1)), new(calib.LabelScores))
	if !over.Over() || over.Bytes() != 8*40*3 || over.Len() != 40 || !math.IsNaN(rank.PairedAUROC(over).Macro()) {
		t.Errorf("%v, %d bytes, %d rows", over.Over(), over.Bytes(), over.Len())
	}
	for _, a := range []metrics.Accumulator{over, fed(metrics.Must(calib.NewLabelScores(0)), 3, true), fed(metrics.Must(calib.NewLabelScores(0)), 3, false), fed(rank.NewEntries(), 3, false), metrics.Must(calib.NewLabelScores(5)), rank.NewEntries()} {
		b, err := a.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b {
			c := slices.Clone(b)
			c[i] ^= 1
			if e := a.Empty(); e.UnmarshalBinary(c) == nil {
				t.Fatalf("%T: byte %d has no say", a, i)
			}
		}
		e := a.Empty()
		if err := e.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		if again, _ := e.AppendBinary(nil); !slices.Equal(again, b) {
			t.Errorf("%T: what was read is written otherwise", a)
		}
	}
}
