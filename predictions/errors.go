package predictions

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/visible"
)

// Error says what is wrong with a file, where, and what to do about it.
type Error struct {
	File   string // as the caller named it, with ":array" for an array of an .npz; empty if no one file is to blame
	Row    int64  // row within File, from 0; -1 if the fault is not in one row
	Column int    // class, from 0; -1 if the fault is not in one column
	Line   int64  // of a table, from 1; 0 if the fault is not in one line
	Name   string // of the column of a table; empty if the fault is not in one column
	Value  string // what stands there, if it is one value that is wrong
	Reason string // what is wrong
	Remedy string // what to do; may be empty

	err error
}

// Error returns "file: row 3, column 4: reason; remedy", or "file: line 5: reason; remedy", without the parts that are not known. It is
// one line, with escapes for what is not printable in names.
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

// Unwrap returns the error of the operating system or of the archive underneath, or nil.
func (e *Error) Unwrap() error { return e.err }

// fault returns an Error of a whole file, whose name the caller adds.
func fault(remedy, format string, args ...any) *Error {
	return &Error{Row: -1, Column: -1, Reason: fmt.Sprintf(format, args...), Remedy: remedy}
}

// in names the file of an Error that has none yet.
func (e *Error) in(file string) *Error {
	if e.File == "" {
		e.File = file
	}
	return e
}

// because keeps the error underneath for errors.Is.
func (e *Error) because(err error) *Error {
	e.err = err
	return e
}

// on says which line of a table an Error is about.
func (e *Error) on(line int64) *Error {
	e.Line = line
	return e
}
