package recal

import (
	"encoding/json"
	"errors"
)

// Quantile is isotonic quantile recalibration (Kuleshov et al. 2018).
type Quantile struct {
	Levels []float64 // of the quantiles that Apply makes; nil means 0.05, 0.1, ..., 0.95
}

func (m Quantile) String() string { return "quantile" }

func (m Quantile) Fit(d Data, o *Options) (Map, error) { return nil, errors.New("quantile is missing") }

func (m Quantile) with(option, value string) (Method, error) { return m, noOption(option) }

func (m Quantile) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return nil, errors.New("quantile is missing")
}
