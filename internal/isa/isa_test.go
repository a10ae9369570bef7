package isa

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// printEnv makes the test binary print what it found and stop, so that a test can see a start under another CANDOR_ISA.
const printEnv = "CANDOR_ISA_TEST_PRINT"

// execEnv holds the words that must stand before the test binary to start it again, where the system does not know how
// to: CANDOR_TEST_EXEC='qemu-aarch64-static -cpu max'.
const execEnv = "CANDOR_TEST_EXEC"

// requireEnv lists the levels that must run here, separated by commas.
const requireEnv = "CANDOR_REQUIRE_ISA"

// started is what a fresh start of the test binary found.
type started struct {
	CPU
	Levels             []Level
	AVX2, AVX512, NEON bool
}

func TestMain(m *testing.M) {
	if os.Getenv(printEnv) != "" {
		json.NewEncoder(os.Stdout).Encode(started{Info(), Levels(), AVX2, AVX512, NEON})
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// start runs the test binary again under a value of CANDOR_ISA.
func start(t *testing.T, env string) started {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words := append(strings.Fields(os.Getenv(execEnv)), self)
	cmd := exec.Command(words[0], words[1:]...)
	// A program under the race detector sleeps for a second before it ends, unless told not to.
	cmd.Env = append(os.Environ(), printEnv+"=1", envName+"="+env, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil && (strings.Contains(err.Error(), "exec format error") || errors.Is(err, errors.ErrUnsupported)) {
		// So it is under an emulator that the kernel does not know. CI says the words, and fails where this skips.
		t.Skipf("this system cannot start %s/%s programs itself: set %s to the words before them", runtime.GOOS, runtime.GOARCH, execEnv)
	}
	if err != nil {
		t.Fatalf("%v: %v", words, err)
	}
	var s started
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%v printed %q: %v", words, out, err)
	}
	return s
}

func TestLevelNames(t *testing.T) {
	for l, want := range map[Level]string{LevelGeneric: "generic", LevelAVX2: "avx2", LevelAVX512: "avx512", LevelNEON: "neon"} {
		if l.String() != want {
			t.Errorf("Level %d is %q, want %q", l, l, want)
		}
		for _, spelling := range []string{want, strings.ToUpper(want), " " + want + "\n"} {
			if got, err := ParseLevel(spelling); got != l || err != nil {
				t.Errorf("ParseLevel(%q) = %v, %v", spelling, got, err)
			}
		}
	}
	if got := Level(9).String(); got != "Level(9)" {
		t.Errorf("Level(9) is %q", got)
	}
	for _, bad := range []string{"", "avx", "avx-512", "sse2", "generic,avx2", "Level(9)"} {
		if l, err := ParseLevel(bad); err == nil || l != LevelGeneric || !strings.Contains(err.Error(), "avx512") {
			t.Errorf("ParseLevel(%q) = %v, %v; want an error that tells the known names", bad, l, err)
		}
	}
	if !(LevelGeneric < LevelAVX2 && LevelAVX2 < LevelAVX512 && LevelGeneric < LevelNEON) {
		t.Error("levels are not in order")
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		goarch string
		have   Level
		env    string
		want   Level
		reason string // a part of it
	}{
		{"amd64", LevelAVX512, "", LevelAVX512, ""},
		{"amd64", LevelAVX512, " ", LevelAVX512, ""},
		{"amd64", LevelAVX512, "avx512", LevelAVX512, ""},
		{"amd64", LevelAVX512, "AVX2", LevelAVX2, ""},
		{"amd64", LevelAVX512, "generic", LevelGeneric, ""},
		{"amd64", LevelAVX2, "avx512", LevelAVX2, ""},
		{"amd64", LevelGeneric, "avx512", LevelGeneric, ""},
		{"amd64", LevelGeneric, "avx2", LevelGeneric, ""},
		{"amd64", LevelAVX512, "neon", LevelAVX512, "not a level of amd64"},
		{"amd64", LevelAVX2, "sse", LevelAVX2, `unknown level "sse"`},
		{"arm64", LevelNEON, "", LevelNEON, ""},
		{"arm64", LevelNEON, "neon", LevelNEON, ""},
		{"arm64", LevelNEON, "generic", LevelGeneric, ""},
		{"arm64", LevelGeneric, "neon", LevelGeneric, ""},
		{"arm64", LevelNEON, "avx2", LevelNEON, "not a level of arm64"},
		{"arm64", LevelNEON, "avx512", LevelNEON, "not a level of arm64"},
		{"riscv64", LevelGeneric, "", LevelGeneric, ""},
		{"riscv64", LevelGeneric, "generic", LevelGeneric, ""},
		{"riscv64", LevelGeneric, "neon", LevelGeneric, "not a level of riscv64"},
		{"386", LevelGeneric, "avx2", LevelGeneric, "not a level of 386"},
	} {
		got, reason := choose(c.goarch, c.have, c.env)
		if got != c.want || (reason == "") != (c.reason == "") || !strings.Contains(reason, c.reason) {
			t.Errorf("choose(%s, %v, %q) = %v, %q; want %v, %q", c.goarch, c.have, c.env, got, reason, c.want, c.reason)
		}
	}
}

// The whole way from the environment to the booleans, in a program of its own.
func TestEnvironment(t *testing.T) {
	own := levelsOf(runtime.GOARCH)
	for _, env := range append([]string{"", "avx1024"}, levelNames[:]...) {
		t.Run("env="+env, func(t *testing.T) {
			s := start(t, env)
			want, heeded := detected, true
			if env != "" {
				l, err := ParseLevel(env)
				heeded = err == nil && slices.Contains(own, l)
				if heeded {
					want = min(l, detected)
				}
			}
			if s.Current != want || s.Detected != detected {
				t.Errorf("current %v, detected %v; want %v, %v", s.Current, s.Detected, want, detected)
			}
			if s.Env != env || (s.EnvError == "") != heeded {
				t.Errorf("env %q, error %q; want %q, heeded %v", s.Env, s.EnvError, env, heeded)
			}
			if got := [3]bool{s.AVX2, s.AVX512, s.NEON}; got != booleans(want) {
				t.Errorf("booleans %v at level %v", got, want)
			}
			if wantLevels := own[:slices.Index(own, want)+1]; !slices.Equal(s.Levels, wantLevels) {
				t.Errorf("Levels %v, want %v", s.Levels, wantLevels)
			}
		})
	}
}

// booleans returns what AVX2, AVX512 and NEON are at a level.
func booleans(l Level) [3]bool {
	return [3]bool{l == LevelAVX2 || l == LevelAVX512, l == LevelAVX512, l == LevelNEON}
}

func TestSetRestoresAll(t *testing.T) {
	now := func() [3]bool { return [3]bool{AVX2, AVX512, NEON} }
	first := Current()
	if now() != booleans(first) {
		t.Fatalf("booleans %v at level %v", now(), first)
	}
	for _, outer := range Levels() {
		restoreOuter := Set(outer)
		for _, inner := range Levels() {
			restoreInner := Set(inner)
			if Current() != inner || now() != booleans(inner) {
				t.Errorf("after Set(%v): level %v, booleans %v", inner, Current(), now())
			}
			restoreInner()
			if Current() != outer || now() != booleans(outer) {
				t.Errorf("after restoring to %v: level %v, booleans %v", outer, Current(), now())
			}
			restoreInner() // a second time changes nothing
			if Current() != outer {
				t.Errorf("after restoring twice to %v: level %v", outer, Current())
			}
		}
		if got := Info(); got.Current != outer || got.Detected != detected {
			t.Errorf("Info after Set(%v): %v of %v", outer, got.Current, got.Detected)
		}
		restoreOuter()
	}
	if Current() != first || now() != booleans(first) {
		t.Errorf("at the end: level %v, booleans %v; want %v", Current(), now(), first)
	}
}

func TestSetPanics(t *testing.T) {
	for _, l := range []Level{LevelGeneric, LevelAVX2, LevelAVX512, LevelNEON, 9} {
		if slices.Contains(Levels(), l) {
			continue
		}
		before := Current()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Set(%v) did not panic", l)
				}
			}()
			Set(l)
		}()
		if Current() != before {
			t.Errorf("Set(%v) panicked and left level %v", l, Current())
		}
	}
}

func TestLevels(t *testing.T) {
	ls := Levels()
	if ls[0] != LevelGeneric || ls[len(ls)-1] != limit || !slices.IsSorted(ls) {
		t.Errorf("Levels() = %v with limit %v", ls, limit)
	}
	ls[0] = LevelNEON // the caller's own slice
	if Levels()[0] != LevelGeneric {
		t.Error("Levels returned a shared slice")
	}
	if limit > detected {
		t.Errorf("limit %v above %v", limit, detected)
	}
}

func TestInfo(t *testing.T) {
	i := Info()
	t.Logf("%+v", i)
	if i.GOARCH != runtime.GOARCH || i.Detected != Detected() || i.Current != Current() || i.NoAsm != noasm {
		t.Errorf("Info() = %+v", i)
	}
	if !slices.IsSorted(i.Features) {
		t.Errorf("features are not sorted: %v", i.Features)
	}
	if i.NoAsm && (i.Detected != LevelGeneric || i.Current != LevelGeneric) {
		t.Errorf("noasm, and yet %v of %v", i.Current, i.Detected)
	}
	for _, m := range i.Missing {
		if slices.Contains(i.Features, m) {
			t.Errorf("%s is both found and missing", m)
		}
	}
}

// TestRequiredLevels fails where a level that CANDOR_REQUIRE_ISA names cannot run: a suite that silently left a level
// out has not passed.
func TestRequiredLevels(t *testing.T) {
	if err := required(os.Getenv(requireEnv)); err != nil {
		t.Error(err)
	}
}

// required returns an error if a level of the comma list cannot run here.
func required(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(name) == "" {
			continue
		}
		l, err := ParseLevel(name)
		if err != nil {
			return fmt.Errorf("%s: %w", requireEnv, err)
		}
		if !slices.Contains(Levels(), l) {
			return fmt.Errorf("%s: %v cannot run here: detected %v, %s=%q, noasm %v, missing %v",
				requireEnv, l, detected, envName, envValue, noasm, missing())
		}
	}
	return nil
}

func TestRequired(t *testing.T) {
	var here []string
	for _, l := range Levels() {
		here = append(here, l.String())
	}
	for _, list := range []string{"", " ", ",", "generic", strings.Join(here, ","), strings.Join(here, " , ")} {
		if err := required(list); err != nil {
			t.Errorf("required(%q): %v", list, err)
		}
	}
	for _, l := range []Level{LevelAVX2, LevelAVX512, LevelNEON} {
		if !slices.Contains(Levels(), l) && required("generic,"+l.String()) == nil {
			t.Errorf("required(%v) found nothing wrong", l)
		}
	}
	if required("avx1024") == nil {
		t.Error("an unknown name was let through")
	}
}
