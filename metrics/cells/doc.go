// Package cells keeps of predictions what is left to know of their scores and outcomes when the rows are gone: how many rows
// had each score and how many of them the event, or the same, with sums, for the cells of a fixed grid. Calibration errors with
// any bins, areas under curves and fits of two parameters are answered from that, so a state or a merge of states answers them as
// the rows would.
//
// Rows that are in memory can be sorted instead: then each distinct score is a cell, and the answers are the same.
package cells
