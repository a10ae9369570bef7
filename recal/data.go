package recal

import "github.com/candor-go/candor/metrics"

// Data is a set of labelled predictions that a fit can read repeatedly. Every Open yields the same rows with the same
// numbers.
type Data interface {
	Open() (Source, error)
}

// Source is one reading of Data.
type Source interface {
	metrics.Source
	Close() error
}

// OpenFunc is a function that implements Data.
type OpenFunc func() (Source, error)

// Open calls f.
func (f OpenFunc) Open() (Source, error) { return f() }

// InMemory returns predictions in memory as Data. They are only read, and never copied as a whole. The fit checks their
// shapes, as a metrics.Pass does.
func InMemory(p *metrics.Predictions) Data {
	return OpenFunc(func() (Source, error) { return &memory{metrics.InMemory(p), p}, nil })
}

type memory struct {
	metrics.Source
	p *metrics.Predictions
}

func (*memory) Close() error { return nil }
