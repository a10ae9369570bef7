package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestCosts: the same costs in all forms of the file give the same document, merged states that of all rows, and the first decisions that of the definition.
func TestCosts(t *testing.T) {
	d := newDir(t)
	set := newSet(2, 300, 3)
	x, y := d.put("x.npy", set.scores(t)), d.put("y.npy", set.labelFile(t))
	array := d.put("c.npy", npy(t, []int64{3, 4}, []float64{0, 1, 2, 0.5, 1, 0, 3, 0.5, 4, 1, 0, 0.5}))
	base := []string{"eval", x, "--labels", y, "--classes", "cat,dog,owl", "--json", "--metrics", "accuracy"}
	var first []byte
	for name, file := range map[string]string{
		"array":   array,
		"numbers": d.put("n.csv", []byte("0,1,2,0.5\n1,0,3,0.5\n4,1,0,0.5\n")),
		"named":   d.put("m.csv", []byte("\xef\xbb\xbfis,a,b,c,ask\r\nowl,4,1,0,0.5\r\ncat,0,1,2,0.5\r\ndog, 1, 0, 3, 0.5\r\n")),
		"rows":    d.put("r.json", []byte("[[0,1,2,0.5],[1,0,3,0.5],[4,1,0,0.5]]")),
		"object":  d.put("o.json", []byte(`{"classes":["dog","cat","owl"],"decisions":["a","b","c","ask"],"costs":[[1,0,3,0.5],[0,1,2,0.5],[4,1,0,0.5]]}`)),
	} {
		got := []byte(printed(t, append(base, "--costs", file)...))
		if first == nil {
			first = got
		}
		if !bytes.Equal(got, first) {
			t.Errorf("%s: another document", name)
		}
	}
	var doc struct {
		Metrics map[string]struct {
			Value, Low, High *float64
			Reason           string
		}
	}
	if err := json.Unmarshal(first, &doc); err != nil {
		t.Fatal(err)
	}
	m, c := doc.Metrics["decision_cost"], doc.Metrics["constant_cost"]
	if m.Value == nil || m.Low == nil || c.Value == nil || !(*m.Low < *m.Value && *m.Value < *m.High) || *c.Value > 0.5 || c.Reason == "" {
		t.Errorf("%s", first)
	}
	// Parts merge to the whole.
	parts := []string{"merge"}
	for i, half := range []string{"0/2", "1/2"} {
		state := d.at(string(rune('a'+i)) + ".state")
		printed(t, "eval", x, "--labels", y, "--costs", array, "--shard", half, "--state", state)
		parts = append(parts, state)
	}
	whole := printed(t, "eval", x, "--labels", y, "--costs", array, "--metrics", "default", "--json")
	merged := printed(t, append(parts, "--json")...)
	of := func(s string) string {
		var doc struct{ Metrics map[string]any }
		if err := json.Unmarshal([]byte(s), &doc); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(doc.Metrics["decision_cost"], doc.Metrics["constant_cost"])
	}
	if of(whole) != of(merged) || !strings.Contains(of(whole), "value") {
		t.Errorf("merged %s\nwhole %s", of(merged), of(whole))
	}
	other := d.at("other.state")
	printed(t, "eval", x, "--labels", y, "--costs", d.put("n2.csv", []byte("0,1,2,0.5\n1,0,3,0.5\n4,1,0,0.25\n")), "--state", other)
	if code, _, errs := candor(t, "merge", parts[1], other); code != exitData || !strings.Contains(errs, "decisions by other costs") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestBadCosts(t *testing.T) {
	d := newDir(t)
	set := newSet(2, 30, 3)
	x, y := d.put("x.npy", set.scores(t)), d.put("y.npy", set.labelFile(t))
	for want, file := range map[string]string{
		"row 1, column 0 of the cost matrix is -1":    "0,1,1\n-1,0,1\n1,1,0\n",
		"row 0, column 2 of the cost matrix is +Inf":  "0,1,inf\n1,0,1\n1,1,0\n",
		"row 2, column 2 of the cost matrix is NaN":   "0,1,1\n1,0,1\n1,1,nan\n",
		"row 2, column 0 of the cost matrix is -0.5":  `[[0,1],[1,0],[-0.5,1]]`,
		"it has 2 rows, and there are 3 classes":      "0,1\n1,0\n",
		"row 1 has 2 costs, and row 0 has 3":          "0,1,1\n1,0\n1,1,0\n",
		`row 1, column 1 is "x"`:                      "0,1,1\n1,x,1\n1,1,0\n",
		"it has no costs":                             "",
		`it has no row for class "2"`:                 "is,a,b\n0,0,1\n1,1,0\nowl,1,1\n",
		`class "1" is there twice`:                    "is,a,b\n0,0,1\n1,1,0\n1,1,1\n",
		"it names 2 decisions, and has costs of 3":    `{"decisions":["a","b"],"costs":[[0,1,1],[1,0,1],[1,1,0]]}`,
		`unknown field "cost"`:                        `{"cost":[[0,1],[1,0],[1,1]]}`,
		"it is no array (classes, decisions)":         string(npy(t, []int64{9}, make([]float64, 9))),
		"its shape is (3, 3), and it has 64 bytes":    string(npy(t, []int64{3, 3}, make([]float64, 9))[:128+64]),
		"3 rows and 1 columns; it takes at least two": "0\n1\n1\n",
	} {
		if code, _, errs := candor(t, "eval", x, "--labels", y, "--costs", d.put("c", []byte(file))); code != exitData || !strings.Contains(errs, want) {
			t.Errorf("%q: %d %s, want %q", file, code, errs, want)
		}
	}
	for want, args := range map[string][]string{
		"decision_cost needs a cost matrix": {"eval", x, "--labels", y, "--metrics", "decision_cost"},
		"constant_cost needs a cost matrix": {"compare", x, x, "--labels", y, "--metrics", "constant_cost"},
		"these predictions have no classes": {"eval", d.put("f.csv", []byte("mean,sd,observed\n1,1,2\n2,1,1\n")), "--task", "regression", "--costs", "c.csv"},
	} {
		if code, _, errs := candor(t, args...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%q: %d %s, want %q", args, code, errs, want)
		}
	}
	if code, _, errs := candor(t, "eval", x, "--labels", y, "--costs", d.at("none.csv")); code != exitData || !strings.Contains(errs, "none.csv") {
		t.Errorf("%d %s", code, errs)
	}
}
