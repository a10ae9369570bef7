package recal

import (
	"encoding/json"
	"errors"
)

// Vector is vector scaling: softmax(w*z + b), with a factor and a bias for each class.
type Vector struct {
}

func (m Vector) String() string { return "vector" }

func (m Vector) Fit(d Data, o *Options) (Map, error) { return nil, errors.New("vector is missing") }

func (m Vector) with(option, value string) (Method, error) { return m, noOption(option) }

func (m Vector) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return nil, errors.New("vector is missing")
}
