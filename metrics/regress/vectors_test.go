package regress_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// vectorSet is a set of testdata/oracle/vectors.json.
type vectorSet struct {
	Members  [][][]float64
	Observed [][]float64
	Energy   []float64
	Fair     []float64
	Vario    map[string][]float64 `json:"variogram"`
	Near     []float64
	DSS      []float64 `json:"dawid_sebastiani"`
	Ranks    map[string]struct{ Below, Above []int }
}

func (v *vectorSet) predictions() *metrics.Predictions { return vectorRows(v.Members, v.Observed) }

// vectorRows returns forecasts of vectors.
func vectorRows(members [][][]float64, observed [][]float64) *metrics.Predictions {
	d := len(observed[0])
	p := &metrics.Predictions{Kind: metrics.Multivariate, Dimensions: d, Scores: metrics.Scores{Rows: len(members), Classes: (len(members[0]) + 1) * d}}
	for i, row := range members {
		for _, x := range row {
			p.F64 = append(p.F64, x...)
		}
		p.F64 = append(p.F64, observed[i]...)
	}
	return p
}

func readVectors(t *testing.T) []vectorSet {
	t.Helper()
	b, err := os.ReadFile("../../testdata/oracle/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var o struct{ Sets []vectorSet }
	if err := json.Unmarshal(b, &o); err != nil || len(o.Sets) == 0 {
		t.Fatal(err, len(o.Sets))
	}
	return o.Sets
}

func vectors(o regress.VectorOptions) *regress.Vectors { return metrics.Must(regress.NewVectors(&o)) }

// TestVectorsPeers compares scores row by row with scoringrules.
func TestVectorsPeers(t *testing.T) {
	dss := 0
	for at, c := range readVectors(t) {
		all := c.predictions()
		for i := range all.Rows {
			p := all.Slice(i, i+1)
			near := func(what string, got, want float64) {
				t.Helper()
				if !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
					t.Errorf("set %d, row %d: %s is %v, want %v", at, i, what, got, want)
				}
			}
			e := vectors(regress.VectorOptions{})
			passInto(t, &p, e)
			near("energy", e.Value(regress.Energy), c.Energy[i])
			if c.Fair != nil {
				near("fair energy", e.Value(regress.EnergyFair), c.Fair[i])
			} else if !math.IsNaN(e.Value(regress.EnergyFair)) || e.Reason(regress.EnergyFair) != "there is a single member" {
				t.Error("fair energy of one member", e.Value(regress.EnergyFair))
			}
			for order, want := range c.Vario {
				var p2 float64
				if _, err := fmt.Sscan(order, &p2); err != nil {
					t.Fatal(err)
				}
				v := vectors(regress.VectorOptions{Score: regress.Variogram, Order: p2})
				passInto(t, &p, v)
				near("variogram "+order, v.Value(regress.Variogram), want[i])
			}
			v := vectors(regress.VectorOptions{Score: regress.Variogram, Near: true})
			passInto(t, &p, v)
			near("variogram, near", v.Value(regress.Variogram), c.Near[i])
			if c.DSS != nil {
				d := vectors(regress.VectorOptions{Score: regress.DawidSebastiani})
				passInto(t, &p, d)
				near("Dawid-Sebastiani", d.Value(regress.DawidSebastiani), c.DSS[i])
				dss++
			}
		}
	}
	if dss < 10 {
		t.Error("few rows of Dawid-Sebastiani:", dss)
	}
}

// TestVectorRanksPeers compares with ranks that are counted from the definitions: without ties the rank is certain, with ties it lies
// among those that are possible, and all of them occur.
func TestVectorRanksPeers(t *testing.T) {
	for at, c := range readVectors(t) {
		all := c.predictions()
		m := len(c.Members[0])
		for ranking, name := range []string{"dominance", "average", "band_depth"} {
			for i := range all.Rows {
				below, above := c.Ranks[name].Below[i], c.Ranks[name].Above[i]
				found := map[int]bool{}
				for seed := range uint64(400) {
					s := metrics.Must(regress.NewVectorRanks(&regress.VectorRankOptions{Ranking: regress.Ranking(ranking), Seed: seed}))
					p := all.Slice(i, i+1)
					passInto(t, &p, s)
					for _, b := range s.Ranks().Histogram(0.95) {
						if b.Count == 1 {
							found[b.First] = true
						}
					}
					if below+above == m {
						break
					}
				}
				for r := range m + 1 {
					if got, want := found[r], r >= below && r <= m-above; got != want && (m <= 10 || got) {
						t.Errorf("set %d, row %d, %s: rank %d is drawn: %v, want %v", at, i, name, r, got, want)
					}
				}
			}
		}
	}
}

// TestVectorsOneDimension: the energy score of one dimension is the CRPS.
func TestVectorsOneDimension(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var x [][]float64
	var y []float64
	var members [][][]float64
	var observed [][]float64
	for range 50 {
		row, vs := []float64{}, [][]float64{}
		for range 8 {
			v := r.NormFloat64()
			row, vs = append(row, v), append(vs, []float64{v})
		}
		x, members = append(x, row), append(members, vs)
		y = append(y, r.NormFloat64())
		observed = append(observed, y[len(y)-1:])
	}
	for _, fair := range []bool{false, true} {
		e, c := vectors(regress.VectorOptions{}), metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{Fair: fair}))
		passInto(t, vectorRows(members, observed), e)
		passInto(t, sampleRows(x, y), c)
		got := e.Value(regress.Energy)
		if fair {
			got = e.Value(regress.EnergyFair)
		}
		if want := c.Value(); !(math.Abs(got-want) <= 1e-14*want) {
			t.Errorf("fair %v: %v, want the CRPS %v", fair, got, want)
		}
	}
}

// TestVectorsScale: scores follow the unit, however large or small, and Dawid-Sebastiani's is that of exact arithmetic.
func TestVectorsScale(t *testing.T) {
	c := readVectors(t)[2]
	at := func(unit float64, o regress.VectorOptions, s regress.VectorScore) float64 {
		p := c.predictions()
		for i := range p.F64 {
			p.F64[i] *= unit
		}
		v := vectors(o)
		passInto(t, p, v)
		return v.Value(s)
	}
	d := float64(len(c.Observed[0]))
	for _, power := range []int{-1000, -600, -3, 4, 600, 1000} {
		u := math.Ldexp(1, power)
		if got, want := at(u, regress.VectorOptions{}, regress.Energy)/u, at(1, regress.VectorOptions{}, regress.Energy); !(math.Abs(got-want) <= 1e-14*want) {
			t.Errorf("2^%d: energy %v, want %v", power, got, want)
		}
		o := regress.VectorOptions{Score: regress.Variogram}
		if got, want := at(u, o, regress.Variogram)/u, at(1, o, regress.Variogram); !(math.Abs(got-want) <= 1e-14*want) {
			t.Errorf("2^%d: variogram %v, want %v", power, got, want)
		}
		o.Score = regress.DawidSebastiani
		if got, want := at(u, o, regress.DawidSebastiani), at(1, o, regress.DawidSebastiani)+2*d*float64(power)*math.Ln2; !(math.Abs(got-want) <= 1e-11*math.Abs(want)) {
			t.Errorf("2^%d: Dawid-Sebastiani %v, want %v", power, got, want)
		}
	}
	// Two dimensions in rational numbers.
	x, y := [][]float64{{1, 2}, {3, -1}, {4, 5}, {0, 0.5}}, []float64{2, 7}
	rat := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	mean := [2]*big.Rat{new(big.Rat), new(big.Rat)}
	for _, v := range x {
		for i := range mean {
			mean[i].Add(mean[i], new(big.Rat).Quo(rat(v[i]), rat(4)))
		}
	}
	var s [2][2]*big.Rat
	for i := range 2 {
		for j := range 2 {
			s[i][j] = new(big.Rat)
			for _, v := range x {
				a, b := new(big.Rat).Sub(rat(v[i]), mean[i]), new(big.Rat).Sub(rat(v[j]), mean[j])
				s[i][j].Add(s[i][j], new(big.Rat).Quo(a.Mul(a, b), rat(3)))
			}
		}
	}
	mul := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
	det := new(big.Rat).Sub(mul(s[0][0], s[1][1]), mul(s[0][1], s[0][1]))
	a, b := new(big.Rat).Sub(rat(y[0]), mean[0]), new(big.Rat).Sub(rat(y[1]), mean[1])
	q := new(big.Rat).Add(mul(mul(a, a), s[1][1]), mul(mul(b, b), s[0][0]))
	q.Sub(q, mul(mul(rat(2), mul(a, b)), s[0][1])).Quo(q, det)
	square, _ := q.Float64()
	size, _ := det.Float64()
	v := vectors(regress.VectorOptions{Score: regress.DawidSebastiani})
	passInto(t, vectorRows([][][]float64{x}, [][]float64{y}), v)
	if got, want := v.Value(regress.DawidSebastiani), math.Log(size)+square; !(math.Abs(got-want) <= 1e-13*math.Abs(want)) {
		t.Errorf("Dawid-Sebastiani %v, want %v", got, want)
	}
}

// TestVectorsSingular: rows without a score are counted, with the weights of the others as they are.
func TestVectorsSingular(t *testing.T) {
	good := [][]float64{{1, 2}, {3, -1}, {4, 5}, {0, 0.5}}
	for name, bad := range map[string][][]float64{
		"constant": {{1, 2}, {1, -1}, {1, 5}, {1, 0.5}}, "a multiple": {{1, 3}, {2, 6}, {0.1, 0.3}, {4, 12}}, "equal": {{0.1, 0.2}, {0.1, 0.2}, {0.1, 0.2}, {0.1, 0.2}},
	} {
		p := vectorRows([][][]float64{good, bad, good}, [][]float64{{1, 1}, {1, 1}, {2, 7}})
		p.Weights = []float64{1, 5, 2}
		v, e := vectors(regress.VectorOptions{Score: regress.DawidSebastiani}), vectors(regress.VectorOptions{})
		passInto(t, p, v, e)
		if v.Singular() != 1 || !math.IsNaN(v.Value(regress.DawidSebastiani)) || !strings.Contains(v.Reason(regress.DawidSebastiani), "singular in 1 of 3 rows") {
			t.Errorf("%s: %d rows, %v, %q", name, v.Singular(), v.Value(regress.DawidSebastiani), v.Reason(regress.DawidSebastiani))
		}
		if !(e.Value(regress.Energy) > 0) || p.Weights[1] != 5 || p.Weights[2] != 2 {
			t.Error(name, e.Value(regress.Energy), p.Weights)
		}
	}
	few := vectors(regress.VectorOptions{Score: regress.DawidSebastiani})
	passInto(t, vectorRows([][][]float64{good[:2]}, [][]float64{{1, 1}}), few)
	if !strings.Contains(few.Reason(regress.DawidSebastiani), "2 members in 2 dimensions is singular") || few.Interval(regress.DawidSebastiani, 0.9).Low == 0 {
		t.Error(few.Reason(regress.DawidSebastiani))
	}
}

// randomVectors returns forecasts of d numbers by m members, some with units of their own.
func randomVectors(seed uint64, n, m, d int, weighted, narrow bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &metrics.Predictions{Kind: metrics.Multivariate, Dimensions: d, Scores: metrics.Scores{Rows: n, Classes: (m + 1) * d}}
	for range n {
		unit := 1.0
		if r.IntN(10) == 0 {
			unit = math.Ldexp(1, r.IntN(100)-50)
		}
		for range p.Classes {
			v := unit * math.Round(4*r.NormFloat64()) / 4
			if narrow {
				p.F32 = append(p.F32, float32(v))
			} else {
				p.F64 = append(p.F64, v)
			}
		}
		if weighted {
			p.Weights = append(p.Weights, float64(r.IntN(4)))
		}
	}
	return p
}

func vectorAccumulators() []metrics.Accumulator {
	return []metrics.Accumulator{
		vectors(regress.VectorOptions{}), vectors(regress.VectorOptions{Score: regress.Variogram, Order: 1.3, Near: true}),
		vectors(regress.VectorOptions{Score: regress.DawidSebastiani}),
		metrics.Must(regress.NewVectorRanks(nil)), metrics.Must(regress.NewVectorRanks(&regress.VectorRankOptions{Ranking: regress.BandDepth, Bins: 4, Seed: 9})),
		metrics.Must(regress.NewVectorRanks(&regress.VectorRankOptions{Ranking: regress.AverageRank})),
	}
}

// TestVectorsLaws: parts in any order, through bytes, and threads give one state; rows that are taken out leave the rest's.
func TestVectorsLaws(t *testing.T) {
	state := func(a metrics.Accumulator) []byte { return metrics.Must(a.AppendBinary(nil)) }
	for _, weighted := range []bool{false, true} {
		for _, narrow := range []bool{false, true} {
			for _, shape := range [][2]int{{1, 2}, {7, 3}, {30, 1}} {
				p := randomVectors(5, 1300, shape[0], shape[1], weighted, narrow)
				whole, threads, merged := vectorAccumulators(), vectorAccumulators(), vectorAccumulators()
				passInto(t, p, whole...)
				if err := metrics.NewPass(&metrics.Options{Threads: 3}, threads...).Add(p); err != nil {
					t.Fatal(err)
				}
				var last []metrics.Accumulator
				for _, part := range [][2]int{{900, 1300}, {0, 1}, {1, 900}} {
					c := &metrics.Chunk{Predictions: *p}
					v := c.Slice(part[0], part[1])
					some := vectorAccumulators()
					if err := metrics.NewPass(nil, some...).AddSource(&oneChunk{&v}); err != nil {
						t.Fatal(err)
					}
					for i, a := range some {
						back := vectorAccumulators()[0].Empty()
						if _, ok := a.(*regress.VectorRanks); ok {
							back = metrics.Must(regress.NewVectorRanks(nil))
						}
						if err := back.UnmarshalBinary(state(a)); err != nil {
							t.Fatal(err)
						}
						if err := merged[i].Merge(back); err != nil {
							t.Fatal(err)
						}
					}
					last = some
				}
				for i := range whole {
					if w := state(whole[i]); !bytes.Equal(w, state(threads[i])) || !bytes.Equal(w, state(merged[i])) {
						t.Errorf("%v, weights %v, float32 %v: accumulator %d differs", shape, weighted, narrow, i)
					}
					part := last[i]
					gone := copied(part)
					gone.(interface{ Negate() }).Negate()
					if err := part.Merge(gone); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

func copied(a metrics.Accumulator) metrics.Accumulator {
	b := a.Empty()
	if err := b.UnmarshalBinary(metrics.Must(a.AppendBinary(nil))); err != nil {
		panic(err)
	}
	return b
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

// TestVectorsErrors: options, bad numbers and merges that are refused.
func TestVectorsErrors(t *testing.T) {
	for _, o := range []regress.VectorOptions{{Score: 9}, {Order: 1}, {Near: true}, {Score: regress.Variogram, Order: -1}, {Score: regress.Variogram, Order: 11}, {Score: regress.Variogram, Order: math.NaN()}} {
		if _, err := regress.NewVectors(&o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	for _, o := range []regress.VectorRankOptions{{Ranking: 7}, {Bins: 1001}} {
		if _, err := regress.NewVectorRanks(&o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	p := randomVectors(3, 5, 2, 2, false, false)
	p.F64[9] = math.NaN()
	if err := metrics.NewPass(nil, vectors(regress.VectorOptions{})).Add(p); err == nil || !strings.Contains(err.Error(), "row 1, member 1, number 1: it is NaN") {
		t.Error(err)
	}
	with := func(a metrics.Accumulator, m, d int, weighted bool) metrics.Accumulator {
		passInto(t, randomVectors(4, 6, m, d, weighted, false), a)
		return a
	}
	ranks := func(o regress.VectorRankOptions) metrics.Accumulator { return metrics.Must(regress.NewVectorRanks(&o)) }
	for text, pair := range map[string][2]metrics.Accumulator{
		"of unlike scores":      {vectors(regress.VectorOptions{}), vectors(regress.VectorOptions{Score: regress.DawidSebastiani})},
		"of the order 0.5 and":  {vectors(regress.VectorOptions{Score: regress.Variogram}), vectors(regress.VectorOptions{Score: regress.Variogram, Order: 1})},
		"of 2 members and of 3": {with(vectors(regress.VectorOptions{}), 2, 2, false), with(vectors(regress.VectorOptions{}), 3, 2, false)},
		"of 2 dimensions and":   {with(vectors(regress.VectorOptions{}), 2, 2, false), with(vectors(regress.VectorOptions{}), 2, 3, false)},
		"with and without":      {with(vectors(regress.VectorOptions{}), 2, 2, false), with(vectors(regress.VectorOptions{}), 2, 2, true)},
		"of unlike rankings":    {ranks(regress.VectorRankOptions{}), ranks(regress.VectorRankOptions{Ranking: regress.AverageRank})},
		"of seed 0 and of 1":    {ranks(regress.VectorRankOptions{}), ranks(regress.VectorRankOptions{Seed: 1})},
		"Ranks of 2 dimensions": {with(ranks(regress.VectorRankOptions{}), 2, 2, false), with(ranks(regress.VectorRankOptions{}), 2, 3, false)},
	} {
		was := metrics.Must(pair[0].AppendBinary(nil))
		if err := pair[0].Merge(pair[1]); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
		if !bytes.Equal(was, metrics.Must(pair[0].AppendBinary(nil))) {
			t.Errorf("%q: the receiver has changed", text)
		}
	}
	for _, c := range []struct{ classes, dimensions int }{{4, 0}, {4, 3}, {3, 3}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v: no panic", c)
				}
			}()
			_ = metrics.NewPass(nil, vectors(regress.VectorOptions{})).Add(&metrics.Predictions{Kind: metrics.Multivariate, Dimensions: c.dimensions,
				Scores: metrics.Scores{Rows: 1, Classes: c.classes, F64: make([]float64, c.classes)}})
		}()
	}
}

// TestVectorRanksCalibrated: ranks of draws of the members' own distribution are flat, and others are seen.
func TestVectorRanksCalibrated(t *testing.T) {
	r := rand.New(rand.NewPCG(77, 78))
	draw := func(shared, spread float64) []float64 {
		a := r.NormFloat64()
		v := make([]float64, 4)
		for i := range v {
			v[i] = spread * (math.Sqrt(shared)*a + math.Sqrt(1-shared)*r.NormFloat64())
		}
		return v
	}
	p := func(shared, spread float64, o regress.VectorRankOptions) float64 {
		var members [][][]float64
		var observed [][]float64
		for range 2000 {
			var row [][]float64
			for range 9 {
				row = append(row, draw(0.5, 1))
			}
			members, observed = append(members, row), append(observed, draw(shared, spread))
		}
		s := metrics.Must(regress.NewVectorRanks(&o))
		passInto(t, vectorRows(members, observed), s)
		return s.P()
	}
	for ranking := regress.Dominance; ranking <= regress.BandDepth; ranking++ {
		o := regress.VectorRankOptions{Ranking: ranking}
		if v := p(0.5, 1, o); !(v > 0.001) {
			t.Errorf("ranking %d: calibrated, p %v", ranking, v)
		}
		if v := p(0.5, 1.5, o); !(v < 1e-6) {
			t.Errorf("ranking %d: too little spread, p %v", ranking, v)
		}
		if v := p(0, 1, o); !(v < 1e-3) {
			t.Errorf("ranking %d: wrong dependence, p %v", ranking, v)
		}
	}
}

// TestVectorsCover: 95% intervals of 100 rows hold the mean of many rows about that often.
func TestVectorsCover(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	rows := func(n int) *metrics.Predictions {
		p := &metrics.Predictions{Kind: metrics.Multivariate, Dimensions: 2, Scores: metrics.Scores{Rows: n, Classes: 14}}
		for range n {
			a := r.NormFloat64()
			for range p.Classes {
				p.F64 = append(p.F64, a+r.NormFloat64())
			}
		}
		return p
	}
	for score, o := range map[regress.VectorScore]regress.VectorOptions{regress.Energy: {}, regress.EnergyFair: {}, regress.Variogram: {Score: regress.Variogram}} {
		all := vectors(o)
		passInto(t, rows(200_000), all)
		want, held := all.Value(score), 0
		const sets = 1000
		for range sets {
			v := vectors(o)
			passInto(t, rows(100), v)
			if i := v.Interval(score, 0.95); i.Low <= want && want <= i.High {
				held++
			}
		}
		t.Logf("score %d: %d of %d", score, held, sets)
		if held < 920 || held > 970 {
			t.Errorf("score %d: %d of %d intervals hold %v", score, held, sets, want)
		}
	}
}

func FuzzVectorsUnmarshal(f *testing.F) {
	for _, a := range vectorAccumulators()[:3] {
		f.Add(metrics.Must(a.AppendBinary(nil)))
		if err := metrics.NewPass(nil, a).Add(randomVectors(1, 20, 5, 2, true, false)); err != nil {
			f.Fatal(err)
		}
		f.Add(metrics.Must(a.AppendBinary(nil)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s regress.Vectors
		if s.UnmarshalBinary(data) != nil {
			return
		}
		if b := metrics.Must(s.AppendBinary(nil)); !bytes.Equal(b, data) {
			t.Error("another state is written")
		}
		for score := regress.Energy; score <= regress.DawidSebastiani; score++ {
			func() {
				defer func() { _ = recover() }() // of another score
				s.Value(score)
				s.Interval(score, 0.9)
			}()
		}
	})
}

func FuzzVectorRanksUnmarshal(f *testing.F) {
	for _, a := range vectorAccumulators()[3:] {
		f.Add(metrics.Must(a.AppendBinary(nil)))
		if err := metrics.NewPass(nil, a).Add(randomVectors(1, 20, 5, 2, true, false)); err != nil {
			f.Fatal(err)
		}
		f.Add(metrics.Must(a.AppendBinary(nil)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s regress.VectorRanks
		if s.UnmarshalBinary(data) != nil {
			return
		}
		if b := metrics.Must(s.AppendBinary(nil)); !bytes.Equal(b, data) {
			t.Error("another state is written")
		}
		s.P()
		s.Ranks().Histogram(0.9)
	})
}

func BenchmarkVectors(b *testing.B) {
	for _, shape := range [][2]int{{10, 3}, {50, 10}, {100, 24}} {
		p := randomVectors(1, 256, shape[0], shape[1], false, true)
		for name, a := range map[string]metrics.Accumulator{"energy": vectors(regress.VectorOptions{}), "variogram": vectors(regress.VectorOptions{Score: regress.Variogram}),
			"dawid_sebastiani": vectors(regress.VectorOptions{Score: regress.DawidSebastiani}), "ranks": metrics.Must(regress.NewVectorRanks(&regress.VectorRankOptions{Ranking: regress.AverageRank}))} {
			b.Run(fmt.Sprintf("%s/%dx%d", name, shape[0], shape[1]), func(b *testing.B) {
				for b.Loop() {
					if err := metrics.NewPass(&metrics.Options{Threads: 1}, a.Empty()).Add(p); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*p.Rows), "ns/row")
			})
		}
	}
}
