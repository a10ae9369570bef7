package binfree

import (
	"errors"
	"math"
	"sort"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/draw"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/turn"
)

// The defaults of CanonicalOptions, and the most that they may be.
const (
	DefaultFrequencies = 32
	MaxFrequencies     = 1024
	MaxReplicates      = 9999
)

// CanonicalOptions select the kernel and the test of Canonical. The zero value is the default, without a test.
type CanonicalOptions struct {
	Bandwidth   float64 // h; 0 means DefaultBandwidth
	Frequencies int     // D; 0 means DefaultFrequencies
	Replicates  int     // sets of outcomes that P draws by the scores; 0 means no test
}

func (o *CanonicalOptions) orDefault() (c CanonicalOptions) {
	if o != nil {
		c = *o
	}
	if c.Bandwidth == 0 {
		c.Bandwidth = DefaultBandwidth
	}
	if c.Frequencies == 0 {
		c.Frequencies = DefaultFrequencies
	}
	return c
}

func (o *CanonicalOptions) validate() error {
	switch {
	case !(o.Bandwidth >= 0x1p-10 && o.Bandwidth <= 0x1p20):
		return errors.New("the bandwidth of the kernel is from 1/1024 to 2^20")
	case o.Frequencies < 1 || o.Frequencies > MaxFrequencies:
		return errors.New("the kernel has 1 to 1,024 frequencies")
	case o.Replicates < 0 || o.Replicates > MaxReplicates:
		return errors.New("a test has 0 to 9,999 replicates")
	}
	return nil
}

// Canonical accumulates the squared kernel calibration error of whole rows of probabilities. Canonical calibration asks that among the rows with
// one vector of probabilities, classes are as frequent as it says; calibration of the top label, or of each class, does not imply it. With the
// vectors e = (one-hot of the label) - p of two different rows, the error is the mean of
//
//	k(p, p') (e . e'),   k(p, p') = (1/D) sum_d cos(w_d . (p - p'))
//
// over all pairs. Its expectation is 0 if the rows are calibrated, and not below 0 otherwise. The estimate has no bias, so it is negative for about half of
// calibrated sets.
//
// The D frequencies w_d are fixed: they are drawn once from N(0, I/h^2), with a seed that never changes. So k is a kernel of its own; over such
// draws its mean is the Gaussian kernel exp(-|p-p'|^2/(2 h^2)), and its standard deviation at most sqrt(1/(2D)) (random Fourier
// features). As the cosine of a difference is a sum of products, all pairs follow from sums over rows,
//
//	sum over pairs = (1/D) sum_d |sum_i cos(w_d . p_i) e_i|^2 + |sum_i sin(w_d . p_i) e_i|^2 - sum_i |e_i|^2,
//
// of 2 D K numbers for K classes, in time proportional to N K D. The sums are integers, so states merge exactly. A state takes 32 D K bytes, and 16 D K
// for each replicate of the test.
//
// Sources: Widmann, Lindsten and Zachariah 2019 (the error); Rahimi and Recht 2007 (the features).
type Canonical struct {
	opt     CanonicalOptions
	seen    state.Rows
	rows    int64
	outside int64 // rows with a probability outside [0,1]
	classes int   // entries of a row: 2 for a binary task

	p        []wide    // of each feature and class: sum of the feature times the probability, in units of 2^-40
	labels   []int64   // of each set of outcomes, class and feature: sum of the feature over rows of the class, in units of 2^-30; the true labels first
	squares  exact.Sum // 1 + sum p^2 of each row
	ofLabels []int64   // of each set of outcomes: the probabilities of these, in units of 2^-30

	frequencies    []float64
	row, sums, phi []float64
	whole          []int64
}

// wide is an integer: hi 2^32 + lo.
type wide struct{ hi, lo int64 }

func (w *wide) settle() {
	w.hi += w.lo >> 32
	w.lo &= 1<<32 - 1
}

const (
	pBits     = 40
	phiBits   = 30
	mostRows  = 1 << 32 // so that no sum of labels overflows
	canonSeed = 0xC0FFEE5EED
)

// NewCanonical returns an empty accumulator; o may be nil. Options out of range are an error.
func NewCanonical(o *CanonicalOptions) (*Canonical, error) {
	c := &Canonical{opt: o.orDefault()}
	return c, c.opt.validate()
}

// Needs returns NeedRows.
func (c *Canonical) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator without rows, with the same options.
func (c *Canonical) Empty() metrics.Accumulator { return &Canonical{opt: c.opt} }

// Len returns the number of rows seen.
func (c *Canonical) Len() int64 { return c.rows }

// Size estimates the memory in bytes.
func (c *Canonical) Size(x metrics.Extent) int64 {
	k, d := int64(max(2, x.Classes)), int64(c.opt.Frequencies)
	return 2*d*k*(16+8*int64(c.opt.Replicates+1)) + 8*d*k + 32*k
}

// room makes room for rows of so many classes.
func (c *Canonical) room(classes int) {
	if c.classes == classes {
		return
	}
	d := c.opt.Frequencies
	c.classes = classes
	c.p = make([]wide, 2*d*classes)
	c.labels = make([]int64, (c.opt.Replicates+1)*2*d*classes)
	c.ofLabels = make([]int64, c.opt.Replicates+1)
}

// AddBlock adds a block's rows.
func (c *Canonical) AddBlock(b *metrics.Block) {
	c.seen.Begin(b)
	c.rows += int64(b.Rows)
	c.room(b.Probs.Width)
	if b.Weights != nil {
		return
	}
	k, d := c.classes, c.opt.Frequencies
	if c.frequencies == nil {
		c.frequencies = frequencies(d, k, c.opt.Bandwidth)
		c.row, c.sums, c.phi, c.whole = make([]float64, k), make([]float64, k), make([]float64, 2*d), make([]int64, 2*d)
	}
	for i := range b.Rows {
		if !c.add(b.Probs.Row(c.row, i), int(b.Labels[i]), b.Number(i)) {
			c.outside++
		}
	}
	for i := range c.p {
		c.p[i].settle()
	}
}

// add adds a row. It returns false, and adds nothing, if an entry is outside [0,1].
func (c *Canonical) add(p []float64, label int, number int64) bool {
	squares, sum := 1.0, 0.0
	for j, v := range p {
		if !(v >= 0 && v <= 1) {
			return false
		}
		squares += float64(v * v)
		sum += v
		c.sums[j] = sum
	}
	c.squares.AddFloat(squares)
	k, d := c.classes, c.opt.Frequencies
	for f := range d {
		x := 0.0
		for j, w := range c.frequencies[f*k : (f+1)*k] {
			x += float64(w * p[j])
		}
		sin, cos := turn.SinCos(x)
		for h, v := range [2]float64{cos, sin} {
			n := math.RoundToEven(float64(v * (1 << phiBits)))
			c.whole[2*f+h], c.phi[2*f+h] = int64(n), n*(1<<(pBits-phiBits))
		}
	}
	for f, v := range c.phi {
		of := c.p[f*k : (f+1)*k]
		for j, q := range p {
			of[j].lo += int64(math.RoundToEven(float64(v * q)))
		}
	}
	c.outcome(0, label, p)
	if c.opt.Replicates == 0 {
		return true
	}
	// The scores of a row are divided by their sum here, which rounding keeps from being 1.
	r := draw.New(canonSeed, uint64(number))
	for s := 1; s <= c.opt.Replicates; s++ {
		u := float64(r.Uniform() * sum)
		c.outcome(s, min(sort.SearchFloat64s(c.sums, u), k-1), p)
	}
	return true
}

// outcome adds the row whose features are in whole to a set of outcomes.
func (c *Canonical) outcome(set, label int, p []float64) {
	n := len(c.whole)
	at := c.labels[(set*c.classes+label)*n:][:n]
	for f, v := range c.whole {
		at[f] += v
	}
	c.ofLabels[set] += int64(math.RoundToEven(float64(p[label] * (1 << phiBits))))
}

// frequencies returns the frequencies of rows of k classes: those of fewer classes are the first of more.
func frequencies(d, k int, h float64) []float64 {
	w := make([]float64, d*k)
	for f := range d {
		r := draw.New(canonSeed, 1<<63|uint64(f))
		for j := range k {
			w[f*k+j] = r.Normal() / h
		}
	}
	return w
}

// value returns the error of a set of outcomes.
func (c *Canonical) value(set int) float64 {
	k, n := c.classes, 2*c.opt.Frequencies
	total := 0.0
	for f := range n {
		for j := range k {
			w := &c.p[f*k+j]
			p := float64(float64(w.hi)*0x1p-8) + float64(float64(w.lo)*0x1p-40)
			e := float64(float64(c.labels[(set*k+j)*n+f])*0x1p-30) - p
			total += float64(e * e)
		}
	}
	rows := float64(c.rows)
	same := c.squares.Float64() - float64(2*float64(c.ofLabels[set])*0x1p-30)
	return (total/float64(c.opt.Frequencies) - same) / float64(rows*(rows-1))
}

// Draws reports whether outcomes are drawn, by the numbers of the rows.
func (c *Canonical) Draws() bool { return c.opt.Replicates > 0 }

// Value returns the error: 0 is best, and calibrated rows may be below it. It is NaN if Reason gives a reason.
func (c *Canonical) Value() float64 {
	if c.Reason() != "" {
		return math.NaN()
	}
	return c.value(0)
}

// P returns the p-value of canonical calibration: (1 + r)/(1 + R), where r of R sets of outcomes drawn by the scores of the rows have an error of at
// least Value. If the rows are calibrated, the p-value is at most x with a probability of at most x, for any number of rows. The draws depend on the
// numbers of the rows alone. It is NaN without replicates, or if Reason gives a reason.
func (c *Canonical) P() float64 {
	if c.Reason() != "" || c.opt.Replicates == 0 {
		return math.NaN()
	}
	have, as := c.value(0), 1
	for s := 1; s <= c.opt.Replicates; s++ {
		if c.value(s) >= have {
			as++
		}
	}
	return float64(as) / float64(c.opt.Replicates+1)
}

// Reason says why there is no error: fewer than two rows, weights, or probabilities outside [0,1]. It is "" if there is one.
func (c *Canonical) Reason() string {
	switch {
	case c.rows == 0:
		return reason.NoRows
	case c.seen.Weighted:
		return "the estimate is for rows that count once each"
	case c.outside > 0:
		return reason.Outside
	case c.rows < 2:
		return "one row makes no pair"
	case c.rows > mostRows:
		return "its sums hold 2^32 rows"
	}
	return ""
}

// Merge adds what another *Canonical has seen.
func (c *Canonical) Merge(other metrics.Accumulator) error {
	o, err := state.Same[*Canonical](canonicalFormat, other)
	if err != nil {
		return err
	}
	if c.opt != o.opt {
		return state.Mismatch(canonicalFormat, "with the options %+v and %+v", c.opt, o.opt)
	}
	if err := c.seen.Merge(o.seen, canonicalFormat, "classes"); err != nil {
		return err
	}
	if o.rows == 0 {
		return nil
	}
	c.room(o.classes)
	c.rows += o.rows
	c.outside += o.outside
	c.squares.Merge(&o.squares)
	for i := range c.p {
		c.p[i].hi += o.p[i].hi
		c.p[i].lo += o.p[i].lo
		c.p[i].settle()
	}
	for i, v := range o.labels {
		c.labels[i] += v
	}
	for i, v := range o.ofLabels {
		c.ofLabels[i] += v
	}
	return nil
}

var canonicalFormat = exact.Format{Name: "binfree.Canonical", Magic: "cCAN", Version: 1}

func (c *Canonical) fields(f *exact.Fields) {
	f.F64(&c.opt.Bandwidth)
	f.Int(&c.opt.Frequencies)
	f.Int(&c.opt.Replicates)
	f.Must(c.opt.validate() == nil, exact.OutOfRange)
	c.seen.Fields(f)
	f.N(&c.rows)
	f.N(&c.outside)
	const damaged = "its sums are not those of its rows"
	f.Must(c.outside <= c.rows && (c.rows > 0) == (c.seen.Classes > 0), damaged)
	f.Sum(&c.squares)
	used := c.rows - c.outside
	if c.seen.Weighted {
		used = 0
	}
	if s := c.squares.Float64(); f.OK() {
		f.Must(s >= float64(used) && s <= float64(used)*float64(2+c.seen.Classes), damaged)
	}
	if !f.OK() || c.rows == 0 {
		return
	}
	classes := max(2, c.seen.Classes)
	const most = 1 << 30 // sums: more would take 8 GiB
	f.Must(int64(classes) <= most && 2*int64(c.opt.Frequencies)*int64(classes) <= most/int64(c.opt.Replicates+1), exact.OutOfRange)
	if !f.OK() {
		return
	}
	n, sets := 2*c.opt.Frequencies*classes, c.opt.Replicates+1
	parts, labels, ofLabels := 2*n, sets*n, sets
	f.Count(&parts, 1)
	f.Count(&labels, 1)
	f.Count(&ofLabels, 1)
	f.Must(parts == 2*n && labels == sets*n && ofLabels == sets, damaged)
	if !f.OK() {
		return
	}
	if f.Reading() {
		c.room(classes)
	}
	signed := func(v *int64, most float64) {
		u := uint64(*v<<1) ^ uint64(*v>>63)
		f.Uvarint(&u)
		*v = int64(u>>1) ^ -int64(u&1)
		f.Must(math.Abs(float64(*v)) <= most, damaged)
	}
	for i := range c.p {
		signed(&c.p[i].hi, float64(float64(used)*0x1p8)+1)
		signed(&c.p[i].lo, 1<<32-1)
		f.Must(c.p[i].lo >= 0, damaged)
	}
	for i := range c.labels {
		signed(&c.labels[i], float64(used)*(1<<phiBits))
	}
	for i := range c.ofLabels {
		signed(&c.ofLabels[i], float64(used)*(1<<phiBits))
	}
}

// AppendBinary appends the state.
func (c *Canonical) AppendBinary(dst []byte) ([]byte, error) {
	return canonicalFormat.Append(dst, c.fields)
}

// UnmarshalBinary replaces c, including its options, with a state that AppendBinary wrote.
func (c *Canonical) UnmarshalBinary(data []byte) error {
	return exact.Replace(canonicalFormat, data, c, (*Canonical).fields)
}
