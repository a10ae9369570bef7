package conformal_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/conformal"
	"github.com/candor-go/candor/predictions"
)

// TestReal fits to every other row of a ResNet-50 on CIFAR-10 and counts the sets of the others: the figures of docs/conformal.md.
func TestReal(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	folder := filepath.Join(dir, "cl_c10_resnet50_cv50k")
	r, err := predictions.Open([]string{filepath.Join(folder, "probs.npy")}, &predictions.Options{Labels: []string{filepath.Join(folder, "labels.npy")}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var p [2]*metrics.Predictions
	for i := range p {
		p[i] = ofRows(10, nil)
	}
	w := metrics.NewWalker(nil, metrics.NeedRows, func(b *metrics.Block) {
		for i := range b.Rows {
			h := p[b.Number(i)%2]
			for c := range 10 {
				h.F64 = append(h.F64, b.Probs.At(i, c))
			}
			h.Labels = append(h.Labels, b.Labels[i])
			h.Rows++
		}
	})
	if err := metrics.Feed(r, func(c *metrics.Chunk) error { w.Add(c); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method        string
		covered, size float64
	}{{"lac", 0.954, 1.54}, {"aps", 0.986, 4.35}, {"aps(randomized)", 0.955, 1.60}} {
		f := fitted(t, c.method, 0.95, p[0])
		tally := conformal.NewSetTally(10)
		fill := f.Sets()
		w := metrics.NewWalker(nil, metrics.NeedRows, func(b *metrics.Block) {
			sets := make([]bool, 10*b.Rows)
			fill(sets, b)
			for i := range b.Rows {
				tally.Add(sets[10*i:][:10], int(b.Labels[i]))
			}
		})
		w.Add(&metrics.Chunk{Predictions: *p[1]})
		if v, s := tally.All().Value(), tally.MeanSize(); math.Abs(v-c.covered) > 0.0005 || math.Abs(s-c.size) > 0.005 {
			t.Errorf("%s covers %.4f with %.3f classes, want %v and %v", c.method, v, s, c.covered, c.size)
		}
	}
	if !slices.Equal([]int{p[0].Rows, p[1].Rows}, []int{25000, 25000}) {
		t.Errorf("%d and %d rows", p[0].Rows, p[1].Rows)
	}
}
