package jsonlines

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// spelled writes a value as Go would, to compare what Value says of it.
func spelled(v Value) string {
	switch v.Kind() {
	case '{':
		var l []string
		for k, m := range v.Members() {
			l = append(l, fmt.Sprintf("%q:%s", k, spelled(m)))
		}
		return "{" + strings.Join(l, " ") + "}"
	case '[':
		var l []string
		for i, e := range v.Elements() {
			l = append(l, fmt.Sprintf("%d=%s", i, spelled(e)))
		}
		return "[" + strings.Join(l, " ") + "]"
	case '"':
		s, _ := v.Text()
		return fmt.Sprintf("%q", s)
	case 0:
		x, ok := v.Number()
		return fmt.Sprint(x, ok)
	case -1:
		return "nothing"
	}
	return string(v.Raw())
}

func TestRows(t *testing.T) {
	for _, of := range []struct{ text, want string }{
		{"{\"a\": [1, -2.5e3, NaN, -Infinity, 1e999]}\n\n {\"b\" : {\"c\\n\": \"\\u00fc\\\"\"} , \"d\": null}", `0 {"a":[0=1 true 1=-2500 true 2=NaN true 3=-Inf true 4=0 false]} 2 {"b":{"c\n":"ü\""} "d":null}`},
		{"[\n{\"a\": true},\r\n {\"a\": []}\n]\n", `1 {"a":true} 2 {"a":[]}`},
		{"[]", ""},
		{"", ""},
	} {
		r, err := NewRows(strings.NewReader(of.text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			v, line, err := r.Next()
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(of.text, err)
			}
			got = append(got, fmt.Sprint(line), spelled(v))
		}
		if s := strings.Join(got, " "); s != of.want {
			t.Errorf("%q: %s, want %s", of.text, s, of.want)
		}
	}
}

// TestRowsMany reads rows of several parts, and compares their lines with their contents.
func TestRowsMany(t *testing.T) {
	const rows = 40_000
	for _, array := range []bool{false, true} {
		var b strings.Builder
		for i := range rows {
			if array {
				b.WriteString([]string{"[", ","}[min(i, 1)])
			}
			fmt.Fprintf(&b, "{\"i\": %d, \"filler\": %q}\n", i, strings.Repeat("ab\"c", i%40))
		}
		if array {
			b.WriteString("]")
		}
		r, err := NewRows(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			v, line, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			n, _ := v.Field("i")
			if x, ok := n.Number(); !ok || x != float64(i) || line != int64(i) {
				t.Fatalf("row %d: %v on line %d", i, x, line)
			}
			if _, ok := v.Field("other"); ok {
				t.Fatal("there is no such field")
			}
		}
		if _, _, err := r.Next(); err != io.EOF {
			t.Fatal(err)
		}
	}
}

func TestRowsErrors(t *testing.T) {
	for _, of := range []struct {
		text, want string
		line       int64
	}{
		{"{\"a\": 1}\n\n{\"a\": }\n", "stands where a value is expected", 2},
		{"{\"a\": 1}\n{\"a\": \"x", "line ends where a closing quote is expected", 1},
		{"[{\"a\": 1},\n{\"a\": 2}", "the array of rows is not closed", 1},
		{"{\"a\": 1} {}", "where the end of the line is expected", 0},
		{"{\"a\": " + strings.Repeat("[", 300), "nested more than", 0},
	} {
		r, err := NewRows(strings.NewReader(of.text))
		for err == nil {
			_, _, err = r.Next()
		}
		var f *columns.Fault
		if !errors.As(err, &f) || !strings.Contains(f.Reason, of.want) || f.Line != of.line {
			t.Errorf("%q: %v", of.text, err)
		}
	}
	if _, err := NewRows(strings.NewReader("a,b\n1,2\n")); err == nil {
		t.Error("no error of a table")
	}
}

func TestParse(t *testing.T) {
	v, err := Parse([]byte(" {\n \"a\": {\"b\": [\n1.5, \"x\"]}}\n"))
	if s := spelled(v); err != nil || s != `{"a":{"b":[0=1.5 true 1="x"]}}` {
		t.Error(s, err)
	}
	for _, bad := range []string{"", "{", "{} {}", "[1,]"} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	var zero Value
	if x, ok := zero.Number(); x != 0 || ok || spelled(zero) != "nothing" || zero.Raw() != nil {
		t.Error("the zero value is something")
	}
	if x, ok := must(t, "-Infinity").Number(); !ok || !math.IsInf(x, -1) {
		t.Error(x, ok)
	}
}

func must(t *testing.T, text string) Value {
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
