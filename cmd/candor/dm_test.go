package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDieboldMarianoOfOtherRows: sets of other numbers of rows are not compared.
func TestDieboldMarianoOfOtherRows(t *testing.T) {
	d := newDir(t)
	a, b := d.put("a.csv", []byte("observed,mean,sd\n1,0,1\n2,2,1\n3,3,1\n")), d.put("b.csv", []byte("observed,mean,sd\n1,0,1\n2,2.5,1\n3,3,0\n4,4,1\n"))
	for _, files := range [][]string{{a, b}, {b, a}} {
		code, _, errs := candor(t, append([]string{"compare", "--task", "regression", "--on-invalid", "drop"}, files...)...)
		if code != exitData || !strings.Contains(errs, "a.csv has no row 3, and "+b+" has one") {
			t.Errorf("%v: exit code %d, %s", files, code, errs)
		}
	}
}

// TestDieboldMarianoSays: the verdict is that of the interval at its level, and weights that are not taken are told.
func TestDieboldMarianoSays(t *testing.T) {
	dir := t.TempDir()
	a, b, w := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv"), "weight"
	text := [2]string{"observed,mean,sd,weight\n", "observed,mean,sd,weight\n"}
	for i := range 8 { // errors of 1 and of 1.1 to 1.8 in turn with 0.9: better at 60%, not at 99.9%
		text[0] += "1,0,1,2\n"
		text[1] += fmt.Sprintf("1,%g,1,2\n", 1-[]float64{0.9, 1.2 + float64(i)/10}[i%2])
	}
	for i, file := range []string{a, b} {
		if err := os.WriteFile(file, []byte(text[i]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for level, want := range map[string]string{"0.6": "a is better than b: RMSE lower by", "0.999": "Neither of a and b is shown to be better"} {
		code, out, errs := candor(t, "compare", "--task", "regression", "--metrics", "rmse", "--confidence", level, "--horizon", "1", a, b)
		if out = strings.Join(strings.Fields(out), " "); code != 0 || !strings.Contains(out, want) || strings.Contains(out, "independent") || errs != "" {
			t.Errorf("level %s: exit code %d, %s, %s", level, code, out, errs)
		}
	}
	code, out, errs := candor(t, "compare", "--task", "regression", "--metrics", "rmse", "--weights", w, "--horizon", "1", "--json", a, b)
	if code != 0 || !strings.Contains(out, `"method": "Diebold-Mariano test, horizon 1`) || !strings.Contains(out, "the Diebold-Mariano test does not support weights") {
		t.Errorf("exit code %d, %s, %s", code, out, errs)
	}
}

// TestInspectDroppedForecasts: the state of forecasts tells how many rows were left out, as one of classes does.
func TestInspectDroppedForecasts(t *testing.T) {
	dir := t.TempDir()
	table, state := filepath.Join(dir, "a.csv"), filepath.Join(dir, "a.state")
	if err := os.WriteFile(table, []byte("observed,mean,sd\n1,0,1\n2,2,1\n3,3,0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := candor(t, "eval", "--task", "regression", "--on-invalid", "drop", "--state", state, table); code != 0 {
		t.Fatal(errs)
	}
	if _, out, errs := candor(t, "inspect", state); !strings.Contains(out, "2 rows, forecasts of numbers, 1 bad rows left out, float64") {
		t.Error(out, errs)
	}
}

// TestDieboldMarianoOfOtherObservations: rows with different observed numbers are not the same data.
func TestDieboldMarianoOfOtherObservations(t *testing.T) {
	d := newDir(t)
	a := d.put("a.csv", []byte("mean,sd,observed\n1,2,3\n1,1,3\n2,1,2\n"))
	b := d.put("b.csv", []byte("mean,sd,observed\n1,3,3\n1,2,4\n2,1,2\n"))
	same := d.put("c.csv", []byte("mean,sd,observed\n1,3,3\n1,2,3\n2,1,2\n"))
	if code, _, errs := candor(t, "compare", a, b, "--task", "regression"); code != exitData || !strings.Contains(errs, "b.csv: row 1: the observed value is 4, and 3 in ") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, out, errs := candor(t, "compare", a, same, "--task", "regression", "--horizon", "1", "--json"); code != 0 || !strings.Contains(out, `"method": "Diebold-Mariano test, horizon 1`) {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestDieboldMarianoWarns: of fewer than 25 rows for each step of the horizon, in a line for people and in the document.
func TestDieboldMarianoWarns(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		rows    int
		horizon string
		warns   bool
	}{{24, "1", true}, {25, "1", false}, {74, "3", true}, {75, "3", false}} {
		text := [2]string{"observed,mean,sd\n", "observed,mean,sd\n"}
		for i := range c.rows {
			text[0] += fmt.Sprintf("%d,0,1\n", i%7)
			text[1] += fmt.Sprintf("%d,%d,1\n", i%7, i%3)
		}
		a, b := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")
		for i, file := range []string{a, b} {
			if err := os.WriteFile(file, []byte(text[i]), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		args := []string{"compare", "--task", "regression", "--metrics", "rmse,crps", "--horizon", c.horizon, a, b}
		says := fmt.Sprintf("%d rows are fewer than 25 times the horizon, %s: ", c.rows, c.horizon)
		for _, format := range []string{"table", "markdown"} {
			out := strings.Join(strings.Fields(printed(t, append(args, "--format", format)...)), " ")
			if n := strings.Count(out, says); n != map[bool]int{true: 1}[c.warns] {
				t.Errorf("%d rows, horizon %s, %s: the warning stands %d times", c.rows, c.horizon, format, n)
			}
		}
	}
}

// TestSureAndWrong: scores of 0 and 1 of which some are wrong are not calibrated, and the tests say so; if none is wrong there is
// nothing against it.
func TestSureAndWrong(t *testing.T) {
	d := newDir(t)
	x := d.put("x.npy", npy(t, []int64{4}, []float64{0, 0, 1, 1}))
	right, wrong := d.put("right.npy", npy(t, []int64{4}, []int64{0, 0, 1, 1})), d.put("wrong.npy", npy(t, []int64{4}, []int64{0, 1, 1, 1}))
	const names = "ks_p,kuiper_p,spiegelhalter_p,spiegelhalter_z"
	for labels, p := range map[string]float64{right: 1, wrong: 0} {
		doc := evaluate(t, x, "--labels", labels, "--metrics", names)
		for _, m := range strings.Split(names, ",")[:3] {
			if v := doc.value(t, m); v != p {
				t.Errorf("%s: %s is %v", filepath.Base(labels), m, v)
			}
		}
	}
	out := printed(t, "eval", x, "--labels", wrong, "--metrics", names, "--json")
	if !strings.Contains(out, `"value": "+Inf"`) {
		t.Error(out)
	}
	if out = printed(t, "eval", x, "--labels", right, "--metrics", names, "--json"); !strings.Contains(out, "and none is wrong") || strings.Contains(out, "Inf") {
		t.Error(out)
	}
}

// TestDieboldMarianoSeries: series in turn are told apart by their column, in tables and in .npz, and are said.
func TestDieboldMarianoSeries(t *testing.T) {
	d := newDir(t)
	r := rand.New(rand.NewPCG(3, 1))
	text := [2]string{"observed,mean,sd,shop\n", "observed,mean,sd,shop\n"}
	const rows = 120
	for i := range rows {
		y := r.NormFloat64()
		for k := range text {
			text[k] += fmt.Sprintf("%v,%v,1,%s\n", y, y+r.NormFloat64(), []string{"north", "south", "east"}[i%3])
		}
	}
	a, b := d.put("a.csv", []byte(text[0])), d.put("b.csv", []byte(text[1]))
	args := []string{"compare", a, b, "--task", "regression", "--metrics", "crps,rmse", "--horizon", "2"}
	one := printed(t, append(args, "--json")...)
	got := printed(t, append(args, "--series", "shop", "--json")...)
	if got == one || strings.Contains(one, "series") || strings.Count(got, `"series": 3`) != 2 || strings.Count(got, "Diebold-Mariano test within each of 3 series, horizon 2, with") != 2 {
		t.Error(got)
	}
	if out := strings.Join(strings.Fields(printed(t, append(args, "--series", "shop")...)), " "); !strings.Contains(out, "Intervals of differences take the series of shop as independent.") {
		t.Error(out)
	}
	if out := printed(t, append(args, "--series", "shop", "--horizon", "41", "--json")...); !strings.Contains(out, "no Diebold-Mariano test: the shortest series has 40 rows, and the horizon is 41") {
		t.Error(out)
	}
	for want, flags := range map[string][]string{
		`--series "shop": it names the column of the series within which --horizon STEPS tests; give both`: {"compare", a, b, "--task", "regression", "--series", "shop"},
		`none.csv: line 3: column "shop": the row has no series; each row needs the name or number of its series`: {"compare", d.put("none.csv", []byte("observed,mean,sd,shop\n1,2,1,north\n2,1,1,\n")),
			d.put("other.csv", []byte("observed,mean,sd,shop\n1,2,1,north\n2,3,1,north\n")), "--task", "regression", "--horizon", "1", "--series", "shop"},
		`none.csv: line 3: column "shop": the row has no series; each row needs the name`: {"compare", d.at("none.csv"), d.at("other.csv"), "--task", "regression", "--horizon", "1", "--series", "shop", "--id", "observed"},
		`two.csv; are these the same rows in the same order?`: {"compare",
			d.put("one.csv", []byte("observed,mean,sd,shop\n1,2,1,north\n2,1,1,north\n3,2,1,south\n")),
			d.put("two.csv", []byte("observed,mean,sd,shop\n1,2,1,north\n2,3,1,south\n3,1,1,south\n")), "--task", "regression", "--horizon", "1", "--series", "shop"},
		`no column "shops" for the series (did you mean "shop"?): its columns are "observed", "mean", "sd", "shop"; name the column that has it by --series`: append(slices.Clone(args), "--series", "shops"),
	} {
		if code, _, errs := candor(t, flags...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("exit code %d: %s", code, errs)
		}
	}
}
