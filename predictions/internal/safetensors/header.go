package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// maxHeader is the largest header that the format allows.
const maxHeader = 100_000_000

// maxEmpty is the largest K of a tensor of shape (0, K) that is a column.
const maxEmpty = 1 << 20

// A dtype is a type of elements. Those of kind Other are only checked for their size.
type dtype struct {
	bits uint64
	kind columns.Kind
}

var dtypes = map[string]dtype{
	"F64": {64, columns.Float64}, "F32": {32, columns.Float32}, "F16": {16, columns.Float16}, "BF16": {16, columns.Float32},
	"I64": {64, columns.Int64}, "I32": {32, columns.Int64}, "I16": {16, columns.Int64}, "I8": {8, columns.Int64},
	"U64": {64, columns.Int64}, "U32": {32, columns.Int64}, "U16": {16, columns.Int64}, "U8": {8, columns.Int64},
	"BOOL": {8, columns.Bool},
	"C64":  {64, columns.Other}, "F8_E5M2": {8, columns.Other}, "F8_E4M3": {8, columns.Other}, "F8_E8M0": {8, columns.Other},
	"F8_E5M2FNUZ": {8, columns.Other}, "F8_E4M3FNUZ": {8, columns.Other},
	"F6_E2M3": {6, columns.Other}, "F6_E3M2": {6, columns.Other}, "F4": {4, columns.Other},
}

// A tensor is an entry of the header.
type tensor struct {
	name, dtype string
	shape       []int64
	begin, end  int64 // of its bytes, from the end of the header, and then of the file

	kind        columns.Kind // of the elements; Other if the tensor cannot be read
	rows, width int64        // width is 1 if it has one dimension
	size        int64        // bytes of an element
}

// column returns the tensor as a column: numbers, or lists of them.
func (t *tensor) column() columns.Column {
	c := columns.Column{Name: t.name, Type: columns.Type{Kind: t.kind, Name: t.dtype}}
	if t.kind == columns.Other || len(t.shape) != 1 {
		c.Type.Name = fmt.Sprintf("%s of shape (%s)", t.dtype, strings.Trim(strings.ReplaceAll(fmt.Sprint(t.shape), " ", ", "), "[]"))
	}
	if t.kind != columns.Other && len(t.shape) == 2 {
		c.Kind, c.Width, c.Elem = columns.List, int(t.width), &columns.Type{Kind: t.kind, Name: t.dtype}
	}
	return c
}

// readHeader returns the tensors of a file, in the order of the header, after all of them are known to lie in the file.
func readHeader(src columns.Source) ([]tensor, *columns.Fault) {
	size := src.Size()
	if size < 8 {
		return nil, columns.Wrong("", "the file has %d bytes; a safetensors file has at least 8", size)
	}
	var length [8]byte
	if e := readAt(src, length[:], 0); e != nil {
		return nil, e
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader {
		return nil, columns.Wrong("check that it is a safetensors file", "the file declares a header of %d bytes; the format allows %d", n, maxHeader)
	}
	if int64(n) > size-8 {
		return nil, columns.Wrong("check that it was written completely", "the file declares a header of %d bytes but has only %d after its length", n, size-8)
	}
	text := make([]byte, n)
	if e := readAt(src, text, 8); e != nil {
		return nil, e
	}
	if !utf8.Valid(text) {
		return nil, columns.Wrong("", "the header is not valid UTF-8")
	}
	p := parser{json.NewDecoder(bytes.NewReader(text))}
	p.UseNumber()
	tensors, err := p.header()
	if err != nil {
		return nil, headerFault(err)
	}
	for i := range tensors {
		if e := tensors[i].check(); e != nil {
			return nil, e
		}
	}
	if e := checkPlaces(tensors, size-8-int64(n)); e != nil {
		return nil, e
	}
	for i := range tensors {
		tensors[i].begin += 8 + int64(n)
		tensors[i].end += 8 + int64(n)
	}
	return tensors, nil
}

// headerFault makes a fault of what is wrong with the header's JSON.
func headerFault(err error) *columns.Fault {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	f := columns.Wrong("", "the header is not valid: %v", err)
	f.Err = err
	return f
}

// check holds a tensor's shape to its bytes and settles what it is read as.
func (t *tensor) check() *columns.Fault {
	wrong := func(format string, args ...any) *columns.Fault {
		f := columns.Wrong("", "tensor %q %s", t.name, fmt.Sprintf(format, args...))
		f.Column = t.name
		return f
	}
	if t.begin > t.end {
		return wrong("ends at byte %d, before its begin %d", t.end, t.begin)
	}
	t.kind, t.width = columns.Other, 1
	d, known := dtypes[t.dtype]
	if !known {
		return nil // of a newer version of the format
	}
	count := uint64(1)
	for _, n := range t.shape {
		high, low := bits.Mul64(count, uint64(n))
		if high != 0 {
			return wrong("has too many elements: its shape is %v", t.shape)
		}
		count = low
	}
	high, low := bits.Mul64(count, d.bits)
	if have := uint64(t.end - t.begin); high != 0 || low%8 != 0 || low/8 != have {
		return wrong("of type %s and shape %v does not have the size of its %d bytes", t.dtype, t.shape, have)
	}
	// Rows without elements and lists without rows take no bytes, so nothing bounds how many the header declares.
	if n := len(t.shape); n == 1 || n == 2 && t.shape[1] > 0 && (t.shape[0] > 0 || t.shape[1] <= maxEmpty) {
		t.kind, t.rows, t.size = d.kind, t.shape[0], int64(d.bits/8)
		if n == 2 {
			t.width = t.shape[1]
		}
	}
	return nil
}

// checkPlaces holds that the tensors fill the size bytes of the data without gaps and overlaps, as the format demands.
func checkPlaces(tensors []tensor, size int64) *columns.Fault {
	order := make([]*tensor, len(tensors))
	for i := range tensors {
		order[i] = &tensors[i]
	}
	slices.SortStableFunc(order, func(a, b *tensor) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end)) })
	end := int64(0)
	for _, t := range order {
		var f *columns.Fault
		switch {
		case t.end > size:
			f = columns.Wrong("check that it was written completely", "tensor %q ends at byte %d of the data, but the file has only %d", t.name, t.end, size)
		case t.begin < end:
			f = columns.Wrong("", "tensor %q begins at byte %d of the data, within another tensor", t.name, t.begin)
		case t.begin > end:
			f = columns.Wrong("", "the %d bytes of the data before tensor %q belong to no tensor", t.begin-end, t.name)
		}
		if f != nil {
			f.Column = t.name
			return f
		}
		end = t.end
	}
	if end < size {
		return columns.Wrong("", "the last %d bytes of the file belong to no tensor", size-end)
	}
	return nil
}

// A parser reads the header token by token, because encoding/json would let a later key replace an earlier one.
type parser struct{ *json.Decoder }

func (p parser) header() (tensors []tensor, err error) {
	err = p.object("the header", func(name string) error {
		if name == "__metadata__" {
			return p.object("__metadata__", func(key string) error {
				_, err := p.text("__metadata__ of " + strconv.Quote(key))
				return err
			})
		}
		t, err := p.tensor(name)
		tensors = append(tensors, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := p.Token(); err != io.EOF {
		return nil, errors.New("something follows its last brace")
	}
	return tensors, nil
}

func (p parser) tensor(name string) (tensor, error) {
	t := tensor{name: name, begin: -1}
	what := "tensor " + strconv.Quote(name)
	err := p.object(what, func(key string) (err error) {
		switch key {
		case "dtype":
			t.dtype, err = p.text("the dtype of " + what)
		case "shape":
			t.shape, err = p.numbers("the shape of " + what)
		case "data_offsets":
			var at []int64
			if at, err = p.numbers("the data_offsets of " + what); err == nil && len(at) != 2 {
				err = fmt.Errorf("the data_offsets of %s are %d numbers, not 2", what, len(at))
			}
			if err == nil {
				t.begin, t.end = at[0], at[1]
			}
		default:
			var skipped json.RawMessage
			err = p.Decode(&skipped)
		}
		return err
	})
	if err == nil && (t.dtype == "" || t.shape == nil || t.begin < 0) {
		err = fmt.Errorf("%s lacks dtype, shape or data_offsets", what)
	}
	return t, err
}

// object reads an object: member is called after each key and reads its value. A key that comes twice is an error.
func (p parser) object(what string, member func(key string) error) error {
	if t, err := p.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("%s is not an object", what)
	}
	seen := map[string]bool{}
	for p.More() {
		t, err := p.Token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return fmt.Errorf("%s has a key that is not a string", what)
		}
		if seen[key] {
			return fmt.Errorf("%s has the key %q twice", what, key)
		}
		seen[key] = true
		if err := member(key); err != nil {
			return err
		}
	}
	_, err := p.Token()
	return err
}

func (p parser) text(what string) (string, error) {
	t, err := p.Token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("%s is not a string", what)
	}
	return s, nil
}

// numbers reads an array of whole numbers from 0 to the largest int64.
func (p parser) numbers(what string) ([]int64, error) {
	if t, err := p.Token(); err != nil {
		return nil, err
	} else if t != json.Delim('[') {
		return nil, fmt.Errorf("%s is not an array", what)
	}
	numbers := []int64{}
	for p.More() {
		t, err := p.Token()
		if err != nil {
			return nil, err
		}
		number, ok := t.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%s has an element that is not a number", what)
		}
		n, err := strconv.ParseUint(number.String(), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("%s has the element %s, which is not a whole number from 0 to 2^63-1", what, number)
		}
		numbers = append(numbers, int64(n))
	}
	_, err := p.Token()
	return numbers, err
}
