package main

import (
	"encoding/json"
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

func TestConformalRefuses(t *testing.T) {
	d := newDir(t)
	x, y := conformalRows(t, d, 1)
	m := d.at("map.json")
	printed(t, "conformal", "fit", "lac", x, "--labels", y, "-o", m)
	two := newSet(3, 20, 4)
	four := d.put("four.npy", two.scores(t))
	crossed := d.put("crossed.csv", []byte("low,high,y\n0,1,0\n2,1,0\n"))
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
		{exitData, []string{"conformal", "eval", crossed, "--low", "low", "--high", "high", "--observed", "y"}, "line 3"},
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
