package calib_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/predictions"
)

type input struct {
	Probs  json.RawMessage
	Labels []int32
	rows   *metrics.Predictions // set by load
}

// load returns the rows of an input. One-dimensional inputs are widened to [1-p, p], as in the reference.
func (in input) load(t *testing.T) *metrics.Predictions {
	t.Helper()
	if in.rows != nil {
		p := *in.rows
		return &p
	}
	var two [][]float64
	if json.Unmarshal(in.Probs, &two) != nil {
		two = nil
		var one []float64
		if err := json.Unmarshal(in.Probs, &one); err != nil {
			t.Fatal(err)
		}
		for _, p := range one {
			two = append(two, []float64{1 - p, p})
		}
	}
	if len(two[0]) == 1 {
		for i := range two {
			two[i] = []float64{1 - two[i][0], two[i][0]}
		}
	}
	p := &metrics.Predictions{Labels: in.Labels}
	p.Rows, p.Classes = len(two), len(two[0])
	for _, r := range two {
		p.F64 = append(p.F64, r...)
	}
	return p
}

// small holds gce_small once it has been read.
var small struct {
	Inputs map[string]input
	Cases  [][]any
}

func readSmall(t *testing.T) {
	t.Helper()
	if small.Inputs != nil {
		return
	}
	check.Golden(t, "../../testdata/golden", "gce_small.json.gz", &small)
	if len(small.Inputs) < 20 || len(small.Cases) != 11808 {
		t.Fatalf("only %d inputs and %d cases", len(small.Inputs), len(small.Cases))
	}
	for name, in := range small.Inputs {
		in.rows = in.load(t)
		small.Inputs[name] = in
	}
}

func smallInputs(t *testing.T) map[string]input {
	readSmall(t)
	return small.Inputs
}

// smallCases returns for each case: input, scheme, whether of the top class, whether by class, threshold, norm, bins, points
// per bin, and result.
func smallCases(t *testing.T) [][]any {
	readSmall(t)
	return small.Cases
}

// bins feeds reference cases; some of them have probabilities above 1 or rows that do not sum to 1.
func bins(t *testing.T, p *metrics.Predictions, o calib.Options) *calib.Bins {
	t.Helper()
	b := metrics.Must(calib.NewBins(&o))
	if err := metrics.NewPass(&metrics.Options{Unchecked: true}, b).Add(p); err != nil {
		t.Fatal(err)
	}
	return b
}

func like(t *testing.T, system string, n int) calib.Options {
	o, err := calib.Like(system)
	if err != nil {
		t.Fatal(err)
	}
	o.Bins = n
	return o
}

// orZero returns 0 for NaN: uncertainty_metrics returns 0 if there are no scores.
func orZero(e float64) float64 {
	if math.IsNaN(e) {
		return 0
	}
	return e
}

func near(got, want, tol float64) bool {
	return got == want || math.Abs(got-want) <= tol*math.Max(1, math.Abs(want))
}

func TestGoldenSmall(t *testing.T) {
	inputs := smallInputs(t)
	n := map[bool]int{}
	for _, c := range smallCases(t) {
		scheme, maxProb, classwise := c[1].(string), c[2].(bool), c[3].(bool)
		threshold, norm := c[4].(float64), c[5].(string)
		if scheme != "even" || classwise || threshold != 0 {
			continue
		}
		o := like(t, "um", int(c[6].(float64)))
		if !maxProb {
			o.Event = calib.AllClasses
		}
		b := bins(t, inputs[c[0].(string)].load(t), o)
		got := b.ECE()
		if norm == "l2" {
			got = b.RMSCE()
		}
		if b.Len() == 0 {
			got = 0 // the reference returns 0 if there are no scores
		}
		if !near(got, c[8].(float64), 1e-12) {
			t.Errorf("%v: %v", c, got)
		}
		n[maxProb]++
	}
	t.Logf("%d top-label cases, %d of all classes", n[true], n[false])
	if n[true] < 250 || n[false] < 250 {
		t.Errorf("cases are missing: %v", n)
	}
}

func TestGoldenSideBySide(t *testing.T) {
	inputs := smallInputs(t)
	type closure struct {
		ECE, MCE, RMSCE float64
		EqualWeight     float64 `json:"ace_equal_weight"`
		Counts          []int64
	}
	var g struct {
		Rows []struct {
			Input      string
			NumBins    int       `json:"num_bins"`
			UM         float64   `json:"um_numpy_ece"`
			TF         float64   `json:"um_tf_ece"`
			TFCounts   []float64 `json:"um_tf_counts"`
			Weighted   float64   `json:"rm_weighted_ece"`
			Guo        *float64  `json:"guo_torch_ece_f64"`
			Blog       float64   `json:"blog_ece"`
			BlogCounts []int64   `json:"blog_ece_effective_counts"`
			NN         float64   `json:"nn_calibration_ece"`
			NNMCE      float64   `json:"nn_calibration_mce"`
			UQ         any       `json:"uq_benchmark_ece"` // a number, "NaN", or nil for an error
			Left       closure   `json:"left_closed_clip"`
			Right      closure   `json:"right_closed_clip"`
			LeftEdges  closure   `json:"left_closed_edges_clip"`
			Brier      float64   `json:"brier_sum_squares_plus1"`
		}
	}
	check.Golden(t, "../../testdata/golden", "ece_side_by_side.json", &g)
	if len(g.Rows) < 100 {
		t.Fatalf("only %d rows", len(g.Rows))
	}
	guo, uq := 0, map[string]int{}
	unchecked := &metrics.Options{Unchecked: true}
	for _, r := range g.Rows {
		p := inputs[r.Input].load(t)
		clipped := *p
		clipped.F64 = append([]float64(nil), p.F64...)
		for i, v := range clipped.F64 {
			clipped.F64[i] = math.Min(v, 1) // the reference clips scores to 1 here
		}
		name := fmt.Sprintf("%s, %d bins", r.Input, r.NumBins)
		check := func(what string, got, want, tol float64) {
			if !near(got, want, tol) {
				t.Errorf("%s: %s = %v, want %v", name, what, got, want)
			}
		}
		um := bins(t, p, like(t, "um", r.NumBins))
		if um.Len() > 0 {
			check("um", um.ECE(), r.UM, 1e-12)
		}
		tf := bins(t, p, like(t, "tfp", r.NumBins))
		check("tfp", tf.ECE(), r.TF, 1e-12)
		for i, b := range tf.Bins(0.95) {
			if float64(b.Count) != r.TFCounts[i] {
				t.Errorf("%s: tfp's bin %d has %d rows, want %v", name, i, b.Count, r.TFCounts[i])
			}
		}
		if r.Guo != nil {
			check("guo", bins(t, p, like(t, "guo", r.NumBins)).ECE(), *r.Guo, 1e-6) // its sums are float32
			guo++
		}
		check("rm weighted", tf.ConfidenceWeighted(), r.Weighted, 1e-12)
		blog := bins(t, p, like(t, "blog", r.NumBins))
		check("blog", blog.ECE(), r.Blog, 1e-12)
		var counts []int64 // from numpy.digitize: p = 0 first, p > 1 last
		bars := blog.Bins(0.95)
		if len(bars) < r.NumBins {
			counts = append(counts, 0)
		}
		outside := blog.Len()
		for _, b := range bars {
			counts = append(counts, b.Count)
			outside -= b.Count
		}
		if outside > 0 {
			counts = append(counts, outside)
		}
		if !slices.Equal(counts, r.BlogCounts) {
			t.Errorf("%s: blog's bins have %v rows, want %v", name, counts, r.BlogCounts)
		}
		nn, nnMCE, err := calib.NNCalibration(p, r.NumBins, unchecked)
		if err != nil {
			t.Fatal(err)
		}
		check("NN_calibration's ece", nn, r.NN, 1e-12)
		check("NN_calibration's mce", nnMCE, r.NNMCE, 1e-12)
		switch got, err := calib.UQBenchmark(p, r.NumBins, unchecked); want := r.UQ.(type) {
		case float64:
			check("uq_benchmark", got, want, 1e-12)
			uq["number"]++
		case string:
			if want != "NaN" || err != nil || got == got {
				t.Errorf("%s: uq_benchmark = %v, %v, want %s", name, got, err, want)
			}
			uq["nan"]++
		case nil:
			if err == nil {
				t.Errorf("%s: uq_benchmark = %v, want an error", name, got)
			}
			uq["error"]++
		}
		loss := metrics.Must(score.NewLoss(nil))
		if err := metrics.NewPass(unchecked, loss).Add(p); err != nil {
			t.Fatal(err)
		}
		check("brier", loss.Brier(score.BrierDefault), r.Brier, 1e-12)
		for _, c := range []struct {
			what string
			opt  calib.Options
			want closure
		}{
			{"left_closed_clip", calib.Options{Bins: r.NumBins, Index: calib.FloorMul}, r.Left},
			{"right_closed_clip", calib.Options{Bins: r.NumBins, Side: kernel.RightClosed}, r.Right},
			{"left_closed_edges_clip", calib.Options{Bins: r.NumBins}, r.LeftEdges},
		} {
			b := bins(t, &clipped, c.opt)
			mce, _ := b.MCE()
			check(c.what+" ece", b.ECE(), c.want.ECE, 1e-12)
			check(c.what+" mce", mce, c.want.MCE, 1e-12)
			check(c.what+" rmsce", b.RMSCE(), c.want.RMSCE, 1e-12)
			check(c.what+" with equal weights", b.EqualWeight(), c.want.EqualWeight, 1e-12)
			for i, bar := range b.Bins(0.95) {
				if bar.Count != c.want.Counts[i] {
					t.Errorf("%s: %s: bin %d has %d rows, want %d", name, c.what, i, bar.Count, c.want.Counts[i])
				}
			}
		}
	}
	t.Logf("%d rows, %d with guo, uq_benchmark %v", len(g.Rows), guo, uq)
	if guo == 0 || uq["number"] < 60 || uq["nan"] < 15 || uq["error"] < 10 {
		t.Error("guo or uq_benchmark was not compared")
	}
}

// TestGoldenOld compares with the bins of uncertainty_metrics before August 2020.
func TestGoldenOld(t *testing.T) {
	inputs := smallInputs(t)
	var g struct {
		Rows []struct {
			Input   string
			NumBins int `json:"num_bins"`
			ECE     float64
		}
	}
	check.Golden(t, "../../testdata/golden", "gce_old_rightclosed.json", &g)
	if len(g.Rows) < 80 {
		t.Fatalf("only %d rows", len(g.Rows))
	}
	for _, r := range g.Rows {
		o := calib.Options{Bins: r.NumBins, Side: kernel.RightClosed, Index: calib.EdgeDiv, Zero: calib.NoBin}
		if got := bins(t, inputs[r.Input].load(t), o).ECE(); !near(got, r.ECE, 1e-12) {
			t.Errorf("%s, %d bins: %v, want %v", r.Input, r.NumBins, got, r.ECE)
		}
	}
}

func TestGoldenBig(t *testing.T) {
	var g struct {
		Cases []struct {
			Input, Mode, Metric string
			Scheme              string `json:"binning_scheme"`
			MaxProb             bool   `json:"max_prob"`
			Classwise           bool   `json:"class_conditional"`
			Threshold           float64
			Norm                string
			NumBins             int `json:"num_bins"`
			Result              float64
		}
	}
	check.Golden(t, "../../testdata/golden", "gce_big.json", &g)
	sets := map[string]*metrics.Predictions{}
	n := 0
	for _, c := range g.Cases {
		gce := c.Metric == "gce" && c.Scheme == "even" && !c.Classwise && c.Threshold == 0
		if c.Metric != "ece" && !gce {
			continue
		}
		key := c.Input + c.Mode
		if sets[key] == nil {
			sets[key] = loadNPY(t, "../../testdata/golden/"+c.Input, c.Mode == "f64")
		}
		o := like(t, "um", c.NumBins)
		if gce && !c.MaxProb {
			o.Event = calib.AllClasses
		}
		b := bins(t, sets[key], o)
		got := b.ECE()
		if gce && c.Norm == "l2" {
			got = b.RMSCE()
		}
		if !near(got, c.Result, 1e-12) {
			t.Errorf("%+v: %v", c, got)
		}
		n++
	}
	t.Logf("%d cases", n)
	if n < 9 {
		t.Errorf("only %d cases", n)
	}
}

// loadNPY reads NAME_probs.npy and NAME_labels.npy, and widens the scores if widen is true.
func loadNPY(t *testing.T, name string, widen bool) *metrics.Predictions {
	t.Helper()
	r, err := predictions.Open([]string{name + "_probs.npy"}, &predictions.Options{Labels: []string{name + "_labels.npy"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := &metrics.Predictions{}
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Classes = c.Classes
		p.Rows += c.Rows
		p.Labels = append(p.Labels, c.Labels...)
		p.F32 = append(p.F32, c.F32...)
		p.F64 = append(p.F64, c.F64...)
		c.Recycle()
	}
	if widen {
		for _, v := range p.F32 {
			p.F64 = append(p.F64, float64(v))
		}
		p.F32 = nil
	}
	if p.F32 != nil {
		p.F64 = nil
	}
	return p
}
