package main

import (
	"bytes"
	"encoding"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/candor-go/candor/internal/sharding"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/eval/grouped"
	"github.com/candor-go/candor/metrics/eval/multilabel"
	"github.com/candor-go/candor/metrics/eval/sliced"
	"github.com/candor-go/candor/report"
	"github.com/spf13/cobra"
)

func mergeCommand() *cobra.Command {
	var o output
	var to, maxMemory string
	var expect int
	var margin []string
	var common bool
	var files sources
	c := &cobra.Command{
		Use:   "merge STATE...",
		Short: "Merge the states of shards",
		Long: `Merge states that candor eval --state or candor compare --state wrote. The result equals, to the byte, that of a single
run over all rows; the order of the states does not matter. The states must agree in classes, type of scores, metrics,
options and group columns. --common keeps the metrics that all states have. "-" is standard input. -o writes the merged
state to a new file, which cannot be one of the inputs.

A shard of candor eval --shard that appears twice is an error; with --expect, so is a missing one. --fail-if, --require and
--report work as for candor eval; a gate on a metric that the states lack is an error. For states of candor compare,
--margin and --adjust can still be chosen.`,
		Example: `  candor merge shard-*.state
  candor merge monday.state tuesday.state -o week.state --json
  candor merge shard-*.state --expect 8
  candor merge january.state february.state --common
  candor merge monday.state tuesday.state --plot week.pdf
  candor merge monday-pair.state tuesday-pair.state --adjust max-t
  candor merge monday.state tuesday.state --fail-if 'ece.low>0.05' --report openmetrics=metrics.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("no state is named; name what candor eval --state FILE has written")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(c); err != nil {
				return err
			}
			if c.Flags().Changed("flips") {
				return usage("--flips: a state has no rows; candor compare --flips FILE writes those whose decisions differ")
			}
			if o.adjust != string(grouped.BH) {
				if _, err := adjustment(o.adjust); err != nil {
					return usage("--adjust is %q; it is holm, bh, or max-t for states of candor compare", o.adjust)
				}
			}
			if expect < 0 || expect > sharding.Most || expect == 0 && c.Flags().Changed("expect") {
				return usage("--expect is %d; it is the number of shards, from 1 to %d", expect, sharding.Most)
			}
			r, err := o.openStates(c, &files, to, maxMemory, args)
			if err != nil {
				return err
			}
			r.shards.expect = expect
			defer stayWithin(r.memory)()
			b, err := r.read(args[0])
			if err != nil {
				return err
			}
			if common && (strings.HasPrefix(string(b), compared.Magic) || strings.HasPrefix(string(b), multilabel.Magic) || strings.HasPrefix(string(b), sliced.Magic)) {
				return usage("--common is for states of one set of predictions; leave it out")
			}
			if strings.HasPrefix(string(b), compared.Magic) {
				how, err := adjustment(o.adjust)
				if err != nil {
					return err
				}
				return mergeComparisons(c, &o, to, args, b, r, margin, how)
			}
			if c.Flags().Changed("margin") {
				return usage("--margin is for states of candor compare; leave it out")
			}
			if strings.HasPrefix(string(b), multilabel.Magic) {
				return mergeLabels(c, &o, to, args, b, r)
			}
			if strings.HasPrefix(string(b), sliced.Magic) {
				return mergeSlices(c, &o, to, args, b, r)
			}
			var sum *eval.Evaluation
			var groups *grouped.Evaluation
			switch {
			case strings.HasPrefix(string(b), groupsMagic):
				if common {
					return usage("--common: %s has groups of rows, whose metrics are all kept; leave it out", files.call(args[0]))
				}
				if groups, err = o.mergeGroups(c, r, args, b); err == nil {
					sum = groups.Whole()
				}
			case common:
				m := merging[*inCommon]{magic: stateMagic, empty: func() *inCommon { return &inCommon{new(eval.Evaluation)} },
					rows:  func(e *inCommon) int64 { return e.Audit.Rows },
					begin: func(*inCommon) error { return nil }}
				var all *inCommon
				if all, err = m.all(c, r, args, b); err == nil {
					sum, err = all.Evaluation, o.fits(c, all.Evaluation, false)
				}
			default:
				sum, err = o.mergePlain(c, r, args, b)
			}
			if err != nil {
				return err
			}
			if err := r.shards.write(c, to, stateOf(sum, groups)); err != nil {
				return err
			}
			if done, err := r.shards.empty(c, files.calls(args), sum.Audit.Rows); done || err != nil {
				return err
			}
			return o.write(c, sum, groups, "")
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringVarP(&to, "output", "o", "", "write the merged state to `FILE`")
	c.Flags().IntVar(&expect, "expect", 0, "`NUMBER` of shards that candor eval --shard divided the rows into; a missing shard is an error")
	c.Flags().BoolVar(&common, "common", false, "keep the metrics that all states have; without this flag states with different metrics are an error")
	c.Flags().StringSliceVar(&margin, "margin", nil, "`METRIC=SIZE`: SIZE of a difference that does not matter, for states of candor compare")
	files.flags(c)
	o.flags(c)
	memoryFlag(c, &maxMemory)
	c.Flags().String("flips", "", "")
	if err := c.Flags().MarkHidden("flips"); err != nil { // an answer for those who try it
		panic(err)
	}
	return c
}

// mergePlain merges the states of one set, of which b is the first, or takes rows out of it.
func (o *output) mergePlain(c *cobra.Command, r *stateFiles, args []string, b []byte) (*eval.Evaluation, error) {
	m := merging[*eval.Evaluation]{magic: stateMagic, empty: func() *eval.Evaluation { return new(eval.Evaluation) },
		rows:  func(e *eval.Evaluation) int64 { return e.Audit.Rows },
		begin: func(e *eval.Evaluation) error { return o.fits(c, e, false) }}
	return m.all(c, r, args, b)
}

// mergeGroups is mergePlain for the states of groups.
func (o *output) mergeGroups(c *cobra.Command, r *stateFiles, args []string, b []byte) (*grouped.Evaluation, error) {
	m := merging[*grouped.Evaluation]{magic: groupsMagic, empty: func() *grouped.Evaluation { return new(grouped.Evaluation) },
		rows: func(g *grouped.Evaluation) int64 { return g.Whole().Audit.Rows },
		begin: func(g *grouped.Evaluation) error {
			o.plot.grouped = true
			return o.fits(c, g.Whole(), true)
		}}
	return m.all(c, r, args, b)
}

// openStates checks the files that merge and subtract read and write, and opens the states.
func (o *output) openStates(c *cobra.Command, files *sources, to, maxMemory string, args []string) (*stateFiles, error) {
	if err := files.check(args...); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(args, func(p string) bool { return strings.Contains(p, "://") }); i >= 0 {
		return nil, usage("%s: states are files, and not read from URLs; copy it first, or pipe one in as -", withoutQueries(args[i]))
	}
	if name, n := files.twice(args); n > 1 {
		return nil, about(usage("%s is named %d times, and can be read once; name it once", name, n), name)
	}
	if err := o.checkQuiet("-o", to); err != nil {
		return nil, err
	}
	if err := checkFile("-o", to, args...); err != nil {
		return nil, err
	}
	if err := o.plot.checkFile("-o", to, args...); err != nil {
		return nil, err
	}
	if err := o.reports.check(c, map[string]string{"-o": to, "--plot": o.plot.file}, args...); err != nil {
		return nil, err
	}
	return openStates(files, maxMemory, c.InOrStdin(), args)
}

// maxState limits the size of a state that is read.
const maxState = 1 << 30

// The memory of a merge.
const (
	mergeFixed = 24 << 20 // the program itself
	stateTimes = 6        // per byte of a state: the bytes, the decoded state, and its encoding again for comparison
	cellTimes  = 3        // per byte of exact cells, which states hold packed: as they are read, and copies while they are merged
)

// stateFiles reads the files of a merge, and keeps within --max-memory together with what has been merged.
type stateFiles struct {
	*sources
	stdin  io.Reader
	memory int64
	shards shardMarks

	mu      sync.Mutex
	ahead   int64 // bytes of the files not yet read, as far as known
	threads int   // that read states
	heap    int64 // what it was when it was looked at, and what was read since then takes at most
	largest int64 // of what a state takes
}

func openStates(files *sources, maxMemory string, stdin io.Reader, paths []string) (*stateFiles, error) {
	memory, err := parseSize(maxMemory)
	if err != nil {
		return nil, err
	}
	if memory < leastMemory {
		return nil, usage(littleMemory)
	}
	r := &stateFiles{sources: files, stdin: stdin, memory: memory, threads: 1, heap: memory}
	for _, p := range paths {
		r.ahead += sizeOf(p)
	}
	return r, nil
}

// sizeOf returns the size of a regular file, 0 for anything else.
func sizeOf(path string) int64 {
	if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
		return fi.Size()
	}
	return 0
}

// read reads the next state that is merged.
func (r *stateFiles) read(path string) ([]byte, error) {
	b, mark, err := r.next(path)
	if err != nil {
		return nil, err
	}
	return b, r.shards.add(r.call(path), mark)
}

// next reads the next state, and the shards that it holds.
func (r *stateFiles) next(path string) (state []byte, mark sharding.Mark, err error) {
	known := sizeOf(path)
	if err := r.room(path, known, 0); err != nil {
		return nil, mark, err
	}
	b, err := r.readFile(r.stdin, path, min(maxState, r.memory/stateTimes))
	if err != nil {
		return nil, mark, err
	}
	r.mu.Lock()
	r.ahead -= known
	r.mu.Unlock()
	if state, mark, err = unmarked(b, r.call(path)); err != nil {
		return nil, mark, err
	}
	return state, mark, r.room(path, int64(len(b)), cells.MemoryOf(b))
}

// room returns an error if there is no memory for a state of this size, with this memory of cells. The heap is looked at only if there might be
// none if nothing that was read had been given back.
func (r *stateFiles) room(path string, size, packed int64) error {
	if size > maxState {
		return nil // another error follows
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	takes := stateTimes*size + cellTimes*packed
	r.largest = max(r.largest, takes)
	if r.heap += takes; mergeFixed+r.heap <= r.memory {
		return nil
	}
	for range 2 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if r.heap = int64(m.HeapAlloc) + int64(r.threads-1)*r.largest + takes; mergeFixed+r.heap <= r.memory {
			return nil
		}
		runtime.GC() // it may be garbage
	}
	// The merged state exists twice while it grows, and while answers are computed.
	more := max(size, r.ahead)
	need := mergeFixed + 2*(r.heap-takes) + stateTimes*more + int64(cellTimes*float64(packed)*float64(more)/float64(max(size, 1)))
	return about(usage("%s: there is no room for this state of %s bytes beside what is merged; pass --max-memory %dMiB, which has room for all",
		r.call(path), report.Count(size), need>>20+1), r.call(path))
}

// stateOf returns the state of an evaluation, or of its groups if there are any.
func stateOf(e *eval.Evaluation, groups *grouped.Evaluation) io.WriterTo {
	if groups != nil {
		return groups
	}
	return e
}

// decodeGroups reads the state of an evaluation, or of a grouped one.
func decodeGroups(b []byte, path string) (*eval.Evaluation, *grouped.Evaluation, error) {
	e := new(eval.Evaluation)
	if !bytes.HasPrefix(b, []byte(groupsMagic)) {
		return e, nil, decodeState(e, stateMagic, b, path)
	}
	g := new(grouped.Evaluation)
	if err := decodeState(g, groupsMagic, b, path); err != nil {
		return nil, nil, err
	}
	// A copy, which is merged separately.
	whole, err := g.Whole().AppendBinary(nil)
	if err != nil {
		return nil, nil, err
	}
	return e, g, e.UnmarshalBinary(whole)
}

// unlike returns the error for two states that cannot be merged.
func unlike(first, other string, err error) error {
	var l *eval.LeanError
	if errors.As(err, &l) {
		return badAt(place{File: other, Remedy: "evaluate both with the same --metrics, and both with --html or --plot or without"}, "%s against %s: %w", first, other, err)
	}
	var m *eval.MemoryError
	if errors.As(err, &m) {
		return badAt(place{File: other, Remedy: "evaluate the shards with the same --max-memory"},
			"%s against %s: one was made with --max-memory %s and one with %s, which bounds the scores that adaptive metrics and average= keep", first, other, memoryOf(m.A), memoryOf(m.B))
	}
	return badAt(place{File: other, Remedy: "evaluate the shards with the same options, and merge like with like"}, "%s against %s: %w", first, other, err)
}

// decodeState reads a state that begins with magic.
func decodeState(e encoding.BinaryUnmarshaler, magic string, b []byte, path string) error {
	if err := e.UnmarshalBinary(b); err != nil {
		remedy := "copy it again, or write it again with candor eval --state"
		switch {
		case len(b) == 0:
			err = errors.New("empty file")
		case errors.Is(err, eval.ErrVersion):
			remedy = "read it with the candor that wrote it, or evaluate the rows again with this one; use one version everywhere"
		case isMagic(b) && !strings.HasPrefix(string(b), magic):
			remedy = "states of one set, of slices (--slice-by), of several labels (--task multilabel) and of candor compare are not merged with each other"
		case !isMagic(b):
			return fault(path, "name a file that candor eval --state has written; predictions go to candor eval", "not a state that can be read: it begins with %.20q", b[:min(len(b), 20)])
		}
		return fault(path, remedy, "not a state that can be read: %v", err)
	}
	return nil
}

// readFile reads a state of up to most bytes. If the file does not begin as a state, it reads only the beginning.
func (s *sources) readFile(stdin io.Reader, path string, most int64) ([]byte, error) {
	head, rest, size, err := s.open(stdin, path)
	if err != nil {
		return nil, err
	}
	defer rest.Close()
	if !isMagic(head) {
		return head, nil
	}
	return s.readRest(head, rest, path, size, most)
}

// open opens a file that may be a state, and reads its beginning. size is 0 for a pipe.
func (s *sources) open(stdin io.Reader, path string) (head []byte, rest io.ReadCloser, size int64, err error) {
	rest = io.NopCloser(stdin)
	if path != "-" {
		var fi os.FileInfo
		var f *os.File
		switch fi, err = os.Stat(path); {
		case err != nil:
		case fi.IsDir():
			return nil, nil, 0, fault(s.call(path), "name the state files in it", "is a directory")
		default:
			f, err = os.Open(path)
		}
		if err != nil {
			return nil, nil, 0, s.cannotRead(path, err)
		}
		rest, size = f, sizeOf(path)
	}
	head = make([]byte, 64)
	n, err := io.ReadFull(rest, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		rest.Close()
		return nil, nil, 0, s.cannotRead(path, err)
	}
	return head[:n], rest, size, nil
}

// readRest reads the rest of a state.
func (s *sources) readRest(head []byte, rest io.Reader, path string, size, most int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(size, most)) + bytes.MinRead) // avoids growing
	b.Write(head)
	if _, err := b.ReadFrom(io.LimitReader(rest, most+1-int64(len(head)))); err != nil {
		return nil, s.cannotRead(path, err)
	}
	if int64(b.Len()) > most {
		return nil, fault(s.call(path), "candor merge takes what candor eval --state has written", "more than %d bytes are too many for a state", most)
	}
	return b.Bytes(), nil
}

func (s *sources) cannotRead(path string, err error) error {
	return fault(s.call(path), "check the name and the permissions", "%v", unwrapPath(err))
}

// The first bytes of states, of an evaluation and of a grouped one; multilabel and compared have their own.
const stateMagic, groupsMagic = "cSTA", "cGRP"

// isMagic reports whether a file begins as a state does.
func isMagic(b []byte) bool {
	return slices.ContainsFunc([]string{stateMagic, groupsMagic, multilabel.Magic, compared.Magic, sliced.Magic, sharding.Magic}, func(m string) bool { return strings.HasPrefix(string(b), m) })
}

// unwrapPath removes the path from an error whose message would name it twice.
func unwrapPath(err error) error {
	var p *os.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// inCommon is an evaluation that merges with those of other metrics: it keeps the metrics that both have.
type inCommon struct{ *eval.Evaluation }

func (a *inCommon) Merge(b *inCommon) (err error) {
	list := eval.Common(a.Spec.Metrics, b.Spec.Metrics)
	if len(list) == 0 {
		return errors.New("they have no metric in common")
	}
	var x, y *eval.Evaluation
	if x, err = a.Narrow(list); err == nil {
		y, err = b.Narrow(list)
	}
	if err == nil {
		err = x.Merge(y)
	}
	if err == nil {
		a.Evaluation = x
	}
	return err
}

// fits returns the reason why what is asked of merged states has no answer.
func (o *output) fits(c *cobra.Command, e *eval.Evaluation, grouped bool) error {
	if lost := e.Spec.LeftOut(); o.reports.page.file != "" && lost != nil {
		return usage("--html: a page shows what was not kept for these metrics alone: %s; evaluate with --metrics default, or with --html itself", strings.Join(lost, ", "))
	}
	if err := o.plot.ready(e); err != nil {
		return err
	}
	return o.gatesFit(c, e.Answered(), e.Spec.Shape(), grouped)
}
