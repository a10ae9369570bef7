package predictions

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/visible"
)

// An Error wraps ErrNoRows if it is about files without any rows, as a program writes for a part that is empty.
var ErrNoRows = errors.New("no rows")

// Error says what is wrong with a file, where, and what to do about it. Fields that do not apply have the values given here.
type Error struct {
	File   string // as the caller named it, with ":array" for an array of an .npz; "" if the error is not about one file
	Row    int64  // in File, from 0; -1 if the error is not about one row
	Column int    // class, from 0; -1 if the error is not about one column
	Line   int64  // of a table, from 1; 0 if the error is not about one line
	Name   string // of the column of a table; "" if the error is not about one column
	Value  string // the bad value, as text; "" if there is no single one
	Reason string // what is wrong
	Remedy string // what to do; "" if nothing is known

	err   error
	fixed bool // Row is that of the file already
}

// Error returns one line: "file: row 3, column 4: reason; remedy", or "file: line 5: reason; remedy", without the parts that do not apply.
// Unprintable characters are escaped.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		b.WriteString(": ")
	}
	if e.Row >= 0 {
		b.WriteString("row ")
		b.WriteString(strconv.FormatInt(e.Row, 10))
		if e.Column >= 0 {
			b.WriteString(", column ")
			b.WriteString(strconv.Itoa(e.Column))
		}
		b.WriteString(": ")
	}
	if e.Line > 0 {
		b.WriteString("line ")
		b.WriteString(strconv.FormatInt(e.Line, 10))
		b.WriteString(": ")
	}
	b.WriteString(e.Reason)
	if e.Remedy != "" {
		b.WriteString("; ")
		b.WriteString(e.Remedy)
	}
	return visible.Text(b.String())
}

// Unwrap returns the underlying error of the operating system or of the archive, ErrNoRows, or nil.
func (e *Error) Unwrap() error { return e.err }

// fault returns an Error about a whole file. The caller adds its name.
func fault(remedy, format string, args ...any) *Error {
	return &Error{Row: -1, Column: -1, Reason: fmt.Sprintf(format, args...), Remedy: remedy}
}

// in sets the file of an Error that has none yet.
func (e *Error) in(file string) *Error {
	if e.File == "" {
		e.File = file
	}
	return e
}

// because sets the underlying error, for errors.Is.
func (e *Error) because(err error) *Error {
	e.err = err
	return e
}

// on sets the line of a table that an Error is about.
func (e *Error) on(line int64) *Error {
	e.Line = line
	return e
}
