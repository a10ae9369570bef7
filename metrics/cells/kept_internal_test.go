package cells

import (
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestShareKept checks that a copy drops its rows once those of all copies exceed the limit, though its own do not.
func TestShareKept(t *testing.T) {
	chunk := &metrics.Chunk{Predictions: metrics.Predictions{Scores: metrics.Scores{Rows: 60, Classes: 1, F32: make([]float32, 60)},
		Kind: metrics.Probs, Labels: make([]int32, 60)}}
	for _, c := range []struct {
		most int64
		kept bool
	}{{119, false}, {120, true}} {
		a := NewKept(metrics.Positive, c.most)
		b := a.Share().(*Kept)
		for _, k := range []*Kept{a, b} {
			metrics.NewWalker(nil, k.Needs(), k.AddBlock).Add(chunk)
		}
		if kept := len(b.parts) > 0; kept != c.kept || len(a.parts) == 0 {
			t.Errorf("at most %d rows: the last copy keeps some: %v", c.most, kept)
		}
	}
}
