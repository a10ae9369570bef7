package grouped

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/internal/compact"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// AddMembers reads all rows of an ensemble, whose chunks have Groups; values returns the column values of a group. The members' rows are
// evaluated twice, as one set and by groups, unless there are more than MostWhole. After an error nothing has changed.
func (g *Evaluation) AddMembers(src metrics.MemberSource, values func(group int32) []string, o *metrics.Options) error {
	n, err := New(g.Spec, g.Columns)
	if err != nil {
		return err
	}
	d := newDealer(g, src, o)
	s := &sums{kept: g.kept, table: g.kept.New()}
	if err = n.whole.AddMembers(d, &d.opt, s); err == nil {
		err = d.flush()
	}
	if errors.Is(err, errNoRoom) {
		return d.room.err(g.Columns)
	} else if err != nil {
		return err
	}
	s.table.Grow(len(d.met))
	if err := n.takeSums(&reader{table: s.table, met: d.met}, values); err != nil {
		return err
	}
	for i, e := range d.each {
		if e == nil {
			continue
		}
		if err := n.add(values(int32(i)), e); err != nil {
			return err
		}
	}
	if g.Len() > 0 {
		return g.Merge(n)
	}
	g.take(n)
	return nil
}

// heldBytes is the memory of the rows that wait for their groups' evaluations, each of which takes many at a time.
const heldBytes = 32 << 20

// dealer is a source of an ensemble's rows that also evaluates them by groups, until there are more than MostWhole. Bad rows are left to
// whoever reads the source: after one no row is evaluated by group.
type dealer struct {
	metrics.MemberSource
	spec   eval.Spec
	opt    metrics.Options
	room   *room
	most   int64 // memory of the rows that wait
	groups int   // how many have been met
	met    []bool
	each   []*eval.Evaluation // by group number; nil for groups without rows
	waits  [][]*metrics.MemberChunk
	bytes  int64 // of the rows that wait
	total  int64 // of the groups' evaluations
	failed bool
	places [][]int32 // of each group's rows in a chunk
}

func newDealer(g *Evaluation, src metrics.MemberSource, o *metrics.Options) *dealer {
	d := &dealer{MemberSource: src, spec: g.Spec, most: heldBytes}
	if o != nil {
		d.opt = *o
	}
	d.opt.Threads = pool.Threads(d.opt.Threads, math.MaxInt)
	d.room = &room{Room: g.Room, threads: d.opt.Threads, whole: g.whole, kept: g.kept}
	if g.Room.Bytes > 0 {
		d.most = min(d.most, g.Room.Bytes/8)
	}
	d.room.each = d.most
	return d
}

// Next returns the next rows, which are dealt to their groups before.
func (d *dealer) Next() (*metrics.MemberChunk, error) {
	c, err := d.MemberSource.Next()
	if err != nil {
		return nil, err
	}
	if err := d.deal(c); err != nil {
		if c.Recycle != nil {
			c.Recycle()
		}
		return nil, err
	}
	return c, nil
}

// deal deals rows to their groups.
func (d *dealer) deal(c *metrics.MemberChunk) error {
	if len(c.Each) == 0 || c.Each[0].Rows == 0 {
		return nil
	}
	rows := c.Each[0].Rows
	if len(c.Groups) != rows {
		panic("grouped: the rows of a chunk have no groups")
	}
	most := int(largest(c.Groups))
	if most >= len(d.met) {
		d.met = append(d.met, make([]bool, most+1-len(d.met))...)
	}
	for _, g := range c.Groups {
		if !d.met[g] {
			d.met[g] = true
			d.groups++
		}
	}
	less := int64(0)
	if d.groups > MostWhole {
		d.each, d.waits, d.places, d.bytes = nil, nil, nil, 0
		less, d.total = d.total, 0
	} else if !d.failed {
		d.wait(c)
	}
	if fits, _ := d.room.take(int64(rows), nil, -less, 0, len(d.met), c.Weights != nil); !fits {
		return errNoRoom
	}
	if d.bytes > d.most {
		return d.flush()
	}
	return nil
}

// wait copies the rows of each group.
func (d *dealer) wait(c *metrics.MemberChunk) {
	for len(d.each) < len(d.met) {
		d.each, d.waits, d.places = append(d.each, nil), append(d.waits, nil), append(d.places, nil)
	}
	var here []int32
	for i, g := range c.Groups {
		if len(d.places[g]) == 0 {
			here = append(here, g)
		}
		d.places[g] = append(d.places[g], int32(i))
	}
	for _, g := range here {
		p := picked(c, d.places[g])
		d.waits[g], d.places[g] = append(d.waits[g], p), d.places[g][:0]
		for i := range p.Each {
			s := &p.Each[i]
			d.bytes += int64(s.Rows*s.Classes*s.DType().Size()) + 64
			if s.Pair != nil {
				d.bytes += int64(2 * s.Rows * s.DType().Size())
			}
		}
	}
}

// picked returns a copy of some rows of a chunk, which keep their numbers.
func picked(c *metrics.MemberChunk, rows []int32) *metrics.MemberChunk {
	p := &metrics.MemberChunk{First: c.First}
	p.Kind, p.Each = c.Kind, make([]metrics.Scores, len(c.Each))
	for m := range c.Each {
		from, to := metrics.Chunk{First: c.First, Numbers: c.Numbers}, metrics.Chunk{}
		if from.Scores = c.Each[m]; m == 0 {
			from.Labels, from.Weights = c.Labels, c.Weights
		}
		to.Pick(&from, rows)
		if p.Each[m] = to.Scores; m == 0 {
			p.Labels, p.Weights, p.Numbers = to.Labels, to.Weights, to.Numbers
		}
	}
	return p
}

// flush evaluates the rows that wait.
func (d *dealer) flush() error {
	var groups []int
	for g, l := range d.waits {
		if len(l) > 0 {
			groups = append(groups, g)
		}
	}
	errs := make([]error, len(groups))
	pool.Do(d.opt.Threads, len(groups), func(_, i int) {
		g := groups[i]
		if d.each[g] == nil {
			if d.each[g], errs[i] = eval.New(d.spec); errs[i] != nil {
				return
			}
		}
		one := d.opt
		one.Threads = 1
		errs[i] = d.each[g].AddMembers(&dealt{d.waits[g]}, &one)
		d.waits[g] = nil
	})
	d.bytes = 0
	for _, err := range errs {
		if bad := (*metrics.DataError)(nil); errors.As(err, &bad) {
			d.failed = true
		} else if err != nil {
			return err
		}
	}
	if d.room.Bytes == 0 {
		return nil
	}
	was, largest := d.total, int64(0)
	d.total = 0
	for _, e := range d.each {
		if e != nil {
			b := e.Held(0, d.room.Extent)
			d.total, largest = d.total+b, max(largest, b)
		}
	}
	d.room.flies(largest)
	if fits, _ := d.room.take(0, nil, d.total-was, 0, len(d.met), d.room.weighted); !fits {
		return errNoRoom
	}
	return nil
}

// dealt is the source of the rows of one group.
type dealt struct{ left []*metrics.MemberChunk }

func (d *dealt) Next() (*metrics.MemberChunk, error) {
	if len(d.left) == 0 {
		return nil, io.EOF
	}
	c := d.left[0]
	d.left = d.left[1:]
	return c, nil
}

// sums is an accumulator of the sums of groups. It has no state.
type sums struct {
	kept  *compact.Kept
	table *compact.Table
	rows  int64
}

func (s *sums) Needs() metrics.Need { return s.kept.Need() }

func (s *sums) Empty() metrics.Accumulator { return &sums{kept: s.kept, table: s.kept.New()} }

func (s *sums) AddBlock(b *metrics.Block) {
	s.table.Grow(int(largest(b.Groups)) + 1)
	s.table.Add(b, b.Groups, nil)
	s.rows += int64(b.Rows)
}

func (s *sums) Merge(o metrics.Accumulator) error {
	from, ok := o.(*sums)
	if !ok {
		return fmt.Errorf("%w: grouped.sums and %T", metrics.ErrMismatch, o)
	}
	to := make([]int32, from.table.Len())
	for i := range to {
		to[i] = int32(i)
	}
	s.table.Grow(len(to))
	s.table.Merge(from.table, to)
	s.rows += from.rows
	return nil
}

func (s *sums) Len() int64 { return s.rows }

func (s *sums) AppendBinary(b []byte) ([]byte, error) { return b, errSums }

func (s *sums) UnmarshalBinary([]byte) error { return errSums }

var errSums = errors.New("grouped: sums of groups have no state of their own")
