package compared

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// TestSubtract: what is left of two shards has the bytes of one, with and without weights, and with labels that only the other has.
func TestSubtract(t *testing.T) {
	names := []string{"a", "b", "c"}
	for _, classes := range []int{1, 3} {
		for _, weighted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d classes, weighted %v", classes, weighted), func(t *testing.T) {
				s := specOf(t, classes, listed)
				one, other := models(5, 700, classes, 3, weighted), models(6, 400, classes, 3, weighted)
				for _, p := range one { // the largest label is in the other shard alone
					for i := range p.Labels {
						p.Labels[i] = min(p.Labels[i], int32(max(1, classes-1))-1)
					}
				}
				// Of a row both models are infinitely surprised.
				for _, p := range other[:2] {
					p.F64[0] = 0
					for k := 1; k < classes; k++ {
						p.F64[k] = 1 / float64(classes-1)
					}
					p.Labels[0] = 0
					if classes == 1 {
						p.Labels[0] = 1
					}
				}
				other[2].Labels[0] = other[0].Labels[0]
				a, b := compare(t, s, names, "", one, nil), compare(t, s, names, "", other, nil)
				want, taken := stateOf(t, a), stateOf(t, b)
				all := compare(t, s, names, "", one, nil)
				if err := all.Merge(b); err != nil {
					t.Fatal(err)
				}
				whole := stateOf(t, all)
				if err := all.Subtract(b); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(stateOf(t, all), want) {
					t.Error("what is left has another state")
				}
				if !bytes.Equal(stateOf(t, b), taken) {
					t.Error("what was taken out has changed")
				}
				if err := all.Merge(b); err != nil || !bytes.Equal(stateOf(t, all), whole) {
					t.Errorf("merged again: %v", err)
				}
				// More, or others, than there are.
				for i, no := range []*Comparison{all, compare(t, s, names, "", models(7, 100, classes, 3, weighted), nil)} {
					if err := a.Subtract(no); !errors.Is(err, metrics.ErrMissing) || !bytes.Equal(stateOf(t, a), want) {
						t.Errorf("rows that are not there, %d: %v", i, err)
					}
				}
				// Nothing is left.
				if err := a.Subtract(compare(t, s, names, "", one, nil)); err != nil {
					t.Fatal(err)
				}
				none, err := New(s, names, "")
				if err != nil || !bytes.Equal(stateOf(t, a), stateOf(t, none)) {
					t.Errorf("without rows: %v", err)
				}
			})
		}
	}
	s := specOf(t, 1, "nll")
	l := models(1, 50, 1, 2, false)
	c := compare(t, s, []string{"a", "b"}, "", l, nil)
	if err := c.Subtract(compare(t, s, []string{"a", "c"}, "", l, nil)); !errors.Is(err, metrics.ErrMismatch) {
		t.Errorf("other names: %v", err)
	}
	s.Cluster = "site"
	n, err := New(s, []string{"a", "b"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Subtract(n); !errors.Is(err, eval.ErrKept) {
		t.Errorf("clusters: %v", err)
	}
}
