package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestArchitecture holds the picture of rooms in docs/architecture.md to the imports: every import between rooms is a way in the
// picture, every arrow is an import of somebody, and every package of the library is in a room.
func TestArchitecture(t *testing.T) {
	root := tree(t)
	page, err := fs.ReadFile(root, "docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(page), "```mermaid\n")
	picture, _, _ = strings.Cut(picture, "```")
	in, arrows := map[string]string{}, map[[2]string]bool{} // the room of a package; whether an arrow is an import
	for _, m := range regexp.MustCompile(`(?m)^  (\w+)\["([^:]+): [^"]+"\]$`).FindAllStringSubmatch(picture, -1) {
		parent := ""
		for i, pkg := range strings.Split(m[2], ", ") {
			if i == 0 {
				parent = path.Dir(pkg)
			} else if !strings.Contains(pkg, "/") {
				pkg = path.Join(parent, pkg)
			}
			in[pkg] = m[1]
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+) --> (\w+)$`).FindAllStringSubmatch(picture, -1) {
		arrows[[2]string{m[1], m[2]}] = false
	}
	if len(in) < 10 || len(arrows) < 10 {
		t.Fatalf("%d packages and %d arrows were read", len(in), len(arrows))
	}
	var leads func(from, to string) bool
	leads = func(from, to string) bool {
		for a := range arrows {
			if a[0] == from && (a[1] == to || leads(a[1], to)) {
				return true
			}
		}
		return false
	}
	room := func(pkg string) string { return in[strings.TrimSuffix(pkg, "/internal")] }
	beside := []string{".", "bench/...", "fuzz/...", "internal/...", "metrics/internal/...", "metrics/eval/internal/...", "predictions/internal/...", "kernel/asm/internal/*"}
	_, _, err = walk(root, parser.ImportsOnly, func(_ *token.FileSet, file *ast.File, dir string, test bool) []finding {
		if test || matchAny(beside, dir) {
			return nil
		}
		if room(dir) == "" {
			t.Errorf("%s is in no room of docs/architecture.md", dir)
			return nil
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			from, to := room(dir), room(own(imported))
			switch {
			case own(imported) == "" || to == "" || from == to:
			case !leads(from, to):
				t.Errorf("%s imports %s, and no way of docs/architecture.md leads from %s to %s", dir, imported, from, to)
			default:
				if _, ok := arrows[[2]string{from, to}]; ok {
					arrows[[2]string{from, to}] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for a, used := range arrows {
		if !used {
			t.Errorf("docs/architecture.md has an arrow from %s to %s, which no import is", a[0], a[1])
		}
	}
	for pkg := range in {
		if files, err := fs.Glob(root, path.Join(pkg, "*.go")); err != nil || len(files) == 0 {
			t.Errorf("docs/architecture.md has %s, which is no package", pkg)
		}
	}
}
