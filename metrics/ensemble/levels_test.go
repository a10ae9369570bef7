package ensemble_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"

	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

// TestPinnedMembers checks that states have the same bytes on every CPU, at every instruction level.
func TestPinnedMembers(t *testing.T) {
	const members, rows, k = 3, 90, 70
	s := uint64(1)
	draw := func() float64 {
		s = s*6364136223846793005 + 1442695040888963407
		return float64(s >> 40)
	}
	logits := &metrics.Members{Kind: metrics.Logits, Labels: make([]int32, rows)}
	probs := &metrics.Members{Labels: logits.Labels}
	for i := range rows {
		logits.Labels[i] = int32(draw()) % k
		logits.Weights = append(logits.Weights, 0.25*float64(1+i%5))
	}
	for m := range members {
		z, p := metrics.Scores{Rows: rows, Classes: k}, metrics.Scores{Rows: rows, Classes: k}
		for i := range rows {
			sum := 0.0
			for range k {
				v := draw()
				z.F32 = append(z.F32, float32(v*0x1p-21))
				p.F64 = append(p.F64, v*v)
				sum += v * v
			}
			if m == 1 && i%7 == 0 { // an impossible class
				z.F32[i*k+i%k] = float32(math.Inf(-1))
			}
			for j := range k {
				p.F64[i*k+j] /= sum
			}
		}
		logits.Each, probs.Each = append(logits.Each, z), append(probs.Each, p)
	}
	isatest.Each(t, func(t *testing.T) {
		for want, e := range map[string]*metrics.Members{"0c9330825d41aacf": logits, "650572bdf659790c": probs} {
			accs := append(all(), metrics.Must(ensemble.NewDiversity(&ensemble.DiversityOptions{P: 2})))
			run(t, ensemble.InMemory(e), nil, accs...)
			sum := sha256.Sum256(state(t, accs...))
			if got := hex.EncodeToString(sum[:8]); got != want {
				t.Errorf("%v have %s, want %s", e.Kind, got, want)
			}
		}
	})
}
