package main

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// TestLikeHelp: the help lists every metric whose definition a system changes, and none besides.
func TestLikeHelp(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "sample")
	overBins := strings.Fields(strings.NewReplacer(",", "", "and", "", ".", "").Replace(
		regexp.MustCompile(`(?s)Metrics over bins are (.*?)\. What`).FindStringSubmatch(likeHelp)[1]))
	// Of these the last paragraph says that the number of bins is the system's, and of two the event.
	numbers := []string{"ece_equal_mass", "ece_sweep", "sce", "ace", "tace"}
	last := regexp.MustCompile(`^(positive class|top label)|\b(15|30|14) (bins|equal-width bins|edges)|\bN/(15|30|14)\b`)
	of := func(set string, more ...string) *document {
		return evaluate(t, append([]string{filepath.Join(dir, set+"_probs.npy"), "--labels", filepath.Join(dir, set+"_labels.npy"),
			"--metrics", "all,aurc,spherical"}, more...)...)
	}
	plain := of("breast_cancer")
	for system, section := range map[string]string{"um": "tfp", "tfp": "torchmetrics", "torchmetrics": "guo", "guo": "blog", "blog": "All systems except"} {
		_, rest, _ := strings.Cut(likeHelp, "\n  "+system)
		text, _, ok := strings.Cut(rest, section)
		if !ok {
			t.Fatalf("no section of %s in the help", system)
		}
		named := slices.Clone(overBins)
		for _, l := range regexp.MustCompile(`(?m)^    ([a-z, ]+?)  `).FindAllStringSubmatch(text, -1) {
			named = append(named, strings.Split(l[1], ", ")...)
		}
		if slices.Contains(named, "brier") {
			named = append(named, "brier_uncertainty", "brier_resolution", "brier_reliability", "brier_within_bin")
		}
		like := of("breast_cancer", "--like", system)
		for key, m := range like.Metrics {
			was, is := plain.Metrics[key].Text, m.Text
			if slices.Contains(numbers, key) {
				was, is = last.ReplaceAllString(was, ""), last.ReplaceAllString(is, "")
			}
			listed := slices.ContainsFunc(named, func(n string) bool { ok, _ := path.Match(n, key); return ok })
			if was != is != listed && !(system == "um" && key == "tace") {
				t.Errorf("--like %s: %s is listed %v, and is %q in place of %q", system, key, listed, is, was)
			}
		}
	}
}
