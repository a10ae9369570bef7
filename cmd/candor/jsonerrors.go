package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/candor-go/candor/predictions"
)

// wantsJSON reports whether the command line asks for JSON, in which case errors are JSON too. The command line need not be
// valid.
func wantsJSON(args []string) (yes bool) {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	for i, a := range args {
		flag, value, given := strings.Cut(a, "=")
		switch flag {
		case "--json":
			if !given {
				value = "true"
			}
			yes, _ = strconv.ParseBool(value)
		case "--format":
			if !given && i+1 < len(args) {
				value = args[i+1]
			}
			yes = yes || value == "json"
		}
	}
	return yes
}

// place locates a fault in the predictions. Empty fields are left out.
type place struct {
	File   string `json:"file,omitempty"`
	Row    *int64 `json:"row,omitempty"`    // from 0
	Line   int64  `json:"line,omitempty"`   // of a table, from 1
	Column any    `json:"column,omitempty"` // a number from 0, or a name
	Value  any    `json:"value,omitempty"`  // a number, or the text that stands there
	Remedy string `json:"remedy,omitempty"`
}

// placed is an error about places in the predictions, with the first of them for programs.
type placed struct {
	text  string // may have several lines, separated by nextLine
	first place
	err   error
}

func (p *placed) Error() string { return p.text }
func (p *placed) Unwrap() error { return p.err }

// placeOf returns what is known about the place of an error.
func placeOf(err error) place {
	var p *placed
	if errors.As(err, &p) {
		return p.first
	}
	var e *predictions.Error
	if !errors.As(err, &e) {
		return place{}
	}
	at := place{File: e.File, Line: e.Line, Remedy: e.Remedy}
	if e.Row >= 0 {
		at.Row = &e.Row
	}
	switch {
	case e.Name != "":
		at.Column = e.Name
	case e.Column >= 0:
		at.Column = e.Column
	}
	if e.Value != "" || e.Name != "" {
		at.Value = e.Value
	}
	return at
}

// numberOf returns v as a number in JSON, or as a name if JSON cannot represent it.
func numberOf(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%v", v)
	}
	return v
}

// writeError writes an error as a line of JSON.
func writeError(w io.Writer, f *failure) {
	type object struct {
		Kind string `json:"kind"`
		place
		Message string `json:"message"`
	}
	at := f.at
	if reflect.ValueOf(at).IsZero() {
		at = placeOf(f.err)
	}
	o := object{f.kind, at, strings.ReplaceAll(f.Error(), nextLine, "\n")}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]object{"error": o}); err != nil {
		panic(err)
	}
	// It is meant for programs, but may be written to a terminal.
	var out strings.Builder
	for _, r := range withoutQueries(b.String()) {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	io.WriteString(w, out.String())
}

// fault returns an error about a file, with advice.
func fault(file, remedy, format string, a ...any) error {
	return badData(&predictions.Error{File: file, Row: -1, Column: -1, Reason: fmt.Sprintf(format, a...), Remedy: remedy})
}
