package parquet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	parq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// stored is an entry and what the file has of its value.
type stored struct {
	entry
	raw any
}

// cell appends a random cell of a node.
func cell(n *node, rep, def int, rng *rand.Rand, out map[*leaf][]stored) {
	none := func(def int) {
		for _, l := range n.leaves {
			out[l] = append(out[l], stored{entry: entry{rep, def, nil}})
		}
	}
	if n.def > def && rng.IntN(8) == 0 {
		none(def)
		return
	}
	switch n.Kind {
	case columns.Struct:
		for _, c := range n.children {
			cell(c, rep, n.def, rng, out)
		}
	case columns.List, columns.Map:
		k := rng.IntN(4)
		if k == 0 {
			none(n.def)
		}
		for i := range k {
			r := n.rep + 1
			if i == 0 {
				r = rep
			}
			for _, c := range n.children {
				cell(c, r, n.elemDef, rng, out)
			}
		}
	default:
		raw := n.leaf.random(rng)
		out[n.leaf] = append(out[n.leaf], stored{entry{rep, n.def, n.leaf.as(raw)}, raw})
	}
}

// random returns a value as the file stores it. Some are frequent, so that dictionaries have a use.
func (l *leaf) random(rng *rand.Rand) any {
	k := rng.IntN(1 << 20)
	if rng.IntN(3) > 0 {
		k = rng.IntN(20)
	}
	switch l.physical {
	case physicalBoolean:
		return k&1 == 1
	case physicalInt32:
		return int32(k-7) << rng.IntN(10)
	case physicalInt64:
		if l.unsigned == 64 {
			return int64(k)
		}
		return int64(k-7) << rng.IntN(40)
	case physicalInt96:
		return parq.Int96{byte(k)}
	case physicalFloat:
		return float32(k) / 7
	case physicalDouble:
		return float64(k) / 7
	case physicalFixed:
		b := make(parq.FixedLenByteArray, l.size)
		for i := range b {
			b[i] = byte(k >> i)
		}
		return b
	}
	if l.decimal {
		return parq.ByteArray{byte(k >> 8), byte(k)}
	}
	return parq.ByteArray(fmt.Sprintf("%*d", k%9, k))
}

// as returns a stored value as a column has it.
func (l *leaf) as(raw any) any {
	switch v := raw.(type) {
	case bool:
		return v
	case int32:
		return l.integer(int64(v))
	case int64:
		return l.integer(v)
	case float32:
		return value(columns.Float32, &columns.Vector{Float32: []float32{v}}, 0)
	case float64:
		return value(columns.Float64, &columns.Vector{Float64: []float64{v}}, 0)
	case parq.ByteArray:
		return l.bytes(v)
	case parq.FixedLenByteArray:
		return l.bytes(v)
	}
	return "other"
}

// nodesOf returns the nodes and leaves that this package makes of the library's schema.
func nodesOf(t testing.TB, root *schema.GroupNode) *File {
	t.Helper()
	b := written(t, root, nil, nil)
	f, err := Open(inMemory(b))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *File) allLeaves() (all []*leaf) {
	for _, n := range f.nodes {
		all = append(all, n.leaves...)
	}
	return all
}

// content returns random rows of all columns, in row groups.
func content(f *File, rng *rand.Rand, groups ...int) (out []map[*leaf][]stored) {
	for _, rows := range groups {
		g := map[*leaf][]stored{}
		for range rows {
			for _, n := range f.nodes {
				cell(n, 0, 0, rng, g)
			}
		}
		out = append(out, g)
	}
	return out
}

// written returns a file that the library wrote.
func written(t testing.TB, root *schema.GroupNode, f *File, groups []map[*leaf][]stored, options ...parq.WriterProperty) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := file.NewParquetWriterWithError(&b, root, file.WithWriterProps(parq.NewWriterProperties(options...)))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		rg, err := w.AppendRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range f.allLeaves() {
			c, err := rg.NextColumn()
			if err != nil {
				t.Fatal(err)
			}
			var defs, reps []int16
			for _, e := range g[l] {
				defs, reps = append(defs, int16(e.def)), append(reps, int16(e.rep))
			}
			if l.maxDef == 0 {
				defs = nil
			}
			if l.maxRep == 0 {
				reps = nil
			}
			switch c := c.(type) {
			case *file.BooleanColumnChunkWriter:
				_, err = c.WriteBatch(raws[bool](g[l]), defs, reps)
			case *file.Int32ColumnChunkWriter:
				_, err = c.WriteBatch(raws[int32](g[l]), defs, reps)
			case *file.Int64ColumnChunkWriter:
				_, err = c.WriteBatch(raws[int64](g[l]), defs, reps)
			case *file.Int96ColumnChunkWriter:
				_, err = c.WriteBatch(raws[parq.Int96](g[l]), defs, reps)
			case *file.Float32ColumnChunkWriter:
				_, err = c.WriteBatch(raws[float32](g[l]), defs, reps)
			case *file.Float64ColumnChunkWriter:
				_, err = c.WriteBatch(raws[float64](g[l]), defs, reps)
			case *file.ByteArrayColumnChunkWriter:
				_, err = c.WriteBatch(raws[parq.ByteArray](g[l]), defs, reps)
			case *file.FixedLenByteArrayColumnChunkWriter:
				_, err = c.WriteBatch(raws[parq.FixedLenByteArray](g[l]), defs, reps)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := rg.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func raws[T any](all []stored) (out []T) {
	for _, s := range all {
		if s.raw != nil {
			out = append(out, s.raw.(T))
		}
	}
	return out
}

var (
	required = parq.Repetitions.Required
	optional = parq.Repetitions.Optional
	repeats  = parq.Repetitions.Repeated
)

func primitive(name string, r parq.Repetition, logical schema.LogicalType, physical parq.Type, length int) schema.Node {
	return schema.Must(schema.NewPrimitiveNodeLogical(name, r, logical, physical, length, -1))
}

func fields(name string, r parq.Repetition, logical schema.LogicalType, of ...schema.Node) *schema.GroupNode {
	return schema.MustGroup(schema.NewGroupNodeLogical(name, r, of, logical, -1))
}

func listOf(name string, r parq.Repetition, elem schema.Node) schema.Node {
	return fields(name, r, schema.ListLogicalType{}, fields("list", repeats, nil, elem))
}

// vector is Spark's schema of a vector.
func vector(name string) schema.Node {
	return fields(name, optional, nil,
		primitive("type", required, schema.NewIntLogicalType(8, true), parq.Types.Int32, 0),
		primitive("size", optional, nil, parq.Types.Int32, 0),
		listOf("indices", optional, primitive("element", required, nil, parq.Types.Int32, 0)),
		listOf("values", optional, primitive("element", required, nil, parq.Types.Double, 0)))
}

// everything is a schema with each type that is read.
func everything() *schema.GroupNode {
	text := schema.StringLogicalType{}
	return fields("schema", required, nil,
		primitive("f32", required, nil, parq.Types.Float, 0),
		primitive("f32n", optional, nil, parq.Types.Float, 0),
		primitive("f64", required, nil, parq.Types.Double, 0),
		primitive("f64n", optional, nil, parq.Types.Double, 0),
		primitive("f16", required, schema.Float16LogicalType{}, parq.Types.FixedLenByteArray, 2),
		primitive("f16n", optional, schema.Float16LogicalType{}, parq.Types.FixedLenByteArray, 2),
		primitive("i32", optional, nil, parq.Types.Int32, 0),
		primitive("i64", optional, nil, parq.Types.Int64, 0),
		primitive("u8", optional, schema.NewIntLogicalType(8, false), parq.Types.Int32, 0),
		primitive("u32", optional, schema.NewIntLogicalType(32, false), parq.Types.Int32, 0),
		primitive("u64", optional, schema.NewIntLogicalType(64, false), parq.Types.Int64, 0),
		primitive("bool", required, nil, parq.Types.Boolean, 0),
		primitive("booln", optional, nil, parq.Types.Boolean, 0),
		primitive("text", required, text, parq.Types.ByteArray, 0),
		primitive("textn", optional, text, parq.Types.ByteArray, 0),
		primitive("enum", optional, schema.EnumLogicalType{}, parq.Types.ByteArray, 0),
		primitive("d32", optional, schema.NewDecimalLogicalType(9, 3), parq.Types.Int32, 0),
		primitive("d64", optional, schema.NewDecimalLogicalType(18, 17), parq.Types.Int64, 0),
		primitive("dfix", optional, schema.NewDecimalLogicalType(38, 20), parq.Types.FixedLenByteArray, 16),
		primitive("dbytes", optional, schema.NewDecimalLogicalType(9, 1), parq.Types.ByteArray, 0),
		primitive("time", optional, nil, parq.Types.Int96, 0),
		primitive("fixed", optional, nil, parq.Types.FixedLenByteArray, 3),
		listOf("probs", optional, primitive("element", optional, nil, parq.Types.Float, 0)),
		listOf("probs64", required, primitive("element", required, nil, parq.Types.Double, 0)),
		listOf("texts", optional, primitive("element", optional, text, parq.Types.ByteArray, 0)),
		fields("old", optional, schema.ListLogicalType{}, primitive("array", repeats, nil, parq.Types.Float, 0)),
		fields("tuples", optional, schema.ListLogicalType{}, fields("tuples_tuple", repeats, nil, primitive("x", optional, nil, parq.Types.Float, 0))),
		primitive("bare", repeats, nil, parq.Types.Int64, 0),
		fields("two", required, nil, primitive("a", optional, nil, parq.Types.Double, 0), primitive("b", required, text, parq.Types.ByteArray, 0)),
		fields("maybe", optional, nil, primitive("a", optional, nil, parq.Types.Double, 0), primitive("b", required, nil, parq.Types.Double, 0)),
		listOf("scored", optional, fields("element", optional, nil,
			primitive("label", optional, text, parq.Types.ByteArray, 0), primitive("score", required, nil, parq.Types.Double, 0))),
		fields("map", optional, schema.MapLogicalType{}, fields("key_value", repeats, nil,
			primitive("key", required, text, parq.Types.ByteArray, 0), primitive("value", optional, nil, parq.Types.Double, 0))),
		listOf("deep", optional, listOf("element", optional, primitive("element", optional, nil, parq.Types.Int32, 0))),
		vector("vector"),
	)
}
