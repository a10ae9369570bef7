package ensemble_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

func dirichlet(rows ...[]float64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Dirichlet, Labels: make([]int32, len(rows))}
	p.Rows, p.Classes = len(rows), len(rows[0])
	for _, r := range rows {
		p.F64 = append(p.F64, r...)
	}
	return p
}

func knowledge(t *testing.T, p *metrics.Predictions) *ensemble.Knowledge {
	t.Helper()
	a := ensemble.NewKnowledge()
	if err := metrics.NewPass(nil, a).Add(p); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestKnowledge checks the documented accuracies against values with 150 digits; see testdata/oracle/make_information.py.
func TestKnowledge(t *testing.T) {
	var g struct {
		Dirichlet []struct {
			Alpha                  []float64
			Total, Data, Knowledge float64
		}
	}
	informationData(t, "oracle/information.json", &g)
	if len(g.Dirichlet) != 27 {
		t.Errorf("%d rows", len(g.Dirichlet))
	}
	for _, r := range g.Dirichlet {
		a := knowledge(t, dirichlet(r.Alpha))
		name := r.Alpha[:min(5, len(r.Alpha))]
		tol := 1e-15 * (1 + r.Total)
		if math.Abs(a.Total()-r.Total) > tol || math.Abs(a.Data()-r.Data) > tol || math.Abs(a.Knowledge()-r.Knowledge) > tol {
			t.Errorf("%v: %v, %v, %v, want %v, %v, %v", name, a.Total(), a.Data(), a.Knowledge(), r.Total, r.Data, r.Knowledge)
		}
		// sum_k p_k g(a_k) is the knowledge uncertainty plus g(a_0), where g(a_0) is below 1/(2 a_0) and the logarithm of
		// 1/a_0.
		sum := 0.0
		for _, v := range r.Alpha {
			sum += v
		}
		if tol := 1e-14 * (r.Knowledge + 0.5/sum); sum >= 1 && math.Abs(a.Knowledge()-r.Knowledge) > tol {
			t.Errorf("%v: knowledge %v, want %v", name, a.Knowledge(), r.Knowledge)
		}
	}
}

// TestKnowledgeLimits checks that a wide distribution has only knowledge uncertainty, and a narrow one only (K-1)/(2 a_0).
func TestKnowledgeLimits(t *testing.T) {
	for _, k := range []int{2, 10, 1000} {
		row := make([]float64, k)
		fill := func(v float64) *metrics.Predictions {
			for i := range row {
				row[i] = v
			}
			return dirichlet(row)
		}
		if a := knowledge(t, fill(1e-12)); math.Abs(a.Knowledge()-math.Log(float64(k))) > 1e-8 || a.Data() < 0 || a.Data() > 1e-8 {
			t.Errorf("%d classes, wide: %v, %v", k, a.Knowledge(), a.Data())
		}
		for _, sum := range []float64{1e8, 1e12, 1e100} {
			a := knowledge(t, fill(sum/float64(k)))
			// The next term is (K^2-1)/(12 a_0^2).
			want, next := float64(k-1)/(2*sum), float64(k*k-1)/(12*sum*sum)
			if got := a.Knowledge(); math.Abs(got-want+next) > 1e-13*want {
				t.Errorf("%d classes of %v: %v, want %v", k, sum, got, want-next)
			}
		}
	}
}

// TestKnowledgeOfDraws compares with draws from the distributions.
func TestKnowledgeOfDraws(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, alpha := range [][]float64{{1, 2, 3}, {4, 4}, {1, 1, 1, 7}} {
		sum, h := 0.0, 0.0
		const draws = 40000
		for range draws {
			// A gamma variate with a whole shape is a sum of exponentials.
			p, s := make([]float64, len(alpha)), 0.0
			for k, a := range alpha {
				for range int(a) {
					p[k] += r.ExpFloat64()
				}
				s += p[k]
			}
			for _, v := range p {
				h -= v / s * math.Log(v/s) / draws
			}
		}
		for _, v := range alpha {
			sum += v
		}
		if a := knowledge(t, dirichlet(alpha)); math.Abs(a.Data()-h) > 0.006 || math.Abs(a.Total()-a.Data()-a.Knowledge()) > 1e-15 {
			t.Errorf("%v: data %v, want %v; total %v, knowledge %v", alpha, a.Data(), h, a.Total(), a.Knowledge())
		}
	}
}

// TestKnowledgeOfManyClasses checks the accuracies for long rows, by counting equal parameters.
func TestKnowledgeOfManyClasses(t *testing.T) {
	for _, scale := range []float64{0x1p-20, 0.25, 40} {
		const n, values = 9000, 9
		row := make([]float64, n*values)
		for i := range row {
			row[i] = scale * float64(i%values+1)
		}
		sum, want, few := n*scale*values*(values+1)/2, 0.0, make([]float64, values)
		for i := range few {
			few[i] = row[i]
			p := few[i] / sum
			want -= n * p * math.Log(p)
		}
		a := knowledge(t, dirichlet(row))
		if d := math.Abs(a.Total() - want); d > 2e-14 {
			t.Errorf("%v: total %v is off by %g", scale, a.Total(), d)
		}
		if d := math.Abs(a.Total() - a.Data() - a.Knowledge()); d > 2e-15 {
			t.Errorf("%v: %g is left", scale, d)
		}
	}
}

func gammas(n, k int, scale float64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(uint64(n), uint64(k)))
	p := &metrics.Predictions{Kind: metrics.Dirichlet, Labels: make([]int32, n)}
	p.Rows, p.Classes, p.F32 = n, k, make([]float32, n*k)
	for i := range p.F32 {
		p.F32[i] = float32(scale * r.ExpFloat64())
		if p.F32[i] == 0 {
			p.F32[i] = 1e-9
		}
	}
	return p
}

func TestKnowledgeRows(t *testing.T) {
	p := gammas(3000, 7, 2)
	bad := map[int]bool{0: true, 1500: true, 2999: true}
	for i := range bad {
		p.F32[i*7+2] = 0
	}
	o := &metrics.Options{Drop: true, Threads: 3}
	a := ensemble.NewKnowledge()
	if err := metrics.NewPass(o, a).Add(p); err != nil {
		t.Fatal(err)
	}
	var rows [3][]float64
	total, data, know, err := ensemble.KnowledgeRows(p, o)
	if err != nil {
		t.Fatal(err)
	}
	of, err := ensemble.KnowledgeOf(p, o)
	if err != nil || of.Total() != a.Total() || of.Data() != a.Data() || of.Knowledge() != a.Knowledge() {
		t.Errorf("%+v, %v", of, err)
	}
	for f, c := range []struct {
		rows []float64
		mean float64
		ends metrics.Interval
	}{
		{total, a.Total(), a.TotalInterval(0.95)},
		{data, a.Data(), a.DataInterval(0.95)},
		{know, a.Knowledge(), a.KnowledgeInterval(0.95)},
	} {
		dst, got := c.rows, c.mean
		sum, squares := 0.0, 0.0
		for i, v := range dst {
			if bad[i] != (v != v) || v < 0 {
				t.Errorf("%d: row %d is %v", f, i, v)
			}
			if v == v {
				sum += v
				squares += v * v
			}
		}
		const n = 2997
		se := math.Sqrt((squares - sum*sum/n) / (n - 1) / n)
		if !closeTo(sum/n, got, 1e-13) || !closeTo(c.ends.High, got+metrics.Z(0.95)*se, 1e-12) {
			t.Errorf("%d: the rows have mean %v and error %v, not %v, %v", f, sum/n, se, got, c.ends)
		}
		rows[f] = dst
	}
	var e *metrics.DataError
	if _, _, _, err := ensemble.KnowledgeRows(p, nil); !errors.As(err, &e) {
		t.Errorf("%v of bad rows", err)
	}
	if _, err := ensemble.KnowledgeOf(p, nil); !errors.As(err, &e) {
		t.Errorf("%v of bad rows", err)
	}
	for i := range rows[0] {
		if d := rows[0][i] - rows[1][i] - rows[2][i]; math.Abs(d) > 1e-15 {
			t.Errorf("row %d: %v is left", i, d)
		}
	}
}

func TestKnowledgeFaults(t *testing.T) {
	if none := ensemble.NewKnowledge(); none.Total() == none.Total() || none.KnowledgeInterval(0.9).Low == none.KnowledgeInterval(0.9).Low {
		t.Error("no rows have a value")
	}
	probs := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.5, 0.5}, Rows: 1, Classes: 2}, Labels: []int32{0}}
	if got := informationPanic(func() { _ = metrics.NewPass(nil, ensemble.NewKnowledge()).Add(probs) }); got !=
		"ensemble: Knowledge takes the parameters of Dirichlet distributions (metrics.Dirichlet)" {
		t.Error(got)
	}
}

// FuzzKnowledgeUnmarshal checks that a state that is read is written as the same bytes, and gives values.
func FuzzKnowledgeUnmarshal(f *testing.F) {
	p := gammas(4, 3, 1)
	for _, w := range [][]float64{nil, {1, 0x1p32, 0x1p-32, 0}} {
		p.Weights = w
		a := ensemble.NewKnowledge()
		if err := metrics.NewPass(nil, a).Add(p); err != nil {
			f.Fatal(err)
		}
		s, _ := a.AppendBinary(nil)
		_, payload, _, err := exact.Open("cKNO", s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
		f.Add(append([]byte{payload[0], 0, 0, 0, 0}, payload[5:]...)) // rows without classes
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var a ensemble.Knowledge
		s := exact.Seal("cKNO", 1, payload)
		if a.UnmarshalBinary(s) != nil {
			return
		}
		if again, err := a.AppendBinary(nil); err != nil || string(again) != string(s) {
			t.Errorf("written in another way: %v", err)
		}
		a.TotalInterval(0.95)
		a.DataInterval(0.95)
		a.KnowledgeInterval(0.95)
		b := a.Empty()
		if err := b.Merge(&a); err != nil || b.Len() != a.Len() {
			t.Errorf("%d rows merged are %d: %v", a.Len(), b.Len(), err)
		}
	})
}

func BenchmarkKnowledge(b *testing.B) {
	for _, c := range []struct {
		name  string
		k     int
		scale float64
	}{{"k=10/small", 10, 1}, {"k=10/large", 10, 100}, {"k=1000/small", 1000, 1}, {"k=1000/large", 1000, 100}} {
		b.Run(c.name, func(b *testing.B) {
			p := gammas(20000/c.k, c.k, c.scale)
			for b.Loop() {
				if err := metrics.NewPass(&metrics.Options{Threads: 1}, ensemble.NewKnowledge()).Add(p); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*20000), "ns/entry")
		})
	}
}
