package kernel

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"strings"
	"testing"
	"unsafe"
)

// TestWorkLayout: the assembly finds in a work area what the Go side puts there. Every constant of the generator's layout
// has a field, and what has two names for two uses is one field.
func TestWorkLayout(t *testing.T) {
	var w work
	want := map[string]uintptr{
		"workRows":      uintptr(len(w.max)),
		"workMax":       unsafe.Offsetof(w.max),
		"workETop":      unsafe.Offsetof(w.eTop),
		"workZTop":      unsafe.Offsetof(w.zTop),
		"workS":         unsafe.Offsetof(w.s),
		"workQ":         unsafe.Offsetof(w.q),
		"workH":         unsafe.Offsetof(w.h),
		"workY":         unsafe.Offsetof(w.y),
		"workTop":       unsafe.Offsetof(w.top),
		"workOdd":       unsafe.Offsetof(w.odd),
		"workRoom":      unsafe.Offsetof(w.room),
		"workTail":      unsafe.Offsetof(w.tail),
		"workReference": unsafe.Offsetof(w.reference),
		"workAny":       unsafe.Offsetof(w.reference),
		"workHeld":      unsafe.Offsetof(w.held),
		"workLargest":   unsafe.Offsetof(w.largest),
		"workKeep":      unsafe.Offsetof(w.keep),
		"workRawMax":    unsafe.Offsetof(w.rawMax),
		"workIndex":     unsafe.Offsetof(w.index),
		"workMasks":     unsafe.Offsetof(w.masks),
		"workCols":      unsafe.Offsetof(w.cols),
		"workRaw":       unsafe.Offsetof(w.cols),
	}
	const name = "asm/_gen/work.go"
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, 0)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no generator: it is a module of its own, which those who fetch this one do not get")
	}
	if err != nil {
		t.Fatal(err)
	}
	// The rest of the package and what it imports are not there, and the constants do not need them.
	ignore := types.Config{Error: func(error) {}}
	info := types.Info{Defs: map[*ast.Ident]types.Object{}}
	_, _ = ignore.Check("main", fset, []*ast.File{file}, &info)
	for id, o := range info.Defs {
		c, ok := o.(*types.Const)
		if !ok || !strings.HasPrefix(id.Name, "work") {
			continue
		}
		off, known := want[id.Name]
		got, exact := constant.Uint64Val(c.Val())
		switch {
		case !known:
			t.Errorf("%s: %s has no field here", fset.Position(id.Pos()), id.Name)
		case !exact || got != uint64(off):
			t.Errorf("%s: %s is %v, the field's offset %d", fset.Position(id.Pos()), id.Name, c.Val(), off)
		}
		delete(want, id.Name)
	}
	for id := range want {
		t.Errorf("%s has no constant %s", name, id)
	}
}
