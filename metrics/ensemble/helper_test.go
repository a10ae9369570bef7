package ensemble_test

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

// settings are the settings of a random ensemble.
type settings struct {
	members, rows, k int
	dtype            metrics.DType
	kind             metrics.Kind
	weighted         bool
	interleaved      bool // stored row by row, as (rows, members, classes)
	bad              bool // some rows are bad
}

// generate makes an ensemble, and returns its scores as stored, members x rows x classes.
func generate(r *rand.Rand, s settings) (*metrics.Members, [][][]float64) {
	e := &metrics.Members{Kind: s.kind, Labels: make([]int32, s.rows)}
	v := make([][][]float64, s.members)
	for m := range v {
		v[m] = make([][]float64, s.rows)
	}
	for i := range s.rows {
		e.Labels[i] = int32(r.IntN(max(2, s.k)))
		base := make([]float64, s.k)
		for j := range base {
			base[j] = 2 * r.NormFloat64()
		}
		for m := range v {
			row := make([]float64, s.k)
			for j := range row {
				row[j] = base[j] + r.NormFloat64()
				if s.k > 2 && r.IntN(20) == 0 {
					row[j] = math.Inf(-1)
				}
			}
			if s.k > 2 {
				row[r.IntN(s.k)] = 1 // only one class is possible
			}
			switch {
			case s.kind == metrics.Logits:
			case s.k == 1 && s.kind == metrics.Probs:
				row[0] = 1 / (1 + math.Exp(-row[0]))
			case s.k == 1:
				row[0] = -math.Log1p(math.Exp(-row[0]))
			default:
				softmax(row)
				for j := range row {
					if s.kind == metrics.LogProbs {
						row[j] = math.Log(row[j])
					}
				}
			}
			if s.bad && r.IntN(12) == 0 {
				row[r.IntN(s.k)] = math.NaN()
			}
			v[m][i] = row
		}
		if s.bad && r.IntN(12) == 0 {
			e.Labels[i] = -1
		}
		if s.weighted {
			e.Weights = append(e.Weights, []float64{0, 0.5, 1, 3}[r.IntN(4)])
		}
	}
	return e, store(e, v, s)
}

func softmax(row []float64) {
	most, sum := math.Inf(-1), 0.0
	for _, x := range row {
		most = max(most, x)
	}
	for j, x := range row {
		row[j] = math.Exp(x - most)
		sum += row[j]
	}
	for j := range row {
		row[j] /= sum
	}
}

// store sets the scores of e and returns the values that will be read.
func store(e *metrics.Members, v [][][]float64, s settings) [][][]float64 {
	stride, gap := s.k, s.k*s.rows
	if s.interleaved {
		stride, gap = s.k*s.members, s.k
	}
	n := s.members * s.rows * s.k
	f64, f32, half := make([]float64, n), make([]float32, n), make([]uint16, n)
	back := make([][][]float64, s.members)
	for m := range v {
		back[m] = make([][]float64, s.rows)
		for i, row := range v[m] {
			back[m][i] = make([]float64, s.k)
			for j, x := range row {
				at := m*gap + i*stride + j
				switch s.dtype {
				case metrics.Float64:
					f64[at] = x
				case metrics.Float32:
					f32[at] = float32(x)
					x = float64(f32[at])
				case metrics.Float16:
					half[at], x = float16(x)
				case metrics.BFloat16:
					half[at] = uint16(math.Float32bits(float32(x)) >> 16)
					x = float64(math.Float32frombits(uint32(half[at]) << 16))
				}
				back[m][i][j] = x
			}
		}
	}
	for m := range v {
		lo, hi := m*gap, m*gap+(s.rows-1)*stride+s.k
		o := metrics.Scores{Rows: s.rows, Classes: s.k, Stride: stride}
		if s.rows == 0 {
			lo, hi = 0, 0
		}
		switch s.dtype {
		case metrics.Float64:
			o.F64 = f64[lo:hi]
		case metrics.Float32:
			o.F32 = f32[lo:hi]
		case metrics.Float16:
			o.F16 = half[lo:hi]
		case metrics.BFloat16:
			o.BF16 = half[lo:hi]
		}
		e.Each = append(e.Each, o)
	}
	return back
}

// float16 truncates x to binary16, and subnormal numbers to 0.
func float16(x float64) (uint16, float64) {
	b := math.Float32bits(float32(x))
	sign, exp := uint16(b>>16&0x8000), int(b>>23&0xff)-112
	switch {
	case x != x:
		return 0x7e00, x
	case math.IsInf(x, 0):
		return sign | 0x7c00, x
	case exp <= 0:
		return 0, 0
	}
	return sign | uint16(exp<<10) | uint16(b>>13&0x3ff), float64(math.Float32frombits(b &^ (1<<13 - 1)))
}

// pieces is a MemberSource of an ensemble in chunks of random sizes, some without rows.
type pieces struct {
	e        *metrics.Members
	r        *rand.Rand
	at       int
	end      error // nil means io.EOF
	chunks   int
	recycled int
}

func (p *pieces) Next() (*metrics.MemberChunk, error) {
	rows := p.e.Each[0].Rows
	if p.at == rows {
		if p.end != nil {
			return nil, p.end
		}
		return nil, io.EOF
	}
	n := min(rows-p.at, p.r.IntN(200))
	c := &metrics.MemberChunk{Members: *slice(p.e, p.at, p.at+n), First: int64(p.at)}
	c.Recycle = func() { p.recycled++ }
	p.at += n
	p.chunks++
	return c, nil
}

// slice returns rows [lo, hi).
func slice(e *metrics.Members, lo, hi int) *metrics.Members {
	q := *e
	q.Each = nil
	for _, s := range e.Each {
		st := s.Stride
		if st == 0 {
			st = s.Classes
		}
		a, b := lo*st, (hi-1)*st+s.Classes
		if lo == hi {
			a, b = 0, 0
		}
		s.Rows = hi - lo
		switch {
		case s.F64 != nil:
			s.F64 = s.F64[a:b]
		case s.F32 != nil:
			s.F32 = s.F32[a:b]
		case s.F16 != nil:
			s.F16 = s.F16[a:b]
		default:
			s.BF16 = s.BF16[a:b]
		}
		q.Each = append(q.Each, s)
	}
	q.Labels = e.Labels[lo:hi]
	if e.Weights != nil {
		q.Weights = e.Weights[lo:hi]
	}
	return &q
}

// permuted returns the rows in another order, in float64.
func permuted(e *metrics.Members, v [][][]float64, order []int) *metrics.Members {
	q := &metrics.Members{Kind: e.Kind}
	for _, m := range v {
		s := metrics.Scores{Rows: len(order), Classes: len(m[0])}
		for _, i := range order {
			s.F64 = append(s.F64, m[i]...)
		}
		q.Each = append(q.Each, s)
	}
	for _, i := range order {
		q.Labels = append(q.Labels, e.Labels[i])
		if e.Weights != nil {
			q.Weights = append(q.Weights, e.Weights[i])
		}
	}
	return q
}

// all returns empty accumulators of all kinds.
func all() []ensemble.Accumulator {
	return []ensemble.Accumulator{ensemble.NewUncertainty(), metrics.Must(ensemble.NewDiversity(nil)),
		metrics.Must(ensemble.NewDiversity(&ensemble.DiversityOptions{AllPairs: true, Generalized: true, P: 3, Conditional: true})),
		metrics.Must(ensemble.NewDiversity(&ensemble.DiversityOptions{Clip: 1e-7, P: math.Inf(1), Conditional: true,
			Measures: ensemble.DoubleFault | ensemble.AverageKL | ensemble.LpDistance}))}
}

func run(t testing.TB, src metrics.MemberSource, o *ensemble.Options, accs ...ensemble.Accumulator) metrics.Audit {
	t.Helper()
	a, err := ensemble.Run(src, o, accs...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

type appender interface {
	AppendBinary([]byte) ([]byte, error)
}

func state[A appender](t testing.TB, accs ...A) []byte {
	t.Helper()
	var b []byte
	for _, a := range accs {
		var err error
		if b, err = a.AppendBinary(b); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func sameState(t testing.TB, what string, a, b []byte) {
	t.Helper()
	if !bytes.Equal(a, b) {
		t.Fatalf("%s: states differ", what)
	}
}

func threads(n int, drop bool) *ensemble.Options {
	return &ensemble.Options{Options: metrics.Options{Threads: n, Drop: drop}}
}

// panics returns the value that f panics with, or nil.
func panics(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}
