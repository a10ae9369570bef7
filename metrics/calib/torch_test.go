package calib_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// torchData is testdata/oracle/torch_edges.json.gz; see make_torch_edges.py there.
type torchData struct {
	Float32, Float64 [][]int // differences from i/B in units in the last place, by bins-1 and edge
	Cases            []torchCase
}

type torchCase struct {
	Type, Form    string
	Classes, Bins int
	Scores        []float64
	Labels        []int32
	Value         float64
}

func readTorch(t *testing.T) (d torchData) {
	t.Helper()
	f, err := os.Open("../../testdata/oracle/torch_edges.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		t.Fatal(err)
	}
	if len(d.Float32) != 200 || len(d.Float64) != 200 || len(d.Cases) < 50 {
		t.Fatalf("%d and %d numbers of bins, %d cases", len(d.Float32), len(d.Float64), len(d.Cases))
	}
	return d
}

func (c *torchCase) predictions() *metrics.Predictions {
	p := &metrics.Predictions{Labels: c.Labels}
	p.Classes, p.Rows = c.Classes, len(c.Labels)
	if c.Type == "float64" {
		p.F64 = c.Scores
		return p
	}
	for _, v := range c.Scores {
		p.F32 = append(p.F32, float32(v))
	}
	return p
}

// TestTorchEdges compares every edge of 1 to 200 bins with torch.linspace, in both types.
func TestTorchEdges(t *testing.T) {
	d := readTorch(t)
	one := func(wide bool) *metrics.Predictions {
		p := &metrics.Predictions{Labels: []int32{1}}
		if p.Rows, p.Classes = 1, 1; wide {
			p.F64 = []float64{0.5}
		} else {
			p.F32 = []float32{0.5}
		}
		return p
	}
	for bins := 1; bins <= 200; bins++ {
		want32, want64 := make([]float64, bins+1), make([]float64, bins+1)
		for i := range want32 {
			near := float64(i) / float64(bins)
			want32[i] = float64(math.Float32frombits(math.Float32bits(float32(near)) + uint32(d.Float32[bins-1][i])))
			want64[i] = math.Float64frombits(math.Float64bits(near) + uint64(d.Float64[bins-1][i]))
		}
		for _, c := range []struct {
			index calib.Index
			event calib.Event
			wide  bool // float64 scores
			want  []float64
		}{
			{calib.EdgeMul32, calib.Positive, false, want32}, {calib.EdgeMul32, calib.Positive, true, want32}, {calib.EdgeMul32, calib.TopLabel, true, want32},
			{calib.EdgeTorch, calib.Positive, false, want32}, {calib.EdgeTorch, calib.Positive, true, want64}, {calib.EdgeTorch, calib.ByShape, true, want64},
			{calib.EdgeTorch, calib.TopLabel, true, want32}, {calib.EdgeTorch, calib.AllClasses, true, want32},
		} {
			b, err := calib.BinsOf(one(c.wide), &calib.Options{Bins: bins, Index: c.index, Event: c.event})
			if err != nil {
				t.Fatal(err)
			}
			for i, bar := range b.Bins(0.95) {
				if bar.Lower != c.want[i] || bar.Upper != c.want[i+1] {
					t.Fatalf("%d bins, index %d, event %d, float64 %v: bin %d is [%v, %v], want [%v, %v]", bins, c.index, c.event, c.wide, i,
						bar.Lower, bar.Upper, c.want[i], c.want[i+1])
				}
			}
		}
	}
}

// TestTorchmetrics compares with torchmetrics, which sums in the type of the scores. Most scores are on or next to an edge.
func TestTorchmetrics(t *testing.T) {
	for i, c := range readTorch(t).Cases {
		o := like(t, "torchmetrics", c.Bins)
		if c.Form == "multiclass" {
			o.Event = calib.TopLabel
		}
		tolerance := 1e-14
		if c.Type == "float32" || c.Form == "multiclass" {
			tolerance = 1e-6
		}
		got, err := calib.ECE(c.predictions(), &o)
		if err != nil || !(math.Abs(got-c.Value) <= tolerance) {
			t.Errorf("case %d, %s %s of %d bins: %v, want %v %v", i, c.Type, c.Form, c.Bins, got, c.Value, err)
		}
		g, err := calib.GeneralOf(c.predictions(), &calib.GeneralOptions{Options: calib.Options{Bins: c.Bins, Event: o.Event, One: o.One, Index: o.Index}, Above: new(0.0), TotalDenominator: true})
		if o.Zero = calib.NoBin; err != nil {
			t.Fatal(err)
		}
		// With a threshold, GCE takes another path: it gathers the scores.
		if want, err := calib.ECE(c.predictions(), &o); err != nil || g.Value != want {
			t.Errorf("case %d, gathered: %v, want %v %v", i, g.Value, want, err)
		}
	}
}

// TestGuoEdge checks a score of 0.8, which is on an edge of 15 bins. The bins of temperature_scaling are right-closed.
func TestGuoEdge(t *testing.T) {
	o := like(t, "guo", 15)
	for _, name := range []string{"float32", "float64"} {
		c := torchCase{Type: name, Classes: 2, Scores: []float64{.78, .22, .8, .2}, Labels: []int32{0, 1}}
		if got, err := calib.ECE(c.predictions(), &o); err != nil || math.Abs(got-.29) > 1e-7 {
			t.Errorf("%s: %v, want 0.29 %v", name, got, err)
		}
	}
}

// TestTorchMerge checks that states of both types merge to the same state in any order, with each row in the bin of its own
// type.
func TestTorchMerge(t *testing.T) {
	o := like(t, "torchmetrics", 5)
	var states []string
	narrow := torchCase{Type: "float32", Classes: 1, Scores: []float64{.6, .65, .1}, Labels: []int32{0, 1, 1}}
	wide := torchCase{Type: "float64", Classes: 1, Scores: []float64{.6, .65, .3}, Labels: []int32{0, 1, 1}}
	for _, order := range [][]torchCase{{narrow, wide}, {wide, narrow}} {
		sum := metrics.Must(calib.NewBins(&o))
		for _, c := range order {
			b, err := calib.BinsOf(c.predictions(), &o)
			if err != nil {
				t.Fatal(err)
			}
			s, err := b.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			var again calib.Bins
			if err := errors.Join(again.UnmarshalBinary(s), sum.Merge(&again)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := sum.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		counts := ""
		for _, bar := range sum.Bins(0.95) {
			counts += fmt.Sprint(bar.Count, " ")
		}
		if want := "1 1 0 4 0 "; counts != want {
			t.Errorf("%s rows, want %s", counts, want)
		}
		if edge := sum.Bins(0.95)[2].Upper; edge != 0.6 {
			t.Errorf("edge 3 is %v, want that of float64", edge)
		}
		states = append(states, string(s))
	}
	if states[0] != states[1] {
		t.Error("states differ by the order of their merging")
	}
}
