package recal

import (
	"encoding/json"
	"errors"
)

// Histogram is histogram binning: the probability of a bin becomes the frequency there.
type Histogram struct {
	Bins      int  // 0 means 15
	EqualMass bool // bins have as many rows each, equal scores together, in place of equal widths
	Empty     Empty
	TopLabel  bool
}

func (m Histogram) String() string { return "histogram" }

func (m Histogram) Fit(d Data, o *Options) (Map, error) {
	return nil, errors.New("histogram is missing")
}

func (m Histogram) with(option, value string) (Method, error) { return m, noOption(option) }

func (m Histogram) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return nil, errors.New("histogram is missing")
}

// Empty says what a probability in a bin without rows becomes.
type Empty uint8

const (
	Centre   Empty = iota // the bin's centre
	Identity              // itself
	Zero                  // 0, as markus93/NN_calibration has it
)
