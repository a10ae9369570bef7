package jsonlines

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// arrays returns lines with arrays of k probabilities and a label, as json.dumps writes them.
func arrays(rows, k int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for range rows {
		b = append(b, `{"probs": [`...)
		p, sum := make([]float64, k), 0.0
		for j := range p {
			p[j] = r.ExpFloat64()
			sum += p[j]
		}
		for j := range p {
			if j > 0 {
				b = append(b, ", "...)
			}
			b = strconv.AppendFloat(b, p[j]/sum, 'g', -1, 64)
		}
		b = append(b, `], "label": `...)
		b = strconv.AppendInt(b, r.Int64N(int64(k)), 10)
		b = append(b, "}\n"...)
	}
	return b
}

func benchmark(b *testing.B, text []byte, names ...string) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open(bytes.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		var want []int
		for _, n := range names {
			c, ok := f.Path(n)
			if !ok {
				b.Fatal(n)
			}
			want = append(want, c)
		}
		if err := f.Want(columns.Want{Columns: want}); err != nil {
			b.Fatal(err)
		}
		for {
			p, err := f.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			block := columns.Block{Most: 4096}
			for err = p.Next(&block); err == nil; err = p.Next(&block) {
			}
			if err != io.EOF {
				b.Fatal(err)
			}
			p.Close()
		}
	}
}

func BenchmarkArrays(b *testing.B) { benchmark(b, arrays(70_000, 10), "probs", "label") }
func BenchmarkLabel(b *testing.B)  { benchmark(b, arrays(70_000, 10), "label") }
func BenchmarkWhole(b *testing.B) {
	t := bytes.ReplaceAll(bytes.TrimSpace(arrays(70_000, 10)), []byte("\n"), []byte(",\n"))
	benchmark(b, append(append([]byte("["), t...), ']'), "probs", "label")
}
