package rank_test

import (
	"bytes"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/rank"
)

// TestKnownScores: rows whose scores have been seen before, with new ones now and then or all at once, leave the state of parts in which every
// score is new.
func TestKnownScores(t *testing.T) {
	r := check.Rand(9)
	const rows, part = 400_000, 10_000
	p := &metrics.Predictions{Labels: make([]int32, rows)}
	p.Rows, p.Classes, p.F64 = rows, 1, make([]float64, rows)
	for i := range rows {
		p.F64[i] = float64(r.IntN(5000)) / 5000
		if i > rows*3/4 || r.IntN(1000) == 0 {
			p.F64[i] = r.Float64()
		}
		if r.Float64() < p.F64[i] {
			p.Labels[i] = 1
		}
	}
	of := func(p *metrics.Predictions) *rank.Retention {
		a := metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.NLL}))
		if err := metrics.NewPass(&metrics.Options{Threads: 1}, a).Fill(metrics.InMemory(p)); err != nil {
			t.Fatal(err)
		}
		return a
	}
	parts := metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.NLL}))
	for at := 0; at < rows; at += part {
		one := *p
		one.Rows, one.F64, one.Labels = part, p.F64[at:at+part], p.Labels[at:at+part]
		if err := parts.Merge(of(&one)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := of(p).AppendBinary(nil)
	want, err2 := parts.AppendBinary(nil)
	if err != nil || err2 != nil || !bytes.Equal(got, want) {
		t.Errorf("the states differ: %d and %d bytes, %v, %v", len(got), len(want), err, err2)
	}
}
