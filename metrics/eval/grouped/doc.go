// Package grouped evaluates groups of rows, by the values of columns such as a site or a year, and all rows, in one read.
//
// Start with New and Evaluation.AddSource. Each group has an eval.Evaluation of its own; Each lists them, and Whole is that of all rows.
// Evaluations of the same spec and columns merge to the byte, in any order.
package grouped
