package cells_test

import (
	"bytes"
	"errors"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// triple is an exact cell: its key, its rows and those with the event.
type triple struct{ key, n, y uint64 }

// text is bits in the order in which they are written, as '0' and '1'.
type text []byte

func (t *text) number(v uint64, n int) {
	for i := range n {
		*t = append(*t, '0'+byte(v>>i&1))
	}
}

func (t *text) golomb(v uint64, k int) {
	x := v + 1<<k
	more := bits.Len64(x) - 1 - k
	for range more {
		*t = append(*t, '0')
	}
	*t = append(*t, '1')
	t.number(x, k+more)
}

func (t *text) bytes() (b []byte) {
	for i, c := range *t {
		if i%8 == 0 {
			b = append(b, 0)
		}
		b[i/8] |= (c - '0') << (i % 8)
	}
	return b
}

// order is the least k with half of the numbers below 2^k.
func order(numbers []uint64) (k int) {
	for {
		below := 0
		for _, v := range numbers {
			if bits.Len64(v) <= k {
				below++
			}
		}
		if 2*below >= len(numbers) {
			return k
		}
		k++
	}
}

// packed returns the packed form of cells, written as docs/state.md says.
func packed(all ...triple) []byte {
	var t text
	for from := 0; from < len(all); from += 128 {
		block := all[from:min(from+128, len(all))]
		var steps, rows []uint64
		shift, most := 64, uint64(0)
		for i, c := range block {
			if from+i > 0 {
				step := c.key - all[from+i-1].key
				shift = min(shift, bits.TrailingZeros64(step))
				steps = append(steps, step)
			}
			rows = append(rows, c.n-1)
			most = max(most, c.n)
		}
		if len(steps) == 0 {
			shift = 0
		}
		for i := range steps {
			steps[i] = steps[i]>>shift - 1
		}
		if from == 0 {
			t.number(block[0].key, 64)
		}
		k, many := order(steps), 0
		if most > 1 {
			many = 1 + order(rows)
		}
		t.number(uint64(shift), 6)
		t.number(uint64(k), 6)
		t.number(uint64(many), 6)
		for i, c := range block {
			if from+i > 0 {
				t.golomb(steps[0], k)
				steps = steps[1:]
			}
			if many > 0 {
				t.golomb(rows[i], many-1)
			}
			t.number(c.y, bits.Len64(c.n))
		}
	}
	return t.bytes()
}

// sealedCells returns a state of exact cells of the positive class of a binary task.
func sealedCells(n int, packed []byte) []byte {
	var e exact.Enc
	e.U8(uint8(metrics.Positive))
	e.U8(0)
	e.U32(1)
	e.U8(0)
	e.U8(0)
	e.I64(0)
	e.U64(uint64(n))
	e.Bytes(packed)
	return exact.Seal("cCEL", 4, e.B)
}

// somePacked returns ascending cells of many kinds: dense and sparse keys, of few bits and of many, of one row and of many.
func somePacked(seed uint64, n int) (l []triple) {
	r := check.Rand(seed)
	key, shift, spread, rows := uint64(0), 0, 1, 1
	for i := range n {
		if i%97 == 0 {
			shift, spread, rows = r.IntN(34), 1+r.IntN(18), []int{1, 1, 3, 40}[r.IntN(4)]
			key = (key + 1<<shift - 1) &^ (1<<shift - 1)
		}
		c := triple{key, uint64(1 + r.IntN(rows)), 0}
		if r.IntN(300) == 0 {
			c.n = 1 + r.Uint64()>>(8+r.IntN(50))
		}
		c.y = r.Uint64() % (c.n + 1)
		if key > 2*0x3fe0000000000000 {
			break
		}
		l = append(l, c)
		key += (1 + r.Uint64()&(1<<spread-1)) << shift
	}
	return l
}

// TestPacked: cells are written as the page of the format says, in one form only, and read again.
func TestPacked(t *testing.T) {
	for seed, n := range []int{1, 2, 3, 127, 128, 129, 256, 257, 1000, 5000} {
		l := somePacked(uint64(seed), n)
		if n == 2 {
			l = []triple{{0, 1, 1}, {2 * 0x3fe0000000000000, 1 << 61, 5}} // the longest step
		}
		want := sealedCells(len(l), packed(l...))
		var c cells.Cells
		if err := c.UnmarshalBinary(want); err != nil {
			t.Errorf("%d cells: %v", len(l), err)
			continue
		}
		if c.Count() != len(l) {
			t.Errorf("%d cells, want %d", c.Count(), len(l))
		}
		i := 0
		c.Each(func(x *cells.Cell) {
			if x.N != int64(l[i].n) || x.Events != float64(l[i].y) {
				t.Errorf("cell %d of %d has %d rows and %v events, not %+v", i, len(l), x.N, x.Events, l[i])
			}
			i++
		})
		if !bytes.Equal(state(t, &c), want) {
			t.Errorf("%d cells are written otherwise", len(l))
		}
	}
}

// TestPackedForms: what is not the one form of some cells is refused.
func TestPackedForms(t *testing.T) {
	l := somePacked(3, 300)
	good := packed(l...)
	refused := func(what string, n int, b []byte) {
		t.Helper()
		var c cells.Cells
		if err := c.UnmarshalBinary(sealedCells(n, b)); !errors.Is(err, exact.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("a byte too many", len(l), append(slices.Clone(good), 0))
	refused("a byte too few", len(l), good[:len(good)-1])
	refused("a cell too many", len(l)+1, good)
	refused("a cell too few", len(l)-1, good)
	refused("no cells", 0, []byte{0})
	refused("nothing", 1, nil)
	refused("all zeros", 200, make([]byte, 400))
	refused("more than there may be", cells.MaxExact+1, make([]byte, cells.MaxExact))
	refused("a huge number", math.MaxInt, good)
	one := func(shift, step, rows uint64, codes func(*text)) []byte {
		var t text
		t.number(5, 64)
		t.number(shift|step<<6|rows<<12, 18)
		codes(&t)
		return t.bytes()
	}
	y := func(t *text) { t.number(1, 1) }
	var c cells.Cells
	if err := c.UnmarshalBinary(sealedCells(1, one(0, 0, 0, y))); err != nil {
		t.Fatal(err)
	}
	refused("a shift of no step", 1, one(1, 0, 0, y))
	refused("an order of no step", 1, one(0, 1, 0, y))
	refused("numbers of rows that are all 1", 1, one(0, 0, 1, func(t *text) { t.golomb(0, 0); y(t) }))
	refused("more events than rows", 1, one(0, 0, 2, func(t *text) { t.golomb(1, 1); t.number(3, 2) }))
	refused("bits behind the end", 1, one(0, 0, 0, func(t *text) { y(t); t.number(1, 5) }))
	two := func(shift, k int, v uint64) []byte {
		return one(uint64(shift), uint64(k), 0, func(t *text) { y(t); t.golomb(v, k); y(t) })
	}
	if err := c.UnmarshalBinary(sealedCells(2, two(3, 2, 2))); err != nil { // a step of 3<<3
		t.Fatal(err)
	}
	refused("a smaller shift", 2, two(2, 3, 5))
	refused("another order", 2, two(3, 3, 2))
	refused("a key beyond 1", 2, two(62, 1, 1))
	refused("a step beyond 64 bits", 2, two(63, 62, 1<<62-1))
	refused("a code without an end", 2, one(0, 63, 0, func(t *text) { y(t); t.number(0, 64); t.number(0, 64) }))
	for i := range 8 * len(good) { // every other form is another set of cells
		b := slices.Clone(good)
		b[i/8] ^= 1 << (i % 8)
		var c cells.Cells
		if err := c.UnmarshalBinary(sealedCells(len(l), b)); err == nil {
			if again := state(t, &c); !bytes.Equal(again, sealedCells(len(l), b)) {
				t.Fatalf("bit %d: read, and written otherwise", i)
			}
		}
	}
}

// FuzzPacked: what is read is written again, byte for byte.
func FuzzPacked(f *testing.F) {
	for _, n := range []int{1, 5, 130, 300} {
		l := somePacked(uint64(n), n)
		f.Add(uint32(len(l)), packed(l...))
	}
	f.Fuzz(func(t *testing.T, n uint32, b []byte) {
		s := sealedCells(int(n), b)
		var c cells.Cells
		if err := c.UnmarshalBinary(s); err != nil {
			if !errors.Is(err, exact.ErrDamaged) {
				t.Error(err)
			}
			return
		}
		if c.Count() != int(n) || !bytes.Equal(state(t, &c), s) {
			t.Error("read, and written otherwise")
		}
	})
}

// TestSizes: the bytes that docs/state.md promises for states of many distinct scores.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name     string
		n, limit int
		narrow   bool
	}{{"float64", 100_000, 520_000, false}, {"float32", 100_000, 200_000, true}, {"float64", 262_000, 1_500_000, false}, {"float32", 262_000, 1_000_000, true}} {
		p := &metrics.Predictions{Labels: make([]int32, c.n)}
		p.Rows, p.Classes = c.n, 1
		r := check.Rand(9)
		for i := range c.n {
			v := 1 / (1 + math.Exp(-3*r.NormFloat64()))
			if p.Labels[i] = 0; r.Float64() < v {
				p.Labels[i] = 1
			}
			if c.narrow {
				p.F32 = append(p.F32, float32(v))
			} else {
				p.F64 = append(p.F64, v)
			}
		}
		a := of(t, p, nil)
		if n := len(state(t, a)); !a.Exact() || n > c.limit {
			t.Errorf("%d rows of %s: %d bytes, want %d at most", c.n, c.name, n, c.limit)
		}
	}
}

func BenchmarkPack(b *testing.B) {
	p := &metrics.Predictions{Labels: make([]int32, 200_000)}
	p.Rows, p.Classes = 200_000, 1
	r := check.Rand(9)
	for range p.Rows {
		p.F64 = append(p.F64, r.Float64())
	}
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		b.Fatal(err)
	}
	s, err := c.AppendBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			s, _ = c.AppendBinary(s[:0])
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.Rows), "ns/cell")
	})
	b.Run("read", func(b *testing.B) {
		var c cells.Cells
		for b.Loop() {
			if err := c.UnmarshalBinary(s); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.Rows), "ns/cell")
	})
}

// TestMemoryOf: a state that holds cells says how much memory they take, before they are read.
func TestMemoryOf(t *testing.T) {
	of := func(n int) []byte { return sealedCells(n, packed(somePacked(5, n)...)) }
	all := slices.Concat([]byte("head"), of(100), of(30), []byte("cCEL"))
	if n := cells.MemoryOf(all); n != 130*24 {
		t.Errorf("%d bytes, want %d", n, 130*24)
	}
	if n := cells.MemoryOf(sealedCells(math.MaxInt, nil)); n != cells.MaxExact*24 {
		t.Errorf("%d bytes of more cells than there may be", n)
	}
}
