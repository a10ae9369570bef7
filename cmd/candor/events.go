package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
)

// certain counts the rows of a binary task for which one column states a certain event although the map does not, or as a
// logit that readers do not accept.
type certain struct {
	mu    sync.Mutex
	rows  int64
	first int64
}

func (c *certain) add(row int64) {
	if c.rows == 0 || row < c.first {
		c.first = row
	}
	c.rows++
}

// events writes the results of the map for a chunk of a binary task. Whether one column suffices is known only after all
// rows. Until then the scores of class 0 for two columns are stored behind the first.
func (m *mapper) events(c *metrics.Chunk) {
	one := metrics.Scores{Rows: c.Rows, Classes: 1}
	two := metrics.Scores{Rows: c.Rows, Classes: 2}
	if m.dtype == metrics.Float64 {
		one.F64, two.F64 = make([]float64, c.Rows), make([]float64, 2*c.Rows)
	} else {
		one.F32, two.F32 = make([]float32, c.Rows), make([]float32, 2*c.Rows)
	}
	m.applyAs(&one, &c.Scores, c.Kind)
	m.applyAs(&two, &c.Scores, c.Kind)
	if m.dtype == metrics.Float64 {
		putEvents(m, c.First, one.F64, two.F64)
	} else {
		putEvents(m, c.First, one.F32, two.F32)
	}
}

func putEvents[T float32 | float64](m *mapper, first int64, one, two []T) {
	var rows []int64
	for i, v := range one {
		if zero := float64(two[2*i]); m.saysCertain(float64(v), zero) {
			rows = append(rows, first+int64(i))
		}
	}
	if rows != nil {
		m.certain.mu.Lock()
		for _, r := range rows {
			m.certain.add(r)
		}
		m.certain.mu.Unlock()
	}
	size := int64(m.dtype.Size())
	if m.width == 2 {
		if m.event == 0 {
			for i := 0; i < len(two); i += 2 {
				two[i], two[i+1] = two[i+1], two[i]
			}
		}
		m.put(predictions.NPYData(two), int64(len(m.head))+2*size*first)
		return
	}
	if m.out != nil { // the rows are not counted yet, so nothing can be behind them
		for i, v := range one {
			two[2*i+1] = v
		}
		m.put(predictions.NPYData(two), int64(len(m.head))+2*size*first)
		return
	}
	m.put(predictions.NPYData(one), int64(len(m.head))+size*first)
	zeros := one
	for i := range zeros {
		zeros[i] = two[2*i]
	}
	m.put(predictions.NPYData(zeros), int64(len(m.head))+size*(m.rows+first))
}

// saysCertain reports whether one column states a certain event although with two columns class 0 keeps something.
func (m *mapped) saysCertain(one, zero float64) bool {
	switch m.as {
	case metrics.Logits:
		return math.IsInf(one, 1)
	case metrics.LogProbs:
		return one == 0 && !math.IsInf(zero, -1)
	}
	return one == 1 && zero > 0
}

// settle turns what events has written into one column or two.
func (m *mapped) settle(c *cobra.Command, path string) error {
	if m.certain.rows > 0 && (m.width == 1 || m.as == metrics.Probs) {
		m.tell(c, path)
	}
	switch {
	case m.width == 2:
		return nil
	case m.certain.rows == 0:
		return m.file.Truncate(int64(len(m.head)) + int64(m.dtype.Size())*m.rows)
	}
	return m.widen(path)
}

// tell reports the rows that one column cannot represent.
func (m *mapped) tell(c *cobra.Command, path string) {
	rows := fmt.Sprintf("%s rows, the first is row %d", report.Count(m.certain.rows), m.certain.first)
	if m.certain.rows == 1 {
		rows = fmt.Sprintf("row %d", m.certain.first)
	}
	what := fmt.Sprintf("%s rounds the probability to 1, and the map does not, in %s", m.dtype, rows)
	if m.as == metrics.Logits {
		what = "the map is certain of the event, whose logit is infinite, in " + rows
	}
	column := fmt.Sprintf("column %d", 1-m.eventColumn())
	if m.out != nil {
		column = "column " + strconv.Quote(m.pair[1-m.eventColumn()])
	}
	switch {
	case m.width != 1:
	case m.out != nil:
		what += fmt.Sprintf(": two columns are written, %q and %q", m.pair[0], m.pair[1])
	default:
		what += ": two columns are written, (N, 2)"
	}
	if m.as == metrics.Probs {
		what += fmt.Sprintf("; %s has what is left of 1, which candor eval takes with --task classification alone; --as logits keeps it", column)
	}
	if path != "-" {
		what = visible.Text(path) + ": " + what
	}
	warn(c, "%s", what)
}

// eventColumn returns the column of the event among two.
func (m *mapped) eventColumn() int {
	if m.width == 2 {
		return m.event
	}
	return 1
}

// widen builds an array of two columns from the event's scores and those of class 0, which are stored behind them.
func (m *mapped) widen(path string) error {
	a, err := newArrayFile(path, []int64{m.rows, 2}, m.dtype)
	if err != nil {
		return err
	}
	old := m.arrayFile
	defer old.remove()
	m.arrayFile = a
	const step = 1 << 16
	size := m.dtype.Size()
	one, zero, two := make([]byte, size*step), make([]byte, size*step), make([]byte, 2*size*step)
	for at := int64(0); at < m.rows; at += step {
		n := size * int(min(step, m.rows-at))
		for i, part := range [][]byte{one[:n], zero[:n]} {
			if _, err := old.file.ReadAt(part, int64(len(old.head))+int64(size)*(int64(i)*m.rows+at)); err != nil {
				return err
			}
		}
		for i := 0; i < n; i += size {
			event := one[i:][:size]
			if m.as == metrics.Logits && infinite(event) {
				event = make([]byte, size) // 0 beside -Inf
			}
			copy(two[2*i:], zero[i:][:size])
			copy(two[2*i+size:], event)
		}
		a.put(two[:2*n], int64(len(a.head))+2*int64(size)*at)
	}
	return a.failure()
}

// infinite reports whether the bytes of a number in an .npy are those of +Inf.
func infinite(b []byte) bool {
	if len(b) == 4 {
		return math.IsInf(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 1)
	}
	return math.IsInf(math.Float64frombits(binary.LittleEndian.Uint64(b)), 1)
}
