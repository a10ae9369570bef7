package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// readSkips reads the list of tests that may skip: a line has where it may, the package's folder, the test and the reason.
// An asterisk at the end of a test's name stands for its subtests. It returns which tests may skip where the words hold.
func readSkips(name string, where []string) (may func(pkg, test string) bool, err error) {
	var lines [][]string
	if name != "" {
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
			if f[0] == "anywhere" || slices.Contains(where, f[0]) {
				lines = append(lines, f)
			}
		}
	}
	return func(pkg, test string) bool {
		return slices.ContainsFunc(lines, func(f []string) bool {
			prefix, any := strings.CutSuffix(f[2], "*")
			return strings.HasSuffix(pkg, "/"+f[1]) && (test == f[2] || any && strings.HasPrefix(test, prefix))
		})
	}, nil
}
