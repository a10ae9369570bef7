package main

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/candor-go/candor/kernel/asm/_gen/neon"
)

// neonMachine is the machine of arm64's NEON, of 16 bytes. One value makes one file. A V and an M are a *neon.Reg with
// -1 or 0 in each lane of an M, an R is one too, and a C is a constant or, pinned, a register.
type neonMachine struct {
	f       *neon.Func
	funcs   []Function
	offsets map[string]int // of the current function's arguments and results
	base    *neon.Reg      // the address of the constants
	consts  map[constant]int
	data    []constant
	listed  map[int]int // where the tables of List start in the constants, by the number of lanes
	text    strings.Builder
}

// constant is the 16 bytes of a register.
type constant [2]uint64

func newNEON() *neonMachine { return &neonMachine{consts: map[constant]int{}, listed: map[int]int{}} }

func (m *neonMachine) Level() string         { return "neon" }
func (m *neonMachine) Width() int            { return 16 }
func (m *neonMachine) Functions() []Function { return m.funcs }

// Asm returns the file.
func (m *neonMachine) Asm() (string, error) {
	var b strings.Builder
	b.WriteString(generated + "\n\n//go:build arm64 && !noasm\n\n#include \"textflag.h\"\n")
	if len(m.data) > 0 {
		b.WriteString("\n// The constants: 16 bytes each, as a register holds them.\n")
		for i, c := range m.data {
			for h, w := range c {
				fmt.Fprintf(&b, "DATA consts<>+%d(SB)/8, $0x%016x\n", 16*i+8*h, w)
			}
		}
		fmt.Fprintf(&b, "GLOBL consts<>(SB), RODATA|NOPTR, $%d\n", 16*len(m.data))
	}
	b.WriteString(m.text.String())
	return b.String(), nil
}

// immediate is a number in an instruction.
type immediate int

func (i immediate) String() string { return fmt.Sprintf("$%d", int(i)) }

func register(x any) *neon.Reg { return x.(*neon.Reg) }

func mem(p R, off int) neon.Mem { return neon.Mem{Off: off, Base: register(p)} }

// arrangement returns how GNU's assembler calls a register of such lanes; goLanes returns Go's name.
func arrangement(t T) string {
	if t.Bytes() == 4 {
		return "4s"
	}
	return "2d"
}

func goLanes(t T) string { return strings.ToUpper(arrangement(t)[1:]) + arrangement(t)[:1] }

// v returns a vector operand as a register.
func (m *neonMachine) v(x any) *neon.Reg {
	if r, ok := x.(*neon.Reg); ok {
		return r
	}
	return m.Copy(x).(*neon.Reg)
}

// do emits an instruction of the table that writes a new register.
func (m *neonMachine) do(name, arrangement string, ops ...any) *neon.Reg {
	return m.doImm(name, arrangement, 0, ops...)
}

func (m *neonMachine) doImm(name, arrangement string, imm int, ops ...any) *neon.Reg {
	d := m.f.Vector()
	regs := []*neon.Reg{d}
	for _, o := range ops {
		regs = append(regs, m.v(o))
	}
	m.f.Do(name, arrangement, imm, regs...)
	return d
}

// Functions.

func (m *neonMachine) Func(name, doc string, args, results []Arg) {
	m.funcs = append(m.funcs, Function{name, doc, args, results})
	m.offsets = map[string]int{}
	for _, a := range append(append([]Arg(nil), args...), results...) {
		m.offsets[a.Name] = 8 * len(m.offsets)
	}
	fmt.Fprintf(&m.text, "\n// func %s%s\n", name, strings.TrimPrefix(signature(args, results), "func"))
	m.f = neon.New(name, 8*len(m.offsets))
	m.base = m.f.General()
	m.f.Asm("MOVD $consts<>(SB), %v", neon.Def(m.base))
}

// slot returns the place of an argument or a result.
func (m *neonMachine) slot(name string) string {
	off, ok := m.offsets[name]
	if !ok {
		panic("no argument or result " + name)
	}
	return fmt.Sprintf("%s+%d(FP)", name, off)
}

func (m *neonMachine) Arg(name string) R {
	r := m.f.General()
	m.f.Asm("MOVD %s, %v", m.slot(name), neon.Def(r))
	return r
}

func (m *neonMachine) Result(name string, r R) {
	m.f.Asm("MOVD %v, %s", neon.Use(register(r)), m.slot(name))
}

func (m *neonMachine) Return() {
	m.f.Return()
	m.text.WriteString(m.f.String())
}

// Control.

func (m *neonMachine) Label(name string) { m.f.Label(name) }
func (m *neonMachine) Jump(label string) { m.f.Branch("JMP", label) }

func (m *neonMachine) If(a R, c Cond, b any, label string) {
	if b == 0 && (c == EQ || c == NE) {
		m.f.Branch(map[Cond]string{EQ: "CBZ", NE: "CBNZ"}[c]+" %v,", label, neon.Use(register(a)))
		return
	}
	m.f.Asm("CMP %v, %v", m.addend(b), neon.Use(register(a)))
	branch := [...]string{EQ: "BEQ", NE: "BNE", LT: "BLT", LE: "BLE", GT: "BGT", GE: "BGE", ULO: "BLO", UHS: "BHS"}
	m.f.Branch(branch[c], label)
}

// some returns a general register that is not 0 if some lane of a is true.
func (m *neonMachine) some(a M) *neon.Reg {
	r := m.f.General()
	m.f.Asm("FMOVD %v, %v", neon.Use(m.do("umaxp", "4s", a, a)), neon.Def(r))
	return r
}

func (m *neonMachine) Any(a M, label string)  { m.If(m.some(a), NE, 0, label) }
func (m *neonMachine) None(a M, label string) { m.If(m.some(a), EQ, 0, label) }

// unlessBit jumps if a bit of r is 0.
func (m *neonMachine) unlessBit(r R, bit int, label string) {
	m.f.Branch("TBZ %v, %v,", label, immediate(bit), neon.Use(register(r)))
}

// General registers.

func (m *neonMachine) GP(n int64) R {
	r := m.f.General()
	m.f.Asm("MOVD %v, %v", immediate(n), neon.Def(r))
	return r
}

// addend returns the operand of an addition or a comparison, logical that of an operation on bits: a number where the
// instruction has room for it.
func (m *neonMachine) addend(b any) any {
	return m.general(b, func(n int) bool { return -4096 < n && n < 4096 })
}

func (m *neonMachine) logical(b any) any {
	lowBits := func(n int) bool { return n > 0 && n&(n+1) == 0 }
	return m.general(b, func(n int) bool { return lowBits(n) || lowBits(^n) })
}

func (m *neonMachine) general(b any, fits func(int) bool) any {
	n, ok := b.(int)
	if !ok {
		return neon.Use(register(b))
	}
	if fits(n) {
		return immediate(n)
	}
	return neon.Use(register(m.GP(int64(n))))
}

func (m *neonMachine) CopyR(r R) R {
	d := m.f.General()
	m.f.Move(d, register(r))
	return d
}

func (m *neonMachine) MoveR(dst, src R)  { m.f.Move(register(dst), register(src)) }
func (m *neonMachine) AddR(dst R, b any) { m.f.Asm("ADD %v, %v", m.addend(b), neon.Mod(register(dst))) }
func (m *neonMachine) SubR(dst R, b any) { m.f.Asm("SUB %v, %v", m.addend(b), neon.Mod(register(dst))) }
func (m *neonMachine) MulR(dst, b R) {
	m.f.Asm("MUL %v, %v", neon.Use(register(b)), neon.Mod(register(dst)))
}
func (m *neonMachine) AndR(dst R, b any) {
	m.f.Asm("AND %v, %v", m.logical(b), neon.Mod(register(dst)))
}
func (m *neonMachine) OrR(dst R, b any) { m.f.Asm("ORR %v, %v", m.logical(b), neon.Mod(register(dst))) }
func (m *neonMachine) ShlR(dst R, n int) {
	m.f.Asm("LSL %v, %v", immediate(n), neon.Mod(register(dst)))
}
func (m *neonMachine) ShrR(dst R, n int) {
	m.f.Asm("LSR %v, %v", immediate(n), neon.Mod(register(dst)))
}

func (m *neonMachine) MinR(dst, b R) { m.choose(register(dst), "LT", register(dst), register(b)) }

// choose makes dst = a if a compares so with b, else b.
func (m *neonMachine) choose(dst *neon.Reg, cond string, a, b *neon.Reg) {
	m.f.Asm("CMP %v, %v", neon.Use(b), neon.Use(a))
	m.f.Asm("CSEL %s, %v, %v, %v", cond, neon.Use(a), neon.Use(b), neon.Def(dst))
}

func (m *neonMachine) LoadR(p R, off int, bytes int) R {
	r := m.f.General()
	m.LoadRTo(r, p, off, bytes)
	return r
}

func (m *neonMachine) LoadRTo(dst, p R, off int, bytes int) {
	m.f.Asm("%s %v, %v", map[int]string{8: "MOVD", 4: "MOVW", 2: "MOVHU", 1: "MOVBU"}[bytes], mem(p, off), neon.Def(register(dst)))
}

func (m *neonMachine) StoreR(p R, off int, bytes int, r R) {
	m.f.Asm("%s %v, %v", map[int]string{8: "MOVD", 4: "MOVW", 2: "MOVH", 1: "MOVB"}[bytes], neon.Use(register(r)), mem(p, off))
}

func (m *neonMachine) Prefetch(p R, off int) {
	if off < 0 || off > 32760 || off%8 != 0 { // the instruction has no room for such a number
		q := m.CopyR(p)
		m.AddR(q, off)
		p, off = q, 0
	}
	m.f.Asm("PRFM %v, PLDL1KEEP", mem(p, off))
}

// Memory and constants.

// load emits a load of 16, 8 or 4 bytes into the low end of a register; the rest of it becomes 0.
func (m *neonMachine) load(bytes int, dst V, p R, off int) {
	m.f.Asm("%s %v, %v", map[int]string{16: "FMOVQ", 8: "FMOVD", 4: "FMOVS"}[bytes], mem(p, off), neon.Def(register(dst)))
}

// store emits a store of the low end of a register.
func (m *neonMachine) store(bytes int, p R, off int, v V) {
	m.f.Asm("%s %v, %v", map[int]string{16: "FMOVQ", 8: "FMOVD", 4: "FMOVS"}[bytes], neon.Use(register(v)), mem(p, off))
}

func (m *neonMachine) Load(p R, off int) V {
	v := m.f.Vector()
	m.LoadTo(v, p, off)
	return v
}

func (m *neonMachine) LoadTo(dst V, p R, off int)       { m.load(16, dst, p, off) }
func (m *neonMachine) Store(p R, off int, v V)          { m.store(16, p, off, v) }
func (m *neonMachine) StoreLane(t T, p R, off int, v V) { m.store(t.Bytes(), p, off, v) }

func (m *neonMachine) LoadSource(s Source, p R, off int) V {
	v := m.f.Vector()
	m.load(lanes(m, s.T())*s.Bytes(), v, p, off)
	return m.widen(s, v)
}

// widen returns the lanes of elements as they stand in memory, at the low end of v.
func (m *neonMachine) widen(s Source, v V) V {
	switch s {
	case FromF16:
		return m.do("fcvtl", "4s", v)
	case FromBF16:
		return m.do("shll", "4s", v)
	}
	return v
}

func (m *neonMachine) Broadcast(t T, p R, off int) V {
	v, d := m.f.Vector(), m.f.Vector()
	m.load(t.Bytes(), v, p, off)
	m.f.Asm("VDUP %v, %v", neon.Use(v, goLanes(t)[:1]+"[0]"), neon.Def(d, goLanes(t)))
	return d
}

func (m *neonMachine) BroadcastSource(s Source, p R, off int) V {
	if s.Bytes() > 2 {
		return m.Broadcast(s.T(), p, off)
	}
	v := m.f.Vector()
	m.f.Asm("VDUP %v, %v", neon.Use(register(m.LoadR(p, off, 2))), neon.Def(v, "H8"))
	return m.widen(s, v)
}

func (m *neonMachine) Const(t T, bits uint64) C {
	if t.Bytes() == 4 {
		bits = bits&0xffffffff | bits<<32
	}
	return constant{bits, bits}
}

// Pin loads a constant once. Where registers run short the load is repeated after all.
func (m *neonMachine) Pin(c C) C { return m.v(c) }

func (m *neonMachine) Iota(t T) C { return m.IotaAt(t, 0) }

func (m *neonMachine) IotaAt(t T, u int) C {
	n := uint64(u * lanes(m, t))
	if t.Bytes() == 8 {
		return constant{n, n + 1}
	}
	return constant{n | (n+1)<<32, n + 2 | (n+3)<<32}
}

func (m *neonMachine) Zero() V { return m.Copy(constant{}) }

func (m *neonMachine) Copy(v any) V {
	d := m.f.Vector()
	m.Move(d, v)
	return d
}

func (m *neonMachine) Move(dst V, v any) {
	c, ok := v.(constant)
	switch {
	case !ok:
		m.f.Move(register(dst), register(v))
	case c == constant{}:
		m.f.Constant("VMOVI $0, %v", neon.Def(register(dst), "B16"))
	default:
		i, ok := m.consts[c]
		if !ok {
			i = len(m.data)
			m.consts[c] = i
			m.data = append(m.data, c)
		}
		m.f.Constant("FMOVQ %v, %v", mem(m.base, 16*i), neon.Def(register(dst)))
	}
}

// Arithmetic.

// name puts f before the name of an operation on floats.
func (t T) name(s string) string {
	if t == F32 || t == F64 {
		return "f" + s
	}
	return s
}

func (m *neonMachine) Add(t T, a, b any) V { return m.do(t.name("add"), arrangement(t), a, b) }
func (m *neonMachine) Sub(t T, a, b any) V { return m.do(t.name("sub"), arrangement(t), a, b) }
func (m *neonMachine) Mul(t T, a, b any) V { return m.do("fmul", arrangement(t), a, b) }
func (m *neonMachine) Div(t T, a, b any) V { return m.do("fdiv", arrangement(t), a, b) }
func (m *neonMachine) Max(t T, a, b any) V { return m.do("fmax", arrangement(t), a, b) }
func (m *neonMachine) Min(t T, a, b any) V { return m.do("fmin", arrangement(t), a, b) }

func (m *neonMachine) AddTo(t T, acc V, b any) {
	m.f.Do(t.name("add"), arrangement(t), 0, register(acc), register(acc), m.v(b))
}

func (m *neonMachine) SubTo(t T, acc V, b any) {
	m.f.Do(t.name("sub"), arrangement(t), 0, register(acc), register(acc), m.v(b))
}

func (m *neonMachine) FMATo(t T, acc V, a, b any) {
	m.f.Do("fmla", arrangement(t), 0, register(acc), m.v(a), m.v(b))
}

func (m *neonMachine) FMA(t T, a, b, c any) V {
	d := m.Copy(c)
	m.FMATo(t, d, a, b)
	return d
}

// HornerTo moves the result to p, as the instruction adds to what becomes the result. The allocator drops the move.
func (m *neonMachine) HornerTo(t T, p V, f V, c any) { m.Move(p, m.FMA(t, p, f, c)) }

func (m *neonMachine) Ceil(t T, a V) V { return m.do("frintp", arrangement(t), a) }
func (m *neonMachine) And(a, b any) V  { return m.do("and", "16b", a, b) }
func (m *neonMachine) Or(a, b any) V   { return m.do("orr", "16b", a, b) }
func (m *neonMachine) Xor(a, b any) V  { return m.do("eor", "16b", a, b) }
func (m *neonMachine) FromInt(a V) V   { return m.do("scvtf", "4s", a) }

func (m *neonMachine) Shl(t T, a V, n int) V { return m.doImm("shl", arrangement(t), n, a) }
func (m *neonMachine) Shr(t T, a V, n int) V { return m.doImm("ushr", arrangement(t), n, a) }
func (m *neonMachine) Sar(t T, a V, n int) V { return m.doImm("sshr", arrangement(t), n, a) }

// Conversions.

func (m *neonMachine) Low(a V) V     { return m.do("fcvtl", "2d", a) }
func (m *neonMachine) High(a V) V    { return m.do("fcvtl2", "2d", a) }
func (m *neonMachine) LowInt(a V) V  { return m.do("sxtl", "2d", a) }
func (m *neonMachine) HighInt(a V) V { return m.do("sxtl2", "2d", a) }

func (m *neonMachine) Narrow(lo, hi V) V {
	d := m.do("fcvtn", "2s", lo)
	m.f.Do("fcvtn2", "4s", 0, d, register(hi))
	return d
}

// NarrowInt takes the even ones of eight lanes, which are the low halves of four.
func (m *neonMachine) NarrowInt(lo, hi V) V { return m.do("uzp1", "4s", lo, hi) }

// Lanes.

func (m *neonMachine) Swap(t T, a V, dist int) V {
	switch dist * t.Bytes() {
	case 4:
		return m.do("rev64", "4s", a)
	case 8:
		return m.doImm("ext", "16b", 8, a, a)
	}
	panic("Swap: no such distance")
}

func (m *neonMachine) ZipLow(t T, a, b V) V  { return m.do("zip1", arrangement(t), a, b) }
func (m *neonMachine) ZipHigh(t T, a, b V) V { return m.do("zip2", arrangement(t), a, b) }

func (m *neonMachine) LoadGroup(v V, g int, p R, off int) V {
	if g != 0 {
		panic("LoadGroup: a register is one group")
	}
	return m.Load(p, off)
}

// Truth.

func (m *neonMachine) Cmp(t T, c Cond, a, b any) M {
	x, y, in := m.v(a), m.v(b), arrangement(t)
	eq, ge, gt := t.name("cmeq"), t.name("cmge"), t.name("cmgt")
	switch c {
	case EQ:
		return m.do(eq, in, x, y)
	case NE:
		return m.NotM(m.do(eq, in, x, y))
	case LT:
		return m.do(gt, in, y, x)
	case LE:
		return m.do(ge, in, y, x)
	case GT:
		return m.do(gt, in, x, y)
	case GE:
		return m.do(ge, in, x, y)
	case UN:
		if t == F32 || t == F64 {
			return m.NotM(m.AndM(m.do(eq, in, x, x), m.do(eq, in, y, y)))
		}
	}
	panic("Cmp: no such comparison")
}

func (m *neonMachine) Blend(k M, yes, no any) V {
	d := m.Copy(k)
	m.f.Do("bsl", "16b", 0, register(d), m.v(yes), m.v(no))
	return d
}

func (m *neonMachine) BlendTo(k M, dst V, yes any) {
	m.f.Do("bit", "16b", 0, register(dst), m.v(yes), register(k))
}

func (m *neonMachine) Keep(k M, v any) V { return m.do("and", "16b", v, k) }
func (m *neonMachine) Drop(k M, v any) V { return m.do("bic", "16b", v, k) }
func (m *neonMachine) AndM(a, b M) M     { return m.do("and", "16b", a, b) }
func (m *neonMachine) OrM(a, b M) M      { return m.do("orr", "16b", a, b) }
func (m *neonMachine) NotM(a M) M        { return m.do("mvn", "16b", a) }
func (m *neonMachine) CopyM(a M) M       { return m.Copy(a) }
func (m *neonMachine) MoveM(dst, src M)  { m.Move(dst, src) }

// spread returns n in all lanes, or 64, which is beyond all lanes, if n is not below it.
func (m *neonMachine) spread(t T, n R) V {
	r, v := m.f.General(), m.f.Vector()
	m.choose(r, "LT", register(n), register(m.GP(64)))
	m.f.Asm("VDUP %v, %v", neon.Use(r), neon.Def(v, goLanes(t)))
	return v
}

func (m *neonMachine) FirstLanes(t T, n R) []M {
	v := m.spread(t, n)
	out := make([]M, registers(m))
	for u := range out {
		out[u] = m.Cmp(t.Int(), GT, v, m.IotaAt(t, u))
	}
	return out
}

// rest returns, of n elements at p of which per fill a register, the address after the last and, if per is 4, that of
// the first which fills no register.
func (m *neonMachine) rest(p, n R, per, size int) (end, start R) {
	after := func(n R) R {
		m.ShlR(n, bits.TrailingZeros(uint(size)))
		m.AddR(n, p)
		return n
	}
	whole := m.CopyR(n)
	m.AndR(whole, -per)
	return after(m.CopyR(n)), after(whole)
}

// LoadFirst loads whole registers as far as they go. What is beyond them is a pair of elements if bit 1 of n is set,
// then a single one if bit 0 is; for float64 only the single one.
func (m *neonMachine) LoadFirst(s Source, p R, n R) []V {
	per, size := lanes(m, s.T()), s.Bytes()
	end, start := m.rest(p, n, per, size)
	part := m.Zero()
	single, pair := m.f.NewLabel(), m.f.NewLabel()
	if size == 2 {
		r := m.GP(0)
		m.unlessBit(n, 0, single)
		m.LoadRTo(r, end, -2, 2)
		m.Label(single)
		m.unlessBit(n, 1, pair)
		m.ShlR(r, 32)
		low := m.f.General()
		m.f.Asm("MOVWU %v, %v", mem(start, 0), neon.Def(low))
		m.OrR(r, low)
		m.Label(pair)
		m.f.Asm("FMOVD %v, %v", neon.Use(register(r)), neon.Def(register(part)))
	} else {
		m.unlessBit(n, 0, single)
		m.load(size, part, end, -size)
		m.Label(single)
		if per == 4 {
			m.unlessBit(n, 1, pair)
			low := m.f.Vector()
			m.load(8, low, start, 0)
			m.Move(part, m.ZipLow(F64, low, part))
			m.Label(pair)
		}
	}

	done := m.f.NewLabel()
	out, last := make([]V, registers(m)), make([]string, registers(m))
	for u := range out {
		out[u], last[u] = m.Zero(), m.f.NewLabel()
	}
	for u := range out {
		m.If(n, LT, (u+1)*per, last[u])
		m.load(per*size, out[u], p, u*per*size)
	}
	m.Jump(done)
	for u := range out {
		m.Label(last[u])
		m.Move(out[u], part)
		if u < len(out)-1 {
			m.Jump(done)
		}
	}
	m.Label(done)
	for u := range out {
		out[u] = m.widen(s, out[u])
	}
	return out
}

// StoreFirst is LoadFirst the other way round.
func (m *neonMachine) StoreFirst(t T, p R, n R, v []V) {
	per, size := lanes(m, t), t.Bytes()
	end, start := m.rest(p, n, per, size)
	part := m.f.Vector()
	last := make([]string, len(v))
	for u := range v {
		last[u] = m.f.NewLabel()
		m.If(n, LT, (u+1)*per, last[u])
		m.Store(p, 16*u, v[u])
	}
	done, pieces, single := m.f.NewLabel(), m.f.NewLabel(), m.f.NewLabel()
	m.Jump(done)
	for u := range v {
		m.Label(last[u])
		m.Move(part, v[u])
		if u < len(v)-1 {
			m.Jump(pieces)
		}
	}
	m.Label(pieces)
	if per == 4 {
		m.unlessBit(n, 1, single)
		m.store(8, start, 0, part)
		m.Move(part, m.Swap(F64, part, 1))
		m.Label(single)
	}
	m.unlessBit(n, 0, done)
	m.store(size, end, -size, part)
	m.Label(done)
}

var _ maker = (*neonMachine)(nil)
