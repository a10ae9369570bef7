package drift_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/drift"
)

func TestMain(m *testing.M) { check.Main(m) }

// evaluated returns an evaluation of predictions, read back from its state.
func evaluated(t testing.TB, p *metrics.Predictions, list string, change func(*eval.Spec)) *eval.Evaluation {
	t.Helper()
	s := eval.Spec{Classes: p.Classes, Kind: p.Kind}
	if change != nil {
		change(&s)
	}
	var err error
	if s.Metrics, err = eval.ParseMetrics(list, s.Shape()); err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(s)
	if err != nil {
		t.Fatal(err)
	}
	if p.Rows > 0 {
		if err := e.Add(p, &metrics.Options{Threads: 1}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	read := new(eval.Evaluation)
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	read.Threads = 1
	return read
}

func of(t testing.TB, a, b *eval.Evaluation, o *drift.Options) *drift.Result {
	t.Helper()
	r, err := drift.Of(a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func find(t testing.TB, r *drift.Result, key string) *drift.Difference {
	t.Helper()
	for i := range r.Metrics {
		if r.Metrics[i].Key == key {
			return &r.Metrics[i]
		}
	}
	t.Fatalf("there is no %s", key)
	return nil
}

// shifted draws binary rows: logits of standard deviation 1.5 around a center, whose outcomes follow their slope.
func shifted(seed uint64, n int, center, slope float64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 77))
	p, y := make([]float64, n), make([]int32, n)
	for i := range p {
		z := center + 1.5*r.NormFloat64()
		p[i] = 1 / (1 + math.Exp(-z))
		if r.Float64() < 1/(1+math.Exp(-slope*z)) {
			y[i] = 1
		}
	}
	return testrows.Binary(p, y)
}

// counted returns rows of probability 1 or 0, of which some are events.
func counted(events, rows int) *metrics.Predictions {
	p, y := make([]float64, rows), make([]int32, rows)
	for i := range events {
		y[i] = 1
	}
	for i := range p {
		p[i] = 0.25
	}
	return testrows.Binary(p, y)
}

// TestProportionsAreNewcombes compares with table II of Newcombe 1998 (Statistics in Medicine 17, 873-890), method 10.
func TestProportionsAreNewcombes(t *testing.T) {
	for _, c := range []struct {
		a, m, b, n int
		low, high  float64
	}{
		{56, 70, 48, 80, 0.0524, 0.3339},
		{9, 10, 3, 10, 0.1705, 0.8090},
		{6, 7, 2, 7, 0.0582, 0.8062},
		{5, 56, 0, 29, -0.0381, 0.1926},
		{0, 10, 0, 20, -0.1611, 0.2775},
		{0, 10, 0, 10, -0.2775, 0.2775},
		{10, 10, 0, 20, 0.6791, 1},
		{10, 10, 0, 10, 0.6075, 1},
	} {
		r := of(t, evaluated(t, counted(c.b, c.n), "base_rate", nil), evaluated(t, counted(c.a, c.m), "base_rate", nil), nil)
		for _, d := range []*drift.Difference{find(t, r, "base_rate"), &r.Outcome} {
			if math.Abs(d.Interval.Low-c.low) > 6e-5 || math.Abs(d.Interval.High-c.high) > 6e-5 || math.Abs(d.Value-(float64(c.a)/float64(c.m)-float64(c.b)/float64(c.n))) > 1e-15 {
				t.Errorf("%d/%d - %d/%d: %v %v, want %v %v", c.a, c.m, c.b, c.n, d.Value, d.Interval, c.low, c.high)
			}
		}
	}
}

// TestMeansAreWelchs compares the difference of means with that of the rows, and their p-values with the normal tail.
func TestMeansAreWelchs(t *testing.T) {
	a, b := shifted(1, 300, 0, 1), shifted(2, 500, 0.3, 1)
	r := of(t, evaluated(t, a, "mean_p,entropy", nil), evaluated(t, b, "mean_p,entropy", nil), &drift.Options{Level: 0.9})
	for key, of := range map[string]func(p float64) float64{
		"mean_p":  func(p float64) float64 { return p },
		"entropy": func(p float64) float64 { return -p*math.Log(p) - (1-p)*math.Log(1-p) },
	} {
		var mean, square [2]float64
		for k, p := range []*metrics.Predictions{a, b} {
			sum, sum2, n := 0.0, 0.0, float64(p.Rows)
			for _, v := range p.F64 {
				sum += of(v)
			}
			mean[k] = sum / n
			for _, v := range p.F64 {
				sum2 += (of(v) - mean[k]) * (of(v) - mean[k])
			}
			square[k] = sum2 / (n - 1) / n
		}
		se, v := math.Sqrt(square[0]+square[1]), mean[1]-mean[0]
		d := find(t, r, key)
		if h := 1.6448536269514722 * se; math.Abs(d.Value-v) > 1e-12 || math.Abs(d.Interval.Low-(v-h)) > 1e-12 || math.Abs(d.Interval.High-(v+h)) > 1e-12 {
			t.Errorf("%s: %v %v, want %v +- %v", key, d.Value, d.Interval, v, h)
		}
		if p := math.Erfc(math.Abs(v) / se / math.Sqrt2); math.Abs(d.P/p-1) > 1e-7 {
			t.Errorf("%s: p is %v, want %v", key, d.P, p)
		}
	}
}

// TestLevels checks that an interval excludes 0 exactly where p is below 1 minus its level, for every metric and level, and that no
// order of the sets matters.
func TestLevels(t *testing.T) {
	const names = "default,accuracy,mean_p,perplexity,entropy,balanced_accuracy,spherical,calibration_auc,augrc(replicates=20),ece,mce,corp_mcb(replicates=20),spce,ks_p"
	for seed, c := range []struct{ n, m int }{{60, 90}, {400, 200}, {1500, 3000}} {
		a, b := evaluated(t, shifted(uint64(seed), c.n, 0, 1), names, nil), evaluated(t, shifted(uint64(seed)+50, c.m, 0.25, 0.8), names, nil)
		tested := 0
		for _, level := range []float64{0.5, 0.8, 0.9, 0.95, 0.99, 0.999} {
			r := of(t, a, b, &drift.Options{Level: level})
			back := of(t, b, a, &drift.Options{Level: level})
			for i := range r.Metrics {
				d, o := &r.Metrics[i], &back.Metrics[i]
				if (d.Reason != "") != math.IsNaN(d.P) || (d.Reason != "") != math.IsNaN(d.Interval.Low) {
					t.Errorf("%s: %v %v %q", d.Key, d.Interval, d.P, d.Reason)
				}
				if math.IsNaN(d.P) {
					continue
				}
				tested++
				if out := d.Interval.Low > 0 || d.Interval.High < 0; out != (d.P < 1-level) && math.Abs(d.P-(1-level)) > 1e-4*d.P {
					t.Errorf("%s at %v: %v with p %v", d.Key, level, d.Interval, d.P)
				}
				if math.Abs(d.P-o.P) > 1e-4*d.P || d.Value != -o.Value || d.Interval.Low != -o.Interval.High {
					t.Errorf("%s at %v: %v %v %v, and in the other order %v %v %v", d.Key, level, d.Value, d.Interval, d.P, o.Value, o.Interval, o.P)
				}
				if strings.HasPrefix(d.Key, "ece") || d.Key == "mce" || d.Key == "corp_mcb" || d.Key == "brier_skill" {
					t.Errorf("%s has an interval", d.Key)
				}
			}
			if math.Abs(r.PSI.Value-back.PSI.Value) > 1e-12 || r.KS.P != back.KS.P {
				t.Errorf("%v and %v, in the other order %v and %v", r.PSI, r.KS, back.PSI, back.KS)
			}
		}
		if tested < 6*14 {
			t.Errorf("only %d tests", tested)
		}
	}
}

// TestNothing compares a set with itself: there is no difference at all.
func TestNothing(t *testing.T) {
	for _, p := range []*metrics.Predictions{shifted(3, 500, -1, 1), testrows.Random(4, 300, 4, false), testrows.Normals(5, 200, false)} {
		e := evaluated(t, p, "all", nil)
		r := of(t, e, e, nil)
		all := r.Metrics
		if r.Classes {
			all = append(slices.Clone(all), r.Outcome, r.Gap, r.Slope)
		}
		for _, d := range all {
			if d.Value != 0 && d.Value == d.Value || d.P != 1 && d.P == d.P || d.Adjusted != d.P && d.P == d.P {
				t.Errorf("%s: %v, p %v and %v", d.Key, d.Value, d.P, d.Adjusted)
			}
		}
		if !r.Classes {
			if r.Scores.Reason == "" || r.Outcomes.Reason == "" || r.Calibration.Reason == "" || r.Values.P != 1 || len(r.Bins) > 0 {
				t.Errorf("without classes: %+v %+v", r.Scores, r.Values)
			}
			continue
		}
		if r.Slope.P != 1 {
			t.Errorf("%+v", r.Slope)
		}
		for _, part := range []drift.Part{r.Scores, r.Outcomes, r.Calibration, r.Values} {
			if part.P != 1 || part.Adjusted != 1 || part.Drift || part.Reason != "" {
				t.Errorf("%+v", part)
			}
		}
		if r.PSI.Value != 0 || r.KS.Value != 0 || r.KS.P != 1 || r.KS.Bound != 0 || len(r.Bins) != calib.DefaultBins {
			t.Errorf("%+v %+v, %d bins", r.PSI, r.KS, len(r.Bins))
		}
	}
}

// TestKSOfRows compares KS, PSI and the bins with those of the rows, for cells that are exact in both sets, in one and in neither.
func TestKSOfRows(t *testing.T) {
	sizes := [][2]int{{70, 110}, {900, 400}, {2000, 300_000}, {300_000, 2000}, {280_000, 300_000}}
	if testing.Short() {
		sizes = sizes[:3]
	}
	for i, n := range sizes {
		a, b := shifted(uint64(i), n[0], 0, 1), shifted(uint64(i)+90, n[1], 0.05, 1)
		if i < 2 { // ties
			for _, p := range []*metrics.Predictions{a, b} {
				for j := range p.F64 {
					p.F64[j] = math.Round(25*p.F64[j]) / 25
				}
			}
		}
		r := of(t, evaluated(t, a, "nll", nil), evaluated(t, b, "nll", nil), nil)
		x, y := slices.Clone(a.F64), slices.Clone(b.F64)
		slices.Sort(x)
		slices.Sort(y)
		want := 0.0
		for _, v := range append(slices.Clone(x), y...) {
			f := float64(sort.Search(len(x), func(i int) bool { return x[i] > v })) / float64(len(x))
			g := float64(sort.Search(len(y), func(i int) bool { return y[i] > v })) / float64(len(y))
			want = max(want, math.Abs(f-g))
		}
		k := &r.KS
		exact := max(n[0], n[1]) < 262_144
		if exact != (k.Bound == 0) || k.Value > want+1e-12 || want > k.Value+k.Bound+1e-12 || exact && math.Abs(k.Value-want) > 1e-12 || k.Bound > 0.02 {
			t.Errorf("%v: %v with bound %v, want %v", n, k.Value, k.Bound, want)
		}
		psi, used := 0.0, 0.0
		for j, bin := range r.Bins {
			in := func(p *metrics.Predictions) (rows, events, sum float64) {
				for i, v := range p.F64 {
					if int(v*15+1e-12) == j || j == 14 && v == 1 {
						rows++
						events += float64(p.Labels[i])
						sum += v
					}
				}
				return rows, events, sum
			}
			m, f, s := in(a)
			o, g, u := in(b)
			if float64(bin.Old.Count) != m || float64(bin.New.Count) != o || m > 0 && math.Abs(bin.Old.Frequency-f/m) > 1e-12 || o > 0 && math.Abs(bin.New.Frequency-g/o) > 1e-12 {
				t.Errorf("bin %d: %+v, want %v of %v and %v of %v", j, bin, f, m, g, o)
			}
			if m > 0 && o > 0 && math.Abs(bin.Expected-(u/o-s/m)) > 1e-9 {
				t.Errorf("bin %d: expected is %v, want %v", j, bin.Expected, u/o-s/m)
			}
			if m+o > 0 {
				used++
				p, q := max(m, 0.5)/float64(n[0]), max(o, 0.5)/float64(n[1])
				psi += (q - p) * math.Log(q/p)
			}
		}
		if chance := (used - 1) * (1/float64(n[0]) + 1/float64(n[1])); math.Abs(r.PSI.Value-psi) > 1e-12 || math.Abs(r.PSI.Chance-chance) > 1e-15 {
			t.Errorf("PSI is %+v, want %v and %v", r.PSI, psi, chance)
		}
	}
}

// TestFindings checks what is found if scores move, if outcomes follow them in another way, and if both do.
func TestFindings(t *testing.T) {
	const rows = 20_000
	before := evaluated(t, shifted(1, rows, 0, 1), "default", nil)
	for name, c := range map[string]struct {
		center, slope                 float64
		scores, outcomes, calibration bool
	}{
		"nothing":             {0, 1, false, false, false},
		"scores":              {0.3, 1, true, true, false},
		"calibration":         {0, 0.7, false, false, true},
		"scores, calibration": {-0.3, 0.6, true, true, true},
	} {
		r := of(t, before, evaluated(t, shifted(2, rows, c.center, c.slope), "default", nil), nil)
		if r.Scores.Drift != c.scores || r.Outcomes.Drift != c.outcomes || r.Calibration.Drift != c.calibration || r.Values.Drift != (name != "nothing") {
			t.Errorf("%s: %+v %+v %+v %+v", name, r.Scores, r.Outcomes, r.Calibration, r.Values)
		}
	}
}

// TestFalseFindings checks that at most 5% of pairs without drift show any, with a binary task, rare events and classes.
func TestFalseFindings(t *testing.T) {
	pairs := check.Size(40, 120, 4000)
	for name, set := range map[string]func(seed uint64) *metrics.Predictions{
		"binary": func(s uint64) *metrics.Predictions { return shifted(s, 200+int(s%2)*300, 0, 1) },
		"rare":   func(s uint64) *metrics.Predictions { return shifted(s, 300+int(s%2)*1500, -4, 1) },
		"classes": func(s uint64) *metrics.Predictions {
			p := testrows.Random(s, 250, 3, false)
			r := rand.New(rand.NewPCG(s, 3))
			clear(p.Labels)
			for i := range p.Labels {
				for u := r.Float64(); p.Labels[i] < 2; p.Labels[i]++ {
					if u -= p.F64[3*i+int(p.Labels[i])]; u < 0 {
						break
					}
				}
			}
			return p
		},
		"wrong classes": func(s uint64) *metrics.Predictions { return testrows.Random(s, 250, 3, false) },
		"forecasts":     func(s uint64) *metrics.Predictions { return testrows.Normals(s, 400, false) },
	} {
		list := "default"
		if name == "forecasts" {
			list = "bias,nll,crps,rmse,mae,sharpness_root,zms,rce,sigma_scale,coverage_50,coverage_90,width_90"
		}
		var found [2][5]int // by adjustment and family; the last is whether the verdict finds any
		for i := range pairs {
			a, b := evaluated(t, set(uint64(2*i)), list, nil), evaluated(t, set(uint64(2*i+1)), list, nil)
			for how := range found {
				r := of(t, a, b, &drift.Options{Adjust: drift.Adjust(how)})
				drifted := 0
				for k, p := range []drift.Part{r.Scores, r.Outcomes, r.Calibration, r.Values} {
					if p.P < 0.05 {
						found[how][k]++
					}
					if p.Drift {
						drifted = 1
					}
				}
				found[how][4] += drifted
			}
		}
		for how := range found {
			for k, n := range found[how] {
				if most := 0.05 + 3*math.Sqrt(0.05*0.95/float64(pairs)); float64(n) > most*float64(pairs) {
					t.Errorf("%s, %v, family %d: %d of %d pairs", name, drift.Adjust(how), k, n, pairs)
				}
			}
		}
	}
}

// TestAdjust compares with R's p.adjust.
func TestAdjust(t *testing.T) {
	p := []float64{0.04, math.NaN(), 0.001, 0.01, 0.2, 0.03}
	for how, want := range map[drift.Adjust][]float64{
		drift.Holm:              {0.09, math.NaN(), 0.005, 0.04, 0.2, 0.09},
		drift.BenjaminiHochberg: {0.05, math.NaN(), 0.005, 0.025, 0.2, 0.05},
	} {
		got := drift.Adjusted(p, how)
		for i := range p {
			if math.Abs(got[i]-want[i]) > 1e-15 || (got[i] == got[i]) != (want[i] == want[i]) {
				t.Errorf("%v: %v, want %v", how, got, want)
				break
			}
		}
		if back, err := drift.ParseAdjust(how.String()); back != how || err != nil {
			t.Errorf("%v: %v %v", how, back, err)
		}
	}
	if _, err := drift.ParseAdjust("bonferroni"); err == nil || !strings.Contains(err.Error(), "holm, bh") {
		t.Error(err)
	}
}

// TestSameGap checks the test of two frequencies against one in closed form, where the difference is 0, and against the likelihood on a
// grid where it is not.
func TestSameGap(t *testing.T) {
	for _, c := range [][4]float64{{3, 40, 9, 60}, {0, 30, 5, 30}, {30, 30, 25, 30}, {400, 1000, 430, 1000}, {0, 9, 0, 7}, {5, 9, 5, 9}} {
		x, m, y, n := c[0], c[1], c[2], c[3]
		f := (x + y) / (m + n)
		z := max(0, math.Abs(y/n-x/m)-(1/m+1/n)/2) / math.Sqrt(f*(1-f)*(1/m+1/n)*(m+n)/(m+n-1))
		want := math.Erfc(z / math.Sqrt2)
		if z != z {
			want = 1
		}
		if got := drift.SameGap(x, m, y, n, 0); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %v, want %v", c, got, want)
		}
	}
	for _, by := range []float64{-0.3, -0.05, 0.02, 0.06} {
		for _, c := range [][4]float64{{3, 40, 9, 60}, {0, 30, 5, 30}, {30, 30, 25, 30}, {0, 20, 0, 90}} {
			best, at := math.Inf(-1), 0.0
			log := func(k, f float64) float64 {
				if k == 0 {
					return 0
				}
				return k * math.Log(f)
			}
			for i := range 200_001 {
				f := math.Max(0, -by) + (1-math.Abs(by))*float64(i)/200_000
				g := f + by
				if l := log(c[0], f) + log(c[1]-c[0], 1-f) + log(c[2], g) + log(c[3]-c[2], 1-g); l > best {
					best, at = l, f
				}
			}
			if got := drift.Restricted(c[0], c[1], c[2], c[3], by); math.Abs(got-at) > 1e-5 {
				t.Errorf("%v by %v: %v, want %v", c, by, got, at)
			}
		}
	}
}

// TestWeights checks that effective numbers of rows serve for what has an interval, and that the rest says that it has no test.
func TestWeights(t *testing.T) {
	a, b := shifted(1, 400, 0, 1), shifted(2, 500, 0.5, 1)
	b.Weights = slices.Repeat([]float64{2}, b.Rows)
	plain := of(t, evaluated(t, a, "default", nil), evaluated(t, shifted(2, 500, 0.5, 1), "default", nil), nil)
	r := of(t, evaluated(t, a, "default", nil), evaluated(t, b, "default", nil), nil)
	for _, key := range []string{"mean_p", "base_rate", "brier"} { // of equal weights
		if d, o := find(t, r, key), find(t, plain, key); math.Abs(d.P-o.P) > 1e-9 || math.Abs(d.Interval.Low-o.Interval.Low) > 1e-9 {
			t.Errorf("%s: %v %v, without weights %v %v", key, d.Interval, d.P, o.Interval, o.P)
		}
	}
	if r.KS.P == r.KS.P || !strings.Contains(r.KS.Reason, "weights") || math.Abs(r.KS.Value-plain.KS.Value) > 1e-12 {
		t.Errorf("%+v", r.KS)
	}
	if r.PSI.Chance == r.PSI.Chance || math.Abs(r.PSI.Value-plain.PSI.Value) > 1e-9 {
		t.Errorf("%+v, without weights %+v", r.PSI, plain.PSI)
	}
	for _, bin := range r.Bins {
		if bin.ShareP == bin.ShareP || bin.FrequencyP == bin.FrequencyP || bin.ShareAdjusted == bin.ShareAdjusted {
			t.Errorf("%+v", bin)
		}
	}
	if r.Scores.Reason == "" || r.Scores.P == r.Scores.P || r.Scores.Drift || r.Outcomes.Reason != "" || r.Calibration.Reason != "" {
		t.Errorf("%+v %+v %+v", r.Scores, r.Outcomes, r.Calibration)
	}
	if d := find(t, r, "auroc"); d.P == d.P || !strings.Contains(d.Reason, "weight") {
		t.Errorf("%+v", d)
	}
}

// TestReasons checks what has no test: infinite values, scores that are none, one row.
func TestReasons(t *testing.T) {
	a, b := shifted(1, 50, 0, 1), shifted(2, 50, 0, 1)
	a.F64[3], a.Labels[3] = 0, 1
	r := of(t, evaluated(t, a, "nll,ece,ks_p", nil), evaluated(t, b, "nll,ece,ks_p", nil), nil)
	if d := find(t, r, "nll"); !math.IsInf(d.Value, -1) || d.P == d.P || !strings.Contains(d.Reason, "probability 0") {
		t.Errorf("%+v", d)
	}
	if d := find(t, r, "ece"); d.Value != d.New.Value-d.Old.Value || d.P == d.P || !strings.Contains(d.Reason, "chance") {
		t.Errorf("%+v", d)
	}
	if d := find(t, r, "ks_p"); d.P == d.P || d.Reason != "a p-value, not an estimate" {
		t.Errorf("%+v", d)
	}
	if r.Values.Reason == "" || r.Values.P == r.Values.P || r.Values.Drift {
		t.Errorf("%+v", r.Values)
	}
	b.F64[3], b.Labels[3] = 0, 1
	if d := find(t, of(t, evaluated(t, a, "nll", nil), evaluated(t, b, "nll", nil), nil), "nll"); d.Value == d.Value || d.Reason == "" {
		t.Errorf("both infinite: %+v", d)
	}
	wild := new(eval.Evaluation)
	*wild = *evaluated(t, testrows.Binary(nil, nil), "nll", nil)
	if err := wild.Add(testrows.Binary([]float64{0.5, 1.5}, []int32{0, 1}), &metrics.Options{Unchecked: true}); err != nil {
		t.Fatal(err)
	}
	if r := of(t, wild, evaluated(t, b, "nll", nil), nil); r.KS.Value == r.KS.Value || r.KS.Reason == "" {
		t.Errorf("%+v", r.KS)
	}
	if r := of(t, evaluated(t, counted(1, 1), "default", nil), evaluated(t, counted(0, 1), "default", nil), nil); r.Outcome.P < 0.05 || r.Scores.P != 1 {
		t.Errorf("%+v %+v", r.Outcome, r.Scores)
	}
}

// TestMismatch checks that sets that were evaluated in other ways are refused, and that what does not matter is not.
func TestMismatch(t *testing.T) {
	p := testrows.Random(1, 60, 3, false)
	base := evaluated(t, p, "accuracy,ece", nil)
	for says, e := range map[string]*eval.Evaluation{
		"3 classes and 4":               evaluated(t, testrows.Random(1, 60, 4, false), "accuracy,ece", nil),
		"classes without names":         evaluated(t, p, "accuracy,ece", func(s *eval.Spec) { s.Names = []string{"a", "b", "c"} }),
		"metrics accuracy,ece and nll":  evaluated(t, p, "nll", nil),
		"bins of":                       evaluated(t, p, "accuracy,ece", func(s *eval.Spec) { s.Base.Bins = 20 }),
		"scores are":                    evaluated(t, testrows.Normals(1, 20, false), "crps", nil),
		"one has decisions":             evaluated(t, p, "accuracy,ece", func(s *eval.Spec) { s.Decided = true }),
		"rows are ignored whose label":  evaluated(t, p, "accuracy,ece", func(s *eval.Spec) { s.Ignore = []int32{-100} }),
		"brier in the form default and": evaluated(t, p, "accuracy,ece", func(s *eval.Spec) { s.Brier = 2 }),
	} {
		if r, err := drift.Of(base, e, nil); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), says) || r != nil {
			t.Errorf("%s: %v", says, err)
		}
	}
	names := "accuracy,ece_bayes_q90(draws=100),ace"
	a := evaluated(t, p, names, func(s *eval.Spec) { s.Level, s.Seed, s.Memory = 0.8, 3, 1<<20 })
	b := evaluated(t, p, names, func(s *eval.Spec) { s.Level, s.Seed, s.Memory = 0.9, 4, 1<<21 })
	if r, err := drift.Of(a, b, nil); err != nil || r.Level != 0.95 {
		t.Errorf("%+v %v", r, err)
	}
	if a.Spec.Level != 0.8 {
		t.Errorf("the level of a set became %v", a.Spec.Level)
	}
	none := evaluated(t, &metrics.Predictions{Scores: metrics.Scores{Classes: 3}}, "accuracy,ece", nil)
	if _, err := drift.Of(none, base, nil); err == nil || !strings.Contains(err.Error(), "old set has no rows") {
		t.Error(err)
	}
	if _, err := drift.Of(base, none, nil); err == nil || !strings.Contains(err.Error(), "new set has no rows") {
		t.Error(err)
	}
	for _, level := range []float64{-1, 1, 2, math.NaN()} {
		if _, err := drift.Of(base, base, &drift.Options{Level: level}); err == nil {
			t.Errorf("level %v", level)
		}
	}
}
