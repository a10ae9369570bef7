package parquet

import "io"

// newBrotli is nil: the package would link net/http.
var newBrotli func(io.Reader) io.Reader
