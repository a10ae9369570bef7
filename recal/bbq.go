package recal

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// BBQ is Bayesian binning into quantiles: an average of histograms of equal mass, weighted by the likelihood of the outcomes
// under each.
//
// For N rows there is a histogram for each number of bins b from max(1, floor(cbrt(N)/10)) to min(ceil(N/5), ceil(10
// cbrt(N))). Bins have floor(N/b) rows each, and the last has the remainder. Rows with equal scores stay together, in the
// lower bin, so there may be fewer bins. Bins end half-way between neighbouring scores. In a bin from l to u with n rows, n1
// of them events, the probability becomes
//
//	(n1 + p0)/(n + 1), where p0 = (sum of the events' scores + m)/(n1 + 1) and m = (l + u)/2
//
// The score of a histogram is that of Naeini's code, BDeu2, with t = m clamped to [0.005, 0.995]:
//
//	-2 sum over bins of ln G(n1+2t) - ln G(2t) + ln G(n0+2(1-t)) - ln G(2(1-t)) - ln G(n+2)
//
// and its weight is exp((smallest score - score)/2). The average is a step function, and only its steps are kept. If all
// scores are equal there is one bin.
//
// Rows with weights are an error. The score counts whole rows, drawn one by one: n rows of weight 1/n carry less evidence
// than n rows, and the weights do not tell how much less. CurveMap describes the treatment of several classes.
//
// In a file each curve has cuts, where the steps after the first begin; values, the value of each step; and, only with
// AsCoded, on, the value at each cut.
//
// Source: Naeini, Cooper, Hauskrecht, Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI 2015, and
// github.com/pakdaman/calibration (build.m).
type BBQ struct {
	// Prune drops the histograms behind the elbow of the weights. In falling order of weight, these are the ones after the
	// first whose weight exceeds the next by at most 0.001 of the variance of the weights.
	Prune bool
	// AsCoded uses the bins, the elbow and the values at bin ends of Naeini's MATLAB code, for comparison with its results.
	// Rows of equal score are divided among bins in the order of the rows, unless all scores of a bin are equal. Prune drops
	// one histogram more, and treats two equal weights, except the first two, as an elbow. All rows are held in memory.
	AsCoded  bool
	TopLabel bool
}

func (m BBQ) String() string {
	return spelled("bbq", word("prune", m.Prune), word("as_coded", m.AsCoded), word("top_label", m.TopLabel))
}

func (m BBQ) with(option, value string) (_ Method, err error) {
	switch option {
	case "prune":
		m.Prune, err = readWord(option, value)
	case "as_coded":
		m.AsCoded, err = readWord(option, value)
	case "top_label":
		m.TopLabel, err = readWord(option, value)
	default:
		err = noOption(option, "prune", "as_coded", "top_label")
	}
	return m, err
}

// Fit returns a *CurveMap. It must sort the scores (see Options.Memory), and needs another 40 bytes per distinct score.
func (m BBQ) Fit(d Data, o *Options) (Map, error) {
	s, err := lookBinary(d, o, false)
	if err != nil {
		return nil, err
	}
	if s.fit.Weighted {
		return nil, errors.New("bbq weighs its histograms by counts of rows, and these have weights; " +
			"take histogram or isotonic, or leave the weights away")
	}
	var curves []curve
	if m.AsCoded {
		curves, err = m.inOrder(d, o, s)
	} else {
		curves, err = s.gather(d, o, reading{top: m.TopLabel}, func(_ int, c *sortedScores) (curve, error) {
			r := &bbqRows{}
			c.each(func(p, n, y float64) { r.add(p, int64(n), int64(y)) })
			return m.steps(r), nil
		})
	}
	if err != nil {
		return nil, err
	}
	return newCurveMap(m, s.fit, m.TopLabel, curves)
}

func (m BBQ) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return decodeCurves(m, f, m.TopLabel, parameters, func() curve { return &bbqSteps{} })
}

// inOrder fits the curves for AsCoded, where rows of equal score are in the order of their numbers.
func (m BBQ) inOrder(d Data, o *Options, s *survey) ([]curve, error) {
	type row struct {
		p      float64
		number int64
		hit    uint8
	}
	var mu sync.Mutex
	rows := make([][]row, reading{top: m.TopLabel}.curves(s.fit.Classes))
	s.fit.Reads++
	err := each(d, o, func() func(*metrics.Chunk) {
		t := newTile(reading{top: m.TopLabel}, s.fit.Classes, math.MaxInt)
		hit := make([]uint8, t.rows)
		return func(c *metrics.Chunk) {
			mu.Lock()
			defer mu.Unlock()
			for lo := 0; lo < c.Rows; lo += t.rows {
				t.load(c, lo, min(lo+t.rows, c.Rows))
				for class := range rows {
					t.column(t.spare[:t.n], class)
					t.hits(hit[:t.n], class)
					for i, p := range t.spare[:t.n] {
						rows[class] = append(rows[class], row{p, c.Number(lo + i), hit[i]})
					}
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var curves []curve
	for _, l := range rows {
		slices.SortFunc(l, func(a, b row) int { return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.number, b.number)) })
		r := &bbqRows{}
		for _, v := range l {
			r.add(v.p, 1, int64(v.hit))
		}
		curves = append(curves, m.steps(r))
	}
	return curves, nil
}

// bbqRows holds scores in rising order, and the numbers of rows and events and the sum of the events' scores before each
// score; these have one element more. Scores are distinct, except with AsCoded, where each score is one row.
type bbqRows struct {
	p     []float64
	n, n1 []int64
	s, t  []float64 // the sum is s+t
}

// add appends a score.
func (r *bbqRows) add(p float64, n, n1 int64) {
	if r.n == nil {
		r.n, r.n1, r.s, r.t = []int64{0}, []int64{0}, []float64{0}, []float64{0}
	}
	i := len(r.p)
	r.p = append(r.p, p)
	r.n, r.n1 = append(r.n, r.n[i]+n), append(r.n1, r.n1[i]+n1)
	// Keep the rounding error of the sum, so that differences of two sums have all their digits.
	v := float64(p * float64(n1))
	s := r.s[i] + v
	w := s - r.s[i]
	r.s, r.t = append(r.s, s), append(r.t, r.t[i]+((r.s[i]-(s-w))+(v-w)))
}

// cut returns the upper end of a bin whose last score is i-1.
func (r *bbqRows) cut(i int) float64 {
	a, b := r.p[i-1], r.p[i]
	if c := a + float64((b-a)/2); c > a || a == b {
		return c
	}
	return b // the scores are adjacent numbers
}

// bbqModel is a histogram: the end of each bin but the last, as an index of scores, and the probabilities of the bins.
type bbqModel struct {
	ends  []int
	p     []float64
	score float64
}

// bbqNumbers returns the smallest and the largest number of bins for n rows. It uses exact roots, so 1,000,000 rows give 10
// and 1,000.
func bbqNumbers(n int64) (least, largest int) {
	root := func(v int64) int64 { // largest integer whose cube is at most v
		c := int64(math.Cbrt(float64(v)))
		for c*c*c > v {
			c--
		}
		for (c+1)*(c+1)*(c+1) <= v {
			c++
		}
		return c
	}
	up := root(1000 * n)
	if up*up*up < 1000*n {
		up++
	}
	return int(max(1, root(n)/10)), int(min((n+4)/5, up))
}

// ends returns the ends of b bins. A bin ends at the first score up to which there are enough rows.
func (r *bbqRows) ends(b int) []int {
	n := r.n[len(r.p)]
	size := n / int64(b)
	var ends []int
	at := 0
	for i := int64(1); i < int64(b); i++ {
		k, _ := slices.BinarySearch(r.n[at:], i*size)
		if k == 0 {
			continue // the bin before already extends this far, since its last score has many rows
		}
		at += k
		if at == len(r.p) {
			break
		}
		ends = append(ends, at)
	}
	return ends
}

// endsAsCoded returns the ends of b bins for scores of one row each.
func (r *bbqRows) endsAsCoded(b int) []int {
	n := len(r.p)
	size := n / b
	var ends []int
	for i := 0; i < b-1; {
		first, end := r.p[i*size], 0
		// Merge bins whose last score equals the score at the start.
		for {
			i++
			if end = i * size; i == b {
				end = n
			}
			next := end + size
			if i+1 == b {
				next = n
			}
			if i == b || r.p[next-1] != first {
				break
			}
		}
		if end < n {
			ends = append(ends, end)
		}
	}
	return ends
}

// model returns the histogram with these bin ends.
func (r *bbqRows) model(ends []int) bbqModel {
	m := bbqModel{ends: ends, p: make([]float64, 0, len(ends)+1)}
	sum, from, low := 0.0, 0, 0.0
	for i := range len(ends) + 1 {
		to, high := len(r.p), 1.0
		if i < len(ends) {
			to, high = ends[i], r.cut(ends[i])
		}
		n, n1 := float64(r.n[to]-r.n[from]), float64(r.n1[to]-r.n1[from])
		s := (r.s[to] - r.s[from]) + (r.t[to] - r.t[from])
		middle := float64((low + high) / 2) // the conversion keeps the compiler from fusing a product with a sum
		m.p = append(m.p, (n1+(s+middle)/(n1+1))/(n+1))
		t := 2 * min(max(middle, 0.005), 0.995)
		sum += lnGamma(n1+t) - lnGamma(t) + lnGamma(n-n1+(2-t)) - lnGamma(2-t) - lnGamma(n+2)
		from, low = to, high
	}
	m.score = -2 * sum
	return m
}

// lnGamma returns ln G(x) for x > 0 by Stirling's series, with the same bits on every CPU.
func lnGamma(x float64) float64 {
	below := 1.0
	for x < 12 {
		below *= x
		x++
	}
	z := 1 / x
	zz := z * z
	tail := 1.0 / 1188
	tail = 1.0/1680 - float64(zz*(tail-float64(zz*(691.0/360360))))
	tail = 1.0/360 - float64(zz*(1.0/1260-float64(zz*tail)))
	tail = float64(z * (1.0/12 - float64(zz*tail)))
	const halfLn2Pi = 0.91893853320467274178032973640562
	return float64((x-0.5)*kernel.Log64(x)) - x + halfLn2Pi + tail - kernel.Log64(below)
}

// bbqWeights returns the weights of the histograms, relative to 1 for the best one.
func bbqWeights(models []bbqModel) []float64 {
	least := math.Inf(1)
	for i := range models {
		least = min(least, models[i].score)
	}
	w := make([]float64, len(models))
	for i := range models {
		w[i] = kernel.Exp64((least - models[i].score) / 2)
	}
	return w
}

// bbqElbow returns the indices of the histograms to keep, by falling weight.
func bbqElbow(w []float64, asCoded bool) []int {
	const alpha = 0.001
	by := make([]int, len(w))
	mean := 0.0
	for i := range by {
		by[i] = i
		mean += w[i]
	}
	mean /= float64(len(w))
	variance := 0.0
	for _, v := range w {
		variance += float64((v - mean) * (v - mean))
	}
	variance /= float64(len(w))
	slices.SortStableFunc(by, func(i, j int) int {
		switch {
		case w[i] > w[j]:
			return -1
		case w[i] < w[j]:
			return 1
		}
		return 0
	})
	k, drops := 1, false
	for ; k < len(by); k++ {
		drop := w[by[k-1]] - w[by[k]]
		if equal := drop == 0 && !(asCoded && drops); !equal && drop <= alpha*variance {
			break
		}
		drops = drops || drop > 0
	}
	if asCoded && drops {
		k--
	}
	return by[:k]
}

// bbqSteps is a step function with Values[i] on [Cuts[i-1], Cuts[i]). With AsCoded it has a separate value at each cut.
type bbqSteps struct {
	Cuts   []float64 `json:"cuts"`
	Values []float64 `json:"values"`
	On     []float64 `json:"on,omitempty"`

	edges []float64
}

func (s *bbqSteps) logits() bool { return false }
func (s *bbqSteps) free() int    { return free(s.Values) }

func (s *bbqSteps) ready() error {
	if len(s.Values) < 1 || len(s.Cuts) != len(s.Values)-1 || s.On != nil && len(s.On) != len(s.Cuts) {
		return errCurveFile
	}
	for i, c := range s.Cuts {
		if !(c >= 0 && c <= 1) || i > 0 && c <= s.Cuts[i-1] {
			return errCurveFile
		}
	}
	for _, values := range [][]float64{s.Values, s.On} {
		for _, v := range values {
			if !(v >= 0 && v <= 1) {
				return errCurveFile
			}
		}
	}
	s.edges = slices.Concat([]float64{math.Inf(-1)}, s.Cuts, []float64{math.Inf(1)}) // sentinels on both sides
	return nil
}

func (s *bbqSteps) apply(x []float64) {
	var room [512]int32
	for len(x) > 0 {
		n := min(len(x), len(room))
		kernel.BinEdges(room[:n], x[:n], s.edges, kernel.LeftClosed)
		for i, b := range room[:n] {
			switch {
			case b < 0: // of NaN
			case s.On != nil && b > 0 && x[i] == s.edges[b]:
				x[i] = s.On[b-1]
			default:
				x[i] = s.Values[b]
			}
		}
		x = x[n:]
	}
}

// steps returns the weighted mean of the histograms.
func (m BBQ) steps(r *bbqRows) *bbqSteps {
	models := m.models(r)
	w := bbqWeights(models)
	kept := make([]int, len(models))
	for i := range kept {
		kept[i] = i
	}
	if m.Prune {
		kept = bbqElbow(w, m.AsCoded)
	}
	slices.Sort(kept)
	kept = slices.DeleteFunc(kept, func(i int) bool { return w[i] == 0 })

	ends := map[int]bool{}
	for _, i := range kept {
		for _, e := range models[i].ends {
			ends[e] = true
		}
	}
	s := &bbqSteps{Cuts: []float64{}} // not nil: a file has cuts even if there are none
	for e := range ends {
		s.Cuts = append(s.Cuts, r.cut(e))
	}
	slices.Sort(s.Cuts)
	s.Cuts = slices.Compact(s.Cuts)
	s.Values = make([]float64, len(s.Cuts)+1)
	if m.AsCoded {
		s.On = make([]float64, len(s.Cuts))
	}
	total := 0.0
	for _, i := range kept {
		total += w[i]
		o := &models[i]
		cuts := make([]float64, 0, len(o.ends))
		for _, e := range o.ends {
			cuts = append(cuts, r.cut(e))
		}
		bin := 0
		for j := range s.Values {
			for j > 0 && bin < len(cuts) && cuts[bin] <= s.Cuts[j-1] {
				bin++
			}
			s.Values[j] += float64(w[i] * o.p[bin])
		}
		for j := range s.On {
			s.On[j] += float64(w[i] * o.on(cuts, s.Cuts[j]))
		}
	}
	for j := range s.Values {
		s.Values[j] /= total
	}
	for j := range s.On {
		s.On[j] /= total
	}
	s.join()
	return s
}

// join merges neighbouring steps with equal values, as histograms with negligible weight produce.
func (s *bbqSteps) join() {
	if s.On != nil {
		return
	}
	n := 0
	for j, c := range s.Cuts {
		if s.Values[j+1] != s.Values[n] {
			s.Cuts[n], s.Values[n+1] = c, s.Values[j+1]
			n++
		}
	}
	s.Cuts, s.Values = s.Cuts[:n], s.Values[:n+1]
}

func (m BBQ) models(r *bbqRows) []bbqModel {
	least, largest := bbqNumbers(r.n[len(r.p)])
	var models []bbqModel
	for b := least; b <= largest; b++ {
		ends := r.ends
		if m.AsCoded {
			ends = r.endsAsCoded
		}
		models = append(models, r.model(ends(b)))
	}
	return models
}

// on reproduces what Naeini's predict.m does with a score equal to a bin end: the binary search stops at the first end that
// equals the score, and the result is the mean over the adjacent bins with the same ends.
func (m *bbqModel) on(cuts []float64, x float64) float64 {
	edge := func(i int) float64 {
		switch i {
		case 0:
			return 0
		case len(cuts) + 1:
			return 1
		}
		return cuts[i-1]
	}
	low, high := 0, len(m.p)
	for high-low > 1 {
		mid := (low + high) / 2
		if c := edge(mid); x < c {
			high = mid
		} else if low = mid; x == c {
			break
		}
	}
	same := func(i int) bool { return edge(i) == edge(low) && edge(i+1) == edge(low+1) }
	sum, n := m.p[low], 1.0
	for i := low - 1; i >= 0 && same(i); i-- {
		sum, n = sum+m.p[i], n+1
	}
	for i := low + 1; i < len(m.p) && same(i); i++ {
		sum, n = sum+m.p[i], n+1
	}
	return sum / n
}
