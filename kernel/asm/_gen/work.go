package main

import "math"

// The layout of the work area that the Go side hands to the row kernels: columns of 64 rows, in bytes from its start.
// kernel/work.go declares the same as a struct and a test compares the two.
const (
	workRows = 64

	workMax       = 0 * 8 * workRows // the largest element
	workETop      = 1 * 8 * workRows
	workZTop      = 2 * 8 * workRows
	workS         = 3 * 8 * workRows
	workQ         = 4 * 8 * workRows
	workH         = 5 * 8 * workRows
	workY         = 6 * 8 * workRows // the label's element
	workTop       = 7 * 8 * workRows // int32: the index of the largest
	workOdd       = workTop + 4*workRows
	workRoom      = workOdd + 4*workRows // 64 bytes of scratch
	workTail      = workRoom + 64        // the registers of a row's end
	workReference = workTail + 64        // of a block
	workAny       = workReference        // after rows: whether one is odd. General registers are few.
	workHeld      = workReference + 8
	workLargest   = workReference + 16
	workKeep      = workReference + 64 // 8 registers that a level has no room for
	workRawMax    = workKeep + 8*64    // the largest elements of eight rows
	workIndex     = workRawMax + 64    // the indices of the largest
	workMasks     = workIndex + 64     // a bit for each element of a row
	workCols      = workMasks + 128    // the columns of short rows
	workRaw       = workCols           // the lanes of eight long rows, 256 bytes each
)

// floatFormat is what the definitions say of a float type.
type floatFormat struct {
	t        T
	log2e    uint64   // in its precision
	magic    uint64   // adding it rounds to an integer
	lowest   uint64   // exponents below the reference that are clamped
	ln2      uint64   // in its precision
	limit    uint64   // of the reference
	under    uint64   // what sums of squares start from
	shift    int      // of the exponent's field
	poly     []uint64 // of 2**f, from the highest power on
	one, inf uint64
	absMask  uint64
	floor    uint64 // the lowest exponent of short rows, in nats
	step     int    // virtual lanes
	underLog uint64
	leastLog uint64 // the smallest normal number
}

func of32(x ...float64) (out []uint64) {
	for _, v := range x {
		out = append(out, bits32(v))
	}
	return out
}

func of64(x ...float64) (out []uint64) {
	for _, v := range x {
		out = append(out, bits64(v))
	}
	return out
}

var formats = map[T]*floatFormat{
	F32: {
		t: F32, log2e: bits32(math.Log2E), magic: bits32(0x1.8p23), lowest: bits32(125), ln2: bits32(math.Ln2),
		floor: bits32(float64(-125 * float32(math.Ln2))), limit: bits32(0x1p21), under: bits32(0x1p-120), shift: 23,
		poly: of32(0x1.470b4ap-13, 0x1.5f7278p-10, 0x1.3b270ep-7, 0x1.c6ae72p-5, 0x1.ebfbe2p-3, 0x1.62e432p-1, 1),
		one:  bits32(1), inf: bits32(math.Inf(1)), absMask: 0x7fffffff, step: 16,
		underLog: bits32(-0x1p-100), leastLog: bits32(0x1p-126),
	},
	F64: {
		t: F64, log2e: bits64(math.Log2E), magic: bits64(0x1.8p52), lowest: bits64(1020), ln2: bits64(math.Ln2),
		floor: bits64(-1020 * math.Ln2), limit: bits64(0x1p50), under: bits64(0x1p-960), shift: 52,
		poly: of64(0x1.c0638429c697cp-32, 0x1.e605f98b8e096p-28, 0x1.b54167a53a801p-24, 0x1.62bfd49ecb777p-20,
			0x1.ffcbee3b06d6bp-17, 0x1.4309130961162p-13, 0x1.5d87fe7bbbe1bp-10, 0x1.3b2ab6fba1e1cp-7,
			0x1.c6b08d7048f31p-5, 0x1.ebfbdff82c598p-3, 0x1.62e42fefa39f3p-1, 1),
		one: bits64(1), inf: bits64(math.Inf(1)), absMask: 0x7fffffffffffffff, step: 8,
		underLog: bits64(-0x1p-900), leastLog: bits64(0x1p-1022),
	},
}

// kernel is a Machine with what the kernels of one format share.
type kernel struct {
	Machine
	*floatFormat
	units int // registers of 64 bytes
}

func kernelOf(m Machine, t T) kernel { return kernel{m, formats[t], registers(m)} }

// each calls f for every register of 64 bytes.
func (k kernel) each(f func(u int) V) []V {
	out := make([]V, k.units)
	for u := range out {
		out[u] = f(u)
	}
	return out
}

// konst returns a constant of the format's type.
func (k kernel) konst(bits uint64) C { return k.Const(k.t, bits) }

// butterfly reduces registers to one that has the result in all lanes: the second half of the lanes onto the first,
// again and again, so that the order is that of the definition's tree.
func (k kernel) butterfly(t T, v []V, f func(a, b V) V) V {
	for len(v) > 1 {
		n := len(v) / 2
		for i := range n {
			v[i] = f(v[i], v[i+n])
		}
		v = v[:n]
	}
	for d := lanes(k.Machine, t) / 2; d >= 1; d /= 2 {
		v[0] = f(v[0], k.Swap(t, v[0], d))
	}
	return v[0]
}

// widened returns lanes of the format as float64 lanes, in order.
func (k kernel) widened(v []V) []V {
	if k.t == F64 {
		return append([]V(nil), v...)
	}
	var out []V
	for _, r := range v {
		out = append(out, k.Low(r), k.High(r))
	}
	return out
}

// keepAt keeps a value that is used all over a loop: in a register, or in the i-th place of the work area where the
// level has only sixteen.
func (k kernel) keepAt(w R, i int, v V) any {
	if k.Level() != "avx2" {
		return v
	}
	off := workKeep + 64*i
	k.Store(w, off, v)
	return at(w, off)
}
