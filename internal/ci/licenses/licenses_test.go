package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLicenses(t *testing.T) {
	root := t.TempDir()
	write := func(name string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(root, "a", "b")
	m := module{path: "example.com/m", root: root, folders: map[string]bool{linked: true}}
	write("a/b/code.go")
	write("a/b/license.go")
	write("c/LICENSE") // of a package that is not linked
	if l, err := m.licenses(); err == nil || !strings.Contains(err.Error(), "example.com/m has no file with its license") {
		t.Errorf("%v, %v for a module without a license", l, err)
	}
	for _, name := range []string{"LICENSE", "NOTICE.txt", "LICENSES.md", "a/COPYING", "a/b/licence-mit"} {
		write(name)
	}
	want := []string{"LICENSE", "NOTICE.txt", "a/COPYING", "a/b/licence-mit"}
	if l, err := m.licenses(); err != nil || !slices.Equal(l, want) {
		t.Errorf("%q, %v; want %q", l, err, want)
	}
}

// What another tool says of the program's modules has to be in the text.
func TestAllModules(t *testing.T) {
	t.Chdir("../../..")
	var b strings.Builder
	if err := run(&b, []string{"linux/amd64"}); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "candor")
	if _, err := output([]string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0"}, "build", "-o", program, "./cmd/candor"); err != nil {
		t.Fatal(err)
	}
	says, err := output(nil, "version", "-m", program)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(says) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "dep" {
			continue
		}
		n++
		if !strings.Contains(b.String(), "\n"+f[1]+" "+f[2]+", ") {
			t.Errorf("no license of %s %s", f[1], f[2])
		}
	}
	if n < 10 {
		t.Errorf("the program has %d modules", n)
	}
}
