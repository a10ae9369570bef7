//go:build !unix

package main

import "time"

var begun = time.Now()

// cpuTime returns the time since the start, where that of the processor is not known.
func cpuTime() time.Duration { return time.Since(begun) }
