package ensemble_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/ensemble"
	"github.com/candor-go/candor/metrics/score"
)

var dtypes = []metrics.DType{metrics.Float64, metrics.Float32, metrics.Float16, metrics.BFloat16}

// eachSettings runs a test on ensembles with all settings.
func eachSettings(t *testing.T, f func(t *testing.T, r *rand.Rand, s settings)) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{1, 2, 3, 10, 300} {
		for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
			for _, d := range dtypes {
				if kind == metrics.LogProbs && (d == metrics.BFloat16 || d == metrics.Float16) {
					continue // sums are off by more than is allowed
				}
				if kind == metrics.Probs && d == metrics.BFloat16 {
					continue
				}
				if testing.Short() && (k+int(kind)+int(d))%2 > 0 {
					continue
				}
				s := settings{members: []int{1, 2, 3, 7}[r.IntN(4)], rows: 1 + r.IntN(check.Size(300, 900, 1500)/(1+k/10)), k: k, dtype: d, kind: kind,
					weighted: r.IntN(2) == 0, interleaved: r.IntN(2) == 0}
				t.Run(fmt.Sprintf("%v/%v/k=%d", kind, d, k), func(t *testing.T) { f(t, r, s) })
			}
		}
	}
}

// TestLaws checks that states have the same bytes for any threads, chunks, orders of rows and trees of merges, with and
// without dropped rows.
func TestLaws(t *testing.T) {
	eachSettings(t, func(t *testing.T, r *rand.Rand, s settings) {
		for _, bad := range []bool{false, true} {
			s.bad = bad
			e, v := generate(r, s)
			one := all()
			audit := run(t, ensemble.InMemory(e), threads(1, bad), one...)
			want := state(t, one...)
			if one[0].Len() != audit.Rows || audit.Rows+audit.Dropped+audit.Absent != int64(s.rows) {
				t.Fatalf("%d rows in %+v", one[0].Len(), audit)
			}
			if !bad && audit.Dropped > 0 {
				t.Fatalf("%d rows dropped", audit.Dropped)
			}

			other := all()
			src := &pieces{e: e, r: r}
			again := run(t, src, threads(3, bad), other...)
			sameState(t, "chunks and threads", want, state(t, other...))
			if src.recycled != src.chunks {
				t.Fatalf("%d of %d chunks were recycled", src.recycled, src.chunks)
			}
			if again != audit {
				t.Errorf("audits %+v and %+v", again, audit)
			}

			if s.rows > 0 {
				cut := r.IntN(s.rows + 1)
				a, b := all(), all()
				run(t, ensemble.InMemory(slice(e, 0, cut)), threads(1, bad), a...)
				run(t, ensemble.InMemory(slice(e, cut, s.rows)), threads(2, bad), b...)
				for i := range a {
					from := a[i].Empty()
					if err := from.UnmarshalBinary(state(t, a[i])); err != nil {
						t.Fatal(err)
					}
					if err := b[i].Merge(from); err != nil {
						t.Fatal(err)
					}
				}
				sameState(t, "shards", want, state(t, b...))
			}
			if s.dtype != metrics.Float64 || s.rows == 0 {
				continue
			}
			other = all()
			run(t, &pieces{e: permuted(e, v, r.Perm(s.rows)), r: r}, threads(2, bad), other...)
			sameState(t, "orders", want, state(t, other...))
		}
	})
}

// probabilities returns the probabilities of a row of scores, in float64; a binary task has two.
func probabilities(row []float64, kind metrics.Kind) []float64 {
	p := slices.Clone(row)
	if len(p) == 1 {
		switch kind {
		case metrics.Logits:
			p[0] = 1 / (1 + math.Exp(-p[0]))
		case metrics.LogProbs:
			p[0] = math.Exp(p[0])
		}
		return []float64{1 - p[0], p[0]}
	}
	if kind != metrics.Probs {
		softmax(p)
	}
	return p
}

func entropy(p []float64) float64 {
	h := 0.0
	for _, x := range p {
		if x > 0 {
			h -= x * math.Log(x)
		}
	}
	return h
}

// plain is the textbook formula of a measure, for one row.
func plain(m ensemble.Measure, p [][]float64, y int32, z [][]float64) float64 {
	n := float64(len(p))
	pairs := func(f func(a, b int) float64) float64 {
		s := 0.0
		for a := range p {
			for b := a + 1; b < len(p); b++ {
				s += f(a, b)
			}
		}
		return s / (n * (n - 1) / 2)
	}
	top := func(p []float64) int {
		if len(z[0]) == 1 {
			if p[1] > 0.5 {
				return 1
			}
			return 0
		}
		return slices.Index(p, slices.Max(p))
	}
	mean := make([]float64, len(p[0]))
	data, nll, most := 0.0, 0.0, 0.0
	for _, q := range p {
		for k, v := range q {
			mean[k] += v / n
		}
		data += entropy(q) / n
		nll -= math.Log(q[y]) / n
		most = max(most, q[y])
	}
	switch m {
	case ensemble.MutualInformation:
		return entropy(mean) - data
	case ensemble.TotalUncertainty:
		return entropy(mean)
	case ensemble.DataUncertainty:
		return data
	case ensemble.EnsembleNLL:
		return -math.Log(mean[y])
	case ensemble.GibbsNLL:
		return nll
	case ensemble.Disagreement:
		return pairs(func(a, b int) float64 {
			if top(p[a]) != top(p[b]) {
				return 1
			}
			return 0
		})
	case ensemble.DoubleFault:
		return pairs(func(a, b int) float64 {
			if top(p[a]) != int(y) && top(p[b]) != int(y) {
				return 1
			}
			return 0
		})
	case ensemble.AverageKL:
		return pairs(func(a, b int) float64 { return divergence(p[a], p[b]) })
	case ensemble.CosineSimilarity:
		return pairs(func(a, b int) float64 {
			ab, aa, bb := 0.0, 0.0, 0.0
			for k, v := range p[a] {
				ab, aa, bb = ab+v*p[b][k], aa+v*v, bb+p[b][k]*p[b][k]
			}
			return ab / math.Sqrt(aa*bb)
		})
	case ensemble.LpDistance:
		return pairs(func(a, b int) float64 {
			s := 0.0
			for k, v := range p[a] {
				s += math.Abs(v - p[b][k])
			}
			return s
		})
	case ensemble.LogitKL:
		return pairs(func(a, b int) float64 { return divergence(logits(z[a]), logits(z[b])) })
	case ensemble.BregmanKLVariance:
		s := 0.0
		for k := range mean {
			g := 0.0
			for _, q := range p {
				g += math.Log(q[k]) / n
			}
			s += math.Exp(g)
		}
		return -math.Log(s)
	}
	if most == 0 {
		return 0
	}
	s := 0.0
	for _, q := range p {
		s += math.Pow((q[y]-mean[y])/most, 2) / n / 2
	}
	return s
}

// logits returns the softmax of scores of any size.
func logits(z []float64) []float64 {
	if len(z) == 1 {
		z = []float64{0, z[0]}
	}
	z = slices.Clone(z)
	softmax(z)
	return z
}

var measures = []ensemble.Measure{ensemble.MutualInformation, ensemble.TotalUncertainty, ensemble.DataUncertainty,
	ensemble.EnsembleNLL, ensemble.GibbsNLL, ensemble.Disagreement, ensemble.DoubleFault, ensemble.AverageKL,
	ensemble.CosineSimilarity, ensemble.LpDistance, ensemble.LogitKL, ensemble.BregmanKLVariance, ensemble.VarianceBound}

// TestFormulas checks that every measure of every row follows the textbook, that the mean over the rows is the value, that
// mutual information is not below 0, and that the ensemble's NLL is not above the members'.
func TestFormulas(t *testing.T) {
	eachSettings(t, func(t *testing.T, r *rand.Rand, s settings) {
		s.rows = min(s.rows, 60)
		e, v := generate(r, s)
		values := map[ensemble.Measure][]float64{}
		for _, m := range measures {
			mean, rows := each(t, m, e, nil, nil)
			values[m] = rows
			sum, weights := 0.0, 0.0
			for i, got := range rows {
				w := 1.0
				if s.weighted {
					w = e.Weights[i]
				}
				if w == 0 {
					if got == got {
						t.Fatalf("%v of row %d, of weight 0: %v", m, i, got)
					}
					continue
				}
				var p, z [][]float64
				for _, member := range v {
					p = append(p, probabilities(member[i], s.kind))
					z = append(z, member[i])
				}
				want := plain(m, p, e.Labels[i], z)
				tol := 1e-12
				if s.dtype != metrics.Float64 {
					tol = 5e-6
				}
				// If probabilities do not sum to 1, the Bregman variance is that of the normalized ones.
				if m == ensemble.BregmanKLVariance && s.kind == metrics.Probs {
					for _, q := range p {
						sum := 0.0
						for _, x := range q {
							sum += x
						}
						want += math.Log(sum) / float64(len(p))
					}
				}
				ok := got == want || got != got && want != want || math.Abs(got-want) <= tol*max(1, math.Abs(want))
				if math.IsInf(want, 1) && s.kind != metrics.Probs && s.dtype != metrics.Float64 && got > 50 {
					ok = true
				}
				if !ok {
					t.Fatalf("%v of row %d: %v, want %v", m, i, got, want)
				}
				sum, weights = sum+w*got, weights+w
			}
			if want := sum / weights; !(mean == want || mean != mean && want != want || math.Abs(mean-want) <= 1e-12*max(1, math.Abs(want))) {
				t.Errorf("%v: %v, want %v", m, mean, want)
			}
		}
		for i := range s.rows {
			if values[ensemble.MutualInformation][i] < 0 || values[ensemble.GibbsNLL][i] < values[ensemble.EnsembleNLL][i] {
				t.Fatalf("row %d: mutual information %v, NLL %v and %v", i, values[ensemble.MutualInformation][i],
					values[ensemble.EnsembleNLL][i], values[ensemble.GibbsNLL][i])
			}
		}
	})
}

// TestMean checks that the Source's chunks are the mean probabilities, row by row, for any threads and chunks, and that
// dropped rows are NaN.
func TestMean(t *testing.T) {
	eachSettings(t, func(t *testing.T, r *rand.Rand, s settings) {
		s.bad = r.IntN(2) == 0
		e, v := generate(r, s)
		src := &pieces{e: e, r: r}
		f := ensemble.Fold(src, threads(2, s.bad))
		at, out, absent := 0, int64(0), int64(0)
		for {
			c, err := f.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Kind != metrics.Probs || c.Classes != s.k || c.First != int64(at) || (c.Weights != nil) != s.weighted {
				t.Fatalf("%+v", c.Predictions)
			}
			for i := range c.Rows {
				if c.Labels[i] != e.Labels[at] || s.weighted && c.Weights[i] != e.Weights[at] {
					t.Fatal("another label or weight")
				}
				bad := e.Labels[at] < 0
				mean := make([]float64, s.k)
				for _, m := range v {
					p := probabilities(m[at], s.kind)
					p = p[len(p)-s.k:]
					for j, x := range p {
						bad = bad || x != x
						mean[j] += x / float64(s.members)
					}
				}
				gone := s.weighted && e.Weights[at] == 0
				if gone {
					absent++
				} else if bad {
					out++
				}
				for j, want := range mean {
					got, tol := 0.0, 1e-14
					if c.F32 != nil {
						got, tol = float64(c.F32[i*s.k+j]), 1e-6
					} else {
						got = c.F64[i*s.k+j]
					}
					if s.k == 1 && s.dtype != metrics.Float64 {
						tol = 1e-6
					}
					if (got != got) != (bad || gone) || got == got && math.Abs(got-want) > tol {
						t.Fatalf("row %d, class %d: %v, want %v", at, j, got, want)
					}
				}
				at++
			}
			c.Recycle()
		}
		a := f.Audit()
		if at != s.rows || a.Dropped != out || a.Absent != absent || a.Rows != int64(s.rows)-out-absent ||
			a.Kind != s.kind || a.DType != s.dtype && s.rows > 0 {
			t.Errorf("%d rows, %+v; %d bad, %d absent", at, a, out, absent)
		}
		if _, err := f.Next(); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestOneRead checks that one read evaluates the ensemble and its members, each as if alone.
func TestOneRead(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{1, 2, 40} {
		s := settings{members: 3, rows: 700, k: k, dtype: metrics.Float32, kind: metrics.Logits, weighted: k == 2, interleaved: true}
		e, _ := generate(r, s)
		accs := func() []metrics.Accumulator {
			return []metrics.Accumulator{metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(nil))}
		}
		each := make([][]metrics.Accumulator, 3)
		o := threads(2, false)
		o.Member = func(m int) []metrics.Accumulator {
			each[m] = accs()
			return each[m]
		}
		u, whole := ensemble.NewUncertainty(), accs()
		pass := metrics.NewPass(nil, whole...)
		src := &pieces{e: e, r: r}
		if err := pass.AddSource(ensemble.Fold(src, o, u)); err != nil {
			t.Fatal(err)
		}
		for m := range each {
			alone := accs()
			p := &metrics.Predictions{Scores: e.Each[m], Kind: e.Kind, Labels: e.Labels, Weights: e.Weights}
			if err := metrics.NewPass(nil, alone...).Add(p); err != nil {
				t.Fatal(err)
			}
			sameState(t, "a member", state(t, alone...), state(t, each[m]...))
		}
		audit := pass.Audit()
		if w := audit.Warnings(); slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, "sums") }) {
			t.Error(w)
		}
		if audit.Rows != u.Len() {
			t.Errorf("%d rows and %d", audit.Rows, u.Len())
		}
		loss, nll := whole[0].(*score.Loss), u.Value(ensemble.EnsembleNLL)
		if math.Abs(loss.NLL()-nll) > 1e-5 || math.Abs(loss.Entropy()-u.Value(ensemble.TotalUncertainty)) > 1e-5 {
			t.Errorf("nll %v and %v, entropy %v and %v", loss.NLL(), nll, loss.Entropy(), u.Value(ensemble.TotalUncertainty))
		}
		gibbs := 0.0
		for m := range each {
			gibbs += each[m][0].(*score.Loss).NLL() / 3
		}
		if got := u.Value(ensemble.GibbsNLL); math.Abs(got-gibbs) > 1e-12 {
			t.Errorf("gibbs_nll %v, the mean of the members' is %v", got, gibbs)
		}
	}
}

// TestErrors checks that errors name the member and the bad row, for any threads, and that nothing has changed.
func TestErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s := settings{members: 4, rows: 900, k: 3, dtype: metrics.Float64, kind: metrics.Probs}
	for _, c := range []struct {
		name, want string
		spoil      func(e *metrics.Members)
	}{
		{"a score", "member 2: row 700, column 1: score is NaN: look", func(e *metrics.Members) {
			e.Each[2].F64[700*3+1] = math.NaN()
			e.Each[1].F64[800*3+1] = math.NaN()
		}},
		{"the first member", "member 1: row 40: probabilities sum to 2, not 1 (2 of 900 rows like it): logits? pass Kind metrics.Logits; " +
			"unnormalised? pass Options.Renormalize; independent labels are not one distribution; 2 more members have bad rows", func(e *metrics.Members) {
			for m := 3; m > 0; m-- {
				copy(e.Each[m].F64[40*3:], []float64{1, 1, 0})
				copy(e.Each[m].F64[850*3:], []float64{1, 1, 0})
			}
		}},
		{"a label", "row 5: label is 3, not one of the 3 classes 0 to 2: labels that start at 1? subtract 1; " +
			"member 2: row 4, column 0: score is +Inf", func(e *metrics.Members) {
			e.Labels[5] = 3
			e.Each[2].F64[4*3] = math.Inf(1)
		}},
		{"a label alone", "row 899: label is -1", func(e *metrics.Members) { e.Labels[899] = -1 }},
	} {
		e, _ := generate(r, s)
		c.spoil(e)
		before := state(t, all()...)
		for _, n := range []int{1, 3} {
			accs := all()
			member := metrics.Must(score.NewLoss(nil))
			o := threads(n, false)
			o.Member = func(int) []metrics.Accumulator { return []metrics.Accumulator{member} }
			pass := metrics.NewPass(nil, metrics.Must(score.NewLoss(nil)))
			err := pass.AddSource(ensemble.Fold(&pieces{e: e, r: r}, o, accs...))
			var data *metrics.DataError
			if !errors.As(err, &data) || !strings.HasPrefix(err.Error(), c.want) || data.Rows != 900 {
				t.Errorf("%s: %v", c.name, err)
			}
			sameState(t, c.name, before, state(t, accs...))
			if member.Len() != 0 || pass.Audit().Rows != 0 {
				t.Errorf("%s: rows were added", c.name)
			}
		}
	}
	e, _ := generate(r, s)
	broken := errors.New("broken")
	accs := all()
	src := &pieces{e: e, r: r, end: broken}
	f := ensemble.Fold(src, nil, accs...)
	for range 2 {
		if err := metrics.NewPass(nil).AddSource(f); err != broken {
			t.Error(err)
		}
	}
	if accs[0].Len() != 0 {
		t.Error("rows were added")
	}
	// An accumulator that has seen other members may not match.
	other, _ := generate(r, settings{members: 2, rows: 5, k: 3, kind: metrics.Probs})
	u, d := ensemble.NewUncertainty(), metrics.Must(ensemble.NewDiversity(nil))
	run(t, ensemble.InMemory(other), nil, d)
	was := state(t, d)
	if _, err := ensemble.Run(ensemble.InMemory(e), nil, u, d); !errors.Is(err, metrics.ErrMismatch) || u.Len() != 0 {
		t.Error(err, u.Len())
	}
	sameState(t, "after a mismatch", was, state(t, d))
}

// TestShapes checks that a wrong shape panics with a text of the package.
func TestShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for name, c := range map[string]struct {
		want  string
		spoil func(e *metrics.Members)
	}{
		"none":    {"ensemble: an ensemble has one member or more", func(e *metrics.Members) { e.Each = nil }},
		"kind":    {"ensemble: members are probabilities, logits or log-probabilities", func(e *metrics.Members) { e.Kind = metrics.Samples }},
		"rows":    {"member 1 is 9 x 3 float64, and member 0 is 10 x 3 float64", func(e *metrics.Members) { e.Each[1].Rows-- }},
		"type":    {"member 1 is 10 x 3 float64, and member 0 is 10 x 3 float32", func(e *metrics.Members) { e.Each[0].F32, e.Each[0].F64 = make([]float32, 30), nil }},
		"labels":  {"9 labels for 10 rows", func(e *metrics.Members) { e.Labels = e.Labels[1:] }},
		"weights": {"3 weights for 10 rows", func(e *metrics.Members) { e.Weights = make([]float64, 3) }},
	} {
		e, _ := generate(r, settings{members: 2, rows: 10, k: 3, kind: metrics.Probs})
		c.spoil(e)
		if _, err := ensemble.Run(ensemble.InMemory(e), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	short, _ := generate(r, settings{members: 2, rows: 10, k: 3, kind: metrics.Probs})
	short.Each[1].F64 = short.Each[1].F64[1:]
	if s, ok := panics(func() { ensemble.Run(ensemble.InMemory(short), nil) }).(string); !ok || !strings.HasPrefix(s, "ensemble: rows, classes") {
		t.Errorf("short scores: %v", s)
	}
	e, _ := generate(r, settings{members: 2, rows: 300, k: 3, kind: metrics.Probs})
	for name, f := range map[string]func(){
		"dst": func() {
			ensemble.Each(make([]float64, 299), ensemble.AverageKL, ensemble.InMemory(e), threads(3, false), nil)
		},
		"chunks": func() {
			other, _ := generate(r, settings{members: 3, rows: 300, k: 3, kind: metrics.Probs})
			ensemble.Run(&both{ensemble.InMemory(e), ensemble.InMemory(other)}, nil)
		},
		"measure": func() { ensemble.NewUncertainty().Value(ensemble.AverageKL) },
		"two":     func() { ensemble.NewRows(nil, ensemble.AverageKL|ensemble.LogitKL, nil) },
		"kept": func() {
			metrics.Must(ensemble.NewDiversity(&ensemble.DiversityOptions{Measures: ensemble.AverageKL})).Interval(ensemble.LogitKL, 0.95)
		},
	} {
		if s, ok := panics(f).(string); !ok || !strings.HasPrefix(s, "ensemble: ") {
			t.Errorf("%s: %v", name, s)
		}
	}
	for _, o := range []ensemble.DiversityOptions{{P: 0.5}, {P: math.NaN()}, {Clip: -1}, {Clip: 1}, {Measures: ensemble.EnsembleNLL}} {
		if d, err := ensemble.NewDiversity(&o); d != nil || err == nil || !strings.HasPrefix(err.Error(), "ensemble: ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// both is one source after another.
type both [2]metrics.MemberSource

func (b *both) Next() (*metrics.MemberChunk, error) {
	c, err := b[0].Next()
	if err == io.EOF {
		return b[1].Next()
	}
	return c, err
}

// TestStates checks that damaged states, and those of other options or of another ensemble, are rejected.
func TestStates(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	e, _ := generate(r, settings{members: 3, rows: 50, k: 3, kind: metrics.Probs})
	accs := all()
	run(t, ensemble.InMemory(e), nil, accs...)
	for _, a := range accs {
		b := state(t, a)
		for i := range b {
			c := slices.Clone(b)
			c[i] ^= 1 << r.IntN(8)
			if err := a.Empty().UnmarshalBinary(c); err == nil {
				t.Fatalf("%T: byte %d changed", a, i)
			}
			if err := a.Empty().UnmarshalBinary(b[:i]); err == nil {
				t.Fatalf("%T: %d bytes", a, i)
			}
		}
		// A correct checksum does not make a damaged state valid.
		for i := 14; i < len(b)-8; i++ {
			payload := slices.Clone(b[14 : len(b)-8])
			payload[i-14] = byte(r.Uint32())
			n := a.Empty()
			if err := n.UnmarshalBinary(exact.Seal(string(b[:4]), 1, payload)); err == nil {
				sameState(t, "what was read", exact.Seal(string(b[:4]), 1, payload), state(t, n))
			}
		}
		for _, o := range accs {
			if o == a {
				continue
			}
			if err := a.Merge(o); !errors.Is(err, metrics.ErrMismatch) {
				t.Errorf("%T with %T: %v", a, o, err)
			}
		}
		for _, s := range []settings{{members: 2, k: 3}, {members: 3, k: 4}, {members: 3, k: 3, weighted: true}} {
			s.rows, s.kind = 20, metrics.Probs
			other, _ := generate(r, s)
			n := a.Empty()
			run(t, ensemble.InMemory(other), nil, n)
			if err := a.Merge(n); !errors.Is(err, metrics.ErrMismatch) {
				t.Errorf("%T: %v", a, err)
			}
			sameState(t, "a merge that failed", b, state(t, a))
		}
	}
	rows := ensemble.NewRows(nil, ensemble.AverageKL, nil)
	if _, err := rows.AppendBinary(nil); err == nil || rows.UnmarshalBinary(nil) == nil || rows.Len() != 0 {
		t.Error("rows have a state")
	}
}

// asked has the methods of both accumulators.
type asked interface {
	ensemble.Accumulator
	Value(ensemble.Measure) float64
	Finite(ensemble.Measure) float64
	Interval(ensemble.Measure, float64) metrics.Interval
}

// fuzzUnmarshal checks that a state that is read is written as the same bytes, and gives values. It seals the data, because
// the fuzzer would hardly find a correct checksum.
func fuzzUnmarshal(f *testing.F, magic string, seeds []ensemble.Accumulator, fresh func() asked, kept func(a asked) []ensemble.Measure) {
	r := rand.New(rand.NewPCG(27, 28))
	for _, weighted := range []bool{false, true} {
		e, _ := generate(r, settings{members: 3, rows: 9, k: 3, kind: metrics.Probs, weighted: weighted})
		for _, a := range seeds {
			n := a.Empty()
			run(f, ensemble.InMemory(e), nil, n)
			for _, s := range [][]byte{state(f, a), state(f, n)} {
				_, payload, _, err := exact.Open(magic, s)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(payload)
			}
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		a, s := fresh(), exact.Seal(magic, 1, payload)
		if a.UnmarshalBinary(s) != nil {
			return
		}
		sameState(t, "what was read", s, state(t, a))
		for _, m := range kept(a) {
			a.Value(m)
			a.Finite(m)
			a.Interval(m, 0.95)
		}
		if err := a.Empty().Merge(a); err != nil {
			t.Error(err)
		}
	})
}

func FuzzUncertaintyUnmarshal(f *testing.F) {
	fuzzUnmarshal(f, "cUNC", all()[:1], func() asked { return ensemble.NewUncertainty() },
		func(asked) []ensemble.Measure { return measures[:5] })
}

func FuzzDiversityUnmarshal(f *testing.F) {
	fuzzUnmarshal(f, "cDVY", all()[1:], func() asked { return metrics.Must(ensemble.NewDiversity(nil)) }, func(a asked) (kept []ensemble.Measure) {
		d := a.(*ensemble.Diversity)
		d.Error()
		for _, m := range measures[5:] {
			if d.Measures()&m != 0 {
				kept = append(kept, m)
			}
		}
		return kept
	})
}
