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
	"github.com/candor-go/candor/metrics/score"
)

// infinity is a number that a script writes as text if it is infinite.
type infinity float64

func (f *infinity) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"-Inf"`:
		*f = infinity(math.Inf(-1))
	case `"+Inf"`:
		*f = infinity(math.Inf(1))
	default:
		return json.Unmarshal(b, (*float64)(f))
	}
	return nil
}

// weightedOracle is the content of testdata/oracle/weighted.json.
type weightedOracle struct {
	Samples []struct {
		X        [][]float64
		Y        []float64
		From, To infinity
		V, Fair  []float64
	}
	Laws []struct {
		Law      string
		Mean, SD float64
		Y        float64
		From, To infinity
		Value    float64
	}
	Quantiles []struct {
		Law, Emphasis string
		Mean, SD      float64
		Y             float64
		Value         float64
	}
	Steps []struct {
		Emphasis string
		X        []float64
		Y, Value float64
	}
	Intervals struct {
		Low, High, Y []float64
		Parts        []struct{ Level, Total, Width, Under, Over float64 }
	}
}

func readWeighted(t *testing.T) (o weightedOracle) {
	t.Helper()
	b, err := os.ReadFile("../../testdata/oracle/weighted.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Samples) == 0 || len(o.Laws) == 0 || len(o.Quantiles) == 0 || len(o.Steps) == 0 || len(o.Intervals.Parts) == 0 {
		t.Fatal("the file has no cases")
	}
	return o
}

func passInto(t *testing.T, p *metrics.Predictions, a ...metrics.Accumulator) {
	t.Helper()
	if err := metrics.NewPass(nil, a...).Add(p); err != nil {
		t.Fatal(err)
	}
}

func emphasisOf(t *testing.T, name string) regress.Emphasis {
	t.Helper()
	for e := regress.Everywhere; e <= regress.RightTail; e++ {
		if e.String() == name {
			return e
		}
	}
	t.Fatal(name)
	return 0
}

func normalRows(rows ...[3]float64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: len(rows), Classes: 3}}
	for _, r := range rows {
		p.F64 = append(p.F64, r[:]...)
	}
	return p
}

func sampleRows(x [][]float64, y []float64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Samples, Scores: metrics.Scores{Rows: len(x), Classes: len(x[0])}, Observed: y}
	for _, r := range x {
		p.F64 = append(p.F64, r...)
	}
	return p
}

// TestWeightedCRPSPeers compares with scoringrules, scores and quadrature.
func TestWeightedCRPSPeers(t *testing.T) {
	o := readWeighted(t)
	mean := func(v []float64) (m float64) {
		for _, x := range v {
			m += x / float64(len(v))
		}
		return m
	}
	for _, c := range o.Samples {
		p := sampleRows(c.X, c.Y)
		for _, fair := range []bool{false, true} {
			want := mean(c.V)
			if fair {
				want = mean(c.Fair)
			}
			s := metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{From: float64(c.From), To: float64(c.To), Fair: fair}))
			passInto(t, p, s)
			got := s.Value()
			if fair && len(c.X[0]) == 1 {
				if !math.IsNaN(got) || s.Reason() != "there is a single sample a row" {
					t.Errorf("one sample: fair score %v, %q", got, s.Reason())
				}
			} else if !(math.Abs(got-want) <= 1e-13*(1+math.Abs(mean(c.V)))) {
				t.Errorf("%d samples from %v to %v, fair %v: %v, want %v", len(c.X[0]), c.From, c.To, fair, got, want)
			}
		}
	}
	for _, c := range o.Laws {
		s := metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{From: float64(c.From), To: float64(c.To), Law: metrics.Must(regress.ParseLaw(c.Law))}))
		passInto(t, normalRows([3]float64{c.Mean, c.SD, c.Y}), s)
		if got := s.Value(); !(math.Abs(got-c.Value) <= 1e-10*(1+c.Value)) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for _, c := range o.Quantiles {
		s := metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{Emphasis: emphasisOf(t, c.Emphasis), Law: metrics.Must(regress.ParseLaw(c.Law))}))
		passInto(t, normalRows([3]float64{c.Mean, c.SD, c.Y}), s)
		if got := s.Value(); !(math.Abs(got-c.Value) <= 1e-7*(1+c.Value)) { // the quadrature of the script is no better
			t.Errorf("%+v: %v", c, got)
		}
	}
	for _, c := range o.Steps {
		s := metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{Emphasis: emphasisOf(t, c.Emphasis)}))
		passInto(t, sampleRows([][]float64{c.X}, []float64{c.Y}), s)
		if got := s.Value(); !(math.Abs(got-c.Value) <= 1e-13*(1+c.Value)) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestWeightedCRPSWhole checks that all values and levels together make the CRPS, and that parts of the line, and of the
// levels, sum to it.
func TestWeightedCRPSWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, law := range []string{"normal", "laplace", "logistic", "t(df=2.5)", "t(df=40)"} {
		l := metrics.Must(regress.ParseLaw(law))
		for range 60 {
			e, sd := r.NormFloat64()*math.Exp(4*r.NormFloat64()), math.Exp(3*r.NormFloat64())
			p := normalRows([3]float64{0, sd, e})
			at := func(o regress.WeightedCRPSOptions) float64 {
				o.Law = l
				s := metrics.Must(regress.NewWeightedCRPS(&o))
				passInto(t, p, s)
				return s.Value()
			}
			want := l.CRPS(e, sd)
			near := func(what string, got float64) {
				t.Helper()
				if !(math.Abs(got-want) <= 1e-12*want) {
					t.Errorf("%s, e %v, sd %v: %s is %v, want %v", law, e, sd, what, got, want)
				}
			}
			near("everything", at(regress.WeightedCRPSOptions{}))
			cut := e * r.Float64() * 2
			near("both sides", at(regress.WeightedCRPSOptions{From: math.Inf(-1), To: cut})+at(regress.WeightedCRPSOptions{From: cut, To: math.Inf(1)}))
			// (2p-1)^2 + 4p(1-p) = 1, and p^2 + (1-p)^2 + 2p(1-p) = 1.
			centre := at(regress.WeightedCRPSOptions{Emphasis: regress.Centre})
			near("tails and centre", at(regress.WeightedCRPSOptions{Emphasis: regress.Tails})+4*centre)
			near("left, right and centre", at(regress.WeightedCRPSOptions{Emphasis: regress.LeftTail})+at(regress.WeightedCRPSOptions{Emphasis: regress.RightTail})+2*centre)
		}
	}
	levels := []float64{0.05, 0.3, 0.5, 0.8}
	x, y := [][]float64{{-1, 0, 1, 5}, {2, 2, 3, 4}, {-4, -3, -2, 1}}, []float64{0.5, 7, -9}
	p := sampleRows(x, y)
	for _, fair := range []bool{false, true} {
		s, form := metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{Fair: fair})), score.CRPSV
		if fair {
			form = score.CRPSFair
		}
		passInto(t, p, s)
		if got, want := s.Value(), metrics.Must(score.CRPS(p, form, nil)); !(math.Abs(got-want) <= 1e-15*want) {
			t.Errorf("samples: %v, want %v", got, want)
		}
	}
	p.Kind = metrics.Quantiles
	q := metrics.Must(regress.NewQuantiles(&regress.QuantileOptions{Levels: levels}))
	passInto(t, p, q)
	value := func(o regress.WeightedCRPSOptions) float64 {
		o.Quantiles = levels
		s := metrics.Must(regress.NewWeightedCRPS(&o))
		passInto(t, p, s)
		return s.Value()
	}
	if got, want := value(regress.WeightedCRPSOptions{}), q.CRPS(); !(math.Abs(got-want) <= 1e-15*want) {
		t.Errorf("quantiles: %v, want %v", got, want)
	}
	if got, want := value(regress.WeightedCRPSOptions{Emphasis: regress.Tails})+4*value(regress.WeightedCRPSOptions{Emphasis: regress.Centre}), q.CRPS(); !(math.Abs(got-want) <= 1e-15*want) {
		t.Errorf("quantiles, tails and centre: %v, want %v", got, want)
	}
	if got, want := value(regress.WeightedCRPSOptions{From: math.Inf(-1), To: 1})+value(regress.WeightedCRPSOptions{From: 1, To: math.Inf(1)}), q.CRPS(); !(math.Abs(got-want) <= 1e-14*want) {
		t.Errorf("quantiles, both sides: %v, want %v", got, want)
	}
}

// TestPenaltiesPeers compares with scores and scoringrules, and with Intervals for other kinds.
func TestPenaltiesPeers(t *testing.T) {
	o := readWeighted(t).Intervals
	for _, c := range o.Parts {
		levels := []float64{(1 - c.Level) / 2, (1 + c.Level) / 2}
		p := &metrics.Predictions{Kind: metrics.Quantiles, Scores: metrics.Scores{Rows: len(o.Y), Classes: 2}, Observed: o.Y}
		for i := range o.Y {
			p.F64 = append(p.F64, o.Low[i], o.High[i])
		}
		s := metrics.Must(regress.NewPenalties(&regress.PenaltyOptions{Level: c.Level, Quantiles: levels}))
		a := metrics.Must(regress.NewIntervals(&regress.IntervalOptions{Levels: []float64{c.Level}, Quantiles: levels}))
		passInto(t, p, s, a)
		for what, v := range map[string][2]float64{"under": {s.Underprediction(), c.Under}, "over": {s.Overprediction(), c.Over},
			"width": {a.Width(c.Level), c.Width}, "total": {a.Score(c.Level), c.Total}} {
			if !(math.Abs(v[0]-v[1]) <= 1e-13*(1+v[1])) {
				t.Errorf("level %v: %s is %v, want %v", c.Level, what, v[0], v[1])
			}
		}
	}
	r := rand.New(rand.NewPCG(8, 9))
	var rows [][3]float64
	var x [][]float64
	var y []float64
	for range 500 {
		rows = append(rows, [3]float64{r.NormFloat64(), 0.2 + r.Float64(), 2 * r.NormFloat64()})
		x = append(x, []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()})
		y = append(y, 2*r.NormFloat64())
	}
	for _, p := range []*metrics.Predictions{normalRows(rows...), sampleRows(x, y)} {
		s, a := metrics.Must(regress.NewPenalties(nil)), metrics.Must(regress.NewIntervals(nil))
		passInto(t, p, s, a)
		got, want := s.Underprediction()+s.Overprediction()+a.Width(0.9), a.Score(0.9)
		if !(math.Abs(got-want) <= 1e-13*want) || !(s.Underprediction() > 0 && s.Overprediction() > 0) {
			t.Errorf("%v: parts sum to %v, want %v", p.Kind, got, want)
		}
	}
}

// TestWeightedLaws checks that parts, orders and merges give one state, for each kind, with and without weights.
func TestWeightedLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	levels := []float64{0.05, 0.25, 0.5, 0.95}
	for _, kind := range []metrics.Kind{metrics.Normals, metrics.Samples, metrics.Quantiles} {
		for _, weighted := range []bool{false, true} {
			const n = 1500
			classes := 4
			if kind == metrics.Normals {
				classes = 3
			}
			p := &metrics.Predictions{Kind: kind, Scores: metrics.Scores{Rows: n, Classes: classes}}
			for range n {
				row := make([]float64, classes)
				unit := 1.0
				if r.IntN(10) == 0 {
					unit = math.Ldexp(1, r.IntN(600)-300)
				}
				for j := range row {
					row[j] = unit * r.NormFloat64()
				}
				switch kind {
				case metrics.Normals:
					row[1] = math.Abs(row[1]) + 0x1p-1000
				case metrics.Quantiles:
					slices.Sort(row)
				}
				p.F64 = append(p.F64, row...)
				if kind != metrics.Normals {
					p.Observed = append(p.Observed, unit*r.NormFloat64())
				}
				if weighted {
					p.Weights = append(p.Weights, float64(r.IntN(4)))
				}
			}
			var quantiles []float64
			if kind == metrics.Quantiles {
				quantiles = levels
			}
			fresh := func() []metrics.Accumulator {
				return []metrics.Accumulator{
					metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{From: -0.5, To: 2, Fair: kind == metrics.Samples, Quantiles: quantiles})),
					metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{Emphasis: regress.LeftTail, Quantiles: quantiles})),
					metrics.Must(regress.NewPenalties(&regress.PenaltyOptions{Level: 0.9, Quantiles: quantiles})),
				}
			}
			whole := fresh()
			passInto(t, p, whole...)
			merged := fresh()
			for _, part := range [][2]int{{900, n}, {0, 1}, {1, 900}} {
				q := p.Slice(part[0], part[1])
				some := fresh()
				passInto(t, &q, some...)
				for i, a := range some {
					b := metrics.Must(a.AppendBinary(nil))
					back := fresh()[i]
					if err := back.UnmarshalBinary(b); err != nil {
						t.Fatal(err)
					}
					if err := merged[i].Merge(back); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i := range whole {
				a := metrics.Must(whole[i].AppendBinary(nil))
				b := metrics.Must(merged[i].AppendBinary(nil))
				if !bytes.Equal(a, b) {
					t.Errorf("%v, weights %v: accumulator %d: merged parts are another state", kind, weighted, i)
				}
			}
		}
	}
}

// TestWeightedErrors checks options, reasons and refused merges.
func TestWeightedErrors(t *testing.T) {
	for _, o := range []regress.WeightedCRPSOptions{{From: 1, To: 1}, {From: 2, To: 1}, {From: math.NaN(), To: 1}, {Emphasis: 9}, {Emphasis: regress.Tails, Fair: true},
		{Quantiles: []float64{0.5, 0.4}}} {
		if _, err := regress.NewWeightedCRPS(&o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	for _, o := range []regress.PenaltyOptions{{Level: 1}, {Level: -0.1}, {Quantiles: []float64{0.5, 0.4}}} {
		if _, err := regress.NewPenalties(&o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	s := metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{From: 1, To: 2}))
	if !math.IsNaN(s.Value()) || s.Reason() != "there are no rows" || !math.IsNaN(s.Interval(0.95).Low) {
		t.Error("without rows:", s.Value(), s.Reason())
	}
	errorsOnly := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: 2, Classes: 2, F64: []float64{0, 1, 2, 3}}}
	passInto(t, errorsOnly, s)
	if !math.IsNaN(s.Value()) || !strings.Contains(s.Reason(), "have no mean") || s.Len() != 2 {
		t.Error("rows of errors:", s.Value(), s.Reason())
	}
	all := metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{Emphasis: regress.Tails}))
	passInto(t, errorsOnly, all)
	if !(all.Value() > 0) || all.Reason() != "" {
		t.Error("rows of errors, quantile-weighted:", all.Value(), all.Reason())
	}
	lone := metrics.Must(regress.NewPenalties(&regress.PenaltyOptions{Level: 0.5, Quantiles: []float64{0.5}}))
	passInto(t, &metrics.Predictions{Kind: metrics.Quantiles, Scores: metrics.Scores{Rows: 1, Classes: 1, F64: []float64{0}}, Observed: []float64{1}}, lone)
	if !math.IsNaN(lone.Underprediction()) || !math.IsNaN(lone.OverpredictionInterval(0.95).Low) || !strings.Contains(lone.Reason(), "0.25 and 0.75") {
		t.Error("without the interval:", lone.Underprediction(), lone.Reason())
	}
	w := func(o regress.WeightedCRPSOptions) metrics.Accumulator {
		return metrics.Must(regress.NewWeightedCRPS(&o))
	}
	n := func(o regress.PenaltyOptions) metrics.Accumulator { return metrics.Must(regress.NewPenalties(&o)) }
	with := func(a metrics.Accumulator, p *metrics.Predictions) metrics.Accumulator { passInto(t, p, a); return a }
	for text, pair := range map[string][2]metrics.Accumulator{
		"from 1 to 2 and from 1 to 3":       {w(regress.WeightedCRPSOptions{From: 1, To: 2}), w(regress.WeightedCRPSOptions{From: 1, To: 3})},
		"emphases tails and left":           {w(regress.WeightedCRPSOptions{Emphasis: regress.Tails}), w(regress.WeightedCRPSOptions{Emphasis: regress.LeftTail})},
		"of the fair form":                  {w(regress.WeightedCRPSOptions{Fair: true}), w(regress.WeightedCRPSOptions{})},
		"of quantiles at [0.5] and at []":   {w(regress.WeightedCRPSOptions{Quantiles: []float64{0.5}}), w(regress.WeightedCRPSOptions{})},
		"of normal and of laplace":          {w(regress.WeightedCRPSOptions{}), w(regress.WeightedCRPSOptions{Law: regress.LaplaceLaw})},
		"rows with means and without":       {with(w(regress.WeightedCRPSOptions{To: 2}), normalRows([3]float64{0, 1, 0})), with(w(regress.WeightedCRPSOptions{To: 2}), errorsOnly)},
		"of the levels 0.5 and 0.9":         {n(regress.PenaltyOptions{Level: 0.5}), n(regress.PenaltyOptions{})},
		"and *regress.WeightedCRPS":         {n(regress.PenaltyOptions{}), w(regress.WeightedCRPSOptions{})},
		"Penalties of quantiles at [0.5]":   {n(regress.PenaltyOptions{Quantiles: []float64{0.5}}), n(regress.PenaltyOptions{})},
		"of normal and of samples":          {with(n(regress.PenaltyOptions{}), normalRows([3]float64{0, 1, 0})), with(n(regress.PenaltyOptions{}), sampleRows([][]float64{{1, 2}}, []float64{1}))},
		"Penalties of normal and of t(df=3": {n(regress.PenaltyOptions{}), n(regress.PenaltyOptions{Law: regress.StudentLaw(3)})},
	} {
		was := metrics.Must(pair[0].AppendBinary(nil))
		err := pair[0].Merge(pair[1])
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
		if now := metrics.Must(pair[0].AppendBinary(nil)); !bytes.Equal(was, now) {
			t.Errorf("%q: the receiver has changed", text)
		}
	}
}

// TestWeightedRowMetrics checks that row values average to the accumulators' means.
func TestWeightedRowMetrics(t *testing.T) {
	levels := []float64{0.05, 0.25, 0.75, 0.95}
	p := sampleRows([][]float64{{-1, 0, 1, 5}, {2, 2, 3, 4}, {-4, -3, -2, 1}}, []float64{0.5, 7, -9})
	q := *p
	q.Kind = metrics.Quantiles
	l := regress.StudentLaw(4)
	for _, c := range []struct {
		p       *metrics.Predictions
		law     regress.Law
		name    string
		options regress.WeightedCRPSOptions
	}{
		{p, regress.NormalLaw, "twcrps(from=0,fair)", regress.WeightedCRPSOptions{To: math.Inf(1), Fair: true}},
		{p, regress.NormalLaw, "twcrps(from=-2,to=1.5)", regress.WeightedCRPSOptions{From: -2, To: 1.5}},
		{p, regress.NormalLaw, "qwcrps", regress.WeightedCRPSOptions{Emphasis: regress.Tails}},
		{&q, regress.NormalLaw, "qwcrps(emphasis=right)", regress.WeightedCRPSOptions{Emphasis: regress.RightTail, Quantiles: levels}},
		{&q, regress.NormalLaw, "twcrps(to=0)", regress.WeightedCRPSOptions{From: math.Inf(-1), Quantiles: levels}},
		{normalRows([3]float64{0, 1, 3}, [3]float64{2, 5, -8}), l, "twcrps(to=1)", regress.WeightedCRPSOptions{From: math.Inf(-1), To: 1, Law: l}},
		{normalRows([3]float64{0, 1, 3}, [3]float64{2, 5, -8}), l, "qwcrps(emphasis=centre)", regress.WeightedCRPSOptions{Emphasis: regress.Centre, Law: l}},
	} {
		m, err := regress.ParseRowMetric(c.name, c.p.Kind, c.options.Quantiles)
		if c.p.Kind == metrics.Normals {
			m, err = regress.LawRowMetric(c.name, c.law)
		}
		if err != nil || m.Name != c.name {
			t.Fatal(c.name, m.Name, err)
		}
		s := metrics.Must(regress.NewWeightedCRPS(&c.options))
		rows := &rowMean{of: m.New(), need: m.Need}
		passInto(t, c.p, s, rows)
		if got, want := rows.sum/float64(c.p.Rows), s.Value(); !(math.Abs(got-want) <= 1e-15*(1+want)) {
			t.Errorf("%s: rows average %v, want %v", c.name, got, want)
		}
	}
	for name, text := range map[string]string{"twcrps(from=2,to=1)": "holds no values", "twcrps(from=x)": `from is "x"`, "twcrps(emphasis=left)": `no option "emphasis"`, "twcrps(from=1": "it is NAME",
		"qwcrps(emphasis=up)": "it is one of centre, tails, left, right", "qwcrps(from=1)": `no option "from"`, "qwcrps(fair)": `no option "fair"`} {
		if _, err := regress.ParseRowMetric(name, metrics.Samples, nil); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := regress.LawRowMetric("twcrps(fair)", regress.NormalLaw); err == nil {
		t.Error("a fair form of normal forecasts")
	}
}

// rowMean sums the values of rows.
type rowMean struct {
	metrics.Accumulator
	of   func([]float64, *metrics.Block)
	need metrics.Need
	sum  float64
}

func (m *rowMean) Len() int64                      { return 0 }
func (m *rowMean) Needs() metrics.Need             { return m.need }
func (m *rowMean) Empty() metrics.Accumulator      { return m }
func (m *rowMean) Merge(metrics.Accumulator) error { return nil }
func (m *rowMean) AddBlock(b *metrics.Block) {
	v := make([]float64, b.Rows)
	m.of(v, b)
	for _, x := range v {
		m.sum += x
	}
}

func FuzzWeightedCRPSUnmarshal(f *testing.F) {
	for _, o := range []regress.WeightedCRPSOptions{{}, {From: -1, To: 2, Fair: true}, {Emphasis: regress.Centre, Law: regress.LogisticLaw}} {
		s := metrics.Must(regress.NewWeightedCRPS(&o))
		f.Add(metrics.Must(s.AppendBinary(nil)))
		if err := metrics.NewPass(nil, s).Add(sampleRows([][]float64{{1, 2}, {3, 4}}, []float64{1, 9})); err != nil {
			f.Fatal(err)
		}
		f.Add(metrics.Must(s.AppendBinary(nil)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s regress.WeightedCRPS
		if s.UnmarshalBinary(data) != nil {
			return
		}
		if b := metrics.Must(s.AppendBinary(nil)); !bytes.Equal(b, data) {
			t.Error("another state is written")
		}
		s.Value()
		s.Interval(0.9)
	})
}

func FuzzPenaltiesUnmarshal(f *testing.F) {
	s := metrics.Must(regress.NewPenalties(nil))
	f.Add(metrics.Must(s.AppendBinary(nil)))
	if err := metrics.NewPass(nil, s).Add(sampleRows([][]float64{{1, 2}, {3, 4}}, []float64{1, 9})); err != nil {
		f.Fatal(err)
	}
	f.Add(metrics.Must(s.AppendBinary(nil)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s regress.Penalties
		if s.UnmarshalBinary(data) != nil {
			return
		}
		if b := metrics.Must(s.AppendBinary(nil)); !bytes.Equal(b, data) {
			t.Error("another state is written")
		}
		s.Underprediction()
		s.OverpredictionInterval(0.9)
	})
}
