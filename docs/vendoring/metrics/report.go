// Package report shows a tool that uses candor's metrics and neither its files nor its command.
package report

import (
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

// Report is what a shard of predictions adds up to. Reports of shards merge exactly, in any order.
type Report struct {
	loss *score.Loss
	bins *calib.Bins
}

// New returns the report of no rows.
func New() *Report {
	return &Report{metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(nil))}
}

// Add reads probabilities of shape (len(labels), classes), row-major, once for all metrics. A row that cannot be used is an error, and
// then nothing is added.
func (r *Report) Add(probs []float32, classes int, labels []int32) error {
	p := &metrics.Predictions{Scores: metrics.Scores{F32: probs, Rows: len(labels), Classes: classes}, Labels: labels}
	return metrics.NewPass(nil, r.loss, r.bins).Add(p)
}

// Merge adds the rows of another report.
func (r *Report) Merge(o *Report) error {
	if err := r.loss.Merge(o.loss); err != nil {
		return err
	}
	return r.bins.Merge(o.bins)
}

// MarshalBinary returns a state of some kilobytes, whatever the number of rows: equal rows give equal bytes.
func (r *Report) MarshalBinary() ([]byte, error) {
	b, err := r.loss.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	return r.bins.AppendBinary(b)
}

func (r *Report) String() string {
	i := r.bins.Interval(0.95)
	return fmt.Sprintf("%d rows: NLL %.4f, Brier score %.4f, ECE %.4f [%.4f, %.4f]", r.loss.Len(), r.loss.NLL(), r.loss.Brier(score.BrierDefault),
		r.bins.ECE(), i.Low, i.High)
}
