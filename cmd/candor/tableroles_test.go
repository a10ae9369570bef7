package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// longOf returns a table with a row for each class of the rows.
func (s *set) longOf(names []string) []byte {
	var b bytes.Buffer
	b.WriteString("id,class,p,y\n")
	for j, name := range names {
		for i, y := range s.labels {
			fmt.Fprintf(&b, "r-%04d,%s,%s,%s\n", i, name, decimalOf(s.probs[i*s.classes+j]), names[y])
		}
	}
	return b.Bytes()
}

// TestLongAndJoinedRows: candor score, recal fit and recal apply read long tables and joined labels as they read one table with all.
func TestLongAndJoinedRows(t *testing.T) {
	d := newDir(t)
	s := exactProbs(7, 400, 3)
	names := animals[:3]
	var whole, truth [][]string
	for i, row := range s.idTable() {
		y := names[s.labels[i]]
		whole, truth = append(whole, append(row, y)), append(truth, []string{row[0], y})
	}
	header := "id," + strings.Join(names, ",") + ",far,y"
	table := d.put("t.csv", csvOf(header, whole, inOrder(s.rows)))
	long := d.put("long.csv", s.longOf(names))
	labels := d.put("truth.csv", csvOf("id,y", truth, shuffled(s.rows)))
	d.put("few.csv", csvOf("id,y", truth, inOrder(399)))
	classes := strings.Join(names, ",")
	wide := []string{"--prob", classes, "--label", "y"}
	pivot := []string{"--pivot", "class", "--id", "id", "--prob", "p", "--label", "y", "--classes", classes}
	joined := []string{"--prob", classes, "--labels", labels + ":y", "--id", "id"}
	read := func(name string) string {
		b, err := os.ReadFile(d.at(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	run := func(args ...string) (out, errs string) {
		code, out, errs := candor(t, args...)
		if code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, errs)
		}
		return out, errs
	}
	score := func(out string, args ...string) string {
		_, errs := run(slices.Concat([]string{"score", "--metrics", "nll,brier", "-o", d.at(out)}, args)...)
		return errs
	}
	score("a.csv", slices.Concat([]string{table, "--id", "id"}, wide)...)
	score("b.csv", slices.Concat([]string{long}, pivot)...)
	score("c.csv", slices.Concat([]string{table}, joined)...)
	if a := read("a.csv"); a != read("b.csv") || a != read("c.csv") {
		t.Error("a long table or joined labels have other values")
	}
	// Of a row without a label the values are NaN, and the others keep their places.
	errs := score("d.csv", slices.Concat([]string{table, "--on-unmatched", "drop", "--prob", classes, "--labels", d.at("few.csv") + ":y", "--id", "id"})...)
	a := strings.Split(read("a.csv"), "\n")
	a[400] = "r-0399,NaN,NaN"
	if read("d.csv") != strings.Join(a, "\n") || !strings.Contains(errs, "1 of 400 rows are NaN") {
		t.Errorf("%s\n%s", errs, read("d.csv")[len(read("d.csv"))-80:])
	}
	for _, c := range []struct {
		name string
		args []string
	}{{"a.json", slices.Concat([]string{table}, wide)}, {"b.json", slices.Concat([]string{long}, pivot)}, {"c.json", slices.Concat([]string{table}, joined)}} {
		run(slices.Concat([]string{"recal", "fit", "temperature", "-o", d.at(c.name)}, c.args)...)
		if read(c.name) != read("a.json") {
			t.Errorf("%s: another map", c.name)
		}
	}
	run("recal", "apply", d.at("a.json"), table, "--prob", classes, "--id", "id", "--keep", "y", "-o", d.at("e.csv"))
	run("recal", "apply", d.at("a.json"), long, "--pivot", "class", "--prob", "p", "--classes", classes, "--id", "id", "--keep", "y", "-o", d.at("f.csv"))
	if read("e.csv") != read("f.csv") {
		t.Error("a long table is recalibrated otherwise")
	}
}

// TestMatched: patterns are files, as a shell would have it; a file that is named like a pattern is itself.
func TestMatched(t *testing.T) {
	d := newDir(t)
	for _, name := range []string{"part-1.csv", "part-2.csv", "p[x].csv"} {
		d.put(name, []byte("p,y\n0.25,0\n0.75,1\n"))
	}
	if got := matched([]string{d.at("part-*.csv"), d.at("p[x].csv"), d.at("none-*.csv"), "-"}); !slices.Equal(got,
		[]string{d.at("part-1.csv"), d.at("part-2.csv"), d.at("p[x].csv"), d.at("none-*.csv"), "-"}) {
		t.Error(got)
	}
	documents(t, []string{d.at("part-1.csv"), d.at("part-2.csv"), "--prob", "p", "--label", "y"}, []string{d.at("part-?.csv"), "--prob", "p", "--label", "y"})
}

// TestTableRoles: what is said of columns that are named wrongly.
func TestTableRoles(t *testing.T) {
	d := newDir(t)
	in := t.TempDir()
	t.Chdir(in) // where no file has the name of a column
	table := d.put("t.csv", []byte("id,p_a,p_b,p_c,y,who\n1,0.25,0.5,0.25,a,x\n2,0.5,0.25,0.25,b,y\n3,0.25,0.25,0.5,c,x\n"))
	binary := d.put("b.csv", []byte("p,y\n0.25,no\n0.75,yes\n"))
	array, labels := d.put("x.npy", npy(t, []int64{3, 3}, []float64{.25, .5, .25, .5, .25, .25, .25, .25, .5})), d.put("y.npy", npy(t, []int64{3}, []int64{0, 1, 2}))
	bare := d.put("bare.csv", []byte("0.25,0.5,0.25,a\n0.5,0.25,0.25,b\n"))
	odd := d.put("odd.csv", []byte("p_a,p_b,y\n0.25,0.75,a\n#N/A,0.75,b\n"))
	long := d.put("long.csv", []byte("id,class,p,y\n1,a,0.25,a\n1,b,0.75,a\n,a,0.5,b\n,b,0.5,b\n"))
	missed := d.put("missed.csv", []byte("id,class,p,y\n1,a,0.25,a\n1,b,,a\n"))
	truth := d.put("truth.csv", []byte("id,y\n1,a\n,b\n3,c\n"))
	scores := []string{"--prob-prefix", "p_"}
	failing(t, []badCase{
		{exitData, slices.Concat([]string{odd, "--label", "y"}, scores), `odd.csv: line 3: column "p_a": "#N/A" is not a number`},
		{exitData, []string{bare, "--prob", "0,1,2", "--label", "3", "--classes", "a,b,c"}, "is the first line a row? pass --no-header, and name columns by their numbers, from 0"},
		{exitUsage, slices.Concat([]string{table, "--label", "y", "--ood", array}, scores), "is an array, and the predictions are tables"},
		{exitUsage, []string{array, "--labels", labels, "--ood", table}, "is a table, and the predictions are arrays"},
		{exitData, slices.Concat([]string{array, "--labels", labels}, scores), "x.npy: it is an .npy array, which has no named columns; leave the names of columns out"},
		{exitUsage, []string{array, array, "--task", "ensemble", "--labels", table + ":y"}, "labels of an ensemble in arrays are an array"},
		{exitData, slices.Concat([]string{table, "--labels", truth + ":y", "--id", "id"}, scores), "truth.csv: line 3: the key is missing; give each row a key; --on-unmatched drop leaves such rows out"},
		{exitData, slices.Concat([]string{table, "--labels", truth}, scores), `name the column of the labels, as in --labels ` + truth + ":y"},
		{exitData, []string{long, "--pivot", "class", "--id", "id", "--prob", "p", "--label", "y", "--classes", "a,b"}, `long.csv: line 4: column "id": the key is missing`},
		{exitData, []string{long, "--pivot", "class", "--id", "id", "--prob", "y", "--label", "y", "--classes", "a,b"}, `column "y" cannot be both the label and the scores`},
		{exitData, []string{missed, "--pivot", "class", "--id", "id", "--prob", "p", "--label", "y", "--classes", "a,b"}, `missed.csv: example 0, column "p", class 1: score is missing`},
	})
	if err := os.WriteFile(filepath.Join(in, "who"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	failing(t, []badCase{{exitUsage, slices.Concat([]string{table, "--label", "y", "--group", "who"}, scores), "--group who: there is a column of that name and a file"}})
	const unseen = `no label is the event, "Yes"; another label is "no"`
	if _, _, errs := candor(t, "eval", binary, "--prob", "p", "--label", "y", "--event", "Yes"); !strings.Contains(errs, unseen) {
		t.Errorf("%s\nwant %s", errs, unseen)
	}
	if _, _, errs := candor(t, "eval", binary, "--prob", "p", "--label", "y", "--event", "yes"); strings.Contains(errs, "warning") {
		t.Error(errs)
	}
	documents(t, []string{binary, "--prob", "p", "--label", "y", "--event", "yes"},
		[]string{d.put("bars.csv", []byte("p|y\n0.25|no\n0.75|yes\n")), "--prob", "p", "--label", "y", "--event", "yes"},
		[]string{d.put("bars.txt", []byte("\"p\"|\"y\"\n0.25|\"no\"\n0.75|\"yes\"\n")), "--prob", "p", "--label", "y", "--event", "yes"})
}
