// Package isatest runs tests and benchmarks at every level that can run here. It is apart from isa so that no program
// links the testing package.
package isatest

import (
	"testing"

	"github.com/candor-go/candor/internal/isa"
)

// Each runs f as a subtest "isa=LEVEL" at every one of isa.Levels, from generic up, with dispatch set to that level. It
// restores dispatch afterwards, however f ends. Meanwhile CANDOR_ISA holds the level's name, so that programs started by f
// use it too.
//
// Neither t nor the test that f receives may be parallel, since the level is global; both panic. Subtests of f may be
// parallel: they end before the level changes.
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
		// Setenv also prevents this test and its parents from being parallel.
		t.Setenv("CANDOR_ISA", level.String())
		f(t)
	})
}

// EachB runs f as a sub-benchmark "isa=LEVEL" at every one of isa.Levels, from generic up, with dispatch set to that level,
// and restores dispatch afterwards. benchstat can split the names: -col /isa. With -short it runs f only at the highest
// level.
func EachB(b *testing.B, f func(b *testing.B)) {
	b.Helper()
	for _, level := range benchmarked() {
		eachB(b, level, f)
	}
}

// benchmarked returns the levels that EachB runs: all of them, or with -short only the highest.
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
