package report

import (
	"bytes"
	"encoding/json"
	"math"
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
