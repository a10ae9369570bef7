package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A skip is a line of the list of tests that may skip.
type skip struct{ where, pkg, test string }

// readSkips reads the list. A line holds the condition under which a test may skip, the folder of its package, its name and
// the reason. A trailing asterisk in a name matches any suffix.
func readSkips(name string) (skips []skip, err error) {
	if name == "" {
		return nil, nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for n, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(f) < 4 {
			return nil, fmt.Errorf("%s:%d: a line has where, package, test and reason", name, n+1)
		}
		skips = append(skips, skip{f[0], f[1], f[2]})
	}
	return skips, nil
}

// is reports whether the line names a test.
func (s skip) is(pkg, test string) bool {
	prefix, any := strings.CutSuffix(s.test, "*")
	return strings.HasSuffix(pkg, "/"+s.pkg) && (test == s.test || any && strings.HasPrefix(test, prefix))
}

// may reports whether a test may skip under these conditions.
func may(skips []skip, where []string, pkg, test string) bool {
	return slices.ContainsFunc(skips, func(s skip) bool {
		return (s.where == "anywhere" || slices.Contains(where, s.where)) && s.is(pkg, test)
	})
}
