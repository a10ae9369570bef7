package predictions

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/internal/decimal"
)

const (
	openQuote    = "a quote is opened and not closed"
	quotesRemedy = `a cell with quotes is written as "say ""yes"""`
)

// block is a run of whole lines of a table, and the rows in it. It is in the free list, being parsed, or in use by a chunk.
type block struct {
	file     int
	text     []byte // with decimal.Pad spare bytes after it
	line     int64  // number of its first line
	newlines int
	last     bool   // of its file
	open     bool   // its last line has no line end
	failed   *Error // why nothing after its text could be read
	ready    chan struct{}
	fell     any // value of a panic in parse

	rows              int
	values            []float64
	observed, weights []float64
	labels, decisions []int32
	scores            []float64 // confidence scores
	groups            []int32   // numbers of keys in the block, until renumber
	keys              []string
	clusters          []int32
	numbers           [][2]int32 // of the groups and clusters of the keys, over all blocks
	index             map[string]int32
	key, before       []byte // of the current row and of the previous one
	scratch           []byte
	kept              []Cells // of the kept columns, as texts
	jumps             []jump  // by rows of the block
	blank             int64   // line of the first empty line; 0 if there is none
	err               *Error  // of the row after the last
}

func (b *block) reset(file int) {
	b.file, b.text, b.failed, b.rows, b.blank, b.err = file, b.text[:0], nil, 0, 0, nil
	b.keys, b.numbers, b.jumps, b.before = b.keys[:0], b.numbers[:0], b.jumps[:0], b.before[:0]
	clear(b.index)
	for i := range b.kept {
		k := &b.kept[i]
		k.Bytes, k.Ends, k.Missing = k.Bytes[:0], k.Ends[:0], k.Missing[:0]
	}
}

// chunk returns the rows of the block as a chunk.
func (b *block) chunk(l *layout, first int64, k metrics.Kind, free chan<- *block) *metrics.Chunk {
	c := &metrics.Chunk{First: first, Recycle: recycler(b, func(b *block) { free <- b })}
	c.Rows, c.Classes, c.Kind, c.F64 = b.rows, l.classes, k, head(b.values, b.rows*l.classes)
	if l.observed {
		c.Observed = head(b.observed, b.rows)
	}
	if l.weighted {
		c.Weights = head(b.weights, b.rows)
	}
	if l.labels != nil {
		c.Labels = head(b.labels, b.rows)
	}
	if l.decided {
		c.Decisions = head(b.decisions, b.rows)
	}
	if l.scored {
		c.ConfidenceScores = head(b.scores, b.rows)
	}
	if l.percent {
		hundredths(c)
	}
	switch {
	case !l.pairs:
	case l.unlabelled:
		c.Scores.OfEvent(k, l.event)
		if k != metrics.Probs {
			c.Kind = metrics.Logits
		}
	default:
		c.OfEvent(l.event)
	}
	if l.grouped > 0 {
		c.Groups = head(b.groups, b.rows)
	}
	if l.clustered {
		c.Clusters = head(b.clusters, b.rows)
	}
	return c
}

// sized returns s with room for n values.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// parse reads the rows of the block.
func (l *layout) parse(b *block) {
	n := len(b.text)
	if n == 0 {
		return
	}
	t := b.text[: n+decimal.Pad : n+decimal.Pad]
	b.values = sized(b.values, b.newlines*l.classes)
	if l.observed {
		b.observed = sized(b.observed, b.newlines)
	}
	if l.weighted {
		b.weights = sized(b.weights, b.newlines)
	}
	if l.labels != nil {
		b.labels = sized(b.labels, b.newlines)
	}
	if l.decided {
		b.decisions = sized(b.decisions, b.newlines)
	}
	if l.scored {
		b.scores = sized(b.scores, b.newlines)
	}
	if l.clustered {
		b.clusters = sized(b.clusters, b.newlines)
	}
	if l.keyed() {
		b.groups = sized(b.groups, b.newlines)
		if b.index == nil {
			b.index = map[string]int32{}
		}
	}
	if b.kept == nil {
		b.kept = make([]Cells, l.kept)
	}
	quoted := bytes.IndexByte(b.text, '"') >= 0
	for p := 0; p < n; {
		if t[p] == '\n' || t[p] == '\r' && t[p+1] == '\n' {
			b.blank = b.lineAt(p)
			if len(bytes.Trim(b.text[p:], "\r\n")) > 0 {
				b.err = emptyLine(b.blank)
			}
			return
		}
		end, ok := l.row(b, t, p)
		if !ok {
			b.err = l.explain(b, p)
			return
		}
		if l.keyed() && !b.group(l.clustered) {
			return
		}
		if quoted {
			if lines := bytes.Count(t[p:end], []byte{'\n'}); lines > 0 {
				b.jumps = append(b.jumps, jump{int64(b.rows), int64(lines)})
			}
		}
		b.rows++
		p = end + 1
	}
}

// row reads the row at t[p] and returns the position of its line end. ok is false if the row is invalid. t is the block's text with
// its spare bytes.
func (l *layout) row(b *block, t []byte, p int) (end int, ok bool) {
	text, separator := t[:len(t)-decimal.Pad], l.separator
	wide := 0x0101010101010101 * uint64(separator)
	values := b.values[b.rows*l.classes:][:l.classes]
	b.key = b.key[:0]
	for i := range l.steps {
		s := &l.steps[i]
		for range s.skip {
			if p = skipCell(t, p, wide, separator); p < 0 || t[p] != separator {
				return 0, false
			}
			p++
		}
		v, end, ok := 0.0, 0, false
		if s.group < 0 && s.kept < 0 && !s.named() && s.slot != listSlot && !l.comma {
			v, end, ok = decimal.Parse(t, p)
			if ok && t[end] == '\r' && t[end+1] == '\n' {
				end++
			}
			ok = ok && (t[end] == separator || t[end] == '\n')
		}
		if !ok {
			var c []byte
			var why string
			if c, end, why = readCell(text, p, separator, &b.scratch); why != "" {
				return 0, false
			}
			if s.group >= 0 {
				g := c
				if l.groupValue != nil && s.group < l.grouped {
					g = l.groupValue(s.group, c)
				}
				b.key = appendKey(b.key, g)
			}
			if s.kept >= 0 {
				b.kept[s.kept].addText(l.plain(c))
			}
			switch {
			case s.named():
				class, err := l.labels.Class(c)
				if err != nil {
					return 0, false
				}
				if s.slot == labelSlot {
					b.labels[b.rows] = class
				} else {
					b.decisions[b.rows] = class
				}
			case s.slot == listSlot:
				if n, ok := listNumbers(values, c); !ok || n != l.classes {
					return 0, false
				}
			case s.slot >= 0:
				if v, ok = l.number(c); !ok && s.truth {
					v, ok = truthNumber(c)
				}
				if !ok {
					return 0, false
				}
			}
		}
		switch {
		case s.slot < 0:
		case s.slot < observedSlot:
			values[s.slot] = v
		case s.slot == observedSlot:
			b.observed[b.rows] = v
		case s.slot == weightSlot:
			b.weights[b.rows] = v
		case s.slot == scoreSlot:
			b.scores[b.rows] = v
		}
		p = end
		if i+1 < len(l.steps) {
			if t[p] != separator {
				return 0, false
			}
			p++
		}
	}
	for range l.behind {
		if t[p] != separator {
			return 0, false
		}
		if p = skipCell(t, p+1, wide, separator); p < 0 {
			return 0, false
		}
	}
	return p, t[p] == '\n'
}

// group numbers the row's key. It returns false, and ends the block there, if there are more than there may be groups: each key is one, unless
// it has a cluster.
func (b *block) group(clustered bool) bool {
	if b.rows > 0 && bytes.Equal(b.key, b.before) {
		b.groups[b.rows] = b.groups[b.rows-1]
		return true
	}
	b.key, b.before = b.before, b.key
	g, met := b.index[string(b.before)]
	if !met {
		key := string(b.before)
		g = int32(len(b.keys))
		b.index[key], b.keys = g, append(b.keys, key)
	}
	b.groups[b.rows] = g
	if !clustered && len(b.keys) > maxGroups {
		b.rows++
		return false
	}
	return true
}

// lineAt returns the number of the line at a position in the text.
func (b *block) lineAt(p int) int64 { return b.line + int64(bytes.Count(b.text[:p], []byte{'\n'})) }

// explain returns the Error of the invalid row at a position.
func (l *layout) explain(b *block, start int) *Error {
	n := len(b.text)
	at := func(p int, e *Error) *Error { return e.on(b.lineAt(p)) }
	count := 0
	for p := start; ; {
		_, end, why := readCell(b.text, p, l.separator, &b.scratch)
		if why != "" {
			return at(p, fault(quotesRemedy, "%s", why))
		}
		count++
		p = end + 1
		if b.text[end] == '\n' || p >= n {
			break
		}
	}
	if want := len(l.names); count != want {
		return at(start, fault("put cells that contain a "+separatorName(l.separator)+" in quotes, and leave cells without a value empty",
			"it has %d %s, and the header has %d", count, plural("cell", count), want))
	}
	p, column := start, 0
	for _, s := range l.steps {
		for range s.skip {
			_, end, _ := readCell(b.text, p, l.separator, &b.scratch)
			p, column = end+1, column+1
		}
		c, end, _ := readCell(b.text, p, l.separator, &b.scratch)
		if s.named() {
			if _, err := l.labels.Class(c); err != nil {
				return at(p, badLabel(l.names[column], c, err))
			}
		} else if s.slot == listSlot {
			if n, ok := listNumbers(make([]float64, l.classes), c); !ok || n != l.classes {
				return at(p, badList(l.names[column], c, n, ok, l.classes))
			}
		} else if _, ok := l.number(c); s.slot >= 0 && !ok {
			if !s.truth {
				return at(p, badCell(l.names[column], c))
			}
			if _, ok = truthNumber(c); !ok {
				return at(p, badTruth(l.names[column], c))
			}
		}
		p, column = end+1, column+1
	}
	return at(start, fault("end lines in LF or CRLF", "it cannot be read"))
}

// badCell returns the Error of a cell that is not a number.
func badCell(name string, c []byte) (e *Error) {
	defer func() { e.Name, e.Value = name, string(bytes.Trim(c, " \t")) }()
	remedy := "write a decimal number, as in 0.25 or 1e-3; a missing one is an empty cell"
	s := string(bytes.Trim(c, " \t"))
	if _, err := strconv.ParseFloat(s, 64); err != nil && isRange(err) {
		return fault("write one that is below 1.8e308", "column %q: %q is beyond the range of float64", cut(name), cut(s))
	}
	if v, ok := cellNumber(bytes.ReplaceAll([]byte(s), []byte(","), []byte("."))); ok && v == v && bytes.Count(c, []byte(",")) == 1 {
		remedy = "write decimal points, and no commas"
	}
	return fault(remedy, "column %q: %q is not a number", cut(name), cut(s))
}

// badTruth returns the Error of a cell that is neither a number nor a truth value.
func badTruth(name string, c []byte) *Error {
	s := string(bytes.Trim(c, " \t"))
	e := fault("write 1 or true where the event happened, and 0 or false where the row is censored", "column %q: %q is neither a number nor true or false", cut(name), cut(s))
	e.Name, e.Value = name, s
	return e
}

func isRange(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}

func plural(word string, n int) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// skipCell returns the position of the separator or line end after the cell at p; wide is eight separators. It returns -1 if the cell
// contains misplaced quotes.
func skipCell(t []byte, p int, wide uint64, separator byte) int {
	const low, high, newlines, quotes = 0x0101010101010101, 0x8080808080808080, 0x0A0A0A0A0A0A0A0A, 0x2222222222222222
	start := p
	for {
		v := binary.LittleEndian.Uint64(t[p:])
		a, b, c := v^wide, v^newlines, v^quotes
		// The high bit of each byte that is 0, and perhaps of some above the lowest of these.
		if m := ((a-low)&^a | (b-low)&^b | (c-low)&^c) & high; m != 0 {
			p += bits.TrailingZeros64(m) / 8
			break
		}
		p += 8
	}
	if t[p] != '"' {
		return p
	}
	if p > start {
		return -1
	}
	_, end, why := readCell(t[:len(t)-decimal.Pad], p, separator, nil)
	if why != "" {
		return -1
	}
	return end
}

// readCell returns the text of the cell at p, and the position of the separator or line end after it. why says what is wrong with the
// cell. scratch, if not nil, is used for text with doubled quotes.
func readCell(t []byte, p int, separator byte, scratch *[]byte) (c []byte, end int, why string) {
	if t[p] != '"' {
		for end = p; t[end] != separator && t[end] != '\n'; end++ {
			if t[end] == '"' {
				return nil, end, "a quote within a cell that does not begin with one"
			}
		}
		c = t[p:end]
		if t[end] == '\n' {
			c = bytes.TrimSuffix(c, []byte{'\r'})
		}
		return c, end, ""
	}
	var own []byte
	doubled := false
	for end = p + 1; ; {
		i := bytes.IndexByte(t[end:], '"')
		if i < 0 {
			return nil, end, openQuote
		}
		part := t[end : end+i]
		end += i + 1
		again := end < len(t) && t[end] == '"'
		if again && !doubled {
			doubled = true
			if scratch != nil {
				own = (*scratch)[:0]
			}
		}
		if doubled {
			own = append(own, part...)
		} else {
			c = part
		}
		if !again {
			break
		}
		own = append(own, '"')
		end++
	}
	if doubled {
		c = own
		if scratch != nil {
			*scratch = own
		}
	}
	if end+1 < len(t) && t[end] == '\r' && t[end+1] == '\n' {
		end++
	}
	if end >= len(t) || t[end] != separator && t[end] != '\n' {
		return nil, end, "text behind the quote that ends a cell"
	}
	return c, end, ""
}

// number returns the number in a cell; NaN if it is missing.
func (l *layout) number(c []byte) (float64, bool) {
	if l.comma && bytes.IndexByte(c, ',') >= 0 {
		c = bytes.ReplaceAll(c, []byte{','}, []byte{'.'})
	}
	return cellNumber(c)
}

// truthNumber returns 1 for true and 0 for false, in letters of any case.
func truthNumber(c []byte) (float64, bool) {
	switch c = bytes.Trim(c, " \t"); {
	case bytes.EqualFold(c, []byte("true")):
		return 1, true
	case bytes.EqualFold(c, []byte("false")):
		return 0, true
	}
	return 0, false
}

// cellNumber returns the number in a cell; NaN if it is missing.
func cellNumber(c []byte) (float64, bool) {
	c = bytes.Trim(c, " \t")
	if len(c) == 0 {
		return nan, true
	}
	var short [64]byte
	t := append(append(short[:0], c...), make([]byte, decimal.Pad)...)
	if v, end, ok := decimal.Parse(t, 0); ok && end == len(c) {
		return v, true
	}
	switch c[len(c)-1] | 0x20 {
	case 'a', 'l':
		if bytes.EqualFold(c, []byte("na")) || bytes.EqualFold(c, []byte("null")) {
			return nan, true
		}
	case 'n', 'f', 'y':
		if v, err := strconv.ParseFloat(string(c), 64); err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			return v, true
		}
	}
	return 0, false
}
