package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"
)

// lifeTime is the time between two signs of life. The emulated clock counts instructions: its second takes a minute or two.
const lifeTime = 100 * time.Millisecond

// runInit is process 1 of the emulated machine. It does not return.
func runInit() {
	if err := rawTerminal(os.Stdout); err != nil {
		fmt.Println("init:", err) // the output then has \r\n
	}
	mark, said := "", ""
	j, err := prepare()
	if err == nil {
		mark = j.Mark
		said, err = j.run()
	}
	if err != nil {
		said = fmt.Sprintf("%s: %v", wordNotRun, err)
	}
	fmt.Printf("%s%s\n", mark, said)
	powerOff()
}

// prepare mounts what a Go program may read, and reads the job.
func prepare() (*job, error) {
	for _, m := range [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}} {
		if err := syscall.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			return nil, fmt.Errorf("mount %s: %w", m[1], err)
		}
	}
	data, err := os.ReadFile(jobPath)
	if err != nil {
		return nil, err
	}
	return decodeJob(data)
}

// run runs the program and returns the message about its end. An error means that it was not started.
func (j *job) run() (string, error) {
	fmt.Printf("%s%s\n", j.Mark, wordStart)
	go func() {
		for range time.Tick(lifeTime) {
			os.Stdout.Write([]byte{alive})
		}
	}()
	cmd := exec.Command(programPath, j.Args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = j.Env, workPath, os.Stdout, os.Stdout
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	status := cmd.ProcessState.ExitCode()
	if w := cmd.ProcessState.Sys().(syscall.WaitStatus); w.Signaled() {
		status = statusSignaled + int(w.Signal())
	}
	return fmt.Sprint(wordExit, status), nil
}

// powerOff turns the machine off after all output has been sent.
func powerOff() {
	const tcsbrk = 0x5409 // with argument 1, as in tcdrain
	syscall.Syscall(syscall.SYS_IOCTL, os.Stdout.Fd(), tcsbrk, 1)
	syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
	select {} // process 1 must not end
}

// rawTerminal sets a terminal to raw mode: it passes on all bytes unchanged and at once, without echo.
func rawTerminal(f *os.File) error {
	var t syscall.Termios
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&t))); e != 0 {
		return fmt.Errorf("%s is no terminal: %w", f.Name(), e)
	}
	t.Iflag &^= syscall.ICRNL | syscall.INLCR | syscall.IXON
	t.Oflag &^= syscall.OPOST
	t.Lflag &^= syscall.ECHO | syscall.ECHONL | syscall.ICANON | syscall.ISIG | syscall.IEXTEN
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TCSETS, uintptr(unsafe.Pointer(&t))); e != 0 {
		return fmt.Errorf("%s: %w", f.Name(), e)
	}
	return nil
}
