package recal

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/candor-go/candor/metrics"
)

// bbqCase is a case of Naeini's code.
type bbqCase struct {
	P     []float64 `json:"p"`
	Y     []float64 `json:"y"`
	XTest []float64 `json:"x_test"`
	BBQ   struct {
		Requested  []int     `json:"requested_bins"`
		Actual     []int     `json:"actual_bins"`
		Scores     []float64 `json:"scores"`
		Likelihood []float64 `json:"relative_likelihood"`
		Kept       []int     `json:"kept_model_indices"`
		Predict    []float64 `json:"predict"`
		BestCuts   []float64 `json:"best_model_cuts"`
		BestP      []float64 `json:"best_model_P"`
	} `json:"bbq"`
}

func bbqCases(t *testing.T) []bbqCase {
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
		Binary []bbqCase `json:"binary"`
	}
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		t.Fatal(err)
	}
	if len(all.Binary) == 0 {
		t.Fatal("there are no cases")
	}
	return all.Binary
}

// bbqRowsOf returns rows in rising order, those of a score together or as they are.
func bbqRowsOf(p, y []float64, together bool) *bbqRows {
	by := make([]int, len(p))
	for i := range by {
		by[i] = i
	}
	slices.SortStableFunc(by, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	r := &bbqRows{}
	for i := 0; i < len(by); {
		v, n, n1 := p[by[i]], int64(0), int64(0)
		for ; i < len(by) && p[by[i]] == v && (together || n == 0); i++ {
			n, n1 = n+1, n1+int64(y[by[i]])
		}
		r.add(v, n, n1)
	}
	return r
}

func bbqNear(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestBBQGolden(t *testing.T) {
	for _, c := range bbqCases(t) {
		r := bbqRowsOf(c.P, c.Y, false)
		m := BBQ{Prune: true, AsCoded: true}
		models := m.models(r)
		if len(models) != len(c.BBQ.Requested) {
			t.Fatalf("%d models, want %d", len(models), len(c.BBQ.Requested))
		}
		w := bbqWeights(models)
		best := 0
		for i, o := range models {
			if len(o.p) != c.BBQ.Actual[i] {
				t.Errorf("%d bins, want %d", len(o.p), c.BBQ.Actual[i])
			}
			bbqNear(t, "score", o.score, c.BBQ.Scores[i], 1e-12)
			bbqNear(t, "likelihood", w[i], c.BBQ.Likelihood[i], 1e-11)
			if w[i] > w[best] {
				best = i
			}
		}
		if kept := bbqElbow(w, true); !slices.Equal(kept, c.BBQ.Kept) {
			t.Errorf("kept %v, want %v", kept, c.BBQ.Kept)
		}
		if got := bbqElbow(w, false); len(got) != len(c.BBQ.Kept)+1 {
			t.Errorf("pruned to %d models, want one more than the %d as coded", len(got), len(c.BBQ.Kept))
		}
		for i, e := range models[best].ends {
			bbqNear(t, "cut", r.cut(e), c.BBQ.BestCuts[i], 1e-15)
		}
		for i, p := range models[best].p {
			bbqNear(t, "probability", p, c.BBQ.BestP[i], 1e-13)
		}
		fitted, err := m.Fit(InMemory(bbqPredictions(c.P, c.Y)), nil)
		if err != nil {
			t.Fatal(err)
		}
		f := fitted.(*CurveMap).Curve(0)
		for i, x := range c.XTest {
			bbqNear(t, "predict", f(x), c.BBQ.Predict[i], 1e-12)
		}
	}
}

func TestLnGamma(t *testing.T) {
	for x := 0.01; x < 2e6; x *= 1.37 {
		want, _ := math.Lgamma(x)
		bbqNear(t, "ln G", lnGamma(x), want, 1e-14)
	}
	f := new(big.Float).SetInt64(1)
	for i := int64(1); i <= 20; i++ { // factorials are floats up to 22!
		v, _ := f.Float64()
		bbqNear(t, "factorial", lnGamma(float64(i)), math.Log(v), 1e-14)
		f.Mul(f, new(big.Float).SetInt64(i))
	}
}

func bbqPredictions(p, y []float64) *metrics.Predictions {
	l := make([]int32, len(y))
	for i, v := range y {
		l[i] = int32(v)
	}
	return &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: l}
}

// bbqDraws returns scores with this many values, and outcomes with probability p*p.
func bbqDraws(seed uint64, n int, distinct int64) (p, y []float64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	p, y = make([]float64, n), make([]float64, n)
	for i := range p {
		p[i] = float64(rng.Int64N(distinct)) / float64(distinct-1)
		if rng.Float64() < p[i]*p[i] {
			y[i] = 1
		}
	}
	return p, y
}

// bbqSlow is the mean of the histograms at x by its definition: each histogram is made row by row.
func bbqSlow(p, y []float64, prune bool, x float64) float64 {
	n := len(p)
	by := make([]int, n)
	for i := range by {
		by[i] = i
	}
	slices.SortStableFunc(by, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	root := math.Cbrt(float64(n))
	var scores, at []float64
	for b := int(max(1, math.Floor(root/10+1e-9))); b <= int(min(math.Ceil(float64(n)/5), math.Ceil(10*root-1e-9))); b++ {
		type bin struct {
			n, n1, sum, first, last float64
		}
		var bins []bin
		group := 0
		for i, r := range by {
			// A bin begins where the score is another one, and an end of a group is behind the last bin's first row and not behind
			// this row.
			if i == 0 || p[r] != p[by[i-1]] && min(i/(n/b), b-1) > group {
				bins, group = append(bins, bin{first: p[r]}), min(i/(n/b), b-1)
			}
			o := &bins[len(bins)-1]
			o.n++
			o.last = p[r]
			if y[r] == 1 {
				o.n1++
				o.sum += p[r]
			}
		}
		score, value, low := 0.0, 0.0, 0.0
		for i, o := range bins {
			high := 1.0
			if i+1 < len(bins) {
				high = (o.last + bins[i+1].first) / 2
			}
			m := (low + high) / 2
			if x >= low {
				value = (o.n1 + (o.sum+m)/(o.n1+1)) / (o.n + 1)
			}
			t := min(max(m, 0.005), 0.995)
			g := func(v float64) float64 { l, _ := math.Lgamma(v); return l }
			score -= 2 * (g(o.n1+2*t) - g(2*t) + g(o.n-o.n1+2*(1-t)) - g(2*(1-t)) - g(o.n+2) + g(2))
			low = high
		}
		scores, at = append(scores, score), append(at, value)
	}
	least := slices.Min(scores)
	w := make([]float64, len(scores))
	for i, s := range scores {
		w[i] = math.Exp((least - s) / 2)
	}
	keep := 0.0
	if prune {
		kept := slices.Clone(w)
		slices.Sort(kept)
		slices.Reverse(kept)
		mean, variance := 0.0, 0.0
		for _, v := range w {
			mean += v / float64(len(w))
		}
		for _, v := range w {
			variance += (v - mean) * (v - mean) / float64(len(w))
		}
		k := 0
		for k+1 < len(w) && (kept[k] == kept[k+1] || kept[k]-kept[k+1] > 0.001*variance) {
			k++
		}
		keep = kept[k]
	}
	sum, total := 0.0, 0.0
	for i, v := range w {
		if v >= keep {
			sum, total = sum+v*at[i], total+v
		}
	}
	return sum / total
}

func TestBBQByDefinition(t *testing.T) {
	for i, n := range []int{1, 2, 4, 5, 6, 11, 64, 125, 500, 1000, 2000} {
		for _, distinct := range []int64{3, 12, 100000} {
			for j, prune := range []bool{false, true} {
				if testing.Short() && (i+j+int(distinct))%2 > 0 {
					continue
				}
				p, y := bbqDraws(uint64(i), n, distinct)
				m, err := BBQ{Prune: prune}.Fit(InMemory(bbqPredictions(p, y)), nil)
				if err != nil {
					t.Fatal(err)
				}
				f := m.(*CurveMap).Curve(0)
				for _, x := range []float64{0, 0.04, 0.3, 0.5, 0.77, 0.98, 1, p[0], p[n/2]} {
					bbqNear(t, m.Method(), f(x), bbqSlow(p, y, prune, x), 1e-10)
				}
			}
		}
	}
}

func TestBBQNumbers(t *testing.T) {
	for _, c := range []struct {
		n           int64
		least, most int
	}{{1, 1, 1}, {5, 1, 1}, {6, 1, 2}, {40, 1, 8}, {500, 1, 80}, {1000, 1, 100}, {1001, 1, 101}, {7999, 1, 200}, {8000, 2, 200},
		{1e6 - 1, 9, 1000}, {1e6, 10, 1000}, {1e6 + 1, 10, 1001}, {1e9, 100, 10000}} {
		if l, m := bbqNumbers(c.n); l != c.least || m != c.most {
			t.Errorf("%d rows: %d to %d bins, want %d to %d", c.n, l, m, c.least, c.most)
		}
	}
}

func TestBBQElbow(t *testing.T) {
	for _, c := range []struct {
		w           []float64
		kept, coded []int
	}{
		{[]float64{1}, []int{0}, []int{0}},
		{[]float64{1, 1, 1}, []int{0, 1, 2}, []int{0, 1, 2}},
		{[]float64{0, 1}, []int{1, 0}, []int{1}},
		{[]float64{0.5, 1, 1e-9, 5e-10}, []int{1, 0, 2}, []int{1, 0}},
		{[]float64{0.5, 1, 0.25, 0.25, 0}, []int{1, 0, 2, 3, 4}, []int{1, 0}},
		{[]float64{1e-9, 1, 1, 0}, []int{1, 2, 0}, []int{1, 2}},
	} {
		if got := bbqElbow(c.w, false); !slices.Equal(got, c.kept) {
			t.Errorf("%v: %v, want %v", c.w, got, c.kept)
		}
		if got := bbqElbow(c.w, true); !slices.Equal(got, c.coded) {
			t.Errorf("%v as coded: %v, want %v", c.w, got, c.coded)
		}
	}
}

// TestBBQSame: neither the order of the rows, nor chunks, nor threads, nor a file of the map change a bit.
func TestBBQSame(t *testing.T) {
	p, y := bbqDraws(3, 3000, 400)
	for _, m := range []BBQ{{}, {Prune: true}, {AsCoded: true}, {Prune: true, AsCoded: true, TopLabel: true}} {
		first, err := m.Fit(InMemory(bbqPredictions(p, y)), &Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		want, err := Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Unmarshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := Marshal(again); !bytes.Equal(got, want) {
			t.Error("a file that was read gives another one")
		}
		if parsed, err := Parse(m.String()); err != nil || parsed != Method(m) {
			t.Errorf("%s: %v %v", m, parsed, err)
		}
		q, z := slices.Clone(p), slices.Clone(y)
		if !m.AsCoded {
			rand.New(rand.NewPCG(5, 5)).Shuffle(len(q), func(i, j int) { q[i], q[j], z[i], z[j] = q[j], q[i], z[j], z[i] })
		}
		for _, threads := range []int{1, 4} {
			src := func() (Source, error) { return &bbqChunks{p: bbqPredictions(q, z), rows: 37}, nil }
			other, err := m.Fit(OpenFunc(src), &Options{Threads: threads})
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := Marshal(other); !bytes.Equal(got, want) {
				t.Errorf("%s: %d threads and chunks of 37 rows give another map", m, threads)
			}
		}
	}
}

// bbqChunks yields predictions in chunks of this many rows.
type bbqChunks struct {
	p        *metrics.Predictions
	rows, at int
}

func (c *bbqChunks) Close() error { return nil }

func (c *bbqChunks) Next() (*metrics.Chunk, error) {
	if c.at >= c.p.Rows {
		return nil, io.EOF
	}
	v := (&metrics.Chunk{Predictions: *c.p}).Slice(c.at, min(c.at+c.rows, c.p.Rows))
	c.at += c.rows
	return &v, nil
}

func TestBBQAdversarial(t *testing.T) {
	half := []float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}
	for _, m := range []BBQ{{}, {Prune: true}, {AsCoded: true, Prune: true}} {
		fitted, err := m.Fit(InMemory(bbqPredictions(half, []float64{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})), nil)
		if err != nil {
			t.Fatal(err)
		}
		// p0 = (1.5 + 0.5)/4
		for _, x := range []float64{0, 0.5, 1} {
			bbqNear(t, "scores all equal", fitted.(*CurveMap).Curve(0)(x), 3.5/13, 1e-15)
		}
		for _, y := range []float64{0, 1} {
			p, labels := bbqDraws(8, 200, 1000)
			for i := range labels {
				labels[i] = y
			}
			fitted, err := m.Fit(InMemory(bbqPredictions(p, labels)), nil)
			if err != nil {
				t.Fatal(err)
			}
			f := fitted.(*CurveMap).Curve(0)
			if v := f(0.5); !(math.Abs(v-y) < 0.1) {
				t.Errorf("labels all %v: 0.5 becomes %v", y, v)
			}
		}
		for _, ends := range [][]float64{{0, 1, 0, 1}, {math.Nextafter(0.5, 1), 0.5, 0.5, 0.5, 0.5, 0.5, math.Nextafter(0.5, 1), 1, 0}} {
			fitted, err := m.Fit(InMemory(bbqPredictions(ends, make([]float64, len(ends)))), nil)
			if err != nil {
				t.Fatal(err)
			}
			dst := metrics.Scores{F64: make([]float64, 3), Rows: 3, Classes: 1}
			fitted.Apply(&dst, &metrics.Scores{F64: []float64{nan, 0, 1}, Rows: 3, Classes: 1}, metrics.Probs)
			if dst.F64[0] == dst.F64[0] || !(dst.F64[1] >= 0 && dst.F64[2] <= 1) {
				t.Errorf("NaN, 0 and 1 become %v", dst.F64)
			}
		}
	}
	p := bbqPredictions([]float64{0.1, 0.9}, []float64{0, 1})
	p.Weights = []float64{1, 2}
	if _, err := (BBQ{}).Fit(InMemory(p), nil); err == nil || !strings.Contains(err.Error(), "weights") {
		t.Errorf("weights: %v", err)
	}
}

func TestBBQFiles(t *testing.T) {
	for _, bad := range []string{`{"curves":[]}`, `{"curves":[{"cuts":[],"values":[]}]}`, `{"curves":[{"cuts":[0.5],"values":[0.5]}]}`,
		`{"curves":[{"cuts":[0.5,0.5],"values":[0,0.5,1]}]}`, `{"curves":[{"cuts":[2],"values":[0,1]}]}`,
		`{"curves":[{"cuts":[0.5],"values":[0,1.5]}]}`, `{"curves":[{"cuts":[0.5],"values":[0,1],"on":[0,1]}]}`,
		`{"curves":[{"cuts":[0.5],"values":[0,1],"on":[-1]}]}`, `{"curves":[{"cuts":[0.5],"values":[0,1],"off":[1]}]}`} {
		if _, err := (BBQ{}).decode(Fit{Rows: 1, Classes: 1, Kind: "probs"}, json.RawMessage(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
	m, err := BBQ{}.Fit(InMemory(bbqPredictions([]float64{0.3, 0.3}, []float64{0, 1})), nil) // one step
	if err != nil {
		t.Fatal(err)
	}
	if b, err := Marshal(m); err != nil || !strings.Contains(string(b), `"cuts": []`) {
		t.Errorf("one step: %v, %s", err, b)
	}
}

// TestBBQMillion says how long the histograms of a million different scores take.
func TestBBQMillion(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it fits to a million rows")
	}
	p, y := bbqDraws(1, 1e6, 1<<50)
	d := InMemory(bbqPredictions(p, y))
	start := time.Now()
	m, err := BBQ{}.Fit(d, &Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v for a million rows, of 991 histograms", time.Since(start))
	for x := 0.05; x < 1; x += 0.1 {
		if v := m.(*CurveMap).Curve(0)(x); !(math.Abs(v-x*x) < 0.03) {
			t.Errorf("%v becomes %v", x, v)
		}
	}
}
