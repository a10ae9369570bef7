package main

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
)

// rowFile is what an .npz of losses by row has beside them: what candor compare needs in place of the predictions.
type rowFile struct {
	mark     predictions.RowMark
	kept     *keptRows // columns that are copied; nil if there are none
	labelled bool      // rows have classes
	weighted bool
}

// The arrays of a rowFile follow those of the metrics: labels and decisions, as integers, then weights.
const (
	labelsPlane = iota
	decisionsPlane
	weightsPlane
)

// planes returns how many there are.
func (r *rowFile) planes() (n int) {
	if r != nil && r.labelled {
		n = 2
		if r.weighted {
			n = 3
		}
	}
	return n
}

// keptInNPZ returns the columns that --id and --keep copy to an .npz; nil if there are none.
func (f *scoreRun) keptInNPZ(paths []string) (*keptRows, error) {
	names := slices.Concat(f.keepFlags.ids, f.keepFlags.keep)
	if len(names) == 0 {
		return nil, nil
	}
	for i, n := range names {
		switch {
		case slices.Contains(names[:i], n):
			return nil, usage("--id and --keep name column %q twice; name it once", n)
		case slices.Contains([]string{predictions.RowMarkArray, predictions.RowLabelsArray, predictions.RowWeightsArray, predictions.RowDecisionsArray}, n):
			return nil, usage("column %q is copied by --id or --keep, and an array of that name is written beside the metrics; rename it in the table, or leave it out", n)
		}
	}
	if !f.tables(paths) && f.truth() != nil && len(f.keepFlags.keep) == 0 {
		return nil, nil // --id only tells which rows belong together
	}
	return &keptRows{names: names}, nil
}

// beside returns what is written beside the metrics of rows that a reader yields.
func (f *scoreRun) beside(j *job, r rowReader, info predictions.Info, l []metrics.RowMetric, kept *keptRows, paths []string) (*rowFile, error) {
	names := namesOf(l)
	b := &rowFile{kept: kept, labelled: info.Classes > 0 && j.read.Kind <= metrics.Dirichlet, weighted: info.Weighted,
		mark: predictions.RowMark{Format: predictions.RowFormat, Task: f.task, Rows: info.Rows, Input: j.read.Kind.String(), Renormalized: f.renormalize, Metrics: names}}
	if len(paths) == 0 {
		paths = f.columns.named()
	}
	if b.mark.Name = f.files.setNames(paths[:1])[0]; len(paths) > 1 {
		b.mark.Name += fmt.Sprintf(" and %d more", len(paths)-1)
	}
	if b.labelled {
		b.mark.Task, b.mark.Classes = "classification", info.Classes
		if info.Classes == 1 {
			b.mark.Task, b.mark.Classes = "binary", 2
		}
		var err error
		if b.mark.ClassNames, err = f.named(r, "classes"); err != nil {
			return nil, err
		}
	}
	if kept == nil {
		return b, nil
	}
	b.mark.Columns = kept.names
	for _, n := range kept.names {
		if slices.Contains(names, n) {
			return nil, usage("column %q is copied by --id or --keep, and it is also the name of a column that is computed; rename it in the table, or leave it out", n)
		}
	}
	var columns []predictions.Column
	if t, ok := r.(*predictions.ForecastReader); ok {
		columns = t.KeptColumns()
	} else {
		for _, n := range kept.names {
			columns = append(columns, predictions.Column{Name: n, Type: predictions.UntypedColumn})
		}
	}
	if err := kept.open(f.out, columns); err != nil {
		return nil, cannotWrite(f.out, err)
	}
	return b, nil
}

// place is where the value of a row stands in the file.
func (t *rowTable) place(plane int, row int64) int64 {
	return int64(len(t.head)) + (int64(len(t.metrics)+plane)*t.rows+row)*8
}

// note writes what is known of the rows of a chunk before they are used: their labels and weights, and that none has a decision yet.
func (t *rowTable) note(c *metrics.Chunk) {
	if t.beside.planes() == 0 {
		return
	}
	labels, decisions := make([]byte, 0, 8*c.Rows), make([]byte, 0, 8*c.Rows)
	for i := range c.Rows {
		y := int64(metrics.Ignored)
		if c.Labels != nil {
			y = int64(c.Labels[i])
		}
		labels = binary.LittleEndian.AppendUint64(labels, uint64(y))
		decisions = binary.LittleEndian.AppendUint64(decisions, math.MaxUint64) // -1
	}
	t.put(labels, t.place(labelsPlane, c.First))
	t.put(decisions, t.place(decisionsPlane, c.First))
	if t.beside.weighted {
		weights := make([]byte, 0, 8*c.Rows)
		for _, w := range c.Weights {
			weights = binary.LittleEndian.AppendUint64(weights, math.Float64bits(w))
		}
		t.put(weights, t.place(weightsPlane, c.First))
	}
}

// decide writes the decisions of rows [lo, hi) of a block, which are consecutive.
func (t *rowTable) decide(b *metrics.Block, buf []byte, lo, hi int) {
	decided := b.Decisions
	if decided == nil {
		decided = b.Stats.ArgMax
	}
	buf = buf[:0]
	for _, k := range decided[lo:hi] {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(int64(k)))
	}
	t.put(buf, t.place(decisionsPlane, b.Number(lo)))
}

// writeNPZ copies the values to w as .npz, with what is beside them.
func (t *rowTable) writeNPZ(w io.Writer) error {
	z := zip.NewWriter(w)
	begin := func(name string, head []byte) (io.Writer, error) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err == nil {
			_, err = f.Write(head)
		}
		return f, err
	}
	plane := func(name string, head []byte, number int) error {
		f, err := begin(name, head)
		if err == nil {
			_, err = io.Copy(f, io.NewSectionReader(t.file, t.place(number, 0), 8*t.rows))
		}
		return err
	}
	for i, m := range t.metrics {
		if err := plane(m.Name, t.head, i-len(t.metrics)); err != nil {
			return err
		}
	}
	integers := predictions.NPYColumnHeader(t.rows, predictions.Int64Column, 0)
	for i, name := range []string{predictions.RowLabelsArray, predictions.RowDecisionsArray, predictions.RowWeightsArray}[:t.beside.planes()] {
		head := integers
		if i == weightsPlane {
			head = t.head
		}
		if err := plane(name, head, i); err != nil {
			return err
		}
	}
	if k := t.beside.kept; k != nil {
		for i := range k.names {
			if err := k.writeNPY(begin, i, t.rows); err != nil {
				return err
			}
		}
	}
	mark, err := t.beside.mark.NPY()
	if err == nil {
		_, err = begin(predictions.RowMarkArray, mark)
	}
	if err != nil {
		return err
	}
	return z.Close()
}

// writeNPY writes a column as an array of a name that begin begins: whole numbers and numbers as such if no cell is missing, else texts.
func (k *keptRows) writeNPY(begin func(name string, head []byte) (io.Writer, error), column int, rows int64) error {
	cells := make([]predictions.Cells, len(k.names))
	each := func(visit func(n int, c *predictions.Cells) error) error {
		if err := k.settle(true); err != nil {
			return err
		}
		for done := int64(0); done < rows; {
			n, err := k.next(cells)
			if err == nil {
				err = visit(n, &cells[column])
			}
			if err != nil {
				return err
			}
			done += int64(n)
		}
		return nil
	}
	width, missing := 1, false
	err := each(func(n int, c *predictions.Cells) error {
		for i := range n {
			missing = missing || c.Missing != nil && c.Missing[i]
			width = max(width, utf8.RuneCount(textOf(c, k.as[column].Type, i)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	as := k.as[column].Type
	if missing && as != predictions.Float64Column && as != predictions.Float32Column {
		as = predictions.TextColumn
	}
	to, err := begin(k.names[column], predictions.NPYColumnHeader(rows, as, width))
	if err != nil {
		return err
	}
	var b []byte
	return each(func(n int, c *predictions.Cells) error {
		b = b[:0]
		for i := range n {
			none := c.Missing != nil && c.Missing[i]
			switch as {
			case predictions.Int64Column:
				b = binary.LittleEndian.AppendUint64(b, uint64(c.Int64[i]))
			case predictions.BoolColumn:
				b = append(b, oneIf(c.Bool[i]))
			case predictions.Float64Column:
				v := c.Float64[i]
				if none {
					v = math.NaN()
				}
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			case predictions.Float32Column:
				v := c.Float32[i]
				if none {
					v = float32(math.NaN())
				}
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			default:
				left := width
				for _, r := range string(textOf(c, k.as[column].Type, i)) {
					b = binary.LittleEndian.AppendUint32(b, uint32(r))
					left--
				}
				b = append(b, make([]byte, 4*left)...)
			}
		}
		_, err := to.Write(b)
		return err
	})
}

// textOf returns the text of a cell, which is empty if it is missing.
func textOf(c *predictions.Cells, t predictions.ColumnType, i int) []byte {
	if c.Missing != nil && c.Missing[i] {
		return nil
	}
	switch t {
	case predictions.Int64Column:
		return strconv.AppendInt(nil, c.Int64[i], 10)
	case predictions.BoolColumn:
		return strconv.AppendBool(nil, c.Bool[i])
	case predictions.Float64Column, predictions.Float32Column:
		return nil // is never written as text
	}
	return c.Text(i)
}
