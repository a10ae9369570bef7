//go:build !js

package main

import (
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows on a terminal how much of the scores has been read, if it takes longer than a moment; what names the read.
// The returned function removes the line.
func progress(w io.Writer, r reader, total int64, what string) (stop func()) {
	if !screenOf(w).terminal || dumb() || total <= 0 {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-quit:
			return
		case <-time.After(400 * time.Millisecond):
		}
		p := mpb.New(mpb.WithOutput(w), mpb.WithWidth(40))
		bar := p.AddBar(total, mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(what+": "), decor.CountersKibiByte("% .1f of % .1f")),
			mpb.AppendDecorators(decor.Percentage(), decor.Name("  "), decor.AverageSpeed(decor.SizeB1024(0), "% .1f"),
				decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO)))
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				bar.Abort(true)
				p.Wait()
				return
			case <-tick.C:
				bar.SetCurrent(min(r.BytesRead(), total-1))
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
