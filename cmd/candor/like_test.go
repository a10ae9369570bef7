package main

import (
	"path/filepath"
	"testing"
)

// TestLikeJudgesBinaryTasksAsTheSystemDoes: plain ece of a vector is the positive class's, for torchmetrics too; the other
// systems know the top label only.
func TestLikeJudgesBinaryTasksAsTheSystemDoes(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "sample")
	args := []string{filepath.Join(dir, "breast_cancer_probs.npy"), "--labels", filepath.Join(dir, "breast_cancer_labels.npy"), "--metrics", "default,ece_positive,ece_top_label"}
	for system, same := range map[string]string{"": "ece_positive", "torchmetrics": "ece_positive", "um": "ece_top_label",
		"tfp": "ece_top_label", "guo": "ece_top_label", "blog": "ece_top_label"} {
		a := args
		if system != "" {
			a = append(a[:len(a):len(a)], "--like", system)
		}
		d := evaluate(t, a...)
		if got, want := d.value(t, "ece"), d.value(t, same); got != want {
			t.Errorf("--like %q: ece is %v, %s is %v", system, got, same, want)
		}
	}
}
