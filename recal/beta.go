package recal

import (
	"encoding/json"
	"errors"
)

// Beta is beta calibration: sigmoid(a ln p - b ln(1-p) + c), a and b not below 0.
type Beta struct {
	TopLabel bool
}

func (m Beta) String() string { return "beta" }

func (m Beta) Fit(d Data, o *Options) (Map, error) { return nil, errors.New("beta is missing") }

func (m Beta) with(option, value string) (Method, error) { return m, noOption(option) }

func (m Beta) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return nil, errors.New("beta is missing")
}
