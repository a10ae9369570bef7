package predictions

import (
	"runtime/debug"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

func TestMain(m *testing.M) { check.Main(m) }

// collected sets garbage collection to its default, for a test that measures the heap.
func collected(t *testing.T) {
	percent := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
}
