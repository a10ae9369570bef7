package predictions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
)

// of is the value of a class of a member in a row of every test ensemble of m members and k classes. It is exact in all types of
// scores.
func of(member, row, class int) float64 { return float64((member*31+row*7+class*3)%97) / 128 }

// cube returns an array of an ensemble. axis is that of members; two omits the axis of a single class.
func cube(descr string, fortran bool, axis, m, n, k int, two bool) []byte {
	shape := []int{m, n, k}
	if axis == 1 {
		shape = []int{n, m, k}
	}
	index := []int{0, 1, 2}
	if fortran {
		slices.Reverse(index)
	}
	dims := [3]int{shape[index[0]], shape[index[1]], shape[index[2]]}
	order := "False"
	if fortran {
		order = "True"
	}
	if two {
		shape = shape[:2]
	}
	// The data in file order, as a vector.
	body := npy(1, descr, false, []int{m * n * k}, func(i int) float64 {
		var at [3]int
		at[index[2]], at[index[1]], at[index[0]] = i%dims[2], i/dims[2]%dims[1], i/dims[2]/dims[1]
		if axis == 1 {
			return of(at[1], at[0], at[2])
		}
		return of(at[0], at[1], at[2])
	})
	d := descr
	if descr[1:] == "bf16" {
		d = descr[:1] + "u2"
	}
	head := npyHead(1, fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s}", d, order, pyTuple(shape)))
	return append(head, body[len(body)-m*n*k*parseDType(d).size:]...)
}

// readMembers reads all rows and checks every value.
func readMembers(paths []string, o *Options, m, n, k int) (Info, error) {
	r, err := OpenMembers(paths, o)
	if err != nil {
		return Info{}, err
	}
	defer r.Close()
	return r.Info(), drainMembers(r, m, n, k)
}

func drainMembers(r *MembersReader, m, n, k int) error {
	row := 0
	for {
		c, err := r.Next()
		if err == io.EOF {
			if row != n || r.BytesRead() != r.Info().Bytes || r.Info().Bytes != int64(m*n*k*r.Info().DType.Size()) {
				return fmt.Errorf("%d rows of %d, %d bytes, %+v", row, n, r.BytesRead(), r.Info())
			}
			if _, err := r.Next(); err != io.EOF {
				return fmt.Errorf("after the end: %v", err)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if c.First != int64(row) || len(c.Each) != m || len(c.Labels) == 0 || c.Weights != nil && len(c.Weights) != len(c.Labels) {
			return fmt.Errorf("chunk at %d of %d members and %d labels", c.First, len(c.Each), len(c.Labels))
		}
		for j := range c.Each {
			s := &c.Each[j]
			if s.Rows != len(c.Labels) || s.Classes != k || s.DType() != r.Info().DType {
				return fmt.Errorf("member %d has %d x %d %s", j, s.Rows, s.Classes, s.DType())
			}
			st := s.Stride
			if st == 0 {
				st = k
			}
			w := widen(s)
			if len(w) != (s.Rows-1)*st+k {
				return fmt.Errorf("%d values", len(w))
			}
			for i := range s.Rows {
				for l := range k {
					if v := w[i*st+l]; v != of(j, row+i, l) {
						return fmt.Errorf("member %d, row %d, class %d is %v, want %v", j, row+i, l, v, of(j, row+i, l))
					}
				}
			}
		}
		for i, y := range c.Labels {
			if float64(y) != label(max(k, 2))(row+i) {
				return fmt.Errorf("label %d is %d", row+i, y)
			}
			if c.Weights != nil && c.Weights[i] != float64(row+i) {
				return fmt.Errorf("weight %d is %v", row+i, c.Weights[i])
			}
		}
		row += len(c.Labels)
		c.Recycle()
	}
}

var memberTypes = map[string]metrics.DType{"<f2": metrics.Float16, ">f2": metrics.Float16, "<bf16": metrics.BFloat16, ">bf16": metrics.BFloat16,
	"<f4": metrics.Float32, ">f4": metrics.Float32, "<f8": metrics.Float64, ">f8": metrics.Float64}

var memberSizes = [][3]int{{1, 1, 1}, {1, 50, 3}, {5, 1, 3}, {5, 50, 1}, {3, 300, 4}, {4, 57, 33}, {40, 20, 5}}

func TestMembersOfOneArray(t *testing.T) {
	for descr, dtype := range memberTypes {
		for _, axis := range []int{0, 1} {
			for _, fortran := range []bool{false, true} {
				for _, box := range []string{"npy", "stored", "deflated", "stream"} {
					if descr[0] == '>' && box != "npy" {
						continue // swapping bytes does not depend on their source
					}
					t.Run(fmt.Sprintf("%s/axis=%d/fortran=%v/%s", descr, axis, fortran, box), func(t *testing.T) {
						for i, s := range memberSizes {
							if (i+axis+len(box)+len(descr))%check.Size(4, 2, 1) != 0 {
								continue // take sizes in turn
							}
							for _, two := range []bool{false, true} {
								m, n, k := s[0], s[1], s[2]
								if two && k > 1 {
									continue
								}
								x := cube(descr, fortran, axis, m, n, k, two)
								l := npy(1, "<i8", false, []int{n}, label(max(k, 2)))
								w := npy(1, "<i2", false, []int{n}, func(i int) float64 { return float64(i) })
								o := Options{BFloat16: descr[1:] == "bf16", MemberAxis: axis, BinaryMembers: two, Kind: metrics.Logits, BufferBytes: 1000}
								var path string
								switch box {
								case "npy", "stream":
									path = save(t, "x.npy", x)
									o.Labels, o.Weights = []string{save(t, "l.npy", l)}, []string{save(t, "w.npy", w)}
									if box == "stream" {
										o.FS = os.DirFS("/")
										path, o.Labels[0], o.Weights[0] = path[1:], o.Labels[0][1:], o.Weights[0][1:]
									}
								default:
									path = save(t, "x.npz", npz(box == "deflated", entry{"members.npy", x}, entry{"labels.npy", l}, entry{"weights.npy", w}))
								}
								info, err := readMembers([]string{path}, &o, m, n, k)
								if err != nil {
									t.Fatal(s, two, err)
								}
								shape := []int64{int64(m), int64(n), int64(k)}
								if axis == 1 {
									shape = []int64{int64(n), int64(m), int64(k)}
								}
								if two {
									shape = shape[:2]
								}
								want := Info{Rows: int64(n), Classes: k, DType: dtype, Bytes: int64(m * n * k * dtype.Size()), Shape: shapeText(shape),
									Files: 1, Members: m, Weighted: true}
								if info != want {
									t.Errorf("%+v, want %+v", info, want)
								}
							}
						}
					})
				}
			}
		}
	}
}

// memberFile returns one member's scores.
func memberFile(descr string, fortran bool, j, n, k int) []byte {
	shape := []int{n, k}
	if k == 1 && j%2 == 0 {
		shape = []int{n}
	}
	return npy(1, descr, fortran, shape, func(i int) float64 { return of(j, i/k, i%k) })
}

func TestMembersOfFiles(t *testing.T) {
	for descr, dtype := range memberTypes {
		for _, s := range memberSizes {
			m, n, k := s[0], s[1], s[2]
			if m == 1 || (m+int(dtype))%check.Size(2, 1, 1) != 0 {
				continue
			}
			dir := t.TempDir()
			var paths []string
			l := npy(1, ">i2", false, []int{n, 1}, label(max(k, 2)))
			for j := range m {
				// Order, endianness and format may differ between files.
				d := string("<>"[j%2]) + descr[1:]
				x := memberFile(d, j%3 == 1, j, n, k)
				name := filepath.Join(dir, fmt.Sprintf("m%d.npy", j))
				if j%5 > 2 {
					x = npz(j%5 == 3, entry{"p.npy", x}, entry{"y.npy", l})
				}
				if err := os.WriteFile(name, x, 0o600); err != nil {
					t.Fatal(err)
				}
				paths = append(paths, name)
			}
			slices.Sort(paths) // m10 before m2
			o := Options{BFloat16: descr[1:] == "bf16", BufferBytes: 1000}
			if m < 4 { // no file has labels
				o.Labels = []string{save(t, "l.npy", l)}
			}
			info, err := readMembers(paths, &o, m, n, k)
			if err != nil {
				t.Fatal(descr, s, err)
			}
			if info.Members != m || info.Files != m || info.DType != dtype || info.Rows != int64(n) || info.Classes != k {
				t.Errorf("%+v", info)
			}
		}
	}
}

func TestMembersLocate(t *testing.T) {
	a, b := save(t, "a.npy", memberFile("<f4", false, 0, 9, 3)), save(t, "b.npy", memberFile("<f4", false, 1, 9, 3))
	r, err := OpenMembers([]string{a, b}, &Options{NoLabels: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if f, row := r.Locate(8); f != a || row != 8 || r.File(0) != a || r.File(1) != b {
		t.Error(f, row, r.File(1))
	}
	if f, row := r.Locate(9); f != "" || row != -1 {
		t.Error(f, row)
	}
	if c, err := r.Next(); err != nil || !slices.Equal(c.Labels, make([]int32, 9)) || r.Info().Shape != "(2, 9, 3)" {
		t.Error(c, err, r.Info())
	}
	defer func() {
		if recover() == nil {
			t.Error("File of no member")
		}
	}()
	r.File(2)
}

func TestMembersErrors(t *testing.T) {
	one := func(name string, b []byte) []string { return []string{save(t, name, b)} }
	l := one("l.npy", npy(1, "<i4", false, []int{9}, label(3)))
	l4 := one("l4.npy", npy(1, "<i4", false, []int{4}, label(3)))
	x := cube("<f4", false, 0, 4, 9, 3, false)
	good := one("x.npy", x)
	head := func(shape string) []byte {
		return npyHead(1, "{'descr': '<f4', 'fortran_order': False, 'shape': "+shape+", }")
	}
	member := func(n, k int) string {
		return save(t, "m.npy", npy(1, "<f4", false, []int{n, k}, score))
	}
	boxed := func(y func(int) float64, weight float64) string {
		return save(t, "m.npz", npz(false, entry{"p.npy", npy(1, "<f4", false, []int{9, 3}, score)}, entry{"y.npy", npy(1, "<u1", false, []int{9}, y)},
			entry{"weights.npy", npy(1, "<f4", false, []int{9}, func(int) float64 { return weight })}))
	}
	other := func(i int) float64 {
		if i == 5 {
			return 2
		}
		return 1
	}
	stored := npz(false, entry{"p.npy", x}, entry{"y.npy", npy(1, "<u1", false, []int{9}, ones)})
	flipped := bytes.Clone(stored)
	flipped[bytes.Index(flipped, x[len(x)-30:])] ^= 4
	deflated := npz(true, entry{"p.npy", x}, entry{"y.npy", npy(1, "<u1", false, []int{9}, ones)})
	broken := bytes.Clone(deflated)
	broken[200] ^= 0xFF
	for _, c := range []struct {
		name  string
		paths []string
		o     Options
		want  []string
	}{
		{"none", nil, Options{}, []string{"no predictions; name an .npy or .npz file for each member"}},
		{"missing", []string{"nowhere.npy"}, Options{}, []string{"nowhere.npy: no such file"}},
		{"one model", one("m.npy", npy(1, "<f4", false, []int{9, 3}, score)), Options{Labels: l},
			[]string{"m.npy: one array of shape (9, 3) is one model's scores, not an ensemble; give a file for each member, or one array (M, N, K) of all", "a[:, :, None]"}},
		{"one vector", one("m.npy", npy(1, "<f4", false, []int{9}, score)), Options{Labels: l, MemberAxis: 1}, []string{"shape (9,) is one model's", "(N, M, K)"}},
		{"four axes", one("m.npy", npy(1, "<f4", false, []int{2, 3, 9, 3}, score)), Options{Labels: l}, []string{"the members have 4 axes, shape (2, 3, 9, 3)"}},
		{"three axes twice", []string{good[0], good[0]}, Options{Labels: l}, []string{"several files are a member each, and this one has 3 axes, shape (4, 9, 3)"}},
		{"truncated", one("t.npy", x[:len(x)-1]), Options{Labels: l}, []string{"t.npy: truncated: header says 4 x 9 x 3 float32 = 432 bytes of data, file has 431; write it again"}},
		{"too long", one("t.npy", append(bytes.Clone(x), 0)), Options{Labels: l}, []string{"too long: header says 4 x 9 x 3 float32"}},
		{"no rows", one("t.npy", head("(4, 0, 3)")), Options{Labels: l}, []string{"no rows: its shape is (4, 0, 3)"}},
		{"no members", one("t.npy", head("(0, 9, 3)")), Options{Labels: l}, []string{"no members: its shape is (0, 9, 3)"}},
		{"no classes", one("t.npy", head("(4, 9, 0)")), Options{Labels: l}, []string{"no classes: its shape is (4, 9, 0)"}},
		{"rows taken for members", one("t.npy", npy(1, "<f4", false, []int{2049, 1, 3}, score)), Options{NoLabels: true},
			[]string{"t.npy: 2049 members (shape (2049, 1, 3)): at most 2048 are read; are the axes in another order? MemberAxis says"}},
		{"huge", one("t.npy", head("(4, 9, 999999999999999999)")), Options{Labels: l}, []string{"larger than any file"}},
		{"integers", one("t.npy", npy(1, "<i4", false, []int{4, 9, 3}, ones)), Options{Labels: l}, []string{"scores are int32"}},
		{"bfloat16", one("t.npy", npy(1, "<u2", false, []int{4, 9, 3}, ones)), Options{Labels: l}, []string{"scores are uint16; pass BFloat16"}},
		{"rows differ", []string{member(9, 3), member(8, 3)}, Options{Labels: l}, []string{"8 rows (shape (8, 3)), but ", "m.npy has 9 (shape (9, 3)); members must agree"}},
		{"classes differ", []string{member(9, 3), member(9, 4)}, Options{Labels: l}, []string{"4 classes (shape (9, 4)), but ", "has 3 (shape (9, 3)); members must agree"}},
		{"types differ", []string{member(9, 3), save(t, "d.npy", npy(1, "<f8", false, []int{9, 3}, score))}, Options{Labels: l},
			[]string{"d.npy: float64, but ", "m.npy is float32; members must agree"}},
		{"no rows in files", []string{member(0, 3), member(0, 3)}, Options{Labels: l}, []string{"no rows: its shape is (0, 3)"}},
		{"no labels", good, Options{}, []string{"x.npy: no labels; pass a file as Labels"}},
		{"no labels in npz", one("x.npz", npz(false, entry{"p.npy", x})), Options{}, []string{"x.npz: no labels", "it has p float32 (4, 9, 3)"}},
		{"labels of the other axis", good, Options{Labels: l4}, []string{"l4.npy: 4 labels for the 9 rows of ", "x.npy, shape (4, 9, 3); are members on the other axis? pass MemberAxis 1"}},
		{"labels of the first axis", good, Options{Labels: l, MemberAxis: 1}, []string{"9 labels for the 4 rows of ", "pass MemberAxis 0"}},
		{"labels of other data", good, Options{Labels: one("l.npy", npy(1, "<i4", false, []int{8}, label(3)))}, []string{"8 labels for the 9 rows", "each row needs one"}},
		{"labels twice", good, Options{Labels: []string{l[0], l[0]}}, []string{"2 files of labels for one ensemble; give one file"}},
		{"float labels", good, Options{Labels: one("l.npy", npy(1, "<f4", false, []int{9}, func(int) float64 { return 0.5 }))}, []string{"row 0: label 0.5 is not a class number"}},
		{"weights of other data", good, Options{Labels: l, Weights: l4}, []string{"4 weights for the 9 rows"}},
		{"decisions", good, Options{Labels: l, Decisions: l}, []string{"an ensemble has no decisions"}},
		{"samples", good, Options{Kind: metrics.Samples}, []string{"the scores of an ensemble's members cannot be samples"}},
		{"axis", good, Options{Labels: l, MemberAxis: 2}, []string{"MemberAxis is 2; it is 0 or 1"}},
		{"observed", good, Options{Observed: l}, []string{"observed values are for samples"}},
		{"labels differ", []string{boxed(ones, 1), boxed(other, 1)}, Options{BufferBytes: 40}, []string{"m.npz:y: row 5: its label differs from that of ", "members are of the same rows in the same order"}},
		{"weights differ", []string{boxed(ones, 1), boxed(ones, 2)}, Options{}, []string{"m.npz:weights: row 0: its weight differs from that of "}},
		{"damaged", one("x.npz", flipped), Options{}, []string{"x.npz:p: damaged .npz: the data do not match their CRC-32"}},
		{"broken", one("x.npz", broken), Options{}, []string{"x.npz:p: damaged .npz"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := OpenMembers(c.paths, &c.o)
			for err == nil {
				var k *metrics.MemberChunk
				if k, err = r.Next(); err == nil {
					k.Recycle()
					continue
				}
				if _, again := r.Next(); again != err {
					t.Errorf("%v, then %v", err, again)
				}
				r.Close()
			}
			if err == io.EOF {
				t.Fatal("no error")
			}
			wantError(t, err, c.want...)
		})
	}
	// Equal labels and weights in all files count once, as do those of arrays in one file.
	if _, err := readAllMembers([]string{boxed(ones, 1), boxed(ones, 1), boxed(ones, 1)}, &Options{BufferBytes: 40}); err != nil {
		t.Error(err)
	}
	both := save(t, "both.npz", npz(true, entry{"a.npy", memberFile("<f4", false, 0, 9, 3)}, entry{"b.npy", memberFile("<f4", true, 1, 9, 3)},
		entry{"y.npy", npy(1, "<u1", false, []int{9}, label(3))}))
	if _, err := readMembers([]string{both + ":a", both + ":b"}, nil, 2, 9, 3); err != nil {
		t.Error(err)
	}
}

// readAllMembers reads to the end.
func readAllMembers(paths []string, o *Options) (rows int, err error) {
	r, err := OpenMembers(paths, o)
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
		rows += len(c.Labels)
		c.Recycle()
		c.Recycle()
	}
}

func TestMembersTiles(t *testing.T) {
	// More rows than one tile holds.
	const m, k = 3, 4
	n := tileHeight(1<<40, m*k, 2, tileBytes) + 1000
	for _, axis := range []int{0, 1}[:check.Size(1, 2, 2)] {
		o := Options{MemberAxis: axis, BufferBytes: 100_000, Labels: []string{save(t, "l.npy", npy(1, "<u1", false, []int{n}, label(k)))}}
		if _, err := readMembers([]string{save(t, "x.npy", cube("<f2", true, axis, m, n, k, false))}, &o, m, n, k); err != nil {
			t.Error(axis, err)
		}
	}
}

func TestMembersOfManyRows(t *testing.T) {
	// Chunks with many rows of each member, and with few.
	for _, c := range []struct{ m, n, bytes int }{{3, 20_000, 20_000}, {50, 9000, 0}, {3, 20_000, 0}}[:check.Size(2, 3, 3)] {
		l := npy(1, "|u1", false, []int{c.n}, label(4))
		x := cube(">f4", false, 0, c.m, c.n, 4, false)
		o := Options{BufferBytes: c.bytes, Labels: []string{save(t, "l.npy", l)}}
		for _, path := range []string{save(t, "x.npy", x), save(t, "x.npz", npz(false, entry{"p.npy", x}))} {
			if _, err := readMembers([]string{path}, &o, c.m, c.n, 4); err != nil {
				t.Error(c, err)
			}
		}
	}
}

func TestMembersInFlight(t *testing.T) {
	const m, n, k = 3, 5000, 4
	path := save(t, "x.npy", cube(">f4", false, 0, m, n, k, false))
	r, err := OpenMembers([]string{path}, &Options{Labels: []string{save(t, "l.npy", npy(1, "<i2", false, []int{n}, label(k)))}, Buffers: 3, BufferBytes: 3000})
	if err != nil {
		t.Fatal(err)
	}
	work := make(chan *metrics.MemberChunk)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for c := range work {
				for j := range c.Each {
					for i, v := range c.Each[j].F32 {
						if want := of(j, int(c.First)+i/k, i%k); float64(v) != want {
							t.Errorf("member %d, row %d: %v, want %v", j, c.First+int64(i/k), v, want)
						}
					}
				}
				c.Recycle()
			}
		})
	}
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		work <- c
	}
	close(work)
	wg.Wait()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Next(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func TestMembersMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it reads a gigabyte")
	}
	collected(t)
	for _, c := range []struct {
		m, k, axis, files int
		fortran           bool
	}{{8, 100, 0, 1, false}, {8, 100, 1, 1, false}, {8, 100, 0, 1, true}, {8, 100, 1, 1, true}, {1000, 1, 0, 1, false}, {8, 100, 0, 8, false}, {8, 100, 0, 8, true}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			const total = 96 << 20
			n := total / 4 / c.k / c.m
			labels := sparse(t, "l.npy", "<i8", false, n)
			var paths []string
			switch {
			case c.files > 1:
				for range c.files {
					paths = append(paths, sparse(t, "x.npy", "<f4", c.fortran, n, c.k))
				}
			case c.axis == 0:
				paths = []string{sparse(t, "x.npy", "<f4", c.fortran, c.m, n, c.k)}
			default:
				paths = []string{sparse(t, "x.npy", "<f4", c.fortran, n, c.m, c.k)}
			}
			heap := func() int64 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			runtime.GC()
			before, most, rows := heap(), int64(0), 0
			r, err := OpenMembers(paths, &Options{Labels: []string{labels}, MemberAxis: c.axis})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for {
				k, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				rows += len(k.Labels)
				k.Recycle()
				most = max(most, heap())
			}
			if rows != n {
				t.Errorf("%d rows of %d", rows, n)
			}
			if grown := most - before; grown > 56<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			} else {
				t.Logf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}
