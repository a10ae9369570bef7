package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/candor-go/candor/internal/asmtext"
	"github.com/candor-go/candor/kernel/asm/_gen/neon"
)

// samples is a file with every instruction of the table that becomes a word.
const samples = "../testdata/words.s"

// word is an instruction with its comment.
type word struct {
	place, text string
	bits        uint32
}

var wordLine = regexp.MustCompile(`^\tWORD \$0x([0-9a-f]{8}) // (.+)$`)

// allWords returns the words of the kernels for arm64 and those of the samples.
func allWords(t *testing.T) []word {
	files, err := filepath.Glob("../internal/neon/*.s")
	if err != nil {
		t.Fatal(err)
	}
	var words []word
	for i, name := range append(files, samples) {
		if i == len(files) && i > 0 && len(words) == 0 {
			t.Fatal("no words in the kernels: are they written otherwise?")
		}
		text, err := asmtext.ExpandFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(text, "\n") {
			if !strings.Contains(line, "WORD") {
				continue
			}
			m := wordLine.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("%s:%d: not a word with a comment: %s", name, i+1, line)
			}
			bits, err := strconv.ParseUint(m[1], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, word{fmt.Sprintf("%s:%d", name, i+1), m[2], uint32(bits)})
		}
	}
	return words
}

// TestSamples checks that the samples are the table's.
func TestSamples(t *testing.T) {
	var b strings.Builder
	b.WriteString("// Every instruction that stands as a word, for the tests of decoders.\n\nTEXT ·samples(SB), NOSPLIT, $0-0\n")
	for i := range neon.Table {
		r := &neon.Table[i]
		if r.Go != "" {
			continue
		}
		for _, regs := range [][]int{{0, 1, 2}, {31, 30, 29}, {16, 0, 31}, {10, 21, 10}} {
			imms := []int{0}
			if r.Imm != nil {
				imms = []int{1, 7, 23, 31}
			}
			for _, imm := range imms {
				fmt.Fprintf(&b, "\t%s\n", r.WordText(imm, regs[:len(r.Regs)]))
			}
		}
	}
	b.WriteString("\tRET\n")
	if os.Getenv("CANDOR_UPDATE") != "" {
		if err := os.WriteFile(samples, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(samples)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s is not what the table makes: CANDOR_UPDATE=1 go test -run TestSamples writes it", samples)
	}
}

// TestWords compares words with what golang.org/x/arch says they are.
func TestWords(t *testing.T) {
	words := allWords(t)
	for _, w := range words {
		i, err := arm64asm.Decode(binary.LittleEndian.AppendUint32(nil, w.bits))
		if err != nil {
			t.Errorf("%s: %08x: %v", w.place, w.bits, err)
		} else if got := arm64asm.GNUSyntax(i); got != w.text {
			t.Errorf("%s: %08x is %q, not %q", w.place, w.bits, got, w.text)
		}
	}
	t.Logf("%d words", len(words))
}

// TestWordsGNU compares words with what GNU's disassembler says they are.
func TestWordsGNU(t *testing.T) {
	objdump, err := exec.LookPath("aarch64-linux-gnu-objdump")
	if err != nil {
		t.Skip("no aarch64-linux-gnu-objdump: the package binutils-aarch64-linux-gnu has it")
	}
	words := allWords(t)
	var code []byte
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w.bits)
	}
	file := filepath.Join(t.TempDir(), "code")
	if err := os.WriteFile(file, code, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(objdump, "-D", "-b", "binary", "-m", "aarch64", "-z", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		// The address, the word, and the text with a tab after the name.
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) < 3 || !strings.HasSuffix(f[0], ":") {
			continue
		}
		if n == len(words) {
			t.Fatal("objdump prints too much")
		}
		if got := strings.Join(f[2:], " "); got != words[n].text {
			t.Errorf("%s: %08x is %q, not %q", words[n].place, words[n].bits, got, words[n].text)
		}
		n++
	}
	if n != len(words) {
		t.Errorf("objdump prints %d of %d words", n, len(words))
	}
}
