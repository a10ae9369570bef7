package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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
		l.add(rows, r.Float64(), r.ExpFloat64(), r.ExpFloat64())
	}
	return rows
}

// add adds a row by its prediction and two exponential numbers, by which the event and the censoring come.
func (l *survivalLaw) add(rows *survival.Rows, p, event, gone float64) {
	t := event / -math.Log1p(-min(l.happens(p), 0.999))
	c := min(gone*l.censoring*(1+float64(l.more*p)), l.end)
	rows.Risks, rows.Times, rows.Events = append(rows.Risks, p), append(rows.Times, max(1e-9, min(t, c))), append(rows.Events, t <= c)
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

// evenCensoring are the laws of which one curve of censoring is right.
func evenCensoring() []survivalLaw { return survivalLaws[:4] }

// printLifeClusters prints how often intervals by clusters hold what is true. Half of what decides when the event of a row happens, when it is
// censored and what is predicted is that of its cluster.
func printLifeClusters(w io.Writer, runs, million, threads int) error {
	fmt.Fprint(w, "| law, clusters |")
	for _, c := range survivalEstimates {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprint(w, " share |\n| --- |"+strings.Repeat(" ---: |", len(survivalEstimates)+1)+"\n")
	all := append(slices.Clone(survivalEstimates), survivalInterval{"share", estimate(func(r *survival.Rows) (survival.Estimate, error) { return survival.EventShare(r, 1) })})
	for _, l := range evenCensoring() {
		free := l
		free.censoring, free.end = math.Inf(1), math.Inf(1)
		many := free.draw(rand.New(rand.NewPCG(1, 99)), million)
		want := make([]float64, len(all))
		for k := range all {
			var err error
			if want[k], _, err = all[k].of(many); err != nil {
				return err
			}
		}
		for _, c := range []struct{ clusters, most int }{{30, 19}, {100, 9}} {
			held := make([]atomic.Int64, len(all))
			if err := each(runs, threads, func(run int) error {
				rows := l.drawClusters(rand.New(rand.NewPCG(uint64(run), 42)), c.clusters, c.most)
				for k := range all {
					_, in, err := all[k].of(rows)
					if err != nil {
						return err
					}
					if in.Low <= want[k] && want[k] <= in.High {
						held[k].Add(1)
					}
				}
				return nil
			}); err != nil {
				return err
			}
			printHeld(w, fmt.Sprintf("%s, %d of 1 to %d rows", l.name, c.clusters, c.most), held, runs)
		}
	}
	return nil
}

func (l *survivalLaw) drawClusters(r *rand.Rand, clusters, most int) *survival.Rows {
	rows := &survival.Rows{}
	even := func(shared float64) float64 { // in [0,1], half shared
		return math.Erfc(-(shared+r.NormFloat64())/2) / 2
	}
	for c := range clusters {
		a, b, d := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		for range 1 + r.IntN(most) {
			p := even(a)
			l.add(rows, p, -math.Log(even(b)), -math.Log(even(d)))
			rows.Clusters = append(rows.Clusters, int32(c))
		}
	}
	return rows
}

// lifePairs are estimates whose differences between two models are simulated.
var lifePairs = []struct {
	name string
	of   func(r *survival.Rows) (survival.Estimate, error)
}{
	{"in the large", func(r *survival.Rows) (survival.Estimate, error) { return survival.InTheLarge(r, 1) }},
	{"Brier", func(r *survival.Rows) (survival.Estimate, error) { return survival.Brier(r, 1) }},
	{"integrated Brier", func(r *survival.Rows) (survival.Estimate, error) {
		early := make([]float64, len(r.Risks)) // by time 1/2, if the hazard is constant
		for i, p := range r.Risks {
			early[i] = 1 - math.Sqrt(1-p)
		}
		return survival.IntegratedBrier(r, &survival.Curves{Times: []float64{0.5, 1}, Risks: [][]float64{early, r.Risks}})
	}},
	{"AUROC", func(r *survival.Rows) (survival.Estimate, error) { return survival.AUROC(r, 1) }},
	{"Uno", func(r *survival.Rows) (survival.Estimate, error) { return survival.ConcordanceIPCW(r, 1) }},
}

// other returns rows with the predictions of another model, which sees what the first sees with noise.
func other(r *rand.Rand, rows *survival.Rows) *survival.Rows {
	o := *rows
	o.Risks = make([]float64, len(rows.Risks))
	for i, p := range rows.Risks {
		o.Risks[i] = logistic(0.9*math.Log(max(p, 1e-12)/max(1-p, 1e-12)) + 0.7*r.NormFloat64())
	}
	return &o
}

// printLifePairs prints how often intervals of the difference of two models hold what is true.
func printLifePairs(w io.Writer, runs, million, threads int, sizes []int) error {
	fmt.Fprint(w, "| law, rows of two models |")
	for _, c := range lifePairs {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprint(w, "\n| --- |"+strings.Repeat(" ---: |", len(lifePairs))+"\n")
	for _, l := range evenCensoring() {
		free := l
		free.censoring, free.end = math.Inf(1), math.Inf(1)
		r := rand.New(rand.NewPCG(1, 98))
		a := free.draw(r, million)
		b := other(r, a)
		want := make([]float64, len(lifePairs))
		for k, c := range lifePairs {
			x, err := c.of(a)
			if err != nil {
				return err
			}
			y, err := c.of(b)
			if err != nil {
				return err
			}
			want[k] = y.Value - x.Value
		}
		for _, n := range sizes {
			held := make([]atomic.Int64, len(lifePairs))
			if err := each(runs, threads, func(run int) error {
				r := rand.New(rand.NewPCG(uint64(run), 43))
				a := l.draw(r, n)
				b := other(r, a)
				for k, c := range lifePairs {
					x, err := c.of(a)
					if err != nil {
						return err
					}
					y, err := c.of(b)
					if err != nil {
						return err
					}
					if in := y.Minus(x, a).Interval(0.95); in.Low <= want[k] && want[k] <= in.High {
						held[k].Add(1)
					}
				}
				return nil
			}); err != nil {
				return err
			}
			printHeld(w, fmt.Sprintf("%s, %d", l.name, n), held, runs)
		}
	}
	return nil
}

// printHeld prints a row of the shares of runs whose intervals held the truth.
func printHeld(w io.Writer, name string, held []atomic.Int64, runs int) {
	fmt.Fprintf(w, "| %s |", name)
	for k := range held {
		fmt.Fprintf(w, " %.3f |", float64(held[k].Load())/float64(runs))
	}
	fmt.Fprintln(w)
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

// curveLaws are those of smooth curves: hazards are proportional in all, since they are constant in time.
var curveLaws = []survivalLaw{
	{"right, a third censored", itself, 2, 0, math.Inf(1)},
	{"half of the hazard, a third censored", func(p float64) float64 { return 1 - math.Sqrt(1-p) }, 2, 0, math.Inf(1)},
	{"off, half censored", curved, 1.2, 0, math.Inf(1)},
	{"off, censoring by prediction", curved, 0.8, 2, math.Inf(1)},
}

var curveAt = []float64{0.1, 0.5, 0.9}

// printHazardCurves prints how often the band of the smooth calibration curve holds the share of events of rows with a prediction.
func printHazardCurves(w io.Writer, runs, threads int, sizes []int) error {
	fmt.Fprint(w, "| law, rows | at 10% | at 50% | at 90% |\n| --- | ---: | ---: | ---: |\n")
	for _, l := range curveLaws {
		for _, n := range sizes {
			held := make([]atomic.Int64, len(curveAt))
			if err := each(runs, threads, func(run int) error {
				c, err := survival.ICIOf(l.draw(rand.New(rand.NewPCG(uint64(run), 44)), n), 1, 0)
				if err != nil {
					return err
				}
				for k, p := range curveAt {
					at := 0
					for i, x := range c.Curve {
						if math.Abs(x.Predicted-p) < math.Abs(c.Curve[at].Predicted-p) {
							at = i
						}
					}
					x := c.Curve[at]
					if in, want := x.Interval(0.95), l.happens(x.Predicted); in.Low <= want && want <= in.High {
						held[k].Add(1)
					}
				}
				return nil
			}); err != nil {
				return err
			}
			printHeld(w, fmt.Sprintf("%s, %d", l.name, n), held, runs)
		}
	}
	return nil
}
