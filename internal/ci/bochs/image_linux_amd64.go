package main

import (
	"bufio"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Files of Debian's isolinux and syslinux-common.
const (
	bootLoader       = "/usr/lib/ISOLINUX/isolinux.bin"
	bootLoaderModule = "/usr/lib/syslinux/modules/bios/ldlinux.c32"
)

// kernelArguments are the arguments of the kernel. Without clearcpuid (XSAVEC, XSAVES) it finds Bochs's XSAVE inconsistent
// and turns off all of it, including AVX. Most others save time: no search for other CPUs, no clock calibration, no cipher
// tests, no mitigations.
const kernelArguments = "console=ttyS0,115200 quiet panic=-1 clearcpuid=321,323 nosmp lpj=400000 tsc=reliable no_timer_check " +
	"nokaslr mitigations=off random.trust_cpu=on cryptomgr.notests"

const bootMenu = "DEFAULT linux\nPROMPT 0\nTIMEOUT 1\nLABEL linux\n  KERNEL linux\n  INITRD initrd\n  APPEND " + kernelArguments + "\n"

// writeImage writes the image of a CD that boots and runs the job. It leaves files in dir.
func writeImage(ctx context.Context, image, dir, kernel, program string, j *job) error {
	for _, err := range []error{
		copyFile(filepath.Join(dir, "linux"), kernel),
		copyFile(filepath.Join(dir, "isolinux.bin"), bootLoader), // genisoimage writes into it
		copyFile(filepath.Join(dir, "ldlinux.c32"), bootLoaderModule),
		os.WriteFile(filepath.Join(dir, "isolinux.cfg"), []byte(bootMenu), 0o666),
		writeInitramfs(filepath.Join(dir, "initrd"), program, j),
	} {
		if err != nil {
			return err
		}
	}
	out, err := exec.CommandContext(ctx, "genisoimage", "-quiet", "-o", image, "-b", "isolinux.bin", "-c", "boot.cat",
		"-no-emul-boot", "-boot-load-size", "4", "-boot-info-table", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("genisoimage: %w\n%s", err, out)
	}
	return nil
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}

// writeInitramfs writes the initial files of the emulated machine: this program, the job, the job's program and ./testdata.
func writeInitramfs(name, program string, j *job) error {
	words, err := j.encode()
	if err != nil {
		return err
	}
	self, err := staticProgram("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("this command: %w", err)
	}
	data, err := staticProgram(program)
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	c := cpioWriter{w: w}
	for _, dir := range []string{"dev", "proc", "sys", "tmp", workPath[1:]} {
		c.dir(dir)
	}
	c.device("dev/console", 0o600, 5, 1)
	c.file(initPath[1:], 0o755, self)
	c.file(jobPath[1:], 0o644, words)
	c.file(programPath[1:], 0o755, data)
	if err := addTestdata(&c); err != nil {
		return err
	}
	if err := c.close(); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// staticProgram returns the bytes of a statically linked program.
func staticProgram(name string) ([]byte, error) {
	f, err := elf.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		return nil, fmt.Errorf("%s is for %v", name, f.Machine)
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return nil, fmt.Errorf("%s is not static: build it with CGO_ENABLED=0", name)
	}
	return os.ReadFile(name)
}

// addTestdata adds the folders and files of ./testdata, if there is one.
func addTestdata(c *cpioWriter) error {
	const root = "testdata"
	if _, err := os.Stat(root); os.IsNotExist(err) {
		return nil
	}
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := workPath[1:] + "/" + filepath.ToSlash(name)
		if d.IsDir() {
			c.dir(to)
			return nil
		}
		data, err := os.ReadFile(name) // follows links
		if err != nil {
			return err
		}
		c.file(to, 0o644, data)
		return nil
	})
}
