package rank_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// definedSaving is the definition, row by row: what each threshold at a score saves, and above all scores.
func definedSaving(p *metrics.Predictions, o rank.Outcomes, level float64) (saving, low, high float64) {
	n, z := float64(p.Rows), metrics.Z(level)
	gain, loss, t := o.FalseNegative-o.TruePositive, o.FalsePositive-o.TrueNegative, o.Threshold()
	type at struct{ d, mean, se, v, side float64 }
	var all []at
	scores := append(slices.Clone(p.F64), math.Inf(1))
	slices.Sort(scores)
	for _, score := range slices.Compact(scores) {
		changed, sum, squares, side := 0, 0.0, 0.0, 0.0
		for i, s := range p.F64 {
			if s >= t == (s >= score) {
				continue
			}
			changed++
			worth := gain
			if p.Labels[i] == 0 {
				worth = -loss
			}
			if s >= t {
				worth, side = -worth, 1
			}
			sum += worth
			squares += worth * worth
		}
		if changed == 0 {
			continue
		}
		add := z * z / 4
		more := add * (gain - loss)
		if side == 1 {
			more = -more
		}
		m := n + 4*add
		v, mean := (squares+add*(gain*gain+loss*loss))/m, (sum+more)/m
		all = append(all, at{sum / n, mean, math.Sqrt((v - mean*mean) / m), v, side})
	}
	for _, a := range all {
		saving, high = max(saving, a.d), max(high, a.d, a.mean+z*a.se)
	}
	m := n + z*z // a threshold that changes no row
	mean := math.Abs(z*z/4*(gain-loss)) / m
	high = max(high, mean+z*math.Sqrt((z*z/4*(gain*gain+loss*loss)/m-mean*mean)/m))
	critical := func(l []at, tail float64) float64 {
		b := 1.0
		for step := 8.0; step > 1e-13; step /= 2 {
			sum := 0.0
			for side := range 2 {
				lo, hi := math.Inf(1), 0.0
				for _, a := range l {
					if a.side == float64(side) {
						lo, hi = min(lo, a.v), max(hi, a.v)
					}
				}
				if hi > 0 {
					sum += math.Erfc(b/math.Sqrt2)/2 + b*math.Exp(-b*b/2)/math.Sqrt(2*math.Pi)*math.Log(hi/lo)/2
				}
			}
			if sum > tail {
				b += step
			} else if b -= step; b < 0 {
				return 0
			}
		}
		return b
	}
	lowest := func(l []at, b float64) float64 {
		low := 0.0
		for _, a := range l {
			low = max(low, min(a.d, a.mean-b*a.se))
		}
		return low
	}
	b := critical(all, 0.1/max(1, math.Log(n)))
	least := lowest(all, b)
	var near []at
	for _, a := range all {
		if a.d+2*b*a.se >= least {
			near = append(near, a)
		}
	}
	return saving, lowest(near, critical(near, (1-level)/2)), min(high, max(gain, loss))
}

// TestSaving compares what calibration would save, and its interval, with the definition.
func TestSaving(t *testing.T) {
	above := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := 5 + r.IntN(400)
		p := &metrics.Predictions{}
		for range n {
			s := float64(r.IntN(1+int(seed)*20)) / 800
			y := int32(0)
			if r.Float64() < s*float64(seed%4)/2 {
				y = 1
			}
			p.F64, p.Labels = append(p.F64, s), append(p.Labels, y)
		}
		p.Rows, p.Classes = n, 1
		k := rank.RankingOf(of(t, p))
		for _, o := range []rank.Outcomes{{FalsePositive: 1, FalseNegative: 1}, {FalsePositive: 1, FalseNegative: 6}, {TruePositive: 1, FalsePositive: 8, FalseNegative: 3, TrueNegative: 2}} {
			v, bound := k.Saving(o)
			i := k.SavingInterval(o, 0.9)
			want, low, high := definedSaving(p, o, 0.9)
			if !near(v, want, 1e-12) || bound != 0 || !near(i.Low, low, 1e-9) || !near(i.High, high, 1e-9) {
				t.Errorf("seed %d, %+v: %v %v, want %v [%v, %v]", seed, o, v, i, want, low, high)
			}
			if !(i.Low <= v && v <= i.High) {
				t.Errorf("seed %d: %v is outside %v", seed, v, i)
			}
			if i.Low > 0 {
				above++
			}
			twice := rank.Outcomes{TruePositive: 2 * o.TruePositive, FalsePositive: 2 * o.FalsePositive, FalseNegative: 2 * o.FalseNegative, TrueNegative: 2 * o.TrueNegative}
			if j := k.SavingInterval(twice, 0.9); j.Low != 2*i.Low || j.High != 2*i.High {
				t.Errorf("seed %d: at twice the costs %v, at them %v", seed, j, i)
			}
		}
	}
	if above < 10 {
		t.Errorf("only %d of the intervals are above 0", above)
	}
}

func TestSavingEdges(t *testing.T) {
	o := rank.Outcomes{FalsePositive: 1, FalseNegative: 1}
	empty := rank.RankingOf(metrics.Must(cells.New(&cells.Options{Event: metrics.Positive})))
	if v, _ := empty.Saving(o); v == v {
		t.Errorf("no rows save %v", v)
	}
	if i := empty.SavingInterval(o, 0.95); i.Low == i.Low {
		t.Errorf("no rows have %v", i)
	}
	p := &metrics.Predictions{Labels: []int32{0, 1, 1}}
	p.Rows, p.Classes, p.F64 = 3, 1, []float64{0.2, 0.5, 0.9}
	one := rank.RankingOf(of(t, p))
	if i := one.SavingInterval(o, 0.95); i.Low != 0 || !(i.High > 0.35 && i.High <= 1) {
		t.Errorf("three rows have %v", i)
	}
	p.Weights = []float64{2, 1, 1}
	if i := rank.RankingOf(of(t, p)).SavingInterval(o, 0.95); i.Low == i.Low {
		t.Errorf("weights have %v", i)
	}
	defer func() {
		if recover() == nil {
			t.Error("equal costs do not panic")
		}
	}()
	one.SavingInterval(rank.Outcomes{}, 0.95)
}
