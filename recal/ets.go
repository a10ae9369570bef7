package recal

import (
	"encoding/json"
	"errors"
)

// ETS is ensemble temperature scaling: w1 softmax(z/T) + w2 softmax(z) + w3/K, with weights of at least 0 whose sum is 1.
type ETS struct {
}

func (m ETS) String() string { return "ets" }

func (m ETS) Fit(d Data, o *Options) (Map, error) { return nil, errors.New("ets is missing") }

func (m ETS) with(option, value string) (Method, error) { return m, noOption(option) }

func (m ETS) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return nil, errors.New("ets is missing")
}
