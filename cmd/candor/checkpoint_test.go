package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/candor-go/candor/internal/check"
)

// interrupted runs a command that ends at its n-th checkpoint. It returns false if there are fewer.
func interrupted(t *testing.T, n int, args ...string) bool {
	t.Helper()
	defer func() { checkpointed = nil }()
	over := errors.New("interrupted")
	checkpointed = func(int64) error {
		if n--; n == 0 {
			return over
		}
		return nil
	}
	code, _, errs := candor(t, args...)
	if code == exitDone {
		return false
	}
	if !strings.Contains(errs, over.Error()) {
		t.Fatalf("%v: %d, %s", args, code, errs)
	}
	return true
}

// TestCheckpoints: a run that is interrupted at any checkpoint, maybe several times, and goes on gives the bytes of an undisturbed one.
func TestCheckpoints(t *testing.T) {
	d := newDir(t)
	runs := dividedRuns(t, d)
	s := newSet(51, 140_000, 4)
	runs["chunks of an array"] = []string{d.put("long.npy", s.scores(t)), "--labels", d.put("long-y.npy", s.labelFile(t)), "--metrics", "accuracy,nll,ece"}
	with := func(args []string, more ...string) []string {
		return append(append([]string{"eval", "--json"}, args...), more...)
	}
	cut := 0
	for name, args := range runs {
		t.Run(name, func(t *testing.T) {
			whole := printed(t, with(args, "--state", d.at("whole"))...)
			for _, shard := range [][]string{nil, {"--shard", "1/2"}} {
				want := whole
				if shard != nil {
					want = printed(t, with(args, append(shard, "--state", d.at("whole"))...)...)
				}
				flags := append(shard, "--checkpoint", d.at("checkpoint"), "--checkpoint-every", "1ns", "--resume", "--state", d.at("state"))
				for interrupted(t, 1, with(args, flags...)...) {
					cut++
				}
				got := printed(t, with(args, flags...)...)
				if got != want || !bytes.Equal(read(t, d.at("whole")), read(t, d.at("state"))) {
					t.Errorf("%v: another result: %s", shard, differing(got, want))
				}
				if _, err := os.Stat(d.at("checkpoint")); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the checkpoint is there at the end: %v", err)
				}
			}
		})
	}
	if !t.Failed() && cut < 25 {
		t.Errorf("%d interruptions", cut)
	}
}

// TestKilled: the same of processes that are killed at random moments, 100 times if nothing is left out. Nothing else is left then.
func TestKilled(t *testing.T) {
	program := build(t)
	d := newDir(t)
	text, rows, logits := newSet(52, 60_000, 3), newSet(55, 150_000, 1), newSet(56, 120_000, 5)
	runs := [][]string{
		{d.put("t.csv", text.table("p_", animals)), "--prob-prefix", "p_", "--label", "label", "--group", "site"},
		{d.put("x.npy", rows.scores(t)), "--labels", d.put("y.npy", rows.labelFile(t)), "--weights", d.put("w.npy", rows.weightFile(t))},
		{d.put("z.npy", logits.scores(t)), "--labels", d.put("l.npy", logits.labelFile(t)), "--metrics", "default,ace,sce"},
	}
	kills, most := 9, 12 // of all runs, and of one
	if check.Full() {
		kills = 100
	}
	files := d.list()
	r := rand.New(rand.NewPCG(5, 2))
	for i := 0; kills > 0; i++ {
		args := append(append([]string{"eval", "--json"}, runs[i%len(runs)]...), "--threads", fmt.Sprint(1+r.IntN(2)))
		began := time.Now()
		whole, err := exec.Command(program, append(args, "--state", d.at("whole"))...).Output()
		if err != nil {
			t.Fatal(err)
		}
		took, last := time.Since(began), ""
		for n := 0; ; n++ {
			c := exec.Command(program, append(args, "--state", d.at("state"), "--checkpoint", d.at("checkpoint"), "--checkpoint-every", "2ms", "--resume")...)
			var out, errs bytes.Buffer
			c.Stdout, c.Stderr = &out, &errs
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			wait := time.Duration(1.2 * r.Float64() * float64(took))
			if n >= most || kills == 0 {
				wait = time.Hour
			}
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
				if r.IntN(4) > 0 {
					c.Process.Kill()
				} else {
					_ = c.Process.Signal(syscall.SIGTERM)
				}
				err = <-ended
			case err = <-ended:
			}
			timer.Stop()
			if err == nil {
				last = out.String()
				break
			}
			if c.ProcessState.ExitCode() > 0 { // a signal has none
				t.Fatalf("after %d kills: %v, %s", n, err, errs.String())
			}
			if kills > 0 {
				kills--
			}
		}
		if last != string(whole) || !bytes.Equal(read(t, d.at("state")), read(t, d.at("whole"))) {
			t.Fatalf("%v: another result", args)
		}
		if want := append([]string{"state", "whole"}, files...); len(d.list()) != len(want) {
			t.Errorf("files are left: %v", d.list())
		}
	}
}

// TestTerminated: a signal that asks a run to end gets a checkpoint first, long before one is due.
func TestTerminated(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // which has no such signal
	}
	program := build(t)
	d, s := newDir(t), newSet(54, 200_000, 3)
	file := d.put("t.csv", s.table("p_", animals))
	for wait := 100 * time.Millisecond; ; wait = wait * 2 / 3 {
		// Eight times the file, so that it is still read by a fast machine when the signal comes.
		c := exec.Command(program, "eval", file, file, file, file, file, file, file, file, "--prob-prefix", "p_", "--label", "label", "--checkpoint", d.at("checkpoint"), "--checkpoint-every", "1h")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait)
		_ = c.Process.Signal(syscall.SIGTERM)
		err := c.Wait()
		if err == nil { // it had ended
			continue
		}
		if _, err := os.Stat(d.at("checkpoint")); err == nil {
			break
		}
		if wait < time.Millisecond {
			t.Fatalf("no checkpoint: %v", err)
		}
		if wait *= 2; wait > 10*time.Second { // it had not begun
			t.Fatal("no checkpoint")
		}
	}
	if l := d.list(); len(l) != 2 {
		t.Errorf("files are left: %v", l)
	}
}

// TestCheckpointUsage: a checkpoint of other files or flags is refused, and so is what could not go on.
func TestCheckpointUsage(t *testing.T) {
	d, s := newDir(t), newSet(53, 400, 3)
	a, b := d.put("a.npz", npz(t, "probs.npy", s.scores(t), "labels.npy", s.labelFile(t))), d.put("b.npz", npz(t, "probs.npy", s.scores(t), "labels.npy", s.labelFile(t)))
	k := d.at("checkpoint")
	flags := []string{"--checkpoint", k, "--checkpoint-every", "1ns"}
	with := func(args ...string) []string { return append(append([]string{"eval"}, args...), flags...) }
	check := func(want string, args ...string) {
		t.Helper()
		if code, _, errs := candor(t, args...); code != exitUsage && code != exitData || !strings.Contains(errs, want) {
			t.Errorf("%v: %d, %s", args, code, errs)
		}
	}
	if !interrupted(t, 1, with(a, b)...) {
		t.Fatal("no checkpoint")
	}
	check("the file exists; pass --resume", with(a, b)...)
	check("the files differ", with(a, "--resume")...)
	check("the files differ", with(b, a, "--resume")...)
	check("the flags differ from those of "+k+": there none, and now --bins 9", with(a, b, "--bins", "9", "--resume")...)
	check("the flags differ", with(a, b, "--on-invalid", "drop", "--resume")...)
	old := read(t, k)
	damaged := bytes.Clone(old)
	damaged[len(damaged)/2]++
	d.put("checkpoint", damaged)
	check("not a checkpoint that can be read", with(a, b, "--resume")...)
	d.put("checkpoint", []byte("text"))
	check("not a checkpoint that can be read", with(a, b, "--resume")...)
	d.put("checkpoint", old)
	// The same size, and one label is another.
	d.put("b.npz", npz(t, "probs.npy", s.scores(t), "labels.npy", s.label(1, 7).labelFile(t)))
	check("the files differ", with(a, b, "--resume")...)
	if err := os.Remove(k); err != nil {
		t.Fatal(err)
	}
	check("can be read only once", with("-", "--labels", a)...)
	check("--resume goes with --checkpoint", "eval", a, "--resume")
	check("--checkpoint-every goes with --checkpoint", "eval", a, "--checkpoint-every", "1m")
	check("a time above 0", "eval", a, "--checkpoint", k, "--checkpoint-every", "0s")
	check("no predictions are named", "eval", "--checkpoint", k)
	check("that file is read", "eval", a, "--checkpoint", a)
	check("keep every row", with(a, "--metrics", "aurc(exact)")...)
	check("does not go with --sequence", with(a, "--sequence", a)...)
	if got := withoutQueries("--labels https://h/y.npy?sig=abc, s3://b/k?x 'http://q?a=b'"); got != "--labels https://h/y.npy, s3://b/k 'http://q'" {
		t.Errorf("%s", got)
	}
}
