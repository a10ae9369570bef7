package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/clustered"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/metrics/score"
)

// clustering is how the interval of a metric is found from clusters.
type clustering uint8

const (
	noClusters    clustering = iota
	ofShare                  // a share of rows, by Wilson's interval of fewer rows
	ofMean                   // mean of a loss
	ofLoss                   // mean of a loss, whose variance is at least what the model's own probabilities imply
	ofGap                    // mean of score minus outcome, likewise
	ofRatio                  // oe_ratio, from the mean of score minus outcome
	ofRoot                   // root of a mean
	ofExponential            // exponential of a loss
	ofSkill                  // 1 - loss / reference
	ofAUROC
	ofTopAUROC
	ofAURC
	ofEAURC
	ofAUGRC
	ofSlope
	ofIntercept
	ofBetting // e_calibration
)

const (
	clusterMean      = "mean +- t*s, s^2 = sum over clusters of (sum of the rows' distances from the mean)^2 / (1 - the cluster's share of the rows) / n^2, " + clusterT
	clusterGapMethod = clusterMean + "; s^2 larger by 3/m for m clusters with the rarer outcome, and at least what the model's own probabilities imply"
	clusterShare     = "Wilson's of the rows over the design effect of clusters, " + clusterT
	clusterAUROC     = "logit of AUROC +- t*s over AUROC (1 - AUROC), s^2 of structural components summed by cluster (Obuchowski 1997), " + clusterT
	clusterLine      = "value +- t*s, s^2 the sandwich estimate by cluster, that of the slope larger by 3/m for m clusters with the rarer outcome, " + clusterT
	clusterAreas     = "value +- t*s, s^2 of the influence of rows summed by cluster, larger by 3/m for m clusters with the rarer outcome, the upper end as if s^2 were in proportion to the value, " + clusterT
	clusterT         = "t Student's with degrees of freedom by the sizes of clusters (Bell and McCaffrey 2002)"
	oneCluster       = "no interval: all rows are of one cluster, and how clusters differ is not known"
	notClustered     = "no interval: its method takes rows as independent, and has no form for clusters"
	lostClusters     = "no interval: one cluster has nearly all rows"
	notEven          = "what chance adds to it is known by clusters only for bins of equal width of scores that are kept"
	oneEach          = "no bin has rows of two clusters, so what chance adds is not known"
	fewClusters      = "no interval: fewer than two clusters have rows of one of the outcomes"
	alikeClusters    = "no interval: clusters show no spread"
)

// clusterKey is the key of the statistic of clusters.
const clusterKey = "clusters"

// The losses that Judge needs, beside RowMetrics of package score.
var (
	meanPRow = metrics.RowMetric{Name: "mean_p", New: eachRow(func(b *metrics.Block, i int) float64 { return b.Stats.Positive[i] })}
	eventRow = metrics.RowMetric{Name: "base_rate", New: eachRow(func(b *metrics.Block, i int) float64 {
		if b.Labels[i] == 1 {
			return 1
		}
		return 0
	})}
	biasRow = metrics.RowMetric{Name: "bias", New: eachRow(func(b *metrics.Block, i int) float64 {
		p := b.Stats.Positive[i]
		if b.Labels[i] == 1 {
			p--
		}
		return p
	})}
	impliedRow = metrics.RowMetric{Name: "implied", New: eachRow(func(b *metrics.Block, i int) float64 {
		p := b.Score[i]
		if b.Classes == 1 {
			p = b.Stats.Positive[i]
		}
		return p * (1 - p)
	})}
)

func eachRow(f func(b *metrics.Block, i int) float64) func() func(dst []float64, b *metrics.Block) {
	return func() func(dst []float64, b *metrics.Block) {
		return func(dst []float64, b *metrics.Block) {
			for i := range dst {
				dst[i] = f(b, i)
			}
		}
	}
}

// checkClusters returns an error if rows of clusters cannot be evaluated by the spec.
func (s *Spec) checkClusters() error {
	switch {
	case s.Cluster == "":
	case s.Members > 0 || s.Out || s.Labels > 0:
		return errors.New("eval: neither an ensemble, nor rows beside out-of-distribution rows, nor several labels have clusters")
	case s.KeepsRows() != "":
		return fmt.Errorf("metrics %s keep every row, which clusters do not support: %s", s.KeepsRows(), WithoutExact)
	}
	return nil
}

// clusterStatistic returns what is kept of clusters.
func (s *Spec) clusterStatistic() statistic {
	o := clustered.Options{Any: !s.Shape().HasClasses()}
	add := func(l metrics.RowMetric) {
		if !slices.ContainsFunc(o.Losses, func(k metrics.RowMetric) bool { return k.Name == l.Name }) {
			o.Losses = append(o.Losses, l)
		}
	}
	if s.Shape().HasClasses() {
		for _, l := range s.judgedRows() {
			add(l)
		}
		o.Event = s.scoredEvent()
		o.Scored = true // the verdict needs bins
	}
	for _, m := range s.Metrics {
		switch how, l := s.clusteredBy(m); how {
		case ofShare, ofMean, ofLoss, ofGap, ofRatio, ofRoot, ofExponential, ofSkill, ofBetting:
			add(l)
		}
	}
	return statistic{clusterKey, rows, func() any { return clustered.New(o) }}
}

// judgedEvent returns the event that Judge is about.
func (s *Spec) judgedEvent() calib.Event { return calib.ByShape.Resolve(s.Classes) }

// scoredEvent returns the event by whose scores the rows of clusters are counted. Those of the top label follow from those of class 1.
func (s *Spec) scoredEvent() calib.Event {
	if s.Classes == 1 || s.Classes == 2 && s.Choices == NoChoices && !s.Decided {
		return calib.Positive
	}
	return calib.TopLabel
}

// judgedRows returns the losses of Judge: what the scores say, what happens, and their difference, and the variance of the latter that the
// scores imply.
func (s *Spec) judgedRows() []metrics.RowMetric {
	if s.judgedEvent() == calib.Positive {
		return []metrics.RowMetric{meanPRow, eventRow, biasRow, impliedRow}
	}
	return []metrics.RowMetric{s.row("confidence"), s.row("accuracy"), s.row("overconfidence"), impliedRow}
}

// row returns a RowMetric that there is.
func (s *Spec) row(name string) metrics.RowMetric {
	return metrics.Must(score.ParseRowMetric(name, s.Kind, s.Classes))
}

// clusteredBy returns how the interval of a metric is found from clusters, with the loss whose mean it is of.
func (s *Spec) clusteredBy(m Metric) (clustering, metrics.RowMetric) {
	var none metrics.RowMetric
	plain := m.String() == m.Name
	if !s.Shape().HasClasses() {
		name, how := m.String(), ofMean
		switch m.Name {
		case "rmse":
			name, how = "squared_error", ofRoot
		case "mae":
			name = "abs_error"
		case "coverage":
			how = ofShare
		}
		l, err := regress.ParseRowMetric(name, s.Kind, s.Levels)
		if err == nil && s.Kind == metrics.Normals {
			l, err = regress.LawRowMetric(name, s.Law)
		}
		if errors.Is(err, metrics.ErrNoRows) {
			l, err = score.ParseRowMetric(name, s.Kind, s.Classes)
		}
		if err != nil {
			return noClusters, none
		}
		return how, l
	}
	if s.classless(m) != "" {
		return noClusters, none
	}
	name, how := m.String(), ofMean
	switch m.Name {
	case "accuracy", "top5_accuracy", "topk_accuracy":
		how = ofShare
	case "base_rate":
		return ofShare, eventRow
	case "mean_p":
		return ofMean, meanPRow
	case "bias":
		return ofGap, biasRow
	case "oe_ratio":
		return ofRatio, biasRow
	case "overconfidence":
		how = ofGap
	case "nll":
		if plain {
			how = ofLoss
		}
	case "brier":
		name, how = "brier", ofLoss // the forms are linear in it
	case "perplexity":
		name, how = "nll", ofExponential
	case "nll_skill":
		name, how = "nll", ofSkill
	case "brier_skill":
		name, how = "brier", ofSkill
	case "e_calibration":
		if s.betOn().Resolve(s.Classes) == calib.Positive {
			return ofBetting, biasRow
		}
		return ofBetting, s.row("overconfidence")
	case "auroc", "calibration_auc", "aurc", "eaurc", "augrc", "calibration_slope", "calibration_intercept":
		switch {
		case s.Scored || slices.ContainsFunc(m.args, func(a arg) bool { return a.name != "replicates" }): // clusters are not resampled
		case m.Name == "auroc" && s.scoredEvent() == calib.Positive:
			return ofAUROC, none
		case m.Name == "auroc":
		case m.Name == "calibration_slope", m.Name == "calibration_intercept":
			if e := plainEvent(s.Base, s.Classes); e == s.scoredEvent() || e == calib.TopLabel && !s.Decided {
				return map[string]clustering{"calibration_slope": ofSlope, "calibration_intercept": ofIntercept}[m.Name], none
			}
		case s.Decided && s.Classes == 1: // by the caller's decisions, whose scores are not kept
		default:
			return map[string]clustering{"calibration_auc": ofTopAUROC, "aurc": ofAURC, "eaurc": ofEAURC, "augrc": ofAUGRC}[m.Name], none
		}
		return noClusters, none
	}
	l, err := score.ParseRowMetric(name, s.Kind, s.Classes)
	if err != nil {
		return noClusters, none
	}
	return how, l
}

// Clusters describes the clusters of the rows.
type Clusters struct {
	Column  string
	Number  int
	Largest int64 // rows of the largest one
	// DesignEffect is the variance of the accuracy, or in a binary task of the base rate, over what it would be if rows were independent. It
	// is NaN for a single cluster, for a share of 0 or 1, and for predictions without classes.
	DesignEffect float64
	// DF is the degrees of freedom of intervals: Number - 1 for clusters of one size, fewer where sizes differ. It is NaN for a single cluster.
	DF float64
}

// FewClusters is the number of clusters below which intervals are said to be rough.
const FewClusters = 20

// Clusters describes the clusters; nil if the spec has none.
func (e *Evaluation) Clusters() *Clusters {
	s := e.clusterSums()
	if s == nil {
		return nil
	}
	c := &Clusters{Column: e.Spec.Cluster, Number: s.Count(), Largest: s.Largest(), DesignEffect: math.NaN(), DF: s.DF()}
	if e.Spec.Shape().HasClasses() {
		f, se, _ := s.Mean(e.Spec.judgedRows()[1].Name)
		if v := f * (1 - f) / s.Effective(); v > 0 {
			c.DesignEffect = float64(se*se) / v
		}
	}
	return c
}

// clusterSums returns what is kept of clusters; nil if the spec has none.
func (e *Evaluation) clusterSums() *clustered.Sums {
	if e.Spec.Cluster == "" {
		return nil
	}
	return statisticOf[*clustered.Sums](e, rows, clusterKey)
}

// LimitClusters limits the memory of clusters, in bytes, while rows are read, and returns a function that reports whether it was exceeded.
// What was read is then of no use.
func (e *Evaluation) LimitClusters(bytes int64) (full func() bool) {
	s := e.clusterSums()
	if s == nil || bytes <= 0 {
		return func() bool { return false }
	}
	r := &clustered.Room{Bytes: bytes}
	s.Limit(r)
	return r.Full
}

// clusterScores returns the rows of clusters by the scores of an event; nil if there are none.
func (e *Evaluation) clusterScores(event calib.Event) *clustered.Scores {
	type key calib.Event
	return remember(e, key(event), func() *clustered.Scores { return e.clusterSums().Scores(event) })
}

// byCluster replaces the interval of a value by that of clusters.
func (e *Evaluation) byCluster(m Metric, v *Value) {
	s := e.clusterSums()
	v.Chance = Chance{} // it is of independent rows
	if e.Spec.Kind == metrics.Survival {
		e.livesByCluster(m, v)
		return
	}
	how, l := e.Spec.clusteredBy(m)
	if how == ofBetting {
		e.bet(s, l.Name, v)
		return
	}
	had := v.Interval.Low == v.Interval.Low
	v.Interval, v.Method = metrics.NoInterval(), ""
	if v.Value-v.Value != 0 {
		return
	}
	if how == noClusters {
		switch {
		case m.Name == "multicalibration_error_p":
			v.Value, v.Reason = math.NaN(), "it is a p-value of independent rows; multicalibration_gap_p is by clusters"
		case had || v.Reason == "":
			v.Reason = notClustered
		case strings.HasSuffix(m.Name, "_p") && m.Name != "mean_p" && m.Name != "multicalibration_gap_p", strings.HasPrefix(m.Name, "ece_floor"), m.Name == "detectable_gap", m.Name == "spiegelhalter_z", m.Name == "hosmer_lemeshow":
			v.Note = "computed as if the rows of a cluster were independent"
		}
		return
	}
	v.Reason = ""
	g := s.Count()
	if g < 2 {
		v.Reason = oneCluster
		return
	}
	df := s.DF()
	if !(df > 0) {
		v.Reason = lostClusters
		return
	}
	q := clustered.Quantile(e.Spec.Level, df)
	var se float64
	switch how {
	case ofShare:
		_, se, _ = s.Mean(l.Name)
		if m := s.Rarer(l.Name); m > 1 { // a share of 0 or 1, or of one cluster, has no spread by which its variance could be uncertain
			df = math.Min(df, m-1)
			q = clustered.Quantile(e.Spec.Level, df)
		}
		v.Interval, v.Method = s.Wilson(v.Value, se, s.Effective(), q), clusterShare
	case ofMean:
		_, se, _ = s.Mean(l.Name)
		v.Interval, v.Method = around(v.Value, se, q), clusterMean
	case ofGap:
		v.Interval, v.Method = around(v.Value, e.gapWidth(s, l.Name), q), clusterGapMethod
	case ofRatio:
		b := around(v.Value, e.gapWidth(s, l.Name), q)
		half := (b.High - b.Low) / 2 / e.Loss.MeanP()
		v.Interval = metrics.Interval{Low: math.Max(0, v.Value-half), High: v.Value + half}
		v.Method = "1 - the interval of bias / mean_p, mean_p taken as known; that of bias by clusters"
	case ofRoot:
		var mean float64
		mean, se, _ = s.Mean(l.Name)
		i := around(mean, se, q)
		v.Interval, v.Method = metrics.Interval{Low: math.Sqrt(math.Max(0, i.Low)), High: math.Sqrt(i.High)}, "roots of the ends of the interval of the mean square, which is by clusters"
		if i.Low != i.Low {
			v.Interval = i
		}
	case ofLoss, ofExponential, ofSkill:
		e.byLoss(s, how, m, l.Name, q, v)
	default:
		df = e.byScores(how, df, v)
	}
	if v.Interval.Low == v.Interval.Low {
		v.Clusters, v.DF = g, df
	} else if v.Method = ""; v.Reason == "" {
		v.Reason = alikeClusters
	}
}

// around returns mean +- q*se, or no interval if the error is not known.
func around(mean, se, q float64) metrics.Interval {
	if se-se != 0 || se == 0 {
		return metrics.NoInterval()
	}
	h := float64(q * se)
	return metrics.Interval{Low: mean - h, High: mean + h}
}

// growing returns the interval of around with an upper end as if the variance were in proportion to the mean, which is above 0: the m with
// (m - mean)^2 = q^2 se^2 m/mean. A mean that happens to be small has a small error as well, since few rows make up most of both.
func growing(i metrics.Interval, mean, se, q float64) metrics.Interval {
	if mean > 0 && i.High == i.High {
		k := float64(float64(q*q)*float64(se*se)) / mean
		i.High = math.Max(i.High, mean+float64(k/2)+math.Sqrt(float64(k*mean)+float64(float64(k*k)/4)))
	}
	return i
}

// steeper returns growing for nll by clusters, with an upper end that is higher by 3/8 q^2 se^2/mean: its means are more skewed than those of counts, so
// few clusters of which none happens to be very surprising have an error that is too small by more. The factor is one by which intervals hold in simulations.
func steeper(i metrics.Interval, mean, se, q float64) metrics.Interval {
	if mean > 0 && i.High == i.High {
		i = growing(i, mean, se, q)
		i.High += 0.375 * float64(float64(q*q)*float64(se*se)) / mean
	}
	return i
}

// aroundLogit returns the share whose logit is that of f +- q*se/(f (1-f)), which lies between 0 and 1; no interval of 0, 1 or an unknown
// error. Source: Pepe 2003.
func aroundLogit(f, se, q float64) metrics.Interval {
	if !(f > 0 && f < 1) {
		return metrics.NoInterval()
	}
	i := around(kernel.Log64(f/(1-f)), se/float64(f*(1-f)), q)
	return metrics.Interval{Low: 1 / (1 + kernel.Exp64(-i.Low)), High: 1 / (1 + kernel.Exp64(-i.High))}
}

// gapError returns the standard error of a mean of score minus outcome: at least that of independent rows whose scores are right.
func (e *Evaluation) gapError(s *clustered.Sums, name string) float64 {
	_, se, _ := s.Mean(name)
	if own, _ := e.ownGap(s, name); (name == "bias") == (e.Spec.judgedEvent() == calib.Positive) {
		se = math.Max(se, math.Sqrt(own))
	}
	return se
}

// gapWidth is gapError for intervals: the variance by clusters is larger by 3/m, where m clusters have the rarer of the two outcomes of Judge's
// event, as it is for areas and fits. Few events by chance are few clusters that have any, and hardly any spread. Of another event it is gapError.
func (e *Evaluation) gapWidth(s *clustered.Sums, name string) float64 {
	se := e.gapError(s, name)
	if judged := e.Spec.judgedRows(); name == judged[2].Name {
		if m := s.Rarer(judged[1].Name); m > 0 {
			_, by, _ := s.Mean(name)
			se = math.Max(se, float64(by*math.Sqrt(1+3/m)))
		}
	}
	return se
}

// byLoss sets the interval of a loss, or of a function of it.
func (e *Evaluation) byLoss(s *clustered.Sums, how clustering, m Metric, name string, q float64, v *Value) {
	mean, se, _ := s.Mean(name)
	own, by := 0.0, se
	switch nll, brier := e.implied(); {
	case name == "nll":
		own = nll
	case name == "brier":
		own = brier
	}
	if own > 0 {
		se = math.Max(se, math.Sqrt(own/s.Effective()))
	}
	i := around(mean, se, q)
	v.Method = clusterMean + "; s^2 at least what the model's own probabilities imply, the upper end as if it were in proportion to the mean"
	if own > 0 { // as for independent rows
		i = growing(i, mean, se, q)
	}
	if name == "nll" && own > 0 {
		i.High = math.Max(i.High, steeper(around(mean, by, q), mean, by, q).High)
		v.Method += ", for nll higher by 3/8 t^2 s^2/mean"
	}
	switch how {
	case ofLoss:
		if name == "brier" {
			f, _ := m.form(e.Spec.Brier)
			scale, shift := f.Linear(e.Spec.Classes)
			i = metrics.Interval{Low: float64(scale*i.Low) + shift, High: float64(scale*i.High) + shift}
		}
	case ofExponential:
		i = metrics.Interval{Low: kernel.Exp64(i.Low), High: kernel.Exp64(i.High)}
		v.Method = "exp of the ends of the interval of nll, which is by clusters"
	case ofSkill:
		ref := mean / (1 - v.Value)
		i = metrics.Interval{Low: 1 - i.High/ref, High: math.Min(1, 1-i.Low/ref)}
		v.Method = "1 - the ends of the score's interval over the base rates' score, which is taken as known; that of the score by clusters"
		if !(ref > 0) {
			i = metrics.NoInterval()
		}
	}
	v.Interval = i
}

// byScores sets the interval of a metric over scores, and returns its degrees of freedom: at most m - 1 of m clusters that have the rarer
// outcome, since these clusters make up most of the variance.
func (e *Evaluation) byScores(how clustering, df float64, v *Value) float64 {
	event := calib.TopLabel
	switch how {
	case ofAUROC:
		event = calib.Positive
	case ofSlope, ofIntercept:
		event = plainEvent(e.Spec.Base, e.Spec.Classes)
	}
	t := e.clusterScores(event)
	if t == nil {
		v.Reason = notClustered
		return df
	}
	var se float64
	least, most := 0.0, 1.0
	if df = math.Min(df, t.Rarer()-1); !(df > 0) {
		v.Reason = fewClusters
		return df
	}
	q := clustered.Quantile(e.Spec.Level, df)
	switch how {
	case ofAUROC, ofTopAUROC:
		se, v.Method = t.AUROC(), clusterAUROC
		v.Interval = aroundLogit(v.Value, se, q)
		return df
	case ofAURC, ofEAURC, ofAUGRC:
		a, b, c := t.Selective()
		se, v.Method = map[clustering]float64{ofAURC: a, ofEAURC: b, ofAUGRC: c}[how], clusterAreas
	case ofSlope, ofIntercept:
		least, most = math.Inf(-1), math.Inf(1)
		c := e.cox(Metric{Name: "calibration_intercept"})
		slope, _ := c.Slope()
		at, _ := c.Intercept()
		a, b := t.Cox(at, slope)
		if se, v.Method = b, clusterLine; how == ofIntercept {
			se = a
		}
	}
	if v.Interval = around(v.Value, se, q); how == ofAURC || how == ofEAURC || how == ofAUGRC {
		v.Interval = growing(v.Interval, v.Value, se, q)
	}
	if v.Interval.Low == v.Interval.Low {
		v.Interval = metrics.Interval{Low: math.Max(least, v.Interval.Low), High: math.Min(most, v.Interval.High)}
	}
	return df
}

// bet sets e_calibration, with one factor for each cluster.
func (e *Evaluation) bet(s *clustered.Sums, loss string, v *Value) {
	if v.Value != v.Value {
		return
	}
	l := s.Bets(loss)
	v.Value, v.Note = kernel.Exp64(l), ""
	if math.IsInf(v.Value, 0) || v.Value == 0 {
		v.Note = fmt.Sprintf("e_calibration is beyond the range of float64: its base-10 logarithm is %.6g", l/math.Ln10)
	}
}

// ClusterBins returns the bins of Diagram with intervals by clusters; those of other evaluations are as Diagram has them. The interval of a
// bin with rows of one cluster is not known, nor are those of bins other than of equal width.
func (e *Evaluation) ClusterBins() []calib.Bin {
	d := e.Diagram()
	bins := d.Bins(e.Spec.Level)
	if e.Spec.Cluster == "" {
		return bins
	}
	t := e.clusterScores(d.Event)
	even := e.plan.diagram.plain() && t != nil && !e.Spec.Scored
	var by []clustered.Bin
	if even {
		edges := make([]float64, 0, len(bins)+1)
		for i := range bins {
			edges = append(edges, bins[i].Lower)
		}
		by = t.Bins(append(edges, 1))
	}
	for i := range bins {
		b := &bins[i]
		switch {
		case b.Count == 0:
		case !even:
			b.Interval = metrics.NoInterval()
		default:
			b.Interval = by[i].Interval(e.Spec.Level)
		}
	}
	return bins
}

// squaredOfClusters returns the value of calibration_error_squared where rows are in clusters: chance adds to the square of a bin's gap
// the variance by the clusters that have rows there. A bin with one cluster adds nothing, as one with one row does.
func (e *Evaluation) squaredOfClusters(b *binning, p *calib.Partition, v Value) Value {
	v.Value, v.Interval, v.Method, v.Reason = math.NaN(), metrics.NoInterval(), "", notEven
	t := e.clusterScores(b.Event)
	if b.adaptive || !b.plain() || t == nil || e.Spec.Scored {
		return v
	}
	by := t.Bins(kernel.Edges(b.Bins))
	value, total, some := 0.0, 0.0, false
	for i, k := range p.Bins(e.Spec.Level) {
		w := float64(k.Count)
		if e.Audit.Weighted {
			w = k.Weight
		}
		total += w
		if k.Count > 0 && by[i].Gap == by[i].Gap {
			g := k.Confidence - k.Frequency
			value += float64(w * (float64(g*g) - float64(by[i].Gap*by[i].Gap)))
			some = true
		}
	}
	if v.Reason = oneEach; some {
		v.Value, v.Reason = value/total, notClustered
	}
	return v
}

// ClusterGap is what clusters say of calibration in the large, and in bins of scores: of the mean score minus the share of rows with the
// event that Judge is about.
type ClusterGap struct {
	Number int
	// Error is the standard error: by clusters, and at least that of independent rows whose scores are right. DF is its degrees of freedom. They
	// are NaN where the rows do not tell.
	Error, DF float64
	// Design is the variance by clusters over that of independent rows whose scores are right. It may be below 1, and is NaN where the rows
	// do not tell.
	Design float64
	// Bins are of equal width, 15 of them; nil if scores are not kept.
	Bins []clustered.Bin
}

// ClusterGap returns what clusters say of calibration; nil if the spec has none, and for predictions without classes.
func (e *Evaluation) ClusterGap() *ClusterGap {
	if e.Spec.Cluster == "" || !e.Spec.Shape().HasClasses() {
		return nil
	}
	s := e.clusterSums()
	name := e.Spec.judgedRows()[2].Name
	g := &ClusterGap{Number: s.Count(), Error: e.gapError(s, name), DF: s.DF(), Design: math.NaN()}
	_, g.Design = e.ownGap(s, name)
	if t := e.clusterScores(e.judged()); t != nil {
		g.Bins = t.Bins(kernel.Edges(judgedBins))
	}
	return g
}

// ownGap returns the variance of a mean of score minus outcome that independent rows have whose scores are right, and the variance by clusters
// over it: NaN if that is 0, or not known.
func (e *Evaluation) ownGap(s *clustered.Sums, name string) (own, design float64) {
	own, _, ok := s.Mean(impliedRow.Name)
	if !ok || !(own > 0) {
		return 0, math.NaN()
	}
	own /= s.Effective()
	_, se, _ := s.Mean(name)
	return own, float64(se*se) / own
}

// judgeClusters replaces what Judge found for independent rows: variances are those of clusters, and at least the model's own. P-values are the
// largest of three: that of independent rows, Student's by clusters, and that of rows of which so many are alike as the design effect says.
func (e *Evaluation) judgeClusters(j *Judgement) {
	s := e.clusterSums()
	says := e.Spec.judgedRows()
	df := s.DF()
	design := s.Design(clustered.EventLosses{Says: says[0].Name, Happens: says[1].Name, Gap: says[2].Name, Own: says[3].Name})
	if design != design {
		design = 1 // no row can vary
	}
	independent := j.P
	j.Z, j.P, j.Side, j.Off = math.NaN(), math.NaN(), 0, nil
	for k, v := range []*Value{&j.Says, &j.Happens, &j.Gap} {
		v.Interval = metrics.NoInterval()
		if !(df > 0) || v.Value != v.Value {
			continue
		}
		q := clustered.Quantile(e.Spec.Level, df)
		_, se, _ := s.Mean(says[k].Name)
		switch k {
		case 0:
			v.Interval = around(v.Value, se, q)
		case 1:
			v.Interval = s.Wilson(v.Value, se, s.Effective(), q)
		case 2:
			se = e.gapError(s, says[k].Name)
			v.Interval = around(v.Value, e.gapWidth(s, says[k].Name), q)
			if j.Z = -v.Value / se; v.Value == 0 {
				j.Z = 0
			}
			all := clustered.Bin{Gap: se, DF: df}
			all.Own, _ = e.ownGap(s, says[k].Name)
			j.P = math.Max(independent, all.P(j.Says.Value, j.Happens.Value, design))
		}
	}
	if i := j.Gap.Interval; j.P < meanLevel && i.Low > 0 {
		j.Side = 1
	} else if j.P < meanLevel && i.High < 0 {
		j.Side = -1
	}
	t := e.clusterScores(j.Event)
	c := e.judgedCells()
	if t == nil || c == nil || !(df > 0) {
		return
	}
	_, in := calib.SurprisesOf(c, judgedBins)
	by := t.Bins(kernel.Edges(judgedBins))
	design = math.Max(clustered.Design(by), design)
	for i := range in {
		b, r := &by[i], &in[i]
		if !(b.DF > 0) || r.Rows < leastRows {
			r.P = math.NaN()
			continue
		}
		// The exact tail of independent rows, where clusters do not vary more than that.
		r.P = math.Max(r.P, b.P(r.Says, r.Happens, design))
	}
	j.Off = runs(in)
}
