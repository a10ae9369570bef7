package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
)

// TestExact: metrics that keep every row are in the document, which has no state; where there is no room, or a state is asked for, it is
// an error of usage that says what to pass, before the rows are read where their number is known.
func TestExact(t *testing.T) {
	d := newDir(t)
	s := newSet(50, 2_000, 1)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	doc := evaluate(t, x, "--labels", y, "--metrics", "auroc(exact),auroc,ks(exact),ks,calibration_auc(exact),calibration_auc")
	for _, name := range []string{"auroc", "ks", "calibration_auc"} {
		a, b := doc.Metrics[name+"(exact)"], doc.Metrics[name]
		if a.Value == nil || a.Value != b.Value || a.Low != b.Low || !strings.HasSuffix(a.Text, "; every row kept") {
			t.Errorf("%s is %+v, and %+v of every row", name, b, a)
		}
	}
	if doc.State.SHA256 != "" || !strings.Contains(strings.Join(doc.Warnings, " "), "there is no state: it has no rows, and every row is kept for auroc(exact), ks(exact), calibration_auc(exact)") {
		t.Errorf("%+v, %q", doc.State, doc.Warnings)
	}
	if _, out, _ := candor(t, "eval", x, "--labels", y, "--metrics", "ks(exact)"); strings.Contains(out, "no state") {
		t.Errorf("nobody asked for a state: %s", out)
	}
	large := newSet(51, 500_000, 1)
	lx, ly := d.put("lx.npy", large.scores(t)), d.put("ly.npy", large.labelFile(t))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"eval", x, "--labels", y, "--metrics", "aurc(exact)", "--state", d.at("s.state")}, "--state: metrics aurc(exact) keep every row and are in no state; leave exact out, and the value is the same up to 262,144 distinct scores, and has a bound beyond; or leave --state out"},
		{[]string{"eval", lx, "--labels", ly, "--metrics", "ks(exact)", "--max-memory", "60MiB"}, "ks(exact): 500000 rows take 8500000 bytes and there is room for 5033164: pass --max-memory 86MiB, or leave exact out"},
		{[]string{"compare", lx, x, "--labels", ly, "--metrics", "ks(exact)", "--max-memory", "60MiB"}, "pass --max-memory 110MiB"},
		{[]string{"eval", x, "--labels", y, "--metrics", "auroc(exact,average=macro)"}, "exact is for class 1 of two classes"},
	} {
		if code, out, errs := candor(t, c.args...); code != exitUsage || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit code %d: %s%s", c.args, code, out, errs)
		}
	}
	if code, _, errs := candor(t, "eval", lx, "--labels", ly, "--metrics", "ks(exact)", "--max-memory", "86MiB"); code != 0 {
		t.Errorf("with what it says to pass: exit code %d: %s", code, errs)
	}
}

// TestExactOfTable: rows of a table are counted as it is read, so that its length bounds their number; that of a pipe is not known.
func TestExactOfTable(t *testing.T) {
	d := newDir(t)
	var b strings.Builder
	b.WriteString("p,y\n")
	for i := range 500 {
		fmt.Fprintf(&b, "0.%03d,%d\n", 1+i*7%999, i%2)
	}
	table := d.put("t.csv", []byte(b.String()))
	args := []string{"--prob", "p", "--label", "y", "--metrics", "auroc,auroc(exact)"}
	doc := evaluate(t, append([]string{table}, args...)...)
	if x, y := doc.Metrics["auroc"], doc.Metrics["auroc(exact)"]; x.Value == nil || x.Value != y.Value {
		t.Errorf("%+v, exact %+v", x, y)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(b.String())); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	code, _, errs := candor(t, append([]string{"eval", d.put("t.csv.gz", packed.Bytes())}, args...)...)
	if code != exitUsage || !strings.Contains(errs, "auroc(exact) keep every row, and the number of rows of ") || !strings.Contains(errs, "t.csv.gz is known only at the end; write them to an uncompressed file") {
		t.Errorf("compressed: %d: %s", code, errs)
	}
}
