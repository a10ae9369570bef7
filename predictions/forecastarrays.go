package predictions

import (
	"io"

	"github.com/candor-go/candor/metrics"
)

// arrays reads forecasts of .npy files.
type arrays struct {
	*Reader
}

func (a *arrays) line(int64) int64 { return -1 }

// openArrays opens forecasts of .npy files. in is standard input, of which the beginning was looked at, if it is not nil.
func openArrays(paths []string, in io.Reader, o *ForecastOptions) (*ForecastReader, *Error) {
	b := newOpening(paths, &Options{Kind: o.Kind, Observed: o.Observations, Weights: o.Weights, FS: o.FS, Buffers: o.Buffers,
		BufferBytes: o.BufferBytes, NoLabels: o.Kind == metrics.Normals})
	r, e := b.open()
	if e != nil {
		closePipes(b.opened)
		return nil, e
	}
	return &ForecastReader{forecasts: &arrays{r}, info: r.Info(), levels: o.Levels, groups: newGroups(nil)}, nil
}
