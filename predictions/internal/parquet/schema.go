package parquet

import (
	"fmt"
	"strings"

	parq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

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
	physical       parq.Type
	size           int // bytes of a value: of FIXED_LEN_BYTE_ARRAY, and of numbers
	maxRep, maxDef int
	base           int  // a cell exists from this definition level on
	unsigned       int  // bits of an unsigned integer, or 0
	decimal        bool // value / 10^scale
	scale          int
	nested         bool // levels are needed to put the column together
}

// sizeOf returns how many bytes a value of a type takes; 0 if that varies.
func sizeOf(physical parq.Type, length int) int {
	switch physical {
	case parq.Types.Int32, parq.Types.Float:
		return 4
	case parq.Types.Int64, parq.Types.Double:
		return 8
	case parq.Types.Int96:
		return 12
	case parq.Types.FixedLenByteArray:
		return length
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
func (t *tree) field(f schema.Node, at place) *node {
	at.path = join(at.path, f.Name())
	if f.RepetitionType() == parq.Repetitions.Repeated {
		// A repeated field outside of LIST and MAP is a list that is never missing.
		n := &node{rep: at.rep, base: at.base, def: at.def, elemDef: at.def + 1}
		n.list(f.Name(), t.content(f, at.element()))
		return n
	}
	if f.RepetitionType() == parq.Repetitions.Optional {
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
func (t *tree) content(f schema.Node, at place) *node {
	n := &node{rep: at.rep, base: at.base, def: at.def}
	n.Column.Name = f.Name()
	switch f := f.(type) {
	case *schema.PrimitiveNode:
		n.leaf = t.primitive(f, at, n)
		n.leaves = []*leaf{n.leaf}
	case *schema.GroupNode:
		if at.def > at.base {
			at.nested = true // whether the group or its field is missing is told by levels
		}
		switch {
		case f.NumFields() == 1 && isList(f):
			t.listOf(n, f, at)
		case f.NumFields() == 1 && isMap(f) && t.mapOf(n, f, at):
		default:
			n.Kind = columns.Struct
			var names []string
			for i := range f.NumFields() {
				c := t.field(f.Field(i), at)
				n.children, n.leaves = append(n.children, c), append(n.leaves, c.leaves...)
				n.Fields = append(n.Fields, c.Column)
				names = append(names, c.Column.Name+": "+c.Type.Name)
			}
			n.Type.Name = "struct<" + strings.Join(names, ", ") + ">"
		}
	}
	return n
}

func repeated(f schema.Node) bool { return f.RepetitionType() == parq.Repetitions.Repeated }

func isList(f *schema.GroupNode) bool {
	_, is := f.LogicalType().(schema.ListLogicalType)
	return (is || f.ConvertedType() == schema.ConvertedTypes.List) && repeated(f.Field(0))
}

func isMap(f *schema.GroupNode) bool {
	_, is := f.LogicalType().(schema.MapLogicalType)
	c := f.ConvertedType()
	if !is && c != schema.ConvertedTypes.Map && c != schema.ConvertedTypes.MapKeyValue {
		return false
	}
	entry, ok := f.Field(0).(*schema.GroupNode)
	return ok && repeated(entry) && entry.NumFields() == 2 && !repeated(entry.Field(0))
}

// listOf makes a node of a group that is annotated as a list. Its repeated field is a group around the element, in files of today, or the
// element itself, by the rules for backward compatibility of the format's LogicalTypes.md.
func (t *tree) listOf(n *node, f *schema.GroupNode, at place) {
	inner := f.Field(0)
	n.elemDef = at.def + 1
	below := at.element()
	below.path = join(at.path, inner.Name())
	group, ok := inner.(*schema.GroupNode)
	if ok && group.NumFields() == 1 && !repeated(group.Field(0)) && group.Name() != "array" && group.Name() != f.Name()+"_tuple" {
		n.list(f.Name(), t.field(group.Field(0), below))
		return
	}
	n.list(f.Name(), t.content(inner, below))
}

// mapOf makes a node of a group that is annotated as a map, and reports whether its keys are texts. Otherwise it is a column that no role
// reads.
func (t *tree) mapOf(n *node, f *schema.GroupNode, at place) bool {
	entry := f.Field(0).(*schema.GroupNode)
	below := at.element()
	below.path = join(at.path, entry.Name())
	before := len(t.leaves)
	key, value := t.field(entry.Field(0), below), t.field(entry.Field(1), below)
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
func (t *tree) primitive(f *schema.PrimitiveNode, at place, n *node) *leaf {
	l := &leaf{number: len(t.leaves), path: at.path, physical: f.PhysicalType(), size: sizeOf(f.PhysicalType(), f.TypeLength()),
		maxRep: at.rep, maxDef: at.def, base: at.base, nested: at.nested}
	t.leaves = append(t.leaves, l)
	kind, name := columns.Other, ""
	switch f.PhysicalType() {
	case parq.Types.Boolean:
		kind, name = columns.Bool, "boolean"
	case parq.Types.Int32:
		kind, name = columns.Int64, "int32"
	case parq.Types.Int64:
		kind, name = columns.Int64, "int64"
	case parq.Types.Float:
		kind, name = columns.Float32, "float"
	case parq.Types.Double:
		kind, name = columns.Float64, "double"
	case parq.Types.ByteArray:
		kind, name = columns.Text, "binary"
	case parq.Types.Int96:
		name = "timestamp"
	case parq.Types.FixedLenByteArray:
		name = fmt.Sprintf("fixed_len_byte_array(%d)", f.TypeLength())
	}
	switch logical := f.LogicalType().(type) {
	case schema.StringLogicalType:
		name = "string"
	case schema.EnumLogicalType:
		name = "enum"
	case schema.JSONLogicalType:
		name = "json"
	case schema.Float16LogicalType:
		kind, name = columns.Float16, "float16"
	case schema.IntLogicalType:
		name = fmt.Sprintf("int%d", logical.BitWidth())
		if !logical.IsSigned() {
			name, l.unsigned = "u"+name, int(logical.BitWidth())
		}
	case schema.DecimalLogicalType:
		kind, name = columns.Float64, fmt.Sprintf("decimal(%d, %d)", logical.Precision(), logical.Scale())
		l.decimal, l.scale = true, int(logical.Scale())
	case schema.NullLogicalType:
		name = "null"
	case schema.DateLogicalType:
		kind, name = columns.Other, "date"
	case schema.TimeLogicalType:
		kind, name = columns.Other, "time"
	case schema.TimestampLogicalType:
		kind, name = columns.Other, "timestamp"
	case schema.BSONLogicalType:
		kind, name = columns.Other, "bson"
	case schema.UUIDLogicalType:
		kind, name = columns.Other, "uuid"
	case schema.IntervalLogicalType:
		kind, name = columns.Other, "interval"
	case schema.GeometryLogicalType, schema.GeographyLogicalType:
		kind, name = columns.Other, "geometry"
	}
	n.Kind, n.Type.Name, l.kind = kind, name, kind
	return l
}
