package predictions

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxClusters is the maximum number of clusters, whose numbers are of type int32.
const maxClusters = math.MaxInt32

// groups numbers the groups of all rows, or the clusters, in order of first appearance.
type groups struct {
	columns  []string
	places   []int   // for each column, and then for that of clusters, where its value stands in the keys of a table's rows
	limit    int     // of groups
	clusters *groups // of the same table's rows; nil if they have none

	mu    sync.Mutex
	index map[string]int32
	keys  []string
}

// newGroups returns groups by some columns and, unless cluster is "", clusters by another.
func newGroups(columns []string, cluster string) *groups {
	g := &groups{columns: slices.Clone(columns), limit: maxGroups, index: map[string]int32{}}
	if cluster != "" {
		g.clusters = &groups{columns: []string{cluster}, limit: maxClusters, index: map[string]int32{}}
		columns = append(slices.Clone(columns), cluster)
	}
	for i := range columns {
		g.places = append(g.places, i)
	}
	return g
}

// column returns the only column; "" if there is none, or g is nil.
func (g *groups) column() string {
	if g == nil || len(g.columns) == 0 {
		return ""
	}
	return g.columns[0]
}

// appendKey appends the value of a column to a key, which identifies a row's group.
func appendKey(key, value []byte) []byte {
	return append(binary.AppendUvarint(key, uint64(len(value))), value...)
}

// valuesOf returns the values that make up a key.
func valuesOf(key string) []string {
	var values []string
	for key != "" {
		n, w := binary.Uvarint([]byte(key[:min(len(key), binary.MaxVarintLen64)]))
		values, key = append(values, key[w:w+int(n)]), key[w+int(n):]
	}
	return values
}

// row returns the numbers of the group and of the cluster of a table's row with this key, and adds those that are new.
func (g *groups) row(key string) (group, cluster int32, e *Error) {
	found := valuesOf(key)
	values := make([]string, len(found))
	for i, p := range g.places {
		values[i] = found[p]
		if !utf8.ValidString(values[i]) {
			name := g.clusters.column()
			if i < len(g.columns) {
				name = g.columns[i]
			}
			return 0, 0, fault("write the file as UTF-8", "column %q: %q is not UTF-8", cut(name), cut(values[i]))
		}
	}
	if n := len(g.columns); n > 0 {
		var own []byte
		for _, v := range values[:n] {
			own = appendKey(own, []byte(v))
		}
		if group, e = g.add(string(own)); e != nil {
			return 0, 0, e
		}
	}
	if g.clusters != nil {
		cluster, e = g.clusters.addName(values[len(g.columns)])
	}
	return group, cluster, e
}

// add returns the number of the group with a key, whose values are in the order of the columns.
func (g *groups) add(key string) (int32, *Error) {
	n, ok := g.number(key)
	if !ok {
		return 0, g.tooMany(g.distinct())
	}
	return n, nil
}

// addName returns the number of a cluster.
func (g *groups) addName(name string) (int32, *Error) {
	if name == "" {
		return 0, g.unnamed()
	}
	n, ok := g.number(name)
	if !ok {
		return 0, g.tooManyClusters()
	}
	return n, nil
}

func (g *groups) unnamed() *Error {
	return fault("each row needs the name or number of its cluster: one of its own where it depends on no other row", "column %q: the row has no cluster", cut(g.column()))
}

func (g *groups) tooManyClusters() *Error {
	return fault("take a column of fewer values", "more than %s clusters in column %q", thousands(g.limit), cut(g.column()))
}

// name returns the name of a cluster; "" if there is none of that number.
func (g *groups) name(i int32) string {
	if g == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i < 0 || int(i) >= len(g.keys) {
		return ""
	}
	return g.keys[i]
}

// number returns the number of a group, and adds it if it is new. ok is false if there are too many.
func (g *groups) number(key string) (n int32, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, met := g.index[key]
	if met {
		return n, true
	}
	n = int32(len(g.keys))
	g.index[key], g.keys = n, append(g.keys, key)
	return n, int(n) < g.limit
}

func (g *groups) values(i int32) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i < 0 || int(i) >= len(g.keys) {
		return nil
	}
	return valuesOf(g.keys[i])
}

// distinct returns the number of distinct values in each column.
func (g *groups) distinct() []int {
	n := make([]int, len(g.columns))
	for c := range n {
		seen := map[string]bool{}
		for _, k := range g.keys {
			seen[valuesOf(k)[c]] = true
		}
		n[c] = len(seen)
	}
	return n
}

// tooMany returns the Error of too many groups. It names the column with the most distinct values.
func (g *groups) tooMany(distinct []int) *Error {
	most := slices.Max(distinct)
	of := slices.Index(distinct, most)
	among := ""
	if len(g.columns) > 1 {
		among = " (" + strings.Join(g.columns, ", ") + ")"
	}
	return fault("group by a column of fewer values", "more than %s groups%s: column %q has %s values so far",
		thousands(g.limit), among, g.columns[of], thousands(most))
}

// thousands formats a number with a comma between thousands.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
