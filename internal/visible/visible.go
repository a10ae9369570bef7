// Package visible writes text from elsewhere, such as names of files, arrays and columns, so that nothing in it acts: no terminal obeys
// it, no line ends in it, and every page and picture may hold it.
package visible

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with everything that is not printable escaped, as \n, \x1b and \u202e: control characters, line ends,
// direction and format marks, spaces other than the plain one, and bytes that are not UTF-8. Everything else is unchanged.
func Text(s string) string {
	i := 0
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !shown(r, n) {
			break
		}
		i += n
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if part := s[i : i+n]; shown(r, n) {
			b.WriteString(part)
		} else {
			q := strconv.Quote(part)
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

// shown reports whether a rune of n bytes is printed unchanged.
func shown(r rune, n int) bool { return unicode.IsPrint(r) && (r != utf8.RuneError || n > 1) }

// Texts applies Text to each string.
func Texts(s []string) []string {
	out := make([]string, len(s))
	for i := range s {
		out[i] = Text(s[i])
	}
	return out
}
