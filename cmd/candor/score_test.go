package main

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/predictions"
)

// table is what candor score wrote: a column of each metric.
type table map[string][]float64

// vector reads an .npy of one column or several.
func vector(t *testing.T, path string, names ...string) table {
	t.Helper()
	r, err := predictions.Open([]string{path}, &predictions.Options{NoLabels: true, Kind: metrics.Logits})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if k := r.Info().Classes; k != len(names) || r.Info().DType != metrics.Float64 || strings.Count(r.Info().Shape, " ") != min(1, k-1) {
		t.Fatalf("%s has shape %s %s, want one of %v", path, r.Info().Shape, r.Info().DType, names)
	}
	o := table{}
	for {
		c, err := r.Next()
		if err == io.EOF {
			return o
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range c.F64 {
			n := names[i%len(names)]
			o[n] = append(o[n], v)
		}
		c.Recycle()
	}
}

// columns reads what was written.
func columns(t *testing.T, path string, names ...string) table {
	t.Helper()
	switch {
	case strings.HasSuffix(path, ".npz"):
		z, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		o := table{}
		if len(z.File) < len(names) || z.File[len(z.File)-1].Name != predictions.RowMarkArray+".npy" {
			t.Fatalf("%s has %d arrays, and not the mark at its end", path, len(z.File))
		}
		for i, f := range z.File[:len(names)] {
			if n := strings.TrimSuffix(f.Name, ".npy"); n != names[i] {
				t.Fatalf("array %d is %s, want %s", i, n, names[i])
			}
			o[names[i]] = vector(t, path+":"+names[i], names[i])[names[i]]
		}
		return o
	case strings.HasSuffix(path, ".csv"):
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		l, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil || !slices.Equal(l[0], names) {
			t.Fatal(err, l[0])
		}
		o := table{}
		for _, row := range l[1:] {
			for i, s := range row {
				v, err := strconv.ParseFloat(s, 64)
				if err != nil {
					t.Fatal(err)
				}
				o[names[i]] = append(o[names[i]], v)
			}
		}
		return o
	}
	return vector(t, path, names...)
}

// sameBits compares values, NaN being equal to itself.
func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}

// predictions are those of the set as its file has them.
func (s *set) predictions() *metrics.Predictions {
	return &metrics.Predictions{Scores: metrics.Scores{F32: f32(s.probs), Rows: s.rows, Classes: s.classes}, Labels: s.labels}
}

// rowsInMemory returns the values of a metric for the rows of predictions in memory.
func rowsInMemory(t *testing.T, name string, p *metrics.Predictions, o *metrics.Options) []float64 {
	t.Helper()
	m, err := score.ParseRowMetric(name, p.Kind, p.Classes)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, p.Rows)
	if err := m.Rows(dst, p, o); err != nil {
		t.Fatal(err)
	}
	return dst
}

// wantRows returns the rows of metrics in memory.
func wantRows(t *testing.T, p *metrics.Predictions, o *metrics.Options) table {
	t.Helper()
	w := table{}
	for _, n := range []string{"nll", "brier", "entropy", "confidence", "accuracy", "spherical", "rps", "topk_accuracy(k=2)"} {
		w[n] = rowsInMemory(t, n, p, o)
	}
	return w
}

// TestScore: each list of metrics goes to each form of file, from one file and from shards by turns: from both if nothing is left out.
func TestScore(t *testing.T) {
	d, turn := newDir(t), 0
	for _, classes := range []int{2, 700, 1, 10}[:check.Size(2, 4, 4)] {
		task := map[bool]string{true: "binary", false: "classification"}[classes == 1]
		rows := check.Size(10_000, 20_000, 40_000)
		if classes > 2 {
			rows = check.Size(700, 1500, 3000)
		}
		s := newSet(11, rows, classes)
		x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
		cut := rows / 3
		a, b := s.part(0, cut), s.part(cut, rows)
		shard := []string{d.put("part2.npy", a.fortran(t)), d.put("part10.npy", b.scores(t))}
		want := wantRows(t, s.predictions(), nil)
		for _, names := range [][]string{{"nll"}, {"accuracy", "confidence", "nll", "brier", "entropy"}, {"topk_accuracy(k=2)", "brier"}, {"rps", "spherical"}} {
			for _, out := range []string{"rows.npy", "rows.npz", "rows.csv"} {
				turn++
				for i, in := range [][]string{{x}, shard} {
					if !check.Full() && turn%2 == i {
						continue
					}
					list := strings.Join(names, ",")
					if len(names) == 5 {
						list = "default"
					}
					args := append([]string{"score"}, in...)
					args = append(args, "--labels", y, "--task", task, "--metrics", list, "-o", d.at(out), "--threads", fmt.Sprint(len(in)*2))
					code, stdout, stderr := candor(t, args...)
					if code != 0 || stdout != "" || strings.Contains(stderr, "NaN") {
						t.Fatalf("candor %v: exit code %d: %s%s", args, code, stdout, stderr)
					}
					got := columns(t, d.at(out), names...)
					for _, n := range names {
						if !sameBits(got[n], want[n]) {
							t.Errorf("%d classes, %s to %s: rows of %s differ", classes, list, out, n)
						}
					}
				}
			}
		}
	}
	want := []string{"part10.npy", "part2.npy", "rows.csv", "rows.npy", "rows.npz", "x.npy", "y.npy"}
	if l := d.list(); !slices.Equal(l, want) {
		t.Errorf("the folder has %v", l)
	}
}

func TestScoreLeavesRowsOut(t *testing.T) {
	d := newDir(t)
	s := newSet(12, 5000, 4)
	s.probs[0], s.probs[4*1234+2] = math.NaN(), -3
	s.labels[4999] = 7
	s.weights = slices.Repeat([]float64{2}, 5000)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	for _, out := range []string{"rows.npy", "rows.npz", "rows.csv"} {
		// It is an error, and nothing is written.
		code, _, errs := candor(t, "score", x, "--labels", y, "--metrics", "nll", "-o", d.at(out))
		if code != exitData || !strings.Contains(errs, "x.npy: row 0, column 0: score is NaN") || !strings.Contains(errs, "y.npy: row 4999: label is 7") {
			t.Errorf("exit code %d: %s", code, errs)
		}
		if l := d.list(); slices.Contains(l, out) || slices.ContainsFunc(l, func(n string) bool { return strings.HasPrefix(n, ".") }) {
			t.Errorf("the folder has %v", l)
		}
		if code, _, errs = candor(t, "score", x, "--labels", y, "--metrics", "nll,brier,entropy", "--on-invalid", "drop", "-o", d.at(out)); code != 0 ||
			!strings.Contains(errs, "3 bad rows were left out") || !strings.Contains(errs, "3 of 5,000 rows are NaN") {
			t.Errorf("exit code %d: %s", code, errs)
		}
		want := wantRows(t, s.predictions(), &metrics.Options{Drop: true})
		got := columns(t, d.at(out), "nll", "brier", "entropy")
		for n, v := range got {
			if !sameBits(v, want[n]) || v[0] == v[0] || v[1234] == v[1234] || v[4999] == v[4999] || v[1] != v[1] {
				t.Errorf("%s in %s: %v ...", n, out, v[:3])
			}
		}
		// Rows of weight 0 are absent, whatever they hold.
		o := s.clone()
		for i := range o.rows {
			if i%3 == 0 || i == 1234 || i == 4999 {
				o.weights[i] = 0
			}
		}
		w := d.put("w.npy", o.weightFile(t))
		if code, _, errs = candor(t, "score", x, "--labels", y, "--weights", w, "--metrics", "nll", "-o", d.at("w-"+out)); code != 0 || !strings.Contains(errs, "of 5,000 rows are NaN") {
			t.Errorf("exit code %d: %s", code, errs)
		}
		for i, v := range columns(t, d.at("w-"+out), "nll")["nll"] {
			if o.weights[i] == 0 && v == v || o.weights[i] != 0 && v != want["nll"][i] {
				t.Fatalf("row %d is %v", i, v)
			}
		}
		os.Remove(d.at(out))
		os.Remove(d.at("w-" + out))
	}
	// All of them are left out.
	zero := d.put("zero.npy", npy(t, []int64{5000}, make([]float64, 5000)))
	if code, _, errs := candor(t, "score", x, "--labels", y, "--weights", zero, "-o", d.at("r.npy")); code != exitData || !strings.Contains(errs, "no row is left to score: 5,000 rows of weight 0") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestScoreOfSamples(t *testing.T) {
	d := newDir(t)
	s := newSet(13, 3000, 9)
	p := s.predictions()
	p.Kind, p.Observed, p.Labels = metrics.Samples, s.by, nil
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.byFile(t))
	if code, _, errs := candor(t, "score", x, "--labels", y, "--task", "samples", "--metrics", "crps,crps_fair,crps_rolled", "-o", d.at("r.npz")); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	got := columns(t, d.at("r.npz"), "crps", "crps_fair", "crps_rolled")
	for _, n := range []string{"crps", "crps_fair", "crps_rolled"} {
		want := rowsInMemory(t, n, p, nil)
		if !sameBits(got[n], want) {
			t.Errorf("rows of %s differ", n)
		}
	}
	s.by[7] = math.Inf(1)
	y = d.put("y.npy", s.byFile(t))
	if code, _, errs := candor(t, "score", x, "--labels", y, "--task", "samples", "-o", d.at("bad.npy")); code != exitData || !strings.Contains(errs, "y.npy: row 7: ") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestScoreToStandardOutput(t *testing.T) {
	d := newDir(t)
	s := newSet(14, 500, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	code, out, errs := candor(t, "score", x, "--labels", y, "--metrics", "brier", "-o", "-")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if got := vector(t, d.put("r.npy", []byte(out)), "brier")["brier"]; !sameBits(got, wantRows(t, s.predictions(), nil)["brier"]) {
		t.Error("rows differ")
	}
}

func TestScoreErrors(t *testing.T) {
	d := newDir(t)
	s, b := newSet(1, 40, 4), newSet(2, 40, 1)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	bx, by := d.put("b.npy", b.scores(t)), d.put("by.npy", b.labelFile(t))
	files := d.list()
	with := func(a ...string) []string {
		return append([]string{"score", x, "--labels", y, "-o", d.at("r.npy")}, a...)
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{"score"}, "no predictions are named"},
		{exitUsage, []string{"score", x, "--labels", y}, "-o is missing; name a file"},
		{exitUsage, []string{"score", x, "--labels", y, "-o", d.at("r.txt")}, "its extension names no format; end the name in .npy, .npz, .csv, .tsv, .parquet, .arrow, .feather or .arrows"},
		{exitUsage, []string{"score", x, "--labels", y, "-o", y}, "that file is read"},
		{exitUsage, []string{"score", x, "--labels", y, "-o", d.at("none/r.npy")}, "cannot write "},
		{exitUsage, with("--metrics", "ece"), "--metrics: metric ece: it has no value for each row of probs; there are accuracy, top5_accuracy"},
		{exitUsage, with("--metrics", "crps"), "metric crps: it has no value for each row of probs"},
		{exitUsage, with("--metrics", "nlll"), "(did you mean nll?)"},
		{exitUsage, with("--metrics", " , "), "no metric is named"},
		{exitUsage, with("--metrics", "brier(form=odd)"), `form is "odd"`},
		{exitUsage, with("--metrics", "top5_accuracy"), "it is for more than five classes"},
		{exitData, with("--task", "regression"), "normal forecasts have shape (40, 4)"},
		{exitUsage, with("--task", "binary"), "--task binary takes one score a row"},
		{exitUsage, []string{"score", bx, "--labels", by, "--task", "classification", "-o", d.at("r.npy")}, "--task classification takes a score for each class"},
		{exitUsage, with("--task", "samples", "--input", "logits"), "--input does not go with --task samples"},
		{exitUsage, with("--task", "samples", "--renormalize"), "--renormalize is for --input probs"},
		{exitUsage, with("--task", "samples", "--decisions", y), "--decisions does not go with --task samples"},
		{exitUsage, with("--task", "ensemble"), "candor score takes classification, binary, regression, quantiles or samples"},
		{exitUsage, with("--input", "nonsense"), "--input is "},
		{exitUsage, with("--task", "samples", "--metrics", "nll"), "metric nll: it has no value for each row of samples; there are crps,"},
		{exitUsage, with("--threads", "-1"), "--threads is -1"},
		{exitUsage, with("--bins", "3"), "unknown flag: --bins"},
		{exitData, []string{"score", x, "-o", d.at("r.npy")}, "no labels; pass --labels FILE"},
		{exitData, []string{"score", x, "--task", "samples", "-o", d.at("r.npy")}, "no observations; pass --labels obs.npy"},
		{exitData, []string{"score", d.at("nowhere.npy"), "--labels", y, "-o", d.at("r.npy")}, "no such file"},
		{exitData, with("--input", "logprobs"), "row 0: the exponentials sum to"},
	} {
		code, out, errs := candor(t, c.args...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("candor %v: exit code %d, %d bytes of output: %s does not say %q", c.args, code, len(out), errs, c.want)
		}
	}
	if l := d.list(); !slices.Equal(l, files) {
		t.Errorf("the folder has %v, it had %v", l, files)
	}
}

// TestScoreStops: once values cannot be written, no more predictions are read.
func TestScoreStops(t *testing.T) {
	d := newDir(t)
	s := newSet(15, 20_000, 3)
	r, err := predictions.Open([]string{d.put("x.npy", s.scores(t))}, &predictions.Options{Labels: []string{d.put("y.npy", s.labelFile(t))}, BufferBytes: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	file, err := newRowTable(d.at("r.npy"), score.RowMetrics(metrics.Probs, 3, true), 20_000, false)
	if err != nil {
		t.Fatal(err)
	}
	file.remove()
	err = metrics.NewPass(nil, newRowWriter(file)).AddSource(&stopping{Source: r, t: file.arrayFile})
	if err == nil || err != file.failure() || r.BytesRead() > r.Info().Bytes/2 {
		t.Errorf("%v after %d of %d bytes", err, r.BytesRead(), r.Info().Bytes)
	}
}
