package metrics_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// pairs returns rows of two classes' scores of a type and kind, and those of the event by themselves, with labels.
func pairs(rows, stride int, d metrics.DType, k metrics.Kind, event int) (two, one metrics.Predictions) {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(d)<<8|uint64(k)))
	two.Kind, one.Kind = k, k
	two.Rows, two.Classes, two.Stride = rows, 2, stride
	one.Rows, one.Classes = rows, 1
	for i := range rows {
		a, b := float32(3*r.NormFloat64()), float32(3*r.NormFloat64())
		if k == metrics.Probs {
			b = float32(r.IntN(257)) / 256
			a = 1 - b
		}
		row := []float32{a, b}
		for len(row) < stride && i < rows-1 {
			row = append(row, float32(math.NaN()))
		}
		v := row[event]
		switch d {
		case metrics.Float64:
			if k == metrics.Logits {
				v64 := float64(row[event]) - float64(row[1-event])
				one.F64 = append(one.F64, v64)
			} else {
				one.F64 = append(one.F64, float64(v))
			}
			for _, x := range row {
				two.F64 = append(two.F64, float64(x))
			}
		case metrics.Float32:
			if k == metrics.Logits {
				v = row[event] - row[1-event]
			}
			one.F32, two.F32 = append(one.F32, v), append(two.F32, row...)
		default: // bfloat16
			cut := func(v float32) uint16 { return uint16(math.Float32bits(v) >> 16) }
			wide := func(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }
			for _, x := range row {
				two.BF16 = append(two.BF16, cut(x))
			}
			if w := cut(row[event]); k == metrics.Logits {
				one.BF16 = append(one.BF16, nearest16(wide(w)-wide(cut(row[1-event])), wide))
			} else {
				one.BF16 = append(one.BF16, w)
			}
		}
		y := int32(r.IntN(2))
		two.Labels = append(two.Labels, y)
		if event == 0 {
			y = 1 - y
		}
		one.Labels = append(one.Labels, y)
	}
	return two, one
}

// nearest16 looks for the 16 bits that are nearest to v, of two the even ones.
func nearest16(v float32, wide func(uint16) float32) uint16 {
	best, off := uint16(0), math.Inf(1)
	for b := range 1 << 16 {
		w := float64(wide(uint16(b)))
		if e := math.Abs(w - float64(v)); e < off || e == off && b&1 == 0 && math.Signbit(w) == math.Signbit(float64(v)) {
			best, off = uint16(b), e
		}
	}
	return best
}

func lossOf(t *testing.T, p metrics.Predictions, o *metrics.Options) (string, metrics.Audit, error) {
	t.Helper()
	l := metrics.Must(score.NewLoss(nil))
	pass := metrics.NewPass(o, l)
	err := pass.Add(&p)
	b, e := l.AppendBinary(nil)
	if e != nil {
		t.Fatal(e)
	}
	return string(b), pass.Audit(), err
}

// TestOfEvent: two columns are the one of their event, to the byte, in every type, however they lie.
func TestOfEvent(t *testing.T) {
	for _, d := range []metrics.DType{metrics.Float64, metrics.Float32, metrics.BFloat16} {
		for _, k := range []metrics.Kind{metrics.Probs, metrics.Logits} {
			for event := range 2 {
				for _, stride := range []int{0, 5} {
					rows := 300
					if d == metrics.BFloat16 {
						rows = 20
					}
					two, one := pairs(rows, stride, d, k, event)
					two.OfEvent(event)
					if two.Pair != nil {
						t.Errorf("%v %v: rows that are as they should be need a look", d, k)
					}
					a, audit, err := lossOf(t, two, nil)
					b, want, err2 := lossOf(t, one, nil)
					if a != b || audit != want || err != nil || err2 != nil {
						t.Errorf("%v %v, event %d, stride %d: two columns %+v, one %+v; %v, %v", d, k, event, stride, audit, want, err, err2)
					}
				}
			}
		}
	}
}

// TestOfEventRounds: the difference of two logits of binary16 is the nearest one, whatever its size.
func TestOfEventRounds(t *testing.T) {
	wide := func(b uint16) float32 {
		var w [1]float32
		kernel.WidenF16(w[:], []uint16{b})
		return w[0]
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		a, b := uint16(r.IntN(0x7c00)), uint16(r.IntN(0x7c00))|uint16(r.IntN(2))<<15
		if r.IntN(2) == 0 {
			b = a&0x7c00 | b&0x83ff // of like size
		}
		if r.IntN(3) == 0 {
			a, b = a&0xff, b&0x80ff // near the least
		}
		s := metrics.Scores{F16: []uint16{b, a}, Rows: 1, Classes: 2}
		s.OfEvent(metrics.Logits, 1)
		v := wide(a) - wide(b)
		want := uint16(0)
		if v > 65519 {
			want = 0x7c00
		} else {
			want = nearest16(v, wide)
		}
		if got := s.F16[0]; got != want && !(v == 0 && got == 0) {
			t.Fatalf("%g - %g: %#x, the nearest is %#x", wide(a), wide(b), got, want)
		}
	}
}

// TestOfEventChecks: rows of two columns are refused, noted and divided as those of two classes are.
func TestOfEventChecks(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	good := []float64{0.25, 0.75}
	for _, c := range []struct {
		kind metrics.Kind
		row  []float64
		o    metrics.Options
	}{
		{metrics.Probs, []float64{0.5, 0.6}, metrics.Options{}},
		{metrics.Probs, []float64{0.5, 0.505}, metrics.Options{}}, // noted
		{metrics.Probs, []float64{-0.5, 0.5}, metrics.Options{}},
		{metrics.Probs, []float64{0.5, 1.5}, metrics.Options{}},
		{metrics.Probs, []float64{nan, 0.5}, metrics.Options{}},
		{metrics.Probs, []float64{0.5, inf}, metrics.Options{}},
		{metrics.Probs, []float64{3, 5}, metrics.Options{Renormalize: true}},
		{metrics.Probs, []float64{0, 0}, metrics.Options{Renormalize: true}},
		{metrics.Probs, []float64{-1, 2}, metrics.Options{Renormalize: true}},
		{metrics.Logits, []float64{nan, 1}, metrics.Options{}},
		{metrics.Logits, []float64{1, inf}, metrics.Options{}},
		{metrics.Logits, []float64{-inf, -inf}, metrics.Options{}},
		{metrics.Logits, []float64{-inf, 3}, metrics.Options{}}, // class 1 is certain
		{metrics.Logits, []float64{3, -inf}, metrics.Options{}},
		{metrics.LogProbs, []float64{math.Log(0.25), math.Log(0.9)}, metrics.Options{}},
		{metrics.LogProbs, []float64{math.Log(0.25), math.Log(0.75)}, metrics.Options{}},
		{metrics.LogProbs, []float64{0.5, -inf}, metrics.Options{}},
	} {
		for _, labels := range [][]int32{{0, 0}, {1, 1}, {1, 2}} {
			g := good
			if c.kind != metrics.Probs {
				g = []float64{math.Log(0.25), math.Log(0.75)}
			}
			name := fmt.Sprintf("%v %v %v %+v", c.kind, c.row, labels, c.o)
			of := func(event int) metrics.Predictions {
				p := metrics.Predictions{Kind: c.kind, Labels: append([]int32(nil), labels...)}
				p.F64, p.Rows, p.Classes = append(append([]float64(nil), g...), c.row...), 2, 2
				if event >= 0 {
					p.OfEvent(event)
				}
				return p
			}
			_, classes, want := lossOf(t, of(-1), &c.o)
			for event := range 2 {
				p := of(event)
				_, audit, err := lossOf(t, p, &c.o)
				var d, e *metrics.DataError
				switch {
				case errors.As(err, &d) != errors.As(want, &e):
					t.Errorf("%s: %v; two classes: %v", name, err, want)
				case d != nil && (d.Faults[0].Reason != e.Faults[0].Reason || d.Faults[0].Row != e.Faults[0].Row || d.Faults[0].Column != e.Faults[0].Column) && labels[1] != 2:
					t.Errorf("%s: %v; two classes: %v", name, err, want)
				case d != nil && e.Faults[0].Reason == metrics.BadSum && !strings.Contains(err.Error(), "sum to"):
					t.Errorf("%s: %v", name, err)
				}
				if audit.SumsOff != classes.SumsOff || math.Abs(audit.SumMax-classes.SumMax) > 1e-15 {
					t.Errorf("%s: %d sums off, up to %v; two classes: %d, %v", name, audit.SumsOff, audit.SumMax, classes.SumsOff, classes.SumMax)
				}
				if err != nil || audit.SumsOff > 0 && !c.o.Renormalize {
					continue // what is off stays so, and is 1 - p of the event in one and the other's own in the other
				}
				a, b := metrics.Must(score.NewLoss(nil)), metrics.Must(score.NewLoss(nil))
				two := of(-1)
				if metrics.NewPass(&c.o, a).Add(&p) != nil || metrics.NewPass(&c.o, b).Add(&two) != nil {
					t.Fatal(name)
				}
				for what, v := range map[string][2]float64{"nll": {a.NLL(), b.NLL()}, "brier": {a.Brier(score.BrierBinary), b.Brier(score.BrierBinary)}, "accuracy": {a.Accuracy(), b.Accuracy()}} {
					if !(math.Abs(v[0]-v[1]) <= 1e-14 || v[0] == v[1]) {
						t.Errorf("%s: %s of the event %d is %v, of two classes %v", name, what, event, v[0], v[1])
					}
				}
			}
		}
	}
}
