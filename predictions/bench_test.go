package predictions

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// benchFile writes n x k values of a type (floats are random in [0, 1)), and labels.
func benchFile(b *testing.B, descr string, fortran bool, n, k int, box string) (path, labels string) {
	b.Helper()
	dir := b.TempDir()
	order := "False"
	if fortran {
		order = "True"
	}
	head := npyHead(1, fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }", descr, order, n, k))
	write := func(w io.Writer) {
		w.Write(head)
		rng := rand.New(rand.NewPCG(1, 2))
		block := make([]byte, 8<<20)
		for i := 0; i < len(block); i += 4 {
			binary.NativeEndian.PutUint32(block[i:], math.Float32bits(rng.Float32()))
		}
		for left := n * k * parseDType(descr).size; left > 0; {
			m := min(left, len(block))
			if _, err := w.Write(block[:m]); err != nil {
				b.Fatal(err)
			}
			left -= m
		}
	}
	path = filepath.Join(dir, "scores."+box)
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if box == "npy" {
		write(w)
	} else {
		z := zip.NewWriter(w)
		m, err := z.CreateHeader(&zip.FileHeader{Name: "probs.npy", Method: map[string]uint16{"stored.npz": zip.Store, "deflated.npz": zip.Deflate}[box]})
		if err != nil {
			b.Fatal(err)
		}
		write(m)
		z.Close()
	}
	w.Flush()
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	labels = filepath.Join(dir, "labels.npy")
	if err := os.WriteFile(labels, npy(1, "<i4", false, []int{n}, label(max(k, 2))), 0o600); err != nil {
		b.Fatal(err)
	}
	return path, labels
}

// BenchmarkRead streams 256 MiB of scores from the page cache, or 64 MiB if they are deflated.
func BenchmarkRead(b *testing.B) {
	for _, box := range []string{"npy", "stored.npz", "deflated.npz"} {
		for _, order := range []string{"C", "F"} {
			for _, t := range []struct{ name, descr string }{{"f32", "<f4"}, {"f32swapped", ">f4"}, {"f64", "<f8"}, {"f16", "<f2"}} {
				for _, k := range []int{1, 10, 1000} {
					if (box != "npy" || k == 1) && t.name != "f32" || k == 1 && order == "F" {
						continue
					}
					b.Run(fmt.Sprintf("file=%s/order=%s/dtype=%s/K=%d", box, order, t.name, k), func(b *testing.B) {
						total := 256 << 20
						if box == "deflated.npz" {
							total = 64 << 20
						}
						n := total / k / parseDType(t.descr).size
						path, labels := benchFile(b, t.descr, order == "F", n, k, box)
						b.SetBytes(int64(n * k * parseDType(t.descr).size))
						b.ReportAllocs()
						for b.Loop() {
							r, err := Open([]string{path}, &Options{Labels: []string{labels}})
							if err != nil {
								b.Fatal(err)
							}
							for {
								c, err := r.Next()
								if err == io.EOF {
									break
								}
								if err != nil {
									b.Fatal(err)
								}
								c.Recycle()
							}
							r.Close()
						}
					})
				}
			}
		}
	}
}

// BenchmarkReadMembers streams 256 MiB of an ensemble's float32 scores from the page cache.
func BenchmarkReadMembers(b *testing.B) {
	for _, axis := range []int{0, 1} {
		for _, order := range []string{"C", "F"} {
			for _, s := range [][2]int{{8, 10}, {8, 1000}, {100, 10}, {1000, 1}} {
				m, k := s[0], s[1]
				b.Run(fmt.Sprintf("axis=%d/order=%s/M=%d/K=%d", axis, order, m, k), func(b *testing.B) {
					n := 256 << 20 / 4 / m / k
					// The values in a benchmark's file are the same for any shape.
					path, _ := benchFile(b, "<f4", false, n*m, k, "npy")
					shape := []int{m, n, k}
					if axis == 1 {
						shape = []int{n, m, k}
					}
					fortran := map[string]string{"C": "False", "F": "True"}[order]
					head := npyHead(1, fmt.Sprintf("{'descr': '<f4', 'fortran_order': %s, 'shape': %s, }", fortran, pyTuple(shape)))
					f, err := os.OpenFile(path, os.O_WRONLY, 0)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := f.WriteAt(head, 0); err != nil || len(head) != 128 {
						b.Fatal(err, len(head))
					}
					f.Close()
					b.SetBytes(int64(n * k * m * 4))
					b.ReportAllocs()
					for b.Loop() {
						r, err := OpenMembers([]string{path}, &Options{NoLabels: true, MemberAxis: axis})
						if err != nil {
							b.Fatal(err)
						}
						for {
							c, err := r.Next()
							if err == io.EOF {
								break
							}
							if err != nil {
								b.Fatal(err)
							}
							c.Recycle()
						}
						r.Close()
					}
				})
			}
		}
	}
}
