package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pass, skip and fail are the lines of a test that ended so.
func ended(action, pkg, test string) string {
	run := fmt.Sprintf(`{"Action":"run","Package":%q,"Test":%q}`+"\n", pkg, test)
	out := fmt.Sprintf(`{"Action":"output","Package":%q,"Test":%q,"Output":"said by %s\n"}`+"\n", pkg, test, test)
	return run + out + fmt.Sprintf(`{"Action":%q,"Package":%q,"Test":%q}`+"\n", action, pkg, test)
}

func closed(action, pkg string) string {
	return fmt.Sprintf(`{"Action":%q,"Package":%q,"Elapsed":1.5}`+"\n", action, pkg)
}

func TestRun(t *testing.T) {
	const a, b = "example.com/m/a", "example.com/m/b"
	skips := filepath.Join(t.TempDir(), "skips")
	if err := os.WriteFile(skips, []byte("# comment\n\nshort a TestB takes long\nanywhere b TestC/* has no such thing\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, log, where, packages, err, out string
	}{
		{"passes", ended("pass", a, "TestA") + closed("pass", a), "", a, "", "ok     1.5 s  " + a + ": 1 passed\n"},
		{"failed test", ended("pass", a, "TestA") + ended("fail", a, "TestB") + closed("fail", a), "", a, "2 failures", "said by TestB"},
		{"no test", closed("pass", a), "", a, "1 failures", "FAIL " + a + " ran no test"},
		{"missing package", ended("pass", a, "TestA") + closed("pass", a), "", a + "," + b, "1 failures", "FAIL " + b + " ran no test"},
		{"nothing", "", "", "", "no test ran", ""},
		{"skip", ended("pass", a, "TestA") + ended("skip", a, "TestB") + closed("pass", a), "", a, "1 failures", "said by TestB"},
		{"skip in the list", ended("pass", a, "TestA") + ended("skip", a, "TestB") + closed("pass", a), "race,short", a, "", "1 passed, 1 skipped"},
		{"skip of another package", ended("pass", b, "TestA") + ended("skip", b, "TestB") + closed("pass", b), "short", b, "1 failures", ""},
		{"skip of a part", ended("pass", b, "TestC") + ended("skip", b, "TestC/x") + closed("pass", b), "", b, "", "1 skipped"},
		{"skip of the whole", ended("pass", b, "TestA") + ended("skip", b, "TestC") + closed("pass", b), "", b, "1 failures", ""},
		{"skip of no test", ended("pass", a, "TestA") + ended("skip", a, "TestB") + closed("pass", a), "short", a, "1 failures", "b TestC/* is in the list of skips, and there is no such test"},
		{"only skips", ended("skip", b, "TestC/x") + closed("pass", b), "", b, "1 failures", "ran no test"},
		{"crash", `{"Action":"output","Package":"` + a + `","Test":"TestA","Output":"panic: no\n"}` + "\n" + closed("fail", a), "", a, "2 failures", "panic: no"},
		{"build", `{"Action":"build-output","ImportPath":"` + a + `","Output":"a.go:1: no\n"}` + "\n" + `{"Action":"build-fail","ImportPath":"` + a + `"}` + "\n", "", "", "1 failures", "a.go:1: no"},
		{"other lines", "qemu: no\n" + ended("pass", a, "TestA") + closed("pass", a), "", a, "", "qemu: no\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			var packages []string
			if c.packages != "" {
				packages = strings.Split(c.packages, ",")
			}
			copied := filepath.Join(t.TempDir(), "log")
			err := run(strings.NewReader(c.log), &out, options{log: copied, skips: skips, where: c.where, whole: c.name == "skip of no test"}, packages)
			if got := fmt.Sprint(err); got != c.err && !(err == nil && c.err == "") {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if !strings.Contains(out.String(), c.out) {
				t.Errorf("printed %q, want %q in it", out.String(), c.out)
			}
			if b, err := os.ReadFile(copied); err != nil || string(b) != c.log {
				t.Errorf("copied %q, %v", b, err)
			}
		})
	}
}

func TestSkipsNeedAReason(t *testing.T) {
	name := filepath.Join(t.TempDir(), "skips")
	if err := os.WriteFile(name, []byte("short a TestB\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readSkips(name); err == nil {
		t.Error("a line without a reason is taken")
	}
}

func TestLevels(t *testing.T) {
	const kernel = "example.com/m/kernel"
	said := func(levels string) string {
		return `{"Action":"output","Package":"` + kernel + `","Test":"TestLevelsRan","Output":"levels compared: [` + levels + `] (detected avx2)\n"}` + "\n"
	}
	for _, c := range []struct {
		log, levels string
		good        bool
	}{
		{said("generic avx2"), "generic,avx2", true},
		{said("generic avx2"), "", true},
		{said("generic"), "generic,avx2", false},
		{said("generic avx2 avx512"), "generic,avx2", false},
		{said("generic avx2") + said("generic"), "generic,avx2", false},
		{"", "generic,avx2", false},
	} {
		log := c.log + ended("pass", kernel, "TestLevelsRan") + closed("pass", kernel)
		var out strings.Builder
		err := run(strings.NewReader(log), &out, options{levels: c.levels}, []string{kernel})
		if (err == nil) != c.good {
			t.Errorf("%q where %q has to run: %v\n%s", c.log, c.levels, err, out.String())
		}
	}
}
