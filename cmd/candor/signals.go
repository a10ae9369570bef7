//go:build !js

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/candor-go/candor/internal/temporary"
)

// catchSignals removes temporary files when a signal asks the process to end. The process then ends by this signal, as its
// parent expects.
func catchSignals() {
	var l []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as under nohup
			l = append(l, s)
		}
	}
	if len(l) == 0 {
		return // without arguments Notify would take all signals
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, l...)
	go func() {
		s := <-c
		if k := running.Load(); k != nil { // which ends the process when the checkpoint is there
			k.stop.Store(true)
			select {
			case <-k.saved:
			case s = <-c: // a second one does not wait
			}
		}
		temporary.RemoveAll()
		signal.Reset()
		if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(s) == nil {
			time.Sleep(time.Second) // the signal arrives within this time
		}
		os.Exit(128 + int(s.(syscall.Signal))) // for systems where a process cannot send itself a signal
	}()
}
