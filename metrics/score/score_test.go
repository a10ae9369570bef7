package score_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

func sample(n, k int, kind metrics.Kind) *metrics.Predictions {
	r := rand.New(rand.NewPCG(uint64(n), uint64(k)))
	p := &metrics.Predictions{Kind: kind, Labels: make([]int32, n)}
	p.F64, p.Rows, p.Classes = make([]float64, n*k), n, k
	for i := range n {
		row, s := p.F64[i*k:(i+1)*k], 0.0
		for j := range row {
			row[j] = math.Round(8 * r.Float64())
			s += row[j]
		}
		if kind == metrics.Probs {
			if s == 0 {
				row[0], s = 1, 1
			}
			for j := range row {
				if k == 1 {
					s = 8
				}
				row[j] /= s
			}
		}
		p.Labels[i] = int32(r.IntN(max(2, k)))
	}
	return p
}

// TestRows checks that the mean of each function equals the accumulator's, to the bit, and the mean of the values that it
// writes.
func TestRows(t *testing.T) {
	type function func(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error)
	topK := func(k int) function {
		return func(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
			return score.TopKRows(dst, p, k, o)
		}
	}
	form := func(f score.BrierForm) function {
		return func(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
			return score.BrierRows(dst, p, f, o)
		}
	}
	clipped := func(n score.NLLOptions) function {
		return func(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
			return score.ClippedNLLRows(dst, p, n, o)
		}
	}
	for _, k := range []int{1, 2, 9} {
		for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits} {
			for _, weighted := range []bool{false, true} {
				if testing.Short() && weighted != (k%2+int(kind) == 1) {
					continue
				}
				p := sample(5000, k, kind)
				bad := map[int]bool{0: true, 17: true, 2048: true, 4999: true}
				for i := range bad {
					p.F64[i*k] = math.NaN()
				}
				if weighted {
					p.Weights = make([]float64, p.Rows)
					for i := range p.Weights {
						p.Weights[i] = float64(i % 3)
					}
				}
				o := &metrics.Options{Drop: true, Threads: 3}
				l := metrics.Must(score.NewLoss(&score.Options{TopK: 9}))
				spherical, ranked := score.NewMean(score.SphericalRule), score.NewMean(score.RankedRule)
				if err := metrics.NewPass(o, l, spherical, ranked).Add(p); err != nil {
					t.Fatal(err)
				}
				binary := score.BrierBinary // more than two classes do not have it
				if k > 2 {
					binary = score.BrierDefault
				}
				// For these, the expected mean comes from the function itself; its rows are checked below.
				mean := func(f function) float64 {
					v, err := f(nil, p, o)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
				first := clipped(score.NLLOptions{Clip: 1e-3, Rescale: score.RescaleFirst})
				last := clipped(score.NLLOptions{Clip: 1e-3, Rescale: score.RescaleLast})
				clip := clipped(score.NLLOptions{Clip: 0.01})
				for _, c := range []struct {
					name string
					f    function
					want float64
				}{
					{"NLL", score.NLLRows, l.NLL()},
					{"Brier", form(score.BrierDefault), l.Brier(score.BrierDefault)},
					{"Entropy", score.EntropyRows, l.Entropy()},
					{"Confidence", score.ConfidenceRows, l.Confidence()},
					{"Accuracy", score.AccuracyRows, l.Accuracy()},
					{"TopK 1", topK(1), l.TopK(1)},
					{"TopK 3", topK(3), l.TopK(3)},
					{"TopK 9", topK(9), l.TopK(9)},
					{"Spherical", score.SphericalRows, spherical.Value()},
					{"RPS", score.RPSRows, ranked.Value()},
					{"Brier, sum", form(score.BrierSum), l.Brier(score.BrierSum)},
					{"Brier, minus one", form(score.BrierMinusOne), l.Brier(score.BrierMinusOne)},
					{"Brier, per class", form(score.BrierPerClass), l.Brier(score.BrierPerClass)},
					{"Brier, binary", form(binary), l.Brier(binary)},
					{"NLL without options", clipped(score.NLLOptions{}), l.NLL()},
					{"NLL, clipped", clip, mean(clip)},
					{"NLL, rescaled first", first, mean(first)},
					{"NLL, rescaled last", last, mean(last)},
				} {
					dst := make([]float64, p.Rows)
					got, err := c.f(dst, p, o)
					if err != nil || math.Float64bits(got) != math.Float64bits(c.want) {
						t.Errorf("%s, %d classes: %v, want %v, %v", c.name, k, got, c.want, err)
					}
					if none, err := c.f(nil, p, o); err != nil || math.Float64bits(none) != math.Float64bits(got) {
						t.Errorf("%s, %d classes: %v without dst, %v", c.name, k, none, err)
					}
					s, w := 0.0, 0.0
					for i, x := range dst {
						if out := bad[i] || weighted && p.Weights[i] == 0; out != (x != x) {
							t.Fatalf("%s: row %d is %v", c.name, i, x)
						} else if !out {
							q := 1.0
							if weighted {
								q = p.Weights[i]
							}
							s += q * x
							w += q
						}
					}
					if !(s/w == got || math.Abs(s/w-got) < 1e-12*math.Max(1, got)) {
						t.Errorf("%s, %d classes: the rows' mean is %v, not %v", c.name, k, s/w, got)
					}
					// A row's score is that of the row alone.
					for _, i := range []int{1, 2049, 2500} {
						one := *p
						one.F64, one.Rows, one.Labels = p.F64[i*k:(i+1)*k], 1, p.Labels[i:i+1]
						one.Weights = nil
						x, err := c.f(nil, &one, nil)
						if err != nil || dst[i] == dst[i] && !(x == dst[i] || math.Abs(x-dst[i]) < 1e-14) {
							t.Errorf("%s: row %d has %v, alone %v, %v", c.name, i, dst[i], x, err)
						}
					}
					var d *metrics.DataError
					if got, err := c.f(dst, p, nil); !errors.As(err, &d) || got == got {
						t.Errorf("%s: %v, %v of bad rows", c.name, got, err)
					}
				}
			}
		}
	}
}

// TestTopOneNeedsNoRanks checks that a top-1 Loss has the same state alone and next to one that makes the pass count ranks.
func TestTopOneNeedsNoRanks(t *testing.T) {
	for _, k := range []int{1, 2, 9} {
		for _, weighted := range []bool{false, true} {
			p := sample(5000, k, metrics.Logits)
			if weighted {
				p.Weights = make([]float64, p.Rows)
				for i := range p.Weights {
					p.Weights[i] = float64(i % 3)
				}
			}
			top1 := func() *score.Loss { return metrics.Must(score.NewLoss(&score.Options{TopK: 1})) }
			alone, beside, ranks := top1(), top1(), metrics.Must(score.NewLoss(nil))
			for _, accs := range [][]metrics.Accumulator{{alone}, {beside, ranks}} {
				if err := metrics.NewPass(nil, accs...).Add(p); err != nil {
					t.Fatal(err)
				}
			}
			a, _ := alone.AppendBinary(nil)
			b, _ := beside.AppendBinary(nil)
			if !bytes.Equal(a, b) || alone.TopK(1) != ranks.TopK(1) || alone.TopK(1) != alone.Accuracy() {
				t.Errorf("%d classes: %v alone, %v beside, %v of ranks", k, alone.TopK(1), beside.TopK(1), ranks.TopK(1))
			}
			if alone.Needs() != metrics.NeedSpread || ranks.Needs() != metrics.NeedSpread|metrics.NeedRank || !errors.Is(alone.Merge(ranks), metrics.ErrMismatch) {
				t.Error("top-1 and top-5 do not differ")
			}
		}
	}
}

func caught(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestCallersFaults(t *testing.T) {
	p := sample(4, 3, metrics.Probs)
	for want, f := range map[string]func(){
		"metrics: dst and rows differ in number":              func() { _, _ = score.NLLRows(make([]float64, 3), p, nil) },
		"score: k lies between 1 and the TopK of the options": func() { metrics.Must(score.NewLoss(nil)).TopK(6) },
		"score: there is no such rule":                        func() { score.NewMean(score.RankedRule + 1) },
		"score: there is no such code":                        func() { score.NewDecomposition().AsCoded(score.CodedTFP + 1) },
		"score: there is no such class": func() {
			r := score.NewBaseRates()
			_ = metrics.NewPass(nil, r).Add(p)
			r.Rate(3)
		},
	} {
		if got := caught(f); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	for _, k := range []int{-1, 1001} {
		if l, err := score.NewLoss(&score.Options{TopK: k}); l != nil || err == nil || err.Error() != fmt.Sprintf("score: TopK is %d; it is from 1 to 1000", k) {
			t.Error(err)
		}
	}
	for _, o := range []score.NLLOptions{{Rescale: 3}, {Clip: 0.5}, {Clip: -1}, {Clip: math.NaN()}} {
		if c, err := score.NewClipped(o); c != nil || err == nil || !strings.HasPrefix(err.Error(), "score: ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if got := caught(func() { score.NewBaseRates().Score(score.RankedRule + 1) }); got != "score: there is no such rule" {
		t.Error(got)
	}
	if got := caught(func() { metrics.Must(score.NewLoss(nil)).TopK(0) }); got != "score: k lies between 1 and the TopK of the options" {
		t.Error(got)
	}
}

// TestTopKTies checks that among equal scores, the label is placed by its index.
func TestTopKTies(t *testing.T) {
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: []int32{0, 1, 2, 3, 3}}
	p.F32 = []float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 3, 2}
	p.Rows, p.Classes = 5, 4
	dst := make([]float64, 5)
	for k, want := range [][]float64{1: {1, 0, 0, 0, 0}, 2: {1, 1, 0, 0, 0}, 3: {1, 1, 1, 0, 1}, 4: {1, 1, 1, 1, 1}, 5: {1, 1, 1, 1, 1}} {
		if k == 0 {
			continue
		}
		m, err := score.TopKRows(dst, p, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i := range want {
			sum += want[i]
			if dst[i] != want[i] {
				t.Errorf("top-%d: %v, want %v", k, dst, want)
				break
			}
		}
		if m != sum/5 {
			t.Errorf("top-%d: %v", k, m)
		}
	}
}

func TestInfinite(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 1, 2, 1}}
	p.F64 = []float64{1, 0, 0, 1, 0, 0, 0, 0.5, 0.5, 0.25, 0.5, 0.25}
	p.Rows, p.Classes = 4, 3
	for _, w := range [][]float64{nil, {1, 1, 1, 1}} {
		p.Weights = w
		dst := make([]float64, 4)
		m, err := score.NLLRows(dst, p, nil)
		if err != nil || !math.IsInf(m, 1) || !math.IsInf(dst[1], 1) || dst[0] != 0 {
			t.Error(m, dst, err)
		}
		l, err := score.LossOf(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if l.InfiniteRows() != 1 || !math.IsInf(l.NLL(), 1) || !math.IsInf(l.Perplexity(), 1) || math.Abs(l.FiniteNLL()-2*math.Ln2/3) > 1e-15 {
			t.Error(l.InfiniteRows(), l.NLL(), l.Perplexity(), l.FiniteNLL())
		}
		for _, i := range []metrics.Interval{l.NLLInterval(0.95), l.PerplexityInterval(0.95)} {
			if i.Low == i.Low || i.High == i.High {
				t.Error(i)
			}
		}
		if i := l.BrierInterval(score.BrierDefault, 0.95); !(i.Low < i.High) {
			t.Error(i)
		}
	}
	p.Labels = []int32{1, 1, 0, 1}
	p.Rows, p.Labels, p.F64, p.Weights = 3, p.Labels[:3], p.F64[:9], nil
	if l, err := score.LossOf(p, nil); err != nil || l.InfiniteRows() != 3 || l.FiniteNLL() == l.FiniteNLL() {
		t.Error(err, l.InfiniteRows(), l.FiniteNLL())
	}
}

// TestSmallTails checks the accuracy for nearly certain labels.
func TestSmallTails(t *testing.T) {
	for _, d := range []float64{5, 20, 40, 60} {
		p := &metrics.Predictions{Kind: metrics.Logits, Labels: []int32{0}}
		p.F64, p.Rows, p.Classes = []float64{0, -d}, 1, 2
		l, err := score.LossOf(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		tail := math.Exp(-d) / (1 + math.Exp(-d))
		nll := math.Log1p(math.Exp(-d))
		// The Brier score is kept to 2^-50, the NLL to 2^-88.
		if math.Abs(l.NLL()/nll-1) > 1e-12+0x1p-88/nll || math.Abs(l.Brier(0)-2*tail*tail) > 0x1p-50 {
			t.Errorf("%v: nll %v, want %v; brier %v, want %v", d, l.NLL(), nll, l.Brier(0), 2*tail*tail)
		}
		dst := make([]float64, 1)
		if _, err := score.BrierRows(dst, p, score.BrierDefault, nil); err != nil || math.Abs(dst[0]/(2*tail*tail)-1) > 1e-12 {
			t.Errorf("%v: the row's brier is %v, want %v", d, dst[0], 2*tail*tail)
		}
	}
}

// FuzzLossUnmarshal checks that a state that is read is written as the same bytes, and gives values. It seals the data,
// because the fuzzer would hardly find a correct checksum.
func FuzzLossUnmarshal(f *testing.F) {
	p := sample(7, 3, metrics.Probs)
	for _, k := range []int{1, 5} {
		for _, w := range [][]float64{nil, {1, 2, 0x1p32, 0x1p-32, 1, 0, 1}} {
			p.Weights = w
			l := metrics.Must(score.NewLoss(&score.Options{TopK: k}))
			if err := metrics.NewPass(nil, l).Add(p); err != nil {
				f.Fatal(err)
			}
			s, err := l.AppendBinary(nil)
			if err != nil {
				f.Fatal(err)
			}
			_, payload, _, err := exact.Open("cLOS", s)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(payload)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var l score.Loss
		_ = l.UnmarshalBinary(payload)
		s := exact.Seal("cLOS", 1, payload)
		if l.UnmarshalBinary(s) != nil {
			return
		}
		if again, err := l.AppendBinary(nil); err != nil || string(again) != string(s) {
			t.Errorf("written in another way: %v", err)
		}
		l.Accuracy()
		l.AccuracyInterval(0.95)
		l.EffectiveRows()
		l.TopK(1)
		l.BaseRateInterval(0.95)
		l.ConfidenceInterval(0.95)
		l.OverconfidenceInterval(0.95)
		l.NLLInterval(0.95)
		l.FiniteNLL()
		l.PerplexityInterval(0.95)
		l.EntropyInterval(0.95)
		for form := score.BrierDefault; form <= score.BrierPerClass; form++ {
			l.BrierInterval(form, 0.95)
		}
		c := l.Empty()
		if err := c.Merge(&l); err != nil {
			t.Error(err)
		}
	})
}
