// Package sliced evaluates slices of the rows: rows with the same value in a column, in a pair of columns, or in three. Numbers
// are cut into bins of equal mass, or at edges of the caller; the model's own score can be such a column too.
//
// What is kept are the finest cells: for each combination of values of all columns, and for each score, how many rows there are
// and how many have the event. The sums of every slice are sums of those, so one read and one state answer for all slices, and
// states merge.
package sliced
