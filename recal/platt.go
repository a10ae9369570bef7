package recal

import (
	"encoding/json"
	"errors"
)

// Platt is sigmoid(a z + b) of the logit z.
type Platt struct {
	Smoothed bool // targets (N+ + 1)/(N+ + 2) and 1/(N- + 2) in place of 1 and 0
	TopLabel bool
}

func (m Platt) String() string { return "platt" }

func (m Platt) Fit(d Data, o *Options) (Map, error) { return nil, errors.New("platt is missing") }

func (m Platt) with(option, value string) (Method, error) { return m, noOption(option) }

func (m Platt) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return nil, errors.New("platt is missing")
}
