package metrics_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
)

// logits fills rows with what is awkward about logits: ties, masked classes, extremes.
func logits(r *rand.Rand, n, k int) []float64 {
	v := make([]float64, n*k)
	for i := range n {
		row := v[i*k : (i+1)*k]
		style := r.IntN(6)
		for j := range row {
			row[j] = 3 * r.NormFloat64()
			switch style {
			case 0:
				row[j] = math.Round(row[j]) / 2
			case 1:
				row[j] = float64(r.IntN(2))
			case 2:
				row[j] *= 25
			case 3:
				if r.IntN(3) == 0 {
					row[j] = math.Inf(-1)
				}
			}
		}
		if style == 3 && k > 1 {
			row[r.IntN(k)] = 1
		}
	}
	return v
}

// probabilities returns rows that sum to 1 but for rounding: one-hot ones, even ones, scores on the edges of bins.
func probabilities(r *rand.Rand, n, k int) []float64 {
	if k == 1 {
		v := make([]float64, n)
		for i := range v {
			switch r.IntN(5) {
			case 0:
				v[i] = float64(r.IntN(2))
			case 1:
				v[i] = float64(r.IntN(31)) / 30
			case 2:
				v[i] = 0.5
			default:
				v[i] = r.Float64()
			}
		}
		return v
	}
	v := logits(r, n, k)
	for i := range n {
		row := v[i*k : (i+1)*k]
		softmax(row)
		switch r.IntN(6) {
		case 0:
			clear(row)
			row[r.IntN(k)] = 1
		case 1:
			for j := range row {
				row[j] = 1 / float64(k)
			}
		case 2:
			clear(row)
			p := float64(r.IntN(21)) / 20
			row[0], row[k-1] = p, 1-p
		}
	}
	return v
}

func softmax(row []float64) {
	m, s := math.Inf(-1), 0.0
	for _, x := range row {
		m = math.Max(m, x)
	}
	for j, x := range row {
		row[j] = math.Exp(x - m)
		s += row[j]
	}
	for j := range row {
		row[j] /= s
	}
}

type settings struct {
	dtype    metrics.DType
	kind     metrics.Kind
	k, n     int
	weighted bool
	bad      bool // some rows cannot be used
	wild     bool // unchecked scores
	decided  bool // the caller's decisions
	scored   bool // and confidence scores
}

// generate makes predictions of the settings.
func generate(r *rand.Rand, s settings) *metrics.Predictions {
	var v []float64
	switch s.kind {
	case metrics.Probs:
		v = probabilities(r, s.n, s.k)
		if s.wild {
			for i := range v {
				switch r.IntN(12) {
				case 0:
					v[i] = -v[i]
				case 1:
					v[i] += 1
				case 2:
					v[i] *= 1e30
				}
			}
		}
	case metrics.Logits:
		v = logits(r, s.n, s.k)
	case metrics.LogProbs:
		v = probabilities(r, s.n, s.k)
		for i := range v {
			v[i] = math.Log(v[i])
		}
	}
	p := &metrics.Predictions{Kind: s.kind, Labels: make([]int32, s.n)}
	for i := range p.Labels {
		p.Labels[i] = int32(r.IntN(max(2, s.k)))
	}
	if s.weighted {
		p.Weights = make([]float64, s.n)
		for i := range p.Weights {
			p.Weights[i] = []float64{0, 1, 2, 0x1p-32, 0x1p32, r.Float64() + 0.1, r.ExpFloat64() + 1e-3}[r.IntN(7)]
		}
	}
	if s.decided {
		p.Decisions = make([]int32, s.n)
		for i := range p.Decisions {
			p.Decisions[i] = int32(r.IntN(max(2, s.k)))
		}
	}
	if s.scored {
		p.ConfidenceScores = make([]float64, s.n)
		for i := range p.ConfidenceScores {
			p.ConfidenceScores[i] = []float64{0, 1, -3, 7, float64(r.IntN(31)) / 30, r.Float64()}[r.IntN(6)]
		}
	}
	if s.bad {
		for i := range p.Labels {
			switch r.IntN(14) {
			case 0:
				p.Labels[i] = int32(r.IntN(3)*1000 - 1)
			case 1:
				v[i*s.k+r.IntN(s.k)] = math.NaN()
			case 2:
				v[i*s.k+r.IntN(s.k)] = math.Inf(1)
			case 3:
				v[i*s.k+r.IntN(s.k)] = -0.5
			case 4:
				v[i*s.k+r.IntN(s.k)] += 0.1
			case 5:
				if s.weighted {
					p.Weights[i] = -1
				}
			case 6:
				if s.decided {
					p.Decisions[i] = int32(r.IntN(3)*1000 - 1)
				}
			case 7:
				if s.scored {
					p.ConfidenceScores[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
				}
			}
		}
	}
	p.Scores = narrow(v, s.k, s.dtype, 0)
	return p
}

// tree merges accumulators and audits pairwise in a random order, some by way of their bytes.
func tree(t *rapid.T, r *rand.Rand, shards [][]metrics.Accumulator, audits []metrics.Audit) ([]metrics.Accumulator, metrics.Audit) {
	for len(shards) > 1 {
		i := r.IntN(len(shards))
		a, aa := shards[i], audits[i]
		shards, audits = append(shards[:i:i], shards[i+1:]...), append(audits[:i:i], audits[i+1:]...)
		j := r.IntN(len(shards))
		for m, acc := range shards[j] {
			from := a[m]
			if r.IntN(2) == 0 {
				b, err := from.AppendBinary([]byte("before"))
				if err != nil {
					t.Fatal(err)
				}
				from = acc.Empty()
				if err := from.UnmarshalBinary(b[len("before"):]); err != nil {
					t.Fatal(err)
				}
			}
			if err := acc.Merge(from); err != nil {
				t.Fatal(err)
			}
		}
		if r.IntN(2) == 0 {
			b := auditState(aa)
			aa = metrics.Audit{}
			if err := aa.UnmarshalBinary(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := audits[j].Merge(&aa); err != nil {
			t.Fatal(err)
		}
	}
	return shards[0], audits[0]
}

// TestLaws holds that a state and its answers depend on the multiset of rows alone. Equal states have equal answers, so of most these are
// not asked, and a source is read by one number of threads: unless nothing is left out.
func TestLaws(t *testing.T) {
	everything := check.Full()
	rapid.Check(t, func(t *rapid.T) {
		s := settings{
			dtype:    rapid.SampledFrom(dtypes).Draw(t, "dtype"),
			kind:     rapid.SampledFrom([]metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs}).Draw(t, "kind"),
			k:        rapid.SampledFrom([]int{1, 2, 3, 10, 40}).Draw(t, "classes"),
			n:        rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(900, check.Size(1400, 1800, 2600))).Draw(t, "rows"),
			weighted: rapid.Bool().Draw(t, "weighted"),
			bad:      rapid.Bool().Draw(t, "bad"),
			wild:     rapid.Bool().Draw(t, "wild"),
			decided:  rapid.Bool().Draw(t, "decided"),
			scored:   rapid.Bool().Draw(t, "scored"),
		}
		opt := metrics.Options{Threads: 1, Drop: true, Unchecked: s.wild, Renormalize: rapid.Bool().Draw(t, "renormalize")}
		kinds := all
		if rapid.Bool().Draw(t, "class by class") {
			kinds = classwise
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		p := generate(r, s)

		accs := kinds(s.k)
		pass := metrics.NewPass(&opt, accs...)
		if err := pass.Add(p); err != nil {
			t.Fatal(err)
		}
		var want []byte
		for _, a := range accs {
			want, _ = a.AppendBinary(want)
		}
		audit, said := auditState(pass.Audit()), answers(accs...)
		if a := pass.Audit(); a.Rows != accs[0].Len() || a.Rows+a.Absent+a.Dropped != int64(s.n) {
			t.Fatalf("%+v of %d rows", a, s.n)
		}
		check := func(what string, a metrics.Audit, accs []metrics.Accumulator) {
			var got []byte
			for _, a := range accs {
				got, _ = a.AppendBinary(got)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: another state", what)
			}
			if !bytes.Equal(auditState(a), audit) {
				t.Fatalf("%s: another audit: %+v, want %+v", what, a, pass.Audit())
			}
			if r.IntN(6) > 0 && !everything {
				return
			}
			if err := sameBits(answers(accs...), said); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}

		order := r.Perm(s.n)
		shuffled := permute(p, order, r.IntN(4))
		accs = kinds(s.k)
		opt.Threads = 1 + r.IntN(4)
		pass2 := metrics.NewPass(&opt, accs...)
		if err := pass2.Add(shuffled); err != nil {
			t.Fatal(err)
		}
		check("permuted, another stride", pass2.Audit(), accs)

		accs = kinds(s.k)
		pass2 = metrics.NewPass(&opt, accs...)
		at := 0
		for _, n := range parts(r, s.n) {
			if err := pass2.Add(rows(shuffled, at, at+n)); err != nil {
				t.Fatal(err)
			}
			at += n
		}
		check("many Adds", pass2.Audit(), accs)

		for opt.Threads = 1; opt.Threads <= 4; opt.Threads++ {
			if !everything && opt.Threads != 1+s.n%4 {
				continue
			}
			accs = kinds(s.k)
			pass2 = metrics.NewPass(&opt, accs...)
			src := &sizes{p: shuffled, n: parts(r, s.n)}
			chunks := len(src.n)
			src.recycled = make(chan int, chunks)
			if err := pass2.AddSource(src); err != nil {
				t.Fatal(err)
			}
			check("a source", pass2.Audit(), accs)
			if len(src.recycled) != chunks {
				t.Fatalf("%d of %d chunks were recycled", len(src.recycled), chunks)
			}
		}

		var shards [][]metrics.Accumulator
		var audits []metrics.Audit
		at = 0
		for _, n := range parts(r, s.n) {
			accs := kinds(s.k)
			pass2 := metrics.NewPass(&opt, accs...)
			if err := pass2.Add(rows(shuffled, at, at+n)); err != nil {
				t.Fatal(err)
			}
			at += n
			shards, audits = append(shards, accs), append(audits, pass2.Audit())
		}
		merged, a := tree(t, r, shards, audits)
		check("a tree of merges", a, merged)
	})
}

// TestThreads has predictions in memory that are several chunks, with bad rows or without.
func TestThreads(t *testing.T) {
	n := check.Size(60_000, 120_000, 400_000)
	for _, k := range []int{1, 7} {
		for _, bad := range []bool{false, true} {
			r := rand.New(rand.NewPCG(uint64(k), 17))
			p := generate(r, settings{dtype: metrics.Float64, kind: metrics.Logits, k: k, n: n / k, bad: bad, decided: bad, scored: bad})
			var want []byte
			for threads := range 5 { // 0: one for each CPU
				if (threads+k)%check.Size(2, 1, 1) != 0 && threads > 0 {
					continue
				}
				accs := all(k)
				a := feed(t, p, &metrics.Options{Threads: threads, Drop: bad}, accs...).Audit()
				got := append(state(t, accs...), auditState(a)...)
				if want == nil {
					want = got
				}
				sameState(t, "other threads", got, want)
			}
		}
	}
}
