// Package recal mends probabilities: it fits, to labelled predictions that were held out, a map from what a model says to what
// should have been said, and applies it to others.
//
// A Method is a value with options, its Fit reads Data as often as it needs and returns a Map, and a Map never changes:
//
//	m, err := recal.Temperature{}.Fit(recal.InMemory(held), nil)
//	...
//	m.Apply(&dst, &test.Scores, test.Kind)
//
// Of classes, which can be probabilities, their logarithms, or logits:
//
//	Temperature  softmax(z/T)                                      a number; the arg max and the order of classes stay
//	ETS          w1 softmax(z/T) + w2 softmax(z) + w3/K            four; the same
//	Vector       softmax(w*z + b)                                  2K
//	Matrix       softmax(W z + b), with penalties                  K^2 + K
//
// Of one event, or of several classes by one curve for each or by one for the top class, see CurveMap:
//
//	Histogram    the frequency in the bin of p                     equal widths or equal masses
//	Isotonic     the rising step function next to the outcomes     or lines between its steps
//	BBQ          a mean of histograms                              rows without weights
//	Platt        sigmoid(a z + b)
//	Beta         sigmoid(a ln p - b ln(1-p) + c)                   a, b >= 0
//
// Of regression forecasts:
//
//	Sigma        standard deviations times one number              normal forecasts
//	Quantile     levels as often as they come true                 normal forecasts, quantiles, samples
//
// Parse reads a method and its options from a text, and Descriptors says of each what it takes, what it keeps and how many rows it
// wants. Marshal writes a map's file, and Unmarshal reads it to the bit.
//
// What a fit returns does not depend on the number of threads, nor on how the rows are divided into chunks and files. Rows are
// checked as a metrics.Pass does; those of weight 0 are absent, and those whose true class has probability 0, which no likelihood can
// count, are left out and told of in Fit. Where a likelihood has no maximum, because labels are separable or all alike, a fit is an
// error that wraps ErrUnreachable and says so; no map is a runaway's.
//
// To say how much a method helps, fit on some rows and look at others: CrossFit does so for all rows.
package recal
