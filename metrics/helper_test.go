package metrics_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/metrics/score"
)

var dtypes = []metrics.DType{metrics.Float64, metrics.Float32, metrics.Float16, metrics.BFloat16}

// halves are the values of the finite binary16 numbers from 0 on, in order, whose index is their bits.
var halves = func() []float32 {
	h := make([]float32, 0x7c00)
	bits := make([]uint16, len(h))
	for i := range bits {
		bits[i] = uint16(i)
	}
	kernel.WidenF16(h, bits)
	return h
}()

func toF16(v float64) uint16 {
	sign := uint16(0)
	if math.Signbit(v) {
		sign, v = 0x8000, -v
	}
	switch {
	case v != v:
		return 0x7e00
	case v > 65504:
		return sign | 0x7c00
	}
	i := sort.Search(len(halves), func(i int) bool { return float64(halves[i]) >= v })
	if i > 0 && (i == len(halves) || v-float64(halves[i-1]) < float64(halves[i])-v) {
		i--
	}
	return sign | uint16(i)
}

func toBF16(v float64) uint16 {
	b := math.Float32bits(float32(v))
	if v != v {
		return 0x7fc0
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// narrow returns scores of type t; pad elements of NaN follow each row.
func narrow(v []float64, k int, t metrics.DType, pad int) metrics.Scores {
	s := metrics.Scores{Rows: len(v) / k, Classes: k}
	if pad > 0 {
		s.Stride = k + pad
		w := make([]float64, 0, s.Rows*s.Stride)
		for i := range s.Rows {
			w = append(w, v[i*k:(i+1)*k]...)
			for range pad {
				w = append(w, math.NaN())
			}
		}
		v = w[:max(0, len(w)-pad)]
	}
	switch t {
	case metrics.Float64:
		s.F64 = append([]float64{}, v...)
	case metrics.Float32:
		s.F32 = make([]float32, len(v))
		for i, x := range v {
			s.F32[i] = float32(x)
		}
	case metrics.Float16:
		s.F16 = make([]uint16, len(v))
		for i, x := range v {
			s.F16[i] = toF16(x)
		}
	case metrics.BFloat16:
		s.BF16 = make([]uint16, len(v))
		for i, x := range v {
			s.BF16[i] = toBF16(x)
		}
	}
	return s
}

// widen returns the packed elements of s as float64.
func widen(s *metrics.Scores) []float64 {
	st := s.Stride
	if st == 0 {
		st = s.Classes
	}
	var v []float64
	for i := range s.Rows {
		for j := range s.Classes {
			at := i*st + j
			var one [1]float32
			switch s.DType() {
			case metrics.Float64:
				v = append(v, s.F64[at])
				continue
			case metrics.Float32:
				one[0] = s.F32[at]
			case metrics.Float16:
				kernel.WidenF16(one[:], s.F16[at:at+1])
			case metrics.BFloat16:
				kernel.WidenBF16(one[:], s.BF16[at:at+1])
			}
			v = append(v, float64(one[0]))
		}
	}
	return v
}

// rows returns rows [lo, hi) of p as a view.
func rows(p *metrics.Predictions, lo, hi int) *metrics.Predictions {
	q := *p
	st := p.Stride
	if st == 0 {
		st = p.Classes
	}
	a, b := lo*st, (hi-1)*st+p.Classes
	if hi == lo {
		a, b = 0, 0
	}
	switch p.DType() {
	case metrics.Float64:
		q.F64 = p.F64[a:b]
	case metrics.Float32:
		q.F32 = p.F32[a:b]
	case metrics.Float16:
		q.F16 = p.F16[a:b]
	case metrics.BFloat16:
		q.BF16 = p.BF16[a:b]
	}
	q.Rows, q.Labels = hi-lo, p.Labels[lo:hi]
	if p.Weights != nil {
		q.Weights = p.Weights[lo:hi]
	}
	if p.Decisions != nil {
		q.Decisions = p.Decisions[lo:hi]
	}
	if p.ConfidenceScores != nil {
		q.ConfidenceScores = p.ConfidenceScores[lo:hi]
	}
	return &q
}

// permute returns the rows of p, packed, in the order given; an index may come more than once or never.
func permute(p *metrics.Predictions, order []int, pad int) *metrics.Predictions {
	v, k := widen(&p.Scores), p.Classes
	var w []float64
	q := &metrics.Predictions{Kind: p.Kind, Labels: []int32{}}
	for _, i := range order {
		w = append(w, v[i*k:(i+1)*k]...)
		q.Labels = append(q.Labels, p.Labels[i])
		if p.Weights != nil {
			q.Weights = append(q.Weights, p.Weights[i])
		}
		if p.Decisions != nil {
			q.Decisions = append(q.Decisions, p.Decisions[i])
		}
		if p.ConfidenceScores != nil {
			q.ConfidenceScores = append(q.ConfidenceScores, p.ConfidenceScores[i])
		}
	}
	q.Scores = narrow(w, k, p.DType(), pad)
	return q
}

// sizes is a Source of predictions in chunks of the given numbers of rows.
type sizes struct {
	p        *metrics.Predictions
	n        []int
	at       int
	recycled chan int
	err      error // what comes after the last chunk, io.EOF if nil
}

func (s *sizes) Next() (*metrics.Chunk, error) {
	if len(s.n) == 0 {
		if s.err != nil {
			return nil, s.err
		}
		return nil, io.EOF
	}
	n := s.n[0]
	s.n = s.n[1:]
	c := &metrics.Chunk{Predictions: *rows(s.p, s.at, s.at+n), First: int64(s.at)}
	if s.recycled != nil {
		at := s.at
		c.Recycle = func() { s.recycled <- at }
	}
	s.at += n
	return c, nil
}

// again is a Source that hands out the same predictions n times.
type again struct {
	p *metrics.Predictions
	n int
	i int
}

func (s *again) Next() (*metrics.Chunk, error) {
	if s.i == s.n {
		return nil, io.EOF
	}
	s.i++
	return &metrics.Chunk{Predictions: *s.p, First: int64(s.i-1) * int64(s.p.Rows)}, nil
}

// parts divides n at random; some parts are empty.
func parts(r *rand.Rand, n int) []int {
	var l []int
	for n > 0 {
		c := r.IntN(min(n, 900) + 1)
		if r.IntN(4) == 0 {
			c = min(n, r.IntN(4))
		}
		l = append(l, c)
		n -= c
	}
	return append(l, 0)
}

// optionSets are calibration errors of many kinds.
func optionSets(classes int) []calib.Options {
	l := []calib.Options{
		{},
		{Bins: 10, Side: kernel.RightClosed, One: calib.LastBinOnly},
		{Bins: 7, Event: calib.AllClasses, BlogEdges: true},
		{Bins: 20, Event: calib.AllClasses, Zero: calib.DropZero, One: calib.OverflowBin},
		{Bins: 12, Index: calib.EdgeDiv, Zero: calib.OwnBin, One: calib.OverflowBin, BlogEdges: true},
	}
	for _, s := range []string{"um", "tfp", "torchmetrics", "guo", "blog"} {
		o, err := calib.Like(s)
		if err != nil {
			panic(err)
		}
		l = append(l, o)
	}
	if classes <= 2 {
		for _, o := range l {
			if o.Event == calib.TopLabel {
				o.Event = calib.Positive
				l = append(l, o)
			}
		}
	}
	return l
}

// all returns accumulators of all kinds, empty.
func all(classes int) []metrics.Accumulator {
	l := []metrics.Accumulator{metrics.Must(score.NewLoss(nil)), metrics.Must(score.NewLoss(&score.Options{TopK: 12}))}
	for _, o := range optionSets(classes) {
		l = append(l, metrics.Must(calib.NewBins(&o)))
	}
	l = append(l, metrics.Must(cells.New(nil)), metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel})),
		binfree.NewEProcess(metrics.TopLabel))
	if classes <= 2 {
		l = append(l, metrics.Must(cells.New(&cells.Options{Event: metrics.Positive})), binfree.NewEProcess(metrics.Positive))
	}
	return l
}

// classwise returns accumulators of all the probabilities of the rows, empty.
func classwise(classes int) []metrics.Accumulator {
	return []metrics.Accumulator{metrics.Must(calib.NewClassBins(nil)), metrics.Must(calib.NewClassBins(&calib.ClassOptions{Bins: 4, Above: new(0.1)})),
		metrics.Must(calib.NewClassScores(nil)), metrics.Must(calib.NewClassScores(&calib.ClassScoresOptions{Above: new(0.0)})),
		metrics.Must(calib.NewClassScores(&calib.ClassScoresOptions{Above: new(0.2)})), metrics.Must(calib.NewClassScores(&calib.ClassScoresOptions{MaxBytes: 20000})),
		metrics.Must(calib.NewLabelScores(0)), metrics.Must(calib.NewLabelScores(20000)), rank.NewEntries(), metrics.Must(rank.NewRetention(&rank.RetentionOptions{ByScore: true})),
		score.NewMean(score.SphericalRule), score.NewMean(score.RankedRule), score.NewBaseRates(), score.NewDecomposition(), score.NewBalanced(), calib.NewChosen(), metrics.Must(score.NewDecisionCosts(costsOf(classes))),
		metrics.Must(score.NewClipped(score.NLLOptions{Clip: 1e-3})), metrics.Must(score.NewClipped(score.NLLOptions{Clip: 1e-3, Rescale: score.RescaleLast})),
		metrics.Must(score.NewTopHits(2, score.LastOfTies)), metrics.Must(score.NewTopHits(1, score.AllOfTies))}
}

// costsOf returns what decisions cost, one more than there are classes.
func costsOf(classes int) *score.CostMatrix {
	m := &score.CostMatrix{Classes: max(2, classes), Decisions: max(2, classes) + 1}
	for k := range m.Classes {
		for d := range m.Decisions {
			m.Cost = append(m.Cost, math.Abs(float64(k-d))+0.25*float64(d%3))
		}
	}
	return m
}

func state(t testing.TB, accs ...metrics.Accumulator) []byte {
	var b []byte
	for _, a := range accs {
		var err error
		if b, err = a.AppendBinary(b); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func auditState(a metrics.Audit) []byte {
	b, _ := a.AppendBinary(nil)
	return b
}

var brierForms = []score.BrierForm{score.BrierDefault, score.BrierSum, score.BrierMinusOne, score.BrierBinary, score.BrierPerClass}

// answers returns whatever can be asked.
func answers(accs ...metrics.Accumulator) []float64 {
	var v []float64
	ends := func(i metrics.Interval) { v = append(v, i.Low, i.High) }
	for _, a := range accs {
		v = append(v, float64(a.Len()))
		switch a := a.(type) {
		case *calib.Bins:
			mce, n := a.MCE()
			v = append(v, a.ECE(), a.RMSCE(), mce, float64(n), a.Floor())
			ends(a.Interval(0.95))
			for _, b := range a.Bins(0.9) {
				v = append(v, b.Lower, b.Upper, float64(b.Count), b.Weight, b.Confidence, b.Frequency)
				ends(b.Interval)
			}
		case *calib.ClassBins:
			most, class := a.Max()
			v = append(v, a.SCE(), a.RMS(), most, float64(class))
		case *calib.ClassScores:
			v = append(v, a.ACE(7), a.RMS(7), float64(a.Kept()), float64(a.Out()))
			if a.Classes() > 0 {
				for _, b := range a.Class(0, 3).Bins(0.9) {
					v = append(v, b.Lower, b.Upper, float64(b.Count), b.Weight, b.Confidence, b.Frequency)
				}
			}
		case *calib.LabelScores:
			o := rank.PairedAUROC(a)
			v = append(v, o.Macro(), o.Weighted(), float64(a.Bytes()), float64(a.Outside()))
		case *rank.Entries:
			area, bound := a.Ranking().AUROC()
			v = append(v, area, bound, float64(a.Outside()))
		case *rank.Retention:
			area, bound := a.Area(nil)
			auroc, _ := a.Ranking().AUROC()
			v = append(v, area, bound, auroc, float64(a.Outside()))
		case *score.TopHits:
			v = append(v, a.Value())
			ends(a.Interval(0.95))
		case *score.Mean:
			v = append(v, a.Value())
			ends(a.Interval(0.95))
		case *score.Clipped:
			v = append(v, a.Value(), float64(a.InfiniteRows()))
			ends(a.Interval(0.95))
		case *binfree.EProcess:
			v = append(v, a.Log(), a.Value())
		case *score.Balanced:
			v = append(v, a.Value())
			ends(a.Interval(0.95))
		case *score.DecisionCosts:
			least, d := a.Constant()
			v = append(v, a.Value(), least, float64(d), a.Share(0))
			ends(a.Interval(0.95))
		case *score.BaseRates:
			v = append(v, a.NLL(), a.Score(score.SphericalRule), a.Score(score.RankedRule), float64(a.Present()), a.Rate(1))
			for _, f := range brierForms {
				v = append(v, a.Brier(f))
			}
		case *score.Decomposition:
			for _, t := range []score.BrierTerms{a.Terms(score.BrierDefault), a.AsCoded(score.CodedUM), a.AsCoded(score.CodedTFP)} {
				v = append(v, t.Uncertainty, t.Resolution, t.Reliability, t.WithinBin)
			}
		case *score.Loss:
			v = append(v, a.Accuracy(), a.TopK(1), a.TopK(5), a.BaseRate(), a.Confidence(), a.Overconfidence(), a.NLL(),
				a.FiniteNLL(), float64(a.InfiniteRows()), a.Perplexity(), a.Entropy())
			ends(a.AccuracyInterval(0.95))
			ends(a.TopKInterval(3, 0.95))
			ends(a.BaseRateInterval(0.95))
			ends(a.ConfidenceInterval(0.95))
			ends(a.OverconfidenceInterval(0.95))
			ends(a.NLLInterval(0.95))
			ends(a.PerplexityInterval(0.95))
			ends(a.EntropyInterval(0.95))
			for _, f := range brierForms {
				v = append(v, a.Brier(f))
				ends(a.BrierInterval(f, 0.95))
			}
		}
	}
	return v
}

func sameBits(a, b []float64) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d answers and %d", len(a), len(b))
	}
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) && !(a[i] != a[i] && b[i] != b[i]) {
			return fmt.Errorf("answer %d: %v and %v", i, a[i], b[i])
		}
	}
	return nil
}

// feed runs a Pass over p and returns its accumulators.
func feed(t testing.TB, p *metrics.Predictions, o *metrics.Options, accs ...metrics.Accumulator) *metrics.Pass {
	t.Helper()
	pass := metrics.NewPass(o, accs...)
	if err := pass.Add(p); err != nil {
		t.Fatal(err)
	}
	return pass
}

func sameState(t testing.TB, what string, a, b []byte) {
	t.Helper()
	if !bytes.Equal(a, b) {
		t.Fatalf("%s: states differ", what)
	}
}

func near(got, want, tol float64) bool {
	return got == want || got != got && want != want || math.Abs(got-want) <= tol*math.Max(1, math.Abs(want))
}

// rowMetric returns a metric that has a value for each row of predictions.
func rowMetric(t *testing.T, name string, p *metrics.Predictions) metrics.RowMetric {
	t.Helper()
	m, err := score.ParseRowMetric(name, p.Kind, p.Classes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
