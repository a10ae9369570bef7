package main

import "io"

// progress shows nothing: a page has no terminal. Who runs the command there sees which bytes it reads.
func progress(io.Writer, reader, int64, string) (stop func()) { return func() {} }
