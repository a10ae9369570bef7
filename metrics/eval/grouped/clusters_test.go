package grouped_test

import (
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/clustered"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// whole is a source of one chunk.
type whole struct{ c *metrics.Chunk }

func (s *whole) Next() (c *metrics.Chunk, err error) {
	if c, s.c = s.c, nil; c == nil {
		err = io.EOF
	}
	return c, err
}

// inClusters draws rows in this many clusters of each group. The rows of a cluster have one score and one outcome, of the probability that
// truth gives.
func inClusters(r *rand.Rand, groups, clusters, rows int, truth func(group int, p float64) float64) *metrics.Chunk {
	c := new(metrics.Chunk)
	for k := range groups * clusters {
		g, p, y := k%groups, r.Float64(), int32(0)
		if r.Float64() < truth(g, p) {
			y = 1
		}
		for range rows {
			c.F64, c.Labels, c.Groups, c.Clusters = append(c.F64, p), append(c.Labels, y), append(c.Groups, int32(g)), append(c.Clusters, int32(k))
		}
	}
	c.Rows, c.Classes = len(c.F64), 1
	return c
}

func testsOf(t *testing.T, c *metrics.Chunk, cluster string) *grouped.Tests {
	t.Helper()
	s := eval.Spec{Classes: 1, Cluster: cluster}
	s.Metrics, _ = eval.ParseMetrics("nll", s.Shape())
	g, err := grouped.New(s, []string{"site"})
	if err != nil {
		t.Fatal(err)
	}
	one := *c
	if err := g.AddSource(&whole{&one}, func(g int32) []string { return []string{strconv.Itoa(int(g))} }, &metrics.Options{Threads: 2}); err != nil {
		t.Fatal(err)
	}
	return g.Tests(grouped.TestOptions{})
}

func calibrated(_ int, p float64) float64 { return p }

// TestClusters: of calibrated groups whose rows are alike within clusters hardly ever one is off, where tests of independent rows find
// many; one that is far off is found; intervals are those of clusters of one size.
func TestClusters(t *testing.T) {
	const sets = 24
	var off, independent, found int
	for i := range sets {
		c := inClusters(rand.New(rand.NewPCG(uint64(i), 1)), 20, 40, 10, calibrated)
		x := testsOf(t, c, "c")
		if x.Off > 0 {
			off++
		}
		if testsOf(t, c, "").Off > 0 {
			independent++
		}
		if x.Tested != 20 || x.Reason != "" || x.SD != x.SD || x.Family < 20 || x.Family > 40 {
			t.Fatalf("%+v", x)
		}
		bad := inClusters(rand.New(rand.NewPCG(uint64(i), 2)), 20, 40, 10, func(g int, p float64) float64 {
			if g == 3 {
				return 1 - math.Pow(p, 8)
			}
			return p
		})
		if x := testsOf(t, bad, "c"); x.Groups[0].Off && x.Groups[0].Values[0] == "3" {
			found++
		}
		if i > 0 {
			continue
		}
		for _, g := range x.Groups {
			var gaps []float64
			mean := 0.0
			for k, group := range c.Groups {
				if k%10 == 0 && strconv.Itoa(int(group)) == g.Values[0] {
					gaps = append(gaps, c.F64[k]-float64(c.Labels[k]))
					mean += gaps[len(gaps)-1] / 40
				}
			}
			v := 0.0
			for _, d := range gaps {
				v += (d - mean) * (d - mean) / 40 / 39
			}
			half := clustered.Quantile(0.95, 39) * math.Sqrt(v)
			if math.Abs(g.Gap-mean) > 1e-12 || math.Abs(g.Interval.Low-(mean-half)) > 1e-12 || math.Abs(g.Interval.High-(mean+half)) > 1e-12 || g.Clusters != 40 {
				t.Errorf("%v: gap %v in %v, want %v +- %v", g.Values, g.Gap, g.Interval, mean, half)
			}
			if p := clustered.P(mean/math.Sqrt(v), 39); !(g.Total.P >= p*(1-1e-9)) || p < 0.9 && g.Total.Method != "clusters" {
				t.Errorf("%v: p is %+v, that of the gap %v", g.Values, g.Total, p)
			}
		}
	}
	if off > 4 || independent < sets-2 || found < sets-4 {
		t.Errorf("of %d sets %d find a group off, with independent rows %d; the one that is off %d times", sets, off, independent, found)
	}
}

// TestFewClusters: groups of fewer than ten clusters are not tested, nor shrunk, nor are clusters of more than 1,000 groups.
func TestFewClusters(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	c := inClusters(r, 3, 12, 10, calibrated)
	few := inClusters(r, 1, grouped.MinClusters-1, 10, calibrated)
	for i := range few.Rows {
		c.F64, c.Labels, c.Groups, c.Clusters = append(c.F64, few.F64[i]), append(c.Labels, few.Labels[i]), append(c.Groups, 3), append(c.Clusters, 100+few.Clusters[i])
	}
	c.Rows += few.Rows
	x := testsOf(t, c, "c")
	last := x.Groups[3]
	if x.Tested != 3 || x.FewClusters != 1 || x.Few != 0 || last.Values[0] != "3" || last.Clusters != grouped.MinClusters-1 || last.Total.P == last.Total.P || last.Bins.P == last.Bins.P ||
		last.Interval.Low == last.Interval.Low || last.Shrunk == last.Shrunk || last.Gap != last.Gap {
		t.Errorf("%+v", x)
	}
	if x := testsOf(t, few, "c"); x.Tested != 0 || x.Reason != "no group has 30 rows and 10 clusters" {
		t.Errorf("%+v", x)
	}
	if x := testsOf(t, inClusters(r, 1001, 1, 1, calibrated), "c"); x.Tested != 0 || !strings.Contains(x.Reason, "of more than 1000 groups no sums of clusters are kept") {
		t.Errorf("%+v", x)
	}
}
