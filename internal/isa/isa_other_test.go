//go:build noasm || !(amd64 || arm64)

package isa

import "testing"

// named is a bool that a typed constant cannot be assigned to.
type named bool

// Compiles only if all three are untyped constants.
const (
	_ named = AVX2
	_ named = AVX512
	_ named = NEON
)

func TestGenericAlone(t *testing.T) {
	if AVX2 || AVX512 || NEON {
		t.Error("a level without assembly is not false")
	}
	if ls := Levels(); len(ls) != 1 || Detected() != LevelGeneric || Current() != LevelGeneric {
		t.Errorf("levels %v, detected %v, current %v", ls, Detected(), Current())
	}
}
