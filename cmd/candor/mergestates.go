package main

import (
	"encoding"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/sharding"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/report"
)

// mergeable is what states of one kind are read into.
type mergeable[E any] interface {
	encoding.BinaryUnmarshaler
	Merge(E) error
}

// merging is a merge of states of one kind.
type merging[E mergeable[E]] struct {
	magic string
	empty func() E // what a state is read into
	rows  func(E) int64
	begin func(E) error // called with the first state; an error stops the merge
	first string        // its file
}

// fewStates is the number of states above which several goroutines read them.
const fewStates = 16

// sumMemory is what a goroutine of a merge takes: its sum, the state that it reads, and garbage.
const sumMemory = 28 << 20

// all merges states, the first of which has been read.
func (m *merging[E]) all(c *cobra.Command, r *stateFiles, args []string, first []byte) (sum E, err error) {
	m.first = r.call(args[0])
	if sum, err = m.read(r, first, args[0]); err != nil {
		return sum, err
	}
	r.shards.seen(c, idOf(first), m.first, m.rows(sum))
	if err := m.begin(sum); err != nil {
		return sum, err
	}
	if r.shards.taken {
		return sum, m.takeOut(c, r, sum, args[1:])
	}
	args, begun := args[1:], args[0]
	threads := min(runtime.GOMAXPROCS(0), int((r.memory-fixedMemory)/sumMemory), len(args)/fewStates)
	if threads > 1 && r.once(args...) == "" {
		if others, each, ok := m.aside(r, args, threads); ok && sum.Merge(others) == nil {
			for i, path := range args {
				if err := r.shards.add(r.call(path), each[i].mark); err != nil {
					return sum, err
				}
				r.shards.seen(c, each[i].id, r.call(path), each[i].rows)
			}
			return sum, nil
		}
		// What is wrong is said by reading one state after another, so that every machine says the same. sum may be of other rows.
		if sum, err = m.read(r, first, begun); err != nil {
			return sum, err
		}
	}
	for _, path := range args {
		b, err := r.read(path)
		if err != nil {
			return sum, err
		}
		e, err := m.read(r, b, path)
		if err != nil {
			return sum, err
		}
		r.shards.seen(c, idOf(b), r.call(path), m.rows(e))
		if err := sum.Merge(e); err != nil {
			var differ *eval.MetricsError
			if m.magic == stateMagic && errors.As(err, &differ) {
				return sum, badAt(place{File: r.call(path), Remedy: "evaluate the shards with the same --metrics, or keep those that all have by candor merge --common"},
					"%s against %s: %w", m.first, r.call(path), err)
			}
			return sum, unlike(m.first, r.call(path), err)
		}
	}
	return sum, nil
}

// takeOut takes the rows of states out of sum.
func (m *merging[E]) takeOut(c *cobra.Command, r *stateFiles, sum E, paths []string) error {
	from := any(sum).(interface {
		Subtract(E) error
		OnGrid() bool
	})
	for _, path := range paths {
		name := r.call(path)
		b, shards, err := r.next(path)
		if err != nil {
			return err
		}
		e, err := m.read(r, b, path)
		if err != nil {
			return err
		}
		if err := from.Subtract(e); err != nil {
			return notTaken(m.first, name, err)
		}
		if err := r.shards.sum.Subtract(shards); err != nil {
			return badAt(place{File: name, Remedy: "take out a shard that was merged"}, "%s out of %s: %w", name, m.first, err)
		}
	}
	if from.OnGrid() {
		warn(c, "%s: scores stay on the grid that they were moved to when there were more rows; evaluate the %s rows that are left for exact ones",
			m.first, report.Count(m.rows(sum)))
	}
	return nil
}

// read reads a state.
func (m *merging[E]) read(r *stateFiles, b []byte, path string) (E, error) {
	e, name := m.empty(), r.call(path)
	other := map[string]string{stateMagic: groupsMagic, groupsMagic: stateMagic}[m.magic]
	if other != "" && strings.HasPrefix(string(b), other) {
		return e, badAt(place{File: name, Remedy: "evaluate both with the same --group, or without"}, "%s against %s: one has groups of rows, the other has none", m.first, name)
	}
	return e, decodeState(e, m.magic, b, name)
}

// mergedState is what is known of a state that was merged.
type mergedState struct {
	mark sharding.Mark
	id   stateID
	rows int64
}

// aside merges states in several goroutines. It is not ok if something is wrong.
func (m *merging[E]) aside(r *stateFiles, paths []string, threads int) (sum E, each []mergedState, ok bool) {
	each = make([]mergedState, len(paths))
	sums, some := make([]E, threads), make([]bool, threads)
	was := r.ahead
	r.threads = threads
	var next atomic.Int64
	var failed atomic.Bool
	var done sync.WaitGroup
	for t := range threads {
		done.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1) - 1)
				if i >= len(paths) {
					return
				}
				b, mark, err := r.next(paths[i])
				if err != nil {
					failed.Store(true)
					return
				}
				e, err := m.read(r, b, paths[i])
				if err == nil {
					if each[i] = (mergedState{mark, idOf(b), m.rows(e)}); some[t] {
						if err = sums[t].Merge(e); err == nil {
							giveBack(e)
						}
					} else {
						sums[t], some[t] = e, true
					}
				}
				if err != nil {
					failed.Store(true)
				}
			}
		})
	}
	done.Wait()
	r.threads = 1
	if failed.Load() {
		r.ahead = was
		return sum, nil, false
	}
	for t := range threads {
		switch {
		case !some[t]:
		case !ok:
			sum, ok = sums[t], true
		case sum.Merge(sums[t]) != nil:
			return sum, nil, false
		}
	}
	return sum, each, ok
}

// giveBack gives back the memory of a state that was merged.
func giveBack(e any) {
	if e, ok := e.(interface{ Release() }); ok {
		e.Release()
	}
}

// stateID tells states apart: the checksum in which each ends.
type stateID [8]byte

func idOf(state []byte) (id stateID) {
	copy(id[:], state[max(0, len(state)-len(id)):])
	return id
}
