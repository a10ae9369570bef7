package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/candor-go/candor/internal/temporary"
)

// catchSignals has the signals that ask a process to end remove its temporary files first. The process then ends by the signal, as its
// parent expects.
func catchSignals() {
	var l []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as nohup has it
			l = append(l, s)
		}
	}
	if len(l) == 0 {
		return // for Notify would take all signals
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, l...)
	go func() {
		s := <-c
		temporary.RemoveAll()
		signal.Reset()
		if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(s) == nil {
			time.Sleep(time.Second) // it comes within that
		}
		os.Exit(128 + int(s.(syscall.Signal))) // where a process cannot send itself a signal
	}()
}
