// Package paired compares two models on the same rows: differences of metrics, with intervals and p-values.
//
// The rows of two models are read side by side. What is kept are integers and exact sums: of each loss the differences of the
// two models' rows and their squares (Means); how often one was right where the other was wrong, and the rows by both models'
// scores and outcomes (Joint). So states merge exactly, and no answer depends on the order of the rows or draws random numbers.
//
// A difference is that of B minus A. Its interval takes rows as independent, and the two models of a row as dependent: that is
// what makes it narrower than the intervals of the two.
package paired
