package rank

import (
	"cmp"
	"math"
	"slices"
)

const errRetained = "rank: scores, labels and uncertainties of retained rows differ in number, or there are no parts"

// RetainedAreas returns the areas under a curve among the rows that remain as the least certain ones are left out. Element
// i, for i < parts, is the area of the floor((parts-i)/parts * n) rows of lowest uncertainty; the last element is 1, for no
// rows. The mean of the elements is the area under the retention curve. scores rank the rows for the curve, labels are 0 or
// 1, and uncertainties may be any number but NaN. An element is NaN if all of its rows are of one class (for CurvePR, if
// none is of class 1).
//
// CurveROC is AUROC, with equal scores counting half; CurvePR is the Trapezoid area of the precision-recall curve. Rows of
// equal uncertainty are left out last row first, so the result depends on their order. The cost is n ln n, plus n per part.
// It panics if the slices differ in length or parts is below 1.
//
// Source: google/uncertainty-baselines, compute_auc_retention_curve, with 100 parts; Filos et al. 2019.
func RetainedAreas(scores []float64, labels []int32, uncertainty []float64, c Curve, parts int) []float64 {
	n := len(scores)
	if len(labels) != n || len(uncertainty) != n || parts < 1 {
		panic(errRetained)
	}
	falling, sure := make([]int, n), make([]int, n)
	for i := range n {
		falling[i], sure[i] = i, i
	}
	slices.SortStableFunc(falling, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	slices.SortStableFunc(sure, func(a, b int) int { return cmp.Compare(uncertainty[a], uncertainty[b]) })
	place := make([]int, n)
	for k, i := range sure {
		place[i] = k
	}
	areas := make([]float64, parts+1)
	for p := range parts {
		// The reference rounds the share before the multiplication: 0.58 of 400 rows gives 231.
		areas[p] = retainedArea(scores, labels, falling, place, int(float64(float64(parts-p)/float64(parts))*float64(n)), c)
	}
	areas[parts] = 1
	return areas
}

// retainedArea returns the area among the rows with place below k.
func retainedArea(scores []float64, labels []int32, falling, place []int, k int, c Curve) float64 {
	positives := 0.0
	for i, l := range labels {
		if place[i] < k && l == 1 {
			positives++
		}
	}
	negatives := float64(k) - positives
	if positives == 0 || c == CurveROC && negatives == 0 {
		return math.NaN()
	}
	area, tp, fp, precision := 0.0, 0.0, 0.0, 1.0
	for i := 0; i < len(falling); {
		s, up, down := scores[falling[i]], 0.0, 0.0
		for ; i < len(falling) && scores[falling[i]] == s; i++ {
			switch r := falling[i]; {
			case place[r] >= k:
			case labels[r] == 1:
				up++
			default:
				down++
			}
		}
		if up+down == 0 {
			continue
		}
		if c == CurveROC {
			area += float64(down * (tp + float64(up/2)))
		}
		tp, fp = tp+up, fp+down
		if c == CurvePR {
			next := tp / (tp + fp)
			area += float64(up * (precision + next) / 2)
			precision = next
		}
	}
	if c == CurveROC {
		return area / (positives * negatives)
	}
	return area / positives
}
