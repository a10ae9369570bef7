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

	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/predictions/roles"
)

// classTable is all that is read of a table of classes.
type classTable struct {
	scores  []float64
	labels  []int32
	lines   []int64
	problem string
}

// readClassTable reads a table in blocks of so many bytes.
func readClassTable(t *testing.T, data []byte, o predictions.TableOptions, size int) (out classTable) {
	const name = "t.csv"
	o.FS, o.BufferBytes = fstest.MapFS{name: {Data: data}}, size
	failed := func(err error) classTable {
		var e *predictions.Error
		if !errors.As(err, &e) || e.File != name || e.Reason == "" {
			t.Fatalf("%T %v is no *Error of a file", err, err)
		}
		out.problem = err.Error()
		return out
	}
	r, err := predictions.OpenTable([]string{name}, &o)
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
		if len(c.F64) != c.Rows*c.Classes || len(c.Labels) != c.Rows {
			t.Fatalf("%d rows of %d classes have %d scores and %d labels", c.Rows, c.Classes, len(c.F64), len(c.Labels))
		}
		out.scores, out.labels = append(out.scores, c.F64...), append(out.labels, c.Labels...)
		for i := range c.Rows {
			out.lines = append(out.lines, r.Line(c.First+int64(i)))
		}
		c.Recycle()
	}
}

// FuzzClassTable reads tables of classes: without a panic, the same in blocks of any size, an *Error or the numbers and labels that
// encoding/csv and strconv make of them.
func FuzzClassTable(f *testing.F) {
	const h = "p_cat,p_dog,p_owl,label\n"
	for i, s := range []string{
		h + ".5,.25,.25,cat\n0,1,0,dog\n", h + "1,0,0,0\n0,0,1,2\n", h + "1,0,0,1\n0,0,1,3\n", h + "1,0,0,\n,NA,nan,dog\n", h + "1,0,0, cat\n", h + "1,0,0,\"cat\"\n",
		h + "1,0,0,bat\n", h + "1,0,0\n", h + "1,0,0,cat,5\n", h + "x,0,0,cat\n", h + "1e400,0,0,cat\n", h + "1,0,0,-1\n", h + "1,0,0,1.0\n", h + "\n1,0,0,owl\n",
		"\ufeff" + h + "1,0,0,cat", "label,p_a,p_b\na,.5,.5\nb,0,1\n", "p_1,p_2,label\n.5,.5,1\n.5,.5,2\n", "p_x,label\n.5,1\n.25,true\n1,False\n", "p_x,label\n.5,spam\n.25,ham\n",
		"label,p_list\n1,\"[.5, .25, .25]\"\n0,[1 0 0]\n", "p_cat;p_dog;p_owl;label\n0,5;0,25;0,25;cat\n", "p_cat\tp_dog\tlabel\n.5\t.5\tdog\n", "\"\",p_a,p_b,p_c,label\n\"1\",1,0,0,a\n",
		"p_a,p_a,label\n1,0,0\n", "label\n1\n", "p_,label\n1,1\n", "", "\xff\xfep\x00", "p_a,p_b,label\n\"[\",\"]\",1\n", h + "1,0,0,cat\r\n0,1,0,dog\r",
	} {
		f.Add([]byte(s), uint8(i))
	}
	prefix := "p_"
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		o := predictions.TableOptions{Columns: roles.Want{Prefix: &prefix, Label: "label"}, Classification: true}
		if bytes.HasPrefix(data, []byte("label,p_list\n")) {
			o.Columns = roles.Want{Scores: []string{"p_list"}, Label: "label"}
		}
		got, small := readClassTable(t, data, o, 0), readClassTable(t, data, o, 1+int(size))
		if got.problem != small.problem {
			t.Fatalf("%q, and in small blocks %q", got.problem, small.problem)
		}
		same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
		if got.problem == "" && (!slices.EqualFunc(got.scores, small.scores, same) || !slices.Equal(got.labels, small.labels) || !slices.Equal(got.lines, small.lines)) {
			t.Fatal("small blocks differ")
		}
		// A column of text behind the prefix is left out.
		if got.problem != "" || !bytes.HasPrefix(data, []byte(h)) || len(got.scores) != 3*len(got.labels) {
			return
		}
		records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			return
		}
		records = records[1:]
		if len(records) != len(got.labels) {
			t.Fatalf("%d rows, encoding/csv has %d", len(got.labels), len(records))
		}
		names := []string{"cat", "dog", "owl"}
		for i, rec := range records {
			for j, cell := range rec[:3] {
				v, want := got.scores[3*i+j], math.NaN()
				switch cell = strings.Trim(cell, " \t"); strings.ToLower(cell) {
				case "", "na", "null":
				default:
					if want, err = strconv.ParseFloat(cell, 64); err != nil {
						t.Fatalf("row %d: %q is read as %v", i, cell, v)
					}
				}
				if !same(v, want) && (v == v || want == want) {
					t.Fatalf("row %d: %q is read as %v", i, cell, v)
				}
			}
			cell := strings.Trim(rec[3], " \t")
			if j := slices.Index(names, cell); j >= 0 && got.labels[i] != int32(j) {
				t.Fatalf("row %d: label %q is read as %d", i, cell, got.labels[i])
			}
			if y := got.labels[i]; y < -1 || y > 2 {
				t.Fatalf("row %d: label %q is read as %d", i, cell, y)
			}
		}
	})
}
