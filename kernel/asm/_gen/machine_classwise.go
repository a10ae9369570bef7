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

	// PrefetchBeyond is Prefetch at the sum of two registers, into the second cache.
	PrefetchBeyond(p R, off int, jump R)

	StoreBeyond(p, jump R, off int, v V) // Store at the sum of two registers

	// Numbered returns what stands for the numbers first+l of the lanes l; I32 may be added to all of its lanes. List stores
	// those of the lanes of t where k is true one after another and moves to beyond the last of them. It may write as many as there
	// are lanes.
	Numbered(first R) V
	List(t T, to R, numbers V, k M)
}
