package predictions

import (
	"fmt"
	"slices"
)

// keptArrays reads the arrays of Options.Kept.
type keptArrays struct {
	columns []column
	cells   []Cells
	keep    func(rows int, cells []Cells) error
	text    []byte
}

// findKept finds the arrays that are kept in a file of scores.
func (b *opening) findKept(c *container) *Error {
	if b.kept == nil {
		b.kept = make([][]*array, len(b.options.Kept))
	}
	for i, name := range b.options.Kept {
		if !c.npz {
			return fault(fmt.Sprintf("save an .npz with the scores and an array %q", name), "no array %q: a file of one array has no other", cut(name)).in(b.call(c.path))
		}
		a, e := c.find(role{what: "kept values", names: []string{name}})
		if e != nil {
			return e
		}
		if a == nil {
			return fault(fmt.Sprintf("put it into the file, as in numpy.savez(file, ..., %s=...)", name), "no array %q: it has %s", cut(name), c.list()).in(b.call(c.path))
		}
		b.kept[i] = append(b.kept[i], a)
		b.opened = append(b.opened, a)
	}
	return nil
}

// keptArrays checks the arrays that are kept, and returns their reader; nil if there are none.
func (b *opening) keptArrays() (*keptArrays, *Error) {
	if len(b.options.Kept) == 0 {
		return nil, nil
	}
	k := &keptArrays{keep: b.options.Keep, cells: make([]Cells, len(b.kept))}
	for i, as := range b.kept {
		if slices.Contains(b.options.Kept[:i], b.options.Kept[i]) {
			return nil, fault("name it once", "array %q is to be kept twice", cut(b.options.Kept[i]))
		}
		for j, a := range as {
			if e := checkKept(a); e != nil {
				return nil, e
			}
			if n := b.scores[j].rows(); a.rows() != n {
				return nil, fault("is it of the same rows?", "%s of %q, and %s of scores", count(int(a.rows()), "value"), cut(b.options.Kept[i]), count(int(n), "row")).in(a.file)
			}
		}
		k.columns = append(k.columns, column{arrays: as, what: "kept value"})
	}
	return k, nil
}

// checkKept returns an Error if an array cannot be kept.
func checkKept(a *array) *Error {
	d := a.dtype
	switch {
	case d.integer():
	case d.kind != 'S' && d.kind != 'U':
		return fault(`save whole numbers or text, as in ids.astype("int64") or ids.astype("U")`, "it is %s, and whole numbers and text are kept", d).in(a.file)
	case d.size == 0 || d.size > maxGroupText:
		return fault("save shorter texts, or numbers", "texts of %d bytes: from 1 to %d are read", d.size, maxGroupText).in(a.file)
	}
	if len(a.shape) != 1 && (len(a.shape) != 2 || a.shape[1] != 1) {
		return fault("save ids.reshape(-1)", "its shape is %s: a vector (N,) is read", shapeText(a.shape)).in(a.file)
	}
	return a.checkLength()
}

// fill reads the next n values of each array, and tells them.
func (k *keptArrays) fill(n int) *Error {
	if k == nil {
		return nil
	}
	for i := range k.columns {
		c, to := &k.columns[i], &k.cells[i]
		to.Bytes, to.Ends, to.Missing = to.Bytes[:0], to.Ends[:0], nil
		var bad *Error
		e := c.fill(n, func(*array) []byte { return nil }, func(a *array, _, m int, buf []uint64) int {
			size := a.dtype.size
			cells := raw(buf)[:m*size]
			for j := range m {
				text, ok := groupText(k.text[:0], cells[j*size:][:size], a.dtype)
				if k.text = text; !ok && bad == nil {
					bad = fault("write it as UTF-8", "%q is not text", cut(string(text)))
					bad.File, bad.Row = a.file, a.skip+c.at+int64(j)
				}
				to.Bytes = append(to.Bytes, text...)
				to.Ends = append(to.Ends, len(to.Bytes))
			}
			return m
		})
		if e == nil {
			e = bad
		}
		if e != nil {
			return e
		}
	}
	if err := k.keep(n, k.cells); err != nil {
		return asError(err, -1, -1)
	}
	return nil
}

// release closes what is open.
func (k *keptArrays) release() {
	if k == nil {
		return
	}
	for i := range k.columns {
		k.columns[i].close()
		closePipes(k.columns[i].arrays)
	}
}
