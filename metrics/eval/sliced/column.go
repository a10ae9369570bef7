package sliced

import (
	"bytes"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
)

const (
	// EqualMass is the number of bins of equal mass into which the numbers of a column are cut.
	EqualMass = 10
	// Thirds is the number of bins that MCGrad cuts the numbers of a column into, and the number of values of a column that it tells apart.
	Thirds = 3
	thirds = Thirds
	// distinctNumbers is the largest number of distinct numbers of a column that are told apart in a first read.
	distinctNumbers = 1 << 18
)

// Column is a column by which rows are sliced. Without Edges rows are sliced by the texts of their values.
type Column struct {
	Name string
	// Score says that the numbers are the model's own scores: the probability of the event, or of the top label of three or
	// more classes. Without Edges the bins have equal mass, and are taken from the rows that have been read.
	Score bool
	// Edges are those of the bins of numbers, rising, two or more: [e0, e1], (e1, e2], ... Numbers below the first and above
	// the last have a bin each. Infinities are allowed. A value that is no number keeps its text.
	Edges []float64
	// Thirds are the edges of MCGrad's bins, from the rows' quantiles; nil where bins of the multicalibration error are those
	// of Edges.
	Thirds []float64
	fine   []float64
}

// Number reads a value as a number. It is none if it is empty, text or NaN.
func number(value []byte) (float64, bool) {
	if len(value) == 0 || len(value) > 64 {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
	return v, (err == nil || math.IsInf(v, 0)) && v == v
}

// prepare sets the edges of the finest bins.
func (c *Column) prepare() {
	c.fine = slices.Clone(c.Edges)
	if c.Edges != nil {
		c.fine = append(c.fine, c.Thirds...)
		slices.Sort(c.fine)
		c.fine = slices.Compact(c.fine)
	}
}

// bin returns the bin of a number: 0 below the first edge, i in (e[i-1], e[i]], where the first bin includes its lower edge too, and
// len(edges) above the last.
func bin(edges []float64, x float64) int {
	if x == edges[0] {
		return 1
	}
	return sort.SearchFloat64s(edges, x) // the first edge that is not below x
}

// code begins the text that stands for a bin of numbers.
const code = 0

// Coder returns a function that returns the text by which a value is grouped: the number of its finest bin after a zero byte, or the
// value itself. It may be called concurrently.
func (c Column) Coder() func(value []byte) []byte {
	c.prepare()
	return func(value []byte) []byte {
		if c.Edges != nil && !c.Score {
			if x, ok := number(value); ok {
				return strconv.AppendInt([]byte{code}, int64(bin(c.fine, x)), 10)
			}
		}
		if len(value) > 0 && value[0] == code {
			return append([]byte{code}, value...)
		}
		return value
	}
}

// decode returns the finest bin of a coded value, or its text if it is none.
func decode(value string) (finest int, text string, coded bool) {
	switch {
	case value == "" || value[0] != code:
		return 0, value, false
	case len(value) > 1 && value[1] == code:
		return 0, value[1:], false
	}
	finest, err := strconv.Atoi(value[1:])
	if err != nil || finest < 0 || "\x00"+strconv.Itoa(finest) != value {
		return 0, value, false
	}
	return finest, "", true
}

// wider returns the bin between some edges, all of them fine ones, that has the numbers of a finest bin.
func wider(edges, fine []float64, finest int) int {
	switch finest {
	case 0:
		return 0
	case len(fine):
		return len(edges)
	}
	return bin(edges, fine[finest])
}

// binName returns a bin as texts show it.
func binName(edges []float64, i int) string {
	text := func(x float64) string {
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(x, 'g', -1, 64), "+"))
	}
	switch i {
	case 0:
		return "< " + text(edges[0])
	case 1:
		return "[" + text(edges[0]) + ", " + text(edges[1]) + "]"
	case len(edges):
		return "> " + text(edges[len(edges)-1])
	}
	return "(" + text(edges[i-1]) + ", " + text(edges[i]) + "]"
}

// Values collects the values of a column in a first read, for bins of equal mass. It is safe for concurrent use. The zero value is
// empty.
type Values struct {
	mu      sync.Mutex
	numbers map[uint64]int64 // by order, shifted
	shift   uint
	rows    int64
	low     float64
	high    float64
	text    bool
}

// order returns the bits of a number, so that they rise with it.
func order(x float64) uint64 {
	b := math.Float64bits(x + 0) // not -0
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

func unorder(k uint64) float64 {
	if k>>63 == 0 {
		return math.Float64frombits(^k)
	}
	return math.Float64frombits(k &^ (1 << 63))
}

// Add adds the value of a row.
func (v *Values) Add(value []byte) {
	x, ok := number(value)
	v.mu.Lock()
	defer v.mu.Unlock()
	if !ok {
		t := bytes.TrimSpace(value)
		v.text = v.text || len(t) > 0 && !bytes.EqualFold(t, []byte("nan"))
		return
	}
	v.add(x, 1)
}

func (v *Values) add(x float64, rows int64) {
	if v.numbers == nil {
		v.numbers, v.low, v.high = map[uint64]int64{}, x, x
	}
	v.rows, v.low, v.high = v.rows+rows, min(v.low, x), max(v.high, x)
	v.numbers[order(x)>>v.shift] += rows
	for len(v.numbers) > distinctNumbers && v.shift < 63 { // depends on the set of numbers only
		m := make(map[uint64]int64, len(v.numbers))
		step := uint(1)
		if v.shift == 0 {
			step = 24
		}
		for k, n := range v.numbers {
			m[k>>step] += n
		}
		v.numbers, v.shift = m, v.shift+step
	}
}

// Numeric reports whether there are numbers, and nothing else except missing values.
func (v *Values) Numeric() bool { return !v.text && v.rows > 0 }

// Distinct returns the number of distinct numbers, up to 262,144.
func (v *Values) Distinct() int { return len(v.numbers) }

// Edges returns the edges of k bins of equal mass, each once: the lowest value, the quantiles of levels 1/k, 2/k, ..., and the highest
// value. The bins are those of quantiles that are interpolated linearly. They are exact up to 262,144 distinct numbers; beyond that numbers are told apart by as many of their leading digits as there is room for.
// It returns nil unless there are two edges.
func (v *Values) Edges(k int) []float64 {
	keys := make([]uint64, 0, len(v.numbers))
	for key := range v.numbers {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	list := make([]weighed, len(keys))
	for i, key := range keys {
		list[i] = weighed{max(v.low, unorder(key<<v.shift)), v.numbers[key]}
	}
	return quantiles(list, k, v.high)
}

// weighed is a number with its rows.
type weighed struct {
	x    float64
	rows int64
}

// quantiles returns the edges of k bins of equal mass of rising numbers; the last edge is high.
func quantiles(list []weighed, k int, high float64) []float64 {
	total := int64(0)
	for _, w := range list {
		total += w.rows
	}
	if total == 0 {
		return nil
	}
	at, before := 0, int64(0) // rows before list[at]
	value := func(rank int64) float64 {
		for rank >= before+list[at].rows {
			before, at = before+list[at].rows, at+1
		}
		return list[at].x
	}
	edges := make([]float64, 0, k+1)
	for i := range k {
		hi, lo := int64(i)*((total-1)/int64(k)), int64(i)*((total-1)%int64(k))
		rank, rest := hi+lo/int64(k), lo%int64(k)
		e := value(rank)
		// Between two values any edge makes the same bins, and the lower one has fewer digits. But the lowest value may be a bin.
		if rest > 0 && len(edges) > 0 && e == edges[0] {
			e += float64((value(rank+1) - e) * (float64(rest) / float64(k)))
		}
		edges = append(edges, e)
	}
	edges = slices.Compact(append(edges, high))
	if len(edges) < 2 {
		return nil
	}
	return edges
}
