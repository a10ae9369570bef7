package predictions

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestShardsKeepTheirLabels gives scores and labels whose names sort differently. Files given side by side must stay together.
func TestShardsKeepTheirLabels(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data any) string {
		var b bytes.Buffer
		n := int64(2)
		if err := WriteNPY(&b, []int64{n}, data); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	scores := []string{write("part10.npy", []float32{0.1, 0.2}), write("part2.npy", []float32{0.3, 0.4})}
	labels := []string{write("a.npy", []int32{10, 20}), write("b.npy", []int32{30, 40})}
	weights := []string{write("v.npy", []float64{1, 2}), write("u.npy", []float64{3, 4})}
	r, err := Open(scores, &Options{Labels: labels, Weights: weights, Decisions: labels, ConfidenceScores: weights})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var p []float32
	var y []int32
	var w []float64
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		p, y, w = append(p, c.F32...), append(y, c.Labels...), append(w, c.Weights...)
		if !slices.Equal(c.Decisions, c.Labels) || !slices.Equal(c.ConfidenceScores, c.Weights) {
			t.Errorf("decisions %v, confidence scores %v", c.Decisions, c.ConfidenceScores)
		}
		c.Recycle()
	}
	if !slices.Equal(p, []float32{0.3, 0.4, 0.1, 0.2}) || !slices.Equal(y, []int32{30, 40, 10, 20}) || !slices.Equal(w, []float64{3, 4, 1, 2}) {
		t.Errorf("scores %v, labels %v, weights %v", p, y, w)
	}
}
