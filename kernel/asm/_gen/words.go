package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// words are macros for the instructions for which Go's assembler has no name, by theirs: GNU's, with the lanes of the destination as Go writes
// them. Their parameters are the numbers of the registers, the destination last, as Go has it. They stand in one header.
type words map[string]string

const wordsHeader = "words_arm64.h"

var (
	wordText     = regexp.MustCompile(`(?m)^\tWORD \$0x([0-9a-f]{8}) // ((\w+) .*)$`)
	wordRegister = regexp.MustCompile(`v(\d+)\.(\w+)`)
	wordNumber   = regexp.MustCompile(`, #(\d+)$`)
)

// take returns a file with the macros in place of the words, and with the header.
func (w words) take(text string) string {
	if !wordText.MatchString(text) {
		return text
	}
	text = wordText.ReplaceAllStringFunc(text, func(line string) string {
		m := wordText.FindStringSubmatch(line)
		bits, err := strconv.ParseUint(m[1], 16, 32)
		if err != nil {
			panic(err)
		}
		regs := wordRegister.FindAllStringSubmatch(m[2], -1)
		lanes := strings.ToUpper(regs[0][2])
		digits := strings.TrimRight(lanes, "BHSD")
		name := strings.ToUpper(m[3]) + "_" + strings.TrimPrefix(lanes, digits) + digits
		if n := wordNumber.FindStringSubmatch(m[2]); n != nil {
			name += "_" + n[1]
		}
		var params, args []string
		form := ""
		for k, r := range regs {
			p := []string{"d", "n", "m"}[k]
			params, args = slices.Insert(params, 0, p), slices.Insert(args, 0, r[1])
			bits &^= 31 << []int{0, 5, 16}[k]
		}
		for _, p := range params {
			form += " | " + map[string]string{"d": "d", "n": "n<<5", "m": "m<<16"}[p]
		}
		k := -1
		comment := wordRegister.ReplaceAllStringFunc(m[2], func(r string) string {
			k++
			_, lanes, _ := strings.Cut(r, ".")
			return fmt.Sprintf("v{%s}.%s", []string{"d", "n", "m"}[k], lanes)
		})
		def := fmt.Sprintf("#define %s(%s) WORD $(0x%08x%s) /* %s */\n", name, strings.Join(params, ", "), bits, form, comment)
		if other, ok := w[name]; ok && other != def {
			panic("two words are called " + name)
		}
		w[name] = def
		return "\t" + name + "(" + strings.Join(args, ", ") + ")"
	})
	return strings.Replace(text, "#include \"textflag.h\"\n", "#include \"textflag.h\"\n#include \""+wordsHeader+"\"\n", 1)
}

// header returns the header.
func (w words) header() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n// The vector instructions for which Go's assembler has no name.\n\n", generated)
	for _, name := range slices.Sorted(maps.Keys(w)) {
		b.WriteString(w[name])
	}
	return b.String()
}
