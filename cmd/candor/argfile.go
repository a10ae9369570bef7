package main

import (
	"bytes"
	"os"
	"strings"
)

// fileArgs returns the arguments of a command line. If it is @FILE and nothing else, they are in that file: one on each line, or, if the file has a
// zero byte, one before each zero byte. It is for programs that run candor: Windows limits a command line to 32,767 characters, and Linux an argument
// to 131,071 bytes, which the names of 20,000 classes exceed.
func fileArgs(args []string) ([]string, error) {
	if len(args) != 1 || len(args[0]) < 2 || args[0][0] != '@' {
		return args, nil
	}
	name := args[0][1:]
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fault(name, "check the name and the permissions", "%v", unwrapPath(err))
	}
	var found []string
	if bytes.IndexByte(b, 0) >= 0 {
		if b[len(b)-1] != 0 {
			return nil, fault(name, "put a zero byte behind each argument", "the last argument has no zero byte behind it; the file may be cut")
		}
		found = strings.Split(string(b[:len(b)-1]), "\x00")
	} else {
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				found = append(found, line)
			}
		}
	}
	if len(found) == 0 {
		return nil, fault(name, "write one argument on each line", "no argument is in the file")
	}
	return found, nil
}
