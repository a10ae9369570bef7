package binfree

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// TestDeal checks over many seeds that the rows of a cell go to each fold equally often and independently of their outcome.
// Cells of few rows are dealt like cards, cells of many rows are multinomial. Folds have equally many rows of small cells.
func TestDeal(t *testing.T) {
	p := &metrics.Predictions{}
	add := func(score float64, rows, ones int) {
		for i := range rows {
			p.F64 = append(p.F64, score)
			p.Labels = append(p.Labels, 0)
			if i < ones {
				p.Labels[len(p.Labels)-1] = 1
			}
		}
	}
	add(0.1, 40, 10)
	add(0.2, 3, 3)
	add(0.3, 1, 0)
	add(0.4, 400, 200)
	add(0.5, 30, 29)
	for i := range 20 {
		add(0.6+float64(i)/100, 30, 15)
	}
	p.Rows, p.Classes = len(p.F64), 1
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	const folds, seeds = 4, 4000
	var sum, squares, product [5]float64
	for seed := range uint64(seeds) {
		d := deal(c, folds, seed)
		if d.n != int64(p.Rows) || len(d.x) != 25 {
			t.Fatalf("%d rows of %d scores", d.n, len(d.x))
		}
		even := [folds][2]float64{}
		ones, rest := [5]float64{}, [5]float64{}
		for _, q := range d.parts {
			if q.at != 3 {
				even[q.fold][0] += q.n - q.y
				even[q.fold][1] += q.y
			}
			if uint64(q.fold) == seed%folds && q.at < 5 {
				ones[q.at] += q.y
				rest[q.at] += q.n - q.y
			}
		}
		for f := range folds {
			for y := range 2 {
				if d := even[f][y] - even[0][y]; math.Abs(d) > 1 {
					t.Fatalf("folds of %v rows", even)
				}
			}
			if d := even[f][0] + even[f][1] - even[0][0] - even[0][1]; math.Abs(d) > 1 {
				t.Fatalf("folds of %v rows", even)
			}
		}
		for i := range ones {
			sum[i] += ones[i] + rest[i]
			squares[i] += (ones[i] + rest[i]) * (ones[i] + rest[i])
			product[i] += (ones[i] - [5]float64{10, 3, 0, 200, 29}[i]/folds) * (rest[i] - [5]float64{30, 0, 1, 200, 1}[i]/folds)
		}
	}
	for i, n := range []float64{40, 3, 1, 400, 30} {
		mean := sum[i] / seeds
		variance := squares[i]/seeds - mean*mean
		if z := (mean - n/folds) / math.Sqrt((variance+0.01)/seeds); math.Abs(z) > 5 {
			t.Errorf("score %d: on average %v rows in a fold, want %v", i, mean, n/folds)
		}
		if most := n * 0.25 * 0.75; variance > most*1.15 || variance < most*0.8 {
			t.Errorf("score %d: a variance of %v, of independent rows %v", i, variance, most)
		}
		if r := product[i] / seeds / (variance + 0.01); math.Abs(r) > 0.1 {
			t.Errorf("score %d: outcomes go together, %v", i, r)
		}
	}
}

// TestNodes checks that interpolated sums equal direct sums.
func TestNodes(t *testing.T) {
	d := &folded{}
	for i := range 5000 {
		x := float64(i*i) / 25e6
		y := float64(i * i % 7 % 2)
		d.add(x, part{fold: int32(i * 7 % 3), n: 1, y: y, yy: y})
	}
	d.start = append(d.start, int32(len(d.parts)))
	k := newKernelSmoother(d, &SemiparametricOptions{})
	c := make([]float64, len(d.parts))
	for _, h := range []float64{1, 1e3, 1e5, 1e7} {
		k.fit(h, c)
		for i := 0; i < len(c); i += 37 {
			if want := k.exact(i); math.Abs(c[i]-want) > kernelError {
				t.Errorf("h = %v: %v, want %v", h, c[i], want)
			}
		}
	}
}

// TestDealEqualScores checks that cells whose scores differ only in their tails count as one score.
func TestDealEqualScores(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 0, 1, 0, 0, 1}}
	p.Kind = metrics.Logits
	p.F64 = []float64{0, -40, 0, -50, 0, -60, 0, -1, 0, -2, -45, 0}
	p.Rows, p.Classes = 6, 2
	c := metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel}))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	d := deal(c, 2, 1)
	if c.Count() != 6 || len(d.x) != 3 || d.x[2] != 1 || d.n != 6 {
		t.Errorf("%d cells, scores %v", c.Count(), d.x)
	}
	s, err := SemiparametricOf(c, &SemiparametricOptions{Folds: 2})
	if err != nil || s.Squared != s.Squared {
		t.Error(s, err)
	}
}
