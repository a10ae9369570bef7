package fuzz

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
)

// forecastTable is all that is read of a table.
type forecastTable struct {
	values  []float64
	groups  []string
	lines   []int64
	problem string
}

// readForecastTable reads a table in blocks of so many bytes.
func readForecastTable(t *testing.T, name string, data []byte, o predictions.ForecastOptions, size int) (out forecastTable) {
	o.FS, o.BufferBytes = fstest.MapFS{name: {Data: data}}, size
	failed := func(err error) forecastTable {
		var e *predictions.Error
		if !errors.As(err, &e) || e.File != name || e.Reason == "" {
			t.Fatalf("%T %v is no *Error of a file", err, err)
		}
		out.problem = err.Error()
		return out
	}
	r, err := predictions.OpenForecast([]string{name}, &o)
	if err != nil {
		return failed(err)
	}
	defer r.Close()
	for {
		c, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			return failed(err)
		}
		for i := range c.Rows {
			out.values = append(out.values, c.F64[i*c.Classes:][:c.Classes]...)
			if c.Observed != nil {
				out.values = append(out.values, c.Observed[i])
			}
			out.groups = append(out.groups, r.Group(c.Groups[i])...)
			out.lines = append(out.lines, r.Line(c.First+int64(i)))
		}
		c.Recycle()
	}
}

// FuzzForecastTable reads tables: without a panic, the same in blocks of any size, an *Error or all that encoding/csv and strconv
// make of them.
func FuzzForecastTable(f *testing.F) {
	const h = "mean,sd,observed,g\n"
	for i, s := range []string{
		h + "1,2,3,a\n4,5,6,b\n", h + "1,2,3,\"a \"\"b\"\", c\nd\"\r\n-1e-3,.5,7.,\n", "\ufeff" + h + "1,2,3,x", h + "1,2,3,4,5\n", h + "\n1,2,3,4\n",
		h + "1,2,3,a\n\r\n\n", h + "1,\"2,3,a\n", h + "1,2\",3,a\n", h + "1,\"2\"x,3,a\n", "g,x,mean,y,sd,observed,z\n,,0.1,,NA,nan,\n1,\"\n\",1.7976931348623159e308,\"\",3,4,5\n",
		h + "9007199254740993,0.30000000000000004,1e-320,z\n123456789012345678901234567890,1e22,1e23,z\n", "g,q0.1,q0.9,q0.50,observed\nA,1,3,2,4\nB,1,3,2,\n",
		"\"g\",\"q0.1\",observed\r\n\"\",1,2\r\n", "g;mean;sd;observed\n1;2;3;4\n", "mean\tsd\tobserved\tg\n1\t 2 \t3\tx y\n", "1,2,3\n", "mean", "", "\"",
		"\x1f\x8b", "\x28\xb5\x2f\xfd", "\x93NUMPY", h + "1,2,3,\xff\n", h + "1,2,0x1p3,a\n", h + "inf,-Infinity,+inf,null\n", h + "1,0\r,2,\n",
	} {
		f.Add([]byte(s), uint8(i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8, text bool) {
		name, o := "t.csv", predictions.ForecastOptions{Kind: metrics.Normals, Groups: []string{"g"}}
		if text {
			name = "t.txt"
		}
		if bytes.Contains(data, []byte("q0.")) {
			o.Kind, o.Prefix = metrics.Quantiles, "q"
		}
		got := readForecastTable(t, name, data, o, 0)
		small := readForecastTable(t, name, data, o, 1+int(size))
		if got.problem != small.problem {
			t.Fatalf("%q, and in small blocks %q", got.problem, small.problem)
		}
		same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
		if got.problem == "" && (!slices.EqualFunc(got.values, small.values, same) || !slices.Equal(got.groups, small.groups) || !slices.Equal(got.lines, small.lines)) {
			t.Fatal("small blocks differ")
		}
		if got.problem != "" || text || !bytes.HasPrefix(bytes.TrimPrefix(data, []byte("\ufeff")), []byte(h)) {
			return
		}
		c := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
		records, err := c.ReadAll()
		if err != nil {
			return
		}
		records = records[1:]
		if len(records) != len(got.lines) {
			t.Fatalf("%d rows, encoding/csv has %d", len(got.lines), len(records))
		}
		for i, rec := range records {
			for j, cell := range rec[:3] {
				v, want := got.values[3*i+j], math.NaN()
				switch cell = strings.Trim(cell, " \t"); strings.ToLower(cell) {
				case "", "na", "null":
				default:
					if want, err = strconv.ParseFloat(cell, 64); err != nil || strings.ContainsAny(cell, "xXpP_") {
						t.Fatalf("row %d: %q is read as %v", i, cell, v)
					}
				}
				if !same(v, want) && (v == v || want == want) {
					t.Fatalf("row %d: %q is read as %v", i, cell, v)
				}
			}
			if strings.ReplaceAll(got.groups[i], "\r\n", "\n") != rec[3] {
				t.Fatalf("row %d: group %q, want %q", i, got.groups[i], rec[3])
			}
		}
	})
}
