package metrics_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
	"github.com/google/go-cmp/cmp"
)

// even returns n rows of k even classes, all right.
func even(n, k int, kind metrics.Kind, t metrics.DType) *metrics.Predictions {
	v := make([]float64, n*k)
	for i := range v {
		v[i] = 1 / float64(max(2, k))
		switch kind {
		case metrics.LogProbs:
			v[i] = -math.Log(float64(max(2, k)))
		case metrics.Logits:
			v[i] = 1
		}
	}
	return &metrics.Predictions{Scores: narrow(v, k, t, 0), Kind: kind, Labels: make([]int32, n)}
}

func put(p *metrics.Predictions, row, column int, v float64) {
	one := narrow([]float64{v}, 1, p.DType(), 0)
	at := row*p.Classes + column
	switch p.DType() {
	case metrics.Float64:
		p.F64[at] = v
	case metrics.Float32:
		p.F32[at] = one.F32[0]
	case metrics.Float16:
		p.F16[at] = one.F16[0]
	case metrics.BFloat16:
		p.BF16[at] = one.BF16[0]
	}
}

// TestFaults holds what is said of bad rows, whatever the threads, blocks and types.
// TestFaults: each fault is found in arrays by one thread and in a source by several: in both by each number of threads if nothing is
// left out.
func TestFaults(t *testing.T) {
	const n = 70_000
	inf, nan := math.Inf(1), math.NaN()
	every := dtypes
	for _, c := range []struct {
		name   string
		kind   metrics.Kind
		k      int
		dtypes []metrics.DType
		spoil  func(p *metrics.Predictions, row int)
		want   metrics.Fault // but Count and Row
		says   []string
	}{
		{"NaN", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { put(p, i, 2, nan) },
			metrics.Fault{Reason: metrics.NotFinite, Column: 2, Value: nan}, []string{"column 2", "score is NaN", "Options.Drop"}},
		{"NaN logit", metrics.Logits, 4, every, func(p *metrics.Predictions, i int) { put(p, i, 0, nan) },
			metrics.Fault{Reason: metrics.NotFinite, Column: 0, Value: nan}, []string{"column 0", "score is NaN"}},
		{"+Inf logit", metrics.Logits, 4, every, func(p *metrics.Predictions, i int) { put(p, i, 3, inf) },
			metrics.Fault{Reason: metrics.NotFinite, Column: 3, Value: inf}, []string{"score is +Inf"}},
		{"-Inf probability", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { put(p, i, 1, -inf) },
			metrics.Fault{Reason: metrics.NotFinite, Column: 1, Value: -inf}, []string{"score is -Inf"}},
		{"-Inf logits", metrics.Logits, 3, every, func(p *metrics.Predictions, i int) { put(p, i, 0, -inf); put(p, i, 1, -inf); put(p, i, 2, -inf) },
			metrics.Fault{Reason: metrics.NotFinite, Column: -1, Value: -inf}, []string{"every logit is -Inf"}},
		{"binary NaN", metrics.Logits, 1, every, func(p *metrics.Predictions, i int) { put(p, i, 0, nan) },
			metrics.Fault{Reason: metrics.NotFinite, Column: 0, Value: nan}, []string{"score is NaN"}},
		{"binary log-probability", metrics.LogProbs, 1, every, func(p *metrics.Predictions, i int) { put(p, i, 0, 1024) },
			metrics.Fault{Reason: metrics.OutsideUnit, Column: 0, Value: inf}, []string{"probability is +Inf, outside [0, 1]", "Kind metrics.Logits"}},
		{"above 1", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { put(p, i, 1, 3.5) },
			metrics.Fault{Reason: metrics.OutsideUnit, Column: 1, Value: 3.5}, []string{"column 1", "probability is 3.5, outside [0, 1]", "logits? pass Kind metrics.Logits"}},
		{"a little above 1", metrics.Probs, 1, dtypes[:1], func(p *metrics.Predictions, i int) { put(p, i, 0, 1+0x1p-40) },
			metrics.Fault{Reason: metrics.OutsideUnit, Column: 0, Value: 1 + 0x1p-40}, []string{"1.0000000000009", "rounding"}},
		{"below 0", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { put(p, i, 3, -0.25) },
			metrics.Fault{Reason: metrics.OutsideUnit, Column: 3, Value: -0.25}, []string{"probability is -0.25"}},
		{"a little below 0", metrics.Probs, 1, every, func(p *metrics.Predictions, i int) { put(p, i, 0, -0x1p-14) },
			metrics.Fault{Reason: metrics.OutsideUnit, Column: 0, Value: -0x1p-14}, []string{"-6.103516e-05", "clip the probabilities"}},
		{"percentages", metrics.Probs, 1, every, func(p *metrics.Predictions, i int) { put(p, i, 0, 97) },
			metrics.Fault{Reason: metrics.OutsideUnit, Column: 0, Value: 97}, []string{"percentages? pass Percent of package predictions"}},
		{"percentages of classes", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { put(p, i, 2, 97) },
			metrics.Fault{Reason: metrics.OutsideUnit, Column: 2, Value: 97}, []string{"logits? pass Kind metrics.Logits; percentages? pass Percent of package predictions"}},
		{"sum", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { put(p, i, 0, 0.5) },
			metrics.Fault{Reason: metrics.BadSum, Column: -1, Value: 1.25}, []string{"probabilities sum to 1.25, not 1", "Options.Renormalize"}},
		{"sum by 0.03", metrics.Probs, 2, every, func(p *metrics.Predictions, i int) { put(p, i, 0, 0.53125) },
			metrics.Fault{Reason: metrics.BadSum, Column: -1, Value: 1.03125}, []string{"probabilities sum to 1.03125, not 1"}},
		{"label of 4", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { p.Labels[i] = 4 },
			metrics.Fault{Reason: metrics.BadLabel, Column: -1, Value: 4}, []string{"label is 4, not one of the 4 classes 0 to 3", "subtract 1"}},
		{"label of 2", metrics.Probs, 1, every, func(p *metrics.Predictions, i int) { p.Labels[i] = 2 },
			metrics.Fault{Reason: metrics.BadLabel, Column: -1, Value: 2}, []string{"label is 2, not one of the 2 classes 0 to 1", "subtract 1"}},
		{"label of -1", metrics.Logits, 4, every, func(p *metrics.Predictions, i int) { p.Labels[i] = -1 },
			metrics.Fault{Reason: metrics.BadLabel, Column: -1, Value: -1}, []string{"label is -1", "ignored"}},
		{"large label", metrics.Logits, 4, every, func(p *metrics.Predictions, i int) { p.Labels[i] = math.MinInt32 + 1 },
			metrics.Fault{Reason: metrics.BadLabel, Column: -1, Value: math.MinInt32 + 1}, []string{"label is -2147483647"}},
		{"larger label", metrics.Logits, 4, every, func(p *metrics.Predictions, i int) { p.Labels[i] = 123456789 },
			metrics.Fault{Reason: metrics.BadLabel, Column: -1, Value: 123456789}, []string{"label is 123456789", "belong together"}},
		{"weight", metrics.Logits, 4, every, func(p *metrics.Predictions, i int) { p.Weights[i] = -2 },
			metrics.Fault{Reason: metrics.BadWeight, Column: -1, Value: -2}, []string{"weight is -2", "2^-32 and 2^32", "scale"}},
		{"decision of 4", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { p.Decisions[i] = 4 },
			metrics.Fault{Reason: metrics.BadDecision, Column: -1, Value: 4}, []string{"decision is 4, not one of the 4 classes 0 to 3", "subtract 1"}},
		{"binary decision of 2", metrics.Logits, 1, every, func(p *metrics.Predictions, i int) { p.Decisions[i] = 2 },
			metrics.Fault{Reason: metrics.BadDecision, Column: -1, Value: 2}, []string{"decision is 2, not one of the 2 classes 0 to 1", "subtract 1"}},
		{"decision of -1", metrics.LogProbs, 4, every, func(p *metrics.Predictions, i int) { p.Decisions[i] = -1 },
			metrics.Fault{Reason: metrics.BadDecision, Column: -1, Value: -1}, []string{"decision is -1", "rows without a decision", "weight 0"}},
		{"larger decision", metrics.Logits, 4, every, func(p *metrics.Predictions, i int) { p.Decisions[i] = 123456789 },
			metrics.Fault{Reason: metrics.BadDecision, Column: -1, Value: 123456789}, []string{"decision is 123456789", "belong together"}},
		{"confidence score NaN", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { p.ConfidenceScores[i] = nan },
			metrics.Fault{Reason: metrics.BadConfidence, Column: -1, Value: nan}, []string{"confidence score is NaN", "must be finite"}},
		{"confidence score -Inf", metrics.Probs, 1, every, func(p *metrics.Predictions, i int) { p.ConfidenceScores[i] = -inf },
			metrics.Fault{Reason: metrics.BadConfidence, Column: -1, Value: -inf}, []string{"confidence score is -Inf", "Options.Drop"}},
		{"label before decision", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { p.Decisions[i], p.Labels[i] = -1, -5 },
			metrics.Fault{Reason: metrics.BadLabel, Column: -1, Value: -5}, []string{"label is -5"}},
		{"first of several", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { put(p, i, 1, nan); put(p, i, 0, 7); p.Labels[i] = -5 },
			metrics.Fault{Reason: metrics.BadLabel, Column: -1, Value: -5}, []string{"label is -5"}},
		{"not finite before outside", metrics.Probs, 4, every, func(p *metrics.Predictions, i int) { put(p, i, 3, nan); put(p, i, 0, 7) },
			metrics.Fault{Reason: metrics.NotFinite, Column: 3, Value: nan}, []string{"score is NaN"}},
	} {
		for i, d := range c.dtypes {
			if !check.Full() && i != len(c.name)%len(c.dtypes) && (testing.Short() || i != (len(c.name)+1)%len(c.dtypes)) {
				continue
			}
			p := even(n, c.k, c.kind, d)
			if c.want.Reason == metrics.BadWeight {
				p.Weights = make([]float64, n)
				for i := range p.Weights {
					p.Weights[i] = 1
				}
			}
			if strings.Contains(c.name, "decision") {
				p.Decisions = make([]int32, n)
			}
			if strings.Contains(c.name, "confidence") {
				p.ConfidenceScores = make([]float64, n)
			}
			bad := []int{1234, 1235, 40_000, 69_999}
			for _, i := range bad {
				c.spoil(p, i)
			}
			c.want.Count, c.want.Row = int64(len(bad)), 1234
			text := ""
			for threads := 1; threads <= 4; threads++ {
				for _, source := range []bool{false, true} {
					if !check.Full() && (source && threads != 2+(i+len(c.name))%3 || !source && threads > 1) {
						continue
					}
					accs := all(c.k)
					before := state(t, accs...)
					pass := metrics.NewPass(&metrics.Options{Threads: threads}, accs...)
					var err error
					if source {
						err = pass.AddSource(&sizes{p: p, n: parts(rand.New(rand.NewPCG(1, uint64(threads))), n)})
					} else {
						err = pass.Add(p)
					}
					var got *metrics.DataError
					if !errors.As(err, &got) {
						t.Fatalf("%s, %v: %v", c.name, d, err)
					}
					want := &metrics.DataError{Rows: n, Kind: c.kind, Classes: c.k, Faults: []metrics.Fault{c.want}}
					same := cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })
					if diff := cmp.Diff(want, got, same); diff != "" {
						t.Fatalf("%s, %v, %d threads: %s", c.name, d, threads, diff)
					}
					sameState(t, c.name, state(t, accs...), before)
					if pass.Audit() != (metrics.Audit{}) {
						t.Errorf("%s: %+v", c.name, pass.Audit())
					}
					if text == "" {
						text = err.Error()
					}
					if err.Error() != text {
						t.Errorf("%s, %v: %q and %q", c.name, d, text, err)
					}
				}
			}
			for _, s := range append(c.says, "row 1234", "(4 of 70,000 rows like it)") {
				if !strings.Contains(text, s) {
					t.Errorf("%s, %v: no %q in %q", c.name, d, s, text)
				}
			}
		}
	}
}

// TestFaultsTogether has every reason in one set.
func TestFaultsTogether(t *testing.T) {
	p := even(3000, 4, metrics.Probs, metrics.Float32)
	p.Weights = make([]float64, p.Rows)
	for i := range p.Weights {
		p.Weights[i] = 1
	}
	p.Labels[2500], p.Labels[2501] = 9, 4
	p.Weights[7] = math.NaN()
	put(p, 2000, 1, math.Inf(1))
	put(p, 3, 0, -1)
	put(p, 2999, 0, 0)
	err := metrics.NewPass(nil, metrics.Must(score.NewLoss(nil))).Add(p)
	want := "row 3, column 0: probability is -1, outside [0, 1]: logits? pass Kind metrics.Logits; " +
		"row 7: weight is NaN; it must be 0, or lie between 2^-32 and 2^32: scale the weights; " +
		"row 2000, column 1: score is +Inf: look for a division by 0 or an overflow in the code that computed the scores; Options.Drop leaves such rows out; " +
		"row 2500: label is 9, not one of the 4 classes 0 to 3 (2 of 3,000 rows like it): do labels and predictions belong together?; " +
		"row 2999: probabilities sum to 0.75, not 1: logits? pass Kind metrics.Logits; unnormalised? pass Options.Renormalize; independent labels are not one distribution"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%v", err, want)
	}
}

// TestRows numbers rows by a chunk's First.
func TestRows(t *testing.T) {
	p := even(10, 3, metrics.LogProbs, metrics.Float64)
	put(p, 4, 1, 2)
	err := metrics.NewPass(&metrics.Options{Threads: 3}, metrics.Must(score.NewLoss(nil))).AddSource(&late{p: p})
	want := "row 5000000004: the exponentials sum to 8.055723, not 1: logits? pass Kind metrics.Logits"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %v", err, want)
	}
}

// late is a Source of one chunk that begins at row 5e9.
type late struct{ p *metrics.Predictions }

func (s *late) Next() (*metrics.Chunk, error) {
	if s.p == nil {
		return nil, io.EOF
	}
	c := &metrics.Chunk{Predictions: *s.p, First: 5e9}
	s.p = nil
	return c, nil
}

func TestDrop(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
		for _, k := range []int{1, 2, 10} {
			for _, weighted := range []bool{false, true} {
				for _, d := range dtypes {
					p := generate(r, settings{dtype: d, kind: kind, k: k, n: check.Size(400, 900, 4000), weighted: weighted, bad: true, decided: !weighted, scored: k == 2})
					dst := make([]float64, p.Rows)
					if err := rowMetric(t, "accuracy", p).Rows(dst, p, &metrics.Options{Drop: true}); err != nil {
						t.Fatal(err)
					}
					var keep []int
					dropped, absent := int64(0), int64(0)
					for i, x := range dst {
						switch {
						case x == x:
							keep = append(keep, i)
						case metrics.NewPass(nil, metrics.Must(score.NewLoss(nil))).Add(rows(p, i, i+1)) == nil:
							absent++
						default:
							dropped++
						}
					}
					if dropped == 0 || len(keep) == 0 {
						t.Fatal("a test without bad or without good rows")
					}
					accs, clean := all(k), all(k)
					a := feed(t, p, &metrics.Options{Drop: true, Threads: 1 + r.IntN(3)}, accs...).Audit()
					b := feed(t, permute(p, keep, 0), nil, clean...).Audit()
					sameState(t, "the clean rows alone", state(t, accs...), state(t, clean...))
					if a.Dropped != dropped || a.Absent != absent || a.Rows != int64(len(keep)) {
						t.Errorf("%+v; %d dropped, %d absent, %d kept", a, dropped, absent, len(keep))
					}
					a.Dropped, a.Absent = 0, 0
					if a != b {
						t.Errorf("%+v and %+v of the clean rows", a, b)
					}
				}
			}
		}
	}
	// Nothing but bad rows.
	p := even(5, 3, metrics.Probs, metrics.Float64)
	for i := range p.Labels {
		p.Labels[i] = 3
	}
	l := metrics.Must(score.NewLoss(nil))
	if a := feed(t, p, &metrics.Options{Drop: true}, l).Audit(); a.Dropped != 5 || a.Rows != 0 || a.Classes != 3 {
		t.Errorf("%+v", a)
	}
	if x := l.NLL(); x == x {
		t.Error(x)
	}
}

// TestSums holds what becomes of sums off 1, by type: noted beyond rounding, refused beyond 0.02, whatever else is in
// the block.
func TestSums(t *testing.T) {
	for _, c := range []struct {
		dtype metrics.DType
		k     int
		add   float64 // to one entry of the row
		off   bool
		bad   bool
	}{
		{metrics.Float64, 4, 0, false, false},
		{metrics.Float64, 4, 0x1p-50, false, false},
		{metrics.Float64, 4, 0x1p-20, false, false},
		{metrics.Float64, 4, 0x1p-19, true, false},
		{metrics.Float64, 4, 0x1p-6, true, false},
		{metrics.Float64, 4, -0x1p-6, true, false},
		{metrics.Float64, 4, 0x1p-5, true, true},
		{metrics.Float32, 4, 0x1p-21, false, false},
		{metrics.Float32, 4, 0x1p-18, true, false},
		{metrics.Float32, 4, 0x1p-5, true, true},
		{metrics.Float16, 2, 0x1p-8, false, false},
		{metrics.Float16, 2, 0x1p-6, true, false},
		{metrics.Float16, 16, 0x1p-6, false, false},
		{metrics.Float16, 16, 0x1p-5, true, true},
		{metrics.BFloat16, 16, 0x1p-6, false, false},
		{metrics.BFloat16, 16, 0x1p-5, true, true},
		{metrics.BFloat16, 16, 0.25, true, true},
	} {
		for _, other := range []string{"", "weights", "bad rows"} {
			p := even(8, c.k, metrics.Probs, c.dtype)
			put(p, 5, 1, 1/float64(c.k)+c.add)
			switch other {
			case "weights":
				p.Weights = []float64{1, 1, 1, 1, 1, 1, 1, 0}
				put(p, 7, 0, 1/float64(c.k)+0x1p-6) // the sum of an absent row does not matter
			case "bad rows":
				p.Labels[0] = -1
				put(p, 0, 0, 1/float64(c.k)+0x1p-6)
				put(p, 1, 0, -0x1p-7)
			}
			a := feed(t, p, &metrics.Options{Drop: true}, metrics.Must(score.NewLoss(nil))).Audit()
			dropped, noted := int64(0), int64(0)
			if c.bad {
				dropped = 1
			} else if c.off {
				noted = 1
			}
			if other == "bad rows" {
				dropped += 2
			}
			if a.Dropped != dropped || a.SumsOff != noted {
				t.Errorf("%v, %d classes, +%v, %q: %+v", c.dtype, c.k, c.add, other, a)
			}
			if sum := widenSum(p, 5); noted == 1 && (a.SumMin != sum || a.SumMax != sum) {
				t.Errorf("%v, %d classes, +%v: sums %v and %v, want %v", c.dtype, c.k, c.add, a.SumMin, a.SumMax, sum)
			}
		}
	}
}

func widenSum(p *metrics.Predictions, row int) (s float64) {
	v := widen(&p.Scores)
	for _, x := range v[row*p.Classes : (row+1)*p.Classes] {
		s += x
	}
	return s
}

func TestRenormalize(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, d := range []metrics.DType{metrics.Float64, metrics.Float32, metrics.BFloat16, metrics.Float16} {
		for _, k := range []int{2, 3, 10, 40} {
			for i, scale := range []float64{1, 3, 1e-3, 1000, 1e-30, 1e30, 1e-200, 1e200} {
				if (i+k+int(d))%check.Size(2, 1, 1) != 0 {
					continue
				}
				if s := math.Abs(math.Log10(scale)); d == metrics.Float16 && s > 3 || d != metrics.Float64 && s > 30 {
					continue
				}
				n := 1300
				v := probabilities(r, n, k)
				for i := range n {
					f := scale * math.Exp(r.NormFloat64())
					for j := range k {
						v[i*k+j] *= f
					}
				}
				p := &metrics.Predictions{Scores: narrow(v, k, d, 0), Labels: make([]int32, n)}
				v = widen(&p.Scores)
				q := &metrics.Predictions{Labels: p.Labels}
				for i := range n {
					p.Labels[i] = int32(r.IntN(k))
					row, s := v[i*k:(i+1)*k], 0.0
					for _, x := range row {
						s += x
					}
					for j := range row {
						row[j] /= s
					}
				}
				q.Scores = narrow(v, k, metrics.Float64, 0)
				// One class short of the top: its score takes no part in ties that rounding makes.
				set := func() []metrics.Accumulator {
					return []metrics.Accumulator{metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(&calib.Options{Bins: 1})), metrics.Must(calib.NewBins(&calib.Options{Bins: 1, Event: calib.AllClasses}))}
				}
				a, b := set(), set()
				audit := feed(t, p, &metrics.Options{Renormalize: true}, a...).Audit()
				feed(t, q, nil, b...)
				if scale != 1 && audit.SumsOff < int64(n)*9/10 || !audit.Renormalized || len(audit.Warnings()) != 1 || !strings.HasSuffix(audit.Warnings()[0], "each was divided by its sum") {
					t.Errorf("%+v %v", audit, audit.Warnings())
				}
				tol := 1e-12
				if d != metrics.Float64 {
					tol = 2e-5
				}
				l, m := a[0].(*score.Loss), b[0].(*score.Loss)
				for _, c := range [][2]float64{{l.FiniteNLL(), m.FiniteNLL()}, {l.Brier(0), m.Brier(0)}, {l.Entropy(), m.Entropy()},
					{l.Confidence(), m.Confidence()}, {float64(l.InfiniteRows()), float64(m.InfiniteRows())}, {l.Accuracy(), m.Accuracy()},
					{a[1].(*calib.Bins).ECE(), b[1].(*calib.Bins).ECE()}, {a[2].(*calib.Bins).ECE(), b[2].(*calib.Bins).ECE()}} {
					if !near(c[0], c[1], tol) {
						t.Errorf("%v, %d classes, x %v: %v, by hand %v", d, k, scale, answers(a...)[:10], answers(b...)[:10])
						break
					}
				}
			}
		}
	}
	// What has no positive sum cannot be divided by it, unchecked or not.
	for _, row := range [][]float64{{0, 0}, {1e308, 1e308}} {
		for _, o := range []metrics.Options{{Renormalize: true}, {Renormalize: true, Unchecked: true}} {
			p := &metrics.Predictions{Scores: narrow(append([]float64{0.5, 0.5}, row...), 2, metrics.Float64, 0), Labels: []int32{0, 1}}
			if err := metrics.NewPass(&o, all(2)...).Add(p); err == nil || !strings.HasPrefix(err.Error(), "row 1") {
				t.Errorf("%v: %v", row, err)
			}
		}
	}
	p := &metrics.Predictions{Scores: narrow([]float64{1, 3, -1, 5}, 2, metrics.Float64, 0), Labels: []int32{1, 1}}
	if err := metrics.NewPass(&metrics.Options{Renormalize: true}, all(2)...).Add(p); err == nil || !strings.HasPrefix(err.Error(), "row 1, column 0: probability is -1") {
		t.Error(err)
	}
}

func TestUnchecked(t *testing.T) {
	p := &metrics.Predictions{Scores: narrow([]float64{0.5, 0.1, 2, -0.5, 0, 0}, 2, metrics.Float64, 0), Labels: []int32{0, 0, 1}}
	if err := metrics.NewPass(nil, metrics.Must(score.NewLoss(nil))).Add(p); err == nil {
		t.Error("no error")
	}
	l := metrics.Must(score.NewLoss(nil))
	a := feed(t, p, &metrics.Options{Unchecked: true}, l).Audit()
	if l.Len() != 3 || !a.Unchecked || a.SumsOff != 3 || a.SumMin != 0 || a.SumMax != 1.5 {
		t.Errorf("%+v", a)
	}
	if !near(l.Confidence(), 2.5/3, 1e-15) || !near(l.Accuracy(), 2.0/3, 1e-15) || l.InfiniteRows() != 1 {
		t.Error(l.Confidence(), l.Accuracy(), l.InfiniteRows())
	}
	if want := ((0.25 + 0.01) + (1 + 0.25) + 1) / 3; !near(l.Brier(0), want, 1e-15) {
		t.Error(l.Brier(0), want)
	}
	put(p, 1, 0, math.NaN())
	if err := metrics.NewPass(&metrics.Options{Unchecked: true}, metrics.Must(score.NewLoss(nil))).Add(p); err == nil {
		t.Error("NaN is admitted")
	}
}

func TestShapes(t *testing.T) {
	good := func() *metrics.Predictions { return even(3, 4, metrics.Probs, metrics.Float64) }
	for _, c := range []struct {
		name, want string
		spoil      func(p *metrics.Predictions)
	}{
		{"no scores", "metrics: exactly one slice of scores has to be set", func(p *metrics.Predictions) { p.F64 = nil }},
		{"two scores", "metrics: exactly one slice of scores has to be set", func(p *metrics.Predictions) { p.F32 = []float32{1} }},
		{"short", "metrics: rows, classes and stride do not fit the scores", func(p *metrics.Predictions) { p.F64 = p.F64[:11] }},
		{"more rows", "metrics: rows, classes and stride do not fit the scores", func(p *metrics.Predictions) { p.Rows = 4 }},
		{"rows below 0", "metrics: rows, classes and stride do not fit the scores", func(p *metrics.Predictions) { p.Rows = -1 }},
		{"no classes", "metrics: rows, classes and stride do not fit the scores", func(p *metrics.Predictions) { p.Classes = 0 }},
		{"short stride", "metrics: rows, classes and stride do not fit the scores", func(p *metrics.Predictions) { p.Stride = 3 }},
		{"long stride", "metrics: rows, classes and stride do not fit the scores", func(p *metrics.Predictions) { p.Stride = 5 }},
	} {
		for _, source := range []bool{false, true} {
			p := good()
			c.spoil(p)
			accs := all(4)
			before := state(t, accs...)
			got := caught(func() {
				pass := metrics.NewPass(&metrics.Options{Threads: 2}, accs...)
				if source {
					_ = pass.AddSource(&again{p: p, n: 2})
				} else {
					_ = pass.Add(p)
				}
			})
			if got != c.want {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
			sameState(t, c.name, state(t, accs...), before)
		}
	}
	for _, c := range []struct {
		want  metrics.LengthError
		spoil func(p *metrics.Predictions)
	}{
		{metrics.LengthError{Column: "labels", Len: 2, Rows: 3}, func(p *metrics.Predictions) { p.Labels = p.Labels[:2] }},
		{metrics.LengthError{Column: "labels", Len: 4, Rows: 3}, func(p *metrics.Predictions) { p.Labels = make([]int32, 4) }},
		{metrics.LengthError{Column: "weights", Len: 2, Rows: 3}, func(p *metrics.Predictions) { p.Weights = []float64{1, 1} }},
		{metrics.LengthError{Column: "decisions", Len: 2, Rows: 3}, func(p *metrics.Predictions) { p.Decisions = []int32{0, 1} }},
		{metrics.LengthError{Column: "confidence scores", Rows: 3}, func(p *metrics.Predictions) { p.ConfidenceScores = []float64{} }},
		{metrics.LengthError{Column: "weights", Rows: 3}, func(p *metrics.Predictions) { p.Weights = []float64{} }},
		{metrics.LengthError{Column: "observations", Rows: 3}, func(p *metrics.Predictions) { p.Kind, p.Labels = metrics.Samples, nil }},
	} {
		for _, source := range []bool{false, true} {
			p := good()
			c.spoil(p)
			accs := all(4)
			before := state(t, accs...)
			pass := metrics.NewPass(&metrics.Options{Threads: 2}, accs...)
			err := pass.Add(p)
			if source {
				err = pass.AddSource(&again{p: p, n: 2})
			}
			var got *metrics.LengthError
			if !errors.As(err, &got) || *got != c.want {
				t.Errorf("%v, want %v", err, &c.want)
			}
			sameState(t, c.want.Column, state(t, accs...), before)
		}
	}
	// Chunks that are unlike: whatever the threads, and although each alone would do.
	for _, spoil := range []func(p *metrics.Predictions){
		func(p *metrics.Predictions) { *p = *even(3, 5, metrics.Probs, metrics.Float64) },
		func(p *metrics.Predictions) { *p = *even(3, 4, metrics.Probs, metrics.Float32) },
		func(p *metrics.Predictions) { *p = *even(3, 4, metrics.LogProbs, metrics.Float64) },
		func(p *metrics.Predictions) { p.Weights = []float64{1, 1, 1} },
	} {
		for threads := 1; threads <= 4; threads++ {
			p, q := good(), good()
			spoil(q)
			got := caught(func() {
				_ = metrics.NewPass(&metrics.Options{Threads: threads}, metrics.Must(score.NewLoss(nil))).AddSource(&several{l: []*metrics.Predictions{p, p, q, p}})
			})
			if got != "metrics: the chunks of a source differ in shape or kind" {
				t.Error(got)
			}
			pass := metrics.NewPass(nil, metrics.Must(score.NewLoss(nil)))
			if err := pass.Add(p); err != nil {
				t.Fatal(err)
			}
			if err := pass.Add(q); !errors.Is(err, metrics.ErrMismatch) {
				t.Error(err)
			}
			if pass.Audit().Rows != 3 {
				t.Errorf("%+v", pass.Audit())
			}
		}
	}
}

// several is a Source of predictions of any kind.
type several struct{ l []*metrics.Predictions }

func (s *several) Next() (*metrics.Chunk, error) {
	if len(s.l) == 0 {
		return nil, io.EOF
	}
	c := &metrics.Chunk{Predictions: *s.l[0]}
	s.l = s.l[1:]
	return c, nil
}

func caught(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestSourceError(t *testing.T) {
	p := even(5000, 4, metrics.Probs, metrics.Float32)
	for threads := 1; threads <= 4; threads++ {
		for _, want := range []error{errors.New("the disk is gone"), fmt.Errorf("the last block: %w", io.EOF), io.ErrUnexpectedEOF} {
			accs := all(4)
			before := state(t, accs...)
			pass := metrics.NewPass(&metrics.Options{Threads: threads}, accs...)
			src := &sizes{p: p, n: []int{2000, 100, 2000}, err: want, recycled: make(chan int, 3)}
			if err := pass.AddSource(src); err != want {
				t.Errorf("%v, want %v", err, want)
			}
			sameState(t, "after an error of the source", state(t, accs...), before)
			if pass.Audit() != (metrics.Audit{}) || len(src.recycled) != 3 {
				t.Errorf("%+v, %d recycled", pass.Audit(), len(src.recycled))
			}
			if err := pass.Add(p); err != nil { // it can go on
				t.Error(err)
			}
		}
	}
}

// bomb is an accumulator that panics at the nth block.
type bomb struct {
	*score.Loss
	n *int
}

func (b bomb) Empty() metrics.Accumulator { return bomb{metrics.Must(score.NewLoss(nil)), b.n} }
func (b bomb) AddBlock(k *metrics.Block) {
	if k.Number(0) >= int64(*b.n) {
		panic("boom")
	}
	b.Loss.AddBlock(k)
}

func TestPanics(t *testing.T) {
	p := even(5000, 4, metrics.Probs, metrics.Float32)
	for threads := 1; threads <= 4; threads++ {
		at := 2000
		l := metrics.Must(score.NewLoss(nil))
		before := state(t, l)
		pass := metrics.NewPass(&metrics.Options{Threads: threads}, l, bomb{metrics.Must(score.NewLoss(nil)), &at})
		src := &sizes{p: p, n: []int{1000, 1000, 1000, 1000, 1000}, recycled: make(chan int, 5)}
		if got := caught(func() { _ = pass.AddSource(src) }); got != "boom" {
			t.Errorf("%v", got)
		}
		if len(src.recycled) != 5-len(src.n) {
			t.Errorf("%d chunks were recycled, %d were not read", len(src.recycled), len(src.n))
		}
		if got := caught(func() { _ = pass.Add(p) }); got != "boom" {
			t.Errorf("%v", got)
		}
		if got := caught(func() { _ = pass.AddSource(broken{}) }); got != "broken" {
			t.Errorf("%v", got)
		}
		recycle := &metrics.Chunk{Predictions: *p, Recycle: func() { panic("recycle") }}
		if got := caught(func() { _ = pass.AddSource(&chunks{recycle}) }); got != "boom" && got != "recycle" {
			t.Errorf("%v", got)
		}
		sameState(t, "after a panic", state(t, l), before)
	}
	b := metrics.Must(calib.NewBins(&calib.Options{Event: calib.Positive}))
	if got := caught(func() { _ = metrics.NewPass(nil, b).AddSource(&again{p: p, n: 1}) }); got != "calib: there is no positive class among more than two" {
		t.Error(got)
	}
}

type broken struct{}

func (broken) Next() (*metrics.Chunk, error) { panic("broken") }

type chunks []*metrics.Chunk

func (s *chunks) Next() (*metrics.Chunk, error) {
	if len(*s) == 0 {
		return nil, io.EOF
	}
	c := (*s)[0]
	*s = (*s)[1:]
	return c, nil
}

// TestAllOrNothing has an accumulator that has seen other predictions before it came to the Pass.
func TestAllOrNothing(t *testing.T) {
	p := even(10, 4, metrics.Probs, metrics.Float32)
	for i := range 3 {
		accs := []metrics.Accumulator{metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(nil)), metrics.Must(calib.NewBins(&calib.Options{Bins: 3}))}
		feed(t, even(7, 3, metrics.Probs, metrics.Float32), nil, accs[i])
		before := state(t, accs...)
		pass := metrics.NewPass(nil, accs...)
		if err := pass.Add(p); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), "of 3 classes and of 4") {
			t.Error(err)
		}
		sameState(t, "after a refused merge", state(t, accs...), before)
		if pass.Audit() != (metrics.Audit{}) {
			t.Errorf("%+v", pass.Audit())
		}
	}
}

func TestWarnings(t *testing.T) {
	p := even(8, 4, metrics.Probs, metrics.Float32)
	p.Weights = []float64{1, 1, 1, 1, 1, 1, 1, 0}
	put(p, 2, 0, 0.2578125)
	put(p, 3, 0, 0.2421875)
	p.Labels[5] = 11
	a := feed(t, p, &metrics.Options{Drop: true}, metrics.Must(score.NewLoss(nil))).Audit()
	want := []string{
		"2 rows have probabilities whose sums are not 1: off by -0.0078 to +0.0078; they are taken as they are (Options.Renormalize divides each row by its sum)",
		"1 bad row was left out",
		"1 row of weight 0 is absent",
	}
	if diff := cmp.Diff(want, a.Warnings()); diff != "" {
		t.Error(diff)
	}
	a = metrics.Audit{Classes: 3, Kind: metrics.LogProbs, SumsOff: 1234567, SumMin: 0.99, SumMax: 1.01}
	if w := a.Warnings(); len(w) != 1 || w[0] != "1,234,567 rows have probabilities whose sums are not 1: off by -0.01 to +0.01; each was divided by its sum" {
		t.Error(w)
	}
	a = metrics.Audit{Rows: 3, Classes: 2, Decided: true, Scored: true}
	if w := a.Warnings(); len(w) != 2 || !strings.Contains(w[0], "the caller's decisions") || !strings.Contains(w[1], "binned by the caller's scores") {
		t.Error(w)
	}
	if w := (&metrics.Audit{Rows: 3, Classes: 2}).Warnings(); w != nil {
		t.Error(w)
	}
}

// TestStrictRemedies: a caller without Options is told of none.
func TestStrictRemedies(t *testing.T) {
	for r := range metrics.Reason(metrics.BadSum + 1) {
		for _, v := range []float64{-5, 1.00001, 97, math.NaN()} {
			f := metrics.Fault{Reason: r, Value: v}
			e := metrics.DataError{Rows: 9, Classes: 3, Faults: []metrics.Fault{f}, Strict: true}
			if said := e.Error(); strings.Contains(said, "Options.") || !strings.HasSuffix(said, e.Remedy(f)) || e.Remedy(f) == "" {
				t.Error(said)
			}
		}
	}
}

// TestRemedyOfRounding: dividing a row by its sum mends what is above 1, and not what is below 0.
func TestRemedyOfRounding(t *testing.T) {
	for _, c := range []struct {
		classes int
		value   float64
		divides bool
	}{{3, 1.00001, true}, {3, -1e-5, false}, {1, 1.00001, false}, {1, -1e-5, false}} {
		e := &metrics.DataError{Rows: 1, Kind: metrics.Probs, Classes: c.classes}
		said := e.Remedy(metrics.Fault{Reason: metrics.OutsideUnit, Value: c.value})
		if !strings.Contains(said, "clip the probabilities to [0, 1]") || strings.Contains(said, "Options.Renormalize") != c.divides {
			t.Errorf("%v of %d classes: %q", c.value, c.classes, said)
		}
	}
}
