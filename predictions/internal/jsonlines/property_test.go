package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// A document writes values as JSON with random white space, escapes and forms of numbers.
type document struct {
	*rapid.T
	b bytes.Buffer
}

func (d *document) space() {
	d.b.WriteString(rapid.SampledFrom([]string{"", "", "", " ", " ", "\t", "  \r "}).Draw(d.T, "space"))
}

func (d *document) text(v string) {
	if rapid.Bool().Draw(d.T, "plain") {
		j, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		d.b.Write(j)
		return
	}
	d.b.WriteByte('"')
	for _, r := range v {
		switch {
		case r < ' ' || r == '"' || r == '\\' || rapid.IntRange(0, 5).Draw(d.T, "escape") == 0:
			if r > 0xFFFF {
				r -= 0x10000
				fmt.Fprintf(&d.b, `\u%04x\u%04X`, 0xD800+r>>10, 0xDC00+r&0x3FF)
			} else {
				fmt.Fprintf(&d.b, `\u%04x`, r)
			}
		default:
			d.b.WriteRune(r)
		}
	}
	d.b.WriteByte('"')
}

func (d *document) number() {
	x := rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64Range(-1e307, 1e307), rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.Int32().Draw(t, "i")) })).Draw(d.T, "x")
	form := rapid.SampledFrom([]byte("gefE")).Draw(d.T, "form")
	if math.Abs(x) > 1<<53 {
		form = 'e' // as an integer it would not be rounded
	}
	d.b.WriteString(strconv.FormatFloat(x, form, rapid.SampledFrom([]int{-1, -1, 3, 17, 25}).Draw(d.T, "digits"), 64))
}

func (d *document) list(brackets string, n int, each func(i int)) {
	d.b.WriteByte(brackets[0])
	d.space()
	for i := range n {
		if i > 0 {
			d.b.WriteByte(',')
			d.space()
		}
		each(i)
		d.space()
	}
	d.b.WriteByte(brackets[1])
}

func (d *document) pair(key string, value func()) {
	d.text(key)
	d.space()
	d.b.WriteByte(':')
	d.space()
	value()
}

// value writes a value of a kind, or null, or one of any kind for 0.
func (d *document) value(kind string, depth int) {
	if kind == "any" {
		kinds := []string{"number", "integer", "text", "bool"}
		if depth > 0 {
			kinds = append(kinds, "numbers", "texts", "map", "pairs", "struct", "mixed")
		}
		kind = rapid.SampledFrom(kinds).Draw(d.T, "kind")
	}
	if rapid.IntRange(0, 9).Draw(d.T, "null") == 0 {
		d.b.WriteString("null")
		return
	}
	n := rapid.IntRange(0, 4).Draw(d.T, "n")
	names := rapid.Permutation([]string{"cat", "dog", "é\"", "\\", ""}).Draw(d.T, "names")
	switch kind {
	case "number":
		d.number()
	case "integer":
		d.b.WriteString(strconv.FormatInt(rapid.Int64().Draw(d.T, "i")>>20, 10))
	case "text":
		d.text(rapid.String().Draw(d.T, "text"))
	case "bool":
		d.b.WriteString(strconv.FormatBool(rapid.Bool().Draw(d.T, "bool")))
	case "numbers":
		d.list("[]", n, func(int) { d.value("number", 0) })
	case "texts":
		d.list("[]", n, func(int) { d.value("text", 0) })
	case "mixed":
		d.list("[]", n, func(int) { d.value("any", depth-1) })
	case "map":
		d.list("{}", n, func(i int) { d.pair(names[i], d.number) })
	case "pairs":
		d.list("[]", n, func(i int) {
			members := []func(){
				func() { d.pair("label", func() { d.text(names[i]) }) },
				func() { d.pair("score", d.number) },
			}
			if rapid.Bool().Draw(d.T, "turned") {
				slices.Reverse(members)
			}
			d.list("{}", 2, func(j int) { members[j]() })
		})
	case "struct":
		d.list("{}", n, func(i int) { d.pair(names[i], func() { d.value("any", depth-1) }) })
	}
}

// expected turns what encoding/json read into what cell returns for a type.
func expected(t *columns.Type, v any) any {
	if v == nil {
		return nil
	}
	switch t.Kind {
	case columns.Other:
		return "other"
	case columns.Int64:
		return integer(int64(v.(float64)))
	case columns.List:
		out := []any{}
		for _, e := range v.([]any) {
			out = append(out, expected(t.Elem, e))
		}
		return out
	case columns.Map:
		if pairs, ok := v.([]any); ok {
			out := map[string]any{}
			for _, p := range pairs {
				p := p.(map[string]any)
				out[p["label"].(string)] = p["score"]
			}
			return out
		}
	case columns.Struct:
		out := map[string]any{}
		for _, f := range t.Fields {
			out[f.Name] = expected(&f.Type, v.(map[string]any)[f.Name])
		}
		return out
	}
	return v
}

// Columns and paths of random documents have the values that encoding/json reads.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := map[string]string{}
		for _, name := range []string{"a", "b", "c.d", "é"} {
			kinds[name] = rapid.SampledFrom([]string{"number", "integer", "text", "bool", "numbers", "texts", "map", "pairs", "struct", "mixed", "any"}).Draw(t, name)
		}
		d := &document{T: t}
		var lines []string
		var want []map[string]any
		for range rapid.IntRange(0, 6).Draw(t, "rows") {
			d.b.Reset()
			names := rapid.Permutation(slices.Sorted(maps.Keys(kinds))).Draw(t, "names")
			d.list("{}", rapid.IntRange(0, 4).Draw(t, "fields"), func(i int) { d.pair(names[i], func() { d.value(kinds[names[i]], 2) }) })
			lines = append(lines, d.b.String())
			var v map[string]any
			if err := json.Unmarshal(d.b.Bytes(), &v); err != nil {
				t.Fatalf("%s: %v", d.b.String(), err)
			}
			want = append(want, v)
		}
		text := strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n", "\r\n\r\n"}).Draw(t, "end")
		if rapid.Bool().Draw(t, "array") {
			text = "[" + strings.Join(lines, ",\r\n") + "]"
		}
		f, err := Open(iotest.HalfReader(strings.NewReader(text)))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var paths []string
		var types []columns.Type
		for _, c := range f.Columns() {
			paths, types = append(paths, c.Name), append(types, c.Type)
		}
		for i, c := range types {
			if c.Kind != columns.Struct && c.Kind != columns.Map || c.Name == "array of {label, score}" {
				continue
			}
			for _, name := range []string{"cat", "dog", "é\"", "\\"} {
				if j, ok := f.Path(paths[i] + "." + name); ok {
					paths, types = append(paths, paths[i]+"."+name), append(types, f.Columns()[j].Type)
				}
			}
		}
		var usable []int
		for i := range paths {
			if f.Want(columns.Want{Columns: []int{i}}) == nil {
				usable = append(usable, i)
			}
		}
		if err := f.Want(columns.Want{Columns: usable, Bytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		var rows [][]any
		for {
			p, err := f.Next()
			if err != nil {
				break
			}
			more, err := rest(f, usable, p, rapid.IntRange(1, 4).Draw(t, "most"))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			rows = append(rows, more...)
		}
		if len(rows) != len(want) {
			t.Fatalf("%s: %d rows, want %d", text, len(rows), len(want))
		}
		for r, row := range rows {
			for c, i := range usable {
				v, ok := want[r][paths[i]]
				for name, inner := range want[r] {
					if key, found := strings.CutPrefix(paths[i], name+"."); found && !ok && inner != nil {
						v = inner.(map[string]any)[key]
					}
				}
				if want := expected(&types[i], v); fmt.Sprint(row[c]) != fmt.Sprint(want) {
					t.Fatalf("%s: row %d, %s (%v): %v, want %v", text, r, paths[i], types[i].Kind, row[c], want)
				}
			}
		}
	})
}

const small = `{"id": "r\u00e90", "p": [0.25, 7.5e-1], "m": {"a": 1, "b": null}, "x": {"y": [true, "z\\"]}}
{"id": "é", "p": [NaN, 1], "s": [{"label": "a", "score": 0.5}], "n": -12, "x": null}
{"s": [{"score": 1, "label": "a"}], "n": 3, "b": false, "p": [123456789.123456789, 1]}
`

// readable reads everything of a file, and fails for an error that says nothing.
func readable(t testing.TB, text []byte) (rows [][]any, err error) {
	t.Helper()
	f, err := Open(bytes.NewReader(text))
	if err == nil {
		var want []int
		f.Path("x.y")
		for i := range f.Columns() {
			if f.Want(columns.Want{Columns: []int{i}}) == nil {
				want = append(want, i)
			}
		}
		err = f.Want(columns.Want{Columns: want, Bytes: 1 << 20})
		for err == nil {
			var p columns.Part
			if p, err = f.Next(); err == nil {
				var more [][]any
				more, err = rest(f, want, p, 2)
				rows = append(rows, more...)
			}
		}
		if err == io.EOF {
			return rows, nil
		}
	}
	var fault *columns.Fault
	if !errors.As(err, &fault) || fault.Reason == "" || fault.Remedy == "" || strings.ContainsAny(fault.Error(), "\n\x00") {
		t.Errorf("%q: %#v", text, err)
	}
	return rows, err
}

// Every truncation and every bit flip is an error or a file that encoding/json reads too.
func TestDamage(t *testing.T) {
	whole := "[" + strings.ReplaceAll(strings.TrimSpace(small), "\n", ",\n") + "]\n"
	for _, text := range []string{small, whole} {
		if rows, err := readable(t, []byte(text)); err != nil || len(rows) != 3 {
			t.Fatal(len(rows), err)
		}
		for n := range text {
			_, err := readable(t, []byte(text[:n]))
			lines := text[0] == '{'
			complete := n == 0 || lines && (text[n-1] == '\n' || text[n] == '\n') || !lines && n == len(text)-1
			if (err == nil) != complete {
				t.Errorf("%q: %v", text[:n], err)
			}
		}
		for i := range len(text) * 8 {
			b := []byte(text)
			b[i/8] ^= 1 << (i % 8)
			rows, err := readable(t, b)
			if err != nil {
				continue
			}
			agrees(t, b, len(rows))
		}
	}
}

// agrees fails if encoding/json does not read as many rows.
func agrees(t testing.TB, b []byte, rows int) {
	t.Helper()
	// What encoding/json does not know; texts may have it too, where it does no harm.
	plain := b
	for _, token := range []string{"-Infinity", "Infinity", "NaN"} {
		plain = bytes.ReplaceAll(plain, []byte(token), []byte("1"))
	}
	plain = bytes.TrimPrefix(plain, []byte("\ufeff"))
	if trimmed := bytes.TrimSpace(plain); len(trimmed) > 0 && trimmed[0] == '[' {
		var v []map[string]json.RawMessage
		if err := json.Unmarshal(trimmed, &v); err != nil || len(v) != rows {
			t.Errorf("%q: %d rows, encoding/json has %d: %v", b, rows, len(v), err)
		}
		return
	}
	n := 0
	for line := range bytes.Lines(plain) {
		if len(bytes.Trim(line, " \t\r\n")) == 0 {
			continue
		}
		n++
		var v map[string]json.RawMessage
		if err := json.Unmarshal(line, &v); err != nil || v == nil {
			t.Errorf("%q: line %q: %v", b, line, err)
		}
	}
	if n != rows {
		t.Errorf("%q: %d rows, want %d", b, rows, n)
	}
}

// FuzzRead holds that a text is an error, or one that encoding/json reads too, with little memory.
func FuzzRead(f *testing.F) {
	for _, s := range []string{small, "[" + strings.ReplaceAll(strings.TrimSpace(small), "\n", ", ") + "]", "", "\ufeff{}", "[]", "[{}]", "{}\n\n{}",
		`{"a": {"b": {"c": 1}}}`, `{"a": [[[]]]}`, `{"a": [{"a": [{}]}]}`, strings.Repeat(`{"a":`, 250), "\xff\xfe{\x00", `{"a": "\ud83d\ude00\ud800"}`,
		`{"a": 1e400}`, `{"a": -0.0, "b": -0}`, `{"a": 9223372036854775807}`, `{"a": 1, "a": 2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rows, err := readable(t, b)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20+1000*uint64(len(b)) {
			t.Errorf("%d bytes allocated for a file of %d", n, len(b))
		}
		if err == nil {
			agrees(t, b, len(rows))
		}
	})
}

// Numbers are rounded as by strconv, or are errors where encoding/json has one.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching(`-?[0-9]{0,22}(\.[0-9]{0,22})?([eE][+-]?[0-9]{0,3})?`), rapid.StringMatching(`[-+.0-9eE]{1,8}`)).Draw(t, "number")
		var want float64
		invalid := json.Unmarshal([]byte(s), &want) != nil
		rows, err := all(strings.NewReader(`{"x": 0.5, "y": 1}`+"\n"+`{"x":`+s+`, "y": `+s+`}`), 10, 0, "x")
		if (err != nil) != invalid {
			t.Fatalf("%s: %v", s, err)
		}
		if err == nil && math.Float64bits(rows[1][0].(float64)) != math.Float64bits(want) {
			t.Fatalf("%s is %v, want %v", s, rows[1][0], want)
		}
		// As an integer.
		text := strings.Repeat(`{"x": 1}`+"\n", 100) + `{"x":` + s + `}`
		rows, err = all(strings.NewReader(text), 1000, 0, "x")
		i, whole := strconv.ParseInt(s, 10, 64)
		switch {
		case invalid || want != math.Trunc(want) || want < -1<<63 || want >= 1<<63 && whole != nil:
			if err == nil {
				t.Fatalf("%s is %v", s, rows[100][0])
			}
		case whole == nil:
			if err != nil || rows[100][0] != integer(i) {
				t.Fatalf("%s: %v", s, err)
			}
		case strings.ContainsAny(s, ".eE"):
			if err != nil || rows[100][0] != integer(int64(want)) {
				t.Fatalf("%s: %v", s, err)
			}
		}
	})
}
