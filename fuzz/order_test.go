package fuzz

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/kernel"
)

// keys makes bytes keys, of so many bytes each as how says, one for each number and up to 64 times all of them. They start off
// elements into their memory. Where repeat and off are the largest they are made so many that they are sorted in parts.
func keys[K kernel.Key](data []byte, how, repeat, off uint8) []K {
	var some []K
	for each := 1 + int(how%8); len(data) >= each && len(some) < maxElements; data = data[each:] {
		var b [8]byte
		copy(b[:], data[:each])
		v := K(binary.LittleEndian.Uint64(b[:]))
		if how&64 != 0 {
			v = ^v
		}
		some = append(some, v)
	}
	n := min(len(some)*(1+int(repeat%64)), 2*maxElements)
	if repeat == 255 && off == 255 && len(some) > 0 {
		n = 1<<18 + 5000
	}
	at := int(off % 32)
	x := make([]K, at+n)
	for i := range n {
		v := some[i%len(some)]
		if how&128 != 0 {
			v += K(i / len(some))
		}
		x[at+i] = v
	}
	return x[at:]
}

func addKeys(f *testing.F) {
	f.Add([]byte("the largest of these letters is the last one: z"), uint8(0), uint8(5), uint8(0), uint16(3))
	f.Add([]byte("abcdefghijklmnopqrstuvwxyzabcdefgh"), uint8(3|128), uint8(60), uint8(1), uint16(1000))
	f.Add([]byte("\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x80\xff\xff\xff\x7f"), uint8(3), uint8(30), uint8(7), uint16(0))
	f.Add([]byte("\xff"), uint8(64), uint8(63), uint8(3), uint16(7))
	f.Add([]byte{}, uint8(0), uint8(0), uint8(0), uint16(0))
	for i, o := range check.Orders(64) {
		x := make([]uint64, 300)
		o.Fill(check.Rand(uint64(i)), x)
		var b []byte
		for _, v := range x {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		f.Add(b, uint8(7), uint8(i%4), uint8(i), uint16(i))
		if i%4 == 0 && (!testing.Short() || i == 0) {
			f.Add(b, uint8(3|128), uint8(255), uint8(255), uint16(i*300))
		}
	}
}

// around returns n elements of s, which has beside more on both sides, and what tells whether these are as they were.
func around[K kernel.Key](n int) (s []K, whole func() bool) {
	all := make([]K, n+2*beside)
	for i := range all {
		all[i] = 7
	}
	return all[beside : beside+n : beside+n], func() bool {
		for i := range beside {
			if all[i] != 7 || all[beside+n+i] != 7 {
				return false
			}
		}
		return true
	}
}

// everyLevel runs f at each level, with its name.
func everyLevel(f func(level isa.Level)) {
	for _, level := range isa.Levels() {
		atLevel(level, func() []uint64 { f(level); return nil })
	}
}

func FuzzSort(f *testing.F) {
	addKeys(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat, off uint8, _ uint16) {
		sortKeys(t, keys[uint32](data, how, repeat, off))
		sortKeys(t, keys[uint64](data, how, repeat, off))
		if x := elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v }); len(x) > 0 {
			orderFloats(t, x)
		}
	})
}

func sortKeys[K kernel.Key](t *testing.T, in []K) {
	want := slices.Sorted(slices.Values(in))
	everyLevel(func(level isa.Level) {
		x, whole := around[K](len(in))
		scratch, wholeScratch := around[K](kernel.SortScratch(len(in)))
		copy(x, in)
		kernel.Sort(x, scratch)
		if !slices.Equal(x, want) {
			t.Fatalf("isa=%v: %d keys are not sorted", level, len(x))
		}
		if !whole() || !wholeScratch() {
			t.Fatalf("isa=%v: something beside %d keys was written", level, len(x))
		}
	})
}

// orderFloats holds the order of numbers, and their sort, to a stable sort by keys.
func orderFloats(t *testing.T, x []float64) {
	k := make([]uint64, len(x))
	kernel.KeysF64(k, x)
	want := make([]int32, len(x))
	for i := range want {
		want[i] = int32(i)
	}
	slices.SortStableFunc(want, func(i, j int32) int { return cmp.Compare(k[i], k[j]) })
	everyLevel(func(level isa.Level) {
		index := make([]int32, len(x))
		kernel.OrderF64(index, x, make([]uint64, kernel.OrderScratch(len(x))))
		if !slices.Equal(index, want) {
			t.Fatalf("isa=%v: %d numbers are in the order %v, want %v", level, len(x), index[:min(len(x), 50)], want[:min(len(x), 50)])
		}
		y := slices.Clone(x)
		kernel.SortF64(y, make([]uint64, kernel.SortScratch(len(x))))
		for i, v := range y {
			w := x[want[i]]
			if w == 0 {
				w = 0 // of either sign
			}
			if math.Float64bits(v) != math.Float64bits(w) {
				t.Fatalf("isa=%v: number %d of %d is %v, want %v", level, i, len(x), v, w)
			}
		}
	})
}

func FuzzSplit(f *testing.F) {
	addKeys(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat, off uint8, some uint16) {
		splitKeys(t, keys[uint32](data, how, repeat, off&31), some)
		splitKeys(t, keys[uint64](data, how, repeat, off&31), some)
	})
}

// pick returns so many of the keys, risen by 0 or 1, or lowered, and sorted.
func pick[K kernel.Key](in []K, n int, some uint16) []K {
	var lasts []K
	for i := range n {
		if len(in) == 0 {
			return nil
		}
		at := (int(some) + 1) * (i + 1) * 7919
		lasts = append(lasts, in[at%len(in)]+K(at/7%3)-1)
	}
	slices.Sort(lasts)
	return lasts
}

func splitKeys[K kernel.Key](t *testing.T, in []K, some uint16) {
	lasts := pick(in, int(some%64), some)
	// A stable sort by the number of the part is what a split is.
	part := func(v K) int { i, _ := slices.BinarySearch(lasts, v); return i }
	want := slices.Clone(in)
	slices.SortStableFunc(want, func(a, b K) int { return cmp.Compare(part(a), part(b)) })
	everyLevel(func(level isa.Level) {
		for _, inPlace := range []bool{false, true} {
			dst, whole := around[K](len(in))
			scratch, wholeScratch := around[K](len(in))
			from := in
			if inPlace {
				copy(dst, in)
				from = dst
			}
			ends := make([]int, len(lasts))
			kernel.Split(dst, from, lasts, ends, scratch)
			if !slices.Equal(dst, want) {
				t.Fatalf("isa=%v, in place=%v: %d keys are not split at %x", level, inPlace, len(in), lasts)
			}
			for i, e := range ends {
				if e > 0 && dst[e-1] > lasts[i] || e < len(dst) && dst[e] <= lasts[i] {
					t.Fatalf("isa=%v, in place=%v: part %d of %d keys split at %x does not end at %d", level, inPlace, i, len(in), lasts, e)
				}
			}
			if !whole() || !wholeScratch() {
				t.Fatalf("isa=%v: something beside %d keys was written", level, len(in))
			}
		}
	})
}

func FuzzSelect(f *testing.F) {
	addKeys(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat, off uint8, some uint16) {
		selectKeys(t, keys[uint32](data, how, repeat, off), some)
		selectKeys(t, keys[uint64](data, how, repeat, off), some)
	})
}

func selectKeys[K kernel.Key](t *testing.T, in []K, some uint16) {
	if len(in) == 0 {
		return
	}
	want := slices.Sorted(slices.Values(in))
	var ranks []int
	for i := range some % 33 {
		ranks = append(ranks, (int(some)+1)*(int(i)+1)*7919%len(in))
	}
	slices.Sort(ranks)
	everyLevel(func(level isa.Level) {
		x, whole := around[K](len(in))
		scratch, wholeScratch := around[K](len(in))
		copy(x, in)
		kernel.Select(x, ranks, scratch)
		// Between two ranks stand the keys that are there in sorted order.
		start := 0
		for _, end := range append(slices.Clone(ranks), len(x)) {
			if start < end {
				if s := slices.Sorted(slices.Values(x[start:end])); !slices.Equal(s, want[start:end]) {
					t.Fatalf("isa=%v: other keys than those from rank %d to %d of %d; ranks %v", level, start, end, len(x), ranks)
				}
			}
			if end < len(x) && x[end] != want[end] {
				t.Fatalf("isa=%v: rank %d of %d has %#x, want %#x; ranks %v", level, end, len(x), x[end], want[end], ranks)
			}
			start = end + 1
		}
		if !whole() || !wholeScratch() {
			t.Fatalf("isa=%v: something beside %d keys was written", level, len(in))
		}
	})
}
