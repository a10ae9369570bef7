package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// table returns the set as CSV with a header: a column before the others, then those of the scores under a prefix, the label, which is
// a class's name, and weights, decisions, confidence scores and groups.
func (s *set) table(prefix string, classes []string) []byte {
	var b bytes.Buffer
	b.WriteString("id")
	for j := range s.classes {
		fmt.Fprintf(&b, ",%s%s", prefix, classes[j])
	}
	b.WriteString(",label,weight,decision,by,site\n")
	for i := range s.rows {
		fmt.Fprintf(&b, "row %d", i)
		for _, p := range s.probs[i*s.classes : (i+1)*s.classes] {
			b.WriteString("," + strconv.FormatFloat(p, 'g', -1, 64))
		}
		name := func(y int32) string {
			if s.classes == 1 {
				return strconv.Itoa(int(y))
			}
			return classes[y]
		}
		fmt.Fprintf(&b, ",%s,%v,%s,%v,%q\n", name(s.labels[i]), s.weights[i], name(s.decisions[i]), s.by[i], []string{"east", "south, west"}[i%2])
	}
	return b.Bytes()
}

var animals = []string{"cat", "dog", "owl", "emu", "elk", "gnu", "yak", "fox", "ape", "ant"}

// tableForm is a form in which a set's columns are written.
type tableForm struct {
	name    string // of the file
	put     func(s *set) []byte
	of      []string // flags
	members bool     // a score for each class has a column or a field of its own
}

var tableForms = []tableForm{
	{"t.csv", func(s *set) []byte { return s.table("p_", animals) }, []string{"--prob-prefix", "p_", "--label", "label"}, true},
	{"columns.jsonl", func(s *set) []byte {
		return s.lines(func(row []float64, field func(name string, v any)) {
			for j, p := range row {
				field("p_"+animals[j], p)
			}
		})
	}, []string{"--label", "label"}, true},
	{"lists.ndjson", func(s *set) []byte {
		return s.lines(func(row []float64, field func(name string, v any)) { field("p", map[string]any{"scores": row}) })
	}, []string{"--prob", "p.scores", "--label", "label"}, false},
	{"maps.jsonl", func(s *set) []byte {
		return s.lines(func(row []float64, field func(name string, v any)) {
			m := map[string]float64{}
			for j, p := range row {
				m[animals[j]] = p
			}
			field("p", m)
		})
	}, []string{"--prob", "p", "--label", "label"}, false},
	{"pairs.json", func(s *set) []byte {
		b := s.lines(func(row []float64, field func(name string, v any)) {
			var l []map[string]any
			for j := range row {
				j = (j + len(row)/2) % len(row)
				l = append(l, map[string]any{"score": row[j], "label": animals[j]})
			}
			field("p", l)
		})
		return append(append([]byte{'['}, bytes.Join(bytes.Split(bytes.TrimSpace(b), []byte{'\n'}), []byte{','})...), ']')
	}, []string{"--prob", "p", "--label", "label"}, false},
}

// lines returns the set as JSON Lines; scores adds the fields of a row's scores.
func (s *set) lines(scores func(row []float64, field func(name string, v any))) []byte {
	var b bytes.Buffer
	for i := range s.rows {
		row := map[string]any{"id": i, "weight": s.weights[i], "by": s.by[i], "site": []string{"east", "south, west"}[i%2]}
		row["label"], row["decision"] = s.labels[i], s.decisions[i]
		if s.classes > 1 {
			row["label"], row["decision"] = animals[s.labels[i]], animals[s.decisions[i]]
		}
		scores(s.probs[i*s.classes:(i+1)*s.classes], func(name string, v any) { row[name] = v })
		line, err := json.Marshal(row)
		if err != nil {
			panic(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// TestClassTables: what a table gives is what the same numbers in arrays give.
func TestClassTables(t *testing.T) {
	for _, form := range tableForms {
		t.Run(form.name, func(t *testing.T) { testClassTable(t, form) })
	}
}

func testClassTable(t *testing.T, form tableForm) {
	d := newDir(t)
	for _, k := range []int{1, 2, 3, 10} {
		if k == 1 && !form.members {
			continue
		}
		s := exactProbs(21, 307, k)
		x := d.put("x.npy", npy(t, s.shape(), s.probs))
		y := []string{"--labels", d.put("y.npy", s.labelFile(t))}
		table := d.put(form.name, form.put(s))
		of := form.of
		switch {
		case !form.members:
			of = append(slices.Clone(of), "--classes", strings.Join(animals[:k], ","))
		case form.name == "columns.jsonl": // whose fields are in another order
			of = append(slices.Clone(of), "--prob", "p_"+strings.Join(animals[:k], ",p_"))
		}
		named := []string{"--classes", strings.Join(animals[:k], ",")}
		if k == 1 {
			named = nil
		}
		scores := of[:len(of):len(of)]
		scores = slices.Delete(slices.Clone(scores), slices.Index(scores, "--label"), slices.Index(scores, "--label")+2)
		arrays := []string{"--weights", d.put("w.npy", s.weightFile(t)), "--decisions", d.put("d.npy", s.decisionFile(t)), "--confidence-scores", d.put("by.npy", s.byFile(t))}
		columns := []string{"--weights", "weight", "--decisions", "decision", "--confidence-scores", "by"}
		for i, more := range [][2][]string{{{}, {}}, {arrays, columns}, {{"--metrics", "all"}, {"--metrics", "all"}}} {
			want := printed(t, slices.Concat([]string{"eval", "--json", x}, y, named, more[0])...)
			got := printed(t, slices.Concat([]string{"eval", "--json", table}, of, more[1])...)
			if got != want {
				t.Errorf("%d classes, %d: %s", k, i, differing(got, want))
			}
		}
		if k == 2 {
			want := printed(t, slices.Concat([]string{"eval", "--json", x, "--event", "0"}, y, named)...)
			if got := printed(t, slices.Concat([]string{"eval", "--json", table, "--event", "cat"}, of)...); got != want {
				t.Errorf("--event: %s", differing(got, want))
			}
			want = printed(t, slices.Concat([]string{"eval", "--json", x, "--task", "classification"}, y, named)...)
			if got := printed(t, slices.Concat([]string{"eval", "--json", table, "--task", "classification"}, of)...); got != want {
				t.Errorf("--task classification: %s", differing(got, want))
			}
		}
		// What is written of each row, a map, and what it makes of the table.
		printed(t, slices.Concat([]string{"score", x, "--metrics", "nll,brier", "-o", d.at("a.npy")}, y)...)
		printed(t, slices.Concat([]string{"score", table, "--metrics", "nll,brier", "-o", d.at("b.npy")}, of)...)
		if !bytes.Equal(d.read(d.at("a.npy")), d.read(d.at("b.npy"))) {
			t.Errorf("%d classes: candor score writes other rows", k)
		}
		printed(t, slices.Concat([]string{"recal", "fit", "temperature", x, "-o", d.at("a.json")}, y)...)
		printed(t, slices.Concat([]string{"recal", "fit", "temperature", table, "-o", d.at("b.json")}, of)...)
		if !bytes.Equal(d.read(d.at("a.json")), d.read(d.at("b.json"))) {
			t.Errorf("%d classes: candor recal fit writes another map", k)
		}
		printed(t, "recal", "apply", d.at("a.json"), x, "-o", d.at("a.npy"))
		printed(t, slices.Concat([]string{"recal", "apply", d.at("a.json"), table, "-o", d.at("b.npy")}, scores)...)
		if !bytes.Equal(d.read(d.at("a.npy")), d.read(d.at("b.npy"))) {
			t.Errorf("%d classes: candor recal apply writes other rows", k)
		}
	}
	// Two columns of logits are the event's less the other's.
	two := exactLogits(24, 307, 2, 0)
	want := printed(t, "eval", "--json", d.put("x.npy", npy(t, two.shape(), two.probs)), "--labels", d.put("y.npy", two.labelFile(t)), "--input", "logits", "--classes", "cat,dog")
	if got := printed(t, "eval", "--json", d.put("t.csv", two.table("z_", animals)), "--logit-prefix", "z_", "--labels", "label"); got != want {
		t.Errorf("logits: %s", differing(got, want))
	}
	// Groups by a column.
	s := exactProbs(22, 307, 3)
	table := d.put("t.csv", s.table("p_", animals))
	got := printed(t, "eval", table, "--prob-prefix", "p_", "--labels", "label", "--group", "site", "--format", "csv")
	if !strings.Contains(got, "south, west") {
		t.Errorf("no group in\n%s", got)
	}
	// Two models of one table beside each other.
	other := d.put("u.csv", exactProbs(22, 307, 3).each(func(p float64) float64 { return p }).table("p_", animals))
	if out := printed(t, "compare", table, other, "--prob-prefix", "p_", "--labels", "label"); !strings.HasPrefix(out, "t and u do not differ: NLL is the same in every row.\n\nt: 307 rows x 3 classes") {
		t.Errorf("candor compare:\n%s", out)
	}
	// The binding is said, and is in no document.
	code, out, errs := candor(t, "eval", table, "--prob", "p_cat,p_dog,p_owl", "--labels", "label")
	if code != 0 || !strings.Contains(errs, "Columns: scores p_cat, p_dog, p_owl; label label.") || strings.Contains(out, "Columns:") {
		t.Errorf("%d: %s", code, errs)
	}
}

func TestClassTableFlags(t *testing.T) {
	d := newDir(t)
	s := exactProbs(23, 20, 3)
	table := d.put("t.csv", s.table("p_", animals))
	x, y := d.put("x.npy", npy(t, s.shape(), s.probs)), d.put("y.npy", s.labelFile(t))
	d.put("label", nil)
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{table, "--prob", "a", "--prob-prefix", "p_"}, "--prob, --prob-prefix and --logit-prefix name the same columns; give one of them"},
		{exitUsage, []string{table, "--logit-prefix", "p_", "--input", "probs"}, "--logit-prefix names columns of logits, and --input is probs"},
		{exitUsage, []string{table, "--prob", "p_cat", "--task", "regression"}, "--prob, --prob-prefix and --logit-prefix are for --task binary, classification, multilabel, ensemble and survival"},
		{exitUsage, []string{x, "--labels", y, "--classes", "a,b"}, "--classes names 2 classes, and the scores are of 3"},
		{exitUsage, []string{x, "--labels", y, "--classes", "a,b,a"}, `--classes names "a" twice`},
		{exitUsage, []string{x, "--labels", y, "--classes", "a,b,c", "--task", "samples"}, "--classes names classes, and --task samples has none"},
		{exitData, []string{table, "--prob", "p_cat", "--labels", "label", "--classes", "a,b,c"}, "3 classes are named, and one probability a row is a binary task"},
		{exitData, []string{table, "--prob", "p_cat", "--labels", "label", "--classes", "dog,cat", "--event", "dog"}, `the event is "dog", and the second of the classes, which is the event, is "cat"`},
		{exitUsage, []string{table, "--prob-prefix", "p_", "--labels", "label,weight"}, "--labels names 2 columns, and a table has one per row"},
		{exitData, []string{table, "--labels", "label"}, `t.csv: no column of scores is named: the columns are "id", "p_cat"`},
		{exitData, []string{table, "--prob-prefix", "p_"}, "t.csv: no column of labels is named"},
		{exitData, []string{table, "--prob-prefix", "p_", "--labels", "lable"}, `t.csv: no column "lable" for the label`},
		{exitData, []string{table, "--prob-prefix", "p_", "--labels", "label", "--classes", "a,b,c"}, `t.csv: line 2: column "label": label "`},
		{exitData, []string{table, "--prob-prefix", "p_", "--labels", "label", "--event", "cat"}, "is for a binary task, and rows have 3 scores; leave --event out"},
	} {
		if code, _, errs := candor(t, append([]string{"eval"}, c.args...)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit code %d: %s", c.args, code, errs)
		}
	}
	// A name of a column that is also a file's is in doubt.
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	defer os.Chdir(here)
	if err := os.Chdir(d.path); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := candor(t, "eval", table, "--prob-prefix", "p_", "--labels", "label"); code == 0 || !strings.Contains(errs, "--labels label: there is a column of that name and a file") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestInspectTable: what inspect proposes for a table is a command that runs.
func TestInspectTable(t *testing.T) {
	d := newDir(t)
	for _, c := range []struct{ name, text, want string }{
		{"a.csv", string(exactProbs(25, 30, 3).table("p_", animals)), "Likely: candor eval PATH --prob-prefix p_ --labels label --weights weight\n"},
		{"b.csv", "y,p\n1,.5\n0,.25\n", "PATH: table, commas between cells\n  y       numbers  1\n  p       numbers  .5\nLikely: candor eval PATH --prob p --labels y\n"},
		{"c d.csv", "y;p\n1;0,5\n0;0,25\n", "PATH: table, semicolons between cells, decimal commas\n  y       numbers  1\n  p       numbers  0,5\nLikely: candor eval 'PATH' --prob p --labels y\n"},
		{"d.csv", "label,probs\n1,\"[.5, .25, .25]\"\n0,\"[1, 0, 0]\"\n", "Likely: candor eval PATH --prob probs --labels label\n"},
		{"e.csv", "predict,p0,p1,p2,truth\n0,.5,.25,.25,1\n", "Likely: candor eval PATH --prob p0,p1,p2 --labels truth\n"},
		{"g.jsonl", `{"id": "a", "pred": {"label": "x", "probs": {"cat": 0.25, "dog": 0.75}}, "truth": "dog"}`,
			"PATH: JSON Lines\n  id          text           a\n  pred.label  text           x\n  pred.probs  named numbers  {\"cat\": 0.25, \"dog\": 0.75}\n  truth       text           dog\n" +
				"Likely: candor eval PATH --prob pred.probs --labels truth --classes cat,dog\n"},
		{"h.ndjson", `{"y": 1, "probs": [0.25, 0.5, 0.25], "other": [[1], [2]], "none": null}`,
			"PATH: JSON Lines\n  y       numbers           1\n  probs   lists of numbers  [0.25, 0.5, 0.25]\n  other   other             [[1], [2]]\n  none    other             \n" +
				"Likely: candor eval PATH --prob probs --labels y\n"},
		{"i.jsonl", `{"y": 1, "logits": [0.25, -0.5, 7]}`,
			"PATH: JSON Lines\n  y       numbers           1\n  logits  lists of numbers  [0.25, -0.5, 7]\nLikely: candor eval PATH --prob logits --input logits --labels y\n"},
		{"f.csv", "a,b\n1,2\n", "PATH: table, commas between cells\n  a       numbers  1\n  b       numbers  2\n"},
	} {
		path := d.put(c.name, []byte(c.text))
		out := printed(t, "inspect", path)
		if want := strings.ReplaceAll(c.want, "PATH", path); !strings.HasSuffix(out, want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, out, want)
		}
		if _, command, ok := strings.Cut(out, "Likely: candor "); ok {
			args := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(command, "'"+path+"'", "PATH"), path, "PATH"))
			args[slices.Index(args, "PATH")] = path
			printed(t, args...)
		}
	}
	if out := printed(t, "inspect", "--json", d.at("b.csv")); !strings.Contains(out, `"command": "candor eval `+d.at("b.csv")+` --prob p --labels y"`) {
		t.Error(out)
	}
}

// TestWrittenTables: files that pyarrow, Polars and DuckDB wrote give what the same numbers in arrays give, and groups those of JSON Lines.
func TestWrittenTables(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "tables")
	d := newDir(t)
	var s set
	s.classes = 3
	for line := range strings.Lines(string(d.read(filepath.Join(dir, "rows.jsonl")))) {
		var r struct {
			PCat     float64 `json:"p_cat"`
			PDog     float64 `json:"p_dog"`
			POwl     float64 `json:"p_owl"`
			Number   int32
			Weight   float64
			Decision string
			By       float64
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		s.rows++
		s.probs, s.labels = append(s.probs, r.PCat, r.PDog, r.POwl), append(s.labels, r.Number)
		s.weights, s.by, s.decisions = append(s.weights, r.Weight), append(s.by, r.By), append(s.decisions, int32(slices.Index(animals, r.Decision)))
	}
	arrays := []string{"--labels", d.put("y.npy", s.labelFile(t)), "--weights", d.put("w.npy", s.weightFile(t)), "--decisions", d.put("d.npy", s.decisionFile(t)),
		"--confidence-scores", d.put("by.npy", s.byFile(t))}
	columns := []string{"--label", "label", "--weights", "weight", "--decisions", "decision", "--confidence-scores", "by"}
	want := map[string]string{}
	for _, dtype := range dtypes[:3] {
		want[dtype] = printed(t, slices.Concat([]string{"eval", "--json", "--classes", "cat,dog,owl", "--metrics", "default,sce", d.put(dtype+".npy", stored(t, dtype, s.shape(), s.probs))}, arrays)...)
	}
	grouped := []string{"--label", "label", "--group", "site,year", "--format", "csv"}
	ofGroups := printed(t, slices.Concat([]string{"eval", filepath.Join(dir, "rows.jsonl"), "--prob-prefix", "p_"}, grouped)...)
	wide, one := []string{"--prob-prefix", "p_"}, []string{"--prob", "probs", "--classes", "cat,dog,owl"}
	for _, c := range []struct {
		file, dtype string
		of          []string
	}{
		{"rows.jsonl", "float64", wide},
		{"pyarrow.parquet", "float64", wide}, {"pages.parquet", "float64", wide}, {"split.parquet", "float64", wide}, {"polars.parquet", "float64", wide},
		{"duckdb.parquet", "float64", wide}, {"list.parquet", "float64", one}, {"array.parquet", "float32", one}, {"half.parquet", "float16", one},
		{"struct.parquet", "float64", one[:2]}, {"map.parquet", "float64", one}, {"vector.parquet", "float64", one},
		{"polars.arrow", "float64", wide}, {"pyarrow.feather", "float64", wide}, {"stream.arrows", "float32", one},
		{"float32.safetensors", "float32", one}, {"float16.safetensors", "float16", one}, {"bfloat16.safetensors", "float32", one},
	} {
		path := filepath.Join(dir, c.file)
		if got := printed(t, slices.Concat([]string{"eval", "--json", "--metrics", "default,sce", path}, c.of, columns)...); got != want[c.dtype] {
			t.Errorf("%s: %s", c.file, differing(got, want[c.dtype]))
		}
		if c.dtype == "float64" {
			if got := printed(t, slices.Concat([]string{"eval", path}, c.of, grouped)...); got != ofGroups {
				t.Errorf("%s: %s", c.file, differing(got, ofGroups))
			}
		}
		// What inspect proposes runs.
		_, command, ok := strings.Cut(printed(t, "inspect", path), "Likely: candor ")
		if !ok {
			t.Errorf("%s: nothing is proposed", c.file)
			continue
		}
		printed(t, strings.Fields(strings.Replace(command, "NAMES", "cat,dog,owl", 1))...)
	}
}
