package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics/eval"
)

// spelled lists each metric that takes options, with some of them, for predictions of this many classes.
func spelled(classes int) string {
	l := []string{quick(classes), "topk_accuracy(k=2)", "topk_accuracy(k=2,ties=last)", "topk_accuracy(k=2,ties=all)", "nll(clip=1e-7)", "nll(clip=0.1,rescale=after)", "brier(form=per_class)", "ece(bins=30,adaptive,norm=l2)", "ece(adaptive,norm=max)", "ece(norm=l2)", "ece(norm=max,bins=3)",
		"ece(bins=7,closed=right,norm=l2)", "ece(zero=dropped)", "ece_floor(bins=4,closed=right)", "ece_floor_q95(bins=5)", "ece_p(bins=2)", "mce(adaptive,bins=3)", "mce(closed=right)",
		"rmsce(adaptive)", "rmsce(bins=2,zero=own)", "rmsce_debiased(bins=8)", "calibration_error_squared(bins=8)", "calibration_error_squared(adaptive)", "rmsce_debiased(adaptive)", "rmsce_debiased(closed=right,variance=kumar)", "rmsce_debiased(adaptive,variance=kumar)", "ece_unweighted(bins=10)", "ece_unweighted(adaptive)", "ece_unweighted(closed=right,zero=own)", "ace(bins=7,norm=l2)", "ace(threshold=0.3)", "sce(closed=right)",
		"sce(bins=4,norm=l2,threshold=0.05)", "sce(threshold=0.999)", "tace(threshold=1e-3)", "tace(threshold=0.999)", "tace(bins=3,norm=l2,threshold=0.999)", "tace(threshold=0)",
		"ece_equal_mass(bins=5,norm=max)", "ece_equal_mass(norm=l2)", "smooth_ece(event=top)", "ks(event=top)", "ks_p(event=top)",
		"kuiper(event=top)", "kuiper_p(event=top)", "skce(event=top)", "skce_p(bandwidth=0.05)", "mmce(event=top,bandwidth=2)", "canonical_skce(bandwidth=2,frequencies=5)", "canonical_skce_p(frequencies=3,replicates=19)", "tcal(event=top)", "tcal_bins(bins=7)", "tcal_p(event=top)", "tcal_p(bins=16)", "spiegelhalter_z(event=top)", "spiegelhalter_p(event=top)",
		"ici(event=top)", "ici(smoother=loess)", "e50(smoother=loess,span=0.7,delta=0.01)", "e90(smoother=loess,delta=0)", "hosmer_lemeshow(event=top,groups=4)", "hosmer_lemeshow(even)", "hosmer_lemeshow_p(event=top,groups=3)", "hosmer_lemeshow_p(fitted)", "hosmer_lemeshow_p(even,fitted,groups=20)",
		"giviti(event=top)", "giviti_degree(degree=2)", "giviti_p(fitted)", "giviti_p(degree=3)", "calibration_slope(event=top)", "calibration_intercept(unit_slope)", "corp_mcb(score=log,replicates=20)", "corp_dsc(score=log,replicates=20)",
		"corp_unc(score=log,replicates=20)", "corp_mcb_floor(replicates=30)", "spce(smoothing=spline,weights=chi,normalize)", "spce(folds=2,orthogonal,weights=relative)",
		"brier_uncertainty(by=class)", "brier_resolution(as_coded=um)", "brier_reliability(as_coded=tfp)", "brier_within_bin(by=class)",
		"auroc(average=macro)", "auroc(average=ovo)", "auroc(average=micro)", "auprc(average=weighted)", "aurc(replicates=30)", "eaurc(replicates=30)", "augrc(replicates=30)",
		"oracle_accuracy(fraction=0.3)", "oracle_accuracy(fraction=0.3,bins=10)", "abstain_precision(fraction=0.3,most=2)", "abstain_recall(fraction=0.7)", "abstain_recall(bins=5,fraction=1)",
		"coverage_at_risk(risk=0.2,confidence=0.9,steps=20)", "threshold_at_risk(risk=0.3,steps=4)", "retention_accuracy(oracle)", "retention_nll(oracle,trapezoid)", "retention_nll(trapezoid)",
		"ece_bayes_mean(bins=4,draws=100,as_coded)", "ece_bayes_q10(closed=right,draws=100)", "ece_bayes_q50(draws=100,zero=own)", "ece_bayes_q90(bins=2,draws=100)",
		"multicalibration_error(every)", "multicalibration_error_relative(every)", "multicalibration_error_sigma(every)", "multicalibration_error_p(every)", "grouping_loss(bins=5)", "grouping_loss_explained(bins=20)", "grouping_loss_induced(bins=5)"}
	if classes <= 2 {
		l = append(l, "auroc(max_fpr=0.2)", "auroc(thresholds=20)", "auroc(thresholds=9,summation=majoring)", "auprc(area=trapezoid)", "auprc(area=davis_goadrich)", "auprc(thresholds=20,summation=minoring)",
			"oracle_auc(fraction=0.2)", "oracle_auc(curve=pr,thresholds=20,fraction=0.2)", "oracle_auc(within=0.1)", "oracle_auc(most=3,fraction=1)", "brier_resolution(bins=4)", "brier_reliability(by=bins)",
			"net_benefit(threshold=0.2)", "net_benefit(over=all,threshold=0.2)", "expected_cost(fn=5)", "expected_cost(fn=5,fp=2,threshold=0.4,tn=1,tp=1)", "avoidable_cost(fn=5)", "least_cost_threshold(fn=5)",
			"corp_mcb(event=top,replicates=20)", "smooth_ece(event=positive)", "ece_positive(adaptive,bins=4)", "ece_top_label(adaptive,bins=4,norm=l2)", "ece_top_label(closed=right)", "ece_positive(norm=max)")
	}
	return strings.Join(l, ",")
}

// TestSpelled: each metric that takes options is among those above with some.
func TestSpelled(t *testing.T) {
	l, err := eval.ParseMetrics(spelled(2), eval.Shape{Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := eval.ParseMetric("calibration_auc(exact)") // which is in no state, as those above are
	if err != nil {
		t.Fatal(err)
	}
	l = append(l, kept)
	for _, c := range shapes {
		also, err := eval.ParseMetrics(c.metrics, c.Shape)
		if err != nil {
			t.Fatal(err)
		}
		l = append(l, also...)
	}
	for _, d := range eval.Descriptors() {
		if d.Options != "" && !slices.ContainsFunc(l, func(m eval.Metric) bool { return strings.HasPrefix(m.String(), d.Name+"(") }) {
			t.Errorf("%s is not there with options", d.Name)
		}
	}
}

// edges are data sets for which some answers are undefined.
func edges() []law {
	s, b := newSet(31, 40, 4), newSet(32, 40, 1)
	sure := func(s *set, right bool) *set {
		o := s.clone()
		for i := range o.rows {
			y := int(o.labels[i])
			if !right {
				y = (y + 1) % max(2, o.classes)
			}
			for j := range o.classes {
				switch {
				case o.classes == 1:
					o.probs[i] = float64(y)
				case j == y:
					o.probs[i*o.classes+j] = 1
				default:
					o.probs[i*o.classes+j] = 0
				}
			}
		}
		return o
	}
	// Right or wrong throughout, with confidences that differ.
	apart := func(right bool) *set {
		o := b.clone()
		for i, p := range o.probs {
			if o.labels[i] = 0; p > 0.5 == right {
				o.labels[i] = 1
			}
		}
		return o
	}
	none := s.clone()
	for i := range none.rows {
		none.weights[i] = 0
	}
	none.weights[7] = 2
	one := func(classes int) *set { return newSet(33, 1, classes) }
	w, dec, by := []string{"--weights"}, []string{"--decisions"}, []string{"--confidence-scores"}
	return []law{
		{"one row", one(4), nil}, {"one row of two classes", one(2), []string{"--task", "classification"}}, {"one row binary", one(1), nil}, {"one row with a weight", one(3), w}, {"one row binary with a weight", one(1), w},
		{"two rows", s.part(0, 2), nil}, {"two rows binary", b.part(0, 2), nil}, {"three rows binary", b.part(0, 3), nil},
		{"right and sure", sure(s, true), nil}, {"right and sure binary", sure(b, true), nil}, {"wrong and sure", sure(s, false), nil}, {"wrong and sure binary", sure(b, false), nil},
		{"right", apart(true), nil}, {"wrong", apart(false), nil}, {"right with weights", apart(true), w},
		{"equal confidences", s.each(func(float64) float64 { return 0.25 }), nil}, {"equal confidences binary", b.each(func(float64) float64 { return 0.75 }), nil},
		{"halves", b.each(func(float64) float64 { return 0.5 }), nil}, {"all 0", b.each(func(float64) float64 { return 0 }), nil},
		{"equal confidences with weights", b.each(func(float64) float64 { return 0.25 }), w},
		{"weights", s, w}, {"weights binary", b, w}, {"one weight that is not 0", none, w},
		{"decisions", s, dec}, {"decisions binary", b, dec}, {"confidence scores", s, by}, {"confidence scores binary", b, by}, {"one row with a confidence score", one(1), by},
		{"all beside it", b, []string{"--weights", "--decisions", "--confidence-scores"}}, {"one row with all beside it", one(3), []string{"--weights", "--decisions", "--confidence-scores"}},
		{"um", s, []string{"--like", "um"}}, {"blog", b, []string{"--like", "blog"}}, {"one row tfp", one(3), []string{"--like", "tfp"}}, {"all 0 um", b.each(func(float64) float64 { return 0 }), []string{"--like", "um"}},
		{"all 0 torchmetrics", b.each(func(float64) float64 { return 0 }), []string{"--like", "torchmetrics"}},
	}
}

// TestReasons: whatever the rows, a metric is a number or says why it is not, and so is its interval. The forms of output, made of the
// state, are looked at by turns, and all for all rows if nothing is left out.
func TestReasons(t *testing.T) {
	for n, l := range edges() {
		if testing.Short() && n%5 != 0 {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			d := newDir(t)
			l.flags = append(slices.Clone(l.flags), "--metrics", spelled(l.set.classes))
			if slices.Contains(l.flags, "tfp") || slices.Contains(l.flags, "torchmetrics") {
				l.flags[len(l.flags)-1] = quickAll // their bins have no closed side
			}
			paths, flags := shards(t, d, l, []int{0, l.set.rows}, 1)
			args := append(append(append([]string{"eval"}, paths...), flags...), "--state", d.at("s.state"))
			code, out, errs := candor(t, append(args, "--json")...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			checkDocument(t, l, out)
			var doc struct{ Metrics map[string]map[string]any }
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatal(err)
			}
			for key, m := range doc.Metrics {
				// What is not defined is said in words, and as something that it is.
				if r, ok := m["reason"]; ok && (r == "" || strings.HasPrefix(fmt.Sprint(r), "calib") || r == "no rows") {
					t.Errorf("%s: the reason is %q", key, r)
				}
				if (m["value"] == nil || m["low"] == nil) != (m["reason"] != nil) {
					t.Errorf("%s: %v", key, m)
				}
				name, _, _ := strings.Cut(key, "(")
				if v, ok := m["value"].(float64); ok && (v < 0 || v > 1) && eval.Describe(name).Range == "[0, 1]" && !asCoded(key) {
					t.Errorf("%s is %v", key, v)
				}
			}
			formats := []string{"table", "markdown", "csv", "json"}
			if !check.Full() {
				formats = formats[n%4:][:1]
			}
			for _, f := range formats {
				code, text, errs := candor(t, "merge", "--format", f, d.at("s.state"))
				if f == "json" {
					if text != out {
						t.Errorf("the document of the state differs: %s", errs)
					}
					continue
				}
				if code != 0 || strings.Contains(text, "NaN") {
					t.Errorf("%s: exit code %d: %s%s", f, code, errs, text)
				}
				flat := strings.Join(strings.Fields(text), " ")
				for key, m := range doc.Metrics {
					if f != "csv" && m["value"] == nil && (!strings.Contains(flat, m["reason"].(string)) || !strings.Contains(flat, "there is no ")) {
						t.Errorf("the %s does not say why there is no %s", f, key)
					}
				}
			}
		})
	}
}

// asCoded reports whether a metric is as another program has it, whose figures may be beyond what they are to be.
func asCoded(key string) bool {
	return strings.Contains(key, "as_coded") || (strings.HasPrefix(key, "oracle_") || strings.HasPrefix(key, "abstain_")) && (strings.Contains(key, "bins=") || strings.Contains(key, "thresholds="))
}

// TestDefined: what is defined at the edge, and what is not.
func TestDefined(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		edge string
		want map[string]float64 // NaN: not defined
	}{
		{"one row", map[string]float64{"auroc": nan, "eaurc(replicates=20)": 0, "abstain_precision": nan, "oracle_accuracy": 1, "retention_accuracy": 1, "brier_resolution": 0, "brier_uncertainty": 0, "brier_skill": nan, "nll_skill": nan, "calibration_auc": nan, "rmsce_debiased": nan, "tace(threshold=0.999)": nan, "sce(threshold=0.999)": nan}},
		{"right and sure", map[string]float64{"accuracy": 1, "ece": 0, "mce": 0, "ace": 0, "sce": 0, "tace": 0, "tace(threshold=0.999)": 0, "ece_sweep": 0, "ece_floor": 0, "ece_p": 1, "detectable_gap": 0, "aurc": 0, "calibration_auc": nan, "rmsce_debiased": 0,
			"eaurc(replicates=20)": 0, "augrc(replicates=20)": 0, "oracle_accuracy": 1, "abstain_precision": nan, "abstain_precision(fraction=0.3,most=2)": 0, "abstain_recall": nan, "retention_accuracy": 1, "retention_nll": 0,
			"spherical": 0, "rps": 0, "brier_skill": 1, "nll_skill": 1, "brier_reliability": 0, "brier_within_bin": 0, "brier_reliability(as_coded=tfp)": 0}},
		{"right and sure binary", map[string]float64{"auroc": 1, "auprc": 1, "oracle_auc": 1, "auroc(thresholds=20)": 1, "brier_reliability": 0, "brier_skill": 1, "nll_skill": 1}},
		{"wrong and sure binary", map[string]float64{"auroc": 0, "augrc(replicates=20)": 0.5, "abstain_recall(fraction=0.7)": 0.7, "nll_skill": math.Inf(-1), "retention_nll": math.Inf(1), "spherical": 1, "rps": 1}},
		{"wrong", map[string]float64{"auroc": 0, "eaurc(replicates=20)": 0, "oracle_accuracy(fraction=0.3)": 0.3, "abstain_precision(fraction=0.3,most=2)": 1, "retention_accuracy": 1.0 / 41}},
		{"all 0", map[string]float64{"auroc": 0.5, "brier_resolution": 0, "brier_within_bin": 0, "oracle_auc(within=0.1)": 1}},
		{"halves", map[string]float64{"auroc": 0.5, "brier_resolution": 0, "brier_within_bin": 0, "spherical": 1 - math.Sqrt2/2}},
		{"wrong and sure", map[string]float64{"accuracy": 0, "ece": 1, "mce": 1, "rmsce": 1, "ece(adaptive,norm=max)": 1, "ece_sweep": 1, "aurc": 1, "ece_p": 0, "calibration_auc": nan}},
		{"equal confidences binary", map[string]float64{"aurc": nan, "calibration_auc": 0.5, "auroc": 0.5}},
		{"confidence scores binary", map[string]float64{"ks": nan, "smooth_ece": nan, "brier_resolution": nan}},
		{"confidence scores", map[string]float64{"oracle_accuracy(bins=10,fraction=0.3)": nan, "abstain_recall(bins=5,fraction=1)": nan, "ece_sweep": nan, "ece_equal_mass": nan, "ece(adaptive,bins=30,norm=l2)": nan}},
		{"weights", map[string]float64{"ece_floor": nan, "ece_floor_q95": nan, "ece_p": nan, "detectable_gap": nan}},
	} {
		l := edges()[slices.IndexFunc(edges(), func(l law) bool { return l.name == c.edge })]
		d := newDir(t)
		l.flags = append(slices.Clone(l.flags), "--metrics", spelled(l.set.classes))
		paths, flags := shards(t, d, l, []int{0, l.set.rows}, 1)
		doc := evaluate(t, append(paths, flags...)...)
		if c.edge == "equal confidences binary" {
			c.want["aurc"] = 1 - doc.value(t, "accuracy") // in random order
		}
		for key, want := range c.want {
			if got := doc.value(t, key); got != want && !(math.IsNaN(got) && math.IsNaN(want)) && !(math.Abs(got-want) < 1e-12) {
				t.Errorf("%s: %s is %v, want %v (%s)", c.edge, key, got, want, doc.Metrics[key].Reason)
			}
		}
	}
}

// TestEntries: entries that do not fit into the memory are no fault. The metric says how many bytes they take, and the others are
// what they are with more of it.
func TestEntries(t *testing.T) {
	d := newDir(t)
	s := newSet(41, 20_000, 64)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	run := func(memory string) *document {
		t.Helper()
		return evaluate(t, x, "--labels", y, "--metrics", "default,ace,sce,tace(threshold=0.2)", "--max-memory", memory)
	}
	small, large := run("57MiB"), run("120MiB") // as the reason says
	a := small.Metrics["ace"]
	if a.Value != nil || a.Low != nil {
		t.Errorf("ace is %+v", a)
	}
	for _, w := range []string{"its entries take 5120000 bytes and there is room for 1887436: pass --max-memory 73MiB, or give a threshold or take sce"} {
		if !strings.Contains(a.Reason, w) {
			t.Errorf("the reason %q does not say %q", a.Reason, w)
		}
	}
	if v := large.value(t, "ace"); !(v > 0 && v < 1) {
		t.Errorf("ace is %+v", large.Metrics["ace"])
	}
	for key := range large.Metrics {
		if a, b := small.value(t, key), large.value(t, key); a != b && key != "ace" {
			t.Errorf("%s is %v within a little memory, %v within more", key, a, b)
		}
	}
	// Where nothing is kept, memory leaves no trace.
	var states []string
	for _, memory := range []string{"57MiB", "1GiB"} {
		doc := evaluate(t, x, "--labels", y, "--metrics", "default,sce", "--max-memory", memory, "--state", d.at(memory))
		states = append(states, doc.State.SHA256)
	}
	if states[0] != states[1] {
		t.Error("a state of the default metrics depends on --max-memory")
	}
	// A gate on it is not passed.
	if code, _, errs := candor(t, "eval", x, "--labels", y, "--max-memory", "57MiB", "--fail-if", "ace>1"); code != exitGate || !strings.Contains(errs, "ace.value is not defined: its entries take") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
