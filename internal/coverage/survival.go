package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/survival"
)

// survivalLaw draws rows whose event happens by time 1 with a probability that depends on the prediction, and which are censored.
type survivalLaw struct {
	name      string
	happens   func(p float64) float64
	censoring float64 // mean time of censoring where the prediction is 0
	more      float64 // by how much that grows up to a prediction of 1
	end       float64 // of the study
}

func curved(p float64) float64 { return float64(0.7*float64(p*p)) + float64(0.3*p) }
func itself(p float64) float64 { return p }

var survivalLaws = []survivalLaw{
	{"right, a third censored", itself, 2, 0, math.Inf(1)},
	{"off, none censored", curved, math.Inf(1), 0, math.Inf(1)},
	{"off, half censored", curved, 1.2, 0, math.Inf(1)},
	{"off, the study ends", curved, 2, 0, 1},
	{"off, censoring by prediction", curved, 0.8, 2, math.Inf(1)},
}

func (l *survivalLaw) draw(r *rand.Rand, n int) *survival.Rows {
	rows := &survival.Rows{}
	for range n {
		p := r.Float64()
		t := r.ExpFloat64() / -math.Log1p(-min(l.happens(p), 0.999))
		c := min(r.ExpFloat64()*l.censoring*(1+float64(l.more*p)), l.end)
		rows.Risks, rows.Times, rows.Events = append(rows.Risks, p), append(rows.Times, max(1e-9, min(t, c))), append(rows.Events, t <= c)
	}
	return rows
}

// An interval of 95% at horizon 1.
type survivalInterval struct {
	name string
	of   func(r *survival.Rows) (value float64, i metrics.Interval, err error)
}

var survivalEstimates = []survivalInterval{
	{"in the large", estimate(func(r *survival.Rows) (survival.Estimate, error) { return survival.InTheLarge(r, 1) })},
	{"Brier", estimate(func(r *survival.Rows) (survival.Estimate, error) { return survival.Brier(r, 1) })},
	{"AUROC", estimate(func(r *survival.Rows) (survival.Estimate, error) { return survival.AUROC(r, 1) })},
	{"Uno", estimate(func(r *survival.Rows) (survival.Estimate, error) { return survival.ConcordanceIPCW(r, 1) })},
}

var survivalErrors = []survivalInterval{
	{"calibration error", censored(survival.CensoredOptions{})},
	{"orthogonal", censored(survival.CensoredOptions{Orthogonal: true})},
	{"as coded", censored(survival.CensoredOptions{AsCoded: true})},
	{"orthogonal, as coded", censored(survival.CensoredOptions{AsCoded: true, Orthogonal: true})},
}

func censored(o survival.CensoredOptions) func(*survival.Rows) (float64, metrics.Interval, error) {
	o.Threads = 1
	return func(r *survival.Rows) (float64, metrics.Interval, error) {
		c, err := survival.CensoredOf(r, 1, &o)
		if err != nil {
			return 0, metrics.NoInterval(), err
		}
		if in := c.Interval(0.95); !o.AsCoded && !math.IsNaN(in.Low) {
			return c.RMS(), in, nil
		}
		// The interval of an estimate of which the package gives none, and that of uncertainty_metrics.
		in := metrics.Normal(c.Squared, c.SE, 0.95)
		return c.RMS(), metrics.Interval{Low: math.Sqrt(max(in.Low, 0)), High: math.Sqrt(max(in.High, 0))}, nil
	}
}

func estimate(f func(*survival.Rows) (survival.Estimate, error)) func(*survival.Rows) (float64, metrics.Interval, error) {
	return func(r *survival.Rows) (float64, metrics.Interval, error) {
		e, err := f(r)
		return e.Value, e.Interval(0.95), err
	}
}

// printSurvival prints how often intervals hold what is true of the law without censoring: first those that are fast, of ten times as many sets.
func printSurvival(w io.Writer, runs, million, threads int, sizes []int) error {
	if err := printLives(w, survivalEstimates, 10*runs, threads, sizes, func(free *survivalLaw, k int) (float64, error) {
		v, _, err := survivalEstimates[k].of(free.draw(rand.New(rand.NewPCG(1, 99)), million))
		return v, err
	}); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return printLives(w, survivalErrors, runs, threads, sizes, func(free *survivalLaw, _ int) (float64, error) {
		sum := 0.0
		for i := range million { // predictions are even in [0,1]
			p := (float64(i) + 0.5) / float64(million)
			d := p - free.happens(p)
			sum += float64(d * d)
		}
		return math.Sqrt(sum / float64(million)), nil
	})
}

func printLives(w io.Writer, intervals []survivalInterval, runs, threads int, sizes []int, truth func(free *survivalLaw, k int) (float64, error)) error {
	fmt.Fprint(w, "| law, rows |")
	for _, c := range intervals {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprint(w, "\n| --- |")
	for range intervals {
		fmt.Fprint(w, " ---: |")
	}
	fmt.Fprintln(w)
	for _, l := range survivalLaws {
		free := l
		free.censoring, free.end = math.Inf(1), math.Inf(1)
		want := make([]float64, len(intervals))
		for k := range intervals {
			var err error
			if want[k], err = truth(&free, k); err != nil {
				return err
			}
		}
		for _, n := range sizes {
			held := make([]int, len(intervals))
			var mu sync.Mutex
			var wait sync.WaitGroup
			var failed error
			for t := range threads {
				wait.Go(func() {
					for i := t; i < runs; i += threads {
						rows := l.draw(rand.New(rand.NewPCG(uint64(first+i), 41)), n)
						for k, c := range intervals {
							_, in, err := c.of(rows)
							mu.Lock()
							if err != nil {
								failed = err
							}
							if in.Low <= want[k] && want[k] <= in.High {
								held[k]++
							}
							mu.Unlock()
						}
					}
				})
			}
			wait.Wait()
			if failed != nil {
				return failed
			}
			fmt.Fprintf(w, "| %s, %d |", l.name, n)
			for _, h := range held {
				fmt.Fprintf(w, " %.3f |", float64(h)/float64(runs))
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}
