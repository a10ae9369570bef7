package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// sources holds the files on a command line, with their names in messages.
type sources struct {
	given []string          // from --name
	names map[string]string // by path
}

func (s *sources) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.given, "name", nil, "`SOURCE=TEXT`: call the file SOURCE, such as /dev/fd/63, TEXT in messages and documents; may be given several times")
}

// matched replaces patterns, as part-*.parquet, by the files that they match, for shells that leave them to programs. A name that is that of
// a file is no pattern, and one that matches nothing stays as it is.
func matched(paths []string) []string {
	var l []string
	for _, p := range paths {
		if strings.ContainsAny(p, "*?[") {
			if _, err := os.Lstat(p); err != nil {
				if found, err := filepath.Glob(p); err == nil && len(found) > 0 {
					l = append(l, found...)
					continue
				}
			}
		}
		l = append(l, p)
	}
	return l
}

// check parses --name. known are the files that are read.
func (s *sources) check(known ...string) error {
	s.names = nil
	for _, g := range s.given {
		if !strings.Contains(g, "=") {
			return usage("--name is %q; it is SOURCE=TEXT, such as /dev/fd/63=monday.npy", g)
		}
		// Both parts may contain an equals sign.
		source, text := "", ""
		for _, k := range known {
			for ; k != ""; k = k[:max(0, strings.LastIndexByte(k, ':'))] { // including an .npz with the name of an array
				if t, ok := strings.CutPrefix(g, k+"="); ok && len(k) >= len(source) {
					source, text = k, t
				}
			}
		}
		switch _, twice := s.names[source]; {
		case source == "":
			return usage("--name %s: no file that is read is named so; there are %s", g, strings.Join(known, ", "))
		case text == "":
			return usage("--name %s: there is no text behind the equals sign; it is SOURCE=TEXT", g)
		case twice:
			return usage("--name names %s twice; name it once", source)
		}
		if s.names == nil {
			s.names = map[string]string{}
		}
		s.names[source] = text
	}
	return nil
}

// call returns the name of a file in messages.
func (s *sources) call(path string) string {
	if path == "-" {
		return cmp.Or(s.names[path], "standard input")
	}
	return cmp.Or(s.names[path], path)
}

// calls returns the names of several files in messages.
func (s *sources) calls(paths []string) string {
	l := make([]string, len(paths))
	for i, p := range paths {
		l[i] = s.call(p)
	}
	return strings.Join(l, ", ")
}

// once returns the name of the first file that can be read only once, or "" if there is none.
func (s *sources) once(paths ...string) string {
	if i := slices.IndexFunc(paths, readOnce); i >= 0 {
		return s.call(paths[i])
	}
	return ""
}

// twice returns the first file that can be read only once but is named again, possibly by another path, and how often; "" if
// there is none.
func (s *sources) twice(paths []string) (name string, times int) {
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !readOnce(p) })
	for i, p := range paths {
		for _, q := range paths[i:] {
			if sameFile(p, q) {
				times++
			}
		}
		if times > 1 {
			return s.call(p), times
		}
		times = 0
	}
	return "", 0
}

// readOnce reports whether a file can be read only once: standard input, or anything that is neither a regular file nor a
// folder, such as a pipe.
func readOnce(path string) bool {
	if path == "-" {
		return true
	}
	fi, err := os.Stat(path)
	return err == nil && !fi.IsDir() && !fi.Mode().IsRegular()
}

// sameFile reports whether two paths refer to the same file.
func sameFile(p, q string) bool {
	if p == q {
		return true
	}
	stat := func(path string) (os.FileInfo, error) {
		if path == "-" {
			return os.Stdin.Stat()
		}
		return os.Stat(path)
	}
	a, errA := stat(p)
	b, errB := stat(q)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// unnamed returns the error for missing predictions. It mentions standard input if something may be waiting there.
func unnamed(c *cobra.Command, said string) error {
	if waits(c.InOrStdin()) {
		return usage("%s; to read standard input, name it: -", said)
	}
	return usage("%s; name a file, or - for standard input", said)
}

// waits reports whether standard input is a pipe or a file, not a terminal or empty.
func waits(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	if !ok {
		return false
	}
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice == 0
}
