package eval

import (
	"bytes"
	"math"
	"testing"
)

// TestMemoryShares holds that the limit of memory is shared by the metrics that it is for, and is no part of other states.
func TestMemoryShares(t *testing.T) {
	p := predictions(1, 2, 2, false) // four entries, of 8 bytes
	evaluate := func(metrics string, memory int64) *Evaluation {
		t.Helper()
		return fill(t, Spec{Classes: 2, Metrics: list(t, metrics, 2), Memory: memory}, p)
	}
	if a, b := evaluate("default", 32), evaluate("default", 64); !bytes.Equal(state(t, a), state(t, b)) || a.Merge(b) != nil {
		t.Error("the default metrics have states that differ by the memory")
	}
	if a, b := evaluate("ace", 32), evaluate("ace", 64); bytes.Equal(state(t, a), state(t, b)) || a.Merge(b) == nil {
		t.Error("ace has a state that does not differ by the memory")
	}
	for _, c := range []struct {
		metrics string
		memory  int64
		known   bool
	}{{"ace", 32, true}, {"ace", 31, false}, {"ace,ace(norm=l2)", 32, true}, {"ace,tace", 63, false}, {"ace,tace", 0, true}} {
		e := evaluate(c.metrics, c.memory)
		if v := e.Value(e.Spec.Metrics[0]); math.IsNaN(v.Value) == c.known {
			t.Errorf("%s within %d bytes: ace is %v: %s", c.metrics, c.memory, v.Value, v.Reason)
		}
	}
}
