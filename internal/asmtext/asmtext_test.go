package asmtext

import (
	"strings"
	"testing"
)

const file = `#include "textflag.h"

#define LOW_F32(a, b, low) \
	VMINPS b, a, low

#define LOW_F64(a, b, low) \
	VMINPD b, a, low

#define WORD_OF(n, d) \
	WORD $(0x0e217800 | n<<5 | d) /* fcvtl v{d}.4s, v{n}.4h */

#define ALL(LOW, at) \
again: \
	VMOVUPS at, Y0 \
	LOW(Y0, Y1, Y2) \
	JMP again

TEXT ·F(SB), NOSPLIT, $0-8
	MOVQ x+0(FP), AX
	ALL(LOW_F32, 32(AX))
	WORD_OF(10, 3)
	ALL(LOW_F64, (AX))
	RET
`

const expanded = `#include "textflag.h"





TEXT ·F(SB), NOSPLIT, $0-8
	MOVQ x+0(FP), AX
again:
	VMOVUPS 32(AX), Y0
	VMINPS Y1, Y0, Y2
	JMP again
	WORD $0x0e217943 // fcvtl v3.4s, v10.4h
again:
	VMOVUPS (AX), Y0
	VMINPD Y1, Y0, Y2
	JMP again
	RET
`

func TestExpand(t *testing.T) {
	got, err := Expand(file)
	if err != nil || got != expanded {
		t.Errorf("%v\n%s", err, got)
	}
	if again, err := Expand(got); err != nil || again != got {
		t.Errorf("a file without macros changes: %v\n%s", err, again)
	}
}

func TestExpandFaults(t *testing.T) {
	for want, replace := range map[string][2]string{
		"two macros are called LOW_F32":    {"LOW_F64(a, b, low)", "LOW_F32(a, b, low)"},
		"no macro is called OTHER":         {"ALL(LOW_F64", "OTHER(LOW_F64"},
		"ALL takes 2 arguments, not 1":     {"ALL(LOW_F64, (AX))", "ALL(LOW_F64)"},
		"LOW_F32 calls itself":             {"VMINPS b, a, low", "LOW_F32(b, a, low)"},
		"is not an expression of numbers":  {"WORD_OF(10, 3)", "WORD_OF(F10, 3)"},
		"is not the first line of a macro": {"#define LOW_F32(a, b, low) \\", "#define LOW_F32 \\"},
		"does not end":                     {file[strings.Index(file, "TEXT"):], "#define END(a) \\\n\tRET \\"},
		"WORD_OF takes 2 arguments, not 3": {"WORD_OF(10, 3)", "WORD_OF(10, 3, 4)"},
	} {
		text := strings.Replace(file, replace[0], replace[1], 1)
		if _, err := Expand(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", replace[1], err, want)
		}
	}
}
