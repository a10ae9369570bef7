//go:build linux

package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the tests' own program be the launcher.
func TestMain(m *testing.M) {
	if os.Getenv(launcher) != "" {
		os.Exit(launch(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// TestBig: exact logarithms and exponentials are those of package math, as far as that goes.
func TestBig(t *testing.T) {
	for _, x := range []float64{1e-300, 1e-7, 0.1, 0.5, 0.7, 1, 1.5, 3, 1e9} {
		if got, _ := bigLog(bigFloat(x)).Float64(); math.Abs(got-math.Log(x)) > 1e-15*math.Abs(math.Log(x)) {
			t.Errorf("ln %v = %v, and %v by package math", x, got, math.Log(x))
		}
	}
	for _, x := range []float64{-30, -1, -0x1p-40, 0, 0.3, 1, 12.5, 40} {
		if got, _ := bigExp(x).Float64(); math.Abs(got-math.Exp(x)) > 1e-15*math.Exp(x) {
			t.Errorf("exp %v = %v, and %v by package math", x, got, math.Exp(x))
		}
	}
}

// program returns a campaign with a command of our own, a script, and a folder for it.
func program(t *testing.T, script string) (c *campaign, dir string) {
	t.Helper()
	dir = t.TempDir()
	c = &campaign{seed: 1, dir: dir, candor: filepath.Join(dir, "candor")}
	if err := os.WriteFile(c.candor, []byte("#!/bin/sh\n"+script+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	return c, dir
}

// TestUnsound: the ways in which a command may misbehave are seen, and an error that is as it should be is none.
func TestUnsound(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'candor: t.csv: row 3: no label' >&2; exit 3": "",
		"exit 0": "",
		"exit 3": "without an error",
		"echo 'a fault of candor itself' >&2; exit 70":            "exit code 70",
		"echo 'panic: x\n\ngoroutine 1 [running]:' >&2; exit 2":   "a panic",
		"printf 'candor: \\033[31m' >&2; exit 2":                  "control characters",
		"kill -SEGV $$":                                           "signal",
		"exec head -c 300000000 /dev/zero | tail -c 1 >/dev/null": "MiB of memory",
	} {
		c, dir := program(t, script)
		o, err := c.measured(command{dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		most := int64(100 << 20)
		if strings.Contains(script, "tail") {
			most = 1 << 10
		}
		if got := o.unsound(most); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

// TestSealed: another answer from a damaged file is a fault if the file has a checksum, and none if it has not.
func TestSealed(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		c, dir := program(t, "cat file") // it answers with what the file says
		if err := write(dir, "file", []byte("0123456789")); err != nil {
			t.Fatal(err)
		}
		l := &table{}
		if err := c.damage(l, dir, specimen{name: "file", sealed: sealed}, false); err != nil {
			t.Fatal(err)
		}
		if sealed != (len(c.faults) > 100) || c.tries < 500 {
			t.Errorf("sealed %v: %d faults in %d tries", sealed, len(c.faults), c.tries)
		}
	}
}

// TestKilled: a command that writes its file in place is found out, by files that are half written.
func TestKilled(t *testing.T) {
	c, dir := program(t, `echo one >out; sleep 0.05; echo two >>out`)
	if err := write(dir, "in", nil); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o777); err != nil {
		t.Fatal(err)
	}
	c.full = true
	if err := c.kill(&table{}, home, "", "out", []byte("one\ntwo\n"), 9, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if len(c.faults) == 0 {
		t.Errorf("no fault in %d kills", c.tries)
	}
}

// TestMaul: damage is repeatable, and says what it is.
func TestMaul(t *testing.T) {
	whole := []byte("the quick brown fox")
	changed := 0
	for i := range uint64(200) {
		a, what := maul(whole, rand.New(rand.NewPCG(1, i)))
		b, _ := maul(whole, rand.New(rand.NewPCG(1, i)))
		if string(a) != string(b) || what == "" {
			t.Fatalf("%q, %q: %s", a, b, what)
		}
		if string(a) != string(whole) {
			changed++
		}
	}
	if changed < 150 {
		t.Errorf("%d of 200 are changed", changed)
	}
}

// TestTable: numbers stand to the right.
func TestTable(t *testing.T) {
	l := &table{head: []string{"what", "how many"}}
	l.add("a", thousands(1234567))
	l.add("b", "-")
	var b strings.Builder
	l.print(&b)
	if want := "| what | how many |\n| --- | ---: |\n| a | 1,234,567 |\n| b | - |\n"; b.String() != want {
		t.Errorf("%s", b.String())
	}
}

// TestPage: a trial that runs alone replaces its section and its row, and leaves those of others.
func TestPage(t *testing.T) {
	of := func(i int, text string) (string, section) {
		return trials[i].title, section{summary: "| [" + trials[i].title + "](#x) | " + text + " |", text: text + "\n\n| a |\n| --- |\n| " + text + " |\n"}
	}
	all := map[string]section{}
	for i := range trials {
		title, s := of(i, "before")
		all[title] = s
	}
	page := pageOf(all, nil)
	if again := pageOf(nil, sectionsOf(page)); string(again) != string(page) {
		t.Fatalf("what is read of a page is not what is in it:\n%s\n%s", page, again)
	}
	title, s := of(3, "after")
	got := string(pageOf(map[string]section{title: s}, sectionsOf(page)))
	// Its row, its text and its table.
	if strings.Count(got, "after |") != 2 || strings.Count(got, "before") != strings.Count(string(page), "before")-3 || len(got) != len(page)-3 {
		t.Errorf("%s", got)
	}
}

// TestCollection: the live memory is read from a line of the collector's trace.
func TestCollection(t *testing.T) {
	m := collection.FindStringSubmatch("gc 23 @1.5s 2%: 0.02+1.1+0.03 ms clock, 0.04+0.2/1.0/0.3+0.06 ms cpu, 120->131->57 MB, 128 MB goal, 0 MB stacks, 0 MB globals, 2 P")
	if m == nil || m[1] != "57" {
		t.Errorf("%q", m)
	}
}

// TestCrowd: a value that is off and rows that are not counted are faults.
func TestCrowd(t *testing.T) {
	c, of := &campaign{}, &crowd{name: "x", bounds: map[string]float64{"nll": 1e-7}}
	l := &table{}
	if err := c.crowd(l, "386", of, 10, "nll 0.5 0.50000001\nbrier 0.25 0.25\nrows 10 1.5\n"); err != nil || len(c.faults) > 0 || len(l.rows) != 2 {
		t.Errorf("%v, %q, %q", err, c.faults, l.rows)
	}
	if err := c.crowd(l, "386", of, 11, "nll 0.5 0.50001\nbrier 0.25 0.2500001\nrows 10 1.5\n"); err != nil || len(c.faults) != 3 {
		t.Errorf("%v, %q", err, c.faults)
	}
	if err := c.crowd(l, "386", of, 11, "killed"); err == nil {
		t.Error("no error")
	}
}

// TestDrawLoad: a picture has a point for each measurement in each of its two rows.
func TestDrawLoad(t *testing.T) {
	p := panel{name: "rows, of a kind"}
	p.add(1000, 0.02, 30)
	p.add(100_000, 1.7, 31)
	if got := strings.Count(string(drawLoad([]panel{p, p})), "<circle"); got != 8 {
		t.Errorf("%d points", got)
	}
}
