package main

import (
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
)

// repeatable are the instructions that can repeat an element in memory themselves, without the ending for its type.
var repeatable = strings.Fields(`VADD VSUB VMUL VDIV VMAX VMIN VFMADD213 VFMADD231 VCMP VBLENDM
	VPADD VPSUB VPCMPEQ VPCMPGT VPAND VPANDN VPOR VPXOR`)

// broadcast lets instructions of AVX-512 read a constant as one element, and shortens the constants that are read in no
// other way. The linker aligns data to 32 bytes: every other one of 64 bytes would lie across two cache lines and take two loads.
func (m *amd64) broadcast(f *ir.File) {
	whole := map[string]bool{}
	for _, fn := range f.Functions() {
		for _, i := range fn.Instructions() {
			for _, o := range i.Operands {
				if c, ok := o.(operand.Mem); ok && constantBytes(c.Symbol.Name) != 0 && !repeat(i, constantBytes(c.Symbol.Name)) {
					whole[c.Symbol.Name] = true
				}
			}
		}
	}
	for _, s := range f.Sections {
		if g, ok := s.(*ir.Global); ok && !whole[g.Symbol.Name] {
			if n := constantBytes(g.Symbol.Name); n != 0 {
				g.Data, g.Size = g.Data[:1], n
			}
		}
	}
}

// constantBytes returns the size of a constant's lane by its name; 0 for other data.
func constantBytes(name string) int {
	switch {
	case strings.HasPrefix(name, "c32_"):
		return 4
	case strings.HasPrefix(name, "c64_"):
		return 8
	}
	return 0
}

// repeat makes the instruction repeat its element of so many bytes in memory, if it can.
func repeat(i *ir.Instruction, bytes int) bool {
	size := map[int]int{4: 0, 8: 1}[bytes]
	if i.Opcode == "VMOVUPS" || i.Opcode == "VMOVUPD" {
		if masked := len(i.Operands) == 3; masked && (i.Opcode == "VMOVUPD") != (bytes == 8) {
			return false
		}
		i.Opcode = [...]string{"VBROADCASTSS", "VBROADCASTSD"}[size]
		return true
	}
	for _, ends := range [...][2]string{{"PS", "PD"}, {"D", "Q"}} {
		if op, ok := strings.CutSuffix(i.Opcode, ends[size]); ok && slices.Contains(repeatable, op) {
			i.Suffixes = append([]string{"BCST"}, i.Suffixes...)
			return true
		}
		op, ok := strings.CutSuffix(i.Opcode, ends[1-size])
		if bits := []string{"VPAND", "VPANDN", "VPOR", "VPXOR"}; ok && slices.Contains(bits, op) && len(i.Operands) == 3 {
			i.Opcode = op + ends[size]
			i.Suffixes = append([]string{"BCST"}, i.Suffixes...)
			return true
		}
	}
	return false
}
