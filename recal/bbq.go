package recal

import (
	"encoding/json"
	"errors"
)

// BBQ is Bayesian binning into quantiles.
type BBQ struct {
	Prune    bool // keep only the models before the elbow of their weights
	TopLabel bool
}

func (m BBQ) String() string { return "bbq" }

func (m BBQ) Fit(d Data, o *Options) (Map, error) { return nil, errors.New("bbq is missing") }

func (m BBQ) with(option, value string) (Method, error) { return m, noOption(option) }

func (m BBQ) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return nil, errors.New("bbq is missing")
}
