// Command bochs runs a static linux/amd64 program on a CPU with AVX-512 that Bochs emulates, for machines whose own CPU has
// none. It is slow, 200 to 250 times slower than a CPU, so it is for tests of code and not for anything else.
//
//	bochs [flags] PROGRAM [ARGS...]
//
// It works as the -exec program of go test too. The program gets the files of ./testdata, the variables CANDOR_* and those
// that the Go runtime reads; its output is on standard output as it comes, its exit status is the command's. Statuses of
// the command's own are those of timeout and env: 124 where the time limit ran out, 125 where the emulated machine failed,
// 126 where the program could not be started; and 128 + N after signal N. A machine that did not come up, that stood still
// or that ended without a word is started once more, unless a test had failed by then.
//
// What it needs is in Debian 12: bochs, bochs-term, bochsbios, vgabios, isolinux, syslinux-common, genisoimage, and the
// file vmlinuz of a package linux-image-*-cloud-amd64. The script .ci/bochs gets all of them.
//
// The command is both sides. On the machine it is started on, it writes an image of a CD with the kernel, the program and
// itself, has Bochs boot from that, and reads the serial line. In the emulated machine it is process 1: it runs the
// program, says on the serial line how that ended, and turns the machine off. So it has to be static itself: build it
// with CGO_ENABLED=0.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Exit statuses of the command itself.
const (
	statusUsage    = 2
	statusLimit    = 124
	statusMachine  = 125
	statusNotRun   = 126
	statusSignaled = 128 // plus the signal
)

// options holds the command line.
type options struct {
	json    string        // output file for the events of test2json
	pkg     string        // package named in the events
	times   string        // output file for the seconds that tests took
	limit   time.Duration // for all attempts together
	still   time.Duration // longest time without a sign of life
	tmp     string        // parent of the folder for temporary files
	kernel  string        // file of the Linux kernel
	command []string      // program and arguments
}

// parse parses a command line without its first word. Flags behind the program belong to the program.
func parse(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("bochs", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "usage: bochs [flags] PROGRAM [ARGS...]\n\nRuns a static linux/amd64 program on an emulated CPU with AVX-512.\n\nflags:")
		f.PrintDefaults()
	}
	f.StringVar(&o.json, "json", "", "also write what test2json makes of the output to `FILE`; the program needs -test.v=test2json")
	f.StringVar(&o.pkg, "p", "", "the `PACKAGE` that these events name")
	f.StringVar(&o.times, "times", "", "write the seconds of CPU that Bochs spent on each test to `FILE`; the program needs -test.v")
	f.DurationVar(&o.limit, "limit", time.Hour, "end after this time with status 124")
	f.DurationVar(&o.still, "still", 5*time.Minute, "the machine stands still if it shows no sign of life for this time")
	f.StringVar(&o.tmp, "tmp", "", "`FOLDER` for temporary files (default $TMPDIR, or /tmp)")
	f.StringVar(&o.kernel, "kernel", "", "`FILE` of the Linux kernel (default candor/bochs/vmlinuz in the user's cache folder)")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.command = f.Args()
	if len(o.command) == 0 {
		f.Usage()
		return nil, errors.New("no program is named")
	}
	if o.limit <= 0 || o.still <= 0 {
		return nil, errors.New("-limit and -still have to be positive")
	}
	if o.kernel == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		o.kernel = filepath.Join(dir, "candor", "bochs", "vmlinuz")
	}
	return o, nil
}

func main() {
	if os.Getpid() == 1 && os.Args[0] == initPath {
		runInit()
	}
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bochs:", err)
		os.Exit(statusUsage)
	}
	status, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bochs:", err)
	}
	os.Exit(status)
}
