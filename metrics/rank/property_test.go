package rank_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// orders calls f for all orders of rows by descending score, with equal scores in any order.
func orders(p *metrics.Predictions, f func(order []int)) {
	var rec func(order []int, left []int)
	rec = func(order, left []int) {
		if len(left) == 0 {
			f(order)
			return
		}
		top := math.Inf(-1)
		for _, i := range left {
			top = math.Max(top, p.F64[i])
		}
		for k, i := range left {
			if p.F64[i] == top {
				rec(append(order, i), append(slices.Clone(left[:k]), left[k+1:]...))
			}
		}
	}
	all := make([]int, p.Rows)
	for i := range all {
		all[i] = i
	}
	rec(nil, all)
}

// TestTiesAreMeansOverOrders checks that rows of equal scores count with the mean over all their orders.
func TestTiesAreMeansOverOrders(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := 1 + r.IntN(7)
		p := binary(make([]float64, n), make([]int32, n))
		for i := range n {
			p.F64[i] = float64(r.IntN(3)+1) / 8
			p.Labels[i] = int32(r.IntN(2))
		}
		fraction := float64(r.IntN(n+1)) / float64(n)
		handed := int(math.Floor(float64(n) * fraction))
		count := 0.0
		var aurc, augrc, points, oracle, wrong, retained, helped, trapezoid float64
		orders(p, func(order []int) {
			count++
			errors, kept := 0.0, 0.0
			last := 0.0
			for k, i := range order {
				errors += float64(1 - p.Labels[i])
				last = errors / float64(k+1)
				aurc += last
				points += errors / float64(n)
				augrc += (errors - float64(1-p.Labels[i])/2) / float64(n)
				kept += 1 - last
			}
			lost := 0.0
			for _, i := range order[n-handed:] {
				lost += float64(1 - p.Labels[i])
			}
			wrong += lost
			oracle += (float64(n) - errors + lost) / float64(n)
			retained += (kept + 1) / float64(n+1)
			trapezoid += (kept + 1 - (1+1-last)/2) / float64(n)
		})
		helped = 1 - points/count/float64(n+1)
		x := rank.RankingOf(of(t, p))
		errors := 0.0
		for _, y := range p.Labels {
			errors += float64(1 - y)
		}
		least := 0.0
		for k := n - int(errors) + 1; k <= n; k++ {
			least += float64(k-n+int(errors)) / float64(k) / float64(n)
		}
		b := rank.Budget{Fraction: fraction}
		for name, v := range map[string]pairWant{
			"AURC":               {two(x.AURC()), aurc / count / float64(n)},
			"EAURC":              {two(x.EAURC()), aurc/count/float64(n) - least},
			"AUGRC":              {two(x.AUGRC()), augrc / count / float64(n)},
			"oracle":             {two(x.OracleAccuracy(b)), oracle / count},
			"abstain precision":  {two(x.AbstainPrecision(b)), wrong / count / float64(handed)},
			"abstain recall":     {two(x.AbstainRecall(b)), wrong / count / errors},
			"retention":          {two(x.RetentionAccuracy(nil)), retained / count},
			"retention, oracle":  {two(x.RetentionAccuracy(&rank.AreaOptions{Oracle: true})), helped},
			"retention by lines": {two(x.RetentionAccuracy(&rank.AreaOptions{Trapezoid: true})), trapezoid / count},
		} {
			if math.IsNaN(v.want) {
				if !math.IsNaN(v.got) {
					t.Errorf("seed %d, %s: %v where there is none", seed, name, v.got)
				}
			} else if !near(v.got, v.want, 1e-13) || v.bound != 0 {
				t.Errorf("seed %d, %s: %v, bound %v, want %v", seed, name, v.got, v.bound, v.want)
			}
		}
	}
}

// TestOrderings checks that a perfect ranking has no excess area, that a worse ranking has larger areas, and that all areas are
// within their ranges.
func TestOrderings(t *testing.T) {
	const n = 2000
	r := rand.New(rand.NewPCG(4, 4))
	p := binary(make([]float64, n), make([]int32, n))
	for i := range n {
		p.F64[i] = (float64(i) + 0.5) / n
		if i > 300 {
			p.Labels[i] = 1
		}
	}
	var last [3]float64
	for k := range 6 {
		x := rank.RankingOf(of(t, p))
		var v [3]float64
		v[0], _ = x.AURC()
		v[1], _ = x.EAURC()
		v[2], _ = x.AUGRC()
		if k == 0 && v[1] > 1e-15 {
			t.Errorf("the excess of a perfect ranking is %v", v[1])
		}
		for i := range v {
			if v[i] < last[i] || v[i] > 1 {
				t.Errorf("after %d shuffles area %d is %v, and was %v", k, i, v[i], last[i])
			}
		}
		if v[2] > v[0] {
			t.Errorf("AUGRC %v is above AURC %v", v[2], v[0])
		}
		last = v
		for range 150 {
			// An error moves up, and a right row down.
			i, j := r.IntN(n), r.IntN(n)
			if i < j && p.Labels[i] < p.Labels[j] {
				p.Labels[i], p.Labels[j] = p.Labels[j], p.Labels[i]
			}
		}
	}
}

// TestDavisGoadrich compares the area with a finely drawn curve through rows that arrive in proportion.
func TestDavisGoadrich(t *testing.T) {
	p := drawn(8, 200, 12)
	got, _ := rank.RankingOf(of(t, p)).AUPRC(rank.DavisGoadrich)
	type group struct{ events, rest float64 }
	groups := map[float64]*group{}
	events := 0.0
	for i, s := range p.F64 {
		if groups[s] == nil {
			groups[s] = &group{}
		}
		groups[s].events += float64(p.Labels[i])
		groups[s].rest += float64(1 - p.Labels[i])
		events += float64(p.Labels[i])
	}
	scores := make([]float64, 0, len(groups))
	for s := range groups {
		scores = append(scores, s)
	}
	slices.Sort(scores)
	slices.Reverse(scores)
	tp, fp, want := 0.0, 0.0, 0.0
	for _, s := range scores {
		const steps = 20000
		g := groups[s]
		for range steps {
			tp += g.events / steps / 2
			fp += g.rest / steps / 2
			want += g.events / steps / events * tp / (tp + fp)
			tp += g.events / steps / 2
			fp += g.rest / steps / 2
		}
	}
	if !near(got, want, 1e-8) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestOracleAUCAgainstSearch compares with a plain search for the rows nearest to each threshold.
func TestOracleAUCAgainstSearch(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5))
		n := 2 + r.IntN(40)
		p := drawn(seed+100, n, []int{0, 5, 16}[seed%3])
		p.Labels[0], p.Labels[1] = 0, 1
		x := rank.RankingOf(of(t, p))
		within := 0.1
		for _, o := range []rank.OracleOptions{
			{Budget: rank.Budget{Fraction: 0.3}},
			{Budget: rank.Budget{Fraction: 0.3}, Curve: rank.CurvePR},
			{Budget: rank.Budget{Fraction: 0.9, Most: 4}},
			{Budget: rank.Budget{Fraction: 0}},
			{Budget: rank.Budget{Fraction: 0}, Curve: rank.CurvePR},
			{Budget: rank.Budget{Fraction: 1}},
			{Budget: rank.Budget{Fraction: 1}, Curve: rank.CurvePR},
			{Within: &within},
			{Budget: rank.Budget{Fraction: 0.4}, Doubt: func(p float64) float64 { return math.Abs(p - 0.5) }},
			{Within: &within, Doubt: func(p float64) float64 { return math.Abs(p - 0.5) }},
		} {
			got, bound := x.OracleAUC(&o)
			if want := searched(p, &o); !near(got, want, 1e-12) || bound != 0 {
				t.Errorf("seed %d, %+v: %v, bound %v, want %v", seed, o, got, bound, want)
			}
			if o.Fraction == 0 && o.Within == nil {
				want, _ := x.AUROC()
				if o.Curve == rank.CurvePR {
					want, _ = x.AUPRC(rank.AveragePrecision)
				}
				if !near(got, want, 1e-12) {
					t.Errorf("seed %d: without an oracle %v, want %v", seed, got, want)
				}
			}
			if o.Fraction == 1 && !near(got, 1, 1e-12) && o.Most == 0 {
				t.Errorf("seed %d: with an oracle alone %v", seed, got)
			}
		}
	}
}

func searched(p *metrics.Predictions, o *rank.OracleOptions) float64 {
	n := p.Rows
	budget := math.Floor(float64(n) * o.Fraction)
	if o.Most > 0 {
		budget = math.Min(budget, float64(o.Most))
	}
	thresholds := slices.Clone(p.F64)
	slices.Sort(thresholds)
	thresholds = slices.Compact(thresholds)
	slices.Reverse(thresholds)
	pos := 0.0
	for _, y := range p.Labels {
		pos += float64(y)
	}
	x, y, area := 0.0, 0.0, 0.0
	for _, t := range thresholds {
		d := make([]float64, n)
		for i, s := range p.F64 {
			if d[i] = math.Abs(s - t); o.Doubt != nil {
				d[i] = o.Doubt(s)
			}
		}
		var tp, fp float64
		for i, s := range p.F64 {
			nearer, same := 0.0, 0.0
			for _, e := range d {
				if e < d[i] {
					nearer++
				} else if e == d[i] {
					same++
				}
			}
			share := math.Min(1, math.Max(0, budget-nearer)/same)
			if o.Within != nil {
				share = 0
				if d[i] <= *o.Within {
					share = 1
				}
			}
			switch {
			case p.Labels[i] == 1 && s >= t:
				tp++
			case p.Labels[i] == 1:
				tp += share
			case s >= t:
				fp += 1 - share
			}
		}
		if o.Curve == rank.CurvePR {
			if tp > 0 {
				area += (tp/pos - y) * tp / (tp + fp)
			}
			y = tp / pos
			continue
		}
		fpr := fp / (float64(n) - pos)
		area += (fpr - x) * (y + tp/pos) / 2
		x, y = fpr, tp/pos
	}
	if o.Curve == rank.CurveROC {
		area += (1 - x) * (y + 1) / 2
	}
	return area
}

// TestPublishedNumbers repeats the references' own tests.
func TestPublishedNumbers(t *testing.T) {
	check := func(name string, got, want, tol float64) {
		t.Helper()
		if !near(got, want, tol) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	y := []int32{1, 0, 0, 0, 1} // labels 0,0,0,1,1 predicted as 0,1,1,0,1: 1 if right
	ten := func(conf []float64, c rank.Curve) float64 {
		a, _ := rank.RankingOf(of(t, binary(conf, y))).GridAUC(&rank.GridOptions{Thresholds: 10, Curve: c})
		return a
	}
	for _, c := range []struct {
		conf []float64
		want float64
	}{
		{[]float64{1, 0, 0, 0, 1}, 1}, {[]float64{1, 0, 0, .1, 0}, .75}, {[]float64{1, .5, .5, .5, 0}, .5},
		{[]float64{.5, .5, .5, .5, .5}, .5}, {[]float64{.1, .9, .9, .9, .1}, 0},
	} {
		check("calibration AUC", ten(c.conf, rank.CurveROC), c.want, 1e-12)
	}
	check("calibration AUC, PR", ten([]float64{1, 0, 0, 0, 1}, rank.CurvePR), 1, 1e-12)
	check("calibration AUC, PR", ten([]float64{1, 0, 0, .1, 1}, rank.CurvePR), 1, 1e-12)
	check("calibration AUC, PR", ten([]float64{.5, .5, .5, .5, .5}, rank.CurvePR), .4, 1e-12)

	r := rank.RankingOf(of(t, binary([]float64{0.31, 0.33, 0.42, 0.58, 0.69, 0.76, 0.84, 0.87}, []int32{0, 0, 1, 1, 0, 1, 1, 0})))
	o := rank.OracleOptions{Budget: rank.Budget{Fraction: 0.67, Bins: 3}, Thresholds: 5, Curve: rank.CurvePR}
	a, _ := r.OracleAUC(&o)
	check("oracle AUC", a, .9434595, 1e-7)
	four := rank.RankingOf(of(t, binary([]float64{0.31, 0.32, 0.83, 0.64}, []int32{1, 0, 0, 1})))
	o = rank.OracleOptions{Budget: rank.Budget{Fraction: 0.5, Bins: 4}, Thresholds: 4, Doubt: func(p float64) float64 { return p }}
	a, _ = four.OracleAUC(&o)
	check("oracle AUC by scores", a, .625, 1e-12)
	none := 0.0
	for _, within := range []*float64{nil, &none} {
		o := rank.OracleOptions{Thresholds: 50, Within: within}
		a, _ = r.OracleAUC(&o)
		plain, _ := r.GridAUC(&rank.GridOptions{Thresholds: 50})
		check("oracle AUC of nobody", a, plain, 1e-12)
	}

	// Retrieval and detection.
	scores := rank.RankingOf(of(t, binary([]float64{.2, .4, .35, .1}, []int32{0, 0, 1, 1})))
	a, _ = scores.AUROC()
	check("AUROC", a, .25, 1e-15)
	a, _ = scores.AUPRC(rank.AveragePrecision)
	check("AP", a, .5, 1e-15)
	a, _ = scores.FPRAt(0.95)
	check("FPR95", a, 1, 1e-15)

	// Accuracy with an oracle on eight rows, also at a threshold of .655.
	p := []float64{.51, .45, .39, .76, .68, .29, .81, .85}
	conf, hit := make([]float64, 8), make([]int32, 8)
	for i, y := range []int32{0, 0, 1, 1, 0, 1, 1, 1} {
		conf[i] = math.Abs(p[i] - 0.655)
		if (p[i] > 0.655) == (y == 1) {
			hit[i] = 1
		}
	}
	a, _ = rank.RankingOf(of(t, binary(conf, hit))).OracleAccuracy(rank.Budget{Fraction: 0.3, Bins: 10})
	check("oracle accuracy", a, .75, 1e-12)
}

// TestBoundsOfGrid checks that answers on a grid are within their bounds of those of exact cells.
func TestBoundsOfGrid(t *testing.T) {
	for seed, values := range []int{0, 1 << 20} {
		if testing.Short() && values == 0 {
			continue
		}
		p := drawn(uint64(seed)+20, 350000, values)
		c := of(t, p)
		s, err := cells.Sort(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.Exact() {
			t.Fatal("the cells are exact")
		}
		for name, f := range answers() {
			got, bound := f(rank.RankingOf(c))
			want, exact := f(rank.RankingOf(s))
			if exact != 0 || !(math.Abs(got-want) <= bound+1e-13) || bound > 0.002 {
				t.Errorf("%s: %v, bound %v, want %v, bound %v", name, got, bound, want, exact)
			}
		}
		if _, bound := rank.RankingOf(c).OracleAUC(nil); !math.IsNaN(bound) {
			t.Errorf("bound of an area with an oracle: %v", bound)
		}
		if _, bound := rank.RankingOf(c).GridAUC(&rank.GridOptions{Thresholds: 14}); !math.IsNaN(bound) {
			t.Errorf("bound of an area on thresholds inside cells: %v", bound)
		}
	}
}

func answers() map[string]func(*rank.Ranking) (float64, float64) {
	area := func(a rank.PRArea) func(*rank.Ranking) (float64, float64) {
		return func(r *rank.Ranking) (float64, float64) { return r.AUPRC(a) }
	}
	b := rank.Budget{Fraction: 0.123}
	return map[string]func(*rank.Ranking) (float64, float64){
		"AP": area(rank.AveragePrecision), "trapezoid": area(rank.Trapezoid), "Davis": area(rank.DavisGoadrich),
		"AUROC": (*rank.Ranking).AUROC, "AURC": (*rank.Ranking).AURC, "EAURC": (*rank.Ranking).EAURC, "AUGRC": (*rank.Ranking).AUGRC,
		"FPR": func(r *rank.Ranking) (float64, float64) { return r.FPRAt(0.95) },
		"AP of errors": func(r *rank.Ranking) (float64, float64) {
			return r.Turned().AUPRC(rank.AveragePrecision)
		},
		"oracle":            func(r *rank.Ranking) (float64, float64) { return r.OracleAccuracy(b) },
		"abstain precision": func(r *rank.Ranking) (float64, float64) { return r.AbstainPrecision(b) },
		"abstain recall":    func(r *rank.Ranking) (float64, float64) { return r.AbstainRecall(b) },
		"retention":         func(r *rank.Ranking) (float64, float64) { return r.RetentionAccuracy(nil) },
	}
}

// TestBoundOfAveragePrecision checks that rows in the worst and in the best order within cells keep to the bound of the average
// precision, and almost reach it.
func TestBoundOfAveragePrecision(t *testing.T) {
	const n = 300000
	p := binary(make([]float64, n), make([]int32, n))
	for i := range n {
		p.F64[i] = 0.3 + 0.02*float64(i)/n
	}
	for _, eventsFirst := range []bool{false, true} {
		at := 0
		of(t, p).Each(func(x *cells.Cell) {
			for k := range x.N {
				p.Labels[at] = 0
				if (k > x.N/2) == eventsFirst {
					p.Labels[at] = 1
				}
				at++
			}
		})
		s, err := cells.Sort(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := of(t, p)
		for _, a := range []rank.PRArea{rank.AveragePrecision, rank.Trapezoid, rank.DavisGoadrich} {
			got, bound := rank.RankingOf(c).AUPRC(a)
			want, _ := rank.RankingOf(s).AUPRC(a)
			off := math.Abs(got - want)
			if !(off <= bound) || c.Exact() || a == rank.AveragePrecision && off < bound/5 {
				t.Errorf("area %d, events first %v: %v, bound %v, want %v", a, eventsFirst, got, bound, want)
			}
		}
	}
}

// TestSortedAnswers checks that sorted rows and exact cells give bit-identical answers.
func TestSortedAnswers(t *testing.T) {
	for _, values := range []int{0, 50} {
		p := drawn(31, 20000, values)
		s, err := cells.Sort(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b := rank.RankingOf(s), rank.RankingOf(of(t, p))
		all := answers()
		all["oracle area"] = func(r *rank.Ranking) (float64, float64) { return r.OracleAUC(nil) }
		all["grid"] = func(r *rank.Ranking) (float64, float64) { return r.GridAUC(nil) }
		for name, f := range all {
			got, bound := f(a)
			want, _ := f(b)
			if got != want || bound != 0 {
				t.Errorf("%d values, %s: %v, bound %v, want %v", values, name, got, bound, want)
			}
		}
		if a.Intervals(0.9, &metrics.Resampling{Replicates: 20, Threads: 1}) != b.Intervals(0.9, &metrics.Resampling{Replicates: 20, Threads: 3}) {
			t.Error("intervals differ")
		}
		for _, most := range []int{0, 2, 17} {
			if !slices.Equal(a.ROC(most), b.ROC(most)) || !slices.Equal(a.PrecisionRecall(most), b.PrecisionRecall(most)) ||
				!slices.Equal(a.RiskCoverage(most), b.RiskCoverage(most)) {
				t.Errorf("curves of %d points differ", most)
			}
		}
	}
}

// TestEqualWeights: equal weights give the answers of rows without weights, except where weights turn a sum into an integral.
func TestEqualWeights(t *testing.T) {
	exact := answers()
	rough := map[string]func(*rank.Ranking) (float64, float64){} // with weights, the integral, which needs many rows of small weight
	for _, sum := range []string{"AURC", "EAURC", "AUGRC"} {
		rough[sum] = exact[sum]
		delete(exact, sum)
	}
	delete(exact, "retention")
	exact["oracle area"] = func(r *rank.Ranking) (float64, float64) { return r.OracleAUC(nil) }
	exact["grid"] = func(r *rank.Ranking) (float64, float64) { return r.GridAUC(nil) }
	exact["PR grid"] = func(r *rank.Ranking) (float64, float64) { return r.GridAUC(&rank.GridOptions{Curve: rank.CurvePR}) }
	p := drawn(32, 2000, 60)
	none := rank.RankingOf(of(t, p))
	for _, w := range []float64{1, 2} {
		p.Weights = slices.Repeat([]float64{w}, p.Rows)
		equal := rank.RankingOf(of(t, p))
		for name, f := range exact {
			got, bound := f(equal)
			if want, _ := f(none); !near(got, want, 1e-13) || bound != 0 {
				t.Errorf("weights of %v: %s: %v, bound %v, want %v", w, name, got, bound, want)
			}
		}
		for name, f := range rough {
			got, _ := f(equal)
			if want, _ := f(none); !near(got, want, 0.004) {
				t.Errorf("weights of %v: %s: %v, want about %v", w, name, got, want)
			}
		}
		for i, x := range none.ROC(0) {
			if y := equal.ROC(0)[i]; !near(x.X, y.X, 1e-13) || !near(x.Y, y.Y, 1e-13) || x.Threshold != y.Threshold {
				t.Errorf("weights of %v: point %d: %v and %v", w, i, x, y)
			}
		}
		if equal.IntervalReason() == "" || !math.IsNaN(equal.Intervals(0.95, nil).AURC.Low) || !math.IsNaN(equal.AUROCInterval(0.95).Low) {
			t.Errorf("weights of %v have intervals", w)
		}
	}
}

// TestCurves checks that the areas of the returned curves equal the areas that are returned, and that thinned curves are parts
// of full ones.
func TestCurves(t *testing.T) {
	for _, values := range []int{0, 30} {
		x := rank.RankingOf(of(t, drawn(33, 3000, values)))
		roc, pr, rc := x.ROC(0), x.PrecisionRecall(0), x.RiskCoverage(0)
		area, precise := 0.0, 0.0
		for i := 1; i < len(roc); i++ {
			area += (roc[i].X - roc[i-1].X) * (roc[i].Y + roc[i-1].Y) / 2
			precise += (pr[i].X - pr[i-1].X) * pr[i].Y
		}
		if want, _ := x.AUROC(); !near(area, want, 1e-12) {
			t.Errorf("%v below the curve, want %v", area, want)
		}
		if want, _ := x.AUPRC(rank.AveragePrecision); !near(precise, want, 1e-12) {
			t.Errorf("%v below the curve, want %v", precise, want)
		}
		if e := rc[len(rc)-1]; e.X != 1 || len(rc)+1 != len(roc) {
			t.Errorf("the last of %d points is %v", len(rc), e)
		}
		for _, most := range []int{2, 3, 10, 200} {
			for _, whole := range [][]rank.Point{roc, pr, rc} {
				thin := map[int][]rank.Point{len(roc): x.ROC(most), len(rc): x.RiskCoverage(most)}[len(whole)]
				if &whole[0] == &pr[0] {
					thin = x.PrecisionRecall(most)
				}
				if len(thin) > most && len(thin) != len(whole) || thin[0] != whole[0] || thin[len(thin)-1] != whole[len(whole)-1] {
					t.Errorf("%d points of at most %d from %v to %v", len(thin), most, thin[0], thin[len(thin)-1])
				}
				at := 0
				for _, q := range thin {
					for at < len(whole) && whole[at] != q {
						at++
					}
				}
				if at == len(whole) {
					t.Errorf("of at most %d points some are not on the curve", most)
				}
			}
		}
	}
}

// TestIntervals checks that intervals depend only on the seed, and have their nominal coverage of the true areas.
func TestIntervals(t *testing.T) {
	runs := 200
	if testing.Short() {
		runs = 60
	}
	truth := rank.RankingOf(of(t, drawn(1000, 250000, 0)))
	want := [3]float64{}
	want[0], _ = truth.AURC()
	want[1], _ = truth.EAURC()
	want[2], _ = truth.AUGRC()
	held := [3]int{}
	for k := range runs {
		x := rank.RankingOf(of(t, drawn(uint64(k)+2000, 400, 0)))
		i := x.Intervals(0.95, &metrics.Resampling{Seed: uint64(k), Replicates: 100})
		for j, v := range []metrics.Interval{i.AURC, i.EAURC, i.AUGRC} {
			if v.Low <= want[j] && want[j] <= v.High {
				held[j]++
			}
		}
		if k == 0 {
			again := x.Intervals(0.95, &metrics.Resampling{Replicates: 100, Threads: 1})
			other := x.Intervals(0.95, &metrics.Resampling{Seed: 77, Replicates: 100})
			if i != again || i == other {
				t.Errorf("%v, again %v, other %v", i, again, other)
			}
		}
	}
	for j, n := range held {
		if f := float64(n) / float64(runs); f < 0.9 {
			t.Errorf("area %d is held by %v", j, f)
		}
	}
	perfect := rank.RankingOf(of(t, binary([]float64{.1, .2, .3}, []int32{0, 1, 1}))).Intervals(0.95, nil)
	right := rank.RankingOf(of(t, binary([]float64{.1, .2, .3}, []int32{1, 1, 1})))
	if perfect.EAURC.Low != 0 || !(perfect.EAURC.High > 0) || math.IsNaN(perfect.AURC.Low) || right.IntervalReason() == "" {
		t.Errorf("%v, %q", perfect, right.IntervalReason())
	}
}

func TestNoAnswers(t *testing.T) {
	nothing := rank.RankingOf(metrics.Must(cells.New(nil)))
	for name, f := range answers() {
		if v, _ := f(nothing); !math.IsNaN(v) {
			t.Errorf("%s of no rows: %v", name, v)
		}
	}
	if nothing.ROC(0) != nil || nothing.PrecisionRecall(9) != nil || nothing.RiskCoverage(0) != nil {
		t.Error("curves of no rows")
	}
	if v, _ := nothing.GridAUC(nil); v != 0 {
		t.Error(v)
	}
	if v, _ := nothing.OracleAUC(nil); !math.IsNaN(v) {
		t.Error(v)
	}
	for name, f := range map[string]func(){
		"area":       func() { nothing.AUPRC(9) },
		"recall":     func() { nothing.FPRAt(0) },
		"budget":     func() { nothing.OracleAccuracy(rank.Budget{Fraction: 2}) },
		"thresholds": func() { nothing.GridAUC(&rank.GridOptions{Thresholds: 1}) },
		"points":     func() { rank.RankingOf(of(t, drawn(1, 9, 0))).ROC(1) },
		"bins":       func() { nothing.OracleAUC(&rank.OracleOptions{Budget: rank.Budget{Bins: 3}}) },
		"loss":       func() { metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: 9})) },
		"detector":   func() { rank.NewScores(9) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
