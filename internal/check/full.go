package check

import (
	"os"
	"testing"
)

// Full reports whether tests should leave nothing out: the environment variable CANDOR_FULL is set and not empty. Without it
// a test tries every length, offset and kind of value once; with it, their product and the large inputs too. -short asks for
// less than either.
func Full() bool { return os.Getenv("CANDOR_FULL") != "" }

// Size returns the size of a test: short with -short, full if nothing is left out, else usual.
func Size(short, usual, full int) int {
	switch {
	case Full():
		return full
	case testing.Short():
		return short
	}
	return usual
}
