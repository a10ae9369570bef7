package file

import (
	"testing"

	"github.com/candor-go/candor/internal/check"
)

func TestMain(m *testing.M) { check.Main(m) }
