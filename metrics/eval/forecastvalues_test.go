package eval

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// levelled is the spec of quantiles at these levels.
func levelled(l ...float64) Spec { return Spec{Classes: len(l), Kind: metrics.Quantiles, Levels: l} }

var five = []float64{0.05, 0.25, 0.5, 0.75, 0.95}

// quantilesOf are rows of quantiles that are whole numbers, so that what was observed is at times one of them.
func quantilesOf(seed uint64, n, k int, weighted bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 5))
	p := &metrics.Predictions{Kind: metrics.Quantiles, Scores: metrics.Scores{Rows: n, Classes: k}}
	for range n {
		q := make([]float64, k)
		for j := range q {
			q[j] = math.Round(9 * r.NormFloat64())
		}
		slices.Sort(q)
		p.F64, p.Observed = append(p.F64, q...), append(p.Observed, math.Round(9*r.NormFloat64()))
		if weighted {
			p.Weights = append(p.Weights, 0.25+r.Float64())
		}
	}
	return p
}

// narrow returns predictions of float32, and wide those of the same numbers.
func narrow(p *metrics.Predictions) (f32, wide *metrics.Predictions) {
	a, b := *p, *p
	a.F64, b.F64 = nil, nil
	for _, v := range p.F64 {
		a.F32, b.F64 = append(a.F32, float32(v)), append(b.F64, float64(float32(v)))
	}
	return &a, &b
}

// errorRows are the same forecasts as rows of an error and a standard deviation.
func errorRows(p *metrics.Predictions) *metrics.Predictions {
	q := *p
	q.Classes, q.F64 = 2, nil
	for i := range p.Rows {
		q.F64 = append(q.F64, p.F64[3*i+2]-p.F64[3*i], p.F64[3*i+1])
	}
	return &q
}

type forecasts struct {
	name, metrics string
	spec          Spec
	p             *metrics.Predictions
}

// everyForecast is forecasts of each kind and type, with weights and without, of 40 rows.
func everyForecast(t testing.TB) (l []forecasts) {
	t.Helper()
	const options = ",miscalibration_area(form=plain),miscalibration_area(form=interval),miscalibration_area(bins=4),quantile_mse(bins=7),rms_calibration,rms_calibration(form=quantile,bins=8),coverage(level=0.8),width(level=0.3)," +
		"interval_score(level=0.5),pinball(level=0.25),pit_p(bins=4),wis(count_median_twice),wis_dispersion(count_median_twice)," +
		"wis_underprediction(count_median_twice),wis_overprediction(count_median_twice),twcrps(from=0.1),twcrps(from=-1,to=0.5,fair),qwcrps(emphasis=left)," +
		"interval_score_underprediction(level=0.5),interval_score_overprediction(level=0.5)," +
		"interval_score_mcb(level=0.5),interval_score_dsc(level=0.5),interval_score_unc(level=0.5),interval_score_mcb(end=low),interval_score_dsc(end=high),interval_score_unc(end=high)"
	for _, weighted := range []bool{false, true} {
		n := normals(7, 40, false)
		q, x := quantilesOf(8, 40, 5, weighted), numbers(9, 40, 7, metrics.Samples)
		if weighted {
			n.Weights, x.Weights = q.Weights, q.Weights
		}
		f32, wide := narrow(n)
		two := errorRows(n)
		two32, twoWide := narrow(two)
		more := ",ence(bins=4),uce(bins=3),sigma_scale(as_coded)"
		for i, p := range []*metrics.Predictions{n, f32, wide, two, two32, twoWide} {
			name := []string{"normals", "normals f32", "normals of f32", "errors", "errors f32", "errors of f32"}[i]
			l = append(l, forecasts{fmt.Sprintf("%s, weights %v", name, weighted), "all" + options + more, Spec{Classes: p.Classes, Kind: metrics.Normals}, p})
		}
		l = append(l, forecasts{fmt.Sprintf("quantiles, weights %v", weighted), "all" + options, levelled(five...), q},
			forecasts{fmt.Sprintf("samples, weights %v", weighted), "all,rank_p(bins=4)" + options, Spec{Classes: 7, Kind: metrics.Samples}, x},
			forecasts{fmt.Sprintf("one quantile, weights %v", weighted), "all", levelled(0.5), quantilesOf(10, 40, 1, weighted)},
			forecasts{fmt.Sprintf("pairs, weights %v", weighted), "all" + options, levelled(0.1, 0.25, 0.75, 0.9), quantilesOf(12, 40, 4, weighted)},
			forecasts{fmt.Sprintf("lopsided, weights %v", weighted), "all" + options, levelled(0.1, 0.4, 0.95), quantilesOf(11, 40, 3, weighted)})
	}
	return l
}

// plainForecast is a row as the formulas below take it: the quantile of any level and, where it has them, mean and deviation.
type plainForecast struct {
	y, w, mean, sd float64
	quantile       func(p float64) float64 // NaN if there is none at this level
	below          func(p float64) float64 // what the row counts at a level of the calibration curve
	draws          []float64               // rising
	placed         bool                    // the mean is known
}

// weighted is a weighted CRPS by its definition. The integrals are by Simpson's rule.
func (r *plainForecast) weighted(levels []float64, from, to float64, weight func(p float64) float64, fair bool) float64 {
	clamp := func(x float64) float64 { return min(max(x, from), to) }
	simpson := func(f func(float64) float64, a, b float64) float64 {
		const n = 2000
		sum := 0.0
		for i := 0; a < b && i <= 2*n; i++ {
			x := a + (b-a)*float64(i)/(2*n)
			switch {
			case i == 0 || i == 2*n:
				sum += f(x)
			case i%2 == 1:
				sum += 4 * f(x)
			default:
				sum += 2 * f(x)
			}
		}
		return sum * (b - a) / (6 * n)
	}
	dear := func(a, b float64, below bool) float64 { // what levels from a to b cost per unit of distance
		return simpson(func(p float64) float64 {
			if below {
				return 2 * p * weight(p)
			}
			return 2 * (1 - p) * weight(p)
		}, a, b)
	}
	y := clamp(r.y)
	switch {
	case r.draws != nil:
		sum, apart, m := 0.0, 0.0, float64(len(r.draws))
		for j, x := range r.draws {
			x = clamp(x)
			sum += max(0, y-x)*dear(float64(j)/m, float64(j+1)/m, true) + max(0, x-y)*dear(float64(j)/m, float64(j+1)/m, false)
			for _, z := range r.draws[:j] {
				apart += math.Abs(x - clamp(z))
			}
		}
		if fair {
			sum -= apart/m/(m-1) - apart/m/m
		}
		return sum
	case fair:
		return math.NaN()
	case levels != nil:
		sum := 0.0
		for j, p := range levels {
			lo, hi := 0.0, 1.0
			if j > 0 {
				lo = (levels[j-1] + p) / 2
			}
			if j+1 < len(levels) {
				hi = (levels[j+1] + p) / 2
			}
			x := clamp(r.quantile(p))
			sum += 2 * (hi - lo) * weight(p) * (p*max(0, y-x) + (1-p)*max(0, x-y))
		}
		return sum
	}
	if !r.placed && !math.IsInf(from, -1) {
		return math.NaN()
	}
	cdf := func(x float64) float64 { return 0.5 * math.Erfc(-(x-r.mean)/r.sd/math.Sqrt2) }
	lo, hi := max(from, min(y, r.mean-12*r.sd)), min(to, max(y, r.mean+12*r.sd))
	return simpson(func(x float64) float64 { return r.dearBelow(cdf(x), weight) }, lo, y) + simpson(func(x float64) float64 { return r.dearAbove(cdf(x), weight) }, y, hi)
}

// dearBelow is the integral of 2u*weight(u) up to p, for weights that are squares: by Gauss's rule of three points.
func (*plainForecast) dearBelow(p float64, weight func(float64) float64) float64 {
	f := func(u float64) float64 { return 2 * u * weight(u) }
	d := p / 2 * math.Sqrt(0.6)
	return p / 2 * (5*f(p/2-d) + 8*f(p/2) + 5*f(p/2+d)) / 9
}

func (r *plainForecast) dearAbove(p float64, weight func(float64) float64) float64 {
	return r.dearBelow(1-p, func(u float64) float64 { return weight(1 - u) })
}

func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

func plainForecasts(s Spec, p *metrics.Predictions) (l []plainForecast) {
	is := func(ok bool) float64 {
		if ok {
			return 1
		}
		return 0
	}
	for i := range p.Rows {
		var row []float64
		for j := range p.Classes {
			if p.F32 != nil {
				row = append(row, float64(p.F32[i*p.Classes+j]))
			} else {
				row = append(row, p.F64[i*p.Classes+j])
			}
		}
		f := plainForecast{w: 1, mean: math.NaN(), sd: math.NaN()}
		if p.Weights != nil {
			f.w = p.Weights[i]
		}
		switch p.Kind {
		case metrics.Normals:
			if len(row) == 3 {
				f.mean, f.sd, f.y, f.placed = row[0], row[1], row[2], true
			} else {
				f.mean, f.sd, f.y = 0, row[1], row[0]
			}
			f.quantile = func(q float64) float64 { return f.mean + f.sd*normalQuantile(q) }
			f.below = func(q float64) float64 { return is(0.5*math.Erfc(-(f.y-f.mean)/f.sd/math.Sqrt2) <= q) }
		case metrics.Quantiles:
			f.y = p.Observed[i]
			f.quantile = func(q float64) float64 {
				if j := slices.IndexFunc(s.Levels, func(l float64) bool { return math.Abs(l-q) < 1e-9 }); j >= 0 {
					return row[j]
				}
				return math.NaN()
			}
			f.below = func(q float64) float64 { return is(f.y <= f.quantile(q)) }
		case metrics.Samples:
			f.y = p.Observed[i]
			slices.Sort(row)
			f.mean, f.draws = 0, row
			for _, v := range row {
				f.mean += v / float64(len(row))
			}
			f.quantile = func(q float64) float64 {
				at := q * float64(len(row)-1)
				j := min(int(at), len(row)-2)
				return row[j] + (at-float64(j))*(row[j+1]-row[j])
			}
			f.below = func(q float64) float64 {
				r := 0.0
				for _, v := range row {
					r += is(v < f.y)
				}
				return min(1, max(0, q*float64(len(row)+1)-r))
			}
		}
		l = append(l, f)
	}
	return l
}

// plainly23 are the levels of the forecast hubs.
func plainly23() []float64 {
	l := []float64{0.01, 0.025}
	for i := 1; i <= 19; i++ {
		l = append(l, float64(5*i)/100)
	}
	return append(l, 0.975, 0.99)
}

// plainValues are the metrics by their definitions.
func plainValues(s Spec, l []plainForecast) map[string]float64 {
	mean := func(f func(r plainForecast) float64) float64 {
		sum, w := 0.0, 0.0
		for _, r := range l {
			sum, w = sum+r.w*f(r), w+r.w
		}
		return sum / w
	}
	sq := func(x float64) float64 { return x * x }
	v := map[string]float64{}
	v["mae"] = mean(func(r plainForecast) float64 { return math.Abs(r.y - r.mean) })
	v["bias"] = mean(func(r plainForecast) float64 { return r.mean - r.y })
	v["rmse"] = math.Sqrt(mean(func(r plainForecast) float64 { return sq(r.y - r.mean) }))
	v["ae_median"] = mean(func(r plainForecast) float64 { return math.Abs(r.y - r.quantile(0.5)) })
	v["sharpness"] = mean(func(r plainForecast) float64 { return sq(r.sd) })
	v["sharpness_root"] = math.Sqrt(v["sharpness"])
	v["zms"] = mean(func(r plainForecast) float64 { return sq((r.y - r.mean) / r.sd) })
	v["sigma_scale"] = math.Sqrt(v["zms"])
	v["sigma_scale(as_coded)"] = math.Sqrt(mean(func(r plainForecast) float64 { return math.Abs(r.y-r.mean) / sq(r.sd) }))
	v["rce"] = (v["sharpness_root"] - v["rmse"]) / v["sharpness_root"]
	loss := func(r plainForecast, p float64) float64 {
		x := r.quantile(p)
		if r.y < x {
			return (1 - p) * (x - r.y)
		}
		return p * (r.y - x)
	}
	levels := s.Levels
	if levels == nil {
		levels = plainly23()
	}
	v["pinball"] = mean(func(r plainForecast) float64 {
		sum := 0.0
		for _, p := range levels {
			sum += loss(r, p) / float64(len(levels))
		}
		return sum
	})
	v["pinball(level=0.25)"] = mean(func(r plainForecast) float64 { return loss(r, 0.25) })
	score := func(r plainForecast, level float64) (width, over, under float64) {
		a := 1 - level
		lo, hi := r.quantile(a/2), r.quantile(1-a/2)
		return hi - lo, 2 / a * max(0, lo-r.y), 2 / a * max(0, r.y-hi)
	}
	pairs := len(levels) / 2
	for option, median := range map[string]float64{"": 0.5, "(count_median_twice)": 1} {
		if len(levels)%2 == 0 {
			median = 0
		}
		for i, name := range []string{"wis_dispersion", "wis_overprediction", "wis_underprediction"} {
			v[name+option] = mean(func(r plainForecast) float64 {
				sum := 0.0
				if median > 0 {
					m := r.quantile(0.5)
					sum = [3]float64{0, max(0, m-r.y) * median, max(0, r.y-m) * median}[i]
				}
				for j := range pairs {
					w, over, under := score(r, levels[len(levels)-1-j]-levels[j])
					sum += (1 - (levels[len(levels)-1-j] - levels[j])) / 2 * [3]float64{w, over, under}[i]
				}
				return sum / (float64(pairs) + median)
			})
		}
		v["wis"+option] = v["wis_dispersion"+option] + v["wis_overprediction"+option] + v["wis_underprediction"+option]
	}
	for name, level := range map[string]float64{"_50": 0.5, "_90": 0.9, "(level=0.8)": 0.8, "(level=0.3)": 0.3} {
		v["width"+name] = mean(func(r plainForecast) float64 { w, _, _ := score(r, level); return w })
		v["coverage"+name] = mean(func(r plainForecast) float64 {
			lo, hi := r.quantile((1-level)/2), r.quantile((1+level)/2)
			switch {
			case math.IsNaN(lo + hi):
				return math.NaN()
			case lo <= r.y && r.y <= hi:
				return 1
			}
			return 0
		})
	}
	for name, level := range map[string]float64{"interval_score": 0.9, "interval_score(level=0.5)": 0.5} {
		v[name] = mean(func(r plainForecast) float64 { w, o, u := score(r, level); return w + o + u })
	}
	for name, level := range map[string]float64{"": 0.9, "(level=0.5)": 0.5} {
		v["interval_score_underprediction"+name] = mean(func(r plainForecast) float64 { w, _, u := score(r, level); return u + 0*w }) // NaN without one of the ends
		v["interval_score_overprediction"+name] = mean(func(r plainForecast) float64 { w, o, _ := score(r, level); return o + 0*w })
	}
	for name, level := range map[string]float64{"": 0.9, "level=0.5": 0.5} {
		var ofEnds [2][3]float64 // score, recalibrated, of the quantiles of y; by end
		for end, p := range []float64{(1 - level) / 2, (1 + level) / 2} {
			fitted, same := rising(l, p), quantileOf(l, p)
			for k, at := range []func(i int) float64{func(i int) float64 { return l[i].quantile(p) }, func(i int) float64 { return fitted[i] }, func(int) float64 { return same }} {
				i := -1
				ofEnds[end][k] = 2 / (1 - level) * mean(func(r plainForecast) float64 {
					i++
					z := at(i)
					return max((1-p)*(z-r.y), p*(r.y-z)) + 0*r.quantile(p) + 0*r.quantile(1-p) // NaN without one of the ends
				})
				if s.Kind == metrics.Normals && !l[0].placed {
					ofEnds[end][k] = math.NaN()
				}
			}
		}
		for part, of := range map[string]func(s [3]float64) float64{"mcb": func(s [3]float64) float64 { return s[0] - s[1] }, "dsc": func(s [3]float64) float64 { return s[2] - s[1] }, "unc": func(s [3]float64) float64 { return s[2] }} {
			at := func(options ...string) string {
				options = slices.DeleteFunc(options, func(s string) bool { return s == "" })
				if len(options) == 0 {
					return "interval_score_" + part
				}
				return "interval_score_" + part + "(" + strings.Join(options, ",") + ")"
			}
			v[at(name)], v[at("end=low", name)], v[at("end=high", name)] = of(ofEnds[0])+of(ofEnds[1]), of(ofEnds[0]), of(ofEnds[1])
		}
	}
	for name, c := range map[string]struct {
		from, to float64
		weight   func(p float64) float64
		fair     bool
	}{
		"twcrps(from=0.1)":            {from: 0.1, to: math.Inf(1)},
		"twcrps(fair,from=-1,to=0.5)": {from: -1, to: 0.5, fair: true},
		"qwcrps":                      {from: math.Inf(-1), to: math.Inf(1), weight: func(p float64) float64 { return sq(2*p - 1) }},
		"qwcrps(emphasis=left)":       {from: math.Inf(-1), to: math.Inf(1), weight: func(p float64) float64 { return sq(1 - p) }},
	} {
		if c.weight == nil {
			c.weight = func(float64) float64 { return 1 }
		}
		v[name] = mean(func(r plainForecast) float64 { return r.weighted(s.Levels, c.from, c.to, c.weight, c.fair) })
	}
	curve := func(bins int) (p, f []float64) {
		if p = slices.Clone(s.Levels); p == nil {
			for j := range bins + 1 {
				p = append(p, float64(j)/float64(bins))
			}
		}
		for _, q := range p {
			f = append(f, mean(func(r plainForecast) float64 { return r.below(q) }))
		}
		return p, f
	}
	area := func(p, f []float64, plain bool) float64 {
		if p[0] > 0 {
			p, f = append([]float64{0}, p...), append([]float64{0}, f...)
		}
		if p[len(p)-1] < 1 {
			p, f = append(p, 1), append(f, 1)
		}
		sum := 0.0
		for j := range p[1:] {
			a, b, h := f[j]-p[j], f[j+1]-p[j+1], p[j+1]-p[j]
			if a*b < 0 && !plain { // two triangles
				sum += h * (a*a + b*b) / (math.Abs(a) + math.Abs(b)) / 2
			} else {
				sum += h * (math.Abs(a) + math.Abs(b)) / 2
			}
		}
		return sum
	}
	for name, bins := range map[string]int{"miscalibration_area": 20, "miscalibration_area(bins=4)": 4, "miscalibration_area(form=plain)": 20} {
		p, f := curve(bins)
		v[name] = area(p, f, strings.Contains(name, "plain"))
	}
	for name, bins := range map[string]int{"quantile_mse": 20, "quantile_mse(bins=7)": 7} {
		p, f := curve(bins)
		sum, n := 0.0, 0.0
		for j := range p {
			if p[j] > 0 && p[j] < 1 {
				sum, n = sum+sq(p[j]-f[j]), n+1
			}
		}
		v[name] = sum / n
	}
	rms := func(p, f []float64) float64 {
		sum := 0.0
		for j := range p {
			sum += sq(p[j] - f[j])
		}
		return math.Sqrt(sum / float64(len(p)))
	}
	v["rms_calibration(bins=8,form=quantile)"] = rms(curve(8))
	if s.Kind == metrics.Normals { // coverages of all central intervals
		l := make([]float64, 100)
		k := make([]float64, 100)
		for j := range l {
			l[j] = float64(j) / 99
			k[j] = mean(func(r plainForecast) float64 {
				if math.Abs(r.y-r.mean) <= r.sd*math.Sqrt2*math.Erfinv(l[j]) {
					return 1
				}
				return 0
			})
		}
		v["rms_calibration"] = rms(l, k)
		p, f := curve(20)
		for j := range p {
			if j > 0 && j < 20 {
				lo, hi := (1-p[j])/2, (1+p[j])/2
				f[j] = mean(func(r plainForecast) float64 { return r.below(hi) - r.below(lo) })
			}
		}
		v["miscalibration_area(form=interval)"] = area(p, f, false)
		v["nll"] = mean(func(r plainForecast) float64 {
			return math.Log(r.sd) + sq((r.y-r.mean)/r.sd)/2 + math.Log(2*math.Pi)/2
		})
		v["crps"] = mean(func(r plainForecast) float64 {
			z := (r.y - r.mean) / r.sd
			return r.sd * (z*math.Erf(z/math.Sqrt2) + 2*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi) - 1/math.Sqrt(math.Pi))
		})
	}
	// Bins of equal counts by standard deviation, which are distinct; of weights these tests have none.
	by := slices.Clone(l)
	slices.SortFunc(by, func(a, b plainForecast) int {
		if a.sd < b.sd {
			return -1
		}
		return 1
	})
	if s.Kind == metrics.Normals {
		for name, bins := range map[string]int{"ence": 15, "uce": 15, "ence(bins=4)": 4, "uce(bins=3)": 3} {
			sum, from := 0.0, 0
			for b := range bins {
				n := len(by) / bins
				if b < len(by)%bins {
					n++
				}
				mv, mse := 0.0, 0.0
				for _, r := range by[from : from+n] {
					mv, mse = mv+sq(r.sd)/float64(n), mse+sq(r.y-r.mean)/float64(n)
				}
				from += n
				if strings.HasPrefix(name, "ence") {
					sum += math.Abs(math.Sqrt(mv)-math.Sqrt(mse)) / math.Sqrt(mv) / float64(bins)
				} else {
					sum += float64(n) / float64(len(by)) * math.Abs(mv-mse)
				}
			}
			v[name] = sum
		}
	}
	return v
}

// quantileOf is the least number below which, itself included, a share p of what was observed is.
func quantileOf(l []plainForecast, p float64) float64 {
	y := slices.Clone(l)
	slices.SortFunc(y, func(a, b plainForecast) int { return cmp.Compare(a.y, b.y) })
	sum, all := 0.0, 0.0
	for _, r := range y {
		all += r.w
	}
	for _, r := range y {
		if sum += r.w; sum >= p*all*(1-1e-12) {
			return r.y
		}
	}
	return math.NaN()
}

// rising is isotonic regression of the quantile of a level on the rows' own, by its formula: the largest, over the blocks from
// which it may begin, of the least quantile over the blocks up to which it may go.
func rising(l []plainForecast, p float64) []float64 {
	var at []float64
	for _, r := range l {
		at = append(at, r.quantile(p))
	}
	blocks := slices.Compact(slices.Sorted(slices.Values(at)))
	pooled := make([][]float64, len(blocks)) // by the first and the last block
	for i, from := range blocks {
		for _, to := range blocks {
			var in []plainForecast
			for j, r := range l {
				if from <= at[j] && at[j] <= to {
					in = append(in, r)
				}
			}
			pooled[i] = append(pooled[i], quantileOf(in, p))
		}
	}
	fit := make([]float64, len(l))
	for i := range l {
		fit[i] = math.Inf(-1)
		for f := 0; f < len(blocks) && blocks[f] <= at[i]; f++ {
			least := math.Inf(1)
			for to := f; to < len(blocks); to++ {
				if blocks[to] >= at[i] {
					least = min(least, pooled[f][to])
				}
			}
			fit[i] = max(fit[i], least)
		}
	}
	return fit
}

// TestForecastValues holds each metric to its definition.
func TestForecastValues(t *testing.T) {
	compared := map[string]bool{}
	for _, c := range everyForecast(t) {
		c.spec.Metrics = listOf(t, c.metrics, c.spec.Shape())
		e := fill(t, c.spec, c.p)
		want := plainValues(c.spec, plainForecasts(c.spec, c.p))
		for _, m := range c.spec.Metrics {
			w, ok := want[m.String()]
			if !ok || c.p.Weights != nil && (m.Name == "ence" || m.Name == "uce") {
				continue
			}
			// Pairs of levels that are not symmetric make no score, whatever the formula says.
			if strings.HasPrefix(m.Name, "wis") && strings.HasPrefix(c.name, "lopsided") {
				w = math.NaN()
			}
			v, tol := e.Value(m), 1e-11
			if c.p.F32 != nil {
				tol = 2e-7 // float32 has arithmetic of its own
			}
			if !(math.Abs(v.Value-w) <= tol*max(1, math.Abs(w))) && !(math.IsNaN(w) && math.IsNaN(v.Value) && v.Reason != "" && math.IsNaN(v.Interval.Low)) {
				t.Errorf("%s: %v is %v (%s), by its definition %v", c.name, m, v.Value, v.Reason, w)
			}
			if !math.IsNaN(w) {
				compared[m.Name] = true
			}
		}
	}
	for _, d := range inForecasts() {
		if !compared[d.Name] && !d.random && d.Name != "miscalibration_area" {
			t.Errorf("%s is not compared", d.Name)
		}
	}
}

// TestForecastReasons: what there is no answer of says why.
func TestForecastReasons(t *testing.T) {
	value := func(s Spec, p *metrics.Predictions, metric string) Value {
		t.Helper()
		s.Metrics = listOf(t, metric, s.Shape())
		return fill(t, s, p).Value(s.Metrics[0])
	}
	lopsided := quantilesOf(1, 40, 3, false)
	few := quantilesOf(1, 9, 5, false)
	one := normals(1, 1, false)
	for _, c := range []struct {
		s      Spec
		p      *metrics.Predictions
		metric string
		want   string
		number bool
	}{
		{levelled(0.1, 0.4, 0.95), lopsided, "wis", "one of level 0.1 but none of 0.9", false},
		{levelled(0.1, 0.4, 0.95), lopsided, "ae_median", "0.5 is not among the levels of the quantiles", false},
		{levelled(0.1, 0.4, 0.95), lopsided, "coverage_90", "levels 0.05 and 0.95, and not both are given", false},
		{levelled(0.1, 0.4, 0.95), lopsided, "width(level=0.3)", "0.35", false},
		{levelled(0.1, 0.4, 0.95), lopsided, "interval_score(level=0.5)", "levels 0.25 and 0.75", false},
		{levelled(0.1, 0.4, 0.95), lopsided, "pinball(level=0.5)", "there is no quantile of level 0.5", false},
		{levelled(0.1, 0.4, 0.95), lopsided, "pinball(level=0.95)", "", true},
		{levelled(0.1, 0.4, 0.95), lopsided, "crps", "", true},
		{levelled(0.1, 0.4, 0.95), lopsided, "rms_calibration", "no two quantiles have levels that sum to 1", false},
		{levelled(0.1, 0.4, 0.95), lopsided, "rms_calibration(form=quantile)", "", true},
		{Spec{Classes: 3, Kind: metrics.Normals}, normals(1, 40, false), "rms_calibration", "; a calibrated forecast would show about 0.0642 by chance", true},
		{levelled(0.1, 0.25, 0.9), lopsided, "wis", "", false},
		{levelled(five...), few, "pit_p", "fewer than 5 rows a bin", false},
		{Spec{Classes: 3, Kind: metrics.Normals}, one, "pit_p", "fewer than 5 rows a bin", false},
		{Spec{Classes: 3, Kind: metrics.Samples}, numbers(1, 3, 3, metrics.Samples), "rank_p", "fewer than 5 rows", false},
		{Spec{Classes: 3, Kind: metrics.Normals}, one, "rmse", "", true},
		{Spec{Classes: 3, Kind: metrics.Normals}, one, "rce", "", true},
		{Spec{Classes: 3, Kind: metrics.Normals}, normals(1, 40, false), "miscalibration_area", "; a calibrated forecast would show about 0.0", true},
	} {
		v := value(c.s, c.p, c.metric)
		if math.IsNaN(v.Value) == c.number || !strings.Contains(v.Reason, c.want) || math.IsNaN(v.Value) && v.Reason == "" || math.IsNaN(v.Interval.Low) && v.Reason == "" {
			t.Errorf("%s of %v: %+v, want %q", c.metric, c.s.Levels, v, c.want)
		}
	}
	for metric, want := range map[string]string{
		"pinball(level=1e-9)": "level is 1e-09; it is 0, for all of them, or 0.000001 at least", "pinball(level=1)": `level is "1"`, "pinball(level=-0.5)": `level is "-0.5"`,
		"coverage(level=0)": `level is "0"`, "coverage_50(level=0.4)": "it takes no options", "miscalibration_area(form=other)": "crossing, plain, interval",
		"miscalibration_area(bins=0)": `bins is "0"; it is a whole number from 1 to 10000`, "ence(bins=2.5)": `bins is "2.5"`, "pit_p(bins=1)": "from 2 to 1000", "rank_p": "it is for samples",
		"ece": "", "crps_fair": "it is for samples",
	} {
		if _, err := ParseMetrics(metric, Shape{Classes: 3, Kind: metrics.Normals}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", metric, err, want)
		}
	}
}

// TestForecastTexts: the text says what is of the rows and of the options.
func TestForecastTexts(t *testing.T) {
	for _, c := range []struct {
		s            Spec
		metric, want string
	}{
		{Spec{Classes: 3, Kind: metrics.Normals}, "wis", "mean (|y - median|/2 + sum_a (a/2) IS_a)/(Q + 1/2), Q intervals; at the 23 levels 0.01, 0.025, 0.05, 0.1, ..., 0.9, 0.95, 0.975, 0.99"},
		{levelled(five...), "wis", "mean (|y - median|/2 + sum_a (a/2) IS_a)/(Q + 1/2), Q intervals; of 5 quantiles"},
		{levelled(five...), "wis(count_median_twice)", "mean (|y - median| + sum_a (a/2) IS_a)/(Q + 1), Q intervals; of 5 quantiles"},
		{levelled(0.25, 0.75), "wis(count_median_twice)", "mean (sum_a (a/2) IS_a)/Q, Q intervals; of 2 quantiles"},
		{levelled(0.25, 0.75), "wis", "mean (sum_a (a/2) IS_a)/Q, Q intervals; of 2 quantiles"},
		{levelled(0.25, 0.75), "wis_underprediction", "mean (sum_a max(0, y - u_a))/Q; of 2 quantiles"},
		{levelled(five...), "wis_overprediction(count_median_twice)", "mean (max(0, median - y) + sum_a max(0, l_a - y))/(Q + 1); of 5 quantiles"},
		{levelled(five...), "wis_dispersion(count_median_twice)", "mean sum_a (a/2) (u_a - l_a)/(Q + 1); of 5 quantiles"},
		{Spec{Classes: 3, Kind: metrics.Normals}, "nll", "mean (ln sd + ((y - m)/sd)^2/2 + ln(2 pi)/2)"},
		{Spec{Classes: 3, Kind: metrics.Normals}, "crps", "mean sd (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi)), z = (y - m)/sd"},
		{Spec{Classes: 3, Kind: metrics.Normals, Law: regress.LaplaceLaw}, "nll", "mean (|y - m|/b + ln(2 b)), b = sd/sqrt(2); laplace distributions"},
		{Spec{Classes: 3, Kind: metrics.Normals, Law: regress.StudentLaw(5)}, "coverage_50", "mean [q_{(1-L)/2} <= y <= q_{(1+L)/2}]; L = 0.5; t(df=5) distributions"},
		{Spec{Classes: 3, Kind: metrics.Normals, Law: regress.LogisticLaw}, "quantile_mse(bins=4)", "mean_j (P(y <= q_j) - p_j)^2; bins=4; logistic distributions"},
		{Spec{Classes: 3, Kind: metrics.Normals, Law: regress.LogisticLaw}, "zms", "mean ((y - m)/sd)^2"},
		{levelled(five...), "crps", "mean 2 integral pinball(p) dp, over the levels"},
		{levelled(five...), "coverage_50", "mean [q_{(1-L)/2} <= y <= q_{(1+L)/2}]; L = 0.5"},
		{levelled(five...), "coverage(level=0.8)", "mean [q_{(1-L)/2} <= y <= q_{(1+L)/2}]; level=0.8"},
	} {
		c.s.Metrics = listOf(t, c.metric, c.s.Shape())
		if got := fill(t, c.s, nil).Text(c.s.Metrics[0]); got != c.want {
			t.Errorf("%s: %q, want %q", c.metric, got, c.want)
		}
	}
}

// TestForecastSeeds: what is drawn depends on the seed and on the numbers of rows, and on nothing else.
func TestForecastSeeds(t *testing.T) {
	q, x := quantilesOf(3, 300, 5, false), numbers(4, 300, 7, metrics.Samples)
	for i, v := range x.F64 {
		x.F64[i] = math.Round(v)
	}
	for i, v := range x.Observed {
		x.Observed[i] = math.Round(v)
	}
	for _, c := range []struct {
		s      Spec
		p      *metrics.Predictions
		metric string
	}{{levelled(five...), q, "pit_p"}, {Spec{Classes: 7, Kind: metrics.Samples}, x, "pit_p"}, {Spec{Classes: 7, Kind: metrics.Samples}, x, "rank_p"}} {
		c.s.Metrics = listOf(t, c.metric, c.s.Shape())
		p := func(seed uint64, first int64, o *metrics.Options) float64 {
			s := c.s
			s.Seed = seed
			e := fill(t, s, nil)
			if err := e.AddSource(&source{c.p, first}, o); err != nil {
				t.Fatal(err)
			}
			return e.Value(s.Metrics[0]).Value
		}
		a := p(1, 0, nil)
		if b := p(1, 0, &metrics.Options{Threads: 3}); a != b || math.IsNaN(a) {
			t.Errorf("%s is %v, and with other threads %v", c.metric, a, b)
		}
		if b, d := p(2, 0, nil), p(1, 1000, nil); a == b || a == d {
			t.Errorf("%s is %v, with another seed %v, of later rows %v", c.metric, a, b, d)
		}
	}
	// Of normal forecasts nothing is drawn.
	s := Spec{Classes: 3, Kind: metrics.Normals, Metrics: listOf(t, "pit_p", Shape{Classes: 3, Kind: metrics.Normals})}
	a := fill(t, s, normals(5, 300, false)).Value(s.Metrics[0])
	s.Seed = 9
	if b := fill(t, s, normals(5, 300, false)).Value(s.Metrics[0]); a.Value != b.Value {
		t.Errorf("pit_p of normal forecasts is %v, with another seed %v", a.Value, b.Value)
	}
}

// TestLyingLevels: states whose levels are none, and lies about their number.
func TestLyingLevels(t *testing.T) {
	s := levelled(five...)
	s.Metrics = listOf(t, "all,pinball(level=0.25)", s.Shape())
	e := fill(t, s, quantilesOf(1, 40, 5, false))
	read(t, sealed(t, e, func(*fields) {}))
	for name, change := range map[string]func(f *fields){
		"falling":          func(f *fields) { f.levels[1] = 0.01 },
		"equal":            func(f *fields) { f.levels[1] = f.levels[0] },
		"0":                func(f *fields) { f.levels[0] = 0 },
		"-0":               func(f *fields) { f.levels[0] = math.Copysign(0, -1) },
		"next to 0":        func(f *fields) { f.levels[0] = 1.5e-9 },
		"next to another":  func(f *fields) { f.levels[1] = f.levels[0] + 1.5e-9 },
		"1":                func(f *fields) { f.levels[4] = 1 },
		"NaN":              func(f *fields) { f.levels[2] = math.NaN() },
		"infinite":         func(f *fields) { f.levels[4] = math.Inf(1) },
		"others":           func(f *fields) { f.levels[1] = 0.3 },
		"one less":         func(f *fields) { f.levels = f.levels[1:] },
		"one less, said":   func(f *fields) { f.levels, f.classes = f.levels[1:], 4 },
		"one more":         func(f *fields) { f.levels = append(f.levels, 0.99) },
		"one more, said":   func(f *fields) { f.levels, f.classes = append(f.levels, 0.99), 6 },
		"many":             func(f *fields) { f.classes = 1 << 30 },
		"of samples":       func(f *fields) { f.kind = uint8(metrics.Samples) },
		"of normals":       func(f *fields) { f.kind = uint8(metrics.Normals) },
		"members":          func(f *fields) { f.members = 2 },
		"out":              func(f *fields) { f.flags = 4 },
		"a metric of none": func(f *fields) { f.names[0] = "zms" },
		"small level":      func(f *fields) { f.names = append(f.names, "pinball(level=0.000000001)") },
		"swapped":          func(f *fields) { f.parts[0], f.parts[1] = f.parts[1], f.parts[0] },
	} {
		if err := new(Evaluation).UnmarshalBinary(sealed(t, e, change)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// TestLawOfSpec: a state holds the law, and an unknown law is rejected; other kinds have none.
func TestLawOfSpec(t *testing.T) {
	p := normals(4, 30, false)
	for _, l := range []regress.Law{{}, regress.LaplaceLaw, regress.StudentLaw(2.5)} {
		s := Spec{Classes: p.Classes, Kind: metrics.Normals, Law: l}
		s.Metrics = listOf(t, "all,rms_calibration,wis(count_median_twice)", s.Shape())
		e := fill(t, s, p)
		var again Evaluation
		if err := again.UnmarshalBinary(state(t, e)); err != nil || again.Spec.Law != l || !bytes.Equal(state(t, &again), state(t, e)) {
			t.Errorf("%v is read as %v: %v", l, again.Spec.Law, err)
		}
		s.Law = regress.LogisticLaw
		if err := fill(t, s, p).Merge(e); err == nil || !strings.Contains(err.Error(), "logistic and "+l.String()+" distributions") {
			t.Errorf("%v: %v", l, err)
		}
		version, payload, _, err := exact.Open(stateMagic, state(t, e))
		if err != nil {
			t.Fatal(err)
		}
		damaged := bytes.Replace(payload, []byte(l.String()), []byte(strings.Repeat("x", len(l.String()))), 1)
		if err := again.UnmarshalBinary(exact.Seal(stateMagic, version, damaged)); !errors.Is(err, exact.ErrDamaged) {
			t.Errorf("%v: a state of no law: %v", l, err)
		}
	}
	if _, err := New(Spec{Classes: 3, Kind: metrics.Samples, Law: regress.LaplaceLaw}); err == nil || !strings.Contains(err.Error(), "distributions are of means and standard deviations") {
		t.Error(err)
	}
}
