package recal

import (
	"encoding/json"
	"errors"
)

// Matrix is matrix scaling: softmax(W z + b).
type Matrix struct {
	OffDiagonal float64 // weight of the mean square of W's elements off the diagonal; 0 is none
	Bias        float64 // weight of the mean square of b
}

func (m Matrix) String() string { return "matrix" }

func (m Matrix) Fit(d Data, o *Options) (Map, error) { return nil, errors.New("matrix is missing") }

func (m Matrix) with(option, value string) (Method, error) { return m, noOption(option) }

func (m Matrix) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return nil, errors.New("matrix is missing")
}
