package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/recal"
)

// comparedBy returns the differences of candor compare --json, by names of sets and metric.
func comparedBy(t *testing.T, args ...string) map[string]difference {
	t.Helper()
	var v struct{ Differences []difference }
	if err := json.Unmarshal([]byte(printed(t, append([]string{"compare", "--json"}, args...)...)), &v); err != nil {
		t.Fatal(err)
	}
	l := map[string]difference{}
	for _, d := range v.Differences {
		l[d.B+"-"+d.A+" "+d.Metric] = d
	}
	return l
}

// TestCompareScaledPairs holds differences after temperature scaling to rows that are scaled and scored by hand.
func TestCompareScaledPairs(t *testing.T) {
	d := newDir(t)
	for _, classes := range []int{1, 3} {
		s := newSet(5, 700, classes)
		r := rand.New(rand.NewPCG(5, 6))
		noisy := s.each(func(p float64) float64 { return p * math.Exp(0.5*r.NormFloat64()) })
		for i := range noisy.rows {
			row := noisy.probs[i*classes : (i+1)*classes]
			sum := 0.0
			for _, p := range row {
				sum += p
			}
			if classes == 1 {
				sum = 1 + row[0]
			}
			for k := range row {
				row[k] /= sum
			}
		}
		args := []string{d.put("a.npy", npy(t, s.shape(), s.probs)), d.put("b.npy", npy(t, s.shape(), noisy.probs)), "--labels", d.put("y.npy", s.labelFile(t)), "--seed", "4", "--metrics", "nll,brier"}
		plain, l := comparedBy(t, args...), comparedBy(t, append(args, "--temperature-scaled")...)
		for _, metric := range []string{"nll", "brier"} {
			var rows [2][]float64
			for m, of := range []*set{s, noisy} {
				p := &metrics.Predictions{Scores: metrics.Scores{F64: of.probs, Rows: s.rows, Classes: classes}, Labels: s.labels}
				data, folds := recal.InMemory(p), recal.Folds{Seed: 4}
				maps, err := recal.CrossFit(recal.Temperature{}, data, folds, nil)
				if err != nil {
					t.Fatal(err)
				}
				row, err := score.ParseRowMetric(metric, metrics.Probs, classes)
				if err != nil {
					t.Fatal(err)
				}
				rows[m] = rowsOf(t, row, recal.CrossApplied(maps, data, folds), s.rows)
			}
			for i := range rows[1] {
				rows[1][i] -= rows[0][i]
			}
			mean, low, high := meanInterval(rows[1])
			g := l["b-a "+metric+"_temperature_scaled"]
			for _, c := range [][2]float64{{numberIn(t, g.Value), mean}, {numberIn(t, g.Low), low}, {numberIn(t, g.High), high}} {
				if !(math.Abs(c[0]-c[1]) < 1e-9) {
					t.Errorf("%d classes: %s is %+v, and by hand %v [%v, %v]", classes, metric, g, mean, low, high)
					break
				}
			}
			if p := numberIn(t, g.P); (p < 0.05) != (g.Outcome != "undecided") || !strings.HasSuffix(g.Method, "; rows taken as independent, fitted temperatures as fixed") {
				t.Errorf("%d classes: %s is %+v", classes, metric, g)
			}
			if fmt.Sprint(plain["b-a "+metric]) != fmt.Sprint(l["b-a "+metric]) {
				t.Errorf("the flag changes %s from %+v to %+v", metric, plain["b-a "+metric], l["b-a "+metric])
			}
		}
		if g := l["b-a ece_temperature_scaled"]; g.Low != nil || g.Value == nil || !strings.Contains(g.Reason, "calibration_error_squared has one") {
			t.Errorf("ece_temperature_scaled is %+v", g)
		}
		if g := l["b-a temperature"]; g.Low != nil || g.Value == nil || !strings.Contains(g.Reason, "an interval of its own") {
			t.Errorf("temperature is %+v", g)
		}
		// Neither threads nor the baseline change a digit, and the same set twice differs by 0.
		if one := comparedBy(t, append(args, "--temperature-scaled", "--threads", "1", "--baseline", "a")...); fmt.Sprint(one) != fmt.Sprint(l) {
			t.Errorf("with one thread\n%v\nnot\n%v", one, l)
		}
		if g := comparedBy(t, append([]string{args[0], args[0]}, append(args[2:], "--temperature-scaled")...)...)["a (2)-a nll_temperature_scaled"]; g.Value != 0. || g.Low != 0. || g.High != 0. || g.P != 1. {
			t.Errorf("of the same set: %+v", g)
		}
	}
}

// TestCompareScaledModels: what --temperature-scaled pairs goes into words, gates, margins, tables and models of one table.
func TestCompareScaledModels(t *testing.T) {
	d := newDir(t)
	a, b, y := pair(t, d, 1)
	args := []string{a, b, "--labels", y, "--metrics", "nll,accuracy", "--temperature-scaled"}
	text := printed(t, append([]string{"compare"}, args...)...)
	for _, want := range []string{"NLL after temperature scaling ", "those after temperature scaling also take", "\n nll_temperature_scaled "} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
	if csv := printed(t, append([]string{"compare", "--format", "csv"}, args...)...); !regexp.MustCompile(`(?m)^nll_temperature_scaled,.*,(undecided|better|worse)$`).MatchString(csv) {
		t.Errorf("%s", csv)
	}
	code, _, errs := candor(t, append([]string{"compare", "--fail-if", "delta.nll_temperature_scaled.low>-9"}, args...)...)
	if code != exitGate || !strings.Contains(errs, "delta.nll_temperature_scaled.low>-9: it is ") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if text := printed(t, append([]string{"compare", "--margin", "nll_temperature_scaled=9"}, args...)...); !strings.Contains(text, "equivalent within 9") {
		t.Errorf("%s", text)
	}
	refusedAs(t, d, exitUsage, append([]string{"compare", "--state", d.at("s.state")}, args...), "--temperature-scaled does not go with --state", "no state has them")
	refusedAs(t, d, exitUsage, append([]string{"compare", "--margin", "temperature=9"}, args...), "--margin temperature")
	// One table.
	var table strings.Builder
	fmt.Fprintln(&table, "old,new,label")
	s := newSet(8, 300, 1)
	for i, p := range s.probs {
		fmt.Fprintf(&table, "%v,%v,%d\n", p, p*p, s.labels[i])
	}
	file := d.put("models.csv", []byte(table.String()))
	square := s.each(func(p float64) float64 { return p * p })
	apart := comparedBy(t, d.put("old.npy", npy(t, s.shape(), s.probs)), d.put("new.npy", npy(t, s.shape(), square.probs)), "--labels", d.put("label.npy", s.labelFile(t)), "--temperature-scaled")
	if one := comparedBy(t, file, "--prob", "old=old", "--prob", "new=new", "--label", "label", "--temperature-scaled"); fmt.Sprint(one) != fmt.Sprint(apart) {
		t.Errorf("of one table\n%v\nnot\n%v", one, apart)
	}
	// Three sets, of which one is right in all rows: it has no temperature.
	right := s.clone()
	for i, y := range s.labels {
		right.probs[i] = 0.1 + 0.8*float64(y)
	}
	l := comparedBy(t, d.at("old.npy"), d.at("new.npy"), d.put("right.npy", npy(t, s.shape(), right.probs)), "--labels", d.at("label.npy"), "--temperature-scaled")
	if g := l["new-old nll_temperature_scaled"]; g.Value == nil || g.Low != nil || !strings.Contains(g.Reason, "not read side by side") {
		t.Errorf("%+v", g)
	}
	if g := l["right-old nll_temperature_scaled"]; g.Value != nil || g.Reason == "" {
		t.Errorf("%+v", g)
	}
	// Rows that --id matches are scaled in the order of the first set.
	var one, two strings.Builder
	fmt.Fprintln(&one, "id,p,label")
	fmt.Fprintln(&two, "id,p,label")
	for i := range s.rows {
		fmt.Fprintf(&one, "r%d,%v,%d\n", i, s.probs[i], s.labels[i])
		k := (i*7 + 3) % s.rows // 7 and 300 have no common factor
		fmt.Fprintf(&two, "r%d,%v,%d\n", k, square.probs[k], s.labels[k])
	}
	if matched := comparedBy(t, d.put("old.csv", []byte(one.String())), d.put("new.csv", []byte(two.String())), "--id", "id", "--prob", "p", "--label", "label", "--temperature-scaled"); fmt.Sprint(matched) != fmt.Sprint(apart) {
		t.Errorf("matched by id\n%v\nnot\n%v", matched, apart)
	}
}
