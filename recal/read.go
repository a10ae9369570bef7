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
	visits := make([]func(*metrics.Chunk) error, o.workers())
	for i := range visits {
		visit := newVisit() // before any goroutine starts, so that a panic leaves none behind
		visits[i] = func(c *metrics.Chunk) error {
			visit(c)
			return nil
		}
	}
	return metrics.Feed(src, visits...)
}
