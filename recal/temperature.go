package recal

import (
	"encoding/json"
	"errors"
)

// Temperature divides logits by one number T > 0 for all rows: softmax(z/T), of a binary task sigmoid(z/T). T is the one of the least
// mean NLL. The arg max and the order of a row's classes stay.
type Temperature struct {
}

func (m Temperature) String() string { return "temperature" }

func (m Temperature) Fit(d Data, o *Options) (Map, error) {
	return nil, errors.New("temperature is missing")
}

func (m Temperature) with(option, value string) (Method, error) { return m, noOption(option) }

func (m Temperature) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return nil, errors.New("temperature is missing")
}
