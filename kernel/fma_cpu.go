//go:build !(386 || mips || mipsle || mips64 || mips64le || wasm)

package kernel

import "math"

// fma64 is math.FMA.
func fma64(x, y, z float64) float64 { return math.FMA(x, y, z) }
