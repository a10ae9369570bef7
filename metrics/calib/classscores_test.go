package calib_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/internal/order"
)

func classScores(t testing.TB, p *metrics.Predictions, o calib.ClassScoresOptions, threads int) *calib.ClassScores {
	t.Helper()
	s := metrics.Must(calib.NewClassScores(&o))
	if err := metrics.NewPass(&metrics.Options{Unchecked: true, Threads: threads}, s).Add(p); err != nil {
		t.Fatal(err)
	}
	return s
}

// outside reports whether a probability is outside [0,1]. The reference uses it, ClassScores leaves it out.
func outside(p *metrics.Predictions) bool {
	return slices.ContainsFunc(p.F64, func(v float64) bool { return !(v >= 0 && v <= 1) })
}

// TestGoldenScores compares all results over equal-mass bins of each class with the reference.
func TestGoldenScores(t *testing.T) {
	inputs := smallInputs(t)
	loaded := map[string]*metrics.Predictions{}
	for name, in := range inputs {
		loaded[name] = in.load(t)
	}
	n, left := 0, 0
	states := map[string]*calib.ClassScores{}
	for _, c := range smallCases(t) {
		if scheme, maxProb, classwise := c[1].(string), c[2].(bool), c[3].(bool); scheme != "adaptive" || maxProb || !classwise {
			continue
		}
		p, threshold := loaded[c[0].(string)], c[4].(float64)
		bins := 0
		if points, ok := c[7].(float64); ok {
			bins = int(float64(p.Rows) / points)
		} else {
			bins = int(c[6].(float64))
		}
		if outside(p) || bins == 0 {
			left++
			continue
		}
		key := fmt.Sprint(c[0], threshold)
		s := states[key]
		if s == nil {
			s = classScores(t, p, calib.ClassScoresOptions{Above: &threshold}, 1)
			states[key] = s
		}
		got := s.ACE(bins)
		if c[5].(string) == "l2" {
			got = s.RMS(bins)
		}
		if !near(orZero(got), c[8].(float64), 1e-12) {
			t.Errorf("%v: %v", c, got)
		}
		n++
	}
	if t.Logf("%d cases, %d with scores outside [0,1] or no bins", n, left); n < 1000 || left > n/5 {
		t.Error("cases are missing")
	}

	var a struct{ Aliases []map[string]any }
	check.Golden(t, "../../testdata/golden", "gce_adaptive.json.gz", &a)
	n = 0
	for _, c := range a.Aliases {
		p := loaded[c["input"].(string)]
		if outside(p) {
			continue
		}
		for name, r := range map[string]struct {
			above float64
			bins  int
		}{"ace_default": {0, 30}, "ace_15": {0, 15}, "tace_default": {0.01, 30}, "tace_15": {0.01, 15}, "tace_thr0.1_15": {0.1, 15}} {
			if got := classScores(t, p, calib.ClassScoresOptions{Above: &r.above}, 1).ACE(r.bins); !near(orZero(got), c[name].(float64), 1e-12) {
				t.Errorf("%s of %v is %v, want %v", name, c["input"], got, c[name])
			}
			n++
		}
	}
	if t.Logf("%d aliases", n); n < 5*20 {
		t.Error("aliases are missing")
	}
}

// TestGoldenScoresBig does the same for a thousand classes and for twenty thousand rows, in float32 and float64.
func TestGoldenScoresBig(t *testing.T) {
	var g struct {
		Cases []struct {
			Input, Mode, Metric string
			Scheme              string `json:"binning_scheme"`
			MaxProb             bool   `json:"max_prob"`
			Classwise           bool   `json:"class_conditional"`
			Threshold           float64
			Norm                string
			Bins                int `json:"num_bins"`
			Result              float64
		}
	}
	check.Golden(t, "../../testdata/golden", "gce_big.json", &g)
	sets, states := map[string]*metrics.Predictions{}, map[string]*calib.ClassScores{}
	n := 0
	for _, c := range g.Cases {
		switch {
		case c.Metric == "ace":
			c.Threshold = 0
		case c.Metric == "tace":
			c.Threshold = 0.01
		case c.Metric != "gce" || c.Scheme != "adaptive" || !c.Classwise || c.MaxProb:
			continue
		}
		if n++; testing.Short() && n%5 != 0 {
			continue
		}
		key := c.Input + c.Mode
		if sets[key] == nil {
			sets[key] = loadNPY(t, "../../testdata/golden/"+c.Input, c.Mode == "f64")
		}
		above := c.Threshold
		if sets[key].F32 != nil {
			above = float64(float32(above)) // the threshold of the reference
		}
		key += fmt.Sprint(above)
		if states[key] == nil {
			states[key] = classScores(t, sets[c.Input+c.Mode], calib.ClassScoresOptions{Above: &above}, 2)
		}
		got := states[key].ACE(c.Bins)
		if c.Norm == "l2" {
			got = states[key].RMS(c.Bins)
		}
		if !near(got, c.Result, 1e-12) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if t.Logf("%d cases", n); n < 20 {
		t.Error("cases are missing")
	}
}

// TestGoldenClassesRMS compares ClassBins with the reference's class-conditional L2 errors.
func TestGoldenClassesRMS(t *testing.T) {
	inputs := smallInputs(t)
	n := 0
	for _, c := range smallCases(t) {
		if scheme, maxProb, classwise := c[1].(string), c[2].(bool), c[3].(bool); scheme != "even" || maxProb || !classwise || c[5] != "l2" {
			continue
		}
		if n++; testing.Short() && n%7 != 0 {
			continue
		}
		b := classBins(t, inputs[c[0].(string)].load(t), umClasses(int(c[6].(float64)), c[4].(float64)))
		if got := b.RMS(); !near(orZero(got), c[8].(float64), 1e-12) {
			t.Errorf("%v: %v", c, got)
		}
	}
	if t.Logf("%d cases", n); n < 500 {
		t.Errorf("only %d cases", n)
	}
}

var scoreCases = []calib.ClassScoresOptions{{}, {Above: new(0.0)}, {Above: new(0.1)}, {Above: new(0.25)}, {Above: new(0.9999)}}

// nastyData returns rows with few distinct values, with values outside [0,1], with -0, and with any values.
func nastyData(rows, k int, dtype metrics.DType, weights bool) *metrics.Predictions {
	p := classData(rows, k, metrics.Float64, weights)
	r := rand.New(rand.NewPCG(5, uint64(rows*k)))
	for i := range p.F64 {
		switch r.IntN(12) {
		case 0:
			p.F64[i] = []float64{-0.5, 1.5, math.Copysign(0, -1), 1e30, -1e-40, 0x1p-149, 0.1}[r.IntN(7)]
		case 1:
			p.F64[i] = r.Float64()
		case 2:
			p.F64[i] = r.Float64() / 16
		}
	}
	if dtype == metrics.Float32 {
		for _, v := range p.F64 {
			p.F32 = append(p.F32, float32(v))
		}
		p.F64 = nil
	}
	return p
}

// plainEdges returns the edges of equal-mass bins of sorted scores by definition. With weights an edge is the first score at
// which the cumulative weight, in units of a quarter, exceeds its share.
func plainEdges(x, w []float64, bins int) []float64 {
	var e []float64
	all, n := 0.0, len(x)
	for _, v := range w {
		all += v
	}
	for _, r := range order.Ranks(n, bins) {
		sum := 0.0
		for i, v := range w {
			if sum += v; sum*float64(n) > float64(r)*all {
				e = append(e, x[i])
				break
			}
		}
	}
	return e
}

// holdScores compares the answers with the definition.
func holdScores(t *testing.T, name string, s *calib.ClassScores, p *metrics.Predictions, o calib.ClassScoresOptions, bins int) {
	t.Helper()
	width := max(2, p.Classes)
	if s.Classes() != width || s.Len() != int64(p.Rows) || s.Err() != nil {
		t.Fatalf("%s: %d classes, %d rows, %v", name, s.Classes(), s.Len(), s.Err())
	}
	type scored struct{ p, y, w float64 }
	ace, ms := 0.0, 0.0
	kept, out := int64(0), int64(0)
	for j := range width {
		var l []scored
		for i := range p.Rows {
			v := scored{entry(p, i, j), 0, 1}
			if int(p.Labels[i]) == j {
				v.y = 1
			}
			if p.Weights != nil {
				v.w = p.Weights[i]
			}
			if !(v.p >= 0 && v.p <= 1) {
				out++
			} else if o.Above == nil || v.p > *o.Above {
				l = append(l, v)
			}
		}
		kept += int64(len(l))
		slices.SortFunc(l, func(a, b scored) int {
			switch {
			case a.p < b.p:
				return -1
			case a.p > b.p:
				return 1
			}
			return 0
		})
		var x, w []float64
		for _, v := range l {
			x, w = append(x, v.p), append(w, v.w)
		}
		edges := plainEdges(x, w, bins)
		count, n, sp, sy, all := make([]int64, bins), make([]float64, bins), make([]float64, bins), make([]float64, bins), 0.0
		for _, v := range l {
			b := 0
			for b < len(edges) && edges[b] <= v.p {
				b++
			}
			count[b]++
			n[b], sp[b], sy[b], all = n[b]+v.w, sp[b]+v.w*v.p, sy[b]+v.w*v.y, all+v.w
		}
		bars := s.Class(j, bins).Bins(0.95)
		for b, bar := range bars {
			lower, upper := 0.0, 1.0
			if b > 0 {
				lower = 1
				if len(edges) > 0 {
					lower = edges[b-1]
				}
			}
			if b < len(edges) {
				upper = edges[b]
			}
			if bar.Count != count[b] || bar.Weight != n[b] || bar.Lower != lower || bar.Upper != upper ||
				count[b] > 0 && !(near(bar.Confidence, sp[b]/n[b], 1e-13) && near(bar.Frequency, sy[b]/n[b], 1e-13)) {
				t.Fatalf("%s: class %d of %d, bin %d is %+v, want %d, %v, [%v, %v)", name, j, width, b, bar, count[b], n[b], lower, upper)
			}
			if all > 0 {
				ace += math.Abs(sp[b]-sy[b]) / all
				if g := sp[b] - sy[b]; n[b] > 0 {
					ms += g * g / n[b] / all
				}
			}
		}
		if len(bars) != bins || s.Class(j, bins).Len() != int64(len(l)) {
			t.Fatalf("%s: %d bars of class %d, %d entries", name, len(bars), j, s.Class(j, bins).Len())
		}
	}
	if s.Kept() != kept || s.Out() != out {
		t.Fatalf("%s: %d kept, %d outside, want %d, %d", name, s.Kept(), s.Out(), kept, out)
	}
	if kept == 0 {
		if got, rms := s.ACE(bins), s.RMS(bins); got == got || rms == rms {
			t.Errorf("%s: %v and %v of no entries", name, got, rms)
		}
		return
	}
	if got := s.ACE(bins); !near(got, ace/float64(width), 1e-13) {
		t.Errorf("%s: ace %v, want %v", name, got, ace/float64(width))
	}
	if got := s.RMS(bins); !near(got, math.Sqrt(ms/float64(width)), 1e-12) {
		t.Errorf("%s: rms %v, want %v", name, got, math.Sqrt(ms/float64(width)))
	}
}

// TestClassScoresDefinition compares bins and errors with those computed entry by entry.
func TestClassScoresDefinition(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for i, k := range []int{1, 2, 3, 16, 70} {
			for _, dtype := range []metrics.DType{metrics.Float32, metrics.Float64} {
				for j, o := range scoreCases {
					if (i+j+int(dtype))%check.Size(4, 2, 1) != 0 {
						continue
					}
					weights := (i+j)%3 == 0
					for _, p := range []*metrics.Predictions{nastyData(250-k, k, dtype, weights), classData(100+k, k, dtype, weights), classData(1, k, dtype, weights)} {
						bins := 1 + (7*i+3*j)%40
						s := classScores(t, p, o, 1)
						holdScores(t, fmt.Sprintf("%v, %d bins", o, bins), s, p, o, bins)
					}
				}
			}
		}
	})
}

// TestEqualWeights checks that equal weights of any value have no effect.
func TestEqualWeights(t *testing.T) {
	for _, o := range scoreCases {
		p := classData(333, 5, metrics.Float32, false)
		for _, w := range []float64{1, 0x1p-32, 0x1p32, 0.1, 1.0 / 3} {
			q := *p
			q.Weights = slices.Repeat([]float64{w}, p.Rows)
			a, b := classScores(t, p, o, 1), classScores(t, &q, o, 1)
			for bins := 1; bins < 60; bins += check.Size(28, 14, 7) {
				if x, y := a.ACE(bins), b.ACE(bins); !near(x, y, 1e-14) {
					t.Errorf("%v, %d bins of weight %v: ace %v, want %v", o, bins, w, y, x)
				}
				for j := range 5 {
					weighted := b.Class(j, bins).Bins(0.95)
					for i, bar := range a.Class(j, bins).Bins(0.95) {
						if c := weighted[i]; c.Count != bar.Count || c.Lower != bar.Lower || c.Upper != bar.Upper {
							t.Fatalf("%v, %d bins of weight %v, class %d: %+v, want %+v", o, bins, w, j, c, bar)
						}
					}
				}
			}
		}
	}
}

func scoresState(t testing.TB, s *calib.ClassScores) []byte {
	t.Helper()
	b, err := s.AppendBinary([]byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	return b[len("before"):]
}

// someRows returns rows [from, to) of the predictions.
func someRows(p *metrics.Predictions, from, to int) *metrics.Predictions {
	q := *p
	st := p.Stride
	if st == 0 {
		st = p.Classes
	}
	q.Rows, q.Labels = to-from, p.Labels[from:to]
	if p.F32 != nil {
		q.F32 = p.F32[from*st:]
	} else {
		q.F64 = p.F64[from*st:]
	}
	if p.Weights != nil {
		q.Weights = p.Weights[from:to]
	}
	return &q
}

// takeRows returns the given rows and columns in the given order. Rows may repeat.
func takeRows(p *metrics.Predictions, rows, columns []int) *metrics.Predictions {
	q := &metrics.Predictions{}
	q.Rows, q.Classes = len(rows), p.Classes
	number := make([]int32, max(2, p.Classes))
	for to, from := range columns {
		number[from] = int32(to)
	}
	for _, i := range rows {
		for _, j := range columns[:p.Classes] {
			v := entry(p, i, j)
			if p.Classes == 1 {
				v = entry(p, i, 1)
			}
			if p.F32 != nil {
				q.F32 = append(q.F32, float32(v))
			} else {
				q.F64 = append(q.F64, v)
			}
		}
		q.Labels = append(q.Labels, number[p.Labels[i]])
		if p.Weights != nil {
			q.Weights = append(q.Weights, p.Weights[i])
		}
	}
	return q
}

// TestClassScoresMerge checks that rows in any order and in any parts, merged in any way, give the same bytes and answers.
func TestClassScoresMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	data := []*metrics.Predictions{}
	for i, k := range []int{1, 2, 12, 90, 5000} {
		for j, dtype := range []metrics.DType{metrics.Float32, metrics.Float64} {
			rows := max(20, min(1500, 20000/k))
			data = append(data, classData(rows, k, dtype, (i+j)%2 == 0), nastyData(rows, k, dtype, (i+j)%2 == 1))
		}
	}
	for n, p := range data {
		for i, o := range scoreCases {
			if p.Classes > 1000 && i != 2 || !check.Full() && p.Classes <= 1000 && (n+i)%check.Size(9, 4, 1) != 0 {
				continue
			}
			whole := classScores(t, p, o, 1)
			want, ace, rms := scoresState(t, whole), whole.ACE(15), whole.RMS(4)
			check := func(what string, s *calib.ClassScores) {
				t.Helper()
				if !slices.Equal(scoresState(t, s), want) {
					t.Fatalf("%v, %d classes: %s: another state", o, p.Classes, what)
				}
				if s.ACE(15) != ace || s.RMS(4) != rms || s.Len() != whole.Len() || s.Kept() != whole.Kept() || s.Out() != whole.Out() {
					t.Fatalf("%v, %d classes: %s: another answer", o, p.Classes, what)
				}
			}
			columns := make([]int, max(2, p.Classes))
			for j := range columns {
				columns[j] = j
			}
			shuffled := takeRows(p, r.Perm(p.Rows), columns)
			check("another order", classScores(t, shuffled, o, 3))
			isatest.Each(t, func(*testing.T) { check("another level", classScores(t, p, o, 2)) })

			one := metrics.Must(calib.NewClassScores(&o))
			pass := metrics.NewPass(&metrics.Options{Unchecked: true, Threads: 1}, one)
			var shards []*calib.ClassScores
			for at := 0; at < p.Rows; {
				n := min(p.Rows-at, 1+r.IntN(1+p.Rows/3))
				if r.IntN(2) == 0 {
					n = 1
				}
				part := someRows(shuffled, at, at+n)
				if err := pass.Add(part); err != nil {
					t.Fatal(err)
				}
				shards = append(shards, classScores(t, part, o, 1))
				at += n
			}
			check("many Adds", one)
			check("and asked once more", one)
			for len(shards) > 1 {
				i := r.IntN(len(shards))
				a := shards[i]
				shards = slices.Delete(shards, i, i+1)
				b := shards[r.IntN(len(shards))]
				if r.IntN(2) == 0 {
					var read calib.ClassScores
					if err := read.UnmarshalBinary(scoresState(t, a)); err != nil {
						t.Fatal(err)
					}
					if x, y := read.ACE(3), a.ACE(3); x != y && x == x {
						t.Fatalf("read back, ace is %v, want %v", x, y)
					}
					a = &read
				}
				if err := b.Merge(a); err != nil {
					t.Fatal(err)
				}
			}
			check("a tree of merges", shards[0])
		}
	}
}

// TestClassScoresShared checks that accumulators stay independent after a merge.
func TestClassScoresShared(t *testing.T) {
	for _, o := range scoreCases[:3] {
		p := classData(9000, 6, metrics.Float32, true)
		a, b := classScores(t, someRows(p, 0, 5000), o, 1), classScores(t, someRows(p, 5000, 6000), o, 1)
		if err := b.Merge(a); err != nil {
			t.Fatal(err)
		}
		for i, s := range []*calib.ClassScores{a, b} {
			if err := metrics.NewPass(nil, s).Add(someRows(p, 6000+1000*i, 7000+1000*i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Merge(a); err != nil {
			t.Fatal(err)
		}
		var twice, all []int
		for range 2 {
			for i := range 5000 {
				twice = append(twice, i)
			}
			for i := range 1000 {
				twice = append(twice, 6000+i)
			}
		}
		for i := range 6000 {
			all = append(all, i)
		}
		for i := range 1000 {
			all = append(all, 7000+i)
		}
		columns := []int{0, 1, 2, 3, 4, 5}
		if !slices.Equal(scoresState(t, a), scoresState(t, classScores(t, takeRows(p, twice, columns), o, 1))) {
			t.Errorf("%v: merged with itself, another state", o)
		}
		if !slices.Equal(scoresState(t, b), scoresState(t, classScores(t, takeRows(p, all, columns), o, 1))) {
			t.Errorf("%v: another state after a merge", o)
		}
	}
}

// TestClassLaws checks that reordering the classes and repeating all rows change no error of ClassBins or ClassScores.
func TestClassLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for i, k := range []int{2, 3, 11, 64} {
		for _, weights := range []bool{false, true} {
			if testing.Short() && weights != (i%2 == 0) {
				continue
			}
			p := classData(240, k, metrics.Float64, weights)
			columns := r.Perm(k)
			var once, thrice []int
			for range 3 {
				thrice = append(thrice, r.Perm(p.Rows)...)
			}
			once = thrice[:p.Rows]
			for _, above := range []*float64{nil, new(0.0), new(0.2)} {
				bo, so := calib.ClassOptions{Bins: 10, Above: above}, calib.ClassScoresOptions{Above: above}
				b, s := classBins(t, p, bo), classScores(t, p, so, 1)
				renamed := takeRows(p, once, columns)
				rb, rs := classBins(t, renamed, bo), classScores(t, renamed, so, 1)
				most, at := b.Max()
				same, _ := rb.Max()
				if b.SCE() != rb.SCE() || b.RMS() != rb.RMS() || most != same || s.ACE(10) != rs.ACE(10) || s.RMS(10) != rs.RMS(10) {
					t.Errorf("%d classes, %v: other names, other errors", k, so)
				}
				largest := 0.0
				for j := range k {
					e := b.Class(j).ECE()
					if e > largest {
						largest = e
					}
					if x, y := s.Class(columns[j], 7), rs.Class(j, 7); x.Len() != y.Len() || x.Len() > 0 && (x.ECE() != y.ECE() || x.RMSCE() != y.RMSCE()) {
						t.Errorf("%d classes, %v: class %d is another", k, so, j)
					}
				}
				if !near(most, largest, 1e-15) || !near(b.Class(at).ECE(), most, 1e-15) {
					t.Errorf("%d classes: the largest error is %v of class %d, want %v", k, most, at, largest)
				}
				if b.RMS() < b.SCE() || s.RMS(10) < s.ACE(10) || most < b.SCE() {
					t.Errorf("%d classes: sce %v, rms %v, max %v; ace %v, rms %v", k, b.SCE(), b.RMS(), most, s.ACE(10), s.RMS(10))
				}
				// Three copies of each row have the same equal-width bins, and the same equal-mass bins if no rank is rounded.
				all := takeRows(p, thrice, columns)
				if x := classBins(t, all, bo); !near(x.SCE(), b.SCE(), 1e-14) || !near(x.RMS(), b.RMS(), 1e-14) {
					t.Errorf("%d classes, %v: three times the rows have sce %v, want %v", k, bo, x.SCE(), b.SCE())
				}
				if x := classScores(t, all, so, 2); above == nil && (!near(x.ACE(10), s.ACE(10), 1e-14) || !near(x.RMS(10), s.RMS(10), 1e-14)) {
					t.Errorf("%d classes: three times the rows have ace %v, want %v", k, x.ACE(10), s.ACE(10))
				}
			}
		}
	}
}

// TestClassScoresThreads checks that answers are bit-identical for any number of threads.
func TestClassScoresThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, weights := range []bool{false, true} {
		for _, o := range scoreCases[:3] {
			s := classScores(t, nastyData(400, check.Size(40, 100, 300), metrics.Float32, weights), o, 2)
			var ace, rms float64
			for i := range 5 {
				runtime.GOMAXPROCS(1 + i)
				x, y := s.ACE(15), s.RMS(15)
				if i == 0 {
					ace, rms = x, y
				}
				if x != ace || y != rms || !(x > 0) {
					t.Errorf("%v, %d threads: %v, %v, want %v, %v", o, 1+i, x, y, ace, rms)
				}
			}
		}
	}
}

// TestClassScoresLimit checks that exceeding the limit, and the state, depend only on the rows.
func TestClassScoresLimit(t *testing.T) {
	for _, c := range []struct {
		dtype   metrics.DType
		above   *float64
		weights bool
		entry   int64
	}{{metrics.Float32, nil, false, 4}, {metrics.Float64, nil, false, 8}, {metrics.Float32, new(0.1), false, 8}, {metrics.Float64, new(0.1), true, 20}, {metrics.Float32, nil, true, 12}} {
		p := classData(3000, 7, c.dtype, c.weights)
		need := c.entry * classScores(t, p, calib.ClassScoresOptions{Above: c.above}, 1).Kept()
		o := calib.ClassScoresOptions{Above: c.above, MaxBytes: need}
		if s := classScores(t, p, o, 2); s.Err() != nil || !(s.ACE(15) > 0) || s.Class(0, 3).Len() == 0 {
			t.Errorf("%v: %v", o, s.Err())
		}
		for _, limit := range []int64{need - 1, need / 5, 1} {
			o.MaxBytes = limit
			s := classScores(t, p, o, 1)
			why := s.Err()
			if why == nil || !strings.Contains(why.Error(), fmt.Sprint(need)) {
				t.Fatalf("%v: %v", o, why)
			}
			if x, y, part := s.ACE(15), s.RMS(15), s.Class(6, 3); x == x || y == y || part.Len() != 0 || len(part.Bins(0.95)) != 3 || part.ECE() == part.ECE() {
				t.Errorf("%v: %v, %v, %d", o, x, y, part.Len())
			}
			want := scoresState(t, s)
			if len(want) > 200 {
				t.Errorf("%d bytes", len(want))
			}
			var read calib.ClassScores
			if err := read.UnmarshalBinary(want); err != nil || read.Err() == nil || read.Err().Error() != why.Error() {
				t.Fatal(err, read.Err())
			}
			if err := read.Merge(metrics.Must(calib.NewClassScores(&o))); err != nil || !slices.Equal(scoresState(t, &read), want) {
				t.Error("another state", err)
			}
			parts := metrics.Must(calib.NewClassScores(&o))
			for _, at := range []int{2000, 0, 1000} {
				if err := parts.Merge(classScores(t, someRows(p, at, at+1000), o, 2)); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(scoresState(t, parts), want) || !slices.Equal(scoresState(t, classScores(t, p, o, 4)), want) {
				t.Errorf("%v: other parts, another state", o)
			}
			if err := parts.Merge(parts); err != nil || parts.Len() != 6000 || parts.Kept() != 2*s.Kept() {
				t.Error(err, parts.Len(), parts.Kept())
			}
		}
	}
}

func TestClassScoresMismatch(t *testing.T) {
	of := func(k int, dtype metrics.DType, weights bool, o calib.ClassScoresOptions) *calib.ClassScores {
		return classScores(t, classData(10, k, dtype, weights), o, 1)
	}
	base := of(3, metrics.Float32, false, calib.ClassScoresOptions{})
	before := scoresState(t, base)
	for what, o := range map[string]metrics.Accumulator{
		"*calib.Bins":             metrics.Must(calib.NewBins(nil)),
		"above=0.5":               of(3, metrics.Float32, false, calib.ClassScoresOptions{Above: new(0.5)}),
		"max_bytes=9999":          of(3, metrics.Float32, false, calib.ClassScoresOptions{MaxBytes: 9999}),
		"3 classes and of 4":      of(4, metrics.Float32, false, calib.ClassScoresOptions{}),
		"with and without weight": of(3, metrics.Float32, true, calib.ClassScoresOptions{}),
		"float32 and as float64":  of(3, metrics.Float64, false, calib.ClassScoresOptions{}),
	} {
		if err := base.Merge(o); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if a, b := metrics.Must(calib.NewClassScores(&calib.ClassScoresOptions{Above: new(0.1)})), metrics.Must(calib.NewClassScores(&calib.ClassScoresOptions{Above: new(0.5)})); a.Merge(b) == nil {
		t.Error("thresholds of 0.1 and 0.5 merge")
	}
	if err := base.Merge(metrics.Must(calib.NewClassScores(nil))); err != nil || !slices.Equal(before, scoresState(t, base)) {
		t.Error("changed", err)
	}
	empty := metrics.Must(calib.NewClassScores(nil))
	if err := empty.Merge(base); err != nil || !slices.Equal(before, scoresState(t, empty)) {
		t.Error("an empty one has another state when it has merged", err)
	}
}

// TestClassScoresDamaged checks that any changed byte of a state is detected. Well-formed states that no rows can produce must
// be refused, or be written back as the same bytes.
func TestClassScoresDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for i, o := range []calib.ClassScoresOptions{{}, {Above: new(0.125)}, {Above: new(0.0), MaxBytes: 50}} {
		for _, weights := range []bool{false, true} {
			s := scoresState(t, classScores(t, nastyData(30, 3, []metrics.DType{metrics.Float32, metrics.Float64}[i%2], weights), o, 1))
			_, payload, _, err := exact.Open("cCSC", s)
			if err != nil {
				t.Fatal(err)
			}
			var b calib.ClassScores
			for n := range payload {
				if err := b.UnmarshalBinary(exact.Seal("cCSC", 1, payload[:n])); err == nil {
					t.Errorf("%d bytes are enough", n)
				}
			}
			for i := range s {
				bad := slices.Clone(s)
				bad[i] ^= 1 << r.IntN(8)
				if err := b.UnmarshalBinary(bad); err == nil {
					t.Errorf("byte %d changed", i)
				}
			}
			if err := b.UnmarshalBinary(exact.Seal("cCSC", 1, append(slices.Clone(payload), 0))); !errors.Is(err, exact.ErrDamaged) {
				t.Error("a byte more:", err)
			}
			refused, tries := 0, check.Size(600, 2000, 20000)
			for range tries {
				bad := slices.Clone(payload)
				for range 1 + r.IntN(3) {
					bad[r.IntN(len(bad))] = []byte{0, 1, 0x7F, 0x80, 0xFF, byte(r.Uint32())}[r.IntN(6)]
				}
				sealed := exact.Seal("cCSC", 1, bad)
				if err := b.UnmarshalBinary(sealed); err != nil {
					refused++
					continue
				}
				if b.Classes() < 100 {
					b.ACE(5)
				}
				if !slices.Equal(scoresState(t, &b), sealed) {
					t.Fatalf("a state was read that is not its own: %v", bad)
				}
			}
			if refused < tries/20 {
				t.Errorf("only %d of %d were refused", refused, tries)
			}
		}
	}
}

// TestClassScoresMemory checks the documented memory of entries.
func TestClassScoresMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it keeps millions of scores")
	}
	live := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	for _, c := range []struct {
		rows, k int
		above   *float64
		weights bool
	}{{2000, 500, nil, false}, {2000, 500, nil, true}, {2000, 500, new(0.05), false}, {8, 128256, new(0.01), false}, {60000, 3, new(0.1), true}, {100000, 1, nil, false}} {
		r := rand.New(rand.NewPCG(1, 1))
		p := &metrics.Predictions{}
		p.Rows, p.Classes, p.F32, p.Labels = c.rows, c.k, make([]float32, c.rows*c.k), make([]int32, c.rows)
		for i := range c.rows {
			row := p.F32[i*c.k : (i+1)*c.k]
			for j := range row {
				row[j] = 0.5 / float32(c.k)
			}
			row[r.IntN(c.k)] += 0.25
			row[r.IntN(c.k)] += 0.25
			p.Labels[i] = int32(r.IntN(max(2, c.k)))
			if c.weights {
				p.Weights = append(p.Weights, 1+r.Float64())
			}
		}
		before := live()
		s := classScores(t, p, calib.ClassScoresOptions{Above: c.above}, 1)
		used := live() - before
		declared := 4 * int(s.Kept())
		switch {
		case c.k == 1:
			declared *= 2
		case c.above != nil && c.weights:
			declared *= 4
		case c.above != nil:
			declared *= 2
		case c.weights:
			declared += 8 * c.rows
		}
		if most := declared + declared/50 + 1<<19; used > most {
			t.Errorf("%+v: %d bytes, declared %d", c, used, declared)
		}
		state := scoresState(t, s)
		before = live()
		var b calib.ClassScores
		if err := b.UnmarshalBinary(state); err != nil || b.ACE(5) != s.ACE(5) {
			t.Error(err)
		}
		if used, most := live()-before, 12*len(state)+1<<16; used > most {
			t.Errorf("%+v: a state of %d bytes takes %d when it is read", c, len(state), used)
		}
		runtime.KeepAlive(p)
		runtime.KeepAlive(s)
	}
}

// TestClassScoresHuge checks that states that announce more than they contain allocate no memory for it.
func TestClassScoresHuge(t *testing.T) {
	for _, n := range []int64{1 << 30, 1 << 40, math.MaxInt64} {
		for _, f := range []uint8{0, 1, 7} {
			var e exact.Enc
			e.U8(f)
			e.F64(0)
			e.I64(0)
			e.U32(1 << 30)
			e.I64(n)
			e.I64(n)
			e.I64(0)
			e.Bytes(make([]byte, 100))
			var b calib.ClassScores
			if err := b.UnmarshalBinary(exact.Seal("cCSC", 1, e.B)); !errors.Is(err, exact.ErrDamaged) {
				t.Error(err)
			}
		}
	}
}

func TestClassScoresOptions(t *testing.T) {
	for _, o := range []calib.ClassScoresOptions{{Above: new(-0.5)}, {Above: new(1.0)}, {Above: new(math.NaN())}, {MaxBytes: -1}} {
		if o.Validate() == nil {
			t.Errorf("%+v is valid", o)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v makes an accumulator", o)
				}
			}()
			metrics.Must(calib.NewClassScores(&o))
		}()
	}
	for want, o := range map[string]calib.ClassScoresOptions{"": {}, "above=0": {Above: new(math.Copysign(0, -1))}, "above=0.01,max_bytes=7": {Above: new(0.01), MaxBytes: 7}} {
		if got := metrics.Must(calib.NewClassScores(&o)).Options(); got.String() != want || got.Validate() != nil {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s := metrics.Must(calib.NewClassScores(nil))
	if x, y := s.ACE(15), s.RMS(15); x == x || y == y || s.Err() != nil || s.Classes() != 0 {
		t.Error("of nothing:", x, y)
	}
	b := metrics.Must(calib.NewClassBins(nil))
	if x, class := b.Max(); x == x || class != -1 || b.RMS() == b.RMS() {
		t.Error("of nothing:", x, class)
	}
	s = classScores(t, classData(5, 3, metrics.Float64, false), calib.ClassScoresOptions{}, 1)
	for _, f := range []func(){func() { s.ACE(0) }, func() { s.RMS(-1) }, func() { s.Class(0, 0) }, func() { s.Class(3, 1) }, func() { s.Class(-1, 1) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
}
