package regress_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// intervalEnds are rows of two quantiles, the ends of the central interval of a level.
func intervalEnds(low, high, y, w []float64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Quantiles, Observed: y, Weights: w, Scores: metrics.Scores{Rows: len(y), Classes: 2}}
	for i := range y {
		p.F64 = append(p.F64, low[i], high[i])
	}
	return p
}

func decomposed(t *testing.T, level float64, p *metrics.Predictions) *regress.IntervalCORP {
	t.Helper()
	a := metrics.Must(regress.NewIntervalCORP(&regress.PenaltyOptions{Level: level, Quantiles: []float64{(1 - level) / 2, (1 + level) / 2}}))
	passInto(t, p, a)
	return a
}

// TestIntervalCORPGolden compares with model-diagnostics, end by end, and with linear programs.
func TestIntervalCORPGolden(t *testing.T) {
	b, err := os.ReadFile("../../testdata/oracle/interval_parts.json")
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		Cases []struct {
			Level           float64
			Low, High, Y, W []float64
			Ends            []struct{ Peer, Program []float64 }
		}
	}
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, c := range o.Cases {
		a := decomposed(t, c.Level, intervalEnds(c.Low, c.High, c.Y, c.W))
		both, lower, upper := a.Decompose()
		for end, d := range []regress.Decomposition{lower, upper} {
			for by, want := range [][]float64{c.Ends[end].Peer, c.Ends[end].Program} {
				if want == nil {
					continue
				}
				compared++
				for part, got := range []float64{d.Score, d.MCB, d.DSC, d.UNC} {
					if math.Abs(got-want[part]) > 1e-12*max(1, d.Score) {
						t.Errorf("case %d, end %d, source %d: part %d is %v, want %v", i, end, by, part, got, want[part])
					}
				}
			}
		}
		s := metrics.Must(regress.NewIntervals(&regress.IntervalOptions{Levels: []float64{c.Level}, Quantiles: []float64{(1 - c.Level) / 2, (1 + c.Level) / 2}}))
		passInto(t, intervalEnds(c.Low, c.High, c.Y, c.W), s)
		if !quantileNear(both.Score, s.Score(c.Level), 1e-12) || !quantileNear(both.MCB-both.DSC+both.UNC, both.Score, 1e-12) {
			t.Errorf("case %d: %+v, and the interval score is %v", i, both, s.Score(c.Level))
		}
	}
	if compared < 30 {
		t.Errorf("%d ends were compared", compared)
	}
}

// TestIntervalCORPTruth: intervals by the distribution that observed values come from have an MCB that vanishes, and the same
// intervals widened, moved or shuffled have the MCB and the DSC that are to be expected.
func TestIntervalCORPTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, z = 60_000, 1.6448536269514722
	low, high, y := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range y {
		m := 2 * r.NormFloat64()
		low[i], high[i], y[i] = m-z, m+z, m+r.NormFloat64()
	}
	parts := func(by func(l, u float64) (float64, float64)) regress.Decomposition {
		l, u := slices.Clone(low), slices.Clone(high)
		for i := range l {
			l[i], u[i] = by(l[i], u[i])
		}
		d, _, _ := decomposed(t, 0.9, intervalEnds(l, u, y, nil)).Decompose()
		return d
	}
	// The interval score of a normal variable's 90% interval is 2 phi(z)/0.05 sd; of y, whose variance is 5, sqrt(5) times that.
	own := 2 * 0.10313564037537128 / 0.05
	honest := parts(func(l, u float64) (float64, float64) { return l, u })
	if math.Abs(honest.Score-own) > 0.02*own || honest.MCB > 0.01*own || math.Abs(honest.UNC-math.Sqrt(5)*own) > 0.02*own || math.Abs(honest.DSC-(math.Sqrt(5)-1)*own) > 0.02*math.Sqrt(5)*own {
		t.Errorf("honest intervals: %+v", honest)
	}
	// Any rising map of the ends leaves DSC and UNC as they are: all of the excess is miscalibration.
	for name, by := range map[string]func(l, u float64) (float64, float64){
		"wide":  func(l, u float64) (float64, float64) { return l - 1, u + 1 },
		"moved": func(l, u float64) (float64, float64) { return l + 3, u + 3 },
		"bent":  func(l, u float64) (float64, float64) { return 1.5*l - 1, 1.5*u + 1 },
	} {
		d := parts(by)
		if !quantileNear(d.DSC, honest.DSC, 1e-12) || d.UNC != honest.UNC || !quantileNear(d.MCB-honest.MCB, d.Score-honest.Score, 1e-9) || d.MCB < honest.MCB+0.1 {
			t.Errorf("%s intervals: %+v, honest ones %+v", name, d, honest)
		}
	}
	r.Shuffle(n, func(i, j int) { y[i], y[j] = y[j], y[i] })
	if d := parts(func(l, u float64) (float64, float64) { return l, u }); d.DSC > 0.02*own {
		t.Errorf("intervals of other rows: %+v", d)
	}
	same := parts(func(float64, float64) (float64, float64) { return -1, 1 })
	if same.DSC != 0 || same.MCB <= 0 {
		t.Errorf("one interval for all rows: %+v", same)
	}
}

// TestIntervalCORPKinds: means with standard deviations and samples give the parts of their intervals as quantiles.
func TestIntervalCORPKinds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n = 300
	normals := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: n, Classes: 3}}
	bare := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: n, Classes: 2}}
	samples := &metrics.Predictions{Kind: metrics.Samples, Scores: metrics.Scores{Rows: n, Classes: 3}}
	law := regress.LaplaceLaw
	z := law.Quantile(0.75)
	var low, high, first, last, y []float64
	for range n {
		m, sd, at := r.NormFloat64(), 1+r.Float64(), r.NormFloat64()
		normals.F64, bare.F64 = append(normals.F64, m, sd, at), append(bare.F64, at-m, sd)
		low, high, y = append(low, m-sd*z), append(high, m+sd*z), append(y, at)
		x := []float64{m - sd, m + sd*r.Float64(), m - sd*r.Float64()}
		samples.F64 = append(samples.F64, x...)
		slices.Sort(x)
		first, last = append(first, x[0]+0.5*(x[1]-x[0])), append(last, x[1]+0.5*(x[2]-x[1]))
	}
	samples.Observed = y
	for _, c := range []struct {
		p         *metrics.Predictions
		law       regress.Law
		low, high []float64
	}{{normals, law, low, high}, {samples, regress.NormalLaw, first, last}} {
		a := metrics.Must(regress.NewIntervalCORP(&regress.PenaltyOptions{Level: 0.5, Law: c.law}))
		passInto(t, c.p, a)
		got, _, _ := a.Decompose()
		want, _, _ := decomposed(t, 0.5, intervalEnds(c.low, c.high, y, nil)).Decompose()
		if !quantileNear(got.Score, want.Score, 1e-12) || !quantileNear(got.MCB, want.MCB, 1e-10) || !quantileNear(got.DSC, want.DSC, 1e-10) || got.UNC != want.UNC {
			t.Errorf("%v: %+v, want %+v", c.p.Kind, got, want)
		}
	}
	a := metrics.Must(regress.NewIntervalCORP(nil))
	passInto(t, bare, a)
	if d, _, _ := a.Decompose(); d.UNC == d.UNC || !strings.Contains(a.Reason(), "no mean") {
		t.Errorf("rows without means: %+v, %q", d, a.Reason())
	}
	a = metrics.Must(regress.NewIntervalCORP(&regress.PenaltyOptions{Level: 0.8, Quantiles: []float64{0.05, 0.95}}))
	passInto(t, intervalEnds(low, high, y, nil), a)
	if d, _, _ := a.Decompose(); d.UNC == d.UNC || !strings.Contains(a.Reason(), "0.1 and 0.9") {
		t.Errorf("quantiles of another interval: %+v, %q", d, a.Reason())
	}
	if d, _, _ := metrics.Must(regress.NewIntervalCORP(nil)).Decompose(); d.Score == d.Score {
		t.Errorf("no rows: %+v", d)
	}
}

// TestIntervalCORPOverflow: scores beyond float64 are +Inf, and states with rows that no predictions have are refused.
func TestIntervalCORPOverflow(t *testing.T) {
	huge := decomposed(t, 0.9, intervalEnds([]float64{1e308, 0}, []float64{1.5e308, 1}, []float64{-1e308, 0}, nil))
	if d, _, _ := huge.Decompose(); !math.IsInf(d.Score, 1) || !math.IsInf(d.MCB, 1) {
		t.Errorf("%+v", d)
	}
	state := quantileState(t, decomposed(t, 0.9, intervalEnds([]float64{0, 1}, []float64{2, 3}, []float64{1, 1}, nil)))
	var a regress.IntervalCORP
	if err := a.UnmarshalBinary(state); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range state {
		damaged := slices.Clone(state)
		damaged[i] ^= 0x80
		var b regress.IntervalCORP
		if b.UnmarshalBinary(damaged) != nil {
			refused++
		} else if again := quantileState(t, &b); !bytes.Equal(again, damaged) {
			t.Errorf("byte %d: a damaged state is read as another", i)
		}
	}
	if refused == 0 {
		t.Error("no damaged state is refused")
	}
}

// TestIntervalCORPReal compares with model-diagnostics 1.5.0, whose parts of the pinball losses of levels 0.05 and 0.95 are added and
// times 20, for COVID-19 forecasts by four models. To the hub's baseline, recalibrated ends would save a third of its score for
// cases, and more than half of it for deaths.
func TestIntervalCORPReal(t *testing.T) {
	var meta struct{}
	head, rows := calibrationTable(t, calibrationReal(t, "covid_eu_quantiles23", "table.csv", &meta))
	for _, c := range []struct {
		model, target string
		want          []float64
	}{
		{"EuroCOVIDhub-baseline", "Cases", []float64{344589.328125, 112846.59374999997, 167374.04687500012, 399116.7812500001}},
		{"EuroCOVIDhub-ensemble", "Cases", []float64{232363.1640625, 50214.50781250003, 216968.12500000015, 399116.7812500001}},
		{"epiforecasts-EpiNow2", "Cases", []float64{277698.10156250006, 86266.60937500001, 207685.28906250012, 399116.7812500001}},
		{"EuroCOVIDhub-baseline", "Deaths", []float64{1754.375000000001, 1045.6484375000005, 699.9296875000002, 1408.6562500000007}},
		{"EuroCOVIDhub-ensemble", "Deaths", []float64{487.32812500000034, 313.5937500000002, 1234.9218750000005, 1408.6562500000007}},
		{"UMass-MechBayes", "Deaths", []float64{468.3125000000002, 234.78906250000006, 1175.1328125000005, 1408.6562500000007}},
		{"epiforecasts-EpiNow2", "Deaths", []float64{614.2941176470591, 349.3361344537817, 1155.6134453781515, 1420.571428571429}},
	} {
		var low, high, y []float64
		for _, row := range rows {
			if row[4] == c.model && row[3] == c.target {
				low = append(low, calibrationNumber(t, row[slices.Index(head, "q0.050")]))
				high = append(high, calibrationNumber(t, row[slices.Index(head, "q0.950")]))
				y = append(y, calibrationNumber(t, row[6]))
			}
		}
		d, _, _ := decomposed(t, 0.9, intervalEnds(low, high, y, nil)).Decompose()
		for part, got := range []float64{d.Score, d.MCB, d.DSC, d.UNC} {
			if !quantileNear(got, c.want[part], 1e-12) {
				t.Errorf("%s, %s: part %d is %v, want %v", c.model, c.target, part, got, c.want[part])
			}
		}
	}
}

func BenchmarkIntervalCORP(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 1_000_000
	low, high, y := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range y {
		m := r.NormFloat64()
		low[i], high[i], y[i] = m-1.6, m+1.6, m+r.NormFloat64()
	}
	p := intervalEnds(low, high, y, nil)
	b.SetBytes(24 * n)
	for b.Loop() {
		a := metrics.Must(regress.NewIntervalCORP(&regress.PenaltyOptions{Quantiles: []float64{0.05, 0.95}}))
		if err := metrics.NewPass(nil, a).Add(p); err != nil {
			b.Fatal(err)
		}
		a.Decompose()
	}
}
