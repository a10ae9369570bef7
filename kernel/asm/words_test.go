package asm

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/asmtext"
)

// This decoder is for the instructions that stand as words, and no others. It knows nothing of the generator's table: it
// goes from the bits to the text by the classes of the architecture's manual, the table goes from the text to the bits.

// opcode is what tells an instruction from others of its class: the bits U, size (a 1 in its high bit for a float that
// has it set; its low bit is then the float's size) and opcode.
type opcode struct {
	u, size, op uint32
}

// anySize is the size of instructions whose size is that of their lanes.
const anySize = 4

// threeSame are 0 Q U 01110 size 1 Rm opcode 1 Rn Rd. Of floats only the high bit of size belongs to the opcode.
var (
	threeSameFloats = map[opcode]string{
		{0, 0, 0b11010}: "fadd", {0, 1, 0b11010}: "fsub", {1, 0, 0b11011}: "fmul", {1, 0, 0b11111}: "fdiv",
		{0, 0, 0b11110}: "fmax", {0, 1, 0b11110}: "fmin", {0, 0, 0b11100}: "fcmeq", {1, 0, 0b11100}: "fcmge",
		{1, 1, 0b11100}: "fcmgt",
	}
	threeSame = map[opcode]string{
		{0, anySize, 0b00110}: "cmgt", {1, anySize, 0b00110}: "cmhi", {0, anySize, 0b00111}: "cmge", {0, anySize, 0b10011}: "mul",
		{1, anySize, 0b10100}: "umaxp", {0, anySize, 0b01100}: "smax", {0, anySize, 0b01101}: "smin", {0, 1, 0b00011}: "bic",
	}
)

// twoMisc are 0 Q U 01110 size 10000 opcode 10 Rn Rd.
var (
	twoMiscFloats = map[opcode]string{
		{0, 1, 0b11000}: "frintp", {0, 0, 0b11001}: "frintm", {0, 0, 0b11101}: "scvtf", {0, 0, 0b10111}: "fcvtl",
		{0, 0, 0b10110}: "fcvtn",
	}
	twoMisc = map[opcode]string{
		{1, 0, 0b00101}: "mvn", {1, anySize, 0b10011}: "shll", {0, anySize, 0b10100}: "sqxtn", {1, anySize, 0b00010}: "uaddlp",
	}
)

// arrangements has the names of registers by size and Q.
var arrangements = [4][2]string{{"8b", "16b"}, {"4h", "8h"}, {"2s", "4s"}, {"", "2d"}}

// decode returns the text of an instruction, or "" if it is another one.
func decode(w uint32) string {
	field := func(at, bits int) uint32 { return w >> at & (1<<bits - 1) }
	d, n, m := field(0, 5), field(5, 5), field(16, 5)
	q, u, size := field(30, 1), field(29, 1), field(22, 2)
	same := arrangements[size][q]
	switch {
	case w&0x9f200400 == 0x0e200400:
		op := field(11, 5)
		name := threeSameFloats[opcode{u, size >> 1, op}]
		if name != "" {
			same = arrangements[2+size&1][q]
		} else if name = threeSame[opcode{u, anySize, op}]; name == "" {
			if name = threeSame[opcode{u, size, op}]; name != "" {
				same = arrangements[0][q] // without lanes
			}
		}
		if name == "" || same == "" {
			return ""
		}
		return fmt.Sprintf("%s v%d.%s, v%d.%s, v%d.%s", name, d, same, n, same, m, same)

	case w&0x9f3e0c00 == 0x0e200800:
		op := field(12, 5)
		if name := twoMiscFloats[opcode{u, size >> 1, op}]; name != "" {
			switch low := size & 1; name {
			case "fcvtl": // from lanes of half the size, in the upper half of the register if Q is set
				return fmt.Sprintf("%s%s v%d.%s, v%d.%s", name, upper(q), d, arrangements[2+low][1], n, arrangements[1+low][q])
			case "fcvtn":
				return fmt.Sprintf("%s%s v%d.%s, v%d.%s", name, upper(q), d, arrangements[1+low][q], n, arrangements[2+low][1])
			default:
				if same = arrangements[2+low][q]; same == "" {
					return ""
				}
				return fmt.Sprintf("%s v%d.%s, v%d.%s", name, d, same, n, same)
			}
		}
		if name := twoMisc[opcode{u, size, op}]; name != "" {
			return fmt.Sprintf("%s v%d.%s, v%d.%s", name, d, same, n, same)
		}
		if name := twoMisc[opcode{u, anySize, op}]; name != "" && size < 3 {
			switch name {
			case "sqxtn":
				return fmt.Sprintf("%s%s v%d.%s, v%d.%s", name, upper(q), d, same, n, arrangements[size+1][1])
			case "uaddlp":
				return fmt.Sprintf("%s v%d.%s, v%d.%s", name, d, arrangements[size+1][q], n, same)
			}
			return fmt.Sprintf("%s%s v%d.%s, v%d.%s, #%d", name, upper(q), d, arrangements[size+1][1], n, same, 8<<size)
		}

	case w&0x9f800400 == 0x0f000400 && field(19, 4) != 0:
		// The highest bit that is set in immh is the size of the lanes, the rest and immb are the number.
		imm, log := int(field(16, 7)), uint32(0)
		for 16<<log <= imm {
			log++
		}
		bits := 8 << log
		switch field(11, 5) | u<<5 {
		case 0b00000:
			if same = arrangements[log][q]; same != "" {
				return fmt.Sprintf("sshr v%d.%s, v%d.%s, #%d", d, same, n, same, 2*bits-imm)
			}
		case 0b10100, 0b110100:
			if imm == bits && log < 3 { // without a shift it is called so
				return fmt.Sprintf("%cxtl%s v%d.%s, v%d.%s", "su"[u], upper(q), d, arrangements[log+1][1], n, arrangements[log][q])
			}
		}
	}
	return ""
}

// upper is the end of the name of an instruction that takes the upper half of a register.
func upper(q uint32) string {
	if q == 1 {
		return "2"
	}
	return ""
}

var wordLine = regexp.MustCompile(`^\tWORD \$0x([0-9a-f]{8}) // (.+)$`)

// checkWords returns how many words a file has, and what is wrong with them.
func checkWords(text string) (n int, faults []string) {
	for i, line := range strings.Split(text, "\n") {
		if !strings.Contains(line, "WORD") {
			continue
		}
		n++
		m := wordLine.FindStringSubmatch(line)
		if m == nil {
			faults = append(faults, fmt.Sprintf("line %d is not a word with a comment: %s", i+1, line))
			continue
		}
		w, err := strconv.ParseUint(m[1], 16, 32)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		if got := decode(uint32(w)); got != m[2] {
			faults = append(faults, fmt.Sprintf("line %d: %s is %q, not %q", i+1, m[1], got, m[2]))
		}
	}
	return n, faults
}

// TestWords checks every word of neon, and those of testdata/words.s, which has every instruction that becomes one.
func TestWords(t *testing.T) {
	files, err := filepath.Glob("internal/neon/*.s")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, name := range append(files, "testdata/words.s") {
		text, err := asmtext.ExpandFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n, faults := checkWords(text)
		for _, f := range faults {
			t.Errorf("%s: %s", name, f)
		}
		if n == 0 && name == "testdata/words.s" {
			t.Errorf("%s has no words", name)
		}
		if name != "testdata/words.s" {
			total += n
		}
	}
	if _, err := os.Stat("internal/neon"); err != nil || total == 0 {
		t.Error("neon has no words: are they written otherwise?")
	}
	t.Logf("%d words in %d files", total, len(files))
}

// TestWordsWrong shows that wrong words are found.
func TestWordsWrong(t *testing.T) {
	const right = "\tWORD $0x4e22d420 // fadd v0.4s, v1.4s, v2.4s"
	if n, faults := checkWords(right); n != 1 || len(faults) != 0 {
		t.Errorf("%d words, faults %q in %s", n, faults, right)
	}
	for _, c := range [][2]string{
		{"4e22d420", "4ea2d420"},                                              // fsub
		{"4e22d420", "4e22d440"},                                              // v2 + v2
		{"4e22d420", "4e62d420"},                                              // of float64
		{"4e22d420", "0e22d420"},                                              // of half a register
		{"4e22d420", "d65f03c0"},                                              // ret
		{"4e22d420", "4E22D420"},                                              // not as written
		{" // fadd v0.4s, v1.4s, v2.4s", ""},                                  // no comment
		{"fadd v0.4s, v1.4s, v2.4s", "fadd v0.4s, v2.4s, v1.4s"},              // another order
		{"\tWORD $0x4e22d420 // fadd", "\tWORD $0x4e22d420; WORD $0 // fadd"}, // a word hides
	} {
		wrong := strings.Replace(right, c[0], c[1], 1)
		if _, faults := checkWords(wrong); wrong == right || len(faults) == 0 {
			t.Errorf("no fault in %s", wrong)
		}
	}
}
