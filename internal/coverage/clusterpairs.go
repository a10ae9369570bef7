package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
)

// clusterLaw draws clusters of rows for two models.
type clusterLaw struct {
	name    string
	classes int
	size    func(r *rand.Rand, k, n int) int                      // of cluster k of n; rows have the same law whatever it is
	row     func(r *rand.Rand) func(a, b []float64) (label int32) // of a cluster
}

func tenRows(*rand.Rand, int, int) int { return 10 }

// frames draws what the rows of a cluster share, as the frames of a video do: what is seen, the outcome and most of the noise. B sees the
// logit with less of it.
func frames(mean, sd float64) func(r *rand.Rand) func(a, b []float64) int32 {
	return func(r *rand.Rand) func(a, b []float64) int32 {
		z := mean + float64(sd*r.NormFloat64())
		y := happens(r, logistic(z))
		na, nb := r.NormFloat64(), 0.6*r.NormFloat64()
		return func(a, b []float64) int32 {
			a[0], b[0] = logistic(z+na+0.4*r.NormFloat64()), logistic(z+nb+0.3*r.NormFloat64())
			if r.IntN(8) == 0 {
				return 1 - y
			}
			return y
		}
	}
}

// events draws clusters whose rows share the probability of the event, on average mean, and half of what decides whether it happens. B knows
// the probability, and A has noise of its own.
func events(mean float64) func(r *rand.Rand) func(a, b []float64) int32 {
	return func(r *rand.Rand) func(a, b []float64) int32 {
		p, shared, noise := 2*mean*r.Float64(), r.NormFloat64(), 0.5*r.NormFloat64()
		return func(a, b []float64) int32 {
			a[0], b[0] = logistic(math.Log(p/(1-p))+noise+0.3*r.NormFloat64()), p
			return shares(p, shared, r)
		}
	}
}

// shares decides an event of this probability by two normal numbers: one that is shared, and one of its own.
func shares(p, shared float64, r *rand.Rand) int32 {
	if math.Erfc(-(shared+r.NormFloat64())/2)/2 < p {
		return 1
	}
	return 0
}

var clusterLaws = []clusterLaw{
	{"frames", 1, tenRows, frames(0, 1.5)},
	{"unequal", 1, func(r *rand.Rand, _, _ int) int { return min(60, 1+int(10*r.ExpFloat64())) }, frames(0, 1.5)},
	{"lognormal", 1, func(r *rand.Rand, _, _ int) int { return int(math.Ceil(5 * math.Exp(r.NormFloat64()))) }, frames(0, 1.5)},
	{"Zipf", 1, func(_ *rand.Rand, k, n int) int { return max(1, 4*n/(k+1)) }, frames(0, 1.5)},
	{"giant", 1, func(_ *rand.Rand, k, n int) int {
		if k == 0 {
			return 10 * (n - 1)
		}
		return 10
	}, frames(0, 1.5)},
	{"classes", 10, tenRows, func(r *rand.Rand) func(a, b []float64) int32 {
		var z, na, nb, za, zb, q [10]float64
		for i := range z {
			z[i], na[i], nb[i] = r.NormFloat64(), r.NormFloat64(), 0.5*r.NormFloat64()
		}
		z[r.IntN(len(z))] += 5.5 * (r.ExpFloat64() + r.ExpFloat64()) / 2
		softmax(q[:], z[:], 1)
		y := pick(r, q[:])
		return func(a, b []float64) int32 {
			for i := range z {
				za[i], zb[i] = z[i]+na[i]+0.4*r.NormFloat64(), z[i]+nb[i]+0.3*r.NormFloat64()
			}
			softmax(a, za[:], 1)
			softmax(b, zb[:], 1)
			return y
		}
	}},
	{"few events", 1, tenRows, events(0.1)},
	{"rare events", 1, tenRows, events(0.02)},
	{"both calibrated", 1, tenRows, func(r *rand.Rand) func(a, b []float64) int32 {
		p := r.Float64()
		y := happens(r, p)
		return func(a, b []float64) int32 {
			b[0] = p
			if a[0] = 0.25; p >= 0.5 {
				a[0] = 0.75
			}
			return y
		}
	}},
}

// lawsOfClusters returns the laws that are asked for.
func lawsOfClusters() []clusterLaw {
	return slices.DeleteFunc(slices.Clone(clusterLaws), func(l clusterLaw) bool { return !strings.Contains(l.name, onlyLaw) })
}

// many returns very many rows, in clusters of ten: where clusters are of other sizes, one may have most rows, and tell of itself only.
func (l *clusterLaw) many(rows int) (a, b *metrics.Predictions, of []int32) {
	ten := *l
	ten.size = tenRows
	return ten.draw(rand.New(rand.NewPCG(3, 0)), rows/10)
}

// draw returns the rows of n clusters for both models, and the cluster of each.
func (l *clusterLaw) draw(r *rand.Rand, n int) (a, b *metrics.Predictions, of []int32) {
	a, b = &metrics.Predictions{}, &metrics.Predictions{}
	pa, pb := make([]float64, l.classes), make([]float64, l.classes)
	for k := range n {
		row := l.row(r)
		for range l.size(r, k, n) {
			a.Labels = append(a.Labels, row(pa, pb))
			a.F64, b.F64, of = append(a.F64, pa...), append(b.F64, pb...), append(of, int32(k))
		}
	}
	b.Labels = a.Labels
	for _, p := range []*metrics.Predictions{a, b} {
		p.Rows, p.Classes = len(of), l.classes
	}
	return a, b, of
}

// inClusters is a source of one chunk of rows of clusters.
type inClusters struct {
	once
	of []int32
}

func (s *inClusters) Next() (*metrics.Chunk, error) {
	c, err := s.once.Next()
	if err == nil {
		c.Clusters = s.of
	}
	return c, err
}

// compare returns the differences of two models, by metric.
func (l *clusterLaw) compare(a, b *metrics.Predictions, of []int32, list []eval.Metric, clustered bool) ([]compared.Difference, error) {
	s, srcs := eval.Spec{Classes: l.classes, Metrics: list}, []metrics.Source{&once{a}, &once{b}}
	if clustered {
		s.Cluster, srcs = "cluster", []metrics.Source{&inClusters{once{a}, of}, &inClusters{once{b}, of}}
	}
	c, err := compared.New(s, []string{"A", "B"}, "")
	if err != nil {
		return nil, err
	}
	err = c.AddSources(srcs, &metrics.Options{Threads: 1})
	return c.Differences(nil), err
}

// printClusters writes the table of the coverage of differences of rows in clusters, by intervals that know of them and by those that
// take rows as independent.
func printClusters(w io.Writer, runs, truth, threads int, sizes []int) error {
	fmt.Fprintf(w, "Share of %d sets of clusters of rows whose 95%% interval of the difference of two models holds the true difference, and in brackets that of intervals that take rows as independent; - where there is none.\n", runs)
	laws := lawsOfClusters()
	for _, n := range sizes {
		fmt.Fprintf(w, "\n%d clusters:\n\n| metric |", n)
		line := "\n| --- |"
		share := make([]map[string][2]float64, len(laws))
		for i := range laws {
			l := &laws[i]
			fmt.Fprintf(w, " %s |", l.name)
			line += " ---: |"
			var err error
			if share[i], err = l.cover(n, runs, truth, threads); err != nil {
				return err
			}
		}
		fmt.Fprintln(w, line)
		for _, name := range pairNames {
			row := "| `" + name + "` |"
			for i := range laws {
				if v, ok := share[i][name]; ok {
					row += fmt.Sprintf(" %.3f (%.2f) |", v[0], v[1])
				} else {
					row += " - |"
				}
			}
			fmt.Fprintln(w, row)
		}
	}
	return nil
}

// cover returns the shares of sets whose intervals hold the difference of very many clusters: of those that know of clusters, and of others.
func (l *clusterLaw) cover(n, runs, truth, threads int) (map[string][2]float64, error) {
	var list []eval.Metric
	for _, name := range pairNames {
		if m, err := eval.ParseMetrics(name, eval.Shape{Classes: l.classes}); err == nil {
			list = append(list, m...)
		}
	}
	a, b, of := l.many(truth)
	whole, err := l.compare(a, b, of, list, true)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	hit, all := map[string][2]int{}, map[string][2]int{}
	err = each(runs, threads, func(run int) error {
		a, b, of := l.draw(rand.New(rand.NewPCG(4, uint64(run))), n)
		for k, clustered := range []bool{true, false} {
			found, err := l.compare(a, b, of, list, clustered)
			if err != nil {
				return err
			}
			mu.Lock()
			for i, d := range found {
				if name := d.Metric.String(); d.Interval.Low == d.Interval.Low {
					s, h := all[name], hit[name]
					s[k]++
					if v := whole[i].Value; d.Interval.Low <= v && v <= d.Interval.High {
						h[k]++
					}
					all[name], hit[name] = s, h
				}
			}
			mu.Unlock()
		}
		return nil
	})
	share := map[string][2]float64{}
	for name, n := range all {
		if n[0] > runs/2 {
			share[name] = [2]float64{float64(hit[name][0]) / float64(n[0]), float64(hit[name][1]) / float64(n[1])}
		}
	}
	return share, err
}
