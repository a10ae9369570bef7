package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"
)

// compile is pass.Compile but for the allocation, which takes the registers that the level has: avo's takes all there are.
func (m *amd64) compile() pass.Interface {
	return pass.Concat(
		pass.Verify,
		pass.FunctionPass(pass.PruneJumpToFollowingLabel),
		pass.FunctionPass(pass.PruneDanglingLabels),
		pass.FunctionPass(pass.LabelTarget),
		pass.FunctionPass(pass.CFG),
		pass.InstructionPass(pass.ZeroExtend32BitOutputs),
		pass.FunctionPass(pass.Liveness),
		pass.Func(m.allocate),
		pass.FunctionPass(pass.BindRegisters),
		pass.FunctionPass(pass.VerifyAllocation),
		pass.Func(pass.IncludeTextFlagHeader),
		pass.FunctionPass(pass.PruneSelfMoves),
		pass.FunctionPass(pass.RequiredISAExtensions),
	)
}

// allocate gives the functions of a file their registers and names all that do not fit.
func (m *amd64) allocate(f *ir.File) error {
	var errs []error
	for _, fn := range f.Functions() {
		errs = append(errs, m.allocateIn(fn))
	}
	return errors.Join(errs...)
}

func (m *amd64) allocateIn(fn *ir.Function) error {
	kinds := map[reg.Kind]*pass.Allocator{}
	for _, i := range fn.Instructions() {
		for _, r := range i.Registers() {
			k := r.Kind()
			if kinds[k] == nil {
				a, err := pass.NewAllocator(m.registersOf(k))
				if err != nil {
					return err
				}
				kinds[k] = a
			}
			kinds[k].Add(r.ID())
		}
	}
	for _, i := range fn.Instructions() {
		for _, r := range i.OutputRegisters() {
			others := i.LiveOut.OfKind(r.Kind())
			others.DiscardRegister(r)
			kinds[r.Kind()].AddInterferenceSet(r, others)
		}
	}
	fn.Allocation = reg.NewEmptyAllocation()
	for k, a := range kinds {
		allocation, err := a.Allocate()
		if err != nil {
			kind := map[reg.Kind]string{reg.KindGP: "general", reg.KindVector: "vector", reg.KindOpmask: "mask"}[k]
			return fmt.Errorf("%s: %d %s registers live at once: %w", fn.Name, peak(fn, k), kind, err)
		}
		if err := fn.Allocation.Merge(allocation); err != nil {
			return err
		}
	}
	return nil
}

// registersOf returns the registers of a kind that a function may use: R14 is g, and BP belongs to the caller's frame.
func (m *amd64) registersOf(k reg.Kind) []reg.Physical {
	return slices.DeleteFunc(reg.FamilyOfKind(k).Registers(), func(r reg.Physical) bool {
		beyond := k == reg.KindVector && !m.wide() && r.PhysicalIndex() >= 16
		return beyond || r.ID() == reg.R14.ID() || r.ID() == reg.RBP.ID()
	})
}

// peak returns how many registers of a kind are live at once: before an instruction, or after it.
func peak(fn *ir.Function, k reg.Kind) (most int) {
	for _, i := range fn.Instructions() {
		after := i.LiveOut.OfKind(k)
		for _, r := range i.OutputRegisters() {
			if r.Kind() == k {
				after.AddRegister(r)
			}
		}
		most = max(most, len(i.LiveIn.OfKind(k)), len(after))
	}
	return most
}
