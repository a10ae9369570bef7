package predictions

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// python runs a script in a folder, with NumPy.
func python(t *testing.T, dir, script string) string {
	t.Helper()
	path := "/usr/bin/python3"
	if exec.Command(path, "-c", "import numpy").Run() != nil {
		// NumPy is the oracle here and is not needed to build or test anything else. CI has it.
		if os.Getenv("CANDOR_REQUIRE_NUMPY") != "" {
			t.Fatal("CANDOR_REQUIRE_NUMPY is set, and there is no python3 with numpy")
		}
		t.Skip("no python3 with numpy")
	}
	cmd := exec.Command(path, "-W", "ignore", "-c", script)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	return string(out)
}

// TestNumPyWrites reads what NumPy wrote. Values are those of score and label.
func TestNumPyWrites(t *testing.T) {
	dir := t.TempDir()
	shapes, count := "((1, 4), (700, 1), (700, 12), (1000, 40))", 4
	if testing.Short() {
		shapes, count = "((1, 4), (700, 12))", 2
	}
	list := python(t, dir, `
import numpy as np
from numpy.lib import format as F
for n, k in `+shapes+`:
    y = (np.arange(n) * 7) % max(k, 2)
    for dt in ("f2", "f4", "f8", "u2"):
        for e in "<>":
            v = (np.arange(n * k) % 97 / 128).reshape(n, k)
            m = (v.astype("f4").view("u4") >> 16).astype(e + "u2") if dt == "u2" else v.astype(e + dt)
            for order in "CF":
                a = np.asarray(m, order=order)
                for version in ((1, 0), (2, 0), (3, 0)):
                    name = f"{n}-{k}-{dt}{'le' if e == '<' else 'be'}{order}{version[0]}.npy"
                    with open(name, "wb") as f: F.write_array(f, a, version=version)
                    print(name, n, k, "y%d.npy" % n + "-%d" % k + ".npy")
                for save in (np.savez, np.savez_compressed):
                    name = f"{n}-{k}-{dt}{'le' if e == '<' else 'be'}{order}-{save.__name__}.npz"
                    save(name, probs=a, labels=y)
                    print(name, n, k, "-")
    np.save("y%d.npy" % n + "-%d" % k + ".npy", y.astype("u1"))
    np.save("vector%d-%d.npy" % (n, k), (np.arange(n * k) % 97 / 128).astype("f4"))
    np.save("vy%d-%d.npy" % (n, k), (np.arange(n * k) * 7) % 2 == 1)
    print("vector%d-%d.npy" % (n, k), n * k, 1, "vy%d-%d.npy" % (n, k))
`)
	files := 0
	for line := range strings.Lines(list) {
		var name, labels string
		var n, k int
		if _, err := fmt.Sscan(line, &name, &n, &k, &labels); err != nil {
			t.Fatal(err)
		}
		o := Options{BFloat16: true, BufferBytes: 10_000}
		if labels != "-" {
			o.Labels = []string{filepath.Join(dir, labels)}
		}
		got, info, err := readAll([]string{filepath.Join(dir, name)}, &o)
		if err != nil {
			t.Fatal(err)
		}
		if info.Classes != k {
			t.Fatalf("%s: %+v", name, info)
		}
		wantRows(t, got, n, k)
		files++
	}
	if files != count*(4*2*2*5+1) {
		t.Errorf("%d files", files)
	}
}

// TestNumPyWritesMembers reads ensembles that NumPy wrote. Values are those of of.
func TestNumPyWritesMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it starts numpy once more; what numpy writes is read, and so are members")
	}
	dir := t.TempDir()
	list := python(t, dir, `
import numpy as np
for m, n, k in ((4, 90, 3), (3, 50, 1), (1, 20, 4), (5, 1, 2)):
    y = (np.arange(n) * 7) % max(k, 2)
    v = (np.arange(m)[:, None, None] * 31 + np.arange(n)[None, :, None] * 7 + np.arange(k) * 3) % 97 / 128
    for axis in (0, 1):
        for dt in ("<f2", ">f4", "<f8"):
            for order in "CF":
                a = np.asarray(np.moveaxis(v, 0, axis).astype(dt), order=order)
                name = f"{m}-{n}-{k}-{dt[1:]}-{axis}{order}.npz"
                np.savez(name, probs=a, labels=y)
                print(name, m, n, k, axis, "false")
                np.savez_compressed("c" + name, probs=a, labels=y)
                print("c" + name, m, n, k, axis, "false")
                if k == 1:
                    np.savez("b" + name, probs=np.asarray(a[:, :, 0], order=order), labels=y)
                    print("b" + name, m, n, k, axis, "true")
`)
	for line := range strings.Lines(list) {
		var name string
		var m, n, k, axis int
		var binary bool
		if _, err := fmt.Sscan(line, &name, &m, &n, &k, &axis, &binary); err != nil {
			t.Fatal(err)
		}
		o := Options{MemberAxis: axis, BinaryMembers: binary, BufferBytes: 1000}
		if _, err := readMembers([]string{filepath.Join(dir, name)}, &o, m, n, k); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNumPyReads has NumPy read what WriteNPY wrote, and write it back to the same bytes.
func TestNumPyReads(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, shape []int64, data any) {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := WriteNPY(f, shape, data); err != nil {
			t.Fatal(err)
		}
	}
	write("f4.npy", []int64{300, 4}, gen[float32](1200))
	write("f8.npy", []int64{3, 4, 100}, gen[float64](1200))
	write("f2.npy", []int64{2, 1}, Half{0x3C00, 0xC000})
	write("u2.npy", []int64{2}, []uint16{1, 65535})
	write("i4.npy", []int64{2}, []int32{1, -2})
	write("i8.npy", []int64{2}, []int64{1, -1 << 62})
	write("s.npy", []int64{}, []float64{0})
	write("e.npy", []int64{0, 9}, []float32{})
	out := python(t, dir, `
import numpy as np, io
v = np.arange(1200) % 97 / 128
want = dict(f4=v.astype("f4").reshape(300, 4), f8=v.reshape(3, 4, 100), f2=np.array([[1], [-2]], "f2"), u2=np.array([1, 65535], "u2"),
    i4=np.array([1, -2], "i4"), i8=np.array([1, -2**62]), s=np.array(0.0), e=np.zeros((0, 9), "f4"))
for k, w in want.items():
    a = np.load(k + ".npy")
    assert a.dtype == w.dtype and a.shape == w.shape and (a == w).all(), (k, a.dtype, a.shape)
    b = io.BytesIO(); np.save(b, w)
    print(k, b.getvalue() == open(k + ".npy", "rb").read())
`)
	if strings.Contains(out, "False") {
		t.Errorf("numpy writes other bytes:\n%s", out)
	}
}

// TestNumPyObjects: what NumPy pickles is an error.
func TestNumPyObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it starts numpy once more; headers of such files are refused by other tests")
	}
	dir := t.TempDir()
	python(t, dir, `
import numpy as np, pickle
np.save("objects.npy", np.array([[0.5], [0.25, 0.75]], dtype=object), allow_pickle=True)
np.save("records.npy", np.zeros(3, [("a", "f4"), ("b'", "i2", (2,))]))
np.save("complex.npy", np.zeros((3, 2), "c8"))
np.save("long.npy", np.zeros((3, 2), np.longdouble))
np.save("text.npy", np.array(["cat", "dog"]))
for p in range(2, 6): pickle.dump(np.zeros((3, 2)), open("p%d.pkl" % p, "wb"), protocol=p)
np.zeros((3, 2)).tofile("raw.bin")
np.savetxt("t.csv", np.zeros((3, 2)), delimiter=",")
`)
	for name, want := range map[string]string{
		"objects.npy": "scores are Python objects", "records.npy": "scores are a structured array", "complex.npy": "scores are complex numbers",
		"long.npy": "which differs between machines", "text.npy": "scores are text (str96)", "p2.pkl": "a Python pickle", "p3.pkl": "a Python pickle",
		"p4.pkl": "a Python pickle", "p5.pkl": "a Python pickle", "raw.bin": "it begins with 00 00", "t.csv": "text (CSV?)",
	} {
		_, err := Open([]string{filepath.Join(dir, name)}, nil)
		wantError(t, err, want)
	}
}
