package parquet

import (
	"math/rand/v2"
	"testing"

	parq "github.com/apache/arrow-go/v18/parquet"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// FuzzRead: any bytes end with a Fault or with values, which blocks of one row have as well.
func FuzzRead(f *testing.F) {
	root := small()
	made := nodesOf(f, root)
	for i, encoding := range []string{"plain", "fallback", "split", "delta"} {
		f.Add(written(f, root, made, content(made, rand.New(rand.NewPCG(1, uint64(i))), 9, 4), append(encodings(made, encoding),
			parq.WithCompression(allCodecs[i]), parq.WithDataPageVersion(parq.DataPageVersion(i&1)), parq.WithStats(false))...))
	}
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		readBad(t, b)
		file, once, err := ours(inMemory(b), columns.Want{}, 1000)
		if err != nil {
			return
		}
		_, again, err := ours(inMemory(b), columns.Want{}, 1)
		if err != nil {
			t.Fatalf("blocks of a row: %v", err)
		}
		n := 0
		for _, l := range file.allLeaves() {
			n += len(once[l])
		}
		m := 0
		for _, all := range again {
			m += len(all)
		}
		if n != m {
			t.Fatalf("%d levels, and %d in blocks of a row", n, m)
		}
	})
}
