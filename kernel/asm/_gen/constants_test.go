package main

import (
	"strings"
	"testing"
)

// TestConstants: two files share a definition, and one of another size has a name with it.
func TestConstants(t *testing.T) {
	const head = "#include \"textflag.h\"\n\nTEXT ·F(SB), NOSPLIT, $0-0\n\tVMOVUPS one<>+0(SB), Y0\n\tVADDPS  one<>+0(SB), Y0, Y0\n\tRET\n"
	long := "\nDATA one<>+0(SB)/8, $1\nDATA one<>+8(SB)/8, $1\nGLOBL one<>(SB), RODATA|NOPTR, $16\n"
	short := "\nDATA one<>+0(SB)/8, $1\nGLOBL one<>(SB), RODATA|NOPTR, $8\n"
	with := strings.Replace(head, "textflag.h\"\n", "textflag.h\"\n#include \"constants_amd64.h\"\n", 1)
	c := constants{}
	for _, file := range []struct{ text, want string }{
		{head + long, with}, {head + long, with},
		{head + short, strings.ReplaceAll(with, "one<>", "one_8<>")},
		{strings.ReplaceAll(head, "one", "R"), strings.ReplaceAll(head, "one", "R")}, // without constants
	} {
		if got := c.take(file.text, "amd64"); got != file.want {
			t.Errorf("%s became %s, want %s", file.text, got, file.want)
		}
	}
	if got := c.take(head+long, "arm64"); got != head+long {
		t.Errorf("a file for arm64 became %s", got)
	}
	if want := generated + "\n\n// The constants of all files.\n" + long + strings.ReplaceAll(short, "one<>", "one_8<>"); c.header() != want {
		t.Errorf("the header is %s, want %s", c.header(), want)
	}
}
