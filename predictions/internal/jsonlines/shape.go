package jsonlines

import (
	"strings"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// mostFields bounds the fields of the first rows, nested ones included: a type is kept for each.
const mostFields = 300_000

// forms are the forms that values were seen in.
type forms uint8

const (
	null forms = 1 << iota
	boolean
	whole // an integer within int64
	real  // any other number
	text
	list
	dict
)

// shape is what the first rows hold in one place.
type shape struct {
	seen   forms
	times  int      // how many values were seen
	level  *level   // of objects
	fields []*shape // of objects, for each key
	elem   *shape   // of arrays
	width  int      // of arrays: the length; -1 if it differs, -2 before the first

	kind  columns.Type // by settle
	pairs bool         // by settle: an array of {label, score}
}

// survey scans the first rows.
type survey struct {
	scanner
	fields int
}

// value adds the value at p to a shape.
func (s *survey) value(h *shape, p int) int {
	h.times++
	switch c := s.t[p]; c {
	case '{':
		return s.members(h, p)
	case '[':
		h.seen |= list
		if h.elem == nil {
			h.elem, h.width = &shape{}, -2
		}
		n := 0
		p, last := s.open(p, ']')
		for p >= 0 && !last {
			n++
			if p = s.value(h.elem, p); p >= 0 {
				p, last = s.comma(p, ']')
			}
		}
		switch {
		case h.width == -2:
			h.width = n
		case h.width != n:
			h.width = -1
		}
		return p
	case '"':
		h.seen |= text
	case 't', 'f':
		h.seen |= boolean
	case 'n':
		h.seen |= null
	default:
		if end := integral(s.t, p); end > p {
			sign := 0
			if c == '-' {
				sign = 1
			}
			_, ok := inInt64(s.t[p+sign:end], sign > 0)
			if ok && s.t[end] != '.' && s.t[end]|0x20 != 'e' {
				h.seen |= whole
				return end
			}
		}
		h.seen |= real
	}
	return s.skip(p)
}

// members adds an object to a shape.
func (s *survey) members(h *shape, p int) int {
	h.seen |= dict
	if h.level == nil {
		h.level = &level{outer: s.where}
		if s.where != nil {
			h.level.name = s.where.keys.names[s.where.keys.at]
		}
	}
	keys := &h.level.keys
	keys.begin()
	outer := s.where
	s.where = h.level
	p, last := s.open(p, '}')
	for p >= 0 && !last {
		if p = s.key(keys, p, "key"); p < 0 {
			return p
		}
		if len(keys.names) > len(h.fields) {
			if s.fields++; s.fields > mostFields {
				return s.fail(p, "", "write scores as arrays", "the first rows have more than %d fields", mostFields)
			}
			h.fields = append(h.fields, &shape{})
		}
		f := h.fields[keys.at]
		if p = s.colon(p); p < 0 {
			return p
		}
		if p = s.value(f, p); p < 0 {
			return p
		}
		p, last = s.comma(p, '}')
	}
	s.where = outer
	return p
}

// settle decides the types of a shape and of what is in it.
func (h *shape) settle(inArray bool) {
	for _, f := range h.fields {
		f.settle(false)
	}
	if h.elem != nil {
		h.elem.settle(true)
	}
	set := func(k columns.Kind, name string) { h.kind = columns.Type{Kind: k, Name: name} }
	switch seen := h.seen &^ null; seen {
	case 0:
		set(columns.Other, "null")
		if inArray {
			set(columns.Float64, "number")
		}
	case boolean:
		set(columns.Bool, "boolean")
	case whole, real, whole | real:
		// An array whose first numbers are integers is mostly one of scores.
		if seen == whole && !inArray {
			set(columns.Int64, "integer")
		} else {
			set(columns.Float64, "number")
		}
	case text:
		set(columns.Text, "text")
	case list:
		if h.pairs = h.elem.isPair(); h.pairs {
			h.kind = columns.Type{Kind: columns.Map, Name: "array of {label, score}", Elem: &columns.Type{Kind: columns.Float64, Name: "number"}}
			return
		}
		h.kind = columns.Type{Kind: columns.List, Name: "array of " + plural(h.elem.kind.Name), Width: max(h.width, 0), Elem: &h.elem.kind}
	case dict:
		scores := true
		for _, f := range h.fields {
			scores = scores && f.seen&^(null|whole|real) == 0
		}
		if scores {
			h.kind = columns.Type{Kind: columns.Map, Name: "object of numbers", Elem: &columns.Type{Kind: columns.Float64, Name: "number"}}
			return
		}
		set(columns.Struct, "object")
		for i, f := range h.fields {
			h.kind.Fields = append(h.kind.Fields, columns.Column{Name: h.level.keys.names[i], Type: f.kind})
		}
	default:
		set(columns.Other, "value of several types")
	}
}

// plural returns the name of several values of a type.
func plural(name string) string {
	first, rest, _ := strings.Cut(name, " ")
	return strings.TrimSpace(first + "s " + rest)
}

// article puts an article in front of the name of a type.
func article(name string) string {
	if strings.IndexByte("aio", name[0]) >= 0 {
		return "an " + name
	}
	return "a " + name
}

// isPair reports whether all values are objects {label, score} of a text and a number.
func (h *shape) isPair() bool {
	if h.seen != dict || len(h.fields) != 2 {
		return false
	}
	for i, f := range h.fields {
		switch h.level.keys.names[i] {
		case "label":
			if f.seen != text || f.times != h.times {
				return false
			}
		case "score":
			if f.seen&^(null|whole|real) != 0 || f.times != h.times {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// find returns the shape at a path of keys and the keys, which may contain dots themselves. It prefers long keys.
func (h *shape) find(path string) (*shape, []string) {
	if h.level == nil {
		return nil, nil
	}
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		i, ok := h.level.keys.index[path[:end]]
		if !ok {
			continue
		}
		if end == len(path) {
			return h.fields[i], []string{path}
		}
		if found, rest := h.fields[i].find(path[end+1:]); found != nil {
			return found, append([]string{path[:end]}, rest...)
		}
	}
	return nil, nil
}
