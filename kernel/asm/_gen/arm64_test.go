package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A trial is a function made by the machine, of type func(dst, a, b, c *byte, n int) (ret int), and what it has to do.
type trial struct {
	name string
	kind T                                    // of the lanes that a, b and c are filled with
	ns   []int                                // nil for 0 alone
	a    func(n int) int                      // bytes that may be read at a; nil for 64
	dst  func(n int) int                      // bytes that may be written at dst; nil for 64
	emit func(m Machine, dst, a, b, c, n R) R // returns ret, or nil for n
	want func(dst, a, b, c []byte, n int) int
}

// harness runs functions by number, flush against an inaccessible page on the one side and then on the other.
const harness = `package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"syscall"
)

const page = 65536

// guarded returns three pages, of which only the one in the middle may be touched.
func guarded() []byte {
	m, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	for _, p := range [][]byte{m[:page], m[2*page:]} {
		if err := syscall.Mprotect(p, syscall.PROT_NONE); err != nil {
			panic(err)
		}
	}
	return m
}

func main() {
	in, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	word := func() int {
		v := int(binary.LittleEndian.Uint64(in))
		in = in[8:]
		return v
	}
	var mem [4][]byte
	for i := range mem {
		mem[i] = guarded()
	}
	for len(in) > 0 {
		f, n := functions[word()], word()
		var data [4][]byte
		for i := range data {
			k := word()
			data[i], in = in[:k], in[k:]
		}
		var out [2][]byte
		for side := range out {
			var at [4][]byte
			for i, d := range data {
				from := page
				if side == 1 {
					from = 2*page - len(d)
				}
				at[i] = mem[i][from:]
				copy(at[i], d)
			}
			ret := f(&at[0][0], &at[1][0], &at[2][0], &at[3][0], n)
			out[side] = binary.LittleEndian.AppendUint64(append([]byte(nil), at[0][:len(data[0])]...), uint64(ret))
		}
		if !bytes.Equal(out[0], out[1]) {
			panic("the result depends on the place in memory")
		}
		os.Stdout.Write(out[0])
	}
}
`

// TestARM64 builds a function for each trial and runs them all on an emulated CPU of the first generation.
func TestARM64(t *testing.T) {
	var runner []string
	if runtime.GOARCH != "arm64" {
		qemu, err := exec.LookPath("qemu-aarch64-static")
		if err != nil {
			t.Skip("no qemu-aarch64-static: the package qemu-user-static has it")
		}
		runner = []string{qemu, "-cpu", "cortex-a53"}
	}
	m := newNEON()
	list := "package main\n\nvar functions = []func(dst, a, b, c *byte, n int) int{\n"
	all := trials()
	for i, c := range all {
		name := fmt.Sprintf("trial%d", i)
		var args []Arg
		for _, a := range []string{"dst", "a", "b", "c"} {
			args = append(args, Arg{a, "*byte"})
		}
		m.Func(name, name+" tries "+c.name+".", append(args, Arg{"n", "int"}), []Arg{{"ret", "int"}})
		n := m.Arg("n")
		r := c.emit(m, m.Arg("dst"), m.Arg("a"), m.Arg("b"), m.Arg("c"), n)
		if r == nil {
			r = n
		}
		m.Result("ret", r)
		m.Return()
		list += "\t" + name + ",\n"
	}
	text, err := m.Asm()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, s := range map[string]string{
		"go.mod":       "module trials\n\ngo 1.26.0\n",
		"main.go":      harness,
		"functions.go": list + "}\n",
		"stubs.go":     stubs("main", "arm64 && !noasm", "", m.Functions(), false),
		"trials.s":     text,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	goCommand := func(args ...string) {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	goCommand("vet", ".")
	goCommand("build", "-o", "trials", ".")

	type run struct {
		trial int
		n     int
		want  []byte
		in    [3][]byte
	}
	var runs []run
	var in bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	length := func(f func(n int) int, n int) int {
		if f == nil {
			return 64
		}
		return f(n)
	}
	for i, c := range all {
		ns := c.ns
		if ns == nil {
			ns = []int{0}
		}
		for _, n := range ns {
			for range 20 {
				x := run{trial: i, n: n}
				dst := bytes.Repeat([]byte{0xee}, length(c.dst, n))
				x.in[0] = fill(r, c.kind, length(c.a, n))
				x.in[1], x.in[2] = fill(r, c.kind, 64), fill(r, c.kind, 64)
				for l := 0; l < min(64, len(x.in[0])); l += c.kind.Bytes() { // some lanes are equal
					if r.IntN(4) == 0 {
						copy(x.in[1][l:l+c.kind.Bytes()], x.in[0][l:])
					}
				}
				for _, v := range []int{i, n} {
					binary.Write(&in, binary.LittleEndian, int64(v))
				}
				for _, b := range append([][]byte{dst}, x.in[:]...) {
					binary.Write(&in, binary.LittleEndian, int64(len(b)))
					in.Write(b)
				}
				ret := c.want(dst, x.in[0], x.in[1], x.in[2], n)
				x.want = binary.LittleEndian.AppendUint64(dst, uint64(ret))
				runs = append(runs, x)
			}
		}
	}
	runner = append(runner, filepath.Join(dir, "trials"))
	cmd := exec.Command(runner[0], runner[1:]...)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v after %d bytes", err, len(out))
	}
	rest := bytes.NewReader(out)
	wrong := map[int]bool{}
	for _, x := range runs {
		got := make([]byte, len(x.want))
		if _, err := io.ReadFull(rest, got); err != nil {
			t.Fatal(err)
		}
		if !same(all[x.trial].kind, got, x.want) && !wrong[x.trial] {
			wrong[x.trial] = true
			t.Errorf("%s, n = %d:\na    %x\nb    %x\nc    %x\ngot  %x\nwant %x", all[x.trial].name, x.n, x.in[0], x.in[1], x.in[2], got, x.want)
		}
	}
	t.Logf("%d functions, %d runs", len(all), len(runs))
}

// same compares bits, but of NaN only that it is one: Go does not say which.
func same(t T, a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	for _, wide := range []bool{false, true} {
		ok := t == F32 || t == F64
		step := 4
		if wide {
			step = 8
		}
		for i := 0; i+step <= len(a) && ok; i += step {
			x, y := a[i:i+step], b[i:i+step]
			if wide {
				p, q := get64(x, 0), get64(y, 0)
				ok = math.Float64bits(p) == math.Float64bits(q) || p != p && q != q
			} else {
				p, q := get32(x, 0), get32(y, 0)
				ok = math.Float32bits(p) == math.Float32bits(q) || p != p && q != q
			}
		}
		if ok {
			return true
		}
	}
	return false
}

// fill returns bytes of lanes: ordinary numbers, special ones and any bits.
func fill(r *rand.Rand, t T, n int) []byte {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2.5, -3.5, math.Inf(1), math.Inf(-1), math.NaN(),
		math.MaxFloat32, -math.MaxFloat32, 0x1p-126, 0x1p-149, -0x1p-149, math.MaxFloat64, 0x1p-1022, 0x1p-1074}
	var b []byte
	for len(b) < n {
		f := r.NormFloat64() * math.Exp2(float64(r.IntN(20)-10))
		i := uint64(r.IntN(9) - 4)
		switch r.IntN(4) {
		case 0:
			i = r.Uint64()
			f = math.Float64frombits(i)
			if t == F32 {
				f = float64(math.Float32frombits(uint32(i)))
			}
		case 1:
			f = special[r.IntN(len(special))]
		}
		switch t {
		case F32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
		case F64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
		case I32:
			b = binary.LittleEndian.AppendUint32(b, uint32(i))
		default:
			b = binary.LittleEndian.AppendUint64(b, i)
		}
	}
	return b[:n]
}

// The lanes of memory.

func getU32(b []byte, i int) uint32    { return binary.LittleEndian.Uint32(b[4*i:]) }
func getU64(b []byte, i int) uint64    { return binary.LittleEndian.Uint64(b[8*i:]) }
func putU32(b []byte, i int, v uint32) { binary.LittleEndian.PutUint32(b[4*i:], v) }
func putU64(b []byte, i int, v uint64) { binary.LittleEndian.PutUint64(b[8*i:], v) }
func get32(b []byte, i int) float32    { return math.Float32frombits(getU32(b, i)) }
func get64(b []byte, i int) float64    { return math.Float64frombits(getU64(b, i)) }
func put32(b []byte, i int, v float32) { putU32(b, i, math.Float32bits(v)) }
func getHalf(b []byte, i int) uint16   { return binary.LittleEndian.Uint16(b[2*i:]) }
func getLane(t T, b []byte, i int) uint64 {
	if t.Bytes() == 4 {
		return uint64(getU32(b, i))
	}
	return getU64(b, i)
}
func putLane(t T, b []byte, i int, v uint64) {
	if t.Bytes() == 4 {
		putU32(b, i, uint32(v))
	} else {
		putU64(b, i, v)
	}
}

// perLane is a trial of an operation on the lanes of the registers of 64 bytes.
func perLane(name string, t T, emit func(m Machine, a, b, c V) V, want func(a, b, c uint64) uint64) trial {
	return trial{name: fmt.Sprintf("%s of %s", name, typeName(t)), kind: t,
		emit: func(m Machine, dst, a, b, c, n R) R {
			for off := 0; off < 64; off += m.Width() {
				m.Store(dst, off, emit(m, m.Load(a, off), m.Load(b, off), m.Load(c, off)))
			}
			return nil
		},
		want: func(dst, a, b, c []byte, n int) int {
			for i := range 64 / t.Bytes() {
				putLane(t, dst, i, want(getLane(t, a, i), getLane(t, b, i), getLane(t, c, i)))
			}
			return n
		}}
}

func typeName(t T) string { return [...]string{"float32", "float64", "int32", "int64"}[t] }

// floats are trials of an operation on both types of floats, f on float32 where rounding a float64 result is not it.
func floats(name string, emit func(m Machine, t T, a, b, c V) V, f64 func(a, b, c float64) float64, f32 func(a, b, c float32) float32) []trial {
	if f32 == nil {
		f32 = func(a, b, c float32) float32 { return float32(f64(float64(a), float64(b), float64(c))) }
	}
	return []trial{
		perLane(name, F32, func(m Machine, a, b, c V) V { return emit(m, F32, a, b, c) }, func(a, b, c uint64) uint64 {
			return uint64(math.Float32bits(f32(math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b)), math.Float32frombits(uint32(c)))))
		}),
		perLane(name, F64, func(m Machine, a, b, c V) V { return emit(m, F64, a, b, c) }, func(a, b, c uint64) uint64 {
			return math.Float64bits(f64(math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c)))
		}),
	}
}

// fma32 rounds a*b + c once, by exact arithmetic.
func fma32(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	if s := p + float64(c); math.IsInf(s, 0) || s != s || p == 0 {
		return float32(s)
	}
	x := new(big.Float).SetPrec(2000).SetFloat64(p)
	x.Add(x, big.NewFloat(float64(c)))
	f, _ := x.Float32()
	return f
}

// compare is what a condition says of two lanes.
func compare(t T, c Cond, x, y uint64) bool {
	a, b := float64(int64(x)), float64(int64(y))
	switch t {
	case F32:
		a, b = float64(math.Float32frombits(uint32(x))), float64(math.Float32frombits(uint32(y)))
	case F64:
		a, b = math.Float64frombits(x), math.Float64frombits(y)
	case I32:
		a, b = float64(int32(x)), float64(int32(y))
	case I64: // float64 has no room for all of them
		return map[Cond]bool{EQ: x == y, GT: int64(x) > int64(y)}[c]
	}
	return map[Cond]bool{EQ: a == b, NE: a != b, LT: a < b, LE: a <= b, GT: a > b, GE: a >= b, UN: a != a || b != b}[c]
}

var condNames = map[Cond]string{EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">=", UN: "unordered", ULO: "unsigned <", UHS: "unsigned >="}

func half(h uint16) float32 {
	sign, e, f := 1.0, int(h>>10&31), float64(h&1023)
	if h>>15 != 0 {
		sign = -1
	}
	switch {
	case e == 31 && f != 0:
		return float32(math.NaN())
	case e == 31:
		return float32(math.Inf(int(sign)))
	case e == 0:
		return float32(sign * math.Ldexp(f, -24))
	}
	return float32(sign * math.Ldexp(1024+f, e-25))
}

// element is an element of a source, widened, as the bits of a lane.
func element(s Source, b []byte, i int) uint64 {
	switch s {
	case FromF64:
		return getU64(b, i)
	case FromF16:
		return uint64(math.Float32bits(half(getHalf(b, i))))
	case FromBF16:
		return uint64(getHalf(b, i)) << 16
	}
	return uint64(getU32(b, i))
}

func upTo(n int) (ns []int) {
	for i := range n + 1 {
		ns = append(ns, i)
	}
	return ns
}

func trials() []trial {
	var all []trial
	add := func(t ...trial) { all = append(all, t...) }

	// Arithmetic.
	add(floats("Add", func(m Machine, t T, a, b, c V) V { return m.Add(t, a, b) }, func(a, b, c float64) float64 { return a + b }, nil)...)
	add(floats("Sub", func(m Machine, t T, a, b, c V) V { return m.Sub(t, a, b) }, func(a, b, c float64) float64 { return a - b }, nil)...)
	add(floats("Mul", func(m Machine, t T, a, b, c V) V { return m.Mul(t, a, b) }, func(a, b, c float64) float64 { return a * b }, nil)...)
	add(floats("Div", func(m Machine, t T, a, b, c V) V { return m.Div(t, a, b) }, func(a, b, c float64) float64 { return a / b }, nil)...)
	add(floats("Max", func(m Machine, t T, a, b, c V) V { return m.Max(t, a, b) }, func(a, b, c float64) float64 { return maxNaN(a, b) }, nil)...)
	add(floats("Min", func(m Machine, t T, a, b, c V) V { return m.Min(t, a, b) }, func(a, b, c float64) float64 { return -maxNaN(-a, -b) }, nil)...)
	add(floats("Ceil", func(m Machine, t T, a, b, c V) V { return m.Ceil(t, a) }, func(a, b, c float64) float64 { return math.Ceil(a) }, nil)...)
	add(floats("AddTo", func(m Machine, t T, a, b, c V) V { m.AddTo(t, a, b); return a }, func(a, b, c float64) float64 { return a + b }, nil)...)
	add(floats("SubTo", func(m Machine, t T, a, b, c V) V { m.SubTo(t, a, b); return a }, func(a, b, c float64) float64 { return a - b }, nil)...)
	add(floats("FMA", func(m Machine, t T, a, b, c V) V { return m.FMA(t, a, b, c) }, math.FMA, fma32)...)
	add(floats("FMATo", func(m Machine, t T, a, b, c V) V { m.FMATo(t, c, a, b); return c }, math.FMA, fma32)...)
	add(floats("FMA with its sum used again", func(m Machine, t T, a, b, c V) V { return m.Sub(t, m.FMA(t, a, b, c), c) },
		func(a, b, c float64) float64 { return math.FMA(a, b, c) - c }, func(a, b, c float32) float32 { return fma32(a, b, c) - c })...)
	add(floats("HornerTo", func(m Machine, t T, a, b, c V) V { m.HornerTo(t, a, b, c); return a }, math.FMA, fma32)...)
	add(floats("HornerTo of a pinned constant in a loop", horner, horner64, horner32)...)
	add(perLane("MulInt", I32, func(m Machine, a, b, c V) V { return m.MulInt(a, b) }, func(a, b, c uint64) uint64 { return a * b }))
	for _, t := range []T{I32, I64} {
		add(perLane("Add", t, func(m Machine, a, b, c V) V { return m.Add(t, a, b) }, func(a, b, c uint64) uint64 { return a + b }))
		add(perLane("Sub", t, func(m Machine, a, b, c V) V { return m.Sub(t, a, b) }, func(a, b, c uint64) uint64 { return a - b }))
		add(perLane("And", t, func(m Machine, a, b, c V) V { return m.And(a, b) }, func(a, b, c uint64) uint64 { return a & b }))
		add(perLane("Or", t, func(m Machine, a, b, c V) V { return m.Or(a, b) }, func(a, b, c uint64) uint64 { return a | b }))
		add(perLane("Xor", t, func(m Machine, a, b, c V) V { return m.Xor(a, b) }, func(a, b, c uint64) uint64 { return a ^ b }))
		add(perLane("Zero", t, func(m Machine, a, b, c V) V { return m.Add(t, a, m.Zero()) }, func(a, b, c uint64) uint64 { return a }))
		for _, n := range []int{1, 13, 23, 8*t.Bytes() - 1} {
			add(perLane(fmt.Sprintf("Shl %d", n), t, func(m Machine, a, b, c V) V { return m.Shl(t, a, n) }, func(a, b, c uint64) uint64 { return a << n }))
			add(perLane(fmt.Sprintf("Shr %d", n), t, func(m Machine, a, b, c V) V { return m.Shr(t, a, n) }, func(a, b, c uint64) uint64 { return a >> n }))
			if t == I32 {
				add(perLane(fmt.Sprintf("Sar %d", n), t, func(m Machine, a, b, c V) V { return m.Sar(t, a, n) },
					func(a, b, c uint64) uint64 { return uint64(int32(a) >> n) }))
			}
		}
		bits := uint64(0xfedcba9876543210)
		add(perLane("Const", t, func(m Machine, a, b, c V) V { return m.Xor(a, m.Const(t, bits>>(64-8*t.Bytes()))) },
			func(a, b, c uint64) uint64 { return a ^ bits>>(64-8*t.Bytes()) }))
		add(perLane("Const on the left", t, func(m Machine, a, b, c V) V { return m.Sub(t, m.Pin(m.Const(t, 5)), b) },
			func(a, b, c uint64) uint64 { return 5 - b }))
	}
	add(perLane("FromInt", I32, func(m Machine, a, b, c V) V { return m.FromInt(a) },
		func(a, b, c uint64) uint64 { return uint64(math.Float32bits(float32(int32(a)))) }))

	// Truth.
	for _, t := range []T{F32, F64, I32, I64} {
		conds := []Cond{EQ, NE, LT, LE, GT, GE, UN}
		if t == I32 || t == I64 {
			conds = []Cond{EQ, GT}
		}
		for _, q := range conds {
			is := func(a, b uint64) bool { return compare(t, q, a, b) }
			pick := func(yes bool, a, b uint64) uint64 {
				if yes {
					return a
				}
				return b
			}
			name := func(s string) string { return s + " where " + condNames[q] }
			add(perLane(name("Blend"), t, func(m Machine, a, b, c V) V { return m.Blend(m.Cmp(t, q, a, b), c, a) },
				func(a, b, c uint64) uint64 { return pick(is(a, b), c, a) }))
			add(perLane(name("BlendTo"), t, func(m Machine, a, b, c V) V { m.BlendTo(m.Cmp(t, q, a, b), c, m.Pin(m.Const(t, 7))); return c },
				func(a, b, c uint64) uint64 { return pick(is(a, b), 7, c) }))
			add(perLane(name("Keep"), t, func(m Machine, a, b, c V) V { return m.Keep(m.Cmp(t, q, a, b), c) },
				func(a, b, c uint64) uint64 { return pick(is(a, b), c, 0) }))
			add(perLane(name("Drop"), t, func(m Machine, a, b, c V) V { return m.Drop(m.Cmp(t, q, a, b), c) },
				func(a, b, c uint64) uint64 { return pick(is(a, b), 0, c) }))
			add(perLane(name("Keep, of masks combined,"), t, func(m Machine, a, b, c V) V {
				k := m.Zero()
				x, y := m.Cmp(t, q, a, b), m.Cmp(t, q, b, c)
				z := m.CopyM(x)
				m.MoveM(z, m.NotM(m.AndM(x, y)))
				return m.Blend(m.AndM(z, m.OrM(x, y)), c, k)
			}, func(a, b, c uint64) uint64 { return pick(is(a, b) != is(b, c), c, 0) }))
			add(anyTrial(t, q))
		}
		add(trial{name: "FirstLanes of " + typeName(t), kind: t, ns: []int{-1000, -1, 0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 64, 255, 256, 1 << 31, 1 << 32, 1<<62 + 3},
			emit: func(m Machine, dst, a, b, c, n R) R {
				for u, k := range m.FirstLanes(t, n) {
					m.Store(dst, u*m.Width(), m.Blend(k, m.Load(a, u*m.Width()), m.Load(b, u*m.Width())))
				}
				return nil
			},
			want: func(dst, a, b, c []byte, n int) int {
				for i := range 64 / t.Bytes() {
					putLane(t, dst, i, pickLane(i < n, t, a, b, i))
				}
				return n
			}})
		add(trial{name: "IotaAt of " + typeName(t), kind: I32,
			emit: func(m Machine, dst, a, b, c, n R) R {
				m.Store(dst, 0, m.Copy(m.Iota(t)))
				for u := 1; u < registers(m); u++ {
					m.Store(dst, u*m.Width(), m.Copy(m.IotaAt(t, u)))
				}
				return nil
			},
			want: func(dst, a, b, c []byte, n int) int {
				for i := range 64 / t.Bytes() {
					putLane(t, dst, i, uint64(i))
				}
				return n
			}})
		most := 64 / t.Bytes()
		bytesOf := func(n int) int { return n * t.Bytes() }
		add(trial{name: "StoreFirst of " + typeName(t), kind: t, ns: upTo(most), dst: bytesOf,
			emit: func(m Machine, dst, a, b, c, n R) R {
				var v []V
				for u := range registers(m) {
					v = append(v, m.Load(a, u*m.Width()))
				}
				m.StoreFirst(t, dst, n, v)
				return nil
			},
			want: func(dst, a, b, c []byte, n int) int { copy(dst, a[:bytesOf(n)]); return n }})
		add(trial{name: "StoreLane of " + typeName(t), kind: t, dst: func(int) int { return t.Bytes() },
			emit: func(m Machine, dst, a, b, c, n R) R { m.StoreLane(t, dst, 0, m.Load(a, 16)); return nil },
			want: func(dst, a, b, c []byte, n int) int { copy(dst, a[16:]); return n }})
		add(trial{name: "Broadcast of " + typeName(t), kind: t,
			emit: func(m Machine, dst, a, b, c, n R) R {
				for u := range registers(m) {
					m.Store(dst, u*m.Width(), m.Broadcast(t, a, 64-t.Bytes()))
				}
				return nil
			},
			want: func(dst, a, b, c []byte, n int) int {
				for i := range most {
					putLane(t, dst, i, getLane(t, a, most-1))
				}
				return n
			}})
		for dist := 1; dist < 16/t.Bytes(); dist *= 2 {
			add(registersTrial(fmt.Sprintf("Swap of %s by %d", typeName(t), dist), t,
				func(m Machine, a, b V) V { return m.Swap(t, a, dist) }, func(l int, a, b []byte) uint64 { return getLane(t, a, l^dist) }))
		}
		n := 16 / t.Bytes()
		zip := func(from int) func(l int, a, b []byte) uint64 {
			return func(l int, a, b []byte) uint64 {
				if l%2 == 0 {
					return getLane(t, a, from+l/2)
				}
				return getLane(t, b, from+l/2)
			}
		}
		add(registersTrial("ZipLow of "+typeName(t), t, func(m Machine, a, b V) V { return m.ZipLow(t, a, b) }, zip(0)))
		add(registersTrial("ZipHigh of "+typeName(t), t, func(m Machine, a, b V) V { return m.ZipHigh(t, a, b) }, zip(n/2)))
	}

	// Conversions, register by register of NEON.
	wide := func(name string, t, from T, emit func(m Machine, a V) V, want func(a []byte, l int) uint64) trial {
		r := registersTrial(name, t, func(m Machine, a, b V) V { return emit(m, a) }, func(l int, a, b []byte) uint64 { return want(a, l) })
		r.kind = from
		return r
	}
	widen := func(a []byte, l int) uint64 { return math.Float64bits(float64(get32(a, l))) }
	signed := func(a []byte, l int) uint64 { return uint64(int64(int32(getU32(a, l)))) }
	add(wide("Low", F64, F32, func(m Machine, a V) V { return m.Low(a) }, widen))
	add(wide("High", F64, F32, func(m Machine, a V) V { return m.High(a) }, func(a []byte, l int) uint64 { return widen(a, l+2) }))
	add(wide("LowInt", I64, I32, func(m Machine, a V) V { return m.LowInt(a) }, signed))
	add(wide("HighInt", I64, I32, func(m Machine, a V) V { return m.HighInt(a) }, func(a []byte, l int) uint64 { return signed(a, l+2) }))
	narrow := registersTrial("Narrow", F32, func(m Machine, a, b V) V { return m.Narrow(a, b) }, func(l int, a, b []byte) uint64 {
		return uint64(math.Float32bits(float32(get64([][]byte{a, b}[l/2], l%2))))
	})
	narrow.kind = F64
	add(narrow)
	narrowInt := registersTrial("NarrowInt", I32, func(m Machine, a, b V) V { return m.NarrowInt(a, b) }, func(l int, a, b []byte) uint64 {
		return getU64([][]byte{a, b}[l/2], l%2)
	})
	narrowInt.kind = I64
	add(narrowInt)
	add(trial{name: "LoadGroup", kind: F32, a: func(int) int { return 16 }, dst: func(int) int { return 16 },
		emit: func(m Machine, dst, a, b, c, n R) R { m.Store(dst, 0, m.LoadGroup(nil, 0, a, 0)); return nil },
		want: func(dst, a, b, c []byte, n int) int { copy(dst, a); return n }})

	add(registersTrial("Split, the first result", F64, func(m Machine, a, b V) V { lo, _ := m.Split(a, b, 1); return lo },
		func(l int, a, b []byte) uint64 { return getU64([][]byte{a, b}[l], 0) }))
	add(registersTrial("Split, the second result", F64, func(m Machine, a, b V) V { _, hi := m.Split(a, b, 1); return hi },
		func(l int, a, b []byte) uint64 { return getU64([][]byte{a, b}[l], 1) }))
	add(trial{name: "LoadWidened", kind: F32, a: func(int) int { return 16 }, dst: func(int) int { return 16 },
		emit: func(m Machine, dst, a, b, c, n R) R { m.Store(dst, 0, m.LoadWidened(a, 8)); return nil },
		want: func(dst, a, b, c []byte, n int) int {
			putU64(dst, 0, widen(a, 2))
			putU64(dst, 1, widen(a, 3))
			return n
		}})
	add(trial{name: "LoadInts", kind: I32, a: func(int) int { return 16 }, dst: func(int) int { return 16 },
		emit: func(m Machine, dst, a, b, c, n R) R { m.Store(dst, 0, m.LoadInts(a, 8)); return nil },
		want: func(dst, a, b, c []byte, n int) int {
			putU64(dst, 0, uint64(int64(int32(getU32(a, 2)))))
			putU64(dst, 1, uint64(int64(int32(getU32(a, 3)))))
			return n
		}})
	add(trial{name: "StoreNarrow", kind: I64, dst: func(int) int { return 8 },
		emit: func(m Machine, dst, a, b, c, n R) R { m.StoreNarrow(dst, 0, m.Load(a, 16)); return nil },
		want: func(dst, a, b, c []byte, n int) int {
			putU32(dst, 0, uint32(getU64(a, 2)))
			putU32(dst, 1, uint32(getU64(a, 3)))
			return n
		}})
	for _, t := range []T{F32, F64} {
		value := func(l int) uint64 { return uint64(7*l*l + 3) }
		add(trial{name: "Table of " + typeName(t), kind: I64, dst: func(int) int { return 16 },
			emit: func(m Machine, dst, a, b, c, n R) R { m.Store(dst, 0, m.Copy(m.Table("t", t, value))); return nil },
			want: func(dst, a, b, c []byte, n int) int {
				for l := range 16 / t.Bytes() {
					putLane(t, dst, l, value(l))
				}
				return n
			}})
	}

	// Memory.
	for _, s := range []Source{FromF32, FromF64, FromF16, FromBF16} {
		count := 64 / s.T().Bytes()
		want := func(dst, a, b, c []byte, n int) int {
			for i := range count {
				v := uint64(0)
				if i < n {
					v = element(s, a, i)
				}
				putLane(s.T(), dst, i, v)
			}
			return n
		}
		size := func(n int) int { return n * s.Bytes() }
		for _, t := range []trial{
			{name: "LoadSource of " + s.String(), ns: []int{count}, emit: func(m Machine, dst, a, b, c, n R) R {
				for u := range registers(m) {
					m.Store(dst, u*m.Width(), m.LoadSource(s, a, u*lanes(m, s.T())*s.Bytes()))
				}
				return nil
			}},
			{name: "LoadFirst of " + s.String(), ns: upTo(count), emit: func(m Machine, dst, a, b, c, n R) R {
				for u, v := range m.LoadFirst(s, a, n) {
					m.Store(dst, u*m.Width(), v)
				}
				return nil
			}},
		} {
			t.a, t.want, t.kind = size, want, s.T()
			add(t)
		}
		add(trial{name: "BroadcastSource of " + s.String(), kind: s.T(), ns: []int{1}, a: size,
			emit: func(m Machine, dst, a, b, c, n R) R {
				for u := range registers(m) {
					m.Store(dst, u*m.Width(), m.BroadcastSource(s, a, 0))
				}
				return nil
			},
			want: func(dst, a, b, c []byte, n int) int {
				for i := range count {
					putLane(s.T(), dst, i, element(s, a, 0))
				}
				return n
			}})
	}
	add(orderTrials()...)
	add(hitBlocksTrials()...)
	add(sumTrial(), generalTrial(), memoryTrial(), pressureTrial())
	for _, c := range []Cond{EQ, NE, LT, LE, GT, GE, ULO, UHS} {
		add(ifTrial(c))
	}
	return all
}

func maxNaN(a, b float64) float64 {
	if a != a || b != b {
		return math.NaN() // Go's has +Inf where one is +Inf
	}
	return math.Max(a, b)
}

func pickLane(yes bool, t T, a, b []byte, i int) uint64 {
	if yes {
		return getLane(t, a, i)
	}
	return getLane(t, b, i)
}

// registersTrial is a trial of an operation on registers of 16 bytes; want gives lane l of the result.
func registersTrial(name string, t T, emit func(m Machine, a, b V) V, want func(l int, a, b []byte) uint64) trial {
	return trial{name: name, kind: t,
		emit: func(m Machine, dst, a, b, c, n R) R {
			for off := 0; off < 64; off += 16 {
				m.Store(dst, off, emit(m, m.Load(a, off), m.Load(b, off)))
			}
			return nil
		},
		want: func(dst, a, b, c []byte, n int) int {
			for off := 0; off < 64; off += 16 {
				for l := range 16 / t.Bytes() {
					putLane(t, dst[off:], l, want(l, a[off:off+16], b[off:off+16]))
				}
			}
			return n
		}}
}

// horner takes two steps of Horner's rule three times, the second with a pinned constant.
func horner(m Machine, t T, a, b, c V) V {
	one := m.Const(t, bits64(1))
	if t == F32 {
		one = m.Const(t, bits32(1))
	}
	pin := m.Pin(one)
	i := m.GP(3)
	l := m.(*neonMachine).f.NewLabel()
	m.Label(l)
	m.HornerTo(t, a, b, c)
	m.HornerTo(t, a, b, pin)
	m.SubR(i, 1)
	m.If(i, NE, 0, l)
	return a
}

func horner64(a, b, c float64) float64 {
	for range 3 {
		a = math.FMA(math.FMA(a, b, c), b, 1)
	}
	return a
}

func horner32(a, b, c float32) float32 {
	for range 3 {
		a = fma32(fma32(a, b, c), b, 1)
	}
	return a
}

// anyTrial returns a number with a bit for Any and a bit for None of each register, n of whose lanes count.
func anyTrial(t T, q Cond) trial {
	return trial{name: fmt.Sprintf("Any and None where %s of %s", condNames[q], typeName(t)), kind: t, ns: upTo(64 / t.Bytes()),
		emit: func(m Machine, dst, a, b, c, n R) R {
			first := m.FirstLanes(t, n)
			r := m.GP(0)
			for u := range registers(m) {
				k := m.AndM(m.Cmp(t, q, m.Load(a, u*m.Width()), m.Load(b, u*m.Width())), first[u])
				any, end := fmt.Sprintf("any%d", u), fmt.Sprintf("end%d", u)
				m.Any(k, any)
				m.OrR(r, 1<<(2*u))
				m.Label(any)
				m.None(k, end)
				m.OrR(r, 2<<(2*u))
				m.Label(end)
			}
			return r
		},
		want: func(dst, a, b, c []byte, n int) (r int) {
			per := 16 / t.Bytes()
			for u := range 4 {
				bit := 1
				for i := u * per; i < min(n, (u+1)*per); i++ {
					if compare(t, q, getLane(t, a, i), getLane(t, b, i)) {
						bit = 2
					}
				}
				r |= bit << (2 * u)
			}
			return r
		}}
}

// sumTrial adds n products of float32 to chains of fused multiply-adds, in a loop with a rest.
func sumTrial() trial {
	const step = 16
	sum := func(a []byte, n int) []float32 {
		s := make([]float32, step)
		for i := range n {
			s[i%step] = fma32(get32(a, i), get32(a, i), s[i%step])
		}
		return s
	}
	return trial{name: "a loop of sums", kind: F32, ns: append(upTo(50), 1000), a: func(n int) int { return 4 * n },
		emit: func(m Machine, dst, a, b, c, n R) R {
			acc := make([]V, registers(m))
			for u := range acc {
				acc[u] = m.Zero()
			}
			p, left := m.CopyR(a), m.CopyR(n)
			m.If(left, LT, step, "rest")
			m.Label("loop")
			m.Prefetch(p, 4096)
			m.Prefetch(p, -3)
			for u := range acc {
				x := m.Load(p, u*m.Width())
				m.FMATo(F32, acc[u], x, x)
			}
			m.AddR(p, 4*step)
			m.SubR(left, step)
			m.If(left, GE, step, "loop")
			m.Label("rest")
			for u, x := range m.LoadFirst(FromF32, p, left) {
				m.FMATo(F32, acc[u], x, x)
			}
			for u := range acc {
				m.Store(dst, u*m.Width(), acc[u])
			}
			return left
		},
		want: func(dst, a, b, c []byte, n int) int {
			for i, s := range sum(a, n) {
				// A lane beyond the end gains 0*0.
				put32(dst, i, s+0)
			}
			return n % step
		}}
}

var numbers = []int{0, 1, -1, 2, 3, 5, 16, 100, 4095, 4096, -4095, -4096, -5000, 5000, 65535, 1 << 20, 1 << 31, -1 << 31, 1<<32 + 3, -1 << 62, math.MaxInt, math.MinInt}

// ifTrial compares n with numbers, and with registers that hold them.
func ifTrial(c Cond) trial {
	is := func(a, b int) bool {
		return map[Cond]bool{EQ: a == b, NE: a != b, LT: a < b, LE: a <= b, GT: a > b, GE: a >= b, ULO: uint(a) < uint(b), UHS: uint(a) >= uint(b)}[c]
	}
	return trial{name: "If " + condNames[c], ns: numbers,
		emit: func(m Machine, dst, a, b, cc, n R) R {
			r := m.GP(0)
			for i, k := range numbers {
				for j, x := range []any{k, m.GP(int64(k))} {
					l := fmt.Sprintf("if%d_%d", i, j)
					m.If(n, c, x, l)
					m.OrR(r, 1<<(2*i+j))
					m.Label(l)
				}
			}
			return r
		},
		want: func(dst, a, b, cc []byte, n int) (r int) {
			for i, k := range numbers {
				if !is(n, k) {
					r |= 3 << (2 * i)
				}
			}
			return r
		}}
}

// generalTrial does arithmetic on general registers.
func generalTrial() trial {
	operands := []int{1, 3, 7, -1, -8, 100, 4095, -4095, 4096, 5000, -70000, 0xff00, 1 << 40}
	return trial{name: "general registers", ns: numbers,
		emit: func(m Machine, dst, a, b, c, n R) R {
			r := m.CopyR(n)
			seven := m.GP(7)
			for _, k := range operands {
				m.AddR(r, k)
				m.MulR(r, seven)
				m.SubR(r, k^5)
				x := m.CopyR(r)
				m.AndR(x, k)
				m.ShrR(x, 3)
				y := m.GP(int64(k))
				m.MoveR(y, r)
				m.OrR(y, k&0xffff)
				m.ShlR(y, 5)
				m.SubR(r, x)
				m.AddR(r, y)
				m.AndR(y, x)
				m.OrR(r, y)
				z := m.CopyR(r)
				m.MinR(z, n)
				m.AddR(r, z)
			}
			return r
		},
		want: func(dst, a, b, c []byte, n int) int {
			r := n
			for _, k := range operands {
				r = (r+k)*7 - (k ^ 5)
				x := int(uint(r&k) >> 3)
				y := (r | k&0xffff) << 5
				r = r - x + y
				r |= y & x
				r += min(r, n)
			}
			return r
		}}
}

// memoryTrial loads and stores general registers.
func memoryTrial() trial {
	return trial{name: "loads and stores of general registers", kind: I64,
		emit: func(m Machine, dst, a, b, c, n R) R {
			end := m.CopyR(dst)
			m.AddR(end, 64)
			for i, k := range []int{8, 4, 2, 1} {
				x := m.LoadR(a, 8*i, k)
				m.StoreR(dst, 16*i, 8, x)
				m.LoadRTo(x, b, 8*i, 8)
				m.StoreR(end, 16*i+8-64, k, x)
			}
			return nil
		},
		want: func(dst, a, b, c []byte, n int) int {
			for i, k := range []int{8, 4, 2, 1} {
				x := getU64(a, i)
				putU64(dst, 2*i, []uint64{x, uint64(int64(int32(x))), x & 0xffff, x & 0xff}[i])
				copy(dst[16*i+8:], b[8*i:8*i+k])
			}
			return n
		}}
}

// pressureTrial pins more constants than there are registers.
func pressureTrial() trial {
	const count = 40
	return trial{name: "more constants than registers", kind: I64,
		emit: func(m Machine, dst, a, b, c, n R) R {
			var pins []C
			for i := range count {
				pins = append(pins, m.Pin(m.Const(I64, uint64(i*i*i+1))))
			}
			v := m.Load(a, 0)
			i := m.GP(5)
			m.Label("loop")
			for _, p := range pins {
				v = m.Xor(m.Add(I64, v, p), m.Shl(I64, v, 3))
			}
			w := m.Load(a, 0)
			m.Move(w, v)
			m.SubR(i, 1)
			m.If(i, GT, 0, "loop")
			m.Store(dst, 0, w)
			return nil
		},
		dst: func(int) int { return 16 },
		want: func(dst, a, b, c []byte, n int) int {
			for l := range 2 {
				v := getU64(a, l)
				for i := range count {
					v = (v + uint64(i*i*i+1)) ^ v<<3
				}
				putU64(dst, l, v)
			}
			return n
		}}
}

// TestARM64Names checks that what the driver is told is what is written.
func TestARM64Names(t *testing.T) {
	m := newNEON()
	var names []string
	for _, name := range []string{"One", "Two"} {
		m.Func(name, name+" is a function.", []Arg{{"p", "*float64"}, {"n", "int"}}, []Arg{{"r", "int"}})
		m.StoreLane(F64, m.Arg("p"), 8, m.Copy(m.Const(F64, bits64(1))))
		m.Result("r", m.Arg("n"))
		m.Return()
	}
	for _, f := range m.Functions() {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"One", "Two"}) {
		t.Errorf("functions %v", names)
	}
	got, err := m.Asm()
	if err != nil {
		t.Fatal(err)
	}
	want := generated + `

//go:build arm64 && !noasm

#include "textflag.h"

// The constants: 16 bytes each, as a register holds them.
DATA consts<>+0(SB)/8, $0x3ff0000000000000
DATA consts<>+8(SB)/8, $0x3ff0000000000000
GLOBL consts<>(SB), RODATA|NOPTR, $16

// func One(p *float64, n int) (r int)
TEXT ·One(SB), NOSPLIT, $0-24
	MOVD $consts<>(SB), R0
	MOVD p+0(FP), R1
	FMOVQ (R0), F0
	FMOVD F0, 8(R1)
	MOVD n+8(FP), R0
	MOVD R0, r+16(FP)
	RET

// func Two(p *float64, n int) (r int)
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
