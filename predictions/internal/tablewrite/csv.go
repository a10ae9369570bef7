package tablewrite

import (
	"bytes"
	"io"
	"math"
	"strconv"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// csvBuffer is how much text is collected before it is written.
const csvBuffer = 64 << 10

// csvWriter writes text in the format of RFC 4180, with line feeds.
type csvWriter struct {
	w         io.Writer
	columns   []columns.Column
	separator byte
	b         []byte
	started   bool
}

// CSV returns a writer of text with a header. Numbers have the fewest digits that are read as the same number; NaN and infinities are NaN,
// inf and -inf. A missing cell is empty, and an empty text is "".
func CSV(w io.Writer, l []columns.Column, separator byte) Writer {
	return &csvWriter{w: w, columns: l, separator: separator}
}

func (c *csvWriter) header() {
	c.started = true
	for i := range c.columns {
		if i > 0 {
			c.b = append(c.b, c.separator)
		}
		c.text([]byte(c.columns[i].Name))
	}
	c.b = append(c.b, '\n')
}

func (c *csvWriter) Write(rows int, cells []columns.Vector) error {
	if !c.started {
		c.header()
	}
	for i := range rows {
		start := len(c.b)
		for j := range cells {
			if j > 0 {
				c.b = append(c.b, c.separator)
			}
			v := &cells[j]
			if missing(v, i) {
				continue
			}
			switch c.columns[j].Kind {
			case columns.Float64:
				c.number(v.Float64[i], 64)
			case columns.Float32:
				c.number(float64(v.Float32[i]), 32)
			case columns.Int64:
				c.b = strconv.AppendInt(c.b, v.Int64[i], 10)
			case columns.Bool:
				c.b = strconv.AppendBool(c.b, v.Bool[i])
			default:
				c.text(v.Text(i))
			}
		}
		if len(c.b) == start { // an empty line is no row to most readers
			c.b = append(c.b, `""`...)
		}
		c.b = append(c.b, '\n')
		if len(c.b) >= csvBuffer {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// number appends a number with so many bits. Polars knows infinities only as inf and -inf, and others know these too.
func (c *csvWriter) number(v float64, bits int) {
	switch {
	case math.IsInf(v, 1):
		c.b = append(c.b, "inf"...)
	case math.IsInf(v, -1):
		c.b = append(c.b, "-inf"...)
	default:
		c.b = strconv.AppendFloat(c.b, v, 'g', -1, bits)
	}
}

// text appends a cell of text, in quotes where it needs them.
func (c *csvWriter) text(t []byte) {
	if !c.quoted(t) {
		c.b = append(c.b, t...)
		return
	}
	c.b = append(c.b, '"')
	for {
		i := bytes.IndexByte(t, '"')
		if i < 0 {
			break
		}
		c.b = append(append(c.b, t[:i+1]...), '"')
		t = t[i+1:]
	}
	c.b = append(append(c.b, t...), '"')
}

// quoted reports whether a cell needs quotes. Readers may trim spaces that are not in quotes.
func (c *csvWriter) quoted(t []byte) bool {
	if len(t) == 0 || t[0] == ' ' || t[0] == '\t' || t[len(t)-1] == ' ' || t[len(t)-1] == '\t' || bytes.HasPrefix(t, []byte("\ufeff")) {
		return true
	}
	for _, b := range t {
		if b == c.separator || b == '"' || b == '\n' || b == '\r' {
			return true
		}
	}
	return false
}

func (c *csvWriter) flush() error {
	_, err := c.w.Write(c.b)
	c.b = c.b[:0]
	return err
}

func (c *csvWriter) Close() error {
	if !c.started {
		c.header()
	}
	return c.flush()
}
