package check

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// Gone waits until no goroutine started by code of this module is running. It fails the test if one still is after a minute,
// since that waits for something that will not come. Usually it takes an instant. It is not for parallel tests.
func Gone(t testing.TB) {
	t.Helper()
	gone(t, time.Minute)
}

func gone(t testing.TB, limit time.Duration) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		left := started()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("check.Gone: %d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
			return
		}
	}
}

// started returns the stacks of the goroutines that code of this module has started.
func started() (stacks []string) {
	buf := make([]byte, 1<<16)
	n := runtime.Stack(buf, true)
	for n == len(buf) { // may be truncated
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	for s := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		if strings.Contains(s, "\ncreated by github.com/candor-go/candor/") {
			stacks = append(stacks, s)
		}
	}
	return stacks
}
