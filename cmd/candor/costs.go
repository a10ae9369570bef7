package main

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/score"
)

// checkCosts sets the costs of a spec from --costs, in the order of its classes.
func (f *evalFlags) checkCosts(s *eval.Spec) error {
	if f.costs == "" {
		for _, m := range s.Metrics {
			if m.Name == "decision_cost" || m.Name == "constant_cost" {
				return usage("%s needs a cost matrix; pass --costs FILE to candor eval", m.Name)
			}
		}
		return nil
	}
	wrong := func(err error) error {
		return fault(f.files.call(f.costs), "give a matrix of costs: a row for each true class, a column for each decision", "%v", err)
	}
	if f.costing == nil { // a pipe can be read only once
		file, err := readCosts(f.costs)
		if err != nil {
			return wrong(err)
		}
		f.costing = file
	}
	rows, err := f.costing.order(s.Names)
	if err != nil {
		return wrong(err)
	}
	m := &score.CostMatrix{Classes: len(rows), Decisions: len(rows[0]), Cost: slices.Concat(rows...)}
	if err := m.Check(); err != nil {
		return wrong(err)
	}
	if k := max(2, s.Classes); m.Classes != k {
		return wrong(fmt.Errorf("it has %d rows, and there are %d classes", m.Classes, k))
	}
	s.Costs = m
	return nil
}

// costFile is what a file of costs holds; Classes and Decisions are nil if it names none.
type costFile struct {
	Classes   []string    `json:"classes"`
	Decisions []string    `json:"decisions"`
	Costs     [][]float64 `json:"costs"`
}

// readCosts reads a file by what it begins with: an array as NumPy saves it, JSON, or else CSV.
func readCosts(path string) (*costFile, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &costFile{}
	switch text := bytes.TrimSpace(b); {
	case bytes.HasPrefix(b, []byte("\x93NUMPY")):
		err = c.npy(b)
	case bytes.HasPrefix(text, []byte("[")), bytes.HasPrefix(text, []byte("{")):
		err = c.json(b)
	default:
		err = c.csv(b)
	}
	if err != nil {
		return nil, err
	}
	if len(c.Costs) == 0 || len(c.Costs[0]) == 0 {
		return nil, fmt.Errorf("it has no costs")
	}
	for i, row := range c.Costs {
		if len(row) != len(c.Costs[0]) {
			return nil, fmt.Errorf("row %d has %d costs, and row 0 has %d", i, len(row), len(c.Costs[0]))
		}
	}
	for what, l := range map[string][2]int{"classes": {len(c.Classes), len(c.Costs)}, "decisions": {len(c.Decisions), len(c.Costs[0])}} {
		if l[0] > 0 && l[0] != l[1] {
			return nil, fmt.Errorf("it names %d %s, and has costs of %d", l[0], what, l[1])
		}
	}
	for i, n := range c.Classes {
		if slices.Index(c.Classes, n) != i {
			return nil, fmt.Errorf("class %q is there twice", n)
		}
	}
	return c, nil
}

// csv reads numbers only, or a header of decisions with a first column of classes.
func (c *costFile) csv(b []byte) error {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))))
	r.TrimLeadingSpace, r.FieldsPerRecord = true, -1
	lines, err := r.ReadAll()
	if err != nil {
		return err
	}
	named := false
	if len(lines) > 0 {
		for _, v := range lines[0] {
			if _, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err != nil {
				named = true
			}
		}
	}
	if named {
		c.Decisions, lines = lines[0][1:], lines[1:]
	}
	for i, l := range lines {
		if named {
			c.Classes, l = append(c.Classes, strings.TrimSpace(l[0])), l[1:]
		}
		row := make([]float64, len(l))
		for j, v := range l {
			if row[j], err = strconv.ParseFloat(strings.TrimSpace(v), 64); err != nil {
				return fmt.Errorf("row %d, column %d is %q, which is not a number; a .csv of costs has numbers only, or a first line of decisions and a first column of classes", i, j, v)
			}
		}
		c.Costs = append(c.Costs, row)
	}
	return nil
}

// json reads rows of numbers, or an object with them and with names.
func (c *costFile) json(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if strings.HasPrefix(strings.TrimSpace(string(b)), "[") {
		return d.Decode(&c.Costs)
	}
	return d.Decode(c)
}

var npyHeader = regexp.MustCompile(`'descr': *'[<|]([fi])([1248])'.*'fortran_order': *False.*'shape': *\((\d+), *(\d+),? *\)`)

// npy reads an array (classes, decisions) of floats or integers.
func (c *costFile) npy(b []byte) error {
	const shape = "it is no array (classes, decisions) of floats or integers, little-endian and in C order"
	if len(b) < 12 {
		return fmt.Errorf("%s", shape)
	}
	at, n := 10, int(binary.LittleEndian.Uint16(b[8:]))
	if b[6] > 1 {
		at, n = 12, int(binary.LittleEndian.Uint32(b[8:]))
	}
	if n < 0 || n > len(b)-at {
		return fmt.Errorf("it ends within its header")
	}
	h := npyHeader.FindSubmatch(b[at : at+n])
	if h == nil {
		return fmt.Errorf("%s", shape)
	}
	size := int(h[2][0] - '0')
	rows, err := strconv.Atoi(string(h[3]))
	if err != nil {
		return err
	}
	columns, err := strconv.Atoi(string(h[4]))
	if err != nil {
		return err
	}
	if b = b[at+n:]; columns < 1 || rows > len(b)/size/columns || rows*columns*size != len(b) {
		return fmt.Errorf("its shape is (%d, %d), and it has %d bytes of numbers", rows, columns, len(b))
	}
	for range rows {
		row := make([]float64, columns)
		for j := range row {
			switch string(h[1]) + string(h[2]) {
			case "f4":
				row[j] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
			case "f8":
				row[j] = math.Float64frombits(binary.LittleEndian.Uint64(b))
			case "i1":
				row[j] = float64(int8(b[0]))
			case "i2":
				row[j] = float64(int16(binary.LittleEndian.Uint16(b)))
			case "i4":
				row[j] = float64(int32(binary.LittleEndian.Uint32(b)))
			case "i8":
				row[j] = float64(int64(binary.LittleEndian.Uint64(b)))
			default:
				return fmt.Errorf("%s", shape)
			}
			b = b[size:]
		}
		c.Costs = append(c.Costs, row)
	}
	return nil
}

// order returns the rows in the order of the classes of the predictions, if the file names them. Without names there, they are the numbers from 0.
func (c *costFile) order(names []string) ([][]float64, error) {
	if c.Classes == nil {
		return c.Costs, nil
	}
	if names == nil {
		for i := range c.Classes {
			names = append(names, strconv.Itoa(i))
		}
	}
	rows := make([][]float64, len(names))
	for i, n := range names {
		at := slices.Index(c.Classes, n)
		if at < 0 {
			return nil, fmt.Errorf("it has no row for class %q; its classes are %s", n, strings.Join(c.Classes, ", "))
		}
		rows[i] = c.Costs[at]
	}
	if len(c.Classes) != len(names) {
		return nil, fmt.Errorf("it names %d classes, and there are %d", len(c.Classes), len(names))
	}
	return rows, nil
}
