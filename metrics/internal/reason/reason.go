// Package reason has the texts that several families of metrics give for an answer, or an interval, that does not exist.
package reason

const (
	NoRows   = "no rows"
	OneRow   = "a single row has no spread"
	Weighted = "with weights the variance under calibration is sum w^2 p(1-p), which is not kept"
	Outside  = "scores outside [0,1] are no probabilities"
)
