package eval_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// inClusters yields predictions with clusters in one chunk.
type inClusters struct {
	p    *metrics.Predictions
	of   []int32
	done bool
}

func (c *inClusters) Next() (*metrics.Chunk, error) {
	if c.done {
		return nil, io.EOF
	}
	c.done = true
	return &metrics.Chunk{Predictions: *c.p, Clusters: c.of}, nil
}

func clusteredBy(t testing.TB, names string, p *metrics.Predictions, cluster func(i int) int32) *eval.Evaluation {
	t.Helper()
	s := eval.Spec{Classes: p.Classes, Kind: p.Kind, Cluster: "video"}
	if cluster == nil {
		s.Cluster = ""
	}
	var err error
	if s.Metrics, err = eval.ParseMetrics(names, s.Shape()); err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(s)
	if err != nil {
		t.Fatal(err)
	}
	src := &inClusters{p: p}
	if cluster != nil {
		for i := range p.Rows {
			src.of = append(src.of, cluster(i))
		}
	}
	if err := e.AddSource(src, nil); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestEachRowACluster: where each row is a cluster, intervals are nearly those of independent rows.
func TestEachRowACluster(t *testing.T) {
	const n = 4000
	r := rand.New(rand.NewPCG(1, 2))
	binary := &metrics.Predictions{}
	binary.Rows, binary.Classes = n, 1
	for range n {
		x := r.NormFloat64()
		binary.F64 = append(binary.F64, 1/(1+math.Exp(-x)))
		y := int32(0)
		if r.Float64() < 1/(1+math.Exp(-x)) {
			y = 1
		}
		binary.Labels = append(binary.Labels, y)
	}
	weighted := *binary
	for range n {
		weighted.Weights = append(weighted.Weights, 0.5+r.Float64())
	}
	for _, c := range []struct {
		name, metrics string
		p             *metrics.Predictions
	}{
		{"binary", "accuracy,base_rate,mean_p,bias,oe_ratio,nll,nll(clip=0.01),brier,brier(form=sum),brier(form=minus_one),entropy,perplexity,brier_skill,nll_skill,overconfidence,confidence,auroc,calibration_auc,augrc,calibration_slope,calibration_intercept", binary},
		{"weights", "accuracy,base_rate,mean_p,bias,nll,brier,overconfidence,confidence", &weighted},
		{"classes", "accuracy,topk_accuracy(k=2),nll,brier,overconfidence,confidence,calibration_auc,augrc,spherical", testrows.Random(2, n, 5, false)},
		{"forecasts", "rmse,mae,nll,crps", testrows.Normals(3, n, false)},
	} {
		plain := clusteredBy(t, c.metrics, c.p, nil)
		own := clusteredBy(t, c.metrics, c.p, func(i int) int32 { return int32(i) })
		for _, m := range plain.Spec.Metrics {
			a, b := plain.Value(m), own.Value(m)
			if a.Value != b.Value {
				t.Errorf("%s, %v: %v of independent rows, %v of clusters", c.name, m, a.Value, b.Value)
			}
			if a.Interval.Low != a.Interval.Low || b.Interval.Low != b.Interval.Low {
				t.Errorf("%s, %v: no interval of independent rows (%s), or none of clusters (%s)", c.name, m, a.Reason, b.Reason)
				continue
			}
			// The sandwich estimate of a line, and resampling, are estimates of their own.
			wide, off := a.Interval.High-a.Interval.Low, 0.01
			if strings.HasPrefix(m.Name, "calibration_") || m.Name == "augrc" {
				off = 0.15
			}
			if math.Abs(a.Interval.Low-b.Interval.Low) > off*wide || math.Abs(a.Interval.High-b.Interval.High) > off*wide {
				t.Errorf("%s, %v: %v of independent rows, %v of clusters", c.name, m, a.Interval, b.Interval)
			}
			if b.Clusters != n || !strings.Contains(b.Method, "luster") {
				t.Errorf("%s, %v: %d clusters by %q", c.name, m, b.Clusters, b.Method)
			}
		}
		if j, k := plain.Judge(), own.Judge(); j != nil && (j.Side != k.Side || math.Abs(j.P-k.P) > 0.02) {
			t.Errorf("%s: judged p %v of independent rows, %v of clusters", c.name, j.P, k.P)
		}
	}
}

// TestCopies: where each row is there k times as a cluster, intervals are those of the rows once.
func TestCopies(t *testing.T) {
	const n, k = 500, 8
	p := testrows.Random(7, n, 1, false)
	many := &metrics.Predictions{}
	many.Rows, many.Classes = n*k, 1
	for i := range n * k {
		many.F64, many.Labels = append(many.F64, p.F64[i/k]), append(many.Labels, p.Labels[i/k])
	}
	names := "accuracy,base_rate,bias,nll,brier,auroc,calibration_slope,augrc"
	once := clusteredBy(t, names, p, func(i int) int32 { return int32(i) })
	copies := clusteredBy(t, names, many, func(i int) int32 { return int32(i / k) })
	for _, m := range once.Spec.Metrics {
		a, b := once.Value(m), copies.Value(m)
		if math.Abs(a.Interval.Low-b.Interval.Low) > 1e-5 || math.Abs(a.Interval.High-b.Interval.High) > 1e-5 || a.Interval.Low != a.Interval.Low {
			t.Errorf("%v: %v of rows, %v of copies", m, a.Interval, b.Interval)
		}
	}
	c := copies.Clusters()
	if c.Number != n || c.Largest != k || math.Abs(c.DesignEffect-k*float64(n)/(n-1)) > 1e-9 || c.Column != "video" {
		t.Errorf("%+v", c)
	}
	for i, b := range copies.ClusterBins() {
		if a := once.ClusterBins()[i]; a.Count > 3 && (a.Interval.Low != a.Interval.Low || math.Abs(a.Interval.Low-b.Interval.Low) > 1e-9 || math.Abs(a.Interval.High-b.Interval.High) > 1e-9) {
			t.Errorf("bin %d: %v of rows, %v of copies", i, a.Interval, b.Interval)
		}
	}
	if plain := clusteredBy(t, names, many, nil); plain.Clusters() != nil {
		t.Error("clusters that nobody asked for")
	}
	bets := clusteredBy(t, "e_calibration", many, func(i int) int32 { return int32(i / k) })
	rows := clusteredBy(t, "e_calibration", p, nil)
	if a, b := bets.Value(bets.Spec.Metrics[0]), rows.Value(rows.Spec.Metrics[0]); math.Abs(a.Value/b.Value-1) > 1e-9 {
		t.Errorf("bets of %v on clusters of copies, of %v on the rows once", a.Value, b.Value)
	}
	if a, b := bets.Text(bets.Spec.Metrics[0]), rows.Text(rows.Spec.Metrics[0]); !strings.Contains(a, "m_g the mean of y_i - p_i in cluster g") || strings.Contains(a, "after any row") || !strings.Contains(b, "after any row") {
		t.Errorf("%s, and of rows %s", a, b)
	}
}

// TestClusterLimits: one cluster has no intervals, what has no form for clusters says so, and clusters without room are an error.
func TestClusterLimits(t *testing.T) {
	p := testrows.Random(4, 800, 1, false)
	one := clusteredBy(t, "accuracy,ece,auroc,ece_p", p, func(int) int32 { return 0 })
	for i, want := range []string{"all rows are of one cluster", "its method takes rows as independent", "all rows are of one cluster", "computed as if the rows of a cluster were independent"} {
		v := one.Value(one.Spec.Metrics[i])
		if v.Interval.Low == v.Interval.Low || !strings.Contains(v.Reason+v.Note, want) || v.Chance.Known {
			t.Errorf("%v: %+v", one.Spec.Metrics[i], v)
		}
	}
	if j := one.Judge(); j.Side != 0 || len(j.Off) > 0 || j.Gap.Interval.Low == j.Gap.Interval.Low {
		t.Errorf("judged by one cluster: %+v", j)
	}
	for _, b := range one.ClusterBins() {
		if b.Count > 0 && b.Interval.Low == b.Interval.Low {
			t.Error("the interval of a bin of one cluster")
		}
	}
	s := one.Spec
	e, err := eval.New(s)
	if err != nil {
		t.Fatal(err)
	}
	e.ClusterBytes = 50_000
	var of []int32
	for i := range p.Rows {
		of = append(of, int32(i))
	}
	var room *eval.RoomError
	if err := e.AddSource(&inClusters{p: p, of: of}, nil); !errors.As(err, &room) || !strings.Contains(err.Error(), `clusters by "video" take more memory`) || e.Audit.Rows != 0 {
		t.Error(err)
	}
	if err := e.Add(p, nil); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), "rows without clusters for an evaluation of rows in clusters") {
		t.Error(err)
	}
	s.Members = 3
	if _, err := eval.New(s); err == nil {
		t.Error("an ensemble with clusters")
	}
}

// TestClusterStates: states of parts of clusters merge to that of all rows, and their answers are equal.
func TestClusterStates(t *testing.T) {
	for _, p := range []*metrics.Predictions{testrows.Random(5, 600, 1, false), testrows.Random(6, 600, 4, true), testrows.Normals(7, 600, true)} {
		of := func(i int) int32 { return int32(i * 7 % 50) }
		whole := clusteredBy(t, "default", p, of)
		a, b := part(p, 0, 250), part(p, 250, 600)
		first := clusteredBy(t, "default", a, of)
		if err := first.Merge(clusteredBy(t, "default", b, func(i int) int32 { return of(i + 250) })); err != nil {
			t.Fatal(err)
		}
		want, err := whole.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := first.AppendBinary(nil); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("states differ: %v", err)
		}
		var read eval.Evaluation
		if err := read.UnmarshalBinary(want); err != nil {
			t.Fatal(err)
		}
		for _, m := range whole.Spec.Metrics {
			if a, b := whole.Value(m), read.Value(m); fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%v: %+v, and read %+v", m, a, b)
			}
		}
		other := clusteredBy(t, "default", p, nil)
		if err := first.Merge(other); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), `rows in clusters by "video" and rows without clusters`) {
			t.Error(err)
		}
	}
}

// part returns rows from one to before another.
func part(p *metrics.Predictions, from, to int) *metrics.Predictions {
	s := p.Slice(from, to)
	return &s
}

// TestClusterVerdict: few clusters in a bin may all have the outcome, and so show no spread; that is no finding.
func TestClusterVerdict(t *testing.T) {
	found, off := 0, 0
	const sets = 100
	for i := range sets {
		for _, wrong := range []bool{false, true} {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			p := &metrics.Predictions{}
			var of []int32
			for k := range 100 {
				score, y := r.Float64(), int32(0)
				truth := score
				if wrong {
					truth = score * score * score
				}
				if r.Float64() < truth {
					y = 1
				}
				for range 10 {
					p.F64, p.Labels, of = append(p.F64, score), append(p.Labels, y), append(of, int32(k))
				}
			}
			p.Rows, p.Classes = len(of), 1
			s := eval.Spec{Classes: 1, Cluster: "c"}
			s.Metrics, _ = eval.ParseMetrics("nll", s.Shape())
			e, err := eval.New(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.AddSource(&inClusters{p: p, of: of}, nil); err != nil {
				t.Fatal(err)
			}
			switch j := e.Judge(); {
			case !wrong && len(j.Off) > 0:
				found++
			case wrong && j.Side > 0:
				off++
			}
		}
	}
	if found > 6 || off < sets-2 {
		t.Errorf("of %d sets %d find a calibrated model off in some bin, and %d one that is off", sets, found, off)
	}
}

// TestSquaredOfClusters holds calibration_error_squared of rows in clusters of unequal sizes to its definition, with the variance of each bin
// by the sums of its clusters.
func TestSquaredOfClusters(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, weighted := range []bool{false, true} {
		const bins = 15
		p := &metrics.Predictions{}
		p.Classes = 1
		var of []int32
		for g := range 60 {
			shift, off := 0.2*r.NormFloat64(), 0.3*r.NormFloat64()
			for range 1 + r.IntN(30) {
				x := math.Round(1e3*min(0.99, max(0.01, 0.5+shift+0.1*r.NormFloat64()))) / 1e3
				y := int32(0)
				if r.Float64() < x+off {
					y = 1
				}
				p.F64, p.Labels, of = append(p.F64, x), append(p.Labels, y), append(of, int32(g))
				if weighted {
					p.Weights = append(p.Weights, float64(1+r.IntN(4)))
				}
			}
		}
		p.Rows = len(of)
		type bin struct{ weight, gap float64 }
		var all [bins]bin
		total := 0.0
		weight := func(i int) float64 {
			if weighted {
				return p.Weights[i]
			}
			return 1
		}
		in := func(i int) int { return min(int(p.F64[i]*bins), bins-1) }
		for i, x := range p.F64 {
			b := &all[in(i)]
			b.weight += weight(i)
			b.gap += weight(i) * (x - float64(p.Labels[i]))
			total += weight(i)
		}
		sums, sizes := map[[2]int]float64{}, map[[2]int]float64{}
		clusters := [bins]int{}
		for i, x := range p.F64 {
			k := [2]int{in(i), int(of[i])}
			if sizes[k] == 0 {
				clusters[k[0]]++
			}
			sums[k] += weight(i) * (x - float64(p.Labels[i]) - all[k[0]].gap/all[k[0]].weight)
			sizes[k] += weight(i)
		}
		want, chance := 0.0, 0.0
		for b, x := range all {
			if clusters[b] > 1 {
				want += x.gap / x.weight * x.gap / total
			}
		}
		for k, s := range sums {
			if clusters[k[0]] > 1 {
				n := all[k[0]].weight
				chance += s * s / (1 - sizes[k]/n) / n / total
			}
		}
		const list = "calibration_error_squared,calibration_error_squared(adaptive)"
		e := clusteredBy(t, list, p, func(i int) int32 { return of[i] })
		own, adaptive := e.Spec.Metrics[0], e.Spec.Metrics[1]
		v := e.Value(own)
		if !(math.Abs(v.Value-(want-chance)) < 1e-3*chance) || !strings.Contains(v.Reason, "no form for clusters") || v.Interval.Low == v.Interval.Low {
			t.Errorf("%+v, want %v of which chance %v", v, want-chance, chance)
		}
		if u := clusteredBy(t, list, p, nil).Value(own); !(u.Value > v.Value+0.2*chance) {
			t.Errorf("%v of clusters, and %v of rows", v.Value, u.Value)
		}
		if v := e.Value(adaptive); v.Value == v.Value || !strings.Contains(v.Reason, "only for bins of equal width") {
			t.Errorf("adaptive: %+v", v)
		}
		if text := e.Text(own); !strings.HasSuffix(text, "; v_b/n_b by clusters, of which a bin has two or more") {
			t.Error(text)
		}
		if v := clusteredBy(t, list, p, func(int) int32 { return 0 }).Value(own); v.Value == v.Value || !strings.Contains(v.Reason, "rows of two clusters") {
			t.Errorf("of one cluster: %+v", v)
		}
	}
}

// TestClustersOfFewEvents: of few clusters with events, bias has a variance that is larger by 3/m, and the upper end of areas is as if the
// variance were in proportion to the value.
func TestClustersOfFewEvents(t *testing.T) {
	const g, k = 24, 10
	r := rand.New(rand.NewPCG(11, 12))
	p := &metrics.Predictions{}
	p.Rows, p.Classes = g*k, 1
	sums, gap, m := make([]float64, g), 0.0, 0.0
	for c := range g {
		some := false
		for range k {
			x, y := 0.02+0.5*r.Float64(), int32(0)
			if c%2 == 0 && r.IntN(2) == 0 {
				y, some = 1, true
			}
			p.F64, p.Labels = append(p.F64, x), append(p.Labels, y)
			sums[c] += x - float64(y)
		}
		if gap += sums[c] / (g * k); some {
			m++
		}
	}
	v := 0.0
	for _, s := range sums {
		v += (s - k*gap) * (s - k*gap)
	}
	se := math.Sqrt(v*g/(g-1)*(1+3/m)) / (g * k)
	e := clusteredBy(t, "bias,oe_ratio,augrc,aurc,eaurc", p, func(i int) int32 { return int32(i / k) })
	const q = 2.0686576104190 // of Student's t with 23 degrees of freedom
	bias := e.Value(e.Spec.Metrics[0])
	if i := bias.Interval; math.Abs(i.Low-(gap-q*se)) > 1e-9 || math.Abs(i.High-(gap+q*se)) > 1e-9 {
		t.Errorf("bias is %v in %v; %v clusters have events, and %v +- %v is meant", bias.Value, i, m, gap, q*se)
	}
	if i, j := bias.Interval, e.Judge().Gap.Interval; i != j {
		t.Errorf("the verdict has %v, bias %v", j, i)
	}
	oe := e.Value(e.Spec.Metrics[1])
	if half := q * se / e.Loss.MeanP(); math.Abs(oe.Interval.High-oe.Value-half) > 1e-9 {
		t.Errorf("oe_ratio is %v in %v, whose half is to be %v", oe.Value, oe.Interval, half)
	}
	for _, n := range e.Spec.Metrics[2:] {
		a := e.Value(n)
		half, up := a.Value-a.Interval.Low, a.Interval.High-a.Value
		if !(a.Interval.Low > 0) || math.Abs(up*up-half*half*a.Interval.High/a.Value) > 1e-12 {
			t.Errorf("%v is %v in %v", n, a.Value, a.Interval)
		}
	}
}

// TestUpperEnds: by clusters the interval of brier ends where (m-d)^2 = q^2 se^2 m/d, and that of nll higher by 3/8 q^2 se^2/d.
func TestUpperEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for _, clusters := range []int{20, 200} {
		p := &metrics.Predictions{}
		p.Rows, p.Classes = 10*clusters, 1
		for range clusters {
			x := 0.7 * r.NormFloat64()
			y := int32(r.IntN(2))
			for range 10 { // rows of a cluster are nearly the same, and far from right
				p.F64, p.Labels = append(p.F64, 1/(1+math.Exp(-x-0.1*r.NormFloat64()))), append(p.Labels, y)
			}
		}
		e := clusteredBy(t, "nll,brier,perplexity", p, func(i int) int32 { return int32(i / 10) })
		var nll eval.Value
		for i, more := range []float64{0.375, 0} {
			v := e.Value(e.Spec.Metrics[i])
			if i == 0 {
				nll = v
			}
			k := (v.Value - v.Interval.Low) / v.Value
			x := v.Interval.High/v.Value - more*k*k
			if !(x > 1) || k >= 1 || math.Abs((x-1)*(x-1)/(k*k*x)-1) > 1e-12 {
				t.Errorf("%d clusters: %v of %v +- %v ends at %v, not where it should", clusters, e.Spec.Metrics[i], v.Value, k*v.Value, v.Interval.High)
			}
		}
		if v := e.Value(e.Spec.Metrics[2]); math.Abs(v.Interval.High/math.Exp(nll.Interval.High)-1) > 1e-12 {
			t.Errorf("%d clusters: perplexity ends at %v, and nll at %v", clusters, v.Interval.High, nll.Interval.High)
		}
	}
}
