package regress_test

import (
	"os"
	"testing"
)

// realSets returns the folder of real predictions, which are too large for the repository or not free to be in it. It skips
// the test if there is none.
func realSets(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	return dir
}
