package parquet

import (
	"fmt"
	"strings"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// node is a column or what is nested in it.
//
// The cells of a node are those levels of a leaf below it whose repetition level is at most rep, because a higher one continues a cell, and
// whose definition level is at least base, because a lower one means that the list around has no element there. A cell is missing if its
// definition level is below def.
type node struct {
	columns.Column
	rep, base, def int
	elemDef        int     // of a List or Map: an element is there from this definition level on; its repetition level is rep+1
	children       []*node // a Struct's fields, a List's element, a Map's key and value
	leaf           *leaf   // of what has no children
	leaves         []*leaf // below, or the node's own
}

// leaf is a column that the file stores.
type leaf struct {
	number         int // among the leaves of the file
	path           string
	kind           columns.Kind
	physical       int64
	size           int // bytes of a value: of FIXED_LEN_BYTE_ARRAY, and of numbers
	maxRep, maxDef int
	base           int  // a cell exists from this definition level on
	unsigned       int  // bits of an unsigned integer, or 0
	decimal        bool // value / 10^scale
	scale          int
	nested         bool // levels are needed to put the column together
}

// sizeOf returns how many bytes a value of a type takes; 0 if that varies.
func sizeOf(physical, length int64) int {
	switch physical {
	case physicalInt32, physicalFloat:
		return 4
	case physicalInt64, physicalDouble:
		return 8
	case physicalInt96:
		return 12
	case physicalFixed:
		return int(length)
	}
	return 0
}

// tree makes nodes of a schema and numbers its leaves.
type tree struct{ leaves []*leaf }

// place is where a field stands: how many fields above are repeated, from which definition level on a cell exists, and the level above.
type place struct {
	rep, base, def int
	path           string
	nested         bool
}

// field returns the node of a field, and of all below.
func (t *tree) field(f *element, at place) *node {
	at.path = join(at.path, f.name)
	if f.repetition == repeatedField {
		// A repeated field outside of LIST and MAP is a list that is never missing.
		n := &node{rep: at.rep, base: at.base, def: at.def, elemDef: at.def + 1}
		n.list(f.name, t.content(f, at.element()))
		return n
	}
	if f.repetition == optionalField {
		at.def++
	}
	return t.content(f, at)
}

// element returns the place of the elements of a list at a place.
func (at place) element() place {
	return place{rep: at.rep + 1, base: at.def + 1, def: at.def + 1, path: at.path, nested: true}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// list makes a node the list of an element.
func (n *node) list(name string, elem *node) {
	n.Column = columns.Column{Name: name, Type: columns.Type{Kind: columns.List, Name: "list<" + elem.Type.Name + ">", Elem: &elem.Type}}
	n.children, n.leaves = []*node{elem}, elem.leaves
}

// content returns the node of a field at the place in which its own repetition is counted.
func (t *tree) content(f *element, at place) *node {
	n := &node{rep: at.rep, base: at.base, def: at.def}
	n.Column.Name = f.name
	if f.physical >= 0 {
		n.leaf = t.primitive(f, at, n)
		n.leaves = []*leaf{n.leaf}
	} else {
		if at.def > at.base {
			at.nested = true // whether the group or its field is missing is told by levels
		}
		switch {
		case len(f.children) == 1 && isList(f):
			t.listOf(n, f, at)
		case len(f.children) == 1 && isMap(f) && t.mapOf(n, f, at):
		default:
			n.Kind = columns.Struct
			var names []string
			for _, child := range f.children {
				c := t.field(child, at)
				n.children, n.leaves = append(n.children, c), append(n.leaves, c.leaves...)
				n.Fields = append(n.Fields, c.Column)
				names = append(names, c.Column.Name+": "+c.Type.Name)
			}
			n.Type.Name = "struct<" + strings.Join(names, ", ") + ">"
		}
	}
	return n
}

func repeated(f *element) bool { return f.repetition == repeatedField }

func isList(f *element) bool { return f.logical == logicalList && repeated(f.children[0]) }

func isMap(f *element) bool {
	entry := f.children[0]
	return f.logical == logicalMap && repeated(entry) && len(entry.children) == 2 && !repeated(entry.children[0])
}

// listOf makes a node of a group that is annotated as a list. Its repeated field is a group around the element, in files of today, or the
// element itself, by the rules for backward compatibility of the format's LogicalTypes.md.
func (t *tree) listOf(n *node, f *element, at place) {
	inner := f.children[0]
	n.elemDef = at.def + 1
	below := at.element()
	below.path = join(at.path, inner.name)
	if len(inner.children) == 1 && !repeated(inner.children[0]) && inner.name != "array" && inner.name != f.name+"_tuple" {
		n.list(f.name, t.field(inner.children[0], below))
		return
	}
	n.list(f.name, t.content(inner, below))
}

// mapOf makes a node of a group that is annotated as a map, and reports whether its keys are texts. Otherwise it is a column that no role
// reads.
func (t *tree) mapOf(n *node, f *element, at place) bool {
	entry := f.children[0]
	below := at.element()
	below.path = join(at.path, entry.name)
	before := len(t.leaves)
	key, value := t.field(entry.children[0], below), t.field(entry.children[1], below)
	n.elemDef = at.def + 1
	n.children = []*node{key, value}
	n.leaves = append(append(n.leaves, key.leaves...), value.leaves...)
	n.Type = columns.Type{Kind: columns.Map, Name: fmt.Sprintf("map<%s, %s>", key.Type.Name, value.Type.Name), Elem: &value.Type}
	if key.Kind != columns.Text {
		// Of such a map only the rows are read, by its first leaf.
		n.Kind, n.Elem, n.children, n.leaf = columns.Other, nil, nil, t.leaves[before]
		n.leaves = n.leaves[:1]
	}
	return true
}

// primitive adds a leaf and names its type.
func (t *tree) primitive(f *element, at place, n *node) *leaf {
	l := &leaf{number: len(t.leaves), path: at.path, physical: f.physical, size: sizeOf(f.physical, f.length), maxRep: at.rep, maxDef: at.def,
		base: at.base, nested: at.nested}
	t.leaves = append(t.leaves, l)
	kind, name := columns.Other, ""
	switch f.physical {
	case physicalBoolean:
		kind, name = columns.Bool, "boolean"
	case physicalInt32:
		kind, name = columns.Int64, "int32"
	case physicalInt64:
		kind, name = columns.Int64, "int64"
	case physicalFloat:
		kind, name = columns.Float32, "float"
	case physicalDouble:
		kind, name = columns.Float64, "double"
	case physicalBytes:
		kind, name = columns.Text, "binary"
	case physicalInt96:
		name = "timestamp"
	case physicalFixed:
		name = fmt.Sprintf("fixed_len_byte_array(%d)", f.length)
	}
	number := f.physical == physicalInt32 || f.physical == physicalInt64
	bytes := f.physical == physicalBytes || f.physical == physicalFixed
	switch f.logical {
	case 0:
	case logicalString, logicalEnum, logicalJSON:
		if f.physical == physicalBytes {
			name = map[int64]string{logicalString: "string", logicalEnum: "enum", logicalJSON: "json"}[f.logical]
		}
	case logicalNull:
		name = "null"
	case logicalFloat16:
		if f.physical == physicalFixed && f.length == 2 {
			kind, name = columns.Float16, "float16"
		}
	case logicalInteger:
		if number && (f.bits == 64) == (f.physical == physicalInt64) && f.bits > 0 && f.bits <= 64 {
			name = fmt.Sprintf("int%d", f.bits)
			if f.unsigned {
				name, l.unsigned = "u"+name, int(f.bits)
			}
		}
	case logicalDecimal:
		if number || bytes {
			kind, name = columns.Float64, fmt.Sprintf("decimal(%d, %d)", f.precision, f.scale)
			l.decimal, l.scale = true, int(f.scale)
		}
	case logicalDate:
		kind, name = columns.Other, "date"
		if f.physical == physicalInt32 {
			kind, n.Unit = columns.Time, columns.Days
		}
	case logicalTime:
		kind, name = columns.Other, "time"
	case logicalTimestamp:
		kind, name = columns.Other, "timestamp"
		if f.physical == physicalInt64 && f.unit >= 1 && f.unit <= 3 {
			kind, n.Unit, n.UTC = columns.Time, columns.Seconds+columns.Unit(f.unit), f.utc
		}
	case logicalBSON:
		kind, name = columns.Other, "bson"
	case logicalUUID:
		kind, name = columns.Other, "uuid"
	case logicalInterval:
		kind, name = columns.Other, "interval"
	default:
		kind, name = columns.Other, fmt.Sprintf("logical type %d", f.logical)
	}
	n.Kind, n.Type.Name, l.kind = kind, name, kind
	if kind == columns.Time {
		l.kind = columns.Int64 // as it is stored
	}
	return l
}
