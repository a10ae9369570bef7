package regress

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
)

// spreadTable has the sums of the rows of each standard deviation, by keys that rise with it. Up to MaxExactSpreads, it has
// all distinct keys. Beyond that, it drops as many last bits of the keys as needed to have no more. The number of dropped
// bits depends only on the set of keys, and a part of a set never drops more than the whole set. It is less than 52, because
// there are 2,098 exponents, so all rows of a cell have the same exponent.
type spreadTable struct {
	keys   []uint64 // rising, without their last bits
	cells  []spreadCell
	heavy  []spreadHeavy // nil without weights
	coarse uint          // number of dropped bits

	// far has, by key, the sums of squares of errors that are too large for the cells. An error is divided as in its cell.
	// If the result is in [2^(spreadFar (c+1)), 2^(spreadFar (c+2))), it is also divided by the lower end, and its square is
	// in element c.
	far [5]map[uint64]*exact.Sum
}

// spreadCell has the sums of the rows of a key. Before squaring, numbers are divided by the largest power of two that is not
// above the standard deviation.
type spreadCell struct {
	n   int64
	sd2 spreadUnits  // unweighted
	e2  exact.Sum    // of the products with the weights
	e4  spreadFourth // unweighted
}

// spreadHeavy has the sum of the weights, and the sum of their products with the squared standard deviations.
type spreadHeavy struct{ w, sd2 exact.Sum }

// spreadFar is the exponent of the power of two from which on errors are kept outside the cells. With the largest weight,
// the product with such a square does not overflow float64.
const spreadFar = 400

// spreadUnits is a whole number of units of 2^-52.
type spreadUnits struct{ hi, lo uint64 }

func (u *spreadUnits) add(o spreadUnits) {
	var carry uint64
	u.lo, carry = bits.Add64(u.lo, o.lo, 0)
	u.hi += o.hi + carry
}

func (u spreadUnits) addTo(s *exact.Sum) {
	const unit = 88 - 52
	s.AddShifted(int64(u.lo&math.MaxUint32), unit)
	s.AddShifted(int64(u.lo>>32), unit+32)
	s.AddShifted(int64(u.hi), unit+64)
}

// spreadFourth is a sum of fourth powers, each rounded to a whole number of units of 2^-64. All bits are set if it is 2^64
// or more.
type spreadFourth struct{ hi, lo uint64 }

func (f *spreadFourth) add(o spreadFourth) {
	var carry uint64
	f.lo, carry = bits.Add64(f.lo, o.lo, 0)
	if f.hi, carry = bits.Add64(f.hi, o.hi, carry); carry != 0 || f.over() {
		f.hi, f.lo = math.MaxUint64, math.MaxUint64
	}
}

// over reports whether the sum is unknown.
func (f *spreadFourth) over() bool { return f.hi == math.MaxUint64 }

func (f spreadFourth) addTo(s *exact.Sum) {
	s.AddShifted(int64(f.lo&math.MaxUint32), 24)
	s.AddShifted(int64(f.lo>>32), 56)
	s.AddShifted(int64(f.hi&math.MaxUint32), 88)
	s.AddShifted(int64(f.hi>>32), 120)
}

// spreadFourthOf returns the square of a square.
func spreadFourthOf(square float64) spreadFourth {
	q := float64(square * square)
	if !(q < 0x1p64) {
		return spreadFourth{math.MaxUint64, math.MaxUint64}
	}
	hi := math.Floor(q)
	return spreadFourth{uint64(hi), uint64((q - hi) * 0x1p64)}
}

func (u spreadUnits) less(o spreadUnits) bool { return u.hi < o.hi || u.hi == o.hi && u.lo < o.lo }

// spreadVariance returns the square of a key's standard deviation, divided as in its cell: from 1 to 4.
func spreadVariance(key uint64) float64 {
	v := math.Float64frombits(key&(1<<52-1) | 1023<<52)
	return float64(v * v)
}

// spreadTimes returns n times a square that spreadVariance returned.
func spreadTimes(n int64, square float64) (u spreadUnits) {
	u.hi, u.lo = bits.Mul64(uint64(n), uint64(square*0x1p52))
	return u
}

func (t *spreadTable) mergeCell(i int, o *spreadTable, j int) {
	c, d := &t.cells[i], &o.cells[j]
	c.n += d.n
	c.sd2.add(d.sd2)
	c.e2.Merge(&d.e2)
	c.e4.add(d.e4)
	if t.heavy != nil {
		t.heavy[i].w.Merge(&o.heavy[j].w)
		t.heavy[i].sd2.Merge(&o.heavy[j].sd2)
	}
}

// span returns the smallest and the largest key of a cell.
func (t *spreadTable) span(i int) (low, high uint64) {
	low = t.keys[i] << t.coarse
	return low, low | (1<<t.coarse - 1)
}

// leaveOut drops this many more bits of the keys.
func (t *spreadTable) leaveOut(more uint) {
	if more == 0 {
		return
	}
	n := 0
	for i, k := range t.keys {
		k >>= more
		if n > 0 && t.keys[n-1] == k {
			t.mergeCell(n-1, t, i)
			continue
		}
		t.keys[n], t.cells[n] = k, t.cells[i]
		if t.heavy != nil {
			t.heavy[n] = t.heavy[i]
		}
		n++
	}
	clear(t.cells[n:])
	t.keys, t.cells, t.coarse = t.keys[:n], t.cells[:n], t.coarse+more
	if t.heavy != nil {
		clear(t.heavy[n:])
		t.heavy = t.heavy[:n]
	}
	for c, far := range t.far {
		t.far[c] = nil
		t.mergeFar(c, far, more)
	}
}

// mergeFar adds far sums of a class, whose keys have shift more bits.
func (t *spreadTable) mergeFar(class int, far map[uint64]*exact.Sum, shift uint) {
	for k, s := range far {
		spreadFarSum(&t.far[class], k>>shift).Merge(s)
	}
}

// spreadFarSum returns the sum for a key.
func spreadFarSum(far *map[uint64]*exact.Sum, key uint64) *exact.Sum {
	if *far == nil {
		*far = map[uint64]*exact.Sum{}
	}
	s := (*far)[key]
	if s == nil {
		s = new(exact.Sum)
		(*far)[key] = s
	}
	return s
}

// spreadFind returns the index, from i on, of the first key that is not below k.
func spreadFind(keys []uint64, i int, k uint64) int {
	step := 1
	for i+step <= len(keys) && keys[i+step-1] < k {
		i += step
		step *= 2
	}
	n, _ := slices.BinarySearch(keys[i:min(i+step, len(keys))], k)
	return i + n
}

// missing returns how many keys of o, shifted right by shift bits, are not in t.
func (t *spreadTable) missing(o *spreadTable, shift uint) (n int) {
	i, last := 0, uint64(math.MaxUint64)
	for _, k := range o.keys {
		if k >>= shift; k == last {
			continue
		}
		if i = spreadFind(t.keys, i, k); i == len(t.keys) || t.keys[i] != k {
			n++
		}
		last = k
	}
	return n
}

// surplus returns how many more bits must be dropped so that the keys of t, together with those of o shifted right by shift
// bits, are not too many.
func (t *spreadTable) surplus(o *spreadTable, shift uint) (more uint) {
	var differ [65]int // for each number of last bits, the neighboring keys whose highest different bit is the highest of these
	n, last := 0, uint64(0)
	for i, j := 0, 0; i < len(t.keys) || j < len(o.keys); {
		var k uint64
		if j == len(o.keys) || i < len(t.keys) && t.keys[i] <= o.keys[j]>>shift {
			k = t.keys[i]
			i++
		} else {
			k = o.keys[j] >> shift
			j++
		}
		if k != last || n == 0 {
			differ[bits.Len64(k^last)]++
			n++
		}
		last = k
	}
	for n > MaxExactSpreads {
		more++
		n -= differ[more]
	}
	return more
}

// merge adds another table, which may be t itself.
func (t *spreadTable) merge(o *spreadTable) {
	if t == o {
		for i := range t.cells {
			t.mergeCell(i, t, i)
		}
		for c := range t.far {
			for _, s := range t.far[c] {
				s.Merge(s)
			}
		}
		return
	}
	if o.coarse > t.coarse {
		t.leaveOut(o.coarse - t.coarse)
	}
	shift := t.coarse - o.coarse
	added := t.missing(o, shift)
	if len(t.keys)+added > MaxExactSpreads {
		more := t.surplus(o, shift)
		t.leaveOut(more)
		shift += more
		added = t.missing(o, shift)
	}
	for c, far := range o.far {
		t.mergeFar(c, far, shift)
	}
	if o.heavy != nil && t.heavy == nil {
		t.heavy = []spreadHeavy{}
	}
	t.insert(o, shift, added)
	i := 0
	for j, k := range o.keys {
		i = spreadFind(t.keys, i, k>>shift)
		t.mergeCell(i, o, j)
	}
}

// insert makes empty cells for the keys of o, shifted right by shift bits, that are not in t. added is their number.
func (t *spreadTable) insert(o *spreadTable, shift uint, added int) {
	old := len(t.keys)
	t.keys, t.cells = spreadGrow(t.keys, old+added), spreadGrow(t.cells, old+added)
	if t.heavy != nil {
		t.heavy = spreadGrow(t.heavy, old+added)
	}
	// Go backward, so that existing cells can move up in place.
	for j := len(o.keys) - 1; added > 0; j-- {
		k := o.keys[j] >> shift
		at, found := slices.BinarySearch(t.keys[:old], k)
		if to := old + added; to < len(t.keys) && t.keys[to] == k || found {
			continue
		}
		copy(t.keys[at+added:], t.keys[at:old])
		copy(t.cells[at+added:], t.cells[at:old])
		if t.heavy != nil {
			copy(t.heavy[at+added:], t.heavy[at:old])
		}
		old = at
		added--
		t.keys[old+added], t.cells[old+added] = k, spreadCell{}
		if t.heavy != nil {
			t.heavy[old+added] = spreadHeavy{}
		}
	}
}

// spreadGrow returns x with n elements. If it needs new memory, it doubles the capacity, up to the most cells there can be.
func spreadGrow[T any](x []T, n int) []T {
	if cap(x) >= n {
		return x[:n]
	}
	return append(make([]T, 0, max(n, min(2*cap(x), MaxExactSpreads))), x...)[:n]
}

// fields lists the fields of a table and returns the number of rows. The table is empty when reading begins.
func (t *spreadTable) fields(f *exact.Fields, weighted bool) (rows int64) {
	const mostRows = 1 << 62
	coarse, count := uint8(t.coarse), len(t.keys)
	exact.Byte(f, &coarse)
	f.Count(&count, 4)
	// The last dropped bit at most halved the cells, and before that there were too many.
	f.Must(coarse <= 51 && count <= MaxExactSpreads && (coarse == 0 || count > MaxExactSpreads/2), exact.OutOfRange)
	if !f.OK() {
		return 0
	}
	if f.Reading() {
		t.coarse, t.keys, t.cells = uint(coarse), make([]uint64, count), make([]spreadCell, count)
		if weighted {
			t.heavy = make([]spreadHeavy, count)
		}
	}
	last := uint64(0)
	for i := range t.keys {
		c := &t.cells[i]
		step, n := t.keys[i]-last, uint64(c.n)
		f.Uvarint(&step)
		f.Uvarint(&n)
		f.Must(n > 0 && n <= mostRows && rows <= mostRows-int64(n) && last+step > last, exact.OutOfRange)
		if !f.OK() {
			return 0
		}
		last += step
		rows += int64(n)
		t.keys[i], c.n = last, int64(n)
		low, high := t.span(i)
		f.Must(last <= spreadKey(math.MaxFloat64)>>t.coarse && high >= 1<<52, exact.OutOfRange)
		if weighted {
			h := &t.heavy[i]
			f.Sum(&h.w)
			f.Sum(&h.sd2)
			f.Must(h.w.Sign() > 0 && h.sd2.Sign() > 0, exact.OutOfRange)
		} else {
			for _, v := range [...]*uint64{&c.sd2.hi, &c.sd2.lo, &c.e4.hi, &c.e4.lo} {
				f.Uvarint(v)
			}
			f.Must((!c.e4.over() || c.e4.lo == math.MaxUint64) && !c.sd2.less(spreadTimes(c.n, spreadVariance(low))) &&
				!spreadTimes(c.n, spreadVariance(high)).less(c.sd2), exact.OutOfRange)
		}
		f.Sum(&c.e2)
		f.Must(c.e2.Sign() >= 0, exact.OutOfRange)
	}
	for class := range t.far {
		far, last := &t.far[class], uint64(0)
		keys := slices.Sorted(maps.Keys(*far))
		exact.Slice(f, &keys, 9, func(k *uint64) {
			f.U64(k)
			_, found := slices.BinarySearch(t.keys, *k)
			sum := spreadFarSum(far, *k)
			f.Sum(sum)
			f.Must(found && *k > last && sum.Sign() > 0, exact.OutOfRange)
			last = *k
		})
	}
	return rows
}

// spreadRow is the key of a row's standard deviation and the square of its error, divided as in its cell. The square is 0
// for a far error.
type spreadRow struct {
	key    uint64
	square float64
}

// spreadLog has rows that are not yet in a table.
type spreadLog struct {
	rows    []spreadRow
	weights []float64
	far     [5]map[uint64]*exact.Sum // as in a table, by full keys

	order, scratch []uint64
	others         spreadTable // rows whose keys are not in the table
}

// Rows are sorted together, as many as the last bits of a word can number. New keys are put into the table in batches, to
// limit the memory of the rows that wait.
const (
	spreadOthers   = 1 << 14
	spreadLogBits  = 17
	spreadShortLog = 1 << 12
	spreadPlace    = 1<<spreadLogBits - 1
)

// room returns how many more rows fit, after making room for n more as far as the limit allows.
func (l *spreadLog) room(n int) int {
	if have := cap(l.rows); len(l.rows)+n > have && have < 1<<spreadLogBits {
		want := spreadShortLog
		for want < len(l.rows)+n && want < 1<<spreadLogBits {
			want = min(want<<2, 1<<spreadLogBits)
		}
		l.rows = append(make([]spreadRow, 0, want), l.rows...)
	}
	return cap(l.rows) - len(l.rows)
}

// add adds rows, which must fit.
func (l *spreadLog) add(e, sd, weights []float64) {
	for i, v := range e {
		key := spreadKey(sd[i])
		down := -spreadExponent(key)
		if down >= -1022 && down <= 1023 {
			v *= math.Float64frombits(uint64(1023+down) << 52)
		} else {
			v = math.Ldexp(v, down)
		}
		if !(math.Abs(v) < 1<<30) {
			v = l.large(key, e[i], v, down, weights, i)
		}
		l.rows = append(l.rows, spreadRow{key, float64(v * v)})
	}
	l.weights = append(l.weights, weights...)
}

// large returns the part of a divided error v that belongs into its cell. It adds a far error to the far sums, and returns
// 0.
func (l *spreadLog) large(key uint64, e, v float64, down int, weights []float64, i int) float64 {
	if math.Abs(v) < math.Ldexp(1, spreadFar) {
		return v
	}
	_, exp := math.Frexp(e)
	class := (exp - 1 + down) / spreadFar
	v = math.Ldexp(e, down-class*spreadFar)
	v = float64(v * v)
	if weights != nil {
		v = float64(v * weights[i])
	}
	spreadFarSum(&l.far[class-1], key).AddExact(v)
	return 0
}

// addLog adds the rows of a log and empties the log.
func (t *spreadTable) addLog(l *spreadLog) {
	order := l.sort(t.coarse)
	weighted := len(l.weights) > 0
	others := &l.others
	others.clear(t.coarse, weighted)
	// Rows are fetched in batches, so that many memory accesses overlap.
	var ahead [64]spreadRow
	i := 0
	for n, o := range order {
		at := o & spreadPlace
		if n%len(ahead) == 0 {
			for k, o := range order[n:min(n+len(ahead), len(order))] {
				ahead[k] = l.rows[o&spreadPlace]
			}
		}
		row := ahead[n%len(ahead)]
		if len(others.keys) == spreadOthers {
			t.merge(others)
			others.clear(t.coarse, weighted)
			i = spreadFind(t.keys, 0, row.key>>t.coarse)
		}
		k := row.key >> t.coarse
		for i < len(t.keys) && t.keys[i] < k {
			i++
		}
		to, j := t, i
		if i == len(t.keys) || t.keys[i] != k {
			to, j = others, len(others.keys)-1
			if j < 0 || others.keys[j] != k {
				others.keys, others.cells = append(others.keys, k), append(others.cells, spreadCell{})
				if weighted {
					others.heavy = append(others.heavy, spreadHeavy{})
				}
				j++
			}
		}
		c := &to.cells[j]
		c.n++
		if !weighted {
			c.sd2.add(spreadUnits{0, uint64(spreadVariance(row.key) * 0x1p52)})
			c.e2.AddFloat(row.square)
			c.e4.add(spreadFourthOf(row.square))
			continue
		}
		w := l.weights[at]
		to.heavy[j].w.AddFloat(w)
		to.heavy[j].sd2.AddFloat(float64(w * spreadVariance(row.key)))
		c.e2.AddFloat(float64(w * row.square))
	}
	t.merge(others)
	for c, far := range l.far {
		t.mergeFar(c, far, t.coarse)
	}
	l.rows, l.weights, l.far = l.rows[:0], l.weights[:0], [5]map[uint64]*exact.Sum{}
}

// clear empties the table, sets the number of dropped bits, and keeps the memory.
func (t *spreadTable) clear(coarse uint, weighted bool) {
	*t = spreadTable{keys: t.keys[:0], cells: t.cells[:0], heavy: t.heavy[:0], coarse: coarse}
	if weighted && t.heavy == nil {
		t.heavy = []spreadHeavy{}
	} else if !weighted {
		t.heavy = nil
	}
}

// sort returns the indexes of the rows in rising order of their keys without the last bits. The index is in the last bits of
// each number.
func (l *spreadLog) sort(coarse uint) []uint64 {
	n := len(l.rows)
	if len(l.order) < n {
		c := cap(l.rows)
		l.order, l.scratch = make([]uint64, c), make([]uint64, kernel.SortScratch(c))
	}
	order := l.order[:n]
	for i := range order {
		order[i] = l.rows[i].key&^spreadPlace | uint64(i)
	}
	kernel.Sort(order, l.scratch[:kernel.SortScratch(n)])
	// The index has replaced the last bits of the keys. Sort by these bits where the rest is equal.
	for i := 0; i < n && coarse < spreadLogBits; {
		k, rising := i+1, true
		for ; k < n && order[k]>>spreadLogBits == order[i]>>spreadLogBits; k++ {
			rising = rising && l.rows[order[k-1]&spreadPlace].key <= l.rows[order[k]&spreadPlace].key
		}
		if !rising {
			slices.SortFunc(order[i:k], func(a, b uint64) int {
				return cmp.Compare(l.rows[a&spreadPlace].key, l.rows[b&spreadPlace].key)
			})
		}
		i = k
	}
	return order
}
