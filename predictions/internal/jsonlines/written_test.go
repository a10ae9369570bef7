package jsonlines

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// written returns the folder of files that other software wrote, which stands beside the real sets.
func written(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the files are not part of the repository")
	}
	return filepath.Join(dir, "..", "formats", "written")
}

// array returns an array of eight-byte numbers of an .npz.
func array(t *testing.T, z *zip.ReadCloser, name string) (words []uint64) {
	t.Helper()
	f, err := z.Open(name + ".npy")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	for b = b[10+int(binary.LittleEndian.Uint16(b[8:])):]; len(b) > 0; b = b[8:] {
		words = append(words, binary.LittleEndian.Uint64(b))
	}
	return words
}

// Files that other software wrote hold the values that it was given.
func TestWritten(t *testing.T) {
	dir := written(t)
	z, err := zip.OpenReader(filepath.Join(dir, "truth.npz"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	p, y, pb, yb, w := array(t, z, "p"), array(t, z, "y"), array(t, z, "pb"), array(t, z, "yb"), array(t, z, "w")
	classes := []string{"cat", "dog", "fox", "owl", "rat"}
	scores := func(i int) (out []any) {
		for j := range classes {
			out = append(out, math.Float64frombits(p[5*i+j]))
		}
		return out
	}
	named := func(i int) any {
		m := map[string]any{}
		for j, v := range scores(i) {
			m[classes[j]] = v
		}
		return m
	}
	number := func(v uint64) any { return float64(int64(v)) }
	wide := "prob_cat prob_dog prob_fox prob_owl prob_rat label weight"
	wideRow := func(i int) []any { return append(scores(i), classes[y[i]], math.Float64frombits(w[i])) }
	for _, c := range []struct {
		file, paths string
		row         func(i int) []any
	}{
		{"wide.jsonl", wide, wideRow},
		{"polars.ndjson", wide, wideRow},
		{"records.json", wide, wideRow},
		{"pandas.jsonl", wide, wideRow},
		{"array.jsonl", "id probs label", func(i int) []any { return []any{fmt.Sprintf("row-%05d", i), scores(i), number(y[i])} }},
		{"array.jsonl.gz", "probs label", func(i int) []any { return []any{scores(i), number(y[i])} }},
		{"map.jsonl", "probs label probs.fox", func(i int) []any { return []any{named(i), classes[y[i]], scores(i)[2]} }},
		{"hf_pipeline.jsonl", "scores label", func(i int) []any { return []any{named(i), classes[y[i]]} }},
		{"binary.jsonl", "p y", func(i int) []any { return []any{math.Float64frombits(pb[i]), number(yb[i])} }},
		{"nan.jsonl", "probs label", func(i int) []any {
			switch i {
			case 3:
				return []any{[]any{"NaN", "NaN", "NaN", "NaN", "NaN"}, number(y[i])}
			case 7:
				return []any{scores(i), nil}
			}
			return []any{scores(i), number(y[i])}
		}},
	} {
		f, err := os.Open(filepath.Join(dir, c.file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var r io.Reader = f
		if strings.HasSuffix(c.file, ".gz") {
			if r, err = gzip.NewReader(f); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := all(r, 300, 1<<20, strings.Fields(c.paths)...)
		if err != nil || len(rows) == 0 || c.file != "nan.jsonl" && len(rows) != len(y) {
			t.Errorf("%s: %d rows: %v", c.file, len(rows), err)
			continue
		}
		for i, row := range rows {
			want := c.row(i)
			if c.file == "pandas.jsonl" { // it writes ten decimals
				for j, v := range want {
					if v, ok := v.(float64); ok && math.Abs(v-row[j].(float64)) < 0.5001e-10 {
						want[j] = row[j]
					}
				}
			}
			if fmt.Sprint(row) != fmt.Sprint(want) {
				t.Errorf("%s: row %d: %v, want %v", c.file, i, row, want)
				break
			}
		}
	}
}

// Samples of lm-evaluation-harness have the values that encoding/json reads; its results are no rows.
func TestWrittenHarness(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(written(t), "lm", "*.json*"))
	if err != nil || len(files) < 5 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(bytes.NewReader(b))
		if strings.HasSuffix(file, ".json") {
			if err == nil || !strings.Contains(err.Error(), "write each object on one line") {
				t.Errorf("%s: %v", file, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		f.Path("doc.choices")
		var paths []string
		var types []columns.Type
		for i, c := range f.Columns() {
			if f.Want(columns.Want{Columns: []int{i}}) == nil {
				paths, types = append(paths, c.Name), append(types, c.Type)
			}
		}
		rows, err := all(bytes.NewReader(b), 7, 0, paths...)
		lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
		if err != nil || len(rows) != len(lines) || len(paths) < 10 {
			t.Errorf("%s: %d rows and %d columns, want %d rows: %v", file, len(rows), len(paths), len(lines), err)
			continue
		}
		for i, row := range rows {
			var v map[string]any
			if err := json.Unmarshal(lines[i], &v); err != nil {
				t.Fatal(err)
			}
			if doc, ok := v["doc"].(map[string]any); ok {
				v["doc.choices"] = doc["choices"]
			}
			for j, path := range paths {
				if want := expected(&types[j], v[path]); fmt.Sprint(row[j]) != fmt.Sprint(want) {
					t.Fatalf("%s: row %d, %s: %v, want %v", file, i, path, row[j], want)
				}
			}
		}
	}
}
