package metrics_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// normalColumns returns the columns of the blocks of the rows that are good.
func normalColumns(t *testing.T, p *metrics.Predictions, drop bool) (e, sd, z []float64, weights []float64, err error) {
	t.Helper()
	w := metrics.NewWalker(&metrics.Options{Drop: drop}, 0, func(b *metrics.Block) {
		e = append(e, b.Normal.Error[:b.Rows]...)
		sd = append(sd, b.Normal.SD[:b.Rows]...)
		z = append(z, b.Normal.Z[:b.Rows]...)
		weights = append(weights, b.Weights...)
	})
	w.Add(&metrics.Chunk{Predictions: *p})
	return e, sd, z, weights, w.Err()
}

func TestNormals(t *testing.T) {
	x := []float64{1, 2, 5, 0, 0.5, 1, 3, -1, 3, 4, math.NaN(), 4, 7, 1, 6}
	p := metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{F64: x, Rows: 5, Classes: 3}, Weights: []float64{1, 2, 3, 4, 5}}
	_, _, _, _, err := normalColumns(t, &p, false)
	var d *metrics.DataError
	if !errors.As(err, &d) || len(d.Faults) != 2 {
		t.Fatal(err)
	}
	for _, want := range []string{"row 2, column 1: standard deviation is -1; it must be above 0", "row 3, column 1: standard deviation is NaN"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	e, sd, z, w, err := normalColumns(t, &p, true)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][4]float64{{4, 2, 2, 1}, {1, 0.5, 2, 2}, {-1, 1, -1, 5}} {
		if e[i] != want[0] || sd[i] != want[1] || z[i] != want[2] || w[i] != want[3] {
			t.Errorf("row %d: %v %v %v %v, want %v", i, e[i], sd[i], z[i], w[i], want)
		}
	}
	// The same rows as errors and standard deviations.
	q := metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{F32: []float32{4, 2, 1, 0.5, -1, 1}, Rows: 3, Classes: 2}}
	e2, _, z2, _, err := normalColumns(t, &q, false)
	if err != nil || len(e2) != 3 || e2[0] != e[0] || z2[1] != z[1] || e2[2] != e[2] {
		t.Error(e2, z2, err)
	}
}

// TestNormalsFarApart: finite numbers whose difference is beyond float64 are refused, not handed on as an infinite error.
func TestNormalsFarApart(t *testing.T) {
	p := metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{F64: []float64{1, 2, 5, 1e308, 1, -1e308, 0, 1, 1e308}, Rows: 3, Classes: 3}}
	_, _, _, _, err := normalColumns(t, &p, false)
	if err == nil || !strings.Contains(err.Error(), "row 1: observed value minus mean is -Inf") {
		t.Error(err)
	}
	e, _, _, _, err := normalColumns(t, &p, true)
	if err != nil || len(e) != 2 || e[0] != 4 || e[1] != 1e308 {
		t.Error(e, err)
	}
}

func TestQuantilesCross(t *testing.T) {
	p := metrics.Predictions{Kind: metrics.Quantiles, Scores: metrics.Scores{F64: []float64{1, 2, 2, 3, 5, 4}, Rows: 2, Classes: 3}, Observed: []float64{1, 2}}
	rows := 0
	for _, drop := range []bool{false, true} {
		w := metrics.NewWalker(&metrics.Options{Drop: drop}, 0, func(b *metrics.Block) { rows += b.Rows })
		w.Add(&metrics.Chunk{Predictions: p})
		if err := w.Err(); drop != (err == nil) || !drop && !strings.Contains(err.Error(), "row 1, column 2: quantile is 4, below the one before it") {
			t.Error(err)
		}
		if a := w.Audit(); drop && (a.Dropped != 1 || a.Rows != 1) {
			t.Error(a)
		}
	}
	if rows != 1 {
		t.Error(rows, "rows")
	}
}
