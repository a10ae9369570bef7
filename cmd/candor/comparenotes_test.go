package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestCompareNotes: what all sets share is said once, and a bad row of any set is left out of all.
func TestCompareNotes(t *testing.T) {
	d := newDir(t)
	var b strings.Builder
	b.WriteString("id,p,y,w,site\n")
	for i := range 400 {
		fmt.Fprintf(&b, "%d,%.2f,%d,%d,north\n", i, 0.05+float64(i%10)/11, i*7%10/6, 1+i%3)
	}
	a := d.put("a.csv", []byte(strings.Replace(b.String(), "\n5,0.50", "\n5,nan", 1)))
	o := d.put("b.csv", []byte(strings.Replace(b.String(), "\n90,0.05", "\n90,nan", 1)))
	args := []string{"compare", a, o, "--prob", "p", "--label", "y", "--on-invalid", "drop"}
	for _, f := range [][]string{nil, {"--format", "markdown"}} {
		out := printed(t, with(args, f...)...)
		if strings.Count(out, "left out") != 1 || !strings.Contains(out, "2 bad rows were left out of every set") {
			t.Error(out)
		}
	}
	page := d.at("page.html")
	printed(t, with(args, "--html", page)...)
	if s := string(d.read(page)); strings.Count(s, "left out of every set") != 1 {
		t.Error("the page says it another number of times")
	}
	// One cluster.
	out := printed(t, with(args, "--cluster", "site")...)
	for _, w := range []string{"nothing to judge by, since all rows are of one cluster.", "every set: 1 cluster of site: there are no intervals, since how clusters differ is not known."} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), w) {
			t.Errorf("no %q in %s", w, out)
		}
	}
	if strings.Contains(out, "too few rows") {
		t.Error(out)
	}
	// Two weighted sets fit the default memory, although the number of their rows is not known.
	printed(t, with(args, "--weights", "w")...)
}
