package metrics_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/internal/tails"
	"github.com/candor-go/candor/metrics/score"
)

// plainRow is what the textbook formulas say of one row, in float64.
type plainRow struct {
	p                    []float64 // of two classes for a binary task
	y, rank              int
	hit, conf            float64
	nll, entropy, brier  float64
	brierBinary, predict float64
	w                    float64
}

// plain computes the rows of p.
func plain(p *metrics.Predictions) []plainRow {
	v := widen(&p.Scores)
	var out []plainRow
	for i := range p.Rows {
		x := append([]float64(nil), v[i*p.Classes:(i+1)*p.Classes]...)
		binary := p.Classes == 1
		if binary {
			switch p.Kind {
			case metrics.Probs:
				x = []float64{1 - x[0], x[0]}
			case metrics.Logits:
				x = []float64{0, x[0]}
			case metrics.LogProbs:
				q := math.Exp(x[0])
				x = []float64{math.Log(1 - q), x[0]}
			}
		}
		if p.Kind != metrics.Probs {
			softmax(x)
		}
		r := plainRow{p: x, y: int(p.Labels[i]), w: 1}
		if p.Weights != nil {
			r.w = p.Weights[i]
		}
		top := 0
		for j := range x {
			if x[j] > x[top] {
				top = j
			}
		}
		for j, q := range x {
			if q > x[r.y] || q == x[r.y] && j < r.y {
				r.rank++
			}
			if q > 0 {
				r.entropy -= q * math.Log(q)
			}
			d := q
			if j == r.y {
				d = q - 1
			}
			r.brier += d * d
		}
		r.conf = x[top]
		if top == r.y {
			r.hit = 1
		}
		r.nll = -math.Log(x[r.y])
		if len(x) == 2 {
			d := x[1] - float64(r.y)
			r.brierBinary = d * d
		}
		r.predict = float64(top)
		out = append(out, r)
	}
	return out
}

func mean(l []plainRow, f func(r *plainRow) float64) float64 {
	s, w := 0.0, 0.0
	for i := range l {
		if l[i].w > 0 {
			s += l[i].w * f(&l[i])
			w += l[i].w
		}
	}
	return s / w
}

func TestAgainstPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, d := range dtypes {
		for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
			for _, k := range []int{1, 2, 3, 10, 40} {
				for _, weighted := range []bool{false, true} {
					for _, classes1 := range []bool{false, true} {
						p := generate(r, settings{dtype: d, kind: kind, k: k, n: check.Size(150, 500, 1500), weighted: weighted})
						if classes1 { // no infinite rows: the labels are where the probability is
							for i, row := range plain(p) {
								p.Labels[i] = int32(row.predict)
							}
						}
						if weighted {
							for i := range p.Weights {
								p.Weights[i] = math.Min(p.Weights[i], 1e3)
							}
						}
						l := metrics.Must(score.NewLoss(nil))
						pass := feed(t, p, &metrics.Options{Drop: true}, l)
						if a := pass.Audit(); a.Dropped > 0 && !(kind == metrics.LogProbs && d == metrics.BFloat16) {
							t.Errorf("%v %v %d: %d rows were dropped", d, kind, k, a.Dropped)
						}
						rows := kept(t, p)
						tol := 1e-12
						if d != metrics.Float64 {
							tol = 5e-6
						}
						name := func(what string) string {
							return what + " of " + d.String() + " " + kind.String() + ", " + string(rune('0'+k/10)) + string(rune('0'+k%10))
						}
						check := func(what string, got, want float64) {
							t.Helper()
							if !near(got, want, tol) {
								t.Errorf("%s: %v, want %v", name(what), got, want)
							}
						}
						infinite := int64(0)
						for i := range rows {
							if math.IsInf(rows[i].nll, 1) && rows[i].w > 0 {
								infinite++
							}
						}
						if infinite > 0 && classes1 {
							t.Error("infinite rows")
						}
						check("accuracy", l.Accuracy(), mean(rows, func(r *plainRow) float64 { return r.hit }))
						for _, n := range []int{1, 2, 5} {
							check("top-k", l.TopK(n), mean(rows, func(r *plainRow) float64 {
								if r.rank < n {
									return 1
								}
								return 0
							}))
						}
						check("base rate", l.BaseRate(), mean(rows, func(r *plainRow) float64 {
							if r.y == 1 {
								return 1
							}
							return 0
						}))
						check("confidence", l.Confidence(), mean(rows, func(r *plainRow) float64 { return r.conf }))
						check("overconfidence", l.Overconfidence(), mean(rows, func(r *plainRow) float64 { return r.conf - r.hit }))
						check("entropy", l.Entropy(), mean(rows, func(r *plainRow) float64 { return r.entropy }))
						if kind == metrics.Probs { // exp(-700) is 0 or not by the way that it is computed
							check("infinite rows", float64(l.InfiniteRows()), float64(infinite))
							check("nll", l.NLL(), mean(rows, func(r *plainRow) float64 { return r.nll }))
							check("perplexity", l.Perplexity(), math.Exp(l.NLL()))
						}
						if l.InfiniteRows() == infinite {
							finite := rows[:0:0]
							for _, row := range rows {
								if !math.IsInf(row.nll, 1) {
									finite = append(finite, row)
								}
							}
							check("finite nll", l.FiniteNLL(), mean(finite, func(r *plainRow) float64 { return r.nll }))
						}
						brier := mean(rows, func(r *plainRow) float64 { return r.brier })
						if k == 1 {
							check("brier", l.Brier(score.BrierDefault), brier/2)
						} else {
							check("brier", l.Brier(score.BrierDefault), brier)
						}
						check("brier sum", l.Brier(score.BrierSum), brier)
						check("brier - 1", l.Brier(score.BrierMinusOne), mean(rows, func(r *plainRow) float64 {
							s := 0.0
							for _, q := range r.p {
								s += q * q
							}
							return s - 2*r.p[r.y]
						}))
						check("brier / K", l.Brier(score.BrierPerClass), brier/float64(max(2, k)))
						want := math.NaN()
						if k <= 2 {
							want = mean(rows, func(r *plainRow) float64 { return r.brierBinary })
						}
						if k == 2 && kind == metrics.Probs && d != metrics.Float64 {
							tol = 0.02 // half the sum is the binary form only where rows sum to 1
						}
						check("binary brier", l.Brier(score.BrierBinary), want)
					}
				}
			}
		}
	}
}

// kept returns the plain rows that a Pass keeps.
func kept(t *testing.T, p *metrics.Predictions) []plainRow {
	t.Helper()
	dst := make([]float64, p.Rows)
	if err := rowMetric(t, "confidence", p).Rows(dst, p, &metrics.Options{Drop: true}); err != nil {
		t.Fatal(err)
	}
	all := plain(p)
	rows := all[:0:0]
	for i, x := range dst {
		if x == x {
			rows = append(rows, all[i])
		}
	}
	return rows
}

// stderr returns s/sqrt(n) by two passes; with weights the sandwich estimate, larger by Student's quantile of the weights' degrees of freedom at
// this level over that of n - 1.
func stderr(l []plainRow, level float64, f func(r *plainRow) float64) (m, se float64) {
	m = mean(l, f)
	v, w, w2, w3, w4 := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range l {
		d, x := f(&l[i])-m, l[i].w
		v += x * x * d * d
		w, w2, w3, w4 = w+x, w2+x*x, w3+x*x*x, w4+x*x*x*x
	}
	v *= w2 / (w2 - 2*w3/w + w2*w2/w/w) / (w * w)
	all := float64(len(l) - 1)
	return m, math.Sqrt(v) * tails.StudentQuantile(1-level, min(all, w2*w2/w4-1)) / tails.StudentQuantile(1-level, all)
}

func TestMeanIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, weighted := range []bool{false, true} {
		for _, k := range []int{1, 2, 5} {
			p := &metrics.Predictions{Kind: metrics.Logits}
			v := make([]float64, 1500*k)
			for i := range v {
				v[i] = r.NormFloat64()
			}
			for range 1500 {
				p.Labels = append(p.Labels, int32(r.IntN(max(2, k))))
				if weighted {
					p.Weights = append(p.Weights, 0.1+r.Float64())
				}
			}
			p.Scores = narrow(v, k, metrics.Float64, 0)
			l := metrics.Must(score.NewLoss(nil))
			feed(t, p, nil, l)
			rows := plain(p)
			const z = 1.959963984540
			check := func(what string, got metrics.Interval, f func(r *plainRow) float64) {
				t.Helper()
				m, se := stderr(rows, 0.95, f)
				if !near(got.Low, m-z*se, 1e-11) || !near(got.High, m+z*se, 1e-11) {
					t.Errorf("%s, weighted %v: %v, want %v +- %v", what, weighted, got, m, z*se)
				}
			}
			check("nll", l.NLLInterval(0.95), func(r *plainRow) float64 { return r.nll })
			check("entropy", l.EntropyInterval(0.95), func(r *plainRow) float64 { return r.entropy })
			check("confidence", l.ConfidenceInterval(0.95), func(r *plainRow) float64 { return r.conf })
			// That of overconfidence is at least as wide as right confidences would have it.
			m, se := stderr(rows, 0.95, func(r *plainRow) float64 { return r.conf - r.hit })
			u, sum, squares := 0.0, 0.0, 0.0
			for i := range rows {
				u += rows[i].w * rows[i].conf * (1 - rows[i].conf)
				sum += rows[i].w
				squares += rows[i].w * rows[i].w
			}
			se = max(se, math.Sqrt(u/sum*squares/sum/sum))
			if got := l.OverconfidenceInterval(0.95); !near(got.Low, m-z*se, 1e-11) || !near(got.High, m+z*se, 1e-11) {
				t.Errorf("overconfidence, weighted %v: %v, want %v +- %v", weighted, got, m, z*se)
			}
			check("brier", l.BrierInterval(score.BrierSum, 0.95), func(r *plainRow) float64 { return r.brier })
			check("brier - 1", l.BrierInterval(score.BrierMinusOne, 0.95), func(r *plainRow) float64 { return r.brier - 1 })
			check("brier / K", l.BrierInterval(score.BrierPerClass, 0.95), func(r *plainRow) float64 { return r.brier / float64(len(r.p)) })
			if i, n := l.PerplexityInterval(0.95), l.NLLInterval(0.95); !near(i.Low, math.Exp(n.Low), 1e-14) || !near(i.High, math.Exp(n.High), 1e-14) {
				t.Error("perplexity", i, n)
			}
			n := float64(len(rows))
			if weighted {
				f, se := stderr(rows, 0.9, func(r *plainRow) float64 { return r.hit })
				n = f * (1 - f) / (se * se) / (1 - squares/sum/sum)
			}
			i, j := l.AccuracyInterval(0.9), metrics.Wilson(l.Accuracy(), n, 0.9)
			if !near(i.Low, j.Low, 1e-12) || !near(i.High, j.High, 1e-12) {
				t.Error("accuracy", i, j)
			}
		}
	}
}

func TestWilson(t *testing.T) {
	for _, c := range []struct{ hits, n, level, low, high float64 }{
		// Newcombe 1998, method 3, and Brown, Cai and DasGupta 2001.
		{81, 263, 0.95, 0.2553, 0.3662},
		{15, 148, 0.95, 0.0624, 0.1605},
		{0, 20, 0.95, 0.0000, 0.1611},
		{1, 29, 0.95, 0.0061, 0.1718},
		{29, 29, 0.95, 0.8830, 1.0000},
		{5, 10, 0.95, 0.2366, 0.7634},
		{5, 10, 0.90, 0.2693, 0.7307},
	} {
		i := metrics.Wilson(c.hits/c.n, c.n, c.level)
		if math.Abs(i.Low-c.low) > 5.1e-5 || math.Abs(i.High-c.high) > 5.1e-5 {
			t.Errorf("%v of %v: %v, want [%v, %v]", c.hits, c.n, i, c.low, c.high)
		}
	}
	for n := 1.0; n < 1e7; n = math.Ceil(n * 1.03) {
		for _, f := range []float64{0, 1 / n, 0.5, (n - 1) / n, 1} {
			i := metrics.Wilson(f, n, 0.95)
			if !(i.Low >= 0 && i.Low <= f && f <= i.High && i.High <= 1) {
				t.Errorf("%v of %v: %v", f, n, i)
			}
		}
	}
	for _, n := range []float64{0, -1, math.NaN()} {
		if i := metrics.Wilson(0.5, n, 0.95); i.Low == i.Low || i.High == i.High {
			t.Errorf("n = %v: %v", n, i)
		}
	}
}

func TestZ(t *testing.T) {
	for level, want := range map[float64]float64{0.95: 1.959963984540, 0.90: 1.644853626951, 0.99: 2.575829303549, 0.5: 0.674489750196} {
		if z := metrics.Z(level); z != want {
			t.Errorf("%v: %.15g, want %.13g", level, z, want)
		}
	}
	for _, level := range []float64{0, 1, -1, 2, math.NaN()} {
		func() {
			defer func() {
				if r := recover(); r != "metrics: a confidence level lies between 0 and 1" {
					t.Errorf("level %v: %v", level, r)
				}
			}()
			metrics.Z(level)
		}()
	}
	if i := metrics.Normal(2, 0.5, 0.95); !near(i.Low, 2-0.5*1.95996398454, 1e-15) || !near(i.High, 2+0.5*1.95996398454, 1e-15) {
		t.Error(i)
	}
	for _, c := range [][2]float64{{math.Inf(1), 1}, {1, math.Inf(1)}, {math.NaN(), 1}, {1, math.NaN()}} {
		if i := metrics.Normal(c[0], c[1], 0.95); i.Low == i.Low || i.High == i.High {
			t.Error(c, i)
		}
	}
}

// estimates are the point estimates among the answers.
func estimates(accs []metrics.Accumulator) (v []float64) {
	for _, a := range accs {
		switch a := a.(type) {
		case *calib.Bins:
			mce, _ := a.MCE()
			v = append(v, a.ECE(), a.RMSCE(), mce)
			for _, b := range a.Bins(0.95) {
				v = append(v, b.Confidence, b.Frequency)
			}
		case *score.Loss:
			v = append(v, a.Accuracy(), a.TopK(3), a.BaseRate(), a.Confidence(), a.Overconfidence(), a.NLL(), a.FiniteNLL(),
				a.Perplexity(), a.Entropy())
			for _, f := range brierForms {
				v = append(v, a.Brier(f))
			}
		}
	}
	return v
}

func TestWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, k := range []int{1, 2, 10} {
		for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits} {
			p := generate(r, settings{dtype: metrics.Float32, kind: kind, k: k, n: 1300})
			run := func(p *metrics.Predictions) []metrics.Accumulator {
				accs := all(k)
				feed(t, p, &metrics.Options{Drop: true}, accs...)
				return accs
			}
			same := func(what string, a, b []metrics.Accumulator) {
				t.Helper()
				x, y := estimates(a), estimates(b)
				for i := range x {
					if !near(x[i], y[i], 1e-12) {
						t.Errorf("%s: estimate %d: %v and %v", what, i, x[i], y[i])
					}
				}
			}
			plain := run(p)
			p.Weights = make([]float64, p.Rows)
			for i := range p.Weights {
				p.Weights[i] = 2
			}
			two := run(p)
			same("weights of 2", two, plain)
			l, m := plain[0].(*score.Loss), two[0].(*score.Loss)
			if i, j := l.EntropyInterval(0.95), m.EntropyInterval(0.95); !near(i.Low, j.Low, 1e-12) || !near(i.High, j.High, 1e-12) {
				t.Errorf("equal weights change an interval: %v, %v", i, j)
			}

			var repeated, present []int
			for i := range p.Weights {
				w := r.IntN(4)
				p.Weights[i] = float64(w)
				for range w {
					repeated = append(repeated, i)
				}
				if w > 0 {
					present = append(present, i)
				}
			}
			whole := run(p)
			sameState(t, "weight 0 is absence", state(t, whole...), state(t, run(permute(p, present, 0))...))
			q := permute(p, repeated, 0)
			q.Weights = nil
			same("weights are repetitions", whole, run(q))
		}
	}
}

// TestECE computes error, floor and interval anew, from the rows.
func TestECE(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 60 {
		n, bins := 2+r.IntN(3000), 1+r.IntN(40)
		v, p := make([]float64, n), &metrics.Predictions{Labels: make([]int32, n)}
		power := r.Float64() * 3
		for i := range v {
			v[i] = math.Pow(r.Float64(), power)
			if r.Float64() < math.Pow(v[i], 1.3) {
				p.Labels[i] = 1
			}
		}
		p.Scores = narrow(v, 1, metrics.Float64, 0)
		b := metrics.Must(calib.NewBins(&calib.Options{Bins: bins, Event: calib.Positive}))
		feed(t, p, nil, b)

		gap, spread, sq, count := make([]float64, bins), make([]float64, bins), make([]float64, bins), make([]float64, bins)
		for i, x := range v {
			k := bins - 1
			for k > 0 && float64(k)*(1/float64(bins)) > x {
				k--
			}
			d := float64(p.Labels[i]) - x
			gap[k] += d
			spread[k] += x * (1 - x)
			sq[k] += d * d
			count[k]++
		}
		nn := float64(n)
		var ece, rms, mce, floor, bias, unclear, clear, all float64
		for k := range gap {
			if count[k] == 0 {
				continue
			}
			d := gap[k] / nn
			v := math.Max(spread[k], sq[k]-gap[k]*gap[k]/nn) / (nn * nn)
			ece += math.Abs(d)
			rms += gap[k] / count[k] * gap[k] / nn
			mce = math.Max(mce, math.Abs(gap[k]/count[k]))
			floor += math.Sqrt(2/math.Pi) * math.Sqrt(spread[k]) / nn
			if math.Abs(d) > math.Sqrt(math.Log(nn))*math.Sqrt(v) {
				clear += v
			} else {
				bias += math.Sqrt(v)
				unclear += v
			}
			all += v
		}
		low := math.Max(0, ece-math.Sqrt(2/math.Pi)*bias-1.95996398454*math.Sqrt((1-2/math.Pi)*unclear+clear))
		high := math.Min(1, ece+1.95996398454*math.Sqrt(all))
		i := b.Interval(0.95)
		gotM, rowsM := b.MCE()
		for _, c := range []struct {
			what      string
			got, want float64
		}{{"ece", b.ECE(), ece}, {"rmsce", b.RMSCE(), math.Sqrt(rms)}, {"mce", gotM, mce}, {"floor", b.Floor(), floor},
			{"low", i.Low, low}, {"high", i.High, high}} {
			if !near(c.got, c.want, 1e-12) {
				t.Errorf("%d rows, %d bins: %s is %v, want %v", n, bins, c.what, c.got, c.want)
			}
		}
		if !(b.ECE() <= b.RMSCE()+1e-15 && b.RMSCE() <= gotM+1e-15) || rowsM < 1 {
			t.Errorf("ece %v, rmsce %v, mce %v of %d rows", b.ECE(), b.RMSCE(), gotM, rowsM)
		}
		for k, bar := range b.Bins(0.95) {
			if float64(bar.Count) != count[k] || bar.Weight != count[k] {
				t.Errorf("bin %d has %d rows, want %v", k, bar.Count, count[k])
			}
		}
	}
}

func TestNothing(t *testing.T) {
	for _, k := range []int{1, 4} {
		p := &metrics.Predictions{}
		p.Classes = k
		accs := all(k)
		before := state(t, accs...)
		pass := metrics.NewPass(nil, accs...)
		for _, v := range [][]float64{nil, {}} {
			p.F64 = v
			if err := pass.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := pass.AddSource(&sizes{p: p, n: []int{0, 0}}); err != nil {
			t.Fatal(err)
		}
		sameState(t, "no rows", state(t, accs...), before)
		if a := pass.Audit(); a != (metrics.Audit{}) {
			t.Errorf("%+v", a)
		}
		for _, x := range estimates(accs) {
			if x == x {
				t.Errorf("an answer without rows: %v", estimates(accs))
				break
			}
		}
		b := accs[2].(*calib.Bins)
		if i := b.Interval(0.95); i.Low == i.Low || i.High == i.High {
			t.Error(i)
		}
		if f := b.Floor(); f == f {
			t.Error(f)
		}
	}
}
