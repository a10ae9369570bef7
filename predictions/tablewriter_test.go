package predictions

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// everyForm are names of files, one for each form of table.
var everyForm = []string{"t.csv", "t.tsv", "t.csv.gz", "t.tsv.zst", "t.parquet", "t.arrow", "t.feather", "t.arrows"}

// keptColumns are columns of each type, with and without missing cells. The first is a score.
var keptColumns = []Column{{"score", Float64Column}, {"f32", Float32Column}, {"i", Int64Column}, {"b", BoolColumn}, {"t", TextColumn}, {"mf64", Float64Column},
	{"mf32", Float32Column}, {"mi", Int64Column}, {"mb", BoolColumn}, {"mt", TextColumn}}

var trickyTexts = []string{"a", "01", "say \"yes\"", "a,b", "a;b\tc", "line\nfeed", "cr\r\nlf\r", " spaced ", "Zürich", "日本語", "\U0001F600", "x\"", "-"}

// kept returns rows [from, to) of a table of keptColumns. They depend on their numbers alone.
func kept(from, to int) []Cells {
	l := make([]Cells, len(keptColumns))
	for i := from; i < to; i++ {
		r := rand.New(rand.NewPCG(5, uint64(i)))
		for j, c := range keptColumns {
			v := &l[j]
			none := j >= 5 && r.IntN(4) == 0
			if j >= 5 {
				v.Missing = append(v.Missing, none)
			}
			x := r.Float64()
			if j > 0 && r.IntN(5) == 0 {
				x = []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), math.MaxFloat32, math.SmallestNonzeroFloat32, 1e-5}[r.IntN(7)]
			}
			switch c.Type {
			case Float64Column:
				v.Float64 = append(v.Float64, x)
			case Float32Column:
				v.Float32 = append(v.Float32, float32(x))
			case Int64Column:
				v.Int64 = append(v.Int64, int64(r.Uint64())>>r.IntN(64))
			case BoolColumn:
				v.Bool = append(v.Bool, r.IntN(2) == 0)
			case TextColumn:
				if !none {
					v.Bytes = append(v.Bytes, trickyTexts[r.IntN(len(trickyTexts))]...)
				}
				v.Ends = append(v.Ends, len(v.Bytes))
			}
		}
	}
	return l
}

// writeTable writes rows of keptColumns in blocks.
func writeTable(t *testing.T, path string, rows int) {
	t.Helper()
	var b bytes.Buffer
	format, ok := TableFormatOf(path)
	if !ok {
		t.Fatal(path)
	}
	w, err := NewTableWriter(&b, format, keptColumns)
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from < rows; from += 777 {
		to := min(from+777, rows)
		if err := w.Write(to-from, kept(from, to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// tablePython returns a Python with other software that reads tables: that of CANDOR_TABLES_PYTHON, or python3.
func tablePython(t *testing.T) string {
	t.Helper()
	path := os.Getenv("CANDOR_TABLES_PYTHON")
	if path == "" {
		path = "python3"
	}
	if out, err := exec.Command(path, "-c", "import pandas, pyarrow, polars, duckdb").CombinedOutput(); err != nil {
		if os.Getenv("CANDOR_TABLES_PYTHON") != "" {
			t.Fatalf("CANDOR_TABLES_PYTHON: %v\n%s", err, out)
		}
		t.Skip("no python3 with pandas, pyarrow, polars and duckdb")
	}
	return path
}

// TestOthersRead: pyarrow, Polars, DuckDB and pandas read the same values from every form, and types of columns where the form has them.
func TestOthersRead(t *testing.T) {
	python := tablePython(t)
	dir := t.TempDir()
	for _, n := range []int{0, 1, 2500} {
		for _, f := range everyForm {
			writeTable(t, filepath.Join(dir, fmt.Sprint(n, "-", f)), n)
		}
	}
	cmd := exec.Command(python, "-W", "ignore", "testdata/read_tables.py", dir, "0", "1", "2500")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "read\n") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestTableFormats: the names of files say the format, in any case.
func TestTableFormats(t *testing.T) {
	for _, n := range []string{"A.CSV", "x.tsv.GZ", "a.b.parquet", "x.Arrow", "x.feather", "x.arrows", "x.csv.zst"} {
		if _, ok := TableFormatOf(n); !ok {
			t.Errorf("%s is no table", n)
		}
	}
	for _, n := range []string{"", "csv", "x.npy", "x.parquet.gz", "x.csv.bz2", "x.gz", "x.txt"} {
		if _, ok := TableFormatOf(n); ok {
			t.Errorf("%s is a table", n)
		}
	}
	f, _ := TableFormatOf("x.csv")
	if _, err := NewTableWriter(&bytes.Buffer{}, f, []Column{{"a", TextColumn}, {"a", TextColumn}}); err == nil || !strings.Contains(err.Error(), `two columns are named "a"`) {
		t.Error(err)
	}
	if _, err := NewTableWriter(&bytes.Buffer{}, f, make([]Column, MaxTableColumns+1)); err == nil || !strings.Contains(err.Error(), "10,000 at most") {
		t.Error(err)
	}
}
