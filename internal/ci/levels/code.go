package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/asmtext"
)

// A level is a folder of assembly and its architecture.
type level struct{ name, arch string }

var levels = []level{{"avx2", "amd64"}, {"avx512", "amd64"}, {"neon", "arm64"}}

// digest hashes strings with separators, so that they cannot run into each other.
type digest struct{ hash.Hash }

func newHash() digest { return digest{sha256.New()} }

func (d digest) add(s string) { fmt.Fprintf(d, "%d:%s", len(s), s) }

func (d digest) sum() string { return hex.EncodeToString(d.Sum(nil))[:12] }

// assemble returns a hash of each function of a level. It covers the machine code, in which jumps are relative and addresses
// of constants are still 0, and the bytes of the constants in the order of reference. So renaming, comments and moves within
// the file do not change the hash.
func assemble(root string, l level) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "kernel", "asm", "internal", l.name, "*_"+l.arch+".s"))
	if err != nil {
		return nil, err
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	include := filepath.Join(strings.TrimSpace(string(goroot)), "pkg", "include")
	tmp, err := os.MkdirTemp("", "levels")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	hashes := map[string]string{}
	for _, name := range files {
		// A level's files may share their constants.
		shared, err := os.ReadFile(filepath.Join(filepath.Dir(name), "constants_"+l.arch+".h"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		text, err := asmtext.ExpandFile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		functions, err := constants(slices.Concat([]byte(text), shared))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		code, err := machineCode(name, filepath.Join(tmp, "level.o"), l.arch, include)
		if err != nil {
			return nil, err
		}
		for function, data := range functions {
			if code[function] == "" {
				return nil, fmt.Errorf("%s: no instructions of %s in the object file", name, function)
			}
			h := newHash()
			h.add(code[function])
			for _, d := range data {
				h.add(d)
			}
			hashes[function] = h.sum()
		}
	}
	if len(hashes) == 0 {
		return nil, fmt.Errorf("no assembly of level %s", l.name)
	}
	return hashes, nil
}

// machineCode assembles a file and returns the instructions of each of its functions, in hexadecimal.
func machineCode(name, object, arch, include string) (map[string]string, error) {
	asm := exec.Command("go", "tool", "asm", "-p", "level", "-I", include, "-I", filepath.Dir(name), "-o", object, name)
	asm.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch)
	if out, err := asm.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go tool asm: %w\n%s", err, out)
	}
	listing, err := exec.Command("go", "tool", "objdump", object).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool objdump: %w", err)
	}
	return instructions(listing), nil
}

// instructions parses the output of go tool objdump.
func instructions(listing []byte) map[string]string {
	code := map[string]string{}
	function := ""
	for line := range bytes.Lines(listing) {
		if text, ok := bytes.CutPrefix(line, []byte("TEXT ")); ok {
			name, _, _ := strings.Cut(string(text), "(SB)")
			function = name[strings.LastIndexByte(name, '.')+1:]
		} else if f := bytes.Fields(line); function != "" && len(f) > 2 {
			code[function] += string(f[2])
		}
	}
	return code
}

var (
	textLine = regexp.MustCompile(`^TEXT ·(\w+)\(SB\)`)
	dataLine = regexp.MustCompile(`^DATA (\w+)<>\+(\d+)\(SB\)/(\d+), (\S+)`)
	mention  = regexp.MustCompile(`\b(\w+)<>`)
)

// constants returns, for each function of an assembly file, the contents of the constants it refers to, one per operand.
func constants(src []byte) (map[string][]string, error) {
	refers := map[string][]string{}
	contents := map[string]string{}
	function := ""
	for s := bufio.NewScanner(bytes.NewReader(src)); s.Scan(); {
		line, _, _ := strings.Cut(s.Text(), "//")
		switch {
		case strings.HasPrefix(line, "TEXT "):
			m := textLine.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("cannot read %q", line)
			}
			function = m[1]
			refers[function] = nil
		case strings.HasPrefix(line, "DATA "):
			m := dataLine.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("cannot read %q", line)
			}
			contents[m[1]] += m[2] + "/" + m[3] + "=" + m[4] + " "
			function = ""
		case strings.HasPrefix(line, "GLOBL "):
			function = ""
		case function != "":
			for _, m := range mention.FindAllStringSubmatch(line, -1) {
				refers[function] = append(refers[function], m[1])
			}
		}
	}
	for _, names := range refers {
		for i, name := range names {
			c, ok := contents[name]
			if !ok {
				return nil, fmt.Errorf("no contents of %s", name)
			}
			names[i] = c
		}
	}
	return refers, nil
}
