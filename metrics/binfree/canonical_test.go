package binfree

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// vectors draws n rows of k probabilities and labels: calibrated ones, or with each label of row i moved on by one class with a probability.
func vectors(seed uint64, n, k int, off float64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 7))
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: k}}
	for range n {
		row, sum := make([]float64, k), 0.0
		for j := range row {
			row[j] = r.ExpFloat64() * r.ExpFloat64()
			sum += row[j]
		}
		u, label := r.Float64()*sum, 0
		for j := range row {
			if u -= row[j]; u < 0 {
				label = j
				break
			}
		}
		for j := range row {
			row[j] /= sum
		}
		if r.Float64() < off {
			label = (label + 1) % k
		}
		p.F64, p.Labels = append(p.F64, row...), append(p.Labels, int32(label))
	}
	return p
}

func canonicalOf(t testing.TB, p *metrics.Predictions, o *CanonicalOptions, threads int) *Canonical {
	t.Helper()
	c, err := NewCanonical(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := metrics.NewPass(&metrics.Options{Threads: threads}, c).Add(p); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCanonical: the error is the mean over all pairs of rows, by the kernel of its frequencies; and near that by the Gaussian kernel.
func TestCanonical(t *testing.T) {
	for _, k := range []int{1, 2, 3, 7} {
		n := 150
		p := vectors(uint64(k), n, max(2, k), 0.3)
		rows := p.F64
		if k == 1 {
			p.Classes = 1
			p.F64 = nil
			for i := range n {
				p.F64 = append(p.F64, rows[2*i+1])
				rows[2*i] = 1 - rows[2*i+1]
			}
		}
		width := max(2, k)
		for _, o := range []CanonicalOptions{{}, {Bandwidth: 0.7, Frequencies: 1000}} {
			c := canonicalOf(t, p, &o, 2)
			d := c.opt.Frequencies
			w := frequencies(d, width, c.opt.Bandwidth)
			want, gauss, size := 0.0, 0.0, 0.0
			for i := range n {
				for j := range n {
					if i == j {
						continue
					}
					dot, apart := 0.0, 0.0
					for m := range width {
						a, b := -rows[i*width+m], -rows[j*width+m]
						apart += (a - b) * (a - b)
						if int(p.Labels[i]) == m {
							a++
						}
						if int(p.Labels[j]) == m {
							b++
						}
						dot += a * b
					}
					kernel := 0.0
					for f := range d {
						x := 0.0
						for m := range width {
							x += w[f*width+m] * (rows[i*width+m] - rows[j*width+m])
						}
						kernel += math.Cos(x) / float64(d)
					}
					want += kernel * dot / float64(n*(n-1))
					size += math.Abs(dot) / float64(n*(n-1))
					gauss += math.Exp(-apart/(2*c.opt.Bandwidth*c.opt.Bandwidth)) * dot / float64(n*(n-1))
				}
			}
			if got := c.Value(); math.Abs(got-want) > 1e-8 {
				t.Errorf("%d classes, %d frequencies: %v, want %v", k, d, got, want)
			} else if d == 1000 && math.Abs(got-gauss) > math.Sqrt(1.0/2000)*size {
				t.Errorf("%d classes: %v, and %v by the Gaussian kernel", k, got, gauss)
			}
		}
	}
}

// TestCanonicalMerge: the state has the same bytes however rows are divided, and is read back.
func TestCanonicalMerge(t *testing.T) {
	p := vectors(3, 700, 4, 0.1)
	o := &CanonicalOptions{Replicates: 19}
	bytesOf := func(c *Canonical) []byte {
		b, err := c.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole := canonicalOf(t, p, o, 3)
	want := bytesOf(whole)
	src := func(from, to int) *Canonical {
		c, _ := NewCanonical(o)
		q := p.Slice(from, to)
		if err := metrics.NewPass(nil, c).AddSource(&numbered{&metrics.Chunk{Predictions: q, First: int64(from)}}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b, c := src(0, 100), src(100, 101), src(101, 700)
	for _, o := range []*Canonical{a, b} {
		if err := c.Merge(o); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(bytesOf(c), want) || c.P() != whole.P() {
		t.Error("parts differ from the whole")
	}
	again, _ := NewCanonical(nil)
	if err := again.UnmarshalBinary(want); err != nil || again.Value() != whole.Value() || again.P() != whole.P() {
		t.Error(err, again.Value(), whole.Value())
	}
	for i := 0; i < len(want); i += 7 {
		bad := bytes.Clone(want)
		bad[i] ^= 8
		if err := again.UnmarshalBinary(bad); err == nil {
			t.Fatalf("byte %d changed, and read", i)
		}
	}
	none, _ := NewCanonical(nil)
	if err := whole.Merge(none); err == nil {
		t.Error("merged with other options")
	}
	if none.Reason() == "" || none.Value() == none.Value() {
		t.Error("a value of no rows")
	}
	p.Weights = make([]float64, p.Rows)
	for i := range p.Weights {
		p.Weights[i] = 2
	}
	if c := canonicalOf(t, p, o, 1); c.Reason() == "" || c.P() == c.P() {
		t.Error("a value with weights")
	}
}

// numbered is a source of one chunk.
type numbered struct{ c *metrics.Chunk }

func (s *numbered) Next() (*metrics.Chunk, error) {
	c := s.c
	if s.c = nil; c == nil {
		return nil, io.EOF
	}
	return c, nil
}

// TestCanonicalP: of calibrated sets 5% have a p-value of at most 5%, whatever their size; sets that are off in the classes besides the top label
// have small ones.
func TestCanonicalP(t *testing.T) {
	const sets = 600
	for _, n := range []int{5, 60} {
		small, sum := 0, 0.0
		for s := range sets {
			c := canonicalOf(t, vectors(uint64(100+s), n, 3, 0), &CanonicalOptions{Frequencies: 8, Replicates: 19}, 1)
			if c.P() <= 0.05 {
				small++
			}
			sum += c.Value()
		}
		if small < sets*2/100 || small > sets*8/100 {
			t.Errorf("%d rows: %d of %d calibrated sets have a p-value of at most 0.05", n, small, sets)
		}
		if mean := sum / sets; math.Abs(mean) > 0.1/float64(n) {
			t.Errorf("%d rows: the mean error is %v", n, mean)
		}
	}
	if p := canonicalOf(t, vectors(9, 2000, 3, 0.15), &CanonicalOptions{Replicates: 99}, 2).P(); p != 0.01 {
		t.Errorf("labels that are off have the p-value %v", p)
	}
}

func BenchmarkCanonical(b *testing.B) {
	for _, k := range []int{10, 100, 1000} {
		p := vectors(1, 2000, k, 0)
		for _, r := range []int{0, 99} {
			b.Run(map[int]string{10: "K=10", 100: "K=100", 1000: "K=1000"}[k]+map[int]string{0: "", 99: ",test"}[r], func(b *testing.B) {
				for b.Loop() {
					canonicalOf(b, p, &CanonicalOptions{Replicates: r}, 1)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2000, "ns/row")
			})
		}
	}
}
