package regress_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

func TestRanksLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for _, o := range []*regress.RankOptions{nil, {Bins: 4, Seed: 2}, {Bins: 1}} {
		pitLaws(t, pitSamples(r, 2000, 9, 0.1, 1.3, true), metrics.Must(regress.NewRanks(o)))
		pitLaws(t, pitSamples(r, 300, 1, 0.1, 1.3, false), metrics.Must(regress.NewRanks(o)))
	}
}

// TestRanksOracle compares with counts from NumPy. For ties broken at random, it takes the mean over many seeds.
func TestRanksOracle(t *testing.T) {
	compared := 0
	for i, c := range pitReadOracle(t).Samples {
		p := &metrics.Predictions{Kind: metrics.Samples, Observed: c.Observed}
		p.F64, p.Rows, p.Classes = c.Samples, len(c.Observed), len(c.Samples)/len(c.Observed)
		const seeds = 200
		mean := make([]float64, p.Classes+1)
		var ranks *regress.Ranks
		for seed := range uint64(seeds) {
			ranks = metrics.Must(regress.NewRanks(&regress.RankOptions{Seed: seed}))
			pitPass(t, p, nil, ranks)
			for j, b := range ranks.Histogram(0.95) {
				mean[j] += float64(b.Count) / seeds
				if b.First != j || b.Last != j || !pitNear(b.Density, float64(b.Count*int64(len(mean)))/float64(p.Rows), 1e-15) {
					t.Fatalf("%+v", b)
				}
				if d := math.Abs(float64(b.Count) - c.Mean[j]); d > 6*math.Sqrt(c.Variance[j])+1e-9 {
					t.Errorf("set %d: rank %d has %d rows, on average %v, variance %v", i, j, b.Count, c.Mean[j], c.Variance[j])
				}
			}
		}
		for j, m := range mean {
			compared++
			if math.Abs(m-c.Mean[j]) > 4.5*math.Sqrt(c.Variance[j]/seeds)+1e-9 {
				t.Errorf("set %d: rank %d has %v rows, want %v, variance %v", i, j, m, c.Mean[j], c.Variance[j]/seeds)
			}
		}
		if c.P != nil && !pitNear(ranks.P(), *c.P, 1e-11) {
			t.Errorf("set %d: p = %v, want %v", i, ranks.P(), *c.P)
		}
		if s := ranks.Shape(); c.Shape != nil && (!pitNear(s.Slope, c.Shape[0], 1e-11) || !pitNear(s.Bend, c.Shape[1], 1e-11)) {
			t.Errorf("set %d: %+v, want %v", i, s, c.Shape)
		}
	}
	if compared != 22 {
		t.Error(compared, "counts")
	}
}

// TestRanksBins checks that bins of several ranks divide them evenly if possible, and otherwise differ by at most one rank.
func TestRanksBins(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for _, c := range []struct{ samples, most, bins int }{
		{9, 0, 10}, {9, 10, 10}, {9, 9, 5}, {9, 4, 4}, {51, 20, 13}, {99, 30, 25}, {99, 60, 50}, {1999, 0, 1000}, {2399, 0, 800},
		{1998, 0, 1000}, {1, 1, 1}, {6, 3, 3},
	} {
		p := pitSamples(r, 60, c.samples, 0, 1, false)
		fine := metrics.Must(regress.NewRanks(&regress.RankOptions{Bins: c.most}))
		pitPass(t, p, nil, fine)
		h := fine.Histogram(0.9)
		if len(h) != c.bins || h[0].First != 0 || h[len(h)-1].Last != c.samples || fine.Samples() != c.samples {
			t.Errorf("%+v: %d bins to %d", c, len(h), h[len(h)-1].Last)
			continue
		}
		least, most, rows := c.samples+1, 0, int64(0)
		for i, b := range h {
			n := b.Last - b.First + 1
			least, most, rows = min(least, n), max(most, n), rows+b.Count
			if i > 0 && b.First != h[i-1].Last+1 {
				t.Errorf("%+v: bins %+v, %+v", c, h[i-1], b)
			}
			q := float64(n) / float64(c.samples+1)
			if !pitNear(b.Density, float64(b.Count)/60/q, 1e-14) {
				t.Errorf("%+v: %+v", c, b)
			}
		}
		if most-least > 1 || (c.samples+1)%c.bins == 0 && most != least || rows != 60 {
			t.Errorf("%+v: %d to %d ranks a bin, %d rows", c, least, most, rows)
		}
		// Each row is in the bin of its rank.
		for i := range 20 {
			one := metrics.Must(regress.NewRanks(&regress.RankOptions{Bins: c.most}))
			if err := metrics.NewPass(nil, one).AddSource(&pitParts{p, i, i + 1, 1}); err != nil {
				t.Fatal(err)
			}
			rank := 0
			for _, x := range p.F64[i*c.samples : (i+1)*c.samples] {
				if x < p.Observed[i] {
					rank++
				}
			}
			b := one.Histogram(0.9)
			at := slices.IndexFunc(b, func(b regress.RankBin) bool { return b.Count == 1 })
			if rank < b[at].First || rank > b[at].Last {
				t.Errorf("%+v: rank %d in %+v", c, rank, b[at])
			}
		}
	}
}

// TestRanksCalibrated checks that p-values of calibrated samples are uniform, also those of slope and bend, and the values
// for other samples.
func TestRanksCalibrated(t *testing.T) {
	sets := check.Size(100, 250, 400)
	r := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct {
		name   string
		m, bin int
		coarse bool
	}{{"each rank", 9, 0, false}, {"ties", 9, 0, true}, {"uneven bins", 12, 5, false}, {"two bins", 9, 2, false}} {
		var p, slope, bend []float64
		z := 0.0
		for i := range sets {
			a := metrics.Must(regress.NewRanks(&regress.RankOptions{Bins: c.bin, Seed: uint64(i)}))
			pitPass(t, pitSamples(r, 500, c.m, 0, 1, c.coarse), nil, a)
			s := a.Shape()
			p, slope, bend = append(p, a.P()), append(slope, s.SlopeP), append(bend, s.BendP)
			z += s.Slope * s.Bend / float64(sets)
		}
		if c.bin == 2 { // counts are so few that their steps show
			if bend[0] == bend[0] || !pitNear(p[0], slope[0], 1e-9) {
				t.Errorf("two bins have a bend of %v, and p %v of a slope %v", bend[0], p[0], slope[0])
			}
			continue
		}
		pitFlat(t, c.name, p)
		pitFlat(t, c.name+", slope", slope)
		pitFlat(t, c.name+", bend", bend)
		if math.Abs(z) > 5/math.Sqrt(float64(sets)) {
			t.Errorf("%s: slope and bend go together: %v", c.name, z)
		}
	}
	for _, bins := range []int{0, 7} {
		for _, c := range []struct {
			off, stretch float64
			slope, bend  int
		}{{0, 1.6, 0, 1}, {0, 0.6, 0, -1}, {0.7, 1, 1, 0}, {-0.7, 1, -1, 0}} {
			a := metrics.Must(regress.NewRanks(&regress.RankOptions{Bins: bins}))
			pitPass(t, pitSamples(r, 2000, 19, c.off, c.stretch, false), nil, a)
			s := a.Shape()
			sign := func(z, p float64) int {
				if p > 1e-4 {
					return 0
				}
				return int(math.Copysign(1, z))
			}
			if got := sign(s.Slope, s.SlopeP); got != c.slope || a.P() > 1e-6 {
				t.Errorf("%+v: %+v, p = %v", c, s, a.P())
			}
			if got := sign(s.Bend, s.BendP); c.bend != 0 && got != c.bend {
				t.Errorf("%+v: %+v", c, s)
			}
		}
	}
}

// TestRanksDropped checks that a dropped row does not change the draws of others: rows keep their numbers.
func TestRanksDropped(t *testing.T) {
	p := pitSamples(rand.New(rand.NewPCG(5, 4)), 3000, 4, 0, 1, true)
	q := *p
	q.Observed = slices.Clone(p.Observed)
	for i := 0; i < 3000; i += 7 {
		q.Observed[i] = math.NaN()
	}
	p.Weights = slices.Repeat([]float64{1}, 3000)
	for i := 0; i < 3000; i += 7 {
		p.Weights[i] = 0
	}
	absent, dropped := metrics.Must(regress.NewRanks(nil)), metrics.Must(regress.NewRanks(nil))
	pitPass(t, p, nil, absent)
	pitPass(t, &q, &metrics.Options{Drop: true, Threads: 2}, dropped)
	a, b := absent.Histogram(0.9), dropped.Histogram(0.9)
	if !slices.Equal(a, b) || absent.P() != dropped.P() {
		t.Error(a, b)
	}
}

func TestRanksFaults(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 4))
	p := pitSamples(r, 5, 4, 0, 1, false)
	a, weighted, other := metrics.Must(regress.NewRanks(nil)), metrics.Must(regress.NewRanks(nil)), metrics.Must(regress.NewRanks(nil))
	if len(a.Histogram(0.95)) != 0 || a.P() == a.P() || a.Reason() != "there are no rows" || a.Samples() != 0 {
		t.Error("an empty histogram has answers")
	}
	if s := a.Shape(); s.Slope == s.Slope || s.Bend == s.Bend || s.SlopeP == s.SlopeP || s.BendP == s.BendP {
		t.Error(s)
	}
	pitPass(t, p, nil, a)
	if a.P() == a.P() || a.Reason() == "" {
		t.Error(a.P())
	}
	p.Weights = []float64{1, 1, 1, 1, 1}
	pitPass(t, p, nil, weighted)
	pitPass(t, pitSamples(r, 5, 3, 0, 1, false), nil, other)
	before := pitState(t, a)
	for _, o := range []metrics.Accumulator{weighted, other, metrics.Must(regress.NewPIT(nil)), metrics.Must(regress.NewRanks(&regress.RankOptions{Bins: 3})),
		metrics.Must(regress.NewRanks(&regress.RankOptions{Seed: 1}))} {
		if err := a.Merge(o); !errors.Is(err, metrics.ErrMismatch) || !bytes.Equal(before, pitState(t, a)) {
			t.Errorf("merged with %T: %v", o, err)
		}
	}
	if err := a.Merge(a.Empty()); err != nil || !bytes.Equal(before, pitState(t, a)) {
		t.Error(err)
	}
}

func FuzzRanksUnmarshal(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 8))
	s := pitSeeds(f, metrics.Must(regress.NewRanks(nil)), pitSamples(r, 20, 3, 0, 1, true))
	s = append(s, pitSeeds(f, metrics.Must(regress.NewRanks(&regress.RankOptions{Bins: 2})), pitSamples(r, 5, 4, 0, 1, false))...)
	pitFuzz(f, "cRKH", func() metrics.Accumulator { return &regress.Ranks{} }, func(a metrics.Accumulator) {
		r := a.(*regress.Ranks)
		r.P()
		r.Shape()
		r.Histogram(0.95)
	}, s...)
}

// TestRanksReal compares with counts from NumPy for 5,170 forecasts of rain with 51 members each, without ties.
func TestRanksReal(t *testing.T) {
	p := &metrics.Predictions{Kind: metrics.Samples}
	p.Observed = pitReal(t, "monsoon_precip_ens51", "obs.npy")
	p.Rows, p.Classes = len(p.Observed), 51
	columns := pitReal(t, "monsoon_precip_ens51", "members.npy")
	p.F64 = make([]float64, len(columns))
	for i, v := range columns { // the file is in Fortran order
		p.F64[i%p.Rows*51+i/p.Rows] = v
	}
	ranks := metrics.Must(regress.NewRanks(nil))
	pitPass(t, p, nil, ranks)
	want := []int64{274, 129, 93, 78, 74, 62, 63, 67, 63, 75, 60, 70, 66, 61, 63, 70, 72, 63, 67, 61, 71, 63, 72, 67, 62, 76, 65,
		80, 80, 72, 64, 78, 89, 98, 74, 78, 93, 85, 98, 86, 102, 102, 90, 101, 103, 109, 116, 113, 139, 133, 223, 657}
	for i, b := range ranks.Histogram(0.95) {
		if b.Count != want[i] {
			t.Errorf("rank %d has %d rows, want %d", i, b.Count, want[i])
		}
	}
	// Members are too close together, and too low.
	if s := ranks.Shape(); ranks.P() > 1e-100 || s.Slope < 10 || s.Bend < 10 {
		t.Errorf("p = %v, %+v", ranks.P(), s)
	}
}
