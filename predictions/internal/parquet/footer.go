package parquet

import (
	"fmt"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// Types of stored values.
const (
	physicalBoolean = iota
	physicalInt32
	physicalInt64
	physicalInt96
	physicalFloat
	physicalDouble
	physicalBytes
	physicalFixed
)

func physicalName(p int64) string {
	names := []string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}
	if p < 0 || p >= int64(len(names)) {
		return fmt.Sprintf("type %d", p)
	}
	return names[p]
}

const (
	requiredField = iota
	optionalField
	repeatedField
)

// Logical types, by the numbers of the union LogicalType. The interval has none there.
const (
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalNull      = 11
	logicalJSON      = 12
	logicalBSON      = 13
	logicalUUID      = 14
	logicalFloat16   = 15
	logicalInterval  = -1
)

// converted has the logical types of the older ConvertedType, from UTF8 = 0 on; integers follow in another table.
var converted = [...]int64{0: logicalString, 1: logicalMap, 2: logicalMap, 3: logicalList, 4: logicalEnum, 5: logicalDecimal, 6: logicalDate,
	7: logicalTime, 8: logicalTime, 9: logicalTimestamp, 10: logicalTimestamp, 11: logicalInteger, 12: logicalInteger, 13: logicalInteger,
	14: logicalInteger, 15: logicalInteger, 16: logicalInteger, 17: logicalInteger, 18: logicalInteger, 19: logicalJSON, 20: logicalBSON,
	21: logicalInterval}

// element is a column or group of the schema.
type element struct {
	name             string
	physical         int64 // -1 of a group
	length           int64 // of FIXED_LEN_BYTE_ARRAY
	repetition       int64
	logical          int64
	scale, precision int64
	bits             int64
	unsigned         bool
	unit             int64 // of a timestamp: milliseconds, microseconds, nanoseconds from 1 on
	utc              bool
	children         []*element
}

// group is a row group.
type group struct {
	rows    int64
	columns int
	at      int // where its columns are in the footer
}

// chunkMeta is what a row group has of a leaf.
type chunkMeta struct {
	path       string // of another file
	encrypted  bool
	physical   int64
	codec      int64
	values     int64
	size       int64 // compressed, with headers
	data, dict int64 // where the first page of data and the dictionary are
}

// footer is the metadata of a file. What it has of chunks is read again for each row group.
type footer struct {
	b       []byte
	rows    int64
	root    *element
	groups  []group
	creator string
}

// read reads a footer.
func (f *footer) read(b []byte) error {
	f.b, f.rows = b, -1
	t := &thrift{b: b}
	err := t.fields(0, func(id int64, kind byte) (bool, error) {
		switch id {
		case 2:
			return true, f.readSchema(t, kind)
		case 3:
			return t.number(&f.rows, kind)
		case 4:
			return true, t.structs(kind, func() error { return f.readGroup(t) })
		case 6:
			if kind != thriftBinary {
				return false, nil
			}
			var err error
			f.creator, err = t.text()
			return true, err
		}
		return false, nil
	})
	if err == nil && (f.root == nil || f.rows < 0) {
		err = columns.Wrong("", "it has no schema or no number of rows")
	}
	return err
}

// oldSizes reports whether the sizes of chunks leave out the dictionary page's header, as parquet-mr had it before 1.2.9.
func (f *footer) oldSizes() bool {
	var a, b, c int
	n, _ := fmt.Sscanf(f.creator, "parquet-mr version %d.%d.%d", &a, &b, &c)
	return n == 3 && (a < 1 || a == 1 && (b < 2 || b == 2 && c < 9))
}

// readSchema reads the elements of the schema, each of which has its children after it.
func (f *footer) readSchema(t *thrift, kind byte) error {
	type open struct {
		group *element
		left  int64 // children that are still to come
	}
	var around []open
	f.root = nil
	err := t.structs(kind, func() error {
		e, children, err := readElement(t)
		if err != nil {
			return err
		}
		if f.root == nil {
			f.root = e
		} else {
			if len(around) == 0 {
				return errGarbled
			}
			last := &around[len(around)-1]
			last.group.children = append(last.group.children, e)
			last.left--
			if e.repetition < requiredField || e.repetition > repeatedField {
				return columns.Wrong("", "column %q is neither required nor optional nor repeated", e.name)
			}
		}
		switch {
		case children > 0:
			e.physical = -1
			if around = append(around, open{e, children}); len(around) > mostNested {
				return columns.Wrong("", "its columns are nested more than %d deep", mostNested)
			}
		case children < 0 || e != f.root && (e.physical < physicalBoolean || e.physical > physicalFixed):
			return columns.Wrong("", "column %q has no type", e.name)
		case e.physical == physicalFixed && (e.length <= 0 || e.length > 1<<30):
			return columns.Wrong("", "column %q has values of %d bytes", e.name, e.length)
		}
		for len(around) > 0 && around[len(around)-1].left == 0 {
			around = around[:len(around)-1]
		}
		return nil
	})
	if err == nil && len(around) > 0 {
		err = columns.Wrong("", "its schema ends too early")
	}
	return err
}

// readElement reads an element of the schema and how many children follow it.
func readElement(t *thrift) (e *element, children int64, err error) {
	e = &element{physical: -1}
	old := int64(-1)
	err = t.fields(1, func(id int64, kind byte) (bool, error) {
		switch id {
		case 1:
			return t.number(&e.physical, kind)
		case 2:
			return t.number(&e.length, kind)
		case 3:
			return t.number(&e.repetition, kind)
		case 4:
			if kind != thriftBinary {
				return true, errGarbled
			}
			var err error
			e.name, err = t.text()
			return true, err
		case 5:
			return t.number(&children, kind)
		case 6:
			return t.number(&old, kind)
		case 7:
			return t.number(&e.scale, kind)
		case 8:
			return t.number(&e.precision, kind)
		case 10:
			if kind != thriftStruct {
				return true, errGarbled
			}
			return true, e.readLogical(t)
		}
		return false, nil
	})
	if e.logical == 0 && old >= 0 && old < int64(len(converted)) {
		e.logical = converted[old]
		if e.logical == logicalInteger {
			e.bits, e.unsigned = 8<<((old-11)%4), old < 15
		}
		if e.logical == logicalTimestamp {
			e.unit = old - 8
		}
	}
	return e, children, err
}

// readLogical reads a LogicalType, which is the one field that it has.
func (e *element) readLogical(t *thrift) error {
	return t.fields(2, func(id int64, kind byte) (bool, error) {
		e.logical = id
		if kind != thriftStruct {
			return false, nil
		}
		switch id {
		case logicalDecimal:
			return true, t.fields(3, func(id int64, kind byte) (bool, error) {
				switch id {
				case 1:
					return t.number(&e.scale, kind)
				case 2:
					return t.number(&e.precision, kind)
				}
				return false, nil
			})
		case logicalTimestamp:
			return true, t.fields(3, func(id int64, kind byte) (bool, error) {
				switch {
				case id == 1:
					e.utc = kind == thriftTrue
				case id == 2 && kind == thriftStruct:
					return true, t.fields(4, func(id int64, _ byte) (bool, error) {
						e.unit = id
						return false, nil
					})
				}
				return false, nil
			})
		case logicalInteger:
			return true, t.fields(3, func(id int64, kind byte) (bool, error) {
				switch {
				case id == 1 && kind == thriftByte:
					b, err := t.byte()
					e.bits = int64(b)
					return true, err
				case id == 2:
					e.unsigned = kind == thriftFalse
				}
				return false, nil
			})
		}
		return false, nil
	})
}

// readGroup notes a row group.
func (f *footer) readGroup(t *thrift) error {
	g := group{rows: -1}
	err := t.fields(1, func(id int64, kind byte) (bool, error) {
		switch id {
		case 1:
			g.at, g.columns = t.pos, 0
			return true, t.structs(kind, func() error {
				g.columns++
				return t.skip(2, thriftStruct, true)
			})
		case 3:
			return t.number(&g.rows, kind)
		}
		return false, nil
	})
	if err == nil && g.rows < 0 {
		err = columns.Wrong("", "row group %d has no number of rows", len(f.groups))
	}
	f.groups = append(f.groups, g)
	return err
}

// chunks calls visit for each leaf of a row group.
func (f *footer) chunks(g *group, visit func(number int, m *chunkMeta) error) error {
	t := &thrift{b: f.b, pos: g.at}
	number := 0
	return t.structs(thriftList, func() error {
		m := chunkMeta{physical: -1, codec: -1, values: -1, size: -1, data: -1}
		if err := m.read(t); err != nil {
			return columns.Wrong("", "the metadata of the Parquet file is damaged: %v", err)
		}
		number++
		return visit(number-1, &m)
	})
}

func (m *chunkMeta) read(t *thrift) error {
	return t.fields(2, func(id int64, kind byte) (bool, error) {
		switch {
		case id == 1 && kind == thriftBinary:
			var err error
			m.path, err = t.text()
			return true, err
		case id == 8 || id == 9:
			m.encrypted = true
		case id == 3 && kind == thriftStruct:
			return true, t.fields(3, func(id int64, kind byte) (bool, error) {
				switch id {
				case 1:
					return t.number(&m.physical, kind)
				case 4:
					return t.number(&m.codec, kind)
				case 5:
					return t.number(&m.values, kind)
				case 7:
					return t.number(&m.size, kind)
				case 9:
					return t.number(&m.data, kind)
				case 11:
					return t.number(&m.dict, kind)
				}
				return false, nil
			})
		}
		return false, nil
	})
}
