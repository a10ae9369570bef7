//go:build linux

// Command campaign tries to break candor and prints what it tried, how often, and what it found: docs/reliability.md.
//
//	go run ./internal/campaign [-full] [-seed N] [-only NAME,...] [-o FILE]
//
// Most trials run the command as its users do, and look at what it prints, what it leaves behind, and what it needs. A tenth is tried unless
// -full is given. Everything that is drawn at random comes from the seed; when a process is killed also depends on the machine.
// The exit code is 1 if there is a fault.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// trial is one way to try.
type trial struct {
	name  string // for -only
	title string
	about string // what is tried, and what counts as a fault
	run   func(c *campaign) (*table, error)
}

var trials = []trial{
	{"exact", "Exact sums", aboutExact, tryExact},
	{"order", "The same bytes in any order", aboutOrder, tryOrder},
	{"damage", "Damaged files", aboutDamage, tryDamage},
	{"hostile", "Hostile files", aboutHostile, tryHostile},
	{"changes", "Files that change while they are read", aboutChanges, tryChanges},
	{"kills", "Kills", aboutKills, tryKills},
	{"outputs", "Outputs that cannot be written", aboutOutputs, tryOutputs},
	{"load", "Load", aboutLoad, tryLoad},
	{"soak", "Commands that run for long", aboutSoak, trySoak},
}

func main() {
	if os.Getenv(launcher) != "" {
		os.Exit(launch(os.Args[1:]))
	}
	log.SetFlags(0)
	full := flag.Bool("full", false, "all trials; a tenth without it")
	seed := flag.Uint64("seed", 1, "of what is drawn at random")
	only := flag.String("only", "", "trials, by name, separated by commas")
	out := flag.String("o", "", "write the page to this file, rather than to standard output")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatal("campaign: no arguments are taken")
	}
	chosen, err := choose(*only)
	if err != nil {
		log.Fatal("campaign: ", err)
	}
	faults, page, err := runAll(chosen, *full, *seed)
	if err != nil {
		log.Fatal("campaign: ", err)
	}
	if *out == "" {
		os.Stdout.Write(page)
	} else if err := os.WriteFile(*out, page, 0o666); err != nil {
		log.Fatal("campaign: ", err)
	}
	if faults > 0 {
		os.Exit(1)
	}
}

// choose returns the trials of these names; all for none.
func choose(names string) ([]trial, error) {
	if names == "" {
		return trials, nil
	}
	var l []trial
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(trials, func(t trial) bool { return t.name == name })
		if i < 0 {
			var known []string
			for _, t := range trials {
				known = append(known, t.name)
			}
			return nil, fmt.Errorf("no trial is named %q; there are %s", name, strings.Join(known, ", "))
		}
		l = append(l, trials[i])
	}
	return l, nil
}

// runAll builds the command, runs trials, and returns the number of faults and the page.
func runAll(chosen []trial, full bool, seed uint64) (faults int, page []byte, err error) {
	dir, err := os.MkdirTemp("", "campaign-")
	if err != nil {
		return 0, nil, err
	}
	defer os.RemoveAll(dir)
	candor := filepath.Join(dir, "candor")
	if b, err := exec.Command("go", "build", "-o", candor, "github.com/candor-go/candor/cmd/candor").CombinedOutput(); err != nil {
		return 0, nil, fmt.Errorf("go build: %v\n%s", err, b)
	}
	var b, sections bytes.Buffer
	summary := &table{head: []string{"trial", "tried", "faults", "seconds"}}
	for i, t := range chosen {
		c := &campaign{full: full, seed: seed + uint64(i)<<32, dir: filepath.Join(dir, t.name), candor: candor}
		if err := os.Mkdir(c.dir, 0o777); err != nil {
			return faults, nil, err
		}
		start := time.Now()
		log.Printf("%s ...", t.title)
		l, err := t.run(c)
		if err != nil {
			return faults, nil, fmt.Errorf("%s: %w", t.name, err)
		}
		took := time.Since(start)
		log.Printf("%s: %s tried, %d faults, %.0f s", t.title, thousands(c.tries), len(c.faults), took.Seconds())
		faults += len(c.faults)
		summary.add(fmt.Sprintf("[%s](#%s)", t.title, anchor(t.title)), thousands(c.tries), thousands(int64(len(c.faults))), fmt.Sprintf("%.0f", took.Seconds()))
		fmt.Fprintf(&sections, "\n## %s\n\n%s\n\n", t.title, t.about)
		l.print(&sections)
		for i, f := range c.faults {
			if i == 0 {
				fmt.Fprintf(&sections, "\nFaults:\n\n")
			}
			if i == 50 {
				fmt.Fprintf(&sections, "- and %d more\n", len(c.faults)-i)
				break
			}
			fmt.Fprintf(&sections, "- %s\n", f)
			log.Printf("fault: %s", f)
		}
		os.RemoveAll(c.dir)
	}
	fmt.Fprintf(&b, "# Reliability\n\nWhat was tried to break candor, how often, and what was found. A fault is a crash, a hang, a wrong answer without an error, a file that is\nhalf written or left behind, or memory that grows with what should not need any.\n\n")
	command := "go run ./internal/campaign"
	if full {
		command += " -full"
	}
	fmt.Fprintf(&b, "`%s -seed %d` made this page, at commit %s, with %s on %s/%s and %d CPUs.", command, seed, commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if !full {
		fmt.Fprintf(&b, "\nIt is a tenth of the campaign; with `-full` all is tried.")
	}
	fmt.Fprintf(&b, " CI runs a tenth for each change, and fails if there\nis a fault.\n\n")
	summary.print(&b)
	b.Write(sections.Bytes())
	b.WriteString(elsewhere)
	return faults, b.Bytes(), nil
}

// commit names the commit that was built, and says if there are other changes.
func commit() string {
	b, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

const elsewhere = `
## Elsewhere

Other tests try other things, and run for every change too:

- **The same bits on every CPU.** 530 cases over every task (` + "`TestCorpus`" + `) give the same documents, states and files with AVX-512, AVX2, NEON and
  no assembly, on amd64, 386, arm64, s390x, riscv64 and WebAssembly. Some of these are emulated.
- **Memory of the assembly.** Each kernel reads and writes between pages that cannot be touched, at every length and offset, at every level.
  The same tests run with checked pointers, with the address sanitizer, and under thousands of signals and collections a second.
  A test reads the assembly itself: no function has a stack frame, and every read of a parameter or a constant is within it.
- **Fuzzing.** Targets of package fuzz and of the readers run for minutes in CI.
- **Intervals and p-values.** [Coverage](coverage.md) has how often intervals hold the true value, and how often a calibrated model is found to be off.
- **Engines.** Workers of Spark and Beam that die, raise and are killed: [more rows than one machine wants](scaling.md).
`
