//go:build unix

package main

import (
	"testing"
)

// TestLongTableOnce: a long table, and sets that are matched by ids, may be pipes, since they are read once.
func TestLongTableOnce(t *testing.T) {
	d := newDir(t)
	const n = 300
	m := alignModels(5, n)
	var rows [][]string
	for k, name := range []string{"old", "new"} {
		for i := range n {
			rows = append(rows, append([]string{name}, m[k][i]...))
		}
	}
	flags := []string{"--prob-prefix", "p_", "--label", "y", "--id", "id", "--json"}
	old, other := d.put("old.csv", csvOf(alignHead, m[0], inOrder(n))), d.put("new.csv", csvOf(alignHead, m[1], inOrder(n)))
	want := printed(t, append([]string{"compare", old, other}, flags...)...)
	long := csvOf("model,"+alignHead, rows, shuffled(2*n))
	if got := printed(t, append([]string{"compare", piped(t, long), "--model", "model"}, flags...)...); got != want && differing(got, want) != "" {
		// Models come in the order in which they appear.
		swapped := printed(t, append([]string{"compare", other, old}, flags...)...)
		if got != swapped {
			t.Errorf("a pipe: %s", differing(got, want))
		}
	}
	a, b := piped(t, csvOf(alignHead, m[0], inOrder(n))), piped(t, csvOf(alignHead, m[1], shuffled(n)))
	if got := printed(t, append([]string{"compare", a, b, "--name", a + "=old", "--name", b + "=new"}, flags...)...); got != want {
		t.Errorf("pipes: %s", differing(got, want))
	}
}
