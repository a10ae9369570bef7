// Command levels holds the record of what each level's assembly was last proven on. A machine without AVX-512 cannot run
// that level's code, so a pass there says nothing of it: the record says whether the code, the Go definition that it has to
// equal and the tests that compare the two are still those that passed where the level did run.
//
//	levels                     compares the record with the source; 1 if a line differs
//	levels -update             runs the tests of lines that differ where this machine can, and records all that passed
//	levels -table              prints the present lines, a test each: what -passed takes
//	levels -passed TABLE LOG   remembers what a log of go test -json says passed; TABLE was printed before the tests ran
//
// The record is kernel/asm/levels.txt. What passed is remembered outside the repository, by its hashes, in the user's
// cache folder: a pass in one checkout counts in any other that has the same code.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	update := flag.Bool("update", false, "run the tests of lines that differ, and record what passed")
	table := flag.Bool("table", false, "print the present lines, a test each")
	passed := flag.String("passed", "", "a `table` printed before the tests whose logs are the arguments")
	flag.Parse()
	if err := run(*update, *table, *passed, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "levels:", err)
		os.Exit(1)
	}
}

func run(update, table bool, passed string, logs []string) error {
	store, err := openStore()
	if err != nil {
		return err
	}
	if passed != "" {
		lines, err := readTable(passed)
		if err != nil {
			return err
		}
		return store.remember(lines, logs)
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	now, err := present(root)
	if err != nil {
		return err
	}
	if table {
		for _, k := range now {
			for _, t := range k.tests {
				fmt.Println(proof{k.level, t.name, k.name, k.code, k.definition, t.hash})
			}
		}
		return nil
	}
	recorded, err := readRecord(root)
	if err != nil {
		return err
	}
	stale := differing(now, recorded)
	if len(stale) > 0 && update {
		if err := prove(root, store, stale); err != nil {
			return err
		}
		if stale = slices.DeleteFunc(stale, store.proves); len(stale) == 0 {
			return writeRecord(root, now)
		}
		return fmt.Errorf("%d lines stand unproven, and this CPU does not have their level. This runs their tests on an emulated one:\n  .ci/bochs %s",
			len(stale), strings.Join(testsOf(stale), " "))
	}
	if len(stale) == 0 {
		if gone := len(recorded) - len(now); gone > 0 {
			if update {
				return writeRecord(root, now)
			}
			return fmt.Errorf("%s has %d lines of kernels that are no more: .ci/levels -update takes them out", recordName, gone)
		}
		fmt.Printf("levels: the code of %d kernels is what was proven\n", len(now))
		return nil
	}
	for i, k := range stale {
		if i == 20 {
			fmt.Printf("and %d more\n", len(stale)-i)
			break
		}
		fmt.Printf("%-6s %-24s %s\n", k.level, k.name, k.change(recorded))
	}
	return fmt.Errorf("%d lines of %s are not what was proven: .ci/levels -update runs their tests and records them", len(stale), recordName)
}

// A kernel is one assembly function at one level, with the hashes of everything that must be unchanged for an earlier pass
// to count.
type kernel struct {
	level, name string
	code        string // of its instructions and constants
	definition  string // of the Go code that reaches it, including the definition
	tests       []test // tests that compare the two, by name
}

type test struct{ name, hash string }

// line returns the kernel's line in the record.
func (k kernel) line() string {
	return strings.Join([]string{k.level, k.name, k.code, k.definition, k.testsHash()}, " ")
}

func (k kernel) testsHash() string {
	h := newHash()
	for _, t := range k.tests {
		h.add(t.hash)
	}
	return h.sum()
}

// change describes how the kernel differs from its line in the record.
func (k kernel) change(recorded map[string]string) string {
	f := strings.Fields(recorded[k.level+" "+k.name])
	if len(f) == 0 {
		return "is new"
	}
	var what []string
	for i, now := range []string{k.code, k.definition, k.testsHash()} {
		if f[2+i] != now {
			what = append(what, [...]string{"instructions", "Go definition", "comparison tests"}[i])
		}
	}
	return "other " + strings.Join(what, ", ")
}

// differing returns the kernels whose line in the record differs or is missing.
func differing(now []kernel, recorded map[string]string) (stale []kernel) {
	for _, k := range now {
		if recorded[k.level+" "+k.name] != k.line() {
			stale = append(stale, k)
		}
	}
	return stale
}

// testsOf returns the sorted names of the tests that compare any of the kernels.
func testsOf(kernels []kernel) (names []string) {
	for _, k := range kernels {
		for _, t := range k.tests {
			names = append(names, t.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// present returns the kernels of the current source, by level and name.
func present(root string) ([]kernel, error) {
	g, err := loadKernels(root)
	if err != nil {
		return nil, err
	}
	reaches := g.reaches()
	var all []kernel
	for _, l := range levels {
		code, err := assemble(root, l)
		if err != nil {
			return nil, err
		}
		for name, hash := range code {
			r := reaches[name]
			if r == nil || r.definitions == nil {
				return nil, fmt.Errorf("%s: no exported function of the kernels reaches %s", l.name, name)
			}
			if r.tests == nil {
				return nil, fmt.Errorf("%s: no test named TestLevels... reaches %s", l.name, name)
			}
			all = append(all, kernel{l.name, name, hash, r.definition(), r.tests})
		}
	}
	slices.SortFunc(all, func(a, b kernel) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.name, b.name))
	})
	return all, nil
}
