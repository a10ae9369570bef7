// Package recal recalibrates predictions: it fits a map to labelled, held-out predictions and applies the map to others.
//
// Start with a Method, such as Temperature. Its Fit reads Data as often as it needs and returns a Map, which never changes.
//
//	m, err := recal.Temperature{}.Fit(recal.InMemory(held), nil)
//	...
//	m.Apply(&dst, &test.Scores, test.Kind)
//
// For several classes, given as probabilities, their logarithms or logits:
//
//	Temperature  softmax(z/T)                                      1 parameter; no decision changes
//	ETS          w1 softmax(z/T) + w2 softmax(z) + w3/K            4; no decision changes
//	Vector       softmax(w*z + b)                                  2K
//	Matrix       softmax(W z + b), with penalties                  K^2 + K
//	Dirichlet    softmax(W ln p + b), with penalties               K^2 + K
//
// For one event; for several classes one against the rest; or for the top class alone (see CurveMap):
//
//	Histogram    the frequency in the bin of p                     bins of equal width or equal mass
//	Isotonic     the rising step function closest to the outcomes  optionally interpolated
//	Spline       p + D'(share of rows up to p)                     D a spline of the cumulative gap
//	VennAbers    two isotonic regressions with the new row, merged     bounds for each row; no probability is 0 or 1
//	BBQ          an average of histograms                          no weights
//	Platt        sigmoid(a z + b)
//	Beta         sigmoid(a ln p - b ln(1-p) + c)                   a, b >= 0
//
// For regression forecasts:
//
//	Sigma        standard deviations times a factor                normal forecasts
//	Quantile     levels replaced by observed frequencies           normal forecasts, quantiles, samples
//
// Parse reads a method with its options from text. Descriptors lists what each method takes, what it preserves and how many rows it
// needs. Marshal writes a map's file, and Unmarshal restores it to the bit.
//
// A fit does not depend on threads, chunks or files. Rows whose true class has probability 0 are left out, and Fit reports their number.
// If the likelihood has no maximum, the error wraps ErrUnreachable.
//
// To see how much a method helps, fit on some rows and evaluate on others. CrossFit does this for all rows. Best compares methods by it, and
// chooses one. docs/recalibration.md says which method to use.
package recal
