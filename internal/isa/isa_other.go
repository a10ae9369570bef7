//go:build noasm || !(amd64 || arm64)

package isa

// AVX2, AVX512 and NEON are false, since this build has no assembly.
const (
	AVX2   = false
	AVX512 = false
	NEON   = false
)

func detect() Level { return LevelGeneric }

func missing() []string { return nil }

func apply(Level) {}

// state is empty, since there are no variables to restore.
type state struct{}

func snapshot() state { return state{} }

func (state) restore() {}
