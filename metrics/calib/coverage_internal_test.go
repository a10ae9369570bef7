package calib

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// law is a distribution with finitely many scores, each with a share of the rows and a frequency of the event.
type law struct {
	name string
	p, c []float64
	w    []float64 // nil for equal shares
}

// smooth returns a law of 90 scores at the quantiles of a distribution.
func smooth(name string, score, truth func(float64) float64) law {
	l := law{name: name}
	const n = 90
	for i := range n {
		p := score((float64(i) + 0.5) / n)
		l.p, l.c = append(l.p, p), append(l.c, truth(p))
	}
	return l
}

var laws = []law{
	smooth("calibrated, even", func(u float64) float64 { return u }, func(p float64) float64 { return p }),
	smooth("overconfident", func(u float64) float64 { return 1 - u*u/2 }, func(p float64) float64 { return 0.5 + 0.8*(p-0.5) }),
	smooth("crowded near 1", crowded, func(p float64) float64 { return p - 0.15*(1-p) }),
	{"few scores", few, []float64{0.13, 0.3, 0.45, 0.7, 0.86}, fewShares},
	smooth("rare, signs mixed", func(u float64) float64 { return 0.001 + 0.3*u*u*u*u },
		func(p float64) float64 { return p * (1 + 0.4*math.Sin(30*p)) }),
	smooth("calibrated, near 1", crowded, func(p float64) float64 { return p }),
}

func crowded(u float64) float64 { return 1 - 0.4*u*u*u*u }

var few, fewShares = []float64{0.1, 0.3, 0.5, 0.7, 0.9}, []float64{0.3, 0.1, 0.2, 0.1, 0.3}

const lawBins = 15

// draw returns the bins of n independent rows: the numbers of rows per score are multinomial, the numbers of events binomial.
func (l *law) draw(n int64, r rand.Source) *Partition {
	edges := kernel.Edges(lawBins)
	b := &Partition{cells: make([]tally.Cell, lawBins), lower: edges[:lawBins], upper: edges[1:]}
	left, share := n, 1.0
	binomial := func(n int64, p float64) int64 {
		switch {
		case n == 0 || p <= 0:
			return 0
		case p >= 1:
			return n
		}
		return int64(distuv.Binomial{N: float64(n), P: p, Src: r}.Rand())
	}
	for i, p := range l.p {
		w := l.weight(i)
		m := left
		if i < len(l.p)-1 {
			m = binomial(left, w/share)
		}
		left -= m
		share -= w
		k := binomial(m, l.c[i])
		c := &b.cells[l.bin(i)]
		c.N += m
		c.Y.AddShifted(k, 88)
		c.P.AddFloat(float64(m) * p)
		c.PP.AddFloat(float64(m) * p * p)
		c.PY.AddFloat(float64(k) * p)
	}
	return b
}

func (l *law) weight(i int) float64 {
	if l.w == nil {
		return 1 / float64(len(l.p))
	}
	return l.w[i]
}

func (l *law) bin(i int) int { return min(lawBins-1, int(l.p[i]*lawBins)) }

// gaps returns E(y-p; bin) and P(bin).
func (l *law) gaps() (gap, share [lawBins]float64) {
	for i := range l.p {
		gap[l.bin(i)] += l.weight(i) * (l.c[i] - l.p[i])
		share[l.bin(i)] += l.weight(i)
	}
	return gap, share
}

// TestIntervalsCover counts how often the intervals of ECE and MCE contain the true value. For MCE that is the value over
// nonempty bins.
func TestIntervalsCover(t *testing.T) {
	const level = 0.95
	runs := check.Size(60, 150, 1500)
	for li, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			gap, share := l.gaps()
			ece, square := 0.0, 0.0
			for b, g := range gap {
				ece += math.Abs(g)
				if share[b] > 0 {
					square += g * g / share[b]
				}
			}
			for _, n := range []int64{200, 1000, 5000, 20000, 100000} {
				r := rand.NewPCG(uint64(li), uint64(n))
				var held, heldMCE, width, squares, debiased float64
				for run := range runs {
					b := l.draw(n, r)
					i := b.Interval(level)
					if i.Low <= ece && ece <= i.High {
						held++
					}
					width += i.High - i.Low
					if run%3 == 0 {
						worst := 0.0
						b.each(func(k int, _ *tally.Cell) { worst = math.Max(worst, math.Abs(gap[k])/share[k]) })
						if m := b.MCEInterval(level); m.Low <= worst && worst <= m.High {
							heldMCE++
						}
					}
					if run%10 == 0 {
						d := b.Debiased()
						squares += d * d
						debiased++
					}
				}
				runs := float64(runs)
				heldMCE /= runs / 3
				squares /= debiased
				t.Logf("%6d rows: ece %.3f (mean width %.4f), mce %.3f; mean square debiased %.2g, true %.2g",
					n, held/runs, width/runs, heldMCE, squares, square)
				if n == 100000 && math.Abs(squares-square) > 0.05*square+2e-5 {
					t.Errorf("%d rows: the mean square of Debiased is %v, of the truth %v", n, squares, square)
				}
				least := func(runs float64) float64 { return 0.94 - 2*math.Sqrt(0.94*0.06/runs) }
				if held/runs < least(runs) || heldMCE < least(runs/3) {
					t.Errorf("%d rows: the intervals of ECE and MCE held in %v and %v of all runs", n, held/runs, heldMCE)
				}
			}
		})
	}
}

// TestCalibratedLaw checks that for calibrated predictions the mean ECE is Floor, ECE exceeds FloorQ95 once in twenty runs, and
// P is uniform.
func TestCalibratedLaw(t *testing.T) {
	runs := check.Size(60, 150, 1500)
	for li, l := range []law{laws[0], laws[5], {"few scores", few, few, fewShares}} {
		for _, n := range []int64{5000, 100000} {
			t.Run(fmt.Sprintf("%s, %d", l.name, n), func(t *testing.T) {
				t.Parallel()
				r := rand.NewPCG(uint64(li), uint64(n))
				var over, ece, floor float64
				var p []float64
				for run := range runs {
					b := l.draw(n, r)
					p = append(p, b.P())
					if p[run] < 0.05 {
						over++
					}
					if run%10 == 0 && (b.ECE() > b.FloorQ95()) != (p[run] < 0.05) {
						t.Errorf("ece is %v with P %v, and the quantile %v", b.ECE(), p[run], b.FloorQ95())
					}
					ece += b.ECE()
					floor += b.Floor()
				}
				slices.Sort(p)
				ks := 0.0
				for i, v := range p {
					ks = math.Max(ks, math.Max(v-float64(i)/float64(runs), float64(i+1)/float64(runs)-v))
				}
				runs := float64(runs)
				t.Logf("above the quantile %.3f, ece/floor %.3f, ks %.2f of sqrt(runs)", over/runs, ece/floor, ks*math.Sqrt(runs))
				if math.Abs(over/runs-0.05) > 3*math.Sqrt(0.05*0.95/runs) {
					t.Errorf("%v of %v are above the quantile", over, runs)
				}
				if math.Abs(ece/floor-1) > 4*0.4/math.Sqrt(runs) { // the standard deviation of ECE is at most 0.4 of its mean
					t.Errorf("mean ece %v, floor %v", ece/runs, floor/runs)
				}
				if ks > 1.95/math.Sqrt(runs) { // Kolmogorov's critical value for 1 in 1,000
					t.Errorf("P is not even: %v", ks)
				}
			})
		}
	}
}

// TestDetectableGap checks that the documented test detects a constant gap of this size with power 0.8.
func TestDetectableGap(t *testing.T) {
	runs := check.Size(100, 200, 2500)
	scores := smooth("", func(u float64) float64 { return 0.2 + 0.6*u }, func(p float64) float64 { return p })
	for _, n := range []int64{1000, 20000} {
		r := rand.NewPCG(7, uint64(n))
		size := scores.draw(n, r).DetectableGap()
		for _, sign := range []float64{1, -1} {
			shifted := smooth("", func(u float64) float64 { return 0.2 + 0.6*u }, func(p float64) float64 { return p + sign*size })
			found := 0.0
			for range runs {
				gap, spread := 0.0, 0.0
				b := shifted.draw(n, r)
				b.each(func(_ int, c *tally.Cell) {
					g, v := c.Gap(), c.Spread()
					gap += g.Float64()
					spread += v.Float64()
				})
				if math.Abs(gap) > 1.959964*math.Sqrt(spread) {
					found++
				}
			}
			t.Logf("%d rows: a gap of %.4f is found %.3f of the time", n, sign*size, found/float64(runs))
			if math.Abs(found/float64(runs)-0.8) > 3*math.Sqrt(0.16/float64(runs))+0.005 { // the gap changes the variance a little
				t.Errorf("%d rows: a gap of %v was found %v of %d times", n, sign*size, found, runs)
			}
		}
	}
}

// TestGapsAgainstScores checks the interval of MCE for a bin so wide that scores and outcomes vary together. They have opposite
// trends here, so the interval of the frequency alone would be too narrow.
func TestGapsAgainstScores(t *testing.T) {
	runs := check.Size(60, 100, 1500)
	l := smooth("", func(u float64) float64 { return u }, func(p float64) float64 { return 1 - p })
	for _, n := range []int64{100, 2000} {
		r := rand.NewPCG(8, uint64(n))
		held := 0.0
		for range runs {
			b := l.draw(n, r)
			for i := range b.cells[1:] {
				b.cells[0].Merge(&b.cells[1+i])
			}
			b.cells = b.cells[:1]
			if i := b.MCEInterval(0.95); i.Low == 0 { // both the mean score and the frequency are 1/2
				held++
			}
		}
		t.Logf("%d rows: %.3f", n, held/float64(runs))
		if held/float64(runs) < 0.94-2*math.Sqrt(0.94*0.06/float64(runs)) {
			t.Errorf("%d rows: the interval held %v of %d times", n, held, runs)
		}
	}
}

// TestChosenEdges checks that with edges chosen from the scores, the floor is available and intervals are not.
func TestChosenEdges(t *testing.T) {
	b := laws[0].draw(1000, rand.NewPCG(1, 2))
	p, floor := b.P(), b.FloorQ95()
	b.chosen = true
	i, m := b.Interval(0.95), b.MCEInterval(0.95)
	if b.IntervalReason() != reasonChosen || i.Low == i.Low || i.High == i.High || m.Low == m.Low || m.High == m.High {
		t.Error(b.IntervalReason(), i, m)
	}
	if b.FloorReason() != "" || b.P() != p || b.FloorQ95() != floor || b.DebiasedReason() != "" {
		t.Error(b.FloorReason(), b.P(), b.FloorQ95(), b.DebiasedReason())
	}
}
