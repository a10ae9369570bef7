package check

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// Gone waits until no goroutine runs that code of this module has started, and fails the test if one still does after a minute: it
// waits for something that will not come. Only the slowest machine takes more than an instant. Parallel tests are not for it.
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
	for n == len(buf) { // which may be cut off
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
