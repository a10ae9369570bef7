package neon

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// samples calls f with every row, several numbers of registers, and every number that the row may have as an operand.
func samples(f func(r *Row, imm int, regs []int)) {
	for i := range Table {
		r := &Table[i]
		for _, regs := range [][]int{{0, 1, 2}, {31, 30, 29}, {7, 7, 7}, {16, 0, 31}, {1, 21, 10}, {0, 0, 0}} {
			for imm := 0; imm <= 64; imm++ {
				if r.takes(imm) {
					f(r, imm, regs[:len(r.Regs)])
				}
			}
		}
	}
}

func (r *Row) takes(imm int) (ok bool) {
	if r.Imm == nil {
		return imm == 0
	}
	defer func() { ok = recover() == nil }()
	r.Imm(imm)
	return
}

// TestGNU compares every row's encoding with that of GNU's assembler.
func TestGNU(t *testing.T) {
	as, err := exec.LookPath("aarch64-linux-gnu-as")
	if err != nil {
		t.Skip("no aarch64-linux-gnu-as: the package binutils-aarch64-linux-gnu has it")
	}
	var source strings.Builder
	var want []uint32
	var text []string
	samples(func(r *Row, imm int, regs []int) {
		fmt.Fprintln(&source, r.GNU(imm, regs))
		text = append(text, r.GNU(imm, regs))
		want = append(want, r.Encode(imm, regs))
	})
	dir := t.TempDir()
	s, o, b := filepath.Join(dir, "x.s"), filepath.Join(dir, "x.o"), filepath.Join(dir, "x.bin")
	if err := os.WriteFile(s, []byte(source.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, as, "-o", o, s)
	run(t, "aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", o, b)
	code, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(code) != 4*len(want) {
		t.Fatalf("%d bytes for %d instructions", len(code), len(want))
	}
	for i, w := range want {
		if g := binary.LittleEndian.Uint32(code[4*i:]); g != w {
			t.Errorf("%s is %08x, GNU's assembler makes %08x", text[i], w, g)
		}
	}
	t.Logf("%d instructions", len(want))
}

// TestGo compares every row that has a Go mnemonic with what Go's assembler makes of it: the order of operands is right.
func TestGo(t *testing.T) {
	var source strings.Builder
	var want []uint32
	var text []string
	source.WriteString("TEXT ·f(SB), 4, $0-0\n")
	samples(func(r *Row, imm int, regs []int) {
		if r.Go == "" {
			return
		}
		fmt.Fprintf(&source, "\t%s\n", r.GoText(imm, regs))
		text = append(text, r.GoText(imm, regs))
		want = append(want, r.Encode(imm, regs))
	})
	source.WriteString("\tRET\n")
	dir := t.TempDir()
	s, o := filepath.Join(dir, "x.s"), filepath.Join(dir, "x.o")
	if err := os.WriteFile(s, []byte(source.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOARCH", "arm64")
	run(t, "go", "tool", "asm", "-p", "p", "-o", o, s)
	var got []uint32
	for line := range strings.Lines(run(t, "go", "tool", "objdump", o)) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "x.s:") {
			continue
		}
		w, err := strconv.ParseUint(f[2], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, uint32(w))
	}
	if len(got) < len(want)+1 {
		t.Fatalf("%d instructions, want %d and RET", len(got), len(want))
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("%s is %08x, Go's assembler makes %08x", text[i], w, got[i])
		}
	}
	t.Logf("%d instructions", len(want))
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}
