//go:build unix

package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// BenchmarkRatio: what a comparison of two models, groups of rows, and 200 bootstrap replicates cost beside the evaluation of one model, all of
// the default metrics. All take turns on one thread, and only processor time counts: so others on the machine change less of what it says. Of
// each kind of rows it prints the nanoseconds a row of eval, the least of the rounds, and for each other its own relative to those, both the least
// of the rounds (min) and the median of the rounds' ratios (median). Of replicates it prints what they add, in nanoseconds a row. The
// goals are 2.2 for compare, 3 for 100,000 groups of ten million rows, and 100 ns a row for replicates.
func BenchmarkRatio(b *testing.B) {
	rounds, rows := 11, 10_000_000
	if testing.Short() {
		rounds, rows = 1, 10_000 // it runs
	}
	names := make([][]string, grouped.Most)
	for i := range names {
		names[i] = []string{strconv.Itoa(i)}
	}
	for _, in := range []struct {
		name    string
		classes int
		kind    metrics.Kind
		wide    bool
	}{
		{"binary/probs/f32", 1, metrics.Probs, false},
		{"binary/probs/f64", 1, metrics.Probs, true},
		{"binary/logits/f32", 1, metrics.Logits, false},
		{"k=10/logits/f32", 10, metrics.Logits, false},
	} {
		b.Run(in.name, func(b *testing.B) {
			sets := [2]*metrics.Predictions{ratioSet(rows, in.classes, 0, in.kind, in.wide), ratioSet(rows, in.classes, 0.5, in.kind, in.wide)}
			var of [3][]int32
			r := check.Rand(31)
			for i, n := range []int32{100, 1000, grouped.Most} {
				of[i] = make([]int32, rows)
				for j := range of[i] {
					of[i][j] = r.Int32N(n)
				}
			}
			costs := []struct {
				name string
				do   func() error
			}{
				{"eval", func() error { return ratioEval(sets[0], "default", false) }},
				{"compare", func() error { return ratioCompare(sets) }},
				{"groups=100", func() error { return ratioGroups(sets[0], of[0], names) }},
				{"groups=1000", func() error { return ratioGroups(sets[0], of[1], names) }},
				{"groups=100000", func() error { return ratioGroups(sets[0], of[2], names) }},
				{"answers", func() error { return ratioEval(sets[0], "default,aurc", true) }},
				{"replicates", func() error { return ratioEval(sets[0], "default,aurc,eaurc,augrc", true) }},
			}
			took := make([][]float64, len(costs))
			for b.Loop() {
				for range rounds {
					for i, c := range costs {
						start := processorTime()
						if err := c.do(); err != nil {
							b.Fatal(err)
						}
						took[i] = append(took[i], processorTime()-start)
					}
				}
			}
			b.ReportMetric(0, "ns/op") // of all together
			least := slices.Min(took[0])
			b.ReportMetric(least/float64(rows), "eval-ns/row")
			for i, c := range costs[1:5] {
				ratios := make([]float64, len(took[0]))
				for k, t := range took[1+i] {
					ratios[k] = t / took[0][k]
				}
				b.ReportMetric(slices.Min(took[1+i])/least, c.name+"-min")
				b.ReportMetric(median(ratios), c.name+"-median")
			}
			b.ReportMetric((slices.Min(took[6])-slices.Min(took[5]))/float64(rows), "replicates-add-ns/row")
		})
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// ratioSet returns rows like those of comparedSet, with scores of this kind and type.
func ratioSet(rows, classes int, noise float64, kind metrics.Kind, wide bool) *metrics.Predictions {
	p := comparedSet(rows, classes, noise)
	p.Kind = kind
	if wide {
		p.F64 = make([]float64, len(p.F32))
	}
	for i, v := range p.F32 {
		x := float64(v)
		if kind == metrics.Probs {
			x = 1 / (1 + math.Exp(-x))
		}
		if wide {
			p.F64[i] = x
		} else {
			p.F32[i] = float32(x)
		}
	}
	if wide {
		p.F32 = nil
	}
	return p
}

func ratioSpec(p *metrics.Predictions, names string) (s eval.Spec, err error) {
	s = eval.Spec{Classes: p.Classes, Kind: p.Kind}
	s.Metrics, err = eval.ParseMetrics(names, s.Shape())
	return s, err
}

func ratioEval(p *metrics.Predictions, names string, answer bool) error {
	s, err := ratioSpec(p, names)
	if err != nil {
		return err
	}
	e, err := eval.New(s)
	if err != nil {
		return err
	}
	if e.Threads = 1; !answer {
		return e.AddSource(&inGroups{p: p}, &metrics.Options{Threads: 1})
	}
	if err := e.AddSource(&inGroups{p: p}, &metrics.Options{Threads: 1}); err != nil {
		return err
	}
	for _, m := range e.Spec.Metrics {
		if v := e.Value(m); v.Value != v.Value {
			return fmt.Errorf("%v is %v: %s", m, v.Value, v.Reason)
		}
	}
	return nil
}

func ratioCompare(sets [2]*metrics.Predictions) error {
	s, err := ratioSpec(sets[0], "default")
	if err != nil {
		return err
	}
	c, err := compared.New(s, []string{"a", "b"}, "")
	if err != nil {
		return err
	}
	return c.AddSources([]metrics.Source{&inGroups{p: sets[0]}, &inGroups{p: sets[1]}}, &metrics.Options{Threads: 1})
}

func ratioGroups(p *metrics.Predictions, of []int32, names [][]string) error {
	s, err := ratioSpec(p, "default")
	if err != nil {
		return err
	}
	g, err := grouped.New(s, []string{"g"})
	if err != nil {
		return err
	}
	return g.AddSource(&inGroups{p: p, of: of}, func(i int32) []string { return names[i] }, &metrics.Options{Threads: 1})
}

// inGroups is a source of rows in memory, by about a million logits, with groups if there are any.
type inGroups struct {
	p  *metrics.Predictions
	of []int32
	at int
}

func (s *inGroups) Next() (*metrics.Chunk, error) {
	if s.at == s.p.Rows {
		return nil, io.EOF
	}
	n := min(s.p.Rows-s.at, (1<<20)/s.p.Classes)
	c := &metrics.Chunk{Predictions: s.p.Slice(s.at, s.at+n), First: int64(s.at)}
	if s.of != nil {
		c.Groups = s.of[s.at : s.at+n]
	}
	s.at += n
	return c, nil
}
