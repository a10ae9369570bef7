package rank_test

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// softmax returns rows of three classes, mostly with the label of the largest probability.
func softmax(seed uint64, n int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 6))
	p := &metrics.Predictions{Labels: make([]int32, n), Kind: metrics.Logits}
	p.Rows, p.Classes, p.F64 = n, 3, make([]float64, 3*n)
	for i := range n {
		for j := range 3 {
			p.F64[3*i+j] = 2 * r.NormFloat64()
		}
		p.Labels[i] = int32(r.IntN(3))
		if r.Float64() < 0.6 {
			row := p.F64[3*i : 3*i+3]
			p.Labels[i] = int32(slices.Index(row, slices.Max(row)))
		}
	}
	return p
}

func part(p *metrics.Predictions, from, to int) *metrics.Predictions {
	q := *p
	q.Rows, q.Labels, q.F64 = to-from, p.Labels[from:to], p.F64[from*p.Classes:to*p.Classes]
	if p.Weights != nil {
		q.Weights = p.Weights[from:to]
	}
	return &q
}

func add(t *testing.T, p *metrics.Predictions, accs ...metrics.Accumulator) {
	t.Helper()
	if err := metrics.NewPass(&metrics.Options{Threads: 1}, accs...).Add(p); err != nil {
		t.Fatal(err)
	}
}

func state(t *testing.T, a metrics.Accumulator) []byte {
	t.Helper()
	b, err := a.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// row holds what a retention curve uses of a row.
type row struct{ confidence, loss, weight float64 }

func rowsOf(p *metrics.Predictions, loss rank.Loss) []row {
	rows := make([]row, p.Rows)
	for i := range rows {
		x := p.F64[p.Classes*i : p.Classes*(i+1)]
		top, sum := slices.Max(x), 0.0
		for _, v := range x {
			sum += math.Exp(v - top)
		}
		w := 1.0
		if p.Weights != nil {
			w = p.Weights[i]
		}
		y := int(p.Labels[i])
		rows[i] = row{confidence: 1 / sum, weight: w}
		switch loss {
		case rank.ZeroOne:
			if slices.Index(x, top) != y {
				rows[i].loss = 1
			}
		case rank.NLL:
			rows[i].loss = math.Log(sum) + top - x[y]
		default:
			for j, v := range x {
				d := math.Exp(v-top) / sum
				if j == y {
					d--
				}
				rows[i].loss += d * d
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.confidence, a.confidence) })
	return rows
}

// area returns the mean of the curve's n+1 points, optionally with an oracle; with weights it returns the integral.
func area(rows []row, oracle, weighted bool) float64 {
	total := 0.0
	for _, x := range rows {
		total += x.weight
	}
	lost, before, a := 0.0, 0.0, 0.0
	for _, x := range rows {
		switch {
		case weighted && oracle:
			a += x.weight * (lost + x.weight*x.loss/2) / total
		case weighted && before == 0:
			a += x.weight * x.loss
		case weighted: // integral of (lost + x.loss (t - before))/t
			a += x.weight*x.loss + (lost-x.loss*before)*math.Log((before+x.weight)/before)
		case oracle:
			a += (lost + x.loss) / total
		default:
			a += (lost + x.loss) / (before + 1)
		}
		lost += x.weight * x.loss
		before += x.weight
	}
	if weighted {
		return a / total
	}
	return a / (total + 1)
}

func TestRetention(t *testing.T) {
	p := softmax(1, 3000)
	for _, weighted := range []bool{false, true} {
		if weighted {
			p.Weights = make([]float64, p.Rows)
			for i := range p.Weights {
				p.Weights[i] = float64(1+i%7) / 4
			}
		}
		for _, loss := range []rank.Loss{rank.ZeroOne, rank.NLL, rank.Brier} {
			x := metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: loss}))
			add(t, p, x)
			rows := rowsOf(p, loss)
			for _, oracle := range []bool{false, true} {
				o := &rank.AreaOptions{Oracle: oracle}
				got, bound := x.Area(o)
				if want := area(rows, oracle, weighted); !near(got, want, 1e-12) || bound != 0 {
					t.Errorf("loss %d, weights %v, oracle %v: %v, bound %v, want %v", loss, weighted, oracle, got, bound, want)
				}
				c := x.Curve(0, o)
				a := 0.0
				for i := range c[1:] {
					a += (c[i+1].X - c[i].X) * (c[i+1].Y + c[i].Y) / 2
				}
				if got, _ := x.Area(&rank.AreaOptions{Oracle: oracle, Trapezoid: true}); !weighted && !near(got, a, 1e-12) {
					t.Errorf("loss %d, oracle %v: trapezoids %v, want %v", loss, oracle, got, a)
				}
				if thin := x.Curve(50, o); len(thin) > 50 || thin[0] != c[0] || thin[len(thin)-1] != c[len(c)-1] {
					t.Errorf("%d points from %v to %v", len(thin), thin[0], thin[len(thin)-1])
				}
			}
			if x.Len() != int64(p.Rows) || x.Outside() != 0 || x.Infinite() != 0 || !x.Exact() || x.Options().Loss != loss {
				t.Error(x.Len(), x.Outside(), x.Infinite(), x.Exact())
			}
		}
	}
}

// TestRetentionOfCells checks that a retention curve of errors and the cells of the same rows have the same area.
func TestRetentionOfCells(t *testing.T) {
	for _, values := range []int{0, 9} {
		p := drawn(41, 1500, values)
		x := metrics.Must(rank.NewRetention(nil))
		for i, s := range p.F64 {
			right := []uint8{uint8(p.Labels[i])}
			x.AddBlock(&metrics.Block{Rows: 1, Classes: 2, Score: []float64{s}, Right: right, Hit: right,
				Stats: &kernel.Stats{Tail: []float64{1 - s}}})
		}
		for _, o := range []*rank.AreaOptions{nil, {Oracle: true}, {Trapezoid: true}, {Oracle: true, Trapezoid: true}} {
			got, _ := x.Area(o)
			if want, _ := rank.RankingOf(of(t, p)).RetentionAccuracy(o); !near(1-got, want, 1e-13) {
				t.Errorf("%+v: %v, want %v", o, 1-got, want)
			}
		}
	}
}

func TestInfiniteLoss(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 1, 0}}
	p.Rows, p.Classes, p.F64 = 3, 2, []float64{0.9, 0.1, 1, 0, 0.6, 0.4}
	x := metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.NLL}))
	add(t, p, x)
	if a, _ := x.Area(nil); !math.IsInf(a, 1) || x.Infinite() != 1 {
		t.Error(a, x.Infinite())
	}
	if c := x.Curve(0, nil); !math.IsInf(c[1].Y, 1) || !math.IsInf(c[3].Y, 1) || c[0].Y != 0 {
		t.Error(c)
	}
}

// TestRetentionOfDecisions checks that the confidences are those of the caller's decisions.
func TestRetentionOfDecisions(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 1, 1}, Decisions: []int32{1, 1, 0}}
	p.Rows, p.Classes, p.F64 = 3, 2, []float64{0.9, 0.1, 0.3, 0.7, 0.5, 0.5}
	x := metrics.Must(rank.NewRetention(nil))
	add(t, p, x)
	for i, want := range []rank.Point{{0, 0, math.Inf(1)}, {1. / 3, 0, 0.7}, {2. / 3, 0.5, 0.5}, {1, 2. / 3, 0.1}} {
		if got := x.Curve(0, nil)[i]; !near(got.X, want.X, 1e-15) || !near(got.Y, want.Y, 1e-15) || got.Threshold != want.Threshold {
			t.Errorf("%v, want %v", got, want)
		}
	}
	plain := metrics.Must(rank.NewRetention(nil))
	p.Decisions = nil
	add(t, p, plain)
	if !errors.Is(plain.Merge(x), metrics.ErrMismatch) {
		t.Error("decisions and arg maxes are merged")
	}
}

// TestStatesOfParts checks that a state depends only on the set of rows, for any order, parts and merges, below and above
// MaxExact.
func TestStatesOfParts(t *testing.T) {
	sizes := []int{2000, 300000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		p := drawn(51, n, 0)
		// Many scores near both ends, and ties.
		for i := range p.F64 {
			switch i % 3 {
			case 0:
				p.F64[i] *= p.F64[i] * 1e-4
			case 1:
				p.F64[i] = 1 - p.F64[i]*1e-3
			}
			if i%100 == 7 {
				p.F64[i] = p.F64[i-7]
			}
		}
		for _, weighted := range []bool{false, true} {
			if weighted {
				if n > 3000 {
					break
				}
				p.Weights = make([]float64, n)
				for i := range p.Weights {
					p.Weights[i] = float64(1+i%3) / 3
				}
			}
			for name, fresh := range map[string]func() metrics.Accumulator{
				"nll": func() metrics.Accumulator {
					return metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.NLL}))
				},
				"softmax": func() metrics.Accumulator { return rank.NewScores(rank.MaxSoftmax) },
				"entropy": func() metrics.Accumulator { return rank.NewScores(rank.Entropy) },
			} {
				if n > 3000 && name == "entropy" {
					continue
				}
				whole := fresh()
				add(t, p, whole)
				want := state(t, whole)
				parts := []metrics.Accumulator{fresh(), fresh(), fresh()}
				add(t, part(p, n/2, n), parts[0])
				add(t, part(p, n/10, n/2), parts[1])
				add(t, part(p, 0, n/10), parts[2])
				state(t, parts[1]) // sorts it
				for _, a := range parts[1:] {
					if err := parts[0].Merge(a); err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(state(t, parts[0]), want) {
					t.Errorf("%s, %d rows, weights %v: the state of parts differs", name, n, weighted)
				}
				read := fresh()
				if err := read.UnmarshalBinary(want); err != nil {
					t.Fatal(name, err)
				}
				if !bytes.Equal(state(t, read), want) || read.Len() != int64(n) {
					t.Errorf("%s, %d rows: what is read differs", name, n)
				}
				// A merge with itself.
				if err := read.Merge(read); err != nil || read.Len() != int64(2*n) {
					t.Errorf("%s: %v, %d rows", name, err, read.Len())
				}
				if err := whole.Merge(whole.Empty()); err != nil || !bytes.Equal(state(t, whole), want) {
					t.Errorf("%s: nothing changes it, %v", name, err)
				}
			}
		}
	}
}

func TestDamagedStates(t *testing.T) {
	p := drawn(52, 40, 0)
	for _, a := range []metrics.Accumulator{metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.NLL})), rank.NewScores(rank.MaxSoftmax)} {
		add(t, p, a)
		b := state(t, a)
		for i := range b {
			c := slices.Clone(b)
			c[i] ^= 4
			if a.Empty().UnmarshalBinary(c) == nil {
				t.Errorf("%T: byte %d of %d is damaged, and read", a, i, len(b))
			}
			if a.Empty().UnmarshalBinary(b[:i]) == nil {
				t.Errorf("%T: %d of %d bytes are read", a, i, len(b))
			}
		}
	}
}

// TestImpossibleStates checks that well-formed states that no rows can produce are refused.
func TestImpossibleStates(t *testing.T) {
	type cell struct{ step, n, infinite uint64 }
	for name, c := range map[string]struct {
		kind, coarse byte
		classes      uint32
		cells        []cell
		logits       byte
	}{
		"a few coarse keys": {1, 3, 2, []cell{{5, 1, 0}}, 0}, "all bits left out": {1, 64, 2, []cell{{0, 1, 0}}, 0},
		"a key twice": {1, 0, 2, []cell{{5, 1, 0}, {0, 1, 0}}, 0}, "no rows": {1, 0, 2, []cell{{5, 0, 0}}, 0},
		"no classes": {1, 0, 0, []cell{{5, 1, 0}}, 0}, "too many rows": {1, 0, 2, []cell{{5, 1 << 62, 0}, {5, 1, 0}}, 0},
		"a key that wraps": {1, 0, 2, []cell{{5, 1, 0}, {math.MaxUint64, 1, 0}}, 0}, "no such kind": {9, 0, 2, nil, 0},
		"more infinite rows than rows": {1, 0, 2, []cell{{5, 1, 2}}, 0},
		"a confidence above 1":         {1, 0, 2, []cell{{0x7fd0000000000000, 1, 0}}, 0},
		"logits of no type":            {1, 0, 1, []cell{{1 << 62, 1, 0}}, 3},
		"logits of two classes":        {1, 0, 2, []cell{{1 << 62, 1, 0}}, 1},
		"a magnitude that is none":     {1, 0, 1, []cell{{math.MaxUint64, 1, 0}}, 1},
	} {
		for _, magic := range []string{"cRET", "cOOD"} {
			var e exact.Enc
			e.U8(c.kind)
			e.U8(0)
			e.U8(c.logits)
			e.U8(c.coarse)
			e.U32(c.classes)
			e.I64(0)
			e.U64(uint64(len(c.cells)))
			for _, x := range c.cells {
				e.Uvarint(x.step)
				e.Uvarint(x.n)
				if magic == "cRET" {
					e.Uvarint(x.infinite)
					e.Sum(new(exact.Sum))
				}
			}
			var a metrics.Accumulator = metrics.Must(rank.NewRetention(nil))
			if magic == "cOOD" {
				a = rank.NewScores(rank.Entropy)
			}
			own := map[string]string{"more infinite rows than rows": "cRET", "a confidence above 1": "cRET"}[name]
			err := a.UnmarshalBinary(exact.Seal(magic, 2, e.B))
			if own == "" || own == magic {
				if !errors.Is(err, exact.ErrDamaged) || a.Len() != 0 {
					t.Errorf("%s, %s: %v", magic, name, err)
				}
			}
		}
	}
	// The largest number is not a score, and a confidence of 1 is the last score.
	for d, most := range map[rank.Detector]uint64{rank.MaxSoftmax: 0x7fc0000000000000, rank.Energy: 0xfff0000000000000} {
		for more, good := range map[uint64]bool{0: true, 1: false} {
			var e exact.Enc
			e.U8(uint8(d))
			e.U8(0)
			e.U8(0)
			e.U8(0)
			e.U32(3)
			e.I64(0)
			e.U64(1)
			e.Uvarint(most + more)
			e.Uvarint(1)
			if err := rank.NewScores(d).UnmarshalBinary(exact.Seal("cOOD", 2, e.B)); (err == nil) != good {
				t.Errorf("%v, key %x: %v", d, most+more, err)
			}
		}
	}
}

func TestUnlikeStates(t *testing.T) {
	one, three := drawn(53, 40, 0), softmax(53, 40)
	weighted := part(one, 0, 40)
	weighted.Weights = slices.Repeat([]float64{1}, 40)
	for _, a := range []metrics.Accumulator{metrics.Must(rank.NewRetention(nil)), rank.NewScores(rank.MaxSoftmax)} {
		add(t, one, a)
		for name, p := range map[string]*metrics.Predictions{"classes": three, "weights": weighted} {
			b := a.Empty()
			add(t, p, b)
			before := state(t, a)
			if !errors.Is(a.Merge(b), metrics.ErrMismatch) || !bytes.Equal(state(t, a), before) {
				t.Errorf("%T of other %s is merged", a, name)
			}
		}
	}
	for _, x := range [][2]metrics.Accumulator{
		{metrics.Must(rank.NewRetention(nil)), rank.NewScores(rank.Entropy)}, {rank.NewScores(rank.Entropy), metrics.Must(rank.NewRetention(nil))},
		{metrics.Must(rank.NewRetention(nil)), metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.Brier}))},
		{rank.NewScores(rank.Entropy), rank.NewScores(rank.Energy)},
	} {
		if !errors.Is(x[0].Merge(x[1]), metrics.ErrMismatch) {
			t.Errorf("%T and %T are merged", x[0], x[1])
		}
	}
}

// TestBoundsOfTables checks that for many distinct scores areas are within small bounds of those of the rows.
func TestBoundsOfTables(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes 350,000 rows")
	}
	p := softmax(54, 350000)
	in := rank.NewScores(rank.MaxSoftmax)
	x := metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.NLL}))
	add(t, p, in, x)
	rows := rowsOf(p, rank.NLL)
	for _, oracle := range []bool{false, true} {
		got, bound := x.Area(&rank.AreaOptions{Oracle: oracle})
		if want := area(rows, oracle, false); x.Exact() || !(math.Abs(got-want) <= bound+1e-12) || bound > 1e-4 {
			t.Errorf("oracle %v: %v, bound %v, want %v", oracle, got, bound, want)
		}
	}
	q := softmax(55, 50000)
	for i := range q.F64 {
		q.F64[i] /= 2
	}
	out := rank.NewScores(rank.MaxSoftmax)
	add(t, q, out)
	o, err := rank.NewOOD(in, out)
	if err != nil {
		t.Fatal(err)
	}
	outside := rowsOf(q, rank.ZeroOne)
	// For exact rows: all pairs in one pass.
	type scored struct {
		confidence float64
		out        float64
	}
	var all []scored
	for _, r := range rows {
		all = append(all, scored{r.confidence, 0})
	}
	for _, r := range outside {
		all = append(all, scored{r.confidence, 1})
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(a.confidence, b.confidence) })
	nOut, nIn := float64(len(outside)), float64(len(rows))
	tp, fp, pairs, ap, fpr := 0.0, 0.0, 0.0, 0.0, math.NaN()
	apIn := 0.0
	for _, s := range all { // from the highest score down
		if tp += s.out; s.out == 1 {
			ap += tp / (tp + fp + 1 - s.out) / nOut
			if math.IsNaN(fpr) && tp/nOut >= 0.95 {
				fpr = fp / nIn
			}
		} else {
			fp++
			pairs += tp
		}
	}
	tp, fp = 0, 0
	for i := len(all) - 1; i >= 0; i-- {
		if tp += 1 - all[i].out; all[i].out == 0 {
			apIn += tp / (tp + fp) / nIn
		} else {
			fp++
		}
	}
	for name, v := range map[string]pairWant{
		"AUROC": {two(o.AUROC()), pairs / nOut / nIn}, "AP out": {two(o.AUPRCOut(rank.AveragePrecision)), ap},
		"AP in": {two(o.AUPRCIn(rank.AveragePrecision)), apIn}, "FPR95": {two(o.FPRAt(0.95)), fpr},
	} {
		if !(math.Abs(v.got-v.want) <= v.bound) || v.bound > 1e-3 {
			t.Errorf("%s: %v, bound %v, want %v", name, v.got, v.bound, v.want)
		}
	}
}

// TestDetectors checks that every detector orders rows by its formula.
func TestDetectors(t *testing.T) {
	const n = 400
	in, out := softmax(61, n), softmax(62, n)
	for i := range out.F64 {
		out.F64[i] = out.F64[i]/2 - 0.3
	}
	formulas := map[rank.Detector]func(x []float64) float64{
		rank.MaxSoftmax: func(x []float64) float64 { return 1 - math.Exp(slices.Max(x)-logSum(x)) },
		rank.MaxLogit:   func(x []float64) float64 { return -slices.Max(x) },
		rank.Entropy: func(x []float64) float64 {
			h := 0.0
			for _, v := range x {
				h -= math.Exp(v-logSum(x)) * (v - logSum(x))
			}
			return h
		},
		rank.Energy:         func(x []float64) float64 { return -logSum(x) },
		rank.DempsterShafer: func(x []float64) float64 { return 3 / (3 + math.Exp(logSum(x))) },
	}
	for d, f := range formulas {
		var v [2][]float64
		var s [2]*rank.Scores
		for k, p := range []*metrics.Predictions{in, out} {
			s[k] = rank.NewScores(d)
			s[k].AddBlock(logits(p))
			for i := range n {
				v[k] = append(v[k], f(p.F64[3*i:3*i+3]))
			}
		}
		won := 0.0
		for _, a := range v[1] {
			for _, b := range v[0] {
				if a > b {
					won++
				}
			}
		}
		o, err := rank.NewOOD(s[0], s[1])
		if err != nil {
			t.Fatal(d, err)
		}
		if got, bound := o.AUROC(); !near(got, won/n/n, 1e-14) || bound != 0 {
			t.Errorf("%v: %v, want %v", d, got, won/n/n)
		}
		i := o.AUROCInterval(0.95)
		if got, _ := o.AUROC(); !(i.Low < got && got < i.High) {
			t.Errorf("%v: %v around %v", d, i, got)
		}
		curve := o.ROC(0)
		top := math.Max(slices.Max(v[0]), slices.Max(v[1]))
		if got := curve[1].Threshold; !near(got, top, 1e-12) {
			t.Errorf("%v: the highest score is %v, want %v", d, got, top)
		}
	}
}

func logSum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += math.Exp(v)
	}
	return math.Log(s)
}

// logits returns a block of rows with logits and the columns that detectors need.
func logits(p *metrics.Predictions) *metrics.Block {
	s := &kernel.Stats{}
	b := &metrics.Block{Rows: p.Rows, Classes: p.Classes, Kind: metrics.Logits, Stats: s, Labels: p.Labels}
	for i := range p.Rows {
		x := p.F64[p.Classes*i : p.Classes*(i+1)]
		l, h := logSum(x), 0.0
		for _, v := range x {
			h -= math.Exp(v-l) * (v - l)
		}
		top := math.Exp(slices.Max(x) - l)
		s.Top, s.Tail = append(s.Top, top), append(s.Tail, 1-top)
		s.Norm, s.Entropy = append(s.Norm, l), append(s.Entropy, h)
		b.Peak = append(b.Peak, slices.Max(x))
	}
	return b
}

func TestNoDetection(t *testing.T) {
	p := softmax(63, 20)
	probs := logits(p)
	probs.Kind = metrics.Probs
	in, out := rank.NewScores(rank.Energy), rank.NewScores(rank.Energy)
	in.AddBlock(logits(p))
	out.AddBlock(probs)
	if _, err := rank.NewOOD(in, out); err == nil || out.Reason() == "" || in.Reason() != "" || out.Len() != 20 {
		t.Error(err, out.Reason())
	}
	if _, err := rank.NewOOD(in, rank.NewScores(rank.Entropy)); !errors.Is(err, metrics.ErrMismatch) {
		t.Error(err)
	}
	o, err := rank.NewOOD(in, rank.NewScores(rank.Energy))
	if err != nil {
		t.Fatal(err)
	}
	if a, _ := o.AUROC(); !math.IsNaN(a) {
		t.Error(a)
	}
	if a, _ := o.AUPRCOut(rank.AveragePrecision); !math.IsNaN(a) {
		t.Error(a)
	}
	heavy := rank.NewScores(rank.Energy)
	b := logits(p)
	b.Weights = slices.Repeat([]float64{2}, 20)
	heavy.AddBlock(b)
	if _, err := rank.NewOOD(in, heavy); !errors.Is(err, metrics.ErrMismatch) {
		t.Error(err)
	}
	// Weights of 2 on both sides have no effect.
	two, err := rank.NewOOD(heavy, heavy)
	if err != nil {
		t.Fatal(err)
	}
	one, err := rank.NewOOD(in, in)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(*rank.OOD) (float64, float64){
		"AUROC": (*rank.OOD).AUROC, "FPR": func(o *rank.OOD) (float64, float64) { return o.FPRAt(0.95) },
		"AP in": func(o *rank.OOD) (float64, float64) { return o.AUPRCIn(rank.AveragePrecision) },
	} {
		a, _ := f(one)
		if b, _ := f(two); !near(a, b, 1e-14) {
			t.Errorf("%s: %v and %v", name, a, b)
		}
	}
}

func topLabel(t *testing.T, p *metrics.Predictions) *cells.Cells {
	t.Helper()
	c := metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel}))
	add(t, p, c)
	return c
}

// TestMixedCurves compares the curves of both sets with counts at all distinct confidences.
func TestMixedCurves(t *testing.T) {
	in, out := softmax(71, 300), softmax(72, 200)
	c, s := topLabel(t, in), rank.NewScores(rank.MaxSoftmax)
	add(t, out, s)
	good, other := rowsOf(in, rank.ZeroOne), rowsOf(out, rank.ZeroOne)
	points := rank.ConfidenceAccuracy(c, s, nil)
	if len(points) != 500 {
		t.Errorf("%d points", len(points))
	}
	count := func(threshold float64) (right, kept float64) {
		for _, r := range good {
			if r.confidence >= threshold-1e-13 {
				right += 1 - r.loss
				kept++
			}
		}
		for _, r := range other {
			if r.confidence >= threshold-1e-13 {
				kept++
			}
		}
		return right, kept
	}
	for _, p := range points {
		if right, kept := count(p.X); !near(p.Y, right/kept, 1e-13) {
			t.Errorf("at %v: %v, want %v", p.X, p.Y, right/kept)
		}
	}
	for _, p := range rank.RejectionClassification(c, s, 0) {
		right, kept := count(p.Threshold)
		best := math.Min(1, 300/kept)
		if !near(p.Accuracy, right/kept, 1e-13) || !near(p.Rejected, 1-kept/500, 1e-13) || !near(p.Best, best, 1e-12) {
			t.Errorf("%v, want %v, %v, %v", p, 1-kept/500, right/kept, best)
		}
	}
	if n := len(rank.RejectionClassification(c, s, 20)); n > 20 || n < 15 {
		t.Errorf("%d points of at most 20", n)
	}
}
