package recal

import "github.com/candor-go/candor/metrics"

// Data are labelled predictions that a fit can read from the first row as often as it needs. Every Open yields the same rows with the same
// numbers.
type Data interface {
	Open() (Source, error)
}

// Source is one reading of Data.
type Source interface {
	metrics.Source
	Close() error
}

// OpenFunc is Data that a function opens.
type OpenFunc func() (Source, error)

// Open calls f.
func (f OpenFunc) Open() (Source, error) { return f() }

// InMemory returns predictions in memory as Data. They are read and never copied whole; their shapes are checked by the fit, as a
// metrics.Pass does.
func InMemory(p *metrics.Predictions) Data {
	return OpenFunc(func() (Source, error) { return &memory{metrics.InMemory(p), p}, nil })
}

type memory struct {
	metrics.Source
	p *metrics.Predictions
}

func (*memory) Close() error { return nil }
