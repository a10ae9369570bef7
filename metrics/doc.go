// Package metrics reads predictions once and feeds accumulators, from whose whole-number states every answer is taken.
//
// A Pass checks each block of rows, runs one kernel over it, and hands the columns to its accumulators (packages calib,
// score and the like). What an accumulator remembers between rows is an integer, so its state, and every answer that
// takes only + - * / and square roots from it, has the same bits for any order of the rows, any division into blocks,
// any number of threads, any tree of merges, and on any CPU.
package metrics
