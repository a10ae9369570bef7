package ensemble_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

// TestPinnedInformation checks that states have the same bytes on every CPU, at every instruction level.
func TestPinnedInformation(t *testing.T) {
	p := &metrics.Predictions{Kind: metrics.LogLiks}
	p.Rows, p.Classes, p.F64 = 50, 100, make([]float64, 5000)
	d := &metrics.Predictions{Kind: metrics.Dirichlet, Labels: make([]int32, 1000)}
	d.Rows, d.Classes, d.F64 = 1000, 5, make([]float64, 5000)
	s := uint64(1)
	for i := range p.F64 {
		s = s*6364136223846793005 + 1442695040888963407
		u := float64(s>>11)*0x1p-53 + 0x1p-54
		p.F64[i] = -0.3 * (1 - u) / (u + 0.05)
		d.F64[i] = 3 * (1 - u) / (u + 0.001)
	}
	a, b := information(t, p, &ensemble.InformationOptions{PSIS: true}), knowledge(t, d)
	if k := a.ParetoKMax(); !(k > 0.5 && k < 8) {
		t.Errorf("k %v is not of interest", k)
	}
	for want, m := range map[string]metrics.Accumulator{"3e01a8ffb1ca0465": a, "a175e1a9c29ad383": b} {
		state, err := m.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(state)
		if got := hex.EncodeToString(sum[:8]); got != want {
			t.Errorf("%T has %s, want %s; %d bytes", m, got, want, len(state))
		}
	}
}
