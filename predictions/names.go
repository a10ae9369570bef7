package predictions

import (
	"io/fs"
	"os"
	"slices"
	"strings"
)

// names maps paths to what messages call them.
type names map[string]string

// of returns the name of a path, which ":array" may follow. The default is the path itself, or "standard input" for "-".
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

// streams are open files that can be read only once.
type streams []fs.FileInfo

// twice adds a path, and reports whether its stream was there already, under this name or another.
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

// streamed describes a file that can be read only once: standard input, a pipe, or anything else that is neither a regular file nor a
// folder. It returns nil for other files.
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
