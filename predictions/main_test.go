package predictions

import (
	"runtime/debug"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

func TestMain(m *testing.M) { check.Main(m) }

// collected has garbage collected as in a program that leaves that alone, in a test that measures the heap.
func collected(t *testing.T) {
	percent := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
}
