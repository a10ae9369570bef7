package memory

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

func nameOf(pid int, header string, b []byte) string {
	return fmt.Sprintf("/proc/%d/mem/%d/%d/%s/0", pid, uintptr(unsafe.Pointer(unsafe.SliceData(b))), len(b), base64.RawURLEncoding.EncodeToString([]byte(header)))
}

func child(t *testing.T, name string) ([]byte, error) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "CANDOR_MEMORY_NAME="+name)
	return c.Output()
}

// TestRead: another process reads the header and the bytes.
func TestRead(t *testing.T) {
	for _, n := range []int{0, 1, 4096, 3<<20 + 17} {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i * 7 >> 3)
		}
		got, err := child(t, nameOf(os.Getpid(), "head?>", b))
		runtime.KeepAlive(b)
		if err != nil || !bytes.Equal(got, append([]byte("head?>"), b...)) {
			t.Errorf("%d bytes: %d read, %v", n, len(got), err)
		}
	}
}

// TestRefused: memory that is not there, or that of a process which is not the one that started the reader, is an error that says so.
func TestRefused(t *testing.T) {
	b := make([]byte, 100)
	for name, want := range map[string]string{
		nameOf(os.Getpid(), "", nil):                         "",
		fmt.Sprintf("/proc/%d/mem/4096/100//1", os.Getpid()): Refused,
		fmt.Sprintf("/proc/%d/mem/8/100//1", os.Getpid()):    Refused,
		nameOf(os.Getppid(), "", b):                          "the process that has the array has ended, or is not the parent of candor",
		nameOf(1<<22+1, "", b):                               "the process that has the array has ended, or is not the parent of candor",
	} {
		_, err := child(t, name)
		exit := (*exec.ExitError)(nil)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.As(err, &exit) || !strings.Contains(string(exit.Stderr), want) || !strings.Contains(string(exit.Stderr), Refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
