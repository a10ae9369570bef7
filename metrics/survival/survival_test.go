package survival

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// law draws rows whose event happens by 1 with probability m(p), and which are censored.
type law struct {
	name      string
	m         func(p float64) float64
	censoring float64 // mean time of censoring at p = 0; it is twice that at p = 1
	end       float64 // of the study
	even      bool    // censoring does not depend on p
}

func (l *law) draw(r *rand.Rand, n int) *Rows {
	rows := &Rows{}
	for range n {
		p := r.Float64()
		t := r.ExpFloat64() / -math.Log1p(-math.Min(l.m(p), 0.999))
		c := r.ExpFloat64() * l.censoring
		if !l.even {
			c *= 1 + p
		}
		c = math.Min(c, l.end)
		rows.Risks, rows.Times, rows.Events = append(rows.Risks, p), append(rows.Times, math.Max(1e-9, math.Min(t, c))), append(rows.Events, t <= c)
	}
	return rows
}

func curved(p float64) float64 { return 0.7*p*p + 0.3*p }

// tied draws few distinct values, so that there are ties of every kind.
func tied(r *rand.Rand, n int, weights bool) *Rows {
	rows := &Rows{}
	for range n {
		rows.Risks = append(rows.Risks, float64(r.IntN(6))/5)
		rows.Times = append(rows.Times, float64(1+r.IntN(8)))
		rows.Events = append(rows.Events, r.IntN(3) > 0)
		if weights {
			rows.Weights = append(rows.Weights, float64(1+r.IntN(3)))
		}
	}
	return rows
}

// TestConcordancePairs compares with all pairs one by one, with ties and weights.
func TestConcordancePairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		rows := tied(r, 2+r.IntN(30), r.IntN(2) == 0)
		horizon := float64(2 + r.IntN(8))
		g, err := CensoringCurve(rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, uno := range []bool{false, true} {
			var good, all float64
			for i, ti := range rows.Times {
				if !rows.Events[i] || uno && ti >= horizon {
					continue
				}
				w := rows.weight(i)
				if uno {
					w /= g.Before(ti) * g.Before(ti)
				}
				for j, tj := range rows.Times {
					if ti < tj || ti == tj && !rows.Events[j] {
						all += w * rows.weight(j)
						switch {
						case rows.Risks[i] > rows.Risks[j]:
							good += w * rows.weight(j)
						case rows.Risks[i] == rows.Risks[j]:
							good += w * rows.weight(j) / 2
						}
					}
				}
			}
			e, err := Concordance(rows)
			if uno {
				e, err = ConcordanceIPCW(rows, horizon)
			}
			if all == 0 {
				if !errors.Is(err, errNoPairs) {
					t.Errorf("no pairs: %v", err)
				}
			} else if err != nil || math.Abs(e.Value-good/all) > 1e-12 {
				t.Errorf("uno %v: %v, want %v; %v", uno, e.Value, good/all, err)
			}
		}
	}
}

// TestWeightsAreCopies: a weight of 3 is three equal rows.
func TestWeightsAreCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 100 {
		rows := tied(r, 40, true)
		copies := &Rows{}
		for i, w := range rows.Weights {
			for range int(w) {
				copies.Risks, copies.Times, copies.Events = append(copies.Risks, rows.Risks[i]), append(copies.Times, rows.Times[i]), append(copies.Events, rows.Events[i])
			}
		}
		// Copies have the same time, so their pairs do not exist: equal values, but for the concordance, where weights multiply alike.
		for name, f := range map[string]func(*Rows) (Estimate, error){
			"brier":    func(r *Rows) (Estimate, error) { return Brier(r, 5) },
			"auroc":    func(r *Rows) (Estimate, error) { return AUROC(r, 5) },
			"in large": func(r *Rows) (Estimate, error) { return InTheLarge(r, 5) },
			"c":        Concordance,
			"uno":      func(r *Rows) (Estimate, error) { return ConcordanceIPCW(r, 7) },
			"ece": func(r *Rows) (Estimate, error) {
				d, err := ReliabilityOf(r, 5, 4)
				if err != nil {
					return Estimate{}, err
				}
				return Estimate{Value: d.ECE}, nil
			},
		} {
			a, errA := f(rows)
			b, errB := f(copies)
			if (errA == nil) != (errB == nil) || errA == nil && math.Abs(a.Value-b.Value) > 1e-12 {
				t.Errorf("%s: %v with weights (%v), %v with copies (%v)", name, a.Value, errA, b.Value, errB)
			}
		}
	}
}

// TestOrder: no answer depends on the order of the rows.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	l := law{m: curved, censoring: 1, end: math.Inf(1)}
	rows := l.draw(r, 120)
	order := r.Perm(120)
	mixed := &Rows{}
	for _, i := range order {
		mixed.Risks, mixed.Times, mixed.Events = append(mixed.Risks, rows.Risks[i]), append(mixed.Times, rows.Times[i]), append(mixed.Events, rows.Events[i])
	}
	a, errA := CensoredOf(rows, 1, nil)
	b, errB := CensoredOf(mixed, 1, nil)
	if errA != nil || errB != nil || math.Abs(a.Squared-b.Squared) > 1e-14 || a.Chosen != b.Chosen {
		t.Error(a, b, errA, errB)
	}
}

// TestThreads: nor on the number of threads.
func TestThreads(t *testing.T) {
	l := law{m: curved, censoring: 1, end: math.Inf(1)}
	rows := l.draw(rand.New(rand.NewPCG(4, 1)), 150)
	for _, o := range []CensoredOptions{{}, {Nearby: Cubic}, {Nearby: Nearest, Weights: ChiWeights}} {
		o.Threads = 1
		one, err := CensoredOf(rows, 1, &o)
		if err != nil {
			t.Fatal(err)
		}
		o.Threads = 3
		three, err := CensoredOf(rows, 1, &o)
		if err != nil || *one != *three {
			t.Errorf("%+v, %+v, %v", one, three, err)
		}
	}
}

// TestUncensored: without censoring, the estimate is the mean of (p-y)(p-c) with c the local share of events, as for classifiers.
func TestUncensored(t *testing.T) {
	l := law{m: curved, censoring: math.Inf(1), end: math.Inf(1)}
	rows := l.draw(rand.New(rand.NewPCG(5, 1)), 80)
	o := (&CensoredOptions{Folds: 4}).normal()
	c := newCrossFit(rows, 1, &o)
	c.use(rows.deal(4, 0, 0))
	const h = 0.2
	x := c.local(h)
	for i, p := range rows.Risks {
		var events, all float64
		for j, q := range rows.Risks {
			if c.fold[j] == c.fold[i] {
				continue
			}
			w := math.Exp(-(p - q) * (p - q) / h / h)
			all += w
			if rows.Times[j] <= 1 {
				events += w
			}
		}
		y := 0.0
		if rows.Times[i] <= 1 {
			y = 1
		}
		share := events / all
		if !x.fit(i) {
			t.Fatal("no fit")
		}
		stat, influence, weight := x.row(i)
		if weight != 1 || math.Abs(stat-(p-y)*(p-share)) > 1e-12 {
			t.Fatalf("row %d: %v with weight %v, want %v", i, stat, weight, (p-y)*(p-share))
		}
		// The influence of a Kaplan-Meier curve without censoring is that of a mean.
		if want := (p - share) * (p + share - 2*y); math.Abs(influence-want) > 0.2 && x.under[len(x.grid)-1] > 0.1 {
			t.Errorf("row %d: influence %v, want about %v", i, influence, want)
		}
	}
}

// TestCensoredInterval: the low end is that of the square; the high end is that of the root where the estimate is clear of 0, and is continuous and
// rises with the estimate everywhere.
func TestCensoredInterval(t *testing.T) {
	z := metrics.Z(0.95)
	clear := Censored{Squared: 0.04, SE: 0.005}
	if i := clear.Interval(0.95); math.Abs(i.Low-math.Sqrt(0.04-0.005*z)) > 1e-15 || math.Abs(i.High-(0.2+0.005*z/0.4)) > 1e-15 {
		t.Errorf("%v", i)
	}
	before := math.NaN()
	for k := range 4000 {
		c := Censored{Squared: -0.02 + float64(k)*1e-5, SE: 0.005}
		i := c.Interval(0.95)
		if k > 0 && !(i.High >= before && i.High-before < 0.01) {
			t.Fatalf("the high end of %v is %v, and just before it was %v", c.Squared, i.High, before)
		}
		if before = i.High; i.Low > c.RMS() || i.High < c.RMS() {
			t.Fatalf("%v is not in %v", c.RMS(), i)
		}
	}
	if i := (&Censored{}).Interval(0.95); i != (metrics.Interval{}) {
		t.Errorf("without an error or any variance: %v", i)
	}
}

// TestNoInterval: an estimate that is known to be too low has none, and as coded it has.
func TestNoInterval(t *testing.T) {
	l := law{m: curved, censoring: 1, end: math.Inf(1)}
	rows := l.draw(rand.New(rand.NewPCG(11, 1)), 100)
	for _, c := range []struct {
		o    CensoredOptions
		none bool
	}{{CensoredOptions{}, false}, {CensoredOptions{Orthogonal: true}, true}, {CensoredOptions{Orthogonal: true, AsCoded: true}, false}} {
		s, err := CensoredOf(rows, 1, &c.o)
		if err != nil || math.IsNaN(s.Interval(0.95).Low) != c.none {
			t.Errorf("%+v: %v, %v", c.o, s.Interval(0.95), err)
		}
	}
}

// TestDeal: folds have equally many rows with events, of each length of time, and equally many censored ones.
func TestDeal(t *testing.T) {
	l := law{m: curved, censoring: 1, end: math.Inf(1)}
	rows := l.draw(rand.New(rand.NewPCG(6, 1)), 103)
	fold := rows.deal(5, 9, 0)
	for _, events := range []bool{true, false} {
		seen, n := make([]int, 5), 0
		for _, i := range rows.byTime() {
			if rows.Events[i] == events {
				seen[fold[i]]++
				n++
				if slices.Max(seen)-slices.Min(seen) > 1 {
					t.Errorf("after %d rows by time folds have %v", n, seen)
				}
			}
		}
	}
	if slices.Equal(fold, rows.deal(5, 10, 0)) || slices.Equal(fold, rows.deal(5, 9, 1)) || !slices.Equal(fold, rows.deal(5, 9, 0)) {
		t.Error("seed and repeat decide the folds")
	}
}

// TestEndOfStudy: rows that are censored at the horizon are known to be without the event, also if all others are.
func TestEndOfStudy(t *testing.T) {
	rows := &Rows{Risks: []float64{0.2, 0.8, 0.4, 0.6}, Times: []float64{1, 0.5, 1, 0.25}, Events: []bool{false, true, false, true}}
	e, err := Brier(rows, 1)
	if want := (0.04 + 0.04 + 0.16 + 0.16) / 4; err != nil || math.Abs(e.Value-want) > 1e-15 {
		t.Error(e, want, err)
	}
	if e, err = AUROC(rows, 1); err != nil || e.Value != 1 {
		t.Error(e, err)
	}
}

// TestReliability: each row is in the bin of its prediction, and a bin that ends before the horizon says so.
func TestReliability(t *testing.T) {
	rows := &Rows{Risks: []float64{0, 0.1, 0.3, 0.3, 1, 0.9}, Times: []float64{2, 3, 1, 4, 1, 2}, Events: []bool{false, true, true, true, true, false}}
	d, err := ReliabilityOf(rows, 3, 10)
	if err != nil {
		t.Fatal(err)
	}
	var counts []int
	for _, b := range d.Bins {
		counts = append(counts, b.Count)
	}
	if !slices.Equal(counts, []int{1, 1, 0, 2, 0, 0, 0, 0, 0, 2}) {
		t.Error(counts)
	}
	if b := d.Bins[3]; b.Observed != 0.5 || b.Predicted != 0.3 || b.Short || math.Abs(b.SE-0.5*math.Sqrt(0.5)) > 1e-15 {
		t.Errorf("%+v", b)
	}
	if !d.Bins[0].Short || d.Bins[1].Short || d.Bins[2].Count != 0 || !math.IsNaN(d.Bins[2].Observed) {
		t.Errorf("%+v", d.Bins[:3])
	}
	if want := (0 + 0.9 + 2*0.2 + 2*0.45) / 6; math.Abs(d.ECE-want) > 1e-15 {
		t.Error(d.ECE, want)
	}
}

// TestDCalibration: shares of rows that were censored are spread over the bins they may come to; the test is even under calibration.
func TestDCalibration(t *testing.T) {
	rows := &Rows{Times: []float64{1, 1, 1}, Events: []bool{true, false, false}}
	d, err := DCalibrationOf(rows, []float64{0.3, 0.25, 1}, 2)
	if err != nil {
		t.Fatal(err)
	}
	// 0.3 is in the lower bin; 0.25 as well, whole; 1 is half in each.
	if math.Abs(d.Shares[0]-2.5/3) > 1e-15 || math.Abs(d.Shares[1]-0.5/3) > 1e-15 {
		t.Error(d.Shares)
	}
	r := rand.New(rand.NewPCG(7, 7))
	low := 0
	const runs = 1000
	for range runs {
		rows, s := &Rows{}, []float64(nil)
		for range 300 {
			rate := 0.5 + r.Float64()
			x, c := r.ExpFloat64()/rate, r.ExpFloat64()*2
			at := math.Min(x, c)
			rows.Times, rows.Events, s = append(rows.Times, at), append(rows.Events, x <= c), append(s, math.Exp(-rate*at))
		}
		d, err := DCalibrationOf(rows, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d.P < 0.05 {
			low++
		}
		if run := d.P; run != run {
			t.Fatal("no p")
		}
	}
	if low > runs*7/100 {
		t.Errorf("%d of %d calibrated sets have p below 0.05", low, runs)
	}
	bad := append([]float64(nil), 0.9, 0.95, 0.99)
	if d, err = DCalibrationOf(&Rows{Times: make1(3), Events: []bool{true, true, true}}, bad, 10); err != nil || d.P > 0.002 {
		t.Error(d, err)
	}
}

func make1(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// TestIntervals holds how often intervals of 95% cover.
func TestIntervals(t *testing.T) {
	runs := 200
	if testing.Short() {
		runs = 60
	}
	const n = 300
	for _, l := range []law{
		{"free", curved, math.Inf(1), math.Inf(1), true},
		{"censored", curved, 1.2, math.Inf(1), true},
		{"end of study", curved, 2, 1, true},
	} {
		truth := map[string]float64{}
		big := (&law{m: l.m, censoring: math.Inf(1), end: math.Inf(1)}).draw(rand.New(rand.NewPCG(8, 8)), 100_000)
		for name, f := range estimates {
			e, err := f(big)
			if err != nil {
				t.Fatal(err)
			}
			truth[name] = e.Value
		}
		for name, f := range estimates {
			covered := 0
			for run := range runs {
				e, err := f(l.draw(rand.New(rand.NewPCG(uint64(run), 9)), n))
				if err != nil {
					t.Fatal(err)
				}
				if i := e.Interval(0.95); i.Low <= truth[name] && truth[name] <= i.High {
					covered++
				}
			}
			share := float64(covered) / float64(runs)
			if slack := 3 * math.Sqrt(0.05*0.95/float64(runs)); share < 0.93-slack || share > 0.985+slack {
				t.Errorf("%s, %s: intervals cover %v in %.3f of sets", l.name, name, truth[name], share)
			}
			t.Logf("%s, %s: %.3f", l.name, name, share)
		}
	}
}

var estimates = map[string]func(*Rows) (Estimate, error){
	"integrated Brier": func(r *Rows) (Estimate, error) {
		c := &Curves{Times: []float64{0.25, 0.5, 0.75, 1}}
		for _, t := range c.Times {
			var at []float64
			for _, p := range r.Risks {
				at = append(at, 1-math.Pow(1-p, t))
			}
			c.Risks = append(c.Risks, at)
		}
		return IntegratedBrier(r, c)
	},
	"Brier":          func(r *Rows) (Estimate, error) { return Brier(r, 1) },
	"AUROC":          func(r *Rows) (Estimate, error) { return AUROC(r, 1) },
	"in the large":   func(r *Rows) (Estimate, error) { return InTheLarge(r, 1) },
	"Uno":            func(r *Rows) (Estimate, error) { return ConcordanceIPCW(r, 1) },
	"in the large 2": func(r *Rows) (Estimate, error) { return InTheLarge(r, 0.5) },
}

// TestBadInput: each is an error that says what is wrong.
func TestBadInput(t *testing.T) {
	good := func() *Rows {
		return &Rows{Risks: []float64{0.1, 0.2, 0.3, 0.4}, Times: []float64{1, 2, 3, 4}, Events: []bool{true, false, true, false}}
	}
	for _, c := range []struct {
		name string
		with func(*Rows)
		want string
	}{
		{"none", func(r *Rows) { *r = Rows{} }, "no rows"},
		{"lengths", func(r *Rows) { r.Events = r.Events[:3] }, "3 events"},
		{"time 0", func(r *Rows) { r.Times[1] = 0 }, "row 1: its time is 0"},
		{"time below 0", func(r *Rows) { r.Times[2] = -1 }, "row 2: its time is -1"},
		{"no time", func(r *Rows) { r.Times[2] = math.NaN() }, "row 2: its time is NaN"},
		{"endless", func(r *Rows) { r.Times[2] = math.Inf(1) }, "row 2: its time is +Inf"},
		{"risk", func(r *Rows) { r.Risks[3] = 1.5 }, "row 3: the probability of the event is 1.5"},
		{"no risk", func(r *Rows) { r.Risks[3] = math.NaN() }, "row 3: the probability of the event is NaN"},
		{"weight", func(r *Rows) { r.Weights = []float64{1, 1, 0, 1} }, "row 2: its weight is 0"},
	} {
		r := good()
		c.with(r)
		for name, f := range map[string]func() error{
			"brier": func() error { _, err := Brier(r, 2); return err },
			"large": func() error { _, err := InTheLarge(r, 2); return err },
			"bins":  func() error { _, err := ReliabilityOf(r, 2, 0); return err },
			"cce":   func() error { _, err := CensoredOf(r, 2, nil); return err },
		} {
			if err := f(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v", c.name, name, err)
			}
		}
	}
	r := good()
	for _, h := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		for name, f := range map[string]func() error{
			"brier": func() error { _, err := Brier(r, h); return err },
			"auroc": func() error { _, err := AUROC(r, h); return err },
			"large": func() error { _, err := InTheLarge(r, h); return err },
			"bins":  func() error { _, err := ReliabilityOf(r, h, 0); return err },
			"cce":   func() error { _, err := CensoredOf(r, h, &CensoredOptions{Folds: 2}); return err },
		} {
			if err := f(); !errors.Is(err, errHorizon) {
				t.Errorf("horizon %v, %s: %v", h, name, err)
			}
		}
	}
	if _, err := AUROC(r, 0.5); !errors.Is(err, errNoEvent) {
		t.Error(err)
	}
	if _, err := AUROC(&Rows{Risks: r.Risks, Times: r.Times, Events: []bool{true, true, true, true}}, 4); !errors.Is(err, errNoneLeft) {
		t.Error(err)
	}
	if _, err := Concordance(&Rows{Risks: r.Risks, Times: r.Times, Events: make([]bool, 4)}); !errors.Is(err, errNoPairs) {
		t.Error(err)
	}
	curves := func(change func(*Curves)) error {
		c := &Curves{Times: []float64{1, 2}, Risks: [][]float64{{0, 0.1, 0.2, 0.3}, {0.5, 0.5, 0.5, 0.5}}}
		change(c)
		_, err := IntegratedBrier(r, c)
		return err
	}
	for want, change := range map[string]func(*Curves){
		"have to rise":      func(c *Curves) { c.Times[0] = 2 },
		"two or more":       func(c *Curves) { c.Times, c.Risks = c.Times[:1], c.Risks[:1] },
		"3 risks at time 2": func(c *Curves) { c.Risks[1] = c.Risks[1][:3] },
		"row 3: the probability of the event falls from 0.3": func(c *Curves) { c.Risks[1][3] = 0.25 },
		"row 2: the probability of the event by 1 is -0.1":   func(c *Curves) { c.Risks[0][2] = -0.1 },
	} {
		if err := curves(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := curves(func(*Curves) {}); err != nil {
		t.Error(err)
	}
	for want, o := range map[string]CensoredOptions{
		"101 folds":    {Folds: 101},
		"-1 repeats":   {Repeats: -1},
		"truncated":    {Truncation: 2},
		"unknown":      {Nearby: 3},
		"1001 bandwid": {Attempts: 1001},
		"ends rise":    {Range: [2]float64{0.2, 0.1}},
		"bandwidth of": {Bandwidths: []float64{0}},
		"too few":      {},
	} {
		if _, err := CensoredOf(r, 2, &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	weighted := good()
	weighted.Weights = make1(4)
	if _, err := CensoredOf(weighted, 2, &CensoredOptions{Folds: 2}); !errors.Is(err, errRowWeights) {
		t.Error(err)
	}
	if _, err := DCalibrationOf(weighted, weighted.Risks, 0); !errors.Is(err, errTestWeights) {
		t.Error(err)
	}
	if _, err := Brier(&Rows{Risks: []float64{1}, Times: []float64{1, 2}}, 1); !errors.Is(err, metrics.ErrMismatch) {
		t.Error(err)
	}
}

// TestExtremes: sets that are all of a kind have answers, or errors, and no NaN.
func TestExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	l := law{m: curved, censoring: 1, end: math.Inf(1)}
	sets := map[string]*Rows{"usual": l.draw(r, 60)}
	for name, change := range map[string]func(*Rows){
		"equal risks": func(s *Rows) { fill(s.Risks, 0.5) },
		"0 and 1": func(s *Rows) {
			for i := range s.Risks {
				s.Risks[i] = math.Round(s.Risks[i])
			}
		},
		"all events": func(s *Rows) {
			for i := range s.Events {
				s.Events[i] = true
			}
		},
		"all censored": func(s *Rows) { clear(s.Events) },
		"one time":     func(s *Rows) { fill(s.Times, 0.7) },
		"all early": func(s *Rows) {
			for i := range s.Times {
				s.Times[i] /= 1000
			}
		},
		"far apart": func(s *Rows) {
			for i := range s.Risks {
				s.Risks[i] = math.Pow(s.Risks[i], 300)
			}
		},
	} {
		s := l.draw(r, 60)
		change(s)
		sets[name] = s
	}
	for name, s := range sets {
		for _, o := range []CensoredOptions{{}, {Orthogonal: true}, {Nearby: Cubic}, {Nearby: Nearest}, {Product: ExponentOfSum}} {
			c, err := CensoredOf(s, 1, &o)
			if err != nil || math.IsNaN(c.Squared) || !(c.SE >= 0) {
				t.Errorf("%s, %+v: %+v, %v", name, o, c, err)
			}
		}
		for what, f := range estimates {
			if e, err := f(s); err == nil && (math.IsNaN(e.Value) || math.IsNaN(e.SE)) {
				t.Errorf("%s, %s: %+v", name, what, e)
			}
		}
		if d, err := ReliabilityOf(s, 1, 0); err != nil || math.IsNaN(d.ECE) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func fill(v []float64, x float64) {
	for i := range v {
		v[i] = x
	}
}
