// Package asm dispatches to the kernels in assembly by the level of the CPU. It is no API: package kernel chooses the level, checks
// lengths, and is the only caller. These functions check nothing.
//
// The assembly is in kernel/asm/internal, a folder for each level: avx2, avx512 and neon. All of it, and the dispatchers here, are
// written by the generator in _gen from one source. Nothing is changed by hand.
//
// The generator makes macros of what stands in a file more than once: functions that differ in a word, such as those for the two
// half-precision types, what follows a label, and the steps of loops. The machine code is that of the text without macros, which internal/asmtext
// gives back. In neon an instruction for which Go's assembler has no mnemonic is a macro of words_arm64.h.
//
// The tests here hold all levels to the house rules. They check that every instruction that stands as a word in neon is the
// one that its comment says.
package asm
