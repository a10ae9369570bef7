package regress_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// TestWeights checks that weights of 2 change nothing, that a whole weight equals as many rows, and that a weight of 0
// equals none. Values use the weights; ends of intervals and tests use the effective number of rows.
func TestWeights(t *testing.T) {
	type weighed struct {
		name      string
		p         *metrics.Predictions
		off, ends float64 // relative tolerances of values, and of ends of intervals
		of        func(*metrics.Predictions) (values, ends []float64)
	}
	r := rand.New(rand.NewPCG(3, 3))
	cases := []weighed{
		{"errors", errorsForecasts(r, metrics.Samples, 500, 6, 0), 1e-14, 1e-12, func(p *metrics.Predictions) (values, ends []float64) {
			e := errorsOf(t, p, nil)
			for _, s := range errorStats {
				i := e.Interval(s, 0.9)
				values, ends = append(values, e.Value(s)), append(ends, i.Low, i.High)
			}
			return values, ends
		}},
		{"normal", errorsForecasts(r, metrics.Normals, 500, 2, 0), 1e-13, 1e-12, func(p *metrics.Predictions) (values, ends []float64) {
			n := normalOf(t, p, nil)
			for _, s := range normalStats {
				i := n.Interval(s, 0.9)
				values, ends = append(values, n.Value(s)), append(ends, i.Low, i.High)
			}
			return values, ends
		}},
		{"PIT", pitNormals(r, 500, 2, 0.2, 1.1), 1e-14, 0, func(p *metrics.Predictions) (values, ends []float64) {
			a := metrics.Must(regress.NewPIT(nil))
			pitPass(t, p, nil, a)
			for _, b := range a.Histogram(0.9) {
				values, ends = append(values, b.Density), append(ends, b.Low, b.High, b.BandLow, b.BandHigh)
			}
			return append(values, a.Mean(), a.Variance()), append(ends, a.P())
		}},
		{"ranks", pitSamples(r, 500, 9, 0.2, 1.1, false), 1e-14, 0, func(p *metrics.Predictions) (values, ends []float64) {
			a := metrics.Must(regress.NewRanks(nil))
			pitPass(t, p, nil, a)
			for _, b := range a.Histogram(0.9) {
				values, ends = append(values, b.Density), append(ends, b.Low, b.High, b.BandLow, b.BandHigh)
			}
			s := a.Shape()
			return values, append(ends, a.P(), s.Slope, s.SlopeP, s.Bend, s.BendP)
		}},
	}
	for name, k := range calibrationKinds(r, 500) {
		cases = append(cases, weighed{"calibration of " + name, k.p, 0, 0, func(p *metrics.Predictions) (values, ends []float64) {
			c := calibrationOf(t, p, k.o)
			return slices.Concat(c.Curve().Frequencies, c.Central().Frequencies), []float64{c.Curve().N, c.Central().N}
		}})
	}
	for _, kind := range quantileKinds {
		cases = append(cases, weighed{fmt.Sprint("quantiles of ", kind), quantileRows(r, kind, 500, quantileHub), 1e-14, 1e-13,
			func(p *metrics.Predictions) (values, ends []float64) {
				a := metrics.Must(regress.NewQuantiles(&regress.QuantileOptions{ByLevel: true}))
				b := metrics.Must(regress.NewIntervals(&regress.IntervalOptions{Quantiles: quantileHub}))
				quantilePass(t, p, nil, a, b)
				i, j, k := a.WISInterval(0.9), b.CoverageInterval(0.5, 0.9), b.ScoreInterval(0.9, 0.9)
				return []float64{a.Pinball(), a.PinballAt(0.95), a.CRPS(), a.WIS(), a.Dispersion(), a.Underprediction(), a.Overprediction(),
						b.Coverage(0.5), b.Coverage(0.9), b.Below(0.5), b.Above(0.9), b.Width(0.5), b.Score(0.9)},
					[]float64{i.Low, i.High, j.Low, j.High, k.Low, k.High}
			}})
	}
	for _, c := range cases {
		r := rand.New(rand.NewPCG(4, 4))
		values, ends := c.of(c.p)
		c.p.Weights = slices.Repeat([]float64{2}, c.p.Rows)
		twice, twiceEnds := c.of(c.p)
		var rows []int
		for i := range c.p.Weights {
			c.p.Weights[i] = float64(r.IntN(4))
			rows = append(rows, slices.Repeat([]int{i}, int(c.p.Weights[i]))...)
		}
		weighted, _ := c.of(c.p)
		c.p.Weights = nil
		repeated, _ := c.of(calibrationPick(c.p, rows))
		for i, v := range values {
			if !errorsNear(twice[i], v, 0) || !errorsNear(weighted[i], repeated[i], c.off) {
				t.Errorf("%s: value %d is %v, with weights of 2 %v; with weights %v, of rows repeated %v", c.name, i, v, twice[i], weighted[i], repeated[i])
			}
		}
		for i, v := range ends {
			if !errorsNear(twiceEnds[i], v, c.ends) {
				t.Errorf("%s: end %d is %v, with weights of 2 %v", c.name, i, v, twiceEnds[i])
			}
		}
	}
}

// TestUnlikeWeights checks that one large weight leaves few effective rows, too few for a test.
func TestUnlikeWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	weights := slices.Repeat([]float64{1}, 500)
	weights[0], weights[2] = 1000, 1000
	p, s := pitNormals(r, 500, 2, 0.2, 1.1), pitSamples(r, 500, 9, 0.2, 1.1, true)
	p.Weights, s.Weights = weights, weights
	pit, ranks := metrics.Must(regress.NewPIT(nil)), metrics.Must(regress.NewRanks(nil))
	pitPass(t, p, nil, pit)
	pitPass(t, s, nil, ranks)
	for _, a := range []interface {
		P() float64
		Reason() string
	}{pit, ranks} {
		if !math.IsNaN(a.P()) || !strings.Contains(a.Reason(), "fewer than 5") {
			t.Errorf("%T: %v, %q", a, a.P(), a.Reason())
		}
	}
	if c := calibrationOf(t, p, nil).Curve(); c.N > 4 {
		t.Errorf("a curve of %v effective rows", c.N)
	}
}
