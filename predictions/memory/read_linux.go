package memory

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// read fills p with the bytes at an address of a process.
func read(p []byte, pid int, address uint64) error {
	for len(p) > 0 {
		local := []unix.Iovec{{Base: &p[0]}}
		local[0].SetLen(len(p))
		remote := []unix.RemoteIovec{{Base: uintptr(address), Len: len(p)}}
		n, err := unix.ProcessVMReadv(pid, local, remote, 0)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return syscall.EFAULT
		}
		p, address = p[n:], address+uint64(n)
	}
	return nil
}
