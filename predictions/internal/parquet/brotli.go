//go:build !js

package parquet

import (
	"io"

	"github.com/andybalholm/brotli"
)

// newBrotli decompresses a stream.
var newBrotli = func(r io.Reader) io.Reader { return brotli.NewReader(r) }
