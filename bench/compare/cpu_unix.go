//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time that this process has taken.
func cpuTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // it cannot fail for the process itself
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
