package compared

import (
	"bytes"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// TestResealedStates: a state whose checksums are right, though a bit is not what was written, is refused, or it answers.
func TestResealedStates(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		s := specOf(t, 1, "accuracy,nll,perplexity,brier_skill,auroc,aurc,calibration_slope,calibration_error_squared")
		state := stateOf(t, compare(t, s, []string{"a", "b"}, "b", models(3, 12, 1, 2, weighted), nil))
		open := func(b []byte) error {
			c := new(Comparison)
			if err := c.UnmarshalBinary(b); err != nil {
				return err
			}
			c.Differences(&Answers{Margins: map[string]float64{"nll": 0.01, "accuracy": 0.01, "auroc": 0.01}})
			c.Flips()
			_, err := c.AppendBinary(nil)
			return err
		}
		check.ResealedCells(t, state, open)
		// Every byte of what is kept of the rows of all models, such as whether they have weights.
		from := bytes.Index(state, []byte(partFormat.Magic))
		for at := from; at < min(from+400, len(state)-8); at++ {
			b := bytes.Clone(state)
			b[at] ^= 1
			_ = open(check.Reseal(b)) // another number is one
		}
	}
}

// TestStatesWithoutMeans: states of forecasts whose coverages have no sums are refused with words; all others have the versions that they had.
func TestStatesWithoutMeans(t *testing.T) {
	forecasts := func(names string, groups bool) *Comparison {
		s := eval.Spec{Kind: metrics.Normals, Classes: 3}
		var err error
		if s.Metrics, err = eval.ParseMetrics(names, s.Shape()); err != nil {
			t.Fatal(err)
		}
		var l []*metrics.Predictions
		for m := range 2 {
			p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: 8, Classes: 3}}
			for i := range p.Rows {
				p.F64 = append(p.F64, float64(i%3+m), 1, float64(i))
			}
			l = append(l, p)
		}
		if groups {
			return groupedBy(t, s, l, siteOf, nil, nil)
		}
		return compare(t, s, []string{"a", "b"}, "", l, nil)
	}
	for _, c := range []struct {
		names  string
		groups bool
		want   byte
	}{{"crps", false, 1}, {"crps", true, 2}, {"crps,coverage_90,bias", false, 3}, {"crps,width_50", true, 4}} {
		b := stateOf(t, forecasts(c.names, c.groups))
		at := len(Magic)
		if b[at] != c.want || b[at+1] != 0 {
			t.Fatalf("%+v: version %d", c, b[at])
		}
		read := new(Comparison)
		if err := read.UnmarshalBinary(b); err != nil || !bytes.Equal(stateOf(t, read), b) {
			t.Errorf("%+v: %v", c, err)
		}
		if c.want > 2 {
			b[at] -= 2
			if err := new(Comparison).UnmarshalBinary(check.Reseal(b)); err == nil || !strings.Contains(err.Error(), "compare the rows again") {
				t.Errorf("%+v as of an earlier version: %v", c, err)
			}
		}
	}
}
