package parquet

import (
	"fmt"
	"math/rand/v2"
	"testing"

	parq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

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
	if name == "dictionary" {
		return nil
	}
	if name == "fallback" {
		return []parq.WriterProperty{parq.WithDictionaryPageSizeLimit(200)}
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
	for _, encoding := range allEncodings {
		for i, codec := range allCodecs {
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
