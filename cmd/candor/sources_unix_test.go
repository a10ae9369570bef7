//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// piped returns the name of a pipe as a shell has it, /dev/fd/N, from which b comes.
func piped(t *testing.T, b []byte) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	go func() {
		w.Write(b)
		w.Close()
	}()
	return fmt.Sprintf("/dev/fd/%d", r.Fd())
}

// fifo returns the name of a pipe in a folder, from which b comes, each time that it is opened.
func fifo(t *testing.T, d *dir, name string, b []byte) string {
	t.Helper()
	path := d.at(name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		for os.WriteFile(path, b, 0) == nil {
		}
	}()
	t.Cleanup(func() { // which ends the writer
		os.Remove(path)
	})
	return path
}

// TestPipes: what can be read once is known as such under any name.
func TestPipes(t *testing.T) {
	d := newDir(t)
	s, f := newSet(1, 60, 3), "mean,sd,observed\n0,1,0.5\n1,1,0.2\n"
	scores, labels := s.scores(t), s.labelFile(t)
	x, y := d.put("x.npy", scores), d.put("y.npy", labels)
	table := d.put("t.csv", []byte(f))
	evaluate(t, x, "--labels", y, "--state", d.at("s.state"))
	state := d.read(d.at("s.state"))
	// in bounds the time of a command that would wait for a pipe.
	in := func(args ...string) (code int, out, errs string) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			code, out, errs = candor(t, args...)
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("candor %v waits for ever", args)
		}
		return code, out, errs
	}
	for kind, pipe := range map[string]func(name string, b []byte) string{
		"/dev/fd": func(_ string, b []byte) string { return piped(t, b) },
		"fifo":    func(name string, b []byte) string { return fifo(t, d, name, b) },
	} {
		px, py, pt := pipe("px", scores), pipe("py", labels), pipe("pt", []byte(f))
		const once = " only once; name a file"
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"eval", px, "--labels", y, "--temperature-scaled"}, "--temperature-scaled reads everything several times, and " + px + once},
			{[]string{"eval", x, "--labels", py, "--temperature-scaled"}, "and " + py + once},
			{[]string{"eval", "-", "--labels", y, "--temperature-scaled"}, "and standard input" + once},
			{[]string{"recal", "fit", "temperature", px, "--labels", y}, "everything is read several times, and " + px + once},
			{[]string{"compare", x, x, "--labels", py}, "--labels " + py + ": it is read once per set, and " + py + " can be read" + once},
			{[]string{"compare", px, px, "--labels", y}, px + " is named 2 times, and can be read once; name it once"},
			{[]string{"merge", px, x, px}, px + " is named 2 times, and can be read once; name it once"},
			{[]string{"inspect", px, px}, px + " is named 2 times, and can be read once; name it once"},
			{[]string{"score", pt, "--task", "regression", "--metrics", "crps", "-o", d.at("o.npy")}, "a table on " + pt + " cannot be read twice"},
		} {
			code, out, errs := in(c.args...)
			if code != exitUsage || out != "" || !strings.Contains(errs, c.want) {
				t.Errorf("candor %v: exit code %d: %s", c.args, code, errs)
			}
		}
		code, _, errs := in("eval", px, "--labels", px)
		if code != exitData || !strings.Contains(errs, px+": "+px+" can be read for one array only; give files for the others") {
			t.Errorf("%s: exit code %d: %s", kind, code, errs)
		}
	}
	// Once it is read, and as what it is.
	_, want, _ := candor(t, "eval", x, "--labels", y, "--json")
	if code, out, errs := in("eval", piped(t, scores), "--labels", piped(t, labels), "--json"); code != 0 || out != want {
		t.Errorf("exit code %d: %s", code, errs)
	}
	_, want, _ = candor(t, "eval", table, "--task", "regression", "--json")
	if code, out, errs := in("eval", piped(t, []byte(f)), "--task", "regression", "--json"); code != 0 || out != want {
		t.Errorf("exit code %d: %s", code, errs)
	}
	for _, b := range [][]byte{scores, state} {
		path := piped(t, b)
		code, out, errs := in("inspect", path)
		_, want, _ := candor(t, "inspect", d.put("63", b))
		if want = strings.ReplaceAll(strings.ReplaceAll(want, d.at("63"), path), "  63 ", fmt.Sprintf("  %-3s", path[len("/dev/fd/"):])); code != 0 || out != want {
			t.Errorf("exit code %d: %s%s, want %s", code, out, errs, want)
		}
	}
	for _, path := range []string{"-", piped(t, state)} {
		var out, errs bytes.Buffer
		if code := run([]string{"merge", path, "--json"}, bytes.NewReader(state), &out, &errs); code != 0 || errs.Len() > 0 {
			t.Errorf("exit code %d: %s", code, errs.String())
		}
		out.Reset()
		if code := run([]string{"inspect", "-"}, bytes.NewReader(state), &out, &errs); code != 0 || !strings.HasPrefix(out.String(), "-: state of an evaluation\n") {
			t.Errorf("exit code %d: %s", code, errs.String())
		}
	}
}

// TestSomethingWaits: where no predictions are named, and standard input has something, "-" is said.
func TestSomethingWaits(t *testing.T) {
	d := newDir(t)
	y := d.put("y.npy", newSet(1, 5, 3).labelFile(t))
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	pipe, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer w.Close()
	for _, args := range [][]string{
		{"eval", "--labels", y}, {"eval", "--labels", y, "--task", "multilabel"}, {"score", "--labels", y, "-o", d.at("o.npy")}, {"inspect"},
	} {
		for stdin, want := range map[*os.File]bool{pipe: true, null: false} {
			var out, errs bytes.Buffer
			code := run(args, stdin, &out, &errs)
			if says := strings.Contains(errs.String(), "; to read standard input, name it: -\n"); code != exitUsage || says != want {
				t.Errorf("candor %v: exit code %d: %s", args, code, errs.String())
			}
		}
	}
}

// TestNames: what --name calls a file is what messages and documents call it.
func TestNames(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 60, 3)
	scores, labels := s.scores(t), s.labelFile(t)
	x, y := d.put("x.npy", scores), d.put("y.npy", labels)
	z := d.put("z.npz", npz(t, "probs.npy", scores))
	table := "mean,sd,observed,site\n0,1,0.5,a\n1,1,x,b\n"
	state := func() []byte {
		evaluate(t, x, "--labels", y, "--state", d.at("s.state"))
		return d.read(d.at("s.state"))
	}()
	bad := s.with(7, 1, 2)
	pipe := func(b []byte) (path, name string) {
		p := piped(t, b)
		return p, p + "=monday=1.npy"
	}
	const called = "monday=1.npy"
	for _, c := range []struct {
		from []byte
		args []string // PIPE stands for the pipe
		code int
		want string
	}{
		{scores[:300], []string{"eval", "PIPE", "--labels", y}, exitData, "candor: " + called + ": truncated: header says"},
		{labels[:300], []string{"eval", x, "--labels", "PIPE"}, exitData, "candor: " + called + ": truncated: header says"},
		{s.part(0, 50).labelFile(t), []string{"eval", x, "--labels", "PIPE"}, exitData, "candor: " + called + ": 50 labels for the 60 rows of " + x},
		{s.part(0, 50).scores(t), []string{"eval", "PIPE", "--labels", y}, exitData, "candor: " + y + ": 60 labels for the 50 rows of " + called},
		{bad.scores(t), []string{"eval", "PIPE", "--labels", y}, exitData, "candor: " + called + ": row 7, column 1: probability is 2"},
		{s.label(9, 4).labelFile(t), []string{"eval", x, "--labels", "PIPE"}, exitData, "candor: " + called + ": row 4: label is 9"},
		{[]byte(table), []string{"eval", "PIPE", "--task", "regression"}, exitData, "candor: " + called + `: line 3: column "observed": "x" is not a number`},
		{nil, []string{"eval", "PIPE", "--labels", y}, exitData, "candor: " + called + ": empty file"},
		{scores, []string{"eval", "PIPE", "--labels", y, "--temperature-scaled"}, exitUsage, "several times, and " + called + " only once"},
		{scores[:300], []string{"score", "PIPE", "--labels", y, "-o", d.at("o.npy")}, exitData, "candor: " + called + ": truncated"},
		{scores, []string{"recal", "fit", "temperature", "PIPE", "--labels", y}, exitUsage, "several times, and " + called + " only once"},
		{scores, []string{"merge", "PIPE"}, exitData, "candor: " + called + ": not a state that can be read"},
		{scores[:100], []string{"inspect", "PIPE"}, exitData, "candor: " + called + ": truncated"},
		{scores, []string{"inspect", "PIPE"}, exitDone, called + ": npy\n"},
		{state, []string{"inspect", "PIPE"}, exitDone, called + ": state of an evaluation\n"},
		{state, []string{"merge", "PIPE", d.at("s.state")}, exitDone, "candor: warning: " + called + " and " + d.at("s.state") + " are equal"},
		{scores, []string{"compare", "PIPE", x, "--labels", y, "--metrics", "nll"}, exitDone, called + ": "},
		{s.part(0, 50).scores(t), []string{"compare", "PIPE", x, "--labels", d.put("y50.npy", s.part(0, 50).labelFile(t))}, exitData, "60 rows of " + x},
	} {
		path, name := pipe(c.from)
		args := append([]string{}, c.args...)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "PIPE", path)
		}
		args = append(args, "--name", name)
		code, out, errs := candor(t, args...)
		if code != c.code || !strings.Contains(out+errs, c.want) || strings.Contains(out+errs, path) {
			t.Errorf("candor %v: exit code %d: %s%s", args, code, out, errs)
		}
	}
	// Files have names too, and so do arrays in them.
	few := d.put("few.npy", s.part(0, 50).labelFile(t))
	for _, c := range []struct{ name, want string }{{z + "=zed", "for the 60 rows of zed:probs;"}, {z + ":probs=zed", "for the 60 rows of zed;"}} {
		code, _, errs := candor(t, "eval", z+":probs", "--labels", few, "--name", c.name)
		if code != exitData || !strings.Contains(errs, c.want) || strings.Contains(errs, z) {
			t.Errorf("--name %v: exit code %d: %s, want %s", c.name, code, errs, c.want)
		}
	}
	if code, _, errs := candor(t, "eval", z, "--name", z+"=zed"); code != exitData || !strings.HasPrefix(errs, "candor: zed: no labels: it has ") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	path, name := pipe(scores)
	_, out, _ := candor(t, "compare", path, x, "--labels", y, "--json", "--name", name)
	var v struct{ Sets []struct{ Name string } }
	if err := json.Unmarshal([]byte(out), &v); err != nil || len(v.Sets) != 2 || v.Sets[0].Name != called {
		t.Errorf("%v: %+v", err, v)
	}
	for name, want := range map[string]string{
		"none.npy=a": "--name none.npy=a: no file that is read is named so; there are " + x + ", " + y,
		"a":          `--name is "a"; it is SOURCE=TEXT`,
		x + "=":      "there is no text behind the equals sign",
	} {
		if code, _, errs := candor(t, "eval", x, "--labels", y, "--name", name); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("--name %s: exit code %d: %s", name, code, errs)
		}
	}
	if code, _, errs := candor(t, "eval", x, "--labels", y, "--name", x+"=a", "--name", x+"=b"); code != exitUsage || !strings.Contains(errs, "--name names "+x+" twice") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
