package predictions

import (
	"io"
	"io/fs"
	"os"
)

// openFile opens a file of a file system, or of the operating system if there is none.
func openFile(from fs.FS, path string) (fs.File, error) {
	if from != nil {
		return from.Open(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err // not a nil *os.File, which would be a file
	}
	return f, nil
}

// statFile describes such a file.
func statFile(from fs.FS, path string) (fs.FileInfo, error) {
	if from != nil {
		return fs.Stat(from, path)
	}
	return os.Stat(path)
}

// fileAt is a file that is read at any place.
type fileAt interface {
	fs.File
	io.ReaderAt
}
