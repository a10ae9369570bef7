package predictions

import (
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestMain leaves garbage collection alone, which some tests measure.
func TestMain(m *testing.M) {
	check.FilesInMemory()
	m.Run()
}
