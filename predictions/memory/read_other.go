//go:build !linux

package memory

import "errors"

// read is for Linux.
func read([]byte, int, uint64) error { return errors.ErrUnsupported }
