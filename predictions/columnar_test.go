package predictions_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/predictions/roles"
)

// openLines opens JSON Lines in shards.
func openLines(o predictions.TableOptions, shards ...string) (*predictions.ForecastReader, error) {
	files, names := fstest.MapFS{}, []string{}
	for i, s := range shards {
		names = append(names, fmt.Sprintf("t%d.jsonl", i))
		files[names[i]] = &fstest.MapFile{Data: []byte(s)}
	}
	o.FS = files
	return predictions.OpenTable(names, &o)
}

// drained returns all rows of a reader.
func drained(r *predictions.ForecastReader) (*classRows, error) {
	defer r.Close()
	all := &classRows{classes: r.Info().Classes}
	for {
		c, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if c.First != int64(len(all.labels)) {
			return all, fmt.Errorf("a chunk begins with row %d after %d rows", c.First, len(all.labels))
		}
		all.scores = append(all.scores, c.F64...)
		all.labels, all.decisions, all.groups = append(all.labels, c.Labels...), append(all.decisions, c.Decisions...), append(all.groups, c.Groups...)
		all.weights, all.confidence = append(all.weights, c.Weights...), append(all.confidence, c.ConfidenceScores...)
		c.Recycle()
	}
}

// TestLines: scores in each form, labels by name and by number, and the columns beside them.
func TestLines(t *testing.T) {
	classes := []string{"cat", "dog", "owl"}
	prefix := "p_"
	for name, c := range map[string]struct {
		text string
		want roles.Want
	}{
		"columns": {`{"p_cat": 0.5, "p_dog": 0.25, "p_owl": 0.25, "p_text": "x", "y": "owl", "w": 2, "d": 1, "by": 1, "g": "a", "h": 7}
{"p_cat": 0, "p_dog": 1, "p_owl": 0, "p_text": "x", "y": "dog", "w": 0.5, "d": 0, "by": -1.5, "g": "b", "h": 7}`, roles.Want{Prefix: &prefix}},
		"lists": {`{"p": [0.5, 0.25, 0.25], "y": 2, "w": 2, "d": 1, "by": 1, "g": "a", "h": 7}
{"p": [0, 1, 0], "y": 1, "w": 0.5, "d": 0, "by": -1.5, "g": "b", "h": 7}`, roles.Want{Scores: []string{"p"}}},
		"objects": {`{"p": {"owl": 0.25, "cat": 0.5, "dog": 0.25}, "y": "owl", "w": 2, "d": "dog", "by": 1, "g": "a", "h": 7}
{"p": {"cat": 0, "dog": 1, "owl": 0}, "y": "dog", "w": 0.5, "d": "cat", "by": -1.5, "g": "b", "h": 7}`, roles.Want{Scores: []string{"p"}, Classes: classes}},
	} {
		w := c.want
		w.Label, w.Weight, w.Decision, w.Confidence, w.Groups = "y", "w", "d", "by", []string{"g", "h"}
		r, err := openLines(predictions.TableOptions{Columns: w}, c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := drained(r)
		if err != nil || got.classes != 3 || !slices.Equal(got.scores, []float64{0.5, 0.25, 0.25, 0, 1, 0}) || !slices.Equal(got.labels, []int32{2, 1}) ||
			!slices.Equal(got.decisions, []int32{1, 0}) || !slices.Equal(got.weights, []float64{2, 0.5}) || !slices.Equal(got.confidence, []float64{1, -1.5}) ||
			!slices.Equal(got.groups, []int32{0, 1}) || !slices.Equal(r.Group(1), []string{"b", "7"}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if r.Line(1) != 2 {
			t.Errorf("%s: row 1 is on line %d", name, r.Line(1))
		}
	}
}

// TestLinesOfMany: rows of many parts and shards keep their order, and an error has the line of its file.
func TestLinesOfMany(t *testing.T) {
	shard := func(from, n int, bad int) string {
		var b strings.Builder
		for i := from; i < from+n; i++ {
			y := `"y": ` + fmt.Sprint(i%3%2)
			if i == bad {
				y = `"y": 5`
			}
			fmt.Fprintf(&b, "{\"p\": %v, %s, \"filler\": %q}\n", float64(i%4+1)/4, y, strings.Repeat("x", 50))
		}
		return b.String()
	}
	const n = 40_000 // of each shard, some 3 MiB
	o := predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y"}}
	r, err := openLines(o, shard(0, n, -1), shard(n, n, -1))
	if err != nil {
		t.Fatal(err)
	}
	got, err := drained(r)
	if err != nil || len(got.labels) != 2*n {
		t.Fatalf("%d rows, %v", len(got.labels), err)
	}
	for i := range 2 * n {
		if got.labels[i] != int32(i%3%2) || got.scores[i] != float64(i%4+1)/4 {
			t.Fatalf("row %d: %v, %d", i, got.scores[i], got.labels[i])
		}
	}
	if f, row := r.Locate(n + 30_001); f != "t1.jsonl" || row != 30_001 || r.Line(n+30_001) != 30_002 {
		t.Error(f, row, r.Line(n+30_001))
	}
	if r, err = openLines(o, shard(0, n, -1), shard(n, n, n+30_000)); err == nil {
		_, err = drained(r)
	}
	var e *predictions.Error
	if !errors.As(err, &e) || e.File != "t1.jsonl" || e.Row != 30_000 && e.Line != 30_001 || e.Name != "y" || e.Value != "5" {
		t.Errorf("%+v", err)
	}
	// A reader that is closed early, or never read, leaves nothing behind.
	for range 3 {
		r, err := openLines(o, shard(0, n, -1))
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c.Recycle()
		if _, err := r.Next(); !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
		if r, err = openLines(o, shard(0, n, -1)); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	check.Gone(t)
}

func TestLinesRefused(t *testing.T) {
	of := func(w roles.Want) predictions.TableOptions {
		w.Label = "y"
		return predictions.TableOptions{Columns: w}
	}
	p := of(roles.Want{Scores: []string{"p"}})
	named := of(roles.Want{Scores: []string{"p"}, Classes: []string{"a", "b"}})
	for name, c := range map[string]struct {
		o      predictions.TableOptions
		shards []string
		want   string
	}{
		"no column":      {p, []string{`{"q": 1, "y": 0}`}, `t0.jsonl: no column "p" for the scores: the columns are "q", "y"; name the column by Columns.Scores`},
		"ragged":         {p, []string{"{\"p\": [1, 0], \"y\": 0}\n{\"p\": [1, 0, 0], \"y\": 0}"}, `t0.jsonl: line 2: column "p": 3 scores, and the first row has 2`},
		"keys":           {p, []string{`{"p": {"b": 1, "a": 0}, "y": "a"}`}, `t0.jsonl: column "p" has a score for each name, but their order does not tell the order of the classes; name the classes, in their order, by Columns.Classes: a,b`},
		"other key":      {named, []string{"{\"p\": {\"a\": 1, \"b\": 0}, \"y\": \"a\"}\n{\"p\": {\"a\": 1, \"c\": 0}, \"y\": \"a\"}"}, `t0.jsonl: line 2: column "p": "c" is not one of the classes a, b`},
		"key absent":     {named, []string{`{"p": {"a": 1}, "y": "a"}`}, `t0.jsonl: line 1: column "p": no score of class "b"`},
		"class":          {named, []string{`{"p": {"a": 1, "b": 0}, "y": "c"}`}, `t0.jsonl: line 1: column "y": label "c" is not one of the classes: "a", "b"; name the classes as the labels do`},
		"syntax":         {p, []string{"{\"p\": 1, \"y\": 0}\n{\"p\": 1, \"y\": }"}, `t0.jsonl: line 2: `},
		"shard":          {p, []string{`{"p": 1, "y": 0}`, `{"p": [1], "y": 0}`}, `t1.jsonl: column "p" has the type list, and float64 in t0.jsonl; shards of a table have the same columns`},
		"empty":          {p, []string{""}, `t0.jsonl: empty file`},
		"lists of lists": {p, []string{`{"p": [[1]], "y": 0}`}, `t0.jsonl: column "p" holds values of type array of arrays of numbers, which cannot be the scores`},
		"label of lists": {p, []string{`{"p": 1, "y": [1]}`}, `t0.jsonl: column "y" holds lists of numbers, which cannot be the label: it is a number or text in each row; name another by Columns.Label`},
		"too few":        {of(roles.Want{Scores: []string{"p"}, Classes: []string{"a", "b", "c"}}), []string{`{"p": [0.5, 0.5], "y": "a"}`}, `t0.jsonl: 3 classes are named, but there are scores of 2; name each class once`},
		"event":          {predictions.TableOptions{Event: "a", Columns: roles.Want{Scores: []string{"p"}, Label: "y"}}, []string{`{"p": [0.5, 0.25, 0.25], "y": 1}`}, `t0.jsonl: event "a" is for a binary task, and rows have 3 scores`},
	} {
		r, err := openLines(c.o, c.shards...)
		if err == nil {
			_, err = drained(r)
		}
		var e *predictions.Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
	if _, err := predictions.OpenTable([]string{"a.jsonl", "b.csv"}, &predictions.TableOptions{FS: fstest.MapFS{}}); err == nil || !strings.Contains(err.Error(), "b.csv: by its name it is not JSON Lines") {
		t.Error(err)
	}
	// Values that are missing are those of a Pass to judge.
	r, err := openLines(p, "{\"p\": 0.5, \"y\": 0}\n{\"p\": null, \"y\": 1}\n{\"p\": 1}\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := drained(r)
	if err != nil || got.scores[1] == got.scores[1] || !slices.Equal(got.labels, []int32{0, 1, -1}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestFoldersOfTables: a folder within a table of Delta Lake or Iceberg is refused as the table is; another folder of that name is not.
func TestFoldersOfTables(t *testing.T) {
	for _, c := range []struct{ folder, metadata, want string }{
		{"t/data", "t/metadata/v1.metadata.json", "t/data: files of a table of Iceberg; write its current rows as Parquet: the folder still has those of older versions"},
		{"t/data/day=1", "t/metadata/v1.metadata.json", "t/data/day=1: files of a table of Iceberg; "},
		{"t/day=1", "t/_delta_log/0.json", "t/day=1: files of a table of Delta Lake; "},
		{"t/day=1", "_delta_log/0.json", ""},
		{"t/data", "t/metadata/notes.json", ""},
	} {
		r, err := predictions.OpenTable([]string{c.folder}, &predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y"},
			FS: fstest.MapFS{c.folder + "/a.jsonl": &fstest.MapFile{Data: []byte(`{"p": 0.5, "y": 1}`)}, c.metadata: {}}})
		if err == nil {
			r.Close()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s beside %s: %v\nwant %s", c.folder, c.metadata, err, c.want)
		}
	}
}

// TestFolders: the files of a folder are shards, and the keys of Hive's folders are columns that group rows.
func TestFolders(t *testing.T) {
	rows := func(p string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(`{"p": ` + p + `, "y": 1}`)} }
	files := func(more ...string) fstest.MapFS {
		f := fstest.MapFS{"d/date=1/part-10.jsonl": rows("0.25"), "d/date=1/part-9.jsonl": rows("0.5"), "d/date=2%2F3/part-0.jsonl": rows("0.75"),
			"d/date=__HIVE_DEFAULT_PARTITION__/part-0.jsonl": rows("1"), "d/_SUCCESS": {}, "d/date=1/.part-9.jsonl.crc": {}, "d/_metadata": {}, "d/_spark/x.txt": {}}
		for _, m := range more {
			f[m] = &fstest.MapFile{}
		}
		return f
	}
	open := func(f fstest.MapFS, groups ...string) (*predictions.ForecastReader, error) {
		return predictions.OpenTable([]string{"d"}, &predictions.TableOptions{FS: f, Columns: roles.Want{Scores: []string{"p"}, Label: "y", Groups: groups}})
	}
	r, err := open(files(), "date")
	if err != nil {
		t.Fatal(err)
	}
	got, err := drained(r)
	if err != nil || !slices.Equal(got.scores, []float64{0.5, 0.25, 0.75, 1}) || !slices.Equal(got.groups, []int32{0, 0, 1, 2}) ||
		!slices.Equal(r.Group(1), []string{"2/3"}) || !slices.Equal(r.Group(2), []string{""}) {
		t.Errorf("%+v, %v: %v, %v", got, err, r.Group(1), r.Group(2))
	}
	if f, _ := r.Locate(2); f != "d/date=2%2F3/part-0.jsonl" {
		t.Error(f)
	}
	for what, c := range map[string]struct {
		more   string
		groups []string
		want   string
	}{
		"Delta":   {"d/_delta_log/0.json", nil, "d: a table of Delta Lake; write its current rows as Parquet"},
		"Iceberg": {"d/metadata/v1.metadata.json", nil, "d: a table of Iceberg; write its current rows as Parquet"},
		"others":  {"d/readme.md", nil, "d: a folder with readme.md, which is not a file of predictions by its name; move it elsewhere, or name the files"},
		"formats": {"d/e.parquet", nil, "d: a folder with files of several formats, JSON Lines and Parquet; name the files"},
		"keys":    {"d/other=1/part-0.jsonl", []string{"date"}, "d/other=1/part-0.jsonl: "},
		"group":   {"d/_", []string{"day"}, `d/date=1/part-9.jsonl: no column "day" for the group: the columns are "p", "y", "date"`},
	} {
		r, err := open(files(c.more), c.groups...)
		if err == nil {
			_, err = drained(r)
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", what, err, c.want)
		}
	}
}
