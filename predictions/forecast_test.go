package predictions

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
)

// forecastRows holds everything that a ForecastReader returned.
type forecastRows struct {
	values, observed, weights []float64
	groups                    []int32
	rows, chunks              int
	dtype                     metrics.DType
}

// drainForecast reads to the end, with as many chunks in use as allowed.
func drainForecast(r *ForecastReader, hold int) (out forecastRows, err error) {
	var held []*metrics.Chunk
	for {
		c, err := r.Next()
		if err == io.EOF {
			if _, again := r.Next(); again != io.EOF {
				return out, fmt.Errorf("after the end: %v", again)
			}
			return out, nil
		}
		if err != nil {
			if _, again := r.Next(); again != err {
				return out, fmt.Errorf("after %w: %v", err, again)
			}
			return out, err
		}
		if c.First != int64(out.rows) || c.Rows == 0 || c.Classes != r.Info().Classes || c.DType() != r.Info().DType || c.Stride != 0 {
			return out, fmt.Errorf("chunk of %d x %d from %d %v after %d rows", c.Rows, c.Classes, c.First, c.DType(), out.rows)
		}
		if c.Labels != nil || c.Decisions != nil || c.ConfidenceScores != nil {
			return out, errors.New("a chunk has labels")
		}
		w := widen(&c.Scores)
		if len(w) != c.Rows*c.Classes || (c.Observed != nil) != (c.Kind != metrics.Normals) || c.Observed != nil && len(c.Observed) != c.Rows ||
			(c.Weights != nil) != r.Info().Weighted || c.Weights != nil && len(c.Weights) != c.Rows ||
			(c.Groups != nil) != (len(r.GroupColumns()) > 0) || c.Groups != nil && len(c.Groups) != c.Rows {
			return out, fmt.Errorf("a chunk of %d rows has columns of %d, %d, %d, %d", c.Rows, len(w), len(c.Observed), len(c.Weights), len(c.Groups))
		}
		out.values, out.observed = append(out.values, w...), append(out.observed, c.Observed...)
		out.weights, out.groups = append(out.weights, c.Weights...), append(out.groups, c.Groups...)
		for _, g := range c.Groups {
			if len(r.Group(g)) != len(r.GroupColumns()) {
				return out, fmt.Errorf("group %d is %q", g, r.Group(g))
			}
		}
		out.rows += c.Rows
		out.chunks++
		out.dtype = c.DType()
		if held = append(held, c); len(held) > hold {
			held[0].Recycle()
			held[0].Recycle()
			held = held[1:]
		}
	}
}

func readForecast(paths []string, o *ForecastOptions) (forecastRows, *ForecastReader, error) {
	r, err := OpenForecast(paths, o)
	if err != nil {
		if r != nil {
			return forecastRows{}, nil, errors.New("a reader beside an error")
		}
		return forecastRows{}, nil, err
	}
	defer r.Close()
	out, err := drainForecast(r, max(0, o.Buffers-1))
	return out, r, err
}

func normal() *ForecastOptions { return &ForecastOptions{Kind: metrics.Normals} }

func wantValues(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }) {
		t.Errorf("%s are %v, want %v", what, got, want)
	}
}

const threeRows = "mean,sd,observed\n1,0.5,2\n-3e-2,1,4.25\n5,.25,1e3\n"

// The same table in different forms.
func TestTableForms(t *testing.T) {
	want := []float64{1, 0.5, 2, -0.03, 1, 4.25, 5, 0.25, 1000}
	tabs, semis := strings.ReplaceAll(threeRows, ",", "\t"), strings.ReplaceAll(threeRows, ",", ";")
	var zipped, twice, packed bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(threeRows))
	z.Close()
	for _, part := range []string{threeRows[:20], threeRows[20:]} { // as from cat of two files
		z := gzip.NewWriter(&twice)
		z.Write([]byte(part))
		z.Close()
	}
	s, _ := zstd.NewWriter(&packed)
	s.Write([]byte(threeRows))
	s.Close()
	for _, c := range []struct{ name, text string }{
		{"a.csv", threeRows}, {"A.CSV", threeRows}, {"a.tsv", tabs}, {"a.txt", tabs}, {"a.txt", semis}, {"a.txt", threeRows},
		{"crlf.csv", strings.ReplaceAll(threeRows, "\n", "\r\n")},
		{"no end.csv", strings.TrimSuffix(threeRows, "\n")},
		{"no end crlf.csv", strings.TrimSuffix(strings.ReplaceAll(threeRows, "\n", "\r\n"), "\r\n")},
		{"bom.csv", "\ufeff" + threeRows}, {"bom.csv", "\ufeff\"mean\"" + threeRows[4:]},
		{"empty lines.csv", threeRows + "\n\r\n\n"},
		{"quotes.csv", "\"mean\",\"sd\",observed\n\"1\",0.5,\"2\"\n-3e-2,\"1\",\"4.25\"\r\n5,.25,\"1e3\""},
		{"spaces.csv", " mean , sd,\tobserved\n 1,0.5 , 2\n-3e-2, 1 ,4.25\t\n\" 5 \",.25,1e3 "},
		{"others.csv", "id,sd,note,mean,x,observed,y\n7,0.5,,1,\"a \"\"b\"\", c\nd\",2,\n8,1,p,-3e-2,q,4.25,\"\"\n,.25,p,5,\"\n\",1e3,\"z\"\n"},
		{"a.csv.gz", zipped.String()}, {"a.tsv.gz", tabs}, {"two.csv.gz", twice.String()}, {"a.csv.zst", packed.String()}, {"plain name.csv", packed.String()},
	} {
		for i, size := range []int{0, 1, 2, 3, 5, 8, 13, 20, 21, 22, 100} {
			for _, n := range []int{0, 1, 3} {
				if !check.Full() && n != []int{0, 1, 3}[i%3] {
					continue
				}
				o := normal()
				o.BufferBytes, o.Buffers = size, n
				path := save(t, c.name, []byte(c.text))
				got, r, err := readForecast([]string{path}, o)
				if err != nil {
					t.Fatal(c.name, size, err)
				}
				wantValues(t, c.name, got.values, want...)
				if size > 0 && size < 8 && got.chunks < 2 {
					t.Errorf("%s: %d chunks of %d bytes", c.name, got.chunks, size)
				}
				if i := r.Info(); i.Rows != -1 || i.Classes != 3 || i.Files != 1 || i.Bytes != int64(len(c.text)) || i.Shape != "(N, 3)" || r.BytesRead() != i.Bytes {
					t.Errorf("%s: %+v, %d bytes read", c.name, i, r.BytesRead())
				}
				for row, line := range []int64{2, 3, 4} {
					switch {
					case c.name == "others.csv":
						line = []int64{2, 4, 5}[row]
					}
					file, at := r.Locate(int64(row))
					if got := r.Line(int64(row)); got != line || file != path || at != int64(row) {
						t.Errorf("%s: row %d is %s row %d, line %d; want line %d", c.name, row, file, at, got, line)
					}
				}
				if file, at := r.Locate(3); file != "" || at != -1 || r.Line(3) != -1 || r.Line(-1) != -1 {
					t.Error("there is a row behind the last")
				}
			}
		}
	}
}

// Missing values are NaN; values that are not finite are left to the Pass.
func TestTableMissing(t *testing.T) {
	got, _, err := readForecast([]string{save(t, "m.csv", []byte("mean,sd,observed\n,NA,null\nNaN,nan,na\nNULL,\"\", \ninf,-Inf,+infinity\n1,,\n"))}, normal())
	if err != nil {
		t.Fatal(err)
	}
	inf := math.Inf(1)
	wantValues(t, "values", got.values, nan, nan, nan, nan, nan, nan, nan, nan, nan, inf, -inf, inf, 1, nan, nan)
}

func TestTableColumns(t *testing.T) {
	path := save(t, "c.csv", []byte("w,q0.9,x,q.1,when,q0.50,y,q,qq0.1,x\n1,9,a,1,p,5,50,a,b,c\n2,19,a,11,q,15,60,a,b,c\n0.5,29,a,21,p,25,70,a,b,c\n"))
	o := &ForecastOptions{Kind: metrics.Quantiles, Prefix: "q", Observed: "y", Weight: "w", Groups: []string{"when"}}
	got, r, err := readForecast([]string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	wantValues(t, "quantiles", got.values, 1, 5, 9, 11, 15, 19, 21, 25, 29)
	wantValues(t, "observed", got.observed, 50, 60, 70)
	wantValues(t, "weights", got.weights, 1, 2, 0.5)
	wantValues(t, "levels", r.Levels(), 0.1, 0.5, 0.9)
	if !slices.Equal(got.groups, []int32{0, 1, 0}) || !slices.Equal(r.Group(1), []string{"q"}) || r.Group(2) != nil || r.Group(-1) != nil {
		t.Errorf("groups %v, %q", got.groups, r.Group(1))
	}

	// Numeric columns may group rows too, columns have any order, and levels may have no prefix.
	path = save(t, "d.csv", []byte("b,0.75,observed,0.25,a\nu,4,1,3,\"x, \"\"y\"\"\"\n\"u\",4,1.0,3,x\nu,4,1,3,\"x, \"\"y\"\"\"\nu,4,1,3,x\n"))
	got, r, err = readForecast([]string{path}, &ForecastOptions{Kind: metrics.Quantiles, Groups: []string{"a", "observed", "b"}, BufferBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	wantValues(t, "observed", got.observed, 1, 1, 1, 1)
	if !slices.Equal(got.groups, []int32{0, 1, 0, 2}) || !slices.Equal(r.Group(0), []string{`x, "y"`, "1", "u"}) || !slices.Equal(r.Group(1), []string{"x", "1.0", "u"}) ||
		!slices.Equal(r.GroupColumns(), []string{"a", "observed", "b"}) {
		t.Errorf("groups %v, %q %q", got.groups, r.Group(0), r.Group(1))
	}

	path = save(t, "e.csv", []byte("error,std\n1,2\n-3,4\n"))
	got, r, err = readForecast([]string{path}, &ForecastOptions{Kind: metrics.Normals, Error: "error", SD: "std"})
	if err != nil || r.Info().Classes != 2 {
		t.Fatal(r.Info(), err)
	}
	wantValues(t, "errors", got.values, 1, 2, -3, 4)

	path = save(t, "s.csv", []byte("m10,m2,observed,m\n1,2,3,x\n"))
	got, _, err = readForecast([]string{path}, &ForecastOptions{Kind: metrics.Samples, Prefix: "m"})
	if err != nil {
		t.Fatal(err)
	}
	wantValues(t, "samples", got.values, 1, 2)
}

func TestTableShards(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, rows := range []int{3, 0, 5, 1} {
		text := "mean,sd,observed,site\n"
		for j := range rows {
			text += fmt.Sprintf("%d,%d,7,s%d\n", 100*i, j, (i+j)%3)
		}
		name := fmt.Sprintf("%s/part%d.csv", dir, 8+i)
		if i == 3 {
			text = "\"mean\",sd,observed,\"site\"\n300,0,7,\"s\n0\"\n\n"
		}
		os.WriteFile(name, []byte(text), 0o644)
		paths = append(paths, name)
	}
	slices.Reverse(paths)
	o := normal()
	o.Groups, o.BufferBytes = []string{"site"}, 16
	got, r, err := readForecast(paths, o)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{0, 0, 7, 0, 1, 7, 0, 2, 7, 200, 0, 7, 200, 1, 7, 200, 2, 7, 200, 3, 7, 200, 4, 7, 300, 0, 7}
	wantValues(t, "values", got.values, want...)
	if !slices.Equal(got.groups, []int32{0, 1, 2, 2, 0, 1, 2, 0, 3}) {
		t.Errorf("groups %v", got.groups)
	}
	for _, c := range []struct {
		row  int64
		file string
		at   int64
		line int64
	}{{0, "part8.csv", 0, 2}, {2, "part8.csv", 2, 4}, {3, "part10.csv", 0, 2}, {7, "part10.csv", 4, 6}, {8, "part11.csv", 0, 2}} {
		if file, at := r.Locate(c.row); file != dir+"/"+c.file || at != c.at || r.Line(c.row) != c.line {
			t.Errorf("row %d is %s row %d line %d", c.row, file, at, r.Line(c.row))
		}
	}
	if i := r.Info(); r.BytesRead() != i.Bytes || i.Files != 4 {
		t.Errorf("%d bytes read of %+v", r.BytesRead(), i)
	}
	files := fstest.MapFS{"x/a.csv": {Data: []byte(threeRows)}, "x/b.csv": {Data: []byte(threeRows)}}
	got, _, err = readForecast([]string{"x/a.csv", "x/b.csv"}, &ForecastOptions{Kind: metrics.Normals, FS: files})
	if err != nil || got.rows != 6 {
		t.Errorf("%d rows of a file system: %v", got.rows, err)
	}
}

// setStdin sets standard input to b.
func setStdin(t *testing.T, b []byte) {
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = pr
	t.Cleanup(func() { os.Stdin = old; pr.Close() })
	go func() {
		pw.Write(b)
		pw.Close()
	}()
}

func TestForecastStandardInput(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(threeRows))
	z.Close()
	want := []float64{1, 0.5, 2, -0.03, 1, 4.25, 5, 0.25, 1000}
	for name, b := range map[string][]byte{
		"csv": []byte(threeRows), "tabs": []byte(strings.ReplaceAll(threeRows, ",", "\t")), "gzip": zipped.Bytes(),
		"npy":    npy(1, "<f8", false, []int{3, 3}, func(i int) float64 { return want[i] }),
		"gather": npy(1, "<f8", true, []int{3, 4}, func(i int) float64 { return append(want[i/4*3:][:3:3], 9)[i%4] }),
	} {
		t.Run(name, func(t *testing.T) {
			setStdin(t, b)
			o := normal()
			if name == "gather" {
				o.Mean, o.SD, o.Observed = "0", "1", "2"
			}
			got, r, err := readForecast([]string{"-"}, o)
			if err != nil {
				t.Fatal(err)
			}
			wantValues(t, "values", got.values, want...)
			if file, at := r.Locate(1); file != "standard input" || at != 1 {
				t.Error(file, at)
			}
			if i := r.Info(); (name == "csv" || name == "gzip") && i.Bytes != -1 {
				t.Errorf("%+v", i)
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		setStdin(t, nil)
		_, _, err := readForecast([]string{"-"}, normal())
		wantError(t, err, "standard input: empty file")
	})
	t.Run("error", func(t *testing.T) {
		setStdin(t, []byte("mean,sd,observed\n1,2,x\n"))
		_, _, err := readForecast([]string{"-"}, normal())
		wantError(t, err, `standard input: line 2: column "observed": "x" is not a number`)
	})
}

func TestTableErrors(t *testing.T) {
	long := strings.Repeat("ä", 60)
	many := "mean,sd,observed,id\n"
	for i := range 100_001 {
		many += fmt.Sprintf("1,1,1,n%d\n", i)
	}
	const h = "mean,sd,observed\n"
	quantiles := ForecastOptions{Kind: metrics.Quantiles, Prefix: "q"}
	for i, c := range []struct {
		name, text string
		options    ForecastOptions
		want       string
	}{
		{"empty file", "", *normal(), "t.csv: empty file; was the program that wrote it interrupted?"},
		{"header alone", h, *normal(), "t.csv: no rows: there is only a header; was the program that wrote it given any data?"},
		{"empty header", "\n1,2,3\n", *normal(), "t.csv: no header: its first line is empty; the first line has the names of the columns"},
		{"no header", "1,2,3\n4,5,6\n", *normal(), "t.csv: no header: the first line has numbers only, and no names; put a line with the names of the columns first"},
		{"binary", "\x00\x01\x02\n", *normal(), "t.csv: not a table: its first line is not UTF-8 text"},
		{"latin 1", "mean,sd,observed,gr\xf6\xdfe\n", *normal(), "t.csv: not a table: its first line is not UTF-8 text"},
		{"Parquet", "PAR1\x15\x00\n", *normal(), "t.csv: not a table: it looks like a Parquet file; give it a name that ends in .parquet"},
		{"CR", "mean,sd,observed\r1,2,3\r", *normal(), "t.csv: a line ends in CR alone; end lines in LF or CRLF"},
		{"missing column", "means,sigma,obs\n1,2,3\n", *normal(), `t.csv: no column "mean" for the mean (did you mean "means"?): its columns are "means", "sigma", "obs"`},
		{"nothing like it", "a,b\n1,2\n", *normal(), `t.csv: no column "mean" for the mean: its columns are "a", "b"`},
		{"wide", strings.Repeat(",", 1<<20) + "\n", *normal(), "t.csv: more than 1,048,576 columns; is it transposed? rows are forecasts"},
		{"a variance", "mean,Variance,observed\n1,2,3\n", *normal(), `t.csv: no column "sd" for the standard deviation: its columns are "mean", "Variance", "observed"; write the square roots of the variances as a column, and name it by SD`},
		{"no such column", "mu,sd,observed\n1,2,3\n", *normal(), `t.csv: no column "mean" for the mean: its columns are "mu", "sd", "observed"; name the column that has it by Mean`},
		{"many columns", "a" + strings.Repeat(",b", 30) + "\n", *normal(), `"b", "b", 11 more`},
		{"doubled", "mean,sd,sd,observed\n", *normal(), `t.csv: two columns are named "sd"; rename one of them`},
		{"doubled sample", "observed,m1,m1\n", ForecastOptions{Kind: metrics.Samples, Prefix: "m"}, `two columns are named "m1"`},
		{"same column", h, ForecastOptions{Kind: metrics.Normals, Mean: "sd"}, `t.csv: column "sd" is the mean and the standard deviation; name another`},
		{"ragged", h + "1,2,3\n4,5\n", *normal(), `t.csv: line 3: it has 2 cells, and the header has 3; put cells that contain a comma in quotes`},
		{"more cells", h + "1,2,3\n4,5,6,7\n", *normal(), `t.csv: line 3: it has 4 cells, and the header has 3`},
		{"comma at the end", h + "1,2,3,\n", *normal(), `t.csv: line 2: it has 4 cells, and the header has 3`},
		{"one cell", h + "  \n", *normal(), `t.csv: line 2: it has 1 cell, and the header has 3`},
		{"ragged and skipped", "a,mean,sd,observed,b\n1,2,3,4\n", *normal(), `t.csv: line 2: it has 4 cells, and the header has 5`},
		{"more and skipped", "a,mean,sd,observed,b\n1,2,3,4,5,6\n", *normal(), `t.csv: line 2: it has 6 cells, and the header has 5`},
		{"ragged before", "a,b,mean,sd,observed\n1\n", *normal(), `t.csv: line 2: it has 1 cell, and the header has 5`},
		{"none", h + "1,2,3\n\n\n", *normal(), ""},
		{"text", h + "1,2,3\n1,high,3\n", *normal(), `t.csv: line 3: column "sd": "high" is not a number; write a decimal number, as in 0.25 or 1e-3; a missing one is an empty cell`},
		{"long text", h + "1,2," + long + "\n", *normal(), `t.csv: line 2: column "observed": "` + strings.Repeat("ä", 40) + `..." is not a number`},
		{"CR inside", h + "1,2\r,3\n", *normal(), `t.csv: line 2: column "sd": "2\r" is not a number`},
		{"hexadecimal", h + "1,2,0x10\n", *normal(), `"0x10" is not a number`},
		{"underscore", h + "1,2,1_000\n", *normal(), `"1_000" is not a number`},
		{"decimal comma", h + "1,2,\"3,5\"\n", *normal(), `column "observed": "3,5" is not a number; write decimal points, and no commas`},
		{"range", h + "1,2,1e400\n", *normal(), `t.csv: line 2: column "observed": "1e400" is beyond the range of float64; write one that is below 1.8e308`},
		{"empty line", h + "1,2,3\n\n1,2,3\n", *normal(), `t.csv: line 3: an empty line between rows; remove it: empty lines may only stand at the end`},
		{"empty first line", h + "\n1,2,3\n", *normal(), `t.csv: line 2: an empty line between rows`},
		{"empty lines", h + "1,2,3\r\n\r\n\n\n\r\n1,2,3\n", *normal(), `t.csv: line 3: an empty line between rows`},
		{"empty line before what is wrong", h + "1,2,3\n\nx\n", *normal(), `t.csv: line 3: an empty line between rows`},
		{"quote inside", h + "1,2,3\n1,2\",3\n", *normal(), `t.csv: line 3: a quote within a cell that does not begin with one; a cell with quotes is written as "say ""yes"""`},
		{"quote inside what is skipped", "mean,x,sd,observed\n1,5\" pipe,2,3\n", *normal(), `t.csv: line 2: a quote within a cell that does not begin with one`},
		{"text behind a quote", h + "1,\"2\"0,3\n", *normal(), `t.csv: line 2: text behind the quote that ends a cell`},
		{"text behind a quote that is skipped", "mean,x,sd,observed\n1,\"2\"0,3,4\n", *normal(), `t.csv: line 2: text behind the quote that ends a cell`},
		{"open quote", h + "1,2,3\n1,\"2,3\n1,2,3\n", *normal(), `t.csv: line 3: a quote is opened and not closed; a cell with quotes`},
		{"quote inside a group", "mean,sd,observed,g\n1,2,3,\"a\"b\n", ForecastOptions{Kind: metrics.Normals, Groups: []string{"g"}}, `t.csv: line 2: text behind the quote that ends a cell`},
		{"quote inside a group before", "g,mean,sd,observed\na\"b,1,2,3\n", ForecastOptions{Kind: metrics.Normals, Groups: []string{"g"}}, `t.csv: line 2: a quote within a cell`},
		{"what is wrong first", h + "1,2,3\n1,2,x\n1,\"2,3\n", *normal(), `t.csv: line 3: column "observed": "x" is not a number`},
		{"latin 1 in a group", "mean,sd,observed,g\n1,2,3,a\n1,2,3,\xfc\n", ForecastOptions{Kind: metrics.Normals, Groups: []string{"g"}}, `t.csv: line 3: column "g": "\xfc" is not UTF-8; write the file as UTF-8`},
		{"open quote in the header", "mean,\"sd,observed\n", *normal(), `t.csv: line 1: a quote is opened and not closed`},
		{"quote in the header", "mean,s\"d,observed\n", *normal(), `t.csv: line 1: a quote within a cell`},
		{"line after lines in quotes", "mean,sd,observed,\"a\nb\"\n1,2,3,\"x\ny\nz\"\n1,2,x,4\n", *normal(), `t.csv: line 6: column "observed": "x" is not a number`},
		{"groups", many, ForecastOptions{Kind: metrics.Normals, Groups: []string{"id"}}, `t.csv: line 100002: more than 100,000 groups: column "id" has 100,001 values so far; group by a column of fewer values`},
		{"groups of two", many, ForecastOptions{Kind: metrics.Normals, Groups: []string{"sd", "id"}}, `t.csv: line 100002: more than 100,000 groups (sd, id): column "id" has 100,001 values so far`},
		{"no group", h, ForecastOptions{Kind: metrics.Normals, Groups: []string{"observd"}}, `no column "observd" for the group (did you mean "observed"?)`},
		{"group twice", h, ForecastOptions{Kind: metrics.Normals, Groups: []string{"sd", "sd"}}, `column "sd" is named twice to group by; name it once`},
		{"no weight", h, ForecastOptions{Kind: metrics.Normals, Weight: "w"}, `no column "w" for the weight`},
		{"weight", h, ForecastOptions{Kind: metrics.Normals, Weight: "sd"}, `column "sd" is the standard deviation and the weight; name another`},
		{"no levels", "observed,p0.1\n", quantiles, `t.csv: no column is named "q0.5" or like it: its columns are "observed", "p0.1"; name the prefix that they have`},
		{"percents", "observed,q5\n", quantiles, `t.csv: level 5 of column "q5" is not between 0 and 1; levels are probabilities, as in q0.05: rename it, or name another prefix`},
		{"level 0", "observed,q0\n", quantiles, `level 0 of column "q0" is not between 0 and 1`},
		{"one level", "observed,q0.5,q0.50\n", quantiles, `t.csv: columns "q0.5" and "q0.50" have the same level, 0.5; leave one of them out`},
		{"no observed", "q0.5,y\n", quantiles, `no column "observed" for the observed value: its columns are "q0.5", "y"`},
		{"no error", "e,s\n", ForecastOptions{Kind: metrics.Normals, Error: "err", SD: "s"}, `no column "err" for the error: its columns are`},
		{"error and mean", h, ForecastOptions{Kind: metrics.Normals, Error: "e", Mean: "m"}, "so there is no column of either; name Error and SD, or Mean, SD and Observed"},
		{"levels of normals", h, ForecastOptions{Kind: metrics.Normals, Levels: []float64{0.5}}, "normal forecasts have no levels; leave Levels out"},
		{"levels of samples", h, ForecastOptions{Kind: metrics.Samples, Levels: []float64{0.5}}, "samples have no levels"},
		{"levels", h, ForecastOptions{Kind: metrics.Quantiles, Levels: []float64{0.5}}, "levels are for .npy files, and a table has them in the names of its columns"},
		{"a level of 1", h, ForecastOptions{Kind: metrics.Quantiles, Levels: []float64{1}}, "level 1 is not between 0 and 1"},
		{"a level twice", h, ForecastOptions{Kind: metrics.Quantiles, Levels: []float64{0.5, 0.5}}, "level 0.5 appears twice"},
		{"mean of quantiles", h, ForecastOptions{Kind: metrics.Quantiles, Mean: "mean"}, "quantiles have neither means nor standard deviations nor errors"},
		{"kind", h, ForecastOptions{}, "regression forecasts are normal, quantiles or samples, not probs; read other kinds by Open"},
		{"observations", h, ForecastOptions{Kind: metrics.Normals, Observations: []string{"x.npy"}}, "files of observations are for .npy files, and a table has them in a column; name the column"},
		{"weights", h, ForecastOptions{Kind: metrics.Normals, Weights: []string{"x.npy"}}, "files of weights are for .npy files"},
		{"cut gzip", "\x1f\x8b\x08\x00", *normal(), "t.csv: truncated or damaged: it cannot be decompressed"},
		{"cut zstd", "\x28\xb5\x2f\xfd\x04\x00\x41", *normal(), "t.csv: truncated or damaged: it cannot be decompressed"},
	} {
		path := save(t, "t.csv", []byte(c.text))
		for j, size := range []int{0, 1, 7, 30} {
			if testing.Short() && j > 0 && j != 1+i%3 {
				continue
			}
			c.options.BufferBytes = size
			_, _, err := readForecast([]string{path}, &c.options)
			if c.want == "" {
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(e.Error(), c.want) {
				t.Errorf("%s: error %v, want %s", c.name, err, c.want)
			}
		}
	}
	a, b := save(t, "a.csv", []byte(threeRows)), ""
	for text, want := range map[string]string{
		"mean,sd,observed,x\n":             `b.csv: its header has 4 columns, and that of ` + a + ` has 3: "x" is not in that; shards of a table have the same columns in the same order`,
		"mean,sd\n":                        `b.csv: its header has 2 columns, and that of ` + a + ` has 3: "observed" is not in it`,
		"mean,observed,sd\n":               `b.csv: column 2 of its header is "observed", and "sd" in ` + a,
		"mean,sd,observed\n1,2,3\n1,2,x\n": `b.csv: line 3: column "observed": "x" is not a number`,
		"":                                 `b.csv: empty file`,
	} {
		b = save(t, "b.csv", []byte(text))
		_, _, err := readForecast([]string{a, b}, normal())
		if b < a {
			t.Fatal("temporary folders are not in order")
		}
		wantError(t, err, want)
	}
	_, _, err := readForecast([]string{a, t.TempDir() + "/none.csv"}, normal())
	wantError(t, err, "none.csv: no such file")
	_, _, err = readForecast([]string{a, "x.npy"}, normal())
	wantError(t, err, "a.csv: it is a table by its name, and x.npy is not; shards are all tables or all .npy files")
	dir := t.TempDir() + "/d.csv"
	os.Mkdir(dir, 0o755)
	_, _, err = readForecast([]string{dir}, normal())
	wantError(t, err, "d.csv: is a directory; name its files, as in")
	_, _, err = readForecast(nil, &ForecastOptions{Kind: metrics.Quantiles})
	wantError(t, err, "no forecasts; name a table, an .npy or an .npz file, or - for standard input")
	if _, err := OpenForecast([]string{a}, nil); err == nil {
		t.Error("the zero value reads probabilities")
	}
}

// TestTableSeparators: what separates cells is what the header has, whatever the file is called; a comma is one first.
func TestTableSeparators(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"t.csv", "mean,sd,observed\n1.5,2,3\n"}, {"t.csv", "mean;sd;observed\n1.5;2;3\n"}, {"t.csv", "mean;sd;observed\n1,5;2;3,0\n"},
		{"t.csv", "mean\tsd\tobserved\n1,5\t2\t3\n"}, {"t.tsv", "mean;sd;observed\n1,5;2;3\n"}, {"t.txt", "mean sd observed\n1.5 2 3\n"},
		{"t.txt", "mean;sd;observed\n1,5;2;3\n"}, {"t.csv", "\"mean\";\"sd\";\"a,b\";\"observed\"\n1,5;2;7,1;3\n"},
		{"t.txt", "\"mean\" \"sd\" \"observed\"\n\"1\" 1.5 2 3\n"}, // R's write.table
		{"t.csv", "\xff\xfe" + string(utf16le("mean,sd,observed\n1.5,2,3\n"))},
	} {
		rows, _, err := readForecast([]string{save(t, c.name, []byte(c.text))}, normal())
		if err != nil {
			t.Errorf("%q: %v, %v", c.text, rows, err)
			continue
		}
		if got := fmt.Sprint(rows.values); got != "[1.5 2 3]" {
			t.Errorf("%q: %v", c.text, got)
		}
	}
	// A cell too many is no name of a row unless it is a text.
	_, _, err := readForecast([]string{save(t, "t.csv", []byte("mean,sd,observed\n1,2,3,\n"))}, normal())
	wantError(t, err, "t.csv: line 2: it has 4 cells, and the header has 3")
	_, _, err = readForecast([]string{save(t, "t.csv", []byte("mean,sd,observed\n1,2,3,4\n"))}, normal())
	wantError(t, err, "t.csv: line 2: it has 4 cells, and the header has 3")
	// A number with a point and a comma is invalid.
	_, _, err = readForecast([]string{save(t, "t.csv", []byte("mean;sd;observed\n1,5;2;3\n1.000,5;2;3\n"))}, normal())
	wantError(t, err, "t.csv: line 3")
	_, _, err = readForecast([]string{save(t, "t.txt", []byte("mean;sd;observed\n1;2\n"))}, normal())
	wantError(t, err, "put cells that contain a semicolon in quotes")
	_, _, err = readForecast([]string{save(t, "t.tsv", []byte("mean\tsd\tobserved\n1\t2\n"))}, normal())
	wantError(t, err, "put cells that contain a tab in quotes")
}

// Shards are reopened when they are reached.
func TestTableChanges(t *testing.T) {
	for what, change := range map[string]func(path string){
		"no such file": func(path string) { os.Remove(path) },
		"the file changed while it was read; wait until whoever writes it is done": func(path string) { os.WriteFile(path, []byte(threeRows+"1,2,3\n"), 0o600) },
		"the file changed while it was read":                                       func(path string) { os.WriteFile(path, []byte("x"+threeRows[1:]), 0o600) },
	} {
		dir := t.TempDir()
		paths := []string{dir + "/1.csv", dir + "/2.csv"}
		for _, p := range paths {
			os.WriteFile(p, []byte(threeRows), 0o600)
		}
		r, err := OpenForecast(paths, normal())
		if err != nil {
			t.Fatal(err)
		}
		change(paths[1])
		got, err := drainForecast(r, 0)
		wantError(t, err, "2.csv: "+what)
		if got.rows != 3 {
			t.Errorf("%d rows before", got.rows)
		}
		r.Close()
	}
}

// TestChangesWhileRead: if a file is written to while it is read, reading always ends in an error.
func TestChangesWhileRead(t *testing.T) {
	line := "1.25,2.5,3.125\n"
	whole := "mean,sd,observed\n" + strings.Repeat(line, 100_000)
	array := npy(1, "<f8", false, []int{100_000, 3}, func(int) float64 { return 1 })
	for what, change := range map[string]func(path string, size int) error{
		"shorter":            func(path string, size int) error { return os.Truncate(path, int64(size)-15) },
		"shorter, in a cell": func(path string, size int) error { return os.Truncate(path, int64(size)-17) },
		"empty":              func(path string, size int) error { return os.Truncate(path, 0) },
		"longer": func(path string, size int) error {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString(line)
			return errors.Join(err, f.Close())
		},
		"written again": func(path string, size int) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("9"), int64(size)-6)
			return errors.Join(err, f.Close(), os.Chtimes(path, time.Time{}, time.Now().Add(time.Second)))
		},
	} {
		for name, b := range map[string][]byte{"t.csv": []byte(whole), "x.npy": array} {
			path := save(t, name, b)
			r, err := OpenForecast([]string{path}, &ForecastOptions{Kind: metrics.Normals, Buffers: 2, BufferBytes: 4096})
			if err != nil {
				t.Fatal(err)
			}
			c, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if err := change(path, len(b)); err != nil {
				t.Fatal(err)
			}
			for err == nil {
				c.Recycle()
				c, err = r.Next()
			}
			if err == io.EOF {
				t.Errorf("%s, %s: no error", name, what)
			} else if name == "t.csv" || !strings.Contains(what, "short") && what != "empty" {
				wantError(t, err, name+": the file changed while it was read; wait until whoever writes it is done")
			}
			r.Close()
		}
	}
}

// TestNoLineEnd: a last line without a line end gives a note, since its last cell may be truncated, unless a quote closes the cell.
func TestNoLineEnd(t *testing.T) {
	const head = "mean,sd,observed\n1,2,3\n"
	for end, note := range map[string]string{
		"4,5,6\n": "", "4,5,6\r\n": "", "4,5,\"6\"": "", "4,5,6\n\n": "",
		"4,5,6": "t.csv: its last line, 3, has no line end: if the file was cut off there, its last cell may be cut too",
	} {
		got, r, err := readForecast([]string{save(t, "t.csv", []byte(head+end))}, normal())
		if err != nil || got.rows != 2 {
			t.Fatal(err)
		}
		notes := strings.Join(r.Notes(), "\n")
		if note == "" && notes != "" || !strings.HasSuffix(notes, note) {
			t.Errorf("%q: %q", end, notes)
		}
	}
}

// A file truncated within compressed data is an error, not a shorter table.
func TestTableCut(t *testing.T) {
	text := []byte("mean,sd,observed\n" + strings.Repeat("1,2,3\n4.5,6.75,7e-1\n", 20_000))
	var zipped, packed bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(text)
	z.Close()
	s, _ := zstd.NewWriter(&packed)
	s.Write(text)
	s.Close()
	for _, b := range [][]byte{zipped.Bytes(), packed.Bytes()} {
		for _, n := range []int{len(b) - 1, len(b) / 2} {
			_, _, err := readForecast([]string{save(t, "cut.csv.gz", b[:n])}, normal())
			wantError(t, err, "cut.csv.gz: truncated or damaged: it cannot be decompressed")
		}
		if got, _, err := readForecast([]string{save(t, "whole.csv.gz", b)}, normal()); err != nil || got.rows != 40_000 {
			t.Errorf("%d rows: %v", got.rows, err)
		}
	}
}

func TestTableLongLines(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a line of 32 MiB")
	}
	text := []byte("mean,sd,observed,note\n1,2,3,")
	text = append(text, bytes.Repeat([]byte("x"), maxLine-6-1)...)
	text = append(text, "\n4,5,6,\n"...)
	got, _, err := readForecast([]string{save(t, "long.csv", text)}, normal())
	if err != nil {
		t.Fatal(err)
	}
	wantValues(t, "values", got.values, 1, 2, 3, 4, 5, 6)
	text[len(text)-8] = 'x'
	_, _, err = readForecast([]string{save(t, "longer.csv", text)}, normal())
	wantError(t, err, "longer.csv: line 2: a line is longer than 32 MiB; is a quote not closed, or is it not a table?")
}

// Random tables read as with encoding/csv and strconv, wherever blocks are cut.
func TestTableLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	n := 300
	if testing.Short() {
		n = 60
	}
	for range n {
		text, columns := randomTable(r)
		o := &ForecastOptions{Kind: metrics.Normals, Groups: []string{"g"}, Weight: "w", BufferBytes: 1 + r.IntN(200), Buffers: 1 + r.IntN(4)}
		got, reader, err := readForecast([]string{save(t, "r.csv", text)}, o)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if len(records)-1 != got.rows {
			t.Fatalf("%d rows, want %d\n%s", got.rows, len(records)-1, text)
		}
		for i, rec := range records[1:] {
			for slot, name := range []string{"mean", "sd", "observed", "w"} {
				want, err := strconv.ParseFloat(rec[columns[name]], 64)
				if err != nil {
					t.Fatal(err)
				}
				v := got.weights[i]
				if slot < 3 {
					v = got.values[3*i+slot]
				}
				if math.Float64bits(v) != math.Float64bits(want) {
					t.Fatalf("row %d: %s is %v, want %v", i, name, v, want)
				}
			}
			if g := strings.ReplaceAll(reader.Group(got.groups[i])[0], "\r\n", "\n"); g != rec[columns["g"]] {
				t.Fatalf("row %d: group %q, want %q\n%s", i, g, rec[columns["g"]], text)
			}
		}
		// The line of each row, by counting.
		lines := csv.NewReader(bytes.NewReader(text))
		lines.Read()
		for i := range got.rows {
			lines.Read()
			if line, _ := lines.FieldPos(0); int64(line) != reader.Line(int64(i)) {
				t.Fatalf("row %d is on line %d, want %d\n%s", i, reader.Line(int64(i)), line, text)
			}
		}
	}
}

func randomTable(r *rand.Rand) (text []byte, columns map[string]int) {
	names := []string{"mean", "sd", "observed", "w", "g"}
	for range r.IntN(4) {
		names = append(names, "x"+strconv.Itoa(len(names)))
	}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	columns = map[string]int{}
	for i, n := range names {
		columns[n] = i
	}
	end := []string{"\n", "\r\n"}[r.IntN(2)]
	text = append(text, strings.Join(names, ",")+end...)
	for range 1 + r.IntN(30) {
		for i, n := range names {
			if i > 0 {
				text = append(text, ',')
			}
			switch {
			case n[0] == 'g' || n[0] == 'x':
				texts := []string{"", "a", "b", "some text", `"say ""yes"", then"`, "\"two\nlines\"", `""`, `"a"`, `","`, "ü", `"""` + `"""`, "\"three\nlines\n\""}
				text = append(text, texts[r.IntN(len(texts))]...)
			case r.IntN(8) == 0:
				text = append(strconv.AppendFloat(append(text, '"'), r.NormFloat64(), 'g', -1, 64), '"')
			case r.IntN(3) == 0:
				text = strconv.AppendInt(text, r.Int64N(1000)-500, 10)
			default:
				text = strconv.AppendFloat(text, math.Ldexp(r.NormFloat64(), r.IntN(60)-30), "gef"[r.IntN(3)], -1, 64)
			}
		}
		text = append(text, end...)
	}
	if r.IntN(4) == 0 {
		text = bytes.TrimSuffix(text, []byte(end))
	}
	return text, columns
}

// Close wakes a waiting Next and leaves no goroutine.
func TestTableClose(t *testing.T) {
	text := []byte("mean,sd,observed\n" + strings.Repeat("1,2,3\n", 10_000))
	path := save(t, "c.csv", text)
	open := func() *ForecastReader {
		r, err := OpenForecast([]string{path}, &ForecastOptions{Kind: metrics.Normals, Buffers: 1, BufferBytes: 600})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open()
	c, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := r.Next()
		done <- err
	}()
	time.Sleep(10 * time.Millisecond)
	if err := cmp.Or(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if _, err := r.Next(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	wantValues(t, "values of a chunk that is out", c.F64[:3], 1, 2, 3)
	c.Recycle()
	r = open()
	r.Close()
	if _, err := r.Next(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if got, err := drainForecast(open(), 0); err != nil || got.rows != 10_000 {
		t.Error(got.rows, err)
	}
	check.Gone(t)
}

// A real table: 23 quantiles of 887 forecasts, after six text columns and one of the horizon.
func TestTableOfQuantiles(t *testing.T) {
	for _, size := range []int{0, 1000} {
		o := &ForecastOptions{Kind: metrics.Quantiles, Prefix: "q", Groups: []string{"model", "target_type"}, BufferBytes: size}
		got, r, err := readForecast([]string{"../testdata/golden/covid_eu_quantiles23.csv.gz"}, o)
		if err != nil {
			t.Fatal(err)
		}
		if got.rows != 887 || r.Info().Classes != 23 {
			t.Fatal(got.rows, r.Info())
		}
		wantValues(t, "levels", r.Levels(), 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85,
			0.9, 0.95, 0.975, 0.99)
		wantValues(t, "first row", got.values[:23], 93550, 100419, 107812, 114833, 122199, 125720, 128952, 130474, 131441, 131912, 132402, 132607, 132812,
			133302, 133773, 134740, 136262, 139494, 143015, 150381, 157402, 164795, 171664)
		wantValues(t, "last row", got.values[886*23:], 48, 55, 69, 86, 99, 114, 123, 136, 148, 159, 172, 186, 201, 218, 237, 255, 283, 310, 352, 397, 499,
			611, 719)
		if got.observed[0] != 106987 || got.observed[886] != 78 {
			t.Error(got.observed[0], got.observed[886])
		}
		counts := map[string]int{}
		for _, g := range got.groups {
			counts[strings.Join(r.Group(g), " ")]++
		}
		if counts["EuroCOVIDhub-baseline Cases"] != 128 || counts["EuroCOVIDhub-ensemble Deaths"] != 128 || len(counts) != 7 {
			t.Error(counts)
		}
		if !slices.Equal(r.Group(0), []string{"EuroCOVIDhub-baseline", "Cases"}) || r.Line(886) != 888 {
			t.Error(r.Group(0), r.Line(886))
		}
	}
}

// Rows that a Pass rejects have a file and a line.
func TestTableBadRows(t *testing.T) {
	a := "mean,sd,observed,note\n1,2,3,\"two\nlines\"\n1,2,3,\n"
	b := "mean,sd,observed,note\n1,2,3,\n1,0,3,\n1,2,NA,\n"
	dir := t.TempDir()
	paths := []string{dir + "/1.csv", dir + "/2.csv"}
	for i, s := range []string{a, b} {
		if err := os.WriteFile(paths[i], []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, drop := range []bool{false, true} {
		r, err := OpenForecast(paths, normal())
		if err != nil {
			t.Fatal(err)
		}
		err = metrics.NewPass(&metrics.Options{Drop: drop}).AddSource(r)
		r.Close()
		if drop {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		var d *metrics.DataError
		if !errors.As(err, &d) || len(d.Faults) != 2 {
			t.Fatal(err)
		}
		for i, want := range []int64{3, 4} {
			if file, _ := r.Locate(d.Faults[i].Row); file != paths[1] || r.Line(d.Faults[i].Row) != want {
				t.Errorf("%v: %s line %d, want %d", d.Faults[i], file, r.Line(d.Faults[i].Row), want)
			}
		}
	}
}

// The memory for a table does not grow with its length.
func TestTableMemory(t *testing.T) {
	pr, pw := io.Pipe()
	const lines = 2_000_000
	go func() {
		chunk := []byte(strings.Repeat("1,2,3\n", 1000))
		pw.Write([]byte("mean,sd,observed\n"))
		for range lines / 1000 {
			pw.Write(chunk)
		}
		pw.Close()
	}()
	rows := 0
	got := allocated(func() {
		r, e := openTable([]string{"-"}, pr, &ForecastOptions{Kind: metrics.Normals, Buffers: 2, BufferBytes: 64 << 10})
		if e != nil {
			t.Error(e)
			return
		}
		defer r.Close()
		for {
			c, err := r.Next()
			if err != nil {
				return
			}
			rows += c.Rows
			c.Recycle()
		}
	})
	if rows != lines || got > 4<<20 {
		t.Errorf("%d rows took %d bytes", rows, got)
	}
}

// TestLongHeader: the time to read a header is linear in its length.
func TestLongHeader(t *testing.T) {
	read := func(size int) time.Duration {
		table := []byte("mean,sd,observed," + strings.Repeat("x", size) + "\n1,2,3,4\n")
		best := time.Duration(math.MaxInt64)
		for range 2 {
			start := time.Now()
			from := &text{r: bytes.NewReader(table), line: 1}
			if line, e := from.header(); e != nil || len(line) != len(table)-len("1,2,3,4\n") {
				t.Fatal(len(line), e)
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	if small, large := read(1<<20), read(31<<20); large > 31*6*small {
		t.Errorf("1 MiB takes %v, 31 MiB %v", small, large)
	}
}

func utf16le(s string) (b []byte) {
	for _, c := range s {
		b = append(b, byte(c), byte(c>>8))
	}
	return b
}
