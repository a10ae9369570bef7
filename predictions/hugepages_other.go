//go:build !linux

package predictions

// adviseHuge does nothing where pages cannot be asked for.
func adviseHuge([]byte) {}
