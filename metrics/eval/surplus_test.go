package eval_test

import (
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics/eval"
)

// TestSurplusOption holds that an option that follows a good one is not passed over.
func TestSurplusOption(t *testing.T) {
	for _, s := range []string{"brier(form=sum,zzz=1)", "brier(aaa,form=sum)", "topk_accuracy(k=3,z=1)"} {
		if _, err := eval.ParseMetrics(s, eval.Shape{Classes: 10}); err == nil || !strings.Contains(err.Error(), "there is no option") {
			t.Errorf("%s: %v", s, err)
		}
	}
}
