package predictions

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// sparse writes a header, followed by zeros that take no space on disk.
func sparse(t testing.TB, name, descr string, fortran bool, shape ...int) string {
	t.Helper()
	order := "False"
	if fortran {
		order = "True"
	}
	n := parseDType(descr).size
	for _, d := range shape {
		n *= d
	}
	head := npyHead(1, fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, pyTuple(shape)))
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, head, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(head)+n)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it reads a gigabyte")
	}
	collected(t)
	most := check.Size(0, 128, 256) << 20
	for _, c := range []struct {
		k, total int
		fortran  bool
	}{{100, most, false}, {1, most / 2, false}, {1 << 20, most, false}, {100, most, true}, {1 << 17, most, true}} {
		t.Run(fmt.Sprintf("K=%d/fortran=%v", c.k, c.fortran), func(t *testing.T) {
			n := c.total / 4 / c.k
			path := sparse(t, "p.npy", "<f4", c.fortran, n, c.k)
			labels := sparse(t, "l.npy", "<i8", false, n)
			weights := sparse(t, "w.npy", "<f2", false, n)
			heap := func() uint64 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			runtime.GC()
			before, most := heap(), uint64(0)
			r, err := Open([]string{path}, &Options{Labels: []string{labels}, Weights: []string{weights}, Decisions: []string{labels}, ConfidenceScores: []string{weights}})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			rows := 0
			for {
				c, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				rows += c.Rows
				c.Recycle()
				most = max(most, heap())
			}
			if rows != n || r.BytesRead() != int64(n*c.k*4) {
				t.Errorf("%d rows, %d bytes", rows, r.BytesRead())
			}
			if grown := int64(most) - int64(before); grown > 64<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			} else {
				t.Logf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}
