// Package isatest runs tests and benchmarks at every level that can run here. It is apart from isa so that no program
// links the testing package.
package isatest

import (
	"testing"

	"github.com/candor-go/candor/internal/isa"
)

// Each runs f as a subtest "isa=LEVEL" once for every one of isa.Levels, from generic up, with dispatch set to that
// level, and puts dispatch back as it was afterwards, however f ends. CANDOR_ISA holds the level's name meanwhile, so
// that a program started by f follows it too.
//
// Neither t nor the test that f gets may be parallel, since the level is the whole program's; both panic. Subtests of f
// may be: they end before the level changes.
func Each(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for _, level := range isa.Levels() {
		each(t, level, f)
	}
}

func each(t *testing.T, level isa.Level, f func(t *testing.T)) {
	t.Helper()
	defer isa.Set(level)()
	t.Run("isa="+level.String(), func(t *testing.T) {
		// Setenv also is what forbids this test, and those it stands in, to be parallel.
		t.Setenv("CANDOR_ISA", level.String())
		f(t)
	})
}

// EachB runs f as a sub-benchmark "isa=LEVEL" once for every one of isa.Levels, from generic up, with dispatch set to
// that level, and puts dispatch back as it was afterwards. The name is one that benchstat can split: -col /isa. With
// -short it runs f at the highest level alone.
func EachB(b *testing.B, f func(b *testing.B)) {
	b.Helper()
	for _, level := range benchmarked() {
		eachB(b, level, f)
	}
}

// benchmarked returns the levels that EachB runs: all of them, with -short the highest alone.
func benchmarked() []isa.Level {
	levels := isa.Levels()
	if testing.Short() {
		return levels[len(levels)-1:]
	}
	return levels
}

func eachB(b *testing.B, level isa.Level, f func(b *testing.B)) {
	b.Helper()
	defer isa.Set(level)()
	b.Run("isa="+level.String(), f)
}
