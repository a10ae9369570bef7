package check

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// told is a test that only takes down what it is told.
type told struct {
	testing.TB
	errors []string
}

func (*told) Helper() {}

func (t *told) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

func TestGone(t *testing.T) {
	Gone(t)
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		<-stop
		close(stopped)
	}()
	var r told
	if gone(&r, 0); len(r.errors) != 1 || !strings.Contains(r.errors[0], "1 goroutines are left:\n") || !strings.Contains(r.errors[0], "TestGone.func1") {
		t.Errorf("%q of a goroutine that waits", r.errors)
	}
	close(stop)
	r = told{}
	if gone(&r, time.Minute); len(r.errors) > 0 {
		t.Errorf("%q of one that ends", r.errors)
	}
	<-stopped
}
