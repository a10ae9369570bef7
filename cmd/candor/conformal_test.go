package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// conformalRows returns files of rows of three classes: scores and labels.
func conformalRows(t *testing.T, d *dir, seed uint64) (x, y string) {
	s := newSet(seed, 300, 3)
	return d.put("x"+string(rune('0'+seed))+".npy", s.scores(t)), d.put("y"+string(rune('0'+seed))+".npy", s.labelFile(t))
}

// What apply writes, eval reads, and both agree with eval of the map. Shards and threads change nothing.
func TestConformalSets(t *testing.T) {
	d := newDir(t)
	x, y := conformalRows(t, d, 1)
	other, truth := conformalRows(t, d, 2)
	for _, method := range []string{"lac", "aps(randomized)", "raps(lambda=0.1,k=1,by_class)", "aps(nonempty)", "aps(keep_last)"} {
		m := d.at("map.json")
		printed(t, "conformal", "fit", method, x, "--labels", y, "--coverage", "0.8", "-o", m, "--seed", "5")
		printed(t, "conformal", "apply", m, other, "-o", d.at("sets.npy"), "--threads", "1")
		printed(t, "conformal", "apply", m, other, "-o", d.at("again.npy"), "--threads", "5")
		if string(d.read(d.at("sets.npy"))) != string(d.read(d.at("again.npy"))) {
			t.Errorf("%s: threads change the sets", method)
		}
		if printed(t, "conformal", "apply", m, other, "-o", "-") != string(d.read(d.at("sets.npy"))) {
			t.Errorf("%s: standard output has something else", method)
		}
		printed(t, "conformal", "apply", m, other, "-o", d.at("sets.csv"))
		part := func(args ...string) string {
			var v struct{ All, Sets json.RawMessage }
			if err := json.Unmarshal([]byte(printed(t, with([]string{"conformal", "eval", "--labels", truth, "--json"}, args...)...)), &v); err != nil {
				t.Fatal(err)
			}
			return string(v.All) + string(v.Sets)
		}
		a, b, c := part(other, "--map", m), part(d.at("sets.npy")), part(d.at("sets.csv"), "--prob-prefix", "in_")
		if a != b || a != c || !strings.Contains(a, "mean_size") {
			t.Errorf("%s: %s, %s and %s", method, a, b, c)
		}
	}
}

// Sets of two classes, as of a binary task, are read from tables and arrays.
func TestConformalSetsOfTwo(t *testing.T) {
	d := newDir(t)
	var rows strings.Builder
	rows.WriteString("p,y\n")
	for i := range 200 {
		fmt.Fprintf(&rows, "%v,%d\n", float64(i)/200, (i*i/7+i/60)%2)
	}
	table, m := d.put("t.csv", []byte(rows.String())), d.at("m.json")
	printed(t, "conformal", "fit", "lac", table, "--prob", "p", "--labels", "y", "--coverage", "0.7", "-o", m)
	printed(t, "conformal", "apply", m, table, "--prob", "p", "--keep", "y", "-o", d.at("sets.csv"))
	var a, b struct{ All, Sets json.RawMessage }
	for _, c := range []struct {
		to   any
		args []string
	}{{&a, []string{table, "--prob", "p", "--map", m}}, {&b, []string{d.at("sets.csv"), "--prob-prefix", "in_"}}} {
		if err := json.Unmarshal([]byte(printed(t, with([]string{"conformal", "eval", "--json", "--labels", "y"}, c.args...)...)), c.to); err != nil {
			t.Fatal(err)
		}
	}
	if string(a.All) != string(b.All) || string(a.Sets) != string(b.Sets) || !strings.Contains(string(a.Sets), "mean_size") {
		t.Errorf("%s%s and %s%s", a.All, a.Sets, b.All, b.Sets)
	}
}

// Intervals of numbers: the same of all three ways.
func TestConformalIntervals(t *testing.T) {
	d := newDir(t)
	table, quantiles := d.put("n.csv", normalRows(1, 200).csv()), d.put("q.csv", quantileRows(2, 200).csv())
	for _, c := range []struct {
		method, file string
		columns      []string
	}{
		{"split", table, []string{"--mean", "mu", "--std", "sigma"}},
		{"normalized", table, []string{"--mean", "mu", "--std", "sigma"}},
		{"cqr", quantiles, []string{"--quantile-prefix", "q"}},
	} {
		m := d.at("map.json")
		observed := with(c.columns, "--observed", "y")
		printed(t, with([]string{"conformal", "fit", c.method, c.file, "-o", m}, observed...)...)
		printed(t, with([]string{"conformal", "apply", m, c.file, "-o", d.at("i.csv"), "--keep", "y"}, c.columns...)...)
		part := func(args ...string) string {
			var v struct{ All, Intervals json.RawMessage }
			if err := json.Unmarshal([]byte(printed(t, with([]string{"conformal", "eval", "--json"}, args...)...)), &v); err != nil {
				t.Fatal(err)
			}
			return string(v.All) + string(v.Intervals)
		}
		a := part(with([]string{c.file, "--map", m}, observed...)...)
		if b := part(d.at("i.csv"), "--low", "low", "--high", "high", "--observed", "y", "--coverage", "0.9"); a != b || !strings.Contains(a, "winkler") {
			t.Errorf("%s: %s and %s", c.method, a, b)
		}
		// The calibration rows themselves are covered as the rank says, 181 of 200; quantiles that are whole numbers have ties.
		want := `"covered": 0.905`
		if c.method == "cqr" {
			want = `"covered": 0.91`
		}
		if !strings.Contains(a, want) {
			t.Errorf("%s: %s", c.method, a)
		}
	}
}

// Coverage by group is that of each group's rows alone, whatever the threads; a group of which too few rows are covered is said.
func TestConformalGroups(t *testing.T) {
	d := newDir(t)
	// Of 400 rows in three groups, b's numbers are outside half of its intervals.
	var all strings.Builder
	parts := map[string]*strings.Builder{"a": {}, "b": {}, "c,d": {}}
	all.WriteString("low,high,y,g,h\n")
	for i := range 400 {
		g := []string{"a", "b", "c,d"}[i%3]
		y := 0.5
		if i%20 == 0 || g == "b" && i%2 == 0 {
			y = 3
		}
		line := fmt.Sprintf("0,1,%v,%q,x\n", y, g)
		all.WriteString(line)
		parts[g].WriteString(line)
	}
	type share struct {
		Group              map[string]string
		Rows               int64
		Covered, Low, High float64
		Below              *bool
	}
	read := func(file string, more ...string) (v struct {
		All    share
		Groups []share
	}) {
		t.Helper()
		args := with([]string{"conformal", "eval", file, "--low", "low", "--high", "high", "--observed", "y", "--json"}, more...)
		if err := json.Unmarshal([]byte(printed(t, args...)), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	file := d.put("all.csv", []byte(all.String()))
	got := read(file, "--group", "h", "--group", "g", "--coverage", "0.9")
	if len(got.Groups) != 3 || got.Groups[0].Group["g"] != "b" || !*got.Groups[0].Below || *got.Groups[1].Below || *got.Groups[2].Below {
		t.Fatalf("%+v", got)
	}
	for _, g := range got.Groups {
		one := read(d.put("one.csv", []byte("low,high,y,g,h\n"+parts[g.Group["g"]].String()))).All
		if g.Group["h"] != "x" || one.Rows != g.Rows || one.Covered != g.Covered || one.Low != g.Low || one.High != g.High {
			t.Errorf("group %+v, and its rows alone %+v", g, one)
		}
	}
	if other := read(file, "--group", "h", "--group", "g", "--coverage", "0.9", "--threads", "5"); !reflect.DeepEqual(other, got) {
		t.Errorf("with threads %+v", other)
	}
	if other := read(file, "--group", "g"); other.Groups[0].Below != nil {
		t.Errorf("without a coverage %+v", other.Groups[0])
	}
	out := printed(t, "conformal", "eval", file, "--low", "low", "--high", "high", "--observed", "y", "--group", "g", "--coverage", "0.9")
	if !strings.Contains(strings.ReplaceAll(out, "\n", " "), "1 of the 3 groups covers less than 90.0% by more than chance: g=b.") || !strings.Contains(out, "g=c,d ") {
		t.Error(out)
	}
	// The picture has a row for each.
	picture := d.at("c.svg")
	printed(t, "conformal", "eval", file, "--low", "low", "--high", "high", "--observed", "y", "--group", "g", "--coverage", "0.9", "--plot", picture)
	for _, w := range []string{"Coverage minus 90.0%", "all rows (400)", "g=b (133)", "By width"} {
		if !strings.Contains(string(d.read(picture)), w) {
			t.Errorf("the picture has no %q", w)
		}
	}
	refusedAs(t, d, exitUsage, []string{"conformal", "eval", file, "--low", "low", "--high", "high", "--observed", "y", "--plot", picture}, "give --coverage")
	refusedAs(t, d, exitUsage, []string{"conformal", "eval", file, "--low", "low", "--high", "high", "--observed", "y", "--coverage", "0.9", "--plot", "c.gif"}, ".png, .svg or .pdf")
	// Of sets.
	x, y := conformalRows(t, d, 1)
	m := d.at("map.json")
	printed(t, "conformal", "fit", "lac", x, "--labels", y, "-o", m)
	var sets struct {
		Groups []share
		Sets   struct {
			ByClass []share `json:"by_class"`
		}
	}
	if err := json.Unmarshal([]byte(printed(t, "conformal", "eval", x, "--map", m, "--labels", y, "--group", y, "--json")), &sets); err != nil {
		t.Fatal(err)
	}
	for _, g := range sets.Groups { // labels as groups are classes
		for c, s := range sets.Sets.ByClass {
			if slices.Contains(slices.Collect(maps.Values(g.Group)), fmt.Sprint(c)) && (s.Rows != g.Rows || s.Covered != g.Covered) {
				t.Errorf("class %d: %+v and %+v", c, s, g)
			}
		}
	}
	if len(sets.Groups) != 3 {
		t.Errorf("%+v", sets)
	}
}

// split needs means alone: in a table, and in an array of vectors. Its intervals are those of rows with standard deviations.
func TestConformalSplitOfMeans(t *testing.T) {
	d := newDir(t)
	rows := normalRows(1, 200)
	table := d.put("n.csv", rows.csv())
	var plain strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(string(rows.csv())), "\n") {
		cells := strings.Split(line, ",")
		if i == 0 && (cells[1] != "mu" || cells[3] != "y") {
			t.Fatal(line)
		}
		fmt.Fprintf(&plain, "%s,%s\n", cells[1], cells[3])
	}
	means := d.put("m.csv", []byte(plain.String()))
	with := printed(t, "conformal", "fit", "split", table, "--mean", "mu", "--std", "sigma", "--observed", "y", "-o", d.at("with.json"))
	without := printed(t, "conformal", "fit", "split", means, "--mean", "mu", "--observed", "y", "-o", d.at("without.json"))
	with, _, _ = strings.Cut(with, "Next")
	if without, _, _ = strings.Cut(without, "Next"); with != without {
		t.Errorf("with standard deviations\n%s\nwithout\n%s", with, without)
	}
	printed(t, "conformal", "apply", d.at("with.json"), table, "--mean", "mu", "--std", "sigma", "-o", d.at("a.npy"))
	printed(t, "conformal", "apply", d.at("without.json"), means, "--mean", "mu", "-o", d.at("b.npy"))
	printed(t, "conformal", "apply", d.at("with.json"), means, "--mean", "mu", "-o", d.at("c.npy"))
	if a := d.read(d.at("a.npy")); !bytes.Equal(a, d.read(d.at("b.npy"))) || !bytes.Equal(a, d.read(d.at("c.npy"))) {
		t.Error("the intervals differ")
	}
	a := printed(t, "conformal", "eval", table, "--map", d.at("with.json"), "--mean", "mu", "--std", "sigma", "--observed", "y")
	if b := printed(t, "conformal", "eval", means, "--map", d.at("without.json"), "--mean", "mu", "--observed", "y"); a != b {
		t.Errorf("%s\n%s", a, b)
	}
	refusedAs(t, d, exitData, []string{"conformal", "fit", "normalized", means, "--mean", "mu", "--observed", "y"}, "for the standard deviation")
	refusedAs(t, d, exitData, []string{"conformal", "fit", "split", means, "--mean", "mean", "--observed", "y"}, "mean")
}

func TestConformalRefuses(t *testing.T) {
	d := newDir(t)
	x, y := conformalRows(t, d, 1)
	m := d.at("map.json")
	printed(t, "conformal", "fit", "lac", x, "--labels", y, "-o", m)
	two := newSet(3, 20, 4)
	four := d.put("four.npy", two.scores(t))
	crossed := d.put("crossed.csv", []byte("low,high,y\n0,1,0\n2,1,0\n"))
	half := d.put("half.csv", []byte("in_0,in_1,y\n1,0,0\n0.5,1,1\n"))
	table := d.put("n.csv", normalRows(1, 20).csv())
	empty := d.put("empty.csv", []byte("p_a,p_b,y\n"))
	nan := d.put("nan.csv", []byte("p_a,p_b,y\n0.5,0.5,a\n,0.5,a\n"))
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{"conformal", "fitt"}, "did you mean fit?"},
		{exitUsage, []string{"conformal", "fit"}, "METHOD is missing"},
		{exitUsage, []string{"conformal", "fit", "top", x}, "there is no method"},
		{exitUsage, []string{"conformal", "fit", "lac"}, "no predictions are named"},
		{exitUsage, []string{"conformal", "fit", "lac", x, "--labels", y, "--coverage", "1"}, "between 0 and 1"},
		{exitUsage, []string{"conformal", "fit", "lac", x, "--labels", y, "--coverage", "-0.5"}, "between 0 and 1"},
		{exitData, []string{"conformal", "fit", "lac", d.at("none.npy"), "--labels", y}, "no such file"},
		{exitData, []string{"conformal", "fit", "lac", nan, "--prob-prefix", "p_", "--labels", "y"}, "missing"},
		{exitData, []string{"conformal", "fit", "lac", empty, "--prob-prefix", "p_", "--labels", "y"}, "no rows"},
		{exitUsage, []string{"conformal", "apply", m, x}, "-o FILE is missing"},
		{exitUsage, []string{"conformal", "apply", m, x, "-o", d.at("a.txt")}, "names no format"},
		{exitData, []string{"conformal", "apply", x, x, "-o", d.at("a.npy")}, "not the file of a conformal map"},
		{exitData, []string{"conformal", "apply", m, four, "-o", d.at("a.npy")}, "fitted to 3 classes"},
		{exitData, []string{"conformal", "eval", x, "--labels", y}, "a set holds a class, 1, or not, 0"},
		{exitData, []string{"conformal", "eval", crossed, "--low", "low", "--high", "high", "--observed", "y"}, "line 3: the high end is 1, below the low end (1 of 2 rows like it); swap the two ends"},
		{exitData, []string{"conformal", "eval", half, "--prob-prefix", "in_", "--labels", "y"}, "a set holds a class, 1, or not, 0"},
		{exitUsage, []string{"conformal", "eval", crossed, "--low", "low", "--observed", "y"}, "give both"},
		{exitUsage, []string{"conformal", "eval", x, "--labels", y, "--map", m, "--coverage", "0.9"}, "leave"},
		{exitUsage, []string{"conformal", "eval", x, "--labels", y, "--coverage", "2"}, "between 0 and 1"},
		{exitUsage, []string{"conformal", "eval"}, "no predictions are named"},
		{exitData, []string{"conformal", "eval", table, "--map", m, "--mean", "mu", "--std", "sigma", "--observed", "y"}, ""},
	} {
		code, out, errs := candor(t, c.args...)
		if c.want == "" {
			if code == exitDone || code == exitFault {
				t.Errorf("%v: exit code %d", c.args, code)
			}
			continue
		}
		if code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d, want %d: %s%s, want %q", c.args, code, c.code, out, errs, c.want)
		}
	}
	// Too few rows: everything is in every set, and a note says so.
	if out := printed(t, "conformal", "fit", "lac", x, "--labels", y, "--coverage", "0.999"); !strings.Contains(out, "300 rows are too few for a coverage of 0.999, which takes 999") {
		t.Error(out)
	}
}
