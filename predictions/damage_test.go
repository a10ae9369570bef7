package predictions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/roles"
)

// damagedFile is a small file, and how it is read.
type damagedFile struct {
	name string
	data []byte
	open func(path string) (reader, error)
}

// reader is what all readers of one model have.
type reader interface {
	metrics.Source
	io.Closer
}

// utf16Of returns text as UTF-16 with a mark.
func utf16Of(ascii string) []byte {
	b := []byte("\xff\xfe")
	for _, c := range []byte(ascii) {
		b = append(b, c, 0)
	}
	return b
}

// writtenTable returns a table of three rows in a format.
func writtenTable(t *testing.T, extension string) []byte {
	t.Helper()
	f, _ := TableFormatOf("t" + extension)
	var b bytes.Buffer
	w, err := NewTableWriter(&b, f, []Column{{"p_cat", Float64Column}, {"p_dog", Float32Column}, {"y", TextColumn}, {"w", Int64Column}, {"ok", BoolColumn}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(3, []Cells{
		{Float64: []float64{.25, .5, 1}}, {Float32: []float32{.75, .5, 0}}, {Bytes: []byte("catdogcat"), Ends: []int{3, 6, 9}},
		{Int64: []int64{1, 2, 3}, Missing: []bool{false, true, false}}, {Bool: []bool{true, false, true}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func damagedFiles(t *testing.T) []damagedFile {
	prefix := "p_"
	table := func(want roles.Want) func(path string) (reader, error) {
		return func(path string) (reader, error) {
			return OpenTable([]string{path}, &TableOptions{Columns: want, BufferBytes: 4096, Buffers: 2, PartBytes: 1 << 20})
		}
	}
	classes := table(roles.Want{Prefix: &prefix, Label: "y", Weight: "w", Groups: []string{"ok"}})
	list := table(roles.Want{Scores: []string{"s"}, Label: "y.i", Classes: []string{"a", "b"}})
	array := func(path string) (reader, error) {
		return Open([]string{path}, &Options{BufferBytes: 4096, Labels: []string{path}})
	}
	// The array is also its own labels: 0 and 1.
	labels := npy(1, "<f4", false, []int{3}, func(i int) float64 { return float64(i % 2) })
	head := `{"probs":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},"y":{"dtype":"I32","shape":[3],"data_offsets":[24,36]}}`
	tensors := append([]byte{byte(len(head)), 0, 0, 0, 0, 0, 0, 0}, head+"\x00\x00\x80\x3e\x00\x00\x40\x3f\x00\x00\x00\x3f\x00\x00\x00\x3f\x00\x00\x80\x3f\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	hub := "location,target,output_type,output_type_id,value\n01,t,quantile,0.1,1\n01,t,quantile,0.9,3\n02,t,quantile,0.1,1.5\n02,t,quantile,0.9,4\n"
	oracle := filepath.Join(t.TempDir(), "oracle.csv")
	if err := os.WriteFile(oracle, []byte("location,target,oracle_value\n01,t,2\n02,t,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	models := func(layout ModelLayout, model string, oracles ...string) func(path string) (reader, error) {
		return func(path string) (reader, error) {
			o := &ModelOptions{Layout: layout, Model: model, Output: OutputQuantile, Oracle: oracles, Groups: []string{"target"}, Keys: true, Memory: 1 << 20}
			if layout == Hubverse {
				o.Target = "t"
			}
			if _, err := ListModels([]string{path}, o); err != nil {
				return nil, err
			}
			return OpenModel([]string{path}, o)
		}
	}
	return []damagedFile{
		{"t.csv", []byte("p_cat,p_dog,y,w,ok\n.25,.75,cat,1,true\n.5,.5,\"dog\",,false\n1,0e0,cat,3,true\n"), classes},
		{"utf16.csv", utf16Of("p_cat;p_dog;y;w;ok\r\n,25;,75;cat;1;true\r\n1;0;cat;3;true\r\n"), classes},
		{"t.parquet", writtenTable(t, ".parquet"), classes},
		{"t.arrow", writtenTable(t, ".arrow"), classes},
		{"t.arrows", writtenTable(t, ".arrows"), classes},
		{"t.csv.gz", writtenTable(t, ".csv.gz"), classes},
		{"t.csv.zst", writtenTable(t, ".csv.zst"), classes},
		{"t.safetensors", tensors, table(roles.Want{Scores: []string{"probs"}, Label: "y"})},
		{"t.jsonl", []byte("{\"s\": [0.25, 0.75], \"y\": {\"i\": 1}}\n{\"s\": [NaN, 1e0], \"y\": {\"i\": 0}}\n"), list},
		{"t.json", []byte("[{\"s\": [{\"label\": \"b\", \"score\": 0.75}, {\"label\": \"a\", \"score\": 0.25}], \"y\": {\"i\": 1}},\n{\"s\": [{\"label\": \"a\", \"score\": 0.5}, {\"label\": \"b\", \"score\": 0.5}], \"y\": {\"i\": 0}}]\n"), list},
		{"t.npy", labels, array},
		{"t.npz", npz(false, entry{"probs.npy", npy(1, "<f4", true, []int{3, 2}, func(int) float64 { return .5 })}, entry{"labels.npy", labels}), array},
		{"deflated.npz", npz(true, entry{"probs.npy", npy(1, "<f4", false, []int{3, 2}, func(int) float64 { return .5 })}, entry{"labels.npy", labels}), array},
		{"2026-01-01-m.csv", []byte(hub), models(Hubverse, "m", oracle)},
		{"nixtla.csv", []byte("unique_id,ds,target,y,M,M-lo-90,M-hi-90\na,2020-01-01,t,1,1,0,2\na,2020-01-02,t,3,1.5,-1,2e0\n"), models(Nixtla, "M")},
	}
}

// TestDamagedFiles reads every truncation of a small file of each format, and every change of a bit of it, as eval and inspect do: values, or
// an Error with a reason, in little time and memory.
func TestDamagedFiles(t *testing.T) {
	for _, f := range damagedFiles(t) {
		t.Run(f.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), f.name)
			read := func(b []byte) (rows int, err error) {
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				r, err := f.open(path)
				if err != nil {
					return 0, err
				}
				defer r.Close()
				for {
					c, err := r.Next()
					if err == io.EOF {
						return rows, nil
					}
					if err != nil {
						return rows, err
					}
					rows += c.Rows
					if c.Recycle != nil {
						c.Recycle()
					}
				}
			}
			inspect := func() error {
				if HasColumns(path) || IsTable(path) {
					_, err := InspectTable(path)
					return err
				}
				_, err := Inspect(path)
				return err
			}
			if rows, err := read(f.data); err != nil || rows < 2 {
				t.Fatalf("%d rows, %v", rows, err)
			}
			if err := inspect(); err != nil {
				t.Fatal(err)
			}
			fine := allocated(func() { read(f.data); inspect() })
			try := func(what string, b []byte) {
				t.Helper()
				watch := time.AfterFunc(time.Minute, func() { panic(f.name + " " + what + ": still being read after a minute") })
				defer watch.Stop()
				n := allocated(func() {
					_, err := read(b)
					for _, err := range []error{err, inspect()} {
						var e *Error
						if err != nil && (!errors.As(err, &e) || e.Reason == "" || e.File == "" || strings.ContainsAny(err.Error(), "\n\x00")) {
							t.Fatalf("%s: %T %q", what, err, err)
						}
					}
				})
				// A window of zstd is as long as its header says, up to zstdWindow and a block, and it is not touched until it is filled.
				most := fine + 8<<20
				if strings.HasSuffix(f.name, ".zst") {
					most += zstdWindow
				}
				if n > most {
					t.Errorf("%s: %d bytes allocated, and %d for the whole file", what, n, fine)
				}
			}
			for n := range f.data {
				try(fmt.Sprint("cut after ", n), f.data[:n])
			}
			step := 1
			if testing.Short() {
				step = 13
			}
			for i := 0; i < 8*len(f.data); i += step {
				b := bytes.Clone(f.data)
				b[i/8] ^= 1 << (i % 8)
				try(fmt.Sprintf("bit %d of byte %d changed", i%8, i/8), b)
			}
		})
	}
}
