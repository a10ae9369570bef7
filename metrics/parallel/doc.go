// Package parallel has the kernels of ranking and equal mass on all cores: a sort, and bins of equal mass without one. Their
// results have the same bits for any number of threads, which is the number of goroutines; 0 or less means GOMAXPROCS. What
// they allocate is said at each, and nothing of it is kept.
package parallel
