package recal

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// dataRows returns n rows of k scores, of which row i has the label i mod k and other traits that tell its number; the last row is
// without what is behind its scores.
func dataRows(n, k, stride int, t metrics.DType) *metrics.Predictions {
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: k, Stride: stride}, Kind: metrics.Logits}
	size := (n-1)*stride + k
	rng := rand.New(rand.NewPCG(uint64(n), uint64(k)))
	switch t {
	case metrics.Float64:
		p.F64 = make([]float64, size)
	case metrics.Float32:
		p.F32 = make([]float32, size)
	case metrics.Float16:
		p.F16 = make([]uint16, size)
	case metrics.BFloat16:
		p.BF16 = make([]uint16, size)
	}
	for i := range n {
		for j := range k {
			v := rng.IntN(64)
			switch at := i*stride + j; t {
			case metrics.Float64:
				p.F64[at] = float64(v)
			case metrics.Float32:
				p.F32[at] = float32(v)
			case metrics.Float16:
				p.F16[at] = uint16(0x3c00 + v<<4) // 1 + v/64
			case metrics.BFloat16:
				p.BF16[at] = uint16(0x3f80 + v) // 1 + v/128
			}
		}
		p.Labels = append(p.Labels, int32(i%max(2, k)))
		p.Weights = append(p.Weights, float64(1+i%7))
		p.Decisions = append(p.Decisions, int32((i+1)%max(2, k)))
		p.ConfidenceScores = append(p.ConfidenceScores, float64(i)/float64(n))
	}
	return p
}

// dataRow is all that there is of a row.
type dataRow struct {
	number              int64
	label, decision     int32
	group               int32
	weight, by, observe float64
	scores              [8]float64
}

// dataRead returns the rows of a source, in its order.
func dataRead(t *testing.T, src metrics.Source) []dataRow {
	t.Helper()
	var l []dataRow
	for {
		c, err := src.Next()
		if err == io.EOF {
			return l
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Rows {
			r := dataRow{number: c.Number(i)}
			if c.Labels != nil {
				r.label = c.Labels[i]
			}
			if c.Decisions != nil {
				r.decision = c.Decisions[i]
			}
			if c.Groups != nil {
				r.group = c.Groups[i]
			}
			if c.Weights != nil {
				r.weight = c.Weights[i]
			}
			if c.ConfidenceScores != nil {
				r.by = c.ConfidenceScores[i]
			}
			if c.Observed != nil {
				r.observe = c.Observed[i]
			}
			c.Scores.Widen(r.scores[:c.Classes], i, i+1)
			l = append(l, r)
		}
		if c.Recycle != nil {
			c.Recycle()
		}
	}
}

// dataOf opens data and reads them.
func dataOf(t *testing.T, d Data) []dataRow {
	t.Helper()
	src, err := d.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	return dataRead(t, src)
}

// dataParts is predictions as a source of chunks of changing length, with numbers from first on or picked ones, groups, and memory
// that is overwritten once it is recycled.
type dataParts struct {
	p        *metrics.Predictions
	rows     []int // of the chunks, over and over
	first    int64
	numbered bool
	at, n    int
	recycled *int
}

func (d *dataParts) Close() error { return nil }

func (d *dataParts) Next() (*metrics.Chunk, error) {
	if d.at >= d.p.Rows {
		return nil, io.EOF
	}
	n := min(d.rows[d.n%len(d.rows)], d.p.Rows-d.at)
	v := (&metrics.Chunk{Predictions: *d.p, First: d.first}).Slice(d.at, d.at+n)
	v.F64, v.F32, v.F16, v.BF16 = slices.Clone(v.F64), slices.Clone(v.F32), slices.Clone(v.F16), slices.Clone(v.BF16)
	v.Labels, v.Weights = slices.Clone(v.Labels), slices.Clone(v.Weights)
	for i := range n {
		v.Groups = append(v.Groups, int32(d.at+i)/10)
		if d.numbered {
			v.Numbers = append(v.Numbers, int32(3*(d.at+i)))
		}
	}
	if d.numbered {
		v.First = d.first
	}
	v.Recycle = func() {
		if d.recycled != nil {
			*d.recycled++
		}
		for i := range v.F64 {
			v.F64[i] = math.NaN()
		}
		for i := range v.F32 {
			v.F32[i] = -77
		}
		for i := range v.Labels {
			v.Labels[i], v.Weights[i] = -1, -1
		}
	}
	d.at, d.n = d.at+n, d.n+1
	return &v, nil
}

var dataTypes = []metrics.DType{metrics.Float64, metrics.Float32, metrics.Float16, metrics.BFloat16}

func TestInMemory(t *testing.T) {
	for _, dtype := range dataTypes {
		for _, shape := range [][3]int{{1, 1, 1}, {1, 3, 9}, {70000, 2, 5}, {300, 4, 2000}, {3, 8, 1 << 18}, {0, 3, 3}} {
			if shape[0] == 0 {
				p := &metrics.Predictions{Scores: metrics.Scores{Classes: 3}}
				if l := dataOf(t, InMemory(p)); len(l) != 0 {
					t.Errorf("%d rows of none", len(l))
				}
				continue
			}
			p := dataRows(shape[0], shape[1], shape[2], dtype)
			d := InMemory(p)
			for range 2 { // each reading is of all rows
				l := dataOf(t, d)
				if len(l) != p.Rows {
					t.Fatalf("%v: %d rows of %d", shape, len(l), p.Rows)
				}
				for i, r := range l {
					var want [8]float64
					p.Scores.Widen(want[:p.Classes], i, i+1)
					if r != (dataRow{number: int64(i), label: p.Labels[i], decision: p.Decisions[i], weight: p.Weights[i],
						by: p.ConfidenceScores[i], scores: want}) {
						t.Fatalf("%v %v: row %d is %v", shape, dtype, i, r)
					}
				}
			}
		}
	}
}

// TestInMemoryShapes: scores that do not have their shape panic, as in a Pass, and columns of another length are an error.
func TestInMemoryShapes(t *testing.T) {
	for _, c := range []struct {
		column string
		spoil  func(p *metrics.Predictions)
	}{
		{"labels", func(p *metrics.Predictions) { p.Labels = p.Labels[1:] }},
		{"labels", func(p *metrics.Predictions) { p.Labels = append(p.Labels, 0) }},
		{"weights", func(p *metrics.Predictions) { p.Weights = p.Weights[:5] }},
		{"decisions", func(p *metrics.Predictions) { p.Decisions = p.Decisions[:5] }},
		{"confidence scores", func(p *metrics.Predictions) { p.ConfidenceScores = p.ConfidenceScores[:5] }},
		{"observations", func(p *metrics.Predictions) { p.Observed = make([]float64, 3) }},
		{"", func(p *metrics.Predictions) { p.Rows++ }},
		{"", func(p *metrics.Predictions) { p.Rows = -1 }},
		{"", func(p *metrics.Predictions) { p.Stride = 2 }},
		{"", func(p *metrics.Predictions) { p.Classes = 0 }},
		{"", func(p *metrics.Predictions) { p.F64 = nil }},
		{"", func(p *metrics.Predictions) { p.F32 = make([]float32, len(p.F64)) }},
	} {
		p := dataRows(70000, 3, 3, metrics.Float64)
		c.spoil(p)
		func() {
			defer func() {
				if s, ok := recover().(string); ok != (c.column == "") || ok && !strings.HasPrefix(s, "metrics: ") {
					t.Errorf("%q: the panic is %q", c.column, s)
				}
			}()
			_, err := look(InMemory(p), nil)
			var length *metrics.LengthError
			if !errors.As(err, &length) || length.Column != c.column {
				t.Errorf("%v, want an error about %s", err, c.column)
			}
		}()
	}
}

func TestOpenFunc(t *testing.T) {
	want := errors.New("no such file")
	if _, err := look(OpenFunc(func() (Source, error) { return nil, want }), nil); !errors.Is(err, want) {
		t.Errorf("%v", err)
	}
}
