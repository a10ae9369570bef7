package safetensors

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// source makes a file of a header and what follows it.
func source(header string, data []byte) *bytes.Reader {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return bytes.NewReader(append(append(file, header...), data...))
}

// little is the bytes of a slice of numbers in little-endian order.
func little(values any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, values); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// clone copies what is valid until the next block only.
func clone(v columns.Vector) columns.Vector {
	c := columns.Vector{Float64: slices.Clone(v.Float64), Float32: slices.Clone(v.Float32), Float16: slices.Clone(v.Float16),
		Int64: slices.Clone(v.Int64), Bool: slices.Clone(v.Bool), Offsets: slices.Clone(v.Offsets)}
	if v.Elem != nil {
		e := clone(*v.Elem)
		c.Elem = &e
	}
	return c
}

// readAll reads columns in blocks of most rows and returns them whole.
func readAll(f *File, w columns.Want, most int) ([]columns.Vector, error) {
	if err := f.Want(w); err != nil {
		return nil, err
	}
	all := make([]columns.Vector, len(w.Columns))
	rows := int64(0)
	for {
		p, err := f.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		b := columns.Block{Most: most}
		for {
			err := p.Next(&b)
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, err
			}
			if b.Rows < 1 || b.Rows > most || len(b.Columns) != len(all) {
				return nil, fmt.Errorf("a block of %d rows and %d columns", b.Rows, len(b.Columns))
			}
			rows += int64(b.Rows)
			for i, v := range b.Columns {
				v, a := clone(v), &all[i]
				if v.Elem == nil {
					join(a, &v)
					continue
				}
				if a.Elem == nil {
					a.Elem, a.Offsets = new(columns.Vector), []int{0}
				}
				at := a.Offsets[len(a.Offsets)-1]
				for _, o := range v.Offsets[1:] {
					a.Offsets = append(a.Offsets, at+o)
				}
				join(a.Elem, v.Elem)
			}
		}
		if err := p.Close(); err != nil {
			return nil, err
		}
	}
	if rows != f.Rows() {
		return nil, fmt.Errorf("%d rows were read of %d", rows, f.Rows())
	}
	return all, nil
}

func join(a, v *columns.Vector) {
	a.Float64, a.Float32, a.Float16 = append(a.Float64, v.Float64...), append(a.Float32, v.Float32...), append(a.Float16, v.Float16...)
	a.Int64, a.Bool = append(a.Int64, v.Int64...), append(a.Bool, v.Bool...)
}

func TestTypes(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		dtype string
		data  []byte
		want  columns.Vector
	}{
		{"F64", little([]float64{.5, -1e300, inf, 3}), columns.Vector{Float64: []float64{.5, -1e300, inf, 3}}},
		{"F32", little([]float32{.5, -1e30, 0, 3}), columns.Vector{Float32: []float32{.5, -1e30, 0, 3}}},
		{"F16", little([]uint16{0x3c00, 1, 2, 0xffff}), columns.Vector{Float16: []uint16{0x3c00, 1, 2, 0xffff}}},
		{"BF16", little([]uint16{0x3f80, 0xbf00, 0x7f80, 1}), columns.Vector{Float32: []float32{1, -.5, float32(inf), math.Float32frombits(1 << 16)}}},
		{"I64", little([]int64{1, -2, math.MaxInt64, math.MinInt64}), columns.Vector{Int64: []int64{1, -2, math.MaxInt64, math.MinInt64}}},
		{"I32", little([]int32{1, -2, math.MaxInt32, math.MinInt32}), columns.Vector{Int64: []int64{1, -2, math.MaxInt32, math.MinInt32}}},
		{"I16", little([]int16{1, -2, math.MaxInt16, math.MinInt16}), columns.Vector{Int64: []int64{1, -2, math.MaxInt16, math.MinInt16}}},
		{"I8", little([]int8{1, -2, 127, -128}), columns.Vector{Int64: []int64{1, -2, 127, -128}}},
		{"U64", little([]uint64{1, 2, 3, math.MaxInt64}), columns.Vector{Int64: []int64{1, 2, 3, math.MaxInt64}}},
		{"U32", little([]uint32{1, 2, 3, math.MaxUint32}), columns.Vector{Int64: []int64{1, 2, 3, math.MaxUint32}}},
		{"U16", little([]uint16{1, 2, 3, 65535}), columns.Vector{Int64: []int64{1, 2, 3, 65535}}},
		{"U8", []byte{1, 2, 3, 255}, columns.Vector{Int64: []int64{1, 2, 3, 255}}},
		{"BOOL", []byte{0, 1, 1, 0}, columns.Vector{Bool: []bool{false, true, true, false}}},
	} {
		for _, shape := range []string{"4", "4,1", "2,2", "1,4"} {
			f, err := Open(source(fmt.Sprintf(`{"x":{"dtype":%q,"shape":[%s],"data_offsets":[0,%d]}}  `, c.dtype, shape, len(c.data)), c.data))
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if rows, width := 4, 0; shape != "4" {
				fmt.Sscanf(shape, "%d,%d", &rows, &width)
				want = columns.Vector{Elem: &c.want}
				for i := range rows + 1 {
					want.Offsets = append(want.Offsets, i*width)
				}
				if col := f.Columns()[0]; col.Kind != columns.List || col.Width != width || col.Elem.Kind != dtypes[c.dtype].kind {
					t.Errorf("%s (%s): column %+v", c.dtype, shape, col)
				}
			}
			for most := 1; most < 6; most++ {
				got, err := readAll(f, columns.Want{Columns: []int{0}, Bytes: 1 << 20}, most)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got[0], want) {
					t.Errorf("%s (%s) in blocks of %d: %+v, want %+v", c.dtype, shape, most, got[0], want)
				}
			}
			littleEndian = false // as on a machine with the other order
			got, err := readAll(f, columns.Want{Columns: []int{0}, Bytes: 1 << 20}, 3)
			littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
			if err != nil || !reflect.DeepEqual(got[0], want) {
				t.Errorf("%s (%s) without the direct way: %+v, %v", c.dtype, shape, got, err)
			}
		}
	}
}

// Values that need more than one buffer, in parts and blocks of odd sizes, are all there.
func TestMany(t *testing.T) {
	values := make([]int32, 3_000_001)
	for i := range values {
		values[i] = int32(i) * 7
	}
	f, err := Open(source(fmt.Sprintf(`{"x":{"dtype":"I32","shape":[3000001],"data_offsets":[0,%d]}}`, 4*len(values)), little(values)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(f, columns.Want{Columns: []int{0}, Bytes: 1 << 20}, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got[0].Int64 {
		if v != int64(values[i]) {
			t.Fatalf("value %d is %d", i, v)
		}
	}
	// A part holds no more than it may.
	if err := f.Want(columns.Want{Columns: []int{0}, Bytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	p, _ := f.Next()
	b := columns.Block{Most: 1 << 30}
	if err := p.Next(&b); err != nil || b.Rows != 1<<16 {
		t.Errorf("%d rows in a block, %v", b.Rows, err)
	}
}

func TestRefused(t *testing.T) {
	x := `"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	for _, c := range []struct {
		header string
		size   int
		reason string
	}{
		{`{` + x + `}`, 8, ""},
		{`{` + x + `,"__metadata__":{"a":"b","c":"d"}}   `, 8, ""},
		{`{` + x + `}`, 7, `tensor "x" ends at byte 8`},
		{`{` + x + `}`, 9, "the last 1 bytes"},
		{`{` + x + `,` + x + `}`, 8, `has the key "x" twice`},
		{`{"__metadata__":{"a":"b","a":"d"}}`, 0, `has the key "a" twice`},
		{`{"__metadata__":{"a":1}}`, 0, `is not a string`},
		{`{"__metadata__":[]}`, 0, `is not an object`},
		{`{"x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8, `has the key "dtype" twice`},
		{`{"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8, "does not have the size"},
		{`{"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8, "not a whole number"},
		{`{"x":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}`, 8, "not a whole number"},
		{`{"x":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]}}`, 8, "not a whole number"},
		{`{"x":{"dtype":"F32","shape":[4611686018427387904,4611686018427387904,4],"data_offsets":[0,8]}}`, 8, "too many elements"},
		{`{"x":{"dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8]}}`, 8, "does not have the size"},
		{`{"x":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}`, 1, "does not have the size"},
		{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8, "before its begin"},
		{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0]}}`, 8, "1 numbers, not 2"},
		{`{"x":{"dtype":"F32","shape":[2]}}`, 8, "lacks dtype, shape or data_offsets"},
		{`{"x":{"dtype":1,"shape":[2],"data_offsets":[0,8]}}`, 8, "is not a string"},
		{`{"x":{"dtype":"F32","shape":2,"data_offsets":[0,8]}}`, 8, "is not an array"},
		{`{"x":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}}`, 8, "is not a number"},
		{`{` + x + `,"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12, "within another tensor"},
		{`{` + x + `,"y":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}}`, 20, "4 bytes of the data before"},
		{`[]`, 0, "is not an object"},
		{``, 0, "ends too early"},
		{`{`, 0, "ends too early"},
		{`{"x":`, 0, "ends too early"},
		{`{} {}`, 0, "something follows"},
		{"{\"\xff\":1}", 0, "UTF-8"},
		{`{"x":{"dtype":"F99","shape":[2,3],"data_offsets":[0,8],"new":[{"a":1}]}}`, 8, ""},
		{`{"x":{"dtype":"F32","shape":[4611686018427387904,0],"data_offsets":[0,0]}}`, 0, ""},
		{`{"x":{"dtype":"F32","shape":[0,4611686018427387904],"data_offsets":[0,0]}}`, 0, ""},
		{`{"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4, ""},
		{`{}`, 0, ""},
	} {
		f, err := Open(source(c.header, make([]byte, c.size)))
		if c.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", c.header, err)
			}
			continue
		}
		var fault *columns.Fault
		if f != nil || !errors.As(err, &fault) || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v, want %q", c.header, err, c.reason)
		}
	}
	for _, c := range []struct{ file, reason string }{
		{"", "0 bytes"}, {"abc", "3 bytes"}, {"\xff\xff\xff\xff\xff\xff\xff\xff", "the format allows"}, {"\x09\x00\x00\x00\x00\x00\x00\x00{}", "only 2"},
	} {
		if _, err := Open(bytes.NewReader([]byte(c.file))); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%q: %v, want %q", c.file, err, c.reason)
		}
	}
}

func TestWant(t *testing.T) {
	f, err := Open(source(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"BOOL","shape":[2,2],"data_offsets":[8,12]},`+
		`"c":{"dtype":"U64","shape":[1],"data_offsets":[12,20]},"d":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[20,22]},`+
		`"e":{"dtype":"F32","shape":[1,1,1],"data_offsets":[22,26]},"f":{"dtype":"BF16","shape":[0,3],"data_offsets":[26,26]}}`,
		append(make([]byte, 10), 0, 2, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	if f.Rows() != -1 {
		t.Errorf("%d rows of tensors that differ", f.Rows())
	}
	if n := f.Columns()[4].Type.Name; n != "F32 of shape (1, 1, 1)" {
		t.Error(n)
	}
	for _, c := range []struct {
		columns []int
		bytes   int64
		reason  string
	}{
		{[]int{0}, 1 << 20, ""}, {[]int{5}, 1 << 20, ""}, {[]int{0, 0}, 1 << 20, ""},
		{[]int{1}, 1 << 20, "neither 0 nor 1"}, {[]int{2}, 1 << 20, "larger than 2^63-1"},
		{[]int{0, 2}, 1 << 20, `"c" has 1 rows, but "a" has 2`}, {[]int{3}, 1 << 20, `tensor "d", F8_E4M3 of shape (2), cannot be read; save`},
		{[]int{4}, 1 << 20, `cannot be read`}, {[]int{6}, 1 << 20, "no column 6"}, {nil, 1 << 20, "no tensor"}, {[]int{0}, 2, "takes 12 bytes"},
	} {
		_, err := readAll(f, columns.Want{Columns: c.columns, Bytes: c.bytes}, 10)
		if c.reason == "" && err != nil || c.reason != "" && (err == nil || !strings.Contains(err.Error(), c.reason)) {
			t.Errorf("%v: %v, want %q", c.columns, err, c.reason)
		}
		var fault *columns.Fault
		if slices.Equal(c.columns, []int{1}) && (!errors.As(err, &fault) || fault.Row != 1 || fault.Column != "b" || fault.Value != "2") {
			t.Errorf("%+v", fault)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Next(); err == nil || err == io.EOF {
		t.Errorf("Next of a closed file: %v", err)
	}
}

// small is a file of all kinds of tensors.
func small() []byte {
	header := `{"__metadata__":{"format":"pt"},"p":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},"y":{"dtype":"I64","shape":[3],"data_offsets":[24,48]},` +
		`"h":{"dtype":"BF16","shape":[3,1],"data_offsets":[48,54]},"b":{"dtype":"BOOL","shape":[3],"data_offsets":[54,57]}}`
	data := append(little([]float32{.5, .25, 1, 0, .125, 1}), little([]int64{0, 1, 2})...)
	r := source(header, append(append(data, little([]uint16{0x3f80, 0, 0xbf80})...), 0, 1, 1))
	all, _ := io.ReadAll(r)
	return all
}

// readEach reads each column that a file has, and fails if there is a panic or an error that is no Fault.
func readEach(t *testing.T, file []byte) {
	f, err := Open(bytes.NewReader(file))
	for i := 0; err == nil && i < len(f.Columns()); i++ {
		_, e := readAll(f, columns.Want{Columns: []int{i}, Bytes: 1 << 20}, 2)
		var fault *columns.Fault
		if e != nil && !errors.As(e, &fault) {
			t.Fatalf("%T %v", e, e)
		}
	}
	var fault *columns.Fault
	if err != nil && (!errors.As(err, &fault) || fault.Reason == "") {
		t.Fatalf("%T %v", err, err)
	}
}

// TestDamage flips each bit and cuts at each byte: an error or values, and never much memory.
func TestDamage(t *testing.T) {
	file := small()
	readEach(t, file)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range file {
		for bit := range 8 {
			file[i] ^= 1 << bit
			readEach(t, file)
			file[i] ^= 1 << bit
		}
		f, err := Open(bytes.NewReader(file[:i]))
		if err == nil || f != nil {
			t.Fatalf("%d of %d bytes are read", i, len(file))
		}
	}
	runtime.ReadMemStats(&after)
	if per := (after.TotalAlloc - before.TotalAlloc) / uint64(9*len(file)); per > 256<<10 { // most is the scratch
		t.Errorf("%d bytes allocated for a file of %d", per, len(file))
	}
}

// shorter ends where the file did not end when it was opened.
type shorter struct {
	*bytes.Reader
	size int64
}

func (s shorter) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > s.size {
		return 0, io.EOF
	}
	return s.Reader.ReadAt(p, at)
}

func TestShorter(t *testing.T) {
	f, err := Open(shorter{bytes.NewReader(small()), int64(len(small())) - 40})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(f, columns.Want{Columns: []int{1}, Bytes: 1 << 20}, 2); err == nil || !strings.Contains(err.Error(), "became shorter") {
		t.Error(err)
	}
}

// Two parts are read at a time, while the file gives out others.
func TestParallel(t *testing.T) {
	const rows, k = 1_000_000, 10
	values := make([]float32, rows*k)
	for i := range values {
		values[i] = float32(i % 1000)
	}
	f, err := Open(source(fmt.Sprintf(`{"x":{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,%d]}}`, rows, k, 4*len(values)), little(values)))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Want(columns.Want{Columns: []int{0}, Bytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	parts := make(chan columns.Part)
	sums := make([]float64, 2)
	var wait sync.WaitGroup
	for i := range sums {
		wait.Go(func() {
			for p := range parts {
				b := columns.Block{Most: 4096}
				for p.Next(&b) == nil {
					for _, v := range b.Columns[0].Elem.Float32 {
						sums[i] += float64(v)
					}
				}
				p.Close()
			}
		})
	}
	for n := 0; ; n++ {
		p, err := f.Next()
		if err == io.EOF {
			if n < 4 {
				t.Errorf("%d parts", n)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		parts <- p
	}
	close(parts)
	wait.Wait()
	if got := sums[0] + sums[1]; got != 499.5*rows*k {
		t.Errorf("sum %v", got)
	}
}

// written returns the folder of files that other software wrote. It is beside the real sets, which are not part of the repository.
func written(t *testing.T) string {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the files are not part of the repository")
	}
	return filepath.Join(dir, "..", "formats", "written")
}

// truth returns the arrays of float64 or int64 that the files hold.
func truth[T any](t *testing.T, dir, name string) []T {
	z, err := zip.OpenReader(filepath.Join(dir, "truth.npz"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	r, err := z.Open(name + ".npy")
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]T, (len(all)-128)/8)
	if err := binary.Read(bytes.NewReader(all[128:]), binary.LittleEndian, values); err != nil {
		t.Fatal(err)
	}
	return values
}

// float16 is the value of a binary16 number that is finite.
func float16(h uint16) float64 {
	v := math.Ldexp(float64(h&0x3ff|0x400), int(h>>10&31)-25)
	if h>>10&31 == 0 {
		v = math.Ldexp(float64(h&0x3ff), -24)
	}
	if h>>15 == 1 {
		v = -v
	}
	return v
}

func TestWritten(t *testing.T) {
	dir := written(t)
	p, y, w := truth[float64](t, dir, "p"), truth[int64](t, dir, "y"), truth[float64](t, dir, "w")
	for _, c := range []struct {
		file, scores, labels string
		relative             float64 // rounding
	}{
		{"f64", "probs", "labels", 0}, {"f32", "probs", "labels", 0x1p-24}, {"f16", "probs", "labels", 0x1p-11}, {"bf16", "probs", "labels", 0x1p-8},
		{"logits", "logits", "labels", 0x1p-19}, {"many", "probs", "y", 0x1p-24},
	} {
		file, err := os.ReadFile(filepath.Join(dir, c.file+".safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		column := func(name string) int {
			return slices.IndexFunc(f.Columns(), func(c columns.Column) bool { return c.Name == name })
		}
		got, err := readAll(f, columns.Want{Columns: []int{column(c.scores), column(c.labels)}, Bytes: 1 << 20}, 300)
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		if f.Columns()[column(c.scores)].Width != 5 || f.Rows() != 1000 || len(got[0].Offsets) != 1001 || !slices.Equal(got[1].Int64, y) {
			t.Errorf("%s: %+v", c.file, f.Columns())
		}
		scores := got[0].Elem.Float64
		for _, v := range got[0].Elem.Float32 {
			scores = append(scores, float64(v))
		}
		for _, v := range got[0].Elem.Float16 {
			scores = append(scores, float16(v))
		}
		for i, v := range scores {
			want := p[i]
			if c.file == "logits" { // logarithms of probabilities, but for a constant of each row
				v, want = math.Exp(v-scores[i/5*5]), p[i]/p[i/5*5]
			}
			if math.Abs(v-want) > max(c.relative*want, 0x1p-25) {
				t.Fatalf("%s: score %d is %v, want %v", c.file, i, v, want)
			}
		}
		if c.file == "many" {
			got, err := readAll(f, columns.Want{Columns: []int{column("weights"), column("flag")}, Bytes: 1 << 20}, 7)
			if err != nil || !slices.Equal(got[0].Float64, w) || len(got[1].Bool) != 1000 {
				t.Errorf("weights and flags: %v", err)
			}
		}
	}
}

// FuzzSafetensors reads any bytes: an error that is a Fault, or values.
func FuzzSafetensors(f *testing.F) {
	f.Add(small())
	f.Add([]byte{})
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	for _, header := range []string{
		`{"x":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}}`, `{"x":{"dtype":"U64","shape":[1],"data_offsets":[0,8]}}`,
		`{"x":{"dtype":"F32","shape":[4611686018427387904,0],"data_offsets":[0,0]}}`, `{"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`,
	} {
		b, _ := io.ReadAll(source(header, make([]byte, 8)))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, file []byte) { readEach(t, file) })
}

// BenchmarkRead compares the reader with a loop that only reads, from the page cache. Both look at no value.
func BenchmarkRead(b *testing.B) {
	const rows, k = 2_500_000, 10
	for _, dtype := range []string{"F32", "BF16"} {
		size := map[string]int{"F32": 4, "BF16": 2}[dtype]
		header := fmt.Sprintf(`{"x":{"dtype":%q,"shape":[%d,%d],"data_offsets":[0,%d]}}`, dtype, rows, k, rows*k*size)
		name := filepath.Join(b.TempDir(), "x.safetensors")
		all, _ := io.ReadAll(source(header, make([]byte, rows*k*size)))
		if err := os.WriteFile(name, all, 0o600); err != nil {
			b.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		defer file.Close()
		src := io.NewSectionReader(file, 0, int64(len(all)))
		b.Run(dtype+"/loop", func(b *testing.B) {
			b.SetBytes(int64(len(all)))
			buf := make([]byte, 4096*k*size)
			for b.Loop() {
				for at := int64(8 + len(header)); at < int64(len(all)); at += int64(len(buf)) {
					src.ReadAt(buf, at)
				}
			}
		})
		b.Run(dtype+"/reader", func(b *testing.B) {
			b.SetBytes(int64(len(all)))
			for b.Loop() {
				f, err := Open(src)
				if err != nil {
					b.Fatal(err)
				}
				if err := f.Want(columns.Want{Columns: []int{0}, Bytes: 64 << 20}); err != nil {
					b.Fatal(err)
				}
				block := columns.Block{Most: 4096}
				for p, err := f.Next(); err == nil; p, err = f.Next() {
					for p.Next(&block) == nil {
					}
					p.Close()
				}
			}
		})
	}
}
