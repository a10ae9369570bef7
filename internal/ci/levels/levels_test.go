package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const assembly = `// func Add(x *float64)
TEXT ·Add(SB), NOSPLIT, $0-8
	VMOVUPD one<>+0(SB), Z0 // the constant
loop:
	VADDPD  pair<>+8(SB), Z0, Z0
	JMP     loop

TEXT ·Nothing(SB), NOSPLIT, $0-0
	RET

DATA one<>+0(SB)/8, $0x3ff0000000000000
GLOBL one<>(SB), RODATA|NOPTR, $8

DATA pair<>+0(SB)/8, $0x0000000000000001
DATA pair<>+8(SB)/8, $0x0000000000000002
GLOBL pair<>(SB), RODATA|NOPTR, $16
`

func TestConstants(t *testing.T) {
	got, err := constants([]byte(assembly))
	if err != nil {
		t.Fatal(err)
	}
	want := `map[Add:[0/8=$0x3ff0000000000000  0/8=$0x0000000000000001 8/8=$0x0000000000000002 ] Nothing:[]]`
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
	for _, bad := range []string{
		"TEXT Add(SB), NOSPLIT, $0-8\n",
		"DATA one(SB)/8, $1\n",
		"TEXT ·Add(SB), NOSPLIT, $0-8\n\tVMOVUPD other<>(SB), Z0\n",
	} {
		if _, err := constants([]byte(bad)); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

// A constant, an immediate and an operand are part of a function's hash; a name, a comment and a label are not.
func TestAssemble(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it runs the assembler six times; the hashes of what it says are tested")
	}
	hash := func(change ...string) string {
		root := t.TempDir()
		dir := filepath.Join(root, "kernel", "asm", "internal", "avx512")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		src := strings.NewReplacer(change...).Replace("#include \"textflag.h\"\n" + assembly)
		if err := os.WriteFile(filepath.Join(dir, "x_amd64.s"), []byte(src), 0o666); err != nil {
			t.Fatal(err)
		}
		code, err := assemble(root, level{"avx512", "amd64"})
		if err != nil {
			t.Fatal(err)
		}
		return code["Add"]
	}
	was := hash()
	same := []string{"one<>", "unit<>", "// the constant", "", "loop", "again"}
	if now := hash(same...); now != was {
		t.Errorf("one of %q changes the hash", same)
	}
	for _, change := range [][]string{{"0x3ff0", "0x3ff8"}, {"000002", "000003"}, {"VADDPD", "VSUBPD"}, {"Z0, Z0\n", "Z0, Z1\n"}} {
		if now := hash(change...); now == was {
			t.Errorf("%q leaves the hash as it is", change)
		}
	}
}

const (
	kernelSource = `package kernel

// Sum is exported.
func Sum(x []float64) float64 { return sum{lanes}.of(x) }

type sum struct{ lanes int }

func (s sum) of(x []float64) (total float64) {
	for i := range x {
		total += float64(float32(x[i])) * float64(s.lanes+offset)
	}
	return total
}

var offset = start

const (
	lanes = 4 << iota
	start
)

func Other() int { return lanes }
`
	testSource = `package kernel

type sheet interface{ after() bool }

type page struct{}

func (page) after() bool { return true }

func TestLevelsSum() bool { return same(page{}) }

func same(s sheet) bool { return Sum(nil) == 0 && s.after() }

func TestLevelsNothing() bool { return true }
`
)

func graphOf(t *testing.T, change ...string) *graph {
	t.Helper()
	r := strings.NewReplacer(change...)
	none := func(string) (io.ReadCloser, error) { return nil, os.ErrNotExist }
	g, err := newGraph(map[string][]byte{"sum.go": []byte(r.Replace(kernelSource)), "sum_test.go": []byte(r.Replace(testSource))}, none)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestHash(t *testing.T) {
	hashes := func(change ...string) (definition, test string) {
		g := graphOf(t, change...)
		find := func(name string) string {
			obj := g.pkg.Scope().Lookup(name)
			return g.hash(obj, func(d *decl) bool { return d.test == g.decls[obj].test })
		}
		return find("Sum"), find("TestLevelsSum")
	}
	definition, test := hashes()
	for _, c := range []struct {
		change           []string
		definition, test bool // whether the hash changes
	}{
		{[]string{"// Sum is exported.", "// Sum adds."}, false, false},
		{[]string{"total", "all"}, false, false},
		{[]string{"lanes", "width"}, false, false},
		{[]string{"sum)", "adder)", "sum{", "adder{", "type sum", "type adder"}, false, false},
		{[]string{" of(", " in(", ".of(", ".in("}, false, false},
		{[]string{"page", "leaf", "same", "alike", "after", "behind"}, false, false},
		{[]string{"Other() int { return lanes }", "Other() int { return 0 }"}, false, false},
		{[]string{"4 << iota", "2 << iota"}, true, false},
		{[]string{"float32", "float64"}, true, false},
		{[]string{"+=", "-="}, true, false},
		{[]string{"offset = start", "offset = 3"}, true, false},
		{[]string{"s.lanes+offset", "offset+s.lanes"}, true, false},
		{[]string{"after() bool { return true }", "after() bool { return false }"}, false, true},
		{[]string{"== 0 &&", "== 0 ||"}, false, true},
		{[]string{"Sum(nil)", "float64(Other())"}, false, true},
	} {
		d, u := hashes(c.change...)
		if (d != definition) != c.definition {
			t.Errorf("%q: the definition's hash changed: %v", c.change, d != definition)
		}
		if (u != test) != c.test {
			t.Errorf("%q: the test's hash changed: %v", c.change, u != test)
		}
	}
}

func TestRecord(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "kernel", "asm"), 0o777); err != nil {
		t.Fatal(err)
	}
	all := []kernel{
		{"avx2", "Add", "c1", "d1", []test{{"TestLevelsA", "t1"}, {"TestLevelsB", "t2"}}},
		{"avx512", "Add", "c2", "d1", []test{{"TestLevelsA", "t1"}, {"TestLevelsB", "t2"}}},
	}
	if err := writeRecord(root, all); err != nil {
		t.Fatal(err)
	}
	recorded, err := readRecord(root)
	if err != nil || len(differing(all, recorded)) != 0 {
		t.Errorf("%v, %v", recorded, err)
	}
	for _, c := range []struct {
		now  kernel
		want string
	}{
		{kernel{"avx512", "Add", "c3", "d1", all[1].tests}, "other instructions"},
		{kernel{"avx512", "Add", "c2", "d2", all[1].tests}, "other Go definition"},
		{kernel{"avx512", "Add", "c2", "d2", all[1].tests[:1]}, "other Go definition, comparison tests"},
		{kernel{"avx512", "Sub", "c2", "d1", all[1].tests}, "is new"},
	} {
		if stale := differing([]kernel{c.now}, recorded); len(stale) != 1 || c.now.change(recorded) != c.want {
			t.Errorf("%v: %v, %q, want %q", c.now, stale, c.now.change(recorded), c.want)
		}
	}
}

func TestProofs(t *testing.T) {
	k := kernel{"avx512", "Add", "c", "d", []test{{"TestLevelsA", "t1"}, {"TestLevelsB", "t2"}}}
	table := []proof{{"avx512", "TestLevelsA", "Add", "c", "d", "t1"}, {"avx512", "TestLevelsB", "Add", "c", "d", "t2"}}
	line := func(action, test, output string) string {
		return fmt.Sprintf(`{"Action":%q,"Package":"k","Test":%q,"Output":%q}`+"\n", action, test, output)
	}
	ran := line("output", "TestLevelsRan", "levels compared: [generic avx2 avx512] (detected avx512)\n") + line("pass", "TestLevelsRan", "")
	other := line("output", "TestLevelsRan", "levels compared: [generic avx2] (detected avx2)\n") + line("pass", "TestLevelsRan", "")
	a, b := line("pass", "TestLevelsA", ""), line("pass", "TestLevelsB", "")
	for _, c := range []struct {
		name string
		logs []string
		want bool
	}{
		{"both", []string{ran + a + b}, true},
		{"in two logs", []string{ran + a, ran + b}, true},
		{"one", []string{ran + a}, false},
		{"another level", []string{other + a + b}, false},
		{"no level", []string{a + b}, false},
		{"levels that failed", []string{strings.Replace(ran, "pass", "fail", 1) + a + b}, false},
		{"a test that failed", []string{ran + a + line("fail", "TestLevelsB", "")}, false},
		{"a part that skipped", []string{ran + a + line("skip", "TestLevelsB/f32", "") + b}, false},
		{"nothing", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := &store{filepath.Join(dir, "candor", "proofs"), map[string]bool{}}
			var names []string
			for i, log := range c.logs {
				name := filepath.Join(dir, fmt.Sprint("log", i))
				if err := os.WriteFile(name, []byte(log), 0o666); err != nil {
					t.Fatal(err)
				}
				names = append(names, name)
			}
			if err := s.remember(table, names); err != nil {
				t.Fatal(err)
			}
			if got := s.proves(k); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
			k2 := k
			k2.code = "c2"
			if s.proves(k2) {
				t.Error("a pass proves code that did not run")
			}
		})
	}
}
