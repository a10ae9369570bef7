// Package asmtext reads the text of Go assembly files.
package asmtext

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// macro is a definition with parameters.
type macro struct {
	params []string
	lines  []string
}

var (
	define  = regexp.MustCompile(`^#define (\w+)\(([\w, ]*)\) (?:\\|([^\\]+))$`)
	call    = regexp.MustCompile(`^\t(\w+)\(([^()]*(?:\([^()]*\)[^()]*)*)\)$`)
	name    = regexp.MustCompile(`\{?\b[A-Za-z_]\w*\b\}?`)
	braced  = regexp.MustCompile(`^\{\w+\}$`)
	include = regexp.MustCompile(`(?m)^#include "([^"]+)"$`)
	value   = regexp.MustCompile(`\$\(([^)]*)\)`)
)

// Expand returns a file with the lines of macros in place of their calls, and without their definitions. A macro has parameters, and
// one instruction, label or call to a line; an argument may be the name of another macro. A parameter in a comment stands in braces. Of
// constant expressions it knows those of numbers, << and |, which become one number.
//
// The macros of headers are known too; nothing else of these is returned.
//
// It returns an error for a macro that is defined twice, that calls itself, or that is called with another number of arguments.
func Expand(text string, headers ...string) (string, error) {
	macros := map[string]macro{}
	for _, h := range headers {
		if err := read(io.Discard, macros, h); err != nil {
			return "", err
		}
	}
	var out strings.Builder
	if err := read(&out, macros, text); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// ExpandFile is Expand of a file and the headers that it includes from its folder.
func ExpandFile(name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	var headers []string
	for _, m := range include.FindAllStringSubmatch(string(text), -1) {
		h, err := os.ReadFile(filepath.Join(filepath.Dir(name), m[1]))
		if errors.Is(err, fs.ErrNotExist) {
			continue // of Go's
		}
		if err != nil {
			return "", err
		}
		headers = append(headers, string(h))
	}
	expanded, err := Expand(string(text), headers...)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return expanded, nil
}

// read adds the macros of a text, and writes the rest.
func read(out io.Writer, macros map[string]macro, text string) error {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "#define ") {
			if err := expand(out, macros, lines[i], 0); err != nil {
				return fmt.Errorf("line %d: %w", i+1, err)
			}
			continue
		}
		d := define.FindStringSubmatch(lines[i])
		if d == nil {
			return fmt.Errorf("line %d: %s is not the first line of a macro with parameters", i+1, lines[i])
		}
		if _, twice := macros[d[1]]; twice {
			return fmt.Errorf("line %d: two macros are called %s", i+1, d[1])
		}
		var m macro
		if d[2] != "" {
			m.params = strings.Split(d[2], ", ")
		}
		if d[3] != "" {
			m.lines = []string{"\t" + d[3]}
		}
		for d[3] == "" {
			i++
			if i == len(lines) {
				return fmt.Errorf("%s does not end", d[1])
			}
			line, more := strings.CutSuffix(lines[i], ` \`)
			m.lines = append(m.lines, line)
			if !more {
				break
			}
		}
		macros[d[1]] = m
	}
	return nil
}

// expand writes a line, or what it calls.
func expand(out io.Writer, macros map[string]macro, line string, depth int) error {
	c := call.FindStringSubmatch(line)
	if c == nil {
		_, err := io.WriteString(out, line+"\n")
		return err
	}
	m, ok := macros[c[1]]
	if !ok {
		return fmt.Errorf("no macro is called %s", c[1])
	}
	if depth > 8 {
		return fmt.Errorf("%s calls itself", c[1])
	}
	var args []string
	if c[2] != "" {
		args = strings.Split(c[2], ", ")
	}
	if len(args) != len(m.params) {
		return fmt.Errorf("%s takes %d arguments, not %d", c[1], len(m.params), len(args))
	}
	for _, body := range m.lines {
		body = name.ReplaceAllStringFunc(body, func(word string) string {
			if k := slices.Index(m.params, strings.Trim(word, "{}")); k >= 0 && (braced.MatchString(word) || !strings.ContainsAny(word, "{}")) {
				return args[k]
			}
			return word
		})
		body, err := evaluate(body)
		if err != nil {
			return err
		}
		if code, comment, ok := strings.Cut(body, " /* "); ok {
			body = code + " // " + strings.TrimSuffix(comment, " */")
		}
		if err := expand(out, macros, body, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// evaluate computes the constant expressions of a line.
func evaluate(line string) (string, error) {
	var fault error
	line = value.ReplaceAllStringFunc(line, func(e string) string {
		sum := uint64(0)
		for _, term := range strings.Split(e[2:len(e)-1], "|") {
			number, shift, shifted := strings.Cut(strings.TrimSpace(term), "<<")
			n, err := strconv.ParseUint(number, 0, 32)
			by := uint64(0)
			if shifted && err == nil {
				by, err = strconv.ParseUint(shift, 0, 5)
			}
			if err != nil {
				fault = fmt.Errorf("%s is not an expression of numbers, << and |", e)
			}
			sum |= n << by
		}
		return fmt.Sprintf("$0x%08x", sum)
	})
	return line, fault
}
