package check

import (
	"runtime/debug"
	"testing"
)

// Main is a TestMain that runs the garbage collector a quarter as often: tests allocate large values that live briefly.
// Temporary files are kept in memory if the system has a folder for that.
func Main(m *testing.M) {
	debug.SetGCPercent(400)
	FilesInMemory()
	m.Run()
}
