package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// csv returns rows of cells, of which those in order are written in that order.
func csvOf(header string, rows [][]string, order []int) []byte {
	var b bytes.Buffer
	b.WriteString(header + "\n")
	for _, i := range order {
		b.WriteString(strings.Join(rows[i], ",") + "\n")
	}
	return b.Bytes()
}

func inOrder(n int) []int {
	l := make([]int, n)
	for i := range l {
		l[i] = i
	}
	return l
}

func shuffled(n int) []int {
	l := inOrder(n)
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { l[i], l[j] = l[j], l[i] })
	return l
}

func decimalOf(p float64) string { return strconv.FormatFloat(p, 'g', -1, 64) }

// idTable returns rows of an id, a column for each class, and one that marks every seventh.
func (s *set) idTable() (rows [][]string) {
	for i := range s.rows {
		row := []string{fmt.Sprintf("r-%04d", i)}
		for _, p := range s.probs[i*s.classes : (i+1)*s.classes] {
			row = append(row, decimalOf(p))
		}
		rows = append(rows, append(row, fmt.Sprint(i%7 == 0)))
	}
	return rows
}

// documents checks that command lines print what the first prints.
func documents(t *testing.T, want []string, others ...[]string) {
	t.Helper()
	doc := printed(t, append([]string{"eval", "--json"}, want...)...)
	for _, args := range others {
		if got := printed(t, append([]string{"eval", "--json"}, args...)...); got != doc {
			t.Errorf("%v: %s", args, differing(got, doc))
		}
	}
}

// failing runs command lines that have to fail.
func failing(t *testing.T, cases []badCase) {
	t.Helper()
	for _, c := range cases {
		if code, _, errs := candor(t, append([]string{"eval"}, c.args...)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit code %d: %s\nwant %s", c.args, code, errs, c.want)
		}
	}
}

type badCase struct {
	code int
	args []string
	want string
}

// TestTruthTables: labels in a table of their own, by position or by keys, give what labels beside the scores give.
func TestTruthTables(t *testing.T) {
	d := newDir(t)
	for _, k := range []int{2, 3} {
		s := exactProbs(31, 5000, k)
		names := animals[:k]
		x, y := d.put("x.npy", npy(t, s.shape(), s.probs)), d.put("y.npy", s.labelFile(t))
		header := "id," + strings.Join(names, ",") + ",far"
		table := d.put("t.csv", csvOf(header, s.idTable(), inOrder(s.rows)))
		mixed := d.put("mixed.csv", csvOf(header, s.idTable(), shuffled(s.rows)))
		var truth [][]string
		for i, y := range s.labels {
			truth = append(truth, []string{"note", names[y], fmt.Sprintf("r-%04d", i)})
		}
		d.put("truth.csv", csvOf("note,y,id", truth, inOrder(s.rows)))
		d.put("other.tsv", bytes.ReplaceAll(csvOf("note,y,id", truth, shuffled(s.rows)), []byte(","), []byte("\t")))
		var lines bytes.Buffer
		for i, y := range s.labels {
			fmt.Fprintf(&lines, "{\"id\": \"r-%04d\", \"gold\": {\"y\": %q}}\n", i, names[y])
		}
		d.put("truth.jsonl", lines.Bytes())
		byName, scores := []string{"--classes", strings.Join(names, ",")}, []string{"--prob", strings.Join(names, ",")}
		documents(t, slices.Concat([]string{x, "--labels", y}, byName),
			slices.Concat([]string{x, "--labels", d.at("truth.csv") + ":y"}, byName),
			slices.Concat([]string{x, "--labels", d.at("truth.jsonl") + ":gold.y"}, byName),
			slices.Concat([]string{table, "--labels", d.at("truth.csv") + ":y"}, scores),
			slices.Concat([]string{table, "--labels", d.at("truth.csv") + ":y", "--id", "id"}, scores),
			slices.Concat([]string{table, "--labels", d.at("other.tsv") + ":y", "--id", "id"}, scores),
			slices.Concat([]string{table, "--labels", d.at("truth.jsonl") + ":gold.y", "--id", "id", "--threads", "1"}, scores),
			slices.Concat([]string{mixed, "--labels", d.at("truth.csv") + ":y", "--id", "id"}, scores),
			slices.Concat([]string{table, "--labels", y}, scores))
		if k == 2 {
			documents(t, slices.Concat([]string{x, "--labels", y, "--event", "0"}, byName),
				slices.Concat([]string{x, "--labels", d.at("truth.csv") + ":y", "--event", "0"}, byName),
				slices.Concat([]string{table, "--labels", d.at("truth.csv") + ":y", "--event", "cat"}, scores),
				slices.Concat([]string{mixed, "--labels", d.at("truth.csv") + ":y", "--id", "id", "--event", "cat"}, scores))
			continue
		}
		scaled := []string{"--temperature-scaled"}
		documents(t, slices.Concat([]string{x, "--labels", y}, byName, scaled),
			slices.Concat([]string{x, "--labels", d.at("truth.csv") + ":y"}, byName, scaled),
			slices.Concat([]string{table, "--labels", d.at("truth.csv") + ":y", "--id", "id"}, scores, scaled))
		// The rows of one of these files are counted only as it is read.
		if out := printed(t, "compare", filepath.Join("..", "..", "testdata", "tables", "pyarrow.parquet"), filepath.Join("..", "..", "testdata", "tables", "rows.jsonl"),
			"--prob", "p_cat,p_dog,p_owl", "--label", "label"); !strings.Contains(out, "\nrows.jsonl: 120 rows") {
			t.Error(out)
		}
		// Rows that only one table has.
		few := s.part(0, 4000)
		d.put("few.csv", csvOf("note,y,id", truth, inOrder(4000)))
		d.put("more.csv", csvOf("note,y,id", append(truth, []string{"", "cat", "nobody"}), append([]int{5000}, inOrder(4000)...)))
		documents(t, slices.Concat([]string{d.put("fx.npy", npy(t, few.shape(), few.probs)), "--labels", d.put("fy.npy", few.labelFile(t))}, byName),
			slices.Concat([]string{d.put("ft.csv", csvOf(header, few.idTable(), inOrder(4000))), "--labels", d.at("few.csv") + ":y", "--id", "id"}, scores))
		code, out, errs := candor(t, slices.Concat([]string{"eval", table, "--labels", d.at("more.csv") + ":y", "--id", "id", "--on-unmatched", "drop"}, scores)...)
		if code != 0 || !strings.Contains(errs, "left out, as their keys are in one file only: 1,000 rows of the predictions, and 1 label") || !strings.HasPrefix(out, "4,000 rows x 3 classes") {
			t.Errorf("%d: %s\n%s", code, errs, out)
		}
		d.put("twice.csv", csvOf("note,y,id", truth, append(inOrder(s.rows), 7)))
		d.put("rows.csv", csvOf(header, s.idTable(), append(inOrder(s.rows), 7)))
		failing(t, []badCase{
			{exitData, slices.Concat([]string{table, "--labels", d.at("few.csv") + ":y", "--id", "id"}, scores), `t.csv: line 4002: key "r-4000" is in no row of `},
			{exitData, slices.Concat([]string{d.at("ft.csv"), "--labels", d.at("truth.csv") + ":y", "--id", "id"}, scores), `truth.csv: row 4000: key "r-4000" is in no row of the predictions; --on-unmatched drop leaves such rows out`},
			{exitData, slices.Concat([]string{table, "--labels", d.at("twice.csv") + ":y", "--id", "id"}, scores), `twice.csv: line 5002: key "r-0007" is there twice`},
			{exitData, slices.Concat([]string{d.at("rows.csv"), "--labels", d.at("truth.csv") + ":y", "--id", "id", "--threads", "1"}, scores), `rows.csv: line 5002: key "r-0007" is there twice`},
			{exitData, slices.Concat([]string{table, "--labels", d.at("few.csv") + ":y"}, scores), "few.csv: it has 4,000 labels, and there are more rows of predictions"},
			{exitData, slices.Concat([]string{d.at("ft.csv"), "--labels", d.at("truth.csv") + ":y"}, scores), "truth.csv: it has more labels than there are rows of predictions, 4,000"},
			{exitData, slices.Concat([]string{x, "--labels", d.at("truth.csv") + ":z"}, byName), `truth.csv: no column "z" for the label (did you mean "y"?): its columns are "note", "y", "id"`},
			{exitData, slices.Concat([]string{x, "--labels", d.at("truth.csv")}, byName), `truth.csv: it is a table: its columns are "note", "y", "id"`},
			{exitUsage, slices.Concat([]string{table, "--label", "far", "--id", "id"}, scores), "--id tells which rows belong together"},
			{exitUsage, slices.Concat([]string{table, "--label", "far", "--on-unmatched", "drop"}, scores), "--on-unmatched drop is for labels in a table of their own"},
			{exitUsage, slices.Concat([]string{table, "--label", "far", "--on-unmatched", "keep"}, scores), "--on-unmatched is \"keep\"; it is error or drop"},
			{exitData, slices.Concat([]string{x, "--labels", d.at("truth.csv") + ":y", "--id", "id"}, byName), "arrays have no columns by which rows are matched; leave --id out"},
			{exitData, []string{x, "--labels", d.at("truth.csv") + ":y"}, `truth.csv: line 2: column "y": label`},
		})
	}
}

// TestPivotedTables: a row for each class is as a column for each class, whatever the order of the rows.
func TestPivotedTables(t *testing.T) {
	d := newDir(t)
	s := exactProbs(33, 700, 4)
	names := animals[:4]
	want := []string{d.put("x.npy", npy(t, s.shape(), s.probs)), "--labels", d.put("y.npy", s.labelFile(t)), "--classes", strings.Join(names, ","), "--weights", d.put("w.npy", s.weightFile(t))}
	var rows [][]string
	for i := range s.rows {
		for _, j := range []int{2, 0, 3, 1} {
			rows = append(rows, []string{strconv.Itoa(i / 10), strconv.Itoa(i % 10), names[j], decimalOf(s.probs[4*i+j]), names[s.labels[i]], decimalOf(s.weights[i])})
		}
	}
	header := "batch,row,class,p,truth,w"
	melted := inOrder(len(rows)) // one class after the other
	slices.SortStableFunc(melted, func(a, b int) int { return a%4 - b%4 })
	flags := []string{"--pivot", "class", "--id", "batch,row", "--prob", "p", "--label", "truth", "--classes", strings.Join(names, ","), "--weights", "w"}
	var lines bytes.Buffer
	for _, r := range rows {
		fmt.Fprintf(&lines, "{\"batch\": %s, \"row\": %s, \"class\": %q, \"p\": %s, \"truth\": %q, \"w\": %s}\n", r[0], r[1], r[2], r[3], r[4], r[5])
	}
	documents(t, want,
		append([]string{d.put("long.csv", csvOf(header, rows, inOrder(len(rows))))}, flags...),
		append([]string{d.put("melted.csv", csvOf(header, rows, melted))}, flags...),
		append([]string{d.put("long.jsonl", lines.Bytes())}, flags...))
	bad := func(change func(rows [][]string) [][]string) string {
		l := make([][]string, len(rows))
		for i := range l {
			l[i] = slices.Clone(rows[i])
		}
		l = change(l)
		return d.put("bad.csv", csvOf(header, l, inOrder(len(l))))
	}
	for _, c := range []struct {
		change func(l [][]string) [][]string
		want   string
	}{
		{func(l [][]string) [][]string { return l[:len(l)-1] }, `bad.csv: row 2796: key "69", "9" has no class "dog"; a key must have a row for each class`},
		{func(l [][]string) [][]string { l[5][2] = "owl"; return l }, `bad.csv: line 7: column "class": key "0", "1" has the class "owl" twice`},
		{func(l [][]string) [][]string { l[5][2] = "ibis"; return l }, `bad.csv: line 7: column "class": "ibis" is not one of the classes cat, dog, owl, emu`},
		{func(l [][]string) [][]string { l[5][4] = names[(s.labels[1]+1)%4]; return l }, `bad.csv: line 7: column "truth": key "0", "1" has another value in an earlier row`},
		{func(l [][]string) [][]string { l[5][3] = "x"; return l }, `bad.csv: line 7: column "p": "x" is not a number`},
		{func(l [][]string) [][]string { l[5][3] = ""; return l }, `bad.csv: example 1, column "p", class 0: `},
	} {
		failing(t, []badCase{{exitData, append([]string{bad(c.change)}, flags...), c.want}})
	}
	failing(t, []badCase{
		{exitUsage, []string{d.at("long.csv"), "--pivot", "class", "--prob", "p", "--label", "truth"}, "--pivot needs --id"},
		{exitUsage, []string{d.at("long.csv"), "--pivot", "class", "--id", "row", "--prob-prefix", "p", "--label", "truth"}, "--pivot goes with --prob COLUMN"},
		{exitData, []string{d.at("long.csv"), "--pivot", "class", "--id", "batch,row", "--prob", "p", "--label", "truth"}, "name the classes, in their order, by --classes: cat,dog,emu,owl"},
		{exitData, []string{d.at("long.csv"), "--pivot", "klass", "--id", "batch,row", "--prob", "p", "--label", "truth", "--classes", "a,b"}, `no column "klass" for the class (did you mean "class"?)`},
	})
}

// TestLabelTables: several labels in columns or lists are what they are in arrays.
func TestLabelTables(t *testing.T) {
	d := newDir(t)
	s := newTagged(35, 500, 3)
	want := []string{d.put("x.npy", npy(t, s.shape(), s.probs)), "--task", "multilabel", "--labels", d.put("y.npy", npy(t, s.shape(), s.truth)),
		"--weights", d.put("w.npy", npy(t, []int64{int64(s.rows)}, s.weights))}
	table := bytes.NewBufferString("is_big,p_red,is_red,p_round,p_big,is_round,w\n")
	var lines bytes.Buffer
	for i := range s.rows {
		p, y := s.probs[3*i:3*i+3], s.truth[3*i:3*i+3]
		fmt.Fprintf(table, "%d,%v,%v,%v,%v,%d,%v\n", y[2], p[0], y[0] == 1, p[1], p[2], y[1], s.weights[i])
		fmt.Fprintf(&lines, "{\"p\": [%v, %v, %v], \"y\": [%d, %d, %d], \"w\": %v}\n", p[0], p[1], p[2], y[0], y[1], y[2], s.weights[i])
	}
	csv, jsonl := d.put("t.csv", table.Bytes()), d.put("t.jsonl", lines.Bytes())
	columns := []string{csv, "--task", "multilabel", "--prob-prefix", "p_", "--label-prefix", "is_", "--weights", "w"}
	documents(t, with(want, "--classes", "red,round,big"), columns, []string{jsonl, "--task", "multilabel", "--prob", "p", "--label", "y", "--weights", "w", "--classes", "red,round,big"})
	documents(t, want, []string{jsonl, "--task", "multilabel", "--prob", "p", "--label", "y", "--weights", "w"})
	if out := printed(t, append([]string{"eval"}, columns...)...); !strings.Contains(out, "\n round ") {
		t.Errorf("no label is named in\n%s", out)
	}
	failing(t, []badCase{
		{exitUsage, []string{csv, "--prob-prefix", "p_", "--label-prefix", "is_"}, "--label-prefix names the columns of several labels; pass --task multilabel too"},
		{exitData, []string{csv, "--task", "multilabel", "--prob-prefix", "p_", "--label-prefix", "was_"}, `no column "was_red" for the label that column "p_red" is the score of: no column has a name that begins with "was_"; name another by --label-prefix`},
		{exitData, []string{csv, "--task", "multilabel", "--prob-prefix", "p_", "--label", "is_red"}, `column "is_red" holds text, which cannot be the label: it is a list of 0 and 1 in each row`},
		{exitData, []string{d.put("b.csv", []byte("p_a,p_b,y_a,y_b\n.5,.5,0,1\n.5,.5,2,1\n")), "--task", "multilabel", "--prob-prefix", "p_", "--label-prefix", "y_"}, `b.csv: line 3: column "y_a": label "2" is neither 0 nor 1`},
		{exitData, []string{d.put("c.csv", []byte("p_a,p_b,y_a,y_b\n.5,.5,0,1\n.5,.5,,1\n")), "--task", "multilabel", "--prob-prefix", "p_", "--label-prefix", "y_"}, `c.csv: line 3: column "y_a": label ""`},
		{exitData, []string{d.put("d.jsonl", []byte("{\"p\":[0.5,0.5],\"y\":[1,0]}\n{\"p\":[0.5,0.5],\"y\":[1]}\n")), "--task", "multilabel", "--prob", "p", "--label", "y"}, `d.jsonl: line 2: column "y": 1 labels, and the row has 2 scores`},
	})
}

// TestMemberTables: members in tables of their own, or in columns of one, are what they are in arrays.
func TestMemberTables(t *testing.T) {
	d := newDir(t)
	for _, k := range []int{1, 2, 3} {
		var members []*set
		for i := range 3 {
			members = append(members, exactProbs(uint64(36+i), 4000, k))
		}
		first := members[0]
		var arrays, tables, prefixes []string
		var wide bytes.Buffer
		for i, m := range members {
			m.labels, m.weights = first.labels, first.weights
			arrays = append(arrays, d.put(fmt.Sprintf("m%d.npy", i), npy(t, m.shape(), m.probs)))
			tables = append(tables, d.put(fmt.Sprintf("m%d.csv", i), m.table("p_", animals)))
			prefixes = append(prefixes, fmt.Sprintf("m%d_", i))
			for j := range k {
				fmt.Fprintf(&wide, "m%d_%s,", i, animals[j])
			}
		}
		wide.WriteString("label,weight\n")
		for i := range first.rows {
			for _, m := range members {
				for _, p := range m.probs[i*k : (i+1)*k] {
					wide.WriteString(decimalOf(p) + ",")
				}
			}
			name := strconv.Itoa(int(first.labels[i]))
			if k > 1 {
				name = animals[first.labels[i]]
			}
			fmt.Fprintf(&wide, "%s,%v\n", name, first.weights[i])
		}
		one := d.put("wide.csv", wide.Bytes())
		labels := []string{"--task", "ensemble", "--labels", d.put("y.npy", first.labelFile(t)), "--weights", d.put("w.npy", first.weightFile(t))}
		columns := []string{"--task", "ensemble", "--label", "label", "--weights", "weight"}
		if k > 1 {
			labels = append(labels, "--classes", strings.Join(animals[:k], ","))
		}
		documents(t, slices.Concat(arrays, labels),
			slices.Concat(tables, columns, []string{"--prob-prefix", "p_"}),
			slices.Concat([]string{one}, columns, []string{"--prob-prefix", strings.Join(prefixes, ",")}))
		if k == 1 {
			documents(t, slices.Concat(arrays, labels), slices.Concat([]string{one}, columns, []string{"--prob", "m0_cat,m1_cat,m2_cat"}))
		}
		if k == 3 {
			var lines bytes.Buffer
			for i := range first.rows {
				fmt.Fprint(&lines, "{")
				for m, s := range members {
					fmt.Fprintf(&lines, "\"m%d\": [%v, %v, %v], ", m, s.probs[3*i], s.probs[3*i+1], s.probs[3*i+2])
				}
				fmt.Fprintf(&lines, "\"label\": %q, \"weight\": %v}\n", animals[first.labels[i]], first.weights[i])
			}
			documents(t, slices.Concat(arrays, labels), slices.Concat([]string{d.put("m.jsonl", lines.Bytes())}, columns, []string{"--prob", "m0,m1,m2", "--classes", "cat,dog,owl"}))
			other := members[1].clone()
			other.labels[3210] = (other.labels[3210] + 1) % 3
			failing(t, []badCase{
				{exitData, slices.Concat([]string{tables[0], d.put("other.csv", other.table("p_", animals))}, columns, []string{"--prob-prefix", "p_"}), "other.csv: row 3210: the label is"},
				{exitData, slices.Concat([]string{tables[0], d.put("short.csv", members[1].part(0, 3999).table("p_", animals))}, columns, []string{"--prob-prefix", "p_"}), "short.csv: its rows are not as many as those of"},
				{exitData, slices.Concat(tables[:1], columns, []string{"--prob-prefix", "p_"}), "one table with the scores of one model is not an ensemble"},
				{exitData, slices.Concat([]string{one}, columns, []string{"--prob-prefix", "m0_,m1_c"}), "have scores of different classes"},
			})
		}
	}
}

// TestOODTables: out-of-distribution rows marked by a column, or in a table of their own, are what they are in arrays.
func TestOODTables(t *testing.T) {
	d := newDir(t)
	s := exactProbs(39, 3000, 3)
	near, far := s.only(func(i int) bool { return i%7 != 0 }), s.only(func(i int) bool { return i%7 == 0 })
	names := []string{"--classes", "cat,dog,owl"}
	metrics := []string{"--metrics", "default,ood_auroc,ood_fpr95"}
	rows := s.idTable()
	for i, y := range s.labels {
		label := animals[y]
		if i%7 == 0 {
			label = "unknown"
		}
		rows[i] = append(rows[i], label, strconv.Itoa(i%3))
	}
	header := "id,p_cat,p_dog,p_owl,far,label,site"
	scores := []string{"--prob-prefix", "p_", "--label", "label"}
	marked := d.put("t.csv", csvOf(header, rows, inOrder(s.rows)))
	var in, out []int
	for i := range s.rows {
		if i%7 == 0 {
			out = append(out, i)
		} else {
			in = append(in, i)
		}
	}
	documents(t, slices.Concat([]string{d.put("near.npy", npy(t, near.shape(), near.probs)), "--labels", d.put("y.npy", near.labelFile(t)), "--ood", d.put("far.npy", npy(t, far.shape(), far.probs))}, names, metrics),
		slices.Concat([]string{marked, "--ood", "far"}, scores, metrics),
		slices.Concat([]string{d.put("near.csv", csvOf(header, rows, in)), "--ood", d.put("far.csv", csvOf(header, rows, out))}, scores, metrics))
	failing(t, []badCase{
		{exitData, slices.Concat([]string{marked, "--ood", "id", "--prob-prefix", "p_", "--label", "site"}), `line 2: column "id": "r-0000" does not say whether the row is one of them`},
		{exitData, slices.Concat([]string{marked, "--ood", "fahr"}, scores), `no column "fahr" for the filter (did you mean "far"?)`},
		{exitData, slices.Concat([]string{d.put("none.csv", csvOf(header, rows, out)), "--ood", "far"}, scores), `none.csv: all rows are marked in column "far"`},
		{exitData, slices.Concat([]string{d.at("near.csv"), "--ood", "far"}, scores), `near.csv: no row is marked in column "far"`},
	})
}

// TestCorrectness: whether the top label was right, with its probability, is a binary task in which every decision is class 1.
func TestCorrectness(t *testing.T) {
	d := newDir(t)
	s := exactProbs(41, 900, 1)
	ones := make([]int32, s.rows)
	var table bytes.Buffer
	table.WriteString("confidence,right\n")
	for i := range ones {
		ones[i] = 1
		fmt.Fprintf(&table, "%v,%v\n", s.probs[i], s.labels[i] == 1)
	}
	path := d.put("t.csv", table.Bytes())
	got := evaluate(t, path, "--prob", "confidence", "--correct", "right", "--state", d.at("a.state"))
	want := evaluate(t, d.put("x.npy", npy(t, s.shape(), s.probs)), "--labels", d.put("y.npy", s.labelFile(t)), "--decisions", d.put("d.npy", npy(t, []int64{int64(s.rows)}, ones)), "--metrics", "default,ece_positive,accuracy,confidence,overconfidence", "--state", d.at("b.state"))
	for _, name := range []string{"accuracy", "confidence", "overconfidence", "nll", "brier"} {
		if a, b := got.value(t, name), want.value(t, name); a != b {
			t.Errorf("%s is %v, and %v by decisions", name, a, b)
		}
	}
	if a, b := got.value(t, "ece"), want.value(t, "ece_positive"); a != b {
		t.Errorf("ece is %v, and that of class 1 is %v", a, b)
	}
	out := printed(t, "eval", path, "--prob", "confidence", "--correct", "right")
	if !strings.HasPrefix(out, "900 rows: ") || !strings.Contains(out, "% correct [") || strings.Contains(out, "decisions") {
		t.Errorf("%s", out)
	}
	if out := printed(t, "merge", d.at("a.state"), d.at("a.state")); !strings.HasPrefix(out, "1,800 rows: ") {
		t.Errorf("%s", out)
	}
	failing(t, []badCase{
		{exitUsage, []string{path, "--prob", "confidence", "--correct", "right", "--event", "yes"}, "--correct replaces the label"},
		{exitUsage, []string{path, "--prob-prefix", "conf", "--correct", "right"}, "--correct goes with --prob COLUMN"},
		{exitData, []string{d.put("b.csv", []byte("p,right\n.5,1\n.5,maybe\n")), "--prob", "p", "--correct", "right"}, `b.csv: line 3: column "right": label "maybe" is neither 0 nor 1; write true or false, or 1 or 0`},
	})
}
