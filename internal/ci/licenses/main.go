// Command licenses prints the licenses of all that is linked into the command, besides candor's own: a program that contains other
// people's work has to come with their texts.
//
//	licenses [SYSTEM...]   for these systems, as linux/amd64, or for all of a release
package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var released = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64", "js/wasm"}

// chosen is the license's file where a module offers several and its LICENSE only says so.
var chosen = map[string]string{"github.com/golang/freetype": "licenses/ftl.txt"}

func main() {
	systems := os.Args[1:]
	if len(systems) == 0 {
		systems = released
	}
	w := bufio.NewWriter(os.Stdout)
	if err := errors.Join(run(w, systems), w.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

// text is a file's text with LF at the ends of lines. What is not UTF-8 is taken for ISO 8859-1.
func text(b []byte) string {
	s := string(b)
	if !utf8.Valid(b) {
		r := make([]rune, len(b))
		for i, c := range b {
			r[i] = rune(c)
		}
		s = string(r)
	}
	return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
}

// A module, with the folders of those of its packages that are linked.
type module struct {
	path, version, root string
	folders             map[string]bool
}

func run(w io.Writer, systems []string) error {
	modules, err := linked(systems)
	if err != nil {
		return err
	}
	goroot, err := output(nil, "env", "GOROOT")
	if err != nil {
		return err
	}
	version, err := output(nil, "env", "GOVERSION")
	if err != nil {
		return err
	}
	goroot = strings.TrimSpace(goroot)
	modules = append(modules, module{path: "Go's standard library", version: strings.TrimSpace(version), root: goroot, folders: map[string]bool{goroot: true}})
	fmt.Fprintln(w, "The candor program contains these works, under these licenses.")
	for _, m := range modules {
		texts, err := m.licenses()
		if err != nil {
			return err
		}
		for _, t := range texts {
			b, err := os.ReadFile(filepath.Join(m.root, t))
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "\n%s\n%s %s, %s\n\n%s\n", strings.Repeat("=", 100), m.path, m.version, filepath.ToSlash(t), text(b))
		}
	}
	return nil
}

// linked returns the modules other than candor's that have a linked package on one of the systems, by their paths.
func linked(systems []string) ([]module, error) {
	found := map[string]*module{}
	for _, s := range systems {
		goos, goarch, _ := strings.Cut(s, "/")
		list, err := output([]string{"GOOS=" + goos, "GOARCH=" + goarch, "CGO_ENABLED=0"}, "list", "-deps",
			"-f", "{{$d := .Dir}}{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$d}}{{end}}{{end}}", "./cmd/candor")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(list) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if len(f) != 4 {
				continue // of candor or the standard library
			}
			if found[f[0]] == nil {
				found[f[0]] = &module{path: f[0], version: f[1], root: f[2], folders: map[string]bool{}}
			}
			found[f[0]].folders[f[3]] = true
		}
	}
	var l []module
	for _, m := range found {
		l = append(l, *m)
	}
	slices.SortFunc(l, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return l, nil
}

var isLicense = regexp.MustCompile(`(?i)^((UN)?LICEN[SC]E|COPYING|NOTICE|PATENTS)([-.].*)?$`)

// licenses returns the files' names, below the root, of the licenses of the linked packages.
func (m *module) licenses() ([]string, error) {
	names := map[string]bool{}
	if name := chosen[m.path]; name != "" {
		names[name] = true
	}
	for dir := range m.folders {
		for ; ; dir = filepath.Dir(dir) {
			l, err := os.ReadDir(dir)
			if err != nil {
				return nil, err
			}
			for _, e := range l {
				if e.Type().IsRegular() && isLicense.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
					name, err := filepath.Rel(m.root, filepath.Join(dir, e.Name()))
					if err != nil {
						return nil, err
					}
					names[name] = true
				}
			}
			if dir == m.root {
				break
			}
			if len(dir) < len(m.root) {
				return nil, fmt.Errorf("%s is not below %s: %w", dir, m.root, fs.ErrInvalid)
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no file with its license in %s", m.path, m.root)
	}
	l := make([]string, 0, len(names))
	for name := range names {
		l = append(l, name)
	}
	slices.Sort(l)
	return l, nil
}

// output runs Go and returns what it prints.
func output(env []string, words ...string) (string, error) {
	c := exec.Command("go", words...)
	c.Env = append(os.Environ(), env...)
	c.Stderr = os.Stderr
	b, err := c.Output()
	return string(b), err
}
