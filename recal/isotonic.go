package recal

import (
	"encoding/json"
	"errors"
)

// Isotonic is isotonic regression: the rising step function of the score that is next to the outcomes, in squares.
type Isotonic struct {
	Interpolate bool // between the steps linearly, as scikit-learn does
	TopLabel    bool
}

func (m Isotonic) String() string { return "isotonic" }

func (m Isotonic) Fit(d Data, o *Options) (Map, error) { return nil, errors.New("isotonic is missing") }

func (m Isotonic) with(option, value string) (Method, error) { return m, noOption(option) }

func (m Isotonic) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return nil, errors.New("isotonic is missing")
}
