package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/sliced"
)

// sliceLaws draw the score of a calibrated model.
var sliceLaws = []struct {
	name string
	draw func(r *rand.Rand) float64
}{
	{"even", func(r *rand.Rand) float64 { return r.Float64() }},
	{"low", func(r *rand.Rand) float64 { return math.Pow(r.Float64(), 4) }},
	{"rare", func(r *rand.Rand) float64 { return 0.06 * math.Pow(r.Float64(), 2) }},
	{"two percent", func(r *rand.Rand) float64 { return 0.02 + 1e-6*r.Float64() }},
}

// values of the three columns that rows are sliced by.
var sliceValues = [3]int{3, 4, 5}

// slicedSource yields rows with groups in one chunk.
type slicedSource struct {
	chunk *metrics.Chunk
}

func (s *slicedSource) Next() (*metrics.Chunk, error) {
	c := s.chunk
	if s.chunk = nil; c == nil {
		return nil, io.EOF
	}
	return c, nil
}

// found are the tests that reject at 5%.
type found struct{ gap, list, worst int }

// slicedSet evaluates a set. The events of one slice of twelve are more frequent than its scores say, by
// the share planted. Rows are of clusters of ten if common is above 0: they have one score and two of the three values in common, and their
// outcomes are decided by normal numbers of this correlation.
func slicedSet(seed uint64, law func(r *rand.Rand) float64, rows int, planted, common float64) (f found, err error) {
	r := rand.New(rand.NewPCG(seed, 23))
	c := &metrics.Chunk{}
	c.Rows, c.Classes = rows, 1
	var p, shared float64
	var v [3]int
	for i := range rows {
		if common == 0 || i%10 == 0 {
			p = law(r)
			for k, n := range sliceValues {
				v[k] = r.IntN(n)
			}
			if common > 0 {
				shared = r.NormFloat64()
			}
		} else {
			v[2] = r.IntN(sliceValues[2])
		}
		q := p
		if v[0] == 0 && v[1] == 0 {
			q = min(1, p*(1+planted))
		}
		y, u := int32(0), 0.0
		if common == 0 {
			u = r.Float64()
		} else {
			u = math.Erfc(-(float64(math.Sqrt(common)*shared)+float64(math.Sqrt(1-common)*r.NormFloat64()))/math.Sqrt2) / 2
			c.Clusters = append(c.Clusters, int32(i/10))
		}
		if u < q {
			y = 1
		}
		c.F64, c.Labels = append(c.F64, p), append(c.Labels, y)
		c.Groups = append(c.Groups, int32((v[0]*sliceValues[1]+v[1])*sliceValues[2]+v[2]))
	}
	spec := eval.Spec{Classes: 1}
	if common > 0 {
		spec.Cluster = "cluster"
	}
	if spec.Metrics, err = eval.ParseMetrics("multicalibration_error_p,multicalibration_gap_p", spec.Shape()); err != nil {
		return f, err
	}
	e, err := sliced.New(spec, []sliced.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}})
	if err != nil {
		return f, err
	}
	e.Threads = 1
	values := func(g int32) []string {
		i := int(g)
		return []string{strconv.Itoa(i / sliceValues[2] / sliceValues[1]), strconv.Itoa(i / sliceValues[2] % sliceValues[1]), strconv.Itoa(i % sliceValues[2])}
	}
	if err := e.AddSource(&slicedSource{c}, values, &metrics.Options{Threads: 1}); err != nil {
		return f, err
	}
	if e.Whole().Value(spec.Metrics[0]).Value <= 0.05 {
		f.worst++
	}
	if e.Whole().Value(spec.Metrics[1]).Value <= 0.05 {
		f.gap++
	}
	if l, _, _ := e.List(sliced.ListOptions{MinRows: 30}); len(l) > 0 && l[0].Adjusted <= 0.05 {
		f.list++
	}
	return f, nil
}

// printSlices prints the table of slices, of rows in clusters if common is above 0.
func printSlices(w io.Writer, runs, threads int, sizes []int, common float64) error {
	fmt.Fprintln(w, "| law, rows | `multicalibration_gap_p` | slices, adjusted | `multicalibration_error_p` | gap, a slice 30% more | slices, a slice 30% more |")
	fmt.Fprintln(w, "| --- | ---: | ---: | ---: | ---: | ---: |")
	for _, l := range sliceLaws {
		for _, rows := range sizes {
			if !strings.Contains(fmt.Sprintf("%s, %d", l.name, rows), onlyLaw) {
				continue
			}
			var sum [2]found
			var mu sync.Mutex
			var wait sync.WaitGroup
			var failed error
			for t := range threads {
				wait.Go(func() {
					for i := t; i < runs; i += threads {
						for k, planted := range []float64{0, 0.3} {
							f, err := slicedSet(uint64(first+i), l.draw, rows, planted, common)
							mu.Lock()
							sum[k].gap, sum[k].list, sum[k].worst = sum[k].gap+f.gap, sum[k].list+f.list, sum[k].worst+f.worst
							if err != nil {
								failed = err
							}
							mu.Unlock()
						}
					}
				})
			}
			wait.Wait()
			if failed != nil {
				return failed
			}
			share := func(n int) float64 { return float64(n) / float64(runs) }
			worst := "-" // of rows in clusters it has no value
			if common == 0 {
				worst = fmt.Sprintf("%.3f", share(sum[0].worst))
			}
			fmt.Fprintf(w, "| %s, %d | %.3f | %.3f | %s | %.3f | %.3f |\n", l.name, rows, share(sum[0].gap), share(sum[0].list), worst,
				share(sum[1].gap), share(sum[1].list))
		}
	}
	return nil
}
