package main

import (
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
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

// pair writes data of 4 bytes as 8, two in a line.
func pair(f *ir.File) {
	for _, s := range f.Sections {
		g, ok := s.(*ir.Global)
		if !ok || len(g.Data)%2 != 0 {
			continue
		}
		var pairs []ir.Datum
		for i := 0; i < len(g.Data); i += 2 {
			low, ok := g.Data[i].Value.(operand.U32)
			high, both := g.Data[i+1].Value.(operand.U32)
			if !ok || !both {
				break
			}
			pairs = append(pairs, ir.NewDatum(g.Data[i].Offset, operand.U64(low)|operand.U64(high)<<32))
		}
		if 2*len(pairs) == len(g.Data) {
			g.Data = pairs
		}
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
