package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/sharding"
)

// shardMarks are the shards that the states of a merge hold.
type shardMarks struct {
	expect int // the number of shards that there are; 0 if that is not said
	sum    sharding.Mark
	each   []markedState
	twins  map[stateID]string // the states without a mark
	whole  bool               // the last state has no mark
	taken  bool               // the states after the first are taken out of it
}

// markedState is a state with a mark.
type markedState struct {
	name string
	mark sharding.Mark
}

// add adds the mark of a state.
func (m *shardMarks) add(name string, mark sharding.Mark) error {
	if m.expect > 0 {
		if mark.Whole() && m.expect > 1 {
			return badAt(place{File: name, Remedy: "leave --expect out, or evaluate it with --shard"}, "%s is not a shard, and --expect is %d", name, m.expect)
		}
		for _, g := range mark.Held() {
			if g.Of != m.expect {
				return badAt(place{File: name, Remedy: "merge the shards of one run"}, "%s has shard %s of %d, and --expect is %d", name, g.String(), g.Of, m.expect)
			}
		}
	}
	if err := m.sum.Gather(mark); err != nil {
		var twice *sharding.TwiceError
		if !errors.As(err, &twice) {
			return err
		}
		other := "another state"
		for i := range m.each {
			if errors.As(m.each[i].mark.Add(mark), new(*sharding.TwiceError)) {
				other = m.each[i].name
				break
			}
		}
		return badAt(place{File: name, Remedy: "merge each shard once"}, "shard %d of %d is in %s and in %s", twice.Shard.Index, twice.Shard.Of, other, name)
	}
	if m.whole = mark.Whole(); !m.whole {
		m.each = append(m.each, markedState{name, mark})
	}
	return nil
}

// seen warns if the last state, which is no shard, equals another.
func (m *shardMarks) seen(c *cobra.Command, id stateID, name string, rows int64) {
	if !m.whole || rows == 0 {
		return
	}
	if twin, ok := m.twins[id]; ok {
		warn(c, "%s and %s are equal: are the same rows counted twice?", twin, name)
	}
	if m.twins == nil {
		m.twins = map[stateID]string{}
	}
	m.twins[id] = name
}

// empty reports whether merged shards have no rows, of which there is nothing to show. It is an error that all shards have none.
func (m *shardMarks) empty(c *cobra.Command, names string, rows int64) (done bool, err error) {
	switch {
	case rows > 0:
		return false, nil
	case m.taken:
		tell(c, "", "No rows are left.")
		return true, nil
	case m.sum.Whole():
		return false, fault(names, "check the files that were divided", "no shard has rows")
	}
	tell(c, "", "The merged shards have no rows.")
	return true, nil
}

// finish returns an error if shards are missing that --expect says there are, and warns of others.
func (m *shardMarks) finish(c *cobra.Command) error {
	m.sum.Settle()
	gaps := m.sum.Missing()
	if m.expect > 0 && len(gaps) > 1 {
		for i := range m.each[1:] {
			if a, b := m.each[0], m.each[i+1]; a.mark.Held()[0].Run != b.mark.Held()[0].Run {
				return badAt(place{File: b.name, Remedy: "merge the shards of one run"}, "%s and %s are shards of different files", a.name, b.name)
			}
		}
	}
	for _, g := range gaps {
		is := "are"
		if g.Count() == 1 {
			is = "is"
		}
		said := fmt.Sprintf("%d of %d shards %s missing: %s", g.Count(), g.Of, is, g.String())
		if m.expect > 0 {
			return badData(&placed{said + "; evaluate them, and merge all", place{Remedy: "evaluate them, and merge all"}, nil})
		}
		warn(c, "%s", said)
	}
	return nil
}

// write writes a merged state to a file, with the mark of its shards unless they are all there.
func (m *shardMarks) write(c *cobra.Command, to string, state io.WriterTo) error {
	if err := m.finish(c); err != nil || to == "" {
		return err
	}
	return writeTo(to, &marked{&m.sum, state})
}

// marked is a state with its mark.
type marked struct {
	mark  *sharding.Mark
	state io.WriterTo
}

func (m *marked) WriteTo(w io.Writer) (int64, error) {
	if m.mark.Whole() {
		return m.state.WriteTo(w)
	}
	var b bytes.Buffer
	if _, err := m.state.WriteTo(&b); err != nil {
		return 0, err
	}
	n, err := w.Write(m.mark.Wrap(b.Bytes()))
	return int64(n), err
}

// unmarked returns a state without its mark.
func unmarked(b []byte, name string) ([]byte, sharding.Mark, error) {
	state, mark, err := sharding.Unwrap(b)
	if err != nil {
		err = fault(name, "copy it again, or write it again with candor eval --state", "not a state that can be read: %v", strings.TrimPrefix(err.Error(), "shards: "))
	}
	return state, mark, err
}

// shardsOf describes a mark: "shard 3, 5-7 of 8".
func shardsOf(m *sharding.Mark) string {
	var l []string
	for _, g := range m.Held() {
		word := "shard"
		if g.Count() > 1 {
			word = "shards"
		}
		l = append(l, fmt.Sprintf("%s %s of %d", word, g.String(), g.Of))
	}
	return strings.Join(l, "; ")
}
