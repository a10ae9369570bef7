package predictions

// Test files, built byte by byte from the description of the format, independently of the code under test.

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
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// npyHead returns a header of a version with any text.
func npyHead(major byte, text string) []byte {
	var b bytes.Buffer
	b.WriteString("\x93NUMPY")
	b.WriteByte(major)
	b.WriteByte(0)
	pre := 10
	if major > 1 {
		pre = 12
	}
	for (pre+len(text)+1)%64 != 0 {
		text += " "
	}
	text += "\n"
	if major == 1 {
		binary.Write(&b, binary.LittleEndian, uint16(len(text)))
	} else {
		binary.Write(&b, binary.LittleEndian, uint32(len(text)))
	}
	b.WriteString(text)
	return b.Bytes()
}

func pyTuple(shape []int) string {
	s := "("
	for _, d := range shape {
		s += fmt.Sprintf("%d, ", d)
	}
	return s + ")"
}

// npy returns an array. The value at C-order index i is value(i), in the type of descr; "<bf16" is bfloat16 in "<u2".
func npy(major byte, descr string, fortran bool, shape []int, value func(i int) float64) []byte {
	order := "False"
	if fortran {
		order = "True"
	}
	var bo binary.AppendByteOrder = binary.LittleEndian
	if descr[0] == '>' {
		bo = binary.BigEndian
	}
	kind := descr[1:]
	if kind == "bf16" {
		descr = descr[:1] + "u2"
	}
	out := npyHead(major, fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s}", descr, order, pyTuple(shape)))
	put := func(i int) {
		v := value(i)
		switch kind {
		case "f2":
			out = bo.AppendUint16(out, toHalf(v))
		case "bf16":
			out = bo.AppendUint16(out, uint16(math.Float32bits(float32(v))>>16))
		case "f4":
			out = bo.AppendUint32(out, math.Float32bits(float32(v)))
		case "f8":
			out = bo.AppendUint64(out, math.Float64bits(v))
		case "i1", "u1", "b1":
			out = append(out, byte(int64(v)))
		case "i2", "u2":
			out = bo.AppendUint16(out, uint16(int64(v)))
		case "i4", "u4":
			out = bo.AppendUint32(out, uint32(int64(v)))
		case "i8", "u8":
			out = bo.AppendUint64(out, uint64(int64(v)))
		default:
			panic(descr)
		}
	}
	if fortran && len(shape) == 2 {
		for c := range shape[1] {
			for r := range shape[0] {
				put(r*shape[1] + c)
			}
		}
		return out
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	for i := range n {
		put(i)
	}
	return out
}

// toHalf is correct for zero and for normal numbers with few digits, as in the tests.
func toHalf(v float64) uint16 {
	if v == 0 {
		return 0
	}
	frac, exp := math.Frexp(math.Abs(v)) // 0.5 <= frac < 1
	h := uint16(exp-1+15)<<10 | uint16(frac*2048)&0x3FF
	if v < 0 {
		h |= 1 << 15
	}
	return h
}

// score is the value at C-order index i of every test matrix. It is exact in all types of scores.
func score(i int) float64 { return float64(i%97) / 128 }

func label(k int) func(int) float64 { return func(i int) float64 { return float64(i * 7 % k) } }

func ones(int) float64 { return 1 }

// save writes a file in the test's folder and returns its path.
func save(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// entry is a member of an npz.
type entry struct {
	name string
	data []byte
}

// npz returns a zip of the entries.
func npz(deflated bool, entries ...entry) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		m := zip.Store
		if deflated {
			m = zip.Deflate
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: m})
		if err != nil {
			panic(err)
		}
		f.Write(e.data)
	}
	w.Close()
	return b.Bytes()
}

// rowsOf holds everything that a Reader returned.
type rowsOf struct {
	scores  []float64
	labels  []int32
	weights []float64

	observed   []float64
	decisions  []int32
	confidence []float64
	chunks     int
}

// drain reads all rows and checks invariants of every chunk.
func drain(r *Reader) (rowsOf, error) {
	var out rowsOf
	next := int64(0)
	for {
		c, err := r.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		switch {
		case c.First != next:
			return out, fmt.Errorf("chunk starts at row %d, want %d", c.First, next)
		case c.Rows <= 0 || c.Classes != r.Info().Classes || c.DType() != r.Info().DType:
			return out, fmt.Errorf("chunk of %d x %d %s, want of %+v", c.Rows, c.Classes, c.DType(), r.Info())
		case c.Observed != nil && len(c.Observed) != c.Rows, c.Labels != nil && len(c.Labels) != c.Rows,
			(c.Labels != nil) != (c.Kind < metrics.Samples), (c.Observed != nil) != (c.Kind == metrics.Samples || c.Kind == metrics.Quantiles):
			return out, errors.New("labels or observed values that the kind has not, or of another length than the chunk's rows")
		case c.Weights != nil && len(c.Weights) != c.Rows,
			c.Decisions != nil && len(c.Decisions) != c.Rows, c.ConfidenceScores != nil && len(c.ConfidenceScores) != c.Rows:
			return out, errors.New("labels or weights of another length than the chunk's rows")
		}
		next += int64(c.Rows)
		s := widen(&c.Scores)
		if len(s) != c.Rows*c.Classes {
			return out, fmt.Errorf("%d scores in %d x %d", len(s), c.Rows, c.Classes)
		}
		out.scores = append(out.scores, s...)
		out.labels = append(out.labels, c.Labels...)
		out.observed = append(out.observed, c.Observed...)
		out.weights = append(out.weights, c.Weights...)
		out.decisions = append(out.decisions, c.Decisions...)
		out.confidence = append(out.confidence, c.ConfidenceScores...)
		out.chunks++
		c.Recycle()
	}
}

func widen(s *metrics.Scores) []float64 {
	var out []float64
	switch {
	case s.F64 != nil:
		out = append(out, s.F64...)
	case s.F32 != nil:
		for _, v := range s.F32 {
			out = append(out, float64(v))
		}
	case s.F16 != nil:
		for _, v := range s.F16 {
			out = append(out, half(v))
		}
	default:
		for _, v := range s.BF16 {
			out = append(out, float64(math.Float32frombits(uint32(v)<<16)))
		}
	}
	return out
}

// readAll opens and drains.
func readAll(paths []string, o *Options) (rowsOf, Info, error) {
	r, err := Open(paths, o)
	if err != nil {
		return rowsOf{}, Info{}, err
	}
	defer r.Close()
	out, err := drain(r)
	if err == nil && r.BytesRead() != r.Info().Bytes {
		err = fmt.Errorf("BytesRead %d, Info().Bytes %d", r.BytesRead(), r.Info().Bytes)
	}
	return out, r.Info(), err
}

// wantRows checks n rows of k classes of the test matrix.
func wantRows(t *testing.T, got rowsOf, n, k int) {
	t.Helper()
	if len(got.scores) != n*k || len(got.labels) != n {
		t.Fatalf("%d scores and %d labels, want %d and %d", len(got.scores), len(got.labels), n*k, n)
	}
	for i, v := range got.scores {
		if v != score(i) {
			t.Fatalf("row %d, column %d is %v, want %v", i/k, i%k, v, score(i))
		}
	}
	lab := label(max(k, 2))
	for i, v := range got.labels {
		if float64(v) != lab(i) {
			t.Fatalf("label %d is %d, want %v", i, v, lab(i))
		}
	}
}

// wantError checks the text and the file of an *Error.
func wantError(t *testing.T, err error, parts ...string) *Error {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%T %v is no *Error", err, err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error\n\t%s\nwithout\n\t%s", err, p)
		}
	}
	return e
}

func int64s(shape []int) []int64 {
	out := make([]int64, len(shape))
	for i, d := range shape {
		out[i] = int64(d)
	}
	return out
}
