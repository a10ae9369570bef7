// Package columns is what readers of tables and what makes chunks of them agree on: a file has columns with names and types, and parts
// that are read independently, each as blocks of rows. A reader of a format knows nothing of scores and labels; it returns the columns
// that it is asked for, with the values and types of the file.
package columns

import (
	"fmt"
	"io"
)

// Kind says what the cells of a column hold.
type Kind uint8

// The kinds of columns. Integers of all widths are Int64, and times of the day and durations are Other.
const (
	Float64 Kind = iota
	Float32
	Float16 // IEEE binary16, as uint16
	Int64
	Bool
	Text
	Time   // a date or a timestamp: Type.Unit counts from 1970 as Int64
	List   // of Type.Elem
	Struct // of Type.Fields
	Map    // of Text to Type.Elem
	Other  // a type that no role reads
)

func (k Kind) String() string {
	return [...]string{"float64", "float32", "float16", "int64", "bool", "text", "time", "list", "struct", "map", "other"}[min(k, Other)]
}

// Type is the type of a column or of what is nested in it.
type Type struct {
	Kind   Kind
	Name   string   // what the file calls it, for messages: "decimal(3, 2)", "dictionary<string>"
	Width  int      // of a List: the number of elements of each cell; 0 if the schema does not say
	Elem   *Type    // of a List or a Map
	Fields []Column // of a Struct, in the file's order
	Unit   Unit     // of a Time
	UTC    bool     // a Time is an instant, which is told in UTC; otherwise it has no time zone
}

// Column is a column of a file, or a field of a Struct.
type Column struct {
	Name string
	Type
}

// File is an open file of columns. Its methods may be called by one goroutine at a time.
type File interface {
	// Columns returns the columns in the file's order. A reader of a format without a schema, as JSON lines, returns those of its first
	// rows.
	Columns() []Column
	// Rows returns the number of rows, or -1 if only reading tells it.
	Rows() int64
	// Next returns the next part of the file, or io.EOF. Parts follow one another in the order of rows. Next itself reads little: what
	// takes time is done by Part.Next.
	Next() (Part, error)
	// Close closes the file. Parts that are not closed yet must not be used afterwards.
	Close() error
}

// Divided is a File with units that can be read by themselves: row groups, batches, rows. Its methods are called after Want.
type Divided interface {
	File
	// Units returns the number of units.
	Units() int64
	// RowsOf returns the number of rows of the units from one up to before another.
	RowsOf(from, to int64) (int64, error)
	// Only makes Next return the parts of these units alone. It is called before Next.
	Only(from, to int64)
}

// Part is a run of rows that can be read while other parts are: a row group, a batch, a run of lines. One goroutine at a time uses it.
type Part interface {
	// Next fills b with the next rows, as many as b.Most, or fewer but at least one. It returns io.EOF, and no rows, at the end.
	// Its slices are valid until the next call of Next or Close with the same part. Errors about a row, a column or a value are *Fault.
	Next(b *Block) error
	Close() error
}

// Want says what to read of a file.
type Want struct {
	// Columns are numbers of columns of File.Columns, in the order in which Block.Columns has them. No others are read.
	Columns []int
	// Bytes is about how much memory a part may hold at a time, at least 1 MiB. A part that cannot do with that is an error that says
	// how much it needs.
	Bytes int64
}

// Block is a run of rows of the wanted columns.
type Block struct {
	Most    int // rows to fill at most, set by the caller
	Rows    int
	Columns []Vector
	// Swap is set by a reader whose floats may be taken instead of copied: who takes a slice of a vector, or of its Elem, puts another in its
	// place, of any length, which the reader will use.
	Swap bool
}

// Vector has the cells of one column of a block. Which fields are set follows from its type. A reader may reuse their memory.
type Vector struct {
	Float64 []float64
	Float32 []float32
	Float16 []uint16
	Int64   []int64
	Bool    []bool

	// Text i is Bytes[Ends[i-1]:Ends[i]], from 0 for the first. If Codes is not nil, text i is the dictionary's Codes[i]-th in place of the
	// i-th.
	Bytes []byte
	Ends  []int
	Codes []int32

	// A List or Map: cell i has the elements Offsets[i] up to Offsets[i+1] of Elem; len(Offsets) is the number of cells plus 1. The keys
	// of a Map are the texts Keys.
	Offsets []int
	Elem    *Vector
	Keys    *Vector

	Fields []Vector // of a Struct

	// Null[i] says that cell i is missing; nil if none is. The values of a missing cell have no meaning.
	Null []bool
}

// Text returns the i-th text of a vector.
func (v *Vector) Text(i int) []byte {
	if v.Codes != nil {
		i = int(v.Codes[i])
	}
	from := 0
	if i > 0 {
		from = v.Ends[i-1]
	}
	return v.Bytes[from:v.Ends[i]]
}

// Fault says what is wrong with a file, and where.
type Fault struct {
	Row    int64  // of the part, from 0; -1 if it is not about one row
	Line   int64  // of the part, from 0, in formats that have lines; -1 otherwise
	Column string // its name; "" if it is not about one column
	Value  string // the bad value; "" if there is no single one
	Reason string // what is wrong
	Remedy string // what to do; "" if nothing is known
	Err    error  // the underlying error, or nil
}

func (f *Fault) Error() string {
	if f.Remedy != "" {
		return f.Reason + "; " + f.Remedy
	}
	return f.Reason
}

func (f *Fault) Unwrap() error { return f.Err }

// Wrong returns a Fault about a whole file.
func Wrong(remedy, format string, args ...any) *Fault {
	return &Fault{Row: -1, Line: -1, Reason: fmt.Sprintf(format, args...), Remedy: remedy}
}

// Source is what a reader of files that need not be read in order reads from.
type Source interface {
	io.ReaderAt
	Size() int64
}
