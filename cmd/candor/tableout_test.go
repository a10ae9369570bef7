package main

import (
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

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/predictions/roles"
)

// outTable is a table that a command wrote.
type outTable struct {
	values []float64 // row by row
	kept   [][]string
	types  []predictions.ColumnType
}

// readOut reads columns of values and others, which are texts here, "?" if they are missing.
func readOut(t *testing.T, path string, values, kept []string) outTable {
	t.Helper()
	var o outTable
	var r *predictions.ForecastReader
	o.kept = make([][]string, len(kept))
	r, err := predictions.OpenTable([]string{path}, &predictions.TableOptions{Kind: metrics.Logits, Classification: true, Unlabelled: true,
		Columns: roles.Want{Scores: values, Kept: kept},
		Keep: func(rows int, cells []predictions.Cells) error {
			for i := range cells {
				for j := range rows {
					o.kept[i] = append(o.kept[i], cellText(r.KeptColumns()[i].Type, &cells[i], j))
				}
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, c := range r.KeptColumns() {
		o.types = append(o.types, c.Type)
	}
	for {
		c, err := r.Next()
		if err == io.EOF {
			return o
		} else if err != nil {
			t.Fatal(err)
		}
		o.values = append(o.values, c.F64...)
		for _, v := range c.F32 {
			o.values = append(o.values, float64(v))
		}
		c.Recycle()
	}
}

func cellText(k predictions.ColumnType, c *predictions.Cells, i int) string {
	switch {
	case c.Missing != nil && c.Missing[i]:
		return "?"
	case k == predictions.Float64Column:
		return strconv.FormatFloat(c.Float64[i], 'g', -1, 64)
	case k == predictions.Int64Column:
		return strconv.FormatInt(c.Int64[i], 10)
	case k == predictions.TextColumn || k == predictions.UntypedColumn:
		return string(c.Text(i))
	}
	return "another type"
}

// tableOuts are the forms of tables that are read again here. Package predictions tests that others read all forms.
var tableOuts = []string{"o.csv", "o.tsv.gz", "o.csv.zst", "o.parquet"}

// TestTablesOut: score and recal apply write to tables what they write to arrays, with columns of every kind of table beside it, in step.
func TestTablesOut(t *testing.T) {
	d, s := newDir(t), newSet(21, 3000, 4)
	fit := d.put("fit.csv", s.table("p_", animals))
	printed(t, "recal", "fit", "temperature", fit, "--prob-prefix", "p_", "--label", "label", "--json", "-o", d.at("m.json"))
	metricNames := []string{"nll", "brier"}
	classes := []string{"prob_cat", "prob_dog", "prob_owl", "prob_emu"}
	kept := []string{"id", "site", "by", "label"}
	for _, form := range tableForms {
		cut := 1000
		files := []string{d.put("1-"+form.name, form.put(s.part(0, cut))), d.put("2-"+form.name, form.put(s.part(cut, s.rows)))}
		ids := make([]string, 0, s.rows)
		for _, part := range []int{cut, s.rows - cut} {
			for i := range part {
				id := strconv.Itoa(i)
				if form.name == "t.csv" {
					id = "row " + id
				}
				ids = append(ids, id)
			}
		}
		flags := form.of
		if !slices.Contains(flags, "--prob-prefix") && !slices.Contains(flags, "--prob") {
			flags = append([]string{"--prob-prefix", "p_"}, flags...)
		}
		if !form.members {
			flags = append(slices.Clone(flags), "--classes", strings.Join(animals[:4], ","))
		}
		var applied []string // without the label
		for i := 0; i < len(flags); i += 2 {
			if flags[i] != "--label" {
				applied = append(applied, flags[i], flags[i+1])
			}
		}
		names := classes
		if form.members && form.name != "t.csv" { // fields are in the order of their names there
			names = slices.Sorted(slices.Values(classes))
		}
		for _, c := range []struct {
			args, names []string
		}{
			{slices.Concat([]string{"score", "--metrics", "nll,brier"}, files, flags), metricNames},
			{slices.Concat([]string{"recal", "apply", d.at("m.json")}, files, applied), names},
		} {
			printed(t, append(c.args, "-o", d.at("o.npy"))...)
			want, _, _ := written(t, d.at("o.npy"))
			for _, out := range tableOuts {
				printed(t, append(c.args, "-o", d.at(out), "--id", "id", "--keep", "site,by,label")...)
				got := readOut(t, d.at(out), c.names, kept)
				if len(got.values) != s.rows*len(c.names) {
					t.Fatalf("%s, %s: %d values", form.name, out, len(got.values))
				}
				for i, v := range got.values {
					if v != want[i] {
						t.Fatalf("%s, %s: value %d is %v, want %v", form.name, out, i, v, want[i])
					}
				}
				for i := range s.rows {
					at := i
					if i >= cut {
						at = i - cut
					}
					row := []string{ids[i], []string{"east", "south, west"}[at%2], strconv.FormatFloat(s.by[i], 'g', -1, 64), animals[s.labels[i]]}
					for k, w := range row {
						if got.kept[k][i] != w {
							t.Fatalf("%s, %s, row %d: %s is %q, want %q", form.name, out, i, kept[k], got.kept[k][i], w)
						}
					}
				}
				if out == "o.parquet" {
					first := predictions.Int64Column
					if form.name == "t.csv" {
						first = predictions.TextColumn
					}
					if !slices.Equal(got.types, []predictions.ColumnType{first, predictions.TextColumn, predictions.Float64Column, predictions.TextColumn}) {
						t.Errorf("%s: types %v", form.name, got.types)
					}
				}
			}
		}
	}
	// What recal apply wrote is read as its help says.
	for _, out := range []string{"o.csv", "o.parquet"} {
		printed(t, "recal", "apply", d.at("m.json"), fit, "--prob-prefix", "p_", "--keep", "label", "-o", d.at(out))
		printed(t, "recal", "apply", d.at("m.json"), fit, "--prob-prefix", "p_", "-o", d.at("o.npy"))
		y := d.put("y.npy", s.labelFile(t))
		got := printed(t, "eval", d.at(out), "--prob-prefix", "prob_", "--label", "label", "--json")
		if want := printed(t, "eval", d.at("o.npy"), "--labels", y, "--classes", "cat,dog,owl,emu", "--json"); got != want {
			t.Errorf("%s: %s", out, differing(want, got))
		}
	}
}

// TestTablesOutRows: rows that are left out have no values, and rows stay in step.
func TestTablesOutRows(t *testing.T) {
	d, s := newDir(t), newSet(22, 3000, 3)
	s.weights[7] = 0
	s.probs[3*1234] = math.NaN()
	x := d.put("x.csv", s.table("p_", animals))
	for _, in := range []string{x, "-"} {
		args := []string{"score", in, "--prob-prefix", "p_", "--label", "label", "--weights", "weight", "--metrics", "nll", "--on-invalid", "drop", "--id", "id", "-o", d.at("o.csv")}
		if in == "-" {
			f, err := os.Open(x)
			if err != nil {
				t.Fatal(err)
			}
			stdin := os.Stdin
			os.Stdin = f
			defer func() { os.Stdin = stdin; f.Close() }()
		}
		code, _, errs := candor(t, args...)
		if code != 0 || !strings.Contains(errs, "2 of 3,000 rows are NaN") {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		rows, err := csv.NewReader(bytes.NewReader(d.read(d.at("o.csv")))).ReadAll()
		if err != nil || len(rows) != 3001 {
			t.Fatal(len(rows), err)
		}
		for i, r := range rows[1:] {
			if r[0] != fmt.Sprint("row ", i) || (r[1] == "NaN") != (i == 7 || i == 1234) {
				t.Fatalf("row %d: %v", i, r)
			}
		}
	}
}

// TestTablesOutJoined: --id copies the columns by which labels are found.
func TestTablesOutJoined(t *testing.T) {
	d := newDir(t)
	x := d.put("x.csv", []byte("key,p_a,p_b,p_c\nk1,0.5,0.25,0.25\nk2,0.25,0.5,0.25\n01,0.125,0.125,0.75\n"))
	d.put("y.csv", []byte("y,key\nc,01\na,k1\nb,k2\n"))
	printed(t, "score", x, "--prob-prefix", "p_", "--labels", d.at("y.csv")+":y", "--id", "key", "--metrics", "accuracy,confidence", "-o", d.at("o.csv"))
	if got := string(d.read(d.at("o.csv"))); got != "key,accuracy,confidence\nk1,1,0.5\nk2,1,0.5\n01,1,0.75\n" {
		t.Error(got)
	}
}

// TestKeptTexts: texts come back as they were, and columns of text that are numbers are numbers where a file has types.
func TestKeptTexts(t *testing.T) {
	d := newDir(t)
	columns := []struct {
		name  string
		kind  predictions.ColumnType
		cells []string // of the table; what is kept is the same, except for those that follow
		typed []string // in a file with types
	}{
		{"text", predictions.TextColumn, []string{"say \"yes\"", "a,b", "line\nfeed", "Zürich 日本", ""}, []string{"say \"yes\"", "a,b", "line\nfeed", "Zürich 日本", "?"}},
		{"zeros", predictions.TextColumn, []string{"01", "2", "3", "4", "5"}, nil},
		{"plus", predictions.TextColumn, []string{"+1", "2", "3", "4", "5"}, nil},
		{"int", predictions.Int64Column, []string{"-1", "0", "9223372036854775807", "NA", ""}, []string{"-1", "0", "9223372036854775807", "?", "?"}},
		{"large", predictions.TextColumn, []string{"9223372036854775808", "1", "2", "3", "4"}, nil},
		{"float", predictions.Float64Column, []string{"0.50", "1", "1e-3", "inf", "null"}, []string{"0.5", "1", "0.001", "+Inf", "?"}},
		{"mixed", predictions.TextColumn, []string{"9007199254740993", "0.5", "1", "1", "1"}, nil},
		{"hex", predictions.TextColumn, []string{"0x1p-2", "0.5", "1", "1", "1"}, nil},
		{"one", predictions.TextColumn, []string{"1", "2", "3", "4", "n/a"}, nil},
		{"none", predictions.TextColumn, []string{"", "NA", "", "", ""}, []string{"?", "NA", "?", "?", "?"}},
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	header := []string{"p", "y"}
	for _, c := range columns {
		header = append(header, c.name)
	}
	w.Write(header)
	for i := range 5 {
		row := []string{"0.25", "0"}
		for _, c := range columns {
			row = append(row, c.cells[i])
		}
		w.Write(row)
	}
	w.Flush()
	x, names := d.put("x.csv", b.Bytes()), header[2:]
	for _, out := range []string{"o.csv", "o.parquet"} {
		printed(t, "score", x, "--prob", "p", "--label", "y", "--metrics", "nll", "--keep", strings.Join(names, ","), "-o", d.at(out))
		got := readOut(t, d.at(out), []string{"nll"}, names)
		for k, c := range columns {
			want := c.typed
			if want == nil {
				want = c.cells
			}
			if out == "o.csv" {
				want = slices.Clone(c.cells)
				for i := range want {
					if want[i] == "" {
						want[i] = "?"
					}
				}
			} else if got.types[k] != c.kind {
				t.Errorf("%s is of type %d, want %d", c.name, got.types[k], c.kind)
			}
			if !slices.Equal(got.kept[k], want) {
				t.Errorf("%s, %s: %q, want %q", out, c.name, got.kept[k], want)
			}
		}
	}
}

// TestTablesOutBinary: one column, or two where one does not suffice, as in arrays.
func TestTablesOutBinary(t *testing.T) {
	d, s := newDir(t), newSet(23, 500, 1)
	y := d.put("y.npy", s.labelFile(t))
	x := d.put("x.npy", s.scores(t))
	two := d.put("two.csv", newSet(24, 500, 2).table("p_", animals))
	sharp := d.put("sharp.npy", npy(t, []int64{4}, []float32{-1, 2, 50, 200})) // logits
	printed(t, "recal", "fit", "temperature", x, "--labels", y, "--json", "-o", d.at("m.json"))
	for _, c := range []struct {
		args  []string
		names []string
		says  string
	}{
		{[]string{x}, []string{"prob"}, ""},
		{[]string{x, "--as", "logits"}, []string{"logit"}, ""},
		{[]string{two, "--prob-prefix", "p_"}, []string{"prob_cat", "prob_dog"}, ""},
		{[]string{two, "--prob-prefix", "p_", "--event", "cat"}, []string{"prob_cat", "prob_dog"}, ""},
		{[]string{two, "--prob", "p_dog"}, []string{"prob"}, ""},
		{[]string{sharp, "--input", "logits"}, []string{"prob_0", "prob_1"}, `two columns are written, "prob_0" and "prob_1"; column "prob_0" has what is left of 1`},
		{[]string{sharp, "--input", "logits", "--as", "logprobs"}, []string{"logprob_0", "logprob_1"}, `two columns are written, "logprob_0" and "logprob_1"`},
	} {
		args := slices.Concat([]string{"recal", "apply", d.at("m.json")}, c.args)
		if code, _, errs := candor(t, append(args, "-o", d.at("o.npy"))...); code != 0 {
			t.Fatalf("%v: %s", args, errs)
		}
		want, _, _ := written(t, d.at("o.npy"))
		for _, out := range []string{"o.csv", "o.parquet"} {
			code, _, errs := candor(t, append(args, "-o", d.at(out))...)
			if code != 0 || !strings.Contains(errs, c.says) {
				t.Errorf("%v: exit code %d: %s", args, code, errs)
			}
			got := readOut(t, d.at(out), c.names, nil).values
			if len(got) != len(want) {
				t.Fatalf("%v, %s: %d values, want %d", args, out, len(got), len(want))
			}
			for i, v := range got {
				if float32(v) != float32(want[i]) {
					t.Fatalf("%v, %s: value %d is %v, want %v", args, out, i, v, want[i])
				}
			}
		}
	}
}

// TestTablesOutForecasts: tables of forecasts are read by candor eval without names of columns.
func TestTablesOutForecasts(t *testing.T) {
	d := newDir(t)
	f, q := d.put("f.csv", normalRows(3, 300).csv()), d.put("q.csv", quantileRows(3, 300).csv())
	of, ofQ := []string{"--mean", "mu", "--std", "sigma", "--observed", "y"}, []string{"--quantile-prefix", "q", "--observed", "y"}
	printed(t, slices.Concat([]string{"recal", "fit", "sigma", f, "--json", "-o", d.at("s.json")}, of)...)
	printed(t, slices.Concat([]string{"recal", "fit", "quantile", q, "--json", "-o", d.at("q.json")}, ofQ)...)
	printed(t, slices.Concat([]string{"recal", "apply", d.at("s.json"), f, "-o", d.at("o.npy")}, of)...)
	want := printed(t, "eval", d.at("o.npy"), "--task", "regression", "--json")
	for _, out := range []string{"o.csv", "o.tsv"} {
		printed(t, slices.Concat([]string{"recal", "apply", d.at("s.json"), f, "--keep", "site,y", "-o", d.at(out)}, of)...)
		if got := printed(t, "eval", d.at(out), "--task", "regression", "--json"); got != want {
			t.Errorf("%s: %s", out, differing(want, got))
		}
		if head, _, _ := strings.Cut(string(d.read(d.at(out))), "\n"); strings.ReplaceAll(head, "\t", ",") != "site,y,mean,sd,observed" {
			t.Error(head)
		}
	}
	printed(t, slices.Concat([]string{"recal", "apply", d.at("q.json"), q, "--keep", "y", "-o", d.at("o.csv")}, ofQ)...)
	if got := printed(t, "eval", d.at("o.csv"), "--task", "quantiles", "--quantile-prefix", "q", "--observed", "y", "--json"); !strings.Contains(got, `"quantiles"`) {
		t.Error(got)
	}
	printed(t, slices.Concat([]string{"score", f, "--task", "regression", "--metrics", "crps,nll", "--id", "site", "-o", d.at("o.csv")}, of)...)
	if head, _, _ := strings.Cut(string(d.read(d.at("o.csv"))), "\n"); head != "site,crps,nll" {
		t.Error(head)
	}
}

// TestTablesOutRefuses: what cannot be written is an error that says why, and nothing is left behind.
func TestTablesOutRefuses(t *testing.T) {
	d, s := newDir(t), newSet(25, 50, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	table, lines := d.put("x.csv", s.table("p_", animals)), d.put("x.jsonl", tableForms[2].put(s))
	d.put("latin.csv", []byte("id,p,y\na,0.5,1\ncaf\xe9,0.25,0\n"))
	d.put("named.csv", []byte("nll,p,y\na,0.5,1\n"))
	arrays := []string{"score", x, "--labels", y}
	of := []string{"--prob-prefix", "p_", "--label", "label"}
	with := func(out string, more ...string) []string {
		return slices.Concat([]string{"score", table, "-o", d.at(out)}, of, more)
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, append(arrays, "-o", d.at("o.csv"), "--id", "id"), "arrays have none with names; leave them out, or name tables"},
		{exitUsage, with("o.npy", "--id", "id"), "an array (.npy) has none; end the name of -o in .csv, .tsv, .parquet, .arrow, .feather or .arrows"},
		{exitUsage, with("o.csv", "--id", "id", "--keep", "site,id"), `--id and --keep name column "id" twice`},
		{exitData, with("o.csv", "--id", "idd"), `no column "idd" to keep (did you mean "id"?)`},
		{exitUsage, with("o.txt"), "its extension names no format"},
		{exitUsage, []string{"score", d.at("named.csv"), "--prob", "p", "--label", "y", "--keep", "nll", "-o", d.at("o.csv")}, `column "nll" is copied by --id or --keep, and it is also the name of a column that is computed`},
		{exitData, []string{"score", d.at("latin.csv"), "--prob", "p", "--label", "y", "--id", "id", "-o", d.at("o.csv")}, `latin.csv: line 3: column "id": "caf\xe9" is not UTF-8; write the file as UTF-8`},
		{exitData, []string{"score", lines, "--prob", "p.scores", "--label", "label", "--classes", "cat,dog,owl", "--keep", "p.scores", "-o", d.at("o.csv")}, `column "p.scores" cannot be kept: it is array of numbers`},
		{exitUsage, with(filepath.Join("none", "o.csv"), "--id", "id"), "cannot write"},
	} {
		refusedAs(t, d, c.code, c.args, c.want)
	}
}

// TestTablesOutWritten: of files that other software wrote, tables have the values of arrays, and their columns.
func TestTablesOutWritten(t *testing.T) {
	real := os.Getenv("CANDOR_REAL")
	if real == "" {
		t.Skip("CANDOR_REAL is not set: the files are not part of the repository")
	}
	dir := filepath.Join(real, "..", "formats", "written")
	d := newDir(t)
	var groups []string
	for _, c := range []struct{ file, ids, keep string }{
		{"pandas.csv", "id", "group,label"}, {"pandas.tsv", "id", "group,label"}, {"pandas.csv.gz", "id", "group,label"}, {"polars.csv", "id", "group,label"},
		{"pyarrow.csv", "id", "group,label"}, {"duckdb.csv", "id", "group,label"}, {"crlf.csv", "id", "group,label"}, {"bom.csv", "id", "group,label"},
		{"utf16.csv", "id", "group,label"}, {"semicolon_decimalcomma.csv", "id", "group,label"}, {"pandas_index.csv", "id", "group,label"},
		{"wide.jsonl", "id", "group,label"}, {"pandas.jsonl", "id", "group,label"}, {"polars.ndjson", "id", "group,label"},
		{"pandas.parquet", "id", "group,label"}, {"pandas_index.parquet", "id", "group,label"}, {"polars_wide.parquet", "id", "group,label"},
		{"duckdb_wide.parquet", "id", "group,label"}, {"pyarrow_zstd.parquet", "id", "group,label"},
	} {
		in := filepath.Join(dir, c.file)
		if _, err := os.Stat(in); err != nil {
			continue
		}
		head, err := predictions.InspectTable(in)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, n := range strings.Split(c.ids+","+c.keep, ",") {
			if slices.ContainsFunc(head.Columns, func(c predictions.TableColumn) bool { return c.Name == n }) {
				kept = append(kept, n)
			}
		}
		if len(kept) == 0 || !slices.ContainsFunc(head.Columns, func(c predictions.TableColumn) bool { return strings.HasPrefix(c.Name, "prob_") }) {
			t.Errorf("%s has none of the columns", c.file)
			continue
		}
		args := []string{"score", in, "--prob-prefix", "prob_", "--label", "label", "--metrics", "nll,brier"}
		printed(t, append(args, "-o", d.at("o.npy"))...)
		want, _, _ := written(t, d.at("o.npy"))
		for _, out := range []string{"o.csv", "o.parquet"} {
			printed(t, append(args, "--keep", strings.Join(kept, ","), "-o", d.at(out))...)
			got := readOut(t, d.at(out), []string{"nll", "brier"}, kept)
			if !sameBits(got.values, want) {
				t.Errorf("%s, %s: other values", c.file, out)
			}
			if kept[0] == "id" {
				for i, id := range got.kept[0] {
					if id != fmt.Sprintf("row-%05d", i) {
						t.Fatalf("%s, %s: row %d is %q", c.file, out, i, id)
					}
				}
			}
			if g := slices.Index(kept, "group"); g >= 0 {
				if groups == nil {
					groups = got.kept[g]
				}
				if !slices.Equal(got.kept[g], groups) {
					t.Errorf("%s, %s: other groups", c.file, out)
				}
			}
		}
	}
}
