package recal

import (
	"encoding/json"
	"errors"
)

// Sigma multiplies the standard deviations of normal forecasts by one number, sqrt(mean ((y-mean)/sd)^2).
type Sigma struct {
	AsCoded bool // LaplaceRedux's code: sqrt(mean |y-mean|/sd^2)
}

func (m Sigma) String() string { return "sigma" }

func (m Sigma) Fit(d Data, o *Options) (Map, error) { return nil, errors.New("sigma is missing") }

func (m Sigma) with(option, value string) (Method, error) { return m, noOption(option) }

func (m Sigma) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return nil, errors.New("sigma is missing")
}
