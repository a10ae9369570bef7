//go:build !noasm

package isa

import (
	"runtime"
	"slices"
	"testing"
)

// named is a bool that a typed constant cannot be assigned to.
type named bool

// Compiles only if AVX2 and AVX512 are variables and NEON an untyped constant.
var _ = []*bool{&AVX2, &AVX512}

const _ named = NEON

// The level is exactly what the features say, named here once more by hand.
func TestFeaturesMakeLevel(t *testing.T) {
	i := Info()
	has := func(names ...string) bool {
		for _, n := range names {
			if !slices.Contains(i.Features, n) {
				return false
			}
		}
		return true
	}
	v3 := has("AVX2", "FMA3", "F16C", "BMI1", "BMI2", "LZCNT", "MOVBE")
	v4 := v3 && has("AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL")
	if got := i.Detected >= LevelAVX2; got != v3 {
		t.Errorf("detected %v with x86-64-v3 %v: %v", i.Detected, v3, i.Features)
	}
	if got, want := i.Detected == LevelAVX512, v4 && runtime.GOOS != "darwin"; got != want {
		t.Errorf("detected %v with x86-64-v4 %v: %v", i.Detected, v4, i.Features)
	}
	if (len(i.Missing) == 0) != v4 {
		t.Errorf("detected %v, missing %v", i.Detected, i.Missing)
	}
}
