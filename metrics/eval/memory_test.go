package eval

import (
	"math"
	"runtime"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// heap returns how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSize holds what an evaluation says of its memory against the heap, metric by metric and for all of them.
func TestSize(t *testing.T) {
	for _, c := range []struct {
		name string
		p    *metrics.Predictions
	}{
		{"binary", predictions(1, 40_000, 1, false)},
		{"binary, few", predictions(1, 500, 1, false)},
		{"binary, weights", predictions(1, 5_000, 1, true)},
		{"3 classes", predictions(2, 10_000, 3, false)},
		{"3 classes, weights", predictions(2, 5_000, 3, true)},
		{"200 classes", predictions(3, 500, 200, false)},
		{"200 classes, weights", predictions(3, 100, 200, true)},
		{"normals", normals(4, 20_000, false)},
		{"normals, weights", normals(4, 2_000, true)},
		{"quantiles", quantilesOf(5, 20_000, 5, false)},
		{"samples", numbers(6, 3_000, 20, metrics.Samples)},
		{"log-likelihoods", numbers(7, 3_000, 20, metrics.LogLiks)},
	} {
		s := Spec{Classes: c.p.Classes, Kind: c.p.Kind, Memory: 16 << 20}
		if s.Kind == metrics.Quantiles {
			s.Levels = five
		}
		all := listOf(t, "all", s.Shape())
		lists := [][]Metric{all}
		for i := range all {
			lists = append(lists, all[i:i+1])
		}
		for i, l := range lists {
			s.Metrics = l
			e, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			before := heap()
			// Made anew by AddSource, so nothing of it is counted before.
			if err := e.AddSource(&source{p: c.p}, &metrics.Options{Threads: 1, Unchecked: true}); err != nil {
				t.Fatal(err)
			}
			took := heap() - before
			size := e.Size(Extent{Rows: int64(c.p.Rows), DType: metrics.Float64, Weighted: c.p.Weights != nil})
			name := "all"
			if i > 0 {
				name = l[0].String()
			}
			t.Logf("%s, %s: %d bytes, said are %d: %.2f", c.name, name, took, size, float64(size)/math.Max(1, float64(took)))
			if took > size || size > 6*took+1<<20 {
				t.Errorf("%s, %s: %d bytes, said are %d", c.name, name, took, size)
			}
			runtime.KeepAlive(e)
		}
	}
}
