package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
)

// TestTrillion: a state of 10^12 rows is as large as one of its distinct scores, and its means and bins have no rounding: each row
// 3.2 million times gives what each row once gives, to the bit, and to 1e-15 for what comes from the grid. docs/scaling.md says so.
func TestTrillion(t *testing.T) {
	const rows, distinct = 1_000_000_000_000, 312_500 // more than are kept one by one
	d := newDir(t)
	s := newSet(51, distinct, 1)
	state := d.at("0.state")
	once := evaluate(t, d.put("x.npy", npy(t, s.shape(), s.probs)), "--labels", d.put("y.npy", s.labelFile(t)), "--state", state)
	many := new(document)
	for i, copies := range []int{32, 10, 10, 10, 10, 10} {
		next := d.at(fmt.Sprint(i+1, ".state"))
		code, out, errs := candor(t, append([]string{"merge", "--json", "-o", next}, slices.Repeat([]string{state}, copies)...)...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		if err := json.Unmarshal([]byte(out), many); err != nil {
			t.Fatal(err)
		}
		state = next
	}
	if many.Input.Rows != rows {
		t.Fatalf("%d rows", many.Input.Rows)
	}
	compared, onGrid := 0, 0
	for key, a := range once.Metrics {
		b := many.Metrics[key]
		// What comes from the grid is computed in float64.
		if v := once.value(t, key); !(math.Abs(many.value(t, key)-v) <= 0) && (b.Exact || !(math.Abs(many.value(t, key)-v) <= 1e-15)) {
			t.Errorf("%s of each row once is %v, of each 3.2 million times %v", key, a.Value, b.Value)
			continue
		}
		compared++
		if !b.Exact {
			onGrid++
			if !(many.bound(key) < 1e-3) {
				t.Errorf("%s: the grid may move it by %v", key, many.bound(key))
			}
		}
		wide, ok := a.Low.(float64)
		narrow, ok2 := b.Low.(float64)
		if ok && ok2 && key != "ece" { // whose interval is not about its value
			if ratio := (once.value(t, key) - wide) / (once.value(t, key) - narrow); math.Abs(ratio/math.Sqrt(rows/distinct)-1) > .05 {
				t.Errorf("%s: the interval is narrower by %v", key, ratio)
			}
		}
	}
	if compared < 6 || onGrid == 0 {
		t.Errorf("%d metrics were compared, of which %d are on the grid", compared, onGrid)
	}
	info, err := os.Stat(state)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 1_000_000 {
		t.Errorf("the state has %d bytes", info.Size())
	}
}
