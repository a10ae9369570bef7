package main

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics/eval"
)

// TestDecisionDocument holds what decisions and confidence scores change in a document, and that it says so.
func TestDecisionDocument(t *testing.T) {
	d := newDir(t)
	s := newSet(22, 3000, 4)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	dec, by := d.put("d.npy", s.decisionFile(t)), d.put("s.npy", s.byFile(t))
	run := func(flags ...string) (doc document, input map[string]any) {
		t.Helper()
		code, out, errs := candor(t, append([]string{"eval", x, "--labels", y, "--metrics", quick(4), "--json"}, flags...)...)
		if code != 0 {
			t.Fatal(errs)
		}
		var raw struct{ Input map[string]any }
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(out), &raw); err != nil {
			t.Fatal(err)
		}
		return doc, raw.Input
	}
	plain, in := run()
	if in["decisions"] != nil || in["confidence_scores"] != nil {
		t.Errorf("input is %v", in)
	}
	decided, in := run("--decisions", dec)
	if in["decisions"] != true || in["confidence_scores"] != nil {
		t.Errorf("input is %v", in)
	}
	scored, in := run("--confidence-scores", by)
	if in["decisions"] != nil || in["confidence_scores"] != true {
		t.Errorf("input is %v", in)
	}
	right, claimed := 0, 0.0
	for i, c := range s.decisions {
		if c == s.labels[i] {
			right++
		}
		claimed += float64(float32(s.probs[i*4+int(c)])) / 3000
	}
	if a, c := decided.value(t, "accuracy"), decided.value(t, "confidence"); a != float64(right)/3000 || math.Abs(c-claimed) > 1e-12 {
		t.Errorf("accuracy %v and confidence %v, want %v and %v", a, c, float64(right)/3000, claimed)
	}
	for key, m := range plain.Metrics {
		name, _, _ := strings.Cut(key, "(")
		ofOrder, ranked := strings.HasPrefix(eval.Describe(name).Options, "event="), false
		switch name {
		case "ece_sweep", "ece_equal_mass":
			ofOrder = true
		case "calibration_auc", "aurc", "eaurc", "augrc", "oracle_accuracy", "abstain_precision", "abstain_recall", "retention_accuracy", "retention_nll":
			ofOrder, ranked = true, true
		}
		ofDecision := ofOrder || key == "accuracy" || key == "balanced_accuracy" || key == "e_calibration" || key == "confidence" || key == "overconfidence"
		ofBins := strings.Contains(m.Text, "top label;")
		// A p-value may be 0 of both, and a number of bins the same.
		if got := decided.Metrics[key]; (got.Value == m.Value && !(strings.HasSuffix(name, "_p") && m.Value == 0.0) && name != "tcal_bins") == (ofDecision || ofBins) || (got.Text != m.Text) != (ofDecision || ofBins) {
			t.Errorf("with decisions %s is %v, without %v: %s", key, got.Value, m.Value, got.Text)
		}
		if ranked {
			if got := scored.Metrics[key]; got.Value == nil || got.Value == m.Value || got.Text != m.Text+"; in the order of the caller's confidence scores" {
				t.Errorf("with confidence scores %s is %+v, without %v", key, got, m.Value)
			}
			continue
		}
		if ofOrder {
			if got := scored.Metrics[key]; got.Value != nil || got.Low != nil || got.Text != m.Text || !strings.Contains(got.Reason, "it judges the probabilities themselves, not the caller's confidence scores") {
				t.Errorf("with confidence scores %s is %+v", key, got)
			}
			continue
		}
		if got := scored.Metrics[key]; (got.Text != m.Text) != ofBins || !ofBins && got.Value != m.Value {
			t.Errorf("with confidence scores %s is %v, without %v: %s", key, got.Value, m.Value, got.Text)
		}
	}
	if text := decided.Metrics["ece"].Text; !strings.Contains(text, "; the caller's decisions; ") {
		t.Error(text)
	}
	if text := scored.Metrics["ece"].Text; !strings.Contains(text, "; binned by the caller's scores; ") {
		t.Error(text)
	}
	if !slices.ContainsFunc(decided.Warnings, func(w string) bool { return strings.Contains(w, "of the caller's decisions") }) {
		t.Errorf("the warnings are %q", decided.Warnings)
	}
	if _, out, _ := candor(t, "eval", x, "--labels", y, "--confidence-scores", by); !strings.Contains(out, "Reliability by the caller's scores\n") {
		t.Error(out)
	}
	// By is i*37%101/100, so all of the 15 bins have about as many rows.
	for _, b := range scored.Bins {
		if b.Count < 150 || b.Count > 250 {
			t.Errorf("%+v", b)
		}
	}
}
