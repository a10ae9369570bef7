package predictions

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// groups numbers the groups of all rows in order of first appearance.
type groups struct {
	columns []string
	places  []int // scratch: where the values of a key start

	mu    sync.Mutex
	index map[string]int32
	keys  []string
}

func newGroups(columns []string) *groups {
	g := &groups{columns: slices.Clone(columns), index: map[string]int32{}}
	for i := range columns {
		g.places = append(g.places, i)
	}
	return g
}

// appendKey appends the value of a column to a key, which identifies a row's group.
func appendKey(key, value []byte) []byte {
	return append(binary.AppendUvarint(key, uint64(len(value))), value...)
}

// of returns the values of a key in the order of the columns.
func (g *groups) of(key string) []string {
	var values []string
	for key != "" {
		n, w := binary.Uvarint([]byte(key[:min(len(key), binary.MaxVarintLen64)]))
		values, key = append(values, key[w:w+int(n)]), key[w+int(n):]
	}
	ordered := make([]string, len(values))
	for i, p := range g.places {
		ordered[i] = values[p]
	}
	return ordered
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
	return n, n < maxGroups
}

func (g *groups) values(i int32) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i < 0 || int(i) >= len(g.keys) {
		return nil
	}
	return g.of(g.keys[i])
}

// distinct returns the number of distinct values in each column.
func (g *groups) distinct() []int {
	n := make([]int, len(g.columns))
	for c := range n {
		seen := map[string]bool{}
		for _, k := range g.keys {
			seen[g.of(k)[c]] = true
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
		thousands(maxGroups), among, g.columns[of], thousands(most))
}

// thousands formats a number with a comma between thousands.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
