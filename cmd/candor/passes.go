package main

import "fmt"

// passes counts the reads of files that are read several times.
type passes struct{ done, about int }

// next returns the name of the next read: "read 3 of about 9", or "reading" for a nil passes, for files that are read once.
func (p *passes) next() string {
	if p == nil {
		return "reading"
	}
	p.done++
	return fmt.Sprintf("read %d of about %d", p.done, max(p.done, p.about))
}
