package check

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"
)

// eachType runs a generic test's instances.
func eachType(t *testing.T, f map[string]func(t *testing.T)) {
	for name, run := range f {
		t.Run(name, run)
	}
}

func TestGuardedShape(t *testing.T) {
	eachType(t, map[string]func(*testing.T){
		"float32": guardedShape[float32], "float64": guardedShape[float64], "uint8": guardedShape[uint8],
		"uint16": guardedShape[uint16], "uint32": guardedShape[uint32], "uint64": guardedShape[uint64],
		"int32": guardedShape[int32], "int64": guardedShape[int64],
	})
}

func guardedShape[T Element](t *testing.T) {
	page := os.Getpagesize()
	for _, n := range []int{0, 1, 2, 3, 7, 64, 1023, page, page + 1, 3 * page} {
		for _, tail := range []bool{false, true} {
			s := Guarded[T](t, n, tail)
			if len(s) != n || cap(s) != n {
				t.Fatalf("n=%d tail=%v: len %d, cap %d", n, tail, len(s), cap(s))
			}
			var zero T
			for i := range s {
				if s[i] != zero {
					t.Fatalf("n=%d tail=%v: element %d is %v", n, tail, i, s[i])
				}
				s[i] = T(i)
			}
			if guardPages {
				edge := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
				if tail {
					edge += uintptr(n) * unsafe.Sizeof(zero)
				}
				if edge%uintptr(page) != 0 {
					t.Errorf("n=%d tail=%v: the edge %#x is within a page", n, tail, edge)
				}
			}
		}
	}
}

func TestGuardedFaults(t *testing.T) {
	if !guardPages {
		// Canaries stand there instead, which TestCanaries covers; CI fails where this skips.
		t.Skip("this system has no guard pages")
	}
	eachType(t, map[string]func(*testing.T){
		"float32": guardedFaults[float32], "float64": guardedFaults[float64], "uint8": guardedFaults[uint8],
		"uint16": guardedFaults[uint16], "uint32": guardedFaults[uint32], "uint64": guardedFaults[uint64],
		"int32": guardedFaults[int32], "int64": guardedFaults[int64],
	})
}

var sink any

func guardedFaults[T Element](t *testing.T) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	for _, n := range []int{0, 1, 5, 1024, os.Getpagesize() + 1} {
		for _, tail := range []bool{false, true} {
			s := Guarded[T](t, n, tail)
			first := unsafe.Pointer(unsafe.SliceData(s))
			out := -size // the element in front
			if tail {
				out = n * size
			}
			for _, write := range []bool{false, true} {
				touch := func(p *T) { sink = *p }
				if write {
					touch = func(p *T) { *p = 1 }
				}
				for i := range s { // all inside is open
					touch(&s[i])
				}
				at := unsafe.Add(first, out)
				// Some CPUs (s390x) tell no more than the page.
				got, page := fault(func() { touch((*T)(at)) }), uintptr(os.Getpagesize())
				if got != uintptr(at) && got != uintptr(at)/page*page {
					t.Errorf("n=%d tail=%v write=%v: fault at %#x, want %#x", n, tail, write, got, at)
				}
			}
		}
	}
}

// fault returns the address at which f faulted, or 0.
func fault(f func()) (addr uintptr) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e, ok := recover().(interface{ Addr() uintptr }); ok {
			addr = e.Addr()
		}
	}()
	f()
	return 0
}

// fakeTB takes what a helper reports and runs its cleanups on demand.
type fakeTB struct {
	testing.TB
	errors   []string
	cleanups []func()
}

func (f *fakeTB) Helper()                   {}
func (f *fakeTB) Cleanup(c func())          { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Errorf(s string, a ...any) { f.errors = append(f.errors, fmt.Sprintf(s, a...)) }
func (f *fakeTB) Fatalf(s string, a ...any) { f.Errorf(s, a...); runtime.Goexit() }

func (f *fakeTB) end() {
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
}

func TestCanaries(t *testing.T) {
	const n = 10
	type place struct {
		name string
		off  int // bytes from the slice's start
	}
	regions := map[string]func(testing.TB, int, bool) unsafe.Pointer{"heap": heapRegion, "system": region}
	for name, make := range regions {
		for _, tail := range []bool{false, true} {
			outside := []place{{"in front of", -1}, {"in front of", -64}, {"behind", n}, {"behind", n + 63}}
			if name == "system" && guardPages { // one side faults, the other is watched
				outside = outside[2:]
				if tail {
					outside = []place{{"in front of", -1}, {"in front of", -64}}
				}
			}
			for _, at := range append(outside, place{"", 0}, place{"", n - 1}) {
				tb := &fakeTB{TB: t}
				p := make(tb, n, tail)
				*(*byte)(unsafe.Add(p, at.off)) = 7
				tb.end()
				damaged := len(tb.errors) == 1 && strings.Contains(tb.errors[0], at.name+" the slice was overwritten with 0x07")
				if at.name == "" && len(tb.errors) != 0 || at.name != "" && !damaged {
					t.Errorf("%s tail=%v, a write at %d: reports %q", name, tail, at.off, tb.errors)
				}
			}
			// A stray read is NaN: what lies on the open side has all bits set.
			tb := &fakeTB{TB: t}
			p := make(tb, n, tail)
			open := unsafe.Add(p, n)
			if tail {
				open = unsafe.Add(p, -1)
			}
			if *(*byte)(open) != canary {
				t.Errorf("%s tail=%v: no canary on the open side", name, tail)
			}
			tb.end()
		}
	}
}

func TestHeapRegionAlignment(t *testing.T) {
	for size := range 130 {
		for _, tail := range []bool{false, true} {
			p := heapRegion(t, size, tail)
			edge := uintptr(p)
			if tail {
				edge += uintptr(size)
			}
			if edge%64 != 0 {
				t.Fatalf("size %d tail=%v: edge %#x", size, tail, edge)
			}
			for i := range size {
				if *(*byte)(unsafe.Add(p, i)) != 0 {
					t.Fatalf("size %d tail=%v: byte %d is not 0", size, tail, i)
				}
			}
		}
	}
}

func TestGuardedNegative(t *testing.T) {
	tb := &fakeTB{TB: t}
	done := make(chan bool)
	go func() {
		defer close(done)
		Guarded[float32](tb, -1, true)
	}()
	<-done
	if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], "length -1") {
		t.Errorf("reports %q", tb.errors)
	}
}

func TestOffset(t *testing.T) {
	eachType(t, map[string]func(*testing.T){
		"float32": offset[float32], "float64": offset[float64], "uint8": offset[uint8], "uint16": offset[uint16],
		"uint32": offset[uint32], "uint64": offset[uint64], "int32": offset[int32], "int64": offset[int64],
	})
}

func offset[T Element](t *testing.T) {
	var zero T
	size := unsafe.Sizeof(zero)
	for _, n := range []int{0, 1, 3, 16, 67, 1000} {
		for off := range 70 {
			s := Offset[T](n, off)
			if len(s) != n || cap(s) != n {
				t.Fatalf("n=%d off=%d: len %d, cap %d", n, off, len(s), cap(s))
			}
			first := unsafe.Pointer(unsafe.SliceData(s))
			if n > 0 && uintptr(first)%64 != uintptr(off)*size%64 {
				t.Fatalf("n=%d off=%d: starts at %#x", n, off, first)
			}
			for i, v := range s {
				if v != zero {
					t.Fatalf("n=%d off=%d: element %d is %v", n, off, i, v)
				}
			}
			if n > 0 && (off > 0 && *(*byte)(unsafe.Add(first, -1)) != canary || *(*byte)(unsafe.Add(first, n*int(size))) != canary) {
				t.Fatalf("n=%d off=%d: no canary around", n, off)
			}
		}
	}
}

func TestSame(t *testing.T) {
	for i, a := range Specials32() {
		for j, b := range Specials32() {
			want := i == j || a != a && b != b
			if Same32(a, b) != want {
				t.Errorf("Same32(%#08x, %#08x) = %v", math.Float32bits(a), math.Float32bits(b), !want)
			}
		}
	}
	for i, a := range Specials64() {
		for j, b := range Specials64() {
			want := i == j || a != a && b != b
			if Same64(a, b) != want {
				t.Errorf("Same64(%#016x, %#016x) = %v", math.Float64bits(a), math.Float64bits(b), !want)
			}
		}
	}
}

// Every value is there, with its bits, once, and the next call's slice is another one.
func TestSpecials(t *testing.T) {
	has := func(name string, bits map[uint64]bool, want ...uint64) {
		t.Helper()
		for _, w := range want {
			if !bits[w] {
				t.Errorf("%s lacks %#x", name, w)
			}
		}
	}
	set := func(name string, bits []uint64) map[uint64]bool {
		t.Helper()
		m := map[uint64]bool{}
		for _, b := range bits {
			if m[b] {
				t.Errorf("%s has %#x twice", name, b)
			}
			m[b] = true
		}
		return m
	}
	b32 := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	b64 := math.Float64bits
	var all []uint64
	for _, v := range Specials32() {
		all = append(all, b32(v))
	}
	inf := float32(math.Inf(1))
	has("Specials32", set("Specials32", all), 0x7FC00000, 0xFFC00000, 0x7F800001, b32(inf), b32(-inf), 0, 1<<31,
		b32(math.SmallestNonzeroFloat32), b32(0x1p-126), b32(0x1p-126)-1, b32(1), b32(-1), b32(math.MaxFloat32), b32(-math.MaxFloat32),
		b32(1)+1, b32(1)-1, b32(0.5)+1, b32(0.5)-1)
	all = nil
	for _, v := range Specials64() {
		all = append(all, b64(v))
	}
	has("Specials64", set("Specials64", all), 0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, b64(math.Inf(1)),
		b64(math.Inf(-1)), 0, 1<<63, b64(math.SmallestNonzeroFloat64), b64(0x1p-1022), b64(0x1p-1022)-1, b64(1), b64(-1),
		b64(math.MaxFloat64), b64(-math.MaxFloat64), b64(1)+1, b64(1)-1, b64(0.5)+1, b64(0.5)-1,
		b64(math.MaxFloat32), b64(math.SmallestNonzeroFloat32), b64(math.MaxInt32), b64(math.MinInt32), b64(math.MinInt64))

	// A half format's specials, shifted to the top of a float32 or taken apart, are of the classes of float32's.
	for name, f := range map[string]struct {
		bits     []uint16
		mantissa int
	}{"SpecialHalf": {SpecialHalf(), 10}, "SpecialBF16": {SpecialBF16(), 7}} {
		all = nil
		for _, b := range f.bits {
			all = append(all, uint64(b))
		}
		one := uint64(0x7FFF>>f.mantissa>>1) << f.mantissa // the biased exponent of 1
		half := one - 1<<f.mantissa
		inf := uint64(0x7FFF>>f.mantissa) << f.mantissa
		normal := uint64(1) << f.mantissa
		m := set(name, all)
		for _, sign := range []uint64{0, 0x8000} {
			has(name, m, sign, sign|1, sign|(normal-1), sign|normal, sign|half, sign|one, sign|(inf-1), sign|inf, sign|(inf+1), sign|(inf+normal/2))
		}
		has(name, m, one-1, one+1, half-1, half+1)
	}

	for _, f := range []func() any{
		func() any { return Specials32() }, func() any { return Specials64() },
		func() any { return SpecialHalf() }, func() any { return SpecialBF16() },
	} {
		a := reflect.ValueOf(f())
		a.Index(0).SetZero()
		if b := reflect.ValueOf(f()); b.Index(0).IsZero() {
			t.Errorf("%v: the slice is shared", a.Type())
		}
	}
}

// The thresholds of exp stand where their comments say. The arguments are compared with the logarithms of the limits to
// 30 digits; 10 would do, since neighbours differ by 1e-7 (float32) and 1e-13 (float64) of them.
func TestExpThresholds(t *testing.T) {
	pair := func(below, above float64) bool { // both in the list, side by side
		v := Specials64()
		for i := range v[1:] {
			if v[i] == below && v[i+1] == above {
				return true
			}
		}
		return false
	}
	pair32 := func(below, above float32) bool {
		v := Specials32()
		for i := range v[1:] {
			if v[i] == below && v[i+1] == above {
				return true
			}
		}
		return false
	}
	up, down := math.Inf(1), math.Inf(-1)
	const ( // ln 2^128 - 2^103, ln 2^-126, ln 2^-150
		over32, sub32, zero32 = 88.722839052068352, -87.336544750553109, -103.97207708399179
	)
	for _, c := range []struct {
		limit float64
		away  float64
	}{{over32, up}, {sub32, down}, {zero32, down}} {
		in := float32(c.limit)
		if float64(in) > c.limit == (c.away == up) {
			in = math.Nextafter32(in, -float32(c.away))
		}
		if out := math.Nextafter32(in, float32(c.away)); !pair32(in, out) {
			t.Errorf("Specials32 lacks %v, %v", in, out)
		}
	}
	for _, c := range []struct {
		in   float64
		away float64
	}{{709.782712893383973096, up}, {-708.396418532264106224, down}, {-745.133219101941108420, down}} {
		if out := math.Nextafter(c.in, c.away); !pair(c.in, out) {
			t.Errorf("Specials64 lacks %v, %v", c.in, out)
		}
	}
}
