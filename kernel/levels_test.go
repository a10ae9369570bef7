package kernel

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa"
)

// The tests named TestLevels hold every level's code to the definition: each call runs once at the generic level and once
// at each other that can run here, on the same memory, and must leave the same bits, nothing written beside its output
// and its input as it was. Each test walks through one dimension (shapes, offsets, guard pages, values, positions)
// wholly; the others it is dealt or draws, so a failure's text has all that its call depends on.

// sized returns how much a test takes: with -short, by default, and where nothing is left out.
func sized[T any](short, usual, full T) T {
	switch {
	case testing.Short():
		return short
	case check.Full():
		return full
	}
	return usual
}

// full reports whether a test leaves nothing out.
func full() bool { return sized(false, false, true) }

// all are as many hands as there are combinations.
const all = 0

// deal yields what case i of a test takes from dimensions that have so many choices each. That is every combination, or
// as many as there are hands: then the cases are the rows of a Latin square, in which each choice of each dimension turns
// up equally often, and beside every other of the other dimensions.
func deal(i, hands int, choices ...int) iter.Seq[[]int] {
	product := 1
	for _, n := range choices {
		product *= n
	}
	every := hands == all || hands >= product
	if every {
		hands = product
	}
	return func(yield func([]int) bool) {
		for h := range hands {
			take, rest := make([]int, len(choices)), h
			for d, n := range choices {
				if every {
					take[d], rest = rest%n, rest/n
				} else {
					take[d] = dealt(i*hands+h, n, d)
				}
			}
			if !yield(take) {
				return
			}
		}
	}
}

// dealt returns what a dimension of n choices deals in turn i: all n in n turns, and in the next n again, but moved on.
// How far is another irrational part of n for each dimension, so that two of them, or one and the length of a vector, do
// not keep step.
func dealt(i, n, dimension int) int {
	return (i + int(float64(i/n)*math.Sqrt([...]float64{2, 3, 5, 7}[dimension])*float64(n))) % n
}

// TestDeal: all combinations once, or each choice in turn and every pair in the end.
func TestDeal(t *testing.T) {
	seen := map[[2]int]int{}
	for c := range deal(7, all, 3, 5) {
		seen[[2]int(c)]++
	}
	if len(seen) != 15 || seen[[2]int{2, 4}] != 1 {
		t.Errorf("all of 3 by 5: %v", seen)
	}
	for _, n := range [][2]int{{16, 16}, {8, 16}, {3, 16}, {32, 30}, {12, 12}} {
		pairs, turns := map[[2]int]bool{}, [2][]int{}
		for i := range 20 * n[0] * n[1] / 2 {
			for c := range deal(i, 2, n[0], n[1]) {
				pairs[[2]int(c)] = true
				for d := range turns {
					turns[d] = append(turns[d], c[d])
				}
			}
		}
		for d, turns := range turns {
			for part := range slices.Chunk(turns, n[d]) {
				if slices.Sort(part); len(part) == n[d] && !slices.Equal(part, upTo(0, n[d]-1)) {
					t.Errorf("%v: %d turns of dimension %d are %v", n, n[d], d, part)
				}
			}
		}
		if len(pairs) != n[0]*n[1] {
			t.Errorf("%v: only %d pairs", n, len(pairs))
		}
	}
}

// places are where the slices of case i lie: at either guard page, and at one offset or two of so many.
func places(i, offsets int) []place {
	list := []place{{side: guardedTail}, {side: guardedFront}}
	for c := range deal(i, sized(1, 2, 2), offsets) {
		list = append(list, place{off: c[0]})
	}
	return list
}

// lengths are those of four vectors of so many elements and three, those about the ends of blocks, and more.
func lengths(lanes int, more ...int) []int {
	ends := []int{255, 256, 257, 1000, 1015, 1023, 1024, 1025, 1040}
	return slices.Concat(upTo(0, sized(4*lanes+3, 131, 131)), sized(ends, ends, upTo(1000, 1040)), more)
}

// A side is what a slice stands against.
type side uint8

const (
	unguarded    side = iota // nothing: it starts off elements after an address divisible by 64
	guardedTail              // it ends at a guard page
	guardedFront             // it starts at one
)

// A place is where a slice lies.
type place struct {
	side side
	off  int
}

func (p place) String() string {
	return [...]string{fmt.Sprint("offset ", p.off), "guarded tail", "guarded front"}[p.side]
}

// margin is how many elements on either side of a slice are looked after. It keeps the alignment, and is more than a
// vector of any element.
const (
	margin         = 64
	maxOff         = 64
	bytesAround    = 0xFF // the bytes beside inputs and between their rows: NaN as floats, no class as labels
	bytesUnwritten = 0xA5 // the bytes in and around outputs before a call; not NaN, which would equal another NaN
)

// A levelRoom is memory that slices of one type are cut from, one at a time.
type levelRoom[T check.Element] struct {
	sides [3][]T
	want  []T
	sheet sheet[T]
}

func newRoom[T check.Element](t testing.TB, n int) *levelRoom[T] {
	n += 2 * margin
	return &levelRoom[T]{
		sides: [...][]T{unguarded: check.Offset[T](n+maxOff, 0), guardedTail: check.Guarded[T](t, n, true), guardedFront: check.Guarded[T](t, n, false)},
		want:  make([]T, n),
	}
}

// A sheet is a slice that a kernel gets, with what stands around it. Of its places the rows may be written.
type sheet[T check.Element] struct {
	name                string
	s                   []T  // what the kernel gets
	all                 []T  // s with its margins
	lo                  int  // where s starts in all
	rows, width, stride int  // what may be written; an input has 0 rows
	class               bool // any NaN equals any other
	input               bool // all is filled once, not before each call
	src                 []T  // what s holds before each call, if it is input and output in one
	want                []T  // all as it has to be
}

// lay cuts a slice of n elements; input or output, its bytes are those that stand beside one.
func (r *levelRoom[T]) lay(name string, p place, n int, input bool) *sheet[T] {
	m := r.sides[p.side]
	s := &r.sheet
	*s = sheet[T]{name: name, input: input, stride: 1}
	switch p.side {
	case unguarded:
		s.all, s.lo = m[p.off:p.off+n+2*margin], margin
	case guardedTail:
		s.all, s.lo = m[len(m)-n-margin:], margin
	case guardedFront:
		s.all = m[:n+margin]
	}
	s.s = s.all[s.lo : s.lo+n : s.lo+n]
	s.want = r.want[:len(s.all)]
	if input {
		fillBytes(s.all, bytesAround)
	}
	return s
}

// column says that the first rows elements may be written.
func (s *sheet[T]) column(rows int) *sheet[T] { return s.matrix(rows, 1, 1) }

func (s *sheet[T]) matrix(rows, width, stride int) *sheet[T] {
	s.rows, s.width, s.stride = rows, width, stride
	return s
}

// A slip is a difference, in a row of an output if row is not negative.
type slip struct {
	row  int
	text string
}

func (s *slip) Error() string { return s.text }

// laid is a sheet of any type.
type laid interface {
	start()                 // keeps what an input holds
	before()                // makes an output as it has to be before a call
	after(first bool) error // looks at what the call left, which if it was the first is what the others have to leave
}

func (s *sheet[T]) start() {
	if s.input {
		copy(s.want, s.all)
	}
}

func (s *sheet[T]) before() {
	if s.input {
		return
	}
	fillBytes(s.all, bytesUnwritten)
	copy(s.s, s.src)
}

func (s *sheet[T]) after(first bool) error {
	if first && !s.input {
		// What may not be written is known, all else is the definition's.
		fillBytes(s.want, bytesUnwritten)
		want := s.want[s.lo:][:len(s.s)]
		copy(want, s.src)
		if s.width == s.stride {
			copy(want[:s.rows*s.width], s.s)
		} else {
			for at := 0; at < s.rows*s.stride; at += s.stride {
				copy(want[at:at+s.width], s.s[at:])
			}
		}
	}
	if bytes.Equal(bytesOf(s.all), bytesOf(s.want)) {
		return nil
	}
	for i, v := range s.all {
		w := s.want[i]
		if bitsOf(v) == bitsOf(w) || s.class && v != v && w != w {
			continue
		}
		values := fmt.Sprintf("%v (%#x), want %v (%#x)", v, bitsOf(v), w, bitsOf(w))
		if row, j, ok := s.inside(i); ok {
			return &slip{row, fmt.Sprintf("%s of row %d, element %d, is %s", s.name, row, j, values)}
		}
		return &slip{-1, fmt.Sprintf("%s was written where it may not be, at %d of %d: it is %s", s.name, i-s.lo, len(s.s), values)}
	}
	return nil
}

// inside reports whether all[i] may be written, and which element of which row it is.
func (s *sheet[T]) inside(i int) (row, j int, ok bool) {
	i -= s.lo
	if i < 0 || i >= len(s.s) {
		return 0, 0, false
	}
	row, j = i/s.stride, i%s.stride
	return row, j, row < s.rows && j < s.width
}

func bytesOf[T check.Element](s []T) []byte {
	var v T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(v)))
}

func fillBytes[T check.Element](s []T, b byte) {
	v := bytesOf(s)
	if len(v) == 0 {
		return
	}
	v[0] = b
	for n := 1; n < len(v); n *= 2 {
		copy(v[n:], v[:n])
	}
}

func bitsOf[T check.Element](v T) uint64 {
	p := unsafe.Pointer(&v)
	switch unsafe.Sizeof(v) {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

// compared counts the calls at each level.
var compared = map[isa.Level]int{}

// sameAtLevels runs a call at every level and returns what is not as it is at the generic one.
func sameAtLevels(call func() uint64, sheets ...laid) error {
	return sameAt(isa.Levels(), call, sheets...)
}

func sameAt(levels []isa.Level, call func() uint64, sheets ...laid) error {
	for _, s := range sheets {
		s.start()
	}
	var want uint64
	for i, level := range levels {
		for _, s := range sheets {
			s.before()
		}
		got, err := callAt(level, call)
		if err != nil {
			return fmt.Errorf("isa=%v: %w", level, err)
		}
		for _, s := range sheets {
			if err := s.after(i == 0); err != nil {
				return fmt.Errorf("isa=%v: %w", level, err)
			}
		}
		if i == 0 {
			want = got
		}
		if got != want {
			return fmt.Errorf("isa=%v: it returns %#x, want %#x", level, got, want)
		}
		compared[level]++
	}
	return nil
}

// eachLevel runs f at every level, for tests whose inputs and expected results are made once for all of them.
func eachLevel(f func(level isa.Level)) {
	for _, level := range isa.Levels() {
		func() {
			defer isa.Set(level)()
			f(level)
		}()
	}
}

// callAt runs a call at a level. A fault at a guard page, which would end the program, is an error like any other.
func callAt(level isa.Level, call func() uint64) (got uint64, err error) {
	defer isa.Set(level)()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panics: %v\n%s", p, debug.Stack())
		}
	}()
	if isa.Current() != level {
		return 0, fmt.Errorf("dispatch follows %v", isa.Current())
	}
	return call(), nil
}

// TestLevelsRan fails where a level was left out: by default those that the CPU has, unless CANDOR_ISA caps them; with
// CANDOR_REQUIRE_ISA, those of its list.
func TestLevelsRan(t *testing.T) {
	clear(compared)
	r := newRoom[float32](t, 1)
	if err := sameAtLevels(func() uint64 { return 0 }, r.lay("nothing", place{}, 1, false)); err != nil {
		t.Fatal(err)
	}
	need := []string{isa.Detected().String()}
	if list := os.Getenv("CANDOR_REQUIRE_ISA"); list != "" {
		need = strings.Split(list, ",")
	} else if os.Getenv("CANDOR_ISA") != "" {
		need = nil
	}
	for _, name := range need {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		level, err := isa.ParseLevel(name)
		if err != nil {
			t.Fatal(err)
		}
		if compared[level] == 0 {
			t.Errorf("level %v was not compared with the definition; this CPU has %v", level, isa.Detected())
		}
	}
	t.Logf("levels compared: %v (detected %v)", isa.Levels(), isa.Detected())
}

// logCompared tells when a test ends how many calls it compared at which levels.
func logCompared(t *testing.T) {
	clear(compared)
	t.Cleanup(func() {
		levels := isa.Levels()
		t.Logf("%d calls at each of %v", compared[levels[0]], levels)
		for _, l := range levels {
			if compared[l] == 0 && compared[levels[0]] > 0 {
				t.Errorf("level %v was left out", l)
			}
		}
	})
}

// TestLevelsHarness: each kind of wrong code is found. The second of two calls does what a faulty level would.
func TestLevelsHarness(t *testing.T) {
	const n, stride = 3, 4
	other := math.Float64frombits(0x7FF8000000000001)
	x, d, class, c := newRoom[float64](t, 20), newRoom[float64](t, 20), newRoom[float64](t, 20), newRoom[int32](t, 20)
	type memory struct {
		x, dst, class []float64
		arg           []int32
		extra         func(b []float64, i int) *float64 // an element beside a slice
	}
	beside := func(b []float64, i int) *float64 {
		return (*float64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), 8*i))
	}
	for _, v := range []struct {
		what, text string
		side       side
		wrong      func(m *memory) uint64
	}{
		{"nothing", "", unguarded, nil},
		{"nothing, guarded", "", guardedTail, nil},
		{"nothing, guarded in front", "", guardedFront, nil},
		{"another NaN where that is allowed", "", unguarded, func(m *memory) uint64 { m.class[1] = other; return 0 }},
		{"another NaN in a column", "dst of row 1, element 0", unguarded, func(m *memory) uint64 { m.dst[stride] = other; return 0 }},
		{"the last bit", "dst of row 0, element 1", unguarded, func(m *memory) uint64 { m.dst[1] = math.Nextafter(m.dst[1], 9); return 0 }},
		{"the sign of 0", "dst of row 0, element 0", unguarded, func(m *memory) uint64 { m.dst[0] = math.Copysign(0, -1); return 0 }},
		{"NaN for a number", "class of row 0", unguarded, func(m *memory) uint64 { m.class[0] = other; return 0 }},
		{"a number for NaN", "class of row 1", unguarded, func(m *memory) uint64 { m.class[1] = 1; return 0 }},
		{"an index", "arg of row 2", unguarded, func(m *memory) uint64 { m.arg[2]--; return 0 }},
		{"what is returned", "it returns 0x1, want 0x0", unguarded, func(m *memory) uint64 { return 1 }},
		{"a gap between rows", "dst was written where it may not be, at 2 of", unguarded, func(m *memory) uint64 { m.dst[2] = 0; return 0 }},
		{"the rest of a column", "arg was written where it may not be, at 3 of", unguarded, func(m *memory) uint64 { m.arg[3] = 0; return 0 }},
		{"behind", "dst was written where it may not be", unguarded, func(m *memory) uint64 { *m.extra(m.dst, len(m.dst)) = 0; return 0 }},
		{"in front of", "dst was written where it may not be", unguarded, func(m *memory) uint64 { *m.extra(m.dst, -1) = 0; return 0 }},
		{"the input", "x was written", unguarded, func(m *memory) uint64 { m.x[1] = 0; return 0 }},
		{"between the input's rows", "x was written", unguarded, func(m *memory) uint64 { m.x[2] = 0; return 0 }},
		{"reads on", "it panics", guardedTail, func(m *memory) uint64 { return math.Float64bits(*m.extra(m.x, len(m.x))) }},
		{"reads before", "it panics", guardedFront, func(m *memory) uint64 { return math.Float64bits(*m.extra(m.x, -1)) }},
		{"writes on", "it panics", guardedTail, func(m *memory) uint64 { *m.extra(m.dst, len(m.dst)) = 0; return 0 }},
		{"panics", "it panics: of its own", unguarded, func(m *memory) uint64 { panic("of its own") }},
	} {
		if v.text == "it panics" && runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
			continue // no guard pages
		}
		calls := 0
		p := place{side: v.side, off: 3 * int(1-min(v.side, 1))}
		size := (n-1)*stride + 2
		in, out := x.lay("x", p, size, true), d.lay("dst", p, size, false).matrix(n, 2, stride)
		cl, arg := class.lay("class", p, n, false).column(n), c.lay("arg", p, n+2, false).column(n)
		cl.class = true
		for i := range in.s {
			if i%stride < 2 {
				in.s[i] = float64(i)
			}
		}
		err := sameAt([]isa.Level{isa.LevelGeneric, isa.LevelGeneric}, func() uint64 {
			for i := range n {
				copy(out.s[i*stride:][:2], in.s[i*stride:])
				cl.s[i], arg.s[i] = 7, int32(i)
			}
			cl.s[1], out.s[stride] = math.NaN(), nan64
			if calls++; calls == 2 && v.wrong != nil {
				return v.wrong(&memory{in.s, out.s, cl.s, arg.s, beside})
			}
			return 0
		}, in, out, cl, arg)
		if v.text == "" && err != nil || v.text != "" && (err == nil || !strings.Contains(err.Error(), v.text)) {
			t.Errorf("%s: error %v, want %q", v.what, err, v.text)
		}
	}
	in := x.lay("x", place{}, 4, false).matrix(2, 2, 2)
	in.src = []float64{1, 2, 3, 4}
	if err := sameAt([]isa.Level{isa.LevelGeneric, isa.LevelGeneric}, func() uint64 {
		for i := range in.s {
			in.s[i] *= 2
		}
		return math.Float64bits(in.s[3])
	}, in); err != nil || !slices.Equal(in.s, []float64{2, 4, 6, 8}) {
		t.Errorf("in place: %v, %v", in.s, err)
	}
}
