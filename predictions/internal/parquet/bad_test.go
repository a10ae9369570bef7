package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	parq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// small is a schema of what scores are made of.
func small() *schema.GroupNode {
	return fields("schema", required, nil,
		primitive("p", optional, nil, parq.Types.Float, 0),
		primitive("y", required, schema.StringLogicalType{}, parq.Types.ByteArray, 0),
		primitive("n", optional, schema.NewIntLogicalType(64, false), parq.Types.Int64, 0),
		listOf("probs", optional, primitive("element", optional, nil, parq.Types.Double, 0)),
	)
}

// mostAllocated is what reading a small file may allocate at most, whatever it says.
const mostAllocated = 16 << 20

// readBad reads a file that may be damaged. It fails unless that ends with an error that is a Fault or with values, and without an
// allocation that the file's size does not justify.
func readBad(t *testing.T, b []byte) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := ours(inMemory(b), columns.Want{Bytes: 1 << 20}, 50)
	runtime.ReadMemStats(&after)
	if err != nil && !fault(err) {
		t.Fatalf("%T %v is no Fault", err, err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > mostAllocated {
		t.Fatalf("%d bytes were allocated; the error is %v", n, err)
	}
}

// TestDamaged flips each bit of small files and cuts them off at each byte.
func TestDamaged(t *testing.T) {
	root := small()
	made := nodesOf(t, root)
	for i, encoding := range []string{"plain", "fallback", "split", "delta", "prefixes"} {
		groups := content(made, rand.New(rand.NewPCG(1, uint64(i))), 12, 3)
		b := written(t, root, made, groups, append(encodings(made, encoding), parq.WithCompression(allCodecs[i]),
			parq.WithDataPageVersion(parq.DataPageVersion(i&1)), parq.WithStats(false))...)
		if _, _, err := ours(inMemory(b), columns.Want{}, 50); err != nil {
			t.Fatal(err)
		}
		step := 1
		if testing.Short() {
			step = 11
		}
		for k := 0; k < len(b); k += step {
			readBad(t, b[:k])
			for bit := range 8 {
				b[k] ^= 1 << bit
				readBad(t, b)
				b[k] ^= 1 << bit
			}
			was := b[k]
			for _, v := range []byte{0, 0x7f, 0x80, 0xff} {
				b[k] = v
				readBad(t, b)
			}
			b[k] = was
		}
		for k := 1; k < len(b); k += 7 * step {
			readBad(t, slices.Concat(b[:k], b[k+1:]))
			readBad(t, slices.Concat(b[:k], []byte{0xff, 0xff, 0xff, 0xff, 0x7f}, b[k:]))
		}
	}
}

func damages() int {
	if testing.Short() {
		return 100
	}
	return 1500
}

// TestDamagedAll damages files of every type at random places.
func TestDamagedAll(t *testing.T) {
	root := everything()
	made := nodesOf(t, root)
	rng := rand.New(rand.NewPCG(3, 4))
	for i, encoding := range allEncodings {
		b := written(t, root, made, content(made, rng, 20), append(encodings(made, encoding), parq.WithCompression(allCodecs[i%len(allCodecs)]))...)
		for range damages() {
			c := bytes.Clone(b)
			for range 1 + rng.IntN(3) {
				c[rng.IntN(len(c))] = byte(rng.Uint32())
			}
			readBad(t, c)
		}
	}
}

// reason returns the error of reading a whole file.
func reason(b []byte) string {
	_, _, err := ours(inMemory(b), columns.Want{}, 50)
	if err == nil {
		return ""
	}
	if !fault(err) {
		return "no Fault"
	}
	return err.Error()
}

// TestFaults: what is wrong is said in a sentence.
func TestFaults(t *testing.T) {
	root := small()
	made := nodesOf(t, root)
	groups := content(made, rand.New(rand.NewPCG(1, 2)), 100)
	b := written(t, root, made, groups)
	n := len(b)
	length := int(binary.LittleEndian.Uint32(b[n-8:]))
	patch := func(at int, with ...byte) []byte {
		c := bytes.Clone(b)
		copy(c[at:], with)
		return c
	}
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "the file is empty"},
		{"short", []byte("PAR1"), "too few for a Parquet file"},
		{"other", []byte("a,b\n1,2\n3,4\n5,6\n"), "it is not a Parquet file: it does not begin with PAR1"},
		{"cut off", b[:n-9], "it does not end with PAR1"},
		{"encrypted", patch(n-4, 'P', 'A', 'R', 'E'), "is encrypted"},
		{"long metadata", patch(n-8, 0xff, 0xff, 0xff, 0x7f), "its metadata should have 2147483647 bytes"},
		{"no metadata", patch(n-8-length, 0), "it has no schema"},
		{"middle missing", append(bytes.Clone(b[:4]), b[n/2:]...), "cut off or damaged"},
		{"zeros", append(make([]byte, n-8-length), b[n-8-length:]...), "its pages end after 0 of 100 values"},
	} {
		if got := reason(c.b); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestUnsigned: an integer beyond int64 is an error that names row, column and value.
func TestUnsigned(t *testing.T) {
	root := fields("schema", required, nil,
		primitive("n", optional, schema.NewIntLogicalType(64, false), parq.Types.Int64, 0),
		listOf("list", required, primitive("element", required, schema.NewIntLogicalType(64, false), parq.Types.Int64, 0)))
	made := nodesOf(t, root)
	flat, nested := made.allLeaves()[0], made.allLeaves()[1]
	for _, column := range []int{0, 1} {
		group := map[*leaf][]stored{}
		for i := range 30 {
			e := stored{entry{0, 1, nil}, int64(i)}
			if i%3 == 0 {
				e = stored{entry{0, 0, nil}, nil}
			}
			if i == 20 && column == 0 {
				e.raw = int64(-1)
			}
			group[flat] = append(group[flat], e)
			group[nested] = append(group[nested], stored{entry{0, 1, nil}, int64(i)}, stored{entry{1, 1, nil}, int64(i)})
		}
		if column == 1 {
			group[nested][2*20+1].raw = int64(math.MinInt64)
		}
		b := written(t, root, made, []map[*leaf][]stored{group}, parq.WithDictionaryDefault(false))
		for _, most := range []int{1, 7, 100} {
			_, _, err := ours(inMemory(b), columns.Want{}, most)
			f := (*columns.Fault)(nil)
			if !errors.As(err, &f) || f.Row != 20 || f.Column != []string{"n", "list.list.element"}[column] ||
				f.Value != []string{"18446744073709551615", "9223372036854775808"}[column] {
				t.Errorf("column %d, blocks of %d: %+v", column, most, f)
			}
		}
	}
}

// TestChecksum adds a checksum to the header of an uncompressed page and changes what it is of.
func TestChecksum(t *testing.T) {
	root := fields("schema", required, nil, primitive("p", required, nil, parq.Types.Float, 0))
	made := nodesOf(t, root)
	b := written(t, root, made, content(made, rand.New(rand.NewPCG(1, 2)), 50), parq.WithDictionaryDefault(false), parq.WithStats(false))
	h, err := readHeader(b[4:])
	if err != nil || h.hasCRC {
		t.Fatal(h, err)
	}
	body := b[4+h.size:][:h.compressed]
	for _, wrong := range []uint32{0, 1} {
		// The fields of the header up to the compressed size, then the checksum, then the rest with a field number of one less to go.
		p := 4
		for range 3 {
			_, n := binary.Uvarint(b[p+1:])
			p += 1 + n
		}
		crc := int32(crc32.ChecksumIEEE(body) + wrong)
		field := binary.AppendUvarint([]byte{0x15}, uint64(uint32(crc<<1^crc>>31)))
		rest := bytes.Clone(b[p : 4+h.size])
		rest[0] -= 0x10
		page := slices.Concat(b[4:p], field, rest, body)
		c := &chunk{leaf: made.nodes[0].leaf, p: &part{src: inMemory(page), rows: 50, bytes: 1 << 20}, loaded: -1, dictAt: -1, plain: true,
			to: int64(len(page)), values: 50}
		_, err := c.advance()
		if (err != nil) != (wrong != 0) || err != nil && !strings.Contains(err.Error(), "checksum") {
			t.Errorf("a checksum that is wrong by %d: %v", wrong, err)
		}
	}
}

// TestCounts: columns that have fewer or more rows than the row group says are errors.
func TestCounts(t *testing.T) {
	root := small()
	made := nodesOf(t, root)
	b := written(t, root, made, content(made, rand.New(rand.NewPCG(1, 2)), 40))
	for _, delta := range []int64{-1, 1, 1 << 30} {
		f, err := Open(inMemory(b))
		if err != nil {
			t.Fatal(err)
		}
		f.groups[0].rows += delta
		for i := range f.Columns() {
			if err := f.Want(columns.Want{Columns: []int{i}}); err != nil {
				t.Fatal(err)
			}
			f.group = 0
			p, err := f.Next()
			for block := (columns.Block{Most: 9}); err == nil; {
				err = p.Next(&block)
			}
			if err == io.EOF || !fault(err) {
				t.Errorf("column %d, %d rows more: %v", i, delta, err)
			}
		}
	}
}

// TestMemory: a part keeps to its memory, also where pages of many columns are more than that, and says so if one page is.
func TestMemory(t *testing.T) {
	var of []schema.Node
	for i := range 60 {
		of = append(of, primitive(string(rune('a'+i%26))+string(rune('a'+i/26)), optional, nil, parq.Types.Float, 0))
	}
	of = append(of, primitive("text", optional, schema.StringLogicalType{}, parq.Types.ByteArray, 0),
		listOf("probs", optional, primitive("element", required, nil, parq.Types.Double, 0)))
	root := fields("schema", required, nil, of...)
	made := nodesOf(t, root)
	groups := content(made, rand.New(rand.NewPCG(1, 2)), 20000)
	for _, encoding := range []string{"plain", "dictionary", "split"} {
		for _, codec := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Uncompressed} {
			b := written(t, root, made, groups, append(encodings(made, encoding), parq.WithCompression(codec))...)
			f, err := Open(inMemory(b))
			if err != nil {
				t.Fatal(err)
			}
			var want columns.Want
			for i := range f.Columns() {
				want.Columns = append(want.Columns, i)
			}
			want.Bytes = 1 << 20
			if err := f.Want(want); err != nil {
				t.Fatal(err)
			}
			next, err := f.Next()
			if err != nil {
				t.Fatal(err)
			}
			p := next.(*part)
			got := map[*leaf][]entry{}
			block := columns.Block{Most: 1 << 20}
			if codec == compress.Codecs.Snappy {
				block.Most = 77 // of rows that are read ahead
			}
			for {
				if err := p.Next(&block); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if p.used > want.Bytes || p.used < 0 {
					t.Fatalf("%d bytes are used", p.used)
				}
				if held := p.held(); held > p.used {
					t.Fatalf("%d bytes are held, and %d counted", held, p.used)
				}
				for k := range block.Columns {
					for r := range block.Rows {
						shred(f.nodes[k], &block.Columns[k], r, 0, 0, got)
					}
				}
			}
			if !p.lean {
				t.Error("the pages were all kept")
			}
			same(t, f, got, made, groups)
		}
	}
	root = fields("schema", required, nil, primitive("p", required, nil, parq.Types.Double, 0))
	made = nodesOf(t, root)
	b := written(t, root, made, content(made, rand.New(rand.NewPCG(1, 2)), 1<<18), parq.WithDictionaryDefault(false),
		parq.WithDataPageSize(4<<20), parq.WithCompression(compress.Codecs.Snappy))
	if _, _, err := ours(inMemory(b), columns.Want{Bytes: 1 << 20}, 100); err == nil || !fault(err) ||
		!strings.Contains(err.Error(), "of memory, and 1 MiB are allowed") {
		t.Error(err)
	}
}

// held returns the memory of buffers.
func (p *part) held() (n int64) {
	n = int64(cap(p.scratch) + cap(p.dict))
	for _, c := range p.chunks {
		n += int64(cap(c.body)) + int64(cap(c.changed)) + int64(8*cap(c.ints)) + int64(strconv.IntSize/8*cap(c.ends))
		for _, g := range []*gathered{&c.dict, &c.out} {
			n += int64(cap(g.reps) + cap(g.defs) + 4*cap(g.codes) + cap(g.bytes) + strconv.IntSize/8*cap(g.ends))
			n += int64(8*cap(g.v.Float64) + 4*cap(g.v.Float32) + 2*cap(g.v.Float16) + 8*cap(g.v.Int64) + cap(g.v.Bool) + cap(g.v.Null))
		}
	}
	return n
}

// TestPartsAtOnce reads several parts at a time.
func TestPartsAtOnce(t *testing.T) {
	root := everything()
	made := nodesOf(t, root)
	b := written(t, root, made, content(made, rand.New(rand.NewPCG(1, 2)), 100, 100, 100, 100), parq.WithCompression(compress.Codecs.Zstd))
	f, err := Open(inMemory(b))
	if err != nil {
		t.Fatal(err)
	}
	var want columns.Want
	for i := range f.Columns() {
		want.Columns = append(want.Columns, i)
	}
	if err := f.Want(want); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for {
		p, err := f.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer p.Close()
			rows := 0
			block := columns.Block{Most: 9}
			for {
				err := p.Next(&block)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Error(err)
					return
				}
				rows += block.Rows
			}
			if rows != 100 {
				t.Errorf("%d rows", rows)
			}
		})
	}
	all.Wait()
}

// TestOnlyWanted: other columns are not read, in the order in which columns are wanted, also twice.
func TestOnlyWanted(t *testing.T) {
	root := small()
	made := nodesOf(t, root)
	groups := content(made, rand.New(rand.NewPCG(1, 2)), 30)
	b := written(t, root, made, groups, parq.WithDictionaryDefault(false))
	f, err := Open(inMemory(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Want(columns.Want{Columns: []int{4}}); err == nil {
		t.Error("a column that is not there is wanted")
	}
	if _, err := f.Next(); err == nil || !fault(err) {
		t.Error(err)
	}
	if err := f.Want(columns.Want{}); err != nil {
		t.Error(err)
	}
	if _, err := f.Next(); err != io.EOF {
		t.Errorf("without columns: %v", err)
	}
	if err := f.Want(columns.Want{Columns: []int{3, 0, 3}}); err != nil {
		t.Fatal(err)
	}
	p, err := f.Next()
	if err != nil {
		t.Fatal(err)
	}
	block := columns.Block{Most: 30}
	if err := p.Next(&block); err != nil {
		t.Fatal(err)
	}
	if len(block.Columns) != 3 || block.Columns[0].Elem == nil || len(block.Columns[1].Float32) != 30 || block.Columns[2].Elem == nil {
		t.Errorf("%+v", block)
	}
	if len(p.(*part).chunks) != 2 {
		t.Error("columns are read that are not wanted")
	}
}
