package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSubtractCommand: what is left has the document and the state of the other rows alone.
func TestSubtractCommand(t *testing.T) {
	d := newDir(t)
	var states []string
	for i, n := range []int{300, 200, 100} {
		s := newSet(uint64(70+i), n, 3)
		states = append(states, d.at([]string{"a.state", "b.state", "c.state"}[i]))
		evaluate(t, d.put("x.npy", s.scores(t)), "--labels", d.put("y.npy", s.labelFile(t)), "--state", states[i])
	}
	all, rest := d.at("all.state"), d.at("rest.state")
	printed(t, append([]string{"merge", "-o", all}, states...)...)
	want := printed(t, "merge", "--json", states[0], states[1], "-o", d.at("ab.state"))
	if got := printed(t, "subtract", "--json", all, states[2], "-o", rest); got != want {
		t.Error("the documents differ")
	}
	if !bytes.Equal(d.read(rest), d.read(d.at("ab.state"))) {
		t.Error("the states differ")
	}
	want = printed(t, "merge", states[1])
	code, got, errs := candor(t, "subtract", all, states[0], states[2])
	if code != 0 || got != want || errs != "" {
		t.Errorf("two shards: %d: %s%s", code, got, errs)
	}
	refused(t, d, []string{"subtract", rest, states[2], "-o", d.at("no.state")}, "c.state out of ", "does not have all of the rows", "name the state of all rows first")
	refused(t, d, []string{"subtract", all, d.at("x.npy")}, "predictions go to candor eval")
	for _, args := range [][]string{{"subtract", all}, {"subtract"}, {"subtract", all, states[0], "-o", all}, {"subtract", "-", "-"}} {
		if code, out, errs := candor(t, args...); code != exitUsage || out != "" {
			t.Errorf("candor %v: %d: %s%s", args, code, out, errs)
		}
	}
	groups := d.at("groups.state")
	evaluate(t, d.at("x.npy"), "--labels", d.at("y.npy"), "--group", d.at("y.npy"), "--state", groups)
	refused(t, d, []string{"subtract", groups, all}, "one has groups of rows, the other has none")
	pair := d.at("pair.state")
	printed(t, "compare", d.at("x.npy"), d.put("z.npy", newSet(8, 100, 3).scores(t)), "--labels", d.at("y.npy"), "--state", pair, "--group", d.at("y.npy"))
	refused(t, d, []string{"subtract", pair, pair}, "rows cannot be taken out of what some metrics keep: groups of a comparison", "merge the states of the other shards")
	kept := d.at("kept.state")
	evaluate(t, d.at("x.npy"), "--labels", d.at("y.npy"), "--metrics", "ece,ace", "--state", kept)
	refused(t, d, []string{"subtract", kept, kept}, "rows cannot be taken out of what some metrics keep: ace", "merge the states of the other shards")
	refused(t, d, []string{"subtract", all, kept}, "evaluate the shards with the same")
}

// TestSubtractComparison: the same of two models, whose differences are those of the rows that are left.
func TestSubtractComparison(t *testing.T) {
	d := newDir(t)
	var states []string
	for i, n := range []int{300, 200} {
		s, other := newSet(uint64(70+i), n, 3), newSet(uint64(80+i), n, 3)
		states = append(states, d.at([]string{"a.state", "b.state"}[i]))
		printed(t, "compare", d.put("x.npy", s.scores(t)), d.put("z.npy", other.scores(t)), "--labels", d.put("y.npy", s.labelFile(t)), "--state", states[i])
	}
	all, rest, none := d.at("all.state"), d.at("rest.state"), d.at("none.state")
	printed(t, "merge", states[0], states[1], "-o", all)
	want := printed(t, "merge", "--json", states[0])
	if got := printed(t, "subtract", "--json", all, states[1], "-o", rest); got != want {
		t.Errorf("the documents differ: %s", got)
	}
	if !bytes.Equal(d.read(rest), d.read(states[0])) {
		t.Error("the states differ")
	}
	refused(t, d, []string{"subtract", rest, states[1]}, "b.state out of ", "does not have all of the rows", "name the state of all rows first")
	code, out, errs := candor(t, "subtract", rest, states[0], "-o", none)
	if code != exitDone || out != "" {
		t.Errorf("nothing is left: %d: %s%s", code, out, errs)
	}
	printed(t, "merge", none, states[1], "-o", d.at("again.state"))
	if !bytes.Equal(d.read(d.at("again.state")), d.read(states[1])) {
		t.Error("a state without rows changes another one")
	}
}

// TestSubtractShard: what is left of a divided run says which shards it holds.
func TestSubtractShard(t *testing.T) {
	d := newDir(t)
	s := newSet(3, 200, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	var states []string
	for _, i := range []string{"0", "1", "2"} {
		states = append(states, d.at(i+".state"))
		evaluate(t, x, "--labels", y, "--shard", i+"/3", "--state", states[len(states)-1])
	}
	printed(t, append([]string{"merge", "-o", d.at("all.state")}, states...)...)
	printed(t, "subtract", d.at("all.state"), states[1], "-o", d.at("rest.state"))
	printed(t, "merge", states[2], states[0], "-o", d.at("two.state"))
	if !bytes.Equal(d.read(d.at("rest.state")), d.read(d.at("two.state"))) {
		t.Error("what is left is not the other two shards")
	}
	printed(t, "merge", d.at("rest.state"), states[1], "-o", d.at("again.state"))
	if !bytes.Equal(d.read(d.at("again.state")), d.read(d.at("all.state"))) {
		t.Error("all shards are not restored")
	}
}

// TestSubtractParts: what is left of groups, slices and several labels has the document and the state of the other shards alone, also where
// groups vanish, and rows that are not there are an error.
func TestSubtractParts(t *testing.T) {
	d := newDir(t)
	const rows, shards = 900, 3
	s := newSet(23, rows, 4)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	sites, tags := make([]int32, rows), make([]int32, rows*s.classes)
	for i := range sites {
		if sites[i] = int32(i % 5); i >= 600 {
			sites[i] += 4 // of which the first shards have one
		}
	}
	for i := range tags {
		tags[i] = int32(i / 3 % 2)
	}
	many := make([]int32, rows)
	for i := range many {
		many[i] = int32(i)
	}
	g := d.put("g.npy", npy(t, []int64{rows}, sites))
	for name, run := range map[string][]string{
		"groups":          {x, "--labels", y, "--group", g},
		"groups, weights": {x, "--labels", y, "--group", g, "--weights", d.put("w.npy", s.weightFile(t))},
		"a group a row":   {x, "--labels", y, "--group", d.put("many.npy", npy(t, []int64{rows}, many)), "--metrics", "nll,ece"},
		"slices":          {x, "--labels", y, "--slice-by", g},
		"slices of scores": {d.put("p.npy", npy(t, []int64{rows}, s.probs[:rows])), "--labels", d.put("b.npy", npy(t, []int64{rows}, tags[:rows])),
			"--slice-by", "score", "--slice-by", g},
		"labels": {x, "--labels", d.put("tags.npy", npy(t, []int64{rows, int64(s.classes)}, tags)), "--task", "multilabel"},
	} {
		var states []string
		for i := range shards {
			states = append(states, d.at(fmt.Sprintf("part-%d.state", i)))
			printed(t, slices.Concat([]string{"eval"}, run, []string{"--shard", fmt.Sprintf("%d/%d", i, shards), "--state", states[i]})...)
		}
		all, left := d.at("all.state"), d.at("left.state")
		printed(t, append([]string{"merge", "-o", all}, states...)...)
		for gone := range shards {
			rest := slices.Delete(slices.Clone(states), gone, gone+1)
			want := printed(t, append([]string{"merge", "--json", "-o", d.at("two.state")}, rest...)...)
			code, got, errs := candor(t, "subtract", "--json", all, states[gone], "-o", left)
			if code != 0 || got != want || !bytes.Equal(d.read(left), d.read(d.at("two.state"))) {
				t.Errorf("%s without shard %d: %d: what is left is not the others: %s", name, gone, code, errs)
			}
			refused(t, d, []string{"subtract", left, states[gone], "-o", d.at("no.state")}, "part-"+fmt.Sprint(gone)+".state out of ", "does not have all of the rows")
		}
		if code, out, errs := candor(t, append([]string{"subtract", all}, states...)...); code != 0 || out != "" || !strings.Contains(errs, "No rows are left.") {
			t.Errorf("%s: nothing is left: %d: %s%s", name, code, out, errs)
		}
	}
}

// TestSubtractManyGroups: of more groups than have evaluations sums are kept, of which rows are taken out while as many are left.
func TestSubtractManyGroups(t *testing.T) {
	d := newDir(t)
	for _, rows := range []int{4500, 2000} {
		s := newSet(24, rows, 2)
		sites := make([]int32, rows)
		for i := range sites {
			sites[i] = int32(i)
		}
		run := []string{"eval", d.put("x.npy", s.scores(t)), "--labels", d.put("y.npy", s.labelFile(t)), "--group", d.put("g.npy", npy(t, []int64{int64(rows)}, sites))}
		var states []string
		for i := range 3 {
			states = append(states, d.at(fmt.Sprintf("part-%d.state", i)))
			printed(t, slices.Concat(run, []string{"--shard", fmt.Sprintf("%d/3", i), "--state", states[i]})...)
		}
		all, left, two := d.at("all.state"), d.at("left.state"), d.at("two.state")
		printed(t, append([]string{"merge", "-o", all}, states...)...)
		if rows < 3000 {
			refused(t, d, []string{"subtract", all, states[0], states[1]}, "the metrics of the 667 groups that are left", "merge the states of the other shards")
			continue
		}
		want := printed(t, "merge", "--json", states[0], states[2], "-o", two)
		if got := printed(t, "subtract", "--json", all, states[1], "-o", left); got != want || !bytes.Equal(d.read(left), d.read(two)) {
			t.Error("what is left is not the others")
		}
		refused(t, d, []string{"subtract", left, states[1]}, "does not have all of the rows")
	}
}

// TestSubtractOnGrid: what is left of scores on a grid stays there, which is said.
func TestSubtractOnGrid(t *testing.T) {
	d := newDir(t)
	for i, n := range []int{300_000, 500} {
		s := newSet(uint64(80+i), n, 1)
		evaluate(t, d.put("x.npy", npy(t, s.shape(), s.probs)), "--labels", d.put("y.npy", s.labelFile(t)), "--state", d.at([]string{"big.state", "small.state"}[i]))
	}
	printed(t, "merge", d.at("big.state"), d.at("small.state"), "-o", d.at("all.state"))
	code, out, errs := candor(t, "subtract", d.at("all.state"), d.at("big.state"))
	if code != 0 || !strings.HasPrefix(out, "500 rows") || !strings.Contains(errs, "scores stay on the grid") || !strings.Contains(errs, "the 500 rows that are left") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}
