package predictions

import "io/fs"

// stamp is used to detect changes to a file.
type stamp struct {
	size     int64
	modified int64 // in nanoseconds
}

func stampOf(fi fs.FileInfo) stamp { return stamp{fi.Size(), fi.ModTime().UnixNano()} }

// compare returns an Error if an open file has changed.
func (s stamp) compare(f fs.File) *Error {
	fi, err := f.Stat()
	if err != nil {
		return cannotRead(err)
	}
	if stampOf(fi) != s {
		return changed()
	}
	return nil
}

func changed() *Error {
	return fault("wait until whoever writes it is done", "the file changed while it was read")
}
