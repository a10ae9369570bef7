package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is the command as its users have it, built once for all tests, in a folder that is removed after the last one.
var built = sync.OnceValues(func() (bin string, err error) {
	dir, err := os.MkdirTemp("", "candor-test-")
	if err != nil {
		return "", err
	}
	bin = filepath.Join(dir, "candor")
	removeBuilt = func() { os.RemoveAll(dir) }
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %v\n%s", err, out)
	}
	return bin, nil
})

// removeBuilt removes what built has made.
var removeBuilt = func() {}

// build returns the path of the command.
func build(t *testing.T) string {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}
