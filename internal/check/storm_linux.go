package check

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// storm starts what may come at any instruction of a kernel: signals to the process, of which SIGURG is the one by which the Go runtime
// takes a thread from a goroutine, ticks of a profiler's timer, and collections of garbage, which stop all goroutines. It returns what ends
// that, and says how much of it there was.
func storm() func() {
	var ended atomic.Bool
	var signals, collections atomic.Int64
	var running sync.WaitGroup
	ticks := make(chan os.Signal, 1)
	signal.Notify(ticks, syscall.SIGPROF, syscall.SIGUSR1)
	running.Go(func() {
		for n := 0; !ended.Load(); n++ {
			for _, s := range []syscall.Signal{syscall.SIGURG, syscall.SIGUSR1} {
				if syscall.Kill(os.Getpid(), s) == nil {
					signals.Add(1)
				}
			}
			if n%50 == 0 {
				runtime.GC()
				collections.Add(1)
			}
			time.Sleep(20 * time.Microsecond)
		}
	})
	setTimer(1000)
	start := time.Now()
	return func() {
		setTimer(0)
		ended.Store(true)
		running.Wait()
		signal.Stop(ticks)
		fmt.Printf("storm: %d signals and %d collections in %.1f s\n", signals.Load(), collections.Load(), time.Since(start).Seconds())
	}
}

// setTimer has the thread that computes get SIGPROF after each so many microseconds of processor time; 0 ends it.
func setTimer(microseconds int64) {
	const profiling = 2 // ITIMER_PROF
	each := syscall.NsecToTimeval(1000 * microseconds)
	timer := [2]syscall.Timeval{each, each}
	if _, _, err := syscall.Syscall(syscall.SYS_SETITIMER, profiling, uintptr(unsafe.Pointer(&timer)), 0); err != 0 {
		panic("setitimer: " + err.Error())
	}
}
