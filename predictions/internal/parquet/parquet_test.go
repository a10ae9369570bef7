package parquet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	parq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/predictions/internal/columns"
)

func TestMain(m *testing.M) { check.Main(m) }

// same fails unless all leaves have the entries that were written.
func same(t *testing.T, f *File, got map[*leaf][]entry, made *File, want []map[*leaf][]stored) {
	t.Helper()
	leaves := f.allLeaves()
	for i, l := range made.allLeaves() {
		if l.kind == columns.Other {
			continue
		}
		g := got[leaves[i]]
		n := 0
		for _, group := range want {
			for _, e := range group[l] {
				if n < len(g) && g[n] != e.entry {
					t.Errorf("%s: level %d is %v, want %v", l.path, n, g[n], e.entry)
					return
				}
				n++
			}
		}
		if n != len(g) {
			t.Errorf("%s: %d levels, want %d", l.path, len(g), n)
		}
	}
}

// encodings returns options that write all columns with an encoding where their type allows it.
func encodings(f *File, name string) (o []parq.WriterProperty) {
	if name == "dictionary" || name == "fallback" {
		for _, l := range f.allLeaves() {
			o = append(o, parq.WithDictionaryCostFallbackFor(l.path, false))
		}
		if name == "fallback" {
			o = append(o, parq.WithDictionaryPageSizeLimit(200))
		}
		return o
	}
	o = append(o, parq.WithDictionaryDefault(false))
	for _, l := range f.allLeaves() {
		set := func(e parq.Encoding) { o = append(o, parq.WithEncodingFor(l.path, e)) }
		switch {
		case name == "split" && l.size > 0 && l.physical != physicalInt96:
			set(parq.Encodings.ByteStreamSplit)
		case name == "delta" && (l.physical == physicalInt32 || l.physical == physicalInt64):
			set(parq.Encodings.DeltaBinaryPacked)
		case name == "delta" && l.physical == physicalBytes:
			set(parq.Encodings.DeltaLengthByteArray)
		case name == "prefixes" && l.physical == physicalBytes:
			set(parq.Encodings.DeltaByteArray)
		case name == "rle" && l.physical == physicalBoolean:
			set(parq.Encodings.RLE)
		}
	}
	return o
}

var (
	allEncodings = []string{"plain", "dictionary", "fallback", "split", "delta", "prefixes", "rle"}
	allCodecs    = []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd,
		compress.Codecs.Lz4Raw, compress.Codecs.Brotli}
)

// TestAll writes every type in every encoding and codec, in both versions of pages, small and large, and reads it in blocks of several
// sizes. What is read is what was written, and what the library reads.
func TestAll(t *testing.T) {
	root := everything()
	made := nodesOf(t, root)
	for k, encoding := range allEncodings {
		for i, codec := range allCodecs {
			if testing.Short() && i != k%len(allCodecs) {
				continue
			}
			for _, version := range []parq.DataPageVersion{parq.DataPageV1, parq.DataPageV2} {
				t.Run(fmt.Sprintf("%s/%v/v%d", encoding, codec, version+1), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(i), uint64(version)))
					groups := content(made, rng, 150, 1, 90)
					options := append(encodings(made, encoding), parq.WithCompression(codec), parq.WithDataPageVersion(version))
					for _, page := range []int64{100, 1 << 20} {
						few := int64(7)
						if encoding == "rle" {
							few = 1000 // the library's writer packs booleans wrongly where batches meet
						}
						b := written(t, root, made, groups, append(options, parq.WithDataPageSize(page), parq.WithBatchSize(few))...)
						for _, most := range []int{1, 13, 1000} {
							f, got, err := ours(inMemory(b), columns.Want{}, most)
							if err != nil {
								t.Fatalf("pages of %d bytes, %d rows: %v", page, most, err)
							}
							same(t, f, got, made, groups)
							if most == 13 {
								compare(t, b, f, got)
							}
						}
					}
				})
			}
		}
	}
}

// TestFixedLists: lists without missing or empty cells, and one that has them later on, across pages and blocks.
func TestFixedLists(t *testing.T) {
	root := fields("schema", required, nil,
		listOf("all", optional, primitive("element", optional, nil, parq.Types.Float, 0)),
		listOf("most", optional, primitive("element", optional, nil, parq.Types.Float, 0)),
		listOf("pairs", optional, fields("element", optional, nil, primitive("a", optional, nil, parq.Types.Float, 0),
			primitive("b", required, nil, parq.Types.Double, 0))))
	made := nodesOf(t, root)
	leaves := made.allLeaves()
	group := map[*leaf][]stored{}
	for i := range 3000 {
		for k := range 10 {
			for _, l := range leaves {
				v := any(float32(10*i+k) / 3)
				if l.physical == physicalDouble {
					v = float64(10*i+k) / 3
				}
				e := stored{entry{min(k, 1), l.maxDef, l.as(v)}, v}
				if l == leaves[1] && i >= 1200 && (i+k)%97 == 0 || l == leaves[2] && i == 2900 {
					e = stored{entry{min(k, 1), l.maxDef - 1, nil}, nil}
				}
				group[l] = append(group[l], e)
			}
		}
	}
	groups := []map[*leaf][]stored{group}
	for _, encoding := range []string{"plain", "dictionary", "fallback"} {
		b := written(t, root, made, groups, append(encodings(made, encoding), parq.WithDataPageSize(5000), parq.WithBatchSize(7))...)
		for _, most := range []int{1, 100, 1111, 3000} {
			f, got, err := ours(inMemory(b), columns.Want{}, most)
			if err != nil {
				t.Fatal(err)
			}
			same(t, f, got, made, groups)
			if most == 100 {
				compare(t, b, f, got)
			}
		}
	}
}

// TestCodes: texts of a dictionary have codes as long as a block has no other pages, and the same texts then.
func TestCodes(t *testing.T) {
	root := fields("schema", required, nil, primitive("label", optional, schema.EnumLogicalType{}, parq.Types.ByteArray, 0))
	made := nodesOf(t, root)
	groups := content(made, rand.New(rand.NewPCG(1, 2)), 2000)
	for _, c := range []struct {
		limit        int64
		coded, plain bool
	}{{1 << 20, true, false}, {1000, true, true}, {1, false, true}} {
		b := written(t, root, made, groups, append(encodings(made, "dictionary"), parq.WithDictionaryPageSizeLimit(c.limit),
			parq.WithDataPageSize(500), parq.WithBatchSize(10))...)
		f, got, err := ours(inMemory(b), columns.Want{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		same(t, f, got, made, groups)
		if err := f.Want(columns.Want{Columns: []int{0}}); err != nil {
			t.Fatal(err)
		}
		f.group = 0
		p, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		coded, plain := false, false
		for block := (columns.Block{Most: 100}); p.Next(&block) == nil; {
			coded, plain = coded || block.Columns[0].Codes != nil, plain || block.Columns[0].Codes == nil
		}
		if coded != c.coded && c.limit != 1 || plain != c.plain {
			t.Errorf("a dictionary of up to %d bytes: codes %v, texts %v", c.limit, coded, plain)
		}
	}
}

// TestBitPacked: levels of old writers are the same numbers, highest bit first.
func TestBitPacked(t *testing.T) {
	// The example of the format: 0 to 7 in three bits each.
	data := fromBitPacked([]byte{0b00000101, 0b00111001, 0b01110111}, 8, 3)
	got := make([]uint8, 8)
	if err := read(new(hybrid), got, data, 3); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if int(v) != i {
			t.Fatal(got)
		}
	}
}

// TestDecimals: a decimal is rounded once, from any number of bytes.
func TestDecimals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		b := make([]byte, rng.IntN(33))
		for i := range b {
			b[i] = byte(rng.Uint32())
			if rng.IntN(3) == 0 {
				b[i] = []byte{0, 0xff}[rng.IntN(2)]
			}
		}
		l := &leaf{kind: columns.Float64, decimal: true, scale: rng.IntN(60)}
		v, ok := scaledBytes(b, l.scale)
		if got := math.Float64bits(v); !ok || got != l.bytes(b) {
			t.Fatalf("%x over 10^%d: %v, want %v", b, l.scale, v, math.Float64frombits(l.bytes(b).(uint64)))
		}
		n := int64(rng.Uint64()) >> rng.IntN(64)
		if got := math.Float64bits(scaled(n, l.scale)); got != l.integer(n) {
			t.Fatalf("%d over 10^%d", n, l.scale)
		}
	}
}
