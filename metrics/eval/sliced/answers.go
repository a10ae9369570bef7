package sliced

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/eval"
)

// Of MCGrad: segments are of up to three columns, of three values each, and have ten rows or more.
const (
	depth       = 3
	segmentRows = 10
)

// answers holds what is computed once from the cells.
type answers struct {
	views    []view // of the columns
	segments []view // of the columns, with values collapsed as MCGrad does
	gap      *eval.Multicalibration
	clusters *clusterCells
	error    map[bool]*eval.Multicalibration
}

// view has the values of a column that make slices: of each group, or of the score for each cell.
type view struct {
	names []string
	of    []int32 // the value, by group; nil for the score
	edges []float64
}

func (e *Evaluation) answers() *answers {
	if e.memo != nil {
		return e.memo
	}
	m := &answers{error: map[bool]*eval.Multicalibration{}, clusters: e.byClusters()}
	rows := make([]int64, len(e.values))
	for i := range rows {
		rows[i] = e.table.groups[i].n
	}
	k := 0
	for i := range e.Columns {
		c := &e.Columns[i]
		if c.Score {
			m.views = append(m.views, e.byScore(c.Edges, EqualMass))
			m.segments = append(m.segments, e.byScore(c.Edges, thirds))
			continue
		}
		a, b := views(c, func(g int) string { return e.values[g][k] }, rows)
		m.views, m.segments = append(m.views, a), append(m.segments, b)
		k++
	}
	e.memo = m
	return m
}

// byScore returns the view of the score, in k bins of equal mass if there are no edges.
func (e *Evaluation) byScore(edges []float64, k int) view {
	if edges == nil {
		var list []weighed
		for _, c := range e.table.list {
			p := e.table.score(c.key)
			if n := len(list); n > 0 && list[n-1].x == p {
				list[n-1].rows += c.n
			} else {
				list = append(list, weighed{p, c.n})
			}
		}
		if len(list) > 0 {
			edges = quantiles(list, k, list[len(list)-1].x)
			if edges == nil { // all scores are equal
				edges = []float64{math.Nextafter(list[0].x, -1), list[0].x}
			}
		}
	}
	v := view{edges: edges}
	for i := range len(edges) + 1 {
		if edges != nil {
			v.names = append(v.names, binName(edges, i))
		}
	}
	return v
}

// views returns the values of a column as slices have them, and as MCGrad has them. values gives the value of a group.
func views(c *Column, values func(g int) string, rows []int64) (all, few view) {
	type value struct {
		finest int // bin, or -1
		text   string
	}
	var distinct []value
	each := make([]value, len(rows))
	seen := map[value]bool{}
	for g := range rows {
		finest, text, coded := decode(values(g))
		if !coded {
			finest = -1
		}
		each[g] = value{finest, text}
		if !seen[each[g]] {
			seen[each[g]] = true
			distinct = append(distinct, each[g])
		}
	}
	numeric := c.Edges == nil // all values are numbers, or missing
	numbers := 0
	for _, v := range distinct {
		if _, ok := number([]byte(v.text)); ok {
			numbers++
		} else if strings.TrimSpace(v.text) != "" && !strings.EqualFold(strings.TrimSpace(v.text), "nan") {
			numeric = false
		}
	}
	numeric = numeric && numbers > 0
	slices.SortFunc(distinct, func(a, b value) int {
		if a.finest != b.finest {
			return cmp.Compare(uint(a.finest), uint(b.finest)) // texts come last
		}
		if numeric {
			x, xok := number([]byte(a.text))
			y, yok := number([]byte(b.text))
			switch {
			case xok && yok && x != y:
				return cmp.Compare(x, y)
			case xok != yok:
				if xok {
					return -1
				}
				return 1
			}
		}
		return cmp.Compare(a.text, b.text)
	})
	of := func(name func(v value) string) view {
		w := view{of: make([]int32, len(rows))}
		index := map[string]int32{}
		at := map[value]int32{}
		for _, v := range distinct {
			n := name(v)
			i, met := index[n]
			if !met {
				i = int32(len(w.names))
				index[n] = i
				w.names = append(w.names, n)
			}
			at[v] = i
		}
		for g := range each {
			w.of[g] = at[each[g]]
		}
		return w
	}
	binned := func(edges []float64) func(v value) string {
		return func(v value) string {
			if v.finest < 0 {
				return v.text
			}
			return binName(edges, wider(edges, c.fine, v.finest))
		}
	}
	if c.Edges != nil {
		all = of(binned(c.Edges))
		if c.Thirds == nil {
			return all, all
		}
		return all, of(binned(c.Thirds))
	}
	all = of(func(v value) string { return v.text })
	count := map[value]int64{}
	for g, v := range each {
		count[v] += rows[g]
	}
	switch {
	case numeric && numbers <= thirds || !numeric && len(distinct) <= thirds:
		return all, all
	case numeric:
		var list []weighed
		for _, v := range distinct {
			if x, ok := number([]byte(v.text)); ok {
				list = append(list, weighed{x, count[v]})
			}
		}
		edges := quantiles(list, thirds, list[len(list)-1].x)
		return all, of(func(v value) string {
			x, ok := number([]byte(v.text))
			if !ok {
				return v.text
			}
			return binName(edges, bin(edges, x))
		})
	}
	frequent := slices.Clone(distinct)
	slices.SortStableFunc(frequent, func(a, b value) int { return cmp.Compare(count[b], count[a]) })
	kept := map[value]bool{}
	for _, v := range frequent[:thirds-1] {
		kept[v] = true
	}
	return all, of(func(v value) string {
		if kept[v] {
			return v.text
		}
		return others
	})
}

// others names the values that MCGrad collapses.
const others = "__OTHER"

// subsets calls f for every set of up to most of the views, the empty one first.
func subsets(n, most int, f func(columns []int)) {
	var set []int
	var choose func(from, size int)
	choose = func(from, size int) {
		if size == 0 {
			f(set)
			return
		}
		for i := from; i < n; i++ {
			set = append(set, i)
			choose(i+1, size-1)
			set = set[:len(set)-1]
		}
	}
	for size := 0; size <= min(n, most); size++ {
		choose(0, size)
	}
}

// slicing divides cells into the slices of a set of columns.
type slicing struct {
	columns []int
	first   []int32   // number of the slice of a group, where the score is not a column; otherwise of its first one
	bins    int       // bins of the score, or 1
	edges   []float64 // of the score; nil if it is not a column
	values  [][]int32 // of each of the columns, by number
}

// sliced returns the slices of some columns.
func sliced(views []view, columns []int, groups int) *slicing {
	s := &slicing{columns: slices.Clone(columns), first: make([]int32, groups), bins: 1}
	index := map[[depth]int32]int32{}
	score := -1
	for i, c := range columns {
		if views[c].of == nil {
			score, s.edges, s.bins = i, views[c].edges, len(views[c].names)
		}
	}
	for g := range groups {
		var tuple [depth]int32
		for i, c := range columns {
			if i != score {
				tuple[i] = views[c].of[g]
			}
		}
		at, met := index[tuple]
		if !met {
			at = int32(len(s.values))
			index[tuple] = at
			for b := range s.bins {
				v := slices.Clone(tuple[:len(columns)])
				if score >= 0 {
					v[score] = int32(b)
				}
				s.values = append(s.values, v)
			}
		}
		s.first[g] = at
	}
	return s
}

// names returns the values of a slice.
func (s *slicing) names(views []view, slice int) []string {
	l := make([]string, len(s.columns))
	for i, c := range s.columns {
		l[i] = views[c].names[s.values[slice][i]]
	}
	return l
}

// each calls f for each cell with its slice and its score, in rising order of scores.
func (e *Evaluation) each(s *slicing, f func(slice int32, c *entry, p float64)) {
	t := e.table
	key, p, b := uint64(math.MaxUint64), 0.0, int32(0)
	for i := range t.list {
		c := &t.list[i]
		if c.key != key {
			if key, p = c.key, t.score(c.key); s.edges != nil {
				b = int32(bin(s.edges, p))
			}
		}
		f(s.first[c.group]+b, c, p)
	}
}

// walk is the partial sums of a segment.
type walk struct {
	n          int64
	key        uint64
	s, low, hi wide
	now        wide // variance so far
	inside     float64
	up, down   wide // of the cells with the last key
}

// end takes the end of a cell of equal scores into account.
func (w *walk) end(exact bool) {
	if w.s.less(w.low) {
		w.low = w.s
	}
	if w.hi.less(w.s) {
		w.hi = w.s
	}
	if !exact {
		w.inside = max(w.inside, min(w.up.float(), w.down.float()))
		w.up, w.down = wide{}, wide{}
	}
}

// segment is the calibration of one of MCGrad's segments.
type segment struct {
	columns, values []string
	rows            int64
	ecce            float64 // Kuiper's statistic of the segment: the largest partial sum of y - p minus the smallest, over its rows
	sigma           float64 // ecce divided by sqrt(sum p(1-p)) / rows
	bound           float64 // the most by which sigma can differ, with the standard deviation as it is
}

// eachSegment calls f for each segment with this many rows, that of all rows first.
func (e *Evaluation) eachSegment(views []view, least int64, f func(s segment)) {
	exact := e.table.shift == 0
	width := 0.0
	if !exact {
		for i := range e.table.list {
			low, high := e.table.ends(e.table.list[i].key)
			width = max(width, high-low)
		}
	}
	subsets(len(views), depth, func(columns []int) {
		s := sliced(views, columns, len(e.values))
		walks := make([]walk, len(s.values))
		e.each(s, func(slice int32, c *entry, p float64) {
			w := &walks[slice]
			if w.n > 0 && w.key != c.key {
				w.end(exact)
			}
			w.key, w.n = c.key, w.n+c.n
			up, down := times(units(1-p), c.y), times(units(p), c.n-c.y)
			w.s.add(up.minus(down))
			if !exact {
				w.up.add(up)
				w.down.add(down)
			}
			w.now.add(times(units(float64(p*(1-p))), c.n))
		})
		for i := range walks {
			w := &walks[i]
			if w.n == 0 || w.n < least {
				continue
			}
			w.end(exact)
			g := segment{values: s.names(views, i), rows: w.n, ecce: (w.hi.float() - w.low.float()) / float64(w.n)}
			for _, c := range columns {
				g.columns = append(g.columns, e.Columns[c].Name)
			}
			sd := math.Sqrt(w.now.float()) / float64(w.n)
			switch {
			case sd > 0:
				g.sigma = g.ecce / sd
			case g.ecce > 0:
				g.sigma = math.Inf(1)
			}
			if !exact {
				g.bound = (float64(2*w.inside)/float64(w.n) + width) / sd
			}
			f(g)
		}
	})
}

// Multicalibration returns MCGrad's multicalibration error, over its segments, or over all slices.
func (e *Evaluation) Multicalibration(every bool) *eval.Multicalibration {
	m := e.answers()
	if a := m.error[every]; a != nil {
		return a
	}
	views := m.segments
	if every {
		views = m.views
	}
	m.error[every] = e.worst(views, segmentRows)
	return m.error[every]
}

// worst returns the multicalibration error over the segments with this many rows.
func (e *Evaluation) worst(views []view, least int64) *eval.Multicalibration {
	a := &eval.Multicalibration{Error: math.NaN(), Relative: math.NaN(), Sigma: math.NaN(), P: math.NaN(), Exact: e.table.shift == 0}
	if a.Reason = e.reason(); a.Reason != "" {
		return a
	}
	var all, worst segment
	e.eachSegment(views, least, func(s segment) {
		if a.Segments++; len(s.columns) == 0 {
			all, worst = s, s
		}
		if s.sigma > worst.sigma {
			worst = s
		}
		a.SigmaBound = max(a.SigmaBound, s.bound)
	})
	if a.Segments == 0 {
		a.Reason = "no segment has " + strconv.FormatInt(least, 10) + " rows"
		return a
	}
	var total sums
	for i := range e.table.groups {
		total.add(&e.table.groups[i])
	}
	sd := math.Sqrt(total.v.float()) / float64(total.n)
	a.Sigma, a.P = worst.sigma, binfree.KuiperTail(worst.sigma)
	for i, c := range worst.columns {
		a.Worst = append(a.Worst, [2]string{c, worst.values[i]})
	}
	a.Rows, a.Bound = worst.rows, a.SigmaBound*sd
	a.Error = all.ecce
	if len(worst.columns) > 0 {
		a.Error = worst.sigma * sd
	}
	base := float64(min(total.y, total.n-total.y)) / float64(total.n)
	switch {
	case math.IsNaN(a.Error): // infinite sigma where no score leaves anything to chance
		a.Error, a.Relative = math.Inf(1), math.Inf(1)
	case base > 0:
		a.Relative = 100 * a.Error / base
	default:
		a.RelativeReason = "all rows have the event, or none has"
	}
	return a
}

// reason says why there are no answers.
func (e *Evaluation) reason() string {
	switch {
	case e.table.rows == 0:
		return "there are no rows"
	case e.table.weighted:
		return "rows with weights are not sliced"
	case e.table.outside > 0:
		return "scores outside [0,1] are in no slice"
	}
	return ""
}
