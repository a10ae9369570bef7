// Package order sorts keys and finds bins of equal mass on all cores. It is what metrics/parallel offers to others, with the exact sums of
// each bin. Results have the same bits for any number of threads. The number of threads is the number of goroutines; 0 or less
// means GOMAXPROCS. Each function documents what it allocates, and keeps nothing.
package order
