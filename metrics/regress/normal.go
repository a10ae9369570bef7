package regress

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// NormalStat is one of the statistics of Normal. With e = observed - mean of a row and its standard deviation sd:
type NormalStat uint8

const (
	// NLL is the mean negative log-likelihood in nats, the mean of ln sd + (e/sd)^2/2 + ln(2*pi)/2; lower is better. It depends on
	// the unit of what was observed: of another one it differs by the logarithm of their ratio.
	NLL NormalStat = iota
	// CRPS is the mean continuous ranked probability score, of sd * (z*(2*Phi(z) - 1) + 2*phi(z) - 1/sqrt(pi)) with z = e/sd; lower
	// is better, 0 is best, and its unit is that of what was observed.
	CRPS
	// Sharpness is the mean variance, of sd^2, as in LaplaceRedux: how narrow the forecasts are, whether or not they are right.
	Sharpness
	// SharpnessRoot is the root of Sharpness, which uncertainty-toolbox calls sharpness, and RMV below.
	SharpnessRoot
	// ZMS is the mean of (e/sd)^2: 1 where the spread is right on average, above it the forecasts are overconfident (Pernot 2024).
	ZMS
	// RCE is the relative calibration error, (RMV - RMSE)/RMV with RMV the root of the mean of sd^2 and RMSE that of e^2: 0 where
	// the spread is right on average, below it the forecasts are overconfident (Pernot 2024).
	RCE
	// SigmaScale is the root of ZMS, the factor of all standard deviations that makes the likelihood greatest: sigma scaling. 1 is best,
	// above it the forecasts are overconfident (Laves, Ihler, Fast, Kahrs and Ortmaier 2020).
	SigmaScale
	// SigmaScaleAsCoded is the root of the mean of |e|/sd^2, which LaplaceRedux's code has in place of SigmaScale: its unit is that
	// of 1/sqrt(sd).
	SigmaScaleAsCoded
	normalStats
)

var normalNames = [normalStats]string{"nll", "crps", "sharpness", "sharpness_root", "zms", "rce", "sigma_scale", "sigma_scale_as_coded"}

// String returns nll, crps, sharpness, sharpness_root, zms, rce, sigma_scale or sigma_scale_as_coded.
func (s NormalStat) String() string {
	if s >= normalStats {
		return fmt.Sprintf("NormalStat(%d)", uint8(s))
	}
	return normalNames[s]
}

// NormalOptions are options of a Normal.
type NormalOptions struct {
	// Stats are the statistics that are kept; nil means all but SigmaScaleAsCoded. Sharpness and SharpnessRoot are one thing, and RCE has
	// them too; so are ZMS and SigmaScale.
	Stats []NormalStat
	// Law is what NLL and CRPS are of; the zero value is the normal one. The other statistics take means and standard deviations alone.
	Law Law
}

// Normal accumulates how good normal forecasts are, predictions of the kind metrics.Normals, and whether the spread that they state is
// the one that they have. It is a metrics.Accumulator, and panics if it is fed another kind.
//
// Sums are exact whatever the unit of what was observed: the answers are right for standard deviations and errors of 1e-300 and
// 1e300 in one set, although the squares of neither are numbers of float64.
type Normal struct {
	law      Law
	keep     uint8 // the sums that are kept, a bit a statistic: Sharpness for its root and for RCE too, ZMS for its root
	weighted bool

	count    tally.Weight
	nll      tally.Mean
	infinite int64 // rows whose nll is
	crps     tally.UnitMean
	sd, e, z tally.MeanSquare // z is e/sd
	cross    tally.Squares    // sd*e
	coded    tally.UnitMean   // |e|/sd^2

	v []float64 // memory to use
}

var _ metrics.Accumulator = (*Normal)(nil)

// NewNormal returns an empty accumulator; o may be nil. A statistic that is none is an error.
func NewNormal(o *NormalOptions) (*Normal, error) {
	n := &Normal{}
	if o == nil {
		o = &NormalOptions{}
	}
	n.law = o.Law
	if o.Stats == nil {
		o = &NormalOptions{Stats: []NormalStat{NLL, CRPS, ZMS, RCE}}
	}
	for _, s := range o.Stats {
		if s >= normalStats {
			return nil, errors.New(errNormalStat)
		}
		if s == RCE {
			n.keep |= 1 << Sharpness
		}
		n.keep |= 1 << s.summed()
	}
	return n, nil
}

const errNormalStat = "regress: no such statistic of normal forecasts"

// summed returns the statistic whose sums another one is of.
func (s NormalStat) summed() NormalStat {
	switch s {
	case SharpnessRoot:
		return Sharpness
	case SigmaScale:
		return ZMS
	}
	return s
}

// keeps tells whether what a statistic takes is kept.
func (n *Normal) keeps(s NormalStat) bool { return n.keep>>s&1 != 0 }

// Needs says that nothing but the columns is wanted.
func (n *Normal) Needs() metrics.Need { return 0 }

// Empty returns an accumulator of the same options without rows.
func (n *Normal) Empty() metrics.Accumulator { return &Normal{law: n.law, keep: n.keep} }

// Len returns the number of rows seen.
func (n *Normal) Len() int64 { return n.count.N }

// AddBlock adds a block's rows.
func (n *Normal) AddBlock(b *metrics.Block) {
	if b.Kind != metrics.Normals {
		panic("regress: predictions of the kind normals are wanted")
	}
	n.weighted = b.Weights != nil
	n.count.Add(b.Rows, b.Weights)
	c := b.Normal
	if n.keeps(NLL) {
		v := c.NLL[:b.Rows]
		if n.law != NormalLaw {
			v = n.column(b, Law.NLL)
		}
		n.addNLL(v, b.Weights)
	}
	switch {
	case !n.keeps(CRPS):
	case n.law != NormalLaw:
		n.crps.Add(n.column(b, Law.CRPS), b.Weights)
	default:
		n.crps.Add(c.CRPS[:b.Rows], b.Weights)
		if n.crps.Infinite > 0 {
			n.crps.Infinite = 0
			n.addFar(b)
		}
	}
	e, sd := c.Error[:b.Rows], c.SD[:b.Rows]
	if n.keeps(Sharpness) {
		n.sd.Add(sd, b.Weights)
	}
	if n.keeps(ZMS) {
		n.z.Add(c.Z[:b.Rows], b.Weights)
	}
	if n.keeps(RCE) {
		n.e.Add(e, b.Weights)
		n.cross.AddProducts(sd, e, b.Weights)
	}
	if n.keeps(SigmaScaleAsCoded) {
		n.addCoded(c.Z[:b.Rows], sd, b.Weights)
	}
}

// column returns what f makes of the rows of a block.
func (n *Normal) column(b *metrics.Block, f func(l Law, e, sd float64) float64) []float64 {
	if len(n.v) < b.Rows {
		n.v = make([]float64, b.Rows)
	}
	for i := range b.Rows {
		n.v[i] = f(n.law, b.Normal.Error[i], b.Normal.SD[i])
	}
	return n.v[:b.Rows]
}

// addCoded adds |e|/sd^2.
func (n *Normal) addCoded(z, sd, weights []float64) {
	var buf [256]float64
	for len(z) > 0 {
		v := buf[:min(len(z), len(buf))]
		for i := range v {
			v[i] = math.Abs(z[i]) / sd[i]
		}
		var w []float64
		if weights != nil {
			w, weights = weights[:len(v)], weights[len(v):]
		}
		n.coded.Add(v, w)
		z, sd = z[len(v):], sd[len(v):]
	}
}

// addNLL adds negative log-likelihoods. They are nats, whatever the unit, so that a window is known to hold them.
func (n *Normal) addNLL(v, weights []float64) {
	over := n.nll.Over
	n.nll.Add(v, &kernel.WindowNLL, &kernel.WindowNLL2, weights)
	if n.nll.Over == over {
		return
	}
	for _, x := range v {
		if x-x != 0 {
			n.infinite++
		}
	}
}

// addFar adds the CRPS of those rows of a block that are so far off that e/sd is beyond float64, or nearly so: |e| - sd/sqrt(pi).
func (n *Normal) addFar(b *metrics.Block) {
	c := b.Normal
	for i, v := range c.CRPS[:b.Rows] {
		if v-v == 0 {
			continue
		}
		far := []float64{math.Abs(c.Error[i]) - float64(c.SD[i]*0.56418958354775628695)}
		if b.Weights == nil {
			n.crps.Add(far, nil)
		} else {
			n.crps.Add(far, b.Weights[i:i+1])
		}
	}
}

// Merge adds what another *Normal has seen.
func (n *Normal) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Normal](normalFormat, a)
	if err == nil {
		err = alikeLaws(n.law, o.law, normalFormat)
	}
	switch {
	case err != nil:
		return err
	case n.keep != o.keep:
		return state.Mismatch(normalFormat, "of unlike statistics")
	case o.count.N == 0:
		return nil
	case n.count.N != 0 && n.weighted != o.weighted:
		return state.Mismatch(normalFormat, "with and without weights")
	}
	n.weighted = o.weighted
	n.count.Merge(&o.count)
	n.nll.Merge(&o.nll)
	n.infinite += o.infinite
	n.crps.Merge(&o.crps)
	n.sd.Merge(&o.sd)
	n.e.Merge(&o.e)
	n.z.Merge(&o.z)
	n.cross.Merge(&o.cross)
	n.coded.Merge(&o.coded)
	return nil
}

// check panics unless a statistic is kept.
func (n *Normal) check(s NormalStat) {
	if s >= normalStats {
		panic(errNormalStat)
	}
	if !n.keeps(s.summed()) {
		panic("regress: the statistic has to be in the options")
	}
}

// Reason says why a statistic is NaN; it is "" where it is not.
func (n *Normal) Reason(s NormalStat) string {
	n.check(s)
	if n.count.N == 0 {
		return "there are no rows"
	}
	return ""
}

// mean returns the mean of squares, and variance the square of its standard error.
func (n *Normal) mean(s *tally.MeanSquare) *big.Rat     { return s.Mean(&n.count, n.weighted) }
func (n *Normal) variance(s *tally.MeanSquare) *big.Rat { return s.Variance(&n.count, n.weighted) }

// codedMean returns the mean of |e|/sd^2.
func (n *Normal) codedMean() *big.Rat { return n.count.Mean(exact.Rat(&n.coded.Sum), n.weighted) }

// Value returns a statistic; NaN without rows. NLL is +Inf where a row's is beyond float64, so far off is it, ZMS and SigmaScale where
// a row's e/sd is, SigmaScaleAsCoded where its |e|/sd^2 is, and Sharpness and ZMS where they are themselves. It panics if the statistic
// is not in the options.
func (n *Normal) Value(s NormalStat) float64 {
	if n.Reason(s) != "" {
		return math.NaN()
	}
	switch s {
	case NLL:
		if n.infinite > 0 {
			return math.Inf(1)
		}
		return n.nll.Value(&n.count, n.weighted)
	case CRPS:
		return n.crps.Value(&n.count, n.weighted)
	case Sharpness:
		return tally.Float(n.mean(&n.sd))
	case SharpnessRoot:
		return tally.Root(n.mean(&n.sd))
	case ZMS, SigmaScale:
		if n.z.Infinite > 0 {
			return math.Inf(1)
		}
		if s == SigmaScale {
			return tally.Root(n.mean(&n.z))
		}
		return tally.Float(n.mean(&n.z))
	case SigmaScaleAsCoded:
		if n.coded.Infinite > 0 {
			return math.Inf(1)
		}
		return tally.Root(n.codedMean())
	}
	mse, mv := n.mean(&n.e), n.mean(&n.sd)
	return 1 - tally.Root(mse.Quo(mse, mv))
}

// Interval is mean +- z*s/sqrt(n); for SharpnessRoot, SigmaScale and SigmaScaleAsCoded the roots of that of the mean below the root,
// whose lower end is 0 at least. There is none for fewer than two rows, where Value is NaN or infinite, and of NLL where that of a row
// is beyond 1e154, whose square is beyond float64.
//
// For RCE it is that of h = RMV/RMSE = 1/(1 - RCE) by the delta method on the means of sd^2 and e^2, with the standard error
//
//	h/2 * s(sd^2/RMV^2 - e^2/RMSE^2)/sqrt(n)
//
// which is at least what the forecasts' own law says of the second term, from 2 sum sd^4 / (N MSE)^2,
// and its ends are turned back; where the lower one of h is not above 0, that of RCE is -Inf, and there is none where RMSE is 0. Squared
// errors have long tails, which lie on one side of RMSE and so of RCE; h has them in the denominator and is about symmetric. Of the
// forms that take sums alone it is next to the bootstrap intervals (BCa) that Pernot publishes.
func (n *Normal) Interval(s NormalStat, level float64) metrics.Interval {
	v := n.Value(s)
	if v-v != 0 {
		return metrics.NoInterval()
	}
	switch s {
	case NLL:
		return metrics.Normal(v, n.nll.StdErr(&n.count, n.weighted), level)
	case CRPS:
		return metrics.Normal(v, n.crps.StdErr(&n.count, n.weighted), level)
	case Sharpness:
		return metrics.Normal(v, tally.Root(n.variance(&n.sd)), level)
	case SharpnessRoot:
		low, high := tally.RootEnds(n.mean(&n.sd), n.variance(&n.sd), metrics.Z(level))
		return metrics.Interval{Low: low, High: high}
	case ZMS:
		return metrics.Normal(v, tally.Root(n.variance(&n.z)), level)
	case SigmaScale:
		low, high := tally.RootEnds(n.mean(&n.z), n.variance(&n.z), metrics.Z(level))
		return metrics.Interval{Low: low, High: high}
	case SigmaScaleAsCoded:
		variance := n.count.MeanVariance(exact.Rat(&n.coded.Sum), n.coded.Squares.Rat(), n.weighted)
		low, high := tally.RootEnds(n.codedMean(), variance, metrics.Z(level))
		return metrics.Interval{Low: low, High: high}
	}
	return n.rceInterval(level)
}

// rceInterval is that of RCE. The terms whose standard error is wanted are sd^2/MV - e^2/MSE, whose sum is 0.
func (n *Normal) rceInterval(level float64) metrics.Interval {
	mv, mse := n.mean(&n.sd), n.mean(&n.e)
	if mse.Sign() <= 0 {
		return metrics.NoInterval()
	}
	over := func(s *tally.Squares, a, b *big.Rat) *big.Rat {
		r := s.Rat()
		return r.Quo(r.Quo(r, a), b)
	}
	cross := over(&n.cross, mv, mse)
	squares := over(&n.sd.Fourth, mv, mv)
	squares.Add(squares, over(&n.e.Fourth, mse, mse))
	squares.Sub(squares, cross.Add(cross, cross))
	v := n.count.MeanVariance(new(big.Rat), squares, n.weighted)
	// What the forecasts say of the second term alone: 2 sum sd^4 / (N MSE)^2.
	stated := n.count.Mean(over(&n.sd.Fourth, mse, mse), n.weighted)
	v = atLeast(v, n.count.OfMean(twice(stated), n.weighted))
	half := float64(metrics.Z(level) / 2 * tally.Root(v))
	h := tally.Root(mv.Quo(mv, mse))
	if half != half || !(h > 0) {
		return metrics.NoInterval()
	}
	i := metrics.Interval{Low: math.Inf(-1), High: 1 - 1/(h*(1+half))}
	if half < 1 {
		i.Low = 1 - 1/(h*(1-half))
	}
	return i
}

var normalFormat = exact.Format{Name: "regress.Normal", Magic: "cNRM", Version: 2}

func (n *Normal) fields(f *exact.Fields) {
	f.Flags(&n.weighted)
	n.law.fields(f)
	exact.Byte(f, &n.keep)
	const known = 1<<NLL | 1<<CRPS | 1<<Sharpness | 1<<ZMS | 1<<RCE | 1<<SigmaScaleAsCoded
	f.Must(n.keep&^known == 0 && (!n.keeps(RCE) || n.keeps(Sharpness)), exact.OutOfRange)
	n.count.Fields(f)
	rows := n.count.N
	n.nll.Fields(f)
	f.N(&n.infinite)
	n.crps.Fields(f, 0)
	n.sd.Fields(f, 0)
	n.e.Fields(f, 0)
	n.z.Fields(f, rows)
	n.cross.Fields(f)
	if n.keeps(SigmaScaleAsCoded) {
		n.coded.Fields(f, rows)
		f.Must(n.coded.Sum.Sign() >= 0, exact.OutOfRange)
	}
	f.Must(n.infinite <= n.nll.Over && n.nll.Over <= rows, exact.OutOfRange)
	if f.Reading() && f.OK() && rows > 0 {
		weight := n.count.Total(n.weighted)
		f.Must(weight.Sign() > 0 && (!n.keeps(Sharpness) || n.sd.Squares.Rat().Sign() > 0), exact.OutOfRange) // a forecast has a spread
	}
}

// AppendBinary appends the state.
func (n *Normal) AppendBinary(dst []byte) ([]byte, error) {
	return normalFormat.Append(dst, n.fields)
}

// UnmarshalBinary replaces n, options and all, by what AppendBinary wrote.
func (n *Normal) UnmarshalBinary(data []byte) error {
	return exact.Replace(normalFormat, data, n, (*Normal).fields)
}
