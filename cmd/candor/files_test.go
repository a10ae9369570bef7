package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions"
)

// set is a set of predictions in memory, from which tests make files.
type set struct {
	rows, classes int // classes 1: a vector
	probs         []float64
	labels        []int32
	weights       []float64
	decisions     []int32
	by            []float64 // confidence scores
}

// newSet returns probabilities that sum to 1 but for rounding, with their labels.
func newSet(seed uint64, rows, classes int) *set {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &set{rows: rows, classes: classes}
	for range rows {
		if classes == 1 {
			p := r.Float64()
			y := int32(0)
			if r.Float64() < p*p {
				y = 1
			}
			s.probs, s.labels, s.weights = append(s.probs, p), append(s.labels, y), append(s.weights, 0.5+r.Float64())
			continue
		}
		row, sum := make([]float64, classes), 0.0
		for j := range row {
			row[j] = math.Exp(3 * r.NormFloat64())
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
		y, u := int32(classes-1), r.Float64()
		for j, p := range row {
			if u -= p; u < 0 {
				y = int32(j)
				break
			}
		}
		if r.IntN(4) == 0 {
			y = int32(r.IntN(classes))
		}
		s.probs, s.labels, s.weights = append(s.probs, row...), append(s.labels, y), append(s.weights, 0.5+r.Float64())
	}
	for i, y := range s.labels {
		d := int(y)
		if i%3 == 0 {
			d = i % max(2, classes)
		}
		s.decisions, s.by = append(s.decisions, int32(d)), append(s.by, float64(i*37%101)/100)
	}
	return s
}

// part returns rows [from, to).
func (s *set) part(from, to int) *set {
	k := s.classes
	return &set{to - from, k, s.probs[from*k : to*k], s.labels[from:to], s.weights[from:to], s.decisions[from:to], s.by[from:to]}
}

// only returns the rows that f wants.
func (s *set) only(f func(i int) bool) *set {
	o := &set{classes: s.classes}
	for i := range s.rows {
		if f(i) {
			o.rows++
			o.probs = append(o.probs, s.probs[i*s.classes:(i+1)*s.classes]...)
			o.labels, o.weights = append(o.labels, s.labels[i]), append(o.weights, s.weights[i])
			o.decisions, o.by = append(o.decisions, s.decisions[i]), append(o.by, s.by[i])
		}
	}
	return o
}

func (s *set) clone() *set {
	return &set{s.rows, s.classes, slices.Clone(s.probs), slices.Clone(s.labels), slices.Clone(s.weights), slices.Clone(s.decisions), slices.Clone(s.by)}
}

// with returns the set with one score changed.
func (s *set) with(row, column int, v float64) *set {
	o := s.clone()
	o.probs[row*s.classes+column] = v
	return o
}

// each returns the set with every score changed.
func (s *set) each(f func(p float64) float64) *set {
	o := s.clone()
	for i, p := range o.probs {
		o.probs[i] = f(p)
	}
	return o
}

// label returns the set with the labels of some rows changed.
func (s *set) label(v int32, rows ...int) *set {
	o := s.clone()
	for _, i := range rows {
		o.labels[i] = v
	}
	return o
}

func (s *set) shape() []int64 {
	if s.classes == 1 {
		return []int64{int64(s.rows)}
	}
	return []int64{int64(s.rows), int64(s.classes)}
}

func f32(v []float64) []float32 {
	o := make([]float32, len(v))
	for i, x := range v {
		o[i] = float32(x)
	}
	return o
}

// npy returns an array as the bytes of a file.
func npy(t testing.TB, shape []int64, data any) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := predictions.WriteNPY(&b, shape, data); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// scores returns the set's scores as float32 .npy.
func (s *set) scores(t testing.TB) []byte { return npy(t, s.shape(), f32(s.probs)) }

// fortran returns the scores as float32 .npy in column-major order.
func (s *set) fortran(t testing.TB) []byte {
	x := make([]float32, len(s.probs))
	for i := range s.rows {
		for j := range s.classes {
			x[j*s.rows+i] = float32(s.probs[i*s.classes+j])
		}
	}
	return bytes.Replace(npy(t, s.shape(), x), []byte("'fortran_order': False,"), []byte("'fortran_order': True, "), 1)
}

func (s *set) labelFile(t testing.TB) []byte { return npy(t, []int64{int64(s.rows)}, s.labels) }

func (s *set) weightFile(t testing.TB) []byte { return npy(t, []int64{int64(s.rows)}, s.weights) }

func (s *set) decisionFile(t testing.TB) []byte { return npy(t, []int64{int64(s.rows)}, s.decisions) }

func (s *set) byFile(t testing.TB) []byte { return npy(t, []int64{int64(s.rows)}, s.by) }

// npz returns a zip of arrays.
func npz(t testing.TB, members ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.Create(members[i].(string))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(members[i+1].([]byte)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// raw returns an .npy with any header text and data.
func raw(header string, data []byte) []byte {
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	header += "\n"
	return append([]byte(fmt.Sprintf("\x93NUMPY\x01\x00%c%c%s", len(header)&255, len(header)>>8, header)), data...)
}

// dir is a folder of a test's files.
type dir struct {
	t    testing.TB
	path string
}

func newDir(t testing.TB) *dir { return &dir{t, t.TempDir()} }

// at returns the path of a name in the folder.
func (d *dir) at(name string) string { return filepath.Join(d.path, name) }

// put writes a file and returns its path.
func (d *dir) put(name string, data []byte) string {
	d.t.Helper()
	if err := os.WriteFile(d.at(name), data, 0o644); err != nil {
		d.t.Fatal(err)
	}
	return d.at(name)
}

// list returns the names of all files in the folder.
func (d *dir) list() []string {
	d.t.Helper()
	var l []string
	if err := filepath.WalkDir(d.path, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			l = append(l, strings.TrimPrefix(p, d.path+string(filepath.Separator)))
		}
		return nil
	}); err != nil {
		d.t.Fatal(err)
	}
	slices.Sort(l)
	return l
}

func (d *dir) read(path string) []byte {
	d.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	return b
}
