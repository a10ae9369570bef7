package check

import (
	"runtime/debug"
	"testing"
)

// Main runs a package's tests, as its TestMain, with a fourth of the garbage collection: what tests make is large and soon gone, and
// little of it lives at a time. Their temporary files lie in memory where the system has a folder for such.
func Main(m *testing.M) {
	debug.SetGCPercent(400)
	FilesInMemory()
	m.Run()
}
