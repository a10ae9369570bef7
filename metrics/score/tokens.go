package score

import (
	"math"
	"math/big"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Tokens accumulates what is said of a language model besides the mean NLL of its tokens: bits per byte, and the NLL of a sequence. Rows are
// tokens. They have Predictions.Bytes for BitsPerByte, and Predictions.Sequences for SequenceNLL; either may be absent. It is a
// metrics.Accumulator. It keeps sums, and while a source is read at most two sequences for each chunk; its state takes less than 1 KB.
//
// A row of weight w counts as w rows, in the NLL and in the bytes. A sequence counts once, whatever its rows' weights, unless they are all 0.
type Tokens struct {
	seen             state.Rows
	sized, sequenced bool // rows have bytes, sequences
	rows             int64
	infinite         int64     // rows whose label has probability 0; they are in none of the sums
	nll, bytes       exact.Sum // over rows

	// Over units, which are sequences or, where there are none, rows: their number, how many have no moments, and for the others the sums of
	// squares and of products of NLL and bytes.
	units, over    int64
	squares        exact.Sum // of NLLs
	cross, lengths exact.Sum // of NLL and bytes, of bytes squared

	now  unit            // a sequence of which no other chunk has rows
	open map[int64]*unit // sequences of which other chunks may have rows
}

// unit is a sequence, or a part of one.
type unit struct {
	number     int64
	rows       int64
	nll, bytes exact.Sum
	infinite   bool
}

func (u *unit) add(o *unit) {
	u.rows += o.rows
	u.nll.Merge(&o.nll)
	u.bytes.Merge(&o.bytes)
	u.infinite = u.infinite || o.infinite
}

var _ metrics.Ender = (*Tokens)(nil)

// NewTokens returns an empty accumulator.
func NewTokens() *Tokens { return &Tokens{} }

// Needs returns 0: the columns that every block has suffice.
func (t *Tokens) Needs() metrics.Need { return 0 }

// Empty returns an accumulator without rows.
func (t *Tokens) Empty() metrics.Accumulator { return NewTokens() }

// Len returns the number of rows seen.
func (t *Tokens) Len() int64 { return t.rows }

// AddBlock adds a block's rows.
func (t *Tokens) AddBlock(b *metrics.Block) {
	t.seen.Begin(b)
	t.sized, t.sequenced = b.Bytes != nil, b.Sequences != nil
	t.rows += int64(b.Rows)
	var of *unit
	for i, v := range b.Stats.NLL[:b.Rows] {
		w, size := 1.0, 0.0
		if b.Weights != nil {
			w = b.Weights[i]
		}
		if t.sized {
			size = float64(w * b.Bytes[i])
		}
		if !t.sequenced {
			t.addRow(v, w, size)
			continue
		}
		if number := b.Sequences[i]; of == nil || of.number != number {
			of = t.unit(number, b.Cut)
		}
		of.rows++
		of.bytes.AddFloat(size)
		if v > math.MaxFloat64 {
			t.infinite++
			of.infinite = true
			continue
		}
		addWeighted(&of.nll, w, v)
	}
}

// addRow adds a row that is a unit of its own.
func (t *Tokens) addRow(v, w, size float64) {
	t.units++
	t.bytes.AddFloat(size)
	if v > math.MaxFloat64 {
		t.infinite++
		t.over++
		return
	}
	addWeighted(&t.nll, w, v)
	t.moments(float64(w*v), size)
}

// addWeighted adds w*v, which may overflow float64.
func addWeighted(s *exact.Sum, w, v float64) {
	if p := float64(w * v); p <= math.MaxFloat64 {
		s.AddFloat(p)
		return
	}
	tally.AddLarge(s, w, v)
}

// mostUnit bounds the NLL of a unit with moments, so that they are finite.
const mostUnit = 0x1p400

// moments adds the moments of a unit with this NLL and these bytes.
func (t *Tokens) moments(nll, size float64) {
	if !(nll <= mostUnit) {
		t.over++
		return
	}
	t.squares.AddFloat(float64(nll * nll))
	if t.sized {
		t.cross.AddFloat(float64(nll * size))
		t.lengths.AddFloat(float64(size * size))
	}
}

// unit returns the sequence of this number, in a chunk whose first and last rows are of the sequences cut.
func (t *Tokens) unit(number int64, cut [2]int64) *unit {
	if number == cut[0] || number == cut[1] {
		u := t.open[number]
		if u == nil {
			if t.open == nil {
				t.open = map[int64]*unit{}
			}
			u = &unit{number: number}
			t.open[number] = u
		}
		return u
	}
	if t.now.rows > 0 && t.now.number != number {
		t.settle(&t.now)
		t.now = unit{}
	}
	t.now.number = number
	return &t.now
}

// settle adds a whole sequence to the sums.
func (t *Tokens) settle(u *unit) {
	if u.rows == 0 {
		return
	}
	t.units++
	t.nll.Merge(&u.nll)
	t.bytes.Merge(&u.bytes)
	if u.infinite {
		t.over++
		return
	}
	t.moments(u.nll.Float64(), u.bytes.Float64())
}

// End says that all sequences are whole.
func (t *Tokens) End() {
	t.settle(&t.now)
	for _, u := range t.open {
		t.settle(u)
	}
	t.now, t.open = unit{}, nil
}

// ended returns t as it is after End. It shares no sums with t if that differs.
func (t *Tokens) ended() *Tokens {
	if t.now.rows == 0 && len(t.open) == 0 {
		return t
	}
	c := NewTokens()
	_ = c.Merge(t) // an accumulator without rows takes any others
	c.End()
	return c
}

// Sized reports whether the rows have bytes.
func (t *Tokens) Sized() bool { return t.sized }

// Sequenced reports whether the rows have sequences.
func (t *Tokens) Sequenced() bool { return t.sequenced }

// Sequences returns the number of sequences; 0 if the rows have none.
func (t *Tokens) Sequences() int64 {
	if !t.sequenced {
		return 0
	}
	return t.ended().units
}

// Bytes returns the sum of the bytes, each times its weight.
func (t *Tokens) Bytes() float64 {
	e := t.ended()
	return e.bytes.Float64()
}

// SequenceNLL returns the mean over sequences of the sum of -ln p_y over a sequence's rows, in nats; lower is better. It is +Inf if some p_y is
// 0, and NaN without sequences.
//
// Source: standard; -ln of the probability that the model gives to a whole text.
func (t *Tokens) SequenceNLL() float64 {
	switch {
	case !t.sequenced || t.rows == 0:
		return math.NaN()
	case t.infinite > 0:
		return math.Inf(1)
	}
	e := t.ended()
	return exact.Mean(&e.nll, e.units)
}

// SequenceInterval returns mean +- z*s/sqrt(n) over the n sequences, taken as independent. There is none for fewer than two, or if the value is
// infinite.
func (t *Tokens) SequenceInterval(level float64) metrics.Interval {
	e := t.ended()
	if !e.sequenced || e.over > 0 {
		return metrics.NoInterval()
	}
	n := tally.Weight{N: e.units}
	v := n.MeanVariance(exact.Rat(&e.nll), exact.Rat(&e.squares), false)
	return atLeastZero(metrics.Normal(t.SequenceNLL(), tally.Root(v), level))
}

// BitsPerByte returns sum -ln p_y / (ln 2 sum bytes), with the weights in both sums; lower is better. It does not depend on how a text is divided
// into tokens. It is +Inf if some p_y is 0, and NaN if the rows have no bytes or their sum is 0.
//
// Source: Graves 2013 for characters; Gao et al. 2020, section 3.1.
func (t *Tokens) BitsPerByte() float64 {
	e := t.ended()
	switch {
	case !e.sized || e.bytes.IsZero():
		return math.NaN()
	case e.infinite > 0:
		return math.Inf(1)
	}
	return exact.Ratio(&e.nll, &e.bytes) / math.Ln2
}

// BitsPerByteInterval returns r +- z*s, cut at 0, for the ratio r = N/B of the sums of NLL and bytes by the delta method: s^2 = n/(n-1) sum (N_u -
// r B_u)^2 / B^2, over the n sequences u, which may be dependent inside, or over the n rows where there are no sequences. There is none for fewer
// than two.
//
// Source: Cochran 1977, section 6.3 (without the finite population correction).
func (t *Tokens) BitsPerByteInterval(level float64) metrics.Interval {
	e := t.ended()
	if v := e.BitsPerByte(); v-v != 0 || e.over > 0 || e.units < 2 {
		return metrics.NoInterval()
	}
	total := exact.Rat(&e.bytes)
	r := new(big.Rat).Quo(exact.Rat(&e.nll), total)
	// squares - 2 r cross + r^2 lengths
	s := new(big.Rat).Mul(r, exact.Rat(&e.lengths))
	s.Sub(s, new(big.Rat).Mul(big.NewRat(2, 1), exact.Rat(&e.cross)))
	s.Add(s.Mul(s, r), exact.Rat(&e.squares))
	if s.Sign() < 0 { // by the rounding of squares
		s.SetInt64(0)
	}
	s.Mul(s, big.NewRat(e.units, e.units-1))
	s.Quo(s, total.Mul(total, total))
	return atLeastZero(metrics.Normal(e.BitsPerByte(), tally.Root(s)/math.Ln2, level))
}

func atLeastZero(i metrics.Interval) metrics.Interval {
	if i.Low < 0 {
		i.Low = 0
	}
	return i
}

// Match returns an error if the rows of one have bytes or sequences and those of the other have none.
func (t *Tokens) Match(o *Tokens) error {
	switch {
	case t.rows == 0 || o.rows == 0:
	case t.sized != o.sized:
		return state.Mismatch(tokensFormat, "with and without bytes")
	case t.sequenced != o.sequenced:
		return state.Mismatch(tokensFormat, "with and without sequences")
	}
	return nil
}

// Merge adds what another *Tokens has seen. Sequences of the same number are one only where both are of one source that has not ended.
func (t *Tokens) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Tokens](tokensFormat, a)
	if err != nil {
		return err
	}
	if err := t.Match(o); err != nil {
		return err
	}
	if err := t.seen.Merge(o.seen, tokensFormat, "classes"); err != nil {
		return err
	}
	if o.rows == 0 {
		return nil
	}
	now := unit{}
	if o.now.rows > 0 { // whole, and nobody else has rows of it
		now.number = o.now.number
		now.add(&o.now)
	}
	t.sized, t.sequenced = o.sized, o.sequenced
	t.rows, t.infinite, t.units, t.over = t.rows+o.rows, t.infinite+o.infinite, t.units+o.units, t.over+o.over
	for _, s := range [][2]*exact.Sum{{&t.nll, &o.nll}, {&t.bytes, &o.bytes}, {&t.squares, &o.squares}, {&t.cross, &o.cross}, {&t.lengths, &o.lengths}} {
		s[0].Merge(s[1])
	}
	t.settle(&now)
	for n, u := range o.open {
		if t.open == nil {
			t.open = map[int64]*unit{}
		}
		if t.open[n] == nil {
			t.open[n] = &unit{number: n}
		}
		t.open[n].add(u)
	}
	return nil
}

var tokensFormat = exact.Format{Name: "score.Tokens", Magic: "cTOK", Version: 1}

func (t *Tokens) fields(f *exact.Fields) {
	t.seen.Fields(f)
	f.Flags(&t.sized, &t.sequenced)
	for _, n := range []*int64{&t.rows, &t.infinite, &t.units, &t.over} {
		f.N(n)
	}
	for _, s := range []*exact.Sum{&t.nll, &t.bytes, &t.squares, &t.cross, &t.lengths} {
		f.Sum(s)
		f.Must(s.Sign() >= 0, exact.OutOfRange)
	}
	f.Must(t.infinite <= t.rows && t.units <= t.rows && t.over <= t.units && (t.sequenced || t.units == t.rows) && (t.rows == 0) == (t.units == 0) &&
		(t.rows == 0) == (t.seen.Classes == 0) && (t.rows > 0 || !t.sized && !t.sequenced && t.empty()) &&
		(t.sized || t.bytes.IsZero() && t.cross.IsZero() && t.lengths.IsZero()), "its sums are not those of its rows")
}

// empty reports whether all sums are 0.
func (t *Tokens) empty() bool {
	return t.nll.IsZero() && t.bytes.IsZero() && t.squares.IsZero() && t.cross.IsZero() && t.lengths.IsZero()
}

// AppendBinary appends the state, as it is after End.
func (t *Tokens) AppendBinary(dst []byte) ([]byte, error) {
	return tokensFormat.Append(dst, t.ended().fields)
}

// UnmarshalBinary replaces t with a state that AppendBinary wrote.
func (t *Tokens) UnmarshalBinary(data []byte) error {
	return exact.Replace(tokensFormat, data, t, (*Tokens).fields)
}
