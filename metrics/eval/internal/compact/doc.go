// Package compact keeps sums of the rows of each of many groups, where an evaluation of each would take too much memory: about 400
// bytes a group.
//
// Start with For, which says what is kept for a spec, and Kept.New. Sums are exact: they do not depend on the order of rows, and those of
// groups add up to those of all rows, to the bit.
package compact
