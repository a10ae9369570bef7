package metrics_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// tiles is an accumulator that keeps every row of probabilities as float64, by its number.
type tiles struct {
	need metrics.Need
	rows map[int64][]float64
	wide bool // some tile was of float64
}

var errNoState = errors.New("no state")

func (a *tiles) Needs() metrics.Need                 { return a.need }
func (a *tiles) Empty() metrics.Accumulator          { return &tiles{need: a.need, rows: map[int64][]float64{}} }
func (a *tiles) Len() int64                          { return int64(len(a.rows)) }
func (a *tiles) AppendBinary([]byte) ([]byte, error) { return nil, errNoState }
func (a *tiles) UnmarshalBinary([]byte) error        { return errNoState }

func (a *tiles) Merge(o metrics.Accumulator) error {
	for i, r := range o.(*tiles).rows {
		a.rows[i] = r
	}
	a.wide = a.wide || o.(*tiles).wide
	return nil
}

func (a *tiles) AddBlock(b *metrics.Block) {
	t := b.Probs
	a.wide = a.wide || t.F64 != nil
	for i := range b.Rows {
		row := make([]float64, t.Width)
		for j := range row {
			if t.F64 != nil {
				row[j] = t.F64[i*t.Stride+j]
			} else {
				row[j] = float64(t.F32[i*t.Stride+j])
			}
		}
		a.rows[b.Number(i)] = row
	}
}

// wantTile returns a row as accumulators get it, one entry after another.
func wantTile(p *metrics.Predictions, i int, renormalize bool) []float64 {
	k, st := p.Classes, max(p.Stride, p.Classes)
	n32, n64 := make([]float32, k), make([]float64, k)
	switch {
	case p.F64 != nil:
		copy(n64, p.F64[i*st:])
	case p.F32 != nil:
		copy(n32, p.F32[i*st:])
	case p.F16 != nil:
		kernel.WidenF16(n32, p.F16[i*st:i*st+k])
	default:
		kernel.WidenBF16(n32, p.BF16[i*st:i*st+k])
	}
	if p.Kind != metrics.Probs {
		kernel.SoftmaxF32(n32, k, n32, 1, k, k)
		kernel.SoftmaxF64(n64, k, n64, 1, k, k)
	}
	if p.F64 == nil {
		for j, v := range n32 {
			n64[j] = float64(v)
		}
	}
	if renormalize && p.Kind == metrics.Probs {
		c := kernel.Stats{Top: make([]float64, 1), Tail: make([]float64, 1), Label: make([]float64, 1), NLL: make([]float64, 1), Norm: make([]float64, 1),
			ArgMax: make([]int32, 1), Flags: make([]uint8, 1)}
		if p.F64 != nil {
			kernel.ProbStatsF64(&c, n64, 1, k, k, []int32{0})
		} else {
			kernel.ProbStatsF32(&c, n32, 1, k, k, []int32{0})
		}
		for j := range n64 {
			n64[j] /= c.Norm[0]
		}
	}
	return n64
}

// uneven returns rows whose neighbours differ, except log-probabilities; probabilities are multiples of 1/128.
func uneven(n, k int, kind metrics.Kind, t metrics.DType) *metrics.Predictions {
	p := even(n, k, kind, t)
	for i := range n {
		for j := range k {
			v := 0.0
			switch {
			case kind == metrics.LogProbs:
				continue
			case kind == metrics.Logits:
				v = float64((i+7*j)%50) / 8
			case j == i%k:
				v = float64(i%64+64) / 128
			case j == (i+1)%k:
				v = 1 - float64(i%64+64)/128
			}
			put(p, i, j, v)
		}
	}
	return p
}

// TestTiles: accumulators of rows get each row's probabilities, in float32 where nothing is lost, whatever else they need.
func TestTiles(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
			for _, dtype := range []metrics.DType{metrics.Float64, metrics.Float32, metrics.Float16, metrics.BFloat16} {
				for _, k := range []int{2, 3, 40, 1000} {
					if k == 1000 && !check.Full() && dtype != metrics.Float32 && (testing.Short() || dtype != metrics.Float64) {
						continue
					}
					p := uneven(check.Size(130, 300, 300), k, kind, dtype)
					labels := slices.Clone(p.Labels)
					var rows [2][][]float64 // as they are, and renormalized
					for i := range p.Rows {
						rows[0] = append(rows[0], wantTile(p, i, false))
						if kind == metrics.Probs {
							rows[1] = append(rows[1], wantTile(p, i, true))
						}
					}
					for _, c := range []struct {
						o    metrics.Options
						need metrics.Need
					}{{metrics.Options{Threads: 1}, 0}, {metrics.Options{Threads: 2}, metrics.NeedSpread | metrics.NeedRank}, {metrics.Options{Drop: true}, 0}, {metrics.Options{Renormalize: true}, 0}} {
						if c.o.Renormalize && kind != metrics.Probs {
							continue
						}
						copy(p.Labels, labels)
						want := rows[0]
						if c.o.Renormalize {
							want = rows[1]
						}
						bad := map[int64]bool{}
						if c.o.Drop {
							for i := 3; i < p.Rows; i += 1 + i/2 {
								p.Labels[i], bad[int64(i)] = -1, true
							}
						}
						a := &tiles{need: metrics.NeedRows | c.need, rows: map[int64][]float64{}}
						if err := metrics.NewPass(&c.o, a).Add(p); err != nil {
							t.Fatal(err)
						}
						if want := dtype == metrics.Float64 || c.o.Renormalize; a.wide != want || len(a.rows) != p.Rows-len(bad) {
							t.Fatalf("%v %v k=%d %+v: float64 %v, %d rows", kind, dtype, k, c.o, a.wide, len(a.rows))
						}
						for i := range int64(p.Rows) {
							if got, want := a.rows[i], want[i]; !bad[i] && !slices.Equal(got, want) {
								t.Fatalf("%v %v k=%d %+v: row %d is %v, want %v", kind, dtype, k, c.o, i, got[:min(k, 4)], want[:min(k, 4)])
							}
						}
					}
				}
			}
		}
	})
}

// TestTileOfEvent: a binary task has two columns.
func TestTileOfEvent(t *testing.T) {
	p := &metrics.Predictions{Scores: metrics.Scores{F32: []float32{0.25, 1, 0.75}, Rows: 3, Classes: 1}, Labels: []int32{0, 1, 1}}
	a := &tiles{need: metrics.NeedRows, rows: map[int64][]float64{}}
	if err := metrics.NewPass(nil, a).Add(p); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.rows[0], []float64{0.75, 0.25}) || !slices.Equal(a.rows[1], []float64{0, 1}) || math.Abs(a.rows[2][0]-0.25) > 0 {
		t.Error(a.rows)
	}
}

// TestTilesIn: a Walker's tiles lie where the caller wants them, as long as they fit, and are the same.
func TestTilesIn(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []metrics.DType{metrics.Float32, metrics.Float64} {
		p := generate(r, settings{dtype: d, kind: metrics.Logits, k: 7, n: 20})
		f32, f64 := make([]float32, 150), make([]float64, 150)
		walk := func(f32 []float32, f64 []float64) (tile []float64, inside bool) {
			w := metrics.NewWalker(nil, metrics.NeedRows, func(b *metrics.Block) {
				for i := range b.Rows * b.Probs.Width {
					if b.Probs.F32 != nil {
						tile = append(tile, float64(b.Probs.F32[i]))
						inside = len(f32) > 0 && &b.Probs.F32[0] == &f32[0]
					} else {
						tile = append(tile, b.Probs.F64[i])
						inside = len(f64) > 0 && &b.Probs.F64[0] == &f64[0]
					}
				}
			})
			w.TilesIn(f32, f64)
			w.Add(&metrics.Chunk{Predictions: *p})
			if err := w.Err(); err != nil {
				t.Fatal(err)
			}
			return tile, inside
		}
		want, _ := walk(nil, nil)
		if got, inside := walk(f32, f64); !inside || sameBits(got, want) != nil {
			t.Errorf("%v: inside %v, %v", d, inside, sameBits(got, want))
		}
		if got, inside := walk(f32[:100], f64[:100]); inside || sameBits(got, want) != nil {
			t.Errorf("%v, no room: inside %v, %v", d, inside, sameBits(got, want))
		}
	}
}

// TestWalkerTerms: the terms that a Walker hands on, times their rows' scales, are the tile that it has otherwise, where rows were
// left out too.
func TestWalkerTerms(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const rows = 70
		for _, k := range []int{5, 100, 1100} {
			p := &metrics.Predictions{Kind: metrics.Logits, Labels: make([]int32, rows)}
			p.Rows, p.Classes, p.F32 = rows, k, check.Logits32(check.Rand(3), rows*k, 3)
			p.F32[2*k+1], p.Labels[40] = float32(math.NaN()), -1
			walk := func(terms bool) (tile []float64) {
				w := metrics.NewWalker(&metrics.Options{Drop: true}, metrics.NeedRows, func(b *metrics.Block) {
					if (b.Probs.Scale != nil) != (terms && kernel.HasTerms(k)) {
						t.Errorf("%d classes: the scales are %v", k, b.Probs.Scale)
					}
					for i := range b.Rows {
						for _, v := range b.Probs.F32[i*k : (i+1)*k] {
							if b.Probs.Scale != nil {
								v *= b.Probs.Scale[i]
							}
							tile = append(tile, float64(v))
						}
					}
				})
				w.Terms(terms)
				w.Add(&metrics.Chunk{Predictions: *p})
				return tile
			}
			want, got := walk(false), walk(true)
			if len(want) != (rows-2)*k {
				t.Errorf("%d classes: %d entries", k, len(want))
			}
			if err := sameBits(got, want); err != nil {
				t.Errorf("%d classes: %v", k, err)
			}
		}
	})
}
