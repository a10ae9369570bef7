package isatest_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/internal/isa/isatest"
)

func TestEachRunsEveryLevel(t *testing.T) {
	before, env := isa.Current(), os.Getenv("CANDOR_ISA")
	var ran []isa.Level
	isatest.Each(t, func(t *testing.T) {
		l := isa.Current()
		ran = append(ran, l)
		if !strings.HasSuffix(t.Name(), "/isa="+l.String()) {
			t.Errorf("level %v under the name %s", l, t.Name())
		}
		if got := os.Getenv("CANDOR_ISA"); got != l.String() {
			t.Errorf("level %v with CANDOR_ISA=%s", l, got)
		}
	})
	if !slices.Equal(ran, isa.Levels()) {
		t.Errorf("ran %v, want %v", ran, isa.Levels())
	}
	if isa.Current() != before || os.Getenv("CANDOR_ISA") != env {
		t.Errorf("left level %v and CANDOR_ISA=%s", isa.Current(), os.Getenv("CANDOR_ISA"))
	}
}

func TestEachRestoresAfterSkip(t *testing.T) {
	before := isa.Current()
	isatest.Each(t, func(t *testing.T) { t.SkipNow() }) // ends f as FailNow does, without failing
	if isa.Current() != before {
		t.Errorf("left level %v, want %v", isa.Current(), before)
	}
}

func TestEachWaitsForParallelSubtests(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		want := isa.Current()
		for range 4 {
			t.Run("sub", func(t *testing.T) {
				t.Parallel()
				if got := isa.Current(); got != want {
					t.Errorf("level %v, want %v", got, want)
				}
			})
		}
	})
}

func TestEachRefusesParallel(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("Parallel inside Each did not panic")
			}
		}()
		t.Parallel()
	})
}

func TestEachBRunsEveryLevel(t *testing.T) {
	before := isa.Current()
	ran := map[isa.Level]bool{}
	testing.Benchmark(func(b *testing.B) {
		isatest.EachB(b, func(b *testing.B) { ran[isa.Current()] = true })
	})
	levels := isa.Levels()
	for i, l := range levels {
		if want := !testing.Short() || i == len(levels)-1; ran[l] != want {
			t.Errorf("level %v ran: %v, want %v", l, ran[l], want)
		}
	}
	if isa.Current() != before {
		t.Errorf("left level %v, want %v", isa.Current(), before)
	}
}
