package main

// useRemote does nothing: a page reads the files that it was given.
func (f *evalFlags) useRemote(*[]string) error { return nil }
