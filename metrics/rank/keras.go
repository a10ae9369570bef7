package rank

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
)

// Curve selects the curve under which Keras's AUC computes the area.
type Curve uint8

// The curves.
const (
	CurveROC Curve = iota // receiver operating characteristic
	CurvePR               // precision-recall
)

// Summation selects how Keras's AUC interpolates between thresholds.
type Summation uint8

// The summations.
const (
	Interpolation Summation = iota // trapezoids for the ROC, the closed form of Davis and Goadrich for precision-recall
	Minoring                       // the lower of the two heights
	Majoring                       // the higher of the two heights
)

// GridOptions select the area that GridAUC returns. The zero value and nil are the defaults of Keras.
type GridOptions struct {
	Thresholds int // number of thresholds on [0,1], including both ends; 0 means 200
	Curve      Curve
	Summation  Summation
}

func (o *GridOptions) fill() (g GridOptions) {
	if o != nil {
		g = *o
	}
	if g.Thresholds == 0 {
		g.Thresholds = 200
	}
	if g.Thresholds < 2 || g.Curve > CurvePR || g.Summation > Majoring {
		panic("rank: an area on a grid has 2 thresholds or more, a curve and a summation")
	}
	return g
}

// GridAUC returns the area that tf.keras.metrics.AUC computes, in float64. It uses T evenly spaced thresholds t/(T-1); a
// score counts as above a threshold only if it is greater, and p = 0 is above only the first. Like Keras it returns 0 if
// there are no rows with the event or, for the ROC, none without. AUROC and AUPRC return areas that depend on no grid. For
// the cells of a top label it is the CalibrationAUC of google-research/robustness_metrics; after Turned it is the variant
// with wrong predictions as positives.
//
// bound is 0 if the area is that of the rows, and NaN (unknown) if a cell of a grid contains a threshold.
func (r *Ranking) GridAUC(o *GridOptions) (area, bound float64) {
	g := o.fill()
	tp, fp := make([]float64, g.Thresholds), make([]float64, g.Thresholds)
	r.rows.Each(func(x *cells.Cell) {
		b := bucket(x.P, g.Thresholds)
		tp[b] += x.Events
		fp[b] += x.Weight - x.Events
		if bucket(x.Low, g.Thresholds) != bucket(x.High, g.Thresholds) {
			bound = math.NaN()
		}
	})
	for t := g.Thresholds - 2; t >= 0; t-- {
		tp[t] += tp[t+1]
		fp[t] += fp[t+1]
	}
	if r.rows.Outside() > 0 {
		bound = math.NaN()
	}
	return kerasArea(tp, fp, tp[0], fp[0], &g), bound
}

// bucket returns the index of the highest of n thresholds that p is above.
func bucket(p float64, n int) int {
	p = math.Min(math.Max(p, 0), 1)
	return max(int(math.Ceil(float64(p*float64(n-1))))-1, 0)
}

// kerasArea returns the area from the weights above each threshold; pos and neg are the weights of all rows with and without
// the event.
func kerasArea(tp, fp []float64, pos, neg float64, g *GridOptions) float64 {
	var s sum
	ratio := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	if g.Curve == CurvePR && g.Summation == Interpolation {
		for t := range len(tp) - 1 {
			p, next := tp[t]+fp[t], tp[t+1]+fp[t+1]
			gain := tp[t] - tp[t+1]
			slope := ratio(gain, math.Max(p-next, 0))
			intercept := tp[t+1] - float64(slope*next)
			ln := 0.0
			if p > 0 && next > 0 {
				ln = kernel.Log64(p / next)
			}
			s.add(ratio(slope*(gain+float64(intercept*ln)), pos))
		}
		return s.value()
	}
	at := func(t int) (x, y float64) {
		if g.Curve == CurvePR {
			return ratio(tp[t], pos), ratio(tp[t], tp[t]+fp[t])
		}
		return ratio(fp[t], neg), ratio(tp[t], pos)
	}
	x, y := at(0)
	for t := 1; t < len(tp); t++ {
		x1, y1 := at(t)
		h := (y + y1) / 2
		switch g.Summation {
		case Minoring:
			h = math.Min(y, y1)
		case Majoring:
			h = math.Max(y, y1)
		}
		s.add(float64((x - x1) * h))
		x, y = x1, y1
	}
	return s.value()
}
