package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// listedDifferences returns the differences of candor compare --json.
func listedDifferences(t *testing.T, args ...string) []difference {
	t.Helper()
	var v struct{ Differences []difference }
	if err := json.Unmarshal([]byte(printed(t, append([]string{"compare", "--json"}, args...)...)), &v); err != nil {
		t.Fatal(err)
	}
	return v.Differences
}

// TestEnsembleDifferences: differences of ensembles are those of the means of their members, and the sets' own values differ by them.
func TestEnsembleDifferences(t *testing.T) {
	d := newDir(t)
	for _, classes := range []int{1, 3} {
		s := newSet(31, 300, classes)
		y := d.put("y.npy", s.labelFile(t))
		r := rand.New(rand.NewPCG(1, 2))
		var args, means []string
		for _, name := range []string{"a", "b"} {
			mean := s.clone()
			for i := range mean.probs {
				mean.probs[i] = 0
			}
			for m := range 2 {
				one := s.each(func(p float64) float64 { return p * math.Exp(0.4*r.NormFloat64()) })
				for i := range one.rows {
					row, sum := one.probs[i*classes:(i+1)*classes], 0.0
					for _, p := range row {
						sum += p
					}
					if classes == 1 {
						sum = 1 + row[0]
					}
					for k := range row {
						row[k] /= sum
						mean.probs[i*classes+k] += row[k] / 2
					}
				}
				d.put(fmt.Sprint(name, m, ".npy"), npy(t, s.shape(), one.probs))
			}
			args, means = append(args, d.at(name+"[01].npy")), append(means, d.put(name+"mean.npy", npy(t, s.shape(), mean.probs)))
		}
		more := []string{"--labels", y, "--margin", "nll=0.01"}
		got, want := comparedBy(t, append(append(args, "--task", "ensemble"), more...)...), comparedBy(t, append(means, more...)...)
		paired := 0
		for k, g := range got {
			_, metric, _ := strings.Cut(k, " ")
			w, there := want["bmean-amean "+metric]
			if !there { // of members
				if g.Low != nil || g.Reason != notOfRows && numberIn(t, g.Value) == numberIn(t, g.Value) {
					t.Errorf("%s: %+v", metric, g)
				}
				continue
			}
			if g.Low != nil {
				paired++
			}
			if fmt.Sprint(g.Value, g.Low, g.High, g.P, g.Method, g.Reason, g.Outcome) != fmt.Sprint(w.Value, w.Low, w.High, w.P, w.Method, w.Reason, w.Outcome) {
				t.Errorf("%d classes: %s is %+v, and of the means %+v", classes, metric, g, w)
			}
		}
		if paired < 5 {
			t.Errorf("%d differences have intervals", paired)
		}
		if code, _, errs := candor(t, append([]string{"compare"}, append(append(args, "--task", "ensemble", "--fail-if", "delta.nll.low>0", "--require", "delta.nll.high<5"), more...)...)...); code != exitDone {
			t.Errorf("exit code %d: %s", code, errs)
		}
		if x := comparedBy(t, args[0], args[0], "--task", "ensemble", "--labels", y, "--metrics", "nll")["a[01] (2)-a[01] nll"]; x.Value != 0. || x.Low != 0. || x.P != 1. {
			t.Errorf("an ensemble against itself: %+v", x)
		}
	}
	s := newSet(31, 300, 3)
	pipe := append([]string{"compare", "-", d.at("b[01].npy"), "--task", "ensemble", "--labels", d.at("y.npy"), "--json"}, "--metrics", "nll")
	three := []int64{2, int64(s.rows), 3}
	f, err := os.Open(d.put("in.npy", npy(t, three, append(append([]float64{}, s.probs...), s.probs...))))
	if err != nil {
		t.Fatal(err)
	}
	stdin := os.Stdin
	os.Stdin = f
	defer func() { os.Stdin = stdin; f.Close() }()
	if code, out, errs := candor(t, pipe...); code != exitDone || !strings.Contains(out, "rows are read once more for differences, and standard input is read once") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestCompareSequences: what sequences and exact add takes nothing from the differences of rows.
func TestCompareSequences(t *testing.T) {
	d := newDir(t)
	a, b, y := pair(t, d, 3)
	n := evaluate(t, a, "--labels", y).Input.Rows
	sequences := make([]int64, n)
	for i := range sequences {
		sequences[i] = int64(i / 7)
	}
	q := d.put("q.npy", npy(t, []int64{int64(len(sequences))}, sequences))
	plain := comparedBy(t, a, b, "--labels", y, "--metrics", "nll,accuracy,calibration_auc,ece")
	for _, more := range [][]string{{"--sequence", q, "--metrics", "nll,accuracy,calibration_auc,ece,sequence_nll"}, {"--metrics", "nll,accuracy,calibration_auc,ece,ks(exact)"}} {
		got := comparedBy(t, append([]string{a, b, "--labels", y}, more...)...)
		for k, w := range plain {
			if fmt.Sprint(got[k]) != fmt.Sprint(w) {
				t.Errorf("%v: %s is %+v, not %+v", more, k, got[k], w)
			}
		}
		for k, g := range got {
			if _, there := plain[k]; !there && (g.Low != nil || g.Value == nil || g.Reason == "") {
				t.Errorf("%s is %+v", k, g)
			}
		}
		if len(plain) != 4 || len(got) != 5 {
			t.Errorf("%d differences, and %d", len(plain), len(got))
		}
	}
	byCluster := listedDifferences(t, a, b, "--labels", y, "--metrics", "nll", "--sequence", q, "--cluster", q)
	if want := listedDifferences(t, a, b, "--labels", y, "--metrics", "nll", "--cluster", q); fmt.Sprint(byCluster[0]) != fmt.Sprint(want[0]) || !strings.Contains(want[0].Method, "clustered") {
		t.Errorf("%+v, not %+v", byCluster[0], want[0])
	}
}

// TestApartFlips: of ensembles, sequences and exact metrics the rows whose decisions differ are those of a comparison of the rows, and
// so are groups.
func TestApartFlips(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 500, 3)
	a, b, y := d.put("a.npy", npy(t, s.shape(), s.probs)), d.put("b.npy", npy(t, s.shape(), newSet(2, 500, 3).probs)), d.put("y.npy", s.labelFile(t))
	of := make([]int64, s.rows)
	for i := range of {
		of[i] = int64(i / 7)
	}
	n := len(of)
	q := d.put("q.npy", npy(t, []int64{int64(n)}, of))
	for i := range of {
		of[i] = int64(i % 3)
	}
	g := d.put("g.npy", npy(t, []int64{int64(n)}, of))
	printed(t, "compare", a, b, "--labels", y, "--metrics", "nll", "--flips", d.at("plain.csv"))
	want, err := os.ReadFile(d.at("plain.csv"))
	if err != nil || strings.Count(string(want), "\n") < 10 {
		t.Fatalf("%.300s %v", want, err)
	}
	for i, more := range [][]string{{"--sequence", q}, {"--metrics", "nll,ks(exact)"}, {"--metrics", "ks(exact)"}} {
		name := d.at(fmt.Sprint(i, ".csv"))
		text := printed(t, append([]string{"compare", a, b, "--labels", y, "--flips", name}, more...)...)
		if got, err := os.ReadFile(name); err != nil || string(got) != string(want) || !strings.Contains(text, "The first 20 rows whose decisions differ; ") {
			t.Errorf("%v: %.300s %v\n%s", more, got, err, text)
		}
	}
	grouped := func(metrics string) string {
		var v struct {
			Groups json.RawMessage `json:"group_differences"`
		}
		if err := json.Unmarshal([]byte(printed(t, "compare", a, b, "--labels", y, "--group", g, "--metrics", metrics, "--json")), &v); err != nil || v.Groups == nil {
			t.Fatal(err)
		}
		return string(v.Groups)
	}
	if got, want := grouped("nll,ks(exact)"), grouped("nll"); got != want {
		t.Errorf("groups with exact are %.300s, not %.300s", got, want)
	}
	args := []string{"compare", d.at("[ab].npy"), d.at("[ab].npy"), "--task", "ensemble", "--labels", y}
	refusedAs(t, d, exitUsage, append(args, "--state", d.at("s")), "--state: an ensemble's rows are the means of its members; write a state for each ensemble by candor eval --state, or compare files of the means of the members")
	if text := printed(t, append([]string{"compare"}, hubArgs("--output-type", "quantile", "--baseline", "PSI-DICE", "--group", "location", "--min-rows", "2")...)...); !strings.Contains(text, "Differences by location") {
		t.Error(text)
	}
}

// TestCompareModelsByKey holds differences of models of a hub to those of the rows that both have, by hand, and by clusters.
func TestCompareModelsByKey(t *testing.T) {
	d := newDir(t)
	r := rand.New(rand.NewPCG(5, 5))
	var hub, truth strings.Builder
	hub.WriteString("model_id,location,horizon,target,output_type,output_type_id,value\n")
	truth.WriteString("location,horizon,target,oracle_value\n")
	var both []float64
	for location := range 12 {
		for horizon := range 6 {
			seen := 5 + r.NormFloat64()
			fmt.Fprintf(&truth, "L%d,%d,x,%v\n", location, horizon, seen)
			var loss [2]float64
			for m, name := range []string{"one", "two"} {
				if loss[m] = math.NaN(); (location+7*horizon+2*m)%5 == 1 {
					continue // each lacks other rows
				}
				v := seen + r.NormFloat64()*(1+0.3*float64(m))
				fmt.Fprintf(&hub, "%s,L%d,%d,x,median,NA,%v\n", name, location, horizon, v)
				loss[m] = math.Abs(v - seen)
			}
			if gap := loss[1] - loss[0]; gap == gap {
				both = append(both, gap)
			}
		}
	}
	args := []string{d.put("hub.csv", []byte(hub.String())), "--from", "hubverse", "--oracle", d.put("oracle.csv", []byte(truth.String())), "--on-unmatched", "drop", "--metrics", "mae,rmse,ae_median"}
	code, out, errs := candor(t, append([]string{"compare", "--json"}, args...)...)
	if code != exitDone {
		t.Fatal(errs)
	}
	var v struct {
		Differences []struct {
			difference
			Rows int
		}
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	mean, low, high := meanInterval(both)
	g := v.Differences[0]
	if g.Metric != "mae" || g.Rows != len(both) || math.Abs(numberIn(t, g.Value)-mean) > 1e-12 || math.Abs(numberIn(t, g.Low)-low) > 1e-9 || math.Abs(numberIn(t, g.High)-high) > 1e-9 {
		t.Errorf("%+v, and by hand %v [%v, %v] of %d rows", g, mean, low, high, len(both))
	}
	for _, x := range v.Differences {
		if x.Low == nil || x.Rows != len(both) {
			t.Errorf("%+v", x)
		}
	}
	c := comparedBy(t, append(args, "--cluster", "location")...)["two-one mae"]
	if math.Abs(numberIn(t, c.Value)-mean) > 1e-12 || !strings.Contains(c.Method, "clustered") || numberIn(t, c.Low) == low {
		t.Errorf("%+v", c)
	}
	// Little memory, and too many models.
	if l := listedDifferences(t, append(hubArgs("--output-type", "quantile"), "--baseline", "PSI-DICE")...); l[0].A != "PSI-DICE" || l[0].B != "Flusight-baseline" {
		t.Errorf("%+v", l[0])
	}
	many := []string{"compare", d.put("many.csv", manyModels()), "--from", "hubverse", "--oracle", d.put("o.csv", []byte("location,target,oracle_value\nL0,x,1\nL1,x,2\n")), "--json"}
	code, out, errs = candor(t, many...)
	if code != exitDone || !strings.Contains(out, "there are no differences: 21 sets make 210 pairs; name one with which all others are compared: --baseline m0") || strings.Contains(out, `"differences"`) {
		t.Errorf("exit code %d: %s %.300s", code, errs, out)
	}
	if code, out, errs = candor(t, append(many, "--baseline", "m3")...); code != exitDone || strings.Count(out, `"a": "m3"`) < 20 {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// manyModels is a hub's table of 21 models.
func manyModels() []byte {
	var b strings.Builder
	b.WriteString("model_id,location,target,output_type,output_type_id,value\n")
	for m := range 21 {
		for l := range 2 {
			fmt.Fprintf(&b, "m%d,L%d,x,median,NA,%d\n", m, l, m+l)
		}
	}
	return []byte(b.String())
}
