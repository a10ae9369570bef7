package sliced_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/sliced"
	"github.com/candor-go/candor/predictions"
)

// regional evaluates rows with a region each.
func regional(t testing.TB, p []float64, y, region []int32, list string) *sliced.Evaluation {
	t.Helper()
	c := &metrics.Chunk{}
	c.Rows, c.Classes = len(p), 1
	c.F64, c.Labels, c.Groups = p, y, region
	spec := eval.Spec{Classes: 1, Level: 0.95}
	var err error
	if spec.Metrics, err = eval.ParseMetrics(list, spec.Shape()); err != nil {
		t.Fatal(err)
	}
	e, err := sliced.New(spec, []sliced.Column{{Name: "leaf"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.AddSource(&rows{c}, func(g int32) []string { return []string{"leaf " + strconv.Itoa(int(g))} }, &metrics.Options{Threads: 1}); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestGroupingIsGlests compares with the authors' package. What regions explain is the same. The induced term is not: glest smooths frequencies by
// their nearest rows, which keeps some chance in it and takes some of what is there out.
func TestGroupingIsGlests(t *testing.T) {
	b, err := os.ReadFile("../../../testdata/oracle/grouping.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Cases []struct {
			Name               string
			P                  []float64
			Y, Region          []int32
			Bins               int
			Explained, Induced float64
		}
	}
	if err := json.Unmarshal(b, &f); err != nil || len(f.Cases) < 5 {
		t.Fatal(err, len(f.Cases))
	}
	for _, c := range f.Cases {
		g := regional(t, c.P, c.Y, c.Region, "ece").Grouping(c.Bins)
		if math.Abs(g.Explained.Value-c.Explained) > 1e-14 {
			t.Errorf("%s: explained %v, glest's %v", c.Name, g.Explained.Value, c.Explained)
		}
		if math.Abs(g.Induced.Value-c.Induced) > 0.002 {
			t.Errorf("%s: induced %v, glest's %v", c.Name, g.Induced.Value, c.Induced)
		}
	}
}

// TestGroupingCovers holds how often the interval has the loss, where the frequency is the score plus what a region adds.
func TestGroupingCovers(t *testing.T) {
	runs := check.Size(100, 300, 2000)
	for _, l := range []struct {
		rows, regions, bins int
		adds                float64
	}{{1000, 3, 15, 0}, {1000, 3, 15, 0.1}, {1000, 20, 15, 0}, {1000, 20, 15, 0.2}, {10000, 3, 15, 0}, {10000, 3, 15, 0.03}, {10000, 50, 15, 0.1}, {10000, 3, 4, 0.1}} {
		r := rand.New(rand.NewPCG(uint64(l.rows), uint64(l.regions)))
		// Scores are uniform on [0.2, 0.8], whose bins have ten parts each.
		width := 1 / float64(l.bins)
		induced := width * width / 12
		signs := 0.0 // mean square of what regions add, less that of their mean
		add := make([]float64, l.regions)
		for i := range add {
			add[i] = l.adds * float64(i%3-1)
			signs += add[i]
		}
		explained := 0.0
		for i := range add {
			add[i] -= signs / float64(l.regions)
			explained += add[i] * add[i] / float64(l.regions)
		}
		held, heldLower, sum, above, spread, told := 0, 0, 0.0, 0, 0.0, 0.0
		for range runs {
			p, y, of := make([]float64, l.rows), make([]int32, l.rows), make([]int32, l.rows)
			for i := range p {
				p[i] = 0.2 + 0.6*r.Float64()
				if l.bins == 4 {
					p[i] = r.Float64()/2 + 0.25
				}
				of[i] = int32(r.IntN(l.regions))
				if r.Float64() < p[i]+add[of[i]] {
					y[i] = 1
				}
			}
			g := regional(t, p, y, of, "ece").Grouping(l.bins)
			want := explained - induced
			sum += g.Loss.Value - want
			spread += (g.Loss.Value - want) * (g.Loss.Value - want)
			told += (g.Loss.Interval.High - g.Loss.Interval.Low) / 2 / metrics.Z(0.95)
			if g.Loss.Interval.Low <= want && want <= g.Loss.Interval.High {
				held++
			}
			if g.Loss.Interval.Low <= want {
				heldLower++
			}
			if g.Loss.Interval.Low > 0 {
				above++
			}
		}
		n := float64(runs)
		t.Logf("%+v: loss %.5f, bias %.6f, sd %.6f, told %.6f, held in %.1f%%, lower end below in %.1f%%, above 0 in %.1f%%", l, explained-induced, sum/n, math.Sqrt(spread/n), told/n, 100*float64(held)/n, 100*float64(heldLower)/n, 100*float64(above)/n)
		if share := float64(held) / n; share < 0.94-4*math.Sqrt(0.05/n) {
			t.Errorf("%+v: held in %.3f", l, share)
		}
	}
}

// TestGroupingReal compares figures of the second halves of real sets with those of glest 0.0.1: the regions of a top label are the predicted classes.
func TestGroupingReal(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	for _, c := range []struct {
		name                     string
		classes                  int
		explained, induced, loss float64 // the induced term and the loss are candor's own
		low, high                float64
	}{
		{"netcal_c10_wrn16_4", 10, 0.0029052105161277257, 0.0036890312628, -0.0007838207467, -0.0032049572177, 0.0015303552767},
		{"netcal_c100_densenet_bc100", 100, 0.005854794521646816, 0.0070455359871, -0.0011907414655, -0.0065654314584, 0.0039332613569},
		{"fte_club_soccer_3way", 3, 0.00017672928134255178, 0.0008541609815, -0.0006774317001, -0.0012752379163, -0.0001453226965},
	} {
		folder := filepath.Join(dir, c.name)
		r, err := predictions.Open([]string{filepath.Join(folder, "probs.npy")}, &predictions.Options{Labels: []string{filepath.Join(folder, "labels.npy")}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var p []float64
		var y, region []int32
		w := metrics.NewWalker(nil, metrics.NeedRows, func(b *metrics.Block) {
			for i := range b.Rows {
				top, at := -1.0, 0
				for k := range c.classes {
					if v := b.Probs.At(i, k); v > top {
						top, at = v, k
					}
				}
				right := int32(0)
				if int(b.Labels[i]) == at {
					right = 1
				}
				p, y, region = append(p, top), append(y, right), append(region, int32(at))
			}
		})
		if err := metrics.Feed(r, func(c *metrics.Chunk) error { w.Add(c); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := w.Err(); err != nil {
			t.Fatal(err)
		}
		half := len(p) / 2
		p, y, region = p[half:], y[half:], region[half:]
		g := regional(t, p, y, region, "ece").Grouping(15)
		for name, v := range map[string][2]float64{"explained": {g.Explained.Value, c.explained}, "induced": {g.Induced.Value, c.induced}, "loss": {g.Loss.Value, c.loss},
			"low": {g.Loss.Interval.Low, c.low}, "high": {g.Loss.Interval.High, c.high}} {
			if math.Abs(v[0]-v[1]) > 1e-9 {
				t.Errorf("%s: %s is %.17g, want %v", c.name, name, v[0], v[1])
			}
		}
	}
}

// TestGroupingWithoutValue holds the reasons, what is left out, and certain rows.
func TestGroupingWithoutValue(t *testing.T) {
	for _, c := range []struct {
		p         []float64
		y, region []int32
		reason    string
		loss      float64
		leftOut   int64
	}{
		{[]float64{0.2, 0.2}, []int32{1, 0}, []int32{0, 1}, "no two rows share a region and a bin", 0, 0},
		{[]float64{0.2, 0.9}, []int32{1, 0}, []int32{0, 0}, "no two rows share a region and a bin", 0, 0},
		{[]float64{0.5, 0.5, 0.5, 0.5, 0.5}, []int32{1, 1, 0, 0, 1}, []int32{0, 0, 1, 1, 2}, "", 1. / 3, 1},
		{[]float64{1, 1, 1, 1}, []int32{1, 1, 1, 1}, []int32{0, 0, 1, 1}, "", 0, 0},
	} {
		e := regional(t, c.p, c.y, c.region, "grouping_loss")
		g := e.Grouping(15)
		v := e.Whole().Value(e.Whole().Spec.Metrics[0])
		if c.reason != "" {
			if g.Reason != c.reason || v.Reason != c.reason || !math.IsNaN(v.Value) {
				t.Errorf("%v: %q, %+v", c.p, g.Reason, v)
			}
			continue
		}
		if math.Abs(v.Value-c.loss) > 1e-15 || v.Reason != "" || g.LeftOut != c.leftOut || (v.Note != "") != (c.leftOut > 0) || !(v.Interval.Low <= v.Value && v.Value <= v.Interval.High) {
			t.Errorf("%v: %+v, %d left out", c.p, v, g.LeftOut)
		}
	}
}

// TestGroupingMerges holds that parts give the bits of the whole, on a grid of scores too.
func TestGroupingMerges(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 29))
	for _, n := range []int{3000, 600000} {
		p, y, of := make([]float64, n), make([]int32, n), make([]int32, n)
		for i := range p {
			p[i], of[i] = r.Float64(), int32(r.IntN(4))
			if r.Float64() < p[i]+0.3*(1-p[i])*float64(of[i]%2) {
				y[i] = 1
			}
		}
		whole := regional(t, p, y, of, "ece").Grouping(15)
		a, b := regional(t, p[:n/3], y[:n/3], of[:n/3], "ece"), regional(t, p[n/3:], y[n/3:], of[n/3:], "ece")
		if err := b.Merge(a); err != nil {
			t.Fatal(err)
		}
		if got := b.Grouping(15); *got != *whole || whole.Exact != (n < 500000) || !(whole.Loss.Interval.Low > 0) {
			t.Errorf("%d rows: %+v of parts, %+v of the whole", n, got, whole)
		}
	}
}

func ExampleEvaluation_Grouping() {
	c := &metrics.Chunk{}
	c.Rows, c.Classes = 400, 1
	for i := range c.Rows { // at the score 0.5 the event happens in 3 of 4 rows of one leaf, and in 1 of 4 of the other
		leaf := i % 2
		y := 0
		if i/2%4 < 3-2*leaf {
			y = 1
		}
		c.F64, c.Labels, c.Groups = append(c.F64, 0.5), append(c.Labels, int32(y)), append(c.Groups, int32(leaf))
	}
	e, err := sliced.New(eval.Spec{Classes: 1, Level: 0.95}, []sliced.Column{{Name: "leaf"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := e.AddSource(&rows{c}, func(group int32) []string { return []string{[]string{"left", "right"}[group]} }, nil); err != nil {
		fmt.Println(err)
		return
	}
	g := e.Grouping(15)
	fmt.Printf("grouping loss %.4f [%.2f, %.2f]\n", g.Loss.Value, g.Loss.Interval.Low, g.Loss.Interval.High)
	// Output:
	// grouping loss 0.0622 [0.04, 0.09]
}

// BenchmarkGrouping answers for as many distinct scores as slices keep.
func BenchmarkGrouping(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 200000
	p, y, of := make([]float64, n), make([]int32, n), make([]int32, n)
	for i := range p {
		p[i], of[i] = r.Float64(), int32(r.IntN(30))
		if r.Float64() < p[i] {
			y[i] = 1
		}
	}
	e := regional(b, p, y, of, "ece")
	for b.Loop() {
		e.Grouping(15)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
}
