//go:build !noasm

package isa

import (
	"runtime"

	"github.com/klauspost/cpuid/v2"
)

// AVX2 is true at levels avx2 and avx512; AVX512 at level avx512. Only this package and its Set write them.
var AVX2, AVX512 bool

// NEON is false on amd64.
const NEON = false

// The features that each level adds to the one below. cpuid reports a vector feature only if the operating system saves its
// registers (XGETBV), so this is not checked again here.
var (
	featuresAVX2   = []cpuid.FeatureID{cpuid.AVX2, cpuid.FMA3, cpuid.F16C, cpuid.BMI1, cpuid.BMI2, cpuid.LZCNT, cpuid.MOVBE}
	featuresAVX512 = []cpuid.FeatureID{cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512CD, cpuid.AVX512DQ, cpuid.AVX512VL}
)

func detect() Level {
	if !cpuid.CPU.Supports(featuresAVX2...) {
		return LevelGeneric
	}
	// macOS before 12.2 loses mask registers on a context switch while the upper halves of the ZMM registers are zero
	// (golang.org/issue/49233). No new Mac has AVX-512, so all Macs use AVX2.
	if runtime.GOOS == "darwin" || !cpuid.CPU.Supports(featuresAVX512...) {
		return LevelAVX2
	}
	return LevelAVX512
}

// missing returns the features that the CPU lacks for the next level.
func missing() []string {
	var need []cpuid.FeatureID
	switch detected {
	case LevelGeneric:
		need = featuresAVX2
	case LevelAVX2:
		need = featuresAVX512
	}
	var names []string
	for _, f := range need {
		if !cpuid.CPU.Supports(f) {
			names = append(names, f.String())
		}
	}
	return names
}

func apply(l Level) {
	AVX2 = l >= LevelAVX2
	AVX512 = l >= LevelAVX512
}

// state holds every variable that apply writes.
type state struct{ avx2, avx512 bool }

func snapshot() state { return state{AVX2, AVX512} }

func (s state) restore() { AVX2, AVX512 = s.avx2, s.avx512 }
