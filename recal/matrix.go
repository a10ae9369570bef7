package recal

import (
	"encoding/json"
	"fmt"
	"math"
)

// Matrix is matrix scaling: softmax(W z + b), with a K by K matrix of factors and a bias for each class. They minimise the
// mean NLL plus the penalties
//
//	OffDiagonal * mean of W_ij^2 over i != j  +  Bias * mean of b_i^2
//
// which are 0 by default; with both it is the ODIR of Kull et al. The arg max may change. Dirichlet is the same of log-probabilities.
//
// Logits, rows left out, L-BFGS and errors are as for Vector, with these differences. In the scores of other classes, a
// class without probability counts with the logarithm of the smallest positive probability of the scores' type (-103.28 for
// float32, -744.44 for float64). For LogProbs it is the lowest given logarithm, if that is lower; for logits it is relative
// to the row's largest. A penalty of b bounds the biases. If scores can separate labels there is no best map without
// penalties, which is common with fewer than K*(K+1) rows; the error says so. The diagonal has no penalty, so there may be
// none with penalties either. A constant row added to all rows of W, or a constant added to all biases, changes no
// probability; these are chosen to minimise the penalties, or without penalties so that the means are 0.
//
// A pass takes 4*K*K operations per row. A fit holds about 20 matrices of the size of W, two more for each thread, and up to
// 256 MiB of steps.
//
// A file has the parameters matrix, by rows; biases; floor, what a class without probability counts in other scores; passes;
// and gradient.
//
// Guo, Pleiss, Sun, Weinberger: On calibration of modern neural networks (2017). Kull, Perello-Nieto, Kaengsepp, Silva
// Filho, Song, Flach: Beyond temperature scaling (2019).
type Matrix struct {
	OffDiagonal float64 // weight of the mean square of W's off-diagonal elements; 0 means no penalty
	Bias        float64 // weight of the mean square of b; 0 means no penalty
}

func (m Matrix) String() string {
	return spelled("matrix", value("off_diagonal", m.OffDiagonal, 0), value("bias", m.Bias, 0))
}

// Fit returns a *MatrixMap.
func (m Matrix) Fit(d Data, o *Options) (Map, error) {
	return fitMatrix(&linear{d: d, o: o, name: "matrix", full: true, off: m.OffDiagonal, bias: m.Bias}, m)
}

// fitMatrix fits what m asks for.
func fitMatrix(l *linear, m Method) (Map, error) {
	for _, v := range []float64{l.off, l.bias} {
		if !(v >= 0 && v <= math.MaxFloat64) {
			return nil, fmt.Errorf("a weight of %v: it is 0 or above", v)
		}
	}
	f, err := l.fit()
	if err != nil {
		return nil, err
	}
	return &MatrixMap{linearMap{fit: l.s.fit, kind: l.s.kind, method: m.String(), w: transposed(f.w, l.k), b: f.b, floor: l.floor, normal: l.normal,
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

// MatrixMap is a map fitted by Matrix or Dirichlet.
type MatrixMap struct{ linearMap }

// Matrix returns the rows of W. The dot product of row j with the logits of a row is, up to the bias, the score of class j.
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
	return decodeMatrix(m, f, parameters, false)
}

func decodeMatrix(m Method, f Fit, parameters json.RawMessage, normal bool) (Map, error) {
	var p matrixFile
	if err := strict(parameters, &p); err != nil {
		return nil, err
	}
	k := len(p.Matrix)
	l := linearMap{fit: f, method: m.String(), b: p.Biases, floor: p.Floor, normal: normal, passes: p.Passes, gradient: p.Gradient}
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
