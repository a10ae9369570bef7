package jsonlines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// arrays returns lines with arrays of k probabilities and a label, as json.dumps writes them, of numbers with so many bits.
func arrays(rows, k, size int) []byte {
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
			b = strconv.AppendFloat(b, p[j]/sum, 'g', -1, size)
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

// BenchmarkArrays reads lines of 143 and of 235 bytes.
func BenchmarkArrays(b *testing.B) {
	for _, size := range []int{32, 64} {
		b.Run(strconv.Itoa(size), func(b *testing.B) { benchmark(b, arrays(70_000, 10, size), "probs", "label") })
	}
}

// BenchmarkLabel skips the array.
func BenchmarkLabel(b *testing.B) { benchmark(b, arrays(70_000, 10, 64), "label") }

// BenchmarkWhole reads one array of rows.
func BenchmarkWhole(b *testing.B) {
	t := bytes.ReplaceAll(bytes.TrimSpace(arrays(70_000, 10, 32)), []byte("\n"), []byte(",\n"))
	benchmark(b, append(append([]byte("["), t...), ']'), "probs", "label")
}

// BenchmarkPairs reads what Hugging Face's pipelines return.
func BenchmarkPairs(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	var t []byte
	for range 50_000 {
		t = append(t, `{"scores": [`...)
		for i, j := range r.Perm(5) {
			if i > 0 {
				t = append(t, ", "...)
			}
			t = append(t, `{"label": "`...)
			t = append(t, []string{"cat", "dog", "fox", "owl", "rat"}[j]...)
			t = append(t, `", "score": `...)
			t = append(strconv.AppendFloat(t, r.Float64(), 'g', -1, 64), '}')
		}
		t = append(t, "]}\n"...)
	}
	benchmark(b, t, "scores")
}

// BenchmarkFields reads a field a class, and skips others.
func BenchmarkFields(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	var t []byte
	for i := range 50_000 {
		t = fmt.Appendf(t, `{"id":"row-%d","text":"The quick brown fox jumps over the lazy dog, again and again.","a":%g,"b":%g,"c":%g,"label":"b"}`+"\n",
			i, r.Float64(), r.Float64(), r.Float64())
	}
	benchmark(b, t, "a", "b", "c", "label")
}
