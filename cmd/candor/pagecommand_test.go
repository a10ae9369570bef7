package main

import (
	"html"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// notOnPages are flags that the command on a page leaves out, with the reason.
var notOnPages = map[string]string{}

func init() {
	for reason, flags := range map[string]string{
		"PREDICTIONS, LABELS and the like stand for what is read, and for how: no state keeps it": "prob prob-prefix logit-prefix label-prefix pivot id on-unmatched classes no-header percent bfloat16 member-axis " +
			"mean std scale error quantile-prefix levels curve-times model target output-type oracle tasks-json bytes sequence target-delimiter filter name files-from shard expect",
		"it changes no answer, only how one is found":       "quiet threads max-memory checkpoint checkpoint-every resume first-row",
		"the metrics that it leaves are named by --metrics": "common",
		"it asks for a further output":                      "output format json plot plot-y plot-kind report fail-if require state flips html help",
	} {
		for _, f := range strings.Fields(flags) {
			notOnPages[f] = reason
		}
	}
}

// TestPageCommands holds that the command on a page has every flag that changes the page: each flag of a command that writes pages is seen
// on one, or is among notOnPages.
func TestPageCommands(t *testing.T) {
	d := newDir(t)
	set := newSet(2, 300, 3)
	x, y, w := d.put("x.npy", set.scores(t)), d.put("y.npy", set.labelFile(t)), d.put("w.npy", set.weightFile(t))
	z := d.put("z.npy", newSet(3, 300, 3).scores(t))
	logits := newSet(2, 300, 3)
	for i, v := range logits.probs {
		logits.probs[i] = 2 * math.Log(v)
	}
	l := d.put("l.npy", logits.scores(t))
	holed := newSet(2, 300, 3)
	holed.probs[5] = math.NaN()
	h := d.put("h.npy", holed.scores(t))
	lm := samples(t, "one", "full")
	ood, chosen := d.put("o.npy", newSet(5, 40, 3).scores(t)), d.put("d.npy", set.decisionFile(t))
	rows, forecasts := newFrame("p", "q", "right", "place", "y"), newFrame("mu", "sigma", "series", "y", "q0.1", "q0.5", "q0.9")
	for i := range 300 {
		p := set.probs[3*i]
		rows.row(p, 1-p, float64(i%2), float64(i%3), float64(i%5/3))
		forecasts.row(float64(i%7), 1+float64(i%3), float64(i/100), float64(i%7)+2*p-1, float64(i%7), float64(i%7)+0.5, float64(i%7)+1)
	}
	table, numbers := d.put("t.csv", rows.csv()), d.put("f.csv", forecasts.csv())
	group := d.put("g.npy", textArray(strings.Split(strings.Repeat("a,b,c,", 100), ",")[:300]))
	a, b, two := d.at("a.state"), d.at("b.state"), d.at("two.state")
	printed(t, "eval", x, "--labels", y, "--group", group, "--state", a)
	printed(t, "eval", z, "--labels", y, "--state", b)
	printed(t, "compare", x, z, "--labels", y, "--group", group, "--state", two)
	lives := d.put("lives.csv", []byte("days,died,risk_360,risk_720\n100,1,0.25,0.5\n900,0,0.125,0.25\n500,1,0.25,0.75\n2000,0,0.125,0.5\n"))
	seen := map[string]map[string]bool{}
	for _, c := range []struct {
		command string
		args    []string
		has     string
	}{
		{"eval", []string{x, "--labels", y, "--weights", w, "--bins", "7", "--confidence", "0.9", "--metrics", "nll,ece"}, "labels weights bins confidence metrics"},
		{"eval", []string{x, "--labels", y, "--metrics", "eaurc(replicates=20)", "--seed", "3", "--decisions", chosen}, "seed decisions"},
		{"eval", []string{x, "--labels", y, "--confidence-scores", w, "--like", "guo"}, "confidence-scores like"},
		{"eval", []string{x, "--labels", y, "--costs", d.put("costs.csv", []byte("0,1,1,0.2\n1,0,1,0.2\n1,1,0,0.2\n"))}, "costs"},
		{"eval", []string{x, "--labels", y, "--ood", ood, "--renormalize", "--ignore-label", "2"}, "ood renormalize ignore-label"},
		{"eval", []string{l, "--labels", y, "--input", "logits", "--temperature-scaled", "--cluster", group}, "input temperature-scaled cluster"},
		{"eval", []string{table, "--prob", "p,q", "--task", "classification", "--label", "y"}, "task"},
		{"eval", []string{h, "--labels", y, "--on-invalid", "drop"}, "on-invalid"},
		{"eval", []string{lm, "--from", "lm-eval", "--choice-norm", "char"}, "from choice-norm"},
		{"eval", []string{numbers, "--task", "quantiles", "--quantile-prefix", "q", "--observed", "y", "--transform", "log1p"}, "task transform"},
		{"compare", []string{lm, lm, "--from", "lm-eval", "--choice-norm", "char"}, "from choice-norm"},
		{"compare", []string{h, x, "--labels", y, "--on-invalid", "drop"}, "on-invalid"},
		{"compare", []string{numbers, numbers, "--task", "quantiles", "--quantile-prefix", "q", "--observed", "y", "--transform", "log1p"}, "task transform"},
		{"compare", []string{table, table, "--prob", "p", "--correct", "right"}, "correct"},
		{"eval", []string{table, "--prob", "p", "--label", "y", "--slice-by", "place", "--slice-edges", "place=0,1,2", "--min-rows", "2", "--adjust", "bh"}, "slice-by slice-edges min-rows adjust"},
		{"eval", []string{x, "--labels", y, "--group", group, "--min-rows", "5", "--adjust", "bh"}, "group min-rows adjust"},
		{"eval", []string{table, "--prob", "p", "--correct", "right"}, "correct"},
		{"eval", []string{numbers, "--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y", "--distribution", "t(df=5)"}, "task observed distribution"},
		{"compare", []string{x, z, "--labels", y, "--weights", w, "--bins", "7", "--confidence", "0.9", "--metrics", "nll,ece"}, "labels weights bins confidence metrics"},
		{"compare", []string{l, l, "--labels", y, "--input", "logits", "--like", "um", "--ignore-label", "2", "--cluster", group}, "input like ignore-label cluster"},
		{"compare", []string{x, z, "--labels", y, "--temperature-scaled", "--metrics", "eaurc(replicates=20)", "--seed", "3"}, "temperature-scaled seed"},
		{"compare", []string{x, z, "--labels", y, "--renormalize"}, "renormalize"},
		{"compare", []string{x, z, "--labels", y, "--group", group, "--min-rows", "5", "--adjust", "bh", "--margin", "nll=0.1,accuracy=0.05", "--baseline", "z"}, "group min-rows adjust margin baseline"},
		{"compare", []string{numbers, numbers, "--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y", "--horizon", "2", "--series", "series", "--distribution", "t(df=5)"}, "task observed horizon series distribution"},
		{"eval", []string{lives, "--task", "survival", "--prob-prefix", "risk_", "--time", "days", "--event", "died", "--horizons", "720"}, "task time horizons"},
		{"compare", []string{lives, lives, "--task", "survival", "--prob-prefix", "risk_", "--time", "days", "--event", "died", "--horizons", "720"}, "task time horizons"},
		{"eval", vectorFiles(t, d, "vectors", 3, 60, 3, 3), "task labels"},
		{"merge", []string{a, a, "--min-rows", "5", "--adjust", "bh"}, "min-rows adjust"},
		{"merge", []string{two, two, "--min-rows", "5", "--adjust", "bh", "--margin", "nll=0.1"}, "min-rows adjust margin"},
		{"drift", []string{a, b, "--confidence", "0.9", "--adjust", "bh"}, "confidence adjust"},
		{"recal fit", []string{"temperature", l, "--labels", y, "--weights", w, "--input", "logits", "--ignore-label", "2"}, "labels weights input ignore-label"},
		{"recal fit", []string{"isotonic", table, "--prob", "p", "--label", "y", "--event", "0", "--folds", "3", "--seed", "7", "--metrics", "nll,ece", "--bins", "7", "--confidence", "0.9"}, "event folds seed metrics bins confidence"},
		{"recal fit", []string{"sigma", numbers, "--mean", "mu", "--std", "sigma", "--observed", "y", "--task", "regression"}, "task observed"},
		{"recal fit", []string{"platt", table, "--prob", "p", "--label", "y", "--cluster", "place"}, "cluster"},
	} {
		page := d.at("page.html")
		args := slices.Concat(strings.Fields(c.command), c.args, []string{"--html", page})
		if code, _, errs := candor(t, args...); code != exitDone {
			t.Errorf("%q: %s", args, errs)
			continue
		}
		m := pageCommand.FindStringSubmatch(string(d.read(page)))
		if m == nil {
			t.Errorf("%q: the page has no command", args)
			continue
		}
		words := shellWords(html.UnescapeString(m[1]))
		for _, f := range strings.Fields(c.has) {
			if !slices.ContainsFunc(words, func(w string) bool { return w == "--"+f || strings.HasPrefix(w, "--"+f+"=") }) {
				t.Errorf("%q: the page says %q, without --%s", args, words, f)
			}
			if seen[c.command] == nil {
				seen[c.command] = map[string]bool{}
			}
			seen[c.command][f] = true
		}
	}
	for name := range seen {
		c, _, err := rootCommand().Find(strings.Fields(name))
		if err != nil {
			t.Fatal(err)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			without := notOnPages[f.Name] != "" || f.Name == "event" && name != "recal fit" // no state keeps it
			if !f.Hidden && seen[name][f.Name] == without {
				t.Errorf("candor %s --%s: on a page %v; among those that are not, because %q", name, f.Name, seen[name][f.Name], notOnPages[f.Name])
			}
		})
	}
}
