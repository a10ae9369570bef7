package main

// classwiseMachine is what only the class-wise kernels need.
type classwiseMachine interface {
	// Unsigned returns what stands for the integers of a where Below compares them: no level below AVX-512 of amd64 compares
	// without signs.
	Unsigned(t T, a V) V
	Below(t T, a, b V) M   // a < b, of two that Unsigned returned
	All(m M, label string) // jumps if every lane of m is true

	// LoadKept returns F64 registers of the lanes in memory, x, that are kept where k is true and else 0.
	LoadKept(t T, p R, off int, x V, k M) []V

	// List stores the numbers first+l of the lanes l of t where k is true, one after another as I32, and moves to beyond the
	// last of them. It may write as many as there are lanes.
	List(t T, to, first R, k M)
}
