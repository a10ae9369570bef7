// Package cells keeps of predictions what is left to know of their scores and outcomes when the rows are gone: how many rows
// had each score and how many of them the event, or the same, with sums, for the cells of a fixed grid. Calibration errors with
// any bins, areas under curves and fits of two parameters are answered from that, so a state or a merge of states answers them as
// the rows would.
package cells
