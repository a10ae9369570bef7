package rank

import "github.com/candor-go/candor/metrics/cells"

// ConfidenceAccuracy is not made yet.
func ConfidenceAccuracy(in cells.Rising, out *Scores, thresholds []float64) []Point { panic("not yet") }

// RejectionPoint is a point of a rejection-classification curve.
type RejectionPoint struct{ Rejected, Accuracy, Best, Threshold float64 }

// RejectionClassification is not made yet.
func RejectionClassification(in cells.Rising, out *Scores, most int) []RejectionPoint {
	panic("not yet")
}

// RejectionClassificationUM is not made yet.
func RejectionClassificationUM(in cells.Rising, out *Scores, shares int) []RejectionPoint {
	panic("not yet")
}
