//go:build !noasm

package isa

// NEON is true at level neon. Only this package and its Set write it.
var NEON bool

// AVX2 and AVX512 are false on arm64.
const (
	AVX2   = false
	AVX512 = false
)

// detect performs no detection: Go's own arm64 code needs ASIMD, so every CPU that runs this has it, and some operating
// systems do not report features to user programs.
func detect() Level { return LevelNEON }

func missing() []string { return nil }

func apply(l Level) { NEON = l == LevelNEON }

// state holds every variable that apply writes.
type state struct{ neon bool }

func snapshot() state { return state{NEON} }

func (s state) restore() { NEON = s.neon }
