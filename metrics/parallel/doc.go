// Package parallel sorts and bins on all cores: a sort, and bins of equal mass that need no sort. Results have the same bits for any number
// of threads. The number of threads is the number of goroutines; 0 or less means GOMAXPROCS. Each function documents what it
// allocates, and keeps nothing.
//
// Start with SortF32 or EqualMassF32.
package parallel
