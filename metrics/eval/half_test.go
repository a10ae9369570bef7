package eval

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestHalf: a row of one score and the row of two classes that it stands for have the same decision, also where the score is 1/2
// or its logit 0: class 0, the first of equals. So whatever is of decisions, confidences or the top label is the same.
func TestHalf(t *testing.T) {
	const names = "accuracy,confidence,overconfidence,balanced_accuracy,ece_top_label,ece_positive,calibration_auc,aurc,augrc(replicates=20),oracle_accuracy,retention_nll"
	half := func(v float64) uint16 { // float16 of a multiple of 1/64 in [-8, 8]
		b := math.Float64bits(v)
		if v == 0 {
			return uint16(b >> 48)
		}
		return uint16(b>>48&0x8000 | (b>>52&0x7ff-1023+15)<<10 | b>>42&0x3ff)
	}
	types := map[string]func(s *metrics.Scores, v []float64){
		"float64": func(s *metrics.Scores, v []float64) { s.F64 = v },
		"float32": func(s *metrics.Scores, v []float64) {
			for _, x := range v {
				s.F32 = append(s.F32, float32(x))
			}
		},
		"float16": func(s *metrics.Scores, v []float64) {
			for _, x := range v {
				s.F16 = append(s.F16, half(x))
			}
		},
		"bfloat16": func(s *metrics.Scores, v []float64) {
			for _, x := range v {
				s.BF16 = append(s.BF16, uint16(math.Float32bits(float32(x))>>16))
			}
		},
	}
	for name, put := range types {
		for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits} {
			for _, weighted := range []bool{false, true} {
				r := rand.New(rand.NewPCG(7, 7))
				const n = 1000
				one, two := &metrics.Predictions{}, &metrics.Predictions{}
				var a, b []float64
				for range n {
					v := float64(r.IntN(65)) / 64
					if kind == metrics.Logits {
						v = float64(r.IntN(129)-64) / 16
					}
					if k := r.IntN(4); k == 0 && kind == metrics.Logits {
						v = math.Copysign(0, float64(r.IntN(2))-0.5)
					} else if k == 0 {
						v = 0.5
					}
					a = append(a, v)
					if kind == metrics.Logits {
						b = append(b, 0, v)
					} else {
						b = append(b, 1-v, v)
					}
					one.Labels = append(one.Labels, int32(r.IntN(3)/2))
					if weighted {
						one.Weights = append(one.Weights, float64(r.IntN(5)))
					}
				}
				two.Labels, two.Weights = one.Labels, one.Weights
				put(&one.Scores, a)
				put(&two.Scores, b)
				one.Kind, one.Rows, one.Classes = kind, n, 1
				two.Kind, two.Rows, two.Classes = kind, n, 2
				of := func(p *metrics.Predictions) *Evaluation {
					return fill(t, Spec{Classes: p.Classes, Metrics: list(t, names, p.Classes)}, p)
				}
				v, w := of(one), of(two)
				for i, m := range w.Spec.Metrics {
					got, want := v.Value(v.Spec.Metrics[i]).Value, w.Value(m).Value
					if got != want && !(math.Abs(got-want) <= 1e-13) {
						t.Errorf("%s %s, weighted %v: %s is %v of one column, %v of two", name, kind, weighted, m, got, want)
					}
				}
				if kind == metrics.Probs && !weighted {
					right := 0
					for i, p := range a {
						if (p > 0.5) == (one.Labels[i] == 1) {
							right++
						}
					}
					if got := v.Value(v.Spec.Metrics[slices.IndexFunc(v.Spec.Metrics, func(m Metric) bool { return m.Name == "accuracy" })]).Value; got != float64(right)/n {
						t.Errorf("%s: accuracy %v, want %v", name, got, float64(right)/n)
					}
				}
			}
		}
	}
}
