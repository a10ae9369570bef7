package calib

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/pool"
	"github.com/candor-go/candor/metrics/internal/state"
)

// LabelScores accumulates the probabilities themselves, by the row's label and by class. They are needed to compare the rows of
// two classes by the probability of one of them, as in one-vs-one areas. It is a metrics.Accumulator. Entries take as much
// memory as in ClassScores. Rows with weights are counted but not kept.
type LabelScores struct {
	limit int64 // limit in bytes; 0 for none
	seen  state.Rows
	rows  int64
	of    map[int]*ClassScores // by label
	all   *atomic.Int64        // bytes of all copies that share the limit; nil if there are none

	// Copies of the rows of one label in a block.
	order  []int32
	labels []int32
	f32    []float32
	f64    []float64
}

var _ metrics.Accumulator = (*LabelScores)(nil)

// NewLabelScores returns an empty accumulator. maxBytes limits the memory of entries, as counted by ClassScores; 0 means no
// limit. A negative limit is an error.
func NewLabelScores(maxBytes int64) (*LabelScores, error) {
	if err := (ClassScoresOptions{MaxBytes: maxBytes}).Validate(); err != nil {
		return nil, err
	}
	return &LabelScores{limit: maxBytes}, nil
}

// MaxBytes returns the accumulator's limit.
func (s *LabelScores) MaxBytes() int64 { return s.limit }

// Needs returns NeedRows.
func (s *LabelScores) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator without rows with the same limit.
func (s *LabelScores) Empty() metrics.Accumulator { return metrics.Must(NewLabelScores(s.limit)) }

// Share returns an accumulator without rows whose entries count towards one limit with those of s.
func (s *LabelScores) Share() metrics.Accumulator {
	if s.all == nil {
		s.all = new(atomic.Int64)
	}
	return &LabelScores{limit: s.limit, all: s.all}
}

// Len returns the number of rows seen.
func (s *LabelScores) Len() int64 { return s.rows }

// Weighted reports whether the rows have weights. Such rows are not kept.
func (s *LabelScores) Weighted() bool { return s.seen.Weighted }

// Bytes returns the memory of all entries, or what they would take if the limit were not exceeded.
func (s *LabelScores) Bytes() (n int64) {
	for _, c := range s.of {
		n += c.Bytes()
	}
	return n
}

// Over reports whether the entries would take more than the limit. They are then not kept. It depends only on the rows.
func (s *LabelScores) Over() bool { return s.limit > 0 && s.Bytes() > s.limit }

// Size estimates the memory in bytes. It is at most the limit, if there is one.
func (s *LabelScores) Size(x metrics.Extent) int64 { return limited(x, entrySize(x), s.limit) }

// Outside returns the number of entries outside [0,1], which comparisons leave out. Only an unchecked Pass admits such entries.
func (s *LabelScores) Outside() (n int64) {
	for _, c := range s.of {
		n += c.out
	}
	return n
}

func (s *LabelScores) label(y int) *ClassScores {
	if s.of[y] == nil {
		if s.of == nil {
			s.of = map[int]*ClassScores{}
		}
		s.of[y] = metrics.Must(NewClassScores(nil))
	}
	return s.of[y]
}

// present returns the labels that have rows, in ascending order.
func (s *LabelScores) present() []int { return slices.Sorted(maps.Keys(s.of)) }

// AddBlock adds a block's rows.
func (s *LabelScores) AddBlock(b *metrics.Block) {
	s.seen.Begin(b)
	s.rows += int64(b.Rows)
	if s.seen.Weighted {
		return
	}
	before := s.Bytes()
	s.order = s.order[:0]
	for i := range b.Rows {
		s.order = append(s.order, int32(i))
	}
	slices.SortStableFunc(s.order, func(i, j int32) int { return int(b.Labels[i]) - int(b.Labels[j]) })
	for from, to := 0, 0; from < b.Rows; from = to {
		y := b.Labels[s.order[from]]
		for to = from; to < b.Rows && b.Labels[s.order[to]] == y; to++ {
		}
		part := metrics.Block{Rows: to - from, Classes: b.Classes, Probs: metrics.Tile{Width: b.Probs.Width, Stride: b.Probs.Width}}
		s.labels = s.labels[:0]
		for range part.Rows {
			s.labels = append(s.labels, y)
		}
		part.Labels = s.labels
		if b.Probs.F32 != nil {
			s.f32 = gatherRows(s.f32[:0], b.Probs.F32, s.order[from:to], &b.Probs)
			part.Probs.F32 = s.f32
		} else {
			s.f64 = gatherRows(s.f64[:0], b.Probs.F64, s.order[from:to], &b.Probs)
			part.Probs.F64 = s.f64
		}
		s.label(int(y)).AddBlock(&part)
	}
	all := s.Bytes()
	if s.all != nil {
		all = max(all, s.all.Add(all-before))
	}
	s.drop(all)
}

func gatherRows[F float32 | float64](dst, x []F, rows []int32, t *metrics.Tile) []F {
	for _, i := range rows {
		dst = append(dst, x[int(i)*t.Stride:][:t.Width]...)
	}
	return dst
}

// drop drops the entries if those of all copies take more than the limit. From then on they are only counted.
func (s *LabelScores) drop(all int64) {
	if s.limit == 0 || all <= s.limit {
		return
	}
	for _, c := range s.of {
		c.kept.drop()
	}
}

// Merge adds what another *LabelScores has seen. Both share the entries; nothing is copied.
func (s *LabelScores) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*LabelScores](labelsFormat, a)
	if err != nil {
		return err
	}
	if s.limit != o.limit {
		return state.Mismatch(labelsFormat, "within %d bytes and within %d", s.limit, o.limit)
	}
	seen := s.seen
	if err := seen.Merge(o.seen, labelsFormat, "classes"); err != nil {
		return err
	}
	if wide, other := s.wide(), o.wide(); wide != nil && other != nil && *wide != *other {
		return state.Mismatch(labelsFormat, "of scores that are kept as float32 and as float64")
	}
	s.seen = seen
	s.rows += o.rows
	for _, y := range o.present() {
		if err := s.label(y).Merge(o.of[y]); err != nil {
			return err
		}
	}
	s.drop(s.Bytes())
	return nil
}

// wide reports whether scores are kept as float64, or returns nil if there are none.
func (s *LabelScores) wide() *bool {
	for _, c := range s.of {
		return &c.wide
	}
	return nil
}

// EachPair calls use for each ordered pair of classes that have rows. o holds the rows with either label in ascending order of
// the probability of class, with the rows labeled class as events. Calls run on several goroutines, in any order, and o is
// valid until use returns. There are no calls for rows with weights, or if Over.
func (s *LabelScores) EachPair(use func(class, other int, o cells.Ordered)) {
	if wide := s.wide(); wide == nil || s.Over() {
		return
	} else if *wide {
		eachPair[uint64](s, use)
	} else {
		eachPair[uint32](s, use)
	}
}

func eachPair[K uint32 | uint64](s *LabelScores, use func(class, other int, o cells.Ordered)) {
	present := s.present()
	pool.Each(0, len(present), func() func(int) {
		var order ordering[K]
		var both []K
		return func(task int) {
			class := present[task]
			// column returns the class's entries in the rows of a label, in ascending order.
			column := func(label int) []K {
				k := s.of[label].kept.(*keptKeys[K])
				c := k.columns().of(class, 1, k.only(class))[0]
				order.sort(&c)
				return c.keys
			}
			keys := column(class)
			for _, other := range present {
				if other == class {
					continue
				}
				rest := column(other)
				both = both[:0]
				for i, j := 0, 0; i < len(keys) || j < len(rest); {
					if j == len(rest) || i < len(keys) && keys[i] < rest[j] {
						both, i = append(both, keys[i]), i+1
					} else {
						both, j = append(both, rest[j]), j+1
					}
				}
				use(class, other, cells.OrderedOf(both, nil, s.Outside()))
			}
		}
	})
}

var labelsFormat = exact.Format{Name: "calib.LabelScores", Magic: "cLSC", Version: 1}

// fields lists the state of a ClassScores for each label that has rows. These states have a limit of 1 if entries are not kept.
func (s *LabelScores) fields(f *exact.Fields) {
	const badLabels = "its labels are not those of its rows"
	labels, present := len(s.of), s.present()
	f.I64(&s.limit)
	s.seen.Fields(f)
	f.N(&s.rows)
	f.Int(&labels)
	f.Must(s.limit >= 0 && (s.seen.Classes > 0) == (s.rows > 0) && (labels == 0 || s.rows > 0 && !s.seen.Weighted), badLabels)
	rows, limit, before := int64(0), int64(0), -1
	if s.Over() {
		limit = 1
	}
	for i := 0; i < labels && f.OK(); i++ {
		y, c := 0, new(ClassScores)
		if !f.Reading() {
			y = present[i]
			*c = *s.of[y]
			c.opt.MaxBytes = limit
		}
		f.Int(&y)
		f.Part(c.AppendBinary, c.UnmarshalBinary)
		if !f.Reading() {
			continue
		}
		if i == 0 {
			limit = c.opt.MaxBytes
		}
		f.Must(y > before && y < max(2, s.seen.Classes) && c.seen == s.seen && c.opt.Above == nil && c.opt.MaxBytes == limit && limit <= 1 &&
			(i == 0 || c.wide == *s.wide()) && c.rows <= s.rows-rows, badLabels)
		if f.OK() {
			c.opt.MaxBytes = 0
			s.label(y)
			s.of[y], before, rows = c, y, rows+c.rows
		}
	}
	f.Must((s.seen.Weighted || rows == s.rows) && s.Over() == (limit == 1), badLabels)
}

// AppendBinary appends the state: that of a ClassScores for each label that has rows.
func (s *LabelScores) AppendBinary(dst []byte) ([]byte, error) {
	if !s.Over() {
		n := 0
		for _, c := range s.of {
			n += c.kept.mostBytes() + 1<<7
		}
		dst = slices.Grow(dst, n+1<<10)
	}
	return labelsFormat.Append(dst, s.fields)
}

// UnmarshalBinary replaces s, including its limit, with a state that AppendBinary wrote.
func (s *LabelScores) UnmarshalBinary(data []byte) error {
	return exact.Replace(labelsFormat, data, s, (*LabelScores).fields)
}
