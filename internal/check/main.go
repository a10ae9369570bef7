package check

import (
	"os"
	"runtime/debug"
	"testing"
)

// Main runs a package's tests with less frequent collections, and with files in memory where the system offers that. With the environment
// variable CANDOR_STORM set, signals and collections come all the time while they run.
func Main(m *testing.M) {
	debug.SetGCPercent(400)
	FilesInMemory()
	end := func() {}
	if os.Getenv("CANDOR_STORM") != "" {
		end = storm()
	}
	m.Run()
	end()
}
