//go:build !js

package predictions

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/candor-go/candor/predictions/internal/arrowipc"
	"github.com/candor-go/candor/predictions/internal/columns"
)

// openArrow opens a file or a stream, which only the first bytes tell apart.
func openArrow(from fs.FS, path string, in io.ReadCloser, read *atomic.Int64) (*openColumns, *Error) {
	o := &openColumns{}
	if in == nil {
		var err error
		o.file, err = openFile(from, path)
		if err != nil {
			return nil, cannotOpen(err)
		}
		in = o.file
	}
	o.closers = append(o.closers, func() { in.Close() })
	b := bufio.NewReader(counted{in, read})
	var f *arrowipc.File
	start, err := b.Peek(sniffed)
	switch {
	case bytes.HasPrefix(start, []byte(arrowMagic)):
		open := func(s columns.Source) (columnFile, error) { return arrowipc.OpenFile(s) }
		if o.file == nil {
			return openAt(from, path, &unread{b, in, nil}, read, beginsArrow, open)
		}
		o.close()
		read.Store(0)
		return openAt(from, path, nil, read, beginsArrow, open)
	case err != nil && err != io.EOF:
	default:
		f, err = arrowipc.Open(b)
	}
	if err != nil {
		o.close()
		if e := notTable(start, path); e != nil && !beginsArrow(start) {
			return nil, e
		}
		return nil, asError(err, 0, 0)
	}
	o.columnFile, o.stop = f, f.Stop
	return o, nil
}
