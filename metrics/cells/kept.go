package cells

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Kept accumulates the scores and outcomes of all rows for Sorted. It does for a Pass what Sort does for rows in memory. It is
// a metrics.Accumulator without a state. Rows with weights are counted but not kept.
type Kept struct {
	event  metrics.Event
	most   int64 // limit of rows; 0 for none
	seen   state.Rows
	audit  metrics.Audit // only Rows is set
	origin origin
	parts  []keptPart
	cols   columns
	all    *atomic.Int64 // rows of all copies that share the limit; nil if there are none
}

// keptPart holds the keys of some rows. raw holds the keys of what the scores were computed from, and is empty if that is the
// scores.
type keptPart struct{ long, raw []uint64 }

var _ metrics.Accumulator = (*Kept)(nil)

// KeptBytes returns the most memory that a row takes: its key and its part of a block, and for a binary task, whose scores may
// be logits, the key of the logit. Sorting takes the same amount again.
func KeptBytes(classes int) int64 {
	if classes == 1 {
		return 17
	}
	return 9
}

// NewKept returns an empty accumulator for an event. Rows beyond most are counted but not kept; 0 means no limit. It panics if
// the event is AllClasses.
func NewKept(e metrics.Event, most int64) *Kept {
	if e > metrics.Positive {
		panic(errEvent)
	}
	return &Kept{event: e, most: most}
}

// Needs returns NeedLogit: columns only, with one logit per row if there is one.
func (k *Kept) Needs() metrics.Need { return metrics.NeedLogit }

// Empty returns an accumulator without rows with the same event and limit.
func (k *Kept) Empty() metrics.Accumulator { return NewKept(k.event, k.most) }

// Share returns an accumulator without rows whose rows count towards one limit with those of k.
func (k *Kept) Share() metrics.Accumulator {
	if k.all == nil {
		k.all = new(atomic.Int64)
	}
	return &Kept{event: k.event, most: k.most, all: k.all}
}

// Len returns the number of rows seen.
func (k *Kept) Len() int64 { return k.audit.Rows }

func (k *Kept) over() bool { return k.most > 0 && k.audit.Rows > k.most }

// Size estimates the memory in bytes, including that for sorting.
func (k *Kept) Size(x metrics.Extent) int64 {
	most := k.most
	if most == 0 {
		most = math.MaxInt64 / 64
	}
	return 2 * KeptBytes(x.Classes) * x.Distinct(most)
}

// AddBlock adds a block's rows.
func (k *Kept) AddBlock(b *metrics.Block) {
	k.seen.Begin(b)
	k.audit.Rows += int64(b.Rows)
	all := k.audit.Rows
	if k.all != nil {
		all = max(all, k.all.Add(int64(b.Rows)))
	}
	if k.seen.Weighted || k.most > 0 && all > k.most {
		k.parts = nil
		return
	}
	const room = 1 << 15
	k.origin = originOf(b, k.event)
	p, tail, hit := k.cols.of(b, k.event)
	for i, v := range p {
		key := tally.Key(v, tail[i])
		if key > 2*half {
			continue
		}
		if last := len(k.parts) - 1; last < 0 || len(k.parts[last].long) == cap(k.parts[last].long) {
			k.parts = append(k.parts, keptPart{long: make([]uint64, 0, room)})
			if k.origin != ofScores {
				k.parts[last+1].raw = make([]uint64, 0, room)
			}
		}
		part := &k.parts[len(k.parts)-1]
		part.long = append(part.long, key<<1|uint64(hit[i]&1))
		if k.origin != ofScores {
			part.raw = append(part.raw, rawEventKey(b.Peak[i], k.event.Resolve(b.Classes))<<1|uint64(hit[i]&1))
		}
	}
}

var keptFormat = exact.Format{Name: "cells.Kept"} // there is no binary format

// Merge adds what another *Kept has seen. Parts never change, so both share them.
func (k *Kept) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Kept](keptFormat, a)
	if err != nil {
		return err
	}
	if k.event != o.event || k.most != o.most {
		return state.Mismatch(keptFormat, "of different events or limits")
	}
	seen := k.seen
	if err := seen.Merge(o.seen, keptFormat, "classes"); err != nil || o.seen.Classes == 0 {
		return err
	}
	if k.seen.Classes != 0 && k.origin != o.origin {
		return state.Mismatch(keptFormat, "of scores of different types")
	}
	k.seen, k.origin = seen, o.origin
	if k.audit.Rows += o.audit.Rows; k.over() {
		k.parts = nil
		return nil
	}
	for _, p := range o.parts {
		k.parts = append(k.parts, keptPart{slices.Clip(p.long), slices.Clip(p.raw)})
	}
	return nil
}

// Sorted returns the rows in ascending order, with a cell for each distinct score. It returns nil for rows with weights or
// beyond the limit.
func (k *Kept) Sorted(threads int) *Sorted {
	if k.seen.Weighted || k.over() {
		return nil
	}
	s := &Sorted{event: k.event.Resolve(k.seen.Classes), audit: k.audit, threads: threads, origin: k.origin}
	n := 0
	for _, p := range k.parts {
		n += len(p.long)
	}
	s.long = make([]uint64, 0, n)
	if k.origin != ofScores {
		s.raw = make([]uint64, 0, n)
	}
	for _, p := range k.parts {
		s.long, s.raw = append(s.long, p.long...), append(s.raw, p.raw...)
	}
	s.longScratch = make([]uint64, kernel.SortScratch(n))
	s.sortLong()
	return s
}

// AppendBinary returns an error: rows have no state.
func (k *Kept) AppendBinary(dst []byte) ([]byte, error) { return dst, errKept }

// UnmarshalBinary returns an error.
func (k *Kept) UnmarshalBinary([]byte) error { return errKept }

var errKept = fmt.Errorf("cells: rows that are kept one by one are in no state")
