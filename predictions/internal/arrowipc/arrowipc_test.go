package arrowipc

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// sample is a batch with a column of each type, and what its cells are.
func sample(t testing.TB, rows, first int) (arrow.RecordBatch, [][]any) {
	t.Helper()
	mem := memory.NewGoAllocator()
	var fields []arrow.Field
	var arrays []arrow.Array
	var want [][]any
	add := func(name string, a arrow.Array, cells []any) {
		fields = append(fields, arrow.Field{Name: name, Type: a.DataType(), Nullable: true})
		arrays, want = append(arrays, a), append(want, cells)
	}
	build := func(name string, dt arrow.DataType, cell func(b array.Builder, i int) any) {
		b := array.NewBuilder(mem, dt)
		var cells []any
		for i := range rows {
			if i += first; i%5 == 3 {
				b.AppendNull()
				cells = append(cells, nil)
				continue
			}
			cells = append(cells, cell(b, i))
		}
		add(name, b.NewArray(), cells)
	}
	build("f64", arrow.PrimitiveTypes.Float64, func(b array.Builder, i int) any {
		b.(*array.Float64Builder).Append(float64(i) / 7)
		return float64(i) / 7
	})
	build("f32", arrow.PrimitiveTypes.Float32, func(b array.Builder, i int) any {
		b.(*array.Float32Builder).Append(float32(i) / 7)
		return float32(i) / 7
	})
	build("f16", arrow.FixedWidthTypes.Float16, func(b array.Builder, i int) any {
		b.(*array.Float16Builder).Append(float16.New(float32(i)))
		return float16.New(float32(i)).Uint16()
	})
	build("i8", arrow.PrimitiveTypes.Int8, func(b array.Builder, i int) any { b.(*array.Int8Builder).Append(int8(-i)); return int64(int8(-i)) })
	build("i16", arrow.PrimitiveTypes.Int16, func(b array.Builder, i int) any { b.(*array.Int16Builder).Append(int16(-i)); return int64(-i) })
	build("i32", arrow.PrimitiveTypes.Int32, func(b array.Builder, i int) any { b.(*array.Int32Builder).Append(int32(-i)); return int64(-i) })
	build("i64", arrow.PrimitiveTypes.Int64, func(b array.Builder, i int) any {
		b.(*array.Int64Builder).Append(math.MinInt64 + int64(i))
		return math.MinInt64 + int64(i)
	})
	build("u8", arrow.PrimitiveTypes.Uint8, func(b array.Builder, i int) any { b.(*array.Uint8Builder).Append(uint8(i)); return int64(uint8(i)) })
	build("u16", arrow.PrimitiveTypes.Uint16, func(b array.Builder, i int) any { b.(*array.Uint16Builder).Append(uint16(i)); return int64(i) })
	build("u32", arrow.PrimitiveTypes.Uint32, func(b array.Builder, i int) any {
		b.(*array.Uint32Builder).Append(math.MaxUint32 - uint32(i))
		return int64(math.MaxUint32 - uint32(i))
	})
	build("u64", arrow.PrimitiveTypes.Uint64, func(b array.Builder, i int) any { b.(*array.Uint64Builder).Append(uint64(i)); return int64(i) })
	build("d128", &arrow.Decimal128Type{Precision: 20, Scale: 3}, func(b array.Builder, i int) any {
		b.(*array.Decimal128Builder).Append(decimal128.FromI64(int64(100 * i)))
		return float64(i) / 10
	})
	build("d256", &arrow.Decimal256Type{Precision: 60, Scale: -2}, func(b array.Builder, i int) any {
		b.(*array.Decimal256Builder).Append(decimal256.FromI64(int64(i)))
		return float64(100 * i)
	})
	build("bool", arrow.FixedWidthTypes.Boolean, func(b array.Builder, i int) any { b.(*array.BooleanBuilder).Append(i%2 == 0); return i%2 == 0 })
	text := func(i int) string { return strings.Repeat("añb,", i%7) + fmt.Sprint(i) }
	build("utf8", arrow.BinaryTypes.String, func(b array.Builder, i int) any { b.(*array.StringBuilder).Append(text(i)); return text(i) })
	build("large", arrow.BinaryTypes.LargeString, func(b array.Builder, i int) any { b.(*array.LargeStringBuilder).Append(text(i)); return text(i) })
	build("view", arrow.BinaryTypes.StringView, func(b array.Builder, i int) any { b.(*array.StringViewBuilder).Append(text(i)); return text(i) })
	list := func(name string, dt arrow.DataType, width func(i int) int) {
		build(name, dt, func(b array.Builder, i int) any {
			l := b.(array.ListLikeBuilder)
			var cells []any
			if v, ok := b.(*array.ListViewBuilder); ok {
				v.AppendWithSize(true, width(i))
			} else {
				l.Append(true)
			}
			for j := range width(i) {
				l.ValueBuilder().(*array.Float32Builder).Append(float32(i + j))
				cells = append(cells, float32(i+j))
			}
			return cells
		})
	}
	ragged := func(i int) int { return i % 4 }
	list("list", arrow.ListOf(arrow.PrimitiveTypes.Float32), ragged)
	list("largelist", arrow.LargeListOf(arrow.PrimitiveTypes.Float32), ragged)
	list("listview", arrow.ListViewOf(arrow.PrimitiveTypes.Float32), ragged)
	list("fixed", arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), func(int) int { return 3 })
	build("struct", arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Float64}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String}), func(b array.Builder, i int) any {
		s := b.(*array.StructBuilder)
		s.Append(true)
		s.FieldBuilder(0).(*array.Float64Builder).Append(float64(i))
		s.FieldBuilder(1).(*array.StringBuilder).Append(text(i))
		return []any{float64(i), text(i)}
	})
	build("map", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64), func(b array.Builder, i int) any {
		m := b.(*array.MapBuilder)
		m.Append(true)
		var cells []any
		for j := range i % 3 {
			m.KeyBuilder().(*array.StringBuilder).Append(fmt.Sprint("k", j))
			m.ItemBuilder().(*array.Float64Builder).Append(float64(i * j))
			cells = append(cells, fmt.Sprint("k", j), float64(i*j))
		}
		return cells
	})
	build("dict", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, func(b array.Builder, i int) any {
		if err := b.(*array.BinaryDictionaryBuilder).AppendString(fmt.Sprint("c", i%3)); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint("c", i%3)
	})
	build("dictint", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.PrimitiveTypes.Int64}, func(b array.Builder, i int) any {
		if err := b.(*array.Int64DictionaryBuilder).Append(int64(i % 3)); err != nil {
			t.Fatal(err)
		}
		return int64(i % 3)
	})
	ree := array.NewRunEndEncodedBuilder(mem, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64)
	var runs []any
	for i := 0; i < rows; i += 4 {
		n := min(4, rows-i)
		ree.Append(uint64(n))
		ree.ValueBuilder().(*array.Float64Builder).Append(float64(first + i))
		for range n {
			runs = append(runs, float64(first+i))
		}
	}
	add("ree", ree.NewArray(), runs)
	build("date", arrow.FixedWidthTypes.Date32, func(b array.Builder, i int) any { b.(*array.Date32Builder).Append(arrow.Date32(i)); return int64(i) })
	build("time", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, func(b array.Builder, i int) any {
		b.(*array.TimestampBuilder).Append(arrow.Timestamp(i))
		return int64(i)
	})
	build("clock", arrow.FixedWidthTypes.Time32s, func(b array.Builder, i int) any { b.(*array.Time32Builder).Append(arrow.Time32(i)); return nil })
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(rows)), want
}

// cellOf returns a cell of a vector.
func cellOf(v *columns.Vector, t *columns.Type, i int) any {
	if v.Null != nil && v.Null[i] {
		return nil
	}
	switch t.Kind {
	case columns.Float64:
		return v.Float64[i]
	case columns.Float32:
		return v.Float32[i]
	case columns.Float16:
		return v.Float16[i]
	case columns.Int64, columns.Time:
		return v.Int64[i]
	case columns.Bool:
		return v.Bool[i]
	case columns.Text:
		return string(v.Text(i))
	}
	var l []any
	if t.Kind == columns.Struct {
		for j := range t.Fields {
			l = append(l, cellOf(&v.Fields[j], &t.Fields[j].Type, i))
		}
		return l
	}
	for j := v.Offsets[i]; j < v.Offsets[i+1]; j++ {
		if t.Kind == columns.Map {
			l = append(l, string(v.Keys.Text(j)))
		}
		l = append(l, cellOf(v.Elem, t.Elem, j))
	}
	return l
}

// written returns batches as a file or a stream.
func written(t testing.TB, stream bool, batches []arrow.RecordBatch, o ...ipc.Option) []byte {
	t.Helper()
	var b bytes.Buffer
	o = append(o, ipc.WithSchema(batches[0].Schema()))
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	var err error
	if stream {
		w = ipc.NewWriter(&b, o...)
	} else if w, err = ipc.NewFileWriter(&b, o...); err != nil {
		t.Fatal(err)
	}
	for _, r := range batches {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(b []byte) (*File, error) {
	if bytes.HasPrefix(b, []byte(magic)) {
		f, err := OpenFile(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return f.File, nil
	}
	return Open(bytes.NewReader(b))
}

// read returns the cells of all columns that can be read, by name.
func read(f *File, most int, bytes int64) (map[string][]any, error) {
	cells := map[string][]any{}
	var want columns.Want
	var types []columns.Column
	for i, c := range f.Columns() {
		if c.Kind != columns.Other {
			want.Columns, types = append(want.Columns, i), append(types, c)
		}
	}
	want.Bytes = bytes
	if err := f.Want(want); err != nil {
		return nil, err
	}
	block := &columns.Block{Most: most}
	for {
		p, err := f.Next()
		if err == io.EOF {
			return cells, nil
		} else if err != nil {
			return nil, err
		}
		for {
			if err := p.Next(block); err == io.EOF {
				break
			} else if err != nil {
				return nil, err
			}
			for k, c := range types {
				for i := range block.Rows {
					cells[c.Name] = append(cells[c.Name], cellOf(&block.Columns[k], &c.Type, i))
				}
			}
		}
		if err := p.Close(); err != nil {
			return nil, err
		}
	}
}

// TestTypes: every type, in files and streams, with every codec, in blocks of any size, has the cells that were written.
func TestTypes(t *testing.T) {
	a, want := sample(t, 103, 0)
	b, more := sample(t, 57, 200)
	for i := range want {
		want[i] = append(want[i], more[i]...)
	}
	for _, stream := range []bool{false, true} {
		batches := []arrow.RecordBatch{a, b}
		if !stream { // of which files have one dictionary, and no other later
			batches, want = batches[:1], func() (l [][]any) {
				for _, c := range want {
					l = append(l, c[:103])
				}
				return l
			}()
		} else {
			for i := range want {
				want[i] = append(want[i][:103:103], more[i]...)
			}
		}
		for name, o := range map[string][]ipc.Option{"none": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
			for _, most := range []int{1, 7, 1 << 16} {
				f, err := open(written(t, stream, batches, o...))
				if err != nil {
					t.Fatal(err)
				}
				got, err := read(f, most, 1<<24)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i, c := range f.Columns() {
					if c.Kind == columns.Other {
						continue
					}
					if !reflect.DeepEqual(got[c.Name], want[i]) {
						for r := range want[i] {
							if r >= len(got[c.Name]) || !reflect.DeepEqual(got[c.Name][r], want[i][r]) {
								t.Errorf("%s, stream %v, blocks of %d: %s (%s): row %d: %v of %d, want %v", name, stream, most, c.Name, c.Type.Name, r, got[c.Name][r:], len(got[c.Name]), want[i][r])
								break
							}
						}
					}
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestDictionaries: batches of a file that share dictionaries may be read at the same time.
func TestDictionaries(t *testing.T) {
	const batches, threads = 64, 8
	mem := memory.NewGoAllocator()
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	var fields []arrow.Field
	var arrays []arrow.Array
	for c := range 6 {
		b := array.NewDictionaryBuilder(mem, words).(*array.BinaryDictionaryBuilder)
		for i := range 4 {
			if err := b.AppendString(fmt.Sprint(c, " ", i)); err != nil {
				t.Fatal(err)
			}
		}
		arrays = append(arrays, b.NewArray())
		fields = append(fields, arrow.Field{Name: fmt.Sprint(c), Type: words})
	}
	r := array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, 4)
	var all []arrow.RecordBatch
	for range batches {
		all = append(all, r)
	}
	f, err := open(written(t, false, all, ipc.WithLZ4()))
	if err != nil {
		t.Fatal(err)
	}
	for _, copies := range []bool{true, false} {
		if copies && !f.index.readers.copies {
			t.Error("small dictionaries are not copied")
		}
		f.index.readers.copies = copies
		if !copies {
			f.index.readers.free = f.index.readers.free[:1]
		}
		want := columns.Want{Bytes: 1 << 24}
		for c := range fields {
			want.Columns = append(want.Columns, c)
		}
		if err := f.Want(want); err != nil {
			t.Fatal(err)
		}
		f.at = 0
		parts := make(chan columns.Part, batches)
		for range batches {
			p, err := f.Next()
			if err != nil {
				t.Fatal(err)
			}
			parts <- p
		}
		close(parts)
		var threaded sync.WaitGroup
		for range threads {
			threaded.Go(func() {
				for p := range parts {
					block := &columns.Block{Most: 10}
					if err := p.Next(block); err != nil {
						t.Error(err)
						return
					}
					for c := range fields {
						for i := range block.Rows {
							if got, want := cellOf(&block.Columns[c], &f.columns[c].Type, i), fmt.Sprint(c, " ", i); got != want {
								t.Errorf("column %d, row %d: %q, want %q", c, i, got, want)
							}
						}
					}
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		threaded.Wait()
	}
}

// TestMemory: a batch beyond the memory is refused in a sentence, and so is one that declares to be.
func TestMemory(t *testing.T) {
	b := array.NewFloat64Builder(memory.NewGoAllocator())
	for i := range 1 << 18 {
		b.Append(float64(i % 3))
	}
	r := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Float64}}, nil), []arrow.Array{b.NewArray()}, 1<<18)
	for _, stream := range []bool{false, true} {
		for _, o := range [][]ipc.Option{nil, {ipc.WithZstd()}} {
			f, err := open(written(t, stream, []arrow.RecordBatch{r}, o...))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := read(f, 100, 1<<20); err == nil || !strings.Contains(err.Error(), "MiB of memory, and 1 MiB are allowed; raise PartBytes") {
				t.Errorf("stream %v: %v", stream, err)
			}
		}
	}
}

// TestDamage: truncations and flipped bits are errors or values.
func TestDamage(t *testing.T) {
	a, _ := sample(t, 9, 0)
	for _, stream := range []bool{false, true} {
		for name, o := range map[string][]ipc.Option{"none": nil, "lz4": {ipc.WithLZ4()}} {
			good := written(t, stream, []arrow.RecordBatch{a}, o...)
			step := max(1, len(good)/1500)
			if testing.Short() {
				step *= 10
			}
			try := func(what string, b []byte) {
				t.Helper()
				defer func() {
					if r := recover(); r != nil {
						t.Fatalf("%s, stream %v: %s: %v", name, stream, what, r)
					}
				}()
				f, err := open(b)
				if err != nil {
					return
				}
				read(f, 4, 1<<20)
			}
			for n := 0; n < len(good); n += step {
				try(fmt.Sprint("cut at ", n), good[:n])
			}
			for i := 0; i < len(good); i += step {
				bad := bytes.Clone(good)
				bad[i] ^= 1 << (i % 8)
				try(fmt.Sprint("flipped in ", i), bad)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	a, _ := sample(f, 5, 0)
	for _, stream := range []bool{false, true} {
		f.Add(written(f, stream, []arrow.RecordBatch{a}))
		f.Add(written(f, stream, []arrow.RecordBatch{a}, ipc.WithLZ4()))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := open(b)
		if err != nil {
			return
		}
		read(file, 4, 1<<20)
	})
}
