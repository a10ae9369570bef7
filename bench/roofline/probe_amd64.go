//go:build !noasm

package main

import "github.com/candor-go/candor/internal/isa"

// The probes measure the CPU and not the level that dispatch follows, so they ask what was detected.

// sumWords is sumGo with 32-byte loads: Go's own 8-byte ones do not reach the memory's speed on every CPU.
func sumWords(mem []byte) uint64 {
	if isa.Detected() < isa.LevelAVX2 || len(mem) == 0 {
		return sumGo(mem)
	}
	return sumAVX2(&mem[0], len(mem))
}

// portChains is the number of independent chains in the assembly: two ports by a latency of four or five, and some over.
const portChains = 12

// multiplyAdds issues vector multiply-adds of the level's width and returns their number. It takes about 0.1 ms: long
// against the clock's grain, short against a sample.
func multiplyAdds(level isa.Level) int {
	const rounds = 1 << 16
	switch {
	case isa.Detected() >= isa.LevelAVX512 && level >= isa.LevelAVX512:
		multiplyAddsAVX512(rounds)
	case isa.Detected() >= isa.LevelAVX2:
		multiplyAddsAVX2(rounds)
	default:
		return multiplyAddsGo()
	}
	return portChains * rounds
}

// sumAVX2 returns the sum of the words of n bytes, a multiple of 64.
//
//go:noescape
func sumAVX2(p *byte, n int) uint64

// multiplyAddsAVX2 issues 12 multiply-adds of 32 bytes in each of n > 0 rounds.
//
//go:noescape
func multiplyAddsAVX2(n int)

// multiplyAddsAVX512 does the same with 64 bytes.
//
//go:noescape
func multiplyAddsAVX512(n int)
