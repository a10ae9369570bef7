package clustered

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"unsafe"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Options says what Sums keeps of each cluster.
type Options struct {
	Losses []metrics.RowMetric // their sums; names are distinct
	// Scored says that rows are counted by score and outcome, those of Event, on the grid of package cells.
	Scored bool
	Event  metrics.Event
	// Any says that losses are in the user's unit, and may be tiny; those of classes are rounded to 2^-88.
	Any bool
}

// Sums keeps sums of the rows of each cluster. It is a metrics.Accumulator of blocks with Clusters. Where Chunk.ClusterName is not set, a
// cluster's name is its number. A number has to mean the same cluster in all blocks that one Sums gets; Merge goes by names.
type Sums struct {
	opt  Options
	seen state.Rows
	rows int64
	room *Room

	all     []cluster
	index   map[string]int32
	numbers map[int32]int32 // of a cluster in blocks: its place in all
	low     []int32         // the same of low numbers, plus 1; 0 where it is not known

	values []func(dst []float64, b *metrics.Block) // of the losses, for the goroutine that adds
	v      [][]float64
	places []uint64
	tails  []float64
	at     []int32 // places in all of the clusters of rows
	loaded uint64  // of what fetch has loaded, so that it is
}

// cluster is what is kept of a cluster.
type cluster struct {
	name   string
	n      int64
	weight exact.Sum   // 0 without weights
	sums   []exact.Sum // of the losses times weights
	// Counts of rows, in rising order of places but for those added last: the place and the outcome in the upper bits, the number below.
	counts []uint64
	heavy  []exact.Sum // the weights of each count, with weights
	sorted int         // counts up to here rise
}

const (
	countBits = 40
	mostCount = 1<<countBits - 1
	noPlace   = math.MaxUint64
)

// Room limits the memory of clusters, whose number is not known before rows are read. It is for the Sums of all goroutines together.
type Room struct {
	Bytes int64
	used  atomic.Int64
}

// Full reports whether more memory was needed than there is. What Sums have kept is then of no use.
func (r *Room) Full() bool { return r != nil && r.used.Load() > r.Bytes }

// New returns a Sums without rows.
func New(o Options) *Sums {
	s := &Sums{opt: o, index: map[string]int32{}, numbers: map[int32]int32{}}
	return s
}

// Limit sets the room of s and of what Empty makes of it.
func (s *Sums) Limit(r *Room) { s.room = r }

// Needs returns the columns of the losses and of the scores.
func (s *Sums) Needs() (n metrics.Need) {
	for i := range s.opt.Losses {
		n |= s.opt.Losses[i].Need
	}
	return n
}

// Empty returns a Sums without rows with the same options.
func (s *Sums) Empty() metrics.Accumulator {
	n := New(s.opt)
	n.room = s.room
	return n
}

// Len returns the number of rows seen.
func (s *Sums) Len() int64 { return s.rows }

const clusterBytes = int64(unsafe.Sizeof(cluster{})) + 160 // with its places in maps

// Size estimates the memory in bytes if every 16 rows are a cluster: their number is known only from the rows, and Room limits it.
func (s *Sums) Size(x metrics.Extent) int64 {
	n := x.Distinct(1<<16)/16 + 1
	return n * (clusterBytes + 40*int64(len(s.opt.Losses)) + 64)
}

// AddBlock adds a block's rows. It panics if they have no clusters.
func (s *Sums) AddBlock(b *metrics.Block) {
	if b.Clusters == nil {
		panic("clustered: the rows have no clusters")
	}
	n := b.Rows
	s.seen.Begin(b)
	s.rows += int64(n)
	if s.room.Full() {
		return
	}
	if s.values == nil {
		for _, l := range s.opt.Losses {
			s.values, s.v = append(s.values, l.New()), append(s.v, nil)
		}
	}
	for i, f := range s.values {
		if len(s.v[i]) < n {
			s.v[i] = make([]float64, n)
		}
		f(s.v[i][:n], b)
	}
	if s.opt.Scored {
		s.placed(b)
	}
	for from := 0; from < n; from += together {
		to := min(from+together, n)
		s.fetch(b, from, to)
		for i := from; i < to; {
			j := i + 1
			for j < to && s.at[j-from] == s.at[i-from] {
				j++
			}
			s.run(b, &s.all[s.at[i-from]], i, j)
			i = j
		}
	}
}

// together is the number of rows whose clusters are brought into the cache at once.
const together = 256

// fetch finds the places in all of the clusters of rows, and loads what rows are added to. Of many clusters in random order each would be waited
// for in turn, several times a row; here none waits for another.
func (s *Sums) fetch(b *metrics.Block, from, to int) {
	s.at = s.at[:0]
	for i, number := range b.Clusters[from:to] {
		if i > 0 && number == b.Clusters[from+i-1] {
			s.at = append(s.at, s.at[i-1])
			continue
		}
		s.at = append(s.at, s.of(b, number))
	}
	if len(s.all) < together {
		return
	}
	sum := uint64(0)
	for _, at := range s.at {
		c := &s.all[at]
		sum += uint64(c.n) + uint64(c.sorted) + uint64(len(c.sums))
	}
	for _, at := range s.at {
		c := &s.all[at]
		for l := 0; l < len(c.sums); l += 2 { // two in a line of the cache, and one more where they do not begin with it
			sum += firstWord(&c.sums[l])
		}
		if n := len(c.sums); n > 0 {
			sum += firstWord(&c.sums[n-1])
		}
		if n := len(c.counts); n > 0 {
			sum += c.counts[n-1]
		}
	}
	s.loaded += sum
}

func firstWord(s *exact.Sum) uint64 { return *(*uint64)(unsafe.Pointer(s)) }

// run adds rows i to before j of a block, which are of one cluster.
func (s *Sums) run(b *metrics.Block, c *cluster, i, j int) {
	c.n += int64(j - i)
	if b.Weights != nil {
		for _, w := range b.Weights[i:j] {
			c.weight.AddFloat(w)
		}
	}
	for l := range s.v {
		sum := &c.sums[l]
		for k, v := range s.v[l][i:j] {
			if b.Weights != nil {
				v = float64(v * b.Weights[i+k])
			}
			switch {
			case v-v != 0: // the mean is infinite and has no interval
			case s.opt.Any && math.Abs(v) < 0x1p-36 && v != 0:
				sum.AddExact(v)
			default:
				sum.AddFloat(v)
			}
		}
	}
	if s.opt.Scored {
		for k, p := range s.places[i:j] {
			if p != noPlace {
				w := 0.0
				if b.Weights != nil {
					w = b.Weights[i+k]
				}
				s.count(c, p, w)
			}
		}
	}
}

// of returns the place of a block's cluster in all, and adds it if it is new.
func (s *Sums) of(b *metrics.Block, number int32) int32 {
	if uint(number) < uint(len(s.low)) {
		if at := s.low[number]; at > 0 {
			return at - 1
		}
	} else if at, ok := s.numbers[number]; ok {
		return at
	}
	name := strconv.Itoa(int(number))
	if b.ClusterName != nil {
		name = b.ClusterName(number)
	}
	at := s.named(name)
	// Low numbers have a table as long as there are about as many clusters.
	if number >= 0 && int(number) < 4*len(s.all)+64 && int(number) >= len(s.low) {
		s.low = append(s.low, make([]int32, int(number)+1-len(s.low))...)
	}
	if uint(number) < uint(len(s.low)) {
		s.low[number] = at + 1
	} else {
		s.numbers[number] = at
	}
	return at
}

// named returns the place of the cluster of a name, and adds it if it is new.
func (s *Sums) named(name string) int32 {
	at, ok := s.index[name]
	if !ok {
		at = int32(len(s.all))
		s.all = append(s.all, cluster{name: name, sums: make([]exact.Sum, len(s.opt.Losses))})
		s.index[name] = at
		s.take(clusterBytes + 2*int64(len(name)) + 32*int64(len(s.opt.Losses)))
	}
	return at
}

func (s *Sums) take(bytes int64) {
	if s.room != nil {
		s.room.used.Add(bytes)
	}
}

// count adds a row at a place.
func (s *Sums) count(c *cluster, place uint64, w float64) {
	if n := len(c.counts); n > 0 && c.counts[n-1]>>countBits == place && c.counts[n-1]&mostCount < mostCount {
		c.counts[n-1]++
		if s.seen.Weighted {
			c.heavy[n-1].AddFloat(w)
		}
		return
	}
	if n := len(c.counts); n == cap(c.counts) && n >= 16 && c.sorted < n {
		// Half as many again, where more than two thirds stay: full clusters are many, and settle is quick.
		if s.settle(c); len(c.counts) > n*2/3 {
			c.counts = slices.Grow(c.counts, n*3/2-len(c.counts))
			s.take(8 * int64(n/2))
			if s.seen.Weighted {
				c.heavy = slices.Grow(c.heavy, n*3/2-len(c.heavy))
				s.take(32 * int64(n/2))
			}
		}
	} else if n < 16 {
		s.take(8)
	}
	c.counts = append(c.counts, place<<countBits|1)
	if s.seen.Weighted {
		var sum exact.Sum
		sum.AddFloat(w)
		c.heavy = append(c.heavy, sum)
		s.take(32)
	}
}

// settle sorts the counts of a cluster and joins those of one place.
func (s *Sums) settle(c *cluster) {
	if c.sorted == len(c.counts) {
		return
	}
	if s.seen.Weighted {
		c.counts, c.heavy = joined(c.counts, c.heavy)
	} else {
		t := tallies.Get().(*tallied)
		t.add(c.counts)
		c.counts = t.take(c.counts[:0])
		tallies.Put(t)
	}
	c.sorted = len(c.counts)
}

// joined returns counts and their weights in rising order, one for each place. The lists are as long as what they hold.
func joined(counts []uint64, heavy []exact.Sum) ([]uint64, []exact.Sum) {
	order := make([]int, len(counts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(counts[a]>>countBits, counts[b]>>countBits) })
	same := func(k int) bool { return k > 0 && counts[order[k-1]]>>countBits == counts[order[k]]>>countBits }
	n := 0
	for k := range order {
		if !same(k) {
			n++
		}
	}
	c, h := make([]uint64, 0, n), make([]exact.Sum, 0, n)
	for k, i := range order {
		if same(k) {
			c[len(c)-1] += counts[i] & mostCount
			h[len(h)-1].Merge(&heavy[i])
			continue
		}
		c, h = append(c, counts[i]), append(h, heavy[i].Clone())
	}
	return c, h
}

// join adds the counts of another cluster, which stays as it is. The list grows to what it holds and no further: clusters of two threads mostly
// have the same places.
func (s *Sums) join(c, o *cluster) {
	switch {
	case len(o.counts) == 0:
		return
	case s.seen.Weighted:
		c.counts, c.heavy = joined(slices.Concat(c.counts, o.counts), slices.Concat(c.heavy, o.heavy))
	default:
		t := tallies.Get().(*tallied)
		t.add(c.counts)
		t.add(o.counts)
		if n := t.len(); n > cap(c.counts) {
			c.counts = make([]uint64, 0, n)
		}
		c.counts = t.take(c.counts[:0])
		tallies.Put(t)
	}
	c.sorted = len(c.counts)
}

// placed finds the places of a block's scores on the grid, with outcomes as their last bits.
func (s *Sums) placed(b *metrics.Block) {
	n := b.Rows
	if len(s.places) < n {
		s.places, s.tails = make([]uint64, n), make([]float64, n)
	}
	p, tail, hit := b.Score, b.Stats.Tail, func(i int) uint64 { return uint64(b.Right[i] & 1) }
	if s.opt.Event.Resolve(b.Classes) == metrics.Positive {
		p, hit = b.Stats.Positive, func(i int) uint64 { return uint64(b.Labels[i] & 1) }
		if b.Classes == 2 {
			for i, v := range p[:n] {
				if s.tails[i] = 1 - v; b.Stats.ArgMax[i] == 1 {
					s.tails[i] = b.Stats.Tail[i]
				}
			}
			tail = s.tails
		}
	} else if b.Decisions != nil {
		for i, v := range p[:n] {
			s.tails[i] = 1 - v
		}
		tail = s.tails
	}
	for i, v := range p[:n] {
		if k := tally.Key(v, tail[i]); k <= 2*tally.HalfKey {
			s.places[i] = tally.Place(k)<<1 | hit(i)
		} else {
			s.places[i] = noPlace
		}
	}
}

// Merge adds the clusters of another *Sums: those of one name become one.
func (s *Sums) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Sums](sumsFormat, a)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(s.opt.Losses, o.opt.Losses, func(a, b metrics.RowMetric) bool { return a.Name == b.Name }) || s.opt.Scored != o.opt.Scored ||
		s.opt.Event != o.opt.Event || s.opt.Any != o.opt.Any {
		return state.Mismatch(sumsFormat, "of other losses or scores")
	}
	if err := s.seen.Merge(o.seen, sumsFormat, "classes"); err != nil {
		return err
	}
	s.rows += o.rows
	room := s.room
	s.room = nil // what is merged has been counted
	defer func() { s.room = room }()
	for i := range o.all {
		from := &o.all[i]
		to := &s.all[s.named(from.name)]
		to.n += from.n
		to.weight.Merge(&from.weight)
		for l := range to.sums {
			to.sums[l].Merge(&from.sums[l])
		}
		s.join(to, from)
	}
	return nil
}

// sort sorts the clusters by their names, by which states are equal where rows are.
func (s *Sums) sort() {
	for i := range s.all {
		s.settle(&s.all[i])
	}
	if slices.IsSortedFunc(s.all, func(a, b cluster) int { return cmp.Compare(a.name, b.name) }) {
		return
	}
	slices.SortFunc(s.all, func(a, b cluster) int { return cmp.Compare(a.name, b.name) })
	clear(s.index)
	clear(s.numbers)
	s.low = nil
	for i := range s.all {
		s.index[s.all[i].name] = int32(i)
	}
}

var sumsFormat = exact.Format{Name: "clustered.Sums", Magic: "cCLU", Version: 1}

func (s *Sums) fields(f *exact.Fields) {
	if !f.Reading() {
		s.sort()
	}
	s.seen.Fields(f)
	f.N(&s.rows)
	losses := make([]string, len(s.opt.Losses))
	for i := range losses {
		losses[i] = s.opt.Losses[i].Name
	}
	read := slices.Clone(losses)
	exact.Slice(f, &read, 8, func(name *string) { f.Str(name) })
	scored, anyUnit := s.opt.Scored, s.opt.Any
	f.Flags(&scored, &anyUnit)
	event := s.opt.Event
	exact.Byte(f, &event)
	f.Must(slices.Equal(read, losses) && scored == s.opt.Scored && anyUnit == s.opt.Any && event == s.opt.Event, "other losses or scores")
	if !f.OK() {
		return
	}
	limit := uint64(tally.Places())<<1 - 1
	last, total := "", int64(0)
	exact.Slice(f, &s.all, 16+25*len(losses), func(c *cluster) {
		f.Str(&c.name)
		f.N(&c.n)
		f.Must(c.name > last && c.n > 0 && c.n <= s.rows-total, "clusters are out of order, or have other numbers of rows")
		last, total = c.name, total+c.n
		if f.Reading() {
			c.sums = make([]exact.Sum, len(losses))
		}
		if s.seen.Weighted {
			f.Sum(&c.weight)
		}
		for i := range c.sums {
			f.Sum(&c.sums[i])
		}
		if !scored {
			return
		}
		place, counted, first := uint64(0), int64(0), true
		exact.Slice(f, &c.counts, 2, func(v *uint64) {
			step, n := *v>>countBits-place, *v&mostCount
			f.Uvarint(&step)
			f.Uvarint(&n)
			f.Must((first || step > 0) && step <= limit-place && n > 0 && n <= mostCount && int64(n) <= c.n-counted, exact.OutOfRange)
			place, counted, first = place+step, counted+int64(n), false
			*v = place<<countBits | n
		})
		if c.sorted = len(c.counts); s.seen.Weighted && f.OK() {
			if f.Reading() {
				c.heavy = make([]exact.Sum, len(c.counts))
			}
			for i := range c.heavy {
				f.Sum(&c.heavy[i])
			}
		}
	})
	f.Must(total == s.rows, "clusters have other numbers of rows")
	if f.Reading() && f.OK() {
		for i := range s.all {
			s.index[s.all[i].name] = int32(i)
		}
	}
}

// AppendBinary appends the state: equal rows and options give equal bytes.
func (s *Sums) AppendBinary(dst []byte) ([]byte, error) { return sumsFormat.Append(dst, s.fields) }

// UnmarshalBinary replaces the rows of s with those of a state that AppendBinary wrote, which must be of the same options.
func (s *Sums) UnmarshalBinary(data []byte) error {
	n := New(s.opt)
	if err := sumsFormat.Read(data, n.fields); err != nil {
		return err
	}
	n.room = s.room
	*s = *n
	return nil
}

// middles returns the middle score of each place, as its distance from the nearer of 0 and 1, for the lower half of the places.
func middles() []float64 {
	least, rising := kernel.GridPlaces()
	m := make([]float64, len(rising))
	for i, cell := range rising {
		low, high := least[cell], 0.5
		if i+1 < len(rising) {
			high = least[rising[i+1]]
		}
		m[i] = low + float64((high-low)/2)
	}
	return m
}
