package predictions

import (
	"math/bits"
	"slices"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// Share selects rows to read, so that several runs can divide files among them. The zero value reads all.
//
// The shares 0 to Of-1 have every row once. Arrays are divided by rows. Of tables a share has the Index-th of Of equal stretches of the list
// of files: of Parquet and of Arrow's files the row groups and batches whose middle lies in it, of safetensors rows, and of text, of JSON
// Lines and of Arrow's streams files. A reader opens the first file, whose header says what the columns are, and those with rows of the
// share. It may have no rows, which is no error then.
type Share struct {
	Index, Of int
	// From is the number of the first row that is read, in a run that goes on where another has ended: Chunk.First of its next chunk.
	From int64
	// Numbered gives rows the numbers that they have among all rows, which of tables is an *Error for files that do not say how many rows
	// they have. Otherwise the first row of the share of a table has the number 0. Rows of arrays always have the numbers of all.
	Numbered bool
}

// divided reports whether not all rows are read.
func (s *Share) divided() bool { return s.Of > 1 || s.From > 0 }

// some reports whether the share is one of several.
func (s *Share) some() bool { return s.Of > 1 }

// rows returns which of n rows are read: from, up to before to.
func (s *Share) rows(n int64) (from, to int64) {
	to = n
	if s.some() {
		from, to = fraction(n, s.Index, s.Of), fraction(n, s.Index+1, s.Of)
	}
	return min(max(from, s.From), to), to
}

// fraction returns n*i/of, rounded down.
func fraction(n int64, i, of int) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(i))
	q, _ := bits.Div64(hi, lo, uint64(of))
	return int64(q)
}

// files returns which of n files may have units of the share: from, up to before to.
func (s *Share) files(n int) (from, to int) {
	if !s.some() {
		return 0, n
	}
	from = int(fraction(int64(n), s.Index, s.Of))
	to = int((fraction(int64(n), s.Index+1, s.Of)))
	if int64(to)*int64(s.Of) < int64(n)*int64(s.Index+1) { // rounded down
		to++
	}
	return from, to
}

// units returns which units of a file belong to the share, of files in all: those whose middle lies in its stretch of the list of files.
func (s *Share) units(file, files int, units int64) (from, to int64) {
	if !s.some() {
		return 0, units
	}
	at := func(i int) int64 {
		// The stretch begins a/of behind the beginning of the file. The first unit u whose middle is not before that has (2u+1)/(2 units) >= a/of.
		a := int64(i)*int64(files) - int64(file)*int64(s.Of)
		switch {
		case a <= 0:
			return 0
		case a >= int64(s.Of):
			return units
		}
		hi, lo := bits.Mul64(uint64(2*units), uint64(a))
		q, rest := bits.Div64(hi, lo, uint64(s.Of)) // u >= (q + rest/of - 1) / 2
		if rest > 0 {
			q++
		}
		return int64(q / 2)
	}
	return at(s.Index), at(s.Index + 1)
}

// narrow limits an array to some of its rows.
func (a *array) narrow(from, to int64) {
	if from == 0 && to == a.rows() {
		return
	}
	a.full = a.all()
	a.skip += from
	shape := append([]int64{to - from}, a.shape[1:]...)
	a.shape = shape
}

// all returns the number of rows in the file.
func (a *array) all() int64 { return max(a.full, a.rows()) }

// whole reports whether all rows of the file are read.
func (a *array) isWhole() bool { return a.rows() == a.all() }

// rowBytes returns the bytes of a row.
func (a *array) rowBytes() int64 { return a.columns() * int64(a.dtype.size) }

// narrowing limits arrays to the rows of a share. An array may have several roles.
type narrowing map[*array]bool

// rows limits arrays that have all rows together: one, or as many as there are files.
func (n narrowing) rows(as []*array, from, to int64) {
	start := int64(0)
	for _, a := range as {
		rows := a.all()
		if !n[a] {
			n[a] = true
			lo, hi := min(max(from-start, 0), rows), min(max(to-start, 0), rows)
			a.narrow(lo, hi)
		}
		start += rows
	}
}

// beside limits the columns beside the scores.
func (n narrowing) beside(s *beside, from, to int64) {
	for _, c := range s.all() {
		if c != nil {
			n.rows(c.arrays, from, to)
		}
	}
	for _, g := range []*groupFiles{s.groups, s.clusters} {
		if g != nil {
			g.row = from
		}
	}
}

// uncounted returns the Error of a file whose rows are to be numbered and cannot.
func uncounted() *Error {
	return fault("write .npy or Parquet, or name metrics that draw no random numbers by row", "the rows of the next files cannot be numbered, as the number of rows of this one is known only once it is read")
}

// pipeShared returns the Error of a file that can be read only once.
func pipeShared() *Error {
	return fault("write it to a file, and name that", "it can be read only once, and a shard or a run that goes on reads it from the middle")
}

// divide forgets what the first file was opened for, and finds the number of the first row.
func (t *columnar) divide(paths []string) *Error {
	for i := range t.files {
		if t.files[i].size < 0 {
			return pipeShared().in(t.files[i].name)
		}
	}
	t.first.close()
	t.first, t.begun, t.divided = nil, nil, true
	defer t.read.Store(0)
	s := &t.options.Share
	if !s.some() || !s.Numbered {
		return nil
	}
	n, _ := s.files(t.number)
	for _, p := range paths[:n] {
		e := func() *Error {
			o, e := t.format.open(t.options.FS, p, nil, &t.read)
			if e != nil {
				return e
			}
			defer o.close()
			rows, err := o.Rows(), error(nil)
			if d, ok := o.columnFile.(columns.Divided); ok && rows < 0 {
				rows, err = d.RowsOf(0, d.Units())
			}
			switch {
			case err != nil:
				return asError(err, 0, 0)
			case rows < 0:
				return uncounted()
			}
			t.base += rows
			return nil
		}()
		if e != nil {
			return e.in(names(t.options.Names).of(p))
		}
	}
	if i := slices.IndexFunc(t.files, func(f columnShard) bool { return f.index == n }); i >= 0 {
		o, _, _, before, e := t.choose(i)
		if e != nil {
			return e.in(t.files[i].name)
		}
		o.close()
		t.base += before
	}
	t.rows, t.total, t.counted = t.base, t.base, t.base
	return nil
}

// choose opens a file and finds its units of the share, and the number of rows before these.
func (t *columnar) choose(i int) (o *openColumns, from, to, before int64, e *Error) {
	if o, e = t.openFile(i, nil); e != nil {
		return nil, 0, 0, 0, e
	}
	d, ok := o.columnFile.(columns.Divided)
	units := int64(1)
	if ok {
		units = d.Units()
	}
	from, to = t.options.Share.units(t.files[i].index, t.number, units)
	if ok {
		var err error
		if before, err = d.RowsOf(0, from); err != nil {
			o.close()
			return nil, 0, 0, 0, asError(err, 0, 0)
		}
	}
	return o, from, to, before, nil
}

// openShare opens a file at its part of the share. It returns nil if there is none. passed is the number of rows of the share that were
// read by a run before and are left out; others that were are still to be left out.
func (t *columnar) openShare(i int) (_ *openColumns, passed int64, e *Error) {
	o, from, to, before, e := t.choose(i)
	if e != nil {
		return nil, 0, e
	}
	t.files[i].before = before
	s := &t.options.Share
	d, ok := o.columnFile.(columns.Divided)
	if !ok && from < to {
		t.counted = -1
	}
	if ok {
		rows := func(from, to int64) int64 {
			n, err := d.RowsOf(from, to)
			if err != nil && e == nil {
				e = asError(err, 0, 0)
			}
			return n
		}
		for from < to && t.counted >= 0 && t.counted < s.From && t.options.Truth == nil && e == nil {
			n := rows(from, from+1)
			if t.counted+n > s.From {
				break
			}
			from, passed, t.counted = from+1, passed+n, t.counted+n
		}
		if t.counted >= 0 && t.counted < s.From {
			t.counted += rows(from, to)
		}
		d.Only(from, to)
	}
	if e != nil || from >= to {
		o.close()
		return nil, passed, e
	}
	return o, passed, nil
}
