package predictions

import (
	"io"
	"io/fs"
	"sync/atomic"
)

// openArrow refuses the file: Arrow's library would make the program of a page half as large again.
func openArrow(fs.FS, string, io.ReadCloser, *atomic.Int64) (*openColumns, *Error) {
	return nil, fault("write it as Parquet, or read it with the command candor", "files of Arrow are not read in a browser")
}
