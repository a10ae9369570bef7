package metrics_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// TestIgnoredRows: rows with an ignored label, whatever their scores are, change nothing but their number, for rows of every length, with and
// without weights.
func TestIgnoredRows(t *testing.T) {
	for _, k := range []int{1, 2, 3, 10, 1000, 5000, 140000} {
		for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits} {
			for _, weighted := range []bool{false, true} {
				n := min(500, 3500000/k)
				all, kept := &metrics.Predictions{Kind: kind}, &metrics.Predictions{Kind: kind}
				all.Classes, kept.Classes = k, k
				for i := range n {
					row := make([]float32, k)
					for j := range row {
						row[j] = float32((i*7+j*3)%11) / 11
						if kind == metrics.Probs && k > 1 {
							row[j] = 0
						}
					}
					if kind == metrics.Probs && k > 1 {
						row[i%k], row[(i+1)%k] = 0.75, 0.25
					}
					y, ignored := int32((i*5)%max(2, k)), i%3 == 1 || i < 4 || i > n-3 || i%50 > 40
					if ignored {
						y = metrics.Ignored
						row[0] = float32(math.NaN())
					}
					for _, p := range []*metrics.Predictions{all, kept} {
						if p == kept && ignored {
							continue
						}
						p.F32, p.Labels, p.Rows = append(p.F32, row...), append(p.Labels, y), p.Rows+1
						p.Bytes, p.Sequences = append(p.Bytes, float64(i%5)), append(p.Sequences, int64(i/9))
						if weighted {
							w := float64(i%4) / 2
							if ignored {
								w = math.NaN()
							}
							p.Weights = append(p.Weights, w)
						}
					}
				}
				of := func(p *metrics.Predictions, o *metrics.Options) ([]byte, metrics.Audit) {
					l := []metrics.Accumulator{metrics.Must(score.NewLoss(nil)), score.NewMean(score.SphericalRule), score.NewTokens()}
					pass := feed(t, p, o, l...)
					return state(t, l...), pass.Audit()
				}
				what := fmt.Sprintf("%d classes, %v, weights %v", k, kind, weighted)
				want, a := of(kept, nil)
				for _, threads := range []int{1, 3} {
					for _, drop := range []bool{false, true} {
						got, b := of(all, &metrics.Options{Threads: threads, Drop: drop})
						sameState(t, what, got, want)
						if b.Ignored != int64(all.Rows-kept.Rows) {
							t.Errorf("%s: %d rows are ignored, of %d", what, b.Ignored, all.Rows-kept.Rows)
						}
						if b.Ignored = 0; a != b {
							t.Errorf("%s: %+v and %+v", what, a, b)
						}
					}
				}
			}
		}
	}
}

// TestIgnoredAudit: the number of ignored rows is in the state, adds up, and is not there where there are none.
func TestIgnoredAudit(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, metrics.Ignored, 1, metrics.Ignored}}
	p.Rows, p.Classes, p.F64 = 4, 1, []float64{0.5, 2, 0.5, math.NaN()}
	a := feed(t, p, nil, metrics.Must(score.NewLoss(nil))).Audit()
	b := a
	if err := b.Merge(&a); err != nil || b.Ignored != 4 || b.Rows != 4 {
		t.Errorf("%+v, %v", b, err)
	}
	var c metrics.Audit
	if err := c.UnmarshalBinary(auditState(b)); err != nil || c != b {
		t.Errorf("%+v, %v, want %+v", c, err, b)
	}
	none := b
	none.Ignored = 0
	if got, want := len(auditState(b)), len(auditState(none))+8; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// TestBadBytes: numbers of bytes are checked as weights are.
func TestBadBytes(t *testing.T) {
	for _, v := range []float64{-1, math.NaN(), math.Inf(1), 0x1p33} {
		p := &metrics.Predictions{Labels: []int32{0, 1, 1}, Bytes: []float64{0, 0x1p32, v}}
		p.Rows, p.Classes, p.F64 = 3, 1, []float64{0.5, 0.5, 0.5}
		err := metrics.NewPass(nil, score.NewTokens()).Add(p)
		d, ok := err.(*metrics.DataError)
		if !ok || len(d.Faults) != 1 || d.Faults[0].Reason != metrics.BadBytes || d.Faults[0].Row != 2 || d.Faults[0].Column != -1 {
			t.Errorf("%v: %v", v, err)
		}
		pass := feed(t, p, &metrics.Options{Drop: true}, score.NewTokens())
		if a := pass.Audit(); a.Rows != 2 || a.Dropped != 1 {
			t.Errorf("%v: %+v", v, a)
		}
	}
	p := &metrics.Predictions{Labels: []int32{0}, Bytes: []float64{1, 2}}
	p.Rows, p.Classes, p.F64 = 1, 1, []float64{0.5}
	if err := metrics.NewPass(nil).Add(p); err == nil || err.Error() != "2 bytes for 1 rows: there has to be one for each row" {
		t.Error(err)
	}
}
