// Package asm dispatches to the kernels in assembly by the level of the CPU. It is no API: package kernel chooses the level, checks
// lengths, and is the only caller. These functions check nothing.
//
// The assembly is in kernel/asm/internal, a folder for each level: avx2, avx512 and neon. All of it, and the dispatchers here, are
// written by the generator in _gen from one source. Nothing is changed by hand.
//
// The tests here hold all levels to the house rules. They check that every instruction that stands as a word in neon, for want of a
// mnemonic in Go's assembler, is the one that its comment says.
package asm
