package metrics_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

// TestDecisions compares what is said of decisions with the simplest arithmetic, for every type and kind.
func TestDecisions(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
		for _, k := range []int{1, 2, 3, 10, 40} {
			for _, d := range dtypes {
				for _, pad := range []int{0, 3} {
					for _, renormalize := range []bool{false, true} {
						if (k+int(d)+pad)%check.Size(2, 1, 1) != 0 {
							continue
						}
						p := generate(r, settings{dtype: d, kind: kind, k: k, n: 700, weighted: pad > 0, bad: true, decided: true, scored: true})
						if renormalize {
							if kind != metrics.Probs || k == 1 || d == metrics.Float16 {
								continue
							}
							v := widen(&p.Scores)
							for i := range p.Rows {
								f := math.Exp2(float64(r.IntN(60) - 30))
								for j := range k {
									v[i*k+j] *= f
								}
							}
							p.Scores = narrow(v, k, d, 0)
						}
						name := fmt.Sprintf("%v, %d classes, %v, pad %d, renormalize %v", kind, k, d, pad, renormalize)
						order := make([]int, p.Rows)
						for i := range order {
							order[i] = i
						}
						p = permute(p, order, pad)
						opt := &metrics.Options{Drop: true, Renormalize: renormalize}
						conf, right, nll := make([]float64, p.Rows), make([]float64, p.Rows), make([]float64, p.Rows)
						for name, dst := range map[string][]float64{"confidence": conf, "accuracy": right, "nll": nll} {
							if err := rowMetric(t, name, p).Rows(dst, p, opt); err != nil {
								t.Fatal(err)
							}
						}
						plain := *p
						plain.Decisions, plain.ConfidenceScores = nil, nil
						plainNLL := make([]float64, p.Rows)
						if err := rowMetric(t, "nll", p).Rows(plainNLL, &plain, opt); err != nil {
							t.Fatal(err)
						}
						v, seen := widen(&p.Scores), 0
						for i := range p.Rows {
							if conf[i] != conf[i] {
								continue
							}
							seen++
							if nll[i] != plainNLL[i] {
								t.Errorf("%s: row %d: decisions change its nll from %v to %v", name, i, plainNLL[i], nll[i])
							}
							want := probability(v[i*k:(i+1)*k], kind, int(p.Decisions[i]), renormalize)
							if !near(conf[i], want, 2e-6) || d == metrics.Float64 && !near(conf[i], want, 1e-12) {
								t.Errorf("%s: row %d: decision %d has %v, want %v", name, i, p.Decisions[i], conf[i], want)
							}
							if (right[i] == 1) != (p.Decisions[i] == p.Labels[i]) {
								t.Errorf("%s: row %d: right %v", name, i, right[i])
							}
						}
						if seen < 100 {
							t.Fatalf("%s: only %d rows", name, seen)
						}
					}
				}
			}
		}
	}
}

// probability returns that of a class, by the definition.
func probability(row []float64, kind metrics.Kind, class int, renormalize bool) float64 {
	if len(row) == 1 {
		p := row[0]
		switch kind {
		case metrics.Logits:
			p = 1 / (1 + math.Exp(-p))
		case metrics.LogProbs:
			p = math.Exp(p)
		}
		if class == 0 {
			p = 1 - p
		}
		return p
	}
	row = append([]float64{}, row...)
	s := 0.0
	if kind != metrics.Probs {
		softmax(row)
	}
	for _, x := range row {
		s += x
	}
	if renormalize {
		return row[class] / s
	}
	return row[class]
}

// TestDecisionsOfTheArgMax holds that decisions for the arg max, and confidence scores that are the scores, change no bit.
func TestDecisionsOfTheArgMax(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
		for _, k := range []int{1, 2, 7} {
			for _, d := range dtypes {
				for _, renormalize := range []bool{false, true} {
					p := generate(r, settings{dtype: d, kind: kind, k: k, n: 3000, weighted: k == 2})
					opt := &metrics.Options{Renormalize: renormalize}
					var top []float64
					var arg []int32
					keep := &blocks{each: func(b *metrics.Block) {
						for i := range b.Rows {
							top, arg = append(top, b.Stats.Top[i]), append(arg, b.Stats.ArgMax[i])
						}
					}}
					p.Weights = nil
					feed(t, p, &metrics.Options{Threads: 1, Renormalize: renormalize}, keep)
					accs := func() []metrics.Accumulator {
						return []metrics.Accumulator{metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(&calib.Options{Event: calib.TopLabel})),
							metrics.Must(calib.NewBins(&calib.Options{Bins: 9, Event: calib.AllClasses, Index: calib.EdgeDiv}))}
					}
					plain, own := accs(), accs()
					feed(t, p, opt, plain...)
					p.Decisions, p.ConfidenceScores = arg, top
					feed(t, p, opt, own...)
					if err := sameBits(answers(own...), answers(plain...)); err != nil {
						t.Errorf("%v, %d classes, %v: %v", kind, k, d, err)
					}
				}
			}
		}
	}
}

// blocks is an accumulator that shows its blocks.
type blocks struct {
	metrics.Accumulator
	each func(b *metrics.Block)
}

func (a *blocks) Needs() metrics.Need             { return metrics.NeedSpread }
func (a *blocks) Empty() metrics.Accumulator      { return a }
func (a *blocks) Merge(metrics.Accumulator) error { return nil }
func (a *blocks) AddBlock(b *metrics.Block)       { a.each(b) }
