package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions"
)

// alignModels are the sets of the tests of alignment: rows of an id, three scores, a label and a weight.
func alignModels(seed uint64, n int) (rows [][][]string) {
	r := rand.New(rand.NewPCG(seed, 9))
	names := []string{"cat", "dog", "eel"}
	labels, weights := make([]string, n), make([]string, n)
	for i := range n {
		labels[i], weights[i] = names[r.IntN(3)], strconv.Itoa(1+r.IntN(4))
	}
	for range 2 {
		var l [][]string
		for i := range n {
			a, b := 1+r.IntN(50), 1+r.IntN(50)
			c := 1 + r.IntN(50)
			sum := float64(a + b + c)
			l = append(l, []string{fmt.Sprintf("r-%04d", i), decimalOf(float64(a) / sum), decimalOf(float64(b) / sum), decimalOf(float64(c) / sum), labels[i], weights[i]})
		}
		rows = append(rows, l)
	}
	return rows
}

const alignHead = "id,p_cat,p_dog,p_eel,y,w"

// folder makes a folder, so that files in several have the same names.
func (d *dir) folder(name string) *dir {
	d.t.Helper()
	if err := os.Mkdir(d.at(name), 0o755); err != nil {
		d.t.Fatal(err)
	}
	return &dir{d.t, d.at(name)}
}

// tableAs writes a table of text in another format; columns whose name begins with p_, and w, are numbers.
func tableAs(t *testing.T, path string, text []byte) string {
	t.Helper()
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	format, ok := predictions.TableFormatOf(path)
	if !ok {
		t.Fatal(path)
	}
	var list []predictions.Column
	cells := make([]predictions.Cells, len(lines[0]))
	for c, name := range lines[0] {
		k := predictions.TextColumn
		switch {
		case strings.HasPrefix(name, "p_") || name == "w":
			k = predictions.Float64Column
		case name == "number":
			k = predictions.Int64Column
		}
		list = append(list, predictions.Column{Name: name, Type: k})
		for _, l := range lines[1:] {
			switch v := &cells[c]; k {
			case predictions.Float64Column:
				x, _ := strconv.ParseFloat(l[c], 64)
				v.Float64 = append(v.Float64, x)
			case predictions.Int64Column:
				x, _ := strconv.ParseInt(l[c], 10, 64)
				v.Int64 = append(v.Int64, x)
			default:
				v.Bytes = append(v.Bytes, l[c]...)
				v.Ends = append(v.Ends, len(v.Bytes))
			}
		}
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := predictions.NewTableWriter(f, format, list)
	if err == nil {
		err = w.Write(len(lines)-1, cells)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAlign: sets in other orders are compared as sorted ones are, to the byte, in every format, by any number of threads.
func TestAlign(t *testing.T) {
	d := newDir(t)
	tmp := d.folder("tmp")
	t.Setenv("TMPDIR", tmp.path)
	const n = 900
	m := alignModels(1, n)
	sorted, other := d.folder("sorted"), d.folder("other")
	flags := []string{"--prob-prefix", "p_", "--label", "y", "--weights", "w", "--json", "--max-memory", "400MiB"}
	a, b := csvOf(alignHead, m[0], inOrder(n)), csvOf(alignHead, m[1], inOrder(n))
	mixed := csvOf(alignHead, m[1], shuffled(n))
	want := printed(t, append([]string{"compare", sorted.put("a.csv", a), sorted.put("b.csv", b)}, flags...)...)
	same := func(what string, args ...string) {
		t.Helper()
		if got := printed(t, slices.Concat([]string{"compare"}, args, flags)...); got != want {
			t.Errorf("%s: %s", what, differing(got, want))
		}
	}
	first := other.put("a.csv", a)
	same("one order", first, sorted.at("b.csv"), "--id", "id")
	same("other order", first, other.put("b.csv", mixed), "--id", "id")
	same("one thread", first, other.at("b.csv"), "--id", "id", "--threads", "1")
	same("four threads", first, other.at("b.csv"), "--id", "id", "--threads", "4")
	// The order of the first set is that of the comparison, which changes nothing either.
	swapped := printed(t, append([]string{"compare", other.at("b.csv"), first, "--id", "id", "--baseline", "a"}, flags...)...)
	if !strings.Contains(swapped, `"nll"`) || strings.Contains(swapped, `"dropped": {`) {
		t.Errorf("%d", len(swapped))
	}
	for _, ext := range []string{".parquet", ".arrow"} {
		d := d.folder(ext[1:])
		// Names of files have the ending of these formats, which names of sets keep.
		called := func(s string) string { return strings.ReplaceAll(s, "b.csv", "b"+ext) }
		got := printed(t, slices.Concat([]string{"compare", tableAs(t, d.at("a"+ext), a), tableAs(t, d.at("b"+ext), mixed), "--id", "id"}, flags)...)
		whole := printed(t, slices.Concat([]string{"compare", d.at("a" + ext), tableAs(t, d.at("c"+ext), b)}, flags)...)
		if got != strings.ReplaceAll(whole, "c"+ext, "b"+ext) {
			t.Errorf("%s: %s", ext, differing(called(got), whole))
		}
	}
	// Numbers are ids too, and several columns are.
	byNumber := func(text []byte) []byte {
		s := strings.ReplaceAll(string(text), "id,", "number,half,")
		for i := range n {
			s = strings.Replace(s, fmt.Sprintf("\nr-%04d,", i), fmt.Sprintf("\n%d,%d,", i/2, i%2), 1)
		}
		return []byte(s)
	}
	two := d.folder("two")
	same("two columns", two.put("a.csv", byNumber(a)), two.put("b.csv", byNumber(mixed)), "--id", "number,half")
	// Labels of a table of their own.
	truth := csvOf("key,label,id", func() (l [][]string) {
		for i := range n {
			l = append(l, []string{"x", m[0][i][4], m[0][i][0]})
		}
		return l
	}(), shuffled(n))
	flags[3] = d.put("truth.csv", truth) + ":label"
	flags[2] = "--labels"
	same("labels by the id", first, other.at("b.csv"), "--id", "id")
	if l := tmp.list(); len(l) > 0 {
		t.Errorf("temporary files are left: %v", l)
	}
}

// TestAlignDrop: a row that not every set has is left out of all, once counted; the rest is what the common rows give.
func TestAlignDrop(t *testing.T) {
	d := newDir(t)
	const n = 600
	m := append(alignModels(2, n), alignModels(2, n)[0])
	some, common := d.folder("some"), d.folder("common")
	has := func(set, i int) bool { return i%7 != set && i%11 != 10-set || i < 50 }
	var args, whole []string
	var both []int
	left := 0
	for i := range n {
		switch in := oneIf(has(0, i)) + oneIf(has(1, i)) + oneIf(has(2, i)); in {
		case 3:
			both = append(both, i)
		case 0:
		default:
			left++
		}
	}
	for k, name := range []string{"a.csv", "b.csv", "c.csv"} {
		own := slices.DeleteFunc(shuffled(n), func(i int) bool { return !has(k, i) })
		if k == 0 { // whose order is taken
			own = slices.DeleteFunc(inOrder(n), func(i int) bool { return !has(k, i) })
		}
		args = append(args, some.put(name, csvOf(alignHead, m[k], own)))
		whole = append(whole, common.put(name, csvOf(alignHead, m[k], both)))
	}
	flags := []string{"--prob-prefix", "p_", "--label", "y", "--json"}
	want := printed(t, slices.Concat([]string{"compare"}, whole, flags)...)
	got := printed(t, slices.Concat([]string{"compare", "--id", "id", "--on-unmatched", "drop"}, args, flags)...)
	checkSchema(t, got)
	var doc struct {
		Dropped struct {
			Rows int
			By   []string
		}
		Warnings []string
	}
	if err := json.Unmarshal([]byte(got), &doc); err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("%d rows are left out, as their id is not in every set", left)
	if doc.Dropped.Rows != left || !slices.Equal(doc.Dropped.By, []string{"id"}) || !slices.Equal(doc.Warnings, []string{said}) {
		t.Errorf("%+v, want %d", doc, left)
	}
	if head, _, _ := strings.Cut(got, ",\n  \"dropped\""); !strings.HasPrefix(want, head) || len(want)-len(head) > 4 {
		t.Errorf("%s", differing(head, want))
	}
	if code, _, errs := candor(t, slices.Concat([]string{"compare", "--id", "id", "--on-unmatched", "drop"}, args, flags[:4])...); code != 0 || strings.Count(errs, said) != 1 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// Rows without an id are left out too.
	blank := some.put("blank.csv", append(csvOf(alignHead, m[0], inOrder(n)), ",0.2,0.3,0.5,cat,1\n"...))
	full := some.put("full.csv", csvOf(alignHead, m[1], inOrder(n)))
	if _, _, errs := candor(t, append([]string{"compare", blank, full, "--id", "id", "--on-unmatched", "drop"}, flags[:4]...)...); !strings.Contains(errs, "1 row is left out, as its id is not in every set") {
		t.Errorf("%s", errs)
	}
}

// TestAlignRefused: what is wrong with the ids names the file, the line and the id, and says what to do.
func TestAlignRefused(t *testing.T) {
	d := newDir(t)
	put := func(name, rows string) string { return d.put(name, []byte("id,p,y,w\n"+rows)) }
	a := put("a.csv", "x,0.2,0,1\ny,0.7,1,1\nz,0.6,1,1\n")
	for _, c := range []struct {
		rows string
		more []string
		want []string
	}{
		{"y,0.7,1,1\nx,0.2,0,1\n", nil, []string{"a.csv: line 4: key \"z\" is in no row of b.csv", "--on-unmatched drop"}},
		{"y,0.7,1,1\nx,0.2,0,1\nw,0.2,0,1\nz,0.1,1,1\n", nil, []string{"b.csv: line 4: key \"w\" is in no row of a.csv", "--on-unmatched drop"}},
		{"y,0.7,1,1\nx,0.2,0,1\ny,0.2,0,1\nz,0.1,1,1\n", nil, []string{"b.csv: line 4: key \"y\" is there twice", "--id"}},
		{"y,0.7,1,1\n,0.2,0,1\n", nil, []string{"b.csv: line 3: the key is missing", "--on-unmatched drop"}},
		{"q,0.7,1,1\n", []string{"--on-unmatched", "drop"}, []string{"no key is in every set", "are they of the same data"}},
		{"y,0.7,0,1\nx,0.2,0,1\nz,0.1,1,1\n", nil, []string{"b.csv: id \"y\": the label is 0, and 1 in a.csv"}},
		{"z,0.7,1,1\ny,0.7,1,2\nx,0.2,0,1\n", []string{"--weights", "w"}, []string{"b.csv: id \"y\": the weight is 2, and 1 in a.csv"}},
		{"z,0.7,1,1\ny,1.5,1,2\nx,0.2,0,1\n", nil, []string{"b.csv: line 3, column \"p\": probability is 1.5"}},
		{"z,0.7,1,1\ny,0.5,1,2\nx,0.2,0,1\n", []string{"--id", "name"}, []string{"no column \"name\" for the key", "name the column by --id"}},
	} {
		args := []string{"compare", a, put("b.csv", c.rows), "--prob", "p", "--label", "y", "--id", "id"}
		if len(c.more) > 0 && c.more[0] == "--id" {
			args = args[:len(args)-2]
		}
		code, out, errs := candor(t, append(args, c.more...)...)
		if code != exitData || out != "" {
			t.Errorf("%q: exit code %d, %s", c.rows, code, out)
		}
		for _, w := range c.want {
			if errs := strings.ReplaceAll(errs, d.path+string(filepath.Separator), ""); !strings.Contains(errs, w) {
				t.Errorf("%q: %s does not say %q", c.rows, errs, w)
			}
		}
	}
	b := put("b.csv", "y,0.7,1,1\nz,0.1,1,1\nx,0.2,0,1\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{a, b, "--prob", "p", "--label", "y", "--on-unmatched", "drop"}, "--on-unmatched drop is for"},
		{[]string{a, b, "--prob", "p", "--label", "y", "--id", "id,id"}, "twice"},
		{[]string{a, b, "--prob", "p", "--label", "y", "--id", "id", "--metrics", "spce(exact)"}, "exact keeps every row"},
		{[]string{a, b, "--prob", "p", "--label", "y", "--model", "m,n"}, "are in one"},
		{[]string{a, b, "--prob", "p", "--label", "y", "--model", "id", "--id", "id"}, "does not tell which rows belong together"},
		{[]string{a, "--prob", "m=p,n=p", "--label", "y", "--model", "id"}, "give one"},
		{[]string{a, b, "--task", "ensemble", "--prob", "p", "--label", "y", "--model", "id"}, "--task ensemble"},
	} {
		if code, out, errs := candor(t, append([]string{"compare"}, c.args...)...); code != exitUsage || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d, %s does not say %q", c.args, code, errs, c.want)
		}
	}
	if code, _, errs := candor(t, "eval", a, "--prob", "p", "--label", "y", "--id", "id"); code != exitUsage || !strings.Contains(errs, "--id tells which rows belong together") {
		t.Errorf("eval: exit code %d: %s", code, errs)
	}
}

// TestAlignApart: sets that are read one after another, as ensembles are, take --id for their labels as before.
func TestAlignApart(t *testing.T) {
	d := newDir(t)
	const n = 80
	m := alignModels(6, n)
	members := func(l, o [][]string) (r [][]string) {
		for i, row := range l {
			r = append(r, slices.Concat(row[:4], o[i][1:4]))
		}
		return r
	}
	head := "id,p_cat,p_dog,p_eel,q_cat,q_dog,q_eel"
	a, b := d.put("a.csv", csvOf(head, members(m[0], m[1]), inOrder(n))), d.put("b.csv", csvOf(head, members(m[1], m[1]), shuffled(n)))
	var labels bytes.Buffer
	labels.WriteString("id,y\n")
	for _, l := range m[0] {
		fmt.Fprintf(&labels, "%s,%s\n", l[0], l[4])
	}
	truth := d.put("truth.csv", labels.Bytes()) + ":y"
	args := []string{"compare", a, b, "--labels", truth, "--id", "id", "--json", "--metrics", "nll", "--prob-prefix"}
	apart := printed(t, append(args, "p_,q_", "--task", "ensemble")...)
	if !strings.Contains(apart, "does not match their rows") || strings.Count(apart, `"nll"`) < 2 {
		t.Errorf("%s", apart)
	}
	if beside := printed(t, append(args, "p_")...); !strings.Contains(beside, `"differences"`) || strings.Contains(beside, "does not match their rows") {
		t.Errorf("%s", beside)
	}
}

// TestAlignMemory: ids that --max-memory has no room for are an error that says so.
func TestAlignMemory(t *testing.T) {
	d := newDir(t)
	var text bytes.Buffer
	text.WriteString("id,p,y\n")
	for i := range 200_000 {
		fmt.Fprintf(&text, "patient %030d,0.%d,%d\n", i, 1+i%9, i%2)
	}
	a, b := d.put("a.csv", text.Bytes()), d.put("b.csv", text.Bytes())
	args := []string{"compare", a, b, "--prob", "p", "--label", "y", "--id", "id", "--metrics", "nll"}
	refused(t, d, append(args, "--max-memory", "56MiB"), "the keys of rows take more than", "raise --max-memory")
	printed(t, append(args, "--max-memory", "160MiB")...)
}

// TestLongTable: the models of a long table are compared as files of their own are, to the byte, wherever their rows stand.
func TestLongTable(t *testing.T) {
	d := newDir(t)
	const n = 500
	m := alignModels(3, n)
	sorted, long := d.folder("sorted"), d.folder("long")
	flags := []string{"--prob-prefix", "p_", "--label", "y", "--json", "--temperature-scaled"}
	want := printed(t, append([]string{"compare", sorted.put("old.csv", csvOf(alignHead, m[0], inOrder(n))), sorted.put("new.csv", csvOf(alignHead, m[1], inOrder(n)))}, flags...)...)
	var rows [][]string
	for k, name := range []string{"old", "new"} {
		for i := range n {
			rows = append(rows, append([]string{name}, m[k][i]...))
		}
	}
	head := "model," + alignHead
	same := func(what string, args ...string) {
		t.Helper()
		if got := printed(t, slices.Concat([]string{"compare", "--model", "model"}, args, flags)...); got != want {
			t.Errorf("%s: %s", what, differing(got, want))
		}
	}
	var turns, pairs []int
	for i := range n {
		turns = append(turns, i, n+(i*7)%n)
		pairs = append(pairs, i, n+i)
	}
	one := long.put("one.csv", csvOf(head, rows, inOrder(2*n)))
	same("one after the other", one)
	same("with ids", one, "--id", "id")
	same("row by row", long.put("pairs.csv", csvOf(head, rows, pairs)), "--threads", "3")
	mixed := csvOf(head, rows, turns)
	same("in other orders", long.put("turns.csv", mixed), "--id", "id")
	half := len(turns) / 2
	same("in shards", long.put("s-1.csv", csvOf(head, rows, turns[:half])), long.put("s-2.csv", csvOf(head, rows, turns[half:])), "--id", "id")
	flags = flags[:5]
	want = printed(t, append([]string{"compare", sorted.at("old.csv"), sorted.at("new.csv")}, flags...)...)
	if got := printed(t, slices.Concat([]string{"compare", tableAs(t, long.at("t.parquet"), mixed), "--model", "model", "--id", "id"}, flags)...); got != want {
		t.Errorf("Parquet: %s", differing(got, want))
	}
	// A row for each class, too.
	var byClass bytes.Buffer
	byClass.WriteString("model,id,class,p,y\n")
	for _, i := range turns {
		for c, name := range []string{"cat", "dog", "eel"} {
			fmt.Fprintf(&byClass, "%s,%s,%s,%s,%s\n", rows[i][0], rows[i][1], name, rows[i][2+c], rows[i][5])
		}
	}
	pivoted := []string{"compare", long.put("classes.csv", byClass.Bytes()), "--model", "model", "--id", "id", "--pivot", "class", "--prob", "p", "--classes", "cat,dog,eel", "--label", "y", "--json"}
	if got := printed(t, pivoted...); got != want {
		t.Errorf("a row for each class: %s", differing(got, want))
	}
	// And labels of another table, of which each has one for all models.
	var truth bytes.Buffer
	truth.WriteString("id,label\n")
	for _, i := range shuffled(n) {
		fmt.Fprintf(&truth, "%s,%s\n", m[0][i][0], m[0][i][4])
	}
	joined := []string{"compare", long.at("turns.csv"), "--model", "model", "--id", "id", "--prob-prefix", "p_", "--labels", d.put("truth.csv", truth.Bytes()) + ":label", "--json"}
	if got := printed(t, joined...); got != want {
		t.Errorf("labels of another table: %s", differing(got, want))
	}
	if _, _, errs := candor(t, append([]string{"compare", one, "--model", "model", "--id", "id"}, flags[:4]...)...); !strings.Contains(errs, "Columns: scores p_cat, p_dog, p_eel; label y; model model; id id.\n") {
		t.Errorf("%s", errs)
	}
	// Flips have the id, and a baseline is one of the models.
	printed(t, slices.Concat([]string{"compare", long.at("turns.csv"), "--model", "model", "--id", "id", "--flips", d.at("f.csv"), "--baseline", "old"}, flags)...)
	lines, err := csv.NewReader(bytes.NewReader(d.read(d.at("f.csv")))).ReadAll()
	if err != nil || len(lines) < 100 || lines[0][0] != "id" {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	at := 1
	for i := range n {
		top := func(k int) (best string) {
			most := 0.0
			for c, name := range []string{"cat", "dog", "eel"} {
				if p, _ := strconv.ParseFloat(m[k][i][1+c], 64); p > most {
					best, most = name, p
				}
			}
			return best
		}
		if a, b := top(0), top(1); a != b {
			if l := lines[at]; l[0] != m[0][i][0] || l[1] != "old" || l[2] != "new" || l[3] != m[0][i][4] || l[4] != a || l[5] != b {
				t.Fatalf("line %d is %q, want %s %s %s", at, l, m[0][i][0], a, b)
			}
			at++
		}
	}
	if at != len(lines) {
		t.Errorf("%d lines, want %d", len(lines), at)
	}
}

func TestLongTableRefused(t *testing.T) {
	d := newDir(t)
	put := func(rows string) string { return d.put("long.csv", []byte("model,id,p,y\n"+rows)) }
	var many strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&many, "m%d,x,0.5,1\n", i)
	}
	for _, c := range []struct {
		rows string
		code int
		more []string
		want []string
	}{
		{"a,x,0.2,0\na,y,0.6,1\nb,x,0.3,0\n", exitData, nil, []string{"\"b\" has 1 row, and \"a\" has 2 rows", "--id"}},
		{"a,x,0.2,0\na,y,0.6,1\nb,x,0.3,0\n", exitData, []string{"--id", "id"}, []string{"line 3: key \"y\" is in no row of b", "--on-unmatched drop"}},
		{"a,x,0.2,0\na,y,0.6,1\nb,x,0.3,0\nb,y,0.1,0\n", exitData, []string{"--id", "id"}, []string{"b: id \"y\": the label is 0, and 1 in a"}},
		{"a,x,0.2,0\na,y,0.6,1\nb,x,0.3,0\nb,y,0.1,0\n", exitData, nil, []string{"b: row 1 of the model: the label is 0, and 1 in a"}},
		{"a,x,0.2,0\na,y,0.6,1\nb,x,0.3,0\nb,y,7,1\n", exitData, nil, []string{"line 5, column \"p\": probability is 7"}},
		{"a,x,0.2,0\na,x,0.6,1\nb,x,0.3,0\n", exitData, []string{"--id", "id"}, []string{"line 3: key \"x\" is there twice"}},
		{"a,x,0.2,0\na,y,0.6,1\n", exitData, nil, []string{"long.csv: column \"model\" names one model, a"}},
		{"a,x,0.2,0\n,y,0.6,1\n", exitData, nil, []string{"long.csv: column \"model\": the model is missing"}},
		{many.String(), exitData, nil, []string{"long.csv: column \"model\" names more than 1,000"}},
		{"a,x,0.2,0\nb,x,0.6,0\n", exitUsage, []string{"--baseline", "c"}, []string{"none of the models; it is one of a, b"}},
		{"a,x,0.2,0\nb,x,0.6,0\n", exitData, []string{"--model", "name"}, []string{"no column \"name\" for the model", "name the column by --model"}},
	} {
		args := []string{"compare", put(c.rows), "--prob", "p", "--label", "y"}
		if len(c.more) == 0 || c.more[0] != "--model" {
			args = append(args, "--model", "model")
		}
		code, out, errs := candor(t, append(args, c.more...)...)
		if code != c.code || out != "" {
			t.Errorf("%.40q: exit code %d, %s", c.rows, code, out)
		}
		for _, w := range c.want {
			if !strings.Contains(errs, w) {
				t.Errorf("%.40q %v: %s does not say %q", c.rows, c.more, errs, w)
			}
		}
	}
}

// TestAlignForecasts: forecasts are matched too, also for what reads rows again: the test of Diebold and Mariano, and relative skill.
func TestAlignForecasts(t *testing.T) {
	d := newDir(t)
	const n = 400
	sorted, other, long := d.folder("sorted"), d.folder("other"), d.folder("long")
	r := rand.New(rand.NewPCG(8, 8))
	day := func(i int) string { return fmt.Sprintf("2026-%02d-%02d", 1+i/28, 1+i%28) }
	var rows [2][][]string
	for i := range n {
		y := r.NormFloat64()
		for k := range rows {
			mu := y + r.NormFloat64()*float64(1+k)
			rows[k] = append(rows[k], []string{day(i % 300), strconv.Itoa(i / 300), decimalOf(mu), "1.5", decimalOf(y), decimalOf(mu - 1), decimalOf(mu), decimalOf(mu + 1)})
		}
	}
	head := "ds,site,mu,sigma,y,q0.1,q0.5,q0.9"
	a, b := sorted.put("a.csv", csvOf(head, rows[0], inOrder(n))), sorted.put("b.csv", csvOf(head, rows[1], inOrder(n)))
	first, mixed := other.put("a.csv", csvOf(head, rows[0], inOrder(n))), other.put("b.csv", csvOf(head, rows[1], shuffled(n)))
	var all [][]string
	for k, name := range []string{"a", "b"} {
		for _, l := range rows[k] {
			all = append(all, append([]string{name}, l...))
		}
	}
	models := long.put("l.csv", csvOf("who,"+head, all, inOrder(2*n)))
	for _, task := range [][]string{
		{"--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y", "--metrics", "crps,nll,rmse", "--horizon", "3", "--baseline", "b"},
		{"--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y", "--metrics", "crps", "--horizon", "2", "--series", "site"},
		{"--task", "quantiles", "--quantile-prefix", "q", "--observed", "y", "--metrics", "wis", "--baseline", "a"},
	} {
		task = append(task, "--json")
		want := printed(t, append([]string{"compare", a, b}, task...)...)
		for _, args := range [][]string{{first, mixed, "--id", "ds,site"}, {models, "--model", "who"}, {models, "--model", "who", "--id", "site,ds"}} {
			if got := printed(t, slices.Concat([]string{"compare"}, args, task)...); got != want {
				t.Errorf("%v %v: %s", task[:2], args, differing(got, want))
			}
		}
		if code, _, errs := candor(t, slices.Concat([]string{"compare", first, mixed}, task)...); code != exitData || !strings.Contains(errs, "observed value") {
			t.Errorf("without --id: exit code %d: %s", code, errs)
		}
	}
	for i := range 3 {
		rows[1][i][4] = "7"
	}
	code, _, errs := candor(t, "compare", first, other.put("c.csv", csvOf(head, rows[1], shuffled(n))), "--id", "ds,site", "--task", "quantiles", "--quantile-prefix", "q", "--observed", "y")
	if code != exitData || !strings.Contains(errs, "c.csv: ds, site \"2026-01-0") || !strings.Contains(errs, "the observed value is 7") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestAlignArrays: an .npz has its ids in an array.
func TestAlignArrays(t *testing.T) {
	d := newDir(t)
	const n = 300
	for _, classes := range []int{1, 2, 5} {
		s, o := newSet(4, n, classes), newSet(5, n, classes)
		truth := s.labels
		sorted, other := d.folder(fmt.Sprint("sorted", classes)), d.folder(fmt.Sprint("other", classes))
		file := func(to *dir, name string, s *set, order []int) string {
			var ids []int64
			var labels []int32
			var probs []float64
			for _, i := range order {
				ids, labels = append(ids, int64(7*i)), append(labels, truth[i])
				probs = append(probs, s.probs[i*classes:(i+1)*classes]...)
			}
			return to.put(name, npz(t, "probs.npy", npy(t, []int64{int64(len(order)), int64(classes)}, probs), "labels.npy", npy(t, []int64{int64(len(order))}, labels), "id.npy", npy(t, []int64{int64(len(order))}, ids)))
		}
		want := printed(t, "compare", file(sorted, "a.npz", s, inOrder(n)), file(sorted, "b.npz", o, inOrder(n)), "--json")
		if got := printed(t, "compare", file(other, "a.npz", s, inOrder(n)), file(other, "b.npz", o, shuffled(n)), "--json", "--id", "id"); got != want {
			t.Errorf("%d classes: %s", classes, differing(got, want))
		}
		code, _, errs := candor(t, "compare", sorted.at("a.npz"), sorted.at("b.npz"), "--id", "id", "--labels", d.put("truth.csv", []byte("id,y\n0,1\n"))+":y")
		if code != exitUsage || !strings.Contains(errs, "save the labels in each .npz") {
			t.Errorf("exit code %d: %s", code, errs)
		}
		code, _, errs = candor(t, "compare", sorted.at("a.npz"), sorted.at("b.npz"), "--id", "name")
		if code != exitData || !strings.Contains(errs, "no array \"name\"") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	}
}

// TestAlignReal: real predictions and a sharper model of them, whose rows stand in another order and of which each has some.
func TestAlignReal(t *testing.T) {
	root := realSets(t)
	d := newDir(t)
	for _, name := range []string{"fte_club_soccer_3way", "labelerr_20news", "cl_c10_resnet50_cv50k", "fte_march_madness_in_game"} {
		from := filepath.Join(root, name)
		r, err := predictions.Open([]string{filepath.Join(from, "probs.npy")}, &predictions.Options{Labels: []string{filepath.Join(from, "labels.npy")}})
		if err != nil {
			t.Fatal(err)
		}
		k := r.Info().Classes
		var probs, sharp []float64
		var labels []int32
		for {
			c, err := r.Next()
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for i := range c.Rows {
				sum := 0.0
				for j := range k {
					p := c.At(i, j)
					probs, sharp, sum = append(probs, p), append(sharp, p*math.Sqrt(p)), sum+p*math.Sqrt(p)
				}
				for j := range k {
					if k > 1 {
						sharp[len(sharp)-k+j] /= sum
					}
				}
			}
			labels = append(labels, c.Labels...)
			c.Recycle()
		}
		r.Close()
		n := len(labels)
		put := func(to *dir, file string, p []float64, order []int) string {
			v, y, ids := make([]float64, 0, len(order)*k), make([]int32, 0, len(order)), make([]int64, 0, len(order))
			for _, i := range order {
				v, y, ids = append(v, p[i*k:(i+1)*k]...), append(y, labels[i]), append(ids, int64(i)*1_000_003)
			}
			rows := int64(len(order))
			return to.put(file, npz(t, "probs.npy", npy(t, []int64{rows, int64(k)}, v), "labels.npy", npy(t, []int64{rows}, y), "id.npy", npy(t, []int64{rows}, ids)))
		}
		sorted, other := d.folder(name+"-sorted"), d.folder(name+"-other")
		flags := []string{"--json", "--renormalize", "--max-memory", "600MiB"}
		want := printed(t, append([]string{"compare", put(sorted, "a.npz", probs, inOrder(n)), put(sorted, "b.npz", sharp, inOrder(n))}, flags...)...)
		got := printed(t, append([]string{"compare", put(other, "a.npz", probs, inOrder(n)), put(other, "b.npz", sharp, shuffled(n)), "--id", "id", "--flips", d.at("flips.npz")}, flags...)...)
		if got != want {
			t.Errorf("%s: %s", name, differing(got, want))
		}
		var common []int
		for i := range n {
			if i%3 > 0 && i%5 > 0 {
				common = append(common, i)
			}
		}
		some := slices.DeleteFunc(shuffled(n), func(i int) bool { return i%5 == 0 })
		want = printed(t, append([]string{"compare", put(sorted, "a.npz", probs, common), put(sorted, "b.npz", sharp, common)}, flags...)...)
		got = printed(t, append([]string{"compare", put(other, "a.npz", probs, slices.DeleteFunc(inOrder(n), func(i int) bool { return i%3 == 0 })), put(other, "b.npz", sharp, some),
			"--id", "id", "--on-unmatched", "drop"}, flags...)...)
		if head, rest, _ := strings.Cut(got, ",\n  \"dropped\": {\n    \"rows\": "); !strings.HasPrefix(want, head) || len(want)-len(head) > 4 {
			t.Errorf("%s, some rows: %s", name, differing(head, want))
		} else if left := fmt.Sprint(n - len(common) - n/15 - oneIfInt(n%15 > 0)); !strings.HasPrefix(rest, left+",") {
			t.Errorf("%s: %.20s are left out, want %s", name, rest, left)
		}
	}
}

// oneIfInt is 1 if b is true.
func oneIfInt(b bool) int { return int(oneIf(b)) }
