package jsonlines

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/internal/decimal"
)

// deepest is how deep objects and arrays may nest, the row's own object included.
const deepest = 200

// scanner reads JSON. Its methods take a position and return the one after what they read, or -1 after fail.
type scanner struct {
	t     []byte         // the text, and decimal.Pad zero bytes, which are nowhere valid and so end every loop
	n     int            // length of the text
	lines bool           // a line feed ends a row; otherwise it is white space
	depth int            // of open objects and arrays
	where *level         // the object being read
	rows  int64          // read so far
	bad   *columns.Fault // why a method returned -1
}

// fail sets s.bad to what is wrong at p, and returns -1.
func (s *scanner) fail(p int, value, remedy, format string, args ...any) int {
	s.bad = &columns.Fault{
		Row: s.rows, Line: int64(bytes.Count(s.t[:min(p, s.n)], []byte{'\n'})), Column: s.column(), Value: value,
		Reason: fmt.Sprintf(format, args...), Remedy: remedy,
	}
	return -1
}

// column returns the path of the field being read.
func (s *scanner) column() string {
	var names []string
	if l := s.where; l != nil && l.keys.at >= 0 {
		names = append(names, l.keys.names[l.keys.at])
	}
	for l := s.where; l != nil && l.outer != nil; l = l.outer {
		names = append(names, l.name)
	}
	slices.Reverse(names)
	return strings.Join(names, ".")
}

// unexpected fails at a character that cannot stand where it does.
func (s *scanner) unexpected(p int, want string) int {
	const python = "this looks like Python's repr: write rows with json.dumps"
	switch c := s.t[p]; {
	case p >= s.n && !s.lines:
		return s.fail(p, "", "is the file truncated? write it again", "the text ends where %s is expected", want)
	case p >= s.n || c == '\n' && s.lines:
		return s.fail(p, "", "write each object on one line, as json.dumps without indent and jq -c do; if it is the last line, is the file truncated?",
			"the line ends where %s is expected", want)
	case c == '\'' || bytes.HasPrefix(s.t[p:], []byte("None")) || bytes.HasPrefix(s.t[p:], []byte("True")) || bytes.HasPrefix(s.t[p:], []byte("False")):
		return s.fail(p, s.sample(p), python, "%s stands where %s is expected", shown(s.sample(p)), want)
	default:
		return s.fail(p, s.sample(p), "write valid JSON", "%s stands where %s is expected", shown(s.sample(p)), want)
	}
}

// sample returns the beginning of the value at p, for messages.
func (s *scanner) sample(p int) string {
	if p >= s.n {
		return ""
	}
	b := s.t[p:s.n]
	end := -1
	switch c := b[0]; {
	case c == '"':
		end = bytes.IndexByte(b[1:], '"') + 1
	case strings.IndexByte(",:]}", c) >= 0:
		end = 0
	default:
		end = bytes.IndexAny(b[1:min(len(b), 100)], ",: ]}\t\r\n")
	}
	if end < 0 {
		end = len(b) - 1
	}
	return clean(b[:end+1])
}

// clean returns the beginning of some text, for messages.
func clean(b []byte) string {
	const most = 40
	more := ""
	if len(b) > most {
		b, more = b[:most], "…"
		for i := 0; i < utf8.UTFMax && !utf8.Valid(b); i++ {
			b = b[:len(b)-1] // perhaps part of a character
		}
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, string(b)) + more
}

// shown puts a sample in quotes, unless it has them.
func shown(sample string) string {
	if strings.HasPrefix(sample, `"`) {
		return sample
	}
	return `"` + sample + `"`
}

// space returns the position after white space.
func (s *scanner) space(p int) int {
	for {
		switch s.t[p] {
		case '\n':
			if s.lines {
				return p
			}
			fallthrough
		case ' ', '\t', '\r':
			p++
		default:
			return p
		}
	}
}

// after returns the position of the next token after a comma, a colon or an opening bracket. Mostly there is one space or none.
func (s *scanner) after(p int) int {
	if s.t[p] == ' ' {
		p++
	}
	if s.t[p] <= ' ' {
		return s.space(p)
	}
	return p
}

// row finds the next row. It returns the position of its bracket; more is false at the end of the text. In an array a comma is in front of
// each row but the first.
func (s *scanner) row(p int, first bool) (start int, more bool) {
	s.where, s.depth = nil, 0
	for p = s.space(p); s.lines && s.t[p] == '\n'; p = s.space(p + 1) {
	}
	if p == s.n {
		return p, false
	}
	if !s.lines && !first {
		if s.t[p] != ',' {
			return s.unexpected(p, "a comma between two rows"), false
		}
		p = s.space(p + 1)
	}
	if s.t[p] != '{' {
		return s.unexpected(p, "a row, which is an object in braces,"), false
	}
	return p, true
}

// ends reads the end of the line after a row.
func (s *scanner) ends(p int) int {
	if !s.lines {
		return p
	}
	if p = s.space(p); p < s.n && s.t[p] != '\n' {
		return s.unexpected(p, "the end of the line")
	}
	return p
}

// colon reads the colon after a key.
func (s *scanner) colon(p int) int {
	if s.t[p] != ':' {
		if p = s.space(p); s.t[p] != ':' {
			return s.unexpected(p, "a colon")
		}
	}
	return s.after(p + 1)
}

// comma reads what follows an element: a comma, or the closing bracket, which is the last of what is read.
func (s *scanner) comma(p int, closing byte) (end int, last bool) {
	if s.t[p] <= ' ' {
		p = s.space(p)
	}
	switch s.t[p] {
	case ',':
		return s.after(p + 1), false
	case closing:
		s.depth--
		return p + 1, true
	}
	return s.unexpected(p, fmt.Sprintf("a comma or %q", closing)), false
}

// open reads an opening bracket. last says that the closing one follows.
func (s *scanner) open(p int, closing byte) (end int, last bool) {
	if s.depth == deepest {
		return s.fail(p, "", "write flat rows", "objects and arrays are nested more than %d deep", deepest), false
	}
	s.depth++
	if p = s.after(p + 1); s.t[p] == closing {
		s.depth--
		return p + 1, true
	}
	return p, false
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// zeros marks the bytes of v that are 0 by their highest bits. The lowest mark is right; others may be wrong.
func zeros(v uint64) uint64 { return (v - ones) &^ v & highs }

// quoted reads a string, whose opening quote is before p. It returns the position of the closing one.
func (s *scanner) quoted(p int) (end int, escaped bool) {
	t := s.t
	for {
		v := binary.LittleEndian.Uint64(t[p:])
		m := zeros(v^'"'*ones) | zeros(v^'\\'*ones) | (v-' '*ones)&^v&highs
		if m == 0 {
			p += 8
			continue
		}
		p += bits.TrailingZeros64(m) / 8
		switch c := t[p]; {
		case c == '"':
			return p, escaped
		case c == '\\':
			escaped = true
			switch t[p+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				p += 2
				continue
			case 'u':
				if _, ok := hex(t[p+2:]); ok {
					p += 6
					continue
				}
			}
			length := 2
			if t[p+1] == 'u' {
				length = 6
			}
			value := clean(t[p:min(p+length, s.n)])
			return s.fail(p, value, `write a backslash as \\`, "%s is not a JSON escape", value), false
		case p >= s.n || c == '\n' && s.lines:
			return s.unexpected(p, "a closing quote"), false
		default:
			return s.fail(p, "", `escape it, as in \n or \u0001`, "a string contains the control character %q", c), false
		}
	}
}

// hex reads four hexadecimal digits. A shorter text has others or zeros.
func hex(t []byte) (v rune, ok bool) {
	for _, c := range t[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		v = v<<4 | rune(c)
	}
	return v, true
}

// unescape appends the text that a string of JSON means, which is valid but for its UTF-8. Half a surrogate pair becomes invalid UTF-8.
func unescape(dst, t []byte) []byte {
	for {
		i := bytes.IndexByte(t, '\\')
		if i < 0 {
			return append(dst, t...)
		}
		dst = append(dst, t[:i]...)
		c := t[i+1]
		t = t[i+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			v, _ := hex(t)
			t = t[4:]
			if utf16.IsSurrogate(v) {
				low := rune(-1)
				if len(t) >= 6 && t[0] == '\\' && t[1] == 'u' {
					low, _ = hex(t[2:])
				}
				pair := utf16.DecodeRune(v, low)
				if pair == utf8.RuneError {
					dst = append(dst, 0xE0|byte(v>>12), 0x80|byte(v>>6)&0x3F, 0x80|byte(v)&0x3F)
					continue
				}
				v, t = pair, t[6:]
			}
			dst = utf8.AppendRune(dst, v)
			continue
		}
		dst = append(dst, c)
	}
}

func digit(c byte) bool { return c-'0' <= 9 }

// integral reads the sign and the digits before the point of a number, and checks that a digit follows the point. It returns p if there is
// no number of JSON's.
func integral(t []byte, p int) int {
	q := p
	if t[q] == '-' {
		q++
	}
	if !digit(t[q]) {
		return p
	}
	zero := t[q] == '0'
	q++
	if zero && digit(t[q]) {
		return p
	}
	for digit(t[q]) {
		q++
	}
	if t[q] == '.' && !digit(t[q+1]) {
		return p
	}
	return q
}

// digits returns the position after digits.
func digits(t []byte, p int) int {
	for {
		v := binary.LittleEndian.Uint64(t[p:]) ^ '0'*ones
		other := (v + 0x76*ones | v) & highs // the first byte that is no digit has its highest bit set
		p += bits.TrailingZeros64(other) / 8
		if other != 0 {
			return p
		}
	}
}

// number skips a number.
func (s *scanner) number(p int) int {
	q := integral(s.t, p)
	if q == p {
		_, end := s.special(p)
		return end
	}
	if s.t[q] == '.' {
		q = digits(s.t, q+1)
	}
	if s.t[q]|0x20 == 'e' {
		from := q
		if q++; s.t[q] == '-' || s.t[q] == '+' {
			q++
		}
		if !digit(s.t[q]) {
			return s.unexpected(from, "the end of a number")
		}
		q = digits(s.t, q)
	}
	return q
}

// float reads a number.
func (s *scanner) float(p int) (float64, int) {
	if s.t[p] == '0' && s.t[p+1] == '.' {
		if v, end := decimal.Fraction(s.t, p+2); end > p+2 {
			return v, end
		}
	}
	if integral(s.t, p) == p {
		return s.special(p)
	}
	v, end, ok := decimal.Parse(s.t, p)
	if !ok {
		if s.number(p) < 0 {
			return 0, -1
		}
		return 0, s.fail(p, s.sample(p), "write one that is below 1.8e308", "%s is beyond the range of float64", s.sample(p))
	}
	return v, end
}

// special reads NaN and infinities, which Python writes although JSON has no such numbers.
func (s *scanner) special(p int) (float64, int) {
	switch t := s.t; {
	case has(t, p, "NaN"):
		return math.NaN(), p + 3
	case has(t, p, "Infinity"):
		return math.Inf(1), p + 8
	case has(t, p, "-Infinity"):
		return math.Inf(-1), p + 9
	}
	return 0, s.unexpected(p, "a number")
}

// integer reads a number that is an integer, and one with a point or an exponent if its value is.
func (s *scanner) integer(p int) (int64, int) {
	end := integral(s.t, p)
	first := p
	if s.t[p] == '-' {
		first++
	}
	if c := s.t[end]; end == p || c == '.' || c|0x20 == 'e' {
		v, end := s.float(p)
		if end < 0 {
			return 0, end
		}
		if v >= -1<<63 && v < 1<<63 && v == float64(int64(v)) {
			return int64(v), end
		}
		return 0, s.fail(p, s.sample(p), "if the column is not one of integers, write all its numbers with decimal points, as in 1.0",
			"%s is not an integer, but the first rows of the column are", s.sample(p))
	}
	if v, ok := inInt64(s.t[first:end], first > p); ok {
		return v, end
	}
	return 0, s.fail(p, s.sample(p), "write such numbers as texts, in quotes", "%s is beyond the range of int64", s.sample(p))
}

// inInt64 returns the integer of some digits.
func inInt64(t []byte, negative bool) (int64, bool) {
	if len(t) > 19 {
		return 0, false
	}
	m := uint64(0)
	for _, c := range t {
		m = m*10 + uint64(c-'0')
	}
	if negative {
		return -int64(m), m <= 1<<63
	}
	return int64(m), m < 1<<63
}

// has reports whether a word of at most decimal.Pad bytes is at p.
func has(t []byte, p int, word string) bool { return string(t[p:p+len(word)]) == word }

// word reads a word.
func (s *scanner) word(p int, word string) int {
	if !has(s.t, p, word) {
		return s.unexpected(p, "a value")
	}
	return p + len(word)
}

// skip reads a value without keeping it. It checks the syntax.
func (s *scanner) skip(p int) int {
	switch s.t[p] {
	case '"':
		if p, _ = s.quoted(p + 1); p < 0 {
			return p
		}
		return p + 1
	case '{':
		p, last := s.open(p, '}')
		for p >= 0 && !last {
			if s.t[p] != '"' {
				return s.unexpected(p, "a key in quotes")
			}
			if p, _ = s.quoted(p + 1); p < 0 {
				return p
			}
			if p = s.colon(p + 1); p < 0 {
				return p
			}
			if p = s.skip(p); p >= 0 {
				p, last = s.comma(p, '}')
			}
		}
		return p
	case '[':
		p, last := s.open(p, ']')
		for p >= 0 && !last {
			if p = s.skip(p); p >= 0 && s.t[p] == ',' {
				p = s.after(p + 1)
			} else if p >= 0 {
				p, last = s.comma(p, ']')
			}
		}
		return p
	case 't':
		return s.word(p, "true")
	case 'f':
		return s.word(p, "false")
	case 'n':
		return s.word(p, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'N', 'I':
		return s.number(p)
	}
	return s.unexpected(p, "a value")
}

// level is an object and where it is.
type level struct {
	outer *level // that it is in; nil for a row
	name  string // its key there
	keys  keys
}

// keys are the keys of an object, in the order in which they mostly come.
type keys struct {
	names []string
	raw   []string         // as the file writes them, with the closing quote
	index map[string]int32 // nil until a key is looked up
	turns []uint64         // when each came last
	turn  uint64
	at    int // the last one; -1 if none was read
	base  int // how many there were before the part
}

// begin begins another object.
func (k *keys) begin() {
	k.turn++
	k.at = -1
}

// add appends a key.
func (k *keys) add(name, raw string) {
	k.names, k.raw, k.turns = append(k.names, name), append(k.raw, raw), append(k.turns, 0)
	if k.index != nil {
		k.index[name] = int32(len(k.names) - 1)
	}
}

// copied returns the keys for a part.
func (k *keys) copied() keys {
	n := len(k.names)
	return keys{names: k.names[:n:n], raw: k.raw[:n:n], turns: make([]uint64, n), at: -1, base: n}
}

// shrink removes the keys that parts added, if there are many.
func (k *keys) shrink() bool {
	if len(k.names) <= 2*k.base+1000 {
		return false
	}
	k.names, k.raw, k.turns, k.index = k.names[:k.base], k.raw[:k.base], k.turns[:k.base], nil
	return true
}

// key reads a string that may come once in an object: a key, or a label, as what calls it. It sets k.at to its number.
func (s *scanner) key(k *keys, p int, what string) int {
	i := k.at + 1
	if s.t[p] != '"' {
		return s.unexpected(p, "a "+what+" in quotes")
	}
	p++
	if i < len(k.raw) && len(s.t)-p >= len(k.raw[i]) && string(s.t[p:p+len(k.raw[i])]) == k.raw[i] {
		p += len(k.raw[i])
	} else if i, p = s.find(k, p, what); p < 0 {
		return p
	}
	if k.turns[i] == k.turn {
		return s.fail(p, k.names[i], "write each "+what+" once", "the %s %q comes twice in one row", what, clean([]byte(k.names[i])))
	}
	k.turns[i], k.at = k.turn, i
	return p
}

// find reads a string after its opening quote, and returns its number among keys, to which it may be new.
func (s *scanner) find(k *keys, p int, what string) (int, int) {
	if k.index == nil {
		k.index = make(map[string]int32, len(k.names))
		for i, name := range k.names {
			k.index[name] = int32(i)
		}
	}
	end, escaped := s.quoted(p)
	if end < 0 {
		return 0, end
	}
	name := s.t[p:end]
	if escaped {
		name = unescape(nil, name)
	}
	i, ok := k.index[string(name)]
	if !ok {
		if !utf8.Valid(name) {
			return 0, s.invalid(p, what)
		}
		i = int32(len(k.names))
		raw := string(s.t[p : end+1])
		if plain := raw[:len(raw)-1]; escaped {
			k.add(string(name), raw)
		} else {
			k.add(plain, raw)
		}
	}
	return int(i), end + 1
}

func (s *scanner) invalid(p int, what string) int {
	return s.fail(p, s.sample(p-1), "write the file in UTF-8, as iconv -f latin1 -t utf-8 FILE does for a file in Latin-1",
		"the %s %s is not valid UTF-8", what, s.sample(p-1))
}
