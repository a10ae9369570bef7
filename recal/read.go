package recal

import (
	"github.com/candor-go/candor/metrics"
)

// each reads the data once. Every goroutine calls newVisit once and hands its chunks, in no order among the goroutines, to what that
// returned; the chunks' slices are not to be kept. Rows are as they were when look checked them.
func each(d Data, o *Options, newVisit func() (visit func(*metrics.Chunk))) error {
	src, err := d.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	visits := make([]func(*metrics.Chunk), o.workers())
	for i := range visits {
		visits[i] = newVisit() // before there are goroutines, which a panic would leave behind
	}
	return metrics.Feed(src, visits...)
}
