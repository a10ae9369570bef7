package score_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// tokens returns rows of a language model: some tokens have no bytes, and sequences have from 1 to 40 rows.
func tokens(seed uint64, n, k int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 71))
	p := &metrics.Predictions{Kind: metrics.Logits}
	p.Rows, p.Classes, p.F64 = n, k, make([]float64, n*k)
	for i := range p.F64 {
		p.F64[i] = 3 * r.NormFloat64()
	}
	sequence, left := int64(5), 0
	for range n {
		if left == 0 {
			sequence, left = sequence+1+r.Int64N(2), 1+r.IntN(40)
		}
		left--
		p.Labels = append(p.Labels, int32(r.IntN(k)))
		p.Bytes, p.Sequences = append(p.Bytes, float64(r.IntN(9))), append(p.Sequences, sequence)
	}
	return p
}

// cutSource yields predictions in chunks of a few rows.
type cutSource struct {
	p    *metrics.Predictions
	r    *rand.Rand
	at   int
	most int
}

func (s *cutSource) Next() (*metrics.Chunk, error) {
	if s.at == s.p.Rows {
		return nil, io.EOF
	}
	n := min(1+s.r.IntN(s.most), s.p.Rows-s.at)
	c := &metrics.Chunk{Predictions: s.p.Slice(s.at, s.at+n), First: int64(s.at)}
	s.at += n
	return c, nil
}

// told returns the sums of a set's rows by their definitions: NLLs and bytes of the units, times weights.
func told(p *metrics.Predictions, sequences bool) (nll, size []float64) {
	last := int64(math.MinInt64)
	for i, y := range p.Labels {
		w := 1.0
		if p.Weights != nil {
			w = p.Weights[i]
		}
		if y == metrics.Ignored || w == 0 {
			continue
		}
		row, sum := p.F64[i*p.Classes:(i+1)*p.Classes], 0.0
		for _, v := range row {
			sum += math.Exp(v - row[y])
		}
		if !sequences || p.Sequences[i] != last {
			nll, size, last = append(nll, 0), append(size, 0), p.Sequences[i]
		}
		nll[len(nll)-1] += w * math.Log(sum)
		size[len(size)-1] += w * p.Bytes[i]
	}
	return nll, size
}

func sumOf(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// TestTokens compares with the definitions, with and without weights and sequences.
func TestTokens(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }
	for _, weighted := range []bool{false, true} {
		for _, sequences := range []bool{false, true} {
			p := tokens(1, 900, 5)
			p.Labels[0], p.Labels[77], p.Labels[899] = metrics.Ignored, metrics.Ignored, metrics.Ignored
			if weighted {
				r := rand.New(rand.NewPCG(3, 3))
				for range p.Rows {
					p.Weights = append(p.Weights, float64(r.IntN(4))/2)
				}
			}
			nll, size := told(p, sequences)
			if !sequences {
				p.Sequences = nil
			}
			a := score.NewTokens()
			if err := metrics.NewPass(nil, a).Add(p); err != nil {
				t.Fatal(err)
			}
			n, b, units := sumOf(nll), sumOf(size), float64(len(nll))
			ratio, squares := n/b, 0.0
			for i, v := range nll {
				d := v - ratio*size[i]
				squares += d * d
			}
			half := metrics.Z(0.9) * math.Sqrt(units/(units-1)*squares) / b / math.Ln2
			got := a.BitsPerByteInterval(0.9)
			if v := a.BitsPerByte(); !near(v, ratio/math.Ln2) || !near(got.Low, v-half) || !near(got.High, v+half) {
				t.Errorf("weights %v, sequences %v: %v %v, want %v +- %v", weighted, sequences, v, got, ratio/math.Ln2, half)
			}
			if !sequences {
				if v, i := a.SequenceNLL(), a.SequenceInterval(0.9); v == v || i.Low == i.Low || a.Sequences() != 0 || a.Sequenced() {
					t.Errorf("without sequences: %v %v", v, i)
				}
				continue
			}
			squares = 0
			for _, v := range nll {
				squares += (v - n/units) * (v - n/units)
			}
			half = metrics.Z(0.9) * math.Sqrt(squares/(units-1)/units)
			got = a.SequenceInterval(0.9)
			if v := a.SequenceNLL(); !near(v, n/units) || !near(got.Low, v-half) || !near(got.High, v+half) || a.Sequences() != int64(units) {
				t.Errorf("weights %v: %v %v of %d sequences, want %v +- %v of %v", weighted, v, got, a.Sequences(), n/units, half, units)
			}
		}
	}
}

// TestTokensLaws checks that a state does not depend on chunks and threads, and that states of whole sequences merge to that of all rows.
func TestTokensLaws(t *testing.T) {
	p := tokens(2, 700, 3)
	for i := range p.Rows {
		if i%11 == 3 {
			p.Labels[i] = metrics.Ignored
		}
	}
	state := func(a *score.Tokens) string {
		s, err := a.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(s)
	}
	whole := score.NewTokens()
	if err := metrics.NewPass(&metrics.Options{Threads: 1}, whole).Add(p); err != nil {
		t.Fatal(err)
	}
	want := state(whole)
	for i, most := range []int{1, 2, 7, 50, 700} {
		for _, threads := range []int{1, 2, 5} {
			a := score.NewTokens()
			src := &cutSource{p: p, r: rand.New(rand.NewPCG(uint64(i), 9)), most: most}
			if err := metrics.NewPass(&metrics.Options{Threads: threads}, a).AddSource(src); err != nil {
				t.Fatal(err)
			}
			if state(a) != want || a.SequenceNLL() != whole.SequenceNLL() {
				t.Errorf("chunks of up to %d rows, %d threads: another state", most, threads)
			}
		}
	}
	// Two parts, cut where a sequence ends, in either order; and a part added to the same accumulator.
	at := 350
	for p.Sequences[at] == p.Sequences[at-1] {
		at++
	}
	first, second := p.Slice(0, at), p.Slice(at, p.Rows)
	// Numbers of sequences are those of one source: another source may begin with the same ones.
	again := append([]int64(nil), second.Sequences...)
	for i := range again {
		again[i] -= second.Sequences[0] - first.Sequences[at-1]
	}
	second.Sequences = again
	parts := make([]*score.Tokens, 2)
	for i, q := range []*metrics.Predictions{&first, &second} {
		parts[i] = score.NewTokens()
		if err := metrics.NewPass(nil, parts[i]).Add(q); err != nil {
			t.Fatal(err)
		}
	}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		a, b := score.NewTokens(), score.NewTokens()
		for i, o := range order {
			into := []*score.Tokens{a, b}[i]
			if err := into.UnmarshalBinary([]byte(state(parts[o]))); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Merge(b); err != nil || state(a) != want {
			t.Errorf("merged in the order %v: another state, %v", order, err)
		}
	}
	a := score.NewTokens()
	pass := metrics.NewPass(nil, a)
	for _, q := range []*metrics.Predictions{&first, &second} {
		if err := pass.Add(q); err != nil {
			t.Fatal(err)
		}
	}
	if state(a) != want {
		t.Error("added in two parts: another state")
	}
	// A sequence that straddles two sources counts twice.
	mid := at - 1
	first, second = p.Slice(0, mid), p.Slice(mid, p.Rows)
	a = score.NewTokens()
	pass = metrics.NewPass(nil, a)
	for _, q := range []*metrics.Predictions{&first, &second} {
		if err := pass.Add(q); err != nil {
			t.Fatal(err)
		}
	}
	if cut := p.Sequences[mid] == p.Sequences[mid-1]; cut && a.Sequences() != whole.Sequences()+1 {
		t.Errorf("%d sequences, of which one is cut, and %d", a.Sequences(), whole.Sequences())
	}
}

// TestTokensEdges checks no rows, rows without bytes, one unit, infinite and huge NLLs, and unlike accumulators.
func TestTokensEdges(t *testing.T) {
	of := func(p *metrics.Predictions) *score.Tokens {
		a := score.NewTokens()
		if err := metrics.NewPass(nil, a).Add(p); err != nil {
			t.Fatal(err)
		}
		return a
	}
	isNaN := func(v float64) bool { return v != v }
	for name, a := range map[string]*score.Tokens{"none": score.NewTokens(), "no bytes": of(&metrics.Predictions{Labels: []int32{1}, Scores: metrics.Scores{Rows: 1, Classes: 1, F64: []float64{0.5}}}),
		"bytes of 0": of(&metrics.Predictions{Labels: []int32{1}, Bytes: []float64{0}, Scores: metrics.Scores{Rows: 1, Classes: 1, F64: []float64{0.5}}})} {
		if i := a.BitsPerByteInterval(0.95); !isNaN(a.BitsPerByte()) || !isNaN(i.Low) || !isNaN(a.SequenceNLL()) {
			t.Errorf("%s: %v %v %v", name, a.BitsPerByte(), i, a.SequenceNLL())
		}
	}
	one := tokens(4, 3, 3)
	one.Sequences = []int64{1, 1, 1}
	if a := of(one); isNaN(a.SequenceNLL()) || !isNaN(a.SequenceInterval(0.95).Low) || !isNaN(a.BitsPerByteInterval(0.95).Low) || a.Bytes() != sumOf(one.Bytes) {
		t.Errorf("one sequence: %v %v", a.SequenceNLL(), a.SequenceInterval(0.95))
	}
	for name, low := range map[string]float64{"infinite": math.Inf(-1), "huge": -1e308} {
		for _, sequences := range []bool{false, true} {
			p := tokens(5, 60, 3)
			p.F64[3*30+int(p.Labels[30])] = low
			p.Weights = make([]float64, 60)
			for i := range p.Weights {
				p.Weights[i] = 0x1p32
			}
			if !sequences {
				p.Sequences = nil
			}
			a := of(p)
			v, s := a.BitsPerByte(), a.SequenceNLL()
			if infinite := name == "infinite"; math.IsInf(v, 1) != infinite || !isNaN(a.BitsPerByteInterval(0.9).Low) || sequences && (!(s > 1e300) || !isNaN(a.SequenceInterval(0.9).Low)) {
				t.Errorf("%s, sequences %v: %v %v", name, sequences, v, s)
			}
		}
	}
	plain, sized := tokens(6, 9, 3), tokens(6, 9, 3)
	plain.Bytes = nil
	for _, c := range [][2]*metrics.Predictions{{plain, sized}, {sized, plain}} {
		a, b := of(c[0]), of(c[1])
		before, _ := a.AppendBinary(nil)
		if err := a.Merge(b); !errors.Is(err, metrics.ErrMismatch) {
			t.Errorf("with and without bytes: %v", err)
		}
		if after, _ := a.AppendBinary(nil); string(after) != string(before) {
			t.Error("a merge that failed changed it")
		}
	}
	if err := of(plain).Merge(score.NewBalanced()); !errors.Is(err, metrics.ErrMismatch) {
		t.Error(err)
	}
	p := tokens(7, 9, 3)
	p.Sequences[5] = 0
	var e *metrics.SequenceError
	if err := metrics.NewPass(nil, score.NewTokens()).Add(p); !errors.As(err, &e) || e.Row != 5 || e.Number != 0 {
		t.Errorf("%v", err)
	}
}

// FuzzTokensUnmarshal checks that a state that is read is written as the same bytes, and gives values.
func FuzzTokensUnmarshal(f *testing.F) {
	for i := range 4 {
		p := tokens(8, 30, 3)
		if i&1 != 0 {
			p.Bytes = nil
		}
		if i&2 != 0 {
			p.Sequences, p.Weights = nil, make([]float64, 30)
			p.Weights[3], p.Weights[4] = 0x1p32, 0x1p-32
		}
		a := score.NewTokens()
		if err := metrics.NewPass(nil, a).Add(p); err != nil {
			f.Fatal(err)
		}
		s, err := a.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		_, payload, _, err := exact.Open("cTOK", s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var a score.Tokens
		s := exact.Seal("cTOK", 1, payload)
		if err := a.UnmarshalBinary(s); err != nil {
			return
		}
		if again, err := a.AppendBinary(nil); err != nil || string(again) != string(s) {
			t.Errorf("written in another way: %v", err)
		}
		i, j := a.BitsPerByteInterval(0.95), a.SequenceInterval(0.95)
		if v := a.BitsPerByte(); v < 0 || a.SequenceNLL() < 0 || i.Low > i.High || j.Low > j.High {
			t.Errorf("%v %v, %v %v", v, i, a.SequenceNLL(), j)
		}
		if err := a.Empty().Merge(&a); err != nil {
			t.Error(err)
		}
	})
}

// TestTokensRefuses checks that states that no rows can produce are rejected.
func TestTokensRefuses(t *testing.T) {
	state := func(classes uint32, flags uint8, rows, infinite, units, over int64, sums ...float64) []byte {
		var e exact.Enc
		e.U32(classes)
		e.U8(0)
		e.U8(flags)
		for _, n := range []int64{rows, infinite, units, over} {
			e.I64(n)
		}
		for i := range 5 {
			var s exact.Sum
			if i < len(sums) {
				s.AddFloat(sums[i])
			}
			e.Sum(&s)
		}
		return exact.Seal("cTOK", 1, e.B)
	}
	for i, s := range [][]byte{state(3, 3, 5, 0, 2, 0, 1, 2, 3, 4, 5), state(0, 0, 0, 0, 0, 0), state(3, 0, 5, 1, 5, 1, 2)} {
		if err := new(score.Tokens).UnmarshalBinary(s); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	for name, s := range map[string][]byte{
		"more units than rows":       state(3, 3, 5, 0, 6, 0, 1, 2, 3, 4, 5),
		"rows that are not units":    state(3, 1, 5, 0, 4, 0, 1, 2, 3, 4, 5),
		"rows and no units":          state(3, 3, 5, 0, 0, 0, 1, 2),
		"more infinite than rows":    state(3, 3, 5, 6, 2, 0, 1, 2, 3, 4, 5),
		"more without moments":       state(3, 3, 5, 0, 2, 3, 1, 2, 3, 4, 5),
		"a sum below 0":              state(3, 3, 5, 0, 2, 0, -1, 2, 3, 4, 5),
		"bytes of rows without":      state(3, 2, 5, 0, 2, 0, 1, 2, 3),
		"sums of no rows":            state(0, 0, 0, 0, 0, 0, 1),
		"rows of no classes":         state(0, 3, 5, 0, 2, 0, 1, 2, 3, 4, 5),
		"flags that there are not":   state(3, 4, 5, 0, 5, 0, 1),
		"rows below 0":               state(3, 3, -5, 0, 2, 0, 1),
		"classes where there are no": state(3, 0, 0, 0, 0, 0),
	} {
		if err := new(score.Tokens).UnmarshalBinary(s); !errors.Is(err, exact.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Bits per byte does not depend on how a text is divided into tokens, and neither does the NLL of a sequence.
func ExampleTokens() {
	p := &metrics.Predictions{Labels: []int32{1, 1, 1, 1}, Bytes: []float64{2, 4, 1, 1}, Sequences: []int64{0, 0, 1, 1}}
	p.Rows, p.Classes, p.F64 = 4, 1, []float64{0.5, 0.25, 0.5, 1}
	t := score.NewTokens()
	if err := metrics.NewPass(nil, t).Add(p); err != nil {
		panic(err)
	}
	fmt.Printf("%.3f bits per byte, %.3f nats per sequence\n", t.BitsPerByte(), t.SequenceNLL())
	// Output: 0.500 bits per byte, 1.386 nats per sequence
}
