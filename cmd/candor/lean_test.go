package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestLeanCommand: --metrics without default keeps what it needs alone, and says so where more is asked for.
func TestLeanCommand(t *testing.T) {
	for _, classes := range []int{1, 3} {
		d := newDir(t)
		set := func(seed uint64, name string) []string {
			s := newSet(seed, 300, classes)
			return []string{d.put(name+".npy", s.scores(t)), "--labels", d.put(name+"y.npy", s.labelFile(t))}
		}
		a, b := set(91, "a"), set(92, "b")
		state := func(of []string, name string, more ...string) string {
			evaluate(t, append(append(of[:len(of):len(of)], "--state", d.at(name)), more...)...)
			return d.at(name)
		}
		few := state(a, "few.state", "--metrics", "nll,ece")
		other := state(b, "other.state", "--metrics", "ece,accuracy")
		all := state(b, "all.state", "--metrics", "default")
		page := state(b, "page.state", "--metrics", "nll,ece", "--plot", d.at("page.svg"))

		out := printed(t, "inspect", few)
		lost := "scores, brier"
		if classes == 1 {
			lost = "scores, accuracy, brier" // the top label judges predictions of more classes
		}
		if !strings.Contains(out, "left out "+lost) {
			t.Errorf("inspect:\n%s", out)
		}
		for _, name := range []string{all, page} {
			if out := printed(t, "inspect", name); strings.Contains(out, "left out") {
				t.Errorf("inspect %s:\n%s", name, out)
			}
		}
		for _, args := range [][]string{{"--html", d.at("no.html")}, {"--plot", d.at("no.svg"), "--plot-kind", "risk-coverage"}} {
			code, out, errs := candor(t, append([]string{"merge", few}, args...)...)
			if code != exitUsage || out != "" || !strings.Contains(errs, "--metrics default") {
				t.Errorf("merge %v: %d: %s%s", args, code, out, errs)
			}
		}
		printed(t, "merge", few, "--plot", d.at("yes.svg"))

		refused(t, d, []string{"merge", few, other}, "metrics nll,ece and ece,accuracy", "candor merge --common")
		refused(t, d, []string{"merge", few, page}, "one keeps only what its metrics need, without "+lost, "the other keeps all", "evaluate both with the same --metrics")
		refused(t, d, []string{"merge", "--common", few, all}, "one keeps only what its metrics need")
		refused(t, d, []string{"merge", "--common", few, state(b, "none.state", "--metrics", "accuracy")}, "they have no metric in common")

		// In any order they are the rows of both by the metric that both have.
		printed(t, "merge", "--common", few, other, "-o", d.at("one.state"))
		printed(t, "merge", "--common", other, few, "-o", d.at("two.state"))
		printed(t, "merge", state(a, "ae.state", "--metrics", "ece"), state(b, "be.state", "--metrics", "ece"), "-o", d.at("want.state"))
		if want := d.read(d.at("want.state")); !bytes.Equal(d.read(d.at("one.state")), want) || !bytes.Equal(d.read(d.at("two.state")), want) {
			t.Error("--common has another state than an evaluation of the common metric")
		}
		wide := state(a, "wide.state", "--metrics", "default,mce")
		printed(t, "merge", "--common", wide, all, "-o", d.at("three.state"))
		printed(t, "merge", state(a, "alla.state", "--metrics", "default"), all, "-o", d.at("four.state"))
		if strings.Contains(printed(t, "inspect", d.at("three.state")), "mce") || len(d.read(d.at("three.state"))) != len(d.read(d.at("four.state"))) {
			t.Error("--common of the default set and one metric more is not the default set")
		}
	}
	d := newDir(t)
	s := newSet(93, 60, 3)
	groups := d.at("groups.state")
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	evaluate(t, x, "--labels", y, "--group", y, "--state", groups)
	if code, out, errs := candor(t, "merge", "--common", groups, groups); code != exitUsage || out != "" || !strings.Contains(errs, "groups of rows") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}
