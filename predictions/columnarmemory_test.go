package predictions

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestChunksStay: chunks that are not recycled keep their rows while others are read, also where they took the reader's memory, and chunks come in
// the order of rows although several goroutines are ahead of Next.
func TestChunksStay(t *testing.T) {
	const rows, k = 700_000, 10 // some parts of 8 MiB
	head := fmt.Sprintf(`{"probs":{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,%d]},"y":{"dtype":"I32","shape":[%d],"data_offsets":[%d,%d]}}`,
		rows, k, 4*rows*k, rows, 4*rows*k, 4*rows*(k+1))
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	b = append(b, head...)
	for i := range rows * k {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i)))
	}
	for i := range rows {
		b = binary.LittleEndian.AppendUint32(b, uint32(i%k))
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	o := &TableOptions{Kind: metrics.Logits, Buffers: 4}
	o.Columns.Scores, o.Columns.Label = []string{"probs"}, "y"
	r, err := OpenTable([]string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	right := func(c *metrics.Chunk) bool {
		for i := range c.Rows {
			row := int(c.First) + i
			if c.Labels[i] != int32(row%k) {
				return false
			}
			for j, v := range c.F32[i*k : (i+1)*k] {
				if v != float32(row*k+j) {
					return false
				}
			}
		}
		return true
	}
	var held []*metrics.Chunk
	next := int64(0)
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.First != next {
			t.Fatalf("row %d follows, not %d", c.First, next)
		}
		next += int64(c.Rows)
		if held = append(held, c); len(held) == leastChunks {
			if !right(held[0]) {
				t.Fatalf("other values in the rows from %d on", held[0].First)
			}
			held[0].Recycle()
			held = held[1:]
		}
	}
	for _, c := range held {
		if !right(c) {
			t.Errorf("other values in the rows from %d on", c.First)
		}
	}
	if next != rows {
		t.Errorf("%d rows, not %d", next, rows)
	}
}
