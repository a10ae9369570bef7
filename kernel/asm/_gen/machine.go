package main

// T is the type of a lane.
type T int

const (
	F32 T = iota
	F64
	I32
	I64
)

// Bytes returns the size of a lane.
func (t T) Bytes() int {
	if t == F32 || t == I32 {
		return 4
	}
	return 8
}

// Int returns the integer type of the same size.
func (t T) Int() T {
	if t.Bytes() == 4 {
		return I32
	}
	return I64
}

// Source is the type of elements in memory: those of half precision are widened to float32 by the load.
type Source int

const (
	FromF32 Source = iota
	FromF64
	FromF16
	FromBF16
)

// T returns the type of the lanes that a Source is loaded into.
func (s Source) T() T {
	if s == FromF64 {
		return F64
	}
	return F32
}

// Bytes returns the size of an element in memory.
func (s Source) Bytes() int { return [...]int{4, 8, 2, 2}[s] }

// String returns the name as functions carry it.
func (s Source) String() string { return [...]string{"F32", "F64", "F16", "BF16"}[s] }

// The registers of a machine. All are virtual: the machine gives them physical ones by their lives.
type (
	V any // a vector register, of Machine.Width bytes
	R any // a general register of 64 bits
	M any // one truth value for each lane
	C any // a vector constant that may stand where a V is read, except as the destination
)

// Cond is a comparison. Of floats, the negations of those here are true for NaN.
type Cond int

const (
	EQ Cond = iota
	NE      // of floats: true for NaN
	LT
	LE
	GT
	GE
	UN   // vectors of floats only: one of the two is NaN
	ULO  // general registers only: unsigned below
	UHS  // general registers only: unsigned not below
	last // the number of conditions
)

// Arg is a parameter or a result of a function. Every one has 8 bytes: pointers, int, uint64, float64.
type Arg struct{ Name, Type string }

// A Machine emits one function after another for one level. The kernels are written against it once; what differs
// between levels is how many registers 64 bytes are, and how an operation is spelt.
//
// A method that returns a V, R or M returns a new register; one whose name ends in To changes its first argument.
type Machine interface {
	orderer
	sorter
	samplesMachine
	classwiseMachine
	gridMachine
	hitBlocksMachine
	normalMachine
	affineMachine
	temperedMachine
	eventsMachine
	differencesMachine

	Level() string
	Width() int // bytes of a vector register: 64, 32 or 16

	// Func starts a function; what is emitted until Return belongs to it.
	Func(name, doc string, args, results []Arg)
	Arg(name string) R
	Result(name string, r R) // stores a result; all are stored before Return
	Return()                 // may be emitted once in a function, at its end

	// Control. Labels are local to the function.
	Label(name string)
	Jump(label string)
	If(a R, c Cond, b any, label string) // b is an R or an int: jumps if a c b, signed but for ULO and UHS
	Any(m M, label string)               // jumps if some lane of m is true
	None(m M, label string)

	// General registers.
	GP(n int64) R // a new register that holds n
	CopyR(r R) R
	MoveR(dst, src R)
	AddR(dst R, b any) // dst += b, an R or an int
	SubR(dst R, b any)
	MulR(dst, b R)
	AndR(dst R, b any)
	OrR(dst R, b any)
	ShlR(dst R, n int)
	ShrR(dst R, n int)               // logical
	MinR(dst, b R)                   // signed
	LoadR(p R, off int, bytes int) R // 8, or 4 (sign-extended), 2 or 1 (zero-extended)
	StoreR(p R, off int, bytes int, r R)
	LoadRTo(dst, p R, off int, bytes int)
	Prefetch(p R, off int) // into the first cache; never faults

	// Memory and constants.
	Load(p R, off int) V
	LoadTo(dst V, p R, off int)
	Store(p R, off int, v V)
	LoadSource(s Source, p R, off int) V                   // Width/T.Bytes elements, widened
	Broadcast(t T, p R, off int) V                         // one lane from memory to all
	BroadcastSource(s Source, p R, off int) V              // one element, widened
	StoreLane(t T, p R, off int, v V)                      // lane 0 to memory
	Const(t T, bits uint64) C                              // in all lanes: in memory, loaded at its use where the level has no operands there
	Pin(c C) C                                             // keeps a constant in a register where the level has enough of them
	Table(name string, t T, value func(lane int) uint64) C // a constant with a value for each lane
	Iota(t T) C                                            // lane l of register u of 64 bytes holds l + u*lanes: for the first register; see IotaAt
	IotaAt(t T, u int) C

	// Registers.
	Zero() V
	Copy(v any) V
	Move(dst V, v any)

	// Arithmetic; a and b may be C, but not both. t is F32 or F64 unless said otherwise.
	Add(t T, a, b any) V // integers too
	Sub(t T, a, b any) V // integers too
	Mul(t T, a, b any) V
	Div(t T, a, b any) V
	Max(t T, a, b any) V // b where one is NaN on amd64, NaN on arm64: NaN is looked for otherwise, or b is what may be NaN
	Min(t T, a, b any) V
	AddTo(t T, acc V, b any)
	SubTo(t T, acc V, b any)
	FMATo(t T, acc V, a, b any)    // acc = a*b + acc, rounded once
	FMA(t T, a, b, c any) V        // a*b + c, rounded once
	HornerTo(t T, p V, f V, c any) // p = p*f + c, rounded once
	Ceil(t T, a V) V
	And(a, b any) V
	Or(a, b any) V
	Xor(a, b any) V
	Shl(t T, a V, n int) V // I32, I64
	Shr(t T, a V, n int) V // logical
	Sar(t T, a V, n int) V // arithmetic; I32 only
	FromInt(a V) V         // I32 to F32

	// Conversions. Low and High widen half of the lanes of F32 to F64; Narrow is the way back, rounded once.
	Low(a V) V
	High(a V) V
	Narrow(lo, hi V) V
	NarrowInt(lo, hi V) V // I64 to I32, low halves
	LowInt(a V) V         // I32 to I64, sign-extended
	HighInt(a V) V

	// Lanes.
	Swap(t T, a V, dist int) V            // lane l gets lane l xor dist
	ZipLow(t T, a, b V) V                 // in each 16 bytes: a0 b0 (a1 b1) of their low half
	ZipHigh(t T, a, b V) V                // of their high half
	LoadGroup(v V, g int, p R, off int) V // 16 bytes into the g-th 16 bytes of v, which may be nil for g = 0; v is used up

	Split(a, b V, dist int) (lo, hi V) // F64: the lanes whose number has no bit dist, of a and then of b, and the others; dist is half of the lanes, or 2 after 4, or 1, where the lanes of a and b alternate
	LoadWidened(p R, off int) V        // F32 in memory, Width/8 of them, to F64
	StoreNarrow(p R, off int, v V)     // the low halves of I64 lanes

	// Truth.
	Cmp(t T, c Cond, a, b any) M // F32, F64; I32 and I64 with EQ, GT
	Blend(m M, yes, no any) V    // lane by lane
	BlendTo(m M, dst V, yes any) // dst = yes where m
	Keep(m M, v any) V           // v where m, else 0
	Drop(m M, v any) V           // 0 where m, else v
	AndM(a, b M) M
	OrM(a, b M) M
	NotM(a M) M
	CopyM(a M) M
	MoveM(dst, src M)

	CountTo(t T, acc V, k M, one any)  // adds one, which is 1 in every lane, to the lanes of integers where k is true
	AddWhere(t T, acc V, k M, b any)   // acc += b where k is true; integers too
	LoadTruths(p R, off int) M         // of F64: where bytes in memory are 1; they are 1 or 0
	Truths(k [4]M) V                   // of four times I32, in order: bytes, 1 or 0
	PackInts(v [4]V) V                 // I32 to bytes, saturated, in an order of the level's own
	CountBytesTo(acc, v V, n, one any) // adds one, which is 1 in every byte, to the bytes of acc where v has that of n
	SumBytes(v V) V                    // I64 lanes that together have the sum of the bytes, unsigned
	MaxInt(a, b any) V                 // I32
	StoreCell(p R, off int, v []V)     // 32 bytes; of a register of 64 the sum of its halves as I64

	// Cells returns what emits: for each lane l of 64 bits, those lanes of the four registers are added, I64, to the 32 bytes
	// at the address that lane l of to is, plus off + 32*l. room is a register's bytes of scratch.
	Cells(room R) func(to V, off int, v [4]V)

	// FirstLanes returns, for each register of 64 bytes, the mask of lanes whose number in the 64 bytes is below n.
	FirstLanes(t T, n R) []M
	// LoadFirst loads the first n of 64/T.Bytes elements as registers and reads nothing beyond them; the other lanes are 0.
	LoadFirst(s Source, p R, n R) []V
	// LoadWhere is LoadFirst with a mask from FirstLanes, for a level whose registers have 64 bytes.
	LoadWhere(s Source, p R, in M) V
	// StoreFirst stores the first n of the lanes of 64 bytes and writes nothing beyond them.
	StoreFirst(t T, p R, n R, v []V)
}

// registers returns how many registers of the machine 64 bytes are.
func registers(m Machine) int { return 64 / m.Width() }

// lanes returns how many lanes a register has.
func lanes(m Machine, t T) int { return m.Width() / t.Bytes() }
