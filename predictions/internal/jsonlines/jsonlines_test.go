package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// cell returns the i-th cell of a vector as encoding/json has it, and NaN and infinities as texts.
func cell(t *columns.Type, v *columns.Vector, i int) any {
	if v.Null != nil && v.Null[i] {
		return nil
	}
	switch t.Kind {
	case columns.Float64:
		if x := v.Float64[i]; math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Sprint(x)
		}
		return v.Float64[i]
	case columns.Int64:
		return integer(v.Int64[i])
	case columns.Bool:
		return v.Bool[i]
	case columns.Text:
		return string(v.Text(i))
	case columns.List:
		out := []any{}
		for j := v.Offsets[i]; j < v.Offsets[i+1]; j++ {
			out = append(out, cell(t.Elem, v.Elem, j))
		}
		return out
	case columns.Map:
		out := map[string]any{}
		for j := v.Offsets[i]; j < v.Offsets[i+1]; j++ {
			out[string(v.Keys.Text(j))] = cell(t.Elem, v.Elem, j)
		}
		return out
	case columns.Struct:
		out := map[string]any{}
		for j := range t.Fields {
			out[t.Fields[j].Name] = cell(&t.Fields[j].Type, &v.Fields[j], i)
		}
		return out
	}
	return "other"
}

// integer returns a number as cell does: as encoding/json, unless that rounded it.
func integer(v int64) any {
	if v < -1<<53 || v > 1<<53 {
		return v
	}
	return float64(v)
}

// checked fails if a vector has not so many cells.
func checked(t *columns.Type, v *columns.Vector, n int) error {
	var got int
	switch t.Kind {
	case columns.Float64:
		got = len(v.Float64)
	case columns.Int64:
		got = len(v.Int64)
	case columns.Bool:
		got = len(v.Bool)
	case columns.Text:
		got = len(v.Ends)
	case columns.List, columns.Map:
		if got = len(v.Offsets) - 1; got != n {
			break
		}
		if err := checked(t.Elem, v.Elem, v.Offsets[n]); err != nil {
			return err
		}
		if t.Kind == columns.Map && len(v.Keys.Codes) != v.Offsets[n] {
			return fmt.Errorf("%d keys of %d", len(v.Keys.Codes), v.Offsets[n])
		}
	case columns.Struct:
		got = n
		for i := range t.Fields {
			if err := checked(&t.Fields[i].Type, &v.Fields[i], n); err != nil {
				return err
			}
		}
	default:
		got = n
	}
	if got != n || v.Null != nil && len(v.Null) != n {
		return fmt.Errorf("%v: %d cells and %d nulls, want %d", t.Kind, got, len(v.Null), n)
	}
	return nil
}

// opened opens a file and wants columns by path.
func opened(r io.Reader, bytes int64, paths ...string) (*File, []int, error) {
	f, err := Open(r)
	if err != nil {
		return nil, nil, err
	}
	var want []int
	for _, p := range paths {
		i, ok := f.Path(p)
		if !ok {
			return nil, nil, fmt.Errorf("no column %s", p)
		}
		want = append(want, i)
	}
	return f, want, f.Want(columns.Want{Columns: want, Bytes: bytes})
}

// rest reads a part.
func rest(f *File, want []int, p columns.Part, most int) (rows [][]any, err error) {
	b := columns.Block{Most: most}
	for err = p.Next(&b); err == nil; err = p.Next(&b) {
		if b.Rows == 0 || b.Rows > max(most, 1) || len(b.Columns) != len(want) {
			return rows, fmt.Errorf("%d rows of %d columns", b.Rows, len(b.Columns))
		}
		from := len(rows)
		rows = append(rows, make([][]any, b.Rows)...)
		for c, i := range want {
			t := &f.columns[i].Type
			if err := checked(t, &b.Columns[c], b.Rows); err != nil {
				return rows, err
			}
			for r := range b.Rows {
				rows[from+r] = append(rows[from+r], cell(t, &b.Columns[c], r))
			}
		}
	}
	if again := p.Next(&b); again != err {
		return rows, fmt.Errorf("%v, and then %v", err, again)
	}
	if err == io.EOF {
		err = nil
	}
	return rows, errors.Join(err, p.Close())
}

// all reads the columns of a file.
func all(r io.Reader, most int, memory int64, paths ...string) (rows [][]any, err error) {
	f, want, err := opened(r, memory, paths...)
	for err == nil {
		var p columns.Part
		if p, err = f.Next(); err == nil {
			var more [][]any
			more, err = rest(f, want, p, most)
			rows = append(rows, more...)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return rows, err
}

// show writes rows as JSON.
func show(rows [][]any) string {
	var b strings.Builder
	for _, r := range rows {
		j, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		b.Write(j)
	}
	return b.String()
}

func TestTypes(t *testing.T) {
	const text = `{"f": 0.5, "i": 1, "t": "a", "b": true, "l": [1, 2], "r": [1, 2], "e": [], "ll": [[1], []], "lt": ["a", null], "m": {"cat": 0.25, "dog": 1},
"p": [{"label": "x", "score": 0.75}, {"score": 1, "label": "y"}], "s": {"a": "x", "n": 3, "d": {"x": 1}}, "n": null, "mix": 1, "big": 9223372036854775808, "q": [{"label": "x"}]}
{"f": 1, "i": -2, "t": null, "b": false, "l": [3, 4], "r": [3], "e": [], "ll": [], "lt": [], "m": {}, "p": [], "s": {"new": 3}, "n": null, "mix": "1", "big": 1, "q": [], "late": 1}
`
	lines := strings.ReplaceAll(text, ",\n", ", ")
	f, err := Open(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var show func(c *columns.Type) string
	show = func(c *columns.Type) string {
		s := c.Kind.String()
		if c.Width > 0 {
			s += fmt.Sprint(c.Width)
		}
		if c.Elem != nil {
			s += "(" + show(c.Elem) + ")"
		}
		for _, f := range c.Fields {
			s += " " + f.Name + ":" + show(&f.Type)
		}
		return s
	}
	for _, c := range f.Columns() {
		got = append(got, c.Name+"="+show(&c.Type))
	}
	want := []string{"f=float64", "i=int64", "t=text", "b=bool", "l=list2(float64)", "r=list(float64)", "e=list(float64)", "ll=list(list(float64))", "lt=list(text)",
		"m=map(float64)", "p=map(float64)", "s=struct a:text n:int64 d:map(float64) new:int64", "n=other", "mix=other", "big=float64",
		"q=list(struct label:text)", "late=int64"}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if f.Rows() != -1 {
		t.Error(f.Rows())
	}
	for _, path := range []string{"s.d.x", "m.dog", "s", "s.n"} {
		if i, ok := f.Path(path); !ok || f.Columns()[i].Name != path {
			t.Error(path, i, ok)
		}
	}
	if i, ok := f.Path("s.d.x"); !ok || i != len(want) || f.Columns()[i].Kind != columns.Int64 {
		t.Error("a path twice", i, ok)
	}
	for _, path := range []string{"", ".", "s.", ".s", "s.x", "f.x", "l.0", "s.d.x.y"} {
		if _, ok := f.Path(path); ok {
			t.Error(path)
		}
	}
	for _, name := range []string{"n", "mix"} {
		i, _ := f.Path(name)
		var fault *columns.Fault
		if err := f.Want(columns.Want{Columns: []int{i}}); !errors.As(err, &fault) || fault.Column != name || fault.Row != -1 {
			t.Error(name, err)
		}
	}
	if f.Want(columns.Want{Columns: []int{99}}) == nil || f.Want(columns.Want{Columns: []int{-1}}) == nil {
		t.Error("a column that is not there")
	}
}

func TestRead(t *testing.T) {
	const bom = "\ufeff"
	for name, c := range map[string]struct{ text, paths, want string }{
		"numbers":            {`{"a": 0.5}` + "\n" + `{"a": -1E2}` + "\n" + `{"a":1e-3}`, "a", `[0.5][-100][0.001]`},
		"python's tokens":    {`{"a": NaN}` + "\n" + `{"a": Infinity}` + "\n" + `{"a":-Infinity}` + "\n", "a", `["NaN"]["+Inf"]["-Inf"]`},
		"integers":           {`{"a": 1}` + "\n" + `{"a": 9223372036854775807}` + "\n" + `{"a": -9223372036854775808}` + "\n", "a", `[1][9223372036854775807][-9223372036854775808]`},
		"missing":            {`{"a": 1, "b": [1], "c": "x"}` + "\n{}\n" + `{"a": null, "b": null, "c": null}` + "\n" + `{"c": "y", "b": [null, 2]}`, "a b c", `[1,[1],"x"][null,null,null][null,null,null][null,[null,2],"y"]`},
		"order":              {`{"a": 1, "b": 2}` + "\n" + `{"b": 4, "new": 3, "a": 3}` + "\n" + `{"new": 5, "b": 6, "a": 5}`, "b a", `[2,1][4,3][6,5]`},
		"blank lines, CRLF":  {"\n\r\n  " + `{"a": 1}` + "\r\n\r\n \t\n" + ` {"a":2} ` + "\n\n", "a", `[1][2]`},
		"BOM":                {bom + `{"a": 1}` + "\n", "a", `[1]`},
		"white space":        {"{ \"a\"\t:  [ 1 ,\r2 , 3 ] , \"b\" :{ \"x\" : 1 } }", "a b", `[[1,2,3],{"x":1}]`},
		"escapes":            {`{"t": "\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00é"}`, "t", `["\"\\/\b\f\n\r\tAé😀é"]`},
		"escaped keys":       {`{"\u0061": 1, "b\"": 2}` + "\n" + `{"a": 3, "b\u0022": 4}` + "\n" + `{"\u0061": 5}`, "a b\"", `[1,2][3,4][5,null]`},
		"paths":              {`{"t": {"idx": 1, "x": "a", "u": {"v": [1]}}}` + "\n" + `{"t": null}` + "\n" + `{"t": {}}` + "\n" + `{"t": {"u": null, "idx": 4}}`, "t.idx t.u.v t.x t.idx", `[1,[1],"a",1][null,null,null,null][null,null,null,null][4,null,null,4]`},
		"a path and a whole": {`{"t": {"idx": 1, "x": "a"}}` + "\n" + `{"t": {"idx": 2}}` + "\n" + `{"t": null}`, "t t.idx", `[{"idx":1,"x":"a"},1][{"idx":2,"x":null},2][null,null]`},
		"dots in keys":       {`{"a.b": 1, "a": {"b": 2, "c.d": {"e": 3}}}`, "a.b a.c.d.e", `[1,3]`},
		"map":                {`{"m": {"cat": 0.25, "dog": 0.75}}` + "\n" + `{"m": {"dog": 1, "owl": 0, "cat": null}}` + "\n" + `{"m": {}}` + "\n" + `{"m": null}`, "m", `[{"cat":0.25,"dog":0.75}][{"cat":null,"dog":1,"owl":0}][{}][null]`},
		"pairs": {`{"s": [{"label": "a", "score": 0.25}, {"label": "b", "score": 0.75}]}` + "\n" + `{"s": [{"score": 1, "label": "c"}, {"label": "\u0062", "score": null}]}` + "\n" + `{"s": []}` + "\n" + `{"s": null}`,
			"s", `[{"a":0.25,"b":0.75}][{"b":null,"c":1}][{}][null]`},
		"structs":         {`{"l": [{"a": "x", "m": [1, "y"]}, null, {}]}` + "\n" + `{"l": []}`, "l", `[[{"a":"x","m":["other","other"]},null,{"a":null,"m":null}]][[]]`},
		"whole file":      {bom + " [ \n" + `{"a": 1, "t": "]}\"[\\"} ,` + "\n\n" + `{"a"` + "\n:\n" + `2},{"a":3}` + "\n ] \r\n\n", "a t", `[1,"]}\"[\\"][2,null][3,null]`},
		"an empty array":  {" [ ] ", "", ""},
		"an empty file":   {"", "", ""},
		"only lines":      {"\n\n \n", "", ""},
		"a BOM":           {bom, "", ""},
		"skipped":         {`{"x": [{"y": "\u12ab}", "z": [[], {}, -0.5e+10, null, true, false, NaN, -Infinity, Infinity]}], "a": 1}`, "a", `[1]`},
		"invalid, unread": {`{"x": "` + "\xff" + `\ud800", "a": 1}`, "a", `[1]`},
		"nothing":         {`{"a": 1}` + "\n" + `{"a": 1}`, "", `[][]`},
	} {
		want := strings.ReplaceAll(c.want, "[]", "null")
		if c.paths != "" {
			want = c.want
		}
		var plain string
		for _, most := range []int{1, 2, 1000, 0} {
			for _, slow := range []bool{false, true} {
				var r io.Reader = strings.NewReader(c.text)
				if slow {
					r = iotest.OneByteReader(r)
				}
				rows, err := all(r, most, 0, strings.Fields(c.paths)...)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				plain = show(rows)
				if plain != want && !sameJSON(plain, want) {
					t.Errorf("%s: %s, want %s", name, plain, want)
				}
			}
		}
	}
}

// sameJSON reports whether two runs of JSON values are equal.
func sameJSON(a, b string) bool {
	x, y := json.NewDecoder(strings.NewReader(a)), json.NewDecoder(strings.NewReader(b))
	x.UseNumber()
	y.UseNumber()
	for {
		var v, w any
		e, f := x.Decode(&v), y.Decode(&w)
		if e != nil || f != nil {
			return e == io.EOF && f == io.EOF
		}
		if fmt.Sprint(v) != fmt.Sprint(w) {
			return false
		}
	}
}

// What is wrong with a file, and where.
func TestFaults(t *testing.T) {
	first := `{"i": 1, "f": 0.5, "t": "x", "l": [0.5], "m": {"a": 1}, "p": [{"label": "a", "score": 1}], "s": {"x": "y"}, "b": true}` + "\n"
	deep := strings.Repeat("[", 250)
	for _, c := range []struct {
		line, column, value, reason string
	}{
		{`{"i": 1.5}`, "i", "1.5", "1.5 is not an integer"},
		{`{"i": NaN}`, "i", "NaN", "NaN is not an integer"},
		{`{"i": 9223372036854775808}`, "i", "9223372036854775808", "beyond the range of int64"},
		{`{"i": -9223372036854775809}`, "i", "-9223372036854775809", "beyond the range of int64"},
		{`{"i": 99999999999999999999999}`, "i", "99999999999999999999999", "beyond the range of int64"},
		{`{"i": 1e30}`, "i", "1e30", "not an integer"},
		{`{"i": "3"}`, "i", `"3"`, `"3" is a text, not an integer as in the first rows`},
		{`{"f": "high"}`, "f", `"high"`, `"high" is a text, not a number as in the first rows`},
		{`{"f": 1e999}`, "f", "1e999", "1e999 is beyond the range of float64"},
		{`{"f": true}`, "f", "true", "true is a boolean, not a number"},
		{`{"f": [1]}`, "f", "[1]", "is an array"},
		{`{"t": 3}`, "t", "3", "3 is a number, not a text as in the first rows"},
		{`{"l": 3}`, "l", "3", "3 is a number, not an array of numbers as in the first rows"},
		{`{"l": [1, "2"]}`, "l", `"2"`, "is a text"},
		{`{"l": {"a": 1}}`, "l", `{"a": 1}`, "is an object"},
		{`{"m": [1]}`, "m", "[1]", "is an array"},
		{`{"m": {"a": "x"}}`, "m", `"x"`, "is a text"},
		{`{"m": {"a": 1, "b": 2, "a": 3}}`, "m", "a", `the key "a" comes twice in one row`},
		{`{"p": {"a": 1}}`, "p", `{"a": 1}`, "is an object"},
		{`{"p": [{"label": "a"}]}`, "p", `{"label": "a"}`, `{"label": "a"} lacks its label or its score`},
		{`{"p": [{"score": 1}]}`, "p", `{"score": 1}`, "lacks its label or its score"},
		{`{"p": [{"label": "a", "score": 1}, {"label": "a", "score": 1}]}`, "p", "a", `the label "a" comes twice in one row`},
		{`{"p": [{"label": "a", "label": "b", "score": 1}]}`, "p", "label", `the key "label" comes twice`},
		{`{"p": [{"label": 3, "score": 1}]}`, "p", "3", "3 is a number"},
		{`{"p": [3]}`, "p", "3", "3 is a number"},
		{`{"s": 3}`, "s", "3", "3 is a number, not an object as in the first rows"},
		{`{"s": {"x": 3}}`, "s.x", "3", "3 is a number"},
		{`{"s": {"x": "a", "x": "b"}}`, "s.x", "x", `the key "x" comes twice`},
		{`{"b": 1}`, "b", "1", "1 is a number"},
		{`{"i": 1, "i": 2}`, "i", "i", `the key "i" comes twice in one row`},
		{`{"z": 1, "z": 2}`, "z", "z", `the key "z" comes twice in one row`},
		{"{\"t\": \"\xff\"}", "t", "\"\ufffd\"", "not valid UTF-8"},
		{`{"t": "\ud800"}`, "t", `"\ud800"`, "not valid UTF-8"},
		{`{"t": "\ude00\ud83d"}`, "t", `"\ude00\ud83d"`, "not valid UTF-8"},
		{"{\"new\xff\": 1}", "", "\"new\ufffd\"", "the key \"new\ufffd\" is not valid UTF-8"},
		{"{\"t\": \"a\tb\"}", "t", "", "control character '\\t'"},
		{"{\"z\": \"a\x00b\"}", "z", "", "control character '\\x00'"},
		{`{"t": "\x"}`, "t", `\x`, "not a JSON escape"},
		{`{"z": "\u12g4"}`, "z", `\u12g4`, "not a JSON escape"},
		{`{"i": 1`, "i", "", "the line ends where a comma or '}' is expected"},
		{`{"t": "abc`, "t", "", "the line ends where a closing quote is expected"},
		{`{"l": [1,`, "l", "", "the line ends"},
		{`{`, "", "", "the line ends where a key"},
		{`{"i"`, "i", "", "the line ends where a colon"},
		{`{"i": 1,}`, "i", "}", `"}" stands where a key in quotes is expected`},
		{`{"i": 1 "f": 2}`, "i", `"f"`, "stands where a comma"},
		{`{"l": [1 2]}`, "l", "2", "stands where a comma"},
		{`{"l": [1,]}`, "l", "]", "stands where a number is expected"},
		{`{"l": [,1]}`, "l", ",", "stands where a number is expected"},
		{`{"z": [1,]}`, "z", "]", "stands where a value is expected"},
		{`{"z": [}`, "z", "}", "stands where a value is expected"},
		{`{"z": [1}`, "z", "}", "stands where a comma"},
		{`{"z": {"a": 1]}`, "z", "]", "stands where a comma"},
		{`{"z": {"a" 1}}`, "z", "1", "stands where a colon"},
		{`{"z": {a: 1}}`, "z", "a", "stands where a key"},
		{`{"z": tru}`, "z", "tru", "stands where a value"},
		{`{"z": nul}`, "z", "nul", "stands where a value"},
		{`{"z": truee}`, "z", "e", "stands where a comma"},
		{`{"z": 01}`, "z", "01", "stands where a number"},
		{`{"z": 1.}`, "z", "1.", "stands where a number"},
		{`{"z": 1e}`, "z", "e", "stands where the end of a number"},
		{`{"z": -}`, "z", "-", "stands where a number"},
		{`{"f": 01}`, "f", "01", "stands where a number"},
		{`{"f": +1}`, "f", "+1", "stands where a number"},
		{`{"f": .5}`, "f", ".5", "stands where a number"},
		{`{"f": 5.}`, "f", "5.", "stands where a number"},
		{`{"f": 5.e3}`, "f", "5.e3", "stands where a number"},
		{`{"f": 1e+}`, "f", "e+", "stands where the end of a number"},
		{`{"f": 0x10}`, "f", "x10", "stands where a comma"},
		{`{"f": nan}`, "f", "nan", "stands where"},
		{`{"i": 00}`, "i", "00", "stands where a number"},
		{`{'i': 1}`, "", "'i'", "\"'i'\" stands where a key"},
		{`{"z": None}`, "z", "None", "\"None\" stands where"},
		{`{"i": 1} {"i": 2}`, "", `{"i"`, "stands where the end of the line"},
		{`{"i": 1}x`, "", "x", "stands where the end of the line"},
		{`[1]`, "", "[1", "stands where a row"},
		{`x`, "", "x", "stands where a row"},
		{`{"z": ` + deep, "z", "", "nested more than 200 deep"},
		{`{"l": ` + deep, "l", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…", ""},
		{"{\"i\":\n1}", "i", "", "the line ends where"},
	} {
		text := strings.Repeat(first, 110) + "\n" + first + c.line + "\n" + first
		_, err := all(strings.NewReader(text), 50, 0, "i", "f", "t", "l", "m", "p", "s", "b")
		var f *columns.Fault
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		if c.reason == "" { // the type or the depth, whatever comes first
			continue
		}
		if f.Row != 111 || f.Line != 112 || f.Column != c.column || f.Value != c.value || !strings.Contains(f.Reason, c.reason) || f.Remedy == "" {
			t.Errorf("%s: row %d, line %d, column %q, value %q: %v", c.line, f.Row, f.Line, f.Column, f.Value, err)
		}
		// In the first rows, what is no JSON is an error of Open.
		if _, err := Open(strings.NewReader(first + c.line + "\n" + first)); json.Valid([]byte(strings.Replace(c.line, "NaN", "1", 1))) && err == nil {
			continue
		} else if !errors.As(err, &f) || f.Row != 1 || f.Line != 1 {
			t.Errorf("%s: Open: %v", c.line, err)
		}
	}
}

// Errors about a whole file.
func TestNotJSONLines(t *testing.T) {
	object := `{"a": 1}`
	for text, want := range map[string]string{
		"\xff\xfe{\x00":                      "it is written in UTF-16; iconv -f UTF-16 -t UTF-8 FILE converts it",
		"\xfe\xff\x00{":                      "it is written in UTF-16",
		"{\x00\"\x00":                        "it is written in UTF-16",
		"a,b\n1,2\n":                         `it is not JSON Lines: it begins with "a,b"`,
		"PAR1\x15\xff":                       "it is not JSON Lines",
		"[[1, 2], [3, 4]]":                   "its rows are not objects",
		"[1, 2]\n[3, 4]\n":                   "its rows are not objects",
		"[" + object + "]\n[" + object + "]": "on line 2, more follows the end of the array",
		"[" + object + "]\x00":               "on line 1, more follows the end of the array",
		"[" + object + "," + object:          "the array of rows is not closed",
		"[":                                  "the array of rows is not closed",
		"[" + object:                         "the array of rows is not closed",
		"[" + object + ", ":                  "the text ends where a row",
		"[" + object + ", {":                 "the text ends where a key",
		"[" + object + ",]":                  "the text ends where a row",
		"[" + object + " " + object + "]":    "stands where a comma between two rows",
		"[" + object + ", 3]":                `"3" stands where a row`,
		"[" + object + "}, " + object + "]":  `"}" stands where a comma`,
		"[," + object + "]":                  "its rows are not objects",
		"{\n  \"a\": 1\n}\n":                 "the line ends where a key in quotes is expected; write each object on one line",
		object + "\n{\"a\": ":                "is the file truncated?",
		"{'a': 1}":                           "json.dumps",
		"\x00\x00":                           "it is not JSON Lines",
	} {
		if _, err := all(strings.NewReader(text), 10, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	failed := errors.New("failed")
	for _, text := range []string{"", object + "\n", "[" + object, "[" + object + "]"} {
		if _, err := all(io.MultiReader(strings.NewReader(text), iotest.ErrReader(failed)), 10, 0); !errors.Is(err, failed) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := all(stuck{}, 10, 0); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// Parts are read at the same time, and in any order.
func TestParts(t *testing.T) {
	const rows = 30_000
	var b bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&b, `{"id": "row-%d", "probs": [%d, 0.5, %g], "m": {"k%d": %d}}`+"\n", i, i, float64(i)/7, i%1000, i)
		if i%1000 == 0 {
			b.WriteString("\r\n")
		}
	}
	lines := b.Bytes()
	whole := slices.Concat([]byte("["), bytes.ReplaceAll(bytes.TrimSpace(lines), []byte("}}\n"), []byte("}},\n")), []byte("]"))
	for name, text := range map[string][]byte{"lines": lines, "array": whole} {
		for _, memory := range []int64{0, 1 << 20} {
			f, want, err := opened(bytes.NewReader(text), memory, "id", "probs", "m")
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var group sync.WaitGroup
			parts := map[int][][]any{}
			at := map[int]int64{}
			for n := 0; ; n++ {
				p, err := f.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				at[n] = p.(*Part).Line()
				group.Go(func() {
					rows, err := rest(f, want, p, 777)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					parts[n] = rows
				})
				if n%3 == 2 {
					group.Wait()
				}
			}
			group.Wait()
			if len(parts) < 2 {
				t.Errorf("%s: %d parts", name, len(parts))
			}
			i := 0
			for n := range len(parts) {
				if name == "lines" {
					if want := int64(i + (i+999)/1000); at[n] != want && at[n] != want-1 {
						t.Errorf("part %d begins on line %d, want %d", n, at[n], want)
					}
				}
				for _, r := range parts[n] {
					want := []any{fmt.Sprint("row-", i), []any{float64(i), 0.5, float64(i) / 7}, map[string]any{fmt.Sprint("k", i%1000): float64(i)}}
					if fmt.Sprint(r) != fmt.Sprint(want) {
						t.Fatalf("%s: %v, want %v", name, r, want)
					}
					i++
				}
			}
			if i != rows {
				t.Errorf("%s: %d rows", name, i)
			}
		}
	}
}

// Memory follows the length of a text, however it is nested.
func TestMemory(t *testing.T) {
	var wide strings.Builder
	fmt.Fprintf(&wide, `{"%s": {"b": {}`, strings.Repeat("k", 300<<10))
	for i := range 30_000 {
		fmt.Fprintf(&wide, `, "a%d": {}`, i)
	}
	wide.WriteString("}}")
	deep := strings.Repeat(`{"`+strings.Repeat("k", 4000)+`": `, 199) + "{}" + strings.Repeat("}", 199)
	lists := `{"a": ` + strings.Repeat("[", 199) + strings.Repeat("[],", 200_000) + "[" + strings.Repeat("]", 200) + "}"
	for _, text := range []string{wide.String(), deep, lists, strings.Repeat("{}\n", 300_000), strings.Repeat(`{"a": [[],[],[],[],[],[],[]]}`+"\n", 30_000)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := readable(t, []byte(text)); err != nil && !strings.Contains(err.Error(), "200 deep") && !strings.Contains(err.Error(), "needs at least") {
			t.Error(err)
		}
		runtime.ReadMemStats(&after)
		if n := int(after.TotalAlloc - before.TotalAlloc); n > 100*len(text) {
			t.Errorf("%d bytes allocated for %d", n, len(text))
		}
	}
}

// Long rows are read within the memory allowed, and others refused.
func TestLongLines(t *testing.T) {
	row := func(n int) string { return `{"l": [` + strings.Repeat("1,", n/2) + `1]}` + "\n" }
	read := func(memory int64, text string) error {
		_, err := all(strings.NewReader(text), 10, memory, "l")
		return err
	}
	if err := read(0, row(5<<20)+row(100)+row(3<<20)); err != nil {
		t.Error(err)
	}
	if err := read(0, "["+strings.TrimSpace(row(5<<20))+","+row(100)+"]"); err != nil {
		t.Error(err)
	}
	short := strings.Repeat(row(100), 20_000)
	if err := read(4<<20, short+row(3<<20)); err == nil || !strings.Contains(err.Error(), "is longer than 1024 KiB, and needs at least 4096 KiB") {
		t.Error(err)
	}
	for _, text := range []string{short + row(33<<20), row(33 << 20)} {
		if err := read(0, text); err == nil || !strings.Contains(err.Error(), "is longer than 32 MiB") {
			t.Error(err)
		}
	}
	// Many wanted columns.
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, `%c"%d": {"a": 1}`, "{,"[min(i, 1)], i)
	}
	f, err := Open(strings.NewReader(b.String() + "}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var want []int
	for i := range f.Columns() {
		want = append(want, i)
	}
	if err := f.Want(columns.Want{Columns: want, Bytes: 1 << 20}); err == nil || !strings.Contains(err.Error(), "reading 2000 columns needs at least 7 MiB of memory") {
		t.Error(err)
	}
	if err := f.Want(columns.Want{Columns: want, Bytes: 8 << 20}); err != nil {
		t.Error(err)
	}
	b.Reset()
	// Very many columns.
	for i := range 400_000 {
		fmt.Fprintf(&b, `%c"%d": 1`, "{,"[min(i, 1)], i)
	}
	if err := read(0, b.String()+"}\n"); err == nil || !strings.Contains(err.Error(), "more than 300000 fields") {
		t.Error(err)
	}
}

// Later rows may have what the first have not.
func TestLater(t *testing.T) {
	text := strings.Repeat(`{"i": 1, "p": [{"label": "a", "score": 1}], "m": {"x": 0.5}}`+"\n", 150) +
		`{"new": [{"deep": "\u0041"}], "i": 3.0e0, "m": {"y": 1, "x": 2}, "p": [{"id": "z", "score": 0.5, "label": "b"}, {"score": null, "label": "a"}]}` + "\n"
	rows, err := all(strings.NewReader(text), 1000, 0, "i", "p", "m")
	if err != nil || len(rows) != 151 {
		t.Fatal(len(rows), err)
	}
	if got, want := show(rows[150:]), `[3,{"a":null,"b":0.5},{"x":2,"y":1}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFloat(t *testing.T) {
	f, err := Open(strings.NewReader(strings.Repeat(`{"p": 1}`+"\n", 100) + `{"p": 0.5}`))
	if err != nil {
		t.Fatal(err)
	}
	f.Float(0)
	if err := f.Want(columns.Want{Columns: []int{0}}); err != nil {
		t.Fatal(err)
	}
	p, err := f.Next()
	if err != nil {
		t.Fatal(err)
	}
	b := columns.Block{Most: 1000}
	if err := p.Next(&b); err != nil || b.Rows != 101 || b.Columns[0].Float64[100] != 0.5 || f.Columns()[0].Kind != columns.Float64 {
		t.Error(err, b.Rows)
	}
	for range 2 {
		if p.Close() != nil || p.Next(&b) == nil || f.Close() != nil {
			t.Error("closed")
		}
	}
	if _, err := f.Next(); err == nil {
		t.Error("Next of a closed file")
	}
}
