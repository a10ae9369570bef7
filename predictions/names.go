package predictions

import (
	"io/fs"
	"os"
	"slices"
	"strings"
)

// names are what messages call files, by their paths.
type names map[string]string

// of returns the name of a path, which an array's may follow. Without one it is the path, and "-" is standard input.
func (n names) of(path string) string {
	if name, ok := n[path]; ok {
		return name
	}
	for i := len(path); ; {
		if i = strings.LastIndexByte(path[:i], ':'); i < 0 {
			break
		}
		if name, ok := n[path[:i]]; ok {
			return name + path[i:]
		}
	}
	if path == "-" {
		return "standard input"
	}
	return path
}

// streams are the files that were opened and can be read once.
type streams []fs.FileInfo

// twice notes a path, and tells whether it is of a stream that was noted, by this name or by another.
func (s *streams) twice(path string) bool {
	fi := streamed(path)
	if fi == nil {
		return false
	}
	if slices.ContainsFunc(*s, func(o fs.FileInfo) bool { return os.SameFile(o, fi) }) {
		return true
	}
	*s = append(*s, fi)
	return false
}

// streamed describes a file that can be read once: standard input, a pipe, or whatever else is neither a file on a disk nor a folder. It
// is nil of others.
func streamed(path string) fs.FileInfo {
	var fi fs.FileInfo
	var err error
	if path == "-" {
		fi, err = os.Stdin.Stat()
	} else {
		fi, err = os.Stat(path)
	}
	if err != nil || fi.IsDir() || fi.Mode().IsRegular() {
		return nil
	}
	return fi
}
