package recal_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

type temperatureCase struct {
	Logits      [][]float64 `json:"logits"`
	Labels      []int32     `json:"labels"`
	NLLBefore   float64     `json:"nll_before"`
	NLLAfter    float64     `json:"nll_after"`
	Temperature float64     `json:"temperature"`
	ProbsAfter  [][]float64 `json:"probs_after_first5"`
}

func temperatureGolden(t *testing.T) []temperatureCase {
	t.Helper()
	f, err := os.Open("testdata/recalibration.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Multiclass []temperatureCase `json:"multiclass"`
	}
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all.Multiclass
}

func temperatureRows(rows [][]float64, labels []int32) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: labels}
	p.Rows, p.Classes = len(rows), len(rows[0])
	for _, r := range rows {
		p.F64 = append(p.F64, r...)
	}
	return p
}

func temperatureOf(t *testing.T, p *metrics.Predictions) *recal.TemperatureMap {
	t.Helper()
	m, err := recal.Temperature{}.Fit(recal.InMemory(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*recal.TemperatureMap)
}

func temperatureNear(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %v, want %v (off by %.2g)", what, got, want, got/want-1)
	}
}

func TestTemperatureGolden(t *testing.T) {
	for _, c := range temperatureGolden(t) {
		p := temperatureRows(c.Logits, c.Labels)
		m := temperatureOf(t, p)
		temperatureNear(t, "temperature", m.T(), c.Temperature, 1e-9)
		if n := m.Fit().Reads; n > 8 {
			t.Errorf("%d reads", n)
		}
		nll, _, err := recal.Profile(recal.InMemory(p), nil, []float64{1, m.T()})
		if err != nil {
			t.Fatal(err)
		}
		temperatureNear(t, "NLL before", nll[0], c.NLLBefore, 1e-12)
		temperatureNear(t, "NLL after", nll[1], c.NLLAfter, 1e-12)
		dst := metrics.Scores{F64: make([]float64, len(p.F64)), Rows: p.Rows, Classes: p.Classes}
		m.Apply(&dst, &p.Scores, p.Kind)
		for i, row := range c.ProbsAfter {
			for j, v := range row {
				temperatureNear(t, "probability", dst.F64[i*p.Classes+j], v, 1e-8)
			}
		}
		t.Logf("T = %v, reads %d, off %.2g, %v", m.T(), m.Fit().Reads, m.T()/c.Temperature-1, m.Interval(0.95))
	}
}

// temperatureRandom returns logits of a model that is right in some of the rows, times a factor.
func temperatureRandom(seed uint64, rows, classes int, factor float64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 7))
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: make([]int32, rows)}
	p.Rows, p.Classes, p.F64 = rows, classes, make([]float64, rows*classes)
	for i := range rows {
		z := p.F64[i*classes:][:classes]
		for j := range z {
			z[j] = 2 * r.NormFloat64()
		}
		if classes == 1 {
			if 1/(1+math.Exp(-z[0])) > r.Float64() {
				p.Labels[i] = 1
			}
			z[0] *= factor
			continue
		}
		best, at := math.Inf(-1), 0
		for j := range z {
			if g := z[j] - math.Log(r.ExpFloat64()); g > best {
				best, at = g, j
			}
		}
		p.Labels[i] = int32(at)
		for j := range z {
			z[j] *= factor
		}
	}
	return p
}

// temperatureChunks yields predictions in chunks of so many rows.
func temperatureChunks(p *metrics.Predictions, n int) recal.Data {
	return recal.OpenFunc(func() (recal.Source, error) { return &temperatureSource{p: p, n: n}, nil })
}

type temperatureSource struct {
	p     *metrics.Predictions
	at, n int
}

func (s *temperatureSource) Close() error { return nil }

func (s *temperatureSource) Next() (*metrics.Chunk, error) {
	if s.at >= s.p.Rows {
		return nil, io.EOF
	}
	n := min(s.n, s.p.Rows-s.at)
	c := &metrics.Chunk{Predictions: metrics.Predictions{Kind: s.p.Kind}, First: int64(s.at)}
	c.Rows, c.Classes = n, s.p.Classes
	lo, hi := s.at*c.Classes, (s.at+n)*c.Classes
	if s.p.F64 != nil {
		c.F64 = s.p.F64[lo:hi]
	} else {
		c.F32 = s.p.F32[lo:hi]
	}
	c.Labels = s.p.Labels[s.at : s.at+n]
	if s.p.Weights != nil {
		c.Weights = s.p.Weights[s.at : s.at+n]
	}
	s.at += n
	return c, nil
}

// temperatureParameters is what a file has of a map, all but what the fit was of.
func temperatureParameters(t *testing.T, m recal.Map) string {
	t.Helper()
	b, err := recal.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Parameters json.RawMessage `json:"parameters"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return string(f.Parameters)
}

// TestTemperatureSameBits: threads, chunks and the order of rows do not matter, for the ETS either.
func TestTemperatureSameBits(t *testing.T) {
	for _, classes := range []int{1, 3, 40} {
		p := temperatureRandom(3, 600, classes, 2.5)
		p.Weights = make([]float64, p.Rows)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range p.Weights {
			p.Weights[i] = float64(r.IntN(4)) / 3
		}
		narrow := &metrics.Predictions{Kind: p.Kind, Labels: p.Labels, Weights: p.Weights}
		narrow.Rows, narrow.Classes = p.Rows, p.Classes
		for _, v := range p.F64 {
			narrow.F32 = append(narrow.F32, float32(v))
		}
		for _, q := range []*metrics.Predictions{p, narrow} {
			for _, method := range []recal.Method{recal.Temperature{}, recal.ETS{}} {
				want := ""
				for i, threads := range []int{1, 2, 7} {
					for j, n := range []int{3, 37, 1000} {
						if i != j && !check.Full() {
							continue
						}
						m, err := method.Fit(temperatureChunks(q, n), &recal.Options{Threads: threads})
						if err != nil {
							t.Fatal(err)
						}
						if got := temperatureParameters(t, m); want == "" {
							want = got
						} else if got != want {
							t.Fatalf("%v of %d classes, %d threads, chunks of %d: %s, want %s", method, classes, threads, n, got, want)
						}
					}
				}
				m, err := method.Fit(recal.InMemory(temperatureShuffled(q)), nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := temperatureParameters(t, m); got != want {
					t.Fatalf("%v of %d classes, shuffled: %s, want %s", method, classes, got, want)
				}
			}
		}
	}
}

func temperatureShuffled(p *metrics.Predictions) *metrics.Predictions {
	s := &metrics.Predictions{Kind: p.Kind}
	s.Rows, s.Classes = p.Rows, p.Classes
	for _, i := range rand.New(rand.NewPCG(5, 5)).Perm(p.Rows) {
		if p.F64 != nil {
			s.F64 = append(s.F64, p.F64[i*p.Classes:][:p.Classes]...)
		} else {
			s.F32 = append(s.F32, p.F32[i*p.Classes:][:p.Classes]...)
		}
		s.Labels, s.Weights = append(s.Labels, p.Labels[i]), append(s.Weights, p.Weights[i])
	}
	return s
}

// TestTemperatureWeights: a row of weight 2 is the row twice, and one of weight 0, whatever it has, is none.
func TestTemperatureWeights(t *testing.T) {
	for _, classes := range []int{1, 4} {
		p := temperatureRandom(9, 300, classes, 0.4)
		p.Weights = make([]float64, p.Rows)
		var twice metrics.Predictions
		twice.Kind, twice.Classes = p.Kind, classes
		for i := range p.Rows {
			p.Weights[i] = float64(i % 3)
			for range i % 3 {
				twice.F64 = append(twice.F64, p.F64[i*classes:][:classes]...)
				twice.Labels = append(twice.Labels, p.Labels[i])
				twice.Rows++
			}
			if i%3 == 0 {
				p.Labels[i], p.F64[i*classes] = -7, math.NaN()
			}
		}
		for _, method := range []recal.Method{recal.Temperature{}, recal.ETS{}} {
			a, err := method.Fit(recal.InMemory(p), nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := method.Fit(recal.InMemory(&twice), nil)
			if err != nil {
				t.Fatal(err)
			}
			if a, ok := a.(*recal.TemperatureMap); ok {
				temperatureNear(t, "T", a.T(), b.(*recal.TemperatureMap).T(), 1e-14)
				// The deviation is not the same: a row twice is two observations.
				continue
			}
			temperatureNear(t, "T", a.(*recal.ETSMap).T(), b.(*recal.ETSMap).T(), 1e-14)
			for k, w := range a.(*recal.ETSMap).Weights() {
				if v := b.(*recal.ETSMap).Weights()[k]; math.Abs(w-v) > 1e-9 {
					t.Errorf("weight %d is %v, want %v", k, w, v)
				}
			}
		}
	}
}

// TestTemperatureScale: logits times a factor have T times the factor, from about 1e-100 to 1e100, in 12 reads at most.
func TestTemperatureScale(t *testing.T) {
	for _, classes := range []int{1, 2, 10, 200} {
		want := temperatureOf(t, temperatureRandom(11, 400, classes, 1)).T()
		for _, factor := range []float64{1e-100, 1e-30, 1e-6, 1e-3, 0.1, 3, 1e3, 1e6, 1e30, 1e100} {
			m := temperatureOf(t, temperatureRandom(11, 400, classes, factor))
			temperatureNear(t, fmt.Sprintf("T of %d classes times %g", classes, factor), m.T()/factor, want, 1e-12)
			if n := m.Fit().Reads; n > 8 {
				t.Errorf("%d classes times %g: %d reads", classes, factor, n)
			}
			if v := m.Interval(0.9); !(v.Low < m.T() && v.High > m.T() && v.Low > 0) {
				t.Errorf("%d classes times %g: interval %v of %v", classes, factor, v, m.T())
			}
		}
	}
	for _, factor := range []float64{1e-200, 1e200} {
		p := temperatureRandom(11, 400, 3, factor)
		if _, err := (recal.Temperature{}).Fit(recal.InMemory(p), nil); err == nil || errors.Is(err, recal.ErrUnreachable) {
			t.Errorf("logits times %g: %v", factor, err)
		}
	}
}

// temperatureOracle returns the best T in numbers of 300 bits, by halving.
func temperatureOracle(p *metrics.Predictions) float64 {
	const bits = 300
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }
	exp := func(x *big.Float) *big.Float { // e^x = (e^(x/2^20))^(2^20)
		y := new(big.Float).SetPrec(bits).SetMantExp(x, -20)
		sum, term := number(1), number(1)
		for n := 1; n < 40; n++ {
			term.Mul(term, y)
			term.Quo(term, number(float64(n)))
			sum.Add(sum, term)
		}
		for range 20 {
			sum.Mul(sum, sum)
		}
		return sum
	}
	falls := func(beta *big.Float) bool {
		slope := number(0)
		for i := range p.Rows {
			z, y := p.F64[i*p.Classes:][:p.Classes], int(p.Labels[i])
			if p.Classes == 1 {
				z = []float64{0, z[0]}
			}
			most := slices.Max(z)
			s, first := number(0), number(0)
			for _, v := range z {
				d := new(big.Float).Sub(number(v), number(most))
				e := exp(new(big.Float).SetPrec(bits).Mul(beta, d))
				s.Add(s, e)
				first.Add(first, e.Mul(e, d))
			}
			first.Quo(first, s)
			first.Sub(first, new(big.Float).Sub(number(z[y]), number(most)))
			if p.Weights != nil {
				first.Mul(first, number(p.Weights[i]))
			}
			slope.Add(slope, first)
		}
		return slope.Sign() < 0
	}
	low, high := number(0), number(1)
	for falls(high) {
		low.Set(high)
		high.Mul(high, number(2))
	}
	for range 62 {
		middle := new(big.Float).SetPrec(bits).Add(low, high)
		middle.Quo(middle, number(2))
		if falls(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	t, _ := new(big.Float).Quo(number(1), high).Float64()
	return t
}

// TestTemperatureOracle: T has 13 digits.
func TestTemperatureOracle(t *testing.T) {
	for seed, classes := range []int{1, 2, 5} {
		if testing.Short() && classes == 2 {
			continue
		}
		p := temperatureRandom(uint64(seed), 25, classes, 1.7)
		if classes == 5 {
			p.Weights = make([]float64, p.Rows)
			for i := range p.Weights {
				p.Weights[i] = 0.1 + float64(i%7)
			}
		}
		temperatureNear(t, "T", temperatureOf(t, p).T(), temperatureOracle(p), 1e-13)
	}
}

// TestTemperatureHard: whatever the data, T is where the slope is 0, found in 12 reads.
func TestTemperatureHard(t *testing.T) {
	rows := func(n int, z []float64, labels ...int32) (p metrics.Predictions) {
		p.Kind, p.Classes = metrics.Logits, len(z)
		for _, y := range labels {
			for range n {
				p.F64, p.Labels = append(p.F64, z...), append(p.Labels, y)
				p.Rows++
			}
		}
		return p
	}
	join := func(l ...metrics.Predictions) *metrics.Predictions {
		p := l[0]
		for _, q := range l[1:] {
			p.F64, p.Labels, p.Rows = append(p.F64, q.F64...), append(p.Labels, q.Labels...), p.Rows+q.Rows
		}
		return &p
	}
	lone := make([]float64, 1000)
	lone[17] = 12
	tied := make([]float64, 1000)
	tied[3], tied[4] = 9, 9
	heavy := temperatureRandom(1, 500, 10, 1)
	for i := range heavy.F64 {
		heavy.F64[i] *= math.Exp(float64(i/10%40) - 20)
	}
	few := temperatureRandom(2, 20000, 3, 1)
	for i, y := range few.Labels {
		if i != 77 {
			few.F64[i*3+int(y)] += 100
		} else {
			few.F64[i*3+(int(y)+1)%3] += 1000
		}
	}
	for name, c := range map[string]struct {
		p    *metrics.Predictions
		want float64 // 0: as the slope has it
	}{
		"one right of a thousand":      {join(rows(3, lone, 17), rows(1, lone, 5)), 12 / math.Log(3*999)},
		"one wrong of a thousand":      {join(rows(999, lone, 17), rows(1, lone, 5)), 12 / math.Log(999*999)},
		"wrong nearly always":          {join(rows(2, lone, 17), rows(998, lone, 1)), 12 / math.Log(2.0/998*999)},
		"tied":                         {join(rows(1, tied, 3, 4, 5)), 9 / math.Log(998)},
		"two classes":                  {join(rows(3, []float64{0, 1}, 1), rows(1, []float64{0, 1}, 0)), 1 / math.Log(3)},
		"hardly better than chance":    {join(rows(50001, []float64{1}, 1), rows(50000, []float64{1}, 0)), 1 / math.Log(50001.0/50000)},
		"one miss in 100,000":          {join(rows(99999, []float64{1}, 1), rows(1, []float64{1}, 0)), 1 / math.Log(99999)},
		"sizes from 1e-9 to 1e9":       {heavy, 0},
		"one far miss":                 {few, 0},
		"two rows":                     {join(rows(1, []float64{5, 0, 0}, 0), rows(1, []float64{0, 1, 0}, 0)), 0},
		"a class that cannot be":       {join(rows(3, []float64{0, 1, math.Inf(-1)}, 1), rows(1, []float64{0, 1, math.Inf(-1)}, 0)), 1 / math.Log(3)},
		"large logits, small gaps":     {join(rows(3, []float64{1e8, 1e8 + 1}, 1), rows(1, []float64{1e8, 1e8 + 1}, 0)), 1 / math.Log(3)},
		"sharp: hits far, a miss near": {join(rows(1000, []float64{0, 1e4}, 1), rows(1, []float64{0, 1}, 0)), 0},
		"sharp: hits near, a miss far": {join(rows(1000, []float64{0, 1}, 1), rows(1, []float64{0, 100}, 0)), 0},
		"misses by very little":        {join(rows(100, []float64{0, 1}, 1), rows(100, []float64{0, 1e-12}, 0)), 0},
	} {
		m, err := recal.Temperature{}.Fit(recal.InMemory(c.p), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		T := m.(*recal.TemperatureMap).T()
		if n := m.Fit().Reads; n > 12 {
			t.Errorf("%s: %d reads", name, n)
		}
		t.Logf("%s: T = %v, %d reads", name, T, m.Fit().Reads)
		if c.want != 0 {
			tolerance := 1e-12
			if c.want > 10 { // where the slope is next to nothing
				tolerance = 1e-10
			}
			temperatureNear(t, name, T, c.want, tolerance)
			continue
		}
		nll, _, err := recal.Profile(recal.InMemory(c.p), nil, []float64{T, T * 0.999, T * 1.001})
		if err != nil {
			t.Fatal(err)
		}
		if !(nll[0] <= nll[1] && nll[0] <= nll[2]*(1+1e-15)) {
			t.Errorf("%s: the NLL is %v at T and %v beside it", name, nll[0], nll[1:])
		}
	}
}

// TestTemperatureRandom: hundreds of small sets of all sorts take 12 reads at most, and the slope at T is 0.
func TestTemperatureRandom(t *testing.T) {
	most, total := 0, 0
	r := rand.New(rand.NewPCG(3, 3))
	sets := 400
	if testing.Short() {
		sets = 100
	}
	fits := 0
	for range sets {
		classes := []int{1, 2, 3, 10, 100}[r.IntN(5)]
		p := temperatureRandom(r.Uint64(), 2+r.IntN(60), classes, math.Exp(10*r.NormFloat64()))
		spread, wrong := 3*r.Float64(), r.Float64()
		for i := range p.Rows {
			f := math.Exp(spread * r.NormFloat64())
			for j := range classes {
				p.F64[i*classes+j] *= f
			}
			if r.Float64() < wrong*wrong*wrong {
				p.Labels[i] = int32(r.IntN(max(2, classes)))
			}
		}
		m, err := recal.Temperature{}.Fit(recal.InMemory(p), nil)
		if errors.Is(err, recal.ErrUnreachable) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		fits++
		n, T := m.Fit().Reads, m.(*recal.TemperatureMap).T()
		most, total = max(most, n), total+n
		nll, _, err := recal.Profile(recal.InMemory(p), nil, []float64{T, T * 0.99, T * 1.01})
		if err != nil {
			t.Fatal(err)
		}
		if !(nll[0] <= nll[1] && nll[0] <= nll[2]) || n > 12 {
			t.Errorf("%d reads; the NLL is %v at T and %v beside it", n, nll[0], nll[1:])
		}
	}
	if fits < sets/4 {
		t.Errorf("%d fits of %d sets", fits, sets)
	}
	t.Logf("%d reads at most, %.1f in the mean, of %d fits", most, float64(total)/float64(fits), fits)
}

// TestUnreachable: where no temperature is the best, the error says why, for the ETS too.
func TestTemperatureUnreachable(t *testing.T) {
	inf := math.Inf(1)
	set := func(kind metrics.Kind, classes int, z []float64, labels ...int32) *metrics.Predictions {
		p := &metrics.Predictions{Kind: kind, Labels: labels}
		p.Rows, p.Classes, p.F64 = len(labels), classes, z
		return p
	}
	const (
		right, none, equal, empty = "every row's label has the largest logit", "say nothing about the labels", "all logits are equal", "the model gave the true class probability 0"
	)
	for _, c := range []struct {
		p    *metrics.Predictions
		want string // "" if there is a best one
	}{
		{set(metrics.Logits, 3, []float64{1, 2, 3, 5, 0, 1}, 2, 0), right},
		{set(metrics.Logits, 3, []float64{1, 3, 3, 5, 0, 1}, 1, 0), right},
		{set(metrics.Logits, 2, []float64{0, 1, 1, 1}, 1, 0), right},
		{set(metrics.Logits, 1, []float64{-1, 2, 0}, 0, 1, 1), right},
		{set(metrics.Probs, 1, []float64{0, 1, 0.6}, 0, 1, 1), right},
		{set(metrics.Probs, 2, []float64{0, 1, 0.4, 0.6}, 1, 1), right},
		{set(metrics.Logits, 2, []float64{-inf, 1, -inf, 0}, 1, 1), equal}, // a single class each
		{set(metrics.Logits, 3, []float64{1, 2, 3}, 0), none},
		{set(metrics.Logits, 3, []float64{1, 2, 3, 1, 2, 3, 1, 2, 3}, 0, 1, 2), none},
		{set(metrics.Logits, 3, []float64{.1, .2, .7, .1, .2, .7, .1, .2, .7}, 0, 1, 2), none},
		{set(metrics.Logits, 3, []float64{1e6, .2, .7, 1e6, .2, .7, 1e6, .2, .7}, 0, 1, 2), none},
		{set(metrics.Logits, 3, []float64{1, 2, 3}, 1), none},
		{set(metrics.Logits, 1, []float64{3.1, -3}, 0, 0), none},
		{set(metrics.Logits, 1, []float64{3, 3.0000000000000004}, 1, 0), none},
		{set(metrics.Logits, 1, []float64{3.0000000000000004, 3}, 1, 0), ""},
		{set(metrics.Logits, 2, []float64{0, .1, 0, .1}, 0, 1), none},
		{set(metrics.Logits, 2, []float64{0, .1, 0, .2}, 1, 0), none},
		{set(metrics.Logits, 3, []float64{0, .1, -inf, 0, -inf, .1}, 0, 2), none},
		{set(metrics.Logits, 3, []float64{0, .1, -inf, -.03, 0, .06}, 0, 2), none},
		{set(metrics.Probs, 4, []float64{.25, .25, .25, .25}, 3), equal},
		{set(metrics.Logits, 2, []float64{5, 5, 1e9, 1e9}, 0, 1), equal},
		{set(metrics.Logits, 1, []float64{0, 0}, 0, 1), equal},
		{set(metrics.Probs, 3, []float64{0, .5, .5, 1, 0, 0}, 0, 2), empty},
		{set(metrics.Probs, 1, []float64{0, 1}, 1, 0), empty},
		{set(metrics.LogProbs, 2, []float64{-inf, 0}, 0), empty},
	} {
		for _, method := range []recal.Method{recal.Temperature{}, recal.ETS{}} {
			_, err := method.Fit(recal.InMemory(c.p), nil)
			if c.want == "" {
				if err != nil && !strings.Contains(err.Error(), "150") {
					t.Errorf("%v of %v, %v: %v", method, c.p.F64, c.p.Labels, err)
				}
				continue
			}
			if !errors.Is(err, recal.ErrUnreachable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v of %v, %v: %v, want %q", method, c.p.F64, c.p.Labels, err, c.want)
			}
		}
	}
	for _, p := range []*metrics.Predictions{
		set(metrics.Dirichlet, 2, []float64{1, 2}, 0),
		set(metrics.Probs, 2, []float64{1, 2}, 0),
		set(metrics.Logits, 2, []float64{math.NaN(), 2}, 0),
		set(metrics.Logits, 2, []float64{}),
	} {
		if _, err := (recal.Temperature{}).Fit(recal.InMemory(p), nil); err == nil || errors.Is(err, recal.ErrUnreachable) {
			t.Errorf("%v %v: %v", p.Kind, p.F64, err)
		}
	}
}

// TestTemperatureLeftOut: rows whose label has no probability are named, and the fit is that of the others.
func TestTemperatureLeftOut(t *testing.T) {
	p := temperatureRandom(21, 200, 3, 2)
	q := temperatureRandom(21, 200, 3, 2)
	q.Kind, p.Kind = metrics.Logits, metrics.Logits
	for _, i := range []int{5, 17, 150} {
		p.F64[i*3+int(p.Labels[i])] = math.Inf(-1)
	}
	q.Weights = make([]float64, q.Rows)
	for i := range q.Weights {
		if q.Weights[i] = 1; i == 5 || i == 17 || i == 150 {
			q.Weights[i] = 0
		}
	}
	for _, method := range []recal.Method{recal.Temperature{}, recal.ETS{}} {
		a, err := method.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := method.Fit(recal.InMemory(q), nil)
		if err != nil {
			t.Fatal(err)
		}
		if f := a.Fit(); f.LeftOut != 3 || f.FirstLeftOut != 5 || f.Rows != 200 || f.Classes != 3 || f.Kind != "logits" || f.Weighted {
			t.Errorf("%+v", f)
		}
		if f := b.Fit(); f.LeftOut != 0 || f.FirstLeftOut != -1 || f.Rows != 197 || !f.Weighted {
			t.Errorf("%+v", f)
		}
		if x, y := temperatureParameters(t, a), temperatureParameters(t, b); x != y {
			t.Errorf("%s, want %s", x, y)
		}
	}
	nll, fit, err := recal.Profile(recal.InMemory(p), nil, []float64{1, 2, 1e300})
	if err != nil {
		t.Fatal(err)
	}
	same, _, err := recal.Profile(recal.InMemory(q), nil, []float64{1, 2, 1e300})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(nll, same) || fit.LeftOut != 3 || fit.Reads != 2 || math.Abs(nll[2]-math.Log(3)) > 1e-15 {
		t.Errorf("%v, want %v; %+v", nll, same, fit)
	}
}

// TestTemperatureKinds: logits and what they are the logarithms of have the same T, and so have all types that hold the same numbers.
func TestTemperatureKinds(t *testing.T) {
	for _, classes := range []int{1, 2, 5, 70} {
		p := temperatureRandom(33, 500, classes, 1.5)
		for i, v := range p.F64 {
			p.F64[i] = math.Round(v*8) / 8 // a few bits each
		}
		want := temperatureOf(t, p).T()
		probs := &metrics.Predictions{Kind: metrics.Probs, Labels: p.Labels}
		logProbs := &metrics.Predictions{Kind: metrics.LogProbs, Labels: p.Labels}
		probs.Rows, probs.Classes, logProbs.Rows, logProbs.Classes = p.Rows, classes, p.Rows, classes
		dst := metrics.Scores{F64: make([]float64, len(p.F64)), Rows: p.Rows, Classes: classes}
		recal.NewTemperature(1, classes).Apply(&dst, &p.Scores, p.Kind)
		probs.F64 = dst.F64
		for _, v := range dst.F64 {
			logProbs.F64 = append(logProbs.F64, math.Log(v))
		}
		temperatureNear(t, "T of probabilities", temperatureOf(t, probs).T(), want, 1e-12)
		temperatureNear(t, "T of logarithms", temperatureOf(t, logProbs).T(), want, 1e-12)
		wide := *p
		wide.F64, wide.Stride = nil, classes+3
		for i := range p.Rows {
			wide.F64 = append(append(wide.F64, p.F64[i*classes:][:classes]...), math.NaN(), 7, 8)
		}
		if got := temperatureOf(t, &wide).T(); got != want {
			t.Errorf("stride: T is %v, want %v", got, want)
		}
		for _, narrow := range temperatureTypes(p) {
			if got := temperatureOf(t, narrow).T(); got != want {
				t.Errorf("%v: T is %v, want %v", narrow.DType(), got, want)
			}
		}
	}
}

// temperatureTypes returns the same scores, of a few bits each, in the narrower types.
func temperatureTypes(p *metrics.Predictions) []*metrics.Predictions {
	var l [3]metrics.Predictions
	for i := range l {
		l[i] = *p
		l[i].F64 = nil
	}
	for _, v := range p.F64 {
		bits := math.Float32bits(float32(v))
		l[0].F32 = append(l[0].F32, float32(v))
		l[1].BF16 = append(l[1].BF16, uint16(bits>>16))
		half := uint16(bits >> 16 & 0x8000)
		if v != 0 {
			half |= uint16(int(bits>>23&0xff)-127+15)<<10 | uint16(bits>>13&0x3ff)
		}
		l[2].F16 = append(l[2].F16, half)
	}
	return []*metrics.Predictions{&l[0], &l[1], &l[2]}
}

// temperatureTop returns the first largest.
func temperatureTop[T float32 | float64](p []T) int {
	top := 0
	for j, v := range p {
		if v > p[top] {
			top = j
		}
	}
	return top
}

// TestTemperatureKeepsArgMax: at any temperature, of any kind and type, in place too.
func TestTemperatureKeepsArgMax(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, classes := range []int{1, 2, 3, 17, 100} {
		const rows = 200
		z := metrics.Scores{F64: make([]float64, rows*classes), Rows: rows, Classes: classes}
		for i := range rows {
			row := z.F64[i*classes:][:classes]
			for j := range row {
				row[j] = r.NormFloat64()
			}
			if a, b := r.IntN(classes), r.IntN(classes); i%2 == 0 {
				row[a] = 3
				row[b] = math.Nextafter(3, float64(6*r.IntN(2)))
			}
			if classes == 1 && i%2 == 0 {
				row[0] = []float64{0, -1e-300, 1e-300, -1e-17, math.Copysign(0, -1), 1e-9}[r.IntN(6)]
			}
		}
		probs := metrics.Scores{F64: make([]float64, rows*classes), Rows: rows, Classes: classes}
		recal.NewTemperature(1, classes).Apply(&probs, &z, metrics.Logits)
		if classes == 1 {
			for i := range rows {
				probs.F64[i] = []float64{0.5, math.Nextafter(0.5, 0), math.Nextafter(0.5, 1), r.Float64(), 0, 1}[r.IntN(6)]
			}
		}
		maps := []recal.Map{temperatureETS(t, classes)}
		for _, T := range []float64{1e-300, 1e-5, 0.3, 1, 3, 1e5, 1e15, 1e30, 1e300} {
			maps = append(maps, recal.NewTemperature(T, classes))
		}
		for kind, src := range map[metrics.Kind]*metrics.Scores{metrics.Logits: &z, metrics.Probs: &probs} {
			narrow := metrics.Scores{F32: make([]float32, rows*classes), Rows: rows, Classes: classes}
			for i, v := range src.F64 {
				narrow.F32[i] = float32(v)
			}
			for _, m := range maps {
				_, first := m.(*recal.ETSMap)
				for _, src := range []*metrics.Scores{src, &narrow} {
					wide := metrics.Scores{F64: make([]float64, rows*classes), Rows: rows, Classes: classes}
					m.Apply(&wide, src, kind)
					small := metrics.Scores{F32: make([]float32, rows*(classes+1)), Rows: rows, Classes: classes, Stride: classes + 1}
					m.Apply(&small, src, kind)
					in := metrics.Scores{F64: slices.Clone(src.F64), F32: slices.Clone(src.F32), Rows: rows, Classes: classes}
					m.Apply(&in, &in, kind)
					for i := range rows {
						want, one, two := 0, 0, 0
						a, b := wide.F64[i*classes:][:classes], small.F32[i*(classes+1):][:classes]
						switch {
						case classes == 1:
							v, half := 0.0, map[metrics.Kind]float64{metrics.Probs: 0.5}[kind]
							if src.F64 != nil {
								v = src.F64[i]
							} else {
								v = float64(src.F32[i])
							}
							want, one, two = temperatureSide(v, half), temperatureSide(a[0], 0.5), temperatureSide(float64(b[0]), 0.5)
						case src.F64 != nil:
							want, one, two = temperatureTop(src.F64[i*classes:][:classes]), temperatureTop(a), temperatureTop(b)
						default:
							want, one, two = temperatureTop(src.F32[i*classes:][:classes]), temperatureTop(a), temperatureTop(b)
						}
						if one != want || two != want {
							t.Fatalf("%d classes, %v, ets %v, row %d: arg max %d and %d, want %d", classes, kind, first, i, one, two, want)
						}
						for j := range classes {
							if in.F64 != nil && in.F64[i*classes+j] != a[j] || in.F32 != nil && in.F32[i*classes+j] != b[j] {
								t.Fatalf("%d classes, %v, row %d: in place it is another", classes, kind, i)
							}
						}
					}
				}
			}
		}
	}
}

func temperatureSide(v, half float64) int {
	if v > half {
		return 1
	}
	return 0
}

// temperatureETS is a map fitted to something.
func temperatureETS(t *testing.T, classes int) recal.Map {
	t.Helper()
	m, err := recal.ETS{}.Fit(recal.InMemory(temperatureRandom(77, 300, classes, 3)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTemperatureFaults: a row with a fault is NaN in all its places, and its neighbours are not.
func TestTemperatureFaults(t *testing.T) {
	inf := math.Inf(1)
	for _, m := range []recal.Map{recal.NewTemperature(2, 3), temperatureETS(t, 3)} {
		for _, c := range []struct {
			kind metrics.Kind
			row  []float64
		}{{metrics.Logits, []float64{1, math.NaN(), 2}}, {metrics.Logits, []float64{1, inf, 2}}, {metrics.Logits, []float64{-inf, -inf, -inf}},
			{metrics.Probs, []float64{0.5, math.NaN(), 0.5}}, {metrics.LogProbs, []float64{math.NaN(), 0, 0}}} {
			src := metrics.Scores{F64: append(append([]float64{0.2, 0.3, 0.5}, c.row...), 0.2, 0.3, 0.5), Rows: 3, Classes: 3}
			dst := metrics.Scores{F32: make([]float32, 9), Rows: 3, Classes: 3}
			m.Apply(&dst, &src, c.kind)
			for i, v := range dst.F32 {
				if (v != v) != (i/3 == 1) {
					t.Errorf("%v %v: %v", c.kind, c.row, dst.F32)
					break
				}
			}
		}
	}
	for _, m := range []recal.Map{recal.NewTemperature(2, 1), temperatureETS(t, 1)} {
		src := metrics.Scores{F64: []float64{1, math.NaN(), inf, -inf}, Rows: 4, Classes: 1}
		dst := metrics.Scores{F64: make([]float64, 4), Rows: 4, Classes: 1}
		m.Apply(&dst, &src, metrics.Logits)
		if v := dst.F64; v[0] != v[0] || v[1] == v[1] || v[2] <= v[0] || v[3] != v[3] {
			t.Error(v)
		}
	}
}

// TestTemperatureFile: what is read does to the bit what was written does, and what is no map is refused.
func TestTemperatureFile(t *testing.T) {
	p := temperatureRandom(4, 200, 3, 1.3)
	for _, m := range []recal.Map{temperatureOf(t, p), recal.NewTemperature(1e-305, 3), temperatureETS(t, 3)} {
		b, err := recal.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		u, err := recal.Unmarshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := recal.Marshal(u); err != nil || !bytes.Equal(again, b) || u.Fit() != m.Fit() || u.Method() != m.Method() {
			t.Errorf("%s\n%s\n%v", b, again, err)
		}
		x := metrics.Scores{F64: make([]float64, len(p.F64)), Rows: p.Rows, Classes: 3}
		y := metrics.Scores{F64: make([]float64, len(p.F64)), Rows: p.Rows, Classes: 3}
		m.Apply(&x, &p.Scores, p.Kind)
		u.Apply(&y, &p.Scores, p.Kind)
		if !slices.Equal(x.F64, y.F64) {
			t.Errorf("%s: applied, it is another", m.Method())
		}
		if a, ok := m.(*recal.TemperatureMap); ok {
			b := u.(*recal.TemperatureMap)
			if v, w := a.Interval(0.9), b.Interval(0.9); v != w && v.Low == v.Low || a.T() != b.T() {
				t.Errorf("%v %v, want %v %v", b.T(), w, a.T(), v)
			}
		}
		for _, c := range []struct {
			kind    metrics.Kind
			classes int
			want    string
		}{{metrics.Logits, 4, "of 3 scores, and these have 4"}, {metrics.Dirichlet, 3, "these are dirichlet"}, {metrics.Normals, 3, "normal"}} {
			if _, _, err := m.Out(c.kind, c.classes); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v %d: %v", c.kind, c.classes, err)
			}
		}
		if k, n, err := m.Out(metrics.LogProbs, 3); k != metrics.Probs || n != 3 || err != nil {
			t.Error(k, n, err)
		}
	}
}

func TestTemperaturePanics(t *testing.T) {
	z := metrics.Scores{F64: []float64{1, 2}, Rows: 1, Classes: 2}
	for name, f := range map[string]func(){
		"T = 0":         func() { recal.NewTemperature(0, 2) },
		"T = Inf":       func() { recal.NewTemperature(math.Inf(1), 2) },
		"T = NaN":       func() { recal.NewTemperature(math.NaN(), 2) },
		"T = -1":        func() { recal.NewTemperature(-1, 2) },
		"no classes":    func() { recal.NewTemperature(1, 0) },
		"profile of -1": func() { recal.Profile(nil, nil, []float64{1, -1}) },
		"other classes": func() { recal.NewTemperature(1, 3).Apply(&z, &z, metrics.Logits) },
		"other rows":    func() { recal.NewTemperature(1, 2).Apply(&metrics.Scores{F64: z.F64, Classes: 2}, &z, metrics.Logits) },
		"half precision": func() {
			recal.NewTemperature(1, 2).Apply(&metrics.Scores{F16: []uint16{0, 0}, Rows: 1, Classes: 2}, &z, metrics.Logits)
		},
		"level": func() { recal.NewTemperature(1, 2).Interval(1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestTemperatureInterval: of rows that are all alike, h right and m wrong, with logits 1 apart, beta is ln(h/m) and the standard error of
// its logarithm 1/(beta sqrt(hm/n)).
func TestTemperatureInterval(t *testing.T) {
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: []int32{1, 1, 1, 0}}
	p.Rows, p.Classes, p.F64 = 4, 1, []float64{1, 1, 1, 1}
	m := temperatureOf(t, p)
	T, se := 1/math.Log(3), 1/(math.Log(3)*math.Sqrt(0.75))
	v := m.Interval(0.95)
	temperatureNear(t, "low end", v.Low, T*math.Exp(-1.959963984540*se), 1e-11)
	temperatureNear(t, "high end", v.High, T*math.Exp(1.959963984540*se), 1e-11)
	if v := recal.NewTemperature(2, 3).Interval(0.95); v.Low == v.Low || v.High == v.High {
		t.Errorf("an interval %v of what was not fitted", v)
	}
}

// TestTemperatureCoverage: of 500 sets with T = 2 some 90% have it in their interval of that level.
func TestTemperatureCoverage(t *testing.T) {
	sets := check.Size(150, 500, 500)
	in := 0
	for seed := range uint64(sets) {
		if v := temperatureOf(t, temperatureRandom(1000+seed, 150, 3, 2)).Interval(0.9); v.Low < 2 && 2 < v.High {
			in++
		}
	}
	// Between 0.85 and 0.94 of 500.
	f, sd := float64(in)/float64(sets), math.Sqrt(0.9*0.1/float64(sets))
	if f < 0.9-3.7*sd || f > 0.9+3*sd {
		t.Errorf("%v of the intervals have it", f)
	}
}

// TestTemperatureBadFile: parameters that are none are refused.
func TestTemperatureBadFile(t *testing.T) {
	const fit = `{"rows":0,"classes":3,"kind":"logits","weighted":false,"left_out":0,"first_left_out":-1,"reads":0}`
	for _, c := range []struct{ method, fit, parameters, want string }{
		{"temperature", fit, `{"temperature":2,"log_se":null}`, ""},
		{"temperature", fit, `{"temperature":2,"log_se":0.5}`, ""},
		{"temperature", fit, `{"temperature":0,"log_se":null}`, "no number above 0"},
		{"temperature", fit, `{"temperature":-1,"log_se":null}`, "no number above 0"},
		{"temperature", fit, `{"temperature":1e-320,"log_se":null}`, "no number above 0"},
		{"temperature", fit, `{"log_se":null}`, "no number above 0"},
		{"temperature", fit, `{"temperature":2,"log_se":-1}`, "below 0"},
		{"temperature", fit, `{"temperature":2,"log_se":1,"bias":1}`, "bias"},
		{"temperature", `{"rows":3}`, `{"temperature":2,"log_se":null}`, "contradicts itself"},
		{"ets", fit, `{"temperature":2,"weights":[0.5,0.25,0.25]}`, ""},
		{"ets", fit, `{"temperature":2,"weights":[0.5,0.25]}`, "three"},
		{"ets", fit, `{"temperature":2,"weights":[0.5,0.25,0.3]}`, "sum 1"},
		{"ets", fit, `{"temperature":2,"weights":[1.5,-0.25,-0.25]}`, "sum 1"},
		{"ets", fit, `{"temperature":0,"weights":[0.5,0.25,0.25]}`, "no number above 0"},
		{"ets", `{"rows":3}`, `{"temperature":2,"weights":[0.5,0.25,0.25]}`, "contradicts itself"},
		{"ets", fit, `{"temperature":2,"weights":"no"}`, "weights"},
	} {
		sum := sha256.Sum256([]byte("candor-map/1\n" + c.method + "\n" + c.fit + "\n" + c.parameters + "\n"))
		file := fmt.Sprintf(`{"schema":"candor-map/1","method":%q,"fit":%s,"parameters":%s,"sha256":"%x"}`, c.method, c.fit, c.parameters, sum)
		_, err := recal.Unmarshal([]byte(file))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.parameters, err, c.want)
		}
	}
}

// TestTemperatureNarrowKeepsArgMax: of half precision, and of logarithms, as TestTemperatureKeepsArgMax.
func TestTemperatureNarrowKeepsArgMax(t *testing.T) {
	for _, classes := range []int{2, 9, 40} {
		p := temperatureRandom(14, 100, classes, 0.5)
		for i, v := range p.F64 {
			p.F64[i] = math.Round(v*8) / 8
		}
		for _, T := range []float64{1e-9, 0.7, 1e9} {
			m := recal.NewTemperature(T, classes)
			for _, q := range temperatureTypes(p) {
				small := metrics.Scores{F32: make([]float32, len(p.F64)), Rows: p.Rows, Classes: classes}
				wide := metrics.Scores{F64: make([]float64, len(p.F64)), Rows: p.Rows, Classes: classes}
				m.Apply(&small, &q.Scores, metrics.LogProbs)
				m.Apply(&wide, &q.Scores, metrics.Logits)
				for i := range p.Rows {
					want := temperatureTop(p.F64[i*classes:][:classes])
					if a, b := temperatureTop(small.F32[i*classes:][:classes]), temperatureTop(wide.F64[i*classes:][:classes]); a != want || b != want {
						t.Fatalf("%v, %d classes, T = %v, row %d: arg max %d and %d, want %d", q.DType(), classes, T, i, a, b, want)
					}
				}
			}
		}
	}
	// Of a binary task's logarithms, at the two sides of ln(1/2).
	l := metrics.Scores{F64: []float64{math.Log(0.5), math.Nextafter(math.Log(0.5), -1), -0.69, -0.7}, Rows: 4, Classes: 1}
	dst := metrics.Scores{F32: make([]float32, 4), Rows: 4, Classes: 1}
	recal.NewTemperature(1e20, 1).Apply(&dst, &l, metrics.LogProbs)
	if v := dst.F32; v[2] <= 0.5 || v[3] > 0.5 || (v[0] > 0.5) != (math.Exp(l.F64[0]) > 0.5) || v[1] > 0.5 {
		t.Error(v)
	}
}

// temperatureBroken are data of which some read fails.
type temperatureBroken struct {
	recal.Data
	reads, good int
}

var errTemperatureBroken = errors.New("the disk is gone")

func (b *temperatureBroken) Open() (recal.Source, error) {
	if b.reads++; b.reads > b.good {
		return nil, errTemperatureBroken
	}
	return b.Data.Open()
}

// TestTemperatureReadFails: whichever read fails, its error is returned.
func TestTemperatureReadFails(t *testing.T) {
	p := temperatureRandom(15, 50, 3, 2)
	even := temperatureRandom(15, 6, 3, 2)
	copy(even.F64, []float64{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2})
	copy(even.Labels, []int32{0, 1, 2, 0, 1, 2})
	for _, q := range []*metrics.Predictions{p, even} {
		fit, err := recal.ETS{}.Fit(recal.InMemory(q), nil)
		reads := 3 // of even labels: the error comes then
		if err == nil {
			reads = fit.Fit().Reads
		}
		for good := range reads {
			if _, err := (recal.ETS{}).Fit(&temperatureBroken{Data: recal.InMemory(q), good: good}, nil); !errors.Is(err, errTemperatureBroken) {
				t.Errorf("%d reads of %d: %v", good, reads, err)
			}
		}
	}
	for good := range 2 {
		if _, _, err := recal.Profile(&temperatureBroken{Data: recal.InMemory(p), good: good}, nil, []float64{1}); !errors.Is(err, errTemperatureBroken) {
			t.Errorf("a profile, %d reads: %v", good, err)
		}
	}
}

// TestTemperatureApart: a row whose logits lie further apart than numbers go has some probability for its label, and is not left out
// without a word.
func TestTemperatureApart(t *testing.T) {
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: []int32{1, 1, 0, 0, 0}}
	p.F64 = []float64{1e308, -1e308, 1, 2, 2, 1, 1, 0, 0, 0.5}
	p.Rows, p.Classes = 5, 2
	if m, err := (recal.Temperature{}).Fit(recal.InMemory(p), nil); err == nil || !strings.Contains(err.Error(), "1e150") {
		t.Errorf("%v, %v", m, err)
	}
	nll, fit, err := recal.Profile(recal.InMemory(p), nil, []float64{1, 2})
	if err != nil || fit.LeftOut != 0 || !math.IsInf(nll[0], 1) || !math.IsInf(nll[1], 1) {
		t.Errorf("%v, %+v, %v", nll, fit, err)
	}
}
