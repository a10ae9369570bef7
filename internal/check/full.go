package check

import (
	"os"
	"testing"
)

// Full reports whether tests should leave nothing out: CANDOR_FULL is set to anything but the empty string. Without it
// a test takes every length, offset and kind of value once; with it, it takes their product and the large inputs too.
// -short asks for less than either.
func Full() bool { return os.Getenv("CANDOR_FULL") != "" }

// Size returns how many of something a test takes: the first number with -short, the last where nothing is left out, and else the
// one between them.
func Size(short, usual, full int) int {
	switch {
	case Full():
		return full
	case testing.Short():
		return short
	}
	return usual
}
