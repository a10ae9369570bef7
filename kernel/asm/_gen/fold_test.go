package main

import (
	"fmt"
	"strings"
	"testing"
)

// written is a file of two functions and a line that differs.
func written(body func(function int) string) string {
	text := generated + "\n\n#include \"textflag.h\"\n"
	for i, name := range []string{"SumF16", "SumBF16"} {
		text += fmt.Sprintf("\n// func %s(x *uint16)\nTEXT ·%s(SB), NOSPLIT, $0-8\n%s", name, name, body(i))
	}
	return text
}

// many is so many lines, each of them another one.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\tVADDPS Y%d, Y%d, Y%d\n", i%3, 15-i%2, i)
	}
	return b.String()
}

// TestFold looks at what becomes a macro. That the macros are what was there before is checked by fold itself.
func TestFold(t *testing.T) {
	widen := []string{"\tVCVTPH2PS (AX), Y1\n", "\tVPMOVZXWD (AX), Y1\n\tVPSLLD $0x10, Y1, Y1\n"}
	for name, c := range map[string]struct {
		text     string
		has, not []string
	}{
		"functions that differ in a word": {
			written(func(i int) string { return widen[i] + many(least) + "\tRET\n" }),
			[]string{"#define SUM_BODY(WIDEN) \\\n\tWIDEN((AX), Y1) \\\n", "\tSUM_BODY(WIDEN_F16)\n", "\tSUM_BODY(WIDEN_BF16)\n"}, nil},
		"what follows a label": {
			written(func(i int) string { return strings.Repeat("\tINCQ CX\n", i) + "sum:\n" + many(least) + "\tRET\n" }),
			[]string{"#define SUMS_sum() \\\n\tVADDPS Y0, Y15, Y0 \\\n", "\nsum:\n\tSUMS_sum()\n"}, []string{"SUM_BODY"}},
		"too short": {
			written(func(i int) string { return strings.Repeat("\tINCQ CX\n", i) + "sum:\n" + many(least-2) + "\tRET\n" }),
			nil, []string{"#define"}},
		"steps of a loop": {
			written(func(i int) string {
				return strings.Repeat("\tINCQ CX\n", i) + "sum:\n\tVMOVUPS 32(AX), Y0\n" + many(20) + "\tVMOVUPS 64(AX), Y0\n" + many(20) + "\tJGT sum\ndone:\n" + strings.Repeat("\tINCQ DX\n", i) + "\tRET\n"
			}),
			[]string{"(N) \\\n\tVMOVUPS N(AX), Y0 \\\n", "(32) \\\n", "(64) \\\n"}, nil},
		"too many words": {
			written(func(i int) string {
				return strings.ReplaceAll(many(least), ", Y15,", fmt.Sprintf(", Y%d,", 15-i)) + fmt.Sprintf("\tADDQ $%d, AX\n\tADDQ $%d, BX\n\tADDQ $%d, CX\n\tADDQ $%d, DX\n\tRET\n", 10+i, 20+i, 30+i, 40+i)
			}),
			nil, []string{"SUM_BODY"}},
		"two registers sorted": {
			written(func(i int) string {
				return strings.Repeat("\tINCQ CX\n", i) + "\tVMINPS Y1, Y0, Y2\n\tVMAXPS Y1, Y0, Y0\n\tRET\n"
			}),
			[]string{"\tSORT_PS(Y0, Y1, Y2, Y0)\n"}, []string{"\tVMINPS Y1,"}},
		"not the same registers": {
			written(func(i int) string {
				return strings.Repeat("\tINCQ CX\n", i) + "\tVMINPS Y1, Y0, Y2\n\tVMAXPS Y1, Y3, Y0\n\tRET\n"
			}),
			nil, []string{"SORT_PS"}},
	} {
		got := fold(c.text, "sums", "amd64", words{})
		for _, s := range c.has {
			if !strings.Contains(got, s) {
				t.Errorf("%s: no %q in\n%s", name, s, got)
			}
		}
		for _, s := range c.not {
			if strings.Contains(got, s) {
				t.Errorf("%s: %q in\n%s", name, s, got)
			}
		}
	}
}

// TestWordMacros holds a word's macro to the word.
func TestWordMacros(t *testing.T) {
	w := words{}
	text := written(func(i int) string {
		return "\tWORD $0x4e3ad652 // fadd v18.4s, v18.4s, v26.4s\n\tWORD $0x6e205b39 // mvn v25.16b, v25.16b\n\tWORD $0x4f3f0420 // sshr v0.4s, v1.4s, #1\n\tRET\n"
	})
	got := fold(text, "sums", "arm64", w)
	for _, s := range []string{"\tFADD_S4(26, 18, 18)\n", "\tMVN_B16(25, 25)\n", "\tSSHR_S4_1(1, 0)\n", "#include \"words_arm64.h\"\n"} {
		if !strings.Contains(got, s) {
			t.Errorf("no %q in\n%s", s, got)
		}
	}
	const def = "#define FADD_S4(m, n, d) WORD $(0x4e20d400 | m<<16 | n<<5 | d) /* fadd v{d}.4s, v{n}.4s, v{m}.4s */\n"
	if !strings.Contains(w.header(), def) {
		t.Errorf("no %q in\n%s", def, w.header())
	}
}
