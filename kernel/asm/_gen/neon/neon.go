// Package neon writes functions in Go's assembly language for arm64.
//
// Instructions are added to a [Func] with virtual registers; [Func.String] gives them physical ones by their lives and
// prints the text. Go 1.26's assembler has few of the floating-point vector instructions: those that it lacks are
// printed as words, with GNU's text of them as the comment, from the table in table.go. Nothing else is ever a word, so
// the assembler and go vet see every load, store and branch.
package neon

import (
	"fmt"
	"strings"
)

// Reg is a virtual register: a vector register or a general one.
type Reg struct{ vector bool }

// operand is a register as an instruction has it.
type operand struct {
	reg      *Reg
	use, def bool
	as       string // an arrangement or element such as S4 or S[0], or nothing
	web      int
	physical int // set by allocation
}

// Use, Def and Mod say what an instruction does with a register: read it, write all of it, or both in one register.
// With an arrangement, such as S4, a vector register is printed V1.S4; without, it is printed F1.
func Use(r *Reg, as ...string) *operand { return &operand{reg: r, use: true, as: strings.Join(as, "")} }
func Def(r *Reg, as ...string) *operand { return &operand{reg: r, def: true, as: strings.Join(as, "")} }
func Mod(r *Reg, as ...string) *operand {
	return &operand{reg: r, use: true, def: true, as: strings.Join(as, "")}
}

// String prints the physical register.
func (o *operand) String() string {
	switch {
	case !o.reg.vector:
		return fmt.Sprintf("R%d", o.physical)
	case o.as == "":
		return fmt.Sprintf("F%d", o.physical)
	}
	return fmt.Sprintf("V%d.%s", o.physical, o.as)
}

// Mem is an address: an offset from a general register.
type Mem struct {
	Off  int
	Base *Reg
}

// address is a Mem within an instruction.
type address struct {
	off  int
	base *operand
}

func (a address) String() string {
	if a.off == 0 {
		return fmt.Sprintf("(%v)", a.base)
	}
	return fmt.Sprintf("%d(%v)", a.off, a.base)
}

// inst is an instruction or a label.
type inst struct {
	label  string // if it is a label
	target string // where it may jump to
	ends   bool   // the next instruction does not follow
	move   bool   // copies its first operand to its second
	again  bool   // gives the same wherever it stands
	row    *Row   // of the table, or nil
	imm    int
	text   string // with verbs for args, if there is no row
	args   []any
	ops    []*operand
}

// Func is a function being written. It has no frame and calls nothing.
type Func struct {
	name   string
	size   int // bytes of arguments and results
	insts  []*inst
	labels map[string]bool
	count  int
}

// New starts a function whose arguments and results have size bytes.
func New(name string, size int) *Func {
	return &Func{name: name, size: size, labels: map[string]bool{}}
}

// Vector returns a new vector register.
func (f *Func) Vector() *Reg { return &Reg{vector: true} }

// General returns a new general register.
func (f *Func) General() *Reg { return &Reg{} }

// Asm adds an instruction in Go's syntax. The text has a verb for each of args, which are what Use, Def and Mod return,
// Mem, or values to be printed. One that has a Def or Mod must do nothing but write it: it is left out where nothing
// reads what it writes.
func (f *Func) Asm(text string, args ...any) { f.add(&inst{text: text}, args) }

// Constant adds an instruction as Asm does, one that would give the same at any place. Where registers run short it is
// repeated before each use of what it writes.
func (f *Func) Constant(text string, args ...any) { f.add(&inst{text: text, again: true}, args) }

// Branch adds a jump to a label, under a condition unless text is JMP; the label becomes its last operand.
func (f *Func) Branch(text, label string, args ...any) {
	f.add(&inst{text: text + " %s", target: label, ends: text == "JMP"}, append(args, label))
}

// Return adds RET.
func (f *Func) Return() { f.add(&inst{text: "RET", ends: true}, nil) }

// Move copies a register to another. It costs nothing where both can be one.
func (f *Func) Move(dst, src *Reg) {
	text := "MOVD %v, %v"
	as := ""
	if dst.vector {
		text, as = "VMOV %v, %v", "B16"
	}
	f.add(&inst{text: text, move: true}, []any{Use(src, as), Def(dst, as)})
}

// Label puts a label here.
func (f *Func) Label(name string) {
	if f.labels[name] {
		f.fail("has two labels %s", name)
	}
	f.labels[name] = true
	f.insts = append(f.insts, &inst{label: name})
}

// NewLabel returns a name for a label that the function does not have.
func (f *Func) NewLabel() string {
	f.count++
	return fmt.Sprintf("l%d", f.count)
}

// Do adds the instruction of the table with this name and arrangement, such as fadd and 4s. The registers are in GNU's
// order, the destination first; imm is for those that take a number.
func (f *Func) Do(name, arrangement string, imm int, regs ...*Reg) {
	row := find(name, arrangement)
	if len(regs) != len(row.Regs) {
		f.fail("%s takes %d registers, not %d", name, len(row.Regs), len(regs))
	}
	if row.Imm != nil {
		row.Imm(imm) // fails here if it is out of range
	}
	args := make([]any, len(regs))
	for i, r := range regs {
		switch as := goArrangement(row.Regs[i]); {
		case i > 0:
			args[i] = Use(r, as)
		case row.Reads:
			args[i] = Mod(r, as)
		default:
			args[i] = Def(r, as)
		}
	}
	f.add(&inst{row: row, imm: imm}, args)
}

func (f *Func) add(i *inst, args []any) {
	for _, a := range args {
		if m, ok := a.(Mem); ok {
			a = address{m.Off, Use(m.Base)}
		}
		switch a := a.(type) {
		case *operand:
			i.ops = append(i.ops, a)
		case address:
			i.ops = append(i.ops, a.base)
		}
		i.args = append(i.args, a)
	}
	for _, o := range i.ops {
		if o.reg == nil {
			f.fail("has an instruction without a register: %s", i.text)
		}
	}
	f.insts = append(f.insts, i)
}

func (f *Func) fail(format string, args ...any) {
	panic(fmt.Sprintf("neon: function "+f.name+" "+format, args...))
}

// String gives the registers and returns the text of the function. It fails if the registers do not suffice.
func (f *Func) String() string {
	f.allocate()
	var b strings.Builder
	fmt.Fprintf(&b, "TEXT ·%s(SB), NOSPLIT, $0-%d\n", f.name, f.size)
	for n, i := range f.insts {
		switch {
		case i.label != "":
			if n > 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "%s:\n", i.label)
		case i.row != nil:
			fmt.Fprintf(&b, "\t%s\n", i.row.line(i.imm, i.numbers()))
		default:
			fmt.Fprintf(&b, "\t"+i.text+"\n", i.args...)
		}
	}
	return b.String()
}

func (i *inst) numbers() []int {
	n := make([]int, len(i.ops))
	for k, o := range i.ops {
		n[k] = o.physical
	}
	return n
}
