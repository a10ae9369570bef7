package clustered

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/shares"
	"github.com/candor-go/candor/metrics/internal/tails"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Scores are the rows of all clusters by score and outcome, from which the errors of metrics over scores are found. Scores are those of the
// middles of the grid's cells, which moves an error by less than a thousandth.
type Scores struct {
	s            *Sums
	turn         bool    // the top label's, of scores of class 1
	index        []int32 // of each place: of its score below, plus 1
	p, q         []float64
	rest, events []float64 // weights of the rows of each score
	total        float64
}

// Scores returns the rows by the scores of an event, or nil if these are not kept. Those of the top label of two classes follow from
// those of class 1.
func (s *Sums) Scores(e metrics.Event) *Scores {
	if !s.opt.Scored || s.rows == 0 {
		return nil
	}
	have, want := s.opt.Event.Resolve(s.seen.Classes), e.Resolve(s.seen.Classes)
	if have != want && have != metrics.Positive {
		return nil
	}
	t := &Scores{s: s, turn: have != want, index: make([]int32, tally.Places())}
	s.eachByName(func(c *cluster) {
		t.counts(c, func(place int, _ uint64, _ float64) { t.index[place] = 1 })
	})
	middle, places := middles(), len(t.index)
	for place, met := range t.index {
		if met == 0 {
			continue
		}
		if place < places/2 {
			t.p, t.q = append(t.p, middle[place]), append(t.q, 1-middle[place])
		} else {
			m := middle[places-1-place]
			t.p, t.q = append(t.p, 1-m), append(t.q, m)
		}
		t.index[place] = int32(len(t.p))
	}
	t.rest, t.events = make([]float64, len(t.p)), make([]float64, len(t.p))
	s.eachByName(func(c *cluster) {
		t.counts(c, func(place int, y uint64, w float64) {
			if t.total += w; y == 1 {
				t.events[t.index[place]-1] += w
			} else {
				t.rest[t.index[place]-1] += w
			}
		})
	})
	return t
}

// counts calls f for the counts of a cluster.
func (t *Scores) counts(c *cluster, f func(place int, y uint64, w float64)) {
	t.squares(c, func(place int, y uint64, w, _ float64) { f(place, y, w) })
}

// squares is counts with the sum of the squares of weights, as if those of a count were equal.
func (t *Scores) squares(c *cluster, f func(place int, y uint64, w, w2 float64)) {
	for i, v := range c.counts {
		place, y, w := int(v>>countBits>>1), v>>countBits&1, float64(v&mostCount)
		w2 := w
		if t.s.seen.Weighted {
			w2 = c.heavy[i].Float64()
			w, w2 = w2, float64(w2*w2)/w
		}
		if n := len(t.index); t.turn && place < n/2 {
			// At 1/2 class 0 is the top label, and the place above it is that of 1/2 and up.
			place, y = n-1-place, 1-y
		}
		f(place, y, w, w2)
	}
}

// influence holds by how much a row of each score changes a metric, in units of 1/N: of rows without and with the event.
type influence [2][]float64

func newInfluence(n int) influence { return influence{make([]float64, n), make([]float64, n)} }

// errorOf returns the standard error of a metric that rows influence so.
func (t *Scores) errorOf(f influence) float64 {
	moves := make([]float64, 0, len(t.s.all))
	t.s.eachByName(func(c *cluster) {
		d := 0.0
		t.counts(c, func(place int, y uint64, w float64) { d += float64(w * f[y][t.index[place]-1]) })
		moves = append(moves, d)
	})
	of := t.s.shares()
	return spread(&of, moves, t.total)
}

// sums returns the weights of the rows without and with the event.
func (t *Scores) sums() (rest, events float64) {
	for i, w := range t.rest {
		rest += w
		events += t.events[i]
	}
	return rest, events
}

// AUROC returns the standard error of the area under the ROC: structural components summed by cluster, which allow for their sizes. It is NaN where fewer than two
// clusters have rows of one outcome.
//
// Source: Obuchowski 1997.
func (t *Scores) AUROC() float64 {
	rest, events := t.sums()
	n := len(t.p)
	f := newInfluence(n)
	below, above, area := 0.0, events, 0.0
	for i := range t.p {
		above -= t.events[i]
		f[1][i] = (below + float64(t.rest[i]/2)) / rest
		f[0][i] = (above + float64(t.events[i]/2)) / events
		area += float64(t.events[i] * f[1][i])
		below += t.rest[i]
	}
	area /= events
	s10, s01, s11 := 0.0, 0.0, 0.0
	with, without := 0.0, 0.0 // clusters that have rows of the outcome
	of, at := t.s.shares(), 0
	t.s.eachByName(func(c *cluster) {
		v, has := [2]float64{}, [2]bool{}
		t.counts(c, func(place int, y uint64, w float64) {
			v[y] += float64(w * (f[y][t.index[place]-1] - area))
			has[y] = true
		})
		v[0], v[1] = float64(v[0]*of.Scale(at)), float64(v[1]*of.Scale(at))
		at++
		s10 += float64(v[1] * v[1])
		s01 += float64(v[0] * v[0])
		s11 += float64(v[1] * v[0])
		if has[1] {
			with++
		}
		if has[0] {
			without++
		}
	})
	if with < 2 || without < 2 {
		return math.NaN()
	}
	all := float64(len(t.s.all))
	v := with/(with-1)*s10/float64(events*events) + without/(without-1)*s01/float64(rest*rest) + 2*all/(all-1)*s11/float64(events*rest)
	return math.Sqrt(math.Max(0, v))
}

// Rarer counts the clusters with the event and those without, and returns the smaller number.
func (t *Scores) Rarer() float64 {
	n := [2]float64{}
	t.s.eachByName(func(c *cluster) {
		has := [2]bool{}
		t.counts(c, func(_ int, y uint64, _ float64) { has[y] = true })
		for y, h := range has {
			if h {
				n[y]++
			}
		}
	})
	return math.Min(n[0], n[1])
}

// few returns by how much a standard error is widened where few clusters have one of the outcomes: sqrt(1 + 3/m) for m clusters that have the
// rarer one, as for differences. They are all that is known of the scores of such rows.
func (t *Scores) few() float64 { return math.Sqrt(1 + 3/t.Rarer()) }

// Selective returns the standard errors of AURC, E-AURC and AUGRC, widened for few clusters with one of the outcomes. The event is that a
// row is right.
func (t *Scores) Selective() (aurc, eaurc, augrc float64) {
	n := len(t.p)
	a, ea, ga := newInfluence(n), newInfluence(n), newInfluence(n)
	share, risk := make([]float64, n), make([]float64, n)
	rows, errors, area, general := 0.0, 0.0, 0.0, 0.0
	for i := n - 1; i >= 0; i-- {
		w := t.rest[i] + t.events[i]
		silent := (errors + float64(t.rest[i]/2)) / t.total
		rows += w
		errors += t.rest[i]
		share[i], risk[i] = rows/t.total, errors/rows
		area += float64(w / t.total * risk[i])
		general += float64(w / t.total * silent)
		ga[0][i], ga[1][i] = silent, silent
	}
	rate := errors / t.total
	below, first, second, slope := 0.0, 0.0, 0.0, 0.0
	if rate < 1 {
		slope = kernel.Log64(1 - rate)
	}
	for i := range n {
		w := (t.rest[i] + t.events[i]) / t.total
		first += w / share[i]
		second += float64(w * risk[i] / share[i])
		a[1][i] = risk[i] - area - second
		a[0][i] = a[1][i] + first
		ea[1][i] = a[1][i] - float64(slope*rate)
		ea[0][i] = a[0][i] + float64(slope*(1-rate))
		ga[0][i] += below + float64(w/2) - float64(2*general)
		ga[1][i] -= float64(2 * general)
		below += w
	}
	f := t.few()
	return float64(f * t.errorOf(a)), float64(f * t.errorOf(ea)), float64(f * t.errorOf(ga))
}

// Cox returns the standard errors of the intercept and slope of a logistic calibration line that the caller has fitted: the sandwich
// estimate by cluster, widened for few clusters with one of the outcomes. Rows of the places next to 0 and 1 are left out. They are NaN if the scores determine no line.
//
// Source: Liang and Zeger 1986.
func (t *Scores) Cox(intercept, slope float64) (ofIntercept, ofSlope float64) {
	n := len(t.p)
	x, f := make([]float64, n), make([]float64, n)
	i00, i01, i11 := 0.0, 0.0, 0.0
	for i, p := range t.p {
		if p < 0x1p-64 || t.q[i] < 0x1p-64 {
			continue
		}
		x[i] = kernel.Log64(p) - kernel.Log64(t.q[i])
		f[i] = 1 / (1 + kernel.Exp64(-(intercept + float64(slope*x[i]))))
		v := float64((t.rest[i] + t.events[i]) / t.total * float64(f[i]*(1-f[i])))
		i00 += v
		i01 += float64(v * x[i])
		i11 += float64(v * float64(x[i]*x[i]))
	}
	det := float64(i00*i11) - float64(i01*i01)
	if !(det > 1e-12*float64(i00*i11)) {
		return math.NaN(), math.NaN()
	}
	a, b := newInfluence(n), newInfluence(n)
	for i, p := range t.p {
		if p < 0x1p-64 || t.q[i] < 0x1p-64 {
			continue
		}
		for y := range 2 {
			r := float64(y) - f[i]
			a[y][i] = float64(r*(i11-float64(i01*x[i]))) / det
			b[y][i] = float64(r*(float64(i00*x[i])-i01)) / det
		}
	}
	few := t.few()
	return float64(few * t.errorOf(a)), float64(few * t.errorOf(b))
}

// Bin is what clusters say of a bin of scores.
type Bin struct {
	Clusters  int     // that have rows in it
	Rows      float64 // their weight
	Frequency float64 // share of rows with the event
	Error     float64 // standard error of Frequency, NaN for fewer than two clusters
	Gap       float64 // standard error of the mean score minus Frequency
	DF        float64 // degrees of freedom of these errors; NaN for fewer than two clusters
	Own       float64 // variance of the mean score minus Frequency if rows are independent and their scores right
}

// Bins returns the bins between these edges, which rise; each but the last is open above.
func (t *Scores) Bins(edges []float64) []Bin {
	bins := make([]Bin, len(edges)-1)
	score, of := make([]float64, len(bins)), make([]int, len(t.p))
	at := 0
	for i, p := range t.p {
		for at < len(bins)-1 && edges[at+1] <= p {
			at++
		}
		of[i] = at
		w := t.rest[i] + t.events[i]
		bins[at].Rows += w
		bins[at].Frequency += t.events[i]
		score[at] += float64(w * p)
	}
	for i := range bins {
		bins[i].Frequency /= bins[i].Rows
		score[i] /= bins[i].Rows
	}
	squares, gaps, sizes := make([][]float64, len(bins)), make([][]float64, len(bins)), make([][]float64, len(bins)) // of each cluster in a bin
	d, g, n := make([]float64, len(bins)), make([]float64, len(bins)), make([]float64, len(bins))
	t.s.eachByName(func(c *cluster) {
		clear(d)
		clear(g)
		clear(n)
		t.squares(c, func(place int, y uint64, w, w2 float64) {
			i := t.index[place] - 1
			k := of[i]
			bins[k].Own += float64(w2 * float64(t.p[i]*t.q[i]))
			e := float64(y) - bins[k].Frequency
			d[k] += float64(w * e)
			g[k] += float64(w * (t.p[i] - score[k] - e))
			n[k] += w
		})
		for k := range bins {
			if n[k] > 0 {
				squares[k], gaps[k], sizes[k] = append(squares[k], d[k]), append(gaps[k], g[k]), append(sizes[k], n[k])
			}
		}
	})
	for k := range bins {
		b := &bins[k]
		of := shares.New(sizes[k])
		b.Clusters, b.DF = len(sizes[k]), of.DF
		b.Own /= float64(b.Rows * b.Rows)
		b.Error, b.Gap = spread(&of, squares[k], b.Rows), spread(&of, gaps[k], b.Rows)
	}
	return bins
}

// Design returns by how much the variances of the mean scores minus frequencies of bins are larger, taken together, than those of independent
// rows whose scores are right; at least 1. Bins of fewer than two clusters do not count.
func Design(bins []Bin) float64 {
	var v, own float64
	for i := range bins {
		bins[i].AddDesign(&v, &own)
	}
	if !(v > own) {
		return 1
	}
	return v / own
}

// AddDesign adds the bin to the two sums whose ratio is Design.
func (b *Bin) AddDesign(v, own *float64) {
	if b.Gap-b.Gap == 0 {
		square := float64(b.Rows * b.Rows)
		*v += float64(float64(b.Gap*b.Gap) * square)
		*own += float64(b.Own * square)
	}
}

// P returns the two-sided p-value of a bin of this mean score and frequency: the larger of that of Student's distribution of the gap, and
// of that of the number of events if every so many rows, as many as Design says, have one outcome. Few clusters that happen to have one outcome show hardly any spread, so
// that the first alone would be far too small. It is NaN without degrees of freedom.
func (b *Bin) P(score, frequency, design float64) float64 {
	if !(b.DF > 0) {
		return math.NaN()
	}
	p := 0.0
	if b.Gap > 0 {
		p = P((score-frequency)/b.Gap, b.DF)
	}
	if v := score * (1 - score); b.Own > 0 && v > 0 {
		n := v / b.Own
		one := tails.Binomials{N: []float64{n}, P: []float64{score}, Q: []float64{1 - score}}
		tail := one.AtLeastAlike
		if frequency < score {
			tail = one.AtMostAlike
		}
		p = math.Max(p, math.Min(1, 2*tail(float64(n*frequency), design)))
	}
	return p
}

// Interval returns Wilson's interval of the bin's frequency at a level, as Sums.Wilson does for all rows.
func (b *Bin) Interval(level float64) metrics.Interval {
	if !(b.DF > 0) || b.Error != b.Error {
		return metrics.NoInterval()
	}
	of := b.Frequency * (1 - b.Frequency) / float64(b.Error*b.Error)
	if b.Frequency <= 0 || b.Frequency >= 1 {
		of = float64(b.Clusters)
	}
	return wilson(b.Frequency, math.Min(of, math.Max(b.Rows, float64(b.Clusters))), Quantile(level, b.DF))
}
