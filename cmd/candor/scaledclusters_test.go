package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/recal"
)

// videoRow is a row of a table of clusters.
type videoRow struct {
	video int
	y     int32
	old   float64
	now   float64
}

// interleaved returns frames of videos, each of which has some in every part of the table.
func interleaved(videos, frames int) (l []videoRow) {
	r := rand.New(rand.NewPCG(11, 12))
	base := make([]videoRow, videos)
	for v := range base {
		z, y := r.NormFloat64(), float64(v%2)
		base[v] = videoRow{y: int32(v % 2), old: 0.3*z + y, now: 0.2*z + y}
	}
	for range frames {
		for v, b := range base {
			y := b.y
			if r.Float64() < 0.2 {
				y = 1 - y
			}
			of := func(z float64) float64 {
				p := 1 / (1 + math.Exp(-3*(z-0.5+0.5*r.NormFloat64())))
				return math.Round(1e4*min(0.99, max(0.01, p))) / 1e4
			}
			l = append(l, videoRow{v, y, of(b.old), of(b.now)})
		}
	}
	return l
}

// csv is the table of frames.
func framesCSV(l []videoRow) []byte {
	var b strings.Builder
	b.WriteString("video,y,p_old,p_new\n")
	for _, f := range l {
		fmt.Fprintf(&b, "v%d,%d,%v,%v\n", f.video, f.y, f.old, f.now)
	}
	return []byte(b.String())
}

// framesData returns a model's rows with their clusters.
func framesData(l []videoRow, score func(f videoRow) float64) recal.Data {
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: len(l), Classes: 1}}
	clusters := make([]int32, len(l))
	for i, f := range l {
		p.F64, p.Labels, clusters[i] = append(p.F64, score(f)), append(p.Labels, f.y), int32(f.video)
	}
	data := recal.InMemory(p)
	return recal.OpenFunc(func() (recal.Source, error) {
		src, err := data.Open()
		return &withClusters{src, clusters}, err
	})
}

type withClusters struct {
	recal.Source
	clusters []int32
}

func (w *withClusters) Next() (*metrics.Chunk, error) {
	c, err := w.Source.Next()
	if err != nil {
		return nil, err
	}
	c.Clusters = w.clusters[c.First:][:c.Rows]
	c.ClusterName = func(k int32) string { return "v" + strconv.Itoa(int(k)) }
	return c, nil
}

// clusteredInterval returns the mean and its 95% interval by clusters of one size, of rows that these many maps mapped, and the standard error.
func clusteredInterval(d []float64, l []videoRow, clusters, maps int) (mean, low, high, se float64) {
	n, g := float64(len(d)), float64(clusters)
	for _, v := range d {
		mean += v / n
	}
	sums := make([]float64, clusters)
	for i, v := range d {
		sums[l[i].video] += v - mean
	}
	for _, s := range sums {
		se += s * s
	}
	cubes := 0.0
	for _, s := range sums {
		cubes += s * s * s
	}
	skew := cubes / math.Pow(se, 1.5)
	se = math.Sqrt(se*g/(g-1)*(1+float64(maps)/g)) / n
	q := distuv.StudentsT{Sigma: 1, Nu: g - 1}.Quantile(0.975)
	// The t that Hall's transformation takes to q, and that to -q, by halving: it rises.
	at := func(q float64) float64 {
		low, high := -100.0, 100.0
		for range 200 {
			if mid := (low + high) / 2; mid+skew*mid*mid/3+skew*skew*mid*mid*mid/27+skew/6 < q {
				low = mid
			} else {
				high = mid
			}
		}
		return low
	}
	return mean, mean - math.Max(q, at(q))*se, mean + math.Max(q, -at(-q))*se, se
}

// TestCompareScaledClusters holds differences after temperature scaling to those of rows that are scaled by folds of whole clusters and
// summed by cluster by hand.
func TestCompareScaledClusters(t *testing.T) {
	d := newDir(t)
	const videos = 30
	l := interleaved(videos, 12)
	args := []string{d.put("a.csv", framesCSV(l)), "--prob", "old=p_old", "--prob", "new=p_new", "--label", "y", "--cluster", "video", "--seed", "3", "--temperature-scaled"}
	g := comparedBy(t, args...)
	for _, metric := range []string{"nll", "brier"} {
		var rows [2][]float64
		for m, of := range []func(videoRow) float64{func(f videoRow) float64 { return f.old }, func(f videoRow) float64 { return f.now }} {
			data, folds := framesData(l, of), recal.Folds{Seed: 3, Clusters: true}
			maps, err := recal.CrossFit(recal.Temperature{}, data, folds, nil)
			if err != nil {
				t.Fatal(err)
			}
			row, err := score.ParseRowMetric(metric, metrics.Probs, 1)
			if err != nil {
				t.Fatal(err)
			}
			rows[m] = rowsOf(t, row, recal.CrossApplied(maps, data, folds), len(l))
		}
		for i := range rows[1] {
			rows[1][i] -= rows[0][i]
		}
		mean, low, high, _ := clusteredInterval(rows[1], l, videos, 10)
		x := g["new-old "+metric+"_temperature_scaled"]
		for _, c := range [][2]float64{{numberIn(t, x.Value), mean}, {numberIn(t, x.Low), low}, {numberIn(t, x.High), high}} {
			if !(math.Abs(c[0]-c[1]) < 1e-9) {
				t.Errorf("%s is %+v, and by hand %v [%v, %v]", metric, x, mean, low, high)
				break
			}
		}
		if !strings.Contains(x.Method, "clustered") || !strings.HasSuffix(x.Method, ", fitted temperatures as fixed") || strings.Contains(x.Method, "independent") {
			t.Errorf("the method is %q", x.Method)
		}
	}
	// Folds go by the names of clusters, so the order of rows changes nothing, nor do threads.
	moved := slices.Clone(l)
	slices.Reverse(moved)
	other := slices.Clone(args)
	other[0] = d.put("b.csv", framesCSV(moved))
	if m := comparedBy(t, append(other, "--threads", "1")...); fmt.Sprint(m) != fmt.Sprint(g) {
		t.Errorf("in another order\n%v\nnot\n%v", m, g)
	}
	text := strings.Join(strings.Fields(printed(t, append([]string{"compare"}, args...)...)), " ")
	if want := "Intervals of differences are by 30 clusters of video, which are taken as independent; those after temperature scaling also take fitted temperatures as fixed."; !strings.Contains(text, want) {
		t.Errorf("%s\nlacks %q", text, want)
	}
	// By candor eval too, and each set has the values that candor eval gives it.
	one := evaluate(t, args[0], "--prob", "p_old", "--label", "y", "--cluster", "video", "--seed", "3", "--temperature-scaled")
	two := evaluate(t, args[0], "--prob", "p_new", "--label", "y", "--cluster", "video", "--seed", "3", "--temperature-scaled")
	if v := two.value(t, "nll_temperature_scaled") - one.value(t, "nll_temperature_scaled"); math.Abs(v-numberIn(t, g["new-old nll_temperature_scaled"].Value)) > 1e-12 {
		t.Errorf("by candor eval the difference is %v", v)
	}
	if m := one.Metrics["temperature"]; m.Value == nil || m.Low == nil || m.Method != temperatureOfClusters {
		t.Errorf("temperature is %+v", m)
	}
	// It is that of candor recal fit, which says it in its first line.
	says := printed(t, "recal", "fit", "temperature", args[0], "--prob", "p_old", "--label", "y", "--cluster", "video", "-o", d.at("map.json"))
	m := one.Metrics["temperature"]
	if want := fmt.Sprintf("T = %.5g [%.5g, %.5g]", m.Value, m.Low, m.High); !strings.Contains(strings.Join(strings.Fields(says), " "), want) {
		t.Errorf("%s\nlacks %q", says, want)
	}
	if m := one.Metrics["nll_temperature_scaled"]; m.Low == nil {
		t.Errorf("nll_temperature_scaled is %+v", m)
	}
	// All clusters in one fold leave no row to fit to.
	few := d.put("few.csv", framesCSV(interleaved(1, 40)))
	doc := evaluate(t, few, "--prob", "p_old", "--label", "y", "--cluster", "video", "--temperature-scaled")
	if m := doc.Metrics["nll_temperature_scaled"]; m.Value != nil || !strings.Contains(m.Reason, "there are no rows to fit to") {
		t.Errorf("of one cluster it is %+v", m)
	}
	if m := doc.Metrics["temperature"]; m.Value == nil || m.Low != nil || m.Method != "" || m.Reason != temperatureOfOne {
		t.Errorf("of one cluster the temperature is %+v", m)
	}
}

// TestRecalDifferencesClusters holds the differences of candor recal fit by clusters to rows that are mapped and summed by hand.
func TestRecalDifferencesClusters(t *testing.T) {
	d := newDir(t)
	const videos = 25
	l := interleaved(videos, 10)
	in := d.put("v.csv", framesCSV(l))
	for _, name := range []string{"temperature", "platt", "isotonic"} {
		m, err := recal.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		data, folds := framesData(l, func(f videoRow) float64 { return f.old }), recal.Folds{Clusters: true}
		maps, err := recal.CrossFit(m, data, folds, nil)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := m.Fit(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, doc, _ := changes(t, name, in, "--prob", "p_old", "--labels", "y", "--cluster", "video")
		for _, metric := range []string{"nll", "brier"} {
			row, err := score.ParseRowMetric(metric, metrics.Probs, 1)
			if err != nil {
				t.Fatal(err)
			}
			before, after := rowsOf(t, row, data, len(l)), rowsOf(t, row, recal.CrossApplied(maps, data, folds), len(l))
			apart := rowsOf(t, row, recal.OpenFunc(func() (recal.Source, error) {
				src, err := data.Open()
				return &appliedSource{recal.Applied(whole, src), src}, err
			}), len(l))
			for i := range after {
				apart[i] -= after[i]
				after[i] -= before[i]
			}
			g := got[metric]
			if !strings.HasSuffix(g.Method, "; widened by how maps of other rows differ") && g.Low != nil || strings.Contains(g.Method, "independent") {
				t.Errorf("%s: the method of %s is %q", name, metric, g.Method)
			}
			mean, low, high, _ := clusteredInterval(after, l, videos, 5)
			if math.IsInf(mean, 0) {
				continue // an isotonic map gives an outcome probability 0
			}
			_, _, _, other := clusteredInterval(apart, l, videos, 5)
			more := distuv.StudentsT{Sigma: 1, Nu: videos - 1}.Quantile(0.975) * math.Sqrt(5) * other
			low, high = mean-math.Hypot(mean-low, more), mean+math.Hypot(high-mean, more)
			for _, c := range [][2]float64{{numberIn(t, g.Value), mean}, {numberIn(t, g.Low), low}, {numberIn(t, g.High), high}} {
				if !(math.Abs(c[0]-c[1]) < 1e-9) {
					t.Errorf("%s: %s is %+v, and by hand %v [%v, %v]", name, metric, g, mean, low, high)
					break
				}
			}
			if numberIn(t, g.Value) != doc.After.value(t, metric)-doc.Before.value(t, metric) {
				t.Errorf("%s: the difference in %s is %v", name, metric, g.Value)
			}
		}
		if g := got["accuracy"]; name == "platt" && (g.Low == nil || !strings.Contains(g.Method, "clustered")) {
			t.Errorf("accuracy is %+v", g)
		}
	}
	text := strings.Join(strings.Fields(printed(t, "recal", "fit", "temperature", in, "--prob", "p_old", "--labels", "y", "--cluster", "video")), " ")
	if !strings.Contains(text, "Intervals of differences are by 25 clusters of video, which are taken as independent.") {
		t.Error(text)
	}
	one := d.put("one.csv", framesCSV(interleaved(1, 40)))
	if _, doc, null := changes(t, "temperature", one, "--prob", "p_old", "--labels", "y", "--cluster", "video"); !null || !strings.Contains(doc.Reason, "there are no rows to fit to") {
		t.Errorf("of one cluster: %q", doc.Reason)
	}
}
