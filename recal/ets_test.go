package recal_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// etsParts returns the label's probability by the temperature, as it was, and 1/K, of a row of logits.
func etsParts(z []float64, y int, T float64) (q [3]float64) {
	if len(z) == 1 {
		z = []float64{0, z[0]}
	}
	q[2] = 1 / float64(len(z))
	for part, t := range []float64{T, 1} {
		sum := 0.0
		for _, v := range z {
			sum += math.Exp((v - z[y]) / t)
		}
		q[part] = 1 / sum
	}
	return q
}

// TestETSOptimal: the weights meet the conditions of the optimum of a convex function on the triangle. With q the three probabilities
// of a row's label, the mean of q_k / sum w q is 1 where w_k is above 0, and at most 1 where it is 0.
func TestETSOptimal(t *testing.T) {
	seen, reads := map[string]bool{}, 0
	for seed := range uint64(40) {
		classes := []int{1, 2, 3, 10, 60}[seed%5]
		p := temperatureRandom(seed, 500, classes, []float64{0.4, 1, 3, 40}[seed%4])
		r := rand.New(rand.NewPCG(seed, 1))
		noise := []float64{0, 0.02, 0.3, 0}[seed/10]
		for i := range p.Rows {
			if r.Float64() < noise {
				p.Labels[i] = int32(r.IntN(max(2, classes)))
			}
			if seed >= 30 && i%3 == 0 { // some rows are as the model says, some are not
				for j := range classes {
					p.F64[i*classes+j] *= 3
				}
			}
		}
		if seed%3 == 0 {
			p.Weights = make([]float64, p.Rows)
			for i := range p.Weights {
				p.Weights[i] = 1e6 * r.Float64()
			}
		}
		f, err := recal.ETS{}.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		m := f.(*recal.ETSMap)
		w := m.Weights()
		if want := temperatureOf(t, p).T(); m.T() != want {
			t.Errorf("T is %v, want %v", m.T(), want)
		}
		if s := w[0] + w[1] + w[2]; math.Abs(s-1) > 1e-15 || w[0] < 0 || w[1] < 0 || w[2] < 0 {
			t.Errorf("weights %v", w)
		}
		var rate [3]float64
		total := 0.0
		for i := range p.Rows {
			q := etsParts(p.F64[i*classes:][:classes], int(p.Labels[i]), m.T())
			weight := 1.0
			if p.Weights != nil {
				weight = p.Weights[i]
			}
			for k := range rate {
				rate[k] += weight * q[k] / (w[0]*q[0] + w[1]*q[1] + w[2]*q[2])
			}
			total += weight
		}
		on := ""
		for k := range rate {
			rate[k] /= total
		}
		for k := range rate {
			if w[k] > 0 {
				on += string("Tz1"[k])
			}
			if w[k] > 0 && math.Abs(rate[k]-1) > 1e-10 || rate[k] > 1+1e-10 {
				t.Errorf("seed %d, %d classes: weights %v, and the conditions %v", seed, classes, w, rate)
			}
		}
		seen[on] = true
		reads = max(reads, m.Fit().Reads-temperatureOf(t, p).Fit().Reads)
		if n := m.Fit().Reads; n > 25 {
			t.Errorf("seed %d: %d reads, %v", seed, n, w)
		}
	}
	t.Log(seen, reads)
	for _, on := range []string{"T", "T1", "Tz", "Tz1"} {
		if !seen[on] {
			t.Errorf("no case where %s is all that is above 0", on)
		}
	}
}

// TestETSApply: what is written is the mixture.
func TestETSApply(t *testing.T) {
	for _, classes := range []int{1, 2, 30} {
		m := temperatureETS(t, classes).(*recal.ETSMap)
		p := temperatureRandom(6, 100, classes, 2)
		dst := metrics.Scores{F64: make([]float64, len(p.F64)), Rows: p.Rows, Classes: classes}
		m.Apply(&dst, &p.Scores, metrics.Logits)
		w := m.Weights()
		for i := range p.Rows {
			for j := range classes {
				y := j
				if classes == 1 {
					y = 1
				}
				q := etsParts(p.F64[i*classes:][:classes], y, m.T())
				temperatureNear(t, "mixture", dst.F64[i*classes+j], w[0]*q[0]+w[1]*q[1]+w[2]*q[2], 1e-13)
			}
		}
	}
}

// TestETSHard: labels of hardly any probability, and models that are as they should be.
func TestETSHard(t *testing.T) {
	far := temperatureRandom(1, 1000, 3, 1)
	for i := range 20 {
		y := int(far.Labels[i])
		far.F64[i*3+y] -= 2000 // without 1/K its probability is 0
	}
	one := temperatureRandom(2, 1, 4, 1)
	two := temperatureRandom(3, 2, 2, 1)
	two.F64, two.Labels = []float64{0, 3, 0, 1}, []int32{1, 0}
	for name, p := range map[string]*metrics.Predictions{"far": far, "one row": one, "two rows": two,
		"a thousand classes": temperatureRandom(4, 300, 1000, 0.5), "wild": temperatureRandom(5, 200, 3, 1e6)} {
		f, err := recal.ETS{}.Fit(recal.InMemory(p), nil)
		if err != nil {
			if !strings.Contains(err.Error(), recal.ErrUnreachable.Error()) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		m := f.(*recal.ETSMap)
		t.Logf("%s: T = %v, weights %v, %d reads", name, m.T(), m.Weights(), m.Fit().Reads)
		if name == "far" && !(m.Weights()[2] > 0) {
			t.Errorf("%s: %v", name, m.Weights())
		}
	}
}

func TestETSParse(t *testing.T) {
	for _, s := range []string{"ets", "temperature"} {
		m, err := recal.Parse(s)
		if err != nil || m.String() != s {
			t.Error(m, err)
		}
		if _, err := recal.Parse(s + "(bins=3)"); err == nil {
			t.Errorf("%s takes bins", s)
		}
	}
}
