package ensemble_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
	"github.com/candor-go/candor/metrics/score"
)

// three returns the probabilities of three models for four rows. The models agree on the first row, each is undecided on the
// second, and on the third each is sure of another class.
func three() *metrics.Members {
	model := func(v ...float64) metrics.Scores { return metrics.Scores{F64: v, Rows: 4, Classes: 3} }
	return &metrics.Members{
		Each: []metrics.Scores{
			model(0.9, 0.05, 0.05, 0.4, 0.3, 0.3, 0.9, 0.05, 0.05, 0.1, 0.8, 0.1),
			model(0.9, 0.05, 0.05, 0.25, 0.5, 0.25, 0.05, 0.9, 0.05, 0.2, 0.7, 0.1),
			model(0.9, 0.05, 0.05, 0.3, 0.3, 0.4, 0.05, 0.05, 0.9, 0.6, 0.2, 0.2),
		},
		Labels: []int32{0, 1, 2, 1},
	}
}

// One read evaluates the ensemble as one model, each of its members, and their disagreement.
func Example() {
	var members []*score.Loss
	o := &ensemble.Options{Member: func(int) []metrics.Accumulator {
		members = append(members, metrics.Must(score.NewLoss(nil)))
		return []metrics.Accumulator{members[len(members)-1]}
	}}
	whole, u := metrics.Must(score.NewLoss(nil)), ensemble.NewUncertainty()
	mean := ensemble.Fold(ensemble.InMemory(three()), o, u)
	if err := metrics.NewPass(nil, whole).AddSource(mean); err != nil {
		log.Fatal(err)
	}
	for m, l := range members {
		fmt.Printf("member %d: accuracy %.2f, nll %.3f\n", m, l.Accuracy(), l.NLL())
	}
	fmt.Printf("ensemble: accuracy %.2f, nll %.3f\n", whole.Accuracy(), whole.NLL())
	i := u.Interval(ensemble.MutualInformation, metrics.DefaultLevel)
	fmt.Printf("mutual information %.3f [%.3f, %.3f] of %d members\n", u.Value(ensemble.MutualInformation), i.Low, i.High, u.Members())
	// Output:
	// member 0: accuracy 0.50, nll 1.132
	// member 1: accuracy 0.75, nll 1.038
	// member 2: accuracy 0.50, nll 0.756
	// ensemble: accuracy 0.75, nll 0.694
	// mutual information 0.221 [-0.102, 0.544] of 3 members
}

// The disagreement of the members is separate from the uncertainty of each.
func ExampleUncertaintyOf() {
	u, err := ensemble.UncertaintyOf(ensemble.InMemory(three()), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d rows\n", u.Len())
	for _, m := range []ensemble.Measure{ensemble.TotalUncertainty, ensemble.DataUncertainty, ensemble.MutualInformation,
		ensemble.EnsembleNLL, ensemble.GibbsNLL} {
		fmt.Printf("%v %.3f, infinite in %d rows\n", m, u.Value(m), u.InfiniteRows(m))
	}
	// Output:
	// 4 rows
	// total_uncertainty 0.885, infinite in 0 rows
	// data_uncertainty 0.665, infinite in 0 rows
	// mutual_information 0.221, infinite in 0 rows
	// ensemble_nll 0.694, infinite in 0 rows
	// gibbs_nll 0.975, infinite in 0 rows
}

// The mutual information of each row shows which rows to examine.
func ExampleEach() {
	e := three()
	rows := make([]float64, len(e.Labels))
	mean, err := ensemble.Each(rows, ensemble.MutualInformation, ensemble.InMemory(e), nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f: %.3f\n", mean, rows)
	// Output:
	// 0.221: [0.000 0.024 0.704 0.155]
}

// Several measures of each row, in one read.
func ExampleNewRows() {
	e := three()
	kl, bound := make([]float64, len(e.Labels)), make([]float64, len(e.Labels))
	audit, err := ensemble.Run(ensemble.InMemory(e), nil,
		ensemble.NewRows(kl, ensemble.AverageKL, &ensemble.DiversityOptions{Clip: 1e-7}),
		ensemble.NewRows(bound, ensemble.VarianceBound, nil))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d rows: %.3f %.3f\n", audit.Rows, kl, bound)
	// Output:
	// 4 rows: [0.000 0.070 2.457 0.495] [0.000 0.018 0.099 0.054]
}

func ExampleDiversityOf() {
	d, err := ensemble.DiversityOf(ensemble.InMemory(three()), nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range []ensemble.Measure{ensemble.Disagreement, ensemble.DoubleFault, ensemble.AverageKL, ensemble.CosineSimilarity,
		ensemble.LpDistance, ensemble.LogitKL, ensemble.BregmanKLVariance, ensemble.VarianceBound} {
		fmt.Printf("%v %.3f\n", m, d.Value(m))
	}
	fmt.Printf("error of a member %.3f, disagreement over it %.3f\n", d.Error(), d.DisagreementOver(d.Error()))
	// Output:
	// disagreement 0.667
	// double_fault 0.167
	// average_kl 0.756
	// cosine_similarity 0.678
	// lp_distance 0.708
	// logit_kl 0.084
	// bregman_kl_variance 0.284
	// variance_bound 0.043
	// error of a member 0.417, disagreement over it 1.600
}

// Double fault has two definitions: the probability that both are wrong, and that one is wrong given that the other is.
func ExampleDiversityOptions() {
	for _, o := range []ensemble.DiversityOptions{{}, {Conditional: true}, {AllPairs: true}} {
		o.Measures = ensemble.Disagreement | ensemble.DoubleFault
		d, err := ensemble.DiversityOf(ensemble.InMemory(three()), nil, &o)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.3f %.3f\n", d.Value(ensemble.Disagreement), d.Value(ensemble.DoubleFault))
	}
	// Output:
	// 0.667 0.167
	// 0.667 0.333
	// 0.444 0.250
}

// KL(a || b) of two models, row by row.
func ExamplePair() {
	e := three()
	a := &metrics.Predictions{Scores: e.Each[0], Labels: e.Labels}
	b := &metrics.Predictions{Scores: e.Each[1], Labels: e.Labels}
	rows := make([]float64, a.Rows)
	kl, err := ensemble.Pair(rows, ensemble.AverageKL, a, b, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f: %.3f\n", kl, rows)
	// Output:
	// 0.646: [0.000 0.089 2.457 0.038]
}

// Each of two processes reads a part of the rows. Their states, sent as bytes, merge into the state of all rows.
func ExampleUncertainty_Merge() {
	e := three()
	part := func(lo, hi int) []byte {
		q := *e
		q.Each = nil
		for _, s := range e.Each {
			s.F64, s.Rows = s.F64[lo*s.Classes:hi*s.Classes], hi-lo
			q.Each = append(q.Each, s)
		}
		q.Labels = e.Labels[lo:hi]
		u, err := ensemble.UncertaintyOf(ensemble.InMemory(&q), nil)
		if err != nil {
			log.Fatal(err)
		}
		state, err := u.AppendBinary(nil)
		if err != nil {
			log.Fatal(err)
		}
		return state
	}
	var total, second ensemble.Uncertainty
	if err := total.UnmarshalBinary(part(0, 1)); err != nil {
		log.Fatal(err)
	}
	if err := second.UnmarshalBinary(part(1, 4)); err != nil {
		log.Fatal(err)
	}
	if err := total.Merge(&second); err != nil {
		log.Fatal(err)
	}
	all, err := ensemble.UncertaintyOf(ensemble.InMemory(e), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(total.Len(), total.Value(ensemble.MutualInformation) == all.Value(ensemble.MutualInformation))
	// Output: 4 true
}

// sure is a custom Accumulator: it counts the rows where all members are sure.
type sure struct{ n, rows int64 }

func (s *sure) Empty() ensemble.Accumulator           { return &sure{} }
func (s *sure) Len() int64                            { return s.rows }
func (s *sure) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (s *sure) UnmarshalBinary([]byte) error          { return nil }

func (s *sure) AddBlock(b *ensemble.Block) {
	s.rows += int64(b.Rows)
	for i := range b.Rows {
		least := 1.0
		for _, m := range b.Members {
			least = min(least, m.Stats.Top[i])
		}
		if least > 0.8 {
			s.n++
			fmt.Printf("row %d: the mean gives class 0 %.2f\n", b.Number(i), b.Mean.F64[i*b.Mean.Stride])
		}
	}
}

func (s *sure) Merge(a ensemble.Accumulator) error {
	o := a.(*sure)
	s.n, s.rows = s.n+o.n, s.rows+o.rows
	return nil
}

func ExampleAccumulator() {
	var s sure
	if _, err := ensemble.Run(ensemble.InMemory(three()), nil, &s); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("all are sure of %d rows of %d\n", s.n, s.rows)
	// Output:
	// row 0: the mean gives class 0 0.90
	// row 2: the mean gives class 0 0.33
	// all are sure of 2 rows of 4
}

// A row that is bad in one member is dropped from all.
func ExampleFolded() {
	e := three()
	e.Each[2].F64[4] = -0.3
	f := ensemble.Fold(ensemble.InMemory(e), nil)
	err := metrics.NewPass(nil, metrics.Must(score.NewLoss(nil))).AddSource(f)
	fmt.Println(err)
	var bad *ensemble.MemberError
	if errors.As(err, &bad) {
		fmt.Println(bad.Member, bad.Err.Faults[0].Row, bad.Others)
	}

	drop := metrics.Options{Drop: true}
	f = ensemble.Fold(ensemble.InMemory(e), &ensemble.Options{Options: drop}, metrics.Must(ensemble.NewDiversity(nil)))
	if err := metrics.NewPass(&drop, metrics.Must(score.NewLoss(nil))).AddSource(f); err != nil {
		log.Fatal(err)
	}
	audit := f.Audit()
	fmt.Println(audit.Rows, audit.Warnings())
	// Output:
	// member 2: row 1, column 1: probability is -0.3, outside [0, 1]: logits? pass Kind metrics.Logits
	// 2 1 0
	// 3 [1 bad row was left out]
}

// A divergence is infinite if one member gives 0 to a class that another considers possible. These rows are counted, and
// Finite is the mean of the others.
func ExampleDiversity() {
	e := three()
	copy(e.Each[1].F64[9:], []float64{0.25, 0.75, 0})
	d := metrics.Must(ensemble.NewDiversity(&ensemble.DiversityOptions{Measures: ensemble.AverageKL | ensemble.LpDistance}))
	if _, err := ensemble.Run(ensemble.InMemory(e), nil, d); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Measures(), "of", d.Members(), "members")
	fmt.Println(d.Value(ensemble.AverageKL), d.InfiniteRows(ensemble.AverageKL))
	fmt.Printf("%.3f\n", d.Finite(ensemble.AverageKL))
	// Output:
	// average_kl+lp_distance of 3 members
	// +Inf 1
	// 0.842
}
