package calib

import "github.com/candor-go/candor/metrics"

// Named maps names to functions that return the named errors with their bins.
var Named = map[string]func(*metrics.Predictions, *GeneralOptions) (*General, error){
	"ACE": of(aceOptions), "TACE": of(taceOptions), "EqualMassECE": of(equalMassOptions), "SweepECE": of(sweepOptions),
	"TopLabelConditional": of(topLabelOptions), "EqualCount": of(equalCountOptions), "QuantileECE": of(quantileOptions),
}

func of(f func(*GeneralOptions) GeneralOptions) func(*metrics.Predictions, *GeneralOptions) (*General, error) {
	return func(p *metrics.Predictions, o *GeneralOptions) (*General, error) {
		opt := f(o)
		return GeneralOf(p, &opt)
	}
}
