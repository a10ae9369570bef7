package rank

import (
	"math"
	"slices"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// crowd is the weight of the rows of two sets at one confidence.
type crowd struct {
	confidence, right, wrong, out float64
}

const errMixed = "rank: a curve of both sets takes cells of the top label and scores of MaxSoftmax"

// crowds merges two sets in order of rising confidence; out may be nil. It panics if the cells are not of the top label, or
// the scores not of MaxSoftmax.
func crowds(in cells.Rising, out *Scores) (all []crowd, n, nOut float64) {
	if in.Event() != metrics.TopLabel || out != nil && out.detector != MaxSoftmax {
		panic(errMixed)
	}
	if out == nil {
		out = NewScores(MaxSoftmax)
	}
	in.Each(func(x *cells.Cell) {
		all = append(all, crowd{confidence: x.P, right: x.Events, wrong: math.Max(0, x.Weight-x.Events)})
		n += x.Weight
	})
	out.table.settle()
	for i := range out.table.keys {
		low, high := out.table.span(i)
		// Use the middle of the key range, as a grid cell uses its mean.
		middle := low + (high-low)/2
		p, _ := unitScore(2*half - min(middle, 2*half))
		if out.logits != noLogits {
			p, _, _ = out.logits.sure(-realScore(middle))
		}
		w := out.table.total(i, out.table.sums[i].n)
		all = append(all, crowd{confidence: p, out: w})
		nOut += w
	}
	slices.SortStableFunc(all, func(a, b crowd) int {
		switch {
		case a.confidence < b.confidence:
			return -1
		case a.confidence > b.confidence:
			return 1
		}
		return 0
	})
	k := 0
	for _, c := range all {
		if k > 0 && all[k-1].confidence == c.confidence {
			all[k-1].right += c.right
			all[k-1].wrong += c.wrong
			all[k-1].out += c.out
			continue
		}
		all[k] = c
		k++
	}
	return all[:k], n + nOut, nOut
}

// ConfidenceAccuracy returns the confidence-versus-accuracy curve: the accuracy (Y) of the rows whose confidence is at least
// the threshold (X). The in-distribution rows in are ranked by their top label, the out-of-distribution rows out by their
// MaxSoftmax scores; out may be nil, and no answer for its rows is right. Thresholds must rise; the curve ends before the
// first threshold that no row reaches. nil thresholds stand for all distinct confidences; google/uncertainty-metrics uses
// even ones from 0 to 0.99. If scores of a set are no longer kept one by one, rows that are kept together get a score
// between theirs. It panics if in has another event (cells.TopLabel converts those of a binary task) or out another
// detector.
//
// Source: Lakshminarayanan, Pritzel and Blundell 2017.
func ConfidenceAccuracy(in cells.Rising, out *Scores, thresholds []float64) []Point {
	all, _, _ := crowds(in, out)
	if thresholds == nil {
		for _, c := range all {
			thresholds = append(thresholds, c.confidence)
		}
	}
	// right[i] and kept[i] are totals over crowds i and higher.
	right, kept := make([]float64, len(all)+1), make([]float64, len(all)+1)
	for i := len(all) - 1; i >= 0; i-- {
		c := &all[i]
		right[i] = right[i+1] + c.right
		kept[i] = kept[i+1] + c.right + c.wrong + c.out
	}
	var points []Point
	i := 0
	for k, t := range thresholds {
		if !(k == 0 || t >= thresholds[k-1]) {
			panic("rank: thresholds rise")
		}
		for i < len(all) && all[i].confidence < t {
			i++
		}
		if i == len(all) {
			break
		}
		points = append(points, Point{t, right[i] / kept[i], t})
	}
	return points
}

// RejectionPoint is a point of a rejection-classification curve. At Threshold the share Rejected of all rows, those of lower
// confidence, is rejected, and Accuracy is that of the others. Best is the highest accuracy that is possible at this share,
// with out-of-distribution rows rejected first.
type RejectionPoint struct{ Rejected, Accuracy, Best, Threshold float64 }

// best returns the highest possible accuracy when this share of the rows is rejected.
func best(rejected, n, nOut float64) float64 {
	if rejected < nOut/n {
		return (n - nOut) / (float64((1 - rejected) * n))
	}
	return 1
}

// RejectionClassification returns the rejection-classification curve of in-distribution and out-of-distribution rows, given
// as for ConfidenceAccuracy. Its accuracy at each distinct confidence is the share of the kept rows that are in distribution
// and classified correctly. Points are thinned as for Ranking.ROC, by the share kept; most = 0 keeps all. It returns nil
// without rows.
func RejectionClassification(in cells.Rising, out *Scores, most int) []RejectionPoint {
	all, n, nOut := crowds(in, out)
	if len(all) == 0 {
		return nil
	}
	t := newThin(most, len(all))
	kept, right := n, 0.0
	for _, c := range all {
		right += c.right
	}
	for _, c := range all {
		t.add(Point{(n - kept) / n, right / kept, c.confidence}, kept/n)
		kept = math.Max(0, kept-c.right-c.wrong-c.out)
		right = math.Max(0, right-c.right)
	}
	p := t.falling()
	points := make([]RejectionPoint, len(p))
	for i, x := range p {
		points[len(p)-1-i] = RejectionPoint{x.X, x.Y, best(x.X, n, nOut), x.Threshold}
	}
	return points
}

// RejectionClassificationUM returns the curve that google/uncertainty-metrics draws, in float64. For evenly spaced shares
// from 0 to 0.99 it uses the first threshold that rejects at least this share. It searches upward from the previous
// threshold, among 100 times as many evenly spaced thresholds from 0 to 1, and adds 1e-6 to the numbers of rows. The curve
// ends before the first share that no threshold rejects, where the original fails.
func RejectionClassificationUM(in cells.Rising, out *Scores, shares int) []RejectionPoint {
	if shares < 2 {
		panic("rank: a rejection-classification curve has 2 shares or more")
	}
	const eps = 1e-6
	all, n, nOut := crowds(in, out)
	total := 0.0
	for _, c := range all {
		total += c.right
	}
	var points []RejectionPoint
	rejected, lost, i, k := 0.0, 0.0, 0, 0
	last := float64(100*shares - 1)
	for j := range shares {
		p := linspace(j, shares, 0.99)
		for ; k < 100*shares; k++ {
			t := linspace(k, 100*shares, 1)
			for i < len(all) && all[i].confidence < t {
				rejected += all[i].right + all[i].wrong + all[i].out
				lost += all[i].right
				i++
			}
			if rejected/n >= p {
				points = append(points, RejectionPoint{p, (total - lost + eps) / (n - rejected + eps), best(p, n, nOut), t})
				break
			}
		}
		if float64(k) > last {
			break
		}
	}
	return points
}

// linspace returns the i-th of n evenly spaced numbers from 0 to end.
func linspace(i, n int, end float64) float64 {
	if i == n-1 {
		return end
	}
	return float64(float64(i) * (end / float64(n-1)))
}
