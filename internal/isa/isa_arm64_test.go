//go:build !noasm

package isa

import "testing"

// named is a bool that a typed constant cannot be assigned to.
type named bool

// Compiles only if NEON is a variable and the rest untyped constants.
var _ = &NEON

const (
	_ named = AVX2
	_ named = AVX512
)

func TestNEONIsBaseline(t *testing.T) {
	if Detected() != LevelNEON {
		t.Errorf("detected %v", Detected())
	}
}
