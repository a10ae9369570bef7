package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/candor-go/candor/metrics/eval"
)

// TestPagesOfMetrics holds docs/metrics to the table of metrics: each family has a page, each metric a section there, whose formula,
// range, options, interval and source are those of its descriptor, and a line in the index. With -update it writes these parts anew.
func TestPagesOfMetrics(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join("..", "..", "docs", "metrics"))
	if err != nil {
		t.Fatal(err)
	}
	pages := []string{filepath.Join(dir, "README.md")}
	intervals := intervalsOf(t)
	var index strings.Builder
	for _, family := range eval.Families() {
		page := pageOf(family)
		pages = append(pages, filepath.Join(dir, page))
		fmt.Fprintf(&index, "### [%s](%s)\n\n| metric | what it says | range | better | for |\n| --- | --- | --- | --- | --- |\n", family, page)
		sections := map[string]string{}
		for _, d := range eval.Descriptors() {
			if d.Family() == family {
				sections[d.Name] = sectionOf(&d, intervals)
				fmt.Fprintf(&index, "| [`%s`](%s#%s) | %s | %s | %s | %s |\n", d.Name, page, d.Name, cell(d.Meaning), cell(d.Range), better(&d), cell(every(&d)))
			}
		}
		index.WriteString("\n")
		generated(t, filepath.Join(dir, page), `metric: (\S+)`, sections)
	}
	generated(t, pages[0], "(metrics)", map[string]string{"metrics": index.String()})
	all, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range all {
		if !slices.Contains(pages, page) {
			t.Errorf("%s is of no family", page)
		}
	}
}

// pageOf returns the name of a family's page.
func pageOf(family string) string {
	return strings.ReplaceAll(strings.ToLower(family), " ", "-") + ".md"
}

// generated compares the parts of a page that begin with "<!-- MARK -->", where the mark names one, and end with "<!-- end -->". Each has
// to be there once.
func generated(t *testing.T, page, mark string, parts map[string]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Error(err)
		return
	}
	found := map[string]int{}
	fresh := regexp.MustCompile(`(?ms)^<!-- `+mark+` -->\n(.*?)^<!-- end -->$`).ReplaceAllStringFunc(string(text), func(part string) string {
		head, shown, _ := strings.Cut(strings.TrimSuffix(part, "<!-- end -->"), "\n")
		name := regexp.MustCompile(mark).FindStringSubmatch(head)[1]
		found[name]++
		want, ok := parts[name]
		if !ok {
			t.Errorf("%s has a part of %s, which does not belong there", page, name)
			return part
		}
		if shown != want && !*update {
			t.Errorf("%s is not up to date: of %s it has\n%sand not\n%s", page, name, shown, want)
		}
		return head + "\n" + want + "<!-- end -->"
	})
	for name := range parts {
		if found[name] != 1 {
			t.Errorf("%s has %d parts of %s", page, found[name], name)
		}
	}
	if *update && fresh != string(text) {
		if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sectionOf returns the section of a metric: its heading, and what its descriptor has of each meaning.
func sectionOf(d *eval.Descriptor, intervals map[meaning]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n", d.Name)
	for _, m := range append([]eval.Descriptor{*d}, d.Also...) {
		fmt.Fprintf(&b, "\n%s.\n\n```math\n%s\n```\n\n", upper(m.Meaning), m.TeX())
		set := ""
		if m.Default {
			set = " In the default set."
		} else if m.Named && !strings.HasPrefix(d.Name, "multicalibration") && !strings.HasPrefix(d.Name, "grouping_loss") && !strings.Contains(d.Name, "temperature") { // which a flag adds
			set = " Only if it is named."
		}
		fmt.Fprintf(&b, "- **Range** %s; %s.%s\n", inMarkdown(m.Range), map[string]string{"lower": "lower is better", "higher": "higher is better", "0": "0 is best",
			"-": "neither end is better"}[better(&m)], set)
		if n := needs(&m); n != "" {
			fmt.Fprintf(&b, "- **For** %s\n", inMarkdown(n))
		}
		if m.Options != "" {
			var l []string
			for _, o := range strings.Split(m.Options, ", ") {
				l = append(l, "`"+o+"`")
			}
			fmt.Fprintf(&b, "- **Options** %s\n", strings.Join(l, ", "))
		}
		fmt.Fprintf(&b, "- **Interval** %s\n", inMarkdown(intervals[meaning{d.Name, kindOf(&m)}]))
		fmt.Fprintf(&b, "- **Source** %s\n", inMarkdown(m.Source))
	}
	return b.String()
}

func better(d *eval.Descriptor) string {
	return map[eval.Direction]string{eval.Lower: "lower", eval.Higher: "higher", eval.Zero: "0", eval.Neither: "-"}[d.Better]
}

// every joins the predictions that the meanings of a metric are for.
func every(d *eval.Descriptor) string {
	if len(d.Also) == 0 {
		return needs(d)
	}
	l := []string{cmp.Or(needs(d), "classes")}
	for i := range d.Also {
		l = append(l, needs(&d.Also[i]))
	}
	return strings.Join(l, "; ")
}

func needs(d *eval.Descriptor) string { return strings.TrimPrefix(d.Applies(), "it is for ") }

// upper returns a text with its first letter in upper case, unless it begins with the name of a metric or a sign.
func upper(text string) string {
	c, n := utf8.DecodeRuneInString(text)
	if first, _, _ := strings.Cut(text, " "); !unicode.IsLower(c) || isName(strings.Trim(first, ",:;")) || strings.Contains(first, "(") || strings.HasPrefix(first[1:], "-") {
		return inMarkdown(text)
	}
	return inMarkdown(string(unicode.ToUpper(c)) + text[n:])
}

// isName reports whether a word stands for a metric, and is not an English word.
func isName(word string) bool {
	return eval.Describe(word) != nil && !slices.Contains([]string{"accuracy", "bias", "confidence", "coverage", "disagreement", "entropy", "perplexity", "sharpness",
		"spherical", "temperature", "width"}, word)
}

// inMarkdown returns a text whose signs Markdown does not take for its own. Names and formulas stand as code.
func inMarkdown(text string) string {
	var formulas []string
	text = regexp.MustCompile(`\S+ \+- z\*s[^ ,;.]*|\w+\(\w+(?:=\w+)?\)|--(?:task|input) \w+`).ReplaceAllStringFunc(text, func(f string) string {
		formulas = append(formulas, "`"+f+"`")
		return "\x00"
	})
	text = strings.NewReplacer("*", `\*`, "<", `\<`).Replace(text)
	words := strings.Split(text, " ")
	for i, w := range words {
		if bare := strings.Trim(w, ",.:;()"); strings.Contains(bare, "_") || strings.HasPrefix(bare, "--") || isName(bare) {
			words[i] = strings.Replace(w, bare, "`"+bare+"`", 1)
		}
	}
	text = strings.Join(words, " ")
	for _, f := range formulas {
		text = strings.Replace(text, "\x00", f, 1)
	}
	return text
}

// cell is inMarkdown for a table.
func cell(text string) string { return strings.ReplaceAll(inMarkdown(text), "|", `\|`) }

// meaning is a metric of a kind of predictions.
type meaning struct{ name, kind string }

// kindOf returns the kind of predictions that a metric is for, by the flag that its needs name; "" for classes.
func kindOf(d *eval.Descriptor) string {
	m := regexp.MustCompile(`--(?:task|input) (\w+)`).FindStringSubmatch(d.Applies())
	if m == nil {
		return ""
	}
	return m[1]
}

// intervalsOf evaluates sets that together have all metrics, and returns by what method the interval of each is found, or why there is
// none. Two classes come first, since some metrics have no interval of more.
func intervalsOf(t *testing.T) map[meaning]string {
	t.Helper()
	d := newDir(t)
	d.put("clear.npy", npy(t, []int64{40, 2}, slices.Repeat([]float32{1.5, 4, 3, 0.5}, 20)))
	d.put("clear_labels.npy", npy(t, []int64{40}, slices.Repeat([]int32{1, 0, 0, 1, 0}, 8)))
	d.put("bytes.npy", npy(t, []int64{40}, slices.Repeat([]int32{3, 5}, 20)))
	d.put("sequences.npy", npy(t, []int64{40}, append(slices.Repeat([]int32{0}, 15), slices.Repeat([]int32{1}, 25)...)))
	root := filepath.Join("..", "..", "testdata")
	in := func(folder, name string) string { return filepath.Join(root, folder, name) }
	found, why := map[meaning][]string{}, map[meaning]string{}
	for _, c := range []struct {
		kind string
		args []string
	}{
		{"", []string{in("sample", "breast_cancer_probs.npy"), "--labels", in("sample", "breast_cancer_labels.npy"), "--metrics", "all,topk_accuracy,spce,net_benefit,expected_cost,avoidable_cost,least_cost_threshold,coverage_at_risk,threshold_at_risk"}},
		{"", []string{"--metrics", "all,canonical_skce,canonical_skce_p"}},
		{"", []string{in("sample", "digits_logits.npy"), "--labels", in("sample", "digits_labels.npy"), "--input", "logits", "--costs", in("examples", "digits_costs.csv")}},
		{"", []string{"--temperature-scaled"}},
		{"", []string{d.at("clear.npy"), "--labels", d.at("clear_labels.npy"), "--input", "logits", "--bytes", d.at("bytes.npy"), "--sequence", d.at("sequences.npy"),
			"--metrics", "bits_per_byte,sequence_nll"}},
		{"", []string{in("examples", "seen.npy"), "--labels", in("examples", "seen_labels.npy"), "--ood", in("examples", "unseen.npy"), "--metrics", "all"}},
		{"", []string{in("examples", "wards.csv"), "--prob", "p", "--labels", "y", "--slice-by", "site", "--metrics", "all,grouping_loss,grouping_loss_explained,grouping_loss_induced"}},
		{"dirichlet", []string{d.at("clear.npy"), "--labels", d.at("clear_labels.npy"), "--input", "dirichlet", "--metrics", "all"}},
		{"ensemble", []string{in("examples", "members.npy"), "--labels", in("examples", "member_labels.npy"), "--task", "ensemble", "--metrics", "all"}},
		{"multivariate_normal", []string{in("examples", "flowers_normal.npz"), "--task", "multivariate_normal"}},
		{"regression", []string{in("sample", "diabetes_gaussian.npz"), "--task", "regression", "--metrics", "all,coverage,width,rms_calibration,twcrps,interval_score_mcb,interval_score_dsc,interval_score_unc"}},
		{"quantiles", []string{in("golden", "covid_eu_quantiles23.csv.gz"), "--task", "quantiles", "--quantile-prefix", "q", "--metrics", "all"}},
		{"samples", []string{in("examples", "draws.npy"), "--labels", in("examples", "observed.npy"), "--task", "samples", "--metrics", "all"}},
		{"loglik", []string{in("examples", "loglik.npy"), "--task", "loglik", "--metrics", "all"}},
		{"multivariate", append(vectorFiles(t, d, "vectors", 3, 200, 9, 3), "--metrics", "all")},
		{"survival", []string{gbsg2, "--task", "survival", "--prob-prefix", "risk_", "--horizons", "720", "--metrics", "all"}},
	} {
		code, out, errs := candor(t, append([]string{"eval", "--json"}, c.args...)...)
		var doc struct {
			Metrics map[string]struct {
				Value, Low     any
				Method, Reason string
			}
		}
		if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil {
			t.Fatalf("candor eval %v: exit code %d, %v: %s", c.args, code, err, errs)
		}
		for name, m := range doc.Metrics {
			key := meaning{name, c.kind}
			if m.Low != nil {
				method, _, _ := strings.Cut(m.Method, "; rows taken as independent")
				if !slices.Contains(found[key], method) {
					found[key] = append(found[key], method)
				}
			} else if m.Value != nil && why[key] == "" {
				why[key] = reasonOf(m.Reason)
			}
		}
	}
	said := map[meaning]string{}
	for _, d := range eval.Descriptors() {
		for _, m := range append([]eval.Descriptor{d}, d.Also...) {
			key := meaning{d.Name, kindOf(&m)}
			if said[key] = why[key]; len(found[key]) > 0 {
				said[key] = strings.Join(found[key], "; or ")
			}
			if said[key] == "" {
				t.Errorf("no set has %s of %q", d.Name, key.kind)
			}
		}
	}
	return said
}

// reasonOf shortens the reason why a set has no interval to what holds for every set.
func reasonOf(reason string) string {
	reason, _, _ = strings.Cut(reason, "; a calibrated forecast would")
	switch of, computed := strings.CutPrefix(reason, "no interval is computed"); {
	case reason == "" || computed:
		return "none" + of
	default:
		return "none: " + strings.TrimPrefix(strings.TrimPrefix(reason, "no interval: "), "no interval; ")
	}
}
