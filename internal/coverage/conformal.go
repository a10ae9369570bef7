package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/conformal"
)

// conformalLaw draws rows for conformal methods.
type conformalLaw struct {
	name    string
	methods []string
	draw    func(r *rand.Rand, n int) *metrics.Predictions
}

var conformalLaws = []conformalLaw{
	{"five classes, probabilities too large", []string{"lac", "aps", "aps(randomized)", "raps(k=2)", "lac(by_class)"}, func(r *rand.Rand, n int) *metrics.Predictions {
		const k = 5
		p := &metrics.Predictions{Labels: make([]int32, n)}
		p.Rows, p.Classes, p.F64 = n, k, make([]float64, n*k)
		z, q := make([]float64, k), make([]float64, k)
		for i := range n {
			for c := range z {
				z[c] = 1.5 * r.NormFloat64()
			}
			softmax(q, z, 1)
			u := r.Float64()
			for c := 0; c < k-1 && u >= q[c]; c++ {
				u -= q[c]
				p.Labels[i]++
			}
			softmax(p.F64[i*k:][:k], z, 0.5)
		}
		return p
	}},
	{"errors of a t distribution, larger in some rows", []string{"split", "normalized"}, func(r *rand.Rand, n int) *metrics.Predictions {
		p := &metrics.Predictions{Kind: metrics.Normals}
		p.Rows, p.Classes, p.F64 = n, 3, make([]float64, 3*n)
		for i := range n {
			mean, sd := r.NormFloat64(), 0.5+r.Float64()
			copy(p.F64[3*i:], []float64{mean, sd, mean + float64(sd*studentT(r))})
		}
		return p
	}},
	{"the same, quantiles too narrow", []string{"cqr"}, func(r *rand.Rand, n int) *metrics.Predictions {
		p := &metrics.Predictions{Kind: metrics.Quantiles, Observed: make([]float64, n)}
		p.Rows, p.Classes, p.F64 = n, 2, make([]float64, 2*n)
		for i := range n {
			mean, sd := r.NormFloat64(), 0.5+r.Float64()
			p.F64[2*i], p.F64[2*i+1], p.Observed[i] = mean-sd, mean+sd, mean+float64(sd*studentT(r))
		}
		return p
	}},
}

// studentT draws from the t distribution with 3 degrees of freedom.
func studentT(r *rand.Rand) float64 {
	s := 0.0
	for range 3 {
		z := r.NormFloat64()
		s += float64(z * z)
	}
	return r.NormFloat64() / math.Sqrt(s/3)
}

// later is the number of rows that are evaluated after each fit, and the promise of each.
const (
	later   = 200
	promise = 0.9
)

// conformalRun fits a method to rows and returns how many of others are covered, with what was promised.
func conformalRun(l *conformalLaw, m conformal.Method, n, run int) (covered int64, f *conformal.Map, err error) {
	r := rand.New(rand.NewPCG(uint64(run), uint64(n)))
	m.Seed = uint64(run) // random numbers that are the same in all sets would be a part of the law
	f, _, err = conformal.Fit(metrics.InMemory(l.draw(r, n)), m, promise, &metrics.Options{Threads: 1})
	if err != nil {
		return 0, nil, err
	}
	var ends []float64
	var sets []bool
	w := metrics.NewWalker(nil, metrics.NeedRows, func(b *metrics.Block) {
		if m.Score.Classes() {
			sets = append(sets[:0], make([]bool, b.Rows*f.Classes())...)
			f.Sets()(sets, b)
			for i := range b.Rows {
				if sets[i*f.Classes()+int(b.Labels[i])] {
					covered++
				}
			}
			return
		}
		ends = append(ends[:0], make([]float64, 2*b.Rows)...)
		f.Intervals(ends, b)
		for i := range b.Rows {
			y := 0.0
			if b.Observed != nil {
				y = b.Observed[i]
			}
			if b.Kind == metrics.Normals {
				y = b.Probs.At(i, 2)
			}
			if ends[2*i] <= y && y <= ends[2*i+1] {
				covered++
			}
		}
	})
	w.Add(&metrics.Chunk{Predictions: *l.draw(r, later)})
	return covered, f, nil
}

// printConformal prints what share of later rows is covered, over calibration sets, and how often it is found fault with.
func printConformal(w io.Writer, runs, threads int, sizes []int) error {
	fmt.Fprint(w, "| method, calibration rows | covered | as promised |\n| --- | ---: | ---: |\n")
	for i := range conformalLaws {
		l := &conformalLaws[i]
		for _, name := range l.methods {
			m, err := conformal.Parse(name)
			if err != nil {
				return err
			}
			for _, n := range sizes {
				var mu sync.Mutex
				var covered, kept int64
				err := each(runs, threads, func(run int) error {
					c, f, err := conformalRun(l, m, n, run)
					if err != nil {
						return err
					}
					p, one := f.Promise()
					mu.Lock()
					defer mu.Unlock()
					covered += c
					if one && p.P(c, later) >= 0.05 {
						kept++
					}
					return nil
				})
				if err != nil {
					return err
				}
				share := func(n int64, of int) string { return fmt.Sprintf("%.3f", float64(n)/float64(of)) }
				last := share(kept, runs)
				if m.ByClass {
					last = "-"
				}
				fmt.Fprintf(w, "| %s: %s, %d | %s | %s |\n", l.name, name, n, share(covered, runs*later), last)
			}
		}
	}
	return nil
}
