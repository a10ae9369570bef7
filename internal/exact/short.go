package exact

import (
	"math"
	"math/bits"
)

// Short is the exact sum of finite float64s, as a [Super], in as few words as the sum and its terms reach: for very many sums of
// few terms of similar size. It takes 32 bytes and 8 for each word. The zero value is an empty sum.
//
// A copy made by assignment shares the words: only one of the two may be added to.
type Short struct {
	w   []uint64 // two's complement: words low and up of a Super, whose further words are copies of the sign
	low int8
}

// Add adds v exactly. It panics if v is an infinity or NaN.
func (x *Short) Add(v float64) {
	b := math.Float64bits(v)
	e := uint(b >> 52 & 0x7ff)
	m := b & (1<<52 - 1)
	switch e {
	case 0x7ff:
		panic("exact: infinity or NaN in a sum")
	case 0:
		e = 1
	default:
		m |= 1 << 52
	}
	if m == 0 {
		return
	}
	p := e - 1
	k, s := p>>6, p&63
	term := [2]uint64{m << s, m >> (64 - s)}
	if int64(b) < 0 {
		negate(term[:])
	}
	words := term[:]
	if int64(term[1]) == int64(term[0])>>63 {
		words = term[:1]
	}
	x.add(words, int(k))
}

// add adds a number of two's complement whose words begin at word low of a Super.
func (x *Short) add(y []uint64, low int) {
	if len(x.w) == 0 {
		x.low = int8(low)
	}
	x.cover(low, low+len(y))
	sign := uint64(int64(y[len(y)-1]) >> 63)
	was := x.sign()
	at, c := low-int(x.low), uint64(0)
	for _, d := range y {
		x.w[at], c = bits.Add64(x.w[at], d, c)
		at++
	}
	for ; at < len(x.w) && c != sign&1; at++ {
		x.w[at], c = bits.Add64(x.w[at], sign, c)
	}
	if now := x.sign(); was == sign && now != was {
		x.cover(int(x.low), int(x.low)+len(x.w)+1)
		x.w[len(x.w)-1] = was
	}
}

// sign returns the word that is repeated above the highest one.
func (x *Short) sign() uint64 {
	if len(x.w) == 0 {
		return 0
	}
	return uint64(int64(x.w[len(x.w)-1]) >> 63)
}

// cover makes room for the words from low to below high.
func (x *Short) cover(low, high int) {
	from, to := min(low, int(x.low)), max(high, int(x.low)+len(x.w))
	if from == int(x.low) && to-from == len(x.w) {
		return
	}
	w := make([]uint64, to-from)
	n := copy(w[int(x.low)-from:], x.w)
	for i := int(x.low) - from + n; i < len(w); i++ {
		w[i] = x.sign()
	}
	x.w, x.low = w, int8(from)
}

// Merge adds o, which may be x and is not changed otherwise.
func (x *Short) Merge(o *Short) {
	if len(o.w) > 0 {
		x.add(o.w, int(o.low))
	}
}

// Words returns the number of words that the sum takes.
func (x *Short) Words() int { return len(x.w) }

// AddTo adds the sum to s. It returns false, with s unchanged, if that is beyond ±2^1164.
func (x *Short) AddTo(s *Sum) bool {
	if len(x.w) == 0 {
		return true
	}
	var t Super
	n := int(x.low) + copy(t.w[x.low:], x.w)
	for i := n; i < superWords; i++ {
		t.w[i] = x.sign()
	}
	return s.wide().AddSuper(&t)
}

// ShortOf returns the sum s.
func ShortOf(s *Sum) (x Short) {
	t := s.total()
	low, high := 0, superWords
	for low < high && t.w[low] == 0 {
		low++
	}
	for high > low+1 && t.w[high-1] == uint64(int64(t.w[high-2])>>63) {
		high--
	}
	if low < high {
		x.add(t.w[low:high], low)
	}
	return x
}
