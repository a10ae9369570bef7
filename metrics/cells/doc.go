// Package cells keeps the scores and outcomes of rows without the rows: for each distinct score, the number of rows and the
// number of events. Beyond a number of distinct scores it keeps the same counts, with sums, for the cells of a fixed grid.
// Calibration errors over any bins, areas under curves and two-parameter fits need nothing else, so states and merged states
// give the same answers as the rows.
//
// Start with New and a metrics.Pass, and pass the Cells to package rank, calib or binfree. Sort is for rows in memory: it keeps
// a cell for each distinct score and gives the same answers.
package cells
