package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/recal"
)

// difference is an element of differences of a document.
type difference struct {
	A, B, Metric   string
	Value, Low     any
	High, P        any
	Method, Reason string
	Outcome        any
}

// number returns a number of a document.
func numberIn(t *testing.T, v any) float64 {
	t.Helper()
	x, ok := v.(float64)
	if !ok {
		t.Fatalf("%v is no number", v)
	}
	return x
}

// changes returns the differences of candor recal fit, by metric.
func changes(t *testing.T, args ...string) (map[string]difference, *recalDocument, bool) {
	t.Helper()
	out := printed(t, append([]string{"recal", "fit", "--json"}, args...)...)
	var v struct {
		recalDocument
		Differences []difference
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	l := map[string]difference{}
	for _, d := range v.Differences {
		if d.A != "before" || d.B != "after" {
			t.Errorf("%v: %s minus %s", args, d.B, d.A)
		}
		l[d.Metric] = d
	}
	return l, &v.recalDocument, v.Differences == nil
}

// rowsOf returns the values of a metric in the rows of data.
func rowsOf(t *testing.T, m metrics.RowMetric, d recal.Data, rows int) []float64 {
	t.Helper()
	src, err := d.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	values, of, at := make([]float64, rows), m.New(), make([]float64, rows)
	w := metrics.NewWalker(nil, m.Need, func(b *metrics.Block) {
		of(at[:b.Rows], b)
		for i := range b.Rows {
			values[b.Number(i)] = at[i]
		}
	})
	for {
		c, err := src.Next()
		if err == io.EOF {
			return values
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Add(c)
	}
}

// meanInterval returns the mean of numbers and its 95% interval by Student's t, whose degrees of freedom are those of the variance of rows
// with their kurtosis.
func meanInterval(d []float64) (mean, low, high float64) {
	n := float64(len(d))
	for _, v := range d {
		mean += v / n
	}
	second, fourth, ss := 0.0, 0.0, 0.0
	for _, v := range d {
		ss += (v - mean) * (v - mean)
		second += v * v / n
		fourth += v * v * v * v / n
	}
	df := math.Max(1, math.Min(n-1, 2*n/(fourth/(second*second)-1)))
	half := distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(0.975) * math.Sqrt(ss/(n-1)/n)
	return mean, mean - half, mean + half
}

// TestRecalDifferences holds the differences of candor recal fit to rows that are mapped and scored by hand.
func TestRecalDifferences(t *testing.T) {
	d := newDir(t)
	for _, classes := range []int{1, 4} {
		s := recalSet(7, 600, classes)
		args := []string{d.put(fmt.Sprint(classes, ".npy"), npy(t, s.shape(), s.probs)), "--labels", d.put(fmt.Sprint(classes, "y.npy"), s.labelFile(t)), "--input", "logits"}
		for _, name := range []string{"temperature", "ets", "platt", "bbq", "isotonic"} {
			m, err := recal.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			data, folds := recal.InMemory(s.logitsOf()), recal.Folds{}
			maps, err := recal.CrossFit(m, data, folds, nil)
			if err != nil {
				t.Fatal(err)
			}
			l, doc, _ := changes(t, append([]string{name}, args...)...)
			for _, metric := range []string{"nll", "brier"} {
				losses := func(d recal.Data) []float64 {
					row, err := score.ParseRowMetric(metric, s.logitsOf().Kind, classes)
					if err != nil {
						t.Fatal(err)
					}
					return rowsOf(t, row, d, s.rows)
				}
				before, after := losses(data), losses(recal.CrossApplied(maps, data, folds))
				m, err := m.Fit(data, nil)
				if err != nil {
					t.Fatal(err)
				}
				apart := losses(recal.OpenFunc(func() (recal.Source, error) {
					src, err := data.Open()
					if err != nil {
						return nil, err
					}
					return &appliedSource{recal.Applied(m, src), src}, nil
				}))
				for i := range after {
					apart[i] -= after[i]
					after[i] -= before[i]
				}
				mean, low, high := meanInterval(after)
				// The variance of the maps' is 5 times that of what those of folds and of all rows differ in.
				shift, _, _ := meanInterval(apart)
				own, maps := 0.0, 0.0
				for i := range after {
					own += (after[i] - mean) * (after[i] - mean)
					maps += (apart[i] - shift) * (apart[i] - shift)
				}
				wider := math.Sqrt(1 + 5*maps/own)
				low, high = mean-(mean-low)*wider, mean+(high-mean)*wider
				g := l[metric]
				if math.IsInf(mean, 0) {
					if g.Value != "+Inf" || g.Low != nil || !strings.Contains(g.Reason, "after gives probability 0 to the true class of ") {
						t.Errorf("%d classes, %s: %s is %+v, and +Inf by hand", classes, name, metric, g)
					}
					continue
				}
				if numberIn(t, g.Value) != doc.After.value(t, metric)-doc.Before.value(t, metric) {
					t.Errorf("%d classes, %s: the difference in %s is %v, of %v and %v", classes, name, metric, g.Value, doc.After.value(t, metric), doc.Before.value(t, metric))
				}
				for _, c := range [][2]float64{{numberIn(t, g.Value), mean}, {numberIn(t, g.Low), low}, {numberIn(t, g.High), high}} {
					if !(math.Abs(c[0]-c[1]) < 1e-9) {
						t.Errorf("%d classes, %s: %s is %+v, and by hand %v [%v, %v]", classes, name, metric, g, mean, low, high)
						break
					}
				}
				if !strings.HasSuffix(g.Method, "rows taken as independent; widened by how maps of other rows differ") {
					t.Errorf("%s: the method is %q", metric, g.Method)
				}
			}
			if _, there := l["accuracy"]; there != (name != "temperature" && name != "ets") {
				t.Errorf("%s: a difference in accuracy: %v", name, there)
			}
			if g := l["ece"]; g.Low != nil || numberIn(t, g.Value) != doc.After.value(t, "ece")-doc.Before.value(t, "ece") || !strings.Contains(g.Reason, "calibration_error_squared has one") {
				t.Errorf("%s: ece is %+v", name, g)
			}
			if g := l["calibration_error_squared"]; g.Low == nil || g.Outcome == nil {
				t.Errorf("%s: calibration_error_squared is %+v", name, g)
			}
		}
	}
}

// TestRecalDifferencesSaid: the text says what recalibration changes, and differences without an interval have a reason.
func TestRecalDifferencesSaid(t *testing.T) {
	d := newDir(t)
	// A model whose logits are too large.
	s := newSet(3, 2000, 3).each(func(p float64) float64 { return 2 * math.Log(p) })
	args := []string{d.put("x.npy", npy(t, s.shape(), s.probs)), "--labels", d.put("y.npy", s.labelFile(t)), "--input", "logits"}
	l, _, _ := changes(t, append([]string{"temperature"}, args...)...)
	if l["nll"].Outcome != "better" {
		t.Errorf("nll is %+v", l["nll"])
	}
	text := printed(t, append([]string{"recal", "fit", "temperature"}, args...)...)
	for _, want := range []string{"\nNLL falls by 0.", "\nDifferences, after minus before:\n", "Intervals of differences take rows as independent.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
	// What is nearly scaled already.
	calm := s.clone().each(func(z float64) float64 { return z / 4.6 })
	args[0] = d.put("calm.npy", npy(t, calm.shape(), calm.probs))
	for _, format := range []string{"table", "markdown"} {
		if text := printed(t, append([]string{"recal", "fit", "temperature", "--format", format}, args...)...); !strings.Contains(text, "\nNo change of NLL is shown: ") {
			t.Errorf("%s", text)
		}
	}
	if text := printed(t, append([]string{"recal", "fit", "platt", "--metrics", "accuracy,nll", "--format", "csv"}, args...)...); !strings.Contains(text, "after - before outcome") {
		t.Errorf("%s", text)
	}
	// Other kinds of forecasts before and after.
	f := normalRows(5, 300)
	table := []string{d.put("f.csv", f.csv()), "--mean", "mu", "--std", "sigma", "--observed", "y"}
	l, doc, _ := changes(t, append([]string{"quantile"}, table...)...)
	if g := l["coverage_50"]; g.Low != nil || numberIn(t, g.Value) != doc.After.value(t, "coverage_50")-doc.Before.value(t, "coverage_50") || !strings.Contains(g.Reason, "other kinds") {
		t.Errorf("coverage_50 is %+v", g)
	}
	if l, _, _ = changes(t, append([]string{"sigma"}, table...)...); l["crps"].Low == nil {
		t.Errorf("crps is %+v", l["crps"])
	}
	// exact keeps rows.
	if l, _, _ = changes(t, append([]string{"temperature", "--metrics", "ks(exact),nll"}, args...)...); l["nll"].Low != nil || !strings.Contains(l["nll"].Reason, "exact keeps every row") {
		t.Errorf("nll is %+v", l["nll"])
	}
	// Without a map of a fold there is nothing to compare.
	few := newSet(1, 40, 3)
	for i := range few.rows {
		row := few.probs[3*i : 3*i+3]
		few.labels[i] = int32(slices.Index(row, slices.Max(row)))
	}
	few.labels[0] = (few.labels[0] + 1) % 3 // the fold of this row is fitted to rows that all are right
	_, none, null := changes(t, "temperature", d.put("few.npy", few.scores(t)), "--labels", d.put("fewy.npy", few.labelFile(t)))
	if none.After != nil || !null || none.Reason == "" {
		t.Errorf("%+v", none)
	}
}

// Where there is no room for the scores of clusters, metrics that need them have no interval, and all others have the one that they have with
// more memory.
func TestChangesOfManyScoresInClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it fits 60,000 rows")
	}
	d, s := newDir(t), newSet(77, 60_000, 1)
	clusters := make([]int32, s.rows)
	for i := range clusters {
		clusters[i] = int32(i / 300)
	}
	args := []string{"temperature", d.put("x.npy", s.scores(t)), "--labels", d.put("y.npy", s.labelFile(t)), "--cluster", d.put("g.npy", npy(t, []int64{int64(s.rows)}, clusters)),
		"--metrics", "nll,brier,accuracy,calibration_error_squared"}
	little, _, _ := changes(t, append([]string{"--max-memory", "80MiB"}, args...)...)
	much, _, _ := changes(t, append([]string{"--max-memory", "600MiB"}, args...)...)
	if len(little) != len(much) {
		t.Errorf("with little memory there are %d differences, with more %d", len(little), len(much))
	}
	for name, m := range much {
		l := little[name]
		switch {
		case name == "calibration_error_squared":
			if l.Low != nil || m.Low == nil || !strings.Contains(l.Reason, "clusters or more take more memory than there is: pass --max-memory ") || numberIn(t, l.Value) != numberIn(t, m.Value) {
				t.Errorf("%s is %+v with little memory, and %+v", name, l, m)
			}
		case m.Low == nil || l.Low == nil || numberIn(t, l.Low) != numberIn(t, m.Low) || numberIn(t, l.Value) != numberIn(t, m.Value):
			t.Errorf("%s is %+v with little memory, and %+v", name, l, m)
		}
	}
}
