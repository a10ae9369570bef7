package main

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// distributed is a small table of forecasts: means, spreads and what was observed.
const distributed = "mu,b,y\n1,0.5,1.2\n2,1,0\n0,2,3\n1,1,1\n5,0.5,5.5\n-2,1.5,-6\n"

// TestDistributions: --distribution makes nll, crps, coverage and the rest those of the law, --scale is its scale parameter, and document,
// text and verdict name it. The figures are scipy's (-logpdf, cdf, ppf) and, of crps, scoringrules'.
func TestDistributions(t *testing.T) {
	d := newDir(t)
	table := d.put("f.csv", []byte(distributed))
	common := []string{"--task", "regression", "--mean", "mu", "--observed", "y", "--metrics", "nll,crps,coverage_50,width_50,pit_p(bins=2),wis,miscalibration_area"}
	for _, c := range []struct {
		law, flag             string
		nll, crps, cover, sum float64 // the last is of widths
		verdict               string
	}{
		{"normal", "--std", 2.0810841137219684, 1.2136933448487237, 0.3333333333333333, 1.4613944587581769, "6 rows."},
		{"laplace", "--std", 2.0821070151974124, 1.2470774315393982, 0.3333333333333333, 1.061946322090926, "6 rows, Laplace distributions."},
		{"logistic", "--std", 2.089650357643515, 1.2273637669390582, 0.3333333333333333, 1.3123428491510911, "6 rows, logistic distributions."},
		{"t(df=5)", "--std", 2.1460488152052517, 1.240872096492808, 0.3333333333333333, 1.2195932857103957, "6 rows, Student's t (df = 5) distributions."},
		{"normal", "--scale", 2.0810841137219684, 1.2136933448487237, 0.3333333333333333, 1.4613944587581769, "6 rows."},
		{"laplace", "--scale", 1.9063112795957597, 1.1716534206618692, 0.3333333333333333, 1.5018188912132147, "6 rows, Laplace distributions."},
		{"logistic", "--scale", 1.8514778275514778, 1.1122679605307424, 0.5, 2.380326625447571, "6 rows, logistic distributions."},
		{"t(df=5)", "--scale", 1.9496004958028035, 1.1796625346771263, 0.3333333333333333, 1.5744881615675823, "6 rows, Student's t (df = 5) distributions."},
	} {
		args := append([]string{table, c.flag, "b", "--distribution", c.law}, common...)
		e := evaluate(t, args...)
		for key, want := range map[string]float64{"nll": c.nll, "crps": c.crps, "coverage_50": c.cover, "width_50": c.sum} {
			if got := e.value(t, key); math.Abs(got-want) > 1e-13*max(1, math.Abs(want)) {
				t.Errorf("%s %s: %s is %.17g, want %.17g", c.law, c.flag, key, got, want)
			}
		}
		if !strings.HasPrefix(e.Verdict, c.verdict+" Off by ") {
			t.Errorf("%s: %q", c.law, e.Verdict)
		}
		_, document, _ := candor(t, append(append([]string{"eval"}, args...), "--json")...)
		if !strings.Contains(document, fmt.Sprintf("\"distribution\": %q", c.law)) || c.law != "normal" && strings.Count(document, c.law+" distributions") < 5 {
			t.Errorf("%s: %s", c.law, document)
		}
		// Rows have the terms of the means.
		code, rows, errs := candor(t, append(append([]string{"score"}, args[:len(args)-2]...), "--metrics", "nll,crps", "-o", d.at("rows.csv"))...)
		if code != 0 {
			t.Fatal(rows, errs)
		}
		sums := [2]float64{}
		for _, line := range strings.Split(strings.TrimSpace(string(d.read(d.at("rows.csv")))), "\n")[1:] {
			var a, b float64
			if _, err := fmt.Sscanf(line, "%g,%g", &a, &b); err != nil {
				t.Fatal(err)
			}
			sums[0], sums[1] = sums[0]+a/6, sums[1]+b/6
		}
		if math.Abs(sums[0]-c.nll) > 1e-13*max(1, math.Abs(c.nll)) || math.Abs(sums[1]-c.crps) > 1e-13 {
			t.Errorf("%s: rows have the means %v", c.law, sums)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"--std b --distribution t(df=2)", "with 2 degrees of freedom or fewer Student's t has no standard deviation; df is above 2"},
		{"--std b --distribution cauchy", `--distribution: there is no distribution "cauchy"; there are normal, laplace, logistic and t(df=N)`},
		{"--std b --scale b", "--std and --scale are both given"},
	} {
		code, _, errs := candor(t, append(append([]string{"eval", table}, strings.Fields(c.args)...), common...)...)
		if code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d: %s", c.args, code, errs)
		}
	}
	if code, _, errs := candor(t, "eval", table, "--task", "samples", "--observed", "y", "--distribution", "laplace"); code != exitUsage || !strings.Contains(errs, "--distribution is for --task regression") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// States remember it: those of another law do not merge.
	for name, law := range map[string]string{"a": "laplace", "b": "laplace", "c": "logistic"} {
		if code, _, errs := candor(t, append([]string{"eval", table, "--std", "b", "--distribution", law, "--state", d.at(name + ".state")}, common...)...); code != 0 {
			t.Fatal(errs)
		}
	}
	if code, out, errs := candor(t, "merge", d.at("a.state"), d.at("b.state")); code != 0 || !strings.HasPrefix(out, "12 rows, Laplace distributions") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if code, _, errs := candor(t, "merge", d.at("a.state"), d.at("c.state")); code == 0 || !strings.Contains(errs, "laplace and logistic distributions") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// A spread that cannot be is told of as the file has it.
	bad := d.put("bad.csv", []byte(strings.Replace(distributed, "2,1,0", "2,-1,0", 1)))
	if code, _, errs := candor(t, append([]string{"eval", bad, "--scale", "b", "--distribution", "laplace"}, common...)...); code != exitData || !strings.Contains(errs, `column "b"`) || !strings.Contains(errs, "-1") || strings.Contains(errs, "-1.4") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
