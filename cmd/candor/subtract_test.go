package main

import (
	"bytes"
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
	refused(t, d, []string{"subtract", groups, groups}, "rows cannot be taken out of states of groups", "merge the states of the other shards")
	kept := d.at("kept.state")
	evaluate(t, d.at("x.npy"), "--labels", d.at("y.npy"), "--metrics", "ece,ace", "--state", kept)
	refused(t, d, []string{"subtract", kept, kept}, "rows cannot be taken out of what some metrics keep: ace", "merge the states of the other shards")
	refused(t, d, []string{"subtract", all, kept}, "evaluate the shards with the same")
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
