package parquet

import (
	"archive/zip"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// formats returns the folder of files that other software wrote, which stands beside the real sets.
func formats(t *testing.T) string {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the files are not part of the repository")
	}
	return filepath.Join(dir, "..", "formats")
}

// TestFormats reads files that other software wrote, and compares them with the library's reading.
func TestFormats(t *testing.T) {
	dir := formats(t)
	for _, folder := range []string{"parquet-testing/data", "parquet-testing/bad_data", "written"} {
		files, err := filepath.Glob(filepath.Join(dir, folder, "*.parquet"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", folder, files, err)
		}
		for _, name := range files {
			t.Run(folder+"/"+filepath.Base(name), func(t *testing.T) {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				for _, most := range []int{7, 100000} {
					f, got, err := ours(inMemory(b), columns.Want{Bytes: 64 << 20}, most)
					if f != nil && most == 7 {
						t.Log(typesOf(f))
					}
					if err != nil {
						if !fault(err) {
							t.Errorf("%v is no Fault", err)
						}
						t.Logf("refused: %+v", err)
						if folder == "written" {
							t.Error("it should be read")
						}
						return
					}
					compare(t, b, f, got)
				}
				if strings.HasPrefix(folder, "bad") {
					t.Log("read")
				}
			})
		}
	}
}

// truth reads the arrays p (1000,5) and y of a .npz file.
func truth(t *testing.T, name string) (p []float64, y []int64) {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, member := range z.File {
		r, err := member.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		body := b[10+int(binary.LittleEndian.Uint16(b[8:])):]
		switch member.Name {
		case "p.npy":
			p = make([]float64, 5000)
			floats64(p, body)
		case "y.npy":
			for i := range 1000 {
				y = append(y, int64(binary.LittleEndian.Uint64(body[8*i:])))
			}
		}
	}
	return p, y
}

// number returns a cell of floats.
func number(kind columns.Kind, v *columns.Vector, i int) float64 {
	switch kind {
	case columns.Float64:
		return v.Float64[i]
	case columns.Float32:
		return float64(v.Float32[i])
	case columns.Float16:
		h := v.Float16[i]
		if e := int(h >> 10 & 31); e > 0 {
			return math.Ldexp(float64(h&1023|1024), e-25)
		}
		return math.Ldexp(float64(h&1023), -24)
	}
	return math.NaN()
}

// TestTruth: the scores in files of other software are those that all of them have, rounded to the file's type.
func TestTruth(t *testing.T) {
	dir := filepath.Join(formats(t), "written")
	p, y := truth(t, filepath.Join(dir, "truth.npz"))
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	classes := []string{"cat", "dog", "fox", "owl", "rat"}
	compared := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(inMemory(b))
		if err != nil {
			t.Fatal(err)
		}
		var scores []int // five columns, or one of lists, a struct or a map
		label := -1
		var want columns.Want
		for i, c := range f.Columns() {
			want.Columns = append(want.Columns, i)
			switch {
			case strings.HasPrefix(c.Name, "prob") || len(c.Name) == 2 && (c.Name[0] == 'c' || c.Name[0] == 'p'):
				scores = append(scores, i)
			case c.Name == "label":
				label = i
			}
		}
		if err := f.Want(want); err != nil {
			t.Fatal(err)
		}
		row, labels, wrong, missing := 0, 0, 0, 0
		var worst float64
		for {
			part, err := f.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			block := columns.Block{Most: 100}
			for ; ; row += block.Rows {
				if err := part.Next(&block); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				for i := range block.Rows {
					if row+i >= 1000 {
						break
					}
					got := scoresOf(f, &block, scores, i)
					if len(got) != 5 {
						missing++
						continue
					}
					for k, v := range got {
						worst = max(worst, math.Abs(v-p[5*(row+i)+k]))
					}
					if label >= 0 && (block.Columns[label].Null == nil || !block.Columns[label].Null[i]) {
						labels++
						v := &block.Columns[label]
						class := int64(-1)
						switch f.Columns()[label].Kind {
						case columns.Int64:
							class = v.Int64[i]
						case columns.Float64:
							class = int64(v.Float64[i])
						case columns.Text:
							class = int64(slices.Index(classes, string(v.Text(i))))
						}
						if class != y[row+i] {
							wrong++
						}
					}
				}
			}
		}
		base := filepath.Base(name)
		if row-missing < 5 {
			t.Logf("%s: nothing to compare", base)
			continue
		}
		compared++
		t.Logf("%s: %d rows, %d without five scores, %d labels, %g apart at most", base, row, missing, labels, worst)
		most := 0.0
		switch kind := f.leafKinds(scores); {
		case kind[columns.Float16]:
			most = 1.0 / 2048
		case kind[columns.Float32]:
			most = 1.0 / (1 << 24)
		}
		if base == "spark_mixed.parquet" {
			missing -= 334 // sparse vectors
		}
		if wrong > 0 || worst > most || missing > 10 {
			t.Errorf("%s: %d labels are wrong, scores are %g apart, %d rows have no five scores", base, wrong, worst, missing)
		}
	}
	if compared < 35 {
		t.Errorf("%d files were compared", compared)
	}
}

func (f *File) leafKinds(cols []int) map[columns.Kind]bool {
	kinds := map[columns.Kind]bool{}
	for _, i := range cols {
		for _, l := range f.nodes[i].leaves {
			kinds[l.kind] = true
		}
	}
	return kinds
}

// scoresOf returns the scores of a row, or nothing if some are missing.
func scoresOf(f *File, b *columns.Block, cols []int, i int) (out []float64) {
	if len(cols) == 5 {
		for _, c := range cols {
			v := &b.Columns[c]
			if v.Null != nil && v.Null[i] {
				return nil
			}
			out = append(out, number(f.Columns()[c].Kind, v, i))
		}
		return out
	}
	if len(cols) != 1 {
		return nil
	}
	n, v := f.nodes[cols[0]], &b.Columns[cols[0]]
	if v.Null != nil && v.Null[i] {
		return nil
	}
	switch n.Kind {
	case columns.Struct:
		if len(n.children) == 4 {
			// Spark's vector: sparse if its type is 0.
			values := &v.Fields[3]
			for at := values.Offsets[i]; at < values.Offsets[i+1]; at++ {
				out = append(out, values.Elem.Float64[at])
			}
			return out
		}
		for k, c := range n.children {
			out = append(out, number(c.Kind, &v.Fields[k], i))
		}
	case columns.List, columns.Map:
		for at := v.Offsets[i]; at < v.Offsets[i+1]; at++ {
			if v.Elem.Null != nil && v.Elem.Null[at] {
				return nil
			}
			out = append(out, number(n.Elem.Kind, v.Elem, at))
		}
	}
	return out
}
