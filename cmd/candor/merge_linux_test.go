package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// TestMergeMemory: a merge stays within --max-memory, or says how much it takes before it has taken more.
func TestMergeMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it merges states of 100 MB")
	}
	bin, d := build(t), newDir(t)
	s := newSet(1, 20_000, 20)
	printed(t, "eval", d.put("x.npy", s.scores(t)), "--labels", d.put("y.npy", s.labelFile(t)), "--metrics", "ace", "--state", d.at("a.state"))
	args := slices.Repeat([]string{d.at("a.state")}, 24) // which keep the scores of all rows
	merge := func(memory string) *exec.Cmd {
		c := exec.Command(bin, append([]string{"merge", "--max-memory", memory}, args...)...)
		c.Stderr = new(bytes.Buffer)
		return c
	}
	c := merge("56MiB")
	err := c.Run()
	errs := c.Stderr.(*bytes.Buffer).String()
	need := regexp.MustCompile(`there is no room for this state of [0-9,]+ bytes beside what is merged; pass --max-memory ([0-9]+)MiB, which has room for all`).FindStringSubmatch(errs)
	if c.ProcessState.ExitCode() != exitUsage || need == nil {
		t.Fatalf("%v: %s", err, errs)
	}
	most, err := strconv.ParseInt(need[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	kib := peak(t, merge(need[1]+"MiB"))
	t.Logf("%d MiB resident, and %d were asked for", kib>>10, most)
	if kib > most<<10*11/10 {
		t.Errorf("%d MiB resident at most, much more than %d", kib>>10, most)
	}
}
