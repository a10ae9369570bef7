package ensemble_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

// TestMerge checks that any split, order and storage give the state of all rows at once, with and without weights, that the
// state can be read, and that a damaged one is rejected.
func TestMerge(t *testing.T) {
	densities := exponentials(300, 40, 0.9)
	r := rand.New(rand.NewPCG(5, 6))
	densities.F32, densities.F64 = make([]float32, 300*40), nil
	for i := range densities.F32 {
		densities.F32[i] = float32(3 * r.NormFloat64())
	}
	of := func(p *metrics.Predictions, a metrics.Accumulator) metrics.Accumulator {
		if err := metrics.NewPass(nil, a).Add(p); err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range []struct {
		name string
		p    *metrics.Predictions
		a    metrics.Accumulator
	}{
		{"knowledge", gammas(500, 4, 1e-1), ensemble.NewKnowledge()},
		{"information", densities, metrics.Must(ensemble.NewInformation(nil))},
		{"as coded", densities, metrics.Must(ensemble.NewInformation(&ensemble.InformationOptions{AsCoded: true}))},
		{"PSIS", densities, metrics.Must(ensemble.NewInformation(&ensemble.InformationOptions{PSIS: true}))},
		{"REff", densities, metrics.Must(ensemble.NewInformation(&ensemble.InformationOptions{PSIS: true, REff: 0.3}))},
	} {
		for _, weighted := range []bool{false, true} {
			name, p := fmt.Sprintf("%s, weighted %v", c.name, weighted), *c.p
			for i := 0; weighted && i < p.Rows; i++ {
				p.Weights = append(p.Weights, float64(i%4))
			}
			whole, a := of(&p, c.a.Empty()), c.a.Empty()
			want := state(t, whole)
			var parts []metrics.Accumulator
			for at := 0; at < p.Rows; at += 77 {
				// The same rows, widened and with a stride.
				n, k := min(77, p.Rows-at), p.Classes
				q := &metrics.Predictions{Kind: p.Kind}
				q.Rows, q.Classes, q.Stride, q.F64 = n, k, k+3, make([]float64, n*(k+3))
				for i := range n {
					for j := range k {
						q.F64[i*(k+3)+j] = float64(p.F32[(at+i)*k+j])
					}
				}
				if p.Labels != nil {
					q.Labels = p.Labels[at : at+n]
				}
				if weighted {
					q.Weights = p.Weights[at : at+n]
				}
				parts = append(parts, of(q, c.a.Empty()))
			}
			for _, part := range slices.Backward(parts) {
				if err := a.Merge(part); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(state(t, a), want) || a.Len() != whole.Len() {
				t.Errorf("%s: merged parts differ", name)
			}
			b := c.a.Empty()
			if err := b.UnmarshalBinary(want); err != nil || !bytes.Equal(state(t, b), want) || b.Len() != a.Len() {
				t.Errorf("%s: read back %v", name, err)
			}
			for i := range want {
				bad := bytes.Clone(want)
				bad[i] ^= 0x40
				if err := b.UnmarshalBinary(bad); err == nil {
					t.Fatalf("%s: byte %d may change", name, i)
				}
			}
		}
	}
}

// TestMismatch checks that a merge with another type, other options or other rows names the difference and changes nothing.
func TestMismatch(t *testing.T) {
	p, d := exponentials(5, 30, 0.5), gammas(5, 3, 1)
	pw, dw := *p, *d
	pw.Weights = []float64{1, 1, 1, 1, 1}
	dw.Weights = pw.Weights
	for _, c := range []struct {
		a, other metrics.Accumulator
		want     string
	}{
		{information(t, p, nil), ensemble.NewKnowledge(), "ensemble.Information and *ensemble.Knowledge"},
		{information(t, p, nil), information(t, p, &ensemble.InformationOptions{AsCoded: true}), "as coded"},
		{information(t, p, nil), information(t, p, &ensemble.InformationOptions{PSIS: true}), "PSIS"},
		{information(t, p, nil), information(t, p, &ensemble.InformationOptions{REff: 0.5}), "relative efficiency 1 and 0.5"},
		{information(t, p, nil), information(t, exponentials(5, 31, 0.5), nil), "30 draws and of 31"},
		{information(t, p, nil), information(t, &pw, nil), "weights"},
		{knowledge(t, d), metrics.Must(ensemble.NewInformation(nil)), "ensemble.Knowledge and *ensemble.Information"},
		{knowledge(t, d), knowledge(t, gammas(5, 4, 1)), "3 classes and of 4"},
		{knowledge(t, d), knowledge(t, &dw), "weights"},
	} {
		before, err := state(t, c.a), c.a.Merge(c.other)
		if !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), c.want) || !bytes.Equal(before, state(t, c.a)) {
			t.Errorf("%v, want %s", err, c.want)
		}
		if c.a.Merge(c.a.Empty()) != nil || c.a.Len() != 5 {
			t.Errorf("%T: nothing cannot be merged", c.a)
		}
	}
}

// TestInformationWeights checks that weights of 2 give the same value and error as no weights.
func TestInformationWeights(t *testing.T) {
	p := exponentials(300, 40, 0.9)
	two := *p
	two.Weights = slices.Repeat([]float64{2}, p.Rows)
	for _, opt := range []ensemble.InformationOptions{{}, {AsCoded: true}, {PSIS: true}, {PSIS: true, REff: 0.3}} {
		a, b := information(t, p, &opt), information(t, &two, &opt)
		for c := ensemble.LPPD; c <= ensemble.PLOO; c++ {
			if !opt.PSIS && (c == ensemble.PSISLOO || c == ensemble.PLOO) {
				continue
			}
			if !closeTo(b.Value(c), a.Value(c), 1e-14) || !closeTo(b.StdErr(c), a.StdErr(c), 1e-12) {
				t.Errorf("%+v, %v: %v and %v, with weights of 2 %v and %v", opt, c, a.Value(c), a.StdErr(c), b.Value(c), b.StdErr(c))
			}
		}
	}
}
