package eval

import (
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestExpected: rows that are expected change no answer and no state, more of them may come, and fewer are an error that changes nothing.
func TestExpected(t *testing.T) {
	p := &metrics.Predictions{Labels: make([]int32, 500)}
	p.Rows, p.Classes, p.F32 = 500, 3, make([]float32, 1500)
	for i := range p.Labels {
		p.Labels[i] = int32(i % 3)
		p.F32[3*i+i%2] = 1
	}
	for _, memory := range []int64{1000, 1 << 20} { // less than the 6,000 bytes of the rows' entries, and more
		spec := Spec{Classes: 3, Memory: memory}
		spec.Metrics = listOf(t, "ace,nll,accuracy", spec.Shape())
		want := fill(t, spec, p)
		for _, expected := range []int64{1, 499, 500} {
			e := metrics.Must(New(spec))
			e.Expected = expected
			if err := e.Add(p, nil); err != nil || e.Expected != 0 {
				t.Fatalf("%v, and %d rows are still expected", err, e.Expected)
			}
			if e.SHA256() != want.SHA256() {
				t.Errorf("%d rows expected, memory %d: another state", expected, memory)
			}
			for _, m := range spec.Metrics {
				if a, b := e.Value(m), want.Value(m); a.Value != b.Value && a.Value == a.Value || a.Reason != b.Reason {
					t.Errorf("%d rows expected, memory %d: %v is %+v, want %+v", expected, memory, m, a, b)
				}
			}
		}
		e := metrics.Must(New(spec))
		e.Expected = 501
		if err := e.Add(p, nil); err == nil || err.Error() != "eval: 501 rows were expected, and there are 500" || e.Audit.Rows != 0 {
			t.Errorf("%v, %d rows", err, e.Audit.Rows)
		}
	}
}
