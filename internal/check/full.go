package check

import "os"

// Full reports whether tests should leave nothing out: CANDOR_FULL is set to anything but the empty string. Without it
// a test takes every length, offset and kind of value once; with it, it takes their product and the large inputs too.
// -short asks for less than either.
func Full() bool { return os.Getenv("CANDOR_FULL") != "" }
