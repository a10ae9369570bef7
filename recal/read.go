package recal

import (
	"github.com/candor-go/candor/metrics"
)

// each reads the data once. Every goroutine calls newVisit once and passes chunks to the result; the order of chunks is
// undefined, and their slices must not be kept. Rows are as look has checked them.
func each(d Data, o *Options, newVisit func() (visit func(*metrics.Chunk))) error {
	src, err := d.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	visits := make([]func(*metrics.Chunk), o.workers())
	for i := range visits {
		visits[i] = newVisit() // before any goroutine starts, so that a panic leaves none behind
	}
	return metrics.Feed(src, visits...)
}
