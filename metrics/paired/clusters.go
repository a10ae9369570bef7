package paired

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Clusters keeps what the error of a difference needs from each cluster of rows, if the rows of a cluster depend on each other: sums of columns, as
// of a loss's differences, and lists of marks, as of a model's scores with their outcomes. Clusters have names, so that those of several parts of the
// rows meet in a merge.
//
// A cluster takes about 100 bytes and 32 for each column. A mark takes 24 bytes: one for each row of a list at most, since equal
// marks of a cluster are counted.
type Clusters struct {
	columns  int
	units    bool // columns are in the user's units, whose size is unknown
	weighted bool
	by       map[string]int32 // the number of a name
	names    []string
	rows     []int64
	weights  []exact.Sum // of each cluster, if rows have weights
	sums     []exact.Sum // of each cluster, those of the columns
	lists    []marks
	settled  bool // names rise, and marks are in order and counted
}

// NewClusters returns Clusters without rows. units says that columns are in the user's units, so that sums need the precision of
// small numbers.
func NewClusters(columns, lists int, units bool) *Clusters {
	return &Clusters{columns: columns, units: units, by: map[string]int32{}, lists: make([]marks, lists)}
}

// Empty returns Clusters without rows with the same options.
func (c *Clusters) Empty() *Clusters { return NewClusters(c.columns, len(c.lists), c.units) }

// Len returns the number of clusters.
func (c *Clusters) Len() int { return len(c.names) }

// Number returns the number of the cluster of this name, which may be new. It holds until a state or an answer is asked for.
func (c *Clusters) Number(name string) int32 {
	if n, ok := c.by[name]; ok {
		return n
	}
	n := int32(len(c.names))
	name = strings.Clone(name)
	c.by[name] = n
	c.names, c.rows, c.sums, c.settled = append(c.names, name), append(c.rows, 0), append(c.sums, make([]exact.Sum, c.columns)...), false
	if c.weighted {
		c.weights = append(c.weights, exact.Sum{})
	}
	return n
}

// Bytes estimates the memory in bytes.
func (c *Clusters) Bytes() (n int64) {
	n = int64(len(c.names))*int64(clusterBytes+32*c.columns) + 32*int64(len(c.weights))
	for i := range c.lists {
		n += int64(cap(c.lists[i].items)) * markBytes
	}
	return n
}

const (
	clusterBytes = 120 // a name, its place in the table, its rows
	markBytes    = 24
)

// AddRows counts rows by the numbers of their clusters, with weights if there are any.
func (c *Clusters) AddRows(at []int32, weights []float64) {
	if weights != nil && !c.weighted {
		c.weighted = true
		c.weights = make([]exact.Sum, len(c.names))
	}
	for i, k := range at {
		c.rows[k]++
		if weights != nil {
			c.weights[k].AddFloat(weights[i])
		}
	}
}

// Add adds values of rows to a column, times weights if there are any. Those that are no finite number are left out.
func (c *Clusters) Add(column int, at []int32, v, weights []float64) {
	for i, x := range v {
		if weights != nil {
			x = float64(x * weights[i])
		}
		s := &c.sums[int(at[i])*c.columns+column]
		switch {
		case x-x == 0 && x != 0:
			if c.units && !(math.Abs(x) >= 0x1p-36) {
				s.AddExact(x)
			} else {
				s.AddFloat(x)
			}
		case x != 0 && weights != nil && v[i]-v[i] == 0: // the product exceeds the range of float64
			tally.AddLarge(s, weights[i], v[i])
		}
	}
}

// AddMarks adds a mark of each row to a list, with weights if there are any. None marks no row.
func (c *Clusters) AddMarks(list int, at []int32, keys []uint64, weights []float64) {
	l, w := &c.lists[list], 1.0
	for i, k := range keys {
		if k != None {
			if weights != nil {
				w = weights[i]
			}
			l.add(mark{key: k, weight: w, cluster: at[i], n: 1})
		}
	}
	c.settled = false
}

// mark counts the rows of a cluster with a key and a weight, which is 1 without weights.
type mark struct {
	key     uint64
	weight  float64
	cluster int32
	n       uint32
}

func (m mark) compare(o mark) int {
	return cmp.Or(cmp.Compare(m.cluster, o.cluster), cmp.Compare(m.key, o.key), cmp.Compare(m.weight, o.weight))
}

// marks is a list of marks, of which equal ones may be apart until they are settled.
type marks struct {
	items []mark
	next  int // length at which it is settled
}

func (l *marks) add(m mark) {
	if n := len(l.items); n > 0 && l.items[n-1].compare(m) == 0 && l.items[n-1].n <= math.MaxUint32-m.n {
		l.items[n-1].n += m.n
		return
	}
	if len(l.items) >= max(l.next, 1<<16) {
		l.settle()
		l.next = 4 * len(l.items)
	}
	l.items = append(l.items, m)
}

// settle sorts the marks and counts equal ones. Those of more than 2^32 - 1 rows are followed by the rest.
func (l *marks) settle() {
	slices.SortFunc(l.items, mark.compare)
	to := 0
	for _, m := range l.items {
		if to > 0 && l.items[to-1].compare(m) == 0 {
			sum := uint64(l.items[to-1].n) + uint64(m.n)
			l.items[to-1].n = uint32(min(sum, math.MaxUint32))
			if sum -= uint64(l.items[to-1].n); sum == 0 {
				continue
			}
			m.n = uint32(sum)
		}
		l.items[to] = m
		to++
	}
	clear(l.items[to:])
	l.items = l.items[:to]
}

// settle brings the clusters into the order of their names, and the marks into that of the clusters and keys. What is found from
// them then depends on the rows alone.
func (c *Clusters) settle() {
	if c.settled {
		return
	}
	c.settled = true
	if !slices.IsSorted(c.names) {
		order := make([]int32, len(c.names))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int { return strings.Compare(c.names[a], c.names[b]) })
		names, rows, sums := make([]string, len(order)), make([]int64, len(order)), make([]exact.Sum, 0, len(c.sums))
		weights := make([]exact.Sum, len(c.weights))
		place := make([]int32, len(order))
		for to, from := range order {
			names[to], rows[to], place[from] = c.names[from], c.rows[from], int32(to)
			sums = append(sums, c.sums[int(from)*c.columns:(int(from)+1)*c.columns]...)
			if c.weighted {
				weights[to] = c.weights[from]
			}
			c.by[names[to]] = int32(to)
		}
		c.names, c.rows, c.sums, c.weights = names, rows, sums, weights
		for i := range c.lists {
			for k := range c.lists[i].items {
				m := &c.lists[i].items[k]
				m.cluster = place[m.cluster]
			}
		}
	}
	for i := range c.lists {
		c.lists[i].settle()
	}
}

// Merge adds the rows of other Clusters with the same columns and lists, of which those with weights are not merged with those
// without. It panics otherwise.
func (c *Clusters) Merge(o *Clusters) {
	if c.columns != o.columns || len(c.lists) != len(o.lists) || c.units != o.units || c.weighted != o.weighted && len(c.names)*len(o.names) > 0 {
		panic("paired: clusters of other columns or lists")
	}
	if len(o.names) == 0 {
		return
	}
	if len(c.names) == 0 {
		c.weighted = o.weighted
	}
	to := make([]int32, len(o.names))
	for i, name := range o.names {
		n := c.Number(name)
		to[i] = n
		c.rows[n] += o.rows[i]
		if c.weighted {
			c.weights[n].Merge(&o.weights[i])
		}
		for k := range c.columns {
			c.sums[int(n)*c.columns+k].Merge(&o.sums[i*c.columns+k])
		}
	}
	for i := range c.lists {
		for _, m := range o.lists[i].items {
			m.cluster = to[m.cluster]
			c.lists[i].add(m)
		}
	}
	c.settled = false
}

// Fields lists the fields of the state, of the rows of a Count.
func (c *Clusters) Fields(f *exact.Fields, of *Count) {
	if !f.Reading() {
		c.settle()
	}
	last, rows := "", int64(0)
	i := 0
	exact.Slice(f, &c.names, 8, func(name *string) {
		f.Str(name)
		f.Must(i == 0 || last < *name, exact.OutOfRange)
		last = *name
		i++
	})
	if f.Reading() {
		if !f.OK() {
			return
		}
		n := len(c.names)
		c.by = make(map[string]int32, n)
		for i, name := range c.names {
			c.names[i] = strings.Clone(name)
			c.by[c.names[i]] = int32(i)
		}
		if c.rows, c.sums, c.weighted = make([]int64, n), make([]exact.Sum, n*c.columns), of.Weighted(); c.weighted {
			c.weights = make([]exact.Sum, n)
		}
	}
	for i := range c.rows {
		f.N(&c.rows[i])
		f.Must(c.rows[i] > 0 && c.rows[i] <= of.Rows()-rows, exact.OutOfRange)
		if !f.OK() {
			return
		}
		rows += c.rows[i]
	}
	f.Must(rows == of.Rows(), exact.OutOfRange)
	for i := range c.weights {
		f.Sum(&c.weights[i])
		f.Must(c.weights[i].Sign() > 0, exact.OutOfRange)
	}
	for i := range c.sums {
		f.Sum(&c.sums[i])
	}
	for i := range c.lists {
		if !f.OK() {
			return
		}
		c.lists[i].fields(f, c)
	}
	c.settled = true
}

// fields lists the marks in their order, of each the step from the cluster of the last one.
func (l *marks) fields(f *exact.Fields, c *Clusters) {
	var last mark
	left, first := int64(0), true
	at := int32(0)
	exact.Slice(f, &l.items, 3, func(m *mark) {
		step, n := uint64(m.cluster-at), uint64(m.n)
		f.Uvarint(&step)
		f.Uvarint(&m.key)
		f.Uvarint(&n)
		if c.weighted {
			f.F64(&m.weight)
		}
		if !f.OK() {
			return
		}
		if f.Reading() {
			if f.Must(step < uint64(len(c.names)) && int64(at)+int64(step) < int64(len(c.names)) && n > 0 && n <= math.MaxUint32, exact.OutOfRange); !f.OK() {
				return
			}
			m.cluster, m.n = at+int32(step), uint32(n)
			if !c.weighted {
				m.weight = 1
			}
		}
		if first || m.cluster != at {
			left = c.rows[m.cluster]
		}
		left -= int64(m.n)
		order := last.compare(*m)
		f.Must(m.weight > 0 && m.weight-m.weight == 0 && m.key != None && left >= 0 &&
			(first || order < 0 || order == 0 && last.n == math.MaxUint32), exact.OutOfRange)
		at, last, first = m.cluster, *m, false
	})
}

// sizes returns the weight of the rows of each cluster, and of all.
func (c *Clusters) sizes() (each []float64, total exact.Sum) {
	each = make([]float64, len(c.names))
	for i, n := range c.rows {
		if each[i] = float64(n); c.weighted {
			each[i] = c.weights[i].Float64()
			total.Merge(&c.weights[i])
		}
	}
	if !c.weighted {
		rows := int64(0)
		for _, n := range c.rows {
			rows += n
		}
		total = tally.Count(rows)
	}
	return each, total
}
