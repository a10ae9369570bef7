//go:build linux

// Command campaign tries to break candor and prints what it tried, how often, and what it found: docs/reliability.md.
//
//	go run ./internal/campaign [-full] [-seed N] [-only NAME,...] [-soak DURATION] [-o FILE]
//
// With -only, the sections of other trials in FILE are kept, so that trials of hours can be run one by one, each at its commit.
// Most trials run the command as its users do, and look at what it prints, what it leaves behind, and what it needs. A tenth is tried unless
// -full is given. Everything that is drawn at random comes from the seed; when a process is killed also depends on the machine.
// The exit code is 1 if there is a fault.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	{"many", "More rows than 32 bits count", aboutMany, tryMany},
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
	if of := os.Getenv(crowded); of != "" {
		var i int
		var seed uint64
		if _, err := fmt.Sscan(of, &i, &seed); err != nil {
			log.Fatal("campaign: ", err)
		}
		if err := printCrowd(&crowds[i], crowdBlocks, seed); err != nil {
			log.Fatal("campaign: ", err)
		}
		return
	}
	full := flag.Bool("full", false, "all trials; a tenth without it")
	seed := flag.Uint64("seed", 1, "of what is drawn at random")
	only := flag.String("only", "", "trials, by name, separated by commas")
	out := flag.String("o", "", "write the page to this file, rather than to standard output")
	soaks := flag.Duration("soak", 0, "how long commands run that run for long: 20s, or an hour with -full, unless it is set")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatal("campaign: no arguments are taken")
	}
	chosen, err := choose(*only)
	if err != nil {
		log.Fatal("campaign: ", err)
	}
	var old []byte
	if *only != "" && *out != "" {
		if old, err = os.ReadFile(*out); err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Fatal("campaign: ", err)
		}
	}
	faults, ran, err := runAll(chosen, *full, *seed, *soaks)
	if err != nil {
		log.Fatal("campaign: ", err)
	}
	page := pageOf(ran, sectionsOf(old))
	if *out == "" {
		os.Stdout.Write(page)
	} else if err := save(*out, page, ran); err != nil {
		log.Fatal("campaign: ", err)
	}
	if faults > 0 {
		os.Exit(1)
	}
}

// save writes a page and its pictures.
func save(name string, page []byte, ran map[string]section) error {
	if err := os.WriteFile(name, page, 0o666); err != nil {
		return err
	}
	if filepath.Ext(name) != ".md" {
		return nil // nobody looks at the page
	}
	for _, s := range ran {
		if s.picture == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(name), s.picture), s.pictured, 0o666); err != nil {
			return err
		}
	}
	return nil
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

// section is the part of a page that reports a trial.
type section struct {
	summary string // its row of the first table
	text    string

	picture  string // its file, beside the page, if it has one that was drawn anew
	pictured []byte
}

// runAll builds the command, runs trials, and returns the number of faults and the sections of a page, by title.
func runAll(chosen []trial, full bool, seed uint64, soaks time.Duration) (faults int, ran map[string]section, err error) {
	dir, err := os.MkdirTemp("", "campaign-")
	if err != nil {
		return 0, nil, err
	}
	defer os.RemoveAll(dir)
	candor := filepath.Join(dir, "candor")
	if b, err := exec.Command("go", "build", "-o", candor, "github.com/candor-go/candor/cmd/candor").CombinedOutput(); err != nil {
		return 0, nil, fmt.Errorf("go build: %v\n%s", err, b)
	}
	ran = map[string]section{}
	for _, t := range chosen {
		i := slices.IndexFunc(trials, func(o trial) bool { return o.name == t.name }) // whichever are run, a trial has its seed
		c := &campaign{full: full, seed: seed + uint64(i)<<32, dir: filepath.Join(dir, t.name), candor: candor, soaks: soaks}
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
		part := "a tenth"
		if full {
			part = "all"
		}
		if t.name == "soak" && soaks > 0 {
			part = soaks.String() + " of an hour"
		}
		summary := fmt.Sprintf("| [%s](#%s) | %s | %s | %s | %.0f | %s |", t.title, anchor(t.title), part, thousands(c.tries), thousands(int64(len(c.faults))), took.Seconds(), commit())
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s\n\n", t.about)
		l.print(&b)
		for i, f := range c.faults {
			if i == 0 {
				fmt.Fprintf(&b, "\nFaults:\n\n")
			}
			if i == 50 {
				fmt.Fprintf(&b, "- and %d more\n", len(c.faults)-i)
				break
			}
			fmt.Fprintf(&b, "- %s\n", f)
			log.Printf("fault: %s", f)
		}
		ran[t.title] = section{summary, b.String(), c.picture, c.pictured}
		os.RemoveAll(c.dir)
	}
	return faults, ran, nil
}

// sectionsOf are the sections of a page, by title.
func sectionsOf(page []byte) map[string]section {
	l := map[string]section{}
	for _, text := range strings.Split(string(page), "\n## ")[1:] {
		title, text, _ := strings.Cut(text, "\n\n")
		row := regexp.MustCompile(`(?m)^\| \[` + regexp.QuoteMeta(title) + `\].*$`).FindString(string(page))
		l[title] = section{summary: row, text: text}
	}
	return l
}

// pageOf is the page of the trials that ran, and of the old page's for others.
func pageOf(ran, old map[string]section) []byte {
	var b, sections bytes.Buffer
	fmt.Fprintf(&b, head, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, t := range trials {
		s, ok := ran[t.title]
		if !ok {
			if s, ok = old[t.title]; !ok {
				continue
			}
		}
		fmt.Fprintln(&b, s.summary)
		fmt.Fprintf(&sections, "\n## %s\n\n%s\n", t.title, strings.TrimRight(s.text, "\n"))
	}
	b.Write(sections.Bytes())
	b.WriteString(elsewhere)
	return b.Bytes()
}

const head = `# Reliability

What was tried to break candor, how often, and what was found. A fault is a crash, a hang, a wrong answer without an error, a file that is
half written or left behind, or memory that grows with what should not need any.

` + "`go run ./internal/campaign -seed 1`" + ` makes this page, with %s on %s/%s and %d CPUs. CI runs a tenth of each trial for each change, and
fails if there is a fault; ` + "`-full` runs all, and `-only NAME -o docs/reliability.md`" + ` one trial, whose section it replaces.

| trial | part | tried | faults | seconds | commit |
| --- | --- | ---: | ---: | ---: | --- |
`

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
- **Fuzzing.** Targets of package fuzz, of the readers and of the states run for minutes in CI.
- **The Python package.** The command's input from Python is cut, changed and lengthened on its way, the command is killed at several moments, its
  output is replaced, and the process that feeds it is killed (` + "`python/tests/test_damage.py`" + `): the answer is that of the bytes that arrived, or there is an error
  of the package, and no process is left.
- **Intervals and p-values.** [Coverage](coverage.md) has how often intervals hold the true value, and how often a calibrated model is found to be off.
- **Engines.** Workers of Spark and Beam that die, raise and are killed: [more rows than one machine wants](scaling.md). On Spark the command of a task is
  killed too, its executor while the command runs, and shards' states arrive cut, changed, empty or with other metrics (` + "`python/tests/test_spark.py`" + `): every row
  is counted once, or the job fails.
`
