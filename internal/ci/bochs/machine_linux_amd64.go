package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// bochsProgram is Bochs itself: /usr/bin/bochs is a script that starts it.
const bochsProgram = "/usr/bin/bochs-bin"

// configuration is the configuration of Bochs, a format of the names of the CD image and the log. The CPU model is the one that
// has AVX512F, BW, CD, DQ and VL and nothing newer. The serial line ends in a pipe that Bochs inherits. The clock always
// starts at the same time and counts instructions, so that runs are reproducible.
const configuration = `config_interface: textconfig
display_library: term
memory: guest=512, host=512
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
cpu: model=corei7_skylake_x, count=1, ips=100000000, reset_on_triple_fault=0, ignore_bad_msrs=1
clock: sync=none, time0=1700000000
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=%s, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=/proc/self/fd/3
log: %s
panic: action=fatal
error: action=report
info: action=ignore
debug: action=ignore
sound: driver=dummy
speaker: enabled=0
`

// debuggerCommands make Debian's build, which starts in its debugger, run and then quit.
const debuggerCommands = "continue\nquit\n"

// A machine holds what an attempt needs.
type machine struct {
	dir   string // for Bochs's files
	image string // CD image that it boots from
	still time.Duration
}

// A failure is the error of a machine that did not report how the program ended.
type failure struct {
	what    string
	details string // output that may explain it
}

func (f *failure) Error() string { return "the emulated machine " + f.what }

// boot runs the machine until it reports how the program ended, or until ctx is done, and passes the serial output to s. It
// returns a failure, or another error of the host. clock measures Bochs.
func (m *machine) boot(ctx context.Context, s *serialLine, clock *cpuClock) error {
	config, commands, log := filepath.Join(m.dir, "bochsrc"), filepath.Join(m.dir, "commands"), filepath.Join(m.dir, "log")
	if err := os.WriteFile(config, fmt.Appendf(nil, configuration, m.image, log), 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(commands, []byte(debuggerCommands), 0o666); err != nil {
		return err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer from.Close()
	screen := &screen{}
	cmd := exec.Command(bochsProgram, "-q", "-f", config, "-rc", commands)
	cmd.Env = append(os.Environ(), "TERM=dumb")
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = screen, screen, []*os.File{to}
	// Bochs is detached from the terminal's signals, and is killed if this process ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	to.Close()
	if err != nil {
		return err
	}
	clock.start(cmd.Process.Pid)

	var life atomic.Int64 // time of the last sign of life
	life.Store(time.Now().UnixNano())
	heard := make(chan bool) // closed at the end of the serial output
	go func() {
		defer close(heard)
		buf := make([]byte, 4096)
		for s.ended == nil {
			n, err := from.Read(buf)
			if err != nil {
				break
			}
			life.Store(time.Now().UnixNano())
			s.Write(buf[:n])
		}
		s.close()
	}()
	still := false
	for over, look := false, time.NewTicker(time.Second); !over; {
		select {
		case <-heard:
			over = true
		case <-ctx.Done():
			over = true
		case <-look.C:
			still = time.Since(time.Unix(0, life.Load())) > m.still
			over = still
		}
	}
	cmd.Process.Kill() // nothing is left to do, even if the emulated machine is about to turn itself off
	<-heard
	clock.stop()
	err = cmd.Wait()
	if s.ended != nil || ctx.Err() != nil {
		return nil
	}
	f := &failure{what: "ended without a word", details: fmt.Sprintf("%s\n%s\n%s\nbochs: %v\n", lastLines(s.before.Bytes()), lastLines(screen.text), lastLinesOf(log), err)}
	switch {
	case still && !s.began:
		f.what = "did not come up"
	case still:
		f.what = fmt.Sprintf("stood still for %v", m.still)
	}
	return f
}

func lastLines(text []byte) string {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-15):], []byte("\n")))
}

func lastLinesOf(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return lastLines(text)
}

// A screen reads the output of Bochs. Debian's build draws the emulated screen on a terminal of its own, whose name it
// prints. If nobody reads that terminal its buffer fills up and Bochs hangs, so the screen reads it.
type screen struct {
	text []byte
	read bool
}

var screenName = regexp.MustCompile(`connected to screen "(/dev/pts/[0-9]+)"`)

func (s *screen) Write(b []byte) (int, error) {
	if len(s.text) < 1<<16 {
		s.text = append(s.text, b...)
	}
	if name := screenName.FindSubmatch(s.text); name != nil && !s.read {
		s.read = true
		f, err := os.OpenFile(string(name[1]), os.O_RDONLY|syscall.O_NOCTTY, 0)
		if err == nil {
			err = rawTerminal(f)
		}
		if err != nil {
			s.text = fmt.Append(s.text, "\n", err, "\n")
			return len(b), nil
		}
		go func() {
			defer f.Close()
			io.Copy(io.Discard, f) // until Bochs ends
		}()
	}
	return len(b), nil
}

// A cpuClock measures the CPU time of a process, which does not depend on the load of the machine. It is 0 before the start
// and keeps its value after the stop.
type cpuClock struct {
	stat string
	last time.Duration
}

func (c *cpuClock) start(pid int) { c.stat, c.last = fmt.Sprintf("/proc/%d/stat", pid), 0 }

func (c *cpuClock) stop() { c.now(); c.stat = "" }

func (c *cpuClock) now() time.Duration {
	if c.stat == "" {
		return c.last
	}
	data, err := os.ReadFile(c.stat)
	if err != nil {
		return c.last
	}
	// The second field is a name in parentheses with arbitrary characters. The 14th and the 15th are user and system time in
	// ticks.
	const tick = time.Second / 100
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	c.last = time.Duration(user+system) * tick
	return c.last
}
