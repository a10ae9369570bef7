package recal

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	names := Names()
	if len(names) != len(methods) || len(names) == 0 {
		t.Fatal(names)
	}
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			t.Errorf("two methods are named %s", n)
		}
		m, err := Parse(n)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(m, methods[i].zero) || m.String() != n {
			t.Errorf("%s is read as %#v, %s", n, m, m)
		}
		if !reflect.ValueOf(m).IsZero() {
			t.Errorf("%s: the default is not the zero value", n)
		}
	}
	names[0] = "changed"
	if Names()[0] == "changed" {
		t.Error("the names can be changed")
	}
}

// parseVariants returns a method with each of its options alone, and with all of them, at values that are not the default.
func parseVariants(m Method) []Method {
	v := reflect.ValueOf(m)
	l := []Method{m}
	all := reflect.New(v.Type()).Elem()
	for i := range v.NumField() {
		one := reflect.New(v.Type()).Elem()
		for _, r := range []reflect.Value{one.Field(i), all.Field(i)} {
			switch r.Kind() {
			case reflect.Bool:
				r.SetBool(true)
			case reflect.Int:
				r.SetInt(7)
			case reflect.Uint8:
				r.SetUint(1)
			case reflect.Float64:
				r.SetFloat(0.1)
			case reflect.Slice:
				r.Set(reflect.ValueOf([]float64{0.1, 0.5, 0.9}))
			default:
				panic("an option of a kind that is not known here")
			}
		}
		l = append(l, one.Interface().(Method))
	}
	return append(l, all.Interface().(Method))
}

// TestParseString: what String says of any options Parse reads as the same method, with spaces or without.
func TestParseString(t *testing.T) {
	for _, o := range methods {
		seen := map[string]bool{}
		for _, m := range parseVariants(o.zero) {
			if !mapGoesTogether(m) {
				continue
			}
			s := m.String()
			if name, _, _ := strings.Cut(s, "("); name != o.Name {
				t.Errorf("%#v is %q", m, s)
			}
			if s != o.Name {
				seen[s] = true
			}
			for _, text := range []string{s, " " + s + " ", strings.NewReplacer("(", " ( ", ")", " ) ", ",", " , ", "=", " = ").Replace(s)} {
				got, err := Parse(text)
				if err != nil {
					t.Errorf("%q: %v", text, err)
				} else if !reflect.DeepEqual(got, m) || got.String() != s {
					t.Errorf("%q is read as %#v, which is not %#v", text, got, m)
				}
			}
		}
		if n := reflect.TypeOf(o.zero).NumField(); n > 0 && len(seen) < n {
			t.Errorf("%s: %d options say only %v", o.Name, n, seen)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"", `there is no method ""; there are temperature, ets`},
		{"temperatur", "there is no method"},
		{"Temperature", "there is no method"},
		{"bbq(", "NAME or NAME(OPTION=VALUE,...)"},
		{"bbq)", "there is no method"},
		{"bbq(prune", "NAME or"},
		{"bbq(prune))", "NAME or"},
		{"bbq((prune)", "NAME or"},
		{"bbq(prune)x", "NAME or"},
		{"bbq(,)", "NAME or"},
		{"bbq(prune,)", "NAME or"},
		{"bbq(=true)", "NAME or"},
		{"bbq(prune=)", "NAME or"},
		{"bbq(prune,prune)", "method bbq: option prune is given twice"},
		{"bbq(prune=true,prune=false)", "given twice"},
		{"bbq(prune=yes)", `method bbq: prune is "yes"; it is true or false`},
		{"bbq(pruned)", `method bbq: there is no option "pruned"; there are prune, as_coded, top_label`},
	} {
		m, err := Parse(c[0])
		if err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: %v, %v, want %s", c[0], m, err, c[1])
		}
	}
	for _, s := range []string{"bbq()", "bbq( )", "bbq(prune=false)"} {
		if m, err := Parse(s); err != nil || m != Method(BBQ{}) {
			t.Errorf("%q: %v %v", s, m, err)
		}
	}
}

func TestReadOptions(t *testing.T) {
	for s, want := range map[string]float64{"1": 1, "1e-3": 0.001, "0.5": 0.5, "2": 2, "0": math.NaN(), "2.1": math.NaN(), "NaN": math.NaN(),
		"Inf": math.NaN(), "-1": math.NaN(), "": math.NaN(), "one": math.NaN(), "1,5": math.NaN()} {
		got, err := readNumber("x", s, 0.001, 2)
		if (err == nil) != (want == want) || err == nil && got != want {
			t.Errorf("%q: %v %v, want %v", s, got, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "from 0.001 to 2") {
			t.Errorf("%v", err)
		}
	}
	for s, want := range map[string]int{"1": 1, "10": 10, "0": -1, "11": -1, "1.5": -1, "": -1, "1e1": -1, "99999999999999999999": -1} {
		got, err := readWhole("x", s, 1, 10)
		if (err == nil) != (want > 0) || err == nil && got != want {
			t.Errorf("%q: %v %v, want %v", s, got, err, want)
		}
	}
	if s := spelled("a", "", word("b", true), word("c", false), value("d", 1, 1), value("e", 0.1, 1)); s != "a(b,e=0.1)" {
		t.Error(s)
	}
	if err := noOption("x"); !strings.Contains(err.Error(), "takes none") {
		t.Error(err)
	}
}
