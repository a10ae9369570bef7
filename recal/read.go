package recal

import (
	"slices"

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
			visit(counted(c))
			return nil
		}
	}
	return metrics.Feed(src, visits...)
}

// counted returns the chunk without the rows whose label is metrics.Ignored, which a fit must not look at.
func counted(c *metrics.Chunk) *metrics.Chunk {
	if !slices.Contains(c.Labels, metrics.Ignored) {
		return c
	}
	rows := make([]int32, 0, c.Rows)
	for i, y := range c.Labels {
		if y != metrics.Ignored {
			rows = append(rows, int32(i))
		}
	}
	return gathered(c, rows)
}
