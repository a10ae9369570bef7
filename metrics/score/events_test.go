package score

import (
	"bytes"
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// keepAll makes a Pass compute columns: it is no metrics.EventAdder.
type keepAll struct{ metrics.Accumulator }

func (k keepAll) Empty() metrics.Accumulator { return keepAll{k.Accumulator.Empty()} }
func (k keepAll) Merge(o metrics.Accumulator) error {
	return k.Accumulator.Merge(o.(keepAll).Accumulator)
}

// TestEvents: states are the same bytes whether rows are added with or without columns, and faults are named.
func TestEvents(t *testing.T) {
	r := check.Rand(5)
	const rows = 10_000
	p := &metrics.Predictions{Labels: make([]int32, rows)}
	p.Rows, p.Classes, p.F64 = rows, 1, make([]float64, rows)
	narrow := *p
	narrow.F64, narrow.F32 = nil, make([]float32, rows)
	for i := range rows {
		if p.F64[i] = r.Float64(); i%7 == 0 {
			p.F64[i] = float64(r.IntN(31)) / 30
		}
		narrow.F32[i] = float32(p.F64[i])
		p.Labels[i] = int32(r.IntN(2))
	}
	narrow.Labels = p.Labels
	for _, p := range []*metrics.Predictions{p, &narrow} {
		for _, accs := range []func() []metrics.Accumulator{
			func() []metrics.Accumulator { return []metrics.Accumulator{metrics.Must(calib.NewBins(nil))} },
			func() []metrics.Accumulator {
				return []metrics.Accumulator{metrics.Must(NewLoss(&Options{Parts: OfBrier})), metrics.Must(calib.NewBins(&calib.Options{Bins: 100, Event: calib.Positive}))}
			},
			func() []metrics.Accumulator {
				return []metrics.Accumulator{metrics.Must(NewLoss(&Options{TopK: 1, Parts: OfBrier | OfEvent}))}
			},
			func() []metrics.Accumulator {
				return []metrics.Accumulator{metrics.Must(NewLoss(&Options{Parts: OfBrier | OfTop})), metrics.Must(NewLoss(&Options{Parts: OfEvent}))}
			},
			func() []metrics.Accumulator {
				return []metrics.Accumulator{metrics.Must(NewLoss(&Options{TopK: 1, Parts: OfEvent})), metrics.Must(calib.NewBins(nil)), metrics.Must(calib.NewBins(&calib.Options{Bins: 7}))}
			},
		} {
			fast, slow := accs(), accs()
			for i, a := range slow {
				slow[i] = keepAll{a}
			}
			for _, l := range [][]metrics.Accumulator{fast, slow} {
				pass := metrics.NewPass(nil, l...)
				if err := pass.Add(p); err != nil || pass.Audit().Rows != rows {
					t.Fatal(err, pass.Audit())
				}
			}
			for i, a := range fast {
				if _, ok := a.(metrics.EventAdder).AddsEvents(); !ok {
					t.Errorf("%T does not add events", a)
				}
				got, err := a.AppendBinary(nil)
				want, err2 := slow[i].AppendBinary(nil)
				if err != nil || err2 != nil || !bytes.Equal(got, want) {
					t.Errorf("%T: the states differ: %v %v", a, err, err2)
				}
				again := a.Empty()
				if err := again.UnmarshalBinary(got); err != nil {
					t.Errorf("%T: %v", a, err)
				}
			}
		}
		wrong := *p
		wrong.Labels = append([]int32(nil), p.Labels...)
		wrong.Labels[5000] = 2
		if err := metrics.NewPass(nil, metrics.Must(calib.NewBins(nil))).Add(&wrong); err == nil {
			t.Error("a label of 2 is no error")
		}
		bins := metrics.Must(calib.NewBins(nil))
		if err := metrics.NewPass(&metrics.Options{Drop: true}, bins).Add(&wrong); err != nil || bins.Len() != rows-1 {
			t.Errorf("%d rows, %v", bins.Len(), err)
		}
	}
}

// TestParts: answers are those of all parts, or NaN, and others do not merge.
func TestParts(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 1, 1, 0}}
	p.Rows, p.Classes, p.F64 = 4, 1, []float64{0.25, 0.75, 0.5, 0.125}
	of := func(parts Parts) *Loss {
		l := metrics.Must(NewLoss(&Options{Parts: parts}))
		if err := metrics.NewPass(nil, l).Add(p); err != nil {
			t.Fatal(err)
		}
		return l
	}
	all := of(0)
	for _, c := range []struct {
		part Parts
		of   func(l *Loss) float64
	}{
		{OfEvent, (*Loss).BaseRate}, {OfEvent, (*Loss).MeanP}, {OfEvent, (*Loss).Bias}, {OfEvent, (*Loss).OERatio}, {OfEvent, (*Loss).BiasZ},
		{OfNLL, (*Loss).NLL}, {OfNLL, (*Loss).FiniteNLL}, {OfNLL, (*Loss).Perplexity}, {OfEntropy, (*Loss).Entropy},
		{OfNLL, func(l *Loss) float64 { return l.NLLInterval(0.95).High }},
		{OfBrier, func(l *Loss) float64 { return l.Brier(BrierDefault) }},
		{OfBrier, func(l *Loss) float64 { return l.BrierInterval(BrierDefault, 0.95).Low }},
		{OfTop, (*Loss).Accuracy}, {OfTop, (*Loss).Confidence}, {OfTop, (*Loss).OverconfidenceZ}, {OfTop, func(l *Loss) float64 { return l.TopK(2) }},
	} {
		for parts := OfEvent; parts <= allParts; parts++ {
			want := c.of(all)
			if parts&c.part == 0 {
				want = math.NaN()
			}
			if got := c.of(of(parts)); math.Float64bits(got) != math.Float64bits(want) && !(got != got && want != want) {
				t.Errorf("parts %b: %v, not %v", parts, got, want)
			}
		}
	}
	if of(OfBrier).Merge(of(OfNLL)) == nil || of(OfBrier).Merge(all) == nil {
		t.Error("different parts merge")
	}
	if of(allParts).Merge(all) != nil {
		t.Error("all parts are not 0")
	}
	if _, err := NewLoss(&Options{Parts: allParts + 1}); err == nil {
		t.Error("there is no sixth part")
	}
}
