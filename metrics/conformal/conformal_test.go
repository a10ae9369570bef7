package conformal_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/conformal"
	"gonum.org/v1/gonum/mathext"
)

// The rank is that of exact fractions: in float64, 10 (1-0.7) is above 3.
func TestRank(t *testing.T) {
	for _, c := range []struct {
		n        int64
		coverage float64
		want     int64
	}{{9, 0.9, 9}, {8, 0.9, 9}, {10, 0.9, 10}, {9, 0.3, 3}, {99, 0.07, 7}, {999, 0.999, 999}, {998, 0.999, 999}, {0, 0.5, 1}, {1, 0.5, 1}, {99, 0.29, 29}, {1e12 - 1, 0.9, 9e11},
		{1e15 - 1, 0.123, 123e12}} {
		if got := conformal.Rank(c.n, c.coverage); got != c.want {
			t.Errorf("Rank(%d, %v) = %d, want %d", c.n, c.coverage, got, c.want)
		}
	}
	for _, c := range []struct {
		coverage float64
		want     int64
	}{{0.9, 9}, {0.5, 1}, {0.99, 99}, {0.85, 6}, {0.1, 1}} {
		if got := conformal.Least(c.coverage); got != c.want {
			t.Errorf("Least(%v) = %d, want %d", c.coverage, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, s := range []string{"lac", "lac(by_class,nonempty)", "aps(randomized)", "aps(keep_last,by_class)", "raps(lambda=0.5,k=2,randomized)", "split", "normalized", "cqr"} {
		m, err := conformal.Parse(s)
		if err != nil || m.String() != s {
			t.Errorf("%s: %v, %v", s, m, err)
		}
	}
	if m, err := conformal.Parse("normalised"); err != nil || m.Score != conformal.Normalized {
		t.Errorf("normalised: %v, %v", m, err)
	}
	for s, want := range map[string]string{
		"":                          "there is no method",
		"top":                       "there is no method",
		"aps(":                      "does not end",
		"aps(randomized":            "does not end",
		"aps(u)":                    "no option",
		"lac(randomized)":           "of aps and raps",
		"aps(randomized,keep_last)": "give one",
		"aps(k=3)":                  "of raps",
		"raps(k=0)":                 "1 or more",
		"raps(lambda=-1)":           "above 0",
		"raps(lambda=NaN)":          "above 0",
		"raps(k=3,k=4)":             "twice",
		"split(by_class)":           "of classes",
		"cqr(nonempty)":             "of classes",
	} {
		if _, err := conformal.Parse(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", s, err, want)
		}
	}
}

func ofRows(width int, labels []int32, p ...float64) *metrics.Predictions {
	s := &metrics.Predictions{Labels: labels}
	s.Rows, s.Classes, s.F64 = len(labels), width, p
	return s
}

func fitted(t *testing.T, method string, coverage float64, p *metrics.Predictions) *conformal.Map {
	t.Helper()
	f, _, err := conformal.Fit(metrics.InMemory(p), metrics.Must(conformal.Parse(method)), coverage, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestByHand goes through four rows of three classes.
func TestByHand(t *testing.T) {
	p := ofRows(3, []int32{0, 1, 2, 0},
		0.5, 0.25, 0.25,
		0.5, 0.25, 0.25, // the second of two equals comes third
		0.125, 0.125, 0.75,
		0.25, 0.5, 0.25)
	for _, c := range []struct {
		method   string
		coverage float64
		want     float64
	}{
		{"lac", 0.2, 0.25}, {"lac", 0.4, 0.5}, {"lac", 0.6, 0.75}, {"lac", 0.8, 0.75},
		{"aps", 0.2, 0.5}, {"aps", 0.4, 0.75}, {"aps", 0.6, 0.75}, {"aps", 0.8, 0.75},
		{"raps(lambda=1,k=1)", 0.8, 1.75}, {"raps(lambda=1,k=2)", 0.8, 0.75},
	} {
		if got := fitted(t, c.method, c.coverage, p).Parts()[0].Threshold; got != c.want {
			t.Errorf("%s %v: %v, want %v", c.method, c.coverage, got, c.want)
		}
	}
	for _, c := range []struct {
		method   string
		coverage float64
		want     string
	}{
		{"lac", 0.4, "100 100 001 010"},
		{"aps", 0.2, "100 100 000 010"}, // 0.75 is above the threshold, 0.5
		{"aps(nonempty)", 0.2, "100 100 001 010"},
		{"aps", 0.4, "110 110 001 110"},
		{"raps(lambda=1,k=1)", 0.8, "110 110 001 110"},
	} {
		if got := strings.Join(setsOf(t, fitted(t, c.method, c.coverage, p), p.F64, 4, 3), " "); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.method, c.coverage, got, c.want)
		}
	}
}

// With equal scores every row is at the threshold, and is covered.
func TestTies(t *testing.T) {
	p := ofRows(2, make([]int32, 20), slices.Repeat([]float64{0.5, 0.5}, 20)...)
	for _, method := range []string{"lac", "aps", "raps", "aps(by_class)"} {
		f := fitted(t, method, 0.9, p)
		for _, s := range setsOf(t, f, p.F64, 20, 2) {
			if s[0] != '1' {
				t.Fatalf("%s: %s", method, s)
			}
		}
	}
}

// A column of P(y = 1) and two columns give the same sets.
func TestTwoClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	one, two := ofRows(1, nil), ofRows(2, nil)
	for range 150 {
		p := float64(r.IntN(1<<20)) / (1 << 20)
		y := int32(0)
		if r.Float64() < p {
			y = 1
		}
		one.F64, two.F64 = append(one.F64, p), append(two.F64, 1-p, p)
		one.Labels, two.Labels = append(one.Labels, y), append(two.Labels, y)
	}
	one.Rows, two.Rows = 150, 150
	for _, method := range []string{"lac", "lac(by_class)", "aps", "aps(randomized)", "raps(k=1)"} {
		a, b := fitted(t, method, 0.85, one), fitted(t, method, 0.85, two)
		if x, y := setsOf(t, a, one.F64, 150, 1), setsOf(t, b, two.F64, 150, 2); !slices.Equal(x, y) || !slices.Equal(a.Parts(), b.Parts()) {
			t.Errorf("%s: %v and %v", method, a.Parts(), b.Parts())
		}
	}
}

// A class without rows, or with too few, is in every set, and a note says so. So is everything if all rows are too few.
func TestTooFew(t *testing.T) {
	labels := append(make([]int32, 30), 1, 1)
	var p []float64
	for range labels {
		p = append(p, 0.75, 0.125, 0.125)
	}
	f := fitted(t, "lac(by_class)", 0.9, ofRows(3, labels, p...))
	if got := setsOf(t, f, []float64{1, 0, 0}, 1, 3)[0]; got != "111" {
		t.Errorf("%s", got)
	}
	want := []string{"class 1 has 2 calibration rows, and a coverage of 0.9 takes 9, so every set holds it", "class 2 has no calibration row, so every set holds it"}
	if got := f.Notes(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	f = fitted(t, "aps", 0.99, ofRows(3, labels, p...))
	if got := setsOf(t, f, []float64{1, 0, 0}, 1, 3)[0]; got != "111" {
		t.Errorf("%s", got)
	}
	if got := f.Notes(); len(got) != 1 || got[0] != "32 rows are too few for a coverage of 0.99, which takes 99: every set holds everything" {
		t.Errorf("%q", got)
	}
	if p, _ := f.Promise(); p.Coverage(0.95) != (metrics.Interval{Low: 1, High: 1}) || p.P(5, 5) != 1 {
		t.Errorf("%v", p)
	}
}

func TestRefused(t *testing.T) {
	lac := conformal.Method{}
	good := ofRows(2, []int32{0, 1}, 0.5, 0.5, 0.25, 0.75)
	fit := func(p *metrics.Predictions, m conformal.Method, coverage float64) error {
		_, _, err := conformal.Fit(metrics.InMemory(p), m, coverage, nil)
		return err
	}
	weighted := *good
	weighted.Weights = []float64{1, 2}
	if err := fit(&weighted, lac, 0.9); !errors.Is(err, conformal.ErrWeights) {
		t.Errorf("weights: %v", err)
	}
	if err := fit(ofRows(2, nil), lac, 0.9); !errors.Is(err, conformal.ErrNoRows) {
		t.Errorf("no rows: %v", err)
	}
	for _, c := range []float64{0, 1, -1, 2, math.NaN()} {
		if err := fit(good, lac, c); err == nil {
			t.Errorf("coverage %v: no error", c)
		}
	}
	if err := fit(good, conformal.Method{Score: conformal.Split}, 0.9); err == nil || !strings.Contains(err.Error(), "split takes means") {
		t.Errorf("split of classes: %v", err)
	}
	var bad *metrics.DataError
	if err := fit(ofRows(2, []int32{0}, math.NaN(), 1), lac, 0.9); !errors.As(err, &bad) {
		t.Errorf("NaN: %v", err)
	}
	if err := fit(ofRows(2, []int32{2}, 0.5, 0.5), lac, 0.9); !errors.As(err, &bad) {
		t.Errorf("label 2: %v", err)
	}
	if err := fit(good, conformal.Method{Score: conformal.LAC, Randomized: true}, 0.9); err == nil {
		t.Error("randomized LAC: no error")
	}
	f := fitted(t, "lac", 0.5, good)
	if err := f.Accepts(metrics.Probs, 3); err == nil || !strings.Contains(err.Error(), "fitted to 2 classes") {
		t.Errorf("%v", err)
	}
	if err := f.Accepts(metrics.Normals, 3); err == nil {
		t.Error("normals: no error")
	}
	var tally conformal.IntervalTally
	for _, i := range [][3]float64{{2, 1, 1}, {math.NaN(), 1, 1}, {0, math.NaN(), 1}, {0, 1, math.NaN()}, {0, 1, math.Inf(1)}} {
		if err := tally.Add(i[0], i[1], i[2]); err == nil {
			t.Errorf("%v: no error", i)
		}
	}
	if v := tally.MeanWidth(); v == v {
		t.Errorf("%v without rows", v)
	}
}

// generic returns random rows.
func generic(rows, width int, seed uint64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 3))
	p := ofRows(width, make([]int32, rows))
	for i := range rows {
		sum, at := 0.0, len(p.F64)
		for range width {
			p.F64 = append(p.F64, -math.Log(r.Float64()))
			sum += p.F64[len(p.F64)-1]
		}
		x := r.Float64()
		for j := range width {
			p.F64[at+j] /= sum
			if x -= p.F64[at+j]; x > 0 && j+1 < width {
				p.Labels[i] = int32(j + 1)
			}
		}
	}
	return p
}

// Neither threads nor blocks change a map; nor does the order of rows, unless random numbers go by it.
func TestSameMap(t *testing.T) {
	p := generic(9000, 7, 5)
	turned := ofRows(7, nil)
	turned.Rows = p.Rows
	for i := p.Rows - 1; i >= 0; i-- {
		turned.F64 = append(turned.F64, p.F64[i*7:][:7]...)
		turned.Labels = append(turned.Labels, p.Labels[i])
	}
	for _, method := range []string{"lac", "aps", "raps(by_class)", "aps(randomized)", "aps(keep_last)"} {
		m := metrics.Must(conformal.Parse(method))
		a, _, err := conformal.Fit(metrics.InMemory(p), m, 0.9, &metrics.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := conformal.Fit(metrics.InMemory(p), m, 0.9, &metrics.Options{Threads: 7})
		if err != nil {
			t.Fatal(err)
		}
		x, y := metrics.Must(conformal.Marshal(a)), metrics.Must(conformal.Marshal(b))
		if !bytes.Equal(x, y) {
			t.Errorf("%s: %s and %s", method, x, y)
		}
		c, _, err := conformal.Fit(metrics.InMemory(turned), m, 0.9, nil)
		if err != nil {
			t.Fatal(err)
		}
		if same := bytes.Equal(x, metrics.Must(conformal.Marshal(c))); same == (m.Randomized || m.KeepLast) {
			t.Errorf("%s: the order of rows changes the map: %v", method, !same)
		}
	}
	if f := fitted(t, "aps(randomized)", 0.9, p); f.Parts()[0].Threshold == func() float64 {
		m := metrics.Must(conformal.Parse("aps(randomized)"))
		m.Seed = 1
		g, _, _ := conformal.Fit(metrics.InMemory(p), m, 0.9, nil)
		return g.Parts()[0].Threshold
	}() {
		t.Error("the seed does not matter")
	}
}

// The set of a calibration row holds its class exactly if its score is not above the threshold: for methods without random numbers, exactly
// as many rows are covered as the rank says.
func TestCoversItsRank(t *testing.T) {
	p := generic(3000, 12, 6)
	for _, method := range []string{"lac", "aps", "raps(lambda=0.05,k=2)", "raps(lambda=0.05,k=2,by_class)"} {
		f := fitted(t, method, 0.9, p)
		tally := conformal.NewSetTally(12)
		for i, s := range setsOf(t, f, p.F64, p.Rows, 12) {
			set := make([]bool, 12)
			for j := range set {
				set[j] = s[j] == '1'
			}
			tally.Add(set, int(p.Labels[i]))
		}
		want := int64(0)
		for _, part := range f.Parts() {
			want += conformal.Rank(part.Rows, 0.9)
		}
		if got := tally.All().Covered; got != want {
			t.Errorf("%s: %d are covered, want %d", method, got, want)
		}
	}
}

func TestMapFile(t *testing.T) {
	for _, method := range []string{"lac", "aps(by_class)", "raps(lambda=0.3,k=4,randomized)"} {
		f := fitted(t, method, 0.98, generic(60, 3, 8)) // a class has too few rows
		b := metrics.Must(conformal.Marshal(f))
		g, err := conformal.Unmarshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if c := metrics.Must(conformal.Marshal(g)); !bytes.Equal(b, c) || !slices.Equal(f.Parts(), g.Parts()) || g.Method() != f.Method() {
			t.Errorf("%s and %s", b, c)
		}
		for what, damage := range map[string]func(string) string{
			"another":     func(s string) string { return strings.Replace(s, `"coverage": 0.98`, `"coverage": 0.9`, 1) },
			"damaged":     func(s string) string { return strings.Replace(s, `"rows": 60`, `"rows": 61`, 1) },
			"behind":      func(s string) string { return s + "1" },
			"later":       func(s string) string { return strings.Replace(s, "map/1", "map/2", 1) },
			"not":         func(s string) string { return "[]" },
			"recalibrate": func(s string) string { return strings.Replace(s, "candor-conformal-map", "candor-map", 1) },
			"unknown":     func(s string) string { return strings.Replace(s, `"seed"`, `"grain": 1, "seed"`, 1) },
		} {
			if _, err := conformal.Unmarshal([]byte(damage(string(b)))); err == nil {
				t.Errorf("%s: no error", what)
			}
		}
	}
}

// The law of one calibration set's coverage is a beta distribution, and that of later rows beta-binomial.
func TestPromise(t *testing.T) {
	for _, p := range []conformal.Promise{{90, 99}, {1, 1}, {9, 9}, {950, 999}, {9001, 10000}} {
		i := p.Coverage(0.95)
		a, b := float64(p.Rank), float64(p.Rows+1-p.Rank)
		if low, high := mathext.RegIncBeta(a, b, i.Low), mathext.RegIncBeta(a, b, i.High); math.Abs(low-0.025) > 1e-9 || math.Abs(high-0.975) > 1e-9 {
			t.Errorf("%v: %v has the tails %v, %v", p, i, low, high)
		}
		// The sum over x of the probabilities, by lgamma.
		const m = 57
		law := make([]float64, m+1)
		beta := func(a, b float64) float64 {
			x, _ := math.Lgamma(a)
			y, _ := math.Lgamma(b)
			z, _ := math.Lgamma(a + b)
			return x + y - z
		}
		for x := range law {
			c, d := float64(x), float64(m-x)
			law[x] = math.Exp(-math.Log(m+1) - beta(c+1, d+1) + beta(c+a, d+b) - beta(a, b))
		}
		for _, x := range []int64{0, 20, 40, 50, 57} {
			few, many := 0.0, 0.0
			for y, w := range law {
				if int64(y) <= x {
					few += w
				}
				if int64(y) >= x {
					many += w
				}
			}
			if got, want := p.P(x, m), math.Min(1, 2*math.Min(few, many)); math.Abs(got-want) > 1e-9 {
				t.Errorf("%v: P(%d, %d) = %v, want %v", p, x, m, got, want)
			}
		}
		s := p.Share(m, 0.95)
		inside := 0.0
		for x, w := range law {
			if v := float64(x) / m; v >= s.Low && v <= s.High {
				inside += w
			}
		}
		if inside < 0.95 {
			t.Errorf("%v: %v holds %v", p, s, inside)
		}
	}
	if i := conformal.Exact(0, 10, 0.95); i.Low != 0 || math.Abs(i.High-(1-math.Pow(0.025, 0.1))) > 1e-12 {
		t.Errorf("%v", i)
	}
	if i := conformal.Exact(0, 0, 0.95); i.Low == i.Low {
		t.Errorf("%v of no rows", i)
	}
}

// Quantiles that are moved together never cross: the interval is then one number.
func TestQuantilesMeet(t *testing.T) {
	p := &metrics.Predictions{Kind: metrics.Quantiles}
	p.Classes = 2
	for range 20 { // far too wide
		p.F64, p.Observed = append(p.F64, -10, 10), append(p.Observed, 0)
		p.Rows++
	}
	f := fitted(t, "cqr", 0.9, p)
	if got := f.Parts()[0].Threshold; got != -10 {
		t.Fatalf("threshold %v", got)
	}
	p.Rows, p.F64, p.Observed = 2, []float64{-12, 12, 3, 5}, []float64{0, 0}
	got := make([]float64, 4)
	w := metrics.NewWalker(nil, metrics.NeedRows, func(b *metrics.Block) { f.Intervals(got, b) })
	w.Add(&metrics.Chunk{Predictions: *p})
	if !slices.Equal(got, []float64{-2, 2, 4, 4}) {
		t.Errorf("%v", got)
	}
}

func TestTallies(t *testing.T) {
	a, b := conformal.NewSetTally(3), conformal.NewSetTally(3)
	a.Add([]bool{true, false, false}, 0)
	a.Add([]bool{false, false, false}, 1)
	b.Add([]bool{true, true, true}, 1)
	b.Add([]bool{false, true, false}, 0)
	a.Merge(b)
	if a.All() != (conformal.Share{Rows: 4, Covered: 2}) || a.MeanSize() != 1.25 || a.BySize[1] != (conformal.Share{Rows: 2, Covered: 1}) || a.ByClass[1] != (conformal.Share{Rows: 2, Covered: 1}) {
		t.Errorf("%+v", a)
	}
	if w := conformal.Worst(a.BySize); w != 0 {
		t.Errorf("worst size %d", w)
	}
	if w := conformal.Worst(nil); w != -1 {
		t.Errorf("worst of none %d", w)
	}
	var x, y conformal.IntervalTally
	for i, v := range [][3]float64{{0, 1, 0}, {0, 1, 1}, {0, 2, 3}, {-1, 3, -2}} {
		to := &x
		if i > 1 {
			to = &y
		}
		if err := to.Add(v[0], v[1], v[2]); err != nil {
			t.Fatal(err)
		}
	}
	x.Merge(&y)
	if x.All != (conformal.Share{Rows: 4, Covered: 2}) || x.Below != 1 || x.Above != 1 || x.MeanWidth() != 2 || x.MedianWidth() != 1 || x.Winkler(0.5) != (8+4*2)/4. {
		t.Errorf("%+v, winkler %v", x.All, x.Winkler(0.5))
	}
	if s := x.ByWidth(3); len(s) != 3 || s[0].Share != (conformal.Share{Rows: 2, Covered: 2}) || s[0].Widest != 1 || s[2].Widest != 4 {
		t.Errorf("%+v", s)
	}
	if s := x.ByWidth(1); len(s) != 1 || s[0].Rows != 4 {
		t.Errorf("%+v", s)
	}
	if err := x.Add(math.Inf(-1), 5, 1); err != nil || x.MeanWidth() != math.Inf(1) || x.Winkler(0.5) != math.Inf(1) || x.Unbounded != 1 {
		t.Errorf("%v, %v", err, x.MeanWidth())
	}
}

// Random numbers of the rows are even.
func TestRandomizedCoversAsPromised(t *testing.T) {
	p := generic(60000, 6, 9)
	f := fitted(t, "aps(randomized)", 0.8, p)
	q := generic(60000, 6, 10)
	covered := int64(0)
	for i, s := range setsOf(t, f, q.F64, q.Rows, 6) {
		if s[q.Labels[i]] == '1' {
			covered++
		}
	}
	promise, _ := f.Promise()
	if v := promise.P(covered, int64(q.Rows)); v < 1e-4 {
		t.Errorf("%d of %d are covered, p = %v", covered, q.Rows, v)
	}
}
