package main

import (
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/reg"
)

// prune removes the moves of a whole register to itself that the allocation has left.
func prune(f *ir.File) {
	for _, fn := range f.Functions() {
		kept := fn.Nodes[:0]
		for _, n := range fn.Nodes {
			if i, ok := n.(*ir.Instruction); ok && movesToItself(i) {
				continue
			}
			kept = append(kept, n)
		}
		fn.Nodes = kept
	}
}

func movesToItself(i *ir.Instruction) bool {
	if i.Opcode != "VMOVAPS" && i.Opcode != "MOVQ" || len(i.Operands) != 2 {
		return false
	}
	a, ok := i.Operands[0].(reg.Register)
	b, same := i.Operands[1].(reg.Register)
	return ok && same && a == b
}
