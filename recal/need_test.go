package recal

import (
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestNeedOf: what is needed rises with what there is, and with the threads.
func TestNeedOf(t *testing.T) {
	s := Size{Rows: 1000, Classes: 100, DType: metrics.Float64}
	o := &Options{Threads: 2, Memory: 64 << 20}
	for _, m := range methods {
		n := NeedOf(m.zero, s, o)
		if n.Fit <= 0 || n.Map <= 0 || n.Reads < 1 {
			t.Errorf("%s: %+v", m.Name, n)
		}
		wide := s
		wide.Classes = 100_000
		w := NeedOf(m.zero, wide, o)
		four := NeedOf(m.zero, wide, &Options{Threads: 4, Memory: 64 << 20})
		if w.Fit < n.Fit || w.Map < n.Map || w.Reads < n.Reads || four.Fit <= w.Fit {
			t.Errorf("%s: %+v of 100 classes, %+v of 100,000, %+v by four threads", m.Name, n, w, four)
		}
	}
	// What is sorted in groups is read once for each.
	s = Size{Rows: 1 << 20, Classes: 40}
	for _, c := range []struct {
		m      Method
		memory int64
		want   int
	}{{Isotonic{}, 1 << 40, 2}, {Isotonic{}, 8 << 20, 41}, {Isotonic{TopLabel: true}, 8 << 20, 2}, {Histogram{}, 8 << 20, 2}} {
		if n := NeedOf(c.m, s, &Options{Threads: 1, Memory: c.memory}); n.Reads != c.want {
			t.Errorf("%s in %d bytes: %d reads, want %d", c.m, c.memory, n.Reads, c.want)
		}
	}
}

// TestNeedOfReads: the number of reads is exact for fits that sort, and approximate for others.
func TestNeedOfReads(t *testing.T) {
	p := dataRows(4000, 12, 12, metrics.Float32)
	p.Weights = nil
	p.Kind = metrics.Logits
	s := Size{Rows: 4000, Classes: 12, Kind: p.Kind, DType: metrics.Float32}
	for _, m := range []Method{Isotonic{}, Histogram{EqualMass: true}, BBQ{}, Histogram{}} {
		o := &Options{Threads: 1, Memory: 200_000}
		f, err := m.Fit(InMemory(p), o)
		if err != nil {
			t.Fatal(m, err)
		}
		if got, want := NeedOf(m, s, o).Reads, f.Fit().Reads; got != want {
			t.Errorf("%s: %d reads are told of, and there are %d", m, got, want)
		}
	}
}

// TestFinderIsSmall: of curves of many classes with few steps each no table is larger than what it finds, by far.
func TestFinderIsSmall(t *testing.T) {
	for _, n := range []int{1, 2, 15, 16, 17, 100, 1000, 10_000} {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i) / float64(n)
		}
		if f := newFinder(x); len(f.upTo)*4 > 129*n+512 {
			t.Errorf("%d bytes for %d numbers", len(f.upTo)*4, n)
		}
	}
}
