package main

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"unicode"
)

// TestNamesAreEscaped: no control character of a name reaches a terminal, a page or a picture.
func TestNamesAreEscaped(t *testing.T) {
	d := newDir(t)
	const evil, want = "a\x1b[31m\u009b7\nb\u202e", `a\x1b[31m\u009b7\nb\u202e`
	a, b := newSet(1, 60, 3), newSet(2, 60, 3)
	b.labels = a.labels
	y := d.put("y.npy", a.labelFile(t))
	x := d.put(evil+".npy", a.scores(t))
	other := d.put("b.npy", b.scores(t))
	z := d.put(evil+".npz", npz(t, evil+".npy", a.scores(t), "labels.npy", a.labelFile(t)))
	table := d.put("t.csv", []byte("mean,sd,observed,\""+evil+"\"\n0,1,0.5,x\n1,1,0,\""+evil+"\"\n"))
	quoted := func(s string) string { return `"` + s + `"` } // as a flag takes it that is a list
	clean := func(what, s string, args ...string) {
		if i := strings.IndexFunc(s, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 || !strings.Contains(s, want) {
			t.Errorf("candor %q: %s has %q", args, what, s)
		}
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitData, []string{"eval", d.at(evil)}},
		{exitData, []string{"eval", d.at(evil) + ".npy"}},
		{exitData, []string{"eval", z, "--input", "logits"}},
		{exitData, []string{"eval", x, "--labels", quoted(x)}},
		{exitData, []string{"eval", table, "--task", "regression", "--mean", "no"}},
		{exitData, []string{"merge", x}},
		{exitData, []string{"compare", x, d.at("none.npy"), "--labels", quoted(x)}},
		{exitData, []string{"inspect", d.at(evil)}},
		{exitUsage, []string{"eval", "--" + evil}},
		{exitUsage, []string{"eval", x, "--labels", y, "--state", x}},
		{exitUsage, []string{evil}},
	} {
		code, _, errs := candor(t, c.args...)
		if code != c.code {
			t.Errorf("candor %q: exit code %d: %s", c.args, code, errs)
		}
		clean("standard error", errs, c.args...)
	}
	for _, args := range [][]string{
		{"inspect", z},
		{"inspect", x},
		{"compare", x, other, "--labels", y},
		{"compare", x, other, "--labels", y, "--format", "markdown"},
		{"compare", x, other, "--labels", y, "--format", "csv"},
		{"eval", table, "--task", "regression", "--group", quoted(evil)},
		{"eval", table, "--task", "regression", "--group", quoted(evil), "--format", "markdown"},
		{"eval", table, "--task", "regression", "--group", quoted(evil), "--format", "csv"},
	} {
		code, out, errs := candor(t, args...)
		if code != exitDone {
			t.Errorf("candor %q: exit code %d: %s", args, code, errs)
		}
		clean("standard output", out, args...)
	}
	_, _, errs := candor(t, "eval", x, x, "--labels", y, "--labels", y)
	clean("a warning", errs)

	if code, _, errs := candor(t, "compare", x, other, "--labels", y, "--plot", d.at("p.svg")); code != exitDone {
		t.Fatal(errs)
	}
	svg := string(d.read(d.at("p.svg")))
	if !strings.Contains(svg, `>a\x1b[31m\u009b7\nb\u202e</text>`) {
		t.Errorf("the picture's names are others: %s", svg)
	}
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the picture is not well-formed: %v", err)
		}
	}
}
