package main

// temperedMachine is what only the kernels of a temperature need.
type temperedMachine interface {
	// Sixteenths returns what makes 2**(n/16) of a register of 1.5*2**52 + n, which it uses up.
	Sixteenths() func(t V) V
	// MinWhere returns the smaller of v and b where k is true, else v, which it uses up. v is no NaN where k is.
	MinWhere(t T, k M, v V, b any) V
}

// sixteenths are the bits of 2**(i/16), less those that n has where it has been shifted to the exponent's place.
func sixteenths(i int) uint64 {
	return bits64([16]float64{1, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0,
		0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0, 0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0,
		0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0, 0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0,
		0x1.ea4afa2a490dap+0}[i]) - uint64(i)<<48
}
