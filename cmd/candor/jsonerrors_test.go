package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// jsonError reads the one line that standard error has.
func jsonError(t *testing.T, errs string) map[string]any {
	t.Helper()
	var v map[string]map[string]any
	if strings.Count(errs, "\n") != 1 || !strings.HasSuffix(errs, "\n") || json.Unmarshal([]byte(errs), &v) != nil || len(v) != 1 || v["error"] == nil {
		t.Fatalf("standard error is no line of JSON with an error: %q", errs)
	}
	return v["error"]
}

// TestJSONErrors: with --json an error is an object on standard error, and nothing else is there.
func TestJSONErrors(t *testing.T) {
	d := newDir(t)
	s, b := newSet(1, 60, 3), newSet(2, 60, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	few := d.put("few.npy", b.part(0, 50).labelFile(t))
	table := func(cells string) string {
		return d.put("t.csv", []byte("mean,sd,observed\n0,1,0.5\n"+cells+"\n"))
	}
	nan, large := d.put("nan.npy", s.with(7, 1, math.NaN()).scores(t)), d.put("large.npy", s.with(7, 1, 4).scores(t))
	labels := d.put("labels.npy", s.label(9, 4, 8).labelFile(t))
	d.put("two.npy", s.with(7, 1, 4).with(9, 0, math.NaN()).scores(t))
	wide := d.put("wide.npy", npy(t, []int64{60}, append(make([]int64, 59), 1<<40)))
	weights := d.put("weights.npy", s.weightFile(t))
	best := make([]int32, 60)
	for i := range best {
		row := s.probs[3*i:][:3]
		best[i] = int32(slices.Index(row, slices.Max(row)))
	}
	right := d.put("right.npy", npy(t, []int64{60}, best))
	pair, right2 := d.put("pair.npy", npy(t, []int64{1, 2}, []float64{0.25, 0.75})), d.put("right2.npy", npy(t, []int64{1}, []int32{1}))
	four := d.put("four.npy", newSet(3, 60, 4).scores(t))
	a := d.at("a.state")
	for state, more := range map[string][]string{"a": nil, "other": {"--bins", "7"}, "groups": {"--group", y}} {
		if code, _, errs := candor(t, append([]string{"eval", x, "--labels", y, "--state", d.at(state + ".state")}, more...)...); code != exitDone {
			t.Fatal(errs)
		}
	}
	regression := []string{"--task", "regression"}
	const remedyNaN = "look for a division by 0 or an overflow in the code that computed the scores; --on-invalid drop leaves such rows out"
	for _, c := range []struct {
		code int
		args []string
		want map[string]any // without message
		says string
	}{
		{exitUsage, []string{"eval", "--nonsense"}, map[string]any{"kind": "usage"}, "unknown flag: --nonsense"},
		{exitUsage, []string{"eval", x, "--labels", y, "--metrics", "eec"}, map[string]any{"kind": "usage", "remedy": "'candor metrics' lists them"}, "did you mean ece?"},
		{exitUsage, []string{"eval", x, "--labels", y, "--state", d.at("none/s")}, map[string]any{"kind": "output", "file": d.at("none/s"), "remedy": "name a file in an existing, writable folder with free space"}, "cannot write "},
		{exitData, []string{"eval", d.at("none.npy")}, map[string]any{"kind": "data", "file": d.at("none.npy"), "remedy": "check the name and the folder"}, "none.npy: no such file; check the name and the folder"},
		{exitData, []string{"eval", x, "--labels", few}, map[string]any{"kind": "data", "file": few, "remedy": "each row needs one: are they of the same data, and all of it?"}, "50 labels for the 60 rows"},
		{exitData, []string{"eval", large, "--labels", y}, map[string]any{"kind": "data", "file": large, "row": 7., "column": 1., "value": 4., "remedy": "logits? pass --input logits; percentages? pass --percent"}, "row 7, column 1: probability is 4"},
		{exitData, []string{"eval", nan, "--labels", y}, map[string]any{"kind": "data", "file": nan, "row": 7., "column": 1., "value": "NaN", "remedy": remedyNaN}, "score is NaN"},
		{exitData, []string{"eval", d.at("two.npy"), "--labels", y}, map[string]any{"kind": "data", "file": d.at("two.npy"), "row": 7., "column": 1., "value": 4., "remedy": "logits? pass --input logits; percentages? pass --percent"}, "\n" + d.at("two.npy") + ": row 9, column 0: score is NaN"},
		{exitData, []string{"eval", x, "--labels", labels}, map[string]any{"kind": "data", "file": labels, "row": 4., "value": 9., "remedy": "do labels and predictions belong together?"}, "(2 of 60 rows like it)"},
		{exitData, []string{"eval", x, "--labels", wide}, map[string]any{"kind": "data", "file": wide, "row": 59., "value": "1099511627776", "remedy": "labels are class numbers from 0 to classes-1: numpy.unique(labels, return_inverse=True)[1] numbers anything else"}, "does not fit in int32"},
		{exitData, append([]string{"eval", table("1,x,2")}, regression...), map[string]any{"kind": "data", "file": d.at("t.csv"), "line": 3., "column": "sd", "value": "x", "remedy": "write a decimal number, as in 0.25 or 1e-3; a missing one is an empty cell"}, `line 3: column "sd": "x" is not a number`},
		{exitData, append([]string{"eval", d.put("u.csv", []byte("mean,sd,observed\n0,1,0.5\n1,0,2\n"))}, regression...), map[string]any{"kind": "data", "file": d.at("u.csv"), "line": 3., "column": "sd", "value": 0., "remedy": "a variance or its logarithm? take the root or the exponential; --on-invalid drop leaves such rows out"}, "standard deviation is 0"},
		{exitData, []string{"recal", "fit", "temperature", large, "--labels", y}, map[string]any{"kind": "data", "file": large, "row": 7., "column": 1., "value": 4., "remedy": "logits? pass --input logits; percentages? pass --percent"}, "probability is 4"},
		{exitData, []string{"recal", "fit", "isotonic", nan, "--labels", y}, map[string]any{"kind": "data", "file": nan, "row": 7., "column": 1., "value": "NaN", "remedy": "look for a division by 0 or an overflow in the code that computed the scores"}, "score is NaN"},
		{exitData, []string{"recal", "fit", "isotonic", x, "--labels", labels}, map[string]any{"kind": "data", "file": labels, "row": 4., "value": 9., "remedy": "do labels and predictions belong together?"}, "label is 9"},
		{exitData, []string{"recal", "fit", "sigma", table("1,x,2")}, map[string]any{"kind": "data", "file": d.at("t.csv"), "line": 3., "column": "sd", "value": "x", "remedy": "write a decimal number, as in 0.25 or 1e-3; a missing one is an empty cell"}, `line 3: column "sd": "x" is not a number`},
		{exitData, []string{"recal", "fit", "bbq", x, "--labels", y, "--weights", weights}, map[string]any{"kind": "data", "file": x, "remedy": "take histogram or isotonic, or leave the weights away"}, "bbq weighs its histograms by counts"},
		{exitData, []string{"recal", "fit", "temperature", x, "--labels", right}, map[string]any{"kind": "data", "file": x, "remedy": "fit to rows that the model has not seen, or to more of them"}, "the likelihood has no maximum: every row's label has the largest logit"},
		{exitData, []string{"recal", "fit", "vector", pair, "--labels", right2}, map[string]any{"kind": "data", "file": pair, "remedy": "pass --task classification to fit it to the two columns as classes, or take platt"}, "vector is for two classes or more"},
		{exitUsage, []string{"recal", "fit", "histogram(bins=65536)", x, "--labels", y, "--max-memory", "56MiB", "--threads", "1"}, map[string]any{"kind": "usage", "remedy": "pass --max-memory 124MiB"}, "takes about "},
		{exitData, []string{"compare", x, nan, "--labels", y}, map[string]any{"kind": "data", "file": nan, "row": 7., "column": 1., "value": "NaN", "remedy": remedyNaN}, "score is NaN"},
		{exitData, []string{"merge", x}, map[string]any{"kind": "data", "file": x, "remedy": "name a file that candor eval --state has written; predictions go to candor eval"}, "not a state that can be read: it begins with"},
		{exitData, []string{"inspect", d.at("none")}, map[string]any{"kind": "data", "file": d.at("none"), "remedy": "check the name and the folder"}, "no such file"},
		{exitUsage, []string{"eval", x, "--labels", y, "--metrics", "auc"}, map[string]any{"kind": "usage", "remedy": "candor calls it auroc"}, `--metrics: there is no metric "auc"; candor calls it auroc`},
		{exitUsage, []string{"eval", x, "--labels", y, "--fail-if", "a; b>1"}, map[string]any{"kind": "usage", "remedy": "'candor metrics' lists them"}, `there is no metric "a; b"`},
		{exitUsage, []string{"eval", x, "--labels="}, map[string]any{"kind": "usage", "remedy": "give it a value (FILE), or leave the flag out"}, "--labels is empty; give it"},
		{exitUsage, []string{"eval", x, "--labels", y, "--like", "a; b"}, map[string]any{"kind": "usage", "remedy": "it is um, tfp, torchmetrics, guo or blog"}, `--like is "a; b"; it is`},
		{exitUsage, []string{"eval", x, "--labels", y, "--event", "0"}, map[string]any{"kind": "usage", "remedy": "leave it out"}, "and these are (60, 3); leave it out"},
		{exitUsage, []string{"eval", x, "--labels", y, "--state", y}, map[string]any{"kind": "usage", "file": y, "remedy": "name another one"}, "that file is read"},
		{exitUsage, []string{"compare", x}, map[string]any{"kind": "usage", "remedy": "candor eval takes one"}, "takes two or more sets"},
		{exitData, []string{"compare", x, four, "--labels", y}, map[string]any{"kind": "data", "file": four, "remedy": "name sets of the same shape"}, "is (60, 4), so they differ in classes"},
		{exitData, append([]string{"compare", d.put("w.csv", []byte("mean,sd,observed\n0,1,0.5\n1,1,2\n")), d.put("v.csv", []byte("mean,sd,observed\n0,1,0.5\n1,1,3\n"))}, regression...), map[string]any{"kind": "data", "file": d.at("v.csv"), "row": 1., "value": 3., "remedy": "name sets of the same rows, in the same order; --id matches the rows of tables and of .npz files"}, "row 1: the observed value is 3, and 2 in "},
		{exitData, []string{"merge", a, d.at("other.state")}, map[string]any{"kind": "data", "file": d.at("other.state"), "remedy": "evaluate the shards with the same options, and merge like with like"}, "a.state against "},
		{exitData, []string{"merge", a, d.at("groups.state")}, map[string]any{"kind": "data", "file": d.at("groups.state"), "remedy": "evaluate both with the same --group, or without"}, "one has groups of rows, the other has none"},
		{exitUsage, []string{"merge", a, "-o", a}, map[string]any{"kind": "usage", "file": a, "remedy": "name another one"}, "that file is read"},
		{exitUsage, []string{"metrics", "eec"}, map[string]any{"kind": "usage", "remedy": "'candor metrics' lists them"}, "did you mean ece?"},
	} {
		for _, as := range [][]string{{"--json"}, {"--format", "json"}, {"--format=json"}} {
			if len(as[0]) > 6 && slices.Contains([]string{"inspect", "metrics"}, c.args[0]) {
				continue // which have no such flag
			}
			args := append(slices.Clone(c.args), as...)
			code, out, errs := candor(t, args...)
			got := jsonError(t, errs)
			says, _ := got["message"].(string)
			delete(got, "message")
			if code != c.code || out != "" || !strings.Contains(says, c.says) || !reflect.DeepEqual(got, c.want) {
				t.Errorf("candor %v: exit code %d: %s%s\nwant %v %q", args, code, out, errs, c.want, c.says)
			}
		}
	}
	code, out, errs := candor(t, "eval", x, "--labels", y, "--json", "--format", "csv")
	if code != exitUsage || out != "" || jsonError(t, errs)["message"] != "--json and --format csv are both given; give one" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// A gate speaks beside the document.
	code, out, errs = candor(t, "eval", x, "--labels", y, "--json", "--fail-if", "accuracy>0", "--fail-if", "ece>=0")
	got := jsonError(t, errs)
	if code != exitGate || !json.Valid([]byte(out)) || got["kind"] != "gate" || strings.Count(got["message"].(string), "gate failed: ") != 2 || len(got) != 2 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// No terminal obeys it, and programs read what was there.
	_, _, errs = candor(t, "eval", "a\x1b[31m\u009b\U000e0001", "--json")
	if strings.ContainsAny(errs, "\x1b\u009b\U000e0001") || jsonError(t, errs)["file"] != "a\x1b[31m\u009b\U000e0001" {
		t.Errorf("%q", errs)
	}
	var w bytes.Buffer
	writeError(&w, &failure{code: exitFault, kind: "fault", err: errors.New("a fault\n\nof two lines")})
	if got := jsonError(t, w.String()); got["kind"] != "fault" || got["message"] != "a fault\n\nof two lines" {
		t.Errorf("%v", got)
	}
}

// TestJSONNotes: with --json notes are in the document, and not on standard error.
func TestJSONNotes(t *testing.T) {
	d := newDir(t)
	a, b := states(t, d)
	x, y := d.at("x0.npy"), d.at("y0.npy")
	table := d.put("t.csv", []byte("mean,sd,observed\n0,1,0.5\n1,1,0.2"))
	type doc struct {
		Warnings []string
		Before   struct{ Warnings []string }
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"eval"}, "No file given: this is candor's sample, "},
		{[]string{"eval", x, x, "--labels", y + "," + y}, x + " is named twice, so its rows count twice"},
		{[]string{"eval", table, "--task", "regression"}, table + ": its last line, 3, has no line end"},
		{[]string{"merge", b, b}, b + " and " + b + " are equal: are the same rows counted twice?"},
		{[]string{"merge", a, b}, ""},
		{[]string{"compare", table, table, "--task", "regression"}, table + ": its last line, 3, has no line end"},
	} {
		code, out, errs := candor(t, append(c.args, "--json")...)
		var got doc
		if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil || errs != "" {
			t.Errorf("candor %v: exit code %d, %v: %s", c.args, code, err, errs)
		}
		if there := strings.Join(append(got.Warnings, got.Before.Warnings...), "\n"); c.want == "" && there != "" || !strings.Contains(there, c.want) {
			t.Errorf("candor %v: %q", c.args, there)
		}
		if _, _, errs := candor(t, c.args...); !strings.Contains(errs, c.want) {
			t.Errorf("candor %v without --json: %s", c.args, errs)
		}
	}
}

func TestWantsJSON(t *testing.T) {
	for args, want := range map[string]bool{
		"eval x --json": true, "eval --json=true x": true, "eval --json=false": false, "eval --format json": true, "eval --format=json": true,
		"eval --format csv": false, "eval -- --json": false, "eval x": false, "eval --format": false, "--json eval": true,
	} {
		if wantsJSON(strings.Fields(args)) != want {
			t.Errorf("%s: %v", args, !want)
		}
	}
}
