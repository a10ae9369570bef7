package main

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions"
)

// flipTables writes tables of three models and returns them, with what --flips should write of all pairs, worked out apart from it.
func flipTables(t *testing.T, d *dir, rows int) (files []string, want [][]string) {
	names := []string{"cat", "dog", "eel"}
	models := []string{"one", "two", "six"}
	s := newSet(7, rows, 3)
	all := make([]*bytes.Buffer, 3)
	tops := make([][]int, 3)
	scores := make([][]float64, 3)
	for m := range all {
		b := &bytes.Buffer{}
		fmt.Fprintln(b, "p_cat,p_dog,p_eel,y,w")
		for i := range rows {
			p := slices.Clone(s.probs[3*i : 3*i+3])
			if (i+m)%(5+m) == 0 {
				p[0], p[1], p[2] = p[1], p[2], p[0]
			}
			top := slices.Max(p)
			tops[m], scores[m] = append(tops[m], slices.Index(p, top)), append(scores[m], top)
			label := names[s.labels[i]]
			if i == 3 && m == 1 {
				p[2] = math.NaN()
			}
			fmt.Fprintf(b, "%v,%v,%v,%s,%d\n", p[0], p[1], p[2], label, oneIf(i != 9))
		}
		all[m] = b
		files = append(files, d.put(models[m]+".csv", b.Bytes()))
	}
	for i := range rows {
		for _, ab := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
			a, b := ab[0], ab[1]
			if tops[a][i] == tops[b][i] || i == 3 || i == 9 {
				continue
			}
			full := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
			want = append(want, []string{strconv.Itoa(i), models[a], models[b], names[s.labels[i]], names[tops[a][i]], names[tops[b][i]], full(scores[a][i]), full(scores[b][i])})
		}
	}
	if len(want) < 25 {
		t.Fatalf("only %d flips", len(want))
	}
	return files, want
}

// TestFlips: --flips has a row for each pair of each row whose decisions differ, in the order of rows, by any number of threads and in
// any format; rows that are bad in some set, or have no weight, are not there.
func TestFlips(t *testing.T) {
	d := newDir(t)
	files, want := flipTables(t, d, 700)
	flags := []string{"--prob-prefix", "p_", "--label", "y", "--weights", "w", "--metrics", "nll", "--on-invalid", "drop"}
	run := func(to string, more ...string) string {
		t.Helper()
		code, out, errs := candor(t, slices.Concat([]string{"compare"}, files, flags, []string{"--flips", d.at(to)}, more)...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		return out
	}
	out := run("flips.csv")
	head := []string{"row", "a", "b", "label", "decision_a", "decision_b", "confidence_a", "confidence_b"}
	got, err := csv.NewReader(bytes.NewReader(d.read(d.at("flips.csv")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0], head) || len(got) != len(want)+1 {
		t.Fatalf("%d rows, want %d; the first is %q", len(got)-1, len(want), got[0])
	}
	for i, w := range want {
		if !slices.Equal(got[i+1], w) {
			t.Fatalf("row %d is %q, want %q", i, got[i+1], w)
		}
	}
	if more := fmt.Sprintf("flips.csv has these and %d more", len(want)-20); !strings.Contains(out, "The first 20 rows whose decisions differ; ") || !strings.Contains(strings.ReplaceAll(out, "\n", " "), more) {
		t.Errorf("%s does not say %q", out, more)
	}
	if !strings.Contains(out, want[19][6][:6]) || !strings.Contains(run("m.csv", "--format", "markdown"), "| "+want[0][0]+" | one |") {
		t.Errorf("the first rows are not printed:\n%s", out)
	}
	for _, to := range []string{"again.csv", "f.tsv", "f.csv.gz", "f.parquet", "f.arrow", "f.npz"} {
		run(to, "--threads", "4", "--json")
		switch {
		case to == "again.csv":
			if !bytes.Equal(d.read(d.at(to)), d.read(d.at("flips.csv"))) {
				t.Error("more threads write another file")
			}
		case to == "f.npz":
			sameNPZ(t, d.at(to), got)
		default:
			if lines := tableLines(t, d.at(to)); !slices.EqualFunc(lines, got[1:], slices.Equal[[]string]) {
				t.Errorf("%s has other rows: %q", to, lines[:3])
			}
		}
	}
	// With a baseline only its pairs are there.
	run("base.csv", "--baseline", "six")
	got, _ = csv.NewReader(bytes.NewReader(d.read(d.at("base.csv")))).ReadAll()
	n := 0
	for _, w := range want {
		if w[2] == "six" {
			n++
		}
	}
	if len(got) != n+1 || slices.ContainsFunc(got[1:], func(l []string) bool { return l[1] != "six" }) {
		t.Errorf("with a baseline there are %d rows, want %d", len(got)-1, n)
	}
}

// tableLines reads a table that candor has written, by candor's reader.
func tableLines(t *testing.T, path string) (lines [][]string) {
	t.Helper()
	o := &predictions.TableOptions{Unlabelled: true}
	o.Columns.Scores = []string{"confidence_a", "confidence_b"}
	o.Columns.Kept = []string{"row", "a", "b", "label", "decision_a", "decision_b", "confidence_a", "confidence_b"}
	var types []predictions.Column
	o.Keep = func(rows int, cells []predictions.Cells) error {
		for i := range rows {
			var l []string
			for c := range cells {
				switch k := &cells[c]; types[c].Type {
				case predictions.Int64Column:
					l = append(l, strconv.FormatInt(k.Int64[i], 10))
				case predictions.Float64Column:
					l = append(l, strconv.FormatFloat(k.Float64[i], 'g', -1, 64))
				default:
					l = append(l, string(k.Text(i)))
				}
			}
			lines = append(lines, l)
		}
		return nil
	}
	r, err := predictions.OpenTable([]string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	types = r.KeptColumns()
	for {
		c, err := r.Next()
		if err == io.EOF {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		if c.Recycle != nil {
			c.Recycle()
		}
	}
}

// sameNPZ compares the arrays of an .npz with lines, the first of which has their names.
func sameNPZ(t *testing.T, path string, lines [][]string) {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if len(z.File) != len(lines[0]) {
		t.Fatalf("%d arrays", len(z.File))
	}
	for c, f := range z.File {
		r, _ := f.Open()
		b, err := io.ReadAll(r)
		if err != nil || f.Name != lines[0][c]+".npy" || !bytes.HasPrefix(b, []byte("\x93NUMPY\x01\x00")) {
			t.Fatalf("%s: %v", f.Name, err)
		}
		at := 10 + int(b[8]) + 256*int(b[9])
		head, data := string(b[10:at]), b[at:]
		if !strings.Contains(head, fmt.Sprintf("'shape': (%d,)", len(lines)-1)) {
			t.Errorf("%s: %s", f.Name, head)
		}
		each := len(data) / (len(lines) - 1)
		for i, l := range lines[1:] {
			cell := data[i*each : (i+1)*each]
			var got string
			switch {
			case strings.Contains(head, "<i8"):
				v := uint64(0)
				for k := range 8 {
					v |= uint64(cell[k]) << (8 * k)
				}
				got = strconv.FormatInt(int64(v), 10)
			case strings.Contains(head, "<f8"):
				v := uint64(0)
				for k := range 8 {
					v |= uint64(cell[k]) << (8 * k)
				}
				got = strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
			default:
				for k := 0; k < len(cell) && cell[k] != 0; k += 4 {
					got += string(rune(uint32(cell[k]) | uint32(cell[k+1])<<8 | uint32(cell[k+2])<<16))
				}
			}
			if got != l[c] {
				t.Fatalf("%s: row %d is %q, want %q", f.Name, i, got, l[c])
			}
		}
	}
}

// TestFlipsOfOne: sets that decide alike give a file without rows, and nothing is printed of it; a binary task has classes 0 and 1.
func TestFlipsOfOne(t *testing.T) {
	d := newDir(t)
	a, b, y := pair(t, d, 1)
	code, out, errs := candor(t, "compare", a, a, "--labels", y, "--metrics", "nll", "--flips", d.at("none.csv"))
	if code != 0 || string(d.read(d.at("none.csv"))) != "row,a,b,label,decision_a,decision_b,confidence_a,confidence_b\n" || strings.Contains(out, "whose decisions differ") {
		t.Errorf("exit code %d, %s%s: %q", code, out, errs, d.read(d.at("none.csv")))
	}
	if code, _, errs = candor(t, "compare", a, b, "--labels", y, "--metrics", "nll", "--flips", d.at("some.csv")); code != 0 {
		t.Fatal(errs)
	}
	lines, err := csv.NewReader(bytes.NewReader(d.read(d.at("some.csv")))).ReadAll()
	if err != nil || len(lines) < 10 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for _, l := range lines[1:] {
		// The second set has the squares of the first: it decides for 0 where the first has a p between 1/2 and its root.
		p, _ := strconv.ParseFloat(l[6], 64)
		q, _ := strconv.ParseFloat(l[7], 64)
		if l[4] != "1" || l[5] != "0" || !(p > 0.5) || math.Abs(1-p*p-q) > 1e-6 {
			t.Fatalf("%q", l)
		}
	}
}

func TestFlipsRefused(t *testing.T) {
	d := newDir(t)
	a, b, y := pair(t, d, 4)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"compare", a, b, "--labels", y, "--flips", d.at("f.json")}, "end the name in .npz, .csv"},
		{[]string{"compare", a, b, "--labels", y, "--flips", "-"}, "name a file"},
		{[]string{"compare", a, b, "--labels", y, "--flips", d.at("f.csv"), "--state", d.at("f.csv")}, "--flips and --state both name"},
		{[]string{"compare", a, b, "--labels", y, "--flips", d.at("f.csv"), "--report", "junit=" + d.at("f.csv")}, "--flips and --report both name"},
		{[]string{"compare", a, b, "--task", "regression", "--flips", d.at("f.csv")}, "--flips is for classes"},
		{[]string{"merge", a, "--flips", d.at("f.csv")}, "--flips: a state has no rows"},
	} {
		code, out, errs := candor(t, c.args...)
		if code != 2 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d: %s does not say %q", c.args, code, errs, c.want)
		}
		if _, err := os.Stat(d.at("f.csv")); err == nil {
			t.Errorf("%v has written a file", c.args)
		}
	}
	// A file that is read is not written, and a bad row leaves what was there.
	table := d.put("read.csv", []byte("p,y\n0.5,1\n0.2,0\n"))
	other := d.put("other.csv", []byte("p,y\n0.7,1\n0.1,0\n"))
	if code, _, errs := candor(t, "compare", table, other, "--prob", "p", "--label", "y", "--flips", table); code != 2 || !strings.Contains(errs, "that file is read") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	bad := d.put("bad.csv", []byte("p,y\n0.7,1\n1.5,0\n"))
	was := d.put("was.csv", []byte("before"))
	before := d.list()
	code, out, errs := candor(t, "compare", table, bad, "--prob", "p", "--label", "y", "--flips", was)
	if code != exitData || out != "" || !strings.Contains(errs, "1.5") || !slices.Equal(d.list(), before) {
		t.Errorf("exit code %d, %s%s: the folder has %v", code, out, errs, d.list())
	}
	if string(d.read(was)) != "before" {
		t.Error("a file was replaced although rows are bad")
	}
	code, _, errs = candor(t, "compare", table, other, "--prob", "p", "--label", "y", "--flips", filepath.Join(d.path, "nowhere", "f.csv"))
	if code != exitUsage || !strings.Contains(errs, "nowhere") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
