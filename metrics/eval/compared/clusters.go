package compared

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/paired"
	"github.com/candor-go/candor/metrics/survival"
)

// Room limits the memory of clusters and of groups, whose number is unknown before the rows are read. The zero value sets no limit.
type Room struct {
	Bytes  int64 // for clusters; 0 sets no limit
	Groups int64 // for groups and the answers for them; 0 sets no limit
	// Remedy returns what the caller must do to allow this many bytes for clusters, and GroupRemedy for groups.
	Remedy, GroupRemedy func(bytes int64) string
}

// Clusters returns the number of clusters; 0 if rows are taken as independent.
func (c *Comparison) Clusters() int {
	if c.groups == nil {
		return 0
	}
	return c.groups.Len()
}

// The columns of clusters: of each pair the differences of the losses, and of who is right; of each model its own losses. Those that
// are not needed are left out.

// columns returns their number.
func (c *Comparison) columns() int { return c.ownColumn(len(c.models), 0) }

// lossColumn returns the column of the differences of a loss.
func (c *Comparison) lossColumn(pair, loss int) int { return pair*c.perPair() + loss }

// hitsColumn returns that of the rows where one is right and the other is not.
func (c *Comparison) hitsColumn(pair int) int { return pair*c.perPair() + len(c.kept.losses) }

func (c *Comparison) perPair() int {
	n := len(c.kept.losses)
	if c.kept.hits {
		n++
	}
	return n
}

// ownColumn returns the column of a model's loss.
func (c *Comparison) ownColumn(model, loss int) int {
	each, before := 0, 0
	for i := range c.kept.losses {
		if c.kept.losses[i].each {
			if each++; i < loss {
				before++
			}
		}
	}
	return len(c.pairs)*c.perPair() + model*each + before
}

// lists returns the number of lists of marks: one of each model's scores, and one of labels. Those that are not needed are left out.
func (c *Comparison) lists() (n int) {
	if c.kept.joint {
		n = len(c.models)
	}
	if c.kept.byLabel {
		n++
	}
	return n
}

// labelList returns the list of labels.
func (c *Comparison) labelList() int { return c.lists() - 1 }

// clustering adds the rows of a reader to clusters.
type clustering struct {
	r     *reader
	names []func(cluster int32) string // of each source
	room  *room
	held  int64

	number []int32   // by the first source's number, that of the reader's clusters plus 1; 0 if it has not come yet
	same   [][]int32 // of each source, by its number, that of the first source plus 1
	at     []int32
	keys   []uint64
	values []float64
}

func newClustering(r *reader, room *room) *clustering {
	n := len(r.c.models)
	return &clustering{r: r, names: make([]func(int32) string, n), room: room, same: make([][]int32, n),
		at: make([]int32, stepRows), keys: make([]uint64, stepRows), values: make([]float64, stepRows)}
}

// alike returns an error if models disagree about the cluster of a row.
func (g *clustering) alike(w *run) error {
	a := &w.chunks[0]
	for m := range w.chunks {
		b := &w.chunks[m]
		if len(b.Clusters) != b.Rows {
			panic("compared: the rows of a chunk have no clusters")
		}
		if g.names[m] = b.ClusterName; b.ClusterName == nil {
			g.names[m] = func(k int32) string { return strconv.Itoa(int(k)) }
		}
		if m == 0 {
			continue
		}
		for i, k := range b.Clusters {
			first := a.Clusters[i]
			if int(k) < len(g.same[m]) && g.same[m][k] == first+1 {
				continue
			}
			x, y := g.names[m](k), g.names[0](first)
			if x != y {
				return &RowError{Model: g.r.names[m], First: g.r.names[0], Row: a.Number(i), What: "cluster", Cluster: x, OtherCluster: y}
			}
			g.same[m] = paired.Grown(g.same[m], int(k)+1)
			g.same[m][k] = first + 1
		}
	}
	return nil
}

// add adds the n rows that all views have.
func (g *clustering) add(n int, labels []int32, weights []float64) {
	c := g.r.c
	at := g.at[:n]
	for i, k := range g.r.view[0].cluster[:n] {
		if int(k) >= len(g.number) {
			g.number = paired.Grown(g.number, int(k)+1)
		}
		if g.number[k] == 0 {
			g.number[k] = c.groups.Number(g.names[0](k)) + 1
		}
		at[i] = g.number[k] - 1
	}
	c.groups.AddRows(at, weights)
	d := g.values[:n]
	for k, p := range c.pairs {
		a, b := &g.r.view[p.a], &g.r.view[p.b]
		for l := range c.kept.losses {
			if !c.both(p, l) {
				continue
			}
			for i, v := range a.values[l][:n] {
				d[i] = b.values[l][i] - v
			}
			c.groups.Add(c.lossColumn(k, l), at, d, weights)
		}
		if c.judges(p.a) && c.judges(p.b) {
			for i, y := range a.right[:n] {
				d[i] = float64(int(b.right[i]) - int(y))
			}
			c.groups.Add(c.hitsColumn(k), at, d, weights)
		}
		if c.kept.joint && c.scored(p) {
			for i, x := range a.keys[:n] {
				if x != b.keys[i] {
					p.apart++
				}
			}
		}
	}
	for m := range c.models {
		v := &g.r.view[m]
		for l := range c.kept.losses {
			if c.kept.losses[l].each && c.has(m, l) {
				c.groups.Add(c.ownColumn(m, l), at, v.values[l][:n], weights)
			}
		}
		if c.kept.joint && !c.Known(m) {
			c.groups.AddMarks(m, at, v.keys[:n], weights)
		}
	}
	if c.kept.byLabel {
		for i, y := range labels {
			g.keys[i] = uint64(y)
		}
		c.groups.AddMarks(c.labelList(), at, g.keys[:n], weights)
	}
}

// fits returns an error if clusters take more memory than there is room.
func (g *clustering) fits() error {
	// The evaluation of each model keeps about as much.
	now := int64(1+len(g.r.c.models)) * g.r.c.groups.Bytes()
	err := g.room.take(now-g.held, g.r.c)
	g.held = now
	return err
}

// room tracks the memory of the clusters of all goroutines.
type room struct {
	Room
	threads int
	mu      sync.Mutex
	held    int64
	grouped int64 // by groups
	lives   int64 // by rows of survival
	met     int   // the most groups that a goroutine has
}

// take records this many more bytes.
func (r *room) take(more int64, c *Comparison) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Parts are merged into the first one, and an answer takes about as much again for two models.
	if r.held += more; r.Bytes == 0 || 2*r.held <= r.Bytes {
		return nil
	}
	remedy := "give it more"
	if r.Remedy != nil {
		remedy = r.Remedy(4 * r.held)
	}
	why := ""
	if c.kept.joint {
		var names []string
		for _, m := range c.Spec.Metrics {
			if by, _ := comparedBy(&c.Spec, m); by >= ofAUROC && by < ofLives {
				names = append(names, m.String())
			}
		}
		why = ", or leave out metrics of which each row's score is kept: " + joined(names)
	}
	return &eval.RoomError{Reason: fmt.Sprintf("the sums of %d clusters or more take more memory than there is: %s%s", c.groups.Len(), remedy, why)}
}

// keep records rows of survival, which are kept by each model and for all together.
func (r *room) keep(rows int, c *Comparison) error {
	if c.lives == nil || r.Bytes == 0 {
		return nil
	}
	n, weighted := len(c.models), c.count.Weighted()
	each := int64(n)*survival.RowBytes(c.Spec.Classes, weighted) + survival.RowBytes(n*(c.Spec.Classes-2)+2, weighted)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lives += int64(rows) * each; r.lives <= 4*r.Bytes {
		return nil
	}
	remedy := "give it more"
	if r.Remedy != nil {
		remedy = r.Remedy(2 * r.lives)
	}
	return &eval.RoomError{Reason: fmt.Sprintf("all rows of survival are kept, for each model and for their differences, and take more memory than there is: %s, or name fewer columns of times", remedy)}
}

// joined joins names, of which it spells the first ones.
func joined(l []string) (s string) {
	const most = 8
	for i, n := range slices.Compact(l) {
		switch {
		case i == most:
			return s + ", ..."
		case i > 0:
			s += ", "
		}
		s += n
	}
	return s
}
