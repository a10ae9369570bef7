package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// slow is an object that encoding/json writes by itself.
type slow object

func (o slow) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range o {
		k, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		v, err := marshal(f.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, k...), ':'), v...)
	}
	return append(b, '}'), nil
}

// TestAppendJSON: objects have the bytes that encoding/json gives them.
func TestAppendJSON(t *testing.T) {
	var none []object
	values := object{{"plain", "text"}, {"<a>&", "<b>&"}, {"ü\u2028", "\"\\\n\x7f\u2029\xff"}, {"", ""}, {"null", nil}, {"none", none}, {"empty", []object{}}, {"nil object", object(nil)},
		{"int", -3}, {"big", int64(math.MaxInt64)}, {"bool", true}, {"value", number(0.1)}, {"tiny", number(1e-300)}, {"nan", number(math.NaN())}, {"inf", number(math.Inf(-1))}, {"list", []string{"<", "b"}}}
	nested := object{{"in", values}, {"all", []object{values, {{"x", values}}}}}
	for _, o := range []object{values, nested} {
		got, err := o.MarshalJSON()
		want, werr := marshal(slow(o))
		if err != nil || werr != nil || !bytes.Equal(got, want) || !json.Valid(got) {
			t.Errorf("%v, %v: %s\nnot\n%s", err, werr, got, want)
		}
	}
}

// TestWriteJSON: what is written in parts is what encoding/json indents.
func TestWriteJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var value func(depth int) any
	var list func(depth int) object
	texts := []string{"", "plain", "\"q\\", "{[,:]}", "\\", "a\nb", "<ü>"}
	list = func(depth int) object {
		o := object{}
		for range r.IntN(5) {
			o = append(o, field{texts[r.IntN(len(texts))] + strconv.Itoa(len(o)), value(depth - 1)})
		}
		return o
	}
	value = func(depth int) any {
		if depth > 0 {
			switch r.IntN(3) {
			case 0:
				return list(depth)
			case 1:
				l := make([]object, r.IntN(4))
				for i := range l {
					l[i] = list(depth)
				}
				return l
			}
		}
		switch r.IntN(5) {
		case 0:
			return number(math.Float64frombits(r.Uint64()))
		case 1:
			return r.IntN(100)
		case 2:
			return []string{}
		case 3:
			return nil
		}
		return texts[r.IntN(len(texts))]
	}
	for range 300 {
		o := list(5)
		compact, err := marshal(slow(o))
		var want, got bytes.Buffer
		if err == nil {
			err = json.Indent(&want, compact, "", "  ")
		}
		want.WriteByte('\n')
		if werr := writeJSON(&got, o); werr != nil || err != nil || got.String() != want.String() {
			t.Fatalf("%v, %v: %s\nnot\n%s", werr, err, got.String(), want.String())
		}
	}
	// Objects that are made as they are written are those of a list, over the ends of parts too.
	const n = 5000
	l := make([]object, n)
	for i := range l {
		l[i] = object{{"i", i}, {"text", strings.Repeat("\\\"x", i%40)}, {"v", number(1 / float64(i))}}
	}
	var want, got bytes.Buffer
	made := 0
	if err := errors.Join(writeJSON(&want, object{{"l", l}, {"end", 1}}),
		writeJSON(&got, object{{"l", many{n, func(i int) object { made++; return l[i] }}}, {"end", 1}})); err != nil || got.String() != want.String() || made != n || got.Len() < 4*together {
		t.Fatalf("%v: %d bytes and %d, %d made", err, got.Len(), want.Len(), made)
	}
	if b, err := appendJSON(nil, many{n, func(i int) object { return l[i] }}); err != nil || !bytes.Equal(b, func() []byte { b, _ := appendJSON(nil, l); return b }()) {
		t.Error("many has other bytes than its list")
	}
	short := errors.New("no room")
	if err := writeJSON(noRoom{short}, object{{"l", l}}); !errors.Is(err, short) {
		t.Errorf("the error of a writer is %v", err)
	}
}

type noRoom struct{ err error }

func (f noRoom) Write([]byte) (int, error) { return 0, f.err }

// Numbers are written as by encoding/json.
func TestNumberJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for i := range 20000 {
		f := math.Float64frombits(r.Uint64())
		if i%2 == 0 {
			f = math.Ldexp(r.Float64(), r.IntN(160)-80)
		}
		if f-f != 0 {
			continue
		}
		want, err := json.Marshal(f)
		if got := number(f).append(nil); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s, not %s", got, want)
		}
	}
	if got := string(number(math.Copysign(0, -1)).append(nil)); got != "0" {
		t.Errorf("-0 is %s", got)
	}
}
