package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/survival"
)

var needsSurvival = need{"it is for the time until an event (%v)", []any{setting.OfEvents}}

func ofSurvival(s Shape) bool { return s.Kind == metrics.Survival }

// Options of metrics of survival. A horizon of 0 stands for each that is judged.
var (
	horizonOwn = choice{name: "horizon", least: 0, most: math.MaxFloat64, unsaid: 0}
	atHorizon  = choices{horizonOwn}
	inBins     = choices{{name: "bins", whole: true, least: 1, most: 10000, unsaid: 15}, horizonOwn}
	knotsOwn   = choices{horizonOwn, {name: "knots", whole: true, least: 2, most: survival.MostKnots, unsaid: survival.Knots}}
	dBinsOwn   = choices{{name: "bins", whole: true, least: 2, most: 1000, unsaid: 10}}
	cceOwn     = choices{
		{name: "curve", words: []string{"kaplan_meier", "nelson_aalen"}},
		{name: "folds", whole: true, least: 2, most: 100, unsaid: 5},
		horizonOwn,
		{name: "kernel", words: []string{"gaussian", "cubic", "nearest"}},
		{name: "max_rows", whole: true, least: 10, most: 1e6, unsaid: 5000},
		{name: "orthogonal"},
		{name: "repeats", whole: true, least: 1, most: 100, unsaid: 4},
		{name: "weights", words: []string{"constant", "relative", "chi"}},
	}
)

const (
	influence   = "value +- z*SE, SE that of the rows' influence; rows taken as independent"
	knownCurve  = "value +- z*SE, the curve of censoring taken as known; rows taken as independent"
	survivalKey = "survival"
	leastTimes  = 10 // of a curve that is judged as a whole
)

// mostSmoothed is the number of rows up to which HazardCurve is part of what is judged without being asked for: a million take 2 s.
const mostSmoothed = 100_000

// keptRows is the accumulator of all metrics of survival.
var keptRows = statistic{survivalKey, rows, func() any { return survival.NewKept() }}

func ofKept(*Spec, Metric) []statistic { return []statistic{keptRows} }

// checkSurvival returns an error for times and horizons that cannot be, and sets those that are judged.
func (s *Spec) checkSurvival() error {
	if s.Kind != metrics.Survival {
		if s.Times != nil || s.Horizons != nil {
			return fmt.Errorf("eval: times and horizons are those of survival, and the rows are %v", s.Kind)
		}
		return nil
	}
	if len(s.Times) != s.Classes-2 || len(s.Times) == 0 {
		return fmt.Errorf("eval: %d times for rows of %d numbers, the last two of which are a time and an event", len(s.Times), s.Classes)
	}
	for i, t := range s.Times {
		if !(t > 0 && t <= math.MaxFloat64) || i > 0 && t <= s.Times[i-1] {
			return errors.New("eval: the times of survival rise, from above 0")
		}
	}
	if s.Horizons == nil {
		s.Horizons = s.Times
	}
	for i, h := range s.Horizons {
		if i > 0 && h <= s.Horizons[i-1] {
			return errors.New("eval: horizons rise")
		}
		if err := s.hasTime(h); err != nil {
			return err
		}
	}
	var l []Metric
	for at := 0; at < len(s.Metrics); {
		to := at
		for to < len(s.Metrics) && s.AtEach(s.Metrics[to]) {
			to++
		}
		if to == at {
			l, at = append(l, s.Metrics[at]), at+1
			continue
		}
		for _, h := range s.Horizons {
			for _, m := range s.Metrics[at:to] {
				l = append(l, m.at(h))
			}
		}
		at = to
	}
	s.Metrics = nil
	for _, m := range l {
		if h, ok := m.horizon(); ok {
			if err := s.hasTime(h); err != nil {
				return fmt.Errorf("metric %v: %w", m, err)
			}
		}
		if !slices.ContainsFunc(s.Metrics, func(o Metric) bool { return o.String() == m.String() }) {
			s.Metrics = append(s.Metrics, m)
		}
	}
	return nil
}

// AtEach reports whether a metric stands for one at each of several horizons.
func (s *Spec) AtEach(m Metric) bool {
	d := s.describe(m)
	_, said := m.horizon()
	return len(s.Horizons) > 1 && d != nil && d.own.index(horizonOwn.name) >= 0 && !said
}

// at returns the metric at a horizon.
func (m Metric) at(h float64) Metric {
	m.args = append(choices{horizonOwn}.without(m).args, arg{horizonOwn.name, strconv.FormatFloat(h, 'g', -1, 64)})
	if h == math.Trunc(h) && h < 1e15 {
		m.args[len(m.args)-1].value = strconv.FormatInt(int64(h), 10)
	}
	slices.SortStableFunc(m.args, func(a, b arg) int { return strings.Compare(a.name, b.name) })
	return m
}

// horizon returns the horizon that a metric names.
func (m Metric) horizon() (float64, bool) {
	for _, a := range m.args {
		if a.name == horizonOwn.name {
			v, _ := strconv.ParseFloat(a.value, 64)
			return v, v != 0
		}
	}
	return 0, false
}

// hasTime returns an error unless there is a column of a time.
func (s *Spec) hasTime(t float64) error {
	i, ok := slices.BinarySearch(s.Times, t)
	if ok {
		return nil
	}
	near := s.Times[max(0, min(i-2, len(s.Times)-4)):min(len(s.Times), max(4, i+2))]
	words := make([]string, len(near))
	for j, v := range near {
		words[j] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	some := "the times are "
	if len(near) < len(s.Times) {
		some = "the nearest of the times are "
	}
	return fmt.Errorf("no column has the probability at %v; %s%s", t, some, strings.Join(words, ", "))
}

// HorizonOf returns the horizon of a metric of survival; 0 for one that has none.
func (e *Evaluation) HorizonOf(m Metric) float64 {
	if e.Spec.Kind != metrics.Survival || e.Spec.describe(m).own.index(horizonOwn.name) < 0 {
		return 0
	}
	if h, ok := m.horizon(); ok {
		return h
	}
	return e.Spec.Horizons[0]
}

func (e *Evaluation) kept() *survival.Kept { return statisticOf[*survival.Kept](e, rows, survivalKey) }

// lives are the rows with the probabilities of each time, in the order of Times.
func (e *Evaluation) lives() []*survival.Rows {
	type key struct{}
	return remember(e, key{}, func() []*survival.Rows {
		all := make([]int, len(e.Spec.Times))
		for i := range all {
			all[i] = i
		}
		return e.kept().Columns(all...)
	})
}

func (e *Evaluation) livesAt(h float64) *survival.Rows {
	i, _ := slices.BinarySearch(e.Spec.Times, h)
	return e.lives()[i]
}

// seen says how many rows have the event, and by when.
type seen struct {
	events, by int64 // of all, and by the horizon
	unknown    int64 // censored before it
	last       float64
	open       bool // the latest row is censored
}

func (e *Evaluation) seen(h float64) seen {
	type key struct{ h float64 }
	return remember(e, key{h}, func() seen { return seenIn(e.lives()[0], h) })
}

func seenIn(r *survival.Rows, h float64) (s seen) {
	for i, t := range r.Times {
		switch {
		case t > s.last:
			s.last, s.open = t, !r.Events[i]
		case t == s.last:
			s.open = s.open || !r.Events[i]
		}
		switch {
		case r.Events[i] && t <= h:
			s.events, s.by = s.events+1, s.by+1
		case r.Events[i]:
			s.events++
		case t < h:
			s.unknown++
		}
	}
	return s
}

// Events returns how many rows of survival have the event.
func (e *Evaluation) Events() int64 { return e.seen(0).events }

// unjudged returns the reason why nothing can be said at a horizon; "" if something can.
func (e *Evaluation) unjudged(h float64) string {
	if e.Audit.Rows == 0 {
		return noRows
	}
	s := e.seen(h)
	return s.unjudged(h)
}

func (s *seen) unjudged(h float64) string {
	switch {
	case s.events == 0:
		return "all rows are censored, so no event says whether the probabilities are right"
	case h > s.last && s.open:
		return fmt.Sprintf("the horizon %v lies beyond the last time, %v, when some rows were still without the event: what happens in between is not known", h, s.last)
	case s.by == 0:
		return fmt.Sprintf("no row has the event by %v: name a later horizon", h)
	}
	return ""
}

// limitLives limits the rows that are kept while they are read, and returns a function that counts rows and reports whether they are too many.
func (e *Evaluation) limitLives() func(c *metrics.Chunk) bool {
	if e.Spec.Kind != metrics.Survival || e.ClusterBytes <= 0 {
		return nil
	}
	room := 4*e.ClusterBytes - e.Size(Extent{Rows: e.Audit.Rows})
	return func(c *metrics.Chunk) bool {
		room -= survival.RowBytes(c.Classes, c.Weights != nil) * int64(c.Rows)
		return room < 0
	}
}

// livesError returns the error of rows of survival that take too much memory.
func (e *Evaluation) livesError() error {
	remedy := "give it more"
	if e.Remedy != nil {
		remedy = e.Remedy(4 * e.ClusterBytes)
	}
	return &RoomError{Reason: fmt.Sprintf("all rows of survival are kept, and take more memory than there is: %s, or name fewer columns of times", remedy)}
}

func undefined(reason string) Value {
	return Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: reason}
}

// plainError strips the package name from an error of package survival.
func plainError(err error) string { return strings.TrimPrefix(err.Error(), "survival: ") }

// survivalEstimates are the metrics at a horizon on which the influence of rows is known.
var survivalEstimates = map[string]func(r *survival.Rows, h float64) (survival.Estimate, error){
	"mean_risk":        func(r *survival.Rows, _ float64) (survival.Estimate, error) { return survival.MeanRisk(r) },
	"event_share_km":   survival.EventShare,
	"bias_km":          survival.InTheLarge,
	"brier_ipcw":       survival.Brier,
	"auroc_ipcw":       survival.AUROC,
	"concordance_ipcw": survival.ConcordanceIPCW,
	"concordance":      func(r *survival.Rows, _ float64) (survival.Estimate, error) { return survival.Concordance(r) },
}

// brierIntegrated is the one of whole curves.
const brierIntegrated = "brier_integrated"

// survivalAt returns the answer of a metric at a horizon.
func survivalAt(method string) func(*Evaluation, Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		h := e.HorizonOf(m)
		if why := e.unjudged(h); why != "" {
			return undefined(why)
		}
		x, err := survivalEstimates[m.Name](e.livesAt(h), h)
		if err != nil {
			return undefined(plainError(err))
		}
		return e.estimated(x, method)
	}
}

// HasInfluence reports whether SurvivalEstimate has an answer for a metric of survival.
func HasInfluence(m Metric) bool {
	return survivalEstimates[m.Name] != nil || m.Name == brierIntegrated
}

// IsSurvivalBrier reports whether a metric is a Brier score of survival, at a horizon or over whole curves.
func IsSurvivalBrier(m Metric) bool { return m.Name == "brier_ipcw" || m.Name == brierIntegrated }

// SurvivalEstimate returns the estimate of a metric of rows of survival other than the evaluation's, with the influence of each row. lives are the rows
// with the probabilities of each of Spec.Times, at least one. The reason says why there is no estimate, as Value.Reason; "" if there is one. It panics
// unless HasInfluence.
func (e *Evaluation) SurvivalEstimate(m Metric, lives []*survival.Rows) (x survival.Estimate, reason string) {
	var err error
	if m.Name == brierIntegrated {
		if why := e.unintegrated(func(h float64) seen { return seenIn(lives[0], h) }); why != "" {
			return x, why
		}
		x, err = survival.IntegratedBrier(lives[0], e.curves(lives))
	} else {
		h := e.HorizonOf(m)
		s := seenIn(lives[0], h)
		if why := s.unjudged(h); why != "" {
			return x, why
		}
		i, _ := slices.BinarySearch(e.Spec.Times, h)
		x, err = survivalEstimates[m.Name](lives[i], h)
	}
	if err != nil {
		return x, plainError(err)
	}
	return x, ""
}

// SurvivalShares returns the share that the Brier score at each of Spec.Times has in a metric: all at the horizon of brier_ipcw, and those of the
// trapezoidal rule in brier_integrated.
func (e *Evaluation) SurvivalShares(m Metric) []float64 {
	if m.Name == brierIntegrated {
		return survival.Shares(e.Spec.Times)
	}
	l := make([]float64, len(e.Spec.Times))
	i, _ := slices.BinarySearch(e.Spec.Times, e.HorizonOf(m))
	l[i] = 1
	return l
}

// curves are the predicted curves of rows.
func (e *Evaluation) curves(lives []*survival.Rows) *survival.Curves {
	c := &survival.Curves{Times: e.Spec.Times}
	for _, r := range lives {
		c.Risks = append(c.Risks, r.Risks)
	}
	return c
}

// estimated is the value of an estimate, whose method is that of independent rows.
func (e *Evaluation) estimated(x survival.Estimate, method string) Value {
	v := Value{Value: x.Value, Interval: x.Interval(e.Spec.Level), Method: method, DF: x.DF}
	if math.IsNaN(x.SE) {
		v.Interval, v.Reason = metrics.NoInterval(), "its standard error is not known"
	}
	return v
}

const (
	clusterInfluence  = "value +- t*s, s^2 of the influence of rows summed by cluster, " + clusterT
	clusterKnownCurve = clusterInfluence + "; the curve of censoring taken as known"
)

// livesByCluster replaces what a value says of intervals where rows are in clusters: estimates have been found by them already.
func (e *Evaluation) livesByCluster(m Metric, v *Value) {
	known := v.Method == knownCurve
	had := v.Interval.Low == v.Interval.Low
	switch g := e.clusterSums().Count(); {
	case v.Value-v.Value != 0:
	case v.DF > 0 && had:
		if v.Clusters, v.Method = g, clusterInfluence; known {
			v.Method = clusterKnownCurve
		}
		return
	case v.Reason == chiSquared:
		v.Note = "computed as if the rows of a cluster were independent"
	case m.Name == "cce" && had:
		v.Reason = notClustered
	case m.Name == "cce", m.Name == "ece_km", strings.HasSuffix(m.Name, "_cox"):
	case g < 2:
		v.Reason = oneCluster
	case e.clusterSums().DF() > 0:
		v.Reason = fewClusters
	default:
		v.Reason = lostClusters
	}
	v.Interval, v.Method = metrics.NoInterval(), ""
}

// Reliability returns the reliability diagram of survival at a horizon, or the reason why there is none.
func (e *Evaluation) Reliability(horizon float64, bins int) (*survival.Reliability, string) {
	type key struct {
		h    float64
		bins int
	}
	type answer struct {
		r   *survival.Reliability
		why string
	}
	a := remember(e, key{horizon, bins}, func() answer {
		if why := e.unjudged(horizon); why != "" {
			return answer{nil, why}
		}
		r, err := survival.ReliabilityOf(e.livesAt(horizon), horizon, bins)
		if err != nil {
			return answer{nil, plainError(err)}
		}
		return answer{r, ""}
	})
	return a.r, a.why
}

// HazardCurve returns the smooth calibration curve of survival at a horizon by hazard regression, or the reason why there is none.
func (e *Evaluation) HazardCurve(horizon float64, knots int) (*survival.ICI, string) {
	type key struct {
		h     float64
		knots int
	}
	type answer struct {
		c   *survival.ICI
		why string
	}
	a := remember(e, key{horizon, knots}, func() answer {
		if why := e.unjudged(horizon); why != "" {
			return answer{nil, why}
		}
		c, err := survival.ICIOf(e.livesAt(horizon), horizon, knots)
		if err != nil {
			return answer{nil, plainError(err)}
		}
		return answer{c, ""}
	})
	return a.c, a.why
}

// hazardGap returns the answer of a distance from HazardCurve.
func hazardGap(of func(*survival.ICI) float64) func(*Evaluation, Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		c, why := e.HazardCurve(e.HorizonOf(m), int(knotsOwn.of(m, "knots")))
		if why != "" {
			return undefined(why)
		}
		return Value{Value: of(c), Interval: metrics.NoInterval(), Reason: "no interval: chance alone makes it positive, however right the probabilities are; the curve has a band"}
	}
}

// BrierPoint is the Brier score of survival at a time.
type BrierPoint struct {
	Time  float64
	Score Value
	// Reference is the score of the share with the event by the Kaplan-Meier curve, the same for every row: who knows only that does as well.
	Reference float64
}

// BrierCurve returns the Brier score at each time of Spec.Times at which rows can be judged.
func (e *Evaluation) BrierCurve() []BrierPoint {
	type key struct{}
	return remember(e, key{}, func() (l []BrierPoint) {
		for i, t := range e.Spec.Times {
			if e.unjudged(t) != "" {
				continue
			}
			r := *e.lives()[i]
			x, err := survival.Brier(&r, t)
			if err != nil {
				continue
			}
			p := BrierPoint{Time: t, Score: e.estimated(x, influence), Reference: math.NaN()}
			if share, err := survival.EventShare(&r, t); err == nil {
				r.Risks = slices.Repeat([]float64{math.Min(1, math.Max(0, share.Value))}, len(r.Times))
				if x, err := survival.Brier(&r, t); err == nil {
					p.Reference = x.Value
				}
			}
			l = append(l, p)
		}
		return l
	})
}

// DCalibration returns the histogram and test of whole curves, or the reason why there is none.
func (e *Evaluation) DCalibration(bins int) (*survival.DCalibration, string) {
	if why := e.noCurves(); why != "" {
		return nil, why
	}
	type key int
	type answer struct {
		d   *survival.DCalibration
		why string
	}
	a := remember(e, key(bins), func() answer {
		l := e.lives()
		own := *l[0]
		own.Events = slices.Clone(own.Events)
		s := make([]float64, len(own.Times))
		last := e.Spec.Times[len(e.Spec.Times)-1]
		for i, t := range own.Times {
			if t > last { // nothing is said of what comes then
				t, own.Events[i] = last, false
			}
			s[i] = 1 - between(e.Spec.Times, l, i, t)
		}
		d, err := survival.DCalibrationOf(&own, s, bins)
		if err != nil {
			return answer{nil, plainError(err)}
		}
		return answer{d, ""}
	})
	return a.d, a.why
}

// between returns the risk of row i at a time up to the last of a curve, on straight lines from 0 at time 0.
func between(times []float64, l []*survival.Rows, i int, t float64) float64 {
	k, exactly := slices.BinarySearch(times, t)
	if exactly {
		return l[k].Risks[i]
	}
	low, from := 0.0, 0.0
	if k > 0 {
		low, from = l[k-1].Risks[i], times[k-1]
	}
	return low + float64((l[k].Risks[i]-low)*((t-from)/(times[k]-from)))
}

// noCurves returns the reason why there is no answer for whole curves; "" if there is one.
func (e *Evaluation) noCurves() string {
	if n := len(e.Spec.Times); n < leastTimes {
		return fmt.Sprintf("it judges whole curves, of %d times at least, and the probabilities are those at %d", leastTimes, n)
	}
	if e.Audit.Rows == 0 {
		return noRows
	}
	if e.seen(0).events == 0 {
		return "all rows are censored"
	}
	return ""
}

// censoredOptions returns the options of cce.
func (s *Spec) censoredOptions(m Metric) survival.CensoredOptions {
	return survival.CensoredOptions{
		Folds: int(cceOwn.of(m, "folds")), Repeats: int(cceOwn.of(m, "repeats")), Orthogonal: cceOwn.of(m, "orthogonal") != 0,
		Product: survival.Product(cceOwn.of(m, "curve")), Nearby: survival.Nearby(cceOwn.of(m, "kernel")),
		Weights: survival.ErrorWeights(cceOwn.of(m, "weights")), Seed: s.Seed, AsCoded: s.UM,
	}
}

func censored(e *Evaluation, m Metric) Value {
	h := e.HorizonOf(m)
	if why := e.unjudged(h); why != "" {
		return undefined(why)
	}
	r := e.livesAt(h)
	if most := int(cceOwn.of(m, "max_rows")); len(r.Times) > most {
		return undefined(fmt.Sprintf("its time grows with the square of the rows, and there are %d: name cce(max_rows=%d) to have it computed", len(r.Times), len(r.Times)))
	}
	type key struct{ m string }
	type answer struct {
		c   *survival.Censored
		err error
	}
	a := remember(e, key{m.String()}, func() answer {
		o := e.Spec.censoredOptions(m)
		o.Threads = e.Threads
		c, err := survival.CensoredOf(r, h, &o)
		return answer{c, err}
	})
	if a.err != nil {
		return undefined(plainError(a.err))
	}
	if e.Spec.UM {
		return Value{Value: a.c.Squared, Interval: metrics.Normal(a.c.Squared, a.c.SE, e.Spec.Level), Method: "value +- z*SE, as coded"}
	}
	v := Value{Value: a.c.RMS(), Interval: a.c.Interval(e.Spec.Level), Method: "from the root of the mean square - z*SE to the root of it + z*SE, or value + z*SE/(2 value) if that is larger; rows taken as independent"}
	if math.IsNaN(v.Interval.Low) {
		v.Reason = "no interval: the orthogonal estimate is too low by the variance of its curves"
	}
	return v
}

func censoredText(e *Evaluation, m Metric) string {
	d := e.Spec.describe(m)
	f := d.own.formula(d.Formula, choices{cceOwn[cceOwn.index("max_rows")]}.without(m))
	f = strings.Replace(f, "; max_rows=5000", "", 1)
	if e.Spec.UM {
		f += "; the mean square itself, as uncertainty_metrics returns it"
	}
	return f
}

// inSurvival returns the metrics of the time until an event.
func inSurvival() []Descriptor {
	const austin = "Austin, Harrell and van Klaveren 2020"
	hazards := func(what string) string {
		return what + " |p_i - c(p_i)|, c(p) = 1 - exp(-H0(h) exp(f(log(-log(1 - p))))), f a restricted cubic spline in a Cox regression, H0 its cumulative hazard"
	}
	const km = "S the Kaplan-Meier curve of the rows"
	const ipcw = "w_i = 1/G(t_i-) with the event by h, 1/G(h-) if seen without it until h, else 0, G the Kaplan-Meier curve of censoring"
	l := []Descriptor{
		{Name: "mean_risk", own: atHorizon, Short: "mean P(T <= h)", Meaning: "mean probability that the event happens by the horizon",
			Formula: "mean p_i(h)", Range: "[0, 1]", Better: Neither, Source: "standard",
			value: survivalAt("mean +- z*s/sqrt(n); rows taken as independent")},
		{Name: "event_share_km", own: atHorizon, Short: "events by h", Meaning: "share of the rows with the event by the horizon, by the Kaplan-Meier curve",
			Formula: "1 - S(h), " + km, Range: "[0, 1]", Better: Neither, Source: "Kaplan and Meier 1958; Greenwood 1926",
			value: survivalAt("Greenwood: value +- z*SE; rows taken as independent")},
		{Name: "bias_km", Default: true, own: atHorizon, Short: "mean risk - events", Meaning: "calibration in the large: mean probability minus the share of rows with the event by the horizon; above 0 it is too high",
			Formula: "mean p_i(h) - (1 - S(h)), " + km, Range: "[-1, 1]", Better: Zero, Source: "Kaplan-Meier; Crowson, Atkinson and Therneau 2016",
			value: survivalAt(influence)},
		{Name: "cce", Default: true, random: true, own: cceOwn, Short: "calibration error", Meaning: "censored calibration error: root mean squared distance of the probability from the share of events among rows like it, without bins",
			Formula: "sqrt(max(0, mean w_i (p_i - y_i)(p_i - c(p_i)))), c(p) = 1 - S(h | p) of rows in other folds weighted by a kernel, w_i = 1/G(t- | p_i) <= 20", Range: "[0, 1]", Better: Lower,
			Source: "Yadlowsky, Basu and Tian 2019", value: censored, text: censoredText},
		{Name: "ece_km", Default: true, own: inBins, Short: "binned calibration error", Meaning: "calibration error at the horizon over bins of probability, the share of events in each by its own Kaplan-Meier curve",
			Formula: "sum_b (n_b/N) |mean p_i - (1 - S_b(h))|, bins of equal width, closed at the left", Range: "[0, 1]", Better: Lower, Source: "Kaplan-Meier in each bin",
			value: func(e *Evaluation, m Metric) Value {
				r, why := e.Reliability(e.HorizonOf(m), int(inBins.of(m, "bins")))
				if why != "" {
					return undefined(why)
				}
				return Value{Value: r.ECE, Interval: metrics.NoInterval(), Reason: "no interval is computed for a sum of absolute gaps"}
			}},
		{Name: "ici_cox", own: knotsOwn, Short: "mean gap to a fit", Meaning: "integrated calibration index: mean distance of the probability from a smooth curve by hazard regression",
			Formula: hazards("mean"), Range: "[0, 1]", Better: Lower, Source: austin, value: hazardGap(func(c *survival.ICI) float64 { return c.Mean })},
		{Name: "e50_cox", own: knotsOwn, Short: "median gap to a fit", Meaning: "median distance of the probability from a smooth curve by hazard regression, over the rows",
			Formula: hazards("median"), Range: "[0, 1]", Better: Lower, Source: austin, value: hazardGap(func(c *survival.ICI) float64 { return c.E50 })},
		{Name: "e90_cox", own: knotsOwn, Short: "90% of gaps to a fit", Meaning: "90% quantile of the distance of the probability from a smooth curve by hazard regression, over the rows",
			Formula: hazards("90% quantile of"), Range: "[0, 1]", Better: Lower, Source: austin, value: hazardGap(func(c *survival.ICI) float64 { return c.E90 })},
		{Name: "emax_cox", own: knotsOwn, Short: "largest gap to a fit", Meaning: "largest distance of the probability of a row from a smooth curve by hazard regression",
			Formula: hazards("max"), Range: "[0, 1]", Better: Lower, Source: austin, value: hazardGap(func(c *survival.ICI) float64 { return c.Max })},
		{Name: "brier_ipcw", Default: true, own: atHorizon, Short: "squared error at h", Meaning: "Brier score at the horizon; other rows are weighted up for those censored before it",
			Formula: "mean w_i (p_i(h) - y_i)^2, " + ipcw, Range: "[0, Inf)", Better: Lower, Source: "Graf et al. 1999",
			value: survivalAt(influence)},
		{Name: "auroc_ipcw", Default: true, own: atHorizon, Short: "events rank above rest", Meaning: "cumulative/dynamic AUROC: probability that a row with the event by the horizon has a larger risk than one without",
			Formula: "sum_{i with, j without} w_i ([p_i > p_j] + [p_i = p_j]/2) / (sum_i w_i n_-), " + ipcw, Range: "[0, 1]", Better: Higher, Source: "Uno et al. 2007; Hung and Chiang 2010",
			value: survivalAt(knownCurve)},
		{Name: "concordance_ipcw", own: atHorizon, Short: "Uno's concordance", Meaning: "Uno's concordance up to the horizon: probability that of two rows the one with the earlier event has the larger risk",
			Formula: "sum_{i, j} G(t_i-)^-2 [t_i < t_j, t_i < h, event_i] ([p_i > p_j] + [p_i = p_j]/2) / sum of the same without the comparison", Range: "[0, 1]", Better: Higher, Source: "Uno et al. 2011",
			value: survivalAt(knownCurve)},
		{Name: "concordance", own: atHorizon, Short: "Harrell's concordance", Meaning: "Harrell's concordance of the risks at the horizon, over all pairs that can be compared; depends on how rows are censored",
			Formula: "share of pairs with t_i < t_j and event_i with p_i > p_j, equal p counting 1/2", Range: "[0, 1]", Better: Higher, Source: "Harrell et al. 1982",
			value: survivalAt("value +- z*SE by the infinitesimal jackknife; rows taken as independent")},
		{Name: brierIntegrated, Default: true, Short: "brier over the curve", Meaning: "integrated Brier score: mean of the Brier score over the times of predicted curves",
			Formula: "(1/(t_K - t_1)) integral of brier_ipcw by trapezoids between the times", Range: "[0, Inf)", Better: Lower, Source: "Graf et al. 1999",
			value: integratedBrier},
		{Name: "d_calibration_p", Default: true, own: dBinsOwn, Short: "p-value of whole curves", Meaning: "p-value of D-calibration: small if the predicted survival at the time of the event is not uniform on [0, 1]",
			Formula: "chi-squared test of equal shares of 1 - p_i(t_i) in bins of equal width, censored rows spread over what is left", Range: "[0, 1]", Better: Neither, Source: "Haider et al. 2020",
			value: func(e *Evaluation, m Metric) Value {
				d, why := e.DCalibration(int(dBinsOwn.of(m, "bins")))
				if why != "" {
					return undefined(why)
				}
				return Value{Value: d.P, Interval: metrics.NoInterval(), Reason: chiSquared}
			}},
	}
	for i := range l {
		d := &l[i]
		d.applies, d.needs, d.keeps, d.check = ofSurvival, needsSurvival, ofKept, noOptions
		if least, ok := map[string]int{brierIntegrated: 2, "d_calibration_p": leastTimes}[d.Name]; ok {
			d.defaults = func(s Shape) bool { return s.Classes-2 >= least }
		}
		if d.own != nil {
			d.check, d.Options = d.own.check, d.own.String()
			if d.text == nil {
				d.text = func(e *Evaluation, m Metric) string { return d.own.formula(d.Formula, m) }
			}
		}
	}
	return l
}

// unintegrated returns the reason why there is no Brier score over whole curves; "" if there is one. seen is that of one row or more.
func (e *Evaluation) unintegrated(seen func(h float64) seen) string {
	if n := len(e.Spec.Times); n < 2 {
		return "it is the mean over several times, and the probabilities are those at one"
	}
	last := e.Spec.Times[len(e.Spec.Times)-1]
	for _, h := range []float64{last, e.Spec.Times[0]} {
		s := seen(h)
		if why := s.unjudged(h); why != "" && !(h < last && s.by == 0) {
			return why
		}
	}
	return ""
}

func integratedBrier(e *Evaluation, _ Metric) Value {
	if e.Audit.Rows == 0 && len(e.Spec.Times) > 1 {
		return undefined(noRows)
	}
	if why := e.unintegrated(e.seen); why != "" {
		return undefined(why)
	}
	x, err := survival.IntegratedBrier(e.lives()[0], e.curves(e.lives()))
	if err != nil {
		return undefined(plainError(err))
	}
	return e.estimated(x, influence)
}

// Horizon is what survival predictions say of the event by a time, and what happened.
type Horizon struct {
	Time               float64
	Events, Unknown    int64 // rows with the event by then, and rows censored before
	Says, Happens, Gap Value // mean probability, share of events, and their difference
	Reason             string
	Bins               []survival.Bin        // of the reliability diagram
	Curve              []survival.CurvePoint // of HazardCurve; beyond 100,000 rows only where a metric asks for it
	Error              Value                 // cce, if it is among the metrics
	Side               int                   // of the probabilities on average: 1 too high, -1 too low, 0 if not shown
}

// JudgeHorizons judges the probabilities at each horizon: whether they are right on average, by Holm's method over all of them.
func (e *Evaluation) JudgeHorizons() []Horizon {
	l := make([]Horizon, len(e.Spec.Horizons))
	p := make([]float64, len(l))
	for i, h := range e.Spec.Horizons {
		s := e.seen(h)
		x := Horizon{Time: h, Events: s.by, Unknown: s.unknown, Reason: e.unjudged(h)}
		p[i] = math.NaN()
		get := func(name string) Value { return e.Value(Metric{Name: name}.at(h)) }
		x.Says, x.Happens, x.Gap = get("mean_risk"), get("event_share_km"), get("bias_km")
		if r, why := e.Reliability(h, 0); why == "" {
			x.Bins = r.Bins
		}
		if e.Audit.Rows <= mostSmoothed || slices.ContainsFunc(e.Spec.Metrics, func(m Metric) bool { return strings.HasSuffix(m.Name, "_cox") }) {
			if c, why := e.HazardCurve(h, 0); why == "" {
				x.Curve = c.Curve
			}
		}
		if x.Reason == "" {
			p[i] = ChanceOf(&x.Gap, e.Spec.Level, 0)
		}
		l[i] = x
	}
	for i, off := range Holm(p) {
		if off && l[i].Gap.Value > 0 {
			l[i].Side = 1
		} else if off {
			l[i].Side = -1
		}
	}
	return l
}
