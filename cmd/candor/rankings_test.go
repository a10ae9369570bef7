package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// sites are rows of a model that is off in one site of three, and of one that is not.
func sites() []byte {
	r := rand.New(rand.NewPCG(4, 4))
	var b strings.Builder
	b.WriteString("site,y,p,q\n")
	for i := range 1500 {
		site, x := i%3, 0.2+0.6*r.Float64()
		y, p := 0, x
		if r.Float64() < x {
			y = 1
		}
		if site == 1 {
			p = min(0.99, x+0.2)
		}
		fmt.Fprintf(&b, "s|%d,%d,%.4f,%.4f\n", site, y, p, x)
	}
	return []byte(b.String())
}

// TestReportRankings: JUnit and GitHub have slices, tested groups and groups of a comparison, the worst first, with adjusted p-values.
func TestReportRankings(t *testing.T) {
	d := newDir(t)
	in := d.put("sites.csv", sites())
	reports := "junit=" + d.at("r.xml") + ",github=" + d.at("r.md")
	for _, c := range []struct {
		args     []string
		heads    []string // of GitHub's table
		says     string
		first    string // row of the table
		property string
		outcome  string
	}{
		{[]string{"eval", "--prob", "p", "--label", "y", "--slice-by", "site"}, []string{"| slice | rows | `gap` | 95% interval | p adjusted | |"}, "Slices: ",
			"| <code>site &#61; s&#124;1</code> | 500 | ", "slice site = s|1: gap", "off"},
		{[]string{"eval", "--prob", "p", "--label", "y", "--group", "site"}, []string{"| group | rows | `gap` | 95% interval | p adjusted | |"}, "1 of 3 groups is off ",
			"| <code>site&#61;s&#124;1</code> | 500 | ", "group site=s|1: gap", "off"},
		{[]string{"compare", "--prob", "old=q", "--prob", "new=p", "--label", "y", "--group", "site"}, []string{"| group | rows | `delta.nll` | 95% interval | p adjusted | |"}, "",
			"| <code>site&#61;s&#124;1</code> | 500 | ", "group site=s|1: delta.nll", "worse"},
	} {
		printed(t, append([]string{c.args[0], in, "--report", reports}, c.args[1:]...)...)
		page, xml := string(d.read(d.at("r.md"))), string(d.read(d.at("r.xml")))
		for _, h := range append(c.heads, c.says) {
			if !strings.Contains(page, h) {
				t.Errorf("%v: %s\nlacks %q", c.args, page, h)
			}
		}
		_, table, _ := strings.Cut(page, c.heads[0]+"\n| --- | ---: | ---: | --- | ---: | --- |\n")
		row, _, _ := strings.Cut(table, "\n")
		if !strings.HasPrefix(row, c.first) || !strings.HasSuffix(row, " | "+c.outcome+" |") {
			t.Errorf("%v: the first row is %q", c.args, row)
		}
		for _, end := range []string{"", ".low", ".high", ".p_adjusted", ".outcome"} {
			if !strings.Contains(xml, `<property name="`+c.property+end+`" value="`) {
				t.Errorf("%v: %s\nlacks the property %s%s", c.args, xml, c.property, end)
			}
		}
		if !strings.Contains(xml, c.property+`.outcome" value="`+c.outcome+`"`) {
			t.Errorf("%v: %s", c.args, xml)
		}
	}
	// Of many, the worst 100 are listed, and the rest are counted.
	var many strings.Builder
	many.WriteString("g,y,p\n")
	for i := range 130 * 30 {
		fmt.Fprintf(&many, "%d,%d,0.5\n", i%130, i/130%2)
	}
	printed(t, "eval", d.put("many.csv", []byte(many.String())), "--prob", "p", "--label", "y", "--group", "g", "--report", reports)
	page, xml := string(d.read(d.at("r.md"))), string(d.read(d.at("r.xml")))
	_, table, _ := strings.Cut(page, "p adjusted | |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if n := strings.Count(table, "\n| "); n != 100 || !strings.Contains(page, "\n30 more of them are left out.\n") || !strings.Contains(xml, `<property name="groups left out" value="30">`) {
		t.Errorf("%d rows\n%.2000s", n, page)
	}
}
