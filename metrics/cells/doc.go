// Package cells keeps the scores and outcomes of rows without the rows: how many rows had each score, and how many of them had the event.
// Beyond a number of distinct scores it keeps the same counts, with sums, for the cells of a fixed grid. Calibration errors over any
// bins, areas under curves and fits of two parameters need nothing else, so states, and merged states, give the answers of the rows.
//
// Start with New and a metrics.Pass, and hand the Cells to package rank, calib or binfree. Sort is for rows in memory: each distinct score
// is a cell, and the answers are the same.
package cells
