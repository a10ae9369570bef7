package recal

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// VennAbers is inductive Venn-Abers prediction: two isotonic regressions for each score s, of the rows and one more row with the score s,
// which has the event in one and not in the other. Their values at s are
//
//	p1(s)  with the event,     p0(s)  without it,     p0 < p1
//
// and the score becomes p = p1/(1 - p0 + p1), which makes the larger of two regrets as small as possible: by how much its log loss exceeds that of p1
// if the event happens, and that of p0 if not. p0 is above 0 only if the event happened below s, and 1 - p1 likewise, so p is between 1/(n+2) and
// (n+1)/(n+2) of n rows: the NLL of other rows is finite, which that of Isotonic is not. If the rows and the next one are exchangeable, the one of
// the two whose outcome comes true is a calibrated probability, for any n and any scores. Equal scores are averaged first. CurveMap describes the
// treatment of several classes.
//
// Both are step functions: p0 of a score on a step has the value above it, p1 that below it. CurveMap.Bounds returns them.
//
// With Folds rows are divided by a hash of their numbers, and each fold gives its own p0 and p1 (cross-Venn-Abers). Then p = g1/(g0 + g1) with the
// geometric means g1 of p1 and g0 of 1 - p0, and the bounds are the arithmetic means of p0 and p1. With Brier p is the mean of
// p1 + p0^2/2 - p1^2/2, which is for the Brier score what the other is for the log loss.
//
// With weights a row of weight w counts as w rows, and the added row as one. If all labels are equal p is near 0 or 1, and not 0 or 1.
//
// In a file each curve has cuts; values, one more than cuts, of the scores between them; on, the values of the scores on them; and low and high,
// p0 and p1 between the cuts.
//
// A fit sorts the scores. Both functions then take one pass over the distinct scores, by lower tangents between the convex minorants of the
// cumulative sums below and above s.
//
// Sources: Vovk, Petej and Fedorova, Large-scale probabilistic predictors with and without guarantees of validity (2015); Vovk and Petej,
// Venn-Abers predictors (2014).
type VennAbers struct {
	Folds int  // 0 and 1 mean one calibration set, else at least 2 and at most 100
	Brier bool // merge p0 and p1 for the Brier score
	// AsCoded is venn-abers 1.5 of PyPI: the p1 of scores above all others is that of the highest score, where it should be 1.
	AsCoded  bool
	TopLabel bool
	// OneVsOne fits a curve to each pair of classes instead of to each class against the rest; see PairMap, which is then the map of three classes or
	// more. It has no folds and no bounds.
	OneVsOne bool
}

const mostVennFolds = 100

// String returns "venn_abers" with the options that differ from the default: folds=N, brier, as_coded, top_label, one_vs_one.
func (m VennAbers) String() string {
	return spelled("venn_abers", value("folds", float64(max(1, m.Folds)), 1), word("brier", m.Brier), word("as_coded", m.AsCoded), word("top_label", m.TopLabel), word("one_vs_one", m.OneVsOne))
}

func (m VennAbers) with(option, value string) (Method, error) {
	var err error
	switch option {
	case "folds":
		m.Folds, err = readWhole(option, value, 1, mostVennFolds)
	case "brier":
		m.Brier, err = readWord(option, value)
	case "as_coded":
		m.AsCoded, err = readWord(option, value)
	case "top_label":
		m.TopLabel, err = readWord(option, value)
	case "one_vs_one":
		m.OneVsOne, err = readWord(option, value)
	default:
		err = noOption(option, "folds", "brier", "as_coded", "top_label", "one_vs_one")
	}
	return m, err
}

// Fit returns a *CurveMap. With OneVsOne and several classes it returns a *PairMap. It must sort the rows; see Options.Memory. With folds it holds
// the rows of one fold at a time. With OneVsOne it reads the data once for each class but the last, and holds the rows of that class's pairs.
func (m VennAbers) Fit(d Data, o *Options) (Map, error) {
	if m.Folds < 0 || m.Folds > mostVennFolds {
		return nil, errors.New("recal: venn_abers has 1 to 100 folds")
	}
	switch {
	case m.OneVsOne && m.Folds > 1:
		return nil, errors.New("venn_abers: one_vs_one and folds do not go together; leave one of them out")
	case m.OneVsOne && m.TopLabel:
		return nil, errors.New("venn_abers: one_vs_one and top_label do not go together; leave one of them out")
	}
	s, err := lookBinary(d, o, false)
	if err != nil {
		return nil, err
	}
	if m.OneVsOne && s.fit.Classes > 1 {
		return m.fitPairs(d, o, s)
	}
	parts := make([][]vennPart, (reading{top: m.TopLabel}).curves(s.fit.Classes))
	folds := max(1, m.Folds)
	for i := range folds {
		of, one := d, s
		if folds > 1 {
			_, of = Folds{K: folds}.Split(d, i)
			one, err = lookBinary(of, o, false)
			if errors.Is(err, ErrNoRows) {
				return nil, fmt.Errorf("venn_abers(folds=%d) of %d rows: fold %d has none; take fewer folds", folds, s.fit.Rows, i+1)
			}
			if err != nil {
				return nil, err
			}
		}
		if _, err := one.gather(of, o, reading{top: m.TopLabel}, func(class int, c *sortedScores) (curve, error) {
			parts[class] = append(parts[class], m.part(c))
			return nil, nil
		}); err != nil {
			return nil, err
		}
		if one != s {
			s.fit.Reads += one.fit.Reads
		}
	}
	curves := make([]curve, len(parts))
	for i, l := range parts {
		curves[i] = m.merged(l)
	}
	return newCurveMap(m, s.fit, m.TopLabel, curves)
}

func (m VennAbers) decode(f Fit, parameters json.RawMessage) (Map, error) {
	if m.OneVsOne && f.Classes > 1 {
		return decodePairs(m, f, parameters)
	}
	return decodeCurves(m, f, m.TopLabel, parameters, func() curve { return &vennCurve{} })
}

// vennPart are p0 and p1 of one calibration set. Above i of the scores x, low[i] is p0 from that score on, and high[i] is p1 up to the next one.
type vennPart struct{ x, low, high []float64 }

func (m VennAbers) part(c *sortedScores) vennPart {
	var x, n, y []float64
	c.each(func(p, rows, events float64) { x, n, y = append(x, p), append(n, rows), append(y, events) })
	k := len(x)
	up, of := upper(n, y)
	if m.AsCoded {
		up[k], of[k] = up[k-1], of[k-1]
	}
	// Without the event all is as with it, if scores fall and events are their opposites.
	rest := make([]float64, k)
	for i := range rest {
		rest[i] = n[k-1-i] - y[k-1-i]
	}
	slices.Reverse(n)
	down, ofDown := upper(n, rest)
	v := vennPart{low: make([]float64, 1, 64), high: make([]float64, 1, 64)}
	low := func(i int) float64 { return (ofDown[k-i] - down[k-i]) / ofDown[k-i] }
	v.low[0], v.high[0] = low(0), up[0]/of[0]
	for i := 1; i <= k; i++ {
		if l, h := low(i), up[i]/of[i]; l != v.low[len(v.x)] || h != v.high[len(v.x)] {
			v.x, v.low, v.high = append(v.x, x[i-1]), append(v.low, l), append(v.high, h)
		}
	}
	return v
}

// upper returns p1 for a score above i = 0...k of k distinct scores, and at most the next one, as the ratio of two sums. n are the rows of each
// score, and y those with the event.
//
// With W and Y, the sums of n and y over the first scores, the isotonic regression is the slope of the convex minorant of the points (W, Y).
// A row with the event above i scores moves the points up to i by (-1, -1), and p1 is the slope of the edge from one of these to one of the others.
// From i to i+1 that edge stays unless the point i+1 is below it, or was its upper end. Then the edge begins at that point, and its upper end
// does not fall.
func upper(n, y []float64) (num, den []float64) {
	k := len(n)
	sumN, sumY := make([]float64, k+1), make([]float64, k+1)
	for i := range k {
		sumN[i+1], sumY[i+1] = sumN[i]+n[i], sumY[i]+y[i]
	}
	// next is the corner after a point of the convex minorant of it and those above; the last is its own.
	next := make([]int32, k+1)
	next[k] = int32(k)
	slope := func(a, b int, more float64) float64 { return (sumY[b] - sumY[a] + more) / (sumN[b] - sumN[a] + more) }
	// down returns the corner at or after b with the lowest slope from a.
	down := func(a, b int, more float64) int {
		for c := int(next[b]); c != b && slope(a, c, more) <= slope(a, b, more); c = int(next[b]) {
			b = c
		}
		return b
	}
	for i := k - 1; i >= 0; i-- {
		next[i] = int32(down(i, i+1, 0))
	}
	num, den = make([]float64, k+1), make([]float64, k+1)
	a, b := -1, 0
	for i := range k {
		below := a < 0 || b <= i || float64((sumY[i]-sumY[a])*den[i-1]) < float64(num[i-1]*(sumN[i]-sumN[a]))
		if i > 0 && num[i-1] == den[i-1] {
			num[i], den[i] = 1, 1 // and so it stays
			continue
		}
		if below {
			a, b = i, down(i, max(b, i+1), 1)
		}
		num[i], den[i] = sumY[b]-sumY[a]+1, sumN[b]-sumN[a]+1
	}
	num[k], den[k] = 1, 1
	return num, den
}

// merged returns the curve of the parts.
func (m VennAbers) merged(parts []vennPart) *vennCurve {
	c := &vennCurve{}
	c.Cuts = []float64{}
	for _, p := range parts {
		c.Cuts = append(c.Cuts, p.x...)
	}
	slices.Sort(c.Cuts)
	c.Cuts = slices.Compact(c.Cuts)
	at := make([]int, len(parts)) // of each part, the number of its scores up to here
	low, high := make([]float64, len(parts)), make([]float64, len(parts))
	take := func(cut float64) { // what is on a cut, or for NaN behind the cuts so far
		for i, p := range parts {
			low[i], high[i] = p.low[at[i]], p.high[at[i]]
			if at[i] < len(p.x) && p.x[at[i]] == cut {
				at[i]++
				low[i] = p.low[at[i]]
			}
		}
	}
	between := func() {
		take(nan)
		c.Values = append(c.Values, m.merge(low, high))
		c.Low, c.High = append(c.Low, mean(low)), append(c.High, mean(high))
	}
	between()
	for _, cut := range c.Cuts {
		take(cut)
		c.On = append(c.On, m.merge(low, high))
		between()
	}
	return c
}

func mean(v []float64) float64 {
	if len(v) == 1 {
		return v[0]
	}
	return min(linearSum(v)/float64(len(v)), 1)
}

// merge returns the probability of p0 and p1 of the parts.
func (m VennAbers) merge(low, high []float64) float64 {
	n := float64(len(low))
	if m.Brier {
		sum := 0.0
		for i, p0 := range low {
			p1 := high[i]
			sum += p1 + float64(float64(p0*p0)/2) - float64(float64(p1*p1)/2)
		}
		return sum / n
	}
	if len(low) == 1 {
		return high[0] / (1 - low[0] + high[0])
	}
	zero, one := 0.0, 0.0
	for i, p0 := range low {
		zero += kernel.Log64(1 - p0)
		one += kernel.Log64(high[i])
	}
	return sigmoid((one - zero) / n)
}

// vennCurve is a step function with values on its cuts, and what it was merged from.
type vennCurve struct {
	bbqSteps
	Low  []float64 `json:"low"`
	High []float64 `json:"high"`
}

func (c *vennCurve) ready() error {
	if err := c.bbqSteps.ready(); err != nil {
		return err
	}
	if c.On == nil && len(c.Cuts) == 0 {
		c.On = []float64{} // a file leaves it out
	}
	if c.On == nil || len(c.Low) != len(c.Values) || len(c.High) != len(c.Values) {
		return errCurveFile
	}
	for i, v := range c.Low {
		if h := c.High[i]; !(v >= 0 && v <= h && h <= 1) || i > 0 && (v < c.Low[i-1] || h < c.High[i-1]) {
			return errCurveFile
		}
	}
	return nil
}

// bounds writes p0 and p1 of scores.
func (c *vennCurve) bounds(low, high, x []float64) {
	for i, p := range x {
		if p != p {
			low[i], high[i] = p, p
			continue
		}
		at, on := slices.BinarySearch(c.Cuts, p)
		low[i], high[i] = c.Low[at], c.High[at]
		if on {
			low[i] = c.Low[at+1]
		}
	}
}

// HasBounds reports whether Bounds has an answer: of a map that VennAbers fitted, without TopLabel.
func (m *CurveMap) HasBounds() bool {
	_, venn := m.curves[0].(*vennCurve)
	return venn && !m.top
}

// Bounds writes p0 and p1 of VennAbers for the rows of src, whose kind is k, to low and high, which are as dst of Apply. For a binary task they
// are bounds of the event's probability; of several classes those of each class against the rest, before the results of a row are divided
// by their sum. It panics unless HasBounds.
func (m *CurveMap) Bounds(low, high, src *metrics.Scores, k metrics.Kind) {
	if !m.HasBounds() {
		panic("recal: bounds are of maps by venn_abers without top_label")
	}
	checkApply(m.Out, low, src, k)
	checkApply(m.Out, high, src, k)
	t := newTile(reading{}, src.Classes, src.Rows)
	column, below, above := make([]float64, t.rows), make([]float64, t.rows), make([]float64, t.rows)
	lows, highs := make([]float64, t.rows*src.Classes), make([]float64, t.rows*src.Classes)
	for lo := 0; lo < src.Rows; lo += t.rows {
		hi := min(lo+t.rows, src.Rows)
		t.read(src, k, lo, hi)
		for j, c := range m.curves {
			t.column(column, j)
			c.(*vennCurve).bounds(below[:t.n], above, column[:t.n])
			for i := range t.n {
				lows[i*t.width+j], highs[i*t.width+j] = below[i], above[i]
			}
		}
		store(low, lows, lo, hi)
		store(high, highs, lo, hi)
	}
}
