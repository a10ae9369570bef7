// Package asm holds the kernels in assembly, a folder for each level of CPU: avx2, avx512 and neon. Everything there
// is written by the generator in _gen from one source; nothing is written or changed by hand. Package kernel chooses
// the level, checks lengths, and is the only caller: these functions check nothing.
//
// The tests here hold all levels to the house rules, and check that every instruction that stands as a word in neon,
// for want of a mnemonic in Go's assembler, is the one that its comment says.
package asm
