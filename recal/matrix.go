package recal

import (
	"encoding/json"
	"fmt"
	"math"
)

// Matrix is matrix scaling: softmax(W z + b), of the least mean NLL and penalties.
type Matrix struct {
	OffDiagonal float64 // weight of the mean square of W's elements off the diagonal; 0 is none
	Bias        float64 // weight of the mean square of b
}

func (m Matrix) String() string {
	return spelled("matrix", value("off_diagonal", m.OffDiagonal, 0), value("bias", m.Bias, 0))
}

// Fit finds the matrix and the biases by L-BFGS.
func (m Matrix) Fit(d Data, o *Options) (Map, error) {
	for _, v := range []float64{m.OffDiagonal, m.Bias} {
		if !(v >= 0 && v <= math.MaxFloat64) {
			return nil, fmt.Errorf("recal: a weight of %v: it is 0 or above", v)
		}
	}
	l := &linear{d: d, o: o, name: "matrix", full: true, off: m.OffDiagonal, bias: m.Bias}
	f, err := l.fit()
	if err != nil {
		return nil, err
	}
	return &MatrixMap{linearMap{fit: l.s.fit, kind: l.s.kind, method: m.String(), w: transposed(f.w, l.k), b: f.b, floor: l.floor,
		passes: f.passes, gradient: f.gradient}}, nil
}

func (m Matrix) with(option, v string) (Method, error) {
	var err error
	switch option {
	case "off_diagonal":
		m.OffDiagonal, err = readNumber(option, v, 0, math.MaxFloat64)
	case "bias":
		m.Bias, err = readNumber(option, v, 0, math.MaxFloat64)
	default:
		err = noOption(option, "off_diagonal", "bias")
	}
	return m, err
}

// MatrixMap is fitted by Matrix.
type MatrixMap struct{ linearMap }

// Matrix returns the rows of W: what is multiplied by the logits of a row to give the score of a class.
func (m *MatrixMap) Matrix() [][]float64 {
	k := len(m.b)
	w := transposed(m.w, k)
	rows := make([][]float64, k)
	for j := range rows {
		rows[j] = w[j*k : (j+1)*k : (j+1)*k]
	}
	return rows
}

type matrixFile struct {
	Matrix   [][]float64 `json:"matrix"`
	Biases   []float64   `json:"biases"`
	Floor    float64     `json:"floor"`
	Passes   int         `json:"passes"`
	Gradient float64     `json:"gradient"`
}

func (m *MatrixMap) parameters() any {
	return matrixFile{m.Matrix(), m.b, m.floor, m.passes, m.gradient}
}

func (m Matrix) decode(f Fit, parameters json.RawMessage) (Map, error) {
	var p matrixFile
	if err := strict(parameters, &p); err != nil {
		return nil, err
	}
	k := len(p.Matrix)
	l := linearMap{fit: f, method: m.String(), b: p.Biases, floor: p.Floor, passes: p.Passes, gradient: p.Gradient}
	l.w = make([]float64, k*k)
	for j, row := range p.Matrix {
		if len(row) != k {
			return nil, fmt.Errorf("the matrix of %d rows has one of %d numbers", k, len(row))
		}
		for i, v := range row {
			l.w[i*k+j] = v
		}
	}
	if err := l.check(k); err != nil {
		return nil, err
	}
	return &MatrixMap{l}, nil
}
