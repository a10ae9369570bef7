package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestArgumentFiles: a command line in a file is that command line, also one that no system would start.
func TestArgumentFiles(t *testing.T) {
	d := newDir(t)
	set := newSet(1, 60, 3)
	x, y := d.put("x.npy", set.scores(t)), d.put("y.npy", set.labelFile(t))
	args := []string{"eval", x, "--labels", y, "--metrics", "nll,ece(bins=5)", "--json", "--classes", `cat,"a, dog",owl`}
	want := printed(t, args...)
	for _, text := range []string{strings.Join(args, "\n"), strings.Join(args, "\r\n\r\n") + "\r\n", strings.Join(args, "\x00") + "\x00"} {
		if got := printed(t, "@"+d.put("args", []byte(text))); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	// Only zero bytes hold an argument with a line end.
	args[5] = "nll,\nece(bins=5)"
	if got := printed(t, "@"+d.put("args", []byte(strings.Join(args, "\x00")+"\x00"))); got != want {
		t.Error(got)
	}
	if code, _, errs := candor(t, "@"+d.put("args", []byte(strings.Join(args, "\n")))); code == exitDone {
		t.Errorf("exit code %d: %s", code, errs)
	}

	const many = 20_000
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprint("class-number-", i)
	}
	p := make([]float64, 2*many)
	p[3], p[many+4] = 1, 1
	wide, labels := d.put("wide.npy", npy(t, []int64{2, many}, p)), d.put("l.npy", npy(t, []int64{2}, []int64{3, 3}))
	long := []string{"eval", wide, "--labels", labels, "--metrics", "accuracy", "--json", "--classes", strings.Join(names, ",")}
	if got := printed(t, "@"+d.put("args", []byte(strings.Join(long, "\n")))); !strings.Contains(got, `"accuracy": {`) {
		t.Error(got)
	}

	for _, c := range []struct {
		file, want string
		code       int
	}{
		{d.at("none"), "no such file", exitData},
		{d.put("empty", nil), "no argument is in the file", exitData},
		{d.put("blank", []byte("\n\n")), "no argument is in the file", exitData},
		{d.put("cut", []byte("eval\x00--js")), "no zero byte behind it", exitData},
		{d.put("hole", []byte("eval\x00\x00")), "an argument is empty", exitUsage},
		{d.put("again", []byte("@"+d.at("blank"))), "there is no command", exitUsage},
	} {
		if code, _, errs := candor(t, "@"+c.file); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d: %s", c.file, code, errs)
		}
	}
	// With other arguments it is none.
	if code, _, errs := candor(t, "eval", "@"+d.at("args")); code != exitData || !strings.Contains(errs, "@"+d.at("args")) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
