package neon

import (
	"fmt"
	"strings"
)

// Row is an instruction on vector registers.
type Row struct {
	Name  string
	Regs  []string      // the arrangements of the registers in GNU's order: the destination, then field Rn, then Rm
	Word  uint32        // with all operands 0
	Reads bool          // the destination is read as well
	Imm   func(int) int // the bits of a number that is the last operand, or nil
	Fixed string        // the last operand where it is always the same
	Go    string        // the mnemonic where Go's assembler has it
}

// Table has a row for each instruction and arrangement in use.
var Table = []Row{
	three("fadd", "4s", 0x4e20d400, ""),
	three("fadd", "2d", 0x4e60d400, ""),
	three("fsub", "4s", 0x4ea0d400, ""),
	three("fsub", "2d", 0x4ee0d400, ""),
	three("fmul", "4s", 0x6e20dc00, ""),
	three("fmul", "2d", 0x6e60dc00, ""),
	three("fdiv", "4s", 0x6e20fc00, ""),
	three("fdiv", "2d", 0x6e60fc00, ""),
	three("fmax", "4s", 0x4e20f400, ""),
	three("fmax", "2d", 0x4e60f400, ""),
	three("fmin", "4s", 0x4ea0f400, ""),
	three("fmin", "2d", 0x4ee0f400, ""),
	reads(three("fmla", "4s", 0x4e20cc00, "VFMLA")),
	reads(three("fmla", "2d", 0x4e60cc00, "VFMLA")),
	three("fcmeq", "4s", 0x4e20e400, ""),
	three("fcmeq", "2d", 0x4e60e400, ""),
	three("fcmge", "4s", 0x6e20e400, ""),
	three("fcmge", "2d", 0x6e60e400, ""),
	three("fcmgt", "4s", 0x6ea0e400, ""),
	three("fcmgt", "2d", 0x6ee0e400, ""),
	two("frintp", "4s", "4s", 0x4ea18800, ""),
	two("frintp", "2d", "2d", 0x4ee18800, ""),
	two("frintm", "4s", "4s", 0x4e219800, ""),
	two("frintm", "2d", "2d", 0x4e619800, ""),
	two("scvtf", "4s", "4s", 0x4e21d800, ""),
	two("fcvtl", "4s", "4h", 0x0e217800, ""),
	two("fcvtl", "2d", "2s", 0x0e617800, ""),
	two("fcvtl2", "2d", "4s", 0x4e617800, ""),
	two("fcvtn", "2s", "2d", 0x0e616800, ""),
	reads(two("fcvtn2", "4s", "2d", 0x4e616800, "")),

	three("add", "4s", 0x4ea08400, "VADD"),
	three("add", "2d", 0x4ee08400, "VADD"),
	three("sub", "4s", 0x6ea08400, "VSUB"),
	three("sub", "2d", 0x6ee08400, "VSUB"),
	three("mul", "4s", 0x4ea09c00, ""),
	three("cmeq", "4s", 0x6ea08c00, "VCMEQ"),
	three("cmeq", "2d", 0x6ee08c00, "VCMEQ"),
	three("cmge", "4s", 0x4ea03c00, ""),
	three("cmge", "2d", 0x4ee03c00, ""),
	three("cmgt", "4s", 0x4ea03400, ""),
	three("cmgt", "2d", 0x4ee03400, ""),
	three("cmhi", "4s", 0x6ea03400, ""),
	three("cmhi", "2d", 0x6ee03400, ""),
	three("cmeq", "16b", 0x6e208c00, "VCMEQ"),
	three("sub", "16b", 0x6e208400, "VSUB"),
	three("smax", "4s", 0x4ea06400, ""),
	three("smin", "4s", 0x4ea06c00, ""),
	three("umaxp", "4s", 0x6ea0a400, ""),
	three("addp", "16b", 0x4e20bc00, "VADDP"),
	three("addp", "2d", 0x4ee0bc00, "VADDP"),
	two("cnt", "16b", "16b", 0x4e205800, "VCNT"),
	two("uaddlp", "8h", "16b", 0x6e202800, ""),
	two("uaddlp", "4s", "8h", 0x6e602800, ""),
	two("uaddlp", "2d", "4s", 0x6ea02800, ""),
	shift("shl", "4s", 0x4f005400, left(32), "VSHL"),
	shift("shl", "2d", 0x4f005400, left(64), "VSHL"),
	shift("ushr", "4s", 0x6f000400, right(32), "VUSHR"),
	shift("ushr", "2d", 0x6f000400, right(64), "VUSHR"),
	shift("sshr", "4s", 0x4f000400, right(32), ""),
	{Name: "shll", Regs: []string{"4s", "4h"}, Word: 0x2e613800, Fixed: "#16"},
	two("sxtl", "2d", "2s", 0x0f20a400, ""),
	two("sxtl2", "2d", "4s", 0x4f20a400, ""),
	two("uxtl", "8h", "8b", 0x2f08a400, ""),
	two("uxtl", "4s", "4h", 0x2f10a400, ""),
	two("uxtl", "2d", "2s", 0x2f20a400, ""),
	two("sqxtn", "8b", "8h", 0x0e214800, ""),
	two("sqxtn", "4h", "4s", 0x0e614800, ""),
	reads(two("sqxtn2", "16b", "8h", 0x4e214800, "")),
	reads(two("sqxtn2", "8h", "4s", 0x4e614800, "")),

	three("and", "16b", 0x4e201c00, "VAND"),
	three("bic", "16b", 0x4e601c00, ""),
	three("orr", "16b", 0x4ea01c00, "VORR"),
	three("eor", "16b", 0x6e201c00, "VEOR"),
	reads(three("bsl", "16b", 0x6e601c00, "VBSL")),
	reads(three("bit", "16b", 0x6ea01c00, "VBIT")),
	two("mvn", "16b", "16b", 0x6e205800, ""),

	three("zip1", "4s", 0x4e803800, "VZIP1"),
	three("zip1", "2d", 0x4ec03800, "VZIP1"),
	three("uzp2", "4s", 0x4e805800, "VUZP2"),
	three("zip2", "4s", 0x4e807800, "VZIP2"),
	three("zip2", "2d", 0x4ec07800, "VZIP2"),
	three("uzp1", "16b", 0x4e001800, "VUZP1"),
	three("uzp1", "8h", 0x4e401800, "VUZP1"),
	three("uzp1", "4s", 0x4e801800, "VUZP1"),
	two("rev64", "4s", "4s", 0x4ea00800, "VREV64"),
	{Name: "ext", Regs: []string{"16b", "16b", "16b"}, Word: 0x6e000000, Imm: index, Go: "VEXT"},
}

func three(name, a string, word uint32, g string) Row {
	return Row{Name: name, Regs: []string{a, a, a}, Word: word, Go: g}
}

func two(name, d, n string, word uint32, g string) Row {
	return Row{Name: name, Regs: []string{d, n}, Word: word, Go: g}
}

func shift(name, a string, word uint32, imm func(int) int, g string) Row {
	return Row{Name: name, Regs: []string{a, a}, Word: word, Imm: imm, Go: g}
}

func reads(r Row) Row {
	r.Reads = true
	return r
}

// left and right return the field immh:immb of a shift of lanes of size bits.
func left(size int) func(int) int {
	return func(n int) int { return (size + within(n, 0, size-1)) << 16 }
}

func right(size int) func(int) int {
	return func(n int) int { return (2*size - within(n, 1, size)) << 16 }
}

// index returns the field of a number of a byte.
func index(n int) int { return within(n, 0, 15) << 11 }

func within(n, least, most int) int {
	if n < least || n > most {
		panic(fmt.Sprintf("neon: the number %d of an instruction is not from %d to %d", n, least, most))
	}
	return n
}

// find returns the row of a name and the arrangement of its destination.
func find(name, arrangement string) *Row {
	for i := range Table {
		if r := &Table[i]; r.Name == name && r.Regs[0] == arrangement {
			return r
		}
	}
	panic(fmt.Sprintf("neon: no instruction %s of arrangement %s", name, arrangement))
}

// Encode returns the instruction with the numbers of its registers.
func (r *Row) Encode(imm int, regs []int) uint32 {
	w := r.Word
	for i, n := range regs {
		w |= uint32(within(n, 0, 31)) << [...]int{0, 5, 16}[i]
	}
	if r.Imm != nil {
		w |= uint32(r.Imm(imm))
	}
	return w
}

// GNU returns the instruction as GNU's assembler reads it and its disassembler prints it.
func (r *Row) GNU(imm int, regs []int) string {
	ops := make([]string, len(regs))
	for i, n := range regs {
		ops[i] = fmt.Sprintf("v%d.%s", n, r.Regs[i])
	}
	if r.Imm != nil {
		ops = append(ops, fmt.Sprintf("#%d", imm))
	} else if r.Fixed != "" {
		ops = append(ops, r.Fixed)
	}
	return r.Name + " " + strings.Join(ops, ", ")
}

// GoText returns the instruction as Go's assembler reads it: all operands in the opposite order.
func (r *Row) GoText(imm int, regs []int) string {
	var ops []string
	if r.Imm != nil {
		ops = append(ops, fmt.Sprintf("$%d", imm))
	}
	for i := len(regs) - 1; i >= 0; i-- {
		ops = append(ops, fmt.Sprintf("V%d.%s", regs[i], goArrangement(r.Regs[i])))
	}
	return r.Go + " " + strings.Join(ops, ", ")
}

// WordText returns the instruction as a word.
func (r *Row) WordText(imm int, regs []int) string {
	return fmt.Sprintf("WORD $0x%08x // %s", r.Encode(imm, regs), r.GNU(imm, regs))
}

func (r *Row) line(imm int, regs []int) string {
	if r.Go != "" {
		return r.GoText(imm, regs)
	}
	return r.WordText(imm, regs)
}

// goArrangement turns 4s into S4.
func goArrangement(a string) string {
	k := len(a) - 1
	return strings.ToUpper(a[k:]) + a[:k]
}
