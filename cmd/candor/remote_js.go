package main

import "io/fs"

// useRemote does nothing: a page reads the files that it was given.
func (f *evalFlags) useRemote(*[]string) error { return nil }

// openURLs does nothing, likewise.
func openURLs(*[]string) (fs.FS, error) { return nil, nil }
