// Package recal mends probabilities: it fits, to labelled predictions that were held out, a map from what a model says to what
// should have been said, and applies it to others.
//
// A Method is a value with options, its Fit reads Data as often as it needs and returns a Map, and a Map never changes:
//
//	m, err := recal.Temperature{}.Fit(recal.InMemory(logits), nil)
//	...
//	m.Apply(&dst, &test.Scores, test.Kind)
//
// What a fit returns does not depend on the number of threads, nor on how the rows are divided into chunks and files. Where a
// likelihood has no maximum, because labels are separable or all alike, a fit is an error that wraps ErrUnreachable and says so; no
// map is a runaway's.
//
// To say how much a method helps, fit on some rows and look at others: CrossFit does so for all rows.
package recal
