package check

import (
	"os"
	"syscall"
)

// FilesInMemory makes temporary files in memory from now on, if there is room: thousands of small files on a disk take as
// long as what is tested. It does nothing if TMPDIR is set.
func FilesInMemory() {
	const dir, room, noexec = "/dev/shm", 4 << 30, 8 // some tests build programs to run
	var s syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(dir, &s) == nil && s.Bavail*uint64(s.Bsize) >= room && s.Flags&noexec == 0 && syscall.Access(dir, 2) == nil {
		os.Setenv("TMPDIR", dir)
	}
}
