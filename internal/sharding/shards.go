// Package sharding divides a run among machines, and keeps with a state which shards of a divided run it holds, so that a merge finds those
// that are missing or there twice.
//
// The mark stands around the bytes of a state of any kind. A state that holds all shards of its run has none: its bytes are those of an
// undivided run.
package sharding

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/exact"
)

// Most is the greatest number of shards of a run.
const Most = 10_000_000

// Shard is one of several, numbered from 0. The zero value is the whole of an undivided run.
type Shard struct{ Index, Of int }

// String returns "2/8".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// The words of Parse for shards that an engine numbers.
const (
	Slurm      = "slurm"
	Kubernetes = "k8s/"
)

// The variables of the environment that engines set.
const (
	slurmID    = "SLURM_ARRAY_TASK_ID"
	slurmMin   = "SLURM_ARRAY_TASK_MIN"
	slurmStep  = "SLURM_ARRAY_TASK_STEP"
	slurmCount = "SLURM_ARRAY_TASK_COUNT"
	indexedJob = "JOB_COMPLETION_INDEX"
)

// Parse returns the shard that a text names: "i/n"; "slurm", the task of a job array; or "k8s/n", the completion of an Indexed Job. getenv
// returns a variable of the environment, "" if it is not set.
func Parse(text string, getenv func(string) string) (Shard, error) {
	number := func(variable, remedy string) (int64, error) {
		v := getenv(variable)
		if v == "" {
			return 0, fmt.Errorf("%s is not set; %s", variable, remedy)
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%s is %q; it is a number from 0", variable, v)
		}
		return n, nil
	}
	index, of, both := strings.Cut(text, "/")
	var s Shard
	switch {
	case text == Slurm:
		const remedy = "submit the job as an array of tasks, as 0-7"
		var n [4]int64
		for i, v := range []string{slurmID, slurmMin, slurmStep, slurmCount} {
			var err error
			if n[i], err = number(v, remedy); err != nil {
				return s, err
			}
		}
		id, least, step, count := n[0], n[1], n[2], n[3]
		if step < 1 || id < least || (id-least)%step != 0 || (id-least)/step >= count {
			return s, fmt.Errorf("task %d is none of %d tasks from %d in steps of %d; arrays that are lists, as 1,4,9, have no such order: %s", id, count, least, step, remedy)
		}
		return of64((id-least)/step, count)
	case strings.HasPrefix(text, Kubernetes):
		i, err := number(indexedJob, "run it in a Job of completionMode: Indexed")
		if err != nil {
			return s, err
		}
		n, err := strconv.ParseInt(of, 10, 64)
		if err != nil {
			return s, fmt.Errorf("%q is not a number of completions", of)
		}
		return of64(i, n)
	}
	i, err := strconv.ParseInt(index, 10, 64)
	n, err2 := strconv.ParseInt(of, 10, 64)
	if !both || err != nil || err2 != nil {
		return s, errors.New("it is I/N, counted from 0, such as 0/8; or slurm, or k8s/N")
	}
	return of64(i, n)
}

func of64(i, n int64) (Shard, error) {
	switch {
	case n < 1 || n > Most:
		return Shard{}, fmt.Errorf("%d shards; there are from 1 to %d", n, Most)
	case i < 0 || i >= n:
		return Shard{}, fmt.Errorf("shard %d of %d; they are numbered from 0 to %d", i, n, n-1)
	}
	return Shard{int(i), int(n)}, nil
}

// Run identifies a divided run: what it reads, and in how many shards.
type Run struct {
	ID [16]byte
	Of int
}

// held are the shards of a run that a state holds, as ranges that neither touch nor overlap, in order: from, and up to before to.
type held struct {
	Run
	ranges [][2]int
}

// Mark says which shards of which runs a state holds. The zero value is that of a state without a mark, which holds all that it should.
type Mark struct{ runs []held }

// New returns the mark of one shard. That of the only shard of a run is none.
func New(id [16]byte, s Shard) Mark {
	if s.Of <= 1 {
		return Mark{}
	}
	return Mark{[]held{{Run{id, s.Of}, [][2]int{{s.Index, s.Index + 1}}}}}
}

// Whole reports whether there is no mark.
func (m *Mark) Whole() bool { return len(m.runs) == 0 }

// TwiceError reports a shard that two states hold.
type TwiceError struct{ Shard Shard }

func (e *TwiceError) Error() string {
	return fmt.Sprintf("shard %v is in both", e.Shard)
}

// Add adds the shards of another mark. A run that is whole then leaves the mark. If a shard is in both, it returns a *TwiceError and
// changes nothing.
func (m *Mark) Add(o Mark) error {
	err := m.Gather(o)
	if err == nil {
		m.Settle()
	}
	return err
}

// Gather is Add, but runs that are whole stay until Settle, so that a shard that is added once more is noticed.
func (m *Mark) Gather(o Mark) error {
	runs := slices.Clone(m.runs)
	for _, h := range o.runs {
		i, found := slices.BinarySearchFunc(runs, h.Run, func(a held, b Run) int { return compare(a.Run, b) })
		if !found {
			runs = slices.Insert(runs, i, h)
			continue
		}
		both, twice := union(runs[i].ranges, h.ranges)
		if twice >= 0 {
			return &TwiceError{Shard{twice, h.Of}}
		}
		runs[i] = held{h.Run, both}
	}
	m.runs = runs
	return nil
}

// Settle lets whole runs leave the mark.
func (m *Mark) Settle() { m.runs = slices.DeleteFunc(slices.Clone(m.runs), held.whole) }

// Subtract takes out the shards of another mark. A run that is not in the mark is whole before. If a shard is not there, it returns an error
// and changes nothing.
func (m *Mark) Subtract(o Mark) error {
	runs := slices.Clone(m.runs)
	for _, h := range o.runs {
		i, found := slices.BinarySearchFunc(runs, h.Run, func(a held, b Run) int { return compare(a.Run, b) })
		if !found {
			runs = slices.Insert(runs, i, held{h.Run, [][2]int{{0, h.Of}}})
		}
		left, missing := difference(runs[i].ranges, h.ranges)
		if missing >= 0 {
			return fmt.Errorf("shard %v is not in it", Shard{missing, h.Of})
		}
		runs[i].ranges = left
	}
	m.runs = slices.DeleteFunc(runs, func(h held) bool { return len(h.ranges) == 0 })
	return nil
}

// difference returns what is in the ranges a and not in b. missing is a number in b and not in a, or -1.
func difference(a, b [][2]int) (left [][2]int, missing int) {
	for _, r := range a {
		for len(b) > 0 && b[0][0] < r[1] {
			t := b[0]
			switch {
			case t[0] < r[0]:
				return nil, t[0]
			case t[1] > r[1]:
				return nil, r[1]
			case t[0] > r[0]:
				left = append(left, [2]int{r[0], t[0]})
			}
			r[0], b = t[1], b[1:]
		}
		if r[0] < r[1] {
			left = append(left, r)
		}
	}
	if len(b) > 0 {
		return nil, b[0][0]
	}
	return left, -1
}

func compare(a, b Run) int {
	return cmp.Or(bytes.Compare(a.ID[:], b.ID[:]), cmp.Compare(a.Of, b.Of))
}

func (h held) whole() bool { return len(h.ranges) == 1 && h.ranges[0] == [2]int{0, h.Of} }

// union merges ranges. twice is a number in both, or -1.
func union(a, b [][2]int) (all [][2]int, twice int) {
	all = make([][2]int, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		if len(a) == 0 || len(b) > 0 && b[0][0] < a[0][0] {
			a, b = b, a
		}
		r, n := a[0], len(all)-1
		switch a = a[1:]; {
		case n >= 0 && r[0] < all[n][1]:
			return nil, r[0]
		case n >= 0 && r[0] == all[n][1]:
			all[n][1] = r[1]
		default:
			all = append(all, r)
		}
	}
	return all, -1
}

// Missing returns the runs that are not whole, each with the numbers of the shards that are missing: "0, 4-6".
func (m *Mark) Missing() []Gap {
	var l []Gap
	for _, h := range m.runs {
		g := Gap{Run: h.Run}
		at := 0
		for _, r := range append(slices.Clone(h.ranges), [2]int{h.Of, h.Of}) {
			if r[0] > at {
				g.ranges = append(g.ranges, [2]int{at, r[0]})
			}
			at = r[1]
		}
		l = append(l, g)
	}
	return l
}

// Held returns the shards that a state holds, by run.
func (m *Mark) Held() []Gap {
	var l []Gap
	for _, h := range m.runs {
		l = append(l, Gap(h))
	}
	return l
}

// Gap is a list of shards of a run.
type Gap held

// Count returns the number of shards in the list.
func (g *Gap) Count() (n int) {
	for _, r := range g.ranges {
		n += r[1] - r[0]
	}
	return n
}

// RunID returns what tells the run from others, in hexadecimal.
func (g *Gap) RunID() string { return hex.EncodeToString(g.ID[:]) }

// String returns "0, 4-6".
func (g *Gap) String() string {
	const most = 20 // ranges
	var l []string
	for i, r := range g.ranges {
		switch {
		case i == most:
			return strings.Join(l, ", ") + fmt.Sprintf(" and %d ranges more", len(g.ranges)-most)
		case r[1] == r[0]+1:
			l = append(l, strconv.Itoa(r[0]))
		default:
			l = append(l, fmt.Sprintf("%d-%d", r[0], r[1]-1))
		}
	}
	return strings.Join(l, ", ")
}

// Magic begins a state with a mark.
const Magic = "cSHD"

var format = exact.Format{Name: "shards", Magic: Magic, Version: 1}

// Wrap returns the bytes of a state with a mark around them; the state itself if there is none.
func (m *Mark) Wrap(state []byte) []byte {
	if m.Whole() {
		return state
	}
	b, err := format.Append(nil, func(f *exact.Fields) { m.fields(f, &state) })
	if err != nil {
		panic(err) // no field fails in writing
	}
	return b
}

// Unwrap returns the bytes of a state without its mark, as a part of data, and the mark, if data begin with one.
func Unwrap(data []byte) (state []byte, m Mark, err error) {
	if !bytes.HasPrefix(data, []byte(Magic)) {
		return data, m, nil
	}
	err = format.Read(data, func(f *exact.Fields) { m.fields(f, &state) })
	if err != nil {
		return nil, Mark{}, err
	}
	return state, m, nil
}

// fields lists the mark, and the state after it.
func (m *Mark) fields(f *exact.Fields, state *[]byte) {
	count := func(n *int, least, most int) bool {
		v := uint64(*n)
		f.Uvarint(&v)
		f.Must(v >= uint64(least) && v <= uint64(most), exact.OutOfRange)
		if !f.OK() {
			return false
		}
		*n = int(v)
		return true
	}
	runs := len(m.runs)
	if !count(&runs, 1, 1<<20) {
		return
	}
	for i := range runs {
		if f.Reading() {
			m.runs = append(m.runs, held{})
		}
		h := &m.runs[i]
		for j := range h.ID {
			exact.Byte(f, &h.ID[j])
		}
		n := len(h.ranges)
		if !count(&h.Of, 2, Most) || !count(&n, 1, h.Of) {
			return
		}
		at := 0
		for j := range n {
			var gap, length int
			if !f.Reading() {
				gap, length = h.ranges[j][0]-at, h.ranges[j][1]-h.ranges[j][0]
			}
			least := 1
			if j == 0 {
				least = 0
			}
			if !count(&gap, least, h.Of) || !count(&length, 1, h.Of) {
				return
			}
			if f.Reading() {
				h.ranges = append(h.ranges, [2]int{at + gap, at + gap + length})
			}
			at += gap + length
			f.Must(at <= h.Of, exact.OutOfRange)
			if !f.OK() {
				return
			}
		}
		f.Must(!h.whole(), "all shards of a run are there")
		f.Must(i == 0 || compare(m.runs[i-1].Run, h.Run) < 0, "runs are not in order")
	}
	f.Part(func(dst []byte) ([]byte, error) { return append(dst, *state...), nil }, func(part []byte) error {
		if bytes.HasPrefix(part, []byte(Magic)) {
			return errors.New("a mark within a mark")
		}
		*state = part
		return nil
	})
}
