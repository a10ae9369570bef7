package predictions

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		e    Error
		want string
	}{
		{Error{File: "p.npy", Row: 3, Column: 4, Reason: "bad", Remedy: "mend it"}, "p.npy: row 3, column 4: bad; mend it"},
		{Error{File: "p.npy", Row: 0, Column: -1, Reason: "bad"}, "p.npy: row 0: bad"},
		{Error{Row: -1, Column: -1, Reason: "bad"}, "bad"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// dict returns an .npy with 400 bytes of data and any header text.
func dict(text string) []byte { return append(npyHead(1, text), make([]byte, 400)...) }

// good is a 10 x 10 float32 array.
var good = dict("{'descr': '<f4', 'fortran_order': False, 'shape': (10, 10), }")

func TestBadScores(t *testing.T) {
	patch := func(b []byte, at int, with ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], with)
		return b
	}
	typed := func(descr string) []byte {
		return dict("{'descr': " + descr + ", 'fortran_order': False, 'shape': (10, 10), }")
	}
	shaped := func(shape string) []byte {
		return dict("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }")
	}
	torch := npz(false, entry{"model/data.pkl", []byte("\x80\x02")}, entry{"model/data/0", make([]byte, 400)})
	boxed := npz(false, entry{"probs.npy", good}, entry{"labels.npy", npy(1, "<i4", false, []int{10}, ones)})
	safetensors := append(binary.LittleEndian.AppendUint64(nil, 64), `{"probs":{"dtype":"F32","shape":[10,10],"data_offsets":[0,400]}}`...)
	for _, c := range []struct {
		name string
		data []byte
		want []string
	}{
		{"truncated", npy(1, "<f4", false, []int{10000, 10}, score)[:128+123456],
			[]string{"bad.npy: truncated: header says 10000 x 10 float32 = 400000 bytes of data, file has 123456 (row 3086 is the first incomplete one); write it again with numpy.save"}},
		{"no data at all", good[:128], []string{"file has 0 (row 0 is the first incomplete one)"}},
		{"trailing bytes", append(bytes.Clone(good), good...), []string{"too long: header says 10 x 10 float32 = 400 bytes of data, file has 928", "an .npy file holds one array"}},
		{"empty", nil, []string{"bad.npy: empty file"}},
		{"cut in the magic", good[:4], []string{"looks like the beginning of an .npy file, cut off"}},
		{"cut after the magic", good[:7], []string{"looks like the beginning of an .npy file, cut off"}},
		{"cut in the length", good[:9], []string{"truncated: it ends inside its header"}},
		{"cut in the header", good[:60], []string{"truncated: its header is 128 bytes long, the file has 60"}},
		{"version 4", patch(good, 6, 4), []string{"version 4.0 of the .npy format is not supported"}},
		{"version 1.1", patch(good, 7, 1), []string{"version 1.1"}},
		{"header longer than the file", patch(good, 8, 0xff, 0xff), []string{"truncated: its header is 65545 bytes long, the file has 528"}},
		{"header above 64 KiB", append(npyHead(2, "{"+strings.Repeat(" ", 70_000)+"}"), 0), []string{"at most 65536 are read"}},
		{"header length of 4 GiB", append([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), make([]byte, 100)...), []string{"truncated: its header is 4294967307 bytes long"}},
		{"header not UTF-8", append(npyHead(3, "{'descr': '\xff\xfe', 'fortran_order': False, 'shape': (10, 10), }"), make([]byte, 400)...), []string{"damaged header: it is not UTF-8"}},

		{"no dictionary", dict("hello"), []string{`damaged header: it has no "{"`}},
		{"key missing", dict("{'descr': '<f4', 'shape': (10, 10), }"), []string{"a key missing"}},
		{"key unknown", dict("{'descr': '<f4', 'fortran_order': False, 'shape': (10, 10), 'x': 1}"), []string{"a key other than"}},
		{"key twice", dict("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (10, 10)}"), []string{"a key that appears twice"}},
		{"text behind", dict("{'descr': '<f4', 'fortran_order': False, 'shape': (10, 10)} x"), []string{"more text after the dictionary"}},
		{"no comma", dict("{'descr': '<f4' 'fortran_order': False, 'shape': (10, 10)}"), []string{"no comma between its items"}},
		{"order not boolean", dict("{'descr': '<f4', 'fortran_order': 0, 'shape': (10, 10)}"), []string{"a fortran_order other than True and False"}},
		{"shape is a list", shaped("[10, 10]"), []string{"a shape that is no tuple"}},
		{"shape is a number", shaped("(10)"), []string{"a shape that is no tuple"}},
		{"shape negative", shaped("(-10, 10)"), []string{"a negative dimension"}},
		{"shape of text", shaped("('a',)"), []string{"a dimension that is no whole number"}},
		{"shape of fractions", shaped("(1.5,)"), []string{"no comma between dimensions"}},
		{"shape beyond int64", shaped("(99999999999999999999,)"), []string{"a dimension of 2^63 or more"}},
		{"shape product overflows", shaped("(4611686018427387904, 16)"), []string{"damaged header: its shape (4611686018427387904, 16) of float32 is larger than any file"}},
		{"shape far larger than the file", shaped("(1000000000000, 1000)"), []string{"truncated: header says 1000000000000 x 1000 float32 = 4000000000000000 bytes"}},
		{"many dimensions", shaped("(" + strings.Repeat("1,", 65) + ")"), []string{"more than 64 dimensions"}},
		{"one row of everything", shaped("(1, 100000000)"), []string{"100000000 classes (shape (1, 100000000)): at most 8388608 are read", "transposed"}},
		{"0-d", shaped("()"), []string{"scores are a single value, shape ()"}},
		{"3-d", shaped("(2, 10, 5)"), []string{"scores have 3 axes, shape (2, 10, 5)"}},
		{"no rows", shaped("(0, 10)"), []string{"too long"}},
		{"no rows and no data", shaped("(0, 10)")[:128], []string{"no rows: its shape is (0, 10)"}},
		{"no classes", shaped("(10, 0)"), []string{"no classes: its shape is (10, 0)"}},

		{"objects", typed("'|O'"), []string{"scores are Python objects (a pickle", "numpy.stack(list(a))"}},
		{"structured", typed("[('a', '<f4'), ('b', '<f4', (2,))]"), []string{"scores are a structured array: [('a', '<f4'), ('b', '<f4', (2,))]"}},
		{"complex", typed("'<c8'"), []string{"scores are complex numbers (complex64)"}},
		{"long double", typed("'<f16'"), []string{`scores are float128, which differs between machines; save a.astype("float64")`}},
		{"text", typed("'<U5'"), []string{"scores are text (str160)"}},
		{"bytes", typed("'|S5'"), []string{"scores are text (bytes40)"}},
		{"dates", typed("'<M8[ns]'"), []string{"scores are datetime64"}},
		{"unknown type", typed("'<q9'"), []string{`scores have an unknown type: "<q9"`}},
		{"type of no text", typed("''"), []string{`unknown type: ""`}},
		{"type is a number", typed("4"), []string{"no string where one belongs"}},
		{"type with an escape", typed(`'\x41'`), []string{"an escape in a string"}},
		{"type without an end", dict("{'descr': '<f4"), []string{"a string without an end"}},
		{"brackets do not match", typed("[('a', '<f4'])"), []string{"brackets that do not match"}},
		{"brackets without an end", dict("{'descr': [('a', '<f4')"), []string{"brackets without an end"}},
		{"brackets too deep", typed(strings.Repeat("[", 100)), []string{"brackets nested too deeply"}},
		{"int64", typed("'<i8'"), []string{"scores are int64: these look like labels or decisions, not scores"}},
		{"bool", typed("'|b1'"), []string{"scores are bool: these look like labels or decisions"}},
		{"uint16", typed("'<u2'"), []string{"scores are uint16; pass BFloat16"}},
		{"void of two bytes", typed("'|V2'"), []string{"scores are void16; pass BFloat16"}},
		{"void of four bytes", typed("'|V4'"), []string{"scores are void32"}},

		{"HDF5", []byte("\x89HDF\r\n\x1a\n\x00\x00\x00\x00"), []string{"it looks like an HDF5 file", "h5py"}},
		{"Parquet", []byte("PAR1\x15\x04\x15\x00"), []string{"it looks like a Parquet file; give it a name that ends in .parquet"}},
		{"pickle", []byte("\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00"), []string{"it looks like a Python pickle", "can run any code"}},
		{"gzip", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00"), []string{"it looks like a gzip file", "gunzip -c ", " | Open of \"-\""}},
		{"zstd", []byte("\x28\xb5\x2f\xfd\x00\x00\x00\x00"), []string{"it looks like a zstd file"}},
		{"safetensors", safetensors, []string{"it looks like a safetensors file"}},
		{"CSV", []byte("p0,p1\n0.25,0.75\n"), []string{"it looks like text (CSV?)", "numpy.loadtxt"}},
		{"JSON", []byte(`{"probs": [0.25, 0.75]}`), []string{"it looks like JSON text"}},
		{"neither", []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"), []string{"it begins with 00 01 02 03 04 05 06 07;"}},
		{"torch zip", torch, []string{"it looks like a PyTorch file", "torch.load(", "bad.npy"}},
		{"zip of something", npz(false, entry{"a.txt", []byte("hello")}), []string{"a zip file without arrays"}},
		{"npz truncated", boxed[:len(boxed)-100], []string{"truncated or damaged .npz: the zip directory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := save(t, "bad.npy", c.data)
			_, _, err := readAll([]string{path}, &Options{Labels: []string{save(t, "l.npy", npy(1, "<i4", false, []int{10}, ones))}})
			e := wantError(t, err, c.want...)
			if e.File != path || e.Row != -1 {
				t.Errorf("File %q, Row %d, want %q, -1", e.File, e.Row, path)
			}
		})
	}
}

func TestBFloat16Types(t *testing.T) {
	for _, descr := range []string{"<u2", "|V2", "<V2"} {
		m := npy(1, "<bf16", false, []int{10, 10}, score)
		m = append(npyHead(1, "{'descr': '"+descr+"', 'fortran_order': False, 'shape': (10, 10), }"), m[len(m)-200:]...)
		got, _, err := readAll([]string{save(t, "p.npy", m)}, &Options{BFloat16: true, Labels: []string{save(t, "l.npy", npy(1, "<i4", false, []int{10}, label(10)))}})
		if err != nil {
			t.Fatal(descr, err)
		}
		wantRows(t, got, 10, 10)
	}
}

func TestBadLabels(t *testing.T) {
	vector := func(descr string, n int, value func(int) float64) []byte {
		return npy(1, descr, false, []int{n}, value)
	}
	typed := func(descr string) []byte {
		return append(npyHead(1, "{'descr': "+descr+", 'fortran_order': False, 'shape': (10,), }"), make([]byte, 400)...)
	}
	at := func(row int, v float64) func(int) float64 {
		return func(i int) float64 {
			if i == row {
				return v
			}
			return 0
		}
	}
	for _, c := range []struct {
		name string
		data []byte
		row  int64
		want string
	}{
		{"float32 of a fraction", vector("<f4", 10, at(6, 0.5)), 6, "l.npy: row 6: label 0.5 is not a class number; probabilities? name them first, and labels with Labels; labels are class numbers"},
		{"float64 of a fraction", vector(">f8", 10, at(0, 1e-9)), 0, "label 1e-09 is not a class number"},
		{"float64 too large", vector("<f8", 10, at(9, 1<<31)), 9, "label 2.147483648e+09 is not a class number"},
		{"NaN", vector("<f8", 10, at(3, math.NaN())), 3, "label NaN is not a class number"},
		{"text", typed("'<U5'"), -1, "labels are text (str160); number the classes with numpy.unique"},
		{"objects", typed("'|O'"), -1, "labels are Python objects"},
		{"complex", typed("'<c16'"), -1, "labels are complex numbers"},
		{"structured", typed("[('a', '<i4')]"), -1, "labels are a structured array"},
		{"fewer", vector("<i4", 9, ones), -1, "l.npy: 9 labels for the 10 rows of "},
		{"more", vector("<i4", 11, ones), -1, "l.npy: 11 labels for the 10 rows of "},
		{"one for each column", vector("<i4", 5, ones), -1, "are the scores transposed?"},
		{"one-hot", npy(1, "<i4", false, []int{10, 5}, ones), -1, "labels have shape (10, 5): a vector (N,) of class numbers is read; if they are one-hot, save labels.argmax(axis=1); if several may be true in a row, pass OpenLabels"},
		{"one-hot floats", npy(1, "<f8", false, []int{10, 5}, ones), -1, "if they are one-hot, save labels.argmax(axis=1); if several"},
		{"several labels", npy(1, "<i8", false, []int{10, 14}, ones), -1, "labels have shape (10, 14): a vector (N,) of class numbers is read; if they are one-hot, save labels.argmax(axis=1); if several may be true in a row, OpenLabels takes a score for each, and the scores have shape (10, 5)"},
		{"row vector", npy(1, "<i4", false, []int{1, 10}, ones), -1, "save labels.reshape(-1)"},
		{"single value", npy(1, "<i4", false, nil, ones), -1, "labels have shape ()"},
		{"truncated", vector("<i8", 10, ones)[:128+43], -1, "truncated: header says 10 int64 = 80 bytes of data, file has 43 (row 5 is"},
		{"too long", append(vector("<i8", 10, ones), 1), -1, "too long: header says 10 int64"},
		{"int64 above", vector("<i8", 10, at(7, 1<<31)), 7, "l.npy: row 7: label 2147483648 does not fit in int32; labels are class numbers"},
		{"int64 below", vector(">i8", 10, at(0, -1<<31-1)), 0, "label -2147483649 does not fit"},
		{"int64 that would wrap", vector("<i8", 10, at(9, 1<<32+3)), 9, "label 4294967299 does not fit"},
		{"uint32", vector(">u4", 10, at(2, 1<<31)), 2, "label 2147483648 does not fit"},
		{"uint64", vector("<u8", 10, at(2, 1<<62)), 2, "label 4611686018427387904 does not fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := save(t, "l.npy", c.data)
			scores := save(t, "p.npy", npy(1, "<f4", false, []int{10, 5}, score))
			_, _, err := readAll([]string{scores}, &Options{Labels: []string{path}})
			if e := wantError(t, err, c.want); e.File != path || e.Row != c.row {
				t.Errorf("File %q, Row %d, want %q, %d", e.File, e.Row, path, c.row)
			}
		})
	}
	// Rows are counted within the file of labels, across several reads.
	const n = 200_000
	path := save(t, "l.npy", vector("<i8", n, at(n-2, 1e12)))
	_, _, err := readAll([]string{save(t, "p.npy", npy(1, "<f4", false, []int{n}, score))}, &Options{Labels: []string{path}})
	wantError(t, err, fmt.Sprintf("l.npy: row %d: label 1000000000000", n-2))
}

func TestBadWeights(t *testing.T) {
	scores := save(t, "p.npy", npy(1, "<f4", false, []int{10, 5}, score))
	labels := save(t, "l.npy", npy(1, "<i4", false, []int{10}, label(5)))
	for want, data := range map[string][]byte{
		"w.npy: 9 weights for the 10 rows": npy(1, "<f4", false, []int{9}, ones),
		"weights are Python objects":       append(npyHead(1, "{'descr': '|O', 'fortran_order': False, 'shape': (10,), }"), 0),
		"weights are float128":             append(npyHead(1, "{'descr': '<f16', 'fortran_order': False, 'shape': (10,), }"), make([]byte, 160)...),
		"weights have shape (10, 5)":       npy(1, "<f4", false, []int{10, 5}, ones),
	} {
		_, _, err := readAll([]string{scores}, &Options{Labels: []string{labels}, Weights: []string{save(t, "w.npy", data)}})
		wantError(t, err, want)
	}
}

func TestBadDecisions(t *testing.T) {
	scores := save(t, "p.npy", npy(1, "<f4", false, []int{10, 5}, score))
	labels := save(t, "l.npy", npy(1, "<i4", false, []int{10}, label(5)))
	for _, c := range []struct {
		want string
		data []byte
	}{
		{"d.npy: 9 decisions for the 10 rows", npy(1, "<i4", false, []int{9}, ones)},
		{"d.npy: row 0: decision 0.25 is not a class number; decisions are class numbers", npy(1, "<f4", false, []int{10}, func(int) float64 { return 0.25 })},
		{"decisions have shape (10, 5): a vector (N,) of class numbers is read; if they are one-hot, save decisions.argmax(axis=1)", npy(1, "<i4", false, []int{10, 5}, ones)},
		{"d.npy: row 3: decision 1099511627776 does not fit in int32; decisions are class numbers", npy(1, "<i8", false, []int{10}, func(i int) float64 { return float64(int64(i) / 3 << 40) })},
	} {
		_, _, err := readAll([]string{scores}, &Options{Labels: []string{labels}, Decisions: []string{save(t, "d.npy", c.data)}})
		wantError(t, err, c.want)
	}
	for _, c := range []struct {
		want string
		data []byte
	}{
		{"s.npy: 11 confidence scores for the 10 rows", npy(1, "<f4", false, []int{11}, ones)},
		{"confidence scores have shape (10, 5): a vector (N,) is read; save confidence_scores.reshape(-1)", npy(1, "<f4", false, []int{10, 5}, ones)},
		{"confidence scores are float128", append(npyHead(1, "{'descr': '<f16', 'fortran_order': False, 'shape': (10,), }"), make([]byte, 160)...)},
	} {
		_, _, err := readAll([]string{scores}, &Options{Labels: []string{labels}, ConfidenceScores: []string{save(t, "s.npy", c.data)}})
		wantError(t, err, c.want)
	}
	_, err := Open([]string{scores}, &Options{Labels: []string{labels}, Decisions: []string{labels, labels}})
	wantError(t, err, "2 files of decisions for 1 of scores")
}

func TestBadSets(t *testing.T) {
	a := save(t, "a.npy", npy(1, "<f4", false, []int{10, 5}, score))
	b := save(t, "b.npy", npy(1, "<f4", false, []int{10, 6}, score))
	c := save(t, "c.npy", npy(1, "<f8", false, []int{10, 5}, score))
	l := save(t, "l.npy", npy(1, "<i4", false, []int{10}, label(5)))
	dir := t.TempDir()
	for _, test := range []struct {
		name  string
		paths []string
		o     *Options
		want  []string
		is    error
	}{
		{"nothing", nil, nil, []string{"no predictions; name an .npy"}, nil},
		{"no labels", []string{a}, nil, []string{"no labels; pass a file as Labels, or an .npz with an array named labels"}, nil},
		{"two files and no labels", []string{a, a}, nil, []string{"a.npy: no labels; pass a file as Labels, or an .npz with an array named labels; files beside each other are shards of one set: " +
			"labels are named by Labels, models are compared by one Open for each, means and standard deviations go with OpenForecast with Mean and SD"}, nil},
		{"labels among the scores", []string{a, l}, nil, []string{"l.npy: scores are int32: these look like labels or decisions, not scores; labels are named by Labels " + l}, nil},
		{"decisions as scores", []string{l}, &Options{Labels: []string{l}}, []string{"these look like labels or decisions, not scores; save the model's probabilities"}, nil},
		{"one-hot labels among the scores", []string{a, save(t, "onehot.npy", npy(1, "<f8", false, []int{10, 5}, ones))}, nil, []string{"onehot.npy: float64, but ", "labels are named by Labels"}, nil},
		{"labels of floats among the scores", []string{a, save(t, "float.npy", npy(1, "<f4", false, []int{10}, ones))}, nil, []string{"float.npy: 1 class (shape (10,)), but ", "labels are named by Labels"}, nil},
		{"several models", []string{a, a}, &Options{Labels: []string{l}}, []string{l + ": 10 labels for the 20 rows of 2 files of scores; each row needs one; files beside each other are shards of one set: one Open for each takes those of several models, OpenMembers"}, nil},
		{"classes differ", []string{a, b}, &Options{Labels: []string{l}}, []string{b + ": 6 classes (shape (10, 6)), but " + a + " has 5"}, nil},
		{"types differ", []string{a, c}, &Options{Labels: []string{l}}, []string{c + ": float64, but " + a + " is float32"}, nil},
		{"labels for fewer shards", []string{a, a, a}, &Options{Labels: []string{l, l}}, []string{"2 files of labels for 3 of scores"}, nil},
		{"one labels file too short", []string{a, a, a}, &Options{Labels: []string{l}}, []string{l + ": 10 labels for the 30 rows of 3 files of scores"}, nil},
		{"missing", []string{filepath.Join(dir, "none.npy")}, nil, []string{"none.npy: no such file"}, fs.ErrNotExist},
		{"missing npz", []string{filepath.Join(dir, "none.npz:logits")}, nil, []string{"none.npz:logits: no such file"}, fs.ErrNotExist},
		{"missing labels", []string{a}, &Options{Labels: []string{filepath.Join(dir, "none.npy")}}, []string{"none.npy: no such file"}, fs.ErrNotExist},
		{"directory", []string{dir}, nil, []string{dir + ": is a directory; name its files, as in " + filepath.Join(dir, "*.npy")}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Open(test.paths, test.o)
			wantError(t, err, test.want...)
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is not %v", err, test.is)
			}
		})
	}
	// Root may read everything, so do not rely on the file system here.
	e := cannotOpen(&fs.PathError{Op: "open", Path: "p.npy", Err: fs.ErrPermission}).in("p.npy")
	if want := "p.npy: no permission to read it; ask its owner, or chmod +r"; e.Error() != want || !errors.Is(e, fs.ErrPermission) {
		t.Errorf("%q, want %q", e, want)
	}
}

func TestBadNPZ(t *testing.T) {
	const n, k = 3000, 7
	l := entry{"labels.npy", npy(1, "<i4", false, []int{n}, label(k))}
	for _, order := range []bool{false, true} {
		m := npy(1, "<f4", order, []int{n, k}, score)
		scores := entry{"probs.npy", m}
		for _, deflated := range []bool{false, true} {
			box := npz(deflated, scores, l)
			dir := bytes.Index(box, []byte("PK\x01\x02"))
			edit := func(f func(b []byte)) []byte {
				b := bytes.Clone(box)
				f(b)
				return b
			}
			second := bytes.LastIndex(box, []byte("PK\x03\x04"))
			for _, c := range []struct {
				name string
				data []byte
				want string
			}{
				{"value changed", edit(func(b []byte) { b[second/2] ^= 0x40 }), "damaged .npz: "},
				{"checksum changed", edit(func(b []byte) { b[dir+16] ^= 1 }), "damaged .npz: the data do not match their CRC-32"},
				{"checksum of labels changed", edit(func(b []byte) { b[bytes.LastIndex(b, []byte("PK\x01\x02"))+16] ^= 1 }), "labels: damaged .npz: the data do not match their CRC-32"},
				{"longer in the directory", edit(func(b []byte) { b[dir+24]++; b[dir+20] += byte(b2i(!deflated)) }), "too long: header says 3000 x 7 float32"},
				{"shorter in the directory", edit(func(b []byte) { b[dir+25]--; b[dir+21] -= byte(b2i(!deflated)) }), "truncated: header says 3000 x 7 float32"},
				{"end lost", box[:len(box)-30], "truncated or damaged .npz: the zip directory"},
				{"half of it", box[:len(box)/2], "truncated or damaged .npz: the zip directory"},
				{"header lies", npz(deflated, entry{"probs.npy", append(npyHead(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000), }"), m[128:]...)}, l),
					"truncated: header says 1000000 x 1000 float32 = 4000000000 bytes of data, file has 84000 (row 21"},
				{"member is not an array", npz(deflated, entry{"probs.npy", []byte("0.5,0.5\n")}, l), "bad.npz:probs: not an .npy or .npz file: it looks like text (CSV?)"},
				{"encrypted", edit(func(b []byte) { b[dir+8] |= 1 }), "it is encrypted"},
				{"unknown compression", edit(func(b []byte) { b[dir+10] = 93 }), "zip method 93"},
			} {
				t.Run(fmt.Sprintf("%s/fortran=%v/deflated=%v", c.name, order, deflated), func(t *testing.T) {
					_, _, err := readAll([]string{save(t, "bad.npz", c.data)}, nil)
					wantError(t, err, c.want)
				})
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestFileChanges(t *testing.T) {
	for _, order := range []bool{false, true} {
		for _, name := range []string{"p.npy", "p.npz"} {
			m := npy(1, "<f4", order, []int{5000, 20}, score)
			l := npy(1, "<i4", false, []int{5000}, label(20))
			if name == "p.npz" {
				m = npz(false, entry{"p.npy", m}, entry{"y.npy", l})
			}
			path := save(t, name, m)
			r, err := Open([]string{path}, &Options{Labels: []string{save(t, "l.npy", l)}, BufferBytes: 8000})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, 1000); err != nil {
				t.Fatal(err)
			}
			_, err = drain(r)
			wantError(t, err, name, "the file changed while it was read")
			r.Close()

			// Truncated after the first chunk was read.
			if err := os.WriteFile(path, m, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err = Open([]string{path}, &Options{Labels: []string{save(t, "l.npy", l)}, BufferBytes: 8000})
			if err != nil {
				t.Fatal(err)
			}
			c, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			c.Recycle()
			if err := os.Truncate(path, 50_000); err != nil {
				t.Fatal(err)
			}
			for err == nil {
				if c, err = r.Next(); err == nil {
					c.Recycle()
				}
			}
			// A column-major matrix may be in its tile as a whole; then it was read before the truncation.
			if !order || err != io.EOF {
				wantError(t, err, name, "the file changed while it was read; wait until whoever writes it is done")
			}
			r.Close()
		}
	}
}

// TestWholeLabels reads labels of every numeric type, if they are integral.
func TestWholeLabels(t *testing.T) {
	scores := save(t, "p.npy", npy(1, "<f4", false, []int{10, 5}, score))
	for _, descr := range []string{"<f2", "<f4", ">f8", "<f8", "|u1", ">i8"} {
		l := save(t, "l.npy", npy(1, descr, false, []int{10}, label(5)))
		r, err := Open([]string{scores}, &Options{Labels: []string{l}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range c.Labels {
			if float64(y) != label(5)(i) {
				t.Errorf("%s: label %d is %d", descr, i, y)
			}
		}
		r.Close()
	}
}

// TestForeignFiles: files of other programs are recognised, with the line of Python that exports them.
func TestForeignFiles(t *testing.T) {
	labels := save(t, "l.npy", npy(1, "<i4", false, []int{10}, ones))
	zipped := func(names ...string) []byte {
		var l []entry
		for _, n := range names {
			l = append(l, entry{n, []byte("x")})
		}
		return npz(true, l...)
	}
	for _, c := range []struct{ name, data, what, remedy string }{
		{"y.rds", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "an R file (saveRDS)", `convert it in R: write.csv(readRDS(path), "table.csv", row.names = FALSE)`},
		{"y.rds", "X\n\x00\x00\x00\x03\x00\x04\x02\x00", "an R file (saveRDS)", "readRDS(path)"},
		{"y.bin", "X\n\x00\x00\x00\x02\x00\x04\x02\x00", "an R file (saveRDS)", "readRDS(path)"},
		{"y.RData", "BZh91AY&SY\x00", "an R file (save)", `convert it in R: write.csv(get(load(path)[1]), "table.csv", row.names = FALSE)`},
		{"y.rda", "RDX3\nX\n\x00\x00\x00\x03", "an R file (save)", "load(path)"},
		{"m.pt", string(zipped("archive/data.pkl", "archive/version")), "a PyTorch file (torch.save)", "torch.load(path, "},
		{"m.pth", "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M", "a PyTorch file (torch.save)", "torch.load(path, "},
		{"m.pth", "\x80\x02}q\x00.\x00\x00\x00", "a PyTorch file (torch.save)", "torch.load(path, "},
		{"m.pkl", "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00", "a Python pickle", "pandas.read_pickle(path)"},
		{"m.joblib", "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00", "a joblib file", "joblib.load(path)"},
		{"m.joblib", "x\x9c\xed\xc1\x01\x01\x00\x00\x00", "a joblib file", "joblib.load(path)"},
		{"m.mat", "MATLAB 5.0 MAT-file, Platform: GLNXA64", "a MATLAB file", `import numpy, scipy.io; numpy.save("probs.npy", scipy.io.loadmat(path)["probs"])`},
		{"m.mat", "MATLAB 7.3 MAT-file, Platform: GLNXA64", "a MATLAB 7.3 file", `h5py.File(path)["probs"][:].T`},
		{"m.mat", "\x00\x00\x00\x00\x03\x00\x00\x00\x03\x00\x00\x00", "a MATLAB file", "scipy.io.loadmat(path)"},
		{"m.feather", "ARROW1\x00\x00\xff\xff\xff\xff", "an Arrow file", "tables are read with "},
		{"m.feather", "FEA1\x00\x00\x00\x00", "a Feather file of version 1", "pyarrow.feather.read_feather(path)"},
		{"m.arrow", "\xff\xff\xff\xff\x78\x00\x00\x00", "an Arrow stream", "tables are read with "},
		{"m.orc", "ORC\x0a\x00\x00\x00\x00", "an ORC file", "pandas.read_orc(path)"},
		{"m.xlsx", string(zipped("[Content_Types].xml", "xl/workbook.xml")), "an Excel file", "pandas.read_excel(path)"},
		{"m.ods", string(zipped("mimetype", "content.xml")), "an OpenDocument spreadsheet", "pandas.read_excel(path)"},
		{"m.xls", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel file", "pandas.read_excel(path)"},
		{"m.avro", "Obj\x01\x04\x14avro.codec", "an Avro file", "polars.read_avro(path)"},
		{"m.nc", "CDF\x01\x00\x00\x00\x00", "a NetCDF file", "xarray.open_dataset(path)"},
		{"m.nc", "\x89HDF\r\n\x1a\n", "a NetCDF file", "xarray.open_dataset(path)"},
		{"j.pkl", "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x14joblib.numpy_pickle", "a joblib file", "joblib.load(path)"},
		{"m.xpt", "HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!000000", "a SAS file", `import pandas; pandas.read_sas(path).to_parquet("table.parquet")`},
		{"x.npy", "PAR1\x15\x04\x15\x00", "a Parquet file", "give it a name that ends in .parquet"},
		{"m.npy", "{\"p\": 0.5}\n", "JSON text", "give it a name that ends in .jsonl"},
		{"a b.npy", "\x1f\x8b\x08\x00\x00\x00\x00\x00", "a gzip file", `gunzip -c '`},
		{"m.h5", "\x89HDF\r\n\x1a\n", "an HDF5 file", "h5py.File(path)"},
		{"m.duckdb", "\x00\x00\x00\x00\x00\x00\x00\x00DUCK", "a DuckDB database", "duckdb.connect(path)"},
		{"m.npy", "version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS, and not the file itself", "git lfs pull"},
		{"m.npy", "<!DOCTYPE html>", "a web page", "did the download fail?"},
		{"m.keras", string(zipped("config.json", "model.weights.h5")), "a model, and not what it predicts", "run it, and save what it gives"},
		{"m.onnx", "\x08\x07\x12\x07pytorch", "a model, and not what it predicts", "run it, and save what it gives"},
		{"m.sas7bdat", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xc2\xea", "a SAS file", "pandas.read_sas(path)"},
		{"m.dta", "<stata_dta><header><release>118", "a Stata file", "pandas.read_stata(path)"},
		{"m.sav", "$FL2@(#) SPSS DATA FILE", "an SPSS file", "pandas.read_spss(path)"},
		{"m.db", "SQLite format 3\x00\x10\x00", "an SQLite file", `import pandas, sqlite3; pandas.read_sql("SELECT * FROM NAME", sqlite3.connect(path)).to_parquet("table.parquet")`},
		{"m.json", "[[0.25, 0.75]]", "JSON text", "json.load(open(path))"},
		{"m.csv", "p0,p1\n0.25,0.75\n", "text (CSV?)", `numpy.loadtxt(path, delimiter=",", skiprows=1)`},
		{"m.csv", "p0;p1\n0.25;0.75\n", "text (CSV?)", `numpy.loadtxt(path, delimiter=";", skiprows=1)`},
		{"m.csv", "p\n0.25\n", "text (CSV?)", `numpy.loadtxt(path, skiprows=1)`},
		{"m.csv", "p\n0,25\n0,5\n", "text (CSV?)", `pandas.read_csv(path, sep="\t", decimal=",")`},
		{"m.csv", "p0 p1\n0.25 0.75\n", "text (CSV?)", `numpy.loadtxt(path, skiprows=1)`},
		{"m.csv", "p0;p1\r\n0,25;0,75\r\n", "text (CSV?)", `pandas.read_csv(path, sep=";", decimal=",")`},
		{"m.tsv", "p0\tp1\n0.25\t0.75\n", "text (CSV?)", `numpy.loadtxt(path, delimiter="\t", skiprows=1)`},
	} {
		path := save(t, c.name, []byte(c.data))
		named := strings.ReplaceAll(c.remedy, "(path", "("+strconv.Quote(filepath.ToSlash(path)))
		_, err := Open([]string{path}, &Options{Labels: []string{labels}})
		if e := wantError(t, err, "it looks like "+c.what+"; "); !strings.Contains(e.Remedy, named) {
			t.Errorf("%s: remedy %q, not %q", c.name, e.Remedy, named)
		}
		// For labels, the Python code names labels.
		scores := save(t, "p.npy", npy(1, "<f4", false, []int{10, 5}, score))
		_, err = Open([]string{scores}, &Options{Labels: []string{path}})
		if e := wantError(t, err, "it looks like "+c.what+"; "); !strings.Contains(e.Remedy, strings.ReplaceAll(named, "probs", "labels")) {
			t.Errorf("%s: remedy %q, not %q for labels", c.name, e.Remedy, named)
		}
	}
}
